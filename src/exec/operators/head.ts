/** head: the first rows; the input is asked for no more than needed. */
import { slice } from '../../vectors/vector.ts';
import { type Step, stage } from '../operator.ts';

/** The first `count` rows. */
export const head = (count: number): Step =>
  stage(() => {
    let left = count;
    return {
      get done() {
        return left <= 0;
      },
      *push(batch) {
        const n = Math.min(left, batch.length);
        left -= n;
        if (n > 0) yield slice(batch, 0, n);
      },
    };
  });
