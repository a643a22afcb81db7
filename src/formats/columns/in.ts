/**
 * From the arrays of a column, as Arrow and Parquet files have them, to vectors. Nothing here makes an object a row,
 * save for maps that are out of order.
 *
 * Invariants: 64-bit integers come as pairs of 32-bit words, low word first (the arrays' own order); rows that are null
 * are left out of what a function is given, `withNulls` puts them in afterwards.
 */
import { Uint32List } from '../../vectors/lists.ts';
import { concat } from '../../vectors/concat.ts';
import {
  type PrimitiveType,
  type Type,
  mapType,
  nullable,
  types,
  unionOfDistinct,
  unionType,
} from '../../vectors/type.ts';
import { compareBytes, encodeBody } from '../../vectors/value.ts';
import {
  type MapVector,
  type NumberArray,
  type NumberVector,
  type UnionVector,
  type Vector,
  dataAt,
  flatten,
  nulls,
  numbers,
  range,
  take,
  uniformType,
  ofForm,
} from '../../vectors/vector.ts';
import { unionOfOne } from '../../vectors/unions.ts';
import type { Losses } from './decimals.ts';
import { BytesFault } from './type-bytes.ts';

const two32 = 4294967296;

/** Indexes of the rows whose bit is set, or undefined if all are. `first`: the first row's bit. */
export const validRows = (bits: Uint8Array, rows: number, first: number): Uint32Array | undefined => {
  const index = new Uint32Array(rows);
  let count = 0;
  for (let i = 0, bit = first; i < rows; i++, bit++) if ((bits[bit >> 3] >> (bit & 7)) & 1) index[count++] = i;
  return count === rows ? undefined : index.subarray(0, count);
};

/** A byte a bit, from the one at `first` on. */
export const unpackBits = (bits: Uint8Array, rows: number, first: number): Uint8Array => {
  const out = new Uint8Array(rows);
  for (let i = 0, bit = first; i < rows; i++, bit++) out[i] = (bits[bit >> 3] >> (bit & 7)) & 1;
  return out;
};

type IntArray =
  | Int8Array
  | Uint8Array
  | Int16Array
  | Uint16Array
  | Int32Array
  | Uint32Array
  | Float32Array
  | Float64Array;
/** The rows of an array as floats, those in `index` if it is given. */
export const floatsOf = (values: IntArray, rows: number, index: Uint32Array | undefined): Float64Array => {
  if (!index)
    return values instanceof Float64Array ? values.subarray(0, rows) : Float64Array.from(values.subarray(0, rows));
  const out = new Float64Array(index.length);
  for (let i = 0; i < out.length; i++) out[i] = values[index[i]];
  return out;
};

/** Pairs of the rows in `index`. */
export const pickPairs = (pairs: Int32Array, rows: number, index: Uint32Array | undefined): Int32Array => {
  if (!index) return pairs.subarray(0, rows * 2);
  const out = new Int32Array(index.length * 2);
  for (let i = 0; i < index.length; i++) {
    out[i * 2] = pairs[index[i] * 2];
    out[i * 2 + 1] = pairs[index[i] * 2 + 1];
  }
  return out;
};

/** Signed integers of 32 bits and fewer as pairs. */
export const pairsOf = (values: Float64Array): Int32Array => {
  const out = new Int32Array(values.length * 2);
  for (let i = 0; i < values.length; i++) {
    out[i * 2] = values[i];
    out[i * 2 + 1] = values[i] < 0 ? -1 : 0;
  }
  return out;
};

/** A vector of 64-bit integers, times or durations. */
export const numbersOfPairs = (type: PrimitiveType, pairs: Int32Array): NumberVector => {
  const rows = pairs.length >> 1;
  const unsigned = type === types.uint64;
  return numbers(
    type,
    (unsigned ? allBelow(pairs) : allSafe(pairs)) ? safeNumbers(pairs, rows) : wideNumbers(pairs, rows, unsigned),
    rows,
  );
};
/** 2^53 is the first integer that is not safe: words above are below 2^21. */
const safeHigh = 0x200000;
const allSafe = (pairs: Int32Array): boolean => {
  for (let i = 1; i < pairs.length; i += 2) {
    const high = pairs[i];
    if (high >= safeHigh || high < -safeHigh || (high === -safeHigh && pairs[i - 1] === 0)) return false;
  }
  return true;
};
const allBelow = (pairs: Int32Array): boolean => {
  for (let i = 1; i < pairs.length; i += 2) if (pairs[i] >>> 0 >= safeHigh) return false;
  return true;
};
const safeNumbers = (pairs: Int32Array, rows: number): Float64Array => {
  const out = new Float64Array(rows);
  for (let i = 0; i < rows; i++) out[i] = pairs[i * 2 + 1] * two32 + (pairs[i * 2] >>> 0);
  return out;
};
const wideNumbers = (pairs: Int32Array, rows: number, unsigned: boolean): NumberArray => {
  const own = pairs.byteOffset % 8 === 0 ? pairs : pairs.slice();
  return unsigned
    ? new BigUint64Array(own.buffer as ArrayBuffer, own.byteOffset, rows)
    : new BigInt64Array(own.buffer as ArrayBuffer, own.byteOffset, rows);
};

