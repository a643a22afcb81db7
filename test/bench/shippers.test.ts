/** The bench of shippers at a small size: what they sent is there, times are printed, not judged. */
import { expect, test } from 'vitest';
import { benchShippers } from './shippers.ts';

test('records of each protocol are all there', { timeout: 120_000 }, async () => {
  const figures = await benchShippers({ records: 2_000, runs: 1 });
  expect(figures.map(({ name, commits, found }) => [name, commits, found])).toEqual([
    ['otlp', 2, 4_000],
    ['otlp-json', 2, 4_000],
    ['bulk', 2, 4_000],
    ['loki', 2, 4_000],
    ['otlp-10', 20, 400],
    ['bulk-10', 20, 400],
    ['loads-1', 20, 40],
  ]);
  for (const { recordsPerSecond, processorMsPerCommit } of figures)
    expect([recordsPerSecond > 0, processorMsPerCommit >= 0]).toEqual([true, true]);
});
