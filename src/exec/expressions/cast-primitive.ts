/** Casts to primitive types: one loop per pair of forms. The vectors here are flat, without names, unions and nulls. */
import {
  type PrimitiveType,
  type Type,
  bitsOf,
  isFloat,
  isSigned,
  isUnsigned,
  typeText,
  types,
} from '../../vectors/type.ts';
import { type Data, integer, bytesData } from '../../vectors/value.ts';
import {
  castFloatText,
  durationText,
  fitsInt64,
  ipText,
  netText,
  parseDuration,
  parseInteger,
  parseIp,
  parseNet,
  parseUnsigned,
  roundFloat,
  timeText,
} from '../../vectors/literal.ts';
import {
  type BoolVector,
  type BytesVector,
  type FlatVector,
  type NumberVector,
  type Vector,
  bools,
  dataAt,
  numbers,
  textAt,
  valueAt,
} from '../../vectors/vector.ts';
import { Builder } from '../../vectors/builder.ts';
import { BytesBuilder, NumberBuilder } from '../../vectors/builder-leaves.ts';
import { supText } from '../../vectors/sup/print.ts';
import { parseSupType } from '../../vectors/sup/parse.ts';
import { SupError } from '../../vectors/sup/error.ts';
import { boolOfText, goFloat } from './number-text.ts';
import { overlay, wrapErrors } from './rows.ts';
import { timeOfText } from './time-text.ts';
import { timesOfBytes, timesOfStored } from './time-bytes.ts';

/** Casts to a primitive type other than the vector's own. */
export const castPrimitive = (v: FlatVector, type: PrimitiveType): Vector => {
  switch (type.name) {
    case 'string':
      return toText(v);
    case 'bytes':
      return v.form === 'bytes' && v.type === types.string ? { ...v, type: types.bytes } : refuse(v, type);
    case 'bool':
      return toBool(v);
    case 'ip':
      return parsed(v, type, parseIp);
    case 'net':
      return parsed(v, type, parseNet);
    case 'type':
      return parsed(v, type, typeOfText);
    case 'null':
      return refuse(v, type);
    case 'time':
    case 'duration':
      return toNanos(v, type);
    default:
      return isFloat(type) ? toFloat(v, type) : toInteger(v, type);
  }
};
/** The error of a cast that is not possible, around each value. */
export const refuse = (v: Vector, type: Type): Vector => wrapErrors(`cannot cast to ${typeText(type)}`, v);

const isText = (v: FlatVector): v is BytesVector => v.form === 'bytes' && v.type === types.string;

/** Strings through a parser; anything else cannot be cast. */
const parsed = (v: FlatVector, type: PrimitiveType, parse: (text: string) => Data | undefined): Vector => {
  if (!isText(v)) return refuse(v, type);
  const out = new Builder(type);
  const bad = new Uint8Array(v.length);
  const filler = type === types.type ? types.null : new Uint8Array(type === types.net ? 8 : 4);
  for (let i = 0; i < v.length; i++) {
    const data = parse(textAt(v, i));
    if (data === undefined) bad[i] = 1;
    out.appendData(type, data ?? filler);
  }
  return overlay(out.finish(), bad, refuse(v, type));
};
const typeOfText = (text: string): Type | undefined => {
  if (!text.startsWith('<') || !text.endsWith('>')) return undefined;
  try {
    return parseSupType(text.slice(1, -1));
  } catch (error) {
    if (error instanceof SupError) return undefined;
    throw error;
  }
};

// Numbers

const rangeOf = (type: PrimitiveType): { readonly low: bigint; readonly high: bigint } => {
  const bits = BigInt(bitsOf(type));
  return isUnsigned(type)
    ? { low: 0n, high: (1n << bits) - 1n }
    : { low: -(1n << (bits - 1n)), high: (1n << (bits - 1n)) - 1n };
};
/**
 * The integer of a number in the range of the type, or undefined. A float is held against the range before its fraction
 * is cut off.
 */
