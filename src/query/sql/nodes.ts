/** Nodes of SQL that the parser and the analysis put together themselves. */
import type { SqlQuery, SqlSubqueryTable } from '../ast.ts';

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
