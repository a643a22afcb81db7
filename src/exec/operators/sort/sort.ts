/** sort: all rows by key columns, stably; what does not fit into memory is spilled as sorted runs and merged. */
import type { SortKey } from '../../../query/plan/plan.ts';
import { type Vector, slice, take } from '../../../vectors/vector.ts';
import { concat } from '../../../vectors/concat.ts';
import { type Item, type Stage, type Step, type Stream, batches, isBatch, stage, wait } from '../../operator.ts';
import type { SpillRun } from '../../source.ts';
import type { Build } from '../build.ts';
import { compact, flatSize, ordered } from '../compact.ts';
import { mergeSorted } from '../merge.ts';
import { type EvaluatedKey, guessing, keysOf, orderBy } from './keys.ts';
import { pulled } from '../scan.ts';

/** Runs that are merged at a time. */
const runsMax = 128;
/** What is read of a run at a time, in bytes; at least so many rows. */
const frameBytes = 256 << 10;
const frameRowsMin = 128;

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
export const sorter = (keysFor: (first: Vector) => readonly EvaluatedKey[], { context, memory }: Build): Stage => {
  const spill = context.host.spill;
  const runs: SpillRun[] = [];
  let keys: readonly EvaluatedKey[] | undefined;
  let rows: Vector[] = [];
  let columns: Vector[][] = [];
  let held = 0;
  let frameRows = context.batchRows;

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
    frameRows = Math.min(
      context.batchRows,
      Math.max(frameRowsMin, Math.floor((frameBytes * all.length) / Math.max(1, flatSize(all)))),
    );
    const run = spill!.open();
    const rows = ordered(all, order);
    for (let at = 0; at < rows.length; at += frameRows)
      yield* wait(run.append(slice(rows, at, Math.min(rows.length, at + frameRows))));
    free();
    runs.push(run);
    if (runs.length >= runsMax) yield* mergeRuns();
  }
  /** Many runs become one: each takes room while it is merged. */
  function* mergeRuns(): Generator<Item> {
    const run = spill!.open();
    for (const item of merged()) {
      if (isBatch(item))
        for (let at = 0; at < item.length; at += frameRows)
          yield* wait(run.append(slice(item, at, Math.min(item.length, at + frameRows))));
      else yield item;
    }
    for (const r of runs.splice(0)) void r.close();
    runs.push(run);
  }
  const merged = (): Stream =>
    mergeSorted(
      runs.map((r) => pulled(() => r.read(), context.signal)),
      keys!,
      context.batchRows,
      Math.max(1, frameRows >> 1),
    );

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
      if (rows.length === 0 && runs.length === 0) return;
      if (runs.length === 0) {
        const { all, order, free } = sorted();
        free();
        yield* batches(take(all, order), context.batchRows);
        return;
      }
      if (rows.length > 0) yield* spillRun();
      try {
        yield* merged();
      } finally {
        for (const r of runs) void r.close();
      }
    },
  };
};
