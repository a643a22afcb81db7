/**
 * Scans one JSON value of a window into a tape: an entry for each value in the order of the text, containers before
 * what is in them. Nothing goes to a builder before the whole value is known to be there, so a value that the window
 * cuts leaves no trace.
 *
 * Entry `i`: `kinds[i]`, and by kind
 * - text: bytes from `start(i)` to `end(i)` between the quotes; plain ASCII without escapes, or `textCoded` for what
 *   needs decoding;
 * - whole, float: `numbers[i]`; wholeLong: digits from `start(i)` to `end(i)` (an integer that may exceed 2^53);
 * - array: entries up to `end(i)`, its type `arrayAt(i)`;
 * - object: entries up to `end(i)`, `formAt(i)` = its layout, and its type if it is inside of an array.
 *
 * An entry takes nine bytes: a number, or two places of 32 bits. What long values take is charged to the reader's
 * memory.
 */
import { bytesToText, changeBetweenBytes } from '../../vectors/texts/codec.ts';
import { LakeError } from '../../errors.ts';
import { fitsInt64, parseInteger } from '../../vectors/literal.ts';
import { checkStopAt } from '../../vectors/stop.ts';
import {
  type ArrayType,
  type RecordType,
  type Type,
  arrayType,
  componentsMax,
  recordType,
  types,
  unionOfDistinct,
} from '../../vectors/type.ts';
import type { ByteWindow } from '../byte-window.ts';
import { type KeyNode, type Layout, Layouts, sameBytes } from '../columns/key-layouts.ts';
import type { ReadMemory } from '../read-memory.ts';
import { ValueMemory } from '../value-memory.ts';

/** Kinds of entries. */
export const kind = {
  text: 0,
  textCoded: 1,
  whole: 2,
  wholeLong: 3,
  float: 4,
  true: 5,
  false: 6,
  null: 7,
  array: 8,
  object: 9,
} as const;

/** The window ends within the value. */
const cut = Symbol('cut');
/** The fault of a value that the end of the input cuts. */
export const jsonEnds = 'unexpected end of JSON input';

const decoder = new TextDecoder('utf-8', { ignoreBOM: true });

// Powers of ten that a float holds exactly: digits up to 2^53 times or divided by these are rounded once, hence right.
const exactPowers = [
  1, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9, 1e10, 1e11, 1e12, 1e13, 1e14, 1e15, 1e16, 1e17, 1e18, 1e19, 1e20,
  1e21, 1e22,
];

/** 1: ends a plain run of a string (quote, backslash, controls), 2: not ASCII. */
const textClass = new Uint8Array(256);
for (let i = 0; i < 32; i++) textClass[i] = 1;
textClass[0x22] = 1;
textClass[0x5c] = 1;
for (let i = 128; i < 256; i++) textClass[i] = 2;

/** The part of a `ByteWindow` that is looked at. */
type TextWindow = Pick<ByteWindow, 'bytes' | 'start' | 'end' | 'final' | 'offset'>;

/**
 * A body of one small value needs no more, and arrays as short as these lie in the engine's own heap: thousands of them
 * cost little.
 */
const entriesFirst = 8;

const entryBytes = 9;
/** A tape that grew beyond so many entries for a value is made again after it. */
const entriesKeptMax = 1 << 16;

/** An object's layout; its type where that was asked for. */
export interface Form {
  readonly layout: Layout;
  readonly type: RecordType | undefined;
  readonly fieldTypes: readonly Type[];
}

/** Types of arrays whose elements are of one simple kind, by the bits of the kinds. */
const simpleTypes: ReadonlyMap<number, ArrayType> = new Map(
  [
    [0, types.null],
    [1 << kind.null, types.null],
    [1 << kind.whole, types.int64],
    [1 << kind.float, types.float64],
    [1 << kind.text, types.string],
    [1 << kind.textCoded, types.string],
    [(1 << kind.text) | (1 << kind.textCoded), types.string],
    [1 << kind.true, types.bool],
    [1 << kind.false, types.bool],
    [(1 << kind.true) | (1 << kind.false), types.bool],
  ].map(([bits, type]) => [bits as number, arrayType(type as Type)]),
);
/** Types of simple kinds, by kind. */
const kindTypes: readonly (Type | undefined)[] = [
  types.string,
  types.string,
  types.int64,
  undefined,
  types.float64,
  types.bool,
  types.bool,
  types.null,
];

