/**
 * The built side of a join: its rows, chained by equal keys (type and value), and for rows of the other side the first
 * one of their chain.
 *
 * Numbers and runs of bytes of one type are hashed and compared where they lie; keys of other kinds, and batches whose
 * keys are of another kind than the built ones, go through the codes of a GroupTable, which is made when the first of
 * them comes.
 */
import { type PrimitiveType, isFloat, isInteger, types } from '../../../vectors/type.ts';
import { type FlatVector, type Vector, flatten, gather, numbers, take } from '../../../vectors/vector.ts';
import { GroupTable } from '../../aggregates/grouping/groups.ts';
import { wordsOf } from '../../aggregates/grouping/number-table.ts';
import { mix, none } from '../../aggregates/grouping/pair-table.ts';
import { alikeForSql } from '../../expressions/sql/compare.ts';
import { lift } from '../../expressions/lift.ts';
import { flatSize } from '../compact.ts';
import { type Direct, directOf, findDirect } from './direct.ts';
import type { Sorted } from './ranges.ts';
import { kinds, kindsOf } from '../rows/kinds.ts';

/** What a row of the built side takes besides itself. */
const indexBytes = 32;
/**
 * What rows that are to be built take: they are put together in one piece, so there are two of each for a moment, and
 * indexed.
 */
export const heldBytes = (rows: Vector): number => flatSize(rows) * 2 + rows.length * indexBytes;

type TypedKey =
  | { readonly form: 'number'; readonly type: PrimitiveType; readonly values: Float64Array }
  /** Of 64 bits that are no float: two words each. */
  | { readonly form: 'words'; readonly type: PrimitiveType; readonly words: Uint32Array }
  | { readonly form: 'bytes'; readonly type: PrimitiveType; readonly bytes: Uint8Array; readonly offsets: Uint32Array };

/** Keys of a side; `out`: 0 for the rows that look for partners. */
export interface Keys {
  readonly keys: readonly Vector[];
  readonly out: Uint8Array /** Keys of unlike types are compared as SQL compares them. */;
  readonly loose?: boolean;
}
/**
 * Where the rows of a key are: for each row that looks for partners the place of the first one or `none`, the chains,
 * and the rows by place (undefined: as they lie).
 */
export interface Found {
  readonly heads: Uint32Array;
  readonly next: Uint32Array;
  readonly order: Uint32Array | undefined;
}

interface Hashed {
  readonly hashes: Uint32Array;
  readonly slots: Uint32Array;
}
interface Typed {
  readonly keys: readonly TypedKey[];
  readonly table: Hashed | Direct;
}
interface Coded {
  readonly table: GroupTable;
  readonly heads: Uint32Array;
}

/** The rows of a join's build side by their keys, and which of them have found a match. */
export class JoinIndex {
  readonly rows: Vector;
  /** Rows that take no part: 1 not at all, 2 without a match. */
  readonly out: Uint8Array;
  /** Rows that had a match, where that is asked. */
  readonly matched: Uint8Array;
  /** Rows by place; undefined: each row takes part, in its own place. */
  readonly order: Uint32Array | undefined;
  /** The place of the next row of the same key, in order; `none` after the last. */
  readonly next: Uint32Array;
  /** The rows by what inequalities compare, once it is asked for; null: they cannot be sorted. */
  sorted: Sorted | null | undefined;
  private readonly keys: readonly Vector[];
  private readonly loose: boolean;
  private readonly typed: Typed | undefined;
  private coded: Coded | undefined;
  private unique: boolean | undefined;
  /** By the types of other keys: the same rows under keys that are read as those. */
  private readonly others = new Map<string, JoinIndex>();

