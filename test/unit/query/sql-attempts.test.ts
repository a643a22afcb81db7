/** TRY over arithmetic, aggregates over times of day, and one fault for a call with names of arguments. */
import { describe, expect, test } from 'vitest';
import { CompileError } from '../../../src/query/parse/error.ts';
import { compile } from '../../../src/query/analyze.ts';
import { runQuery } from '../../support/queries/case.ts';
import { fileEnvironment } from '../../support/queries/environment.ts';
import { runSup } from '../../support/queries/run-plan.ts';

const answer = async (query: string): Promise<string> =>
  (await runQuery(query, undefined)).trim().replaceAll('\n', ' ');
const faultsOf = async (query: string): Promise<readonly string[]> => {
  try {
    return [await answer(query)];
  } catch (error) {
    return error instanceof CompileError ? error.errors.map((e) => e.message) : [String(error)];
  }
};

describe('within TRY a result without a place in its type is null', () => {
  test.each([
    ['select try(2147483647::int + 1::int) as a', '{a:null}'],
    [
      'select try(x - y) as a from (values (1::int, 2::int), (-2039202523::int, 1819832341::int), (null, 2::int)) t(x, y)',
      '{a:-1::int32} {a:null} {a:null}',
    ],
    ['select try(x * 10) as a from (values (9223372036854775807), (1)) t(x)', '{a:null} {a:10}'],
    ["select try(interval '1 month' / x) as a from (values (0), (30)) t(x)", '{a:null} {a:1d}'],
    ['select try(99999999999999999999999999999999999999::decimal(38,0) * 10) as a', '{a:null}'],
  ])('%s', async (query, expected) => {
    expect(await answer(query)).toBe(expected);
  });
});

describe('what is between times of day is one', () => {
  const times = "from (values ('00:00:00'), ('01:00:00'), (null)) v(t)";
  test.each([
    [
      `select avg(t::time) as a, median(t::time) as b, quantile_cont(t::time, 0.5) as c, quantile_cont(t::time, [0.25, 0.5]) as d, approx_quantile(t::time, 0.5) as e ${times}`,
      '{a:"00:30:00",b:"00:30:00",c:"00:30:00",d:["00:15:00","00:30:00"],e:"00:30:00"}',
    ],
    [
      `select percentile_cont(0.25) within group (order by t::time desc) as a, mad(t::time) as b ${times}`,
      '{a:"00:45:00",b:30m}',
    ],
    [`select avg(t::time) over () as a ${times} limit 1`, '{a:"00:30:00"}'],
    [`select max(t::time) as a, quantile_disc(t::time, 0.5) as b ${times}`, '{a:"01:00:00",b:"00:00:00"}'],
    [`select avg(t::time) as a ${times} where false`, '{a:null::(string|null)}'],
  ])('%s', async (query, expected) => {
    expect(await answer(query)).toBe(expected);
  });
});

test.each([
  ["select lpad(s := 'a') as a", 'lpad takes its arguments by their places'],
  ['select corr(y := 1, x := 2) as a from (values (1)) t(z)', 'corr takes its arguments by their places'],
  ['select ntile(n := 2, m := 3) over () as a', 'ntile takes its arguments by their places'],
  ['select corr(x := 2) over () as a', 'corr takes its arguments by their places'],
  ['select row_number(a := 1) over () as a', 'row_number takes its arguments by their places'],
  ['select lead(foo := 1) over () as a', 'lead has no argument "foo"'],
  ['select lead(foo := 1, offset := 2) over () as a', 'lead has no argument "foo"'],
])('%s has one fault', async (query, fault) => {
  expect(await faultsOf(query)).toEqual([fault]);
});

test('what the query says itself and a function refuses ends it, whether rules worked it out before or not', async () => {
  const query = 'select cast(1.5::float32, <bytes>) as a';
  for (const rulesOff of [[], 'all'] as const) {
    const plan = await compile(query, fileEnvironment(), { rulesOff });
    await expect(runSup(plan, {})).rejects.toThrow('query: cannot cast to bytes');
  }
});
