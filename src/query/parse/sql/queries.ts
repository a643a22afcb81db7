/**
 * SQL queries as operators (grammar.md, section 6). Everything below runs with `scanner.sql` set, save for pipelines in
 * parentheses.
 */
import type {
  Expr,
  NameNode,
  SqlAlias,
  SqlBody,
  SqlColumn,
  SqlCte,
  SqlExprColumn,
  SqlOp,
  SqlQuery,
  SqlSelect,
  SqlStar,
  SqlWith,
  TupleExpr,
} from '../../ast.ts';
import { memoSqlQuery } from '../scanner.ts';
import { reservedWords, statementWords } from '../../reference/operators.ts';
import type { Scanner } from '../scanner.ts';
import { parseExpr, parseOrExpr } from '../expressions.ts';
import { endsOp } from '../implied.ts';
import { parseOrderList } from '../operators.ts';
import { parseLiteral } from '../literals.ts';
import { parsePrimary } from '../primaries.ts';
import { parseUsingSample } from './sample.ts';
import { beginsSqlClause, isAhead, parseFetch, parseGroupItem, parseSetTail } from './sets.ts';
import { isColumnsAhead, parseStarTest } from './columns.ts';
import { parseStar, parseStarChanges } from './stars.ts';
import { parseList, parseListInBrackets, parseName, parseNameList, parseSqlId } from '../strings.ts';
import { parseDescribe, parseExplain } from './statements.ts';
import { parsePivotStatement } from './pivot.ts';
import { parseSourceTable, parseTable, parseTables } from './tables.ts';
import { beginsWindowOrQualify, parseQualify, parseWindowClause } from './windows.ts';

/** A SQL query that is a whole operator. */
export function parseSqlOp(s: Scanner): SqlOp | undefined {
  const start = s.pos;
  const query = parseSqlQuery(s);
  if (query !== undefined && endsOp(s)) return { kind: 'sql-op', query, start: s.byte(start), end: s.byte(s.pos) };
  s.pos = start;
  return undefined;
}

function parseSqlQuery(s: Scanner): SqlQuery | undefined {
  return mayBeginSql(s) ? s.memo(memoSqlQuery, parseSqlQueryParts) : s.fail();
}

function mayBeginSql(s: Scanner): boolean {
  switch (s.text[s.pos]) {
    case '(':
      return true;
    case 's':
    case 'S':
    case 'f':
    case 'F':
    case 'v':
    case 'V':
    case 'w':
    case 'W':
    case 't':
    case 'T':
      return sqlWord.has(s.peekWord().toLowerCase());
    case 'd':
    case 'D':
    case 'e':
    case 'E':
    case 'p':
    case 'P':
    case 'u':
    case 'U':
      return statementWords.has(s.peekWord().toLowerCase());
    default:
      return false;
  }
}

const sqlWord: ReadonlySet<string> = new Set(['select', 'from', 'values', 'with', 'table', ...statementWords]);

function parseSqlQueryParts(s: Scanner): SqlQuery | undefined {
  const start = s.pos;
  const withClause = parseWith(s);
  if (withClause !== undefined) s.skip();
  // Behind WITH a plain `from x` can be nothing but a query.
  const body = parseSetExpr(s) ?? (withClause && parseAll(s, 'from'));
  if (body === undefined) return undefined;
  const orderBy = parseOrderBy(s);
  const bounds = parseBounds(s);
  if (body.kind === 'sql-query' && withClause === undefined && orderBy === undefined && bounds === undefined)
    return body;
  return {
    kind: 'sql-query',
    with: withClause,
    body,
    orderBy,
    limit: bounds?.limit,
    offset: bounds?.offset,
    ...(bounds?.isPercent && { isPercent: true }),
    start: s.byte(start),
    end: s.byte(s.pos),
  };
}

function parseOrderBy(s: Scanner): SqlQuery['orderBy'] {
  const before = s.pos;
  if (s.gapKeyword('order') && s.apartKeyword('by')) {
    const keys = parseOrderList(s);
    if (keys !== undefined) return keys;
  }
  s.pos = before;
  return undefined;
}

interface Bounds {
  readonly limit?: Expr;
  readonly offset?: Expr;
  readonly isPercent?: true;
}

