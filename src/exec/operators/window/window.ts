/**
 * window: window functions and aggregates over partitions in order. Rows come as they are and go out as records of the
 * row and a field for each call.
 *
 * For each group of calls the rows are sorted and worked out a column at a time: all at once while they fit into
 * memory; else the sort spills, and whole partitions are gathered from what it gives (window/held.ts).
 */
import type { PlanExpr, PlanOp, SortKey, WindowGroup } from '../../../query/plan/plan.ts';
import { checkStop } from '../../../vectors/stop.ts';
import { sizeOf } from '../../../vectors/sizes.ts';
import { type Field, type Vector, flatten, gather, take } from '../../../vectors/vector.ts';
import { concat } from '../../../vectors/concat.ts';
import { fieldOf } from '../../expressions/access.ts';
import type { AsyncEvaluator } from '../../expressions/evaluator.ts';
import { type Item, type Step, type Stream, batches, eachBatch, evaluate, isBatch } from '../../operator.ts';
import { breaks } from '../../windows/segment.ts';
import type { Build } from '../build.ts';
import { flatSize } from '../compact.ts';
import { field, record } from '../rows/records.ts';
import { sort } from '../sort/sort.ts';
import { sortedOrder } from '../sort/radix.ts';
import { sortWords } from '../sort/words.ts';
import { heldPartitions } from './held.ts';
import { leading } from './leading.ts';
import {
  Columns,
  type WindowParts,
  ascending,
  partsOf,
  placeBytes,
  resultsOf,
  segmentOver,
  withFields,
} from './parts.ts';

type WindowOp = Extract<PlanOp, { kind: 'window' }>;

export const window = (op: WindowOp, build: Build): Step => {
  const wrap = eachBatch(function* push(batch) {
    yield record([field(op.row, batch)], batch.length);
  });
  const steps = op.groups.map((g) => windowGroup(g, op.row, build));
  const [group] = op.groups;
  if (op.leaders && group)
    steps.unshift(leading(group, op.leaders, { row: op.row, build, overRow: overRow(op.row, build) }));
  return (input) => steps.reduce((stream, step) => step(stream), wrap(input));
};

/** Expressions over the row that a record has. */
const overRow =
  (row: string, build: Build) =>
  (e: PlanExpr): AsyncEvaluator => {
    const evaluator = build.expression(e);
    return (batch) => evaluator(fieldOf(batch, row));
  };

const windowGroup = (group: WindowGroup, row: string, build: Build): Step => {
  const expression = overRow(row, build);
  const keys: readonly SortKey[] = [
    ...group.partition.map((expr): SortKey => ({ expr, ...ascending })),
    ...group.order,
  ];
  const parts = partsOf(group, new Columns(expression), build);
  const sorted = keys.length === 0 ? (input: Stream): Stream => input : sort(keys, false, { ...build, expression });
  return (input) => gathered(input, parts, (rest) => heldPartitions(sorted(rest), parts));
};

/** Works out all rows at once; when they do not fit, all of them go to `spilling`. */
function* gathered(input: Stream, parts: WindowParts, spilling: (input: Stream) => Stream): Generator<Item> {
  const { memory, context } = parts.build;
  const items = input[Symbol.iterator]();
  const columns: Vector[][] = parts.columns.evaluators.map(() => []);
  let rows: Vector[] = [];
  let held = 0;
  let ended = false;
  const charge = (bytes: number): void => {
    held += bytes;
    memory.add(bytes);
  };
  try {
    for (;;) {
      const next = items.next();
      if (next.done) break;
      if (!isBatch(next.value)) {
        yield next.value;
        continue;
      }
      rows.push(next.value);
      for (const [k, e] of parts.columns.evaluators.entries()) {
        const own = yield* evaluate(e, next.value);
        columns[k].push(own);
        charge(flatSize(own) * 2);
      }
      charge(flatSize(next.value) * 2 + placeBytes * next.value.length);
      if (!memory.isOverWith(held)) continue;
      if (!context.host.spill) {
        if (memory.isFull) memory.refuse('window');
        continue;
      }
      charge(-held);
      const first = rows;
      rows = [];
      columns.length = 0;
      ended = true;
      yield* spilling(followedBy(first, items));
      return;
    }
    ended = true;
    if (rows.length === 0) return;
    const all = flatten(concat(rows));
    const own = columns.map((c) => concat(c));
    rows = [];
    const { order, results } = workedOut(parts, own, all.length);
    charge(results.reduce((n, f) => n + sizeOf(f.values), 0));
    const fields =
      all.form === 'record' ? all.fields.map((f) => (order ? { ...f, values: take(f.values, order) } : f)) : [];
    yield* batches(withFields(record(fields, all.length), results), context.batchRows);
  } finally {
    memory.add(-held);
    if (!ended) items.return?.();
  }
}

/** Batches that are at hand, then those of a stream that has begun. */
function* followedBy(first: Vector[], rest: Iterator<Item>): Generator<Item> {
  let ended = false;
  try {
    for (let batch = first.shift(); batch; batch = first.shift()) yield batch;
    for (let next = rest.next(); !next.done; next = rest.next()) yield next.value;
    ended = true;
  } finally {
    if (!ended) rest.return?.();
  }
}

/**
 * The results of all calls over unsorted columns, and the order that rows are to take for them; without keys they stay
 * as they are.
 */
const workedOut = (
  parts: WindowParts,
  columns: readonly Vector[],
  length: number,
): { readonly order: Uint32Array | undefined; readonly results: readonly Field[] } => {
  const partition = parts.partition.flatMap((c) => sortWords(c(columns, length), ascending));
  const keys = parts.order.flatMap((c, k) => sortWords(c(columns, length), parts.directions[k]));
  const words = [...partition, ...keys];
  const order = words.length === 0 ? undefined : sortedOrder(words, length);
  const marks = new Uint8Array(length);
  words.forEach((word, k) => {
    checkStop();
    const code = k < partition.length ? breaks.partition : breaks.group;
    for (let i = 1; i < length; i++) if (marks[i] < code && word[order![i]] !== word[order![i - 1]]) marks[i] = code;
  });
  const sorted = order ? columns.map((c) => inOrder(c, order)) : columns;
  return { order, results: resultsOf(parts, segmentOver(parts, marks, length, sorted), sorted) };
};
/** What is looked at row by row is copied, so that it lies in order. */
const inOrder = (v: Vector, order: Uint32Array): Vector =>
  v.form === 'constant' || v.form === 'null' ? v : gather(v, order);
