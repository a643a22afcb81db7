/**
 * Types, casts, dates and intervals of SQL, as DuckDB and PostgreSQL have them; what cannot be answered is an error
 * that says what to write.
 */
import { describe, expect, test } from 'vitest';
import { CompileError } from '../../../src/query/parse/error.ts';
import { runQuery } from '../../support/queries/case.ts';

const row = async (select: string, input?: string): Promise<string> =>
  (await runQuery(`select ${select} as x`, input)).trim();
const fails = async (select: string, input?: string): Promise<string> => {
  try {
    return `gave ${await row(select, input)}`;
  } catch (error) {
    const hints = error instanceof CompileError ? error.errors.map((e) => e.hint ?? '') : [];
    return [String(error), ...hints].join(' ');
  }
};

describe('names of types', () => {
  test.each([
    ["'1.5'::double", '{x:1.5}'],
    ["CAST('1.5' AS DOUBLE PRECISION)", '{x:1.5}'],
    ["'1.5'::Float8", '{x:1.5}'],
    ["'7'::int8", '{x:7}'],
    ["'7'::int2", '{x:7::int16}'],
    ["'7'::utinyint", '{x:7::uint8}'],
    ["'7'::hugeint", '{x:7}'],
    [
      "'-170141183460469231731687303715884105728'::hugeint",
      '{x:"-170141183460469231731687303715884105728"::=sql_decimal}',
    ],
    [
      "'340282366920938463463374607431768211455'::uhugeint",
      '{x:"340282366920938463463374607431768211455"::=sql_decimal}',
    ],
    ["TRY_CAST('170141183460469231731687303715884105728' AS hugeint)", '{x:null}'],
    ["'100000000000000000000'::hugeint::varchar", '{x:"100000000000000000000"}'],
    ['9223372036854775807::hugeint + 1', '{x:"9223372036854775808"::=sql_decimal}'],
    [
      '9223372036854775807::hugeint * 9223372036854775807',
      '{x:"85070591730234615847396907784232501249"::=sql_decimal}',
    ],
    ["'100000000000000000000'::hugeint - '99999999999999999999'::hugeint", '{x:1}'],
    ["'100000000000000000000'::hugeint // 3", '{x:"33333333333333333333"::=sql_decimal}'],
    ["'-100000000000000000001'::hugeint / 7", '{x:"-14285714285714285714"::=sql_decimal}'],
    ["'100000000000000000000'::hugeint % 7", '{x:2}'],
    ["TRY('100000000000000000000'::hugeint // 0)", '{x:null}'],
    ["'100000000000000000000'::hugeint > 9223372036854775807", '{x:true}'],
    ['5::hugeint & 3', '{x:1}'],
    ['1e30::double::hugeint', '{x:"1000000000000000019884624838656"::=sql_decimal}'],
    ["'a'::varchar(10)", '{x:"a"}'],
    ["'a'::character varying", '{x:"a"}'],
    ["'t'::logical", '{x:true}'],
    ["'a'::bytea", '{x:0x61}'],
    ["$$a 'b'$$", `{x:"a 'b'"}`],
    ['$t$ $$ $t$', '{x:" $$ "}'],
    ["$$[a, 'b c']$$::text[]", '{x:["a","b c"]}'],
    ["'1992-1-2'::date", '{x:1992-01-02T00:00:00Z}'],
    ["'1992-01-02 03:04:05.678'::timestamp", '{x:1992-01-02T03:04:05.678Z}'],
    ["'1992-01-02 03:04:05+02'::timestamp with time zone", '{x:1992-01-02T01:04:05Z}'],
    ["'1992-01-02 03:04:05.678'::timestamp_s", '{x:1992-01-02T03:04:06Z}'],
    ["'1992-01-02 03:04'::datetime", '{x:1992-01-02T03:04:00Z}'],
    ["'{A0EEBC999C0B4EF8BB6D6BB9BD380A11}'::uuid", '{x:"a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11"}'],
    ["'1 day 02:00:00'::interval", '{x:1d2h}'],
    ["['1','2']::int[]", '{x:[1::int32,2::int32]}'],
    ['[1,2]::varchar[2]', '{x:["1","2"]}'],
    ["[['1']]::bigint[][]", '{x:[[1]]}'],
    ["'[1, null, 3]'::bigint[]", '{x:[1,null,3]}'],
    [String.raw`$$["a"b, c"d", , it\'s, x\y, "null"]$$::text[]`, String.raw`{x:["ab","cd","","it's","x\\y","null"]}`],
    ["'(1, a,)'::struct(x bigint, y text)", '{x:{x:1,y:"a"}}'],
    [`'{"a" : 1}'::json`, '{x:"{\\"a\\" : 1}"}'],
    ['{a:[1,null]}::json', '{x:"{\\"a\\":[1,null]}"}'],
    ["(1,'x, y')::varchar", `{x:"(1, 'x, y')"}`],
    ["try_cast(map(['1','01'],[1,2]) as map(int,int))", '{x:null}'],
    ['\'[[a, "b, c"], []]\'::text[][]', '{x:[["a","b, c"],[]::[string]]}'],
    ["'{a: 1, b: [x]}'::struct(a bigint, b text[], c text)", '{x:{a:1,b:["x"],c:null}}'],
    ["'{a=1, b=2}'::map(text, bigint)", '{x:|{"a":1,"b":2}|}'],
    ["try_cast('[1' as bigint[])", '{x:null}'],
    ["{a:'1',b:2}::struct(a int, b text)", '{x:{a:1::int32,b:"2"}}'],
    ["(1,'x')::struct(a bigint, b text)", '{x:{a:1,b:"x"}}'],
    ["|{'a':'1'}|::map(varchar, bigint)", '{x:|{"a":1}|}'],
    ["{a:'1',b:2}::map(varchar, bigint)", '{x:|{"a":1,"b":2}|}'],
    ["DOUBLE '1.5'", '{x:1.5}'],
    ["INTEGER '3'", '{x:3::int32}'],
    ["DATE '1992-01-01'", '{x:1992-01-01T00:00:00Z}'],
    ["DECIMAL(4,1) '2.25'", '{x:2.3}'],
    ['ARRAY[1,2]', '{x:[1,2]}'],
    ["TRY_CAST('a' AS INT)", '{x:null}'],
    ["TRY_CAST('2' AS BIGINT)", '{x:2}'],
    ["TRY(CAST('a' AS INT) + 1)", '{x:null}'],
    ['18446744073709551615::ubigint', '{x:18446744073709551615::uint64}'],
    ['100000000000000000000::double', '{x:1e+20}'],
  ])('%s', async (select, output) => {
    expect(await row(select)).toBe(output);
  });

  test('a field may be called as a type is', async () => {
    expect(
      await runQuery(
        'select double, date, "interval", array from (select 1 as double, 2 as date, 3 as "interval", 4 as array) t',
        undefined,
      ),
    ).toBe('{double:1,date:2,interval:3,array:4}\n');
    expect(await runQuery('values double+date', '{double:1,date:2}')).toBe('3\n');
  });
  test.each([
    ["'1'::intt", 'no such type name: "intt"'],
    ["'12:00'::timetz", 'a time of day has no zone'],
    ["'1'::bits", 'no such type name: "bits"'],
  ])('%s is no type', async (select, message) => {
    expect(await fails(select)).toContain(message);
  });
});

