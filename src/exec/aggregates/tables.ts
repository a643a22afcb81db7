/**
 * Hash tables from keys to dense codes: 0 for the first key met, 1 for the next. Open addressing over typed arrays, nothing is kept per key as an object.
 *
 * `none` as a code: not in the table (look-ups that do not insert).
 */
import type { NumberArray } from '../../vectors/vector.ts';
import { Uint32List, Uint8List } from '../../vectors/lists.ts';

/** No code, row or group. */
export const none = 0xffffffff;

/** Spreads the bits of a hash over its low ones. */
export const mix = (h: number): number => {
  let x = Math.imul(h ^ (h >>> 16), 0x85ebca6b);
  x = Math.imul(x ^ (x >>> 13), 0xc2b2ae35);
  return (x ^ (x >>> 16)) >>> 0;
};

const slotsMin = 64, textSlotsMin = 16;

/** The bits of numbers: two words a row. */
export const wordsOf = (values: Float64Array | BigInt64Array | BigUint64Array): Uint32Array => new Uint32Array(values.buffer, values.byteOffset, values.length * 2);

/** Codes of pairs of 32-bit words. */
export class PairTable {
  private slots = new Uint32Array(slotsMin).fill(none);
  private mask = slotsMin - 1;
  /** The words of each code. */
  readonly first = new Uint32List();
  readonly second = new Uint32List();
  get size(): number { return this.first.length; }
  get bytes(): number { return this.slots.byteLength + this.first.array.byteLength * 2; }

  code(a: number, b: number, insert: boolean): number {
    const { slots, mask } = this, first = this.first.array, second = this.second.array;
    let at = mix(Math.imul(a, 0x9e3779b1) ^ b) & mask;
    for (let code = slots[at]!; code !== none; code = slots[at]!) {
      if (first[code] === a && second[code] === b) return code;
      at = (at + 1) & mask;
    }
    return insert ? this.add(at, a, b) : none;
  }
  private add(at: number, a: number, b: number): number {
    const code = this.first.length;
    this.slots[at] = code;
    this.first.push(a);
    this.second.push(b);
    if (this.first.length * 2 > this.slots.length) this.grow();
    return code;
  }
  private grow(): void {
    this.slots = new Uint32Array(this.slots.length * 4).fill(none);
    this.mask = this.slots.length - 1;
    const first = this.first.array, second = this.second.array;
    for (let code = 0; code < this.first.length; code++) {
      let at = mix(Math.imul(first[code]!, 0x9e3779b1) ^ second[code]!) & this.mask;
      while (this.slots[at] !== none) at = (at + 1) & this.mask;
      this.slots[at] = code;
    }
  }
  /** Codes of the pairs (a[i], b[i]); a `none` on either side gives `none`. */
  codes(a: Uint32Array, b: Uint32Array, length: number, insert: boolean, out: Uint32Array = new Uint32Array(length)): Uint32Array {
    for (let i = 0; i < length; i++) out[i] = a[i] === none || b[i] === none ? none : this.code(a[i]!, b[i]!, insert);
    return out;
  }
}

/** Pairs of small numbers have a place of their own in a table of at most 256 KiB, made for batches that are not tiny. */
const gridBitsMax = 16, gridRowsMin = 256;
const bitsOf = (size: number): number => (size <= 1 ? 0 : 32 - Math.clz32(size - 1));

/** out[i] = table[index[i]] for each i; whether all of these are known. A loop without calls: codes have no sign, `none` has. */
export const lookUp = (table: Uint32Array, index: Uint32Array, out: Uint32Array): boolean => {
  let seen = 0;
  for (let i = 0; i < out.length; i++) {
    const code = table[index[i]!]!;
    out[i] = code;
    seen |= code;
  }
  return seen >= 0;
};
const lookUpPairs = (grid: Uint32Array, a: Uint32Array, b: Uint32Array, shift: number, out: Uint32Array): boolean => {
  let seen = 0;
  for (let i = 0; i < out.length; i++) {
    const code = grid[(a[i]! << shift) | b[i]!]!;
    out[i] = code;
    seen |= code;
  }
  return seen >= 0;
};

