/**
 * `MERGE INTO pool[@branch] [[AS] a] USING table ON condition WHEN ..`: a statement that is a whole text. None of its
 * words is reserved.
 *
 * It has three queries: rows of the pool with a row of the other table that they match; the same rows of the pool once
 * each, by whose number it is told that one matches several; and rows of the other table that match none. In each a
 * column says which clause is meant, the first one whose condition is true; further columns are its values.
 */
import type {
  Expr,
  IdExpr,
  LiteralType,
  MergeAction,
  MergeRowsOp,
  NameNode,
  Span,
  SqlExprColumn,
  SqlQuery,
  SqlTable,
  SqlTableExpr,
} from '../../ast.ts';
import { CompileError } from '../error.ts';
import { parseExpr, parseOrExpr } from '../expressions.ts';
import type { Scanner } from '../scanner.ts';
import { parseList, parseListInBrackets, parseSqlId } from '../strings.ts';
import { parseAssignment, parseTargetTable } from './changes.ts';
import { parseTablePart } from './tables.ts';

/** One WHEN; `values`: of its targets. */
interface Clause extends Span {
  readonly isMatched: boolean;
  readonly condition?: Expr;
  readonly action: MergeAction;
  readonly values: readonly Expr[];
}

/** The statement; undefined if it is none. */
export const parseMerge = (s: Scanner): readonly [MergeRowsOp] | undefined => {
  const start = s.pos;
  if (s.match(/merge\s+into\s/iy) === undefined) return undefined;
  s.skip();
  const table = parseTargetTable(s, /using\b/iy);
  if (table === undefined || s.match(/using\b/iy) === undefined) return undefined;
  s.skip();
  const other = parseTablePart(s);
  s.skip();
  if (other === undefined || s.match(/on\b/iy) === undefined) return undefined;
  s.skip();
  const on = parseOrExpr(s);
  if (on === undefined) return undefined;
  const clauses: Clause[] = [];
  for (let clause = parseClause(s); clause; clause = parseClause(s)) {
    checkReached(clause, clauses);
    clauses.push(clause);
  }
  if (clauses.length === 0) return undefined;
  const span = { start: s.byte(start), end: s.byte(s.pos) };
  return [{ kind: 'merge-rows-op', source: table.source, ...queriesOf(table, other, on, clauses), ...span }];
};

/** Of the clauses for rows that match, and of those for others, the first whose condition is true is done. */
const checkReached = ({ isMatched, start, end }: Clause, before: readonly Clause[]): void => {
  if (!before.some((other) => other.isMatched === isMatched && !other.condition)) return;
  const kind = isMatched ? 'WHEN MATCHED' : 'WHEN NOT MATCHED';
  throw new CompileError([
    {
      message: `MERGE INTO: this clause is never reached, since a ${kind} before it has no condition`,
      start,
      end,
      hint: `write the ${kind} without a condition last`,
    },
  ]);
};

const parseClause = (s: Scanner): Clause | undefined => {
  const before = s.pos;
  s.skip();
  const start = s.pos;
  if (s.match(/when\b/iy) === undefined) {
    s.pos = before;
    return undefined;
  }
  s.skip();
  const isMatched = s.match(/matched\b/iy) !== undefined;
  if (!isMatched && s.match(/not\s+matched\b/iy) === undefined) return reset(s, before);
  s.skip();
  if (s.match(/by\s+source\b/iy) !== undefined)
    throw fault('MERGE INTO has no WHEN NOT MATCHED BY SOURCE', s, start, 'a DELETE or UPDATE with not exists (..)');
  if (!isMatched && s.match(/by\s+target\b/iy) !== undefined) s.skip();
  const hasCondition = s.match(/and\b/iy) !== undefined;
  s.skip();
  const condition = hasCondition ? parseOrExpr(s) : undefined;
  s.skip();
  if ((hasCondition && condition === undefined) || s.match(/then\b/iy) === undefined) return reset(s, before);
  s.skip();
  const done = isMatched ? parseMatched(s) : parseInsert(s);
  if (done === undefined) return reset(s, before);
  return { isMatched, ...(condition && { condition }), ...done, start: s.byte(start), end: s.byte(s.pos) };
};
const reset = (s: Scanner, to: number): undefined => {
  s.pos = to;
};

