/**
 * The log: what it has is durable, and what it does not have was never done. One record is written at a time, with one
 * synced write, for all transactions that wait together.
 *
 * Invariants:
 * - Segments are files of zeros, durable in their full length before the first record, so that a write moves no file's
 *   end: the disk would write that too.
 * - A segment's head is one write with its first record. A record that does not fit into the rest of a segment begins
 *   the next one.
 * - Behind a write that failed the same place is written again.
 */
import { closeSync, constants, fstatSync, mkdirSync, openSync, rmSync, statSync, write, writeSync } from 'node:fs';
import { open } from 'node:fs/promises';
import { dirname } from 'node:path';
import { killing, killPoint } from '../kill-points.ts';
import { syncFolder, writeDurably } from '../lock.ts';
import { ownFile } from '../own-files.ts';
import type { Change } from '../tables/table-rows.ts';
import { changesLength, writeChanges } from './changes.ts';
import {
  encodeHead,
  headBytes,
  type LogIdentity,
  type LogPlace,
  noDigest,
  recordBytes,
  recordHeadBytes,
  sealRecord,
  segmentBytesUnit,
} from './format.ts';
import { listSegments, logFolder, segmentName, segmentPath } from './reader.ts';

/** The first segment is small, each one twice as long as the one before, up to this. */
const firstSegmentBytes = 512 << 10;
const segmentBytesDefault = 8 << 20;
/** From this share of a segment on the next one is made. */
const makeNextAt = 0.5;
/** Of a segment where there is no room for a longer one. */
const scarceBytes = 64 << 10;
/** What is kept to write records in; longer ones get a buffer of their own. */
const outBytes = 128 << 10;

interface LogOptions {
  readonly directory: string;
  readonly identity: LogIdentity;
  readonly place: LogPlace;
  readonly hasBase: boolean;
  /** Told that its last segment was another folder's too (own-files.ts): by its name in the lake's folder. */
  readonly owned?: ((name: string) => void) | undefined;
  /** Of a segment at most, unless one record needs more. */
  readonly segmentBytes?: number | undefined;
}
interface Segment {
  readonly number: number;
  readonly bytes: number;
  readonly fd: number;
  readonly path: string;
  /** What is open, wherever its path leads to later. */
  readonly inode: bigint;
  readonly device: bigint;
}

/** The open log, and its end. */
export class Log {
  readonly identity: LogIdentity;
  private readonly options: LogOptions;
  private readonly out = Buffer.allocUnsafe(outBytes);
  private adding: (readonly Change[])[] = [];
  private addingBytes = 0;
  private segment: Segment;
  private reached: LogPlace;
  private next: Promise<Segment> | undefined;
  private isFresh: boolean;
  private readonly sizes: Map<number, number>;
  private bytesSoFar = 0;

  /** Goes on behind `place`, in a segment that is there. */
  constructor(options: LogOptions, segment: Segment, sizes: ReadonlyMap<number, number>) {
    this.options = options;
    this.identity = options.identity;
    this.segment = segment;
    this.reached = options.place;
    this.isFresh = false;
    this.sizes = new Map(sizes);
    this.bytesSoFar = this.bytes - segment.bytes + this.reached.end;
  }

  /** Of the last record that is durable. */
  get place(): LogPlace {
    return this.reached;
  }
  /** Bytes of all segments. */
  get bytes(): number {
    let sum = 0;
    for (const bytes of this.sizes.values()) sum += bytes;
    return sum;
  }
  /** Bytes of all records that were written, and of those that were there. */
  get writtenBytes(): number {
    return this.bytesSoFar;
  }
  /** What is put together in one record at most, unless it is one transaction. */
  get groupBytesMax(): number {
    return outBytes - recordHeadBytes - headBytes;
  }

  /** Adds a transaction's changes to the record that is to be written. */
  add(changes: readonly Change[]): void {
    this.adding.push(changes);
    this.addingBytes += changesLength(changes);
  }
  /** Takes back what was added. */
  clear(): void {
    this.adding = [];
    this.addingBytes = 0;
  }
  /** Whether the record that is to be written fits into what is open. */
  fits(): boolean {
    return this.reached.end + recordBytes(this.addingBytes) <= this.segment.bytes;
  }

