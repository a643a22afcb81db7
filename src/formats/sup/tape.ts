/**
 * Scans one plain SUP value of a window into a tape: records, arrays, strings, numbers, times, addresses and other
 * words, with at most the name of a primitive type behind a number. Whatever else SUP has (sets, maps, types, errors,
 * names, comments) and every mistake is 'other': the general parser reads that value then, so that there is one place
 * that says what SUP means.
 *
 * Invariants: nothing goes to a builder before the whole value and what follows it are known; the window's bytes are
 * valid UTF-8. Containers come before what is in them. Entry `i`: `kinds[i]`, `typeIds[i]` = id of a scalar's type, and
 * by kind
 * - text, textCoded: `starts[i]`, `ends[i]` are the bytes between the quotes, the second with escapes or beyond ASCII;
 * - number, ipv4, bool: `numbers[i]`; time: seconds in `numbers[i]`, nanoseconds in `starts[i]`; value: `values[i]`;
 * - array: entries up to `ends[i]`, `numbers[i]` = the id of the elements' type if they are scalars of one type, else
 *   -1;
 * - record: entries up to `ends[i]`, `layouts[i]`.
 */
import { daysOfDate, daysOfMonth, fitsInteger, roundFloat } from '../../vectors/literal.ts';
import {
  type PrimitiveType,
  componentsMax,
  isFloat,
  isInteger,
  primitiveIds,
  primitiveNamed,
  types,
} from '../../vectors/type.ts';
import { type Value, integer } from '../../vectors/value.ts';
import { SupError } from '../../vectors/sup/error.ts';
import { wordValue } from '../../vectors/sup/words.ts';
import { checkStopAt } from '../../vectors/stop.ts';
import type { LineWindow } from '../faults/values.ts';
import { type KeyNode, type Layout, Layouts, sameBytes } from '../columns/key-layouts.ts';
import type { ReadMemory } from '../read-memory.ts';
import { plainAddress } from '../text-cell.ts';
import { ValueMemory } from '../value-memory.ts';
import { supStringText } from './text.ts';

/** Kinds of entries. `absent`: an optional field that is not there; the entry has the type that it would be of. */
export const kind = {
  text: 0,
  textCoded: 1,
  number: 2,
  time: 3,
  ipv4: 4,
  bool: 5,
  null: 6,
  value: 7,
  absent: 8,
  array: 9,
  record: 10,
} as const;

/** The window ends within the value. */
const cut = Symbol('cut');
/** Not a plain value. */
const other = Symbol('other');

/** A float holds these exactly: digits up to 2^53 divided by one of them are rounded once, hence right. */
const exactPowers = [1, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9, 1e10, 1e11, 1e12, 1e13, 1e14, 1e15];
const exactDigits = 15;
/** Seconds since 1970 that surely fit into 64 bits of nanoseconds. */
const secondsMax = 9_223_372_035;

const classes = (...groups: readonly (readonly [string, number])[]): Uint8Array => {
  const table = new Uint8Array(256);
  for (const [text, c] of groups) for (let i = 0; i < text.length; i++) table[text.charCodeAt(i)] |= c;
  return table;
};
const digits = '0123456789';
const letters = 'abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ';
const endsWord = 1;
const inWord = 2;
const inName = 4;
const blank = 8;
/** What a byte may be. What is not ASCII is none of these. */
const classOf = classes(
  [',]} \n\r\t', endsWord],
  [`${digits}${letters}:-./+_$`, inWord],
  [`${digits}${letters}_$`, inName],
  [' \n\r\t', blank],
);
/** 1: ends a plain run of a string (quote, backslash, line break), 2: not ASCII. */
const textClass = classes(['"\\\n\0', 1]);
for (let i = 128; i < 256; i++) textClass[i] = 2;
const escapable = classes(['"\\/bfnrt', 1]);

const entriesFirst = 256;
const entryBytes = 18;
/** A tape that grew beyond so many entries for a value is made again after it. */
const entriesKeptMax = 1 << 16;