/** A number of a text that a float does not give back, and its line. */
export interface LostNumber {
  readonly text: string;
  readonly line: number;
}
/** Digits that every float gives back, and the most that one can be asked for. */
const digitsAlways = 15;
const digitsMax = 100;
/** As many as a float is printed with, and a point; how many of these numbers are looked at. */
const digitsPrinted = 18;
const looksMax = 1000;
/** The digits of a number from its first to its last that is no zero. */
const digitsOf = (number: string): string =>
  number
    .replace(/[eE].*$/, '')
    .replace(/[-.]/g, '')
    .replace(/^0+|0+$/g, '');
/** Whether the nearest float is printed with the digits of a number, in short or rounded to as many as it has. */
const givesBack = (text: string): boolean => {
  const digits = digitsOf(text);
  const x = Number(text);
  if (x === 0) return digits === '';
  if (digits.length <= digitsAlways || digitsOf(String(x)) === digits) return true;
  return digits.length <= digitsMax && digitsOf(x.toPrecision(digits.length)) === digits;
};
/** What a load's answer says of it. */
export const lostText = ({ text, line }: LostNumber): string =>
  `json: ${text.length > 60 ? `${text.slice(0, 60)}...` : text} (line ${line}) is kept as float64, which does not hold all of its digits`;

/** The tape of the value scanned last; `bytes` are those that its places refer to, until the window moves on. */
export class JsonTape {
  kinds = new Uint8Array(entriesFirst);
  numbers = new Float64Array(entriesFirst);
  length = 0;
  /** Bytes of the value's texts, and of all of it. */
  textBytes = 0;
  textLength = 0;
  readonly memory: ValueMemory;
  /** What is wrong with the value that was scanned last, and where. */
  fault = { text: '', place: '' };
  /** Places, two for each entry: the memory of `numbers`. */
  private words = new Int32Array(this.numbers.buffer);
  private forms: Form[] = [];
  private formCount = 0;
  private arrayTypes: ArrayType[] = [];
  private arrayCount = 0;
  /** Arrays around the place that is read now. */
  private arrays = 0;
  private readonly plain = new WeakMap<Layout, Form>();
  private readonly typed = new WeakMap<Layout, Form>();
  bytes: Uint8Array = new Uint8Array(1);
  readonly seen: Layouts;
  private at = 0;
  private bound = 0;
  private final = false;
  private depth = 0;
  readonly nestingMax: number;
  /** Line of the place that is read now; breaks in strings are errors, so white space has them all. */
  private lines = 1;
  /** Byte of the stream at which that line begins. */
  private lineStart = 0;
  private offset = 0;
  private lost: ((number: LostNumber) => void) | undefined;
  private looks = 0;

  /** `keyBytesMax`: bytes of keys that are kept before all are forgotten. */
  constructor(
    nestingMax: number,
    { memory, keyBytesMax }: { readonly memory?: ReadMemory | undefined; readonly keyBytesMax?: number } = {},
  ) {
    this.nestingMax = nestingMax;
    this.seen = new Layouts(keyBytesMax);
    this.memory = new ValueMemory(memory, 'json', () => `value (line ${this.lines})`);
  }

