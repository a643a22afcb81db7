/**
 * What a replica is fed by: the segments of a bucket's log, one after the other, as they come to be there.
 *
 * Invariants:
 * - A segment is taken when all before it were, and only where it follows them: by lake, digest and number of its first
 *   record.
 * - Nothing is put into the bucket, and nothing removed.
 * - What is removed from the lake stays readable here for `graceMs`: queries that began before go on.
 */
import { setTimeout as later } from 'node:timers/promises';
import { LakeError } from '../../errors.ts';
import type { Bucket } from '../../store/bucket.ts';
import type { Id } from '../lake.types.ts';
import type { LogPlace } from '../log/format.ts';
import { type Change, isOwnOfReplica } from '../tables/tables.ts';
import { type CacheLimits, ObjectCache } from './cache.ts';
import { type FollowedTip, followedRow, openFollowedFolder, placeOf, removedFiles } from './open-bucket.ts';
import { getSegment, type Segment, segmentKey, segmentsFrom } from './segments.ts';
import type { FollowFigures, FollowingLake, LakeFollower } from './store.types.ts';

/** Times in milliseconds. */
export interface FollowOptions {
  readonly bucket: Bucket;
  /** How often it is looked whether there is a next segment. */
  readonly pollMs: number;
  /** How long removed objects stay. */
  readonly graceMs: number;
  readonly cache: CacheLimits;
  /** How often it is looked whether the log begins behind this replica, where nothing new comes; default 30 s. */
  readonly lateLookMs?: number;
  readonly noted: (text: string) => void;
}

const retryMs = 1000;
/** While an event is known that the bucket does not have yet. */
const soonMs = 10;
/** The writer told of it, and it did not come: then it is polled as ever. */
const soonMsMax = 5000;
/** So many segments that come one by one are followed by several at once. */
const singlesMax = 4;
/** Others get their turn after so many records. */
const recordsPerTurn = 64;
const lateLookMsDefault = 30_000;
const removalLookMsMax = 10_000;

export const openFollower = (options: FollowOptions): LakeFollower => new BucketFollower(options);

/** Rows and files that go when nobody reads them any more. */
interface Leaving {
  readonly at: number;
  readonly rows: readonly Change[];
  readonly files: readonly Id[];
}

class BucketFollower implements LakeFollower {
  private readonly options: FollowOptions;
  private readonly bucket: Bucket;
  private tip!: FollowedTip;
  private lake!: FollowingLake;
  private cache: ObjectCache | undefined;
  private running: Promise<void> | undefined;
  private leaving: Leaving[] = [];
  private removals: NodeJS.Timeout | undefined;
  private readonly closing = new AbortController();
  /** When the bucket had nothing that this did not. */
  private wholeAt = performance.now();
  private lookedLateAt = performance.now();
  private fault: unknown;
  private ended: LakeError | undefined;
  private wanted = { event: 0, until: 0 };
  private wake: () => void = () => undefined;

  constructor(options: FollowOptions) {
    this.options = options;
    this.bucket = options.bucket;
  }

  async prepare(directory: string): Promise<LogPlace> {
    const { bucket, noted } = this.options;
    this.tip = await openFollowedFolder({ bucket, directory, noted });
    return placeOf(this.tip);
  }

  begin(lake: FollowingLake): void {
    this.lake = lake;
    this.cache = new ObjectCache(this.options.cache, {
      directory: lake.directory,
      mayGo: (id) => lake.hasFile(id),
      evicted: (id) => lake.evicted(id),
      report: lake.report,
    });
    const { graceMs } = this.options;
    this.removals = setInterval(
      () => void this.removeDue(performance.now() - graceMs),
      Math.min(removalLookMsMax, Math.max(50, graceMs / 4)),
    ).unref();
    this.running = this.run();
  }

  private async run(): Promise<void> {
    const { signal } = this.closing;
    while (!signal.aborted && !this.ended) {
      try {
        await this.takeAll();
        this.fault = undefined;
      } catch (fault) {
        if (signal.aborted) return;
        if (fault instanceof LakeError && fault.code === 'replica-late') this.ended = fault;
        if (this.fault === undefined) this.lake.report(fault);
        this.fault = fault;
        await this.pause(retryMs);
        continue;
      }
      await this.pause(this.isAwaited() ? soonMs : this.options.pollMs);
    }
  }
  private isAwaited(): boolean {
    const { event, until } = this.wanted;
    return event > this.lake.lastEvent() && performance.now() < until;
  }
  private async pause(ms: number): Promise<void> {
    const woken = new Promise<void>((resolve) => {
      this.wake = resolve;
    });
    await Promise.race([
      later(ms, undefined, { signal: this.closing.signal, ref: false }).catch(() => undefined),
      woken,
    ]);
  }
  heard(event: number): void {
    this.wanted = { event, until: performance.now() + soonMsMax };
    this.wake();
  }

