/** A filter behind pipelines side by side (UNION ALL, several pools) is each one's own: so it gets to their scans. */
import { conjuncts, hasSubquery } from '../plan/walk.ts';
import { type Rule, filterOf } from './rule.ts';

export const filterThroughCombine = {
  name: 'filter-through-combine',
  apply: (ops) =>
    ops.flatMap((op, at) => {
      const next = ops[at + 1];
      const before = ops[at - 1];
      // A subquery would be run by each of them.
      if (op.kind === 'combine' && next?.kind === 'filter') {
        const own = conjuncts(next.expr).filter((part) => !hasSubquery(part));
        return own.length === 0
          ? [op]
          : [{ ...op, branches: op.branches.map((branch) => ({ ops: [...branch.ops, ...filterOf(own)] })) }];
      }
      if (op.kind === 'filter' && before?.kind === 'combine') return filterOf(conjuncts(op.expr).filter(hasSubquery));
      return [op];
    }),
} as const satisfies Rule;
