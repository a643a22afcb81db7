/**
 * and, or, not, `?:`, case, is null: branches are evaluated only for the rows that need them, so that recursion ends.
 */
import { LakeError } from '../../errors.ts';
import { type Vector, bools, constant, lookUp, noRows, take } from '../../vectors/vector.ts';
import type { Evaluator } from './evaluator.ts';
import { compareVectors } from './compare.ts';
import { combine, errors, overlay, repeat, rowsWith, truth, truthOf, wrapErrors } from './rows.ts';
import { withoutUnions } from './lift.ts';
import { kinds, kindsOf, mayBeError } from '../operators/rows/kinds.ts';
import { nullValue } from '../../vectors/value.ts';

const bool = (value: boolean, length: number): Vector => constant(bools(Uint8Array.of(value ? 1 : 0)), length);
const nullRows = (length: number): Vector => repeat(nullValue, length);

/** What a row that is neither bool nor null counts as: its error, or "not type bool". */
const errorsOf = (v: Vector, codes: Uint8Array): Vector => {
  const others = codes.includes(truth.other);
  const unwrapped = withoutUnions(v);
  if (!others) return unwrapped;
  const mask = new Uint8Array(v.length);
  for (let i = 0; i < mask.length; i++) mask[i] = codes[i] === truth.other ? 1 : 0;
  return overlay(unwrapped, mask, wrapErrors('not type bool', v));
};

/** Rows of several outcomes put together: `choice[i]` numbers a part; part k has a row for each row of the batch. */
const choose = (choice: Uint8Array, parts: readonly (() => Vector)[], length: number): Vector => {
  const used = new Uint8Array(parts.length);
  for (let i = 0; i < length; i++) used[choice[i]] = 1;
  const tags = new Uint32Array(length);
  const slots = new Uint32Array(length);
  const places = new Uint32Array(parts.length);
  const kept: Vector[] = [];
  parts.forEach((part, k) => {
    if (used[k]) places[k] = kept.push(part()) - 1;
  });
  if (kept.length === 1) return kept[0];
  for (let i = 0; i < length; i++) {
    tags[i] = places[choice[i]];
    slots[i] = i;
  }
  return combine(tags, slots, kept);
};

// Outcomes of and/or.
const isFalse = 0;
const isTrue = 1;
const isNull = 2;
const leftError = 3;
const rightError = 4;
const combination = (rank: (l: number, r: number) => number): Uint8Array => {
  const table = new Uint8Array(25);
  for (let l = 0; l < 5; l++) for (let r = 0; r < 5; r++) table[l * 5 + r] = rank(l, r);
  return table;
};
const isError = (code: number): boolean => code === truth.error || code === truth.other;
/** false, then error (left first), then null, then true. */
const andTable = combination((l, r) =>
  l === truth.false || r === truth.false
    ? isFalse
    : isError(l)
      ? leftError
      : isError(r)
        ? rightError
        : l === truth.null || r === truth.null
          ? isNull
          : isTrue,
);
/** true, then null, then error, then false. */
const orTable = combination((l, r) =>
  l === truth.true || r === truth.true
    ? isTrue
    : l === truth.null || r === truth.null
      ? isNull
      : isError(l)
        ? leftError
        : isError(r)
          ? rightError
          : isFalse,
);

/**
 * `and` and `or`; the right side is not evaluated for rows that the left side decides, where those are many or the
 * right side must not be asked (`guarded`). An overflow in the right side counts only where it had to be asked.
 */
export const logical = (operator: 'and' | 'or', left: Evaluator, right: Evaluator, guarded: boolean): Evaluator => {
  const table = operator === 'and' ? andTable : orTable;
  const decided = operator === 'and' ? truth.false : truth.true;
  return (batch) => {
    const { length } = batch;
    if (length === 0) return noRows;
    const l = left(batch);
    if (l.form === 'constant' && l.inner.form === 'bool') {
      if (l.inner.values[0] === decided) return bool(operator === 'or', length);
      const r = right(batch);
      if (r.form === 'bool' || (r.form === 'constant' && r.inner.form === 'bool')) return r;
      return outcome(l, truthOf(l), r, truthOf(r), table, length);
    }
    const leftCodes = truthOf(l);
    let open = 0;
    for (let i = 0; i < length; i++) if (leftCodes[i] !== decided) open++;
    if (open === 0) return bool(operator === 'or', length);
    const undecided = (): Vector => decideSome(l, leftCodes, { batch, right, table, decided, open });
    if (open < length && (guarded || open * 2 < length)) return undecided();
    const r = open < length ? unlessBeyond(() => right(batch)) : right(batch);
    return r ? outcome(l, leftCodes, r, truthOf(r), table, length) : undecided();
  };
};
/**
 * What all rows give; undefined if a sum or product of one leaves its type: the row may be one that need not be asked.
 */
