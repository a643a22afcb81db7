/**
 * OTLP's JSON as the bytes of the same message, by the table of messages (schema.ts): one reader then reads both.
 *
 * - Names are lowerCamelCase; others are unknown, and so are left out. Of a name that comes twice both count as they
 *   would in the bytes.
 * - Ids are hexadecimal in either case, bytes base64 in either alphabet, enums numbers, never names.
 * - Numbers of 64 bits come as strings or numbers, exact either way; floats may be "NaN", "Infinity" and "-Infinity".
 * - null is as if the name were not there.
 */
import { checkStopAt } from '../../vectors/stop.ts';
import { textSize, textToBytes, writeText } from '../../vectors/texts/codec.ts';
import { BytesFault } from '../columns/type-bytes.ts';
import type { ValueMemory } from '../value-memory.ts';
import { floatText, hexByte, integer, integerOf, plainFloat, plainInteger, shown } from './json-numbers.ts';
import { JsonTokens } from './json-tokens.ts';
import { wireOf } from './messages.ts';
import { type FieldSpec, type Kind, type MessageSpec, type Signal, requests } from './schema.ts';
import { wireType } from './wire.ts';

const anyValue: MessageSpec = {
  name: 'AnyValue',
  get fields() {
    return anyFields;
  },
};
const keyValue: MessageSpec = {
  name: 'KeyValue',
  fields: [
    { number: 1, json: 'key', kind: 'text' },
    { number: 2, json: 'value', kind: 'message', message: anyValue },
  ],
};
const valuesOf = (name: string, message: MessageSpec): MessageSpec => ({
  name,
  fields: [{ number: 1, json: 'values', kind: 'messages', message }],
});
const anyFields: readonly FieldSpec[] = [
  { number: 1, json: 'stringValue', kind: 'text' },
  { number: 2, json: 'boolValue', kind: 'bool' },
  { number: 3, json: 'intValue', kind: 'int64' },
  { number: 4, json: 'doubleValue', kind: 'double' },
  { number: 5, json: 'arrayValue', kind: 'message', message: valuesOf('ArrayValue', anyValue) },
  { number: 6, json: 'kvlistValue', kind: 'message', message: valuesOf('KeyValueList', keyValue) },
  { number: 7, json: 'bytesValue', kind: 'bytes' },
];

/** Levels of messages around the values of attributes. */
const levelsBeside = 16;
/** Levels of messages that one level of a value takes. */
const levelsEach = 4;
/** A message's length takes so many bytes, whatever it is: it is known when the message was written. */
const lengthBytes = 4;
const lengthMax = 2 ** (7 * lengthBytes) - 1;

/**
 * The bytes of the message that a JSON text is. @throws BytesFault with the path, `at` is told where; LakeError
 * format-memory
 */
export const wireOfJson = (
  text: Uint8Array,
  signal: Signal,
  { memory, nestingMax }: { readonly memory: ValueMemory; readonly nestingMax: number },
): Uint8Array => {
  const writer = new WireWriter(text, memory, nestingMax);
  try {
    return writer.request(requests[signal]);
  } catch (problem) {
    if (!(problem instanceof BytesFault)) throw problem;
    throw new JsonFault(writer.path(), problem.message, writer.at);
  }
};
/** What is wrong with the text, and where. */
export class JsonFault extends BytesFault {
  readonly at: number;
  constructor(path: string, fault: string, at: number) {
    super(path === '' ? fault : `${path}: ${fault}`);
    this.at = at;
  }
}

class WireWriter {
  private readonly tokens: JsonTokens;
  private readonly memory: ValueMemory;
  private readonly names: string[] = [];
  private readonly levelsMax: number;
  private out: Uint8Array;
  private view: DataView;
  private length = 0;

  constructor(text: Uint8Array, memory: ValueMemory, nestingMax: number) {
    this.tokens = new JsonTokens(text, nestingMax);
    this.memory = memory;
    this.levelsMax = nestingMax * levelsEach + levelsBeside;
    memory.hold(text.length);
    this.out = new Uint8Array(text.length + 64);
    this.view = new DataView(this.out.buffer);
  }

  get at(): number {
    return this.tokens.at;
  }
  path(): string {
    return this.names.slice(-pathNamesMax).join('.');
  }
  request(spec: MessageSpec): Uint8Array {
    this.message(spec);
    if (this.tokens.peek() !== 0 || this.tokens.at < this.tokens.bytes.length)
      throw this.tokens.unexpected('the end of the text');
    return this.out.subarray(0, this.length);
  }

