/**
 * Zone maps: what is known of the values of a column in a block without reading them. Bounds are never too narrow:
 * numbers beyond 2^53 are rounded outwards, texts are cut.
 */
import { ByteWriter } from '../../vectors/value.ts';
import type { ByteReader } from './byte-reader.ts';
import { compareRuns, viewOf } from './words.ts';

export interface NumberBounds {
  readonly min: number;
  readonly max: number;
}
/**
 * Bounds of texts or bytes, each cut to 16 bytes where it can be: `min` downwards, `max` upwards. Both are included.
 */
export interface BytesBounds {
  readonly min: Uint8Array;
  readonly max: Uint8Array;
}

/** Bytes of a text that a bound keeps. */
const boundBytesMax = 16;

/**
 * Least and greatest of the numbers; NaN does not count, and `hasNan` says that there is one. min > max when there is
 * nothing else.
 */
export const numberBounds = (values: Float64Array, length: number): NumberBounds & { readonly hasNan: boolean } => {
  let min = Infinity;
  let max = -Infinity;
  let hasNan = false;
  for (let i = 0; i < length; i++) {
    const x = values[i];
    if (x < min) min = x;
    if (x > max) max = x;
    if (x !== x) hasNan = true;
  }
  return { min, max, hasNan };
};
/** Whole numbers that are safe; where the sign of zero counts, no -0. */
export const isWhole = (values: Float64Array, length: number, signedZero: boolean): boolean => {
  for (let i = 0; i < length; i++) {
    const x = values[i];
    if (Math.floor(x) !== x || x > Number.MAX_SAFE_INTEGER || x < Number.MIN_SAFE_INTEGER) return false;
    if (x === 0 && signedZero && Object.is(x, -0)) return false;
  }
  return true;
};
/** Rounded outwards. */
export const wideBounds = (values: BigInt64Array | BigUint64Array, length: number): NumberBounds => {
  let min = values[0];
  let max = min;
  for (let i = 1; i < length; i++) {
    const x = values[i];
    if (x < min) min = x;
    else if (x > max) max = x;
  }
  return outward(min, max);
};
/** The doubles around a range of integers. */
export const outward = (min: bigint, max: bigint): NumberBounds => {
  const low = Number(min);
  const high = Number(max);
  return {
    min: BigInt(low) > min ? low - Math.abs(low) * 2 ** -52 : low,
    max: BigInt(high) < max ? high + Math.abs(high) * 2 ** -52 : high,
  };
};

/** Collects bounds of runs of bytes. */
export class BytesRange {
  private readonly source: Uint8Array;
  private minStart = -1;
  private minEnd = 0;
  private maxStart = 0;
  private maxEnd = 0;
  private readonly view: DataView;
  constructor(source: Uint8Array) {
    this.source = source;
    this.view = viewOf(source);
  }
  add(start: number, end: number): void {
    if (this.minStart < 0) {
      this.minStart = this.maxStart = start;
      this.minEnd = this.maxEnd = end;
      return;
    }
    // The greatest first: in a column that rises, as keys mostly do, that is all.
    const { view } = this;
    if (compareRuns(view, this.maxStart, this.maxEnd, view, start, end) < 0) {
      this.maxStart = start;
      this.maxEnd = end;
    } else if (compareRuns(view, start, end, view, this.minStart, this.minEnd) < 0) {
      this.minStart = start;
      this.minEnd = end;
    }
  }
  bounds(): BytesBounds {
    const min = this.source.slice(this.minStart, Math.min(this.minEnd, this.minStart + boundBytesMax));
    const max = this.source.slice(this.maxStart, this.maxEnd);
    return { min, max: max.length > boundBytesMax ? cutUp(max) : max };
  }
}
/** The first bytes, made greater than all that begins with them; the whole when that cannot be. */
const cutUp = (bytes: Uint8Array): Uint8Array => {
  let i = boundBytesMax - 1;
  while (i >= 0 && bytes[i] === 0xff) i--;
  if (i < 0) return bytes;
  const cut = bytes.slice(0, i + 1);
  cut[i]++;
  return cut;
};

const scratch = new DataView(new ArrayBuffer(8));
const scratchBytes = new Uint8Array(scratch.buffer);
/** Eight bytes, little-endian. */
export const writeFloat = (out: ByteWriter, x: number): void => {
  scratch.setFloat64(0, x, true);
  out.raw(scratchBytes);
};
/** A 64-bit integer, signed or unsigned, in eight bytes, little-endian. */
export const writeWide = (out: ByteWriter, x: bigint): void => {
  scratch.setBigUint64(0, BigInt.asUintN(64, x), true);
  out.raw(scratchBytes);
};
/** The integer that `writeWide` wrote. */
export const readWide = (input: ByteReader, unsigned: boolean): bigint => {
  const raw = input.raw(8);
  const view = new DataView(raw.buffer, raw.byteOffset, 8);
  return unsigned ? view.getBigUint64(0, true) : view.getBigInt64(0, true);
};
/** Both bounds, each with its length before it. */
export const writeBytesBounds = (out: ByteWriter, bounds: BytesBounds): void => {
  for (const b of [bounds.min, bounds.max]) {
    out.uvarint(b.length);
    out.raw(b);
  }
};
/** The bounds that `writeBytesBounds` wrote. */
export const readBytesBounds = (input: ByteReader): BytesBounds => {
  const min = input.raw(input.uvarint());
  return { min, max: input.raw(input.uvarint()) };
};
