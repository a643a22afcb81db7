/** assert: rows for which the expression is true; others become errors that name it. */
import { stringValue } from '../../vectors/value.ts';
import { type Vector, take } from '../../vectors/vector.ts';
import { constantOf } from '../../vectors/builder.ts';
import type { AsyncEvaluator } from '../expressions/evaluator.ts';
import { withoutUnions } from '../expressions/lift.ts';
import { rowsWith, truth, truthOf, wrapErrors } from '../expressions/rows.ts';
import { type Step, eachBatch, evaluate } from '../operator.ts';
import { withoutQuiet } from './rows/quiet.ts';
import { field, record, together } from './rows/records.ts';

export const assertion = (expr: AsyncEvaluator, text: string): Step =>
  eachBatch(function* push(given) {
    const batch = withoutQuiet(given);
    const tested = yield* evaluate(expr, batch);
    const codes = truthOf(tested);
    const groups: { readonly rows: Uint32Array; readonly values: Vector }[] = [];
    const add = (code: number, make: (rows: Uint32Array) => Vector): void => {
      const rows = rowsWith(codes, batch.length, code);
      if (rows.length > 0) groups.push({ rows, values: make(rows) });
    };
    add(truth.true, (rows) => take(batch, rows));
    for (const code of [truth.false, truth.null]) add(code, (rows) => failed(text, take(batch, rows)));
    add(truth.error, (rows) => withoutUnions(take(tested, rows)));
    add(truth.other, (rows) => wrapErrors('?-operator: bool predicate required', withoutUnions(take(tested, rows))));
    yield groups.length === 1 && groups[0].rows.length === batch.length
      ? groups[0].values
      : together(batch.length, groups);
  });

const failed = (text: string, on: Vector): Vector => ({
  form: 'error',
  length: on.length,
  inner: record(
    [
      field('message', constantOf(stringValue('assertion failed'), on.length)),
      field('expr', constantOf(stringValue(text), on.length)),
      field('on', on),
    ],
    on.length,
  ),
});
