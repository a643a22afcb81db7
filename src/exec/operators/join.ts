/**
 * join: the right side is held and indexed by key codes (type and value), the left side streams past it. Without equalities every pair is a candidate.
 *
 * Candidates are made and tested a batch of pairs at a time. Left rows keep their order; right rows without a match come last.
 * A row whose key is error("missing") takes part in nothing, unmatched output included.
 * A join that runs again and again (`kept`) reads and indexes its right side the first time.
 */
import type { PlanOp } from '../../query/plan.ts';
import { types } from '../../vectors/type.ts';
import { type Vector, dataAt, numbers, sizeOf, take, typeAt } from '../../vectors/vector.ts';
import { concat } from '../../vectors/concat.ts';
import { GroupTable } from '../aggregates/groups.ts';
import { sortByGroup } from '../aggregates/lists.ts';
import { none } from '../aggregates/tables.ts';
import { under } from '../aggregates/under.ts';
import type { AsyncEvaluator } from '../expressions/evaluator.ts';
import { lift, withoutUnions } from '../expressions/lift.ts';
import { combine, isTrue } from '../expressions/rows.ts';
import { type Item, type Side, type Stream, batches, evaluate, isBatch, pause } from '../operator.ts';
import { Breath } from './breath.ts';
import type { Build } from './build.ts';
import { kinds, kindsOf } from './kinds.ts';
import { field, record, upTo } from './records.ts';

export type JoinOp = Extract<PlanOp, { kind: 'join' }>;

interface Parts {
  readonly op: JoinOp; readonly build: Build;
  readonly leftKeys: readonly AsyncEvaluator[]; readonly rightKeys: readonly AsyncEvaluator[]; readonly residual: AsyncEvaluator | undefined;
  /** The index of an earlier run. */
  kept?: Index;
}

/** The right side: rows by key. Row order[offsets[g] + k] is the k-th of group g. */
interface Index { readonly rows: Vector; readonly table: GroupTable; readonly order: Uint32Array; readonly offsets: Uint32Array; readonly matched: Uint8Array; readonly out: Uint8Array }

export const join = (op: JoinOp, build: Build): ((left: Stream, right: Stream) => Stream) => {
  const parts: Parts = {
    op, build,
    leftKeys: op.equal.map((e) => build.expression(e.left)),
    rightKeys: op.equal.map((e) => build.expression(e.right)),
    residual: op.residual && build.expression(op.residual),
  };
  return (left, right) => run(left, right, parts);
};

function* run(left: Stream, right: Stream, parts: Parts): Generator<Item> {
  const { op, build } = parts;
  const items = left[Symbol.iterator](), waiting: Vector[] = [];
  let held = 0;
  const hold = (v: Vector): void => {
    const bytes = sizeOf(v);
    held += bytes;
    build.memory.hold(bytes, 'join');
  };
  try {
    const rows: Vector[] = [], known = parts.kept && { ...parts.kept, matched: new Uint8Array(parts.kept.matched.length) };
    for (const item of known ? [] : right) {
      if (isBatch(item)) {
        rows.push(withoutUnions(item));
        hold(item);
      } else if (item !== pause) yield item;
      else {
        // Both sides come from one fork: the left side's rows have to be taken in before the right side goes on.
        const next = items.next();
        // If it waits too, it is for somebody's sibling further up.
        if (next.done || next.value === pause) yield pause;
        else if (isBatch(next.value)) {
          waiting.push(next.value);
          hold(next.value);
        } else yield next.value;
      }
    }
    const index = known ?? (yield* indexOf(concat(rows), parts));
    if (op.kept && !known) {
      parts.kept = index;
      held = 0;
    }
    for (const batch of waiting) yield* probe(batch, index, parts);
    for (let next = items.next(); !next.done; next = items.next()) {
      if (isBatch(next.value)) yield* probe(next.value, index, parts);
      else yield next.value;
    }
    if (op.style === 'right' || op.style === 'full') yield* unmatchedRight(index, parts);
  } finally {
    items.return?.();
    build.memory.add(-held);
  }
}

