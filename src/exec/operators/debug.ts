/** debug: values for the debug channel; the input passes. */
import type { Vector } from '../../vectors/vector.ts';
import type { AsyncEvaluator } from '../expressions/evaluator.ts';
import { type Step, eachBatch, evaluate } from '../operator.ts';

/** Gives the values of `expr` to `give`, and its input on. */
export const debug = (expr: AsyncEvaluator, give: (batch: Vector) => void): Step =>
  eachBatch(function* push(batch) {
    give(yield* evaluate(expr, batch));
    yield batch;
  });
