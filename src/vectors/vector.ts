/**
 * Vectors: the only form of data in memory. A vector holds `length` values; a stream of values is a stream of vectors
 * (batches).
 *
 * Invariants:
 * - Vectors are never changed once made; typed arrays may be shared between vectors and may view a larger buffer.
 * - Typed arrays can be longer than needed; `length` counts.
 * - `list`, `map`, `union` vectors have one type for all rows. `record`, `error` and `named` vectors take the type of a
 *   row from their children, which may be dynamic; `dynamic` holds rows of any types. `typeAt` tells the type of a row,
 *   `uniformType` the type of all rows if there is one.
 * - Integers of 64 bits, times and durations are in a Float64Array as long as each is a safe integer, else in a
 *   BigInt64Array (uint64: BigUint64Array). Smaller integers and all floats are in a Float64Array always.
 * - `dictionary` and `selected` both look rows up in another vector; a dictionary promises that its `values` are few,
 *   so that work on them pays.
 */
import { bytesToText } from './texts/codec.ts';
import { memberRows } from './member-rows.ts';
import { newBytes, newFloats, newSigned, newUnsigned, newWords } from './short-arrays.ts';
import { charge, chargeText, checkStop, checkStopAt } from './stop.ts';
import {
  type Type,
  type PrimitiveType,
  type EnumType,
  type ArrayType,
  type SetType,
  type MapType,
  type UnionType,
  types,
  recordType,
  errorType,
  namedType,
} from './type.ts';
import { copyRun, viewOf } from './texts/byte-runs.ts';
import { fewTimes, timesPicked } from './texts/times.ts';
import { onlyMember, unionOfOne } from './unions.ts';
import { type Data, type Value, integer } from './value.ts';

/** The values of a number vector; see above which array is for which. */
export type NumberArray = Float64Array | BigInt64Array | BigUint64Array;
/** Integers, floats, durations and times (both in nanoseconds, times since 1970 UTC). */
export interface NumberVector {
  readonly form: 'number';
  readonly type: PrimitiveType;
  readonly length: number;
  readonly values: NumberArray;
}
/** 0 or 1 a row. */
export interface BoolVector {
  readonly form: 'bool';
  readonly length: number;
  readonly values: Uint8Array;
}
/** string, bytes, ip and net: row i is bytes[offsets[i], offsets[i + 1]). */
export interface BytesVector {
  readonly form: 'bytes';
  readonly type: PrimitiveType;
  readonly length: number;
  readonly offsets: Uint32Array;
  readonly bytes: Uint8Array;
}
/** `length` nulls. */
export interface NullVector {
  readonly form: 'null';
  readonly length: number;
}
/** Values of type `type`: row i is table[codes[i]]. */
export interface TypeVector {
  readonly form: 'type';
  readonly length: number;
  readonly codes: Uint32Array;
  readonly table: readonly Type[];
}
/** Row i is the symbol of the type at codes[i]. */
export interface EnumVector {
  readonly form: 'enum';
  readonly type: EnumType;
  readonly length: number;
  readonly codes: Uint32Array;
}
/**
 * One column of a record vector. `present` (only with `optional`): 0 where the field is absent; the row in `values`
 * then only lends its type.
 */
export interface Field {
  readonly name: string;
  readonly optional: boolean;
  readonly values: Vector;
  readonly present?: Uint8Array;
}
/** Records: row i has row i of each field, where it is present. */
export interface RecordVector {
  readonly form: 'record';
  readonly length: number;
  readonly fields: readonly Field[];
}
/** Arrays and sets: row i is items[offsets[i], offsets[i + 1]); all items have the type `type.element`. */
export interface ListVector {
  readonly form: 'list';
  readonly type: ArrayType | SetType;
  readonly length: number;
  readonly offsets: Uint32Array;
  readonly items: Vector;
}
/**
 * Row i has the entries [offsets[i], offsets[i + 1]) of `keys` and `values`, which all have the types that `type`
 * names.
 */
