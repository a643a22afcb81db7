/**
 * Vectors on their way to another thread: all their arrays lie in one buffer, which is transferred; the rest is plain
 * data that can be cloned.
 *
 * Invariants:
 * - `unpackVectors(packVectors(vectors))` has the same rows with the same types, each type the other thread's own one.
 * - What comes out views the buffer: it is kept as long as any of the vectors.
 */
import {
  type Type,
  arrayType,
  enumType,
  errorType,
  mapType,
  namedType,
  primitiveOfId,
  recordType,
  setType,
  unionType,
} from './type.ts';
import type { Field, NumberArray, Vector } from './vector.ts';

/** Primitive types by id, others by what they are made of. */
type TypeForm =
  | number
  | {
      readonly kind: 'record';
      readonly fields: readonly { readonly name: string; readonly optional: boolean; readonly type: TypeForm }[];
    }
  | { readonly kind: 'array' | 'set' | 'error'; readonly inner: TypeForm }
  | { readonly kind: 'map'; readonly key: TypeForm; readonly value: TypeForm }
  | { readonly kind: 'union'; readonly members: readonly TypeForm[] }
  | { readonly kind: 'enum'; readonly symbols: readonly string[] }
  | { readonly kind: 'named'; readonly name: string; readonly inner: TypeForm };

/** Place of an array in the buffer. */
type Place = number;
interface FieldForm {
  readonly name: string;
  readonly optional: boolean;
  readonly values: VectorForm;
  readonly present?: Place;
}
type VectorForm =
  | {
      readonly form: 'number';
      readonly type: TypeForm;
      readonly length: number;
      readonly array: 'float' | 'signed' | 'unsigned';
      readonly values: Place;
    }
  | { readonly form: 'bool'; readonly length: number; readonly values: Place }
  | {
      readonly form: 'bytes';
      readonly type: TypeForm;
      readonly length: number;
      readonly offsets: Place;
      readonly bytes: Place;
      readonly byteLength: number;
    }
  | { readonly form: 'null'; readonly length: number }
  | { readonly form: 'type'; readonly length: number; readonly codes: Place; readonly table: readonly TypeForm[] }
  | { readonly form: 'enum'; readonly type: TypeForm; readonly length: number; readonly codes: Place }
  | { readonly form: 'record'; readonly length: number; readonly fields: readonly FieldForm[] }
  | {
      readonly form: 'list';
      readonly type: TypeForm;
      readonly length: number;
      readonly offsets: Place;
      readonly items: VectorForm;
    }
  | {
      readonly form: 'map';
      readonly type: TypeForm;
      readonly length: number;
      readonly offsets: Place;
      readonly keys: VectorForm;
      readonly values: VectorForm;
    }
  | {
      readonly form: 'union';
      readonly type: TypeForm;
      readonly length: number;
      readonly tags: Place;
      readonly slots: Place;
      readonly members: readonly VectorForm[];
    }
  | {
      readonly form: 'dynamic';
      readonly length: number;
      readonly tags: Place;
      readonly slots: Place;
      readonly parts: readonly VectorForm[];
    }
  | { readonly form: 'error' | 'constant'; readonly length: number; readonly inner: VectorForm }
  | { readonly form: 'named'; readonly name: string; readonly length: number; readonly inner: VectorForm }
  | { readonly form: 'dictionary'; readonly length: number; readonly codes: Place; readonly values: VectorForm }
  | { readonly form: 'selected'; readonly length: number; readonly index: Place; readonly base: VectorForm };

/** What is sent; `buffer` is to be transferred. */
export interface PackedVectors {
  readonly forms: readonly VectorForm[];
  readonly buffer: ArrayBuffer;
}

/** Copies the vectors into one buffer. */
export const packVectors = (vectors: readonly Vector[]): PackedVectors => {
  const packer = new Packer();
  const forms = vectors.map((v) => packer.vector(v));
  return { forms, buffer: packer.done() };
};

const buffers = new WeakMap<Vector, ArrayBuffer>();

/** The vectors that were packed. */
export const unpackVectors = ({ forms, buffer }: PackedVectors): Vector[] => {
  const vectors = forms.map((form) => unpacked(form, buffer));
  if (vectors.length === 1) buffers.set(vectors[0]!, buffer);
  return vectors;
};
/** The buffer of a vector that was packed by itself. */
export const bufferOf = (vector: Vector): ArrayBuffer | undefined => buffers.get(vector);

