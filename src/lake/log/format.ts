/**
 * The bytes of the log: segments and bases, files of records behind a head. All numbers are little-endian.
 *
 * - Head, 128 bytes: magic (8), version u32, number of the file u32, id of the lake (16), salt (16), number of its
 *   first record u64, flags u64 (1: the log began with a base), digest of the record before (16), zeros (32), SHA-256
 *   of all that (its first 16 bytes).
 * - Record, a multiple of 8 bytes: length of the payload u32, kind u32, number u64, digest of the record before (16),
 *   SHA-256 of the payload (16), digest (16), payload, zeros. The digest is the SHA-256 of salt, length, kind, number,
 *   digest before, that of the payload, and the record's place: number of its file u32, byte u32.
 *
 * Invariants:
 * - Records are numbered without a gap over a log's life, and each one's digest is made of the one before and of its
 *   place in the files: a record is one at one place of one history, and copied anywhere else, as a part of another one
 *   for instance, is none.
 * - The salt is drawn at random when a log is begun and never leaves the lake's folder, so that nobody else can make
 *   bytes that pass for a record: what a client chose, an earlier record, a moved one or another lake's is none.
 */
import { hash, randomBytes } from 'node:crypto';

/** Bytes before the first record, and before a record's payload. */
export const headBytes = 128,
  recordHeadBytes = 64;
/** Segments are made in multiples of this; earlier builds made one for a single long record as long as that. */
export const segmentBytesUnit = 4096;
/** The version of all this. */
export const formatOfLog = 1;
const digestBytes = 16;
const idBytes = 16;
const magics = { segment: Buffer.from('LAKELOG4'), base: Buffer.from('LAKEBASE') } as const;
export type FileKind = keyof typeof magics;

/**
 * `transactions`: what some changed that were written together; `rows`: a part of a base; `end`: the base is complete.
 */
export const recordKinds = { transactions: 1, rows: 2, end: 3 } as const;
export type RecordKind = keyof typeof recordKinds;
const kindOf = new Map<number, RecordKind>(
  Object.entries(recordKinds).map(([name, code]) => [code, name as RecordKind]),
);

/** Whose log it is: 16 random bytes each. */
export interface LogIdentity {
  readonly lake: Buffer;
  readonly salt: Buffer;
}
export const newIdentity = (): LogIdentity => ({ lake: randomBytes(idBytes), salt: randomBytes(idBytes) });
/** Before the first record. */
export const noDigest = Buffer.alloc(digestBytes);

/**
 * What a file begins with. `number`: of the file, among its kind; `first`: of its first record. A base has the state
 * after the record before `first`.
 */
export interface FileHead {
  readonly kind: FileKind;
  readonly number: number;
  readonly identity: LogIdentity;
  readonly first: number;
  readonly before: Buffer;
  readonly hasBase: boolean;
}
/** `digest`: of the head itself; the first record of a base comes after it. */
interface DecodedHead extends FileHead {
  readonly digest: Buffer;
}

const digestOf = (bytes: Uint8Array): Buffer => hash('sha256', bytes, 'buffer').subarray(0, digestBytes);

/** The 128 bytes; the last 16 are the digest. */
export const encodeHead = ({ kind, number, identity, first, before, hasBase }: FileHead): Buffer => {
  const out = Buffer.alloc(headBytes);
  const checked = headBytes - digestBytes;
  magics[kind].copy(out);
  out.writeUInt32LE(formatOfLog, 8);
  out.writeUInt32LE(number, 12);
  identity.lake.copy(out, 16);
  identity.salt.copy(out, 32);
  out.writeBigUInt64LE(BigInt(first), 48);
  out.writeBigUInt64LE(hasBase ? 1n : 0n, 56);
  before.copy(out, 64);
  digestOf(out.subarray(0, checked)).copy(out, checked);
  return out;
};
/** Undefined if it is none, or damaged. */
export const decodeHead = (bytes: Buffer, kind: FileKind): DecodedHead | undefined => {
  const checked = headBytes - digestBytes;
  if (
    bytes.length < headBytes ||
    bytes.compare(magics[kind], 0, 8, 0, 8) !== 0 ||
    bytes.readUInt32LE(8) !== formatOfLog
  )
    return undefined;
  if (bytes.compare(digestOf(bytes.subarray(0, checked)), 0, digestBytes, checked, headBytes) !== 0) return undefined;
  const part = (at: number): Buffer => Buffer.from(bytes.subarray(at, at + idBytes));
  return {
    kind,
    number: bytes.readUInt32LE(12),
    identity: { lake: part(16), salt: part(32) },
    first: Number(bytes.readBigUInt64LE(48)),
    hasBase: bytes.readBigUInt64LE(56) === 1n,
    before: part(64),
    digest: part(checked),
  };
};

/** What a damaged head still says, if the record behind it bears it out. */
export const guessHead = (bytes: Buffer, number: number): FileHead | undefined => {
  if (bytes.length < headBytes) return undefined;
  const salt = Buffer.from(bytes.subarray(32, 48));
  const found = recordAt(bytes, headBytes, { salt, file: number, byte: headBytes });
  return (
    found && {
      kind: 'segment',
      number,
      identity: { lake: Buffer.from(bytes.subarray(16, 32)), salt },
      first: found.number,
      hasBase: bytes[56] === 1,
      before: found.before,
    }
  );
};

