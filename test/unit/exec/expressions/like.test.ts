/** LIKE over bytes, against the same pattern as a regular expression. */
import { expect, test } from 'vitest';
import fc from 'fast-check';
import { ilikeRows, likeRows } from '../../../../src/exec/expressions/like.ts';
import { vectorOf } from '../../../../src/vectors/builder.ts';
import { stringValue } from '../../../../src/vectors/value.ts';
import { type BytesVector, slice } from '../../../../src/vectors/vector.ts';

const texts = (...list: readonly string[]): BytesVector => vectorOf(list.map(stringValue)) as BytesVector;
const asRegexp = (pattern: string, flags = ''): RegExp =>
  new RegExp(`^${[...pattern].map((c) => (c === '%' ? '.*' : c === '_' ? '.' : c)).join('')}$`, `su${flags}`);

test('rows that match are those that the pattern says, wherever its pieces lie', () => {
  const piece = fc.constantFrom('a', 'b', 'ab', 'é', 'A', '\n', '');
  const row = fc.array(piece, { maxLength: 9 }).map((p) => p.join(''));
  const pattern = fc.array(fc.oneof(piece, fc.constantFrom('%', '%', '_')), { maxLength: 7 }).map((p) => p.join(''));
  fc.assert(
    fc.property(fc.array(row, { maxLength: 12 }), pattern, fc.nat(3), (rows, like, from) => {
      const all = texts(...rows, '');
      const start = Math.min(from, rows.length);
      const part = slice(all, start, all.length) as BytesVector;
      const kept = [...rows, ''].slice(start);
      expect([...likeRows(like)(part)]).toEqual(kept.map((r) => Number(asRegexp(like).test(r))));
      expect([...ilikeRows(like)(part)]).toEqual(kept.map((r) => Number(asRegexp(like, 'i').test(r))));
    }),
    { numRuns: 1000 },
  );
});

test.each([
  ['%special%requests%', 'the special packages among requests', 1],
  ['%special%requests%', 'requests that are special', 0],
  ['%aa%aa%', 'aaa', 0],
  ['a%b', 'ab', 1],
  ['ab%b', 'ab', 0],
  ['ab%ba%ba', 'abba', 0],
  ['%%', '', 1],
])('%s matches %s: %i', (pattern, text, wanted) => {
  // Beside it others that a match must not run into.
  expect([...likeRows(pattern)(texts('special', text, 'requests'))][1]).toBe(wanted);
});
