/**
 * `x in (query)` of a filter becomes a semi join: the rows of the query are indexed once and where they lie, instead of
 * becoming a list of values, and what does not fit into memory is put aside. `not in` stays as it is: a null among the
 * rows of the query decides about all of them.
 */
import { conjunction, conjuncts, hasSubquery, pathExpr, thisExpr } from '../plan/walk.ts';
import type { PlanExpr, PlanOp } from '../plan/plan.ts';
import type { Rule } from './rules.ts';

type In = PlanExpr & { readonly kind: 'in'; readonly right: PlanExpr & { readonly kind: 'subquery' } };

export const inJoin = {
  name: 'in-join',
  apply: (ops, { subqueries }) =>
    subqueries && ops.some((op) => op.kind === 'filter' && conjuncts(op.expr).some(isMembership))
      ? ops.flatMap(joined)
      : ops,
} as const satisfies Rule;

const joined = (op: PlanOp): readonly PlanOp[] => {
  if (op.kind !== 'filter') return [op];
  const parts = conjuncts(op.expr);
  const rest = conjunction(parts.filter((e) => !isMembership(e)));
  return [...(rest ? [{ kind: 'filter', expr: rest } as const] : []), ...parts.filter(isMembership).flatMap(semiJoin)];
};

/** Only where the rows of the query are the values themselves. */
const isMembership = (e: PlanExpr): e is In =>
  e.kind === 'in' && e.ofColumn === true && e.right.kind === 'subquery' && !e.right.correlated && !hasSubquery(e.left);

const semiJoin = ({ left, right }: In): readonly PlanOp[] => [
  {
    kind: 'join',
    style: 'inner',
    leftName: 'left',
    rightName: 'right',
    nullsMatch: false,
    loose: true,
    firstOnly: true,
    right: right.body,
    equal: [{ left, right: thisExpr }],
  },
  { kind: 'values', exprs: [pathExpr(['left'])] },
];
