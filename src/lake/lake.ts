/**
 * The lake: a directory with tables and data objects, its machine and its pools.
 *
 * Invariants:
 * - One process at a time has it open (lock.ts).
 * - The set of pools changes only in the lake's machine, one job at a time; names and pools change in one transaction.
 * - What a machine settles is settled here exactly once; a machine that has ended is never sent to.
 */
import assert from 'node:assert';
import { createActor, type Actor, waitFor } from 'xstate';
import { LakeError, messageOf } from '../errors.ts';
import type { LakeJob, LakeTask, LakeWorkDone, PoolSettings } from '../../machines/lake.events.ts';
import { lakeMachine } from '../../machines/lake.machine.ts';
import type { JobOutcome } from '../../machines/pool.events.ts';
import { type LakeWork, type PoolActor, provideLake } from './actors.ts';
import { Cuts } from './cuts.ts';
import { Checkpoints } from './tables/checkpoints.ts';
import { LakeDraws, lastDrawn } from './draws.ts';
import { Feed } from './feed.ts';
import { takeFollowed } from './followed.ts';
import { idBuffer, idOfBytes, threadIds, zeroId } from './ksuid.ts';
import type {
  BranchRecord,
  CreatePoolRequest,
  Cut,
  DerivedPool,
  Diff,
  DiffRequest,
  DoneJob,
  Draws,
  Id,
  KnownRetry,
  Lake,
  LakeEvent,
  LakeFigures,
  LakeOptions,
  MetaPage,
  MetaSource,
  PartsMade,
  PoolConfig,
  PoolQueue,
  ReadyCommit,
  Snapshot,
  TransactionChange,
  TransactionResult,
  UnreadablePool,
  ViewChange,
  ViewChanged,
  ViewDefinition,
  ViewVersion,
} from './lake.types.ts';
import { openDiff } from './commits/diff.ts';
import { type Lock, lockLake } from './lock.ts';
import { killPoint } from './kill-points.ts';
import { allRows, writeBase } from './log/base.ts';
import { type LogPlace, newIdentity } from './log/format.ts';
import { beginLog, openLog } from './log/log.ts';
import { metaPage } from './meta.ts';
import { checkNotReserved } from './names.ts';
import { Packer } from './objects/packer.ts';
import { ownTables } from './own-files.ts';
import { Mailbox } from './pool/mailbox.ts';
import { derivedPool } from './pool/derived.ts';
import { PoolFace } from './pool/pool.ts';
import { Pools } from './pool/pools.ts';
import { PoolStore, type Stores } from './pool/store.ts';
import { transact, transactAgain, type TransactionHost } from './pool/transaction.ts';
import { findOrphans, purgePool } from './objects/purge.ts';
import { markClosed, openFollowed, openTables } from './repair/recovery.ts';
import { tablesFolder } from './repair/replay.ts';
import { Retries } from './commits/retries.ts';
import { SnapshotCache } from './commits/snapshot.ts';
import { markAlone } from './store/mark.ts';
import type { FollowingLake, LakeFollower, LakeStore } from './store/store.types.ts';
import { StoreFailure, type Tables } from './tables/tables.ts';
import { ToldFiles } from './objects/told-files.ts';
import { changeView } from './view-changes.ts';
import { Views } from './views.ts';

const queueJobsMaxDefault = 10_000;
const groupJobsMax = 1024;
/** Groups of a pool that are under way at once where commits wait for a bucket. */
const groupsWaitingMax = 64;
const eventsKeptMaxDefault = 10_000;
const retryKeepMsDefault = 24 * 3_600_000;
const snapshotLimits = { bytesMax: 32 << 20, idleMs: 5 * 60_000 };

/** Opens the lake in a directory, makes it if there is none. @throws lake-locked, lake-newer, lake-unreadable */
export const openLake = async (options: LakeOptions): Promise<Lake> => {
  const lake = new OpenLake(options);
  await lake.start();
  return lake;
};

