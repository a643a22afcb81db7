/** avg: numbers, durations, times, bools as 0 and 1, strings that read as numbers; summed as floats in row order. */
import { types } from '../../vectors/type.ts';
import { type NumberVector, type Vector, textAt } from '../../vectors/vector.ts';
import { parseFloat64 } from '../../vectors/literal.ts';
import { type AggregateState, type Totals, bytes, floats, widened } from './grouping/state.ts';
import { eachPart, floatsOf, idsOfOne, isNothing, numbersIn } from './grouping/parts.ts';
import { type SparseNumbers, denseRange, sparseNumbers } from '../expressions/sparse.ts';
import { none } from './pair-table.ts';

export class AvgState implements AggregateState {
  readonly keepsNothing = true;
  /** Count and sum of each group, side by side. */
  private cells = floats(32);
  get bytes(): number {
    return this.cells.byteLength;
  }
  grow(groups: number): void {
    this.cells = widened(this.cells, groups * 2, floats);
  }
  updateOne(group: number, given: Vector): void {
    if (isNothing(given)) return;
    const argument = numbersIn(given);
    const sparse = sparseNumbers(argument);
    const { length } = argument;
    if (!sparse && argument.form !== 'number') return this.update(idsOfOne(group, length), argument);
    const range = sparse ? denseRange(sparse) : { start: 0, end: length };
    let total = this.cells[group * 2 + 1]!;
    let count = range ? range.end - range.start : 0;
    if (sparse && !range) {
      const { values, tag, tags, slots } = sparse;
      for (let i = 0; i < length; i++) {
        if (tags[i] !== tag) continue;
        count++;
        total += values[slots[i]!]!;
      }
    } else {
      const values = sparse?.values ?? floatsOf(argument as NumberVector);
      const { start, end } = range!;
      for (let i = start; i < end; i++) total += values[i]!;
    }
    this.cells[group * 2]! += count;
    this.cells[group * 2 + 1] = total;
  }
  /** As long as all sums on the way are safe integers it does not matter in which order the rows are added. */
  takesTotals(group: number, { sum }: Totals): boolean {
    const total = this.cells[group * 2 + 1]!;
    return !sum || (Number.isSafeInteger(total) && Math.abs(total) + Number(sum.reach) <= Number.MAX_SAFE_INTEGER);
  }
  addTotals(group: number, { count, sum }: Totals): void {
    if (!sum) return;
    this.cells[group * 2]! += count;
    this.cells[group * 2 + 1]! += Number(sum.value);
  }
  update(ids: Uint32Array, given: Vector): void {
    if (isNothing(given)) return;
    const argument = numbersIn(given);
    const sparse = sparseNumbers(argument);
    if (sparse) return this.addSparse(ids, sparse);
    if (argument.form === 'number') return this.addAll(ids, floatsOf(argument), ids.length);
    let whole: Float64Array | undefined;
    const some = new FloatRows(ids.length);
    eachPart(argument, (part, rows) => {
      switch (part.form) {
        case 'number':
          if (rows) some.set(rows, floatsOf(part), part.length);
          else whole = floatsOf(part);
          return;
        case 'bool':
          return some.set(rows, Float64Array.from(part.values.subarray(0, part.length)), part.length);
        case 'bytes':
          if (part.type !== types.string) return;
          for (let i = 0; i < part.length; i++) {
            const x = parseFloat64(textAt(part, i));
            if (x !== undefined) some.setOne(rows ? rows[i]! : i, x);
          }
          return;
        default:
      }
    });
    if (whole) this.addAll(ids, whole, ids.length);
    else if (some.used) this.addSome(ids, some);
  }
  private addAll(ids: Uint32Array, values: Float64Array, length: number): void {
    const { cells } = this;
    for (let i = 0; i < length; i++) {
      const at = ids[i]! * 2;
      cells[at]!++;
      cells[at + 1]! += values[i]!;
    }
  }
  private addSparse(ids: Uint32Array, { values, tag, tags, slots }: SparseNumbers): void {
    const { cells } = this;
    for (let i = 0; i < ids.length; i++) {
      if (tags[i] !== tag) continue;
      const at = ids[i]! * 2;
      cells[at]!++;
      cells[at + 1]! += values[slots[i]!]!;
    }
  }
  private addSome(ids: Uint32Array, { values, valid }: FloatRows): void {
    const { cells } = this;
    for (let i = 0; i < ids.length; i++) {
      if (valid[i] === 0) continue;
      const at = ids[i]! * 2;
      cells[at]!++;
      cells[at + 1]! += values[i]!;
    }
  }
  merge(other: AggregateState, map: Uint32Array, groups: number): void {
    const from = other as AvgState;
    for (let g = 0; g < groups; g++) {
      const to = map[g]!;
      if (to === none) continue;
      this.cells[to * 2]! += from.cells[g * 2]!;
      this.cells[to * 2 + 1]! += from.cells[g * 2 + 1]!;
    }
  }
  result(groups: number): Vector {
    const values = floats(groups);
    const tags = new Uint32Array(groups);
    const slots = new Uint32Array(groups);
    let empty = 0;
    for (let g = 0; g < groups; g++) {
      values[g] = this.cells[g * 2 + 1]! / this.cells[g * 2]!;
      slots[g] = g;
      if (this.cells[g * 2] === 0) {
        tags[g] = 1;
        empty++;
      }
    }
    const numbers: Vector = { form: 'number', type: types.float64, length: groups, values };
    if (empty === 0) return numbers;
    if (empty === groups) return { form: 'null', length: groups };
    return { form: 'dynamic', length: groups, tags, slots, parts: [numbers, { form: 'null', length: groups }] };
  }
}

/** Numbers of some rows of a batch. */
class FloatRows {
  readonly values: Float64Array;
  readonly valid: Uint8Array;
  used = false;
  constructor(length: number) {
    this.values = floats(length);
    this.valid = bytes(length);
  }
  set(rows: Uint32Array | undefined, values: Float64Array, length: number): void {
    for (let i = 0; i < length; i++) this.setOne(rows ? rows[i]! : i, values[i]!);
  }
  setOne(row: number, x: number): void {
    this.used = true;
    this.values[row] = x;
    this.valid[row] = 1;
  }
}
