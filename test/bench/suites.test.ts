/** The bench of others' suites, small: answers are compared, times are printed, not judged. */
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect, onTestFinished, test } from 'vitest';
import { lacksDuckdb } from '../support/queries/duckdb.ts';
import { difference, measureSuite, suitesMarkers, suitesTable } from './suites.ts';

test.skipIf(lacksDuckdb())('queries are counted that are right, refused and wrong', { timeout: 120_000 }, async () => {
  const folder = mkdtempSync(join(tmpdir(), 'lake-suites-'));
  onTestFinished(() => {
    rmSync(folder, { recursive: true });
  });
  const [tables, queries] = [join(folder, 'tables'), join(folder, 'queries')];
  for (const made of [tables, queries]) mkdirSync(made);
  const rows = Array.from({ length: 100 }, (_, n) => JSON.stringify({ n, kind: `k${n % 3}`, half: n / 2 }));
  writeFileSync(join(tables, 'a.ndjson'), `${rows.join('\n')}\n`);
  writeFileSync(join(tables, 'b.ndjson'), '{"kind":"k1","said":"one"}\n');
  for (const [name, sql] of [
    ['joined', 'select said, count(*), avg(half) from a, b where a.kind = b.kind group by said;'],
    ['missing', 'select * from c'],
    // Its text is another one.
    ['time', 'select interval 1 hour as t'],
  ] as const)
    writeFileSync(join(queries, `${name}.sql`), sql);

  const lines: string[] = [];
  const figures = await measureSuite({ name: 'small', tables, queries }, 1, (line) => lines.push(line));
  expect(figures.queries.map(({ name, fault, wrong }) => [name, fault !== undefined, wrong !== undefined])).toEqual([
    ['joined', false, false],
    ['missing', true, false],
    ['time', false, true],
  ]);
  expect(lines[0]).toMatch(/^small joined: [\d.]+ ms, [\d.]+ of DuckDB's$/);
  expect(lines[1]).toBe('small missing: 400 c: pool not found at line 1, column 15:');
  expect(lines[2]).toContain(' wrong: row ["1h"], not [');
  expect(suitesTable([figures], 1, 'v9').split('\n').at(-2)).toMatch(
    /^\| small \| 3 \| 1 \| [\d.]+ \| [\d.]+ \| \w+: [\d.]+ \| [\d.]+ \|$/,
  );
});

test('rows are compared in any order, with dates as times and numbers about', () => {
  const ours = [
    ['2024-01-02T00:00:00Z', 0.1 + 0.2, null],
    ['2024-01-01T10:00:00Z', 1, [1, 'x']],
  ];
  expect(
    difference(ours, [
      ['2024-01-01 10:00:00', 1, [1, 'x']],
      ['2024-01-02', 0.3, null],
    ]),
  ).toBeUndefined();
  expect(
    difference(ours, [
      ['2024-01-01 10:00:00', 1, [1, 'x']],
      ['2024-01-02', 0.31, null],
    ]),
  ).toMatch(/^row \[/);
  expect(difference(ours, [])).toBe('2 rows, not 0');
  const tied = [
    ['x', 2],
    ['y', 1],
  ];
  expect(
    difference(
      tied,
      [
        ['x', 2],
        ['z', 1],
      ],
      'ranked',
    ),
  ).toBeUndefined();
  expect(
    difference(
      tied,
      [
        ['x', 2],
        ['y', 3],
      ],
      'ranked',
    ),
  ).toMatch(/^row \[/);
});

test('the manual shows the table', () => {
  const text = readFileSync(
    fileURLToPath(new URL('../../visualize/docs/manual/measurements.md', import.meta.url)),
    'utf8',
  );
  const table = text.slice(text.indexOf(suitesMarkers.begin), text.indexOf(suitesMarkers.end)).split('\n');
  expect(table[1]).toMatch(/^Medians of \d+ runs, over HTTP; .*; DuckDB v\d.* in process, on two threads\.$/);
  expect(table.filter((line) => /^\| [^|]+ \| \d+ \| \d+ \| [\d.]+ \|/.test(line)).length).toBeGreaterThan(2);
});
