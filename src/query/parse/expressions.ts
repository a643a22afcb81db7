/**
 * Expressions by precedence (grammar.md, section 7): conditional, or, and, not, between, comparison, sum, product,
 * concatenation, sign, cast, access. One loop climbs the binary levels; only operands recurse.
 */
import type { BinaryExpr, BinaryOperator, CallExpr, Expr } from '../ast.ts';
import { parseDot, parsePostfix } from './access.ts';
import { isDigit, memoExpr, memoPostfix } from './scanner.ts';
import type { Scanner } from './scanner.ts';
import {
  parseDistinctFrom,
  parseQuantified,
  takesGlob,
  takesIlike,
  takesSimilarTo,
  takesSymmetric,
} from './sql/predicates.ts';
import { isAhead } from './sql/sets.ts';
import { parseId, parseQuoted } from './strings.ts';
import { parseCastTarget } from './types.ts';

const levelOr = 2;
const levelAnd = 3;
const levelNot = 4;
const levelBetween = 5;
const levelComparison = 6;
/** SQL's other operators, `||` among them there: looser than sums. */
const levelOther = 7;
const levelSum = 8;
const levelProduct = 9;
const levelPower = 10;
const levelConcat = 11;

/** Chains of `and` and `or` longer than this become balanced trees, so that long generated filters stay shallow. */
const chainLengthMax = 32;

/** Any expression. */
export function parseExpr(s: Scanner): Expr | undefined {
  return s.memo(memoExpr, parseConditional);
}

/** `OrExpr`: no conditional at the top. */
export function parseOrExpr(s: Scanner): Expr | undefined {
  return parseLevels(s, levelOr);
}

/** One comparison, for search terms: `a == b`, `a in b`, ..; nothing when there is no comparison operator. */
export function parseComparison(s: Scanner): Expr | undefined {
  const start = s.pos;
  const expr = parseLevels(s, levelComparison);
  if (expr?.kind === 'binary' && comparisonOperators.has(expr.op)) return expr;
  s.pos = start;
  return undefined;
}

const comparisonOperators: ReadonlySet<BinaryOperator> = new Set<BinaryOperator>([
  '==',
  '!=',
  '<',
  '<=',
  '>',
  '>=',
  'in',
  'not in',
  'like',
  'not like',
  '~',
]);

/** An expression of access level: what may be assigned to, and the operand of casts. */
export function parsePostfixExpr(s: Scanner): Expr | undefined {
  return s.memo(memoPostfix, parsePostfix);
}

/** A field path: an identifier with dots and indexes. */
export function parseLval(s: Scanner): Expr | undefined {
  const start = s.pos;
  const expr = parsePostfixExpr(s);
  if (expr?.kind === 'id' || expr?.kind === 'dot' || expr?.kind === 'index') return expr;
  s.pos = start;
  return undefined;
}

/** A name with dots, and nothing behind it taken as a call. */
export function parsePath(s: Scanner): Expr | undefined {
  const quoted = s.code === 0x60;
  const name = parseId(s);
  if (name === undefined) return undefined;
  let path: Expr = { kind: 'id', name: name.text, quoted, start: name.start, end: name.end };
  for (
    let dot = s.code === 0x2e ? parseDot(s, path) : undefined;
    dot !== undefined;
    dot = s.code === 0x2e ? parseDot(s, path) : undefined
  )
    path = dot;
  return path;
}

function parseConditional(s: Scanner): Expr | undefined {
  const start = s.pos;
  const condition = parseLevels(s, levelOr);
  if (condition === undefined) return undefined;
  const before = s.pos;
  if (s.takeNext('?')) {
    s.skip();
    s.nestings++;
    const then = parseExpr(s);
    if (then !== undefined && s.takeNext(':')) {
      s.skip();
      const otherwise = parseExpr(s);
      if (otherwise !== undefined)
        return { kind: 'conditional', condition, then, otherwise, start: s.byte(start), end: s.byte(s.pos) };
    }
  }
  s.pos = before;
  return condition;
}

/**
 * Operands and operators of `min` and all levels that bind tighter. The place of an operation takes in the parentheses
 * of its operands.
 */
