/** Aggregation in pipes: keys, aggregate calls, and the bare result of a lone one. */
import assert from 'node:assert';
import { aggregateCall, markedAggregate } from './analyze-calls.ts';
import { recordFault, targetPath } from './analyze-assignments.ts';
import type { Analysis } from './analyze-context.ts';
import { type AggregateCall, type ExprContext, lowerExpr } from './analyze-exprs.ts';
import type { AggregateOp, Assignment, Expr } from './ast.ts';
import { functionHint } from './hints.ts';
import { pathExpr, pathOf } from './plan-walk.ts';
import type { Aggregate, FieldPath, PlanExpr, PlanOp } from './plan.ts';

/** The plan's aggregate for a call whose argument and filter are lowered in `c`. */
export const aggregateOf = (a: Analysis, call: AggregateCall, c: ExprContext): Aggregate => {
  if (!a.environment.aggregates.find(call.name)) a.lateFaults.push({ message: `unknown aggregation function: ${call.name}`, hint: functionHint(call.name, c.scope, a.environment) });
  else if (!call.argument && call.name !== 'count') a.lateFaults.push({ message: `${call.name}: argument required` });
  if (call.argument && !call.second && (a.environment.aggregates.find(call.name)?.argumentsMin ?? 0) > 1) a.fault('too few arguments', call.place);
  return {
    name: call.name, distinct: call.distinct, ...(c.sql && { sql: true }),
    ...(call.argument ? { argument: argumentOf(a, call.name, [call.argument, call.second].flatMap((e) => (e ? [lowerExpr(a, e, c)] : []))) } : {}),
    ...(call.filter ? { where: lowerExpr(a, call.filter, c) } : {}),
  };
};

/** What an aggregate is given: its argument, or the fields of a record where it may have two. */
export const argumentOf = (a: Analysis, name: string, [value, by]: readonly PlanExpr[]): PlanExpr => {
  if ((a.environment.aggregates.find(name)?.argumentsMax ?? 1) < 2) return value!;
  const field = (fieldName: string, expr: PlanExpr) => ({ kind: 'field', name: fieldName, value: expr } as const);
  return { kind: 'record', elements: by ? [field('value', value!), field('by', by)] : [field('value', value!)] };
};

/** The operator as such. Every call in it is an aggregate's, whatever functions there are. */
export const lowerAggregate = (a: Analysis, op: AggregateOp, c: ExprContext): readonly PlanOp[] => {
  // What begins with an assignment and has no keys is a list of assignments that happen to be aggregates.
  if (op.implied && op.keys.length === 0 && op.aggs[0]?.target && op.aggs.every((x) => aggregateCall(a, x.expr, c.scope))) return lowerAggregates(a, op.aggs, c);
  const keys = op.keys.flatMap((x) => {
    const expr = lowerExpr(a, x.expr, c), target = keyTarget(a, x, expr, c);
    return target ? [{ target, expr }] : [];
  });
  const calls = op.aggs.flatMap((x) => {
    const call = calledAggregate(x.expr);
    if (call.argument || call.name === 'count') return [{ x, call }];
    a.fault(`aggregator '${call.name}' requires argument`, x.expr, a.environment.aggregates.find(call.name) ? undefined : functionHint(call.name, c.scope, a.environment));
    return [];
  });
  return aggregated(a, { ...op, faultsTwice: true }, keys, calls, c);
};

interface Calls { readonly x: Assignment; readonly call: AggregateCall }
type Keys = readonly { readonly target: FieldPath; readonly expr: PlanExpr }[];
interface AggregationShape { readonly keys: readonly unknown[]; readonly aggs: readonly Assignment[]; readonly limit?: string | undefined; readonly faultsTwice?: true }

const aggregated = (a: Analysis, op: AggregationShape, keys: Keys, calls: readonly Calls[], c: ExprContext): readonly PlanOp[] => {
  const aggregates = calls.flatMap(({ x, call }) => {
    const target = x.target ? targetPath(a, x.target, x, c) : [a.nameOf(x.expr, false)], before = a.faults.length;
    const aggregate = aggregateOf(a, call, c);
    // The reference looks at what it has to find a name for twice, and so reports its faults twice.
    if (op.faultsTwice && !x.target) {
      a.faults.push(...a.faults.slice(before));
      if (aggregate.argument) a.places.twice.add(aggregate.argument);
    }
    return target ? [{ target, aggregate }] : [];
  });
  const fault = recordFault([...keys, ...aggregates].map((x) => x.target));
  if (fault) a.lateFaults.push({ message: fault });
  const aggregate: PlanOp = { kind: 'aggregate', keys, aggregates, ...(op.limit !== undefined ? { groupsMax: Number(op.limit) } : {}) };
  const [only, another] = [...op.keys, ...op.aggs] as readonly Partial<Assignment>[], [made] = [...keys, ...aggregates];
  if (!only || another || only.target || !made) return [aggregate];
  return [aggregate, { kind: 'values', exprs: [pathExpr(made.target)] }];
};

/** Assignments, or a bare call, whose right sides are calls of aggregates. */
export const lowerAggregates = (a: Analysis, aggs: readonly Assignment[], c: ExprContext): readonly PlanOp[] =>
  aggregated(a, { keys: [], aggs }, [], aggs.map((x) => ({ x, call: aggregateCall(a, x.expr, c.scope)! })), c);

/** A bare call of an aggregate in an operator's place. */
export const lowerLoneAggregate = (a: Analysis, e: Expr, c: ExprContext): readonly PlanOp[] =>
  lowerAggregates(a, [{ kind: 'assignment', expr: e, start: e.start, end: e.end }], c);

/** What stands in an aggregate's place: a call of a name, of at most one argument. */
const calledAggregate = (e: Expr): AggregateCall => {
  if (e.kind === 'agg') return markedAggregate(e);
  assert(e.kind === 'call' && e.callee.kind === 'name');
  return { name: e.callee.text.toLowerCase(), place: e, ...(e.args[0] ? { argument: e.args[0] as Expr } : {}), ...(e.args[1] ? { second: e.args[1] as Expr } : {}), distinct: false };
};

/** What a key is called: a path by its last name, other expressions by their implied name. */
const keyTarget = (a: Analysis, x: Assignment, expr: PlanExpr, c: ExprContext): FieldPath | undefined => {
  if (x.target) return targetPath(a, x.target, x, c);
  const path = pathOf(expr);
  return [path && path.length > 0 && x.expr.kind !== 'literal' ? path.at(-1)! : a.nameOf(x.expr, false)];
};
