/** count: each row with its number: {that, count}, or the record of an expression with the number as its last field. */
import { types } from '../../vectors/type.ts';
import type { Vector } from '../../vectors/vector.ts';
import type { AsyncEvaluator } from '../expressions/evaluator.ts';
import { type Step, evaluate, stage } from '../operator.ts';
import { field, record, rowsOf, setPath, shapesOf, together } from './rows/records.ts';

/** `name` is the field that the number goes to; without an expression the row is the field `that`. */
export const count = (expr: AsyncEvaluator | undefined, name: string): Step =>
  stage(() => {
    let n = 0;
    return {
      *push(batch) {
        const values = Float64Array.from({ length: batch.length }, (_, i) => n + i + 1);
        n += batch.length;
        const counts: Vector = { form: 'number', type: types.int64, length: batch.length, values };
        if (!expr) {
          yield record([field('that', batch), field(name, counts)], batch.length);
          return;
        }
        const made = yield* evaluate(expr, batch);
        yield together(
          batch.length,
          shapesOf(made).map(({ whole, record: r, rows }) => ({
            ...(rows && { rows }),
            values: r ? setPath(r, [name], rowsOf(counts, rows)) : whole,
          })),
        );
      },
    };
  });