/** Key columns of a side and the rows that take no part: 1 not at all, 2 without a match. */
function* keysOf(rows: Vector, evaluators: readonly AsyncEvaluator[], { nullsMatch, loose }: JoinOp): Generator<Side, { readonly keys: Vector[]; readonly out: Uint8Array }> {
  const out = new Uint8Array(rows.length), keys: Vector[] = [];
  for (const e of evaluators) {
    const key = yield* evaluate(e, rows);
    kindsOf(key)?.forEach((k, i) => {
      if (k === kinds.missing) out[i] = 1;
      else if (k === kinds.null && !nullsMatch && out[i] === 0) out[i] = 2;
    });
    keys.push(loose ? looseKey(under(key), out) : under(key));
  }
  return { keys, out };
}

/** Numbers as floats, so that equal ones of any type have equal codes; those that no float holds stay. NaN equals nothing: its rows take no part. */
const looseKey = (key: Vector, out: Uint8Array): Vector => {
  const loose = lift(key, (flat) => {
    if (flat.form !== 'number') return flat;
    if (flat.values instanceof Float64Array) return numbers(types.float64, flat.values, flat.length);
    const tags = Uint32Array.from({ length: flat.length }, (_, i) => (BigInt(Number(flat.values[i])) === BigInt(flat.values[i]!) ? 0 : 1));
    return combine(tags, upTo(flat.length), [numbers(types.float64, Float64Array.from({ length: flat.length }, (_, i) => Number(flat.values[i]))), flat]);
  });
  if (mayBeNan(loose)) for (let i = 0; i < loose.length; i++) if (typeAt(loose, i) === types.float64 && Number.isNaN(dataAt(loose, i))) out[i] ||= 2;
  return loose;
};
const mayBeNan = (v: Vector): boolean => {
  switch (v.form) {
    case 'number': return v.values instanceof Float64Array && v.values.some((x, i) => x !== x && i < v.length);
    case 'constant': return mayBeNan(v.inner);
    case 'dictionary': return mayBeNan(v.values);
    case 'selected': return mayBeNan(v.base);
    case 'dynamic': return v.parts.some(mayBeNan);
    default: return false;
  }
};

function* indexOf(rows: Vector, { rightKeys, op, build }: Parts): Generator<Side, Index> {
  const table = new GroupTable(rightKeys.length);
  const { keys, out } = yield* keysOf(rows, rightKeys, op);
  const ids = rows.length > 0 ? table.ids(keys, rows.length) : new Uint32Array(0);
  const taking = upTo(rows.length).filter((i) => out[i] === 0);
  const sorted = sortByGroup(taking.map((i) => ids[i]!), taking.length, table.size);
  build.memory.hold(table.bytes, 'join');
  if (!op.kept) build.memory.add(-table.bytes);
  return { rows, table, order: sorted.order.map((i) => taking[i]!), offsets: sorted.offsets, matched: new Uint8Array(rows.length), out };
}

