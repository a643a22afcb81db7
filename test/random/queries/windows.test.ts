/**
 * Random window queries give what DuckDB gives, also from batches of two rows and when everything that can spill does.
 * `WINDOWS=n` tries more, `SEED=n` others.
 */
import { describe, expect, test } from 'vitest';
import { type DuckResult, type DuckValue, duckdb, lacksDuckdb } from '../../support/queries/duckdb.ts';
import { runQuery } from '../../support/queries/case.ts';
import { randomOf, seedOf } from '../../support/random.ts';
import type { RunPlanOptions } from '../../support/queries/run-plan.ts';
import { duckTable, randomQuery, randomRows, supRows } from './windows.ts';

const seed = seedOf(20_240);
const count = Number(process.env['WINDOWS'] ?? 60);

const variants: readonly RunPlanOptions[] = [
  {},
  { batchRows: 2 },
  { batchRows: 3, spill: true, memoryBytesMax: 1 },
  { forceForm: 'dictionary' },
  { forceForm: 'selected' },
];

/** Rows of SUP without types as JSON would have them: numbers, texts, null. */
const cellsOf = (sup: string): readonly (readonly DuckValue[])[] =>
  sup
    .split('\n')
    .filter((line) => line !== '')
    .map((line) =>
      [...line.slice(1, -1).matchAll(/(?:^|,)(?:"[^"]*"|\w+):("[^"]*"|[^,]*)/g)].map(([, cell]) => cellOf(cell!)),
    );
const cellOf = (text: string): DuckValue => {
  if (text === 'null') return null;
  if (text === 'true' || text === 'false') return text === 'true';
  if (text.startsWith('"')) return JSON.parse(text) as string;
  return /^-?[\d.]+(?:e[-+]?\d+)?$/.test(text) ? Number(text) : text;
};
/** Sums of floats depend on the order of the additions in their last digits. */
const rounded = (x: DuckValue): DuckValue => (typeof x === 'number' ? Number(x.toPrecision(10)) + 0 : x);
const roundedRows = (rows: readonly (readonly DuckValue[])[]): readonly (readonly DuckValue[])[] =>
  rows.map((row) => row.map(rounded));

describe.skipIf(lacksDuckdb())('random windows', () => {
  const rows = randomRows(randomOf(seed), 60);
  const input = supRows(rows);
  const queries = Array.from({ length: count }, (_, i) => randomQuery(seed + i));
  const expected: readonly DuckResult[] = lacksDuckdb()
    ? []
    : duckdb(
        [duckTable(rows)],
        queries.map((q) => q.theirs),
      );

  test(`${count} queries give what DuckDB gives (seed ${seed})`, { timeout: 600_000 }, async () => {
    for (const [i, { ours, theirs }] of queries.entries()) {
      const theirsResult = expected[i]!;
      if ('error' in theirsResult) throw new Error(`${theirs}: ${theirsResult.error}`);
      const variant = variants[i % variants.length]!;
      const found = roundedRows(cellsOf(await runQuery(ours.replaceAll('from t', 'from input as t'), input, variant)));
      expect(found, `SEED=${seed + i}, ${JSON.stringify(variant)}: ${ours}`).toEqual(roundedRows(theirsResult.rows));
    }
  });

  test('windows over 34,000 rows give what DuckDB gives, in memory and spilled', { timeout: 600_000 }, async () => {
    const many = randomRows(randomOf(seed), 34_000);
    const manyInput = supRows(many);
    const text = `select k, count(*) as n, sum(a) as a, sum(b) as b, max(c) as c, sum(d) as d, min(e) as e from (
      select k, row_number() over (partition by g order by v, id) as a, sum(v) over (partition by k order by id rows between 300 preceding and 100 following) as b,
        max(s) over (partition by k order by id rows between 1000 preceding and current row) as c, count(*) over (order by ts range between interval '5 hours' preceding and current row) as d,
        min(f) over (partition by id % 5000 order by id rows 2 preceding) as e from t) as u group by k order by k`;
    const [theirs] = duckdb([duckTable(many)], [text]);
    for (const options of [{}, { spill: true, memoryBytesMax: 3 << 20 }]) {
      expect(
        roundedRows(cellsOf(await runQuery(text.replaceAll('from t)', 'from input as t)'), manyInput, options))),
      ).toEqual(roundedRows('rows' in theirs! ? theirs.rows : []));
    }
  });
});
