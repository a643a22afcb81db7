/**
 * COLUMNS of SQL, and stars that a test of the names stands behind: `columns('pattern')`, `columns(* exclude (a))`, `*
 * like 'a%'`, as in DuckDB.
 */
import type { BinaryOperator, ColumnsExpr, Expr, LambdaNode, SqlStar } from '../../ast.ts';
import { parseArg } from '../calls.ts';
import { parsePrimary } from '../primaries.ts';
import { isAhead } from './sets.ts';
import { parseStar, parseStarChanges } from './stars.ts';
import type { Scanner } from '../scanner.ts';

const columns = /\*?\s*columns\s*\(/iy;
const unpack = /unpack\s*\(\s*columns\s*\(/iy;
/** What a test calls the name of a column; a blank in it hides no column. */
const parameter = 'column name';

/** Whether COLUMNS may begin here. */
export const isColumnsAhead = (s: Scanner): boolean =>
  s.sql &&
  (s.code === 0x2a || (s.code | 0x20) === 0x63 || (s.code | 0x20) === 0x75) &&
  (isAhead(s, columns) || isAhead(s, unpack));

/** `columns(..)`, `*columns(..)`, `unpack(columns(..))`. */
export const parseColumns = (s: Scanner): ColumnsExpr | undefined => {
  const start = s.pos;
  const isCall = isAhead(s, unpack);
  const unpacked = isCall || s.take('*');
  if (isCall) {
    s.match(/unpack\s*\(/iy);
    s.skip();
  } else s.skip();
  s.match(/columns\s*\(/iy);
  s.nestings++;
  s.skip();
  const found = parseInside(s, start);
  if (found !== undefined && s.takeNext(')') && (!isCall || s.takeNext(')')))
    return { ...found, ...(unpacked && { unpacked }), end: s.byte(s.pos) };
  s.pos = start;
  return undefined;
};

const parseInside = (s: Scanner, start: number): ColumnsExpr | undefined => {
  const star = parseWholeStar(s);
  if (star) return { kind: 'columns', star, start: s.byte(start), end: s.byte(s.pos) };
  const arg = parseArg(s);
  if (arg === undefined || arg.kind === 'function-ref') return s.fail();
  const span = { start: s.byte(start), end: s.byte(s.pos) };
  const all: SqlStar = { kind: 'sql-star', ...span };
  const name: Expr = { kind: 'id', name: parameter, quoted: true, ...span };
  if (arg.kind === 'lambda') return ofLambda(arg, all, span);
  const isPattern = arg.kind === 'literal' && arg.type === 'string';
  const body: Expr = isPattern
    ? { kind: 'call', callee: { kind: 'name', text: 'regexp_matches', ...span }, args: [name, arg], ...span }
    : { kind: 'call', callee: { kind: 'name', text: 'list_contains', ...span }, args: [arg, name], ...span };
  return { kind: 'columns', star: all, test: { parameter, body }, ...(isPattern && { pattern: arg.text }), ...span };
};
const ofLambda = (
  { params, body }: LambdaNode,
  star: SqlStar,
  span: { readonly start: number; readonly end: number },
): ColumnsExpr | undefined => {
  const [only, another] = params;
  return only && !another ? { kind: 'columns', star, test: { parameter: only.text, body }, ...span } : undefined;
};

/** `*` or `t.*` with what stands behind it. */
const parseWholeStar = (s: Scanner): SqlStar | undefined => {
  const start = s.pos;
  const star = parseStar(s);
  return star && { kind: 'sql-star', ...star, ...parseStarChanges(s), start: s.byte(start), end: s.byte(s.pos) };
};

const test = /\s*(?:(?:not\s+)?(?:like|ilike|similar\s+to)|glob)\b/iy;
/** `LIKE 'pattern'` and its like behind a star: the columns whose names pass. */
export const parseStarTest = (s: Scanner, star: SqlStar): ColumnsExpr | undefined => {
  const before = s.pos;
  const found = s.match(test)?.trim().toLowerCase().replaceAll(/\s+/g, ' ') as BinaryOperator | undefined;
  s.skip();
  const right = found === undefined ? undefined : parsePrimary(s);
  if (found !== undefined && right !== undefined) {
    const escape = s.apartKeyword('escape') ? parsePrimary(s) : undefined;
    const span = { start: star.start, end: s.byte(s.pos) };
    const body: Expr = {
      kind: 'binary',
      op: found,
      left: { kind: 'id', name: parameter, quoted: true, ...span },
      right,
      ...(escape && { escape }),
      ...span,
    };
    return {
      kind: 'columns',
      star,
      test: { parameter, body },
      ...(found === 'similar to' && right.kind === 'literal' && { pattern: right.text }),
      ...span,
    };
  }
  s.pos = before;
  return undefined;
};
