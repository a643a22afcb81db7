/** The table of aggregates: one row each, with what the README prints and what analysis and execution need. */
import type { FunctionCatalog, FunctionSignature } from '../../query/plan.ts';
import { AnyState } from './any.ts';
import { AvgState } from './avg.ts';
import { CollectMapState } from './collect-map.ts';
import { CollectState } from './collect.ts';
import { CountState } from './count.ts';
import { CountTrueState } from './count-true.ts';
import { DistinctCountState } from './dcount.ts';
import { DistinctState } from './distinct.ts';
import { ExtremeState } from './extremes.ts';
import { FuseState } from './fuse.ts';
import { LogicState } from './logic.ts';
import { MedianState } from './median.ts';
import { ModeState } from './mode.ts';
import { ArgumentState, TextState } from './pairs.ts';
import { SpreadState } from './spread.ts';
import type { AggregateState } from './state.ts';
import { BoolsState } from './sql-bools.ts';
import { SumState } from './sum.ts';
import { UnionState } from './union.ts';

/** One aggregate: what the help says of it, and how its state is made. */
interface AggregateRow {
  readonly signature: FunctionSignature;
  readonly text: string;
  /** Query, input and output in SUP, one value a line. */
  readonly examples: readonly { readonly query: string; readonly input: string; readonly output: string }[];
  /** A fresh state; `all`: without argument. */
  readonly state: (all: boolean) => AggregateState;
  /** It matters how often a value comes; to the others `distinct` says nothing. */
  readonly counts?: true;
}

/** A fresh state of an aggregate that is called so. */
export const stateFor = (row: AggregateRow, { all, distinct, sql = false }: { readonly all: boolean; readonly distinct: boolean; readonly sql?: boolean | undefined }): AggregateState => {
  const state = (sql ? sqlStates[row.signature.name]?.() : undefined) ?? row.state(all);
  return distinct && row.counts ? new DistinctState(state) : state;
};
/** Aggregates that are stricter in SQL, or take more. */
const sqlStates: Readonly<Record<string, () => AggregateState>> = {
  sum: () => new BoolsState('sum', new SumState(true)), min: () => new BoolsState('min', new ExtremeState('min')), max: () => new BoolsState('max', new ExtremeState('max')),
};

const row = (
  name: string, text: string, state: AggregateRow['state'], examples: AggregateRow['examples'], argumentsMin: 0 | 1 = 1,
): AggregateRow => ({ signature: { name, argumentsMin, argumentsMax: 1 }, text, examples, state });

/** An aggregate under another name. */
const alias = (of: AggregateRow, name: string, examples: AggregateRow['examples']): AggregateRow => ({ ...of, signature: { ...of.signature, name }, examples });
/** One whose second argument may be there; both come as fields of a record. */
const paired = (name: string, argumentsMin: number, text: string, state: AggregateRow['state'], examples: AggregateRow['examples']): AggregateRow =>
  ({ signature: { name, argumentsMin, argumentsMax: 2 }, text, examples, state });
const spreadRow = (name: string, text: string, spread: { readonly sample: boolean; readonly root: boolean }, output: string): AggregateRow =>
  counting(name, text, () => new SpreadState(spread), [{ query: `${name}(this)`, input: '1\n2\n4\nnull', output }]);

const counting = (...of: Parameters<typeof row>): AggregateRow => ({ ...row(...of), counts: true });

const and = row('and', 'true if all bools are true', () => new LogicState('and'), [{ query: 'and(this)', input: 'true\nfalse', output: 'false' }]);
const any = row('any', 'the first value that is neither null nor missing', () => new AnyState(), [{ query: 'any(this)', input: 'null\n1\n"a"', output: '1' }]);
const or = row('or', 'true if any bool is true', () => new LogicState('or'), [{ query: 'or(this)', input: 'true\nfalse', output: 'true' }]);