  /**
   * Writes the record in this thread, where it fits; it is durable when this returns. What it throws is the disk's
   * fault, and there is no such record then.
   */
  writeSync(): void {
    this.check();
    const { record, digest, at } = this.sealed();
    try {
      for (let done = 0; done < record.length; )
        done += writeSync(this.segment.fd, record, done, record.length - done, at + done);
    } catch (fault) {
      this.takeBack(at);
      throw fault;
    }
    this.written(digest, at, record.length);
  }
  /** The same in a thread of the system's pool, in the next segment if need be. */
  async write(): Promise<void> {
    this.check();
    if (!this.fits()) await this.begin();
    const { record, digest, at } = this.sealed();
    try {
      for (let done = 0; done < record.length; ) done += await writePart(this.segment.fd, record, done, at + done);
    } catch (fault) {
      this.takeBack(at);
      throw fault;
    }
    this.written(digest, at, record.length);
  }

  /**
   * Why nothing that is written counts; undefined: it does. What is open follows a folder that is moved or removed; data
   * objects do not: they are made by their paths, in what is there by then.
   */
  moved(): string | undefined {
    const { path, inode, device } = this.segment;
    const there = statSync(path, { bigint: true, throwIfNoEntry: false });
    return there?.ino === inode && there.dev === device
      ? undefined
      : `the folder ${this.options.directory} was moved, removed or replaced while the lake was open: start again where it is, or when it is back`;
  }
  /** @throws why what is written would be in no lake */
  private check(): void {
    const moved = this.moved();
    if (moved !== undefined) throw new Error(moved);
  }

  /** The record, with its segment's head if it is the first one there. */
  private sealed(): { readonly record: Buffer; readonly digest: Buffer; readonly at: number } {
    const {
      reached: { number, digest: before, segment, end },
      identity: { salt },
      addingBytes,
    } = this;
    const headAt = this.isFresh ? headBytes : 0;
    const bytes = headAt + recordBytes(addingBytes);
    const out = bytes <= outBytes ? this.out : Buffer.allocUnsafe(bytes);
    if (this.isFresh)
      encodeHead({
        kind: 'segment',
        number: segment,
        identity: this.identity,
        first: number + 1,
        before,
        hasBase: this.options.hasBase,
      }).copy(out);
    let at = headAt + recordHeadBytes;
    for (const changes of this.adding) at = writeChanges(out, at, changes);
    const digest = sealRecord(out, headAt, addingBytes, {
      kind: 'transactions',
      number: number + 1,
      before,
      place: { salt, file: segment, byte: end },
    });
    const record = out.subarray(0, bytes);
    if (killing) {
      writeSync(this.segment.fd, record, 0, bytes >> 1, end - headAt);
      killPoint('log: half written');
    }
    return { record, digest, at: end - headAt };
  }
  private written(digest: Buffer, at: number, length: number): void {
    const headAt = this.isFresh ? headBytes : 0;
    const { lake, number, segment } = this.reached;
    this.isFresh = false;
    this.bytesSoFar += length;
    this.reached = { lake, number: number + 1, digest, segment, at: at + headAt, end: at + length };
    this.clear();
    killPoint('log: written');
    if (!this.next && this.reached.end > this.segment.bytes * makeNextAt) this.makeNext(0);
  }
  /** What came of it must not be found. @throws the disk's fault */
  private takeBack(at: number): void {
    writeSync(this.segment.fd, Buffer.alloc(recordHeadBytes), 0, recordHeadBytes, at);
  }

  private makeNext(recordBytesMin: number, isScarce = false): void {
    const { segmentBytes = segmentBytesDefault } = this.options;
    const number = this.segment.number + 1;
    const bytes = Math.max(
      headBytes + recordBytesMin,
      Math.min(isScarce ? scarceBytes : segmentBytes, Math.max(firstSegmentBytes, this.segment.bytes * 2)),
    );
    this.next = makeSegment(this.options.directory, number, Math.ceil(bytes / segmentBytesUnit) * segmentBytesUnit);
    // Where there is no room for it, the write that needs it tries again and says so.
    this.next.catch(() => {
      this.next = undefined;
    });
  }
  /** The next segment, long enough for the record that waits. */
  private async begin(): Promise<void> {
    const needed = recordBytes(this.addingBytes);
    let next = await this.made();
    if (next && next.bytes < headBytes + needed) {
      closeSync(next.fd);
      rmSync(segmentPath(this.options.directory, next.number), { force: true });
      next = undefined;
    }
    if (!next) {
      this.makeNext(needed);
      next = await this.made();
    }
    if (!next) {
      this.makeNext(needed, true);
      next = await this.next;
    }
    closeSync(this.segment.fd);
    this.segment = next!;
    this.next = undefined;
    this.isFresh = true;
    this.sizes.set(this.segment.number, this.segment.bytes);
    this.reached = { ...this.reached, segment: this.segment.number, at: 0, end: headBytes };
    killPoint('log: segment begun');
  }