export interface MapVector {
  readonly form: 'map';
  readonly type: MapType;
  readonly length: number;
  readonly offsets: Uint32Array;
  readonly keys: Vector;
  readonly values: Vector;
}
/**
 * Values of one union type: row i is members[tags[i]] at slots[i]; `members` go with `type.members`, some may be empty.
 */
export interface UnionVector {
  readonly form: 'union';
  readonly type: UnionType;
  readonly length: number;
  readonly tags: Uint32Array;
  readonly slots: Uint32Array;
  readonly members: readonly Vector[];
}
/** Rows of unlike types: row i is parts[tags[i]] at slots[i]. No part is dynamic itself. */
export interface DynamicVector {
  readonly form: 'dynamic';
  readonly length: number;
  readonly tags: Uint32Array;
  readonly slots: Uint32Array;
  readonly parts: readonly Vector[];
}
/** Row i is an error around row i of `inner`. */
export interface ErrorVector {
  readonly form: 'error';
  readonly length: number;
  readonly inner: Vector;
}
/** Row i is row i of `inner`, its type under the name. */
export interface NamedVector {
  readonly form: 'named';
  readonly name: string;
  readonly length: number;
  readonly inner: Vector;
}
/** The same value `length` times; `inner` has one row. */
export interface ConstantVector {
  readonly form: 'constant';
  readonly length: number;
  readonly inner: Vector;
}
/** Row i is values at codes[i]. */
export interface DictionaryVector {
  readonly form: 'dictionary';
  readonly length: number;
  readonly codes: Uint32Array;
  readonly values: Vector;
}
/** Row i is base at index[i]. */
export interface SelectedVector {
  readonly form: 'selected';
  readonly length: number;
  readonly index: Uint32Array;
  readonly base: Vector;
}

/**
 * A vector that is known to have this form, as its type or how it was made says. @throws TypeError for another one: a
 * fault of the program
 */
export const ofForm = <Form extends Vector['form']>(
  v: Vector,
  form: Form,
): Extract<Vector, { readonly form: Form }> => {
  if (v.form !== form) throw new TypeError(`a vector of form ${v.form}, wanted ${form}`);
  return v as Extract<Vector, { readonly form: Form }>;
};

/** The forms that hold their rows themselves. */
export type FlatVector =
  | NumberVector
  | BoolVector
  | BytesVector
  | NullVector
  | TypeVector
  | EnumVector
  | RecordVector
  | ListVector
  | MapVector
  | UnionVector
  | DynamicVector
  | ErrorVector
  | NamedVector;
/** Values in any form: held by the vector itself, or looked up in another one. */
export type Vector = FlatVector | ConstantVector | DictionaryVector | SelectedVector;

/** What a vector takes beside its rows, about. */
export const vectorBytes = 128;
/** So many columns are worth a charge of their own when they are made once more, whatever is in them. */
const manyColumns = 512;
/**
 * Charges the vectors that a copy of a record is made of, where they count beside its rows. @throws LakeError
 * query-memory, load-memory
 */
export const chargeColumns = (count: number): void => {
  if (count >= manyColumns) charge(count * vectorBytes, 'a copy of many columns');
};
/** What copies rows, in errors. */
const rowsCopied = 'a copy of rows';

/** A vector whose form has one type for all rows. */
type TypedVector = Exclude<
  Vector,
  RecordVector | ErrorVector | NamedVector | DynamicVector | ConstantVector | DictionaryVector | SelectedVector
>;
/** The type of its rows. */
export const typeOfRows = (v: TypedVector): Type => {
  switch (v.form) {
    case 'bool':
      return types.bool;
    case 'null':
      return types.null;
    case 'type':
      return types.type;
    default:
      return v.type;
  }
};

