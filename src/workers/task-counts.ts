/**
 * How far the tasks of a thread have come: numbers in memory that the thread writes and the main thread reads, so that
 * nobody has to ask and nothing is sent. One goes the other way: whether the thread may warm up.
 *
 * Invariants:
 * - A task's numbers stand at the place of its number; the first of them is the task's number, which tells whose they
 *   are.
 * - A task whose place is in use counts in memory of its own: who looks sees nothing of it then.
 */
import type { Progress } from '../exec/source.ts';

const places = 1024;
const perPlace = 11;
/** Behind the places: what the thread as a whole tells of itself. */
const threadAt = places * perPlace;
const perThread = 8;
/** Bytes of the memory that a thread and the main thread share for it. */
export const countsBytes = (threadAt + perThread) * Float64Array.BYTES_PER_ELEMENT;
const placeOf = (task: number): number => (task % places) * perPlace;

/**
 * From this thread's `performance.now()` to the clock that all threads have in common. Other threads may have their
 * turn between two looks at clocks, which makes it less: the most of some tries is right.
 */
const skew = Math.max(...Array.from({ length: 8 }, () => Number(process.hrtime.bigint()) / 1e6 - performance.now()));
/** A time of the common clock as a mark of this thread's `performance.now()`; 0 stays 0. */
export const markOf = (time: number): number => (time === 0 ? 0 : time - skew);

/** What a task has read and sent so far; of a load, `recordsRead` are the records of its body. */
export interface TaskCounts extends Readonly<Progress> {
  readonly recordsSent: number;
  /**
   * Objects that were synced; when the first began and the last was done. This and the next are times of the common
   * clock (`markOf`).
   */
  readonly syncs: number;
  readonly syncAt: number;
  readonly syncedAt: number;
  /** When it took its first step and its second one; 0: not yet. */
  readonly firstStepAt: number;
  readonly secondStepAt: number;
}
/** The counts of a task that has not begun. */
export const noCounts: TaskCounts = {
  bytesRead: 0,
  bytesMatched: 0,
  recordsRead: 0,
  recordsMatched: 0,
  recordsSent: 0,
  syncs: 0,
  syncAt: 0,
  syncedAt: 0,
  firstStepAt: 0,
  secondStepAt: 0,
};

/** The counts of a task in its thread. */
export class TaskCounter implements Progress {
  private readonly numbers: Float64Array;
  private readonly at: number;

  /** `shared`: the thread's numbers; without them the task counts for itself. */
  constructor(task: number, shared?: Float64Array) {
    this.numbers = shared ?? new Float64Array(perPlace);
    this.at = shared ? placeOf(task) : 0;
    this.numbers.fill(0, this.at, this.at + perPlace);
    this.numbers[this.at] = task;
  }

  get bytesRead(): number {
    return this.numbers[this.at + 1]!;
  }
  set bytesRead(n: number) {
    this.numbers[this.at + 1] = n;
  }
  get bytesMatched(): number {
    return this.numbers[this.at + 2]!;
  }
  set bytesMatched(n: number) {
    this.numbers[this.at + 2] = n;
  }
  get recordsRead(): number {
    return this.numbers[this.at + 3]!;
  }
  set recordsRead(n: number) {
    this.numbers[this.at + 3] = n;
  }
  get recordsMatched(): number {
    return this.numbers[this.at + 4]!;
  }
  set recordsMatched(n: number) {
    this.numbers[this.at + 4] = n;
  }
  get recordsSent(): number {
    return this.numbers[this.at + 5]!;
  }
  set recordsSent(n: number) {
    this.numbers[this.at + 5] = n;
  }
  /** An object was synced; marks of `performance.now()`. */
  synced(beganAt: number, endedAt: number): void {
    const { numbers, at } = this;
    if (numbers[at + 6] === 0 || beganAt + skew < numbers[at + 7]!) numbers[at + 7] = beganAt + skew;
    numbers[at + 8] = Math.max(numbers[at + 8]!, endedAt + skew);
    numbers[at + 6]!++;
  }
  stepped(): void {
    this.numbers[this.at + (this.numbers[this.at + 9] === 0 ? 9 : 10)] = performance.now() + skew;
  }
}

/** The task that counts at a task's place, or did last. */
export const taskAt = (shared: Float64Array, task: number): number => shared[placeOf(task)]!;

/** What a task has counted, seen from another thread; undefined if another task counts at its place. */
export const countsOf = (shared: Float64Array, task: number): TaskCounts | undefined => {
  const at = placeOf(task);
  if (shared[at] !== task) return undefined;
  return {
    bytesRead: shared[at + 1]!,
    bytesMatched: shared[at + 2]!,
    recordsRead: shared[at + 3]!,
    recordsMatched: shared[at + 4]!,
    recordsSent: shared[at + 5]!,
    syncs: shared[at + 6]!,
    syncAt: shared[at + 7]!,
    syncedAt: shared[at + 8]!,
    firstStepAt: shared[at + 9]!,
    secondStepAt: shared[at + 10]!,
  };
};

/** Of a thread since it started; `lateMs`: the most that its event loop was late since somebody last looked. */
export interface ThreadTotals {
  readonly syncs: number;
  readonly syncMs: number;
  readonly scratchBytes: number;
  readonly lateMs: number;
  /** What its heap holds at the moment, and its buffers outside of it; what was not collected yet is part of both. */
  readonly heapBytes: number;
  readonly bufferBytes: number;
}

/** Called in the thread itself. `lateMs` counts only if it is more than what is noted already. */
export const tellThread = (shared: Float64Array, totals: ThreadTotals): void => {
  const { syncs, syncMs, scratchBytes, lateMs, heapBytes, bufferBytes } = totals;
  shared[threadAt] = syncs;
  shared[threadAt + 1] = syncMs;
  shared[threadAt + 2] = scratchBytes;
  shared[threadAt + 4] = heapBytes;
  shared[threadAt + 5] = bufferBytes;
  if (lateMs > shared[threadAt + 3]!) shared[threadAt + 3] = lateMs;
};
/** What a thread tells of itself. */
export const threadTotals = (shared: Float64Array): ThreadTotals => ({
  syncs: shared[threadAt]!,
  syncMs: shared[threadAt + 1]!,
  scratchBytes: shared[threadAt + 2]!,
  lateMs: shared[threadAt + 3]!,
  heapBytes: shared[threadAt + 4]!,
  bufferBytes: shared[threadAt + 5]!,
});
/** The most that the thread was late is counted again from here on. */
export const forgetLate = (shared: Float64Array): void => {
  shared[threadAt + 3] = 0;
};
