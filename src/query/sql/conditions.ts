/**
 * Conditions of SQL: what is no bool counts as one where a condition stands, numbers that are not 0 and texts such as
 * `yes` as true.
 */
import { types } from '../../vectors/type.ts';
import type { ExprContext } from '../analyze/exprs.ts';
import type { PlanExpr } from '../plan/plan.ts';
import { castTo } from './values/casts.ts';
import { isSql } from './elements.ts';

/**
 * Kinds of expressions that have a number, a text or whatever the rows hold; the others give bools, nulls and errors
 * alone.
 */
const openKinds: ReadonlySet<PlanExpr['kind']> = new Set([
  'literal',
  'this',
  'field',
  'index',
  'negate',
  'arithmetic',
  'concat',
  'conditional',
  'case',
  'call',
  'userCall',
  'cast',
  'sqlCast',
]);
const isBool = (e: PlanExpr): boolean => {
  if (e.kind === 'literal')
    return e.value.type === types.bool || e.value.type === types.null || e.value.type.kind === 'error';
  return e.kind === 'sqlCast' && e.type.kind === 'plain' && e.type.type === types.bool;
};

/** A condition as true, false or null: in SQL a cast to bool where the expression may be something else. */
export const conditionIn = (c: ExprContext, e: PlanExpr): PlanExpr => (isSql(c) ? sqlCondition(e, c.attempt) : e);
/** The same in a clause of SQL. */
export const sqlCondition = (e: PlanExpr, attempt = false): PlanExpr =>
  openKinds.has(e.kind) && !isBool(e)
    ? castTo(e, { kind: 'plain', type: types.bool }, { attempt, written: 'condition' })
    : e;