  private message(spec: MessageSpec): void {
    const { tokens, names } = this;
    if (names.length > this.levelsMax) throw new BytesFault('nesting too deep');
    const fields = fieldsOf(spec);
    tokens.expect(0x7b);
    if (tokens.take(0x7d)) return;
    do {
      checkStopAt(tokens.at);
      tokens.key();
      const spelled = fields.find(tokens);
      if (!spelled) tokens.skip();
      else if (!tokens.word('null')) {
        names.push(spelled.json);
        this.field(spelled);
        names.pop();
      }
    } while (tokens.take(0x2c));
    tokens.expect(0x7d);
  }

  private field(field: FieldSpec): void {
    const { tokens } = this;
    switch (field.kind) {
      case 'message':
      case 'any':
        return this.nested(field.number, field.message ?? anyValue);
      case 'messages':
      case 'attributes':
        return this.each(() => {
          this.nested(field.number, field.message ?? keyValue);
        });
      case 'fixed64s':
      case 'doubles':
      case 'uint64s': {
        const single = singleOf[field.kind];
        return this.each(() => {
          this.scalar(field.number, single);
        });
      }
      case 'text':
        tokens.string();
        return this.text(field.number);
      case 'id':
      case 'bytes':
        tokens.string();
        return field.kind === 'id' ? this.id(field.number) : this.bytes(field.number, bytesOfBase64(tokens.text()));
      default:
        this.scalar(field.number, field.kind);
    }
  }
  private each(item: () => void): void {
    const { tokens } = this;
    tokens.expect(0x5b);
    if (tokens.take(0x5d)) return;
    do item();
    while (tokens.take(0x2c));
    tokens.expect(0x5d);
  }

  private nested(number: number, spec: MessageSpec): void {
    this.tag(number, wireType.bytes);
    this.reserve(lengthBytes);
    const start = (this.length += lengthBytes);
    this.message(spec);
    const size = this.length - start;
    if (size > lengthMax) throw new BytesFault(`a message of more than ${lengthMax} bytes`);
    const { out } = this;
    for (let i = 0; i < lengthBytes; i++)
      out[start - lengthBytes + i] = ((size >>> (7 * i)) & 0x7f) | (i < lengthBytes - 1 ? 0x80 : 0);
  }

  private scalar(number: number, kind: Kind): void {
    const { tokens } = this;
    this.tag(number, wireOf[kind]);
    this.reserve(16);
    switch (kind) {
      case 'bool':
        if (tokens.word('true')) this.out[this.length++] = 1;
        else if (tokens.word('false')) this.out[this.length++] = 0;
        else throw tokens.unexpected('true or false');
        return;
      case 'double':
        this.view.setFloat64(this.length, this.float(), true);
        this.length += 8;
        return;
      default:
        this.integer(kind);
    }
  }
  private integer(kind: Kind): void {
    const { tokens, view } = this;
    if (tokens.peek() === 0x22) {
      tokens.string();
      if (kind === 'enum') throw new BytesFault('enums are numbers, not names');
      tokens.unescape();
    } else tokens.number();
    if (!plainInteger(tokens, kind)) integerOf(tokens.text(), kind);
    const { low, high } = integer;
    switch (wireOf[kind]) {
      case wireType.fixed64:
        view.setInt32(this.length, low, true);
        view.setInt32(this.length + 4, high, true);
        this.length += 8;
        return;
      case wireType.fixed32:
        view.setInt32(this.length, low, true);
        this.length += 4;
        return;
      default:
        if (kind === 'sint32') this.varint((low << 1) ^ (low >> 31), 0);
        else this.varint(low, high);
    }
  }
  private float(): number {
    const { tokens } = this;
    if (tokens.peek() !== 0x22) {
      tokens.number();
      return plainFloat(tokens) ?? Number(tokens.text());
    }
    tokens.string();
    const text = tokens.text();
    const named = floatNames.get(text);
    if (named !== undefined) return named;
    if (!floatText.test(text)) throw new BytesFault(`"${shown(text)}" is no number`);
    return Number(text);
  }

