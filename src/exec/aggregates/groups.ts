/** Groups: dense ids for combinations of key values, by type and value, in the order in which they are met. */
import { type Vector, gather, lookUp as valuesAt, range, take } from '../../vectors/vector.ts';
import { ColumnCodes } from './codes.ts';
import { GridTable, Room, lookUp, none } from './tables.ts';

/** Dictionaries of at most so many values are looked up with the other keys at once, where batches are not tiny; so many tables of theirs are kept. */
const quickValuesMax = 1024, quickRowsMin = 256, quickTablesMax = 64;

/** Gives each combination of key values a group: numbers from 0 in order of first appearance. */
export class GroupTable {
  private readonly columns: readonly ColumnCodes[];
  /** Codes of the columns combined two by two, from the left. */
  private readonly pairs: readonly GridTable[];
  private readonly rooms: readonly Room[];
  /** Groups by the codes of a dictionary and the other keys. */
  private readonly known = new Map<Vector, Map<string, Uint32Array>>();
  private knownCount = 0;
  /** `sql`: keys are told apart as SQL does it. */
  constructor(keys: number, sql = false) {
    this.columns = Array.from({ length: keys }, () => new ColumnCodes(sql));
    this.pairs = this.columns.slice(1).map(() => new GridTable());
    this.rooms = this.pairs.map(() => new Room());
  }
  get size(): number { return this.pairs.at(-1)?.size ?? this.columns[0]?.size ?? 1; }
  get bytes(): number { return this.columns.reduce((n, c) => n + c.bytes, 0) + this.pairs.reduce((n, p) => n + p.bytes, 0); }

  /**
   * The group of each row; new groups are made if `insert`, else `none` says that there is none. Without keys all rows are in group 0.
   * Unless `isKept` the answer is for use until the next call.
   */
  ids(keys: readonly Vector[], length: number, insert = true, isKept = true): Uint32Array {
    if (this.columns.length === 0) return new Uint32Array(length);
    if (!isKept && insert && this.pairs.length > 0 && length >= quickRowsMin) {
      const quick = this.quick(keys, length);
      if (quick) return quick;
    }
    let ids = this.columns[0]!.codes(keys[0]!, insert, isKept), sizeA = this.columns[0]!.size;
    for (let k = 1; k < keys.length; k++) {
      const column = this.columns[k]!, pairs = this.pairs[k - 1]!, own = column.codes(keys[k]!, insert, isKept);
      ids = pairs.codes(ids, own, { sizeA, sizeB: column.size, insert, out: isKept ? new Uint32Array(length) : this.rooms[k - 1]!.of(length) });
      sizeA = pairs.size;
    }
    return ids;
  }
  /** The groups where all keys but one small dictionary are constants: looked up by its codes alone. */
  private quick(keys: readonly Vector[], length: number): Uint32Array | undefined {
    let varying = -1, place = '';
    for (let k = 0; k < keys.length; k++) {
      const key = keys[k]!;
      if (key.form === 'constant') place += `${this.columns[k]!.codes(key.inner)[0]!} `;
      else if (key.form !== 'dictionary' || varying >= 0 || key.values.length > quickValuesMax) return undefined;
      else {
        varying = k;
        place += '- ';
      }
    }
    const key = keys[varying];
    if (key?.form !== 'dictionary') return undefined;
    const known = this.knownGroups(key.values, place), out = this.rooms[0]!.of(length);
    if (lookUp(known, key.codes, out)) return out;
    for (let i = 0; i < length; i++) {
      const at = key.codes[i]!;
      if (known[at] === none) known[at] = this.ids(keys.map((k) => (k.form === 'constant' ? k.inner : take(k, Uint32Array.of(i)))), 1)[0]!;
      out[i] = known[at]!;
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
    return this.ids(inner, 1)[0]!;
  }
  /** The key columns, one row a group, from group `start` on. */
  keys(start = 0): Vector[] {
    if (start === 0 && this.pairs.length === 0) return this.columns.map((c) => c.values());
    const codes: Uint32Array[] = [];
    let ids = range(start, this.size);
    for (let k = this.pairs.length - 1; k >= 0; k--) {
      const { first, second } = this.pairs[k]!;
      codes.unshift(valuesAt(second.array, ids));
      ids = valuesAt(first.array, ids);
    }
    return this.columns.map((c, k) => gather(c.values(), k === 0 ? ids : codes[k - 1]!));
  }
}
