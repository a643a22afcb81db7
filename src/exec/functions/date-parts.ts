/** The parts of times as SQL names them (UTC), of durations and of times of day: date_part, and functions with the names of the parts. */
import { dateOfDays, daysOfDate, primitiveText } from '../../vectors/literal.ts';
import { types } from '../../vectors/type.ts';
import { type Value, floatValue, intValue, recordValue } from '../../vectors/value.ts';
import { type TimeSpan, spanOf } from '../expressions/spans.ts';
import { sqlClock } from '../expressions/sql-texts.ts';
import { itemsOf } from './lists.ts';
import { rowsOf, type FunctionRow } from './row.ts';
import { momentOf, type Moment } from './strftime.ts';
import { Refusal, byRow } from './typed.ts';

type Nanos = number | bigint;
const nanosOfSecond = 1_000_000_000n;
/** The parts of a time, and its seconds since 1970 with their fraction. */
export type FullMoment = Moment & { readonly epoch: number };
/** The parts of a time. */
export const momentAt = (t: Nanos): FullMoment => {
  const nanos = ((BigInt(t) % nanosOfSecond) + nanosOfSecond) % nanosOfSecond, seconds = Number((BigInt(t) - nanos) / nanosOfSecond);
  return { ...momentOf(seconds, Number(nanos)), epoch: seconds + Number(nanos / 1000n) / 1e6 };
};
/** ISO's year and week: the week with the first Thursday of January is the first. */
export const isoWeek = (m: Moment): { readonly year: number; readonly week: number } => {
  const thursday = daysOfDate(m.year, m.month, m.day) + 4 - isoDay(m), { year } = dateOfDays(thursday);
  return { year, week: Math.floor((thursday - daysOfDate(year, 1, 1)) / 7) + 1 };
};
/** 1 is Monday, 7 Sunday. */
export const isoDay = (m: Moment): number => (m.weekday === 0 ? 7 : m.weekday);
/** Periods of so many years that begin with the year 1. */
const period = (year: number, size: number): number => (year > 0 ? Math.floor((year - 1) / size) + 1 : -(Math.floor(-year / size) + 1));
const julianDayOf1970 = 2_440_588, secondsOfDay = 86_400;

const whole = (part: (m: FullMoment) => number) => (m: FullMoment): Value => intValue(part(m));
const real = (part: (m: FullMoment) => number) => (m: FullMoment): Value => floatValue(part(m));
interface Part { readonly names: readonly string[]; readonly text: string; readonly of: (m: FullMoment) => Value }
const partList: readonly Part[] = [
  { names: ['year', 'years', 'y', 'yr', 'yrs'], text: 'The year', of: whole((m) => m.year) },
  { names: ['quarter', 'quarters'], text: 'The quarter of the year (1 to 4)', of: whole((m) => Math.ceil(m.month / 3)) },
  { names: ['month', 'months', 'mon', 'mons'], text: 'The month (1 to 12)', of: whole((m) => m.month) },
  { names: ['week', 'weeks', 'w', 'weekofyear'], text: 'The ISO week of the year', of: whole((m) => isoWeek(m).week) },
  { names: ['day', 'days', 'd', 'dayofmonth'], text: 'The day of the month', of: whole((m) => m.day) },
  { names: ['dow', 'dayofweek', 'weekday'], text: 'The day of the week (0 is Sunday)', of: whole((m) => m.weekday) },
  { names: ['isodow'], text: 'The ISO day of the week (1 is Monday, 7 Sunday)', of: whole(isoDay) },
  { names: ['doy', 'dayofyear'], text: 'The day of the year', of: whole((m) => m.dayOfYear) },
  { names: ['isoyear'], text: 'The year of the ISO week', of: whole((m) => isoWeek(m).year) },
  { names: ['yearweek'], text: 'The ISO year and week as one number', of: whole((m) => isoWeek(m).year * 100 + isoWeek(m).week) },
  { names: ['decade', 'decades', 'dec', 'decs'], text: 'The year by ten', of: whole((m) => Math.trunc(m.year / 10)) },
  { names: ['century', 'centuries', 'cent', 'c'], text: 'The century', of: whole((m) => period(m.year, 100)) },
  { names: ['millennium', 'millennia', 'millenium', 'mil', 'mils'], text: 'The millennium', of: whole((m) => period(m.year, 1000)) },
  { names: ['era'], text: 'The era: 1 for years of our time, 0 for those before', of: whole((m) => Number(m.year > 0)) },
  { names: ['hour', 'hours', 'h', 'hr', 'hrs'], text: 'The hour (0 to 23)', of: whole((m) => m.hour) },
  { names: ['minute', 'minutes', 'm', 'min', 'mins'], text: 'The minute (0 to 59)', of: whole((m) => m.minute) },
  { names: ['second', 'seconds', 's', 'sec', 'secs'], text: 'The second (0 to 59)', of: whole((m) => m.second) },
  { names: ['millisecond', 'milliseconds', 'ms', 'msec', 'msecs'], text: 'The seconds of the minute in milliseconds', of: whole((m) => m.second * 1e3 + Math.floor(m.nanos / 1e6)) },
  { names: ['microsecond', 'microseconds', 'us', 'usec', 'usecs'], text: 'The seconds of the minute in microseconds', of: whole((m) => m.second * 1e6 + Math.floor(m.nanos / 1e3)) },
  { names: ['nanosecond', 'nanoseconds', 'ns'], text: 'The seconds of the minute in nanoseconds', of: whole((m) => m.second * 1e9 + m.nanos) },
  { names: ['epoch'], text: 'The seconds since 1970', of: real((m) => m.epoch) },
  { names: ['julian'], text: 'The Julian day with its fraction', of: real((m) => Math.floor(m.epoch / secondsOfDay) + julianDayOf1970 + ((m.epoch % secondsOfDay) + secondsOfDay) % secondsOfDay / secondsOfDay) },
  { names: ['timezone'], text: 'The distance to UTC in seconds: 0', of: whole(() => 0) },
  { names: ['timezone_hour'], text: 'The hours of the distance to UTC: 0', of: whole(() => 0) },
  { names: ['timezone_minute'], text: 'The minutes of the distance to UTC: 0', of: whole(() => 0) },
];
const byName: ReadonlyMap<string, Part> = new Map(partList.flatMap((p) => p.names.map((name) => [name, p] as const)));

