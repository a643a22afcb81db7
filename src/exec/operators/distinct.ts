/**
 * distinct: the first row for each value (type and value) of the expression.
 *
 * When memory runs out, rows whose value is not known yet are spilled by its hash and looked at afterwards, a
 * partition at a time; they come in that order then, or are sorted again (DISTINCT ON).
 */
import { type Vector, take } from '../../vectors/vector.ts';
import { ColumnCodes, firstRows } from '../aggregates/grouping/codes.ts';
import { none } from '../aggregates/grouping/pair-table.ts';
import { plainRows, withoutNames } from '../expressions/lift.ts';
import type { AsyncEvaluator } from '../expressions/evaluator.ts';
import { type Item, type Step, type Stream, evaluate, isBatch } from '../operator.ts';
import type { Build } from './build.ts';
import { Partitions, levelsMax, partitionsOf } from './rows/partitions.ts';
import { pulled } from '../pulled.ts';

/** `order`: puts rows in the order of the input, where that matters. */
interface DistinctOptions {
  readonly sql?: boolean;
  readonly order?: Step | undefined;
}
/** The first row of each value of `expr`. */
export const distinct =
  (expr: AsyncEvaluator, build: Build, { sql = false, order }: DistinctOptions = {}): Step =>
  (input) =>
    run(input, sql ? plain(expr) : expr, { build, sql, order }, 0);

/** The values as SQL tells them apart. */
export const plain =
  (e: AsyncEvaluator): AsyncEvaluator =>
  (batch) => {
    const values = e(batch);
    return values instanceof Promise ? values.then(plainRows) : plainRows(values);
  };

/** `sql`: values are told apart as SQL does it. */
interface Run {
  readonly build: Build;
  readonly sql: boolean;
  readonly order: Step | undefined;
}

function* run(input: Stream, expr: AsyncEvaluator, whole: Run, level: number): Generator<Item> {
  const { build, sql } = whole;
  const { memory, context } = build;
  const seen = new Seen(sql);
  let held = 0;
  let partitions: Partitions | undefined;
  try {
    for (const item of input) {
      if (!isBatch(item)) {
        yield item;
        continue;
      }
      const values = withoutNames(yield* evaluate(expr, item));
      if (partitions) {
        const rows = seen.unknown(values);
        if (rows.length > 0)
          yield* partitions.add(take(item, rows), partitionsOf([take(values, rows)], rows.length, level, sql));
        continue;
      }
      const rows = seen.fresh(values);
      memory.add(seen.bytes - held);
      held = seen.bytes;
      if (memory.isOverWith(held) && context.host.spill && level < levelsMax) partitions = new Partitions(build);
      else if (memory.isFullWith(held) && !context.host.spill) memory.refuse('distinct');
      if (rows.length > 0) yield rows.length === item.length ? item : take(item, rows);
    }
    if (!partitions) return;
    seen.clear();
    memory.add(-held);
    held = 0;
    yield* partitions.flush();
    // All of these come behind those that were given.
    const rest = spilledRows(partitions, expr, whole, level);
    yield* level === 0 && whole.order ? whole.order(rest) : rest;
  } finally {
    memory.add(-held);
    partitions?.close();
  }
}

/** The first rows of the values of each partition. */
function* spilledRows(partitions: Partitions, expr: AsyncEvaluator, whole: Run, level: number): Generator<Item> {
  for (const p of partitions.each()) {
    const spilled = partitions.run(p)!;
    yield* run(
      pulled(() => spilled.read(), whole.build.context.signal),
      expr,
      whole,
      level + 1,
    );
    void spilled.close();
  }
}

/** Values that were there before. */
export class Seen {
  private codes: ColumnCodes;
  private readonly sql: boolean;
  private known = 0;
  constructor(sql: boolean) {
    this.sql = sql;
    this.codes = new ColumnCodes(sql);
  }
  get bytes(): number {
    return this.codes.bytes;
  }
  /** The rows of new values, each once. */
  fresh(values: Vector): Uint32Array {
    const codes = this.codes.codes(values);
    const { known } = this;
    const { size } = this.codes;
    this.known = size;
    return firstRows(codes, values.length, known, size);
  }
  /** The rows of new values, which stay new. */
  unknown(values: Vector): Uint32Array {
    const codes = this.codes.codes(values, false);
    const rows = new Uint32Array(values.length);
    let n = 0;
    for (let i = 0; i < values.length; i++) if (codes[i] === none) rows[n++] = i;
    return rows.subarray(0, n);
  }
  clear(): void {
    this.codes = new ColumnCodes(this.sql);
    this.known = 0;
  }
}

/** The rows that are new, each once. */
export const newRows = (seen: Seen, batch: Vector): Vector => {
  const rows = seen.fresh(plainRows(batch));
  return rows.length === batch.length ? batch : take(batch, rows);
};