/** Type of row `i`. */
export const typeAt = (v: Vector, i: number): Type => {
  switch (v.form) {
    case 'record':
      return (
        uniformType(v) ??
        recordType(v.fields.map((f) => ({ name: f.name, optional: f.optional, type: typeAt(f.values, i) })))
      );
    case 'error':
      return errorType(typeAt(v.inner, i));
    case 'named':
      return namedType(v.name, typeAt(v.inner, i));
    case 'dynamic':
      return typeAt(v.parts[v.tags[i]!]!, v.slots[i]!);
    case 'constant':
      return typeAt(v.inner, 0);
    case 'dictionary':
      return typeAt(v.values, v.codes[i]!);
    case 'selected':
      return typeAt(v.base, v.index[i]!);
    default:
      return typeOfRows(v);
  }
};

const uniformRecords = new WeakMap<RecordVector, Type | null>();

/**
 * The type of all rows, or undefined if the vector may hold rows of unlike types. A vector of no rows may have one too.
 */
export const uniformType = (v: Vector): Type | undefined => {
  switch (v.form) {
    case 'record': {
      const known = uniformRecords.get(v);
      if (known !== undefined) return known ?? undefined;
      const type = uniformRecord(v);
      uniformRecords.set(v, type ?? null);
      return type;
    }
    case 'error': {
      const inner = uniformType(v.inner);
      return inner && errorType(inner);
    }
    case 'named': {
      const inner = uniformType(v.inner);
      return inner && namedType(v.name, inner);
    }
    case 'dynamic':
      return v.parts.length === 1 ? uniformType(v.parts[0]!) : undefined;
    case 'constant':
      return uniformType(v.inner) ?? typeAt(v.inner, 0);
    case 'dictionary':
      return uniformType(v.values);
    case 'selected':
      return uniformType(v.base);
    default:
      return typeOfRows(v);
  }
};

const uniformRecord = (v: RecordVector): Type | undefined => {
  const fields = [];
  for (const f of v.fields) {
    const type = uniformType(f.values);
    if (!type) return undefined;
    fields.push({ name: f.name, optional: f.optional, type });
  }
  return recordType(fields);
};

/** Text of row `i` of a string vector. */
export const textAt = (v: BytesVector, i: number): string => {
  const start = v.offsets[i]!;
  const end = v.offsets[i + 1]!;
  if (end - start < 24) return shortText(v.bytes, start, end);
  if (end - start > longText) chargeText(end - start, 'a string');
  return bytesToText(v.bytes.subarray(start, end));
};
/** Strings of so many bytes are charged one by one. */
const longText = 1 << 16;
/** TextDecoder has a price per call; short ASCII is faster by hand. */
const shortText = (bytes: Uint8Array, start: number, end: number): string => {
  let text = '';
  for (let i = start; i < end; i++) {
    const b = bytes[i]!;
    if (b >= 0x80) return bytesToText(bytes.subarray(start, end));
    text += String.fromCharCode(b);
  }
  return text;
};

/** Data of row `i` (see value.ts for its shape). */
export const dataAt = (v: Vector, i: number): Data => {
  switch (v.form) {
    case 'number': {
      const x = v.values[i]!;
      return typeof x === 'bigint' ? integer(x) : x;
    }
    case 'bool':
      return v.values[i] === 1;
    case 'bytes':
      return v.type === types.string ? textAt(v, i) : v.bytes.slice(v.offsets[i], v.offsets[i + 1]);
    case 'null':
      return null;
    case 'type':
      return v.table[v.codes[i]!]!;
    case 'enum':
      return v.codes[i]!;
    case 'record':
      checkStop();
      charge(v.fields.length * dataBytes, oneValue);
      return v.fields.map((f) => (f.present && f.present[i] === 0 ? undefined : dataAt(f.values, i)));
    case 'list':
      return dataRange(v.items, v.offsets[i]!, v.offsets[i + 1]!);
    case 'map': {
      const keys = dataRange(v.keys, v.offsets[i]!, v.offsets[i + 1]!);
      const values = dataRange(v.values, v.offsets[i]!, v.offsets[i + 1]!);
      return keys.map((k, n) => [k, values[n]!] as const);
    }
    case 'union':
      return { type: v.type.members[v.tags[i]!]!, data: dataAt(v.members[v.tags[i]!]!, v.slots[i]!) };
    case 'error':
    case 'named':
      return dataAt(v.inner, i);
    case 'dynamic':
      return dataAt(v.parts[v.tags[i]!]!, v.slots[i]!);
    case 'constant':
      return dataAt(v.inner, 0);
    case 'dictionary':
      return dataAt(v.values, v.codes[i]!);
    case 'selected':
      return dataAt(v.base, v.index[i]!);
  }
};
/** What data takes as an element of an array, and as an object, about. */
const dataBytes = 32;
const oneValue = 'a value';
const dataRange = (v: Vector, start: number, end: number): Data[] => {
  checkStop();
  charge((end - start) * dataBytes, oneValue);
  const out: Data[] = [];
  for (let i = start; i < end; i++) {
    checkStopAt(i - start);
    out.push(dataAt(v, i));
  }
  return out;
};

