/**
 * Numbers in texts that are nothing but digits, with a sign or a point: read where they lie. Casts of texts
 * to integers take a tenth of the time that expressions over their characters take.
 */
import type { BytesVector } from '../../../vectors/vector.ts';

/** So many digits are exact as a float, and so is their quotient with a power of ten up to the same. */
const digitsMax = 15;
const powers = Float64Array.from({ length: digitsMax + 1 }, (_, k) => Number(`1e${k}`));
const minus = 0x2d;
const plus = 0x2b;
const point = 0x2e;

/** The number of each text; NaN for those that are to be looked at otherwise. `withPoint`: fractions are numbers too. */
export const plainNumbers = ({ bytes, offsets, length }: BytesVector, withPoint: boolean): Float64Array => {
  const out = new Float64Array(length);
  for (let i = 0; i < length; i++) out[i] = plainNumber(bytes, offsets[i], offsets[i + 1], withPoint);
  return out;
};
const plainNumber = (bytes: Uint8Array, start: number, end: number, withPoint: boolean): number => {
  const first = bytes[start];
  const isNegative = first === minus;
  let at = start + (isNegative || first === plus ? 1 : 0);
  if (at >= end || end - at > digitsMax) return NaN;
  let x = 0;
  let places = -1;
  for (; at < end; at++) {
    const code = bytes[at];
    if (code >= 0x30 && code <= 0x39) {
      x = x * 10 + code - 0x30;
      if (places >= 0) places++;
    } else if (code === point && withPoint && places < 0 && at > start && at + 1 < end) places = 0;
    else return NaN;
  }
  const size = places > 0 ? x / powers[places] : x;
  return isNegative ? -size : size;
};
