/** Random sequences of an issuer's key sets (access/rotation.ts), one a seed. */
import { runRotation } from '../access/rotation.ts';
import type { PartRun } from './part.ts';

export const rotation: PartRun = async ({ folder, seeds, count, failed }) => {
  for (const seed of seeds) {
    try {
      const counts = await runRotation(folder, seed);
      count('sequences');
      for (const [what, n] of Object.entries(counts)) count(what, n);
    } catch (error) {
      failed(seed, error instanceof Error ? error.message : String(error));
    }
  }
};
