/** Functions of SQL whose results are intervals, or which take nothing else. */
import { dateOfDays, daysOfMonth, fitsInt64 } from '../../../vectors/literal.ts';
import { type TimeSpan, lengthOfSpan, nanosOfDay, spanOf, spanValue } from '../../../vectors/spans.ts';
import { types } from '../../../vectors/type.ts';
import { type Value, integer } from '../../../vectors/value.ts';
import { type FunctionRow, rowsOf } from '../row.ts';
import { Refusal, byRow } from '../typed.ts';

type Nanos = number | bigint;
/** The day of a time by the calendar, and its nanoseconds. */
const partsOf = (t: Nanos) => {
  const at = BigInt(t);
  const rest = at % nanosOfDay;
  const clock = rest < 0n ? rest + nanosOfDay : rest;
  const { year, month, day } = dateOfDays(Number((at - clock) / nanosOfDay));
  return { year, month, day, clock };
};
/** Years, months, days and the clock from one time to a later one, as a calendar counts them. */
const between = (from: Nanos, to: Nanos): TimeSpan => {
  const [a, b] = [partsOf(from), partsOf(to)];
  const nanos = b.clock - a.clock;
  let days = b.day - a.day - (nanos < 0n ? 1 : 0);
  let months = (b.year - a.year) * 12 + b.month - a.month;
  let { year, month } = a;
  while (days < 0) {
    days += daysOfMonth(year, month);
    months--;
    year += month === 12 ? 1 : 0;
    month = (month % 12) + 1;
  }
  return { months, days, nanos: nanos < 0n ? nanos + nanosOfDay : nanos };
};
const negated = ({ months, days, nanos }: TimeSpan): TimeSpan => ({
  months: 0 - months,
  days: 0 - days,
  nanos: -nanos,
});
const age = (to: Nanos, from: Nanos): Value | Refusal => {
  const isBehind = BigInt(to) < BigInt(from);
  const span = isBehind ? negated(between(to, from)) : between(from, to);
  return spanValue(span) ?? new Refusal('out of range');
};

const length = (v: Value): Value | Refusal => {
  const span = spanOf(v);
  const nanos = span && lengthOfSpan(span);
  if (nanos === undefined) return new Refusal('interval argument required');
  return fitsInt64(nanos) ? { type: types.duration, data: integer(nanos) } : new Refusal('out of range');
};

const sqlOnly = 'all';
export const spans: readonly FunctionRow[] = [
  ...rowsOf(
    'age(t[, from])',
    'The years, months, days and the clock from one time to another, as an interval; with one argument from that time to today.',
    byRow('age', ['time', 'time'], 'value', age),
    [
      ["select age(timestamp '2024-03-15', timestamp '2023-01-31')::varchar as a", '{a:"1 year 1 month 15 days"}'],
      ['select age(x, x) as a from (values (1)) t(x)', '{a:error({message:"age: time argument required",on:1})}'],
    ],
    { sqlOnly, impure: true },
  ),
  ...rowsOf(
    'interval_length(i)',
    'An interval as a duration: a month counts as thirty days, as where intervals are compared.',
    byRow('interval_length', ['value'], 'value', length),
    [
      ["select interval_length(interval '1 month 2 days') as d", '{d:32d}'],
      [
        'select interval_length(x) as d from (values (1)) t(x)',
        '{d:error({message:"interval_length: interval argument required",on:1})}',
      ],
    ],
    { sqlOnly },
  ),
];
