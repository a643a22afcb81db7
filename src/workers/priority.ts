/**
 * Who goes first when more threads want a processor than there are. On Linux a priority is a thread's own; elsewhere it
 * would be the whole process's, and stays as it is.
 */
import { getPriority, setPriority } from 'node:os';

const steps = 5;
const last = 19;

/**
 * Lets the process's other threads go before one of them, whatever priority the process was started with. `thread`: the
 * system's number of it; default: the one that calls.
 */
export const giveWay = (thread = 0): void => {
  if (process.platform !== 'linux') return;
  try {
    setPriority(thread, Math.min(last, getPriority(thread) + steps));
  } catch {
    // It has gone, or that is not allowed here: then it is as it was.
  }
};
