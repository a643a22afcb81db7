/** What the manual lists as different from DuckDB: what we answer, and that DuckDB still answers otherwise. */
import { describe, expect, test } from 'vitest';
import { besideDuckdb } from '../../support/beside-duckdb.ts';
import { duckdb, lacksDuckdb } from '../../support/queries/duckdb.ts';
import { runQuery } from '../../support/queries/case.ts';

describe('ours', () => {
  test.each(besideDuckdb.map((row) => [row.query, row.ours] as const))('%s', async (query, ours) => {
    expect(await runQuery(query, 'null')).toBe(ours);
  });
});

describe.skipIf(lacksDuckdb())("DuckDB's", () => {
  const answers = lacksDuckdb()
    ? []
    : duckdb(
        [],
        besideDuckdb.map((row) => row.query),
      );
  test.each(besideDuckdb.map((row, i) => [row.query, row.duckdb, i] as const))('%s', (_, expected, i) => {
    expect(answers[i]).toMatchObject({ rows: JSON.parse(expected) as unknown });
  });
});
