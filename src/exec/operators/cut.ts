/** cut: a record of exactly these fields. */
import type { Vector } from '../../vectors/vector.ts';
import { type Step, eachBatch, evaluate } from '../operator.ts';
import type { Assign } from './put.ts';
import { byQuiet } from './rows/quiet.ts';
import { recordOfPaths, rowsOf, together } from './rows/records.ts';

export const cut = (assignments: readonly Assign[]): Step =>
  eachBatch(function* push(batch) {
    const values: Vector[] = [];
    for (const a of assignments) values.push(yield* evaluate(a.value, batch));
    yield together(
      batch.length,
      byQuiet(values, batch.length).map(({ rows, loud }) => {
        const own = assignments.filter((_, k) => loud[k]).map((a) => a.target);
        return {
          ...(rows && { rows }),
          values: recordOfPaths(
            own,
            values.filter((_, k) => loud[k]).map((v) => rowsOf(v, rows)),
            rows?.length ?? batch.length,
          ),
        };
      }),
    );
  });
