/**
 * Reads the lines of a JSUP answer: values with their types, and the messages about the query between them.
 *
 * - A type is defined once a channel by an id and referred to later; `null` fields mean none.
 * - A primitive's value is its text; a union's is `[member, value]`; a record with optional fields begins with the
 *   positions, among those, of the absent ones.
 * - For each type a reader is made once, when it is defined.
 */
import type { FieldType, Type } from './types.ts';
import { Address, Duration, ErrorValue, type LakeValue, Network, Symbolic, Time, TypeValue } from './values.ts';

/** A value with its type, or a message about the query. */
export type Message =
  | { readonly kind: 'value'; readonly value: LakeValue; readonly type: Type }
  | { readonly kind: 'control'; readonly name: string; readonly value: unknown };

type Read = (json: unknown) => LakeValue;
interface Known {
  readonly type: Type;
  readonly read: Read;
}
type Json = Readonly<Record<string, unknown>>;

/** The answer is not the JSUP that it says it is. */
export class MalformedAnswer extends Error {
  override readonly name = 'MalformedAnswer';
}

const record = (json: unknown): Json => {
  if (typeof json !== 'object' || json === null)
    throw new MalformedAnswer(`expected an object, not ${JSON.stringify(json)}`);
  return json as Json;
};
const list = (json: unknown): readonly unknown[] => {
  if (!Array.isArray(json)) throw new MalformedAnswer(`expected a list, not ${JSON.stringify(json)}`);
  return json;
};
const text = (json: unknown): string => {
  if (typeof json !== 'string') throw new MalformedAnswer(`expected a text, not ${JSON.stringify(json)}`);
  return json;
};

const bytesOf = (hex: string): Uint8Array => {
  const bytes = new Uint8Array((hex.length - 2) / 2);
  for (let i = 0; i < bytes.length; i++) bytes[i] = Number.parseInt(hex.slice(2 + i * 2, 4 + i * 2), 16);
  return bytes;
};
/** The number of a text of JSUP. */
export const floatOf = (number: string): number =>
  number === '+Inf' ? Infinity : number === '-Inf' ? -Infinity : Number(number);

/** Readers of the primitives but for `type`, whose values are types of the stream. */
const primitives: ReadonlyMap<string, Read> = new Map<string, Read>([
  ...['int8', 'int16', 'int32', 'uint8', 'uint16', 'uint32'].map((name): [string, Read] => [
    name,
    (json) => Number(text(json)),
  ]),
  ...['int64', 'uint64'].map((name): [string, Read] => [name, (json) => BigInt(text(json))]),
  ...['float16', 'float32', 'float64'].map((name): [string, Read] => [name, (json) => floatOf(text(json))]),
  ['time', (json) => Time.parse(text(json))],
  ['duration', (json) => Duration.parse(text(json))],
  ['bool', (json) => text(json) === 'true'],
  ['string', text],
  ['bytes', (json) => bytesOf(text(json))],
  ['ip', (json) => new Address(text(json))],
  ['net', (json) => new Network(text(json))],
  ['null', () => null],
]);

/** The lines of one answer, in order. */
export class JsupReader {
  private byId = new Map<number, Known>();

  /** @throws MalformedAnswer */
  read(line: string): Message {
    const json = record(JSON.parse(line));
    if (typeof json['type'] === 'string') {
      // Each channel begins with no types.
      if (json['type'] === 'QueryChannelSet') this.byId = new Map();
      return { kind: 'control', name: json['type'], value: json['value'] };
    }
    const { type, read } = this.known(json['type']);
    return { kind: 'value', value: read(json['value']), type };
  }

  private known(json: unknown): Known {
    const object = record(json);
    const id = object['id'];
    if (object['kind'] === 'ref') {
      const known = this.byId.get(Number(id));
      if (!known) throw new MalformedAnswer(`no type has the id ${String(id)}`);
      return known;
    }
    const known = this.defined(object);
    if (typeof id === 'number') this.byId.set(id, known);
    return known;
  }

