/**
 * Times kept as nanoseconds in 64 bits, worked on without a bigint per row: through the two 32-bit halves of each
 * value.
 */
import { types } from '../../vectors/type.ts';
import { narrowed } from './wide-arithmetic.ts';
import { markRuns } from '../../vectors/runs.ts';
import { type TimeRange, minuteOf, rangeBehind, searchBehind, timesBehind, two } from '../../vectors/texts/times.ts';
import {
  type BytesVector,
  type NumberArray,
  type NumberVector,
  type Vector,
  constant,
  numbers,
} from '../../vectors/vector.ts';

const digit = 48;

/** Times of strings that are stored as numbers; undefined for others. */
export const timesOfStored = (v: BytesVector): Vector | undefined => {
  const times = timesBehind(v);
  if (!times) return undefined;
  const { base, distances } = times;
  const { length } = v;
  const unit = 10 ** times.digits;
  const nanosOfUnit = 10 ** (9 - times.digits);
  const seconds = new Float64Array(length);
  const nanos = new Uint32Array(length);
  for (let i = 0; i < length; i++) {
    const whole = Math.floor(distances[i] / unit);
    seconds[i] = base + whole;
    nanos[i] = (distances[i] - whole * unit) * nanosOfUnit;
  }
  return numbers(types.time, joinSeconds(seconds, nanos));
};

/**
 * `bucket(v::time, size)` for strings that are stored as numbers: a dictionary of few buckets, or one bucket for all.
 * Undefined for other strings, for sizes that cut through the last digit, for times before 1970, and where buckets are
 * about as many as rows.
 */
export const bucketsOfStored = (v: Vector, size: number): Vector | undefined => {
  const range = rangeBehind(v);
  const found = range && bucketsOfRange(v, range, size / 1e9);
  if (found) return found;
  const times = timesBehind(v);
  if (!times || times.base < 0 || !(size > 0)) return undefined;
  const { distances } = times;
  const { length } = v;
  const nanosOfUnit = 10 ** (9 - times.digits);
  const span = size / nanosOfUnit;
  if (!Number.isInteger(span) || span > 2 ** 50) return undefined;
  const base = BigInt(times.base) * BigInt(10 ** times.digits);
  const rest = Number(base % BigInt(span));
  const bucketsMax = 16 + length / 4;
  const codes = new Uint32Array(length);
  const places = new Map<number, number>();
  const ends: number[] = [];
  for (let i = 0; i < length; ) {
    const number = Math.floor((distances[i] + rest) / span);
    const to = (number + 1) * span - rest;
    const from = to - span;
    const known = places.get(number);
    const code = known ?? places.size;
    if (known === undefined) places.set(number, code);
    if (places.size > bucketsMax) return undefined;
    const end = times.isSorted ? placeOf(distances, to, i, length) : endOfRun(distances, from, to, i, length);
    codes.fill(code, i, end);
    ends.push(end);
    i = end;
  }
  const first = base - BigInt(rest);
  const starts = BigInt64Array.from(
    [...places.keys()],
    (number) => (first + BigInt(number) * BigInt(span)) * BigInt(nanosOfUnit),
  );
  const values = numbers(types.time, narrowed(starts));
  return places.size === 1
    ? constant(values, length)
    : markRuns({ form: 'dictionary', length, codes, values }, Uint32Array.from(ends));
};
/** Buckets that a search tells apart, at most: it looks at the times before each of them. */
const searchedMax = 8;
/** The buckets of times of a range that holds few of them, found without working out the times; `span` in seconds. */
const bucketsOfRange = (v: Vector, { least, end }: TimeRange, span: number): Vector | undefined => {
  if (!(span >= 1) || !Number.isInteger(span) || least < 0) return undefined;
  const first = Math.floor(least / span);
  const count = Math.floor((end - 1) / span) - first + 1;
  const { length } = v;
  const startsOf = (places: readonly number[]): NumberVector =>
    numbers(types.time, narrowed(BigInt64Array.from(places, (k) => BigInt((first + k) * span) * 1_000_000_000n)));
  if (count === 1) return constant(startsOf([0]), length);
  const search = count > searchedMax ? undefined : searchBehind(v);
  if (!search) return undefined;
  const places: number[] = [];
  const ends: number[] = [];
  const codes = new Uint32Array(length);
  for (let k = 0, from = 0; from < length; k++) {
    const to = k === count - 1 ? length : search.below(((first + k + 1) * span - search.base) * 10 ** search.digits);
    if (to <= from) continue;
    codes.fill(places.length, from, to);
    places.push(k);
    ends.push(to);
    from = to;
  }
  return places.length === 1
    ? constant(startsOf(places), length)
    : markRuns({ form: 'dictionary', length, codes, values: startsOf(places) }, Uint32Array.from(ends));
};
/** The first place behind `start` of a number that is `wanted` or more, among sorted ones. */
const placeOf = (sorted: Float64Array, wanted: number, start: number, length: number): number => {
  let low = start + 1;
  let high = length;
  // Leaps of twice the length each, then halves.
  for (let step = 1; low + step < length; step *= 2) {
    if (sorted[low + step] >= wanted) {
      high = low + step;
      break;
    }
    low += step;
  }
  while (low < high) {
    const middle = (low + high) >> 1;
    if (sorted[middle] < wanted) low = middle + 1;
    else high = middle;
  }
  return low;
};
/** The first place behind `start` of a number outside of a range. */
const endOfRun = (values: Float64Array, from: number, to: number, start: number, length: number): number => {
  let end = start + 1;
  while (end < length && values[end] >= from && values[end] < to) end++;
  return end;
};

