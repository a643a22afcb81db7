/**
 * The built side of a join: its rows, chained by equal keys (type and value), and for rows of the other side the first
 * one of their chain.
 *
 * Numbers and runs of bytes of one type are hashed and compared where they lie; keys of other kinds, and batches whose
 * keys are of another kind than the built ones, go through the codes of a GroupTable, which is made when the first of
 * them comes.
 */
import { isFloat, isInteger, types } from '../../../vectors/type.ts';
import { type FlatVector, type Vector, flatten, lookUp, nulls, numbers, range, take } from '../../../vectors/vector.ts';
import { GroupTable } from '../../aggregates/grouping/groups.ts';
import { none } from '../../aggregates/grouping/pair-table.ts';
import { alikeForSql } from '../../expressions/sql/compare.ts';
import { lift } from '../../expressions/lift.ts';
import { tidy } from '../../expressions/rows.ts';
import { flatSize } from '../compact.ts';
import { type Pairs, directOf, pairsDirect, placesOf, rangeOf } from './direct.ts';
import { type KeySet, keySetOf, noKeys } from './key-set.ts';
import { type ClassRows, MixedKeys, byClass, primitiveName } from './mixed.ts';
import type { Sorted } from './ranges.ts';
import { type Typed, type TypedKey, find, keyNumbers, oneClass, tableOf, typedKeys } from './typed-keys.ts';
import { kinds, kindsOf } from '../rows/kinds.ts';

/** What a row of the built side takes besides itself. */
const indexBytes = 32;
/** What rows take that were built. */
export const builtBytes = (rows: Vector): number => flatSize(rows) + rows.length * indexBytes;
/**
 * What rows that are to be built take: they are put together in one piece, column by column, so there are two of one
 * column for a moment, and indexed then. 1,000,000 rows of two columns fit into the default budget that way: a join with
 * as many took 3.5 times as long while all of them counted twice, and were spilled.
 */
export const heldBytes = (rows: Vector): number =>
  flatSize(rows) + Math.max(widestColumn(rows), rows.length * indexBytes);
const widestColumn = (rows: Vector): number =>
  rows.form === 'record' ? rows.fields.reduce((most, f) => Math.max(most, flatSize(f.values)), 0) : flatSize(rows);

/** So many bytes a table by place may take in any join, uncounted. */
const roomOfAll = 1 << 18;
/** Places that a row which looks for partners is worth: to fill one costs as little beside looking for a hash. */
const askedFactor = 8;

/** Keys of a side; `out`: 0 for the rows that look for partners. */
export interface Keys {
  readonly keys: readonly Vector[];
  readonly out: Uint8Array /** Keys of unlike types are compared as SQL compares them. */;
  readonly loose?: boolean;
  /** All rows look for partners. */
  readonly isWhole?: boolean;
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
  private typed: Typed | undefined;
  /** Bytes that a table by place may take besides, where many look for partners. */
  private room = roomOfAll;
  private roomTaken = 0;
  private asked = 0;
  private coded: Coded | undefined;
  private unique: boolean | undefined;
  private readonly keysTold: (KeySet | undefined)[] = [];
  /** Its rows by the classes of their keys, once it is asked; none: all are of one. */
  private classes: readonly ClassRows[] | undefined;
  private mixed: MixedKeys | undefined;
  /** By the types of other keys: the same rows under keys that are read as those. */
  private readonly others = new Map<string, JoinIndex>();