/** Results for a batch of left rows. */
function* probe(batch: Vector, index: Index, parts: Parts): Generator<Item> {
  const left = withoutUnions(batch);
  const { op, build } = parts, rowsMax = build.context.batchRows;
  const { keys, out } = yield* keysOf(left, parts.leftKeys, op);
  const ids = index.rows.length > 0 ? index.table.ids(keys, left.length, false) : new Uint32Array(left.length).fill(none);
  const lefts = new Uint32Array(rowsMax), rights = new Uint32Array(rowsMax);
  /** Rows before this one have no candidates to come; `matched` tells whether they had a match. */
  const matched = new Uint8Array(left.length), breath = new Breath(build.context.signal);
  let n = 0, first = 0;
  for (let row = 0; row < left.length; row++) {
    const id = out[row] === 0 ? ids[row]! : none;
    // One candidate is enough where one match is wanted and nothing more is asked of it.
    const end = id === none ? 0 : op.firstOnly && !parts.residual ? index.offsets[id]! + 1 : index.offsets[id + 1]!;
    for (let at = id === none ? 0 : index.offsets[id]!; at < end; at++) {
      lefts[n] = row;
      rights[n++] = index.order[at]!;
      if (n < rowsMax) continue;
      yield* give(left, lefts, rights, first, at + 1 < end ? row : row + 1);
      first = at + 1 < end ? row : row + 1;
      n = 0;
    }
  }
  yield* give(left, lefts.subarray(0, n), rights.subarray(0, n), first, left.length);

  /** Tests the candidates and gives the matches, and what rows [from, to) are without one. */
  function* give(all: Vector, leftRows: Uint32Array, rightRows: Uint32Array, from: number, to: number): Generator<Item> {
    let kept = yield* test(all, leftRows, rightRows);
    if (op.firstOnly) kept = (kept ?? upTo(leftRows.length)).filter((k) => matched[leftRows[k]!]!++ === 0);
    for (const k of kept ?? leftRows.keys()) {
      matched[leftRows[k]!] = 1;
      index.matched[rightRows[k]!] = 1;
    }
    // Long rows of pairs without a match must not keep a cancel waiting.
    if (kept?.length === 0) yield* breath.take();
    yield* results(all, kept ? Uint32Array.from(kept, (k) => leftRows[k]!) : leftRows.slice(), kept ? Uint32Array.from(kept, (k) => rightRows[k]!) : rightRows.slice(), from, to);
  }
  function* test(all: Vector, leftRows: Uint32Array, rightRows: Uint32Array): Generator<Side, Uint32Array | undefined> {
    if (!parts.residual || leftRows.length === 0) return undefined;
    const kept = isTrue(yield* evaluate(parts.residual, pairs(op, take(all, leftRows.slice()), take(index.rows, rightRows.slice()))));
    return kept.length === leftRows.length ? undefined : kept;
  }
  function* results(all: Vector, leftRows: Uint32Array, rightRows: Uint32Array, from: number, to: number): Generator<Item> {
    const keepsLeft = op.style === 'left' || op.style === 'full' || op.style === 'anti';
    const alone = keepsLeft ? upTo(left.length).subarray(from, to).filter((row) => matched[row] === 0 && out[row] !== 1) : new Uint32Array(0);
    if (op.style === 'anti') {
      if (alone.length > 0) yield one(op.leftName, take(all, alone));
      return;
    }
    const both = leftRows.length > 0 ? pairs(op, take(all, leftRows), take(index.rows, rightRows)) : undefined;
    if (alone.length === 0) {
      if (both) yield both;
      return;
    }
    const single = one(op.leftName, take(all, alone));
    if (!both) yield single;
    else yield* batches(inOrder(leftRows, alone, both, single), rowsMax);
  }
}

const pairs = (op: JoinOp, left: Vector, right: Vector): Vector => record([field(op.leftName, left), field(op.rightName, right)], left.length);
const one = (name: string, rows: Vector): Vector => record([field(name, rows)], rows.length);

/** Pairs and single rows by left row. Both lists ascend. */
const inOrder = (pairRows: Uint32Array, aloneRows: Uint32Array, both: Vector, single: Vector): Vector => {
  const length = pairRows.length + aloneRows.length, tags = new Uint32Array(length), slots = new Uint32Array(length);
  for (let i = 0, p = 0, a = 0; i < length; i++) {
    if (a === aloneRows.length || (p < pairRows.length && pairRows[p]! < aloneRows[a]!)) slots[i] = p++;
    else {
      tags[i] = 1;
      slots[i] = a++;
    }
  }
  return combine(tags, slots, [both, single]);
};

function* unmatchedRight(index: Index, { op, build }: Parts): Generator<Item> {
  const rows = upTo(index.rows.length).filter((i) => index.matched[i] === 0 && index.out[i] !== 1), rowsMax = build.context.batchRows;
  for (let start = 0; start < rows.length; start += rowsMax) yield one(op.rightName, take(index.rows, rows.slice(start, start + rowsMax)));
}
