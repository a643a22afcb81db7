/** mode: the value that comes most often, of several such values the one that came first. */
import { checkStopAt } from '../../vectors/stop.ts';
import { type Vector, nulls, take } from '../../vectors/vector.ts';
import { concat } from '../../vectors/concat.ts';
import { overlay } from '../expressions/rows.ts';
import { ColumnCodes } from './grouping/codes.ts';
import { CollectState } from './collect.ts';
import { words } from './grouping/state.ts';
import { PairTable } from './grouping/pair-table.ts';

export class ModeState extends CollectState {
  private readonly sql: boolean;
  constructor(sql = false) {
    super();
    this.sql = sql;
  }
  override result(groups: number): Vector {
    const { length } = this.ids;
    if (length === 0) return nulls(groups);
    const values = concat(this.kept);
    const codes = new ColumnCodes(this.sql).codes(values);
    const pairs = new PairTable();
    /** How often each pair of group and value comes, and its first row. */
    const counts = words(length);
    const firsts = words(length);
    for (let i = 0; i < length; i++) {
      checkStopAt(i);
      const size = pairs.size;
      const pair = pairs.code(this.ids.array[i], codes[i], true);
      if (pairs.size > size) firsts[pair] = i;
      counts[pair]++;
    }
    const groupOf = pairs.words().first;
    const best = words(groups);
    const rows = words(groups);
    const empty = new Uint8Array(groups).fill(1);
    for (let pair = 0; pair < pairs.size; pair++) {
      const group = groupOf[pair];
      if (counts[pair] <= best[group]) continue;
      best[group] = counts[pair];
      rows[group] = firsts[pair];
      empty[group] = 0;
    }
    return overlay(take(values, rows), empty, nulls(groups));
  }
}
