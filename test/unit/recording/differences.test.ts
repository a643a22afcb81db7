/** What counts as the same when a replay is compared. */
import { isDeepStrictEqual } from 'node:util';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { sameData } from '../../../src/recording/differences.ts';

test("plain data are the same when Node's own strict comparison says so", () => {
  const data = fc.letrec((tie) => ({
    value: fc.oneof(
      { maxDepth: 3 },
      fc.constantFrom(undefined, null, true, false, 0, -0, 1, NaN, '', 'a', '1'),
      fc.array(tie('value'), { maxLength: 3 }),
      fc.dictionary(fc.constantFrom('a', 'b', '__proto__'), tie('value'), { maxKeys: 3, noNullPrototype: true }),
    ),
  })).value;
  fc.assert(
    fc.property(data, data, (a, b) => {
      expect(sameData(a, b)).toBe(isDeepStrictEqual(a, b));
      expect(sameData(a, structuredClone(a))).toBe(true);
    }),
    { numRuns: 2000, seed: 7 },
  );
});

test('an error is the same as itself alone', () => {
  const error = new Error('a');
  expect([
    sameData(error, error),
    sameData(error, new Error('a')),
    sameData(error, {}),
    sameData([], {}),
    sameData({ a: undefined }, {}),
  ]).toEqual([true, false, false, false, false]);
});
