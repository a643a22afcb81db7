/**
 * The distinct values of one column of bytes (text, mostly) over a whole object: blocks store codes, the values are
 * stored once.
 *
 * Invariants:
 * - Codes are given in order of first appearance and never change.
 * - A dictionary that turns out not to pay is retired: later blocks store their bytes themselves, earlier ones keep
 *   their codes.
 */
import assert from 'node:assert';
import { Uint32List, Uint8List } from '../../vectors/lists.ts';
import type { PrimitiveType } from '../../vectors/type.ts';
import type { BytesVector } from '../../vectors/vector.ts';
import { sameRuns, viewOf } from './words.ts';

/** Codes fit two bytes. */
const dictionaryEntriesMax = 65_536;
const dictionaryBytesMax = 4 << 20;
/** Share of distinct values among rows above which a dictionary does not pay. */
const distinctShareMax = 0.6;
/**
 * Columns that will have more values than this in all, by what a trial tells, get no dictionary unless it pays from the
 * start.
 */
const foreseenMax = dictionaryEntriesMax / 2;
const patienceAtFirst = 16_384;

/** A dictionary that grows with the blocks of its column; `retired` once it does not pay. */
export class ColumnDictionary {
  readonly type: PrimitiveType;
  readonly offsets = new Uint32List();
  readonly bytes = new Uint8List();
  private view = viewOf(this.bytes.array);
  /** Codes plus one by hash, 0 for free. */
  private slots = new Uint32Array(256);
  retired = false;
  /** Rows of all blocks so far. */
  rows = 0;
  /** Rows of which most may be new, because the dictionary may pay later. */
  private patience = patienceAtFirst;
  /** Codes of a block that is tried out alone: of each column in it that has this dictionary. */
  private tried: Uint32Array[] = [];
  /** The same, once that block is to come again. */
  private coming: Uint32Array[] = [];
  /** Its place among the object's dictionaries. */
  readonly number: number;
  constructor(type: PrimitiveType, number: number) {
    this.type = type;
    this.number = number;
    this.offsets.push(0);
  }

  /** One that has the values of another, with their codes; undefined if it cannot: a value is there twice. */
  static of(type: PrimitiveType, number: number, values: BytesVector): ColumnDictionary | undefined {
    const own = new ColumnDictionary(type, number);
    own.codesOf(values);
    own.rows = 0;
    return own.retired || own.length !== values.length ? undefined : own;
  }

  get length(): number {
    return this.offsets.length - 1;
  }

  /**
   * Codes of the values; undefined when the dictionary is retired, from before or by them. `rows`: how many rows they
   * stand for.
   */
  codesOf(v: BytesVector, rows = v.length): Uint32Array | undefined {
    if (this.retired) return undefined;
    const known = this.coming.shift();
    if (known) {
      assert(known.length === v.length);
      this.rows += rows;
      return known;
    }
    const codes = new Uint32Array(v.length);
    const before = this.length;
    if (!this.code(v.bytes, v.offsets, codes)) return this.retireAt(before);
    if (this.rows >= this.patience && this.length - before > rows * distinctShareMax) return this.retireAt(before);
    this.rows += rows;
    return codes;
  }

  /** The trial is over one block: if the dictionary pays, its codes are these when it comes again. */
  keepTried(codes: Uint32Array): void {
    this.tried.push(codes);
  }

  /**
   * Begins again after a trial over the first blocks, retired if coding them did not pay and will not. With the values
   * of the trial if these were of one block, whose codes were kept.
   */
  restart(): void {
    const foreseen = distinctInAll(this.length, this.rows);
    const pays = !this.retired && (this.length <= this.rows * distinctShareMax || foreseen <= foreseenMax);
    if (pays) this.coming = this.tried;
    this.tried = [];
    this.rows = 0;
    if (this.coming.length === 0) this.retireAt(0);
    if (!pays) return;
    if (foreseen < Infinity) this.patience = foreseen * 2;
    if (!this.retired) return;
    this.retired = false;
    this.slots = new Uint32Array(256);
  }

