/**
 * LATERAL to operators: a subquery of FROM that uses columns of the tables before it, whether the word is written or
 * not (as in DuckDB).
 */
import type { Analysis } from '../analyze/context.ts';
import type { Flow } from '../analyze/queries.ts';
import type { SqlJoin } from '../ast.ts';
import type { PlanOp } from '../plan/plan.ts';
import { Capture } from './correlate.ts';
import { clauseNames } from './names.ts';
import { type LoweredTables, absentRows, beside, lowerOn, lowerTables } from './tables.ts';

/**
 * The right side of a join as it is lowered: `lateral` if it uses columns of the tables before it, which are in
 * `capture`.
 */
interface RightSide {
  readonly right: LoweredTables;
  readonly capture?: Capture;
}

/** The right side of a join. Only subqueries may use columns of the left one. */
export const lowerRight = (a: Analysis, e: SqlJoin, left: LoweredTables, flow: Flow): RightSide => {
  if (e.right.kind !== 'sql-subquery-table') return { right: lowerTables(a, e.right, flow) };
  const capture = new Capture(a, clauseNames(a, left.tables, new WeakMap(), flow.outer ? { outer: flow.outer } : {}));
  const right = lowerTables(a, e.right, { ...flow, outer: capture.names });
  return capture.isUsed ? { right, capture } : { right };
};

/**
 * The tables before a subquery that uses their columns, joined with it. Styles but inner, cross and left are faults,
 * and so are USING and NATURAL.
 */
export const joinLateral = (
  a: Analysis,
  e: SqlJoin,
  left: LoweredTables,
  { right, capture }: Required<RightSide>,
  flow: Flow,
): LoweredTables => {
  const { condition } = e;
  const style = e.style === 'cross' ? 'inner' : e.style;
  const { tables, star } = beside(left, right);
  if ((style !== 'inner' && style !== 'left') || e.asof) {
    a.faultOfShape(
      `LATERAL cannot be the right side of ${e.asof ? 'an ASOF' : `a ${style.toUpperCase()}`} join: write JOIN LATERAL or LEFT JOIN LATERAL`,
      e.right,
    );
    return { ops: left.ops, tables, star };
  }
  if (condition?.kind === 'join-using' || e.natural)
    a.fault('LATERAL takes ON and no USING: write ON with the columns of both sides', condition ?? e.right);
  const lateral: PlanOp = {
    kind: 'lateral',
    style,
    leftName: 'left',
    rightName: 'right',
    ...absentRows(style, left, right),
    outer: [...capture.values],
    body: capture.body(right.ops),
  };
  const on =
    condition?.kind === 'join-on' ? lowerOn(a, condition.expr, [...left.ops, lateral], tables, flow) : undefined;
  return { ops: [...left.ops, on ? { ...lateral, residual: on } : lateral], tables, star };
};
