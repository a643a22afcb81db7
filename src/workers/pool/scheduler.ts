/**
 * Which thread a task runs in: places, threads that help, threads that died and their successors.
 *
 * Invariants:
 * - A task runs in the thread that had the fewest; it ends once, with its outcome, its error, or that of its thread's
 *   death.
 * - The snapshots that a task reads stay pinned until its worker has stopped working on it.
 */
import { MessageChannel, type MessagePort } from 'node:worker_threads';
import { LakeError } from '../../errors.ts';
import { newId } from '../../lake/ksuid.ts';
import type { Snapshot } from '../../lake/lake.types.ts';
import { CacheCounters } from '../cache-counts.ts';
import { LakeSession } from '../lake-session.ts';
import type { Prefetched, PartOf, RewriteOutcome, TaskOutcome, TaskRequest } from '../messages.ts';
import { type PlaceKind, type TaskClient, makeRoom } from '../places.ts';
import type { LakeServices, ThreadFigures } from '../pool.types.ts';
import { RunningTask, Thread, type TaskEvents } from '../thread.ts';
import type { WorkerSettings } from '../worker-settings.ts';

/** What a thread takes that has done nothing like it before. */
const helpBytes = 96 << 20;
/** A thread that dies younger than this is not replaced at once, lest a broken one spins. */
const steadyMs = 1000;

/** Limits of the tasks and their threads. Sizes in bytes. */
export interface SchedulerOptions {
  readonly threads: number;
  /** Tasks at a time; what comes beyond them is refused. */
  readonly tasksMax: number;
  readonly windowBytesMax: number;
  readonly loadWindowBytesMax: number;
  readonly cancelMsMax: number;
  readonly residentBytesMax: number;
  /** What each thread is started with. */
  readonly settings: Omit<WorkerSettings, 'thread' | 'idsAbove' | 'stops' | 'counts' | 'cacheCounts'>;
}

/** What is known of a task besides what it is to do. */
interface Asked {
  readonly client?: TaskClient | undefined;
  readonly signal?: AbortSignal;
  /** Why it is cancelled when `signal` says so. */
  readonly cancelled?: () => LakeError;
  readonly started?: (task: RunningTask) => void;
  readonly step?: TaskEvents['step'];
}

/** The threads, and the tasks in them. */
export class Scheduler {
  private readonly options: SchedulerOptions;
  private readonly lake: LakeServices;
  /** Ends what a task wrote when nobody waited for it any more. */
  private readonly unheard: (request: TaskRequest, outcome: TaskOutcome) => void;
  private readonly threads = new Set<Thread>();
  private readonly cacheCounters: CacheCounters;
  private nextTask = 1;
  /** Was given the last task. */
  private latest: Thread | undefined;
  private partsStarted = 0;
  private replaced = 0;
  private closing = false;

  constructor(
    options: SchedulerOptions,
    lake: LakeServices,
    unheard: (request: TaskRequest, outcome: TaskOutcome) => void,
  ) {
    this.options = options;
    this.lake = lake;
    this.unheard = unheard;
    this.cacheCounters = new CacheCounters(options.threads);
    for (let i = 0; i < options.threads; i++) this.addThread(i);
  }

  /** @throws workers-closed once it closes */
  checkOpen(): void {
    if (this.closing) throw new LakeError('workers-closed');
  }
  /** What a task knows of the lake, as the caller may see it. */
  session(lake = this.lake, readOnly = false): LakeSession {
    return new LakeSession(lake, this.options.settings.from, readOnly);
  }

