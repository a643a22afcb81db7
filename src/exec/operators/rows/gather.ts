/**
 * Rows for expressions that ask a subquery about them: each run of it has a price of its own (a scan, at times), so
 * rows are gathered and asked about together. The first answer comes after one batch; each time after that there are
 * more rows, within a budget.
 */
import type { PlanExpr } from '../../../query/plan/plan.ts';
import { someExpr } from '../../../query/plan/walk.ts';
import { concat } from '../../../vectors/concat.ts';
import type { Vector } from '../../../vectors/vector.ts';
import { type Item, type Step, batches, isBatch } from '../../operator.ts';
import type { Build } from '../build.ts';
import { compact, flatSize } from '../compact.ts';

/**
 * So many times more rows after each run, until there are so many rows or bytes; larger batches would be worked on in
 * pieces (`eachBatch`).
 */
const growth = 4;
const rowsMax = 1 << 18;
const bytesMax = 8 << 20;

/**
 * The step over gathered rows, where one of its expressions runs a pipeline for many rows at once; else the step
 * itself.
 */
export const gathering = (step: Step, exprs: readonly PlanExpr[], build: Build): Step =>
  exprs.some((e) => someExpr(e, (part) => part.kind === 'apply' && part.body.mode === 'joined'))
    ? (input) => inBatches(step(gathered(input, build)), build)
    : step;

function* gathered(input: Iterable<Item>, { context, memory }: Build): Generator<Item> {
  let rows: Vector[] = [];
  let count = 0;
  let bytes = 0;
  let wanted = context.batchRows;
  const all = (): Vector => {
    const together = concat(rows);
    memory.add(-bytes);
    rows = [];
    count = bytes = 0;
    wanted = Math.min(rowsMax, wanted * growth);
    return together;
  };
  try {
    for (const item of input) {
      if (!isBatch(item)) {
        yield item;
        continue;
      }
      const own = compact(item);
      const size = flatSize(own);
      rows.push(own);
      count += own.length;
      bytes += size;
      memory.add(size);
      if (count >= wanted || bytes >= bytesMax || memory.isOverWith(bytes)) yield all();
    }
    if (count > 0) yield all();
  } finally {
    memory.add(-bytes);
  }
}

function* inBatches(output: Iterable<Item>, { context }: Build): Generator<Item> {
  for (const item of output) {
    if (isBatch(item)) yield* batches(item, context.batchRows);
    else yield item;
  }
}
