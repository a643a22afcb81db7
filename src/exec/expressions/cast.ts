/**
 * `e::T` over vectors (reference/language/types-and-casts.md section 8). Errors pass, null becomes null of `T|null`, a
 * value of the very type stays; names and unions of the operand are removed; what cannot be cast is wrapped in an
 * error, also inside containers.
 */
import {
  type EnumType,
  type MapType,
  type NamedType,
  type RecordType,
  type Type,
  type UnionType,
  type ArrayType,
  type SetType,
  namedType,
  nullable,
  primitiveNamed,
  typeText,
  types,
  underType,
} from '../../vectors/type.ts';
import { fieldPlace } from '../../vectors/field-places.ts';
import { underValue, zeroData, stringData, typeData } from '../../vectors/value.ts';
import {
  type BytesVector,
  type Field,
  type FlatVector,
  type ListVector,
  type MapVector,
  type NamedVector,
  type RecordVector,
  type Vector,
  constant,
  dataAt,
  flatten,
  gather,
  emptyVector,
  noRows,
  range,
  take,
  typeAt,
  uniformType,
  valueAt,
} from '../../vectors/vector.ts';
import { constantOf } from '../../vectors/builder.ts';
import { castPrimitive, refuse } from './cast-primitive.ts';
import { lift, liftUnion } from './lift.ts';
import { listsOf, mapsOf } from './lists.ts';
import { combine, missingRows, overlay, tidy, truth, truthOf, wrapErrors } from './rows.ts';

/** Casts every row to `type`. */
export const castVector = (v: Vector, type: Type): Vector => castRows(v, type, false);

/** `inside` a container errors are no longer passed but cast like other values. */
const castRows = (v: Vector, type: Type, inside: boolean): Vector => lift(v, (flat) => castFlat(flat, type, inside));

const castFlat = (v: FlatVector, type: Type, inside: boolean): Vector => {
  if (uniformType(v) === type) return v;
  if (v.form === 'union') return liftUnion(v, (m) => castRows(m, type, inside));
  if (v.form === 'named') return castNamed(v, type, inside);
  if (v.form === 'null') return nullOf(type, v.length);
  if (v.form === 'error' && !inside) return v;
  switch (type.kind) {
    case 'primitive':
      return castPrimitive(v, type);
    case 'named':
      return castNamedType(v, type, inside);
    case 'union':
      return castUnion(v, type);
    case 'enum':
      return castEnum(v, type);
    case 'error':
      return castError(v, type.inner, inside);
    case 'record':
      return v.form === 'record' ? castRecord(v, type) : refuse(v, type);
    case 'array':
    case 'set':
      return v.form === 'list' ? castList(v, type) : refuse(v, type);
    case 'map':
      return v.form === 'map' ? castMap(v, type) : refuse(v, type);
  }
};

/** Named rows: what cannot be cast shows its name, errors keep it. */
const castNamed = (v: NamedVector, type: Type, inside: boolean): Vector => {
  const cast = castRows(v.inner, type, inside);
  const codes = truthOf(cast);
  if (!codes.subarray(0, v.length).includes(truth.error)) return cast;
  const before = truthOf(v.inner);
  const passed = new Uint8Array(v.length);
  for (let i = 0; i < v.length; i++) if (!inside && before[i] === truth.error) passed[i] = 1;
  return overlay(nameErrors(cast, v.name), passed, v);
};
/** Errors around a value show its name. */
const nameErrors = (v: Vector, name: string): Vector =>
  lift(v, (flat) =>
    flat.form !== 'error'
      ? flat
      : {
          ...flat,
          inner: lift(flat.inner, (on) =>
            on.form !== 'record'
              ? on
              : {
                  ...on,
                  fields: on.fields.map((f) =>
                    f.name === 'on' ? { ...f, values: { form: 'named', name, length: on.length, inner: f.values } } : f,
                  ),
                },
          ),
        },
  );

/** `null::(T|null)` on every row; null itself for type null. */
export const nullOf = (type: Type, length: number): Vector =>
  constantOf(type === types.null ? { type, data: null } : nullIn(type), length);
const nullIn = (type: Type): { readonly type: Type; readonly data: { readonly type: Type; readonly data: null } } => {
  // A named union keeps its name when it admits null already.
  const target = type.kind === 'named' && underType(type).kind === 'union' ? underType(type) : type;
  return { type: nullable(target), data: { type: types.null, data: null } };
};

/** Casts to the inner type, then names what is of that type: with an error or a null in it it is not. */
const castNamedType = (v: FlatVector, type: NamedType, inside: boolean): Vector => {
  const named = (flat: FlatVector): Vector => {
    if (flat.form === 'error' && underType(type.inner).kind !== 'error') return flat;
    const uniform = uniformType(flat) ?? (flat.length === 1 ? typeAt(flat, 0) : undefined);
    if (!uniform) return byRowType(flat, (rows) => named(flatten(rows)));
    return uniform === type.inner ? { form: 'named', name: type.name, length: flat.length, inner: flat } : flat;
  };
  return lift(castRows(v, type.inner, inside), named);
};

