/**
 * join: the right side is held and indexed by its keys (type and value), the left side streams past it. Without
 * equalities every pair is a candidate, unless inequalities say less (join/ranges.ts).
 *
 * Candidates are made and tested a batch of pairs at a time. Left rows keep their order; right rows without a match
 * come last. A row whose key is error("missing") takes part in nothing, unmatched output included. A join that runs
 * again and again (`kept`) reads and indexes its right side, if it fits into memory; where few rows look for partners
 * among many, it is these that are indexed, and the right side streams past them (join/turned.ts). What does not fit is
 * spilled on both sides, by the hash of the keys, and joined a partition at a time (join/spill.ts); rows then come in
 * the order of partitions.
 */
import { sizeOf } from '../../../vectors/sizes.ts';
import type { Vector } from '../../../vectors/vector.ts';
import { concatFreeing } from '../../../vectors/concat.ts';
import { withoutUnions } from '../../expressions/lift.ts';
import { type Item, type Stream, isBatch, wait } from '../../operator.ts';
import type { SpillRun, SpillStore } from '../../source.ts';
import type { Build } from '../build.ts';
import { compact } from '../compact.ts';
import { JoinIndex, heldBytes } from './index.ts';
import type { Wanted } from './key-set.ts';
import { RightSide } from './null-aware.ts';
import { type JoinOp, type JoinParts, keepsRight, keysOf, probe, unmatchedRight } from './probe.ts';
import { rangesOf } from './ranges.ts';
import { Aside } from './spill.ts';
import {
  type Turned,
  type Turns,
  fewLeft,
  fitsLeft,
  isTurnable,
  isTurnableLate,
  sidesOf,
  turnedOver,
} from './turned.ts';
import { tellLeft, tellRight } from './told.ts';
import { rightFirst } from './right-first.ts';
import { pulled } from '../../pulled.ts';

/** A join of two inputs; each call of what it answers is a run of its own. */
export const join = (op: JoinOp, build: Build): ((left: Stream, right: Stream) => Stream) => {
  const parts: JoinParts = {
    op,
    build,
    leftKeys: op.equal.map((e) => build.expression(e.left)),
    rightKeys: op.equal.map((e) => build.expression(e.right)),
    residual: op.residual && build.expression(op.residual),
    ranges: rangesOf(op, build),
  };
  const kept: Kept = { index: undefined, turns: 0 };
  const { leftName, style } = op;
  const keepsLeftRows = style !== 'right' && style !== 'full';
  return (left, right) => {
    const rows: Stream = run(left, right, parts, kept, 0);
    const { narrow } = left;
    // What is asked of the left rows of its pairs is asked of its left side.
    return narrow && keepsLeftRows
      ? Object.assign(rows, {
          narrow: ({ path: [name, ...path], keys }: Wanted) => name === leftName && narrow({ path, keys }),
        })
      : rows;
  };
};

/** Of its budget a join may give so much to a table by place. */
const placesShare = 1 / 16;

/** The index of an earlier run, and how many runs had none. */
interface Kept extends Turns {
  index: JoinIndex | undefined;
}

