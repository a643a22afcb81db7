/** first and last: the value of a group's first or last row, null too; any: the first that is neither null nor missing. */
import { sizeOf } from '../../../vectors/sizes.ts';
import { type Vector, flatten, take } from '../../../vectors/vector.ts';
import { concat } from '../../../vectors/concat.ts';
import { fieldOf } from '../../expressions/access.ts';
import { valuesAsRecords } from './cell-values.ts';
import { withoutUnions } from '../../expressions/lift.ts';
import { kinds, kindsOf } from '../../operators/rows/kinds.ts';
import { type AggregateState, widened, words } from './state.ts';
import { none } from './pair-table.ts';

/** The place of a value that is null. */
const nullPlace = 0xffffffff;
/** Values that are held in vain before they are given up. */
const spareMax = 4096;

export class PlaceState implements AggregateState {
  /** Where a group's value is in `kept`, plus one; 0 for a group without rows. */
  private places = words(16);
  private groups = 0;
  private kept: Vector[] = [];
  private count = 0;
  private size = 0;
  private readonly isLast: boolean;
  private readonly takesNulls: boolean;
  constructor(which: 'first' | 'last' | 'any') {
    this.isLast = which === 'last';
    this.takesNulls = which !== 'any';
  }
  get bytes(): number {
    return this.places.byteLength + this.size;
  }
  grow(groups: number): void {
    this.places = widened(this.places, groups, words);
    this.groups = Math.max(this.groups, groups);
  }
  update(ids: Uint32Array, argument: Vector): void {
    const { length } = argument;
    const table = kindsOf(argument);
    const { places, isLast, takesNulls } = this;
    const seen = new Set<number>();
    const rows: number[] = [];
    for (let k = 0; k < length; k++) {
      const i = isLast ? length - 1 - k : k;
      const g = ids[i];
      if (isLast ? seen.has(g) : places[g] !== 0) continue;
      const isNothing = table?.[i] === kinds.null || table?.[i] === kinds.missing;
      if (isNothing && !takesNulls) continue;
      if (isLast) seen.add(g);
      if (isNothing) places[g] = nullPlace;
      else places[g] = this.count + rows.push(i);
    }
    if (rows.length > 0) this.keep(flatten(withoutUnions(take(argument, Uint32Array.from(rows)))));
    if (isLast && this.count > this.groups * 2 + spareMax) this.tidy();
  }
  private keep(values: Vector): void {
    this.kept.push(values);
    this.count += values.length;
    this.size += sizeOf(values);
  }
  /** Gives up the values of rows that were not the last. */
  private tidy(): void {
    const { places } = this;
    const all = concat(this.kept);
    const rows: number[] = [];
    for (let g = 0; g < this.groups; g++)
      if (places[g] !== 0 && places[g] !== nullPlace) places[g] = rows.push(places[g] - 1);
    this.kept = [];
    this.count = this.size = 0;
    if (rows.length > 0) this.keep(flatten(take(all, Uint32Array.from(rows))));
  }
  merge(other: AggregateState, map: Uint32Array, groups: number): void {
    const from = other as PlaceState;
    const base = this.count;
    this.kept.push(...from.kept);
    this.count += from.count;
    this.size += from.size;
    for (let g = 0; g < groups; g++) {
      const to = map[g];
      const place = from.places[g];
      if (to !== none && place !== 0 && (this.isLast || this.places[to] === 0))
        this.places[to] = place === nullPlace ? place : base + place;
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
    return take(
      concat([{ form: 'null', length: 1 }, ...this.kept]),
      this.places.slice(0, groups).map((p) => (p === nullPlace ? 0 : p)),
    );
  }
}
