/**
 * INSERT, UPDATE, DELETE and MERGE INTO: statements that are a whole text, and no part of a query. None of their words is reserved.
 *
 * An INSERT is its query with a load behind it. An UPDATE and a DELETE have the query of what they change: the new
 * values of the rows that their condition selects.
 */
import type {
  ChangeRowsOp,
  LoadOp,
  NameNode,
  QueryNode,
  SourceNode,
  Span,
  SqlAlias,
  SqlBody,
  SqlExprColumn,
  SqlOp,
  SqlQuery,
  SqlSelect,
  SqlTable,
} from '../../ast.ts';
import { CompileError } from '../error.ts';
import { parseExpr, parseOrExpr } from '../expressions.ts';
import type { Scanner } from '../scanner.ts';
import { parseLoadSource } from '../sources.ts';
import { parseList, parseListInBrackets, parseSqlId } from '../strings.ts';
import { parseMerge } from './merge.ts';
import { parseSqlOp } from './queries.ts';
import { isAhead } from './sets.ts';

/** The statement as a query; undefined, with the scanner where it was, if it is none. */
export const parseChangeStatement = (s: Scanner): QueryNode | undefined => {
  const start = s.pos;
  const { sql } = s;
  s.sql = true;
  const ops = parseInsert(s) ?? parseUpdate(s) ?? parseDelete(s) ?? parseMerge(s);
  s.sql = sql;
  if (ops === undefined) s.pos = start;
  return ops && { kind: 'query', decls: [], ops, start: s.byte(start), end: s.byte(s.pos) };
};

