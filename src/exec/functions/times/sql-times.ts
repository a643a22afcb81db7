/**
 * Times by formats as DuckDB has them, both ways, and buckets of times. All in UTC; parts that a format leaves out are
 * those of 1900-01-01.
 */
import { daysOfDate, daysOfMonth, fitsInt64, timesHeld } from '../../../vectors/literal.ts';
import { type TimeSpan, nanosOfDay, spanOf } from '../../../vectors/spans.ts';
import { types } from '../../../vectors/type.ts';
import { type Value, integer, numericData, stringData } from '../../../vectors/value.ts';
import { type Vector, valueAt } from '../../../vectors/vector.ts';
import { isoDay, isoWeek, momentAt, type FullMoment } from './date-parts.ts';
import { itemsOf } from '../lists/lists.ts';
import { areSpans } from '../../expressions/sql/span-arithmetic.ts';
import { movedBy } from '../../expressions/sql/spans.ts';
import { remembered } from '../remembered.ts';
import { byKernel, isText, rowsOf, texts, type FunctionRow, type Kernel } from '../row.ts';
import { byUnit, cutTimes, secondsOfDay } from './by-unit.ts';
import { monthNames, weekdays } from './strftime.ts';
import { Refusal, byRow, rowKernel } from '../typed.ts';

type Nanos = number | bigint;
const two = (n: number): string => String(n).padStart(2, '0');
const many = (n: number, width: number): string => String(n).padStart(width, '0');
const twelve = (hour: number): number => (hour % 12 === 0 ? 12 : hour % 12);
/** Weeks that begin on a day of the week; the days before the first one are of week 0. */
const weekFrom = (m: FullMoment, first: number): number =>
  Math.floor((m.dayOfYear + 6 - ((m.weekday - first + 7) % 7)) / 7);

const verbs: Readonly<Record<string, (m: FullMoment) => string>> = {
  a: (m) => weekdays[m.weekday].slice(0, 3),
  A: (m) => weekdays[m.weekday],
  w: (m) => String(m.weekday),
  u: (m) => String(isoDay(m)),
  d: (m) => two(m.day),
  b: (m) => monthNames[m.month - 1].slice(0, 3),
  h: (m) => monthNames[m.month - 1].slice(0, 3),
  B: (m) => monthNames[m.month - 1],
  m: (m) => two(m.month),
  y: (m) => two(((m.year % 100) + 100) % 100),
  Y: (m) => many(m.year, 4),
  G: (m) => many(isoWeek(m).year, 4),
  V: (m) => two(isoWeek(m).week),
  H: (m) => two(m.hour),
  I: (m) => two(twelve(m.hour)),
  p: (m) => (m.hour < 12 ? 'AM' : 'PM'),
  M: (m) => two(m.minute),
  S: (m) => two(m.second),
  g: (m) => many(Math.floor(m.nanos / 1e6), 3),
  f: (m) => many(Math.floor(m.nanos / 1e3), 6),
  n: (m) => many(m.nanos, 9),
  z: () => '+00',
  Z: () => '',
  j: (m) => many(m.dayOfYear, 3),
  U: (m) => two(weekFrom(m, 0)),
  W: (m) => two(weekFrom(m, 1)),
  '%': () => '%',
};
const composed: Readonly<Record<string, string>> = {
  c: '%Y-%m-%d %H:%M:%S',
  x: '%Y-%m-%d',
  X: '%H:%M:%S',
  D: '%m/%d/%y',
  F: '%Y-%m-%d',
  R: '%H:%M',
  T: '%H:%M:%S',
};
const verbSyntax = /%(-?)([\s\S]|$)/gu;
const expanded = (format: string): string =>
  format.replace(verbSyntax, (whole, bare: string, verb: string) => (bare === '' ? (composed[verb] ?? whole) : whole));

