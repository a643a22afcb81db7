/**
 * Quantiles in SQL: of the values of a group in order, NaN last, those at a fraction of the way; the median of any
 * values, and the median distance from it. Nulls and what is missing are left out.
 */
import { LakeError } from '../../../errors.ts';
import { checkStop, checked } from '../../../vectors/stop.ts';
import {
  decimalData,
  decimalValue,
  exactOf,
  exactOfFloat,
  exactText,
  isLongDecimal,
  knownValue,
  mayHaveLongDecimals,
  nearValue,
  unitsAt,
} from '../../../vectors/decimal.ts';
import { type Type, isFloat, isInteger, types } from '../../../vectors/type.ts';
import {
  type Value,
  arrayValue,
  floatValue,
  intValue,
  integer,
  nullValue,
  textError,
  underValue,
  itemsData,
  numericData,
} from '../../../vectors/value.ts';
import { type Vector, range, valueAt } from '../../../vectors/vector.ts';
import { supText } from '../../../vectors/sup/print.ts';
import { Builder } from '../../../vectors/builder.ts';
import { concat } from '../../../vectors/concat.ts';
import { fieldOf } from '../../expressions/access.ts';
import { order } from '../../expressions/sql/value-order.ts';
import { sortedOrder } from '../../operators/sort/radix.ts';
import { sortWords } from '../../operators/sort/words.ts';
import { CollectState } from '../collect.ts';
import { sortByGroup } from '../lists.ts';
import { everyPart, pick } from '../grouping/parts.ts';
import type { AggregateState } from '../grouping/state.ts';
import { none } from '../grouping/pair-table.ts';

/**
 * What is between two values: the one before (`discrete`), or a value in between (`continuous`), which `rounded` makes
 * a whole number among whole ones. `median`: continuous where that can be, half of the way. `deviation`: the median of
 * the distances from the median.
 */
export type QuantileKind = 'discrete' | 'continuous' | 'rounded' | 'median' | 'deviation';

/** Values of a group in order, by place. */
export interface Sorted {
  readonly count: number;
  readonly at: (place: number) => Value;
}

/** A fraction, or several, and whether they count from the greatest value down. */
interface Fraction {
  readonly of: Value;
  readonly isDescending: boolean;
}

