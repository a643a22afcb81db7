/**
 * fuse: all values upcast to the fusion of their types. The input is held, or spilled, until its last type is known.
 */
import type { Type } from '../../vectors/type.ts';
import { sizeOf } from '../../vectors/sizes.ts';
import type { Vector } from '../../vectors/vector.ts';
import { fuseRows } from '../../vectors/fuse.ts';
import { upcastVector } from '../../vectors/upcast.ts';
import { type Item, type Step, isBatch, stage, wait } from '../operator.ts';
import type { SpillRun } from '../source.ts';
import type { Build } from './build.ts';
import { pulled } from '../pulled.ts';

export const fuse = ({ context, memory }: Build): Step =>
  stage(() => {
    let type: Type | undefined;
    let rows: Vector[] = [];
    let held = 0;
    let run: SpillRun | undefined;
    function* spillRows(): Generator<Item> {
      run ??= context.host.spill!.open();
      for (const batch of rows) yield* wait(run.append(batch));
      rows = [];
      memory.add(-held);
      held = 0;
    }
    return {
      *push(batch) {
        type = fuseRows(batch, type);
        rows.push(batch);
        const bytes = sizeOf(batch);
        held += bytes;
        memory.add(bytes);
        if (!memory.isOverWith(held)) return;
        if (!context.host.spill) return memory.isFull ? memory.refuse('fuse') : undefined;
        yield* spillRows();
      },
      *finish() {
        if (run) {
          try {
            for (const item of pulled(() => run!.read(), context.signal))
              yield isBatch(item) ? upcastVector(item, type!) : item;
          } finally {
            void run.close();
          }
        }
        for (const batch of rows) yield upcastVector(batch, type!);
        memory.add(-held);
      },
    };
  });