const castUnion = (v: FlatVector, type: UnionType): Vector => {
  const uniform = uniformType(v);
  if (uniform) {
    const tag = type.members.indexOf(uniform);
    if (tag < 0) return refuse(v, type);
    return {
      form: 'union',
      type,
      length: v.length,
      tags: new Uint32Array(v.length).fill(tag),
      slots: range(0, v.length),
      members: type.members.map((member, k) => (k === tag ? v : emptyVector(member))),
    };
  }
  return byRowType(v, (rows) => castUnion(flatten(rows), type));
};
/** Splits rows of a vector whose rows differ in type by their types. */
const byRowType = (v: Vector, f: (rows: Vector) => Vector): Vector => {
  const numbers = new Map<Type, number>();
  const tags = new Uint32Array(v.length);
  const slots = new Uint32Array(v.length);
  const rows: number[][] = [];
  for (let i = 0; i < v.length; i++) {
    const t = typeAt(v, i);
    let k = numbers.get(t);
    if (k === undefined) {
      numbers.set(t, (k = numbers.size));
      rows.push([]);
    }
    tags[i] = k;
    slots[i] = rows[k].push(i) - 1;
  }
  return combine(
    tags,
    slots,
    rows.map((r) => f(uniformRows(v, Uint32Array.from(r)))),
  );
};
/** Rows that are known to be of one type, so that the vector knows it too. */
const uniformRows = (v: Vector, rows: Uint32Array): Vector => {
  const flat = gather(v, rows);
  switch (flat.form) {
    case 'record':
      return {
        ...flat,
        fields: flat.fields.map((f) => ({ ...f, values: uniformRows(f.values, range(0, flat.length)) })),
      };
    case 'error':
    case 'named':
      return { ...flat, inner: uniformRows(flat.inner, range(0, flat.length)) };
    case 'dynamic': {
      const joined = tidy(flat);
      return joined.form === 'dynamic' ? joined : uniformRows(joined, range(0, joined.length));
    }
    default:
      return flat;
  }
};

const castEnum = (v: FlatVector, type: EnumType): Vector => {
  if (v.form !== 'bytes' || v.type !== types.string) return wrapErrors('cannot cast to enum', v);
  const index = new Map(type.symbols.map((s, i) => [s, i]));
  const codes = new Uint32Array(v.length);
  const bad = new Uint8Array(v.length);
  for (let i = 0; i < v.length; i++) {
    const code = index.get(stringData(dataAt(v, i)));
    if (code === undefined) bad[i] = 1;
    else codes[i] = code;
  }
  return overlay(
    { form: 'enum', type, length: v.length, codes },
    bad,
    wrapErrors(`no such symbol in ${typeText(type)}`, v),
  );
};

const castError = (v: FlatVector, inner: Type, inside: boolean): Vector => {
  if (v.form === 'error') {
    const own = uniformType(v.inner) ?? (v.length === 1 ? typeAt(v.inner, 0) : undefined);
    if (!inside || own === inner) return v;
    if (!own) return byRowType(v, (rows) => castError(flatten(rows), inner, inside));
  }
  return lift(castRows(v, inner, inside), (flat) =>
    flat.form === 'error' ? flat : { form: 'error', length: flat.length, inner: flat },
  );
};

const castRecord = (v: RecordVector, type: RecordType): Vector => {
  const fields = type.fields.map((target): Field => {
    const source = v.fields[fieldPlace(v.fields, target.name)];
    if (!source) {
      return target.optional
        ? {
            name: target.name,
            optional: true,
            present: new Uint8Array(v.length),
            values: constantOf({ type: target.type, data: zeroData(target.type) }, v.length),
          }
        : { name: target.name, optional: false, values: missingRows(v.length) };
    }
    const values = tidy(castRows(source.values, target.type, true));
    if (target.optional)
      return absentTyped(
        { name: target.name, optional: true, present: source.present ?? new Uint8Array(v.length).fill(1), values },
        target.type,
        v.length,
      );
    if (!source.present) return { name: target.name, optional: false, values };
    return {
      name: target.name,
      optional: false,
      values: overlay(values, source.present.map((p) => 1 - p).subarray(0, v.length), missingRows(v.length)),
    };
  });
  return { form: 'record', length: v.length, fields };
};
/** Absent rows of an optional field lend their declared type. */
const absentTyped = (field: Field, type: Type, length: number): Field => {
  const absent = field.present!.map((p) => 1 - p).subarray(0, length);
  return { ...field, values: overlay(field.values, absent, constantOf({ type, data: zeroData(type) }, length)) };
};

