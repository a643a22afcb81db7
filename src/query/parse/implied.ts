/**
 * Aggregation, and the operators that have no keyword: assignments, aggregates, calls and expressions (grammar.md,
 * section 4).
 */
import type { AggregateOp, Assignment, Expr, Op } from '../ast.ts';
import type { Scanner } from './scanner.ts';
import { reservedWords } from '../reference/operators.ts';
import { parseArgs, parseNamedCall } from './calls.ts';
import { parseExpr, parsePostfixExpr } from './expressions.ts';
import { parseEnclosedQuery } from './primaries.ts';
import { parseId, parseList } from './strings.ts';

/** Words that begin an expression or another form and therefore no implied call with arguments. */
const noCallWords: ReadonlySet<string> = new Set([
  'not',
  'case',
  'exists',
  'cast',
  'extract',
  'substring',
  'lambda',
  'date',
  'timestamp',
  'from',
  'select',
  'values',
  'with',
]);

/** Whether only what may follow an operator is ahead: a pipe, a closing bracket, `;` or the end. Takes nothing. */
export function endsOp(s: Scanner): boolean {
  const at = placeAhead(s);
  const code = s.text.charCodeAt(at);
  const ends = at === s.text.length || closes(code) || code === 0x3b || (code === 0x7c && s.text[at + 1] !== '|');
  if (!ends) s.fail(at);
  return ends;
}

/** Where the next thing behind blanks stands. Takes nothing. */
function placeAhead(s: Scanner): number {
  const before = s.pos;
  s.skip();
  const at = s.pos;
  s.pos = before;
  return at;
}
const closes = (code: number): boolean => code === 0x29 || code === 0x5d;

/**
 * The operators without keyword, in the order of the grammar. `word` is the lower-case word at this place; `calls`
 * allows calls of user operators with arguments.
 */
export function parseImplied(s: Scanner, word: string, calls: boolean): Op | undefined {
  const start = s.pos;
  const parsers = [
    parseScopeOp,
    parseAssignmentsOp,
    parseImpliedAggregate,
    calls && !noCallWords.has(word) ? parseImpliedCall : undefined,
    parseNameCall,
    parseExprOp,
  ];
  for (const parse of parsers) {
    const op = parse?.(s);
    if (op !== undefined) return op;
    s.pos = start;
  }
  return undefined;
}

function parseScopeOp(s: Scanner): Op | undefined {
  const start = s.pos;
  if (s.code !== 0x28) return undefined;
  const body = parseEnclosedQuery(s, '(', ')');
  return body === undefined || body.decls.length === 0
    ? undefined
    : { kind: 'scope-op', body, start: s.byte(start), end: s.byte(s.pos) };
}

function parseAssignmentsOp(s: Scanner): Op | undefined {
  const start = s.pos;
  // The first has a target; those behind it may do without, as in put.
  let parse = parseTargeted;
  const assignments = parseList(s, (scanner) => {
    const made = parse(scanner);
    parse = parseAssignment;
    return made;
  });
  if (assignments === undefined || !endsOp(s)) return undefined;
  return { kind: 'assignments-op', assignments, start: s.byte(start), end: s.byte(s.pos) };
}

/** `list([Target ":="] Expr)`. */
export function parseAssignments(s: Scanner): Assignment[] | undefined {
  return parseList(s, parseAssignment);
}

function parseAssignment(s: Scanner): Assignment | undefined {
  return parseTargeted(s) ?? untargeted(s, parseExpr);
}

function parseTargeted(s: Scanner): Assignment | undefined {
  return targeted(s, parseExpr);
}

/** `Target ":=" X`. */
function targeted(s: Scanner, parse: typeof parseExpr): Assignment | undefined {
  const start = s.pos;
  // Whether it is a field path is for the analyzer to say.
  const target = parsePostfixExpr(s);
  if (target !== undefined && s.takeNext(':=')) {
    s.skip();
    const expr = parse(s);
    if (expr !== undefined) return { kind: 'assignment', target, expr, start: s.byte(start), end: expr.end };
  }
  s.pos = start;
  return undefined;
}

function untargeted(s: Scanner, parse: typeof parseExpr): Assignment | undefined {
  const expr = parse(s);
  return expr === undefined ? undefined : { kind: 'assignment', expr, start: expr.start, end: expr.end };
}