type Written = string | ((m: FullMoment) => string);
/** The parts of a format; a dash leaves the zeros in front out. */
const writtenParts = (format: string): readonly Written[] | Refusal => {
  const parts: Written[] = [];
  let unknown: string | undefined;
  let end = 0;
  for (const { 0: whole, 1: dash, 2: verb, index } of expanded(format).matchAll(verbSyntax)) {
    if (!Object.hasOwn(verbs, verb!)) unknown ??= whole;
    const write = verbs[verb!];
    parts.push(expanded(format).slice(end, index));
    if (write) parts.push(dash === '-' ? (m) => write(m).replace(/^0+(?=\d)/, '') : write);
    end = index + whole.length;
  }
  parts.push(expanded(format).slice(end));
  return unknown === undefined ? parts : new Refusal(`'${unknown}' is no part of a format`, 1);
};
/** A format's parts, and how long its texts stay the same: so many seconds; undefined where fractions are among them. */
interface WrittenFormat {
  readonly parts: readonly Written[] | Refusal;
  readonly seconds: number | undefined;
}
const verbSeconds: readonly (readonly [verbs: RegExp, seconds: number | undefined])[] = [
  [/[gfn]/, undefined],
  [/S/, 1],
  [/M/, 60],
  [/[HIp]/, 3600],
];
const writtenOf = (format: string): WrittenFormat => {
  let found = writtenFormats.get(format);
  if (!found) {
    const used = [...expanded(format).matchAll(verbSyntax)].map((m) => m[2]).join('');
    const finest = verbSeconds.find(([some]) => some.test(used));
    found = { parts: writtenParts(format), seconds: finest ? finest[1] : secondsOfDay };
    if (writtenFormats.size >= writtenMax) writtenFormats.clear();
    writtenFormats.set(format, found);
  }
  return found;
};
const writtenMax = 200;
const writtenFormats = new Map<string, WrittenFormat>();
/** A time in a format. */
export const timeText = (t: Nanos, format: string): string | Refusal => {
  const { parts } = writtenOf(format);
  if (parts instanceof Refusal) return parts;
  const m = momentAt(t);
  let text = '';
  for (const part of parts) text += typeof part === 'string' ? part : part(m);
  return text;
};
/** How long texts in this format, which is a constant, stay the same. */
export const secondsOfFormat = (format: Vector | undefined): number | undefined =>
  format?.form === 'constant' && isText(format) ? writtenOf(texts(format)(0)).seconds : undefined;

/** What has been read of a text. */
interface Parts {
  year?: number;
  month?: number;
  day?: number;
  hour?: number;
  minute?: number;
  second?: number;
  nanos?: number;
  isAfternoon?: boolean;
  offsetMinutes?: number;
  dayOfYear?: number;
  isoYear?: number;
  isoWeek?: number;
  week?: number;
  weekStart?: number;
  /** How many parts gave a week of the plain year. */
  weeks?: number;
  weekday?: number;
}
const names = (list: readonly string[], lengths: 'short' | 'long'): string =>
  list.map((n) => (lengths === 'short' ? n.slice(0, 3) : n)).join('|');
const placeIn = (list: readonly string[], text: string): number =>
  list.findIndex((n) => n.slice(0, 3).toLowerCase() === text.slice(0, 3).toLowerCase());
