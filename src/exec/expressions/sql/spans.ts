/** Spans of time with months in them, as intervals of Parquet have them, and times that are moved by them. */
import { dateOfDays, daysOfDate, daysOfMonth, fitsInt64 } from '../../../vectors/literal.ts';
import { types } from '../../../vectors/type.ts';
import { type Value, integer } from '../../../vectors/value.ts';

type Nanos = number | bigint;
/** Months and days have no length of their own: they are apart from the rest. */
export interface TimeSpan {
  readonly months: number;
  readonly days: number;
  readonly nanos: bigint;
}

const nanosOfDay = 86_400_000_000_000n;
const intervalBytes = 12;
/**
 * Of a duration whole days are told apart; the twelve bytes of an interval of Parquet are months, days and
 * milliseconds. Undefined for other values.
 */
export const spanOf = ({ type, data }: Value): TimeSpan | undefined => {
  if (type === types.duration)
    return { months: 0, days: Number(BigInt(data as Nanos) / nanosOfDay), nanos: BigInt(data as Nanos) % nanosOfDay };
  if (type !== types.bytes || (data as Uint8Array).length !== intervalBytes) return undefined;
  const bytes = data as Uint8Array;
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.length);
  return {
    months: view.getInt32(0, true),
    days: view.getInt32(4, true),
    nanos: BigInt(view.getInt32(8, true)) * 1_000_000n,
  };
};

/** Years beyond this are no times. */
const yearMax = 9999;
/**
 * The same clock of the same day so many months on; a day that the month has not is its last. Undefined beyond the
 * range of times.
 */
export const monthsOn = (t: Nanos, count: Nanos): Nanos | undefined => {
  const at = BigInt(t);
  const days = Number((at - (((at % nanosOfDay) + nanosOfDay) % nanosOfDay)) / nanosOfDay);
  const { year, month, day } = dateOfDays(days);
  const all = year * 12 + month - 1 + Number(count);
  const y = Math.floor(all / 12);
  const m = all - y * 12 + 1;
  if (!Number.isSafeInteger(all) || Math.abs(y) > yearMax) return undefined;
  const moved = BigInt(daysOfDate(y, m, Math.min(day, daysOfMonth(y, m))) - days) * nanosOfDay + at;
  return fitsInt64(moved) ? integer(moved) : undefined;
};
/** A time and a span: first the months, then days and the rest. Undefined beyond the range of times. */
export const movedBy = (t: Nanos, { months, days, nanos }: TimeSpan, sign: 1 | -1): Nanos | undefined => {
  const at = monthsOn(t, sign * months);
  const sum = at === undefined ? undefined : BigInt(at) + BigInt(sign) * (BigInt(days) * nanosOfDay + nanos);
  return sum !== undefined && fitsInt64(sum) ? integer(sum) : undefined;
};
