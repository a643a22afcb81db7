/**
 * agg(v order by k): an aggregate that takes the rows of a group in the order of sort keys. The argument is a record of
 * `argument` and the keys `k0`, `k1` ..
 */
import type { SortKey } from '../../query/plan/plan.ts';
import { Uint32List } from '../../vectors/lists.ts';
import { sizeOf } from '../../vectors/sizes.ts';
import { type Vector, flatten, range, take } from '../../vectors/vector.ts';
import { concat } from '../../vectors/concat.ts';
import { fieldOf } from '../expressions/access.ts';
import { sortedOrder } from '../operators/sort/radix.ts';
import { sortWords } from '../operators/sort/words.ts';
import { pick } from './grouping/parts.ts';
import type { AggregateState } from './grouping/state.ts';
import { none } from './grouping/pair-table.ts';

export class OrderedState implements AggregateState {
  private readonly ids = new Uint32List();
  private readonly kept: Vector[] = [];
  private size = 0;
  private readonly order: readonly Omit<SortKey, 'expr'>[];
  private readonly make: () => AggregateState;
  constructor(order: readonly Omit<SortKey, 'expr'>[], make: () => AggregateState) {
    this.order = order;
    this.make = make;
  }
  get bytes(): number {
    return this.ids.array.byteLength + this.size;
  }
  grow(): void {
    /* nothing is kept per group */
  }
  update(ids: Uint32Array, argument: Vector): void {
    if (argument.length > 0) this.keep(ids, flatten(argument));
  }
  private keep(ids: Uint32Array, rows: Vector): void {
    for (let i = 0; i < rows.length; i++) this.ids.push(ids[i]);
    this.kept.push(rows);
    this.size += sizeOf(rows);
  }
  merge(other: AggregateState, map: Uint32Array): void {
    const from = other as OrderedState;
    const ids = from.ids.done();
    const rows = range(0, ids.length).filter((i) => map[ids[i]] !== none);
    if (rows.length > 0) this.keep(pick(map, pick(ids, rows)), take(concat(from.kept), rows));
  }
  result(groups: number): Vector {
    const state = this.make();
    state.grow(groups);
    if (this.ids.length > 0) {
      const rows = concat(this.kept);
      const words = this.order.flatMap((direction, i) => sortWords(fieldOf(rows, `k${i}`), direction));
      const order = sortedOrder(words, rows.length);
      state.update(pick(this.ids.done(), order), take(fieldOf(rows, 'argument'), order));
    }
    return state.result(groups);
  }
}
