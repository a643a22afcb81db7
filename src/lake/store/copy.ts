/**
 * The copy of a lake in a bucket: puts objects and then the segments of the log that name them; a base from time to
 * time; and takes away what nobody needs.
 *
 * Invariants:
 * - A segment is put when all data objects that it names are in the bucket. Where commits wait for the bucket several
 *   are on their way side by side: each counts when all before it are there, and is put again with the same bytes until
 *   then, since those behind it have its sum.
 * - A put that is refused since another segment is there ends all writing: that one's writer is the lake's now.
 * - What the bucket has is a beginning of the lake's own log, so that the copy is a lake at each of its segments.
 * - What cannot be put is tried again for as long as the service runs; what waits for it is bounded, or read from the
 *   log again.
 */
import { randomBytes } from 'node:crypto';
import { rmSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as later } from 'node:timers/promises';
import { LakeError, codeOf } from '../../errors.ts';
import type { Bucket } from '../../store/bucket.ts';
import type { Id } from '../lake.types.ts';
import { killPoint } from '../kill-points.ts';
import { allRows } from '../log/base.ts';
import { changesLength } from '../log/changes.ts';
import type { LogPlace } from '../log/format.ts';
import { LogRead } from '../log/reader.ts';
import { objectKey } from '../objects/fetched.ts';
import { objectPath } from '../objects/objects.ts';
import { rangesOf } from '../objects/ranges.ts';
import { idBuffer } from '../ksuid.ts';
import type { Change } from '../tables/tables.ts';
import { writeBaseFile } from './base-file.ts';
import { type CacheLimits, ObjectCache } from './cache.ts';
import { acknowledgedAlone, lostText, OwnLease, waitForLease } from './lease.ts';
import {
  fenceSkips,
  noTip,
  type Opened,
  openBucketLake,
  putFence,
  removalsOf,
  type Tip,
  type Writer,
} from './open-bucket.ts';
import { markFolder, markOf, type StoreAck } from './mark.ts';
import { LogPruner } from './prune.ts';
import { type RoleOptions, StoreRole } from './role.ts';
import {
  baseKey,
  encodeSegment,
  getSegment,
  newestBaseKey,
  type SegmentHead,
  segmentKey,
  segmentsAhead,
  whoWrote,
} from './segments.ts';
import type { AttachedLake, LakeStore, StoreFigures } from './store.types.ts';
import { sweepObjects } from './sweep.ts';

export interface StoreOptions {
  readonly bucket: Bucket;
  readonly ack: StoreAck;
  /** Where this service is, for those that find its segments. */
  readonly address: string;
  /** How long removed objects stay. */
  readonly graceMs: number;
  readonly cache: CacheLimits;
  /** What segments since the last base may cost at least before another one is made; default 16 MiB. */
  readonly baseBytesMin?: number;
  /** How long a stop waits for what is not in the bucket. */
  readonly closeMsMax: number;
  /** So long after the start it is looked for objects that no commit came to name; default a minute. */
  readonly sweepDelayMs?: number;
  /** After this time without a sign of life another one may take over; default 10 s. */
  readonly leaseMs?: number;
  /** Another one that writes is not waited for. */
  readonly takesOver?: boolean;
  /** The chart of what this service is to the bucket, and who is told of its messages. */
  readonly role?: RoleOptions;
  readonly noted: (text: string) => void;
}

/** With `ack local` so long is waited for more to put together. */
const gatherMs = 250;
/** Of one segment, unless one record is longer. */
const segmentBytesMax = 8 << 20;
const segmentRecordsMax = 10_000;
/** What is kept in memory; more is read from the log again. */
const heldBytesMax = 32 << 20;
const objectsAtOnce = 4;
const retryMs = 1000;
/** So many segments on their way may follow each other at once; others keep the time of a put apart from each other. */
const closeTogether = 2;
/** What the newest put counts for in the usual time of one. */
const newestPart = 0.25;
/** An opening takes about as long for so many bytes as for one segment. */
const segmentWorth = 16 << 10;
const baseBytesMinDefault = 16 << 20;
const leaseMsDefault = 10_000;
const sweepDelayDefault = 60_000;

