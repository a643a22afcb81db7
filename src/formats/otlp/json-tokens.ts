/** Tokens of JSON text where they lie; what is wrong is a BytesFault. */
import { checkStopAt } from '../../vectors/stop.ts';
import { BytesFault } from '../type-bytes.ts';

const decoder = new TextDecoder('utf-8', { ignoreBOM: true });

/** Bytes that end a plain run of a string: quote, backslash, controls. */
const isPlain = new Uint8Array(256).fill(1, 0x20);
isPlain[0x22] = isPlain[0x5c] = 0;

const number = /-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?/y;
/** The longest number that anybody writes. */
const numberBytesMax = 400;

export class JsonTokens {
  readonly bytes: Uint8Array;
  at: number;
  /** Of the string that was read last: between its quotes, and whether it has escapes. */
  start = 0;
  end = 0;
  escaped = false;
  private readonly buffer: Buffer;
  private readonly nestingMax: number;
  constructor(bytes: Uint8Array, nestingMax: number) {
    this.bytes = bytes;
    this.buffer = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length);
    this.nestingMax = nestingMax;
    // A byte order mark is nothing.
    this.at = bytes[0] === 0xef && bytes[1] === 0xbb && bytes[2] === 0xbf ? 3 : 0;
  }

  /** The next byte that is no white space; 0 at the end. */
  peek(): number {
    const { bytes } = this;
    for (;;) {
      const b = bytes[this.at];
      if (b === 0x20 || b === 0x0a || b === 0x0d || b === 0x09) this.at++;
      else return b ?? 0;
    }
  }
  /** Goes by this byte if it is next. */
  take(byte: number): boolean {
    if (this.peek() !== byte) return false;
    this.at++;
    return true;
  }
  expect(byte: number): void {
    if (!this.take(byte)) throw this.unexpected(`"${String.fromCharCode(byte)}"`);
  }
  unexpected(wanted: string): BytesFault {
    const b = this.peek();
    const found = this.at >= this.bytes.length ? 'the end' : `"${b < 0x80 ? String.fromCharCode(b) : '\ufffd'}"`;
    return new BytesFault(`expected ${wanted}, found ${found}`);
  }

  /** A string into `start`, `end` and `escaped`. */
  string(): void {
    const { bytes } = this;
    this.expect(0x22);
    let { at } = this;
    this.start = at;
    this.escaped = false;
    for (;;) {
      while (isPlain[bytes[at]!] === 1) at++;
      const b = bytes[at];
      if (b === 0x22) break;
      if (b !== 0x5c) {
        this.at = at;
        throw new BytesFault(at >= bytes.length ? 'the text ends within a string' : 'a control character in a string');
      }
      this.escaped = true;
      at += 2;
    }
    this.end = at;
    this.at = at + 1;
  }
  /** The string that was read last. */
  text(): string {
    const { start, end, escaped, bytes } = this;
    if (!escaped) return decoder.decode(bytes.subarray(start, end));
    try {
      return JSON.parse(decoder.decode(bytes.subarray(start - 1, end + 1))) as string;
    } catch (cause) {
      throw new BytesFault('a broken escape in a string', { cause });
    }
  }
  /** A key, which has no need to be exact where it is none of ours. */
  key(): string {
    this.string();
    const { start, end } = this;
    const text = this.escaped ? this.text() : this.buffer.toString('latin1', start, end);
    this.expect(0x3a);
    return text;
  }

  /** A number as it is written. */
  number(): string {
    this.peek();
    const text = this.buffer.toString('latin1', this.at, this.at + numberBytesMax);
    number.lastIndex = 0;
    const found = number.exec(text)?.[0];
    if (found === undefined) throw this.unexpected('a number');
    this.at += found.length;
    return found;
  }
  /** One of the words of JSON. */
  word(word: 'null' | 'true' | 'false'): boolean {
    this.peek();
    const { buffer, at } = this;
    if (buffer.toString('latin1', at, at + word.length) !== word) return false;
    this.at += word.length;
    return true;
  }

  /** Leaves out a value, whatever it is. */
  skip(): void {
    const closing: number[] = [];
    do {
      checkStopAt(this.at);
      const b = this.peek();
      if (b === 0x22) this.string();
      else if (b === 0x7b || b === 0x5b) {
        this.at++;
        if (closing.length >= this.nestingMax) throw new BytesFault(`nesting too deep (limit ${this.nestingMax})`);
        closing.push(b + 2);
        if (this.take(b + 2)) closing.pop();
        else {
          if (b === 0x7b) this.key();
          continue;
        }
      } else if (!this.word('null') && !this.word('true') && !this.word('false')) this.number();
      this.endOfItem(closing);
    } while (closing.length > 0);
  }
  /** After a value that is left out: what ends with it, or the beginning of the next one. */
  private endOfItem(closing: number[]): void {
    for (;;) {
      const close = closing.at(-1);
      if (close === undefined) return;
      if (this.take(0x2c)) {
        if (close === 0x7d) this.key();
        return;
      }
      this.expect(close);
      closing.pop();
    }
  }
}