  values(): BytesVector {
    return {
      form: 'bytes',
      type: this.type,
      length: this.length,
      offsets: this.offsets.done(),
      bytes: this.bytes.done(),
    };
  }

  private retireAt(length: number): undefined {
    this.retired = true;
    this.offsets.length = length + 1;
    this.bytes.length = this.offsets.array[length];
    this.slots = new Uint32Array(0);
    return undefined;
  }

  /** False when there are too many values. */
  private code(bytes: Uint8Array, offsets: Uint32Array, codes: Uint32Array): boolean {
    const view = viewOf(bytes);
    const { length } = codes;
    for (let i = 0; i < length; ) {
      i = this.known(offsets, view, codes, i);
      if (i === length) break;
      codes[i++] = this.add(bytes, view, offsets[i - 1], offsets[i]);
      if (this.length > dictionaryEntriesMax || this.bytes.length > dictionaryBytesMax) return false;
    }
    return true;
  }
  /** Codes of the rows from `row` on, up to the first value that is new; its row. */
  private known(offsets: Uint32Array, view: DataView, codes: Uint32Array, row: number): number {
    const { slots, view: own } = this;
    const mask = slots.length - 1;
    const { array: places } = this.offsets;
    const { length } = codes;
    for (let i = row; i < length; i++) {
      const start = offsets[i];
      const end = offsets[i + 1];
      let slot = hash(view, start, end) & mask;
      let found = slots[slot];
      while (found !== 0 && !sameRuns(own, places[found - 1], places[found], view, start, end))
        found = slots[(slot = (slot + 1) & mask)];
      if (found === 0) return i;
      codes[i] = found - 1;
    }
    return length;
  }

  private add(source: Uint8Array, view: DataView, start: number, end: number): number {
    const code = this.length;
    const mask = this.slots.length - 1;
    const { array } = this.bytes;
    let slot = hash(view, start, end) & mask;
    while (this.slots[slot] !== 0) slot = (slot + 1) & mask;
    this.slots[slot] = code + 1;
    this.bytes.append(source, start, end);
    if (this.bytes.array !== array) this.view = viewOf(this.bytes.array);
    this.offsets.push(this.bytes.length);
    if (code * 2 > mask) this.rehash();
    return code;
  }

  private rehash(): void {
    const slots = new Uint32Array(this.slots.length * 4);
    const mask = slots.length - 1;
    for (let code = 0; code < this.length; code++) {
      let slot = hash(this.view, this.offsets.array[code], this.offsets.array[code + 1]) & mask;
      while (slots[slot] !== 0) slot = (slot + 1) & mask;
      slots[slot] = code + 1;
    }
    this.slots = slots;
  }
}

/**
 * How many values there are of which so many rows, picked at random, show so many: the rows' share of new ones falls as
 * fast as the known ones grow.
 */
const distinctInAll = (distinct: number, rows: number): number => {
  if (distinct === rows) return Infinity;
  let all = distinct;
  for (let step = 0; step < 64; step++) {
    const next = distinct / (1 - Math.exp(-rows / all));
    if (next < all * 1.001) return next;
    all = next;
  }
  return all;
};

/** Four bytes at a time; the last ones overlap those before. */
const hash = (view: DataView, start: number, end: number): number => {
  let h = 0x811c9dc5 ^ (end - start);
  if (end - start < 4) {
    for (let i = start; i < end; i++) h = Math.imul(h ^ view.getUint8(i), 0x01000193);
  } else {
    for (let i = start; i < end - 4; i += 4) {
      h = Math.imul(h ^ view.getInt32(i, true), 0x9e3779b1);
      h ^= h >>> 15;
    }
    h = Math.imul(h ^ view.getInt32(end - 4, true), 0x9e3779b1);
  }
  h = Math.imul(h ^ (h >>> 16), 0x85ebca6b);
  return (h ^ (h >>> 13)) >>> 0;
};
