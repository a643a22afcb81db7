/** Reads each line as a string. */
import type { Vector } from '../../vectors/vector.ts';
import { ByteWindow } from '../byte-window.ts';
import { type ReadOptions, readLimits } from '../format.types.ts';
import { Faults } from '../faults/faults.ts';
import { batchesOfLines } from '../line-batches.ts';
import { appendText } from '../text-cell.ts';

/** A carriage return at the end of a line is no part of it; a last line without a break counts. */
export async function* readLines(input: AsyncIterable<Uint8Array>, options: ReadOptions): AsyncGenerator<Vector> {
  const limits = readLimits(options);
  const window = new ByteWindow(input, { format: 'line', valueBytesMax: limits.valueBytesMax });
  yield* batchesOfLines(
    window,
    { batchRows: limits.batchRows, faults: Faults.of(options) },
    ({ bytes, lineStart: start, lineEnd: end }, builder) => {
      appendText(builder, bytes, start, end > start && bytes[end - 1] === 0x0d ? end - 1 : end);
    },
  );
}
