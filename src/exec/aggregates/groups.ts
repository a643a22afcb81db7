/** Groups: dense ids for combinations of key values, by type and value, in the order in which they are met. */
import { type Vector, gather } from '../../vectors/vector.ts';
import { ColumnCodes } from './codes.ts';
import { GridTable, Room } from './tables.ts';

export class GroupTable {
  private readonly columns: readonly ColumnCodes[];
  /** Codes of the columns combined two by two, from the left. */
  private readonly pairs: readonly GridTable[];
  private readonly rooms: readonly Room[];
  constructor(keys: number) {
    this.columns = Array.from({ length: keys }, () => new ColumnCodes());
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
    let ids = this.columns[0]!.codes(keys[0]!, insert, isKept), sizeA = this.columns[0]!.size;
    for (let k = 1; k < keys.length; k++) {
      const column = this.columns[k]!, pairs = this.pairs[k - 1]!, own = column.codes(keys[k]!, insert, isKept);
      ids = pairs.codes(ids, own, { sizeA, sizeB: column.size, insert, out: isKept ? new Uint32Array(length) : this.rooms[k - 1]!.of(length) });
      sizeA = pairs.size;
    }
    return ids;
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
    let ids = Uint32Array.from({ length: this.size - start }, (_, i) => start + i);
    for (let k = this.pairs.length - 1; k >= 0; k--) {
      const { first, second } = this.pairs[k]!;
      codes.unshift(Uint32Array.from(ids, (g) => second.array[g]!));
      ids = Uint32Array.from(ids, (g) => first.array[g]!);
    }
    return this.columns.map((c, k) => gather(c.values(), k === 0 ? ids : codes[k - 1]!));
  }
}