/** Each pair times `by` (at most 10^9). @throws BytesFault for a product beyond 64 bits */
export const scaledPairs = (pairs: Int32Array, by: number, what: string): Int32Array => {
  if (by === 1) return pairs;
  const out = new Int32Array(pairs.length);
  for (let i = 0; i < pairs.length; i += 2) {
    const low = pairs[i] >>> 0;
    const first = (low & 0xffff) * by;
    const second = (low >>> 16) * by + Math.floor(first / 65536);
    const high = pairs[i + 1] * by + Math.floor(second / 65536);
    if (high >= 2147483648 || high < -2147483648)
      throw new BytesFault(`${what} ${(BigInt(pairs[i + 1]) << 32n) | BigInt(low)} is ${beyond(what)}`);
    out[i] = (second % 65536) * 65536 + (first % 65536);
    out[i + 1] = high;
  }
  return out;
};

const beyond = (what: string): string =>
  what.startsWith('duration') ? 'longer than 292 years' : 'outside of the years 1677 to 2262';

/** Days since 1970 as nanoseconds. @throws BytesFault beyond what a time holds */
export const timesOfDays = (days: Float64Array): NumberVector => {
  const millis = new Int32Array(days.length * 2);
  for (let i = 0; i < days.length; i++) {
    const x = days[i] * 86_400_000;
    const high = Math.floor(x / two32);
    if (high >= 2147483648 || high < -2147483648)
      throw new BytesFault(`date ${days[i]} is outside of the years 1677 to 2262`);
    millis[i * 2] = x - high * two32;
    millis[i * 2 + 1] = high;
  }
  return numbersOfPairs(types.time, scaledPairs(millis, 1e6, 'date in milliseconds'));
};

/**
 * Strings or bytes; rows in `index` if given. @throws BytesFault for offsets that run backwards or out
 */
export const runsVector = (
  type: PrimitiveType,
  given: { readonly offsets: Uint32Array; readonly bytes: Uint8Array; readonly rows: number },
  index: Uint32Array | undefined,
): Vector => {
  const { rows, bytes } = given;
  const offsets = given.offsets.subarray(0, rows + 1);
  checkOffsets(offsets, rows, bytes.length);
  const v = { form: 'bytes', type, length: rows, offsets, bytes } as const;
  return index ? flatten(take(v, index)) : v;
};
/** @throws BytesFault */
export const checkOffsets = (offsets: Uint32Array, rows: number, size: number): void => {
  for (let i = 0; i < rows; i++)
    if (offsets[i + 1] < offsets[i]) throw new BytesFault(`offset ${offsets[i + 1]} behind ${offsets[i]}`);
  if (offsets[rows] > size) throw new BytesFault(`offset ${offsets[rows]} of ${size}`);
};
/** Values under a name. */
export const namedVector = (name: string, inner: Vector): Vector => ({
  form: 'named',
  name: `arrow_${name}`,
  length: inner.length,
  inner,
});

/**
 * Rows `valid` (all, if undefined) have the values of `dense` in order, the others are null; the type is `T|null`
 * either way.
 */
export const withNulls = (dense: Vector, rows: number, valid: Uint32Array | undefined): Vector => {
  const base = uniformType(dense)!;
  if (base === types.null) return nulls(rows);
  const type = nullable(base);
  if (type.kind !== 'union') throw new Error('nullable of a type is a union');
  const none = type.members.indexOf(types.null);
  const nullRows = rows - (valid?.length ?? rows);
  const flat = base.kind === 'union' ? ofForm(flatten(dense), 'union') : undefined;
  if (flat && base === type) return valid ? widened(flat, type.members, flat.members, none, rows, valid) : flat;
  const members = type.members.map(
    (m): Vector => (m === types.null ? nulls(nullRows) : flat ? flat.members[flat.type.members.indexOf(m)] : dense),
  );
  if (flat) return { ...widened(flat, type.members, members, none, rows, valid ?? range(0, rows)), type };
  const tag = 1 - none;
  if (!valid) return unionOfOne(type, tag, dense, members);
  const tags = new Uint32Array(rows);
  const slots = new Uint32Array(rows);
  tags.fill(none);
  for (let i = 0; i < valid.length; i++) {
    tags[valid[i]] = tag;
    slots[valid[i]] = i;
  }
  for (let i = 0, at = 0; i < rows; i++) if (tags[i] === none) slots[i] = at++;
  return { form: 'union', type, length: rows, tags, slots, members };
};
/** A union vector's rows put at `valid` among nulls. */
const widened = (
  v: UnionVector,
  memberTypes: readonly Type[],
  members: readonly Vector[],
  none: number,
  rows: number,
  valid: Uint32Array,
): UnionVector => {
  const map = v.type.members.map((m) => memberTypes.indexOf(m));
  const before = v.members[map.indexOf(none)]?.length ?? 0;
  const tags = new Uint32Array(rows).fill(none);
  const slots = new Uint32Array(rows).fill(0xffffffff);
  for (let i = 0; i < valid.length; i++) {
    tags[valid[i]] = map[v.tags[i]];
    slots[valid[i]] = v.slots[i];
  }
  let at = before;
  for (let i = 0; i < rows; i++) if (slots[i] === 0xffffffff) slots[i] = at++;
  return {
    form: 'union',
    type: unionType(memberTypes),
    length: rows,
    tags,
    slots,
    members: members.map((m, k) => (k === none ? nulls(at) : m)),
  };
};

