/** A sort of which only the first rows are wanted keeps no more than these. */
import type { PlanOp } from '../plan/plan.ts';
import type { Rule } from './rule.ts';

/** Beyond so many rows a sort is as good. */
const topMax = 100_000;

export const topK = {
  name: 'top-k',
  apply: (ops) => {
    const out: PlanOp[] = [];
    for (let i = 0; i < ops.length; i++) {
      const op = ops[i];
      const next = ops[i + 1];
      const afterNext = ops[i + 2];
      if (op.kind === 'sort' && next?.kind === 'head' && next.count > 0 && next.count <= topMax) {
        out.push({ ...op, kind: 'top', count: next.count });
        i++;
      } else if (
        op.kind === 'sort' &&
        next?.kind === 'skip' &&
        afterNext?.kind === 'head' &&
        afterNext.count > 0 &&
        next.count + afterNext.count <= topMax
      ) {
        out.push({ ...op, kind: 'top', count: next.count + afterNext.count }, next);
        i += 2;
      } else out.push(op);
    }
    return out;
  },
} as const satisfies Rule;
