/** The table of aggregates: one row each, with what the README prints and what analysis and execution need. */
import type { FunctionCatalog } from '../../query/plan/plan.ts';
import { AnyExtremeState } from './any-extremes.ts';
import { AvgState } from './numbers/avg.ts';
import { TimelyAvgState } from './numbers/averages.ts';
import { CollectMapState } from './collect-map.ts';
import { CollectState } from './collect.ts';
import { CountState } from './count.ts';
import { CountTrueState } from './count-true.ts';
import { DistinctCountState } from './dcount.ts';
import { ExtremeState } from './extremes.ts';
import { FuseState } from './fuse.ts';
import { HeldState } from './grouping/held.ts';
import { LogicState } from './logic.ts';
import { MedianState } from './numbers/median.ts';
import { ModeState } from './mode.ts';
import { ArgumentState } from './grouping/best-rows.ts';
import { TextState } from './grouping/pairs.ts';
import { PlaceState } from './grouping/places.ts';
import { rowsByName } from './named.ts';
import { QuantileState } from './numbers/quantiles.ts';
import { type AggregateRow, alias, counting, giving, givingBy, paired, row, signed, taking } from './row.ts';
import { SpreadState } from './numbers/spread.ts';
import { sqlRows } from './sql-rows.ts';
import { SumState } from './numbers/sum.ts';
import { UnionState } from './union.ts';

export { aggregateNamed, stateFor } from './named.ts';

const spreadRow = (
  name: string,
  text: string,
  spread: { readonly sample: boolean; readonly root: boolean },
  output: string,
): AggregateRow =>
  taking(
    'numbers',
    signed(
      counting(name, text, () => new SpreadState(spread), [{ query: `${name}(this)`, input: '1\n2\n4\nnull', output }]),
      { gives: 'float64', skipsNulls: true },
    ),
  );

/** To which null is as good as no value. */
const skipping = (of: AggregateRow): AggregateRow => signed(of, { skipsNulls: true });

/** Also the count of values in SQL: the first so many of them. */
const few = (of: AggregateRow, count: number): AggregateRow =>
  signed(of, { argumentsMax: count, sqlOnly: { pipeArgumentsMax: count - 1 } });

const and = row('and', 'true if all bools are true', () => new LogicState('and'), [
  { query: 'and(this)', input: 'true\nfalse', output: 'false' },
]);
const any = giving(
  row('any', 'the first value that is neither null nor missing', () => new PlaceState('any'), [
    { query: 'any(this)', input: 'null\n1\n"a"', output: '1' },
  ]),
);
const or = row('or', 'true if any bool is true', () => new LogicState('or'), [
  { query: 'or(this)', input: 'true\nfalse', output: 'true' },
]);
const argMax = few(
  givingBy(
    paired(
      'arg_max',
      2,
      'the first value beside which the second one is greatest; in SQL with a third argument n, the first n of them',
      ({ arity }) => (arity === 3 ? new HeldState('arg_max', 'greatestBy') : new ArgumentState(1)),
      [
        { query: 'arg_max(a,b)', input: '{a:"x",b:1}\n{a:"y",b:2}', output: '"y"' },
        {
          query: 'select arg_max(a, b, 2) as m',
          input: '{a:"x",b:1}\n{a:"y",b:3}\n{a:"z",b:2}',
          output: '{m:["y","z"]}',
        },
      ],
    ),
  ),
  3,
);
const argMin = few(
  givingBy(
    paired(
      'arg_min',
      2,
      'the first value beside which the second one is least; in SQL with a third argument n, the first n of them',
      ({ arity }) => (arity === 3 ? new HeldState('arg_min', 'leastBy') : new ArgumentState(-1)),
      [
        { query: 'arg_min(a,b)', input: '{a:"x",b:1}\n{a:"y",b:2}', output: '"x"' },
        {
          query: 'select arg_min(a, b, 2) as m',
          input: '{a:"x",b:1}\n{a:"y",b:3}\n{a:"z",b:2}',
          output: '{m:["x","z"]}',
        },
      ],
    ),
  ),
  3,
);