class OpenLake implements Lake {
  directory: string;
  private readonly options: LakeOptions;
  private readonly draws: Draws;
  private readonly clockDraws: LakeDraws;
  private readonly actor: Actor<typeof lakeMachine>;
  private readonly poolTable: Pools;
  private viewTable!: Views;
  private readonly waiting = new Map<
    number,
    {
      readonly request?: CreatePoolRequest;
      readonly view?: ViewDefinition;
      readonly resolve: () => void;
      readonly reject: (error: unknown) => void;
      error?: unknown;
    }
  >();
  /** Pools that have or had a machine; a deleted one stays until its machine has settled what waited. */
  private readonly acting = new Map<Id, PoolFace>();
  /** Of the pools that have a machine. */
  private readonly mailboxes = new Map<Id, Mailbox>();
  private readonly background = new Set<Promise<void>>();
  private stores!: Stores;
  private lock: Lock | undefined;
  private checkpoints: Checkpoints | undefined;
  private packer: Packer | undefined;
  /** Where its log goes, once it writes; what feeds it before, if it is a replica. */
  private store: LakeStore | undefined;
  private follow: LakeFollower | undefined;
  private startFault: unknown;
  private jobs = 0;
  private transactionCount = 0;
  private readonly cuts = new Cuts();
  private jobListener: ((job: DoneJob) => void) | undefined;
  private readonly files: ToldFiles;
  private closeAsked = false;

  constructor(options: LakeOptions) {
    this.options = options;
    this.directory = options.directory;
    this.clockDraws = new LakeDraws(options.clockNoted);
    this.draws = options.draws ?? this.clockDraws;
    this.store = options.store;
    this.follow = options.follow;
    this.files = new ToldFiles(options.objects, { objectGone: (id) => this.store?.objectGone(id) ?? false });
    this.poolTable = new Pools({
      stores: () => this.stores,
      draws: this.draws,
      drew: options.drew,
      face: (config) => this.faceOf(config),
      checkNoView: (name) => this.viewTable.checkFree(name),
      report: (fault) => this.report(fault),
    });
    if (!options.follow) this.packSmall();
    const work: LakeWork = {
      start: () => this.openTables(),
      recover: () => this.recover(),
      work: (job) => this.work(job),
      shutDown: () => this.shutDown(),
      poolOpen: async (poolId) => {
        this.acting.get(poolId)!.readBranches();
      },
    };
    const machine = provideLake(work, options.charts);
    const input = { waitingMax: options.queueJobsMax ?? queueJobsMaxDefault };
    this.actor = createActor(machine, { id: 'lake', input, ...(options.inspect && { inspect: options.inspect }) });
    this.actor.on('settled', ({ outcomes }) => this.settle(outcomes));
  }

  private packSmall(): void {
    const { packs } = this.options;
    if (packs)
      this.packer = new Packer({
        options: packs,
        report: (fault) => this.report(fault),
        closing: () => this.closeAsked,
        deleteFile: (id) => this.files.delete(id),
      });
  }

  async start(): Promise<void> {
    this.actor.start();
    const state = await waitFor(this.actor, (s) => s.matches('ready') || s.matches('failed'));
    if (!state.matches('failed')) return;
    await this.lock?.release(false);
    this.actor.send({ type: 'close' });
    throw this.startFault instanceof Error
      ? this.startFault
      : new LakeError('internal', { text: state.context.failure ?? '' });
  }

