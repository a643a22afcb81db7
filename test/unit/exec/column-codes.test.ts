import { describe, expect, test } from 'vitest';
import { ColumnCodes } from '../../../src/exec/aggregates/grouping/codes.ts';
import { none } from '../../../src/exec/aggregates/grouping/pair-table.ts';
import { vectorOf } from '../../../src/vectors/builder.ts';
import { parseSupValues } from '../../../src/vectors/sup/parse.ts';
import { types } from '../../../src/vectors/type.ts';
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

test('values of a union of plain types have codes by type and value, and come out as they were', () => {
  const type = '(int64|float64|string|null)';
  const rows = ['1', '"a"', '1.', 'null', '2', '"b"', 'NaN', '2.5'].map((t) => `${t}::${type}`);
  const wanted = rows.map((t) => supText(parseSupValues(t)[0]!));
  for (const codes of [new ColumnCodes(), new ColumnCodes()]) {
    rows.forEach((row, n) => {
      const again = vectorOf(parseSupValues([row, ...rows.slice(0, n), row].join(' ')));
      expect(Array.from(codes.codes(again, true))).toEqual([n, ...rows.slice(0, n).keys(), n]);
      expect(texts(codes.values())).toEqual(wanted.slice(0, n + 1));
    });
    expect(Array.from(codes.codes(vectorOf(parseSupValues(`7::${type}`)), false))).toEqual([none]);
  }
});
test('what may be null takes as little within a record as by itself', () => {
  const rows = (text: (i: number) => string): Vector =>
    vectorOf(parseSupValues(Array.from({ length: 5000 }, (_, i) => text(i)).join(' ')));
  const plain = new ColumnCodes();
  plain.codes(rows((i) => `{k:${i}}`));
  const own = new ColumnCodes();
  own.codes(rows((i) => `{k:${i}::(int64|null)}`));
  expect(own.bytes).toBeLessThan(plain.bytes * 1.5);
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

test('texts of all lengths keep their codes and their bytes, within a piece of memory and over several', () => {
  // Memory comes in pieces of 1 MiB: some end right with a text, others are of a text alone.
  const piece = 1 << 20;
  const lengths = [0, 1, 63, 64, piece - 128, 5, piece, 0, 3, piece + 7, 129, 128, piece - 129 - 128, 0, 2, 4];
  const rows = lengths.map((length, n) => String.fromCharCode(97 + n).repeat(length));
  const many = Array.from({ length: 3000 }, (_, i) => `${i}`.padEnd(i % 997, '-'));
  const all = [...new Set([...rows, ...many])];
  const codes = new ColumnCodes();
  const given = (of: readonly string[]): Vector => vectorOf(of.map((data) => ({ type: types.string, data })));
  const numbers = all.map((_, n) => n);
  for (let start = 0; start < all.length; start += 100)
    expect(Array.from(codes.codes(given(all.slice(start, start + 100))))).toEqual(numbers.slice(start, start + 100));
  expect(Array.from(codes.codes(given([...all, 'unknown']), false))).toEqual([...numbers, none]);
  const back = numbers.toReversed();
  const shown = codes.valuesAt(Uint32Array.from(back));
  expect(back.map((_, i) => valueAt(shown, i).data)).toEqual(all.toReversed());
  const values = codes.values();
  expect(numbers.map((n) => valueAt(values, n).data)).toEqual(all);
});

test('codes stay what they are when values of another kind come, and the first ones are given by their codes', () => {
  const codes = new ColumnCodes();
  expect(Array.from(codes.codes(vectorOf(parseSupValues('"a" "b" "a"'))))).toEqual([0, 1, 0]);
  expect(Array.from(codes.codes(vectorOf(parseSupValues('1 "b" 2 "c" 1'))))).toEqual([2, 1, 3, 4, 2]);
  expect(texts(codes.valuesAt(Uint32Array.of(4, 0, 2)))).toEqual(['"c"', '"a"', '1']);
  expect(codes.size).toBe(5);
});

describe('records of more columns than have tables of their own', () => {
  const width = 600;
  const wide = (shape: number, cell: (k: number) => string): string =>
    `{${Array.from({ length: width }, (_, k) => `f${shape}_${k}:${cell(k)}`).join(',')}}`;
  const rows = [
    ...[0, 1, 2, 3].map((shape) => wide(shape, (k) => String(k % 7))),
    wide(2, (k) => (k === 5 ? '"x"' : String(k % 7))),
    wide(2, (k) => (k === 5 ? '2.' : String(k % 7))),
    wide(3, (k) => (k === 5 ? '[1,2]' : k === 6 ? 'null' : `{a:${k % 7}}`)),
    `{x:1,${wide(4, () => '1').slice(1)}`,
  ];
  const optional = (cell: string): Vector => vectorOf(parseSupValues(`${wide(5, () => '1').slice(0, -1)},o?:${cell}}`));
  const all = (of: readonly string[]): Vector => vectorOf(parseSupValues(of.join('\n')));

  test('have a code for each value, and their values back', () => {
    const codes = new ColumnCodes();
    expect(rows.map((row) => codes.codes(all([row]))[0])).toEqual([...rows.keys()]);
    expect(Array.from(codes.codes(all([...rows, ...rows])))).toEqual([...rows.keys(), ...rows.keys()]);
    expect(texts(codes.values())).toEqual(texts(all(rows)));
    expect(Array.from(codes.codes(all([rows[5]!, wide(2, () => '9'), rows[3]!]), false))).toEqual([5, none, 3]);
  });

  test('are told apart by what they lack', () => {
    const codes = new ColumnCodes();
    for (const row of rows) codes.codes(all([row]));
    const given = [optional('1'), optional('_::int64'), optional('1'), optional('_::int64')];
    const first = rows.length;
    expect(given.map((v) => codes.codes(v)[0]! - first)).toEqual([0, 1, 0, 1]);
    expect(texts(codes.values()).slice(first)).toEqual([...texts(given[0]!), ...texts(given[1]!)]);
  });

  test('are equal in SQL by the numbers, and what they lack is null', () => {
    const codes = new ColumnCodes(true);
    for (const row of rows.slice(0, 4)) codes.codes(all([row]));
    expect(Array.from(codes.codes(all([wide(2, (k) => `${k % 7}.`), wide(2, (k) => `${k % 7}`)])))).toEqual([2, 2]);
    const given = [optional('_::int64'), all([`${wide(5, () => '1').slice(0, -1)},o:null}`])];
    const [lacking, isNull] = given.map((v) => codes.codes(v)[0]);
    expect(lacking).toBe(isNull);
    expect(texts(codes.values())).toHaveLength(codes.size);
  });

  test('take a few bytes a cell, however many shapes they have', () => {
    const codes = new ColumnCodes();
    for (let shape = 0; shape < 50; shape++) codes.codes(all([wide(shape, String)]));
    expect(codes.bytes).toBeLessThan(50 * width * 100 + 4_000_000);
  });
});
