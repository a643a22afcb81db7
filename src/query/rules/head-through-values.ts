/**
 * A head or skip behind a record that is made of each row goes before the making: rows that nobody wants are not made.
 */
import type { PlanOp } from '../plan/plan.ts';
import type { Rule } from './rule.ts';

/** Moves each head and skip in front of all such operators (`isOneToOne`) directly before it. */
export const headThroughValues = {
  name: 'head-through-values',
  apply: (ops) => {
    const out = [...ops];
    for (let i = 1; i < out.length; i++) {
      const op = out[i];
      if (op.kind !== 'head' && op.kind !== 'skip') continue;
      let at = i;
      for (let before = out[at - 1]; before && isOneToOne(before); before = out[at - 1]) {
        out[at] = before;
        out[--at] = op;
      }
    }
    return out;
  },
} as const satisfies Rule;

/**
 * Gives exactly one value for each that comes: one record, which is never quiet. A `rename` drops quiet and missing
 * values.
 */
export const isOneToOne = (op: PlanOp): boolean =>
  op.kind === 'values' && op.exprs.length === 1 && op.exprs[0].kind === 'record';