/** Codes of pairs of codes, of which it is known how many there are: found without hashing where the product is small. */
export class GridTable {
  private readonly pairs = new PairTable();
  private grid = new Uint32Array(0);
  private shift = 0;
  get size(): number { return this.pairs.size; }
  get bytes(): number { return this.pairs.bytes + this.grid.byteLength; }
  get first(): Uint32List { return this.pairs.first; }
  get second(): Uint32List { return this.pairs.second; }

  /** All of `a` are below `sizeA`, all of `b` below `sizeB`; or `none` unless `insert`. */
  codes(a: Uint32Array, b: Uint32Array, { sizeA, sizeB, insert, out }: { readonly sizeA: number; readonly sizeB: number; readonly insert: boolean; readonly out: Uint32Array }): Uint32Array {
    if (!insert || out.length < gridRowsMin || !this.spans(sizeA, sizeB)) return this.pairs.codes(a, b, out.length, insert, out);
    const { grid, shift, pairs } = this;
    if (lookUpPairs(grid, a, b, shift, out)) return out;
    for (let i = 0; i < out.length; i++) {
      if (out[i] !== none) continue;
      const at = (a[i]! << shift) | b[i]!;
      if (grid[at] === none) grid[at] = pairs.code(a[i]!, b[i]!, true);
      out[i] = grid[at]!;
    }
    return out;
  }
  /** Whether the grid has a place for each pair; makes it wider for that. */
  private spans(sizeA: number, sizeB: number): boolean {
    if (sizeB <= 1 << this.shift && sizeA * (1 << this.shift) <= this.grid.length) return true;
    const shift = Math.max(this.shift, bitsOf(sizeB)), bits = bitsOf(sizeA) + shift;
    if (bits > gridBitsMax) return false;
    // Room to grow, as each time the grid is filled anew.
    const spare = Math.min(2, gridBitsMax - bits), spareB = sizeB > 1 ? spare >> 1 : 0;
    this.shift = shift + spareB;
    this.grid = new Uint32Array(1 << (bits + spare)).fill(none);
    const first = this.first.array, second = this.second.array;
    for (let code = 0; code < this.size; code++) this.grid[(first[code]! << this.shift) | second[code]!] = code;
    return true;
  }
}

/** Whole numbers below this have a place of their own, in a table that is made for batches which are not tiny and grows to 1 MiB: one query may have hundreds of them (CUBE). */
const directMax = 1 << 18, directMin = 1 << 10, directRowsMin = 256;

/** Codes of numbers, by their bits: NaN is one number; -0. and 0. are two, but for `byValue`, where numbers of all types may come and equal ones have one code. */
export class NumberTable {
  private readonly words = new PairTable();
  /** Integers that are not safe, and those from 2^63 on, which have the bits of negative ones. */
  private readonly bigs = new BigNumbers(0xfff00001);
  private huges: BigNumbers | undefined;
  /** Codes of small whole numbers, found without hashing. */
  private direct = new Uint32Array(0);
  private readonly byValue: boolean;
  constructor(byValue = false) { this.byValue = byValue; }
  get size(): number { return this.words.size; }
  get bytes(): number { return this.words.bytes + this.bigs.bytes + (this.huges?.bytes ?? 0) + this.direct.byteLength; }