const fitInteger = (
  x: number | bigint,
  float: boolean,
  type: PrimitiveType,
  range: { readonly low: bigint; readonly high: bigint },
): number | bigint | undefined => {
  if (float) {
    if (!Number.isFinite(x as number)) return undefined;
    // As the reference: 2^64 passes for the largest uint64 and becomes 2^63.
    if (type === types.uint64 && x === 18446744073709551616) return 9223372036854775808n;
    if (x < Number(range.low) || x > Number(range.high)) return undefined;
    const whole = Math.trunc(x as number) + 0;
    if (Number.isSafeInteger(whole)) return whole;
    const big = BigInt(whole);
    return big >= range.low && big <= range.high ? big : undefined;
  }
  return x >= range.low && x <= range.high ? x : undefined;
};

const toInteger = (v: FlatVector, type: PrimitiveType): Vector => {
  if (v.form === 'bool') return numbers(type, Float64Array.from(v.values.subarray(0, v.length)));
  if (v.form === 'number') return convertIntegers(v, type);
  if (!isText(v)) return refuse(v, type);
  const range = rangeOf(type);
  const parse = isUnsigned(type) ? parseUnsigned : parseInteger;
  return numbersOf(v, type, (i) => {
    const x = parse(textAt(v, i));
    return x === undefined ? undefined : fitInteger(x, false, type, range);
  });
};
const convertIntegers = (v: NumberVector, type: PrimitiveType): Vector => {
  const range = rangeOf(type);
  const float = isFloat(v.type);
  if (v.values instanceof Float64Array && fitsAll(v.values, v.length, Number(range.low), Number(range.high))) {
    if (!float) return numbers(type, v.values, v.length);
    return numbers(
      type,
      v.values.subarray(0, v.length).map((x) => Math.trunc(x) + 0),
    );
  }
  return numbersOf(v, type, (i) => fitInteger(v.values[i], float, type, range));
};
/** Whether all are safe numbers within the bounds (NaN is not). */
const fitsAll = (values: Float64Array, length: number, low: number, high: number): boolean => {
  const least = Math.max(low, -Number.MAX_SAFE_INTEGER);
  const most = Math.min(high, Number.MAX_SAFE_INTEGER);
  for (let i = 0; i < length; i++) {
    const x = values[i];
    if (!(x >= least && x <= most)) return false;
  }
  return true;
};
/** One number a row, or the cast's error where there is none. */
const numbersOf = (v: FlatVector, type: PrimitiveType, number: (i: number) => number | bigint | undefined): Vector => {
  const out = new NumberBuilder(type);
  const bad = new Uint8Array(v.length);
  for (let i = 0; i < v.length; i++) {
    const x = number(i);
    if (x === undefined) bad[i] = 1;
    const y = x ?? 0;
    out.push(typeof y === 'bigint' ? integer(y) : y);
  }
  return overlay(out.finish(), bad, refuse(v, type));
};

const toFloat = (v: FlatVector, type: PrimitiveType): Vector => {
  if (v.form === 'bool') return numbers(type, Float64Array.from(v.values.subarray(0, v.length)));
  if (v.form === 'number') {
    if (v.values instanceof Float64Array && type === types.float64) return numbers(type, v.values, v.length);
    const out = new Float64Array(v.length);
    for (let i = 0; i < out.length; i++) out[i] = roundFloat(type, Number(v.values[i]));
    return numbers(type, out);
  }
  if (!isText(v)) return refuse(v, type);
  return numbersOf(v, type, (i) => {
    const x = goFloat(textAt(v, i));
    return x === undefined ? undefined : roundFloat(type, x);
  });
};

const nanosOfFloat = (x: number): number | bigint | undefined =>
  Math.abs(x) < 2 ** 63 ? integer(BigInt(Math.trunc(x))) : undefined;

