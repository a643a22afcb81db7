/** any: the first value that is neither null nor missing. */
import { sizeOf } from '../../vectors/sizes.ts';
import { type Vector, flatten, take } from '../../vectors/vector.ts';
import { concat } from '../../vectors/concat.ts';
import { fieldOf } from '../expressions/access.ts';
import { withoutUnions } from '../expressions/lift.ts';
import { kinds, kindsOf } from '../operators/rows/kinds.ts';
import { valuesAsRecords } from './grouping/cell-values.ts';
import { type AggregateState, widened, words } from './grouping/state.ts';
import { none } from './grouping/pair-table.ts';

export class AnyState implements AggregateState {
  /** Where a group's value is in `kept`, plus one. */
  private places = words(16);
  private kept: Vector[] = [];
  private count = 0;
  private size = 0;
  get bytes(): number {
    return this.places.byteLength + this.size;
  }
  grow(groups: number): void {
    this.places = widened(this.places, groups, words);
  }
  update(ids: Uint32Array, argument: Vector): void {
    const table = kindsOf(argument);
    const { places } = this;
    const rows: number[] = [];
    for (let i = 0; i < argument.length; i++) {
      if (places[ids[i]] !== 0 || table?.[i] === kinds.null || table?.[i] === kinds.missing) continue;
      rows.push(i);
      places[ids[i]] = this.count + rows.length;
    }
    if (rows.length === 0) return;
    const found = flatten(withoutUnions(take(argument, Uint32Array.from(rows))));
    this.kept.push(found);
    this.count += rows.length;
    this.size += sizeOf(found);
  }
  merge(other: AggregateState, map: Uint32Array, groups: number): void {
    const from = other as AnyState;
    const base = this.count;
    this.kept.push(...from.kept);
    this.count += from.count;
    this.size += from.size;
    for (let g = 0; g < groups; g++) {
      if (map[g] !== none && from.places[g] !== 0 && this.places[map[g]] === 0)
        this.places[map[g]] = base + from.places[g];
    }
  }
  exported(groups: number): Vector {
    return valuesAsRecords(
      this.result(groups),
      Uint8Array.from({ length: groups }, (_, g) => (this.places[g] === 0 ? 1 : 0)),
    );
  }
  absorb(ids: Uint32Array, states: Vector): void {
    this.update(ids, fieldOf(states, 'value'));
  }
  result(groups: number): Vector {
    const all = concat([{ form: 'null', length: 1 }, ...this.kept]);
    return take(all, this.places.slice(0, groups));
  }
}
