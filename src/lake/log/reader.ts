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
import { existsSync, readdirSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { LakeError } from '../../errors.ts';
import type { Change } from '../tables/table-rows.ts';
import { readChanges } from './changes.ts';
import {
  decodeHead,
  type FileHead,
  formatOfLog,
  headBytes,
  type LogIdentity,
  type LogPlace,
  newerVersion,
  segmentBytesUnit,
} from './format.ts';
import { headOf, RecordFile, withFile } from './record-file.ts';

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

/**
 * What there is of a log: its records from a place on, or all of them, in their order. The fields say what was found
 * when all records were taken.
 */
export class LogRead implements Iterable<LogRecord> {
  /** Undefined: no segment was begun. */
  identity: LogIdentity | undefined;
  /** Of the last record. */
  place: LogPlace | undefined;
  /** Number of the first record that its segments have. */
  first = 1;
  /** It began with a base. */
  hasBase = false;
  /** Records that were read. */
  records = 0;
  /** Bytes behind the last record that are none. */
  tailBytes = 0;
  /** Its last segment is no longer as long as it was made: what it ended with may be missing. */
  isCut = false;
  /** A line each, with file and byte. */
  readonly faults: string[] = [];
  private readonly directory: string;
  private readonly from: LogPlace | undefined;
  private damagedHead: number | undefined;

  constructor(directory: string, from?: LogPlace) {
    this.directory = directory;
    this.from = from;
  }

  *[Symbol.iterator](): Generator<LogRecord, void> {
    let unbegun: number | undefined;
    let before: number | undefined;
    for (const segment of listSegments(this.directory)) {
      if (this.from && segment < this.from.segment) continue;
      if (!isFile(segmentPath(this.directory, segment))) {
        this.fault(segment, 0, 'it is no file');
        continue;
      }
      const file = new RecordFile(segmentPath(this.directory, segment), 'segment', segment);
      try {
        const sound = decodeHead(file.bytes(0, headBytes), 'segment');
        const head = sound?.number === segment ? sound : file.guessedHead();
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
        if (this.begin(segment, head)) yield* this.segment(segment, file, head);
      } finally {
        file.close();
      }
    }
    if (unbegun !== undefined && (!this.identity || this.wasBegun(unbegun))) this.damaged(unbegun);
    if (this.from && !this.place) this.missing(this.from);
  }
  /** Reads what is left, for what the fields say alone. */
  finish(): this {
    const records = this[Symbol.iterator]();
    while (!records.next().done);
    return this;
  }

  /**
   * A segment that was never begun is all zeros, or what is there of its head and first record: those were one write.
   * With more behind them it was begun.
   */
  private wasBegun(segment: number): boolean {
    const { place, identity } = this;
    if (!place) return false;
    return withFile(segmentPath(this.directory, segment), 'segment', segment, (file) => {
      file.salt = identity!.salt;
      return file.later(headBytes, place.number + 1) !== undefined;
    });
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

  private *segment(segment: number, file: RecordFile, { first, before }: FileHead): Generator<LogRecord, void> {
    const { from } = this;
    const { lake, salt } = this.identity!;
    file.salt = salt;
    if (from?.segment === segment) {
      // What is known of the log must be the log's.
      const own = from.at > 0 ? file.recordAt(from.at) : undefined;
      const isThere =
        from.at > 0
          ? own?.isWhole === true &&
            own.number === from.number &&
            own.end === from.end &&
            own.digest.equals(from.digest)
          : from.number === first - 1 && from.digest.equals(before);
      if (!isThere) this.fault(segment, from.at, `record ${from.number} is not there`);
      this.place = from;
    }
    this.isCut = file.size % segmentBytesUnit !== 0 && file.recordAt(headBytes)?.end !== file.size;
    const reached = this.place!;
    const records = file.records(reached.end, reached.number, reached.digest);
    for (const { record, lostAt } of records) {
      const { number, before, digest, at, end, payload } = record;
      if (lostAt !== undefined) this.gap(segment, lostAt, this.place!.number + 1, number - 1);
      this.place = { lake, number, digest, segment, at, end };
      this.records++;
      yield { place: this.place, number, before, changes: readChanges(payload) };
    }
    this.tailBytes = tailOf(file.bytes(this.place!.end, file.size));
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

/** The changes of each record, oldest first. */
export const changesOf = (log: LogRead): readonly (readonly Change[])[] => Array.from(log, ({ changes }) => changes);

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
const tailOf = (bytes: Buffer): number => {
  let end = bytes.length;
  while (end > 0 && bytes[end - 1] === 0) end--;
  return end;
};

/** What a log begins with, from the first segment that was begun. @throws lake-newer */
export const logBegin = (directory: string): FileHead | undefined => {
  for (const segment of listSegments(directory)) {
    if (!isFile(segmentPath(directory, segment))) continue;
    const bytes = headOf(segmentPath(directory, segment));
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
    const head = isFile(path) ? withFile(path, 'segment', segment, (file) => file.guessedHead()) : undefined;
    if (head) return head.identity;
  }
  return undefined;
};
/** Why a base is none of this log's, if it says so itself; what a damaged head says is not known. */
export const strangeBase = (directory: string, record: number, own: LogIdentity | undefined): string | undefined => {
  const path = basePath(directory, record);
  if (!isFile(path)) return 'it is no file';
  const head = own && decodeHead(headOf(path), 'base');
  return head && !(head.identity.lake.equals(own.lake) && head.identity.salt.equals(own.salt))
    ? 'it is of another lake'
    : undefined;
};

/**
 * The whole records of a base, those behind damage too. The fields say what was found when all were taken. A base
 * without its end is not complete.
 */
export class BaseRead implements Iterable<LogRecord> {
  /** Undefined: it is damaged. */
  head: FileHead | undefined;
  /** A line each, with file and byte. */
  readonly faults: string[] = [];
  private readonly directory: string;
  private readonly record: number;

  constructor(directory: string, record: number) {
    this.directory = directory;
    this.record = record;
  }

  *[Symbol.iterator](): Generator<LogRecord, void> {
    const { directory, record } = this;
    const file = new RecordFile(basePath(directory, record), 'base', 0);
    try {
      const bytes = file.bytes(0, headBytes);
      const decoded = decodeHead(bytes, 'base');
      const head = decoded?.first === record + 1 ? decoded : undefined;
      this.head = head;
      if (!head) this.fault(headBytes, 'its head is damaged');
      // What a damaged head says of the salt is not believed where the log has it.
      file.salt = head?.identity.salt ?? logIdentity(directory)?.salt ?? bytes.subarray(32, 48);
      let reached = headBytes;
      // Behind a damaged head the first record there is may be the first one.
      const lost = (byte: number): void => {
        if (head || byte > headBytes) this.fault(byte, 'the record there is damaged or missing');
      };
      for (const { record: part, lostAt } of file.records(headBytes, 0, head?.digest)) {
        const { kind, number, before, end, payload } = part;
        if (lostAt !== undefined) lost(lostAt);
        if (kind === 'end') return;
        yield { number, before, changes: readChanges(payload) };
        reached = end;
      }
      lost(reached);
    } finally {
      file.close();
    }
  }
  private fault(byte: number, text: string): void {
    this.faults.push(`${baseName(this.record)}, byte ${byte}: ${text}`);
  }
}
