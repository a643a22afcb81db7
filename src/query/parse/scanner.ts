/**
 * The parser's place in the text: white space, keywords, names, the furthest failure, and the memory of parsed parts.
 *
 * The language has almost no reserved words and its strings depend on where they stand, so there is no token list: each
 * rule reads characters. A rule returns its node, or `undefined` with `pos` where it was (ordered choice, as in a PEG).
 *
 * Invariants:
 * - `furthest` only grows: every character test that fails reports its place through `fail`; it is the position of the
 *   parse error.
 * - Rules that hold other rules (parentheses, calls, ..) are remembered by rule and position, so that alternatives
 *   which read the same part again cost one look-up; without that nested parentheses would take exponential time.
 * - `enter` bounds the nesting, so that no text overflows the stack.
 */
import { CompileError } from './error.ts';

/** Default bound of nesting; measured: 700 parentheses fit the stack of the main thread, 3,000 that of a worker. */
export const queryDepthMaxDefault = 500;

/** Rules whose results are remembered. */
type MemoRule = 0 | 1 | 2 | 3 | 4;
/** Any expression. */
export const memoExpr: MemoRule = 0;
/** An expression of access level; it counts as no level of nesting. */
export const memoPostfix: MemoRule = 1;
/** Declarations and a pipeline. */
export const memoQuery: MemoRule = 2;
/** A SQL query. */
export const memoSqlQuery: MemoRule = 3;
/** The tables of FROM with their joins. */
export const memoTables: MemoRule = 4;

interface Memo {
  readonly node: unknown;
  readonly end: number;
}

const endsWord: ReadonlySet<string> = new Set(')]}*');
const quotes: ReadonlySet<string> = new Set(`'"`);
const beginsWord: ReadonlySet<string> = new Set('([{*');

/**
 * A query text and the place in it. `pos`, `furthest` and all indexes count UTF-16 units; `byte` gives the offsets that
 * nodes and faults have.
 */
export class Scanner {
  readonly text: string;
  pos = 0;
  furthest = 0;
  /** Inside a SQL operator: `"x"` is an identifier. */
  sql = false;
  /** Counts parts that hold other parts; a rule during which it moved is worth remembering. */
  nestings = 0;
  private readonly depthMax: number;
  private depth = 0;
  private readonly memos = new Map<number, Memo>();
  private readonly byteOffsets: Uint32Array | undefined;
  private readonly base: number;

  /** `base`: bytes of the texts before this one, which nodes and faults count along. */
  constructor(text: string, depthMax: number, base = 0) {
    this.text = text;
    this.depthMax = depthMax;
    this.base = base;
    this.byteOffsets = byteOffsets(text);
  }

  /** The UTF-8 byte offset of a character index. */
  byte(index: number): number {
    return this.base + (this.byteOffsets === undefined ? index : this.byteOffsets[index]);
  }

  /** Notes that a character test failed at `index`; gives `undefined` so that a rule can end with it. */
  fail(index: number = this.pos): undefined {
    if (index > this.furthest) this.furthest = index;
    return undefined;
  }

  /** Runs a rule one level deeper. @throws CompileError beyond the bound. */
  enter(): void {
    if (++this.depth > this.depthMax) throw depthError(this.byte(this.pos), this.depthMax);
  }

  leave(): void {
    this.depth--;
  }

  /** The result of a rule at this place, from memory when it was read before. */
  memo<T extends object>(rule: MemoRule, parse: (scanner: Scanner) => T | undefined): T | undefined {
    const start = this.pos;
    const key = start * 16 + rule * 2 + (this.sql ? 1 : 0);
    const known = this.memos.get(key);
    if (known !== undefined) {
      this.pos = known.end;
      return known.node as T | undefined;
    }
    const before = this.nestings;
    // An access expression is one level with the expression that it belongs to.
    if (rule !== memoPostfix) this.enter();
    const node = parse(this);
    if (rule !== memoPostfix) this.leave();
    if (node === undefined) this.pos = start;
    if (this.nestings !== before) this.memos.set(key, { node, end: this.pos });
    return node;
  }

