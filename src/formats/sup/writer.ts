/** Writes SUP: one value a line, or over several lines. */
import { supText } from '../../vectors/sup/print.ts';
import { supRowPrinter, supShared } from '../../vectors/sup/rows.ts';
import type { TypeNames } from '../../vectors/type.ts';
import { type Vector, valueAt } from '../../vectors/vector.ts';
import type { WriteOptions, Writer } from '../format.types.ts';
import { chunkBytes, chunkText } from '../row-chunks.ts';

export const createSupWriter = (options: WriteOptions): Writer => {
  const out = chunkText(options);
  const names: TypeNames = new Map();
  const shared = supShared();
  const indent = options.pretty ?? 0;
  const persist = options.persist ? new RegExp(options.persist) : undefined;
  const forget = (): void => {
    if (!persist) return names.clear();
    for (const name of names.keys()) if (!persist.test(name)) names.delete(name);
  };
  return {
    *write(batch: Vector) {
      const print =
        indent > 0
          ? (row: number): void => out.text(supText(valueAt(batch, row), { indent, names }))
          : supRowPrinter(batch, out, { names, shared });
      for (let row = 0; row < batch.length; row++) {
        print(row);
        out.byte(0x0a);
        if (names.size > 0) forget();
        if (out.length >= chunkBytes) yield out.take();
      }
      if (out.length > 0) yield out.take();
    },
    end: () => [],
  };
};
