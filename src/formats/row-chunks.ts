/** Rows printed one after the other, given out in chunks; for formats that cannot hold every row. */
import { TextOut } from '../vectors/texts/out.ts';
import type { WriteOptions } from './format.types.ts';

/** Text that is gathered before it is given out: each chunk wakes the thread that sends it. */
export const chunkBytes = 1 << 19;

/** Where a writer of text prints. */
export const chunkText = (options: WriteOptions): TextOut => new TextOut(chunkBytes * 2, options.buffers);

/**
 * Prints rows 0 to `count`. When one cannot be printed, what came before it is given out, nothing of it, and its error
 * is thrown.
 */
export function* rowChunks(out: TextOut, count: number, print: (row: number) => void): Generator<Uint8Array> {
  for (let row = 0; row < count; row++) {
    const start = out.length;
    try {
      print(row);
    } catch (problem) {
      out.cutTo(start);
      if (out.length > 0) yield out.take();
      throw problem;
    }
    if (out.length >= chunkBytes) yield out.take();
  }
  if (out.length > 0) yield out.take();
}
