/**
 * Joins turned: the left rows are indexed and the right side streams past them. So are inner joins that run again and
 * again for a few rows (`kept`: subqueries that are asked about rows around them), those whose left side is likely to
 * have fewer rows (`leftFirst`), and joins whose right side does not fit into memory while the left one does, before
 * anything is spilled. Nothing of a right side of millions of rows is
 * held, indexed or spilled for the sake of some thousand that look for partners.
 *
 * It buys, with rows gathered (gather.ts): TPC-H Q17 at scale 1, where 6,000 rows look among 6,000,000, takes 1.0 s of
 * processor time in place of 68.
 */
import { type Vector, lookUp, range, take } from '../../../vectors/vector.ts';
import { none } from '../../aggregates/grouping/pair-table.ts';
import { isTrue } from '../../expressions/rows.ts';
import { concatFreeing } from '../../../vectors/concat.ts';
import { withoutUnions } from '../../expressions/lift.ts';
import { type Item, type Side, type Stream, evaluate, isBatch, pause } from '../../operator.ts';
import type { Memory } from '../build.ts';
import { compact } from '../compact.ts';
import { tellRight } from './told.ts';
import { JoinIndex, builtBytes, heldBytes } from './index.ts';
import { type JoinOp, type JoinParts, keysOf, leftAlone, pairs, probe, unmatchedRight } from './probe.ts';

/** So many runs may stream the right side past before it is indexed for those to come, if it fits. */
const turnsMax = 2;
/** The right side has so many times more rows than the left one, and so many at least, where turning pays. */
const turnFactor = 4;
const turnMin = 1 << 15;

/** Runs of a join so far that held no index of the right side. */
export interface Turns {
  turns: number;
}

/**
 * What was read of both sides: all of the left one, and of the right one all, or enough to know that it is the longer
 * one.
 */
interface Sides {
  readonly lefts: Vector[];
  readonly rights: Vector[];
  /** What was not read of the right side. */
  readonly rest: Stream;
  /** The left side, if that is to be indexed. */
  readonly turned?: Turned;
}
/** What the run holds, and how it counts more (negative: less). */
interface Holding {
  readonly bytes: number;
  readonly memory: Memory;
  hold(bytes: number): void;
}

export const isTurnable = ({ kept, style, firstOnly, nearest, equal }: JoinOp): boolean =>
  kept === true && style === 'inner' && !firstOnly && !nearest && equal.length > 0;

/** Reads the left side, and the right one until it is known which is to be indexed. */
export function* sidesOf(
  left: Iterator<Item>,
  right: Stream,
  turns: Turns,
  holding: Holding,
  parts: JoinParts,
): Generator<Item, Sides> {
  const lefts: Vector[] = [];
  const rights: Vector[] = [];
  let few = 0;
  let many = 0;
  for (let next = left.next(); !next.done; next = left.next()) {
    if (!isBatch(next.value)) yield next.value;
    else {
      const own = compact(next.value);
      lefts.push(own);
      few += own.length;
      holding.hold(heldBytes(own));
    }
  }
  if (few === 0) return { lefts, rights, rest: [] };
  const isAgain = turns.turns >= turnsMax;
  const most = isAgain ? Infinity : Math.max(few * turnFactor, turnMin);
  // By estimate it is known before the right side is read, which is told what is asked for then.
  if ((parts.op.leftFirst ?? 0) > most && !isAgain) {
    turns.turns++;
    const turned = yield* turnedOver(lefts, parts);
    tellRight(right, turned.index, parts.op);
    return { lefts, rights, rest: right, turned };
  }
  const rest = right[Symbol.iterator]();
  for (let next = rest.next(); !next.done; next = rest.next()) {
    if (!isBatch(next.value)) {
      yield next.value;
      continue;
    }
    const own = compact(withoutUnions(next.value));
    rights.push(own);
    many += own.length;
    holding.hold(heldBytes(own));
    if (many <= most && !holding.memory.isOverWith(holding.bytes)) continue;
    turns.turns++;
    return { lefts, rights, rest: { [Symbol.iterator]: () => rest }, turned: yield* turnedOver(lefts, parts) };
  }
  return { lefts, rights, rest: [] };
}

/** Of its budget a join may give so much to left rows that are indexed in place of a right side that does not fit. */
const leftShare = 0.25;
/** Whether such a join can be turned; it is known that its right side is the longer one. */
export const isTurnableLate = ({ style, equal, nullAware, firstOnly }: JoinOp): boolean =>
  equal.length > 0 && !nullAware && (style === 'inner' || style === 'anti' || (style === 'left' && !firstOnly));

/**
 * Reads the left side to its end, if it ends within a share of the budget; what was read is added to `lefts` in any
 * case.
 */
export function* fitsLeft(left: Iterator<Item>, lefts: Vector[], holding: Holding): Generator<Item, boolean> {
  let bytes = lefts.reduce((n, batch) => n + heldBytes(batch), 0);
  while (bytes < holding.memory.max * leftShare) {
    const next = left.next();
    if (next.done) return true;
    // Both sides come from one fork: the right one has to be read on.
    if (next.value === pause) return false;
    if (!isBatch(next.value)) yield next.value;
    else {
      const own = compact(withoutUnions(next.value));
      const size = heldBytes(own);
      lefts.push(own);
      bytes += size;
      holding.hold(size);
      if (holding.memory.isFullWith(bytes)) return false;
    }
  }
  return false;
}

