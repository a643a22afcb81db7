/** A small run of the fuzz over all readers; `npm run fuzz` is the large one. */
import { expect, test } from 'vitest';
import { seedOf } from '../support/random.ts';
import { fuzz, fuzzTargets } from './fuzz.ts';

const count = Number(process.env['FUZZ_COUNT'] ?? 200);

test(`${count} hostile inputs for each reader end in values or in an error, within time and memory`, {
  timeout: 900_000,
}, async () => {
  const seed = seedOf(4);
  expect({ seed, faults: await fuzz({ targets: fuzzTargets, count, seed, processes: 2 }) }).toEqual({
    seed,
    faults: [],
  });
});
