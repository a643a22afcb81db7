/** Sources: pools and files by way of the host, literal rows, one null, nothing. */
import type { PlanExpr, Scan } from '../../query/plan.ts';
import { type Vector, nulls } from '../../vectors/vector.ts';
import { vectorOf } from '../../vectors/builder.ts';
import type { Value } from '../../vectors/value.ts';
import { concat } from '../../vectors/concat.ts';
import { type Item, type Stream, batches, evaluate, wait } from '../operator.ts';
import type { ScanRequest } from '../source.ts';
import type { Build } from './build.ts';
import { keep } from './filter.ts';

/** Batches of an asynchronous source as a stream; the source is returned when the stream is. */
export function* pulled(open: () => AsyncIterable<Vector>, signal: AbortSignal): Generator<Item> {
  signal.throwIfAborted();
  const iterator = open()[Symbol.asyncIterator]();
  let ended = false;
  try {
    for (;;) {
      const next = yield* wait(iterator.next());
      signal.throwIfAborted();
      if (next.done) {
        ended = true;
        return;
      }
      if (next.value.length > 0) yield next.value;
    }
  } finally {
    // Nobody waits for a source that is given up; its failure then is of no interest.
    if (!ended) iterator.return?.().catch(() => undefined);
  }
}

export const scan = (op: Scan, build: Build): (() => Stream) => {
  const { context } = build, { progress } = context.host, test = op.filter && build.expression(op.filter);
  const request: ScanRequest = {
    ordered: op.ordered, signal: context.signal,
    ...(op.columns && { columns: op.columns }), ...(op.pruner && { pruner: op.pruner }), ...(op.limit !== undefined && { limit: op.limit }),
  };
  return function* read(): Generator<Item> {
    for (const source of op.sources) {
      for (const item of pulled(() => context.host.scan(source, request), context.signal)) {
        if (item instanceof Promise || !('form' in item)) {
          yield item;
          continue;
        }
        progress.recordsRead += item.length;
        const kept = test ? keep(item, yield* evaluate(test, item)) : item;
        progress.recordsMatched += kept.length;
        yield* batches(kept, context.batchRows);
      }
    }
  };
};

export const oneNull = function* oneNull(): Generator<Item> { yield nulls(1); };
export const nothing = function* nothing(): Generator<Item> { /* no values */ };

/** Literal rows. */
export const rows = (exprs: readonly PlanExpr[], build: Build): (() => Stream) => {
  const literals: Value[] = [];
  for (const e of exprs) if (e.kind === 'literal') literals.push(e.value);
  if (literals.length === exprs.length) {
    const all = vectorOf(literals);
    return () => batches(all, build.context.batchRows);
  }
  const evaluators = exprs.map(build.expression);
  return function* evaluated(): Generator<Item> {
    const made: Vector[] = [];
    for (const e of evaluators) made.push(yield* evaluate(e, nulls(1)));
    yield* batches(concat(made), build.context.batchRows);
  };
};
