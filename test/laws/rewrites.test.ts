/** Laws of merges and reverts where objects are rewritten (rewrites.ts); `npm run campaign -- rewrites` runs many. */
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { seedOf } from '../support/random.ts';
import { openTestLake } from '../unit/lake/support.ts';
import { steps } from './history.ts';
import { runRewrites } from './rewrites.ts';

const seed = seedOf(20_020), numRuns = Number(process.env['HISTORIES'] ?? 60);
test(`random histories with rewritten objects: what is done is right, what is refused is not (seed ${seed})`, { timeout: 120_000 + 1000 * numRuns }, async () => {
  const lake = await openTestLake();
  let runs = 0, commits = 0, refused = 0; const all: Record<string, number> = {};
  await fc.assert(fc.asyncProperty(steps(40), async (history) => {
    const counts = await runRewrites(lake, `r${runs++}`, history);
    commits += counts.commits;
    refused += counts.conflicts; for (const [k, v] of Object.entries(counts)) all[k] = (all[k] ?? 0) + v;
  }), { seed, numRuns, endOnFailure: process.env['SHRINK'] === undefined });
  console.log(all);
  expect({ commits: commits > numRuns, refused: refused > 0 }).toEqual({ commits: true, refused: true });
});
