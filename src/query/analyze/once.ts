/** Values that an expression asks for several times, though they differ each time they are worked out. */
import { intValue } from '../../vectors/value.ts';
import { fieldOf, literal, someExpr, thisExpr } from '../plan/walk.ts';
import type { PlanExpr } from '../plan/plan.ts';
import type { Analysis } from './context.ts';

/** What a row of the values is called where they are asked for. */
const parameter = 'once';

/**
 * The expression that `make` makes of values. If one of them is drawn, such as `random()`, all are worked out once
 * before: `make` gets the fields of a record that has them.
 */
export const once = <Name extends string>(
  a: Analysis,
  values: Readonly<Record<Name, PlanExpr>>,
  make: (values: Readonly<Record<Name, PlanExpr>>) => PlanExpr,
): PlanExpr => {
  const named = Object.entries<PlanExpr>(values);
  if (!named.some(([, value]) => isDrawn(a, value))) return make(values);
  const row = fieldOf(thisExpr, parameter);
  const given = Object.fromEntries(named.map(([name]) => [name, fieldOf(row, name)]));
  const elements = named.map(([name, value]) => ({ kind: 'field' as const, name, value }));
  const of: PlanExpr = { kind: 'array', elements: [{ spread: false, value: { kind: 'record', elements } }] };
  const body = make(given as Readonly<Record<Name, PlanExpr>>);
  return { kind: 'index', of: { kind: 'mapElements', of, parameter, body }, at: literal(intValue(0)), base: 0 };
};

const isDrawn = (a: Analysis, e: PlanExpr): boolean =>
  someExpr(e, (part) => part.kind === 'call' && a.environment.functions.find(part.name)?.impure === true);