/** A record that is in no segment yet. */
interface Held {
  readonly place: LogPlace;
  readonly changes: readonly Change[];
  readonly bytes: number;
  readonly addedAt: number;
}

/** A segment that is on its way. `tip`: what it makes the newest one. */
interface Sent {
  readonly head: SegmentHead;
  readonly bytes: Buffer;
  readonly tip: Tip;
  readonly taken: readonly Held[];
}

export const openLakeStore = (options: StoreOptions): LakeStore => new LakeCopy(options);

/** This process as the writer of a bucket: its name there, its lease, and whether it may write. */
export interface BucketWriter {
  readonly writer: Writer;
  readonly lease: OwnLease;
  readonly role: StoreRole;
}
export const newWriter = (
  { bucket, address, leaseMs = leaseMsDefault }: StoreOptions,
  role: StoreRole,
): BucketWriter => {
  const writer = { id: randomBytes(8).toString('hex'), address };
  const tried = (fault: unknown): void => {
    if (fault === undefined) role.answered('lease');
    else role.away('lease', fault);
  };
  return { writer, lease: new OwnLease(bucket, writer, { ms: leaseMs, tried }), role };
};
/** The same of a bucket that was followed so far: its fence is there. */
export const openFencedStore = (options: StoreOptions, own: BucketWriter, opened: Opened): LakeStore =>
  new LakeCopy(options, own, opened);

class LakeCopy implements LakeStore {
  readonly waits: boolean;
  private readonly options: StoreOptions;
  private readonly bucket: Bucket;
  private readonly writer: Writer;
  private readonly lease: OwnLease;
  private readonly role: StoreRole;
  private opened: Opened;
  private lake: AttachedLake | undefined;
  private cache: ObjectCache | undefined;
  private tip = noTip;
  /** Of the last record that the bucket has. */
  private place!: LogPlace;
  /** In their order; what `formed` is the last of. */
  private sent: Sent[] = [];
  private formed = noTip;
  /** Of the last record that is in a segment: where the log is read from again. */
  private formedPlace!: LogPlace;
  private confirming: Promise<void> = Promise.resolve();
  /** Told when one of `sent` is there. */
  private roomCame: () => void = () => undefined;
  private newest!: LogPlace;
  private held: Held[] = [];
  private heldBytes = 0;
  /** Since when the bucket lacks something. */
  private behindSince: number | undefined;
  private running: Promise<void> | undefined;
  private making: Promise<void> | undefined;
  private sentAt = 0;
  /** What putting a segment usually takes. */
  private putMs = 0;
  private readonly closing = new AbortController();
  private waiting: { resolve: () => void; reject: (fault: unknown) => void; record: number }[] = [];
  /** Put before a commit named them, or on their way. */
  private readonly early = new Map<Id, Promise<void>>();
  /** Files that go from the disk when the bucket has all up to a record. */
  private leaving: { readonly id: Id; readonly record: number }[] = [];
  private gone: (readonly [Id, number])[] = [];
  private goneTimer: NodeJS.Timeout | undefined;
  private stopTimer: NodeJS.Timeout | undefined;
  /** Nothing is put any more. */
  private isOver = false;
  private sweepTimer: NodeJS.Timeout | undefined;
  private sweeping: Promise<void> | undefined;
  private sinceBase = 0;
  private baseBytes = 0;
  private readonly pruner: LogPruner;

  constructor(
    options: StoreOptions,
    own = newWriter(options, new StoreRole({ isStandby: false }, options.role ?? {})),
    opened: Opened = { tip: noTip, gone: [], isFenced: false, lacksBase: false },
  ) {
    this.options = options;
    this.bucket = options.bucket;
    this.waits = options.ack === 'bucket';
    this.pruner = new LogPruner(options.bucket, options.graceMs);
    this.writer = own.writer;
    this.lease = own.lease;
    this.role = own.role;
    this.opened = opened;
    if (!this.waits) this.lease.acknowledged = () => this.newest?.number;
  }

