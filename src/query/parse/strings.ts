/** Strings, names, f-strings and regular expressions of the query language (grammar.md, section 1). */
import type { FStringExpr, FStringPart, NameNode } from '../ast.ts';
import { parseExpr } from './expressions.ts';
import type { Scanner } from './scanner.ts';

/** `"…"` or `'…'`: the decoded text. */
export function parseQuoted(s: Scanner): string | undefined {
  const code = s.code;
  if (code !== 0x22 && code !== 0x27) return s.fail();
  return s.sql ? parsePlain(s, code) : parseDelimited(s, code);
}

/** The same as SQL has it: a backslash is one, a quote comes twice. */
function parsePlain(s: Scanner, quote: number): string | undefined {
  const start = s.pos;
  const mark = String.fromCharCode(quote);
  let text = '';
  for (s.pos++; ; ) {
    const end = s.text.indexOf(mark, s.pos);
    if (end < 0) {
      s.fail(s.text.length);
      s.pos = start;
      return undefined;
    }
    text += s.text.slice(s.pos, end);
    s.pos = end + 1;
    if (s.text[s.pos] !== mark) return text;
    text += mark;
    s.pos++;
  }
}

/** Text between two `quote` characters, with escapes. */
export function parseDelimited(s: Scanner, quote: number): string | undefined {
  const start = s.pos;
  if (s.code !== quote) return s.fail();
  s.pos++;
  let text = '';
  let plain = s.pos;
  for (;;) {
    const code = s.code;
    if (code === quote) {
      text += s.text.slice(plain, s.pos++);
      return text;
    }
    if (code === 0x5c) {
      text += s.text.slice(plain, s.pos);
      const escaped = parseEscape(s);
      if (escaped === undefined) break;
      text += escaped;
      plain = s.pos;
    } else if (code >= 0x20) s.pos++;
    else {
      s.fail();
      break;
    }
  }
  s.pos = start;
  return undefined;
}

const simpleEscapes: Readonly<Record<string, string>> = {
  "'": "'",
  '"': '"',
  '\\': '\\',
  b: '\b',
  f: '\f',
  n: '\n',
  r: '\r',
  t: '\t',
  v: '\v',
};

/** A backslash escape; leaves the scanner behind it. */
export function parseEscape(s: Scanner): string | undefined {
  const letter = s.text[s.pos + 1];
  if (letter === 'u') return parseUnicodeEscape(s);
  const simple = letter === undefined ? undefined : simpleEscapes[letter];
  if (simple === undefined) return s.fail(s.pos + 1);
  s.pos += 2;
  return simple;
}

function parseUnicodeEscape(s: Scanner): string | undefined {
  const start = s.pos;
  const digits = s.match(/\\u(?:[0-9a-fA-F]{4}|\{[0-9a-fA-F]{1,6}\})/y);
  if (digits === undefined) return s.fail(start + 2);
  const value = Number.parseInt(digits.replace(/[\\u{}]/g, ''), 16);
  if (value >= 0xd800 && value < 0xdc00) return parseLowSurrogate(s, value);
  return value > 0x10ffff || (value >= 0xdc00 && value < 0xe000) ? '\ufffd' : String.fromCodePoint(value);
}

/**
 * The second half of a surrogate pair, written as another escape; alone the first half is the replacement character.
 */
function parseLowSurrogate(s: Scanner, high: number): string {
  const start = s.pos;
  const digits = s.match(/\\u[dD][c-fC-F][0-9a-fA-F]{2}/y);
  if (digits !== undefined) return String.fromCharCode(high, Number.parseInt(digits.slice(2), 16));
  s.pos = start;
  return '\ufffd';
}

