/**
 * Aggregates that look at all the values of a group when it is complete: the least and greatest few, the most frequent
 * ones, how often each comes.
 */
import { charge, checkStop, checkStopAt, checked } from '../../../vectors/stop.ts';
import { type Type, bitsOf, isFloat, isInteger, isUnsigned, types } from '../../../vectors/type.ts';
import {
  type Value,
  arrayValue,
  floatValue,
  intValue,
  mapValue,
  nullValue,
  recordValue,
  textError,
  underValue,
  itemsData,
  numericData,
} from '../../../vectors/value.ts';
import { type Vector, take, valueAt } from '../../../vectors/vector.ts';
import { Builder } from '../../../vectors/builder.ts';
import { concat } from '../../../vectors/concat.ts';
import { fieldOf } from '../../expressions/access.ts';
import { rowsWith } from '../../expressions/rows.ts';
import { order } from '../../expressions/sql/value-order.ts';
import { ColumnCodes } from './codes.ts';
import { CollectState } from '../collect.ts';
import { sortByGroup } from '../lists.ts';
import { shapedBy } from '../downsampling.ts';
import { present } from './pairs.ts';
import { pick } from './parts.ts';

/**
 * The rows of a group in the order of arrival, and what their arguments are; values are made when they are asked for.
 */
interface Group {
  readonly rows: Uint32Array;
  readonly value: (row: number) => Value;
  readonly by: (row: number) => Value;
  readonly third: (row: number) => Value;
  /** Made when it is asked for: by row a code, equal for equal values; a zero for each code, before and after. */
  readonly tallied: () => { readonly codes: Uint32Array; readonly tally: Uint32Array };
}
/**
 * What comes of a group; `arity`: of how many arguments, the last of which is the same for each row but where there is
 * one.
 */
interface Rule {
  readonly arity: number;
  /** Rows count whose values are null. */
  readonly nulls?: true;
  readonly result: (group: Group, name: string) => Value;
  readonly empty: Value;
}

export class HeldState extends CollectState {
  private readonly name: string;
  private readonly rule: string;
  /** There may be another argument, so that one alone comes in a record too. */
  private readonly inRecord: boolean;
  constructor(name: string, rule: keyof typeof rules, inRecord = false) {
    super();
    this.name = name;
    this.rule = rule;
    this.inRecord = inRecord;
  }
  override update(ids: Uint32Array, argument: Vector): void {
    const { arity, nulls } = ruleNamed(this.rule);
    if (arity === 1 || nulls)
      return super.update(ids, arity === 1 && this.inRecord ? fieldOf(argument, 'value') : argument);
    const looked = arity === 3 ? ['value', 'by'] : ['value'];
    const marks = present(argument.length, ...looked.map((name) => fieldOf(argument, name)));
    const rows = rowsWith(marks, argument.length, 1);
    if (rows.length > 0) super.update(pick(ids, rows), take(argument, rows));
  }
  override result(groups: number): Vector {
    checkStop();
    const rule = ruleNamed(this.rule);
    const all = concat(this.kept);
    const fields =
      rule.arity === 1 ? [all] : ['value', 'by', 'third'].slice(0, rule.arity).map((name) => fieldOf(all, name));
    const { order: rows, offsets } = sortByGroup(this.ids.done(), this.ids.length, groups);
    let made: ReturnType<Group['tallied']> | undefined;
    const tallied = (): ReturnType<Group['tallied']> => (made ??= tallyOf(fields[0]));
    const of =
      (field: Vector | undefined) =>
      (row: number): Value =>
        field ? underValue(valueAt(field, row)) : nullValue;
    const [value, by, third] = [of(fields[0]), of(fields[1]), of(fields[2])];
    const out = new Builder();
    for (let g = 0; g < groups; g++) {
      checkStop();
      const own = rows.subarray(offsets[g], offsets[g + 1]);
      out.append(own.length === 0 ? rule.empty : rule.result({ rows: own, value, by, third, tallied }, this.name));
    }
    return out.finish();
  }
}

/**
 * What a value takes beside its bytes, about, and how many are kept above those that are asked for before they are
 * sorted.
 */
const valueBytes = 96;
const spareRows = 1024;
interface Keyed {
  readonly row: number;
  readonly key: Value;
}
/**
 * The first values of the rows in the order of their keys, as many as `count` says; of equal ones those that came
 * first.
 */
