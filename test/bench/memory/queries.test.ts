/**
 * The bench of memory at a small size: queries of more rows than they may hold answer right; the memory is printed, not
 * judged.
 */
import { expect, test } from 'vitest';
import { measureQueries } from './queries.ts';

test('queries of more than they may hold have the right answers', { timeout: 300_000 }, async () => {
  const figures = await measureQueries({ rows: 60_000, flags: ['-memory', '16MiB', '-warmup', '0s'] });
  expect(figures.filter((f) => f.fault !== undefined)).toEqual([]);
  expect(figures).toHaveLength(8 + 2 * 9);
});
