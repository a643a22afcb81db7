/** agg(distinct v): an aggregate that sees each value of a group once. */
import { type Vector, take } from '../../vectors/vector.ts';
import { ColumnCodes } from './codes.ts';
import { pick } from './parts.ts';
import type { AggregateState } from './state.ts';
import { PairTable, none } from './tables.ts';
import { under } from './under.ts';

export class DistinctState implements AggregateState {
  private readonly codes: ColumnCodes;
  private readonly pairs = new PairTable();
  private readonly inner: AggregateState;
  /** `sql`: values are told apart as SQL does it. */
  constructor(inner: AggregateState, sql: boolean) {
    this.inner = inner;
    this.codes = new ColumnCodes(sql);
  }
  get bytes(): number { return this.codes.bytes + this.pairs.bytes + this.inner.bytes; }
  grow(groups: number): void { this.inner.grow(groups); }
  update(ids: Uint32Array, given: Vector): void {
    const argument = under(given), codes = this.codes.codes(argument), fresh = new Uint32Array(argument.length);
    let n = 0;
    for (let i = 0; i < codes.length; i++) {
      const size = this.pairs.size;
      this.pairs.code(ids[i]!, codes[i]!, true);
      if (this.pairs.size > size) fresh[n++] = i;
    }
    const rows = fresh.subarray(0, n);
    if (n > 0) this.inner.update(pick(ids, rows), take(argument, rows));
  }
  /** The values of `other` are added anew: its inner state may have seen values that this one has too. */
  merge(other: AggregateState, map: Uint32Array): void {
    const from = other as DistinctState;
    const ids: number[] = [], rows: number[] = [];
    for (let k = 0; k < from.pairs.size; k++) {
      const to = map[from.pairs.first.array[k]!]!;
      if (to === none) continue;
      ids.push(to);
      rows.push(from.pairs.second.array[k]!);
    }
    if (rows.length > 0) this.update(Uint32Array.from(ids), take(from.codes.values(), Uint32Array.from(rows)));
  }
  result(groups: number): Vector { return this.inner.result(groups); }
}
