/**
 * How long loops learn that what they work for was given up, and that others wait for a turn. While a loop runs no message reaches its thread; a flag in shared memory does.
 *
 * Invariants:
 * - Whoever gives a task its turn says so by `working`: only between two awaits is it known whose work is done.
 * - `checkStop` throws for the task whose turn it is, never for another one; without a task it does nothing.
 */
import { LakeError } from '../errors.ts';

/** Whether the task was given up. */
type StopFlag = () => boolean;

const flags = new WeakMap<AbortSignal, StopFlag>();
let current: StopFlag | undefined;

/** Names the flag of a task: it may be set earlier than its signal can fire. */
export const linkStop = (signal: AbortSignal, flag: StopFlag): void => { flags.set(signal, flag); };

/** Does a piece of the task's work, which awaits nothing. */
export const working = <T>(signal: AbortSignal, work: () => T): T => {
  const before = current;
  current = flags.get(signal);
  try {
    return work();
  } finally {
    current = before;
  }
};

/** A way to go on, after an await, with the work of the task whose turn it is now. It throws when that was given up. */
export const sameTask = (): (<T>(work: () => T) => T) => {
  const own = current;
  return (work) => {
    const before = current;
    current = own;
    try {
      checkStop();
      return work();
    } finally {
      current = before;
    }
  };
};

/** To be asked in loops over one value or batch that may be long, every some thousand steps. @throws LakeError query-cancelled */
export const checkStop = (): void => { if (current?.()) throw new LakeError('query-cancelled'); };

/** Steps, and comparisons, between two looks at the flag, less one. */
const stepsMask = 4095, comparisonsMask = 511;
/** `checkStop` in step `i` of a loop, every some thousand steps. */
export const checkStopAt = (i: number): void => { if ((i & stepsMask) === stepsMask) checkStop(); };
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
export const turnBegan = (): void => { turn = performance.now(); };
/** Whether others should have a turn. */
export const isTurnLong = (): boolean => performance.now() - turn > turnMsMax;
/** Lets others have their turn. */
export const nextTurn = async (): Promise<void> => {
  await new Promise((resolve) => { setImmediate(resolve); });
  turn = performance.now();
};
