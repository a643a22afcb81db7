/**
 * avg: numbers, durations, times, bools as 0 and 1, strings that read as numbers; summed as floats in row order. In SQL
 * whole numbers are summed exactly, as long as no others come: blocks tell what they come to then, however large they
 * are. The average of 1,000,000 ids takes 0.4 of the time.
 */
import { isFloat, types } from '../../../vectors/type.ts';
import { type NumberVector, type Vector, gather, lookUp, textAt, ofForm } from '../../../vectors/vector.ts';
import { parseFloat64 } from '../../../vectors/literal.ts';
import { type AggregateState, type Totals, bytes, floats, widened } from '../grouping/state.ts';
import { eachPart, everyPart, floatsOf, idsOfOne, isNothing, numbersIn, pick } from '../grouping/parts.ts';
import { type SparseNumbers, denseRange, sparseNumbers } from '../../expressions/sparse.ts';
import { none } from '../grouping/pair-table.ts';
import { WideSums } from './wide-sums.ts';

export class AvgState implements AggregateState {
  readonly keepsNothing = true;
  /** Count and sum of each group, side by side. */
  private cells = floats(32);
  /** Sums that floats do not hold; absent: they are rounded. */
  private readonly wide: WideSums | undefined;
  /** No sum of whole numbers is further from zero. */
  private reach = 0;
  private anyFloat = false;
  constructor(isExact = false) {
    this.wide = isExact ? new WideSums() : undefined;
  }
  get bytes(): number {
    return this.cells.byteLength + (this.wide?.bytes ?? 0);
  }
  grow(groups: number): void {
    this.cells = widened(this.cells, groups * 2, floats);
  }
  updateOne(group: number, given: Vector): void {
    if (isNothing(given)) return;
    const argument = numbersIn(given);
    const sparse = sparseNumbers(argument);
    const { length } = argument;
    if (this.wide && argument.form === 'number' && this.addExactly(group, argument)) return;
    if (sparse && !this.areSafe(sparse)) return this.addSparseExactly(idsOfOne(group, length), sparse);
    if (!sparse && argument.form !== 'number') return this.update(idsOfOne(group, length), argument);
    const range = sparse ? denseRange(sparse) : { start: 0, end: length };
    let total = this.cells[group * 2 + 1];
    let count = range ? range.end - range.start : 0;
    if (sparse && !range) {
      const { values, tag, tags, slots } = sparse;
      for (let i = 0; i < length; i++) {
        if (tags[i] !== tag) continue;
        count++;
        total += values[slots[i]];
      }
    } else {
      const values = sparse?.values ?? floatsOf(ofForm(argument, 'number'));
      const { start, end } = range!;
      for (let i = start; i < end; i++) total += values[i];
    }
    this.cells[group * 2] += count;
    this.cells[group * 2 + 1] = total;
  }
  /** As long as all sums on the way are safe integers it does not matter in which order the rows are added. */
  takesTotals(group: number, { sum }: Totals): boolean {
    if (this.wide && !this.anyFloat) return true;
    const total = this.cells[group * 2 + 1];
    return !sum || (Number.isSafeInteger(total) && Math.abs(total) + Number(sum.reach) <= Number.MAX_SAFE_INTEGER);
  }
  addTotals(group: number, { count, sum }: Totals): void {
    if (!sum) return;
    this.cells[group * 2] += count;
    const reach = this.reach + Number(sum.reach);
    if (this.wide && !this.anyFloat && reach > Number.MAX_SAFE_INTEGER) return this.wide.addTotal(group, sum.value);
    this.reach = reach;
    this.cells[group * 2 + 1] += Number(sum.value);
  }
  /** Adds whole numbers where their sum might be rounded; false: they may go where floats do. */
  private addExactly(ids: Uint32Array | number, v: NumberVector): boolean {
    const wide = this.wide!;
    const { values, length } = v;
    if (isFloat(v.type)) this.anyFloat = true;
    if (this.anyFloat && values instanceof Float64Array) return false;
    if (values instanceof Float64Array) {
      const size = sizeOfAll(values, length);
      if (this.reach + size > Number.MAX_SAFE_INTEGER) this.carry();
      this.reach += size;
      if (this.reach <= Number.MAX_SAFE_INTEGER) return false;
      this.reach = 0;
      return this.addExactly(ids, { ...v, values: BigInt64Array.from({ length }, (_, i) => BigInt(values[i])) });
    }
    const { cells } = this;
    if (typeof ids === 'number') cells[ids * 2] += length;
    else for (let i = 0; i < length; i++) cells[ids[i] * 2]++;
    wide.add(ids, values.length === length ? values : values.subarray(0, length), cells.length / 2);
    return true;
  }
  /** Puts the sums of all groups where they are not rounded. */
  private carry(): void {
    const { cells } = this;
    this.reach = 0;
    for (let at = 1; at < cells.length; at += 2) {
      if (cells[at] !== 0) this.wide!.addTotal(at >> 1, BigInt(cells[at]));
      cells[at] = 0;
    }
  }
  update(ids: Uint32Array, given: Vector): void {
    if (isNothing(given)) return;
    const argument = numbersIn(given);
    const sparse = sparseNumbers(argument);
    if (sparse) return this.areSafe(sparse) ? this.addSparse(ids, sparse) : this.addSparseExactly(ids, sparse);
    if (this.wide && argument.form === 'number' && this.addExactly(ids, argument)) return;
    if (argument.form === 'number') return this.addAll(ids, floatsOf(argument), ids.length);
    let whole: Float64Array | undefined;
    const some = new FloatRows(ids.length);
    if (this.wide && !everyPart(argument, isWholeOrBool)) this.anyFloat = true;
    eachPart(argument, (part, rows) => {
      switch (part.form) {
        case 'number':
          if (this.wide && !isFloat(part.type) && !(this.anyFloat && part.values instanceof Float64Array)) {
            const own = pick(ids, rows);
            if (!this.addExactly(own, part)) this.addAll(own, floatsOf(part), part.length);
          } else if (rows) some.set(rows, floatsOf(part), part.length);
          else whole = floatsOf(part);
          return;
        case 'bool':
          this.reach += part.length;
          return some.set(rows, Float64Array.from(part.values.subarray(0, part.length)), part.length);
        case 'bytes':
          if (part.type !== types.string) return;
          for (let i = 0; i < part.length; i++) {
            const x = parseFloat64(textAt(part, i));
            if (x !== undefined) some.setOne(rows ? rows[i] : i, x);
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
      const at = ids[i] * 2;
      cells[at]++;
      cells[at + 1] += values[i];
    }
  }
  private addSparse(ids: Uint32Array, { values, tag, tags, slots }: SparseNumbers): void {
    const { cells } = this;
    for (let i = 0; i < ids.length; i++) {
      if (tags[i] !== tag) continue;
      const at = ids[i] * 2;
      cells[at]++;
      cells[at + 1] += values[slots[i]];
    }
  }
  /** Whether floats hold what comes of numbers among nulls; the sums then reach so far. */
  private areSafe({ part, values, tag, tags, slots, length }: SparseNumbers): boolean {
    if (!this.wide) return true;
    if (isFloat(part.type)) this.anyFloat = true;
    if (this.anyFloat) return true;
    let size = 0;
    for (let i = 0; i < length; i++) if (tags[i] === tag) size += Math.abs(values[slots[i]]);
    if (this.reach + size > Number.MAX_SAFE_INTEGER) return false;
    this.reach += size;
    return true;
  }
  private addSparseExactly(ids: Uint32Array, sparse: SparseNumbers): void {
    const { part, tag, tags, slots } = sparse;
    const rows = new Uint32Array(ids.length);
    let n = 0;
    for (let i = 0; i < ids.length; i++) if (tags[i] === tag) rows[n++] = i;
    const own = rows.subarray(0, n);
    const numbers = ofForm(gather(part, lookUp(slots, own)), 'number');
    const groups = lookUp(ids, own);
    if (n > 0 && !this.addExactly(groups, numbers)) this.addAll(groups, floatsOf(numbers), n);
  }
  private addSome(ids: Uint32Array, { values, valid }: FloatRows): void {
    const { cells } = this;
    for (let i = 0; i < ids.length; i++) {
      if (valid[i] === 0) continue;
      const at = ids[i] * 2;
      cells[at]++;
      cells[at + 1] += values[i];
    }
  }
  merge(other: AggregateState, map: Uint32Array, groups: number): void {
    const from = other as AvgState;
    this.anyFloat ||= from.anyFloat;
    if (this.wide && !this.anyFloat && this.reach + from.reach > Number.MAX_SAFE_INTEGER) {
      this.carry();
      from.carry();
    }
    this.reach += from.reach;
    for (let g = 0; g < groups; g++) {
      const to = map[g];
      if (to === none) continue;
      this.cells[to * 2] += from.cells[g * 2];
      this.cells[to * 2 + 1] += from.cells[g * 2 + 1];
    }
    if (this.wide) this.wide.merge(from.wide!, map, groups);
  }
  /** The count and the sum of a group; the sum is exact where it is no float. */
  totalOf(group: number): { readonly count: number; readonly sum: number | bigint } {
    const exact = this.wide && !this.anyFloat;
    const sum = this.cells[group * 2 + 1];
    const whole = (): bigint => BigInt(sum) + (this.wide!.isEmpty ? 0n : this.wide!.total(group));
    return { count: this.cells[group * 2], sum: exact ? whole() : this.sumOf(group) };
  }
  /** Adds so many numbers that come to `sum`. */
  addFloats(group: number, count: number, sum: number): void {
    this.anyFloat = true;
    this.cells[group * 2] += count;
    this.cells[group * 2 + 1] += sum;
  }
  private sumOf(group: number): number {
    const sum = this.cells[group * 2 + 1];
    const { wide } = this;
    if (!wide || wide.isEmpty) return sum;
    return this.anyFloat ? sum + Number(wide.total(group)) : Number(BigInt(sum) + wide.total(group));
  }
  result(groups: number): Vector {
    const values = floats(groups);
    const tags = new Uint32Array(groups);
    const slots = new Uint32Array(groups);
    let empty = 0;
    for (let g = 0; g < groups; g++) {
      values[g] = this.sumOf(g) / this.cells[g * 2];
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

const isWholeOrBool = (v: Vector): boolean => v.form === 'bool' || (v.form === 'number' && !isFloat(v.type));
const sizeOfAll = (values: Float64Array, length: number): number => {
  let size = 0;
  for (let i = 0; i < length; i++) size += Math.abs(values[i]);
  return size;
};

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
    for (let i = 0; i < length; i++) this.setOne(rows ? rows[i] : i, values[i]);
  }
  setOne(row: number, x: number): void {
    this.used = true;
    this.values[row] = x;
    this.valid[row] = 1;
  }
}
