/**
 * avg in SQL: that of times is a time, that of durations a duration, both worked out in whole nanoseconds, that of
 * intervals with months an interval; else the mean of numbers.
 */
import { type PrimitiveType, types } from '../../vectors/type.ts';
import { dividedSpan, nanosOfDay, spanOf, spanValue } from '../../vectors/spans.ts';
import { type Value, integer, textError } from '../../vectors/value.ts';
import { type Vector, range, take, valueAt } from '../../vectors/vector.ts';
import { Builder } from '../../vectors/builder.ts';
import { overlay } from '../expressions/rows.ts';
import { areSpans } from '../expressions/sql/span-arithmetic.ts';
import { AvgState } from './avg.ts';
import { eachPart, everyPart, idsOfOne, pick } from './grouping/parts.ts';
import type { AggregateState, Totals } from './grouping/state.ts';
import { none } from './grouping/pair-table.ts';

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
