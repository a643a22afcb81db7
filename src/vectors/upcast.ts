/**
 * Upcast: values re-typed to a wider type without any conversion (reference/language/types-and-casts.md section 8):
 * into a union, with optional or nullable fields. What cannot be upcast becomes error({message:"cannot upcast to
 * T",on:value}) in its place; what is around it keeps no name, union or error around it.
 */
import {
  type Type,
  type ArrayType,
  type EnumType,
  type MapType,
  type NamedType,
  type RecordType,
  type SetType,
  type UnionType,
  types,
  typeText,
  underType,
} from './type.ts';
import {
  type Data,
  type Value,
  arrayValue,
  canonicalSet,
  mapValue,
  missing,
  setValue,
  stringValue,
  zeroData,
} from './value.ts';
import { checkStopAt } from './stop.ts';
import {
  type Vector,
  type EnumVector,
  type Field,
  type FlatVector,
  type ListVector,
  type MapVector,
  type NamedVector,
  type RecordVector,
  constant,
  flatten,
  noRows,
  nulls,
  range,
  take,
  typeAt,
  uniformType,
  valueAt,
  ofForm,
} from './vector.ts';
import { Builder, constantOf } from './builder.ts';
import { concat } from './concat.ts';
import { typesOf } from './fuse.ts';

/** Every row upcast to `type`. Rows that have the type already stay as they are. */
export const upcastVector = (v: Vector, type: Type): Vector => {
  if (v.length === 0 || uniformType(v) === type) return v;
  if (v.form === 'constant') return constant(take(upcastVector(v.inner, type), new Uint32Array(1)), v.length);
  if (v.form === 'dictionary') return take(upcastVector(v.values, type), v.codes.subarray(0, v.length));
  const uniform = uniformType(v);
  const alike = uniform ? undefined : (asMembers(v, type) ?? asRecords(v, type));
  if (alike) return alike;
  const { table, codes } = uniform ? { table: [uniform] } : typesOf(v);
  if (!codes) return upcastUniform(flatten(v), table[0]!, type);
  // Records of one shape whose fields differ in type go field by field, which is one pass instead of one for each
  // combination.
  const flat = flatten(v);
  const target = underType(type);
  if (flat.form === 'record' && target.kind === 'record') return namedWhereFit(upcastRecords(flat, target), type);
  if (flat.form === 'dynamic' && target.kind === 'record' && flat.parts.every((p) => p.form === 'record')) {
    return regroup(flat.tags.subarray(0, flat.length), flat.slots, flat.parts, (part) =>
      namedWhereFit(upcastRecords(ofForm(part, 'record'), target), type),
    );
  }
  return splitByCode(flat, codes, table.length, (rows, code) => upcastUniform(flatten(rows), table[code]!, type));
};

/** Rows whose types are plain members of the union, each in a part of its own: they are put into it as they are. */
const asMembers = (v: Vector, to: Type): Vector | undefined => {
  if (v.form !== 'dynamic' || to.kind !== 'union') return undefined;
  const tags = v.parts.map((p) => plainMember(p, to));
  if (tags.includes(-1) || new Set(tags).size < tags.length) return undefined;
  const memberTags = new Uint32Array(v.length);
  lookUp(v.tags, Uint32Array.from(tags), memberTags);
  return {
    form: 'union',
    type: to,
    length: v.length,
    tags: memberTags,
    slots: v.slots,
    members: to.members.map((m, k) => v.parts[tags.indexOf(k)] ?? new Builder(m).finish()),
  };
};
const plainMember = (v: Vector, to: UnionType): number => {
  const type = uniformType(v);
  return type?.kind === 'primitive' ? to.members.indexOf(type) : -1;
};
const lookUp = (codes: Uint32Array, table: Uint32Array, out: Uint32Array): void => {
  for (let i = 0; i < out.length; i++) out[i] = table[codes[i]!]!;
};
const asRecords = (v: Vector, to: Type): Vector | undefined =>
  v.form === 'record' && to.kind === 'record' ? upcastRecords(v, to) : undefined;