/** The tape of the value scanned last; `bytes` are those that its places refer to, until the window moves on. */
export class SupTape {
  kinds = new Uint8Array(entriesFirst);
  typeIds = new Uint8Array(entriesFirst);
  starts = new Int32Array(entriesFirst);
  ends = new Int32Array(entriesFirst);
  numbers = new Float64Array(entriesFirst);
  layouts: (Layout | undefined)[] = [];
  values: (Value | undefined)[] = [];
  length = 0;
  bytes: Uint8Array = new Uint8Array(1);
  /** Line of the place behind the last value. */
  line = 1;
  /** Byte of the stream at which that line begins. */
  lineStart = 0;
  /** Bytes of the value's texts, and of all of it. */
  textBytes = 0;
  textLength = 0;
  readonly memory: ValueMemory;
  private readonly seen = new Layouts();
  private at = 0;
  private end = 0;
  private final = false;
  private depth = 0;
  private breaks = 0;
  private lastBreak = 0;
  /** The decorator met last: most are like the one before. */
  private decorator: PrimitiveType = types.uint64;
  private decoratorBytes: Uint8Array = Buffer.from('uint64');
  private readonly nestingMax: number;

  constructor(nestingMax: number, memory?: ReadMemory) {
    this.nestingMax = nestingMax;
    this.memory = new ValueMemory(memory, 'sup', () => `value (line ${this.line})`);
  }

  /** The value was taken: what a long one needed goes. */
  taken(): void {
    if (this.kinds.length > entriesKeptMax) {
      this.kinds = new Uint8Array(entriesFirst);
      this.typeIds = new Uint8Array(entriesFirst);
      this.starts = new Int32Array(entriesFirst);
      this.ends = new Int32Array(entriesFirst);
      this.numbers = new Float64Array(entriesFirst);
      this.layouts = [];
      this.values = [];
      this.length = 0;
    }
    this.memory.free();
  }

  /**
   * Scans the next value of the window and moves the window behind it: 'value', 'none' if only white space is left,
   * 'cut' if more bytes are needed, 'other' if the general parser has to read it.
   */
  next(window: LineWindow): 'value' | 'none' | 'cut' | 'other' {
    this.bytes = window.bytes;
    this.end = window.end;
    this.final = window.final;
    this.at = window.start;
    this.length = this.depth = this.breaks = this.textBytes = 0;
    this.memory.free();
    if (this.kinds.length > entriesKeptMax) this.memory.hold(this.kinds.length * entryBytes);
    this.space();
    window.start = this.at;
    this.passed(window);
    if (this.at >= this.end) return 'none';
    this.breaks = 0;
    try {
      this.value(this.seen.root);
      this.behind();
    } catch (problem) {
      if (problem === cut) return 'cut';
      if (problem === other) return 'other';
      throw problem;
    }
    this.textLength = this.at - window.start;
    window.start = this.at;
    this.passed(window);
    this.seen.trim();
    return 'value';
  }

  /** Line breaks are behind us. */
  private passed({ offset }: LineWindow): void {
    this.line += this.breaks;
    if (this.breaks > 0) this.lineStart = offset + this.lastBreak + 1;
  }

  /** A decorator may follow in the next line, or behind a comment; only what comes next tells that none does. */
  private behind(): void {
    this.space();
    if (this.at >= this.end) {
      if (!this.final) throw cut;
      return;
    }
    const c = this.bytes[this.at];
    if (c === 0x3a || c === 0x2f || c < 0x20 || c > 0x7e) throw other;
  }

  private grow(): void {
    const { kinds, typeIds, starts, ends, numbers } = this;
    const size = kinds.length * 2;
    if (size > entriesKeptMax) this.memory.hold((size - kinds.length) * entryBytes);
    (this.kinds = new Uint8Array(size)).set(kinds);
    (this.typeIds = new Uint8Array(size)).set(typeIds);
    (this.starts = new Int32Array(size)).set(starts);
    (this.ends = new Int32Array(size)).set(ends);
    (this.numbers = new Float64Array(size)).set(numbers);
  }
  private entry(k: number, typeId: number): number {
    if (this.length === this.kinds.length) this.grow();
    const i = this.length++;
    this.kinds[i] = k;
    this.typeIds[i] = typeId;
    return i;
  }
  private numberEntry(k: number, typeId: number, x: number): void {
    // First, since it may put a longer array in the place of `numbers`.
    const i = this.entry(k, typeId);
    this.numbers[i] = x;
  }

  private space(): void {
    const { bytes } = this;
    let i = this.at;
    for (let c = bytes[i]; (classOf[c] & blank) !== 0; c = bytes[++i]) {
      if (c !== 0x0a) continue;
      this.breaks++;
      this.lastBreak = i;
    }
    this.at = i;
  }
  private no(): never {
    if (this.at >= this.end && !this.final) throw cut;
    throw other;
  }