function* run(left: Stream, right: Stream, parts: JoinParts, kept: Kept | undefined, level: number): Generator<Item> {
  const { op, build } = parts;
  const { memory } = build;
  const items = left[Symbol.iterator]();
  const rightSide = op.nullAware && level === 0 ? new RightSide() : undefined;
  const known = op.kept ? kept?.index?.anew() : undefined;
  let rows: Vector[] = [];
  let waiting: Vector[] = [];
  let held = 0;
  let aside: Aside | undefined;
  let turned: Turned | undefined;
  let isAsked = false;
  let put: SpillRun | undefined;
  const hold = (bytes: number): void => {
    held += bytes;
    memory.add(bytes);
  };
  const holding = {
    get bytes() {
      return held;
    },
    memory,
    hold,
  };
  /** A table by place comes to an index once it pays. */
  const grown = function* grown(index: JoinIndex, work: Generator<Item>): Generator<Item> {
    const before = index.bytes;
    if (!memory.isTight) index.give(memory.max * placesShare);
    yield* work;
    // What is kept for other runs stays counted.
    if (index === kept?.index) memory.add(index.bytes - before);
    else hold(index.bytes - before);
  };
  const streamed = ({ index, push }: Turned, batch: Vector): Generator<Item> => grown(index, push(batch));
  /**
   * Lets the right rows so far stream past the left ones, if these are few, and those to come; else puts them aside.
   * They are out of the way while the left side is read, where little memory is left.
   */
  const turn = function* turn(spill: SpillStore): Generator<Item> {
    const before = rows;
    rows = [];
    isAsked = true;
    put = memory.isTight ? spill.open() : undefined;
    if (put) {
      for (let batch = before.shift(); batch; batch = before.shift()) {
        hold(-heldBytes(batch));
        yield* wait(put.append(batch));
      }
    }
    if (yield* fitsLeft(items, waiting, holding)) turned = yield* turnedOver(waiting, parts);
    else {
      aside = new Aside(parts, level, rightSide);
      hold(-held);
      for (let batch = waiting.shift(); batch; batch = waiting.shift()) yield* aside.left(batch);
    }
    const rest = put;
    const made = turned;
    const take = (batch: Vector): Generator<Item> => (made ? streamed(made, batch) : aside!.right(batch));
    for (let batch = before.shift(); batch; batch = before.shift()) {
      if (turned) hold(-heldBytes(batch));
      yield* take(batch);
    }
    if (!rest) return;
    for (const item of pulled(() => rest.read(), build.context.signal)) {
      if (isBatch(item)) yield* take(item);
      else yield item;
    }
    put = undefined;
    yield* wait(rest.close());
  };
  /** Puts all rows so far aside once there are too many. */
  const overflow = function* overflow(): Generator<Item> {
    if (!memory.isOverWith(held) || aside) return;
    const { spill } = build.context.host;
    if (!spill) return memory.isFull ? memory.refuse('join') : undefined;
    if (!isAsked && level === 0 && isTurnableLate(op)) return yield* turn(spill);
    const before = { rows, waiting };
    aside = new Aside(parts, level, rightSide);
    rows = [];
    waiting = [];
    hold(-held);
    for (let batch = before.rows.shift(); batch; batch = before.rows.shift()) yield* aside.right(batch);
    for (let batch = before.waiting.shift(); batch; batch = before.waiting.shift()) yield* aside.left(batch);
  };
  const takeRight = function* takeRight(batch: Vector): Generator<Item> {
    if (turned) return yield* streamed(turned, batch);
    const own = compact(withoutUnions(batch));
    if (rightSide && !(yield* rightSide.see(own, parts))) return;
    if (aside) return yield* aside.right(own);
    rows.push(own);
    hold(heldBytes(own));
    yield* overflow();
  };
  const takeLeft = function* takeLeft(batch: Vector): Generator<Item> {
    if (aside) return yield* aside.left(batch);
    waiting.push(batch);
    hold(sizeOf(batch));
    yield* overflow();
  };
  try {
    if (kept && !known && isTurnable(op)) {
      const sides = yield* sidesOf(items, right, kept, holding, parts);
      if (sides.turned) {
        for (let batch = sides.rights.shift(); batch; batch = sides.rights.shift())
          yield* streamed(sides.turned, batch);
        for (const item of sides.rest) {
          if (isBatch(item)) yield* streamed(sides.turned, item);
          else yield item;
        }
        return;
      }
      if (sides.lefts.length === 0) return;
      ({ rights: rows, lefts: waiting } = sides);
    } else if (op.leftFirst !== undefined && level === 0) {
      turned = yield* fewLeft(items, waiting, holding, parts);
      if (turned) tellRight(right, turned.index, op);
      yield* rightFirst(right, items, { right: takeRight, left: takeLeft });
    } else yield* rightFirst(known ? [] : right, items, { right: takeRight, left: takeLeft });
    if (rightSide?.hasNull) return;
    if (turned) return yield* turned.finish();
    if (aside) {
      yield* aside.rightDone();
      for (let next = items.next(); !next.done; next = items.next()) {
        if (isBatch(next.value)) yield* aside.left(next.value);
        else yield next.value;
      }
      yield* aside.joined((l, r) => run(l, r, parts, undefined, level + 1));
      return;
    }
    let index = known;
    if (!index) {
      const all = concatFreeing(rows);
      index = new JoinIndex(all, yield* keysOf(all, parts.rightKeys, op));
      hold(index.bytes);
      if (op.kept && kept) {
        kept.index = index;
        held = 0;
      }
    }
    if (level === 0) tellLeft(left, index, op);
    for (const batch of waiting) yield* grown(index, probe(batch, index, parts));
    for (let next = items.next(); !next.done; next = items.next()) {
      if (isBatch(next.value)) yield* grown(index, probe(next.value, index, parts));
      else yield next.value;
    }
    if (keepsRight(op)) yield* unmatchedRight(index, parts);
  } finally {
    items.return?.();
    aside?.close();
    void put?.close();
    memory.add(-held);
  }
}