export const unlessBeyond = (evaluate: () => Vector): Vector | undefined => {
  try {
    return evaluate();
  } catch (problem) {
    if (problem instanceof LakeError && (problem.code === 'query-overflow' || problem.code === 'query-time-overflow'))
      return undefined;
    throw problem;
  }
};
interface Undecided {
  readonly batch: Vector;
  readonly right: Evaluator;
  readonly table: Uint8Array;
  readonly decided: number;
  readonly open: number;
}
const onlyBools = (codes: Uint8Array, length: number): boolean => {
  let all = 0;
  for (let i = 0; i < length; i++) all |= codes[i];
  return all < 2;
};
const decideSome = (l: Vector, leftCodes: Uint8Array, { batch, right, table, decided, open }: Undecided): Vector => {
  const { length } = batch;
  const rows = new Uint32Array(open);
  const slots = new Uint32Array(length);
  const tags = new Uint32Array(length);
  for (let i = 0, n = 0; i < length; i++) {
    if (leftCodes[i] === decided) continue;
    tags[i] = 1;
    slots[i] = n;
    rows[n++] = i;
  }
  const r = right(take(batch, rows));
  const rightCodes = truthOf(r);
  if (onlyBools(leftCodes, length) && onlyBools(rightCodes, open)) {
    const out = new Uint8Array(length);
    if (decided === truth.true) out.set(leftCodes.subarray(0, length));
    for (let i = 0; i < open; i++) out[rows[i]] = rightCodes[i];
    return bools(out);
  }
  const some = take(l, rows);
  const result = outcome(some, truthOf(some), r, rightCodes, table, open);
  return combine(tags, slots, [bool(decided === truth.true, 1), result]);
};
const outcome = (
  l: Vector,
  leftCodes: Uint8Array,
  r: Vector,
  rightCodes: Uint8Array,
  table: Uint8Array,
  length: number,
): Vector => {
  const out = new Uint8Array(length);
  let most = 0;
  for (let i = 0; i < length; i++) {
    const o = table[leftCodes[i] * 5 + rightCodes[i]];
    out[i] = o;
    if (o > most) most = o;
  }
  if (most <= isTrue) return bools(out);
  return choose(
    out,
    [
      () => bool(false, length),
      () => bool(true, length),
      () => nullRows(length),
      () => errorsOf(l, leftCodes),
      () => errorsOf(r, rightCodes),
    ],
    length,
  );
};

/** `not`. */
export const notVector = (v: Vector): Vector => {
  const { length } = v;
  const codes = truthOf(v);
  const out = new Uint8Array(length);
  let most = 0;
  for (let i = 0; i < length; i++) {
    const c = codes[i];
    out[i] = c < 2 ? 1 - c : c;
    if (c > most) most = c;
  }
  if (most < 2) return bools(out);
  return choose(
    out,
    [
      () => bool(false, length),
      () => bool(true, length),
      () => nullRows(length),
      () => errorsOf(v, codes),
      () => errorsOf(v, codes),
    ],
    length,
  );
};

/** `is null`: errors stay errors; in SQL what is missing is null. */
export const isNullVector = (v: Vector, sql?: boolean): Vector => {
  const { length } = v;
  const missing = sql === true && mayBeError(v) ? kindsOf(v)?.map((k) => (k === kinds.missing ? 1 : 0)) : undefined;
  if (missing?.includes(1)) return choose(missing, [() => isNullVector(v), () => bool(true, length)], length);
  const codes = truthOf(v);
  const out = new Uint8Array(length);
  for (let i = 0; i < length; i++) out[i] = codes[i] === truth.null ? 1 : codes[i] === truth.error ? 2 : 0;
  if (!out.includes(2)) return bools(out);
  return choose(out, [() => bool(false, length), () => bool(true, length), () => withoutUnions(v)], length);
};

/** Rows not decided yet, and results put at their places. */
class Assembly {
  private readonly tags: Uint32Array;
  private readonly slots: Uint32Array;
  private readonly parts: Vector[] = [];
  constructor(length: number) {
    this.tags = new Uint32Array(length);
    this.slots = new Uint32Array(length);
  }
  /** `values` are the results of the rows `rows`. */
  put(rows: Uint32Array, values: Vector): void {
    if (rows.length === 0) return;
    const tag = this.parts.push(values) - 1;
    for (let i = 0; i < rows.length; i++) {
      this.tags[rows[i]] = tag;
      this.slots[rows[i]] = i;
    }
  }
  done(): Vector {
    // One part alone has all rows in order.
    return this.parts.length === 1 ? this.parts[0] : combine(this.tags, this.slots, this.parts);
  }
}
/**
 * The rows of a condition that hold, and those that do not, nulls among them. Those that are neither have their error as
 * result, at their places among `rows`; without these all rows are.
 */