/** Row `i` as a value. */
export const valueAt = (v: Vector, i: number): Value => ({ type: typeAt(v, i), data: dataAt(v, i) });

/** The vector of no rows whose uniform type is `type`. */
export const emptyVector = (type: Type): FlatVector => {
  if (type.kind === 'primitive') return emptyPrimitive(type);
  charge(vectorBytes, 'a value of many types');
  switch (type.kind) {
    case 'record':
      return {
        form: 'record',
        length: 0,
        fields: type.fields.map((f) => ({
          name: f.name,
          optional: f.optional,
          values: emptyVector(f.type),
          ...(f.optional && { present: noBytes }),
        })),
      };
    case 'array':
    case 'set':
      return { form: 'list', type, length: 0, offsets: zeroOffsets, items: emptyVector(type.element) };
    case 'map':
      return {
        form: 'map',
        type,
        length: 0,
        offsets: zeroOffsets,
        keys: emptyVector(type.key),
        values: emptyVector(type.value),
      };
    case 'union':
      return { form: 'union', type, length: 0, tags: noCodes, slots: noCodes, members: type.members.map(emptyVector) };
    case 'enum':
      return { form: 'enum', type, length: 0, codes: noCodes };
    case 'error':
      return { form: 'error', length: 0, inner: emptyVector(type.inner) };
    case 'named':
      return { form: 'named', name: type.name, length: 0, inner: emptyVector(type.inner) };
  }
};
const emptyPrimitive = (type: PrimitiveType): FlatVector => {
  switch (type.name) {
    case 'bool':
      return { form: 'bool', length: 0, values: noBytes };
    case 'string':
    case 'bytes':
    case 'ip':
    case 'net':
      return { form: 'bytes', type, length: 0, offsets: zeroOffsets, bytes: noBytes };
    case 'null':
      return { form: 'null', length: 0 };
    case 'type':
      return { form: 'type', length: 0, codes: noCodes, table: [] };
    default:
      return { form: 'number', type, length: 0, values: new Float64Array(0) };
  }
};
const noBytes = new Uint8Array(0);
const noCodes = new Uint32Array(0);
const zeroOffsets = new Uint32Array(1);
/** The batch of no rows. */
export const noRows: FlatVector = { form: 'null', length: 0 };

/** `length` nulls. */
export const nulls = (length: number): NullVector => ({ form: 'null', length });
/** A bool vector over these bytes (0 or 1), which are not copied. */
export const bools = (values: Uint8Array, length = values.length): BoolVector => ({ form: 'bool', length, values });
/** A number vector over these values, which are not copied. */
export const numbers = (type: PrimitiveType, values: NumberArray, length = values.length): NumberVector => ({
  form: 'number',
  type,
  length,
  values,
});

