/**
 * Tables of a join whose places are the keys themselves: whole numbers in a range not much wider than their count, as
 * ids are. To find one takes one look into memory, where a table of hashes takes three.
 */
import { none } from '../../aggregates/grouping/pair-table.ts';

/** `heads`: the first row of each key, from the least key `first` on. */
export interface Direct {
  readonly first: number;
  readonly heads: Uint32Array;
}

/** Places a row; a table of hashes takes as many bytes. */
const rangeMax = 4;

/**
 * The rows by their keys; those of one key are chained in `next`, in order. Undefined: the keys are no such numbers.
 */
export const directOf = (keys: Float64Array, next: Uint32Array): Direct | undefined => {
  const range = rangeOf(keys, next.length);
  if (!range || range.most - range.least >= next.length * rangeMax) return undefined;
  const first = range.least;
  const heads = new Uint32Array(range.most - first + 1).fill(none);
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

/** Undefined where one of them is no whole number that floats hold exactly. */
const rangeOf = (keys: Float64Array, length: number): { readonly least: number; readonly most: number } | undefined => {
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