const fraction = (text: string): number => Number(text.padEnd(9, '0').slice(0, 9));
const offset = (text: string): number => {
  const [, sign, hours = '0', minutes = '0'] = /^([+-])(\d\d):?(\d\d)?$/.exec(text) ?? [];
  return (Number(hours) * 60 + Number(minutes)) * (sign === '-' ? -1 : 1);
};
const readers: Readonly<Record<string, readonly [pattern: string, take: (p: Parts, text: string) => void]>> = {
  a: [
    names(weekdays, 'short'),
    (p, t) => {
      p.weekday = placeIn(weekdays, t);
    },
  ],
  A: [
    names(weekdays, 'long'),
    (p, t) => {
      p.weekday = placeIn(weekdays, t);
    },
  ],
  w: [
    '[0-6]',
    (p, t) => {
      p.weekday = Number(t);
    },
  ],
  u: [
    '[1-7]',
    (p, t) => {
      p.weekday = Number(t) % 7;
    },
  ],
  d: [
    '\\d{1,2}',
    (p, t) => {
      p.day = Number(t);
    },
  ],
  b: [
    names(monthNames, 'short'),
    (p, t) => {
      p.month = placeIn(monthNames, t) + 1;
    },
  ],
  h: [
    names(monthNames, 'short'),
    (p, t) => {
      p.month = placeIn(monthNames, t) + 1;
    },
  ],
  B: [
    names(monthNames, 'long'),
    (p, t) => {
      p.month = placeIn(monthNames, t) + 1;
    },
  ],
  m: [
    '\\d{1,2}',
    (p, t) => {
      p.month = Number(t);
    },
  ],
  y: [
    '\\d{1,2}',
    (p, t) => {
      p.year = Number(t) + (Number(t) >= 69 ? 1900 : 2000);
    },
  ],
  Y: [
    '-?\\d{1,4}',
    (p, t) => {
      p.year = Number(t);
    },
  ],
  G: [
    '\\d{4}',
    (p, t) => {
      p.isoYear = Number(t);
    },
  ],
  V: [
    '\\d{1,2}',
    (p, t) => {
      p.isoWeek = Number(t);
    },
  ],
  H: [
    '\\d{1,2}',
    (p, t) => {
      p.hour = Number(t);
    },
  ],
  I: [
    '\\d{1,2}',
    (p, t) => {
      p.hour = Number(t);
    },
  ],
  p: [
    'am|pm',
    (p, t) => {
      p.isAfternoon = t.toLowerCase() === 'pm';
    },
  ],
  M: [
    '\\d{1,2}',
    (p, t) => {
      p.minute = Number(t);
    },
  ],
  S: [
    '\\d{1,2}',
    (p, t) => {
      p.second = Number(t);
    },
  ],
  g: [
    '\\d{1,3}',
    (p, t) => {
      p.nanos = fraction(t);
    },
  ],
  f: [
    '\\d{1,9}',
    (p, t) => {
      p.nanos = fraction(t);
    },
  ],
  n: [
    '\\d{1,9}',
    (p, t) => {
      p.nanos = fraction(t);
    },
  ],
  z: [
    '[+-]\\d\\d(?::?\\d\\d)?',
    (p, t) => {
      p.offsetMinutes = offset(t);
    },
  ],
  Z: [
    'UTC|GMT|Z',
    (p) => {
      p.offsetMinutes = 0;
    },
  ],
  j: [
    '\\d{1,3}',
    (p, t) => {
      p.dayOfYear = Number(t);
    },
  ],
  U: [
    '\\d{1,2}',
    (p, t) => {
      Object.assign(p, { week: Number(t), weekStart: 0, weeks: (p.weeks ?? 0) + 1 });
    },
  ],
  W: [
    '\\d{1,2}',
    (p, t) => {
      Object.assign(p, { week: Number(t), weekStart: 1, weeks: (p.weeks ?? 0) + 1 });
    },
  ],
};
interface Format {
  readonly pattern: RegExp;
  readonly takes: readonly ((p: Parts, text: string) => void)[];
}
const literal = (text: string): string => text.replace(/[.*+?^${}()|[\]\\]/g, '\\$&').replace(/\s+/g, '\\s+');
/** Longer ones are beyond what expressions of the engine can hold, or can be tried in a short time. */
const formatMax = 200;
const formatOf = remembered((format): Format | Refusal => {
  if (format.length > formatMax) return new Refusal(`a format of at most ${formatMax} characters required`, 1);
  const takes: Format['takes'][number][] = [];
  const text = expanded(format);
  let pattern = '^\\s*';
  let done = 0;
  for (const found of text.matchAll(verbSyntax)) {
    pattern += literal(text.slice(done, found.index));
    done = found.index + found[0].length;
    const verb = found[2];
    if (verb === '%') pattern += '%';
    else if (!Object.hasOwn(readers, verb)) return new Refusal(`'${found[0]}' is no part of a format`, 1);
    else {
      const [part, take] = readers[verb];
      pattern += `(${part})`;
      takes.push(take);
    }
  }
  return { pattern: new RegExp(`${pattern}${literal(text.slice(done))}\\s*$`, 'iu'), takes };
});

