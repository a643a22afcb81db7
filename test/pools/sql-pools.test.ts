/**
 * SQL over pools, whose columns are those that their rows have at present: `*`, qualified names, joins, subqueries,
 * recursion, and what a query may not do.
 */
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { sqlTable } from '../../src/query/reference/sql.ts';
import { clientOf } from '../support/service/client.ts';
import { type TestService, startService } from '../support/service/server.ts';

let service: TestService;
const uuid = 'b0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11';
const json = { 'content-type': 'application/json', accept: 'application/json' };
const load = async (pool: string, key: string, rows: string): Promise<void> => {
  await service.ask('POST', '/pool', {
    headers: json,
    body: JSON.stringify({ name: pool, layout: { order: 'asc', keys: [[key]] } }),
  });
  const { status } = await service.ask('POST', `/pool/${pool}/branch/main`, {
    headers: { 'content-type': 'application/x-sup' },
    body: rows,
  });
  expect(status).toBe(200);
};
beforeAll(async () => {
  service = await startService(['-recursion.rounds.max', '100', '-recursion.rows.max', '1000']);
  await load(
    'people',
    'id',
    '{id:1,name:"ann",boss:null} {id:2,name:"bob",boss:1} {id:3,name:"cy",boss:1,city:"Rome"} {id:4,name:"di",boss:3}',
  );
  await load(
    'orders',
    'no',
    '{no:10,id:2,total:5} {no:11,id:2,total:7.5} {no:12,id:3,total:1,note:"late"} {no:13,id:9,total:2}',
  );
  await load('nested', 'k', '{k:1,r:{Name:"a",in:{Deep:2}}} {k:2,r:{Name:"b",in:{Deep:3}}}');
  await load('floats', 'f', '{f:NaN,g:1.} {f:1.,g:NaN} {f:2.,g:2.}');
  await load(
    'filed',
    'i',
    `{i:1,t:1970-01-01T10:00:00.5Z::=arrow_time64_us,u:0xa0eebc999c0b4ef8bb6d6bb9bd380a11::=arrow_uuid,v:0x000000000000000080ee3600::=arrow_interval,m:0x010000000000000000000000::=arrow_interval,d:2024-01-02T00:00:00Z::=arrow_date32}
{i:2,t:1970-01-01T12:30:00Z::=arrow_time64_us,u:0x${uuid.replaceAll('-', '')}::=arrow_uuid,v:0x000000000001000000000000::=arrow_interval,m:0x000000001d00000000000000::=arrow_interval,d:2024-01-03T00:00:00Z::=arrow_date32}`,
  );
  await load(
    'keyed',
    'i',
    `{i:1,t:|{1970-01-01T12:30:00Z::=arrow_time64_us:"x"}|,u:|{0x${uuid.replaceAll('-', '')}::=arrow_uuid:"y"}|,v:|{0x000000000100000080ee3600::=arrow_interval:"z"}|}`,
  );
  await load('spans', 'k', '{k:1,d:1h} {k:2,d:2h}');
  await load('narrow', 'k', '{k:1,a:10::int32} {k:2,a:11::int32} {k:3,a:12::int32}');
  await load('nullable', 'a', '{a:1::(int64|null),s:"p"::(string|null)} {a:null::(int64|null),s:null::(string|null)}');
});
afterAll(() => service.close());

/**
 * Times of day, uuids and intervals that files have in a form of their own are those of SQL as soon as something is
 * done with them.
 */
