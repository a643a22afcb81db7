/** Reads each line as a string. */
import { Builder } from '../../vectors/builder.ts';
import type { Vector } from '../../vectors/vector.ts';
import { ByteWindow } from '../byte-window.ts';
import { type ReadOptions, readLimits } from '../format.types.ts';
import { appendText } from '../text-cell.ts';

/** A carriage return at the end of a line is no part of it; a last line without a break counts. */
export async function* readLines(input: AsyncIterable<Uint8Array>, options: ReadOptions): AsyncGenerator<Vector> {
  const limits = readLimits(options);
  const window = new ByteWindow(input, { format: 'line', valueBytesMax: limits.valueBytesMax });
  let builder = new Builder();
  try {
    while (await window.more()) {
      while (window.nextLine()) {
        const { bytes, lineStart: start, lineEnd: end } = window;
        appendText(builder, bytes, start, end > start && bytes[end - 1] === 0x0d ? end - 1 : end);
        if (builder.length < limits.batchRows) continue;
        const batch = builder.finish();
        builder = new Builder();
        yield batch;
      }
    }
    if (builder.length > 0) yield builder.finish();
  } finally {
    await window.close();
  }
}