type Done = Pick<Clause, 'action' | 'values'>;
const nothing: Done = { action: { verb: 'nothing', targets: [] }, values: [] };
const parseMatched = (s: Scanner): Done | undefined => {
  if (s.match(/do\s+nothing\b/iy) !== undefined) return nothing;
  if (s.match(/delete\b/iy) !== undefined) return { action: { verb: 'delete', targets: [] }, values: [] };
  if (s.match(/update\s+set\s/iy) === undefined) return undefined;
  s.skip();
  const assignments = parseList(s, parseAssignment);
  if (assignments === undefined) return undefined;
  const targets = assignments.map(({ path }) => path);
  return { action: { verb: 'update', targets }, values: assignments.map(({ value }) => value.expr) };
};
/** `INSERT (columns) VALUES (..)`, or `INSERT [*]` for the row as it is. */
const parseInsert = (s: Scanner): Done | undefined => {
  if (s.match(/do\s+nothing\b/iy) !== undefined) return nothing;
  const start = s.pos;
  if (s.match(/insert\b/iy) === undefined) return undefined;
  s.skip();
  if (s.take('*')) return { action: { verb: 'insert row', targets: [] }, values: [] };
  const columns = parseListInBrackets(s, () => true, parseSqlId);
  s.skip();
  if (columns === undefined || s.match(/values\b/iy) === undefined)
    throw fault('MERGE INTO: INSERT takes (columns) VALUES (..), or * for the row of the other table', s, start);
  s.skip();
  const values = parseListInBrackets(s, () => true, parseExpr);
  if (values === undefined) return undefined;
  if (values.length !== columns.length)
    throw fault(`MERGE INTO: INSERT names ${columns.length} columns, and has ${values.length} values`, s, start);
  return { action: { verb: 'insert', targets: columns.map((column) => [column]) }, values };
};
const fault = (message: string, s: Scanner, start: number, hint?: string): CompileError =>
  new CompileError([
    { message, start: s.byte(start), end: s.byte(s.pos), ...(hint !== undefined && { hint: `write ${hint}` }) },
  ]);

/** The three queries; those that no clause needs are left out. */
const queriesOf = (
  table: SqlTable,
  other: SqlTableExpr,
  on: Expr,
  clauses: readonly Clause[],
): Pick<MergeRowsOp, 'matched' | 'once' | 'others' | 'clauses'> => {
  const actions = clauses.map(({ action }) => action);
  const at = { start: table.start, end: other.end };
  const those = (isMatched: boolean): Expr => clauseColumn(clauses, isMatched, at);
  const values = (isMatched: boolean): readonly SqlExprColumn[] =>
    clauses.flatMap((clause, k) =>
      clause.isMatched === isMatched ? clause.values.map((expr, i) => column(expr, `c${k}v${i}`)) : [],
    );
  const isMeant: Expr = { kind: 'is-null', negated: true, expr: those(true), ...at };
  const both: Expr = { kind: 'binary', op: 'and', left: on, right: isMeant, ...at };
  const hasMatched = clauses.some(({ isMatched }) => isMatched);
  return {
    clauses: actions,
    ...(hasMatched && {
      matched: select(
        [column(those(true), 'clause'), column(wholeRow(at), 'row'), ...values(true)],
        { style: 'inner', left: table, right: other, on },
        at,
      ),
      once: select(
        [column(literal('bool', 'true', at), 'row')],
        { style: 'semi', left: table, right: other, on: both },
        at,
      ),
    }),
    ...(clauses.some(({ isMatched }) => !isMatched) && {
      others: select(
        [column(those(false), 'clause'), column(wholeRow(at), 'row'), ...values(false)],
        { style: 'anti', left: other, right: table, on },
        at,
      ),
    }),
  };
};

/** The number of the first clause that is meant; null for none, and for one that does nothing. */
const clauseColumn = (clauses: readonly Clause[], isMatched: boolean, at: Span): Expr => ({
  kind: 'case',
  whens: clauses.flatMap((clause, k) => {
    if (clause.isMatched !== isMatched) return [];
    const { condition = literal('bool', 'true', clause), action, start, end } = clause;
    const then = action.verb === 'nothing' ? literal('null', 'null', clause) : literal('int64', String(k), clause);
    return [{ kind: 'case-when' as const, when: condition, then, start, end }];
  }),
  ...at,
});
const literal = (type: LiteralType, text: string, { start, end }: Span): Expr => ({
  kind: 'literal',
  type,
  text,
  start,
  end,
});
const nameOf = (text: string, { start, end }: Span): NameNode => ({ kind: 'name', text, start, end });
const column = (expr: Expr, as: string): SqlExprColumn => ({
  kind: 'sql-column',
  expr,
  as: nameOf(as, expr),
  start: expr.start,
  end: expr.end,
});

/** The row of the other table, or the pair of a join: both are there whatever their columns are. */
const wholeRow = ({ start, end }: Span): IdExpr => ({ kind: 'id', name: 'this', quoted: false, start, end });

interface From {
  readonly style: 'inner' | 'semi' | 'anti';
  readonly left: SqlTableExpr;
  readonly right: SqlTableExpr;
  readonly on: Expr;
}
const select = (columns: readonly SqlExprColumn[], { style, left, right, on }: From, at: Span): SqlQuery => ({
  kind: 'sql-query',
  body: {
    kind: 'sql-select',
    distinct: false,
    columns,
    from: {
      kind: 'sql-join',
      style,
      left,
      right,
      condition: { kind: 'join-on', expr: on, start: on.start, end: on.end },
      ...at,
    },
    ...at,
  },
  ...at,
});
