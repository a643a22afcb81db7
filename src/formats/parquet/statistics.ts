/** The least and the greatest of a column's values, for readers that skip what they need not read. */
import type { Statistics } from 'hyparquet';
import { compareRuns } from '../../vectors/value.ts';
import type { Physical } from './encode.ts';
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
      return runBounds(p.offsets, p.bytes, p.count);
    case 'fixed':
      return undefined;
    case 'words': {
      if (leaf.physical === 'FLOAT') return floatBounds(new Float32Array(p.words.buffer, p.words.byteOffset, p.count));
      if (leaf.physical === 'DOUBLE') return floatBounds(new Float64Array(p.words.buffer, p.words.byteOffset, p.count));
      return p.width === 1 ? wordBounds(p.words, p.count, leaf.unsigned) : pairBounds(p.words, p.count, leaf.unsigned);
    }
  }
};
/** NaN has no place in the order; zero of either sign counts as both. */
const floatBounds = (values: Float32Array | Float64Array): Bounds | undefined => {
  let least = Infinity;
  let most = -Infinity;
  let found = false;
  for (let i = 0; i < values.length; i++) {
    const x = values[i];
    if (x < least) least = x;
    if (x > most) most = x;
    found ||= x === x;
  }
  return found ? [least === 0 ? -0 : least, most === 0 ? 0 : most] : undefined;
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
const runBounds = (offsets: Uint32Array, bytes: Uint8Array, count: number): Bounds | undefined => {
  let least = 0;
  let most = 0;
  for (let i = 1; i < count; i++) {
    if (compareRuns(bytes, offsets, i, least) < 0) least = i;
    else if (compareRuns(bytes, offsets, i, most) > 0) most = i;
  }
  const run = (i: number): Uint8Array => bytes.slice(offsets[i], offsets[i + 1]);
  return Math.max(offsets[least + 1] - offsets[least], offsets[most + 1] - offsets[most]) > boundBytesMax
    ? undefined
    : [run(least), run(most)];
};
