/** Times kept as nanoseconds in 64 bits, worked on without a bigint per row: through the two 32-bit halves of each value. */
import { types } from '../../vectors/type.ts';
import { daysOfDate, daysOfMonth } from '../../vectors/literal.ts';
import { narrowed } from './arithmetic.ts';
import { type BytesVector, type NumberArray, type NumberVector, type Vector, numbers } from '../../vectors/vector.ts';

const digit = 48;

/**
 * Times of strings that are all RFC 3339 in UTC (`2024-01-02T03:04:05[.fraction]Z`) and within 64 bits; undefined as soon as one is not.
 */
export const timesOfBytes = (v: BytesVector): Vector | undefined => {
  const { bytes, offsets, length } = v;
  const seconds = new Float64Array(length), nanos = new Uint32Array(length);
  let lastDate = -1, lastDays = 0;
  for (let i = 0; i < length; i++) {
    const start = offsets[i]!, end = offsets[i + 1]!;
    if (end - start < 20 || bytes[end - 1] !== 90 || bytes[start + 4] !== 45 || bytes[start + 7] !== 45 || bytes[start + 10] !== 84
      || bytes[start + 13] !== 58 || bytes[start + 16] !== 58) return undefined;
    const year = two(bytes, start) * 100 + two(bytes, start + 2), month = two(bytes, start + 5), day = two(bytes, start + 8);
    const hour = two(bytes, start + 11), minute = two(bytes, start + 14), second = two(bytes, start + 17);
    // NaN (no digits) fails these comparisons too.
    if (!(year >= 1678 && year <= 2261 && month >= 1 && month <= 12 && day >= 1 && hour <= 23 && minute <= 59 && second <= 59)) return undefined;
    const date = year * 512 + month * 32 + day;
    if (date !== lastDate) {
      if (day > daysOfMonth(year, month)) return undefined;
      lastDays = daysOfDate(year, month, day);
      lastDate = date;
    }
    const fraction = end - start === 20 ? 0 : fractionOf(bytes, start + 19, end - 1);
    if (fraction < 0) return undefined;
    seconds[i] = lastDays * 86400 + hour * 3600 + minute * 60 + second;
    nanos[i] = fraction;
  }
  return numbers(types.time, joinSeconds(seconds, nanos));
};
const two = (bytes: Uint8Array, at: number): number => {
  const a = bytes[at]! - digit, b = bytes[at + 1]! - digit;
  return a >= 0 && a <= 9 && b >= 0 && b <= 9 ? a * 10 + b : NaN;
};
/** Nanoseconds of `.123`, or -1. */
const fractionOf = (bytes: Uint8Array, start: number, end: number): number => {
  if (bytes[start] !== 46 || end - start < 2) return -1;
  let n = 0, scale = 1e9;
  for (let i = start + 1; i < end; i++) {
    const d = bytes[i]! - digit;
    if (d < 0 || d > 9) return -1;
    if (scale > 1) {
      n = n * 10 + d;
      scale /= 10;
    }
  }
  return n * scale;
};

/** Nanoseconds from seconds (below 2^34) and nanoseconds within the second. */
export const joinSeconds = (seconds: Float64Array, nanos: Uint32Array): NumberArray => {
  const length = seconds.length;
  let most = 0;
  for (let i = 0; i < length; i++) most = Math.max(most, Math.abs(seconds[i]!));
  // 2^53 nanoseconds are 9,007,199.25 seconds.
  if (most < 9007199) {
    const out = new Float64Array(length);
    for (let i = 0; i < length; i++) out[i] = seconds[i]! * 1e9 + nanos[i]!;
    return out;
  }
  const out = new BigInt64Array(length), halves = new Int32Array(out.buffer);
  for (let i = 0; i < length; i++) {
    // seconds * 1e9 + nanos in two exact pieces: high * 2^16 + low.
    const s = seconds[i]!, upper = Math.floor(s / 65536), lower = s - upper * 65536;
    const high = upper * 1e9, low = lower * 1e9 + nanos[i]!;
    const highUpper = Math.floor(high / 65536), bottom = (high - highUpper * 65536) * 65536 + low;
    const carry = Math.floor(bottom / 4294967296);
    halves[i * 2] = bottom - carry * 4294967296;
    halves[i * 2 + 1] = highUpper + carry;
  }
  return most < 9007201 ? narrowed(out) : out;
};

/** Whole seconds (rounded down) and the nanoseconds within the second, of a time or duration vector. */
export const splitSeconds = (v: NumberVector): { readonly seconds: Float64Array; readonly nanos: Uint32Array } => {
  const { values, length } = v, seconds = new Float64Array(length), nanos = new Uint32Array(length);
  if (values instanceof Float64Array) {
    for (let i = 0; i < length; i++) {
      const s = Math.floor(values[i]! / 1e9), rest = values[i]! - s * 1e9;
      seconds[i] = s;
      nanos[i] = rest;
    }
    return { seconds, nanos };
  }
  const halves = new Int32Array(values.buffer, values.byteOffset, values.length * 2);
  for (let i = 0; i < length; i++) {
    const low = halves[i * 2]!, high = halves[i * 2 + 1]!;
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
