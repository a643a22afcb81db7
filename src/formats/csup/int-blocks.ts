/**
 * Blocks of integers (reference/formats/csup.md section 4), read a few hundred at a time.
 *
 * Invariants: nothing is read outside of the segment; a cursor keeps one group of values, never a whole vector. 64-bit
 * values are pairs of 32-bit words.
 */
import { BytesFault } from '../columns/type-bytes.ts';

const broken = (): BytesFault => new BytesFault('malformed CSUP integer block');

/** Bytes [start, end) of a view. */
export interface Span {
  readonly view: DataView;
  readonly start: number;
  readonly end: number;
}

const group64 = 256;
const group32 = 128;

/** Signed or unsigned 64-bit integers. */
export class IntCursor64 {
  private readonly span: Span;
  private readonly signed: boolean;
  private at: number;
  private blockEnd = 0;
  /** Packed groups that the block still has. */
  private groups = 0;
  private readonly words = new Int32Array(group64 * 2);
  private have = 0;
  private used = 0;
  private low = 0;
  private high = 0;

  constructor(span: Span, signed: boolean) {
    this.span = span;
    this.signed = signed;
    this.at = span.start;
  }

  /** The next `count` values, low word first. @throws BytesFault when there are fewer */
  next(count: number): Int32Array {
    const out = new Int32Array(count * 2);
    for (let to = 0; to < count; ) {
      if (this.used === this.have) this.fill();
      const run = Math.min(count - to, this.have - this.used);
      out.set(this.words.subarray(this.used * 2, (this.used + run) * 2), to * 2);
      this.used += run;
      to += run;
    }
    return out;
  }

  private fill(): void {
    this.used = 0;
    if (this.groups > 0) return this.packed();
    const { view, end } = this.span;
    if (this.at + 8 > end) throw broken();
    const count = view.getUint32(this.at, true);
    const length = view.getUint32(this.at + 4, true);
    this.blockEnd = this.at + length * 8;
    if (count === 0 || length === 0 || this.blockEnd > end) throw broken();
    this.at += 8;
    if (count < group64) return this.variable(count);
    if (count % group64 !== 0 || this.at + 8 > this.blockEnd) throw broken();
    this.low = view.getInt32(this.at, true);
    this.high = view.getInt32(this.at + 4, true);
    this.at += 8;
    this.groups = count / group64;
    this.packed();
  }

  /** Differences of seven bits a byte, the bytes of each word from the most significant on. */
  private variable(count: number): void {
    const { view } = this.span;
    const { words, blockEnd } = this;
    let at = this.at;
    let inWord = 7;
    let low = 0;
    let high = 0;
    for (let i = 0; i < count; i++) {
      let partLow = 0;
      let partHigh = 0;
      let shift = 0;
      let b = 0x80;
      while (b >= 0x80) {
        if (at >= blockEnd || shift > 63) throw broken();
        b = view.getUint8(at + inWord);
        if (inWord-- === 0) {
          inWord = 7;
          at += 8;
        }
        const bits = b & 0x7f;
        if (shift < 32) partLow |= bits << shift;
        if (shift >= 32) partHigh |= bits << (shift - 32);
        else if (shift > 25) partHigh |= bits >>> (32 - shift);
        shift += 7;
      }
      const sum = (low >>> 0) + (partLow >>> 0);
      low = sum | 0;
      high = (high + partHigh + (sum > 0xffff_ffff ? 1 : 0)) | 0;
      words[i * 2] = low;
      words[i * 2 + 1] = high;
    }
    this.have = count;
    this.at = blockEnd;
  }

  /** Four groups of 64 differences under one header word. */
  private packed(): void {
    const { view } = this.span;
    if (this.at + 8 > this.blockEnd) throw broken();
    const widths = view.getUint32(this.at, true);
    const zeros = this.signed ? view.getUint32(this.at + 4, true) : 0;
    this.at += 8;
    for (let g = 0; g < 4; g++) {
      const shift = 24 - g * 8;
      this.group(g * 64, {
        bits: (widths >>> shift) & 0x7f,
        zigzag: (widths >>> (shift + 7)) & 1,
        tz: (zeros >>> shift) & 0xff,
      });
    }
    this.have = group64;
    if (--this.groups === 0) this.at = this.blockEnd;
  }

  private group(
    first: number,
    { bits, zigzag, tz }: { readonly bits: number; readonly zigzag: number; readonly tz: number },
  ): void {
    const { view } = this.span;
    const { words } = this;
    const width = bits - tz;
    const base = this.at;
    if (bits > 64 || width < 0 || base + width * 8 > this.blockEnd) throw broken();
    const lowMask = width >= 32 ? -1 : (1 << width) - 1;
    const highMask = width <= 32 ? 0 : width === 64 ? -1 : (1 << (width - 32)) - 1;
    const wordsEnd = width * 2;
    let { low, high } = this;
    if (width <= 25 && tz === 0 && base + width * 8 + 4 <= view.byteLength) {
      // A value is within four bytes from the one that it begins in.
      for (let i = 0, bit = 0; i < 64; i++, bit += width) {
        const part = (view.getInt32(base + (bit >>> 3), true) >>> (bit & 7)) & lowMask;
        const change = zigzag === 1 ? (part >>> 1) ^ -(part & 1) : part;
        const sum = (low >>> 0) + change;
        low = sum | 0;
        high = (high + (sum > 0xffff_ffff ? 1 : sum < 0 ? -1 : 0)) | 0;
        words[(first + i) * 2] = low;
        words[(first + i) * 2 + 1] = high;
      }
    } else
      for (let i = 0; i < 64; i++) {
        const bit = i * width;
        const word = bit >>> 5;
        const shift = bit & 31;
        let partLow = word < wordsEnd ? view.getInt32(base + word * 4, true) : 0;
        let partHigh = word + 1 < wordsEnd ? view.getInt32(base + word * 4 + 4, true) : 0;
        if (shift > 0) {
          const over = word + 2 < wordsEnd ? view.getInt32(base + word * 4 + 8, true) : 0;
          partLow = (partLow >>> shift) | (partHigh << (32 - shift));
          partHigh = (partHigh >>> shift) | (over << (32 - shift));
        }
        partLow &= lowMask;
        partHigh &= highMask;
        if (width === 64) {
          low = partLow;
          high = partHigh;
        } else {
          if (zigzag === 1) {
            const sign = -(partLow & 1);
            partLow = ((partLow >>> 1) | (partHigh << 31)) ^ sign;
            partHigh = (partHigh >>> 1) ^ sign;
          } else if (tz >= 32) {
            partHigh = partLow << (tz - 32);
            partLow = 0;
          } else if (tz > 0) {
            partHigh = (partHigh << tz) | (partLow >>> (32 - tz));
            partLow <<= tz;
          }
          const sum = (low >>> 0) + (partLow >>> 0);
          low = sum | 0;
          high = (high + partHigh + (sum > 0xffff_ffff ? 1 : 0)) | 0;
        }
        words[(first + i) * 2] = low;
        words[(first + i) * 2 + 1] = high;
      }
    this.low = low;
    this.high = high;
    this.at = base + width * 8;
  }
}

