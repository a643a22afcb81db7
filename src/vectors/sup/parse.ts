/**
 * SUP text to values and types (reference/formats/sup.md sections 1 to 4).
 *
 * Invariants:
 * - Nothing but SupError is thrown for bad text; its message is what the reference says, with `line N: ` for mistakes
 *   of grammar.
 * - Nesting has a limit; text of any length is parsed without recursion beyond it.
 * - A value that the end of the text cuts short outside a string is no value and no error (`truncated` tells).
 */
import { checkStopAt } from '../stop.ts';
import { adoptLiteral, adoptTyped } from './decorate.ts';
import { SupError } from './error.ts';
import { SupScanner, type SupParseOptions, Truncated, isTokenCode, namePart, nameStart } from './scanner.ts';
import { defineType, readComponent, readType } from './types.ts';
import { wordValue } from './words.ts';
import { type RecordType, type Type, componentsMax, recordType, types } from '../type.ts';
import { type Data, type Value, arrayValue, errorValue, mapValue, setValue } from '../value.ts';

/** The first value of the text, or undefined if there is none. @throws SupError */
export const parseSup = (text: string, options: SupParseOptions = {}): Value | undefined =>
  new SupParser(text, options).next();

/** All values of the text. @throws SupError */
export const parseSupValues = (text: string, options: SupParseOptions = {}): Value[] => {
  const parser = new SupParser(text, options);
  const out: Value[] = [];
  for (let v = parser.next(); v; v = parser.next()) out.push(v);
  return out;
};

/** The type of a type text (`{a:int64}`, without angle brackets), the whole text. @throws SupError */
export const parseSupType = (text: string, options: SupParseOptions = {}): Type => {
  const s: SupScanner = new SupScanner(text, options);
  try {
    const type = readType(s);
    s.space();
    if (s.at < text.length) s.syntaxError();
    return type;
  } catch (error) {
    if (error instanceof Truncated) s.syntaxError();
    throw error;
  }
};

const tellEvery = 1024;