const itemsOf = (
  v: { readonly length: number; readonly offsets: Uint32Array },
  items: Vector,
): { readonly items: Vector; readonly offsets: Uint32Array } => {
  const start = v.offsets[0];
  const end = v.offsets[v.length];
  if (start === 0 && end === items.length) return { items, offsets: v.offsets };
  return { items: take(items, range(start, end)), offsets: v.offsets.subarray(0, v.length + 1).map((o) => o - start) };
};
const castList = (v: ListVector, type: ArrayType | SetType): Vector => {
  const { items, offsets } = itemsOf(v, v.items);
  return listsOf(type.kind, offsets, tidy(castRows(items, type.element, true)), v.length, type.element);
};
const castMap = (v: MapVector, type: MapType): Vector => {
  const { items: keys, offsets } = itemsOf(v, v.keys);
  const { items: values } = itemsOf(v, v.values);
  return mapsOf(offsets, castRows(keys, type.key, true), castRows(values, type.value, true), v.length, type);
};

/** `::=name`: a new named type around each value, in place of names that it has; errors pass. */
export const castToName = (v: Vector, name: string, names: Map<string, Type>): Vector => {
  if (primitiveNamed(name)) {
    return lift(v, (flat) =>
      flat.form === 'error'
        ? flat
        : wrapErrors(`cannot cast to named type: bad type name "${name}": primitive type name`, flat),
    );
  }
  return lift(v, (flat) => {
    let inner: Vector = flat;
    while (inner.form === 'named') inner = inner.inner;
    if (inner.form === 'error') return flat;
    // Values of one name can be of several types, errors among them.
    const passed = errorRows(inner, flat.length);
    const last = passed.lastIndexOf(0);
    if (last >= 0) names.set(name, namedType(name, typeAt(inner, last)));
    const named: Vector = { form: 'named', name, length: flat.length, inner };
    return passed.includes(1) ? overlay(named, passed, flat) : named;
  });
};

/** 1 for rows that are errors. */
const errorRows = (v: Vector, length: number): Uint8Array => {
  const out = new Uint8Array(length);
  const flat = flatten(v);
  if (flat.form === 'error') return out.fill(1);
  if (flat.form !== 'dynamic') return out;
  const isError = flat.parts.map((part) => part.length > 0 && flatten(part).form === 'error');
  for (let i = 0; i < length; i++) if (isError[flat.tags[i]]) out[i] = 1;
  return out;
};

const notTarget = 'cast target must be a type or type name';
/** `cast(e, t)` where the targets are values: types, names, or neither. */
export const castByValue = (v: Vector, targets: Vector, names: Map<string, Type>): Vector => {
  const length = v.length;
  if (length === 0) return noRows;
  if (targets.form === 'constant') return castToTarget(v, targets.inner, names);
  const flat = flatten(targets);
  const keys = new Map<unknown, number>();
  const firsts: number[] = [];
  const tags = new Uint32Array(length);
  const slots = new Uint32Array(length);
  const counts: number[] = [];
  for (let i = 0; i < length; i++) {
    const key = targetAt(flat, i);
    let k = keys.get(key);
    if (k === undefined) {
      keys.set(key, (k = keys.size));
      firsts.push(i);
      counts.push(0);
    }
    tags[i] = k;
    slots[i] = counts[k]++;
  }
  const rows = counts.map((n) => new Uint32Array(n));
  for (let i = 0; i < length; i++) rows[tags[i]][slots[i]] = i;
  const wrong = keys.get(undefined);
  return combine(
    tags,
    slots,
    rows.map((r, k) =>
      k === wrong
        ? refuseTargets(notTarget, take(v, r), take(flat, r))
        : castToTarget(take(v, r), take(flat, Uint32Array.of(firsts[k])), names),
    ),
  );
};
/** Errors around targets that are none, but for rows that are errors themselves. */
export const refuseTargets = (message: string, v: Vector, targets: Vector): Vector => {
  const codes = truthOf(v);
  const passed = new Uint8Array(v.length);
  for (let i = 0; i < v.length; i++) if (codes[i] === truth.error) passed[i] = 1;
  return overlay(wrapErrors(message, targets), passed, v);
};
/** The type or name of a row, within names and unions too. */
const targetAt = (targets: Vector, row: number): Type | string | undefined => {
  const { type, data } = underValue(valueAt(targets, row));
  return type === types.type || type === types.string ? (data as Type | string) : undefined;
};
const castToTarget = (v: Vector, target: Vector, names: Map<string, Type>): Vector => {
  let t: Vector = flatten(target);
  while (t.form !== 'type' && t.form !== 'bytes') {
    if (t.form === 'named') t = flatten(take(t.inner, new Uint32Array(1)));
    else if (t.form === 'union') t = flatten(take(t.members[t.tags[0]], t.slots.subarray(0, 1)));
    else if (t.form === 'dynamic') t = flatten(take(t.parts[t.tags[0]], t.slots.subarray(0, 1)));
    else break;
  }
  if (t.form === 'type') return castVector(v, typeData(dataAt(t, 0)));
  if (t.form === 'bytes' && t.type === types.string)
    return castToName(v, stringData(dataAt(t as BytesVector, 0)), names);
  const wrong = constant(wrapErrors(notTarget, target.form === 'constant' ? target.inner : target), 1);
  return lift(v, (flat) => (flat.form === 'error' ? flat : { ...wrong, length: flat.length }));
};
