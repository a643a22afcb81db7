/**
 * Comparisons and functions of decimals that no float64 gives back, digit by digit (vectors/decimal.ts). Functions that
 * are not here take them as the nearest floats.
 */
import type { CompareOperator } from '../../../query/plan/plan.ts';
import {
  type Exact,
  compareExact,
  comparedOf,
  decimalData,
  decimalValue,
  exactOf,
  isLongDecimal,
  knownValue,
  longDecimalType,
  mayHaveLongDecimals,
  unitsAt,
} from '../../../vectors/decimal.ts';
import { checkStopAt } from '../../../vectors/stop.ts';
import { types } from '../../../vectors/type.ts';
import { type Value, nullValue } from '../../../vectors/value.ts';
import { type Vector, bools, valueAt } from '../../../vectors/vector.ts';
import { Builder } from '../../../vectors/builder.ts';
import type { Evaluate, FunctionRow } from '../../functions/row.ts';
import { type Kernel, apply, isLong } from '../apply.ts';
import { negate } from '../arithmetic.ts';
import { truth, truthOf } from '../rows.ts';
import { holds } from './compare.ts';
import { order } from './value-order.ts';

/** The kernel, but for long decimals beside numbers. */
export const besideLong =
  (operator: CompareOperator, kernel: Kernel): Kernel =>
  ([left, right], length) => {
    const l = left!;
    const r = right!;
    if (!isLong(l) && !isLong(r)) return kernel([l, r], length);
    const out = new Uint8Array(length);
    for (let i = 0; i < length; i++) {
      checkStopAt(i);
      const a = comparedOf(knownAt(l, i));
      const b = comparedOf(knownAt(r, i));
      if (!a || !b) return apply([near(l), near(r)], length, kernel, 'bare');
      out[i] = holds(operator, compareExact(a, b)) ? 1 : 0;
    }
    return bools(out);
  };
const knownAt = (v: Vector, row: number): Value => {
  const value = valueAt(v, row);
  return isLong(v) ? { type: longDecimalType, data: value.data } : value;
};
/** Under its name, by which it is taken for floats. */
const near = (v: Vector): Vector =>
  isLong(v) ? { form: 'named', name: longDecimalType.name, length: v.length, inner: v } : v;

/** -x, where some of the rows are long decimals. */
export const negateLong = (v: Vector): Vector =>
  byValues(
    [v],
    ([x]) => mapped(x!, (e) => ({ ...e, units: -e.units })),
    ([x], length) => negate(x!, length, true),
  );

type ByValue = (args: readonly Value[]) => Value;
const mapped = (v: Value, of: (e: Exact) => Exact): Value => {
  const exact = exactOf(v);
  const data = exact && decimalData(of(exact));
  return data === undefined ? v : decimalValue(data);
};
const rounded =
  (of: (e: Exact, places: number) => bigint): ByValue =>
  ([x, places]) => {
    if (places?.type === types.null) return nullValue;
    // All digits of a number are before the place that is so far away.
    const to = Math.max(Number(places?.data ?? 0), -placesMax);
    return mapped(x!, (e) =>
      to >= e.scale ? e : { units: of(e, to) * (to < 0 ? 10n ** BigInt(-to) : 1n), scale: Math.max(to, 0) },
    );
  };
/** No number has so many digits: floats have 309 before the point. */
const placesMax = 400;
const half = (e: Exact, to: number): bigint => (to < 0 ? unitsAt({ ...e, scale: e.scale - to }, 0) : unitsAt(e, to));
const cut = ({ units, scale }: Exact, to: number): bigint => units / 10n ** BigInt(scale - to);
const below = (e: Exact, to: number): bigint => cut(e, to) - (e.units < 0n && isCut(e, to) ? 1n : 0n);
const above = (e: Exact, to: number): bigint => cut(e, to) + (e.units > 0n && isCut(e, to) ? 1n : 0n);
const isCut = ({ units, scale }: Exact, to: number): boolean => units % 10n ** BigInt(scale - to) !== 0n;
const best =
  (sign: 1 | -1): ByValue =>
  (args) =>
    args.reduce((a, b) => {
      if (a.type === types.null) return b;
      return b.type !== types.null && order(b, a) * sign > 0 ? b : a;
    });
const calls: Readonly<Record<string, ByValue>> = {
  abs: ([x]) => mapped(x!, (e) => (e.units < 0n ? { ...e, units: -e.units } : e)),
  sign: ([x]) => ({ type: types.int64, data: Math.sign(Number(x!.data)) }),
  round: rounded(half),
  trunc: rounded(cut),
  floor: rounded(below),
  ceil: rounded(above),
  ceiling: rounded(above),
  greatest: best(1),
  least: best(-1),
  nullif: ([x, y]) => (y!.type !== types.null && order(x!, y!) === 0 ? nullValue : x!),
};
/** Functions whose places are looked at where those of other numbers are. */
const refusing: ReadonlySet<ByValue> = new Set([calls.round, calls.trunc]);

/** The function, worked out digit by digit where its arguments have long decimals. */
export const exactCall = ({ name, exact }: Pick<FunctionRow, 'name' | 'exact'>, evaluate: Evaluate): Evaluate => {
  const call = exact ?? (Object.hasOwn(calls, name) ? calls[name] : undefined);
  if (!call) return evaluate;
  const refusals = refusing.has(call);
  return (args, length) =>
    args.some(mayHaveLongDecimals) ? byValues(args, call, evaluate, refusals) : evaluate(args, length);
};
/** Rows without a long decimal are those of `evaluate`; with `refusals` also those whose arguments it refuses. */
const byValues = (args: readonly Vector[], call: ByValue, evaluate: Evaluate, refusals = false): Vector => {
  const length = args[0]?.length ?? 0;
  const plain = evaluate(args, length);
  const codes = refusals ? truthOf(plain) : undefined;
  const out = new Builder();
  for (let i = 0; i < length; i++) {
    checkStopAt(i);
    const values = args.map((arg) => knownValue(valueAt(arg, i)));
    const first = values[0];
    if (codes?.[i] === truth.error || !values.some((v) => isLongDecimal(v.type))) out.append(valueAt(plain, i));
    else if (first.type === types.null && values.length === 1) out.append(nullValue);
    else out.append(call(values));
  }
  return out.finish();
};
