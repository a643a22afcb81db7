/**
 * Changes of rows: objects without the rows that a filter selects, or with these rows changed. Objects without such rows
 * are not touched. The commit is the main thread's work.
 *
 * Invariants:
 * - The rows of every new object are in the pool's order. Rows whose key an update may change are sorted again, and go
 *   into objects of their own.
 * - Nothing of a block is read whose bounds or filters say that no row of it is selected.
 * - When the outcome is there, every new object is durable or inline; after a fault no file of it is left.
 */
import { LakeError } from '../../errors.ts';
import { compileAlone } from '../../exec/compile.ts';
import type { AsyncEvaluator } from '../../exec/expressions/evaluator.ts';
import { kinds, kindsOf, mayBeError } from '../../exec/operators/rows/kinds.ts';
import { putValues } from '../../exec/operators/put.ts';
import type { ExecutionContext } from '../../exec/context.ts';
import type { ExecutionHost } from '../../exec/source.ts';
import type { ObjectMeta } from '../../lake/lake.types.ts';
import { type LoadSorter, openSort } from '../../lake/load/sort.ts';
import type { Projection } from '../../lake/columns/wanted.ts';
import { type ObjectReader, projectionOf } from '../../lake/objects/reader.ts';
import { openReader } from '../../lake/scan/input.ts';
import { keyRange } from '../../lake/scan/range.ts';
import type { ScanSource } from '../../lake/scan/scan.types.ts';
import { compileChange, compileFilter, compilePut } from '../../query/analyze.ts';
import { CompileError } from '../../query/parse/error.ts';
import type { Assignment, CompileEnvironment, FieldPath, PlanFunction, Pruner } from '../../query/plan/plan.ts';
import { literal } from '../../query/plan/walk.ts';
import { concat } from '../../vectors/concat.ts';
import { supText } from '../../vectors/sup/print.ts';
import { working } from '../../vectors/stop.ts';
import { types } from '../../vectors/type.ts';
import { type Vector, flatten, take, valueAt } from '../../vectors/vector.ts';
import { executionHost } from '../query/lake-source.ts';
import { type WorkerTools, poolSource } from '../query/tools.ts';
import { type PoolLayout, type RewriteOutcome, type TaskRequest, fromWire, toWire } from '../messages.ts';
import { watchedFor } from '../query/plans.ts';
import { lakeEnvironment } from '../query/task.ts';
import type { TaskSpill } from '../query/spill.ts';
import type { Task } from '../task.ts';
import { type ChangedBlock, rewritten } from './rewrite-task.ts';
import { sortingOf } from './task.ts';
import { isTrue } from './upsert.ts';
import { othersThan } from './without-rows.ts';

type DeleteTask = Extract<TaskRequest, { kind: 'delete' }>;
type UpdateTask = Extract<TaskRequest, { kind: 'update' }>;

/** Objects of a page. */
const pageObjects = 1024;
/** Characters of a value in an error. */
const shownCharacters = 100;

/** Which rows are changed, and into what. */
export interface RowChange {
  readonly matches: AsyncEvaluator;
  readonly pruner?: Pruner;
  /** All that `matches` asks of a row; read before the rest of it. */
  readonly columns?: readonly FieldPath[];
  /** False only if no row with a key from the one to the other matches. */
  readonly mayHold?: (first: Uint8Array, last: Uint8Array) => boolean;
  /** Absent: they go. */
  readonly put?: RowPut;
}
/** `targets[i]` becomes `values[i]` of the row as it was. */
interface RowPut {
  readonly targets: readonly FieldPath[];
  readonly values: readonly AsyncEvaluator[];
}

/**
 * Finds the objects that hold rows for which the filter is true and writes their other rows as new objects; rows for
 * which it is null or an error stay. Subqueries of the filter only read.
 * @throws delete-where-invalid for a text that is no single filter
 */
export const runDelete = async (
  task: Task,
  { where, pool }: DeleteTask,
  tools: WorkerTools,
  spill: TaskSpill,
): Promise<RewriteOutcome> => {
  const texts = textsOf(task, tools, spill);
  const { filter, warnings } = await filterOf(texts, where, 'delete-where-invalid');
  task.step('compiled', warnings && { warnings });
  return { ...(await changeRows(task, pool, filter, tools, spill)), ...(texts.seen.varies && texts.seen) };
};

