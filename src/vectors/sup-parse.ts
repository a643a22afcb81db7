/**
 * SUP text to values and types (reference/formats/sup.md sections 1 to 4).
 *
 * Invariants:
 * - Nothing but SupError is thrown for bad text; its message is what the reference says, with `line N: ` for mistakes of grammar.
 * - Nesting has a limit; text of any length is parsed without recursion beyond it.
 * - A value that the end of the text cuts short outside a string is no value and no error (`truncated` tells).
 */
import {
  type RecordType, type Type, types, primitiveNamed, recordType, arrayType, setType, mapType, unionType, enumType, errorType, namedType, componentsMax, type TypeNames,
} from './type.ts';
import { type Data, type Value, arrayValue, setValue, mapValue, errorValue } from './value.ts';
import { adoptLiteral, adoptTyped } from './sup-decorate.ts';
import { checkStopAt } from './stop.ts';
import { SupError } from './sup-error.ts';
import { wordValue } from './sup-words.ts';

/** Deepest nesting of values and types that is read. */
export const supNestingMax = 1_000;

export interface SupParseOptions {
  readonly nestingMax?: number;
  /** Names known from the text before; grows. */
  readonly names?: TypeNames;
  /** Number of the text's first line, for errors. Default 1. */
  readonly line?: number;
}

/** The first value of the text, or undefined if there is none. @throws SupError */
export const parseSup = (text: string, options: SupParseOptions = {}): Value | undefined => new SupParser(text, options).next();

/** All values of the text. @throws SupError */
export const parseSupValues = (text: string, options: SupParseOptions = {}): Value[] => {
  const parser = new SupParser(text, options);
  const out: Value[] = [];
  for (let v = parser.next(); v; v = parser.next()) out.push(v);
  return out;
};

/** The type of a type text (`{a:int64}`, without angle brackets), the whole text. @throws SupError */
export const parseSupType = (text: string, options: SupParseOptions = {}): Type => new SupParser(text, options).wholeType();

/** Thrown where the text ends within a value; never leaves this file. */
class Truncated extends Error {}

const enum_ = 'enum';
const isSpace = (c: number): boolean => c === 0x20 || (c >= 9 && c <= 13) || (c > 0x7f && /\s|\u0085/.test(String.fromCharCode(c)));
/** Letters, digits and the signs of numbers, times, addresses. */
const isTokenCode = (c: number): boolean =>
  (c >= 0x61 && c <= 0x7a) || (c >= 0x30 && c <= 0x3a) || (c >= 0x41 && c <= 0x5a) || (c >= 0x2d && c <= 0x2f) || c === 0x2b || c === 0x5f || c === 0x24
  || (c > 0x7f && !isSpace(c));
