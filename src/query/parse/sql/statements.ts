/**
 * Statements of SQL that tell of queries and tables: DESCRIBE, SHOW, SUMMARIZE and EXPLAIN, as in DuckDB. The first
 * three may stand in brackets in FROM, too.
 *
 * None of their words is reserved: an operator of such a name that the query declares goes first, and so does the
 * operator `summarize` of pipes.
 */
import type { SqlDescribe, SqlExplain, SqlQuery, SqlTableExpr } from '../../ast.ts';
import { parseQuery } from '../program.ts';
import { isAhead } from './sets.ts';
import { parseSourceTable } from './tables.ts';
import type { Scanner } from '../scanner.ts';

const forms: Readonly<Record<string, SqlDescribe['form']>> = {
  describe: 'describe',
  desc: 'describe',
  show: 'describe',
  summarize: 'summarize',
};
/** Whether the query declares an operator of that name. */
export const isDeclared = (s: Scanner, word: string): boolean => new RegExp(`\\bop\\s+${word}\\b`, 'i').test(s.text);

/** `DESCRIBE [TABLE] x`, `SHOW x`, `SHOW TABLES`, `SUMMARIZE [TABLE] x`: `x` is a table or a query. */
export const parseDescribe = (
  s: Scanner,
  parseSql: (scanner: Scanner) => SqlQuery | undefined,
): SqlDescribe | undefined => {
  const start = s.pos;
  const word = s.peekWord().toLowerCase();
  if (!Object.hasOwn(forms, word) || isDeclared(s, word)) return undefined;
  const form = forms[word];
  s.pos += word.length;
  if (s.space()) {
    const end = (): { readonly start: number; readonly end: number } => ({ start: s.byte(start), end: s.byte(s.pos) });
    if (word === 'show' && isAhead(s, /(?:all\s+)?tables\b/iy) && s.match(/(?:all\s+)?tables/iy))
      return { kind: 'sql-describe', form: 'tables', ...end() };
    const before = s.pos;
    const query = parseSql(s);
    if (query !== undefined) return { kind: 'sql-describe', form, query, ...end() };
    s.pos = before;
    if (s.keyword('table')) s.space();
    const table = parseSourceTable(s);
    if (table !== undefined) return { kind: 'sql-describe', form, query: wholeOf(table), ...end() };
  }
  s.pos = start;
  return undefined;
};

/** All of a table. */
export const wholeOf = (from: SqlTableExpr): SqlQuery => {
  const { start, end } = from;
  const span = { start, end };
  return {
    kind: 'sql-query',
    body: { kind: 'sql-select', distinct: false, columns: [{ kind: 'sql-star', ...span }], from, ...span },
    ...span,
  };
};

/** `EXPLAIN [ANALYZE] query`: of pipes, too. */
export const parseExplain = (s: Scanner): SqlExplain | undefined => {
  const start = s.pos;
  if (!isAhead(s, /explain\s/iy) || isDeclared(s, 'explain')) return undefined;
  s.keyword('explain');
  s.space();
  const analyze = s.keyword('analyze') && s.space();
  const query = parseQuery(s);
  if (query !== undefined) return { kind: 'sql-explain', analyze, query, start: s.byte(start), end: s.byte(s.pos) };
  s.pos = start;
  return undefined;
};
