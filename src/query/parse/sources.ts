/** Sources of `from`, SQL tables and `load` (grammar.md, section 5). */
import type { NameNode, SourceArg, SourceNode, SourceOrigin, SourceText } from '../ast.ts';
import type { Scanner } from './scanner.ts';
import { parseExpr } from './expressions.ts';
import { parseGlob } from './search.ts';
import { parseFString, parseId, parseName, parseQuoted, parseRawString, parseRegexp } from './strings.ts';

/** Origin and arguments. */
export function parseSource(s: Scanner): SourceNode | undefined {
  return parseSourceWith(s, parseOrigin);
}

/** The pool of `load`: only text. */
export function parseLoadSource(s: Scanner): SourceNode | undefined {
  return parseSourceWith(s, parseText);
}

function parseSourceWith(s: Scanner, parse: (scanner: Scanner) => SourceOrigin | undefined): SourceNode | undefined {
  const start = s.pos;
  const origin = parse(s);
  if (origin === undefined) return undefined;
  const commit = suffix(s, '@', parseCommit);
  const meta = suffix(s, ':', parseName);
  const args = parseSourceArgs(s);
  return { kind: 'source', origin, commit, meta, args, start: s.byte(start), end: s.byte(s.pos) };
}

function parseOrigin(s: Scanner): SourceOrigin | undefined {
  const start = s.pos;
  const regexp = s.code === 0x2f ? parseRegexp(s) : undefined;
  // `/path/to/file` begins like a regular expression.
  if (regexp !== undefined && !continuesText(s))
    return { kind: 'source-regexp', pattern: regexp, start: s.byte(start), end: s.byte(s.pos) };
  s.pos = start;
  const pattern = parseGlob(s);
  if (pattern !== undefined) return { kind: 'source-glob', pattern, start: s.byte(start), end: s.byte(s.pos) };
  const expr = parseFString(s);
  if (expr !== undefined) return { kind: 'source-fstring', expr, start: s.byte(start), end: s.byte(s.pos) };
  const name = suffix(s, ':', parseName);
  if (name !== undefined) return { kind: 'source-meta', name, start: s.byte(start), end: s.byte(s.pos) };
  return parseText(s);
}

const plainText = /[\p{L}\p{Nd}_$./]+/uy;
const url = /(?:https?|s3):\/\/[\p{L}\p{Nd}_-]+(?:\.[\p{L}\p{Nd}_-]+)*(?:\/[\p{L}\p{Nd}_$./]*)?/uy;

function continuesText(s: Scanner): boolean {
  plainText.lastIndex = s.pos;
  return plainText.test(s.text);
}

/** A text entity: URL, plain characters, or a string. */
function parseText(s: Scanner): SourceText | undefined {
  const start = s.pos;
  const quoted = parseQuoted(s) ?? parseRawString(s);
  const text = quoted ?? s.match(url) ?? s.match(plainText);
  return text === undefined
    ? undefined
    : { kind: 'source-text', text, quoted: quoted !== undefined, start: s.byte(start), end: s.byte(s.pos) };
}

/** A name as sources have it: plain characters, or quoted. */
export function parseSourceName(s: Scanner): NameNode | undefined {
  const text = parseText(s);
  return text && { kind: 'name', text: text.text, start: text.start, end: text.end };
}

/** `mark Name`, without white space between. */
function suffix(s: Scanner, mark: string, parse: (scanner: Scanner) => NameNode | undefined): NameNode | undefined {
  const before = s.pos;
  const name = s.take(mark) ? parse(s) : undefined;
  if (name === undefined) s.pos = before;
  return name;
}

/** A branch name, a time, or the characters of an id, which may begin with a digit. */
function parseCommit(s: Scanner): NameNode | undefined {
  const name = parseName(s);
  if (name !== undefined) return name;
  const start = s.pos;
  const text = s.match(time) ?? s.match(/[0-9A-Za-z]+/y);
  return text === undefined ? undefined : { kind: 'name', text, start: s.byte(start), end: s.byte(s.pos) };
}

/** As RFC 3339 has it; whether it is one is seen when it is looked up. */
const time = /[0-9]{4,}-[0-9]{2}-[0-9]{2}T[0-9:.]+(?:Z|[+-][0-9]{2}:[0-9]{2})/y;
function parseTime(s: Scanner): SourceText | undefined {
  const start = s.pos;
  const text = s.match(time);
  return text === undefined
    ? undefined
    : { kind: 'source-text', text, quoted: false, start: s.byte(start), end: s.byte(s.pos) };
}

function parseSourceArgs(s: Scanner): SourceArg[] {
  const start = s.pos;
  const args: SourceArg[] = [];
  if (s.takeNext('(')) {
    s.skip();
    for (let arg = parseSourceArg(s); arg !== undefined; arg = s.skip() ? parseSourceArg(s) : undefined) args.push(arg);
    if (args.length > 0 && s.takeNext(')')) return args;
  }
  s.pos = start;
  return [];
}

function parseSourceArg(s: Scanner): SourceArg | undefined {
  const start = s.pos;
  const name = parseId(s);
  if (name !== undefined && s.space()) {
    const key = { ...name, text: name.text.toLowerCase() };
    const value =
      key.text === 'headers' ? parseExpr(s) : ((key.text === 'asof' ? parseTime(s) : undefined) ?? parseText(s));
    if (value !== undefined) return { kind: 'source-arg', key, value, start: name.start, end: value.end };
  }
  s.pos = start;
  return undefined;
}
