/** `AGGREGATE(..) EXPORT_STATE`: the state of an aggregate as a value (exec/functions/lists/states.ts). */
import { nullValue } from '../../../vectors/value.ts';
import type { Aggregate, AggregateForm } from '../../plan/plan.ts';
import { literal } from '../../plan/walk.ts';
import { decimalPrecisionMax } from './types.ts';

/** How the aggregate of a state is called. `scale`: it was given whole units of the last of so many places. */
export interface StateForm extends AggregateForm {
  readonly name: string;
  readonly all: boolean;
  readonly scale?: number;
}

/** The aggregate whose result is the state of `aggregate`. */
export const exported = (aggregate: Aggregate, scale: number | undefined): Aggregate => {
  const { name, argument, distinct, arity, order, where } = aggregate;
  return {
    name: stateName({
      name,
      all: !argument,
      distinct,
      ...(arity !== undefined && { arity }),
      ...(order && { order }),
      ...(scale !== undefined && { scale }),
    }),
    argument: argument ?? literal(nullValue),
    distinct: false,
    sql: true,
    ...(where && { where }),
  };
};

/** The name of the type of a state, and of the aggregate that makes it: `aggregate_state sum distinct`. */
export const stateName = ({
  name,
  all = false,
  distinct = false,
  arity,
  order,
  scale,
}: Partial<StateForm> & { readonly name: string }): string =>
  [
    prefix,
    name,
    ...(all ? ['*'] : []),
    ...(distinct ? ['distinct'] : []),
    ...(arity === undefined ? [] : [`arguments=${arity}`]),
    ...(scale === undefined ? [] : [`scale=${scale}`]),
    ...(order ?? []).map((k) => `${k.order}=${k.nulls}`),
  ].join(' ');
const prefix = 'aggregate_state';

/** The form that the name of a type says, which may come from anywhere; undefined where it is no state's. */
export const stateFormOf = (text: string): StateForm | undefined => {
  const [first, name, ...marks] = text.split(' ');
  if (first !== prefix || !name) return undefined;
  const given = new Map<string, string>();
  const order: { order: 'asc' | 'desc'; nulls: 'first' | 'last'; sql: true }[] = [];
  for (const mark of marks) {
    const [, key, value] = /^(asc|desc|arguments|scale|\*|distinct)(?:=(first|last|\d{1,2}))?$/.exec(mark) ?? [];
    if (!key) return undefined;
    if (key !== 'asc' && key !== 'desc') given.set(key, value ?? '');
    else if (value === 'first' || value === 'last') order.push({ order: key, nulls: value, sql: true });
    else return undefined;
  }
  const numberOf = (key: string): number | undefined => (given.has(key) ? Number(given.get(key)) : undefined);
  const arity = numberOf('arguments');
  const scale = numberOf('scale');
  if (arity !== undefined && arity !== 2 && arity !== 3) return undefined;
  if (scale !== undefined && !(scale >= 0 && scale <= decimalPrecisionMax)) return undefined;
  return {
    name,
    all: given.has('*'),
    distinct: given.has('distinct'),
    ...(arity !== undefined && { arity }),
    ...(order.length > 0 && { order }),
    ...(scale !== undefined && { scale }),
  };
};