/**
 * Rows of several columns as one union: row i is row slots[i] of columns[tags[i]]. Columns of one type are joined,
 * unions inside are opened.
 */
export const unionVector = (tags: Uint32Array, slots: Uint32Array, columns: readonly Vector[]): Vector => {
  const groups = new Map<Type, { readonly vectors: Vector[]; length: number }>();
  const join = (v: Vector): { readonly type: Type; readonly base: number } => {
    const type = uniformType(v)!;
    const group = groups.get(type) ?? { vectors: [], length: 0 };
    const base = group.length;
    groups.set(type, group);
    group.vectors.push(v);
    group.length += v.length;
    return { type, base };
  };
  const opened = columns.map((column) => {
    const v = uniformType(column)!.kind === 'union' ? flatten(column) : column;
    return v.form === 'union' ? { inner: v, places: v.members.map(join) } : { places: [join(v)] };
  });
  const type = unionOfDistinct(groups.keys());
  const rows = tags.length;
  const outTags = new Uint32Array(rows);
  const outSlots = new Uint32Array(rows);
  const tagOf = (t: Type): number => (type.kind === 'union' ? type.members.indexOf(t) : 0);
  const places = opened.map((o) => o.places.map((p) => ({ tag: tagOf(p.type), base: p.base })));
  for (let i = 0; i < rows; i++) {
    const { inner } = opened[tags[i]];
    const slot = slots[i];
    const place = places[tags[i]][inner ? inner.tags[slot] : 0];
    outTags[i] = place.tag;
    outSlots[i] = place.base + (inner ? inner.slots[slot] : slot);
  }
  if (type.kind !== 'union')
    return columns.length === 0 ? nulls(rows) : take(concat(groups.get(type)!.vectors), outSlots);
  return {
    form: 'union',
    type,
    length: rows,
    tags: outTags,
    slots: outSlots,
    members: type.members.map((m) => concat(groups.get(m)!.vectors)),
  };
};

/**
 * A map a row, its entries brought into canonical order; of equal keys the last stays, as Parquet's specification has it.
 * `losses`: told of those.
 */
export const mapVector = (
  rows: number,
  offsets: Uint32Array,
  keys: Vector,
  values: Vector,
  losses?: Losses,
): MapVector => {
  const keyType = uniformType(keys)!;
  const type = mapType(keyType, uniformType(values)!);
  const index = new Uint32List();
  const ends = new Uint32Array(rows + 1);
  let changed = false;
  for (let i = 0; i < rows; i++) {
    const start = offsets[i];
    const end = offsets[i + 1];
    if (end - start < 2) {
      if (end > start) index.push(start);
    } else {
      const order = canonicalOrder(keyType, keys, start, end);
      changed ||= order.some((at, k) => at !== start + k) || order.length < end - start;
      if (order.length < end - start) losses?.tellRepeatedKey();
      for (const at of order) index.push(at);
    }
    ends[i + 1] = index.length;
  }
  if (!changed) return { form: 'map', type, length: rows, offsets, keys, values };
  return {
    form: 'map',
    type,
    length: rows,
    offsets: ends,
    keys: take(keys, index.done()),
    values: take(values, index.done()),
  };
};
const canonicalOrder = (type: Type, keys: Vector, start: number, end: number): readonly number[] => {
  const coded: { readonly at: number; readonly bytes: Uint8Array }[] = [];
  for (let at = start; at < end; at++) coded.push({ at, bytes: encodeBody(type, dataAt(keys, at)) });
  coded.sort((a, b) => compareBytes(a.bytes, b.bytes));
  return coded
    .filter((c, k) => k === coded.length - 1 || compareBytes(c.bytes, coded[k + 1].bytes) !== 0)
    .map((c) => c.at);
};