  /** Removes the segments whose records are all up to this one. */
  forget(segment: number): void {
    for (const number of [...this.sizes.keys()].sort((a, b) => a - b)) {
      if (number >= segment) return;
      rmSync(segmentPath(this.options.directory, number), { force: true });
      this.sizes.delete(number);
      killPoint('log: segment gone');
    }
  }

  private async made(): Promise<Segment | undefined> {
    return this.next?.catch(() => undefined);
  }

  async close(): Promise<void> {
    const next = await this.made();
    if (next) closeSync(next.fd);
    closeSync(this.segment.fd);
  }
}

const writePart = (fd: number, bytes: Buffer, from: number, at: number): Promise<number> =>
  new Promise((resolve, reject) => {
    write(fd, bytes, from, bytes.length - from, at, (fault, done) => {
      if (fault) reject(fault);
      else resolve(done);
    });
  });

const flags = constants.O_RDWR | constants.O_DSYNC;
const zeros = Buffer.alloc(64 << 10);
/** A file of zeros that is durable with its name. */
const makeSegment = async (directory: string, number: number, bytes: number): Promise<Segment> => {
  const path = segmentPath(directory, number);
  const made = await open(path, 'w');
  try {
    for (let done = 0; done < bytes; )
      done += (await made.write(zeros, 0, Math.min(zeros.length, bytes - done), done)).bytesWritten;
    await made.sync();
  } catch (fault) {
    await made.close();
    rmSync(path, { force: true });
    throw fault;
  }
  await made.close();
  const folder = await open(dirname(path), 'r');
  try {
    await folder.sync();
  } finally {
    await folder.close();
  }
  killPoint('log: segment made');
  return openSegment(directory, { number, bytes });
};
const openSegment = (directory: string, { number, bytes }: Pick<Segment, 'number' | 'bytes'>): Segment => {
  const path = segmentPath(directory, number);
  const fd = openSync(path, flags);
  const { ino: inode, dev: device } = fstatSync(fd, { bigint: true });
  return { number, bytes, fd, path, inode, device };
};

/** Makes the first segment of a log: durable when this returns, but for the name of its folder's parent. */
export const beginLog = (
  directory: string,
  {
    identity,
    hasBase,
    segmentBytes = segmentBytesDefault,
    first = 1,
    before = noDigest,
  }: {
    readonly identity: LogIdentity;
    readonly hasBase: boolean;
    readonly segmentBytes?: number | undefined;
    /** Its first record, and the digest of the one before. */
    readonly first?: number;
    readonly before?: Buffer;
  },
): void => {
  mkdirSync(logFolder(directory), { recursive: true });
  const bytes = Buffer.alloc(Math.min(firstSegmentBytes, segmentBytes));
  encodeHead({ kind: 'segment', number: 1, identity, first, before, hasBase }).copy(bytes);
  writeDurably(segmentPath(directory, 1), bytes);
  syncFolder(directory);
};

/** Opens a log behind its last record, for writing. Segments that were never begun go. */
export const openLog = (options: LogOptions): Log => {
  const { directory, place } = options;
  const sizes = new Map<number, number>();
  for (const number of listSegments(directory)) {
    if (number > place.segment) rmSync(segmentPath(directory, number), { force: true });
    else sizes.set(number, statSync(segmentPath(directory, number)).size);
  }
  const name = `log/${segmentName(place.segment)}`;
  // What another process has written behind it since is none of this log's.
  if (ownFile(directory, name, place.end)) options.owned?.(name);
  const last = openSegment(directory, { number: place.segment, bytes: sizes.get(place.segment)! });
  return new Log(options, last, sizes);
};
