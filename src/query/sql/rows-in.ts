/**
 * Rows among rows: `(a, b) in ((1, 2), (3, null))` compares value by value, so that it is null only where what is null
 * decides.
 */
import type { Expr, TupleExpr } from '../ast.ts';
import type { PlanExpr } from '../plan/plan.ts';

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
  const hasNull = balanced(
    'or',
    left.map((operand): PlanExpr => ({ kind: 'isNull', operand, sql: true })),
  );
  return { kind: 'conditional', test: hasNull, then: any, otherwise: whole() };
};
const isGiven = (e: PlanExpr): boolean => e.kind === 'literal' && e.value.data !== null;
const balanced = (kind: 'and' | 'or', list: readonly PlanExpr[]): PlanExpr => {
  const [only] = list;
  if (list.length === 1) return only!;
  const middle = list.length >> 1;
  return { kind, left: balanced(kind, list.slice(0, middle)), right: balanced(kind, list.slice(middle)) };
};
