/** Fields, indexes and slices. */
import { charactersIn, nextCharacter } from '../../vectors/texts/codec.ts';
import { type Type, isInteger, types, underType } from '../../vectors/type.ts';
import {
  type Vector,
  type RecordVector,
  type ListVector,
  type MapVector,
  type BytesVector,
  type TypeVector,
  type NumberVector,
  constant,
  dataAt,
  flatten,
  noRows,
  nulls,
  take,
  typeAt,
  valueAt,
  ofForm,
} from '../../vectors/vector.ts';
import { equalValues } from '../../vectors/compare.ts';
import { fieldPlace } from '../../vectors/field-places.ts';
import { Builder } from '../../vectors/builder.ts';
import { BytesBuilder } from '../../vectors/builder-leaves.ts';
import { missing, underUnion, underValue, stringData } from '../../vectors/value.ts';
import { apply, type Kernel } from './apply.ts';
import { castVector } from './cast.ts';
import { kinds, kindsOf, mayBeError } from '../operators/rows/kinds.ts';
import { elementsOf, lift, mayHaveUnions, withoutUnions } from './lift.ts';
import { combine, errors, missingRows, overlay, rowsWith, truth, truthOf, wrapErrors } from './rows.ts';

/**
 * `v.name` of every row: a field of a record, an entry of a map, the field's type of a record type; error("missing")
 * where there is none.
 */
export const fieldOf = (v: Vector, name: string): Vector => {
  switch (v.form) {
    case 'record':
      return recordField(v, name);
    case 'selected':
      return take(fieldOf(v.base, name), v.index.length === v.length ? v.index : v.index.subarray(0, v.length));
    case 'constant': {
      const field = fieldOf(v.inner, name);
      return constant(field.form === 'selected' || field.form === 'dictionary' ? flatten(field) : field, v.length);
    }
    case 'dictionary': {
      const values = fieldOf(v.values, name);
      return values.form === 'constant' ? { ...values, length: v.length } : { ...v, values };
    }
    case 'named':
      return fieldOf(v.inner, name);
    case 'dynamic':
      return combine(
        v.tags.subarray(0, v.length),
        v.slots.subarray(0, v.length),
        v.parts.map((p) => fieldOf(p, name)),
      );
    case 'union':
      return combine(
        v.tags.subarray(0, v.length),
        v.slots.subarray(0, v.length),
        v.members.map((m) => fieldOf(m, name)),
      );
    case 'map':
      return mapEntry(v, name);
    case 'type':
      return fieldType(v, name);
    default:
      return missingRows(v.length);
  }
};
const recordField = (v: RecordVector, name: string): Vector => {
  const f = v.fields[fieldPlace(v.fields, name)];
  if (!f) return missingRows(v.length);
  return f.present ? withAbsent(f.values, f.present, v.length) : f.values;
};
const withAbsent = (values: Vector, present: Uint8Array, length: number): Vector => {
  const absent = new Uint8Array(length);
  for (let i = 0; i < length; i++) absent[i] = present[i] ? 0 : 1;
  return overlay(values, absent, missingRows(length));
};
const mapEntry = (v: MapVector, key: string): Vector => {
  const out = new Builder();
  for (let i = 0; i < v.length; i++) {
    let at = v.offsets[i];
    const end = v.offsets[i + 1];
    while (at < end) {
      const k = underValue(valueAt(v.keys, at));
      if (k.type === types.string && k.data === key) break;
      at++;
    }
    out.append(at < end ? underUnion(valueAt(v.values, at)) : missing);
  }
  return out.finish();
};
const fieldType = (v: TypeVector, name: string): Vector => {
  const out = new Builder();
  for (let i = 0; i < v.length; i++) {
    let type: Type = v.table[v.codes[i]];
    while (type.kind === 'named') type = type.inner;
    const field = type.kind === 'record' ? type.fields[fieldPlace(type.fields, name)] : undefined;
    if (field) out.appendData(types.type, field.type);
    else out.append(missing);
  }
  return out.finish();
};

/** Null where a row has not what was looked for, as SQL has it. */
export const nullWhereMissing = (v: Vector): Vector =>
  mayBeError(v)
    ? lift(v, (flat) => {
        const missing =
          flat.form === 'error' ? kindsOf(flat)?.map((kind) => (kind === kinds.missing ? 1 : 0)) : undefined;
        return missing ? overlay(flat, missing, nulls(flat.length)) : flat;
      })
    : v;