/**
 * Times of strings that are all RFC 3339 in UTC (`2024-01-02T03:04:05[.fraction]Z`) and within 64 bits; undefined as
 * soon as one is not.
 */
export const timesOfBytes = (v: BytesVector): Vector | undefined => {
  const { bytes, offsets, length } = v;
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  const out = new BigInt64Array(length);
  const halves = new Int32Array(out.buffer);
  // The sixteen bytes up to the minute, as words: mostly they are those of the row before. `low` and `high` are the
  // minute's nanoseconds.
  let a = 0;
  let b = 0;
  let c = 0;
  let d = 0;
  let low = 0;
  let high = 0;
  let most = 0;
  for (let i = 0; i < length; i++) {
    const start = offsets[i];
    const size = offsets[i + 1] - start;
    if (size < 20 || bytes[start + size - 1] !== 90 || bytes[start + 16] !== 58) return undefined;
    const a1 = view.getInt32(start, true);
    const b1 = view.getInt32(start + 4, true);
    const c1 = view.getInt32(start + 8, true);
    const d1 = view.getInt32(start + 12, true);
    if (d1 !== d || c1 !== c || b1 !== b || a1 !== a) {
      const minute = minuteOf(bytes, start);
      if (minute !== minute) return undefined;
      if (Math.abs(minute) > most) most = Math.abs(minute);
      low = Math.imul(minute, 1_000_000_000) >>> 0;
      high = Math.round((minute * 1e9 - low) / 4294967296);
      a = a1;
      b = b1;
      c = c1;
      d = d1;
    }
    let nanos = size === 24 ? milliseconds(view.getInt32(start + 16, true), view.getInt32(start + 20, true)) * 1e6 : -1;
    if (nanos < 0) {
      const second = two(bytes, start + 17);
      const fraction = size === 20 ? 0 : fractionOf(bytes, start + 19, start + size - 1);
      // NaN (no digits) fails the comparison too.
      if (!(second <= 59) || fraction < 0) return undefined;
      nanos = second * 1e9 + fraction;
    }
    const sum = low + nanos;
    halves[i * 2] = sum;
    halves[i * 2 + 1] = high + ((sum / 4294967296) | 0);
  }
  // 2^53 nanoseconds are 9,007,199.25 seconds.
  return numbers(types.time, most < 9007201 ? narrowed(out) : out);
};
/** The milliseconds of the words `:05.` and `678Z` (first byte lowest), or -1 for anything else. */
const milliseconds = (seconds: number, rest: number): number => {
  if ((seconds & 0xff0000ff) !== 0x2e00003a || rest >>> 24 !== 0x5a) return -1;
  const s = (seconds & 0xffff00) - 0x303000;
  const m = (rest & 0xffffff) - 0x303030;
  // What is no digit is below zero or above nine and shows in the upper half of its byte, or after six was added;
  // minutes have no sixtieth second here.
  if (((s | (s + 0x060600) | m | (m + 0x060606)) & 0xfff0f0f0) !== 0) return -1;
  const tens = (s >> 8) & 15;
  return tens > 5 ? -1 : (tens * 10 + (s >> 16)) * 1000 + (m & 15) * 100 + ((m >> 8) & 15) * 10 + (m >> 16);
};
/** Nanoseconds of `.123`, or -1. */
const fractionOf = (bytes: Uint8Array, start: number, end: number): number => {
  if (bytes[start] !== 46 || end - start < 2) return -1;
  let n = 0;
  const stop = Math.min(end, start + 10);
  for (let i = start + 1; i < stop; i++) {
    const d = bytes[i] - digit;
    if (d < 0 || d > 9) return -1;
    n = n * 10 + d;
  }
  for (let i = stop; i < end; i++) if (bytes[i] < digit || bytes[i] > digit + 9) return -1;
  return n * scales[stop - start - 1];
};
/** What the last of so many digits behind the point counts. */
const scales = [1e9, 1e8, 1e7, 1e6, 1e5, 1e4, 1e3, 1e2, 10, 1];

