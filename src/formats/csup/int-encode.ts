/**
 * Integers into blocks (reference/formats/csup.md section 4): packed ones of 256 or 128 values as far as they go, the
 * rest as differences of seven bits a byte.
 */

/** 32-bit words that grow as they are pushed. */
class Words {
  private words = new Int32Array(64);
  length = 0;
  push(x: number): void {
    if (this.length === this.words.length) {
      const grown = new Int32Array(this.length * 2);
      grown.set(this.words);
      this.words = grown;
    }
    this.words[this.length++] = x;
  }
  set(at: number, x: number): void {
    this.words[at] = x;
  }
  /** The words in little-endian bytes. */
  bytes(): Uint8Array {
    return new Uint8Array(this.words.buffer, 0, this.length * 4);
  }
}

/** Appends numbers of so many bits, low bits first. */
class Bits {
  private readonly out: Words;
  private held = 0;
  private count = 0;
  constructor(out: Words) {
    this.out = out;
  }
  /** `width` bits of x, at most 32. */
  push(x: number, width: number): void {
    if (width === 0) return;
    const bits = width === 32 ? x : x & ((1 << width) - 1);
    const { count } = this;
    this.held |= bits << count;
    if (count + width < 32) {
      this.count += width;
      return;
    }
    this.out.push(this.held);
    this.held = count === 0 ? 0 : bits >>> (32 - count);
    this.count = count + width - 32;
  }
}

/**
 * Numbers of seven bits a byte; each word's bytes from the most significant on; what is left of the last word is filled
 * with unfinished numbers.
 */
class Varying {
  private readonly out: Words;
  private readonly wordBytes: 4 | 8;
  private readonly pending: number[] = [];
  constructor(out: Words, wordBytes: 4 | 8) {
    this.out = out;
    this.wordBytes = wordBytes;
  }
  byte(b: number): void {
    const { pending: p } = this;
    p.push(b);
    if (p.length < this.wordBytes) return;
    if (p.length === 8) this.out.push((p[4] << 24) | (p[5] << 16) | (p[6] << 8) | p[7]);
    this.out.push((p[0] << 24) | (p[1] << 16) | (p[2] << 8) | p[3]);
    p.length = 0;
  }
  finish(): void {
    while (this.pending.length > 0) this.byte(0x80);
  }
}

const bitLength = (low: number, high: number): number => (high === 0 ? 32 - Math.clz32(low) : 64 - Math.clz32(high));
const trailingZeros = (low: number, high: number): number =>
  low !== 0 ? 31 - Math.clz32(low & -low) : high !== 0 ? 63 - Math.clz32(high & -high) : 0;

/** Blocks of 64-bit integers: pairs of words, low first. Trailing zeros are counted for signed ones alone. */
export const blocks64 = (pairs: Int32Array, count: number, signed: boolean): Uint8Array => {
  const out = new Words();
  const packed = count - (count % 256);
  let lastBlock = 0;
  if (packed > 0) {
    out.push(packed);
    out.push(0);
    out.push(pairs[0]);
    out.push(pairs[1]);
    for (let first = 0; first < packed; first += 256) packGroups64(out, pairs, first, signed);
    lastBlock = out.length / 2;
    out.set(1, lastBlock);
  }
  if (count > packed) {
    const start = out.length;
    out.push(count - packed);
    out.push(0);
    vary64(out, pairs, packed, count);
    lastBlock = (out.length - start) / 2;
    out.set(start + 1, lastBlock);
  }
  if (count > 0) {
    out.push(lastBlock);
    out.push(0);
  }
  return out.bytes();
};

const packGroups64 = (out: Words, pairs: Int32Array, first: number, signed: boolean): void => {
  const header = out.length;
  out.push(0);
  out.push(0);
  let widths = 0;
  let zeros = 0;
  for (let g = 0; g < 4; g++) {
    const { bits, zigzag, tz } = packGroup64(out, pairs, first + g * 64, signed);
    const shift = 24 - g * 8;
    widths |= (bits | (zigzag << 7)) << shift;
    zeros |= tz << shift;
  }
  out.set(header, widths);
  out.set(header + 1, zeros);
};

