/** Work on the parts of a vector that are of one form each, put back in place. */
import { someForm } from '../../vectors/forms.ts';
import { types } from '../../vectors/type.ts';
import { onlyMember } from '../../vectors/unions.ts';
import {
  type FlatVector,
  type UnionVector,
  type Vector,
  constant,
  flatten,
  gather,
  noRows,
  take,
} from '../../vectors/vector.ts';
import { combine } from './rows.ts';

/** Runs `f` on each part of a vector in flat form; constants and dictionaries once per value. */
export const lift = (v: Vector, f: (flat: FlatVector) => Vector): Vector => {
  if (v.length === 0) return noRows;
  switch (v.form) {
    case 'constant': {
      const one = lift(v.inner.length === 1 ? v.inner : take(v.inner, new Uint32Array(1)), f);
      return constant(one.form === 'selected' || one.form === 'dictionary' ? flatten(one) : one, v.length);
    }
    case 'dictionary': {
      if (v.values.length > v.length) return lift(flatten(v), f);
      return { form: 'dictionary', length: v.length, codes: v.codes, values: lift(v.values, f) };
    }
    case 'selected':
      return lift(gather(v.base, v.index), f);
    case 'dynamic':
      return liftTagged(v.tags, v.slots, v.parts, v.length, (p) => lift(p, f));
    default:
      return f(v);
  }
};
/** The same for tagged children. */
export const liftTagged = (
  tags: Uint32Array,
  slots: Uint32Array,
  parts: readonly Vector[],
  length: number,
  f: (part: Vector) => Vector,
): Vector => {
  const counts = new Uint32Array(parts.length);
  for (let i = 0; i < length; i++) counts[tags[i]]++;
  const outSlots = slots.slice(0, length);
  const outTags = new Uint32Array(length);
  const places = new Uint32Array(parts.length);
  const results: Vector[] = [];
  parts.forEach((part, k) => {
    if (counts[k] === 0) return;
    places[k] = results.length;
    results.push(f(part.length <= counts[k] * 2 + 16 ? part : copyUsed(part, k, tags, outSlots, counts[k])));
  });
  for (let i = 0; i < length; i++) outTags[i] = places[tags[i]];
  return combine(outTags, outSlots, results);
};
/** The same for a union's members; those of its only one as they are. */
export const liftUnion = (v: UnionVector, f: (part: Vector) => Vector): Vector => {
  const member = onlyMember(v);
  return member ? f(member) : liftTagged(v.tags, v.slots, v.members, v.length, f);
};
const copyUsed = (part: Vector, tag: number, tags: Uint32Array, slots: Uint32Array, count: number): Vector => {
  const index = new Uint32Array(count);
  for (let i = 0, n = 0; i < slots.length; i++) {
    if (tags[i] !== tag) continue;
    index[n] = slots[i];
    slots[i] = n++;
  }
  return take(part, index);
};

/** The same rows with unions replaced by their members, at all levels; a name stays unless a union is under it. */
export const withoutUnions = (v: Vector): Vector =>
  mayHaveUnions(v)
    ? lift(v, (flat) => {
        switch (flat.form) {
          case 'union':
            return liftUnion(flat, withoutUnions);
          case 'named':
            return lift(flat.inner, (inner) =>
              endsInUnion(inner)
                ? withoutUnions(inner)
                : { form: 'named', name: flat.name, length: inner.length, inner },
            );
          default:
            return flat;
        }
      })
    : v;
/** Rows as SQL tells them apart: what may be null is of its own type, in the columns of a record too. */
export const plainRows = (v: Vector): Vector => {
  const rows = withoutNullable(v);
  if (!mayHave(rows, 'record')) return rows;
  return lift(rows, (flat) => {
    if (flat.form !== 'record' || !flat.fields.some((f) => mayHaveUnions(f.values))) return flat;
    return { ...flat, fields: flat.fields.map((f) => ({ ...f, values: withoutNullable(f.values) })) };
  });
};
/** The same rows with the unions that have null among their members replaced by these; views stay views if they can. */
const withoutNullable = (v: Vector): Vector => {
  if (!mayHaveUnions(v)) return v;
  const view = openedView(v);
  if (view) return view;
  if (v.form === 'dynamic') {
    const parts = v.parts.map(openedView);
    if (parts.every((p) => p !== undefined)) return { ...v, parts };
  }
  return lift(v, (flat) =>
    flat.form === 'union' && flat.type.members.includes(types.null) ? liftUnion(flat, withoutNullable) : flat,
  );
};
/** Rows without a union around them, as a view; undefined where they are of several members. */
const openedView = (v: Vector): Vector | undefined => {
  if (!mayHaveUnions(v)) return v.form === 'dynamic' ? undefined : v;
  const base = v.form === 'selected' ? v.base : v;
  if (base.form !== 'union' || !base.type.members.includes(types.null)) return undefined;
  const member = onlyMember(base);
  if (!member || mayHaveUnions(member) || member.form === 'dynamic') return undefined;
  return v.form === 'selected' ? take(member, v.index) : member;
};
/** Whether rows may be of a form, as they are or under forms that stand for other rows. */
export const mayHave = (v: Vector, form: 'record' | 'error'): boolean => {
  switch (v.form) {
    case 'constant':
      return mayHave(v.inner, form);
    case 'dictionary':
      return mayHave(v.values, form);
    case 'selected':
      return mayHave(v.base, form);
    case 'dynamic':
      return v.parts.some((part) => mayHave(part, form));
    default:
      return v.form === form;
  }
};
/** The same rows without their outermost names. */
export const withoutNames = (v: Vector): Vector =>
  mayHaveNames(v) ? lift(v, (flat) => (flat.form === 'named' ? withoutNames(flat.inner) : flat)) : v;
const mayHaveNames = (v: Vector): boolean => {
  switch (v.form) {
    case 'named':
      return true;
    case 'constant':
      return mayHaveNames(v.inner);
    case 'dictionary':
      return mayHaveNames(v.values);
    case 'selected':
      return mayHaveNames(v.base);
    case 'dynamic':
      return v.parts.some(mayHaveNames);
    default:
      return false;
  }
};
const endsInUnion = (v: Vector): boolean => v.form === 'union' || (v.form === 'named' && endsInUnion(v.inner));
/** Whether rows could be unions, or named unions: a quick look at the forms. */
export const mayHaveUnions = (v: Vector): boolean => someForm(v, ({ form }) => form === 'union');

/**
 * Elements as they are taken out of a container: a union of its element type is removed, unions inside of that stay.
 */
export const elementsOf = (v: Vector): Vector =>
  mayHaveUnions(v) ? lift(v, (flat) => (flat.form === 'union' ? liftUnion(flat, (m) => m) : flat)) : v;
