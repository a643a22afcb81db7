/**
 * From vectors to the arrays of columns, as Arrow and Parquet files have them: names and nulls taken off, integers as
 * pairs of 32-bit words.
 *
 * Invariant: all rows of a vector given here have the same type.
 */
import { LakeError } from '../../errors.ts';
import { validText } from '../utf8.ts';
import { decimalAmong } from './decimals.ts';
import assert from 'node:assert';
import { vectorOf, constantOf } from '../../vectors/builder.ts';
import { BytesBuilder } from '../../vectors/builder-leaves.ts';
import { concat } from '../../vectors/concat.ts';
import { boundsOf, ipText, netText } from '../../vectors/literal.ts';
import { supText } from '../../vectors/sup/print.ts';
import { bitsOf, isInteger, typeText, types } from '../../vectors/type.ts';
import { zeroData } from '../../vectors/value.ts';
import {
  type BytesVector,
  type DynamicVector,
  type FlatVector,
  type NumberVector,
  type UnionVector,
  type Vector,
  flatten,
  take,
  uniformType,
  valueAt,
  ofForm,
} from '../../vectors/vector.ts';

const two32 = 4294967296;

/** Rows without names; `valid` has a 0 where the row is null and `values` holds some value that nobody should read. */
export interface Plain {
  readonly values: Exclude<FlatVector, { form: 'dynamic' | 'named' }>;
  readonly valid: Uint8Array | undefined;
}

/** `present`: 0 where an optional field is absent. Unions of several types stay unions. */
export const plainOf = (given: Vector, present?: Uint8Array): Plain => {
  let v = given;
  let valid = present?.subarray(0, given.length);
  if (valid && valid.indexOf(0) < 0) valid = undefined;
  for (;;) {
    switch (v.form) {
      case 'constant':
      case 'dictionary':
      case 'selected':
        v = flatten(v);
        break;
      case 'named':
        v = v.inner;
        break;
      case 'dynamic':
        v = settled(v);
        break;
      case 'union': {
        if (decimalAmong(v.type.members)) return { values: v, valid: withoutMember(v, valid) };
        const [only] = v.type.members;
        if (v.type.members.length === 1 && only !== types.null) {
          v = take(v.members[0], v.slots.subarray(0, v.length));
          break;
        }
        if (v.type.members.reduce((n, m) => n + (m === types.null ? 0 : 1), 0) !== 1) return { values: v, valid };
        ({ values: v, valid } = withoutNulls(v, valid));
        break;
      }
      default:
        return { values: v, valid };
    }
  }
};

/** Rows of one type in a dynamic vector are mostly of one part. */
export const settled = (v: DynamicVector): Vector => {
  const tag = v.length > 0 ? v.tags[0] : 0;
  let alike = true;
  for (let i = 1; i < v.length && alike; i++) alike = v.tags[i] === tag;
  if (alike) return take(v.parts[tag], v.slots.subarray(0, v.length));
  const rebuilt = vectorOf(Array.from({ length: v.length }, (_, i) => valueAt(v, i)));
  assert(rebuilt.form !== 'dynamic', 'rows of one type');
  return rebuilt;
};

/** 0 where a union's row is null. */
const withoutMember = (v: UnionVector, present: Uint8Array | undefined): Uint8Array | undefined => {
  const none = v.type.members.indexOf(types.null);
  if (none < 0 || countTag(v.tags, none, v.length) === 0) return present;
  const valid = new Uint8Array(v.length);
  markOthers(v.tags, none, valid);
  if (present) clearAbsent(present, valid);
  return valid;
};
/** The values of a `T|null` and where they are. */
const withoutNulls = (
  v: UnionVector,
  present: Uint8Array | undefined,
): { readonly values: Vector; readonly valid: Uint8Array | undefined } => {
  const none = v.type.members.indexOf(types.null);
  const member = v.members[1 - none];
  const rows = v.length;
  const { tags, slots } = v;
  const nullRows = countTag(tags, none, rows);
  if (nullRows === 0)
    return {
      values: member.length === rows && isCounted(slots, rows) ? member : take(member, slots.subarray(0, rows)),
      valid: present,
    };
  const valid = new Uint8Array(rows);
  const index = new Uint32Array(rows);
  markOthers(tags, none, valid);
  if (present) clearAbsent(present, valid);
  const type = v.type.members[1 - none];
  const zero = { type, data: zeroData(type) };
  if (member.length === 0) return { values: constantOf(zero, rows), valid };
  // Any row serves as the place of a null if its size is the same; what varies in size gets an empty one.
  const isFixed = member.form === 'number' || member.form === 'bool';
  const place = isFixed ? 0 : member.length;
  slotsOr(tags, none, slots, place, index);
  return { values: take(isFixed ? member : concat([member, vectorOf([zero])]), index), valid };
};

// The loops are functions of their own, which take arrays: the engine compiles them once, whatever vectors come.