const decoratorStart = /[=(["{|]/;

/** No value without quotes has as many colons: an address has eight at most, a time three. */
const colonsMax = 12;
/** The end of the longest prefix of text[start, end) that may read as a value. */
const firstCut = (text: string, start: number, end: number): number => {
  let cut = start;
  for (let n = 0; n < colonsMax; n++) {
    cut = text.indexOf(':', cut + 1);
    if (cut < 0 || cut >= end) return end;
  }
  return cut;
};

/** Values of a text, one by one. */
export class SupParser {
  private readonly s: SupScanner;
  /** Record type made last at each depth; most records are like the one before. */
  private readonly recent: RecordType[] = [];
  /** Whether the text ended within a value. */
  truncated = false;
  /** Place in the text at which the value that was asked for last begins. */
  begin = 0;

  private readonly tell: ((values: number) => void) | undefined;
  private made = 0;

  constructor(text: string, options: SupParseOptions = {}) {
    this.s = new SupScanner(text, options);
    this.tell = options.made;
  }

  /** The next value, or undefined at the end. @throws SupError */
  next(): Value | undefined {
    try {
      this.s.space();
      this.begin = this.s.at;
      if (this.s.at >= this.s.text.length) return undefined;
      return this.value();
    } catch (error) {
      if (!(error instanceof Truncated)) throw error;
      this.truncated = true;
      this.s.at = this.s.text.length;
      return undefined;
    }
  }

  /** Place in the text behind the last value. */
  get position(): number {
    return this.s.at;
  }
  /** Line of the place that is read now, counted from the first line of the text. */
  line(): number {
    return this.s.line();
  }
  /** Whether anything but white space and comments is left, and no decorator that would belong to the last value. */
  otherFollows(): boolean {
    this.s.space();
    return this.s.at < this.s.text.length && (this.s.code() !== 0x3a || this.addressAhead());
  }

  private value(isKey = false): Value {
    let value = this.literal();
    let decorated = false;
    for (;;) {
      const start = this.s.at;
      this.s.space();
      // Behind a key, `:::` is the separator and an address.
      if (!this.s.has('::') || (isKey && this.s.has(':::')) || (this.s.at > start && this.addressAhead())) {
        // A single colon separates map entries; white space behind a value belongs to nobody.
        if (this.s.at >= this.s.text.length || this.s.code() !== 0x3a) this.s.at = start;
        return value;
      }
      this.s.at += 2;
      value = this.decorate(value, decorated);
      decorated = true;
    }
  }

  /**
   * Whether `::1` or its like stands here: behind white space it is the next value, not a decorator, unless a type has
   * that name.
   */
  private addressAhead(): boolean {
    const { text } = this.s;
    let end = this.s.at + 2;
    while (end < text.length && isTokenCode(text.charCodeAt(end))) end++;
    if (!/^[0-9a-f/]/i.test(text.charAt(this.s.at + 2))) return false;
    // An address may have decorators of its own: the longest prefix that reads as a value counts.
    for (let cut = firstCut(text, this.s.at, end); cut > this.s.at + 2; cut = text.lastIndexOf(':', cut - 1)) {
      const type = wordValue(text.slice(this.s.at, cut))?.type;
      if (type === types.ip || type === types.net) return !this.s.names.has(text.slice(this.s.at + 2, cut));
    }
    return false;
  }

  private decorate(value: Value, decorated: boolean): Value {
    this.s.skip();
    if (this.s.take('=')) {
      const name = this.s.typeName();
      const end = this.s.at;
      this.s.space();
      // `::=name=T` defines the name as T; `::=name` as the value's own type.
      if (this.s.take('=')) return this.adopt(value, defineType(this.s, name, readType(this.s)), decorated);
      this.s.at = end;
      return { type: defineType(this.s, name, value.type), data: value.data };
    }
    return this.adopt(value, readComponent(this.s), decorated);
  }

  private adopt(value: Value, type: Type, decorated: boolean): Value {
    return { type, data: decorated ? adoptTyped(value, type) : adoptLiteral(value.type, value.data, type) };
  }

  private literal(): Value {
    if (++this.made % tellEvery === 0) this.tell?.(tellEvery);
    this.s.skip();
    const c = this.s.code();
    switch (c) {
      case 0x22:
        return { type: types.string, data: this.s.string() };
      case 0x7b:
        return this.record();
      case 0x5b:
        return arrayValue(this.list('[', ']'));
      case 0x3c:
        return this.typeValue();
      case 0x7c:
        if (this.s.has('|[')) return setValue(this.list('|[', ']|'));
        if (this.s.has('|{')) return mapValue(this.map());
        return this.s.syntaxError();
    }
    return isTokenCode(c) ? this.token() : this.s.syntaxError();
  }

  private list(open: string, close: string): Value[] {
    this.s.at += open.length;
    this.s.enter();
    const items: Value[] = [];
    for (;;) {
      this.s.skip();
      if (this.s.take(close)) break;
      checkStopAt(items.length);
      items.push(this.value());
      this.s.skip();
      if (this.s.take(',')) continue;
      this.s.expect(close);
      break;
    }
    this.s.depth--;
    return items;
  }

  private map(): (readonly [Value, Value])[] {
    this.s.at += 2;
    this.s.enter();
    const entries: (readonly [Value, Value])[] = [];
    for (;;) {
      this.s.skip();
      if (this.s.take('}|')) break;
      checkStopAt(entries.length);
      const key = this.value(true);
      this.s.expect(':');
      entries.push([key, this.value()]);
      this.s.skip();
      if (this.s.take(',')) continue;
      this.s.expect('}|');
      break;
    }
    this.s.depth--;
    return entries;
  }

  private record(): Value {
    this.s.at++;
    this.s.enter();
    const fields: { name: string; type: Type; optional: boolean }[] = [];
    const data: (Data | undefined)[] = [];
    const last = this.recent[this.s.depth]?.fields;
    // While the fields are those of the last record here, no name can come twice.
    let known = true;
    let seen: Set<string> | undefined;
    for (;;) {
      this.s.skip();
      if (this.s.take('}')) break;
      const name = this.s.fieldName();
      const value = this.fieldValue(name);
      if (known && last?.[fields.length]?.name !== name) {
        known = false;
        seen = new Set(fields.map((f) => f.name));
      }
      // Of fields of one name the first counts.
      if (!seen?.has(name)) {
        if (fields.length === componentsMax) this.s.parseError(`too many fields in record (limit ${componentsMax})`);
        fields.push({ name, type: value.type, optional: value.optional });
        seen?.add(name);
        data.push(value.data);
      }
      this.s.skip();
      if (this.s.take(',')) continue;
      this.s.expect('}');
      break;
    }
    const type = this.recordType(fields);
    this.s.depth--;
    return { type, data };
  }
  private fieldValue(name: string): {
    readonly optional: boolean;
    readonly type: Type;
    readonly data: Data | undefined;
  } {
    this.s.skip();
    const optional = this.s.take('?');
    this.s.expect(':');
    this.s.skip();
    if (this.s.code() === 0x5f && !namePart.test(this.s.text.charAt(this.s.at + 1))) {
      this.s.at++;
      this.s.space();
      if (!this.s.take('::')) {
        if (this.s.at >= this.s.text.length) throw new Truncated();
        throw new SupError('none value (_) must include type decorator');
      }
      if (!optional) throw new SupError(`_ cannot appear in non-optional field "${name}"`);
      return { optional, type: readComponent(this.s), data: undefined };
    }
    const value = this.value();
    return { optional, type: value.type, data: value.data };
  }
  private recordType(
    fields: readonly { readonly name: string; readonly type: Type; readonly optional: boolean }[],
  ): RecordType {
    const last = this.recent[this.s.depth];
    if (last && last.fields.length === fields.length) {
      let i = 0;
      for (; i < fields.length; i++) {
        const f = last.fields[i]!;
        const g = fields[i]!;
        if (f.type !== g.type || f.optional !== g.optional || f.name !== g.name) break;
      }
      if (i === fields.length) return last;
    }
    return (this.recent[this.s.depth] = recordType(fields));
  }

  private typeValue(): Value {
    this.s.at++;
    const type = readType(this.s);
    this.s.expect('>', 'mismatched angle brackets while parsing type value');
    return { type: types.type, data: type };
  }

  /** A primitive without quotes, `error(..)`, or a bare word, which is a mistake unless the text ends with it. */
  private token(): Value {
    const small = this.smallInteger();
    if (small) return small;
    const { text } = this.s;
    const start = this.s.at;
    let end = start;
    while (end < text.length && isTokenCode(text.charCodeAt(end))) end++;
    // `1::` is an address, but not where a decorator's type follows.
    if (text.endsWith('::', end) && decoratorStart.test(text.charAt(end))) end -= 2;
    // Decorators and map separators begin with a colon too: the longest prefix that reads as a value counts.
    for (let cut = firstCut(text, start, end); cut > start; cut = text.lastIndexOf(':', cut - 1)) {
      const value = wordValue(text.slice(start, cut));
      if (value) {
        this.s.at = cut;
        return value;
      }
    }
    this.s.at = end;
    if (text.slice(start, end) === 'error') {
      this.s.skip();
      if (this.s.take('(')) return this.error();
    }
    if (end === text.length && nameStart.test(text.charAt(start))) throw new Truncated();
    this.s.at = start;
    return this.s.syntaxError();
  }
  /** Most numbers are short integers with a comma, a bracket or white space behind. */
  private smallInteger(): Value | undefined {
    const { text } = this.s;
    let i = this.s.at;
    let x = 0;
    const negative = text.charCodeAt(i) === 0x2d;
    if (negative) i++;
    const start = i;
    let c = text.charCodeAt(i);
    for (; c >= 0x30 && c <= 0x39; c = text.charCodeAt(++i)) x = x * 10 + (c - 0x30);
    if (
      i === start ||
      i - start > 15 ||
      !(c === 0x2c || c === 0x7d || c === 0x5d || c === 0x0a || c === 0x20 || c === 0x29)
    )
      return undefined;
    this.s.at = i;
    return { type: types.int64, data: negative && x !== 0 ? -x : x };
  }
  private error(): Value {
    this.s.enter();
    const inner = this.value();
    this.s.expect(')');
    this.s.depth--;
    return errorValue(inner);
  }
}
