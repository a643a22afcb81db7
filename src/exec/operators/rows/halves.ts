/**
 * Halves of an aggregate's groups, by a hash of one of their keys: two threads look at all rows, each makes the groups
 * of its half, and what they give is put together in the order in which the rows meet the groups.
 */
import { concat } from '../../../vectors/concat.ts';
import { typeText } from '../../../vectors/type.ts';
import type { Uint32List } from '../../../vectors/lists.ts';
import { type DynamicVector, type Vector, flatten, noRows, range, take, typeAt } from '../../../vectors/vector.ts';
import { wordsOf } from '../../aggregates/grouping/number-table.ts';
import type { HalfAnswer } from '../../source.ts';
import { levelsMax, partitionsOf } from './partitions.ts';

/** Bits of the hash that spilling does not look at: a half is spilled into all partitions. */
const level = levelsMax + 1;
/** Parts of a dynamic vector that are so many times as long as it are not looked at as a whole. */
const wholeMax = 2;

/** The rows of a half by their key, ascending. */
export const rowsOfHalf = (key: Vector, index: 0 | 1, sql: boolean): Uint32Array => {
  const halves = halvesOf(key, sql);
  const rows = new Uint32Array(halves.length);
  let count = 0;
  for (let i = 0; i < halves.length; i++) {
    rows[count] = i;
    count += halves[i] === index ? 1 : 0;
  }
  return rows.subarray(0, count);
};

/**
 * The half of each row, 0 or 1, by its value alone: whole numbers by their lowest bits, whatever holds them. Hashing as
 * for spilling takes ten times as long, as much as a group table does.
 */
const halvesOf = (v: Vector, sql: boolean): Uint8Array => {
  switch (v.form) {
    case 'number':
      return v.values instanceof Float64Array ? ofFloats(v.values, v.length) : ofWords(wordsOf(v.values), v.length);
    case 'constant':
      return new Uint8Array(v.length).fill(v.length === 0 ? 0 : halvesOf(v.inner, sql)[0]);
    case 'dictionary':
      return lookedUp(ofDictionary(v.values, sql), v.codes, v.length);
    case 'dynamic':
      return ofParts(v, v.parts, sql);
    case 'union':
      return ofParts(v, v.members, sql);
    case 'selected':
      return halvesOf(flatten(v), sql);
    case 'named':
    case 'error':
      return halvesOf(v.inner, sql);
    case 'null':
      return new Uint8Array(v.length);
    default: {
      const halves = partitionsOf([v], v.length, level, sql);
      for (let i = 0; i < halves.length; i++) halves[i] &= 1;
      return halves;
    }
  }
};
const bitOf = (word: number): number => Math.imul(word ^ (word >>> 15), 0x9e3779b1) >>> 31;
const ofFloats = (values: Float64Array, length: number): Uint8Array => {
  const words = wordsOf(values);
  const halves = new Uint8Array(length);
  for (let i = 0; i < length; i++) {
    const x = values[i];
    // The remainder of a whole number, however large, is that of the integer.
    if (x === Math.floor(x)) halves[i] = bitOf(x | 0);
    else if (x === x) halves[i] = bitOf(words[2 * i] ^ words[2 * i + 1]);
  }
  return halves;
};
const ofWords = (words: Uint32Array, length: number): Uint8Array => {
  const halves = new Uint8Array(length);
  for (let i = 0; i < length; i++) halves[i] = bitOf(words[2 * i] | 0);
  return halves;
};

const ofValues = new WeakMap<Vector, Uint8Array>();
const ofDictionary = (values: Vector, sql: boolean): Uint8Array => {
  let halves = ofValues.get(values);
  if (!halves) ofValues.set(values, (halves = halvesOf(values, sql)));
  return halves;
};
const lookedUp = (table: Uint8Array, index: Uint32Array, length: number): Uint8Array => {
  const halves = new Uint8Array(length);
  for (let i = 0; i < length; i++) halves[i] = table[index[i]];
  return halves;
};
const ofParts = (
  { tags, slots, length }: Pick<DynamicVector, 'tags' | 'slots' | 'length'>,
  parts: readonly Vector[],
  sql: boolean,
): Uint8Array => {
  const halves = new Uint8Array(length);
  for (const [tag, part] of parts.entries()) {
    if (part.length <= length * wholeMax) {
      const whole = halvesOf(part, sql);
      for (let i = 0; i < length; i++) if (tags[i] === tag) halves[i] = whole[slots[i]];
      continue;
    }
    // Slices share the parts of the whole.
    const rows = range(0, length).filter((i) => tags[i] === tag);
    const own = halvesOf(
      take(
        part,
        rows.map((i) => slots[i]),
      ),
      sql,
    );
    for (let k = 0; k < rows.length; k++) halves[rows[k]] = own[k];
  }
  return halves;
};

/**
 * Notes the first rows of groups that are new: `ids` has the groups of some rows, `size` groups there are by now.
 * `places`: the numbers of the rows after `base`; absent: they follow each other.
 */
export const noteFirsts = (
  firsts: Uint32List,
  ids: Uint32Array,
  size: number,
  base: number,
  places: Uint32Array | undefined,
): void => {
  let next = firsts.length;
  for (let i = 0; next < size; i++) {
    if (ids[i] !== next) continue;
    firsts.push(base + (places ? places[i] : i));
    next++;
  }
};

/** The groups of both halves in the order of all rows. */
export const joinedHalves = (a: HalfAnswer, b: HalfAnswer): Vector => {
  if (b.firsts.length === 0) return a.firsts.length === 0 ? noRows : a.rows;
  if (a.firsts.length === 0) return b.rows;
  return take(concat([a.rows, b.rows]), inOrder(a.firsts, b.firsts));
};
/**
 * Whether the columns of both have the same types. In SQL what a column holds decides its type, for whole numbers of
 * several widths: halves that differ are not what all groups together would be.
 */
export const areAlike = ({ rows: a }: HalfAnswer, { rows: b }: HalfAnswer): boolean => {
  if (a.length === 0 || b.length === 0) return true;
  const one = typesIn(a);
  const other = typesIn(b);
  return one.size === other.size && [...one].every((t) => other.has(t));
};
/** What tells the types of columns: with the column's place in its records. */
const typesIn = (v: Vector, place = ''): ReadonlySet<string> => {
  switch (v.form) {
    case 'record':
      return new Set(v.fields.flatMap((f, k) => [...typesIn(f.values, `${place}.${k}`)]));
    case 'dynamic':
      return new Set(v.parts.filter((p) => p.form !== 'null').flatMap((p) => [...typesIn(p, place)]));
    case 'constant':
      return typesIn(v.inner, place);
    case 'dictionary':
      return typesIn(v.values, place);
    case 'selected':
      return typesIn(v.base, place);
    case 'null':
      return new Set();
    default:
      return new Set([`${place} ${v.length === 0 ? '' : typeText(typeAt(v, 0))}`]);
  }
};
const inOrder = (a: Uint32Array, b: Uint32Array): Uint32Array => {
  const order = new Uint32Array(a.length + b.length);
  let i = 0;
  let j = 0;
  for (let k = 0; k < order.length; k++)
    order[k] = j === b.length || (i < a.length && a[i] < b[j]) ? i++ : a.length + j++;
  return order;
};
