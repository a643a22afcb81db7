/**
 * The encodings of Parquet's pages, into typed arrays.
 *
 * Invariants: nothing is read at or behind `end`; arrays are made for as many values as the bytes can stand for. Damage
 * is a BytesFault.
 */
import { BytesFault } from '../columns/type-bytes.ts';

const cut = (): BytesFault => new BytesFault('page cut short');

/**
 * Where reading is, which moves on, and where it ends; `bytes` may be put away in between. `hold`: charges bytes that are not in proportion to those that
 * are read.
 */
export interface Place {
  bytes: Uint8Array;
  at: number;
  readonly end: number;
  readonly hold?: (bytes: number) => void;
}
/** A number of seven bits a byte, low ones first; `at` moves on. @throws BytesFault when it is cut or too long */
const uvarint = (p: Place): number => {
  let n = 0;
  let scale = 1;
  for (;;) {
    if (p.at >= p.end || scale > 2 ** 49) throw cut();
    const b = p.bytes[p.at++];
    n += (b & 0x7f) * scale;
    if (b < 0x80) return n;
    scale *= 128;
  }
};
/** Bits that a number up to `max` takes. */
export const bitsFor = (max: number): number => 32 - Math.clz32(max);

/** Runs and packed groups of numbers of `width` bits (at most 32), `out.length` of them. */
export const decodeHybrid = (p: Place, width: number, out: Uint8Array | Uint32Array): void => {
  new HybridReader(p, width).next(out);
};

/** Reads runs and packed groups some numbers at a time; where it is, is in the place and in the run that has begun. */
export class HybridReader {
  private readonly place: Place;
  private readonly width: number;
  /** Numbers of the run that are still to come; `value`: what each of them is, or undefined if they are packed. */
  private left = 0;
  private value: number | undefined;
  /** Bits of the next byte that belong to the packed numbers before. */
  private shift = 0;
  constructor(place: Place, width: number) {
    if (width > 32) throw new BytesFault(`numbers of ${width} bits`);
    this.place = place;
    this.width = width;
  }

  /** The next numbers, `out.length` of them. @throws BytesFault */
  next(out: Uint8Array | Uint32Array): void {
    const { place: p, width } = this;
    const count = out.length;
    for (let done = 0; done < count; ) {
      if (this.left === 0) this.begin();
      const run = Math.min(this.left, count - done);
      if (this.value !== undefined) out.fill(this.value, done, done + run);
      else {
        const bits = this.shift + run * width;
        if (bits > (p.end - p.at) * 8) throw cut();
        unpack(p.bytes, p.at, this.shift, width, out, done, run);
        p.at += Math.floor(bits / 8);
        this.shift = bits % 8;
      }
      done += run;
      this.left -= run;
    }
  }

  /** Passes over the next numbers if a single run says that each of them is `value`. */
  passed(count: number, value: number): boolean {
    if (this.left === 0 && count > 0) this.begin();
    if (this.value !== value || this.left < count) return false;
    this.left -= count;
    return true;
  }

  /** The next run. Packed groups are of eight numbers each: what is left of their last byte is none of the next run. */
  private begin(): void {
    const { place: p, width } = this;
    if (this.shift > 0) p.at++;
    this.shift = 0;
    if (width === 0 && p.at >= p.end) {
      this.value = 0;
      this.left = Infinity;
      return;
    }
    const header = uvarint(p);
    if (header % 2 === 1) {
      this.value = undefined;
      this.left = (header - 1) * 4;
      if (this.left === 0) throw cut();
      return;
    }
    const size = (width + 7) >> 3;
    if (size > p.end - p.at || header === 0) throw cut();
    this.value = 0;
    for (let k = size - 1; k >= 0; k--) this.value = this.value * 256 + p.bytes[p.at + k];
    p.at += size;
    this.left = header / 2;
  }
}

