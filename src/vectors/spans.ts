/**
 * Intervals of SQL that have months. A duration holds days and shorter units; months have no length of their own, and
 * so they are counted apart: as Arrow has its intervals of months, days and nanoseconds, under the name that its reader
 * gives these.
 *
 * Invariants:
 * - An interval has one form: the duration wherever it has no months and a duration holds the rest.
 * - Where intervals are compared or put in order, a month is thirty days.
 */
import { fitsInt64 } from './literal.ts';
import { namedType, recordType, types } from './type.ts';
import { type Value, integer, bytesData, numericData } from './value.ts';

/** Months and days have no length of their own: they are apart from the rest. */
export interface TimeSpan {
  readonly months: number;
  readonly days: number;
  readonly nanos: bigint;
}

/** What an interval with months is, and the name above it. */
export const spanRecord = recordType([
  { name: 'month', type: types.int32 },
  { name: 'day', type: types.int32 },
  { name: 'nanoseconds', type: types.int64 },
]);
export const spanName = 'arrow_month_day_nano_interval';
export const spanType = namedType(spanName, spanRecord);

type Nanos = number | bigint;
export const nanosOfDay = 86_400_000_000_000n;
/** Days of a month where a length is needed. */
export const daysOfSpanMonth = 30;
const intervalBytes = 12;
/**
 * Of a duration whole days are told apart; the twelve bytes of an interval of Parquet are months, days and
 * milliseconds. Undefined for other values.
 */
export const spanOf = ({ type, data }: Value): TimeSpan | undefined => {
  if (type === types.duration)
    return {
      months: 0,
      days: Number(BigInt(numericData(data)) / nanosOfDay),
      nanos: BigInt(numericData(data)) % nanosOfDay,
    };
  if (type === spanRecord || type === spanType) {
    const [months, days, nanos] = data as readonly [number, number, Nanos];
    return { months, days, nanos: BigInt(nanos) };
  }
  if (type !== types.bytes || bytesData(data).length !== intervalBytes) return undefined;
  const bytes = bytesData(data);
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.length);
  return {
    months: view.getInt32(0, true),
    days: view.getInt32(4, true),
    nanos: BigInt(view.getInt32(8, true)) * 1_000_000n,
  };
};

const isInt32 = (x: number): boolean => Number.isInteger(x) && x >= -(2 ** 31) && x < 2 ** 31;
/** The value of an interval in its one form; undefined for one that has no place in it. */
export const spanValue = ({ months, days, nanos }: TimeSpan): Value | undefined => {
  const rest = Number.isSafeInteger(days) ? BigInt(days) * nanosOfDay + nanos : undefined;
  if (rest === undefined || !isInt32(months)) return undefined;
  if (months === 0 && fitsInt64(rest)) return { type: types.duration, data: integer(rest) };
  const whole = Number(rest / nanosOfDay);
  return isInt32(whole) ? { type: spanType, data: [months + 0, whole + 0, integer(rest % nanosOfDay)] } : undefined;
};
/** The nanoseconds that an interval is taken for where it is compared. */
export const lengthOfSpan = ({ months, days, nanos }: TimeSpan): bigint =>
  BigInt(months * daysOfSpanMonth + days) * nanosOfDay + nanos;

export const plusSpan = (a: TimeSpan, b: TimeSpan, sign: 1 | -1): TimeSpan => ({
  months: a.months + sign * b.months,
  days: a.days + sign * b.days,
  nanos: a.nanos + BigInt(sign) * b.nanos,
});
/** Parts of a month are parts of thirty days, parts of a day of 24 hours. Undefined for what is no number. */
export const timesSpan = ({ months, days, nanos }: TimeSpan, by: number): TimeSpan | undefined => {
  if (Number.isSafeInteger(by)) return { months: months * by, days: days * by, nanos: nanos * BigInt(by) };
  return spread(months * by, days * by, Number(nanos) * by);
};
/** The quotient; undefined where there is none. */
export const dividedSpan = ({ months, days, nanos }: TimeSpan, by: number): TimeSpan | undefined => {
  if (by === 0 || !Number.isSafeInteger(by))
    return by === 0 ? undefined : spread(months / by, days / by, Number(nanos) / by);
  const whole = Math.trunc(months / by) + 0;
  const rest = lengthOfSpan({ months: months - whole * by, days, nanos });
  return { months: whole, days: 0, nanos: quotient(rest, BigInt(by)) };
};
/** Rounded to the nearest whole, halves away from zero. */
const quotient = (x: bigint, by: bigint): bigint => {
  const [n, d] = by < 0n ? [-x, -by] : [x, by];
  return n < 0n ? -((-n * 2n + d) / (d * 2n)) : (n * 2n + d) / (d * 2n);
};
/** Parts of a day below this are what floats make of whole days. */
const dayDust = 1e-10;
const wholeOf = (x: number): number => {
  const near = Math.round(x);
  return (Math.abs(x - near) < dayDust ? near : Math.trunc(x)) + 0;
};
const spread = (months: number, days: number, nanos: number): TimeSpan | undefined => {
  const wholeMonths = wholeOf(months);
  const allDays = days + (months - wholeMonths) * daysOfSpanMonth;
  const wholeDays = wholeOf(allDays);
  const part = Math.abs(allDays - wholeDays) < dayDust ? 0 : allDays - wholeDays;
  const rest = Math.round(part * Number(nanosOfDay) + nanos);
  return Number.isFinite(rest) ? { months: wholeMonths, days: wholeDays, nanos: BigInt(rest) } : undefined;
};