function parseLevels(s: Scanner, min: number): Expr | undefined {
  const start = s.byte(s.pos);
  // Levels above it cannot follow any more: `1<2<3` and `not a + b` stop where the grammar does.
  let ceiling = levelConcat;
  let left = min <= levelNot ? parseNot(s) : undefined;
  if (left === undefined) left = parseUnary(s);
  else ceiling = levelAnd;
  // Operations of one level in a row, which all have the place of the whole row.
  let level = 0;
  let row = 0;
  while (left !== undefined) {
    const before = s.pos;
    const apart = s.gap();
    const operator = peekOperator(s);
    if (operator?.level !== level) {
      left = sharePlace(left, row);
      level = operator?.level ?? 0;
      row = 0;
    }
    const next: Expr | undefined =
      operator === undefined || operator.level < min || (operator.level > ceiling && !isLooseIs(s, operator))
        ? failWord(s, min, ceiling)
        : parseRight(s, { left, start, apart }, operator);
    if (next === undefined) {
      s.pos = before;
      return sharePlace(left, row);
    }
    row++;
    left = next;
    ceiling = ceilingBehind(s, operator!);
  }
  return undefined;
}

/** The tightest level of what may follow an operation. In SQL the answer of a predicate may be compared. */
function ceilingBehind(s: Scanner, { op, level }: Operator): number {
  if (s.sql && predicates.has(op)) return levelComparison;
  if (level === levelComparison) return levelBetween;
  return level === levelBetween ? levelAnd : level;
}
const predicates: ReadonlySet<Operator['op']> = new Set(['between', 'ilike', 'in', 'is', 'like', 'not', 'similar']);

/** In SQL `is` binds looser than the other comparisons: `a > b is null` looks at the comparison. */
const isLooseIs = (s: Scanner, { op }: Operator): boolean => s.sql && op === 'is';

/** Gives `count` operations, each the left operand of the one before, the end of the outermost. */
function sharePlace(expr: Expr, count: number): Expr {
  if (count < 2) return expr;
  const row: BinaryExpr[] = [];
  for (let e = expr; row.length < count && e.kind === 'binary'; e = e.left) row.push(e);
  return (
    row.reduceRight<BinaryExpr | undefined>((left, e) => ({ ...e, end: expr.end, ...(left && { left }) }), undefined) ??
    expr
  );
}

/** No operator is here; what only begins like a word of one fails behind that. */
function failWord(s: Scanner, min: number, ceiling: number): undefined {
  s.fail();
  const letter = s.code | 0x20;
  if (letter < 0x61 || letter > 0x7a) return undefined;
  for (const { op, level } of beginnings)
    if (level >= min && level <= ceiling && letter === op.charCodeAt(0)) s.failsBehind(op);
  return undefined;
}

interface Operator {
  readonly level: number;
  readonly op: BinaryOperator | 'between' | 'is' | 'not' | 'similar';
  /** Characters, for symbols. */
  readonly length: number;
}
const symbol = (op: BinaryOperator, level: number, length = op.length): Operator => ({ op, level, length });
const word = (op: Operator['op'], level: number): Operator => ({ op, level, length: 0 });
const symbols = {
  equal1: symbol('==', levelComparison, 1),
  equal2: symbol('==', levelComparison),
  unequal: symbol('!=', levelComparison),
  less: symbol('<', levelComparison),
  lessEqual: symbol('<=', levelComparison),
  more: symbol('>', levelComparison),
  moreEqual: symbol('>=', levelComparison),
  match: symbol('~', levelComparison),
  plus: symbol('+', levelSum),
  minus: symbol('-', levelSum),
  times: symbol('*', levelProduct),
  divide: symbol('/', levelProduct),
  modulo: symbol('%', levelProduct),
  concat: symbol('||', levelConcat),
};
/** Symbols that SQL alone has, and where those of pipes bind otherwise there; longer ones first. */
const sqlSymbols: readonly (readonly [string, Operator])[] = [
  ['!~~*', symbol('not ilike', levelComparison, 4)],
  ['!~~', symbol('not like', levelComparison, 3)],
  ['!~*', symbol('!~*', levelOther)],
  ['!~', symbol('!~', levelOther)],
  ['~~*', symbol('ilike', levelComparison, 3)],
  ['~~', symbol('like', levelComparison, 2)],
  ['~*', symbol('~*', levelOther)],
  ['~', symbol('~', levelOther)],
  ['->>', symbol('->>', levelOther)],
  ['->', symbol('->', levelOther)],
  ['//', symbol('//', levelProduct)],
  ['**', symbol('**', levelPower)],
  ['^@', symbol('^@', levelOther)],
  ['^', symbol('**', levelPower, 1)],
  ['<<', symbol('<<', levelOther)],
  ['>>', symbol('>>', levelOther)],
  ['@>', symbol('@>', levelOther)],
  ['<@', symbol('<@', levelOther)],
  ['&&', symbol('&&', levelOther)],
  ['&', symbol('&', levelOther)],
  ['||', symbol('||', levelOther)],
];
const words: Readonly<Record<string, Operator>> = {
  and: word('and', levelAnd),
  or: word('or', levelOr),
  in: word('in', levelComparison),
  like: word('like', levelComparison),
  is: word('is', levelComparison),
  between: word('between', levelBetween),
  not: word('not', levelComparison),
  ilike: word('ilike', levelComparison),
  glob: word('glob', levelComparison),
  similar: word('similar', levelComparison),
};

