/** The bench of seven growing queries at a small size: its answers are checked, its figures printed, not judged. */
import { expect, test } from 'vitest';
import { measureSeven } from './seven.ts';

test('seven queries and two look-ups find their rows as the pool grows', { timeout: 180_000 }, async () => {
  const figures = await measureSeven([10_000, 30_000], 1);
  expect(figures.map((size) => size.rows)).toEqual([10_000, 30_000]);
  expect(figures.flatMap((size) => size.wrong)).toEqual([]);
});
