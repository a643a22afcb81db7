/**
 * The parts of times as SQL names them (UTC), of durations and of times of day: date_part, and functions with the names
 * of the parts.
 */
import { dateOfDays, daysOfDate, primitiveText } from '../../../vectors/literal.ts';
import { type PrimitiveType, types } from '../../../vectors/type.ts';
import { type Value, floatValue, intValue, recordValue, numericData, stringData } from '../../../vectors/value.ts';
import { type Vector, flatten, numbers } from '../../../vectors/vector.ts';
import { type TimeSpan, lengthOfSpan, spanOf } from '../../../vectors/spans.ts';
import { sqlClock } from '../../expressions/sql/texts.ts';
import { type SplitSeconds, splitSeconds } from '../../expressions/time-bytes.ts';
import { itemsOf } from '../lists/lists.ts';
import { type FunctionRow, byKernel, isText, rowsOf, texts } from '../row.ts';
import { secondsOfDay } from './by-unit.ts';
import { momentOf, type Moment } from './strftime.ts';
import { Refusal, rowKernel } from '../typed.ts';

type Nanos = number | bigint;
const nanosOfSecond = 1_000_000_000n;
/** The parts of a time, and its seconds since 1970 with their fraction. */
export type FullMoment = Moment & { readonly epoch: number };
/** The parts of a time. */
export const momentAt = (t: Nanos): FullMoment => {
  const nanos = ((BigInt(t) % nanosOfSecond) + nanosOfSecond) % nanosOfSecond;
  const seconds = Number((BigInt(t) - nanos) / nanosOfSecond);
  return { ...momentOf(seconds, Number(nanos)), epoch: seconds + Number(nanos / 1000n) / 1e6 };
};
/** ISO's year and week: the week with the first Thursday of January is the first. */
export const isoWeek = (m: Moment): { readonly year: number; readonly week: number } => {
  const thursday = daysOfDate(m.year, m.month, m.day) + 4 - isoDay(m);
  const { year } = dateOfDays(thursday);
  return { year, week: Math.floor((thursday - daysOfDate(year, 1, 1)) / 7) + 1 };
};
/** 1 is Monday, 7 Sunday. */
export const isoDay = (m: Moment): number => (m.weekday === 0 ? 7 : m.weekday);
/** Periods of so many years that begin with the year 1. */
const period = (year: number, size: number): number =>
  year > 0 ? Math.floor((year - 1) / size) + 1 : -(Math.floor(-year / size) + 1);
const julianDayOf1970 = 2_440_588;