/** Conditions of one word behind their operand, in SQL alone: `a ISNULL`. */
const nullWords: Readonly<Record<string, Operator>> = {
  isnull: { ...word('is', levelComparison), length: 'isnull'.length },
  notnull: { ...word('is', levelComparison), length: 'notnull'.length },
};

/** The words of v0.2.0's operators. */
const beginnings: readonly Operator[] = [
  words['and']!,
  words['or']!,
  words['in']!,
  words['like']!,
  words['is']!,
  words['between']!,
  words['not']!,
];

/** The operator at this place, not taken. */
function peekOperator(s: Scanner): Operator | undefined {
  const next = s.text[s.pos + 1];
  if (s.sql) {
    const found = sqlSymbols.find(([text]) => s.text.startsWith(text, s.pos));
    if (found !== undefined) return found[1];
  }
  switch (s.text[s.pos]) {
    case '=':
      return next === '=' ? symbols.equal2 : symbols.equal1;
    case '!':
      return next === '=' ? symbols.unequal : undefined;
    case '<':
      return next === '=' ? symbols.lessEqual : next === '>' ? symbols.unequal : symbols.less;
    case '>':
      return next === '=' ? symbols.moreEqual : symbols.more;
    case '~':
      return symbols.match;
    case '+':
      return symbols.plus;
    case '-':
      return symbols.minus;
    case '*':
      return symbols.times;
    case '/':
      return symbols.divide;
    case '%':
      return symbols.modulo;
    case '|':
      return next === '|' ? symbols.concat : undefined;
    case 'a':
    case 'A':
    case 'o':
    case 'O':
    case 'i':
    case 'I':
    case 'l':
    case 'L':
    case 'b':
    case 'B':
    case 'n':
    case 'N':
    case 's':
    case 'S':
    case 'g':
    case 'G': {
      const found = s.peekWord();
      if (found.length > 7) return undefined;
      const lower = found.toLowerCase();
      if (s.sql && Object.hasOwn(nullWords, lower)) return nullWords[lower];
      return Object.hasOwn(words, lower) ? words[lower] : undefined;
    }
    default:
      return undefined;
  }
}

function parseRight(s: Scanner, left: Left, operator: Operator): Expr | undefined {
  switch (operator.op) {
    case 'and':
      return parseChain(s, left, 'and', levelAnd);
    case 'or':
      return parseChain(s, left, 'or', levelOr);
    case 'is':
      return operator.length > 0 ? parseNullWord(s, left, operator.length) : parseIsNull(s, left);
    case 'between':
      return parseBetween(s, left, false);
    case 'not':
      return parseNegated(s, left);
    case 'ilike':
      if (operator.length > 0) return parseSymbol(s, left, { ...operator, op: operator.op });
      return takesIlike(s) ? parseOperand(s, left, 'ilike', levelComparison) : undefined;
    case 'glob':
      return takesGlob(s) ? parseOperand(s, left, 'glob', levelComparison) : undefined;
    case 'similar':
      return takesSimilarTo(s) ? parseOperand(s, left, 'similar to', levelComparison) : undefined;
    default:
      return parseSymbol(s, left, { ...operator, op: operator.op });
  }
}

function parseSymbol(s: Scanner, left: Left, operator: Operator & { readonly op: BinaryOperator }): Expr | undefined {
  const written = s.text.slice(s.pos, (s.pos += operator.length || operator.op.length));
  return parseOperand(s, left, operator.op, operator.level, written);
}