/** LIMIT (or FETCH FIRST) and OFFSET in either order. */
function parseBounds(s: Scanner): Bounds | undefined {
  const limit = parseLimit(s) ?? parseFetch(s);
  if (limit !== undefined) return { ...boundOf(limit), offset: parseOffset(s) };
  const offset = parseOffset(s);
  return offset === undefined ? undefined : { offset, ...boundOf(parseLimit(s) ?? parseFetch(s)) };
}

const boundOf = (limit: Limit | undefined): Bounds => ({
  limit: limit?.expr,
  ...(limit?.isPercent && { isPercent: true }),
});

/** `expr` is absent for LIMIT ALL. */
interface Limit {
  readonly expr?: Expr;
  readonly isPercent?: true;
}
function parseLimit(s: Scanner): Limit | undefined {
  const before = s.pos;
  if (s.apartKeyword('limit')) {
    if (s.keyword('all')) return {};
    const percent = parsePercent(s);
    const expr = percent ?? parseExpr(s);
    if (expr !== undefined) return percent ? { expr, isPercent: true } : { expr };
  }
  s.pos = before;
  return undefined;
}

/** `n %` or `n PERCENT`: a number, or an expression in brackets. */
function parsePercent(s: Scanner): Expr | undefined {
  const start = s.pos;
  const expr = s.code === 0x28 ? parsePrimary(s) : parseLiteral(s);
  if (
    expr !== undefined &&
    (s.keywordNext('percent') || (isAhead(s, /\s*%\s*(?:$|[);]|offset\b|\|)/iy) && s.takeNext('%')))
  )
    return expr;
  s.pos = start;
  return undefined;
}

function parseOffset(s: Scanner): Expr | undefined {
  const offset = parseClause(s, 'offset', parseExpr);
  if (offset !== undefined && !s.spaceKeyword('rows')) s.spaceKeyword('row');
  return offset;
}

/** `KEYWORD X`, when it is there. */
function parseClause<T>(s: Scanner, keyword: string, parse: (scanner: Scanner) => T | undefined): T | undefined {
  const before = s.pos;
  if (s.apartKeyword(keyword)) {
    const node = parse(s);
    if (node !== undefined) return node;
  }
  s.pos = before;
  return undefined;
}

function parseWith(s: Scanner): SqlWith | undefined {
  const start = s.pos;
  if (!s.keyword('with') || !s.space()) {
    s.pos = start;
    return undefined;
  }
  const recursive = s.keyword('recursive') && s.space();
  const ctes = parseList(s, parseCte);
  if (ctes !== undefined) return { kind: 'sql-with', recursive, ctes, start: s.byte(start), end: s.byte(s.pos) };
  s.pos = start;
  return undefined;
}

function parseCte(s: Scanner): SqlCte | undefined {
  const alias = parseAlias(s);
  if (alias === undefined) return undefined;
  const usingKey = parseUsingKey(s);
  if (!s.keywordNext('as')) return undefined;
  const not = s.spaceKeyword('not');
  const materialized = s.spaceKeyword('materialized') ? !not : undefined;
  if (not && materialized === undefined) return undefined;
  if (!s.takeNext('(')) return undefined;
  s.skip();
  s.nestings++;
  const query = parseSqlQuery(s);
  if (query === undefined || !s.takeNext(')')) return undefined;
  return {
    kind: 'sql-cte',
    alias,
    materialized,
    ...(usingKey && { usingKey }),
    query,
    start: alias.start,
    end: s.byte(s.pos),
  };
}

/** `USING KEY (column, aggregate [AS column], ..)`. */
function parseUsingKey(s: Scanner): readonly SqlExprColumn[] | undefined {
  const before = s.pos;
  if (s.keywordNext('using') && s.spaceKeyword('key') && s.takeNext('(')) {
    s.skip();
    s.nestings++;
    const keys = parseList(s, parseKeyColumn);
    if (keys !== undefined && s.takeNext(')')) return keys;
  }
  s.pos = before;
  return undefined;
}

function parseKeyColumn(s: Scanner): SqlExprColumn | undefined {
  const start = s.pos;
  const expr = parseExpr(s);
  if (expr === undefined) return undefined;
  const end = s.pos;
  const as = s.gapKeyword('as') && s.space() ? parseSqlId(s) : undefined;
  if (as === undefined) s.pos = end;
  return { kind: 'sql-column', expr, ...(as && { as }), start: s.byte(start), end: s.byte(s.pos) };
}

