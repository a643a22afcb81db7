/**
 * Takes away what nobody needs to open the lake: all bases but the newest two, and the segments before them.
 *
 * Invariants:
 * - Bases go first: who has found one in an old listing asks for it, and looks again when it is not there.
 * - The bucket is listed once, for what was there before this writer; what it puts itself it remembers.
 */
import type { Bucket } from '../../store/bucket.ts';
import { baseKey, numberOf, segmentKey } from './segments.ts';

/** The second newest is for who began to open the lake before the newest one was there. */
const basesKept = 2;
/** Segments that were put so close to each other go together. */
const markMs = 1000;

/** Segments up to a number, behind the mark before, were put about that time. */
interface Mark {
  last: number;
  atMs: number;
}

export class LogPruner {
  private readonly bucket: Bucket;
  private readonly graceMs: number;
  /** Oldest first. */
  private bases: number[] = [];
  private marks: Mark[] = [];
  /** The first segment that may be there. */
  private first = 1;
  private isListed = false;

  constructor(bucket: Bucket, graceMs: number) {
    this.bucket = bucket;
    this.graceMs = graceMs;
  }
  /** There was nothing before this writer. */
  beginsEmpty(): void {
    this.isListed = true;
  }
  /** A segment is there. */
  put(segment: number): void {
    mark(this.marks, segment, Date.now());
  }

  /** A base is there: what is not needed any more goes, segments when they are old enough. */
  async madeBase(segment: number): Promise<void> {
    if (!this.isListed) await this.list();
    if (this.bases.at(-1) !== segment) this.bases.push(segment);
    for (; this.bases.length > basesKept; this.bases.shift()) await this.bucket.delete(baseKey(this.bases[0]));
    if (this.bases.length < basesKept) return;
    const before = Date.now() - this.graceMs;
    for (let [next] = this.marks; next && next.atMs < before; [next] = this.marks) {
      const last = Math.min(next.last, this.bases[0]);
      for (; this.first <= last; this.first++) await this.bucket.delete(segmentKey(this.first));
      if (last < next.last) return;
      this.marks.shift();
    }
  }
  private async list(): Promise<void> {
    const bases: number[] = [];
    for await (const { key } of this.bucket.list('base/')) if (numberOf(key) > 0) bases.push(numberOf(key));
    const before: Mark[] = [];
    const own = this.marks[0]?.last ?? Infinity;
    for await (const { key, modifiedMs } of this.bucket.list('log/')) {
      const segment = numberOf(key);
      if (segment === 0) continue;
      if (segment > own) break;
      if (before.length === 0) this.first = segment;
      mark(before, segment, modifiedMs);
    }
    this.bases = bases.sort((a, b) => a - b);
    this.marks = [...before, ...this.marks];
    this.isListed = true;
  }
}

const mark = (marks: Mark[], last: number, atMs: number): void => {
  const newest = marks.at(-1);
  if (newest && atMs - newest.atMs < markMs) newest.last = last;
  else marks.push({ last, atMs });
};
