/**
 * Places of tasks: how many may run at once, and who has to make room.
 *
 * Invariants:
 * - Neither loads nor all other tasks can use up all places: a quarter is kept for each.
 * - Where there is no place the client that is slowest of those that are too slow is given up for the one that came;
 *   who is fast enough, or waits for us, is not.
 */
import { LakeError } from '../errors.ts';

/** Loads, and all that are none. */
export type PlaceKind = 'load' | 'query';
/** A client that a task waits for now and then. */
export interface TaskClient {
  /** Bytes a second, if they are fewer than they must be. */
  slowRate(): number | undefined;
  /** Why its task is given up. */
  tooSlow(): LakeError;
}
/** A task that has a place. */
interface PlacedTask {
  readonly place: PlaceKind | undefined;
  readonly client: TaskClient | undefined;
  /** It was given up; its worker stops soon. */
  readonly isGivenUp: boolean;
  giveUp(error: LakeError): void;
}

const names: Readonly<Record<PlaceKind, string>> = { load: 'loads', query: 'queries' };
/** What one kind may take of all. */
const mostOf = (tasksMax: number): number => (tasksMax === 1 ? 1 : tasksMax - Math.max(1, Math.floor(tasksMax / 4)));

/** Sees to it that there is room for one more, if need be at the cost of the slowest. @throws worker-tasks-full */
export const makeRoom = (tasks: Iterable<PlacedTask>, kind: PlaceKind, tasksMax: number): void => {
  const running = [...tasks].filter((task) => task.place !== undefined && !task.isGivenUp);
  const own = running.filter((task) => task.place === kind);
  const most = mostOf(tasksMax);
  const isKindFull = own.length >= most;
  if (!isKindFull && running.length < tasksMax) return;
  const slow = slowestOf(isKindFull ? own : running);
  if (!slow)
    throw new LakeError(
      'worker-tasks-full',
      isKindFull
        ? { tasks: names[kind], limit: most, tasksMax }
        : { tasks: 'queries and loads', limit: tasksMax, tasksMax },
    );
  slow.giveUp(slow.client!.tooSlow());
};

const slowestOf = (tasks: readonly PlacedTask[]): PlacedTask | undefined => {
  let found: PlacedTask | undefined;
  let least = Infinity;
  for (const task of tasks) {
    const rate = task.client?.slowRate();
    if (rate === undefined || rate >= least) continue;
    found = task;
    least = rate;
  }
  return found;
};
