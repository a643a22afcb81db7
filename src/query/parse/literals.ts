/**
 * Literals (grammar.md, section 1): numbers, durations, times, addresses, bytes. Ranges are checked by the analyzer.
 */
import type { LiteralExpr, LiteralType } from '../ast.ts';
import { isDigit, isIdentifierPart } from './scanner.ts';
import type { Scanner } from './scanner.ts';
import { parseDollarString, parseEscapedString, parseQuoted, parseRawString } from './strings.ts';

const hex4 = '[0-9a-fA-F]{1,4}';
const v4 = '\\d+\\.\\d+\\.\\d+\\.\\d+';
const ipv6 = new RegExp(
  `(?:(?:${hex4}:){7}${hex4}|(?:${hex4}:){6}${v4}|(?:${hex4}(?::${hex4}){0,6})?::(?:(?:${hex4}:){0,6}(?:${v4}|${hex4}))?)(?:/\\d+)?`,
  'y',
);
const ipv4 = new RegExp(`${v4}(?:/\\d+)?`, 'y');
const time = /\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}(?:\.\d+)?(?:Z|[+-]\d{2}:\d{2})/y;
const duration = /-?(?:\d+(?:\.\d+)?(?:ns|us|ms|s|m|h|d|w|y))+/y;
const bytes = /0x[0-9a-fA-F]*/y;
const float = /-?(?:\d+\.\d*|\.\d+)(?:[eE][+-]?\d+)?/y;
const integer = /-?\d+/y;
const exponent = /-?\d+[eE][+-]?\d+/y;
const hexRun = /[0-9a-fA-F]+/y;
const hexGroups = /[0-9a-fA-F]*(?::[0-9a-fA-F]+)*:?/y;

interface Form {
  readonly type: LiteralType;
  readonly pattern: RegExp;
  /** Whether an identifier character behind it refuses the form. */
  readonly whole: boolean;
}
/** As much of a time or an address as is there: it fails behind that. */
const timeBeginning =
  /\d{4}-\d\d-\d\d(?:T(?:\d(?:\d(?::(?:\d(?:\d(?::(?:\d(?:\d(?:\.\d+)?(?:[+-](?:\d(?:\d(?::\d?)?)?)?)?)?)?)?)?)?)?)?)?)?/y;
const ipv4Beginning = /\d+\.\d+\.(?:\d+\.?)?/y;
const unsignedForms: readonly Form[] = [
  { type: 'ip', pattern: ipv4, whole: true },
  { type: 'bytes', pattern: bytes, whole: true },
  { type: 'duration', pattern: duration, whole: true },
  { type: 'time', pattern: time, whole: true },
];
const signedForms: readonly Form[] = [
  { type: 'duration', pattern: duration, whole: true },
  { type: 'float64', pattern: float, whole: false },
  { type: 'int64', pattern: integer, whole: false },
];

/**
 * A literal that is no type value: string (in SQL only `'…'` and `$$…$$`), number, duration, time, address, bytes,
 * bool, null.
 */
export function parseLiteral(s: Scanner): LiteralExpr | undefined {
  const code = s.code;
  if (code === 0x27 || (code === 0x22 && !s.sql)) return stringLiteral(s, parseQuoted);
  if (isDigit(code) || code === 0x2d || code === 0x2e || code === 0x2b) return parseNumber(s);
  if (code === 0x3a) return parseIpv6(s);
  if (code === 0x24 && s.sql) return stringLiteral(s, parseDollarString);
  return parseWordLiteral(s);
}

function stringLiteral(s: Scanner, parse: (scanner: Scanner) => string | undefined): LiteralExpr | undefined {
  const start = s.pos;
  const text = parse(s);
  return text === undefined
    ? undefined
    : { kind: 'literal', type: 'string', text, start: s.byte(start), end: s.byte(s.pos) };
}

function parseWordLiteral(s: Scanner): LiteralExpr | undefined {
  const next = s.text.charCodeAt(s.pos + 1);
  if (s.code === 0x72 && (next === 0x22 || next === 0x27)) return stringLiteral(s, parseRawString);
  if (s.sql && next === 0x27 && (s.code | 0x20) === 0x65) return stringLiteral(s, parseEscapedString);
  const address = isHexDigit(s.code) ? parseIpv6(s) : undefined;
  if (address !== undefined) return address;
  const word = s.peekWord();
  if (word === 'NaN' || word === 'Inf') return literal(s, 'float64', word);
  const lower = word.length === 4 || word.length === 5 ? word.toLowerCase() : '';
  if (lower === 'true' || lower === 'false') return literal(s, 'bool', word, lower);
  if (lower === 'null') return literal(s, 'null', word, lower);
  return s.fail();
}

