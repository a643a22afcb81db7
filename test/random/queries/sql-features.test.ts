/**
 * Random queries with subqueries, set operations, recursion and lateral joins give what DuckDB gives: over tables of
 * known columns and over those of pools, every other one through views. `QUERIES=n` tries more of each feature,
 * `SEED=n` others.
 */
import { describe, expect, test } from 'vitest';
import { type CompileOptions, compile } from '../../../src/query/analyze.ts';
import type { Type } from '../../../src/vectors/type.ts';
import { parseSupValues } from '../../../src/vectors/sup/parse.ts';
import { type DuckResult, type DuckValue, duckdb, lacksDuckdb } from '../../support/queries/duckdb.ts';
import { fileEnvironment, viewEnvironment } from '../../support/queries/environment.ts';
import { randomOf, seedOf } from '../../support/random.ts';
import { type RunPlanOptions, runSup } from '../../support/queries/run-plan.ts';
import { duckTables, features, randomQuery, randomTables, supText, supType } from './sql-features.ts';

const seed = seedOf(7_100);
const count = Number(process.env['QUERIES'] ?? 12);

const variants: readonly (RunPlanOptions & CompileOptions)[] = [
  {},
  { batchRows: 2 },
  { forceForm: 'dictionary' },
  { forceForm: 'selected', rulesOff: 'all' },
  { batchRows: 1 },
  { rulesOff: 'all' },
];

/** Cells of a SUP row as JSON has them; what is missing is null. */
const cellsOf = (line: string): readonly DuckValue[] =>
  [...line.slice(1, -1).matchAll(/(?:^|,)(?:"[^"]*"|\w+):("[^"]*"|error\("missing"\)|[^,]*)/g)].map(([, cell]) => {
    if (cell === 'null' || cell === 'error("missing")') return null;
    return cell!.startsWith('"') ? (JSON.parse(cell!) as string) : Number(cell);
  });
const sorted = (rows: readonly (readonly DuckValue[])[]): readonly string[] =>
  rows.map((row) => JSON.stringify(row)).sort();

describe.skipIf(lacksDuckdb())('random SQL', () => {
  const tables = randomTables(randomOf(seed));
  const inputs = Object.fromEntries(Object.entries(tables).map(([name, rows]) => [name, supText(rows)]));
  const typed = Object.fromEntries(
    Object.keys(tables).map((name) => [name, parseSupValues(supType(name))[0]!.data as Type]),
  );
  const untyped = Object.fromEntries(Object.keys(tables).map((name) => [name, undefined]));
  const cases = features.map((feature) => ({
    feature,
    queries: Array.from({ length: count }, (_, i) => randomQuery(feature, seed + i)),
  }));
  const answers: readonly DuckResult[] = lacksDuckdb()
    ? []
    : duckdb(
        duckTables(tables),
        cases.flatMap((c) => c.queries),
      );

  test.each(cases.map((c, at) => ({ ...c, at })))(
    `${count} queries with $feature (seed ${seed})`,
    async ({ feature, queries, at }) => {
      let compared = 0;
      for (const [i, query] of queries.entries()) {
        const theirs = answers[at * count + i]!;
        if ('error' in theirs) throw new Error(`${query}: ${theirs.error}`);
        for (const files of dynamic(feature) ? [typed, untyped] : [typed]) {
          const variant = variants[i % variants.length]!;
          const environmentOf = i % 2 === 0 ? fileEnvironment : viewEnvironment;
          const place = `SEED=${seed + i} ${files === typed ? 'typed' : 'dynamic'}${i % 2 === 0 ? '' : ' through views'} ${JSON.stringify(variant)}: ${query}`;
          const found = await runSup(
            await compile(query, environmentOf(files), variant).catch((error: unknown) => {
              throw new Error(place, { cause: error });
            }),
            inputs,
            variant,
          ).catch((error: unknown) => {
            throw new Error(place, { cause: error });
          });
          const rows = found
            .split('\n')
            .filter((line) => line !== '')
            .map(cellsOf);
          const ordered = /order by[^()]*$/.test(query);
          expect(ordered ? rows.map((row) => JSON.stringify(row)) : sorted(rows), place).toEqual(
            ordered ? theirs.rows.map((row) => JSON.stringify(row)) : sorted(theirs.rows),
          );
          compared++;
        }
      }
      expect(compared).toBeGreaterThanOrEqual(count);
    },
  );
});
/** Columns that are written without their tables need known columns. */
const dynamic = (feature: string): boolean => feature !== 'joins' && feature !== 'recursive';
