/**
 * Loki's push as Protocol Buffers (logproto.PushRequest) in a block of Snappy, as Promtail and Alloy send it.
 *
 * Its messages are five with a dozen fields, of which seven are kept: the reader of counted bytes that the formats share
 * does for them what a library would do with an object for each message.
 */
import { expand } from '../../formats/codings/block-codecs.ts';
import { BytesFault, Cursor } from '../../formats/columns/type-bytes.ts';
import { bytesToText } from '../../vectors/texts/codec.ts';
import { type LokiEntry, Labels, type Pairs } from './loki-entry.ts';
import { brokenMessage, longMessage } from './whole-body.ts';

/** How a field lies in the bytes. */
const wire = { varint: 0, fixed64: 1, bytes: 2, fixed32: 5 } as const;
const cutText = 'protobuf: a message ends in the middle of a field';

/** The lines of a body; `limit`: of the bytes that it stands for. @throws format-broken, format-limit */
export function* protobufStreams(body: Uint8Array, limit: number): Generator<LokiEntry> {
  try {
    const bytes = unpacked(body, limit);
    for (const field of fieldsOf(new Cursor(bytes, 0, bytes.length, cutText)))
      if (field.number === 1 && field.type === wire.bytes) yield* streamOf(field.message());
  } catch (problem) {
    throw problem instanceof BytesFault ? brokenMessage('loki', problem.message) : problem;
  }
}

const unpacked = (body: Uint8Array, limit: number): Uint8Array => {
  const size = new Cursor(body, 0, body.length, 'snappy: no length').uvarint();
  if (size > limit) throw longMessage('loki', limit);
  return expand('snappy', body, size);
};

function* streamOf(stream: Cursor): Generator<LokiEntry> {
  let text = '';
  const { at } = stream;
  for (const field of fieldsOf(stream)) if (field.number === 1 && field.type === wire.bytes) text = field.text();
  const labels = new Labels(labelsOf(text));
  stream.at = at;
  for (const field of fieldsOf(stream))
    if (field.number === 2 && field.type === wire.bytes) yield entryOf(field.message(), labels);
}

const entryOf = (entry: Cursor, labels: Labels): LokiEntry => {
  const metadata: (readonly [string, string])[] = [];
  let line = '';
  let time = { seconds: 0, nanos: 0 };
  for (const field of fieldsOf(entry)) {
    if (field.type !== wire.bytes) continue;
    if (field.number === 1) time = timeOf(field.message(), time);
    else if (field.number === 2) line = field.text();
    else if (field.number === 3) metadata.push(pairOf(field.message()));
  }
  return { labels, ...time, line, metadata };
};

/** The most seconds whose nanoseconds are within 64 bits. */
const secondsMax = 9_223_372_035;
interface Time {
  readonly seconds: number;
  readonly nanos: number;
}
/** A time, or what comes to one whose first part is known: a message may come in pieces. */
const timeOf = (time: Cursor, before: Time): Time => {
  let seconds = BigInt(before.seconds);
  let nanos = BigInt(before.nanos);
  for (const field of fieldsOf(time)) {
    if (field.type !== wire.varint) continue;
    if (field.number === 1) seconds = field.integer;
    else if (field.number === 2) nanos = field.integer;
  }
  if (seconds > secondsMax || seconds < -secondsMax || nanos < 0 || nanos > 999_999_999)
    throw new BytesFault(`time out of range: ${seconds} s and ${nanos} ns`);
  return { seconds: Number(seconds), nanos: Number(nanos) };
};
const pairOf = (pair: Cursor): readonly [string, string] => {
  let name = '';
  let text = '';
  for (const field of fieldsOf(pair)) {
    if (field.type !== wire.bytes) continue;
    if (field.number === 1) name = field.text();
    else if (field.number === 2) text = field.text();
  }
  return [name, text];
};