const outside = (n: number | undefined, low: number, high: number): boolean => n !== undefined && (n < low || n > high);
const isDated = ({ month, day }: Parts): boolean => month !== undefined || day !== undefined;
/** Whether the days of a year are counted in several ways, or from the year of another count, and no month settles it. */
const isCountedTwice = (p: Parts): boolean => {
  if (isDated(p)) return false;
  const { year, isoYear, isoWeek, dayOfYear, weeks = 0 } = p;
  const ofYear = weeks + (dayOfYear === undefined ? 0 : 1);
  const ofIsoYear = isoWeek !== undefined || (isoYear !== undefined && year === undefined);
  return (
    ofYear > 1 || (ofYear > 0 && ofIsoYear) || (isoWeek !== undefined && isoYear === undefined && year !== undefined)
  );
};
/** The day since 1970, or undefined if there is none such. */
const dayOf = (p: Parts): number | undefined => {
  const year = p.year ?? 1900;
  if (p.dayOfYear !== undefined && p.month === undefined)
    return outside(p.dayOfYear, 1, daysOfDate(year + 1, 1, 1) - daysOfDate(year, 1, 1))
      ? undefined
      : daysOfDate(year, 1, 1) + p.dayOfYear - 1;
  // A week alone is of the year 1900, as all that a format leaves out; a plain year and a month go before weeks.
  const isByWeeks = !isDated(p) && (p.isoWeek !== undefined || (p.isoYear !== undefined && p.year === undefined));
  const isoYear = isByWeeks ? (p.isoYear ?? year) : undefined;
  if (isoYear !== undefined) {
    const fourth = daysOfDate(isoYear, 1, 4);
    const monday = fourth - ((((fourth + 3) % 7) + 7) % 7);
    return outside(p.isoWeek, 1, 53) ? undefined : monday + ((p.isoWeek ?? 1) - 1) * 7 + (((p.weekday ?? 1) + 6) % 7);
  }
  if (p.week !== undefined && p.month === undefined) {
    const first = daysOfDate(year, 1, 1);
    const start = p.weekStart ?? 0;
    const ahead = (start - ((((first + 4) % 7) + 7) % 7) + 7) % 7;
    return outside(p.week, 0, 53)
      ? undefined
      : first + ahead + (p.week - 1) * 7 + (((p.weekday ?? start) - start + 7) % 7);
  }
  const month = p.month ?? 1;
  const day = p.day ?? 1;
  return outside(month, 1, 12) || outside(day, 1, daysOfMonth(year, month)) ? undefined : daysOfDate(year, month, day);
};
/** Undefined for what is no time. */
const timeOf = (p: Parts): Nanos | Refusal | undefined => {
  const day = dayOf(p);
  const noon = p.isAfternoon === undefined ? 0 : 12;
  if (
    day === undefined ||
    outside(p.hour, noon === 12 ? 1 : 0, noon === 12 ? 12 : 23) ||
    outside(p.minute, 0, 59) ||
    outside(p.second, 0, 59)
  )
    return undefined;
  const hour = noon === 12 ? ((p.hour ?? 12) % 12) + (p.isAfternoon ? 12 : 0) : (p.hour ?? 0);
  const seconds = day * 86_400 + hour * 3600 + ((p.minute ?? 0) - (p.offsetMinutes ?? 0)) * 60 + (p.second ?? 0);
  const nanos = BigInt(seconds) * 1_000_000_000n + BigInt(p.nanos ?? 0);
  return fitsInt64(nanos) ? integer(nanos) : beyond;
};
const beyond = new Refusal(`out of range: ${timesHeld}`);
const noTime = new Refusal('text does not fit the format');
const countedTwice = new Refusal('without %m, %Y goes with one of %U, %W and %j, and %G with %V');
const parsed = (text: string, format: string): Nanos | Refusal => {
  const found = formatOf(format);
  if (found instanceof Refusal) return found;
  const match = found.pattern.exec(text);
  const parts: Parts = {};
  if (!match) return noTime;
  found.takes.forEach((take, k) => {
    take(parts, match[k + 1]);
  });
  return isCountedTwice(parts) ? countedTwice : (timeOf(parts) ?? noTime);
};
/** By the first of the formats that fits. */
const parsedBy = (text: string, format: Value): Nanos | Refusal => {
  const list = format.type === types.string ? [format] : itemsOf(format)?.values;
  if (!list?.every((f) => f.type === types.string)) return new Refusal('string or list of strings required', 1);
  let last: Nanos | Refusal = noTime;
  for (const f of list) {
    last = parsed(text, stringData(f.data));
    if (!(last instanceof Refusal)) break;
  }
  return last;
};

