/**
 * From the first value of a request body to the fields of a request. Type mismatches are told in the words that clients of the reference know.
 * Unknown fields are ignored; a field that is not there is `undefined`.
 */
import { LakeError } from '../errors.ts';
import { type Type, types } from '../vectors/type.ts';
import { type Data, type Value, stringValue, underValue } from '../vectors/value.ts';
import { supText, supType } from '../vectors/sup-print.ts';

/** A record of a body, read field by field. */
export interface BodyRecord {
  isNull(name: string): boolean;
  /** @throws body-field-type unless it is a string */
  text(name: string): string | undefined;
  /** @throws body-field-type unless it is a signed integer */
  integer(name: string, goType?: 'int' | 'int64'): number | undefined;
  /** @throws body-not-record unless it is a record */
  record(name: string): BodyRecord | undefined;
  /** Strings of an array. @throws body-not-array, body-field-type */
  texts(name: string): readonly string[] | undefined;
  /** Arrays of strings of an array. @throws body-not-array, body-field-type */
  paths(name: string): readonly (readonly string[])[] | undefined;
  /** Ids of an array: texts as they are, 20 bytes as `0x` and hexadecimal digits. @throws body-not-array, id-invalid */
  ids(name: string): readonly string[] | undefined;
}

/** The record that a body holds; undefined for a body without a value. @throws body-not-record */
export const bodyRecord = (value: Value | undefined): BodyRecord => {
  if (value === undefined) return recordOf(new Map());
  const { type, data } = underValue(value);
  if (type.kind !== 'record') throw new LakeError('body-not-record', { value: goQuote(supText(value)) });
  const fields = new Map<string, Value>();
  type.fields.forEach((field, i) => {
    const fieldData = (data as readonly (Data | undefined)[])[i];
    if (fieldData !== undefined) fields.set(field.name, { type: field.type, data: fieldData });
  });
  return recordOf(fields);
};

/** The record of a body that holds strings alone. */
export const textRecord = (fields: ReadonlyMap<string, string>): BodyRecord => recordOf(new Map(Array.from(fields, ([name, text]) => [name, stringValue(text)] as const)));

const recordOf = (fields: ReadonlyMap<string, Value>): BodyRecord => {
  const read = <T>(name: string, convert: (value: Value) => T): T | undefined => {
    const value = fields.get(name);
    return value === undefined ? undefined : convert(value);
  };
  return {
    isNull: (name) => read(name, (value) => underValue(value).type === types.null) ?? false,
    text: (name) => read(name, stringOf),
    integer: (name, goType = 'int64') => read(name, (value) => {
      const { type, data } = underValue(value);
      if (!signedIntegers.has(type) || typeof data !== 'number') throw mismatch(type, goType);
      return data;
    }),
    record: (name) => read(name, bodyRecord),
    texts: (name) => read(name, (value) => items(value)?.map(stringOf)),
    paths: (name) => read(name, (value) => items(value)?.map((path) => items(path)?.map(stringOf) ?? [])),
    ids: (name) => read(name, (value) => items(value)?.map((id) => {
      const { type, data } = underValue(id);
      if (type === types.string) return data as string;
      if (type !== types.bytes) throw new LakeError('body-not-array', { type: supType(id.type) });
      if ((data as Uint8Array).length !== 20) throw new LakeError('id-invalid', { id: supText({ type, data }) });
      return `0x${Buffer.from(data as Uint8Array).toString('hex')}`;
    })),
  };
};

const signedIntegers: ReadonlySet<Type> = new Set([types.int8, types.int16, types.int32, types.int64]);

const stringOf = (value: Value): string => {
  const { type, data } = underValue(value);
  if (type !== types.string) throw mismatch(type, 'string');
  return data as string;
};

/** Elements of an array, each of its own type; undefined for null. */
const items = (value: Value): readonly Value[] | undefined => {
  const { type, data } = underValue(value);
  if (type === types.null) return undefined;
  if (type.kind !== 'array') throw new LakeError('body-not-array', { type: supType(value.type) });
  return (data as readonly Data[]).map((d) => withoutUnion({ type: type.element, data: d }));
};

const withoutUnion = (value: Value): Value => (value.type.kind === 'union' ? withoutUnion(value.data as Value) : value);

const mismatch = (type: Type, wanted: string): LakeError => new LakeError('body-field-type', { type: supType(type), wanted });

/** A text in Go's `%q` spelling; control characters aside it is JSON's. */
const goQuote = (text: string): string => JSON.stringify(text);
