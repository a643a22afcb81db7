/** How rules turn parts of a filter into joins: what is left of the filter comes before them. */
import { conjunction, conjuncts } from '../plan/walk.ts';
import type { PlanExpr, PlanOp } from '../plan/plan.ts';

/** `asked` finds what a part of a filter asks of other rows, `joinsFor` makes the operators that answer it. */
export const joinFilterParts = <Asked>(
  ops: readonly PlanOp[],
  asked: (part: PlanExpr) => Asked | undefined,
  joinsFor: (asked: Asked) => readonly PlanOp[],
): readonly PlanOp[] => {
  const joined = (op: PlanOp): readonly PlanOp[] => {
    if (op.kind !== 'filter') return [op];
    const parts = conjuncts(op.expr).map((part) => ({ part, found: asked(part) }));
    if (parts.every(({ found }) => found === undefined)) return [op];
    const rest = conjunction(parts.filter(({ found }) => found === undefined).map(({ part }) => part));
    return [
      ...(rest ? [{ kind: 'filter', expr: rest } as const] : []),
      ...parts.flatMap(({ found }) => (found === undefined ? [] : joinsFor(found))),
    ];
  };
  return ops.some((op) => op.kind === 'filter' && conjuncts(op.expr).some((part) => asked(part) !== undefined))
    ? ops.flatMap(joined)
    : ops;
};
