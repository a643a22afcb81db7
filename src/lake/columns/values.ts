/**
 * What an encoder asks of the values of a column: their extremes, whether they are one, which of them there are.
 *
 * The loops are functions of their own, and take arrays, not vectors: the engine compiles them soon, once, and for good,
 * whatever kinds of vectors come.
 */
import { blockRowsMax } from '../objects/format.ts';
import type { BytesRange } from './statistics.ts';

/** Longest text that a directory holds itself. */
const constantBytesMax = 256;

export const lookUp = (codes: Uint32Array, table: Uint32Array, out: Uint32Array): void => {
  for (let i = 0; i < out.length; i++) out[i] = table[codes[i]];
};
export const lengthsOf = (offsets: Uint32Array, length: number): Uint32Array => {
  const out = new Uint32Array(length);
  for (let i = 0; i < length; i++) out[i] = offsets[i + 1] - offsets[i];
  return out;
};
export const addRuns = (range: BytesRange, offsets: Uint32Array, length: number): void => {
  for (let i = 0; i < length; i++) range.add(offsets[i], offsets[i + 1]);
};
export const markSeen = (codes: Uint32Array, seen: Uint8Array): void => {
  for (let i = 0; i < codes.length; i++) seen[codes[i]] = 1;
};
export const addSeen = (range: BytesRange, offsets: Uint32Array, seen: Uint8Array): void => {
  for (let code = 0; code < seen.length; code++) if (seen[code] === 1) range.add(offsets[code], offsets[code + 1]);
};
/** Places of the least and the greatest number. */
export const extremesOf = (
  numbers: Float64Array,
  length: number,
): { readonly least: number; readonly greatest: number } => {
  let least = 0;
  let greatest = 0;
  for (let i = 1; i < length; i++) {
    if (numbers[i] < numbers[least]) least = i;
    else if (numbers[i] > numbers[greatest]) greatest = i;
  }
  return { least, greatest };
};

/** Bit by bit: 0 and -0 are two values. */
export const isConstant = (values: Float64Array, length: number): boolean => {
  const first = values[0];
  for (let i = 1; i < length; i++) if (!Object.is(values[i], first)) return false;
  return true;
};
export const isFloat32 = (values: Float64Array, length: number): boolean => {
  for (let i = 0; i < length; i++) {
    const x = values[i];
    if (Math.fround(x) !== x && x === x) return false;
  }
  return true;
};
/** The distances of a block: no array is made for each column, whose memory the collector would have to find again. */
let distancesOfBlock = new Float64Array(0);
/** Good until the next call. */
export const lessBase = (values: Float64Array, length: number, base: number): Float64Array => {
  if (distancesOfBlock.length < length) distancesOfBlock = new Float64Array(Math.max(length, blockRowsMax));
  const out = distancesOfBlock.subarray(0, length);
  subtract(values, base, out);
  return out;
};
const subtract = (values: Float64Array, base: number, out: Float64Array): void => {
  for (let i = 0; i < out.length; i++) out[i] = values[i] - base;
};
export const isOneRun = (offsets: Uint32Array, bytes: Uint8Array, length: number): boolean => {
  const start = offsets[0];
  const size = offsets[1] - start;
  if (size > constantBytesMax) return false;
  for (let i = 1; i < length; i++) {
    const at = offsets[i];
    if (offsets[i + 1] - at !== size) return false;
    for (let k = 0; k < size; k++) if (bytes[at + k] !== bytes[start + k]) return false;
  }
  return true;
};
