/** Laws of merges and reverts where objects are rewritten (rewrites.ts); `npm run campaign -- rewrites` runs many. */
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { seedOf } from '../support/random.ts';
import { openTestLake } from '../unit/lake/support.ts';
import { steps } from './history.ts';
import { runRewrites } from './rewrites.ts';

const seed = seedOf(20_020);
const numRuns = Number(process.env['HISTORIES'] ?? 40);
test(`random histories of rewritten objects: what is done is right, what is refused is not (seed ${seed})`, {
  timeout: 300_000 + 1000 * numRuns,
}, async () => {
  const lake = await openTestLake();
  let runs = 0;
  let commits = 0;
  let conflicts = 0;
  await fc.assert(
    fc.asyncProperty(steps(40), async (history) => {
      const counts = await runRewrites(lake, `r${runs++}`, history);
      commits += counts.commits;
      conflicts += counts.conflicts;
    }),
    { seed, numRuns, endOnFailure: process.env['SHRINK'] === undefined },
  );
  expect({ commits: commits > numRuns, conflicts: conflicts > 0 }).toEqual({ commits: true, conflicts: true });
});
