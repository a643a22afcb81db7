/**
 * Takes records out of a snapshot that others of the same identity replace: objects without them are written, those that
 * hold none are not touched. The commit is the main thread's work.
 *
 * Objects and blocks are passed over by their keys where a field of the identity is the pool's first key, else by the
 * bounds of their columns; of those that are left the fields of the identity are read first.
 */
import { ColumnCodes } from '../../exec/aggregates/grouping/codes.ts';
import { keyColumn } from '../../lake/load/sort-rows.ts';
import type { Identity } from '../../lake/lake.types.ts';
import { blockRowsMax } from '../../lake/objects/format.ts';
import { scanObjects } from '../../lake/scan/scan.ts';
import type { Pruner } from '../../query/plan/plan.ts';
import { concat } from '../../vectors/concat.ts';
import { lowerBound, sortKeyBytes } from '../../vectors/sort-key.ts';
import { isNumeric, types } from '../../vectors/type.ts';
import { type Value, compareBytes } from '../../vectors/value.ts';
import { type Vector, take, valueAt } from '../../vectors/vector.ts';
import type { WorkerTools } from '../query/tools.ts';
import type { PoolLayout, RewriteOutcome, TaskRequest } from '../messages.ts';
import type { TaskSpill } from '../query/spill.ts';
import type { Task } from '../task.ts';
import { type RowChange, changeRows } from './change-task.ts';
import { KeyPlaces } from './key-places.ts';
import { keysOf } from './upsert.ts';

/** Finds the rows of these identities and writes their objects without them. */
export const runUpsert = async (
  task: Task,
  { keys: objects, identity, pool }: Extract<TaskRequest, { kind: 'upsert' }>,
  tools: WorkerTools,
  spill: TaskSpill,
): Promise<RewriteOutcome> => {
  const known: Vector[] = [];
  const source = { ...pool, objects: tools.objects, page: () => ({ objects }) };
  const scanned = scanObjects(source, {
    ordered: false,
    columns: identity,
    batchRows: blockRowsMax,
    signal: task.signal,
  });
  for await (const rows of scanned) {
    await task.breathe();
    const { values, has } = keysOf(rows, identity);
    const index = rowsWith(has);
    if (index.length === 0) continue;
    known.push(take(values, index));
  }
  if (known.length === 0) return { removes: [], adds: [], parts: [] };
  return changeRows(task, pool, ofIdentities(concat(known), identity, pool), tools, spill);
};

/** The rows of these identities, as `keysOf` has them. */
export const ofIdentities = (all: Vector, identity: Identity, pool: Pick<PoolLayout, 'keys' | 'order'>): RowChange => {
  const table = new ColumnCodes();
  table.codes(all);
  const columns = identity.map((_, i) => keyColumn(all, [String(i)]));
  const size = table.size;
  const at = identity.findIndex((path) => path.join('\u0000') === pool.keys[0]?.join('\u0000'));
  const places = at >= 0 ? new KeyPlaces(columns[at]!, identity[at]!, pool.order) : undefined;
  const isKnown = (rows: Vector): Vector => {
    const found = new Uint8Array(rows.length);
    const maybe = places?.in(rows);
    const { values, has } = keysOf(maybe ? take(rows, maybe) : rows, identity);
    const codes = table.codes(values, false);
    for (let k = 0; k < has.length; k++) if (has[k] === 1 && codes[k]! < size) found[maybe ? maybe[k]! : k] = 1;
    return { form: 'bool', length: found.length, values: found };
  };
  const pruner = prunerOf(identity, columns);
  return {
    matches: isKnown,
    columns: identity,
    ...(at >= 0 && { mayHold: spanTest(columns[at]!) }),
    ...(pruner && { pruner }),
  };
};

const rowsWith = (has: Uint8Array): Uint32Array => {
  const index = new Uint32Array(has.length);
  let count = 0;
  for (let row = 0; row < has.length; row++) if (has[row] === 1) index[count++] = row;
  return index.subarray(0, count);
};

/** Whether one of the keys may be between two. */
const spanTest = (values: Vector): NonNullable<RowChange['mayHold']> => {
  const keys = Array.from({ length: values.length }, (_, i) => lowerBound(sortKeyBytes(valueAt(values, i))));
  keys.sort(compareBytes);
  return (first, last) => {
    let low = 0;
    for (let high = keys.length; low < high; ) {
      const middle = (low + high) >> 1;
      if (compareBytes(keys[middle]!, first) < 0) low = middle + 1;
      else high = middle;
    }
    return low < keys.length && compareBytes(keys[low]!, last) <= 0;
  };
};

/** Bounds that every row has that has one of the identities; for few of them, their values. */
const prunerOf = (identity: readonly (readonly string[])[], columns: readonly Vector[]): Pruner | undefined => {
  const tests = identity.flatMap((path, i): readonly Pruner[] => {
    const values = Array.from({ length: columns[i]!.length }, (_, row) => valueAt(columns[i]!, row));
    const [first] = values;
    const isPlain = (value: Value): boolean =>
      isNumeric(value.type) ? !Number.isNaN(value.data) : value.type === types.string;
    const kind = first && isNumeric(first.type);
    if (!first || !values.every((value) => isPlain(value) && isNumeric(value.type) === kind)) return [];
    const test = (operator: '==' | '>=' | '<=', value: Value): Pruner => ({
      kind: 'test',
      test: { path, operator, value },
    });
    if (values.length <= singleKeysMax) return [{ kind: 'any', of: values.map((value) => test('==', value)) }];
    const keyed = values.map((value) => ({ value, key: sortKeyBytes(value) }));
    const least = keyed.reduce((a, b) => (compareBytes(b.key, a.key) < 0 ? b : a));
    const most = keyed.reduce((a, b) => (compareBytes(b.key, a.key) > 0 ? b : a));
    return [test('>=', least.value), test('<=', most.value)];
  });
  return tests.length > 0 ? { kind: 'all', of: tests } : undefined;
};
/** So many keys are looked up in the filters of blocks one by one. */
const singleKeysMax = 64;
