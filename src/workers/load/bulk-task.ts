/**
 * Does what a bulk request wants of a pool by the ids of its records: finds the records of these ids, works out what they
 * become, and writes objects without those that go and objects of those that come. The commit is the main thread's work.
 */
import { LakeError } from '../../errors.ts';
import type { ObjectMeta } from '../../lake/lake.types.ts';
import { keyColumn } from '../../lake/load/sort-rows.ts';
import { sortIntoObjects } from '../../lake/load/sort.ts';
import { blockRowsMax } from '../../lake/objects/format.ts';
import { projectionOf } from '../../lake/objects/reader.ts';
import { openReader } from '../../lake/scan/input.ts';
import { scanObjects } from '../../lake/scan/scan.ts';
import { vectorOf } from '../../vectors/builder.ts';
import { heldSize } from '../../vectors/shown-size.ts';
import { working } from '../../vectors/stop.ts';
import { types } from '../../vectors/type.ts';
import { type Value, stringValue, underValue } from '../../vectors/value.ts';
import { type Vector, dataAt, flatten, take, valueAt } from '../../vectors/vector.ts';
import { operationColumns } from '../ingest/bulk-rows.ts';
import { type BulkResults, bulkOperations, bulkResults } from '../ingest/bulk-results.ts';
import type { BulkOutcome, PoolLayout, RewriteOutcome, TaskRequest } from '../messages.ts';
import { type WorkerTools, poolSource } from '../query/tools.ts';
import type { TaskSpill } from '../query/spill.ts';
import type { Task } from '../task.ts';
import { Course, type Operation, type Row } from './bulk-course.ts';
import { changeRows, mayMatch } from './change-task.ts';
import { sortingWithin } from './task.ts';
import { withTimes } from './times.ts';
import { isTrue } from './upsert.ts';
import { ofIdentities } from './upsert-task.ts';

/** Objects of a page. */
const pageObjects = 1024;

/** Does the operations that these objects hold. @throws upsert-large */
export const runBulk = async (
  task: Task,
  { objects, field, time, pool }: Extract<TaskRequest, { kind: 'bulk' }>,
  tools: WorkerTools,
  spill: TaskSpill,
): Promise<BulkOutcome> => {
  const batches = await heldRows(task, objects, tools);
  const operations = working(task.signal, () => batches.flatMap((rows) => operationsOf(rows, field, time)));
  const ids = [...new Set(operations.flatMap(({ id }) => id ?? []))];
  const course = new Course(field, await rowsThere(task, pool, { field, ids }, tools));
  const told = working(task.signal, () => resultsOf(operations, course));
  const gone = course.gone();
  const none: RewriteOutcome = { removes: [], adds: [] };
  const change = ofIdentities(keysOf(gone), [[field]], pool);
  const { removes, adds } = gone.length > 0 ? await changeRows(task, pool, change, tools, spill) : none;
  try {
    const come = await written(course.come(), { task, tools, spill, pool });
    return { removes, adds: [...adds, ...come], told };
  } catch (error) {
    for (const { id, inline } of adds) if (!inline) await tools.objects.delete(id);
    throw error;
  }
};

/** The rows of operations, in the order of their items. @throws upsert-large */
const heldRows = async (
  task: Task,
  objects: readonly ObjectMeta[],
  { objects: files, queryMemoryBytesMax: limit }: WorkerTools,
): Promise<readonly Vector[]> => {
  const source = { keys: [operationColumns.item], order: 'asc', objects: files, page: () => ({ objects }) } as const;
  const held: Vector[] = [];
  let bytes = 0;
  for await (const rows of scanObjects(source, { ordered: true, batchRows: blockRowsMax, signal: task.signal })) {
    held.push(rows);
    bytes += heldSize(rows);
    if (bytes > limit) throw new LakeError('upsert-large', { limit });
    await task.breathe();
  }
  return held;
};

