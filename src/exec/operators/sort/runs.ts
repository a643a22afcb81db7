/**
 * Ranks of byte runs (strings, addresses): radix over eight bytes at a time, deeper only where runs share what was
 * compared.
 */
import { charge, checkStop, checkStopAt } from '../../../vectors/stop.ts';
import { sortedOrder } from './radix.ts';

/** Of each run: its rank, its row, and whether it differs from the one before. */
const rankBytes = 2 * Uint32Array.BYTES_PER_ELEMENT + 1;

/** The rank of each run among all, equal runs sharing one. `lengthFirst`: shorter runs come before longer ones. */
export const rankRuns = (
  bytes: Uint8Array,
  offsets: Uint32Array,
  length: number,
  lengthFirst: boolean,
): Uint32Array => {
  const ranks = new Uint32Array(length);
  if (length < 2) return ranks;
  charge(length * rankBytes, 'an order of texts');
  const rows = new Uint32Array(length);
  for (let i = 0; i < length; i++) rows[i] = i;
  const starts = new Uint8Array(length);
  sortRange({ bytes, offsets, lengthFirst, rows, starts }, 0, length, 0);
  let rank = 0;
  for (let i = 0; i < length; i++) {
    if (i > 0 && starts[i]) rank++;
    ranks[rows[i]] = rank;
  }
  return ranks;
};

/** `rows` is sorted in place; `starts[i]`: row i differs from the one before it. */
interface Job {
  readonly bytes: Uint8Array;
  readonly offsets: Uint32Array;
  readonly lengthFirst: boolean;
  readonly rows: Uint32Array;
  readonly starts: Uint8Array;
}

/** Fewer are ranked in no time. */
const checkedRows = 512;

/** Sorts rows[start, end), whose first `depth` bytes are equal. */
const sortRange = (job: Job, start: number, end: number, depth: number): void => {
  const work: [number, number, number][] = [[start, end, depth]];
  for (let next = work.pop(); next; next = work.pop()) {
    const [from, to, skip] = next;
    if (to - from > checkedRows) checkStop();
    const words = prefixWords(job, from, to, skip);
    const order = sortedOrder(words, to - from);
    const moved = job.rows.slice(from, to);
    for (let i = 0; i < order.length; i++) job.rows[from + i] = moved[order[i]];
    let runStart = from;
    for (let i = 1; i <= order.length; i++) {
      checkStopAt(i);
      if (i < order.length && words.every((w) => w[order[i]] === w[order[i - 1]])) continue;
      if (i < order.length) job.starts[from + i] = 1;
      // What has ended within these bytes is equal; the length word says so for all of the run.
      if (from + i - runStart > 1 && words.at(-1)![order[i - 1]] > 8) work.push([runStart, from + i, skip + 8]);
      runStart = from + i;
    }
  }
};

/**
 * Eight bytes from `skip` on and how many bytes are left from there (9: more than eight); the length before all if that
 * counts.
 */
const prefixWords = (
  { bytes, offsets, lengthFirst, rows }: Job,
  from: number,
  to: number,
  skip: number,
): Uint32Array[] => {
  const n = to - from;
  charge(n * 3 * Uint32Array.BYTES_PER_ELEMENT, 'an order of texts');
  const high = new Uint32Array(n);
  const low = new Uint32Array(n);
  const left = new Uint32Array(n);
  for (let i = 0; i < n; i++) {
    checkStopAt(i);
    const row = rows[from + i];
    const at = offsets[row] + skip;
    const end = offsets[row + 1];
    const rest = end - at;
    left[i] = rest > 8 ? 9 : rest;
    high[i] =
      ((at < end ? bytes[at] : 0) << 24) |
      ((at + 1 < end ? bytes[at + 1] : 0) << 16) |
      ((at + 2 < end ? bytes[at + 2] : 0) << 8) |
      (at + 3 < end ? bytes[at + 3] : 0);
    low[i] =
      ((at + 4 < end ? bytes[at + 4] : 0) << 24) |
      ((at + 5 < end ? bytes[at + 5] : 0) << 16) |
      ((at + 6 < end ? bytes[at + 6] : 0) << 8) |
      (at + 7 < end ? bytes[at + 7] : 0);
  }
  if (!lengthFirst || skip > 0) return [high, low, left];
  const lengths = Uint32Array.from({ length: n }, (_, i) => offsets[rows[from + i] + 1] - offsets[rows[from + i]]);
  return [lengths, high, low, left];
};
