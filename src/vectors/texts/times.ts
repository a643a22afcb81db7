/**
 * Columns of times as text, `2024-01-02T03:04:05.678Z` with as many digits behind the point in every row: the numbers
 * that they stand for, and the text made of the numbers again when somebody asks for it.
 *
 * Invariants:
 * - Text and numbers tell the same, byte for byte: a column with a row in any other spelling has no numbers.
 * - Years are those that nanoseconds in 64 bits reach (1678 to 2261).
 */
import { dateOfDays, daysOfDate, daysOfMonth } from '../literal.ts';
import { types } from '../type.ts';
import type { BytesVector, Vector } from '../vector.ts';

/**
 * Row i is the time `base` seconds since 1970 plus distances[i] units; a unit is the last of the digits behind the
 * point.
 */
export interface TimeTexts {
  readonly digits: number;
  readonly base: number;
  readonly distances: Float64Array /** No distance is less than the one before. */;
  readonly isSorted: boolean;
}
/** Seconds since 1970 that all times of a vector lie in: from `least` on and before `end`. */
export interface TimeRange {
  readonly least: number;
  readonly end: number;
}

const textLength = (digits: number): number => (digits === 0 ? 20 : 21 + digits);
/** Digits behind the point of texts of a length; -1 for none such. */
const digitsOf = (size: number): number => (size === 20 ? 0 : size >= 22 && size <= 30 ? size - 21 : -1);

/** The times of a string vector; undefined if some row is spelled in another way, or they are too far apart. */
export const timesOfTexts = (v: BytesVector): TimeTexts | undefined => {
  if (v.length === 0 || v.type !== types.string) return undefined;
  return timesIn(v.bytes, v.offsets, v.length);
};
const timesIn = (bytes: Uint8Array, offsets: Uint32Array, length: number): TimeTexts | undefined => {
  const size = offsets[1]! - offsets[0]!;
  const digits = digitsOf(size);
  if (digits < 0) return undefined;
  const distances = new Float64Array(length);
  const unit = 10 ** digits;
  let memo = -1;
  let minute = 0;
  let first = 0;
  let least = 0;
  let greatest = 0;
  let before = 0;
  let isSorted = true;
  for (let i = 0; i < length; i++) {
    const start = offsets[i]!;
    if (offsets[i + 1]! - start !== size || bytes[start + size - 1] !== 90 || bytes[start + 16] !== 58)
      return undefined;
    // Mostly a row is of the same minute as the one before.
    if (memo < 0 || !startsAlike(bytes, start, memo)) {
      minute = minuteOf(bytes, start);
      if (minute !== minute) return undefined;
      memo = start;
    }
    const second = two(bytes, start + 17);
    const fraction = digits === 0 ? 0 : fractionOf(bytes, start + 19, digits);
    if (!(second <= 59) || fraction < 0) return undefined;
    if (i === 0) first = minute + second;
    const distance = (minute + second - first) * unit + fraction;
    distances[i] = distance;
    if (distance < before) isSorted = false;
    before = distance;
    if (distance < least) least = distance;
    if (distance > greatest) greatest = distance;
  }
  if (greatest - least > Number.MAX_SAFE_INTEGER - unit) return undefined;
  const seconds = Math.floor(least / unit);
  if (seconds !== 0) for (let i = 0; i < length; i++) distances[i] = distances[i]! - seconds * unit;
  return { digits, base: first + seconds, distances, isSorted };
};
/** The range that follows from bounds of such texts, cut after the minute; `max` is one more in its last byte. */
export const rangeOfBounds = ({
  min,
  max,
}: {
  readonly min: Uint8Array;
  readonly max: Uint8Array;
}): TimeRange | undefined => {
  if (min.length !== minuteLength || max.length !== minuteLength) return undefined;
  const last = max.slice();
  last[minuteLength - 1]!--;
  const least = minuteOf(min, 0);
  const end = minuteOf(last, 0) + 60;
  return least <= end ? { least, end } : undefined;
};
const minuteLength = 16;

