/**
 * Predicates that v0.2.0 lacks: ILIKE, SIMILAR TO, IS DISTINCT FROM, IS TRUE, BETWEEN SYMMETRIC, comparisons with ANY
 * and ALL. None of their words is reserved.
 */
import type { BinaryOperator, CallExpr, Expr, LambdaNode, NameNode, QuantifiedExpr } from '../../ast.ts';
import { parseExpr, parsePostfixExpr } from '../expressions.ts';
import { parseEnclosedQuery } from '../primaries.ts';
import { isAhead } from './sets.ts';
import type { Scanner } from '../scanner.ts';

/** An operand follows: no clause of SQL, where the word before is an alias. */
const operandBehind =
  String.raw`\b(?=\s*['"(` +
  '`' +
  String.raw`]|\s+(?!(?:from|where|group|having|order|limit|offset|union|intersect|except|fetch|as|qualify|window|and|or|then|else|end|when)\b)[\p{L}_$])`;
const ilike = new RegExp(`ilike${operandBehind}`, 'iuy');
const glob = new RegExp(`glob${operandBehind}`, 'iuy');

/** Takes ILIKE if it is an operator here: words of a search are only words. */
export const takesIlike = (s: Scanner): boolean => (s.code | 0x20) === 0x69 && isAhead(s, ilike) && s.keyword('ilike');

/** Takes GLOB if it is an operator here, in SQL alone. */
export const takesGlob = (s: Scanner): boolean =>
  s.sql && (s.code | 0x20) === 0x67 && isAhead(s, glob) && s.keyword('glob');

/** Takes SIMILAR TO if something stands behind it; `similar` is an ordinary name else. */
export const takesSimilarTo = (s: Scanner): boolean =>
  (s.code | 0x20) === 0x73 && isAhead(s, /similar\s+to\s+\S/iy) && s.keyword('similar') && s.spaceKeyword('to');

/**
 * Takes SYMMETRIC or ASYMMETRIC of BETWEEN; tells of the first. A column of that name has an operator or AND behind it.
 */
