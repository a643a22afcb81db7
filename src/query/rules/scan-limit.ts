/**
 * A head behind a scan, with only one-to-one operators between, tells the scan how many rows are wanted. The head
 * itself stays.
 */
import type { Rule } from './rule.ts';
import { isOneToOne } from './head-through-values.ts';

export const scanLimit = {
  name: 'scan-limit',
  apply: (ops) => {
    const [scan, ...rest] = ops;
    if (scan?.kind !== 'scan' || scan.filter) return ops;
    let wanted = 0;
    for (const op of rest) {
      if (op.kind === 'skip') wanted += op.count;
      else if (op.kind === 'head')
        return [{ ...scan, limit: Math.min(wanted + op.count, scan.limit ?? Infinity) }, ...rest];
      else if (!isOneToOne(op)) return ops;
    }
    return ops;
  },
} as const satisfies Rule;
