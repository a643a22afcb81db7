/**
 * sum: numbers, durations and times; integers exactly (64 bits, wrapping; in SQL an error where they are too few, and
 * bools are summed as 0 and 1), floats in row order so that the result does not depend on how rows are batched.
 *
 * Integer sums are kept as floats while they are safe integers; what goes beyond is carried over to a bigint of the
 * group.
 */
import { LakeError } from '../../../errors.ts';
import { isInteger, isUnsigned, types } from '../../../vectors/type.ts';
import {
  areUnits,
  decimalData,
  decimalDigitsMax,
  decimalValue,
  exactOf,
  mayHaveLongDecimals,
} from '../../../vectors/decimal.ts';
import { Builder } from '../../../vectors/builder.ts';
import { type BoolVector, type NumberVector, type Vector, valueAt } from '../../../vectors/vector.ts';
import { type AggregateState, type Totals, bytes, floats, widened } from '../grouping/state.ts';
import { classOf, classes, numbersOfGroups, plainNumbers, wrapped } from './numeric.ts';
import { eachPart, floatsOf, idsOfOne, isNothing, numbersIn, pick } from '../grouping/parts.ts';
import { type SparseNumbers, denseRange, sparseNumbers } from '../../expressions/sparse.ts';
import { none } from '../grouping/pair-table.ts';

interface NumberRows {
  readonly part: NumberVector;
  readonly rows: Uint32Array | undefined;
  readonly class: number;
}

