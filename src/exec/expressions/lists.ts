/** Arrays, sets and maps made of vectors of elements: the type of a row's container is inferred from the elements of the row. */
import { type Type, arrayType, mapType, setType, types } from '../../vectors/type.ts';
import { type Value, arrayValue, canonicalSet, mapValue, setValue } from '../../vectors/value.ts';
import { type Vector, dataAt, emptyVector, uniformType, valueAt } from '../../vectors/vector.ts';
import { Builder } from '../../vectors/builder.ts';

export type ListKind = 'array' | 'set';

/**
 * One array or set a row: row i has items[offsets[i], offsets[i + 1]). `empty` is the element type of rows without elements (null if nothing else is known).
 * Elements of several types end in a union of them.
 */
export const listsOf = (kind: ListKind, offsets: Uint32Array, items: Vector, length: number, empty: Type = types.null): Vector => {
  const element = items.length === 0 ? empty : uniformType(items);
  if (element && (element === empty || !hasEmptyRow(offsets, length))) {
    if (kind === 'array') return { form: 'list', type: arrayType(element), length, offsets, items: items.length === 0 ? emptyVector(element) : items };
    return setsOf(element, offsets, items, length);
  }
  const out = new Builder();
  for (let i = 0; i < length; i++) {
    const values: Value[] = [];
    for (let at = offsets[i]!; at < offsets[i + 1]!; at++) values.push(valueAt(items, at));
    out.append(values.length === 0 ? { type: kind === 'array' ? arrayType(empty) : setType(empty), data: [] } : kind === 'array' ? arrayValue(values) : setValue(values));
  }
  return out.finish();
};
const hasEmptyRow = (offsets: Uint32Array, length: number): boolean => {
  for (let i = 0; i < length; i++) if (offsets[i] === offsets[i + 1]) return true;
  return false;
};
const setsOf = (element: Type, offsets: Uint32Array, items: Vector, length: number): Vector => {
  const out = new Builder(), type = setType(element);
  for (let i = 0; i < length; i++) {
    const data = [];
    for (let at = offsets[i]!; at < offsets[i + 1]!; at++) data.push(dataAt(items, at));
    out.appendData(type, canonicalSet(element, data));
  }
  return length === 0 ? emptyVector(type) : out.finish();
};

/** One map a row from parallel keys and values. */
export const mapsOf = (offsets: Uint32Array, keys: Vector, values: Vector, length: number, empty: { readonly key: Type; readonly value: Type } = { key: types.null, value: types.null }): Vector => {
  const out = new Builder();
  for (let i = 0; i < length; i++) {
    const entries: (readonly [Value, Value])[] = [];
    for (let at = offsets[i]!; at < offsets[i + 1]!; at++) entries.push([valueAt(keys, at), valueAt(values, at)]);
    out.append(entries.length === 0 ? { type: mapType(empty.key, empty.value), data: [] } : mapValue(entries));
  }
  return out.finish();
};
