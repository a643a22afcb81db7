/**
 * Times by the calendar (UTC): cut down to a unit, units between two of them, made of parts, told as numbers and names.
 */
import { dateOfDays, daysOfDate, daysOfMonth, fitsInt64 } from '../../../vectors/literal.ts';
import { types } from '../../../vectors/type.ts';
import { type Value, integer, nullValue, numericData } from '../../../vectors/value.ts';
import { type Vector, constant, flatten, numbers, ofForm } from '../../../vectors/vector.ts';
import { aliasOf, byKernel, byValues, isOf, isText, refused, rowsOf, texts, type FunctionRow } from '../row.ts';
import { Refusal, byRow, rowKernel } from '../typed.ts';
import { splitSeconds } from '../../expressions/time-bytes.ts';
import { byDay, byUnit, cutTimes, secondsOfDay } from './by-unit.ts';
import { partOfTimes } from './date-parts.ts';
import { monthNames, momentOf, weekdays, type Moment } from './strftime.ts';
import { monthsOn } from '../../expressions/sql/spans.ts';

type Nanos = number | bigint;
const nanosOfSecond = 1_000_000_000;

/** Whole seconds since 1970, rounded down, and the nanoseconds of the second. */
const parted = (t: Nanos): { readonly seconds: number; readonly nanos: number } => {
  if (typeof t === 'number') {
    const seconds = Math.floor(t / nanosOfSecond);
    return { seconds, nanos: t - seconds * nanosOfSecond };
  }
  const nanos = ((t % 1_000_000_000n) + 1_000_000_000n) % 1_000_000_000n;
  return { seconds: Number((t - nanos) / 1_000_000_000n), nanos: Number(nanos) };
};
const timeOf = (seconds: number, nanos = 0): Nanos => integer(BigInt(seconds) * 1_000_000_000n + BigInt(nanos));
const momentAt = (t: Nanos): Moment => {
  const { seconds, nanos } = parted(t);
  return momentOf(seconds, nanos);
};
/** Midnight of the day, in days since 1970. */
const dayOf = (t: Nanos): number => Math.floor(parted(t).seconds / secondsOfDay);
const startOfYear = (year: number): Nanos => timeOf(daysOfDate(year, 1, 1) * secondsOfDay);
const startOfMonth = (year: number, month: number): Nanos => timeOf(daysOfDate(year, month, 1) * secondsOfDay);

/**
 * A unit of time: the beginning of the one that a time is in, and how many begin after one time up to another.
 * `nanos`: so many always are one, counted from 1970; `betweenDays`: all times of a day are in the same one, and so many
 * begin after one day up to another.
 */
interface Unit {
  readonly nanos?: number;
  readonly betweenDays?: (a: number, b: number) => number;
  readonly start: (t: Nanos) => Nanos;
  readonly between: (a: Nanos, b: Nanos) => Nanos;
}
/** Units of so many nanoseconds. */
const fixed = (size: number): Unit => {
  const wide = BigInt(size);
  const count = (t: Nanos): bigint => {
    const x = BigInt(t);
    const rest = x % wide;
    return (x - rest) / wide - (rest < 0n ? 1n : 0n);
  };
  return {
    nanos: size,
    start: (t) => integer(count(t) * wide),
    between: (a, b) => integer(count(b) - count(a)),
  };
};
/** Units that begin with a day: the number of the one that a day is in, and where that begins. */
const ofDays = (numberOf: (day: number) => number, startOf: (number: number) => Nanos): Unit => {
  const betweenDays = (a: number, b: number): number => numberOf(b) - numberOf(a);
  return {
    betweenDays,
    start: (t) => startOf(numberOf(dayOf(t))),
    between: (a, b) => betweenDays(dayOf(a), dayOf(b)),
  };
};
const years = (size: number): Unit =>
  ofDays(
    (day) => Math.floor(dateOfDays(day).year / size),
    (number) => startOfYear(number * size),
  );
/** Units of so many months that begin with the year. */
const months = (size: number): Unit =>
  ofDays(
    (day) => {
      const { year, month } = dateOfDays(day);
      return Math.floor((year * 12 + month - 1) / size);
    },
    (number) => startOfMonth(Math.floor((number * size) / 12), ((number * size) % 12) + 1),
  );
