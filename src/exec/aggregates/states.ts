/**
 * States of aggregates as values (EXPORT_STATE), put together and finished. A value is a state if the name of its type
 * says so.
 */
import { LakeError } from '../../errors.ts';
import { checkStop } from '../../vectors/stop.ts';
import { supText } from '../../vectors/sup/print.ts';
import { type Value, nullValue, itemsData, memberData } from '../../vectors/value.ts';
import { type Vector, valueAt } from '../../vectors/vector.ts';
import { Builder } from '../../vectors/builder.ts';
import { concat } from '../../vectors/concat.ts';
import { CollectState } from './collect.ts';
import type { AggregateState } from './grouping/state.ts';
import { sortByGroup } from './lists.ts';
import { type Exported, exportedNamed, exportingState } from './named.ts';

/** A state: the name of its type, and what is inside. */
export interface StateValue {
  readonly typeName: string;
  readonly of: Exported;
  readonly inner: Value;
}
/** Undefined for what is no state. */
export const stateOf = (value: Value): StateValue | undefined => {
  const { type, data } = member(value);
  const of = type.kind === 'named' ? exportedNamed(type.name) : undefined;
  if (type.kind !== 'named' || !of) return undefined;
  const inner = member({ type: type.inner, data });
  return of.isCompact || inner.type.kind === 'array' ? { typeName: type.name, of, inner } : undefined;
};
const member = (v: Value): Value => (v.type.kind === 'union' ? member(memberData(v.data)) : v);

/** Adds states of one aggregate to groups: `compact` takes states, else the arguments that are in them. */
export const absorb = (
  to: AggregateState,
  { of, states, ids }: { readonly of: Exported; readonly states: readonly Value[]; readonly ids: Uint32Array },
): void => {
  const inner = new Builder();
  if (of.isCompact) {
    for (const state of states) inner.append(state);
    (to.plain ?? to).absorb!(ids, inner.finish());
    return;
  }
  const groups: number[] = [];
  states.forEach(({ type, data }, k) => {
    if (type.kind !== 'array') return;
    for (const item of itemsData(data)) {
      inner.append(member({ type: type.element, data: item }));
      groups.push(ids[k]);
    }
  });
  if (groups.length > 0) to.update(Uint32Array.from(groups), inner.finish());
};

/** The state over the rows of all; undefined where they are not states of one aggregate. */
export const joinedStates = (values: readonly Value[]): Value | undefined => {
  const all = values.map(stateOf);
  const [first] = all;
  if (!first || all.some((s) => s?.typeName !== first.typeName)) return undefined;
  const state = exportingState(first.typeName, first.of);
  state.grow(1);
  absorb(state.inner, {
    of: first.of,
    states: all.map((s) => s!.inner),
    ids: new Uint32Array(all.length),
  });
  return valueAt(state.result(1), 0);
};

/** combine_aggr: the state of an aggregate over the rows of all states of a group. */
export class CombineState extends CollectState {
  /** Names say what a state is of. */
  protected override values(argument: Vector): Vector {
    return argument;
  }
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
