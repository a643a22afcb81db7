/**
 * Statements that stand for a query which is simpler to write as text: the text is parsed, and what it calls by a name
 * is put in.
 */
import type { SqlQuery, SqlSubqueryTable, Span } from '../../ast.ts';
import { parse } from '../../parse/parser.ts';
import { subqueryTable } from '../nodes.ts';

/**
 * The query of a text, in which tables of these names are queries. Everything stands at the place of the statement, but
 * for these queries.
 */
export const templateQuery = (
  text: string,
  tables: Readonly<Record<string, SqlQuery>>,
  { start, end }: Span,
): SqlQuery => {
  const visit = (node: unknown): unknown => {
    if (Array.isArray(node)) return node.map(visit);
    if (typeof node !== 'object' || node === null) return node;
    // Types are told apart by their identity.
    if ('kind' in node && node.kind === 'sql-type') return { ...node, start, end };
    const table = tableNamed(node);
    if (table !== undefined && Object.hasOwn(tables, table))
      return subqueryTable(tables[table], node as { readonly alias?: SqlSubqueryTable['alias'] });
    return Object.fromEntries(
      Object.entries(node).map(([key, value]: [string, unknown]) => [
        key,
        key === 'start' ? start : key === 'end' ? end : visit(value),
      ]),
    );
  };
  const [op] = parse(text).ops;
  if (op?.kind !== 'sql-op') throw new Error(`no query: ${text}`);
  return visit(op.query) as SqlQuery;
};

const tableNamed = (node: object): string | undefined => {
  const { kind, source } = node as {
    readonly kind?: string;
    readonly source?: { readonly origin: { readonly text?: string } };
  };
  return kind === 'sql-table' ? source?.origin.text : undefined;
};