const differences = new Int32Array(128);
const packGroup64 = (
  out: Words,
  pairs: Int32Array,
  first: number,
  signed: boolean,
): { readonly bits: number; readonly zigzag: number; readonly tz: number } => {
  let low = pairs[Math.max(0, first - 1) * 2];
  let high = pairs[Math.max(0, first - 1) * 2 + 1];
  let orLow = 0;
  let orHigh = 0;
  for (let i = 0; i < 64; i++) {
    const nextLow = pairs[(first + i) * 2];
    const nextHigh = pairs[(first + i) * 2 + 1];
    const partLow = (nextLow - low) | 0;
    const partHigh = (nextHigh - high - (nextLow >>> 0 < low >>> 0 ? 1 : 0)) | 0;
    differences[i * 2] = partLow;
    differences[i * 2 + 1] = partHigh;
    orLow |= partLow;
    orHigh |= partHigh;
    low = nextLow;
    high = nextHigh;
  }
  const zigzag = orHigh < 0 ? 1 : 0;
  const tz = zigzag === 0 && signed ? trailingZeros(orLow, orHigh) : 0;
  if (zigzag === 1) {
    orLow = orHigh = 0;
    for (let i = 0; i < 128; i += 2) {
      const sign = differences[i + 1] >> 31;
      differences[i + 1] = ((differences[i + 1] << 1) | (differences[i] >>> 31)) ^ sign;
      differences[i] = (differences[i] << 1) ^ sign;
      orLow |= differences[i];
      orHigh |= differences[i + 1];
    }
  }
  const bits = bitLength(orLow, orHigh);
  const writer = new Bits(out);
  const source = bits === 64 ? pairs.subarray(first * 2, first * 2 + 128) : differences;
  const width = bits - tz;
  for (let i = 0; i < 128; i += 2) {
    const partLow = source[i];
    const partHigh = source[i + 1];
    writer.push(
      tz === 0 ? partLow : tz < 32 ? (partLow >>> tz) | (partHigh << (32 - tz)) : partHigh >>> (tz - 32),
      Math.min(width, 32),
    );
    if (width > 32) writer.push(tz < 32 ? partHigh >>> tz : 0, width - 32);
  }
  return { bits, zigzag, tz };
};

const vary64 = (out: Words, pairs: Int32Array, start: number, end: number): void => {
  const writer = new Varying(out, 8);
  let low = 0;
  let high = 0;
  for (let i = start; i < end; i++) {
    const nextLow = pairs[i * 2];
    const nextHigh = pairs[i * 2 + 1];
    let partLow = (nextLow - low) | 0;
    let partHigh = (nextHigh - high - (nextLow >>> 0 < low >>> 0 ? 1 : 0)) | 0;
    while (partHigh !== 0 || partLow >>> 0 >= 0x80) {
      writer.byte((partLow & 0x7f) | 0x80);
      partLow = (partLow >>> 7) | (partHigh << 25);
      partHigh >>>= 7;
    }
    writer.byte(partLow);
    low = nextLow;
    high = nextHigh;
  }
  writer.finish();
};

/** Blocks of unsigned 32-bit integers. */
export const blocks32 = (values: Uint32Array): Uint8Array => {
  const count = values.length;
  const out = new Words();
  const packed = count - (count % 128);
  let lastBlock = 0;
  if (packed > 0) {
    out.push(packed);
    out.push(0);
    out.push(values[0]);
    for (let first = 0; first < packed; first += 128) packGroups32(out, values, first);
    lastBlock = out.length;
    out.set(1, lastBlock);
  }
  if (count > packed) {
    const start = out.length;
    const writer = new Varying(out, 4);
    out.push(count - packed);
    out.push(0);
    let last = 0;
    for (let i = packed; i < count; i++) {
      let part = (values[i] - last) >>> 0;
      for (; part >= 0x80; part >>>= 7) writer.byte((part & 0x7f) | 0x80);
      writer.byte(part);
      last = values[i];
    }
    writer.finish();
    lastBlock = out.length - start;
    out.set(start + 1, lastBlock);
  }
  if (count > 0) out.push(lastBlock);
  return out.bytes();
};

const packGroups32 = (out: Words, values: Uint32Array, first: number): void => {
  const header = out.length;
  out.push(0);
  let widths = 0;
  for (let start = first; start < first + 128; start += 32) {
    let last = values[Math.max(0, start - 1)];
    let or = 0;
    for (let i = 0; i < 32; i++) {
      const part = (values[start + i] - last) | 0;
      differences[i] = part;
      or |= part;
      last = values[start + i];
    }
    const zigzag = or < 0 ? 1 : 0;
    if (zigzag === 1) {
      or = 0;
      for (let i = 0; i < 32; i++) or |= differences[i] = (differences[i] << 1) ^ (differences[i] >> 31);
    }
    const width = 32 - Math.clz32(or);
    const writer = new Bits(out);
    for (let i = 0; i < 32; i++) writer.push(width === 32 ? values[start + i] : differences[i], width);
    widths = (widths << 8) | width | (zigzag << 7);
  }
  out.set(header, widths);
};
