/** Groups: dense ids for combinations of key values, by type and value, in the order in which they are met. */
import { sizeOf } from '../../../vectors/sizes.ts';
import { type Vector, gather, range, take } from '../../../vectors/vector.ts';
import { ColumnCodes } from './codes.ts';
import { none } from './pair-table.ts';
import { CombinationTable } from './combinations.ts';
import { Room, lookUp } from './tables.ts';
import { WideKeys } from './wide-keys.ts';

/**
 * Dictionaries of at most so many values are looked up with the other keys at once, where batches are not tiny; so many
 * tables of theirs are kept.
 */
const quickValuesMax = 1024;
const quickRowsMin = 256;
const quickTablesMax = 64;

/** Groups from which it pays to look whether keys have very many values. */
const wideGroupsMin = 1 << 15;

/** Gives each combination of key values a group: numbers from 0 in order of first appearance. */
export class GroupTable {
  private readonly columns: readonly ColumnCodes[];
  /** Where there are several columns: what their codes are together. */
  private combinations: CombinationTable | undefined;
  /** Instead of it, where columns are of very many numbers. */
  private wide: WideKeys | undefined;
  /** From so many groups on it is looked whether that is so. */
  private wideFrom = wideGroupsMin;
  private readonly room = new Room();
  /** Groups by the codes of a dictionary and the other keys. */
  private readonly known = new Map<Vector, Map<string, Uint32Array>>();
  private knownCount = 0;
  private readonly sql: boolean;
  /** `sql`: keys are told apart as SQL does it. */
  constructor(keys: number, sql = false) {
    this.sql = sql;
    this.columns = Array.from({ length: keys }, () => new ColumnCodes(sql));
    this.combinations = keys > 1 ? new CombinationTable(keys) : undefined;
  }
  /**
   * A table without groups for so many other rows of the same keys: if these have turned out to be of very many numbers
   * here, it takes them as such from the start. Else each partition of 10,000,000 rows that were spilled finds it out by
   * itself, half way: a grouping by two ids takes 0.8 of the processor time.
   */
  another(rows = 0): GroupTable {
    const table = new GroupTable(this.columns.length, this.sql);
    table.wide = this.wide?.empty(table.columns, rows);
    return table;
  }
  get size(): number {
    return this.wide?.size ?? this.combinations?.size ?? this.columns[0]?.size ?? 1;
  }
  get bytes(): number {
    return this.wide?.bytes ?? this.columns.reduce((n, c) => n + c.bytes, 0) + (this.combinations?.bytes ?? 0);
  }

  /**
   * The group of each row; new groups are made if `insert`, else `none` says that there is none. Without keys all rows
   * are in group 0. Unless `isKept` the answer is for use until the next call.
   */
  ids(keys: readonly Vector[], length: number, insert = true, isKept = true): Uint32Array {
    if (this.columns.length === 0) return new Uint32Array(length);
    if (this.wide) {
      const ids = this.wide.codes(keys, length, insert, this.out(length, isKept));
      if (ids) return ids;
      this.leaveWide(this.wide);
    }
    const { combinations } = this;
    if (!combinations) return this.columns[0].codes(keys[0], insert, isKept);
    if (!isKept && insert && length >= quickRowsMin) {
      const quick = this.quick(keys, length);
      if (quick) return quick;
    }
    const codes = this.columns.map((c, k) => c.codes(keys[k], insert, isKept));
    const sizes = this.columns.map((c) => c.size);
    const ids = combinations.codes(codes, { sizes, insert, out: this.out(length, isKept) });
    if (insert && combinations.size >= this.wideFrom) this.widen(combinations);
    return ids;
  }
  private out(length: number, isKept: boolean): Uint32Array {
    return isKept ? new Uint32Array(length) : this.room.of(length);
  }
  private widen(combinations: CombinationTable): void {
    this.wideFrom = combinations.size * 2;
    this.wide = WideKeys.of(this.columns, () => combinations.columnCodes());
    if (!this.wide) return;
    this.known.clear();
    this.combinations = new CombinationTable(this.columns.length);
  }
  /** Keys come that are not such numbers: all groups have codes again, and keep these. */
  private leaveWide(wide: WideKeys): void {
    const codes = wide.codesOfAll();
    const { size } = wide;
    this.wide = undefined;
    this.wideFrom = Infinity;
    const sizes = this.columns.map((c) => c.size);
    this.combinations!.codes(codes, { sizes, insert: true, out: new Uint32Array(size) });
  }
  /** The groups where all keys but one small dictionary are constants: looked up by its codes alone. */
  private quick(keys: readonly Vector[], length: number): Uint32Array | undefined {
    let varying = -1;
    let place = '';
    for (let k = 0; k < keys.length; k++) {
      const key = keys[k];
      if (key.form === 'constant') place += `${this.columns[k].codes(key.inner)[0]} `;
      else if (key.form !== 'dictionary' || varying >= 0 || key.values.length > quickValuesMax) return undefined;
      else {
        varying = k;
        place += '- ';
      }
    }
    const key = keys[varying];
    if (key?.form !== 'dictionary') return undefined;
    const known = this.knownGroups(key.values, place);
    const out = this.room.of(length);
    if (lookUp(known, key.codes, out)) return out;
    for (let i = 0; i < length; i++) {
      const at = key.codes[i];
      if (known[at] === none)
        known[at] = this.ids(
          keys.map((k) => (k.form === 'constant' ? k.inner : take(k, Uint32Array.of(i)))),
          1,
        )[0];
      out[i] = known[at];
    }
    return out;
  }
  private knownGroups(values: Vector, place: string): Uint32Array {
    let places = this.known.get(values);
    if (!places) this.known.set(values, (places = new Map()));
    let groups = places.get(place);
    if (!groups) {
      if (this.knownCount++ === quickTablesMax) {
        this.known.clear();
        this.knownCount = 1;
        this.known.set(values, (places = new Map()));
      }
      places.set(place, (groups = new Uint32Array(values.length).fill(none)));
    }
    return groups;
  }

  /** The group of all rows, if each key is one constant. */
  single(keys: readonly Vector[]): number | undefined {
    if (this.columns.length === 0) return 0;
    const inner: Vector[] = [];
    for (const k of keys) {
      if (k.form !== 'constant' || k.length === 0) return undefined;
      inner.push(k.inner);
    }
    return this.ids(inner, 1)[0];
  }
  /** The key columns, one row a group: from group `of` on, or of the groups that it names. */
  keys(of: number | Uint32Array = 0): Vector[] {
    if (this.wide) return this.wide.keys(of);
    const { combinations } = this;
    const index = typeof of !== 'number' ? of : of > 0 ? range(of, this.size) : undefined;
    const codes = combinations?.columnCodes(index);
    // Some groups travel to other threads: what they are looked up in must not come along.
    if (codes) return this.columns.map((c, k) => (index ? c.valuesAt(codes[k]) : looked(c.values(), codes[k])));
    return this.columns.map((c) => (index ? c.valuesAt(index) : c.values()));
  }
}

/**
 * Values of more bytes are looked up a batch at a time by whoever reads them: a copy of all would be held with them.
 */
const copiedBytesMax = 4 << 20;
const looked = (values: Vector, codes: Uint32Array): Vector =>
  sizeOf(values) > copiedBytesMax ? take(values, codes) : gather(values, codes);
