/**
 * Aggregates that look at all the values of a group when it is complete: the least and greatest few, the most frequent
 * ones, how often each comes.
 */
import { checkStop, checked } from '../../../vectors/stop.ts';
import { type Type, bitsOf, isFloat, isInteger, isUnsigned, types } from '../../../vectors/type.ts';
import {
  type Value,
  arrayValue,
  floatValue,
  intValue,
  mapValue,
  nullValue,
  textError,
  underValue,
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
import { present } from './pairs.ts';
import { pick } from './parts.ts';

/** The rows of a group in the order of arrival. `code`: equal for equal values. */
interface HeldRow {
  readonly value: Value;
  readonly by: Value;
  readonly third: Value;
  readonly code: number;
}
/**
 * What comes of a group; `arity`: of how many arguments, the last of which is the same for each row but where there is
 * one.
 */
interface Rule {
  readonly arity: number /** Rows count whose values are null. */;
  readonly nulls?: true;
  readonly result: (rows: readonly HeldRow[], name: string) => Value;
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
    const codes = all.length > 0 ? new ColumnCodes(true).codes(fields[0]!) : new Uint32Array(0);
    const at = (field: Vector | undefined, row: number): Value => (field ? underValue(valueAt(field, row)) : nullValue);
    const out = new Builder();
    for (let g = 0; g < groups; g++) {
      checkStop();
      const own = Array.from(
        rows.subarray(offsets[g]!, offsets[g + 1]!),
        (row): HeldRow => ({
          value: at(fields[0], row),
          by: at(fields[1], row),
          third: at(fields[2], row),
          code: codes[row]!,
        }),
      );
      out.append(own.length === 0 ? rule.empty : rule.result(own, this.name));
    }
    return out.finish();
  }
}

/** The first values of the rows in order, as many as the last argument says. */
const firstOf = (
  rows: readonly HeldRow[],
  name: string,
  count: Value,
  compare: (a: HeldRow, b: HeldRow) => number,
): Value => {
  if (!isInteger(count.type) || !(Number(count.data) > 0)) return textError(`${name}: count above zero required`);
  return arrayValue(
    [...rows]
      .sort(checked(compare))
      .slice(0, Number(count.data))
      .map((r) => r.value),
  );
};
const extremes = (sign: 1 | -1): Rule => ({
  arity: 2,
  empty: nullValue,
  result: (rows, name) => firstOf(rows, name, rows[0]!.by, (a, b) => order(a.value, b.value) * sign),
});
const extremesBy = (sign: 1 | -1): Rule => ({
  arity: 3,
  empty: nullValue,
  result: (rows, name) => firstOf(rows, name, rows[0]!.third, (a, b) => order(a.by, b.by) * sign),
});
/** The same where nulls count: rows by nulls come last. */
const extremesByNulls = (sign: 1 | -1): Rule => ({
  arity: 3,
  nulls: true,
  empty: nullValue,
  result: (rows, name) =>
    firstOf(
      rows,
      name,
      rows[0]!.third,
      (a, b) => Number(isNull(a.by)) - Number(isNull(b.by)) || (isNull(a.by) ? 0 : order(a.by, b.by) * sign),
    ),
});
const isNull = ({ type }: Value): boolean => type === types.null;

interface Counted {
  readonly row: HeldRow;
  count: number;
}
/** Each value once, in the order of arrival. */
const counted = (rows: readonly HeldRow[]): readonly Counted[] => {
  const found = new Map<number, Counted>();
  for (const row of rows) {
    const known = found.get(row.code);
    if (known) known.count++;
    else found.set(row.code, { row, count: 1 });
  }
  return [...found.values()];
};

/**
 * How many values are in each bin: above the bound before and up to its own, or `exact`ly that; those in none under a
 * bound of their own.
 */
const binned = (rows: readonly HeldRow[], name: string, exact: boolean): Value => {
  const { value, by } = rows[0]!;
  const bounds = boundsOf(by, value.type);
  if (!bounds) return textError(`${name}: array of bounds required`);
  const counts = bounds.map(() => 0);
  let others = 0;
  for (const row of rows) {
    checkStop();
    const at = firstFrom(bounds, row.value);
    if (at < bounds.length && (!exact || order(bounds[at]!, row.value) === 0)) counts[at]!++;
    else others++;
  }
  const bins = bounds.map((bound, i) => [bound, intValue(counts[i]!)] as const);
  return mapValue(others === 0 ? bins : [...bins, [boundOfOthers(value.type), intValue(others)]]);
};
/** The bounds in order, each once, those of whole numbers as the values are; undefined for what is no array. */
const boundsOf = ({ type, data }: Value, of: Type): readonly Value[] | undefined => {
  if (type.kind !== 'array') return undefined;
  const given = (data as readonly Value['data'][])
    .map((x) => underValue({ type: type.element, data: x }))
    .filter((x) => !isNull(x));
  const bounds = given.map((x) =>
    isInteger(x.type) && isFloat(of)
      ? { type: of, data: Number(x.data) }
      : isInteger(x.type) && isInteger(of)
        ? { type: of, data: x.data }
        : x,
  );
  return bounds.sort(checked(order)).filter((x, i) => i === 0 || order(x, bounds[i - 1]!) !== 0);
};
const firstFrom = (bounds: readonly Value[], value: Value): number => {
  let low = 0;
  let high = bounds.length;
  while (low < high) {
    const middle = (low + high) >>> 1;
    if (order(bounds[middle]!, value) < 0) low = middle + 1;
    else high = middle;
  }
  return low;
};
/** Under it are the values that are in no bin: the greatest number of the type, the empty text, else null. */
const boundOfOthers = (type: Type): Value => {
  if (isFloat(type)) return { type, data: Infinity };
  if (type === types.string) return { type, data: '' };
  return isInteger(type)
    ? { type, data: narrowed(2n ** BigInt(bitsOf(type) - (isUnsigned(type) ? 0 : 1)) - 1n) }
    : nullValue;
};
const narrowed = (x: bigint): number | bigint => (x > BigInt(Number.MAX_SAFE_INTEGER) ? x : Number(x));

const rules = {
  least: extremes(1),
  greatest: extremes(-1),
  leastBy: extremesBy(1),
  greatestBy: extremesBy(-1),
  leastByNulls: extremesByNulls(1),
  greatestByNulls: extremesByNulls(-1),
  frequent: {
    arity: 2,
    empty: nullValue,
    result: (rows, name) => {
      const counts = new Map(counted(rows).map((c) => [c.row, c.count]));
      return firstOf([...counts.keys()], name, rows[0]!.by, (a, b) => counts.get(b)! - counts.get(a)!);
    },
  },
  bins: { arity: 2, empty: nullValue, result: (rows, name) => binned(rows, name, false) },
  exactBins: { arity: 2, empty: nullValue, result: (rows, name) => binned(rows, name, true) },
  counts: {
    arity: 1,
    empty: nullValue,
    result: (rows) => mapValue(counted(rows).map((c) => [c.row.value, intValue(c.count)] as const)),
  },
  entropy: {
    arity: 1,
    empty: floatValue(0),
    result: (rows) =>
      floatValue(
        -counted(rows).reduce((n, { count }) => n + (count / rows.length) * Math.log2(count / rows.length), 0) + 0,
      ),
  },
} as const satisfies Readonly<Record<string, Rule>>;
const ruleNamed = (name: string): Rule => (rules as Readonly<Record<string, Rule>>)[name]!;