/** A part as a number and as a value; `type`: of the number. */
interface PartNumber {
  readonly type: PrimitiveType;
  readonly number: (m: FullMoment) => number;
  readonly of: (m: FullMoment) => Value;
}
const whole = (number: PartNumber['number']): PartNumber => ({
  type: types.int64,
  number,
  of: (m) => intValue(number(m)),
});
const real = (number: PartNumber['number']): PartNumber => ({
  type: types.float64,
  number,
  of: (m) => floatValue(number(m)),
});
interface Part extends PartNumber {
  readonly names: readonly string[];
  readonly text: string;
}
const partList: readonly Part[] = [
  { names: ['year', 'years', 'y', 'yr', 'yrs'], text: 'The year', ...whole((m) => m.year) },
  { names: ['quarter', 'quarters'], text: 'The quarter of the year (1 to 4)', ...whole((m) => Math.ceil(m.month / 3)) },
  { names: ['month', 'months', 'mon', 'mons'], text: 'The month (1 to 12)', ...whole((m) => m.month) },
  { names: ['week', 'weeks', 'w', 'weekofyear'], text: 'The ISO week of the year', ...whole((m) => isoWeek(m).week) },
  { names: ['day', 'days', 'd', 'dayofmonth'], text: 'The day of the month', ...whole((m) => m.day) },
  { names: ['dow', 'dayofweek', 'weekday'], text: 'The day of the week (0 is Sunday)', ...whole((m) => m.weekday) },
  { names: ['isodow'], text: 'The ISO day of the week (1 is Monday, 7 Sunday)', ...whole(isoDay) },
  { names: ['doy', 'dayofyear'], text: 'The day of the year', ...whole((m) => m.dayOfYear) },
  { names: ['isoyear'], text: 'The year of the ISO week', ...whole((m) => isoWeek(m).year) },
  {
    names: ['yearweek'],
    text: 'The ISO year and week as one number',
    ...whole((m) => isoWeek(m).year * 100 + isoWeek(m).week),
  },
  { names: ['decade', 'decades', 'dec', 'decs'], text: 'The year by ten', ...whole((m) => Math.trunc(m.year / 10)) },
  { names: ['century', 'centuries', 'cent', 'c'], text: 'The century', ...whole((m) => period(m.year, 100)) },
  {
    names: ['millennium', 'millennia', 'millenium', 'mil', 'mils'],
    text: 'The millennium',
    ...whole((m) => period(m.year, 1000)),
  },
  { names: ['era'], text: 'The era: 1 for years of our time, 0 for those before', ...whole((m) => Number(m.year > 0)) },
  { names: ['hour', 'hours', 'h', 'hr', 'hrs'], text: 'The hour (0 to 23)', ...whole((m) => m.hour) },
  { names: ['minute', 'minutes', 'm', 'min', 'mins'], text: 'The minute (0 to 59)', ...whole((m) => m.minute) },
  { names: ['second', 'seconds', 's', 'sec', 'secs'], text: 'The second (0 to 59)', ...whole((m) => m.second) },
  {
    names: ['millisecond', 'milliseconds', 'ms', 'msec', 'msecs'],
    text: 'The seconds of the minute in milliseconds',
    ...whole((m) => m.second * 1e3 + Math.floor(m.nanos / 1e6)),
  },
  {
    names: ['microsecond', 'microseconds', 'us', 'usec', 'usecs'],
    text: 'The seconds of the minute in microseconds',
    ...whole((m) => m.second * 1e6 + Math.floor(m.nanos / 1e3)),
  },
  {
    names: ['nanosecond', 'nanoseconds', 'ns'],
    text: 'The seconds of the minute in nanoseconds',
    ...whole((m) => m.second * 1e9 + m.nanos),
  },
  { names: ['epoch'], text: 'The seconds since 1970', ...real((m) => m.epoch) },
  {
    names: ['julian'],
    text: 'The Julian day with its fraction',
    ...real(
      (m) =>
        Math.floor(m.epoch / secondsOfDay) +
        julianDayOf1970 +
        (((m.epoch % secondsOfDay) + secondsOfDay) % secondsOfDay) / secondsOfDay,
    ),
  },
  { names: ['timezone'], text: 'The distance to UTC in seconds: 0', ...whole(() => 0) },
  { names: ['timezone_hour'], text: 'The hours of the distance to UTC: 0', ...whole(() => 0) },
  { names: ['timezone_minute'], text: 'The minutes of the distance to UTC: 0', ...whole(() => 0) },
];
const byName: ReadonlyMap<string, Part> = new Map(partList.flatMap((p) => p.names.map((name) => [name, p] as const)));

const unknownPart = new Refusal('unsupported part name');
const noTime = (argument: number): Refusal => new Refusal('time argument required', argument);
/** A part of a value by the name of the part; undefined for a name that is none of its parts. */
type PartsOf = (name: string) => Value | undefined;
/** The parts of a time, of a duration or interval, or of a time of day, which is a text; undefined for other values. */
const partsOf = ({ type, data }: Value): PartsOf | undefined => {
  if (type === types.time) {
    const moment = momentAt(numericData(data));
    return (name) => byName.get(name)?.of(moment);
  }
  const span = spanOf({ type, data });
  if (span) return (name) => spanPart(span, name);
  const clock = type === types.string ? sqlClock(stringData(data), 9) : undefined;
  return clock === undefined
    ? undefined
    : (name) => (ofClock.has(name) ? byName.get(name)!.of(momentAt(clock)) : undefined);
};
/** The nanoseconds since 1970, of a span, or since midnight; a month that is a part of an interval has thirty days. */
export const epochNanos = ({ type, data }: Value): bigint | undefined => {
  if (type === types.time) return BigInt(numericData(data));
  const span = spanOf({ type, data });
  if (span) return lengthOfSpan(span);
  const clock = type === types.string ? sqlClock(stringData(data), 9) : undefined;
  return clock === undefined ? undefined : BigInt(clock);
};
/** A part by its name, or a record of those that a list names. */
export const datePart = (part: Value, of: Value, argument = 1): Value | Refusal => {
  const parts = partsOf(of);
  if (!parts) return noTime(argument);
  if (part.type === types.string) return parts(stringData(part.data).toLowerCase()) ?? unknownPart;
  const names = itemsOf(part)?.values;
  if (!names?.every((n) => n.type === types.string)) return new Refusal('string argument required');
  const fields = new Map<string, Value>();
  for (const { data } of names) {
    const found = parts(stringData(data).toLowerCase());
    if (!found) return unknownPart;
    fields.set(stringData(data), found);
  }
  return recordValue([...fields].map(([name, value]) => ({ name, value })));
};

