/**
 * From the first value of a request body to the fields of a request. Type mismatches are told in the words that clients
 * of the reference know. Unknown fields are ignored; a field that is not there, or null, is `undefined`.
 */
import { LakeError } from '../../errors.ts';
import { type Type, types } from '../../vectors/type.ts';
import {
  type Value,
  stringValue,
  underValue,
  bytesData,
  fieldsData,
  itemsData,
  memberData,
  stringData,
} from '../../vectors/value.ts';
import { parseSup } from '../../vectors/sup/parse.ts';
import { supText, supType } from '../../vectors/sup/print.ts';
import { firstInvalid, textToBytes } from '../../vectors/texts/codec.ts';

/** A record of a body, read field by field. A field that is null is not there. */
export interface BodyRecord {
  /** @throws body-field-type unless it is a string, body-not-utf8 */
  text(name: string): string | undefined;
  /** @throws body-field-type unless it is a signed integer, or a float that is a whole number */
  integer(name: string, goType?: 'int' | 'int64'): number | undefined;
  /** Fields `name.x` of this record are its fields too. @throws body-not-record, body-field-twice */
  record(name: string): BodyRecord | undefined;
  /** Strings of an array. @throws body-not-array, body-field-type, body-cell */
  texts(name: string): readonly string[] | undefined;
  /** Arrays of strings of an array. @throws body-not-array, body-field-type, body-cell */
  paths(name: string): readonly (readonly string[])[] | undefined;
  /** Values of an array, each in SUP. @throws body-not-array, body-cell */
  values(name: string): readonly string[] | undefined;
  /**
   * Ids of an array: texts as they are, 20 bytes as `0x` and hexadecimal digits. @throws body-not-array, id-invalid,
   * body-cell
   */
  ids(name: string): readonly string[] | undefined;
}

/**
 * `hasCells`: the body's format has no arrays and records, so that texts stand for them: SUP, or items with commas
 * between them.
 */
interface RecordOptions {
  readonly hasCells?: boolean /** Path of the record in the body, with a dot behind each name. */;
  readonly at?: string;
}

/** The record that a body holds; undefined for a body without a value. @throws body-not-record */
export const bodyRecord = (value: Value | undefined, options: RecordOptions = {}): BodyRecord =>
  recordOf(value === undefined ? new Map() : fieldsIn(value), options);

const fieldsIn = (value: Value): ReadonlyMap<string, Value> => {
  const { type, data } = underValue(value);
  if (type.kind !== 'record') throw new LakeError('body-not-record', { value: goQuote(supText(value)) });
  const fields = new Map<string, Value>();
  type.fields.forEach((field, i) => {
    const fieldData = fieldsData(data)[i];
    if (fieldData !== undefined) fields.set(field.name, withoutUnion({ type: field.type, data: fieldData }));
  });
  return fields;
};

/** The record of a body that holds strings alone. */
export const textRecord = (fields: ReadonlyMap<string, string>): BodyRecord =>
  recordOf(new Map(Array.from(fields, ([name, text]) => [name, stringValue(text)] as const)), {});

