/** What the rows of a query would be if there were any: told by what the pools hold that it reads. */
import { rowTypeOf } from '../../lake/scan/row-type.ts';
import { compile } from '../../query/analyze.ts';
import { CompileError } from '../../query/parse/error.ts';
import type { CompileEnvironment, FoundSource } from '../../query/plan/plan.ts';
import type { RecordType } from '../../vectors/type.ts';
import { type WorkerTools, poolSource } from './tools.ts';
import type { Task } from '../task.ts';

/** Most objects of a pool whose footers are read for it: what a worker keeps of earlier scans. */
const objectsMax = 64;

/**
 * The type of the rows by the types of the pools, which queries are not checked by; undefined if it is not wholly
 * known. A query that would be refused if the types were known gives rows of no type.
 */
export const rowTypeByPools = async (
  text: string,
  environment: CompileEnvironment,
  task: Task,
  tools: WorkerTools,
): Promise<RecordType | undefined> => {
  const typed = async (source: FoundSource): Promise<FoundSource> => {
    if (source.kind !== 'pool') return source;
    const type = await rowTypeOf(
      poolSource(task, source.handle, { keys: source.sortKeys ?? [['ts']], order: source.order ?? 'asc' }, tools),
      objectsMax,
    );
    return type ? { ...source, type } : source;
  };
  const { known: _, ...unknown } = environment;
  try {
    const plan = await compile(
      text,
      { ...unknown, resolve: async (request) => Promise.all((await environment.resolve(request)).map(typed)) },
      { rulesOff: 'all', rowType: true },
    );
    return plan.rowType;
  } catch (problem) {
    if (problem instanceof CompileError) return undefined;
    throw problem;
  }
};
