/** count_if: how many bools are true; everything else is left out. */
import { types } from '../../vectors/type.ts';
import { type Vector, numbers } from '../../vectors/vector.ts';
import { type AggregateState, floats, widened } from './grouping/state.ts';
import { eachPart, isNothing, pick } from './grouping/parts.ts';
import { none } from './grouping/pair-table.ts';

export class CountTrueState implements AggregateState {
  readonly keepsNothing = true;
  private counts = floats(16);
  get bytes(): number {
    return this.counts.byteLength;
  }
  grow(groups: number): void {
    this.counts = widened(this.counts, groups, floats);
  }
  update(ids: Uint32Array, argument: Vector): void {
    if (isNothing(argument)) return;
    eachPart(argument, (part, rows) => {
      if (part.form !== 'bool') return;
      const own = pick(ids, rows);
      for (let i = 0; i < part.length; i++) this.counts[own[i]] += part.values[i];
    });
  }
  merge(other: AggregateState, map: Uint32Array, groups: number): void {
    const from = (other as CountTrueState).counts;
    for (let g = 0; g < groups; g++) if (map[g] !== none) this.counts[map[g]] += from[g];
  }
  result(groups: number): Vector {
    return numbers(types.int64, this.counts.slice(0, groups));
  }
}
