/** The answers that stand beside recorded cases for features that v0.2.0 lacks are DuckDB's. */
import { expect, test } from 'vitest';
import { addedCases, passesAsAdded } from '../../support/queries/conformance-added.ts';
import { duckdb, lacksDuckdb } from '../../support/queries/duckdb.ts';

const list = Object.values(addedCases);

test.skipIf(lacksDuckdb())('DuckDB gives the listed answers', () => {
  const results = duckdb(
    list.flatMap((c) => c.tables ?? []),
    list.map((c) => c.statement),
  );
  const found = results.map((result) =>
    'error' in result
      ? 'refused'
      : result.rows.map((row) => Object.fromEntries(row.map((cell, i) => [result.columns[i]!, cell]))),
  );
  expect(found).toEqual(list.map((c) => c.rows));
});

test("an answer passes when it is DuckDB's, whatever the spaces", () => {
  const [id] = Object.entries(addedCases).find(([, c]) => c.rows.length === 1)!;
  expect([
    passesAsAdded(id, { output: '{\n  col: 2\n}\n', error: '' }),
    passesAsAdded(id, { output: '{col:3}\n', error: '' }),
    passesAsAdded('other', { output: '', error: '' }),
  ]).toEqual([true, false, undefined]);
});
