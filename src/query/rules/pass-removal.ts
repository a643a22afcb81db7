/** `pass` does nothing. One that is alone in its pipeline stays. */
import type { Rule } from './rule.ts';

export const passRemoval = {
  name: 'pass-removal',
  // Behind a fork or switch it brings the branches together, which whatever follows does as well, save for a join or
  // merge.
  apply: (ops) => {
    const rest = ops.filter((op, i) => op.kind !== 'pass' || isSplit(ops[i - 1]?.kind));
    return rest.length > 0 ? rest : ops.slice(0, 1);
  },
} as const satisfies Rule;

const isSplit = (kind: string | undefined): boolean => kind === 'fork' || kind === 'switch';
