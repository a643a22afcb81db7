/** The same rows in other forms of vector, down to the columns of records and the items of lists. */
import { ColumnCodes } from '../../../src/exec/aggregates/grouping/codes.ts';
import { vectorOf } from '../../../src/vectors/builder.ts';
import {
  type Vector,
  constant,
  emptyVector,
  flatten,
  gather,
  uniformType,
  valueAt,
} from '../../../src/vectors/vector.ts';
import { types } from '../../../src/vectors/type.ts';

export type ForcedForm = 'constant' | 'dictionary' | 'selected' | 'dynamic' | 'halves';
export const forcedForms: readonly ForcedForm[] = ['constant', 'dictionary', 'selected', 'dynamic', 'halves'];

/** The rows in batches of that form. Constant: runs of equal rows as batches of their own. */
export const forced = (v: Vector, form: ForcedForm): readonly Vector[] => {
  switch (form) {
    case 'selected':
      return [selected(inside(v, selected, selected))];
    case 'dictionary':
      return [dictionary(inside(v, dictionary, dictionary))];
    // Items of lists and members of unions are of one type, so these stay as they are.
    case 'dynamic':
      return [mixed(inside(v, mixed))];
    case 'halves':
      return [halves(inside(v, halves))];
    case 'constant':
      return runsOf(v).map(([start, end]) =>
        constant(
          inside(vectorOf([valueAt(v, start)]), (x) => constant(gather(x, Uint32Array.of(0)), x.length)),
          end - start,
        ),
      );
  }
};

type Change = (x: Vector) => Vector;
/** Changes the children of a vector, innermost first. `typed`: those that are to have one type. */
const inside = (v: Vector, change: Change, typed: Change = (x) => x): Vector => {
  const child = (x: Vector): Vector => (x.length === 0 ? x : change(inside(x, change, typed)));
  const typedChild = (x: Vector): Vector => (x.length === 0 ? x : typed(inside(x, typed, typed)));
  const flat = flatten(v);
  switch (flat.form) {
    case 'list':
      return { ...flat, items: typedChild(flat.items) };
    case 'map':
      return { ...flat, keys: typedChild(flat.keys), values: typedChild(flat.values) };
    case 'union':
      return { ...flat, members: flat.members.map(typedChild) };
    case 'record':
      return { ...flat, fields: flat.fields.map((f) => ({ ...f, values: child(f.values) })) };
    case 'error':
    case 'named':
      return { ...flat, inner: child(flat.inner) };
    case 'dynamic':
      return { ...flat, parts: flat.parts.map((p) => inside(p, change, typed)) };
    default:
      return flat;
  }
};
/** Every row twice in the base, picked backwards. */
const selected = (v: Vector): Vector => {
  const base = gather(
    v,
    Uint32Array.from({ length: v.length * 2 }, (_, i) => v.length - 1 - (i >> 1)),
  );
  return {
    form: 'selected',
    length: v.length,
    index: Uint32Array.from({ length: v.length }, (_, i) => 2 * (v.length - 1 - i) + (i & 1)),
    base,
  };
};
const dictionary = (v: Vector): Vector => {
  const codes = new ColumnCodes();
  const own = codes.codes(v);
  return { form: 'dictionary', length: v.length, codes: own, values: codes.values() };
};
/** Rows of one type beside a part of another type that no row is in. */
const mixed = (v: Vector): Vector => {
  const flat = flatten(v);
  if (flat.form === 'dynamic') return flat;
  const other = emptyVector(uniformType(flat) === types.string ? types.int64 : types.string);
  return {
    form: 'dynamic',
    length: v.length,
    tags: new Uint32Array(v.length),
    slots: Uint32Array.from({ length: v.length }, (_, i) => i),
    parts: [flat, other],
  };
};
/** Rows of even and of odd places in two parts of the same type. */
const halves = (v: Vector): Vector => {
  const flat = flatten(v);
  if (flat.form === 'dynamic' || flat.length < 2) return flat;
  const part = (odd: number): Vector =>
    gather(
      flat,
      Uint32Array.from({ length: (flat.length + 1 - odd) >> 1 }, (_, i) => 2 * i + odd),
    );
  return {
    form: 'dynamic',
    length: flat.length,
    tags: Uint32Array.from({ length: flat.length }, (_, i) => i & 1),
    slots: Uint32Array.from({ length: flat.length }, (_, i) => i >> 1),
    parts: [part(0), part(1)],
  };
};
const runsOf = (v: Vector): readonly (readonly [number, number])[] => {
  const codes = new ColumnCodes().codes(v);
  const out: [number, number][] = [];
  for (let start = 0, i = 1; i <= v.length; i++) {
    if (i < v.length && codes[i] === codes[start]) continue;
    out.push([start, i]);
    start = i;
  }
  return out;
};
