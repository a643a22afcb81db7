/**
 * Keys of a join as typed arrays, and tables over them where they lie: numbers and runs of bytes of one type are hashed
 * and compared without being made into anything else.
 */
import { type PrimitiveType, isFloat } from '../../../vectors/type.ts';
import { type FlatVector, type Vector, flatten, gather } from '../../../vectors/vector.ts';
import { wordsOf } from '../../aggregates/grouping/number-table.ts';
import { mix, none } from '../../aggregates/grouping/pair-table.ts';
import { type Direct, type KeyRange, directOf, findDirect, isNarrow, rangeOf } from './direct.ts';

export type TypedKey =
  | { readonly form: 'number'; readonly type: PrimitiveType; readonly values: Float64Array }
  /** Of 64 bits that are no float: two words each. */
  | { readonly form: 'words'; readonly type: PrimitiveType; readonly words: Uint32Array }
  | { readonly form: 'bytes'; readonly type: PrimitiveType; readonly bytes: Uint8Array; readonly offsets: Uint32Array };

interface Hashed {
  readonly hashes: Uint32Array;
  readonly slots: Uint32Array;
}
/** `range`: of keys that may be places, as whole numbers are. */
export interface Typed {
  readonly keys: readonly TypedKey[];
  readonly table: Hashed | Direct;
  readonly range: KeyRange | undefined;
}
/** The keys as typed arrays, if each column is of one such type. */
export const typedKeys = (keys: readonly Vector[]): readonly TypedKey[] | undefined => {
  const out: TypedKey[] = [];
  for (const key of keys) {
    const typed = typedOf(oneClass(flatten(key)));
    if (!typed) return undefined;
    out.push(typed);
  }
  return out;
};
/** What a dynamic vector holds, if its rows are all of one part. */
export const oneClass = (v: FlatVector): FlatVector => {
  if (v.form !== 'dynamic' || v.length === 0) return v;
  const tag = v.tags[0];
  for (let i = 1; i < v.length; i++) if (v.tags[i] !== tag) return v;
  return gather(v.parts[tag], v.slots.subarray(0, v.length));
};
const typedOf = (v: FlatVector): TypedKey | undefined => {
  if (v.form === 'number' && v.values instanceof Float64Array)
    return { form: 'number', type: v.type, values: v.values };
  if (v.form === 'number') return { form: 'words', type: v.type, words: wordsOf(v.values) };
  return v.form === 'bytes' ? { form: 'bytes', type: v.type, bytes: v.bytes, offsets: v.offsets } : undefined;
};

/** A table over the keys where they lie; equal ones are chained from the last to the first. */
export const tableOf = (keys: readonly TypedKey[], next: Uint32Array, loose: boolean): Typed => {
  const [key] = keys;
  const mayBeDirect = keys.length === 1 && key!.form === 'number' && (loose || !isFloat(key!.type));
  const range = mayBeDirect ? rangeOf(key.values, next.length) : undefined;
  const isDirect = range !== undefined && isNarrow(range, next.length);
  return { keys, table: isDirect ? directOf(keyNumbers(keys), next, range) : hashed(keys, next, loose), range };
};
/** The one key's numbers; none if it has none. */
export const keyNumbers = ([key]: readonly TypedKey[]): Float64Array =>
  key?.form === 'number' ? key.values : new Float64Array(0);
const hashed = (keys: readonly TypedKey[], next: Uint32Array, loose: boolean): Hashed => {
  const count = next.length;
  const hashes = hashesOf(keys, count);
  const equal = equality(keys, keys, loose);
  let size = 64;
  while (size < count * 2) size *= 2;
  const slots = new Uint32Array(size).fill(none);
  const mask = size - 1;
  for (let place = count - 1; place >= 0; place--) {
    const hash = hashes[place];
    let at = hash & mask;
    let other = slots[at];
    while (other !== none && !(hashes[other] === hash && equal(place, other))) {
      at = (at + 1) & mask;
      other = slots[at];
    }
    next[place] = other;
    slots[at] = place;
  }
  return { hashes, slots };
};