/** Buckets of weeks and the like begin with a Monday. */
const originSeconds = daysOfDate(2000, 1, 3) * secondsOfDay;
const originNanos = BigInt(originSeconds) * 1_000_000_000n;
const tooSmall = new Refusal('size above zero required');
const tooFar = new Refusal('time out of range', 1);
/** By what a span moves a time and its bucket back; undefined for what is neither span nor time. */
const shiftOf = (shift: Value | undefined): TimeSpan | 'origin' | undefined => {
  if (shift === undefined) return { months: 0, days: 0, nanos: 0n };
  return shift.type === types.time ? 'origin' : spanOf(shift);
};
const noShift = new Refusal('time or duration required', 2);
/** The bucket that `start` finds among those from an origin on, which a span moves. */
const shifted = (t: Nanos, shift: Value | undefined, start: (t: Nanos, origin?: Nanos) => bigint): Nanos | Refusal => {
  const span = shiftOf(shift);
  if (span === undefined) return noShift;
  if (span === 'origin') return inRange(start(t, numericData(shift!.data)));
  const at = movedBy(t, span, -1);
  const found = at === undefined ? tooFar : inRange(start(at));
  return found instanceof Refusal ? found : (movedBy(found, span, 1) ?? tooFar);
};
const inRange = (t: bigint): Nanos | Refusal => (fitsInt64(t) ? integer(t) : tooFar);
const bucketOf = (size: Nanos, t: Nanos, shift?: Value): Nanos | Refusal => {
  if (size <= 0) return tooSmall;
  const wide = BigInt(size);
  return shifted(t, shift, (at, origin = originNanos) => {
    const rest = (BigInt(at) - BigInt(origin)) % wide;
    return BigInt(at) - rest - (rest < 0n ? wide : 0n);
  });
};
/** Buckets of months begin with a first of the month, those of several with that of January, 2000. */
const originMonth = 2000 * 12;
const monthOf = (t: Nanos): number => {
  const { year, month } = momentAt(t);
  return year * 12 + month - 1;
};
const bucketOfSpan = (size: Value, t: Nanos, shift?: Value): Nanos | Refusal => {
  const span = spanOf(size);
  if (!span) return new Refusal('duration argument required');
  const { months, days, nanos } = span;
  const rest = BigInt(days) * nanosOfDay + nanos;
  if (months === 0) return bucketOf(rest, t, shift);
  if (rest !== 0n) return new Refusal('months beside days or a clock in the size');
  if (months < 0) return tooSmall;
  return shifted(t, shift, (at, origin) => {
    const from = origin === undefined ? originMonth : monthOf(origin);
    const month = Math.floor((monthOf(at) - from) / months) * months + from;
    return BigInt(daysOfDate(Math.floor(month / 12), (((month % 12) + 12) % 12) + 1, 1)) * nanosOfDay;
  });
};
/** The size of buckets that is a constant, of calls without a shift. */
const constantSize = ([size, , shift]: readonly Vector[]): TimeSpan | undefined =>
  size?.form === 'constant' && !shift ? spanOf(valueAt(size, 0)) : undefined;
const ofDurations = rowKernel('time_bucket', ['duration', 'time', 'value'], 'time', bucketOf);
const ofSpans = byUnit(rowKernel('time_bucket', ['value', 'time', 'value'], 'time', bucketOfSpan), 1, (args) =>
  constantSize(args)?.months ? secondsOfDay : undefined,
);
const buckets: Kernel = (args, length) => {
  const size = constantSize(args);
  const nanos = size?.months === 0 ? Number(BigInt(size.days) * nanosOfDay + size.nanos) : 0;
  return (
    (nanos > 0 ? cutTimes(args[1]!, nanos, originSeconds) : undefined) ??
    (areSpans(args[0]!) ? ofSpans : ofDurations)(args, length)
  );
};
const madeDate = (year: Nanos, month: Nanos, day: Nanos): Nanos | Refusal => {
  const found = timeOf({ year: Number(year), month: Number(month), day: Number(day) });
  return found ?? new Refusal('no such date');
};

