/** Nodes of SQL that the parser and the analysis put together themselves. */
import type { Expr, NameNode, Span, SqlExprColumn, SqlQuery, SqlSelect, SqlSubqueryTable } from '../ast.ts';

/** A query as a table of FROM. */
export const subqueryTable = (query: SqlQuery, { alias }: Pick<SqlSubqueryTable, 'alias'> = {}): SqlSubqueryTable => {
  const { start, end } = query;
  const span = { start, end };
  return {
    kind: 'sql-subquery-table',
    query: { kind: 'query', decls: [], ops: [{ kind: 'sql-op', query, ...span }], ...span },
    ordinality: false,
    ...(alias && { alias }),
    ...span,
  };
};

/** A SELECT as a whole query. */
export const queryOf = (body: SqlSelect): SqlQuery => ({
  kind: 'sql-query',
  body,
  start: body.start,
  end: body.end,
});
export const nameNode = (text: string, { start, end }: Span): NameNode => ({ kind: 'name', text, start, end });
/** An expression as a column of the select list. */
export const columnOf = (expr: Expr, name: string, { start, end }: Span): SqlExprColumn => ({
  kind: 'sql-column',
  expr,
  as: nameNode(name, { start, end }),
  start,
  end,
});
