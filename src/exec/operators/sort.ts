/** sort: all rows by key columns, stably; what does not fit into memory is spilled as sorted runs and merged. */
import type { SortKey } from '../../query/plan.ts';
import { type Vector, sizeOf, take } from '../../vectors/vector.ts';
import { concat } from '../../vectors/concat.ts';
import { type Item, type Stage, type Step, batches, stage, wait } from '../operator.ts';
import type { SpillRun } from '../source.ts';
import type { Build } from './build.ts';
import { mergeSorted } from './merge.ts';
import { type EvaluatedKey, guessing, keysOf, orderBy } from './sort-keys.ts';
import { pulled } from './scan.ts';

export const sort = (named: readonly SortKey[], reverse: boolean, build: Build): Step => {
  const guess = guessing(named, reverse, build.expression);
  return stage(() => sorter(guess, build));
};

/** Sorts what is pushed; `keysFor` tells the keys from the first batch. */
export const sorter = (keysFor: (first: Vector) => readonly EvaluatedKey[], { context, memory }: Build): Stage => {
  const spill = context.host.spill;
  const runs: SpillRun[] = [];
  let keys: readonly EvaluatedKey[] | undefined, rows: Vector[] = [], columns: Vector[][] = [], held = 0;

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
      keys ??= keysFor(batch);
      const own = yield* keysOf(batch, keys);
      rows.push(batch);
      own.forEach((v, k) => (columns[k] ??= []).push(v));
      const bytes = sizeOf(batch);
      held += bytes;
      memory.add(bytes);
      if (!memory.isOverWith(held)) return;
      if (!spill) return memory.isFull ? memory.refuse('sort') : undefined;
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
};