  private async openTables(): Promise<void> {
    try {
      this.lock = await lockLake(this.options.directory, this.options.owner ?? '');
      this.directory = this.lock.directory;
      killPoint('start: locked');
      const {
        directory,
        options: { applyBytes, segmentBytes, compactBytesMin, baseBytesMin: bytesMin },
      } = this;
      const report = (fault: unknown): void => this.report(fault);
      const { store, follow } = this;
      const files: string[] = [];
      const owned = (name: string): void => void files.push(name);
      ownTables(directory, owned);
      if (follow) {
        await this.openReplica(follow);
        this.ownedFiles(files);
        return;
      }
      if (store) await store.prepare(directory);
      else markAlone(directory);
      const { tables, log, isCovered } = await openTables({
        directory,
        isUnclean: this.lock.diedBefore !== undefined,
        rebuilt: (why) => {
          this.options.tablesMade?.(why);
        },
        passedOver: (why) => {
          this.options.basePassedOver?.(why);
        },
        report,
        owned,
        applyBytes,
        segmentBytes,
        compactBytesMin,
      });
      this.ownedFiles(files);
      tables.lagged = report;
      if (store) {
        await store
          .attach({ directory, tables, log, report, evicted: (id) => this.files.tell(id) })
          .catch(async (fault) => {
            await store.close();
            await tables.close();
            throw fault;
          });
        tables.copy = store;
      }
      this.checkpoints = new Checkpoints({ directory, tables, log, isCovered, report, bytesMin });
      killPoint('start: tables open');
      this.stores = this.storesOf(tables);
    } catch (error) {
      this.startFault = error;
      throw error;
    }
  }
  private ownedFiles(names: readonly string[]): void {
    if (names.length > 0) this.options.filesOwned?.(names);
  }
  private async openReplica(follow: LakeFollower): Promise<void> {
    const { directory } = this;
    const report = (fault: unknown): void => this.report(fault);
    try {
      const place = await follow.prepare(directory);
      const tables = await openFollowed({ directory, report }, { place, refuse: () => follow.refuse() });
      tables.lagged = report;
      this.stores = this.storesOf(tables);
    } catch (fault) {
      await follow.close();
      throw fault;
    }
  }
  private storesOf(tables: Tables): Stores {
    const report = (fault: unknown): void => this.report(fault);
    return {
      tables,
      retries: new Retries(tables, this.options.retryKeepMs ?? retryKeepMsDefault),
      feed: new Feed(tables, this.options.eventsKeptMax ?? eventsKeptMaxDefault, report, this.options),
      draws: this.draws,
      ...(this.options.drew && { drew: this.options.drew }),
      snapshots: new SnapshotCache(tables, { ...snapshotLimits, ...this.options.snapshots }, report),
      small: (poolId, branch, objects) => {
        const face = this.poolTable.byIdIfAny(poolId);
        if (face) this.packer?.note(face, branch, objects);
      },
    };
  }

