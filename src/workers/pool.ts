/**
 * The worker pool: bodies become objects, query texts become bytes, objects are rewritten, all in worker threads. The
 * main thread passes bytes on and tells the watches of loads and queries.
 *
 * Invariants:
 * - A task runs in the thread that had the fewest; it ends once, with its outcome, its error, or that of its thread's
 *   death.
 * - The snapshots that a task reads stay pinned until its worker has stopped working on it.
 */
import { availableParallelism } from 'node:os';
import { join } from 'node:path';
import { MessageChannel, type MessagePort } from 'node:worker_threads';
import { LakeError } from '../errors.ts';
import { recursionMax } from '../exec/source.ts';
import type { RenderedFile, RenderRequest } from '../iceberg/render.types.ts';
import { newId } from '../lake/ksuid.ts';
import type { ObjectMeta, PoolConfig, PrepareRewrite, Rewrite, Snapshot } from '../lake/lake.types.ts';
import { type ObjectStore, openObjects } from '../lake/objects/objects.ts';
import { removeObjectFiles, removeUncommitted } from '../lake/objects/removal.ts';
import { outputShares, shareSizes } from '../lake/scan/shares.ts';
import { CacheCounters } from './cache-counts.ts';
import { claimMemory } from './query/turn-claim.ts';
import { poolsOnly } from './from/policy.ts';
import type { IngestOutcome, IngestReply, IngestRequest, Protocol, Told } from './ingest/ingest.types.ts';
import { isSmallIngest, runSmallIngest } from './ingest/small.ts';
import { IngestTargets } from './ingest/targets.ts';
import { LakeSession, layoutOf } from './lake-session.ts';
import type { Prefetched, PartOf, Rejects, RewriteOutcome, TaskOutcome, TaskRequest } from './messages.ts';
import type {
  CompileReply,
  LakeServices,
  LoadOutcome,
  LoadReply,
  LoadRequest,
  QueryReply,
  QueryRequest,
  QueryStats,
  ThreadFigures,
  WorkerPool,
  WorkerPoolOptions,
  WorkerPoolStatus,
} from './pool.types.ts';
import { type PlaceKind, type TaskClient, makeRoom } from './places.ts';
import { QueryStream } from './query/reply.ts';
import { type SmallLoad, type SmallLoadTools, isSmallLoad, once, runSmallLoad } from './load/small.ts';
import { clearSpill } from './query/spill.ts';
import { RunningTask, Thread, type TaskEvents } from './thread.ts';
import { LoadWatch, QueryWatch } from './watches.ts';
import type { WorkerSettings } from './worker-settings.ts';
import { returnPages } from './page-returns.ts';

const defaults = {
  loadMemoryBytesMax: 64 << 20,
  queryMemoryBytesMax: 128 << 20,
  cacheBytesMax: 64 << 20,
  windowBytesMax: 1 << 20,
  loadWindowBytesMax: 4 << 20,
  tasksMax: 256,
  cancelMsMax: 10_000,
  expandedBytesMax: Infinity,
  formatLimits: {},
  recursion: recursionMax,
  from: poolsOnly,
  shareSizes,
  outputShares,
  residentBytesMax: Infinity,
  warmUpMs: 0,
};
const batchRows = 8192;
/** What a thread takes that has done nothing like it before. */
const helpBytes = 96 << 20;
/** A thread that dies younger than this is not replaced at once, lest a broken one spins. */
const steadyMs = 1000;
/** Objects of a page when a snapshot is searched. */
const pageObjects = 4096;

/** Starts the threads. */
export const startWorkerPool = (options: WorkerPoolOptions, lake: LakeServices): WorkerPool =>
  new Workers(options, lake);

const rejectsOf = ({ name }: PoolConfig, { pool, ms, branch }: NonNullable<LoadRequest['rejects']>): Rejects => ({
  layout: layoutOf(pool),
  ms,
  pool: name,
  branch,
});

