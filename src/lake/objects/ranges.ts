/**
 * Ranges of bytes of a bucket's objects on the local disk, one file each: `<lake>/ranges/xx/ID/OFFSET-LENGTH`, the bytes
 * and behind them their checksum. What is asked for is put together from files that are there; what is missing is
 * fetched, ranges side by side, each once.
 *
 * Invariants:
 * - Nothing is answered from a file whose checksum this thread has not compared; one that does not fit is removed and
 *   fetched again.
 * - Files may go at any time, also under a reader: what went is fetched again (store/cache.ts removes those that were
 *   not used for longest).
 * - What cannot be kept for want of room is answered all the same.
 */
import {
  closeSync,
  fstatSync,
  mkdirSync,
  openSync,
  readdirSync,
  readSync,
  renameSync,
  rmSync,
  utimes,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { checksum } from '../columns/checksum.ts';
import type { Id } from '../lake.types.ts';

/** Gets a range of an object; rejects where there is none. */
export type FetchRange = (id: Id, offset: number, length: number) => Promise<Uint8Array>;

/** A range that is on the disk, or on its way. */
interface Range {
  readonly offset: number;
  readonly length: number;
  readonly coming?: Promise<Uint8Array>;
  isChecked?: boolean;
  touchedAt?: number;
}
/** Part of what was asked for, as it is in one range. */
interface Piece {
  readonly range: Range;
  readonly start: number;
  readonly end: number;
}

const sumBytes = 4;
/** A use is noted so often. */
const touchMs = 60_000;
/** Objects whose ranges are known; more are looked up again. */
const objectsMax = 10_000;
const namePattern = /^(\d+)-(\d+)$/;
let makings = 0;

export const rangesFolder = (lakeDirectory: string): string => join(lakeDirectory, 'ranges');
/** Where an object's ranges are. */
export const rangesOf = (lakeDirectory: string, id: Id): string => join(rangesFolder(lakeDirectory), id.slice(38), id);
/** The bytes that a file of that name has of its object; undefined: it is none of a range. */
export const rangeBytes = (name: string): number | undefined => {
  const found = namePattern.exec(name);
  return found ? Number(found[2]) : undefined;
};

export class RangeCache {
  private readonly directory: string;
  private readonly name: string;
  private readonly fetch: FetchRange;
  private readonly known = new Map<Id, Range[]>();

  /** `name`: tells this thread's files in the making from those of others. */
  constructor(directory: string, name: string, fetch: FetchRange) {
    this.directory = directory;
    this.name = name;
    this.fetch = fetch;
  }

  /** At once if all is on the disk. */
  read(id: Id, offset: number, length: number): Uint8Array | Promise<Uint8Array> {
    const bytes = new Uint8Array(length);
    for (;;) {
      const pieces = this.pieces(id, offset, length);
      const coming: Promise<void>[] = [];
      let isGone = false;
      for (const { range, start, end } of pieces) {
        const into = bytes.subarray(start - offset, end - offset);
        if (range.coming)
          coming.push(range.coming.then((all) => into.set(all.subarray(start - range.offset, end - range.offset))));
        else if (!this.copy(id, range, start, into)) isGone = true;
      }
      // Of what went the rest is asked for once more; nothing comes twice meanwhile.
      if (isGone) {
        for (const each of coming) each.catch(() => undefined);
        continue;
      }
      return coming.length === 0 ? bytes : Promise.all(coming).then(() => bytes);
    }
  }
  /** Begins to fetch what is missing of it. A fault is told to who reads it. */
  ahead(id: Id, offset: number, length: number): void {
    for (const { range } of this.pieces(id, offset, length)) range.coming?.catch(() => undefined);
  }

  /** The ranges that together have what is asked for; what is on no disk is on its way. */
  private pieces(id: Id, offset: number, length: number): readonly Piece[] {
    let pieces = covering(this.rangesOf(id), offset, offset + length);
    // Another thread may have fetched it.
    if (pieces.some(({ range }) => !range)) {
      this.look(id);
      pieces = covering(this.rangesOf(id), offset, offset + length);
    }
    return pieces.map(({ range, start, end }) => ({ range: range ?? this.get(id, start, end - start), start, end }));
  }
  private rangesOf(id: Id): readonly Range[] {
    return this.known.get(id) ?? this.look(id);
  }
  /** Reads from the disk which ranges there are. */
  private look(id: Id): readonly Range[] {
    const before = this.known.get(id) ?? [];
    const ranges = before.filter((range) => range.coming);
    const had = new Map(before.map((range) => [`${range.offset}-${range.length}`, range]));
    for (const file of namesIn(rangesOf(this.directory, id))) {
      const [, offset, length] = namePattern.exec(file) ?? [];
      if (offset !== undefined) ranges.push(had.get(file) ?? { offset: Number(offset), length: Number(length) });
    }
    if (this.known.size >= objectsMax) this.known.clear();
    this.known.set(id, sorted(ranges));
    return this.known.get(id)!;
  }
  private get(id: Id, offset: number, length: number): Range {
    const coming = this.fetch(id, offset, length);
    const range: Range = { offset, length, coming };
    this.change(id, (ranges) => [...ranges, range]);
    coming.then(
      (bytes) => {
        const isKept = this.keep(id, offset, bytes);
        const kept: Range = { offset, length, isChecked: true };
        this.change(id, (ranges) => [...ranges.filter((each) => each !== range), ...(isKept ? [kept] : [])]);
      },
      () => {
        this.change(id, (ranges) => ranges.filter((each) => each !== range));
      },
    );
    return range;
  }
  private change(id: Id, to: (ranges: readonly Range[]) => readonly Range[]): void {
    this.known.set(id, sorted(to(this.known.get(id) ?? [])));
  }

  private keep(id: Id, offset: number, bytes: Uint8Array): boolean {
    const folder = rangesOf(this.directory, id);
    const making = join(folder, `${this.name}-${process.pid}-${++makings}`);
    const whole = Buffer.alloc(bytes.length + sumBytes);
    whole.set(bytes);
    whole.writeUInt32LE(sumOf(bytes), bytes.length);
    try {
      mkdirSync(folder, { recursive: true });
      writeFileSync(making, whole);
      // One that another thread has fetched meanwhile is the same.
      renameSync(making, join(folder, `${offset}-${bytes.length}`));
      return true;
    } catch {
      rmSync(making, { force: true });
      return false;
    }
  }
  /** Fills `into` from the file of a range; false: it is not there any more, or was damaged and is removed. */
  private copy(id: Id, range: Range, start: number, into: Uint8Array): boolean {
    const path = join(rangesOf(this.directory, id), `${range.offset}-${range.length}`);
    const isThere = range.isChecked
      ? copied(path, start - range.offset, into)
      : copiedChecked(path, range, start - range.offset, into);
    if (!isThere) {
      rmSync(path, { force: true });
      this.change(id, (ranges) => ranges.filter((each) => each !== range));
      return false;
    }
    range.isChecked = true;
    const now = Date.now();
    if ((range.touchedAt ?? 0) > now - touchMs) return true;
    range.touchedAt = now;
    utimes(path, now / 1000, now / 1000, () => undefined);
    return true;
  }

  forget(id: Id): void {
    this.known.delete(id);
  }
}

const sorted = (ranges: readonly Range[]): Range[] =>
  [...ranges].sort((a, b) => a.offset - b.offset || b.length - a.length);

/** What of `start` to `end` is in which range; without one: nobody has it. Each byte comes from one place. */
const covering = (
  ranges: readonly Range[],
  start: number,
  end: number,
): readonly { readonly range: Range | undefined; readonly start: number; readonly end: number }[] => {
  const out: { readonly range: Range | undefined; readonly start: number; readonly end: number }[] = [];
  let at = start;
  for (const range of ranges) {
    const rangeEnd = range.offset + range.length;
    if (rangeEnd <= at) continue;
    if (range.offset >= end || at >= end) break;
    if (range.offset > at) out.push({ range: undefined, start: at, end: range.offset });
    const from = Math.max(at, range.offset);
    at = Math.min(end, rangeEnd);
    out.push({ range, start: from, end: at });
  }
  if (at < end) out.push({ range: undefined, start: at, end });
  return out;
};

const sumOf = (bytes: Uint8Array): number => checksum(bytes) >>> 0;
const namesIn = (folder: string): readonly string[] => {
  try {
    return readdirSync(folder);
  } catch {
    return [];
  }
};
const readAt = (fd: number, into: Uint8Array, from: number): boolean => {
  for (let done = 0; done < into.length; ) {
    const n = readSync(fd, into, done, into.length - done, from + done);
    if (n === 0) return false;
    done += n;
  }
  return true;
};
const withFile = (path: string, read: (fd: number) => boolean): boolean => {
  let fd: number | undefined;
  try {
    fd = openSync(path, 'r');
    return read(fd);
  } catch {
    return false;
  } finally {
    if (fd !== undefined) closeSync(fd);
  }
};
const copied = (path: string, from: number, into: Uint8Array): boolean =>
  withFile(path, (fd) => readAt(fd, into, from));
const copiedChecked = (path: string, { length }: Range, from: number, into: Uint8Array): boolean =>
  withFile(path, (fd) => {
    if (fstatSync(fd).size !== length + sumBytes) return false;
    const whole = Buffer.alloc(length + sumBytes);
    if (!readAt(fd, whole, 0) || whole.readUInt32LE(length) !== sumOf(whole.subarray(0, length))) return false;
    into.set(whole.subarray(from, from + into.length));
    return true;
  });