const filed: Readonly<Record<string, string>> = {
  'select x::varchar as t, (x + x)::varchar as d from (select unnest([v, m]) as x from filed where i = 1) s':
    '{t:"01:00:00",d:"02:00:00"}\n{t:"1 month",d:"2 months"}',
  "select i from filed where t > '12:00'": '{i:2}',
  "select i from filed where t = '12:30'": '{i:2}',
  "select i from filed where t in ('12:30', '1:00')": '{i:2}',
  "select i from filed where t between '9:00' and '11:00'": '{i:1}',
  'select i from filed where t in (select t from filed where i = 1)': '{i:1}',
  [`select i from filed where u in ('${uuid}')`]: '{i:2}',
  'select i from filed where u in (select u from filed where i = 1)': '{i:1}',
  [`select map([t],[i])[time '12:30'] as x, map([u],[i])['${uuid}'] as y, map(['${uuid}'::uuid],[7])[u] as z from filed where i = 2`]:
    '{x:2,y:2,z:7}',
  "select map([time '12:30'],[7])[t] as x from filed where i = 2": '{x:7}',
  "select i from filed join (values (time '12:30')) b(x) on t = x": '{i:2}',
  [`select i from filed join (values ('${uuid}'::uuid)) b(x) on u = x`]: '{i:2}',
  'select a.i from filed a join filed b using (t) where b.i = 2': '{i:2}',
  'select min(t) as a, max(t) as b, list(t) as c, max(u) as d from filed': `{a:"10:00:00.5",b:"12:30:00",c:["10:00:00.5","12:30:00"],d:"${uuid}"}`,
  "select t + interval 1 hour as a, coalesce(t, time '1:00') as b, d + t as c, t - time '12:00' as e from filed where i = 2":
    '{a:"13:30:00",b:"12:30:00",c:2024-01-03T12:30:00Z,e:30m}',
  "select lag(t) over (order by i) + interval 1 hour as a, [t, t][2] + interval 1 hour as b, list_extract([t], 1) < '12:00' as c from filed order by i":
    '{a:null::(string|null),b:"11:00:00.5",c:true}\n{a:"11:00:00.5",b:"13:30:00",c:false}',
  "select g + interval 1 hour as a, d + n as b, [t]::varchar as c from (select i, d, t, greatest(t, t) as g, nullif(t, time '1:00') as n from filed) s where i = 2": `{a:"13:30:00",b:2024-01-03T12:30:00Z,c:"['12:30:00']"}`,
  "select greatest(v, interval '2 hours') as a, least(v, v) + interval '1 hour' as b from filed order by i":
    '{a:2h,b:2h}\n{a:256d,b:256d1h}',
  "select t from filed union select time '12:30' order by 1": '{t:"10:00:00.5"}\n{t:"12:30:00"}',
  'select t from filed where i = 1': '{t:1970-01-01T10:00:00.5Z::=arrow_time64_us}',
  'select sum(v) as a, avg(v) as b, min(v) as c, max(v) as e from filed': '{a:256d1h,b:128d30m,c:1h,e:256d}',
  'select sum(v) over () as s from filed where i = 1': '{s:1h}',
  'select v + v as a, v * 2 as b, -v as c, v + interval 1 hour as e, d + m as f from filed where i = 1':
    '{a:2h,b:2h,c:-1h,e:2h,f:2024-02-02T00:00:00Z}',
  "select v[interval '25 hours'] as a, v[interval '1 day 1 hour'] as b, v[interval '1 day'] as c from keyed":
    '{a:"z",b:"z",c:null}',
  [`select t['12:30'] as a, t[time '12:30'] as b, t['1:00'] as c, u['${uuid}'] as d from keyed`]:
    '{a:"x",b:"x",c:null,d:"y"}',
  'select i from filed order by v desc': '{i:2}\n{i:1}',
  'select i, row_number() over (order by m) as n from filed order by n': '{i:2,n:1}\n{i:1,n:2}',
};

