/**
 * How many rows are worked on at once: as many as take a short while, by what the last ones took. Patterns over long
 * texts take a second for what a scan gives at a time, in which no other query of the thread has a turn.
 *
 * Most rows take far less than that, and come as they are.
 */
import { sizeOf } from '../../../vectors/sizes.ts';
import type { Vector } from '../../../vectors/vector.ts';
import { flatSize } from '../compact.ts';

/** What takes longer twice comes in pieces from then on, of about so long each. */
const longMs = 50;
const pieceMs = 20;
/**
 * Of long rows, if they have more bytes together, a piece has so many: what looks at each byte may take long. Rows of a
 * usual length are not cut: answers in BSUP and SUP took 1.3 times as long.
 */
const longRowBytes = 1 << 10;
const largeBytes = 1 << 20;
const firstBytes = 256 << 10;
/** By so many times pieces grow that took less than half of their time; then rows come as they are again. */
const growth = 4;
const rowsMax = 1 << 16;
/**
 * A dictionary of more bytes is worked on once for all rows of a piece: pieces have several times its length, where
 * rows are that many.
 */
const dictionaryBytesMax = 64 << 10;
const dictionaryTimes = 4;

export class Pace {
  /** Undefined where there is nothing to heed. */
  private rows: number | undefined;
  /** Milliseconds a row of the last piece, if that took long: the system may have given the processor to others. */
  private slow = 0;

  /** How many of these rows come next. */
  rowsOf(batch: Vector): number {
    const { length } = batch;
    let rows = this.rows;
    if (rows === undefined) {
      const bytes = length > 1 ? flatSize(batch) : 0;
      if (bytes <= Math.max(largeBytes, longRowBytes * length)) return length;
      rows = Math.max(1, Math.floor((length * firstBytes) / bytes));
    }
    const wanted = Math.max(rows, dictionaryTimes * longestDictionary(batch));
    // A batch somewhat larger is better than one and a small rest.
    return wanted * 1.5 >= length ? length : wanted;
  }

  /** So many rows took so long. */
  took(rows: number, ms: number): void {
    const before = this.slow;
    this.slow = ms > longMs ? ms / rows : 0;
    if (this.slow > 0) {
      const least = Math.min(before, this.slow);
      if (least * rows > longMs) this.rows = Math.max(1, Math.floor(pieceMs / least));
    } else if (this.rows !== undefined && rows >= this.rows && ms < pieceMs / 2)
      this.rows = rows * growth > rowsMax ? undefined : rows * growth;
  }
}

const longestDictionary = (batch: Vector): number => {
  const columns = batch.form === 'record' ? batch.fields.map((f) => f.values) : [batch];
  let longest = 0;
  for (const c of columns)
    if (c.form === 'dictionary' && c.values.length > longest && sizeOf(c.values) > dictionaryBytesMax)
      longest = c.values.length;
  return longest;
};
