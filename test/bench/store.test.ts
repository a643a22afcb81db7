/** The bench of lakes in buckets, small: its answers are checked and its counts, its times are not judged. */
import { expect, test } from 'vitest';
import { measureStore } from './store.ts';

test('a small lake in a bucket is loaded, queried, opened and followed', { timeout: 600_000 }, async () => {
  const figures = await measureStore(
    { rows: 3000, commits: 200, pools: 20, seconds: 0.3, put: 20, objects: 3000 },
    () => undefined,
  );
  expect(figures.map(({ value }) => value)).not.toContain(NaN);
  const counted = figures.filter(({ name, unit }) => name.startsWith('listings') || /^(listings|ranges)/.test(unit));
  expect(counted.length).toBeGreaterThan(5);
  for (const { name, unit, value } of counted) expect([name, unit, value]).toEqual([name, unit, 0]);
});