/**
 * A left operand, where it begins with its parentheses (in bytes), and whether white space or a bracket keeps it apart
 * from what follows.
 */
interface Left {
  readonly left: Expr;
  readonly start: number;
  readonly apart: boolean;
}

function parseOperand(
  s: Scanner,
  { left, start }: Left,
  op: BinaryOperator,
  level: number,
  written: string = op,
): Expr | undefined {
  s.skip();
  const quantified = parseQuantified(s, left, op);
  if (quantified !== undefined) return quantified;
  const right = parseNoValues(s, op) ?? parseLevels(s, level + 1);
  if (right === undefined) return undefined;
  const escape = op.endsWith('like') ? parseEscapeClause(s) : undefined;
  return {
    ...binary(op, left, right, start, s.byte(s.pos)),
    ...(written !== op && { written }),
    ...(escape && { escape }),
  };
}

/** `in ()`, which SQLite and DuckDB know: nothing is in it. */
function parseNoValues(s: Scanner, op: BinaryOperator): Expr | undefined {
  if (!s.sql || (op !== 'in' && op !== 'not in')) return undefined;
  const start = s.pos;
  if (s.take('(') && s.takeNext(')')) return { kind: 'array', elems: [], start: s.byte(start), end: s.byte(s.pos) };
  s.pos = start;
  return undefined;
}

/** `ESCAPE character` behind a pattern. */
function parseEscapeClause(s: Scanner): Expr | undefined {
  const before = s.pos;
  if (s.sql && s.gapKeyword('escape')) {
    s.skip();
    const escape = parseLevels(s, levelOther);
    if (escape !== undefined) return escape;
  }
  s.pos = before;
  return undefined;
}

function binary(op: BinaryOperator, left: Expr, right: Expr, start: number, end: number): BinaryExpr {
  return { kind: 'binary', op, left, right, start, end };
}

/** `a and b and c ..`: the whole chain at once. */
function parseChain(s: Scanner, { left, start }: Left, op: 'and' | 'or', level: number): Expr | undefined {
  const operands = [left];
  let end = left.end;
  for (;;) {
    const before = s.pos;
    if (!s.keywordNext(op)) break;
    s.skip();
    const right = parseLevels(s, level + 1);
    if (right === undefined) {
      s.pos = before;
      break;
    }
    operands.push(right);
    end = s.byte(s.pos);
  }
  if (operands.length === 1) return undefined;
  return operands.length > chainLengthMax
    ? balanced(op, operands, 0, operands.length)
    : operands.reduce((one, two) => binary(op, one, two, start, end));
}

function balanced(op: BinaryOperator, operands: readonly Expr[], from: number, to: number): Expr {
  if (to - from === 1) return operands[from];
  const middle = (from + to) >> 1;
  const left = balanced(op, operands, from, middle);
  const right = balanced(op, operands, middle, to);
  return binary(op, left, right, left.start, right.end);
}

function parseIsNull(s: Scanner, { left: expr, start, apart }: Left): Expr | undefined {
  if (!apart) return s.fail();
  s.pos += 2;
  const negated = s.spaceKeyword('not');
  const distinct = parseDistinctFrom(s, expr, negated, (scanner) => parseLevels(scanner, levelOther));
  if (distinct !== undefined) return distinct;
  if (!s.spaceKeyword('null')) return undefined;
  return { kind: 'is-null', negated, expr, start, end: s.byte(s.pos) };
}

/** `ISNULL`, `NOTNULL`. */
function parseNullWord(s: Scanner, { left: expr, start, apart }: Left, length: number): Expr | undefined {
  if (!apart) return s.fail();
  s.pos += length;
  return { kind: 'is-null', negated: length === 'notnull'.length, expr, start, end: s.byte(s.pos) };
}

function parseNegated(s: Scanner, left: Left): Expr | undefined {
  s.pos += 3;
  if (s.keywordNext('in')) return parseOperand(s, left, 'not in', levelComparison);
  if (s.keywordNext('like')) return parseOperand(s, left, 'not like', levelComparison);
  if (s.sql && left.apart && s.keywordNext('null'))
    return { kind: 'is-null', negated: true, expr: left.left, start: left.start, end: s.byte(s.pos) };
  s.skip();
  if (takesIlike(s)) return parseOperand(s, left, 'not ilike', levelComparison);
  if (takesSimilarTo(s)) return parseOperand(s, left, 'not similar to', levelComparison);
  return s.keyword('between') ? parseBetween(s, left, true) : undefined;
}