/** `aggregate ..` and `summarize ..`. */
export function parseAggregate(s: Scanner, word: string): Op | undefined {
  const start = s.pos;
  s.pos += word.length;
  if (!s.space()) return undefined;
  return parseAggregation(s, start, false);
}

function parseImpliedAggregate(s: Scanner): Op | undefined {
  const start = s.pos;
  // A lone call is an expression: whether it aggregates depends on its name.
  if (parseNamedCall(s) !== undefined && endsOp(s)) return undefined;
  s.pos = start;
  const op = parseAggregation(s, start, true);
  return op !== undefined && endsOp(s) ? op : undefined;
}

function parseAggregation(s: Scanner, start: number, implied: boolean): AggregateOp | undefined {
  let aggs: Assignment[] = [];
  let keys = parseKeys(s);
  if (keys === undefined) {
    const found = parseList(s, parseAggAssignment);
    if (found === undefined) return undefined;
    aggs = found;
    const before = s.pos;
    keys = s.skip() ? parseKeys(s) : undefined;
    if (keys === undefined) s.pos = before;
  }
  const limit = parseLimitFlag(s);
  return { kind: 'aggregate-op', implied, aggs, keys: keys ?? [], limit, start: s.byte(start), end: s.byte(s.pos) };
}

function parseAggAssignment(s: Scanner): Assignment | undefined {
  return targeted(s, parseAggCall) ?? untargeted(s, parseAggCall);
}

/** A call of an aggregate: of one expression at most. */
function parseAggCall(s: Scanner): Expr | undefined {
  const start = s.pos;
  const call = parseNamedCall(s);
  if (
    call?.kind !== 'call' ||
    (call.args.length <= 1 && call.args[0]?.kind !== 'lambda' && call.args[0]?.kind !== 'function-ref')
  )
    return call;
  s.pos = start;
  return undefined;
}

/** `[GROUP] BY keys`. */
function parseKeys(s: Scanner): Assignment[] | undefined {
  const start = s.pos;
  if (s.keyword('group')) s.skip();
  if (s.keyword('by') && s.space()) {
    const keys = parseAssignments(s);
    if (keys !== undefined) return keys;
  }
  s.pos = start;
  return undefined;
}

/** `WITH -limit N`: the digits. */
function parseLimitFlag(s: Scanner): string | undefined {
  const before = s.pos;
  if (s.spaceKeyword('with') && s.takeNext('-limit') && s.space()) {
    const digits = s.match(/\d+/y);
    if (digits !== undefined) return digits;
  }
  s.pos = before;
  return undefined;
}

/** Words that name no user operator. */
function isReserved(s: Scanner): boolean {
  const word = s.peekWord();
  if (!reservedWords.has(word.toLowerCase())) return false;
  s.fail(s.pos + word.length);
  return true;
}

function parseImpliedCall(s: Scanner): Op | undefined {
  const start = s.pos;
  if (isReserved(s)) return undefined;
  const name = parseId(s);
  if (name === undefined || !s.space()) return undefined;
  for (const word of ['in', 'like', 'is', 'or', 'and']) if (s.keyword(word)) return undefined;
  const args = parseArgs(s);
  return args === undefined
    ? undefined
    : { kind: 'call-op', name, args, implied: true, start: s.byte(start), end: s.byte(s.pos) };
}

function parseNameCall(s: Scanner): Op | undefined {
  const start = s.pos;
  if (isReserved(s)) return undefined;
  const name = parseId(s);
  if (name === undefined || !endsOp(s)) return undefined;
  return { kind: 'call-op', name, args: [], implied: true, start: s.byte(start), end: s.byte(s.pos) };
}

function parseExprOp(s: Scanner): Op | undefined {
  const start = s.pos;
  const isEnclosed = s.code === 0x28;
  const expr = parseExpr(s);
  if (expr === undefined || expr.kind === 'id') return undefined;
  // A literal is an operator in parentheses, or as the last one within brackets.
  if ((expr.kind === 'literal' || expr.kind === 'date') && !isEnclosed && !closes(s.text.charCodeAt(placeAhead(s))))
    return undefined;
  return { kind: 'expr-op', expr, start: s.byte(start), end: s.byte(s.pos) };
}
