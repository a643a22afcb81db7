/**
 * A filter takes null for false: of `case when a then true when b then null else false`, as `in` over rows is written,
 * it keeps `a`, and of the opposite that neither holds, each as a part by itself, which may become a join. Only where
 * the conditions are never null.
 */
import { conjunction, conjuncts } from '../plan/walk.ts';
import type { PlanExpr } from '../plan/plan.ts';
import type { Rule } from './rule.ts';

export const caseOfFilter = {
  name: 'case-of-filter',
  apply: (ops, { subqueries }) =>
    subqueries
      ? ops.map((op) => {
          if (op.kind !== 'filter') return op;
          const parts = conjuncts(op.expr);
          const plain = parts.flatMap(withoutCase);
          return plain.some((part, i) => part !== parts[i]) ? { ...op, expr: conjunction(plain)! } : op;
        })
      : ops,
} as const satisfies Rule;

const withoutCase = (e: PlanExpr): readonly PlanExpr[] => {
  const asked = e.kind === 'not' ? membershipOf(e.operand) : membershipOf(e);
  if (!asked) return [e];
  return e.kind === 'not' ? asked.map((operand) => ({ kind: 'not', operand })) : asked.slice(0, 1);
};

/** The condition under which such a case is true, and those under which it is null. */
const membershipOf = (e: PlanExpr): readonly PlanExpr[] | undefined =>
  e.kind === 'case' &&
  e.operand === undefined &&
  e.otherwise !== undefined &&
  is(e.otherwise, false) &&
  e.branches.every(({ when, then }, i) => isCertain(when) && is(then, i === 0 ? true : null))
    ? e.branches.map(({ when }) => when)
    : undefined;
const isCertain = (e: PlanExpr): boolean => e.kind === 'apply' && e.form === 'exists';
const is = (e: PlanExpr, value: boolean | null): boolean => e.kind === 'literal' && e.value.data === value;
