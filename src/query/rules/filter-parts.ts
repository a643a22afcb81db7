/** Which parts make one filter, which are one of their own, and which become joins. */
import { conjunction, conjuncts, someExpr } from '../plan/walk.ts';
import type { PlanExpr, PlanOp } from '../plan/plan.ts';
import type { Rule } from './rule.ts';

/** Filters in a row become one. */
export const filterMerge = {
  name: 'filter-merge',
  apply: (ops) => {
    const out: PlanOp[] = [];
    for (const op of ops) {
      const last = out.at(-1);
      if (op.kind === 'filter' && last?.kind === 'filter')
        out[out.length - 1] = { kind: 'filter', expr: { kind: 'and', left: last.expr, right: op.expr } };
      else out.push(op);
    }
    return out;
  },
} as const satisfies Rule;

/**
 * Parts of a filter that ask a subquery about each row get a filter of their own behind the others: the subquery is
 * asked about the rows alone that these leave.
 */
export const filterSplit = {
  name: 'filter-split',
  apply: (ops, { subqueries }) => {
    if (!subqueries) return ops;
    const out = ops.flatMap(split);
    return out.length === ops.length ? ops : out;
  },
} as const satisfies Rule;

const split = (op: PlanOp): readonly PlanOp[] => {
  if (op.kind !== 'filter') return [op];
  const parts = conjuncts(op.expr);
  const plain = conjunction(parts.filter((part) => !asks(part)));
  const asking = parts.filter(asks);
  return plain && asking.length > 0
    ? [{ kind: 'filter', expr: plain }, ...asking.map((expr) => ({ kind: 'filter', expr }) as const)]
    : [op];
};

/** Whether the expression runs a pipeline for each row. */
const asks = (e: PlanExpr): boolean =>
  someExpr(e, (part) => part.kind === 'apply' || (part.kind === 'subquery' && part.correlated));

/**
 * Turns parts of a filter into joins: `asked` finds what a part asks of other rows, `joinsFor` makes the operators that
 * answer it. What is left of the filter comes before them.
 */
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