export const takesSymmetric = (s: Scanner): true | undefined => {
  if (
    !isAhead(
      s,
      /a?symmetric\s*(?:['"(`{[]|\s(?:-?\d|(?!(?:and|or|in|is|like|not|between|ilike|similar)\b)[\p{L}_$]))/iuy,
    )
  )
    return undefined;
  const symmetric = s.keyword('symmetric');
  if (!symmetric) s.keyword('asymmetric');
  s.skip();
  return symmetric ? true : undefined;
};

/** Behind IS and NOT: DISTINCT FROM an operand, TRUE, FALSE or UNKNOWN. */
export const parseDistinctFrom = (
  s: Scanner,
  left: Expr,
  negated: boolean,
  parseOperand: (scanner: Scanner) => Expr | undefined,
): Expr | undefined => {
  const before = s.pos;
  s.skip();
  if (isAhead(s, /distinct\s+from\s/iy) && s.keyword('distinct') && s.spaceKeyword('from')) {
    s.skip();
    const right = parseOperand(s);
    if (right !== undefined)
      return {
        kind: 'binary',
        op: negated ? 'is not distinct from' : 'is distinct from',
        left,
        right,
        start: left.start,
        end: right.end,
      };
  }
  const start = s.pos;
  const word = s.peekWord().toLowerCase();
  if ((word === 'true' || word === 'false' || word === 'unknown') && s.keyword(word)) {
    const span = { start: left.start, end: s.byte(s.pos) };
    if (word === 'unknown') return { kind: 'is-null', negated, expr: left, ...span };
    const right: Expr = { kind: 'literal', type: 'bool', text: word, start: s.byte(start), end: s.byte(s.pos) };
    return {
      kind: 'binary',
      op: negated ? 'is distinct from' : 'is not distinct from',
      left: s.sql ? asCondition(left) : left,
      right,
      ...span,
    };
  }
  s.pos = before;
  return undefined;
};

/** Any value as the bool that it is where a condition stands. */
const asCondition = (of: Expr): Expr => negation(negation(of));
const negation = (operand: Expr): Expr => ({ kind: 'unary', op: '!', operand, start: operand.start, end: operand.end });

const quantifier = /(any|some|all)\s*\(\s*(?:\(\s*)*(?:select|values|from|with)\b/iy;
const comparisons: ReadonlySet<BinaryOperator> = new Set<BinaryOperator>(['==', '!=', '<', '<=', '>', '>=']);

/** `any (query)` behind a comparison operator. */
export const parseQuantified = (s: Scanner, left: Expr, op: BinaryOperator): Expr | undefined =>
  parseQuantifiedQuery(s, left, op) ?? parseQuantifiedList(s, left, op);

const enclosedQuery = /\s*\(\s*(?:\(\s*)*(?:select|values|from|with)\b/iy;
const listQuantifier = /(any|some|all)(?:\s*\(|\s+array\s*\[)/iy;
const listOperators: ReadonlySet<BinaryOperator> = new Set<BinaryOperator>([
  ...comparisons,
  '~',
  '!~',
  '~*',
  '!~*',
  'like',
  'not like',
  'ilike',
  'not ilike',
]);

/** `any (list)` behind an operator: a reduction of the list by OR, `all` by AND. */
const parseQuantifiedList = (s: Scanner, left: Expr, op: BinaryOperator): Expr | undefined => {
  const letter = s.code | 0x20;
  if (!s.sql || (letter !== 0x61 && letter !== 0x73) || !listOperators.has(op) || !isAhead(s, listQuantifier))
    return undefined;
  const start = s.pos;
  const word = s.peekWord();
  s.pos += word.length;
  const list = parseEnclosedList(s, op);
  if (list !== undefined) return reduction(left, op, list, word.toLowerCase() === 'all', s.byte(s.pos));
  s.pos = start;
  return undefined;
};
/** A list in brackets, its elements in them (of LIKE also a query or one pattern), or `array[..]` without them. */
const parseEnclosedList = (s: Scanner, op: BinaryOperator): Expr | undefined => {
  const start = s.byte(s.pos);
  const isPattern = op.endsWith('like');
  if (isPattern && isAhead(s, enclosedQuery)) {
    const query = parseEnclosedQuery(s, '(', ')');
    if (query !== undefined) return { kind: 'array-subquery', query, ofColumn: true, start, end: s.byte(s.pos) };
  }
  const isEnclosed = s.takeNext('(');
  s.skip();
  if (!isEnclosed) return parsePostfixExpr(s);
  const elems: Expr[] = [];
  do {
    s.skip();
    const e = parseExpr(s);
    if (e === undefined) return undefined;
    elems.push(e);
  } while (s.takeNext(','));
  if (!s.takeNext(')')) return undefined;
  const [only, another] = elems;
  const isList = !another && !(isPattern && only!.kind === 'literal' && only.type === 'string');
  return isList ? only : { kind: 'array', elems, start, end: s.byte(s.pos) };
};
const reduction = (left: Expr, op: BinaryOperator, list: Expr, all: boolean, end: number): CallExpr => {
  const span = { start: left.start, end };
  const name = (text: string): NameNode => ({ kind: 'name', text, ...span });
  const id = (text: string): Expr => ({ kind: 'id', name: text, quoted: true, ...span });
  // Blanks in their names: no column is hidden.
  const found: Expr = { kind: 'binary', op, left, right: id('one element'), ...span };
  const body: Expr = { kind: 'binary', op: all ? 'and' : 'or', left: id('so far'), right: found, ...span };
  const lambda: LambdaNode = { kind: 'lambda', params: [name('so far'), name('one element')], body, ...span };
  return {
    kind: 'call',
    callee: name('list_reduce'),
    args: [list, lambda, { kind: 'literal', type: 'bool', text: String(all), ...span }],
    ...span,
  };
};

const parseQuantifiedQuery = (s: Scanner, left: Expr, op: BinaryOperator): QuantifiedExpr | undefined => {
  const letter = s.code | 0x20;
  if (!s.sql || (letter !== 0x61 && letter !== 0x73) || !comparisons.has(op) || !isAhead(s, quantifier))
    return undefined;
  const start = s.pos;
  const word = s.peekWord();
  s.pos += word.length;
  const query = parseEnclosedQuery(s, '(', ')');
  if (query !== undefined) {
    return {
      kind: 'quantified',
      op: op as QuantifiedExpr['op'],
      quantifier: word.toLowerCase() === 'all' ? 'all' : 'any',
      left,
      query,
      start: left.start,
      end: s.byte(s.pos),
    };
  }
  s.pos = start;
  return undefined;
};
