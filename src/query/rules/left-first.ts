/**
 * A join whose left side is likely to be the smaller one reads that first, and the right side streams past it
 * (exec/operators/join/turned.ts): of the right side nothing is held, and its scan leaves out what no left row asks for.
 *
 * - So it is where the left side is estimated to have few rows beside the right one, and where filters leave a part of
 *   the left rows and all of the right ones: then right keys tell no left rows apart, while left keys do.
 * - A right side that filters leave a part of is read first as long as it is not by far the larger one: its keys leave
 *   out left rows.
 * - Of the processor time of TPC-H at scale 1: Q13 0.23, Q09 0.30, Q04 0.69, Q21 0.73.
 * - Joins that run again and again (`kept`) are told how many right rows there may be: the first runs for few left rows
 *   do the same.
 * - Estimates may be wrong: the join goes back to the right side once there are as many left rows as that has.
 */
import type { PlanOp } from '../plan/plan.ts';
import { type RowEstimate, estimateRows } from './row-estimate.ts';
import type { Rule } from './rule.ts';
import { isOrderFree } from './unordered-scan.ts';

type Join = PlanOp & { readonly kind: 'join' };

/** Fewer right rows are held and indexed in less time than it takes to see which side is the smaller one. */
const rightRowsMin = 1 << 15;
/** So many times more rows of the right side are by far more, although it is filtered. */
const farMore = 4;

export const leftFirst = {
  name: 'left-first',
  apply: (ops, _context, nested) => {
    if (!ops.some(mayTurn)) return ops;
    return ops.map((op, i) => {
      if (!mayTurn(op)) return op;
      const right = estimateRows(op.right!.ops);
      const { rows } = right;
      if (rows === undefined || rows < rightRowsMin) return op;
      const leftFirst = Math.ceil(rows);
      const { kept, ...once } = op;
      // What runs again and again looks each time how many left rows there are.
      if (kept && nested) return op.style === 'inner' ? { ...op, leftFirst } : op;
      return (op.anyOrder || isOrderFree(ops.slice(i + 1))) && isSmaller(estimateRows(ops.slice(0, i)), right)
        ? { ...once, leftFirst }
        : op;
    });
  },
} as const satisfies Rule;

const mayTurn = (op: PlanOp): op is Join =>
  op.kind === 'join' &&
  op.right !== undefined &&
  op.equal.length > 0 &&
  (op.style === 'inner' || op.style === 'anti' || (op.style === 'left' && !op.firstOnly)) &&
  !op.nullAware &&
  !op.nearest;

const isSmaller = (left: RowEstimate, right: RowEstimate): boolean =>
  left.rows !== undefined &&
  right.rows !== undefined &&
  (left.rows * farMore <= right.rows || (left.share < 1 && right.share === 1));