const hashesOf = (keys: readonly TypedKey[], length: number): Uint32Array => {
  const hashes = new Uint32Array(length);
  for (const key of keys) {
    if (key.form === 'bytes') hashRuns(key.bytes, key.offsets, hashes);
    else if (key.form === 'number') hashNumbers(key.values, hashes);
    else
      for (let i = 0; i < length; i++)
        hashes[i] = mix(Math.imul(key.words[2 * i] ^ Math.imul(hashes[i], 31), 0x9e3779b1) ^ key.words[2 * i + 1]);
  }
  return hashes;
};
/** A hash of each run, over a view of all of them, without a call for each. */
const hashRuns = (bytes: Uint8Array, offsets: Uint32Array, hashes: Uint32Array): void => {
  const words = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  for (let i = 0; i < hashes.length; i++) {
    const end = offsets[i + 1];
    let at = offsets[i];
    let h = hashes[i] ^ (end - at);
    for (; at + 4 <= end; at += 4) {
      h = Math.imul(h ^ words.getInt32(at, true), 0x9e3779b1);
      h ^= h >>> 15;
    }
    for (; at < end; at++) h = Math.imul(h ^ bytes[at], 0x01000193);
    hashes[i] = mix(h);
  }
};
/** Both zeros and all NaNs have one hash each. */
const hashNumbers = (values: Float64Array, hashes: Uint32Array): void => {
  const words = wordsOf(values);
  for (let i = 0; i < hashes.length; i++) {
    const x = values[i];
    hashes[i] = mix(
      x === 0 || x !== x
        ? hashes[i] ^ 0x5bd1e995
        : Math.imul(words[2 * i] ^ Math.imul(hashes[i], 31), 0x9e3779b1) ^ words[2 * i + 1],
    );
  }
};

/** The first built row of each key. */
export const find = (
  { keys: built, table }: Typed,
  keys: readonly TypedKey[],
  length: number,
  loose = false,
): Uint32Array => {
  if ('heads' in table) return findDirect(table, keyNumbers(keys), length);
  const [key] = keys;
  const [own] = built;
  if (keys.length === 1 && key!.form === 'number' && own!.form === 'number' && (loose || !isFloat(key!.type)))
    return findNumbers(table, own.values, key.values, length);
  const { hashes: builtHashes, slots } = table;
  const hashes = hashesOf(keys, length);
  const mask = slots.length - 1;
  const equal = equality(keys, built, loose);
  for (let i = 0; i < length; i++) {
    const hash = hashes[i];
    let at = hash & mask;
    let row = slots[at];
    while (row !== none && !(builtHashes[row] === hash && equal(i, row))) {
      at = (at + 1) & mask;
      row = slots[at];
    }
    hashes[i] = row;
  }
  return hashes;
};

/** Of one key without a call for each; NaN is one number, and there is one zero. */
const findNumbers = (
  { hashes: builtHashes, slots }: Hashed,
  built: Float64Array,
  keys: Float64Array,
  length: number,
): Uint32Array => {
  const hashes = new Uint32Array(length);
  hashNumbers(keys, hashes);
  const mask = slots.length - 1;
  for (let i = 0; i < length; i++) {
    const hash = hashes[i];
    const x = keys[i];
    let at = hash & mask;
    let row = slots[at];
    while (
      row !== none &&
      !(builtHashes[row] === hash && (built[row] === x || (x !== x && built[row] !== built[row])))
    ) {
      at = (at + 1) & mask;
      row = slots[at];
    }
    hashes[i] = row;
  }
  return hashes;
};

type Equality = (a: number, b: number) => boolean;

const equality = (as: readonly TypedKey[], bs: readonly TypedKey[], loose: boolean): Equality => {
  const each = as.map((a, k) => equalityOf(a, bs[k], loose));
  const [one, two] = each;
  if (each.length === 1) return one!;
  return each.length === 2 ? (a, b) => one!(a, b) && two!(a, b) : (a, b) => each.every((equal) => equal(a, b));
};
const equalityOf = (a: TypedKey, b: TypedKey, loose: boolean): Equality => {
  if (a.form === 'number' && b.form === 'number') {
    const left = a.values;
    const right = b.values;
    // NaN is one number, -0. and 0. are two; of integers there is one zero only. In SQL there is one zero.
    if (isFloat(a.type) && !loose) return (i, k) => Object.is(left[i], right[k]);
    return isFloat(a.type)
      ? (i, k) => left[i] === right[k] || (left[i] !== left[i] && right[k] !== right[k])
      : (i, k) => left[i] === right[k];
  }
  if (a.form === 'words' && b.form === 'words') {
    const left = a.words;
    const right = b.words;
    return (i, k) => left[2 * i] === right[2 * k] && left[2 * i + 1] === right[2 * k + 1];
  }
  if (a.form !== 'bytes' || b.form !== 'bytes') return () => false;
  const { bytes: left, offsets: starts } = a;
  const { bytes: right, offsets: places } = b;
  return (i, k) => {
    let at = places[k];
    const start = starts[i];
    const end = starts[i + 1];
    if (places[k + 1] - at !== end - start) return false;
    for (let x = start; x < end; x++) if (left[x] !== right[at++]) return false;
    return true;
  };
};