  /** Skips white space and comments; tells whether there was any. */
  skip(): boolean {
    const start = this.pos;
    for (;;) {
      const code = this.text.charCodeAt(this.pos);
      if (isSpace(code)) this.pos++;
      else if (code === 0x2d && this.text.charCodeAt(this.pos + 1) === 0x2d) this.skipLineComment();
      else if (code === 0x2f && this.text.charCodeAt(this.pos + 1) === 0x2a) {
        const end = this.text.indexOf('*/', this.pos + 2);
        if (end < 0) {
          this.fail(this.text.length);
          break;
        }
        this.pos = end + 2;
      } else break;
    }
    return this.pos > start;
  }

  private skipLineComment(): void {
    let index = this.pos + 2;
    while (index < this.text.length && !isLineBreak(this.text.charCodeAt(index))) index++;
    this.pos = index;
  }

  /** Takes `literal` (symbols, exact). */
  take(literal: string): boolean {
    if (!this.text.startsWith(literal, this.pos)) {
      this.fail();
      return false;
    }
    this.pos += literal.length;
    return true;
  }

  /** Skips white space and takes `literal`; else stays. */
  takeNext(literal: string): boolean {
    const start = this.pos;
    this.skip();
    return this.take(literal) || this.back(start);
  }

  /** Takes a keyword in any letter case; `word` is lower case letters. */
  keyword(word: string): boolean {
    const end = this.pos + word.length;
    for (let i = 0; i < word.length; i++) {
      if ((this.text.charCodeAt(this.pos + i) | 0x20) !== word.charCodeAt(i)) {
        this.fail();
        return false;
      }
    }
    if (this.continuesIdentifier(end)) {
      this.fail(end);
      return false;
    }
    this.pos = end;
    return true;
  }

  /** Notes a failure behind the letters of a keyword, if they are here. */
  failsBehind(word: string): void {
    const end = this.pos + word.length;
    if (end > this.furthest && this.text.slice(this.pos, end).toLowerCase() === word) this.fail(end);
  }

  /** Skips white space and takes a keyword; else stays. */
  keywordNext(word: string): boolean {
    const start = this.pos;
    this.skip();
    return this.keyword(word) || this.back(start);
  }

  /** `~ keyword`: white space is required before it. */
  spaceKeyword(word: string): boolean {
    const start = this.pos;
    return (this.space() && this.keyword(word)) || this.back(start);
  }

  /** A keyword behind what keeps words apart in SQL (`gap`), or a closing quote: `'x'end`; else stays. */
  gapKeyword(word: string): boolean {
    const start = this.pos;
    const isQuoted = this.sql && quotes.has(this.text[start - 1]!);
    if (isQuoted) this.skip();
    return ((isQuoted || this.gap()) && this.keyword(word)) || this.back(start);
  }

  /** A keyword between gaps; else stays. */
  apartKeyword(word: string): boolean {
    const start = this.pos;
    return (this.gapKeyword(word) && this.gap()) || this.back(start);
  }

  private back(start: number): false {
    this.pos = start;
    return false;
  }

  /** Required white space. */
  space(): boolean {
    if (this.skip()) return true;
    this.fail();
    return false;
  }

  /**
   * White space, or a bracket or star on either side, as SQL has it: `count(*)from`, `where(a)`. v0.2.0 wants white
   * space.
   */
  gap(): boolean {
    if (this.skip() || endsWord.has(this.text[this.pos - 1]) || beginsWord.has(this.text[this.pos])) return true;
    this.fail();
    return false;
  }

  /**
   * The plain identifier at this place, without taking it and without the exclusions of `identifier`; `''` when there
   * is none.
   */
  peekWord(): string {
    const end = this.identifierEnd(this.pos);
    return this.text.slice(this.pos, end);
  }

