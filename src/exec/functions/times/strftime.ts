/** Formats of strftime(), always in UTC. */
import { daysOfDate, dateOfDays } from '../../../vectors/literal.ts';

/** A point of time in its parts. */
export interface Moment {
  readonly year: number;
  readonly month: number;
  readonly day: number;
  readonly hour: number;
  readonly minute: number;
  readonly second: number;
  readonly nanos: number;
  /** 0 is Sunday. */
  readonly weekday: number;
  /** 1 is January 1st. */
  readonly dayOfYear: number;
}
/** The parts of a time (UTC) of so many seconds since 1970 and nanoseconds. */
export const momentOf = (seconds: number, nanos: number): Moment => {
  const days = Math.floor(seconds / 86400);
  const ofDay = seconds - days * 86400;
  const { year, month, day } = dateOfDays(days);
  return {
    year,
    month,
    day,
    hour: Math.floor(ofDay / 3600),
    minute: Math.floor((ofDay % 3600) / 60),
    second: ofDay % 60,
    nanos,
    weekday: (((days + 4) % 7) + 7) % 7,
    dayOfYear: days - daysOfDate(year, 1, 1) + 1,
  };
};

/** From Sunday on. */
export const weekdays = ['Sunday', 'Monday', 'Tuesday', 'Wednesday', 'Thursday', 'Friday', 'Saturday'];
/** From January on. */
export const monthNames = [
  'January',
  'February',
  'March',
  'April',
  'May',
  'June',
  'July',
  'August',
  'September',
  'October',
  'November',
  'December',
];
const zeros = (n: number, width = 2): string => String(n).padStart(width, '0');
const blanks = (n: number): string => String(n).padStart(2, ' ');
const twelve = (hour: number): number => (hour % 12 === 0 ? 12 : hour % 12);
const isoWeek = (m: Moment): number => {
  const thursday = daysOfDate(m.year, m.month, m.day) + 4 - (m.weekday === 0 ? 7 : m.weekday);
  return Math.floor((thursday - daysOfDate(dateOfDays(thursday).year, 1, 1)) / 7) + 1;
};

/** Weeks as the reference counts them: one more than C's, but in the days before the first whole week. */
const weekOf = (dayOfYear: number, ofWeek: number): string =>
  dayOfYear < ofWeek ? '00' : zeros(Math.floor((dayOfYear - ofWeek) / 7) + 1);

type Verb = (m: Moment) => string;
const simple: Readonly<Record<string, Verb>> = {
  A: (m) => weekdays[m.weekday],
  a: (m) => weekdays[m.weekday].slice(0, 3),
  B: (m) => monthNames[m.month - 1],
  b: (m) => monthNames[m.month - 1].slice(0, 3),
  C: (m) => zeros(Math.floor(m.year / 100)),
  d: (m) => zeros(m.day),
  e: (m) => blanks(m.day),
  H: (m) => zeros(m.hour),
  I: (m) => zeros(twelve(m.hour)),
  j: (m) => zeros(m.dayOfYear, 3),
  k: (m) => blanks(m.hour),
  l: (m) => blanks(twelve(m.hour)),
  M: (m) => zeros(m.minute),
  m: (m) => zeros(m.month),
  n: () => '\n',
  p: (m) => (m.hour < 12 ? 'AM' : 'PM'),
  S: (m) => zeros(m.second),
  t: () => '\t',
  U: (m) => weekOf(m.dayOfYear, m.weekday),
  u: (m) => String(m.weekday === 0 ? 7 : m.weekday),
  V: (m) => zeros(isoWeek(m)),
  W: (m) => weekOf(m.dayOfYear, (m.weekday + 6) % 7),
  w: (m) => String(m.weekday),
  Y: (m) => zeros(m.year, 4),
  y: (m) => zeros(m.year % 100),
  Z: () => 'UTC',
  z: () => '+0000',
  '%': () => '%',
};
const composed: Readonly<Record<string, string>> = {
  c: '%a %b %e %H:%M:%S %Y',
  D: '%m/%d/%y',
  F: '%Y-%m-%d',
  R: '%H:%M',
  r: '%I:%M:%S %p',
  T: '%H:%M:%S',
  v: '%e-%b-%Y',
  X: '%H:%M:%S',
  x: '%m/%d/%y',
};

/** The formatter of a format, or the text of what is wrong with it. */
export const compileFormat = (format: string): Verb | string => {
  const parts: (string | Verb)[] = [];
  for (let i = 0; i < format.length; i++) {
    if (format[i] !== '%') {
      const end = format.indexOf('%', i);
      parts.push(format.slice(i, end < 0 ? undefined : end));
      i = (end < 0 ? format.length : end) - 1;
      continue;
    }
    const verb = String.fromCodePoint(format.codePointAt(++i) ?? 0);
    if (i >= format.length) return 'stray % at the end of pattern';
    const found = Object.hasOwn(simple, verb)
      ? simple[verb]
      : Object.hasOwn(composed, verb)
        ? compileFormat(composed[verb])
        : undefined;
    if (!found) return `lookup failed: '%${verb}' was not found in specification set`;
    parts.push(found);
    i += verb.length - 1;
  }
  return (m) => parts.map((p) => (typeof p === 'string' ? p : p(m))).join('');
};
