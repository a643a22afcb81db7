/** What a fault says to write instead; the fault's own text is the reference's and stays as it is. */
import { describe, expect, test } from 'vitest';
import { aggregateCatalog } from '../../../src/exec/aggregates/aggregates.ts';
import { functionCatalog } from '../../../src/exec/functions/functions.ts';
import { syntaxOf } from '../../../src/commands/compile-error.ts';
import { adviceToAll } from '../../../src/query/parse/advice.ts';
import { compile } from '../../../src/query/analyze.ts';
import { routes } from '../../../src/http/routes/routes.ts';
import { statements } from '../../../src/query/parse/foreign-syntax.ts';
import { keywords, operatorTable } from '../../../src/query/reference/operators.ts';
import { hintOfAll } from '../../../src/query/parse/advice.ts';
import { CompileError } from '../../../src/query/parse/error.ts';
import { parse } from '../../../src/query/parse/parser.ts';
import {
  closest,
  didYouMean,
  didYouMeanName,
  foreignFunctions,
  foreignOperators,
} from '../../../src/query/analyze/suggest.ts';
import { recordType, types } from '../../../src/vectors/type.ts';
import { fileEnvironment, lakeEnvironment } from '../../support/queries/environment.ts';

const rows = recordType([
  { name: 'title', type: types.string },
  { name: 'rating', type: types.int64 },
]);
const faultOf = async (text: string): Promise<CompileError> => {
  try {
    await compile(text, text.includes('from p') ? lakeEnvironment() : fileEnvironment({ films: rows, other: rows }));
  } catch (error) {
    return error as CompileError;
  }
  throw new Error(`${text} compiles`);
};