  private value(node: KeyNode): void {
    const c = this.bytes[this.at];
    if (c === 0x22) this.text();
    else if (c >= 0x30 && c <= 0x39) this.number(this.at);
    else if (c === 0x7b) this.record(node);
    else if (c === 0x5b) this.array(node);
    else if (c === 0x2d) this.number(this.at + 1);
    else if (c === 0x3a) throw other;
    else this.word(this.at);
  }

  private text(): void {
    const start = this.at + 1;
    const coded = this.string();
    const i = this.entry(coded ? kind.textCoded : kind.text, primitiveIds.string);
    this.starts[i] = start;
    this.ends[i] = this.at - 1;
    this.textBytes += this.at - start;
  }
  /** From the opening quote to behind the closing one; true if there are escapes or bytes beyond ASCII between. */
  private string(): boolean {
    const { bytes } = this;
    let i = this.at + 1;
    let coded = false;
    for (;;) {
      while (textClass[bytes[i]] === 0) i++;
      const c = bytes[i];
      if (c === 0x22) break;
      coded = true;
      if (c > 0x7f) i++;
      else if (c === 0x5c) i = this.escape(i);
      else {
        this.at = i;
        if (c === 0x0a || i >= this.end) this.no();
        i++;
      }
    }
    this.at = i + 1;
    return coded;
  }
  /** Behind the escape at `i`. */
  private escape(i: number): number {
    const { bytes } = this;
    if (escapable[bytes[i + 1]] === 1) return i + 2;
    this.at = Math.min(i + 6, this.end);
    if (bytes[i + 1] !== 0x75 || i + 6 > this.end) this.no();
    for (let k = i + 2; k < i + 6; k++) {
      const h = bytes[k] | 0x20;
      if (!((h >= 0x30 && h <= 0x39) || (h >= 0x61 && h <= 0x66)) || bytes[k] < 0x30) throw other;
    }
    return i + 6;
  }

  /** Whether a word ends before byte `i`; the end of the stream ends one that stands by itself. */
  private isEnd(i: number): boolean {
    if ((classOf[this.bytes[i]] & endsWord) !== 0) return true;
    if (i < this.end) return false;
    if (!this.final) throw cut;
    return this.depth === 0;
  }

  /** The first digit is at `first`, with or without a minus before it. */
  private number(first: number): void {
    const { bytes, at: start } = this;
    let i = first;
    let mantissa = 0;
    let c = bytes[i];
    for (; c >= 0x30 && c <= 0x39; c = bytes[++i]) mantissa = mantissa * 10 + (c - 0x30);
    const whole = i - first;
    if (whole > 0 && whole <= exactDigits && c !== 0x2e) {
      if (c === 0x2d && whole === 4 && first === start) return this.time();
      const x = first > start && mantissa !== 0 ? -mantissa : mantissa;
      if (c === 0x3a) return this.decorated(i, types.int64, x);
      if (!this.isEnd(i)) return this.word(start);
      this.at = i;
      this.numberEntry(kind.number, primitiveIds.int64, x);
      return;
    }
    if (c !== 0x2e || whole === 0) return this.word(start);
    const point = i;
    for (c = bytes[++i]; c >= 0x30 && c <= 0x39; c = bytes[++i]) mantissa = mantissa * 10 + (c - 0x30);
    if (c === 0x2e) return this.address();
    const fraction = i - point - 1;
    if (c !== 0x3a && !this.isEnd(i)) return this.word(start);
    // Digits beyond every float are an error, which the general parser tells.
    if (whole > 300) throw other;
    const size = whole + fraction <= exactDigits ? mantissa / exactPowers[fraction] : Number(latin1(bytes, first, i));
    const x = first > start ? -size : size;
    if (c === 0x3a) return this.decorated(i, types.float64, x);
    this.at = i;
    this.numberEntry(kind.number, primitiveIds.float64, x);
  }