  async prepare(directory: string): Promise<void> {
    this.role.begin();
    const { noted, takesOver } = this.options;
    const mayWrite = async (newest: SegmentHead): Promise<void> => {
      const isOwn = markOf(directory)?.writer === newest.writer;
      if (!takesOver && !isOwn) await waitForLease(this.bucket, newest);
      // Before the fence: who sees that finds the lease, too.
      await this.lease.begin();
    };
    try {
      this.opened = await openBucketLake({ bucket: this.bucket, directory, writer: this.writer, noted, mayWrite });
      await this.noteLost(directory);
    } catch (fault) {
      await this.lease.end('gone');
      throw fault;
    }
  }
  /** What the writer before told its clients that is done, and did not put. Its own folder has it. */
  private async noteLost(directory: string): Promise<void> {
    const { before } = this.opened;
    if (!before || markOf(directory)?.writer === before.writer) return;
    const acknowledged = await acknowledgedAlone(this.bucket, before.writer);
    if (acknowledged !== undefined) this.options.noted(lostText(this.bucket.name, before, acknowledged));
  }

  async attach(lake: AttachedLake): Promise<void> {
    const { tip, isFenced, gone } = this.opened;
    const { log, directory } = lake;
    this.lake = lake;
    this.gone = [...gone];
    this.newest = log.place;
    const isNew = tip.segment === 0;
    if (isNew) this.pruner.beginsEmpty();
    const begin = isNew ? { ...noTip, last: log.place.number, digest: log.place.digest.toString('hex') } : tip;
    const begins = isNew && begin.last > 0 ? begin.last : undefined;
    await this.lease.begin();
    this.tip = isFenced
      ? tip
      : ((await putFence(this.bucket, this.writer, log.identity.lake.toString('hex'), begin, begins)) ??
        (await this.lost(begin.segment + 1)));
    const fence = this.tip.segment - fenceSkips;
    this.formed = this.tip;
    this.role.send({ type: 'fence put' });
    killPoint('store: fenced');
    this.markAs(this.tip.last < log.place.number ? 'local' : this.options.ack);
    await this.lease.removeOthers();
    const { unnamed } = this.opened;
    // Behind the fence: nobody else names a newer one.
    if (unnamed) await this.bucket.put(newestBaseKey, Buffer.from(String(unnamed.base)));
    this.cache = new ObjectCache(this.options.cache, {
      directory,
      mayGo: (id) => this.tip.last === this.newest.number && lake.tables.has('files', idBuffer(id)),
      evicted: lake.evicted,
      report: lake.report,
    });
    this.takeRest();
    await this.removeBases();
    if (begins !== undefined || this.opened.lacksBase) await this.copyWhole();
    await this.settled();
    this.markAs(this.options.ack);
    this.removeGone();
    this.sweepLater(fence);
  }
  /** What the bucket lacks was answered already, however it is from here on. */
  private markAs(ack: StoreAck): void {
    markFolder(this.lake!.directory, { store: this.bucket.name, ack, writer: this.writer.id });
  }
  /** Bases that cannot be read make room for another one; until that is there, those before them serve. */
  private async removeBases(): Promise<void> {
    const { passed = [], lacksBase } = this.opened;
    for (const { base } of passed) await this.bucket.delete(baseKey(base));
    if (passed.length > 0 && !lacksBase) this.makeBaseSoon();
  }
  private sweepLater(segment: number): void {
    const { graceMs, noted, sweepDelayMs = sweepDelayDefault } = this.options;
    const { tables, report } = this.lake!;
    this.sweepTimer = setTimeout(() => {
      this.sweeping = sweepObjects({
        bucket: this.bucket,
        segment,
        graceMs,
        isNamed: (id) => tables.has('files', idBuffer(id)) || this.early.has(id),
        named: () => tables.keys('files').map((key) => key.toString('hex')),
        settled: () => this.settled(),
        leaving: () => this.gone.map(([id]) => id),
        ended: () => this.role.fence !== undefined || this.closing.signal.aborted,
      }).then(
        (count) => {
          if (count > 0)
            noted(
              `${this.bucket.name}: removed ${count} data ${count === 1 ? 'object' : 'objects'} of loads without a commit`,
            );
        },
        (fault: unknown) => {
          if (!this.role.fence && !this.closing.signal.aborted) report(fault);
        },
      );
    }, sweepDelayMs).unref();
  }
  /** What the log has behind the bucket's last record is to be put. */
  private takeRest(): void {
    const { log, directory } = this.lake!;
    const { last } = this.tip;
    this.place = log.place;
    this.formedPlace = log.place;
    if (log.place.number === last) return;
    this.held = [];
    let found: LogPlace | undefined;
    for (const { number, place } of new LogRead(directory)) {
      if (number === last) found = place;
      if (number < last + 1) continue;
      // The first record there is needs no place before it: all is read then.
      this.place = found ?? { ...log.place, number: last, segment: 0, at: 0, end: 0 };
      break;
    }
    this.formedPlace = this.place;
    this.behindSince = performance.now();
    this.go();
  }
  /** All objects and a base: a lake that had no bucket so far. */
  private async copyWhole(): Promise<void> {
    const { tables } = this.lake!;
    this.options.noted(`the lake is copied into ${this.bucket.name}`);
    const ids = tables.keys('files').map((key) => key.toString('hex'));
    await eachOf(ids, objectsAtOnce, async (id) => {
      if ((await this.bucket.head(objectKey(id))) === undefined) await this.putFile(id);
    });
    await this.makeBase();
  }