  /** Takes a plain identifier (no quotes). */
  identifier(): string | undefined {
    const word = this.peekWord();
    if (word === '' || isConstantWord(word)) return this.fail(this.pos + word.length);
    this.pos += word.length;
    return word;
  }

  /** Index behind the plain identifier that begins at `index`; `index` itself when none does. */
  identifierEnd(index: number): number {
    const first = this.text.codePointAt(index);
    if (first === undefined || !isIdentifierStart(first)) return index;
    let end = index + (first > 0xffff ? 2 : 1);
    for (;;) {
      const code = this.text.codePointAt(end);
      if (code === undefined || !isIdentifierPart(code)) return end;
      end += code > 0xffff ? 2 : 1;
    }
  }

  continuesIdentifier(index: number): boolean {
    const code = this.text.codePointAt(index);
    return code !== undefined && isIdentifierPart(code);
  }

  /** Matches a sticky expression here and takes it; else `undefined`. */
  match(pattern: RegExp): string | undefined {
    pattern.lastIndex = this.pos;
    const found = pattern.exec(this.text);
    if (found === null) return this.fail();
    this.pos += found[0].length;
    return found[0];
  }

  get code(): number {
    return this.text.charCodeAt(this.pos);
  }
}

/** The error for a text or tree that nests deeper than the bound. */
export function depthError(start: number, depthMax: number): CompileError {
  return new CompileError([{ message: `query nested too deeply (at most ${depthMax} levels)`, start, end: -1 }]);
}

/** `true`, `false`, `null`, `NaN`, `Inf`: literals, never identifiers. */
function isConstantWord(word: string): boolean {
  if (word.length < 3 || word.length > 5) return false;
  if (word === 'NaN' || word === 'Inf') return true;
  const lower = word.toLowerCase();
  return lower === 'true' || lower === 'false' || lower === 'null';
}

/** True for an ASCII digit. */
export function isDigit(code: number): boolean {
  return code >= 0x30 && code <= 0x39;
}

/** True for a letter of any script, `_` and `$`; `code` is a code point. */
function isIdentifierStart(code: number): boolean {
  if (code < 0x80)
    return (code >= 0x61 && code <= 0x7a) || (code >= 0x41 && code <= 0x5a) || code === 0x5f || code === 0x24;
  return /\p{L}/u.test(String.fromCodePoint(code));
}

/**
 * True for what may begin an identifier, digits, combining marks and connecting punctuation; `code` is a code point.
 */
export function isIdentifierPart(code: number): boolean {
  if (code < 0x80) return isIdentifierStart(code) || isDigit(code);
  return /[\p{L}\p{Mn}\p{Mc}\p{Nd}\p{Pc}]/u.test(String.fromCodePoint(code));
}

function isSpace(code: number): boolean {
  if (code < 0x80) return code === 0x20 || (code >= 0x09 && code <= 0x0d);
  if (code === 0xa0 || code === 0xfeff || code === 0x2028 || code === 0x2029) return true;
  return code === 0x1680 || (code >= 0x2000 && code <= 0x200a) || code === 0x202f || code === 0x205f || code === 0x3000;
}

function isLineBreak(code: number): boolean {
  return code === 0x0a || code === 0x0d || code === 0x2028 || code === 0x2029;
}

/** Byte offset of every character index, or `undefined` for ASCII text, where they are the same. */
function byteOffsets(text: string): Uint32Array | undefined {
  if (!/[^\x00-\x7f]/.test(text)) return undefined;
  const offsets = new Uint32Array(text.length + 1);
  let bytes = 0;
  for (let i = 0; i < text.length; i++) {
    offsets[i] = bytes;
    const code = text.charCodeAt(i);
    const paired = code >= 0xd800 && code < 0xdc00 && (text.charCodeAt(i + 1) & 0xfc00) === 0xdc00;
    if (paired) {
      bytes += 4;
      offsets[++i] = bytes;
    } else bytes += code < 0x80 ? 1 : code < 0x800 ? 2 : 3;
  }
  offsets[text.length] = bytes;
  return offsets;
}