describe('names', () => {
  test.each([
    ['values uper("x")', 'no such function', 'did you mean "upper"?'],
    [
      'select json_type(title -> rating) as a from films',
      'function value may only be passed to a function',
      "JSON's arrow needs parentheses here: write (j -> k)",
    ],
    ['values lenght("x")', 'no such function', 'did you mean "length"?'],
    ['from p | summarize conut() by a', "aggregator 'conut' requires argument", 'did you mean "count"?'],
    ['from p | values average(a)', 'no such function', 'write avg(v)'],
    ['from p | values date_format(a)', 'no such function', 'write strftime(format, t)'],
    ['fn double(x): x+x values duoble(2)', 'no such function', 'did you mean "double"?'],
    ['values map([1],&uper)', 'no such function', 'did you mean "upper"?'],
    ["select substrng('a', 1)", 'no such function', 'did you mean "substring"?'],
    [
      "select date '-1000-01-01' as a",
      'Could not find format for "-1000-01-01"',
      "write '2024-01-31' or '2024-01-31 12:30:00', from 1677 to 2262",
    ],
    ['select null::struct as a', 'no such type name: "struct"', 'name its fields: struct(a integer, b varchar)'],
    [
      "select '1'::timetz as a",
      'no such type name: "timetz"',
      'a time of day has no zone: write ::time for the clock, or ::timestamptz for a moment',
    ],
    [
      "select interval '2562047788 hours' as a",
      'an interval has at most 106751 days (292 years)',
      'write what is longer in months or years',
    ],
    [
      'select rating from films f join other o on f.title = o.title',
      'ambiguous unqualified column "rating"',
      'write f.rating or o.rating',
    ],
    ['select stats(1) as a', 'no such function', 'write summarize TABLE'],
    ['select remap_struct(1) as a', 'no such function', 'write {a: s.a, b: s.c}'],
    ['select decimal_division(1.0, 2.0) as a', 'no such function', 'write (a / b)::decimal'],
    ['select decimal_average(1.0) as a', 'no such function', 'write avg(v)::decimal'],
    ['select hash(1) as a', 'no such function', 'write md5(v::varchar)'],
    ['select create_sort_key(1) as a', 'no such function', 'write order by v desc nulls last'],
    ['select replace_type(1) as a', 'no such function', 'write v::type'],
    ['select can_cast_implicitly(1, 2) as a', 'no such function', 'write v::type'],
    [
      'select dateadd(title, 1, rating) as a from films',
      'dateadd takes a unit, a number and a time',
      "write dateadd('day', 3, t), or t + n * interval '1 day'",
    ],
    [
      'select title.x from films f where fs.title=1',
      '"fs" is not a column or table',
      'tables: f; columns: title, rating',
    ],
    ['select films.title from films f', '"films" is not a column or table', 'tables: f; columns: title, rating'],
    [
      'select title from films where rating=$1',
      'a parameter is not supported',
      'values stand in the text, or before the query by a name: const NAME = VALUE',
    ],
    [
      'select title from films where rating in (select rating, title from other)',
      'the subquery has 2 columns where one value is wanted: select one',
      'rows are compared by (a, b) in (select a, b ...)',
    ],
    [
      'select (select o.rating, o.title from other o where o.title=f.title) from films f',
      'the subquery has 2 columns where one value is wanted: select one',
      'rows are compared by (a, b) in (select a, b ...)',
    ],
    [
      'select title from films where rating=(select rating, title from other limit 1)',
      'the subquery has 2 columns where one value is wanted: select one',
      'rows are compared by (a, b) in (select a, b ...)',
    ],
    ['values frobnicate(1)', 'no such function', undefined],
    ['select json_agg(title) from films', 'no such function', 'write json_group_array(v)'],
    ['select json_object_agg(title, rating) from films', 'no such function', 'write json_group_object(name, v)'],
    ['select rownum from films', '"rownum" is not a column or table', 'write row_number() over ()'],
    [
      'select title:genre.main from films',
      '"genre" is not a column or table',
      "a field of JSON is title ->> '$.genre.main', one of a record title.genre.main",
    ],
    [
      'select (rating > 5) && (rating < 8) from films',
      '&& stands between lists, not bool',
      'between conditions write AND; between lists it is whether they have an element in common',
    ],
    [
      "select title from films where title @> '{}'",
      '@> stands between lists, not string',
      'between JSON write json_contains(a, b); between lists it is whether the left has all elements of the right',
    ],
    ['from p | filter a', 'no such user operator: "filter"', 'write where EXPR'],
    ['from p | yield a', 'no such user operator: "yield"', 'write values EXPR'],
    ['from p | drop', 'no such user operator: "drop"', 'write drop FIELD, ...'],
    ['from p | srot a', 'no such user operator: "srot"', 'did you mean "sort"?'],
    ['op twice: (pass) from p | twise', 'no such user operator: "twise"', 'did you mean "twice"?'],
    ['from p | count2', 'no such user operator: "count2"', 'did you mean "count"?'],
    ['from p | nosuch', 'no such user operator: "nosuch"', undefined],
    ['from films | values titel', 'no such field "titel"', 'did you mean "title"?'],
    [
      'from films | values rating>5 ? titel : ratin',
      'no such field "titel"',
      'did you mean "title"?\ndid you mean "rating"?',
    ],
    [
      'fn f(x): (case x.rating when 1 then x.titel else x.ratin end) from films | values f(this)',
      'no such field "titel"',
      'did you mean "title"?\ndid you mean "rating"?',
    ],
    ['from films | cut nothing', 'no such field "nothing"', 'fields: title, rating'],
    ['from films | drop titl', 'no such field "titl"', 'did you mean "title"?'],
    ['select titel from films', '"titel" is not a column or table', 'did you mean "title"?'],
    ['select f.titel from films as f', 'column "titel" does not exist in table "f"', 'did you mean "title"?'],
    ['select nothing from films', '"nothing" is not a column or table', 'columns: title, rating'],
    ['select x.* from films', '"x" is not a column or table', undefined],
    [
      'select * from films f join other o using (titel)',
      'column "titel" in USING clause does not exist in left table',
      'did you mean "title"?',
    ],
    ['from p | summ(a) by b', 'unknown aggregation function: summ', 'did you mean "sum"?'],
    ['values 1::int46', 'no such field "int46"', 'did you mean "int16" or "int64"?'],
    ['values 1::strng', 'no such field "strng"', 'did you mean "string"?'],
    ['from films (fromat csv)', 'unknown argument "fromat"', 'did you mean "format"?'],
    ['from p (comit main)', 'unknown argument "comit"', 'did you mean "commit"?'],
    ['pragma index_bas=1 values 1', 'unknown pragma "index_bas"', 'did you mean "index_base"?'],
  ])('%s', async (text, message, hint) => {
    const { errors } = await faultOf(text);
    expect({ message: errors[0]!.message, hint: hintOfAll('', errors) }).toEqual({ message, hint });
  });
});

