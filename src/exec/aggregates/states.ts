/** combine_aggr: the state of an aggregate (EXPORT_STATE) over the rows of all states of a group. */
import { LakeError } from '../../errors.ts';
import { checkStop } from '../../vectors/stop.ts';
import { supText } from '../../vectors/sup/print.ts';
import { type Type, recordType, types } from '../../vectors/type.ts';
import { type Data, type Value, arrayValue, nullValue, underValue } from '../../vectors/value.ts';
import { type Vector, valueAt } from '../../vectors/vector.ts';
import { Builder } from '../../vectors/builder.ts';
import { concat } from '../../vectors/concat.ts';
import { CollectState } from './collect.ts';
import { sortByGroup } from './lists.ts';

interface Parts {
  readonly aggregate: string;
  readonly values: readonly Value[];
}
/** Undefined for what is no state. */
const partsOf = (value: Value): Parts | undefined => {
  const { type, data } = underValue(value);
  if (type.kind !== 'record' || type.fields.length !== 2 || !data) return undefined;
  const [aggregate, values] = type.fields.map((f, i) =>
    underValue({ type: f.type, data: (data as readonly Data[])[i] ?? null }),
  );
  if (type.fields[0].name !== 'aggregate' || aggregate!.type !== types.string) return undefined;
  const { type: list } = values!;
  const items: readonly Value[] | undefined =
    list === types.null
      ? []
      : list.kind === 'array'
        ? (values!.data as readonly Data[]).map((x) => ({ type: list.element, data: x }))
        : undefined;
  return items && { aggregate: aggregate!.data as string, values: items.map(member) };
};
const member = (v: Value): Value => (v.type.kind === 'union' ? (v.data as Value) : v);

/** The state over the rows of all; undefined where they are not of one aggregate. */
export const joinedStates = (states: readonly Value[]): Value | undefined => {
  const all = states.map(partsOf);
  const [first] = all;
  if (!first || all.some((p) => p?.aggregate !== first.aggregate)) return undefined;
  const items = all.flatMap((p) => p!.values);
  const values: Value = items.length === 0 ? nullValue : arrayValue(items);
  const type: Type = recordType([
    { name: 'aggregate', type: types.string },
    { name: 'values', type: values.type },
  ]);
  return { type, data: [first.aggregate, values.data] };
};

export class CombineState extends CollectState {
  /** @throws query-argument where a group has states of several aggregates, or other values */
  override result(groups: number): Vector {
    const values = concat(this.kept);
    const { order, offsets } = sortByGroup(this.ids.done(), this.ids.length, groups);
    const out = new Builder();
    for (let g = 0; g < groups; g++) {
      checkStop();
      const own = Array.from(order.subarray(offsets[g], offsets[g + 1]), (row) => valueAt(values, row));
      const joined = own.length === 0 ? nullValue : joinedStates(own);
      if (!joined)
        throw new LakeError('query-argument', {
          fault: `combine_aggr: states of one aggregate required, got ${supText(own[0]).slice(0, 100)}`,
        });
      out.append(joined);
    }
    return out.finish();
  }
}