describe('decimals', () => {
  test.each([
    ['0.1 + 0.2 = 0.3', '{x:true}'],
    ['0.06 + 0.01', '{x:0.07}'],
    ['1.1 * 1.1', '{x:1.21}'],
    ['0.3 % 0.1', '{x:0.}'],
    ['1e-1 + 2e-1', '{x:0.30000000000000004}'],
    ['0.1::double + 0.2', '{x:0.30000000000000004}'],
    ['(1.10::decimal(5,2) + 1)::varchar', '{x:"2.10"}'],
    ['-(1.10 + 0.2) = -1.3', '{x:true}'],
    ['case when true then 0.1 else 1 end + 0.2', '{x:0.3}'],
    ['coalesce(null, 0.1) + 0.2', '{x:0.3}'],
    ["1.50 || 'x'", '{x:"1.50x"}'],
    ["concat(1.50::decimal(4,2), '-', DATE '2020-01-01')", '{x:"1.50-2020-01-01"}'],
    ["format('{} {}', DATE '2020-01-01', TIMESTAMP '2020-01-01 10:00:00')", '{x:"2020-01-01 2020-01-01 10:00:00"}'],
    ["format('{:.2f}', 2.5)", '{x:"2.50"}'],
    ['123456789012345.6 * 10', '{x:1234567890123456.}'],
    ['1234567890.123456789::varchar', '{x:"1234567890.123456789"}'],
    ['3.14159265358979323846::double', '{x:3.141592653589793}'],
    ['1234567890.1234567890::decimal(20,2)', '{x:1.23456789012e+09}'],
    ['123456789.125 * 1000000.25', '{x:"123456819989197.28125"::=sql_decimal}'],
  ])('%s', async (select, output) => {
    expect(await row(select)).toBe(output);
  });
  test.each([
    [
      'select sum(x) as s, avg(x) as m, sum(x) + sum(x) = 1.2 as b, sum(distinct x)::varchar as t',
      '{s:0.6,m:0.2,b:true,t:"0.60"}',
    ],
    ['select sum(case when x > 0.1 then x else 0 end) as s', '{s:0.5}'],
    ['select sum(x + y) as s from (select x, x * 2 as y', '{s:1.8}'],
    ['select max(s) as s from (select sum(x) over (order by x) as s', '{s:0.6}'],
  ])('%s', async (select, output) => {
    const rows = 'from (values (0.1), (0.2), (0.30), (null)) t(x)';
    expect(await runQuery(select.includes(' from ') ? `${select} ${rows}) u` : `${select} ${rows}`, undefined)).toBe(
      `${output}\n`,
    );
  });

  // What no float64 gives back.
  test.each([
    ['1234567890123456.78', '1234567890123456.78'],
    ['-1234567890123456.78 + 0.01', '-1234567890123456.77'],
    ['1234567890123456.78 - 1234567890123456.77', '0.01'],
    ['1234567890123456.78 * 100', '123456789012345678.00'],
    ['12345678901234.5 - 12345678901234.1', '0.4'],
    ['1234567890123456.78 % 7', '0.78'],
    ['999999999999999999::decimal(18,0) + 1', '1000000000000000000'],
    ['round(1234567890123456.785, 2)', '1234567890123456.79'],
    ['greatest(1234567890123456.78, 1234567890123456.79, 5)', '1234567890123456.79'],
    ["'1234567890123456.785'::decimal(18,2)", '1234567890123456.79'],
    ["try_cast('12345678901234567.85' as decimal(18,2))", 'null'],
    ["round('0.5'::decimal(38,38), 1)", '0.5'],
    ["trunc('0.55'::decimal(38,38), 1)", '0.5'],
    ["round('0.000005'::decimal(38,38), 1)", '0.0'],
    ["'1.1'::decimal(38,19) * '1.1'::decimal(38,20) = 1.21", 'true'],
    ["'1.1'::decimal(38,20) * '1.1'::decimal(38,20) = 1.21", 'true'],
    ['(1234567890123456.7)::decimal(18,2)::varchar', '1234567890123456.70'],
    ['1234567890123456.5::bigint', '1234567890123457'],
    ['1234567890123456.78 = 1234567890123456.77', 'false'],
    ['1234567890123456.78 > 1234567890123456.77', 'true'],
    ['1234567890123456.78 in (1, 1234567890123456.77)', 'false'],
    ["1234567890123456.78 = '1234567890123456.780'", 'true'],
    ['123456789012345678::decimal(18,0) = 123456789012345677', 'false'],
  ])('%s keeps its digits', async (select, output) => {
    expect(await runQuery(`select (${select})::varchar as x`, undefined)).toBe(
      output === 'null' ? '{x:null::(string|null)}\n' : `{x:"${output}"}\n`,
    );
  });
  test.each([
    ['select sum(x)::varchar as x from t', '"3703703670370370.49"'],
    ['select sum(x * 100000000)::varchar as x from t', '"370370367037037049000000.00"'],
    ['select sum(distinct x * 100000000)::varchar as x from t', '"246913578024691371000000.00"'],
    [
      "select string_agg(x::varchar, ' ' order by x desc) as x from t",
      '"1234567890123456.79 1234567890123456.78 1234567890123456.78 0.14"',
    ],
    [
      'select [count(distinct x)::varchar, min(x)::varchar, max(x)::varchar] as x from t',
      '["3","0.14","1234567890123456.79"]',
    ],
    ['select count(*) as x from t a join t b on a.x = b.x', '6'],
    ['select count(*) as x from (select x from t union select 1234567890123456.790)', '4'],
    ['select count(*) as x from t where x in (select max(x) from t)', '1'],
    ['select max(s)::varchar as x from (select sum(x) over (order by x) as s from t)', '"3703703670370370.49"'],
    [
      'select min(s)::varchar as x from (select max(x) over (order by x rows 1 preceding) as s from t where x > 1)',
      '"1234567890123456.78"',
    ],
    [
      "select string_agg(floor(-x)::varchar || ' ' || round(abs(-x), 1)::varchar, ',') as x from t where x > 1234567890123456.785",
      '"-1234567890123457 1234567890123456.8"',
    ],
    [
      'with recursive r(x, n) as (select 1234567890123456.78, 1 union all select x + 0.01, n + 1 from r where n < 2) select max(x)::varchar as x from r',
      '"1234567890123456.79"',
    ],
  ])('of a column: %s', async (select, output) => {
    const rows = '(values (1234567890123456.78), (0.14), (1234567890123456.79), (null), (1234567890123456.78)) v(x)';
    const query = select.startsWith('with') ? select : `with t as (from ${rows}) ${select}`;
    expect(await runQuery(query, undefined)).toBe(`{x:${output}}\n`);
  });
  test.each([
    [
      'sum(x) from (values (9999999999999999999999999999999999999.5), (9999999999999999999999999999999999999.5)) t(x)',
      'overflows decimal',
    ],
    ['9999999999999999999999999999999999999.0 * 100.0', 'overflows decimal(38,2)'],
  ])('%s is an error', async (select, message) => {
    await expect(runQuery(`select ${select}`, undefined)).rejects.toThrow(message);
  });

  // Floats are just below some halves that decimals are.
  test.each([
    [
      '[round(1.005,2), round(0.285,2), round(1.255,2), round(-1.005,2), round(155.5,-1), round(1.25,5)]',
      '[1.01,0.29,1.26,-1.01,160.,1.25]',
    ],
    ['[trunc(1.15,2), trunc(-1.159,2), trunc(29.0*0.01,2)]', '[1.15,-1.15,0.29]'],
    ['round(0.14,1) + 0.2 = 0.3', 'true'],
    ['floor(2.55) + 0.1', '2.1'],
    ['round(1.005::double,2)', '1.'],
    ['round(1.125,2)::varchar', '"1.13"'],
    ['mod(1.0, 0.1)', '0.'],
    ['mod(-5, 3)', '-2'],
    ['subtract(0.3, 0.1)', '0.2'],
    ['0.3 = 0.1 + (select 0.2)', 'true'],
    ['0.1 + (select max(b) from (values (0.2)) t(b))', '0.3'],
    ['[0.1,0.2][1] + 0.2', '0.3'],
    ['unnest([0.1]) + 0.2', '0.3'],
  ])('%s is exact', async (select, output) => {
    expect(await row(select)).toBe(`{x:${output}}`);
  });

  // What gives values of its argument gives its type.
  const cents = 'from (values (0.7), (0.1)) t(a)';
  const ordered = `${cents} window w as (order by a)`;
  test.each([
    [`select round(a * 0.15, 2) as s ${cents}`, '{s:0.11}\n{s:0.02}'],
    [`select sum(round(a * 0.15, 2)) + 0.07 as s ${cents}`, '{s:0.2}'],
    ['select round(a, n) as s from (values (1.005,2), (12.25,-1), (1.25,null)) t(a, n)', '{s:1.01}\n{s:10.}\n{s:null}'],
    ['select round(sum(a) over (order by a), 2) as s from (values (1.005), (0.1)) t(a)', '{s:0.1}\n{s:1.11}'],
    [
      `select max(a)+0.1 as x, min(a)+0.2 as y, max_by(a,a)+0.1 as z, any_value(a)+0.1 as v, first(a order by a desc)+0.1 as u, list(a)[2]+0.2 as l, mode(a)+0.1 as m ${cents}`,
      '{x:0.8,y:0.3,z:0.8,v:0.8,u:0.8,l:0.3,m:0.8}',
    ],
    [
      `select lag(a) over w + 0.2 as a, first_value(a) over w + 0.2 as c, nth_value(a,1) over w + 0.2 as e, max(a) over w + 0.1 as g, lag(a, 1, 0) over w + 0.2 as h ${ordered}`,
      '{a:null,c:0.3,e:0.3,g:0.2,h:0.2}\n{a:0.3,c:0.3,e:0.3,g:0.8,h:0.3}',
    ],
    [`select x + 0.1 as y from (select max(a) as x ${cents}) u`, '{y:0.8}'],
    ['select x + 0.2 as y from (select unnest([0.1]) as x) u', '{y:0.3}'],
    ['select x + 0.2 as y from unnest([0.1]) u(x)', '{y:0.3}'],
    [`select a + (select max(b) from (values (0.1)) u(b) where b <= t.a) as x ${cents}`, '{x:0.8}\n{x:0.2}'],
    [
      `select x + 0.1 as y from (select case when a > 0.5 then a else 0 end as x, coalesce(a, 0) as z ${cents}) u where z > 0.5`,
      '{y:0.8}',
    ],
  ])('%s', async (query, output) => {
    expect(await runQuery(query, undefined)).toBe(`${output}\n`);
  });
});

