/**
 * Rewrites: objects without the rows that a filter selects, and several objects as new ones. The commit is the main
 * thread's work.
 */
import { LakeError } from '../../errors.ts';
import { compileAlone } from '../../exec/compile.ts';
import type { AsyncEvaluator } from '../../exec/expressions/evaluator.ts';
import type { ExecutionHost } from '../../exec/source.ts';
import type { ObjectMeta } from '../../lake/lake.types.ts';
import { ObjectCutter } from '../../lake/objects/cutter.ts';
import { blockRowsMax } from '../../lake/objects/format.ts';
import { type ObjectReader, openObject, sourceOfBytes } from '../../lake/objects/reader.ts';
import type { ObjectStore } from '../../lake/objects/objects.ts';
import { scanObjects } from '../../lake/scan/scan.ts';
import { compileFilter, notOneFilter } from '../../query/analyze.ts';
import { CompileError } from '../../query/parse/error.ts';
import { types } from '../../vectors/type.ts';
import { working } from '../../vectors/stop.ts';
import { underValue } from '../../vectors/value.ts';
import { type Vector, flatten, take, valueAt } from '../../vectors/vector.ts';
import { type WorkerTools, executionHost, poolSource } from '../query/lake-source.ts';
import type { RewriteOutcome, TaskRequest } from '../messages.ts';
import { lakeEnvironment } from '../query/task.ts';
import type { TaskSpill } from '../query/spill.ts';
import type { Task } from '../task.ts';

type DeleteTask = Extract<TaskRequest, { kind: 'delete' }>;
type CompactTask = Extract<TaskRequest, { kind: 'compact' }>;

/** Objects of a page. */
const pageObjects = 1024;

/**
 * Finds the objects that hold rows for which the filter is true and writes their other rows as new objects; rows for
 * which it is null or an error stay. Subqueries of the filter only read.
 * @throws delete-where-invalid for a text that is no single filter
 */
export const runDelete = async (
  task: Task,
  request: DeleteTask,
  tools: WorkerTools,
  spill: TaskSpill,
): Promise<RewriteOutcome> => {
  const matches = await filterOf(task, request.where, tools, spill);
  const source = poolSource(task, '0', request.pool, tools);
  const removes: string[] = [];
  const adds: ObjectMeta[] = [];
  const parts: number[] = [];
  try {
    for (let cursor: number | undefined; ; ) {
      const page = await source.page({ limit: pageObjects, ...(cursor !== undefined && { cursor }) });
      for (const meta of page.objects) {
        const rest = await without(task, meta, matches, request, tools);
        if (!rest) continue;
        removes.push(meta.id);
        adds.push(...rest);
        parts.push(rest.length);
      }
      cursor = page.next;
      if (cursor === undefined) return { removes, adds, parts };
    }
  } catch (error) {
    for (const meta of adds) if (!meta.inline) await tools.objects.delete(meta.id);
    throw error;
  }
};

const filterOf = async (task: Task, where: string, tools: WorkerTools, spill: TaskSpill): Promise<AsyncEvaluator> => {
  try {
    const { expr, functions, warnings } = await compileFilter(where, lakeEnvironment(task, tools));
    task.step('compiled', warnings && { warnings });
    const host: ExecutionHost = {
      ...executionHost(task, tools, spill, task.counter, () => undefined),
      load: () => {
        throw new LakeError('query-invalid', { text: 'load: the filter of a delete only reads' });
      },
    };
    return compileAlone(expr, functions, {
      host,
      signal: task.signal,
      batchRows: tools.batchRows,
      memoryBytesMax: tools.queryMemoryBytesMax,
      recursion: tools.recursion,
      names: new Map(),
    });
  } catch (error) {
    if (error instanceof CompileError && error.errors[0]?.message === notOneFilter)
      throw new LakeError('delete-where-invalid', {}, { cause: error });
    throw error;
  }
};

/** The object's rows that stay, as new objects; undefined if the filter selects none. */
const without = async (
  task: Task,
  meta: ObjectMeta,
  matches: AsyncEvaluator,
  request: DeleteTask,
  tools: WorkerTools,
): Promise<readonly ObjectMeta[] | undefined> => {
  const reader = await opened(meta, tools.objects);
  const cutter = new ObjectCutter(request.pool, tools.objects, request.pool.threshold);
  cutter.expect(meta.count, inMemory(meta));
  let found = false;
  try {
    for (let block = 0; block < reader.blocks.length; block++) {
      await task.breathe();
      const rows = await reader.read(block);
      const stay = await staying(rows, (batch) => working(task.signal, () => matches(batch)));
      if (!found && stay.length < rows.length) {
        found = true;
        // What came before has no match: it is read again instead of being kept.
        for (let earlier = 0; earlier < block; earlier++) cutter.add(await reader.read(earlier));
      }
      if (found && stay.length > 0) cutter.add(stay.length === rows.length ? rows : take(rows, stay));
    }
    return found ? (await cutter.finish()).objects : undefined;
  } catch (error) {
    await cutter.abort();
    throw error;
  }
};

/** The reader of an object, wherever its body is. */
export const opened = async (meta: ObjectMeta, objects: ObjectStore): Promise<ObjectReader> =>
  openObject(
    meta.inline
      ? sourceOfBytes(meta.id, meta.inline)
      : { id: meta.id, size: meta.size, read: (offset, length) => objects.readRange(meta.id, offset, length) },
  );

/** Bytes of a row in memory, about: encodings halve them. */
const inMemory = (meta: ObjectMeta): number => (meta.size / meta.count) * 2;

/** Rows for which the filter is not true. */
const staying = async (rows: Vector, matches: AsyncEvaluator): Promise<Uint32Array> => {
  const result = flatten(await matches(rows));
  const out = new Uint32Array(rows.length);
  let count = 0;
  for (let i = 0; i < rows.length; i++) if (!isTrue(result, i)) out[count++] = i;
  return out.subarray(0, count);
};
const isTrue = (v: Vector, i: number): boolean => {
  if (v.form === 'bool') return v.values[i] === 1;
  const { type, data } = underValue(valueAt(v, i));
  return type === types.bool && data === true;
};

/** Merges objects into new ones. */
export const runCompact = async (task: Task, request: CompactTask, tools: WorkerTools): Promise<RewriteOutcome> => {
  const { pool, objects } = request;
  const cutter = new ObjectCutter(pool, tools.objects, pool.threshold);
  cutter.expect(
    objects.reduce((n, o) => n + o.count, 0),
    objects.reduce((most, o) => Math.max(most, inMemory(o)), 0),
  );
  try {
    const source = { ...pool, objects: tools.objects, page: () => ({ objects }) };
    for await (const batch of scanObjects(source, { ordered: true, batchRows: blockRowsMax, signal: task.signal })) {
      cutter.add(batch);
      await task.breathe();
    }
    return { removes: objects.map((o) => o.id), adds: (await cutter.finish()).objects };
  } catch (error) {
    await cutter.abort();
    throw error;
  }
};