  check(): void {
    const { fence } = this.role;
    if (fence) throw fence;
    // Those that wait already go on doing so.
    if (this.waits && this.role.fault) throw this.unreachable();
  }
  private unreachable(): LakeError {
    const { fault } = this.role;
    if (fault?.cause instanceof LakeError) return fault.cause;
    const text = fault?.text ?? 'the service is closing';
    return new LakeError('store-unreachable', { store: this.bucket.name, what: 'the log', tries: 1, fault: text });
  }
  add(place: LogPlace, transactions: readonly (readonly Change[])[]): void {
    const changes = transactions.length === 1 ? transactions[0] : transactions.flat();
    const bytes = changesLength(changes);
    this.newest = place;
    this.behindSince ??= performance.now();
    // What is not held is read from the log: all behind the last that is.
    const follows = this.held.length > 0 ? this.held.at(-1)!.place : this.formedPlace;
    if (follows.number === place.number - 1 && this.heldBytes + bytes <= heldBytesMax) {
      this.held.push({ place, changes, bytes, addedAt: performance.now() });
      this.heldBytes += bytes;
    }
    this.go();
  }
  settled(): Promise<void> {
    const record = this.newest.number;
    const { fence } = this.role;
    if (fence) return Promise.reject(fence);
    if (this.tip.last >= record) return Promise.resolve();
    if (this.isOver) return Promise.reject(this.unreachable());
    return new Promise((resolve, reject) => {
      this.waiting.push({ resolve, reject, record });
    });
  }

  private go(): void {
    this.running ??= this.run().finally(() => {
      this.running = undefined;
    });
  }
  private async run(): Promise<void> {
    const { signal } = this.closing;
    while (!this.role.fence && this.formed.last < this.newest.number) {
      if (!this.waits && !signal.aborted && this.waiting.length === 0)
        await later(gatherMs, undefined, { signal, ref: false }).catch(() => undefined);
      try {
        await this.room();
        await this.apart();
        if (this.role.fence || this.isOver) return;
        await this.sendNext();
      } catch (fault) {
        if (!(await this.mayRetry(fault))) return;
      }
    }
  }
  /** Resolves when one more may be on its way. */
  private async room(): Promise<void> {
    while (this.sent.length >= (this.waits ? segmentsAhead : 1) && !this.role.fence && !this.isOver)
      await new Promise<void>((resolve) => {
        this.roomCame = resolve;
      });
  }
  /**
   * Keeps those that go side by side apart, so that they come back one after the other: else the first few commits would
   * take all places, and the many behind them wait until these come back.
   */
  private async apart(): Promise<void> {
    if (this.sent.length < closeTogether) return;
    const ms = this.sentAt + this.putMs / segmentsAhead - performance.now();
    if (ms >= 1) await later(ms, undefined, { signal: this.closing.signal, ref: false }).catch(() => undefined);
  }
  /** After a while; false: it is not to be tried again. */
  private async mayRetry(fault: unknown): Promise<boolean> {
    const { signal } = this.closing;
    if (this.role.fence) return false;
    if (this.role.away('log', fault)) this.lake!.report(fault);
    if (signal.aborted) return false;
    await later(retryMs, undefined, { signal, ref: false }).catch(() => undefined);
    return true;
  }

