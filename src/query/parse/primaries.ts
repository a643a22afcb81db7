/**
 * Primary expressions (grammar.md, section 7): literals, names, containers, parentheses, subqueries and the forms with
 * keywords.
 */
import type {
  ArrayExpr,
  CallExpr,
  CaseExpr,
  CaseWhen,
  CastTarget,
  DateExpr,
  Expr,
  IdExpr,
  LambdaNode,
  MapEntry,
  NameNode,
  QueryNode,
  RecordElem,
  RecordExpr,
  Spread,
} from '../ast.ts';
import type { Scanner } from './scanner.ts';
import { isColumnsAhead, parseColumns } from './sql/columns.ts';
import { isLambdaAhead, parseCallOrId, parseLambdaCall } from './calls.ts';
import { parseExpr, parseStringLiteral } from './expressions.ts';
import { parseLiteral } from './literals.ts';
import { parseQuery } from './program.ts';
import { parseFString, parseId, parseList, parseName, parseQuoted } from './strings.ts';
import { parseSqlForm } from './sql/forms.ts';
import { parseCastTarget, parseType } from './types.ts';

/** A primary expression, by its first character. */
export function parsePrimary(s: Scanner): Expr | undefined {
  const next = s.text[s.pos + 1];
  switch (s.text[s.pos]) {
    case '(':
      return parseParenthesized(s);
    case '[':
      return parseArray(s);
    case '{':
      return parseRecord(s);
    case '|':
      return next === '{' ? parseMap(s) : next === '[' ? parseSet(s) : s.fail();
    case '<':
      return parseTypeValue(s);
    case '"':
      return s.sql ? parseQuotedId(s) : parseLiteral(s);
    case '`':
      return parseCallOrId(s);
    case 'f':
      if (next === '"' || next === "'") return parseFString(s);
      break;
  }
  return (
    (s.sql ? (parseSqlForm(s) ?? (isColumnsAhead(s) ? parseColumns(s) : undefined)) : undefined) ??
    parseKeywordForm(s) ??
    parseLiteral(s) ??
    parseCallOrId(s)
  );
}

function parseKeywordForm(s: Scanner): Expr | undefined {
  switch (s.code | 0x20) {
    case 0x63:
      return s.peekWord().length === 4 ? (parseCase(s) ?? parseCastCall(s)) : undefined;
    case 0x65:
      return parseExists(s) ?? parseExtract(s);
    case 0x6c:
      return isLambdaAhead(s) ? parseLambdaCall(s) : undefined;
    case 0x6d:
      return s.sql ? parseSqlMap(s) : undefined;
    case 0x73:
      return parseSubstring(s);
    case 0x61:
      return s.sql ? parseArrayOf(s) : undefined;
    case 0x64:
    case 0x74:
      return parseDate(s);
    default:
      return undefined;
  }
}

function parseQuotedId(s: Scanner): IdExpr | undefined {
  const start = s.pos;
  const double = s.code === 0x22;
  const name = parseQuoted(s);
  return name === undefined
    ? undefined
    : { kind: 'id', name, quoted: true, ...(double && { double }), start: s.byte(start), end: s.byte(s.pos) };
}

function parseTypeValue(s: Scanner): Expr | undefined {
  const start = s.pos++;
  s.skip();
  const type = parseType(s);
  if (type !== undefined && s.takeNext('>'))
    return { kind: 'type-value', type, start: s.byte(start), end: s.byte(s.pos) };
  s.pos = start;
  return undefined;
}

/** Called lambda, tuple, expression in parentheses, subquery: in this order. */
function parseParenthesized(s: Scanner): Expr | undefined {
  const start = s.pos;
  s.nestings++;
  const called = isLambdaAhead(s) ? parseLambdaCall(s) : undefined;
  if (called !== undefined) return called;
  s.pos++;
  s.skip();
  // No call of a function of that name, which SQL does not have.
  const first = s.sql && areRowsAhead(s) ? undefined : parseExpr(s);
  if (first !== undefined) {
    if (s.takeNext(')'))
      return first.kind === 'columns' && first.unpacked
        ? { kind: 'tuple', elems: [first], start: s.byte(start), end: s.byte(s.pos) }
        : first;
    const elems = s.takeNext(',') ? parseRest(s) : undefined;
    if (elems !== undefined && s.takeNext(')'))
      return { kind: 'tuple', elems: [first, ...elems], start: s.byte(start), end: s.byte(s.pos) };
  }
  s.pos = start;
  const query = parseEnclosedQuery(s, '(', ')');
  return query === undefined ? undefined : { kind: 'subquery', query, start: s.byte(start), end: s.byte(s.pos) };
}

