/**
 * Histograms of times: a width of bins that people count in, and the numbers in them. Times are milliseconds since
 * 1970.
 */

const second = 1000;
const minute = 60 * second;
const hour = 60 * minute;
const day = 24 * hour;
const widths: readonly number[] = [
  1,
  2,
  5,
  10,
  20,
  50,
  100,
  200,
  500,
  second,
  2 * second,
  5 * second,
  10 * second,
  15 * second,
  30 * second,
  minute,
  2 * minute,
  5 * minute,
  10 * minute,
  15 * minute,
  30 * minute,
  hour,
  2 * hour,
  3 * hour,
  6 * hour,
  12 * hour,
  day,
  2 * day,
  7 * day,
  14 * day,
  28 * day,
  91 * day,
  365 * day,
  730 * day,
  1825 * day,
  3650 * day,
  36_500 * day,
];

/** A histogram: `counts` has a number for each bin, the first at `start`, each `width` milliseconds wide. */
export interface Bins {
  /** Start of the first bin. */
  readonly start: number;
  readonly width: number;
  readonly counts: Uint32Array;
}

/** Bins over all the times, at most `binsMax`; undefined without a time. */
export const binTimes = (times: Float64Array, binsMax: number): Bins | undefined => {
  let least = Infinity;
  let most = -Infinity;
  for (const time of times) {
    if (time < least) least = time;
    if (time > most) most = time;
  }
  if (least > most) return undefined;
  const width = widths.find((w) => Math.floor(most / w) - Math.floor(least / w) < binsMax) ?? widths.at(-1)!;
  const start = Math.floor(least / width) * width;
  const counts = new Uint32Array(Math.floor((most - start) / width) + 1);
  for (const time of times) if (!Number.isNaN(time)) counts[Math.floor((time - start) / width)]!++;
  return { start, width, counts };
};

/** `1 h`, `15 min`, `3 d`. */
export const widthText = (width: number): string => {
  for (const [unit, name] of [
    [365 * day, 'y'],
    [day, 'd'],
    [hour, 'h'],
    [minute, 'min'],
    [second, 's'],
  ] as const)
    if (width >= unit && width % unit === 0) return `${width / unit} ${name}`;
  return `${width} ms`;
};

/** The span of whole bins that two places on the axis touch. */
export const spanOfBins = (
  { start, width, counts }: Bins,
  from: number,
  to: number,
): { readonly from: number; readonly to: number } => {
  const [low, high] = from <= to ? [from, to] : [to, from];
  const last = counts.length - 1;
  const first = Math.min(last, Math.max(0, Math.floor((low - start) / width)));
  const final = Math.min(last, Math.max(first, Math.ceil((high - start) / width) - 1));
  return { from: start + first * width, to: start + (final + 1) * width };
};

/** How times are written in strings: what stands between the parts of a day, and before the hour. */
export interface TextTimes {
  readonly between: string;
  readonly before: string;
}
const textTime = /^(\d{4})([-/])(\d\d)\2(\d\d)(?:([T ])(\d\d):(\d\d)(?::(\d\d)(?:\.(\d{1,9}))?)?Z?)?$/;
/** Milliseconds since 1970 of a string like `2026-01-31T12:00:00Z` or `2026/01/31 12:00`, in UTC; NaN for any other. */
export const parseTextTime = (text: string): number => {
  const parts = textTime.exec(text);
  if (!parts) return NaN;
  const [, year, , month, day, , hours = '0', minutes = '0', seconds = '0', fraction = ''] = parts;
  return Date.UTC(
    Number(year),
    Number(month) - 1,
    Number(day),
    Number(hours),
    Number(minutes),
    Number(seconds),
    Number(fraction.slice(0, 3).padEnd(3, '0')),
  );
};
/** How the time in a string is written; undefined if there is none. */
export const textTimesOf = (text: string): TextTimes | undefined => {
  const parts = textTime.exec(text);
  return parts ? { between: parts[2]!, before: parts[5] ?? ' ' } : undefined;
};
/**
 * The string that stands before all strings of that time and later ones, and behind all earlier ones: the time without
 * the zeros at its end.
 */
export const textTimeLiteral = (ms: number, { between, before }: TextTimes): string => {
  const text = new Date(ms).toISOString();
  const time = text.slice(11, 23).replace(/(?::00)?\.000$/, '');
  return JSON.stringify(text.slice(0, 10).replaceAll('-', between) + (time === '00:00' ? '' : before + time));
};

/** A time as a query writes it. */
export const timeLiteral = (ms: number): string => new Date(ms).toISOString().replace('.000Z', 'Z');