/** The aggregates that pipes know too. */
const languageRows: readonly AggregateRow[] = [
  and,
  any,
  alias(any, 'any_value', [{ query: 'any_value(this)', input: 'null\n1\n"a"', output: '1' }]),
  argMax,
  argMin,
  signed(
    counting('array_agg', 'the values as an array in the order of arrival, nulls too', () => new CollectState(true), [
      { query: 'array_agg(this)', input: '1\nnull\n2', output: '[1,null,2]' },
    ]),
    { gives: 'array' },
  ),
  skipping({
    ...taking(
      'amounts',
      counting(
        'avg',
        'the mean of numbers, durations, times, bools and, in pipes, numeric strings as float64; in SQL that of times and durations is one itself',
        ({ sql }) => (sql ? new TimelyAvgState() : new AvgState()),
        [
          { query: 'avg(this)', input: '1\n2\n4', output: '2.3333333333333335' },
          { query: 'select avg(d) as m', input: '{d:1h}\n{d:2h}', output: '{m:1h30m}' },
        ],
      ),
    ),
    takesSpans: true,
    signature: { name: 'avg', argumentsMin: 1, argumentsMax: 1, gives: 'float64' },
  }),
  alias(and, 'bool_and', [{ query: 'bool_and(this)', input: 'true\nfalse', output: 'false' }]),
  alias(or, 'bool_or', [{ query: 'bool_or(this)', input: 'true\nfalse', output: 'true' }]),
  counting('collect', 'the values as an array in the order of arrival', () => new CollectState(), [
    { query: 'collect(this)', input: '1\nnull\n"a"\n[1]', output: '[1,"a",[1]]' },
  ]),
  counting('collect_map', 'the entries of maps as one map, the last one per key', () => new CollectMapState(), [
    { query: 'collect_map(|{k:v}|)', input: '{k:"a",v:1}\n{k:"b",v:2}\n{k:"a",v:3}', output: '|{"a":3,"b":2}|' },
  ]),
  skipping(
    counting(
      'count',
      'the number of values; with an argument, of those that are neither null nor missing',
      ({ all }) => new CountState(all),
      [{ query: 'count()', input: '1\nnull\n"a"\nerror("x")', output: '4' }],
      0,
    ),
  ),
  counting('count_if', 'the number of bools that are true', () => new CountTrueState(), [
    { query: 'count_if(this>1)', input: '1\n2\n3\nnull', output: '2' },
  ]),
  row(
    'dcount',
    'the number of distinct values, exact for small sets, else within about 1 %',
    ({ sql }) => new DistinctCountState(sql),
    [{ query: 'dcount(this)', input: '1\n1\n2\n"1"\nnull', output: '3' }],
  ),
  row('fuse', 'the fusion of the types of the values', () => new FuseState(), [
    { query: 'fuse(this)', input: '{a:1}\n{b:"x"}', output: '<{a?:int64,b?:string}>' },
  ]),
  skipping(
    few(
      giving(
        counting(
          'max',
          'the greatest number or string; in SQL the greatest value of any type, with a second argument n, the first n of them',
          ({ sql, arity }) =>
            arity === 2 ? new HeldState('max', 'greatest') : sql ? new AnyExtremeState('max') : new ExtremeState('max'),
          [
            { query: 'max(this)', input: '1\n5\n2', output: '5' },
            {
              query: 'select max(v) as m, max(v, 2) as two',
              input: '{v:[1,2]}\n{v:[2]}\n{v:[1]}',
              output: '{m:[2],two:[[2],[1,2]]}',
            },
          ],
        ),
      ),
      2,
    ),
  ),
  counting(
    'median',
    'the number in the middle, or the mean of the two there; in SQL the value in the middle of any',
    ({ sql }) => (sql ? new QuantileState('median', 'median', sql) : new MedianState()),
    [
      { query: 'median(this)', input: '1\n5\n2\n4', output: '3.' },
      { query: 'select median(v) as m', input: '{v:"a"}\n{v:"c"}\n{v:"b"}', output: '{m:"b"}' },
    ],
  ),
  skipping(
    few(
      giving(
        counting(
          'min',
          'the least number or string; in SQL the least value of any type, with a second argument n, the first n of them',
          ({ sql, arity }) =>
            arity === 2 ? new HeldState('min', 'least') : sql ? new AnyExtremeState('min') : new ExtremeState('min'),
          [
            { query: 'min(this)', input: '3\n1\n2', output: '1' },
            {
              query: 'select min(v) as m, min(v, 2) as two',
              input: '{v:true}\n{v:false}\n{v:null}',
              output: '{m:false,two:[false,true]}',
            },
          ],
        ),
      ),
      2,
    ),
  ),
  signed(
    counting('mode', 'the value that comes most often, of several such the first', ({ sql }) => new ModeState(sql), [
      { query: 'mode(this)', input: '1\n2\n2\nnull', output: '2' },
      { query: 'select mode() within group (order by v) as m', input: '{v:1}\n{v:2}\n{v:2}', output: '{m:2}' },
    ]),
    { withinGroup: 'allowed', gives: 'argument' },
  ),
  or,
  spreadRow(
    'stddev',
    'the standard deviation of a sample of numbers',
    { sample: true, root: true },
    '1.5275252316519465',
  ),
  spreadRow('stddev_pop', 'the standard deviation of numbers', { sample: false, root: true }, '1.247219128924647'),
  spreadRow(
    'stddev_samp',
    'the standard deviation of a sample of numbers',
    { sample: true, root: true },
    '1.5275252316519465',
  ),
  {
    ...paired(
      'string_agg',
      1,
      'the values as text with the second argument (a comma) in between',
      () => new TextState(),
      [{ query: 'string_agg(a,"-")', input: '{a:"x"}\n{a:null}\n{a:1}', output: '"x-1"' }],
    ),
    counts: true,
  },
  skipping(
    taking(
      'amounts',
      counting(
        'sum',
        'the sum of numbers, durations and times; in SQL bools are numbers too, and what is out of the range of 64 bits is an error',
        ({ sql }) => new SumState(sql === true),
        [
          { query: 'sum(this)', input: '1\n2\n3', output: '6' },
          { query: 'select sum(v) as s', input: '{v:true}\n{v:false}\n{v:true}', output: '{s:2}' },
        ],
      ),
    ),
  ),
  row('union', 'the set of the distinct values', () => new UnionState(), [
    { query: 'union(this)', input: '3\n1\n2\n1', output: '|[1,2,3]|' },
  ]),
  spreadRow('var_pop', 'the variance of numbers', { sample: false, root: false }, '1.5555555555555554'),
  spreadRow('var_samp', 'the variance of a sample of numbers', { sample: true, root: false }, '2.333333333333333'),
  spreadRow('variance', 'the variance of a sample of numbers', { sample: true, root: false }, '2.333333333333333'),
];

/** All aggregates: the table is in the order of the names. */
export const aggregateTable: readonly AggregateRow[] = [
  ...languageRows,
  ...sqlRows({ argMax, argMin, named: (name) => languageRows.find((r) => r.signature.name === name)! }),
].sort((a, b) => (a.signature.name < b.signature.name ? -1 : 1));

for (const r of aggregateTable) rowsByName.set(r.signature.name, r);
/** The aggregates as analysis looks them up. */
export const aggregateCatalog: FunctionCatalog = {
  find: (name) => rowsByName.get(name)?.signature,
  names: () => rowsByName.keys(),
};
