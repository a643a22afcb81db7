/** Aggregation in pipes: keys, aggregate calls, and the bare result of a lone one. */
import { aggregateCall } from './analyze-calls.ts';
import { recordFault, targetPath } from './analyze-assignments.ts';
import type { Analysis } from './analyze-context.ts';
import { type AggregateCall, type ExprContext, lowerExpr } from './analyze-exprs.ts';
import type { AggregateOp, Assignment, Expr } from './ast.ts';
import { functionHint } from './hints.ts';
import { pathExpr, pathOf } from './plan-walk.ts';
import type { Aggregate, FieldPath, PlanExpr, PlanOp } from './plan.ts';

/** The plan's aggregate for a call whose argument and filter are lowered in `c`. */
export const aggregateOf = (a: Analysis, call: AggregateCall, c: ExprContext): Aggregate => {
  if (!a.environment.aggregates.find(call.name)) a.fault('call to aggregate function in non-aggregate context', call.place);
  if (!call.argument && call.name !== 'count') a.lateFaults.push(`${call.name}: argument required`);
  return {
    name: call.name, distinct: call.distinct,
    ...(call.argument ? { argument: lowerExpr(a, call.argument, c) } : {}),
    ...(call.filter ? { where: lowerExpr(a, call.filter, c) } : {}),
  };
};

export const lowerAggregate = (a: Analysis, op: AggregateOp, c: ExprContext): readonly PlanOp[] => {
  const aggregates = op.aggs.flatMap((x) => {
    const call = aggregateCall(a, x.expr, c.scope);
    if (!call) {
      a.fault(a.environment.functions.find(nameOf(x.expr)) ? `"${nameOf(x.expr)}" is not an aggregate function` : 'no such function', x.expr, functionHint(nameOf(x.expr), c.scope, a.environment));
      return [];
    }
    const target = x.target ? targetPath(a, x.target, x, c) : [a.nameOf(x.expr, false)];
    return target ? [{ target, aggregate: aggregateOf(a, call, c) }] : [];
  });
  const keys = op.keys.flatMap((x) => {
    const expr = lowerExpr(a, x.expr, c), target = keyTarget(a, x, expr, c);
    return target ? [{ target, expr }] : [];
  });
  const fault = recordFault([...keys, ...aggregates].map((x) => x.target));
  if (fault) a.lateFaults.push(fault);
  const aggregate: PlanOp = { kind: 'aggregate', keys, aggregates, ...(op.limit !== undefined ? { groupsMax: Number(op.limit) } : {}) };
  const [only, another] = [...op.keys, ...op.aggs], [made] = [...keys, ...aggregates];
  if (!only || another || only.target || !made) return [aggregate];
  return [aggregate, { kind: 'values', exprs: [pathExpr(made.target)] }];
};

/** A bare call of an aggregate in an operator's place. */
export const lowerLoneAggregate = (a: Analysis, e: Expr, c: ExprContext): readonly PlanOp[] =>
  lowerAggregate(a, {
    kind: 'aggregate-op', implied: true, keys: [], start: e.start, end: e.end, aggs: [{ kind: 'assignment', expr: e, start: e.start, end: e.end }],
  }, c);

const nameOf = (e: Expr): string => (e.kind === 'agg' ? e.name.text : e.kind === 'call' && e.callee.kind === 'name' ? e.callee.text : '').toLowerCase();

/** What a key is called: a path by its last name, other expressions by their implied name. */
const keyTarget = (a: Analysis, x: Assignment, expr: PlanExpr, c: ExprContext): FieldPath | undefined => {
  if (x.target) return targetPath(a, x.target, x, c);
  const path = pathOf(expr);
  return [path && path.length > 0 && x.expr.kind !== 'literal' ? path.at(-1)! : a.nameOf(x.expr, false)];
};
