/** Writes JSON: one value a line, over several lines, or all in one array. */
import { type Vector, dataAt, typeAt } from '../../vectors/vector.ts';
import type { WriteOptions, Writer } from '../format.types.ts';
import { chunkBytes, chunkText } from '../row-chunks.ts';
import { jsonContext, jsonRowPrinter } from './rows.ts';
import { jsonText } from './text.ts';

export const createJsonWriter = (options: WriteOptions): Writer => {
  const out = chunkText(options);
  const indent = options.httpArray ? 0 : (options.pretty ?? 0);
  const context = jsonContext();
  let first = !options.part;
  return {
    *write(batch: Vector) {
      const print =
        indent > 0
          ? (row: number): void => out.text(jsonText(typeAt(batch, row), dataAt(batch, row), indent))
          : jsonRowPrinter(batch, out, context);
      for (let row = 0; row < batch.length; row++) {
        if (options.httpArray) out.byte(first ? 0x5b : 0x2c);
        first = false;
        print(row);
        if (!options.httpArray) out.byte(0x0a);
        if (out.length >= chunkBytes) yield out.take();
      }
      if (out.length > 0) yield out.take();
    },
    *end() {
      if (!options.httpArray || options.part) return;
      out.ascii(first ? '[]\n' : ']\n');
      yield out.take();
    },
  };
};
