/**
 * Windows in SQL: what is refused, with the text, the place and the hint that users see; words that stay names; plans.
 */
import { describe, expect, test } from 'vitest';
import { compile } from '../../../src/query/analyze.ts';
import { parse } from '../../../src/query/parse/parser.ts';
import { CompileError } from '../../../src/query/parse/error.ts';
import { printExpr } from '../../../src/query/print.ts';
import { recordType, types } from '../../../src/vectors/type.ts';
import { planText } from '../../../src/query/plan/text.ts';
import { fileEnvironment, lakeEnvironment } from '../../support/queries/environment.ts';

const row = recordType([
  { name: 'id', type: types.int64 },
  { name: 'v', type: types.int64 },
  { name: 's', type: types.string },
  { name: 'ts', type: types.time },
]);
const environment = fileEnvironment({ t: row, window: row, over: row, qualify: row });

/** Message, column (in bytes, from 1), length and hint of each fault. */
const faultsOf = async (query: string): Promise<readonly string[]> => {
  try {
    await compile(query, environment);
  } catch (error) {
    if (error instanceof CompileError)
      return error.errors.map(
        (e) =>
          `${e.message} @${e.start + 1}${e.end < 0 ? '' : `+${e.end - e.start}`}${e.hint === undefined ? '' : ` (${e.hint})`}`,
      );
    throw error;
  }
  return [];
};
const refused = (table: Readonly<Record<string, readonly string[]>>): void => {
  for (const [query, faults] of Object.entries(table))
    test(query, async () => {
      expect(await faultsOf(query)).toEqual(faults);
    });
};

describe('places', () => {
  refused({
    'select id from t where row_number() over (order by id) = 1': [
      'window function "row_number" cannot be called in WHERE @24+31 (write qualify ... after the other clauses, or where ... around a subquery)',
    ],
    'select id, count(*) from t group by id having rank() over (order by id) = 1': [
      'window function "rank" cannot be called in HAVING @47+25 (write qualify ... after the other clauses, or where ... around a subquery)',
    ],
    'select id from t group by rank() over (order by id)': [
      'window function "rank" cannot be called in GROUP BY @27+25',
      'column "id" must appear in GROUP BY clause @8+2',
    ],
    'select rank() over (order by id) as r, count(*) from t group by r': [
      'window function "rank" cannot be called in GROUP BY @65+1',
      'column "id" must appear in GROUP BY clause @30+2',
    ],
    'select sum(rank() over (order by id)) from t': [
      'window function "rank" cannot be called in the call of an aggregate @12+25',
    ],
    'select rank() over (order by rank() over (order by id)) from t': [
      'window function "rank" cannot be called in the window or the call of another window function @30+25',
    ],
    'select sum(lag(id) over (order by id)) over () from t': [
      'window function "lag" cannot be called in the window or the call of another window function @12+26',
    ],
    'values (row_number() over ())': ['window function "row_number" cannot be called in this place @9+20'],
    'select id from t union select id from t order by rank() over (order by id)': [
      'window function "rank" cannot be called in this place @50+25',
    ],
    'select id from t qualify id > 1': [
      'QUALIFY needs a window function in the select list or in its condition @26+6 (WHERE filters without one)',
    ],
    'select row_number() from t': [
      'no such function @8+12 (window functions stand in SQL with OVER: write select row_number(...) over (...))',
    ],
  });
});

describe('named windows', () => {
  refused({
    'select rank() over w from t': ['no such window "w" @20+1 (write window w as (...) behind HAVING)'],
    'select rank() over ww from t window w as ()': [
      'no such window "ww" @20+2 (write window ww as (...) behind HAVING)',
    ],
    'select rank() over (w order by id) from t window w as (order by v)': ['window "w" has an ORDER BY already @32+2'],
    'select rank() over (w partition by id) from t window w as (order by v)': [
      'PARTITION BY cannot be added to window "w" @36+2',
    ],
    'select sum(v) over (w order by id) from t window w as (rows 1 preceding)': [
      'window "w" has a frame, so that none can build on it @21+1 (write over w, without parentheses, to take it as it is)',
    ],
    'select rank() over w from t window w as (), w as ()': ['duplicate window name "w" @45+1'],
    'select rank() over w from t window w as (x), x as ()': ['window "x" is defined behind this one @42+1'],
  });
});