/** A field of a message. Its bytes are looked at where it is asked for them. */
class Field {
  number = 0;
  type = 0;
  integer = 0n;
  start = 0;
  private readonly bytes: Uint8Array;
  end = 0;
  constructor(bytes: Uint8Array) {
    this.bytes = bytes;
  }
  message(): Cursor {
    return new Cursor(this.bytes, this.start, this.end, cutText);
  }
  text(): string {
    return bytesToText(this.bytes.subarray(this.start, this.end)).normalize('NFC');
  }
}
/** The fields of a message, in one object; groups are long gone from the format, and refused. */
function* fieldsOf(message: Cursor): Generator<Field> {
  const field = new Field(message.bytes);
  while (message.at < message.end) {
    const tag = message.uvarint();
    field.number = Math.floor(tag / 8);
    field.type = tag % 8;
    switch (field.type) {
      case wire.varint:
        field.integer = integerOf(message);
        break;
      case wire.bytes: {
        const length = message.uvarint();
        field.start = message.run(length);
        field.end = message.at;
        break;
      }
      case wire.fixed64:
        message.run(8);
        break;
      case wire.fixed32:
        message.run(4);
        break;
      default:
        throw new BytesFault(`protobuf: wire type ${field.type} is not known`);
    }
    yield field;
  }
}
/** A varint as a number of 64 bits with a sign. */
const integerOf = (message: Cursor): bigint => {
  let n = 0n;
  for (let shift = 0n; shift < 70n; shift += 7n) {
    const byte = message.byte();
    n |= BigInt(byte & 0x7f) << shift;
    if (byte < 0x80) return BigInt.asIntN(64, n);
  }
  throw new BytesFault('protobuf: a number of more than ten bytes');
};

/** Labels as Prometheus writes them: `{app="x", job="a\"b"}`. @throws BytesFault */
const labelsOf = (text: string): Pairs => {
  const pairs: (readonly [string, string])[] = [];
  const inner = /^\s*\{(.*)\}\s*$/s.exec(text)?.[1];
  if (inner === undefined) throw new BytesFault(`labels: expected {name="text"}, got ${text.slice(0, 100)}`);
  label.lastIndex = 0;
  while (label.lastIndex < inner.length) {
    const { lastIndex } = label;
    const found = label.exec(inner);
    if (!found) {
      if (/^\s*$/.test(inner.slice(lastIndex))) break;
      throw new BytesFault(`labels: expected name="text" at ${inner.slice(lastIndex, lastIndex + 40)}`);
    }
    pairs.push([found[1]!, unquoted(found[2]!)]);
  }
  return pairs;
};
const label = /\s*([A-Za-z_][\w.]*)\s*=\s*("(?:[^"\\]|\\.)*"|`[^`]*`)\s*(?:,|$)/sy;

/** A string as Go quotes it. */
const unquoted = (quoted: string): string => {
  const inner = quoted.slice(1, -1);
  if (quoted.startsWith('`') || !inner.includes('\\')) return inner;
  return inner.replace(
    escape,
    (_, byte: string | undefined, short: string | undefined, long: string | undefined, other: string) => {
      if (byte !== undefined) return byteText(parseInt(byte, 16));
      const digits = short ?? long;
      return digits === undefined ? (escapes[other] ?? other) : pointText(parseInt(digits, 16));
    },
  );
};
/** A byte that is no character by itself, as vectors/texts/codec.ts escapes it. */
const byteText = (byte: number): string => String.fromCharCode(byte < 0x80 ? byte : 0xdc00 + byte);
const pointText = (point: number): string => (point > 0x10ffff ? '\ufffd' : String.fromCodePoint(point).toWellFormed());
const escape = /\\(?:x([0-9a-fA-F]{2})|u([0-9a-fA-F]{4})|U([0-9a-fA-F]{8})|(.))/gs;
const escapes: Readonly<Record<string, string>> = {
  n: '\n',
  t: '\t',
  r: '\r',
  a: '\x07',
  b: '\b',
  f: '\f',
  v: '\v',
};
