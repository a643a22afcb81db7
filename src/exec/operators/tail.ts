/** tail: the last rows. */
import { type Vector, flatten, sizeOf, slice } from '../../vectors/vector.ts';
import { type Step, stage } from '../operator.ts';
import type { Memory } from './build.ts';

export const tail = (count: number, memory: Memory): Step => stage(() => {
  const kept: Vector[] = [];
  let rows = 0;
  return {
    done: count === 0,
    *push(batch) {
      kept.push(batch);
      rows += batch.length;
      memory.hold(sizeOf(batch), 'tail');
      while (rows - kept[0]!.length >= count) {
        const gone = kept.shift()!;
        rows -= gone.length;
        memory.add(-sizeOf(gone));
      }
    },
    *finish() {
      if (rows > count) kept[0] = flatten(slice(kept[0]!, rows - count, kept[0]!.length));
      yield* kept;
    },
  };
});