/** A part of times that lie in a vector, without a value for each row; undefined for others. */
export const partOfTimes = (name: string, times: Vector): Vector | undefined => {
  const part = byName.get(name.toLowerCase());
  const flat = times.form === 'constant' ? undefined : flatten(times);
  if (!part || flat?.form !== 'number' || flat.type !== types.time) return undefined;
  const split = splitSeconds(flat);
  const out = new Float64Array(flat.length);
  const [called] = part.names;
  const byColumn = ofClocks.get(called!);
  if (byColumn) byColumn(split, out);
  else if (ofDay.has(called!)) partOfDays(part, split.seconds, out);
  else
    for (let i = 0; i < out.length; i++)
      out[i] = part.number({ ...momentOf(split.seconds[i], split.nanos[i]), epoch: secondsWithFraction(split, i) });
  return numbers(part.type, out);
};
type OfClocks = (times: SplitSeconds, out: Float64Array) => void;
/**
 * Parts that need no calendar: so many seconds are one, of which there are so many. In integers of 32 bits, since
 * remainders of floats take five times as long.
 */
const clockOf =
  (size: number, count: number): OfClocks =>
  ({ seconds }, out) => {
    for (let i = 0; i < out.length; i++) {
      const s = seconds[i];
      const number = ((s - Math.floor(s / secondsOfDay) * secondsOfDay) / size) | 0;
      out[i] = number % count;
    }
  };
/** The seconds of the minute with their fraction, in units of which so many are a second. */
const fractionOf =
  (ofSecond: number): OfClocks =>
  ({ seconds, nanos }, out) => {
    const size = 1e9 / ofSecond;
    for (let i = 0; i < out.length; i++) {
      const s = seconds[i];
      out[i] = (s - Math.floor(s / 60) * 60) * ofSecond + Math.floor(nanos[i] / size);
    }
  };
const secondsWithFraction = ({ seconds, nanos }: SplitSeconds, i: number): number =>
  seconds[i] + Math.floor(nanos[i] / 1e3) / 1e6;
const epochOf: OfClocks = (times, out) => {
  for (let i = 0; i < out.length; i++) out[i] = secondsWithFraction(times, i);
};
/** Parts of which a batch is made by columns: 0.07 of the time of a moment for each row. */
const ofClocks: ReadonlyMap<string, OfClocks> = new Map([
  ['hour', clockOf(3600, 24)],
  ['minute', clockOf(60, 60)],
  ['second', clockOf(1, 60)],
  ['millisecond', fractionOf(1e3)],
  ['microsecond', fractionOf(1e6)],
  ['nanosecond', fractionOf(1e9)],
  ['epoch', epochOf],
]);
/** Parts that all times of a day share. */
const ofDay: ReadonlySet<string> = new Set([
  'year',
  'quarter',
  'month',
  'week',
  'day',
  'dow',
  'isodow',
  'doy',
  'isoyear',
  'yearweek',
  'decade',
  'century',
  'millennium',
  'doy',
  'era',
]);
/**
 * The parts of days that came last, each at its number below this: of 179 years each has a place. The year of 1,000,000
 * times takes 0.05 of the time, and the month of 10,000 days in turn 0.04 of what it took with places for 11 years.
 */
