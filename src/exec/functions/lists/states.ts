/**
 * States of aggregates as values, as `AGGREGATE(..) EXPORT_STATE` makes them in SQL: which aggregate it is, and the
 * arguments of all rows. So one state holds as much as an array of them; what it gives is what the aggregate gives of
 * these rows.
 */
import { decimalData, decimalValue, exactOf } from '../../../vectors/decimal.ts';
import { isFloat, types } from '../../../vectors/type.ts';
import { type Data, type Value, nullValue, underValue } from '../../../vectors/value.ts';
import { type Vector, flatten, nulls, range, take, valueAt } from '../../../vectors/vector.ts';
import { Builder } from '../../../vectors/builder.ts';
import { type StateForm, stateFormOf } from '../../../query/sql/states.ts';
import { aggregateNamed, stateFor } from '../../aggregates/aggregates.ts';
import { joinedStates } from '../../aggregates/states.ts';
import { applyCarrying } from '../../expressions/apply.ts';
import { fieldOf } from '../../expressions/access.ts';
import { elementsOf } from '../../expressions/lift.ts';
import { combine, tidy, wrapErrors } from '../../expressions/rows.ts';
import { isNull, isText, rowsOf, texts, type Evaluate, type FunctionRow } from '../row.ts';
import { Refusal, byRow } from '../typed.ts';

const required = 'finalize: state of an aggregate required';
const finalized: Evaluate = ([state], length) =>
  applyCarrying(
    [fieldOf(state!, 'values'), fieldOf(state!, 'aggregate')],
    [state!],
    length,
    ([list, name], [states], n) => {
      if (isNull(name!) || isNull(states!)) return nulls(n);
      if (!isText(name!)) return wrapErrors(required, states!);
      const nameAt = texts(name!);
      const groups = new Map<string, number[]>();
      for (let i = 0; i < n; i++) {
        const rows = groups.get(nameAt(i));
        if (rows) rows.push(i);
        else groups.set(nameAt(i), [i]);
      }
      if (groups.size === 1) return ofOne(list!, nameAt(0), states!);
      const tags = new Uint32Array(n);
      const slots = new Uint32Array(n);
      const parts = [...groups].map(([form, rows], tag) => {
        rows.forEach((row, k) => {
          tags[row] = tag;
          slots[row] = k;
        });
        const index = Uint32Array.from(rows);
        return ofOne(flatten(take(list!, index)), form, take(states!, index));
      });
      return combine(tags, slots, parts);
    },
    'bare',
  );

/** States of one aggregate, each a group. */
const ofOne = (list: Vector, text: string, states: Vector): Vector => {
  const v = flatten(list);
  const form = stateFormOf(text);
  const row = form && aggregateNamed(form.name);
  if (!form || !row || (v.form !== 'list' && v.form !== 'null')) return wrapErrors(required, states);
  const state = stateFor(row, { ...form, sql: true });
  state.grow(v.length);
  if (v.form === 'list') {
    const size = v.offsets[v.length] - v.offsets[0];
    const ids = new Uint32Array(size);
    for (let i = 0, at = 0; i < v.length; i++) for (let k = v.offsets[i]; k < v.offsets[i + 1]; k++) ids[at++] = i;
    if (size > 0) state.update(ids, tidy(elementsOf(take(v.items, range(v.offsets[0], v.offsets[v.length])))));
  }
  const result = state.result(v.length);
  return form.scale === undefined ? result : inUnits(result, form, form.scale);
};
/** Of decimals the aggregate was given whole units of their last place. */
const inUnits = (result: Vector, { name }: StateForm, scale: number): Vector => {
  const out = new Builder();
  for (let i = 0; i < result.length; i++) {
    const value = underValue(valueAt(result, i));
    const exact = exactOf(value);
    const data = exact && name === 'sum' ? decimalData({ ...exact, scale: exact.scale + scale }) : undefined;
    if (data !== undefined) out.append(decimalValue(data));
    else out.append(isFloat(value.type) ? { type: types.float64, data: Number(value.data) / 10 ** scale } : value);
  }
  return out.finish();
};

const combined = (a: Value | null, b: Value | null): Value | Refusal => {
  if (a === null || b === null) return a ?? b ?? nullValue;
  return joinedStates([a, b]) ?? new Refusal('states of one aggregate required');
};

const sum: Data = '{"name":"sum","all":false,"distinct":false}';
const state = (values: string): string => `{aggregate:${JSON.stringify(sum)},values:${values}}`;
const sqlOnly = 'all';
export const states: readonly FunctionRow[] = [
  ...rowsOf(
    'finalize(state)',
    'What an aggregate gives, of its state: in SQL sum(x) EXPORT_STATE and the like give one, a record of the aggregate and the arguments of its rows.',
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
    byRow('combine', ['value?', 'value?'], 'value', combined),
    [
      [
        'select finalize(combine(sum(x) export_state, sum(x + 1) export_state)) as r from (values (1),(2)) t(x)',
        '{r:8}',
      ],
      [
        'select combine(sum(x) export_state, 1) as r from (values (1)) t(x)',
        `{r:error({message:"combine: states of one aggregate required",on:${state('[1]')}})}`,
      ],
    ],
    { sqlOnly },
  ),
];
