/**
 * Times from text as people and programs write them: RFC 3339 and the customary layouts of dates, and counts of
 * seconds, milliseconds or microseconds.
 */
import { daysOfDate, daysOfMonth, fitsInt64, int64Max, int64Min, parseTime } from '../../vectors/literal.ts';
import { integer } from '../../vectors/value.ts';
import { goFloat } from './number-text.ts';

/** Nanoseconds since 1970 of a text, or undefined; times beyond 64 bits wrap around, as in the reference. */
export const timeOfText = (text: string): number | bigint | undefined => {
  const exact = parseTime(text);
  return exact === undefined ? timeOfOther(text) : wrapped(exact);
};
/** The same; undefined for times beyond 64 bits. */
export const keptTimeOfText = (text: string): number | bigint | undefined => {
  const exact = parseTime(text);
  if (exact === undefined) return timeOfOther(text);
  return fitsInt64(exact) ? exact : undefined;
};
const wrapped = (nanos: number | bigint): number | bigint =>
  fitsInt64(nanos) ? nanos : integer(BigInt.asIntN(64, BigInt(nanos)));
const timeOfOther = (text: string): number | bigint | undefined => {
  const time = /^\d+$/.test(text) ? timeOfDigits(text) : timeOfWords(text.trimEnd());
  if (time !== undefined) return time;
  const count = goFloat(text);
  if (count === undefined || !Number.isFinite(count) || Math.abs(count) >= 2 ** 63) return undefined;
  return integer(BigInt(Math.trunc(count)));
};

const timeOfDigits = (digits: string): number | bigint | undefined => {
  switch (digits.length) {
    case 4:
      return instant({ year: Number(digits) });
    case 8:
      return instant({
        year: Number(digits.slice(0, 4)),
        month: Number(digits.slice(4, 6)),
        day: Number(digits.slice(6)),
      });
    case 10:
      return integer(BigInt(digits) * 1_000_000_000n);
    case 13:
      return integer(BigInt(digits) * 1_000_000n);
    case 14:
      return instant({
        year: Number(digits.slice(0, 4)),
        month: Number(digits.slice(4, 6)),
        day: Number(digits.slice(6, 8)),
        hour: Number(digits.slice(8, 10)),
        minute: Number(digits.slice(10, 12)),
        second: Number(digits.slice(12)),
      });
    case 16:
      return integer(BigInt(digits) * 1_000n);
    default: {
      const n = BigInt(digits);
      return n > int64Max ? undefined : integer(n);
    }
  }
};

interface Parts {
  readonly year: number;
  readonly month?: number;
  readonly day?: number;
  readonly hour?: number;
  readonly minute?: number;
  readonly second?: number;
  readonly nanos?: number;
  readonly offsetSeconds?: number;
}
const instant = ({
  year,
  month = 1,
  day = 1,
  hour = 0,
  minute = 0,
  second = 0,
  nanos = 0,
  offsetSeconds = 0,
}: Parts): number | bigint | undefined => {
  if (month < 1 || month > 12 || day < 1 || day > daysOfMonth(year, month) || hour > 23 || minute > 59 || second > 59)
    return undefined;
  const seconds = daysOfDate(year, month, day) * 86400 + hour * 3600 + minute * 60 + second - offsetSeconds;
  const total = BigInt(seconds) * 1_000_000_000n + BigInt(nanos);
  return total < int64Min || total > int64Max ? undefined : integer(total);
};

const months = ['jan', 'feb', 'mar', 'apr', 'may', 'jun', 'jul', 'aug', 'sep', 'oct', 'nov', 'dec'];
const fullMonths = [
  'january',
  'february',
  'march',
  'april',
  'may',
  'june',
  'july',
  'august',
  'september',
  'october',
  'november',
  'december',
];
const monthOf = (word: string): number | undefined => {
  const lower = word.toLowerCase();
  const at = lower.length === 3 ? months.indexOf(lower) : lower === 'sept' ? 8 : fullMonths.indexOf(lower);
  return at < 0 ? undefined : at + 1;
};
const weekdays = /^(?:mon|tue|wed|thu|fri|sat|sun|monday|tuesday|wednesday|thursday|friday|saturday|sunday),?\s+/i;
const clock = /^(\d{1,2}):(\d{2})(?::(\d{2})(?:[.,](\d{1,9})\d*)?)?(?:\s*([AaPp]\.?[Mm]\.?))?/;
const zone =
  /^\s*(?:Z|([+-])(\d{2}):?(\d{2})?|(UTC|GMT|[A-Z]{3,4})(?:([+-])(\d{1,2}):?(\d{2})?)?)?(?:\s*\(?[A-Z][A-Za-z/ ]*\)?)?(?:\s+m=[+-].*)?$/;