  private defined(json: Json): Known {
    switch (json['kind']) {
      case 'primitive':
        return this.primitive(text(json['name']));
      case 'record':
        return this.record(json);
      case 'array': {
        const { type, read } = this.known(json['type']);
        return { type: { kind: 'array', type }, read: (value) => list(value).map(read) };
      }
      case 'set': {
        const { type, read } = this.known(json['type']);
        return { type: { kind: 'set', type }, read: (value) => new Set(list(value).map(read)) };
      }
      case 'map': {
        const key = this.known(json['key_type']);
        const value = this.known(json['val_type']);
        const entry = (pair: unknown): [LakeValue, LakeValue] => [key.read(list(pair)[0]), value.read(list(pair)[1])];
        return {
          type: { kind: 'map', key: key.type, value: value.type },
          read: (entries) => new Map(list(entries).map(entry)),
        };
      }
      case 'union':
        return unionOf(list(json['types']).map((member) => this.known(member)));
      case 'enum': {
        const symbols = list(json['symbols']).map(text);
        return { type: { kind: 'enum', symbols }, read: (value) => new Symbolic(symbols[Number(text(value))]!) };
      }
      case 'error': {
        const { type, read } = this.known(json['type']);
        return { type: { kind: 'error', type }, read: (value) => new ErrorValue(read(value)) };
      }
      case 'named': {
        const { type, read } = this.known(json['type']);
        return { type: { kind: 'named', name: text(json['name']), type }, read };
      }
      default:
        throw new MalformedAnswer(`unknown kind of type: ${JSON.stringify(json['kind'])}`);
    }
  }

  private primitive(name: string): Known {
    const type: Type = { kind: 'primitive', name };
    if (name === 'type') return { type, read: (value) => new TypeValue(this.known(value).type) };
    const read = primitives.get(name);
    if (!read) throw new MalformedAnswer(`unknown primitive type: ${name}`);
    // A null stands in a column of any type.
    return { type, read: (value) => (value === null ? null : read(value)) };
  }

  private record(json: Json): Known {
    const readers: Read[] = [];
    const fields = list(json['fields'] ?? []).map((each): FieldType => {
      const field = record(each);
      const known = this.known(field['type']);
      readers.push(known.read);
      return { name: text(field['name']), type: known.type, optional: field['opt'] === true };
    });
    const type: Type = { kind: 'record', fields };
    return {
      type,
      read: fields.some((field) => field.optional) ? withOptional(fields, readers) : plain(fields, readers),
    };
  }
}

const unionOf = (members: readonly Known[]): Known => ({
  type: { kind: 'union', types: members.map(({ type }) => type) },
  read: (value) => {
    if (value === null) return null;
    const [tag, inner] = list(value);
    const member = members[Number(tag)];
    if (!member) throw new MalformedAnswer(`a union has no member ${String(tag)}`);
    return member.read(inner);
  },
});

/** Sets an own field, `__proto__` too. */
const put = (target: Record<string, LakeValue>, name: string, value: LakeValue): void => {
  if (name === '__proto__')
    Object.defineProperty(target, name, { value, enumerable: true, configurable: true, writable: true });
  else target[name] = value;
};

const plain =
  (fields: readonly FieldType[], readers: readonly Read[]): Read =>
  (value) => {
    const values = list(value);
    const result: Record<string, LakeValue> = {};
    for (let i = 0; i < fields.length; i++) put(result, fields[i]!.name, readers[i]!(values[i]));
    return result;
  };

const withOptional =
  (fields: readonly FieldType[], readers: readonly Read[]): Read =>
  (value) => {
    const values = list(value);
    const result: Record<string, LakeValue> = {};
    placesOf(fields, values).forEach((at, i) => {
      if (at !== undefined) put(result, fields[i]!.name, readers[i]!(values[at]));
    });
    return result;
  };

/**
 * Where the fields of a record with optional ones stand in its JSON: a position each, undefined for one that is absent.
 * @throws MalformedAnswer
 */
export const placesOf = (fields: readonly FieldType[], values: readonly unknown[]): readonly (number | undefined)[] => {
  const absent = new Set(list(values[0] ?? []).map(Number));
  let optional = 0;
  let next = 1;
  return fields.map((field) => (field.optional && absent.has(optional++) ? undefined : next++));
};