/** Rows of each code apart, changed, and put back in place. */
const splitByCode = (
  v: Vector,
  codes: Uint32Array,
  count: number,
  change: (rows: Vector, code: number) => Vector,
): Vector => {
  const sizes = new Uint32Array(count);
  for (let i = 0; i < v.length; i++) sizes[codes[i]!]!++;
  const lists = Array.from(sizes, (n) => new Uint32Array(n));
  const slots = new Uint32Array(v.length);
  sizes.fill(0);
  for (let i = 0; i < v.length; i++) {
    const code = codes[i]!;
    const slot = sizes[code]!++;
    lists[code]![slot] = i;
    slots[i] = slot;
  }
  return interleave(
    codes,
    slots,
    lists.map((rows, code) => (rows.length === 0 ? noRows : change(take(v, rows), code))),
  );
};
const regroup = (
  tags: Uint32Array,
  slots: Uint32Array,
  parts: readonly Vector[],
  change: (part: Vector) => Vector,
): Vector => {
  const length = tags.length;
  const counts = new Uint32Array(parts.length);
  const places = new Uint32Array(length);
  for (let i = 0; i < length; i++) places[i] = counts[tags[i]!]!++;
  const lists = Array.from(counts, (n) => new Uint32Array(n));
  for (let i = 0; i < length; i++) lists[tags[i]!]![places[i]!] = slots[i]!;
  return interleave(
    tags,
    places,
    parts.map((p, k) => (counts[k] === 0 ? noRows : change(flatten(take(p, lists[k]!))))),
  );
};
const interleave = (tags: Uint32Array, slots: Uint32Array, parts: readonly Vector[]): Vector => {
  const bases = new Uint32Array(parts.length);
  for (let k = 1; k < parts.length; k++) bases[k] = bases[k - 1]! + parts[k - 1]!.length;
  const index = new Uint32Array(slots.length);
  for (let i = 0; i < index.length; i++) index[i] = bases[tags[i]!]! + slots[i]!;
  return take(concat(parts), index);
};

const failed = (v: Vector, type: Type): Vector => ({
  form: 'error',
  length: v.length,
  inner: {
    form: 'record',
    length: v.length,
    fields: [
      {
        name: 'message',
        optional: false,
        values: constantOf(stringValue(`cannot upcast to ${typeText(type)}`), v.length),
      },
      { name: 'on', optional: false, values: v },
    ],
  },
});

/** Where nothing could be upcast the errors are around the named value. */
const nameFailed = (v: Vector, on: NamedVector): Vector =>
  v.form === 'error' && flatten(on.inner).form !== 'error' ? { ...v, inner: fieldNamed(v.inner, on) } : v;
const fieldNamed = (v: Vector, on: Vector): Vector =>
  v.form === 'record' ? { ...v, fields: v.fields.map((f) => (f.name === 'on' ? { ...f, values: on } : f)) } : v;

/** Rows that all have the type `from`. */
const upcastUniform = (v: FlatVector, from: Type, to: Type): Vector => {
  if (from === to) return v;
  if (v.form === 'dynamic')
    return upcastUniform(flatten(regroup(v.tags.subarray(0, v.length), v.slots, v.parts, (part) => part)), from, to);
  if (v.form === 'named')
    return nameFailed(upcastUniform(flatten(v.inner), from.kind === 'named' ? from.inner : from, to), v);
  if (to.kind === 'named') return to.inner === from ? named(v, to) : withName(upcastUniform(v, from, to.inner), to);
  if (to.kind === 'union') return intoUnion(v, from, to);
  if (v.form === 'union') return fromUnion(v, to);
  if (to.kind === 'error')
    return whereFit(
      v.form === 'error' ? upcastVector(v.inner, to.inner) : upcastUniform(v, from, to.inner),
      to.inner,
      errorOf,
    );
  if (v.form === 'null' && from === types.null) return failed(v, to);
  switch (v.form) {
    case 'record':
      return to.kind === 'record' ? upcastRecords(v, to) : failed(v, to);
    case 'list':
      return to.kind === 'array' || to.kind === 'set' ? upcastLists(v, to) : failed(v, to);
    case 'map':
      return to.kind === 'map' ? upcastMaps(v, to) : failed(v, to);
    case 'enum':
      return to.kind === 'enum' ? upcastEnums(v, to) : failed(v, to);
    default:
      return failed(v, to);
  }
};
const named = (inner: Vector, { name }: NamedType): Vector => ({ form: 'named', name, length: inner.length, inner });
const withName = (v: Vector, to: NamedType): Vector => whereFit(v, to.inner, (rows) => named(rows, to));
const namedWhereFit = (v: Vector, type: Type): Vector =>
  type.kind === 'named' ? withName(namedWhereFit(v, type.inner), type) : v;