function literal(s: Scanner, type: LiteralType, source: string, text = source): LiteralExpr {
  const start = s.pos;
  s.pos += source.length;
  return { kind: 'literal', type, text, start: s.byte(start), end: s.byte(s.pos) };
}

function parseNumber(s: Scanner): LiteralExpr | undefined {
  const code = s.code;
  if (!isDigit(code)) {
    const word = s.text.slice(s.pos, s.pos + 4);
    if ((word === '+Inf' || word === '-Inf') && !s.continuesIdentifier(s.pos + 4)) return literal(s, 'float64', word);
    return code === 0x2b ? s.fail() : (parseExponent(s) ?? firstForm(s, signedForms));
  }
  return (
    (s.sql ? parseGrouped(s) : undefined) ??
    parseIpv6(s) ??
    parseExponent(s) ??
    firstForm(s, unsignedForms) ??
    firstForm(s, signedForms)
  );
}

const grouped = /\d+(?:_\d+)+(?:\.\d+(?:_\d+)*)?/y;
/** `1_000_000` of SQL. */
function parseGrouped(s: Scanner): LiteralExpr | undefined {
  grouped.lastIndex = s.pos;
  const text = grouped.exec(s.text)?.[0];
  if (text === undefined || s.continuesIdentifier(s.pos + text.length)) return undefined;
  return literal(s, text.includes('.') ? 'float64' : 'int64', text, text.replaceAll('_', ''));
}

/** `1e9`, a float without a point: in SQL alone. */
function parseExponent(s: Scanner): LiteralExpr | undefined {
  exponent.lastIndex = s.pos;
  const text = s.sql ? exponent.exec(s.text)?.[0] : undefined;
  return text === undefined || s.continuesIdentifier(s.pos + text.length) ? undefined : literal(s, 'float64', text);
}

function firstForm(s: Scanner, forms: readonly Form[]): LiteralExpr | undefined {
  const start = s.pos;
  for (const beginning of [timeBeginning, ipv4Beginning]) {
    beginning.lastIndex = start;
    if (beginning.test(s.text)) s.fail(beginning.lastIndex);
  }
  for (const { type, pattern, whole } of forms) {
    pattern.lastIndex = start;
    const text = pattern.exec(s.text)?.[0];
    if (text === undefined) continue;
    if (whole && s.continuesIdentifier(start + text.length)) {
      s.fail(start + text.length);
      continue;
    }
    return literal(s, type === 'ip' && text.includes('/') ? 'net' : type, text);
  }
  return s.fail(s.code === 0x2e ? start + 1 : start);
}

function parseIpv6(s: Scanner): LiteralExpr | undefined {
  const start = s.pos;
  if (s.code !== 0x3a) {
    // Only hexadecimal digits before a colon can begin an address; this is the usual way out.
    hexRun.lastIndex = start;
    if (!hexRun.test(s.text)) return s.fail();
    if (s.text.charCodeAt(hexRun.lastIndex) !== 0x3a) return s.fail(hexRun.lastIndex);
  } else if (s.text.charCodeAt(start + 1) !== 0x3a) return s.fail();
  ipv6.lastIndex = start;
  const text = ipv6.exec(s.text)?.[0];
  if (text === undefined) {
    hexGroups.lastIndex = start;
    hexGroups.test(s.text);
    return s.fail(hexGroups.lastIndex);
  }
  if (!endsAddress(s, start + text.length, text)) return s.fail();
  return literal(s, text.includes('/') ? 'net' : 'ip', text);
}

/** Before a further `::`, what may be an integer and a type's name is no address. */
const castOfInteger = /^\d+::[a-fA-F]/;

/**
 * `a::int64`, `1::=foo`, `1::[..]` and their like are casts, not the addresses `a::` and `1::`; but `::1::net` is a
 * cast of an address, and `1::a::b` of 1.
 */
function endsAddress(s: Scanner, end: number, text: string): boolean {
  const code = s.text.codePointAt(end);
  if (code === undefined) return true;
  const next = s.text[end + 1];
  if (isIdentifierPart(code) || (code === 0x3a && (next !== ':' || castOfInteger.test(text)))) return false;
  if (!text.endsWith('::') || text === '::') return true;
  if (code === 0x3d) return next === '=';
  if (code === 0x7c) return next !== '[' && next !== '{';
  return !'({[<"\'`'.includes(s.text[end]);
}

function isHexDigit(code: number): boolean {
  return isDigit(code) || ((code | 0x20) >= 0x61 && (code | 0x20) <= 0x66);
}
