/**
 * collect: an array of the values in the order of arrival, without nulls and missing ones; names and unions are taken
 * off.
 */
import { sizeOf } from '../../vectors/sizes.ts';
import { type Vector, flatten, take } from '../../vectors/vector.ts';
import { Uint32List } from '../../vectors/lists.ts';
import { concat } from '../../vectors/concat.ts';
import { kinds, rowsWithout } from '../operators/rows/kinds.ts';
import { listsOfGroups } from './lists.ts';
import { pick } from './grouping/parts.ts';
import type { AggregateState } from './grouping/state.ts';
import { none } from './grouping/pair-table.ts';
import { under } from './under.ts';

export class CollectState implements AggregateState {
  protected readonly ids = new Uint32List();
  protected readonly kept: Vector[] = [];
  protected size = 0;
  private readonly withNulls: boolean;
  /** `withNulls`: nulls are values too. */
  constructor(withNulls = false) {
    this.withNulls = withNulls;
  }
  get bytes(): number {
    return this.ids.array.byteLength + this.size;
  }
  grow(): void {
    /* nothing is kept per group */
  }
  update(ids: Uint32Array, argument: Vector): void {
    const rows = this.withNulls
      ? rowsWithout(argument, kinds.missing)
      : rowsWithout(argument, kinds.null, kinds.missing);
    const own = pick(ids, rows);
    const values = flatten(this.values(rows ? take(argument, rows) : argument));
    if (values.length === 0) return;
    for (let i = 0; i < values.length; i++) this.ids.push(own[i]);
    this.kept.push(values);
    this.size += sizeOf(values);
  }
  /** As they are kept. */
  protected values(argument: Vector): Vector {
    return under(argument);
  }
  merge(other: AggregateState, map: Uint32Array): void {
    const from = other as CollectState;
    const rows: number[] = [];
    for (let i = 0; i < from.ids.length; i++) {
      const to = map[from.ids.array[i]];
      if (to === none) continue;
      rows.push(i);
      this.ids.push(to);
    }
    if (rows.length === 0) return;
    const values = flatten(take(concat(from.kept), Uint32Array.from(rows)));
    this.kept.push(values);
    this.size += sizeOf(values);
  }
  result(groups: number): Vector {
    return listsOfGroups('array', concat(this.kept), this.ids.done(), groups);
  }
}
