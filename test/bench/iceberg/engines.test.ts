/** The bench of engines and attackers, small: nobody gets what is not theirs, all commits are in the table. */
import { expect, test } from 'vitest';
import { measureBeside, measureForged } from './engines.ts';

test('forged signatures are refused as fast as they come, and who reads meanwhile gets all', {
  timeout: 120_000,
}, async () => {
  const { statuses, answered, honestMs, honestFaults, wrongUs, misusedUs } = await measureForged(2_000, 4);
  expect([...statuses.keys()].every((status) => status >= 400 && status < 500)).toBe(true);
  expect(answered).toBeGreaterThanOrEqual(2_000);
  expect([wrongUs > 0, misusedUs > 0]).toEqual([true, true]);
  expect([honestFaults, honestMs.length > 0]).toEqual([0, true]);
});

test('commits beside files that are made after each are all in the table', { timeout: 120_000 }, async () => {
  const { rows, committed } = await measureBeside(1, 200);
  expect(rows).toBe(committed);
});
