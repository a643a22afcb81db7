/**
 * Aggregates of numbers, or of pairs of numbers, that keep a few floats per group: a rule says what these are. What is
 * no number is left out, as are pairs of which one is none.
 */
import { types } from '../../../vectors/type.ts';
import { type Vector, nulls, numbers } from '../../../vectors/vector.ts';
import { fieldOf } from '../../expressions/access.ts';
import { overlay } from '../../expressions/rows.ts';
import { type AggregateState, type CellRule, floats, widened } from './state.ts';
import { cellsAsRecords, cellsOfRecords, floatsIn } from './cell-values.ts';
import { isNothing } from './parts.ts';
import { momentRules } from '../numbers/moments.ts';
import { regressionRules } from '../numbers/regressions.ts';
import { none } from './pair-table.ts';

/** Cells by the name of a rule: states travel, rules do not. */
export class CellState implements AggregateState {
  readonly keepsNothing = true;
  private cells: Float64Array<ArrayBuffer> = floats(16);
  private readonly rule: string;
  private readonly isPair: boolean;
  constructor(rule: string, isPair = false) {
    this.rule = rule;
    this.isPair = isPair;
  }
  get bytes(): number {
    return this.cells.byteLength;
  }
  grow(groups: number): void {
    this.cells = widened(this.cells, groups * ruleNamed(this.rule).count, floats);
  }
  update(ids: Uint32Array, argument: Vector): void {
    const first = this.isPair ? fieldOf(argument, 'value') : argument;
    const second = this.isPair ? fieldOf(argument, 'by') : first;
    if (isNothing(first) || isNothing(second)) return;
    const x = floatsIn(first);
    const y = this.isPair ? floatsIn(second) : x;
    const { cells } = this;
    const { count, add } = ruleNamed(this.rule);
    for (let i = 0; i < argument.length; i++)
      if (x.valid[i] === 1 && y.valid[i] === 1) add(cells, ids[i] * count, x.values[i], y.values[i]);
  }
  merge(other: AggregateState, map: Uint32Array, groups: number): void {
    const from = (other as CellState).cells;
    const { count, merge } = ruleNamed(this.rule);
    for (let g = 0; g < groups; g++) if (map[g] !== none) merge(this.cells, map[g] * count, from, g * count);
  }
  exported(groups: number): Vector {
    const { names } = ruleNamed(this.rule);
    return names && names.length > 1 ? cellsAsRecords(this.cells, names, groups) : this.result(groups);
  }
  absorb(ids: Uint32Array, states: Vector): void {
    const { count, names, merge } = ruleNamed(this.rule);
    if (!names) return this.update(ids, states);
    const cells = cellsOfRecords(states, names);
    for (let i = 0; i < ids.length; i++) if (cells[i * count] > 0) merge(this.cells, ids[i] * count, cells, i * count);
  }
  result(groups: number): Vector {
    const { count, result, isInteger: whole } = ruleNamed(this.rule);
    const values = floats(groups);
    const empty = new Uint8Array(groups);
    for (let g = 0; g < groups; g++) {
      const found = result(this.cells, g * count);
      if (found === null) empty[g] = 1;
      else values[g] = found;
    }
    return overlay(numbers(whole ? types.int64 : types.float64, values), empty, nulls(groups));
  }
}

const cellRules: Readonly<Record<string, CellRule>> = { ...momentRules, ...regressionRules };
const ruleNamed = (name: string): CellRule => {
  const rule = cellRules[name];
  if (!rule) throw new Error(`no rule ${name}`);
  return rule;
};
