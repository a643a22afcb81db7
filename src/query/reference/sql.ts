/** SQL for people: its clauses, joins, types and statements with an example each, which a test runs. README and the service's page print it. */

/** One form of SQL. Capitals stand for what is to be filled in, brackets hold what may be left out. */
export interface SqlForm {
  readonly name: string;
  readonly syntax: string;
  readonly text: string;
  readonly examples: readonly { readonly query: string; readonly output: string }[];
}
type Row = readonly [name: string, syntax: string, text: string, query: string, output: string];
const formsOf = (rows: readonly Row[]): readonly SqlForm[] => rows.map(([name, syntax, text, query, output]) => ({ name, syntax, text, examples: [{ query, output }] }));

/** By what they are about. */
export const sqlTable: Readonly<Record<string, readonly SqlForm[]>> = {
  'Clauses of SELECT': formsOf([
    ['select', 'select [distinct] EXPR [as NAME], ...', 'gives columns', "select 1+1 as a, 'x' || 'y' as b", '{a:2,b:"xy"}'],
    ['from first', 'from TABLE [select ...]', 'reads a table; FROM may come first', 'from (values (1),(2)) t(a) select a+1 as b', '{b:2}\n{b:3}'],
    ['where', 'where CONDITION', 'keeps rows', 'select a from (values (1),(2),(3)) t(a) where a between 2 and 3', '{a:2}\n{a:3}'],
    ['group by', 'group by KEY, ... | group by all', 'makes groups', "select k, sum(v) as s from (values ('a',1),('b',2),('a',3)) t(k,v) group by k order by k", '{k:"a",s:4}\n{k:"b",s:2}'],
    ['rollup', 'group by rollup (KEY, ...) | cube (...) | grouping sets (...)', 'makes groups of several sizes', "select k, sum(v) as s from (values ('a',1),('b',2)) t(k,v) group by rollup (k) order by s", '{k:"a",s:1}\n{k:"b",s:2}\n{k:null,s:3}'],
    ['having', 'having CONDITION', 'keeps groups', "select k, count(*) as n from (values ('a'),('b'),('a')) t(k) group by k having count(*) > 1", '{k:"a",n:2}'],
    ['filter', 'AGG(EXPR) filter (where CONDITION)', 'aggregates some of the rows', 'select sum(a) filter (where a > 1) as s from (values (1),(2),(3)) t(a)', '{s:5}'],
    ['aggregate order', 'AGG(EXPR order by KEY)', 'aggregates rows in an order', "select string_agg(a, '-' order by a desc) as s from (values ('x'),('y')) t(a)", '{s:"y-x"}'],
    ['order by', 'order by EXPR [asc|desc] [nulls first|last], ... | order by all', 'sorts', 'select a from (values (2),(1),(3)) t(a) order by a desc', '{a:3}\n{a:2}\n{a:1}'],
    ['limit', 'limit N [%] [offset N] | fetch first N rows only', 'keeps the first rows', 'select a from (values (1),(2),(3)) t(a) order by a limit 1 offset 1', '{a:2}'],
    ['distinct on', 'distinct on (KEY, ...)', 'keeps the first row of each key', "select distinct on (k) k, v from (values ('a',1),('a',2),('b',3)) t(k,v) order by k, v", '{k:"a",v:1}\n{k:"b",v:3}'],
    ['star', '* exclude (NAME, ...) | * replace (EXPR as NAME) | * rename (NAME as NAME)', 'all columns but some, or changed', 'select * exclude (b) replace (a+1 as a) from (values (1,2)) t(a,b)', '{a:2}'],
    ['columns', "columns('REGEXP')", 'several columns by their names', "select columns('^v') from (values (1,2,3)) t(k,v1,v2)", '{v1:2,v2:3}'],
    ['qualify', 'qualify CONDITION', 'keeps rows by what window functions give', 'select a from (values (3),(1),(2)) t(a) qualify row_number() over (order by a) = 1', '{a:1}'],
    ['with', 'with [recursive] NAME [(COLUMN, ...)] as (QUERY), ...', 'names queries for the one that follows', 'with recursive f(n) as (select 1 union all select n*2 from f where n < 8) select n from f', '{n:1}\n{n:2}\n{n:4}\n{n:8}'],
    ['values', 'values (EXPR, ...), ...', 'rows as they stand', 'select * from (values (1,true)) t(a,b)', '{a:1,b:true}'],
    ['pivot', 'pivot TABLE on COLUMN in (VALUE, ...) using AGG(EXPR)', 'makes columns of values', "pivot (select * from (values ('a',1),('b',2)) t(k,v)) on k in ('a','b') using sum(v)", '{a:1,b:2}'],
    ['unpivot', 'unpivot TABLE on COLUMN, ... [into name NAME value NAME]', 'makes rows of columns', 'unpivot (select 1 as a, 2 as b) on a, b', '{name:"a",value:1}\n{name:"b",value:2}'],
    ['tablesample', 'TABLE tablesample N [percent|rows]', 'reads some of the rows', 'select count(*) as n from (values (1),(2)) t(a) tablesample 100 percent', '{n:2}'],
  ]),
  'Joins and set operations': formsOf([
    ['join', '[inner] join TABLE on CONDITION | using (COLUMN, ...)', 'pairs rows that match; a comma with WHERE is the same', "select k, a, b from (values (1,'x')) l(k,a) join (values (1,'y')) r(k,b) using (k)", '{k:1,a:"x",b:"y"}'],
    ['outer join', 'left | right | full [outer] join TABLE on CONDITION', 'keeps rows without a match, with nulls', "select l.k, b from (values (1),(2)) l(k) left join (values (1,'y')) r(k,b) on l.k=r.k order by l.k", '{k:1,b:"y"}\n{k:2,b:null}'],
    ['cross join', 'cross join TABLE', 'pairs all rows', 'select a, b from (values (1)) l(a) cross join (values (2),(3)) r(b)', '{a:1,b:2}\n{a:1,b:3}'],
    ['semi join', 'semi | anti join TABLE on CONDITION', 'keeps rows with a match, or those without', 'select * from (values (1),(2)) l(k) anti join (values (1)) r(k) on l.k=r.k', '{k:2}'],
    ['asof join', 'asof [left] join TABLE on KEY and TIME >= TIME', 'pairs each row with the last one before it', "select t, v from (values (5)) l(t) asof join (values (1,'a'),(4,'b')) r(u,v) on t >= u", '{t:5,v:"b"}'],
    ['positional join', 'positional join TABLE', 'pairs rows by their numbers', "select a, b from (values (1),(2)) l(a) positional join (values ('x'),('y')) r(b)", '{a:1,b:"x"}\n{a:2,b:"y"}'],
    ['lateral', ', lateral (QUERY)', 'a query of FROM that uses the tables before it', 'select a, b from (values (1),(2)) t(a), lateral (select a*10 as b) u', '{a:1,b:10}\n{a:2,b:20}'],
    ['unnest', 'unnest(LIST)', 'a row for each element', 'select unnest([1,2]) as a', '{a:1}\n{a:2}'],
    ['union', 'union [all] [by name] | intersect [all] | except [all]', 'puts rows of queries together, or compares them', 'select 1 as a union all select 2 as a', '{a:1}\n{a:2}'],
  ]),
  'Subqueries and conditions': formsOf([
    ['scalar subquery', '(QUERY)', 'the value of one row and column', 'select (select max(a) from (values (1),(2)) t(a)) as m', '{m:2}'],
    ['exists', '[not] exists (QUERY)', 'whether there are rows; the query may use columns around it', 'select a from (values (1),(2)) t(a) where exists (select 1 from (values (2)) u(b) where b=a)', '{a:2}'],
    ['in', 'EXPR [not] in (VALUE, ... | QUERY)', 'whether it is one of them', 'select 2 in (1,2) as a', '{a:true}'],
    ['any', 'EXPR OPERATOR any | all (QUERY)', 'compares with all rows', 'select 3 > all (select a from (values (1),(2)) t(a)) as b', '{b:true}'],
    ['case', 'case [EXPR] when EXPR then EXPR ... [else EXPR] end', 'the first branch that fits', "select case when 1 > 2 then 'a' else 'b' end as c", '{c:"b"}'],
    ['like', "EXPR [not] like | ilike 'PATTERN' [escape 'C'] | similar to 'REGEXP'", 'compares with a pattern', "select 'abc' like 'a%' as a, 'ABC' ilike 'a__' as b", '{a:true,b:true}'],
    ['distinct from', 'EXPR is [not] distinct from EXPR', 'compares, nulls too', 'select null is not distinct from null as a', '{a:true}'],
    ['lambda', 'lambda x: EXPR', 'what a function does with each element', 'select list_transform([1,2], lambda x: x*2) as a, [x+1 for x in [1,2] if x > 1] as b', '{a:[2,4],b:[3]}'],
  ]),
  'Windows': formsOf([
    ['over', 'FUNCTION(...) over ([partition by KEY, ...] [order by KEY, ...] [FRAME])', 'looks at the rows around', 'select a, sum(a) over (order by a) as s from (values (1),(2),(3)) t(a)', '{a:1,s:1}\n{a:2,s:3}\n{a:3,s:6}'],
    ['frame', 'rows | range | groups between START and END [exclude ...]', 'which rows those are', 'select a, sum(a) over (order by a rows between 1 preceding and current row) as s from (values (1),(2),(3)) t(a)', '{a:1,s:1}\n{a:2,s:3}\n{a:3,s:5}'],
    ['window', 'window NAME as (...)', 'names a window for several functions', 'select a, rank() over w as r, lag(a) over w as l from (values (1),(2)) t(a) window w as (order by a)', '{a:1,r:1,l:null}\n{a:2,r:2,l:1}'],
  ]),
  'Types': formsOf([
    ['cast', 'cast(EXPR as TYPE) | EXPR::TYPE | try_cast(EXPR as TYPE)', 'changes the type; try_cast gives null where it cannot', "select '12'::bigint as a, try_cast('x' as int) as b", '{a:12,b:null}'],
    ['whole numbers', 'tinyint, smallint, integer, bigint; utinyint, usmallint, uinteger, ubigint', 'of 8, 16, 32 and 64 bits', "select 7::tinyint as a, '18446744073709551615'::ubigint as b", '{a:7::int8,b:18446744073709551615::uint64}'],
    ['floating numbers', 'real, double', 'of 32 and 64 bits', 'select 1.5::double as a', '{a:1.5}'],
    ['decimal', 'decimal(DIGITS, PLACES)', 'an exact number, rounded to PLACES', 'select 1.005::decimal(5,2) as a', '{a:1.01}'],
    ['varchar', 'varchar, text', 'text', 'select 12::varchar as a', '{a:"12"}'],
    ['boolean', 'boolean', 'true and false', "select 't'::boolean as a", '{a:true}'],
    ['date', "date, timestamp, timestamptz, DATE 'TEXT'", 'moments, by the nanosecond', "select date '2024-01-31' + interval 1 month as a", '{a:2024-02-29T00:00:00Z}'],
    ['time', 'time', 'a time of day', "select '1:02'::time as a", '{a:"01:02:00"}'],
    ['interval', "interval N UNIT, INTERVAL 'TEXT'", 'a span of time', "select interval 2 hours + interval '30 minutes' as a", '{a:2h30m}'],
    ['blob', 'blob', 'bytes', String.raw`select '\x41B'::blob as a`, '{a:0x4142}'],
    ['uuid', 'uuid', 'an id, as text', "select 'A0EEBC999C0B4EF8BB6D6BB9BD380A11'::uuid as a", '{a:"a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11"}'],
    ['bit', 'bit', 'zeros and ones, as text', "select '0101'::bit & '0110'::bit as a, '101'::bit::int as b", '{a:"0100",b:5::int32}'],
    ['list', 'TYPE[]', 'values of one type in order, counted from 1', 'select [1,2,3][1] as a, [1,2,3][2:3] as b', '{a:1,b:[2,3]}'],
    ['struct', 'struct(NAME TYPE, ...)', 'fields by their names', "select {a:1,b:'x'}.b as c", '{c:"x"}'],
    ['map', 'map(TYPE, TYPE)', 'values by keys', "select map(['a'],[1])['a'] as v", '{v:1}'],
    ['json', 'json, EXPR -> PATH, EXPR ->> PATH', 'JSON as text, and what is in it', `select '{"a":{"b":2}}'::json ->> '$.a.b' as v`, '{v:"2"}'],
  ]),
  'Statements': formsOf([
    ['describe', 'describe TABLE | QUERY', 'columns and their types', 'select column_name, column_type from (describe select 1 as a)', '{column_name:"a",column_type:"int64"}'],
    ['summarize', 'summarize TABLE | QUERY', 'figures of all columns', 'select column_name, min, max, count from (summarize select 1 as a)', '{column_name:"a",min:"1",max:"1",count:1}'],
    ['explain', 'explain QUERY', 'the plan, a line an operator; of pipes too', 'explain values 1 | head 1', '{plan:"null"}\n{plan:"values 1"}\n{plan:"head 1"}'],
    ['explain analyze', 'explain analyze QUERY', 'runs it, and gives of each operator rows, time (its own, of all threads), bytes and blocks that were read, blocks that were skipped, and what was spilled', 'explain analyze values 1', ''],
    ['show tables', 'show tables', 'the pools', 'show tables', ''],
    ['pragma', 'pragma index_base = 0 | 1', 'from where brackets count; option -index.base and index_base of a request set it for texts without', 'pragma index_base = 0 select [7,8][1] as a', '{a:8}'],
  ]),
};
