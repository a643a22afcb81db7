/**
 * arg_min and arg_max: the value beside which another one is least or greatest. Numbers and times are compared where
 * they lie, and of each batch the rows of the groups that it betters are kept as columns. (With values of their own for
 * each row that was better for a while, `arg_max({url, id}, ts)` by 30,000 users took 50 times DuckDB's time, now 5.)
 */
import { checkStop } from '../../../vectors/stop.ts';
import { concat } from '../../../vectors/concat.ts';
import { knownValue } from '../../../vectors/decimal.ts';
import { sizeOf } from '../../../vectors/sizes.ts';
import { type PrimitiveType, isFloat, isInteger, types } from '../../../vectors/type.ts';
import type { Value } from '../../../vectors/value.ts';
import { type NumberArray, type Vector, flatten, nulls, take, valueAt } from '../../../vectors/vector.ts';
import { fieldOf } from '../../expressions/access.ts';
import { combine, tidy } from '../../expressions/rows.ts';
import { order } from '../../expressions/sql/value-order.ts';
import { compact } from '../../operators/compact.ts';
import { field, record } from '../../operators/rows/records.ts';
import { under } from '../under.ts';
import { none } from './pair-table.ts';
import { numbersIn } from './parts.ts';
import { present } from './pairs.ts';
import { type AggregateState, floats, widened, words } from './state.ts';

/** What a value that others are compared with takes, about. */
const valueBytes = 100;
/** Rows that were bettered, and parts of rows, before those that count are put together. */
const deadRowsMin = 4096;
const partsMax = 256;

/**
 * The value of the row whose `by` is least (`sign` -1) or greatest, of several the first; `nulls`: that value may be
 * null (`values`), the other one too, which then comes last (`all`).
 */
export class ArgumentState implements AggregateState {
  private readonly sign: 1 | -1;
  private readonly nulls: 'none' | 'values' | 'all';
  /** Records of `value` and `by`; the row of group g is `rows[g]` of the part before `parts[g]`, 0 if it has none. */
  private kept: Vector[] = [];
  private keptRows = 0;
  private keptBytes = 0;
  private parts = words(0);
  private rows = words(0);
  /** Groups that have a row. */
  private count = 0;
  /** What the kept `by` of each group is as a number, while all are of one type; wide ones in two halves. */
  private high = floats(0);
  private low: Float64Array<ArrayBuffer> | undefined;
  private type: PrimitiveType | undefined;
  /** The same as values, once some are no such numbers. */
  private values: Map<number, Value> | undefined;
  constructor(sign: 1 | -1, nulls: 'none' | 'values' | 'all' = 'none') {
    this.sign = sign;
    this.nulls = nulls;
  }
  get bytes(): number {
    return this.keptBytes + this.parts.byteLength * 4 + (this.values?.size ?? 0) * valueBytes;
  }
  grow(groups: number): void {
    this.parts = widened(this.parts, groups, words);
    this.rows = widened(this.rows, groups, words);
    this.high = widened(this.high, groups, floats);
    if (this.low) this.low = widened(this.low, groups, floats);
  }
  update(ids: Uint32Array, argument: Vector): void {
    const { length } = argument;
    const values = under(fieldOf(argument, 'value'));
    const bys = under(fieldOf(argument, 'by'));
    const marks = present(length, ...(this.nulls === 'all' ? [] : this.nulls === 'values' ? [bys] : [values, bys]));
    if (!marks.includes(1)) return;
    const keys = this.values ? undefined : keysOf(bys, marks);
    const touched = keys && this.fits(keys) ? this.chooseNumbers(ids, marks, keys) : this.chooseValues(ids, marks, bys);
    if (touched.length === 0) return;
    const index = touched.map((g) => this.rows[g]);
    this.keep(compact(record([field('value', take(values, index)), field('by', take(bys, index))], index.length)));
    for (let k = 0; k < touched.length; k++) this.rows[touched[k]] = k;
    if (this.kept.length > partsMax || this.keptRows > this.count * 2 + deadRowsMin) this.gatherRows();
  }
  private keep(rows: Vector): void {
    this.kept.push(rows);
    this.keptRows += rows.length;
    this.keptBytes += sizeOf(rows);
  }