  start(i: number): number {
    return this.words[i * 2];
  }
  end(i: number): number {
    return this.words[i * 2 + 1];
  }
  formAt(i: number): Form {
    return this.forms[this.words[i * 2]];
  }
  arrayAt(i: number): ArrayType {
    return this.arrayTypes[this.words[i * 2]];
  }
  /** The type of entry `i`, which is inside of an array. */
  typeAt(i: number): Type {
    switch (this.kinds[i]) {
      case kind.array:
        return this.arrayAt(i);
      case kind.object:
        return this.formAt(i).type!;
      case kind.wholeLong:
        return this.fitsLong(i) ? types.int64 : types.float64;
      default:
        return kindTypes[this.kinds[i]!]!;
    }
  }
  /** The digits of a long integer. */
  digits(i: number): string {
    return latin1(this.bytes, this.start(i), this.end(i));
  }
  private fitsLong(i: number): boolean {
    return fitsInt64(parseInteger(this.digits(i))!);
  }

  /** Tells of the first number from here on whose digits no float has; then nothing is looked at any more. */
  watchDigits(lost: ((number: LostNumber) => void) | undefined): void {
    this.lost = lost;
    this.looks = looksMax;
  }
  /** The value was taken: what a long one needed goes. */
  taken(): void {
    if (this.kinds.length > entriesKeptMax) this.restart();
    this.memory.free();
  }
  private restart(): void {
    this.kinds = new Uint8Array(entriesFirst);
    this.numbers = new Float64Array(entriesFirst);
    this.words = new Int32Array(this.numbers.buffer);
    this.forms = [];
    this.arrayTypes = [];
    this.length = 0;
  }

  /** The byte of the stream at which the scan ended. */
  get reached(): number {
    return this.offset + this.at;
  }
  /** Where the text is: its line, and the byte of the stream at which that line begins. */
  get place(): { readonly lines: number; readonly lineStart: number } {
    return { lines: this.lines, lineStart: this.lineStart };
  }
  set place({ lines, lineStart }: { readonly lines: number; readonly lineStart: number }) {
    this.lines = lines;
    this.lineStart = lineStart;
  }

  /**
   * Scans the next value of the window and moves the window behind it: 'value', 'none' if only white space is left,
   * 'cut' if more bytes are needed.
   * @throws LakeError `format-broken`
   */
  next(window: TextWindow, values: number): 'value' | 'none' | 'cut' {
    const state = this.scan(window);
    if (state !== 'faulty') return state;
    throw this.broken(values);
  }
  /** The same, but a fault is no error: `fault` tells of it, and the window and the place are at the value's beginning. */
  scan(window: TextWindow): 'value' | 'none' | 'cut' | 'faulty' {
    this.bytes = window.bytes;
    this.bound = window.end;
    this.final = window.final;
    this.at = window.start;
    this.offset = window.offset;
    this.length = this.formCount = this.arrayCount = this.arrays = this.textBytes = 0;
    this.memory.free();
    if (this.kinds.length > entriesKeptMax) this.memory.hold(this.kinds.length * entryBytes);
    this.depth = 0;
    this.space();
    window.start = this.at;
    if (this.at >= this.bound) return 'none';
    const { lines, lineStart } = this;
    try {
      this.value(this.seen.root);
      this.textLength = this.at - window.start;
      window.start = this.at;
      this.seen.trim();
      return 'value';
    } catch (problem) {
      if (problem === cut) {
        this.lines = lines;
        this.lineStart = lineStart;
        return 'cut';
      }
      if (!(problem instanceof JsonFault)) throw problem;
      this.fault = { text: problem.text, place: this.faultPlace() };
      this.lines = lines;
      this.lineStart = lineStart;
      return 'faulty';
    }
  }

  /** The fault of the value that was scanned last, behind so many values. */
  broken(values: number): LakeError {
    return new LakeError('format-broken', { format: 'json', fault: this.fault.text, place: this.fault.place, values });
  }
  private faultPlace(): string {
    const byte = this.reached;
    return ` (line ${this.lines}, column ${byte - this.lineStart + 1}, byte ${byte})`;
  }

