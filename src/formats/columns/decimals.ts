/**
 * Decimals of Parquet and Arrow as floats: the reference has no other type for them. A decimal that its float does not
 * give back digit by digit is a long decimal (vectors/decimal.ts). They go out as decimals again.
 *
 * Invariants:
 * - A column with long decimals is a union of the floats and these, others are floats alone.
 * - Decimals of more digits than long ones have are rounded, which is told, once a column; who does not listen pays
 *   nothing for it.
 * - What goes out is the decimal that the float is the nearest one to, and of floats that are none it is an error.
 */
import { LakeError } from '../../errors.ts';
import { decimalData, longDecimalType, longDecimals, unitsOfDecimal } from '../../vectors/decimal.ts';
import { supText } from '../../vectors/sup/print.ts';
import {
  type NamedType,
  type Type,
  arrayType,
  mapType,
  namedType,
  recordType,
  setType,
  types,
  unionType,
} from '../../vectors/type.ts';
import { unionOfOne } from '../../vectors/unions.ts';
import {
  type FlatVector,
  type NumberArray,
  type NumberVector,
  type Vector,
  emptyVector,
  flatten,
  numbers,
  uniformType,
  valueAt,
} from '../../vectors/vector.ts';
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

/** What a column's reader is told of what was lost: digits are not looked at any more once some were. */
export interface Losses {
  isTold: boolean;
  tell(type: DecimalType, first: string): void;
  /** A map has a key several times. */
  tellRepeatedKey(): void;
}