  /** A number under the name of a primitive type; two colons are at `i`. */
  private decorated(i: number, from: PrimitiveType, x: number): void {
    const { bytes } = this;
    if (bytes[i + 1] !== 0x3a) return this.word(this.at);
    const start = i + 2;
    let end = start;
    while ((classOf[bytes[end]] & inName) !== 0) end++;
    if (!this.isEnd(end)) throw other;
    const to = this.primitive(start, end);
    if (!to) throw other;
    this.at = end;
    // What the type cannot hold is an error, which the general parser tells.
    if (isFloat(to) ? !Number.isFinite(roundFloat(to, x)) : isInteger(to) && !fitsInteger(to, x)) throw other;
    if (from === types.int64 && isInteger(to)) this.numberEntry(kind.number, to.id, integer(x) as number);
    else if (isFloat(to)) this.numberEntry(kind.number, to.id, roundFloat(to, x));
    else throw other;
  }
  private primitive(start: number, end: number): PrimitiveType | undefined {
    if (sameBytes(this.decoratorBytes, this.bytes, start, end)) return this.decorator;
    const type = primitiveNamed(latin1(this.bytes, start, end));
    if (!type) return undefined;
    this.decorator = type;
    this.decoratorBytes = this.bytes.slice(start, end);
    return type;
  }

  /** `10.1.2.3`; what is no such address is a word of another kind. */
  private address(): void {
    const { bytes, at: start } = this;
    let i = start;
    for (let c = bytes[i]; (c >= 0x30 && c <= 0x39) || c === 0x2e; ) c = bytes[++i];
    const address = plainAddress(bytes, start, i);
    if (address < 0) return this.word(start);
    if (!this.isEnd(i)) return this.word(start);
    this.at = i;
    this.numberEntry(kind.ipv4, primitiveIds.ip, address);
  }

  /** `2006-01-02T15:04:05.999Z`; with an offset, or wrong, it is a word. */
  private time(): void {
    const { bytes, at: start } = this;
    if (start + 20 > this.end) return this.word(start);
    const year = two(bytes, start) * 100 + two(bytes, start + 2);
    const month = two(bytes, start + 5);
    const day = two(bytes, start + 8);
    const hour = two(bytes, start + 11);
    const minute = two(bytes, start + 14);
    const second = two(bytes, start + 17);
    const marks =
      bytes[start + 4] === 0x2d &&
      bytes[start + 7] === 0x2d &&
      bytes[start + 10] === 0x54 &&
      bytes[start + 13] === 0x3a &&
      bytes[start + 16] === 0x3a;
    // What is no digit makes a number beyond all of these, or NaN; neither passes.
    const inside =
      year <= 9999 && month >= 1 && month <= 12 && day >= 1 && day <= 31 && hour <= 23 && minute <= 59 && second <= 59;
    if (!marks || !inside || day > daysOfMonth(year, month)) return this.word(start);
    let i = start + 19;
    let nanos = 0;
    if (bytes[i] === 0x2e) {
      const first = ++i;
      let unit = 1e8;
      for (let c = bytes[i]; c >= 0x30 && c <= 0x39; c = bytes[++i]) {
        if (unit >= 1) nanos += (c - 0x30) * unit;
        unit /= 10;
      }
      if (i === first) return this.word(start);
    }
    const seconds = daysOfDate(year, month, day) * 86400 + hour * 3600 + minute * 60 + second;
    if (bytes[i] !== 0x5a || !this.isEnd(i + 1) || Math.abs(seconds) > secondsMax) return this.word(start);
    this.at = i + 1;
    const entry = this.entry(kind.time, primitiveIds.time);
    this.numbers[entry] = seconds;
    this.starts[entry] = nanos;
  }

  /** Anything without quotes. */
  private word(start: number): void {
    const { bytes } = this;
    let end = start;
    while ((classOf[bytes[end]] & inWord) !== 0) end++;
    this.at = end;
    if (end === start || !this.isEnd(end)) this.no();
    const text = latin1(bytes, start, end);
    switch (text) {
      case 'true':
      case 'false':
        this.numberEntry(kind.bool, primitiveIds.bool, text === 'true' ? 1 : 0);
        return;
      case 'null':
        this.entry(kind.null, primitiveIds.null);
        return;
    }
    const value = wordOrNone(text);
    if (!value) throw other;
    this.values[this.entry(kind.value, value.type.id)] = value;
  }

  private enter(): void {
    if (++this.depth > this.nestingMax) throw other;
    this.at++;
    this.space();
  }