describe('frames', () => {
  refused({
    'select sum(v) over (range 1 preceding) from t': [
      'RANGE with an offset needs an ORDER BY with one key in its window @27+1',
    ],
    'select sum(v) over (order by id, v range 1 preceding) from t': [
      'RANGE with an offset needs an ORDER BY with one key in its window @42+1',
    ],
    'select sum(v) over (order by s range 1 preceding) from t': [
      'RANGE with an offset needs an ORDER BY key that is a number, a duration or a time @38+1',
    ],
    "select sum(v) over (order by ts range interval '-1 month' preceding) from t": [
      'offset of RANGE must be a number or an interval that is not negative @39+19',
    ],
    "select sum(v) over (order by id range interval '1 month' preceding) from t": [
      'offset of RANGE must be a number where the ORDER BY key is one @39+18',
    ],
    'select sum(v) over (order by ts range 1 preceding) from t': [
      'offset of RANGE must be an interval where the ORDER BY key is a time @39+1',
    ],
    'select sum(v) over (order by id range -1 preceding) from t': [
      'offset of RANGE must be a number or an interval that is not negative @39+2',
    ],
    'select sum(v) over (order by id range "1" preceding) from t': [
      '"1" is not a column or table @39+3 (columns: id, v, s, ts)',
    ],
    'select sum(v) over (order by id rows 1.5 preceding) from t': [
      'offset of ROWS must be an integer that is not negative @38+3',
    ],
    'select dense_rank(order by id) over (order by id) from t': [
      'ORDER BY among the arguments does not go with "dense_rank" @28+2 (write it in OVER (...))',
    ],
    'select fill(v) over () from t': ['fill needs an ORDER BY with one key @8+7'],
    'select fill(v) over (order by s) from t': [
      'fill needs an ORDER BY key that is a number, a duration or a time @8+7',
    ],
    'select fill(s) over (order by id) from t': [
      'fill needs numbers, durations or times @13+1 (write coalesce or last_value(v ignore nulls))',
    ],
    'select lead(v, ofset := 2) over (order by id) from t': [
      'lead has no argument "ofset" @16+10 (did you mean "offset"?)',
    ],
    'select lead(v, col := id) over (order by id) from t': ['argument "col" of lead is given twice @16+9'],
    'select lead("offset" := 2) over (order by id) from t': ['lead needs its argument "col" @13+13'],
    'select sum(v) over (groups 1 preceding) from t': ['GROUPS needs an ORDER BY in its window @21+18'],
    'select sum(v) over (order by id rows between unbounded following and unbounded following) from t': [
      'ROWS frame cannot begin with UNBOUNDED FOLLOWING @46+19',
    ],
    'select sum(v) over (order by id rows between unbounded preceding and unbounded preceding) from t': [
      'ROWS frame cannot end with UNBOUNDED PRECEDING @70+19',
    ],
    'select sum(v) over (order by id rows between current row and 1 preceding) from t': [
      'frame that begins with CURRENT ROW cannot end with PRECEDING @62+11',
    ],
    'select sum(v) over (order by id rows 1 following) from t': [
      'frame that begins with FOLLOWING cannot end with CURRENT ROW @38+11',
    ],
    'select sum(v) over (order by id rows between 1 preceding) from t': ['parse error @57'],
    'select sum(v) over (order by id rows) from t': ['parse error @37'],
    'select sum(v) over (partition by) from t': ['parse error @33'],
  });
});

describe('calls', () => {
  refused({
    'select ntile(0) over (order by id) from t': ['ntile: argument must be an integer greater than zero @14+1'],
    'select ntile() over (order by id) from t': ['too few arguments @8+7'],
    'select nth_value(id, -1) over (order by id) from t': [
      'nth_value: argument must be an integer greater than zero @22+2',
    ],
    'select row_number(1) over () from t': ['too many arguments @8+13'],
    'select sum() over () from t': ['too few arguments @8+5'],
    'select sum(v, 2) over () from t': ['too many arguments @8+9'],
    'select upper(s) over () from t': [
      '"upper" is no window function and no aggregate @8+8 (upper(...) looks at one row alone: write it without OVER)',
    ],
    'select nosuch(s) over () from t': ['"nosuch" is no window function and no aggregate @8+9'],
    'select sum(v) export_state over () from t': [
      'EXPORT_STATE does not go with OVER @8+19 (export the state in a query of its own)',
    ],
    'select rank() filter (where v > 1) over () from t': ['FILTER goes with aggregates, not with "rank" @29+5'],
    'select sum(v) ignore nulls over () from t': [
      'IGNORE NULLS goes with lag, lead, first_value, last_value and nth_value, not with "sum" @8+6',
    ],
    'select lag(distinct v) over () from t': ['DISTINCT goes with aggregates, not with "lag" @8+15'],
    'select map(s, lambda x:x) over () from t': [
      '"map" is no window function and no aggregate @8+18 (map(...) looks at one row alone: write it without OVER)',
    ],
    'select lag(lambda x:x) over () from t': ['function value may only be passed to a function @12+10'],
    'select nope, rank() over (order by nope) from t': [
      '"nope" is not a column or table @8+4 (columns: id, v, s, ts)',
      '"nope" is not a column or table @36+4 (columns: id, v, s, ts)',
    ],
    'select sum(nope) over () from t': ['"nope" is not a column or table @12+4 (columns: id, v, s, ts)'],
    'select id, sum(v) over () from t group by id': ['column "v" must appear in GROUP BY clause @16+1'],
  });
});