  /** `whole`: the numbers are integers, so that there is one zero only. */
  codes(values: NumberArray, length: number, { whole, insert }: { readonly whole: boolean; readonly insert: boolean }, out: Uint32Array = new Uint32Array(length)): Uint32Array {
    if (!(values instanceof Float64Array)) return this.bigCodes(values, length, insert, out);
    if (whole) return length >= directRowsMin ? this.wholeCodes(values, length, insert, out) : this.floatCodes(values, length, insert, out);
    return this.byValue ? this.floatCodesByValue(values, length, insert, out) : this.floatCodes(values, length, insert, out);
  }
  private wholeCodes(values: Float64Array, length: number, insert: boolean, out: Uint32Array): Uint32Array {
    const words = wordsOf(values), table = this.words;
    let { direct } = this;
    for (let i = 0; i < length; i++) {
      const x = values[i]!, k = x >>> 0;
      if (k !== x || k >= directMax) {
        out[i] = table.code(words[2 * i]!, words[2 * i + 1]!, insert);
        continue;
      }
      if (k >= direct.length) direct = this.reach(k);
      let code = direct[k]!;
      if (code === none) direct[k] = code = table.code(words[2 * i]!, words[2 * i + 1]!, insert);
      out[i] = code;
    }
    return out;
  }
  /** Makes room for a number among those that have a place. */
  private reach(k: number): Uint32Array<ArrayBuffer> {
    let size = Math.max(directMin, this.direct.length * 4);
    while (size <= k) size *= 4;
    const wider = new Uint32Array(Math.min(size, directMax)).fill(none);
    wider.set(this.direct);
    return (this.direct = wider);
  }
  private floatCodes(values: Float64Array, length: number, insert: boolean, out: Uint32Array): Uint32Array {
    const words = wordsOf(values), table = this.words;
    for (let i = 0; i < length; i++) {
      const x = values[i]!;
      out[i] = x === x ? table.code(words[2 * i]!, words[2 * i + 1]!, insert) : table.code(0, 0x7ff80000, insert);
    }
    return out;
  }
  private floatCodesByValue(values: Float64Array, length: number, insert: boolean, out: Uint32Array): Uint32Array {
    const words = wordsOf(values), table = this.words;
    for (let i = 0; i < length; i++) {
      const x = values[i]!;
      if (x === 0) out[i] = table.code(0, 0, insert);
      else out[i] = x === x ? table.code(words[2 * i]!, words[2 * i + 1]!, insert) : table.code(0, 0x7ff80000, insert);
    }
    return out;
  }
  private bigCodes(values: BigInt64Array | BigUint64Array, length: number, insert: boolean, out: Uint32Array): Uint32Array {
    const halves = new Uint32Array(values.buffer, values.byteOffset, length * 2), signed = values instanceof BigInt64Array;
    // Times come in runs.
    let low = 0, high = 0, code = none;
    for (let i = 0; i < length; i++) {
      const l = halves[2 * i]!, h = halves[2 * i + 1]!;
      if (code === none || l !== low || h !== high) code = this.bigCode(l, h, signed, insert);
      low = l;
      high = h;
      out[i] = code;
    }
    return out;
  }
  private bigCode(low: number, high: number, signed: boolean, insert: boolean): number {
    const upper = signed ? high | 0 : high;
    if (upper < 0x200000 && (upper > -0x200000 || (upper === -0x200000 && low > 0))) {
      scratch[0] = upper * 4294967296 + low;
      return this.words.code(scratchWords[0]!, scratchWords[1]!, insert);
    }
    // A float may be the same number: 53 bits are enough for it.
    if (this.byValue && (low & ((1 << (11 - Math.clz32(upper < 0 ? ~upper : upper))) - 1)) === 0) {
      scratch[0] = upper * 4294967296 + low;
      return this.words.code(scratchWords[0]!, scratchWords[1]!, insert);
    }
    return (!signed && upper > 0x7fffffff ? (this.huges ??= new BigNumbers(0xfff00002)) : this.bigs).code(low, high, insert, this.words);
  }
  /** Whether numbers of 2^63 and more are there, and their codes. */
  get isHuge(): boolean { return this.huges !== undefined && this.huges.size > 0; }
  huge(): Uint32Array { return this.huges?.codes() ?? new Uint32Array(0); }
  /** The number of each code as a float. */
  floats(): Float64Array {
    const out = this.known(), wide = new BigInt64Array(this.bigs.size > 0 || this.isHuge ? this.size : 0), halves = new Uint32Array(wide.buffer);
    for (const big of [this.bigs, this.huges]) big?.copy(halves);
    for (const code of this.bigs.codes()) out[code] = Number(wide[code]);
    for (const code of this.huge()) out[code] = Number(BigInt.asUintN(64, wide[code]!));
    return out;
  }
  /** The integer of each code; `unsigned`: none is below 0. */
  values(unsigned: boolean): NumberArray {
    const out = this.known();
    if (this.bigs.size === 0 && !this.isHuge && !(this.byValue && out.some(isBigInteger))) return out;
    const wide = unsigned ? new BigUint64Array(this.size) : new BigInt64Array(this.size), halves = new Uint32Array(wide.buffer);
    for (let code = 0; code < this.size; code++) if (Number.isInteger(out[code])) wide[code] = BigInt(out[code]!);
    for (const big of [this.bigs, this.huges]) big?.copy(halves);
    return wide;
  }
  private known(): Float64Array<ArrayBuffer> {
    const out = new Float64Array(this.size), words = wordsOf(out);
    for (let code = 0; code < this.size; code++) {
      words[2 * code] = this.words.first.array[code]!;
      words[2 * code + 1] = this.words.second.array[code]!;
    }
    return out;
  }
}

