/**
 * The search operator and its own syntax: words, globs, regular expressions, literals and predicates (grammar.md,
 * section 8).
 */
import type { Op, SearchNode } from '../ast.ts';
import { isDigit } from './scanner.ts';
import type { Scanner } from './scanner.ts';
import { parseNamedCall } from './calls.ts';
import { parseComparison } from './expressions.ts';
import { parseLiteral } from './literals.ts';
import { parsePrimary } from './primaries.ts';
import { parseEscape, parseRegexp } from './strings.ts';

/** `search ..` or `? ..`. */
export function parseSearchOp(s: Scanner): Op | undefined {
  const start = s.pos;
  if (s.code === 0x3f) {
    s.pos++;
    s.skip();
  } else {
    s.pos += 'search'.length;
    if (!s.space()) return undefined;
  }
  const search = parseSearch(s);
  if (search === undefined) {
    s.pos = start;
    return undefined;
  }
  return { kind: 'search-op', search, start: s.byte(start), end: s.byte(s.pos) };
}

function parseSearch(s: Scanner): SearchNode | undefined {
  const first = parseSearchAnd(s);
  if (first === undefined) return undefined;
  const terms = [first];
  for (;;) {
    const before = s.pos;
    const next = s.space() && s.keyword('or') && s.space() ? parseSearchAnd(s) : undefined;
    if (next === undefined) {
      s.pos = before;
      return chain('or', terms, 0, terms.length);
    }
    terms.push(next);
  }
}

/** Terms side by side, with or without `and`, with space between them. */
function parseSearchAnd(s: Scanner): SearchNode | undefined {
  const first = parseFactor(s);
  if (first === undefined) return undefined;
  const terms = [first];
  for (;;) {
    const before = s.pos;
    const next = s.space() ? parseNextTerm(s) : undefined;
    if (next === undefined) {
      s.pos = before;
      return chain('and', terms, 0, terms.length);
    }
    terms.push(next);
  }
}

function parseNextTerm(s: Scanner): SearchNode | undefined {
  if (s.keyword('and') && !s.space()) return undefined;
  return s.keyword('or') ? undefined : parseFactor(s);
}

/** A balanced tree, so that long lists of words stay shallow; short ones lean left. */
function chain(op: 'and' | 'or', terms: readonly SearchNode[], from: number, to: number): SearchNode {
  if (to - from === 1) return terms[from];
  const middle = to - from > 32 ? (from + to) >> 1 : to - 1;
  const left = chain(op, terms, from, middle);
  const right = chain(op, terms, middle, to);
  return { kind: 'search-binary', op, left, right, start: left.start, end: right.end };
}

function parseFactor(s: Scanner): SearchNode | undefined {
  const start = s.pos;
  s.enter();
  const factor = parseSearchNot(s) ?? parseSearchGroup(s);
  s.leave();
  if (factor !== undefined) return factor;
  s.pos = start;
  return parseTerm(s);
}

function parseSearchNot(s: Scanner): SearchNode | undefined {
  const start = s.pos;
  if (s.code === 0x21) s.pos++;
  else if (!s.keyword('not') || !s.space()) {
    s.pos = start;
    return undefined;
  }
  s.skip();
  const search = parseFactor(s);
  if (search !== undefined) return { kind: 'search-not', search, start: s.byte(start), end: search.end };
  s.pos = start;
  return undefined;
}

function parseSearchGroup(s: Scanner): SearchNode | undefined {
  const start = s.pos;
  if (s.code === 0x28) {
    s.pos++;
    s.skip();
    s.nestings++;
    const search = parseSearch(s);
    if (search !== undefined && s.takeNext(')') && !continuesExpr(s)) return search;
  }
  s.pos = start;
  return undefined;
}

/** A regular expression, glob, literal or word, unless it is the beginning of a predicate. */
function parseTerm(s: Scanner): SearchNode | undefined {
  const start = s.pos;
  const plain = parseRegexpTerm(s) ?? parseGlobTerm(s) ?? parseLiteralTerm(s) ?? parseWordTerm(s);
  const end = s.pos;
  if (plain !== undefined && !continuesExpr(s)) return plain;
  s.pos = start;
  const expr = parseComparison(s) ?? parseNamedCall(s);
  if (expr !== undefined) return { kind: 'search-expr', expr, start: s.byte(start), end: s.byte(s.pos) };
  s.pos = end;
  return plain;
}

