/**
 * The table of window functions: one row each, with what the README prints and what analysis and execution need.
 * Aggregates stand over windows too.
 */
import { either, orNull } from '../../query/types/of.ts';
import type { FunctionCatalog, FunctionSignature, WindowFrame } from '../../query/plan/plan.ts';
import { types } from '../../vectors/type.ts';
import type { Vector } from '../../vectors/vector.ts';
import { filledIn } from './fill.ts';
import { type Frames, framesOf } from './frames.ts';
import { type Around, firstValue, lastValue, nthValue, shifted } from './places.ts';
import { cumeDist, denseRank, ntile, percentRank, rank, rowNumber } from './ranks.ts';
import type { Segment } from './segment.ts';

/** What a window function is computed from; arguments have a row for each of the segment. */
interface WindowInput {
  readonly segment: Segment;
  readonly arguments: readonly Vector[];
  readonly ignoreNulls: boolean;
  /** Worked out when a function asks for it: ranks look at no frame. */
  readonly frames: () => Frames;
  /** For lag and lead where a partition is cut. */
  readonly around?: Around;
}
/** One window function: what the help says of it, and how it is computed. */
interface WindowRow {
  readonly signature: FunctionSignature;
  /** How it is written. */
  readonly syntax: string;
  readonly text: string;
  /** Query, input and output in SUP, one value a line. */
  readonly examples: readonly { readonly query: string; readonly input: string; readonly output: string }[];
  readonly compute: (input: WindowInput) => Vector;
}

/** What most rows do without: `count` of arguments (none if absent). */
interface Rest {
  readonly count?: readonly [min: number, max: number];
  readonly result?: FunctionSignature['result'];
  readonly treatsNulls?: boolean;
  readonly takesOrder?: boolean;
  readonly parameters?: FunctionSignature['parameters'];
}

const row = (
  syntax: string,
  text: string,
  compute: WindowRow['compute'],
  examples: WindowRow['examples'],
  { count = [0, 0], result, treatsNulls, takesOrder, parameters }: Rest,
): WindowRow => ({
  signature: {
    name: syntax.slice(0, syntax.indexOf('(')),
    argumentsMin: count[0],
    argumentsMax: count[1],
    ...(result && { result }),
    ...(treatsNulls && { treatsNulls }),
    ...(takesOrder && { takesOrder }),
    ...(parameters && { parameters }),
  },
  syntax,
  text,
  examples,
  compute,
});

const integer: Rest = { result: () => types.int64 };
/** They may have an order of their own. */
const takesOrder = true;
/** The names that arguments of lag and lead may have, as in DuckDB. */
const parameters: readonly string[] = ['col', 'offset', 'default'];
const place: Rest = { ...integer, takesOrder };
const share: Rest = { result: () => types.float64, takesOrder };
/** The argument or null. */
const ofArgument: FunctionSignature['result'] = ([argument]) => argument && orNull(argument);
/** The argument or the default. */
const orOther: FunctionSignature['result'] = (given) => {
  const [argument, , other] = given;
  if (!argument || given.length < 3) return argument && orNull(argument);
  return other && orNull(either(argument, other));
};
const value = (max: number, result: FunctionSignature['result'] = ofArgument): Rest => ({
  count: [max === 2 ? 2 : 1, max],
  result,
  treatsNulls: true,
});

const four = '{k:"a",v:10}\n{k:"b",v:20}\n{k:"a",v:20}\n{k:"b",v:null}';