/** Unsigned 32-bit integers: tags, lengths, offsets, counts. */
export class IntCursor32 {
  private readonly span: Span;
  private at: number;
  private blockEnd = 0;
  private groups = 0;
  private readonly values = new Uint32Array(group32);
  private have = 0;
  private used = 0;
  private last = 0;

  constructor(span: Span) {
    this.span = span;
    this.at = span.start;
  }

  /** Nothing is left. */
  get done(): boolean {
    return this.used === this.have && this.groups === 0 && this.at + 8 > this.span.end;
  }

  /** The next `count` values. @throws BytesFault when there are fewer */
  next(count: number): Uint32Array {
    const out = new Uint32Array(count);
    this.read(out, 0, count);
    return out;
  }
  /** The next `count` values to out[start, start + count). @throws BytesFault when there are fewer */
  read(out: Uint32Array, start: number, count: number): void {
    for (let to = start, stop = start + count; to < stop; ) {
      if (this.used === this.have) this.fill();
      const run = Math.min(stop - to, this.have - this.used);
      out.set(this.values.subarray(this.used, this.used + run), to);
      this.used += run;
      to += run;
    }
  }

  private fill(): void {
    this.used = 0;
    if (this.groups > 0) return this.packed();
    const { view, end } = this.span;
    if (this.at + 8 > end) throw broken();
    const count = view.getUint32(this.at, true);
    const length = view.getUint32(this.at + 4, true);
    this.blockEnd = this.at + length * 4;
    if (count === 0 || length < 2 || this.blockEnd > end) throw broken();
    this.at += 8;
    if (count < group32) return this.variable(count);
    if (count % group32 !== 0 || this.at + 4 > this.blockEnd) throw broken();
    this.last = view.getInt32(this.at, true);
    this.at += 4;
    this.groups = count / group32;
    this.packed();
  }

  private variable(count: number): void {
    const { view } = this.span;
    const { blockEnd } = this;
    let at = this.at;
    let inWord = 3;
    let last = 0;
    for (let i = 0; i < count; i++) {
      let part = 0;
      let shift = 0;
      let b = 0x80;
      while (b >= 0x80) {
        if (at >= blockEnd || shift > 31) throw broken();
        b = view.getUint8(at + inWord);
        if (inWord-- === 0) {
          inWord = 3;
          at += 4;
        }
        part |= (b & 0x7f) << shift;
        shift += 7;
      }
      last = (last + part) | 0;
      this.values[i] = last;
    }
    this.have = count;
    this.at = blockEnd;
  }

  private packed(): void {
    const { view } = this.span;
    const { values } = this;
    if (this.at + 4 > this.blockEnd) throw broken();
    const header = view.getUint32(this.at, true);
    let base = this.at + 4;
    let { last } = this;
    for (let g = 0; g < 4; g++) {
      const width = (header >>> (24 - g * 8)) & 0x7f;
      const zigzag = (header >>> (31 - g * 8)) & 1;
      const mask = width >= 32 ? -1 : (1 << width) - 1;
      if (width > 32 || base + width * 4 > this.blockEnd) throw broken();
      if (width <= 25 && base + width * 4 + 4 <= view.byteLength) {
        // A value is within four bytes from the one that it begins in.
        for (let i = 0, bit = 0; i < 32; i++, bit += width) {
          const part = (view.getInt32(base + (bit >>> 3), true) >>> (bit & 7)) & mask;
          values[g * 32 + i] = last = (last + (zigzag === 1 ? (part >>> 1) ^ -(part & 1) : part)) | 0;
        }
      } else
        for (let i = 0; i < 32; i++) {
          const bit = i * width;
          const word = bit >>> 5;
          const shift = bit & 31;
          let part = word < width ? view.getInt32(base + word * 4, true) : 0;
          if (shift > 0)
            part =
              (part >>> shift) | ((word + 1 < width ? view.getInt32(base + word * 4 + 4, true) : 0) << (32 - shift));
          part &= mask;
          if (width === 32) last = part;
          else last = (last + (zigzag === 1 ? (part >>> 1) ^ -(part & 1) : part)) | 0;
          values[g * 32 + i] = last;
        }
      base += width * 4;
    }
    this.last = last;
    this.have = group32;
    this.at = --this.groups === 0 ? this.blockEnd : base;
  }
}
