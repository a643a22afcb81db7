/** FROM of SQL: tables, subqueries, UNNEST and VALUES with their joins. */
import type { SqlJoin, SqlQuery, SqlSelect, SqlTableExpr } from '../../ast.ts';
import { memoTables } from '../scanner.ts';
import type { Scanner } from '../scanner.ts';
import { parseJoinCondition } from '../operators.ts';
import { parseEnclosedQuery } from '../primaries.ts';
import { isAhead, isLateralAhead, takesAsof, takesNatural } from './sets.ts';
import { parseTableSample } from './sample.ts';
import { parsePivots } from './pivot.ts';
import { parseSource } from '../sources.ts';
import { parseAlias, parseAs, parsePrefixAlias, parseValues } from './queries.ts';
import { statementWords } from '../../reference/operators.ts';
import { subqueryTable } from '../../sql/nodes.ts';
import { parseTableFunction } from './table-functions.ts';

/** Tables with their joins. */
export function parseTables(s: Scanner): SqlTableExpr | undefined {
  return s.memo(memoTables, parseJoins);
}

function parseJoins(s: Scanner): SqlTableExpr | undefined {
  let left = parseTable(s);
  while (left !== undefined) {
    if (isAhead(s, lastComma)) {
      s.takeNext(',');
      return left;
    }
    const before = s.pos;
    const next: SqlJoin | undefined = parseJoin(s, left);
    if (next === undefined) {
      s.pos = before;
      return left;
    }
    left = next;
  }
  return undefined;
}
/** A comma behind the last table, which DuckDB allows. */
const lastComma =
  /\s*,\s*(?:$|[);|]|(?:(?:where|having|qualify|window|limit|offset|fetch|union|intersect|except)\s|(?:group|order)\s+by\b))/iy;

function parseJoin(s: Scanner, left: SqlTableExpr): SqlJoin | undefined {
  const natural = takesNatural(s);
  const asof = natural ? undefined : takesAsof(s);
  const style = s.takeNext(',') ? 'cross' : parseJoinStyle(s, natural ?? asof);
  if (style === undefined) return undefined;
  s.skip();
  const right = parseTable(s);
  if (right === undefined) return undefined;
  if (natural) return { kind: 'sql-join', style, natural, left, right, start: left.start, end: s.byte(s.pos) };
  if (style === 'cross' || style === 'positional')
    return { kind: 'sql-join', style, left, right, start: left.start, end: s.byte(s.pos) };
  const condition = s.gap() ? parseJoinCondition(s) : undefined;
  return condition === undefined
    ? undefined
    : { kind: 'sql-join', style, ...(asof && { asof }), left, right, condition, start: left.start, end: s.byte(s.pos) };
}

/** The keywords up to JOIN and the gaps on both sides; NATURAL and ASOF have taken the one before it. */
function parseJoinStyle(s: Scanner, natural: true | undefined): SqlJoin['style'] | undefined {
  if (!s.gap() && !natural) return undefined;
  const word = s.peekWord().toLowerCase();
  switch (word) {
    case 'join':
      return s.keyword('join') && s.gap() ? 'inner' : undefined;
    case 'cross':
    case 'inner':
    case 'anti':
    case 'semi':
    case 'positional':
    case 'full':
    case 'left':
    case 'right':
      s.pos += word.length;
      if (word === 'full' || word === 'left' || word === 'right') s.spaceKeyword('outer');
      return s.apartKeyword('join') ? word : undefined;
    default:
      return s.fail();
  }
}

const queryWords: ReadonlySet<string> = new Set([
  ...statementWords,
  'select',
  'from',
  'values',
  'with',
  'const',
  'fn',
  'let',
  'op',
  'pragma',
  'type',
]);

/** A table with its alias. */
export function parseTable(s: Scanner): SqlTableExpr | undefined {
  // Without a blank a colon leads to metadata: `pool:objects`.
  const alias = isAhead(s, /[^\s:]+\s+:/y) ? parsePrefixAlias(s) : undefined;
  const table = parseTablePart(s);
  return withClauses(
    s,
    alias && table && table.kind !== 'sql-join'
      ? { ...table, alias: { kind: 'sql-alias', name: alias, start: alias.start, end: alias.end } }
      : table,
  );
}

