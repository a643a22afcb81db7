/** The order of rows by words of 32 bits: radix sort, by comparison where rows are few. */
import { charge, checkStop } from '../../../vectors/stop.ts';

/** Most significant first; none where all rows are equal. */
export type Words = readonly Uint32Array[];

/** Rows between two looks at whether the sort is still wanted. */
const checkedRows = 1 << 17;
const digitBits = 11;
const buckets = 1 << digitBits;
const digitMask = buckets - 1;
/** Below so many rows comparing is faster than counting. */
const radixRowsMin = 512;

/** The order of the rows: `order[0]` is the first row. Stable. */
export const sortedOrder = (words: Words, length: number): Uint32Array => {
  charge(length * 2 * Uint32Array.BYTES_PER_ELEMENT, 'an order of rows');
  let order = new Uint32Array(length);
  for (let i = 0; i < length; i++) order[i] = i;
  if (words.length === 0 || length < 2) return order;
  if (length < radixRowsMin) return order.sort((a, b) => compareRows(words, a, b) || a - b);
  let spare = new Uint32Array(length);
  for (let k = words.length - 1; k >= 0; k--) {
    checkStop();
    const word = words[k];
    const counts = countDigits(word, length);
    for (let digit = 0; digit < counts.length; digit++) {
      const shift = digit * digitBits;
      if (counts[digit][(word[0] >>> shift) & digitMask] === length) continue;
      distribute(word, shift, counts[digit], order, spare);
      [order, spare] = [spare, order];
    }
  }
  return order;
};
const compareRows = (words: Words, a: number, b: number): number => {
  for (const w of words) {
    const x = w[a];
    const y = w[b];
    if (x !== y) return x < y ? -1 : 1;
  }
  return 0;
};
const countDigits = (word: Uint32Array, length: number): readonly Uint32Array[] => {
  checkStop();
  const a = new Uint32Array(buckets);
  const b = new Uint32Array(buckets);
  const c = new Uint32Array(buckets);
  for (let i = 0; i < length; i++) {
    const x = word[i];
    a[x & digitMask]++;
    b[(x >>> digitBits) & digitMask]++;
    c[x >>> (2 * digitBits)]++;
  }
  return [a, b, c];
};
const distribute = (
  word: Uint32Array,
  shift: number,
  counts: Uint32Array,
  from: Uint32Array,
  to: Uint32Array,
): void => {
  let at = 0;
  for (let k = 0; k < buckets; k++) {
    const n = counts[k];
    counts[k] = at;
    at += n;
  }
  for (let start = 0; start < from.length; start += checkedRows) {
    checkStop();
    const end = Math.min(from.length, start + checkedRows);
    for (let i = start; i < end; i++) {
      const row = from[i];
      to[counts[(word[row] >>> shift) & digitMask]++] = row;
    }
  }
};