  /** The next segment's records: what is held, else from the log. */
  private next(isAll: boolean): readonly Held[] {
    if (this.held.length === 0) this.readHeld();
    let bytes = 0;
    let count = 0;
    for (const { bytes: more } of this.held) {
      if (count > 0 && !isAll && (bytes + more > segmentBytesMax || count >= segmentRecordsMax)) break;
      bytes += more;
      count++;
    }
    return this.held.slice(0, count);
  }
  private readHeld(): void {
    const { directory } = this.lake!;
    const log = new LogRead(directory, this.formedPlace.segment === 0 ? undefined : this.formedPlace);
    for (const { number, place, changes } of log) {
      if (!place || number <= this.formed.last || number > this.newest.number) continue;
      const bytes = changesLength(changes);
      if (this.held.length > 0 && this.heldBytes + bytes > heldBytesMax) return;
      this.held.push({ place, changes, bytes, addedAt: performance.now() });
      this.heldBytes += bytes;
    }
  }

  private async sendNext(): Promise<void> {
    let taken = this.next(false);
    const missing = await this.putNamed(taken);
    // One that went already: the records that say so go along, or a lake would have a commit without its objects.
    if (missing) taken = this.next(true);
    if (taken.length === 0) throw new Error(`the log does not have record ${this.formed.last + 1} any more`);
    this.send(taken);
  }
  /** Puts the objects that records name; true if a file is not there since it was removed. */
  private async putNamed(records: readonly Held[]): Promise<boolean> {
    const { tables } = this.lake!;
    const ids = records.flatMap(({ changes }) => namedFiles(changes));
    let isMissing = false;
    await eachOf(ids, objectsAtOnce, async (id) => {
      try {
        await (this.early.get(id) ?? this.putFile(id));
      } catch (fault) {
        if (!isAbsent(fault) || tables.has('files', idBuffer(id))) throw fault;
        isMissing = true;
      }
    });
    return isMissing;
  }
  private async putFile(id: Id): Promise<void> {
    await this.bucket.putFile(objectKey(id), objectPath(this.lake!.directory, id));
    killPoint('store: object put');
  }
  private send(taken: readonly Held[]): void {
    const { log } = this.lake!;
    const { place } = taken.at(-1)!;
    const segment = this.formed.segment + 1;
    const known = this.tip.segment;
    const head: SegmentHead = {
      lake: log.identity.lake.toString('hex'),
      segment,
      before: this.formed.sum,
      writer: this.writer.id,
      address: this.writer.address,
      at: Date.now(),
      first: this.formed.last + 1,
      last: place.number,
      digest: place.digest.toString('hex'),
      ...(known !== segment - 1 && { known }),
    };
    const { bytes, sum } = encodeSegment(
      head,
      taken.map(({ changes }) => changes),
    );
    this.formed = { segment, sum, last: head.last, digest: head.digest };
    this.formedPlace = place;
    this.held.splice(0, taken.length);
    this.heldBytes -= taken.reduce((all, { bytes: each }) => all + each, 0);
    const sent = { head, bytes, tip: this.formed, taken };
    this.sentAt = performance.now();
    this.sent.push(sent);
    const putting = this.put(sent);
    this.confirming = this.confirming.then(async () => this.confirm(sent, await putting));
  }
  /** Until it is there, or another one's is; undefined: it is not tried any more. */
  private async put({ head, bytes }: Sent): Promise<boolean | undefined> {
    for (;;) {
      const began = performance.now();
      try {
        const isPut = await this.bucket.putNew(segmentKey(head.segment), bytes);
        this.putMs += newestPart * (performance.now() - began - this.putMs);
        return isPut;
      } catch (fault) {
        if (!(await this.mayRetry(fault))) return undefined;
      }
    }
  }
  /** What became of the first of those on their way. */
  private async confirm({ head, bytes, tip, taken }: Sent, isPut: boolean | undefined): Promise<void> {
    try {
      if (isPut === undefined || this.role.fence || this.isOver) this.isOver = true;
      else if (isPut) this.confirmed({ head, bytes, tip, taken });
      else await this.lost(head.segment);
    } catch (fault) {
      if (!this.role.fence) this.lake!.report(fault);
    } finally {
      this.roomCame();
    }
  }
  private confirmed({ head, bytes, tip, taken }: Sent): void {
    killPoint('store: segment put');
    this.role.answered('log');
    this.role.answered('lease');
    this.tip = tip;
    this.pruner.put(tip.segment);
    this.place = taken.at(-1)!.place;
    this.sent.shift();
    this.sinceBase += bytes.length + segmentWorth;
    const next = this.sent[0]?.taken[0] ?? this.held[0];
    this.behindSince = tip.last === this.newest.number ? undefined : (next?.addedAt ?? this.behindSince);
    const records = taken.map(({ changes }) => changes);
    this.gone.push(...removalsOf({ head, records }));
    for (const changes of records) for (const id of namedFiles(changes)) this.early.delete(id);
    this.tellSettled();
    if (this.sinceBase > (this.options.baseBytesMin ?? baseBytesMinDefault) + this.baseBytes) this.makeBaseSoon();
  }
  private tellSettled(): void {
    const { last } = this.tip;
    const done = this.waiting.filter(({ record }) => record <= last);
    this.waiting = this.waiting.filter(({ record }) => record > last);
    for (const { resolve } of done) resolve();
    const leave = this.leaving.filter(({ record }) => record <= last);
    this.leaving = this.leaving.filter(({ record }) => record > last);
    const { directory } = this.lake!;
    for (const { id } of leave) {
      rmSync(objectPath(directory, id), { force: true });
      rmSync(rangesOf(directory, id), { recursive: true, force: true });
    }
  }

