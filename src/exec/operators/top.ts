/** top: the first rows of the sort order. Rows that cannot be among them are left out a batch at a time; what is kept is sorted and cut now and then. */
import type { SortKey } from '../../query/plan.ts';
import { type Vector, flatten, sizeOf, take } from '../../vectors/vector.ts';
import { concat } from '../../vectors/concat.ts';
import { type Stage, type Step, batches, stage } from '../operator.ts';
import type { Build } from './build.ts';
import { type EvaluatedKey, guessing, keysOf, orderBy } from './sort-keys.ts';

export const top = (count: number, named: readonly SortKey[], reverse: boolean, build: Build): Step => {
  const guess = guessing(named, reverse, build.expression);
  return stage(() => cutter(count, guess, build));
};

const cutter = (count: number, keysFor: (first: Vector) => readonly EvaluatedKey[], build: Build): Stage => {
  const cutAt = count * 2 + 4 * build.context.batchRows;
  let keys: readonly EvaluatedKey[] | undefined, rows: Vector[] = [], columns: Vector[][] = [], kept = 0, held = 0;
  /** The last of the first `count` rows: later rows that are no less cannot come in. */
  let bound: number | undefined;

  const add = (batch: Vector, own: readonly Vector[]): void => {
    rows.push(batch);
    own.forEach((v, k) => (columns[k] ??= []).push(v));
    kept += batch.length;
  };
  const cut = (): void => {
    const own = columns.map((c) => concat(c)), all = concat(rows);
    const order = orderBy(own, keys!, all.length).subarray(0, count);
    rows = [flatten(take(all, order))];
    columns = own.map((c) => [flatten(take(c, order))]);
    kept = order.length;
    build.memory.add(-held);
    held = sizeOf(rows[0]!);
    build.memory.hold(held, 'top');
    if (kept === count) bound = boundOf(columns[0]?.[0]);
  };

  return {
    done: count === 0,
    *push(batch) {
      keys ??= keysFor(batch);
      const own = yield* keysOf(batch, keys);
      const rest = bound === undefined ? undefined : candidates(own[0]!, keys[0]!.order, bound);
      if (!rest) add(batch, own);
      else if (rest.length > 0) add(flatten(take(batch, rest)), own.map((v) => flatten(take(v, rest))));
      if (kept > cutAt || (bound === undefined && kept >= count && count <= batch.length)) cut();
    },
    *finish() {
      if (rows.length === 0) return;
      cut();
      yield* batches(rows[0]!, build.context.batchRows);
    },
  };
};

/** The last number of a column of plain numbers. */
const boundOf = (column: Vector | undefined): number | undefined => {
  if (column?.form !== 'number' || !(column.values instanceof Float64Array)) return undefined;
  const x = column.values[column.length - 1]!;
  return Number.isNaN(x) ? undefined : x;
};

/** Rows that may come before the bound, for columns of plain numbers; undefined if that cannot be told. */
const candidates = (column: Vector, order: 'asc' | 'desc', bound: number): Uint32Array | undefined => {
  if (column.form !== 'number' || !(column.values instanceof Float64Array)) return undefined;
  const { values, length } = column, out: number[] = [];
  if (order === 'asc') {
    for (let i = 0; i < length; i++) if (!(values[i]! >= bound)) out.push(i);
  } else for (let i = 0; i < length; i++) if (values[i]! > bound) out.push(i);
  return Uint32Array.from(out);
};