const countTag = (tags: Uint32Array, tag: number, rows: number): number => {
  let count = 0;
  for (let i = 0; i < rows; i++) if (tags[i] === tag) count++;
  return count;
};
const isCounted = (slots: Uint32Array, rows: number): boolean => {
  for (let i = 0; i < rows; i++) if (slots[i] !== i) return false;
  return true;
};
const markOthers = (tags: Uint32Array, tag: number, out: Uint8Array): void => {
  for (let i = 0; i < out.length; i++) out[i] = tags[i] === tag ? 0 : 1;
};
const clearAbsent = (present: Uint8Array, out: Uint8Array): void => {
  for (let i = 0; i < out.length; i++) if (present[i] === 0) out[i] = 0;
};
/** Slots of the rows that do not have the tag, `place` for those that do. */
const slotsOr = (tags: Uint32Array, tag: number, slots: Uint32Array, place: number, out: Uint32Array): void => {
  for (let i = 0; i < out.length; i++) out[i] = tags[i] === tag ? place : slots[i];
};

/** Number of zeros. */
export const nullCount = (valid: Uint8Array | undefined): number => {
  let count = 0;
  if (valid) for (let i = 0; i < valid.length; i++) count += 1 - valid[i];
  return count;
};
/** A bit a byte. */
export const packBits = (bytes: Uint8Array, rows: number): Uint8Array => {
  const out = new Uint8Array((rows + 7) >> 3);
  for (let i = 0; i < rows; i++) if (bytes[i]) out[i >> 3] |= 1 << (i & 7);
  return out;
};

/** 64-bit integers as pairs of words, low one first. */
export const pairsFrom = (v: NumberVector): Int32Array => {
  const { values, length } = v;
  if (!(values instanceof Float64Array)) return new Int32Array(values.buffer, values.byteOffset, length * 2);
  const out = new Int32Array(length * 2);
  for (let i = 0; i < length; i++) {
    const x = values[i];
    // |0 takes the low 32 bits of any safe integer.
    out[i * 2] = x | 0;
    out[i * 2 + 1] = Math.floor(x / two32);
  }
  return out;
};
/** Each pair divided by 10^3, 10^6 or 10^9, rounded down. */
export const dividedPairs = (pairs: Int32Array, by: number): Int32Array => {
  if (by === 1) return pairs;
  if (by > 1e6) return dividedPairs(dividedPairs(pairs, 1e3), by / 1e3);
  const out = new Int32Array(pairs.length);
  for (let i = 0; i < pairs.length; i += 2) {
    const high = pairs[i + 1];
    const above = Math.floor(high / by);
    const low = Math.floor(((high - above * by) * two32 + (pairs[i] >>> 0)) / by);
    const carry = Math.floor(low / two32);
    out[i] = low - carry * two32;
    out[i + 1] = above + carry;
  }
  return out;
};
/** Pairs as numbers; right for safe integers. */
export const numbersFrom = (pairs: Int32Array): Float64Array => {
  const out = new Float64Array(pairs.length >> 1);
  for (let i = 0; i < out.length; i++) out[i] = pairs[i * 2 + 1] * two32 + (pairs[i * 2] >>> 0);
  return out;
};
/** Times as days since 1970. */
export const daysFrom = (v: NumberVector): Float64Array =>
  numbersFrom(dividedPairs(pairsFrom(v), 1e6)).map((ms) => Math.floor(ms / 86_400_000));

/** Values as strings or bytes: strings as they are but in valid UTF-8, addresses, types, enums and errors as text. */
export const runsFrom = (v: Plain['values']): BytesVector => {
  if (v.form === 'bytes' && v.type === types.string) return validText(v);
  if (v.form === 'bytes' && v.type === types.bytes) return v;
  const builder = new BytesBuilder(types.string);
  const text = textOf(v);
  for (let i = 0; i < v.length; i++) builder.text(text(i));
  return ofForm(builder.finish(), 'bytes');
};
const textOf = (v: Plain['values']): ((row: number) => string) => {
  switch (v.form) {
    case 'bytes': {
      const { offsets, bytes } = v;
      const print = v.type === types.ip ? ipText : netText;
      return (i) => print(bytes.subarray(offsets[i], offsets[i + 1]));
    }
    case 'enum':
      return (i) => v.type.symbols[v.codes[i]];
    case 'type': {
      const texts = v.table.map((t) => typeText(t));
      return (i) => texts[v.codes[i]];
    }
    default:
      return (i) => supText(valueAt(v, i));
  }
};

/** All rows have this many bytes or items, if they are not null. */
export const firstOfOtherSize = (
  offsets: Uint32Array,
  rows: number,
  size: number,
  valid: Uint8Array | undefined,
): number => {
  for (let i = 0; i < rows; i++) if (offsets[i + 1] - offsets[i] !== size && (!valid || valid[i])) return i;
  return -1;
};

/** A row of zeros for each of these, to stand in the place of nulls. */
export const withPlaceholder = (v: Vector): Vector => {
  const type = uniformType(v)!;
  return concat([v, vectorOf([{ type, data: zeroData(type) }])]);
};

/**
 * Integers that a column of their type has room for: sums of pipes are of the type of what was added, and may be beyond
 * it (`100::int8 + 100::int8`). @throws LakeError `write-columns-value`
 */
export const checkIntegers = (v: NumberVector, valid: Uint8Array | undefined, writer: string): void => {
  if (!isInteger(v.type) || bitsOf(v.type) === 64) return;
  const { least, most } = boundsOf(v.type);
  for (let i = 0; i < v.length; i++)
    if ((v.values[i] < least || v.values[i] > most) && (!valid || valid[i]))
      throw new LakeError('write-columns-value', {
        writer,
        fault: `${v.values[i]} does not fit into a column of ${typeText(v.type)}`,
      });
};