/** Numbers of `width` bits, low bits first; `shift` bits of the first byte are passed over. */
const unpack = (
  bytes: Uint8Array,
  start: number,
  shift: number,
  width: number,
  out: Uint8Array | Uint32Array,
  from: number,
  count: number,
): void => {
  if (width === 8) {
    for (let i = 0; i < count; i++) out[from + i] = bytes[start + i];
    return;
  }
  if (width <= 24) {
    const mask = (1 << width) - 1;
    let at = start;
    let held = shift > 0 ? bytes[at++] >>> shift : 0;
    let bits = shift > 0 ? 8 - shift : 0;
    for (let i = 0; i < count; i++) {
      while (bits < width) {
        held |= bytes[at++] << bits;
        bits += 8;
      }
      out[from + i] = held & mask;
      held >>>= width;
      bits -= width;
    }
    return;
  }
  for (let i = 0, bit = start * 8 + shift; i < count; i++, bit += width) out[from + i] = bitsAt(bytes, bit, width);
};
/** Up to 32 bits. */
const bitsAt = (bytes: Uint8Array, bit: number, width: number): number => {
  let value = 0;
  let have = -(bit % 8);
  for (let at = Math.floor(bit / 8); have < width; at++, have += 8)
    value += ((bytes[at] ?? 0) * 2 ** (have < 0 ? 0 : have)) / (have < 0 ? 2 ** -have : 1);
  return Math.floor(value) % 2 ** width;
};

/** 0 or 1 a value, packed. */
export const decodeBools = (p: Place, count: number): Uint8Array => {
  if (count > (p.end - p.at) * 8) throw cut();
  const out = new Uint8Array(count);
  for (let i = 0; i < count; i++) out[i] = (p.bytes[p.at + (i >> 3)] >> (i & 7)) & 1;
  return out;
};
/** `count` values of `width` bytes each, as they stand, at a place where typed arrays may begin. */
export const plainBytes = (p: Place, count: number, width: number): Uint8Array => {
  const size = count * width;
  if (size > p.end - p.at) throw cut();
  const whole = p.bytes.subarray(p.at, p.at + size);
  p.at += size;
  // A copy, whatever class the bytes have: `slice` of a Buffer is a view.
  return whole.byteOffset % 8 === 0 ? whole : new Uint8Array(whole);
};

/** Byte arrays one behind the other: row i is bytes[offsets[i], offsets[i + 1]). */
export interface Runs {
  readonly offsets: Uint32Array;
  readonly bytes: Uint8Array;
}
/** Byte arrays, each behind its length; there may be others behind them. */
export const decodeRuns = (p: Place, count: number): Runs => {
  if (count * 4 > p.end - p.at) throw cut();
  const { bytes, end } = p;
  const offsets = new Uint32Array(count + 1);
  const start = p.at;
  let at = start;
  for (let i = 0; i < count; i++) {
    if (at + 4 > end) throw cut();
    const size = bytes[at] | (bytes[at + 1] << 8) | (bytes[at + 2] << 16) | (bytes[at + 3] << 24);
    at += 4;
    if (size < 0 || size > end - at) throw cut();
    at += size;
    offsets[i + 1] = at - start - (i + 1) * 4;
  }
  p.at = at;
  const out = new Uint8Array(offsets[count]);
  copyRuns(bytes, start, offsets, out);
  return { offsets, bytes: out };
};
const copyRuns = (bytes: Uint8Array, start: number, offsets: Uint32Array, out: Uint8Array): void => {
  for (let i = 0; i + 1 < offsets.length; i++) {
    const to = offsets[i];
    const size = offsets[i + 1] - to;
    const from = start + to + (i + 1) * 4;
    if (size > 32) out.set(bytes.subarray(from, from + size), to);
    else for (let k = 0; k < size; k++) out[to + k] = bytes[from + k];
  }
};

/**
 * DELTA_BINARY_PACKED: pairs of words, low one first, of `wide` integers or of ones of 32 bits, whose high words mean
 * nothing.
 */
