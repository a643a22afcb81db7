/** Functions that stand for tables in FROM: UNNEST, RANGE and GENERATE_SERIES. None of the words is reserved. */
import type { CallExpr, Expr, NameNode, Span, SqlAlias, SqlColumn, SqlQuery, SqlTableExpr } from './ast.ts';
import { parseExpr } from './parser-expressions.ts';
import { isAhead } from './parser-sets.ts';
import type { Scanner } from './scanner.ts';

const ahead = /(?:unnest|range|generate_series)\s*\(/iy;

/** `f(..) [WITH ORDINALITY] [AS] t(column)`: a table of the elements, which may use columns of the tables before it. */
export const parseTableFunction = (s: Scanner, parseOrdinality: (scanner: Scanner) => boolean, parseAs: (scanner: Scanner) => SqlAlias | undefined): SqlTableExpr | undefined => {
  if (!isAhead(s, ahead)) return undefined;
  const start = s.pos, call: Expr | undefined = parseExpr(s), name = call?.kind === 'call' && call.callee.kind === 'name' ? call.callee.text.toLowerCase() : '';
  if (call?.kind !== 'call' || !['unnest', 'range', 'generate_series'].includes(name)) {
    s.pos = start;
    return undefined;
  }
  const span = { start: s.byte(start), end: s.byte(s.pos) }, ordinality = parseOrdinality(s), alias = parseAs(s);
  const isUnnest = name === 'unnest', rows = isUnnest ? call : callOf('unnest', [call], span);
  const numbers = ordinality ? [columnOf(callOf('unnest', [callOf('generate_series', [numberOf('1', span), callOf('len', [isUnnest ? call.args[0]! : call], span)], span)], span), 'ordinality', span)] : [];
  const query: SqlQuery = { kind: 'sql-query', body: { kind: 'sql-select', distinct: false, columns: [columnOf(rows, name, span), ...numbers], ...span }, ...span };
  return { kind: 'sql-subquery-table', lateral: true, query: { kind: 'query', decls: [], ops: [{ kind: 'sql-op', query, ...span }], ...span }, ordinality: false, ...(alias && { alias }), start: span.start, end: s.byte(s.pos) };
};

const nameOf = (text: string, { start, end }: Span): NameNode => ({ kind: 'name', text, start, end });
const callOf = (name: string, args: CallExpr['args'], { start, end }: Span): CallExpr => ({ kind: 'call', callee: nameOf(name, { start, end }), args, start, end });
const numberOf = (text: string, { start, end }: Span): Expr => ({ kind: 'literal', type: 'int64', text, start, end });
const columnOf = (expr: Expr, as: string, { start, end }: Span): SqlColumn => ({ kind: 'sql-column', expr, as: nameOf(as, { start, end }), start, end });