class Workers implements WorkerPool {
  private readonly options: WorkerPoolOptions & typeof defaults;
  private readonly lake: LakeServices;
  private readonly settings: Omit<WorkerSettings, 'thread' | 'idsAbove' | 'stops' | 'counts'>;
  private readonly objects: ObjectStore;
  private readonly smallTools: SmallLoadTools;
  private readonly threads_ = new Set<Thread>();
  private readonly threadCount: number;
  private readonly cacheCounters: CacheCounters;
  private partsStarted = 0;
  private readonly unlisten: (() => void) | undefined;
  private readonly keepPages: (() => void) | undefined;
  private nextTask = 1;
  /** Was given the last task. */
  private latest: Thread | undefined;
  private running = { queries: 0, loads: 0 };
  private replaced = 0;
  private closing = false;

  constructor(options: WorkerPoolOptions, lake: LakeServices) {
    this.options = { ...defaults, ...defined(options) };
    this.lake = lake;
    const {
      lakeDirectory,
      loadMemoryBytesMax,
      queryMemoryBytesMax,
      windowBytesMax,
      expandedBytesMax,
      formatLimits,
      recursion,
      from,
      shareSizes,
      outputShares,
      residentBytesMax,
      warmUpMs,
      indexBase,
    } = this.options;
    const spillDirectory = this.options.spillDirectory ?? join(lakeDirectory, 'spill');
    clearSpill(spillDirectory);
    this.threadCount = this.options.threads ?? availableParallelism();
    this.cacheCounters = new CacheCounters(this.threadCount);
    const cacheBytesMax = Math.floor(this.options.cacheBytesMax / this.threadCount);
    const cacheCounts = this.cacheCounters.memory;
    this.settings = {
      cacheBytesMax,
      cacheCounts,
      claim: claimMemory(),
      lakeDirectory,
      spillDirectory,
      loadMemoryBytesMax,
      queryMemoryBytesMax,
      windowBytesMax,
      batchRows,
      expandedBytesMax,
      formatLimits,
      recursion,
      from,
      shareSizes,
      outputShares,
      residentBytesMax,
      warmUpMs,
      ...(indexBase !== undefined && { indexBase }),
    };
    this.objects = openObjects(lakeDirectory);
    this.smallTools = { objects: this.objects, readLimits: { ...formatLimits, expandedBytesMax } };
    for (let i = 0; i < this.threadCount; i++) this.addThread(i);
    if (Number.isFinite(residentBytesMax))
      this.keepPages = returnPages(residentBytesMax, () => this.running.queries + this.running.loads > 0);
    this.unlisten = lake.onObjectGone?.((id) => {
      for (const thread of this.threads_) thread.forget(id);
    });
  }

  async load(request: LoadRequest): Promise<LoadReply> {
    const { pool, whole } = request;
    const watch = request.watch ?? new LoadWatch({ poolId: pool.id }, this.options.inspect);
    this.running.loads++;
    watch.begin();
    try {
      const outcome = whole
        ? await this.loadWhole(request, await whole(), watch)
        : await this.loadChunks(request, watch);
      const { objects } = outcome;
      const rejected = [...(outcome.rejected ?? [])];
      return {
        ...outcome,
        settled: (commit) =>
          this.settled(watch, objects, commit).catch(async (error: unknown) => {
            await removeObjectFiles(rejected.splice(0), { files: this.objects });
            throw error;
          }),
        taken: async (commit) => {
          const taken = rejected.splice(0);
          try {
            const made = await commit();
            if (made === undefined) await removeObjectFiles(taken, { files: this.objects });
            return made;
          } catch (error) {
            await removeUncommitted(taken, error, { files: this.objects });
            throw error;
          }
        },
      };
    } catch (error) {
      watch.failed(error);
      throw error;
    } finally {
      this.running.loads--;
    }
  }

