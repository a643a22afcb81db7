import { expect, test } from 'vitest';
import { ColumnCodes } from '../../../src/exec/aggregates/grouping/codes.ts';
import { vectorOf } from '../../../src/vectors/builder.ts';
import { parseSupValues } from '../../../src/vectors/sup/parse.ts';
import { supText } from '../../../src/vectors/sup/print.ts';
import { type Vector, valueAt } from '../../../src/vectors/vector.ts';

const texts = (v: Vector): string[] => Array.from({ length: v.length }, (_, i) => supText(valueAt(v, i)));

test('the values of a column can be asked for again and again while it grows', () => {
  const rows = [
    '1',
    '"a"',
    '[1,2]',
    '|{"a":1}|',
    '<int64>',
    '{x:[1]}',
    '{x:[2]}',
    '[3]',
    '|{"b":2}|',
    '1.5',
    'true',
    'null',
    '10.0.0.1',
    '[1,"a"]',
    'error([1])',
    '[4]::=list',
    '"b"',
    '[5]',
  ];
  const codes = new ColumnCodes();
  rows.forEach((row, n) => {
    expect(Array.from(codes.codes(vectorOf(parseSupValues(row)), true))).toEqual([n]);
    expect(texts(codes.values())).toEqual(rows.slice(0, n + 1));
  });
  expect(Array.from(codes.codes(vectorOf(parseSupValues(rows.join(' '))), false))).toEqual(rows.map((_, n) => n));
});

test('a column of few small numbers takes little memory, however many of them a query has', () => {
  const codes = new ColumnCodes();
  const numbers = (at: (i: number) => number): Vector =>
    vectorOf(parseSupValues(Array.from({ length: 1000 }, (_, i) => String(at(i))).join(' ')));
  expect(
    Array.from(
      codes.codes(
        numbers((i) => i % 7),
        true,
      ),
    ),
  ).toEqual(Array.from({ length: 1000 }, (_, i) => i % 7));
  expect(codes.bytes).toBeLessThan(64 << 10);
  // Those that come later and are larger find their places, and the others keep theirs.
  expect(
    Array.from(
      codes.codes(
        numbers((i) => (i % 2 === 0 ? i % 7 : 200_000 + (i % 3))),
        true,
      ),
    ).every((code, i) => (i % 2 === 0 ? code === i % 7 : code >= 7 && code < 10)),
  ).toBe(true);
});
