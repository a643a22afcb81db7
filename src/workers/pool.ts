/**
 * The worker pool: bodies become objects, query texts become bytes, objects are rewritten, all in worker threads. The main thread passes bytes on and keeps
 * the machines of loads and queries.
 *
 * Invariants:
 * - A task runs in the thread that had the fewest; it ends once, with its outcome, its error, or that of its thread's death.
 * - The snapshots that a task reads stay pinned until its worker has stopped working on it.
 * - The status of a query can be asked for from its start until `queryStatusMs` after its end.
 */
import { availableParallelism } from 'node:os';
import { join } from 'node:path';
import { type Actor, createActor, waitFor } from 'xstate';
import { loadMachine } from '../../machines/load.machine.ts';
import { queryMachine } from '../../machines/query.machine.ts';
import { LakeError } from '../errors.ts';
import type { ObjectMeta, PrepareRewrite, Rewrite, Snapshot } from '../lake/lake.types.ts';
import { type ObjectStore, openObjects } from '../lake/objects.ts';
import { LakeSession, layoutOf } from './lake-session.ts';
import type { RewriteOutcome, TaskOutcome, TaskRequest } from './messages.ts';
import type {
  CompileReply, LakeServices, LoadOutcome, LoadReply, LoadRequest, QueryReply, QueryRequest, QueryStats, WorkerPool, WorkerPoolOptions, WorkerPoolStatus,
} from './pool.types.ts';
import { QueryStream } from './query-reply.ts';
import { clearSpill } from './spill.ts';
import { RunningTask, Thread, type TaskEvents } from './thread.ts';
import type { WorkerSettings } from './worker-settings.ts';

const defaults = {
  loadMemoryBytesMax: 64 << 20, queryMemoryBytesMax: 128 << 20, queryStatusMs: 10_000, windowBytesMax: 1 << 20, tasksMax: 256, cancelMsMax: 10_000, expandedBytesMax: Infinity,
};
const batchRows = 4096;
/** A thread that dies younger than this is not replaced at once, lest a broken one spins. */
const steadyMs = 1000;
/** Objects of a page when a snapshot is searched. */
const pageObjects = 4096;

/** Starts the threads. */
export const startWorkerPool = (options: WorkerPoolOptions, lake: LakeServices): WorkerPool => new Workers(options, lake);

class Workers implements WorkerPool {
  private readonly options: WorkerPoolOptions & typeof defaults;
  private readonly lake: LakeServices;
  private readonly settings: WorkerSettings;
  private readonly objects: ObjectStore;
  private readonly threads = new Set<Thread>();
  private readonly queries = new Map<string, Actor<typeof queryMachine>>();
  private nextTask = 1;
  private running = { queries: 0, loads: 0 };
  private replaced = 0;
  private closing = false;

  constructor(options: WorkerPoolOptions, lake: LakeServices) {
    this.options = { ...defaults, ...defined(options) };
    this.lake = lake;
    const { lakeDirectory, loadMemoryBytesMax, queryMemoryBytesMax, windowBytesMax, expandedBytesMax } = this.options;
    const spillDirectory = this.options.spillDirectory ?? join(lakeDirectory, 'spill');
    clearSpill(spillDirectory);
    this.settings = { lakeDirectory, spillDirectory, loadMemoryBytesMax, queryMemoryBytesMax, windowBytesMax, batchRows, expandedBytesMax };
    this.objects = openObjects(lakeDirectory);
    for (let i = 0; i < (this.options.threads ?? availableParallelism()); i++) this.addThread();
  }