/** Rows `index` of `v`, in that order and as often as named; a view, nothing is copied but indexes. */
export const take = (v: Vector, index: Uint32Array): Vector => {
  const length = index.length;
  switch (v.form) {
    case 'constant':
      return { form: 'constant', length, inner: v.inner };
    case 'null':
      return { form: 'null', length };
    case 'selected':
      return { form: 'selected', length, index: lookUp(v.index, index), base: v.base };
    case 'dictionary':
      return { form: 'dictionary', length, codes: codesAt(v, index), values: v.values };
    case 'bytes':
      return fewTimes(v, length, () => index) ?? { form: 'selected', length, index, base: v };
    default:
      return { form: 'selected', length, index, base: v };
  }
};
/** Codes of rows; of one value all are alike. */
const codesAt = ({ codes, values }: DictionaryVector, index: Uint32Array): Uint32Array =>
  values.length === 1 && codes.length === index.length ? codes : lookUp(codes, index);
/** `table` at each place of `index`. */
export const lookUp = (table: Uint32Array, index: Uint32Array): Uint32Array => {
  charge(index.length * 4, rowsCopied);
  const out = newWords(index.length);
  for (let i = 0; i < out.length; i++) out[i] = table[index[i]!]!;
  return out;
};
/** The numbers from `start` up to but not including `end`. */
export const range = (start: number, end: number): Uint32Array => {
  charge((end - start) * 4, rowsCopied);
  const out = new Uint32Array(end - start);
  for (let i = 0; i < out.length; i++) out[i] = start + i;
  return out;
};

/** Rows [start, end), as views where the form allows. */
export const slice = (v: Vector, start: number, end: number): Vector => {
  const length = end - start;
  if (start === 0 && end === v.length) return v;
  switch (v.form) {
    case 'number':
      return { ...v, length, values: v.values.subarray(start, end) };
    case 'bool':
      return { ...v, length, values: v.values.subarray(start, end) };
    case 'bytes':
      return (
        fewTimes(v, length, () => range(start, end)) ??
        timesPicked(v, length, true, (distances) => distances.subarray(start, end), start) ?? {
          ...v,
          length,
          offsets: v.offsets.subarray(start, end + 1),
        }
      );
    case 'list':
      return { ...v, length, offsets: v.offsets.subarray(start, end + 1) };
    case 'map':
      return { ...v, length, offsets: v.offsets.subarray(start, end + 1) };
    case 'null':
    case 'constant':
      return { ...v, length };
    case 'type':
    case 'enum':
      return { ...v, length, codes: v.codes.subarray(start, end) };
    case 'record':
      chargeColumns(v.fields.length);
      return {
        form: 'record',
        length,
        fields: v.fields.map((f) => ({
          ...f,
          values: slice(f.values, start, end),
          ...(f.present && { present: f.present.subarray(start, end) }),
        })),
      };
    case 'union': {
      const member = onlyMember(v);
      if (member) return unionLike(v, member, slice(member, start, end));
      const tags = v.tags.subarray(start, end);
      const { slots, parts } = compacted({ length, tags, slots: v.slots.subarray(start, end) }, v.members);
      return { ...v, length, tags, slots, members: parts };
    }
    case 'dynamic':
      return sliceDynamic(v, v.tags.subarray(start, end), v.slots.subarray(start, end));
    case 'error':
    case 'named':
      return { ...v, length, inner: slice(v.inner, start, end) };
    case 'dictionary':
      return { ...v, length, codes: v.codes.subarray(start, end) };
    case 'selected':
      return { ...v, length, index: v.index.subarray(start, end) };
  }
};

/** A union of other rows of its only member. */
const unionLike = (v: UnionVector, member: Vector, rows: Vector): UnionVector =>
  unionOfOne(
    v.type,
    v.members.indexOf(member),
    rows,
    v.members.map((m) => (m.length === 0 || m === member ? m : take(m, noCodes))),
  );