/** The value at a path of fields. */
export const pathOf = (v: Vector, path: readonly string[]): Vector => path.reduce(fieldOf, v);

/** `of[at]`. */
export const indexVector = (of: Vector, at: Vector, base: 0 | 1, length: number): Vector => {
  if (at.form === 'constant') {
    const key = underValue(valueAt(at.inner, 0));
    if (key.type === types.string && isRecordOnly(of)) return fieldOf(of, stringData(key.data));
  }
  return apply([of, at], length, base === 0 ? indexFromZero : indexFromOne, 'whole');
};
const isRecordOnly = (v: Vector): boolean => {
  switch (v.form) {
    case 'record':
      return true;
    case 'selected':
      return isRecordOnly(v.base);
    case 'constant':
    case 'named':
      return isRecordOnly(v.inner);
    case 'dynamic':
      return v.parts.every(isRecordOnly);
    default:
      return false;
  }
};

const indexKernel =
  (base: 0 | 1): Kernel =>
  ([of, at], length) => {
    const o = of!.form === 'constant' ? of!.inner : of!;
    const a = at!.form === 'constant' ? at!.inner : at!;
    if (a.form === 'error' && (o.form === 'list' || o.form === 'record')) return at!;
    switch (o.form) {
      case 'list':
        return indexList(o, of!.form === 'constant', at!, base);
      case 'record':
        return indexRecord(ofForm(flatten(of!), 'record'), at!, base);
      case 'map':
        return indexMap(o, of!.form === 'constant', at!);
      default:
        return missingRows(length);
    }
  };
const indexFromZero = indexKernel(0);
const indexFromOne = indexKernel(1);

/** Positions that the index rows name, or the errors that they are. */
const integers = (at: Vector): NumberVector | undefined => {
  const flat = flatten(at);
  return flat.form === 'number' && isInteger(flat.type) ? flat : undefined;
};
const isTooLarge = (x: number | bigint): boolean => typeof x === 'bigint' && x > 9223372036854775807n;
/** The place of index `x` among `size` elements, or -1. */
const placeOf = (x: number | bigint, size: number, base: 0 | 1): number => {
  const n = Number(x);
  const place = n < 0 ? size + n : n - base;
  return place >= 0 && place < size ? place : -1;
};

/** `isOne`: the lists of all rows are the one of `of`, which is not copied for each. */
const indexList = (of: ListVector, isOne: boolean, at: Vector, base: 0 | 1): Vector => {
  const index = integers(at);
  const { length } = isOne ? at : of;
  if (!index) return wrapErrors('index is not an integer', at);
  const places = new Uint32Array(length);
  const absent = new Uint8Array(length);
  const large = new Uint8Array(length);
  for (let i = 0; i < length; i++) {
    const x = index.values[i];
    if (isTooLarge(x)) large[i] = 1;
    const row = isOne ? 0 : i;
    const place = placeOf(x, of.offsets[row + 1] - of.offsets[row], base);
    if (place < 0) absent[i] = 1;
    else places[i] = of.offsets[row] + place;
  }
  const values = of.items.length === 0 ? nulls(length) : elementsOf(take(of.items, places));
  return overlay(overlay(values, absent, missingRows(length)), large, wrapErrors('cannot cast to int64', at));
};
const indexRecord = (of: RecordVector, at: Vector, base: 0 | 1): Vector => {
  const flat = flatten(at);
  const { length } = of;
  if (flat.form === 'bytes' && flat.type === types.string)
    return fieldPerRow(of, (i) => of.fields.findIndex((f) => f.name === dataAt(flat, i)));
  const index = integers(at);
  if (!index)
    return flat.form === 'null'
      ? wrapErrors('invalid value for record index', nulls(length))
      : wrapErrors('invalid value for record index', at);
  const large = Uint8Array.from({ length }, (_, i) => (isTooLarge(index.values[i]) ? 1 : 0));
  return overlay(
    fieldPerRow(of, (i) => placeOf(index.values[i], of.fields.length, base)),
    large,
    wrapErrors('cannot cast to int64', at),
  );
};
/** Row i is field `column(i)` of row i, missing for -1. */
const fieldPerRow = (of: RecordVector, column: (i: number) => number): Vector => {
  const { length } = of;
  const tags = new Uint32Array(length);
  const slots = new Uint32Array(length);
  for (let i = 0; i < length; i++) {
    tags[i] = column(i) + 1;
    slots[i] = i;
  }
  const parts = [
    missingRows(length),
    ...of.fields.map((f) => (f.present ? withAbsent(f.values, f.present, length) : f.values)),
  ];
  return combine(tags, slots, parts);
};
const indexMap = (of: MapVector, isOne: boolean, at: Vector): Vector => {
  const out = new Builder();
  const { length } = isOne ? at : of;
  for (let i = 0; i < length; i++) {
    const key = underValue(valueAt(at, at.form === 'constant' ? 0 : i));
    const row = isOne ? 0 : i;
    let found = of.offsets[row];
    const end = of.offsets[row + 1];
    while (found < end) {
      const k = underValue(valueAt(of.keys, found));
      if (k.type === key.type && (key.type === types.null || equalValues(k, key))) break;
      found++;
    }
    out.append(found < end ? underUnion(valueAt(of.values, found)) : missing);
  }
  return out.finish();
};

