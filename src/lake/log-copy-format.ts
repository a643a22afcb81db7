/**
 * The bytes of the copy of the commit log: segments of records in `<lake>/log`, named `GGGGGGGG-SSSSSSSS.log` by generation and number in hexadecimal digits.
 *
 * - Segment: `LAKELOG1`, generation u32, segment u32, number of its first record u64, number of the record that ended the base u64 (0: none yet), the counters
 *   of event and sequence before it u64 each, CRC-32 of these; then records.
 * - Record: `LREC`, length of the payload u32, number u64, CRC-32 of generation, length, number and payload; payload: kind u8, then changes to its end:
 *   table u8 (its high bit: the row goes), length of the key u8, key, and unless the row goes: length u32, bytes.
 *
 * Invariants: all numbers are little-endian; records of a generation are numbered from 1 without a gap; a record under another number or in another
 * generation than its own fails its checksum, so that moved, swapped or doubled bytes are found like changed ones.
 */
import { crc32 } from 'node:zlib';
import { changesLength, readChanges, writeChanges } from './change-bytes.ts';
import { type Counters, countersKey, decodeCounters } from './rows.ts';
import type { Change, TableName } from './tables.ts';

/**
 * `base`: rows as they are when it is written, a part of the tables' whole contents. `base end`: the generation is complete. `roster`: all pools and
 * branches there are; others are gone. `transaction`: what one changed. `caught up`: rows written again after a crash. `closed`: nothing is missing.
 */
export type RecordKind = 'base' | 'base end' | 'roster' | 'transaction' | 'caught up' | 'closed';
const kinds = { 'base': 1, 'base end': 2, 'roster': 3, 'transaction': 4, 'caught up': 5, 'closed': 6 } as const satisfies Record<RecordKind, number>;
const kindNames = new Map<number, RecordKind>(Object.entries(kinds).map(([name, code]) => [code, name as RecordKind]));

/** Tables that are copied. The rest follows from them (names, files, checkpoints) or from what is no longer needed (purges). Codes never change. */
const codes: Partial<Record<TableName, number>> = { about: 1, pools: 2, branches: 3, commits: 4, objects: 5, bodies: 6, vacuumed: 7, events: 8 };
const tablesByCode = new Map<number, TableName>(Object.entries(codes).map(([name, code]) => [code, name as TableName]));
const codeOf = (table: TableName): number => codes[table]!, tableOf = (code: number): TableName => tablesByCode.get(code)!;
/** Only these lose rows in the copy: elsewhere a removal follows from another row (a pool that went, an object that was vacuumed). */
const removable: ReadonlySet<TableName> = new Set(['pools', 'branches']);

const isCopied = (change: Change): boolean => codes[change.table] !== undefined && (change.payload !== undefined || removable.has(change.table));

/** Bytes of a segment before its first record. */
export const segmentHeaderLength = 52;
const recordHeaderLength = 20;
const segmentMagic = Buffer.from('LAKELOG1'), recordMagic = Buffer.from('LREC');
/** A record takes no more than this, or it is no record. */
const payloadBytesMax = 1 << 30;

/** A file of the copy; generations and segments count from 1. */
export interface SegmentName { readonly generation: number; readonly segment: number }
const hex8 = (n: number): string => n.toString(16).padStart(8, '0');
/** The name of a segment's file. */
export const segmentFile = ({ generation, segment }: SegmentName): string => `${hex8(generation)}-${hex8(segment)}.log`;
/** The segment of a file of this name; undefined if it is none. */
export const parseSegmentFile = (name: string): SegmentName | undefined => {
  const found = /^([0-9a-f]{8})-([0-9a-f]{8})\.log$/.exec(name);
  return found ? { generation: parseInt(found[1]!, 16), segment: parseInt(found[2]!, 16) } : undefined;
};

