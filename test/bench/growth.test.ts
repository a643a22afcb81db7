/** The growth bench at a small size: its answers are checked, its times printed, not judged. */
import { expect, test } from 'vitest';
import { measureOpening, measureSize } from './growth.ts';

test('a lake of many pools is opened with all of them', { timeout: 180_000 }, async () => {
  expect((await measureOpening({ pools: 40, commits: 200 })).right).toBe(true);
});
test('look-ups, ranges and scans find their rows', { timeout: 180_000 }, async () => {
  expect((await measureSize(20_000, 1)).wrong).toEqual([]);
});
