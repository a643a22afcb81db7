/** The bench at a small size: every answer is checked, no time is judged. */
import { expect, test } from 'vitest';
import { runBench } from './bench.ts';

test('every step of the bench gives the right answer', { timeout: 180_000 }, async () => {
  const { wrong, lines } = await runBench({ rows: 10_000, runs: 1, duckdb: false });
  expect(wrong).toEqual([]);
  expect(lines.length).toBe(32);
});
