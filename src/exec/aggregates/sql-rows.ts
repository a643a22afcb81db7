/** Aggregates that SQL alone knows: rows of the table as DuckDB and PostgreSQL have them. */
import { BitsState } from './bits.ts';
import { CombineState } from './states.ts';
import { BitStringState, bitStringMax } from './bit-strings.ts';
import { CellState } from './grouping/cells.ts';
import { CollectState } from './collect.ts';
import { JsonGroupState } from './json-groups.ts';
import { HeldState } from './grouping/held.ts';
import { ArgumentState } from './grouping/best-rows.ts';
import { PlaceState } from './grouping/places.ts';
import { type QuantileKind, QuantileState } from './numbers/quantiles.ts';
import { type AggregateRow, alias, counting, giving, givingBy, paired, row, signed, taking } from './row.ts';

/** Rows that other names of these stand for. */
interface Known {
  readonly argMax: AggregateRow;
  readonly argMin: AggregateRow;
  readonly named: (name: string) => AggregateRow;
}

const example = (query: string, input: string, output: string): AggregateRow['examples'] => [
  { query: `select ${query} as r`, input, output: `{r:${output}}` },
];
/** Values 1, 2 and 4, and null. */
const four = '{v:1}\n{v:2}\n{v:4}\n{v:null}';
/** It matters how often a value comes. */
const counts = true as const;
/** Points: y before x. */
const points = '{y:1,x:1}\n{y:2,x:2}\n{y:4,x:3}\n{y:null,x:4}';

const ofNumbers = (name: string, text: string, output: string): AggregateRow =>
  taking(
    'numbers',
    signed(
      counting(name, text, () => new CellState(name), example(`${name}(v)`, four, output)),
      { gives: 'float64' },
    ),
  );
const ofPoints = (name: string, text: string, output: string): AggregateRow =>
  taking('pairs', {
    ...paired(name, 2, text, () => new CellState(name, true), example(`${name}(y, x)`, points, output)),
    counts,
  });
const ofBits = (operation: 'and' | 'or' | 'xor', text: string, output: string): AggregateRow =>
  taking(
    'bits',
    counting(`bit_${operation}`, text, () => new BitsState(operation), [
      ...example(`bit_${operation}(v)`, '{v:5}\n{v:3}\n{v:null}', output),
      ...example(`bit_${operation}(v)`, '{v:"101"}\n{v:"011"}', `"${Number(output).toString(2).padStart(3, '0')}"`),
    ]),
  );
const quantile = (name: string, kind: QuantileKind, text: string, examples: AggregateRow['examples']): AggregateRow =>
  signed(
    { ...paired(name, 2, text, ({ sql }) => new QuantileState(name, kind, sql), examples), counts },
    {
      withinGroup: name.startsWith('percentile') ? 'needed' : 'allowed',
      ...(kind === 'discrete' && { gives: 'fraction' }),
    },
  );

const fractions =
  'at a fraction of the way through the values in order, or at each of an array of fractions; from the greatest down below 0';

