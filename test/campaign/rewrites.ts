/**
 * Random histories of rewritten objects beside a model of all courses that rows may have taken (laws/rewrites.ts), one
 * a seed, all in one lake.
 */
import fc from 'fast-check';
import { openLake } from '../../src/lake/lake.ts';
import { openObjects } from '../../src/lake/objects/objects.ts';
import { steps } from '../laws/history.ts';
import { runRewrites } from '../laws/rewrites.ts';
import type { PartRun } from './part.ts';

export const rewrites: PartRun = async ({ folder, seeds, count, failed }) => {
  const faults: unknown[] = [];
  const lake = await openLake({
    directory: folder,
    objects: openObjects(folder),
    report: (fault) => {
      faults.push(fault);
    },
  });
  try {
    for (const seed of seeds) {
      const [history] = fc.sample(steps(40), { seed, numRuns: 1 });
      const pool = `r${seed}`;
      try {
        const counts = await runRewrites(lake, pool, history!);
        if (faults.length > 0) throw faults.shift();
        count('histories');
        for (const [what, n] of Object.entries(counts)) count(what, n);
      } catch (error) {
        failed(seed, error instanceof Error ? error.message : String(error));
      }
      await lake.deletePool(pool);
    }
  } finally {
    await lake.close();
  }
};