export class SumState implements AggregateState {
  readonly keepsNothing = true;
  private classOfGroup = bytes(16);
  private sums = floats(16);
  private texts = bytes(16);
  private readonly carried = new Map<number, bigint>();
  private anyFloat = false;
  private anyText = false;
  /** No integer sum is further from zero. */
  private reach = 0;
  /** The integers are units of decimals: 64 bits are no limit. */
  private isDecimal = false;
  private readonly isSql: boolean;
  constructor(isSql = false) {
    this.isSql = isSql;
  }
  get bytes(): number {
    return this.sums.byteLength + this.classOfGroup.length + this.texts.length + this.carried.size * 64;
  }
  grow(groups: number): void {
    this.classOfGroup = widened(this.classOfGroup, groups, bytes);
    this.sums = widened(this.sums, groups, floats);
    this.texts = widened(this.texts, groups, bytes);
  }
  update(ids: Uint32Array, given: Vector): void {
    if (isNothing(given)) return;
    if (this.isLong(given)) return this.addUnits(ids, given);
    const argument = numbersIn(given);
    const sparse = sparseNumbers(argument);
    if (sparse && (classOf(sparse.part.type) === classes.float || !this.anyFloat)) return this.addSparse(ids, sparse);
    if (argument.form === 'number') return this.addPart(ids, argument, classOf(argument.type));
    const parts: NumberRows[] = [];
    eachPart(argument, (part, rows) => {
      if (part.form === 'number') parts.push({ part, rows, class: classOf(part.type) });
      else if (part.form === 'bytes' && part.type.name === 'string') this.seeTexts(pick(ids, rows), part.length);
      else if (part.form === 'bool' && this.isSql) parts.push({ part: onesOf(part), rows, class: classes.signed });
    });
    const float = this.anyFloat || parts.some((p) => p.class === classes.float);
    if (parts.length > 1 && float) return this.addInOrder(ids, parts);
    for (const p of parts) this.addPart(pick(ids, p.rows), p.part, p.class);
  }
  updateOne(group: number, given: Vector): void {
    if (isNothing(given)) return;
    if (this.isLong(given)) return this.addUnits(idsOfOne(group, given.length), given);
    const argument = numbersIn(given);
    const sparse = sparseNumbers(argument);
    const part = sparse?.part ?? argument;
    const { length } = argument;
    if (part.form === 'number' && part.values instanceof Float64Array) {
      const c = classOf(part.type);
      if (c === classes.float) return this.addFloatsOfOne(group, part.values, sparse, length);
      if (!sparse && !this.anyFloat && this.addIntegersOfOne(group, part.values, length, c)) return;
    }
    this.update(idsOfOne(group, length), argument);
  }
  /** Floats are added in the order of the rows, each by itself. */
  takesTotals(_group: number, { sum }: Totals): boolean {
    return !sum || (!this.anyFloat && sum.value === BigInt.asIntN(64, sum.value));
  }
  addTotals(group: number, { sum }: Totals): void {
    if (!sum) return;
    const { type, value } = sum;
    const wide = isInteger(type) ? types.int64 : type;
    this.updateOne(group, {
      form: 'number',
      type: isUnsigned(type) ? types.uint64 : wide,
      length: 1,
      values: isSafe(value) ? Float64Array.of(Number(value)) : BigInt64Array.of(value),
    });
  }
  private addFloatsOfOne(group: number, values: Float64Array, sparse: SparseNumbers | undefined, length: number): void {
    if (sparse && !sparse.tags.subarray(0, length).includes(sparse.tag)) return;
    this.anyFloat = true;
    if (this.classOfGroup[group] !== classes.float) this.toFloat(group);
    const range = sparse ? denseRange(sparse) : { start: 0, end: length };
    this.sums[group] = range
      ? sumAll(this.sums[group], values, range.start, range.end)
      : sumSome(this.sums[group], sparse!, length);
  }
  /** Nothing is done if the sum might leave the safe integers on the way. */
  private addIntegersOfOne(group: number, values: Float64Array, length: number, c: number): boolean {
    const { total, size } = sumAndSize(values, length);
    const reach = Math.abs(this.sums[group]) + size;
    if (reach > 9007199254740991) return false;
    if (length > 0) this.classOfGroup[group] = Math.max(this.classOfGroup[group], c);
    this.sums[group] += total;
    this.reach = Math.max(this.reach, reach);
    return true;
  }
  /**
   * Whether there are decimals beyond 64 bits. @throws query-aggregate for long ones of which the query does not know
   * how many places they have
   */
  private isLong(given: Vector): boolean {
    if (!this.isSql) return false;
    if (areUnits(given)) this.isDecimal = true;
    if (!mayHaveLongDecimals(given)) return false;
    if (this.isDecimal) return true;
    throw new LakeError('query-aggregate', {
      aggregate: 'sum',
      wanted: 'decimals of known places',
      value: 'one of more than 15 digits',
      type: 'decimal(38,2)',
    });
  }
  /** Whole decimals, of which some are beyond 64 bits. */
  private addUnits(ids: Uint32Array, given: Vector): void {
    for (let i = 0; i < ids.length; i++) {
      const units = exactOf(valueAt(given, i))?.units;
      if (units !== undefined) this.addInteger(ids[i], classes.signed, units);
    }
  }
  private seeTexts(ids: Uint32Array, length: number): void {
    this.anyText = true;
    for (let i = 0; i < length; i++) this.texts[ids[i]] = 1;
  }
  private addPart(ids: Uint32Array, v: NumberVector, c: number): void {
    if (c === classes.float) return this.addFloats(ids, floatsOf(v), v.length);
    if (this.anyFloat || !(v.values instanceof Float64Array)) {
      for (let i = 0; i < v.length; i++) this.addInteger(ids[i], c, v.values[i]);
      return;
    }
    this.addSafe(ids, v.values, v.length, c);
  }
  private addSafe(ids: Uint32Array, values: Float64Array, length: number, c: number): void {
    const { sums, classOfGroup } = this;
    const reach = this.reach + sizeOfAll(values, length);
    this.reach = reach;
    if (reach <= 9007199254740991) return addUnchecked(sums, classOfGroup, ids, values, length, c);
    for (let i = 0; i < length; i++) {
      const g = ids[i];
      const s = sums[g] + values[i];
      if (classOfGroup[g] < c) classOfGroup[g] = c;
      if (s >= -9007199254740991 && s <= 9007199254740991) sums[g] = s;
      else this.carry(g, BigInt(values[i]));
    }
  }
  private carry(g: number, x: bigint): void {
    this.carried.set(g, (this.carried.get(g) ?? 0n) + BigInt(this.sums[g]) + x);
    this.sums[g] = 0;
  }
  private addFloats(ids: Uint32Array, values: Float64Array, length: number): void {
    this.anyFloat = true;
    const { sums, classOfGroup } = this;
    for (let i = 0; i < length; i++) {
      const g = ids[i];
      if (classOfGroup[g] !== classes.float) this.toFloat(g);
      sums[g] += values[i];
    }
  }
  private addSparse(ids: Uint32Array, { part, values, tag, tags, slots }: SparseNumbers): void {
    const { sums, classOfGroup } = this;
    const c = classOf(part.type);
    if (c === classes.float) {
      this.anyFloat = true;
      for (let i = 0; i < ids.length; i++) {
        if (tags[i] !== tag) continue;
        const g = ids[i];
        if (classOfGroup[g] !== classes.float) this.toFloat(g);
        sums[g] += values[slots[i]];
      }
      return;
    }
    let { reach } = this;
    for (let i = 0; i < ids.length; i++) {
      if (tags[i] !== tag) continue;
      const g = ids[i];
      const x = values[slots[i]];
      const s = sums[g] + x;
      if (classOfGroup[g] < c) classOfGroup[g] = c;
      reach += Math.abs(x);
      if (s >= -9007199254740991 && s <= 9007199254740991) sums[g] = s;
      else this.carry(g, BigInt(x));
    }
    this.reach = reach;
  }
  /** What a group has summed so far goes on as a float. */
  private toFloat(g: number): void {
    this.sums[g] = Number(this.total(g));
    this.carried.delete(g);
    this.classOfGroup[g] = classes.float;
  }
  private total(g: number): bigint {
    const sum = this.exact(g);
    return this.isSql ? sum : wrapped(sum, this.classOfGroup[g]);
  }
  private exact(g: number): bigint {
    return (this.carried.get(g) ?? 0n) + BigInt(this.sums[g]);
  }
  /** @throws query-overflow for a sum of SQL that has no place in 64 bits */
  private refuseLarge(groups: number): void {
    for (const g of this.carried.keys()) {
      const c = this.classOfGroup[g];
      const sum = this.exact(g);
      if (g < groups && c !== classes.float && wrapped(sum, c) !== sum)
        throw new LakeError('query-overflow', {
          operation: `sum(..) = ${sum}`,
          type: c === classes.unsigned ? 'uint64' : 'int64',
        });
    }
  }
  private addInteger(g: number, c: number, x: number | bigint): void {
    if (this.classOfGroup[g] === classes.float) {
      this.sums[g] += Number(x);
      return;
    }
    if (this.classOfGroup[g] < c) this.classOfGroup[g] = c;
    if (typeof x === 'bigint') return this.carry(g, x);
    const s = this.sums[g] + x;
    this.reach += Math.abs(x);
    if (s >= -9007199254740991 && s <= 9007199254740991) this.sums[g] = s;
    else this.carry(g, BigInt(x));
  }
  /** Row by row over several classes, since the order of float additions counts. */
  private addInOrder(ids: Uint32Array, parts: readonly NumberRows[]): void {
    this.anyFloat = true;
    const at = parts.map(() => 0);
    const partOfRow = new Uint8Array(ids.length);
    parts.forEach((p, k) => {
      for (let i = 0; i < p.part.length; i++) partOfRow[p.rows ? p.rows[i] : i] = k + 1;
    });
    for (let row = 0; row < ids.length; row++) {
      const k = partOfRow[row] - 1;
      if (k < 0) continue;
      const { part, class: c } = parts[k];
      const x = part.values[at[k]++];
      const g = ids[row];
      if (c !== classes.float) this.addInteger(g, c, x);
      else {
        if (this.classOfGroup[g] !== classes.float) this.toFloat(g);
        this.sums[g] += Number(x);
      }
    }
  }
  merge(other: AggregateState, map: Uint32Array, groups: number): void {
    const from = other as SumState;
    this.anyText ||= from.anyText;
    this.isDecimal ||= from.isDecimal;
    for (let g = 0; g < groups; g++) {
      const to = map[g];
      if (to === none) continue;
      this.texts[to] |= from.texts[g];
      const c = from.classOfGroup[g];
      if (c === classes.none) continue;
      if (c !== classes.float)
        this.addInteger(to, c, c === classes.unsigned || from.carried.has(g) ? from.total(g) : from.sums[g]);
      else {
        this.anyFloat = true;
        if (this.classOfGroup[to] !== classes.float) this.toFloat(to);
        this.sums[to] += from.sums[g];
      }
    }
  }
  /** @throws query-overflow for a sum of more digits than decimals have */
  private decimals(groups: number): Vector {
    const out = new Builder();
    for (let g = 0; g < groups; g++) {
      const units = this.exact(g);
      const data = decimalData({ units, scale: 0 });
      if (this.classOfGroup[g] === classes.none) out.null();
      else if (data !== undefined) out.append(decimalValue(data));
      else
        throw new LakeError('query-overflow', {
          operation: `sum(..) = ${units}`,
          type: `decimal(${decimalDigitsMax},0)`,
        });
    }
    return out.finish();
  }
  absorb(ids: Uint32Array, states: Vector): void {
    // Nothing else comes to more than 64 bits.
    if (mayHaveLongDecimals(states)) this.isDecimal = true;
    this.update(ids, states);
  }
  result(groups: number): Vector {
    const { classOfGroup, texts } = this;
    if (!this.anyText && this.carried.size === 0) {
      const plain = plainNumbers(groups, classOfGroup, this.sums);
      if (plain) return plain;
    }
    const extra = (g: number): bigint | undefined =>
      this.carried.has(g) || (classOfGroup[g] === classes.unsigned && this.sums[g] < 0) ? this.total(g) : undefined;
    if (this.isDecimal && this.carried.size > 0) return this.decimals(groups);
    if (this.isSql) this.refuseLarge(groups);
    return numbersOfGroups(
      groups,
      classOfGroup,
      this.sums,
      extra,
      (g) => texts[g] === 1 && classOfGroup[g] !== classes.none,
    );
  }
}

