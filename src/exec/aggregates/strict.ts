/**
 * Aggregates of SQL that take numbers alone: any other value ends the query. Passed over, a text among numbers would
 * change the result without a word. Null and what is missing are left out as ever; an error value ends the query too.
 */
import { LakeError } from '../../errors.ts';
import { supText } from '../../vectors/sup/print.ts';
import { type Type, isFloat, isInteger, isNumeric, types } from '../../vectors/type.ts';
import { isMissing, stringData } from '../../vectors/value.ts';
import { type Vector, valueAt } from '../../vectors/vector.ts';
import { fieldOf } from '../expressions/access.ts';
import { bitsOfText } from '../expressions/sql/bits.ts';
import { areSpans } from '../expressions/sql/span-arithmetic.ts';
import { eachPart, everyPart } from './grouping/parts.ts';
import type { AggregateState, Totals } from './grouping/state.ts';

/** What an aggregate of SQL takes; of `pairs` both. `bits`: whole numbers and bit strings. `amounts`: bools, times and durations beside numbers. */
export type Takes = 'bits' | 'integers' | 'numbers' | 'amounts' | 'pairs';

const taken: Readonly<Record<Takes, (type: Type) => boolean>> = {
  bits: isInteger,
  integers: isInteger,
  numbers: (t) => isInteger(t) || isFloat(t),
  amounts: (t) => isNumeric(t) || t === types.bool,
  pairs: (t) => isInteger(t) || isFloat(t),
};
const wanted: Readonly<Record<Takes, string>> = {
  bits: 'whole numbers and bits',
  integers: 'whole numbers',
  numbers: 'numbers',
  amounts: 'numbers, times or durations',
  pairs: 'numbers',
};
const castOf: Readonly<Record<Takes, string>> = {
  bits: 'bigint',
  integers: 'bigint',
  numbers: 'double',
  amounts: 'double',
  pairs: 'double',
};
const pairFields = ['value', 'by'];

/** What the row of an aggregate says of its arguments. */
export interface Strictness {
  readonly name: string;
  readonly takes: Takes;
  /** Also intervals with months. */
  readonly takesSpans: boolean;
}

/** The state of an aggregate, asked before it sees an argument whether it takes that. */
export class StrictState implements AggregateState {
  readonly keepsNothing?: true;
  private readonly inner: AggregateState;
  private readonly of: Strictness;
  constructor(inner: AggregateState, of: Strictness) {
    this.inner = inner;
    this.of = of;
    if (inner.keepsNothing) this.keepsNothing = true;
  }
  get plain(): AggregateState {
    return this.inner;
  }
  get bytes(): number {
    return this.inner.bytes;
  }
  grow(groups: number): void {
    this.inner.grow(groups);
  }
  update(ids: Uint32Array, argument: Vector): void {
    this.check(argument);
    this.inner.update(ids, argument);
  }
  updateOne(group: number, argument: Vector): void {
    this.check(argument);
    if (this.inner.updateOne) this.inner.updateOne(group, argument);
    else this.inner.update(new Uint32Array(argument.length).fill(group), argument);
  }
  takesTotals(group: number, totals: Totals): boolean {
    if (totals.sum && !taken[this.of.takes](totals.sum.type)) return false;
    return this.inner.takesTotals?.(group, totals) === true;
  }
  addTotals(group: number, totals: Totals): void {
    this.inner.addTotals!(group, totals);
  }
  merge(other: AggregateState, map: Uint32Array, groups: number): void {
    this.inner.merge((other as StrictState).inner, map, groups);
  }
  result(groups: number): Vector {
    return this.inner.result(groups);
  }
  private check(argument: Vector): void {
    if (this.of.takes !== 'pairs') return this.checkOne(argument);
    for (const name of pairFields) this.checkOne(fieldOf(argument, name));
  }
  /** @throws query-aggregate for a value of another type */
  private checkOne(v: Vector): void {
    const takes = taken[this.of.takes];
    const isTaken = (part: Vector): boolean => isOf(part, takes) || (this.of.takesSpans && areSpans(part));
    if (v.form === 'null' || everyPart(v, isTaken, true)) return;
    eachPart(v, (part) => {
      if (part.form === 'null' || isTaken(part)) return;
      for (let i = 0; i < part.length; i++) {
        const value = valueAt(part, i);
        if (this.of.takes === 'bits' && value.type === types.string && bitsOfText(stringData(value.data)) !== undefined)
          continue;
        if (areSpans(part)) throw new LakeError('query-interval-sum', { aggregate: this.of.name });
        if (!isMissing(value)) this.refuse(supText(value));
      }
    });
  }
  private refuse(shown: string): never {
    const value = shown.length > shownMax ? `${shown.slice(0, shownMax)}..` : shown;
    throw new LakeError('query-aggregate', {
      aggregate: this.of.name,
      wanted: wanted[this.of.takes],
      value,
      type: castOf[this.of.takes],
    });
  }
}
const shownMax = 100;

const isOf = (part: Vector, takes: (type: Type) => boolean): boolean =>
  (part.form === 'number' && takes(part.type)) || (part.form === 'bool' && takes(types.bool));