/** The sixteen bytes up to the minute are the same; the last ones are the likeliest to differ. */
const startsAlike = (bytes: Uint8Array, a: number, b: number): boolean => {
  for (let k = 15; k >= 0; k--) if (bytes[a + k] !== bytes[b + k]) return false;
  return true;
};
/** Seconds since 1970 of `2024-01-02T03:04` in UTF-8 bytes; NaN when it is something else. */
export const minuteOf = (bytes: Uint8Array, start: number): number => {
  if (bytes[start + 4] !== 45 || bytes[start + 7] !== 45 || bytes[start + 10] !== 84 || bytes[start + 13] !== 58)
    return NaN;
  const year = two(bytes, start) * 100 + two(bytes, start + 2);
  const month = two(bytes, start + 5);
  const day = two(bytes, start + 8);
  const hour = two(bytes, start + 11);
  const minute = two(bytes, start + 14);
  if (
    !(year >= 1678 && year <= 2261 && month >= 1 && month <= 12 && day >= 1 && hour <= 23 && minute <= 59) ||
    day > daysOfMonth(year, month)
  )
    return NaN;
  return daysOfDate(year, month, day) * 86400 + hour * 3600 + minute * 60;
};
/** The number of two digits; NaN when they are none. */
export const two = (bytes: Uint8Array, at: number): number => {
  const a = bytes[at]! - 48;
  const b = bytes[at + 1]! - 48;
  return a >= 0 && a <= 9 && b >= 0 && b <= 9 ? a * 10 + b : NaN;
};
/** The digits behind the point at `start`, or -1. */
const fractionOf = (bytes: Uint8Array, start: number, digits: number): number => {
  if (bytes[start] !== 46) return -1;
  let n = 0;
  for (let i = start + 1; i <= start + digits; i++) {
    const d = bytes[i]! - 48;
    if (d < 0 || d > 9) return -1;
    n = n * 10 + d;
  }
  return n;
};

/** Times in order that can be looked at before all are worked out. */
interface TimeSearch {
  readonly base: number;
  /** How many distances are less than a bound. */
  readonly below: (bound: number) => number;
  /** Distances of rows; their numbers rise. */
  readonly at: (rows: Uint32Array) => Float64Array;
}
interface Behind {
  readonly digits: number;
  readonly times: () => TimeTexts;
  /** The same if they have been worked out. */
  readonly known: () => TimeTexts | undefined;
  readonly range: (() => TimeRange | undefined) | undefined;
  readonly search: TimeSearch | undefined;
  isWritten: boolean;
}
const behind = new WeakMap<Vector, Behind>();
/** The times of a vector that `timeTexts` made. */
export const timesBehind = (v: Vector): TimeTexts | undefined => behind.get(v)?.times();
/** What is known of them without a look at them. */
export const rangeBehind = (v: Vector): TimeRange | undefined => behind.get(v)?.range?.();
/** For those that are kept so that they can be searched. */
export const searchBehind = (v: Vector): (TimeSearch & { readonly digits: number }) | undefined => {
  const known = behind.get(v);
  return known?.search && { ...known.search, digits: known.digits };
};
/**
 * Where a time stands among the distances of others; undefined if that cannot be told. Texts of whole seconds sort
 * behind all others of the second ('.' comes before 'Z'), and equal none of them.
 */
export const placeAmong = (
  { digits, base }: Pick<TimeTexts, 'digits' | 'base'>,
  wanted: TimeTexts,
): number | undefined => {
  if (wanted.digits !== digits && wanted.digits !== 0) return undefined;
  const unit = 10 ** digits;
  const seconds = wanted.base - base;
  if (Math.abs(seconds) > 2 ** 51 / unit) return undefined;
  return wanted.digits === digits ? seconds * unit + wanted.distances[0]! : (seconds + 1) * unit - 0.5;
};
/** Whether `timeTexts` made the vector. */
export const areTimeTexts = (v: Vector): boolean => behind.has(v);
/** Bytes that the text of such a vector will have, as long as nobody has asked for it. */
export const bytesUnwritten = (v: BytesVector): number | undefined => {
  const known = behind.get(v);
  return known && !known.isWritten ? v.length * textLength(known.digits) : undefined;
};
/**
 * Rows of such a vector, as long as nobody has asked for its text; `pick` gives their distances, in order or not.
 * `start`: they are a slice that begins there.
 */
