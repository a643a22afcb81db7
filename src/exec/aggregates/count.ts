/** count: rows, or rows whose argument is neither null nor missing. */
import type { Vector } from '../../vectors/vector.ts';
import { types } from '../../vectors/type.ts';
import { kinds, kindsOf } from '../operators/kinds.ts';
import { type AggregateState, floats, widened } from './state.ts';
import { none } from './tables.ts';

export class CountState implements AggregateState {
  private counts = floats(16);
  private readonly all: boolean;
  /** `all`: count() and count(*). */
  constructor(all: boolean) { this.all = all; }
  get bytes(): number { return this.counts.byteLength; }
  grow(groups: number): void { this.counts = widened(this.counts, groups, floats); }
  update(ids: Uint32Array, argument: Vector): void {
    const table = this.all ? undefined : kindsOf(argument);
    if (table) this.countSome(ids, table, argument.length);
    else countAll(this.counts, ids, ids.length);
  }
  updateOne(group: number, argument: Vector): void {
    const table = this.all ? undefined : kindsOf(argument);
    let n = argument.length;
    if (table) for (let i = 0; i < argument.length; i++) if (table[i] === kinds.null || table[i] === kinds.missing) n--;
    this.counts[group]! += n;
  }
  private countSome(ids: Uint32Array, table: Uint8Array, length: number): void {
    const { counts } = this;
    for (let i = 0; i < length; i++) if (table[i] !== kinds.null && table[i] !== kinds.missing) counts[ids[i]!]!++;
  }
  merge(other: AggregateState, map: Uint32Array, groups: number): void {
    const from = (other as CountState).counts;
    for (let g = 0; g < groups; g++) if (map[g] !== none) this.counts[map[g]!]! += from[g]!;
  }
  result(groups: number): Vector { return { form: 'number', type: types.int64, length: groups, values: this.counts.slice(0, groups) }; }
}

const countAll = (counts: Float64Array, ids: Uint32Array, length: number): void => {
  for (let i = 0; i < length; i++) counts[ids[i]!]!++;
};
