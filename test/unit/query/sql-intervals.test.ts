/** Intervals with months as values: what SQL does with them, beside durations, times, numbers and texts. */
import { describe, expect, test } from 'vitest';
import { runQuery } from '../../support/queries/case.ts';

const month = (months: number, day = 0, nanoseconds = 0): string =>
  `{month:${months}::int32,day:${day}::int32,nanoseconds:${nanoseconds}}::=arrow_month_day_nano_interval`;
const three = "from (values (1, interval '1 month'), (2, interval '31 days'), (3, interval '2 years 3 hours')) t(x, i)";

describe('one value', () => {
  test.each([
    ["interval '1 month'", month(1)],
    ['interval 2 years', month(24)],
    ['to_months(3)', month(3)],
    ["-interval '14 months 2 days'", month(-14, -2)],
    ["interval '1 month' * 1.5", month(1, 15)],
    ["3 * interval '1 month'", month(3)],
    ["interval '1 month' + interval '40 days'", month(1, 40)],
    ["interval '1 month' - interval '1 month' + interval 1 hour", '1h'],
    ["'1 month 02:00:00'::interval", month(1, 0, 7_200_000_000_000)],
    ["try_cast('9999999999 months' as interval)", 'null'],
    ['0x010000000200000088ff9d02::interval', month(1, 2, 43_909_000_000_000)],
    ["(interval '5 months' / 2)::varchar", '"2 months 15 days"'],
    ["(interval '1 month 3 days' / 2)::varchar", '"16 days 12:00:00"'],
    ["(interval '1 year' * 0.3)::varchar", '"3 months 18 days"'],
    ["(interval '1 month' - interval '30 days')::varchar", '"1 month -30 days"'],
    ["[interval '1 month', interval '2 days']::varchar", '"[1 month, 2 days]"'],
    ["'in ' || interval '-14 months'", '"in -1 year -2 months"'],
    ["format('{}', interval '1 month')", '"1 month"'],
    ["age(timestamp '2024-03-15', timestamp '2023-01-31')::varchar", '"1 year 1 month 15 days"'],
    ["age(date '2020-01-01', date '2021-03-02')::varchar", '"-1 year -2 months -1 day"'],
    ["age(timestamp '2024-02-29 01:00', timestamp '2024-01-31 02:00')::varchar", '"28 days 23:00:00"'],
    ["date '2024-01-31' + age(date '2024-02-01', date '2024-01-01')", '2024-02-29T00:00:00Z'],
    ["age(date '1999-01-01') > interval '20 years'", 'true'],
    [
      "date_part(['year', 'month', 'day', 'hour'], interval '14 months 3 days 4 hours')",
      '{year:1,month:2,day:3,hour:4}',
    ],
    ["epoch(interval '1 year 1 month')", '34149600.'],
    ["epoch_ms(interval '1 month')", '2592000000'],
    ["interval_length(interval '1 month 2 days')", '32d'],
    ["nullif(interval '1 month', interval '30 days')", 'null'],
    ["time '12:00' + interval '1 month 1 hour'", '"13:00:00"'],
    ["interval '1 month' * null", 'null'],
  ])('%s', async (select, expected) => {
    expect((await runQuery(`select ${select} as x`, undefined)).trim()).toBe(`{x:${expected}}`);
  });
});

describe('a month is thirty days where intervals are compared', () => {
  test.each([
    ["interval '1 month' = interval '30 days'", 'true'],
    ["interval '1 year' > interval '361 days'", 'false'],
    ["interval '1 month' = '30 days'", 'true'],
    ["'1 month' < interval '2 months'", 'true'],
    ["interval '1 month' between interval '1 day' and interval '2 months'", 'true'],
    ["interval '1 month' in (interval '30 days', interval '1 day')", 'true'],
    ["interval '1 month' not in (interval '2 days')", 'true'],
    ["case interval '1 month' when interval '30 days' then true end", 'true'],
    ["interval '1 month' is distinct from interval '30 days'", 'false'],
    ["interval '1 month' < null", 'null'],
  ])('%s', async (select, expected) => {
    expect((await runQuery(`select ${select} as x`, undefined)).trim()).toBe(`{x:${expected}}`);
  });
});