  constructor(rows: Vector, { keys, out, loose = false, isWhole = false }: Keys) {
    this.rows = rows;
    this.loose = loose;
    this.out = out;
    this.matched = new Uint8Array(rows.length);
    const order = (this.order = isWhole ? undefined : takingRows(out, rows.length));
    this.keys = order ? keys.map((k) => take(k, order)) : keys;
    this.next = new Uint32Array(order?.length ?? rows.length).fill(none);
    const typed = keys.length > 0 ? typedKeys(this.keys) : undefined;
    this.typed = typed && tableOf(typed, this.next, loose);
    if (!this.typed) this.coded = this.grouped();
  }
  /** Bytes besides the rows, and those counted by `heldBytes`. */
  get bytes(): number {
    return (this.coded?.table.bytes ?? 0) + (this.mixed?.bytes ?? 0) + Math.max(0, this.roomTaken - roomOfAll);
  }
  /** Allows so many bytes more, which are told once they are taken. */
  give(bytes: number): void {
    this.room = Math.max(this.room, bytes);
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
  /** The values of its key `k`, as far as whole numbers tell them; undefined: they do not. */
  keySet(k: number, keepsNulls: boolean): KeySet | undefined {
    const { typed, next, loose } = this;
    if (next.length === 0) return noKeys;
    const key = typed?.keys[k];
    if (key?.form !== 'number' || (isFloat(key.type) && !loose)) return undefined;
    const range = typed!.keys.length === 1 ? typed!.range : rangeOf(key.values, next.length);
    if (!range) return undefined;
    const options = { type: key.type, loose, keepsNulls };
    return (this.keysTold[k] ??= keySetOf(key.values.subarray(0, next.length), range, options));
  }
  /** For another run: no row has had a match. */
  anew(): JoinIndex {
    return Object.assign(Object.create(JoinIndex.prototype) as JoinIndex, {
      ...this,
      mixed: undefined,
      matched: new Uint8Array(this.rows.length),
    });
  }

  /** The built rows for each row. */
  find(wanted: Keys, length: number): Found {
    const { keys, out, loose } = wanted;
    const { order, next } = this;
    if (next.length === 0) return { heads: new Uint32Array(length).fill(none), next, order };
    const { taking, own, typed } = this.taken(wanted, length);
    const count = taking?.length ?? length;
    const found = typed
      ? { heads: find(this.typed!, typed, count, loose), next, order }
      : loose && count > 0
        ? (this.findMixed(own, count) ?? this.findUnlike(own, count))
        : undefined;
    if (found) return taking ? { ...found, heads: spread(found.heads, taking, length) } : found;
    const { table, heads: first } = (this.coded ??= this.grouped());
    const ids = table.ids(keys, length, false);
    for (let i = 0; i < length; i++) ids[i] = out[i] === 0 && ids[i] !== none ? first[ids[i]] : none;
    return { heads: ids, next, order };
  }

  /**
   * The pairs of rows with the first built row of their key, where places tell these and all rows look for partners;
   * else undefined.
   */
  pairs(wanted: Keys, length: number): Pairs | undefined {
    if (!wanted.isWhole || this.next.length === 0) return undefined;
    const { typed } = this.taken(wanted, length);
    const table = this.typed?.table;
    if (!typed || !table || !('heads' in table)) return undefined;
    const { lefts, rights } = pairsDirect(table, keyNumbers(typed), length);
    return { lefts, rights: this.order ? lookUp(this.order, rights) : rights };
  }
  /** The rows that look for partners, and their keys; `typed`: as those of the table, if they are like them. */
  private taken(
    { keys, out, loose, isWhole }: Keys,
    length: number,
  ): {
    readonly taking: Uint32Array | undefined;
    readonly own: readonly Vector[];
    readonly typed: readonly TypedKey[] | undefined;
  } {
    const taking = !isWhole && (this.typed || loose) ? takingRows(out, length) : undefined;
    const own = taking ? keys.map((k) => take(k, taking)) : keys;
    const typed = this.typed && typedKeys(own);
    if (!typed?.every((k, i) => k.form === this.typed!.keys[i].form && k.type === this.typed!.keys[i].type))
      return { taking, own, typed: undefined };
    this.placed(taking?.length ?? length);
    return { taking, own, typed };
  }
  /**
   * Once so many rows look for partners that it pays, whole numbers in a wide range have a table by place too: ids of
   * the rows that a filter leaves.
   */
  private placed(count: number): void {
    const { keys, table, range } = this.typed!;
    if (!range || 'heads' in table) return;
    this.asked += count;
    const places = placesOf(range);
    if (this.asked * askedFactor < places || places * Uint32Array.BYTES_PER_ELEMENT > this.room) return;
    this.roomTaken = places * Uint32Array.BYTES_PER_ELEMENT;
    this.typed = { keys, range, table: directOf(keyNumbers(keys), this.next, range) };
  }

  /** The same where keys of either side are of several classes; undefined where they are not. */
  private findMixed(keys: readonly Vector[], length: number): Found | undefined {
    const wanted = byClass(keys, length);
    const built = (this.classes ??= this.typed ? [] : (byClass(this.keys, this.next.length) ?? []));
    if (!wanted && built.length === 0) return undefined;
    this.mixed ??= new MixedKeys(
      built.length === 0
        ? [{ rows: undefined, finder: this }]
        : built.map((own) => ({
            rows: this.order ? lookUp(this.order, own.rows) : own.rows,
            finder: new JoinIndex(nulls(own.rows.length), {
              keys: own.keys,
              out: new Uint8Array(own.rows.length),
              loose: true,
              isWhole: true,
            }),
          })),
    );
    return this.mixed.find(wanted ?? [{ rows: range(0, length), keys }], length);
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
  const [left, right] = [tidy(asFloats(alike.left)), tidy(asFloats(alike.right))];
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
