/**
 * Types as SQL writes them: `double precision`, `decimal(10,2)`, `varchar(20)[]`, `struct(a int, b text)`. Only inside
 * of SQL operators, where they go before the names of pipes.
 */
import type { SqlTypeNode } from '../../ast.ts';
import { parseList, parseSqlId } from '../strings.ts';
import type { Scanner } from '../scanner.ts';
import { type SqlType, decimalPrecisionMax, sqlTypeNamed } from '../../sql/values/types.ts';

/** A type with the brackets of arrays behind it. */
export function parseSqlType(s: Scanner): SqlTypeNode | undefined {
  const start = s.pos;
  const isOfPipes = s.peekWord() === 'string';
  s.enter();
  let type = parseBase(s);
  s.leave();
  while (type !== undefined) {
    const length = parseBrackets(s);
    // `string` alone is the type of pipes, with the texts of SUP.
    if (length === undefined && isOfPipes && type.kind === 'plain') break;
    if (length === undefined) return { kind: 'sql-type', type, start: s.byte(start), end: s.byte(s.pos) };
    type = { kind: 'list', element: type, ...(length !== 'any' && { length }) };
  }
  s.pos = start;
  return undefined;
}

/** `[]`, `[3]` or `array`. */
function parseBrackets(s: Scanner): number | 'any' | undefined {
  const start = s.pos;
  if (s.spaceKeyword('array')) return 'any';
  if (s.takeNext('[')) {
    s.skip();
    const digits = s.match(/\d*/y);
    if (s.takeNext(']')) return digits ? Number(digits) : 'any';
  }
  s.pos = start;
  return undefined;
}

function parseBase(s: Scanner): SqlType | undefined {
  const start = s.pos;
  const word = s.peekWord();
  const lower = word.toLowerCase();
  if (word === '') return s.fail();
  s.pos += word.length;
  const type = parseNested(s, lower) ?? parseNamed(s, lower, word);
  if (type === undefined) s.pos = start;
  return type;
}

function parseNested(s: Scanner, word: string): SqlType | undefined {
  if ((word !== 'struct' && word !== 'row' && word !== 'map') || !s.takeNext('(')) return undefined;
  s.skip();
  if (word !== 'map') {
    const fields = parseList(s, parseField);
    return fields !== undefined && s.takeNext(')') ? { kind: 'struct', fields } : undefined;
  }
  const types = parseList(s, parseSqlType);
  const [key, value] = types ?? [];
  return types?.length === 2 && s.takeNext(')') ? { kind: 'map', key: key!.type, value: value!.type } : undefined;
}

function parseField(s: Scanner): { readonly name: string; readonly type: SqlType } | undefined {
  const name = parseSqlId(s);
  if (name === undefined || !s.space()) return undefined;
  const type = parseSqlType(s);
  return type && { name: name.text, type: type.type };
}

function parseNamed(s: Scanner, word: string, written: string): SqlType | undefined {
  const type = sqlTypeNamed(word);
  if (type === undefined) return s.fail(s.pos - written.length);
  if (word === 'double') s.spaceKeyword('precision');
  else if (word === 'character' || word === 'char') s.spaceKeyword('varying');
  if (type.kind === 'decimal') return parseDigits(s) ?? type;
  // The length of a text bounds nothing; a time has the digits that it has.
  if (
    type.kind === 'timestamp' ||
    type.kind === 'clock' ||
    (type.kind === 'plain' && type.type.kind === 'primitive' && type.type.name === 'string')
  )
    parseNumbers(s);
  if (word === 'timestamp' || word === 'time') {
    const isZoned = parseZone(s);
    // A time of day has no zone here: the fault is that of the name `timetz`.
    if (isZoned && word === 'time') return s.fail(s.pos - 1);
    if (isZoned && type.kind === 'timestamp') return { ...type, zoned: true };
  }
  return type;
}

/** `with time zone`, `without time zone`; tells whether it is the former. */
function parseZone(s: Scanner): boolean {
  const start = s.pos;
  const isZoned = s.spaceKeyword('with');
  if ((isZoned || s.spaceKeyword('without')) && s.spaceKeyword('time') && s.spaceKeyword('zone')) return isZoned;
  s.pos = start;
  return false;
}

function parseDigits(s: Scanner): SqlType | undefined {
  const start = s.pos;
  const [precision, scale = 0] = parseNumbers(s) ?? [];
  if (precision === undefined) return undefined;
  if (precision < 1 || precision > decimalPrecisionMax || scale > precision) {
    s.pos = start;
    return undefined;
  }
  return { kind: 'decimal', precision, scale };
}

/** `(n, ..)`. */
function parseNumbers(s: Scanner): readonly number[] | undefined {
  const start = s.pos;
  if (s.takeNext('(')) {
    s.skip();
    const digits = parseList(s, (scanner) => scanner.match(/\d{1,9}/y)) ?? [];
    if (s.takeNext(')')) return digits.map(Number);
  }
  s.pos = start;
  return undefined;
}
