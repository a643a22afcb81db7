/** Groups: dense ids for combinations of key values, by type and value, in the order in which they are met. */
import { type Vector, gather } from '../../vectors/vector.ts';
import { ColumnCodes } from './codes.ts';
import { PairTable } from './tables.ts';

export class GroupTable {
  private readonly columns: readonly ColumnCodes[];
  /** Codes of the columns combined two by two, from the left. */
  private readonly pairs: readonly PairTable[];
  constructor(keys: number) {
    this.columns = Array.from({ length: keys }, () => new ColumnCodes());
    this.pairs = this.columns.slice(1).map(() => new PairTable());
  }
  get size(): number { return this.pairs.at(-1)?.size ?? this.columns[0]?.size ?? 1; }
  get bytes(): number { return this.columns.reduce((n, c) => n + c.bytes, 0) + this.pairs.reduce((n, p) => n + p.bytes, 0); }

  /** The group of each row; new groups are made if `insert`, else `none` says that there is none. Without keys all rows are in group 0. */
  ids(keys: readonly Vector[], length: number, insert = true): Uint32Array {
    if (this.columns.length === 0) return new Uint32Array(length);
    let ids = this.columns[0]!.codes(keys[0]!, insert);
    for (let k = 1; k < keys.length; k++) ids = this.pairs[k - 1]!.codes(ids, this.columns[k]!.codes(keys[k]!, insert), length, insert);
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
