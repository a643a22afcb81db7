/**
 * Aggregates over times of day. These are texts, whose order is that of the clock; what is in between of them is worked
 * out over durations since midnight.
 */
import type { Aggregate, PlanExpr } from '../../plan/plan.ts';
import { types } from '../../../vectors/type.ts';
import { asDuration, castTo, isClock } from './casts.ts';
import type { SqlType } from './types.ts';

const between: ReadonlySet<string> = new Set([
  'approx_quantile',
  'avg',
  'mad',
  'mean',
  'median',
  'percentile_cont',
  'quantile_cont',
]);
const clock: SqlType = { kind: 'clock', digits: 6 };
/** Whether an aggregate works out what is between times of day. */
export const isOfClocks = (name: string, argument: PlanExpr | undefined): boolean =>
  between.has(name) && valueOf(argument) !== undefined;
/** The argument, alone or with others in a record, if it is a time of day. */
const valueOf = (argument: PlanExpr | undefined): PlanExpr | undefined => {
  if (!argument) return undefined;
  const [first] = argument.kind === 'record' ? argument.elements : [];
  const value = first?.kind === 'field' && first.name === 'value' ? first.value : argument;
  return isClock(value) ? value : undefined;
};

/** The aggregate over durations, and the times of day of its result; undefined for all else. */
export const ofClocks = (
  aggregate: Pick<Aggregate, 'name' | 'argument' | 'order'>,
): { readonly argument: PlanExpr; readonly settle: (result: PlanExpr) => PlanExpr } | undefined => {
  const { name, argument, order } = aggregate;
  const value = valueOf(argument);
  if (!argument || !value || !between.has(name) || order) return undefined;
  if (argument.kind !== 'record') return { argument: asDuration(value), settle: settled(name, undefined) };
  const [first, ...others] = argument.elements;
  const by = others[0]?.value;
  return {
    argument: {
      kind: 'record',
      elements: [{ kind: 'field', name: 'value', value: asDuration(first!.value) }, ...others],
    },
    settle: settled(name, by),
  };
};
/** The distance of `mad` is a duration still; several fractions give a list. */
const settled = (name: string, by: PlanExpr | undefined): ((result: PlanExpr) => PlanExpr) => {
  if (name === 'mad') return (result) => result;
  const isList = by?.kind === 'array' || (by?.kind === 'literal' && by.value.type.kind === 'array');
  // A cast of a duration of the query's own making.
  return (result) => castTo(result, isList ? { kind: 'list', element: clock } : clock, { from: duration });
};
const duration: SqlType = { kind: 'plain', type: types.duration };
