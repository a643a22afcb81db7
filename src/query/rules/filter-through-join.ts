/** Parts of a filter behind a join that read one side go to that side, where unmatched rows of the join cannot change what they see. */
import { conjunction, conjuncts, fieldsRead, hasSubquery, movePaths } from '../plan-walk.ts';
import type { PlanExpr, PlanOp } from '../plan.ts';
import type { Rule } from '../rules.ts';

export const filterThroughJoin = {
  name: 'filter-through-join',
  apply: (ops) => {
    const at = ops.findIndex((op, i) => op.kind === 'filter' && ops[i - 1]?.kind === 'join');
    const filter = ops[at], join = ops[at - 1];
    if (filter?.kind !== 'filter' || join?.kind !== 'join' || !join.right) return ops;
    const left: PlanExpr[] = [], right: PlanExpr[] = [], rest: PlanExpr[] = [];
    for (const part of conjuncts(filter.expr)) {
      const side = sideOf(part, join);
      if (side === 'left') left.push(over(part, join.leftName));
      else if (side === 'right') right.push(over(part, join.rightName));
      else rest.push(part);
    }
    if (left.length === 0 && right.length === 0) return ops;
    const filterOf = (list: readonly PlanExpr[]): readonly PlanOp[] => {
      const expr = conjunction(list);
      return expr ? [{ kind: 'filter', expr }] : [];
    };
    const joined: PlanOp = right.length > 0 ? { ...join, right: { ops: [...join.right.ops, ...filterOf(right)] } } : join;
    return [...ops.slice(0, at - 1), ...filterOf(left), joined, ...filterOf(rest), ...ops.slice(at + 1)];
  },
} as const satisfies Rule;

type Join = PlanOp & { readonly kind: 'join' };

/** The side that the predicate reads alone, if rows may be taken away from it before the join. */
const sideOf = (e: PlanExpr, join: Join): 'left' | 'right' | undefined => {
  const paths = fieldsRead(e);
  if (!paths || paths.length === 0 || hasSubquery(e)) return undefined;
  const keepsLeft = join.style === 'inner' || join.style === 'cross' || join.style === 'left' || join.style === 'anti';
  const keepsRight = join.style === 'inner' || join.style === 'cross' || join.style === 'right';
  if (keepsLeft && paths.every((p) => p[0] === join.leftName)) return 'left';
  return keepsRight && paths.every((p) => p[0] === join.rightName) ? 'right' : undefined;
};

const over = (e: PlanExpr, name: string): PlanExpr => movePaths(e, (path) => (path[0] === name ? path.slice(1) : undefined));
