/**
 * One worker thread on the main side: starts tasks in it, passes bytes both ways under credit, answers its calls. When
 * it dies its tasks fail, and it is replaced.
 */
import { extname } from 'node:path';
import { type MessagePort, Worker } from 'node:worker_threads';
import { collectAll, collectPassed } from './collector.ts';
import { LakeError, messageOf } from '../errors.ts';
import { joinBytes } from '../vectors/texts/join-bytes.ts';
import type { LakeSession } from './lake-session.ts';
import {
  type Prefetched,
  type FromWorker,
  type PartOf,
  type Step,
  type StepTold,
  type TaskOutcome,
  type TaskRequest,
  type ToWorker,
  fromWire,
  stopBytes,
  stopPlace,
  toWire,
} from './messages.ts';
import { endOverdue } from './overdue.ts';
import type { PlaceKind, TaskClient } from './places.ts';
import type { QueryStats } from './pool.types.ts';
import {
  type TaskCounts,
  type ThreadTotals,
  countsBytes,
  countsOf,
  forgetLate,
  noCounts,
  threadTotals,
} from './task-counts.ts';
import type { WorkerSettings } from './worker-settings.ts';

/** What happens to a task, for its host. Exactly one of `done` and `failed` comes, as the last. */
export interface TaskEvents {
  readonly step?: (step: Step, told: StepTold) => void;
  readonly chunk?: (bytes: Uint8Array, stats: QueryStats) => void;
  readonly done: (outcome: TaskOutcome) => void;
  readonly failed: (error: LakeError, told: boolean) => void;
}

/** Body bytes that go in one message. */
const bodyMessageBytes = 256 << 10;
/** Less than this is sooner copied than transferred. */
const transferBytesMin = 16 << 10;
/** A body of which so much has come is a large load's. */
const largeBodyBytes = 64 << 20;
let hasCollected = false;

/**
 * `windowBytesMax`: bytes that may be on their way. `unheard`: takes the outcome of a task that was done when it was
 * cancelled.
 */
interface TaskTerms {
  /** Starts a part of the task in another thread. */
  readonly helper?: (of: PartOf) => MessagePort | undefined;
  readonly windowBytesMax: number;
  readonly place?: PlaceKind;
  readonly client?: TaskClient | undefined;
  readonly unheard?: (outcome: TaskOutcome) => void;
}

/** A task that runs in a thread. */
export class RunningTask {
  readonly id: number;
  readonly session: LakeSession;
  private readonly thread: Thread;
  private readonly windowBytesMax: number;
  private events: TaskEvents | undefined;
  /** A mark of `performance.now()`, before the thread has it. */
  readonly beganAt = performance.now();
  /** Bytes of the body so far. */
  bodyBytes = 0;
  /** Absent for parts of other tasks. */
  readonly place: PlaceKind | undefined;
  readonly client: TaskClient | undefined;
  isGivenUp = false;
  private readonly helper: TaskTerms['helper'];
  private readonly unheard: TaskTerms['unheard'];
  private sent = 0;
  private waiting: (() => void) | undefined;

  constructor(
    id: number,
    thread: Thread,
    session: LakeSession,
    events: TaskEvents,
    { windowBytesMax, place, client, helper, unheard }: TaskTerms,
  ) {
    this.id = id;
    this.thread = thread;
    this.session = session;
    this.events = events;
    this.windowBytesMax = windowBytesMax;
    this.place = place;
    this.client = client;
    this.helper = helper;
    this.unheard = unheard;
  }

  /** What it has read and sent so far. */
  counts(): TaskCounts {
    return this.thread.countsOf(this.id) ?? noCounts;
  }
  rowsTotal(): Promise<number | undefined> {
    return this.session.rowsTotal();
  }

