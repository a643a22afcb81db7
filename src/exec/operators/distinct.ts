/** distinct: the first row for each value (type and value) of the expression. */
import { take } from '../../vectors/vector.ts';
import { ColumnCodes } from '../aggregates/codes.ts';
import type { AsyncEvaluator } from '../expressions/evaluator.ts';
import { type Step, evaluate, stage } from '../operator.ts';
import type { Memory } from './build.ts';

export const distinct = (expr: AsyncEvaluator, memory: Memory): Step => stage(() => {
  const seen = new ColumnCodes();
  let known = 0;
  return {
    *push(batch) {
      const before = seen.bytes;
      const codes = seen.codes(yield* evaluate(expr, batch));
      memory.hold(seen.bytes - before, 'distinct');
      if (seen.size === known) return;
      const rows = new Uint32Array(batch.length), met = new Uint8Array(seen.size - known);
      let n = 0;
      for (let i = 0; i < batch.length; i++) {
        const fresh = codes[i]! - known;
        if (fresh < 0 || met[fresh]) continue;
        met[fresh] = 1;
        rows[n++] = i;
      }
      known = seen.size;
      if (n > 0) yield take(batch, rows.subarray(0, n));
    },
  };
});
