/** Aggregates over the elements of lists: each row's list is a group. */
import { type Vector, flatten, nulls, take } from '../../../vectors/vector.ts';
import { aggregateNamed, stateFor } from '../../aggregates/aggregates.ts';
import { applyCarrying } from '../../expressions/apply.ts';
import { recordOf } from '../../expressions/construct.ts';
import { elementsOf } from '../../expressions/lift.ts';
import { combine, tidy, wrapErrors } from '../../expressions/rows.ts';
import { mayHaveLongDecimals } from '../../../vectors/decimal.ts';
import { listSum } from './array-sums.ts';
import { isNull, isText, rowsOf, texts, type Evaluate, type FunctionRow } from '../row.ts';

/** `sql`: by what the aggregates are in SELECT. */
export const aggregateLists =
  (sql?: true): Evaluate =>
  ([of, by, ...rest], length) =>
    applyCarrying(
      [of!, by!],
      rest,
      length,
      ([list, name], carried, n) => {
        if (isNull(list!) || isNull(name!)) return nulls(n);
        if (!isText(name!)) return wrapErrors('list_aggregate: string argument required', name!);
        const nameAt = texts(name!);
        const groups = new Map<string, number[]>();
        if (name!.form === 'constant') groups.set(nameAt(0), []);
        else for (let i = 0; i < n; i++) rowsNamed(groups, nameAt(i)).push(i);
        if (groups.size === 1) return aggregated(list!, { name: nameAt(0), names: name!, others: carried, sql });
        const tags = new Uint32Array(n);
        const slots = new Uint32Array(n);
        const parts: Vector[] = [];
        for (const [one, rows] of groups) {
          const index = Uint32Array.from(rows);
          const tag =
            parts.push(
              aggregated(flatten(take(list!, index)), {
                name: one,
                names: take(name!, index),
                others: carried.map((c) => take(c, index)),
                sql,
              }),
            ) - 1;
          rows.forEach((row, k) => {
            tags[row] = tag;
            slots[row] = k;
          });
        }
        return combine(tags, slots, parts);
      },
      'bare',
    );

const rowsNamed = (groups: Map<string, number[]>, name: string): number[] => {
  let rows = groups.get(name);
  if (!rows) groups.set(name, (rows = []));
  return rows;
};

/** The fields that aggregates of several arguments take. */
const pairFields = ['value', 'by', 'third'];
interface Aggregation {
  readonly name: string;
  /** The same as a column, for errors. */
  readonly names: Vector;
  readonly others: readonly Vector[];
  readonly sql: true | undefined;
}
/** One aggregate over the lists of all rows. */
const aggregated = (list: Vector, { name, names, others, sql }: Aggregation): Vector => {
  const v = flatten(list);
  const row = aggregateNamed(name.toLowerCase());
  if (v.form !== 'list') return wrapErrors('list_aggregate: list argument required', list);
  if (!row || row.signature.argumentsMax < 1 + others.length || row.signature.argumentsMin > 1 + others.length)
    return wrapErrors('list_aggregate: no such aggregate with this number of arguments', names);
  // The aggregate takes exact numbers from the plan, which does not see into lists.
  if (name.toLowerCase() === 'sum' && mayHaveLongDecimals(v.items))
    return listSum({ literals: [], names: new Map() })([list], v.length);
  const start = v.offsets[0];
  const size = v.offsets[v.length] - start;
  const ids = new Uint32Array(size);
  const index = new Uint32Array(size);
  for (let i = 0, at = 0; i < v.length; i++) {
    for (let k = v.offsets[i]; k < v.offsets[i + 1]; k++) {
      ids[at] = i;
      index[at++] = k;
    }
  }
  const { sqlOnly } = row.signature;
  const pairs =
    others.length > 0 || (typeof sqlOnly === 'object' ? sqlOnly.pipeArgumentsMax : row.signature.argumentsMax) > 1;
  const state = stateFor(row, {
    all: false,
    distinct: false,
    ...(others.length > 0 && { arity: 1 + others.length }),
    ...(sql && { sql }),
  });
  state.grow(v.length);
  if (size > 0) {
    const items = tidy(elementsOf(take(v.items, index)));
    const columns = [items, ...others.map((o) => tidy(take(o, ids)))];
    state.update(
      ids,
      pairs
        ? recordOf(
            columns.map((values, k) => ({ name: pairFields[k], values })),
            size,
          )
        : items,
    );
  }
  return state.result(v.length);
};

export const listAggregates: readonly FunctionRow[] = rowsOf(
  'list_aggregate(a, name, ...)',
  'An aggregate over the elements of a list, by its name; in SQL list_sum(a), list_avg(a) and the like stand for it.',
  () => aggregateLists(),
  [
    ['list_aggregate([1,2,null],"sum")', '3'],
    [
      'list_aggregate([1],"x")',
      'error({message:"list_aggregate: no such aggregate with this number of arguments",on:"x"})',
    ],
    ['list_aggregate(1,"sum")', 'error({message:"list_aggregate: list argument required",on:1})'],
  ],
  { also: ['list_aggr', 'array_aggregate', 'array_aggr', 'aggregate'] },
);
