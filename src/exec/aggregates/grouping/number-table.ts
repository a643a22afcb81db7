/**
 * Codes of numbers: those that floats hold by the bits of the float, other integers by their own bits, as pairs of
 * another kind in one table.
 */
import type { NumberArray } from '../../../vectors/vector.ts';
import { isFloatToo, isSafe } from '../../expressions/wide.ts';
import { charge } from '../../../vectors/stop.ts';
import { PairTable, none, what } from './pair-table.ts';

/** The bits of numbers: two words a row. */
export const wordsOf = (values: Float64Array | BigInt64Array | BigUint64Array): Uint32Array =>
  new Uint32Array(values.buffer, values.byteOffset, values.length * 2);

/**
 * Kinds of pairs: bits of floats, of integers with a sign, and of those from 2^63 on, which have the bits of negative
 * ones.
 */
const floatKind = 0;
const bigKind = 1;
const hugeKind = 2;

/**
 * Whole numbers below this have a place of their own, in a table that is made for batches which are not tiny and grows
 * to 1 MiB, as long as it has no more places than `placesMax` for each row that was met: one query may have thousands
 * of them (CUBE, rows of 3,000 fields). Beyond that it grows as long as it has so few places for each number in it, and
 * half of all numbers: then it takes no more memory than hashing. The codes of 6,000,000 numbers of 1,500,000 ids in
 * order, of which each fourth is there, take 0.16 of the time and half of the memory that they take without it; in any
 * other order as much.
 */
const directMax = 1 << 18;
const directMin = 1 << 10;
const directRowsMin = 256;
const placesMax = 8;

/**
 * Codes of numbers, by their bits: NaN is one number; -0. and 0. are two, but for `byValue`, where numbers of all types
 * may come and equal ones have one code.
 */
export class NumberTable {
  private readonly words = new PairTable();
  /** How many integers are not safe, and how many are from 2^63 on. */
  private bigs = 0;
  private huges = 0;
  /** Codes of small whole numbers, found without hashing. */
  private direct = new Uint32Array(0);
  /** How many numbers have a place. */
  private placed = 0;
  /** How many rows were met. */
  private rows = 0;
  private readonly byValue: boolean;
  constructor(byValue = false) {
    this.byValue = byValue;
  }
  get size(): number {
    return this.words.size;
  }
  get bytes(): number {
    return this.words.bytes + this.direct.byteLength;
  }

