/** The bench at a small size: every answer is checked, no time is judged. the manual shows a table that it printed. */
import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { expect, test } from 'vitest';
import { type BenchFigures, markdown, runBench, tableMarkers, withTable } from './bench.ts';
import { steps } from './bench-steps.ts';

test('every step of the bench gives the right answer', { timeout: 600_000 }, async () => {
  const { wrong, lines } = await runBench({ rows: 20_000, runs: 1, duckdb: false });
  expect(wrong).toEqual([]);
  expect(lines.length).toBe(32);
});

test('the table has ours, the peer, their ratio, and the mean of the queries', () => {
  const figures: BenchFigures = {
    rows: 1000,
    runs: 3,
    megabytes: 2,
    duckdb: 'v9',
    wrong: [],
    mean: 0.5,
    lines: [
      { step: 'a | b', ours: 2, peer: 4, query: true },
      { step: 'commit', ours: 1.234, note: 'one raw fdatasync 0.16 ms' },
    ],
  };
  const table = markdown(figures);
  expect(table.split('\n').slice(2)).toEqual([
    '| Step | ours | DuckDB | ratio |',
    '|---|---|---|---|',
    '| a \\| b | 2.00 ms | 4.00 ms | 0.50 |',
    '| commit (one raw fdatasync 0.16 ms) | 1.23 ms |  |  |',
    '| geometric mean of the queries | | | 0.50 |',
    '',
  ]);
  expect(table).toMatch(
    /^1,000 records \(2 MB of NDJSON\), medians of 3 runs; \d+ cores \(.+\), Node v.+; DuckDB v9 in process\.\n/,
  );
  expect(withTable(`x\n${tableMarkers.begin}old\n${tableMarkers.end}\ny\n`, table)).toBe(
    `x\n${tableMarkers.begin}${table}${tableMarkers.end}\ny\n`,
  );
  expect(() => withTable('nothing', table)).toThrow('the page has no place for the table');
});

test('the manual shows a table of the bench, with every step of it and the machine', () => {
  const text = readFileSync(
    fileURLToPath(new URL('../../visualize/docs/manual/measurements.md', import.meta.url)),
    'utf8',
  );
  const table = text
    .slice(text.indexOf(tableMarkers.begin) + tableMarkers.begin.length, text.indexOf(tableMarkers.end))
    .split('\n');
  expect(table[0]).toMatch(
    /^1,000,000 records \(\d+ MB of NDJSON\), medians of \d+ runs; \d+ cores \(.+\), Node v\d+.*; DuckDB v\d.* in process\.$/,
  );
  const rows = table.slice(4, -1).map((line) =>
    line
      .split(/(?<!\\)\|/)
      .slice(1, -1)
      .map((cell) => cell.trim()),
  );
  for (const row of rows) expect(row).toHaveLength(4);
  for (const { name } of steps)
    expect(rows.find(([step]) => step === name)).toEqual([
      name,
      expect.stringMatching(/^[\d.]+ ms$/),
      expect.stringMatching(/^[\d.]+ ms$/),
      expect.stringMatching(/^\d+\.\d\d$/),
    ]);
  expect(rows.find(([step]) => step?.startsWith('small durable commits, one client'))?.[0]).toContain('raw fdatasync');
  expect(rows.at(-1)).toEqual(['geometric mean of the queries', '', '', expect.stringMatching(/^\d+\.\d\d$/)]);
});
