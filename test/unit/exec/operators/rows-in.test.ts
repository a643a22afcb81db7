/** Rows looked for among those of a query, where a null leaves a comparison open. */
import { describe, expect, test } from 'vitest';
import { compile } from '../../../../src/query/analyze.ts';
import { vectorOf } from '../../../../src/vectors/builder.ts';
import { parseSupValues } from '../../../../src/vectors/sup/parse.ts';
import { fileEnvironment } from '../../../support/queries/environment.ts';
import { randomOf } from '../../../support/random.ts';
import { runPlan, supOf } from '../../../support/queries/run-plan.ts';

type Row = readonly (number | null)[];
const names = ['a', 'b', 'c', 'd'];
const rowsOf = (rows: readonly Row[]) =>
  vectorOf(
    parseSupValues(rows.map((row, i) => `{i:${i},${row.map((v, k) => `${names[k]}:${v}`).join(',')}}`).join(' ')),
  );
const answer = async (query: string, left: readonly Row[], right: readonly Row[]): Promise<string[]> => {
  const plan = await compile(query, fileEnvironment({ l: undefined, r: undefined }));
  const lines = supOf((await runPlan(plan, { l: rowsOf(left), r: rowsOf(right) }, {})).map((b) => b.batch)).split('\n');
  return lines.filter((line) => line !== '').sort();
};

/** True if a row is equal to one of the others, null if it could be, else false. */
const among = (row: Row, others: readonly Row[]): boolean | null => {
  const open = others.filter((o) => o.every((v, i) => v === null || row[i] === null || v === row[i]));
  if (open.some((o) => o.every((v, i) => v !== null && row[i] !== null))) return true;
  return open.length > 0 ? null : false;
};

describe.each([1, 2, 3, 4])('rows of %i columns', (width) => {
  const columns = names.slice(0, width).join(', ');
  const random = randomOf(width);
  const some = (count: number): Row[] =>
    Array.from({ length: count }, () =>
      Array.from({ length: width }, () => (random.below(4) === 0 ? null : random.below(3))),
    );
  test.each(Array.from({ length: 12 }, (_, k) => k))('are among others, are not, or may be (%i)', async (k) => {
    const left = some(30);
    const right = some(k);
    const of = (value: boolean | null): string[] =>
      left.flatMap((row, i) => (among(row, right) === value ? [`{i:${i}}`] : [])).sort();
    const asked = `(${columns}) in (select ${columns} from r)`;
    expect(await answer(`select i from l where ${asked}`, left, right)).toEqual(of(true));
    expect(await answer(`select i from l where not ${asked}`, left, right)).toEqual(of(false));
    expect(await answer(`select i from l where (${asked}) is null`, left, right)).toEqual(of(null));
  });
});

test('many rows with nulls are not compared one by one', async () => {
  const left = Array.from({ length: 20_000 }, (_, i): Row => [i % 50 === 0 ? null : i, i % 7]);
  const right = Array.from({ length: 20_000 }, (_, i): Row => [i * 2, i % 20 === 0 ? null : i % 7]);
  for (const asked of ['(a, b) in', '(a, b) not in'])
    expect(await answer(`select count(*) as n from l where ${asked} (select a, b from r)`, left, right)).toHaveLength(
      1,
    );
}, 10_000);
