/** fromEach: what each row's text names is opened and read. */
import { types } from '../../../vectors/type.ts';
import { type Vector, slice, valueAt } from '../../../vectors/vector.ts';
import { underValue, stringData } from '../../../vectors/value.ts';
import type { AsyncEvaluator } from '../../expressions/evaluator.ts';
import { wrapErrors } from '../../expressions/rows.ts';
import { type Step, batches, eachBatch, evaluate, isBatch } from '../../operator.ts';
import type { ExecutionContext } from '../../context.ts';
import { pulled } from '../../pulled.ts';

/** `expr` gives the path or URL that is read; without a `format` it is detected. */
export const fromEach = (expr: AsyncEvaluator, format: string | undefined, context: ExecutionContext): Step =>
  eachBatch(function* push(batch) {
    const names = yield* evaluate(expr, batch);
    for (let i = 0; i < names.length; i++) {
      const name = underValue(valueAt(names, i));
      if (name.type !== types.string) {
        yield wrapErrors('from encountered non-string input', slice(names, i, i + 1) satisfies Vector);
        continue;
      }
      for (const item of pulled(
        () => context.host.open(stringData(name.data), format, context.signal),
        context.signal,
      )) {
        if (isBatch(item)) yield* batches(item, context.batchRows);
        else yield item;
      }
    }
  });