const cases: Readonly<Record<string, string>> = {
  'select * from orders where total > 4': '{no:10,id:2,total:5}\n{no:11,id:2,total:7.5}\n',
  'select p.name, o.no from people p join orders o on p.id = o.id order by no':
    '{name:"bob",no:10}\n{name:"bob",no:11}\n{name:"cy",no:12}\n',
  'select P.name from PEOPLE p where p.id = (select min(ID) from Orders)': '{name:"bob"}\n',
  'select distinct * from narrow group by a, k having max(a) > 10 order by k': '{k:2,a:11::int32}\n{k:3,a:12::int32}\n',
  'select * from narrow group by k, a order by 1 desc limit 1': '{k:3,a:12::int32}\n',
  'select people.name, orders.no from people join orders on people.id = orders.id and orders.total < 5':
    '{name:"cy",no:12}\n',
  'select * from people join orders using (id) order by no limit 1': '{id:2,name:"bob",boss:1,no:10,total:5}\n',
  'select id, count(o.no) as n from people p left join orders o using (id) group by id order by id':
    '{id:1,n:0}\n{id:2,n:2}\n{id:3,n:1}\n{id:4,n:0}\n',
  'select p.*, b.name as boss_name from people p join people b on p.boss = b.id order by id':
    '{id:2,name:"bob",boss:1,boss_name:"ann"}\n{id:3,name:"cy",boss:1,city:"Rome",boss_name:"ann"}\n{id:4,name:"di",boss:3,boss_name:"cy"}\n',
  'select name from people p where not exists (select 1 from orders o where o.id = p.id) order by name':
    '{name:"ann"}\n{name:"di"}\n',
  'select name, (select sum(o.total) from orders o where o.id = p.id) as total from people p order by name':
    '{name:"ann",total:null}\n{name:"bob",total:12.5}\n{name:"cy",total:1}\n{name:"di",total:null}\n',
  'select p.name, l.no from people p, lateral (select o.no from orders o where o.id = p.id order by o.total desc limit 1) l order by name':
    '{name:"bob",no:11}\n{name:"cy",no:12}\n',
  'with recursive c(id, name, depth) as (select id, name, 0 from people where boss is null union all select p.id, p.name, c.depth + 1 from people p join c on p.boss = c.id) select name, depth from c order by depth, name':
    '{name:"ann",depth:0}\n{name:"bob",depth:1}\n{name:"cy",depth:1}\n{name:"di",depth:2}\n',
  'select id from people except select id from orders order by id': '{id:1}\n{id:4}\n',
  'select id from people intersect select id from orders order by id': '{id:2}\n{id:3}\n',
  "select * from people where name ilike '_N%'": '{id:1,name:"ann",boss:null}\n',
  'from people | where boss==1 | select count(*) as n': '{n:2}\n',
  'select P.NAME, Total as t from people as p join orders o on p.ID = O.id where T > 4 order by T':
    '{NAME:"bob",t:5}\n{NAME:"bob",t:7.5}\n',
  'select Name, sum(TOTAL) over (order by NO) as s from people, orders where people.Id = Orders.iD order by NO limit 1':
    '{Name:"bob",s:5}\n',
  'select name, no from people, orders where people.id = orders.id and total > 2 order by no':
    '{name:"bob",no:10}\n{name:"bob",no:11}\n',
  "select name, no, total from people p join orders o on p.id = o.id where note = 'late'":
    '{name:"cy",no:12,total:1}\n',
  'select b.name as boss, count(*) as n from orders, people p, people b where orders.id = p.id and p.boss = b.id group by b.name':
    '{boss:"ann",n:3}\n',
  'select name from people where exists (select 1 from orders where orders.id = people.id and total > 6)':
    '{name:"bob"}\n',
  "select name from people p where exists (select * from orders o where o.id = p.id and name = 'cy')": '{name:"cy"}\n',
  'select name from people, (select id as who, sum(total) as paid from orders group by id) s where people.id = who and paid > 5':
    '{name:"bob"}\n',
  'select name from people p where not exists (select 1 from orders o where o.note = p.city) order by name':
    '{name:"ann"}\n{name:"bob"}\n{name:"cy"}\n{name:"di"}\n',
  'select no from orders o where exists (select 1 from people p where p.id = o.id and p.boss is not null) and not exists (select 1 from orders x where x.id = o.id and x.no > o.no) order by no':
    '{no:11}\n{no:12}\n',
  'select count(*) as n from people natural join orders': '{n:3}\n',
  'select count(*) as n, max(range) as m from range(5, 3000000, 2)': '{n:1499998,m:2999999}\n',
  'select g from floats where f > 5': '{g:1.}\n',
  'select f from floats where g > 5': '{f:1.}\n',
  'from floats | where g > 5': '',
  'show tables':
    '{name:"filed"}\n{name:"floats"}\n{name:"keyed"}\n{name:"narrow"}\n{name:"nested"}\n{name:"nullable"}\n{name:"orders"}\n{name:"people"}\n{name:"spans"}\n',
  'select column_name, column_type from (describe orders)':
    '{column_name:"no",column_type:"int64"}\n{column_name:"id",column_type:"int64"}\n{column_name:"total",column_type:"int64|float64"}\n{column_name:"note",column_type:"string"}\n',
  "select columns('n.*') from people where columns('^(id|name)$') is not null order by 1 limit 1": '{name:"ann"}\n',
  'select id from people union select 2::int32 order by id': '{id:1}\n{id:2}\n{id:3}\n{id:4}\n',
  'select name from people where id not in (select id from orders where total > 100) order by name limit 1':
    '{name:"ann"}\n',
  'select null in (select id from orders where total > 100) as a, 9 in (select id from orders) as b, 8 not in (select id from orders) as c':
    '{a:false,b:true,c:true}\n',
  'select substring(name from 1 for 2) as s from people order by s limit 1': '{s:"an"}\n',
  'select p.name, o.no from people p left join orders o on p.id = o.id where o.no is null order by p.name':
    '{name:"ann",no:null}\n{name:"di",no:null}\n',
  'select o.no, p.name from people p right join orders o on p.id = o.id and p.boss is not null order by 1':
    '{no:10,name:"bob"}\n{no:11,name:"bob"}\n{no:12,name:"cy"}\n{no:13,name:null}\n',
  'select id, p.name, o.no from people p full join orders o using (id) order by id, no':
    '{id:1,name:"ann",no:null}\n{id:2,name:"bob",no:10}\n{id:2,name:"bob",no:11}\n{id:3,name:"cy",no:12}\n{id:4,name:"di",no:null}\n{id:9,name:null,no:13}\n',
  'select p.name, b.name as boss from people p left join people b on p.boss = b.id order by 1':
    '{name:"ann",boss:null}\n{name:"bob",boss:"ann"}\n{name:"cy",boss:"ann"}\n{name:"di",boss:"cy"}\n',
  'select name from people semi join orders on people.id = orders.id order by name': '{name:"bob"}\n{name:"cy"}\n',
  'select id from people where city is null order by id limit 2': '{id:1}\n{id:2}\n',
  'select count(*) as n from people where city is not null or boss.x is null and id = 1': '{n:2}\n',
  "select r.name as n, r.IN.deep as d from nested where R.NAME = 'b'": '{n:"b",d:3}\n',
  'select distinct case when a > 11 then 11 else a end as x from narrow order by x': '{x:10}\n{x:11}\n',
  'select coalesce(a, 0.5) as x, count(*) as n from narrow group by x order by x limit 1': '{x:10.,n:1}\n',
  "select extract(minute from t) as m, extract('year' from t) as y, second(t) as s, date_part('epoch', t) as e from (select timestamp '1969-12-31 23:59:58.5' as t union all select null) order by m":
    '{m:59,y:1969,s:58,e:-1.5}\n{m:null,y:null,s:null,e:null}\n',
  'select name from people anti join orders using (id) order by name': '{name:"ann"}\n{name:"di"}\n',
  'select p.name, o.no from people p asof join orders o on p.id >= o.id order by 1':
    '{name:"bob",no:10}\n{name:"cy",no:12}\n{name:"di",no:12}\n',
  'select p.id, s.n from people p, (select count(*) n from orders o where o.id = p.id) s where n > 0 order by 1':
    '{id:2,n:2}\n{id:3,n:1}\n',
  'select name from people where (id, boss) in (select id, 1 from orders) order by 1': '{name:"bob"}\n{name:"cy"}\n',
  'select (0, 0) < any(select 1, 0) as a, (0, null) < any(select 1, null) as b, (null, 2) <> any(select 1, 2) as c, (1, 2) in (select 1, 2) as d':
    '{a:true,b:true,c:null,d:true}\n',
  'select * from orders order by 3 desc, 1 limit 1': '{no:11,id:2,total:7.5}\n',
  'select * exclude (note, total) from orders where no < 12 order by no': '{no:10,id:2}\n{no:11,id:2}\n',
  'select * replace (total * 2 as total) from orders where no = 10': '{no:10,id:2,total:10,note:null}\n',
  'select o.* rename (no as number) from orders o where no = 10': '{number:10,id:2,total:5,note:null}\n',
  'select distinct on (id) id, no from orders order by id, no desc': '{id:2,no:11}\n{id:3,no:12}\n{id:9,no:13}\n',
  'select unnest([1, 2]) as x, name from people where id = 1': '{x:1,name:"ann"}\n{x:2,name:"ann"}\n',
  'select p.name, t.x from people p left join unnest([p.boss]) as t(x) on true where p.id < 3 order by 1':
    '{name:"ann",x:null}\n{name:"bob",x:1}\n',
  'select name, array(select no from orders o where o.id = p.id order by no) as numbers from people p where id in (1, 2) order by 1':
    '{name:"ann",numbers:[]::[null]}\n{name:"bob",numbers:[10,11]}\n',
  'select no from orders order by no limit 50%': '{no:10}\n{no:11}\n',
  'select no from orders order by no limit (select 1) offset (select count(*) - 1 from orders)': '{no:13}\n',
  'with x as (from orders where total > 4) from x order by no': '{no:10,id:2,total:5}\n{no:11,id:2,total:7.5}\n',
  'select twice : total * 2, no from orders where twice > 10': '{twice:15.,no:11}\n',
  "select 'it''s' as a, 'a\\d' as b, e'x\\ty' as c": '{a:"it\'s",b:"a\\\\d",c:"x\\ty"}\n',
  "select t.a, u.b from (values (1, 'a'), (null, 'b')) t(a, x) join (values (1.0, 2), (null, 3)) u(k, b) on t.a = u.k":
    '{a:1,b:2}\n',
  'select * from (select id from people) x(who) except select id from orders order by 1': '{who:1}\n{who:4}\n',
  'table orders':
    '{no:10,id:2,total:5}\n{no:11,id:2,total:7.5}\n{no:12,id:3,total:1,note:"late"}\n{no:13,id:9,total:2}\n',
  // What may be null is of its own type: pools of Parquet files have little else.
  'select a from nullable union select 1 order by a': '{a:1::(int64|null)}\n{a:null::(int64|null)}\n',
  "select s from nullable except select 'p'": '{s:null::(string|null)}\n',
  'select a from nullable intersect select 1': '{a:1::(int64|null)}\n',
  "select s, count(*) as n from (select s from nullable union all select 'p') group by s order by s":
    '{s:"p",n:2}\n{s:null,n:1}\n',
  'select s, count(*) as n from orders left join nullable on no = a group by s': '{s:null,n:4}\n',
  'select distinct s from (select s from people left join nullable on id = a) order by s':
    '{s:"p"::(string|null)}\n{s:null}\n',
  'with recursive r(n) as (select a from nullable where a = 1 union select 1 from r) select n from r':
    '{n:1::(int64|null)}\n',
  'select sum(total) as total from orders where total > 4': '{total:12.5}\n',
  'select count(*) as id from orders where id = 2': '{id:2}\n',
  'select id % 2 as odd, sum(odd) as n from orders group by odd order by odd': '{odd:0,n:0}\n{odd:1,n:2}\n',
  "select current_date > date '2020-01-01' as a, current_timestamp > timestamp '2020-01-01' as b": '{a:true,b:true}\n',
  "select position('n' in 'ünï') as n, concat(2.0::double, null, 'x') as c, 2.0::double || 'x' as d":
    '{n:2,c:"2.0x",d:"2.0x"}\n',
};