  private async recover(): Promise<void> {
    try {
      const { tables } = this.stores;
      this.poolTable.recover();
      this.viewTable = new Views({ ...this.stores, drew: this.options.drew }, ({ key }, fault) =>
        this.poolTable.lose(key, fault),
      );
      this.goOnDrawing();
      const purges = this.purges();
      const orphans = await findOrphans(tables, this.files);
      killPoint('start: orphans found');
      this.inBackground(async () => {
        for (const id of orphans) {
          await this.files.delete(id);
          killPoint('start: orphan gone');
        }
        // A replica's writer does it.
        if (!this.follow) for (const id of purges) await purgePool(tables, this.files, id, () => this.closeAsked);
      });
      this.inBackground(async () => {
        for (const face of this.faces()) if (!this.closeAsked) await face.look();
      });
      await this.follow?.begin(this.following());
    } catch (error) {
      this.startFault = error;
      throw error;
    }
  }
  private goOnDrawing(): void {
    const last = lastDrawn(this.stores.tables);
    this.clockDraws.goOnFrom(last);
    if (last.id !== zeroId) threadIds.goOnFrom(last.id);
  }
  private purges(): readonly Id[] {
    return this.stores.tables
      .keys('purges')
      .filter((key) => key.length === zeroId.length / 2)
      .map(idOfBytes);
  }
  /** A replica becomes the writer: its tables have all that there is, a log of its own begins there. */
  private async lead(store: LakeStore, place: LogPlace): Promise<void> {
    const { directory } = this;
    const { tables, feed } = this.stores;
    const report = (fault: unknown): void => this.report(fault);
    await tables.flush();
    const identity = { lake: place.lake, salt: newIdentity().salt };
    const { number: record, digest: before } = place;
    const hasBase = record > 0;
    if (hasBase) await writeBase({ directory, identity, record, before, rows: allRows(tables) });
    beginLog(directory, { identity, hasBase, first: record + 1, before });
    const log = openLog({ directory, identity, place, hasBase });
    await store.attach({ directory, tables, log, report, evicted: (id) => this.files.tell(id) });
    tables.lead(log, store);
    feed.lead();
    this.goOnDrawing();
    this.checkpoints = new Checkpoints({ directory, tables, log, isCovered: true, report });
    this.packSmall();
    this.store = store;
    this.follow = undefined;
    this.inBackground(async () => {
      for (const id of this.purges()) await purgePool(tables, this.files, id, () => this.closeAsked);
    });
  }
  promote(): Promise<void> {
    return this.follow?.promote() ?? Promise.reject(new LakeError('standby-none'));
  }
  /** The lake as what feeds a replica sees it. */
  private following(): FollowingLake {
    const { tables, feed } = this.stores;
    const parts = {
      tables,
      feed,
      views: () => this.viewTable,
      pool: (id: Id) => this.poolTable.byIdIfAny(id),
      moved: (id: Id, before: BranchRecord) => {
        this.cuts.moved(id, [before]);
      },
      put: (config: PoolConfig) => {
        this.poolTable.put(config);
      },
      remove: (face: PoolFace) => {
        this.poolTable.remove(face);
      },
      report: (fault: unknown) => this.report(fault),
    };
    return {
      directory: this.directory,
      take: (changes, place) => takeFollowed(parts, changes, place),
      room: () => tables.room(),
      lead: (store, place) => this.lead(store, place),
      lastEvent: () => feed.last(),
      hasFile: (id) => tables.has('files', idBuffer(id)),
      removeFile: (id) => this.files.delete(id),
      evicted: (id) => this.files.tell(id),
      report: parts.report,
    };
  }
  private inBackground(task: () => Promise<void>): void {
    const running = task()
      .catch((fault: unknown) => this.report(fault))
      .finally(() => this.background.delete(running));
    this.background.add(running);
  }
  private report(fault: unknown): void {
    this.options.report?.(fault);
  }

  private faceOf(config: PoolConfig): PoolFace {
    return new PoolFace(new PoolStore(this.stores, config), {
      files: this.files,
      report: (fault) => this.report(fault),
      mailbox: (poolId) => this.mailbox(poolId),
      checkWrites: () => this.checkWrites(),
      objectsMade: (ids) => this.store?.putObjects(ids) ?? Promise.resolve(),
      nextJobId: () => ++this.jobs,
      storeFailed: (reason) => this.actor.send({ type: 'store failed', reason }),
      closing: () => this.closeAsked,
      jobDone: (job) => {
        this.jobListener?.(job);
      },
    });
  }

  status(): ReturnType<Lake['status']> {
    const state = this.actor.getSnapshot();
    if (state.status !== 'active') return { state: 'closed' };
    if (state.matches('closing') || this.closeAsked) return { state: 'closing' };
    const reason = state.context.failure;
    return reason === null ? { state: 'ready' } : { state: 'failed', reason };
  }

  full(): string | undefined {
    return this.status().state === 'ready' ? this.stores.tables.full() : undefined;
  }

  pools(): readonly PoolConfig[] {
    return this.faces().map((face) => face.config);
  }
  faces(): readonly PoolFace[] {
    return this.poolTable.all();
  }
  pool(reference: string): PoolFace {
    return this.face(reference);
  }
  face(reference: string): PoolFace {
    return this.poolTable.find(reference);
  }

