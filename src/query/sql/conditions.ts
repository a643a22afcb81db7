/**
 * Conditions of SQL: what is no bool counts as one where a condition stands, numbers that are not 0 and texts such as
 * `yes` as true.
 */
import { types } from '../../vectors/type.ts';
import type { ExprContext } from '../analyze/exprs.ts';
import type { PlanExpr } from '../plan/plan.ts';
import { castTo } from './values/casts.ts';
import { isSql } from './elements.ts';

/** Kinds of expressions that may have a number, a text or whatever the rows hold. */
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
/** Whether it gives bools, nulls and errors alone. */
const isBool = (e: PlanExpr): boolean => {
  switch (e.kind) {
    case 'literal':
      return e.value.type === types.bool || e.value.type === types.null || e.value.type.kind === 'error';
    case 'sqlCast':
      return e.type.kind === 'plain' && e.type.type === types.bool;
    case 'case':
      return e.branches.every(({ then }) => isBool(then)) && (!e.otherwise || isBool(e.otherwise));
    case 'conditional':
      return isBool(e.then) && isBool(e.otherwise);
    default:
      return !openKinds.has(e.kind);
  }
};

/** A condition as true, false or null: in SQL a cast to bool where the expression may be something else. */
export const conditionIn = (c: ExprContext, e: PlanExpr): PlanExpr => (isSql(c) ? sqlCondition(e, c.attempt) : e);
/** The same in a clause of SQL. */
export const sqlCondition = (e: PlanExpr, attempt = false): PlanExpr =>
  isBool(e) ? e : castTo(e, { kind: 'plain', type: types.bool }, { attempt, written: 'condition' });
