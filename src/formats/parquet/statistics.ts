/** The least and the greatest of a column's values, for readers that skip what they need not read. */
import type { Statistics } from 'hyparquet';
import { type Physical, type Runs, viewOf } from './encode.ts';
import type { LeafOut } from './schema-write.ts';

/**
 * Values as hyparquet-writer takes them: numbers, bigints, bytes. Without bounds where there is no value, or none that
 * has an order.
 */
export const statisticsOf = (leaf: LeafOut, p: Physical, nulls: number): Statistics => {
  const null_count = BigInt(nulls);
  if (p.count === 0) return { null_count };
  const bounds = boundsOf(leaf, p);
  return bounds ? { null_count, min_value: bounds[0], max_value: bounds[1] } : { null_count };
};

type Bounds = readonly [number | bigint | boolean | Uint8Array, number | bigint | boolean | Uint8Array];
const boundsOf = (leaf: LeafOut, p: Physical): Bounds | undefined => {
  switch (p.kind) {
    case 'bools':
      return [p.bytes.indexOf(0) < 0, p.bytes.indexOf(1) >= 0];
    case 'runs':
      return runBounds(p);
    case 'fixed':
      return undefined;
    case 'words': {
      if (leaf.physical === 'FLOAT') return floatBounds(new Float32Array(p.words.buffer, p.words.byteOffset, p.count));
      if (leaf.physical === 'DOUBLE') return floatBounds(new Float64Array(p.words.buffer, p.words.byteOffset, p.count));
      return p.width === 1 ? wordBounds(p.words, p.count, leaf.unsigned) : pairBounds(p.words, p.count, leaf.unsigned);
    }
  }
};
/**
 * None with NaN, which is the greatest number for some engines, and for others has no place in the order: those would
 * skip it by any bound. Zero of either sign counts as both.
 */
const floatBounds = (values: Float32Array | Float64Array): Bounds | undefined => {
  let least = Infinity;
  let most = -Infinity;
  for (let i = 0; i < values.length; i++) {
    const x = values[i];
    if (x !== x) return undefined;
    if (x < least) least = x;
    if (x > most) most = x;
  }
  return [least === 0 ? -0 : least, most === 0 ? 0 : most];
};
/** The bytes of unsigned words are those of signed ones. */
const wordBounds = (words: Int32Array, count: number, unsigned: boolean): Bounds => {
  const flip = unsigned ? 0x80000000 : 0;
  let least = words[0] ^ flip;
  let most = least;
  for (let i = 1; i < count; i++) {
    const x = words[i] ^ flip;
    if (x < least) least = x;
    if (x > most) most = x;
  }
  return [least ^ flip, most ^ flip];
};
const pairBounds = (words: Int32Array, count: number, unsigned: boolean): Bounds => {
  const flip = unsigned ? 0x80000000 : 0;
  let least = 0;
  let most = 0;
  for (let i = 1; i < count; i++) {
    if (isBelow(words, i, least, flip)) least = i;
    else if (isBelow(words, most, i, flip)) most = i;
  }
  const value = (i: number): bigint => (BigInt(words[i * 2 + 1]) << 32n) | BigInt(words[i * 2] >>> 0);
  return [value(least), value(most)];
};
const isBelow = (words: Int32Array, a: number, b: number, flip: number): boolean => {
  const x = words[a * 2 + 1] ^ flip;
  const y = words[b * 2 + 1] ^ flip;
  return x < y || (x === y && words[a * 2] >>> 0 < words[b * 2] >>> 0);
};
/**
 * Longer bounds are left out: they are all in the table of contents, which is in memory until the end, and cost each
 * reader more than they spare it. As Parquet's C++ library does.
 */
const boundBytesMax = 4096;
const runBounds = ({ offsets, starts, bytes, count }: Runs): Bounds | undefined => {
  const view = viewOf(bytes);
  let least = 0;
  let most = 0;
  let sizeOfLeast = offsets[1] - offsets[0];
  let sizeOfMost = sizeOfLeast;
  for (let i = 1; i < count; i++) {
    const start = starts[i];
    const size = offsets[i + 1] - offsets[i];
    if (compareBytes(view, start, size, starts[least], sizeOfLeast) < 0) {
      least = i;
      sizeOfLeast = size;
    } else if (compareBytes(view, start, size, starts[most], sizeOfMost) > 0) {
      most = i;
      sizeOfMost = size;
    }
  }
  const run = (row: number, size: number): Uint8Array => bytes.slice(starts[row], starts[row] + size);
  return Math.max(sizeOfLeast, sizeOfMost) > boundBytesMax
    ? undefined
    : [run(least, sizeOfLeast), run(most, sizeOfMost)];
};
/** By four bytes at a time: a text has mostly the first ones of its column's others. */
const compareBytes = (view: DataView, a: number, sizeA: number, b: number, sizeB: number): number => {
  const size = sizeA < sizeB ? sizeA : sizeB;
  let k = 0;
  for (; k + 4 <= size; k += 4) {
    const x = view.getInt32(a + k);
    const y = view.getInt32(b + k);
    if (x !== y) return (x ^ 0x80000000) < (y ^ 0x80000000) ? -1 : 1;
  }
  for (; k < size; k++) {
    const order = view.getUint8(a + k) - view.getUint8(b + k);
    if (order !== 0) return order;
  }
  return sizeA - sizeB;
};
