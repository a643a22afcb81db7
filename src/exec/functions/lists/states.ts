/**
 * States of aggregates as values, as `AGGREGATE(..) EXPORT_STATE` makes them in SQL: the name of the type says which
 * aggregate it is. Those of sums, counts, means, extremes and the like take no more than a result; of others a state is
 * an array of the arguments.
 */
import { decimalData, decimalValue, exactOf } from '../../../vectors/decimal.ts';
import { checkStop } from '../../../vectors/stop.ts';
import { isFloat, namedType, types } from '../../../vectors/type.ts';
import { type Value, nullValue, underValue } from '../../../vectors/value.ts';
import { valueAt } from '../../../vectors/vector.ts';
import { constantOf, vectorOf } from '../../../vectors/builder.ts';
import { stateName } from '../../../query/sql/values/states.ts';
import type { Exported } from '../../aggregates/named.ts';
import { absorb, joinedStates, stateOf } from '../../aggregates/states.ts';
import { wrapErrors } from '../../expressions/rows.ts';
import { rowsOf, type Evaluate, type FunctionRow } from '../row.ts';

const required = 'finalize: state of an aggregate required';
const finalized: Evaluate = ([states], length) => {
  const out: Value[] = [];
  const groups = new Map<string, { readonly of: Exported; readonly rows: number[]; readonly states: Value[] }>();
  for (let i = 0; i < length; i++) {
    const value = valueAt(states, i);
    const state = stateOf(value);
    out.push(nullValue);
    if (!state) {
      if (!isNullValue(value)) out[i] = wrapped(required, value);
      continue;
    }
    const known = groups.get(state.typeName);
    if (!known) groups.set(state.typeName, { of: state.of, rows: [i], states: [state.inner] });
    else {
      known.rows.push(i);
      known.states.push(state.inner);
    }
  }
  for (const { of, rows, states: own } of groups.values()) {
    const state = of.make();
    state.grow(rows.length);
    absorb(state, { of, states: own, ids: Uint32Array.from(rows.keys()) });
    const result = state.result(rows.length);
    rows.forEach((row, k) => {
      out[row] = inUnits(valueAt(result, k), of);
    });
  }
  return vectorOf(out);
};
/** Of decimals the aggregate was given whole units of their last place. */
const inUnits = (result: Value, { name, scale }: Exported): Value => {
  if (scale === undefined) return result;
  const value = underValue(result);
  const exact = exactOf(value);
  const data = exact && name === 'sum' ? decimalData({ ...exact, scale: exact.scale + scale }) : undefined;
  if (data !== undefined) return decimalValue(data);
  return isFloat(value.type) ? { type: types.float64, data: Number(value.data) / 10 ** scale } : value;
};

const combined: Evaluate = ([a, b], length) =>
  vectorOf(
    Array.from({ length }, (_, i) => {
      checkStop();
      const given = [valueAt(a, i), valueAt(b, i)].filter((x) => !isNullValue(x));
      if (given.length < 2) return given[0] ?? nullValue;
      return joinedStates(given) ?? wrapped('combine: states of one aggregate required', given[0]);
    }),
  );

/** A value as the state that it is of the aggregate of that name. */
const marked: Evaluate = ([values, names, kinds], length) =>
  vectorOf(
    Array.from({ length }, (_, i) => {
      checkStop();
      const value = valueAt(values, i);
      const name = underValue(valueAt(names, i));
      if (isNullValue(value) || name.type === types.null) return nullValue;
      const known = stateOf(value);
      if (known && known.of.name === name.data) return value;
      const listed = kinds && underValue(valueAt(kinds, i));
      const arity = listed?.type.kind === 'array' ? (listed.data as readonly unknown[]).length : 1;
      const typeName = stateName({ name: String(name.data), ...(arity > 1 && { arity }) });
      const state = { type: namedType(typeName, value.type), data: value.data };
      return stateOf(state)
        ? state
        : wrapped(`to_aggregate_state: what is inside of a state of ${String(name.data)} required`, value);
    }),
  );

const isNullValue = (v: Value): boolean => underValue(v).type === types.null;
const wrapped = (message: string, value: Value): Value => valueAt(wrapErrors(message, constantOf(value, 1)), 0);

const sqlOnly = 'all';
export const states: readonly FunctionRow[] = [
  ...rowsOf(
    'finalize(state)',
    'What an aggregate gives, of its state: in SQL sum(x) EXPORT_STATE and the like give one, under a type whose name says which aggregate it is.',
    () => finalized,
    [
      ['select finalize(sum(x) export_state) as r from (values (1),(2)) t(x)', '{r:3}'],
      ['select finalize(null) as r', '{r:null}'],
    ],
    { sqlOnly },
  ),
  ...rowsOf(
    'combine(a, b)',
    'The state of an aggregate over the rows of two states; the other one where one is null.',
    () => combined,
    [
      [
        'select finalize(combine(sum(x) export_state, sum(x + 1) export_state)) as r from (values (1),(2)) t(x)',
        '{r:8}',
      ],
      [
        'select combine(sum(x) export_state, 1) as r from (values (1)) t(x)',
        '{r:error({message:"combine: states of one aggregate required",on:1::="aggregate_state sum"})}',
      ],
    ],
    { sqlOnly },
  ),
  ...rowsOf(
    'to_aggregate_state(value, name[, types[, constants]])',
    'A value as the state of the aggregate that is named, as files give it that do not keep the names of types; types says how many arguments it takes.',
    () => marked,
    [
      ["select finalize(to_aggregate_state({count:2,value:10}, 'avg')) as r", '{r:5.}'],
      ["select finalize(to_aggregate_state({arg:'x',by:1}, 'arg_min', ['VARCHAR','INTEGER'])) as r", '{r:"x"}'],
      [
        "select to_aggregate_state(v, 'list') as r from (values (1)) t(v)",
        '{r:error({message:"to_aggregate_state: what is inside of a state of list required",on:1})}',
      ],
    ],
    { sqlOnly },
  ),
];