/** The version of a head that a later build wrote. */
export const newerVersion = (bytes: Buffer): number | undefined =>
  bytes.length >= 12 &&
  bytes.compare(magics.segment, 0, 8, 0, 8) === 0 &&
  bytes.readUInt32LE(8) > formatOfLog &&
  bytes.readUInt32LE(8) < versionsMax
    ? bytes.readUInt32LE(8)
    : undefined;
/** More are noise. */
const versionsMax = 1000;

/** Bytes of a record with such a payload. */
export const recordBytes = (payloadBytes: number): number => recordHeadBytes + ((payloadBytes + 7) & ~7);

/** Where a record is in the files, and their salt. */
export interface RecordPlace {
  readonly salt: Buffer;
  /** Number of the file. */
  readonly file: number;
  /** The byte at which it begins. */
  readonly byte: number;
}

const keyed = Buffer.alloc(recordHeadBytes + 8);
/** The digest of a record whose head is at `at` of these bytes. */
const headDigest = (bytes: Buffer, at: number, { salt, file, byte }: RecordPlace): Buffer => {
  salt.copy(keyed);
  bytes.copy(keyed, idBytes, at, at + recordHeadBytes - digestBytes);
  keyed.writeUInt32LE(file, recordHeadBytes);
  keyed.writeUInt32LE(byte, recordHeadBytes + 4);
  return digestOf(keyed);
};

/** Makes a record of a payload that is there already, behind the room of its head at `at`. Answers its digest. */
export const sealRecord = (
  bytes: Buffer,
  at: number,
  payloadBytes: number,
  {
    kind,
    number,
    before,
    place,
  }: { readonly kind: RecordKind; readonly number: number; readonly before: Buffer; readonly place: RecordPlace },
): Buffer => {
  const payloadAt = at + recordHeadBytes;
  const payloadEnd = payloadAt + payloadBytes;
  bytes.writeUInt32LE(payloadBytes, at);
  bytes.writeUInt32LE(recordKinds[kind], at + 4);
  bytes.writeBigUInt64LE(BigInt(number), at + 8);
  before.copy(bytes, at + 16);
  digestOf(bytes.subarray(payloadAt, payloadEnd)).copy(bytes, at + 32);
  bytes.fill(0, payloadEnd, at + recordBytes(payloadBytes));
  const digest = headDigest(bytes, at, place);
  digest.copy(bytes, at + 48);
  return digest;
};

/** A record whose head is sound. `at` and `end`: in its file; `isWhole`: its payload is sound too. */
export interface FoundRecord {
  readonly at: number;
  readonly end: number;
  readonly kind: RecordKind;
  readonly number: number;
  readonly before: Buffer;
  readonly digest: Buffer;
  readonly isWhole: boolean;
  /** A view of the bytes that it was found in. */
  readonly payload: Buffer;
}

/** The record at `at` of these bytes; undefined if there is none whose head was made with this salt for this place. */
export const recordAt = (bytes: Buffer, at: number, place: RecordPlace): FoundRecord | undefined => {
  if (bytes.length - at < recordHeadBytes) return undefined;
  const length = bytes.readUInt32LE(at);
  const kind = kindOf.get(bytes.readUInt32LE(at + 4));
  if (
    kind === undefined ||
    bytes.readUInt32LE(at + 12) > 0x1fffff ||
    bytes.compare(headDigest(bytes, at, place), 0, digestBytes, at + 48, at + 64) !== 0
  )
    return undefined;
  const payload = bytes.subarray(at + recordHeadBytes, at + recordHeadBytes + length);
  const isWhole =
    at + recordBytes(length) <= bytes.length &&
    bytes.compare(digestOf(payload), 0, digestBytes, at + 32, at + 48) === 0;
  return {
    at: place.byte,
    end: place.byte + recordBytes(length),
    kind,
    number: Number(bytes.readBigUInt64LE(at + 8)),
    before: Buffer.from(bytes.subarray(at + 16, at + 32)),
    digest: Buffer.from(bytes.subarray(at + 48, at + 64)),
    isWhole,
    payload,
  };
};

/**
 * Where the log is for whoever has it up to there: its last record begins at `at` of a segment (0: it has none there)
 * and ends at `end`.
 */
export interface LogPlace {
  readonly lake: Buffer;
  readonly number: number;
  readonly digest: Buffer;
  readonly segment: number;
  readonly at: number;
  readonly end: number;
}
/** 52 bytes: id of the lake, number u64, digest, segment u32, at u32, end u32. */
export const encodePlace = ({ lake, number, digest, segment, at, end }: LogPlace): Buffer => {
  const out = Buffer.alloc(52);
  lake.copy(out);
  out.writeBigUInt64LE(BigInt(number), 16);
  digest.copy(out, 24);
  [segment, at, end].forEach((n, i) => out.writeUInt32LE(n, 40 + 4 * i));
  return out;
};
/** The place that `encodePlace` wrote; undefined for other bytes. */
export const decodePlace = (bytes: Buffer): LogPlace | undefined =>
  bytes.length !== 52
    ? undefined
    : {
        lake: bytes.subarray(0, 16),
        number: Number(bytes.readBigUInt64LE(16)),
        digest: bytes.subarray(24, 40),
        segment: bytes.readUInt32LE(40),
        at: bytes.readUInt32LE(44),
        end: bytes.readUInt32LE(48),
      };
