/** values: each expression for each row, row by row; quiet results are dropped. */
import { type Vector, take } from '../../vectors/vector.ts';
import { concat } from '../../vectors/concat.ts';
import type { AsyncEvaluator } from '../expressions/evaluator.ts';
import { type Step, batches, eachBatch, evaluate } from '../operator.ts';
import { withoutQuiet } from './rows/quiet.ts';

/** Batches of at most `rowsMax` rows. */
export const values = (exprs: readonly AsyncEvaluator[], rowsMax: number): Step =>
  eachBatch(function* push(batch) {
    const columns: Vector[] = [];
    for (const e of exprs) columns.push(yield* evaluate(e, batch));
    yield* batches(withoutQuiet(columns.length === 1 ? columns[0] : rowByRow(columns, batch.length)), rowsMax);
  });

/** Row 0 of every column, then row 1, .. */
const rowByRow = (columns: readonly Vector[], length: number): Vector => {
  const index = new Uint32Array(length * columns.length);
  let at = 0;
  for (let i = 0; i < length; i++) for (let k = 0; k < columns.length; k++) index[at++] = k * length + i;
  return take(concat(columns), index);
};