const unitNanos: readonly (readonly [name: string, text: string, nanos: number])[] = [
  ['to_weeks', 'weeks', 604_800e9],
  ['to_days', 'days', 86_400e9],
  ['to_hours', 'hours', 3600e9],
  ['to_minutes', 'minutes', 60e9],
  ['to_seconds', 'seconds', 1e9],
  ['to_milliseconds', 'milliseconds', 1e6],
  ['to_microseconds', 'microseconds', 1e3],
];
const durationExamples: Readonly<Record<string, string>> = {
  to_weeks: '14d',
  to_days: '2d',
  to_hours: '2h',
  to_minutes: '2m',
  to_seconds: '2s',
  to_milliseconds: '2ms',
  to_microseconds: '2us',
};
const durationRows = unitNanos.flatMap(([name, text, size]) =>
  rowsOf(
    `${name}(n)`,
    `A duration of n ${text}.`,
    byRow(name, ['number'], 'duration', (n) => {
      const nanos = Number.isInteger(n)
        ? BigInt(n) * BigInt(size)
        : BigInt(Math.round(Number.isFinite(n) ? n * size : 0));
      return Number.isFinite(n) && fitsInt64(nanos) ? integer(nanos) : new Refusal('out of range');
    }),
    [
      [`${name}(2)`, durationExamples[name]],
      [`${name}("a")`, `error({message:"${name}: number argument required",on:"a"})`],
    ],
  ),
);

export const sqlTimes: readonly FunctionRow[] = [
  ...rowsOf(
    'strptime(s, format)',
    'The time that a text says in a format (%Y %m %d %H %M %S %f %b %p %z ..), or in the first that fits of a list of formats; a format has at most 200 characters.',
    byRow('strptime', ['string', 'value'], 'time', parsedBy),
    [
      ['strptime("21 June, 2018","%d %B, %Y")', '2018-06-21T00:00:00Z'],
      ['strptime("10:11 PM",["%d","%I:%M %p"])', '1900-01-01T22:11:00Z'],
      ['strptime("x","%Y")', 'error({message:"strptime: text does not fit the format",on:"x"})'],
      ['strptime("x","%Q")', 'error({message:"strptime: \'%Q\' is no part of a format",on:"%Q"})'],
    ],
  ),
  ...rowsOf(
    'try_strptime(s, format)',
    'The same, but null for a text that does not fit.',
    byRow('try_strptime', ['string', 'value'], 'time', (s, format) => {
      const found = parsedBy(s, format);
      return found === noTime || found === countedTwice ? null : found;
    }),
    [
      ['try_strptime("2018-06-21","%Y-%m-%d")', '2018-06-21T00:00:00Z'],
      ['values try_strptime("x","%Y")', 'null'],
      ['try_strptime("x",1)', 'error({message:"try_strptime: string or list of strings required",on:1})'],
    ],
  ),
  ...rowsOf(
    'time_bucket(size, t[, origin])',
    'The beginning of the bucket of a size that a time is in, counted from Monday, 2000-01-03 (of months from January, 2000), moved by a duration or an interval, or from a time.',
    byKernel(buckets, 'bare'),
    [
      ['time_bucket(1h,2024-01-01T10:20:00Z)', '2024-01-01T10:00:00Z'],
      ['time_bucket(1h,2024-01-01T10:20:00Z,30m)', '2024-01-01T09:30:00Z'],
      ["select time_bucket(interval '3 months',timestamp '2024-08-01') as t", '{t:2024-07-01T00:00:00Z}'],
      ['time_bucket(0s,2024-01-01T10:20:00Z)', 'error({message:"time_bucket: size above zero required",on:0s})'],
      ['time_bucket(1,1)', 'error({message:"time_bucket: duration argument required",on:1})'],
    ],
  ),
  ...rowsOf(
    'make_date(year, month, day)',
    'Midnight of a date.',
    byRow('make_date', ['integer', 'integer', 'integer'], 'time', madeDate),
    [
      ['make_date(2024,2,29)', '2024-02-29T00:00:00Z'],
      ['make_date(2023,2,29)', 'error({message:"make_date: no such date",on:2023})'],
      ['make_date(3000,1,1)', `error({message:"make_date: out of range: ${timesHeld}",on:3000})`],
    ],
  ),
  ...durationRows,
];