describe('syntax', () => {
  test.each([
    ['from p | count(', 'the parenthesis ( at line 1, column 15 is not closed'],
    ['values {a:[1,2}', 'the bracket [ at line 1, column 11 is not closed before this }'],
    ['values 1)', 'this ) closes nothing'],
    ['values "abc', 'the string " at line 1, column 8 is not closed'],
    ['values f"{a', 'the string f" at line 1, column 9 is not closed'],
    ["values 'it''s'", "quotes inside a string are written as \\' (or put the string in double quotes)"],
    ['values a && b', 'write "and" for &&'],
    ['values {a:1,}', 'leave out the comma before the closing bracket'],
    ['values 1e3', 'write a dot before the exponent: 1.e3'],
    ['cut a,', 'something is missing after the last comma'],
    ['from p |', 'an operator is missing after the last |'],
    ['values 1; values 2', 'a semicolon ends the query: send what follows as a query of its own'],
    ['values 1 /* x', 'the comment /* at line 1, column 10 is not closed'],
    ['selct * from orders', 'did you mean "select" for selct?'],
    ['select * form orders', 'did you mean "from" for form?'],
    ['select * from orders whre id=1', 'did you mean "where" for whre?'],
    ['select id from orders gruop by id', 'did you mean "group" for gruop?'],
    ['select id from orders order by id lmit 1', 'did you mean "limit" for lmit?'],
    [
      'select * from orders join customers',
      'a join needs its condition: join TABLE on CONDITION, or join TABLE using (COLUMN, ...); cross join pairs all rows',
    ],
    [
      'select * from orders o join customers c where o.id=1',
      'a join needs its condition: join TABLE on CONDITION, or join TABLE using (COLUMN, ...); cross join pairs all rows',
    ],
    ['where (a <> b <> c', 'the parenthesis ( at line 1, column 7 is not closed'],
  ])('%s', (text, advice) => {
    let faults: CompileError['errors'] = [];
    try {
      parse(text);
    } catch (error) {
      faults = (error as CompileError).errors;
    }
    expect(adviceToAll(text, faults, syntaxOf)).toEqual([advice]);
  });
  test('a call with the wrong count of arguments is told how it is written', async () => {
    const text = 'values len()';
    expect(adviceToAll(text, (await faultOf(text)).errors, syntaxOf)).toEqual(['write len(v)']);
  });
});

