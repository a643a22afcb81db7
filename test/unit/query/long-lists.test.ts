/**
 * Queries that programs write: lists of a thousand and more columns, keys, conditions and tables. What grows with the
 * square of their length ends within the time that a test has, what grows with its cube does not.
 */
import { expect, test } from 'vitest';
import { compile } from '../../../src/query/analyze.ts';
import { lakeEnvironment } from '../../support/queries/environment.ts';

const list = (count: number, text: (i: number) => string, between = ', '): string =>
  Array.from({ length: count }, (_, i) => text(i)).join(between);

const texts: Readonly<Record<string, (n: number) => string>> = {
  'sort keys by alias': (n) => `select ${list(n, (i) => `a+${i} as f${i}`)} from p order by ${list(n, (i) => `f${i}`)}`,
  'group keys by alias': (n) => `select ${list(n, (i) => `c${i} as f${i}`)} from p group by ${list(n, (i) => `f${i}`)}`,
  aggregates: (n) => `select ${list(n, (i) => `sum(c${i}+1) as f${i}`)} from p having f${n - 1} > 1`,
  'columns made of each other': (n) => `select a as f0, ${list(300, (i) => `f${i}+1 as f${i + 1}`)} from p limit ${n}`,
  'columns of a subquery': (n) =>
    `select ${list(n, (i) => `f${i}`)} from (select ${list(n, (i) => `a+${i} as f${i}`)} from p) t where f3 > 3`,
  'branches of CASE': (n) => `select case ${list(n, (i) => `when a = ${i} then ${i}`, ' ')} end as x from p`,
  'conditions by OR': (n) => `select a from p where ${list(n, (i) => `a = ${i}`, ' or ')}`,
  'tables of WITH': (n) =>
    `with ${list(n / 10, (i) => `t${i} as (select ${i} as a)`)} select count(*) from ${list(n / 10, (i) => `t${i}`)}`,
  'branches of UNION': (n) => list(n / 10, (i) => `select ${i} as a`, ' union all '),
  windows: (n) => `select ${list(n / 5, (i) => `sum(a) over (order by c${i}) as f${i}`)} from p`,
  'filters in a row': (n) => `from p ${list(n, (i) => `| where a != ${i}`, ' ')}`,
  'columns of put, cut, rename and drop': (n) =>
    [
      'from p',
      `put ${list(n, (i) => `a${i}:=c${i}`)}`,
      `cut ${list(n, (i) => `b${i}:=a${i}`)}`,
      `rename ${list(n, (i) => `d${i}:=b${i}`)}`,
      `drop ${list(n - 1, (i) => `d${i}`)}`,
    ].join(' | '),
};

test.each(Object.entries(texts))('%s', { timeout: 30_000 }, async (_, text) => {
  const plan = await compile(text(1500), lakeEnvironment());
  expect(plan.pipeline.ops.length).toBeGreaterThan(0);
});