export const timesPicked = (
  v: BytesVector,
  length: number,
  inOrder: boolean,
  pick: (distances: Float64Array) => Float64Array,
  start?: number,
): BytesVector | undefined => {
  const known = behind.get(v);
  if (!known || known.isWritten) return undefined;
  return timeTexts(
    length,
    known.digits,
    () => {
      const times = known.times();
      return { ...times, distances: pick(times.distances), isSorted: inOrder && times.isSorted };
    },
    known.range,
    start !== undefined && known.search ? searchFrom(known.search, start, length) : undefined,
  );
};
/** Rows of such vectors one behind the other, as long as nobody has asked for a text of them and all fit together. */
export const timesJoined = (vectors: readonly BytesVector[], length: number): BytesVector | undefined => {
  const [digits, ...others] = vectors.map((v) => (bytesUnwritten(v) === undefined ? undefined : behind.get(v)!.digits));
  if (digits === undefined || others.some((other) => other !== digits)) return undefined;
  const parts = vectors.map((v) => behind.get(v)!.times());
  const base = parts.reduce((least, part) => Math.min(least, part.base), Infinity);
  const distances = new Float64Array(length);
  let at = 0;
  let before = 0;
  let isSorted = true;
  for (const [k, part] of parts.entries()) {
    const shift = (part.base - base) * 10 ** digits;
    for (let i = 0; i < vectors[k]!.length; i++) {
      const distance = part.distances[i]! + shift;
      if (!(distance <= Number.MAX_SAFE_INTEGER - 10 ** digits)) return undefined;
      if (distance < before) isSorted = false;
      before = distances[at++] = distance;
    }
  }
  return timeTexts(length, digits, () => ({ digits, base, distances, isSorted }));
};
const searchFrom = ({ base, below, at }: TimeSearch, start: number, length: number): TimeSearch => ({
  base,
  below: (bound) => Math.max(0, Math.min(length, below(bound) - start)),
  at: (rows) => at(rows.map((row) => start + row)),
});
/** A few rows of many, whose numbers rise; undefined for others, and where all have to be worked out for it. */
export const fewTimes = (v: BytesVector, length: number, rows: () => Uint32Array): BytesVector | undefined => {
  if (length * fewOf > v.length) return undefined;
  const known = behind.get(v);
  if (!known?.search || known.isWritten) return undefined;
  const {
    digits,
    search: { base, at },
    range,
  } = known;
  const index = rows();
  for (let i = 1; i < length; i++) if (index[i]! < index[i - 1]!) return undefined;
  const there = known.known();
  if (there) {
    const distances = Float64Array.from(index, (row) => there.distances[row]!);
    return timeTexts(length, digits, () => ({ ...there, distances }), range);
  }
  return timeTexts(length, digits, () => ({ digits, base, distances: at(index), isSorted: true }), range);
};
const fewOf = 16;
/**
 * Whether the text holds nothing but what such texts are made of; what is searched for, in small letters, cannot be in
 * a column of them if not.
 */
export const isOfTimeText = (lower: string): boolean => /^[0-9tz:.-]*$/.test(lower);

/** The texts of times as a string vector; neither times nor texts are worked out before somebody looks at them. */
export const timeTexts = (
  length: number,
  digits: number,
  times: () => TimeTexts,
  range?: () => TimeRange | undefined,
  search?: TimeSearch,
): BytesVector => {
  let known: TimeTexts | undefined;
  const vector: { form: 'bytes'; type: BytesVector['type']; length: number } = {
    form: 'bytes',
    type: types.string,
    length,
  };
  // Getters that all vectors share, and defined one by one: the engine then keeps the quick form of objects.
  Object.defineProperty(vector, 'offsets', offsetsGetter);
  Object.defineProperty(vector, 'bytes', bytesGetter);
  behind.set(vector as BytesVector, {
    digits,
    times: () => (known ??= times()),
    known: () => known,
    range,
    search,
    isWritten: false,
  });
  return vector as BytesVector;
};
/** Writes the text of a vector, and makes plain properties of it: loops read them. */
const written = (vector: BytesVector): BytesVector => {
  const own = behind.get(vector)!;
  const { length } = vector;
  const size = textLength(own.digits);
  const offsets = new Uint32Array(length + 1);
  const bytes = writeTexts(own.times(), length);
  for (let i = 1; i <= length; i++) offsets[i] = i * size;
  own.isWritten = true;
  Object.defineProperty(vector, 'offsets', { value: offsets, enumerable: true, configurable: true, writable: true });
  Object.defineProperty(vector, 'bytes', { value: bytes, enumerable: true, configurable: true, writable: true });
  return vector;
};
const offsetsGetter = {
  get(this: BytesVector): Uint32Array {
    return written(this).offsets;
  },
  enumerable: true,
  configurable: true,
};
const bytesGetter = {
  get(this: BytesVector): Uint8Array {
    return written(this).bytes;
  },
  enumerable: true,
  configurable: true,
};

