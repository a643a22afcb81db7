/**
 * Which numbers come in which groups, where very many pairs do: rows are noted as they come, and many of them are put
 * in order of their partitions, by a hash of group and number, before they are looked up. Each partition has a table of
 * its own, which the processor's caches hold while its rows are looked up. One table of 4,000,000 pairs is far larger
 * than they are: each row waited for memory, and count(distinct) of 30,000,000 rows took three times as long.
 *
 * Where memory ends the tables stay as they are. Rows go to a file then, in order of their partitions; when all have
 * come each partition is read, counted and forgotten, one after the other.
 *
 * Invariants:
 * - Each pair is counted once, when a table takes it.
 * - A row is three words: its group below the kind of the number, and the number: an integer as its 64 bits, whatever
 *   its type, other floats by theirs. Plus one, the first word is not 0, which an empty slot has.
 */
import { checkStop, charge } from '../../../vectors/stop.ts';
import { type PrimitiveType, isFloat, types } from '../../../vectors/type.ts';
import { type NumberArray, type NumberVector, type Vector, numbers } from '../../../vectors/vector.ts';
import { Uint32List } from '../../../vectors/lists.ts';
import type { SpillBytes } from '../../spill-bytes.ts';
import { isOnlyNumber } from './code-parts.ts';
import { wordsOf } from './number-table.ts';
import { mix } from './pair-table.ts';
import type { GroupValues } from './state.ts';

const what = 'count distinct';
const rowWords = 3;
const rowBytes = rowWords * Uint32Array.BYTES_PER_ELEMENT;
const slotsMin = 8;
/** The upper bits of a hash tell the partition, the lower ones the slot. */
const partsCount = 256;
const partShift = 24;
/** Rows that are put in order together: as many as there are pairs, within these bounds. */
const notedMin = 1 << 12;
const notedMax = 1 << 20;

/** Kinds of numbers: integers with a sign, those from 2^63 on, and what is no such integer. */
const kindShift = 30;
const integerKind = 0;
const hugeKind = 1;
const floatKind = 2;
const floatAbove = floatKind * (1 << kindShift);
const groupMask = (1 << kindShift) - 1;

const hashOf = (group: number, low: number, high: number): number =>
  mix(Math.imul(low ^ Math.imul(group, 0x85ebca6b), 0x9e3779b1) ^ high);

/** The pairs of one partition. */
class PairSet {
  private slots = new Uint32Array(slotsMin * rowWords);
  private mask = slotsMin - 1;
  private size = 0;
  get bytes(): number {
    return this.slots.byteLength;
  }
  get length(): number {
    return this.size;
  }
  /** Takes rows from `from` up to `end`; the first words of new ones go to `fresh`, from `count` on. How many it has then. */
  add(rows: Uint32Array, from: number, end: number, fresh: Uint32Array, count: number): number {
    let { slots, mask } = this;
    let n = count;
    for (let at = from * rowWords; at < end * rowWords; at += rowWords) {
      const a = rows[at];
      const b = rows[at + 1];
      const c = rows[at + 2];
      let slot = (hashOf(a, b, c) & mask) * rowWords;
      while (slots[slot] !== 0 && (slots[slot] !== a || slots[slot + 1] !== b || slots[slot + 2] !== c))
        slot = slot === mask * rowWords ? 0 : slot + rowWords;
      if (slots[slot] !== 0) continue;
      slots[slot] = a;
      slots[slot + 1] = b;
      slots[slot + 2] = c;
      fresh[n++] = a;
      if (++this.size * 3 > (mask + 1) * 2) {
        this.grow();
        ({ slots, mask } = this);
      }
    }
    return n;
  }
  private grow(): void {
    const before = this.slots;
    charge(before.byteLength * 2, what);
    const slots = new Uint32Array(before.length * 2);
    const mask = this.mask * 2 + 1;
    for (let at = 0; at < before.length; at += rowWords) {
      if (before[at] === 0) continue;
      let slot = (hashOf(before[at], before[at + 1], before[at + 2]) & mask) * rowWords;
      while (slots[slot] !== 0) slot = slot === mask * rowWords ? 0 : slot + rowWords;
      slots[slot] = before[at];
      slots[slot + 1] = before[at + 1];
      slots[slot + 2] = before[at + 2];
    }
    this.slots = slots;
    this.mask = mask;
  }
  /** Copies its rows to `rows` from row `at` on. */
  copy(rows: Uint32Array, at: number): void {
    const { slots } = this;
    let out = at * rowWords;
    for (let slot = 0; slot < slots.length; slot += rowWords) {
      if (slots[slot] === 0) continue;
      rows[out++] = slots[slot];
      rows[out++] = slots[slot + 1];
      rows[out++] = slots[slot + 2];
    }
  }
}

/** Rows that were written together: those of partition p end before `ends[p]`. */
interface Frame {
  readonly at: number;
  readonly ends: Uint32Array;
}

