/** `AGGREGATE(..) EXPORT_STATE`: the state of an aggregate as a value (exec/functions/lists/states.ts). */
import { nullValue, stringValue } from '../../vectors/value.ts';
import type { Aggregate, AggregateForm, PlanExpr } from '../plan/plan.ts';
import { literal } from '../plan/walk.ts';
import { decimalPrecisionMax } from './types.ts';

/** How the aggregate of a state is called. `scale`: it was given whole units of the last of so many places. */
export interface StateForm extends AggregateForm {
  readonly name: string;
  readonly all: boolean;
  readonly scale?: number;
}

/**
 * The aggregate whose result is the array of what `aggregate` is given, and the state that this makes.
 */
export const exported = (
  aggregate: Aggregate,
  scale: number | undefined,
): { readonly aggregate: Aggregate; readonly settle: (values: PlanExpr) => PlanExpr } => {
  const { name, argument, distinct, arity, order, where } = aggregate;
  const form: StateForm = {
    name,
    all: !argument,
    distinct,
    ...(arity !== undefined && { arity }),
    ...(order && { order }),
    ...(scale !== undefined && { scale }),
  };
  return {
    aggregate: {
      name: 'list',
      argument: argument ?? literal(nullValue),
      distinct: false,
      sql: true,
      ...(where && { where }),
    },
    settle: (values) => ({
      kind: 'record',
      elements: [
        { kind: 'field', name: 'aggregate', value: literal(stringValue(JSON.stringify(form))) },
        { kind: 'field', name: 'values', value: values },
      ],
    }),
  };
};

/** The form that a state says, which may come from anywhere; undefined for other texts. */
export const stateFormOf = (text: string): StateForm | undefined => {
  let found: unknown;
  try {
    found = JSON.parse(text);
  } catch {
    return undefined;
  }
  return isForm(found) ? found : undefined;
};
const isForm = (x: unknown): x is StateForm => {
  if (typeof x !== 'object' || x === null) return false;
  const { name, all, distinct, arity, order, scale } = x as Record<string, unknown>;
  return (
    typeof name === 'string' &&
    typeof all === 'boolean' &&
    typeof distinct === 'boolean' &&
    (arity === undefined || arity === 2 || arity === 3) &&
    (order === undefined || (Array.isArray(order) && order.every(isDirection))) &&
    (scale === undefined || (typeof scale === 'number' && scale >= 0 && scale <= decimalPrecisionMax))
  );
};
const isDirection = (x: unknown): boolean => {
  if (typeof x !== 'object' || x === null) return false;
  const { order, nulls } = x as Record<string, unknown>;
  return (order === 'asc' || order === 'desc') && (nulls === 'first' || nulls === 'last');
};
