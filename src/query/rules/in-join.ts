/**
 * `x in (query)` of a filter becomes a semi join, `x not in (query)` an anti join that knows of nulls: the rows of the
 * query are indexed once and where they lie, instead of becoming a list of values, and what does not fit into memory is
 * spilled.
 */
import { hasSubquery, pathExpr, thisExpr } from '../plan/walk.ts';
import type { PlanExpr, PlanOp } from '../plan/plan.ts';
import { joinFilterParts } from './filter-parts.ts';
import type { Rule } from './rule.ts';

type In = PlanExpr & { readonly kind: 'in'; readonly right: PlanExpr & { readonly kind: 'subquery' } };
/** A part of a filter that asks for membership, or for none. */
interface Asked {
  readonly of: In;
  readonly isNegated: boolean;
}

export const inJoin = {
  name: 'in-join',
  apply: (ops, { subqueries }) => (subqueries ? joinFilterParts(ops, askedBy, joinFor) : ops),
} as const satisfies Rule;

const askedBy = (e: PlanExpr): Asked | undefined => {
  if (e.kind === 'not') {
    const inner = askedBy(e.operand);
    // What pipes answer for nulls is not what SQL does.
    return inner?.of.sql ? { ...inner, isNegated: !inner.isNegated } : undefined;
  }
  return isMembership(e) ? { of: e, isNegated: false } : undefined;
};
/** Only where the rows of the query are the values themselves: in pipes what is inside of one counts too. */
const isMembership = (e: PlanExpr): e is In =>
  e.kind === 'in' &&
  (e.ofColumn === true || e.ofTexts === true) &&
  e.right.kind === 'subquery' &&
  !e.right.correlated &&
  !hasSubquery(e.left);

const joinFor = ({ of: { left, right, sql }, isNegated }: Asked): readonly PlanOp[] => [
  {
    kind: 'join',
    style: isNegated ? 'anti' : 'inner',
    leftName: 'left',
    rightName: 'right',
    nullsMatch: false,
    ...(sql && { loose: true }),
    firstOnly: true,
    ...(isNegated && { nullAware: true }),
    right: right.body,
    equal: [{ left, right: thisExpr }],
  },
  { kind: 'values', exprs: [pathExpr(['left'])] },
];
