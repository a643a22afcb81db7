/** A filter behind a sort goes before it: fewer rows to sort, the same order. */
import type { Rule } from './rule.ts';

export const filterThroughSort = {
  name: 'filter-through-sort',
  apply: (ops) => {
    const out = [...ops];
    for (let i = 1; i < out.length; i++) {
      const op = out[i];
      if (op.kind !== 'filter') continue;
      let at = i;
      // Without keys the first value decides on the order, so that it must not be filtered away.
      for (let before = out[at - 1]; before?.kind === 'sort' && before.keys.length > 0; before = out[at - 1]) {
        out[at] = before;
        out[--at] = op;
      }
    }
    return out;
  },
} as const satisfies Rule;