/** Whether VALUES and a row come next. Takes nothing. */
function areRowsAhead(s: Scanner): boolean {
  const start = s.pos;
  const isAhead = s.keyword('values') && s.takeNext('(');
  s.pos = start;
  return isAhead;
}

function parseRest(s: Scanner): Expr[] | undefined {
  s.skip();
  return parseList(s, parseExpr);
}

/** A query between two brackets, maybe after white space. */
export function parseEnclosedQuery(s: Scanner, open: string, close: string): QueryNode | undefined {
  const start = s.pos;
  if (s.takeNext(open)) {
    s.skip();
    s.nestings++;
    const query = parseQuery(s);
    if (query !== undefined && s.takeNext(close)) return query;
  }
  s.pos = start;
  return undefined;
}

/** `[..]`: elements or a query. */
export function parseArray(s: Scanner): Expr | undefined {
  const start = s.pos++;
  s.nestings++;
  const elems = parseElems(s);
  const [only] = elems;
  if (s.sql && elems.length === 1 && only !== undefined && only.kind !== 'spread') {
    const comprehension = parseComprehension(s, only, start);
    if (comprehension !== undefined) return comprehension;
  }
  if (s.takeNext(']')) return { kind: 'array', elems, start: s.byte(start), end: s.byte(s.pos) };
  s.pos = start;
  const query = parseEnclosedQuery(s, '[', ']');
  return query === undefined ? undefined : { kind: 'array-subquery', query, start: s.byte(start), end: s.byte(s.pos) };
}

/** `array(query)`. */
function parseArrayOf(s: Scanner): Expr | undefined {
  const start = s.pos;
  const query = s.keyword('array') ? parseEnclosedQuery(s, '(', ')') : undefined;
  if (query !== undefined)
    return { kind: 'array-subquery', query, ofColumn: true, start: s.byte(start), end: s.byte(s.pos) };
  s.pos = start;
  return undefined;
}

/** `[value for x[, i] in list [if test]]`: list_transform over list_filter. */
function parseComprehension(s: Scanner, value: Expr, from: number): Expr | undefined {
  const before = s.pos;
  if (s.gapKeyword('for')) {
    s.skip();
    const params = parseList(s, parseId);
    if (params !== undefined && s.gapKeyword('in')) {
      s.skip();
      const list = parseExpr(s);
      const test = parseClause(s, 'if');
      if (list !== undefined && s.takeNext(']')) {
        const span = { start: s.byte(from), end: s.byte(s.pos) };
        const over = (name: string, of: Expr, names: readonly NameNode[], body: Expr): CallExpr => ({
          kind: 'call',
          callee: nameAt(name, span),
          args: [of, lambdaOf(names, body)],
          ...span,
        });
        // With a place beside the element both are worked out together: a list that is filtered first counts again.
        if (test && params.length > 1) {
          const pair: Expr = { kind: 'record', elems: [field('test', test), field('value', value)], ...span };
          const picked = nameAt('picked', span);
          const of = (name: string): Expr => ({
            kind: 'dot',
            expr: { kind: 'id', name: 'picked', quoted: false, ...span },
            name: nameAt(name, span),
            ...span,
          });
          return over(
            'list_transform',
            over('list_filter', over('list_transform', list, params, pair), [picked], of('test')),
            [picked],
            of('value'),
          );
        }
        return over('list_transform', test ? over('list_filter', list, params, test) : list, params, value);
      }
    }
  }
  s.pos = before;
  return undefined;
}
const field = (name: string, expr: Expr): RecordElem => ({
  kind: 'record-field',
  name: nameAt(name, expr),
  expr,
  start: expr.start,
  end: expr.end,
});
const nameAt = (text: string, { start, end }: { readonly start: number; readonly end: number }): NameNode => ({
  kind: 'name',
  text,
  start,
  end,
});
const lambdaOf = (params: readonly NameNode[], body: Expr): LambdaNode => ({
  kind: 'lambda',
  params,
  body,
  start: body.start,
  end: body.end,
});