/** All aggregates of the language. */
export const aggregateTable: readonly AggregateRow[] = [
  and,
  any,
  alias(any, 'any_value', [{ query: 'any_value(this)', input: 'null\n1\n"a"', output: '1' }]),
  paired('arg_max', 2, 'the first value beside which the second one is greatest', () => new ArgumentState(1), [{ query: 'arg_max(a,b)', input: '{a:"x",b:1}\n{a:"y",b:2}', output: '"y"' }]),
  paired('arg_min', 2, 'the first value beside which the second one is least', () => new ArgumentState(-1), [{ query: 'arg_min(a,b)', input: '{a:"x",b:1}\n{a:"y",b:2}', output: '"x"' }]),
  counting('array_agg', 'the values as an array in the order of arrival, nulls too', () => new CollectState(true), [{ query: 'array_agg(this)', input: '1\nnull\n2', output: '[1,null,2]' }]),
  counting('avg', 'the mean of numbers, durations, times, bools and numeric strings as float64', () => new AvgState(), [{ query: 'avg(this)', input: '1\n2\n4', output: '2.3333333333333335' }]),
  alias(and, 'bool_and', [{ query: 'bool_and(this)', input: 'true\nfalse', output: 'false' }]),
  alias(or, 'bool_or', [{ query: 'bool_or(this)', input: 'true\nfalse', output: 'true' }]),
  counting('collect', 'the values as an array in the order of arrival', () => new CollectState(), [{ query: 'collect(this)', input: '1\nnull\n"a"\n[1]', output: '[1,"a",[1]]' }]),
  counting('collect_map', 'the entries of maps as one map, the last one per key', () => new CollectMapState(),
    [{ query: 'collect_map(|{k:v}|)', input: '{k:"a",v:1}\n{k:"b",v:2}\n{k:"a",v:3}', output: '|{"a":3,"b":2}|' }]),
  counting('count', 'the number of values; with an argument, of those that are neither null nor missing', (all) => new CountState(all),
    [{ query: 'count()', input: '1\nnull\n"a"\nerror("x")', output: '4' }], 0),
  counting('count_if', 'the number of bools that are true', () => new CountTrueState(), [{ query: 'count_if(this>1)', input: '1\n2\n3\nnull', output: '2' }]),
  row('dcount', 'the number of distinct values, exact for small sets, else within about 1 %', () => new DistinctCountState(),
    [{ query: 'dcount(this)', input: '1\n1\n2\n"1"\nnull', output: '3' }]),
  row('fuse', 'the fusion of the types of the values', () => new FuseState(), [{ query: 'fuse(this)', input: '{a:1}\n{b:"x"}', output: '<{a?:int64,b?:string}>' }]),
  row('max', 'the greatest number or string', () => new ExtremeState('max'), [{ query: 'max(this)', input: '1\n5\n2', output: '5' }]),
  counting('median', 'the number in the middle, or the mean of the two there', () => new MedianState(), [{ query: 'median(this)', input: '1\n5\n2\n4', output: '3.' }]),
  row('min', 'the least number or string', () => new ExtremeState('min'), [{ query: 'min(this)', input: '3\n1\n2', output: '1' }]),
  row('mode', 'the value that comes most often, of several such the first', () => new ModeState(), [{ query: 'mode(this)', input: '1\n2\n2\nnull', output: '2' }]),
  or,
  spreadRow('stddev', 'the standard deviation of a sample of numbers', { sample: true, root: true }, '1.5275252316519465'),
  spreadRow('stddev_pop', 'the standard deviation of numbers', { sample: false, root: true }, '1.247219128924647'),
  spreadRow('stddev_samp', 'the standard deviation of a sample of numbers', { sample: true, root: true }, '1.5275252316519465'),
  { ...paired('string_agg', 1, 'the values as text with the second argument (a comma) in between', () => new TextState(), [{ query: 'string_agg(a,"-")', input: '{a:"x"}\n{a:null}\n{a:1}', output: '"x-1"' }]), counts: true },
  counting('sum', 'the sum of numbers, durations and times', () => new SumState(), [{ query: 'sum(this)', input: '1\n2\n3', output: '6' }]),
  row('union', 'the set of the distinct values', () => new UnionState(), [{ query: 'union(this)', input: '3\n1\n2\n1', output: '|[1,2,3]|' }]),
  spreadRow('var_pop', 'the variance of numbers', { sample: false, root: false }, '1.5555555555555554'),
  spreadRow('var_samp', 'the variance of a sample of numbers', { sample: true, root: false }, '2.333333333333333'),
  spreadRow('variance', 'the variance of a sample of numbers', { sample: true, root: false }, '2.333333333333333'),
];

const byName = new Map(aggregateTable.map((r) => [r.signature.name, r]));
/** The row of that lower-case name. */
export const aggregateNamed = (name: string): AggregateRow | undefined => byName.get(name);
/** The aggregates as analysis looks them up. */
export const aggregateCatalog: FunctionCatalog = { find: (name) => byName.get(name)?.signature, names: () => byName.keys() };