describe('what files have as bytes', () => {
  const uuid = "'a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11'";
  const day = String.raw`'\x00\x00\x00\x00\x01\x00\x00\x00\x00\x00\x00\x00'::blob`;
  test.each([
    [`${uuid}::uuid::blob = ${uuid}`, 'true'],
    [`${uuid}::uuid::blob <> ${uuid}::uuid`, 'false'],
    [`${uuid}::uuid::blob in ('x', ${uuid})`, 'true'],
    [`${uuid} < ${uuid}::uuid::blob`, 'false'],
    [`${day} > interval '5 hours'`, 'true'],
    [`interval '24 hours' = ${day}`, 'true'],
    [`${day} < interval '1 day'`, 'false'],
  ])('%s', async (select, output) => {
    expect(await row(select)).toBe(`{x:${output}}`);
  });
});

describe('bit strings', () => {
  test.each([
    ["'0101'::bit", '{x:"0101"}'],
    ["'xA5'::bit", '{x:"10100101"}'],
    ["'101'::bit::int", '{x:5::int32}'],
    ["'11111111'::bit::tinyint", '{x:-1::int8}'],
    ['5::utinyint::bit', '{x:"00000101"}'],
    ['(-1)::tinyint::bit', '{x:"11111111"}'],
    ['1.5::real::bit::real', '{x:1.5::float32}'],
    ["'00'::bit::bool", '{x:false}'],
    ['true::bit', '{x:"00000001"}'],
    ["'101'::bit::blob", '{x:0x05}'],
    ["'a'::blob::bit", '{x:"01100001"}'],
    ["'101'::bit::varchar", '{x:"101"}'],
    ["try_cast('102' as bit)", '{x:null}'],
    ["try_cast(bitstring('1',33) as int)", '{x:null}'],
    ["'101'::bit < '11'::bit", '{x:true}'],
    ["'11'::bit & '01'::bit", '{x:"01"}'],
    ["or_bits('10'::bit,'01')", '{x:"11"}'],
    ["~'101'::bit", '{x:"010"}'],
    ["'1011'::bit << 1", '{x:"0110"}'],
    ["('1011'::bit >> 2)::int", '{x:2::int32}'],
    ["'1'::bit << 70", '{x:"0"}'],
    ["bit_length('01101'::bit)", '{x:5}'],
    ["octet_length('011010111'::bit)", '{x:2}'],
    ["bit_length('01')", '{x:16}'],
    ["bit_count('0111'::bit)", '{x:3}'],
    ["get_bit('01'::bit, 1) + 1", '{x:2}'],
    ["set_bit('00'::bit, 1, 1)::int", '{x:1::int32}'],
    ["bitstring('11'::bit, 4)", '{x:"0011"}'],
    ["bit_position('1'::bit,'001'::bit)", '{x:3}'],
  ])('%s', async (select, output) => {
    expect(await row(select)).toBe(output);
  });
  test.each([
    ["'102'::bit", 'cannot be cast to bit'],
    ["''::bit", 'cannot be cast to bit'],
    ["bitstring('1',9)::tinyint", 'cannot be cast to int8'],
    ["DATE '2020-01-01'::bit", 'cannot be cast to bit'],
    ["'101'::bit << -1", 'negative count'],
  ])('%s fails', async (select, message) => {
    expect(await fails(select)).toContain(message);
  });
});

