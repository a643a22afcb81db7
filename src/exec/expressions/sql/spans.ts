/** Times that are moved by spans of time with months in them. */
import { dateOfDays, daysOfDate, daysOfMonth, fitsInt64 } from '../../../vectors/literal.ts';
import { type TimeSpan, nanosOfDay } from '../../../vectors/spans.ts';
import { integer } from '../../../vectors/value.ts';

type Nanos = number | bigint;
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