  private grow(): void {
    const { kinds, numbers } = this;
    const size = kinds.length * 2;
    if (size > entriesKeptMax) this.memory.hold((size - kinds.length) * entryBytes);
    (this.kinds = new Uint8Array(size)).set(kinds);
    (this.numbers = new Float64Array(size)).set(numbers);
    this.words = new Int32Array(this.numbers.buffer);
  }
  private entry(k: number): number {
    if (this.length === this.kinds.length) this.grow();
    this.kinds[this.length] = k;
    return this.length++;
  }
  private numberEntry(k: number, x: number): void {
    // First, since it may put a longer array in the place of `numbers`.
    const i = this.entry(k);
    this.numbers[i] = x;
  }

  private space(): void {
    const { bytes } = this;
    let i = this.at;
    for (let c = bytes[i]; c === 0x20 || c === 0x0a || c === 0x0d || c === 0x09; c = bytes[++i])
      if (c === 0x0a) this.newLine(i);
    this.at = i;
  }
  private newLine(i: number): void {
    this.lines++;
    this.lineStart = this.offset + i + 1;
  }
  /** The byte here; a value that the end of the window cuts stops at once. */
  private byte(): number {
    if (this.at >= this.bound) this.stop();
    return this.bytes[this.at];
  }
  private stop(): never {
    if (!this.final) throw cut;
    throw new JsonFault(jsonEnds);
  }
  private unexpected(where: string): never {
    if (this.at >= this.bound) this.stop();
    // All of the character is to be shown, also where the window ends amid it.
    if (!this.final && this.at + characterBytes(this.bytes[this.at]) > this.bound) throw cut;
    throw new JsonFault(`invalid character ${quoted(this.bytes, this.at, this.bound)} ${where}`);
  }

  private value(node: KeyNode): void {
    const c = this.bytes[this.at];
    if (c === 0x22) this.text();
    else if (c === 0x2d || (c >= 0x30 && c <= 0x39)) this.number();
    else if (c === 0x7b) this.object(node);
    else if (c === 0x5b) this.array(node);
    else this.word(c);
  }

  private word(c: number): void {
    switch (c) {
      case 0x74:
        return this.literal('true', kind.true);
      case 0x66:
        return this.literal('false', kind.false);
      case 0x6e:
        return this.literal('null', kind.null);
      case 0x4e:
        this.literal('NaN', kind.float);
        this.numbers[this.length - 1] = NaN;
        return;
    }
    this.unexpected('looking for beginning of value');
  }
  private literal(word: string, k: number): void {
    for (let i = 1; i < word.length; i++) {
      if (this.bytes[this.at + i] === word.charCodeAt(i)) continue;
      this.at += i;
      this.unexpected(`in literal ${word} (expecting '${word[i]}')`);
    }
    this.at += word.length;
    this.entry(k);
  }

  private text(): void {
    const start = this.at + 1;
    const coded = this.string();
    this.span(this.entry(coded ? kind.textCoded : kind.text), start, this.at - 1);
    this.textBytes += this.at - start;
  }

  /** From the opening quote to behind the closing one; true if there are escapes or non-ASCII bytes between. */
  private string(): boolean {
    const { bytes } = this;
    let i = this.at + 1;
    while (textClass[bytes[i]] === 0) i++;
    if (bytes[i] === 0x22) {
      this.at = i + 1;
      return false;
    }
    for (;;) {
      const c = bytes[i];
      if (textClass[c] !== 1) i++;
      else if (c === 0x22) break;
      else if (c === 0x5c) i = this.escape(i);
      else {
        this.at = i;
        this.unexpected('in string literal');
      }
    }
    this.at = i + 1;
    return true;
  }
  /** Behind the escape at `i`. */
  private escape(i: number): number {
    this.at = i + 1;
    const c = this.byte();
    if (c !== 0x75) {
      if (c === 0x22 || c === 0x5c || c === 0x2f || c === 0x62 || c === 0x66 || c === 0x6e || c === 0x72 || c === 0x74)
        return i + 2;
      this.unexpected('in string escape code');
    }
    for (this.at = i + 2; this.at < i + 6; this.at++) {
      const h = this.byte() | 0x20;
      if (!((h >= 0x30 && h <= 0x39) || (h >= 0x61 && h <= 0x66)) || this.bytes[this.at] < 0x30)
        this.unexpected('in \\u hexadecimal character escape');
    }
    return i + 6;
  }

