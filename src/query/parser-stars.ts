/** What stands behind a star of SELECT (EXCLUDE, REPLACE, RENAME, as in DuckDB), and UNNEST as a table. None of the words is reserved. */
import type { CallExpr, Expr, NameNode, SqlAlias, SqlQuery, SqlStar, SqlTableExpr, StarName } from './ast.ts';
import { parseExpr } from './parser-expressions.ts';
import { isAhead } from './parser-sets.ts';
import { parseList, parseName, parseSqlId } from './parser-strings.ts';
import type { Scanner } from './scanner.ts';

// EXCEPT with a query behind it is the set operation.
const exclude = /\s*(?:exclude|except)\b\s*(?!(?:all|distinct|select|values|from|with|table)\b|\(\s*(?:\(|(?:select|values|from|with|table)\b))/iy;
const replace = /\s*replace\b/iy, rename = /\s*rename\b/iy;

/** EXCLUDE, REPLACE and RENAME, each once at most and in this order. */
export const parseStarChanges = (s: Scanner): Pick<SqlStar, 'exclude' | 'replace' | 'rename'> => {
  const excluded = isAhead(s, exclude) ? parseItems(s, /exclude|except/iy, parseStarName) : undefined;
  const replaced = isAhead(s, replace) ? parseItems(s, /replace/iy, parseReplaced) : undefined;
  const renamed = isAhead(s, rename) ? parseItems(s, /rename/iy, parseRenamed) : undefined;
  return { ...(excluded && { exclude: excluded }), ...(replaced && { replace: replaced }), ...(renamed && { rename: renamed }) };
};

/** `WORD item` or `WORD (item, ...)`. */
const parseItems = <T>(s: Scanner, word: RegExp, parseItem: (scanner: Scanner) => T | undefined): readonly T[] | undefined => {
  const before = s.pos;
  s.skip();
  if (s.match(word) !== undefined) {
    s.skip();
    if (s.take('(')) {
      s.nestings++;
      s.skip();
      const items = parseList(s, parseItem);
      if (items !== undefined && s.takeNext(')')) return items;
    } else {
      const item = parseItem(s);
      if (item !== undefined) return [item];
    }
  }
  s.pos = before;
  return undefined;
};

const parseStarName = (s: Scanner): StarName | undefined => {
  const first = parseName(s);
  if (first === undefined) return undefined;
  const column = s.take('.') ? parseName(s) : undefined;
  return column ? { table: first, column, start: first.start, end: column.end } : { column: first, start: first.start, end: first.end };
};

const parseReplaced = (s: Scanner): { readonly name: NameNode; readonly expr: Expr } | undefined => {
  const expr = parseExpr(s), name = expr !== undefined && s.apartKeyword('as') ? parseSqlId(s) : undefined;
  return expr !== undefined && name !== undefined ? { name, expr } : undefined;
};

const parseRenamed = (s: Scanner): { readonly from: StarName; readonly to: NameNode } | undefined => {
  const from = parseStarName(s);
  if (from === undefined || !s.spaceKeyword('as')) return undefined;
  s.skip();
  const to = parseSqlId(s);
  return to === undefined ? undefined : { from, to };
};

const unnest = /unnest\s*\(/iy;

/** `UNNEST(list) [AS] t(column)`: a table of the elements, which may use columns of the tables before it. */
export const parseUnnestTable = (s: Scanner, parseAs: (scanner: Scanner) => SqlAlias | undefined): SqlTableExpr | undefined => {
  if ((s.code | 0x20) !== 0x75 || !isAhead(s, unnest)) return undefined;
  const start = s.pos, call: Expr | undefined = parseExpr(s);
  if (call?.kind !== 'call' || !isUnnest(call)) {
    s.pos = start;
    return undefined;
  }
  const span = { start: s.byte(start), end: s.byte(s.pos) }, as: NameNode = { kind: 'name', text: 'unnest', ...span };
  const query: SqlQuery = { kind: 'sql-query', body: { kind: 'sql-select', distinct: false, columns: [{ kind: 'sql-column', expr: call, as, ...span }], ...span }, ...span };
  const alias = parseAs(s);
  return { kind: 'sql-subquery-table', lateral: true, query: { kind: 'query', decls: [], ops: [{ kind: 'sql-op', query, ...span }], ...span }, ordinality: false, ...(alias && { alias }), start: span.start, end: s.byte(s.pos) };
};

/** Whether a call is of UNNEST. */
export const isUnnest = ({ callee }: CallExpr): boolean => callee.kind === 'name' && callee.text.toLowerCase() === 'unnest';
