/**
 * The characters of a SUP text: the place that is read, white space and comments, names and quoted strings, and the
 * errors that tell a line. What is built of them is in sup/parse.ts (values) and sup/types.ts (types).
 */
import { changeBetweenBytes } from '../texts/codec.ts';
import { plainEscapes, unescapedText } from './escapes.ts';
import { SupError } from './error.ts';
import { TextPieces } from '../texts/pieces.ts';
import type { TypeNames } from '../type.ts';
import { levelsMax } from '../type-limits.ts';

/** Thrown where the text ends within a value; caught in sup/parse.ts alone. */
export class Truncated extends Error {}

/** Deepest nesting of values and types that is read. */
export const supNestingMax = levelsMax;

/** What a text may hold, and what came before it. */
export interface SupParseOptions {
  /** Default: `supNestingMax`. */
  readonly nestingMax?: number;
  /** Names known from the text before; grows. */
  readonly names?: TypeNames;
  /** Number of the text's first line, for errors. Default 1. */
  readonly line?: number;
  /**
   * Told that so many values more were made, now and then: values within others are held until their container is
   * whole.
   */
  readonly made?: (values: number) => void;
}

const isSpace = (c: number): boolean =>
  c === 0x20 || (c >= 9 && c <= 13) || (c > 0x7f && /\s|\u0085/.test(String.fromCharCode(c)));
/** Letters, digits and the signs of numbers, times, addresses. */
export const isTokenCode = (c: number): boolean =>
  (c >= 0x61 && c <= 0x7a) ||
  (c >= 0x30 && c <= 0x3a) ||
  (c >= 0x41 && c <= 0x5a) ||
  (c >= 0x2d && c <= 0x2f) ||
  c === 0x2b ||
  c === 0x5f ||
  c === 0x24 ||
  (c > 0x7f && !isSpace(c));
/** First and further characters of names without quotes. */
export const nameStart = /[\p{L}_$]/u;
/** A further character of such a name. */
export const namePart = /[\p{L}\p{Nd}_$]/u;
const typeNamePart = /[\p{L}\p{Nd}_$.]/u;

/** A place in a text, which the parsers move on. */
export class SupScanner {
  readonly text: string;
  readonly names: TypeNames;
  at = 0;
  depth = 0;
  readonly nestingMax: number;
  private readonly firstLine: number;

  constructor(text: string, options: SupParseOptions) {
    this.text = text;
    this.nestingMax = options.nestingMax ?? supNestingMax;
    this.names = options.names ?? new Map();
    this.firstLine = options.line ?? 1;
  }

  // Errors

  /** Line of the place that is read now, counted from the first line of the text. */
  line(): number {
    let line = this.firstLine;
    for (let i = this.text.indexOf('\n'); i >= 0 && i < this.at; i = this.text.indexOf('\n', i + 1)) line++;
    return line;
  }
  syntaxError(): never {
    throw new SupError(`line ${this.line()}: syntax error`);
  }
  parseError(text: string): never {
    throw new SupError(`line ${this.line()}: parse error: ${text}`);
  }

  // Characters

  /** The UTF-16 code unit here; -1 at the end. */
  code(): number {
    return this.at < this.text.length ? this.text.charCodeAt(this.at) : -1;
  }
  /** Skips white space and comments. @throws Truncated where the text ends */
  skip(): void {
    this.space();
    if (this.at >= this.text.length) throw new Truncated();
  }
  /** Skips white space and comments. */
  space(): void {
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
  /** Whether `text` stands here. */
  has(text: string): boolean {
    return this.text.startsWith(text, this.at);
  }
  /** Moves on behind `text` if it stands here. */
  take(text: string): boolean {
    if (!this.has(text)) return false;
    this.at += text.length;
    return true;
  }
  /** `text` after white space; else the mistake is named or a syntax error. */
  expect(text: string, mistake?: string): void {
    this.skip();
    if (this.take(text)) return;
    if (mistake) this.parseError(mistake);
    this.syntaxError();
  }
  /** Begins a nested value or type; the caller takes one off `depth` when it ends. @throws SupError beyond the limit */
  enter(): void {
    if (++this.depth > this.nestingMax) this.tooDeep();
  }

  /** @throws SupError */
  tooDeep(): never {
    this.parseError(`nesting too deep (limit ${this.nestingMax})`);
  }

  // Names and strings

  /** A name of a field or symbol of an enum, quoted or not. @throws SupError */
  fieldName(): string {
    if (this.code() === 0x22) return this.string().toWellFormed();
    const { text } = this;
    const start = this.at;
    let i = start;
    let c = text.charCodeAt(i);
    while (
      (c >= 0x61 && c <= 0x7a) ||
      (c >= 0x41 && c <= 0x5a) ||
      c === 0x5f ||
      c === 0x24 ||
      (c >= 0x30 && c <= 0x39 && i > start)
    )
      c = text.charCodeAt(++i);
    if (i > start && c < 0x80) {
      this.at = i;
      return text.slice(start, i);
    }
    if (!nameStart.test(this.character())) this.syntaxError();
    while (this.at < this.text.length && namePart.test(this.character())) this.at += this.character().length;
    return this.text.slice(start, this.at);
  }
  /** A name of a type, quoted or not; dots may be in it. @throws SupError */
  typeName(): string {
    this.skip();
    if (this.code() === 0x22) return this.string().toWellFormed();
    const start = this.at;
    while (this.at < this.text.length && typeNamePart.test(this.character())) this.at += this.character().length;
    if (this.at === start) this.syntaxError();
    return this.text.slice(start, this.at);
  }
  /** The character here, of one or two code units; empty at the end. */
  character(): string {
    const c = this.code();
    return c >= 0xd800 && c < 0xdc00 ? this.text.slice(this.at, this.at + 2) : this.text.charAt(this.at);
  }

  /** A quoted string, in Unicode normal form C; the opening quote is here. @throws SupError */
  string(): string {
    const { text } = this;
    const start = ++this.at;
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
    const out = new TextPieces('a quoted string');
    out.add(text.slice(start, firstEscape));
    let run = firstEscape;
    let i = firstEscape;
    for (;;) {
      const c = text.charCodeAt(i);
      if (c === 0x22) {
        this.at = i + 1;
        out.add(text.slice(run, i));
        const source = text.slice(start, i);
        return normalized(
          source.isWellFormed() ? out.text().toWellFormed() : changeBetweenBytes(source, unescapedText),
        );
      }
      if (c === 0x0a || Number.isNaN(c)) this.brokenString(i);
      if (c !== 0x5c) i++;
      else {
        out.add(text.slice(run, i));
        const letter = text.charAt(i + 1);
        if (letter === 'u' && /^[0-9a-fA-F]{4}$/.test(text.slice(i + 2, i + 6))) {
          out.add(String.fromCharCode(Number.parseInt(text.slice(i + 2, i + 6), 16)));
          i += 6;
        } else {
          const plain = plainEscapes[letter];
          if (plain === undefined) this.badEscape(i);
          out.add(plain);
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
}

const nonAscii = /[^\u0000-\u007f]/;
const normalized = (text: string): string => (nonAscii.test(text) ? text.normalize('NFC') : text);
