/**
 * Hash tables from keys to dense codes: 0 for the first key met, 1 for the next. Open addressing over typed arrays,
 * nothing is kept per key as an object.
 *
 * `none` as a code: not in the table (look-ups that do not insert).
 */
import { Uint32List, Uint8List } from '../../../vectors/lists.ts';
import { mix, none } from '../pair-table.ts';

/**
 * out[i] = table[index[i]] for each i; whether all of these are known. A loop without calls: codes have no sign, `none`
 * has.
 */
export const lookUp = (table: Uint32Array, index: Uint32Array, out: Uint32Array): boolean => {
  let seen = 0;
  for (let i = 0; i < out.length; i++) {
    const code = table[index[i]!]!;
    out[i] = code;
    seen |= code;
  }
  return seen >= 0;
};
/** A 32-bit hash of bytes[start, end), four bytes a step. `words` views the bytes. */
const hashBytes = (bytes: Uint8Array, words: DataView, start: number, end: number): number => {
  let h = end - start;
  let at = start;
  for (const stop = end - 3; at < stop; at += 4) {
    h = Math.imul(h ^ words.getInt32(at, true), 0x9e3779b1);
    h ^= h >>> 15;
  }
  for (; at < end; at++) h = Math.imul(h ^ bytes[at]!, 0x01000193);
  return mix(h);
};
const viewOf = (bytes: Uint8Array): DataView => new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);

/** Slots of a table at the start. */
const textSlotsMin = 16;

/**
 * Codes of runs of bytes. A slot has the hash beside the code plus one (0: empty), and words are compared, not bytes:
 * 1,000,000 addresses of 1,000 take 0.65 of the time, of 557,000 0.85.
 */
export class BytesTable {
  private slots = new Uint32Array(textSlotsMin * 2);
  private mask = textSlotsMin - 1;
  /** Run of code c: bytes[offsets[c], offsets[c + 1]). */
  readonly offsets = new Uint32List();
  readonly bytes = new Uint8List();
  /** Views of what was asked for last, and of what is held: made once for many runs. */
  private source = new Uint8Array(0);
  private sourceWords = viewOf(this.source);
  private own = this.bytes.array;
  private heldWords = viewOf(this.own);
  constructor() {
    this.offsets.push(0);
  }
  get size(): number {
    return this.offsets.length - 1;
  }
  get held(): number {
    return this.slots.byteLength + this.offsets.array.byteLength + this.bytes.array.byteLength;
  }

  code(source: Uint8Array, start: number, end: number, insert: boolean): number {
    if (source !== this.source) {
      this.source = source as Uint8Array<ArrayBuffer>;
      this.sourceWords = viewOf(source);
    }
    const { slots, mask } = this;
    const hash = hashBytes(source, this.sourceWords, start, end);
    let at = hash & mask;
    for (let code = slots[2 * at + 1]!; code !== 0; code = slots[2 * at + 1]!) {
      if (slots[2 * at] === hash && this.same(code - 1, source, start, end)) return code - 1;
      at = (at + 1) & mask;
    }
    return insert ? this.add(at, hash, source, start, end) : none;
  }
  private same(code: number, source: Uint8Array, start: number, end: number): boolean {
    const { sourceWords, heldWords } = this;
    const offsets = this.offsets.array;
    const own = this.own;
    let at = offsets[code]!;
    let from = start;
    if (offsets[code + 1]! - at !== end - start) return false;
    for (; from + 4 <= end; from += 4, at += 4)
      if (heldWords.getInt32(at, true) !== sourceWords.getInt32(from, true)) return false;
    for (; from < end; from++) if (own[at++] !== source[from]) return false;
    return true;
  }
  private add(at: number, hash: number, source: Uint8Array, start: number, end: number): number {
    const code = this.size;
    this.slots[2 * at] = hash;
    this.slots[2 * at + 1] = code + 1;
    this.bytes.append(source, start, end);
    if (this.bytes.array !== this.own) {
      this.own = this.bytes.array;
      this.heldWords = viewOf(this.own);
    }
    this.offsets.push(this.bytes.length);
    // With the hash in the slot a full place costs little: two thirds are taken at most.
    if (this.size * 3 > this.slots.length) this.grow();
    return code;
  }
  private grow(): void {
    const size = (this.mask + 1) * 2;
    const before = this.slots;
    this.mask = size - 1;
    this.slots = new Uint32Array(size * 2);
    moveSlots(before, this.slots, this.mask);
  }
  codes(
    source: Uint8Array,
    offsets: Uint32Array,
    length: number,
    insert: boolean,
    out: Uint32Array = new Uint32Array(length),
  ): Uint32Array {
    for (let i = 0; i < length; i++) out[i] = this.code(source, offsets[i]!, offsets[i + 1]!, insert);
    return out;
  }
}

const moveSlots = (from: Uint32Array, to: Uint32Array, mask: number): void => {
  for (let k = 0; k < from.length; k += 2) {
    const hash = from[k]!;
    const code = from[k + 1]!;
    if (code === 0) continue;
    let at = hash & mask;
    while (to[2 * at + 1] !== 0) at = (at + 1) & mask;
    to[2 * at] = hash;
    to[2 * at + 1] = code;
  }
};

/** Room for the codes of a batch, for use until it is asked for again. */
export class Room {
  private array = new Uint32Array(0);
  of(length: number): Uint32Array {
    if (this.array.length < length) this.array = new Uint32Array(Math.max(length, this.array.length * 2));
    return this.array.length === length ? this.array : this.array.subarray(0, length);
  }
}
