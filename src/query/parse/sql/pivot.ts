/**
 * PIVOT and UNPIVOT, as clauses behind a table and as statements of their own (as in DuckDB). None of the words is
 * reserved.
 */
import type {
  ColumnsExpr,
  Expr,
  NameNode,
  PivotOn,
  PivotValue,
  SqlAlias,
  SqlExprColumn,
  SqlPivotTable,
  SqlSelect,
  SqlStar,
  SqlTableExpr,
  SqlUnpivotTable,
} from '../../ast.ts';
import { isColumnsAhead } from './columns.ts';
import { parseExpr, parsePostfixExpr } from '../expressions.ts';
import { isAhead } from './sets.ts';
import { parseAs } from './queries.ts';
import { parseStar, parseStarChanges } from './stars.ts';
import { isDeclared } from './statements.ts';
import { parseList, parseListInBrackets, parseName, parseNameList, parseSqlId } from '../strings.ts';
import type { Scanner } from '../scanner.ts';

type ParseAlias = (scanner: Scanner) => SqlAlias | undefined;
type ParseTable = (scanner: Scanner) => SqlTableExpr | undefined;
const pivot = /pivot\s*\(/iy;
const unpivot = /unpivot\s*(?:(?:include|exclude)\s+nulls\s*)?\(/iy;

/** A table with the clauses behind it. */
export const parsePivots = (s: Scanner, table: SqlTableExpr, parseAlias: ParseAlias): SqlTableExpr => {
  const before = s.pos;
  s.skip();
  const next = isAhead(s, pivot)
    ? parsePivotClause(s, table, parseAlias)
    : isAhead(s, unpivot)
      ? parseUnpivotClause(s, table, parseAlias)
      : undefined;
  if (next !== undefined) return parsePivots(s, next, parseAlias);
  s.pos = before;
  return table;
};

/** `PIVOT (aggregates FOR column IN (values) .. [GROUP BY ..]) [alias]`. */
const parsePivotClause = (s: Scanner, source: SqlTableExpr, parseAlias: ParseAlias): SqlPivotTable | undefined => {
  s.match(pivot);
  s.nestings++;
  s.skip();
  const using = parseUsing(s);
  if (using === undefined || !s.gapKeyword('for')) return undefined;
  const on: PivotOn[] = [];
  for (let item = parseFor(s); item !== undefined; item = parseFor(s)) on.push(item);
  const groupBy = parseGroups(s);
  if (on.length === 0 || !s.takeNext(')')) return undefined;
  const alias = parseAlias(s);
  return {
    kind: 'sql-pivot',
    source,
    on,
    using,
    ...(groupBy && { groupBy }),
    ...(alias && { alias }),
    start: source.start,
    end: s.byte(s.pos),
  };
};
const parseFor = (s: Scanner): PivotOn | undefined => {
  const before = s.pos;
  s.skip();
  const expr = isAhead(s, /group\s+by\b/iy) ? undefined : parsePostfixExpr(s);
  const values = expr && parseValues(s);
  if (expr !== undefined && values !== undefined) return { expr, values };
  s.pos = before;
  return undefined;
};
/** `IN (value [AS name], ..)`. */
const parseValues = (s: Scanner): readonly PivotValue[] | undefined =>
  parseListInBrackets(s, () => s.gapKeyword('in'), parseValue);
const parseValue = (s: Scanner): PivotValue | undefined => {
  const expr = parseExpr(s);
  if (expr === undefined) return undefined;
  const before = s.pos;
  const as = s.gapKeyword('as') && s.gap() ? parseName(s) : undefined;
  if (as !== undefined) return { expr, as };
  s.pos = before;
  const bare = s.space() && !isAhead(s, /[,)]/y) ? parseName(s) : undefined;
  if (bare === undefined) s.pos = before;
  return bare ? { expr, as: bare } : { expr };
};

const parseUsing = (s: Scanner): readonly SqlExprColumn[] | undefined => {
  return parseList(s, (scanner) => {
    const start = scanner.pos;
    const expr = parseExpr(scanner);
    const as = expr && !isAhead(scanner, /\s*for\b/iy) ? parseAs(scanner, parseSqlId) : undefined;
    return (
      expr && {
        kind: 'sql-column',
        expr,
        ...(as && { as }),
        start: scanner.byte(start),
        end: scanner.byte(scanner.pos),
      }
    );
  });
};
const parseGroups = (s: Scanner): readonly Expr[] | undefined => {
  const before = s.pos;
  const groups = s.gapKeyword('group') && s.apartKeyword('by') ? parseList(s, parseExpr) : undefined;
  if (groups === undefined) s.pos = before;
  return groups;
};

/** `UNPIVOT [INCLUDE NULLS] (values FOR name IN (columns)) [alias]`. */
const parseUnpivotClause = (s: Scanner, source: SqlTableExpr, parseAlias: ParseAlias): SqlUnpivotTable | undefined => {
  s.keyword('unpivot');
  const includeNulls = isAhead(s, /\s*include\b/iy);
  s.match(/\s*(?:(?:include|exclude)\s+nulls)?\s*\(/iy);
  s.nestings++;
  s.skip();
  const values = parseNames(s);
  if (values === undefined || !s.apartKeyword('for')) return undefined;
  const name = parseSqlId(s);
  const items = name && parseValues(s);
  if (name === undefined || items === undefined || !s.takeNext(')')) return undefined;
  const alias = parseAlias(s);
  return {
    kind: 'sql-unpivot',
    source,
    values,
    name,
    items,
    includeNulls,
    ...(alias && { alias }),
    start: source.start,
    end: s.byte(s.pos),
  };
};
/** One name, or several in brackets. */
const parseNames = (s: Scanner): readonly NameNode[] | undefined => {
  if (s.code === 0x28) return parseNameList(s, parseSqlId);
  const only = parseSqlId(s);
  return only && [only];
};

/**
 * `PIVOT table ON .. [USING ..] [GROUP BY ..]` and `UNPIVOT table ON .. [INTO NAME n VALUE v]`: all of what they give.
 */
export const parsePivotStatement = (s: Scanner, parseTable: ParseTable): SqlSelect | undefined => {
  const start = s.pos;
  const word = s.peekWord().toLowerCase();
  if ((word !== 'pivot' && word !== 'unpivot') || isDeclared(s, word)) return undefined;
  s.pos += word.length;
  const source = s.gap() ? parseTable(s) : undefined;
  const from =
    source && s.apartKeyword('on')
      ? word === 'pivot'
        ? parsePivotRest(s, source)
        : parseUnpivotRest(s, source)
      : undefined;
  if (from === undefined) {
    s.pos = start;
    return undefined;
  }
  const span = { start: s.byte(start), end: s.byte(s.pos) };
  return { kind: 'sql-select', distinct: false, columns: [{ kind: 'sql-star', ...span }], from, ...span };
};

const parsePivotRest = (s: Scanner, source: SqlTableExpr): SqlPivotTable | undefined => {
  const on = parseList(s, parseOn);
  if (on === undefined) return undefined;
  const before = s.pos;
  const using = s.apartKeyword('using') ? parseUsing(s) : undefined;
  if (using === undefined) s.pos = before;
  const groupBy = parseGroups(s);
  return {
    kind: 'sql-pivot',
    source,
    on,
    ...(using && { using }),
    ...(groupBy && { groupBy }),
    start: source.start,
    end: s.byte(s.pos),
  };
};
/** An expression, maybe with the values that it is to have. */
const parseOn = (s: Scanner): PivotOn | undefined => {
  const start = s.pos;
  const target = parsePostfixExpr(s);
  const values = target && parseValues(s);
  if (target !== undefined && values !== undefined) return { expr: target, values };
  s.pos = start;
  const expr = parseExpr(s);
  return expr && { expr };
};

const parseUnpivotRest = (s: Scanner, source: SqlTableExpr): SqlUnpivotTable | undefined => {
  const span = { start: source.start, end: s.byte(s.pos) };
  const nameOf = (text: string): NameNode => ({ kind: 'name', text, ...span });
  const items = parseList(s, parseUnpivoted);
  if (items === undefined) return undefined;
  const base = { kind: 'sql-unpivot', source, items, includeNulls: false, start: source.start } as const;
  const before = s.pos;
  if (s.gapKeyword('into') && s.spaceKeyword('name') && s.space()) {
    const name = parseSqlId(s);
    const values =
      name && (s.spaceKeyword('value') || s.spaceKeyword('values')) && s.space() ? parseList(s, parseSqlId) : undefined;
    if (name !== undefined && values !== undefined) return { ...base, name, values, end: s.byte(s.pos) };
  }
  s.pos = before;
  return { ...base, name: nameOf('name'), values: [nameOf('value')], end: s.byte(s.pos) };
};
const parseUnpivoted = (s: Scanner): PivotValue | undefined => {
  const start = s.pos;
  const star = isColumnsAhead(s) ? undefined : parseStar(s);
  if (star) return { expr: starOf(s, start, star) };
  const expr = parseExpr(s);
  const as = expr && !isAhead(s, /\s*into\s+name\b/iy) ? parseAs(s, parseSqlId) : undefined;
  return expr && { expr, ...(as && { as }) };
};
const starOf = (s: Scanner, start: number, star: Pick<SqlStar, 'table'>): ColumnsExpr => {
  const changes = parseStarChanges(s);
  const span = { start: s.byte(start), end: s.byte(s.pos) };
  return { kind: 'columns', star: { kind: 'sql-star', ...star, ...changes, ...span }, ...span };
};
