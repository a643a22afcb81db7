/**
 * Inner joins that run again and again for a few rows (`kept`: subqueries that are asked about rows around them), turned: the left rows are indexed and the right
 * side streams past them. Nothing of a right side of millions of rows is held, indexed or put aside for the sake of some hundred that look for partners.
 *
 * It buys, with rows gathered (gather.ts): TPC-H Q17 at scale 1, where 6,000 rows look among 6,000,000, takes 1.0 s of processor time in place of 68.
 */
import type { Vector } from '../../vectors/vector.ts';
import { concat } from '../../vectors/concat.ts';
import { withoutUnions } from '../expressions/lift.ts';
import { type Item, isBatch } from '../operator.ts';
import type { Memory } from './build.ts';
import { compact } from './compact.ts';
import { JoinIndex, heldBytes } from './join-index.ts';
import { type JoinOp, type JoinParts, keysOf, probe } from './join-probe.ts';

/** So many runs may stream the right side past before it is indexed for those to come, if it fits. */
const turnsMax = 2;
/** The right side has so many times more rows than the left one, and so many at least, where turning pays. */
const turnFactor = 4, turnMin = 1 << 15;

/** Runs of a join so far that held no index of the right side. */
export interface Turns { turns: number }

/** What was read of both sides: all of the left one, and of the right one all, or enough to know that it is the longer one. */
interface Sides { readonly lefts: Vector[]; readonly rights: Vector[]; readonly isTurned: boolean }
/** What the run holds, and how it counts more (negative: less). */
interface Holding { readonly bytes: number; readonly memory: Memory; hold(bytes: number): void }

export const isTurnable = ({ kept, style, firstOnly, equal }: JoinOp): boolean => kept === true && style === 'inner' && !firstOnly && equal.length > 0;

/** Reads the left side, and the right one until it is known which is to be indexed. */
export function* sidesOf(left: Iterator<Item>, right: Iterator<Item>, turns: Turns, holding: Holding): Generator<Item, Sides> {
  const lefts: Vector[] = [], rights: Vector[] = [];
  let few = 0, many = 0;
  for (let next = left.next(); !next.done; next = left.next()) {
    if (!isBatch(next.value)) yield next.value;
    else {
      lefts.push(next.value);
      few += next.value.length;
      holding.hold(heldBytes(next.value));
    }
  }
  if (few === 0) return { lefts, rights, isTurned: false };
  const most = turns.turns < turnsMax ? Math.max(few * turnFactor, turnMin) : Infinity;
  for (let next = right.next(); !next.done; next = right.next()) {
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
    return { lefts, rights, isTurned: true };
  }
  return { lefts, rights, isTurned: false };
}

/** The pairs, by the rows of the right side: those of one left row are in the order of the right side. */
export function* turned({ lefts, rights }: Sides, rest: Iterator<Item>, parts: JoinParts): Generator<Item> {
  const { op } = parts, all = withoutUnions(concat(lefts)), index = new JoinIndex(all, yield* keysOf(all, parts.leftKeys, op));
  const other: JoinParts = {
    ...parts, leftKeys: parts.rightKeys, rightKeys: parts.leftKeys,
    op: { ...op, leftName: op.rightName, rightName: op.leftName, equal: op.equal.map(({ left, right }) => ({ left: right, right: left })) },
  };
  for (let batch = rights.shift(); batch; batch = rights.shift()) yield* probe(batch, index, other);
  for (let next = rest.next(); !next.done; next = rest.next()) {
    if (isBatch(next.value)) yield* probe(next.value, index, other);
    else yield next.value;
  }
}
