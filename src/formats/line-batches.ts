/** Rows of a format that has them line by line, in batches. */
import type { Builder } from '../vectors/builder.ts';
import type { Vector } from '../vectors/vector.ts';
import { Batches } from './batches.ts';
import type { ByteWindow } from './byte-window.ts';

/**
 * Gives each line of the window to `take`, which appends the rows that it makes to the builder. What came before a
 * fault is given out before the fault is thrown; the window is closed in the end.
 */
export async function* batchesOfLines(
  window: ByteWindow,
  batchRows: number,
  take: (window: ByteWindow, builder: Builder) => void,
): AsyncGenerator<Vector> {
  const batches = new Batches(batchRows);
  try {
    while (await window.more()) {
      while (window.nextLine()) {
        take(window, batches.begin());
        batches.end(window.lineEnd - window.lineStart);
        if (batches.isFull) yield batches.take();
      }
    }
  } catch (problem) {
    if (!batches.isEmpty) yield batches.take();
    throw problem;
  } finally {
    await window.close();
  }
  if (!batches.isEmpty) yield batches.take();
}