const decoratorStart = /[=(["{|]/;
const nameStart = /[\p{L}_$]/u;
const namePart = /[\p{L}\p{Nd}_$]/u;
const typeNamePart = /[\p{L}\p{Nd}_$.]/u;

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
  private readonly text: string;
  private readonly nestingMax: number;
  private readonly names: TypeNames;
  private readonly firstLine: number;
  private at = 0;
  private depth = 0;
  /** Record type made last at each depth; most records are like the one before. */
  private readonly recent: RecordType[] = [];
  /** Whether the text ended within a value. */
  truncated = false;

  constructor(text: string, options: SupParseOptions = {}) {
    this.text = text;
    this.nestingMax = options.nestingMax ?? supNestingMax;
    this.names = options.names ?? new Map();
    this.firstLine = options.line ?? 1;
  }

  /** The next value, or undefined at the end. @throws SupError */
  next(): Value | undefined {
    try {
      this.space();
      if (this.at >= this.text.length) return undefined;
      return this.value();
    } catch (error) {
      if (!(error instanceof Truncated)) throw error;
      this.truncated = true;
      this.at = this.text.length;
      return undefined;
    }
  }

  /** Place in the text behind the last value. */
  get position(): number { return this.at; }
  /** Whether anything but white space and comments is left, and no decorator that would belong to the last value. */
  otherFollows(): boolean {
    this.space();
    return this.at < this.text.length && (this.code() !== 0x3a || this.addressAhead());
  }

  /** @throws SupError */
  wholeType(): Type {
    try {
      const type = this.type();
      this.space();
      if (this.at < this.text.length) this.syntaxError();
      return type;
    } catch (error) {
      if (error instanceof Truncated) this.syntaxError();
      throw error;
    }
  }

  // Errors

  /** Line of the place that is read now, counted from the first line of the text. */
  line(): number {
    let line = this.firstLine;
    for (let i = this.text.indexOf('\n'); i >= 0 && i < this.at; i = this.text.indexOf('\n', i + 1)) line++;
    return line;
  }
  private syntaxError(): never { throw new SupError(`line ${this.line()}: syntax error`); }
  private parseError(text: string): never { throw new SupError(`line ${this.line()}: parse error: ${text}`); }

  // Characters

  private code(): number { return this.at < this.text.length ? this.text.charCodeAt(this.at) : -1; }
  /** Skips white space and comments; ends the value if the text ends. */
  private skip(): void {
    this.space();
    if (this.at >= this.text.length) throw new Truncated();
  }
  private space(): void {
    for (;;) {
      const c = this.code();
      if (c === 0x2f) {
        if (!this.comment()) return;
      } else if (c >= 0 && isSpace(c)) this.at++;
      else return;
    }
  }
  private comment(): boolean {
    const next = this.text.charCodeAt(this.at + 1);
    if (next === 0x2f) {
      const end = this.text.indexOf('\n', this.at);
      this.at = end < 0 ? this.text.length : end + 1;
    } else if (next === 0x2a) {
      const end = this.text.indexOf('*/', this.at + 2);
      this.at = end < 0 ? this.text.length : end + 2;
    } else return false;
    return true;
  }
  private has(text: string): boolean { return this.text.startsWith(text, this.at); }
  private take(text: string): boolean {
    if (!this.has(text)) return false;
    this.at += text.length;
    return true;
  }
  /** `text` after white space; else the mistake is named or a syntax error. */
  private expect(text: string, mistake?: string): void {
    this.skip();
    if (this.take(text)) return;
    if (mistake) this.parseError(mistake);
    this.syntaxError();
  }
  private enter(): void {
    if (++this.depth > this.nestingMax) this.parseError(`nesting too deep (limit ${this.nestingMax})`);
  }

  // Values

  private value(isKey = false): Value {
    let value = this.literal();
    let decorated = false;
    for (;;) {
      const start = this.at;
      this.space();
      // Behind a key, `:::` is the separator and an address.
      if (!this.has('::') || (isKey && this.has(':::')) || (this.at > start && this.addressAhead())) {
        // A single colon separates map entries; white space behind a value belongs to nobody.
        if (this.at >= this.text.length || this.code() !== 0x3a) this.at = start;
        return value;
      }
      this.at += 2;
      value = this.decorate(value, decorated);
      decorated = true;
    }
  }

  /** Whether `::1` or its like stands here: behind white space it is the next value, not a decorator, unless a type has that name. */
  private addressAhead(): boolean {
    const { text } = this;
    let end = this.at + 2;
    while (end < text.length && isTokenCode(text.charCodeAt(end))) end++;
    if (!/^[0-9a-f/]/i.test(text.charAt(this.at + 2))) return false;
    // An address may have decorators of its own: the longest prefix that reads as a value counts.
    for (let cut = firstCut(text, this.at, end); cut > this.at + 2; cut = text.lastIndexOf(':', cut - 1)) {
      const type = wordValue(text.slice(this.at, cut))?.type;
      if (type === types.ip || type === types.net) return !this.names.has(text.slice(this.at + 2, cut));
    }
    return false;
  }

  private decorate(value: Value, decorated: boolean): Value {
    this.skip();
    if (this.take('=')) {
      const name = this.typeName(), end = this.at;
      this.space();
      // `::=name=T` defines the name as T; `::=name` as the value's own type.
      if (this.take('=')) return this.adopt(value, this.define(name, this.type()), decorated);
      this.at = end;
      return { type: this.define(name, value.type), data: value.data };
    }
    return this.adopt(value, this.decoratorType(), decorated);
  }
  /** A component, or `name=T` as older writers put it without parentheses. */
  private decoratorType(): Type { return this.component(); }

  private adopt(value: Value, type: Type, decorated: boolean): Value {
    return { type, data: decorated ? adoptTyped(value, type) : adoptLiteral(value.type, value.data, type) };
  }

  private literal(): Value {
    this.skip();
    const c = this.code();
    switch (c) {
      case 0x22: return { type: types.string, data: this.string() };
      case 0x7b: return this.record();
      case 0x5b: return arrayValue(this.list('[', ']'));
      case 0x3c: return this.typeValue();
      case 0x7c:
        if (this.has('|[')) return setValue(this.list('|[', ']|'));
        if (this.has('|{')) return mapValue(this.map());
        return this.syntaxError();
    }
    return isTokenCode(c) ? this.token() : this.syntaxError();
  }

  private list(open: string, close: string): Value[] {
    this.at += open.length;
    this.enter();
    const items: Value[] = [];
    for (;;) {
      this.skip();
      if (this.take(close)) break;
      checkStopAt(items.length);
      items.push(this.value());
      this.skip();
      if (this.take(',')) continue;
      this.expect(close);
      break;
    }
    this.depth--;
    return items;
  }

  private map(): (readonly [Value, Value])[] {
    this.at += 2;
    this.enter();
    const entries: (readonly [Value, Value])[] = [];
    for (;;) {
      this.skip();
      if (this.take('}|')) break;
      checkStopAt(entries.length);
      const key = this.value(true);
      this.expect(':');
      entries.push([key, this.value()]);
      this.skip();
      if (this.take(',')) continue;
      this.expect('}|');
      break;
    }
    this.depth--;
    return entries;
  }

  private record(): Value {
    this.at++;
    this.enter();
    const fields: { name: string; type: Type; optional: boolean }[] = [], data: (Data | undefined)[] = [];
    const last = this.recent[this.depth]?.fields;
    // While the fields are those of the last record here, no name can come twice.
    let known = true, seen: Set<string> | undefined;
    for (;;) {
      this.skip();
      if (this.take('}')) break;
      const name = this.fieldName();
      const value = this.fieldValue(name);
      if (known && last?.[fields.length]?.name !== name) {
        known = false;
        seen = new Set(fields.map((f) => f.name));
      }
      // Of fields of one name the first counts.
      if (!seen?.has(name)) {
        if (fields.length === componentsMax) this.parseError(`too many fields in record (limit ${componentsMax})`);
        fields.push({ name, type: value.type, optional: value.optional });
        seen?.add(name);
        data.push(value.data);
      }
      this.skip();
      if (this.take(',')) continue;
      this.expect('}');
      break;
    }
    const type = this.recordType(fields);
    this.depth--;
    return { type, data };
  }
  private fieldValue(name: string): { readonly optional: boolean; readonly type: Type; readonly data: Data | undefined } {
    this.skip();
    const optional = this.take('?');
    this.expect(':');
    this.skip();
    if (this.code() === 0x5f && !namePart.test(this.text.charAt(this.at + 1))) {
      this.at++;
      this.space();
      if (!this.take('::')) {
        if (this.at >= this.text.length) throw new Truncated();
        throw new SupError('none value (_) must include type decorator');
      }
      if (!optional) throw new SupError(`_ cannot appear in non-optional field "${name}"`);
      return { optional, type: this.decoratorType(), data: undefined };
    }
    const value = this.value();
    return { optional, type: value.type, data: value.data };
  }
  private recordType(fields: readonly { readonly name: string; readonly type: Type; readonly optional: boolean }[]): RecordType {
    const last = this.recent[this.depth];
    if (last && last.fields.length === fields.length) {
      let i = 0;
      for (; i < fields.length; i++) {
        const f = last.fields[i]!, g = fields[i]!;
        if (f.type !== g.type || f.optional !== g.optional || f.name !== g.name) break;
      }
      if (i === fields.length) return last;
    }
    return (this.recent[this.depth] = recordType(fields));
  }
  private fieldName(): string {
    if (this.code() === 0x22) return this.string();
    const { text } = this, start = this.at;
    let i = start, c = text.charCodeAt(i);
    while ((c >= 0x61 && c <= 0x7a) || (c >= 0x41 && c <= 0x5a) || c === 0x5f || c === 0x24 || (c >= 0x30 && c <= 0x39 && i > start)) c = text.charCodeAt(++i);
    if (i > start && c < 0x80) {
      this.at = i;
      return text.slice(start, i);
    }
    if (!nameStart.test(this.character())) this.syntaxError();
    while (this.at < this.text.length && namePart.test(this.character())) this.at += this.character().length;
    return this.text.slice(start, this.at);
  }
  private character(): string {
    const c = this.code();
    return c >= 0xd800 && c < 0xdc00 ? this.text.slice(this.at, this.at + 2) : this.text.charAt(this.at);
  }

  private typeValue(): Value {
    this.at++;
    const type = this.type();
    this.expect('>', 'mismatched angle brackets while parsing type value');
    return { type: types.type, data: type };
  }

  /** A primitive without quotes, `error(..)`, or a bare word, which is a mistake unless the text ends with it. */
  private token(): Value {
    const small = this.smallInteger();
    if (small) return small;
    const { text } = this, start = this.at;
    let end = start;
    while (end < text.length && isTokenCode(text.charCodeAt(end))) end++;
    // `1::` is an address, but not where a decorator's type follows.
    if (text.endsWith('::', end) && decoratorStart.test(text.charAt(end))) end -= 2;
    // Decorators and map separators begin with a colon too: the longest prefix that reads as a value counts.
    for (let cut = firstCut(text, start, end); cut > start; cut = text.lastIndexOf(':', cut - 1)) {
      const value = wordValue(text.slice(start, cut));
      if (value) {
        this.at = cut;
        return value;
      }
    }
    this.at = end;
    if (text.slice(start, end) === 'error') {
      this.skip();
      if (this.take('(')) return this.error();
    }
    if (end === text.length && nameStart.test(text.charAt(start))) throw new Truncated();
    this.at = start;
    return this.syntaxError();
  }
  /** Most numbers are short integers with a comma, a bracket or white space behind. */
  private smallInteger(): Value | undefined {
    const { text } = this;
    let i = this.at, x = 0;
    const negative = text.charCodeAt(i) === 0x2d;
    if (negative) i++;
    const start = i;
    let c = text.charCodeAt(i);
    for (; c >= 0x30 && c <= 0x39; c = text.charCodeAt(++i)) x = x * 10 + (c - 0x30);
    if (i === start || i - start > 15 || !(c === 0x2c || c === 0x7d || c === 0x5d || c === 0x0a || c === 0x20 || c === 0x29)) return undefined;
    this.at = i;
    return { type: types.int64, data: negative && x !== 0 ? -x : x };
  }
  private error(): Value {
    this.enter();
    const inner = this.value();
    this.expect(')');
    this.depth--;
    return errorValue(inner);
  }

  private string(): string {
    const { text } = this, start = ++this.at;
    let bits = 0;
    for (let i = start; ; i++) {
      const c = text.charCodeAt(i);
      bits |= c;
      if (c === 0x22) {
        this.at = i + 1;
        return bits < 0x80 ? text.slice(start, i) : text.slice(start, i).normalize('NFC');
      }
      if (c === 0x5c) return this.escapedString(start, i);
      if (c === 0x0a || Number.isNaN(c)) this.brokenString(i);
    }
  }
  private escapedString(start: number, firstEscape: number): string {
    const { text } = this;
    let out = text.slice(start, firstEscape), run = firstEscape, i = firstEscape;
    for (;;) {
      const c = text.charCodeAt(i);
      if (c === 0x22) {
        this.at = i + 1;
        return normalized((out + text.slice(run, i)).toWellFormed());
      }
      if (c === 0x0a || Number.isNaN(c)) this.brokenString(i);
      if (c !== 0x5c) i++;
      else {
        out += text.slice(run, i);
        const letter = text.charAt(i + 1);
        if (letter === 'u' && /^[0-9a-fA-F]{4}$/.test(text.slice(i + 2, i + 6))) {
          out += String.fromCharCode(Number.parseInt(text.slice(i + 2, i + 6), 16));
          i += 6;
        } else {
          const plain = unescaped[letter];
          if (plain === undefined) this.badEscape(i);
          out += plain;
          i += 2;
        }
        run = i;
      }
    }
  }
  private badEscape(i: number): never {
    this.at = i;
    if (i + 1 >= this.text.length) this.brokenString(this.text.length);
    return this.parseError(`string literal: illegal escape (\\${this.text.charAt(i + 1)})`);
  }
  private brokenString(i: number): never {
    const ended = i >= this.text.length;
    this.at = ended ? i : i + 1;
    return this.parseError(ended ? 'string literal: EOF' : 'string literal: unescaped line break');
  }

  // Types

  private type(): Type {
    const first = this.component();
    const members = [first];
    for (;;) {
      const start = this.at;
      this.space();
      // `|[`, `|{` and `||` begin members too; `]|` and `}|` close a set or map around.
      if (this.code() !== 0x7c) {
        this.at = start;
        break;
      }
      this.at++;
      members.push(this.component());
    }
    if (members.length > componentsMax) this.parseError(`too many members in union (limit ${componentsMax})`);
    return members.length === 1 ? first : unionType(members);
  }

  private component(): Type {
    this.skip();
    this.enter();
    const type = this.componentInside();
    this.depth--;
    return type;
  }
  private componentInside(): Type {
    if (this.take('{')) return this.recordTypeText();
    if (this.take('[')) {
      const element = this.type();
      this.expect(']', 'mismatched brackets while parsing array type');
      return arrayType(element);
    }
    if (this.take('|[')) {
      const element = this.type();
      this.expect(']|', 'mismatched set-brackets while parsing set type');
      return setType(element);
    }
    if (this.take('|{')) {
      const key = this.type();
      this.expect(':');
      const value = this.type();
      this.expect('}|', 'mismatched set-brackets while parsing map type');
      return mapType(key, value);
    }
    if (this.take('(')) return this.parenthesised();
    return this.namedComponent();
  }

  private parenthesised(): Type {
    const type = this.type();
    this.skip();
    if (this.code() === 0x2c) this.parseError('union components are separated by pipe symbol (|) not comma');
    this.expect(')', 'mismatched parentheses while parsing type value');
    return type;
  }

  private recordTypeText(): Type {
    const fields: { name: string; type: Type; optional: boolean }[] = [], seen = new Set<string>();
    for (;;) {
      this.skip();
      if (this.take('}')) break;
      const name = this.fieldName();
      this.skip();
      const optional = this.take('?');
      this.expect(':');
      const type = this.type();
      if (seen.has(name)) throw new SupError(`duplicate field: "${name}"`);
      if (fields.length === componentsMax) this.parseError(`too many fields in record type (limit ${componentsMax})`);
      seen.add(name);
      fields.push({ name, type, optional });
      this.skip();
      if (this.take(',')) continue;
      this.expect('}', 'mismatched braces while parsing record type');
      break;
    }
    return recordType(fields);
  }

  private namedComponent(): Type {
    const quoted = this.code() === 0x22;
    const name = this.typeName();
    if (!quoted) {
      const known = primitiveNamed(name);
      if (known) return known;
      if ((name === 'error' || name === enum_) && this.parenthesisFollows()) return name === 'error' ? this.errorTypeText() : this.enumText();
    }
    const start = this.at;
    this.space();
    if (this.take('=')) return this.define(name, this.type());
    this.at = start;
    const found = this.names.get(name);
    if (!found) throw new SupError(`no such type name: "${name}"`);
    return found;
  }
  private parenthesisFollows(): boolean {
    const start = this.at;
    this.space();
    if (this.take('(')) return true;
    this.at = start;
    return false;
  }
  private errorTypeText(): Type {
    const inner = this.type();
    this.expect(')', 'mismatched parentheses while parsing error type');
    return errorType(inner);
  }
  private enumText(): Type {
    const symbols: string[] = [];
    for (;;) {
      this.skip();
      if (this.take(')')) break;
      symbols.push(this.fieldName());
      this.skip();
      if (this.take(',')) continue;
      this.expect(')', 'mismatched parentheses while parsing enum type');
      break;
    }
    if (symbols.length > componentsMax) this.parseError(`too many symbols in enum (limit ${componentsMax})`);
    return enumType(symbols);
  }
  private typeName(): string {
    this.skip();
    if (this.code() === 0x22) return this.string();
    const start = this.at;
    while (this.at < this.text.length && typeNamePart.test(this.character())) this.at += this.character().length;
    if (this.at === start) this.syntaxError();
    return this.text.slice(start, this.at);
  }
  private define(name: string, inner: Type): Type {
    if (primitiveNamed(name)) throw new SupError(`bad type name "${name}": primitive type name`);
    // A name of digits alone is only short for the type (sup.md section 3).
    const type = /^\d+$/.test(name) ? inner : namedType(name, inner);
    this.names.set(name, type);
    return type;
  }
}

const unescaped: Readonly<Record<string, string>> = { '"': '"', '\\': '\\', '/': '/', b: '\b', f: '\f', n: '\n', r: '\r', t: '\t' };
const nonAscii = /[^\u0000-\u007f]/;
const normalized = (text: string): string => (nonAscii.test(text) ? text.normalize('NFC') : text);