  /** The string that was read last. */
  private text(number: number): void {
    const { tokens } = this;
    const { start, end, bytes } = tokens;
    if (!tokens.escaped)
      return end - start > shortBytes ? this.bytes(number, bytes.subarray(start, end)) : this.short(number);
    const text = tokens.text();
    const size = textSize(text);
    this.tag(number, wireType.bytes);
    this.reserve(10 + text.length * 3);
    this.varint(size, 0);
    this.length += writeText(text, this.out, this.length);
  }
  /** The string that was read last, which is short: no view of it is made. */
  private short(number: number): void {
    const { start, end, bytes } = this.tokens;
    this.tag(number, wireType.bytes);
    this.reserve(10 + end - start);
    const { out } = this;
    let at = this.length;
    out[at++] = end - start;
    for (let i = start; i < end; i++) out[at++] = bytes[i];
    this.length = at;
  }
  private bytes(number: number, bytes: Uint8Array): void {
    this.tag(number, wireType.bytes);
    this.reserve(10 + bytes.length);
    this.varint(bytes.length, 0);
    this.out.set(bytes, this.length);
    this.length += bytes.length;
  }
  /** The string that was read last, as the bytes that its digits are. */
  private id(number: number): void {
    const { tokens } = this;
    tokens.unescape();
    const { start, end, source } = tokens;
    const size = (end - start) / 2;
    if (!Number.isInteger(size)) throw noHex(tokens);
    this.tag(number, wireType.bytes);
    this.reserve(10 + size);
    this.varint(size, 0);
    for (let at = start; at < end; at += 2) {
      const byte = hexByte(source[at], source[at + 1]);
      if (byte > 0xff) throw noHex(tokens);
      this.out[this.length++] = byte;
    }
  }
  private tag(number: number, type: number): void {
    this.reserve(8);
    this.varint(number * 8 + type, 0);
  }
  private varint(lowWord: number, highWord: number): void {
    const { out } = this;
    let lower = lowWord;
    let upper = highWord;
    while (upper !== 0 || lower >>> 0 > 0x7f) {
      out[this.length++] = (lower & 0x7f) | 0x80;
      lower = (lower >>> 7) | (upper << 25);
      upper >>>= 7;
    }
    out[this.length++] = lower;
  }
  private reserve(bytes: number): void {
    const { out, length } = this;
    if (length + bytes <= out.length) return;
    const size = Math.max(out.length * 2, length + bytes);
    this.memory.hold(size - out.length);
    this.out = new Uint8Array(size);
    this.out.set(out.subarray(0, length));
    this.view = new DataView(this.out.buffer);
  }
}
/** A text that is no longer is copied byte by byte; its length takes one byte. */
const shortBytes = 0x7f;
/** Of a long path the last names are told. */
const pathNamesMax = 20;

/** What one of many is. */
const singleOf = { fixed64s: 'fixed64', doubles: 'double', uint64s: 'uint64' } as const satisfies Partial<
  Record<Kind, Kind>
>;

/** The fields of a message by their names, which are compared where they lie. */
class FieldNames {
  /** By the lengths of the names. */
  private readonly byLength: { readonly name: Uint8Array; readonly field: FieldSpec }[][] = [];
  private readonly byName: ReadonlyMap<string, FieldSpec>;
  constructor({ fields }: MessageSpec) {
    const all = fields.flatMap((field) => [field, ...(field.or ? [field.or] : [])]);
    this.byName = new Map(all.map((field) => [field.json, field]));
    for (const [name, field] of this.byName) {
      const named = { name: textToBytes(name), field };
      (this.byLength[named.name.length] ??= []).push(named);
    }
  }
  /** The field whose name was read last. */
  find(tokens: JsonTokens): FieldSpec | undefined {
    if (tokens.escaped) return this.byName.get(tokens.text());
    const { bytes, start, end } = tokens;
    const alike = this.byLength[end - start];
    if (alike) for (const { name, field } of alike) if (isAt(name, bytes, start)) return field;
    return undefined;
  }
}
const isAt = (name: Uint8Array, bytes: Uint8Array, start: number): boolean => {
  // The ends of names differ sooner than their beginnings.
  for (let i = name.length - 1; i >= 0; i--) if (bytes[start + i] !== name[i]) return false;
  return true;
};

const known = new WeakMap<MessageSpec, FieldNames>();
const fieldsOf = (spec: MessageSpec): FieldNames => {
  let fields = known.get(spec);
  if (!fields) known.set(spec, (fields = new FieldNames(spec)));
  return fields;
};

const floatNames: ReadonlyMap<string, number> = new Map([
  ['NaN', NaN],
  ['Infinity', Infinity],
  ['-Infinity', -Infinity],
]);

const noHex = (tokens: JsonTokens): BytesFault => new BytesFault(`"${shown(tokens.text())}" is no hexadecimal text`);
const base64Text = /^[A-Za-z0-9+/_-]*={0,2}$/;
const bytesOfBase64 = (text: string): Uint8Array => {
  if (!base64Text.test(text)) throw new BytesFault(`"${shown(text)}" is no base64`);
  return Buffer.from(text, 'base64');
};