const firstOf = (
  { rows, value }: Group,
  name: string,
  count: Value,
  key: (row: number, i: number) => Value,
  compare: (a: Value, b: Value) => number,
): Value => {
  if (!isInteger(count.type) || !(Number(count.data) > 0)) return textError(`${name}: count above zero required`);
  const wanted = Math.min(Number(count.data), rows.length);
  const room = Math.min(wanted * 2 + spareRows, rows.length);
  charge(room * valueBytes, 'an aggregate function');
  const inOrder = checked((a: Keyed, b: Keyed) => compare(a.key, b.key));
  const kept: Keyed[] = [];
  const cut = (): Keyed | undefined => {
    kept.sort(inOrder).length = Math.min(kept.length, wanted);
    return kept.length === wanted ? kept.at(-1) : undefined;
  };
  let last: Keyed | undefined;
  rows.forEach((row, i) => {
    checkStopAt(i);
    const next = { row, key: key(row, i) };
    if (last && compare(last.key, next.key) <= 0) return;
    kept.push(next);
    if (kept.length === room) last = cut();
  });
  cut();
  return arrayValue(kept.map((each) => value(each.row)));
};
const reversed = (a: Value, b: Value): number => order(b, a);
const nullsLast =
  (compare: (a: Value, b: Value) => number) =>
  (a: Value, b: Value): number =>
    Number(isNull(a)) - Number(isNull(b)) || (isNull(a) ? 0 : compare(a, b));
const extremes = (compare: (a: Value, b: Value) => number): Rule => ({
  arity: 2,
  empty: nullValue,
  result: (group, name) => firstOf(group, name, group.by(group.rows[0]), group.value, compare),
});
const extremesBy = (compare: (a: Value, b: Value) => number): Rule => ({
  arity: 3,
  empty: nullValue,
  result: (group, name) => firstOf(group, name, group.third(group.rows[0]), group.by, compare),
});
/** The same where nulls count: rows by nulls come last. */
const extremesByNulls = (compare: (a: Value, b: Value) => number): Rule => ({
  ...extremesBy(nullsLast(compare)),
  nulls: true,
});
const isNull = ({ type }: Value): boolean => type === types.null;

const tallyOf = (values: Vector): ReturnType<Group['tallied']> => {
  const codes = new ColumnCodes(true).codes(values);
  charge(codes.length * 4, 'an aggregate function');
  return { codes, tally: new Uint32Array(codes.reduce((most, code) => Math.max(most, code + 1), 0)) };
};
/** The first row of each value, in the order of arrival, and how many rows have it. */
const counted = ({ rows, tallied }: Group): { readonly firsts: Uint32Array; readonly counts: Uint32Array } => {
  const { codes, tally } = tallied();
  const firsts = rows.filter((row) => tally[codes[row]]++ === 0);
  const counts = firsts.map((row) => tally[codes[row]]);
  for (const row of firsts) tally[codes[row]] = 0;
  return { firsts, counts };
};

/**
 * How many values are in each bin: above the bound before and up to its own, or `exact`ly that; those in none under a
 * bound of their own.
 */
