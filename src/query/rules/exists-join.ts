/**
 * `exists` and `not exists` of a filter become joins: each row goes past the rows of the subquery once, instead of
 * batch after batch being looked up in them, and what does not fit into memory is spilled once. Only where the
 * subquery is joined to the values of the row around it by an equality.
 */
import {
  callOf,
  fieldOf,
  hasSubquery,
  pathExpr,
  replacePaths,
  sameForm,
  substituteRow,
  thisExpr,
} from '../plan/walk.ts';
import type { PlanExpr, PlanOp } from '../plan/plan.ts';
import { joinFilterParts } from './filter-parts.ts';
import type { Rule } from './rule.ts';

type Join = PlanOp & { readonly kind: 'join' };
type Apply = PlanExpr & { readonly kind: 'apply' };
/** A part of a filter that asks whether the subquery has rows. */
interface Asked {
  readonly apply: Apply;
  readonly join: Join;
  readonly isNegated: boolean;
}

export const existsJoin = {
  name: 'exists-join',
  apply: (ops) => joinFilterParts(ops, askedBy, semiJoin),
} as const satisfies Rule;

const askedBy = (e: PlanExpr): Asked | undefined => {
  if (e.kind === 'not') {
    const inner = askedBy(e.operand);
    return inner && { ...inner, isNegated: !inner.isNegated };
  }
  // A subquery among the outer values may read the row itself, which lies elsewhere then.
  if (e.kind !== 'apply' || e.form !== 'exists' || e.body.mode !== 'joined' || e.outer.some(hasSubquery))
    return undefined;
  const [join, ...rest] = e.body.pipeline.ops;
  // Behind the join nothing takes rows away.
  return join?.kind === 'join' &&
    join.style === 'inner' &&
    join.right &&
    join.equal.length > 0 &&
    join.firstOnly &&
    rest.every((op) => op.kind === 'values')
    ? { apply: e, join, isNegated: false }
    : undefined;
};

/** The rows that have a match, or those that have none. */
const semiJoin = ({ apply: { outer }, join, isNegated }: Asked): readonly PlanOp[] => {
  /** What stands for the outer values, which lie at `at` there, over the rows at `to`. */
  const over = (e: PlanExpr, at: readonly string[], to: PlanExpr): PlanExpr =>
    replacePaths(
      e,
      (path) => {
        const place = at.every((name, i) => name === path[i]) ? /^c(\d+)$/.exec(path[at.length] ?? '') : undefined;
        return place
          ? path.slice(at.length + 1).reduce(fieldOf, substituteRow(outer[Number(place[1])], to)!)
          : undefined;
      },
      sameForm,
    );
  const { firstOnly: _, residual, ...base } = join;
  const semi: Join = {
    ...base,
    style: isNegated ? 'anti' : 'inner',
    ...(!isNegated && { firstOnly: true }),
    equal: join.equal.map(({ left, right }) => {
      const key = over(left, [], thisExpr);
      // What is missing matches nothing, as null: its row stays.
      return { left: isNegated ? callOf('coalesce', key) : key, right };
    }),
    ...(residual && { residual: over(residual, [join.leftName], pathExpr([join.leftName])) }),
  };
  return [semi, { kind: 'values', exprs: [pathExpr([join.leftName])] }];
};
