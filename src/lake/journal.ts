/**
 * The journal of the tables: a file of fixed length in which a transaction is durable after one synced write, long before LMDB has it (tables.ts).
 *
 * Layout: a ring of records in `journal`. A record begins where the one before ends, or at the file's begin where it would not fit. Little-endian: `LJRN`, length of the
 * payload u32, number u64, CRC-32 of length, number and payload u32; payload: changes to its end (change-bytes.ts).
 *
 * Invariants:
 * - Records are numbered without a gap over the lake's life. LMDB says up to which it has them all (`JournalEnd`), before the first one is written: what follows is to be done, in order.
 * - One record is written at a time. So what follows the last sound one is no record, or half of one that nobody was told of; a sound one with a higher number behind a gap means damage.
 * - No record is overwritten before the tables have it.
 */
import { closeSync, constants, fsyncSync, openSync, readFileSync, statSync, write, writeSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { crc32 } from 'node:zlib';
import { LakeError } from '../errors.ts';
import { changesLength, readChanges, writeChanges } from './change-bytes.ts';
import { isNoRoom } from './environment.ts';
import { killing, killPoint } from './kill-points.ts';
import { syncFolder } from './lock.ts';
import { type Change, type TableName, tableNames } from './table-rows.ts';

/** Its length, and the share of it that a record may have. */
const bytesDefault = 512 << 10, recordShareMax = 0.25;

const magic = Buffer.from('LJRN'), headBytes = 20;
/** Codes never change: tables are only ever added behind the others. */
const codes = new Map(tableNames.map((name, i) => [name, i]));
const codeOf = (table: TableName): number => codes.get(table)!, tableOf = (code: number): TableName => tableNames[code]!;

/** The number of a record and the place behind it. */
export interface JournalEnd { readonly number: number; readonly offset: number }
/** The end of a journal without records. */
export const journalBegin: JournalEnd = { number: 0, offset: 0 };
/** 12 bytes, little-endian: number u64, offset u32. */
export const encodeJournalEnd = ({ number, offset }: JournalEnd): Buffer => {
  const out = Buffer.allocUnsafe(12);
  out.writeBigUInt64LE(BigInt(number), 0);
  out.writeUInt32LE(offset, 8);
  return out;
};
/** The end that `encodeJournalEnd` wrote. */
export const decodeJournalEnd = (bytes: Buffer): JournalEnd => ({ number: Number(bytes.readBigUInt64LE(0)), offset: bytes.readUInt32LE(8) });

/** The file, open for writing. */
export class Journal {
  private readonly fd: number;
  private readonly bytes: number;
  private readonly out: Buffer;
  private outEnd = headBytes;
  private last: JournalEnd;
  /** Where the oldest record begins that the tables do not have, and how many there are. */
  private oldest: number;
  private kept = 0;

  /** Makes the file where there is none: durable when this returns. `end`: of what was read; `tablesEnd`: of what the tables have. */
  constructor(directory: string, { end, tablesEnd, bytes = bytesDefault }: { readonly end: JournalEnd; readonly tablesEnd: JournalEnd; readonly bytes?: number }) {
    const path = join(directory, 'journal'), size = statSync(path, { throwIfNoEntry: false })?.size ?? 0;
    this.bytes = Math.max(bytes, size);
    this.out = Buffer.allocUnsafe(this.bytes * recordShareMax);
    if (size < bytes) fill(path, size, bytes);
    this.fd = openSync(path, constants.O_RDWR | constants.O_DSYNC);
    this.last = end;
    this.oldest = tablesEnd.offset;
    this.kept = end.number - tablesEnd.number;
  }

  /** Of the last record that is durable. */
  get end(): JournalEnd { return this.last; }
  /** What a record can hold: longer transactions are LMDB's own. */
  get changesBytesMax(): number { return this.out.length - headBytes; }
  /** Bytes of records that the tables do not have, as a share of the file. */
  get share(): number { return this.kept === 0 ? 0 : ((this.last.offset - this.oldest + this.bytes) % this.bytes || this.bytes) / this.bytes; }

  /** Adds a transaction's changes to the record that is to be written. False: they do not fit into it. */
  add(changes: readonly Change[]): boolean {
    const { out, outEnd } = this;
    if (outEnd + changesLength(changes) > out.length) return false;
    this.outEnd = writeChanges(out, outEnd, changes, codeOf);
    return true;
  }
  /** Whether the record that is to be written has room in the file; none has while the tables lag behind. */
  hasRoom(): boolean { return this.place() !== undefined; }

  /** Writes the record in this thread; it is durable when this returns. What it throws is the disk's fault, and there is no such record then. */
  writeSync(): void {
    const at = this.begun();
    try {
      for (let done = 0; done < this.outEnd;) done += writeSync(this.fd, this.out, done, this.outEnd - done, at + done);
    } catch (fault) {
      this.takeBack(at);
      throw fault;
    }
    this.written(at);
  }
  /** The same in a thread of the system's pool. */
  async write(): Promise<void> {
    const at = this.begun();
    try {
      for (let done = 0; done < this.outEnd;) done += await this.writePart(done, at + done);
    } catch (fault) {
      this.takeBack(at);
      throw fault;
    }
    this.written(at);
  }
  private writePart(from: number, at: number): Promise<number> {
    return new Promise((resolve, reject) => { write(this.fd, this.out, from, this.outEnd - from, at, (fault, bytes) => { if (fault) reject(fault); else resolve(bytes); }); });
  }

  private begun(): number {
    const { out, outEnd } = this, at = this.place()!;
    magic.copy(out);
    out.writeUInt32LE(outEnd - headBytes, 4);
    out.writeBigUInt64LE(BigInt(this.last.number + 1), 8);
    out.writeUInt32LE(checksum(out, 0, outEnd), 16);
    if (killing) {
      writeSync(this.fd, out, 0, outEnd >> 1, at);
      killPoint('journal: half written');
    }
    return at;
  }
  private written(at: number): void {
    if (this.kept++ === 0) this.oldest = at;
    this.last = { number: this.last.number + 1, offset: at + this.outEnd };
    this.outEnd = headBytes;
    killPoint('journal: written');
  }
  /** What came of it must not be found. @throws the disk's fault */
  private takeBack(at: number): void {
    this.outEnd = headBytes;
    writeSync(this.fd, Buffer.alloc(headBytes), 0, headBytes, at);
  }
  /** Takes back what was added. */
  clear(): void { this.outEnd = headBytes; }

  private place(): number | undefined {
    const { outEnd: length, bytes } = this, { offset } = this.last;
    const before = bytes - offset;
    if (this.kept === 0) return length <= before ? offset : 0;
    if (offset <= this.oldest) return length <= this.oldest - offset ? offset : undefined;
    return length <= before ? offset : length <= this.oldest ? 0 : undefined;
  }

  /** The tables have what is up to here. */
  free({ number, offset }: JournalEnd): void {
    this.kept = this.last.number - number;
    // Where the next one did not fit behind it, it began the file; its place until then counts as taken.
    this.oldest = offset;
  }

  close(): void { closeSync(this.fd); }
}

/** Opens it for writing. @throws lake-unreadable, storage-full */
export const openJournal = ({ directory, end, tablesEnd, bytes }: { readonly directory: string; readonly end: JournalEnd; readonly tablesEnd: JournalEnd; readonly bytes?: number }): Journal => {
  try {
    return new Journal(directory, { end, tablesEnd, ...(bytes !== undefined && { bytes }) });
  } catch (error) {
    const { message } = error as Error;
    throw isNoRoom(message) ? new LakeError('storage-full', { fault: message }, { cause: error }) : new LakeError('lake-unreadable', { directory: dirname(directory), fault: message }, { cause: error });
  }
};

/** In its full length, so that a later write moves no file's end: the disk would write that too. */
const fill = (path: string, from: number, to: number): void => {
  const fd = openSync(path, constants.O_RDWR | constants.O_CREAT), zeros = Buffer.alloc(to - from);
  try {
    for (let done = 0; done < zeros.length;) done += writeSync(fd, zeros, done, zeros.length - done, from + done);
    fsyncSync(fd);
  } finally {
    closeSync(fd);
  }
  syncFolder(dirname(path));
};

/** `records`: the changes of each record, oldest first; `end`: that of the last of them, else what the tables have. */
interface JournalRead { readonly records: readonly (readonly Change[])[]; readonly end: JournalEnd; readonly fault?: string }
/** What the tables do not have: the changes of each record, in order. `fault`: records are lost. `tablesEnd` is undefined where LMDB says nothing. */
export const readJournal = (directory: string, tablesEnd: JournalEnd | undefined): JournalRead => {
  const bytes = readOrNothing(join(directory, 'journal')), records: (readonly Change[])[] = [], last = lastNumber(bytes);
  let end = tablesEnd ?? journalBegin;
  if (!tablesEnd) return { records, end, ...(last > 0 && { fault: `they do not say what they have of the journal, which has record ${last}` }) };
  for (;;) {
    const next = end.number + 1, found = recordAt(bytes, end.offset, next) ?? recordAt(bytes, 0, next);
    if (!found) break;
    records.push(found.changes);
    end = { number: next, offset: found.end };
  }
  if (last <= end.number) return { records, end };
  return { records, end, fault: `record ${end.number + 1} of the journal is damaged: what was committed from there to record ${last} cannot be read` };
};
const readOrNothing = (path: string): Buffer => (statSync(path, { throwIfNoEntry: false }) ? readFileSync(path) : Buffer.alloc(0));

const recordAt = (bytes: Buffer, at: number, number?: number): { readonly number: number; readonly changes: readonly Change[]; readonly end: number } | undefined => {
  if (bytes.length - at < headBytes || bytes.compare(magic, 0, 4, at, at + 4) !== 0) return undefined;
  const length = bytes.readUInt32LE(at + 4), end = at + headBytes + length, own = Number(bytes.readBigUInt64LE(at + 8));
  if (end > bytes.length || (number !== undefined && own !== number) || bytes.readUInt32LE(at + 16) !== checksum(bytes, at, end)) return undefined;
  return { number: own, changes: readChanges(bytes, at + headBytes, end, tableOf), end };
};
const lastNumber = (bytes: Buffer): number => {
  let last = 0;
  for (let at = bytes.indexOf(magic); at >= 0; at = bytes.indexOf(magic, at + 1)) last = Math.max(last, recordAt(bytes, at)?.number ?? 0);
  return last;
};
const checksum = (bytes: Buffer, at: number, end: number): number => crc32(bytes.subarray(at + headBytes, end), crc32(bytes.subarray(at + 4, at + 16)));