/** Integers by their halves. Each takes a code of the table of words under a NaN that no number has, of which the low word counts up. */
class BigNumbers {
  private readonly halves = new PairTable();
  private readonly codeOf = new Uint32List();
  private readonly marker: number;
  constructor(marker: number) { this.marker = marker; }
  get size(): number { return this.halves.size; }
  get bytes(): number { return this.halves.bytes + this.codeOf.array.byteLength; }
  code(low: number, high: number, insert: boolean, words: PairTable): number {
    const before = this.halves.size, number = this.halves.code(low, high, insert);
    if (number === none) return none;
    if (this.halves.size > before) this.codeOf.push(words.code(number + 1, this.marker, true));
    return this.codeOf.array[number]!;
  }
  codes(): Uint32Array { return this.codeOf.array.subarray(0, this.size); }
  /** Writes each number to the place of its code. */
  copy(out: Uint32Array): void {
    for (let k = 0; k < this.size; k++) {
      const code = this.codeOf.array[k]!;
      out[2 * code] = this.halves.first.array[k]!;
      out[2 * code + 1] = this.halves.second.array[k]!;
    }
  }
}
const isBigInteger = (x: number): boolean => Number.isInteger(x) && !Number.isSafeInteger(x);
const scratch = new Float64Array(1);
const scratchWords = wordsOf(scratch);

/** A 32-bit hash of bytes[start, end), four bytes a step. `words` views the bytes. */
const hashBytes = (bytes: Uint8Array, words: DataView, start: number, end: number): number => {
  let h = end - start, at = start;
  for (const stop = end - 3; at < stop; at += 4) {
    h = Math.imul(h ^ words.getInt32(at, true), 0x9e3779b1);
    h ^= h >>> 15;
  }
  for (; at < end; at++) h = Math.imul(h ^ bytes[at]!, 0x01000193);
  return mix(h);
};
const viewOf = (bytes: Uint8Array): DataView => new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);

/** Codes of runs of bytes. A slot has the hash beside the code plus one (0: empty), and words are compared, not bytes: 1,000,000 addresses of 1,000 take 0.65 of the time, of 557,000 0.85. */
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
  constructor() { this.offsets.push(0); }
  get size(): number { return this.offsets.length - 1; }
  get held(): number { return this.slots.byteLength + this.offsets.array.byteLength + this.bytes.array.byteLength; }

  code(source: Uint8Array, start: number, end: number, insert: boolean): number {
    if (source !== this.source) {
      this.source = source as Uint8Array<ArrayBuffer>;
      this.sourceWords = viewOf(source);
    }
    const { slots, mask } = this, hash = hashBytes(source, this.sourceWords, start, end);
    let at = hash & mask;
    for (let code = slots[2 * at + 1]!; code !== 0; code = slots[2 * at + 1]!) {
      if (slots[2 * at] === hash && this.same(code - 1, source, start, end)) return code - 1;
      at = (at + 1) & mask;
    }
    return insert ? this.add(at, hash, source, start, end) : none;
  }
  private same(code: number, source: Uint8Array, start: number, end: number): boolean {
    const { sourceWords, heldWords } = this, offsets = this.offsets.array, own = this.own;
    let at = offsets[code]!, from = start;
    if (offsets[code + 1]! - at !== end - start) return false;
    for (; from + 4 <= end; from += 4, at += 4) if (heldWords.getInt32(at, true) !== sourceWords.getInt32(from, true)) return false;
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
    const size = (this.mask + 1) * 2, before = this.slots;
    this.mask = size - 1;
    this.slots = new Uint32Array(size * 2);
    moveSlots(before, this.slots, this.mask);
  }
  codes(source: Uint8Array, offsets: Uint32Array, length: number, insert: boolean, out: Uint32Array = new Uint32Array(length)): Uint32Array {
    for (let i = 0; i < length; i++) out[i] = this.code(source, offsets[i]!, offsets[i + 1]!, insert);
    return out;
  }
}

const moveSlots = (from: Uint32Array, to: Uint32Array, mask: number): void => {
  for (let k = 0; k < from.length; k += 2) {
    const hash = from[k]!, code = from[k + 1]!;
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
