/** shapes: the first value of each type, nulls and errors left out. */
import type { Type } from '../../vectors/type.ts';
import { take } from '../../vectors/vector.ts';
import { typesOf } from '../../vectors/fuse.ts';
import { withoutUnions } from '../expressions/lift.ts';
import type { AsyncEvaluator } from '../expressions/evaluator.ts';
import { type Step, evaluate, stage } from '../operator.ts';
import { kinds, rowsWithout } from './rows/kinds.ts';
import { rowsOf } from './rows/records.ts';

export const shapes = (expr: AsyncEvaluator): Step =>
  stage(() => {
    const seen = new Set<Type>();
    return {
      *push(batch) {
        const all = yield* evaluate(expr, batch);
        const values = rowsOf(all, rowsWithout(all, kinds.null, kinds.missing, kinds.quiet, kinds.error));
        if (values.length === 0) return;
        const { table, codes } = typesOf(values);
        const rows: number[] = [];
        const met = new Uint8Array(table.length);
        for (let i = 0; i < values.length; i++) {
          const code = codes ? codes[i] : 0;
          if (met[code]) continue;
          met[code] = 1;
          if (seen.has(table[code])) continue;
          seen.add(table[code]);
          rows.push(i);
        }
        if (rows.length > 0) yield withoutUnions(take(values, Uint32Array.from(rows)));
      },
    };
  });