  private async loadWhole(request: LoadRequest, body: Uint8Array, watch: LoadWatch): Promise<LoadOutcome> {
    watch.took(body.length);
    const { pool, format, form, contentCodings, rejects } = request;
    const small: SmallLoad = {
      pool: layoutOf(pool),
      format: format ?? 'auto',
      body,
      ...(form && { form }),
      ...(rejects && { rejects: rejectsOf(pool, rejects) }),
    };
    if (!isSmallLoad(small, contentCodings ?? []))
      return this.loadChunks({ ...request, body: once(body), begun: undefined }, watch);
    if (this.closing) throw new LakeError('workers-closed');
    const outcome = await runSmallLoad(small, this.smallTools);
    watch.wroteAtOnce(outcome, body.length);
    return outcome;
  }

  private async loadChunks(
    { pool, format, form, contentCodings, rejects, body, begun, client, signal }: LoadRequest,
    watch: LoadWatch,
  ): Promise<LoadOutcome> {
    const request: TaskRequest = {
      kind: 'load',
      pool: layoutOf(pool),
      format: format ?? 'auto',
      ...(form && { form }),
      ...(contentCodings?.length && { contentCodings }),
      ...(rejects && { rejects: rejectsOf(pool, rejects) }),
    };
    await begun?.();
    const outcome = await this.outcome<LoadOutcome>(request, new LakeSession(this.lake, this.options.from), {
      client,
      signal,
      cancelled: () => cancelledLoad(signal),
      started: (task) => {
        watch.began(task);
        void task.pump(body);
      },
      step: (step) => {
        if (step === 'read') watch.read();
        else watch.sorted();
      },
    });
    watch.wrote(outcome);
    return outcome;
  }

  async ingest<P extends Protocol>(request: IngestRequest<P>): Promise<IngestReply<P>> {
    const targets = new IngestTargets(request.target);
    this.running.loads++;
    try {
      const body = await request.whole?.();
      const isSmall = body !== undefined && isSmallIngest(request, body);
      const outcome = isSmall
        ? await this.ingestSmall(request, body, targets)
        : await this.ingestChunks(body ? { ...request, body: once(body), begun: undefined } : request, targets);
      const pools = targets.replies(
        outcome,
        (watch, objects, commit) => this.settled(watch, objects, commit),
        isSmall ? body.length : undefined,
      );
      return { ...outcome, pools, told: outcome.told as Told[P] };
    } catch (error) {
      targets.failed(error);
      throw error;
    } finally {
      this.running.loads--;
    }
  }
  private ingestSmall(request: IngestRequest, body: Uint8Array, targets: IngestTargets): Promise<IngestOutcome> {
    if (this.closing) throw new LakeError('workers-closed');
    return runSmallIngest(request, body, async (name) => layoutOf(await targets.find(name)), this.smallTools);
  }
  private async ingestChunks(
    { protocol, pool, time, contentCodings, body, begun, client, signal }: IngestRequest,
    targets: IngestTargets,
  ): Promise<IngestOutcome> {
    const session = new LakeSession(this.lake, this.options.from);
    session.target = (name) => targets.find(name);
    await begun?.();
    return this.outcome<IngestOutcome>(
      { kind: 'ingest', protocol, pool, time, ...(contentCodings?.length && { contentCodings }) },
      session,
      {
        client,
        signal,
        cancelled: () => cancelledLoad(signal),
        started: (task) => {
          targets.began(task);
          void task.pump(body);
        },
        step: (step) => {
          if (step === 'read') targets.read();
          else targets.sorted();
        },
      },
    );
  }

  /** What no commit names goes; also where the commit was never asked for. */
  private async settled<T extends { readonly commit: string }>(
    watch: LoadWatch,
    objects: readonly ObjectMeta[],
    commit: Promise<T>,
  ): Promise<T> {
    try {
      const result = await commit;
      watch.committed(result.commit);
      return result;
    } catch (error) {
      watch.failed(error);
      await removeUncommitted(objects, error, { files: this.objects });
      throw error;
    }
  }