describe('casts', () => {
  test.each([
    ['1.5::int', '{x:2::int32}'],
    ['2.5::int', '{x:3::int32}'],
    ['(-2.5)::int', '{x:-3::int32}'],
    ['2.5::double::int', '{x:2::int32}'],
    ["'2.5'::int", '{x:3::int32}'],
    ["'  12 '::int", '{x:12::int32}'],
    ["'1e3'::int", '{x:1000::int32}'],
    ["'0xff'::int", '{x:255::int32}'],
    ["'1_000'::bigint", '{x:1000}'],
    ["'a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11'::uuid::blob::uuid", '{x:"a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11"}'],
    ['true::int', '{x:1::int32}'],
    ['0::bool', '{x:false}'],
    ['0.5::bool', '{x:true}'],
    ["' Yes '::bool", '{x:true}'],
    ["'n'::bool", '{x:false}'],
    ['2::double::varchar', '{x:"2.0"}'],
    ['1e20::double::varchar', '{x:"1e+20"}'],
    ['0.00001::varchar', '{x:"0.00001"}'],
    ['1e-5::varchar', '{x:"1e-05"}'],
    ['1.10::varchar', '{x:"1.10"}'],
    ['1::decimal(18,17)::varchar', '{x:"1.00000000000000000"}'],
    ['0.1::real::varchar', '{x:"0.1"}'],
    ['true::varchar', '{x:"true"}'],
    ["DATE '1992-01-01'::varchar", '{x:"1992-01-01"}'],
    ["TIMESTAMP '1992-01-01 10:00:00.5'::varchar", '{x:"1992-01-01 10:00:00.5"}'],
    ["INTERVAL '36 hours'::varchar", '{x:"1 day 12:00:00"}'],
    ['[1,null]::varchar', '{x:"[1, NULL]"}'],
    ["{a:1,b:'x y'}::varchar", `{x:"{'a': 1, 'b': x y}"}`],
    ['1.005::decimal(5,2)', '{x:1.01}'],
    ['(-2.345)::decimal(5,2)', '{x:-2.35}'],
    ["'1.23456'::decimal", '{x:1.235}'],
    ['2::decimal(5,2)::varchar', '{x:"2.00"}'],
    ['null::int is null', '{x:true}'],
  ])('%s', async (select, output) => {
    expect(await row(select)).toBe(output);
  });

  test.each([
    ["'a'::int", `query: "a"::<int32>: "a" cannot be cast to int32; TRY_CAST gives null for such values`],
    ['300::tinyint', 'cannot be cast to int8'],
    ["'1e40'::real", 'cannot be cast to float32'],
    ["'170141183460469231731687303715884105728'::hugeint", 'cannot be cast to hugeint'],
    ['(-1)::uhugeint', 'cannot be cast to uhugeint'],
    ["'100000000000000000000'::hugeint::bigint", 'cannot be cast to int64'],
    ["'100000000000000000000'::hugeint // 0", 'division by zero'],
    ["'100000000000000000000'::hugeint % 0", 'division by zero'],
    ["'170141183460469231731687303715884105727'::hugeint + 1", 'overflows decimal(38,0)'],
    ['12345::decimal(5,2)', 'cannot be cast to decimal(5,2)'],
    ["'123456789012.1234567'::decimal(18,7)", 'cannot be cast to decimal(18,7)'],
    ["'2024-01-02 03:04:05 Mars'::timestamptz", 'unknown time zone, expected a name such as UTC or Europe/Paris'],
    ["'infinity'::timestamp", 'there is no infinite time here'],
    ["'9999-01-01'::date", 'times are from 1677-09-21 to 2262-04-11'],
    ["'1992-02-30'::date", 'cannot be cast to date'],
    ["DATE '1500-01-01'", 'times are from 1677-09-21 to 2262-04-11'],
    ["TIMESTAMP '3000-01-01 00:00:00'", 'times are from 1677-09-21 to 2262-04-11'],
    ["TIMESTAMP '3000-01-31T00:00:00Z'", 'times are from 1677-09-21 to 2262-04-11'],
    ["DATE '3000-01-31'", 'times are from 1677-09-21 to 2262-04-11'],
    ["'3000-01-01T00:00:00Z'::timestamp", 'times are from 1677-09-21 to 2262-04-11'],
    ["'1677-09-21T00:12:43.145224191Z'::timestamp", 'times are from 1677-09-21 to 2262-04-11'],
    // The first day's midnight is before the first time, and the last second is rounded beyond the last one.
    ["TIMESTAMP '1677-09-21 12:00:00'::date", 'times are from 1677-09-21 to 2262-04-11'],
    ["'1677-09-21T12:00:00Z'::date", 'times are from 1677-09-21 to 2262-04-11'],
    ["'2262-04-11 23:47:16.854775807'::timestamp_s", 'times are from 1677-09-21 to 2262-04-11'],
    ['18446744073709551615::uint64::timestamp_ns', 'cannot be cast to timestamp'],
    // query-time-overflow
    ["DATE '2024-01-01' + 300000", '300000 days overflows duration'],
    ["DATE '2024-01-01' - 300000", 'times are from 1677-09-21 to 2262-04-11'],
    ["DATE '2024-01-01' + 100000", 'overflows time, which is kept in nanoseconds: times are from 1677-09-21'],
    ["DATE '2262-01-01' + INTERVAL 200 DAY", 'overflows time, which is kept in nanoseconds'],
    ["TIMESTAMP '2262-01-01' - TIMESTAMP '1677-10-01'", 'overflows duration'],
    ['INTERVAL 200 DAY * 1000', 'durations of 106,751 days at most'],
    ['[1,2]::int[3]', 'cannot be cast to int32[3]'],
    ["'zz'::uuid", 'cannot be cast to uuid'],
  ])('%s is an error of the query', async (select, message) => {
    expect(await fails(select)).toContain(message);
  });

  test('columns of mixed types, null and rows without the field', async () => {
    expect(await runQuery('select v::bigint as x', '{v:1} {v:"2"} {v:true} {v:2.5} {v:null}')).toBe(
      '{x:1}\n{x:2}\n{x:1}\n{x:2}\n{x:null::(int64|null)}\n',
    );
    expect(await runQuery('select try_cast(v as bigint) as x', '{v:"x"} {v:[1]} {w:1}')).toBe(
      '{x:null}\n{x:null}\n{x:null::(int64|null)}\n',
    );
  });
  test('what nobody asks for does not fail', async () => {
    expect(await runQuery("select case when v='x' then 0 else v::bigint end as x", '{v:"x"} {v:"2"}')).toBe(
      '{x:0}\n{x:2}\n',
    );
    expect(await runQuery("select (case when v='x' then null else v end)::bigint as x", '{v:"x"} {v:"2"}')).toBe(
      '{x:null::(int64|null)}\n{x:2}\n',
    );
    expect(await runQuery("select v where v<>'x' and v::bigint>1", '{v:"x"} {v:"2"} {v:"1"}')).toBe('{v:"2"}\n');
  });
  test('pipes keep their casts', async () => {
    expect(await runQuery('values this::int32', '1.5 "a"')).toBe(
      '1::int32\nerror({message:"cannot cast to int32",on:"a"})\n',
    );
  });
});