/** Bools as the numbers 0 and 1. */
const onesOf = (v: BoolVector): NumberVector => ({
  form: 'number',
  type: types.int64,
  length: v.length,
  values: Float64Array.from(v.values.subarray(0, v.length)),
});

const isSafe = (x: bigint): boolean => x <= 9007199254740991n && x >= -9007199254740991n;
const sizeOfAll = (values: Float64Array, length: number): number => {
  let size = 0;
  for (let i = 0; i < length; i++) size += Math.abs(values[i]);
  return size;
};
/** Of integers; the total is exact where the size is a safe one. */
const sumAndSize = (values: Float64Array, length: number): { readonly total: number; readonly size: number } => {
  let total = 0;
  let size = 0;
  for (let i = 0; i < length; i++) {
    const x = values[i];
    total += x;
    size += Math.abs(x);
  }
  return { total, size };
};
const addUnchecked = (
  sums: Float64Array,
  classOfGroup: Uint8Array,
  ids: Uint32Array,
  values: Float64Array,
  length: number,
  c: number,
): void => {
  for (let i = 0; i < length; i++) {
    const g = ids[i];
    if (classOfGroup[g] < c) classOfGroup[g] = c;
    sums[g] += values[i];
  }
};
const sumAll = (first: number, values: Float64Array, start: number, end: number): number => {
  let total = first;
  for (let i = start; i < end; i++) total += values[i];
  return total;
};
const sumSome = (start: number, { values, tag, tags, slots }: SparseNumbers, length: number): number => {
  let total = start;
  for (let i = 0; i < length; i++) if (tags[i] === tag) total += values[slots[i]];
  return total;
};
