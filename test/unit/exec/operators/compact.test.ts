/** Rows that are held for long hold no more than themselves. */
import { expect, test } from 'vitest';
import { compact } from '../../../../src/exec/operators/compact.ts';
import { vectorOf } from '../../../../src/vectors/builder.ts';
import { sizeOf } from '../../../../src/vectors/sizes.ts';
import { parseSupValues } from '../../../../src/vectors/sup/parse.ts';
import { range, slice, take, valueAt } from '../../../../src/vectors/vector.ts';

test.each([
  ['records', (i: number) => `{a:${i},b:"x${i}"}`],
  ['values of a union', (i: number) => `${i % 3 === 0 ? 'null' : `{a:${i}}`}::({a:int64}|null)`],
  ['records of values of a union', (i: number) => `{u:${i % 3 === 0 ? 'null' : `{a:${i}}`}::({a:int64}|null)}`],
  ['values of several types', (i: number) => (i % 2 === 0 ? `${i}` : `"x${i}"`)],
] as const)('%s', (_, text) => {
  const all = vectorOf(parseSupValues(Array.from({ length: 10_000 }, (_row, i) => text(i)).join(' ')));
  const values = (rows: Uint32Array) => Array.from(rows, (i) => valueAt(all, i));
  for (const rows of [Uint32Array.of(5, 9, 6, 5_000), range(100, 104)]) {
    for (const view of [take(all, rows), slice(take(all, rows), 0, 4)]) {
      const own = compact(view);
      expect(Array.from(rows, (_row, i) => valueAt(own, i))).toEqual(values(rows));
      expect(sizeOf(own)).toBeLessThan(2_000);
    }
  }
});