  async query({
    id,
    text,
    format,
    control,
    channelIds,
    arrowFile,
    coding,
    head,
    indexBase,
    ending,
    readOnly = false,
    compiled,
    lake,
    client,
    watch: given,
    signal,
  }: QueryRequest): Promise<QueryReply> {
    const stream = new QueryStream();
    const session = new LakeSession(lake ?? this.lake, this.options.from, readOnly);
    const watch = given ?? new QueryWatch({ id }, this.options.inspect);
    const ended = (error?: LakeError): void => {
      this.running.queries--;
      watch.ended(error);
      if (!given) leave(watch, error);
    };
    let task: RunningTask | undefined;
    const events: TaskEvents = {
      step: (_step, { warnings = [], varies = false }) => {
        stream.warnings = warnings;
        watch.compiled();
        compiled?.(varies ? undefined : session.reads());
      },
      chunk: (bytes, stats) => {
        watch.gaveBytes();
        stream.push(bytes, stats);
      },
      done: (outcome) => {
        ended();
        stream.stats = outcome as QueryStats;
        stream.close({});
      },
      failed: (error, told) => {
        ended(error);
        stream.close(told ? {} : { error });
      },
    };
    try {
      const request: TaskRequest = {
        kind: 'query',
        text,
        format,
        control,
        ...(channelIds && { channelIds }),
        ...(arrowFile && { arrowFile }),
        ...(coding && { coding }),
        ...(head && { head }),
        ...(indexBase !== undefined && { indexBase }),
        ...(ending && { ending }),
      };
      const prefetched = await session.prefetch(text, head);
      const started = this.start(request, session, events, { client, prefetched });
      task = started;
      watch.began(started);
      this.running.queries++;
      const cancel = (): void => {
        started.cancel(signal?.reason instanceof LakeError ? signal.reason : new LakeError('query-cancelled'));
      };
      if (signal?.aborted) cancel();
      signal?.addEventListener('abort', cancel, { once: true });
      await stream.ready;
      return stream.reply(id, started, watch, () => {
        signal?.removeEventListener('abort', cancel);
        cancel();
      });
    } catch (error) {
      // What was started releases it when its worker has stopped.
      if (!task) session.release();
      if (!task && !given) leave(watch, error);
      throw error;
    }
  }

  prepareDelete(where: string, lake = this.lake, warn?: (texts: readonly string[]) => void): PrepareRewrite {
    return (snapshot) =>
      this.rewrite({ kind: 'delete', where, pool: layoutOf(snapshot.pool) }, snapshot, lake, (_step, { warnings }) => {
        if (warnings) warn?.(warnings);
      });
  }

  prepareCompact(ids: readonly string[]): PrepareRewrite {
    return async (snapshot) => {
      const objects = await findObjects(snapshot, ids);
      return this.rewrite({ kind: 'compact', objects, pool: layoutOf(snapshot.pool) }, snapshot);
    };
  }

  packObjects(objects: readonly ObjectMeta[], pool: PoolConfig): Promise<RewriteOutcome> {
    return this.outcome<RewriteOutcome>(
      { kind: 'compact', objects, pool: layoutOf(pool) },
      new LakeSession(this.lake, this.options.from),
      {},
    );
  }

  render({ objects, table, register, signal }: RenderRequest): Promise<RenderedFile> {
    const session = new LakeSession(this.lake, this.options.from);
    session.renderFor(register);
    return this.outcome<RenderedFile>({ kind: 'render', objects, table }, session, signal ? { signal } : {});
  }

  compile(text: string, lake = this.lake, indexBase?: 0 | 1): Promise<CompileReply> {
    return this.outcome<CompileReply>(
      { kind: 'compile', text, ...(indexBase !== undefined && { indexBase }) },
      new LakeSession(lake, this.options.from),
      {},
    );
  }

  status(): WorkerPoolStatus {
    return {
      threads: this.threads_.size,
      queriesRunning: this.running.queries,
      loadsRunning: this.running.loads,
      replaced: this.replaced,
      parts: this.partsStarted,
      columns: this.cacheCounters.totals(),
    };
  }