/** What holds before a segment's first record. */
interface SegmentStart { readonly firstRecord: number; readonly baseEnd: number; readonly counters: Counters }
/** The header of a segment: its first 52 bytes. */
export const encodeSegmentHeader = (name: SegmentName, start: SegmentStart): Buffer => {
  const out = Buffer.allocUnsafe(segmentHeaderLength), checked = segmentHeaderLength - 4;
  segmentMagic.copy(out);
  out.writeUInt32LE(name.generation, 8);
  out.writeUInt32LE(name.segment, 12);
  [start.firstRecord, start.baseEnd, start.counters.event, start.counters.sequence].forEach((n, i) => out.writeBigUInt64LE(BigInt(n), 16 + i * 8));
  out.writeUInt32LE(crc32(out.subarray(0, checked)), checked);
  return out;
};
/** Undefined if this is not the header of that segment. */
export const decodeSegmentHeader = (bytes: Buffer, name: SegmentName): SegmentStart | undefined => {
  const checked = segmentHeaderLength - 4;
  if (bytes.length < segmentHeaderLength || !bytes.subarray(0, 8).equals(segmentMagic) || bytes.readUInt32LE(checked) !== crc32(bytes.subarray(0, checked))) return undefined;
  if (bytes.readUInt32LE(8) !== name.generation || bytes.readUInt32LE(12) !== name.segment) return undefined;
  const [firstRecord, baseEnd, event, sequence] = [0, 1, 2, 3].map((i) => Number(bytes.readBigUInt64LE(16 + i * 8))) as [number, number, number, number];
  return { firstRecord, baseEnd, counters: { event, sequence } };
};

/** Bytes that the record of these changes takes. */
export const recordLength = (changes: readonly Change[]): number => recordHeaderLength + 1 + changesLength(changes.filter(isCopied));

/** Writes a record at `at`; answers its end. */
export const writeRecord = (out: Buffer, at: number, record: { readonly generation: number; readonly number: number; readonly kind: RecordKind; readonly changes: readonly Change[] }): number => {
  out[at + recordHeaderLength] = kinds[record.kind];
  const end = writeChanges(out, at + recordHeaderLength + 1, record.changes.filter(isCopied), codeOf);
  recordMagic.copy(out, at);
  out.writeUInt32LE(end - at - recordHeaderLength, at + 4);
  out.writeBigUInt64LE(BigInt(record.number), at + 8);
  out.writeUInt32LE(checksumOf(out, at, end, record.generation), at + 16);
  return end;
};

const generationBytes = Buffer.alloc(4);
const checksumOf = (bytes: Buffer, at: number, end: number, generation: number): number => {
  generationBytes.writeUInt32LE(generation);
  return crc32(bytes.subarray(at + recordHeaderLength, end), crc32(bytes.subarray(at + 4, at + 16), crc32(generationBytes)));
};

/** One record of the copy, and its place [at, end) in the file. */
export interface LogRecord { readonly number: number; readonly kind: RecordKind; readonly changes: readonly Change[]; readonly at: number; readonly end: number }

/** The record at this place; undefined if there is no whole, sound one. */
export const readRecord = (bytes: Buffer, at: number, generation: number): LogRecord | undefined => {
  if (bytes.length - at < recordHeaderLength + 1 || bytes.compare(recordMagic, 0, 4, at, at + 4) !== 0) return undefined;
  const length = bytes.readUInt32LE(at + 4), end = at + recordHeaderLength + length;
  if (length === 0 || length > payloadBytesMax || end > bytes.length || bytes.readUInt32LE(at + 16) !== checksumOf(bytes, at, end, generation)) return undefined;
  const kind = kindNames.get(bytes[at + recordHeaderLength]!);
  if (kind === undefined) return undefined;
  return { number: Number(bytes.readBigUInt64LE(at + 8)), kind, changes: readChanges(bytes, at + recordHeaderLength + 1, end, tableOf), at, end };
};
/** Where the next sound record begins, from `at` on; undefined if none does. */
export const findRecord = (bytes: Buffer, from: number, generation: number): LogRecord | undefined => {
  for (let at = bytes.indexOf(recordMagic, from); at >= 0; at = bytes.indexOf(recordMagic, at + 1)) {
    const record = readRecord(bytes, at, generation);
    if (record) return record;
  }
  return undefined;
};

/** The counters after these changes. */
export const countersAfter = (before: Counters, changes: readonly Change[]): Counters => {
  let { event, sequence } = before;
  for (const { table, key, payload } of changes) {
    if (table !== 'about' || !payload || Buffer.compare(key, countersKey) !== 0) continue;
    const found = decodeCounters(Buffer.from(payload));
    event = Math.max(event, found.event);
    sequence = Math.max(sequence, found.sequence);
  }
  return { event, sequence };
};
