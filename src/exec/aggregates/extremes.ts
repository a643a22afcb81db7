/**
 * min and max: of numbers, durations and times (one class, widened), or of strings by bytes; both in one group is an
 * error. A NaN stays.
 */
import { types } from '../../vectors/type.ts';
import { stringValue } from '../../vectors/value.ts';
import { supText } from '../../vectors/sup/print.ts';
import { LakeError } from '../../errors.ts';
import { compareNumbers } from '../../vectors/compare.ts';
import { type Vector, type BytesVector, type NumberVector, take } from '../../vectors/vector.ts';
import { concat } from '../../vectors/concat.ts';
import { Builder } from '../../vectors/builder.ts';
import { BestTexts } from './best-texts.ts';
import { type AggregateState, bytes, floats, widened } from './grouping/state.ts';
import { classOf, classes, mixture, numbersOfGroups } from './numbers/numeric.ts';
import { eachPart, idsOfOne, isNothing, numbersIn, pick } from './grouping/parts.ts';
import { type SparseNumbers, denseRange, sparseNumbers } from '../expressions/sparse.ts';
import { extremeWide } from '../expressions/wide.ts';
import { none } from './grouping/pair-table.ts';

export class ExtremeState implements AggregateState {
  readonly keepsNothing = true;
  private classOfGroup = bytes(16);
  private best: Float64Array<ArrayBuffer>;
  /** Integers that are no safe numbers, in place of `best`. */
  private readonly bigs = new Map<number, bigint>();
  private readonly texts: BestTexts;
  private readonly sign: 1 | -1;
  private readonly start: number;
  /** In SQL texts beside numbers end the query. */
  private readonly isSql: boolean;
  constructor(which: 'min' | 'max', isSql = false) {
    this.isSql = isSql;
    this.sign = which === 'min' ? 1 : -1;
    this.texts = new BestTexts(this.sign);
    this.start = which === 'min' ? Infinity : -Infinity;
    this.best = new Float64Array(16).fill(this.start);
  }
  get bytes(): number {
    return this.best.byteLength + this.bigs.size * 64 + this.texts.bytes;
  }
  grow(groups: number): void {
    this.classOfGroup = widened(this.classOfGroup, groups, bytes);
    this.best = widened(this.best, groups, (n) => floats(n).fill(this.start));
  }
  updateOne(group: number, given: Vector): void {
    if (isNothing(given)) return;
    const argument = numbersIn(given);
    const sparse = this.bigs.size === 0 ? sparseNumbers(argument) : undefined;
    if (sparse) return this.addSparseOne(group, sparse, argument.length);
    if (argument.form === 'bytes' && argument.type === types.string && argument.length > 0)
      return this.addText(group, argument, extremeRow(argument, this.sign));
    if (argument.form !== 'number' || (this.bigs.size > 0 && argument.values instanceof Float64Array))
      return this.update(idsOfOne(group, argument.length), argument);
    if (argument.length === 0) return;
    this.classOfGroup[group] = Math.max(this.classOfGroup[group], classOf(argument.type));
    if (!(argument.values instanceof Float64Array))
      return this.addOne(group, argument.values[extremeWide(argument.values, argument.length, this.sign)]);
    this.best[group] = this.extreme(this.best[group], argument.values, 0, argument.length);
  }
  update(ids: Uint32Array, given: Vector): void {
    if (isNothing(given)) return;
    const argument = numbersIn(given);
    const sparse = this.bigs.size === 0 ? sparseNumbers(argument) : undefined;
    if (sparse) return this.addSparse(ids, sparse);
    eachPart(argument, (part, rows) => {
      if (part.form === 'number') this.addNumbers(pick(ids, rows), part);
      else if (part.form === 'bytes' && part.type === types.string) this.addTexts(pick(ids, rows), part);
    });
  }
  private addNumbers(ids: Uint32Array, v: NumberVector): void {
    const c = classOf(v.type);
    const { classOfGroup } = this;
    for (let i = 0; i < v.length; i++) if (classOfGroup[ids[i]] < c) classOfGroup[ids[i]] = c;
    if (this.bigs.size > 0 || !(v.values instanceof Float64Array)) {
      for (let i = 0; i < v.length; i++) this.addOne(ids[i], v.values[i]);
    } else if (this.sign > 0) addLeast(this.best, ids, v.values, v.length);
    else addGreatest(this.best, ids, v.values, v.length);
  }
  private addSparse(ids: Uint32Array, { part, values, tag, tags, slots }: SparseNumbers): void {
    const c = classOf(part.type);
    const { classOfGroup, best } = this;
    const isMin = this.sign > 0;
    for (let i = 0; i < ids.length; i++) {
      if (tags[i] !== tag) continue;
      const g = ids[i];
      const x = values[slots[i]];
      if (classOfGroup[g] < c) classOfGroup[g] = c;
      if ((isMin ? x < best[g] : x > best[g]) || x !== x) best[g] = x;
    }
  }
  private addSparseOne(group: number, sparse: SparseNumbers, length: number): void {
    if (!sparse.tags.subarray(0, length).includes(sparse.tag)) return;
    this.classOfGroup[group] = Math.max(this.classOfGroup[group], classOf(sparse.part.type));
    const range = denseRange(sparse);
    const best = this.best[group];
    this.best[group] = range
      ? this.extreme(best, sparse.values, range.start, range.end)
      : extremeOfSome(best, sparse, length, this.sign > 0);
  }
  private extreme(first: number, values: Float64Array, start: number, end: number): number {
    return this.sign > 0 ? leastOf(first, values, start, end) : greatestOf(first, values, start, end);
  }
  private addOne(g: number, x: number | bigint): void {
    const known = this.bigs.get(g) ?? this.best[g];
    if (known !== known || (x === x && compareNumbers(known, x) * this.sign <= 0)) return;
    if (typeof x === 'bigint' && (x > 9007199254740991n || x < -9007199254740991n)) this.bigs.set(g, x);
    else {
      this.best[g] = Number(x);
      this.bigs.delete(g);
    }
  }
  private addTexts(ids: Uint32Array, v: BytesVector): void {
    for (let i = 0; i < v.length; i++) this.addText(ids[i], v, i);
  }
  private addText(g: number, v: BytesVector, row: number): void {
    this.texts.add(g, v.bytes, v.offsets[row], v.offsets[row + 1]);
  }
  merge(other: AggregateState, map: Uint32Array, groups: number): void {
    const from = other as ExtremeState;
    for (let g = 0; g < groups; g++) {
      const to = map[g];
      const text = from.texts.get(g);
      if (to === none) continue;
      if (from.classOfGroup[g] !== classes.none) {
        if (this.classOfGroup[to] < from.classOfGroup[g]) this.classOfGroup[to] = from.classOfGroup[g];
        this.addOne(to, from.bigs.get(g) ?? from.best[g]);
      }
      if (text) this.texts.add(to, text, 0, text.length);
    }
  }
  absorb(ids: Uint32Array, states: Vector): void {
    this.update(ids, states);
  }
  result(groups: number): Vector {
    if (this.texts.count === 0) return this.numbers(groups);
    return this.areTexts(groups) ? this.texts.vector(groups) : this.mixedResult(groups);
  }
  /** Whether each group has texts alone. */
  private areTexts(groups: number): boolean {
    for (let g = 0; g < groups; g++) if (!this.texts.has(g) || this.classOfGroup[g] !== classes.none) return false;
    return true;
  }
  private numbers(groups: number): Vector {
    const { classOfGroup } = this;
    const values = this.best.slice(0, groups);
    for (const [g, x] of this.bigs) if (g < groups && classOfGroup[g] === classes.float) values[g] = Number(x);
    return numbersOfGroups(
      groups,
      classOfGroup,
      values,
      (g) => (classOfGroup[g] === classes.float ? undefined : this.bigs.get(g)),
      () => false,
    );
  }
  private mixedResult(groups: number): Vector {
    const numbers = this.numbers(groups);
    const texts = new Builder();
    const tags = new Uint32Array(groups);
    const slots = new Uint32Array(groups);
    for (let g = 0; g < groups; g++) {
      const text = this.texts.get(g);
      slots[g] = g;
      if (!text) continue;
      tags[g] = 1;
      slots[g] = texts.length;
      if (this.classOfGroup[g] === classes.none) texts.run(types.string, text, 0, text.length);
      else if (this.isSql) throw mixtureIn(this.sign > 0 ? 'min' : 'max', text);
      else texts.append(mixture);
    }
    return scatterTwo(tags, slots, numbers, texts.finish());
  }
}