describe('columns', () => {
  test.each([
    [`select i::varchar as s ${three} order by i`, '{s:"1 month"} {s:"31 days"} {s:"2 years 03:00:00"}'],
    [
      `select avg(i)::varchar as a, min(i)::varchar as b, max(i)::varchar as c, median(i) as d, list(i)::varchar as e ${three}`,
      '{a:"8 months 20 days 09:00:00",b:"1 month",c:"2 years 03:00:00",d:31d,e:"[1 month, 31 days, \'2 years 03:00:00\']"}',
    ],
    [
      `select max(i order by x)::varchar as a, arg_max(x, i) as b, list(x order by i desc) as c ${three}`,
      '{a:"2 years 03:00:00",b:3,c:[3,2,1]}',
    ],
    [
      `select max(i) over (order by x)::varchar as m, rank() over (order by i) as r ${three} order by x`,
      '{m:"1 month",r:1} {m:"31 days",r:2} {m:"2 years 03:00:00",r:3}',
    ],
    [
      "select (-i)::varchar as n, -i < interval '0 days' as b from (values (age(date '2024-03-01', date '2024-01-15'))) t(i)",
      '{n:"-1 month -17 days",b:true}',
    ],
    [
      "select age(t, date '2024-01-01')::varchar as a from (values (date '2024-03-01'), (date '2024-01-20'), (date '2024-02-02')) v(t) order by age(t, date '2024-01-01') desc",
      '{a:"2 months"} {a:"1 month 1 day"} {a:"19 days"}',
    ],
    [
      "select list_sort([interval '1 month', interval '40 days', interval '1 day'])::varchar as s",
      '{s:"[1 day, 1 month, 40 days]"}',
    ],
    [`select x ${three} where i > interval '30 days'`, '{x:2} {x:3}'],
    [
      `select timestamp '2024-01-31' + i as a, i + timestamp '2024-01-31' as b ${three} where x = 1`,
      '{a:2024-02-29T00:00:00Z,b:2024-02-29T00:00:00Z}',
    ],
    [
      `select (i + i)::varchar as a, (-i)::varchar as b, (i - interval '1 month')::varchar as c ${three} where x < 3`,
      '{a:"2 months",b:"-1 month",c:"00:00:00"} {a:"62 days",b:"-31 days",c:"-1 month 31 days"}',
    ],
    [
      "select a.i::varchar as s from (values (interval '1 month')) a(i) join (values (interval '30 days')) b(i) on a.i = b.i",
      '{s:"1 month"}',
    ],
    ['select interval (n) month as a, to_years(n)::varchar as b from (values (2)) t(n)', `{a:${month(2)},b:"2 years"}`],
    [`select x ${three} where i in (select interval '30 days' union all select interval '1 day')`, '{x:1}'],
    [`select x ${three} where i not in (select i + interval '0 days' ${three} where x = 2)`, '{x:1} {x:3}'],
    [`select interval '30 days' in (select i ${three}) as b`, '{b:true}'],
    [
      "select range(date '2024-01-31', date '2024-04-01', i) as l, generate_series(date '2024-03-01', date '2024-01-01', -i)[2] as m from (values (interval '1 month'), (interval '20 days')) t(i)",
      '{l:[2024-01-31T00:00:00Z,2024-02-29T00:00:00Z,2024-03-29T00:00:00Z],m:2024-02-01T00:00:00Z} {l:[2024-01-31T00:00:00Z,2024-02-20T00:00:00Z,2024-03-11T00:00:00Z,2024-03-31T00:00:00Z],m:2024-02-10T00:00:00Z}',
    ],
    [
      "select list_min(l)::varchar as a, list_max(l)::varchar as b, greatest(l[1], l[2])::varchar as c from (values ([interval '1 month', interval '2 days'])) t(l)",
      '{a:"2 days",b:"1 month",c:"1 month"}',
    ],
    ["select try_cast('9223372036854775808 microseconds' as interval) as i", '{i:null}'],
    ["select try_cast('2147483647 days' as interval)::varchar as i", '{i:"2147483647 days"}'],
    [
      "select try_cast(s as interval)::varchar as i from (values ('1 month'), ('3 days'), ('x')) t(s)",
      '{i:"1 month"} {i:"3 days"} {i:null::(string|null)}',
    ],
    [
      `select case when x = 1 then i else interval '1 day' end < interval '31 days' as c ${three}`,
      '{c:true} {c:true} {c:true}',
    ],
  ])('%s', async (query, expected) => {
    expect((await runQuery(query, undefined)).trim().replaceAll('\n', ' ')).toBe(expected);
  });
});