/** `of[from:to]`; absent bounds are the ends. */
export const sliceVector = (
  of: Vector,
  bounds: { readonly from?: Vector; readonly to?: Vector; readonly base: 0 | 1 },
  length: number,
): Vector => {
  if (length === 0) return noRows;
  if (mayHaveUnions(of)) return sliceSome(of, bounds, length);
  const args = [of, ...(bounds.from ? [bounds.from] : []), ...(bounds.to ? [bounds.to] : [])];
  return apply(args, length, (vectors, n) => {
    const from = bounds.from ? vectors[1] : undefined;
    const to = bounds.to ? vectors[vectors.length - 1] : undefined;
    return sliceRows(vectors[0], from, to, bounds.base, n);
  });
};
/** Unions are not looked through here. */
const sliceSome = (
  of: Vector,
  bounds: { readonly from?: Vector; readonly to?: Vector; readonly base: 0 | 1 },
  length: number,
): Vector => {
  const codes = new Uint8Array(length);
  for (let i = 0; i < length; i++) codes[i] = underType(typeAt(of, i)).kind === 'union' ? 1 : 0;
  const unions = rowsWith(codes, length, 1);
  const others = rowsWith(codes, length, 0);
  if (unions.length === 0) return sliceVector(withoutUnions(of), bounds, length);
  const tags = new Uint32Array(length);
  const slots = new Uint32Array(length);
  for (const [tag, rows] of [unions, others].entries()) {
    rows.forEach((row, n) => {
      tags[row] = tag;
      slots[row] = n;
    });
  }
  const cut = (v: Vector | undefined): Vector | undefined => v && take(v, others);
  const from = cut(bounds.from);
  const to = cut(bounds.to);
  const rest =
    others.length === 0
      ? noRows
      : sliceVector(
          withoutUnions(take(of, others)),
          { ...(from && { from }), ...(to && { to }), base: bounds.base },
          others.length,
        );
  return combine(tags, slots, [wrapErrors('sliced value is not array, set, bytes, or string', take(of, unions)), rest]);
};
const innerForm = (v: Vector | undefined): Vector['form'] | undefined =>
  v?.form === 'constant' ? v.inner.form : v?.form;

