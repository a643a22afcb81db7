/** Rows of a format that has them line by line, in batches. */
import type { Builder } from '../vectors/builder.ts';
import type { Vector } from '../vectors/vector.ts';
import { Batches } from './batches.ts';
import type { ByteWindow } from './byte-window.ts';
import { type Faults, faultText, isRecordFault, rawBytes } from './faults/faults.ts';

/**
 * Gives each line of the window to `take`, which appends the rows that it makes to the builder. What came before a
 * fault is given out before the fault is thrown; the window is closed in the end. `faults`: takes lines that `take`
 * finds faulty; those have left no trace in the builder.
 */
export async function* batchesOfLines(
  window: ByteWindow,
  { batchRows, faults }: { readonly batchRows: number; readonly faults: Faults | undefined },
  take: (window: ByteWindow, builder: Builder) => void,
): AsyncGenerator<Vector> {
  const batches = new Batches(batchRows);
  let line = 0;
  try {
    while (await window.more()) {
      while (window.nextLine()) {
        const { bytes, lineStart, lineEnd } = window;
        line++;
        try {
          take(window, batches.begin());
        } catch (problem) {
          if (!faults || !isRecordFault(problem)) throw problem;
          faults.take(
            { line, column: 1, error: faultText(problem), raw: rawBytes(bytes, lineStart, lineEnd) },
            batches,
          );
        }
        batches.end(lineEnd - lineStart);
        if (batches.isFull || faults?.isDue()) yield batches.take();
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