/** A table with what may stand behind it. */
function withClauses(s: Scanner, table: SqlTableExpr | undefined): SqlTableExpr | undefined {
  const sample = table && table.kind !== 'sql-join' ? parseTableSample(s) : undefined;
  const sampled = table && sample ? ({ ...table, sample } as SqlTableExpr) : table;
  return sampled && parsePivots(s, sampled, (scanner) => parseAs(scanner, parseAlias));
}

export function parseTablePart(s: Scanner): SqlTableExpr | undefined {
  const made = parseTableFunction(s, parseOrdinality, (scanner) => parseAs(scanner, parseAlias)) ?? parseValuesTable(s);
  if (made !== undefined) return made;
  if (isLateralAhead(s)) return parseLateral(s) ?? parseSourceTable(s);
  if (s.code !== 0x28) return parseSourceTable(s);
  const start = s.pos;
  s.nestings++;
  s.pos++;
  s.skip();
  // `(from x)` would also be a table `from` with the alias `x`.
  const queryFirst = queryWords.has(s.peekWord().toLowerCase());
  s.pos = start;
  return queryFirst
    ? (parseSubqueryTable(s) ?? parseEnclosedTables(s))
    : (parseEnclosedTables(s) ?? parseSubqueryTable(s));
}

/** `VALUES (..), (..) [AS] t(..)` without brackets around it. */
function parseValuesTable(s: Scanner): SqlTableExpr | undefined {
  const start = s.pos;
  if ((s.code | 0x20) !== 0x76 || !isAhead(s, /values\s*\(/iy)) return undefined;
  const body = parseValues(s);
  if (body !== undefined) {
    const span = { start: s.byte(start), end: s.byte(s.pos) };
    const query: SqlQuery = { kind: 'sql-query', body, ...span };
    const alias = parseAs(s, parseAlias);
    return {
      kind: 'sql-subquery-table',
      query: { kind: 'query', decls: [], ops: [{ kind: 'sql-op', query, ...span }], ...span },
      ordinality: false,
      alias,
      start: span.start,
      end: s.byte(s.pos),
    };
  }
  s.pos = start;
  return undefined;
}

/** Tables in brackets; with an alias they are one table, of which no other name is seen. */
function parseEnclosedTables(s: Scanner): SqlTableExpr | undefined {
  const start = s.pos++;
  s.skip();
  const tables = parseTables(s);
  if (tables !== undefined && s.takeNext(')')) {
    const alias = parseAs(s, parseAlias);
    if (alias === undefined) return tables;
    if (tables.kind === 'sql-subquery-table' && tables.alias === undefined && tables.sample === undefined)
      return { ...tables, alias };
    const span = { start: s.byte(start), end: s.byte(s.pos) };
    const body: SqlSelect = {
      kind: 'sql-select',
      distinct: false,
      columns: [{ kind: 'sql-star', ...span }],
      from: tables,
      ...span,
    };
    return subqueryTable({ kind: 'sql-query', body, ...span }, { alias });
  }
  s.pos = start;
  return undefined;
}

function parseLateral(s: Scanner): SqlTableExpr | undefined {
  const start = s.pos;
  s.keyword('lateral');
  s.skip();
  // A table function may use the tables before it without the word.
  const made = parseTableFunction(s, parseOrdinality, (scanner) => parseAs(scanner, parseAlias));
  if (made !== undefined) return made;
  const table = parseSubqueryTable(s);
  if (table?.kind === 'sql-subquery-table') return { ...table, lateral: true, start: s.byte(start) };
  s.pos = start;
  return undefined;
}

function parseSubqueryTable(s: Scanner): SqlTableExpr | undefined {
  const start = s.pos;
  const query = parseEnclosedQuery(s, '(', ')');
  if (query === undefined) return undefined;
  const ordinality = parseOrdinality(s);
  const alias = parseAs(s, parseAlias);
  return { kind: 'sql-subquery-table', query, ordinality, alias, start: s.byte(start), end: s.byte(s.pos) };
}

/** A pool, a file or a URL with its alias. */
export function parseSourceTable(s: Scanner): SqlTableExpr | undefined {
  const start = s.pos;
  const source = parseSource(s);
  if (source === undefined) return undefined;
  const ordinality = parseOrdinality(s);
  const alias = parseAs(s, parseAlias);
  return { kind: 'sql-table', source, ordinality, alias, start: s.byte(start), end: s.byte(s.pos) };
}

function parseOrdinality(s: Scanner): boolean {
  const before = s.pos;
  if (s.spaceKeyword('with') && s.spaceKeyword('ordinality')) return true;
  s.pos = before;
  return false;
}
