/** Rows of a format that has them line by line, in batches. */
import { Builder } from '../vectors/builder.ts';
import type { Vector } from '../vectors/vector.ts';
import type { ByteWindow } from './byte-window.ts';

/**
 * Gives each line of the window to `take`, which appends the rows that it makes to the builder. What came before a fault is given out before the fault is thrown;
 * the window is closed in the end.
 */
export async function* batchesOfLines(window: ByteWindow, batchRows: number, take: (window: ByteWindow, builder: Builder) => void): AsyncGenerator<Vector> {
  let builder = new Builder();
  try {
    while (await window.more()) {
      while (window.nextLine()) {
        take(window, builder);
        if (builder.length < batchRows) continue;
        const batch = builder.finish();
        builder = new Builder();
        yield batch;
      }
    }
  } catch (problem) {
    if (builder.length > 0) yield builder.finish();
    throw problem;
  } finally {
    await window.close();
  }
  if (builder.length > 0) yield builder.finish();
}