export class DistinctNumbers {
  private readonly type: PrimitiveType;
  private readonly byValue: boolean;
  private readonly met: (groups: Uint32Array) => void;
  private sets: PairSet[] = Array.from({ length: partsCount }, () => new PairSet());
  private noted = 0;
  private rows = new Uint32Array(notedMin * rowWords);
  private inOrder = new Uint32Array(notedMin * rowWords);
  private partOf = new Uint8Array(notedMin);
  private fresh = new Uint32Array(notedMin);
  private file: SpillBytes | undefined;
  private fileBytes = 0;
  private readonly frames: Frame[] = [];
  /** `sql`: numbers of all types may come, and equal ones are one; `met` gets the groups of pairs that are new. */
  constructor(type: PrimitiveType, sql: boolean, met: (groups: Uint32Array) => void) {
    this.type = type;
    this.byValue = sql && isOnlyNumber(type);
    this.met = met;
    charge(this.bytes, what);
  }
  /** Of which type numbers are, if the values are numbers that are told apart as one kind. */
  static typeOf(values: Vector, sql: boolean): PrimitiveType | undefined {
    if (values.form === 'number') return values.type;
    const [first, ...others] = values.form === 'dynamic' ? values.parts : [];
    return sql && first && [first, ...others].every(isNumbers) ? types.float64 : undefined;
  }
  takes(v: Vector): v is NumberVector {
    return this.byValue ? isNumbers(v) : v.form === 'number' && v.type === this.type;
  }
  get bytes(): number {
    const { rows, inOrder, partOf, fresh } = this;
    const own = rows.byteLength + inOrder.byteLength + partOf.byteLength + fresh.byteLength;
    return this.sets.reduce((n, s) => n + s.bytes, own);
  }
  /** Pairs in the tables. */
  private get size(): number {
    return this.sets.reduce((n, s) => n + s.length, 0);
  }

  /** Takes the numbers of groups, or of one group alone. */
  add(groups: Uint32Array | number, v: NumberVector): void {
    for (let from = 0; from < v.length; ) {
      const end = Math.min(v.length, from + this.partOf.length - this.noted);
      this.note(groups, v, from, end);
      from = end;
      if (this.noted === this.partOf.length) this.settle();
    }
  }
  private note(groups: Uint32Array | number, v: NumberVector, from: number, end: number): void {
    const { rows, partOf, noted } = this;
    const start = noted * rowWords;
    if (typeof groups === 'number') for (let i = from, at = start; i < end; i++, at += rowWords) rows[at] = groups + 1;
    else for (let i = from, at = start; i < end; i++, at += rowWords) rows[at] = groups[i] + 1;
    const { values } = v;
    if (!(values instanceof Float64Array)) placeWide(rows, start, values, from, end);
    else if (isFloat(v.type)) placeFloats(rows, start, values, from, end, this.byValue);
    else placeWhole(rows, start, values, from, end);
    const count = end - from;
    for (let i = 0, at = start; i < count; i++, at += rowWords)
      partOf[noted + i] = hashOf(rows[at], rows[at + 1], rows[at + 2]) >>> partShift;
    this.noted += count;
  }

  /** Looks the noted rows up: new pairs are counted, or written. */
  settle(): void {
    if (this.noted === 0) return;
    checkStop();
    const ends = this.order();
    this.noted = 0;
    if (this.file) this.write(this.file, ends);
    else {
      let n = 0;
      for (let p = 0, from = 0; p < partsCount; from = ends[p++])
        n = this.sets[p].add(this.inOrder, from, ends[p], this.fresh, n);
      this.tell(this.fresh, n);
      this.widen();
    }
  }
  /**
   * Writes the rows that are in order, known ones too: to look each of them up costs more than to write and read it,
   * 1.2 times the processor time for 30,000,000.
   */
  private write(file: SpillBytes, ends: Uint32Array): void {
    const n = ends[partsCount - 1];
    file.append(new Uint8Array(this.inOrder.buffer, 0, n * rowBytes));
    this.frames.push({ at: this.fileBytes, ends });
    this.fileBytes += n * rowBytes;
  }
  private tell(fresh: Uint32Array, count: number): void {
    for (let i = 0; i < count; i++) fresh[i] = (fresh[i] - 1) & groupMask;
    if (count > 0) this.met(fresh.subarray(0, count));
  }
  /** Puts the noted rows in order of their partitions; where each of these ends. */
  private order(): Uint32Array {
    const { rows, inOrder, partOf, noted } = this;
    const next = new Uint32Array(partsCount);
    for (let i = 0; i < noted; i++) next[partOf[i]]++;
    for (let p = 0, sum = 0; p < partsCount; p++) {
      const count = next[p];
      next[p] = sum;
      sum += count;
    }
    for (let i = 0, at = 0; i < noted; i++, at += rowWords) {
      const to = next[partOf[i]]++ * rowWords;
      inOrder[to] = rows[at];
      inOrder[to + 1] = rows[at + 1];
      inOrder[to + 2] = rows[at + 2];
    }
    return next;
  }
  private widen(): void {
    const wanted = Math.min(notedMax, this.size);
    if (wanted < this.partOf.length * 2) return;
    const length = this.partOf.length * 2;
    charge(length * (2 * rowBytes + 5), what);
    this.rows = new Uint32Array(length * rowWords);
    this.inOrder = new Uint32Array(length * rowWords);
    this.partOf = new Uint8Array(length);
    this.fresh = new Uint32Array(length);
  }

