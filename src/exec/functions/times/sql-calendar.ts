/** Times by the calendar that SQL alone asks for: whole units between two, days of months, times of day of parts. */
import { intervalUnit } from '../../../query/analyze/intervals.ts';
import { daysOfMonth } from '../../../vectors/literal.ts';
import { integer } from '../../../vectors/value.ts';
import { sqlClockText } from '../../expressions/sql/texts.ts';
import { byKernel, rowsOf, type FunctionRow } from '../row.ts';
import { Refusal, byRow, rowKernel } from '../typed.ts';
import { byDay } from './by-unit.ts';
import { clockMicros, outOfRange } from './calendar.ts';
import { momentAt, type FullMoment } from './date-parts.ts';

type Nanos = number | bigint;
const clockOf = (m: FullMoment): number => ((m.hour * 60 + m.minute) * 60 + m.second) * 1e9 + m.nanos;
/** Whole months from one time on to a later one; the last day of a month is as late in it as any day of a longer one. */
const monthsUntil = (from: Nanos, to: Nanos): number => {
  const [a, b] = [momentAt(from), momentAt(to)];
  const last = daysOfMonth(b.year, b.month);
  const day = b.day === last ? Math.min(a.day, last) : a.day;
  const isWhole = b.day > day || (b.day === day && clockOf(b) >= clockOf(a));
  return (b.year - a.year) * 12 + b.month - a.month - (isWhole ? 0 : 1);
};
const wholeUnits = (name: string, from: Nanos, to: Nanos): Nanos | Refusal => {
  const unit = intervalUnit(name);
  if (!unit) return new Refusal('unknown unit');
  if (unit.kind !== 'months') return integer((BigInt(to) - BigInt(from)) / unit.size);
  const count = to >= from ? monthsUntil(from, to) : -monthsUntil(to, from);
  return Math.trunc(count / unit.size) + 0;
};
const madeClock = (hour: Nanos, minute: Nanos, second: number): string | Refusal => {
  const micros = clockMicros(Number(hour), Number(minute), second);
  return micros === undefined || Number(hour) === 24 ? outOfRange : sqlClockText(BigInt(micros) * 1000n);
};

export const sqlCalendar: readonly FunctionRow[] = [
  ...rowsOf(
    'date_sub(unit, from, to)',
    'How many whole units there are from one time to another; date_diff counts the beginnings of units.',
    byRow('date_sub', ['string', 'time', 'time'], 'integer', wholeUnits),
    [
      ['date_sub("month",2024-01-31T00:00:00Z,2024-03-30T00:00:00Z)', '1'],
      ['date_sub("day",2024-01-01T12:00:00Z,2024-01-03T11:00:00Z)', '1'],
      ['date_sub("x",2024-01-31T00:00:00Z,2024-02-01T00:00:00Z)', 'error({message:"date_sub: unknown unit",on:"x"})'],
    ],
    { also: ['datesub'] },
  ),
  ...rowsOf(
    'days_in_month(t)',
    "How many days a time's month has.",
    byKernel(
      byDay(
        rowKernel('days_in_month', ['time'], 'integer', (t) => {
          const { year, month } = momentAt(t);
          return daysOfMonth(year, month);
        }),
      ),
      'bare',
    ),
    [
      ['days_in_month(2024-02-10T00:00:00Z)', '29'],
      ['days_in_month(1)', 'error({message:"days_in_month: time argument required",on:1})'],
    ],
  ),
  ...rowsOf(
    'make_time(hour, minute, second)',
    'The time of day with these parts, as text.',
    byRow('make_time', ['integer', 'integer', 'number'], 'string', madeClock),
    [
      ['make_time(1,2,3.5)', '"01:02:03.5"'],
      ['make_time(1,60,0)', 'error({message:"make_time: out of range",on:1})'],
      ['make_time("a",0,0)', 'error({message:"make_time: integer argument required",on:"a"})'],
    ],
  ),
];
