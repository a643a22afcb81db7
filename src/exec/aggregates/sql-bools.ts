/** Bools in SQL's sum, min and max: they count as 0 and 1, and the least and the greatest of bools alone is a bool again. */
import { LakeError } from '../../errors.ts';
import { types } from '../../vectors/type.ts';
import { type NumberVector, type Vector, bools, flatten, numbers } from '../../vectors/vector.ts';
import { lift, withoutUnions } from '../expressions/lift.ts';
import { overlay } from '../expressions/rows.ts';
import { type AggregateState, bytes, widened } from './state.ts';
import { idsOfOne } from './parts.ts';
import { none } from './tables.ts';

const hasForm = (v: Vector, forms: ReadonlySet<Vector['form']>): boolean => {
  switch (v.form) {
    case 'constant': case 'named': return hasForm(v.inner, forms);
    case 'dictionary': return hasForm(v.values, forms);
    case 'selected': return hasForm(v.base, forms);
    case 'dynamic': return v.parts.some((part) => hasForm(part, forms));
    case 'union': return v.members.some((member) => hasForm(member, forms));
    default: return forms.has(v.form);
  }
};
const bool: ReadonlySet<Vector['form']> = new Set<Vector['form']>(['bool']), nested: ReadonlySet<Vector['form']> = new Set<Vector['form']>(['list', 'record', 'map']);
const hasBools = (v: Vector): boolean => hasForm(v, bool);
const asNumbers = (v: Vector): Vector => lift(withoutUnions(v), (flat) => (flat.form === 'bool' ? numbers(types.int64, Float64Array.from(flat.values.subarray(0, flat.length))) : flat));

const truthsOf = ({ values, length }: NumberVector): Vector => {
  const out = new Uint8Array(length);
  for (let i = 0; i < length; i++) out[i] = Number(values[i]) === 0 ? 0 : 1;
  return bools(out);
};

/** An aggregate of numbers that takes bools too. @throws query-invalid for what has an order in SQL but none here */
export class BoolsState implements AggregateState {
  readonly keepsNothing = true;
  private ofBools = bytes(16);
  private anyBool = false;
  private readonly inner: AggregateState;
  private readonly name: 'sum' | 'min' | 'max';
  constructor(name: 'sum' | 'min' | 'max', inner: AggregateState) {
    this.name = name;
    this.inner = inner;
  }
  get bytes(): number { return this.inner.bytes + this.ofBools.byteLength; }
  grow(groups: number): void {
    this.ofBools = widened(this.ofBools, groups, bytes);
    this.inner.grow(groups);
  }
  update(ids: Uint32Array, argument: Vector): void {
    if (argument.length > 0 && hasForm(argument, nested)) throw new LakeError('query-invalid', { text: `query: ${this.name} of lists, records or maps is not supported: name a field, or write list_${this.name}(..)` });
    if (!hasBools(argument)) return this.inner.update(ids, argument);
    this.anyBool = true;
    const flat = flatten(argument);
    for (let i = 0; i < flat.length; i++) this.ofBools[ids[i]!] = 1;
    this.inner.update(ids, asNumbers(argument));
  }
  updateOne(group: number, argument: Vector): void {
    if (hasForm(argument, nested) || hasBools(argument) || !this.inner.updateOne) return this.update(idsOfOne(group, argument.length), argument);
    this.inner.updateOne(group, argument);
  }
  merge(other: AggregateState, map: Uint32Array, groups: number): void {
    const from = other as BoolsState;
    this.anyBool ||= from.anyBool;
    for (let g = 0; g < groups; g++) if (map[g] !== none) this.ofBools[map[g]!]! |= from.ofBools[g]!;
    this.inner.merge(from.inner, map, groups);
  }
  result(groups: number): Vector {
    const found = this.inner.result(groups);
    if (!this.anyBool || this.name === 'sum') return found;
    // Groups without any value keep their null.
    const truths = lift(found, (flat) => (flat.form === 'number' ? truthsOf(flat) : flat));
    return overlay(found, this.ofBools.slice(0, groups), truths);
  }
}
