/**
 * Probing of a join: key columns of a side, the pairs of a batch of left rows with the built right side, and what
 * either side has without a partner.
 */
import type { AbsentRow, PlanOp } from '../../../query/plan/plan.ts';
import { isFloat, isInteger, types } from '../../../vectors/type.ts';
import { type Vector, gather, lookUp, nulls, numbers, range, take } from '../../../vectors/vector.ts';
import { none } from '../../aggregates/grouping/pair-table.ts';
import { under } from '../../aggregates/under.ts';
import type { AsyncEvaluator } from '../../expressions/evaluator.ts';
import { lift, withoutUnions } from '../../expressions/lift.ts';
import { combine, isTrue, tidy } from '../../expressions/rows.ts';
import { type Item, type Side, batches, evaluate } from '../../operator.ts';
import { Breath } from '../rows/breath.ts';
import type { Build } from '../build.ts';
import { crossed, isCrossable } from './crossed.ts';
import type { Found, JoinIndex, Keys } from './index.ts';
import { type Ranges, candidates } from './ranges.ts';
import { kinds, kindsOf } from '../rows/kinds.ts';
import { field, record } from '../rows/records.ts';

/** A join of a plan. */
export type JoinOp = Extract<PlanOp, { kind: 'join' }>;

/**
 * A join with its expressions compiled: the keys in the order of `op.equal`, each seeing the rows of its side, and the
 * residual, which sees pairs.
 */
export interface JoinParts {
  readonly op: JoinOp;
  readonly build: Build;
  readonly leftKeys: readonly AsyncEvaluator[];
  readonly rightKeys: readonly AsyncEvaluator[];
  readonly residual: AsyncEvaluator | undefined;
  /** What the residual says about numbers of both sides. */
  readonly ranges?: Ranges | undefined;
}

/** Left rows without a match are given. */
export const keepsLeft = ({ style }: JoinOp): boolean => style === 'left' || style === 'full' || style === 'anti';
/** Right rows without a match are given. */
export const keepsRight = ({ style }: JoinOp): boolean => style === 'right' || style === 'full';

/** Key columns of a side and the rows that take no part: 1 not at all, 2 without a match. */
export function* keysOf(
  rows: Vector,
  evaluators: readonly AsyncEvaluator[],
  { nullsMatch, loose, nullAware }: JoinOp,
): Generator<Side, Keys> {
  const out = new Uint8Array(rows.length);
  const keys: Vector[] = [];
  let isWhole = true;
  for (const e of evaluators) {
    const key = yield* evaluate(e, rows);
    const own = kindsOf(key);
    if (own) isWhole = false;
    own?.forEach((k, i) => {
      if (k === kinds.missing) out[i] = nullsMatch ? 1 : 2;
      else if (k === kinds.null && !nullsMatch && out[i] === 0) out[i] = 2;
      // Of an error nobody knows whether it is among the others.
      else if (k === kinds.error && nullAware) out[i] = 2;
    });
    keys.push(tidy(loose ? looseKey(under(key)) : under(key)));
  }
  return { keys, out, isWhole, ...(loose && { loose }) };
}

/** Numbers as floats, so that equal ones of any type have equal codes; those that no float holds stay. */
const looseKey = (key: Vector): Vector =>
  lift(key, (flat) => {
    if (flat.form !== 'number' || !(isInteger(flat.type) || isFloat(flat.type))) return flat;
    if (flat.values instanceof Float64Array) return numbers(types.float64, flat.values, flat.length);
    const tags = Uint32Array.from({ length: flat.length }, (_, i) =>
      BigInt(Number(flat.values[i])) === BigInt(flat.values[i]) ? 0 : 1,
    );
    return combine(tags, range(0, flat.length), [
      numbers(
        types.float64,
        Float64Array.from({ length: flat.length }, (_, i) => Number(flat.values[i])),
      ),
      flat,
    ]);
  });

/** Pairs that are tested together, also of small batches. */
const pairsMin = 1024;
const noFlags = new Uint8Array(0);

/**
 * Left rows that had a match in an earlier piece of the right side; those before the last piece do not come alone yet.
 */
interface Piece {
  readonly matched: Uint8Array;
  readonly isLast: boolean;
}