describe('dates and intervals', () => {
  test.each([
    ["INTERVAL '1' DAY", '{x:1d}'],
    ['INTERVAL 90 MINUTE', '{x:1h30m}'],
    ["INTERVAL '3 days 04:05:06'", '{x:3d4h5m6s}'],
    ['INTERVAL (1+1) HOUR', '{x:2h}'],
    ["INTERVAL '2 hours' * 3", '{x:6h}'],
    ["-INTERVAL '1 day'", '{x:-1d}'],
    ["DATE '2024-01-31' + INTERVAL 1 MONTH", '{x:2024-02-29T00:00:00Z}'],
    ["DATE '2024-03-31' - INTERVAL '1 year 1 month 1 day'", '{x:2023-02-27T00:00:00Z}'],
    ["INTERVAL (2) MONTH + DATE '2024-01-01'", '{x:2024-03-01T00:00:00Z}'],
    ["TIMESTAMP '2024-01-31 10:00:00' + 2 * INTERVAL '1 month'", '{x:2024-03-31T10:00:00Z}'],
    ["DATE '2024-01-01' + to_months(1)", '{x:2024-02-01T00:00:00Z}'],
    ["DATE '2024-01-01' + to_days(2)", '{x:2024-01-03T00:00:00Z}'],
    ["date('2024-01-01')", '{x:2024-01-01T00:00:00Z}'],
    ["date_add(DATE '2024-01-31', INTERVAL 1 MONTH)", '{x:2024-02-29T00:00:00Z}'],
    ['add(1, 2)', '{x:3}'],
    ['divide(7, 2)', '{x:3}'],
    ["DATE '2024-01-01' + 5", '{x:2024-01-06T00:00:00Z}'],
    ["(DATE '2024-01-01' + 5)::varchar", '{x:"2024-01-06"}'],
    ["DATE '2024-03-01' - DATE '2024-02-01'", '{x:29}'],
    ["TIMESTAMP '2024-03-01' - TIMESTAMP '2024-02-01'", '{x:29d}'],
  ])('%s', async (select, output) => {
    expect(await row(select)).toBe(output);
  });
  test.each([
    ["TIME '12:30'", '{x:"12:30:00"}'],
    ["'2024-01-01 10:11:12.50'::time", '{x:"10:11:12.5"}'],
    ["TIMESTAMP '2024-01-01 10:11:12'::time", '{x:"10:11:12"}'],
    ["TIME '9:05:06' < TIME '10:00'", '{x:true}'],
    ["try_cast('25:00' as time)", '{x:null}'],
    ["TIME '23:00' + INTERVAL 2 HOUR", '{x:"01:00:00"}'],
    ["TIME '00:30' - INTERVAL '1 hour'", '{x:"23:30:00"}'],
    ["INTERVAL 5 SECOND + TIME '10:00'", '{x:"10:00:05"}'],
    ["TIME '10:00' - TIME '09:30'", '{x:30m}'],
    ["DATE '2024-01-01' + TIME '10:00'", '{x:2024-01-01T10:00:00Z}'],
    ["extract(hour from TIME '14:21:13')", '{x:14}'],
    ["epoch(TIME '00:01:30')", '{x:90.}'],
    ["TIME '10:00'::interval", '{x:10h}'],
    ['0x000000000300000088130000::interval', '{x:3d5s}'],
    ["extract(day from INTERVAL '3 days 04:05:06')", '{x:3}'],
    ["date_part(['hour','minute'], INTERVAL '3 days 04:05:06')", '{x:{hour:4,minute:5}}'],
    ["year(INTERVAL '3 days')", '{x:0}'],
    ['ROUND(100.3908::DECIMAL(10,4), 1)::varchar', '{x:"100.4"}'],
    ['floor(2.5::DECIMAL(3,1))::varchar', '{x:"2"}'],
  ])('%s', async (select, output) => {
    expect(await row(select)).toBe(output);
  });
  test('columns of files say by their names what they are', async () => {
    const rows =
      '{t:1970-01-01T12:11:49.5Z::=arrow_time64_us,d:2024-01-02T00:00:00Z::=arrow_date32,p:12.5::=deciaml_2_9,i:0x0e000000030000006568e000::=arrow_fixed_size_binary_12}';
    expect(
      await runQuery(
        "select t::varchar as a, d::varchar as b, p::varchar as c, d || '' as e, concat(t) as f, [d]::varchar as g, {d}::varchar as h",
        rows,
      ),
    ).toBe(
      '{a:"12:11:49.5",b:"2024-01-02",c:"12.50",e:"2024-01-02",f:"12:11:49.5",g:"[2024-01-02]",h:"{\'d\': 2024-01-02}"}\n',
    );
    expect(
      await runQuery(
        "select t < TIME '12:12' as a, t::time + INTERVAL 1 MINUTE as b, year(i) as c, month(i) as d, date_part('epoch', i) as e, d + i as f, d - i as g, list_sum([p, p]) as h",
        rows,
      ),
    ).toBe(
      '{a:true,b:"12:12:49.5",c:1,d:2,e:3.7015506789e+07,f:2025-03-05T04:05:06.789Z,g:2022-10-29T19:54:53.211Z,h:25.}\n',
    );
  });
  test('columns', async () => {
    expect(
      await runQuery(
        'select t + INTERVAL (n) MONTH as a, t - INTERVAL (n) DAY as b, t + n as c',
        '{t:2024-01-31T00:00:00Z,n:1}',
      ),
    ).toBe('{a:2024-02-29T00:00:00Z,b:2024-01-30T00:00:00Z,c:2024-02-01T00:00:00Z}\n');
  });
  test.each([
    ["INTERVAL 'abc'", 'not an interval'],
    [
      "INTERVAL '2000000000 months' * 2",
      ' overflows interval, whose months and days have 32 bits and whose nanoseconds 64',
    ],
    ["INTERVAL '1 month' * 'nan'::double", 'overflows interval'],
    ["INTERVAL '1 month' / 0", 'division by zero'],
    ["sum(INTERVAL '1 month')", '(interval_length(i)), where a month is thirty days, or avg(i) * count(i)'],
  ])('%s is refused', async (select, message) => {
    expect(await fails(select)).toContain(message);
  });
});