/** All window functions that are no aggregates. */
export const windowTable: readonly WindowRow[] = [
  row(
    'row_number()',
    'the number of the row in its partition, from 1',
    ({ segment }) => rowNumber(segment),
    [
      {
        query: 'select v, row_number() over (partition by k order by v) as n',
        input: four,
        output: '{v:10,n:1}\n{v:20,n:2}\n{v:20,n:1}\n{v:null,n:2}',
      },
    ],
    place,
  ),
  row(
    'rank()',
    'the number of the first row with the same ORDER BY keys: rows that tie share it, the next ones skip; with ORDER BY among the arguments, as row_number, percent_rank, cume_dist, ntile, lag, lead and nth_value may have it, among the rows of the frame in that order',
    ({ segment }) => rank(segment),
    [
      {
        query: 'select v, rank() over (order by v) as r',
        input: four,
        output: '{v:10,r:1}\n{v:20,r:2}\n{v:20,r:2}\n{v:null,r:4}',
      },
      {
        query: 'select v, rank(order by v desc) over (order by v rows between 1 preceding and current row) as r',
        input: '{v:1}\n{v:2}',
        output: '{v:1,r:1}\n{v:2,r:1}',
      },
    ],
    place,
  ),
  row(
    'dense_rank()',
    'the rank without gaps: the number of the group of rows that tie',
    ({ segment }) => denseRank(segment),
    [
      {
        query: 'select v, dense_rank() over (order by v) as r',
        input: four,
        output: '{v:10,r:1}\n{v:20,r:2}\n{v:20,r:2}\n{v:null,r:3}',
      },
    ],
    integer,
  ),
  row(
    'percent_rank()',
    'the rank as a share from 0 to 1: (rank - 1) / (rows - 1)',
    ({ segment }) => percentRank(segment),
    [
      {
        query: 'select v, percent_rank() over (order by v) as p',
        input: '{v:1}\n{v:2}\n{v:3}',
        output: '{v:1,p:0.}\n{v:2,p:0.5}\n{v:3,p:1.}',
      },
    ],
    share,
  ),
  row(
    'cume_dist()',
    'the share of the rows that come before or tie with this one',
    ({ segment }) => cumeDist(segment),
    [
      {
        query: 'select v, cume_dist() over (order by v) as c',
        input: '{v:1}\n{v:2}\n{v:2}\n{v:3}',
        output: '{v:1,c:0.25}\n{v:2,c:0.75}\n{v:2,c:0.75}\n{v:3,c:1.}',
      },
    ],
    share,
  ),
  row(
    'ntile(n)',
    'the number of the bucket of n that are filled evenly, in order',
    ({ segment, arguments: [n] }) => ntile(segment, n!),
    [
      {
        query: 'select v, ntile(2) over (order by v) as h',
        input: '{v:1}\n{v:2}\n{v:3}',
        output: '{v:1,h:1}\n{v:2,h:1}\n{v:3,h:2}',
      },
    ],
    { count: [1, 1], ...place },
  ),
  row(
    'lag(v[, n[, default]])',
    'the value n rows before (1 if left out), or the default, null where there is no such row',
    (x) => shifted(x, -1),
    [
      {
        query: 'select v, lag(v) over (order by v) as before',
        input: '{v:1}\n{v:2}\n{v:4}',
        output: '{v:1,before:null}\n{v:2,before:1}\n{v:4,before:2}',
      },
    ],
    { ...value(3, orOther), takesOrder, parameters },
  ),
  row(
    'lead(v[, n[, default]])',
    'the value n rows later (1 if left out), or the default, null where there is no such row',
    (x) => shifted(x, 1),
    [
      {
        query: 'select v, lead(v, 1, 0) over (order by v) as next',
        input: '{v:1}\n{v:2}\n{v:4}',
        output: '{v:1,next:2}\n{v:2,next:4}\n{v:4,next:0}',
      },
    ],
    { ...value(3, orOther), takesOrder, parameters },
  ),
  row(
    'first_value(v)',
    'the value of the first row of the frame',
    (x) => firstValue(x.segment, x.frames(), x.arguments[0]!, x.ignoreNulls),
    [
      {
        query: 'select v, first_value(v) over (order by v desc) as most',
        input: '{v:1}\n{v:2}',
        output: '{v:2,most:2}\n{v:1,most:2}',
      },
    ],
    value(1),
  ),
  row(
    'last_value(v)',
    'the value of the last row of the frame, which ends with the rows that tie with this one unless it is said otherwise',
    (x) => lastValue(x.segment, x.frames(), x.arguments[0]!, x.ignoreNulls),
    [
      {
        query: 'select v, last_value(v) over (order by v rows between current row and unbounded following) as most',
        input: '{v:1}\n{v:2}',
        output: '{v:1,most:2}\n{v:2,most:2}',
      },
    ],
    value(1),
  ),
  row(
    'first(v)',
    'the value of the first row of the frame: first_value under another name',
    (x) => firstValue(x.segment, x.frames(), x.arguments[0]!, x.ignoreNulls),
    [
      {
        query: 'select v, first(v) over (order by v desc) as most',
        input: '{v:1}\n{v:2}',
        output: '{v:2,most:2}\n{v:1,most:2}',
      },
    ],
    value(1),
  ),
  row(
    'last(v)',
    'the value of the last row of the frame: last_value under another name',
    (x) => lastValue(x.segment, x.frames(), x.arguments[0]!, x.ignoreNulls),
    [
      {
        query: 'select v, last(v ignore nulls) over (order by v rows unbounded preceding) as most',
        input: '{v:1}\n{v:null}',
        output: '{v:1,most:1}\n{v:null,most:1}',
      },
    ],
    value(1),
  ),
  row(
    'nth_value(v, n)',
    'the value of row n of the frame, from 1; null where the frame is shorter',
    (x) => nthValue(x.segment, x.frames(), x.arguments, x.ignoreNulls),
    [
      {
        query: 'select v, nth_value(v, 2) over (order by v) as second',
        input: '{v:1}\n{v:2}\n{v:3}',
        output: '{v:1,second:null}\n{v:2,second:2}\n{v:3,second:2}',
      },
    ],
    { ...value(2), takesOrder },
  ),
  row(
    'fill(v)',
    'the value; where it is null, what lies between those of the rows around it by the one ORDER BY key, which is a number, time or duration; at the ends the line through the two that are nearest goes on',
    ({ segment, arguments: [v] }) => filledIn(segment, v!),
    [
      {
        query: 'select k, fill(v) over (order by k) as v',
        input: '{k:1,v:10}\n{k:2,v:null}\n{k:4,v:40}\n{k:5,v:null}',
        output: '{k:1,v:10}\n{k:2,v:20}\n{k:4,v:40}\n{k:5,v:50}',
      },
    ],
    { count: [1, 1], result: ofArgument, takesOrder },
  ),
];

const byName = new Map(windowTable.map((r) => [r.signature.name, r]));
/** The row of that lower-case name. */
export const windowNamed = (name: string): WindowRow | undefined => byName.get(name);
/** The window functions that are no aggregates, as analysis looks them up. */
export const windowCatalog: FunctionCatalog = {
  find: (name) => byName.get(name)?.signature,
  names: () => byName.keys(),
};

/** The frames of a segment, worked out when they are first asked for. */
export const framesFor = (
  segment: Segment,
  frame: WindowFrame,
  argument: (index: number) => Vector,
): (() => Frames) => {
  let made: Frames | undefined;
  return () => (made ??= framesOf(segment, frame, argument));
};
