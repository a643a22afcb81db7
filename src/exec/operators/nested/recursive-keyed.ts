/**
 * WITH RECURSIVE .. USING KEY: the rows of all rounds are put together to one row a key; these are the result, once no
 * round gives rows.
 *
 * - The next round works on the rows as they came (UNION ALL), or on the rows of those keys whose row has changed
 *   (UNION).
 * - `recurring.name` is the map as it was when the round began.
 * - Where the last row of a key stays, the map takes the place of the rows that it was made of, so that no more is held
 *   than twice the map and a round.
 */
import { LakeError } from '../../../errors.ts';
import { sizeOf } from '../../../vectors/sizes.ts';
import type { Vector } from '../../../vectors/vector.ts';
import { type Item, type Step, type Stream, isBatch } from '../../operator.ts';
import { recursionMax } from '../../context.ts';
import { Breath } from '../rows/breath.ts';
import { compact } from '../compact.ts';
import { Seen, newRows } from '../distinct.ts';
import type { RecursionParts } from './recursive.ts';
import { nothing } from '../scan.ts';

/** Rows that wait at least before they are folded into a map that nobody looks at yet. */
const foldMin = 1 << 14;

interface KeyedParts extends RecursionParts {
  readonly keyed: Step;
  readonly folds: boolean;
}

/**
 * Runs the recursion. @throws recursion-rounds, recursion-rows beyond the limits, query-memory when its rows do not fit
 * the budget
 */
export function* runKeyed({ op, build, first, nextOf, working, all, log, keyed, folds }: KeyedParts): Generator<Item> {
  const { memory } = build;
  const limits = build.context.recursion ?? recursionMax;
  const breath = new Breath(build.context.signal);
  const looks = op.all !== undefined || op.distinct;
  let held = 0;
  let rounds = 0;
  let count = 0;
  let map: readonly Vector[] = [];
  let logged = 0;
  let mapped = 0;
  /** Reads a stream to its end. */
  function* read(stream: Stream): Generator<Item, Vector[]> {
    const rows: Vector[] = [];
    for (const item of stream) {
      if (isBatch(item)) rows.push(compact(item));
      else yield item;
    }
    return rows;
  }
  /** Counts again what is held. */
  const recount = (): void => {
    const now = [log.rows, working.rows, map].reduce((n, rows) => n + bytesOf(rows), 0);
    memory.hold(now - held, 'with recursive');
    held = now;
  };
  /** Takes the rows of a round, and gives those that the next one works on. */
  function* takeRows(rows: Vector[]): Generator<Item, readonly Vector[]> {
    count += lengthOf(rows);
    if (count > limits.rows) throw new LakeError('recursion-rows', { name: op.name, limit: limits.rows });
    log.rows = [...log.rows, ...rows];
    logged += lengthOf(rows);
    if (!looks && !(folds && logged > Math.max(foldMin, mapped * 2))) return rows;
    const before = map;
    yield* fold();
    return op.distinct ? changed(before, map) : rows;
  }
  /** Puts the rows so far together. */
  function* fold(): Generator<Item> {
    map = yield* read(keyed(nothing()));
    mapped = lengthOf(map);
    all.rows = map;
    if (folds) {
      log.rows = map;
      logged = mapped;
    }
  }
  try {
    working.rows = yield* takeRows(yield* read(first(nothing())));
    recount();
    while (lengthOf(working.rows) > 0) {
      yield* breath.take();
      if (++rounds > limits.rounds) throw new LakeError('recursion-rounds', { name: op.name, limit: limits.rounds });
      working.rows = yield* takeRows(yield* read(nextOf()(nothing())));
      recount();
    }
    if (!looks) yield* fold();
    yield* map;
  } finally {
    working.rows = [];
    all.rows = [];
    log.rows = [];
    memory.add(-held);
  }
}

/** Rows of a map that were not in it before. */
const changed = (before: readonly Vector[], now: readonly Vector[]): Vector[] => {
  const seen = new Seen(true);
  for (const rows of before) newRows(seen, rows);
  return now.map((rows) => newRows(seen, rows)).filter((rows) => rows.length > 0);
};
const lengthOf = (rows: readonly Vector[]): number => rows.reduce((n, v) => n + v.length, 0);
const bytesOf = (rows: readonly Vector[]): number => rows.reduce((n, v) => n + sizeOf(v), 0);