describe('comparisons of unlike types', () => {
  test.each([
    ["1 = '1'", '{x:true}'],
    ["'10' > 9", '{x:true}'],
    ['true = 1', '{x:true}'],
    ["'t' = true", '{x:true}'],
    ["TIMESTAMP '2024-01-01' < '2024-01-02'", '{x:true}'],
    ["DATE '2024-01-01' = '2024-01-01'", '{x:true}'],
    ["3 in ('1','3')", '{x:true}'],
    ['1 = any([1,2])', '{x:true}'],
    ['3 <> all([1,2])', '{x:true}'],
    ["case 1 when '1' then 2 end", '{x:2}'],
    ["2 between '1' and '3'", '{x:true}'],
    ['[1] < [2]', '{x:true}'],
    ['[1] = [1]::int[]', '{x:true}'],
    ['[9] < [10, 1]', '{x:true}'],
    ['{a:9} < {a:10}', '{x:true}'],
    ['{a:1} < {a:2}', '{x:true}'],
    ['false < true', '{x:true}'],
    ["'a' < 'b'", '{x:true}'],
  ])('%s', async (select, output) => {
    expect(await row(select)).toBe(output);
  });
  test('columns beside literals', async () => {
    expect(
      await runQuery("select n where t >= '2024-01-02'", '{n:1,t:2024-01-01T00:00:00Z} {n:2,t:2024-01-02T00:00:00Z}'),
    ).toBe('{n:2}\n');
    expect(await runQuery("select n where n = '2'", '{n:1} {n:2}')).toBe('{n:2}\n');
    await expect(runQuery("select n where n = 'a'", '{n:1} {n:2}')).rejects.toThrow('cannot be cast to int64');
    // Texts among the data are no mistakes of the query.
    expect(await runQuery('select n, n = 1 as e, n <> 1 as d, n < 2 as l', '{n:1} {n:"x"} {n:"1"}')).toBe(
      '{n:1,e:true,d:false,l:true}\n{n:"x",e:false,d:true,l:null}\n{n:"1",e:true,d:false,l:true}\n',
    );
  });
});

describe('conditions', () => {
  test.each([
    ['not 0', '{x:true}'],
    ['1 and 2.5', '{x:true}'],
    ['0 or null', '{x:null}'],
    ['42 is true', '{x:true}'],
    ['0 is not false', '{x:false}'],
    ["case when 2 then 'y' end", '{x:"y"}'],
    ["if(0, 'y', 'n')", '{x:"n"}'],
    ["'yes' and true", '{x:true}'],
  ])('%s', async (select, output) => {
    expect(await row(select)).toBe(output);
  });
  test('numbers are conditions in every clause', async () => {
    const rows = '{i:1,g:1} {i:0,g:1} {i:null,g:0} {i:2,g:0}';
    expect(await runQuery('select i where i', rows)).toBe('{i:1}\n{i:2}\n');
    expect(await runQuery('select count(*) as n where not i and i is not null', rows)).toBe('{n:1}\n');
    expect(await runQuery('select count(*) filter (where i) as n', rows)).toBe('{n:2}\n');
    expect(await runQuery('select g, sum(i) as s group by g having g', rows)).toBe('{g:1,s:1}\n');
    expect(await runQuery('select row_number() over (order by i) as n where g qualify n - 1', rows)).toBe('{n:2}\n');
    expect(
      await runQuery(
        'with t as (values (1), (0)), u as (values (5)) select * from t a(x) join u b(y) on a.x',
        undefined,
      ),
    ).toBe('{x:1,y:5}\n');
  });
  test('what is no condition ends the query', async () => {
    expect(await fails("case when 'maybe' then 1 end")).toContain('condition: "maybe" cannot be cast to bool');
    await expect(runQuery('select i where i', '{i:[1]}')).rejects.toThrow('cannot be cast to bool');
  });
  test('pipes keep their conditions', async () => {
    expect(await runQuery('values not this', '1')).toBe('error({message:"not type bool",on:1})\n');
  });
});

test('sum, min and max of bools', async () => {
  expect(
    await runQuery(
      'select sum(v) as s, min(v) as a, max(v) as b, g group by g order by g',
      '{v:true,g:1} {v:false,g:1} {v:true,g:1} {v:null,g:2} {v:true,g:3}',
    ),
  ).toBe('{s:2,a:false,b:true,g:1}\n{s:null,a:null,b:null,g:2}\n{s:1,a:true,b:true,g:3}\n');
});

test('whole numbers beyond 64 bits end the query', async () => {
  await expect(runQuery('select 9223372036854775807 + 1', undefined)).rejects.toMatchObject({
    code: 'query-overflow',
    parameters: { operation: '9223372036854775807 + 1', type: 'int64' },
  });
  expect(await fails('100::tinyint * 100::tinyint')).toContain('100 * 100 overflows int8');
  await expect(runQuery('select sum(v) from input', '{v:9223372036854775807} {v:1}')).rejects.toMatchObject({
    code: 'query-overflow',
  });
  expect(await runQuery('sum(v)', '{v:9223372036854775807} {v:1}')).toBe('-9223372036854775808\n');
  expect(await runQuery('values 9223372036854775807+this', '1')).toBe('-9223372036854775808\n');
});