  forgetLate(): void {
    for (const thread of this.threads_) thread.forgetLate();
  }
  threads(): readonly ThreadFigures[] {
    return [...this.threads_].map((thread) => ({
      thread: thread.index,
      busyMs: thread.busyMs(),
      tasks: thread.tasks.size,
      ...thread.totals(),
    }));
  }

  async close(): Promise<void> {
    if (this.closing) return;
    this.closing = true;
    this.unlisten?.();
    this.keepPages?.();
    const threads = [...this.threads_];
    for (const thread of threads)
      for (const task of [...thread.tasks.values()]) task.cancel(new LakeError('workers-closed'));
    await Promise.all(threads.map((thread) => thread.close()));
    for (const thread of threads) for (const task of thread.tasks.values()) task.session.release();
    this.threads_.clear();
    this.objects.close();
  }

  private async rewrite(
    request: TaskRequest,
    snapshot: Snapshot,
    lake = this.lake,
    step?: TaskEvents['step'],
  ): Promise<Rewrite> {
    const session = new LakeSession(lake, this.options.from);
    session.lend(snapshot);
    return this.outcome<RewriteOutcome>(request, session, { step });
  }

  /** Runs a task to its outcome. */
  private outcome<T extends TaskOutcome>(
    request: TaskRequest,
    session: LakeSession,
    {
      client,
      signal,
      cancelled,
      started,
      step,
    }: {
      readonly client?: TaskClient | undefined;
      readonly signal?: AbortSignal;
      readonly cancelled?: () => LakeError;
      readonly started?: (task: RunningTask) => void;
      readonly step?: TaskEvents['step'];
    },
  ): Promise<T> {
    return new Promise((resolve, reject) => {
      let unlisten = (): void => undefined;
      const task = this.start(
        request,
        session,
        {
          step,
          done: (outcome) => {
            unlisten();
            resolve(outcome as T);
          },
          failed: (error) => {
            unlisten();
            reject(error);
          },
        },
        { client },
      );
      const cancel = (): void => {
        task.cancel(cancelled?.() ?? new LakeError('query-cancelled'));
      };
      signal?.addEventListener('abort', cancel, { once: true });
      unlisten = () => {
        signal?.removeEventListener('abort', cancel);
      };
      if (signal?.aborted) cancel();
      else started?.(task);
    });
  }

  private start(
    request: TaskRequest,
    session: LakeSession,
    events: TaskEvents,
    {
      client,
      prefetched,
    }: { readonly client?: TaskClient | undefined; readonly prefetched?: readonly Prefetched[] } = {},
  ): RunningTask {
    if (this.closing) throw new LakeError('workers-closed');
    makeRoom(this.tasks(), placeOf(request), this.options.tasksMax);
    this.cacheCounters.tellBesides(this.lake.cachedBytes?.() ?? 0);
    const thread = (this.latest = this.threadFor());
    const windowBytesMax = isLoad(request) ? this.options.loadWindowBytesMax : this.options.windowBytesMax;
    const task: RunningTask = new RunningTask(
      this.nextTask++,
      thread,
      session,
      { ...events, helper: (of) => this.helper(of, thread, task) },
      {
        windowBytesMax,
        place: placeOf(request),
        client,
        unheard: (outcome) => {
          this.removeUnheard(request, outcome);
        },
      },
    );
    thread.start(request, task, prefetched);
    return task;
  }

  /**
   * The thread that has the fewest tasks; of several the one that was given the last task: what it holds and what was
   * freed in it is used again, and the others need none of it.
   */
  private threadFor(): Thread {
    let least: Thread | undefined;
    for (const thread of this.threads_)
      if (
        !least ||
        thread.tasks.size < least.tasks.size ||
        (thread === this.latest && thread.tasks.size === least.tasks.size)
      )
        least = thread;
    if (!least) throw new LakeError('worker-died', { reason: 'it could not be started' });
    return least;
  }