const writeTexts = ({ digits, base, distances }: TimeTexts, length: number): Uint8Array => {
  if (digits === 3) return writeMilliseconds(base, distances, length);
  const size = textLength(digits);
  const out = new Uint8Array(length * size);
  const unit = 10 ** digits;
  // The text of the row before, in place: only what differs is written again.
  const row = new Uint8Array(size);
  row.set([45, 0, 0, 45, 0, 0, 84, 0, 0, 58, 0, 0, 58], 4);
  if (digits > 0) row[19] = 46;
  row[size - 1] = 90;
  let minute = NaN;
  let day = NaN;
  for (let i = 0; i < length; i++) {
    const whole = Math.floor(distances[i]! / unit);
    const seconds = base + whole;
    const m = Math.floor(seconds / 60);
    if (m !== minute) {
      minute = m;
      const d = Math.floor(m / 1440);
      const ofDay = m - d * 1440;
      if (d !== day) {
        day = d;
        writeDate(row, d);
      }
      writeTwo(row, 11, Math.floor(ofDay / 60));
      writeTwo(row, 14, ofDay % 60);
    }
    writeTwo(row, 17, seconds - m * 60);
    let fraction = distances[i]! - whole * unit;
    for (let k = 19 + digits; k > 19; k--) {
      const tenth = Math.floor(fraction / 10);
      row[k] = 48 + fraction - tenth * 10;
      fraction = tenth;
    }
    const at = i * size;
    for (let k = 0; k < size; k++) out[at + k] = row[k]!;
  }
  return out;
};
/** Texts of 24 bytes, the most frequent ones, by six words a row. */
const writeMilliseconds = (base: number, distances: Float64Array, length: number): Uint8Array => {
  const out = new Uint32Array(length * 6);
  const row = new Uint8Array(16);
  const words = new Uint32Array(row.buffer);
  row.set([45, 0, 0, 45, 0, 0, 84, 0, 0, 58, 0, 0], 4);
  let from = 0;
  let to = 0;
  let before = 0;
  let day = NaN;
  let a = 0;
  let b = 0;
  let c = 0;
  let d = 0;
  for (let i = 0, at = 0; i < length; i++, at += 6) {
    const distance = distances[i]!;
    if (distance < from || distance >= to) {
      const minute = Math.floor((base + Math.floor(distance / 1000)) / 60);
      const days = Math.floor(minute / 1440);
      const ofDay = minute - days * 1440;
      if (days !== day) writeDate(row, (day = days));
      writeTwo(row, 11, Math.floor(ofDay / 60));
      writeTwo(row, 14, ofDay % 60);
      a = words[0]!;
      b = words[1]!;
      c = words[2]!;
      d = words[3]!;
      before = (minute * 60 - base) * 1000;
      from = Math.max(0, before);
      to = before + 60_000;
    }
    const ofMinute = distance - before;
    const second = Math.floor(ofMinute / 1000);
    out[at] = a;
    out[at + 1] = b;
    out[at + 2] = c;
    out[at + 3] = d;
    out[at + 4] = secondWords[second]!;
    out[at + 5] = milliWords[ofMinute - second * 1000]!;
  }
  return new Uint8Array(out.buffer);
};
/** `:05.` and `678Z` as words, first byte lowest. */
const secondWords = Uint32Array.from(
  { length: 60 },
  (_, s) => 58 | ((48 + Math.floor(s / 10)) << 8) | ((48 + (s % 10)) << 16) | (46 << 24),
);
const milliWords = Uint32Array.from(
  { length: 1000 },
  (_, m) => (48 + Math.floor(m / 100)) | ((48 + (Math.floor(m / 10) % 10)) << 8) | ((48 + (m % 10)) << 16) | (90 << 24),
);
const writeDate = (out: Uint8Array, days: number): void => {
  const { year, month, day } = dateOfDays(days);
  writeTwo(out, 0, Math.floor(year / 100));
  writeTwo(out, 2, year % 100);
  writeTwo(out, 5, month);
  writeTwo(out, 8, day);
};
const writeTwo = (out: Uint8Array, at: number, n: number): void => {
  const tens = Math.floor(n / 10);
  out[at] = 48 + tens;
  out[at + 1] = 48 + n - tens * 10;
};
