/**
 * Codes of rows of a few 32-bit words each: 0 for the first row met, 1 for the next. Open addressing; a slot has the
 * row's hash beside its code plus one (0: empty), the rows are one after the other in the order of their codes.
 */
import { mix, none } from './pair-table.ts';

const slotsMin = 32;
/** Rows that are hashed and looked up together: slots are far apart, and several of them are under way at a time. */
const stretchRows = 256;
const hashesOf = new Uint32Array(stretchRows);
const codesOf = new Uint32Array(stretchRows);

export class RowTable {
  readonly words: number;
  size = 0;
  private rows: Uint32Array;
  private slots: Uint32Array;
  private mask: number;
  /** `rows`: so many are to come at once. */
  constructor(words: number, rows = 0) {
    this.words = words;
    const size = Math.max(slotsMin, 2 ** Math.ceil(Math.log2((rows + 1) * 1.5)));
    this.rows = new Uint32Array(Math.max(slotsMin, rows) * words);
    this.slots = new Uint32Array(size * 2);
    this.mask = size - 1;
  }
  get bytes(): number {
    return this.rows.byteLength + this.slots.byteLength;
  }
  /** Word `at` of the rows of the codes from `of` on, or of those that it names. */
  column(at: number, of: number | Uint32Array): Uint32Array {
    const { rows, words, size } = this;
    const out = new Uint32Array(typeof of === 'number' ? size - of : of.length);
    if (typeof of === 'number')
      for (let i = 0, from = of * words + at; i < out.length; i++, from += words) out[i] = rows[from];
    else for (let i = 0; i < out.length; i++) out[i] = rows[of[i] * words + at];
    return out;
  }

  /** The codes of rows that lie one after the other in `given`. */
  codes(given: Uint32Array, length: number, insert: boolean, out: Uint32Array): Uint32Array {
    for (let from = 0; from < length; from += stretchRows) {
      const rows = Math.min(stretchRows, length - from);
      this.lookUpFirst(given, from, rows);
      for (let i = 0; i < rows; i++) {
        const code = codesOf[i];
        const at = (from + i) * this.words;
        out[from + i] =
          code !== none && this.same(code, given, at) ? code : this.codeOf(hashesOf[i], given, at, insert);
      }
    }
    return out;
  }
  private lookUpFirst(given: Uint32Array, from: number, count: number): void {
    const { slots, mask, words } = this;
    for (let i = 0, at = from * words; i < count; i++) {
      let h = 0;
      for (const end = at + words; at < end; at++) h = Math.imul(h ^ given[at] ^ (h >>> 15), 0x9e3779b1);
      hashesOf[i] = mix(h);
    }
    for (let i = 0; i < count; i++) {
      const hash = hashesOf[i];
      const at = 2 * (hash & mask);
      const code = slots[at + 1];
      // An empty slot's 0 is `none` that way.
      codesOf[i] = slots[at] === hash ? code - 1 : none;
    }
  }
  private same(code: number, given: Uint32Array, at: number): boolean {
    const { rows, words } = this;
    for (let k = 0, from = code * words; k < words; k++) if (rows[from + k] !== given[at + k]) return false;
    return true;
  }
  private codeOf(hash: number, given: Uint32Array, from: number, insert: boolean): number {
    const { slots, mask } = this;
    let at = hash & mask;
    for (let code = slots[2 * at + 1]; code !== 0; code = slots[2 * at + 1]) {
      if (slots[2 * at] === hash && this.same(code - 1, given, from)) return code - 1;
      at = (at + 1) & mask;
    }
    return insert ? this.add(at, hash, given, from) : none;
  }
  private add(at: number, hash: number, given: Uint32Array, from: number): number {
    const code = this.size++;
    const { words } = this;
    this.slots[2 * at] = hash;
    this.slots[2 * at + 1] = code + 1;
    let to = code * words;
    if (to + words > this.rows.length) {
      const wider = new Uint32Array(this.rows.length * 2);
      wider.set(this.rows);
      this.rows = wider;
    }
    for (const end = to + words; to < end; to++) this.rows[to] = given[from++];
    if (this.size * 3 > (this.mask + 1) * 2) this.grow();
    return code;
  }
  private grow(): void {
    const before = this.slots;
    this.mask = (this.mask + 1) * 2 - 1;
    this.slots = new Uint32Array((this.mask + 1) * 2);
    moveSlots(before, this.slots, this.mask);
  }
}

const moveSlots = (from: Uint32Array, to: Uint32Array, mask: number): void => {
  for (let k = 0; k < from.length; k += 2) {
    const code = from[k + 1];
    if (code === 0) continue;
    const hash = from[k];
    let at = hash & mask;
    while (to[2 * at + 1] !== 0) at = (at + 1) & mask;
    to[2 * at] = hash;
    to[2 * at + 1] = code;
  }
};
