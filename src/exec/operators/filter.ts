/** filter (where): rows for which the expression is true. */
import { type Vector, take } from '../../vectors/vector.ts';
import type { AsyncEvaluator } from '../expressions/evaluator.ts';
import { isTrue } from '../expressions/rows.ts';
import { type Step, eachBatch, evaluate } from '../operator.ts';

/** The rows for which `test` is true. */
export const filter = (test: AsyncEvaluator): Step => eachBatch(function* push(batch) {
  const kept = keep(batch, yield* evaluate(test, batch));
  if (kept.length > 0) yield kept;
});

/** The rows for which `truth` is true. */
export const keep = (batch: Vector, truth: Vector): Vector => {
  if (truth.form === 'constant' && truth.inner.form === 'bool' && truth.inner.values[0] === 1) return batch;
  const rows = isTrue(truth);
  return rows.length === batch.length ? batch : take(batch, rows);
};