/** Nanoseconds from seconds (below 2^34) and nanoseconds within the second. */
export const joinSeconds = (seconds: Float64Array, nanos: Uint32Array): NumberArray => {
  const length = seconds.length;
  let most = 0;
  for (let i = 0; i < length; i++) {
    const size = Math.abs(seconds[i]);
    if (size > most) most = size;
  }
  // 2^53 nanoseconds are 9,007,199.25 seconds.
  if (most < 9007199) {
    const out = new Float64Array(length);
    for (let i = 0; i < length; i++) out[i] = seconds[i] * 1e9 + nanos[i];
    return out;
  }
  const out = new BigInt64Array(length);
  const halves = new Int32Array(out.buffer);
  for (let i = 0; i < length; i++) {
    // The low 32 bits are exact; less them, the rounded whole is near a multiple of 2^32 that it tells.
    const s = seconds[i];
    const n = nanos[i];
    const low = (Math.imul(s, 1_000_000_000) + n) >>> 0;
    halves[i * 2] = low;
    halves[i * 2 + 1] = Math.round((s * 1e9 + n - low) / 4294967296);
  }
  return most < 9007201 ? narrowed(out) : out;
};

/** Whole seconds of nanoseconds, rounded down: `rounded` as a double, `low` their exact low 32 bits. */
export const secondsOf = (low: number, rounded: number): number => {
  // The quotient of the rounded double is off by one at most; the exact low 32 bits of the rest tell.
  const s = Math.floor(rounded / 1e9);
  const rest = (low - Math.imul(s, 1_000_000_000)) | 0;
  return rest < 0 ? s - 1 : rest >= 1e9 ? s + 1 : s;
};

/** Whole seconds (rounded down) of times, and the nanoseconds within the second. */
export interface SplitSeconds {
  readonly seconds: Float64Array;
  readonly nanos: Uint32Array;
}
/** Those of a time or duration vector. */
export const splitSeconds = (v: NumberVector): SplitSeconds => {
  const { values, length } = v;
  const seconds = new Float64Array(length);
  const nanos = new Uint32Array(length);
  if (values instanceof Float64Array) {
    for (let i = 0; i < length; i++) {
      const s = Math.floor(values[i] / 1e9);
      const rest = values[i] - s * 1e9;
      seconds[i] = s;
      nanos[i] = rest;
    }
    return { seconds, nanos };
  }
  const halves = new Int32Array(values.buffer, values.byteOffset, values.length * 2);
  for (let i = 0; i < length; i++) {
    const low = halves[i * 2];
    const high = halves[i * 2 + 1];
    // The quotient of the rounded double is off by one at most; the exact low 32 bits of the rest tell.
    let s = Math.floor((high * 4294967296 + (low >>> 0)) / 1e9);
    let rest = (low - Math.imul(s | 0, 1_000_000_000)) | 0;
    if (rest < 0) {
      s--;
      rest += 1e9;
    } else if (rest >= 1e9) {
      s++;
      rest -= 1e9;
    }
    seconds[i] = s;
    nanos[i] = rest;
  }
  return { seconds, nanos };
};
