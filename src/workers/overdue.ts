/**
 * When a task that was cancelled is overdue. Time in which the process hardly had a processor is none that the task had
 * to stop in: on a machine that is too busy the thread would be ended, and all others' tasks in it, for nothing.
 */

/** Of the time that a task has, the process had at least so much of one processor. */
const processorShare = 0.5;
/** What waits for something that never comes takes no processor: it is overdue after so many times that, whatever was. */
const roundsMax = 6;

interface OverdueOptions {
  /** That a task has to stop. */
  readonly ms: number;
  /** Whether the task is still there. */
  readonly isThere: () => boolean;
  readonly end: () => void;
  /** Processor time of the process so far, in milliseconds. */
  readonly processorMs?: () => number;
}
/** Ends what is still there when its time is over. */
export const endOverdue = ({ ms, isThere, end, processorMs = processTime }: OverdueOptions): void => {
  const before = processorMs();
  let rounds = 0;
  const look = (): void => {
    if (!isThere()) return;
    rounds++;
    if (rounds < roundsMax && processorMs() - before < ms * processorShare) wait();
    else end();
  };
  const wait = (): void => {
    setTimeout(look, ms).unref();
  };
  wait();
};
const processTime = (): number => {
  const { user, system } = process.cpuUsage();
  return (user + system) / 1000;
};