const daysKept = 1 << 16;
const noDay = -(2 ** 31);
const keptDays = new Map<Part, { readonly days: Int32Array; readonly numbers: Int32Array }>();
const partOfDays = (part: Part, seconds: Float64Array, out: Float64Array): void => {
  let kept = keptDays.get(part);
  if (!kept)
    keptDays.set(part, (kept = { days: new Int32Array(daysKept).fill(noDay), numbers: new Int32Array(daysKept) }));
  const { days, numbers: known } = kept;
  for (let i = 0; i < out.length; i++) {
    const day = Math.floor(seconds[i] / secondsOfDay);
    const at = day & (daysKept - 1);
    if (days[at] !== day) {
      days[at] = day;
      known[at] = part.number({ ...momentOf(day * secondsOfDay, 0), epoch: day * secondsOfDay });
    }
    out[i] = known[at]!;
  }
};
/** date_part of SQL. */
export const datePartRow: FunctionRow['make'] = byKernel((args, length) => {
  const [part, of] = args;
  const name = part!.form === 'constant' && isText(part!) ? texts(part!)(0) : undefined;
  return (name === undefined ? undefined : partOfTimes(name, of!)) ?? datePartByRow(args, length);
}, 'bare');
const datePartByRow = rowKernel('date_part', ['value', 'timely'], 'value', (part, of) => datePart(part, of));

/** The names of units that a part has; undefined for parts that spans have not. */
const unitOf = (name: string): string | undefined => byName.get(name)?.names[0];
const spanPart = ({ months, days, nanos }: TimeSpan, name: string): Value | undefined => {
  const seconds = Number(nanos / nanosOfSecond);
  const minute = nanos % (60n * nanosOfSecond);
  const years = Math.trunc(months / 12);
  switch (unitOf(name)) {
    case 'year':
      return intValue(years);
    case 'quarter':
      return intValue(Math.trunc((months % 12) / 3) + 1);
    case 'month':
      return intValue(months % 12);
    case 'decade':
      return intValue(Math.trunc(years / 10));
    case 'century':
      return intValue(Math.trunc(years / 100));
    case 'millennium':
      return intValue(Math.trunc(years / 1000));
    case 'day':
      return intValue(days);
    case 'hour':
      return intValue(Math.trunc(seconds / 3600));
    case 'minute':
      return intValue(Math.trunc(seconds / 60) % 60);
    case 'second':
      return intValue(seconds % 60);
    case 'millisecond':
      return intValue(Number(minute / 1_000_000n));
    case 'microsecond':
      return intValue(Number(minute / 1000n));
    case 'nanosecond':
      return intValue(Number(minute));
    case 'epoch':
      return floatValue(years * 31_557_600 + ((months % 12) * 30 + days) * secondsOfDay + Number(nanos / 1000n) / 1e6);
    default:
      return undefined;
  }
};
/** The parts that a time of day has. */
const ofClock: ReadonlySet<string> = new Set(
  [
    'hour',
    'minute',
    'second',
    'millisecond',
    'microsecond',
    'nanosecond',
    'epoch',
    'timezone',
    'timezone_hour',
    'timezone_minute',
  ].flatMap((name) => byName.get(name)!.names),
);

/** Parts that are functions too: under these names. */
const called: readonly string[] = [
  'year',
  'quarter',
  'month',
  'week',
  'weekofyear',
  'day',
  'dayofmonth',
  'dayofweek',
  'weekday',
  'isodow',
  'dayofyear',
  'isoyear',
  'yearweek',
  'decade',
  'century',
  'millennium',
  'era',
  'hour',
  'minute',
  'second',
  'millisecond',
  'microsecond',
  'nanosecond',
  'julian',
];
const example = momentAt(1_722_369_915_000_000_000n);
const shown = (v: Value): string => primitiveText(v.type.kind === 'primitive' ? v.type : types.null, v.data);
export const dateParts: readonly FunctionRow[] = called.flatMap((name) => {
  const { text, of } = byName.get(name)!;
  const byEach = rowKernel(name, ['timely'], 'value', (v) => {
    const parts = partsOf(v);
    return parts
      ? (parts(name) ?? new Refusal(`${v.type === types.string ? 'a time of day' : 'a duration'} has no such part`))
      : noTime(0);
  });
  return rowsOf(
    `${name}(t)`,
    `In SQL: ${text.charAt(0).toLowerCase()}${text.slice(1)} of a time (UTC).`,
    byKernel((args, length) => partOfTimes(name, args[0]!) ?? byEach(args, length), 'bare'),
    [
      [`select ${name}(timestamp '2024-07-30 20:05:15') as n`, `{n:${shown(of(example))}}`],
      [`select ${name}(x) as n from (values (1)) t(x)`, `{n:error({message:"${name}: time argument required",on:1})}`],
    ],
    { sqlOnly: 'all' },
  );
});
