/** The table of aggregates: one row each, with what the README prints and what analysis and execution need. */
import type { FunctionCatalog, FunctionSignature } from '../../query/plan.ts';
import { AnyState } from './any.ts';
import { AvgState } from './avg.ts';
import { CollectMapState } from './collect-map.ts';
import { CollectState } from './collect.ts';
import { CountState } from './count.ts';
import { DistinctCountState } from './dcount.ts';
import { DistinctState } from './distinct.ts';
import { ExtremeState } from './extremes.ts';
import { FuseState } from './fuse.ts';
import { LogicState } from './logic.ts';
import type { AggregateState } from './state.ts';
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
export const stateFor = (row: AggregateRow, { all, distinct }: { readonly all: boolean; readonly distinct: boolean }): AggregateState =>
  distinct && row.counts ? new DistinctState(row.state(all)) : row.state(all);

const row = (
  name: string, text: string, state: AggregateRow['state'], examples: AggregateRow['examples'], argumentsMin: 0 | 1 = 1,
): AggregateRow => ({ signature: { name, argumentsMin, argumentsMax: 1 }, text, examples, state });

const counting = (...of: Parameters<typeof row>): AggregateRow => ({ ...row(...of), counts: true });

/** All aggregates of the language. */
export const aggregateTable: readonly AggregateRow[] = [
  row('and', 'true if all bools are true', () => new LogicState('and'), [{ query: 'and(this)', input: 'true\nfalse', output: 'false' }]),
  row('any', 'the first value that is neither null nor missing', () => new AnyState(), [{ query: 'any(this)', input: 'null\n1\n"a"', output: '1' }]),
  counting('avg', 'the mean of numbers, durations, times, bools and numeric strings as float64', () => new AvgState(), [{ query: 'avg(this)', input: '1\n2\n4', output: '2.3333333333333335' }]),
  counting('collect', 'the values as an array in the order of arrival', () => new CollectState(), [{ query: 'collect(this)', input: '1\nnull\n"a"\n[1]', output: '[1,"a",[1]]' }]),
  counting('collect_map', 'the entries of maps as one map, the last one per key', () => new CollectMapState(),
    [{ query: 'collect_map(|{k:v}|)', input: '{k:"a",v:1}\n{k:"b",v:2}\n{k:"a",v:3}', output: '|{"a":3,"b":2}|' }]),
  counting('count', 'the number of values; with an argument, of those that are neither null nor missing', (all) => new CountState(all),
    [{ query: 'count()', input: '1\nnull\n"a"\nerror("x")', output: '4' }], 0),
  row('dcount', 'the number of distinct values, exact for small sets, else within about 1 %', () => new DistinctCountState(),
    [{ query: 'dcount(this)', input: '1\n1\n2\n"1"\nnull', output: '3' }]),
  row('fuse', 'the fusion of the types of the values', () => new FuseState(), [{ query: 'fuse(this)', input: '{a:1}\n{b:"x"}', output: '<{a?:int64,b?:string}>' }]),
  row('max', 'the greatest number or string', () => new ExtremeState('max'), [{ query: 'max(this)', input: '1\n5\n2', output: '5' }]),
  row('min', 'the least number or string', () => new ExtremeState('min'), [{ query: 'min(this)', input: '3\n1\n2', output: '1' }]),
  row('or', 'true if any bool is true', () => new LogicState('or'), [{ query: 'or(this)', input: 'true\nfalse', output: 'true' }]),
  counting('sum', 'the sum of numbers, durations and times', () => new SumState(), [{ query: 'sum(this)', input: '1\n2\n3', output: '6' }]),
  row('union', 'the set of the distinct values', () => new UnionState(), [{ query: 'union(this)', input: '3\n1\n2\n1', output: '|[1,2,3]|' }]),
];

const byName = new Map(aggregateTable.map((r) => [r.signature.name, r]));
/** The row of that lower-case name. */
export const aggregateNamed = (name: string): AggregateRow | undefined => byName.get(name);
/** The aggregates as analysis looks them up. */
export const aggregateCatalog: FunctionCatalog = { find: (name) => byName.get(name)?.signature, names: () => byName.keys() };