/** Layouts of a date at the start of a text; what is behind it is a clock, a zone, or a year. */
const dates: readonly {
  readonly syntax: RegExp;
  readonly read: (
    m: RegExpExecArray,
  ) => { readonly year?: number; readonly month: number; readonly day?: number } | undefined;
}[] = [
  {
    syntax: /^(\d{4})[-/.](\d{1,2})[-/.](\d{1,2})/,
    read: (m) => ({ year: Number(m[1]), month: Number(m[2]), day: Number(m[3]) }),
  },
  { syntax: /^(\d{4})[-/](\d{1,2})$/, read: (m) => ({ year: Number(m[1]), month: Number(m[2]) }) },
  {
    syntax: /^(\d{4})年(\d{1,2})月(\d{1,2})日/,
    read: (m) => ({ year: Number(m[1]), month: Number(m[2]), day: Number(m[3]) }),
  },
  {
    syntax: /^(\d{4})[-\s]([A-Za-z]+)[-\s](\d{1,2})/,
    read: (m) => named(m[2], { year: Number(m[1]), day: Number(m[3]) }),
  },
  {
    syntax: /^(\d{1,2})[/.-](\d{1,2})[/.-](\d{4}|\d{2})(?!\d)/,
    read: (m) => ({ year: yearOf(m[3]), month: Number(m[1]), day: Number(m[2]) }),
  },
  {
    syntax: /^(\d{1,2})[-/\s]([A-Za-z]{3,9})[-/\s](\d{4}|\d{2})(?!\d)/,
    read: (m) => named(m[2], { year: yearOf(m[3]), day: Number(m[1]) }),
  },
  {
    syntax: /^(\d{1,2})(?:st|nd|rd|th)?\s+([A-Za-z]{3,9}),?\s+(\d{4})/,
    read: (m) => named(m[2], { year: Number(m[3]), day: Number(m[1]) }),
  },
  {
    syntax: /^([A-Za-z]{3,9})\.?\s+(\d{1,2})(?:st|nd|rd|th)?,?\s+(\d{4}|\d{2})(?![\d:])/,
    read: (m) => named(m[1], { year: yearOf(m[3]), day: Number(m[2]) }),
  },
  { syntax: /^([A-Za-z]{3,9})\.?\s+(\d{1,2})(?=\s+\d{1,2}:)/, read: (m) => named(m[1], { day: Number(m[2]) }) },
  { syntax: /^([A-Za-z]{3,9})\s+(\d{4})$/, read: (m) => named(m[1], { year: Number(m[2]) }) },
];
const named = (
  word: string,
  rest: { readonly year?: number; readonly day?: number },
): { readonly year?: number; readonly month: number; readonly day?: number } | undefined => {
  const month = monthOf(word);
  return month === undefined ? undefined : { ...rest, month };
};
/** Two digits: 1969 to 2068. */
const yearOf = (digits: string): number =>
  digits.length === 2 ? Number(digits) + (Number(digits) >= 69 ? 1900 : 2000) : Number(digits);

const timeOfWords = (whole: string): number | bigint | undefined => {
  const text = whole.replace(weekdays, '');
  for (const { syntax, read } of dates) {
    const m = syntax.exec(text);
    const date = m && read(m);
    if (!date) continue;
    const time = timeBehind(date, text.slice(m[0].length));
    if (time !== undefined) return time;
  }
  return undefined;
};

const timeBehind = (
  date: { readonly year?: number; readonly month: number; readonly day?: number },
  behind: string,
): number | bigint | undefined => {
  let rest = behind.replace(/^(?:[Tt]|:|,?\s+(?:at\s+)?)/, '');
  const parts: { hour?: number; minute?: number; second?: number; nanos?: number } = {};
  const c = clock.exec(rest);
  if (c) {
    parts.hour = Number(c[1]);
    if (c[5]) {
      if (parts.hour < 1 || parts.hour > 12) return undefined;
      parts.hour = (parts.hour % 12) + (/^p/i.test(c[5]) ? 12 : 0);
    }
    parts.minute = Number(c[2]);
    parts.second = Number(c[3] ?? 0);
    parts.nanos = Number((c[4] ?? '').padEnd(9, '0'));
    rest = rest.slice(c[0].length);
  } else if (rest !== '' && !/^(?:Z|[+-]|UTC|GMT)/.test(rest)) return undefined;
  let year = date.year;
  if (year === undefined) {
    // The layouts of Unix `date` have the year last: `Mon Jan  2 15:04:05 MST 2006`.
    const last = /\s(\d{4})(?=\s*$|\s+\()/.exec(rest);
    if (!last) return undefined;
    year = Number(last[1]);
    rest = rest.slice(0, last.index) + rest.slice(last.index + last[0].length);
  }
  const offset = offsetOf(rest);
  return offset === undefined ? undefined : instant({ ...date, year, ...parts, offsetSeconds: offset });
};
const offsetOf = (text: string): number | undefined => {
  if (text.trim() === '') return 0;
  const m = zone.exec(text);
  if (!m) return undefined;
  const sign = m[1] ?? m[5];
  const hours = Number(m[2] ?? m[6] ?? 0);
  const minutes = Number(m[3] ?? m[7] ?? 0);
  return (sign === '-' ? -1 : 1) * (hours * 3600 + minutes * 60);
};
