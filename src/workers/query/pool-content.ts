/** What pools hold, for the names and the order of joins of a query that is compiled. */
import { type KnownFields, rowContent } from '../../lake/scan/row-type.ts';
import type { PoolContent, ResolvedSource } from '../../query/plan/plan.ts';
import { working } from '../../vectors/stop.ts';
import { type ReaderList, type WorkerTools, poolSource } from './tools.ts';
import type { Task } from '../task.ts';

/**
 * Most objects of a pool whose footers are read for it: beyond, its columns are not known, and names in joins have to
 * say their table.
 */
const objectsMax = 1024;

const knownByWorker = new WeakMap<ReaderList, KnownFields>();

/** What a pool holds. */
export const poolContent =
  (task: Task, tools: WorkerTools) =>
  (source: ResolvedSource): Promise<PoolContent> => {
    let known = knownByWorker.get(tools.readers);
    if (!known) knownByWorker.set(tools.readers, (known = new Map()));
    return rowContent(
      poolSource(task, source.handle, { keys: source.sortKeys ?? [['ts']], order: source.order ?? 'asc' }, tools),
      { objectsMax, known, turn: (work) => working(task.signal, work) },
    );
  };