  /** Sends a body to the worker, no faster than it reads; stops when the task has ended. */
  async pump(body: AsyncIterable<Uint8Array>): Promise<void> {
    let held: Uint8Array[] = [];
    let heldBytes = 0;
    try {
      for await (const chunk of body) {
        if (!this.events) return;
        held.push(chunk);
        heldBytes += chunk.length;
        this.bodyBytes += chunk.length;
        // What the start left in this thread's heap would stay until requests have made as much again; while much comes
        // in nobody waits for a turn.
        if (!hasCollected && this.bodyBytes >= largeBodyBytes) {
          hasCollected = true;
          collectAll();
        }
        if (heldBytes < bodyMessageBytes) continue;
        await this.sendBody(held, heldBytes);
        collectPassed(heldBytes);
        held = [];
        heldBytes = 0;
      }
      if (heldBytes > 0) await this.sendBody(held, heldBytes);
      this.thread.post({ type: 'bodyEnd', task: this.id });
    } catch (error) {
      const known =
        error instanceof LakeError
          ? error
          : new LakeError('load-cancelled', { reason: messageOf(error) }, { cause: error });
      this.thread.post({ type: 'bodyEnd', task: this.id, error: toWire(known) });
    }
  }
  private async sendBody(chunks: readonly Uint8Array[], length: number): Promise<void> {
    while (this.events && this.sent > 0 && this.sent + length > this.windowBytesMax)
      await new Promise<void>((resolve) => {
        this.waiting = resolve;
      });
    const bytes = joinBytes(chunks, new Uint8Array(length));
    this.sent += length;
    this.thread.post(
      { type: 'body', task: this.id, chunk: bytes },
      length >= transferBytesMin ? bytes.buffer : undefined,
    );
  }

  /** Gives the worker credit for more chunks, and back the buffer of one that was sent. */
  credit(bytes: number, buffer?: SharedArrayBuffer): void {
    this.thread.post({ type: 'credit', task: this.id, bytes, ...(buffer && { buffers: [buffer] }) });
  }

  /** Ends the task for its host at once; the worker hears of it and has some time to stop. */
  cancel(error: LakeError): void {
    if (!this.events) return;
    this.thread.stop(this.id);
    this.thread.post({ type: 'cancel', task: this.id });
    this.thread.watch(this.id);
    this.settle((events) => {
      events.failed(error, false);
    });
  }

  /** Another needs its place. */
  giveUp(error: LakeError): void {
    this.isGivenUp = true;
    this.cancel(error);
  }

  take(message: FromWorker): void {
    switch (message.type) {
      case 'credit':
        this.sent -= message.bytes;
        this.wake();
        return;
      case 'chunk':
        this.events?.chunk?.(message.bytes, message.stats);
        return;
      case 'step':
        this.events?.step?.(message.step, message);
        return;
      case 'call':
        void this.answer(message);
        return;
      case 'done':
        if (this.events)
          this.settle((events) => {
            events.done(message.outcome);
          });
        else this.unheard?.(message.outcome);
        return;
      case 'failed':
        this.settle((events) => {
          events.failed(fromWire(message.error), message.told);
        });
        return;
    }
  }

  /** The thread is gone. */
  died(error: LakeError): void {
    this.settle((events) => {
      events.failed(error, false);
    });
  }

  private settle(tell: (events: TaskEvents) => void): void {
    const { events } = this;
    this.events = undefined;
    this.wake();
    if (events) tell(events);
  }
  private async answer({ call, request }: Extract<FromWorker, { type: 'call' }>): Promise<void> {
    let reply: ToWorker;
    if (request.kind === 'helper') {
      const port = this.events && this.helper?.(request.of);
      this.thread.post({ type: 'answer', task: this.id, call, value: port }, port);
      return;
    }
    try {
      reply = { type: 'answer', task: this.id, call, value: await this.session.answer(request) };
    } catch (error) {
      reply = { type: 'answer', task: this.id, call, error: toWire(error) };
    }
    this.thread.post(reply);
  }
  private wake(): void {
    const { waiting } = this;
    this.waiting = undefined;
    waiting?.();
  }
}

/** `cancelMsMax`: a thread whose task goes on for longer after its cancel is ended (overdue.ts). */
interface ThreadOptions {
  readonly settings: Omit<WorkerSettings, 'stops' | 'counts'>;
  readonly cancelMsMax: number;
  /** The thread has ended, by itself or because it hung; its tasks have failed. */
  readonly ended: (thread: Thread) => void;
}

/** Compiled code runs as it is; sources and bundles need a loader in the worker too. */
const entries: Readonly<Record<string, string>> = {
  '.ts': './entry-from-source.mjs',
  '.js': './entry.js',
  '.cjs': './load.cjs',
};
const entry = new URL(entries[extname(import.meta.url)]!, import.meta.url);

/**
 * Of a thread's heap, for what is young: new columns live about as long, and what is held back for them is twice two
 * thirds of it. More gains nothing and stays resident.
 */
const youngMb = 24;

