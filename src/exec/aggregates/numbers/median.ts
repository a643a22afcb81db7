/**
 * median: the number in the middle, or the mean of the two there. NaN is the greatest; what is no number is left out.
 */
import { checkStop } from '../../../vectors/stop.ts';
import { isFloat, isInteger, types } from '../../../vectors/type.ts';
import { type Vector, nulls, numbers } from '../../../vectors/vector.ts';
import { Uint32List } from '../../../vectors/lists.ts';
import { overlay } from '../../expressions/rows.ts';
import { type AggregateState, floats, widened } from '../grouping/state.ts';
import { sortByGroup } from '../lists.ts';
import { eachPart, floatsOf, isNothing, pick } from '../grouping/parts.ts';
import { none } from '../grouping/pair-table.ts';

export class MedianState implements AggregateState {
  private readonly ids = new Uint32List();
  private values = floats(16);
  get bytes(): number {
    return this.ids.array.byteLength + this.values.byteLength;
  }
  grow(): void {
    /* nothing is kept per group */
  }
  update(ids: Uint32Array, argument: Vector): void {
    if (isNothing(argument)) return;
    eachPart(argument, (part, rows) => {
      if (part.form !== 'number' || !(isInteger(part.type) || isFloat(part.type))) return;
      const own = pick(ids, rows);
      const values = floatsOf(part);
      for (let i = 0; i < part.length; i++) this.add(own[i], values[i]);
    });
  }
  private add(group: number, x: number): void {
    this.values = widened(this.values, this.ids.length + 1, floats);
    this.values[this.ids.length] = x;
    this.ids.push(group);
  }
  merge(other: AggregateState, map: Uint32Array): void {
    const from = other as MedianState;
    for (let i = 0; i < from.ids.length; i++) {
      const to = map[from.ids.array[i]];
      if (to !== none) this.add(to, from.values[i]);
    }
  }
  result(groups: number): Vector {
    checkStop();
    const { order, offsets } = sortByGroup(this.ids.done(), this.ids.length, groups);
    const sorted = Float64Array.from(order, (i) => this.values[i]);
    const out = floats(groups);
    const empty = new Uint8Array(groups);
    for (let g = 0; g < groups; g++) {
      checkStop();
      const start = offsets[g];
      const count = offsets[g + 1] - start;
      // Typed arrays sort NaN behind all others.
      const own = sorted.subarray(start, start + count).sort();
      if (count === 0) empty[g] = 1;
      else out[g] = count % 2 === 1 ? own[(count - 1) / 2] : middleOf(own[count / 2 - 1], own[count / 2]);
    }
    return overlay(numbers(types.float64, out), empty, nulls(groups));
  }
}
const middleOf = (a: number, b: number): number => a + (b - a) * 0.5;