type Item = Operation & { readonly item: number };
/** `time`: the field whose values become times. */
const operationsOf = (rows: Vector, field: string, time: string): readonly Item[] => {
  const column = (path: readonly string[]): Vector => flatten(keyColumn(rows, path));
  const [items, kinds, ids] = [operationColumns.item, operationColumns.operation, operationColumns.id].map(column);
  const bodies = column(operationColumns.document);
  const documents = withTimes(bodies, time);
  const own = column([...operationColumns.document, field]);
  const part = (name: string): Vector => flatten(withTimes(keyColumn(bodies, [name]), time));
  const [doc, upsert, asUpsert, detect] = ['doc', 'upsert', 'doc_as_upsert', 'detect_noop'].map(part);
  return Array.from({ length: rows.length }, (_, at): Item => {
    const kind = bulkOperations[Number(dataAt(kinds!, at))]!;
    const id = underValue(valueAt(ids!, at));
    return {
      item: Number(dataAt(items!, at)),
      kind,
      id: id.type === types.string ? String(id.data) : undefined,
      row: { rows: documents, at },
      own: valueAt(own, at),
      update:
        kind === 'update'
          ? {
              doc: valueAt(doc!, at),
              upsert: given(valueAt(upsert!, at)),
              docAsUpsert: isTrue(asUpsert!, at),
              detectNoop: !isFalse(valueAt(detect!, at)),
            }
          : undefined,
    };
  });
};
const given = (value: Value): Value | undefined =>
  value.type === types.null || value.type.kind === 'error' ? undefined : value;
const isFalse = (value: Value): boolean => {
  const { type, data } = underValue(value);
  return type === types.bool && data === false;
};

const resultsOf = (operations: readonly Item[], course: Course): BulkResults => {
  const items = Uint32Array.from(operations, ({ item }) => item);
  return { items, results: Uint8Array.from(operations, (one) => bulkResults.indexOf(course.add(one))) };
};

/** Ids as the identities of rows. */
const keysOf = (ids: readonly string[]): Vector => ({
  form: 'record',
  length: ids.length,
  fields: [{ name: '0', optional: false, values: vectorOf(ids.map(stringValue)) }],
});

/** The records that the pool has of these ids; of several of one id, the last one. */
const rowsThere = async (
  task: Task,
  pool: PoolLayout,
  { field, ids }: { readonly field: string; readonly ids: readonly string[] },
  tools: WorkerTools,
): Promise<ReadonlyMap<string, Row>> => {
  const there = new Map<string, Row>();
  if (ids.length === 0) return there;
  const identity = [[field]];
  const change = ofIdentities(keysOf(ids), identity, pool);
  const columns = projectionOf(identity);
  const source = poolSource(task, '0', pool, tools);
  for (let cursor: number | undefined; ; ) {
    const page = await source.page({ limit: pageObjects, ...(cursor !== undefined && { cursor }) });
    for (const meta of page.objects) {
      if (change.mayHold?.(meta.min.sort, meta.max.sort) === false) continue;
      const reader = await openReader(source, meta);
      for (let block = 0; block < reader.blocks.length; block++) {
        await task.breathe();
        if (!(await mayMatch(change, reader, block, pool.order))) continue;
        const keys = await reader.read(block, columns);
        const matched = flatten(await working(task.signal, () => change.matches(keys)));
        const at = Uint32Array.from({ length: keys.length }, (_, row) => row).filter((row) => isTrue(matched, row));
        if (at.length === 0) continue;
        const rows = take(await reader.read(block), at);
        const own = flatten(keyColumn(rows, [field]));
        for (let row = 0; row < rows.length; row++)
          there.set(String(underValue(valueAt(own, row)).data), { rows, at: row });
      }
    }
    cursor = page.next;
    if (cursor === undefined) return there;
  }
};

/** The records as objects of the pool. */
const written = async (
  rows: readonly Row[],
  {
    task,
    tools,
    spill,
    pool,
  }: { readonly task: Task; readonly tools: WorkerTools; readonly spill: TaskSpill; readonly pool: PoolLayout },
): Promise<readonly ObjectMeta[]> => {
  if (rows.length === 0) return [];
  const share = tools.budget.begin();
  try {
    const batches = working(task.signal, () => batchesOf(rows));
    return (await sortIntoObjects(each(batches), sortingWithin(share, pool, { task, tools, spill }))).objects;
  } finally {
    share.end();
  }
};
const batchesOf = (rows: readonly Row[]): readonly Vector[] => {
  const values: Value[] = [];
  const taken = new Map<Vector, number[]>();
  for (const row of rows) {
    if ('value' in row) {
      values.push(row.value);
      continue;
    }
    const at = taken.get(row.rows);
    if (at) at.push(row.at);
    else taken.set(row.rows, [row.at]);
  }
  const batches = [...taken].map(([batch, at]) => take(batch, Uint32Array.from(at)));
  return values.length > 0 ? [...batches, vectorOf(values)] : batches;
};
async function* each(batches: readonly Vector[]): AsyncGenerator<Vector> {
  yield* batches;
}
