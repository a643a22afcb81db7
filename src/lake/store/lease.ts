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
import { lastNumber, type SegmentHead, segmentKey, whoWrote } from './segments.ts';

/** What the object has. `ms`: after this time without a renewal its writer counts as gone. */
interface Lease {
  readonly writer: string;
  readonly address: string;
  readonly count: number;
  readonly ms: number;
  /** It ended in order: nobody need wait. */
  readonly released?: true;
  /** The last record that it had acknowledged on its own disk alone; absent: it acknowledges what the bucket has. */
  readonly record?: number;
}
const leaseKey = (writer: string): string => `lease/${writer}`;
/** Nothing else below `lease/` is a lease: another lake may have its prefix there. */
const leasePattern = /^lease\/[0-9a-f]{16}$/;
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
  /** The last record that was acknowledged before the bucket has it; undefined where none is. */
  acknowledged: () => number | undefined = () => undefined;

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
    const record = this.acknowledged();
    const lease: Lease = {
      writer,
      address,
      count: ++this.count,
      ms: this.ms,
      ...(released && { released }),
      ...(record !== undefined && { record }),
    };
    await this.bucket.put(leaseKey(writer), Buffer.from(JSON.stringify(lease)));
  }
  /** Takes away what writers before have left. */
  async removeOthers(): Promise<void> {
    for await (const { key } of this.bucket.list('lease/'))
      if (leasePattern.test(key) && key !== leaseKey(this.writer.id)) await this.bucket.delete(key);
  }

  /**
   * Ends it. `released`: in order, so that another one can go on at once; `behind`: the bucket lacks what was
   * acknowledged, which whoever goes on is to know; `gone`: it does not count any more.
   */
  async end(how: 'released' | 'behind' | 'gone'): Promise<void> {
    if (this.isOver) return;
    this.isOver = true;
    clearTimeout(this.timer);
    await this.putting;
    if (this.count === 0) return;
    const ended =
      how === 'gone' ? this.bucket.delete(leaseKey(this.writer.id)) : this.put(how === 'released' ? true : undefined);
    await ended.catch(() => undefined);
  }
}

const leaseOf = async (bucket: Bucket, writer: string): Promise<Lease | undefined> => {
  const bytes = await bucket.get(leaseKey(writer));
  return bytes && (JSON.parse(bytes.toString('utf8')) as Lease);
};
/**
 * What the writer before acknowledged on its own disk alone; undefined: nothing that the bucket does not have. Asked
 * before its lease goes.
 */
export const acknowledgedAlone = async (bucket: Bucket, writer: string): Promise<number | undefined> => {
  const lease = await leaseOf(bucket, writer);
  return lease?.released ? undefined : lease?.record;
};
/** What is not in the lake that goes on behind the newest segment of the writer before, for people. */
export const lostText = (
  store: string,
  before: Pick<SegmentHead, 'writer' | 'address' | 'segment' | 'last'> & Partial<Pick<SegmentHead, 'at'>>,
  acknowledged: number,
): string => {
  const { segment, last, at } = before;
  const put = at === undefined ? '' : `, put at ${new Date(at).toISOString()}`;
  const more = acknowledged - last;
  const known = `${more} ${more === 1 ? 'record' : 'records'} that it had acknowledged at its last sign of life, and any since`;
  return (
    `${whoWrote(before)} acknowledged commits on its own disk (-store.ack local): ${store} has them up to record ${last} ` +
    `(segment ${segment}${put}); what came after is lost unless its folder is there: ` +
    (more > 0 ? known : 'what it acknowledged since its last sign of life, if anything')
  );
};

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
    const lease = await leaseOf(this.bucket, writer);
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
    const goesOn = !isFirst && (state === 'renewed' || (await bucket.head(segmentKey(lastNumber(newest) + 1))));
    if (goesOn) throw new LakeError('store-held', { store: bucket.name, who: whoWrote(newest) });
    await later(watch.lookMs);
  }
};
