/** Filters in a row become one. */
import type { PlanOp } from '../plan/plan.ts';
import type { Rule } from './rule.ts';

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
