/**
 * top: the first or the last rows of the sort order. Rows that cannot be among them are left out a batch at a time;
 * what is kept is sorted and cut now and then.
 *
 * Behind a scan the first key goes ahead: `keyBound` is asked by the scan before it reads the other columns.
 */
import { pathOf } from '../../../query/plan/walk.ts';
import type { FieldPath, SortKey } from '../../../query/plan/plan.ts';
import { sizeOf } from '../../../vectors/sizes.ts';
import { type Vector, flatten, take } from '../../../vectors/vector.ts';
import { concat } from '../../../vectors/concat.ts';
import { pathOf as valuesAt } from '../../expressions/access.ts';
import { type Item, type Stage, type Step, batches, stage } from '../../operator.ts';
import type { Build } from '../build.ts';
import { compact } from '../compact.ts';
import { head } from '../head.ts';
import { Leaders } from './leaders.ts';
import { type EvaluatedKey, guessing, keysOf, orderBy } from './keys.ts';
import { sorter } from './sort.ts';
import { tail } from '../tail.ts';
import { shownBytes } from '../window/parts.ts';

/** Rows of so many bytes are cut sooner, where that leaves half of them. */
const cutBytes = 16 << 20;
/** What rows are put together of, in one piece and then in order, counts as often as in a sort. */
const copies = 2.5;

/** The end of the sort order that is kept. */
type End = 'first' | 'last';
/** `count` rows at most. Without keys one is guessed from the first value; `reverse` counts for a guessed key alone. */
export interface TopOptions {
  readonly count: number;
  readonly keys: readonly SortKey[];
  readonly reverse: boolean;
  readonly end: End;
}

/**
 * The operator as a step; rows are given in the sort order. @throws query-memory when the budget is used up and nothing
 * can be spilled
 */
export const top = (options: TopOptions, build: Build): Step => {
  const guess = guessing(options.keys, options.reverse, build.expression);
  return stage(() => cutter(options, guess, build));
};

const cutter = (
  { count, end }: TopOptions,
  keysFor: (first: Vector) => readonly EvaluatedKey[],
  build: Build,
): Stage => {
  const cutAt = count * 2 + 4 * build.context.batchRows;
  const { memory, context } = build;
  let keys: readonly EvaluatedKey[] | undefined;
  let leaders: Leaders | undefined;
  let rows: Vector[] = [];
  let columns: Vector[][] = [];
  let kept = 0;
  let held = 0;
  let all: Stage | undefined;
  const hold = (bytes: number): void => {
    held += bytes;
    memory.add(bytes);
  };

  const add = (batch: Vector, own: readonly Vector[]): void => {
    rows.push(batch);
    own.forEach((v, k) => (columns[k] ??= []).push(v));
    kept += batch.length;
    hold(shownBytes(batch) * copies);
  };
  const cut = (): void => {
    const own = columns.map((c) => concat(c));
    const sorted = orderBy(own, keys!, kept);
    const order = end === 'first' ? sorted.subarray(0, count) : sorted.subarray(Math.max(0, sorted.length - count));
    columns = own.map((c) => [flatten(take(c, order))]);
    // Keys may be long: they go before the rows are put together.
    own.length = 0;
    rows = [compact(flatten(take(concat(rows), order)))];
    kept = order.length;
    const bytes = sizeOf(rows[0]);
    hold((bytes > cutBytes ? bytes * copies : bytes) - held);
  };
  /** What is wanted alone does not fit: all rows are sorted, which can spill. */
  const overflow = function* overflow(): Generator<Item> {
    cut();
    if (!memory.isOverWith(held)) return;
    if (!context.host.spill) return memory.isFull ? memory.refuse('top') : undefined;
    all = sorter(keysFor, build);
    const [batch] = rows;
    rows = [];
    columns = [];
    kept = 0;
    hold(-held);
    for (const part of batches(batch!, context.batchRows)) yield* all.push(part);
  };

  return {
    done: count === 0,
    *push(batch) {
      keys ??= keysFor(batch);
      leaders ??= new Leaders({ count, direction: keys[0], end, single: keys.length === 1 });
      const own = yield* keysOf(batch, keys);
      const rest = leaders.candidates(own[0]);
      if (all) return yield* all.push(rest ? take(batch, rest) : batch);
      if (!rest) add(batch, own);
      else if (rest.length > 0)
        add(
          flatten(take(batch, rest)),
          own.map((v) => flatten(take(v, rest))),
        );
      if (kept > cutAt || (held > cutBytes && kept >= count * 2)) cut();
      if (memory.isOverWith(held)) yield* overflow();
    },
    *finish() {
      if (all) return yield* (end === 'first' ? head(count) : tail(count, build))(all.finish!());
      if (rows.length === 0) return;
      cut();
      yield* batches(rows[0], context.batchRows);
      hold(-held);
    },
  };
};

/** A test by the first key of a top that follows a scan. */
export interface KeyBound {
  readonly path: FieldPath;
  readonly rows: number;
  readonly keep: (rows: Vector) => Uint32Array | undefined;
  /** See `BestRows`. */
  readonly greater: boolean;
  readonly dropsNulls: boolean;
  readonly nanLast: boolean;
  readonly floor: () => number | undefined;
  readonly ahead: (rows: Vector) => void;
}
/** Makes the bound of a run; undefined if no key is named, the first one is no field, or no rows are wanted. */
export const keyBound = ({ count, keys, end }: TopOptions): (() => KeyBound) | undefined => {
  const [key] = keys;
  const path = key && pathOf(key.expr);
  if (!path || path.length === 0 || count === 0) return undefined;
  return () => {
    const direction = key!;
    const leaders = new Leaders({ count, direction, end, single: keys.length === 1 });
    const scouts = new Leaders({ count, direction, end, single: false });
    return {
      path,
      rows: count,
      keep: (rows) => leaders.candidates(valuesAt(rows, path)),
      greater: leaders.sign > 0,
      dropsNulls: leaders.dropsNulls,
      nanLast: direction.sql === true,
      floor: () => (leaders.bound > -Infinity ? leaders.bound * leaders.sign : undefined),
      ahead: (rows) => {
        scouts.candidates(valuesAt(rows, path));
        leaders.raise(scouts.bound);
      },
    };
  };
};