describe('over pools', () => {
  test.each(
    Object.entries({
      ...cases,
      ...Object.fromEntries(Object.entries(filed).map(([query, rows]) => [query, `${rows}\n`])),
    }),
  )('%s', async (query, rows) => {
    expect(await service.query(query)).toBe(rows);
  });

  test('a name that no row has is null in all, and the answer says so', async () => {
    const ask = (query: string, format = 'x-ndjson', parameters = ''): ReturnType<TestService['ask']> =>
      service.ask('POST', `/query${parameters}`, {
        headers: { ...json, accept: `application/${format}` },
        body: JSON.stringify({ query }),
      });
    const warned = await ask('select nme, id from people where id = 1');
    expect([warned.headers.get('warning'), warned.body]).toEqual([
      '299 - "no row has a column \\"nme\\" in people: it is null in all; did you mean \\"name\\"?"',
      '{"nme":null,"id":1}\n',
    ]);
    expect((await ask('select x.nme from people x where id = 1', 'x-jsup', '?ctrl=T')).body).toMatch(
      /^\{"type":"QueryWarning","value":\{"warning":"no row has a column \\"nme\\" in x: /,
    );
    expect((await ask('select name, city from people')).headers.get('warning')).toBeNull();
  });
  test('a key of times is found, changed and deleted by a text, and a key of texts by a number', async () => {
    await load(
      'moments',
      't',
      '{t:2024-01-01T00:00:00Z,n:1} {t:2024-02-01T00:00:00Z,n:2} {t:2024-03-01T00:00:00Z,n:3}',
    );
    await load('digits', 'd', '{d:"1",n:1} {d:"10",n:2} {d:"9",n:3}');
    expect(await service.query("select n from moments where t > '2024-01-15' order by n")).toBe('{n:2}\n{n:3}\n');
    expect(await service.query("select n from moments where t in ('2024-01-01', '2024-03-01') order by n")).toBe(
      '{n:1}\n{n:3}\n',
    );
    expect(await service.query('select n from digits where d > 1 order by n')).toBe('{n:2}\n{n:3}\n');
    await service.query("update moments set n = 20 where t = '2024-02-01'");
    await service.query("delete from moments where t < '2024-02-01'");
    await service.query('delete from digits where d < 10');
    expect(await service.query('select n from moments order by n')).toBe('{n:3}\n{n:20}\n');
    expect(await service.query('select n from digits')).toBe('{n:2}\n');
  });
  test('a recursion without an end is an error that names the option', async () => {
    const { body } = await service.ask('POST', '/query', {
      headers: { ...json, accept: 'application/x-ndjson' },
      body: JSON.stringify({
        query: 'with recursive r(n) as (select 1 union all select n from r) select count(*) from r',
      }),
    });
    expect(body).toContain('with recursive r did not finish within 100 rounds (option -recursion.rounds.max)');
  });
  test('so is a duration beside a number, whatever bounds say of the column', async () => {
    const { status, body } = await service.ask('POST', '/query', { body: '{query:"select k from spans where d = 5"}' });
    expect([status, body]).toEqual([400, expect.stringContaining('a duration beside a number cannot be cast')]);
  });
  test('so are too many rows', async () => {
    const { body } = await service.ask('POST', '/query', {
      headers: json,
      body: JSON.stringify({
        query:
          'with recursive r(n) as (select 1 union all select r.n from r cross join (values (1),(2)) v(x)) select count(*) from r',
      }),
    });
    expect(body).toContain('with recursive r gives more than 1000 rows (option -recursion.rows.max)');
  });
  const faults: Readonly<Record<string, string>> = {
    'select lead("offest" := 2, col := id) over (order by id) from people':
      'lead has no argument "offest" at line 1, column 13:\nselect lead("offest" := 2, col := id) over (order by id) from people\n            ~~~~~~~~~~~~~',
    'select id from people p join orders o on p.id = o.id':
      'ambiguous unqualified column "id" at line 1, column 8:\nselect id from people p join orders o on p.id = o.id\n       ~~',
    'select nme from people p join orders o on p.id = o.id':
      '"nme" is not a column or table at line 1, column 8:\nselect nme from people p join orders o on p.id = o.id\n       ~~~',
    'select p.nme from people p, orders o where p.id = o.id':
      'column "nme" does not exist in table "p" at line 1, column 8:\nselect p.nme from people p, orders o where p.id = o.id\n       ~~~~~',
    'select orders.id from orders o':
      '"orders" is not a column or table at line 1, column 8:\nselect orders.id from orders o\n       ~~~~~~~~~',
    'select no from orders where id in (select * from orders)':
      'the subquery has 4 columns where one value is wanted: select one at line 1, column 36:\nselect no from orders where id in (select * from orders)\n                                   ~~~~~~~~~~~~~~~~~~~~',
    'select sum(t) from filed':
      'sum: numbers or durations are needed, and this is text at line 1, column 8:\nselect sum(t) from filed\n       ~~~~~~',
    'select no from orders where no = $1':
      'a parameter is not supported at line 1, column 34:\nselect no from orders where no = $1\n                                 ~~',
    'select name from people where exists (select 1 from orders where ide = 1)':
      '"ide" is not a column or table at line 1, column 66:\nselect name from people where exists (select 1 from orders where ide = 1)\n                                                                 ~~~',
  };
  test.each([
    "timestamp '2020-01-02' - timestamp '2020-01-01' > 365",
    "(timestamp '2020-01-02' - timestamp '2020-01-01') + 1 is null",
  ])('a duration is no number: %s', async (test) => {
    const { body } = await service.ask('POST', '/query', {
      headers: json,
      body: JSON.stringify({ query: `select no from orders where ${test}` }),
    });
    expect(body).toContain("write date_diff('day', a, b) for days");
  });
  test.each([
    ['selct * from orders', 'did you mean "select" for selct?'],
    ['select no from orders; select 1', 'a semicolon ends the query: send what follows as a query of its own'],
    ['show databases', 'show tables lists the pools, describe POOL their columns'],
    ['select * from information_schema.tables', 'show tables lists the pools, describe POOL their columns'],
    ['select 1 from dual', 'leave FROM out: select 1'],
  ])('%s has a hint', async (query, hint) => {
    const { status, body } = await service.ask('POST', '/query', { headers: json, body: JSON.stringify({ query }) });
    expect([status, (JSON.parse(body) as { hint?: string }).hint]).toEqual([
      expect.toSatisfy((n: number) => n >= 400),
      hint,
    ]);
  });
  test.each([
    ["select i from filed where t > 'noon'", 'cannot be cast to time'],
    ['select sum(m) as x from filed', 'an interval with months has no sum'],
  ])('%s says what is wrong', async (query, text) => {
    const { body } = await service.ask('POST', '/query', { headers: json, body: JSON.stringify({ query }) });
    expect(body).toContain(text);
  });
  test('a subquery of several rows has no value', async () => {
    const { body } = await service.ask('POST', '/query', {
      headers: { ...json, accept: 'application/x-ndjson' },
      body: JSON.stringify({ query: 'select (select no from orders) as no' }),
    });
    expect(body).toContain(
      'query: scalar subquery returns more than one row: add a condition, an aggregate or limit 1, or write array(select ...) for all of them',
    );
  });
  test.each(Object.entries(faults))('%s names the column', async (query, error) => {
    const { status, body } = await service.ask('POST', '/query', { headers: json, body: JSON.stringify({ query }) });
    expect([status, (JSON.parse(body) as { error: string }).error]).toEqual([400, error]);
  });
});

describe('a view', () => {
  const sup = { ...json, accept: 'application/x-sup' };
  const query = async (text: string): Promise<string> =>
    (await service.ask('POST', '/query', { headers: sup, body: JSON.stringify({ query: text }) })).body.trim();
  const errorOf = async (text: string): Promise<string> => (JSON.parse(await query(text)) as { error: string }).error;
  const made = (name: string, change: string): unknown =>
    expect.stringMatching(new RegExp(`^\\{view:"${name}",change:"${change}",version:0x[0-9a-f]{40}\\}$`));
  afterAll(async () => {
    for (const name of ['big', 'named', 'top', 'base', 'second', 'fresh', 'counted', 'later', 'little'])
      await query(`drop view if exists ${name}`);
  });

  test('is read as its query, by pipes and by SELECT, in joins and subqueries', async () => {
    expect(await query('create view big as select no, id, total from orders where total > 4')).toEqual(
      made('big', 'created'),
    );
    const answers = {
      'from big': '{no:10,id:2,total:5}\n{no:11,id:2,total:7.5}',
      'from big | where total > 6 | cut no': '{no:11}',
      'select p.name, b.total from people p join Big b using (id) order by 2':
        '{name:"bob",total:5}\n{name:"bob",total:7.5}',
      'select name from people where id in (select id from big)': '{name:"bob"}',
      'select * from big limit 0': '',
      'select column_name, column_type from (describe big)':
        '{column_name:"no",column_type:"int64"}\n{column_name:"id",column_type:"int64"}\n{column_name:"total",column_type:"int64|float64"}',
      "select name from (show tables) where name in ('big', 'orders')": '{name:"big"}\n{name:"orders"}',
      'from :views | cut name, columns, query':
        '{name:"big",columns:null,query:"select no, id, total from orders where total > 4"}',
    };
    for (const [text, answer] of Object.entries(answers)) expect([text, await query(text)]).toEqual([text, answer]);
    expect(await errorOf('select nme from big')).toContain('"nme" is not a column or table');
    // Conditions go through it to the scan.
    expect(await query('explain select no from big where no > 10')).toMatch(
      /scan orders .*prune \(total>4 and no>10\)/,
    );
  });

  test('names its columns, the first ones where it names fewer', async () => {
    expect(await query('create view named (n, "who is it") as select no, id, total from orders')).toEqual(
      made('named', 'created'),
    );
    expect(await query('select * from named where n = 10')).toBe('{n:10,"who is it":2,total:5}');
    expect(await query('from named | where n == 10')).toBe('{n:10,"who is it":2,total:5}');
    expect(await errorOf('create view fresh (a, b, c) as select 1, 2')).toContain('cannot apply 3 column aliases');
  });

  test('has versions, each of which stays readable; who asks for none reads the newest', async () => {
    const id = async (text: string): Promise<string> => /0x[0-9a-f]{40}/.exec(await query(text))![0];
    const first = await id('create view top as select max(total) as t from orders');
    expect(await errorOf('create view top as select 1 as t')).toBe('top: view already exists');
    expect(await query('create view if not exists top as select 1 as t')).toBe(
      `{view:"top",change:"unchanged",version:${first}}`,
    );
    const second = await id('create or replace view top as from orders | sort -r total | head 1 | cut t:=no');
    expect([await query('from top'), await query(`select * from top@${first}`)]).toEqual(['{t:11}', '{t:7.5}']);
    expect(await query('from top:log | put version:=version::bytes | cut version, query')).toBe(
      `{version:${second},query:"from orders | sort -r total | head 1 | cut t:=no"}\n{version:${first},query:"select max(total) as t from orders"}`,
    );
    expect(await errorOf('from top@main')).toContain('top: view has no version main');
    // A later version may read an earlier one.
    await query(`create or replace view top as select t, 1 as more from top@${first}`);
    expect(await query('from top')).toBe('{t:7.5,more:1}');
    expect(await query('drop view top')).toEqual(made('top', 'dropped'));
    expect([await errorOf('drop view top'), await query('drop view if exists top')]).toEqual([
      'top: view not found',
      '{view:"top",change:"unchanged",version:null}',
    ]);
  });

  test('gets another name with all its versions, and another text where it is there', async () => {
    const id = async (text: string): Promise<string> => /0x[0-9a-f]{40}/.exec(await query(text))![0];
    const first = await id('create view top as values 1');
    expect(await query('alter view top (n) as select 2')).toEqual(made('top', 'replaced'));
    expect(await query('ALTER VIEW top RENAME TO later')).toEqual(made('later', 'renamed'));
    expect(await query('from later')).toBe('{n:2}');
    expect(await query(`from later@${first}`)).toBe('1');
    expect(await query('from later:log | values {name, query}')).toBe(
      '{name:"later",query:"select 2"}\n{name:"later",query:"select 2"}\n{name:"later",query:"values 1"}',
    );
    expect(await errorOf('from top')).toContain('top: pool not found');
    // Its name is free, and the new one is not.
    expect(await query('create view top as values 3')).toEqual(made('top', 'created'));
    for (const [text, error] of [
      ['alter view top rename to later', 'later: view already exists'],
      ['alter view top rename to top', 'top: view already exists'],
      ['alter view top rename to orders', 'orders: pool already exists'],
      ['alter view top rename to HEAD', 'view cannot be named "HEAD"'],
      ['alter view top rename to ""', 'a view needs a name'],
      ['alter view nowhere rename to there', 'nowhere: view not found'],
      ['alter view nowhere as values 1', 'nowhere: view not found'],
      ['alter view orders rename to there', 'orders: view not found'],
      ['alter view top as select * from nowhere', 'nowhere: pool not found'],
      ['alter view top as from top', 'view "top" reads itself'],
    ])
      expect([text, await errorOf(text!)]).toEqual([text, expect.stringContaining(error!)]);
    expect(await query('alter view if exists nowhere rename to there')).toBe(
      '{view:"nowhere",change:"unchanged",version:null}',
    );
    expect(await query('from top')).toBe('3');
    expect(await query('drop view later')).toEqual(made('later', 'dropped'));
    expect(await query('drop view top')).toEqual(made('top', 'dropped'));
  });

  test('changes under its own version alone (view-moved)', async () => {
    const { version } = JSON.parse(
      (await service.ask('POST', '/view', { headers: json, body: '{"name":"top","query":"values 1"}' })).body,
    ) as { readonly version: string };
    await query('create or replace view top as values 2');
    const { status, body } = await service.ask('DELETE', '/view/top', {
      headers: { ...json, 'if-match': `"${version}"` },
    });
    expect([status, body]).toEqual([
      412,
      expect.stringMatching(/the view top is at version .*"version":"0x[0-9a-f]{40}"/),
    ]);
    await query('drop view top');
  });

  test('may read views, and never itself', async () => {
    await query('create view base as select no as n from orders');
    await query('create view second as from base | put m:=n+1');
    expect(await query('select m from second order by m limit 1')).toBe('{m:11}');
    expect(await errorOf('create or replace view base as select m as n from second')).toContain(
      'view "base" reads itself: base -> second -> base at line 1, column 51',
    );
    expect(await errorOf('create view fresh as select * from fresh')).toContain('fresh: pool not found');
  });

  test('that does not compile any more says where in its text', async () => {
    await load('passing', 'k', '{k:1}');
    await query('create view base as select 1 as n');
    await query('create or replace view base as\n  select k as n\n  from passing');
    expect(await query('from second')).toBe('{n:1,m:2}');
    const { status } = await service.ask('DELETE', '/pool/passing', { headers: json });
    expect(status).toBe(204);
    expect(await errorOf('values 1 | fork (from second) (pass)')).toBe(
      'view "second": view "base": passing: pool not found (line 2, column 8 of its text) at line 1, column 23:\nvalues 1 | fork (from second) (pass)\n                      ~~~~~~',
    );
    await query('create or replace view base as select no as n from orders');
  });

  test('is looked at before it is kept, and cannot load', async () => {
    for (const [text, error] of [
      [
        'create view fresh as select nope from orders o, people p',
        '"nope" is not a column or table at line 1, column 29',
      ],
      ['create view fresh as\nselect 1 +', 'parse error at line 2, column 11'],
      ['create view fresh as from orders | load orders', 'a view cannot load'],
      ['create or replace view if not exists fresh as select 1', 'OR REPLACE or IF NOT EXISTS, not both'],
      ['values {no:1} | load big', '"big" is a view: load into one of the pools that it reads'],
      ['from big:objects', '"big" is a view: its metadata are big:log'],
      ['create view orders as select 1', 'orders: pool already exists'],
      ['create view HEAD as select 1', 'view cannot be named "HEAD"'],
    ])
      expect([text, await errorOf(text!)]).toEqual([text, expect.stringContaining(error!)]);
    expect(await query('from :views | name == "fresh"')).toBe('');
    const taken = await service.ask('POST', '/pool', { headers: json, body: '{"name":"big"}' });
    expect([taken.status, taken.body]).toEqual([409, expect.stringContaining('big: view already exists')]);
    const renamed = await service.ask('PUT', '/pool/orders', { headers: json, body: '{"name":"big"}' });
    expect(renamed.status).toBe(409);
  });

  test('means the same for everybody: neither head nor index base of a request change it', async () => {
    await query('create view counted as select [no, id][1] as first from orders');
    const ask = async (body: object): Promise<string> =>
      (await service.ask('POST', '/query', { headers: sup, body: JSON.stringify(body) })).body.trim();
    expect(await ask({ query: 'select min(first) as m from counted', index_base: 0 })).toBe('{m:10}');
    expect(await ask({ query: 'select min(first) as m from counted', head: { branch: 'nope' } })).toBe('{m:10}');
    expect(await ask({ query: 'count()', head: { pool: 'counted', branch: 'main' } })).toBe('4');
    expect(await ask({ head: { pool: 'counted' }, query: 'head 1' })).toBe('{first:10}');
  });

  test('is made and dropped by the examples of the manual', async () => {
    const rows = sqlTable['Statements']!.filter(({ name }) => name.endsWith(' view'));
    expect(rows.map(({ name }) => name)).toEqual(['create view', 'alter view', 'drop view']);
    const changes: string[] = [];
    for (const { query: text } of rows.flatMap(({ examples }) => examples))
      changes.push(/change:"(\w+)"/.exec(await query(text))![1]!);
    expect(changes).toEqual(['created', 'renamed', 'unchanged']);
  });

  test('tells of its sources, and of its changes by events', async () => {
    const { body } = await service.ask('POST', '/query/describe', {
      headers: json,
      body: '{"query":"from big | count()"}',
    });
    expect(body).toContain('"name":"orders"');
    const feed = await clientOf(service.url).events();
    await query('create view fresh as values 1');
    await query('create or replace view fresh as values 2');
    await query('drop view fresh');
    const events = await feed.until(3);
    feed.close();
    const view = { view_id: expect.stringMatching(/^0x/), view: 'fresh' };
    expect(events.map(({ kind, data }) => [kind, data])).toEqual([
      ['view-new', { version_id: expect.stringMatching(/^0x/), ...view }],
      ['view-update', { version_id: expect.stringMatching(/^0x/), ...view }],
      ['view-delete', view],
    ]);
  });
});