export class QuantileState extends CollectState {
  private readonly name: string;
  readonly kind: QuantileKind;
  /** By group: the fractions, and whether they count from the greatest value down. That of its last row counts. */
  private readonly fractions = new Map<number, Fraction>();
  private readonly isSql: boolean;
  /**
   * The arguments are a record, but those of `median` and `deviation`. `isSql`: values between which there is none end
   * the query.
   */
  constructor(name: string, kind: QuantileKind, isSql = false) {
    super();
    this.name = name;
    this.kind = kind;
    this.isSql = isSql;
  }
  override update(ids: Uint32Array, argument: Vector): void {
    if (this.kind === 'median' || this.kind === 'deviation') return super.update(ids, argument);
    const by = fieldOf(argument, 'by');
    const third = underValue(argument.length > 0 ? valueAt(fieldOf(argument, 'third'), 0) : nullValue);
    const isDescending = third.data === 'desc';
    for (let i = 0; i < argument.length; i++)
      if (i === argument.length - 1 || ids[i] !== ids[i + 1])
        this.fractions.set(ids[i], { of: underValue(valueAt(by, i)), isDescending });
    super.update(ids, fieldOf(argument, 'value'));
  }
  override merge(other: AggregateState, map: Uint32Array): void {
    super.merge(other, map);
    for (const [g, fraction] of (other as QuantileState).fractions)
      if (map[g] !== none) this.fractions.set(map[g], fraction);
  }
  override result(groups: number): Vector {
    checkStop();
    const out = new Builder();
    const values = concat(this.kept);
    const sorted = orderOf(values);
    const { order, offsets } = sortByGroup(pick(this.ids.done(), sorted), this.ids.length, groups);
    for (let g = 0; g < groups; g++) {
      const start = offsets[g];
      const count = offsets[g + 1] - start;
      out.append(
        this.ofValues(
          { count, at: (place) => knownValue(valueAt(values, sorted[order[start + place]])) },
          this.fractions.get(g),
        ),
      );
    }
    return out.finish();
  }
  /** The result for values in order; median and deviation take no fraction. */
  ofValues(values: Sorted, fraction: Fraction | undefined): Value {
    if (values.count === 0) return nullValue;
    if (this.kind === 'median') return this.at(values, 0.5, false);
    if (this.kind === 'deviation')
      return deviation(
        values,
        (of) => this.at(of, 0.5, false),
        (odd) => this.notBetween(odd),
      );
    const { of, isDescending } = fraction!;
    if (of.type.kind !== 'array') return this.checked(values, of, isDescending);
    const { element } = of.type;
    return arrayValue(
      itemsData(of.data).map((data) => this.checked(values, underValue({ type: element, data }), isDescending)),
    );
  }
  private checked(values: Sorted, { type, data }: Value, isDescending: boolean): Value {
    const fraction = Number(data);
    if (!(isInteger(type) || isFloat(type)) || !(fraction >= -1 && fraction <= 1))
      return this.notFraction({ type, data });
    return this.at(values, Math.abs(fraction), isDescending !== fraction < 0);
  }
  /** The value at the fraction of the way. */
  private at({ count, at }: Sorted, fraction: number, isDescending: boolean): Value {
    const place = (k: number): Value => at(isDescending ? count - 1 - k : k);
    if (this.kind === 'discrete' || (this.kind === 'median' && !(isContinuous(at(0)) && isContinuous(at(count - 1))))) {
      return place(Math.max(1, count - Math.floor(count - fraction * count)) - 1);
    }
    const way = (count - 1) * fraction;
    const low = Math.floor(way);
    const from = place(low);
    const to = place(Math.ceil(way));
    if (!isContinuous(from) || !isContinuous(to)) return this.notBetween(isContinuous(from) ? to : from);
    const exact = isExact(from, to) ? exactWay(fraction, count - 1) : undefined;
    if (exact) return exactMiddle(place(exact.low), place(exact.high), exact);
    const between = middle(from, to, way - low);
    return this.kind === 'rounded' && isInteger(from.type) && isInteger(to.type)
      ? intValue(roundHalfEven(Number(between.data)))
      : between;
  }
  /** Of texts, lists. @throws query-aggregate in SQL */
  private notBetween(value: Value): Value {
    const wanted = 'numbers, times or durations';
    if (this.isSql)
      throw new LakeError('query-aggregate', {
        aggregate: this.name,
        wanted,
        value: supText(value).slice(0, 100),
        type: 'double',
      });
    return textError(
      `${this.name}: ${wanted} required${this.kind === 'deviation' ? '' : ', quantile_disc takes any values'}`,
    );
  }
  /** @throws query-argument in SQL */
  private notFraction(value: Value): Value {
    const fault = 'fraction from 0 to 1 required';
    if (this.isSql)
      throw new LakeError('query-argument', { fault: `${this.name}: ${fault}, got ${supText(value).slice(0, 100)}` });
    return textError(`${this.name}: ${fault}`);
  }
}

/** The rows in order, NaN behind all other numbers. */
export const orderOf = (values: Vector): Uint32Array => {
  if (
    !mayHaveLongDecimals(values) &&
    everyPart(values, (part) => part.form === 'number' || part.form === 'bytes' || part.form === 'bool')
  ) {
    const sorted = sortedOrder(sortWords(values, { order: 'asc', nulls: 'last' }), values.length);
    let first = 0;
    while (first < sorted.length && Number.isNaN(underValue(valueAt(values, sorted[first])).data)) first++;
    return first === 0 ? sorted : range(0, sorted.length).map((i) => sorted[(i + first) % sorted.length]);
  }
  const rows = Array.from({ length: values.length }, (_, i) => knownValue(valueAt(values, i)));
  return range(0, values.length).sort(checked((a: number, b: number): number => order(rows[a], rows[b])));
};

const isTimely = (t: Type): boolean => t === types.time || t === types.duration;
const isContinuous = (v: Value): boolean =>
  isInteger(v.type) || isFloat(v.type) || isTimely(v.type) || (isLongDecimal(v.type) && exactOf(v) !== undefined);
/** Times or durations, and numbers of which one is a decimal that no float gives back. */
const isExact = (from: Value, to: Value): boolean =>
  isTimely(from.type) ? from.type === to.type : isLongDecimal(from.type) || isLongDecimal(to.type);