describe('statements and clauses of other databases', () => {
  test.each([
    ['select a from p order by a limit 3 with ties', 'WITH TIES', /rank\(\) over/],
    ['select a from p order by a fetch first 3 rows with ties', 'WITH TIES', /rank\(\) over/],
    ["select * from jsonb_each('{}')", 'JSONB_EACH', /json_each/],
    ["select safe_cast('x' as int64)", 'SAFE_CAST', /^write try_cast/],
    ['select struct(1 as a)', 'STRUCT(.. AS ..)', /struct_pack/],
    ['select a from p where a <=> 1', '<=>', /is not distinct from/],
    ['select 7 div 2', 'DIV', /\/\//],
    ['select a from p where a xor b', 'XOR', /<>/],
    ['select a from p minus select 1', 'MINUS', /except/],
    ['insert or ignore into p select 1', 'INSERT OR IGNORE INTO', /^INSERT INTO POOL/],
    ['-- a\n/* b */ replace into p select 1', 'REPLACE INTO', /^INSERT INTO POOL/],
    ['update p set a=1 from q where b=2', 'UPDATE .. FROM', /^MERGE INTO POOL/],
    ["insert into p (a) values (1) on conflict (a) do update set a = 'x'", 'INSERT .. ON CONFLICT', /^MERGE INTO POOL/],
    ['insert into p (a) values (1) on duplicate key update a=2', 'INSERT .. ON CONFLICT', /^MERGE INTO POOL/],
    ['delete p where a=1', 'DELETE without FROM', /^DELETE FROM POOL/],
    ['with q as (select 1 as a) insert into p select * from q', 'a statement within another text', /^it stands alone/],
    ['with q as (select 1 as a) update p set a=1', 'a statement within another text', /subqueries/],
    ['explain delete from p', 'a statement within another text', /^it stands alone/],
    ["update p set a='on conflict' returning a", 'RETURNING', /id of its commit/],
    ['insert into p (a) values (1) returning a', 'RETURNING', /id of its commit/],
    ['delete from p where a=1 returning *', 'RETURNING', /id of its commit/],
    ['select a from "public"."p"', 'a schema', /its name stands alone/],
    ['select t.a from p join "public"."p" t on p.a=t.a', 'a schema', /its name stands alone/],
    ['insert into "public"."p" (a) values (1)', 'a schema', /its name stands alone/],
    ['delete from p using q where a=1', 'DELETE .. USING', /^MERGE INTO POOL/],
    ['truncate p', 'TRUNCATE', /without a condition for all rows/],
    ['create or replace temp table t (a int)', 'CREATE TABLE', /POST \/pool/],
    ['create table t as select 1', 'CREATE TABLE', /QUERY \| load POOL/],
    ['create temp view v as select 1', 'CREATE TEMPORARY VIEW', /with NAME as/],
    ['create or replace temporary view v as select 1', 'CREATE TEMPORARY VIEW', /create view NAME as QUERY/],
    ['create materialized view v as select 1', 'CREATE MATERIALIZED VIEW', /load POOL/],
    ['create recursive view v(n) as select 1', 'CREATE RECURSIVE VIEW', /with recursive/],
    ['drop materialized view v', 'DROP MATERIALIZED VIEW', /^drop view NAME$/],
    ['alter view v set schema s', 'ALTER VIEW', /alter view NAME rename to NAME/],
    ['alter view if exists v as select 1', 'ALTER VIEW', /alter view NAME as QUERY/],
    ['create index i on p(a)', 'CREATE INDEX', /sorted by its key/],
    ['create sequence s', 'CREATE SEQUENCE', /row_number/],
    ['create macro m(a) as a+1', 'CREATE MACRO', /fn NAME/],
    ["create type t as enum ('a')", 'CREATE TYPE', /type NAME/],
    ['create schema s', 'CREATE SCHEMA', /one space of names/],
    ['create user u', 'CREATE USER', /lake key/],
    ['grant select on p to u', 'GRANT SELECT', /lake key/],
    ['drop table if exists t', 'DROP TABLE', /^DELETE \/pool/],
    ['drop index v', 'DROP INDEX', /drop view NAME/],
    ['alter table p add column a int', 'ALTER TABLE', /PUT/],
    ["copy p to 'x.csv'", 'COPY', /Accept/],
    ["attach 'x.db' as x", 'ATTACH', /one lake/],
    ['use x', 'USE', /from POOL/],
    ['set threads = 4', 'SET THREADS', /options/],
    ['reset threads', 'RESET THREADS', /options/],
    ['pragma threads=4', 'PRAGMA THREADS', /index_base/],
    ['begin', 'BEGIN', /commit of its own/],
    ['start transaction;', 'START TRANSACTION', /merge/],
    ['commit', 'COMMIT', /merge/],
    ['rollback', 'ROLLBACK', /revert/],
    ['vacuum', 'VACUUM', /vacuum/],
    ['analyze', 'ANALYZE', /explain analyze/],
    ['checkpoint', 'CHECKPOINT', /durable/],
    ['install httpfs', 'INSTALL', /built in/],
    ["export database 'x'", 'EXPORT DATABASE', /Accept/],
    ['prepare x as select 1', 'PREPARE', /const NAME/],
    ['call pragma_version()', 'CALL', /FROM/],
    ['show columns from p', 'SHOW COLUMNS', /describe POOL/],
    ['explain (format json) select 1', 'EXPLAIN with options', /explain analyze/],
    ["select '1:00'::time with time zone", 'TIME WITH TIME ZONE', /timestamptz/],
    ["select x'ab'", "x'..'", /from_hex/],
    ['select * from p for update', 'FOR UPDATE', /locks nothing/],
    ['select * into x from p', 'SELECT INTO', /load POOL/],
    ['select top 3 a from p', 'TOP', /limit N/],
    ['select * from p limit 1,2', 'LIMIT a, b', /offset/],
    ['select t at local from p', 'AT LOCAL', /AT TIME ZONE/],
    ["select timetz '12:00' from p", 'TIMETZ', /timestamptz/],
    ['select a from p with (nolock)', 'WITH (...)', /leave it out/],
    ['select a from p where a = ?', 'a parameter', /const NAME/],
    ['from p | where a == ? | head 1', 'a parameter', /const NAME/],
    ['select a from p limit ?', 'a parameter', /const NAME/],
    ['select a from p where a = :id', 'a parameter', /const NAME/],
    ['from p@w2-645', 'a name of a branch with "-", "/" or "." that is not quoted', /POOL@"BRANCH"/],
    ['from p@feature/x', 'a name of a branch with "-", "/" or "." that is not quoted', /POOL@"BRANCH"/],
    ['select a from p@v1.0 where a=1', 'a name of a branch with "-", "/" or "." that is not quoted', /POOL@"BRANCH"/],
    ['select a from my-pool', 'a name with "-" that is not quoted', /write "NAME"/],
    ['from web-logs-2 | count()', 'a name with "-" that is not quoted', /write "NAME"/],
  ])('%s', async (text, name, hint) => {
    const { errors } = await faultOf(text);
    expect({ message: errors[0]!.message, hint: hintOfAll('', errors) }).toEqual({
      message: `${name} is not supported`,
      hint: expect.stringMatching(hint),
    });
  });
  test.each([
    ['select a from p where a > 5 && a < 8', 'write "and" for &&'],
    ['from p | where a > 5 && a < 8', 'write "and" for &&'],
    ['from p | where a === 5', undefined],
  ])(
    'a service too says what to write for &&, and leaves the errors of other signs as they are: %s',
    async (text, hint) => {
      const { errors } = await faultOf(text);
      expect(hintOfAll(text, errors)).toBe(hint);
    },
  );
  test.each([
    ['update p set a = = 3', 'update p set a = ', /^UPDATE POOL SET/],
    ['update p set (a, b) = (1, 2)', 'update p set ', /^UPDATE POOL SET/],
    ['update p set a=(select 1 from q) whre b=2', 'update p set a=(select 1 from q) ', /^UPDATE POOL SET/],
    ['update p set a=1 where a=2 limit 1', 'update p set a=1 where a=2 ', /a statement stands alone$/],
    ["update p set a='returning, from b' whre b=2", "update p set a='returning, from b' ", /^UPDATE POOL SET/],
    ['insert into p (a) values (1', 'insert into p (a) values (1', /^INSERT INTO POOL/],
    ["insert into p (a) values ('on conflict', )) ", "insert into p (a) values ('on conflict', )", /^INSERT INTO POOL/],
    ['insert into p default values', 'insert into p ', /^INSERT INTO POOL/],
    ['insert into p (a) values (1); insert into p (a) values (2)', 'insert into p (a) values (1); ', /stands alone$/],
    [
      'merge into p using q on p.a=q.a when matched then drop',
      'merge into p using q on p.a=q.a when matched then ',
      /^MERGE/,
    ],
    ['merge into p using q using (a) when matched then delete', 'merge into p using q using', /^MERGE INTO POOL USING/],
    ['delete from p wher a=1', 'delete from p wher ', /^DELETE FROM POOL/],
    ['delete from p limit 1', 'delete from p limit ', /^DELETE FROM POOL/],
  ])('a statement of ours is told where it is wrong: %s', async (text, before, hint) => {
    const { errors } = await faultOf(text);
    expect({ fault: errors[0]!.message, at: text.slice(0, errors[0]!.start), hint: hintOfAll(text, errors) }).toEqual({
      fault: 'parse error',
      at: before,
      hint: expect.stringMatching(hint),
    });
  });
  test('a time is a name of no branch, and what is in strings is none', async () => {
    for (const text of [
      'from p@2026-11-01T00:00:00Z | head )',
      "from p | where a == 'p@x-y' | head )",
      'from p | put a:=b-c | head )',
    ])
      expect((await faultOf(text)).errors[0]!.message, text).toBe('parse error');
  });
  test('queries that begin with such a word are none of them', async () => {
    for (const text of [
      'op set x: (values x) set 3',
      'op begin: (pass) begin',
      'values 1 | put update:=2',
      'select 1 as export_state',
      'select sum(1) as export_state',
      'merge:=1',
      'explain (select 1)',
    ])
      await compile(text, lakeEnvironment());
    expect((await faultOf('op use x: (values x) use 3 |')).errors[0]!.message).toBe('parse error');
  });
  test('requests that they name are there', () => {
    const known = new Set(
      routes.map(({ method, path }) => `${method} ${path.replace(/:(\w+)/g, (_, name: string) => name.toUpperCase())}`),
    );
    const named = statements.flatMap(({ hint }) =>
      [...hint.matchAll(/\b(?:GET|POST|PUT|DELETE) \/[\w/]+/g)].map(([request]) => request),
    );
    expect(named.length).toBeGreaterThan(10);
    expect([...new Set(named)].filter((request) => !known.has(request))).toEqual([]);
  });
});

describe('tables', () => {
  test('what is told to write exists', () => {
    const calls = Object.values(foreignFunctions).flatMap((text) =>
      [...text.matchAll(/([a-z_]\w*)\(/g)].map((m) => m[1]!),
    );
    expect(
      calls.filter((name) => name !== 'substring' && !functionCatalog.find(name) && !aggregateCatalog.find(name)),
    ).toEqual([]);
    const operators = new Set(operatorTable.map((o) => o.name));
    const words = Object.values(foreignOperators)
      .map((text) => text.split(' ')[0]!)
      .filter((word) => word !== 'a');
    expect(words.filter((word) => !operators.has(word))).toEqual([]);
  });
  test('a word that has a hint of another language is no name of ours', () => {
    expect(
      Object.keys(foreignFunctions).filter((name) => functionCatalog.find(name) ?? aggregateCatalog.find(name)),
    ).toEqual([]);
    expect(Object.keys(foreignOperators).filter((name) => operatorTable.some((o) => o.name === name))).toEqual([]);
  });
  test('every operator of the table is one of the language', () => {
    const example: Readonly<Record<string, string>> = {
      aggregate: 'aggregate count()',
      anti: 'anti join (from q) on a=b',
      assert: 'assert true',
      call: 'call x',
      cross: 'cross join (from q)',
      cut: 'cut a',
      distinct: 'distinct a',
      drop: 'drop a',
      fork: 'fork (pass) (pass)',
      from: 'from q',
      inner: 'inner join (from q) on a=b',
      join: 'join (from q) on a=b',
      left: 'left join (from q) on a=b',
      limit: 'limit 1',
      load: 'load q',
      merge: 'merge a',
      order: 'order by a',
      output: 'output x',
      put: 'put a:=1',
      rename: 'rename a:=b',
      right: 'right join (from q) on a=b',
      search: 'search a',
      select: 'select 1',
      skip: 'skip 1',
      summarize: 'summarize count()',
      switch: 'switch case true (pass)',
      top: 'top 1 a',
      unnest: 'unnest a',
      values: 'values 1',
      where: 'where a',
      with: 'with x as (select 1) select * from x',
    };
    for (const { name } of operatorTable) expect(() => parse(example[name] ?? name), name).not.toThrow();
    expect(new Set(keywords).size).toBe(keywords.length);
  });
  test('closeness', () => {
    expect(closest('ab', ['ac', 'abc'])).toEqual([]);
    expect(closest('usr', ['user', 'use'])).toEqual(['user', 'use']);
    expect(closest('Movies', ['movies'])).toEqual(['movies']);
    expect(closest('x'.repeat(1000), ['x'.repeat(999)])).toEqual([]);
    expect(didYouMean('trial', ['trail'])).toBe('did you mean "trail"?');
    expect(didYouMeanName('logs_a', ['logs_b', 'log_a'])).toBe('did you mean "log_a"?');
  });
});