class Packer {
  private readonly arrays: { readonly bytes: Uint8Array; readonly at: Place }[] = [];
  private size = 0;

  done(): ArrayBuffer {
    // Not zeroed first: all but the gaps is written.
    const out = Buffer.allocUnsafeSlow(this.size);
    for (const { bytes, at } of this.arrays) out.set(bytes, at);
    return out.buffer;
  }

  vector(v: Vector): VectorForm {
    const { length } = v;
    switch (v.form) {
      case 'number':
        return {
          form: 'number',
          type: typeForm(v.type),
          length,
          array: arrayKind(v.values),
          values: this.array(v.values, length),
        };
      case 'bool':
        return { form: 'bool', length, values: this.array(v.values, length) };
      case 'bytes': {
        const start = length > 0 ? v.offsets[0]! : 0;
        const end = length > 0 ? v.offsets[length]! : 0;
        const offsets = start === 0 ? v.offsets : v.offsets.map((x) => x - start);
        return {
          form: 'bytes',
          type: typeForm(v.type),
          length,
          offsets: this.array(offsets, length + 1),
          bytes: this.array(v.bytes.subarray(start, end), end - start),
          byteLength: end - start,
        };
      }
      case 'null':
        return { form: 'null', length };
      case 'type':
        return { form: 'type', length, codes: this.array(v.codes, length), table: v.table.map(typeForm) };
      case 'enum':
        return { form: 'enum', type: typeForm(v.type), length, codes: this.array(v.codes, length) };
      case 'record':
        return { form: 'record', length, fields: v.fields.map((f) => this.field(f, length)) };
      case 'list':
        return {
          form: 'list',
          type: typeForm(v.type),
          length,
          offsets: this.array(v.offsets, length + 1),
          items: this.vector(v.items),
        };
      case 'map':
        return {
          form: 'map',
          type: typeForm(v.type),
          length,
          offsets: this.array(v.offsets, length + 1),
          keys: this.vector(v.keys),
          values: this.vector(v.values),
        };
      case 'union': {
        const members = v.members.map((m) => this.vector(m));
        return {
          form: 'union',
          type: typeForm(v.type),
          length,
          tags: this.array(v.tags, length),
          slots: this.array(v.slots, length),
          members,
        };
      }
      case 'dynamic':
        return {
          form: 'dynamic',
          length,
          tags: this.array(v.tags, length),
          slots: this.array(v.slots, length),
          parts: v.parts.map((p) => this.vector(p)),
        };
      case 'error':
      case 'constant':
        return { form: v.form, length, inner: this.vector(v.inner) };
      case 'named':
        return { form: 'named', name: v.name, length, inner: this.vector(v.inner) };
      case 'dictionary':
        return { form: 'dictionary', length, codes: this.array(v.codes, length), values: this.vector(v.values) };
      case 'selected':
        return { form: 'selected', length, index: this.array(v.index, length), base: this.vector(v.base) };
    }
  }

  private field({ name, optional, values, present }: Field, length: number): FieldForm {
    return { name, optional, values: this.vector(values), ...(present && { present: this.array(present, length) }) };
  }
  private array(array: NumberArray | Uint8Array | Uint32Array, length: number): Place {
    const at = this.size;
    const size = length * array.BYTES_PER_ELEMENT;
    // Small arrays live in the heap until their buffer is asked for: they are copied from where they are.
    this.arrays.push({ bytes: new Uint8Array(array.buffer, array.byteOffset, size), at });
    this.size = (at + size + 7) & ~7;
    return at;
  }
}

const arrayKind = (values: NumberArray): 'float' | 'signed' | 'unsigned' =>
  values instanceof Float64Array ? 'float' : values instanceof BigInt64Array ? 'signed' : 'unsigned';

