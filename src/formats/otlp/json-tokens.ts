/** Tokens of JSON text where they lie; what is wrong is a BytesFault. */
import { checkStopAt } from '../../vectors/stop.ts';
import { textToBytes } from '../../vectors/texts/codec.ts';
import { BytesFault } from '../columns/type-bytes.ts';

const decoder = new TextDecoder('utf-8', { ignoreBOM: true });

/** Bytes that end a plain run of a string: quote, backslash, controls. */
const isPlain = new Uint8Array(256).fill(1, 0x20);
isPlain[0x22] = isPlain[0x5c] = 0;

/** The longest number that anybody writes. */
const numberBytesMax = 400;
const isDigit = (byte: number | undefined): boolean => byte !== undefined && byte >= 0x30 && byte <= 0x39;
const words = { null: textToBytes('null'), true: textToBytes('true'), false: textToBytes('false') } as const;

export class JsonTokens {
  readonly bytes: Uint8Array;
  at: number;
  /** Of the string or number that was read last: a string's is between its quotes, and may have escapes. */
  start = 0;
  end = 0;
  escaped = false;
  /** What `start` and `end` are places in. */
  source: Uint8Array;
  private readonly nestingMax: number;
  constructor(bytes: Uint8Array, nestingMax: number) {
    this.bytes = this.source = bytes;
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
    this.source = bytes;
    this.start = at;
    this.escaped = false;
    for (;;) {
      while (isPlain[bytes[at]] === 1) at++;
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
    if (!escaped) return decoder.decode(this.source.subarray(start, end));
    try {
      return JSON.parse(decoder.decode(bytes.subarray(start - 1, end + 1))) as string;
    } catch (cause) {
      throw new BytesFault('a broken escape in a string', { cause });
    }
  }
  /** Undoes the escapes of the string that was read last. */
  unescape(): void {
    if (!this.escaped) return;
    this.source = textToBytes(this.text());
    this.start = 0;
    this.end = this.source.length;
    this.escaped = false;
  }
  /** A key, as a string. */
  key(): void {
    this.string();
    this.expect(0x3a);
  }

  /** A number into `start` and `end`. */
  number(): void {
    const first = this.peek();
    const { bytes, at: start } = this;
    let at = first === 0x2d ? start + 1 : start;
    if (!isDigit(bytes[at])) throw this.unexpected('a number');
    at = bytes[at] === 0x30 ? at + 1 : this.digits(at + 1);
    if (bytes[at] === 0x2e && isDigit(bytes[at + 1])) at = this.digits(at + 2);
    if (bytes[at] === 0x65 || bytes[at] === 0x45) {
      const sign = bytes[at + 1];
      const from = sign === 0x2b || sign === 0x2d ? at + 2 : at + 1;
      if (isDigit(bytes[from])) at = this.digits(from + 1);
    }
    if (at - start > numberBytesMax) throw new BytesFault(`a number of more than ${numberBytesMax} characters`);
    this.source = bytes;
    this.escaped = false;
    this.start = start;
    this.end = this.at = at;
  }
  /** Where the digits end that go on here. */
  private digits(from: number): number {
    const { bytes } = this;
    let at = from;
    while (isDigit(bytes[at])) at++;
    return at;
  }
  /** One of the words of JSON. */
  word(word: 'null' | 'true' | 'false'): boolean {
    const wanted = words[word];
    if (this.peek() !== wanted[0]) return false;
    const { bytes, at } = this;
    for (let i = 1; i < wanted.length; i++) if (bytes[at + i] !== wanted[i]) return false;
    this.at += wanted.length;
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