  async createPool(request: CreatePoolRequest): Promise<{ readonly pool: PoolConfig; readonly branch: BranchRecord }> {
    const name = request.name.normalize('NFC');
    if (name === '') throw new LakeError('pool-name-missing');
    checkNotReserved('pool', name);
    this.poolTable.checkFree(name);
    const poolId = this.draws.newId();
    await this.submit({ kind: 'create pool', name, poolId }, { request: { ...request, name } });
    const face = this.poolTable.withId(poolId);
    return { pool: face.config, branch: face.branch('main') };
  }
  async renamePool(reference: string, newName: string): Promise<void> {
    const name = newName.normalize('NFC');
    if (name === '') throw new LakeError('pool-name-missing');
    checkNotReserved('pool', name);
    await this.submit({ kind: 'rename pool', poolId: this.face(reference).config.id, name });
  }
  async setPool(reference: string, { iceberg, icebergMapping, identity }: PoolSettings): Promise<void> {
    const settings: PoolSettings = {
      ...(iceberg && { iceberg }),
      ...(icebergMapping && { icebergMapping }),
      ...(identity && { identity }),
    };
    await this.submit({ kind: 'set pool', poolId: this.face(reference).config.id, ...settings });
  }
  derived(reference: string): DerivedPool {
    return derivedPool(this.face(reference).store);
  }
  async deletePool(reference: string): Promise<void> {
    await this.submit({ kind: 'delete pool', poolId: this.face(reference).config.id });
  }

  views(): readonly ViewVersion[] {
    return this.viewTable.all();
  }
  view(reference: string, version?: string): ViewVersion | undefined {
    return this.viewTable.find(reference, version);
  }
  viewVersions(id: Id): readonly ViewVersion[] {
    return this.viewTable.versions(id);
  }
  changeView(change: ViewChange, author = ''): Promise<ViewChanged> {
    return changeView(
      {
        views: this.viewTable,
        newId: () => this.draws.newId(),
        nameBytesMax: this.options.nameBytesMax ?? Infinity,
        submit: (task, view) => this.submit(task, view && { view }),
      },
      { change, author },
    );
  }

  async openSnapshot(pool: string, commitish: string, cut?: Cut): Promise<Snapshot> {
    const face = this.face(pool);
    const commit = (cut && face.before(cut, commitish)) ?? face.resolveAt(commitish);
    // Without a wait where there is none: what is resolved is pinned in one turn.
    return (await face.open(commit instanceof Promise ? await commit : commit)).snapshot;
  }
  cut(): Cut {
    return this.cuts.open();
  }
  async transact(changes: readonly TransactionChange[]): Promise<TransactionResult> {
    this.checkWrites();
    return transact(this.transactions(), changes);
  }
  submitParts(parts: readonly ReadyCommit[]): Promise<PartsMade> {
    return transactAgain(this.transactions(), parts);
  }
  private transactions(): TransactionHost {
    const { charts, inspect } = this.options;
    return {
      stores: this.stores,
      cuts: this.cuts,
      ...(charts?.transaction && { chart: charts.transaction }),
      ...(inspect && { inspect }),
      face: (reference) => this.face(reference),
      nextNumber: () => ++this.transactionCount,
    };
  }
  async openDiff(pool: string, request: DiffRequest): Promise<Diff> {
    return openDiff(this.face(pool).store, request);
  }
  retried(key: string, keepMs?: number): KnownRetry | undefined {
    return this.stores.retries!.find(key, keepMs);
  }
  metaPage(source: MetaSource, next?: string): Promise<MetaPage> {
    return metaPage(this, source, next);
  }

  onEvent(listener: (event: LakeEvent) => void): () => void {
    return this.stores.feed.listen(listener);
  }
  eventsSince(id: number, limit?: number): readonly LakeEvent[] | undefined {
    return this.stores.feed.since(id, limit);
  }
  lastEventId(): number {
    return this.stores.feed.last();
  }
  settledEventId(): number {
    return this.stores.feed.settledLast();
  }