/** Tells what the columns of one file lose. */
export const lossesOf = (format: string, warn: (text: string) => void): ((column: string) => Losses) => {
  const columns = new Map<string, Losses>();
  return (column) => {
    let lost = columns.get(column);
    if (!lost) {
      let isRepeatTold = false;
      lost = {
        isTold: false,
        tell({ precision, scale }, first) {
          this.isTold = true;
          warn(
            `${format}: column ${column}: decimal(${precision},${scale}) is kept as float64, which does not hold all of its digits (first: ${first})`,
          );
        },
        tellRepeatedKey() {
          if (isRepeatTold) return;
          isRepeatTold = true;
          warn(`${format}: column ${column}: a map has a key several times, and keeps the last value of it`);
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
  lost: Losses | undefined,
): Vector => {
  const { scale, precision } = type;
  const by = Number(`1e${Math.abs(scale)}`);
  const isExact = Math.abs(scale) <= exactScaleMax;
  const long: number[] = [];
  const texts: string[] = [];
  for (let i = 0; i < integers.length; i++) {
    const x = integers[i];
    const size = Math.abs(x);
    if (isExact && size < wholeMax) {
      integers[i] = scale < 0 ? x * by : x / by;
      // With a zero at their end they have no more than 15.
      if (size < safeMax || x % 10 === 0) continue;
    }
    const units = exact(i);
    const data = decimalData(scale < 0 ? { units: units * 10n ** BigInt(-scale), scale: 0 } : { units, scale });
    if (typeof data === 'string') {
      long.push(i);
      texts.push(data);
      continue;
    }
    integers[i] = data ?? Number(`${units}e${-scale}`);
    if (data === undefined && lost && !lost.isTold) lost.tell(type, decimalText(units, scale));
  }
  return named(`deciaml_${scale}_${precision}`, integers, long, texts);
};
const named = (name: string, values: Float64Array, long: readonly number[], texts: readonly string[]): Vector => {
  const floats: Vector = { form: 'named', name, length: values.length, inner: numbers(types.float64, values) };
  if (long.length === 0) return floats;
  const type = unionType([namedType(name, types.float64), longDecimalType]);
  if (type.kind !== 'union') throw new Error('two types are a union');
  const tags = new Uint32Array(values.length).fill(1 - type.members.indexOf(longDecimalType));
  const slots = Uint32Array.from(values, (_, i) => i);
  long.forEach((row, k) => {
    tags[row] = 1 - tags[row];
    slots[row] = k;
  });
  const members = type.members.map((m) => (m === longDecimalType ? longDecimals(texts) : floats));
  return { form: 'union', type, length: values.length, tags, slots, members };
};
/** The decimals that a column of floats and long decimals has beside its nulls; undefined for other unions. */
export const decimalAmong = (members: readonly Type[]): NamedType | undefined => {
  const [one, other, ...more] = members.filter((m) => m !== types.null);
  const floats = one === longDecimalType ? other : one;
  const isPair = more.length === 0 && (one === longDecimalType) !== (other === longDecimalType);
  return isPair && floats?.kind === 'named' && floats.inner === types.float64 && /^deciaml_\d+_\d+$/.test(floats.name)
    ? floats
    : undefined;
};
const withoutLong = new WeakMap<Type, Type>();
/** The type with a column's decimals where it has these and long ones. */
export const withoutLongDecimals = (t: Type): Type => {
  let found = withoutLong.get(t);
  if (!found) withoutLong.set(t, (found = mapped(t, withoutLongDecimals)));
  return found;
};
const mapped = (t: Type, of: (t: Type) => Type): Type => {
  switch (t.kind) {
    case 'record':
      return recordType(t.fields.map((f) => ({ ...f, type: of(f.type) })));
    case 'array':
      return arrayType(of(t.element));
    case 'set':
      return setType(of(t.element));
    case 'map':
      return mapType(of(t.key), of(t.value));
    case 'union': {
      const isDecimal = decimalAmong(t.members) !== undefined;
      const members = isDecimal ? t.members.filter((m) => m !== longDecimalType) : t.members.map(of);
      return members.length === 1 ? members[0] : unionType(members);
    }
    default:
      return t;
  }
};
/** Parts of one column, of which some have long decimals: all as unions then. */
export const alikeDecimals = (parts: readonly Vector[]): readonly Vector[] => {
  const union = parts.map(uniformType).find((t) => t?.kind === 'union');
  if (union?.kind !== 'union' || !union.members.includes(longDecimalType)) return parts;
  return parts.map((part) => {
    const tag = union.members.indexOf(uniformType(part)!);
    const members = union.members.map((m) => emptyVector(m));
    return tag < 0 ? part : unionOfOne(union, tag, flatten(part), members);
  });
};

/** Decimals of integers of 32 bits. */
export const decimalsOf32 = (type: DecimalType, values: Int32Array, lost?: Losses): Vector =>
  decimalsOf(type, Float64Array.from(values), (i) => BigInt(values[i]), lost);

/** Decimals of integers of 64 bits. */
export const decimalsOf64 = (
  type: DecimalType,
  values: Float64Array | BigInt64Array | BigUint64Array,
  lost?: Losses,
): Vector => {
  const integers =
    values instanceof Float64Array ? Float64Array.from(values) : Float64Array.from(values as BigInt64Array, Number);
  return decimalsOf(type, integers, (i) => BigInt(values[i]), lost);
};

/**
 * Decimals of integers in two's complement, the most significant byte first. @throws BytesFault for integers that are
 * too long
 */
export const decimalsOfRuns = (type: DecimalType, { offsets, bytes }: Runs, rows: number, lost?: Losses): Vector => {
  const wide = (i: number): bigint => wideInteger(bytes, offsets[i], offsets[i + 1]);
  const integers = new Float64Array(rows);
  for (let i = 0; i < rows; i++) integers[i] = nearInteger(bytes, offsets[i], offsets[i + 1]);
  return decimalsOf(type, integers, wide, lost);
};

/** Decimals of integers of `words.length` times 64 bits, each as pairs of 32-bit words, the lowest pair first. */
export const decimalsOfWords = (type: DecimalType, words: readonly Int32Array[], lost?: Losses): Vector => {
  const [low, ...others] = words;
  const rows = low.length >> 1;
  const integers = new Float64Array(rows);
  const exact = (i: number): bigint =>
    words.reduceRight(
      (x, pairs, k) => (x << 64n) | (k === words.length - 1 ? BigInt.asIntN(64, pairAt(pairs, i)) : pairAt(pairs, i)),
      0n,
    );
  for (let i = 0; i < rows; i++) {
    const high = low[i * 2 + 1];
    const sign = high < 0 ? -1 : 0;
    const isNear =
      high < wordMax && high >= -wordMax && others.every((pairs) => pairs[i * 2] === sign && pairs[i * 2 + 1] === sign);
    integers[i] = isNear ? high * 2 ** 32 + (low[i * 2] >>> 0) : Number(exact(i));
  }
  return decimalsOf(type, integers, exact, lost);
};
/** High words of integers that are floats in any case. */
const wordMax = 2 ** 20;
const pairAt = (pairs: Int32Array, i: number): bigint =>
  (BigInt(pairs[i * 2 + 1] >>> 0) << 32n) | BigInt(pairs[i * 2] >>> 0);

/** Whole numbers of the last place: their lowest 64 bits, and as many more of each as one of them needs. */
export interface Units {
  readonly low: NumberArray;
  readonly high: readonly BigInt64Array[];
}
/**
 * The whole numbers of the last place; of rows whose `valid` is 0 anything. @throws LakeError `write-columns-value` for
 * what is no decimal of the type
 */
export const unitsOfDecimals = (
  v: FlatVector,
  valid: Uint8Array | undefined,
  type: DecimalType,
  writer: string,
): Units => {
  const quick = v.form === 'number' ? smallUnits(v, type) : undefined;
  if (quick) return { low: quick, high: [] };
  const all = Array.from({ length: v.length }, (_, i) => {
    if (valid?.[i] === 0) return 0n;
    const value = valueAt(v, i);
    const units = unitsOfDecimal(value, type);
    if (units !== undefined) return units;
    throw new LakeError('write-columns-value', {
      writer,
      fault: `value ${supText(value)} is no decimal(${type.precision},${type.scale}): cast the column to float64`,
    });
  });
  const wordOf = (k: number): BigInt64Array => BigInt64Array.from(all, (x) => BigInt.asIntN(64, x >> BigInt(64 * k)));
  const high: BigInt64Array[] = [];
  for (let k = 1; all.some((x) => BigInt.asIntN(64 * k, x) !== x); k++) high.push(wordOf(k));
  return { low: wordOf(0), high };
};
/** Undefined where one of them is not exact, or large. */
const smallUnits = ({ values, length }: NumberVector, { scale, precision }: DecimalType): Float64Array | undefined => {
  const units = new Float64Array(length);
  const by = Number(`1e${scale}`);
  const most = 10 ** Math.min(precision, digitsMax);
  if (scale > exactScaleMax) return undefined;
  for (let i = 0; i < length; i++) {
    const x = Number(values[i]);
    const n = Math.round(x * by) + 0;
    if (!(Math.abs(n) < most) || n / by !== x) return undefined;
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
  let x = end > from && bytes[from] >= 0x80 ? -1 : 0;
  for (let i = from; i < end; i++) x = x * 256 + bytes[i];
  return x;
};
const wideInteger = (bytes: Uint8Array, start: number, end: number): bigint => {
  const from = behindSign(bytes, start, end);
  if (end - from > wideBytesMax) throw new BytesFault(`decimal of ${end - from} bytes`);
  let x = end > from && bytes[from] >= 0x80 ? -1n : 0n;
  for (let i = from; i < end; i++) x = (x << 8n) | BigInt(bytes[i]);
  return x;
};
/** The place behind bytes that only repeat the sign. */
const behindSign = (bytes: Uint8Array, start: number, end: number): number => {
  const sign = bytes[start] >= 0x80 ? 0xff : 0;
  let from = start;
  while (from + 1 < end && bytes[from] === sign && (bytes[from + 1] ^ sign) < 0x80) from++;
  return from;
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
