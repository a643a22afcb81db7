/** sort: all rows by key columns, stably; what does not fit into memory is spilled as sorted runs and merged. */
import type { SortKey } from '../../../query/plan/plan.ts';
import { type Vector, take } from '../../../vectors/vector.ts';
import { concat } from '../../../vectors/concat.ts';
import { type Item, type Stage, type Step, batches, stage } from '../../operator.ts';
import type { Build } from '../build.ts';
import { compact, flatSize } from '../compact.ts';
import { type EvaluatedKey, guessing, keysOf, orderBy } from './keys.ts';
import { SortedRuns } from './spilled.ts';

/** What a row takes while it is put in order, and what each key takes for it. */
const orderBytes = 8;
const wordBytes = 8;

/**
 * The operator as a step. Without `named` the key is guessed from the first value; `reverse` counts for a guessed key
 * alone.
 * @throws query-memory when the budget is used up and nothing can be spilled
 */
export const sort = (named: readonly SortKey[], reverse: boolean, build: Build): Step => {
  const guess = guessing(named, reverse, build.expression);
  return stage(() => sorter(guess, build));
};

/** Sorts what is pushed; `keysFor` tells the keys from the first batch. */
export const sorter = (keysFor: (first: Vector) => readonly EvaluatedKey[], build: Build): Stage => {
  const { context, memory } = build;
  const spill = context.host.spill;
  let runs: SortedRuns | undefined;
  let keys: readonly EvaluatedKey[] | undefined;
  let rows: Vector[] = [];
  let columns: Vector[][] = [];
  let held = 0;

  /** The rows at hand and their order, and what they count for until `free`. */
  const sorted = (): { readonly all: Vector; readonly order: Uint32Array; readonly free: () => void } => {
    const own = columns;
    const batchesHeld = rows;
    rows = [];
    columns = [];
    const order = orderBy(
      own.map((c) => concat(c)),
      keys!,
      batchesHeld.reduce((n, v) => n + v.length, 0),
    );
    own.length = 0;
    const all = concat(batchesHeld);
    const bytes = held;
    held = 0;
    return {
      all,
      order,
      free: () => {
        memory.add(-bytes);
      },
    };
  };
  function* spillRun(): Generator<Item> {
    const { all, order, free } = sorted();
    yield* (runs ??= new SortedRuns(build, keys!)).add(all, order);
    free();
  }

  return {
    *push(given) {
      keys ??= keysFor(given);
      const batch = compact(given);
      const own = yield* keysOf(batch, keys);
      rows.push(batch);
      own.forEach((v, k) => (columns[k] ??= []).push(v));
      // Rows are put together in one piece and then in order, besides their keys.
      const bytes = flatSize(batch) * 2.5 + batch.length * (orderBytes + wordBytes * keys.length);
      held += bytes;
      memory.add(bytes);
      if (!memory.isOverWith(held)) return;
      if (!spill) return memory.isFull ? memory.refuse('sort') : undefined;
      yield* spillRun();
    },
    *finish() {
      if (!runs) {
        if (rows.length === 0) return;
        const { all, order, free } = sorted();
        free();
        yield* batches(take(all, order), context.batchRows);
        return;
      }
      try {
        if (rows.length > 0) yield* spillRun();
        yield* runs.merged();
      } finally {
        runs.close();
      }
    },
  };
};