export const decodeDeltas = (p: Place, countMax: number, wide: boolean): Int32Array => {
  const blockSize = uvarint(p);
  const miniblocks = uvarint(p);
  const count = uvarint(p);
  const size = blockSize / miniblocks;
  if (miniblocks === 0 || size % 8 !== 0 || blockSize > 1 << 20 || count > countMax)
    throw new BytesFault('delta block of odd size');
  const out = new Int32Array(count * 2);
  if (count === 0) return out;
  let [low, high] = zigzagPair(p);
  out[0] = low;
  out[1] = high;
  for (let i = 1; i < count; ) {
    const [leastLow, leastHigh] = zigzagPair(p);
    const widths = p.at;
    p.at += miniblocks;
    if (p.at > p.end) throw cut();
    for (let m = 0; m < miniblocks && i < count; m++) {
      const width = p.bytes[widths + m];
      const stop = Math.min(count, i + size);
      if (width > 64 || (stop - i) * width > (p.end - p.at) * 8) throw cut();
      for (let bit = p.at * 8; i < stop; i++, bit += width) {
        let deltaLow = 0;
        let deltaHigh = 0;
        if (width > 32) {
          deltaLow = bitsAt(p.bytes, bit, 32);
          deltaHigh = bitsAt(p.bytes, bit + 32, width - 32);
        } else if (width > 0) deltaLow = width <= 25 ? fewBitsAt(p.bytes, bit, width) : bitsAt(p.bytes, bit, width);
        const sum = (low >>> 0) + (leastLow >>> 0) + deltaLow;
        low = sum | 0;
        if (wide) high = (high + leastHigh + deltaHigh + Math.floor(sum / 4294967296)) | 0;
        out[i * 2] = low;
        out[i * 2 + 1] = high;
      }
      p.at = Math.min(p.end, p.at + (size * width) / 8);
    }
  }
  return out;
};
/** Up to 25 bits. */
const fewBitsAt = (bytes: Uint8Array, bit: number, width: number): number => {
  const at = bit >>> 3;
  return (
    ((bytes[at] | (bytes[at + 1] << 8) | (bytes[at + 2] << 16) | (bytes[at + 3] << 24)) >>> (bit & 7)) &
    ((1 << width) - 1)
  );
};
const zigzagPair = (p: Place): readonly [number, number] => {
  let low = 0;
  let high = 0;
  for (let shift = 0; ; shift += 7) {
    if (p.at >= p.end || shift > 63) throw cut();
    const b = p.bytes[p.at++];
    const part = b & 0x7f;
    if (shift < 32) {
      low |= part << shift;
      if (shift > 25) high |= part >>> (32 - shift);
    } else high |= part << (shift - 32);
    if (b < 0x80) break;
  }
  const sign = -(low & 1);
  return [(((low >>> 1) | (high << 31)) ^ sign) | 0, ((high >>> 1) ^ sign) | 0];
};

/** DELTA_LENGTH_BYTE_ARRAY: all lengths, then all bytes. */
export const decodeDeltaLengths = (p: Place, count: number): Runs => {
  const lengths = decodeDeltas(p, count, false);
  const offsets = new Uint32Array(count + 1);
  if (lengths.length !== count * 2) throw cut();
  for (let i = 0; i < count; i++) {
    const size = lengths[i * 2];
    if (size < 0 || offsets[i] + size > p.end - p.at) throw cut();
    offsets[i + 1] = offsets[i] + size;
  }
  const bytes = p.bytes.slice(p.at, p.at + offsets[count]);
  p.at += bytes.length;
  return { offsets, bytes };
};
/** Most bytes that prefixes may repeat. */
const prefixBytesMax = 1 << 28;
/** DELTA_BYTE_ARRAY: each value begins with so many bytes of the one before. */
export const decodeDeltaRuns = (p: Place, count: number): Runs => {
  // Of a page of nulls alone some writers give both headers, with a first value that is none.
  if (count === 0) return { offsets: new Uint32Array(1), bytes: new Uint8Array(0) };
  const prefixes = decodeDeltas(p, count, false);
  const suffixes = decodeDeltaLengths(p, count);
  const offsets = new Uint32Array(count + 1);
  if (prefixes.length !== count * 2) throw cut();
  for (let i = 0; i < count; i++) {
    const prefix = prefixes[i * 2];
    const before = i === 0 ? 0 : offsets[i] - offsets[i - 1];
    if (prefix < 0 || prefix > before) throw cut();
    const size = offsets[i] + prefix + suffixes.offsets[i + 1] - suffixes.offsets[i];
    if (size > prefixBytesMax) throw new BytesFault('strings of a page too long');
    offsets[i + 1] = size;
  }
  p.hold?.(offsets[count]);
  const bytes = new Uint8Array(offsets[count]);
  for (let i = 0; i < count; i++) {
    const prefix = prefixes[i * 2];
    if (prefix > 0) bytes.copyWithin(offsets[i], offsets[i - 1], offsets[i - 1] + prefix);
    bytes.set(suffixes.bytes.subarray(suffixes.offsets[i], suffixes.offsets[i + 1]), offsets[i] + prefix);
  }
  return { offsets, bytes };
};
/** BYTE_STREAM_SPLIT: the first bytes of all values, then the second ones. */
export const decodeSplit = (p: Place, count: number, width: number): Uint8Array => {
  if (count * width > p.end - p.at) throw cut();
  const out = new Uint8Array(count * width);
  for (let k = 0; k < width; k++)
    for (let i = 0, from = p.at + k * count; i < count; i++) out[i * width + k] = p.bytes[from + i];
  p.at += count * width;
  return out;
};
