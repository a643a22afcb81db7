/** Reads each line as a string. */
import { Builder } from '../../vectors/builder.ts';
import type { Vector } from '../../vectors/vector.ts';
import { ByteWindow } from '../byte-window.ts';
import { type ReadOptions, readLimits } from '../format.types.ts';
import { appendText } from '../text-cell.ts';

/** A carriage return before the line break is no part of the line; a last line without a break counts. */
export async function* readLines(input: AsyncIterable<Uint8Array>, options: ReadOptions): AsyncGenerator<Vector> {
  const limits = readLimits(options);
  const window = new ByteWindow(input, { format: 'line', valueBytesMax: limits.valueBytesMax });
  let builder = new Builder();
  try {
    while (await window.more()) {
      for (;;) {
        const { bytes, start } = window;
        let end = bytes.indexOf(0x0a, start);
        if (end < 0 || end >= window.end) {
          if (!window.final || start === window.end) break;
          end = window.end;
        }
        appendText(builder, bytes, start, end > start && bytes[end - 1] === 0x0d && end < window.end ? end - 1 : end);
        window.start = Math.min(end + 1, window.end);
        if (builder.length < limits.batchRows) continue;
        yield builder.finish();
        builder = new Builder();
      }
    }
    if (builder.length > 0) yield builder.finish();
  } finally {
    await window.close();
  }
}
