/** What an aggregate is made with: its keys and states, and what of its groups is wanted. */
import type { Aggregate, FieldPath } from '../../../query/plan/plan.ts';
import { aggregateNamed, stateFor } from '../../aggregates/aggregates.ts';
import type { AggregateState } from '../../aggregates/grouping/state.ts';
import type { StateCall } from '../../aggregates/row.ts';
import { needsDriver } from '../../expressions/compile.ts';
import type { AsyncEvaluator } from '../../expressions/evaluator.ts';
import type { KeyHalf } from '../../source.ts';
import type { BlockTotals } from '../block-totals.ts';
import type { Build } from '../build.ts';
import { plain } from '../distinct.ts';
import type { TotalsSink } from '../scan.ts';
import { type KeyBound, keyBound } from '../sort/top.ts';
import type { TopOptions } from '../sort/top-options.ts';
import type { PlanOp } from '../../../query/plan/plan.ts';

export type AggregateOp = Extract<PlanOp, { kind: 'aggregate' }>;

interface Compiled {
  readonly argument: AsyncEvaluator | undefined;
  readonly where: AsyncEvaluator | undefined;
  readonly make: () => AggregateState;
}
/** `isPassing`: nothing of what the arguments give is kept. */
export interface Parts {
  readonly op: AggregateOp;
  /** Tells which groups may be among the best, where these alone are wanted, by the result in a column. */
  readonly bound?: { readonly column: number; readonly keep: KeyBound['keep'] };
  readonly totals?: TotalsSink & BlockTotals;
  /** The groups of this half alone are made. */
  readonly half?: KeyHalf;
  /** Groups beyond the first so many are not wanted. */
  readonly head?: number | undefined;
  readonly isPassing: boolean;
  readonly build: Build;
  readonly keys: readonly AsyncEvaluator[];
  readonly aggregates: readonly Compiled[];
  readonly targets: readonly FieldPath[];
}

/** The parts of one run, where only the best groups are wanted. */
export const boundedBy = (parts: Parts, best: TopOptions | undefined): (() => Parts) => {
  const bound = best && keyBound(best);
  return () => (bound ? { ...parts, ...boundOf(parts, bound()) } : parts);
};

/** The bound by a result: keys are made for the groups that pass it alone. */
const boundOf = ({ op, targets }: Parts, { path, keep }: KeyBound): Pick<Parts, 'bound'> => {
  const column = targets.findIndex((t) => t.length === path.length && t.every((name, k) => name === path[k]));
  return column >= op.keys.length ? { bound: { column, keep } } : {};
};

export const partsOf = (op: AggregateOp, build: Build): Parts => ({
  op,
  build,
  isPassing: keepsNothing(op),
  keys: op.keys.map((k) => (op.sql ? plain(build.expression(k.expr)) : build.expression(k.expr))),
  aggregates: op.aggregates.map((a) => compiled(a.aggregate, build)),
  targets: [...op.keys.map((k) => k.target), ...op.aggregates.map((a) => a.target)],
});

/** Whether nothing of what the arguments give is needed once the states have seen it. */
const keepsNothing = ({ aggregates }: AggregateOp): boolean =>
  aggregates.every(
    ({ aggregate: a }) =>
      !a.distinct &&
      !a.order &&
      (!a.argument || !needsDriver(a.argument)) &&
      aggregateNamed(a.name)?.state(callOf(a)).keepsNothing === true,
  );
const callOf = (a: Aggregate): StateCall => ({ ...a, all: !a.argument });
/** Whether no row, and nothing of one, is needed once it has been aggregated. */
export const keepsNoRows = (op: AggregateOp): boolean =>
  op.keys.length === 0 &&
  keepsNothing(op) &&
  op.aggregates.every(({ aggregate: { where } }) => !where || !needsDriver(where));

const compiled = (a: Aggregate, build: Build): Compiled => {
  const row = aggregateNamed(a.name);
  if (!row) throw new Error(`no aggregate ${a.name}`);
  return {
    argument: a.argument && build.expression(a.argument),
    where: a.where && build.expression(a.where),
    make: () => stateFor(row, callOf(a)),
  };
};