  /** Whether keys can be compared with those that are known; those become wide if need be. */
  private fits({ type, values }: Keys): boolean {
    const isWide = !(values instanceof Float64Array);
    if (this.type && type !== this.type && (isWide || this.low || !isNumber(type) || !isNumber(this.type)))
      return false;
    if (isWide && !this.low) {
      const { high } = this;
      this.low = floats(high.length);
      for (let g = 0; g < high.length; g++) {
        const x = high[g];
        high[g] = Math.floor(x / half);
        this.low[g] = x - high[g] * half;
      }
    }
    if (!this.type || isFloat(type)) this.type = type;
    return true;
  }
  /** The groups that get another row, which `rows` has then. */
  private chooseNumbers(ids: Uint32Array, marks: Uint8Array, keys: Keys): Uint32Array {
    const { parts, rows, high, low, sign } = this;
    const { slots } = keys;
    const given = low ? halvesOf(keys.values) : { high: keys.values as Float64Array, low: undefined };
    const part = this.kept.length + 1;
    const touched = new Uint32Array(Math.min(ids.length, parts.length));
    let n = 0;
    for (let i = 0; i < marks.length; i++) {
      if (marks[i] === 0) continue;
      const g = ids[i];
      const at = slots ? slots[i] : i;
      const x = given.high[at];
      if (parts[g] !== 0 && !isBetter(x, high[g], sign)) {
        if (!low || x !== high[g] || !isBetter(given.low![at], low[g], sign)) continue;
      }
      if (parts[g] !== part) {
        if (parts[g] === 0) this.count++;
        parts[g] = part;
        touched[n++] = g;
      }
      high[g] = x;
      if (low) low[g] = given.low![at];
      rows[g] = i;
    }
    return touched.subarray(0, n);
  }
  private chooseValues(ids: Uint32Array, marks: Uint8Array, bys: Vector): Uint32Array {
    const known = (this.values ??= this.valuesKept());
    const { parts, rows } = this;
    const part = this.kept.length + 1;
    const touched: number[] = [];
    for (let i = 0; i < marks.length; i++) {
      checkStop();
      if (marks[i] === 0) continue;
      const g = ids[i];
      const by = knownValue(valueAt(bys, i));
      if (!this.isBetterValue(by, known.get(g))) continue;
      if (parts[g] !== part) {
        if (parts[g] === 0) this.count++;
        parts[g] = part;
        touched.push(g);
      }
      known.set(g, by);
      rows[g] = i;
    }
    return Uint32Array.from(touched);
  }
  private isBetterValue(by: Value, known: Value | undefined): boolean {
    if (!known || by.type === types.null || known.type === types.null)
      return !known || (known.type === types.null && by.type !== types.null);
    return order(by, known) * this.sign > 0;
  }
  private valuesKept(): Map<number, Value> {
    const known = new Map<number, Value>();
    for (let g = 0; g < this.parts.length; g++)
      if (this.parts[g] !== 0)
        known.set(g, knownValue(valueAt(fieldOf(this.kept[this.parts[g] - 1], 'by'), this.rows[g])));
    return known;
  }

  /** The rows of the groups that have one, in their order; `groups`: which these are. */
  private chosen(end: number): { readonly rows: Vector; readonly groups: Uint32Array } {
    const starts = new Uint32Array(this.kept.length);
    for (let k = 1; k < starts.length; k++) starts[k] = starts[k - 1] + this.kept[k - 1].length;
    const index = new Uint32Array(Math.min(this.count, end));
    const groups = new Uint32Array(index.length);
    let n = 0;
    for (let g = 0; g < end && n < index.length; g++) {
      if (this.parts[g] === 0) continue;
      groups[n] = g;
      index[n++] = starts[this.parts[g] - 1] + this.rows[g];
    }
    const rows = take(concat(this.kept), index.subarray(0, n));
    return { rows, groups: groups.subarray(0, n) };
  }
  /** Forgets rows that were bettered. */
  private gatherRows(): void {
    const { rows, groups } = this.chosen(this.parts.length);
    this.kept = [];
    this.keptRows = 0;
    this.keptBytes = 0;
    this.keep(compact(rows));
    for (let k = 0; k < groups.length; k++) {
      this.parts[groups[k]] = 1;
      this.rows[groups[k]] = k;
    }
  }

