/** sort: all rows by key columns, stably; what does not fit into memory is spilled as sorted runs and merged. */
import type { PlanExpr, SortKey } from '../../query/plan.ts';
import { type Vector, sizeOf, slice, take } from '../../vectors/vector.ts';
import { concat } from '../../vectors/concat.ts';
import { type Item, type Step, batches, stage, wait } from '../operator.ts';
import type { SpillRun } from '../source.ts';
import type { Build } from './build.ts';
import { mergeSorted } from './merge.ts';
import { type EvaluatedKey, keysFor, keysOf, orderBy } from './sort-keys.ts';
import { pulled } from './scan.ts';

export const sort = (named: readonly SortKey[], reverse: boolean, build: Build): Step => stage(() => {
  const { context, memory } = build, spill = context.host.spill;
  const runs: SpillRun[] = [];
  let keys: readonly EvaluatedKey[] | undefined, rows: Vector[] = [], columns: Vector[][] = [], held = 0;
  const expression = (e: PlanExpr): ReturnType<Build['expression']> => build.expression(e);

  /** The rows at hand in order; memory is free for the next ones. */
  const sorted = (): { readonly all: Vector; readonly order: Uint32Array } => {
    const all = concat(rows), order = orderBy(columns.map((c) => concat(c)), keys!, all.length);
    rows = [];
    columns = [];
    memory.add(-held);
    held = 0;
    return { all, order };
  };
  function* spillRun(): Generator<Item> {
    const { all, order } = sorted(), run = spill!.open();
    runs.push(run);
    for (let at = 0; at < order.length; at += context.batchRows) yield* wait(run.append(take(all, order.subarray(at, at + context.batchRows))));
  }

  return {
    *push(batch) {
      keys ??= keysFor(named, reverse, slice(batch, 0, 1), expression);
      const own = yield* keysOf(batch, keys);
      rows.push(batch);
      own.forEach((v, k) => (columns[k] ??= []).push(v));
      const bytes = sizeOf(batch);
      held += bytes;
      memory.add(bytes);
      if (!memory.isOver) return;
      if (!spill) memory.refuse('sort');
      yield* spillRun();
    },
    *finish() {
      if (rows.length === 0 && runs.length === 0) return;
      if (runs.length === 0) {
        const { all, order } = sorted();
        yield* batches(take(all, order), context.batchRows);
        return;
      }
      if (rows.length > 0) yield* spillRun();
      try {
        yield* mergeSorted(runs.map((r) => pulled(() => r.read(), context.signal)), keys!, context.batchRows);
      } finally {
        for (const r of runs) void r.close();
      }
    },
  };
});