  async load({ pool, format, csvDelimiter, contentCodings, body, signal }: LoadRequest): Promise<LoadReply> {
    const actor = createActor(loadMachine, { input: { poolId: pool.id }, inspect: this.options.inspect });
    actor.start();
    this.running.loads++;
    let running: RunningTask | undefined;
    try {
      const request: TaskRequest = {
        kind: 'load', pool: layoutOf(pool), format: format ?? 'auto', ...(csvDelimiter !== undefined && { csvDelimiter }), ...(contentCodings?.length && { contentCodings }),
      };
      const outcome = await this.outcome<LoadOutcome>(request, new LakeSession(this.lake), {
        signal, cancelled: () => new LakeError('load-cancelled', { reason: 'the client went away' }),
        started: (task) => {
          running = task;
          void task.pump(body);
        },
        step: (step) => { actor.send(step === 'read' ? { type: 'all rows read', bodyBytes: running?.bodyBytes ?? 0 } : { type: 'rows sorted' }); },
      });
      const { objects, records, bytes } = outcome;
      actor.send({ type: 'objects written', objects: objects.map((o) => o.id), records, bytes });
      return { ...outcome, settled: (commit) => this.settled(actor, objects, commit) };
    } catch (error) {
      actor.send({ type: 'failed', text: textOf(error) });
      throw error;
    } finally {
      this.running.loads--;
    }
  }

  private async settled<T extends { readonly commit: string }>(actor: Actor<typeof loadMachine>, objects: readonly ObjectMeta[], commit: Promise<T>): Promise<T> {
    try {
      const result = await commit;
      actor.send({ type: 'committed', commit: result.commit });
      return result;
    } catch (error) {
      actor.send({ type: 'failed', text: textOf(error) });
      await Promise.allSettled(objects.filter((o) => !o.inline).map((o) => this.objects.delete(o.id)));
      throw error;
    }
  }

  async query({ id, text, format, control, channelIds, coding, head, readOnly, signal }: QueryRequest): Promise<QueryReply> {
    const actor = this.queryActor(id), stream = new QueryStream();
    const events: TaskEvents = {
      step: () => { actor.send({ type: 'compiled' }); },
      chunk: (bytes, stats) => {
        actor.send({ type: 'first bytes' });
        stream.push(bytes, stats);
      },
      done: (outcome) => {
        this.running.queries--;
        actor.send({ type: 'ended' });
        stream.stats = outcome as QueryStats;
        stream.close({});
      },
      failed: (error, told) => {
        this.running.queries--;
        // A text that does not compile was never a query that ran: it has no status.
        if (actor.getSnapshot().matches({ working: 'compiling' }) && this.queries.get(id) === actor) this.queries.delete(id);
        actor.send(error.code === 'query-cancelled' ? { type: 'cancel' } : { type: 'failed', text: error.message });
        stream.close(told ? {} : { error });
      },
    };
    try {
      const request: TaskRequest = {
        kind: 'query', text, format, control, readOnly: readOnly ?? false, ...(channelIds && { channelIds }), ...(coding && { coding }), ...(head && { head }),
      };
      const task = this.start(request, new LakeSession(this.lake), events);
      this.running.queries++;
      const cancel = (): void => { task.cancel(new LakeError('query-cancelled')); };
      if (signal?.aborted) cancel();
      signal?.addEventListener('abort', cancel, { once: true });
      await stream.ready;
      return stream.reply(id, task, () => {
        signal?.removeEventListener('abort', cancel);
        cancel();
      });
    } catch (error) {
      actor.send({ type: 'failed', text: textOf(error) });
      throw error;
    }
  }

  async queryStatus(id: string): Promise<string | undefined> {
    const actor = this.queries.get(id);
    if (!actor) return undefined;
    return (await waitFor(actor, (state) => state.hasTag('ended') || state.status !== 'active')).context.error;
  }

  prepareDelete(where: string): PrepareRewrite {
    return (snapshot) => this.rewrite({ kind: 'delete', where, pool: layoutOf(snapshot.pool) }, snapshot);
  }

  prepareCompact(ids: readonly string[]): PrepareRewrite {
    return async (snapshot) => {
      const objects = await findObjects(snapshot, ids);
      return this.rewrite({ kind: 'compact', objects, pool: layoutOf(snapshot.pool) }, snapshot);
    };
  }

  compile(text: string): Promise<CompileReply> { return this.outcome<CompileReply>({ kind: 'compile', text }, new LakeSession(this.lake), {}); }

  status(): WorkerPoolStatus {
    return { threads: this.threads.size, queriesRunning: this.running.queries, loadsRunning: this.running.loads, replaced: this.replaced };
  }