  /** From here on rows are written to a file: there is no room for more pairs. */
  leaveOthers(open: () => SpillBytes): void {
    if (this.file) return;
    this.settle();
    this.file = open();
  }
  /** Counts what was written, a partition at a time; nothing is known afterwards. */
  *end(): Generator<void> {
    this.settle();
    const { file, sets } = this;
    if (!file) return;
    this.rows = this.inOrder = new Uint32Array(0);
    for (let p = 0; p < partsCount; p++) {
      for (const { at, ends } of this.frames) {
        const from = p === 0 ? 0 : ends[p - 1];
        const count = ends[p] - from;
        if (count === 0) continue;
        const bytes = file.read(at + from * rowBytes, count * rowBytes);
        const rows = new Uint32Array(bytes.buffer, bytes.byteOffset, count * rowWords);
        if (this.fresh.length < count) this.fresh = new Uint32Array(count);
        this.tell(this.fresh, sets[p].add(rows, 0, count, this.fresh, 0));
      }
      sets[p] = new PairSet();
      yield;
    }
    this.close();
  }
  close(): void {
    this.file?.close();
    this.file = undefined;
  }

  /** All pairs, as long as none is in a file: numbers of each kind with their groups. */
  all(): GroupValues[] {
    this.settle();
    const rows = new Uint32Array(this.size * rowWords);
    charge(rows.byteLength * 2, what);
    let n = 0;
    for (const set of this.sets) {
      set.copy(rows, n);
      n += set.length;
    }
    return [integerKind, hugeKind, floatKind].flatMap((kind) => this.ofKind(rows, kind));
  }
  private ofKind(rows: Uint32Array, kind: number): GroupValues[] {
    const ids = new Uint32List();
    const words = new Uint32List();
    for (let at = 0; at < rows.length; at += rowWords) {
      if ((rows[at] - 1) >>> kindShift !== kind) continue;
      ids.push((rows[at] - 1) & groupMask);
      words.push(rows[at + 1]);
      words.push(rows[at + 2]);
    }
    if (ids.length === 0) return [];
    const { buffer } = words.array.slice(0, words.length);
    return [{ ids: ids.done(), values: numbers(this.typeOf(kind), ofBits(buffer, kind)) }];
  }
  private typeOf(kind: number): PrimitiveType {
    if (!this.byValue) return this.type;
    if (kind === floatKind) return types.float64;
    return kind === hugeKind ? types.uint64 : types.int64;
  }
}

const isNumbers = (v: Vector): v is NumberVector => v.form === 'number' && isOnlyNumber(v.type);

const ofBits = (bits: ArrayBuffer, kind: number): NumberArray => {
  if (kind === floatKind) return new Float64Array(bits);
  return kind === hugeKind ? new BigUint64Array(bits) : new BigInt64Array(bits);
};

/** Puts the words of numbers `from` up to `end` behind their groups, the first of which is at `start`. */
const placeWide = (
  rows: Uint32Array,
  start: number,
  values: BigInt64Array | BigUint64Array,
  from: number,
  end: number,
): void => {
  const words = wordsOf(values);
  for (let i = from, at = start; i < end; i++, at += rowWords) {
    rows[at + 1] = words[2 * i];
    rows[at + 2] = words[2 * i + 1];
  }
  if (values instanceof BigInt64Array) return;
  for (let i = from, at = start; i < end; i++, at += rowWords)
    if (words[2 * i + 1] > 0x7fffffff) rows[at] += hugeKind << kindShift;
};
/** The same for integers as floats have them. */
const placeWhole = (rows: Uint32Array, start: number, values: Float64Array, from: number, end: number): void => {
  for (let i = from, at = start; i < end; i++, at += rowWords) {
    const x = values[i];
    rows[at + 1] = x;
    rows[at + 2] = Math.floor(x / 4294967296);
  }
};
/** The same for floats; `byValue`: those that are integers of 64 bits as such. NaN is one number. */
const placeFloats = (
  rows: Uint32Array,
  start: number,
  values: Float64Array,
  from: number,
  end: number,
  byValue: boolean,
): void => {
  const words = wordsOf(values);
  for (let i = from, at = start; i < end; i++, at += rowWords) {
    const x = values[i];
    if (byValue && Number.isInteger(x) && x >= -(2 ** 63) && x < 2 ** 64) {
      rows[at + 1] = x;
      rows[at + 2] = Math.floor(x / 4294967296);
      if (x >= 2 ** 63) rows[at] += hugeKind << kindShift;
    } else {
      rows[at] = rows[at] + floatAbove;
      rows[at + 1] = x === x ? words[2 * i] : 0;
      rows[at + 2] = x === x ? words[2 * i + 1] : 0x7ff80000;
    }
  }
};