/** UNION and EXCEPT from the left, INTERSECT before both. */
function parseSetExpr(s: Scanner): SqlBody | undefined {
  return parseSetTail(s, parseIntersections, ['union', 'except']);
}

function parseIntersections(s: Scanner): SqlBody | undefined {
  return parseSetTail(s, parseBlock, ['intersect']);
}

function parseBlock(s: Scanner): SqlBody | undefined {
  if (s.code === 0x28) return parseEnclosedSql(s);
  return (
    parseSelect(s) ??
    parseFromFirst(s) ??
    parseValues(s) ??
    parseAll(s, 'table') ??
    parsePivotStatement(s, parseTable) ??
    parseDescribe(s, parseSqlQuery) ??
    parseExplain(s)
  );
}

/** `TABLE name`, `FROM name`: all of it. */
function parseAll(s: Scanner, word: 'table' | 'from'): SqlSelect | undefined {
  const start = s.pos;
  if (s.keyword(word) && s.gap()) {
    const from = parseSourceTable(s);
    if (from !== undefined)
      return {
        kind: 'sql-select',
        distinct: false,
        columns: [{ kind: 'sql-star', start: from.start, end: from.end }],
        from,
        start: s.byte(start),
        end: s.byte(s.pos),
      };
  }
  s.pos = start;
  return undefined;
}

function parseEnclosedSql(s: Scanner): SqlQuery | undefined {
  const start = s.pos++;
  s.nestings++;
  s.skip();
  const query = parseSqlQuery(s);
  if (query !== undefined && s.takeNext(')')) return query;
  s.pos = start;
  return undefined;
}

function parseSelect(s: Scanner): SqlSelect | undefined {
  const start = s.pos;
  const head = parseSelectHead(s);
  if (head === undefined) return undefined;
  const from = parseClause(s, 'from', parseTables);
  return { kind: 'sql-select', ...head, from, ...parseSelectTail(s), start: s.byte(start), end: s.byte(s.pos) };
}

function parseFromFirst(s: Scanner): SqlSelect | undefined {
  const start = s.pos;
  const from = s.keyword('from') && s.gap() ? parseTables(s) : undefined;
  if (from !== undefined) {
    const behind = s.pos;
    const head = s.gap() ? parseSelectHead(s) : undefined;
    if (head !== undefined)
      return { kind: 'sql-select', ...head, from, ...parseSelectTail(s), start: s.byte(start), end: s.byte(s.pos) };
    s.pos = behind;
    const span = { start: s.byte(start), end: s.byte(s.pos) };
    const tail = parseSelectTail(s);
    // A plain `from x` is an operator of pipes.
    if (
      from.kind === 'sql-join' ||
      from.kind === 'sql-pivot' ||
      from.kind === 'sql-unpivot' ||
      from.alias ||
      (from.kind === 'sql-subquery-table' && from.query.ops.every((op) => op.kind === 'sql-op')) ||
      Object.values(tail).some((part) => part !== undefined) ||
      isAhead(s, /\s+(?:order\s+by|limit|offset)\b/iy)
    ) {
      return {
        kind: 'sql-select',
        distinct: false,
        columns: [{ kind: 'sql-star', ...span }],
        from,
        ...tail,
        start: span.start,
        end: s.byte(s.pos),
      };
    }
  }
  s.pos = start;
  return undefined;
}

/** SELECT [ALL|DISTINCT [ON (...)]] columns. A comma behind the last column is let pass. */
function parseSelectHead(s: Scanner): Pick<SqlSelect, 'distinct' | 'distinctOn' | 'columns'> | undefined {
  const start = s.pos;
  if (!s.keyword('select')) return undefined;
  const distinct = s.gapKeyword('distinct');
  const distinctOn = distinct ? parseDistinctOn(s) : undefined;
  if (!distinct) s.gapKeyword('all');
  const columns = s.gap() ? parseList(s, parseColumn) : undefined;
  if (columns !== undefined) {
    const behind = s.pos;
    if (!s.takeNext(',') || !isAhead(s, /\s*from\b/iy)) s.pos = behind;
    return { distinct, ...(distinctOn && { distinctOn }), columns };
  }
  s.pos = start;
  return undefined;
}

/** `ON (expressions)` behind DISTINCT. */
const parseDistinctOn = (s: Scanner): readonly Expr[] | undefined =>
  parseListInBrackets(s, () => s.spaceKeyword('on'), parseExpr);

