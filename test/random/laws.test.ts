/** A sample of the engine's law (laws.ts): some cases, each in one variant. `npm run laws` runs them all. */
import { expect, test } from 'vitest';
import { engineVariants } from '../support/queries/engine-variants.ts';
import { randomOf, seedOf } from '../support/random.ts';
import { differences, lawCases } from './laws.ts';

const sampled = 400;

test(`${sampled} cases answer the same without rules, in small batches, in other forms of vectors and out of stored objects`, {
  timeout: 300_000,
}, async () => {
  const seed = seedOf(Math.floor(Date.now() / 86_400_000));
  const random = randomOf(seed);
  const cases = lawCases();
  const variants = Object.keys(engineVariants);
  console.log(`laws: seed ${seed}`);
  const found = [];
  for (let n = 0; n < sampled; n++) found.push(...(await differences(random.pick(cases), [random.pick(variants)])));
  expect({ seed, found }).toEqual({ seed, found: [] });
});