describe('words of windows stay names', () => {
  test.each([
    'select count(*) over from t',
    'select count(*) as over, max(id) over from t',
    'select id over from t where id > 1',
    'select 1 as over, 2 as window, 3 as qualify, 4 as rows, 5 as range, 6 as partition',
    'select id window from t',
    'select id qualify from t',
    'select window.id from t window',
    'select qualify.id from t qualify where qualify.id > 1',
    'select window.id from t window order by window.id',
    'select qualify.id from t qualify join t b on qualify.id = b.id',
    'select qualify.a from t qualify(a, b) where a > 1',
    'select id from (select 1 as id) qualify',
    'select n from (select count(*) n from t) window',
    'from t qualify select qualify.id',
    'from t window select window.id',
    'select id from over',
    'select id from window',
    'select id from qualify',
    'with over as (select 1 as id) select id from over',
    'with window as (select 1 as id) select id from window',
    'select over.id from t over join t a on over.id = a.id',
    'from t | over:=1 | put window:=over | where window == 1',
    'select id ignore from t',
    'select id respect from t',
    'select rank() over (partition) from t window partition as ()',
    'select rank() over rows from t window rows as (order by id)',
    'select rank() over (range) from t window range as (order by id)',
    'select rank() over "from" from t window "from" as (order by id)',
    'select sum(id)over(order by id) x from t',
    'select id from t qualify (id) = 1 and rank() over () = 1',
  ])('%s', async (query) => {
    expect(await faultsOf(query)).toEqual([]);
  });
});

test('the normalised text of a window says all of it', () => {
  const query = parse(
    'select sum(distinct v) filter (where v > 1) ignore nulls over (w partition by a, b order by c desc nulls first, d rows between 1 preceding and unbounded following exclude ties), rank() over w',
  );
  const op = query.ops[0];
  const columns = op?.kind === 'sql-op' && op.query.body.kind === 'sql-select' ? op.query.body.columns : [];
  expect(columns.map((c) => (c.kind === 'sql-column' ? printExpr(c.expr) : ''))).toEqual([
    'sum(distinct v) filter v>1 ignore nulls over (w partition by a,b order by c desc nulls first,d rows between 1 preceding and unbounded following exclude ties)',
    'rank() over w',
  ]);
});

describe('plans', () => {
  test('calls over the same partitions and order share one sort, equal calls one field; only what is read is scanned', async () => {
    const plan = await compile(
      'select a, rank() over (partition by k order by v) as r, sum(x) over (partition by k order by v rows 1 preceding) as s, rank() over (partition by k order by v) + 1 as q, count(*) over () as n from p',
      lakeEnvironment(),
    );
    expect(planText(plan)).toBe(
      [
        'scan p columns (a, k, v, x)',
        'window w0:=rank(), w1:=sum(x) rows 1 preceding..current by k order v; w2:=count() of row',
        'values {a:row.a,r:w0,s:w1,q:w0+1,n:w2}',
        '',
      ].join('\n'),
    );
  });
  test('QUALIFY is a filter behind the windows, WHERE before them', async () => {
    const plan = await compile(
      'select a from p where a > 1 qualify row_number() over (order by b) = 1',
      lakeEnvironment(),
      { rulesOff: 'all' },
    );
    expect(planText(plan)).toBe(
      'scan p\nfilter a>1\nwindow w0:=row_number() order b of row\nfilter w0==1\nvalues {a:row.a}\n',
    );
  });
  test('windows over groups see the results of the aggregation', async () => {
    const plan = await compile(
      'select k, sum(sum(v)) over (order by count(*) desc) as s from p group by k having count(*) > 1',
      lakeEnvironment(),
      { rulesOff: 'all' },
    );
    expect(planText(plan)).toBe(
      [
        'scan p',
        'aggregate a0:=count(), a1:=sum(v) by k0:=k',
        'filter a0>1',
        'window w0:=sum(a1) order a0 desc of row',
        'values {k:row.k0,s:w0}',
        '',
      ].join('\n'),
    );
  });
});

describe('orders inside of aggregates', () => {
  refused({
    'select quantile_disc(v, 0.5 order by id) from t': [
      'ORDER BY in quantile_disc must be by its argument @38+2 (write quantile_disc(v, q order by v desc))',
    ],
    'select percentile_cont(v) from t': [
      'too few arguments @8+18 (write percentile_cont(...) within group (order by ...))',
    ],
    'select grouping(id) from t': ['GROUPING needs a GROUP BY clause @8+12'],
    'select grouping(v) from t group by id': ['an argument of GROUPING must be an expression of GROUP BY @8+11'],
    'select id from t where (select max(t.v)) > 1': ['aggregate function "max" called in non-aggregate context @32+8'],
  });
});
