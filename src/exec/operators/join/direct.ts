/**
 * Tables of a join whose places are the keys themselves: whole numbers in a range not much wider than their count, as
 * ids are, or in a wider one where many look for partners. To find one takes one look into memory, where a table of
 * hashes takes three. Wide ones take of the processor time of TPC-H at 0.1: Q07 0.82, Q08 0.78, Q11 0.72, Q17 0.83.
 */
import { none } from '../../aggregates/grouping/pair-table.ts';

/** The least and the greatest key. */
export interface KeyRange {
  readonly least: number;
  readonly most: number;
}
/** `heads`: the first row of each key, from the least key `first` on. */
export interface Direct {
  readonly first: number;
  readonly heads: Uint32Array;
}
/** Rows of both sides, pair by pair. */
export interface Pairs {
  readonly lefts: Uint32Array;
  readonly rights: Uint32Array;
}

/** Places a row; a table of hashes takes as many bytes. */
const rangeMax = 4;
/** Whether the table is made in any case. */
export const isNarrow = (range: KeyRange, rows: number): boolean => placesOf(range) <= rows * rangeMax;
export const placesOf = ({ least, most }: KeyRange): number => most - least + 1;

/** The rows by their keys; those of one key are chained in `next`, in order. */
export const directOf = (keys: Float64Array, next: Uint32Array, { least, most }: KeyRange): Direct => {
  const first = least;
  const heads = new Uint32Array(most - first + 1).fill(none);
  for (let row = next.length - 1; row >= 0; row--) {
    const at = keys[row] - first;
    next[row] = heads[at];
    heads[at] = row;
  }
  return { first, heads };
};

/** The first row of each key; `none` where there is none. */
export const findDirect = ({ first, heads }: Direct, keys: Float64Array, length: number): Uint32Array => {
  const found = new Uint32Array(length);
  const range = heads.length;
  for (let i = 0; i < length; i++) {
    const distance = keys[i] - first;
    const at = distance | 0;
    found[i] = at === distance && at >= 0 && at < range ? heads[at] : none;
  }
  return found;
};

/** The rows that find one, with the first that they find; without a branch that the machine would have to guess. */
export const pairsDirect = ({ first, heads }: Direct, keys: Float64Array, length: number): Pairs => {
  if (scratch.lefts.length < length) scratch = { lefts: new Uint32Array(length), rights: new Uint32Array(length) };
  const { lefts, rights } = scratch;
  const range = heads.length;
  let n = 0;
  for (let i = 0; i < length; i++) {
    const distance = keys[i] - first;
    const at = distance | 0;
    const row = at === distance && at >= 0 && at < range ? heads[at] : none;
    lefts[n] = i;
    rights[n] = row;
    n += Number(row !== none);
  }
  return { lefts: lefts.slice(0, n), rights: rights.slice(0, n) };
};
/** Where pairs are collected before they are copied out: few are found of most batches. */
let scratch: Pairs = { lefts: new Uint32Array(0), rights: new Uint32Array(0) };

/** Undefined where one of them is no whole number that floats hold exactly. */
export const rangeOf = (keys: Float64Array, length: number): KeyRange | undefined => {
  let least = Infinity;
  let most = -Infinity;
  for (let i = 0; i < length; i++) {
    const x = keys[i];
    if (x !== Math.floor(x)) return undefined;
    if (x < least) least = x;
    if (x > most) most = x;
  }
  return Number.isSafeInteger(least) && Number.isSafeInteger(most) ? { least, most } : undefined;
};