  /** `whole`: the numbers are integers, so that there is one zero only. */
  codes(
    values: NumberArray,
    length: number,
    { whole, insert }: { readonly whole: boolean; readonly insert: boolean },
    out: Uint32Array = new Uint32Array(length),
  ): Uint32Array {
    if (!(values instanceof Float64Array)) return this.bigCodes(values, length, insert, out);
    if (whole)
      return length >= directRowsMin
        ? this.wholeCodes(values, length, insert, out)
        : this.floatCodes(values, length, insert, out);
    return this.byValue
      ? this.floatCodesByValue(values, length, insert, out)
      : this.floatCodes(values, length, insert, out);
  }
  private wholeCodes(values: Float64Array, length: number, insert: boolean, out: Uint32Array): Uint32Array {
    const words = wordsOf(values);
    const table = this.words;
    let { direct } = this;
    if (insert) this.rows += length;
    const near = insert ? this.near : 0;
    let last = NaN;
    let code = none;
    for (let i = 0; i < length; i++) {
      const x = values[i];
      // Ids of what belongs together come in runs.
      if (x !== last) {
        last = x;
        const k = x >>> 0;
        if (k !== x || (k >= direct.length && k >= near)) code = table.code(words[2 * i], words[2 * i + 1], insert);
        else {
          if (k >= direct.length) direct = this.reach(k, near);
          code = direct[k];
          if (code === none && insert) direct[k] = code = this.place();
        }
      }
      out[i] = code;
    }
    return out;
  }
  /** Numbers below this may have a place. */
  private get near(): number {
    const few = Math.max(directMin, Math.min(directMax, this.rows * placesMax));
    return Math.max(few, this.placed * 2 >= this.size ? this.placed * placesMax : 0);
  }
  /** The code of a number that gets a place. */
  private place(): number {
    this.placed++;
    return this.words.skip();
  }
  /** Makes room for a number below `near` among those that have a place. */
  private reach(k: number, near: number): Uint32Array<ArrayBuffer> {
    const before = this.direct;
    let size = Math.max(directMin, before.length);
    while (size <= k) size = size < directMax ? size * 4 : Math.ceil(size * 1.5);
    size = Math.min(size, near);
    if (size > directMax) charge((size - before.length) * Uint32Array.BYTES_PER_ELEMENT, what);
    const wider = new Uint32Array(size).fill(none);
    wider.set(before);
    // Those that were met before they had one.
    this.words.each((low, high, code) => {
      scratchWords[0] = low;
      scratchWords[1] = high;
      const x = scratch[0];
      if (x < size && x >>> 0 === x && !Object.is(x, -0) && wider[x] === none) {
        wider[x] = code;
        this.placed++;
      }
    });
    return (this.direct = wider);
  }
  /** The code of a number that is not NaN; -0. is not 0. */
  private code(x: number, insert: boolean): number {
    const { direct } = this;
    const k = x >>> 0;
    if (k !== x || k >= direct.length || Object.is(x, -0)) {
      scratch[0] = x;
      return this.words.code(scratchWords[0], scratchWords[1], insert);
    }
    if (direct[k] === none && insert) direct[k] = this.place();
    return direct[k];
  }
  private floatCodes(values: Float64Array, length: number, insert: boolean, out: Uint32Array): Uint32Array {
    const words = wordsOf(values);
    const table = this.words;
    const hasPlaces = this.direct.length > 0;
    for (let i = 0; i < length; i++) {
      const x = values[i];
      if (x !== x) out[i] = table.code(0, 0x7ff80000, insert);
      else out[i] = hasPlaces ? this.code(x, insert) : table.code(words[2 * i], words[2 * i + 1], insert);
    }
    return out;
  }
  private floatCodesByValue(values: Float64Array, length: number, insert: boolean, out: Uint32Array): Uint32Array {
    const words = wordsOf(values);
    const table = this.words;
    const hasPlaces = this.direct.length > 0;
    for (let i = 0; i < length; i++) {
      const x = values[i];
      if (x !== x) out[i] = table.code(0, 0x7ff80000, insert);
      else if (x === 0) out[i] = this.code(0, insert);
      else out[i] = hasPlaces ? this.code(x, insert) : table.code(words[2 * i], words[2 * i + 1], insert);
    }
    return out;
  }
  private bigCodes(
    values: BigInt64Array | BigUint64Array,
    length: number,
    insert: boolean,
    out: Uint32Array,
  ): Uint32Array {
    const halves = new Uint32Array(values.buffer, values.byteOffset, length * 2);
    const signed = values instanceof BigInt64Array;
    // Times come in runs.
    let low = 0;
    let high = 0;
    let code = none;
    for (let i = 0; i < length; i++) {
      const l = halves[2 * i];
      const h = halves[2 * i + 1];
      if (code === none || l !== low || h !== high) code = this.bigCode(l, h, signed, insert);
      low = l;
      high = h;
      out[i] = code;
    }
    return out;
  }
  private bigCode(low: number, high: number, signed: boolean, insert: boolean): number {
    const upper = signed ? high | 0 : high;
    const isHuge = !signed && upper > 0x7fffffff;
    const { size } = this.words;
    const isFloat = isSafe(low, upper) || (this.byValue && isFloatToo(low, upper));
    const code = isFloat
      ? this.code(upper * 4294967296 + low, insert)
      : this.words.code(low, high, insert, isHuge ? hugeKind : bigKind);
    if (this.words.size > size) {
      if (isHuge) this.huges++;
      else if (!isFloat) this.bigs++;
    }
    return code;
  }
  /** Whether integers of 2^63 and more came, and which codes are of such numbers; some may have come as floats alone. */
  get isHuge(): boolean {
    return this.huges > 0;
  }
  huge(): Uint32Array {
    const { bits, kinds } = this.known();
    const floats = new Float64Array(bits.buffer);
    return Uint32Array.from(floats.keys()).filter(
      (code) => kinds[code] === hugeKind || (kinds[code] === floatKind && floats[code] >= 2 ** 63),
    );
  }
  /** The number of each code as a float. */
  floats(): Float64Array {
    const { bits, kinds } = this.known();
    const out = new Float64Array(bits.buffer);
    const wide = new BigInt64Array(bits.buffer);
    if (this.bigs + this.huges > 0)
      for (let code = 0; code < out.length; code++)
        if (kinds[code] !== floatKind)
          out[code] = Number(kinds[code] === hugeKind ? BigInt.asUintN(64, wide[code]) : wide[code]);
    return out;
  }
  /** The integer of each code; `unsigned`: none is below 0. */
  values(unsigned: boolean): NumberArray {
    const { bits, kinds } = this.known();
    const out = new Float64Array(bits.buffer);
    if (this.bigs + this.huges === 0 && !(this.byValue && out.some(isBigInteger))) return out;
    const wide = unsigned ? new BigUint64Array(bits.buffer) : new BigInt64Array(bits.buffer);
    for (let code = 0; code < out.length; code++)
      if (kinds[code] === floatKind) wide[code] = Number.isInteger(out[code]) ? BigInt(out[code]) : 0n;
    return wide;
  }
  /** The bits of each code, and their kinds. */
  private known(): { readonly bits: Uint32Array<ArrayBuffer>; readonly kinds: Uint8Array } {
    const { first, second, kinds } = this.words.words();
    const bits = new Uint32Array(this.size * 2);
    for (let code = 0; code < first.length; code++) {
      bits[2 * code] = first[code];
      bits[2 * code + 1] = second[code];
    }
    const { direct } = this;
    const numbers = new Float64Array(bits.buffer);
    for (let k = 0; k < direct.length; k++) if (direct[k] !== none) numbers[direct[k]] = k;
    return { bits, kinds };
  }
}
const isBigInteger = (x: number): boolean => Number.isInteger(x) && !Number.isSafeInteger(x);
const scratch = new Float64Array(1);
const scratchWords = wordsOf(scratch);
