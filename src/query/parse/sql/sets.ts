/**
 * What SQL has beyond the grammar of v0.2.0 around its blocks: INTERSECT and EXCEPT, FETCH FIRST, NATURAL and FULL
 * joins behind a bare table, LATERAL, grouping sets.
 *
 * None of their words is reserved: each counts only where what follows could not stand behind a name, so that `select a
 * except from t` still has an alias.
 */
import type { Expr, SqlBody, SqlGroupingSets } from '../../ast.ts';
import { parseExpr } from '../expressions.ts';
import { parseList } from '../strings.ts';
import type { Scanner } from '../scanner.ts';

/** True if the text from here on matches; nothing is taken. */
export const isAhead = (s: Scanner, pattern: RegExp): boolean => {
  pattern.lastIndex = s.pos;
  return pattern.test(s.text);
};

const setOperator =
  /(?:intersect|except)(?:\s+(?:all|distinct))?\s*(?:(?<=\s)(?:select|values)\b|(?<=\s(?:all|distinct)\s+)from\b|\(\s*(?:\(|(?:select|values|from|with)\b))/iy;
const fetchFirst = /fetch\s+(?:first|next)\s+(?:\S+\s+)?rows?\s+only\b/iy;
const naturalJoin = /natural\s+(?:(?:inner|cross|semi|anti|(?:left|right|full)(?:\s+outer)?)\s+)?join\b/iy;
const fullJoin = /full\s+(?:outer\s+)?join\b/iy;
const semiJoin = /semi\s+join\b/iy;
const asofJoin = /asof\s+(?:(?:inner|semi|anti|(?:left|right|full)(?:\s+outer)?)\s+)?join\b/iy;
const positionalJoin = /positional\s+join\b/iy;
const lateral =
  /lateral\s*(?:\(\s*(?:select|values|from|with|unnest|let|const|fn)\b|(?<=\s)(?:unnest|range|generate_series|regexp_split_to_table|json_each|json_tree)\s*\()/iy;

/** Whether a word here begins a clause, and is no alias. */
export const beginsSqlClause = (s: Scanner): boolean => {
  switch (s.code | 0x20) {
    case 0x65:
    case 0x69:
      return isAhead(s, setOperator);
    case 0x66:
      return isAhead(s, fetchFirst) || isAhead(s, fullJoin);
    case 0x6e:
      return isAhead(s, naturalJoin);
    case 0x61:
      return isAhead(s, asofJoin);
    case 0x70:
      return isAhead(s, positionalJoin) || isAhead(s, /pivot\s*\(/iy);
    case 0x75:
      return isAhead(s, /unpivot\s*(?:(?:include|exclude)\s+nulls\s*)?\(/iy);
    case 0x73:
      return isAhead(s, semiJoin);
    case 0x74:
      return isAhead(s, /tablesample\s*(?:\(|\d|\.\d|(?:reservoir|bernoulli|system)\s*\()/iy);
    default:
      return false;
  }
};

/** Whether LATERAL with a subquery or a table function begins here, and no name `lateral`. Takes nothing. */
export const isLateralAhead = (s: Scanner): boolean => (s.code | 0x20) === 0x6c && isAhead(s, lateral);

/** Takes NATURAL in front of a join. */
export const takesNatural = (s: Scanner): true | undefined => {
  const before = s.pos;
  s.skip();
  if ((s.code | 0x20) === 0x6e && isAhead(s, naturalJoin) && s.keyword('natural')) return true;
  s.pos = before;
  return undefined;
};

/** Takes ASOF in front of a join. */
export const takesAsof = (s: Scanner): true | undefined => {
  const before = s.pos;
  s.skip();
  if ((s.code | 0x20) === 0x61 && isAhead(s, asofJoin) && s.keyword('asof')) return true;
  s.pos = before;
  return undefined;
};

/** `operand {OPERATOR [ALL|DISTINCT] operand}`, from the left. */
export const parseSetTail = (
  s: Scanner,
  parseOperand: (scanner: Scanner) => SqlBody | undefined,
  operators: readonly ('union' | 'intersect' | 'except')[],
): SqlBody | undefined => {
  let left = parseOperand(s);
  while (left !== undefined) {
    const before = s.pos;
    const operator = operators.find((word) => s.gapKeyword(word));
    const right: { readonly body: SqlBody; readonly all: boolean; readonly byName: boolean } | undefined =
      operator === undefined ? undefined : parseRight(s, parseOperand, operator);
    if (operator === undefined || right === undefined) {
      s.pos = before;
      return left;
    }
    const sides = { left, right: right.body, start: left.start, end: right.body.end };
    left =
      operator === 'union'
        ? { kind: 'sql-union', distinct: !right.all, ...(right.byName && { byName: true }), ...sides }
        : { kind: 'sql-set', operator, all: right.all, ...sides };
  }
  return undefined;
};

const parseRight = (
  s: Scanner,
  parseOperand: (scanner: Scanner) => SqlBody | undefined,
  operator: string,
): { readonly body: SqlBody; readonly all: boolean; readonly byName: boolean } | undefined => {
  const all = s.gapKeyword('all');
  if (!all) s.gapKeyword('distinct');
  const byName = operator === 'union' && s.gapKeyword('by') && s.spaceKeyword('name');
  const body = s.gap() ? parseOperand(s) : undefined;
  return body === undefined ? undefined : { body, all, byName };
};

/** `FETCH {FIRST|NEXT} [n] {ROW|ROWS} ONLY`; without a number one row. */
export const parseFetch = (s: Scanner): { readonly expr: Expr } | undefined => {
  const before = s.pos;
  s.skip();
  const start = s.pos;
  if ((s.code | 0x20) === 0x66 && isAhead(s, fetchFirst) && s.keyword('fetch')) {
    if (!s.spaceKeyword('first')) s.spaceKeyword('next');
    s.skip();
    const expr: Expr | undefined = isAhead(s, /rows?\s+only\b/iy)
      ? { kind: 'literal', type: 'int64', text: '1', start: s.byte(start), end: s.byte(s.pos) }
      : parseExpr(s);
    if (expr !== undefined && (s.keywordNext('rows') || s.keywordNext('row')) && s.spaceKeyword('only'))
      return { expr };
  }
  s.pos = before;
  return undefined;
};

const grouping = /(?:rollup|cube)\s*\(|grouping\s+sets\s*\(/iy;

/** An expression of GROUP BY, or a list of groupings; `()` is the grouping by nothing. */
export const parseGroupItem = (s: Scanner): Expr | SqlGroupingSets | undefined => {
  switch (s.code | 0x20) {
    case 0x72:
    case 0x63:
    case 0x67:
      return (isAhead(s, grouping) ? parseGrouping(s) : undefined) ?? parseExpr(s);
    case 0x28:
      return parseNoKeys(s) ?? parseExpr(s);
    case 0x2a:
      return parseEvery(s);
    default:
      return parseExpr(s);
  }
};

/** `*` of SQL's ORDER BY and GROUP BY: another way to write ALL. */
export const parseEvery = (s: Scanner): Expr | undefined => {
  const start = s.pos;
  if (!s.sql || s.code !== 0x2a) return undefined;
  s.pos++;
  return { kind: 'id', name: 'all', quoted: false, start: s.byte(start), end: s.byte(s.pos) };
};

const parseNoKeys = (s: Scanner): SqlGroupingSets | undefined => {
  const start = s.pos;
  if (s.take('(') && s.takeNext(')'))
    return { kind: 'sql-grouping', form: 'sets', sets: [[]], start: s.byte(start), end: s.byte(s.pos) };
  s.pos = start;
  return undefined;
};

const parseGrouping = (s: Scanner): SqlGroupingSets | undefined => {
  const start = s.pos;
  const form = s.keyword('rollup') ? 'rollup' : s.keyword('cube') ? 'cube' : 'sets';
  if (form === 'sets') {
    s.keyword('grouping');
    s.spaceKeyword('sets');
  }
  if (s.takeNext('(')) {
    s.nestings++;
    s.skip();
    const sets = parseList(
      s,
      (scanner) =>
        (form === 'sets' && isAhead(scanner, grouping) ? parseGrouping(scanner) : undefined) ??
        parseGroupingSet(scanner),
    );
    if (sets !== undefined && s.takeNext(')'))
      return { kind: 'sql-grouping', form, sets, start: s.byte(start), end: s.byte(s.pos) };
  }
  s.pos = start;
  return undefined;
};

/** `(a, b)`, `()` or one expression. */
const parseGroupingSet = (s: Scanner): readonly Expr[] | undefined => {
  const start = s.pos;
  if (s.take('(')) {
    s.nestings++;
    s.skip();
    if (s.take(')')) return [];
    const exprs = parseList(s, parseExpr);
    // `(a + b) * 2` is one expression.
    if (exprs !== undefined && s.takeNext(')') && isAhead(s, /\s*[,)]/y)) return exprs;
  }
  s.pos = start;
  const expr = parseExpr(s);
  return expr === undefined ? undefined : [expr];
};

/** The collations of DuckDB as functions of texts; others are refused where they stand. */
const collations: Readonly<Record<string, string>> = {
  nocase: 'lower',
  noaccent: 'strip_accents',
  binary: '',
  posix: '',
  c: '',
};

/** `COLLATE name.name` behind a sort key, as functions to call. */
export const parseCollation = (s: Scanner): readonly string[] | undefined => {
  const before = s.pos;
  const names =
    s.spaceKeyword('collate') && s.space()
      ? s
          .match(/[a-z_]+(?:\.[a-z_]+)*/iy)
          ?.toLowerCase()
          .split('.')
      : undefined;
  if (names?.every((name) => Object.hasOwn(collations, name)))
    return names.map((name) => collations[name]).filter((name) => name !== '');
  s.pos = before;
  return undefined;
};
