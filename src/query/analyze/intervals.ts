/**
 * Intervals of SQL. Months and years have no length of their own, so they are counted apart from the nanoseconds, which
 * a duration holds.
 */

import { fitsInt64 } from '../../vectors/literal.ts';

/** So many months and so many nanoseconds. */
export interface Interval {
  readonly months: number;
  readonly nanos: bigint;
}

/** One of a unit: either months or nanoseconds. */
export type IntervalUnit =
  | { readonly kind: 'months'; readonly size: number }
  | { readonly kind: 'nanos'; readonly size: bigint };

const second = 1_000_000_000n;
const day = 86_400n * second;
const names: readonly (readonly [string, IntervalUnit])[] = [
  ['millennium millennia mil mils', { kind: 'months', size: 12_000 }],
  ['century centuries cent c', { kind: 'months', size: 1200 }],
  ['decade decades dec decs', { kind: 'months', size: 120 }],
  ['year years yr yrs y', { kind: 'months', size: 12 }],
  ['quarter quarters', { kind: 'months', size: 3 }],
  ['month months mon mons', { kind: 'months', size: 1 }],
  ['week weeks w', { kind: 'nanos', size: 7n * day }],
  ['day days d', { kind: 'nanos', size: day }],
  ['hour hours hr hrs h', { kind: 'nanos', size: 3600n * second }],
  ['minute minutes min mins m', { kind: 'nanos', size: 60n * second }],
  ['second seconds sec secs s', { kind: 'nanos', size: second }],
  ['millisecond milliseconds msecond mseconds msec msecs ms', { kind: 'nanos', size: 1_000_000n }],
  ['microsecond microseconds usecond useconds usec usecs us', { kind: 'nanos', size: 1000n }],
  ['nanosecond nanoseconds ns', { kind: 'nanos', size: 1n }],
];
const units: ReadonlyMap<string, IntervalUnit> = new Map(
  names.flatMap(([list, unit]) => list.split(' ').map((name) => [name, unit] as const)),
);

/** The unit of a name, in any letter case. */
export const intervalUnit = (name: string): IntervalUnit | undefined => units.get(name.toLowerCase());

const part = /\s*(?:([+-]?)(\d+):(\d{1,2})?(?::(\d{1,2})?(?:\.(\d*))?)?|([+-]?)(\d*)(?:\.(\d*))?\s*([a-z]+)?)/iy;
/**
 * `1 year 2 days 04:05:06`, `-3 hours`, `1 day ago`; a bare number is of seconds, or of `unit`. Undefined for what is
 * no interval.
 */
export const intervalOfText = (text: string, unit?: IntervalUnit): Interval | undefined => {
  const plain = text.trim().replace(/^@\s*/, '');
  const ago = /\bago$/i.test(plain);
  const body = ago ? plain.slice(0, -3).trim() : plain;
  if (body === '') return undefined;
  let sum: Interval = { months: 0, nanos: 0n };
  let clock = 0n;
  for (part.lastIndex = 0; part.lastIndex < body.length; ) {
    const m = part.exec(body);
    const one = m && partOf(m, unit);
    if (!one) return undefined;
    sum = { months: sum.months + one.months, nanos: sum.nanos + one.nanos };
    if (!isOfDays(m)) clock += one.nanos;
  }
  if (!fitsInt64(clock / 1000n)) return undefined;
  return ago ? { months: -sum.months, nanos: -sum.nanos } : sum;
};

/** Whether a part counts days or longer units, which have a number of their own beside the microseconds. */
const isOfDays = (m: RegExpExecArray): boolean => {
  const of = m[9] === undefined ? undefined : intervalUnit(m[9]);
  return of !== undefined && (of.kind === 'months' || of.size >= day);
};
const partOf = (m: RegExpExecArray, unit: IntervalUnit | undefined): Interval | undefined => {
  if (m[2] !== undefined) {
    const seconds = BigInt(m[2]) * 3600n + BigInt(m[3] ?? 0) * 60n + BigInt(m[4] ?? 0);
    const nanos = seconds * second + fraction(m[5] ?? '', second);
    return Number(m[3] ?? 0) > 59 || Number(m[4] ?? 0) > 59
      ? undefined
      : { months: 0, nanos: m[1] === '-' ? -nanos : nanos };
  }
  if (!m[7] && !m[8]) return undefined;
  const of = m[9] === undefined ? (unit ?? intervalUnit('second')) : intervalUnit(m[9]);
  const whole = BigInt(m[7] || 0);
  const sign = m[6] === '-' ? -1 : 1;
  if (!of) return undefined;
  if (of.kind === 'nanos')
    return { months: 0, nanos: BigInt(sign) * (whole * of.size + fraction(m[8] ?? '', of.size)) };
  const size = BigInt(of.size);
  // A part of a month is of its thirty days; parts of longer units are whole months.
  if (of.size === 1) return { months: sign * Number(whole), nanos: BigInt(sign) * fraction(m[8] ?? '', 30n * day) };
  return {
    months: sign * (Number(whole * size) + Math.round(Number(fraction(m[8] ?? '', size * 1000n)) / 1000)),
    nanos: 0n,
  };
};
const fraction = (digits: string, of: bigint): bigint =>
  digits === '' ? 0n : (BigInt(digits.slice(0, 18)) * of) / 10n ** BigInt(Math.min(digits.length, 18));