const errorOf = (inner: Vector): Vector => ({ form: 'error', length: inner.length, inner });

/** Rows that have the type are changed; in the others something could not be upcast, and they stay as they are. */
const whereFit = (v: Vector, type: Type, change: (rows: Vector) => Vector): Vector => {
  const all = ofType(v, type);
  if (all) return change(all);
  const codes = new Uint32Array(v.length);
  for (let i = 0; i < v.length; i++) if (typeAt(v, i) === type) codes[i] = 1;
  return codes.includes(1)
    ? splitByCode(v, codes, 2, (rows, code) => (code === 1 ? change(ofType(rows, type)!) : rows))
    : v;
};

/**
 * The rows as a vector of that one type; undefined if some row has another. Only mixed vectors whose rows turn out to
 * be alike are built again.
 */
const ofType = (v: Vector, type: Type): Vector | undefined => {
  if (uniformType(v) === type) return v;
  const out = new Builder(type);
  for (let i = 0; i < v.length; i++) {
    if (typeAt(v, i) !== type) return undefined;
    out.append(valueAt(v, i));
  }
  return out.finish();
};

const memberFor = (from: Type, to: UnionType): number => {
  const exact = to.members.indexOf(from);
  if (exact >= 0) return exact;
  const under = underType(from);
  const same = to.members.findIndex((m) => underType(m) === under);
  if (same >= 0) return same;
  return under.kind === 'primitive' || under.kind === 'union'
    ? -1
    : to.members.findIndex((m) => underType(m).kind === under.kind);
};

const intoUnion = (v: FlatVector, from: Type, to: UnionType): Vector => {
  if (v.form === 'union') return fromUnion(v, to);
  const tag = memberFor(from, to);
  if (tag < 0) return failed(v, to);
  return whereFit(upcastVector(v, to.members[tag]!), to.members[tag]!, (member) => asMember(member, tag, to));
};
const asMember = (member: Vector, tag: number, to: UnionType): Vector => ({
  form: 'union',
  type: to,
  length: member.length,
  tags: new Uint32Array(member.length).fill(tag),
  slots: range(0, member.length),
  members: to.members.map((m, k) => (k === tag ? member : new Builder(m).finish())),
});

/** Each member's rows by themselves. */
const fromUnion = (v: Extract<FlatVector, { form: 'union' }>, to: Type): Vector =>
  regroup(v.tags.subarray(0, v.length), v.slots, v.members, (part) => upcastVector(part, to));