test('a product with more places than decimals have ends the query', async () => {
  const x = "'0.12345678901234567891'::decimal(38,20)";
  await expect(runQuery(`select ${x} * ${x}`, undefined)).rejects.toMatchObject({ code: 'query-overflow' });
});

describe('what an aggregate does not take ends the query', () => {
  const rows = '{v:1,t:"a",k:1} {v:"x",t:"b",k:2} {v:null,t:null}';
  test.each([
    'select sum(v) as r',
    'select sum(t) as r',
    'select avg(t) as r',
    'select min(v) as r',
    'select max(v) as r',
    'select stddev(t) as r',
    'select bit_and(t) as r',
    'select corr(k, t) as r',
    'select sum(distinct v) as r',
    'select bit_or(k/2.) as r',
    'select sum(v) over (order by k) as r',
    'select max(v) over (order by k rows 1 preceding) as r',
    'select quantile_cont(t, 0.5) as r',
    'select mad(t) as r',
    'select sum(sqrt(t)) as r',
  ])('%s', async (query) => {
    await expect(runQuery(query, rows)).rejects.toMatchObject({ code: 'query-aggregate' });
  });
  test.each([
    ['select sum(v) filter (where k = 1) as r', '{r:1}'],
    ['select min(v) as r where k = 1', '{r:1}'],
    ['select min(t) as r', '{r:"a"}'],
    ['select sum(try_cast(v as double)) as r', '{r:1.}'],
    ['select quantile_disc(t, 0.5) as r', '{r:"a"}'],
    ['select sum(nope) as r', '{r:null}'],
    ['sum(v)', 'error("mixture of string and numeric values")'],
    ['sum(t)', 'null'],
  ])('%s does not', async (query, output) => {
    expect(await runQuery(query, rows)).toBe(`${output}\n`);
  });
});

describe('a literal that a function refuses ends the query', () => {
  test.each([
    ["regexp_matches(s, '(')", 'regexp_matches: invalid regular expression: missing closing )'],
    ["regexp_replace(s, '[', '')", 'regexp_replace: invalid regular expression'],
    ["strftime(now(), '%Q')", "strftime: '%Q' is no part of a format"],
    ["round(n / 2., 'a')", 'round: integer argument required'],
    ["week(interval '3 days')", 'week: a duration has no such part'],
    ["regexp_extract(s, 'a', 12)", 'regexp_extract: group must be 0 to 9'],
    ['quantile_disc(n, 1.5)', 'quantile_disc: fraction from 0 to 1 required'],
  ])('%s', async (call, fault) => {
    await expect(runQuery(`select ${call} as r from input`, '{s:"a",n:1}')).rejects.toMatchObject({
      code: 'query-argument',
      parameters: { fault: expect.stringContaining(fault) as unknown },
    });
  });
  test.each([
    [
      'select regexp_matches(s, p) as r',
      '{r:error({message:"regexp_matches: invalid regular expression: missing closing )",on:"("})}',
    ],
    ["select try(regexp_matches(s, '(')) as r", '{r:null}'],
    ["select regexp_matches(null, '(') as r", '{r:null}'],
    [
      'values regexp_matches(s, "(")',
      'error({message:"regexp_matches: invalid regular expression: missing closing )",on:"("})',
    ],
  ])('%s does not', async (query, output) => {
    expect(await runQuery(query, '{s:"a",p:"("}')).toBe(`${output}\n`);
  });
});

test('a quotient of decimals is a float, also as a column of a subquery', async () => {
  expect(await runQuery('select 1.0 + c as y from (select (2.0 + 5.5) / 4.0 as c) d', undefined)).toBe('{y:2.875}\n');
});

test('a column with integers of several types has room for what the widest has', async () => {
  expect(
    await runQuery('select k - a as d from (values (1::utinyint, 3::utinyint), (2, 5::tinyint)) t(k, a)', undefined),
  ).toBe('{d:-2}\n{d:-3}\n');
});

describe('a division by zero', () => {
  const rows = '{a:7,q:0,k:"x"} {a:8,q:2,k:"x"} {a:9,q:null,k:"y"}';
  test.each([
    ['1/0', '1 / 0'],
    ['1//0', '1 / 0'],
    ['1%0', '1 % 0'],
    ['mod(1,0)', '1 % 0'],
    ['div(1,0)', '1 / 0'],
    ['divide(1,0)', '1 / 0'],
    ['5.0%0', '5. % 0'],
    ['mod(5.0,0)', '5. % 0'],
    ['1.5//0', '1.5 / 0'],
    ['1e0//0', '1. / 0'],
    ['1::utinyint/0', '1::uint8 / 0'],
    ['coalesce(1/0,5)', '1 / 0'],
    ['case when 1=1 then 1/0 end', '1 / 0'],
    ["interval '1 day' / 0", '1d / 0'],
  ])('%s ends the query', async (select, operation) => {
    await expect(runQuery(`select ${select} as x`, undefined)).rejects.toMatchObject({
      code: 'query-division',
      parameters: { operation },
    });
  });
  test.each([
    'select a/q as x',
    'select sum(a/q) as x',
    'select a where a/q is null',
    'select a where a/q>1 and q<>0',
    'select a where mod(a,q)=1',
    'select sum(div(a,q)) as x group by k',
    'select a order by a/q',
    'select sum(a%q) over () as x',
    'select x.a from input x join (values (7)) y(b) on x.a/x.q=y.b',
  ])('%s too', async (query) => {
    await expect(runQuery(query, rows)).rejects.toMatchObject({
      code: 'query-division',
      parameters: { operation: /^7 [/%] 0$/ },
    });
  });
  test.each([
    ['1.0/0', '{x:+Inf}'],
    ['1e0/0', '{x:+Inf}'],
    ['5e0%0', '{x:NaN}'],
    ['null/0', '{x:null}'],
    ['null//0', '{x:null}'],
    ['mod(null,0)', '{x:null}'],
    ['1/null', '{x:null}'],
    ['try(1/0)', '{x:null}'],
    ['try(1//0 + 1)', '{x:null}'],
    ['try(1.5//0)', '{x:null}'],
    ['try(5.0%0)', '{x:null}'],
    ['try(mod(1,0))', '{x:null}'],
    ['try(div(1,0))', '{x:null}'],
    ['1/nullif(0,0)', '{x:null}'],
    ['case when 1=0 then 1/0 else 2 end', '{x:2}'],
    ['if(1=0, 1%0, 2)', '{x:2}'],
    ['coalesce(5,1/0)', '{x:5}'],
    ['1=0 and 1/0=1', '{x:false}'],
    ['1=1 or mod(1,0)=1', '{x:true}'],
    ['case when 1=0 then 9223372036854775807+1 else 2 end', '{x:2}'],
  ])('%s does not', async (select, output) => {
    expect(await row(select)).toBe(output);
  });
  test.each([
    ['select case when q=0 then null else a/q end as x', '{x:null}\n{x:4}\n{x:null}\n'],
    ['select case when q<>0 then mod(a,q) end as x', '{x:null}\n{x:0}\n{x:null}\n'],
    ['select a where q<>0 and a/q>1', '{a:8}\n'],
    ['select a where not (q=0 or div(a,q)<1)', '{a:8}\n'],
    ['select sum(a/q) filter (where q<>0) as x', '{x:4}\n'],
    ['select sum(a//q) filter (where q<>0) over () as x', '{x:4}\n{x:4}\n{x:4}\n'],
    ['select a/q as x where q<>0', '{x:4}\n'],
    ['select if(q=0, -1, 100/q) as x', '{x:-1}\n{x:50}\n{x:null}\n'],
    ['select try(a/q) as x', '{x:null}\n{x:4}\n{x:null}\n'],
    ['select sum(a/q) as x where q<>0 group by k', '{x:4}\n'],
    ['select a from (select a, a/q as r, q from input where q<>0) where r>1', '{a:8}\n'],
    ['select count(*) as n where q=0 and a/(q+1)=7', '{n:1}\n'],
  ])('%s asks the rows alone that count', async (query, output) => {
    expect(await runQuery(query, rows)).toBe(output);
  });
  test('of values that a dictionary has and no row', async () => {
    const many = Array.from({ length: 100 }, (_, i) => `{q:${i % 5}}`).join(' ');
    expect(
      await runQuery(
        'select sum(case when q>0 then 12/q end) as a, sum(mod(12,q)) filter (where q>0) as b, count(*) filter (where q>0 and div(12,q)>3) as c',
        many,
      ),
    ).toBe('{a:500,b:0,c:60}\n');
  });
  test('in pipes it is an error value', async () => {
    expect(await runQuery('values [a/q,mod(a,q)]', '{a:7,q:0}')).toBe(
      '[error("divide by zero"),error({message:"mod: divide by zero",on:7})]\n',
    );
  });
});

