/** LATERAL to operators: a subquery of FROM that uses columns of the tables before it. */
import type { Analysis } from './analyze-context.ts';
import { type Flow, lowerAlone, sourced } from './analyze-queries.ts';
import type { SqlJoin, SqlSubqueryTable } from './ast.ts';
import type { PlanOp } from './plan.ts';
import { Capture } from './sql-correlate.ts';
import { clauseNames } from './sql-names.ts';
import { type LoweredTables, aliased, lowerOn, underSide } from './sql-tables.ts';
import { splitCondition } from './analyze-joins.ts';
import { types } from '../vectors/type.ts';

type LateralJoin = SqlJoin & { readonly right: SqlSubqueryTable };

/** The tables before LATERAL joined with its subquery. One that uses none of their columns is an ordinary join; styles but inner, cross and left are faults. */
export const lowerLateral = (a: Analysis, e: LateralJoin, left: LoweredTables, flow: Flow): LoweredTables => {
  const capture = new Capture(a, clauseNames(a, left.tables, new WeakMap(), flow.outer ? { outer: flow.outer } : {}));
  if (e.right.ordinality) a.fault('WITH ORDINALITY clause is not yet supported', e.right);
  const right = aliased(a, lowerAlone(a, e.right.query, flow.scope, capture.names).ops, e.right.alias, undefined, types.null);
  const { condition } = e, style = e.style === 'cross' ? 'inner' : e.style;
  const tables = [...underSide('left', left.tables), ...underSide('right', right.tables)], star = [...underSide('left', left.star), ...underSide('right', right.star)];
  const names = { leftName: 'left', rightName: 'right' } as const;
  if (style !== 'inner' && style !== 'left') {
    a.faultOfShape(`LATERAL cannot be the right side of a ${style.toUpperCase()} join: write JOIN LATERAL or LEFT JOIN LATERAL`, e.right);
    return { ops: left.ops, tables, star };
  }
  if (condition?.kind === 'join-using') a.fault('LATERAL takes ON and no USING: write ON with the columns of both sides', condition);
  const pairOf = (op: PlanOp): PlanOp => {
    if (condition?.kind !== 'join-on' || (op.kind !== 'lateral' && op.kind !== 'join')) return op;
    const on = lowerOn(a, condition.expr, a.typeOf([...left.ops, op], flow.input), tables, flow);
    return op.kind === 'join' ? { ...op, ...splitCondition(a, on, 'left', 'right') } : { ...op, residual: on };
  };
  if (!capture.isUsed) return { ops: [...left.ops, pairOf({ kind: 'join', style, right: { ops: sourced(right.ops) }, ...names, equal: [], nullsMatch: true })], tables, star };
  const body = capture.body(right.ops);
  return { ops: [...left.ops, pairOf({ kind: 'lateral', style, ...names, outer: [...capture.values], body })], tables, star };
};
