/** filter (where): rows for which the expression is true. */
import { type Vector, take } from '../../vectors/vector.ts';
import { type Item, type Step, eachBatch, wait } from '../operator.ts';
import type { RowTest } from './rows/row-test.ts';

/** The rows for which `test` is true. */
export const filter = (test: RowTest): Step =>
  eachBatch(function* push(batch) {
    const kept = yield* tested(batch, test);
    if (kept.length > 0) yield kept;
  });

/** The rows of a batch for which a test is true. */
export function* tested(batch: Vector, test: RowTest): Generator<Item, Vector> {
  const answer = test(batch);
  const rows = answer instanceof Promise ? yield* wait(answer) : answer;
  return rows ? take(batch, rows) : batch;
}
