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
import { textSize, writeText } from '../../vectors/text-codec.ts';
import { BytesFault } from '../type-bytes.ts';
import type { ValueMemory } from '../value-memory.ts';
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
      const spelled = fields.get(tokens.key());
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
        return this.bytes(field.number, decodedBytes(tokens.text(), field.kind));
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
      words(tokens.text(), kind);
    } else words(tokens.number(), kind);
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
        if (kind === 'sint32') {
          low = (low << 1) ^ (low >> 31);
          high = 0;
        }
        this.varint(low, high);
    }
  }
  private float(): number {
    const { tokens } = this;
    if (tokens.peek() !== 0x22) return Number(tokens.number());
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
    if (!tokens.escaped) return this.bytes(number, bytes.subarray(start, end));
    const text = tokens.text();
    const size = textSize(text);
    this.tag(number, wireType.bytes);
    this.reserve(10 + text.length * 3);
    this.varint(size, 0);
    this.length += writeText(text, this.out, this.length);
  }
  private bytes(number: number, bytes: Uint8Array): void {
    this.tag(number, wireType.bytes);
    this.reserve(10 + bytes.length);
    this.varint(bytes.length, 0);
    this.out.set(bytes, this.length);
    this.length += bytes.length;
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
/** Of a long path the last names are told. */
const pathNamesMax = 20;

/** What one of many is. */
const singleOf = { fixed64s: 'fixed64', doubles: 'double', uint64s: 'uint64' } as const satisfies Partial<
  Record<Kind, Kind>
>;

const known = new WeakMap<MessageSpec, ReadonlyMap<string, FieldSpec>>();
const fieldsOf = (spec: MessageSpec): ReadonlyMap<string, FieldSpec> => {
  let fields = known.get(spec);
  if (!fields)
    known.set(
      spec,
      (fields = new Map(
        spec.fields.flatMap((field) => [field, ...(field.or ? [field.or] : [])]).map((field) => [field.json, field]),
      )),
    );
  return fields;
};

const floatNames: ReadonlyMap<string, number> = new Map([
  ['NaN', NaN],
  ['Infinity', Infinity],
  ['-Infinity', -Infinity],
]);
const floatText = /^-?[0-9]+(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?$/;

/** Words of the number that was read last. */
let low = 0;
let high = 0;
const exactDigits = 15;
/** The words of a whole number of this kind. */
const words = (text: string, kind: Kind): void => {
  if (!integerText.test(text)) {
    // The mapping takes 1.0 and 1e3 for whole numbers.
    const x = floatText.test(text) ? Number(text) : NaN;
    if (!Number.isSafeInteger(x)) throw new BytesFault(`"${shown(text)}" is no whole number`);
    return words(String(x), kind);
  }
  const [least, most] = rangeOf(kind);
  if (text.length > digitsMax) throw outside(text);
  const x = text.length <= exactDigits ? Number(text) : BigInt(text);
  if (x < least || x > most) throw outside(text);
  if (typeof x === 'number') {
    high = Math.floor(x / 0x1_0000_0000);
    low = x - high * 0x1_0000_0000;
  } else {
    low = Number(BigInt.asIntN(32, x));
    high = Number(BigInt.asIntN(32, x >> 32n));
  }
};
const integerText = /^-?[0-9]+$/;
/** With leading zeros. */
const digitsMax = 100;
const rangeOf = (kind: Kind): readonly [least: bigint, most: bigint] => {
  switch (kind) {
    case 'int32':
    case 'sint32':
    case 'enum':
      return [-(2n ** 31n), 2n ** 31n - 1n];
    case 'uint32':
    case 'fixed32':
      return [0n, 2n ** 32n - 1n];
    case 'time':
    case 'uint64':
    case 'fixed64':
      return [0n, 2n ** 64n - 1n];
    default:
      return [-(2n ** 63n), 2n ** 63n - 1n];
  }
};
const outside = (text: string): BytesFault => new BytesFault(`${shown(text)} is outside of what the field holds`);

const hexText = /^(?:[0-9a-fA-F]{2})*$/;
const base64Text = /^[A-Za-z0-9+/_-]*={0,2}$/;
const decodedBytes = (text: string, kind: 'id' | 'bytes'): Uint8Array => {
  if (kind === 'id') {
    if (!hexText.test(text)) throw new BytesFault(`"${shown(text)}" is no hexadecimal text`);
    return Buffer.from(text, 'hex');
  }
  if (!base64Text.test(text)) throw new BytesFault(`"${shown(text)}" is no base64`);
  return Buffer.from(text, 'base64');
};

const shownMax = 60;
const shown = (text: string): string => (text.length > shownMax ? `${text.slice(0, shownMax)}...` : text);
