/**
 * Descriptors of a CSUP object's columns (reference/formats/csup.md section 2): records of the metadata stream to plain
 * objects and back.
 */
import { type Type, arrayType, namedType, recordType, types } from '../../vectors/type.ts';
import {
  type Data,
  type Value,
  recordValue,
  boolData,
  bytesData,
  fieldsData,
  itemsData,
  stringData,
  typeData,
} from '../../vectors/value.ts';
import { BytesFault } from '../columns/type-bytes.ts';

/** Bytes in the data section. For blocks of integers `memory` is what they take there, for others `length` is. */
export interface Segment {
  readonly offset: number;
  readonly length: number;
  readonly memory: number;
  readonly compression: number;
}
/**
 * A field; `values` is the number of another descriptor, whose rows are those that have the field. `nones`: lengths of
 * runs of rows, by turns without and with it.
 */
export interface FieldDescriptor {
  readonly name: string;
  readonly values: number;
  readonly optional: boolean;
  readonly nones: Segment;
}

/** `values`, `keys`: numbers of other descriptors. */
export type Descriptor =
  | { readonly kind: 'Const'; readonly value: Value; readonly count: number }
  | {
      readonly kind: 'Int' | 'Uint' | 'Float' | 'Primitive';
      readonly type: Type;
      readonly location: Segment;
      readonly min: Value;
      readonly max: Value;
      readonly count: number;
    }
  | {
      readonly kind: 'Bytes';
      readonly type: Type;
      readonly bytes: Segment;
      readonly offsets: Segment;
      readonly min: Uint8Array;
      readonly max: Uint8Array;
      readonly count: number;
    }
  | {
      readonly kind: 'Dict';
      readonly values: number;
      readonly counts: Segment;
      readonly index: Segment;
      readonly count: number;
    }
  | { readonly kind: 'Record'; readonly count: number; readonly fields: readonly FieldDescriptor[] }
  | { readonly kind: 'Array' | 'Set'; readonly count: number; readonly lengths: Segment; readonly values: number }
  | {
      readonly kind: 'Map';
      readonly count: number;
      readonly lengths: Segment;
      readonly keys: number;
      readonly values: number;
    }
  | {
      readonly kind: 'Union' | 'Dynamic';
      readonly count: number;
      readonly tags: Segment;
      readonly members: readonly number[];
    }
  | { readonly kind: 'Named'; readonly name: string; readonly values: number }
  | { readonly kind: 'Error'; readonly values: number };

const malformed = (what: string): BytesFault => new BytesFault(`malformed CSUP descriptor: ${what}`);

/** @throws BytesFault for what is no descriptor */
export const descriptorOf = (value: Value): Descriptor => {
  if (value.type.kind !== 'named') throw malformed('no name');
  const { name } = value.type;
  const r = new Fields(value);
  switch (name) {
    case 'Const':
      return { kind: name, value: r.get('Value'), count: r.number('Count') };
    case 'Int':
    case 'Uint':
    case 'Float':
    case 'Primitive':
      return {
        kind: name,
        type: r.type('Type'),
        location: r.segment('Location'),
        min: r.get('Min'),
        max: r.get('Max'),
        count: r.number('Count'),
      };
    case 'Bytes':
      return {
        kind: name,
        type: r.type('Type'),
        bytes: r.segment('Bytes'),
        offsets: r.segment('Offsets'),
        min: r.bound('Min'),
        max: r.bound('Max'),
        count: r.number('Count'),
      };
    case 'Dict':
      return {
        kind: name,
        values: r.number('Values'),
        counts: r.segment('Counts'),
        index: r.segment('Index'),
        count: r.number('Length'),
      };
    case 'Record':
      return { kind: name, count: r.number('Length'), fields: r.list('Fields').map(fieldOf) };
    case 'Array':
    case 'Set':
      return { kind: name, count: r.number('Length'), lengths: r.segment('Lengths'), values: r.number('Values') };
    case 'Map':
      return {
        kind: name,
        count: r.number('Length'),
        lengths: r.segment('Lengths'),
        keys: r.number('Keys'),
        values: r.number('Values'),
      };
    case 'Union':
    case 'Dynamic':
      return {
        kind: name,
        count: r.number('Length'),
        tags: r.segment('Tags'),
        members: r.list('Values').map((v) => numberOf(v, 'Values')),
      };
    case 'Named':
      return { kind: name, name: r.text('Name'), values: r.number('Values') };
    case 'Error':
      return { kind: name, values: r.number('Values') };
    default:
      throw malformed(`unknown kind "${name}"`);
  }
};

const fieldOf = (value: Value): FieldDescriptor => {
  const r = new Fields(value);
  return { name: r.text('Name'), values: r.number('Values'), optional: r.flag('Opt'), nones: r.segment('Nones') };
};

const unnamed = (value: Value): Value => {
  let { type } = value;
  while (type.kind === 'named') type = type.inner;
  return { type, data: value.data };
};
const numberOf = (value: Value, name: string): number => {
  const { data } = unnamed(value);
  if (typeof data !== 'number' || !Number.isInteger(data) || data < 0) throw malformed(`${name} is no count`);
  return data;
};