  /** Runs a task to its outcome. @throws workers-closed, too-many-tasks and what the task throws */
  outcome<T extends TaskOutcome>(
    request: TaskRequest,
    session: LakeSession,
    { client, signal, cancelled, started, step }: Asked = {},
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

  /** What a rewrite of a snapshot's objects comes to; `warn` hears what its text warns of. */
  rewrite(
    request: TaskRequest,
    snapshot: Snapshot,
    {
      lake,
      warn,
    }: { readonly lake?: LakeServices; readonly warn?: ((texts: readonly string[]) => void) | undefined } = {},
  ): Promise<RewriteOutcome> {
    const session = this.session(lake);
    session.lend(snapshot);
    return this.outcome<RewriteOutcome>(request, session, {
      step: (_step, { warnings }) => {
        if (warnings) warn?.(warnings);
      },
    });
  }

  /** Begins a task in a thread; `events` tell how it goes. */
  start(
    request: TaskRequest,
    session: LakeSession,
    events: TaskEvents,
    {
      client,
      prefetched,
    }: { readonly client?: TaskClient | undefined; readonly prefetched?: readonly Prefetched[] } = {},
  ): RunningTask {
    this.checkOpen();
    makeRoom(this.tasks(), placeOf(request), this.options.tasksMax);
    this.cacheCounters.tellBesides(this.lake.cachedBytes?.() ?? 0);
    const thread = (this.latest = this.threadFor());
    const windowBytesMax = isLoad(request) ? this.options.loadWindowBytesMax : this.options.windowBytesMax;
    const task: RunningTask = new RunningTask(this.nextTask++, thread, session, events, {
      helper: (of) => this.helper(of, thread, task),
      windowBytesMax,
      place: placeOf(request),
      client,
      unheard: (outcome) => {
        this.unheard(request, outcome);
      },
    });
    thread.start(request, task, prefetched);
    return task;
  }

  /**
   * The thread that has the fewest tasks; of several the one that helps others, which it leaves alone then, else the one
   * that was given the last task: what it holds and what was freed in it is used again, and the others need none of it.
   */
  private threadFor(): Thread {
    const rank = (thread: Thread): readonly number[] => [
      thread.tasks.size,
      [...thread.tasks.values()].filter(({ place }) => place !== undefined).length,
      thread === this.latest ? 0 : 1,
    ];
    let least: Thread | undefined;
    for (const thread of this.threads) if (!least || isBefore(rank(thread), rank(least))) least = thread;
    if (!least) throw new LakeError('worker-died', { reason: 'it could not be started' });
    return least;
  }

  private *tasks(): Generator<RunningTask> {
    for (const thread of this.threads) yield* thread.tasks.values();
  }

  /**
   * Starts a part in the thread that has the fewest tasks besides the one it helps; a query is helped by idle threads
   * alone. It ends when the port closes, also by the death of either thread.
   */
  private helper(of: PartOf, helped: Thread, load: RunningTask): MessagePort | undefined {
    const [least] = [...this.threads].filter((thread) => thread !== helped).sort((a, b) => a.tasks.size - b.tasks.size);
    if (!least || this.closing || (of !== 'load' && least.tasks.size > 0)) return undefined;
    if (of !== 'load' && process.memoryUsage.rss() + helpBytes > this.options.residentBytesMax) return undefined;
    const { port1, port2 } = new MessageChannel();
    const task = new RunningTask(
      this.nextTask++,
      least,
      this.session(),
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

  /** Objects that have gone are forgotten in each thread. */
  forget(id: string): void {
    for (const thread of this.threads) thread.forget(id);
  }
  forgetLate(): void {
    for (const thread of this.threads) thread.forgetLate();
  }
  figures(): readonly ThreadFigures[] {
    return [...this.threads].map((thread) => ({
      thread: thread.index,
      busyMs: thread.busyMs(),
      tasks: thread.tasks.size,
      ...thread.totals(),
    }));
  }
  status(): {
    readonly threads: number;
    readonly replaced: number;
    readonly parts: number;
    readonly columns: ReturnType<CacheCounters['totals']>;
  } {
    return {
      threads: this.threads.size,
      replaced: this.replaced,
      parts: this.partsStarted,
      columns: this.cacheCounters.totals(),
    };
  }

  /** Ends all tasks, and then the threads. */
  async close(): Promise<void> {
    this.closing = true;
    const threads = [...this.threads];
    for (const thread of threads)
      for (const task of [...thread.tasks.values()]) task.cancel(new LakeError('workers-closed'));
    await Promise.all(threads.map((thread) => thread.close()));
    for (const thread of threads) for (const task of thread.tasks.values()) task.session.release();
    this.threads.clear();
  }

  private addThread(index: number): void {
    if (this.closing) return;
    this.threads.add(
      new Thread({
        settings: {
          ...this.options.settings,
          cacheCounts: this.cacheCounters.memory,
          idsAbove: newId(),
          thread: { index, of: this.options.threads },
        },
        cancelMsMax: this.options.cancelMsMax,
        ended: (thread) => {
          this.threads.delete(thread);
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

const isLoad = ({ kind }: TaskRequest): boolean => kind === 'load' || kind === 'ingest' || kind === 'preview';
const placeOf = (request: TaskRequest): PlaceKind => (isLoad(request) ? 'load' : 'query');

/** By the first number in which they differ. */
const isBefore = (a: readonly number[], b: readonly number[]): boolean => {
  const at = a.findIndex((x, k) => x !== b[k]);
  return at >= 0 && a[at]! < b[at]!;
};
