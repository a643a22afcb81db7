/**
 * avg in SQL: that of times is a time, that of durations a duration, both worked out in whole nanoseconds, that of
 * intervals with months an interval; else the mean of numbers.
 */
import { decimalOfUnits, exactOf, knownValue } from '../../../vectors/decimal.ts';
import { type PrimitiveType, isFloat, types } from '../../../vectors/type.ts';
import { dividedSpan, nanosOfDay, spanOf, spanValue } from '../../../vectors/spans.ts';
import {
  type Value,
  intValue,
  integer,
  recordValue,
  stringValue,
  textError,
  underValue,
} from '../../../vectors/value.ts';
import { type Vector, range, take, valueAt } from '../../../vectors/vector.ts';
import { Builder } from '../../../vectors/builder.ts';
import { fieldOf } from '../../expressions/access.ts';
import { overlay } from '../../expressions/rows.ts';
import { areSpans } from '../../expressions/sql/span-arithmetic.ts';
import { AvgState } from './avg.ts';
import { eachPart, everyPart, idsOfOne, pick } from '../grouping/parts.ts';
import type { AggregateState, Totals } from '../grouping/state.ts';
import { none } from '../grouping/pair-table.ts';

/** Of one group: nanoseconds. */
interface Total {
  sum: bigint;
  count: number;
  isTime: boolean;
  /** Of intervals, which the nanoseconds are beside. */
  months: number;
}

export class TimelyAvgState implements AggregateState {
  readonly keepsNothing = true;
  private readonly numbers = new AvgState(true);
  private readonly totals = new Map<number, Total>();
  get bytes(): number {
    return this.numbers.bytes + this.totals.size * 100;
  }
  grow(groups: number): void {
    this.numbers.grow(groups);
  }
  updateOne(group: number, argument: Vector): void {
    if (everyPart(argument, isTimeless)) this.numbers.updateOne(group, argument);
    else this.update(idsOfOne(group, argument.length), argument);
  }
  update(ids: Uint32Array, argument: Vector): void {
    if (everyPart(argument, isTimeless)) return this.numbers.update(ids, argument);
    const timely = new Uint8Array(argument.length);
    let found = false;
    eachPart(argument, (part, rows) => {
      const totalAt = isTimeless(part) ? undefined : totalsOf(part);
      if (!totalAt) return;
      found = true;
      for (let i = 0; i < part.length; i++) {
        const row = rows ? rows[i] : i;
        timely[row] = 1;
        this.add(ids[row], totalAt(i));
      }
    });
    if (!found) return this.numbers.update(ids, argument);
    const others = range(0, argument.length).filter((i) => timely[i] === 0);
    if (others.length > 0) this.numbers.update(pick(ids, others), take(argument, others));
  }
  takesTotals(group: number, totals: Totals): boolean {
    return (totals.sum && isTimely(totals.sum.type)) || this.numbers.takesTotals(group, totals);
  }
  addTotals(group: number, totals: Totals): void {
    const { sum, count } = totals;
    if (sum && isTimely(sum.type))
      this.add(group, { sum: sum.value, count, isTime: sum.type === types.time, months: 0 });
    else this.numbers.addTotals(group, totals);
  }
  private add(group: number, { sum, count, isTime, months }: Total): void {
    const known = this.totals.get(group);
    if (!known) this.totals.set(group, { sum, count, isTime, months });
    else {
      known.months += months;
      known.sum += sum;
      known.count += count;
      known.isTime ||= isTime;
    }
  }
  merge(other: AggregateState, map: Uint32Array, groups: number): void {
    const from = other as TimelyAvgState;
    this.numbers.merge(from.numbers, map, groups);
    for (const [g, total] of from.totals) if (map[g] !== none) this.add(map[g], total);
  }
  /** A record of `count` and `value`, the sum; of times and durations also of `unit` and `months`. */
  exported(groups: number): Vector {
    const out = new Builder();
    for (let g = 0; g < groups; g++) {
      const total = this.totals.get(g);
      const { count, sum } = total ?? this.numbers.totalOf(g);
      if (count === 0) out.null();
      else
        out.append(
          recordValue([
            { name: 'count', value: intValue(count) },
            { name: 'value', value: typeof sum === 'number' ? { type: types.float64, data: sum } : wholeValue(sum) },
            ...(total
              ? [
                  { name: 'unit', value: stringValue(total.isTime ? 'time' : 'duration') },
                  { name: 'months', value: intValue(total.months) },
                ]
              : []),
          ]),
        );
    }
    return out.finish();
  }
  absorb(ids: Uint32Array, states: Vector): void {
    const [counts, sums, units, months] = ['count', 'value', 'unit', 'months'].map((name) => fieldOf(states, name));
    for (let i = 0; i < ids.length; i++) {
      const count = Number(exactOf(valueAt(counts, i))?.units ?? 0n);
      const value = knownValue(valueAt(sums, i));
      const unit = underValue(valueAt(units, i)).data;
      const sum = isFloat(value.type) ? undefined : exactOf(value)?.units;
      if (count === 0) continue;
      if (sum === undefined) this.numbers.addFloats(ids[i], count, Number(value.data));
      else if (unit === 'time' || unit === 'duration')
        this.add(ids[i], {
          sum,
          count,
          isTime: unit === 'time',
          months: Number(exactOf(valueAt(months, i))?.units ?? 0n),
        });
      else
        this.numbers.addTotals(ids[i], { count, sum: { type: types.int64, value: sum, reach: sum < 0n ? -sum : sum } });
    }
  }
  result(groups: number): Vector {
    const numbers = this.numbers.result(groups);
    if (this.totals.size === 0) return numbers;
    const timely = new Builder();
    const mask = new Uint8Array(groups);
    for (let g = 0; g < groups; g++) {
      const total = this.totals.get(g);
      if (!total) timely.null();
      else {
        mask[g] = 1;
        timely.append(meanOf(total));
      }
    }
    return overlay(numbers, mask, timely.finish());
  }
}

/** A whole number, beyond 64 bits as its digits. */
const wholeValue = (x: bigint): Value =>
  x === BigInt.asIntN(64, x) ? { type: types.int64, data: integer(x) } : decimalOfUnits(x, 0);

const isTimely = (type: PrimitiveType): boolean => type === types.time || type === types.duration;
const isTimeless = (v: Vector): boolean => !areSpans(v) && (v.form !== 'number' || !isTimely(v.type));
/** What each row adds. */
const totalsOf = (part: Vector): ((row: number) => Total) | undefined => {
  if (part.form === 'number')
    return (i) => ({ sum: BigInt(part.values[i]), count: 1, isTime: part.type === types.time, months: 0 });
  return (i) => {
    const { months, days, nanos } = spanOf(valueAt(part, i))!;
    return { sum: BigInt(days) * nanosOfDay + nanos, count: 1, isTime: false, months };
  };
};
const meanOf = ({ sum, count, isTime, months }: Total): Value => {
  if (months === 0) return { type: isTime ? types.time : types.duration, data: integer(quotient(sum, BigInt(count))) };
  const days = Number(sum / nanosOfDay);
  const span = dividedSpan({ months, days, nanos: sum % nanosOfDay }, count);
  return (span && spanValue(span)) ?? textError('avg: interval out of range');
};

/** Rounded to the nearest whole, halves away from zero. */
const quotient = (sum: bigint, count: bigint): bigint =>
  sum < 0n ? -((-sum * 2n + count) / (count * 2n)) : (sum * 2n + count) / (count * 2n);
