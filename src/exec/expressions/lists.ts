/**
 * Arrays, sets and maps made of vectors of elements: the type of a row's container is inferred from the elements of the
 * row.
 */
import { checkStopAt } from '../../vectors/stop.ts';
import { type Type, arrayType, mapType, setType, types, unionType } from '../../vectors/type.ts';
import { type Value, arrayValue, canonicalSet, mapValue, setValue } from '../../vectors/value.ts';
import { type Vector, dataAt, emptyVector, flatten, take, uniformType, valueAt } from '../../vectors/vector.ts';
import { Builder } from '../../vectors/builder.ts';

/** The containers of elements without keys; a set is in canonical order and has no element twice. */
export type ListKind = 'array' | 'set';

/**
 * One array or set a row: row i has items[offsets[i], offsets[i + 1]). `empty` is the element type of rows without
 * elements (null if nothing else is known). Elements of several types end in a union of them.
 */
export const listsOf = (
  kind: ListKind,
  offsets: Uint32Array,
  items: Vector,
  length: number,
  empty: Type = types.null,
): Vector => {
  const element = items.length === 0 ? empty : uniformType(items);
  if (element && (element === empty || !hasEmptyRow(offsets, length))) {
    if (kind === 'array')
      return {
        form: 'list',
        type: arrayType(element),
        length,
        offsets,
        items: items.length === 0 ? emptyVector(element) : items,
      };
    return setsOf(element, offsets, items, length);
  }
  const together =
    kind === 'array'
      ? element
        ? besideEmpty(offsets, items, length, [element, empty])
        : mixedArrays(offsets, items, length, empty)
      : undefined;
  if (together) return together;
  const out = new Builder();
  for (let i = 0; i < length; i++) {
    const values: Value[] = [];
    for (let at = offsets[i]; at < offsets[i + 1]; at++) {
      checkStopAt(at);
      values.push(valueAt(items, at));
    }
    out.append(
      values.length === 0
        ? { type: kind === 'array' ? arrayType(empty) : setType(empty), data: [] }
        : kind === 'array'
          ? arrayValue(values)
          : setValue(values),
    );
  }
  return out.finish();
};
/** Arrays of one type of elements beside those without any, which are of another type. */
const besideEmpty = (
  offsets: Uint32Array,
  items: Vector,
  length: number,
  [element, empty]: readonly [Type, Type],
): Vector => {
  const tags = new Uint32Array(length);
  const slots = new Uint32Array(length);
  const own = new Uint32Array(length + 1);
  let full = 0;
  for (let i = 0; i < length; i++) {
    const isEmpty = offsets[i] === offsets[i + 1];
    tags[i] = isEmpty ? 1 : 0;
    slots[i] = isEmpty ? i - full : full;
    if (!isEmpty) own[full++] = offsets[i];
  }
  // Rows follow one another: what has no elements takes no place between them.
  own[full] = offsets[length];
  const none = length - full;
  const parts = [
    { form: 'list', type: arrayType(element), length: full, offsets: own.subarray(0, full + 1), items },
    {
      form: 'list',
      type: arrayType(empty),
      length: none,
      offsets: new Uint32Array(none + 1),
      items: emptyVector(empty),
    },
  ] as const;
  return { form: 'dynamic', length, tags, slots, parts };
};
/** Parts of mixed elements that a bit mask has room for. */
const partsMax = 30;
/**
 * Arrays of elements of several types, by the set of types that a row has: rows of one set share a list vector whose
 * elements view the parts. Undefined where that does not work: many parts, or parts that are mixed themselves.
 */
const mixedArrays = (offsets: Uint32Array, items: Vector, length: number, empty: Type): Vector | undefined => {
  const flat = flatten(items);
  if (flat.form !== 'dynamic' || flat.parts.length > partsMax) return undefined;
  const partTypes = flat.parts.map(uniformType);
  if (partTypes.some((t) => !t) || new Set(partTypes).size < partTypes.length) return undefined;
  const { tags, slots, parts } = flat;
  const groups = new Map<number, number[]>();
  for (let i = 0; i < length; i++) {
    let mask = 0;
    for (let at = offsets[i]; at < offsets[i + 1]; at++) mask |= 1 << tags[at];
    const rows = groups.get(mask);
    if (rows) rows.push(i);
    else groups.set(mask, [i]);
  }
  const outTags = new Uint32Array(length);
  const outSlots = new Uint32Array(length);
  const lists = [...groups].map(([mask, rows], tag) => {
    const own = new Uint32Array(rows.length + 1);
    rows.forEach((row, n) => {
      outTags[row] = tag;
      outSlots[row] = n;
      own[n + 1] = own[n] + offsets[row + 1] - offsets[row];
    });
    const total = own[rows.length];
    const itemTags = new Uint32Array(total);
    const itemSlots = new Uint32Array(total);
    let to = 0;
    for (const row of rows) {
      for (let at = offsets[row]; at < offsets[row + 1]; at++) {
        itemTags[to] = tags[at];
        itemSlots[to++] = slots[at];
      }
    }
    const used = parts.map((_, k) => k).filter((k) => mask & (1 << k));
    if (used.length === 0)
      return {
        form: 'list',
        type: arrayType(empty),
        length: rows.length,
        offsets: own,
        items: emptyVector(empty),
      } as const;
    if (used.length === 1)
      return {
        form: 'list',
        type: arrayType(partTypes[used[0]!]!),
        length: rows.length,
        offsets: own,
        items: take(parts[used[0]], itemSlots),
      } as const;
    const type = unionType(used.map((k) => partTypes[k]!));
    const places = partTypes.map((t) => type.members.indexOf(t!));
    for (let n = 0; n < total; n++) itemTags[n] = places[itemTags[n]];
    const members = type.members.map((m) => parts[partTypes.indexOf(m)]);
    return {
      form: 'list',
      type: arrayType(type),
      length: rows.length,
      offsets: own,
      items: { form: 'union', type, length: total, tags: itemTags, slots: itemSlots, members },
    } as const;
  });
  return lists.length === 1 ? lists[0] : { form: 'dynamic', length, tags: outTags, slots: outSlots, parts: lists };
};
const hasEmptyRow = (offsets: Uint32Array, length: number): boolean => {
  for (let i = 0; i < length; i++) if (offsets[i] === offsets[i + 1]) return true;
  return false;
};
/** One set a row: row i has items[offsets[i], offsets[i + 1]). */
export const setsOf = (element: Type, offsets: Uint32Array, items: Vector, length: number): Vector => {
  const out = new Builder();
  const type = setType(element);
  for (let i = 0; i < length; i++) {
    const data = [];
    for (let at = offsets[i]; at < offsets[i + 1]; at++) {
      checkStopAt(at);
      data.push(dataAt(items, at));
    }
    out.appendData(type, canonicalSet(element, data));
  }
  return length === 0 ? emptyVector(type) : out.finish();
};

/** One map a row from parallel keys and values. */
export const mapsOf = (
  offsets: Uint32Array,
  keys: Vector,
  values: Vector,
  length: number,
  empty: { readonly key: Type; readonly value: Type } = { key: types.null, value: types.null },
): Vector => {
  const out = new Builder();
  for (let i = 0; i < length; i++) {
    const entries: (readonly [Value, Value])[] = [];
    for (let at = offsets[i]; at < offsets[i + 1]; at++) {
      checkStopAt(at);
      entries.push([valueAt(keys, at), valueAt(values, at)]);
    }
    out.append(entries.length === 0 ? { type: mapType(empty.key, empty.value), data: [] } : mapValue(entries));
  }
  return out.finish();
};