const upcastRecords = (v: RecordVector, to: RecordType): Vector => {
  const own = new Map(v.fields.map((f) => [f.name, f]));
  return { form: 'record', length: v.length, fields: to.fields.map((f) => upcastField(own.get(f.name), f, v.length)) };
};
const upcastField = (own: Field | undefined, to: RecordType['fields'][number], length: number): Field => {
  const { name, optional } = to;
  if (!own) return absentField(to, length);
  const present = own.present;
  if (!present)
    return {
      name,
      optional,
      values: upcastVector(own.values, to.type),
      ...(optional && { present: new Uint8Array(length).fill(1) }),
    };
  const here: number[] = [];
  for (let i = 0; i < length; i++) if (present[i]) here.push(i);
  if (here.length === length)
    return { name, optional, values: upcastVector(own.values, to.type), ...(optional && { present }) };
  const absent = absentField(to, 1).values;
  const filled = upcastVector(take(own.values, Uint32Array.from(here)), to.type);
  const index = new Uint32Array(length).fill(here.length);
  here.forEach((row, n) => {
    index[row] = n;
  });
  return { name, optional, values: take(concat([filled, absent]), index), ...(optional && { present }) };
};
const absentField = (to: RecordType['fields'][number], length: number): Field => {
  const { name, optional, type } = to;
  if (optional)
    return {
      name,
      optional,
      values: constantOf({ type, data: zeroData(type) }, length),
      present: new Uint8Array(length),
    };
  const nullable = type === types.null || (type.kind === 'union' && type.members.includes(types.null));
  return { name, optional, values: nullable ? upcastVector(nulls(length), type) : constantOf(missing, length) };
};

/** Arrays become sets and sets arrays. A list with elements that do not fit has the type of what is in it. */
const upcastLists = (v: ListVector, to: ArrayType | SetType): Vector => {
  const start = v.offsets[0]!;
  const end = v.offsets[v.length]!;
  const items = upcastVector(
    start === 0 && end === v.items.length ? v.items : take(v.items, range(start, end)),
    to.element,
  );
  const offsets = offsetsFrom(v);
  const fitting = to.kind === 'array' ? ofType(items, to.element) : undefined;
  if (fitting) return { form: 'list', type: to, length: v.length, offsets, items: fitting };
  return eachRow(v.length, to, (i) => {
    const values = valuesIn(items, offsets, i);
    if (values.some((x) => x.type !== to.element)) return to.kind === 'array' ? arrayValue(values) : setValue(values);
    const data = values.map((x) => x.data);
    return { type: to, data: to.kind === 'array' ? data : canonicalSet(to.element, data) };
  });
};
const upcastMaps = (v: MapVector, to: MapType): Vector => {
  const rows = range(v.offsets[0]!, v.offsets[v.length]!);
  const offsets = offsetsFrom(v);
  const keys = upcastVector(take(v.keys, rows), to.key);
  const values = upcastVector(take(v.values, rows), to.value);
  const fittingKeys = ofType(keys, to.key);
  const fittingValues = ofType(values, to.value);
  if (fittingKeys && fittingValues)
    return { form: 'map', type: to, length: v.length, offsets, keys: fittingKeys, values: fittingValues };
  return eachRow(v.length, to, (i) => {
    const entryKeys = valuesIn(keys, offsets, i);
    const entryValues = valuesIn(values, offsets, i);
    const entries = entryKeys.map((k, n) => [k, entryValues[n]!] as const);
    if (entries.some(([k, x]) => k.type !== to.key || x.type !== to.value)) return mapValue(entries);
    return { type: to, data: entries.map(([k, x]): readonly [Data, Data] => [k.data, x.data]) };
  });
};
/** Where each row's elements begin once what is before the first row's is gone. */
const offsetsFrom = (v: ListVector | MapVector): Uint32Array =>
  v.offsets.subarray(0, v.length + 1).map((o) => o - v.offsets[0]!);
const valuesIn = (items: Vector, offsets: Uint32Array, row: number): readonly Value[] => {
  const values: Value[] = [];
  for (let at = offsets[row]!; at < offsets[row + 1]!; at++) {
    checkStopAt(at);
    values.push(valueAt(items, at));
  }
  return values;
};
const eachRow = (length: number, empty: Type, make: (row: number) => Value): Vector => {
  const out = new Builder(empty);
  for (let i = 0; i < length; i++) out.append(make(i));
  return out.finish();
};
const upcastEnums = (v: EnumVector, to: EnumType): Vector => {
  const codes = v.type.symbols.map((s) => to.symbols.indexOf(s));
  if (codes.includes(-1)) return failed(v, to);
  const out = new Uint32Array(v.length);
  for (let i = 0; i < v.length; i++) out[i] = codes[v.codes[i]!]!;
  return { form: 'enum', type: to, length: v.length, codes: out };
};
