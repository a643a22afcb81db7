/** What stands behind a star of SELECT (EXCLUDE, REPLACE, RENAME, as in DuckDB). None of the words is reserved. */
import type { Expr, NameNode, SqlStar, StarName } from '../../ast.ts';
import { parseExpr } from '../expressions.ts';
import { isAhead } from './sets.ts';
import { parseList, parseName, parseSqlId } from '../strings.ts';
import type { Scanner } from '../scanner.ts';

/** `*` or `t.*`. */
export function parseStar(s: Scanner): { readonly table?: NameNode } | undefined {
  const start = s.pos;
  if (s.take('*')) return {};
  const table = parseSqlId(s);
  if (table !== undefined && s.take('.')) {
    s.skip();
    if (s.take('*')) return { table };
  }
  s.pos = start;
  return undefined;
}

// EXCEPT with a query behind it is the set operation.
const exclude =
  /\s*(?:exclude|except)\b\s*(?!(?:all|distinct|select|values|from|with|table)\b|\(\s*(?:\(|(?:select|values|from|with|table)\b))/iy;
const replace = /\s*replace\b/iy;
const rename = /\s*rename\b/iy;

/** EXCLUDE, REPLACE and RENAME, each once at most and in this order. */
export const parseStarChanges = (s: Scanner): Pick<SqlStar, 'exclude' | 'replace' | 'rename'> => {
  const excluded = isAhead(s, exclude) ? parseItems(s, /exclude|except/iy, parseStarName) : undefined;
  const replaced = isAhead(s, replace) ? parseItems(s, /replace/iy, parseReplaced) : undefined;
  const renamed = isAhead(s, rename) ? parseItems(s, /rename/iy, parseRenamed) : undefined;
  return {
    ...(excluded && { exclude: excluded }),
    ...(replaced && { replace: replaced }),
    ...(renamed && { rename: renamed }),
  };
};

/** `WORD item` or `WORD (item, ...)`. */
const parseItems = <T>(
  s: Scanner,
  word: RegExp,
  parseItem: (scanner: Scanner) => T | undefined,
): readonly T[] | undefined => {
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
  return column
    ? { table: first, column, start: first.start, end: column.end }
    : { column: first, start: first.start, end: first.end };
};

const parseReplaced = (s: Scanner): { readonly name: NameNode; readonly expr: Expr } | undefined => {
  const expr = parseExpr(s);
  const name = expr !== undefined && s.apartKeyword('as') ? parseSqlId(s) : undefined;
  return expr !== undefined && name !== undefined ? { name, expr } : undefined;
};

const parseRenamed = (s: Scanner): { readonly from: StarName; readonly to: NameNode } | undefined => {
  const from = parseStarName(s);
  if (from === undefined || !s.spaceKeyword('as')) return undefined;
  s.skip();
  const to = parseSqlId(s);
  return to === undefined ? undefined : { from, to };
};