/** A slice holds the rows that it shows, of the parts that it has rows of: lest each slice brings the whole along. */
const sliceDynamic = (v: DynamicVector, tags: Uint32Array, slots: Uint32Array): DynamicVector => {
  const { length } = tags;
  const used: Vector[] = [];
  const renumbered = new Uint32Array(v.parts.length);
  const own = new Uint32Array(length);
  for (let i = 0; i < length; i++) {
    const tag = tags[i]!;
    own[i] = (renumbered[tag] ||= used.push(v.parts[tag]!)) - 1;
  }
  const { slots: ownSlots, parts } = compacted({ length, tags: own, slots }, used);
  return { form: 'dynamic', length, tags: own, slots: ownSlots, parts };
};

/**
 * The rows alone that it shows, of parts that it has rows of where these are few for sure: there may be very many
 * parts.
 */
export const compactedParts = (v: DynamicVector): DynamicVector =>
  v.parts.length <= v.length
    ? { ...v, ...compacted(v, v.parts) }
    : sliceDynamic(v, v.tags.subarray(0, v.length), v.slots);

/** Rows of parts that no tag refers to are left out. */
export const compacted = (
  v: { readonly length: number; readonly tags: Uint32Array; readonly slots: Uint32Array },
  parts: readonly Vector[],
): { readonly slots: Uint32Array; readonly parts: readonly Vector[] } => {
  if (parts.reduce((n, p) => n + p.length, 0) <= v.length) return { slots: v.slots, parts };
  const { starts, slots, places, inOrder } = memberRows(v.tags, v.slots, v.length, parts.length);
  return {
    slots: places,
    parts: parts.map((p, tag) => {
      const own = slots.subarray(starts[tag]!, starts[tag + 1]!);
      const first = own[0] ?? 0;
      return inOrder[tag] ? slice(p, first, first + own.length) : take(p, own);
    }),
  };
};

/** The value `value` `length` times. */
export const constant = (inner: Vector, length: number): ConstantVector => ({
  form: 'constant',
  length,
  inner: inner.form === 'constant' ? inner.inner : inner,
});

/**
 * The same rows in a form of their own: constant, dictionary and selected are looked up (only outermost; fields of
 * records become views).
 */
export const flatten = (v: Vector): FlatVector => {
  switch (v.form) {
    case 'constant':
      return gather(v.inner, new Uint32Array(v.length));
    case 'dictionary':
      return gather(v.values, v.codes);
    case 'selected':
      return gather(v.base, v.index);
    default:
      return v;
  }
};