  merge(other: AggregateState, map: Uint32Array, groups: number): void {
    const from = other as ArgumentState;
    if (from.count === 0) return;
    const own = from.chosen(Math.min(groups, from.parts.length));
    const index = Uint32Array.from(own.groups.keys()).filter((k) => map[own.groups[k]] !== none);
    if (index.length > 0)
      this.update(
        index.map((k) => map[own.groups[k]]),
        take(own.rows, index),
      );
  }
  exported(groups: number): Vector {
    return this.ofGroups(groups, (rows) =>
      record([field('arg', fieldOf(rows, 'value')), field('by', fieldOf(rows, 'by'))], rows.length),
    );
  }
  absorb(ids: Uint32Array, states: Vector): void {
    this.update(
      ids,
      record([field('value', fieldOf(states, 'arg')), field('by', fieldOf(states, 'by'))], states.length),
    );
  }
  result(groups: number): Vector {
    return this.ofGroups(groups, (rows) => fieldOf(rows, 'value'));
  }
  /** What groups have, null where there is nothing. */
  private ofGroups(groups: number, of: (rows: Vector) => Vector): Vector {
    if (this.count === 0 || groups === 0) return nulls(groups);
    const own = this.chosen(Math.min(groups, this.parts.length));
    if (own.groups.length === 0) return nulls(groups);
    const values = of(own.rows);
    if (own.groups.length === groups) return tidy(values);
    const tags = new Uint32Array(groups).fill(1);
    const slots = new Uint32Array(groups);
    own.groups.forEach((g, k) => {
      tags[g] = 0;
      slots[g] = k;
    });
    return tidy(combine(tags, slots, [values, nulls(1)]));
  }
}

/** Numbers, durations or times: that of row i is `values[slots[i]]`. */
interface Keys {
  readonly type: PrimitiveType;
  readonly values: Float64Array | BigInt64Array;
  readonly slots: Uint32Array | undefined;
}
/** Undefined where rows that count have others. */
const keysOf = (bys: Vector, marks: Uint8Array): Keys | undefined => {
  const v = numbersIn(bys.form === 'constant' || bys.form === 'dictionary' ? flatten(bys) : bys);
  if (v.form === 'number')
    return isComparable(v.values) ? { type: v.type, values: v.values, slots: undefined } : undefined;
  if (v.form !== 'dynamic') return undefined;
  const { tags, slots } = v;
  const tag = tags[marks.indexOf(1)];
  for (let i = 0; i < marks.length; i++) if (marks[i] !== 0 && tags[i] !== tag) return undefined;
  const part = v.parts[tag];
  return part?.form === 'number' && isComparable(part.values)
    ? { type: part.type, values: part.values, slots }
    : undefined;
};
const isComparable = (values: NumberArray): values is Float64Array | BigInt64Array =>
  !(values instanceof BigUint64Array);
const isNumber = (type: PrimitiveType): boolean => isInteger(type) || isFloat(type);

/** NaN is the greatest number. */
const isBetter = (x: number, known: number, sign: 1 | -1): boolean =>
  sign > 0 ? x > known || (x !== x && known === known) : x < known || (known !== known && x === x);

const half = 0x1_0000_0000;
/** Integers as their upper words, which have the sign, and their lower ones. */
const halvesOf = (values: NumberArray): { readonly high: Float64Array; readonly low: Float64Array } => {
  const high = floats(values.length);
  const low = floats(values.length);
  if (values instanceof Float64Array) {
    for (let i = 0; i < values.length; i++) {
      high[i] = Math.floor(values[i] / half);
      low[i] = values[i] - high[i] * half;
    }
    return { high, low };
  }
  const lower = new Uint32Array(values.buffer, values.byteOffset, values.length * 2);
  const upper = new Int32Array(values.buffer, values.byteOffset, values.length * 2);
  for (let i = 0; i < high.length; i++) {
    high[i] = upper[2 * i + 1];
    low[i] = lower[2 * i];
  }
  return { high, low };
};
