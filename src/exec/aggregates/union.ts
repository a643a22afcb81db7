/** union: the set of the distinct values, without nulls and missing ones. */
import { compareTypes } from '../../vectors/type.ts';
import { compareBytes, encodeBody } from '../../vectors/value.ts';
import { type Vector, dataAt, gather, take, typeAt } from '../../vectors/vector.ts';
import { kinds, rowsWithout } from '../operators/kinds.ts';
import { ColumnCodes } from './codes.ts';
import { listsOfGroups } from './lists.ts';
import { pick } from './parts.ts';
import type { AggregateState } from './state.ts';
import { PairTable, none } from './tables.ts';
import { under } from './under.ts';

export class UnionState implements AggregateState {
  private readonly codes = new ColumnCodes();
  private readonly pairs = new PairTable();
  get bytes(): number { return this.codes.bytes + this.pairs.bytes; }
  grow(): void { /* nothing is kept per group */ }
  update(ids: Uint32Array, argument: Vector): void {
    const rows = rowsWithout(argument, kinds.null, kinds.missing);
    const values = under(rows ? take(argument, rows) : argument);
    this.add(pick(ids, rows), this.codes.codes(values));
  }
  private add(ids: Uint32Array, codes: Uint32Array): void {
    for (let i = 0; i < codes.length; i++) this.pairs.code(ids[i]!, codes[i]!, true);
  }
  merge(other: AggregateState, map: Uint32Array): void {
    const from = other as UnionState;
    const codes = this.codes.codes(from.codes.values());
    for (let k = 0; k < from.pairs.size; k++) {
      const to = map[from.pairs.first.array[k]!]!;
      if (to !== none) this.pairs.code(to, codes[from.pairs.second.array[k]!]!, true);
    }
  }
  result(groups: number): Vector {
    const values = this.codes.values(), rank = canonicalRanks(values);
    const order = Uint32Array.from({ length: this.pairs.size }, (_, k) => k);
    const second = this.pairs.second.array;
    order.sort((a, b) => rank[second[a]!]! - rank[second[b]!]!);
    const ids = Uint32Array.from(order, (k) => this.pairs.first.array[k]!);
    return listsOfGroups('set', gather(values, Uint32Array.from(order, (k) => second[k]!)), ids, groups);
  }
}

/** The place of each value in the canonical order of sets: by encoding, then by type. */
const canonicalRanks = (values: Vector): Uint32Array => {
  const coded = Array.from({ length: values.length }, (_, code) => {
    const type = typeAt(values, code);
    return { code, type, bytes: encodeBody(type, dataAt(values, code)) };
  });
  coded.sort((a, b) => compareBytes(a.bytes, b.bytes) || compareTypes(a.type, b.type));
  const ranks = new Uint32Array(values.length);
  coded.forEach((c, n) => { ranks[c.code] = n; });
  return ranks;
};