function parseSet(s: Scanner): Expr | undefined {
  const start = s.pos;
  s.nestings++;
  s.pos += 2;
  const elems = parseElems(s);
  if (s.takeNext(']|')) return { kind: 'set', elems, start: s.byte(start), end: s.byte(s.pos) };
  s.pos = start;
  return undefined;
}

function parseElems(s: Scanner): ArrayExpr['elems'] {
  s.skip();
  return parseList<Expr | Spread>(s, (scanner) => parseSpread(scanner) ?? parseExpr(scanner)) ?? [];
}

function parseSpread(s: Scanner): Spread | undefined {
  const start = s.pos;
  if (!s.take('...')) return undefined;
  s.skip();
  const expr = parseExpr(s);
  if (expr !== undefined) return { kind: 'spread', expr, start: s.byte(start), end: expr.end };
  s.pos = start;
  return undefined;
}

/** `{..}`. */
export function parseRecord(s: Scanner): RecordExpr | undefined {
  const start = s.pos;
  if (!s.take('{')) return undefined;
  s.nestings++;
  s.skip();
  const elems = parseList(s, parseRecordElem) ?? [];
  if (s.takeNext('}')) return { kind: 'record', elems, start: s.byte(start), end: s.byte(s.pos) };
  s.pos = start;
  return undefined;
}

function parseRecordElem(s: Scanner): RecordElem | undefined {
  const start = s.pos;
  const spread = parseSpread(s);
  if (spread !== undefined) return spread;
  const name = parseName(s);
  if (name !== undefined && s.takeNext(':')) {
    s.skip();
    const expr = parseExpr(s);
    if (expr !== undefined) return { kind: 'record-field', name, expr, start: name.start, end: expr.end };
  }
  s.pos = start;
  const expr = parseExpr(s);
  return expr === undefined ? undefined : { kind: 'record-value', expr, start: expr.start, end: expr.end };
}

function parseMap(s: Scanner): Expr | undefined {
  const start = s.pos;
  s.nestings++;
  s.pos += 2;
  s.skip();
  const entries = parseList(s, parseMapEntry) ?? [];
  if (s.takeNext('}|')) return { kind: 'map', entries, start: s.byte(start), end: s.byte(s.pos) };
  s.pos = start;
  return undefined;
}

/** `MAP {key: value, ..}`. */
function parseSqlMap(s: Scanner): Expr | undefined {
  const start = s.pos;
  if (s.keyword('map') && s.takeNext('{')) {
    s.nestings++;
    s.skip();
    const entries = parseList(s, parseMapEntry) ?? [];
    if (s.takeNext('}')) return { kind: 'map', entries, start: s.byte(start), end: s.byte(s.pos) };
  }
  s.pos = start;
  return undefined;
}

function parseMapEntry(s: Scanner): MapEntry | undefined {
  const start = s.pos;
  const key = parseExpr(s);
  if (key !== undefined && s.takeNext(':')) {
    s.skip();
    const value = parseExpr(s);
    if (value !== undefined) return { kind: 'map-entry', key, value, start: key.start, end: value.end };
  }
  s.pos = start;
  return undefined;
}

/** `CASE {WHEN ..} [ELSE ..] END [CASE]`, then the form with an operand. */
function parseCase(s: Scanner): CaseExpr | undefined {
  const start = s.pos;
  if (!s.keyword('case')) return undefined;
  s.nestings++;
  const behind = s.pos;
  const plain = parseCaseRest(s, start, undefined);
  if (plain !== undefined) return plain;
  s.pos = behind;
  const operand = s.gap() ? parseExpr(s) : undefined;
  const found = operand === undefined ? undefined : parseCaseRest(s, start, operand);
  if (found === undefined) s.pos = start;
  return found;
}

function parseCaseRest(s: Scanner, start: number, operand: Expr | undefined): CaseExpr | undefined {
  const whens: CaseWhen[] = [];
  for (;;) {
    const when = parseWhen(s);
    if (when === undefined) break;
    whens.push(when);
  }
  const before = s.pos;
  let otherwise: Expr | undefined;
  if (s.apartKeyword('else')) {
    otherwise = parseExpr(s);
    if (otherwise === undefined) s.pos = before;
  }
  if (!s.gapKeyword('end')) return undefined;
  s.spaceKeyword('case');
  return { kind: 'case', operand, whens, otherwise, start: s.byte(start), end: s.byte(s.pos) };
}