/** Results for a batch of left rows. `piece`: the built side is not all of the right side. */
export function* probe(batch: Vector, index: JoinIndex, parts: JoinParts, piece?: Piece): Generator<Item> {
  const left = withoutUnions(batch);
  const { op, build } = parts;
  const { batchRows: rowsMax, signal } = build.context;
  const pairsMax = Math.min(rowsMax, Math.max(pairsMin, left.length));
  const keys = yield* keysOf(left, parts.leftKeys, op);
  const { out } = keys;
  if (op.nullAware && index.rows.length > 0) out.forEach((code, i) => (out[i] = code === 2 ? 1 : code));
  const single = op.firstOnly && !parts.residual;
  // Each left row has one candidate at most: there are no chains to follow, and the pairs are as many as the left rows,
  // or fewer. Those of a scan may come in batches twice as long.
  const isBatch = left.length <= pairsMax || left.length <= rowsMax * 2;
  const mayBeOne = !piece && !parts.ranges && isBatch && (single || index.isUnique);
  const ones = mayBeOne ? index.pairs(keys, left.length) : undefined;
  let isOne = ones !== undefined;
  /** Whether a row had a match; those before row `first` have no candidates to come. */
  let matched = piece?.matched ?? noFlags;
  const breath = new Breath(signal);
  if (ones) {
    if (keepsLeft(op)) matched = new Uint8Array(left.length);
    return yield* give(ones.lefts, ones.rights, 0, left.length);
  }
  const { rows } = index;
  if (parts.leftKeys.length === 0 && parts.residual && !parts.ranges && isCrossable(left, rows)) {
    if (!piece) matched = new Uint8Array(left.length);
    return yield* crossed(left, rows, {
      test: (l, r) => testPairs(parts.residual!, op, l, r),
      give: giveMatches,
      isDone: (row) => op.firstOnly === true && matched[row] === 1,
      breath,
      pairsMax,
    });
  }
  const found = index.find(keys, left.length);
  const { heads, order, next } = found;
  const near = parts.ranges && (yield* candidates(parts.ranges, index, left, found));
  isOne = !near && !piece && isBatch && (single || (next === index.next && index.isUnique));
  const room = isOne ? left.length : pairsMax;
  let lefts = new Uint32Array(room);
  let rights = new Uint32Array(room);
  if (!piece) matched = new Uint8Array(left.length);
  if (isOne) {
    const count = onePairEach(found, left.length, lefts, rights);
    return yield* give(lefts.subarray(0, count), rights.subarray(0, count), 0, left.length);
  }
  let n = 0;
  let first = 0;
  for (let row = 0; row < left.length; row++) {
    if (piece && op.firstOnly && matched[row]) continue;
    const list = near?.(row);
    // Along the chain, or the list of candidates.
    for (let place = list ? (list.length > 0 ? 0 : none) : heads[row]; place !== none; ) {
      lefts[n] = row;
      if (list) {
        rights[n++] = list[place];
        place = place + 1 < list.length ? place + 1 : none;
      } else {
        rights[n++] = order ? order[place] : place;
        // One candidate is enough where one match is wanted and nothing more is asked of it.
        place = single ? none : next[place];
      }
      if (n < pairsMax) continue;
      const end = place === none ? row + 1 : row;
      yield* give(lefts, rights, first, end);
      first = end;
      n = 0;
      lefts = new Uint32Array(pairsMax);
      rights = new Uint32Array(pairsMax);
    }
  }
  yield* give(lefts.subarray(0, n), rights.subarray(0, n), first, left.length);

  function ofLeft(leftRows: Uint32Array): Vector {
    return isOne && leftRows.length === left.length ? left : take(left, leftRows);
  }
  /** Tests the candidates and gives the matches, and what rows [from, to) are without one. */
  function* give(leftRows: Uint32Array, rightRows: Uint32Array, from: number, to: number): Generator<Item> {
    const kept = yield* test(leftRows, rightRows);
    yield* giveMatches(kept ? lookUp(leftRows, kept) : leftRows, kept ? lookUp(rightRows, kept) : rightRows, from, to);
  }
  function* giveMatches(leftRows: Uint32Array, rightRows: Uint32Array, from: number, to: number): Generator<Item> {
    const kept = op.firstOnly && !isOne ? firstOnly(leftRows, matched) : undefined;
    const ownLeft = kept ? lookUp(leftRows, kept) : leftRows;
    const ownRight = kept ? lookUp(rightRows, kept) : rightRows;
    if (piece || keepsLeft(op)) for (let k = 0; k < ownLeft.length; k++) matched[ownLeft[k]] = 1;
    if (keepsRight(op)) for (let k = 0; k < ownRight.length; k++) index.matched[ownRight[k]] = 1;
    yield* results(ownLeft, ownRight, from, to);
    // Long rows of pairs must not keep a cancel waiting, nor others.
    yield* breath.take();
  }
  function* test(leftRows: Uint32Array, rightRows: Uint32Array): Generator<Side, Uint32Array | undefined> {
    if (!parts.residual || leftRows.length === 0) return undefined;
    return yield* testPairs(parts.residual, op, ofLeft(leftRows), take(index.rows, rightRows));
  }
  function* results(leftRows: Uint32Array, rightRows: Uint32Array, from: number, to: number): Generator<Item> {
    const alone = keepsLeft(op) && piece?.isLast !== false ? aloneRows(matched, out, from, to) : new Uint32Array(0);
    if (op.style === 'anti') {
      if (alone.length > 0) yield leftAlone(op, take(left, alone));
      return;
    }
    const both = leftRows.length > 0 ? pairs(op, ofLeft(leftRows), take(index.rows, rightRows)) : undefined;
    if (alone.length === 0) {
      if (both) yield both;
      return;
    }
    if (!both) yield leftAlone(op, take(left, alone));
    else if (op.absentRight && index.rows.form === 'record')
      yield* batches(besideAbsent(leftRows, rightRows, alone, op.absentRight), rowsMax);
    else yield* batches(inOrder(leftRows, alone, both, leftAlone(op, take(left, alone))), rowsMax);
  }
  /**
   * The pairs and the single rows by left row: those of the left side as they are, and beside them rows of the right
   * one, or none.
   */
  function besideAbsent(leftRows: Uint32Array, rightRows: Uint32Array, alone: Uint32Array, absent: AbsentRow): Vector {
    const { tags, slots } = places(leftRows, alone);
    const own = new Uint32Array(tags.length);
    let isWhole = own.length === left.length;
    for (let i = 0; i < own.length; i++) {
      own[i] = tags[i] === 0 ? leftRows[slots[i]] : alone[slots[i]];
      isWhole &&= own[i] === i;
    }
    const right = combine(tags, slots, [gather(index.rows, rightRows), absentRows(absent, alone.length)]);
    return pairs(op, isWhole ? left : take(left, own), right);
  }
}

