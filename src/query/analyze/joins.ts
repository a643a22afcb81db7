/** The pipe join, and the split of any join's condition into hash keys and a residual. */
import type { Analysis } from './context.ts';
import { type ExprContext, lowerExpr } from './exprs.ts';
import { type Flow, lowerAlone } from './queries.ts';
import type { JoinOp } from '../ast.ts';
import { conjunction, conjuncts, fieldsRead, pathExpr, replacePaths } from '../plan/walk.ts';
import type { PlanExpr, PlanOp } from '../plan/plan.ts';
import { unknownType } from '../types/of.ts';
import { recordType } from '../../vectors/type.ts';

/** A join of pipes. Without a query on its right the sides are the two streams of the fork or switch before it. */
export const lowerJoin = (a: Analysis, op: JoinOp, flow: Flow): PlanOp => {
  const leftName = op.alias?.left.text ?? 'left';
  const rightName = op.alias?.right.text ?? 'right';
  if (leftName === rightName) a.faultOfShape('left and right join aliases cannot be the same', op.alias ?? op);
  const right = op.right && lowerAlone(a, op.right, flow.scope);
  if (!right && streamsOf(flow.previous) !== 2) a.faultOfShape('join without subquery requires two pipe parents', op);
  if (right && streamsOf(flow.previous) > 1) a.faultOfShape('join with subquery requires a single pipe parent', op);
  const { condition } = op;
  const base = {
    kind: 'join',
    style: op.style,
    ...(right ? { right } : {}),
    leftName,
    rightName,
    nullsMatch: true,
  } as const;
  if (condition?.kind === 'join-using') {
    // `this` is an ordinary name there.
    const keys = condition.fields.map((f) => pathExpr([f.name]));
    return { ...base, equal: keys.map((k) => ({ left: k, right: k })) };
  }
  const pair = recordType([
    { name: leftName, type: right ? flow.input : unknownType },
    { name: rightName, type: unknownType },
  ]);
  const c: ExprContext = { scope: flow.scope, input: pair };
  return { ...base, ...splitCondition(a, condition && lowerExpr(a, condition.expr, c), leftName, rightName) };
};

/** How many streams the operator gives. */
const streamsOf = (op: PlanOp | undefined): number =>
  op?.kind === 'fork' ? op.branches.length : op?.kind === 'switch' ? op.cases.length : 1;

interface SplitCondition {
  readonly equal: readonly { readonly left: PlanExpr; readonly right: PlanExpr }[];
  readonly residual?: PlanExpr;
}

/**
 * Splits a condition over the pair: equalities between the two sides become hash keys (each over its own side), the
 * rest stays as a predicate.
 */
export const splitCondition = (
  a: Analysis,
  condition: PlanExpr | undefined,
  leftName: string,
  rightName: string,
): SplitCondition => {
  const equal: { left: PlanExpr; right: PlanExpr }[] = [];
  const rest: PlanExpr[] = [];
  for (const part of condition ? conjuncts(condition) : []) {
    const key =
      part.kind === 'compare' && part.operator === '=='
        ? keyOf(a, part.left, part.right, leftName, rightName)
        : undefined;
    if (key) equal.push(key);
    else rest.push(part);
  }
  const residual = conjunction(rest);
  return { equal, ...(residual ? { residual } : {}) };
};

const keyOf = (
  a: Analysis,
  x: PlanExpr,
  y: PlanExpr,
  leftName: string,
  rightName: string,
): SplitCondition['equal'][number] | undefined => {
  const side = sideOf(x, leftName, rightName);
  const other = sideOf(y, leftName, rightName);
  if (side === 'left' && other === 'right')
    return { left: withoutSide(a, x, leftName), right: withoutSide(a, y, rightName) };
  if (side === 'right' && other === 'left')
    return { left: withoutSide(a, y, leftName), right: withoutSide(a, x, rightName) };
  return undefined;
};

/** The one side that an expression over the pair reads. */
const sideOf = (e: PlanExpr, leftName: string, rightName: string): 'left' | 'right' | undefined => {
  const paths = fieldsRead(e);
  if (!paths || paths.length === 0) return undefined;
  if (paths.every((p) => p[0] === leftName)) return 'left';
  return paths.every((p) => p[0] === rightName) ? 'right' : undefined;
};

/** The expression over the side alone: `left.x` becomes `x`. */
const withoutSide = (a: Analysis, e: PlanExpr, name: string): PlanExpr =>
  replacePaths(
    e,
    (path) => (path.length === 1 && path[0] === name ? { kind: 'this' } : undefined),
    (old, made) => a.like(old, made),
  );