function parseWhen(s: Scanner): CaseWhen | undefined {
  const before = s.pos;
  if (s.gapKeyword('when')) {
    const start = s.pos - 4;
    const when = s.gap() ? parseExpr(s) : undefined;
    if (when !== undefined && s.apartKeyword('then')) {
      const then = parseExpr(s);
      if (then !== undefined) return { kind: 'case-when', when, then, start: s.byte(start), end: then.end };
    }
  }
  s.pos = before;
  return undefined;
}

/** Takes a keyword, which may have an underscore in it. */
function takesWord(s: Scanner, word: string): boolean {
  if (!word.includes('_')) return s.keyword(word);
  const is = s.peekWord().toLowerCase() === word;
  if (is) s.pos += word.length;
  return is;
}

/** Takes `word (`; else stays. */
function openCall(s: Scanner, word: string): boolean {
  const start = s.pos;
  if (takesWord(s, word) && s.takeNext('(')) {
    s.nestings++;
    s.skip();
    return true;
  }
  s.pos = start;
  return false;
}

/** `CAST(e AS T)`, and TRY_CAST. */
export function parseCastCall(s: Scanner, word: 'cast' | 'try_cast' = 'cast'): Expr | undefined {
  const start = s.pos;
  if (!openCall(s, word)) return undefined;
  const expr = parseExpr(s);
  if (expr !== undefined && s.apartKeyword('as')) {
    const target = parseCastAs(s);
    if (target !== undefined)
      return {
        kind: 'cast',
        call: true,
        ...(word === 'try_cast' && { attempt: true }),
        expr,
        target,
        start: s.byte(start),
        end: s.byte(s.pos),
      };
  }
  s.pos = start;
  return undefined;
}

/** Behind AS: a target with its closing parenthesis. */
function parseCastAs(s: Scanner): CastTarget | undefined {
  const start = s.pos;
  if (!s.sql && s.keyword('date') && s.takeNext(')'))
    return { kind: 'cast-date', start: s.byte(start), end: s.byte(start + 4) };
  for (const parse of [parseCastTarget, parseType]) {
    s.pos = start;
    const target = parse(s);
    if (target !== undefined && s.takeNext(')')) return target;
  }
  s.pos = start;
  return undefined;
}

function parseExtract(s: Scanner): Expr | undefined {
  const start = s.pos;
  if (!openCall(s, 'extract')) return undefined;
  const part = parseExpr(s);
  if (part !== undefined && s.apartKeyword('from')) {
    const expr = parseExpr(s);
    if (expr !== undefined && s.takeNext(')'))
      return { kind: 'extract', part, expr, start: s.byte(start), end: s.byte(s.pos) };
  }
  s.pos = start;
  return undefined;
}

function parseExists(s: Scanner): Expr | undefined {
  const start = s.pos;
  if (!s.keyword('exists')) return undefined;
  const query = parseEnclosedQuery(s, '(', ')');
  if (query !== undefined) return { kind: 'exists', query, start: s.byte(start), end: s.byte(s.pos) };
  s.pos = start;
  return undefined;
}

function parseSubstring(s: Scanner): Expr | undefined {
  const start = s.pos;
  if (!openCall(s, 'substring')) return undefined;
  const expr = parseExpr(s);
  if (expr !== undefined) {
    const from = parseClause(s, 'from');
    const length = parseClause(s, 'for');
    if (s.takeNext(')')) return { kind: 'substring', expr, from, length, start: s.byte(start), end: s.byte(s.pos) };
  }
  s.pos = start;
  return undefined;
}

/** `keyword Expr`, when it is there. */
function parseClause(s: Scanner, keyword: string): Expr | undefined {
  const before = s.pos;
  if (!s.apartKeyword(keyword)) return undefined;
  const expr = parseExpr(s);
  if (expr === undefined) s.pos = before;
  return expr;
}

function parseDate(s: Scanner): DateExpr | undefined {
  const start = s.pos;
  const type = s.keyword('date') ? 'date' : s.keyword('timestamp') ? 'timestamp' : undefined;
  if (type === undefined) return undefined;
  s.skip();
  const textStart = s.byte(s.pos);
  const text = parseStringLiteral(s);
  if (text !== undefined) return { kind: 'date', type, text, textStart, start: s.byte(start), end: s.byte(s.pos) };
  s.pos = start;
  return undefined;
}