const recordOf = (fields: ReadonlyMap<string, Value>, options: RecordOptions): BodyRecord => {
  const { at = '' } = options;
  const cellOf = (name: string): Value | undefined => {
    const value = fields.get(name);
    return value === undefined || underValue(value).type === types.null ? undefined : value;
  };
  const read = <T>(name: string, convert: (value: Value) => T): T | undefined => {
    const value = cellOf(name);
    return value === undefined ? undefined : convert(value);
  };
  /** The items of an array, or of the text that stands for it. */
  const list = <T>(
    name: string,
    convert: (item: Value) => T,
    fromText: (text: string) => T,
  ): readonly T[] | undefined =>
    read(name, (value) => {
      if (!options.hasCells || underValue(value).type !== types.string) return items(value)?.map(convert);
      const text = stringData(underValue(value).data).trim();
      return text.startsWith('[')
        ? items(supOf(`${at}${name}`, text))?.map(convert)
        : text.split(',').map((item) => fromText(item.trim()));
    });
  return {
    text: (name) => read(name, stringOf),
    integer: (name, goType = 'int64') =>
      read(name, (value) => {
        const { type, data } = underValue(value);
        if (typeof data === 'bigint' && signedIntegers.has(type) && data > 0n)
          throw new LakeError('size-large', { name: `${at}${name}` });
        if (typeof data !== 'number' || !(signedIntegers.has(type) || (floats.has(type) && Number.isSafeInteger(data))))
          throw mismatch(type, goType);
        return data;
      }),
    record: (name) => {
      const cell = cellOf(name);
      const isText = options.hasCells && cell !== undefined && underValue(cell).type === types.string;
      const whole =
        cell === undefined
          ? undefined
          : fieldsIn(isText ? supOf(`${at}${name}`, stringData(underValue(cell).data)) : cell);
      const prefix = `${name}.`;
      const dotted = [...fields].filter(([key]) => key.startsWith(prefix));
      if (whole === undefined && dotted.length === 0) return undefined;
      const inner = new Map(whole);
      for (const [key, value] of dotted) {
        if (inner.has(key.slice(prefix.length))) throw new LakeError('body-field-twice', { name: `${at}${key}` });
        inner.set(key.slice(prefix.length), value);
      }
      return recordOf(inner, { ...options, at: `${at}${prefix}` });
    },
    texts: (name) => list(name, stringOf, (text) => text),
    values: (name) => list(name, supText, (text) => text),
    paths: (name) =>
      list(
        name,
        (path) => items(path)?.map(stringOf) ?? [],
        (text) => text.split('.'),
      ),
    ids: (name) => list(name, idText, (text) => text),
  };
};

const idText = (id: Value): string => {
  const { type, data } = underValue(id);
  if (type === types.string) return stringData(data);
  if (type !== types.bytes) throw mismatch(type, 'string');
  if (bytesData(data).length !== 20) throw new LakeError('id-invalid', { id: supText({ type, data }) });
  return `0x${Buffer.from(bytesData(data)).toString('hex')}`;
};

/** The value of a cell that is written in SUP. @throws body-cell */
const supOf = (name: string, text: string): Value => {
  try {
    return parseSup(text) ?? stringValue(text);
  } catch (cause) {
    throw new LakeError('body-cell', { name, fault: (cause as Error).message }, { cause });
  }
};

const signedIntegers: ReadonlySet<Type> = new Set([types.int8, types.int16, types.int32, types.int64]);
const floats: ReadonlySet<Type> = new Set([types.float16, types.float32, types.float64]);

const stringOf = (value: Value): string => {
  const { type, data } = underValue(value);
  if (type !== types.string) throw mismatch(type, 'string');
  const text = stringData(data);
  // Binary formats keep such bytes as lone surrogates.
  if (!text.isWellFormed()) checkUtf8(textToBytes(text), 'text in the request body');
  return text;
};

/**
 * Texts of requests are UTF-8: a query or name is not to be another than the one that was meant.
 * @throws body-not-utf8 with the place of the first byte that is none
 */
export const checkUtf8 = (bytes: Uint8Array, where: string): void => {
  const at = firstInvalid(bytes);
  if (at >= 0) throw new LakeError('body-not-utf8', { where, byte: bytes[at].toString(16), at });
};

/** Elements of an array, each of its own type; undefined for null. */
const items = (value: Value): readonly Value[] | undefined => {
  const { type, data } = underValue(value);
  if (type === types.null) return undefined;
  if (type.kind !== 'array') throw new LakeError('body-not-array', { type: supType(value.type) });
  return itemsData(data).map((d) => withoutUnion({ type: type.element, data: d }));
};

const withoutUnion = (value: Value): Value =>
  value.type.kind === 'union' ? withoutUnion(memberData(value.data)) : value;

const mismatch = (type: Type, wanted: string): LakeError =>
  new LakeError('body-field-type', { type: supType(type), wanted });

/** A text in Go's `%q` spelling; control characters aside it is JSON's. */
const goQuote = (text: string): string => JSON.stringify(text);