/** The fields of a record by name. */
class Fields {
  private readonly byName = new Map<string, Value>();
  constructor(value: Value) {
    const { type, data } = unnamed(value);
    if (type.kind !== 'record') throw malformed('no record');
    type.fields.forEach((f, i) => {
      const d = fieldsData(data)[i];
      if (d !== undefined) this.byName.set(f.name, { type: f.type, data: d });
    });
  }
  get(name: string): Value {
    const value = this.byName.get(name);
    if (!value) throw malformed(`${name} is missing`);
    return value;
  }
  number(name: string): number {
    return numberOf(this.get(name), name);
  }
  flag(name: string): boolean {
    return boolData(this.plain(name, types.bool));
  }
  text(name: string): string {
    return stringData(this.plain(name, types.string));
  }
  type(name: string): Type {
    return typeData(this.plain(name, types.type));
  }
  /** The least or largest of byte strings; the reference has null where there are none. */
  bound(name: string): Uint8Array {
    return unnamed(this.get(name)).type === types.null ? new Uint8Array(0) : bytesData(this.plain(name, types.bytes));
  }
  segment(name: string): Segment {
    const r = new Fields(this.get(name));
    return {
      offset: r.number('Offset'),
      length: r.number('Length'),
      memory: r.number('MemLength'),
      compression: r.number('CompressionFormat'),
    };
  }
  list(name: string): readonly Value[] {
    const { type, data } = unnamed(this.get(name));
    if (type.kind !== 'array') throw malformed(`${name} is no array`);
    return itemsData(data).map((d) => ({ type: type.element, data: d }));
  }
  private plain(name: string, type: Type): Data {
    const value = unnamed(this.get(name));
    if (value.type !== type) throw malformed(`${name} is no ${type.kind === 'primitive' ? type.name : type.kind}`);
    return value.data;
  }
}

const segmentType = namedType(
  'Segment',
  recordType([
    { name: 'Offset', type: types.uint64 },
    { name: 'Length', type: types.uint64 },
    { name: 'MemLength', type: types.uint64 },
    { name: 'CompressionFormat', type: types.uint8 },
  ]),
);
const idType = namedType('ID', types.uint32);
const fieldType = namedType(
  'Field',
  recordType([
    { name: 'Name', type: types.string },
    { name: 'Values', type: idType },
    { name: 'Opt', type: types.bool },
    { name: 'Nones', type: segmentType },
  ]),
);

const uint32 = (data: number): Value => ({ type: types.uint32, data });
const id = (data: number): Value => ({ type: idType, data });
const ids = (data: readonly number[]): Value => ({ type: arrayType(idType), data });
const segmentData = (s: Segment): Data => [s.offset, s.length, s.memory, s.compression];
const segment = (s: Segment): Value => ({ type: segmentType, data: segmentData(s) });
const bytes = (data: Uint8Array): Value => ({ type: types.bytes, data });
const shownType = (data: Type): Value => ({ type: types.type, data });

/** The metadata record of a descriptor. */
export const valueOf = (d: Descriptor): Value => {
  const { type, data } = recordValue(Object.entries(partsOf(d)).map(([name, value]) => ({ name, value })));
  return { type: namedType(d.kind, type), data };
};

const partsOf = (d: Descriptor): Readonly<Record<string, Value>> => {
  switch (d.kind) {
    case 'Const':
      return { Value: d.value, Count: uint32(d.count) };
    case 'Int':
    case 'Uint':
    case 'Float':
    case 'Primitive':
      return { Type: shownType(d.type), Location: segment(d.location), Min: d.min, Max: d.max, Count: uint32(d.count) };
    case 'Bytes':
      return {
        Type: shownType(d.type),
        Bytes: segment(d.bytes),
        Offsets: segment(d.offsets),
        Min: bytes(d.min),
        Max: bytes(d.max),
        Count: uint32(d.count),
      };
    case 'Dict':
      return { Values: id(d.values), Counts: segment(d.counts), Index: segment(d.index), Length: uint32(d.count) };
    case 'Record':
      return {
        Length: uint32(d.count),
        Fields: {
          type: arrayType(fieldType),
          data: d.fields.map((f) => [f.name, f.values, f.optional, segmentData(f.nones)]),
        },
      };
    case 'Array':
    case 'Set':
      return { Length: uint32(d.count), Lengths: segment(d.lengths), Values: id(d.values) };
    case 'Map':
      return { Length: uint32(d.count), Lengths: segment(d.lengths), Keys: id(d.keys), Values: id(d.values) };
    case 'Union':
      return { Length: uint32(d.count), Tags: segment(d.tags), Values: ids(d.members) };
    case 'Dynamic':
      return { Tags: segment(d.tags), Values: ids(d.members), Length: uint32(d.count) };
    case 'Named':
      return { Name: { type: types.string, data: d.name }, Values: id(d.values) };
    case 'Error':
      return { Values: id(d.values) };
  }
};
