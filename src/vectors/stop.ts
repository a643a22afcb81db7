/**
 * How long loops learn that what they work for was given up, that it needs too much memory, and that others wait for a
 * turn. While a loop runs no message reaches its thread; a flag in shared memory does.
 *
 * Invariants:
 * - Whoever gives a task its turn says so by `working`: only between two awaits is it known whose work is done.
 * - `checkStop` and `charge` throw for the task whose turn it is, never for another one; without a task they do
 *   nothing.
 */
import { LakeError } from '../errors.ts';
import type { MemoryAccount } from './thread-memory.ts';

/** A task as its loops see it. */
interface TaskWork {
  /** Whether the task was given up: known earlier than its signal can fire. */
  readonly isStopped?: () => boolean;
  /** Absent: its memory is counted elsewhere. */
  readonly account?: MemoryAccount;
  /** How often it has given up its turn. */
  turns?: number;
}

/** A task, and how long it has worked: without what it waited for. */
interface Linked extends TaskWork {
  workedMs: number;
}

const tasks = new WeakMap<AbortSignal, Linked>();
let current: Linked | undefined;
let currentSince = 0;
const turnTo = (task: Linked | undefined): void => {
  if (task === current) return;
  const now = performance.now();
  if (current) current.workedMs += now - currentSince;
  current = task;
  currentSince = now;
};

/** Tells what there is to know of the task that this signal ends. */
export const linkTask = (signal: AbortSignal, work: TaskWork): void => {
  tasks.set(signal, { ...work, workedMs: 0 });
};
/** Another signal for a part of the same task's work. */
export const linkPart = (signal: AbortSignal, of: AbortSignal): void => {
  const work = tasks.get(of);
  if (work) tasks.set(signal, work);
};

/** Does a piece of the task's work, which awaits nothing. */
export const working = <T>(signal: AbortSignal, work: () => T): T => {
  const before = current;
  turnTo(tasks.get(signal));
  try {
    current?.account?.step(loopSteps);
    return work();
  } finally {
    turnTo(before);
  }
};

/** How long the task whose turn it is has worked, in all of its turns; undefined without a task. */
export const workedMs = (): number | undefined => current && current.workedMs + performance.now() - currentSince;

/** A way to go on, after an await, with the work of the task whose turn it is now. It throws when that was given up. */
export const sameTask = (): (<T>(work: () => T) => T) => {
  const own = current;
  return (work) => {
    const before = current;
    turnTo(own);
    try {
      checkStop();
      return work();
    } finally {
      turnTo(before);
    }
  };
};

/**
 * Charges bytes that are about to be allocated for the task whose turn it is; `what` makes them, as the error says it.
 * @throws LakeError query-memory, load-memory
 */
export const charge = (bytes: number, what: string): void => {
  current?.account?.charge(bytes, what);
};

/**
 * Charges bytes that are held on to from now on, in whatever pieces they were made. @throws LakeError query-memory,
 * load-memory
 */
export const chargeHeld = (bytes: number): void => {
  current?.account?.hold(bytes);
};

/** Between two pieces of a task's work, now and then: what is garbage goes if the thread needs its room. */
export const pauseTask = (signal: AbortSignal): void => {
  tasks.get(signal)?.account?.pause();
};

/**
 * Whether the task whose turn it is shares its thread's memory with others at the moment, or has to leave some to the
 * process.
 */
export const isMemoryShared = (): boolean => current?.account?.isShared === true;

/** Whether the thread of the task whose turn it is has little memory left, whoever holds it. */
export const isMemoryShort = (): boolean => current?.account?.isShort === true;

/** Between two turns of a task: what to wait for if others of its thread need the memory first. */
export const memoryTurn = (signal: AbortSignal): Promise<void> | undefined => tasks.get(signal)?.account?.turn(signal);

/** The longest string that there can be. */
const stringLengthMax = 2 ** 29 - 24;
/** The same for a string. @throws LakeError query-memory, query-string */
export const chargeText = (length: number, what: string): void => {
  charge(length, what);
  if (length > stringLengthMax) throw new LakeError('query-string', { operator: what, length, limit: stringLengthMax });
};

/**
 * To be asked in loops over one value or batch that may be long, once a row or every some thousand steps. @throws
 * LakeError query-cancelled, query-memory
 */
export const checkStop = (): void => {
  if (!current) return;
  if (current.isStopped?.()) throw new LakeError('query-cancelled');
  current.account?.step(1);
};

/** Steps, and comparisons, between two looks at the flag, less one. */
const stepsMask = 4095;
const comparisonsMask = 511;
/** What some thousand steps of a loop count for, beside one row. */
const loopSteps = 64;
/** `checkStop` in step `i` of a loop, every some thousand steps. */
export const checkStopAt = (i: number): void => {
  if ((i & stepsMask) !== stepsMask) return;
  checkStop();
  current?.account?.step(loopSteps);
};
/** A comparison of a sort that looks at the flag now and then. */
export const checked = <T>(compare: (a: T, b: T) => number): ((a: T, b: T) => number) => {
  let n = 0;
  return (a, b) => {
    // Values that are compared may be long.
    if ((n++ & comparisonsMask) === comparisonsMask) checkStop();
    return compare(a, b);
  };
};

/** The longest time between two turns of the event loop, so that messages get through. */
const turnMsMax = 10;
let turn = performance.now();
/** Work begins, for which others may wait so long. */
export const turnBegan = (): void => {
  turn = performance.now();
};
/** Whether others should have a turn. */
export const isTurnLong = (): boolean => performance.now() - turn > turnMsMax;
/**
 * Lets others have their turn; of tasks that wait for theirs one goes on in each turn of the event loop, so that what
 * was read meanwhile, and messages, need not wait for all of them. `signal`: of the task, where it is not at work.
 */
export const nextTurn = async (signal?: AbortSignal): Promise<void> => {
  const task = signal ? tasks.get(signal) : current;
  if (task) task.turns = (task.turns ?? 0) + 1;
  await turns.next(task?.turns ?? Infinity);
  turn = performance.now();
};
/** A task that has given up fewer turns is short as far as is known. */
const shortTurns = 16;
interface Waiting {
  readonly turnsTaken: number;
  readonly goOn: () => void;
}
/**
 * Those who wait for their turn. Short tasks go before long ones, the shortest first, but for every second turn: beside
 * 8 long queries in its thread a look-up takes a fifth of the time that it takes where all have their turns in a row.
 */
class Turns {
  private readonly short: Waiting[] = [];
  private readonly long: Waiting[] = [];
  private wasShort = false;

  next(turnsTaken: number): Promise<void> {
    return new Promise((goOn) => {
      if (this.short.length + this.long.length === 0) this.later();
      (turnsTaken < shortTurns ? this.short : this.long).push({ turnsTaken, goOn });
    });
  }
  private later(): void {
    setImmediate(() => {
      const { short, long } = this;
      this.wasShort = long.length === 0 || (short.length > 0 && !this.wasShort);
      const next = this.wasShort ? short.splice(shortest(short), 1)[0] : long.shift()!;
      if (short.length + long.length > 0) this.later();
      next.goOn();
    });
  }
}
/** The place of the first of those that have taken the fewest turns. */
const shortest = (short: readonly Waiting[]): number =>
  short.reduce((place, { turnsTaken }, i) => (turnsTaken < short[place].turnsTaken ? i : place), 0);
const turns = new Turns();
