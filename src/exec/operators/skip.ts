/** skip: all but the first rows. */
import { slice } from '../../vectors/vector.ts';
import { type Step, stage } from '../operator.ts';

/** All but the first `count` rows. */
export const skip = (count: number): Step =>
  stage(() => {
    let left = count;
    return {
      *push(batch) {
        const n = Math.min(left, batch.length);
        left -= n;
        if (n < batch.length) yield slice(batch, n, batch.length);
      },
    };
  });