  private array(node: KeyNode): void {
    const me = this.entry(kind.array, 0);
    let typeId: number = primitiveIds.null;
    let first = true;
    this.enter();
    if (this.bytes[this.at] === 0x5d) this.at++;
    else {
      for (let count = 0; ; count++) {
        checkStopAt(count);
        const element = this.length;
        this.value(node);
        const id = this.kinds[element] >= kind.array ? -1 : this.typeIds[element];
        if (first) typeId = id;
        else if (typeId !== id) typeId = -1;
        first = false;
        if (this.separator(0x5d)) break;
      }
    }
    this.depth--;
    this.ends[me] = this.length;
    this.numbers[me] = typeId;
  }
  /**
   * Moves behind a comma to what follows it, or behind the closing byte: true then. A comma with nothing behind it is
   * 'other'.
   */
  private separator(close: number): boolean {
    const { bytes } = this;
    let c = bytes[this.at];
    if (c !== 0x2c && c !== close) {
      this.space();
      c = bytes[this.at];
    }
    if (c !== 0x2c && c !== close) this.no();
    this.at++;
    if (c === close) return true;
    this.space();
    return false;
  }

  private record(outer: KeyNode): void {
    const me = this.entry(kind.record, 0);
    let node = this.seen.inner(outer);
    let count = 0;
    this.enter();
    if (this.bytes[this.at] === 0x7d) this.at++;
    else {
      for (;;) {
        node = this.key(node);
        if (++count > componentsMax) throw other;
        if (node.optional && this.bytes[this.at] === 0x5f) this.absent();
        else this.value(node);
        if (this.separator(0x7d)) break;
      }
    }
    this.depth--;
    this.ends[me] = this.length;
    // Of fields of one name the first counts; that is rare enough for the general parser.
    if ((this.layouts[me] = this.seen.layoutOf(node)).sources) throw other;
  }

  /** Reads a key, its question mark and the colon; the value is next. */
  private key(node: KeyNode): KeyNode {
    const { bytes } = this;
    const start = this.at;
    const guess = node.next[0];
    const colon = guess ? start + guess.bytes.length : this.end;
    let found: KeyNode;
    if (
      guess &&
      colon < this.end &&
      bytes[colon] === 0x3a &&
      node.byBytes === undefined &&
      sameBytes(guess.bytes, bytes, start, colon)
    ) {
      found = guess;
      this.at = colon + 1;
    } else found = this.newKey(node);
    if ((classOf[bytes[this.at]] & blank) !== 0) this.space();
    return found;
  }
  private newKey(node: KeyNode): KeyNode {
    const { bytes } = this;
    const start = this.at;
    const quoted = bytes[start] === 0x22;
    if (quoted) this.string();
    else {
      let i = start;
      while ((classOf[bytes[i]] & inName) !== 0) i++;
      this.at = i;
      if (i === start || (bytes[start] >= 0x30 && bytes[start] <= 0x39)) this.no();
    }
    const nameEnd = this.at;
    const optional = bytes[nameEnd] === 0x3f;
    const end = optional ? nameEnd + 1 : nameEnd;
    this.at = end;
    if (bytes[end] !== 0x3a) this.no();
    this.at = end + 1;
    return this.seen.follow(node, bytes, start, end, () => ({
      name: quoted ? supStringText(bytes, start + 1, nameEnd - 1).toWellFormed() : latin1(bytes, start, nameEnd),
      optional,
    }));
  }
  /** `_::int64`. */
  private absent(): void {
    const { bytes } = this;
    const start = this.at + 3;
    if (bytes[start - 2] !== 0x3a || bytes[start - 1] !== 0x3a) {
      this.at = Math.min(start, this.end);
      this.no();
    }
    let end = start;
    while ((classOf[bytes[end]] & inName) !== 0) end++;
    if (!this.isEnd(end)) throw other;
    const type = this.primitive(start, end);
    if (!type) throw other;
    this.at = end;
    this.entry(kind.absent, type.id);
  }
}

const latin1 = (bytes: Uint8Array, start: number, end: number): string =>
  Buffer.from(bytes.buffer, bytes.byteOffset + start, end - start).toString('latin1');

/** The number of two digits; NaN or beyond 99 if they are none. */
const two = (bytes: Uint8Array, i: number): number => {
  const a = bytes[i] - 0x30;
  const b = bytes[i + 1] - 0x30;
  return a >= 0 && a <= 9 && b >= 0 && b <= 9 ? a * 10 + b : NaN;
};

const wordOrNone = (text: string): Value | undefined => {
  try {
    return wordValue(text);
  } catch (problem) {
    if (problem instanceof SupError) return undefined;
    throw problem;
  }
};
