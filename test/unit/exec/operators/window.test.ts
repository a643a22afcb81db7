/**
 * The cases of test/cases/windows through compiler and engine: as they are, in batches of one and two rows, with
 * vectors forced into other forms, and with so little memory that sorts and partitions spill. The examples of the table
 * are cases too.
 */
import { describe, expect, test } from 'vitest';
import { windowTable } from '../../../../src/exec/windows/windows.ts';
import { RangeTree } from '../../../../src/exec/windows/tree.ts';
import { caseFilesOf, variants } from '../../../support/queries/case-files.ts';
import { inAll, runQuery, runVariants } from '../../../support/queries/case.ts';
import { randomOf, seedOf } from '../../../support/random.ts';
import type { RunPlanOptions } from '../../../support/queries/run-plan.ts';

const files = caseFilesOf('windows');
// Other operators than windows cannot do with so little.
const variantsOf = (subject: string): Readonly<Record<string, RunPlanOptions>> => ({
  ...variants,
  ...(subject !== 'clauses' && { spilled: { spill: true, memoryBytesMax: 1, batchRows: 2 } }),
});

for (const { subject, cases } of files) {
  describe(subject, () => {
    for (const c of cases) {
      test(c.title, async () => {
        expect(await runVariants(c.query, c.input, variantsOf(subject))).toEqual(inAll(variantsOf(subject), c.output));
      });
    }
  });
}

test('every window function has cases', () => {
  expect(windowTable.map((w) => w.signature.name).filter((name) => !files.some((f) => f.subject === name))).toEqual([]);
});
describe('examples of the table of window functions', () => {
  for (const row of windowTable) {
    test.each(row.examples)(`${row.signature.name}: $query`, async ({ query, input, output }) => {
      expect(await runQuery(query, input)).toBe(`${output}\n`);
    });
  }
});

test('without a place to spill to, a partition beyond the budget is an error', async () => {
  await expect(runQuery('select sum(x) over () as s', '{x:1} {x:2}', { memoryBytesMax: 1 })).rejects.toMatchObject({
    code: 'query-memory',
    message: expect.stringContaining('window') as string,
  });
});

test('functions of rows, for which peers do not count, need no whole partition', async () => {
  const query = `select max(r) as r, sum(l) as l, sum(n) as n, max(s) as s from (
    select row_number() over () as r, lag(x, 2) over () as l, lead(x) over () as n,
      sum(x) over (rows unbounded preceding) as s from range(300000) t(x))`;
  expect(await runQuery(query, '', { spill: true, memoryBytesMax: 1 << 20 })).toBe(
    '{r:300000,l:44999250003,n:44999850000,s:44999850000}\n',
  );
});

describe('trees over ranges', () => {
  const random = randomOf(7);
  const values = Float64Array.from({ length: 1000 }, () => random.below(1000) - 500);
  test.each([
    ['sum', 0, (a: number, b: number): number => a + b],
    ['min', Infinity, Math.min],
    ['max', -Infinity, Math.max],
  ] as const)('%s', (fold, start, two) => {
    const tree = new RangeTree(values, fold);
    for (let i = 0; i < 500; i++) {
      const from = random.below(1001);
      const to = from + random.below(1001 - from);
      expect(tree.range(from, to, start)).toBe(values.subarray(from, to).reduce((a, b) => two(a, b), start));
    }
  });
  test('a NaN stays', () => {
    const some = values.slice();
    some[500] = NaN;
    const tree = new RangeTree(some, 'min');
    expect(tree.range(0, 1000, Infinity)).toBe(NaN);
    expect(tree.range(501, 1000, Infinity)).toBe(Math.min(...values.subarray(501)));
  });
});

test.each(['{id:1,p:-1}', '{id:1,p:null}', '{id:1,p:1.5}', '{id:1}'])(
  'an offset of a frame that is none ends the query: %s',
  async (input) => {
    await expect(runQuery('select sum(id) over (order by id rows p preceding) as s', input)).rejects.toMatchObject({
      code: 'window-offset',
    });
  },
);

test.each([
  ["interval '1 hour'", '{x:"9:30"}'],
  ["interval '1 hour'", '{x:true}'],
  ['1', '{x:1} {x:"12:00:00"}'],
  ['d', '{x:[1],d:1}'],
])('a sort key that nothing can be added to ends the query: RANGE %s over %s', async (offset, input) => {
  const query = `select count(*) over (order by x range between ${offset} preceding and current row) as n`;
  await expect(runQuery(query, input)).rejects.toMatchObject({ code: 'window-key' });
});

describe('the first rows of partitions', () => {
  const seed = seedOf(11);
  const random = randomOf(seed);
  const values: readonly (() => string)[] = [
    () => String(random.below(9)),
    () => `${random.below(20) - 10}.5`,
    () => random.pick(['null', '-0.', '0.', 'NaN', '-Inf', '+Inf', '9223372036854775807', '9223372036854775806']),
    () => random.pick(['"a"', '"b"', 'null::(int64|null)', `${random.below(9)}::(int64|null)`]),
    () => `2024-01-0${1 + random.below(9)}T00:00:00Z`,
  ];
  const keys = ['"x"', '"y"', '1', '1.', 'null', '0.', '-0.'];
  test.each(Array.from({ length: 60 }, (_, i) => i))(
    `are the same as where all are looked at (seed ${seed}, %i)`,
    async (i) => {
      const kinds = Array.from({ length: 1 + random.below(2) }, () => random.pick(values));
      const extra = random.below(4) === 0 ? ',n:1' : '';
      const input = Array.from(
        { length: 120 },
        (_, id) => `{id:${id},k:${random.pick(keys)},v:${random.pick(kinds)()}${id % 7 === 0 ? extra : ''}}`,
      ).join(' ');
      const call = random.pick(['row_number()', 'rank()']);
      const order = `v ${random.pick(['', 'desc'])} ${random.pick(['', 'nulls first', 'nulls last'])}`;
      const over = `over (${random.pick(['', 'partition by k '])}order by ${order}${random.pick([', id', ', id desc'])})`;
      const where = random.pick(['n <= 2', 'n = 1', 'n < 4 and id > 20', '3 >= n']);
      // Beside a count the window sees all rows.
      const [query, all] = [call, `${call} ${over} as n, count(*)`].map((calls, k) => {
        const named = `${calls} ${over} as ${k === 0 ? 'n' : 'c'}`;
        return i % 2 === 0
          ? `select *${k === 0 ? '' : ' exclude (c)'} from (select *, ${named} from input) t where ${where} order by id`
          : `select id, n from (select id, ${named} from input) t where ${where} order by id`;
      });
      const answer = await runQuery(all!, input).catch(String);
      expect([query, await runQuery(query!, input).catch(String)]).toEqual([query, answer]);
      expect([query, await runQuery(query!, input, { batchRows: 5 }).catch(String)]).toEqual([query, answer]);
    },
  );
});