/** So much of the budget may be held meanwhile: a right side that is held instead takes more. */
const fewLeftShare = 0.55;
/**
 * Reads the left side of a join that is likely to be the smaller one, and indexes it; undefined where it is not, or does
 * not fit: what was read is added to `lefts` then.
 */
export function* fewLeft(
  left: Iterator<Item>,
  lefts: Vector[],
  holding: Holding,
  parts: JoinParts,
): Generator<Item, Turned | undefined> {
  const { memory } = holding;
  let rows = 0;
  for (let next = left.next(); !next.done; next = left.next()) {
    // Both sides come from one fork: the right one has to be read on.
    if (next.value === pause) return undefined;
    if (!isBatch(next.value)) {
      yield next.value;
      continue;
    }
    const own = compact(withoutUnions(next.value));
    const size = builtBytes(own);
    lefts.push(own);
    rows += own.length;
    holding.hold(size);
    if (rows > parts.op.leftFirst! || memory.isOverWith(holding.bytes, fewLeftShare)) return undefined;
  }
  return yield* turnedOver(lefts, parts);
}

/** A join whose left rows are indexed: takes the right side batch by batch. */
export interface Turned {
  readonly index: JoinIndex;
  readonly push: (batch: Vector) => Generator<Item>;
  readonly finish: () => Generator<Item>;
}
/**
 * Indexes the left rows, which are taken out of `lefts`. Results come by the rows of the right side: those of one left row are in the order of the
 * right side. Left rows without a match come last, in their order.
 */
export function* turnedOver(lefts: Vector[], parts: JoinParts): Generator<Side, Turned> {
  const {
    op,
    build: {
      context: { batchRows },
    },
  } = parts;
  const all = withoutUnions(concatFreeing(lefts));
  const index = new JoinIndex(all, yield* keysOf(all, parts.leftKeys, op));
  const other = exchanged(parts);
  return {
    index,
    push:
      op.firstOnly || op.style === 'anti'
        ? (batch) => firsts(batch, index, parts)
        : (batch) => probe(batch, index, other),
    *finish() {
      if (op.style === 'left') yield* unmatchedRight(index, other);
      if (op.style !== 'anti') return;
      const alone = range(0, all.length).filter((row) => index.matched[row] === 0 && index.out[row] !== 1);
      for (let at = 0; at < alone.length; at += batchRows)
        yield leftAlone(op, take(all, alone.slice(at, at + batchRows)));
    },
  };
}

/** The join with its sides exchanged. */
const exchanged = (parts: JoinParts): JoinParts => {
  const { absentLeft, absentRight, ...op } = parts.op;
  return {
    ...parts,
    leftKeys: parts.rightKeys,
    rightKeys: parts.leftKeys,
    // What ranges leave out is told of the sides as they were.
    ranges: undefined,
    op: {
      ...op,
      style: op.style === 'left' ? 'right' : op.style,
      leftName: op.rightName,
      rightName: op.leftName,
      equal: op.equal.map(({ left, right }) => ({ left: right, right: left })),
      ...(absentRight && { absentLeft: absentRight }),
      ...(absentLeft && { absentRight: absentLeft }),
    },
  };
};

/** The first match of each left row that has had none; of an anti join it is noted alone. */
function* firsts(given: Vector, index: JoinIndex, { op, build, rightKeys, residual }: JoinParts): Generator<Item> {
  const batch = withoutUnions(given);
  const keys = yield* keysOf(batch, rightKeys, op);
  const { heads, next, order } = index.find(keys, batch.length);
  const most = build.context.batchRows;
  let lefts = new Uint32Array(most);
  let rights = new Uint32Array(most);
  let n = 0;
  const give = function* give(): Generator<Item> {
    const own = lefts.subarray(0, n);
    const their = rights.subarray(0, n);
    lefts = new Uint32Array(most);
    rights = new Uint32Array(most);
    n = 0;
    if (own.length === 0) return;
    const kept = residual
      ? isTrue(yield* evaluate(residual, pairs(op, take(index.rows, own), take(batch, their))))
      : range(0, own.length);
    const fresh = kept.filter((k) => {
      const row = own[k];
      const isFirst = index.matched[row] === 0;
      index.matched[row] = 1;
      return isFirst;
    });
    if (fresh.length > 0 && op.style !== 'anti')
      yield pairs(op, take(index.rows, lookUp(own, fresh)), take(batch, lookUp(their, fresh)));
  };
  for (let row = 0; row < batch.length; row++) {
    for (let place = heads[row]; place !== none; place = next[place]) {
      const left = order ? order[place] : place;
      if (index.matched[left] === 1) continue;
      lefts[n] = left;
      rights[n++] = row;
      if (n === most) yield* give();
    }
  }
  yield* give();
}
