/**
 * Functions that stand for tables in FROM: UNNEST, RANGE, GENERATE_SERIES, REGEXP_SPLIT_TO_TABLE, JSON_EACH and JSON_TREE.
 * None of the words is reserved.
 */
import type {
  Arg,
  CallExpr,
  Expr,
  IdExpr,
  NameNode,
  Span,
  SqlAlias,
  SqlColumn,
  SqlQuery,
  SqlSelect,
  SqlTableExpr,
} from '../../ast.ts';
import { CompileError } from '../error.ts';
import { parseExpr } from '../expressions.ts';
import { isAhead } from './sets.ts';
import type { Scanner } from '../scanner.ts';
import { subqueryTable } from '../../sql/nodes.ts';

const ahead = /(?:unnest|range|generate_series|regexp_split_to_table|json_each|json_tree)\s*\(/iy;

/** `f(..) [WITH ORDINALITY] [AS] t(column)`: a table of the elements, which may use columns of the tables before it. */
export const parseTableFunction = (
  s: Scanner,
  parseOrdinality: (scanner: Scanner) => boolean,
  parseAs: (scanner: Scanner) => SqlAlias | undefined,
): SqlTableExpr | undefined => {
  if (!isAhead(s, ahead)) return undefined;
  const start = s.pos;
  const call: Expr | undefined = parseExpr(s);
  const name = call?.kind === 'call' && call.callee.kind === 'name' ? call.callee.text.toLowerCase() : '';
  if (call?.kind !== 'call' || !functions.includes(name)) {
    s.pos = start;
    return undefined;
  }
  const span = { start: s.byte(start), end: s.byte(s.pos) };
  checkStep(name, call);
  const ordinality = parseOrdinality(s);
  const alias = parseAs(s);
  const isUnnest = name === 'unnest';
  // Several lists go in step, each as a column of its own.
  const lists = isUnnest ? call.args.filter(isList) : [call];
  const rows = lists.length > 1 || !isUnnest ? lists.map((list) => callOf('unnest', [list], span)) : [call];
  const numbers = ordinality
    ? [
        columnOf(
          callOf(
            'unnest',
            [
              callOf(
                'generate_series',
                [
                  numberOf('1', span),
                  callOf(
                    'greatest',
                    lists.map((list) => callOf('len', [list], span)),
                    span,
                  ),
                ],
                span,
              ),
            ],
            span,
          ),
          'ordinality',
          span,
        ),
      ]
    : [];
  const query: SqlQuery =
    (records.has(name) ? recordRows(call, numbers, span) : undefined) ??
    longRange(name, call, ordinality, span) ??
    queryOf({
      kind: 'sql-select',
      distinct: false,
      columns: [...rows.map((of, i) => columnOf(of, i === 0 ? name : `${name}_${i}`, span)), ...numbers],
      ...span,
    });
  return {
    kind: 'sql-subquery-table',
    lateral: true,
    query: { kind: 'query', decls: [], ops: [{ kind: 'sql-op', query, ...span }], ...span },
    ordinality: false,
    ...(alias && { alias }),
    start: span.start,
    end: s.byte(s.pos),
  };
};

/** The fields of the records that functions give. */
const records: ReadonlyMap<string, readonly string[]> = new Map(
  ['json_each', 'json_tree'].map((name) => [name, ['key', 'value', 'type', 'atom', 'id', 'parent', 'fullkey', 'path']]),
);
/** Options of UNNEST by their names are a record. */
const isList = (arg: Arg): arg is Expr => arg.kind !== 'record' && arg.kind !== 'lambda' && arg.kind !== 'function-ref';
const functions: readonly string[] = ['unnest', 'range', 'generate_series', ...records.keys()];
/** A column for each field of the records. */
const recordRows = (call: CallExpr, more: readonly SqlColumn[], span: Span): SqlQuery => {
  const fields = records.get(call.callee.kind === 'name' ? call.callee.text.toLowerCase() : '') ?? [];
  const row: IdExpr = { kind: 'id', name: 'row', quoted: true, ...span };
  const made = columnOf(callOf('unnest', [call], span), 'row', span);
  return queryOf({
    kind: 'sql-select',
    distinct: false,
    columns: [
      ...fields.map((name) => columnOf({ kind: 'dot', expr: row, name: nameOf(name, span), ...span }, name, span)),
      ...more.map(({ as }) => columnOf({ kind: 'id', name: as!.text, quoted: true, ...span }, as!.text, span)),
    ],
    from: subqueryTable(queryOf({ kind: 'sql-select', distinct: false, columns: [made, ...more], ...span })),
    ...span,
  });
};

/** As in DuckDB a step of 0 is refused where rows are made of it; as a list it has no elements. */
const checkStep = (name: string, { args: [, , step] }: CallExpr): void => {
  if ((name !== 'range' && name !== 'generate_series') || !step || numberIn(step) !== 0) return;
  throw new CompileError([{ message: `${name}: step must not be 0`, start: step.start, end: step.end }]);
};

/** Longer ranges of numbers that are written as such are made a part at a time. */
const partMax = 65_536;
/** Such a range: the beginnings of its parts, then the numbers of each. */
const longRange = (name: string, { args }: CallExpr, ordinality: boolean, span: Span): SqlQuery | undefined => {
  const given = args.map(numberIn);
  const step = given[2] ?? 1;
  const end = (given.length > 1 ? given[1] : given[0]) ?? NaN;
  const from = given.length > 1 ? (given[0] ?? NaN) : 0;
  const to = name === 'range' ? end : end + Math.sign(step);
  const length = (to - from) / step;
  if (
    name === 'unnest' ||
    ordinality ||
    given.length > 3 ||
    given.includes(undefined) ||
    ![from, to, step, step * partMax, length].every(Number.isFinite) ||
    length <= 16 * partMax ||
    length > Number.MAX_SAFE_INTEGER
  )
    return undefined;
  const part: Expr = { kind: 'id', name: 'part', quoted: true, ...span };
  const bound: Expr = { kind: 'binary', op: '+', left: part, right: numberOf(String(step * partMax), span), ...span };
  const rangeOf = (...list: readonly Expr[]): Expr => callOf('unnest', [callOf('range', list, span)], span);
  const last = callOf(step > 0 ? 'least' : 'greatest', [bound, numberOf(String(to), span)], span);
  const parts = queryOf({
    kind: 'sql-select',
    distinct: false,
    columns: [
      columnOf(
        rangeOf(numberOf(String(from), span), numberOf(String(to), span), numberOf(String(step * partMax), span)),
        'part',
        span,
      ),
    ],
    ...span,
  });
  return queryOf({
    kind: 'sql-select',
    distinct: false,
    columns: [columnOf(rangeOf(part, last, numberOf(String(step), span)), name, span)],
    from: subqueryTable(parts),
    ...span,
  });
};
/** The whole number that an argument is. */
const numberIn = (e: CallExpr['args'][number]): number | undefined => {
  if (e.kind === 'unary' && e.op === '-') {
    const of = numberIn(e.operand);
    return of === undefined ? undefined : -of;
  }
  return e.kind === 'literal' && e.type === 'int64' && Number.isSafeInteger(Number(e.text))
    ? Number(e.text)
    : undefined;
};

const queryOf = (body: SqlSelect): SqlQuery => ({ kind: 'sql-query', body, start: body.start, end: body.end });
const nameOf = (text: string, { start, end }: Span): NameNode => ({ kind: 'name', text, start, end });
const callOf = (name: string, args: CallExpr['args'], { start, end }: Span): CallExpr => ({
  kind: 'call',
  callee: nameOf(name, { start, end }),
  args,
  start,
  end,
});
const numberOf = (text: string, { start, end }: Span): Expr => ({ kind: 'literal', type: 'int64', text, start, end });
const columnOf = (expr: Expr, as: string, { start, end }: Span): SqlColumn => ({
  kind: 'sql-column',
  expr,
  as: nameOf(as, { start, end }),
  start,
  end,
});