  /** Objects that were written when nobody waited for them any more go. */
  private removeUnheard(request: TaskRequest, outcome: TaskOutcome): void {
    if (request.kind === 'load') void removeObjectFiles((outcome as LoadOutcome).objects, { files: this.objects });
    else if (request.kind === 'ingest')
      for (const pool of (outcome as IngestOutcome).pools.values()) {
        if ('objects' in pool) void removeObjectFiles(pool.objects, { files: this.objects });
      }
    else if (request.kind === 'delete' || request.kind === 'compact')
      void removeObjectFiles((outcome as RewriteOutcome).adds, { files: this.objects });
  }

  private *tasks(): Generator<RunningTask> {
    for (const thread of this.threads_) yield* thread.tasks.values();
  }

  /**
   * Starts a part in the thread that has the fewest tasks besides the one it helps; a query is helped by idle threads
   * alone. It ends when the port closes, also by the death of either thread.
   */
  private helper(of: PartOf, helped: Thread, load: RunningTask): MessagePort | undefined {
    const [least] = [...this.threads_]
      .filter((thread) => thread !== helped)
      .sort((a, b) => a.tasks.size - b.tasks.size);
    if (!least || this.closing || (of !== 'load' && least.tasks.size > 0)) return undefined;
    if (of === 'output' && process.memoryUsage.rss() + helpBytes > this.options.residentBytesMax) return undefined;
    const { port1, port2 } = new MessageChannel();
    const task = new RunningTask(
      this.nextTask++,
      least,
      new LakeSession(this.lake, this.options.from),
      {
        done: () => undefined,
        // A thread that dies before it has its end of the port does not close it.
        failed: (error) => {
          if (of === 'load' && (error.code === 'worker-died' || error.code === 'worker-replaced')) load.cancel(error);
        },
      },
      { windowBytesMax: this.options.windowBytesMax },
    );
    this.partsStarted++;
    least.start({ kind: 'part', of, port: port1 }, task);
    return port2;
  }

  private addThread(index: number): void {
    if (this.closing) return;
    this.threads_.add(
      new Thread({
        settings: { ...this.settings, idsAbove: newId(), thread: { index, of: this.threadCount } },
        cancelMsMax: this.options.cancelMsMax,
        ended: (thread) => {
          this.threads_.delete(thread);
          if (this.closing) return;
          this.replaced++;
          if (performance.now() - thread.startedAt > steadyMs) this.addThread(index);
          else
            setTimeout(() => {
              this.addThread(index);
            }, steadyMs).unref();
        },
      }),
    );
  }
}

/** Nobody else says how it ended, or asks for it. */
const leave = (watch: QueryWatch, failure?: unknown): void => {
  watch.answered(failure);
  watch.expire();
};

const isLoad = ({ kind }: TaskRequest): boolean => kind === 'load' || kind === 'ingest';
const placeOf = (request: TaskRequest): PlaceKind => (isLoad(request) ? 'load' : 'query');
const cancelledLoad = (signal: AbortSignal | undefined): LakeError =>
  signal?.reason instanceof LakeError
    ? signal.reason
    : new LakeError('load-cancelled', { reason: 'the client went away' });

/** Without the entries that are undefined, which would hide defaults. */
const defined = <T extends object>(options: T): T =>
  Object.fromEntries(Object.entries(options).filter(([, value]) => value !== undefined)) as T;

/**
 * The objects of these ids; turns of the event loop in between. @throws object-not-found for the first that is not
 * there
 */
const findObjects = async (snapshot: Snapshot, ids: readonly string[]): Promise<readonly ObjectMeta[]> => {
  const wanted = new Set(ids);
  const found: ObjectMeta[] = [];
  for (let cursor: number | undefined; ; ) {
    const page = snapshot.page({ limit: pageObjects, ...(cursor !== undefined && { cursor }), inline: true });
    for (const object of page.objects) if (wanted.delete(object.id)) found.push(object);
    cursor = page.next;
    if (cursor === undefined || wanted.size === 0) break;
    await new Promise((resolve) => {
      setImmediate(resolve);
    });
  }
  for (const id of wanted) throw new LakeError('object-not-found', { id });
  return found;
};