describe('an overflow', () => {
  const most = '9223372036854775807';
  const rows = `{a:${most},u:1::uint64} {a:1,u:2::uint64} {a:2,u:3::uint64} {a:3,u:4::uint64} {a:4,u:5::uint64}`;
  test.each([
    ['select a where a<10 and a*2>4', '{a:3}\n{a:4}\n'],
    [`select a where a=${most} or a*2>4`, `{a:${most}}\n{a:3}\n{a:4}\n`],
    ['select (a<10 and a*2>4) as x', '{x:false}\n{x:false}\n{x:false}\n{x:true}\n{x:true}\n'],
    ['select count(*) filter (where a<10 and a+a>4) as n', '{n:2}\n'],
    ['select case when a<10 then a*2 end as x', '{x:null}\n{x:2}\n{x:4}\n{x:6}\n{x:8}\n'],
    ['select x.a from input x join input y on x.a=y.a and x.a<10 and x.a*2>7', '{a:4}\n'],
  ])('of rows that need no answer counts for nothing: %s', async (query, output) => {
    expect(await runQuery(query, rows)).toBe(output);
  });
  test.each([
    'select a where a*2>4',
    'select a where a>1 and a*2>4',
    'select sum(a) as x',
    'select sum(a) over () as x',
    'select -(-a-1) as x',
    'select abs(-a-1) as x',
    'select a+1 as x',
    'select u-2::ubigint as x',
    'select a*(u+2::ubigint) as x',
    'select -(a::ubigint*2) as x',
    'select abs((-128)::tinyint) as x',
    'select -((-128)::tinyint) as x',
    'select 100::tinyint*2::tinyint as x',
  ])('%s', async (query) => {
    await expect(runQuery(query, rows)).rejects.toMatchObject({ code: 'query-overflow' });
  });
  test('of a minus is null in TRY', async () => {
    expect(await row('try(-(-9223372036854775807-1))')).toBe('{x:null}');
  });
});

describe('NaN is equal to itself and greater than any other number', () => {
  const nan = "'nan'::double";
  test.each([
    [`[${nan}=${nan}, ${nan}<>${nan}, ${nan}>=${nan}, ${nan}<${nan}]`, '[true,false,true,false]'],
    [`[${nan}>'inf'::double, ${nan}<=5, 1<${nan}, 1>=${nan}]`, '[true,false,true,false]'],
    [`${nan}='nan'::real`, 'true'],
    [
      `[${nan} in (1, ${nan}), ${nan} in (1, 2), ${nan} between 1 and 2, ${nan} is distinct from ${nan}]`,
      '[true,false,false,false]',
    ],
    [`nullif(${nan},${nan})`, 'null'],
    [`case ${nan} when ${nan} then 1 end`, '1'],
    [`[${nan}] > [1e0]`, 'true'],
    [`${nan} in (1e0,2e0,3e0,4e0,5e0,6e0,7e0,8e0,9e0,10e0,11e0,12e0,13e0,14e0,15e0,16e0,${nan})`, 'true'],
  ])('%s', async (select, output) => {
    expect(await row(select)).toBe(`{x:${output}}`);
  });
  const input = '{x:NaN} {x:1.} {x:null} {x:NaN} {x:2}';
  test.each([
    ['select x where x>1', '{x:NaN}\n{x:NaN}\n{x:2}\n'],
    ['select x where x<5', '{x:1.}\n{x:2}\n'],
    ['select count(*) as n where x=x', '{n:4}\n'],
    ['select count(*) as n from input a join input b on a.x=b.x', '{n:6}\n'],
    ['select count(*) as n from input a join input b on a.x>b.x', '{n:5}\n'],
    ['select count(*) as n where x in (select x from input where x>2)', '{n:2}\n'],
    ['select x, count(*) as n where x is not null group by x order by x', '{x:1.,n:1}\n{x:2,n:1}\n{x:NaN,n:2}\n'],
    ['select max(x) as a, min(x) as b, count(distinct x) as c', '{a:NaN,b:1.,c:3}\n'],
  ])('%s', async (query, output) => {
    expect(await runQuery(query, input)).toBe(output);
  });
  test('not in pipes', async () => {
    expect(await runQuery('values [x==x,x>1]', '{x:NaN}')).toBe('[false,false]\n');
  });
});
