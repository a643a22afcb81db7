/** The switch operator: predicates in order, or constants that one expression is matched against. */
import { type Type, isNumeric, types } from '../../vectors/type.ts';
import { boolValue, typeValue } from '../../vectors/value.ts';
import type { Analysis } from './context.ts';
import { lowerExpr } from './exprs.ts';
import { type Flow, lowerBody } from './queries.ts';
import type { SwitchOp } from '../ast.ts';
import { callOf, compareOf, literal } from '../plan/walk.ts';
import type { PlanExpr, PlanOp } from '../plan/plan.ts';

/**
 * A switch with its default behind all other cases, wherever it was written. With an expression, rows for which that is
 * missing go nowhere.
 */
export const lowerSwitch = (a: Analysis, op: SwitchOp, flow: Flow): PlanOp => {
  const c = { scope: flow.scope, input: flow.input };
  const matched = op.expr && lowerExpr(a, op.expr, c);
  const cases = op.cases.map((x) => {
    const branch = lowerBody(a, x.body, flow, flow.input);
    if (!x.expr) return { branch };
    const test = lowerExpr(a, x.expr, c);
    if (!matched) return { test, branch };
    // The name of a type that is none would be looked up when the query runs.
    const isLookedUp = test.kind === 'call' && test.name === 'typename';
    const constant = isLookedUp ? undefined : a.constant(test);
    if (!constant) {
      a.fault('switch case is not a constant expression', x.expr);
      return { branch };
    }
    return { test: a.at(x.expr, matches(matched, constant)), branch };
  });
  const ordered = [...cases.filter((x) => 'test' in x), ...cases.filter((x) => !('test' in x))];
  return { kind: 'switch', cases: ordered, ...(matched ? { dropMissing: matched } : {}) };
};

/** Equal by type and value: null matches null, int64 1 does not match 1. or 1::uint8, an error matches nothing. */
const matches = (matched: PlanExpr, constant: Extract<PlanExpr, { readonly kind: 'literal' }>): PlanExpr => {
  const { type } = constant.value;
  if (type === types.null) return orFalse({ kind: 'isNull', operand: matched });
  const equal = compareOf(matched, '==', constant);
  return orFalse(isNumeric(type) ? { kind: 'and', left: equal, right: hasType(matched, type) } : equal);
};
const orFalse = (test: PlanExpr): PlanExpr => callOf('coalesce', test, literal(boolValue(false)));
const hasType = (matched: PlanExpr, type: Type): PlanExpr =>
  compareOf(callOf('typeof', callOf('under', matched)), '==', literal(typeValue(type)));