const unknownPart = new Refusal('unsupported part name'), noTime = (argument: number): Refusal => new Refusal('time argument required', argument);
/** A part of a value by the name of the part; undefined for a name that is none of its parts. */
type PartsOf = (name: string) => Value | undefined;
/** The parts of a time, of a duration or interval, or of a time of day, which is a text; undefined for other values. */
const partsOf = ({ type, data }: Value): PartsOf | undefined => {
  if (type === types.time) {
    const moment = momentAt(data as Nanos);
    return (name) => byName.get(name)?.of(moment);
  }
  const span = spanOf({ type, data });
  if (span) return (name) => spanPart(span, name);
  const clock = type === types.string ? sqlClock(data as string, 9) : undefined;
  return clock === undefined ? undefined : (name) => (ofClock.has(name) ? byName.get(name)!.of(momentAt(clock)) : undefined);
};
/** A part by its name, or a record of those that a list names. */
export const datePart = (part: Value, of: Value, argument = 1): Value | Refusal => {
  const parts = partsOf(of);
  if (!parts) return noTime(argument);
  if (part.type === types.string) return parts((part.data as string).toLowerCase()) ?? unknownPart;
  const names = itemsOf(part)?.values;
  if (!names?.every((n) => n.type === types.string)) return new Refusal('string argument required');
  const fields = new Map<string, Value>();
  for (const { data } of names) {
    const found = parts((data as string).toLowerCase());
    if (!found) return unknownPart;
    fields.set(data as string, found);
  }
  return recordValue([...fields].map(([name, value]) => ({ name, value })));
};

/** The names of units that a part has; undefined for parts that spans have not. */
const unitOf = (name: string): string | undefined => byName.get(name)?.names[0];
const spanPart = ({ months, days, nanos }: TimeSpan, name: string): Value | undefined => {
  const seconds = Number(nanos / nanosOfSecond), minute = nanos % (60n * nanosOfSecond), years = Math.trunc(months / 12);
  switch (unitOf(name)) {
    case 'year': return intValue(years);
    case 'quarter': return intValue(Math.trunc((months % 12) / 3) + 1);
    case 'month': return intValue(months % 12);
    case 'decade': return intValue(Math.trunc(years / 10));
    case 'century': return intValue(Math.trunc(years / 100));
    case 'millennium': return intValue(Math.trunc(years / 1000));
    case 'day': return intValue(days);
    case 'hour': return intValue(Math.trunc(seconds / 3600));
    case 'minute': return intValue(Math.trunc(seconds / 60) % 60);
    case 'second': return intValue(seconds % 60);
    case 'millisecond': return intValue(Number(minute / 1_000_000n));
    case 'microsecond': return intValue(Number(minute / 1000n));
    case 'nanosecond': return intValue(Number(minute));
    case 'epoch': return floatValue(years * 31_557_600 + ((months % 12) * 30 + days) * secondsOfDay + Number(nanos / 1000n) / 1e6);
    default: return undefined;
  }
};
/** The parts that a time of day has. */
const ofClock: ReadonlySet<string> = new Set(['hour', 'minute', 'second', 'millisecond', 'microsecond', 'nanosecond', 'epoch'].flatMap((name) => byName.get(name)!.names));

/** Parts that are functions too: under these names. */
const called: readonly string[] = [
  'year', 'quarter', 'month', 'week', 'weekofyear', 'day', 'dayofmonth', 'dayofweek', 'weekday', 'isodow', 'dayofyear', 'isoyear', 'yearweek', 'decade', 'century', 'millennium', 'era',
  'hour', 'minute', 'second', 'millisecond', 'microsecond', 'nanosecond', 'julian',
];
const example = momentAt(1_722_369_915_000_000_000n), shown = (v: Value): string => primitiveText(v.type.kind === 'primitive' ? v.type : types.null, v.data);
export const dateParts: readonly FunctionRow[] = called.flatMap((name) => {
  const { text, of } = byName.get(name)!;
  return rowsOf(`${name}(t)`, `In SQL: ${text.charAt(0).toLowerCase()}${text.slice(1)} of a time (UTC).`, byRow(name, ['timely'], 'value', (v) => {
    const parts = partsOf(v);
    return parts ? parts(name) ?? new Refusal(`${v.type === types.string ? 'a time of day' : 'a duration'} has no such part`) : noTime(0);
  }), [
    [`select ${name}(timestamp '2024-07-30 20:05:15') as n`, `{n:${shown(of(example))}}`], [`select ${name}(1) as n`, `{n:error({message:"${name}: time argument required",on:1})}`],
  ], { sqlOnly: 'all' });
});
