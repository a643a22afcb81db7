/**
 * Filters that tell of most values that a column of bytes does not hold them, in ten bits a row (a Bloom filter, four
 * bits of one word for each value).
 *
 * The hash is a part of the format: stored filters are useless when it changes.
 */
import type { BytesVector } from '../../vectors/vector.ts';
import { viewOf } from './words.ts';

const bitsOfRow = 10;

/** The filter of all rows; a power of two is not needed. */
export const filterOf = (v: BytesVector): Uint32Array => {
  const words = new Uint32Array(Math.max(1, Math.ceil((v.length * bitsOfRow) / 32)));
  addAll(words, v.bytes, v.offsets, v.length);
  return words;
};
const addAll = (words: Uint32Array, bytes: Uint8Array, offsets: Uint32Array, length: number): void => {
  const view = viewOf(bytes);
  for (let i = 0; i < length; i++) {
    const h = hash(view, offsets[i], offsets[i + 1]);
    words[placeOf(h, words.length)] |= maskOf(h);
  }
};
/** False only if the value is certainly not there. */
export const mayHold = (words: Uint32Array, value: Uint8Array): boolean => {
  const h = hash(viewOf(value), 0, value.length);
  const mask = maskOf(h);
  return (words[placeOf(h, words.length)] & mask) === mask;
};

const placeOf = (h: number, words: number): number => Math.floor(((h >>> 0) / 4294967296) * words);
const maskOf = (h: number): number => {
  const m = Math.imul(h ^ (h >>> 15), 0x2c1b3c6d);
  return (1 << (m & 31)) | (1 << ((m >>> 5) & 31)) | (1 << ((m >>> 10) & 31)) | (1 << ((m >>> 15) & 31));
};
const hash = (view: DataView, start: number, end: number): number => {
  let h = 0x811c9dc5 ^ (end - start);
  let i = start;
  for (; i + 4 <= end; i += 4) {
    h = Math.imul(h ^ view.getInt32(i, true), 0x9e3779b1);
    h ^= h >>> 15;
  }
  for (; i < end; i++) h = Math.imul(h ^ view.getUint8(i), 0x01000193);
  h = Math.imul(h ^ (h >>> 16), 0x85ebca6b);
  h = Math.imul(h ^ (h >>> 13), 0xc2b2ae35);
  return h ^ (h >>> 16);
};