const decided = (
  test: Vector,
  out: Assembly,
  rows?: Uint32Array,
): { readonly yes: Uint32Array; readonly no: Uint32Array } => {
  const { length } = test;
  const codes = truthOf(test);
  const yes = rowsWith(codes, length, truth.true);
  if (yes.length === length || test.form === 'bool') return { yes, no: rowsWith(codes, length, truth.false) };
  const open = new Uint8Array(length);
  for (let i = 0; i < length; i++) open[i] = codes[i] === truth.false || codes[i] === truth.null ? 1 : 0;
  const no = rowsWith(open, length, 1);
  if (yes.length + no.length < length) {
    const at = (found: Uint32Array): Uint32Array => (rows ? lookUp(rows, found) : found);
    const failed = rowsWith(codes, length, truth.error);
    if (failed.length > 0) out.put(at(failed), withoutUnions(take(test, failed)));
    const others = rowsWith(codes, length, truth.other);
    if (others.length > 0)
      out.put(at(others), wrapErrors('?-operator: bool predicate required', withoutUnions(take(test, others))));
  }
  return { yes, no };
};
const subset = (batch: Vector, rows: Uint32Array): Vector => (rows.length === batch.length ? batch : take(batch, rows));

/** `test ? then : otherwise`. */
export const conditional =
  (test: Evaluator, then: Evaluator, otherwise: Evaluator): Evaluator =>
  (batch) => {
    const { length } = batch;
    if (length === 0) return noRows;
    const out = new Assembly(length);
    const place = (rows: Uint32Array, values: (some: Vector) => Vector): void => {
      if (rows.length > 0) out.put(rows, values(subset(batch, rows)));
    };
    const { yes, no } = decided(test(batch), out);
    place(yes, then);
    place(no, otherwise);
    return out.done();
  };

/**
 * `sql`: the operand is compared as SQL does. `case operand when .. then .. else .. end`. Without an operand each
 * `when` is a condition; without `otherwise` a row that no branch takes is an error.
 */
interface CaseBranches {
  readonly sql?: boolean;
  readonly operand?: Evaluator;
  readonly branches: readonly { readonly when: Evaluator; readonly then: Evaluator }[];
  readonly otherwise?: Evaluator;
}

/**
 * CASE with and without an operand. A `when` that is an error is the result; one that is null or false goes on to the
 * next.
 */
export const caseOf =
  ({ sql = false, operand, branches, otherwise }: CaseBranches): Evaluator =>
  (batch) => {
    const { length } = batch;
    if (length === 0) return noRows;
    const out = new Assembly(length);
    const subject = operand?.(batch);
    let rows = new Uint32Array(length);
    for (let i = 0; i < length; i++) rows[i] = i;
    for (const { when, then } of branches) {
      if (rows.length === 0) break;
      const some = subset(batch, rows);
      const value = when(some);
      const test = subject
        ? compareVectors('==', subset(subject, rows), value, rows.length, sql ? 0 : undefined)
        : value;
      const { yes, no } = decided(test, out, rows);
      if (yes.length > 0) out.put(lookUp(rows, yes), then(subset(some, yes)));
      rows = lookUp(rows, no) as Uint32Array<ArrayBuffer>;
    }
    if (rows.length > 0)
      out.put(
        rows,
        otherwise ? otherwise(subset(batch, rows)) : unmatched(subject && subset(subject, rows), rows.length),
      );
    return out.done();
  };
const noMatch = 'case: no clause matched and no else provided';
const unmatched = (subject: Vector | undefined, length: number): Vector =>
  subject ? wrapErrors(noMatch, subject) : errors(noMatch, length);

/**
 * coalesce(): the first argument that is neither null nor an error; later ones are evaluated only for rows that need
 * them.
 */
export const coalesceOf =
  (args: readonly Evaluator[]): Evaluator =>
  (batch) => {
    const { length } = batch;
    if (length === 0) return noRows;
    const out = new Assembly(length);
    let rows = new Uint32Array(length);
    for (let i = 0; i < length; i++) rows[i] = i;
    for (const arg of args) {
      if (rows.length === 0) break;
      const v = arg(subset(batch, rows));
      const codes = truthOf(v);
      const open = new Uint8Array(rows.length);
      const settled = new Uint8Array(rows.length);
      for (let i = 0; i < open.length; i++) {
        open[i] = codes[i] === truth.null || codes[i] === truth.error ? 1 : 0;
        settled[i] = 1 - open[i];
      }
      const found = rowsWith(settled, rows.length, 1);
      if (found.length > 0) out.put(lookUp(rows, found), subset(v, found));
      rows = lookUp(rows, rowsWith(open, rows.length, 1)) as Uint32Array<ArrayBuffer>;
    }
    out.put(rows, nullRows(rows.length));
    return out.done();
  };
