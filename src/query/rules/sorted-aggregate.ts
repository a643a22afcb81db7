/** An aggregation whose first key is the pool's primary key gives its groups as the scan moves on. */
import { pathOf, samePath } from '../plan/walk.ts';
import type { Rule } from './rule.ts';
import { keepsField } from './order.ts';

export const sortedAggregate = {
  name: 'sorted-aggregate',
  apply: (ops) => {
    const [scan] = ops;
    const at = ops.findIndex((op) => op.kind === 'aggregate');
    const aggregate = ops[at];
    if (scan?.kind !== 'scan' || aggregate?.kind !== 'aggregate' || scan.sources.length !== 1) return ops;
    const source = scan.sources[0];
    const key = source.sortKeys?.[0];
    const first = aggregate.keys[0] && pathOf(aggregate.keys[0].expr);
    if (
      !key ||
      !source.order ||
      !first ||
      !samePath(key, first) ||
      !ops.slice(1, at).every((op) => keepsField(op, key))
    )
      return ops;
    return ops.map((op, i) => (i === at ? { ...aggregate, sortedBy: source.order! } : op));
  },
} as const satisfies Rule;
