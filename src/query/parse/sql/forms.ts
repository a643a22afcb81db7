/**
 * Primary expressions that SQL alone has: typed literals, intervals, ARRAY[..], TRY_CAST. Their words are ordinary
 * names wherever none of these forms follows.
 */
import type { CallExpr, Expr, IntervalExpr, LiteralExpr } from '../../ast.ts';
import { intervalUnit } from '../../analyze/intervals.ts';
import { parseArgs } from '../calls.ts';
import { parseExpr } from '../expressions.ts';
import { parseArray, parseCastCall } from '../primaries.ts';
import { isAhead } from './sets.ts';
import { parseSqlType } from './types.ts';
import { parseQuoted } from '../strings.ts';
import type { Scanner } from '../scanner.ts';
import { sqlTypeNamed } from '../../sql/values/types.ts';

const typedLiteral =
  /[a-z_][a-z_0-9]*(?:\s*\([\d\s,]*\))?(?:\s+precision|\s+varying|\s+with(?:out)?\s+time\s+zone)?(?:\s*\[\d*\])*\s*'/iy;
const interval = /interval\s*(?:'|\(|-?\d|-?\.\d)/iy;
const array = /array\s*\[/iy;
const attempt = /try_cast\s*\(/iy;
const overlay = /overlay\s*\(/iy;
const trim = /trim\s*\(/iy;
const madeRows = /(?:regexp_split_to_table|generate_subscripts)\s*\(/iy;

/** One of these forms, by its first letter. */
export function parseSqlForm(s: Scanner): Expr | undefined {
  if (s.code === 0x23) return parsePosition(s);
  switch (s.code | 0x20) {
    case 0x69:
      if (isAhead(s, interval)) return parseInterval(s);
      break;
    case 0x61:
      if (isAhead(s, array)) return parseArrayForm(s);
      break;
    case 0x6f:
      if (isAhead(s, overlay)) return parseOverlay(s);
      break;
    case 0x74:
      if (isAhead(s, attempt)) return parseCastCall(s, 'try_cast');
      if (isAhead(s, trim)) return parseTrim(s);
      break;
    case 0x67:
    case 0x72:
      if (isAhead(s, madeRows)) return parseMadeRows(s);
      break;
  }
  return isAhead(s, typedLiteral) ? parseTypedLiteral(s) : undefined;
}

function parseArrayForm(s: Scanner): Expr | undefined {
  const start = s.pos;
  s.pos += 'array'.length;
  s.skip();
  const list = parseArray(s);
  if (list !== undefined) return { ...list, start: s.byte(start) };
  s.pos = start;
  return undefined;
}

/** Past the name and the bracket behind it. */
const opensCall = (s: Scanner, name: string): boolean => {
  s.pos += name.length;
  s.skip();
  s.nestings++;
  return s.take('(');
};

/** `OVERLAY(s PLACING t FROM start [FOR length])`; with commas it is a call like any other. */
function parseOverlay(s: Scanner): Expr | undefined {
  const start = s.pos;
  const args: Expr[] = [];
  const callee = {
    kind: 'name',
    text: 'overlay',
    start: s.byte(start),
    end: s.byte(start + 'overlay'.length),
  } as const;
  const argument = (): boolean => {
    s.skip();
    const found = parseExpr(s);
    if (found) args.push(found);
    return found !== undefined;
  };
  const isWhole =
    opensCall(s, 'overlay') &&
    argument() &&
    s.spaceKeyword('placing') &&
    argument() &&
    s.spaceKeyword('from') &&
    argument() &&
    (!s.spaceKeyword('for') || argument()) &&
    s.takeNext(')');
  if (isWhole) return { kind: 'call', callee, args, start: s.byte(start), end: s.byte(s.pos) };
  s.pos = start;
  return undefined;
}

const trimmers = { both: 'trim', leading: 'ltrim', trailing: 'rtrim' } as const;
/** `TRIM([BOTH | LEADING | TRAILING] [characters] FROM s)`; with commas it is a call like any other. */
function parseTrim(s: Scanner): Expr | undefined {
  const start = s.pos;
  if (opensCall(s, 'trim')) {
    s.skip();
    const word = (['both', 'leading', 'trailing'] as const).find((side) => isAhead(s, sides[side]) && s.keyword(side));
    if (word) s.skip();
    const characters = isAhead(s, /from\b/iy) ? undefined : parseExpr(s);
    const isFrom = characters ? s.apartKeyword('from') : s.keyword('from') && s.skip();
    const text = isFrom ? parseExpr(s) : word && characters;
    if (text !== undefined && (isFrom || word) && s.takeNext(')')) {
      const span = { start: s.byte(start), end: s.byte(s.pos) };
      const callee = { kind: 'name', text: trimmers[word ?? 'both'], ...span } as const;
      return { kind: 'call', callee, args: isFrom && characters ? [text, characters] : [text], ...span };
    }
  }
  s.pos = start;
  return undefined;
}
/** A column may be called so. */
const sides = {
  both: /both\b(?!\s*[,).])/iy,
  leading: /leading\b(?!\s*[,).])/iy,
  trailing: /trailing\b(?!\s*[,).])/iy,
};

/**
 * `REGEXP_SPLIT_TO_TABLE(s, pattern)`: the parts of the text, each in a row of its own. `GENERATE_SUBSCRIPTS(list, 1)`:
 * the places of the elements.
 */
function parseMadeRows(s: Scanner): Expr | undefined {
  const start = s.pos;
  const isSplit = (s.code | 0x20) === 0x72;
  if (opensCall(s, isSplit ? 'regexp_split_to_table' : 'generate_subscripts')) {
    s.skip();
    const args = parseArgs(s) ?? [];
    if (s.takeNext(')')) {
      const span = { start: s.byte(start), end: s.byte(s.pos) };
      const call = (text: string, given: CallExpr['args']): CallExpr => ({
        kind: 'call',
        callee: { kind: 'name', text, ...span },
        args: given,
        ...span,
      });
      const one = { kind: 'literal', type: 'int64', text: '1', ...span } as const;
      const list = isSplit
        ? call('regexp_split_to_array', args)
        : call('generate_series', [one, call('array_length', args)]);
      return call('unnest', [list]);
    }
  }
  s.pos = start;
  return undefined;
}

function parseText(s: Scanner): LiteralExpr | undefined {
  const start = s.pos;
  const text = s.code === 0x27 ? parseQuoted(s) : s.fail();
  return text === undefined
    ? undefined
    : { kind: 'literal', type: 'string', text, start: s.byte(start), end: s.byte(s.pos) };
}

/** `DOUBLE '1.5'`: a cast of the text. DATE and TIMESTAMP have a node of their own. */
function parseTypedLiteral(s: Scanner): Expr | undefined {
  const start = s.pos;
  const word = s.peekWord().toLowerCase();
  if (sqlTypeNamed(word) === undefined || isAhead(s, /(?:date|timestamp)\s*'/iy)) return undefined;
  const target = parseSqlType(s);
  s.skip();
  const expr = target && parseText(s);
  if (target !== undefined && expr !== undefined)
    return { kind: 'cast', call: true, expr, target, start: s.byte(start), end: s.byte(s.pos) };
  s.pos = start;
  return undefined;
}

/** `INTERVAL '1 day'`, `INTERVAL '1' DAY`, `INTERVAL 1 DAY`, `INTERVAL (e) DAY`. */
function parseInterval(s: Scanner): IntervalExpr | undefined {
  const start = s.pos;
  s.pos += 'interval'.length;
  s.skip();
  const amount = parseText(s) ?? parseNumber(s) ?? parseEnclosed(s);
  const unit = amount === undefined ? undefined : parseUnit(s);
  // A text may have its units in itself.
  if (amount !== undefined && (unit !== undefined || (amount.kind === 'literal' && amount.type === 'string'))) {
    return { kind: 'interval', amount, ...(unit !== undefined && { unit }), start: s.byte(start), end: s.byte(s.pos) };
  }
  s.pos = start;
  return undefined;
}
function parseNumber(s: Scanner): LiteralExpr | undefined {
  const start = s.pos;
  const text = s.match(/-?(?:\d+\.?\d*|\.\d+)/y);
  return text === undefined
    ? undefined
    : { kind: 'literal', type: /\./.test(text) ? 'float64' : 'int64', text, start: s.byte(start), end: s.byte(s.pos) };
}
function parseEnclosed(s: Scanner): Expr | undefined {
  s.nestings++;
  if (!s.take('(')) return undefined;
  s.skip();
  const expr = parseExpr(s);
  return expr !== undefined && s.takeNext(')') ? expr : undefined;
}
function parseUnit(s: Scanner): string | undefined {
  const before = s.pos;
  s.skip();
  const word = s.peekWord();
  // One letter is an alias sooner than a unit.
  if (word.length > 1 && intervalUnit(word) !== undefined) {
    s.pos += word.length;
    return word;
  }
  s.pos = before;
  return undefined;
}

/** `#n`: a column by its place. */
function parsePosition(s: Scanner): Expr | undefined {
  const start = s.pos;
  const text = s.match(/#[1-9]\d{0,5}/y);
  return text === undefined
    ? undefined
    : {
        kind: 'id',
        name: text,
        quoted: false,
        position: Number(text.slice(1)),
        start: s.byte(start),
        end: s.byte(s.pos),
      };
}
