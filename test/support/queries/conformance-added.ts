/**
 * Recorded cases whose error says that v0.2.0 lacks a feature which we have, or in which SELECT gives what SQL does
 * not: they must give what DuckDB gives. `statement` is the query as DuckDB takes it, over `tables`; `rows` are its
 * answer, or `refused`: DuckDB refuses the query too, for whatever reason. `test/unit/query/conformance-added.test.ts`
 * holds the list to DuckDB.
 */
import { supText } from '../../../src/vectors/sup/print.ts';
import { parseSupValues } from '../../../src/vectors/sup/parse.ts';
import type { DuckTable } from './duckdb.ts';

interface AddedCase {
  readonly feature: string;
  readonly statement: string;
  readonly tables?: readonly DuckTable[];
  readonly rows: readonly Readonly<Record<string, number | string | null>>[] | 'refused';
}

/** By the case's id. */
export const addedCases: Readonly<Record<string, AddedCase>> = {
  'differential/b/00207': {
    feature: 'correlated EXISTS',
    rows: [],
    statement:
      'with t(a) as (values (4)), u(b) as (values (5)) select a from t where exists (select 1 from u where b=a)',
  },
  'book/src/super-sql/expressions/subqueries:236': {
    feature: 'correlated EXISTS',
    rows: [],
    statement: 'select x from (values (1),(2)) a(x) where exists (select 1 from (values (3),(4)) b(y) where x=y)',
  },
  'compiler/ztests/sql/subqueries-correlated~3': {
    feature: 'correlated EXISTS',
    rows: [{ col: 2 }],
    statement:
      'select * from (values (1),(2)) a(col) where exists (select 1 from (values (2),(3)) b(col) where b.col=a.col)',
  },
  'compiler/ztests/sql/subqueries-correlated~4': {
    feature: 'correlated EXISTS',
    rows: [{ colA: 2 }],
    statement:
      'select * from (values (1),(2)) a(colA) where exists (select 1 from (values (2),(3)) b(colB) where colB=colA)',
  },
  'compiler/ztests/sql/union-error~2': {
    feature: '* over a table whose columns are not known',
    rows: [{ x: 1 }, { x: 1 }],
    statement: 'select * from a union all select * from a',
    tables: [{ name: 'a', columns: { x: 'BIGINT' }, rows: [{ x: 1 }] }],
  },
  'compiler/ztests/sql/scope-errors~3': {
    feature: 'columns qualified by the name of a table whose columns are not known',
    rows: 'refused',
    statement: "select * from (select 2 as x) as a join 'b.json' on x=b.c",
  },
  'compiler/ztests/sql/string-alias': {
    feature: 'an alias in single quotes',
    rows: [{ x: 1 }],
    statement: "select 1 as 'x'",
  },
  'differential/b/00018': {
    feature: 'columns that WITH names keep their names under another name of the table',
    rows: [
      { id: 1, boss: null },
      { id: 2, boss: 1 },
      { id: 3, boss: 1 },
    ],
    statement:
      'with t(id,boss) as (values (1,null),(2,1),(3,1)) select e.id, b.id as boss from t e left join t b on e.boss=b.id order by e.id',
  },
  'differential/b/00538': {
    feature: 'NaN is the greatest number in min',
    rows: [
      { k: 'x', s: -128 },
      { k: 'y', s: 255 },
    ],
    statement:
      "select k as k, min(a)::int as s from (values ('y', 'NaN'::double), ('x', -128), ('y', 255), ('z', 0)) t(k, a) group by k order by k limit 2",
  },
  'differential/b/00457': {
    feature: 'a division of whole numbers by zero ends the query',
    rows: 'refused',
    statement: 'select a+b as s, a-b as d, a//b as q, a%b as r from (values (0,127),(100,0)) t(a,b)',
  },
  'differential/b/00509': {
    feature: 'a division of whole numbers by zero ends the query',
    rows: 'refused',
    statement: 'select a+b as s, a-b as d, a//b as q, a%b as r from (values (7,0),(12,0)) t(a,b)',
  },
  ...Object.fromEntries(
    Object.entries({
      'differential/b/00141': {
        statement:
          "select amount + 2 as x from (values ('login', null), ('login', null), ('ping', null), ('login', null), ('ping', null), ('buy', 9.99)) t(kind, amount) where not (kind like '%uy')",
        rows: [{ x: null }, { x: null }, { x: null }, { x: null }, { x: null }],
      },
      'differential/b/00175': {
        statement: 'select total as n from (values (10.5), (10.5), (42.42), (null), (42.42)) t(total)',
        rows: [{ n: 10.5 }, { n: 10.5 }, { n: 42.42 }, { n: null }, { n: 42.42 }],
      },
      'differential/b/00527': {
        statement: 'select null as z from range(7)',
        rows: Array.from({ length: 7 }, () => ({ z: null })),
      },
      'compiler/ztests/sql/groupby~1': {
        statement:
          "select val.radius, count(*) as count from (values ({'radius': 4.2}), ({'radius': 1.5}), ({'radius': 0.7}), (null)) t(val) group by val.radius order by 1 desc",
        rows: [
          { radius: 4.2, count: 1 },
          { radius: 1.5, count: 1 },
          { radius: 0.7, count: 1 },
          { radius: null, count: 1 },
        ],
      },
    } satisfies Record<string, Omit<AddedCase, 'feature'>>).map(([id, c]) => [
      id,
      { feature: 'null in a column that a row lacks', ...c },
    ]),
  ),
};

/** Whether an answer is that of DuckDB; undefined for cases that are not listed. */
export const passesAsAdded = (
  id: string,
  answer: { readonly output: string; readonly error: string },
): boolean | undefined => {
  const wanted = addedCases[id]?.rows;
  if (wanted === undefined) return undefined;
  if (wanted === 'refused') return answer.output === '' && answer.error !== '';
  const linesOf = (text: string): string =>
    parseSupValues(text)
      .map((v) => supText(v))
      .sort()
      .join('\n');
  return answer.error === '' && linesOf(answer.output) === linesOf(wanted.map((row) => JSON.stringify(row)).join('\n'));
};