/** One worker thread, and the tasks that it is at. */
export class Thread {
  readonly tasks = new Map<number, RunningTask>();
  /** When it was started, to tell one that dies at once. */
  readonly startedAt = performance.now();
  private readonly worker: Worker;
  private readonly options: ThreadOptions;
  /** Seen by loops that no message reaches. */
  private readonly stops = new Int32Array(new SharedArrayBuffer(stopBytes));
  private readonly counts = new Float64Array(new SharedArrayBuffer(countsBytes));
  private isAlive = true;
  private waiting: ToWorker[] = [];
  private transfers: (ArrayBuffer | MessagePort)[] = [];

  constructor(options: ThreadOptions) {
    this.options = options;
    this.worker = new Worker(entry, {
      workerData: { ...options.settings, stops: this.stops.buffer, counts: this.counts.buffer },
      execArgv: [],
      resourceLimits: { maxYoungGenerationSizeMb: youngMb },
      name: 'lake-worker',
    });
    let reason = '';
    this.worker.on('message', (messages: readonly FromWorker[]) => {
      for (const message of messages) this.take(message);
    });
    this.worker.on('messageerror', (error) => {
      this.end(`a message could not be read: ${error.message}`);
    });
    this.worker.on('error', (error) => {
      reason = messageOf(error);
    });
    this.worker.on('exit', (code) => {
      this.end(reason || `exit status ${code}`);
    });
  }

  start(request: TaskRequest, task: RunningTask, prefetched?: readonly Prefetched[]): void {
    this.tasks.set(task.id, task);
    this.post(
      { type: 'start', task: task.id, request, ...(prefetched && prefetched.length > 0 && { prefetched }) },
      request.kind === 'part' ? request.port : undefined,
    );
  }

  /**
   * Sends a message. What a load begins with waits for its body, to the end of this turn of the event loop at most: a
   * small load is one message, not three.
   */
  post(message: ToWorker, transfer?: ArrayBuffer | MessagePort): void {
    if (!this.isAlive) return;
    const patient =
      message.type === 'body' ||
      message.type === 'credit' ||
      message.type === 'gone' ||
      (message.type === 'start' && message.request.kind === 'load');
    if (this.waiting.push(message) === 1 && patient)
      setImmediate(() => {
        this.flush();
      });
    if (transfer) this.transfers.push(transfer);
    if (!patient) this.flush();
  }
  private flush(): void {
    const { waiting, transfers } = this;
    if (waiting.length === 0 || !this.isAlive) return;
    this.waiting = [];
    this.transfers = [];
    this.worker.postMessage(waiting, transfers);
  }

  /** A data object was deleted. */
  forget(object: string): void {
    this.post({ type: 'gone', object });
  }

  /** Tells long loops of the task that it was given up. */
  stop(task: number): void {
    Atomics.store(this.stops, stopPlace(task), task);
  }

  get index(): number {
    return this.options.settings.thread.index;
  }
  totals(): ThreadTotals {
    return threadTotals(this.counts);
  }
  forgetLate(): void {
    forgetLate(this.counts);
  }
  /** Milliseconds in which it did something. */
  busyMs(): number {
    return this.worker.performance.eventLoopUtilization().active;
  }
  countsOf(task: number): TaskCounts | undefined {
    return countsOf(this.counts, task);
  }

  /** Replaces the thread if it still has the task when its time is over. */
  watch(task: number): void {
    endOverdue({
      ms: this.options.cancelMsMax,
      isThere: () => this.tasks.has(task),
      end: () => {
        this.end('it did not stop when it was told to', task);
      },
    });
  }

  /**
   * Ends the thread; its tasks fail with that reason, or, if it is for one of them, the others as what may be sent
   * again.
   */
  end(reason: string, forTask?: number): void {
    if (!this.isAlive) return;
    this.isAlive = false;
    void this.worker.terminate();
    for (const task of this.tasks.values()) {
      task.died(
        forTask === undefined || task.id === forTask
          ? new LakeError('worker-died', { reason })
          : new LakeError('worker-replaced'),
      );
      task.session.release();
    }
    this.tasks.clear();
    this.options.ended(this);
  }

  /** Ends the thread, waiting for it. */
  async close(): Promise<void> {
    this.isAlive = false;
    await this.worker.terminate();
  }

  private take(message: FromWorker): void {
    const task = this.tasks.get(message.task);
    if (!task) return;
    if (message.type === 'done' || message.type === 'failed') {
      this.tasks.delete(message.task);
      task.session.release();
    }
    task.take(message);
  }
}
