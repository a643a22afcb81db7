/** Integers as decimal texts, a column at a time: a text for each row by itself takes ten times as long. */
import { types } from '../../../vectors/type.ts';
import type { BytesVector, NumberVector } from '../../../vectors/vector.ts';

/** The longest is -9223372036854775808, or 18446744073709551615. */
const longest = 20;
const zero = 0x30;
const minus = 0x2d;

/** The text of each row. */
export const digitsOf = ({ values, length }: NumberVector): BytesVector => {
  const bytes = new Uint8Array(length * longest);
  const offsets = new Uint32Array(length + 1);
  let end = 0;
  for (let i = 0; i < length; i++) {
    const x = values[i];
    end = typeof x === 'number' ? writeNumber(x, bytes, end) : writeBigint(x, bytes, end);
    offsets[i + 1] = end;
  }
  return { form: 'bytes', type: types.string, length, offsets, bytes: bytes.subarray(0, end) };
};
const writeNumber = (x: number, out: Uint8Array, at: number): number => {
  let start = at;
  if (x < 0) out[start++] = minus;
  let rest = Math.abs(x);
  let end = start + digitCount(rest);
  const last = end;
  // Remainders of doubles take several times as long as those of integers of 32 bits.
  for (; rest > 0x7fffffff; rest = Math.floor(rest / 10)) out[--end] = zero + (rest % 10);
  for (let small = rest | 0; end > start; small = (small / 10) | 0) out[--end] = zero + (small % 10);
  return last;
};
const digitCount = (x: number): number => {
  let count = 1;
  for (let power = 10; x >= power; power *= 10) count++;
  return count;
};
const writeBigint = (x: bigint, out: Uint8Array, at: number): number => {
  const text = String(x);
  for (let i = 0; i < text.length; i++) out[at + i] = text.charCodeAt(i);
  return at + text.length;
};
