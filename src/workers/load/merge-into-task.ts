/**
 * MERGE INTO: finds the rows of the pool that rows of another table match, and rows of that table that match none; takes
 * out, changes and adds rows as the clauses of the statement say. The commit is the main thread's work.
 */
import { LakeError } from '../../errors.ts';
import { execute } from '../../exec/compile.ts';
import { putValues } from '../../exec/operators/put.ts';
import type { ExecutionContext } from '../../exec/context.ts';
import { keyColumn } from '../../lake/load/sort-rows.ts';
import { compileMerge } from '../../query/analyze.ts';
import type { MergeClause, Plan } from '../../query/plan/plan.ts';
import { working } from '../../vectors/stop.ts';
import { type Vector, dataAt, flatten, take } from '../../vectors/vector.ts';
import { memoryOf, takeOut, writeRows } from '../merge/apply.ts';
import { RowList } from '../merge/row-store.ts';
import type { RewriteOutcome } from '../messages.ts';
import { type WorkerTools, poolSource } from '../query/tools.ts';
import type { TaskSpill } from '../query/spill.ts';
import type { Task } from '../task.ts';
import { refuseErrors, type StatementTask, statementOf } from './change-task.ts';

/** Finds the rows and writes their objects. @throws merge-into-twice, update-error */
export const runMergeInto = async (
  task: Task,
  request: StatementTask,
  tools: WorkerTools,
  spill: TaskSpill,
): Promise<RewriteOutcome> => {
  const { text, pool } = request;
  const { environment, context, source } = statementOf(task, request, tools, spill);
  const { clauses, matched, once, others } = await compileMerge(text, environment, source);
  const kept = { memory: memoryOf(tools), spill, signal: task.signal };
  const removed = new RowList(kept);
  const added = new RowList(kept);
  const given = { task, tools, spill, pool };
  try {
    const meant = matched ? await sorted(matched, clauses, context, { removed, added }) : 0;
    if (meant > 0 && once && (await countOf(once, context)) < meant) throw new LakeError('merge-into-twice');
    if (others) await sorted(others, clauses, context, { removed, added });
    const taken = await takeOut(removed, poolSource(task, '0', pool, tools), given);
    try {
      return { removes: taken.removes, adds: [...taken.adds, ...(await writeRows(added, given))] };
    } catch (error) {
      for (const { id, inline } of taken.adds) if (!inline) await tools.objects.delete(id);
      throw error;
    }
  } finally {
    removed.close();
    added.close();
  }
};

async function* batchesOf(plan: Plan, context: ExecutionContext): AsyncGenerator<Vector> {
  for await (const { batch } of execute(plan, context)) yield batch;
}
const countOf = async (plan: Plan, context: ExecutionContext): Promise<number> => {
  let count = 0;
  for await (const batch of batchesOf(plan, context)) count += batch.length;
  return count;
};

interface Changed {
  readonly removed: RowList;
  readonly added: RowList;
}
/** Rows by their clauses; how many have one. */
const sorted = async (
  plan: Plan,
  clauses: readonly MergeClause[],
  context: ExecutionContext,
  { removed, added }: Changed,
): Promise<number> => {
  let count = 0;
  for await (const batch of batchesOf(plan, context)) {
    for (const { clause, rows } of byClause(batch, clauses)) {
      count += rows.length;
      const before = keyColumn(rows, clause.verb.startsWith('insert') ? ['row'] : ['row', 'left']);
      if (clause.verb === 'update' || clause.verb === 'delete') await removed.add(before);
      const after = working(context.signal, () => rowsAfter(clause, rows, before));
      if (after) await added.add(after);
    }
  }
  return count;
};
const byClause = (
  batch: Vector,
  clauses: readonly MergeClause[],
): readonly { readonly clause: MergeClause; readonly rows: Vector }[] => {
  const column = flatten(keyColumn(batch, ['clause']));
  const places = clauses.map((): number[] => []);
  for (let row = 0; row < batch.length; row++) {
    const clause = dataAt(column, row);
    if (typeof clause === 'number') places[clause]!.push(row);
  }
  return clauses.flatMap((clause, k) =>
    places[k]!.length > 0 ? [{ clause, rows: take(batch, Uint32Array.from(places[k]!)) }] : [],
  );
};
/** What the rows become; undefined if they go. */
const rowsAfter = ({ verb, targets, columns }: MergeClause, rows: Vector, before: Vector): Vector | undefined => {
  if (verb === 'delete' || verb === 'nothing') return undefined;
  if (verb === 'insert row') return before;
  const values = columns.map((column, i) => {
    const found = keyColumn(rows, [column]);
    refuseErrors(found, targets[i]!.join('.'));
    return found;
  });
  if (verb === 'insert') {
    const fields = targets.map(([name = ''], i) => ({ name, optional: false, values: values[i]! }));
    return { form: 'record', length: rows.length, fields };
  }
  const changed = putValues(before, targets, values);
  refuseErrors(changed, 'this');
  return changed;
};
