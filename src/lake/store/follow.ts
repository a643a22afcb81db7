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
import { LakeError, messageOf } from '../../errors.ts';
import type { Bucket } from '../../store/bucket.ts';
import type { Id } from '../lake.types.ts';
import type { LogPlace } from '../log/format.ts';
import { type Change, isOwnOfReplica } from '../tables/tables.ts';
import { type CacheLimits, ObjectCache } from './cache.ts';
import { type BucketWriter, newWriter, openFencedStore, type StoreOptions } from './copy.ts';
import { acknowledgedAlone, LeaseWatch, lostText } from './lease.ts';
import {
  type FollowedTip,
  followedRow,
  goneNow,
  missingSegment,
  noteUnnamed,
  openFollowedFolder,
  placeOf,
  putFence,
  removedFiles,
  type Tip,
  type Writer,
} from './open-bucket.ts';
import { type RoleOptions, StoreRole } from './role.ts';
import {
  type BucketState,
  baseKey,
  lastNumber,
  findTip,
  getSegment,
  isBegun,
  numberOf,
  type Segment,
  segmentAround,
  segmentKey,
  segmentsFrom,
} from './segments.ts';
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
  /** It takes over when the writer is gone, and goes on with these. */
  readonly standby?: StoreOptions;
  /** The chart of what this service is to the bucket, and who is told of its messages. */
  readonly role?: RoleOptions;
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
  /** When that was put, if it came since the start. */
  private putAt: { readonly at?: number } = {};
  private lake!: FollowingLake;
  private cache: ObjectCache | undefined;
  private running: Promise<void> | undefined;
  private leaving: Leaving[] = [];
  private removals: NodeJS.Timeout | undefined;
  private readonly closing = new AbortController();
  /** When the bucket had nothing that this did not. */
  private wholeAt = performance.now();
  private lookedLateAt = performance.now();
  private readonly role: StoreRole;
  private wanted = { event: 0, until: 0 };
  private wake: () => void = () => undefined;
  /** The writer told of an event since the last look began. */
  private isTold = false;
  private readonly lease: LeaseWatch;
  private lookedAtLease = 0;
  /** Told to take over whether the writer lives or not; they hear when it is done. */
  private asked: { readonly resolve: () => void; readonly reject: (fault: unknown) => void }[] = [];

  constructor(options: FollowOptions) {
    this.options = options;
    this.bucket = options.bucket;
    this.lease = new LeaseWatch(options.bucket);
    this.role = new StoreRole({ isStandby: options.standby !== undefined }, options.role ?? {});
  }

  async prepare(directory: string): Promise<LogPlace> {
    const { bucket, noted } = this.options;
    this.role.begin();
    this.tip = await openFollowedFolder({ bucket, directory, noted });
    return placeOf(this.tip);
  }

  async begin(lake: FollowingLake): Promise<void> {
    this.lake = lake;
    // A folder that was killed may have less than was answered from it.
    await this.takeAll();
    if (this.closing.signal.aborted) return;
    this.role.send({ type: 'folder ready' });
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
    for (let { state } = this.role; state === 'following' || state === 'promoting'; { state } = this.role) {
      if (signal.aborted) return;
      this.isTold = false;
      try {
        await this.takeAll();
        await this.lookAtWriter();
        if (this.role.state === 'promoting') await this.takeOver();
        this.role.answered('log');
      } catch (fault) {
        if (signal.aborted) return;
        this.failed(fault);
        await this.pause(retryMs);
        continue;
      }
      // What was told meanwhile may have come behind the look.
      if (!(this.isTold && this.isAwaited())) await this.pause(this.isAwaited() ? soonMs : this.options.pollMs);
    }
  }
  private failed(fault: unknown): void {
    const { role } = this;
    if (fault instanceof LakeError && fault.code === 'replica-late') role.ended(fault);
    // Who asks it to take over is told what it cannot go on from.
    if (fault instanceof LakeError && fault.code === 'store-corrupt') {
      role.send({ type: 'log broken' });
      for (const { reject } of this.asked.splice(0)) reject(fault);
    }
    if (role.away('log', fault)) this.lake.report(fault);
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
    this.isTold = true;
    this.wake();
  }

  private async lookAtWriter(): Promise<void> {
    if (!this.role.takes({ type: 'writer gone' })) return;
    if (performance.now() - this.lookedAtLease < this.lease.lookMs) return;
    this.lookedAtLease = performance.now();
    if ((await this.lease.look(this.tip)) === 'over') this.role.send({ type: 'writer gone' });
  }
  promote(): Promise<void> {
    if (!this.role.takes({ type: 'promote asked' }) || this.closing.signal.aborted)
      return Promise.reject(new LakeError('standby-none'));
    this.role.send({ type: 'promote asked' });
    return new Promise((resolve, reject) => {
      this.asked.push({ resolve, reject });
      this.wake();
    });
  }
  /** Puts the fence behind all that there is: from there on nobody else writes, and the lake goes on from it. */
  private async takeOver(): Promise<void> {
    const { noted, standby } = this.options;
    const { writer, segment } = this.tip;
    const state = await findTip(this.bucket);
    const { tip, missing } = state;
    // Its fence would stand in the place of a segment that is lost, and cut off those behind it.
    if (missing === segment + 1) throw missingSegment(this.bucket, missing, tip);
    const own = newWriter(standby!, this.role);
    noteUnnamed(state, noted);
    noted(`taking over ${this.bucket.name} from ${this.writer()} (writer ${writer})`);
    const acknowledged = await acknowledgedAlone(this.bucket, writer);
    await own.lease.begin();
    const fence = await this.putFence(own.writer, writer).catch(async (fault: unknown) => {
      // It is tried again under another name.
      await own.lease.end('gone');
      throw fault;
    });
    if (!fence) {
      await own.lease.end('gone');
      this.role.answered('lease');
      return;
    }
    this.role.send({ type: 'fence put' });
    if (acknowledged !== undefined) noted(lostText(this.bucket.name, { ...this.tip, ...this.putAt }, acknowledged));
    try {
      await this.become(own, fence, state);
      this.role.send({ type: 'leads' });
      for (const { resolve } of this.asked.splice(0)) resolve();
    } catch (fault) {
      // The fence is there, and nobody behind it: another one is to take over.
      await own.lease.end('released');
      const text = messageOf(fault);
      const ended = new LakeError('replica-failed', { store: this.bucket.name, fault: text }, { cause: fault });
      this.role.ended(ended);
      for (const { reject } of this.asked.splice(0)) reject(ended);
      throw ended;
    }
  }
  /** Undefined: another one has taken over before. */
  private async putFence(own: Writer, before: string): Promise<Tip | undefined> {
    for (;;) {
      const fence = await putFence(this.bucket, own, this.tip.lake, this.tip);
      if (fence) return fence;
      await this.takeAll();
      if (this.tip.writer !== before) this.role.send({ type: 'overtaken' });
      if (this.role.state !== 'promoting') return undefined;
    }
  }
  private async become(own: BucketWriter, fence: Tip, { unnamed }: BucketState): Promise<void> {
    const { lake } = this;
    const { bucket, options } = this;
    const removals = await goneNow({ bucket, directory: lake.directory, noted: options.noted });
    clearInterval(this.removals);
    await this.cache?.close();
    this.cache = undefined;
    await this.removeDue(Infinity);
    const opened = { tip: fence, ...removals, isFenced: true, lacksBase: false, ...(unnamed && { unnamed }) };
    const store = openFencedStore(this.options.standby!, own, opened);
    await lake.lead(store, placeOf(this.tip));
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
  /**
   * Segments that were long enough behind a base are removed; who is still there missed those that followed. One that is
   * lost has others behind it.
   */
  private async lookWhetherLate(now: number): Promise<void> {
    const { lateLookMs = lateLookMsDefault } = this.options;
    if (now - this.lookedLateAt < lateLookMs) return;
    const { name: store } = this.bucket;
    const { segment } = this.tip;
    this.lookedLateAt = now;
    if (segment === 0) return;
    const isThere = async (number: number): Promise<boolean> =>
      (await this.bucket.head(segmentKey(number))) !== undefined;
    if ((await isThere(segment)) || (await segmentAround(this.bucket, segment))) {
      // Those between may have come since the first look.
      for await (const { key } of this.bucket.list('log/', { after: segmentKey(segment + 1) })) {
        const later = numberOf(key);
        if (!(await isThere(later)) || (await isThere(segment + 1))) return;
        if (!(await isBegun(this.bucket, segment + 1, later))) throw missingSegment(this.bucket, segment + 1, later);
      }
      return;
    }
    for await (const { key } of this.bucket.list('base/', { after: baseKey(segment) }))
      if (numberOf(key) > segment) throw new LakeError('replica-late', { store, segment });
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
      segment: lastNumber(head),
      sum,
      last: head.last,
      digest: head.digest,
      writer: head.writer,
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
    this.putAt = { at: head.at };
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
      while (this.leaving.length > 0 && this.leaving[0].at <= before) {
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
    const { state, end, fault } = this.role;
    return {
      store: this.bucket.name,
      state,
      segment: this.tip?.segment ?? 0,
      writer: this.writer(),
      behindMs: performance.now() - this.wholeAt,
      ...(end && { ended: end.message }),
      ...(fault && { fault: fault.text }),
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
    for (const { reject } of this.asked.splice(0)) reject(new LakeError('lake-closing'));
    await this.cache?.close();
    // Nobody reads any more.
    if (this.lake) await this.removeDue(Infinity);
    // Who writes goes on until all is put.
    if (this.role.state !== 'writing' && this.role.state !== 'fenced') this.role.send({ type: 'closed' });
  }
}
