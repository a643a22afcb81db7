/**
 * Sort keys: bytes whose plain order (memcmp) is the order of values of `compareValues` (reference/formats/model.md,
 * 7.2), nulls and missing last.
 *
 * Invariants:
 * - `compareBytes(sortKeyBytes(a), sortKeyBytes(b))` has the sign of `compareValues(a, b)`.
 * - No key is the beginning of another one's, so keys of several fields can be put one behind the other.
 * - A pool in descending order reads the same keys backwards, nulls first.
 */
import { textToBytes } from './texts/codec.ts';
import { type Type, types, isNumeric, underType } from './type.ts';
import {
  type Data,
  type Value,
  ByteWriter,
  encodeUntagged,
  isMissing,
  bytesData,
  itemsData,
  numericData,
  stringData,
  typeData,
} from './value.ts';
import { nearValue } from './decimal.ts';

const nullClass = 0xff;
const numberClass = 0x01;
const complexClass = 0x40;
/** Keys of complex types, enums among them, are from here on, those of others but null before it. */
export const complexKeys: { readonly min: Uint8Array; readonly max: Uint8Array } = {
  min: Uint8Array.of(complexClass),
  max: Uint8Array.of(complexClass + 1),
};

/** The key of NaN. */
const nanKey = Uint8Array.of(numberClass, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0);
export const nanKeys: { readonly min: Uint8Array; readonly max: Uint8Array } = { min: nanKey, max: nanKey };

/** The sort key of a value. */
export const sortKeyBytes = (value: Value): Uint8Array => {
  const out = new ByteWriter();
  writeKey(out, value);
  return out.done();
};

/** The key that only nulls and missing values have; nothing is greater. */
export const nullSortKey: Uint8Array = Uint8Array.of(nullClass);

/** The class of a key: all numbers and times are of one, every other primitive type and null have their own. */
export const keyClass = (key: Uint8Array): number => key[0]!;

/** Appends the sort key of a value. */
export const writeKey = (out: ByteWriter, value: Value): void => {
  const { type, data } = nearValue(value);
  if (type === types.null || isMissing({ type, data })) return out.byte(nullClass);
  if (isNumeric(type)) return writeNumber(out, numericData(data));
  if (type.kind === 'primitive') {
    // Wire ids from bool on are below the class of complex types.
    out.byte(type.id);
    return writePrimitive(out, type, data);
  }
  out.byte(complexClass);
  writeTypeOrder(out, type);
  if (type.kind === 'array' || type.kind === 'set') {
    for (const d of itemsData(data)) {
      out.byte(1);
      writeKey(out, { type: type.element, data: d });
    }
    return out.byte(0);
  }
  writeEscaped(out, encodeUntagged(type, data));
};

const scratch = new DataView(new ArrayBuffer(8));
const scratchBytes = new Uint8Array(scratch.buffer);

/**
 * The greatest double that is not above the number, then what is left of it: integers beyond 2^53 keep their exact
 * place between the doubles. NaN is all zeros: before everything.
 */
const writeNumber = (out: ByteWriter, x: number | bigint): void => {
  out.byte(numberClass);
  let near = Number(x);
  let rest = 0;
  if (typeof x === 'bigint') {
    if (BigInt(near) > x) near = below(near);
    rest = Number(x - BigInt(near));
  }
  if (near !== near) {
    for (let i = 0; i < 10; i++) out.byte(0);
    return;
  }
  scratch.setFloat64(0, near === 0 ? 0 : near);
  if (near < 0) for (let i = 0; i < 8; i++) scratchBytes[i] = ~scratchBytes[i]!;
  else scratchBytes[0]! |= 0x80;
  out.raw(scratchBytes);
  out.byte(rest >> 8);
  out.byte(rest & 0xff);
};
/** The next double towards minus infinity; `x` is far from 0. */
const below = (x: number): number => {
  scratch.setFloat64(0, x);
  scratch.setBigInt64(0, scratch.getBigInt64(0) + (x > 0 ? -1n : 1n));
  return scratch.getFloat64(0);
};

const writePrimitive = (out: ByteWriter, type: Type, data: Data): void => {
  switch (type) {
    case types.bool:
      return out.byte(data ? 1 : 0);
    case types.string:
      return writeEscaped(out, textToBytes(stringData(data)));
    case types.bytes:
      return writeEscaped(out, bytesData(data));
    case types.ip:
      out.byte(bytesData(data).length);
      return out.raw(bytesData(data));
    case types.type:
      return writeTypeOrder(out, typeData(data));
    default:
      return writeEscaped(out, encodeUntagged(type, data));
  }
};

/** Bytes that may hold zeros, closed by a mark that sorts below all that could follow. */
const writeEscaped = (out: ByteWriter, bytes: Uint8Array): void => {
  for (const b of bytes) {
    out.byte(b);
    if (b === 0) out.byte(0xff);
  }
  out.byte(0);
  out.byte(0);
};

const kindOrder = { primitive: 0, record: 1, array: 2, set: 3, map: 4, union: 5, enum: 6, error: 7 } as const;

/** A type as bytes in type order (`compareTypes`). */
const writeTypeOrder = (out: ByteWriter, type: Type): void => {
  const under = underType(type);
  out.byte(kindOrder[under.kind] + 1);
  switch (under.kind) {
    case 'primitive':
      out.byte(under.id);
      break;
    case 'record':
      writeCount(out, under.fields.length);
      for (const f of under.fields) writeEscaped(out, textToBytes(f.name));
      for (const f of under.fields) writeTypeOrder(out, f.type);
      break;
    case 'array':
    case 'set':
      writeTypeOrder(out, under.element);
      break;
    case 'map':
      writeTypeOrder(out, under.key);
      writeTypeOrder(out, under.value);
      break;
    case 'union':
      writeCount(out, under.members.length);
      for (const m of under.members) writeTypeOrder(out, m);
      break;
    case 'enum':
      writeCount(out, under.symbols.length);
      for (const s of under.symbols) writeEscaped(out, textToBytes(s));
      break;
    case 'error':
      writeTypeOrder(out, under.inner);
      break;
  }
  for (let t = type; t.kind === 'named'; t = t.inner) {
    out.byte(1);
    writeEscaped(out, textToBytes(t.name));
  }
  out.byte(0);
};
const writeCount = (out: ByteWriter, n: number): void => {
  for (const shift of [16, 8, 0]) out.byte((n >> shift) & 0xff);
};

/** Longest bound that an object's metadata keeps. */
const boundBytesMax = 256;

/** A lower bound of the key, cut to a bounded length. */
export const lowerBound = (key: Uint8Array): Uint8Array =>
  key.length > boundBytesMax ? key.slice(0, boundBytesMax) : key;
/** An upper bound of the key, cut to a bounded length. */
export const upperBound = (key: Uint8Array): Uint8Array => {
  if (key.length <= boundBytesMax) return key;
  const cut = key.slice(0, boundBytesMax);
  let i = boundBytesMax - 1;
  while (cut[i] === 0xff) i--;
  cut[i]!++;
  return cut.slice(0, i + 1);
};
