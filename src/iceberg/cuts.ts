/** Where batches of rows are cut, so that each piece is within one row group of a file. */
import { shownSize } from '../vectors/shown-size.ts';
import { type Vector, slice } from '../vectors/vector.ts';

/** Rows of a group. */
export const groupRows = 100_000;
/** Rows that take more in memory, about, are a group however few they are. */
export const groupBytes = 48 << 20;

/**
 * Gives pieces of batches. A survey and the file that follows it are cut in the same places: what kind lists have
 * depends on what is in them together.
 */
export class Cuts {
  private rows = 0;
  private bytes = 0;

  /** `bytes`: in memory, about. `isEnd`: a group ends behind the piece. */
  *of(batch: Vector): Generator<{ readonly piece: Vector; readonly bytes: number; readonly isEnd: boolean }> {
    const rowBytes = batch.length > 0 ? shownSize(batch) / batch.length : 0;
    for (let start = 0; start < batch.length; ) {
      const fit = Math.max(1, Math.floor((groupBytes - this.bytes) / Math.max(1, rowBytes)));
      const end = Math.min(batch.length, start + groupRows - this.rows, start + fit);
      this.rows += end - start;
      const bytes = (end - start) * rowBytes;
      this.bytes += bytes;
      const isEnd = this.rows >= groupRows || this.bytes + rowBytes > groupBytes;
      if (isEnd) this.rows = this.bytes = 0;
      yield { piece: slice(batch, start, end), bytes, isEnd };
      start = end;
    }
  }
}