  constructor(rows: Vector, { keys, out, loose = false }: Keys) {
    this.rows = rows;
    this.loose = loose;
    this.out = out;
    this.matched = new Uint8Array(rows.length);
    const order = (this.order = takingRows(out, rows.length));
    this.keys = order ? keys.map((k) => take(k, order)) : keys;
    this.next = new Uint32Array(order?.length ?? rows.length).fill(none);
    const typed = keys.length > 0 ? typedKeys(this.keys) : undefined;
    this.typed = typed && tableOf(typed, this.next, loose);
    if (!this.typed) this.coded = this.grouped();
  }
  /** Bytes besides the rows, and those counted by `heldBytes`. */
  get bytes(): number {
    return this.coded?.table.bytes ?? 0;
  }
  /** Rows a key, on average. */
  get chainMean(): number {
    let followed = 0;
    for (const place of this.next) if (place !== none) followed++;
    return this.next.length / (this.next.length - followed);
  }
  /** Whether no two rows have one key. */
  get isUnique(): boolean {
    return (this.unique ??= this.next.every((place) => place === none));
  }
  /** For another run: no row has had a match. */
  anew(): JoinIndex {
    return Object.assign(Object.create(JoinIndex.prototype) as JoinIndex, {
      ...this,
      matched: new Uint8Array(this.rows.length),
    });
  }

  /** The built rows for each row. */
  find(wanted: Keys, length: number): Found {
    const { keys, out, loose } = wanted;
    const { order, next } = this;
    if (next.length === 0) return { heads: new Uint32Array(length).fill(none), next, order };
    const taking = this.typed || loose ? takingRows(out, length) : undefined;
    const own = taking ? keys.map((k) => take(k, taking)) : keys;
    const typed = this.typed && typedKeys(own);
    const count = taking?.length ?? length;
    const isAlike =
      typed?.every((k, i) => k.form === this.typed!.keys[i].form && k.type === this.typed!.keys[i].type) === true;
    const found = isAlike
      ? { heads: find(this.typed!, typed!, count, loose), next, order }
      : loose && count > 0
        ? this.findUnlike(own, count)
        : undefined;
    if (found) return taking ? { ...found, heads: spread(found.heads, taking, length) } : found;
    const { table, heads: first } = (this.coded ??= this.grouped());
    const ids = table.ids(keys, length, false);
    for (let i = 0; i < length; i++) ids[i] = out[i] === 0 && ids[i] !== none ? first[ids[i]] : none;
    return { heads: ids, next, order };
  }

  /**
   * The same for keys of one type each where the built ones are of another: a text is read as what the other side is.
   * Undefined where they are not so.
   */
  private findUnlike(keys: readonly Vector[], length: number): Found | undefined {
    const own = this.keys.map(oneClassOf);
    const other = keys.map(oneClassOf);
    const names = other.map(primitiveName);
    const ownNames = own.map(primitiveName);
    if (names.includes(undefined) || ownNames.includes(undefined) || names.every((name, i) => name === ownNames[i]))
      return undefined;
    const pairs = other.map((k, i) => alikeKeys(k, own[i]));
    const built = pairs.map((p) => p.built);
    const probing = pairs.map((p) => p.probe);
    if (pairs.every((p) => p.isUnread)) return undefined;
    const name = names.join();
    const index =
      this.others.get(name) ??
      new JoinIndex(this.order ? take(this.rows, this.order) : this.rows, {
        keys: built,
        out: nullRows(built),
        loose: true,
      });
    this.others.set(name, index);
    const found = index.find({ keys: probing, out: nullRows(probing), loose: true }, length);
    // Places of that index are rows in the order of this one.
    return {
      ...found,
      order: this.order && found.order ? found.order.map((row) => this.order![row]) : (found.order ?? this.order),
    };
  }

  private grouped(): Coded {
    const { next } = this;
    const table = new GroupTable(this.keys.length, this.loose);
    const { length } = next;
    const ids = length > 0 ? table.ids(this.keys, length) : next;
    const heads = new Uint32Array(table.size).fill(none);
    for (let place = length - 1; place >= 0; place--) {
      next[place] = heads[ids[place]];
      heads[ids[place]] = place;
    }
    return { table, heads };
  }
}