const daysOfWeek = 7;
const weeksBetween = (a: number, b: number): number => Math.trunc((b - a) / daysOfWeek) + 0;
/** Begins on Monday; between two times are as many as there are seven days. */
const weeks: Unit = {
  betweenDays: weeksBetween,
  start: (t) => timeOf((dayOf(t) - ((momentAt(t).weekday + 6) % daysOfWeek)) * secondsOfDay),
  between: (a, b) => weeksBetween(dayOf(a), dayOf(b)),
};
/** What a unit is called, and its plural. */
const units: ReadonlyMap<string, Unit> = new Map(
  (
    [
      [['millennium', 'millennia', 'mil', 'mils'], years(1000)],
      [['century', 'centuries', 'cent', 'c'], years(100)],
      [['decade', 'decades', 'dec', 'decs'], years(10)],
      [['year', 'years', 'yr', 'y', 'yrs'], years(1)],
      [['quarter', 'quarters'], months(3)],
      [['month', 'months', 'mon', 'mons'], months(1)],
      [['week', 'weeks', 'w'], weeks],
      [['day', 'days', 'd'], fixed(secondsOfDay * nanosOfSecond)],
      [['hour', 'hours', 'h', 'hr', 'hrs'], fixed(3600 * nanosOfSecond)],
      [['minute', 'minutes', 'm', 'min', 'mins'], fixed(60 * nanosOfSecond)],
      [['second', 'seconds', 's', 'sec', 'secs'], fixed(nanosOfSecond)],
      [['millisecond', 'milliseconds', 'ms', 'msec', 'msecs'], fixed(1_000_000)],
      [['microsecond', 'microseconds', 'us', 'usec', 'usecs'], fixed(1000)],
    ] as const
  ).flatMap(([names, unit]) => names.map((name) => [name, unit] as const)),
);

const unknownUnit = new Refusal('unknown unit');
const inRange = (t: Nanos, argument: number): Nanos | Refusal =>
  fitsInt64(t) ? t : new Refusal('time out of range', argument);
const truncated = (unit: string, t: Nanos): Nanos | Refusal => {
  const found = units.get(unit.toLowerCase());
  return found ? inRange(found.start(t), 1) : unknownUnit;
};
const constantUnit = (unit: Vector | undefined): Unit | undefined =>
  unit?.form === 'constant' && isText(unit) ? units.get(texts(unit)(0).toLowerCase()) : undefined;
const truncatedByRow = byUnit(rowKernel('date_trunc', ['string', 'time'], 'time', truncated), 1, ([unit]) =>
  constantUnit(unit)?.betweenDays ? secondsOfDay : undefined,
);

const difference = (unit: string, from: Nanos, to: Nanos): Nanos | Refusal =>
  units.get(unit.toLowerCase())?.between(from, to) ?? unknownUnit;
/** The same of times that lie in vectors; undefined for others, and where a difference may not be exact. */
const differences = (unit: Unit | undefined, from: Vector, to: Vector, length: number): Vector | undefined => {
  if (!unit || !isOf(from, types.time) || !isOf(to, types.time)) return undefined;
  const [a, b] = [from, to].map((v) => splitSeconds(ofForm(flatten(v), 'number')));
  const out = new Float64Array(length);
  const { nanos, betweenDays } = unit;
  if (betweenDays)
    for (let i = 0; i < length; i++)
      out[i] = betweenDays(Math.floor(a!.seconds[i] / secondsOfDay), Math.floor(b!.seconds[i] / secondsOfDay));
  else if (nanos! >= nanosOfSecond) {
    const size = nanos! / nanosOfSecond;
    for (let i = 0; i < length; i++) out[i] = Math.floor(b!.seconds[i] / size) - Math.floor(a!.seconds[i] / size);
  } else {
    const ofSecond = nanosOfSecond / nanos!;
    for (let i = 0; i < length; i++)
      out[i] =
        (b!.seconds[i] - a!.seconds[i]) * ofSecond +
        (Math.floor(b!.nanos[i] / nanos!) - Math.floor(a!.nanos[i] / nanos!));
    if (out.some((n) => Math.abs(n) >= exactMax)) return undefined;
  }
  return numbers(types.int64, out);
};
const exactMax = 2 ** 53 - 2 ** 21;
const differencesByRow = rowKernel('date_diff', ['string', 'time', 'time'], 'integer', difference);

export const outOfRange = new Refusal('out of range');
/**
 * Of microseconds since 1970, or of year, month, day, hour, minute and seconds with a fraction of microseconds;
 * 24:00:00 is the next day.
 */
