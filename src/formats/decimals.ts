/**
 * Decimals of Parquet and Arrow as floats, rounded once: the reference has no other type for them. They go out as
 * decimals again.
 *
 * Invariants:
 * - A decimal that its float does not give back digit by digit is told, once a column; who does not listen pays nothing
 *   for it.
 * - What goes out is the decimal that the float is the nearest one to, and of floats that are none it is an error.
 */
import { LakeError } from '../errors.ts';
import { types } from '../vectors/type.ts';
import { type NumberVector, type Vector, numbers } from '../vectors/vector.ts';
import { BytesFault } from './type-bytes.ts';

/** Runs of bytes, one behind the other. */
interface Runs {
  readonly offsets: Uint32Array;
  readonly bytes: Uint8Array;
}

/** How many digits decimals have, and how many of them behind the point (before it, where negative). */
export interface DecimalType {
  readonly scale: number;
  readonly precision: number;
}

/** What a column's reader is told of digits that were lost: nothing is looked at any more once they were. */
export interface LostDigits {
  isTold: boolean;
  tell(type: DecimalType, first: string): void;
}

/** Tells what the columns of one file lose. */
export const lostDigitsOf = (format: string, warn: (text: string) => void): ((column: string) => LostDigits) => {
  const columns = new Map<string, LostDigits>();
  return (column) => {
    let lost = columns.get(column);
    if (!lost) {
      lost = {
        isTold: false,
        tell({ precision, scale }, first) {
          this.isTold = true;
          warn(
            `${format}: column ${column}: decimal(${precision},${scale}) is kept as float64, which does not hold all of its digits (first: ${first})`,
          );
        },
      };
      columns.set(column, lost);
    }
    return lost;
  };
};

/** Beyond it not every integer is a float. */
const wholeMax = 2 ** 53;
/** Digits that a float always gives back; of decimals below this it gives back all. */
const digitsMax = 15;
const safeMax = 10 ** digitsMax;
/** Powers of ten that are floats: one division by such a one rounds right. */
const exactScaleMax = 22;

/** Decimals of integers, which may be overwritten. `exact`: the integer at a place, for those that are no floats. */
const decimalsOf = (
  type: DecimalType,
  integers: Float64Array,
  exact: (i: number) => bigint,
  lost: LostDigits | undefined,
): Vector => {
  const { scale, precision } = type;
  const by = Number(`1e${Math.abs(scale)}`);
  const isExact = Math.abs(scale) <= exactScaleMax;
  for (let i = 0; i < integers.length; i++) {
    const x = integers[i]!;
    const size = Math.abs(x);
    if (isExact && size < wholeMax) {
      integers[i] = scale < 0 ? x * by : x / by;
      // With a zero at their end they have no more than 15.
      if (size < safeMax || x % 10 === 0) continue;
    } else integers[i] = Number(`${exact(i)}e${-scale}`);
    if (lost && !lost.isTold && !givesBack(integers[i]!, exact(i), scale))
      lost.tell(type, decimalText(exact(i), scale));
  }
  return {
    form: 'named',
    name: `deciaml_${scale}_${precision}`,
    length: integers.length,
    inner: numbers(types.float64, integers),
  };
};

/** Decimals of integers of 32 bits. */
export const decimalsOf32 = (type: DecimalType, values: Int32Array, lost?: LostDigits): Vector =>
  decimalsOf(type, Float64Array.from(values), (i) => BigInt(values[i]!), lost);

/** Decimals of integers of 64 bits. */
export const decimalsOf64 = (
  type: DecimalType,
  values: Float64Array | BigInt64Array | BigUint64Array,
  lost?: LostDigits,
): Vector => {
  const integers =
    values instanceof Float64Array ? Float64Array.from(values) : Float64Array.from(values as BigInt64Array, Number);
  return decimalsOf(type, integers, (i) => BigInt(values[i]!), lost);
};

/**
 * Decimals of integers in two's complement, the most significant byte first. @throws BytesFault for integers that are
 * too long
 */
export const decimalsOfRuns = (
  type: DecimalType,
  { offsets, bytes }: Runs,
  rows: number,
  lost?: LostDigits,
): Vector => {
  const wide = (i: number): bigint => wideInteger(bytes, offsets[i]!, offsets[i + 1]!);
  const integers = new Float64Array(rows);
  for (let i = 0; i < rows; i++) integers[i] = nearInteger(bytes, offsets[i]!, offsets[i + 1]!);
  return decimalsOf(type, integers, wide, lost);
};

