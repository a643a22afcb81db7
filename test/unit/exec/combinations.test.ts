/** Combinations of the codes of very many columns. */
import { expect, test } from 'vitest';
import { CombinationTable } from '../../../src/exec/aggregates/grouping/combinations.ts';

test('of 1,500 columns cost no more than so many tables', { timeout: 60_000 }, () => {
  const columns = 1500;
  const rows = 200;
  const table = new CombinationTable(columns);
  // Row i and row i + 100 are alike in all columns; others differ in some.
  const codes = Array.from({ length: columns }, (_, k) =>
    Uint32Array.from({ length: rows }, (__, i) => i % (2 + (k % 99))),
  );
  const sizes = codes.map((column) => Math.max(...column) + 1);
  const began = process.cpuUsage();
  const out = table.codes(codes, { sizes, insert: true, out: new Uint32Array(rows) });
  const { user, system } = process.cpuUsage(began);
  const known = new Map<string, number>();
  const expected = Array.from({ length: rows }, (_, i) => {
    const key = codes.map((column) => column[i]).join();
    if (!known.has(key)) known.set(key, known.size);
    return known.get(key);
  });
  expect(Array.from(out)).toEqual(expected);
  expect(table.columnCodes().map((column) => Array.from(column))).toEqual(
    codes.map((column) => [...new Map(expected.map((code, i) => [code, column[i]])).values()]),
  );
  // A try for each number of columns in each table took some minutes.
  expect((user + system) / 1e6).toBeLessThan(20);
});