/** The rows; `known` are those of aggregates that have other names here. */
export const sqlRows = ({ argMax, argMin, named }: Known): readonly AggregateRow[] => {
  const kahan = ofNumbers('kahan_sum', 'the sum of numbers as float64 without what rounding loses', '7.');
  const weighted = (name: string): AggregateRow =>
    alias(
      ofPoints('weighted_avg', 'the mean of values, each with the weight beside it', ''),
      name,
      example(`${name}(y, x)`, points, '2.8333333333333335'),
    );
  const first = (name: string): AggregateRow =>
    giving(
      row(
        name,
        'the value of the first row, null too',
        () => new PlaceState('first'),
        example(`${name}(v order by v desc)`, '{v:1}\n{v:2}', '2'),
      ),
    );
  const pairs = '{a:"x",b:1}\n{a:"y",b:2}\n{a:null,b:3}';
  return [
    row(
      'approx_count_distinct',
      'the number of distinct values, exact for small sets, else within about 1 %',
      (call) => named('dcount').state(call),
      example('approx_count_distinct(v)', '{v:1}\n{v:1}\n{v:2}', '2'),
    ),
    quantile(
      'approx_quantile',
      'rounded',
      `the number ${fractions}; whole among whole numbers, and exact`,
      example('approx_quantile(v, 0.5)', '{v:1}\n{v:2}\n{v:5}\n{v:6}', '4'),
    ),
    {
      ...paired(
        'approx_top_k',
        2,
        'the k values that come most often, as an array; exact',
        () => new HeldState('approx_top_k', 'frequent'),
        example('approx_top_k(v, 1)', '{v:1}\n{v:2}\n{v:2}', '[2]'),
      ),
      counts,
    },
    first('arbitrary'),
    ...['max_by', 'argmax'].map((name) => alias(argMax, name, example(`${name}(a, b)`, pairs, '"y"'))),
    ...['min_by', 'argmin'].map((name) => alias(argMin, name, example(`${name}(a, b)`, pairs, '"x"'))),
    givingBy(
      paired(
        'arg_max_null',
        2,
        'the first value, null too, beside which the second one is greatest',
        () => new ArgumentState(1, 'values'),
        example('arg_max_null(a, b)', pairs, 'null'),
      ),
    ),
    givingBy(
      paired(
        'arg_min_null',
        2,
        'the first value, null too, beside which the second one is least',
        () => new ArgumentState(-1, 'values'),
        example('arg_min_null(a, b)', pairs, '"x"'),
      ),
    ),
    signed(
      givingBy(
        paired(
          'arg_max_nulls_last',
          2,
          'the first value, null too, beside which the second one is greatest; where that is null only if there is no other; with a third argument n, the first n of them',
          ({ arity }) =>
            arity === 3 ? new HeldState('arg_max_nulls_last', 'greatestByNulls') : new ArgumentState(1, 'all'),
          [
            ...example('arg_max_nulls_last(a, b)', pairs, 'null'),
            ...example('arg_max_nulls_last(a, b, 2)', pairs, '[null,"y"]'),
          ],
        ),
      ),
      { argumentsMax: 3 },
    ),
    signed(
      givingBy(
        paired(
          'arg_min_nulls_last',
          2,
          'the first value, null too, beside which the second one is least; where that is null only if there is no other; with a third argument n, the first n of them',
          ({ arity }) =>
            arity === 3 ? new HeldState('arg_min_nulls_last', 'leastByNulls') : new ArgumentState(-1, 'all'),
          [
            ...example('arg_min_nulls_last(a, b)', pairs, '"x"'),
            ...example('arg_min_nulls_last(a, b, 2)', pairs, '["x","y"]'),
          ],
        ),
      ),
      { argumentsMax: 3 },
    ),
    ofBits('and', 'the bits that are set in all integers, or bit strings of one length', '1'),
    ofBits('or', 'the bits that are set in any of the integers, or bit strings of one length', '7'),
    ofBits('xor', 'the bits that are set in an odd number of the integers, or bit strings of one length', '6'),
    signed(
      paired(
        'bitstring_agg',
        1,
        `a bit string that tells which whole numbers come, the least on the left: from the least to the greatest of all groups, or from the second argument to the third; at most ${bitStringMax} bits`,
        () => new BitStringState(),
        [...example('bitstring_agg(v)', four, '"1101"'), ...example('bitstring_agg(v, 0, 5)', four, '"011010"')],
      ),
      { argumentsMax: 3 },
    ),
    row(
      'combine_aggr',
      'the state of an aggregate over the rows of all states that its calls with EXPORT_STATE made',
      () => new CombineState(),
      [
        {
          query:
            'select finalize(combine_aggr(s)) as r from (select k, sum(v) export_state as s from input group by k)',
          input: '{k:1,v:1}\n{k:1,v:2}\n{k:2,v:4}',
          output: '{r:7}',
        },
      ],
    ),
    ofPoints('corr', "Pearson's coefficient of correlation", '0.9819805060619659'),
    alias(named('count_if'), 'countif', example('countif(v > 1)', four, '2')),
    ofPoints('covar_pop', 'the covariance of pairs of numbers', '1.'),
    ofPoints('covar_samp', 'the covariance of a sample of pairs of numbers', '1.5'),
    counting(
      'entropy',
      'the entropy of the values in bits, 0 without any',
      () => new HeldState('entropy', 'entropy'),
      example('entropy(v)', '{v:1}\n{v:2}', '1.'),
    ),
    alias(named('bool_and'), 'every', example('every(v > 0)', four, 'true')),
    ofNumbers('favg', 'the mean of numbers as float64 without what rounding loses', '2.3333333333333335'),
    first('first'),
    ofNumbers('geomean', 'the geometric mean of numbers', '2.'),
    alias(
      ofNumbers('geomean', 'the geometric mean of numbers', '2.'),
      'geometric_mean',
      example('geometric_mean(v)', four, '2.'),
    ),
    {
      ...paired(
        'histogram',
        1,
        'how often each value comes, as a map; with an array of bounds how many values are above the bound before and up to it, and those beyond all under the greatest number (text: the empty one)',
        ({ arity }) => new HeldState('histogram', arity === 2 ? 'bins' : 'counts', true),
        [
          ...example('histogram(v)', '{v:1}\n{v:2}\n{v:1}', '|{1:2,2:1}|'),
          ...example('histogram(v, [1,3])', '{v:1}\n{v:2}\n{v:3}', '|{1:1,3:2}|'),
        ],
      ),
      counts,
    },
    {
      ...paired(
        'histogram_exact',
        2,
        'how often each of an array of values comes, as a map; the others under the greatest number (text: the empty one)',
        () => new HeldState('histogram_exact', 'exactBins'),
        example('histogram_exact(v, [1,3])', '{v:1}\n{v:1}\n{v:3}', '|{1:2,3:1}|'),
      ),
      counts,
    },
    counting(
      'json_group_array',
      'the values as an array of JSON, nulls too',
      () => new JsonGroupState('json_group_array', '[]'),
      example('json_group_array(v order by v)', '{v:"x"}\n{v:null}', '"[\\"x\\",null]"'),
    ),
    {
      ...paired(
        'json_group_object',
        2,
        'an object of JSON with a field for each row: its name and its value',
        () => new JsonGroupState('json_group_object', '{}'),
        example('json_group_object(a, b)', '{a:"x",b:1}\n{a:2,b:null}', '"{\\"x\\":1,\\"2\\":null}"'),
      ),
      counts,
    },
    kahan,
    alias(kahan, 'fsum', example('fsum(v)', four, '7.')),
    alias(kahan, 'sumkahan', example('sumkahan(v)', four, '7.')),
    ofNumbers('kurtosis', 'the excess kurtosis of a sample of numbers', 'null'),
    ofNumbers('kurtosis_pop', 'the excess kurtosis of numbers', '-1.5'),
    giving(
      row(
        'last',
        'the value of the last row, null too',
        () => new PlaceState('last'),
        example('last(v order by v)', '{v:1}\n{v:2}', '2'),
      ),
    ),
    signed(
      counting(
        'list',
        'the values as an array in the order of arrival, nulls too',
        () => new CollectState(true),
        example('list(v order by v desc)', '{v:1}\n{v:null}\n{v:2}', '[2,1,null]'),
      ),
      { gives: 'array' },
    ),
    ...['group_concat', 'listagg'].map((name) =>
      alias(named('string_agg'), name, example(`${name}(v, '-' order by v desc)`, four, '"4-2-1"')),
    ),
    {
      ...signed(
        paired(
          'lttb',
          3,
          'points (x, y) of a line, thinned out to a count of them so that its shape stays, as an array of records; by the largest triangles of three buckets, so that rows need an order',
          () => new HeldState('lttb', 'shape'),
          example(
            'lttb(x, y, 3 order by x)',
            '{y:1,x:1}\n{y:9,x:2}\n{y:4,x:3}\n{y:4,x:4}',
            '[{x:1,y:1},{x:2,y:9},{x:4,y:4}]',
          ),
        ),
        { argumentsMax: 3 },
      ),
      counts,
    },
    counting(
      'mad',
      'the median of the distances from the median, of numbers, times or durations',
      ({ sql }) => new QuantileState('mad', 'deviation', sql),
      example('mad(v)', four, '1.'),
    ),
    alias(named('avg'), 'mean', example('mean(v)', four, '2.3333333333333335')),
    quantile(
      'percentile_cont',
      'continuous',
      `the number ${fractions}, in between where none is there`,
      example('percentile_cont(0.25) within group (order by v desc)', four, '3.'),
    ),
    quantile(
      'percentile_disc',
      'discrete',
      `the value ${fractions}`,
      example('percentile_disc(0.25) within group (order by v desc)', four, '4'),
    ),
    ofNumbers('product', 'the product of numbers as float64', '8.'),
    quantile('quantile', 'discrete', `the value ${fractions}`, example('quantile(v, 0.5)', four, '2')),
    quantile(
      'quantile_cont',
      'continuous',
      `the number ${fractions}, in between where none is there; of times and durations too`,
      example('quantile_cont(v, [0.25, 0.5])', four, '[1.5,2.]'),
    ),
    quantile(
      'quantile_disc',
      'discrete',
      `the value ${fractions}`,
      example('quantile_disc(v, 0.5)', '{v:"a"}\n{v:"b"}', '"a"'),
    ),
    ofPoints('regr_avgx', 'the mean of x, second of the pairs of numbers', '2.'),
    ofPoints('regr_avgy', 'the mean of y, first of the pairs of numbers', '2.3333333333333335'),
    ofPoints('regr_count', 'the number of pairs of numbers', '3'),
    ofPoints('regr_intercept', 'where the line that fits pairs (y, x) best is at x = 0', '-0.6666666666666665'),
    ofPoints('regr_r2', 'how well a line fits pairs (y, x), from 0 to 1', '0.9642857142857144'),
    ofPoints('regr_slope', 'how steep the line is that fits pairs (y, x) best', '1.5'),
    ofPoints('regr_sxx', 'the sum of the squared distances of x from its mean', '2.'),
    ofPoints('regr_sxy', 'the sum of the products of the distances of y and x from their means', '3.'),
    ofPoints('regr_syy', 'the sum of the squared distances of y from its mean', '4.666666666666666'),
    signed(
      quantile(
        'reservoir_quantile',
        'discrete',
        `the value ${fractions}; exact, whatever size of sample the third argument asks for`,
        example('reservoir_quantile(v, 0.5, 100)', four, '2'),
      ),
      { argumentsMax: 3 },
    ),
    ofNumbers('sem', 'the standard error of the mean', '0.7200822998230957'),
    ofNumbers('skewness', 'the skewness of a sample of numbers', '0.9352195295828245'),
    weighted('wavg'),
    weighted('weighted_avg'),
  ].map((of): AggregateRow => signed(of, { sqlOnly: 'all' }));
};