/**
 * The same with the rows changed instead of left out.
 * @throws update-where-invalid, update-put-invalid, update-error for a row that would become an error
 */
export const runUpdate = async (
  task: Task,
  { where, put, pool }: UpdateTask,
  tools: WorkerTools,
  spill: TaskSpill,
): Promise<RewriteOutcome> => {
  const texts = textsOf(task, tools, spill);
  const { filter, warnings = [] } = await filterOf(texts, where, 'update-where-invalid');
  const assigned = await putOf(texts, put);
  const all = [...new Set([...warnings, ...(assigned.warnings ?? [])])];
  task.step('compiled', all.length > 0 ? { warnings: all } : undefined);
  const outcome = await changeRows(task, pool, { ...filter, put: assigned.put }, tools, spill);
  return { ...outcome, ...(texts.seen.varies && texts.seen) };
};

/** The same for an UPDATE or a DELETE of SQL. */
export const runStatement = async (
  task: Task,
  request: StatementTask,
  tools: WorkerTools,
  spill: TaskSpill,
): Promise<RewriteOutcome> => {
  const { text, pool } = request;
  const { environment, context, source } = statementOf(task, request, tools, spill);
  const { expr = whole, functions, pruner, assignments } = await compileChange(text, environment, source);
  const change: RowChange = {
    matches: compileAlone(expr, functions, context),
    ...(pruner && { pruner }),
    ...(assignments && { put: compiledPut(assignments, functions, context) }),
  };
  return changeRows(task, pool, change, tools, spill);
};
const whole = literal({ type: types.bool, data: true });

export type StatementTask = Extract<TaskRequest, { kind: 'statement' }>;
/** How a statement that changes a pool is compiled and run; `source`: the pool's rows, as it is compiled. */
export const statementOf = (task: Task, { indexBase, pool }: StatementTask, tools: WorkerTools, spill: TaskSpill) => {
  const { environment, context } = textsOf(task, tools, spill, indexBase);
  const source = { kind: 'pool', name: '', handle: '0', sortKeys: pool.keys, order: pool.order } as const;
  return { environment, context, source };
};

/** How texts are compiled and run. `seen.varies`: they have been found to ask for the time or the like. */
interface Texts {
  readonly environment: CompileEnvironment;
  readonly context: ExecutionContext;
  readonly seen: { varies: boolean };
}
const textsOf = (task: Task, tools: WorkerTools, spill: TaskSpill, indexBase = tools.indexBase): Texts => {
  const seen = { varies: false };
  const environment = watchedFor(lakeEnvironment(task, tools, indexBase === undefined ? {} : { indexBase }), () => {
    seen.varies = true;
  });
  return { environment, context: readingContext(task, tools, spill), seen };
};

const filterOf = async (
  { environment, context }: Texts,
  where: string,
  invalid: 'delete-where-invalid' | 'update-where-invalid',
): Promise<{ readonly filter: RowChange; readonly warnings?: readonly string[] }> => {
  try {
    const { expr, functions, pruner, warnings } = await compileFilter(where, environment);
    const matches = compileAlone(expr, functions, context);
    return { filter: { matches, ...(pruner && { pruner }) }, ...(warnings && { warnings }) };
  } catch (error) {
    if (error instanceof CompileError && error.errors[0]?.about === 'not-one-filter')
      throw new LakeError(invalid, {}, { cause: error });
    throw error;
  }
};
const putOf = async (
  { environment, context }: Texts,
  text: string,
): Promise<{ readonly put: RowPut; readonly warnings?: readonly string[] }> => {
  try {
    const { assignments, functions, warnings } = await compilePut(text, environment);
    return { put: compiledPut(assignments, functions, context), ...(warnings && { warnings }) };
  } catch (error) {
    if (!(error instanceof CompileError)) throw error;
    if (error.errors[0]?.about === 'not-assignments') throw new LakeError('update-put-invalid', {}, { cause: error });
    // The text whose places they are: faults of the filter are shown in that one.
    throw fromWire(toWire(error, text));
  }
};
const compiledPut = (
  assignments: readonly Assignment[],
  functions: readonly PlanFunction[],
  context: ExecutionContext,
): RowPut => ({
  targets: assignments.map(({ target }) => target),
  values: assignments.map(({ value }) => compileAlone(value, functions, context)),
});
const readingContext = (task: Task, tools: WorkerTools, spill: TaskSpill): ExecutionContext => {
  const host: ExecutionHost = {
    ...executionHost(task, tools, spill, task.counter, () => undefined),
    load: () => {
      throw new LakeError('query-invalid', { text: 'load: where and put of a change only read' });
    },
  };
  return {
    host,
    signal: task.signal,
    batchRows: tools.batchRows,
    memoryBytesMax: tools.queryMemoryBytesMax,
    recursion: tools.recursion,
    names: new Map(),
  };
};