const unpacked = (f: VectorForm, buffer: ArrayBuffer): Vector => {
  const { length } = f;
  const words = (at: Place, count = length): Uint32Array => new Uint32Array(buffer, at, count);
  const inner = (form: VectorForm): Vector => unpacked(form, buffer);
  switch (f.form) {
    case 'number': {
      const values =
        f.array === 'float'
          ? new Float64Array(buffer, f.values, length)
          : f.array === 'signed'
            ? new BigInt64Array(buffer, f.values, length)
            : new BigUint64Array(buffer, f.values, length);
      return { form: 'number', type: primitive(f.type), length, values };
    }
    case 'bool':
      return { form: 'bool', length, values: new Uint8Array(buffer, f.values, length) };
    case 'bytes':
      return {
        form: 'bytes',
        type: primitive(f.type),
        length,
        offsets: words(f.offsets, length + 1),
        bytes: new Uint8Array(buffer, f.bytes, f.byteLength),
      };
    case 'null':
      return { form: 'null', length };
    case 'type':
      return { form: 'type', length, codes: words(f.codes), table: f.table.map(typeOf) };
    case 'enum':
      return {
        form: 'enum',
        type: typeOf(f.type) as Extract<Vector, { form: 'enum' }>['type'],
        length,
        codes: words(f.codes),
      };
    case 'record':
      return {
        form: 'record',
        length,
        fields: f.fields.map(({ name, optional, values, present }) => ({
          name,
          optional,
          values: inner(values),
          ...(present !== undefined && { present: new Uint8Array(buffer, present, length) }),
        })),
      };
    case 'list':
      return {
        form: 'list',
        type: typeOf(f.type) as Extract<Vector, { form: 'list' }>['type'],
        length,
        offsets: words(f.offsets, length + 1),
        items: inner(f.items),
      };
    case 'map':
      return {
        form: 'map',
        type: typeOf(f.type) as Extract<Vector, { form: 'map' }>['type'],
        length,
        offsets: words(f.offsets, length + 1),
        keys: inner(f.keys),
        values: inner(f.values),
      };
    case 'union':
      return {
        form: 'union',
        type: typeOf(f.type) as Extract<Vector, { form: 'union' }>['type'],
        length,
        tags: words(f.tags),
        slots: words(f.slots),
        members: f.members.map(inner),
      };
    case 'dynamic':
      return { form: 'dynamic', length, tags: words(f.tags), slots: words(f.slots), parts: f.parts.map(inner) };
    case 'error':
    case 'constant':
      return { form: f.form, length, inner: inner(f.inner) };
    case 'named':
      return { form: 'named', name: f.name, length, inner: inner(f.inner) };
    case 'dictionary':
      return { form: 'dictionary', length, codes: words(f.codes), values: inner(f.values) };
    case 'selected':
      return { form: 'selected', length, index: words(f.index), base: inner(f.base) };
  }
};

const typeForm = (type: Type): TypeForm => {
  switch (type.kind) {
    case 'primitive':
      return type.id;
    case 'record':
      return {
        kind: 'record',
        fields: type.fields.map(({ name, optional, type: inner }) => ({ name, optional, type: typeForm(inner) })),
      };
    case 'array':
    case 'set':
      return { kind: type.kind, inner: typeForm(type.element) };
    case 'error':
      return { kind: 'error', inner: typeForm(type.inner) };
    case 'map':
      return { kind: 'map', key: typeForm(type.key), value: typeForm(type.value) };
    case 'union':
      return { kind: 'union', members: type.members.map(typeForm) };
    case 'enum':
      return { kind: 'enum', symbols: type.symbols };
    case 'named':
      return { kind: 'named', name: type.name, inner: typeForm(type.inner) };
  }
};

const primitive = (form: TypeForm): Extract<Type, { kind: 'primitive' }> => primitiveOfId(form as number)!;
const typeOf = (form: TypeForm): Type => {
  if (typeof form === 'number') return primitive(form);
  switch (form.kind) {
    case 'record':
      return recordType(form.fields.map(({ name, optional, type }) => ({ name, optional, type: typeOf(type) })));
    case 'array':
      return arrayType(typeOf(form.inner));
    case 'set':
      return setType(typeOf(form.inner));
    case 'error':
      return errorType(typeOf(form.inner));
    case 'map':
      return mapType(typeOf(form.key), typeOf(form.value));
    // Members are in their order already; equal ones stay.
    case 'union':
      return unionType(form.members.map(typeOf));
    case 'enum':
      return enumType(form.symbols);
    case 'named':
      return namedType(form.name, typeOf(form.inner));
  }
};