  private number(): void {
    const { bytes } = this;
    const start = this.at;
    let i = start;
    let mantissa = 0;
    let digits = 0;
    let fraction = 0;
    const negative = bytes[i] === 0x2d;
    if (negative) i++;
    const whole = i;
    let c = bytes[i];
    for (; c >= 0x30 && c <= 0x39; c = bytes[++i]) mantissa = mantissa * 10 + (c - 0x30);
    digits = i - whole;
    this.at = i;
    if (digits === 0) this.unexpected('in numeric literal');
    if (bytes[whole] === 0x30 && digits > 1) {
      this.at = whole + 1;
      this.unexpected('after top-level value');
    }
    if (c !== 0x2e && c !== 0x65 && c !== 0x45) {
      if (i >= this.bound && !this.final) throw cut;
      if (digits <= 15) this.numberEntry(kind.whole, negative && mantissa !== 0 ? -mantissa : mantissa);
      else {
        if (digits > 308 && !Number.isFinite(Number(ascii(bytes, start, i)))) this.outOfRange(start, i);
        if (this.lost && digits > 18 && !fitsInt64(BigInt(latin1(bytes, start, i)))) this.lookAt(start, i, whole);
        this.span(this.entry(kind.wholeLong), start, i);
      }
      return;
    }
    if (c === 0x2e) {
      const point = i;
      for (c = bytes[++i]; c >= 0x30 && c <= 0x39; c = bytes[++i]) mantissa = mantissa * 10 + (c - 0x30);
      fraction = i - point - 1;
      this.at = i;
      if (fraction === 0) this.unexpected('after decimal point in numeric literal');
    }
    let exact = digits + fraction <= 15 && fraction <= 22;
    if (c === 0x65 || c === 0x45) {
      exact = false;
      c = bytes[++i];
      if (c === 0x2b || c === 0x2d) c = bytes[++i];
      const first = i;
      while (c >= 0x30 && c <= 0x39) c = bytes[++i];
      this.at = i;
      if (i === first) this.unexpected('in exponent of numeric literal');
    }
    this.at = i;
    if (i >= this.bound && !this.final) throw cut;
    const x = exact ? mantissa / exactPowers[fraction] : Math.abs(Number(ascii(bytes, start, i)));
    if (x === Infinity) this.outOfRange(start, i);
    if (this.lost && !exact && (digits + fraction > digitsAlways || x === 0)) this.lookAt(start, i, whole);
    this.numberEntry(kind.float, negative ? -x : x);
  }
  /**
   * Tells of a number that a float does not give back. Numbers of 16 and 17 digits are what floats are printed as, and
   * only some of them are looked at.
   */
  private lookAt(start: number, end: number, whole: number): void {
    const { bytes } = this;
    let first = whole;
    while (bytes[first] === 0x30 || bytes[first] === 0x2e) first++;
    if (end - first <= digitsPrinted && this.looks-- <= 0) return;
    const text = latin1(bytes, start, end);
    if (givesBack(text)) return;
    const { lost, lines: line } = this;
    this.lost = undefined;
    lost?.({ text, line });
  }
  /** No float is as large: to take it for an infinity would lose it. */
  private outOfRange(start: number, end: number): never {
    this.at = start;
    const text = ascii(this.bytes, start, end);
    throw new JsonFault(`number out of range: ${text.length > 40 ? `${text.slice(0, 40)}...` : text}`);
  }
  private span(i: number, start: number, end: number): void {
    this.words[i * 2] = start;
    this.words[i * 2 + 1] = end;
  }

  private enter(): void {
    if (++this.depth > this.nestingMax) throw new JsonFault(`nesting too deep (limit ${this.nestingMax})`);
    this.at++;
    this.space();
  }