/** The pairs of rows with their first candidates; how many there are. */
const onePairEach = ({ heads, order }: Found, length: number, lefts: Uint32Array, rights: Uint32Array): number => {
  let n = 0;
  for (let row = 0; row < length; row++) {
    const place = heads[row];
    if (place === none) continue;
    lefts[n] = row;
    rights[n++] = order ? order[place] : place;
  }
  return n;
};

/** The places of pairs that the residual holds for; undefined: all. */
function* testPairs(
  residual: AsyncEvaluator,
  op: JoinOp,
  left: Vector,
  right: Vector,
): Generator<Side, Uint32Array | undefined> {
  const kept = isTrue(yield* evaluate(residual, pairs(op, left, right)));
  return kept.length === left.length ? undefined : kept;
}

/** The first match of each row that has had none yet. */
const firstOnly = (leftRows: Uint32Array, matched: Uint8Array): Uint32Array => {
  const out = new Uint32Array(leftRows.length);
  let n = 0;
  for (let i = 0; i < leftRows.length; i++) {
    if (matched[leftRows[i]]) continue;
    matched[leftRows[i]] = 1;
    out[n++] = i;
  }
  return out.subarray(0, n);
};
const aloneRows = (matched: Uint8Array, out: Uint8Array, from: number, to: number): Uint32Array => {
  const rows = new Uint32Array(to - from);
  let n = 0;
  for (let row = from; row < to; row++) if (matched[row] === 0 && out[row] !== 1) rows[n++] = row;
  return rows.subarray(0, n);
};

export const pairs = (op: JoinOp, left: Vector, right: Vector): Vector =>
  record([field(op.leftName, left), field(op.rightName, right)], left.length);
/** Left rows without a match. */
export const leftAlone = (op: Pick<JoinOp, 'leftName' | 'rightName' | 'absentRight'>, rows: Vector): Vector =>
  record(
    [
      field(op.leftName, rows),
      ...(op.absentRight ? [field(op.rightName, absentRows(op.absentRight, rows.length))] : []),
    ],
    rows.length,
  );
/** Right rows without a match. */
export const rightAlone = (op: JoinOp, rows: Vector): Vector =>
  record(
    [...(op.absentLeft ? [field(op.leftName, absentRows(op.absentLeft, rows.length))] : []), field(op.rightName, rows)],
    rows.length,
  );
const absentRows = (columns: AbsentRow, length: number): Vector =>
  record(
    columns.map(({ name, row }) => field(name, row ? absentRows(row, length) : nulls(length))),
    length,
  );

/** Pairs and single rows by left row. */
const inOrder = (pairRows: Uint32Array, aloneRows: Uint32Array, both: Vector, single: Vector): Vector => {
  const { tags, slots } = places(pairRows, aloneRows);
  return combine(tags, slots, [both, single]);
};
/** The place of each row in its list, that of pairs (0) or of single rows (1), by left row. Both lists ascend. */
const places = (
  pairRows: Uint32Array,
  aloneRows: Uint32Array,
): { readonly tags: Uint32Array; readonly slots: Uint32Array } => {
  const length = pairRows.length + aloneRows.length;
  const tags = new Uint32Array(length);
  const slots = new Uint32Array(length);
  for (let i = 0, p = 0, a = 0; i < length; i++) {
    if (a === aloneRows.length || (p < pairRows.length && pairRows[p] < aloneRows[a])) slots[i] = p++;
    else {
      tags[i] = 1;
      slots[i] = a++;
    }
  }
  return { tags, slots };
};

/** Right rows that have had no match, in their order; those that take no part in the join are left out. */
export function* unmatchedRight(index: JoinIndex, { op, build }: JoinParts): Generator<Item> {
  const rows = aloneRows(index.matched, index.out, 0, index.rows.length);
  const rowsMax = build.context.batchRows;
  for (let start = 0; start < rows.length; start += rowsMax)
    yield rightAlone(op, take(index.rows, rows.slice(start, start + rowsMax)));
}
