/**
 * groupSlice: some rows of each group, as they come: LIMIT and OFFSET of subqueries that run for many outer rows at
 * once.
 */
import { take } from '../../../vectors/vector.ts';
import { GroupTable } from '../../aggregates/grouping/groups.ts';
import { Uint32List } from '../../../vectors/lists.ts';
import type { AsyncEvaluator } from '../../expressions/evaluator.ts';
import { type Step, evaluate, stage } from '../../operator.ts';
import type { Memory } from '../build.ts';

/** Rows [skip, skip + count) of each group; without a count all from `skip` on. */
export const groupSlice = (group: AsyncEvaluator, skip: number, count: number | undefined, memory: Memory): Step =>
  stage(() => {
    const table = new GroupTable(1);
    const seen = new Uint32List();
    const end = count === undefined ? Infinity : skip + count;
    let held = 0;
    return {
      *push(batch) {
        const ids = table.ids([yield* evaluate(group, batch)], batch.length);
        while (seen.length < table.size) seen.push(0);
        const bytes = table.bytes + seen.length * 4;
        memory.hold(bytes - held, 'limit in a subquery');
        held = bytes;
        const rows = new Uint32Array(batch.length);
        const counts = seen.array;
        let n = 0;
        for (let i = 0; i < batch.length; i++) {
          const at = counts[ids[i]]++;
          if (at >= skip && at < end) rows[n++] = i;
        }
        if (n > 0) yield n === batch.length ? batch : take(batch, rows.subarray(0, n));
      },
      *finish() {
        memory.add(-held);
      },
    };
  });
