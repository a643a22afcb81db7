/**
 * The formats' benchmark at a small size: what comes out is checked, times are printed by `npm run bench:formats`
 * alone.
 */
import { expect, test } from 'vitest';
import { measureFormats } from './formats.ts';

test('every reader gives back what its writer was given, and every peer reads as many rows', async () => {
  const { lines } = await measureFormats(3_000, 1);
  expect(lines.filter((line) => !line.right).map((line) => line.what)).toEqual([]);
  expect(lines.length).toBeGreaterThan(10);
});