/** `INSERT INTO pool[@branch] [BY NAME] [(columns)] query`: columns are those that the query names without a list. */
const parseInsert = (s: Scanner): readonly [SqlOp, LoadOp] | undefined => {
  const start = s.pos;
  if (s.match(/insert\s+into\s/iy) === undefined) return undefined;
  s.skip();
  const source = parseTarget(s);
  if (source === undefined) return undefined;
  s.skip();
  const byName = s.match(/by\s+name\b/iy) !== undefined;
  s.skip();
  const columns =
    !byName && isAhead(s, /\(\s*(?!select\b|with\b|values\b|from\b|table\b|\()/iy)
      ? parseListInBrackets(s, () => true, parseSqlId)
      : undefined;
  s.skip();
  const query = parseSqlOp(s);
  if (query === undefined) return undefined;
  const span = { start: s.byte(start), end: s.byte(s.pos) };
  const named = columns ? withColumns(query, columns) : namedByItself(query);
  const load: LoadOp = { kind: 'load-op', source, insert: { columns: columns ?? namesOf(query) }, ...span };
  return [named, load];
};

/** The target's name with its branch; what else a source may have is none of it. */
const parseTarget = (s: Scanner): SourceNode | undefined => {
  const source = parseLoadSource(s);
  return source && source.meta === undefined && source.args.length === 0 ? source : undefined;
};

/** How many columns the query has, if its text says it. @throws CompileError of rows that differ in it. */
const columnsOf = (body: SqlBody): number | undefined => {
  switch (body.kind) {
    case 'sql-values': {
      const [first, ...others] = body.rows;
      const count = first?.elems.length;
      const odd = others.find((row) => row.elems.length !== count);
      if (odd) throw fault(`INSERT INTO: rows of VALUES have ${count} and ${odd.elems.length} columns`, odd);
      return count;
    }
    case 'sql-select':
      return body.columns.every(({ kind }) => kind === 'sql-column') ? body.columns.length : undefined;
    case 'sql-union':
      return body.byName ? undefined : columnsOf(body.left);
    case 'sql-set':
      return columnsOf(body.left);
    case 'sql-query':
      return columnsOf(body.body);
    default:
      return undefined;
  }
};

/** The names that a query's text gives to its columns. */
const namesOf = ({ query: { body } }: SqlOp): readonly NameNode[] =>
  body.kind === 'sql-select'
    ? body.columns.flatMap((column) => (column.kind === 'sql-column' && column.as ? [column.as] : []))
    : [];

/** `SELECT * FROM (query) AS insert(columns)`. */
const withColumns = (op: SqlOp, columns: readonly NameNode[]): SqlOp => {
  const { start, end } = op;
  const count = columnsOf(op.query.body);
  if (count === undefined)
    throw fault('INSERT INTO with a list of columns: the query must name its columns one by one', op);
  if (count !== columns.length) throw fault(`INSERT INTO names ${columns.length} columns, its rows have ${count}`, op);
  const seen = new Set<string>();
  for (const column of columns) {
    if (seen.has(column.text.toLowerCase())) throw fault(`INSERT INTO names column "${column.text}" twice`, column);
    seen.add(column.text.toLowerCase());
  }
  const name: NameNode = { kind: 'name', text: 'insert', start, end };
  const alias: SqlAlias = { kind: 'sql-alias', name, columns, start, end };
  const query: QueryNode = { kind: 'query', decls: [], ops: [op], start, end };
  const select: SqlSelect = {
    kind: 'sql-select',
    distinct: false,
    columns: [{ kind: 'sql-star', start, end }],
    from: { kind: 'sql-subquery-table', query, ordinality: false, alias, start, end },
    start,
    end,
  };
  return { kind: 'sql-op', query: { kind: 'sql-query', body: select, start, end }, start, end };
};
/** A query whose columns have names; VALUES alone have none. */
const namedByItself = (op: SqlOp): SqlOp => {
  if (op.query.body.kind === 'sql-values')
    throw fault(
      'INSERT INTO ... VALUES needs a list of columns: a pool has no fixed ones',
      op,
      'INSERT INTO pool (a, b) VALUES (1, 2)',
    );
  return op;
};

/** `UPDATE pool[@branch] [[AS] alias] SET column = expression, .. [WHERE condition]`. */
const parseUpdate = (s: Scanner): readonly [ChangeRowsOp] | undefined => {
  const start = s.pos;
  if (s.match(/update\s/iy) === undefined) return undefined;
  s.skip();
  const table = parseTargetTable(s, /set\b/iy);
  if (table === undefined || s.match(/set\s/iy) === undefined) return undefined;
  s.skip();
  const assignments = parseList(s, parseAssignment);
  if (assignments === undefined) return undefined;
  const columns = assignments.map(({ value }) => value);
  return [
    {
      kind: 'change-rows-op',
      verb: 'update',
      targets: assignments.map(({ path }) => path),
      ...changed(s, start, table, columns),
    },
  ];
};
/** `DELETE FROM pool[@branch] [[AS] alias] [WHERE condition]`. */
const parseDelete = (s: Scanner): readonly [ChangeRowsOp] | undefined => {
  const start = s.pos;
  if (s.match(/delete\s+from\s/iy) === undefined) return undefined;
  s.skip();
  const table = parseTargetTable(s, /where\b/iy);
  if (table === undefined) return undefined;
  const one: SqlSelect['columns'][number] = {
    kind: 'sql-column',
    expr: { kind: 'literal', type: 'bool', text: 'true', start: table.start, end: table.end },
    as: { kind: 'name', text: 'v0', start: table.start, end: table.end },
    start: table.start,
    end: table.end,
  };
  return [{ kind: 'change-rows-op', verb: 'delete', targets: [], ...changed(s, start, table, [one]) }];
};

/** The pool that a statement changes, with its alias; `next`: the word behind it. */
export const parseTargetTable = (s: Scanner, next: RegExp): SqlTable | undefined => {
  const start = s.pos;
  const source = parseTarget(s);
  if (source === undefined) return undefined;
  s.skip();
  const isNamed = s.match(/as\s/iy) !== undefined;
  s.skip();
  const name = isNamed || (!isAhead(s, next) && isAhead(s, /[\p{L}_"]/uy)) ? parseSqlId(s) : undefined;
  if (isNamed && name === undefined) return undefined;
  s.skip();
  return {
    kind: 'sql-table',
    source,
    ordinality: false,
    ...(name && { alias: { kind: 'sql-alias' as const, name, start: name.start, end: name.end } }),
    start: s.byte(start),
    end: source.end,
  };
};

interface SetColumn extends Span {
  readonly path: readonly NameNode[];
  readonly value: SqlExprColumn;
}
/** `column = expression`, also of a nested field: `a.b = expression`. */
export const parseAssignment = (s: Scanner): SetColumn | undefined => {
  const start = s.pos;
  const path: NameNode[] = [];
  do {
    const name = parseSqlId(s);
    if (name === undefined) break;
    path.push(name);
  } while (s.take('.'));
  s.skip();
  if (path.length === 0 || !s.take('=')) {
    s.pos = start;
    return undefined;
  }
  s.skip();
  const expr = parseExpr(s);
  if (expr === undefined) return undefined;
  const span = { start: s.byte(start), end: s.byte(s.pos) };
  return { path, value: { kind: 'sql-column', expr, ...span }, ...span };
};

/** The condition behind, and the query of what is changed: its columns are called v0, v1, .. */
const changed = (
  s: Scanner,
  start: number,
  table: SqlTable,
  values: readonly SqlSelect['columns'][number][],
): Pick<ChangeRowsOp, 'source' | 'query' | 'start' | 'end'> => {
  const before = s.pos;
  s.skip();
  const isWhere = s.match(/where\b/iy) !== undefined;
  s.skip();
  const where = isWhere ? parseOrExpr(s) : undefined;
  if (where === undefined) s.pos = before;
  const span = { start: s.byte(start), end: s.byte(s.pos) };
  const columns = values.map((value, i) => ({
    ...value,
    as: { kind: 'name' as const, text: `v${i}`, start: value.start, end: value.end },
  }));
  const body: SqlSelect = {
    kind: 'sql-select',
    distinct: false,
    columns,
    from: table,
    ...(where && { where }),
    ...span,
  };
  const query: SqlQuery = { kind: 'sql-query', body, ...span };
  return { source: table.source, query, ...span };
};

const fault = (message: string, { start, end }: Span, hint?: string): CompileError =>
  new CompileError([{ message, start, end, ...(hint !== undefined && { hint }) }]);
