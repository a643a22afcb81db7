/** The bench of tables at a small size: what the service tells of them is right; times are printed, not judged. */
import { expect, test } from 'vitest';
import { measureFiles, measureLoadTable } from './tables.ts';

test('files and metadata of a table have all rows', { timeout: 120_000 }, async () => {
  for (const wanted of [{}, { mapping: 'variant', isMixed: true }] as const) {
    const files = await measureFiles(2_000, wanted);
    expect(files).toMatchObject({ rows: 2_000, isRight: true });
    expect(files.bytes).toBeGreaterThan(0);
  }
  expect(await measureLoadTable({ commits: 60, objects: 10 }, 2)).toMatchObject({ isRight: true });
});
