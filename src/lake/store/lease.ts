/**
 * Signs of life of the writer of a bucket: an object that it puts again and again, so that who would take over knows
 * whether it may. Not what keeps two from writing: that is the log's segments, each put where there is none.
 *
 * Invariants:
 * - A writer has a lease of its own, `lease/WRITER`, from before its fence on: the newest segment says whose lease
 *   counts, and one who is no longer the writer disturbs nobody with its own.
 * - Whether it is renewed is seen by the count in it and by new segments, over time as it passes here: no clock of
 *   another machine is asked.
 */
import { setTimeout as later } from 'node:timers/promises';
import { LakeError } from '../../errors.ts';
import type { Bucket } from '../../store/bucket.ts';
import type { Writer } from './open-bucket.ts';
import { type SegmentHead, segmentKey, whoWrote } from './segments.ts';

/** What the object has. `ms`: after this time without a renewal its writer counts as gone. */
interface Lease {
  readonly writer: string;
  readonly address: string;
  readonly count: number;
  readonly ms: number;
  /** It ended in order: nobody need wait. */
  readonly released?: true;
}
const leaseKey = (writer: string): string => `lease/${writer}`;
const renewalsPerLease = 4;
const looksPerLease = 8;
/** One that could not be renewed is tried again so soon at the latest. */
const retryMsMax = 1000;
/** Of a writer that has none. */
const msDefault = 10_000;

/** The lease of this process. */
export class OwnLease {
  private readonly bucket: Bucket;
  private readonly writer: Writer;
  private readonly ms: number;
  private count = 0;
  private timer: NodeJS.Timeout | undefined;
  private putting: Promise<void> = Promise.resolve();
  private isOver = false;
  private readonly tried: (fault: unknown) => void;

  /** `tried`: told of each renewal, with what it failed for: the bucket is away, though nobody may be writing. */
  constructor(bucket: Bucket, writer: Writer, { ms, tried }: { ms: number; tried: (fault: unknown) => void }) {
    this.bucket = bucket;
    this.writer = writer;
    this.ms = ms;
    this.tried = tried;
  }

  /** Resolves when others can see it; then it is renewed. */
  async begin(): Promise<void> {
    if (this.count > 0) return;
    await this.put();
    this.renewLater(this.ms / renewalsPerLease);
  }
  private renewLater(ms: number): void {
    this.timer = setTimeout(() => {
      this.putting = this.renew();
    }, ms).unref();
  }
  private async renew(): Promise<void> {
    const ms = this.ms / renewalsPerLease;
    const fault = await this.put().then(
      () => undefined,
      (failed: unknown) => failed,
    );
    if (this.isOver) return;
    this.tried(fault);
    this.renewLater(fault === undefined ? ms : Math.min(ms, retryMsMax));
  }
  private async put(released?: true): Promise<void> {
    const { id: writer, address } = this.writer;
    const lease: Lease = { writer, address, count: ++this.count, ms: this.ms, ...(released && { released }) };
    await this.bucket.put(leaseKey(writer), Buffer.from(JSON.stringify(lease)));
  }
  /** Takes away what writers before have left. */
  async removeOthers(): Promise<void> {
    for await (const { key } of this.bucket.list('lease/'))
      if (key !== leaseKey(this.writer.id)) await this.bucket.delete(key);
  }

  /** Ends it; `released`: in order, so that another one can go on at once. */
  async end(released: boolean): Promise<void> {
    if (this.isOver) return;
    this.isOver = true;
    clearTimeout(this.timer);
    await this.putting;
    if (this.count === 0) return;
    await (released ? this.put(true) : this.bucket.delete(leaseKey(this.writer.id))).catch(() => undefined);
  }
}

/** Looks at the lease of whoever wrote the newest segment. */
export class LeaseWatch {
  private readonly bucket: Bucket;
  private seen = '';
  private changedAt = performance.now();
  /** How long one may look without having to look again. */
  lookMs = msDefault / looksPerLease;

  constructor(bucket: Bucket) {
    this.bucket = bucket;
  }

  /** `renewed`: since the last look, or nothing is known of before. */
  async look({ writer, segment }: Pick<SegmentHead, 'writer' | 'segment'>): Promise<'renewed' | 'quiet' | 'over'> {
    const bytes = await this.bucket.get(leaseKey(writer));
    const lease = bytes && (JSON.parse(bytes.toString('utf8')) as Lease);
    if (lease?.released) return 'over';
    const ms = lease?.ms ?? msDefault;
    this.lookMs = ms / looksPerLease;
    const now = `${writer} ${segment} ${lease?.count ?? 0}`;
    if (now !== this.seen) {
      this.seen = now;
      this.changedAt = performance.now();
      return 'renewed';
    }
    return performance.now() - this.changedAt > ms ? 'over' : 'quiet';
  }
}

/** Resolves when nobody else writes any more. @throws store-held */
export const waitForLease = async (bucket: Bucket, newest: SegmentHead): Promise<void> => {
  const watch = new LeaseWatch(bucket);
  for (let isFirst = true; ; isFirst = false) {
    const state = await watch.look(newest);
    if (state === 'over') return;
    const goesOn = !isFirst && (state === 'renewed' || (await bucket.head(segmentKey(newest.segment + 1))));
    if (goesOn) throw new LakeError('store-held', { store: bucket.name, who: whoWrote(newest) });
    await later(watch.lookMs);
  }
};
