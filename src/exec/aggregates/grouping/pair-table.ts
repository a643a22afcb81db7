/** Hash tables from pairs of 32-bit words to dense codes: 0 for the first pair met, 1 for the next. */
import { charge } from '../../../vectors/stop.ts';

/** No code, row or group. */
export const none = 0xffffffff;

/** Spreads the bits of a hash over its low ones. */
export const mix = (h: number): number => {
  let x = Math.imul(h ^ (h >>> 16), 0x85ebca6b);
  x = Math.imul(x ^ (x >>> 13), 0xc2b2ae35);
  return (x ^ (x >>> 16)) >>> 0;
};
const hashOf = (a: number, b: number): number => mix(Math.imul(a, 0x9e3779b1) ^ b);

/**
 * Words of a slot: the pair, and its code plus one with the kind above it (0: empty). With the pair in the slot one
 * place of memory is looked at, not three: 0.5 of the time for 1,000,000 pairs of 130,000.
 */
const slotWords = 3;
const slotsMin = 32;
/** Where the kind begins in the last word of a slot. */
const kindShift = 30;
const codeMask = (1 << kindShift) - 1;

/** Of each code: its words, and its kind. */
const wordBytes = 2 * Uint32Array.BYTES_PER_ELEMENT + 1;
/** What tables of values are, in refusals. */
export const what = 'distinct values';
interface PairWords {
  readonly first: Uint32Array;
  readonly second: Uint32Array;
  readonly kinds: Uint8Array;
}

/**
 * Codes of pairs of 32-bit words. Pairs of unlike kinds (0 to 3) are different ones. Nothing is held beside the slots:
 * the words of codes are looked for there, all at once.
 */
export class PairTable {
  private slots: Uint32Array<ArrayBuffer>;
  private mask: number;
  /** Codes that were given. */
  size = 0;
  /** Slots that are taken: pairs that were met. */
  private taken = 0;
  /** `pairs`: so many are to come at once. */
  constructor(pairs = 0) {
    const size = Math.max(slotsMin, 2 ** Math.ceil(Math.log2((pairs + 1) * 1.5)));
    this.slots = new Uint32Array(size * slotWords);
    this.mask = size - 1;
  }
  get bytes(): number {
    return this.slots.byteLength;
  }

  code(a: number, b: number, insert: boolean, kind = 0): number {
    const { slots, mask } = this;
    const above = kind << kindShift;
    let slot = hashOf(a, b) & mask;
    for (let at = slot * slotWords, code = slots[at + 2]; code !== 0; at = slot * slotWords, code = slots[at + 2]) {
      if (slots[at] === a && slots[at + 1] === b && (code ^ above) >>> kindShift === 0) return (code & codeMask) - 1;
      slot = (slot + 1) & mask;
    }
    return insert ? this.add(slot, a, b, above) : none;
  }
  private add(slot: number, a: number, b: number, above: number): number {
    const code = this.size++;
    const at = slot * slotWords;
    this.slots[at] = a;
    this.slots[at + 1] = b;
    this.slots[at + 2] = (code + 1) | above;
    if (++this.taken * 3 > (this.mask + 1) * 2) this.grow();
    return code;
  }
  /** The next code, for what is known elsewhere: `words` leaves its place empty. */
  skip(): number {
    return this.size++;
  }
  /** Calls `see` with the words and the code of each pair of the first kind. */
  each(see: (a: number, b: number, code: number) => void): void {
    const { slots } = this;
    for (let at = 0; at < slots.length; at += slotWords) {
      const last = slots[at + 2];
      if (last !== 0 && last >>> kindShift === 0) see(slots[at], slots[at + 1], (last & codeMask) - 1);
    }
  }
  private grow(): void {
    const size = (this.mask + 1) * 2;
    charge(size * slotWords * Uint32Array.BYTES_PER_ELEMENT, what);
    const before = this.slots;
    this.mask = size - 1;
    this.slots = new Uint32Array(size * slotWords);
    moveSlots(before, this.slots, this.mask);
  }
  words(): PairWords {
    const { slots, size } = this;
    charge(size * wordBytes, what);
    const first = new Uint32Array(size);
    const second = new Uint32Array(size);
    const kinds = new Uint8Array(size);
    for (let at = 0; at < slots.length; at += slotWords) {
      const last = slots[at + 2];
      if (last === 0) continue;
      const code = (last & codeMask) - 1;
      first[code] = slots[at];
      second[code] = slots[at + 1];
      kinds[code] = last >>> kindShift;
    }
    return { first, second, kinds };
  }
  /** Codes of the pairs (a[i], b[i]); a `none` on either side gives `none`. */
  codes(
    a: Uint32Array,
    b: Uint32Array,
    length: number,
    insert: boolean,
    out: Uint32Array = new Uint32Array(length),
  ): Uint32Array {
    for (let from = 0; from < length; from += stretchRows) {
      const end = Math.min(length, from + stretchRows);
      this.touch(a, b, from, end);
      this.stretch(a, b, from, end, insert, out);
    }
    return out;
  }
  /**
   * The hashes of a stretch of pairs; their slots, which are far apart, are under way together, and near afterwards:
   * 1,500,000 pairs of 800,000 take 0.85 of the processor time.
   */
  private touch(a: Uint32Array, b: Uint32Array, from: number, end: number): void {
    const { slots, mask } = this;
    for (let i = from; i < end; i++) hashesOf[i - from] = hashOf(a[i], b[i]);
    for (let i = 0; i < end - from; i++) seenOf[i] = slots[(hashesOf[i] & mask) * slotWords + 2];
  }
  private stretch(a: Uint32Array, b: Uint32Array, from: number, end: number, insert: boolean, out: Uint32Array): void {
    let { slots, mask } = this;
    for (let i = from; i < end; i++) {
      const x = a[i];
      const y = b[i];
      if (x === none || y === none) {
        out[i] = none;
        continue;
      }
      let slot = hashesOf[i - from] & mask;
      let at = slot * slotWords;
      let code = slots[at + 2];
      while (code !== 0 && (slots[at] !== x || slots[at + 1] !== y)) {
        slot = (slot + 1) & mask;
        at = slot * slotWords;
        code = slots[at + 2];
      }
      if (code === 0 && insert) {
        code = this.add(slot, x, y, 0) + 1;
        ({ slots, mask } = this);
      }
      // An empty slot's 0 is `none` that way.
      out[i] = code - 1;
    }
  }
}

/** Pairs that are hashed and looked up together. */
const stretchRows = 256;
const hashesOf = new Uint32Array(stretchRows);
/** What was seen of their slots, which is looked at again. */
const seenOf = new Uint32Array(stretchRows);

const moveSlots = (from: Uint32Array, to: Uint32Array, mask: number): void => {
  for (let k = 0; k < from.length; k += slotWords) {
    const code = from[k + 2];
    if (code === 0) continue;
    const a = from[k];
    const b = from[k + 1];
    let slot = hashOf(a, b) & mask;
    while (to[slot * slotWords + 2] !== 0) slot = (slot + 1) & mask;
    to[slot * slotWords] = a;
    to[slot * slotWords + 1] = b;
    to[slot * slotWords + 2] = code;
  }
};
