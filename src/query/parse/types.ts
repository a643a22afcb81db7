/** Types (grammar.md, section 2): in `<…>`, declarations and casts. */
import type { CastTarget, PrimitiveName, TypeField, TypeNode, TypePrimitive } from '../ast.ts';
import type { Scanner } from './scanner.ts';
import { parseSqlType } from './sql/types.ts';
import { parseId, parseList, parseName } from './strings.ts';

const primitives: ReadonlySet<string> = new Set<PrimitiveName>([
  'uint8',
  'uint16',
  'uint32',
  'uint64',
  'int8',
  'int16',
  'int32',
  'int64',
  'float16',
  'float32',
  'float64',
  'bool',
  'string',
  'duration',
  'time',
  'bytes',
  'ip',
  'net',
  'type',
  'null',
]);

const aliases: ReadonlyMap<string, PrimitiveName> = new Map<string, PrimitiveName>([
  ['bigint', 'int64'],
  ['int', 'int32'],
  ['integer', 'int32'],
  ['smallint', 'int16'],
  ['real', 'float32'],
  ['float', 'float64'],
  ['boolean', 'bool'],
  ['text', 'string'],
  ['char', 'string'],
  ['varchar', 'string'],
  ['character', 'string'],
  ['bytea', 'bytes'],
  ['interval', 'duration'],
  ['inet', 'ip'],
  ['cidr', 'net'],
]);

/** A type with unions and names. */
export function parseType(s: Scanner): TypeNode | undefined {
  const start = s.pos;
  const first = parseMember(s, true);
  if (first === undefined) return undefined;
  const types = [first];
  for (;;) {
    const before = s.pos;
    if (!s.takeNext('|')) break;
    s.skip();
    const next = parseMember(s, true);
    if (next === undefined) {
      s.pos = before;
      break;
    }
    types.push(next);
  }
  return types.length === 1 ? first : { kind: 'type-union', types, start: s.byte(start), end: s.byte(s.pos) };
}

/** What stands behind `::`: no bare unions, names as expressions, or `=name`. */
export function parseCastTarget(s: Scanner): CastTarget | undefined {
  const start = s.pos;
  const sqlType = s.sql ? parseSqlType(s) : undefined;
  if (sqlType !== undefined) return sqlType;
  if (s.code === 0x3d) {
    s.pos++;
    s.skip();
    const name = parseName(s);
    if (name !== undefined) return { kind: 'cast-name', name: name.text, start: s.byte(start), end: name.end };
    s.pos = start;
    return undefined;
  }
  const type = parseMember(s, false);
  if (type !== undefined) return type;
  const quoted = s.code === 0x60;
  const name = parseId(s);
  return name === undefined ? undefined : { kind: 'id', name: name.text, quoted, start: name.start, end: name.end };
}

function parseMember(s: Scanner, names: boolean): TypeNode | undefined {
  const start = s.pos;
  s.enter();
  const member = parseMemberForm(s, names);
  s.leave();
  if (member === undefined) s.pos = start;
  return member;
}

function parseMemberForm(s: Scanner, names: boolean): TypeNode | undefined {
  const start = s.pos;
  switch (s.text[start]) {
    case '(': {
      const type = s.take('(') ? parseInner(s) : undefined;
      return type !== undefined && s.takeNext(')') ? type : undefined;
    }
    case '{':
      return parseRecordType(s);
    case '[': {
      const elem = s.take('[') ? parseInner(s) : undefined;
      return elem !== undefined && s.takeNext(']')
        ? { kind: 'type-array', elem, start: s.byte(start), end: s.byte(s.pos) }
        : undefined;
    }
    case '|':
      return s.text[start + 1] === '{' ? parseMapType(s) : parseSetType(s);
    default:
      return parseWordType(s, names);
  }
}

function parseInner(s: Scanner): TypeNode | undefined {
  s.skip();
  return parseType(s);
}