  onJob(listener: (job: DoneJob) => void): () => void {
    this.jobListener = listener;
    return () => {
      if (this.jobListener === listener) this.jobListener = undefined;
    };
  }
  onObjectGone(listener: (id: Id) => void): () => void {
    return this.files.listen(listener);
  }
  queues(): readonly PoolQueue[] {
    return [...this.mailboxes].flatMap(([id, { waiting, running }]) => {
      const face = this.poolTable.byIdIfAny(id);
      return face ? [{ pool: face.config.name, waiting, running }] : [];
    });
  }
  cachedBytes(): number {
    return this.stores.snapshots.bytes;
  }
  figures(): LakeFigures {
    const { tables, snapshots } = this.stores;
    const objects = tables.count('objects') - tables.count('vacuumed');
    const { corrections: clockCorrections, aheadSeconds: idsAheadSeconds } = this.clockDraws.clock;
    return {
      commits: tables.count('commits'),
      objects,
      tableBytes: tables.fileBytes(),
      snapshots: snapshots.lists,
      snapshotBytes: snapshots.bytes,
      clockCorrections,
      idsAheadSeconds,
      ...(this.store && { store: this.store.figures() }),
      ...(this.follow && { follow: this.follow.figures() }),
    };
  }
  unreadable(): readonly UnreadablePool[] {
    return this.poolTable.unreadable();
  }

  async close(): Promise<void> {
    this.closeAsked = true;
    this.store?.stop();
    if (this.actor.getSnapshot().status !== 'active') return;
    this.actor.send({ type: 'close' });
    await waitFor(this.actor, (s) => s.status !== 'active');
  }
  private async shutDown(): Promise<void> {
    await Promise.allSettled([...this.background, this.packer?.settled()]);
    await this.stores.snapshots.close();
    await this.checkpoints?.close();
    // First what feeds it: that may be about to become the store.
    await this.follow?.close();
    await this.store?.close();
    // Tables that lack what the log has are as a crash leaves them.
    const isWhole = await this.stores.tables.close();
    killPoint('close: tables closed');
    await this.lock?.release(isWhole && markClosed(tablesFolder(this.directory)));
  }

  checkWrites(): void {
    this.store?.check();
    this.follow?.refuse();
  }
  submit(
    task: LakeTask,
    more: { readonly request?: CreatePoolRequest; readonly view?: ViewDefinition } = {},
  ): Promise<void> {
    const id = ++this.jobs;
    return new Promise((resolve, reject) => {
      this.checkWrites();
      if (this.actor.getSnapshot().status !== 'active') {
        reject(new LakeError('lake-closing'));
        return;
      }
      this.waiting.set(id, { ...more, resolve, reject });
      this.actor.send({ type: 'job', job: { id, ...task } });
    });
  }

  /** Of a pool that may be written to; its machine is spawned when it is asked for first. */
  private mailbox(poolId: Id): Mailbox | undefined {
    const lake = this.actor.getSnapshot();
    const face = this.poolTable.byIdIfAny(poolId);
    if (lake.status !== 'active' || this.closeAsked || !face) return undefined;
    const known = this.mailboxes.get(poolId);
    if (known) return known;
    this.acting.set(poolId, face);
    this.actor.send({ type: 'pool wanted', poolId });
    const child = (this.actor.getSnapshot().children as Record<string, PoolActor | undefined>)[poolId];
    if (child?.getSnapshot().status !== 'active') return undefined;
    const mailbox = new Mailbox(child, face, {
      waitingMax: this.options.queueJobsMax ?? queueJobsMaxDefault,
      groupMax: groupJobsMax,
      groupsMax: () => (this.stores.tables.copy?.waits ? groupsWaitingMax : 1),
    });
    this.mailboxes.set(poolId, mailbox);
    child.subscribe({
      complete: () => {
        this.mailboxes.delete(poolId);
        if (face.store.deleted) this.acting.delete(poolId);
      },
    });
    return mailbox;
  }

