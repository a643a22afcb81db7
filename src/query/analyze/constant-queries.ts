/**
 * Subqueries that are constants: their rows come from literals alone, through operators that need nothing but these
 * rows. They are worked out while a query is compiled, so that a count (`head (values 2)`) or a pattern may be written
 * as one.
 */
import { type Value, arrayValue, nullValue } from '../../vectors/value.ts';
import { types } from '../../vectors/type.ts';
import { literal, mapParts, substituteRow } from '../plan/walk.ts';
import type { PlanExpr, PlanOp } from '../plan/plan.ts';

/** The value of an expression that depends on no row; undefined for others. */
type Fold = (e: PlanExpr) => Value | undefined;

/** Most rows that are worked out; a subquery with more runs with the query. */
const rowsMax = 1000;

/** The expression with literals in place of such subqueries; other subqueries stay. */
export const foldSubqueries = (e: PlanExpr, fold: Fold): PlanExpr => {
  if (e.kind !== 'subquery') return mapParts(e, (part) => foldSubqueries(part, fold));
  const rows = e.correlated ? undefined : rowsOf(e.body.ops, fold);
  if (rows && (e.form === 'list' || (rows.length > 0 && (e.form === 'array' || e.form === 'collected'))))
    return literal(arrayValue(rows));
  return e.form === 'scalar' && rows?.length === 1 ? literal(rows[0]) : e;
};

const rowsOf = (ops: readonly PlanOp[], fold: Fold): readonly Value[] | undefined => {
  const [first, ...rest] = ops;
  let rows = first && sourceRows(first, fold);
  for (const op of rest) rows = rows && rowsAfter(op, rows, fold);
  return rows;
};

const sourceRows = (op: PlanOp, fold: Fold): readonly Value[] | undefined => {
  switch (op.kind) {
    case 'null':
      return [nullValue];
    case 'shared':
      return rowsOf(op.body.ops, fold);
    case 'combine':
      return joined(op.branches.map((b) => rowsOf(b.ops, fold)));
    default:
      return undefined;
  }
};
const joined = (parts: readonly (readonly Value[] | undefined)[]): readonly Value[] | undefined =>
  parts.some((rows) => !rows) || parts.reduce((n, rows) => n + rows!.length, 0) > rowsMax
    ? undefined
    : parts.flatMap((rows) => rows!);

const rowsAfter = (op: PlanOp, rows: readonly Value[], fold: Fold): readonly Value[] | undefined => {
  switch (op.kind) {
    case 'pass':
      return rows;
    case 'head':
      return rows.slice(0, op.count);
    case 'skip':
      return rows.slice(op.count);
    case 'tail':
      return op.count === 0 ? [] : rows.slice(-op.count);
    case 'values':
      return rows.length * op.exprs.length > rowsMax
        ? undefined
        : allKnown(rows.flatMap((row) => op.exprs.map((e) => valueOver(e, row, fold))));
    case 'filter': {
      const tests = allKnown(rows.map((row) => valueOver(op.expr, row, fold)));
      return tests && rows.filter((_, i) => tests[i].type === types.bool && tests[i].data === true);
    }
    default:
      return undefined;
  }
};

const valueOver = (e: PlanExpr, row: Value, fold: Fold): Value | undefined => {
  const over = substituteRow(e, literal(row));
  return over && fold(over);
};

const allKnown = (values: readonly (Value | undefined)[]): readonly Value[] | undefined =>
  values.every((v) => v !== undefined) ? values : undefined;
