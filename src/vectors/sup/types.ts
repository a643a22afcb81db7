/** Types in a SUP text (reference/formats/sup.md section 3), without angle brackets. */
import { SupError } from './error.ts';
import { extentOf } from '../type-limits.ts';
import type { SupScanner } from './scanner.ts';
import {
  type Type,
  arrayType,
  componentsMax,
  enumType,
  errorType,
  mapType,
  namedType,
  primitiveNamed,
  recordType,
  setType,
  unionType,
} from '../type.ts';

/** A type, or a union of several. @throws SupError */
export function readType(s: SupScanner): Type {
  const first = readComponent(s);
  const members = [first];
  for (;;) {
    const start = s.at;
    s.space();
    // `|[`, `|{` and `||` begin members too; `]|` and `}|` close a set or map around.
    if (s.code() !== 0x7c) {
      s.at = start;
      break;
    }
    s.at++;
    members.push(readComponent(s));
  }
  if (members.length > componentsMax) s.parseError(`too many members in union (limit ${componentsMax})`);
  return members.length === 1 ? first : unionType(members);
}

/** A type that is no union, unless in parentheses: what stands behind `::`. @throws SupError */
export function readComponent(s: SupScanner): Type {
  s.skip();
  s.enter();
  const type = readInside(s);
  s.depth--;
  return type;
}

function readInside(s: SupScanner): Type {
  if (s.take('{')) return readRecordType(s);
  if (s.take('[')) {
    const element = readType(s);
    s.expect(']', 'mismatched brackets while parsing array type');
    return arrayType(element);
  }
  if (s.take('|[')) {
    const element = readType(s);
    s.expect(']|', 'mismatched set-brackets while parsing set type');
    return setType(element);
  }
  if (s.take('|{')) {
    const key = readType(s);
    s.expect(':');
    const value = readType(s);
    s.expect('}|', 'mismatched set-brackets while parsing map type');
    return mapType(key, value);
  }
  if (s.take('(')) return readParenthesised(s);
  return readNamed(s);
}

function readParenthesised(s: SupScanner): Type {
  const type = readType(s);
  s.skip();
  if (s.code() === 0x2c) s.parseError('union components are separated by pipe symbol (|) not comma');
  s.expect(')', 'mismatched parentheses while parsing type value');
  return type;
}

function readRecordType(s: SupScanner): Type {
  const fields: { name: string; type: Type; optional: boolean }[] = [];
  const seen = new Set<string>();
  for (;;) {
    s.skip();
    if (s.take('}')) break;
    const name = s.fieldName();
    s.skip();
    const optional = s.take('?');
    s.expect(':');
    const type = readType(s);
    if (seen.has(name)) throw new SupError(`duplicate field: "${name}"`);
    if (fields.length === componentsMax) s.parseError(`too many fields in record type (limit ${componentsMax})`);
    seen.add(name);
    fields.push({ name, type, optional });
    s.skip();
    if (s.take(',')) continue;
    s.expect('}', 'mismatched braces while parsing record type');
    break;
  }
  return recordType(fields);
}

function readNamed(s: SupScanner): Type {
  const quoted = s.code() === 0x22;
  const name = s.typeName();
  if (!quoted) {
    const known = primitiveNamed(name);
    if (known) return known;
    if ((name === 'error' || name === 'enum') && takeParenthesis(s))
      return name === 'error' ? readErrorType(s) : readEnum(s);
  }
  const start = s.at;
  s.space();
  if (s.take('=')) return defineType(s, name, readType(s));
  s.at = start;
  const found = s.names.get(name);
  if (!found) throw new SupError(`no such type name: "${name}"`);
  return found;
}

/** Takes an opening parenthesis, also behind white space. */
function takeParenthesis(s: SupScanner): boolean {
  const start = s.at;
  s.space();
  if (s.take('(')) return true;
  s.at = start;
  return false;
}

function readErrorType(s: SupScanner): Type {
  const inner = readType(s);
  s.expect(')', 'mismatched parentheses while parsing error type');
  return errorType(inner);
}

function readEnum(s: SupScanner): Type {
  const symbols: string[] = [];
  for (;;) {
    s.skip();
    if (s.take(')')) break;
    symbols.push(s.fieldName());
    s.skip();
    if (s.take(',')) continue;
    s.expect(')', 'mismatched parentheses while parsing enum type');
    break;
  }
  if (symbols.length > componentsMax) s.parseError(`too many symbols in enum (limit ${componentsMax})`);
  return enumType(symbols);
}

/** Keeps the type under a name, for the rest of the text. @throws SupError */
export function defineType(s: SupScanner, name: string, inner: Type): Type {
  if (primitiveNamed(name)) throw new SupError(`bad type name "${name}": primitive type name`);
  // A name of digits alone is only short for the type (sup.md section 3).
  const type = /^\d+$/.test(name) ? inner : namedType(name, inner);
  // Names of names add a level each, in as many values.
  if (extentOf(type).depth > s.nestingMax) s.tooDeep();
  s.names.set(name, type);
  return type;
}