  private array(node: KeyNode): void {
    const me = this.entry(kind.array);
    let count = 0;
    let elementKinds = 0;
    let last: Type | undefined;
    let unlike: Set<Type> | undefined;
    this.enter();
    this.arrays++;
    if (this.byte() === 0x5d) this.at++;
    else {
      for (;;) {
        const first = this.length;
        this.value(node);
        const k = this.kinds[first];
        elementKinds |= 1 << k;
        if (k >= kind.array || k === kind.wholeLong) {
          const type = this.typeAt(first);
          if (last && type !== last) (unlike ??= new Set([last])).add(type);
          last = type;
        }
        checkStopAt(count++);
        this.space();
        const c = this.bytes[this.at];
        if (c === 0x2c) {
          this.at++;
          this.space();
        } else if (c === 0x5d) {
          this.at++;
          break;
        } else this.unexpected('after array element');
      }
    }
    this.depth--;
    this.arrays--;
    this.arrayTypes[this.arrayCount] =
      simpleTypes.get(elementKinds) ?? arrayType(elementType(elementKinds, unlike ?? (last ? [last] : [])));
    if ((this.arrayCount & countMask) === countMask) this.memory.hold((countMask + 1) * 8);
    this.span(me, this.arrayCount++, this.length);
  }

  private object(outer: KeyNode): void {
    const me = this.entry(kind.object);
    let node = this.seen.inner(outer);
    let count = 0;
    this.enter();
    const { bytes } = this;
    if (this.byte() === 0x7d) this.at++;
    else {
      for (;;) {
        node = this.key(node);
        if (++count > componentsMax) throw new JsonFault(`too many fields in object (limit ${componentsMax})`);
        this.value(node);
        let c = bytes[this.at];
        if (c !== 0x2c && c !== 0x7d) {
          this.space();
          c = bytes[this.at];
        }
        if (c === 0x2c) {
          if (bytes[++this.at] !== 0x22) this.space();
        } else if (c === 0x7d) {
          this.at++;
          break;
        } else this.unexpected('after object key:value pair');
      }
    }
    this.depth--;
    const layout = this.seen.layoutOf(node);
    this.forms[this.formCount] = this.arrays > 0 ? this.typedForm(layout, me) : this.plainForm(layout);
    if ((this.formCount & countMask) === countMask) this.memory.hold((countMask + 1) * 8);
    this.span(me, this.formCount++, this.length);
  }
  private plainForm(layout: Layout): Form {
    let form = this.plain.get(layout);
    if (!form) this.plain.set(layout, (form = { layout, type: undefined, fieldTypes: [] }));
    return form;
  }
  /** The form of an object in an array: most are like the one before of that layout. */
  private typedForm(layout: Layout, me: number): Form {
    const known = this.typed.get(layout);
    const { names } = layout.shape;
    const children = layout.sources && this.childrenOf(me);
    const fieldTypes: Type[] = [];
    let same = known !== undefined;
    let at = me + 1;
    for (let k = 0; k < names.length; k++) {
      const child = children ? children[layout.sources[k]] : at;
      const type = this.typeAt(child);
      if (!children) at = this.behind(at);
      if (same && known!.fieldTypes[k] === type) continue;
      if (same) for (let n = 0; n < k; n++) fieldTypes.push(known!.fieldTypes[n]);
      same = false;
      fieldTypes.push(type);
    }
    if (same) return known!;
    const form = { layout, type: recordType(names.map((name, k) => ({ name, type: fieldTypes[k] }))), fieldTypes };
    this.typed.set(layout, form);
    return form;
  }

  /** Behind entry `i` and what is in it. */
  behind(i: number): number {
    return this.kinds[i] >= kind.array ? this.end(i) : i + 1;
  }
  /** The entries of an object's values; `to`: behind them. */
  childrenOf(i: number, to = this.length): number[] {
    const out: number[] = [];
    for (let at = i + 1; at < to; at = this.behind(at)) {
      checkStopAt(out.length);
      out.push(at);
    }
    return out;
  }