const madeTime = (
  year: Nanos,
  month?: Nanos,
  day?: Nanos,
  hour?: Nanos,
  minute?: Nanos,
  second?: number,
): Nanos | Refusal => {
  if (month === undefined) return bounded(BigInt(year) * 1000n);
  if (second === undefined) return new Refusal('one or six arguments required');
  const date = dateDays(Number(year), Number(month), Number(day));
  const clock = clockMicros(Number(hour), Number(minute), second);
  return date === undefined || clock === undefined
    ? outOfRange
    : bounded(BigInt(date * secondsOfDay) * 1_000_000_000n + BigInt(clock) * 1000n);
};
const bounded = (nanos: bigint): Nanos | Refusal => (fitsInt64(nanos) ? integer(nanos) : outOfRange);
const yearMax = 9999;
const dateDays = (year: number, month: number, day: number): number | undefined => {
  if (Math.abs(year) > yearMax || month < 1 || month > 12 || day < 1 || day > daysOfMonth(year, month))
    return undefined;
  return daysOfDate(year, month, day);
};
/** Microseconds since midnight; undefined for what is no time of day, but for 24:00:00. */
export const clockMicros = (hour: number, minute: number, second: number): number | undefined => {
  const micros = Math.round(second * 1e6);
  const whole = hour === 24 && minute === 0 && micros === 0;
  if (!whole && !(hour >= 0 && hour < 24 && minute >= 0 && minute < 60 && second >= 0 && second < 60)) return undefined;
  return (hour * 3600 + minute * 60) * 1e6 + micros;
};
const timeOfSeconds = (seconds: number): Nanos | Refusal => {
  const whole = Math.floor(seconds);
  const limit = 2 ** 63 / nanosOfSecond;
  return Math.abs(seconds) < limit
    ? bounded(BigInt(whole) * 1_000_000_000n + BigInt(Math.round((seconds - whole) * 1e6)) * 1000n)
    : outOfRange;
};

/** Times as numbers of a unit; such numbers of milliseconds as times. */
const epochMs = (v: Value): Value => {
  if (v.type === types.null) return nullValue;
  if (v.type === types.time) return { type: types.int64, data: floorBy(numericData(v.data), 1_000_000n) };
  if (v.type.kind !== 'primitive' || !wholeNames.test(v.type.name))
    return refused('epoch_ms: time or integer argument required', v);
  const nanos = BigInt(numericData(v.data)) * 1_000_000n;
  return fitsInt64(nanos) ? { type: types.time, data: integer(nanos) } : refused('epoch_ms: out of range', v);
};
const wholeNames = /^u?int\d+$/;
const floorBy = (t: Nanos, size: bigint): Nanos => {
  const x = BigInt(t);
  const rest = x % size;
  return integer((x - rest) / size - (rest < 0n ? 1n : 0n));
};
const epochByRow = rowKernel('epoch', ['time'], 'number', (t) => Number(floorBy(t, 1000n)) / 1e6);
const lastDay = (t: Nanos): Nanos | Refusal => {
  const { year, month } = dateOfDays(dayOf(t));
  return inRange(timeOf(daysOfDate(year, month, daysOfMonth(year, month)) * secondsOfDay), 0);
};
const today = (length: number): Vector =>
  constant(
    numbers(
      types.time,
      Float64Array.of(Math.floor(Date.now() / 1000 / secondsOfDay)).map((days) => days * secondsOfDay * nanosOfSecond),
    ),
    length,
  );

const dateTrunc: FunctionRow = {
  name: 'date_trunc',
  signature: 'date_trunc(unit, t)',
  text: 'The beginning (UTC) of the millennium, century, decade, year, quarter, month, week, day, hour, minute, second .. that a time is in.',
  argumentsMin: 2,
  argumentsMax: 2,
  examples: [
    { query: 'date_trunc("month",2024-07-30T20:05:15Z)', output: '2024-07-01T00:00:00Z' },
    { query: 'date_trunc("week",2024-07-30T20:05:15Z)', output: '2024-07-29T00:00:00Z' },
    { query: 'date_trunc("x",2024-07-30T20:05:15Z)', output: 'error({message:"date_trunc: unknown unit",on:"x"})' },
    { query: 'date_trunc("day",1)', output: 'error({message:"date_trunc: time argument required",on:1})' },
  ],
  make: byKernel((args, length) => {
    const [unit, times] = args;
    return cutTimes(times!, constantUnit(unit)?.nanos) ?? truncatedByRow(args, length);
  }, 'bare'),
};
const dateDiff: FunctionRow = {
  name: 'date_diff',
  signature: 'date_diff(unit, from, to)',
  text: 'How many units (as in date_trunc) begin after one time up to another; of weeks, how many times seven days.',
  argumentsMin: 3,
  argumentsMax: 3,
  examples: [
    { query: 'date_diff("month",2024-01-31T00:00:00Z,2024-02-01T00:00:00Z)', output: '1' },
    { query: 'date_diff("hour",2024-01-31T23:59:00Z,2024-01-31T22:00:00Z)', output: '-1' },
    {
      query: 'date_diff("x",2024-01-31T00:00:00Z,2024-02-01T00:00:00Z)',
      output: 'error({message:"date_diff: unknown unit",on:"x"})',
    },
    { query: 'date_diff("day",1,2)', output: 'error({message:"date_diff: time argument required",on:1})' },
  ],
  make: byKernel((args, length) => {
    const [unit, from, to] = args;
    return differences(constantUnit(unit), from!, to!, length) ?? differencesByRow(args, length);
  }, 'bare'),
};