const mixtureIn = (aggregate: string, text: Uint8Array): LakeError =>
  new LakeError('query-aggregate', {
    aggregate,
    wanted: 'numbers or texts alone',
    value: supText(stringValue(new TextDecoder().decode(text.subarray(0, 100)))),
    type: 'varchar',
  });

const leastOf = (first: number, values: Float64Array, start: number, end: number): number => {
  let best = first;
  for (let i = start; i < end; i++) {
    const x = values[i];
    if (x < best || x !== x) best = x;
  }
  return best;
};
const greatestOf = (first: number, values: Float64Array, start: number, end: number): number => {
  let best = first;
  for (let i = start; i < end; i++) {
    const x = values[i];
    if (x > best || x !== x) best = x;
  }
  return best;
};
const extremeOfSome = (
  start: number,
  { values, tag, tags, slots }: SparseNumbers,
  length: number,
  isMin: boolean,
): number => {
  let best = start;
  for (let i = 0; i < length; i++) {
    if (tags[i] !== tag) continue;
    const x = values[slots[i]];
    if ((isMin ? x < best : x > best) || x !== x) best = x;
  }
  return best;
};
const addLeast = (best: Float64Array, ids: Uint32Array, values: Float64Array, length: number): void => {
  for (let i = 0; i < length; i++) {
    const g = ids[i];
    const x = values[i];
    if (x < best[g] || x !== x) best[g] = x;
  }
};
const addGreatest = (best: Float64Array, ids: Uint32Array, values: Float64Array, length: number): void => {
  for (let i = 0; i < length; i++) {
    const g = ids[i];
    const x = values[i];
    if (x > best[g] || x !== x) best[g] = x;
  }
};
/** The first row with the least (sign 1) or the greatest text. */
const extremeRow = ({ bytes, offsets, length }: BytesVector, sign: 1 | -1): number => {
  let best = 0;
  let from = offsets[0];
  let to = offsets[1];
  for (let i = 1; i < length; i++) {
    const start = offsets[i];
    const end = offsets[i + 1];
    const size = Math.min(to - from, end - start);
    let k = 0;
    while (k < size && bytes[from + k] === bytes[start + k]) k++;
    const order = k < size ? bytes[from + k] - bytes[start + k] : to - from - (end - start);
    if (order * sign <= 0) continue;
    best = i;
    from = start;
    to = end;
  }
  return best;
};
/** Rows of two vectors, either of which may be mixed. */
const scatterTwo = (tags: Uint32Array, slots: Uint32Array, first: Vector, second: Vector): Vector => {
  const index = Uint32Array.from(slots, (s, i) => (tags[i] === 0 ? s : first.length + s));
  return take(concat([first, second]), index);
};