const escapedPart =
  /\\(?:([0-7]{1,3})|x([\dA-Fa-f]{1,2})|u([\dA-Fa-f]{4}|\{[\dA-Fa-f]{1,6}\})|U([\dA-Fa-f]{8})|([\s\S]))|''|[^'\\]+/y;
const pairAhead = /\\u[dD][89abAB][\dA-Fa-f]{2}\\u[dD][c-fC-F][\dA-Fa-f]{2}/y;
/**
 * `E'…'` of SQL, with PostgreSQL's escapes: bytes in octal and hexadecimal digits are UTF-8, another character behind a
 * backslash is itself, and a quote may come twice.
 */
export function parseEscapedString(s: Scanner): string | undefined {
  const start = s.pos;
  const bytes: Buffer[] = [];
  for (s.pos += 2; ; ) {
    if (s.code === 0x27 && s.text[s.pos + 1] !== "'") {
      s.pos++;
      return new TextDecoder('utf-8', { ignoreBOM: true }).decode(Buffer.concat(bytes));
    }
    const pair = s.match(pairAhead);
    if (pair !== undefined) {
      bytes.push(
        Buffer.from(pair.replace(/\\u(.{4})/g, (_, hex: string) => String.fromCharCode(Number.parseInt(hex, 16)))),
      );
      continue;
    }
    escapedPart.lastIndex = s.pos;
    const part = escapedPart.exec(s.text);
    if (!part) break;
    const next = bytesOfPart(part);
    if (next === undefined) break;
    s.pos = escapedPart.lastIndex;
    bytes.push(next);
  }
  s.fail();
  s.pos = start;
  return undefined;
}
const sqlEscapes: Readonly<Record<string, string>> = { b: '\b', f: '\f', n: '\n', r: '\r', t: '\t' };
/** What a part of such a string stands for; undefined for digits of no character. */
const bytesOfPart = ([whole, octal, hex, short, long, other]: RegExpExecArray): Buffer | undefined => {
  if (octal !== undefined) return Buffer.from([Number.parseInt(octal, 8) & 0xff]);
  if (hex !== undefined) return Buffer.from([Number.parseInt(hex, 16)]);
  const digits = short?.replace(/[{}]/g, '') ?? long;
  if (digits !== undefined) {
    const code = Number.parseInt(digits, 16);
    return code > 0x10ffff ? undefined : Buffer.from(String.fromCodePoint(code));
  }
  if (other === 'u' || other === 'U') return undefined;
  return Buffer.from(other !== undefined ? (sqlEscapes[other] ?? other) : whole === "''" ? "'" : whole);
};

/** `$$…$$` or `$tag$…$tag$` of SQL: no escapes, and quotes are characters like any other. */
export function parseDollarString(s: Scanner): string | undefined {
  const start = s.pos;
  const mark = s.match(/\$(?:[\p{L}_][\p{L}_\d]*)?\$/uy);
  if (mark === undefined) return undefined;
  const end = s.text.indexOf(mark, s.pos);
  if (end < 0) {
    s.pos = start;
    return s.fail(s.text.length);
  }
  const text = s.text.slice(s.pos, end);
  s.pos = end + mark.length;
  return text;
}

/** `r"…"` or `r'…'`: no escapes. */
export function parseRawString(s: Scanner): string | undefined {
  const quote = s.text[s.pos + 1];
  if ((s.code | 0x20) !== 0x72 || s.code === 0x52 || (quote !== '"' && quote !== "'")) return s.fail();
  const end = s.text.indexOf(quote, s.pos + 2);
  if (end < 0) return s.fail(s.text.length);
  const text = s.text.slice(s.pos + 2, end);
  s.pos = end + 1;
  return text;
}

/** `f"…{expr}…"`. The expressions may hold the same quote. */
export function parseFString(s: Scanner): FStringExpr | undefined {
  const start = s.pos;
  const quote = s.text.charCodeAt(start + 1);
  if (s.code !== 0x66 || (quote !== 0x22 && quote !== 0x27)) return s.fail();
  s.pos += 2;
  const parts: FStringPart[] = [];
  for (let code = s.text.charCodeAt(s.pos); code !== quote; code = s.text.charCodeAt(s.pos)) {
    const part = code === 0x7b ? parseFStringValue(s) : parseFStringText(s, quote);
    if (part === undefined) {
      s.pos = start;
      return undefined;
    }
    parts.push(part);
  }
  s.pos++;
  return { kind: 'fstring', parts, start: s.byte(start), end: s.byte(s.pos) };
}

function parseFStringValue(s: Scanner): FStringPart | undefined {
  const start = s.pos++;
  s.nestings++;
  s.skip();
  const expr = parseExpr(s);
  if (expr === undefined || !s.takeNext('}')) return undefined;
  return { kind: 'fstring-value', expr, start: s.byte(start), end: s.byte(s.pos) };
}

function parseFStringText(s: Scanner, quote: number): FStringPart | undefined {
  const start = s.pos;
  let text = '';
  for (;;) {
    const code = s.code;
    if (code === quote || code === 0x7b) break;
    if (code === 0x5c && s.text[s.pos + 1] === '{') {
      text += '{';
      s.pos += 2;
    } else if (code === 0x5c) {
      const escaped = parseEscape(s);
      if (escaped === undefined) return undefined;
      text += escaped;
    } else if (code >= 0x20) text += s.text[s.pos++];
    else return s.fail();
  }
  return { kind: 'fstring-text', text, start: s.byte(start), end: s.byte(s.pos) };
}

/** A plain identifier or a backtick one. */
export function parseId(s: Scanner): NameNode | undefined {
  const start = s.pos;
  const text = s.code === 0x60 ? parseDelimited(s, 0x60) : s.identifier();
  return text === undefined ? undefined : { kind: 'name', text, start: s.byte(start), end: s.byte(s.pos) };
}

/** An identifier or a `"…"` one: aliases and tables of SQL. */
export function parseSqlId(s: Scanner): NameNode | undefined {
  return s.code === 0x22 ? parseQuotedName(s) : parseId(s);
}

/** An identifier or a string: record keys, type names, enum symbols. */
export function parseName(s: Scanner): NameNode | undefined {
  const code = s.code;
  return code === 0x22 || code === 0x27 ? parseQuotedName(s) : parseId(s);
}

function parseQuotedName(s: Scanner): NameNode | undefined {
  const start = s.pos;
  const text = parseQuoted(s);
  return text === undefined ? undefined : { kind: 'name', text, start: s.byte(start), end: s.byte(s.pos) };
}

/** `/…/`: the pattern, with `\/` as a slash. */
export function parseRegexp(s: Scanner): string | undefined {
  const found = s.match(/\/(?:[^/\\\n]|\\[^\n])*\//y);
  return found?.slice(1, -1).replaceAll('\\/', '/');
}

const closing: ReadonlySet<string> = new Set(')]};');
/**
 * A list with commas; every element is required, but in SQL a comma may stand before the closing bracket or the end. Gives the
 * elements read when the one behind a comma fails, with the scanner before that comma.
 */
export function parseList<T>(s: Scanner, parse: (scanner: Scanner) => T | undefined): T[] | undefined {
  const first = parse(s);
  if (first === undefined) return undefined;
  const list = [first];
  for (;;) {
    const before = s.pos;
    if (!s.takeNext(',')) return list;
    s.skip();
    const next = parse(s);
    if (next === undefined) {
      if (s.sql && (s.pos >= s.text.length || closing.has(s.text[s.pos]))) return list;
      s.pos = before;
      return list;
    }
    list.push(next);
  }
}

/** `( list )` of names, maybe after white space; nothing is taken when it does not match. */
export function parseNameList(s: Scanner, parse: (scanner: Scanner) => NameNode | undefined): NameNode[] | undefined {
  const start = s.pos;
  const names = s.takeNext('(') ? parseListRest(s, parse) : undefined;
  if (names === undefined) s.pos = start;
  return names;
}
/**
 * `( list )` of what may hold brackets itself, behind a keyword that `begin` takes; nothing is taken when it does not
 * match.
 */
export function parseListInBrackets<T>(
  s: Scanner,
  begin: () => boolean,
  parse: (scanner: Scanner) => T | undefined,
): T[] | undefined {
  const start = s.pos;
  let list: T[] | undefined;
  if (begin() && s.takeNext('(')) {
    s.nestings++;
    list = parseListRest(s, parse);
  }
  if (list === undefined) s.pos = start;
  return list;
}
function parseListRest<T>(s: Scanner, parse: (scanner: Scanner) => T | undefined): T[] | undefined {
  s.skip();
  const list = parseList(s, parse);
  return list !== undefined && s.takeNext(')') ? list : undefined;
}