/** Makes the objects again that hold rows which are changed. */
export const changeRows = async (
  task: Task,
  pool: PoolLayout,
  change: RowChange,
  tools: WorkerTools,
  spill: TaskSpill,
): Promise<RewriteOutcome> => {
  const source = poolSource(task, '0', pool, tools);
  const moved = change.put && mayMove(change.put, pool) ? new MovedRows(task, pool, tools, spill) : undefined;
  const changer = new Changer(task, pool, { source, change, moved, tools });
  const range = change.pruner && keyRange(change.pruner, pool.keys[0] ?? []);
  const removes: string[] = [];
  const adds: ObjectMeta[] = [];
  const parts: number[] = [];
  try {
    for (let cursor: number | undefined; ; ) {
      const page = await source.page({
        limit: pageObjects,
        ...(range && { range }),
        ...(cursor !== undefined && { cursor }),
      });
      for (const meta of page.objects) {
        if (change.mayHold?.(meta.min.sort, meta.max.sort) === false) continue;
        const rest = await changer.changed(meta);
        if (!rest) continue;
        removes.push(meta.id);
        adds.push(...rest);
        parts.push(rest.length);
      }
      cursor = page.next;
      if (cursor !== undefined) continue;
      // Rows of any object may be in any of those of moved rows.
      if (moved) return { removes, adds: [...adds, ...(await moved.finish())] };
      return { removes, adds, parts };
    }
  } catch (error) {
    await moved?.abort();
    for (const meta of adds) if (!meta.inline) await tools.objects.delete(meta.id);
    throw error;
  } finally {
    moved?.end();
  }
};

/** Whether the place of a row in the pool's order may be another one afterwards. */
const mayMove = ({ targets }: RowPut, { keys }: PoolLayout): boolean =>
  targets.some((target) => keys.some((key) => isPrefix(target, key) || isPrefix(key, target)));
const isPrefix = (a: FieldPath, b: FieldPath): boolean => a.every((name, i) => name === b[i]);

/** Rows on their way to another place of the order. */
class MovedRows {
  private readonly share: ReturnType<WorkerTools['budget']['begin']>;
  private readonly sorter: LoadSorter;
  private isEmpty = true;

  constructor(task: Task, pool: PoolLayout, { budget, objects, readLimits }: WorkerTools, spill: TaskSpill) {
    this.share = budget.begin();
    this.sorter = openSort(sortingOf(task, pool, { objects, spill, readLimits, share: this.share }));
  }

  async add(rows: Vector): Promise<void> {
    this.isEmpty = false;
    await this.sorter.add(rows);
  }
  async finish(): Promise<readonly ObjectMeta[]> {
    return this.isEmpty ? [] : (await this.sorter.finish()).objects;
  }
  async abort(): Promise<void> {
    await this.sorter.abort();
  }
  end(): void {
    this.share.end();
  }
}

/** False only if no row of a block matches. */
export const mayMatch = async (
  { pruner, mayHold }: Pick<RowChange, 'pruner' | 'mayHold'>,
  reader: ObjectReader,
  block: number,
  order: PoolLayout['order'],
): Promise<boolean> => {
  const { firstKey, lastKey } = reader.blocks[block]!;
  const [least, most] = order === 'asc' ? [firstKey, lastKey] : [lastKey, firstKey];
  if (mayHold?.(least, most) === false) return false;
  if (!pruner) return true;
  if (!reader.mayMatch(block, pruner)) return false;
  for (const part of reader.parts(block)) if (await reader.mayHold(block, part, pruner)) return true;
  return false;
};

