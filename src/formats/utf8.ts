/**
 * Texts that may hold bytes which are no UTF-8. Strings keep them (vectors/texts/codec.ts); text formats write U+FFFD in
 * their place, and so do Arrow and Parquet, whose strings are UTF-8; a load may refuse them.
 */
import { isAscii, isUtf8 } from 'node:buffer';
import { LakeError } from '../errors.ts';
import { firstInvalid, validBytes } from '../vectors/texts/codec.ts';
import { types } from '../vectors/type.ts';
import { type BytesVector, type Vector, itemsOf } from '../vectors/vector.ts';
import type { Writer } from './format.types.ts';

/** Chunks of a text, cut so that no character is in two of them. */
class WholeCharacters {
  private left: Uint8Array = new Uint8Array(0);

  /** What is whole of all that came; may be empty. */
  push(chunk: Uint8Array): Uint8Array {
    const bytes = this.left.length > 0 ? Buffer.concat([this.left, chunk]) : chunk;
    const end = wholeEnd(bytes);
    // The next chunk may take the place of this one.
    this.left = bytes.slice(end);
    return bytes.subarray(0, end);
  }
  /** The rest: a character that was cut. */
  end(): Uint8Array {
    const { left } = this;
    this.left = new Uint8Array(0);
    return left;
  }
}

/** Where the last character begins that may go on beyond the end; the end if none does. */
const wholeEnd = (bytes: Uint8Array): number => {
  const size = bytes.length;
  for (let i = size - 1; i >= 0 && i >= size - 3; i--) {
    const b = bytes[i];
    if (b >= 0xc0) return i + (b >= 0xf0 ? 4 : b >= 0xe0 ? 3 : 2) > size ? i : size;
    if (b < 0x80) return size;
  }
  return size;
};

/** The same text in valid UTF-8, for readers that look at characters. */
export async function* validUtf8(input: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array> {
  const whole = new WholeCharacters();
  for await (const chunk of input) {
    const bytes = whole.push(chunk);
    if (bytes.length > 0) yield validBytes(bytes);
  }
  const rest = whole.end();
  if (rest.length > 0) yield validBytes(rest);
}

/** A writer of a text format, whose text becomes valid UTF-8. */
export class ValidText implements Writer {
  private readonly whole = new WholeCharacters();
  private readonly writer: Writer;
  readonly control?: NonNullable<Writer['control']>;

  constructor(writer: Writer) {
    this.writer = writer;
    const control = writer.control?.bind(writer);
    if (control) this.control = (message) => this.valid(control(message));
  }
  write(batch: Vector): Iterable<Uint8Array> {
    return this.valid(this.writer.write(batch));
  }
  *end(...rowType: Parameters<Writer['end']>): Iterable<Uint8Array> {
    yield* this.valid(this.writer.end(...rowType));
    const rest = this.whole.end();
    if (rest.length > 0) yield validBytes(rest);
  }
  private *valid(chunks: Iterable<Uint8Array>): Iterable<Uint8Array> {
    for (const chunk of chunks) {
      const bytes = this.whole.push(chunk);
      if (bytes.length === chunk.length) yield validBytes(chunk);
      else if (bytes.length > 0) yield validBytes(bytes);
    }
  }
}

/** A string vector whose rows are valid UTF-8. */
export const validText = (v: BytesVector): BytesVector => {
  if (isValid(v)) return v;
  const { offsets, bytes, length } = v;
  const rows: Uint8Array[] = [];
  const ends = new Uint32Array(length + 1);
  for (let i = 0; i < length; i++) {
    rows.push(validBytes(bytes.subarray(offsets[i], offsets[i + 1])));
    ends[i + 1] = ends[i] + rows[i].length;
  }
  return { ...v, offsets: ends, bytes: Buffer.concat(rows) };
};
const isValid = ({ offsets, bytes, length }: BytesVector): boolean => {
  const used = bytes.subarray(offsets[0], offsets[length]);
  if (isAscii(used)) return true;
  if (!isUtf8(used)) return false;
  // No row begins within a character.
  for (let i = 1; i < length; i++) if (offsets[i] < offsets[i + 1] && (bytes[offsets[i]] & 0xc0) === 0x80) return false;
  return true;
};

/** The text, up to bytes that are no UTF-8. @throws LakeError `not-utf8` with their line */
export async function* refusingText(input: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array> {
  const whole = new WholeCharacters();
  let line = 1;
  const checked = (bytes: Uint8Array): Uint8Array => {
    const at = firstInvalid(bytes);
    line += linesOf(at < 0 ? bytes : bytes.subarray(0, at));
    if (at >= 0) throw notUtf8(bytes[at], `line ${line}`);
    return bytes;
  };
  for await (const chunk of input) {
    const bytes = checked(whole.push(chunk));
    if (bytes.length > 0) yield bytes;
  }
  checked(whole.end());
}
const linesOf = (bytes: Uint8Array): number => {
  let lines = 0;
  for (let at = bytes.indexOf(10); at >= 0; at = bytes.indexOf(10, at + 1)) lines++;
  return lines;
};

/** The batches, up to a string that is no UTF-8. @throws LakeError `not-utf8` with the place of its value */
export async function* refusingVectors(batches: AsyncIterable<Vector>): AsyncGenerator<Vector> {
  let rows = 0;
  for await (const batch of batches) {
    const bad = invalidText(batch);
    if (bad !== undefined)
      throw notUtf8(
        bad,
        rows === 0 ? `the first ${batch.length} values` : `values ${rows + 1} to ${rows + batch.length}`,
      );
    rows += batch.length;
    yield batch;
  }
}
/** The first byte in a string of these rows that is no UTF-8. */
const invalidText = (v: Vector): number | undefined => {
  switch (v.form) {
    case 'bytes':
      return v.type === types.string && !isValid(v) ? invalidByte(v) : undefined;
    case 'record':
      return firstOf(v.fields.map((field) => field.values));
    case 'list':
      return invalidText(itemsOf(v, v.items));
    case 'map':
      return firstOf([itemsOf(v, v.keys), itemsOf(v, v.values)]);
    case 'union':
      return firstOf(v.members);
    case 'dynamic':
      return firstOf(v.parts);
    case 'error':
    case 'named':
    case 'constant':
      return invalidText(v.inner);
    case 'dictionary':
      return invalidText(v.values);
    case 'selected':
      return invalidText(v.base);
    case 'number':
    case 'bool':
    case 'null':
    case 'type':
    case 'enum':
      return undefined;
  }
};
const firstOf = (vectors: readonly Vector[]): number | undefined => {
  for (const v of vectors) {
    const bad = invalidText(v);
    if (bad !== undefined) return bad;
  }
  return undefined;
};
const invalidByte = ({ offsets, bytes, length }: BytesVector): number | undefined => {
  for (let i = 0; i < length; i++) {
    const at = firstInvalid(bytes.subarray(offsets[i], offsets[i + 1]));
    if (at >= 0) return bytes[offsets[i] + at];
  }
  return undefined;
};

const notUtf8 = (byte: number, where: string): LakeError =>
  new LakeError('not-utf8', { byte: byte.toString(16).padStart(2, '0'), where });