  /** Another one's segment is where the next one would be. */
  private async lost(segment: number): Promise<never> {
    const there = await getSegment(this.bucket, segment).catch(() => undefined);
    const fence = new LakeError('store-fenced', {
      store: this.bucket.name,
      who: there ? whoWrote(there.head) : 'another one',
      segment,
    });
    this.role.refused(fence);
    for (const { reject } of this.waiting.splice(0)) reject(fence);
    void this.lease.end('gone');
    this.lake?.report(fence);
    throw fence;
  }

  async putObjects(ids: readonly Id[]): Promise<void> {
    this.check();
    await Promise.all(
      ids.map((id) => {
        const putting = this.early.get(id) ?? this.putFile(id);
        this.early.set(id, putting);
        // Who comes to need it tries again.
        putting.catch(() => this.early.delete(id));
        return this.waits ? putting : undefined;
      }),
    );
  }
  objectGone(id: Id): boolean {
    const early = this.early.get(id);
    // No commit came to name it.
    if (early && !this.lake?.tables.has('files', idBuffer(id))) {
      this.early.delete(id);
      this.gone.push([id, Date.now()]);
    }
    if (!this.lake || this.role.fence || this.tip.last === this.newest.number) return false;
    this.leaving.push({ id, record: this.newest.number });
    return true;
  }
  neededFrom(segment: number): number {
    return this.tip.last === this.newest.number ? segment : Math.min(segment, this.place.segment);
  }

  private makeBaseSoon(): void {
    if (this.making) return;
    this.making = this.makeBase()
      .catch((fault: unknown) => {
        if (!this.closing.signal.aborted) this.lake!.report(fault);
      })
      .finally(() => {
        this.making = undefined;
      });
  }
  /** Writes the rows of the tables, and puts them when the bucket has all that changed meanwhile. */
  private async makeBase(): Promise<void> {
    const { directory, tables, log } = this.lake!;
    const { segment, sum, last, digest } = this.tip;
    const path = join(directory, 'store.base');
    this.sinceBase = 0;
    // Rows are read as readers see them: they must have all that the segment has.
    while (tables.seen.number < last && !this.role.fence && !this.closing.signal.aborted) await later(1);
    // Given up: such a base would lack what its segment has.
    if (tables.seen.number < last) return;
    try {
      const lake = log.identity.lake.toString('hex');
      await writeBaseFile(path, { lake, segment, sum, last, digest, gone: this.gone }, allRows(tables));
      await this.settled();
      await this.bucket.putFile(baseKey(segment), path);
      killPoint('store: base put');
      await this.bucket.put(newestBaseKey, Buffer.from(String(segment)));
      this.baseBytes = statSync(path).size;
      await this.pruner.madeBase(segment);
    } finally {
      rmSync(path, { force: true });
    }
  }

