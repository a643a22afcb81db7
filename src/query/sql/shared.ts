/**
 * Tables of WITH that are named several times: which of them run once, for all who name them.
 *
 * Those that cost next to nothing, a scan and what is done to each row by itself, stand wherever they are named, so that
 * each reads the rows and columns that it needs alone. MATERIALIZED shares them too, NOT MATERIALIZED none.
 */
import { isSteady } from '../analyze/correlated.ts';
import type { Analysis } from '../analyze/context.ts';
import type { CteBinding } from '../analyze/scope.ts';
import { exprsOf, hasSubquery, someExpr } from '../plan/walk.ts';
import type { PlanExpr, PlanOp } from '../plan/plan.ts';
import { keepsOrder } from '../rules/order.ts';

/** How often a name stands in FROM anywhere below a node, by names in lower case. */
export const tableCounts = (root: object): ReadonlyMap<string, number> => {
  const counts = new Map<string, number>();
  const open: unknown[] = [root];
  for (let node = open.pop(); node !== undefined; node = open.pop()) {
    if (typeof node !== 'object' || node === null) continue;
    if ('kind' in node && node.kind === 'source-text' && 'text' in node) {
      const name = String(node.text).toLowerCase();
      counts.set(name, (counts.get(name) ?? 0) + 1);
    }
    for (const part of Object.values(node)) if (typeof part === 'object') open.push(part);
  }
  return counts;
};

/**
 * The operators of a reference to a table, which were made without a fault: the one that all references share, or its
 * own.
 */
export const sharedOps = (a: Analysis, table: CteBinding, ops: readonly PlanOp[]): readonly PlanOp[] => {
  const { materialized, alias } = table.cte;
  if (!table.isRepeated || table.inner || materialized === false || !isSteady(ops)) return ops;
  if (!materialized && isCheap(a, ops)) return ops;
  table.shared = { kind: 'shared', id: a.nextLevel++, name: alias.name.text, body: { ops } };
  return [table.shared];
};

/** Rows one by one, each worked out from what was read, the same whenever that is done. */
const isCheap = (a: Analysis, ops: readonly PlanOp[]): boolean =>
  ops.every(
    (op) =>
      (op.kind === 'scan' || op.kind === 'null' || op.kind === 'empty' || op.kind === 'shared' || keepsOrder(op)) &&
      exprsOf(op).every((e) => isPlain(a, e)),
  );
const isPlain = (a: Analysis, e: PlanExpr): boolean =>
  !hasSubquery(e) &&
  !someExpr(e, (part) => part.kind === 'call' && a.environment.functions.find(part.name)?.impure === true);