function parseSetType(s: Scanner): TypeNode | undefined {
  const start = s.pos;
  if (!s.take('|[')) return undefined;
  const elem = parseInner(s);
  if (elem === undefined || !s.takeNext(']|')) return undefined;
  return { kind: 'type-set', elem, start: s.byte(start), end: s.byte(s.pos) };
}

function parseMapType(s: Scanner): TypeNode | undefined {
  const start = s.pos;
  if (!s.take('|{')) return undefined;
  const key = parseInner(s);
  if (key === undefined || !s.takeNext(':')) return undefined;
  const value = parseInner(s);
  if (value === undefined || !s.takeNext('}|')) return undefined;
  return { kind: 'type-map', key, value, start: s.byte(start), end: s.byte(s.pos) };
}

function parseRecordType(s: Scanner): TypeNode | undefined {
  const start = s.pos;
  s.pos++;
  s.skip();
  const fields = parseList(s, parseTypeField) ?? [];
  return s.takeNext('}') ? { kind: 'type-record', fields, start: s.byte(start), end: s.byte(s.pos) } : undefined;
}

function parseTypeField(s: Scanner): TypeField | undefined {
  const name = parseName(s);
  if (name === undefined) return undefined;
  const optional = s.takeNext('?');
  if (!s.takeNext(':')) return undefined;
  const type = parseInner(s);
  return type === undefined
    ? undefined
    : { kind: 'type-field', name, optional, type, start: name.start, end: s.byte(s.pos) };
}

function parseWordType(s: Scanner, names: boolean): TypeNode | undefined {
  const start = s.pos;
  const word = s.peekWord();
  if (primitives.has(word)) {
    s.pos += word.length;
    return { kind: 'type-primitive', name: word as PrimitiveName, start: s.byte(start), end: s.byte(s.pos) };
  }
  const lower = word.toLowerCase();
  const found =
    parseAlias(s, lower) ?? (lower === 'error' ? parseErrorType(s) : lower === 'enum' ? parseEnumType(s) : undefined);
  if (found !== undefined) return found;
  return names ? parseNamedType(s) : s.fail();
}

function parseAlias(s: Scanner, lower: string): TypePrimitive | undefined {
  const start = s.pos;
  const two = lower === 'double' ? 'precision' : lower === 'character' ? 'varying' : undefined;
  const single = aliases.get(lower);
  if (two === undefined && single === undefined) return undefined;
  s.pos += lower.length;
  const both = two !== undefined && s.spaceKeyword(two);
  const name = both ? (two === 'precision' ? 'float64' : 'string') : single;
  if (name === undefined) {
    s.pos = start;
    return undefined;
  }
  return { kind: 'type-primitive', name, alias: s.text.slice(start, s.pos), start: s.byte(start), end: s.byte(s.pos) };
}

function parseErrorType(s: Scanner): TypeNode | undefined {
  const start = s.pos;
  s.pos += 5;
  const type = s.takeNext('(') ? parseInner(s) : undefined;
  if (type !== undefined && s.takeNext(')'))
    return { kind: 'type-error', type, start: s.byte(start), end: s.byte(s.pos) };
  s.pos = start;
  return undefined;
}

function parseEnumType(s: Scanner): TypeNode | undefined {
  const start = s.pos;
  s.pos += 4;
  if (s.takeNext('(')) {
    s.skip();
    const symbols = parseList(s, parseName);
    if (symbols !== undefined && s.takeNext(')'))
      return { kind: 'type-enum', symbols, start: s.byte(start), end: s.byte(s.pos) };
  }
  s.pos = start;
  return undefined;
}

function parseNamedType(s: Scanner): TypeNode | undefined {
  const name = parseName(s);
  if (name === undefined) return undefined;
  const behind = s.pos;
  const type = s.takeNext('=') ? parseInner(s) : undefined;
  if (type !== undefined) return { kind: 'type-named', name: name.text, type, start: name.start, end: type.end };
  s.pos = behind;
  return { kind: 'type-name', name: name.text, start: name.start, end: name.end };
}
