/**
 * stddev, variance and their kin: the spread of numbers around their mean, in one pass (Welford), states put together
 * as Chan does. What is no number is left out.
 */
import { isFloat, isInteger, types } from '../../../vectors/type.ts';
import { type Vector, nulls, numbers } from '../../../vectors/vector.ts';
import { overlay } from '../../expressions/rows.ts';
import { type AggregateState, floats, widened } from '../grouping/state.ts';
import { cellsAsRecords, cellsOfRecords } from '../grouping/cell-values.ts';
import { eachPart, floatsOf, isNothing, pick } from '../grouping/parts.ts';
import { none } from '../grouping/pair-table.ts';

/**
 * `sample`: divided by one less than the count, so that one number has no spread. `root`: the deviation, else the
 * variance.
 */
interface Spread {
  readonly sample: boolean;
  readonly root: boolean;
}

/** Count, mean and sum of squared distances of each group, side by side. */
const cellsOfGroup = 3;
const cellNames = ['count', 'mean', 'dsquared'];

export class SpreadState implements AggregateState {
  readonly keepsNothing = true;
  private cells = floats(48);
  private readonly spread: Spread;
  constructor(spread: Spread) {
    this.spread = spread;
  }
  get bytes(): number {
    return this.cells.byteLength;
  }
  grow(groups: number): void {
    this.cells = widened(this.cells, groups * cellsOfGroup, floats);
  }
  update(ids: Uint32Array, argument: Vector): void {
    if (isNothing(argument)) return;
    eachPart(argument, (part, rows) => {
      if (part.form !== 'number' || !(isInteger(part.type) || isFloat(part.type))) return;
      this.add(pick(ids, rows), floatsOf(part), part.length);
    });
  }
  private add(ids: Uint32Array, values: Float64Array, length: number): void {
    const { cells } = this;
    for (let i = 0; i < length; i++) {
      const at = ids[i] * cellsOfGroup;
      const x = values[i];
      const distance = x - cells[at + 1];
      cells[at]++;
      cells[at + 1] += distance / cells[at];
      cells[at + 2] += distance * (x - cells[at + 1]);
    }
  }
  merge(other: AggregateState, map: Uint32Array, groups: number): void {
    const from = (other as SpreadState).cells;
    const { cells } = this;
    for (let g = 0; g < groups; g++) {
      const to = map[g];
      const count = from[g * cellsOfGroup];
      if (to === none || count === 0) continue;
      const at = to * cellsOfGroup;
      const known = cells[at];
      const total = known + count;
      const distance = from[g * cellsOfGroup + 1] - cells[at + 1];
      cells[at] = total;
      cells[at + 1] += (distance * count) / total;
      cells[at + 2] += from[g * cellsOfGroup + 2] + (distance * distance * known * count) / total;
    }
  }
  exported(groups: number): Vector {
    return cellsAsRecords(this.cells, cellNames, groups);
  }
  absorb(ids: Uint32Array, states: Vector): void {
    const from = new SpreadState(this.spread);
    from.cells = floats(ids.length * cellsOfGroup);
    from.cells.set(cellsOfRecords(states, cellNames));
    this.merge(from, ids, ids.length);
  }
  result(groups: number): Vector {
    const { cells, spread } = this;
    const values = floats(groups);
    const empty = new Uint8Array(groups);
    const least = spread.sample ? 2 : 1;
    for (let g = 0; g < groups; g++) {
      const count = cells[g * cellsOfGroup];
      const variance = cells[g * cellsOfGroup + 2] / (spread.sample ? count - 1 : count);
      if (count < least) empty[g] = 1;
      else values[g] = spread.root ? Math.sqrt(variance) : variance;
    }
    return overlay(numbers(types.float64, values), empty, nulls(groups));
  }
}