/** A table over the keys where they lie; equal ones are chained from the last to the first. */
const tableOf = (keys: readonly TypedKey[], next: Uint32Array, loose: boolean): Typed => {
  const [key] = keys;
  const isDirect = keys.length === 1 && key!.form === 'number' && (loose || !isFloat(key!.type));
  return { keys, table: (isDirect ? directOf(key.values, next) : undefined) ?? hashed(keys, next, loose) };
};
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

/** Rows that look for partners; undefined: all. */
const takingRows = (out: Uint8Array, length: number): Uint32Array | undefined => {
  let n = 0;
  for (let i = 0; i < length; i++) if (out[i] === 0) n++;
  if (n === length) return undefined;
  const rows = new Uint32Array(n);
  n = 0;
  for (let i = 0; i < length; i++) if (out[i] === 0) rows[n++] = i;
  return rows;
};
/** What was found for some rows, among all of them. */
const spread = (found: Uint32Array, rows: Uint32Array, length: number): Uint32Array => {
  const heads = new Uint32Array(length).fill(none);
  for (let i = 0; i < rows.length; i++) heads[rows[i]] = found[i];
  return heads;
};
/** The keys as typed arrays, if each column is of one such type. */
const typedKeys = (keys: readonly Vector[]): readonly TypedKey[] | undefined => {
  const out: TypedKey[] = [];
  for (const key of keys) {
    const typed = typedOf(oneClass(flatten(key)));
    if (!typed) return undefined;
    out.push(typed);
  }
  return out;
};
/** What a dynamic vector holds, if its rows are all of one part. */
const oneClass = (v: FlatVector): FlatVector => {
  if (v.form !== 'dynamic' || v.length === 0) return v;
  const tag = v.tags[0];
  for (let i = 1; i < v.length; i++) if (v.tags[i] !== tag) return v;
  return gather(v.parts[tag], v.slots.subarray(0, v.length));
};
const primitiveName = (v: FlatVector): string | undefined =>
  v.form === 'number' || v.form === 'bytes' || v.form === 'bool'
    ? (v.form === 'bool' ? types.bool : v.type).name
    : undefined;
const oneClassOf = (v: Vector): FlatVector => oneClass(flatten(v));
/** Keys of two sides as one type; what cannot be read is null. `isUnread`: they are as unlike as before. */
interface AlikeKeys {
  readonly probe: Vector;
  readonly built: Vector;
  readonly isUnread: boolean;
}
const alikeKeys = (probe: FlatVector, built: FlatVector): AlikeKeys => {
  const alike = alikeForSql(probe, built, 0);
  if (!alike) return { probe, built, isUnread: true };
  const [left, right] = [asFloats(alike.left), asFloats(alike.right)];
  const isUnread = hasName(left, primitiveName(probe)) && hasName(right, primitiveName(built));
  return { probe: left, built: right, isUnread };
};
const hasName = (v: Vector, name: string | undefined): boolean => primitiveName(oneClassOf(v)) === name;
const asFloats = (v: Vector): Vector =>
  lift(v, (flat) =>
    flat.form === 'number' && isInteger(flat.type) && flat.values instanceof Float64Array
      ? numbers(types.float64, flat.values, flat.length)
      : flat,
  );
/** Rows with a null take no part. */
const nullRows = (keys: readonly Vector[]): Uint8Array => {
  const all = new Uint8Array(keys[0].length);
  for (const key of keys)
    kindsOf(key)?.forEach((k, i) => {
      if (k === kinds.null) all[i] ||= 2;
    });
  return all;
};
const typedOf = (v: FlatVector): TypedKey | undefined => {
  if (v.form === 'number' && v.values instanceof Float64Array)
    return { form: 'number', type: v.type, values: v.values };
  if (v.form === 'number') return { form: 'words', type: v.type, words: wordsOf(v.values) };
  return v.form === 'bytes' ? { form: 'bytes', type: v.type, bytes: v.bytes, offsets: v.offsets } : undefined;
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
const find = ({ keys: built, table }: Typed, keys: readonly TypedKey[], length: number, loose = false): Uint32Array => {
  const [key] = keys;
  if ('heads' in table) return findDirect(table, key!.form === 'number' ? key!.values : new Float64Array(0), length);
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
