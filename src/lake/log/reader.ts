/**
 * Reads the log: the chain of records from a place on, and what is wrong with it.
 *
 * Invariants:
 * - The chain ends where no record follows. What is behind is half a write that nobody was told of, unless something
 *   later shows that there was more: then it is damage, told with its place, and those records are read too, for
 *   whoever wants what is left.
 * - A record counts only with the salt's digest, its number and the digest of the one before.
 * - A base says in its head whose it is: that of another lake, or of another log, is never read.
 */
import { closeSync, existsSync, fstatSync, openSync, readdirSync, readSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { LakeError } from '../../errors.ts';
import type { Change } from '../tables/table-rows.ts';
import { readChanges } from './changes.ts';
import {
  decodeHead,
  type FileHead,
  formatOfLog,
  type FoundRecord,
  guessHead,
  headBytes,
  type LogIdentity,
  type LogPlace,
  newerVersion,
  recordAt,
  recordBytes,
  recordHeadBytes,
  recordKinds,
  segmentBytesUnit,
} from './format.ts';

/** Where segments and bases are in the lake's folder, and what their files are called. */
export const logFolder = (directory: string): string => join(directory, 'log');
export const baseFolder = (directory: string): string => join(directory, 'base');
export const segmentName = (segment: number): string => String(segment).padStart(8, '0');
const filesIn = (folder: string): readonly number[] =>
  (existsSync(folder) ? readdirSync(folder) : [])
    .filter((name) => /^\d{8,16}$/.test(name))
    .map(Number)
    .filter(Number.isSafeInteger)
    .sort((a, b) => a - b);
/** Numbers of the segments, whether begun or not. */
export const listSegments = (directory: string): readonly number[] => filesIn(logFolder(directory));
/** Numbers of the records up to which there are bases, oldest first. */
export const listBases = (directory: string): readonly number[] => filesIn(baseFolder(directory));
export const segmentPath = (directory: string, segment: number): string =>
  join(logFolder(directory), segmentName(segment));
export const basePath = (directory: string, record: number): string => join(directory, baseName(record));
/** In the lake's folder. */
export const baseName = (record: number): string => `base/${String(record).padStart(16, '0')}`;

/** Not a folder, a pipe or a link to nothing. */
export const isFile = (path: string): boolean => statSync(path, { throwIfNoEntry: false })?.isFile() === true;
/** Bytes of all bases. */
export const bytesOfBases = (directory: string): number =>
  listBases(directory).reduce(
    (sum, record) => sum + (statSync(basePath(directory, record), { throwIfNoEntry: false })?.size ?? 0),
    0,
  );

/**
 * A record's changes, which view the file's bytes, and the digest of the record before. `place`: where the log has it;
 * those of a base have none.
 */
export interface LogRecord {
  readonly place?: LogPlace;
  readonly number: number;
  readonly before: Buffer;
  readonly changes: readonly Change[];
}

/** What there is of a log. */
export interface LogRead {
  /** Undefined: no segment was begun. */
  readonly identity: LogIdentity | undefined;
  /** Of the last record. */
  readonly place: LogPlace | undefined;
  /** Number of the first record that its segments have. */
  readonly first: number;
  /** It began with a base. */
  readonly hasBase: boolean;
  /** Records that were read. */
  readonly records: number;
  /** Bytes behind the last record that are none. */
  readonly tailBytes: number;
  /** Its last segment is no longer as long as it was made: what it ended with may be missing. */
  readonly isCut: boolean;
  /** A line each, with file and byte. */
  readonly faults: readonly string[];
}

/** Its records from a place on, or all of them; returns what was found. */
export const logRecords = (directory: string, from?: LogPlace): Generator<LogRecord, LogRead> =>
  new LogReader(directory, from).read();
/** The same at once. */
export const readLog = (
  directory: string,
  onRecord: (record: LogRecord) => void = () => undefined,
  from?: LogPlace,
): LogRead => {
  const records = logRecords(directory, from);
  for (let next = records.next(); ; next = records.next()) {
    if (next.done) return next.value;
    onRecord(next.value);
  }
};

/** What the log has behind a place: the changes of each record, oldest first. */
export const restOfLog = (
  directory: string,
  from: LogPlace,
): LogRead & { readonly changes: readonly (readonly Change[])[] } => {
  const changes: (readonly Change[])[] = [];
  const read = readLog(
    directory,
    (record) => {
      changes.push(record.changes);
    },
    from,
  );
  return { ...read, changes };
};

class LogReader {
  private readonly directory: string;
  private readonly from: LogPlace | undefined;
  private readonly faults: string[] = [];
  private identity: LogIdentity | undefined;
  private place: LogPlace | undefined;
  private first = 1;
  private hasBase = false;
  private records = 0;
  private tailBytes = 0;
  private isCut = false;
  private damagedHead: number | undefined;

  constructor(directory: string, from: LogPlace | undefined) {
    this.directory = directory;
    this.from = from;
  }

  *read(): Generator<LogRecord, LogRead> {
    let unbegun: number | undefined;
    let before: number | undefined;
    for (const segment of listSegments(this.directory)) {
      if (this.from && segment < this.from.segment) continue;
      if (!isFile(segmentPath(this.directory, segment))) {
        this.fault(segment, 0, 'it is no file');
        continue;
      }
      const bytes = readFile(segmentPath(this.directory, segment));
      const sound = decodeHead(bytes, 'segment');
      const head = sound?.number === segment ? sound : guessHead(bytes, segment);
      if (!head) {
        unbegun ??= segment;
        continue;
      }
      if (head !== sound) this.damagedHead = segment;
      if (unbegun !== undefined) this.damaged(unbegun);
      else if (before !== undefined && segment > before + 1)
        this.fault(
          segment,
          0,
          `the segments before it are missing (${segmentName(before + 1)} to ${segmentName(segment - 1)})`,
        );
      unbegun = undefined;
      before = segment;
      // One write makes the head and the first record, so that the head alone is never half.
      if (this.damagedHead === segment) this.damaged(segment);
      if (this.begin(segment, head)) yield* this.segment(segment, bytes, head);
    }
    // A segment that was never begun is all zeros, or what is there of its head and first record: those were one write.
    // With more behind them it was begun.
    if (
      unbegun !== undefined &&
      this.place &&
      this.later(readFile(segmentPath(this.directory, unbegun)), unbegun, headBytes, this.place.number + 1)
    )
      this.damaged(unbegun);
    if (!this.identity && unbegun !== undefined) this.damaged(unbegun);
    if (this.from && !this.place) this.missing(this.from);
    const { identity, place, first, hasBase, records, tailBytes, isCut, faults } = this;
    return { identity, place, first, hasBase, records, tailBytes, isCut, faults };
  }

  /** Whether the segment is one of this log. */
  private begin(segment: number, { identity, first, before, hasBase }: FileHead): boolean {
    if (!this.identity) {
      this.identity = identity;
      this.hasBase = hasBase;
      this.first = first;
      if (this.from && !identity.lake.equals(this.from.lake))
        this.fault(segment, 0, 'it is of another lake than the tables');
      else if (this.from && segment !== this.from.segment) this.missing(this.from);
      if (segment !== this.from?.segment) this.place = beginOf(segment, identity.lake, { first, before });
      return true;
    }
    // What a damaged head says of the lake is borne out by the salt.
    if (
      !identity.salt.equals(this.identity.salt) ||
      (this.damagedHead !== segment && !identity.lake.equals(this.identity.lake))
    ) {
      this.fault(segment, 0, 'it is of another lake');
      return false;
    }
    const { place } = this;
    if (place && (first !== place.number + 1 || !before.equals(place.digest))) {
      if (first <= place.number) {
        this.fault(segment, 0, `it begins with record ${first}, which stands before it`);
        return false;
      }
      this.gap(place.segment, place.end, place.number + 1, first - 1);
    }
    this.place = beginOf(segment, identity.lake, { first, before });
    return true;
  }

  private *segment(segment: number, bytes: Buffer, { first, before }: FileHead): Generator<LogRecord, void> {
    const { from, identity } = this;
    let at = headBytes;
    if (from?.segment === segment) {
      // What is known of the log must be the log's.
      const own = from.at > 0 ? this.recordIn(bytes, segment, from.at) : undefined;
      const isThere =
        from.at > 0
          ? own?.isWhole === true &&
            own.number === from.number &&
            own.end === from.end &&
            own.digest.equals(from.digest)
          : from.number === first - 1 && from.digest.equals(before);
      if (!isThere) this.fault(segment, from.at, `record ${from.number} is not there`);
      this.place = from;
      at = from.end;
    }
    this.tailBytes = 0;
    this.isCut =
      bytes.length % segmentBytesUnit !== 0 && this.recordIn(bytes, segment, headBytes)?.end !== bytes.length;
    while (at < bytes.length) {
      const next = this.place!.number + 1;
      const here = this.recordIn(bytes, segment, at);
      const isNext =
        here?.isWhole === true &&
        here.kind === 'transactions' &&
        here.number === next &&
        here.before.equals(this.place!.digest);
      // What is found elsewhere tells that there was more, and that it is damaged.
      const found = isNext ? here : this.later(bytes, segment, here ? here.end : at + 8, next - 1);
      if (!found) {
        this.tailBytes = tailOf(bytes, at);
        return;
      }
      const { number, digest } = found;
      if (!isNext) this.gap(segment, at, next, number - 1);
      this.place = { lake: identity!.lake, number, digest, segment, at: found.at, end: found.end };
      this.records++;
      const changes = readChanges(bytes, found.payloadAt, found.payloadEnd);
      yield { place: this.place, number, before: found.before, changes };
      at = found.end;
    }
  }

  /** The record there, if there is one of this log. */
  private recordIn(bytes: Buffer, segment: number, at: number): FoundRecord | undefined {
    return recordAt(bytes, at, { salt: this.identity!.salt, file: segment, byte: at });
  }
  /** The first whole record after number `after` from a place on: behind damage. */
  private later(bytes: Buffer, segment: number, from: number, after: number): FoundRecord | undefined {
    for (let at = from; at + recordHeadBytes <= bytes.length; at += 8) {
      // Cheap to see in zeros and in most bytes: a length that fits, a kind, a number that may come.
      const mayBe =
        bytes[at + 4] === 1 &&
        bytes.readUInt32LE(at) <= bytes.length - at &&
        bytes.readUInt32LE(at + 12) === Math.floor((after + 1) / 2 ** 32);
      const found = mayBe ? this.recordIn(bytes, segment, at) : undefined;
      if (found?.isWhole && found.kind === 'transactions' && found.number > after) return found;
    }
    return undefined;
  }

  private gap(segment: number, byte: number, first: number, last: number): void {
    this.fault(
      segment,
      byte,
      last > first
        ? `records ${first} to ${last} are damaged or missing`
        : last === first
          ? `record ${first} is damaged or missing`
          : `record ${first} does not follow the one before it`,
    );
  }
  private damaged(segment: number): void {
    this.fault(segment, 0, 'its head is damaged');
  }
  private missing({ segment }: LogPlace): void {
    this.fault(segment, 0, 'the segment is missing or its head is damaged');
  }
  private fault(segment: number, byte: number, text: string): void {
    this.faults.push(`log/${segmentName(segment)}, byte ${byte}: ${text}`);
  }
}

/** Before a segment's first record. */
const beginOf = (segment: number, lake: Buffer, { first, before }: Pick<FileHead, 'first' | 'before'>): LogPlace => ({
  lake,
  number: first - 1,
  digest: before,
  segment,
  at: 0,
  end: headBytes,
});
/** Bytes up to the last one that is not zero. */
const tailOf = (bytes: Buffer, at: number): number => {
  let end = bytes.length;
  while (end > at && bytes[end - 1] === 0) end--;
  return end - at;
};

/** What a log begins with, from the first segment that was begun. @throws lake-newer */
export const logBegin = (directory: string): FileHead | undefined => {
  for (const segment of listSegments(directory)) {
    if (!isFile(segmentPath(directory, segment))) continue;
    const bytes = withFile(segmentPath(directory, segment), (fd) => readAt(fd, 0, headBytes));
    const head = decodeHead(bytes, 'segment');
    if (head) return head;
    const version = newerVersion(bytes);
    if (version !== undefined) throw new LakeError('lake-newer', { directory, version, versionMax: formatOfLog });
  }
  return undefined;
};

/** Whose log it is, from a head or from what a damaged one still says. */
export const logIdentity = (directory: string): LogIdentity | undefined => {
  const begun = logBegin(directory);
  if (begun) return begun.identity;
  for (const segment of listSegments(directory)) {
    const path = segmentPath(directory, segment);
    const head = isFile(path) ? guessHead(readFile(path), segment) : undefined;
    if (head) return head.identity;
  }
  return undefined;
};
/** Why a base is none of this log's, if it says so itself; what a damaged head says is not known. */
export const strangeBase = (directory: string, record: number, own: LogIdentity | undefined): string | undefined => {
  const path = basePath(directory, record);
  if (!isFile(path)) return 'it is no file';
  const head =
    own &&
    decodeHead(
      withFile(path, (fd) => readAt(fd, 0, headBytes)),
      'base',
    );
  return head && !(head.identity.lake.equals(own.lake) && head.identity.salt.equals(own.salt))
    ? 'it is of another lake'
    : undefined;
};

/** A base's head, how many rows it has, and what is wrong with it, a line each with file and byte. */
export interface BaseRead {
  readonly head: FileHead | undefined;
  readonly rows: number;
  readonly faults: readonly string[];
}

/**
 * The whole records of a base, those behind damage too; returns what was found. A base without its end is not complete.
 */
export function* readBase(directory: string, record: number): Generator<LogRecord, BaseRead> {
  const path = basePath(directory, record);
  const fd = openSync(path, 'r');
  const faults: string[] = [];
  let rows = 0;
  let at = headBytes;
  const fault = (text: string): number => faults.push(`${baseName(record)}, byte ${at}: ${text}`);
  try {
    const size = fstatSync(fd).size;
    const bytes = readAt(fd, 0, headBytes);
    const decoded = decodeHead(bytes, 'base');
    const head = decoded?.first === record + 1 ? decoded : undefined;
    if (!head) fault('its head is damaged');
    // What a damaged head says of the salt is not believed where the log has it.
    const salt = head?.identity.salt ?? logIdentity(directory)?.salt ?? Buffer.from(bytes.subarray(32, 48));
    let before: Buffer | undefined = head ? decoded!.digest : undefined;
    for (let number = 1; ; ) {
      const here = baseRecord(fd, size, at, salt);
      const isNext = here?.number === number && (before === undefined || here.before.equals(before));
      if (!isNext && before !== undefined) fault('the record there is damaged or missing');
      const found = isNext ? here : laterOfBase(fd, size, { salt, from: at, after: number - 1 });
      if (!found) {
        if (before === undefined && number > 1) fault('the record there is damaged or missing');
        return { head, rows, faults };
      }
      if (found.kind === 'end') return { head, rows, faults };
      const changes = readChanges(found.bytes, found.payloadAt, found.payloadEnd);
      rows += changes.length;
      yield { number: found.number, before: found.before, changes };
      before = found.digest;
      number = found.number + 1;
      at = found.byte + found.end;
    }
  } finally {
    closeSync(fd);
  }
}
interface BaseRecord extends FoundRecord {
  readonly bytes: Buffer /** Where it begins in the file. */;
  readonly byte: number;
}
/** The whole record of a base at a place. */
const baseRecord = (fd: number, size: number, byte: number, salt: Buffer): BaseRecord | undefined => {
  const length = size - byte < recordHeadBytes ? Infinity : recordBytes(readAt(fd, byte, 4).readUInt32LE(0));
  if (byte + length > size) return undefined;
  const bytes = readAt(fd, byte, length);
  const found = recordAt(bytes, 0, { salt, file: 0, byte });
  return found?.isWhole && found.kind !== 'transactions' ? { ...found, bytes, byte } : undefined;
};
const searchBytes = 1 << 20;
/** The first whole record of a base with a number above `after` from a place on. */
const laterOfBase = (
  fd: number,
  size: number,
  { salt, from, after }: { readonly salt: Buffer; readonly from: number; readonly after: number },
): BaseRecord | undefined => {
  for (let start = from; start + recordHeadBytes <= size; start += searchBytes) {
    const bytes = readAt(fd, start, Math.min(size - start, searchBytes + recordHeadBytes - 8));
    for (let at = 0; at + recordHeadBytes <= bytes.length; at += 8) {
      // As in segments: most bytes are seen to be none.
      const mayBe =
        (bytes[at + 4] === recordKinds.rows || bytes[at + 4] === recordKinds.end) &&
        bytes.readUInt32LE(at) <= size - start - at &&
        bytes.readUInt32LE(at + 8) > after;
      const found =
        mayBe && recordAt(bytes, at, { salt, file: 0, byte: start + at })
          ? baseRecord(fd, size, start + at, salt)
          : undefined;
      if (found && found.number > after) return found;
    }
  }
  return undefined;
};

const readAt = (fd: number, position: number, length: number): Buffer => {
  const bytes = Buffer.allocUnsafe(length);
  let done = 0;
  for (let n = 1; done < length && n > 0; done += n) n = readSync(fd, bytes, done, length - done, position + done);
  return bytes.subarray(0, done);
};
const withFile = <T>(path: string, read: (fd: number) => T): T => {
  const fd = openSync(path, 'r');
  try {
    return read(fd);
  } finally {
    closeSync(fd);
  }
};
const readFile = (path: string): Buffer => withFile(path, (fd) => readAt(fd, 0, fstatSync(fd).size));