/** Changes objects, one after the other. */
class Changer {
  private readonly task: Task;
  private readonly pool: PoolLayout;
  private readonly source: ScanSource;
  private readonly change: RowChange;
  private readonly moved: MovedRows | undefined;
  private readonly tools: WorkerTools;
  private readonly columns: Projection | undefined;

  constructor(
    task: Task,
    pool: PoolLayout,
    work: {
      readonly source: ScanSource;
      readonly change: RowChange;
      readonly moved: MovedRows | undefined;
      readonly tools: WorkerTools;
    },
  ) {
    this.task = task;
    this.pool = pool;
    this.source = work.source;
    this.change = work.change;
    this.moved = work.moved;
    this.tools = work.tools;
    this.columns = this.change.columns && projectionOf(this.change.columns);
  }

  /** The object's rows as they are then, as new objects; undefined if none is changed. */
  async changed(meta: ObjectMeta): Promise<readonly ObjectMeta[] | undefined> {
    const { pool, task, tools } = this;
    const reader = await openReader(this.source, meta);
    const keepsEncodings = !this.change.put;
    return rewritten({ task, tools, pool, keepsEncodings }, meta, reader, async (block, read) => {
      if (!(await mayMatch(this.change, reader, block, pool.order))) return undefined;
      const matched = await this.matched(this.columns ? await reader.read(block, this.columns) : await read());
      if (matched.length === 0) return undefined;
      const { put } = this.change;
      return put ? this.after(await read(), matched, put) : { gone: matched };
    });
  }

  /** Rows for which the filter is true. */
  private async matched(rows: Vector): Promise<Uint32Array> {
    const { signal } = this.task;
    const result = flatten(await working(signal, () => this.change.matches(rows)));
    const out = new Uint32Array(rows.length);
    let count = 0;
    if (result.form === 'bool') {
      const values = result.values.subarray(0, rows.length);
      for (let i = values.indexOf(1); i >= 0; i = values.indexOf(1, i)) while (values[i] === 1) out[count++] = i++;
    } else for (let i = 0; i < rows.length; i++) if (isTrue(result, i)) out[count++] = i;
    return out.subarray(0, count);
  }

  /** What a block is when the rows that match are changed. */
  private async after(rows: Vector, matched: Uint32Array, put: RowPut): Promise<ChangedBlock> {
    const others = othersThan(matched, rows.length);
    const changed = await this.put(put, matched.length === rows.length ? rows : take(rows, matched));
    if (this.moved) {
      await this.moved.add(changed);
      return { gone: matched };
    }
    const inPlace = (after: Vector): ChangedBlock => ({ rows: after, changed: matched });
    if (others.length === 0) return inPlace(changed);
    const places = new Uint32Array(rows.length);
    others.forEach((row, i) => {
      places[row] = i;
    });
    matched.forEach((row, i) => {
      places[row] = others.length + i;
    });
    return inPlace(take(concat([take(rows, others), changed]), places));
  }

  private async put({ targets, values }: RowPut, rows: Vector): Promise<Vector> {
    const { signal } = this.task;
    const assigned: Vector[] = [];
    for (const [k, value] of values.entries()) {
      const vector = await working(signal, () => value(rows));
      refuseErrors(vector, targets[k]!.join('.'));
      assigned.push(vector);
    }
    const changed = working(signal, () => putValues(rows, targets, assigned));
    refuseErrors(changed, 'this');
    return changed;
  }
}

/** A row keeps what it has rather than become an error. */
export const refuseErrors = (values: Vector, field: string): void => {
  const found = mayBeError(values) ? kindsOf(values) : undefined;
  const row = found?.findIndex((kind) => kind === kinds.error || kind === kinds.missing) ?? -1;
  if (row < 0) return;
  const value = supText(valueAt(values, row));
  throw new LakeError('update-error', {
    field,
    value: value.length > shownCharacters ? `${value.slice(0, shownCharacters)}...` : value,
  });
};
