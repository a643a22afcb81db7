/**
 * Values of any type as variants.
 *
 * What a variant has no type for is as the service's JSON has it: addresses, networks, durations and the symbols of enums
 * are strings, types their text; an error is an object `{"error": ..}`; a set is an array; a map an object, its keys as
 * texts; names of types are left out, but for those that say decimals, dates and UUIDs. An integer of 64 bits without a
 * sign that is beyond int64 is a decimal. Times whose nanoseconds microseconds do not hold are timestamps in nanoseconds.
 */
import { jsonKey } from '../../formats/json/text.ts';
import { primitiveText } from '../../vectors/literal.ts';
import { type NamedType, type PrimitiveType, type Type, typeText } from '../../vectors/type.ts';
import {
  type Data,
  bigintData,
  boolData,
  bytesData,
  entriesData,
  fieldsData,
  itemsData,
  memberData,
  numberData,
  numericData,
  stringData,
  typeData,
} from '../../vectors/value.ts';
import { namedValue } from '../named.ts';
import { type VariantNames, type VariantWriter, noNames, variantNames } from './binary.ts';

/** The field of objects that are errors. */
const errorField = 'error';
const int64Max = 9_223_372_036_854_775_807n;
/** Nanoseconds of a microsecond. */
const microNanos = 1000n;

/** Entries of records: their names, types and data; what is absent is left out. */
export interface VariantField {
  readonly name: string;
  readonly type: Type;
  readonly data: Data;
}
/** An object of these fields. */
export const writeObject = (out: VariantWriter, fields: readonly VariantField[], names: VariantNames): void => {
  out.object(
    fields.map(({ name }) => idOf(names, name)),
    (i) => {
      const { type, data } = fields[i]!;
      writeVariant(out, type, data, names);
    },
  );
};

/** `names` has those of all fields of the value. */
export const writeVariant = (out: VariantWriter, type: Type, data: Data, names: VariantNames): void => {
  switch (type.kind) {
    case 'primitive':
      writePrimitive(out, type, data);
      return;
    case 'named':
      if (!writeNamed(out, type, data)) writeVariant(out, type.inner, data, names);
      return;
    case 'union': {
      const inner = memberData(data);
      writeVariant(out, inner.type, inner.data, names);
      return;
    }
    case 'enum':
      out.string(type.symbols[numberData(data)] ?? '');
      return;
    case 'error':
      writeObject(out, [{ name: errorField, type: type.inner, data }], names);
      return;
    case 'array':
    case 'set': {
      const items = itemsData(data);
      out.array(items.length, (i) => {
        writeVariant(out, type.element, items[i]!, names);
      });
      return;
    }
    case 'record':
      writeObject(out, fieldsOf(type, data), names);
      return;
    case 'map':
      writeObject(out, entriesOf(type, data), names);
  }
};

/** The fields of a value that is an object. */
export const fieldsOfObject = (type: Type, data: Data): readonly VariantField[] => {
  switch (type.kind) {
    case 'record':
      return fieldsOf(type, data);
    case 'map':
      return entriesOf(type, data);
    case 'error':
      return [{ name: errorField, type: type.inner, data }];
    default:
      throw new Error(`a value of ${typeText(type)} is no object`);
  }
};
const fieldsOf = (type: Type & { readonly kind: 'record' }, data: Data): readonly VariantField[] =>
  type.fields.flatMap((field, i) => {
    const own = fieldsData(data)[i];
    return own === undefined ? [] : [{ name: field.name, type: field.type, data: own }];
  });
/** Keys of several types may have the same text: those that come later have a number behind it. */
const entriesOf = (type: Type & { readonly kind: 'map' }, data: Data): readonly VariantField[] => {
  const taken = new Set<string>();
  return entriesData(data).map(([key, value]) => {
    const text = jsonKey({ type: type.key, data: key });
    let name = text;
    for (let n = 2; taken.has(name); n++) name = `${text}_${n}`;
    taken.add(name);
    return { name, type: type.value, data: value };
  });
};
const idOf = ({ ids }: VariantNames, name: string): number => {
  const id = ids.get(name);
  if (id === undefined) throw new Error(`"${name}" is none of the names`);
  return id;
};

