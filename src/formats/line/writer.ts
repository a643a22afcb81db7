/** Writes strings as they are and everything else as SUP, one a line. */
import { supText } from '../../vectors/sup-print.ts';
import { TextOut } from '../../vectors/text-out.ts';
import { types } from '../../vectors/type.ts';
import { type Vector, valueAt } from '../../vectors/vector.ts';
import { underValue } from '../../vectors/value.ts';
import type { WriteOptions, Writer } from '../format.types.ts';

const chunkBytes = 1 << 16;

export const createLineWriter = (_options: WriteOptions): Writer => {
  const out = new TextOut(chunkBytes * 2);
  return {
    *write(batch: Vector) {
      for (let row = 0; row < batch.length; row++) {
        const value = valueAt(batch, row), under = underValue(value);
        out.text(under.type === types.string ? (under.data as string) : supText(value));
        out.byte(0x0a);
        if (out.length >= chunkBytes) yield out.take();
      }
      if (out.length > 0) yield out.take();
    },
    end: () => [],
  };
};
