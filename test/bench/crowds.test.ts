/** The crowds at a small size: what they do is judged, how long it takes is printed. */
import { expect, test } from 'vitest';
import { crowdFaults, measureCrowds, smallCrowds } from './crowds.ts';

test('loaders, other clients, subscribers of whom some never read and idle connections: nothing fails, nothing is lost, all is given back', async () => {
  expect(crowdFaults(await measureCrowds(smallCrowds), smallCrowds, false)).toEqual([]);
});
