/** Reads JSUP: a JSON object with type and value a line, types numbered over the whole stream. */
import { LakeError } from '../../errors.ts';
import type { Builder } from '../../vectors/builder.ts';
import {
  fitsInt64,
  fitsInteger,
  goQuoted,
  parseBytes,
  parseDuration,
  parseInteger,
  parseIp,
  parseNet,
  parseTime,
  roundFloat,
} from '../../vectors/literal.ts';
import {
  type RecordType,
  type Type,
  arrayType,
  enumType,
  errorType,
  mapType,
  namedType,
  primitiveNamed,
  recordType,
  setType,
  types,
  unionType,
} from '../../vectors/type.ts';
import { type Data, canonicalMap, canonicalSet } from '../../vectors/value.ts';
import type { Vector } from '../../vectors/vector.ts';
import { ByteWindow } from '../byte-window.ts';
import { type ReadOptions, readLimits } from '../format.types.ts';
import { jsonFault } from '../json-fault.ts';
import { Faults } from '../faults/faults.ts';
import { batchesOfLines } from '../line-batches.ts';
import { floatOf, textOf } from '../text-cell.ts';
import { ValueMemory } from '../value-memory.ts';

/** @throws LakeError `format-broken` with the line, after giving out what came before */
export async function* readJsup(input: AsyncIterable<Uint8Array>, options: ReadOptions): AsyncGenerator<Vector> {
  const limits = readLimits(options);
  const window = new ByteWindow(input, { format: 'jsup', valueBytesMax: limits.valueBytesMax });
  const table = new JsupTypes(limits.nestingMax);
  let line = 0;
  let count = 0;
  const memory = new ValueMemory(options.memory, 'jsup', () => `line ${line}`);
  const take = (text: string, builder: Builder): void => {
    if (text.trim() === '') return;
    try {
      const object = parsed(text);
      if (!isObject(object) || !isObject(object['type']))
        throw new Fault(`malformed JSUP: bad type object: ${shown(text)}`);
      const type = table.type(object['type'], 0);
      builder.appendData(type, table.data(type, object['value'], 0));
      count++;
    } catch (problem) {
      if (!(problem instanceof Fault)) throw problem;
      throw new LakeError('format-broken', {
        format: 'jsup',
        fault: `line ${line}: ${problem.message}`,
        place: '',
        values: count,
      });
    }
  };
  yield* batchesOfLines(
    window,
    { batchRows: limits.batchRows, faults: Faults.of(options) },
    ({ bytes, lineStart, lineEnd }, builder) => {
      line++;
      if (lineEnd - lineStart > longLineBytes) memory.hold(costOf(bytes, lineStart, lineEnd));
      try {
        take(textOf(bytes, lineStart, lineEnd), builder);
      } finally {
        memory.free();
      }
    },
  );
}

/** A line of more bytes is charged before it is read: its values are held all at once, as JSON and then as ours. */
const longLineBytes = 1 << 20;
/** Bytes that a value takes meanwhile, beside its characters; values are told by what stands behind and before them. */
const valueBytes = 100;
const costOf = (bytes: Uint8Array, start: number, end: number): number => {
  let marks = 0;
  for (let i = start; i < end; i++) {
    const c = bytes[i];
    if (c === 0x2c || c === 0x5b || c === 0x7b) marks++;
  }
  return marks * valueBytes + (end - start);
};

class Fault extends Error {}
/** Most characters of an input that an error text repeats. */
const shownMax = 1_000;
const shown = (x: unknown): string => cutShort(String(JSON.stringify(x)));
const cutShort = (text: string): string => (text.length > shownMax ? `${text.slice(0, shownMax)}...` : text);

type Json = Readonly<Record<string, unknown>>;
const isObject = (x: unknown): x is Json => typeof x === 'object' && x !== null && !Array.isArray(x);

const parsed = (text: string): unknown => {
  try {
    return JSON.parse(text);
  } catch (problem) {
    const reason = jsonFault(text) ?? (problem as Error).message;
    throw new Fault(
      `malformed JSUP: bad type object: ${cutShort(goQuoted(text))}: unpacker error parsing JSON: ${reason}`,
    );
  }
};

class JsupTypes {
  private readonly byId = new Map<number, Type>();
  private readonly nestingMax: number;
  constructor(nestingMax: number) {
    this.nestingMax = nestingMax;
  }

  private enter(depth: number): void {
    if (depth > this.nestingMax) throw new Fault(`nesting too deep (limit ${this.nestingMax})`);
  }