  /** All that the bucket has. */
  private async takeAll(): Promise<void> {
    for (let singles = 0; ; singles++) {
      const began = performance.now();
      if (singles === singlesMax) {
        for await (const segment of segmentsFrom(this.bucket, this.tip.segment + 1)) await this.take(segment);
        continue;
      }
      const segment = await getSegment(this.bucket, this.tip.segment + 1);
      if (segment) await this.take(segment);
      else {
        await this.lookWhetherLate(began);
        this.wholeAt = began;
        return;
      }
    }
  }
  /** Segments that were long enough behind a base are removed; who is still there missed those that followed. */
  private async lookWhetherLate(now: number): Promise<void> {
    const { lateLookMs = lateLookMsDefault } = this.options;
    if (now - this.lookedLateAt < lateLookMs) return;
    const { name: store } = this.bucket;
    const { segment } = this.tip;
    this.lookedLateAt = now;
    if (segment === 0 || (await this.bucket.head(segmentKey(segment))) !== undefined) return;
    for await (const { key } of this.bucket.list('base/'))
      if (key > `base/${segmentKey(segment).slice('log/'.length)}`)
        throw new LakeError('replica-late', { store, segment });
  }

  private async take({ head, sum, records }: Segment): Promise<void> {
    const { tip, lake } = this;
    const corrupt = (fault: string): LakeError =>
      new LakeError('store-corrupt', { store: this.bucket.name, key: segmentKey(head.segment), fault });
    if (head.lake !== tip.lake) throw corrupt('it is of another lake');
    if (head.before !== tip.sum) throw corrupt('it does not follow the segment before it');
    if (head.first !== tip.last + 1)
      throw corrupt(`it begins with record ${head.first}, ${tip.last + 1} should follow`);
    const next: FollowedTip = {
      lake: tip.lake,
      segment: head.segment,
      sum,
      last: head.last,
      digest: head.digest,
      address: head.address,
    };
    // In case of a stop the whole segment is taken again: rows are whole ones.
    const before = placeOf(tip);
    for (const [i, changes] of records.entries()) {
      if (i % recordsPerTurn === recordsPerTurn - 1) await lake.room();
      if (this.closing.signal.aborted) throw new Error('the service is closing');
      lake.take(this.kept(changes), before);
    }
    lake.take([followedRow(next)], placeOf(next));
    this.tip = next;
    await lake.room();
  }
  /** What is to be done at once; rows and files that readers may need go later. */
  private kept(changes: readonly Change[]): readonly Change[] {
    const isLater = ({ table, payload }: Change): boolean => !payload && (table === 'bodies' || table === 'packs');
    const rows = changes.filter(isLater);
    const files = removedFiles(changes);
    if (rows.length > 0 || files.length > 0) this.leaving.push({ at: performance.now(), rows, files });
    return changes.filter((change) => !isLater(change) && !isOwnOfReplica(change.table));
  }
  private async removeDue(before: number): Promise<void> {
    try {
      while (this.leaving.length > 0 && this.leaving[0]!.at <= before) {
        const { rows, files } = this.leaving.shift()!;
        // One that came back is there for another reason.
        for (const id of files) if (!this.lake.hasFile(id)) await this.lake.removeFile(id);
        if (rows.length > 0) this.lake.take(rows, placeOf(this.tip));
      }
    } catch (fault) {
      this.lake.report(fault);
    }
  }

  refuse(): never {
    throw new LakeError('replica-write', { store: this.bucket.name, who: this.writer() });
  }
  private writer(): string {
    return this.tip?.address || 'another service';
  }
  figures(): FollowFigures {
    const { requests, retries, receivedBytes } = this.bucket.counts;
    return {
      store: this.bucket.name,
      segment: this.tip?.segment ?? 0,
      writer: this.writer(),
      behindMs: performance.now() - this.wholeAt,
      ...(this.ended && { ended: this.ended.message }),
      ...(this.fault !== undefined && { fault: this.fault instanceof Error ? this.fault.message : String(this.fault) }),
      requests,
      retries,
      receivedBytes,
      cachedBytes: this.cache?.bytes ?? 0,
    };
  }

  async close(): Promise<void> {
    this.closing.abort();
    clearInterval(this.removals);
    this.wake();
    this.bucket.close();
    await this.running;
    await this.cache?.close();
    // Nobody reads any more.
    if (this.lake) await this.removeDue(Infinity);
  }
}