function parseSelectTail(
  s: Scanner,
): Pick<SqlSelect, 'where' | 'groupBy' | 'having' | 'windows' | 'qualify' | 'sample'> {
  const where = parseClause(s, 'where', parseOrExpr);
  const before = s.pos;
  const groupBy = s.gapKeyword('group')
    ? parseClause(s, 'by', (scanner) => parseList(scanner, parseGroupItem))
    : undefined;
  if (groupBy === undefined) s.pos = before;
  return {
    where,
    groupBy,
    having: parseClause(s, 'having', parseExpr),
    windows: parseWindowClause(s),
    qualify: parseQualify(s),
    sample: parseUsingSample(s),
  };
}

function parseColumn(s: Scanner): SqlColumn | undefined {
  const start = s.pos;
  // Behind a comma too many.
  if (isAhead(s, /(?<=,\s*)from\s+[\p{L}_"'(]/iuy)) return s.fail();
  const before = parsePrefixAlias(s);
  const star = before || isColumnsAhead(s) ? undefined : parseStar(s);
  const expr = star === undefined ? parseExpr(s) : undefined;
  if (star === undefined && expr === undefined) return undefined;
  const whole: SqlStar | undefined = star && {
    kind: 'sql-star',
    ...star,
    ...parseStarChanges(s),
    start: s.byte(start),
    end: s.byte(s.pos),
  };
  const found = expr ?? (whole && parseStarTest(s, whole));
  const as = before ?? parseTextAlias(s) ?? parseAs(s, parseSqlId);
  const span = { start: s.byte(start), end: s.byte(s.pos) };
  return found === undefined ? { ...whole!, as, ...span } : { kind: 'sql-column', expr: found, as, ...span };
}

/** `AS 'alias'`. */
function parseTextAlias(s: Scanner): NameNode | undefined {
  const before = s.pos;
  if (s.gapKeyword('as') && s.skip() && s.code === 0x27) return parseName(s);
  s.pos = before;
  return undefined;
}

/** `alias :` before what it names, as in DuckDB. */
export function parsePrefixAlias(s: Scanner): NameNode | undefined {
  const start = s.pos;
  const alias = isAhead(s, /(?:[\p{L}_$][\p{L}\p{N}_$]*|"[^"\\]*")\s*:(?!:)/uy) ? parseSqlId(s) : undefined;
  if (alias !== undefined && s.takeNext(':')) {
    s.skip();
    return alias;
  }
  s.pos = start;
  return undefined;
}

/** `[AS] alias`. */
export function parseAs<T>(s: Scanner, parse: (scanner: Scanner) => T | undefined): T | undefined {
  const before = s.pos;
  if (s.apartKeyword('as')) {
    const alias = parse(s);
    if (alias !== undefined) return alias;
  }
  s.pos = before;
  if (!s.gap()) return undefined;
  const word = s.peekWord();
  const reserved = reservedWords.has(word.toLowerCase());
  const alias = reserved
    ? s.fail(s.pos + word.length)
    : beginsSqlClause(s) || beginsWindowOrQualify(s)
      ? s.fail()
      : parse(s);
  if (alias === undefined) s.pos = before;
  return alias;
}

/** `name [(columns)]`. */
export function parseAlias(s: Scanner): SqlAlias | undefined {
  const name = parseSqlId(s);
  if (name === undefined) return undefined;
  const columns = parseNameList(s, parseSqlId);
  return { kind: 'sql-alias', name, columns, start: name.start, end: s.byte(s.pos) };
}

/** `VALUES (..), (..)`. */
export function parseValues(s: Scanner): SqlBody | undefined {
  const start = s.pos;
  if (s.keyword('values')) {
    s.skip();
    const rows = parseList(s, parseRow);
    if (rows !== undefined) return { kind: 'sql-values', rows, start: s.byte(start), end: s.byte(s.pos) };
  }
  s.pos = start;
  return undefined;
}

function parseRow(s: Scanner): TupleExpr | undefined {
  const start = s.pos;
  if (!s.take('(')) return undefined;
  s.nestings++;
  s.skip();
  const elems = parseList(s, parseExpr);
  if (elems !== undefined && s.takeNext(')')) return { kind: 'tuple', elems, start: s.byte(start), end: s.byte(s.pos) };
  s.pos = start;
  return undefined;
}
