/** count: rows, or rows whose argument is neither null nor missing. */
import type { Vector } from '../../vectors/vector.ts';
import { types } from '../../vectors/type.ts';
import { kinds, kindsOf } from '../operators/rows/kinds.ts';
import { type AggregateState, type Totals, floats, widened } from './grouping/state.ts';
import { floatsIn } from './grouping/cell-values.ts';
import { none } from './grouping/pair-table.ts';

export class CountState implements AggregateState {
  readonly keepsNothing = true;
  readonly isCount = true;
  private counts = floats(16);
  private groups = 0;
  private readonly all: boolean;
  /** `all`: count() and count(*). */
  constructor(all: boolean) {
    this.all = all;
  }
  get bytes(): number {
    return this.counts.byteLength;
  }
  grow(groups: number): void {
    this.groups = groups;
    this.counts = widened(this.counts, groups, floats);
  }
  update(ids: Uint32Array, argument: Vector): void {
    const table = this.all ? undefined : kindsOf(argument);
    if (table) this.countSome(ids, table, argument.length);
    else countAll(this.counts, ids, ids.length, this.groups);
  }
  updateOne(group: number, argument: Vector): void {
    const table = this.all ? undefined : kindsOf(argument);
    let n = argument.length;
    if (table) for (let i = 0; i < argument.length; i++) if (table[i] === kinds.null || table[i] === kinds.missing) n--;
    this.counts[group] += n;
  }
  takesTotals(): boolean {
    return true;
  }
  addTotals(group: number, { count }: Totals): void {
    this.counts[group] += count;
  }
  private countSome(ids: Uint32Array, table: Uint8Array, length: number): void {
    const { counts } = this;
    for (let i = 0; i < length; i++) if (table[i] !== kinds.null && table[i] !== kinds.missing) counts[ids[i]]++;
  }
  merge(other: AggregateState, map: Uint32Array, groups: number): void {
    const from = (other as CountState).counts;
    for (let g = 0; g < groups; g++) if (map[g] !== none) this.counts[map[g]] += from[g];
  }
  absorb(ids: Uint32Array, states: Vector): void {
    const { values, valid } = floatsIn(states);
    for (let i = 0; i < ids.length; i++) if (valid[i] === 1) this.counts[ids[i]] += values[i];
  }
  result(groups: number): Vector {
    return { form: 'number', type: types.int64, length: groups, values: this.counts.slice(0, groups) };
  }
}

/** Rows of few groups are counted in four lanes: a count need not wait for the one before it. */
const laneGroupsMax = 1024;
const laneRowsMin = 256;
const lanes = new Uint32Array(4 * laneGroupsMax);
const countAll = (counts: Float64Array, ids: Uint32Array, length: number, groups: number): void => {
  if (groups > laneGroupsMax || groups * 8 > length || length < laneRowsMin) {
    for (let i = 0; i < length; i++) counts[ids[i]]++;
    return;
  }
  const end = length & ~3;
  for (let i = 0; i < end; i += 4) {
    lanes[ids[i] << 2]++;
    lanes[(ids[i + 1] << 2) | 1]++;
    lanes[(ids[i + 2] << 2) | 2]++;
    lanes[(ids[i + 3] << 2) | 3]++;
  }
  for (let i = end; i < length; i++) lanes[ids[i] << 2]++;
  for (let g = 0; g < groups; g++) counts[g] += lanes[4 * g] + lanes[4 * g + 1] + lanes[4 * g + 2] + lanes[4 * g + 3];
  lanes.fill(0, 0, 4 * groups);
};
