/**
 * Codes of numbers: those that floats hold by the bits of the float, other integers by their own bits, as pairs of
 * another kind in one table.
 */
import type { NumberArray } from '../../../vectors/vector.ts';
import { isFloatToo, isSafe } from '../../expressions/wide.ts';
import { PairTable, none } from './pair-table.ts';

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
 * to 1 MiB: one query may have hundreds of them (CUBE).
 */
const directMax = 1 << 18;
const directMin = 1 << 10;
const directRowsMin = 256;

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
    for (let i = 0; i < length; i++) {
      const x = values[i];
      const k = x >>> 0;
      if (k !== x || k >= directMax) {
        out[i] = table.code(words[2 * i], words[2 * i + 1], insert);
        continue;
      }
      if (k >= direct.length) direct = this.reach(k);
      let code = direct[k];
      if (code === none) direct[k] = code = table.code(words[2 * i], words[2 * i + 1], insert);
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
    const words = wordsOf(values);
    const table = this.words;
    for (let i = 0; i < length; i++) {
      const x = values[i];
      out[i] = x === x ? table.code(words[2 * i], words[2 * i + 1], insert) : table.code(0, 0x7ff80000, insert);
    }
    return out;
  }
  private floatCodesByValue(values: Float64Array, length: number, insert: boolean, out: Uint32Array): Uint32Array {
    const words = wordsOf(values);
    const table = this.words;
    for (let i = 0; i < length; i++) {
      const x = values[i];
      if (x === 0) out[i] = table.code(0, 0, insert);
      else out[i] = x === x ? table.code(words[2 * i], words[2 * i + 1], insert) : table.code(0, 0x7ff80000, insert);
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
    if (isSafe(low, upper)) {
      scratch[0] = upper * 4294967296 + low;
      return this.words.code(scratchWords[0], scratchWords[1], insert);
    }
    if (this.byValue && isFloatToo(low, upper)) {
      scratch[0] = upper * 4294967296 + low;
      return this.words.code(scratchWords[0], scratchWords[1], insert);
    }
    const isHuge = !signed && upper > 0x7fffffff;
    const { size } = this.words;
    const code = this.words.code(low, high, insert, isHuge ? hugeKind : bigKind);
    if (this.words.size > size) isHuge ? this.huges++ : this.bigs++;
    return code;
  }
  /** Whether numbers of 2^63 and more are there, and which codes are theirs. */
  get isHuge(): boolean {
    return this.huges > 0;
  }
  huge(): Uint32Array {
    const { kinds } = this.words.words();
    return Uint32Array.from(kinds.keys()).filter((code) => kinds[code] === hugeKind);
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
    return { bits, kinds };
  }
}
const isBigInteger = (x: number): boolean => Number.isInteger(x) && !Number.isSafeInteger(x);
const scratch = new Float64Array(1);
const scratchWords = wordsOf(scratch);