const writePrimitive = (out: VariantWriter, type: PrimitiveType, data: Data): void => {
  switch (type.name) {
    case 'null':
      out.null();
      return;
    case 'bool':
      out.bool(boolData(data));
      return;
    case 'int8':
      out.int(8, numberData(data));
      return;
    case 'int16':
    case 'uint8':
      out.int(16, numberData(data));
      return;
    case 'int32':
    case 'uint16':
      out.int(32, numberData(data));
      return;
    case 'int64':
    case 'uint32':
      out.int(64, numericData(data));
      return;
    case 'uint64':
      if (BigInt(numericData(data)) <= int64Max) out.int(64, numericData(data));
      else out.decimal(bigintData(data), 0);
      return;
    case 'float16':
    case 'float32':
      out.float(numberData(data));
      return;
    case 'float64':
      out.double(numberData(data));
      return;
    case 'time':
      writeTime(out, numericData(data));
      return;
    case 'bytes':
      out.binary(bytesData(data));
      return;
    case 'string':
      out.string(stringData(data));
      return;
    case 'type':
      out.string(typeText(typeData(data)));
      return;
    case 'duration':
    case 'ip':
    case 'net':
      out.string(primitiveText(type, data));
  }
};
const writeTime = (out: VariantWriter, nanos: number | bigint): void => {
  const x = BigInt(nanos);
  if (x % microNanos === 0n) out.timestamp(x / microNanos, 'micros');
  else out.timestamp(x, 'nanos');
};
const writeNamed = (out: VariantWriter, type: NamedType, data: Data): boolean => {
  const named = namedValue(type, data);
  switch (named?.form) {
    case undefined:
      return false;
    case 'date':
      out.date(named.days);
      return true;
    case 'uuid':
      out.uuid(named.bytes);
      return true;
    case 'decimal':
      out.decimal(named.units, named.scale);
      return true;
  }
};

/** Names of the fields of values, by their types where these say them all. */
export class NamesOfTypes {
  private readonly byType = new Map<Type, VariantNames>();
  private readonly open = new Map<Type, boolean>();

  of(type: Type, data: Data): VariantNames {
    if (this.isOpen(type)) {
      const names = new Set<string>();
      addNames(type, data, names);
      return names.size === 0 ? noNames : variantNames(names);
    }
    let known = this.byType.get(type);
    if (!known) {
      const names = new Set<string>();
      addTypeNames(type, names);
      known = names.size === 0 ? noNames : variantNames(names);
      if (this.byType.size >= typesMax) this.byType.clear();
      this.byType.set(type, known);
    }
    return known;
  }
  /** Whether names are in the values: there are maps. */
  isOpen(type: Type): boolean {
    let known = this.open.get(type);
    if (known === undefined) {
      known = hasMaps(type);
      if (this.open.size >= typesMax) this.open.clear();
      this.open.set(type, known);
    }
    return known;
  }
}
/** Types whose names are kept. */
const typesMax = 1000;

const hasMaps = (type: Type): boolean => {
  switch (type.kind) {
    case 'primitive':
    case 'enum':
      return false;
    case 'map':
      return true;
    case 'named':
    case 'error':
      return hasMaps(type.inner);
    case 'array':
    case 'set':
      return hasMaps(type.element);
    case 'union':
      return type.members.some(hasMaps);
    case 'record':
      return type.fields.some((field) => hasMaps(field.type));
  }
};
const addTypeNames = (type: Type, names: Set<string>): void => {
  switch (type.kind) {
    case 'primitive':
    case 'enum':
    case 'map':
      return;
    case 'error':
      names.add(errorField);
      addTypeNames(type.inner, names);
      return;
    case 'named':
      addTypeNames(type.inner, names);
      return;
    case 'array':
    case 'set':
      addTypeNames(type.element, names);
      return;
    case 'union':
      for (const member of type.members) addTypeNames(member, names);
      return;
    case 'record':
      for (const field of type.fields) {
        names.add(field.name);
        addTypeNames(field.type, names);
      }
  }
};
const addNames = (type: Type, data: Data, names: Set<string>): void => {
  switch (type.kind) {
    case 'primitive':
    case 'enum':
      return;
    case 'error':
      names.add(errorField);
      addNames(type.inner, data, names);
      return;
    case 'named':
      addNames(type.inner, data, names);
      return;
    case 'array':
    case 'set':
      for (const item of itemsData(data)) addNames(type.element, item, names);
      return;
    case 'union': {
      const inner = memberData(data);
      addNames(inner.type, inner.data, names);
      return;
    }
    case 'record':
    case 'map':
      for (const field of type.kind === 'record' ? fieldsOf(type, data) : entriesOf(type, data)) {
        names.add(field.name);
        addNames(field.type, field.data, names);
      }
  }
};