export const calendar: readonly FunctionRow[] = [
  {
    name: 'add_months',
    signature: 'add_months(t, n)',
    text: 'The same clock and day n months on; of a shorter month the last day. What t + INTERVAL n MONTH comes to in SQL.',
    argumentsMin: 2,
    argumentsMax: 2,
    examples: [
      { query: 'add_months(2024-01-31T12:00:00Z,1)', output: '2024-02-29T12:00:00Z' },
      { query: 'add_months(2024-03-31T00:00:00Z,-13)', output: '2023-02-28T00:00:00Z' },
      {
        query: 'add_months(2024-01-31T12:00:00Z,99999)',
        output: 'error({message:"add_months: out of range",on:2024-01-31T12:00:00Z})',
      },
      { query: 'add_months(1,1)', output: 'error({message:"add_months: time argument required",on:1})' },
    ],
    make: byRow('add_months', ['time', 'integer'], 'time', (t, n) => monthsOn(t, n) ?? outOfRange),
  },
  dateTrunc,
  aliasOf(dateTrunc, 'datetrunc', [
    { query: 'datetrunc("year",2024-07-30T20:05:15Z)', output: '2024-01-01T00:00:00Z' },
  ]),
  dateDiff,
  aliasOf(dateDiff, 'datediff', [{ query: 'datediff("year",2024-12-31T00:00:00Z,2025-01-01T00:00:00Z)', output: '1' }]),
  {
    name: 'make_timestamp',
    signature: 'make_timestamp(year, month, day, hour, minute, second)',
    text: 'The time (UTC) with these parts; with one argument, that of this many microseconds since 1970.',
    argumentsMin: 1,
    argumentsMax: 6,
    examples: [
      { query: 'make_timestamp(2024,2,29,23,59,59.5)', output: '2024-02-29T23:59:59.5Z' },
      { query: 'make_timestamp(1000000)', output: '1970-01-01T00:00:01Z' },
      { query: 'make_timestamp(2024,2,30,0,0,0)', output: 'error({message:"make_timestamp: out of range",on:2024})' },
      {
        query: 'make_timestamp(2024,2)',
        output: 'error({message:"make_timestamp: one or six arguments required",on:2024})',
      },
      { query: 'make_timestamp("a")', output: 'error({message:"make_timestamp: integer argument required",on:"a"})' },
    ],
    make: byRow('make_timestamp', ['integer', 'integer', 'integer', 'integer', 'integer', 'number'], 'time', madeTime),
  },
  ...rowsOf(
    'make_timestamp_ms(n)',
    'The time that many milliseconds after 1970.',
    byRow('make_timestamp_ms', ['integer'], 'time', (n) => bounded(BigInt(n) * 1_000_000n)),
    [
      ['make_timestamp_ms(1500)', '1970-01-01T00:00:01.5Z'],
      ['make_timestamp_ms(99999999999999)', 'error({message:"make_timestamp_ms: out of range",on:99999999999999})'],
      ['make_timestamp_ms("a")', 'error({message:"make_timestamp_ms: integer argument required",on:"a"})'],
    ],
  ),
  ...rowsOf(
    'make_timestamp_ns(n)',
    'The time that many nanoseconds after 1970.',
    byRow('make_timestamp_ns', ['integer'], 'time', (n) => n),
    [
      ['make_timestamp_ns(1500000000)', '1970-01-01T00:00:01.5Z'],
      ['make_timestamp_ns("a")', 'error({message:"make_timestamp_ns: integer argument required",on:"a"})'],
    ],
  ),
  {
    name: 'to_timestamp',
    signature: 'to_timestamp(seconds)',
    text: 'The time that many seconds after 1970, to the microsecond.',
    argumentsMin: 1,
    argumentsMax: 1,
    examples: [
      { query: 'to_timestamp(1.5)', output: '1970-01-01T00:00:01.5Z' },
      { query: 'to_timestamp(99999999999)', output: 'error({message:"to_timestamp: out of range",on:99999999999})' },
      { query: 'to_timestamp("a")', output: 'error({message:"to_timestamp: number argument required",on:"a"})' },
    ],
    make: byRow('to_timestamp', ['number'], 'time', timeOfSeconds),
  },
  {
    name: 'epoch',
    signature: 'epoch(t)',
    text: 'The seconds from 1970 to a time, with their fraction.',
    argumentsMin: 1,
    argumentsMax: 1,
    examples: [
      { query: 'epoch(1970-01-01T00:00:01.5Z)', output: '1.5' },
      { query: 'epoch(1)', output: 'error({message:"epoch: time argument required",on:1})' },
    ],
    make: byKernel((args, length) => partOfTimes('epoch', args[0]!) ?? epochByRow(args, length), 'bare'),
  },
  {
    name: 'epoch_ms',
    signature: 'epoch_ms(t)',
    text: 'The milliseconds from 1970 to a time, or the time of that many milliseconds.',
    argumentsMin: 1,
    argumentsMax: 1,
    examples: [
      { query: 'epoch_ms(1970-01-01T00:00:01.5Z)', output: '1500' },
      { query: 'epoch_ms(1500)', output: '1970-01-01T00:00:01.5Z' },
      { query: 'epoch_ms("a")', output: 'error({message:"epoch_ms: time or integer argument required",on:"a"})' },
    ],
    make: byValues((v) => epochMs(v!), 'bare'),
  },
  {
    name: 'epoch_us',
    signature: 'epoch_us(t)',
    text: 'The microseconds from 1970 to a time.',
    argumentsMin: 1,
    argumentsMax: 1,
    examples: [
      { query: 'epoch_us(1970-01-01T00:00:01.5Z)', output: '1500000' },
      { query: 'epoch_us(1)', output: 'error({message:"epoch_us: time argument required",on:1})' },
    ],
    make: byRow('epoch_us', ['time'], 'integer', (t) => floorBy(t, 1000n)),
  },
  {
    name: 'epoch_ns',
    signature: 'epoch_ns(t)',
    text: 'The nanoseconds from 1970 to a time.',
    argumentsMin: 1,
    argumentsMax: 1,
    examples: [
      { query: 'epoch_ns(1970-01-01T00:00:01.5Z)', output: '1500000000' },
      { query: 'epoch_ns(1)', output: 'error({message:"epoch_ns: time argument required",on:1})' },
    ],
    make: byRow('epoch_ns', ['time'], 'integer', (t) => t),
  },
  {
    name: 'dayname',
    signature: 'dayname(t)',
    text: "The English name of a time's day of the week.",
    argumentsMin: 1,
    argumentsMax: 1,
    examples: [
      { query: 'dayname(2024-07-30T00:00:00Z)', output: '"Tuesday"' },
      { query: 'dayname(1)', output: 'error({message:"dayname: time argument required",on:1})' },
    ],
    make: byKernel(byDay(rowKernel('dayname', ['time'], 'string', (t) => weekdays[momentAt(t).weekday])), 'bare'),
  },
  {
    name: 'monthname',
    signature: 'monthname(t)',
    text: "The English name of a time's month.",
    argumentsMin: 1,
    argumentsMax: 1,
    examples: [
      { query: 'monthname(2024-07-30T00:00:00Z)', output: '"July"' },
      { query: 'monthname(1)', output: 'error({message:"monthname: time argument required",on:1})' },
    ],
    make: byKernel(byDay(rowKernel('monthname', ['time'], 'string', (t) => monthNames[momentAt(t).month - 1])), 'bare'),
  },
  {
    name: 'last_day',
    signature: 'last_day(t)',
    text: "Midnight of the last day of a time's month.",
    argumentsMin: 1,
    argumentsMax: 1,
    examples: [
      { query: 'last_day(2024-02-03T12:00:00Z)', output: '2024-02-29T00:00:00Z' },
      { query: 'last_day(1)', output: 'error({message:"last_day: time argument required",on:1})' },
    ],
    make: byKernel(byDay(rowKernel('last_day', ['time'], 'time', lastDay)), 'bare'),
  },
  {
    name: 'current_date',
    signature: 'current_date()',
    text: 'Midnight (UTC) of the day of the evaluation; in SQL the day of the query.',
    argumentsMin: 0,
    argumentsMax: 0,
    impure: true,
    examples: [{ query: 'typeof(current_date())', output: '<time>' }],
    make: () => (_, length) => today(length),
  },
];
