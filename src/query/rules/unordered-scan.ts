/**
 * Where what follows does not care about the pool's order, the scan need not merge overlapping objects. A join in
 * between gives the same rows whatever the order of its left side is, in theirs.
 */
import type { PlanOp } from '../plan/plan.ts';
import type { Rule } from './rule.ts';
import { keepsOrder } from './order.ts';

export const unorderedScan = {
  name: 'unordered-scan',
  apply: (ops) => {
    const [scan, ...rest] = ops;
    if (scan?.kind !== 'scan' || !scan.ordered) return ops;
    return isOrderFree(rest) ? [{ ...scan, ordered: false }, ...rest] : ops;
  },
} as const satisfies Rule;

/** Whether nobody can tell in which order rows come to these operators. */
export const isOrderFree = (ops: readonly PlanOp[]): boolean => {
  const next = ops.find((op) => !keepsOrder(op) && op.kind !== 'join');
  return next !== undefined && isIndifferent(next);
};

/** Aggregates whose result depends on the order of their input. */
const ordered: ReadonlySet<string> = new Set(['any', 'collect', 'collect_map', 'fuse']);

const isIndifferent = (op: PlanOp): boolean => {
  if (op.kind === 'sort' || op.kind === 'top') return op.keys.length > 0;
  return op.kind === 'aggregate' && !op.sortedBy && op.aggregates.every((a) => !ordered.has(a.aggregate.name));
};