const toNanos = (v: FlatVector, type: PrimitiveType): Vector => {
  if (v.form === 'number') {
    if (isFloat(v.type))
      return numbersOf(v, type, (i) => (Number.isNaN(v.values[i]) ? undefined : nanosOfFloat(v.values[i] as number)));
    if (v.values instanceof Float64Array || isSigned(v.type) || v.type === types.time || v.type === types.duration)
      return numbers(type, v.values, v.length);
    return numbersOf(v, type, (i) => (fitsInt64(v.values[i]) ? v.values[i] : undefined));
  }
  if (v.form === 'bool' && type === types.duration)
    return numbers(type, Float64Array.from(v.values.subarray(0, v.length)));
  if (!isText(v)) return refuse(v, type);
  if (type === types.time)
    return timesOfStored(v) ?? timesOfBytes(v) ?? numbersOf(v, type, (i) => timeOfText(textAt(v, i)));
  return numbersOf(v, type, (i) => {
    const text = textAt(v, i);
    const nanos = parseDuration(text);
    if (nanos !== undefined) return nanos;
    const count = goFloat(text);
    return count === undefined || Number.isNaN(count) ? undefined : nanosOfFloat(count);
  });
};

const toBool = (v: FlatVector): Vector => {
  if (v.form === 'number') return numbersToBool(v);
  if (!isText(v)) return refuse(v, types.bool);
  const out = new Uint8Array(v.length);
  const bad = new Uint8Array(v.length);
  for (let i = 0; i < v.length; i++) {
    const x = boolOfText(textAt(v, i));
    if (x === undefined) bad[i] = 1;
    else out[i] = x ? 1 : 0;
  }
  return overlay(bools(out), bad, refuse(v, types.bool));
};
const numbersToBool = (v: NumberVector): Vector => {
  const out = new Uint8Array(v.length);
  const bad = new Uint8Array(v.length);
  const float = isFloat(v.type);
  for (let i = 0; i < v.length; i++) {
    const x = v.values[i];
    // By way of int64: fractions are cut off, what is beyond cannot be cast.
    if (float ? !(x >= -(2 ** 63) && x < 2 ** 63) : x >= 2 ** 63) bad[i] = 1;
    else if (float ? Math.abs(x as number) >= 1 : x != 0) out[i] = 1;
  }
  return overlay(bools(out), bad, refuse(v, types.bool));
};

// Text

const decoder = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true });
const isUtf8 = (bytes: Uint8Array): boolean => {
  try {
    decoder.decode(bytes);
    return true;
  } catch {
    return false;
  }
};

const toText = (v: FlatVector): Vector => {
  const out = new BytesBuilder(types.string);
  switch (v.form) {
    case 'number': {
      const text = numberText(v.type);
      for (let i = 0; i < v.length; i++) out.text(text(v.values[i]));
      break;
    }
    case 'bool':
      return boolText(v);
    case 'enum':
      for (let i = 0; i < v.length; i++) out.text(v.type.symbols[v.codes[i]] ?? '');
      break;
    case 'bytes':
      return bytesToText(v);
    default:
      for (let i = 0; i < v.length; i++) out.text(supText(valueAt(v, i)));
  }
  return out.finish();
};
const numberText = (type: PrimitiveType): ((x: number | bigint) => string) => {
  if (isFloat(type)) return castFloatText as (x: number | bigint) => string;
  if (type === types.duration) return durationText;
  return type === types.time ? timeText : String;
};
const boolText = (v: BoolVector): Vector => {
  const out = new BytesBuilder(types.string);
  out.text('false');
  out.text('true');
  return {
    form: 'dictionary',
    length: v.length,
    codes: Uint32Array.from(v.values.subarray(0, v.length)),
    values: out.finish(),
  };
};
const bytesToText = (v: BytesVector): Vector => {
  if (v.type === types.bytes) {
    const bad = new Uint8Array(v.length);
    for (let i = 0; i < v.length; i++) if (!isUtf8(v.bytes.subarray(v.offsets[i], v.offsets[i + 1]))) bad[i] = 1;
    return overlay({ ...v, type: types.string }, bad, wrapErrors('cannot cast to string: invalid UTF-8', v));
  }
  const out = new BytesBuilder(types.string);
  for (let i = 0; i < v.length; i++)
    out.text(v.type === types.ip ? ipText(bytesData(dataAt(v, i))) : netText(bytesData(dataAt(v, i))));
  return out.finish();
};