  /** The machine's `settled`: listeners hear of the changes before those who asked for them. */
  private settle(outcomes: readonly JobOutcome[]): void {
    for (const outcome of outcomes) if (outcome.status === 'done') this.stores.feed.publish(outcome.events ?? []);
    for (const outcome of outcomes) {
      const waiting = this.waiting.get(outcome.id);
      assert(waiting, 'a job is settled once');
      this.waiting.delete(outcome.id);
      if (outcome.status === 'done') waiting.resolve();
      else waiting.reject(waiting.error ?? refusal(outcome));
    }
  }

  /** The machine's `work`. */
  private async work(job: LakeJob): Promise<LakeWorkDone> {
    try {
      const events = await this.change(job);
      return {
        outcome: { id: job.id, status: 'done', events },
        ...(job.kind === 'delete pool' && { closePool: job.poolId }),
      };
    } catch (error) {
      const failed = error instanceof StoreFailure;
      if (!failed && !(error instanceof LakeError)) this.report(error);
      this.waiting.get(job.id)!.error = failed
        ? new LakeError('lake-failed', { fault: error.message }, { cause: error })
        : error;
      const text = messageOf(error);
      return {
        outcome: { id: job.id, status: 'failed', code: error instanceof LakeError ? error.code : 'internal', text },
        ...(failed && { unsound: text }),
      };
    }
  }

  private change(job: LakeJob): Promise<readonly LakeEvent[]> {
    const { request, view } = this.waiting.get(job.id)!;
    switch (job.kind) {
      case 'create pool':
        return this.poolTable.create(job.poolId, request!);
      case 'rename pool':
        return this.poolTable.rename(job.poolId, job.name);
      case 'set pool':
        return this.poolTable.set(job.poolId, job);
      case 'delete pool':
        return this.deleteWithRows(job.poolId);
      case 'create view':
        this.poolTable.checkNoPool(job.name);
        // Before the definition is looked at: a recording has that of a view which came to be.
        this.viewTable.checkFree(job.name);
        return this.viewTable.create(job.viewId, view!);
      case 'replace view':
        this.viewTable.check(job);
        return this.viewTable.replace(job.viewId, job.version, view!);
      case 'rename view':
        this.viewTable.check(job);
        this.poolTable.checkFree(job.name);
        return this.viewTable.rename(job.viewId, job.version, view!);
      case 'drop view':
        this.viewTable.check(job);
        return this.viewTable.drop(job.viewId);
    }
  }

  private async deleteWithRows(id: Id): Promise<readonly LakeEvent[]> {
    const face = this.poolTable.withId(id);
    const events = await this.poolTable.delete(id);
    this.inBackground(() => this.purge(face));
    return events;
  }
  /** Waits until nobody reads the deleted pool any more. */
  private async purge(face: PoolFace): Promise<void> {
    if (face.store.pins.size > 0) {
      let unlisten = (): void => undefined;
      await new Promise<void>((resolve) => {
        face.store.onRelease = () => {
          if (face.store.pins.size === 0) resolve();
        };
        unlisten = this.onClosing(resolve);
      });
      unlisten();
    }
    if (!this.closeAsked) await purgePool(this.stores.tables, this.files, face.config.id, () => this.closeAsked);
  }
  private onClosing(call: () => void): () => void {
    const subscription = this.actor.subscribe((state) => {
      if (state.matches('closing')) call();
    });
    return () => {
      subscription.unsubscribe();
    };
  }
}

const refusal = (outcome: JobOutcome): LakeError => {
  if (outcome.status === 'failed') return new LakeError('internal', { text: outcome.text });
  assert(outcome.status === 'refused');
  if (outcome.why === 'queue full') return new LakeError('jobs-full', { fault: outcome.text });
  return outcome.why === 'closing'
    ? new LakeError('lake-closing')
    : new LakeError('lake-failed', { fault: outcome.text });
};
