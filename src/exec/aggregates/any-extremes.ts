/**
 * min and max in SQL: of values of any type, in the order in which they are sorted; NaN is the greatest number. Numbers
 * and texts go the quick way.
 */
import { types } from '../../vectors/type.ts';
import { isLongDecimal, knownValue, mayHaveLongDecimals } from '../../vectors/decimal.ts';
import { type Value, underValue } from '../../vectors/value.ts';
import { type NumberVector, type Vector, range, take, valueAt } from '../../vectors/vector.ts';
import { Builder } from '../../vectors/builder.ts';
import { overlay } from '../expressions/rows.ts';
import { order } from '../expressions/sql/value-order.ts';
import { ExtremeState } from './extremes.ts';
import { eachPart, everyPart, idsOfOne, pick } from './grouping/parts.ts';
import type { AggregateState } from './grouping/state.ts';
import { none } from './grouping/pair-table.ts';

/** What an entry of a group takes, about. */
const entryBytes = 150;

export class AnyExtremeState implements AggregateState {
  readonly keepsNothing = true;
  private readonly quick: ExtremeState;
  /** Of groups: the best of the values that do not go the quick way. */
  private readonly best = new Map<number, Value>();
  private readonly sign: 1 | -1;
  constructor(which: 'min' | 'max') {
    this.quick = new ExtremeState(which, true);
    this.sign = which === 'min' ? -1 : 1;
  }
  get bytes(): number {
    return this.quick.bytes + this.best.size * entryBytes;
  }
  grow(groups: number): void {
    this.quick.grow(groups);
  }
  updateOne(group: number, argument: Vector): void {
    if (this.allQuick(argument)) this.quick.updateOne(group, argument);
    else this.update(idsOfOne(group, argument.length), argument);
  }
  update(ids: Uint32Array, argument: Vector): void {
    if (this.allQuick(argument)) return this.quick.update(ids, argument);
    const odd = new Uint8Array(argument.length);
    let found = false;
    const add = (part: Vector, at: number, row: number): void => {
      found = true;
      odd[row] = 1;
      this.add(ids[row], underValue(valueAt(part, at)));
    };
    if (mayHaveLongDecimals(argument))
      for (let i = 0; i < argument.length; i++) {
        const value = knownValue(valueAt(argument, i));
        if (!isLongDecimal(value.type)) continue;
        found = true;
        odd[i] = 1;
        this.add(ids[i], value);
      }
    eachPart(argument, (part, rows) => {
      if (part.form === 'null' || part.form === 'error' || isQuick(part, this.sign)) return;
      for (let i = 0; i < part.length; i++)
        if (part.form !== 'number' || Number.isNaN(part.values[i])) add(part, i, rows ? rows[i] : i);
    });
    if (!found) return this.quick.update(ids, argument);
    const others = range(0, argument.length).filter((i) => odd[i] === 0);
    if (others.length > 0) this.quick.update(pick(ids, others), take(argument, others));
  }
  private allQuick(argument: Vector): boolean {
    return !mayHaveLongDecimals(argument) && everyPart(argument, (part) => isQuick(part, this.sign));
  }
  private add(group: number, value: Value): void {
    const known = this.best.get(group);
    if (!known || order(value, known) * this.sign > 0) this.best.set(group, value);
  }
  merge(other: AggregateState, map: Uint32Array, groups: number): void {
    const from = other as AnyExtremeState;
    this.quick.merge(from.quick, map, groups);
    for (const [g, value] of from.best) if (map[g] !== none) this.add(map[g], value);
  }
  absorb(ids: Uint32Array, states: Vector): void {
    this.update(ids, states);
  }
  result(groups: number): Vector {
    const quick = this.quick.result(groups);
    if (this.best.size === 0) return quick;
    const odd = new Builder();
    const mask = new Uint8Array(groups);
    for (let g = 0; g < groups; g++) {
      const value = this.best.get(g);
      const other = value && underValue(valueAt(quick, g));
      if (!value || !other) odd.null();
      else {
        mask[g] = other.type === types.null || order(value, other) * this.sign > 0 ? 1 : 0;
        odd.append(value);
      }
    }
    return overlay(quick, mask, odd.finish());
  }
}

const isQuick = (v: Vector, sign: 1 | -1): boolean => {
  if (v.form === 'bytes') return v.type === types.string;
  return v.form === 'number' && (sign > 0 || !hasNaN(v));
};
const hasNaN = (v: NumberVector): boolean => {
  if (!(v.values instanceof Float64Array)) return false;
  for (let i = 0; i < v.length; i++) if (v.values[i] !== v.values[i]) return true;
  return false;
};
