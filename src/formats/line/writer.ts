/** Writes strings as they are and everything else as SUP, one a line. */
import { supRowPrinter } from '../../vectors/sup/rows.ts';
import { TextOut } from '../../vectors/texts/out.ts';
import { type TypeNames, types } from '../../vectors/type.ts';
import type { Vector } from '../../vectors/vector.ts';
import type { WriteOptions, Writer } from '../format.types.ts';
import { chunkBytes, rowChunks } from '../row-chunks.ts';

export const createLineWriter = (_options: WriteOptions): Writer => {
  const out = new TextOut(chunkBytes * 2);
  return {
    *write(batch: Vector) {
      const print = linePrinter(batch, out);
      yield* rowChunks(out, batch.length, (row) => {
        print(row);
        out.byte(0x0a);
      });
    },
    end: () => [],
  };
};

const linePrinter = (v: Vector, out: TextOut): ((row: number) => void) => {
  const raw = rawPrinter(v, out);
  // Every line stands by itself: no name is known from the ones before.
  const names: TypeNames = new Map();
  const print = supRowPrinter(v, out, { names });
  return (row) => {
    if (raw?.(row)) return;
    print(row);
    if (names.size > 0) names.clear();
  };
};

/**
 * Prints a row if it is a string, also under names, and says whether it was; undefined where no row is. Members of
 * unions are decorated like other values.
 */
const rawPrinter = (v: Vector, out: TextOut): ((row: number) => boolean) | undefined => {
  switch (v.form) {
    case 'bytes':
      return v.type !== types.string
        ? undefined
        : (row) => {
            out.raw(v.bytes, v.offsets[row], v.offsets[row + 1]);
            return true;
          };
    case 'named':
      return rawPrinter(v.inner, out);
    case 'dynamic':
      return rawOf(v, v.parts, out);
    case 'selected':
      return via(rawPrinter(v.base, out), (row) => v.index[row]);
    case 'dictionary':
      return via(rawPrinter(v.values, out), (row) => v.codes[row]);
    case 'constant':
      return via(rawPrinter(v.inner, out), () => 0);
    default:
      return undefined;
  }
};
type RawPrinter = ReturnType<typeof rawPrinter>;
const via = (print: RawPrinter, look: (row: number) => number): RawPrinter => print && ((row) => print(look(row)));
const rawOf = (
  { tags, slots }: { readonly tags: Uint32Array; readonly slots: Uint32Array },
  parts: readonly Vector[],
  out: TextOut,
): RawPrinter => {
  const printers = parts.map((part) => rawPrinter(part, out));
  return printers.some((p) => p !== undefined) ? (row) => printers[tags[row]]?.(slots[row]) ?? false : undefined;
};