  /** Removes from the bucket what was removed from the lake long enough ago. */
  private removeGone(): void {
    const { graceMs } = this.options;
    this.goneTimer = setTimeout(
      () => {
        void this.removeDue(Date.now() - graceMs).finally(() => {
          if (!this.closing.signal.aborted) this.removeGone();
        });
      },
      Math.min(60_000, Math.max(50, graceMs / 4)),
    ).unref();
  }
  private async removeDue(before: number): Promise<void> {
    const due = this.gone.filter(([, at]) => at <= before);
    for (const entry of due) {
      if (this.role.fence || this.closing.signal.aborted) return;
      try {
        await this.bucket.delete(objectKey(entry[0]));
        this.gone = this.gone.filter((each) => each !== entry);
      } catch (fault) {
        this.lake!.report(fault);
        return;
      }
    }
  }

  figures(): StoreFigures {
    const { requests, retries, sentBytes, receivedBytes, lists } = this.bucket.counts;
    const { state, fence, fault } = this.role;
    return {
      store: this.bucket.name,
      state,
      segment: this.tip.segment,
      behindRecords: (this.newest?.number ?? 0) - this.tip.last,
      behindMs: this.behindSince === undefined ? 0 : performance.now() - this.behindSince,
      ...(fence && { fenced: fence.message }),
      ...(fault && { fault: fault.text, ...(this.waits && !fence && { refusing: fault.text }) }),
      requests,
      retries,
      sentBytes,
      receivedBytes,
      lists,
      cachedBytes: this.cache?.bytes ?? 0,
    };
  }

  stop(): void {
    if (this.stopTimer) return;
    this.closing.abort();
    this.stopTimer = setTimeout(() => {
      this.bucket.close();
      this.giveUp();
    }, this.options.closeMsMax);
  }
  private giveUp(): void {
    this.isOver = true;
    this.roomCame();
    for (const { reject } of this.waiting.splice(0)) reject(this.unreachable());
  }
  async close(): Promise<void> {
    this.stop();
    clearTimeout(this.goneTimer);
    clearTimeout(this.sweepTimer);
    await this.running;
    await this.confirming;
    // A base that is being made waits for what nobody puts any more.
    this.giveUp();
    await this.making;
    await this.sweeping;
    clearTimeout(this.stopTimer);
    await this.cache?.close();
    // Who takes over finds all that there was.
    await this.lease.end(this.tip.last === this.newest?.number ? 'released' : this.waits ? 'gone' : 'behind');
    this.bucket.close();
    this.role.send({ type: 'closed' });
  }
}

/** Ids of the files that changes name. */
const namedFiles = (changes: readonly Change[]): readonly Id[] =>
  changes.flatMap(({ table, key, payload }) =>
    table === 'files' && payload ? [Buffer.from(key).toString('hex')] : [],
  );
const isAbsent = (fault: unknown): boolean => codeOf(fault) === 'ENOENT';

/** Does it for each, so many at a time; the first fault ends it. */
export const eachOf = async <T>(
  items: readonly T[],
  atOnce: number,
  each: (item: T) => Promise<void>,
): Promise<void> => {
  let next = 0;
  const some = async (): Promise<void> => {
    try {
      for (let i = next++; i < items.length; i = next++) await each(items[i]);
    } catch (fault) {
      next = items.length;
      throw fault;
    }
  };
  const ends = await Promise.allSettled(Array.from({ length: Math.min(atOnce, items.length) }, some));
  for (const end of ends) if (end.status === 'rejected') throw end.reason;
};