const sliceRows = (
  of: Vector,
  from: Vector | undefined,
  to: Vector | undefined,
  base: 0 | 1,
  length: number,
): Vector => {
  const flat = flatten(of);
  if (flat.form === 'error') return of;
  if (flat.form === 'null') return nulls(length);
  const sliceable =
    flat.form === 'list' || (flat.form === 'bytes' && (flat.type === types.string || flat.type === types.bytes));
  if (!sliceable) return wrapErrors('sliced value is not array, set, bytes, or string', of);
  const places: (ArrayLike<number | bigint> | undefined)[] = [];
  for (const bound of [from, to]) {
    if (innerForm(bound) === 'error') return bound!;
    if (innerForm(bound) === 'null') return nulls(length);
    const { values, bad } = bound ? positions(bound) : nowhere;
    places.push(values);
    if (!bad) continue;
    const good = rowsWith(bad, length, 0);
    const rest =
      good.length === 0
        ? noRows
        : sliceRows(
            take(of, good),
            from && flatten(take(from, good)),
            to && flatten(take(to, good)),
            base,
            good.length,
          );
    return scatter(rest, good, errors('slice index is not a number', length));
  }
  const [starts, ends] = places;
  const range = (i: number, size: number): readonly [number, number] => {
    const start = starts ? clamp(starts[i], size, base) : 0;
    const end = ends ? clamp(ends[i], size, base) : size;
    return [start, Math.max(start, end)];
  };
  return flat.form === 'list'
    ? sliceList(flat, range)
    : flat.type === types.string
      ? sliceText(flat, range)
      : sliceBytes(flat, range);
};
/** The values at their rows, elsewhere those of `others`. */
const scatter = (values: Vector, rows: Uint32Array, others: Vector): Vector => {
  const tags = new Uint32Array(others.length).fill(1);
  const slots = Uint32Array.from(tags, (_, i) => i);
  rows.forEach((row, n) => {
    tags[row] = 0;
    slots[row] = n;
  });
  return rows.length === 0 ? others : combine(tags, slots, [values, others]);
};
/** What casts to an integer is one. `bad`: 1 for rows that do not. */
interface Positions {
  readonly values?: ArrayLike<number | bigint>;
  readonly bad?: Uint8Array;
}
const nowhere: Positions = {};
const positions = (bound: Vector): Positions => {
  const own = integers(bound);
  if (own) {
    const large =
      own.values instanceof Float64Array
        ? undefined
        : Uint8Array.from({ length: own.length }, (_, i) => (isTooLarge(own.values[i]) ? 1 : 0));
    return large?.includes(1) ? { bad: large } : { values: own.values };
  }
  const cast = castVector(flatten(bound), types.int64);
  const bad = truthOf(cast)
    .subarray(0, bound.length)
    .map((c) => (c === truth.error ? 1 : 0));
  if (bad.includes(1)) return { bad };
  const flat = flatten(cast);
  return flat.form === 'number' ? { values: flat.values } : nowhere;
};
const clamp = (x: number | bigint, size: number, base: 0 | 1): number => {
  const n = Number(x);
  const place = n < 0 ? size + n : n - base;
  return Math.min(Math.max(place, 0), size);
};
type RangeOf = (i: number, size: number) => readonly [number, number];

const sliceList = (v: ListVector, rangeOf: RangeOf): Vector => {
  const offsets = new Uint32Array(v.length + 1);
  const index: number[] = [];
  for (let i = 0; i < v.length; i++) {
    const first = v.offsets[i];
    const [start, end] = rangeOf(i, v.offsets[i + 1] - first);
    for (let at = start; at < end; at++) index.push(first + at);
    offsets[i + 1] = index.length;
  }
  return { ...v, offsets, items: take(v.items, Uint32Array.from(index)) };
};
const sliceBytes = (v: BytesVector, rangeOf: RangeOf): Vector => {
  const out = new BytesBuilder(v.type);
  for (let i = 0; i < v.length; i++) {
    const first = v.offsets[i];
    const [start, end] = rangeOf(i, v.offsets[i + 1] - first);
    out.run(v.bytes, first + start, first + end);
  }
  return out.finish();
};
/** By characters. */
const sliceText = (v: BytesVector, rangeOf: RangeOf): Vector => {
  const out = new BytesBuilder(v.type);
  const { bytes, offsets } = v;
  for (let i = 0; i < v.length; i++) {
    const first = offsets[i];
    const last = offsets[i + 1];
    const size = charactersIn(bytes, first, last);
    const [start, end] = rangeOf(i, size);
    const from = size === last - first ? first + start : skip(bytes, first, last, start);
    const to = size === last - first ? first + end : skip(bytes, from, last, end - start);
    out.run(bytes, from, to);
  }
  return out.finish();
};
/** The place `count` characters behind `at`. */
const skip = (bytes: Uint8Array, at: number, end: number, count: number): number => {
  let place = at;
  for (let n = 0; n < count && place < end; n++) place = nextCharacter(bytes, place, end);
  return place;
};