  type(object: unknown, depth: number): Type {
    this.enter(depth);
    if (!isObject(object)) throw new Fault(`malformed JSUP: bad type object: ${shown(object)}`);
    const { kind, name, id } = object;
    if (kind === 'primitive') return primitiveNamed(String(name)) ?? unknown(String(name));
    if (kind === 'ref') return this.byId.get(Number(id)) ?? unknownReference(id);
    const type = this.complex(String(kind), object, depth + 1);
    if (typeof id !== 'number') throw new Fault(`malformed JSUP: type without id: ${shown(object)}`);
    this.byId.set(id, type);
    return type;
  }
  private complex(kind: string, object: Json, depth: number): Type {
    const of = (name: string): Type => this.type(object[name], depth);
    switch (kind) {
      case 'record':
        return this.record(listOf(object['fields']), depth);
      case 'array':
        return arrayType(of('type'));
      case 'set':
        return setType(of('type'));
      case 'map': {
        const key = of('key_type');
        return mapType(key, of('val_type'));
      }
      case 'union': {
        const members = listOf(object['types']).map((t) => this.type(t, depth));
        if (members.length < 2) throw new Fault('union type must include two or more types');
        return unionType(members);
      }
      case 'enum':
        return enumType(listOf(object['symbols']).map(String));
      case 'error':
        return errorType(of('type'));
      case 'named': {
        const inner = of('type');
        const name = String(object['name']);
        if (primitiveNamed(name)) throw new Fault(`bad type name "${name}": primitive type name`);
        return namedType(name, inner);
      }
      default:
        return unknown(kind);
    }
  }
  private record(fields: readonly unknown[], depth: number): RecordType {
    const seen = new Set<string>();
    return recordType(
      fields.map((f) => {
        if (!isObject(f) || typeof f['name'] !== 'string')
          throw new Fault(`malformed JSUP: bad record field: ${shown(f)}`);
        if (seen.has(f['name'])) throw new Fault(`duplicate field: "${f['name']}"`);
        seen.add(f['name']);
        return { name: f['name'], type: this.type(f['type'], depth), optional: f['opt'] === true };
      }),
    );
  }

  data(type: Type, json: unknown, depth: number): Data {
    this.enter(depth);
    switch (type.kind) {
      case 'primitive':
        return type === types.type ? this.type(json, depth + 1) : primitiveData(type, json);
      case 'error':
      case 'named':
        return this.data(type.inner, json, depth + 1);
      case 'record':
        return this.recordData(type, arrayOf(json, 'record'), depth + 1);
      case 'array':
        return arrayOf(json, 'array').map((x) => this.data(type.element, x, depth + 1));
      case 'set':
        return canonicalSet(
          type.element,
          arrayOf(json, 'set').map((x) => this.data(type.element, x, depth + 1)),
        );
      case 'map':
        return canonicalMap(
          type.key,
          arrayOf(json, 'map').map((entry) => {
            const [k, v] = arrayOf(entry, 'map');
            return [this.data(type.key, k, depth + 1), this.data(type.value, v, depth + 1)] as const;
          }),
        );
      case 'union': {
        const [tag, value] = arrayOf(json, 'union');
        const member = type.members[Number(tag)];
        if (!member || typeof tag !== 'string') throw new Fault(`bad tag for JSUP union value: ${JSON.stringify(tag)}`);
        return { type: member, data: this.data(member, value, depth + 1) };
      }
      case 'enum': {
        const index = Number(json);
        if (typeof json !== 'string' || !(index in type.symbols))
          throw new Fault(`bad index for JSUP enum value: ${JSON.stringify(json)}`);
        return index;
      }
    }
  }
  /** With optional fields the first element lists, counted among them, those that are absent. */
  private recordData(type: RecordType, items: readonly unknown[], depth: number): (Data | undefined)[] {
    const hasOptional = type.fields.some((f) => f.optional);
    const absent = new Set(hasOptional ? listOf(items[0]).map(Number) : []);
    let at = hasOptional ? 1 : 0;
    let optional = 0;
    const out = type.fields.map((f) =>
      f.optional && absent.has(optional++) ? undefined : this.data(f.type, items[at++], depth),
    );
    if (at !== items.length) throw new Fault('JSUP record value has the wrong number of fields');
    return out;
  }
}
const unknown = (name: string): never => {
  throw new Fault(`JSUP unknown type: ${name}`);
};
const unknownReference = (id: unknown): never => {
  throw new Fault(`JSUP unknown type reference: ${String(id)}`);
};
const listOf = (json: unknown): readonly unknown[] =>
  json === null || json === undefined ? [] : arrayOf(json, 'type');
const arrayOf = (json: unknown, what: string): readonly unknown[] => {
  if (!Array.isArray(json)) throw new Fault(`bad JSON for JSUP ${what} value`);
  return json as readonly unknown[];
};

const primitiveData = (type: Type, json: unknown): Data => {
  if (type === types.null) {
    if (json !== null) throw new Fault(`JSUP primitive value ${JSON.stringify(json)} is not a JSON null or string`);
    return null;
  }
  if (typeof json !== 'string')
    throw new Fault(`JSUP primitive value ${JSON.stringify(json)} is not a JSON null or string`);
  const data = parsePrimitive(type, json);
  if (data === undefined)
    throw new Fault(`bad JSUP value for type ${(type as { readonly name: string }).name}: ${JSON.stringify(json)}`);
  return data;
};
const parsePrimitive = (type: Type, text: string): Data | undefined => {
  switch (type) {
    case types.string:
      return text.toWellFormed();
    case types.bool:
      return text === 'true' ? true : text === 'false' ? false : undefined;
    case types.bytes:
      return parseBytes(text);
    case types.ip:
      return parseIp(text);
    case types.net:
      return parseNet(text);
    case types.time: {
      const time = parseTime(text);
      return time !== undefined && fitsInt64(time) ? time : undefined;
    }
    case types.duration:
      return parseDuration(text);
    case types.float16:
    case types.float32:
    case types.float64: {
      const x = floatOf(text);
      const rounded = x === undefined ? undefined : roundFloat(type, x);
      return Number.isFinite(x) && !Number.isFinite(rounded) ? undefined : rounded;
    }
    default: {
      const x = parseInteger(text);
      return x !== undefined && fitsInteger(type, x) ? x : undefined;
    }
  }
};