/** Rows `index` of `v` copied out (children of records stay views). */
export const gather = (v: Vector, index: Uint32Array): FlatVector => {
  const length = index.length;
  if (length > longRows) checkStop();
  charge(length * 8, rowsCopied);
  switch (v.form) {
    case 'number':
      return { form: 'number', type: v.type, length, values: gatherNumbers(v.values, index) };
    case 'bool':
      return { form: 'bool', length, values: gatherBytes8(v.values, index) };
    case 'bytes':
      return (
        fewTimes(v, length, () => index) ??
        timesPicked(v, length, false, (distances) => gatherNumbers(distances, index) as Float64Array) ??
        gatherBytes(v, index)
      );
    case 'null':
      return { form: 'null', length };
    case 'type':
    case 'enum':
      return { ...v, length, codes: lookUp(v.codes, index) };
    case 'record':
      return {
        form: 'record',
        length,
        fields: v.fields.map((f) => ({
          ...f,
          values: take(f.values, index),
          ...(f.present && { present: gatherBytes8(f.present, index) }),
        })),
      };
    case 'list': {
      const { offsets, items } = gatherRuns(v.offsets, index);
      return { ...v, length, offsets, items: take(v.items, items) };
    }
    case 'map': {
      const { offsets, items } = gatherRuns(v.offsets, index);
      return { ...v, length, offsets, keys: take(v.keys, items), values: take(v.values, items) };
    }
    case 'union': {
      const member = onlyMember(v);
      return member
        ? unionLike(v, member, gather(member, index))
        : { ...v, length, tags: lookUp(v.tags, index), slots: lookUp(v.slots, index) };
    }
    case 'dynamic':
      return { ...v, length, tags: lookUp(v.tags, index), slots: lookUp(v.slots, index) };
    case 'error':
    case 'named':
      return { ...v, length, inner: take(v.inner, index) };
    case 'constant':
      return gather(v.inner, new Uint32Array(length));
    case 'dictionary':
      return gather(v.values, lookUp(v.codes, index));
    case 'selected':
      return gather(v.base, lookUp(v.index, index));
  }
};
const gatherNumbers = (values: NumberArray, index: Uint32Array): NumberArray => {
  if (values instanceof Float64Array) {
    const out = newFloats(index.length);
    for (let i = 0; i < out.length; i++) out[i] = values[index[i]!]!;
    return out;
  }
  const out = values instanceof BigInt64Array ? newSigned(index.length) : newUnsigned(index.length);
  // Word by word: no bigint is made, nor two kinds of arrays met, which takes 0.37 of the time.
  const words = new Int32Array(values.buffer, values.byteOffset, values.length * 2);
  const outWords = new Int32Array(out.buffer, out.byteOffset, out.length * 2);
  for (let i = 0; i < index.length; i++) {
    const at = index[i]! * 2;
    outWords[2 * i] = words[at]!;
    outWords[2 * i + 1] = words[at + 1]!;
  }
  return out;
};
const gatherBytes8 = (values: Uint8Array, index: Uint32Array): Uint8Array => {
  const out = new Uint8Array(index.length);
  for (let i = 0; i < out.length; i++) out[i] = values[index[i]!]!;
  return out;
};
const gatherBytes = (v: BytesVector, index: Uint32Array): BytesVector => {
  const offsets = newWords(index.length + 1);
  let size = 0;
  for (let i = 0; i < index.length; i++) {
    size += v.offsets[index[i]! + 1]! - v.offsets[index[i]!]!;
    offsets[i + 1] = size;
  }
  if (index.length > longRows) checkStop();
  charge(size, rowsCopied);
  const bytes = newBytes(size);
  const from = viewOf(v.bytes);
  const to = viewOf(bytes);
  // Rows that follow one another are copied at once: a filter that keeps nearly all leaves long runs of them (mean
  // length of 980,000 of 1,000,000 addresses: 157 -> 85 ms).
  for (let i = 0, next = 0; i < index.length; i = next) {
    for (next = i + 1; next < index.length && index[next] === index[next - 1]! + 1; ) next++;
    copyRun(v.bytes, from, v.offsets[index[i]!]!, bytes, to, offsets[i]!, offsets[next]!);
  }
  return { ...v, length: index.length, offsets, bytes };
};
/** Copying more takes so long that the work may be given up meanwhile. */
const longRows = 1 << 16;
const gatherRuns = (
  runs: Uint32Array,
  index: Uint32Array,
): { readonly offsets: Uint32Array; readonly items: Uint32Array } => {
  const offsets = new Uint32Array(index.length + 1);
  let total = 0;
  for (let i = 0; i < index.length; i++) offsets[i + 1] = total += runs[index[i]! + 1]! - runs[index[i]!]!;
  charge(total * 4, rowsCopied);
  const items = new Uint32Array(total);
  for (let i = 0, to = 0; i < index.length; i++)
    for (let at = runs[index[i]!]!; at < runs[index[i]! + 1]!; at++) items[to++] = at;
  return { offsets, items };
};

/** A dynamic vector of these rows; collapses to the part itself when there is one only and its rows are in order. */
export const dynamic = (tags: Uint32Array, slots: Uint32Array, parts: readonly Vector[]): Vector => {
  if (parts.length === 1) return take(parts[0]!, slots);
  return { form: 'dynamic', length: tags.length, tags, slots, parts };
};

/** What the rows of a list or map have of its items. */
export const itemsOf = (v: { readonly offsets: Uint32Array; readonly length: number }, items: Vector): Vector =>
  slice(items, v.offsets[0]!, v.offsets[v.length]!);