/** Decimals of integers of `words.length` times 64 bits, each as pairs of 32-bit words, the lowest pair first. */
export const decimalsOfWords = (type: DecimalType, words: readonly Int32Array[], lost?: LostDigits): Vector => {
  const [low, ...others] = words;
  const rows = low!.length >> 1;
  const integers = new Float64Array(rows);
  const exact = (i: number): bigint =>
    words.reduceRight(
      (x, pairs, k) => (x << 64n) | (k === words.length - 1 ? BigInt.asIntN(64, pairAt(pairs, i)) : pairAt(pairs, i)),
      0n,
    );
  for (let i = 0; i < rows; i++) {
    const high = low![i * 2 + 1]!;
    const sign = high < 0 ? -1 : 0;
    const isNear =
      high < wordMax && high >= -wordMax && others.every((pairs) => pairs[i * 2] === sign && pairs[i * 2 + 1] === sign);
    integers[i] = isNear ? high * 2 ** 32 + (low![i * 2]! >>> 0) : Number(exact(i));
  }
  return decimalsOf(type, integers, exact, lost);
};
/** High words of integers that are floats in any case. */
const wordMax = 2 ** 20;
const pairAt = (pairs: Int32Array, i: number): bigint =>
  (BigInt(pairs[i * 2 + 1]! >>> 0) << 32n) | BigInt(pairs[i * 2]! >>> 0);

/**
 * The whole numbers of the last place. @throws LakeError `write-columns-value` for a float that is not the nearest one
 * to a decimal of the type with at most 15 digits
 */
export const unitsOfDecimals = (
  { values, length }: NumberVector,
  { scale, precision }: DecimalType,
  writer: string,
): Float64Array => {
  const units = new Float64Array(length);
  const by = Number(`1e${scale}`);
  const most = 10 ** Math.min(precision, digitsMax);
  const isExact = scale <= exactScaleMax;
  for (let i = 0; i < length; i++) {
    const x = Number(values[i]);
    const n = Math.round(x * by) + 0;
    if (!(Math.abs(n) < most) || (isExact ? n / by : Number(`${n}e${-scale}`)) !== x) {
      throw new LakeError('write-columns-value', {
        writer,
        fault: `value ${x} is no decimal(${precision},${scale}) of at most ${digitsMax} digits: cast the column to float64`,
      });
    }
    units[i] = n;
  }
  return units;
};

/** Bytes of an integer that is a float in any case, and of the longest that is read. */
const nearBytesMax = 6;
const wideBytesMax = 64;
/** An integer, rounded where it is no float. */
const nearInteger = (bytes: Uint8Array, start: number, end: number): number => {
  const from = behindSign(bytes, start, end);
  if (end - from > nearBytesMax) return Number(wideInteger(bytes, from, end));
  let x = end > from && bytes[from]! >= 0x80 ? -1 : 0;
  for (let i = from; i < end; i++) x = x * 256 + bytes[i]!;
  return x;
};
const wideInteger = (bytes: Uint8Array, start: number, end: number): bigint => {
  const from = behindSign(bytes, start, end);
  if (end - from > wideBytesMax) throw new BytesFault(`decimal of ${end - from} bytes`);
  let x = end > from && bytes[from]! >= 0x80 ? -1n : 0n;
  for (let i = from; i < end; i++) x = (x << 8n) | BigInt(bytes[i]!);
  return x;
};
/** The place behind bytes that only repeat the sign. */
const behindSign = (bytes: Uint8Array, start: number, end: number): number => {
  const sign = bytes[start]! >= 0x80 ? 0xff : 0;
  let from = start;
  while (from + 1 < end && bytes[from] === sign && (bytes[from + 1]! ^ sign) < 0x80) from++;
  return from;
};

/** Whether the shortest text of the float, which has the decimal's sign, is the decimal. */
const givesBack = (x: number, integer: bigint, scale: number): boolean => {
  const [mantissa = '', exponent] = Math.abs(x).toExponential().split('e');
  const digits = mantissa.replace('.', '');
  const wanted = String(integer).replace('-', '');
  const significant = wanted.replace(/0+$/, '');
  // 0 has no digits then, and its exponent does not count.
  return (
    digits.replace(/0+$/, '') === significant && (significant === '' || Number(exponent) === wanted.length - 1 - scale)
  );
};
const decimalText = (integer: bigint, scale: number): string => {
  if (scale <= 0 || scale > textScaleMax) return scale === 0 ? String(integer) : `${integer}e${-scale}`;
  const digits = String(integer)
    .replace('-', '')
    .padStart(scale + 1, '0');
  return `${integer < 0n ? '-' : ''}${digits.slice(0, -scale)}.${digits.slice(-scale)}`;
};
/** Points further to the left are written as exponents. */
const textScaleMax = 76;