  /** Reads a key and what stands between it and its value. */
  private key(node: KeyNode): KeyNode {
    const { bytes } = this;
    let i = this.at;
    if (bytes[i] !== 0x22) this.unexpected('looking for beginning of object key string');
    const guess = node.next[0];
    let found: KeyNode;
    if (
      guess &&
      node.byBytes === undefined &&
      bytes[i + 1 + guess.bytes.length] === 0x22 &&
      sameBytes(guess.bytes, bytes, i + 1, i + 1 + guess.bytes.length)
    ) {
      found = guess;
      this.at = i += guess.bytes.length + 2;
    } else {
      found = this.otherKey(node);
      i = this.at;
    }
    if (bytes[i] !== 0x3a) {
      this.space();
      if (bytes[this.at] !== 0x3a) this.unexpected('after object key');
      i = this.at;
    }
    this.at = i + 1;
    const c = bytes[i + 1];
    if (c <= 0x20) this.space();
    return found;
  }
  /** A key that is not the one before; apart, since what the function in it needs is made when its surroundings begin. */
  private otherKey(node: KeyNode): KeyNode {
    const { bytes } = this;
    const start = this.at + 1;
    const coded = this.string();
    const end = this.at - 1;
    return this.seen.follow(node, bytes, start, end, () => ({
      name: coded ? decodeText(bytes, start, end).toWellFormed() : ascii(bytes, start, end),
      optional: false,
    }));
  }
}

/** Thrown within a scan; no Error, whose stack would cost more than the scan. */
class JsonFault {
  readonly text: string;
  constructor(text: string) {
    this.text = text;
  }
}

/** Elements, or objects, of which each so many are charged at once. */
const countMask = 0xffff;
const elementType = (bits: number, others: Iterable<Type>): Type => {
  const all = new Set(others);
  kindTypes.forEach((type, k) => {
    if (type && (bits & (1 << k)) !== 0) all.add(type);
  });
  return unionOfDistinct(all);
};

const latin1 = (bytes: Uint8Array, start: number, end: number): string =>
  Buffer.from(bytes.buffer, bytes.byteOffset + start, end - start).toString('latin1');
/** By hand where that is faster. */
const ascii = (bytes: Uint8Array, start: number, end: number): string => {
  if (end - start > 24) return latin1(bytes, start, end);
  let text = '';
  for (let i = start; i < end; i++) text += String.fromCharCode(bytes[i]);
  return text;
};

/**
 * Text of the bytes between quotes: escapes undone, NFC, lone surrogates replaced; bytes that are no UTF-8 are kept
 * (vectors/texts/codec.ts).
 */
export const decodeText = (bytes: Uint8Array, start: number, end: number): string => {
  const raw = bytesToText(bytes.subarray(start, end));
  const text = raw.includes('\\') ? changeBetweenBytes(raw, unescaped) : raw;
  return text.normalize('NFC');
};
const unescaped = (raw: string): string => JSON.parse(`"${raw}"`) as string;

/** The character at that byte as error texts show it. */
/** By its first byte. */
const characterBytes = (first: number): number => (first >= 0xf0 ? 4 : first >= 0xe0 ? 3 : first >= 0xc0 ? 2 : 1);
const quoted = (bytes: Uint8Array, at: number, end: number): string => {
  const c = bytes[at];
  if (c === 0x27) return `'\\''`;
  if (c === 0x22) return `'"'`;
  if (c === 0x0a) return `'\\n'`;
  if (c === 0x0d) return `'\\r'`;
  if (c === 0x09) return `'\\t'`;
  if (c < 0x20 || c === 0x7f) return `'\\x${c.toString(16).padStart(2, '0')}'`;
  return `'${c < 0x80 ? String.fromCharCode(c) : [...decoder.decode(bytes.subarray(at, Math.min(end, at + 4)))][0]}'`;
};