/** Behind `not`, the keyword is taken already. */
function parseBetween(s: Scanner, { left: expr, start, apart }: Left, negated: boolean): Expr | undefined {
  if (!apart) return s.fail(negated ? s.pos - 'between'.length : s.pos);
  if (!negated) s.pos += 'between'.length;
  if (!s.gap()) return undefined;
  const symmetric = takesSymmetric(s);
  const level = s.sql ? levelComparison + 1 : levelComparison;
  const lower = parseLevels(s, level);
  if (lower === undefined || !s.apartKeyword('and')) return undefined;
  const upper = parseLevels(s, level);
  return upper === undefined
    ? undefined
    : { kind: 'between', negated, ...(symmetric ? { symmetric } : {}), expr, lower, upper, start, end: s.byte(s.pos) };
}

function parseNot(s: Scanner): Expr | undefined {
  const start = s.pos;
  const code = s.code;
  if (code === 0x21) s.pos++;
  else if ((code | 0x20) !== 0x6e || !s.keyword('not')) return undefined;
  s.skip();
  s.enter();
  const operand = parseLevels(s, levelNot);
  s.leave();
  if (operand !== undefined) return { kind: 'unary', op: '!', operand, start: s.byte(start), end: s.byte(s.pos) };
  s.pos = start;
  return undefined;
}

function parseUnary(s: Scanner): Expr | undefined {
  const start = s.pos;
  const code = s.code;
  if (s.sql && code === 0x7e) return parseBitsNot(s);
  if (code !== 0x2d && code !== 0x2b) return parseCast(s);
  const next = s.text.charCodeAt(start + 1);
  if (isDigit(next) || next === 0x2e || next === 0x49) {
    const literal = parseCast(s);
    if (literal !== undefined) return literal;
  }
  s.pos = start + 1;
  s.skip();
  s.enter();
  const operand = parseUnary(s);
  s.leave();
  if (operand !== undefined)
    return { kind: 'unary', op: code === 0x2d ? '-' : '+', operand, start: s.byte(start), end: s.byte(s.pos) };
  s.pos = start;
  return undefined;
}

/** `~n` of SQL. */
function parseBitsNot(s: Scanner): Expr | undefined {
  const start = s.pos++;
  s.skip();
  s.enter();
  const operand = parseUnary(s);
  s.leave();
  const span = { start: s.byte(start), end: s.byte(s.pos) };
  if (operand !== undefined)
    return { kind: 'call', callee: { kind: 'name', text: 'not_bits', ...span }, args: [operand], ...span };
  s.pos = start;
  return undefined;
}

function parseCast(s: Scanner): Expr | undefined {
  const start = s.byte(s.pos);
  let expr = parsePostfixExpr(s);
  while (expr !== undefined) {
    const before = s.pos;
    const zoned = s.sql ? parseZoned(s, expr) : undefined;
    if (zoned !== undefined) {
      expr = zoned;
      continue;
    }
    if (!s.takeNext('::')) return expr;
    s.skip();
    const target = parseCastTarget(s);
    if (target === undefined) {
      s.pos = before;
      return expr;
    }
    expr = { kind: 'cast', expr, target, start, end: s.byte(s.pos) };
  }
  return undefined;
}

const zoneAhead = /\s*at\s+time\s+zone\b/iy;

/** `AT TIME ZONE zone` behind a time. */
function parseZoned(s: Scanner, time: Expr): CallExpr | undefined {
  const start = s.pos;
  if (!isAhead(s, zoneAhead)) return undefined;
  const words = s.match(zoneAhead);
  s.skip();
  const zone = words === undefined ? undefined : parsePostfixExpr(s);
  if (zone !== undefined) {
    const span = { start: time.start, end: s.byte(s.pos) };
    return { kind: 'call', callee: { kind: 'name', text: 'timezone', ...span }, args: [zone, time], ...span };
  }
  s.pos = start;
  return undefined;
}

/** `'…'` or, outside SQL, `"…"`. */
export function parseStringLiteral(s: Scanner): string | undefined {
  return s.sql && s.code === 0x22 ? s.fail() : parseQuoted(s);
}