const roundHalfEven = (x: number): number => {
  const low = Math.floor(x);
  const rest = x - low;
  return rest < 0.5 || (rest === 0.5 && low % 2 === 0) ? low : low + 1;
};

/** The value so far between two numbers, as float64. */
const middle = (from: Value, to: Value, share: number): Value => {
  const a = Number(nearValue(from).data);
  const b = Number(nearValue(to).data);
  return floatValue(share === 0 ? a : a + (b - a) * share);
};

/** A place between two values: `rest` of 10 to the `scale` of the way from the one at `low` to the one at `high`. */
interface ExactWay {
  readonly low: number;
  readonly high: number;
  readonly rest: bigint;
  readonly scale: number;
}
/** Smaller fractions are as good as none, but would make long numbers. */
const fractionPlacesMax = 40;
/** By the digits of the fraction as it is written, 0.9 of ten steps is nine of them; undefined for very small ones. */
const exactWay = (fraction: number, steps: number): ExactWay | undefined => {
  const of = exactOfFloat(fraction);
  if (!of || of.scale > fractionPlacesMax) return undefined;
  const size = 10n ** BigInt(of.scale);
  const way = of.units * BigInt(steps);
  const low = Number(way / size);
  const rest = way % size;
  return { low, high: rest === 0n ? low : low + 1, rest, scale: of.scale };
};
const exactMiddle = (from: Value, to: Value, way: ExactWay): Value => {
  if (isTimely(from.type) && from.type === to.type) return middleTime(from, to, way);
  const [a, b] = [exactOf(from), exactOf(to)];
  if (!a || !b) return middle(from, to, Number(`${way.rest}e-${way.scale}`));
  const scale = Math.max(a.scale, b.scale);
  const start = unitsAt(a, scale);
  const between = {
    units: start * 10n ** BigInt(way.scale) + (unitsAt(b, scale) - start) * way.rest,
    scale: scale + way.scale,
  };
  return decimalValue(decimalData(between) ?? Number(exactText(between)));
};
const nanosOfMicro = 1000n;
/** Rounded to microseconds where both are of whole ones, else to nanoseconds. */
const middleTime = (from: Value, to: Value, { rest, scale }: ExactWay): Value => {
  const start = BigInt(numericData(from.data));
  const end = BigInt(numericData(to.data));
  const unit = start % nanosOfMicro === 0n && end % nanosOfMicro === 0n ? nanosOfMicro : 1n;
  const steps = unitsAt({ units: ((end - start) / unit) * rest, scale }, 0);
  return { type: from.type, data: integer(start + steps * unit) };
};

/** The median of how far the values are from their median; the distance of times is a duration. */
const deviation = (values: Sorted, median: (of: Sorted) => Value, refuse: (odd: Value) => Value): Value => {
  const around = median(values);
  const all = Array.from({ length: values.count }, (_, k) => values.at(k));
  const odd = all.find((v) => !isContinuous(v));
  if (odd) return refuse(odd);
  const isOfDecimals = [around, ...all].some((v) => isLongDecimal(v.type));
  const distances = all
    .map((v): Value => {
      if (!isTimely(v.type)) return isExact(v, around) ? distance(v, around) : floatValue(nearDistance(v, around));
      const length = BigInt(numericData(v.data)) - BigInt(numericData(around.data));
      return { type: types.duration, data: integer(length < 0n ? -length : length) };
    })
    .sort(isOfDecimals ? order : byData);
  return median({ count: distances.length, at: (k) => distances[k] });
};
const byData = (a: Value, b: Value): number => (a.data! < b.data! ? -1 : a.data! > b.data! ? 1 : 0);
const nearDistance = (a: Value, b: Value): number => Math.abs(Number(nearValue(a).data) - Number(nearValue(b).data));
/** How far two numbers are from each other, exactly, in as many digits as decimals have. */
const distance = (a: Value, b: Value): Value => {
  const [x, y] = [exactOf(a), exactOf(b)];
  if (!x || !y) return floatValue(nearDistance(a, b));
  const scale = Math.max(x.scale, y.scale);
  const by = unitsAt(x, scale) - unitsAt(y, scale);
  const exact = { units: by < 0n ? -by : by, scale };
  return decimalValue(decimalData(exact) ?? Number(exactText(exact)));
};
