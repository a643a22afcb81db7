/** The states of an aggregate as values (EXPORT_STATE): under a type whose name says which aggregate it is. */
import { arrayType, types } from '../../vectors/type.ts';
import { type Vector, constant, flatten, nulls } from '../../vectors/vector.ts';
import { overlay } from '../expressions/rows.ts';
import { kinds, kindsOf } from '../operators/rows/kinds.ts';
import type { AggregateState } from './grouping/state.ts';

export class ExportedState implements AggregateState {
  readonly inner: AggregateState;
  private readonly typeName: string;
  private readonly isEmptyList: boolean;
  /** `isEmptyList`: the state of no rows is an empty list, else null. */
  constructor(inner: AggregateState, typeName: string, isEmptyList: boolean) {
    this.inner = inner;
    this.typeName = typeName;
    this.isEmptyList = isEmptyList;
  }
  get bytes(): number {
    return this.inner.bytes;
  }
  grow(groups: number): void {
    this.inner.grow(groups);
  }
  update(ids: Uint32Array, argument: Vector): void {
    this.inner.update(ids, argument);
  }
  merge(other: AggregateState, map: Uint32Array, groups: number): void {
    this.inner.merge((other as ExportedState).inner, map, groups);
  }
  result(groups: number): Vector {
    const state = this.inner.plain ?? this.inner;
    const found = state.exported?.(groups) ?? this.inner.result(groups);
    return named(this.isEmptyList ? withoutNulls(found) : found, this.typeName);
  }
}

/** The rows under the name, null where they are null. */
const named = (v: Vector, name: string): Vector => {
  const flat = flatten(v);
  if (flat.form === 'null') return flat;
  if (flat.form !== 'dynamic') return { form: 'named', name, length: flat.length, inner: flat };
  const parts = flat.parts.map((p) => (p.form === 'null' || p.form === 'error' ? p : named(p, name)));
  return { ...flat, parts };
};

const withoutNulls = (v: Vector): Vector => {
  const table = kindsOf(v);
  if (!table) return v;
  const none: Vector = {
    form: 'list',
    type: arrayType(types.null),
    length: 1,
    offsets: new Uint32Array(2),
    items: nulls(0),
  };
  return overlay(
    v,
    table.map((kind) => (kind === kinds.null ? 1 : 0)),
    constant(none, v.length),
  );
};