/** Whether an operator, call or access follows that makes the term before it part of an expression. */
function continuesExpr(s: Scanner): boolean {
  if (s.code === 0x28 || s.code === 0x5b) return true;
  const before = s.pos;
  s.skip();
  const found =
    '=!<>~+-*/%'.includes(s.text[s.pos] ?? ' ') ||
    s.keyword('in') ||
    s.keyword('like') ||
    (s.keyword('not') && (s.keywordNext('in') || s.keywordNext('like')));
  s.pos = before;
  return found;
}

const wordCharacters = /[\p{L}\p{Nd}_.:/%#@~*]/uy;

function continuesWord(s: Scanner): boolean {
  wordCharacters.lastIndex = s.pos;
  return wordCharacters.test(s.text);
}

function parseRegexpTerm(s: Scanner): SearchNode | undefined {
  const start = s.pos;
  const pattern = s.code === 0x2f ? parseRegexp(s) : undefined;
  if (pattern !== undefined && !continuesWord(s))
    return { kind: 'search-regexp', pattern, start: s.byte(start), end: s.byte(s.pos) };
  s.pos = start;
  return undefined;
}

function parseGlobTerm(s: Scanner): SearchNode | undefined {
  const start = s.pos;
  const pattern = parseGlob(s);
  return pattern === undefined ? undefined : { kind: 'search-glob', pattern, start: s.byte(start), end: s.byte(s.pos) };
}

function parseLiteralTerm(s: Scanner): SearchNode | undefined {
  const start = s.pos;
  const literal = s.code === 0x3c ? parsePrimary(s) : parseLiteral(s);
  if (literal === undefined || continuesWord(s) || (literal.kind !== 'literal' && literal.kind !== 'type-value')) {
    s.pos = start;
    return undefined;
  }
  const span = { start: s.byte(start), end: s.byte(s.pos) };
  if (literal.kind === 'literal' && literal.type === 'string')
    return { kind: 'search-word', text: literal.text, ...span };
  return { kind: 'search-literal', literal, text: s.text.slice(start, s.pos), ...span };
}

function parseWordTerm(s: Scanner): SearchNode | undefined {
  const start = s.pos;
  const text = parseWord(s, false);
  return text === undefined ? undefined : { kind: 'search-word', text, start: s.byte(start), end: s.byte(s.pos) };
}

/** A word with at least one `*`, as a pattern in which `\*` and `\\` are the only escapes. */
export function parseGlob(s: Scanner): string | undefined {
  return parseWord(s, true);
}

const wordRun = /[\p{L}\p{Nd}_.:/%#@~]+/uy;

/** A word; as a glob it must hold `*`. Words do not begin with a digit. */
function parseWord(s: Scanner, glob: boolean): string | undefined {
  const start = s.pos;
  let text = '';
  let stars = 0;
  while (isDigit(s.code) ? text !== '' : true) {
    wordRun.lastIndex = s.pos;
    const run = wordRun.exec(s.text)?.[0];
    if (run !== undefined) {
      text += run;
      s.pos += run.length;
    } else if (glob && s.code === 0x2a) {
      text += '*';
      stars++;
      s.pos++;
    } else {
      const escaped = s.code === 0x5c ? parseWordEscape(s) : undefined;
      if (escaped === undefined) break;
      text += glob ? escaped.replace(/[*\\]/g, '\\$&') : escaped;
    }
  }
  if (text !== '' && (!glob || stars > 0)) return text;
  s.fail();
  s.pos = start;
  return undefined;
}

function parseWordEscape(s: Scanner): string | undefined {
  const next = s.text[s.pos + 1];
  if (next === undefined || !'=*+-'.includes(next)) return parseEscape(s);
  s.pos += 2;
  return next;
}