const binned = ({ rows, value, by }: Group, name: string, exact: boolean): Value => {
  const [first] = rows as unknown as readonly [number];
  const { type } = value(first);
  const bounds = boundsOf(by(first), type);
  if (!bounds) return textError(`${name}: array of bounds required`);
  const counts = bounds.map(() => 0);
  let others = 0;
  for (const row of rows) {
    checkStop();
    const own = value(row);
    const at = firstFrom(bounds, own);
    if (at < bounds.length && (!exact || order(bounds[at], own) === 0)) counts[at]++;
    else others++;
  }
  const bins = bounds.map((bound, i) => [bound, intValue(counts[i])] as const);
  return mapValue(others === 0 ? bins : [...bins, [boundOfOthers(type), intValue(others)]]);
};
/** The bounds in order, each once, those of whole numbers as the values are; undefined for what is no array. */
const boundsOf = ({ type, data }: Value, of: Type): readonly Value[] | undefined => {
  if (type.kind !== 'array') return undefined;
  const given = itemsData(data)
    .map((x) => underValue({ type: type.element, data: x }))
    .filter((x) => !isNull(x));
  const bounds = given.map((x) =>
    isInteger(x.type) && isFloat(of)
      ? { type: of, data: Number(x.data) }
      : isInteger(x.type) && isInteger(of)
        ? { type: of, data: x.data }
        : x,
  );
  return bounds.sort(checked(order)).filter((x, i) => i === 0 || order(x, bounds[i - 1]) !== 0);
};
const firstFrom = (bounds: readonly Value[], value: Value): number => {
  let low = 0;
  let high = bounds.length;
  while (low < high) {
    const middle = (low + high) >>> 1;
    if (order(bounds[middle], value) < 0) low = middle + 1;
    else high = middle;
  }
  return low;
};
/** Under it are the values that are in no bin: the greatest number of the type, the empty text, else null. */
export const boundOfOthers = (type: Type): Value => {
  if (isFloat(type)) return { type, data: Infinity };
  if (type === types.string) return { type, data: '' };
  return isInteger(type)
    ? { type, data: narrowed(2n ** BigInt(bitsOf(type) - (isUnsigned(type) ? 0 : 1)) - 1n) }
    : nullValue;
};
const narrowed = (x: bigint): number | bigint => (x > BigInt(Number.MAX_SAFE_INTEGER) ? x : Number(x));

/** Where nothing is null, the points that keep the shape of the line, as records; times lie by their distances. */
const shape = ({ rows, value, by, third }: Group, name: string): Value => {
  const count = third(rows[0]);
  if (!isInteger(count.type) || Number(count.data) < 2) return textError(`${name}: count above one required`);
  const points = Array.from(rows, (row) => [value(row), by(row)] as const);
  const wrong = points.flat().find(({ type }) => !isInteger(type) && !isFloat(type) && type !== types.time);
  if (wrong || points.some(([, y]) => y.type === types.time))
    return textError(`${name}: numbers required, or times and numbers`);
  charge(points.length * valueBytes * 2, 'an aggregate function');
  const first = numericData(points[0]![0].data);
  const places = points.map(([x]) => Number(typeof first === 'bigint' ? BigInt(numericData(x.data)) - first : x.data));
  const chosen = shapedBy(
    Float64Array.from(places),
    Float64Array.from(points, ([, y]) => Number(y.data)),
    Number(count.data),
  );
  return arrayValue(
    chosen.map((i) =>
      recordValue([
        { name: 'x', value: points[i]![0] },
        { name: 'y', value: points[i]![1] },
      ]),
    ),
  );
};

const rules = {
  least: extremes(order),
  greatest: extremes(reversed),
  leastBy: extremesBy(order),
  greatestBy: extremesBy(reversed),
  leastByNulls: extremesByNulls(order),
  greatestByNulls: extremesByNulls(reversed),
  frequent: {
    arity: 2,
    empty: nullValue,
    result: (group, name) => {
      const { firsts, counts } = counted(group);
      return firstOf(
        { ...group, rows: firsts },
        name,
        group.by(group.rows[0]),
        (_, i) => intValue(counts[i]),
        reversed,
      );
    },
  },
  shape: { arity: 3, empty: nullValue, result: shape },
  bins: { arity: 2, empty: nullValue, result: (group, name) => binned(group, name, false) },
  exactBins: { arity: 2, empty: nullValue, result: (group, name) => binned(group, name, true) },
  counts: {
    arity: 1,
    empty: nullValue,
    result: (group) => {
      const { firsts, counts } = counted(group);
      charge(firsts.length * 3 * valueBytes, 'a map');
      return mapValue(
        Array.from(firsts, (row, i) => {
          checkStopAt(i);
          return [group.value(row), intValue(counts[i])] as const;
        }),
      );
    },
  },
  entropy: {
    arity: 1,
    empty: floatValue(0),
    result: (group) => {
      const { counts } = counted(group);
      const all = group.rows.length;
      return floatValue(
        -counts.reduce((n, count) => {
          const share = count / all;
          return n + share * Math.log2(share);
        }, 0) + 0,
      );
    },
  },
} as const satisfies Readonly<Record<string, Rule>>;
const ruleNamed = (name: string): Rule => (rules as Readonly<Record<string, Rule>>)[name];
