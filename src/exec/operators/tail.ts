/**
 * tail: the last rows. More than fit into memory are kept in two spill runs, of which the older one goes when the
 * younger has enough rows.
 */
import { sizeOf } from '../../vectors/sizes.ts';
import { type Vector, flatten, slice } from '../../vectors/vector.ts';
import { type Item, type Step, isBatch, stage, wait } from '../operator.ts';
import type { SpillRun } from '../source.ts';
import type { Build } from './build.ts';
import { compact } from './compact.ts';
import { pulled } from '../pulled.ts';

interface Spilled {
  readonly run: SpillRun;
  rows: number;
}

/** The last `count` rows. */
export const tail = (count: number, { memory, context }: Build): Step =>
  stage(() => {
    let kept: Vector[] = [];
    let rows = 0;
    let held = 0;
    let older: Spilled | undefined;
    let younger: Spilled | undefined;
    const hold = (bytes: number): void => {
      held += bytes;
      memory.add(bytes);
    };
    function* spillRows(): Generator<Item> {
      for (const batch of kept) {
        if (!younger || younger.rows >= count) {
          void older?.run.close();
          older = younger;
          younger = { run: context.host.spill!.open(), rows: 0 };
        }
        yield* wait(younger.run.append(batch));
        younger.rows += batch.length;
      }
      kept = [];
      rows = 0;
      hold(-held);
    }
    return {
      done: count === 0,
      *push(batch) {
        const own = compact(batch);
        kept.push(own);
        rows += own.length;
        hold(sizeOf(own));
        while (rows - kept[0].length >= count) {
          const gone = kept.shift()!;
          rows -= gone.length;
          hold(-sizeOf(gone));
        }
        if (!memory.isOverWith(held)) return;
        if (context.host.spill) yield* spillRows();
        else if (memory.isFull) memory.refuse('tail');
      },
      *finish() {
        let skip = Math.max(0, (older?.rows ?? 0) + (younger?.rows ?? 0) + rows - count);
        const rest = function* rest(batch: Vector): Generator<Item> {
          const from = Math.min(skip, batch.length);
          skip -= from;
          if (from < batch.length) yield from === 0 ? batch : flatten(slice(batch, from, batch.length));
        };
        try {
          for (const spilled of [older, younger]) {
            if (!spilled) continue;
            for (const item of pulled(() => spilled.run.read(), context.signal)) {
              if (isBatch(item)) yield* rest(item);
              else yield item;
            }
          }
          for (const batch of kept) yield* rest(batch);
        } finally {
          hold(-held);
          void older?.run.close();
          void younger?.run.close();
        }
      },
    };
  });
