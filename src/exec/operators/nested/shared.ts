/**
 * The rows of a table of WITH that a query names several times: its body runs once, pulled by whoever needs the next
 * row first, and all read what it gave.
 *
 * - Rows are kept until the query ends: how often subqueries and recursions will read them is not known before. Beyond
 *   the budget those that follow are spilled, and whoever reads then waits for the last one.
 * - A body that fails does so for all its readers, so that none takes what there was for all rows.
 */
import type { PlanOp } from '../../../query/plan/plan.ts';
import { concat } from '../../../vectors/concat.ts';
import { sizeOf } from '../../../vectors/sizes.ts';
import type { Vector } from '../../../vectors/vector.ts';
import { type Item, type Stream, isBatch, pause } from '../../operator.ts';
import { pulled } from '../../pulled.ts';
import type { SpillRun } from '../../source.ts';
import type { Build, SharedTable } from '../build.ts';
import { compact } from '../compact.ts';
import { nothing } from '../scan.ts';

/** Batches of fewer rows are put together, as far as no more are asked for than there were. */
const rowsTogether = 1024;

/** What one body gave so far, and the way to the rest of it. */
export class SharedRows implements SharedTable {
  private readonly build: Build;
  private readonly items: Iterator<Item>;
  private readonly rows: Vector[] = [];
  private held = 0;
  /** Batches of few rows, as rounds of a recursion give them: of 400,000 of one row each the batches filled the budget. */
  private few: Vector[] = [];
  private fewRows = 0;
  private count = 0;
  /** The rows behind those in memory. */
  private run: SpillRun | undefined;
  private hasEnded = false;
  private failure: { readonly error: unknown } | undefined;
  /** What has to be awaited before the next row can be asked for, whoever asks. */
  private pending: Promise<unknown> | undefined;

  constructor(items: Stream, build: Build) {
    this.items = items[Symbol.iterator]();
    this.build = build;
  }

  /** All rows, from the first one on. @throws query-memory beyond the budget where nothing can be spilled */
  *read(): Generator<Item> {
    for (let i = 0; ; ) {
      if (i < this.rows.length) yield this.rows[i++];
      else if (this.hasEnded && !this.pending) break;
      else yield* this.next();
    }
    const { run } = this;
    if (run) yield* pulled(() => run.read(), this.build.context.signal);
  }

  close(): void {
    if (!this.hasEnded) this.items.return?.();
    this.hasEnded = true;
    this.build.memory.add(-this.held);
    this.held = 0;
    void this.run?.close();
  }

  /** Asks for one more item of the body, or for few rows more than there are. */
  private *next(): Generator<Item> {
    if (this.failure) throw this.failure.error;
    if (this.pending) return yield* this.wait(this.pending);
    do {
      const item = this.pull();
      if (item === undefined) break;
      if (!isBatch(item)) {
        if (item instanceof Promise && item !== pause) yield* this.wait(item);
        else yield item;
        return;
      }
      this.few.push(compact(item));
      this.fewRows += item.length;
    } while (this.fewRows < Math.min(this.count, rowsTogether));
    yield* this.keepFew();
  }
  private pull(): Item | undefined {
    try {
      const next = this.items.next();
      if (!next.done) return next.value;
      this.hasEnded = true;
      return undefined;
    } catch (error) {
      this.failure = { error };
      // What it gave before comes first.
      if (this.few.length > 0) return undefined;
      throw error;
    }
  }
  private *wait(promise: Promise<unknown>): Generator<Item> {
    if (this.pending !== promise) {
      this.pending = promise;
      promise.catch((error: unknown) => {
        this.failure = { error };
      });
    }
    yield promise;
    if (this.pending === promise) this.pending = undefined;
  }
  private *keepFew(): Generator<Item> {
    const { few } = this;
    if (few.length === 0) return;
    this.few = [];
    this.count += this.fewRows;
    this.fewRows = 0;
    yield* this.keep(few.length === 1 ? few[0] : concat(few));
  }
  private *keep(batch: Vector): Generator<Item> {
    const { memory, context } = this.build;
    if (this.run) return yield* this.wait(this.run.append(batch));
    this.rows.push(batch);
    const bytes = sizeOf(batch);
    this.held += bytes;
    memory.add(bytes);
    if (!memory.isOverWith(this.held)) return;
    if (context.host.spill) this.run = context.host.spill.open();
    else if (memory.isFull) memory.refuse('with');
  }
}

/** The rows of that id; the first call runs the body. */
export const sharedRows =
  ({ id, body }: Extract<PlanOp, { kind: 'shared' }>, build: Build): (() => Stream) =>
  () => {
    let rows = build.shared.get(id);
    if (!rows) build.shared.set(id, (rows = new SharedRows(build.step(body)(nothing()), build)));
    return rows.read();
  };
