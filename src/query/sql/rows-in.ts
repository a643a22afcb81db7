/**
 * Rows among rows: `(a, b) in ((1, 2), (3, null))` compares value by value, so that it is null only where what is null
 * decides.
 */
import type { Expr, TupleExpr } from '../ast.ts';
import { fieldOf, thisExpr } from '../plan/walk.ts';
import type { PlanExpr, PlanOp, RecordElement } from '../plan/plan.ts';

/** Up to so many rows each is compared; more of them, where none has a null, are looked for as whole values. */
const comparedRowsMax = 16;

/** The rows that a row is looked for in; undefined where the right side is something else. */
export const rowsBeside = (left: Expr, right: Expr): readonly TupleExpr[] | undefined => {
  if (left.kind !== 'tuple' || right.kind !== 'tuple') return undefined;
  const { length } = left.elems;
  const isRow = (e: Expr): e is TupleExpr => e.kind === 'tuple' && e.elems.length === length;
  if (right.elems.length > 0 && right.elems.every(isRow)) return right.elems;
  // Brackets around a single row leave no trace.
  return isRow(right) && !right.elems.some((e) => e.kind === 'tuple') ? [right] : undefined;
};

/**
 * Whether a row is one of others: all of its values are equal to those of one. `whole` is the same by whole values,
 * which knows nothing of nulls.
 */
export const rowAmong = (
  left: readonly PlanExpr[],
  rows: readonly (readonly PlanExpr[])[],
  equal: (x: PlanExpr, y: PlanExpr) => PlanExpr,
  whole: () => PlanExpr,
): PlanExpr => {
  const any = balanced(
    'or',
    rows.map((row) =>
      balanced(
        'and',
        left.map((x, i) => equal(x, row[i]!)),
      ),
    ),
  );
  if (rows.length <= comparedRowsMax || !rows.every((row) => row.every(isGiven))) return any;
  const hasNull = balanced('or', left.map(isNull));
  return { kind: 'conditional', test: hasNull, then: any, otherwise: whole() };
};
const isGiven = (e: PlanExpr): boolean => e.kind === 'literal' && e.value.data !== null;
const balanced = (kind: 'and' | 'or', list: readonly PlanExpr[]): PlanExpr => {
  const [only] = list;
  if (list.length === 1) return only!;
  const middle = list.length >> 1;
  return { kind, left: balanced(kind, list.slice(0, middle)), right: balanced(kind, list.slice(middle)) };
};

/** A value of a row and the one that it is compared with. */
export interface Pair {
  readonly left: PlanExpr;
  readonly right: PlanExpr;
}
/** Rows whose comparison a null leaves open: what to make of the right rows, and what is to hold for one of them. */
interface Open {
  readonly columns: readonly PlanExpr[];
  readonly tests: readonly PlanExpr[];
}

/** Up to so many columns their patterns of nulls are asked for one by one: twice as many for each column. */
export const openColumnsMax = 3;

/**
 * A comparison of rows is open where some columns have a null on either side and all others are equal. For each set of
 * such columns that is a join on the others, with few right rows: of the columns of the set it matters alone whether
 * they are null.
 */
export const openPatterns = (pairs: readonly Pair[]): readonly Open[] =>
  Array.from({ length: 2 ** pairs.length - 1 }, (_, k) => k + 1).map((set) => {
    const isOpen = (i: number): boolean => ((set >> i) & 1) === 1;
    return {
      columns: pairs.map(({ right }, i) => (isOpen(i) ? isNull(right) : right)),
      tests: pairs.map(({ left }, i): PlanExpr => {
        const column = fieldOf(thisExpr, columnName(i));
        return isOpen(i)
          ? { kind: 'or', left: isNull(left), right: column }
          : { kind: 'compare', operator: '==', left, right: column, sql: true };
      }),
    };
  });

/** The distinct rows of these columns, as the tests of `openPatterns` name them. */
export const distinctRows = (columns: readonly PlanExpr[]): readonly PlanOp[] => [
  {
    kind: 'values',
    exprs: [
      {
        kind: 'record',
        elements: columns.map((value, i): RecordElement => ({ kind: 'field', name: columnName(i), value })),
      },
    ],
  },
  { kind: 'distinct', expr: thisExpr, sql: true },
];
const columnName = (i: number): string => `k${i}`;
const isNull = (operand: PlanExpr): PlanExpr => ({ kind: 'isNull', operand, sql: true });