  async close(): Promise<void> {
    if (this.closing) return;
    this.closing = true;
    const threads = [...this.threads];
    for (const thread of threads) for (const task of [...thread.tasks.values()]) task.cancel(new LakeError('workers-closed'));
    await Promise.all(threads.map((thread) => thread.close()));
    for (const thread of threads) for (const task of thread.tasks.values()) task.session.release();
    this.threads.clear();
    for (const actor of this.queries.values()) actor.stop();
    this.queries.clear();
    this.objects.close();
  }

  private async rewrite(request: TaskRequest, snapshot: Snapshot): Promise<Rewrite> {
    const session = new LakeSession(this.lake);
    session.lend(snapshot);
    return this.outcome<RewriteOutcome>(request, session, {});
  }

  /** Runs a task to its outcome. */
  private outcome<T extends TaskOutcome>(request: TaskRequest, session: LakeSession, { signal, cancelled, started, step }: {
    readonly signal?: AbortSignal; readonly cancelled?: () => LakeError; readonly started?: (task: RunningTask) => void; readonly step?: TaskEvents['step'];
  }): Promise<T> {
    return new Promise((resolve, reject) => {
      let unlisten = (): void => undefined;
      const task = this.start(request, session, {
        step,
        done: (outcome) => {
          unlisten();
          resolve(outcome as T);
        },
        failed: (error) => {
          unlisten();
          reject(error);
        },
      });
      const cancel = (): void => { task.cancel(cancelled?.() ?? new LakeError('query-cancelled')); };
      signal?.addEventListener('abort', cancel, { once: true });
      unlisten = () => { signal?.removeEventListener('abort', cancel); };
      if (signal?.aborted) cancel();
      else started?.(task);
    });
  }

  private start(request: TaskRequest, session: LakeSession, events: TaskEvents): RunningTask {
    if (this.closing) throw new LakeError('workers-closed');
    let least: Thread | undefined, tasks = 0;
    for (const thread of this.threads) {
      tasks += thread.tasks.size;
      if (!least || thread.tasks.size < least.tasks.size) least = thread;
    }
    if (tasks >= this.options.tasksMax) throw new LakeError('worker-tasks-full', { tasksMax: this.options.tasksMax });
    if (!least) throw new LakeError('worker-died', { reason: 'it could not be started' });
    const task = new RunningTask(this.nextTask++, least, session, events, this.options.windowBytesMax);
    least.start(request, task);
    return task;
  }

  private addThread(): void {
    if (this.closing) return;
    this.threads.add(new Thread({
      settings: this.settings, cancelMsMax: this.options.cancelMsMax,
      ended: (thread) => {
        this.threads.delete(thread);
        if (this.closing) return;
        this.replaced++;
        if (performance.now() - thread.startedAt > steadyMs) this.addThread();
        else setTimeout(() => { this.addThread(); }, steadyMs).unref();
      },
    }));
  }

  private queryActor(id: string): Actor<typeof queryMachine> {
    const actor = createActor(queryMachine, { input: { id, keepMs: this.options.queryStatusMs }, inspect: this.options.inspect });
    this.queries.get(id)?.stop();
    this.queries.set(id, actor);
    actor.subscribe({ complete: () => { if (this.queries.get(id) === actor) this.queries.delete(id); } });
    actor.start();
    return actor;
  }
}

const textOf = (error: unknown): string => (error instanceof Error ? error.message : String(error));

/** Without the entries that are undefined, which would hide defaults. */
const defined = <T extends object>(options: T): T => Object.fromEntries(Object.entries(options).filter(([, value]) => value !== undefined)) as T;

/** The objects of these ids; turns of the event loop in between. @throws object-not-found for the first that is not there */
const findObjects = async (snapshot: Snapshot, ids: readonly string[]): Promise<readonly ObjectMeta[]> => {
  const wanted = new Set(ids), found: ObjectMeta[] = [];
  for (let cursor: number | undefined; ;) {
    const page = snapshot.page({ limit: pageObjects, ...(cursor !== undefined && { cursor }), inline: true });
    for (const object of page.objects) if (wanted.delete(object.id)) found.push(object);
    cursor = page.next;
    if (cursor === undefined || wanted.size === 0) break;
    await new Promise((resolve) => { setImmediate(resolve); });
  }
  for (const id of wanted) throw new LakeError('object-not-found', { id });
  return found;
};
