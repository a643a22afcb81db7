/** SQL queries to operators: WITH, VALUES, UNION, and what follows them. SELECT itself is in sql/select.ts. */
import type { Analysis } from '../analyze/context.ts';
import { type ExprContext, lowerExpr } from '../analyze/exprs.ts';
import { countOf } from '../analyze/ops.ts';
import type { Flow } from '../analyze/queries.ts';
import type {
  Expr,
  LiteralExpr,
  OrderKey,
  SqlBody,
  SqlQuery,
  SqlSelect,
  SqlSetOperation,
  SqlUnion,
  SqlValues,
  SqlWith,
} from '../ast.ts';
import { callOf, compareOf, fieldOf, isSourced, literal, thisExpr } from '../plan/walk.ts';
import type { PlanExpr, PlanOp, SortKey, WindowCall } from '../plan/plan.ts';
import { printExpr } from '../print.ts';
import { Scope } from '../analyze/scope.ts';
import { clauseNames } from './names.ts';
import { collated } from './values/collation.ts';
import { isName } from './correlate.ts';
import { lowerDescribe } from './statements/describe.ts';
import { lowerRecursive } from './recursive.ts';
import { tableCounts } from './shared.ts';
import { lowerSelect } from './select.ts';
import { lowerSetOperation } from './setops.ts';
import { sidesByName, sidesOfOneType } from './sides.ts';
import { columnsOf } from './tables.ts';
import { types } from '../../vectors/type.ts';

/** Operators and the names of the columns that their rows have. */
export interface LoweredSql {
  readonly ops: readonly PlanOp[];
  readonly columns: readonly string[] | undefined;
  /** Of a set operation the names that the columns have in its other sides: ORDER BY knows them, too. */
  readonly others?: readonly (readonly string[])[];
}

/** What comes behind the body of a query. */
export interface SqlTail {
  readonly orderBy?: readonly OrderKey[];
  readonly limit?: Expr;
  readonly offset?: Expr /** LIMIT counts in hundredths of the rows. */;
  readonly isPercent?: true;
}

/** A SQL query in an operator's place. */
export const lowerSqlOp = (a: Analysis, query: SqlQuery, flow: Flow): readonly PlanOp[] =>
  lowerSqlQuery(a, query, flow).ops;

/** A whole SQL query: its tables of WITH in a scope of their own, the body, then ORDER BY, OFFSET and LIMIT. */
export const lowerSqlQuery = (a: Analysis, query: SqlQuery, flow: Flow): LoweredSql => {
  const { recursive, ...own } = flow;
  const inner = query.with ? { ...own, scope: withScope(a, query, query.with, flow) } : own;
  const tail: SqlTail = query;
  if (query.body.kind === 'sql-select') return lowerSelect(a, query.body, inner, tail);
  const body = lowerSqlBody(a, query.body, recursive ? { ...inner, recursive } : inner);
  return {
    ops: [
      ...body.ops,
      ...orderOutput(a, body, inner, byPositions(query.body, tail.orderBy ?? [])),
      ...limits(a, inner, tail),
    ],
    columns: body.columns,
  };
};

const withScope = (a: Analysis, query: SqlQuery, e: SqlWith, flow: Flow): Scope => {
  const counts = tableCounts(query);
  const scope = new Scope(flow.scope);
  for (const cte of e.ctes) {
    const name = cte.alias.name.text.toLowerCase();
    const count = counts.get(name) ?? 0;
    if (scope.tables.has(name)) a.fault('duplicate WITH clause name', cte.alias.name);
    else
      scope.tables.set(name, {
        cte,
        scope,
        recursive: e.recursive,
        inner: flow.outer !== undefined,
        // What a recursive one reads of itself is not read again.
        isRepeated: count > 1 && count - (tableCounts(cte.query).get(name) ?? 0) > 1,
        open: false,
      });
  }
  return scope;
};

/** The body of a SQL query, nothing behind it. */
export const lowerSqlBody = (a: Analysis, body: SqlBody, flow: Flow): LoweredSql => {
  switch (body.kind) {
    case 'sql-select':
      return lowerSelect(a, body, flow, {});
    case 'sql-values':
      return lowerValues(a, body, flow);
    case 'sql-union':
      return flow.recursive ? lowerRecursive(a, body, flow, flow.recursive) : lowerUnion(a, body, flow);
    case 'sql-set':
      return lowerSetOperation(a, body, withoutRecursion(flow));
    case 'sql-query':
      return lowerSqlQuery(a, body, flow);
    case 'sql-describe':
      return lowerDescribe(a, body, flow);
    case 'sql-explain':
      a.fault('EXPLAIN is the whole query', body, 'write it first, before WITH and FROM');
      return { ops: [{ kind: 'empty' }], columns: [] };
  }
};

const lowerValues = (a: Analysis, body: SqlValues, flow: Flow): LoweredSql => {
  // In pipes the operator `values (a)` is the same: only what holds a query, or may use columns of one around it, needs
  // SQL's names.
  const sql =
    flow.outer || body.rows.some(holdsQuery)
      ? clauseNames(a, [], new WeakMap(), flow.outer ? { outer: flow.outer } : {})
      : undefined;
  const c: ExprContext = { scope: flow.scope, input: types.null, alone: true, ...(sql && { sql }) };
  const exprs = body.rows.map((row) => lowerExpr(a, row, c));
  return { ops: [{ kind: 'values', exprs, alone: true }], columns: body.rows[0].elems.map((_, i) => `c${i}`) };
};

const holdsQuery = (node: unknown): boolean =>
  Array.isArray(node)
    ? node.some(holdsQuery)
    : typeof node === 'object' &&
      node !== null &&
      (('kind' in node && node.kind === 'subquery') || Object.values(node).some(holdsQuery));

/** UNION: both sides as one stream, under the column names of the left; without ALL each row once. */
export const lowerUnion = (a: Analysis, body: SqlUnion, flow: Flow): LoweredSql => {
  const { left, right, alone, inline, others } = lowerSides(a, body, flow);
  const branches = [{ ops: left.ops }, { ops: right }];
  const both: PlanOp =
    alone.every((x) => x) || inline
      ? { kind: 'combine', branches: branches.map((b, i) => (alone[i] ? b : { ops: [{ kind: 'null' }, ...b.ops] })) }
      : { kind: 'fork', branches };
  return {
    ops: [both, ...(body.distinct ? [{ kind: 'distinct', expr: { kind: 'this' }, sql: true } as const] : [])],
    columns: left.columns,
    others,
  };
};

interface Sides {
  readonly left: LoweredSql;
  readonly right: readonly PlanOp[];
  readonly others: readonly (readonly string[])[];
  readonly alone: readonly boolean[];
  readonly inline: boolean;
}

/**
 * The sides of a set operation, the right one under the columns of the left. `alone`: the side has sources of its own;
 * `inline`: what comes in is one null for each.
 */
export const lowerSides = (a: Analysis, body: SqlUnion | SqlSetOperation, outer: Flow): Sides => {
  const flow = withoutRecursion(outer);
  const left = lowerSqlBody(a, body.left, flow);
  const right = lowerSqlBody(a, body.right, flow);
  const isByName = body.kind === 'sql-union' && body.byName === true;
  if (!isByName && left.columns && right.columns && left.columns.length !== right.columns.length) {
    a.fault('set operations can only be applied to sources with the same number of columns', body);
  }
  // Of `*` over pools the columns are those of their rows at present.
  const known = (side: LoweredSql): LoweredSql => ({
    ops: side.ops,
    columns: side.columns ?? a.fieldsOf(side.ops, flow.input),
  });
  const aligned = isByName
    ? sidesByName(a, known(left), known(right), body)
    : { left: known(left), right: renameColumns(a, known(right), known(left).columns) };
  const made = sidesOfOneType(a, aligned, flow.input);
  const isWritten = isByName || made.left.ops !== left.ops;
  const sides = isWritten ? made : { ...made, left };
  const others = isByName
    ? []
    : [left, right].flatMap((side) => [...(side.columns ? [side.columns] : []), ...(side.others ?? [])]);
  return {
    ...sides,
    others,
    alone: [sides.left.ops, sides.right].map((ops) => isSourced(ops)),
    inline: !flow.hasParent && flow.input === types.null,
  };
};

/** The surroundings for what is only a part of the query of a recursive table. */
export const withoutRecursion = (flow: Flow): Flow => {
  const { recursive: _, ...rest } = flow;
  return rest;
};

/** Rows under other column names, by position. */
export const renameColumns = (
  a: Analysis,
  rows: LoweredSql,
  names: readonly string[] | undefined,
): readonly PlanOp[] => {
  const { ops, columns } = rows;
  if (!columns || !names || columns.length !== names.length || columns.every((c, i) => c === names[i])) return ops;
  const record = a.recordOfColumns(names.map((name, i) => ({ name, value: fieldOf({ kind: 'this' }, columns[i]) })));
  return [...ops, { kind: 'values', exprs: [record] }];
};

/** ORDER BY behind anything but a SELECT: only the output's columns are in scope. */
const orderOutput = (a: Analysis, body: LoweredSql, flow: Flow, keys: readonly OrderKey[]): readonly PlanOp[] => {
  if (keys.length === 0) return [];
  const input = a.typeOf(body.ops, flow.input);
  const columns = body.columns ?? columnsOf(input);
  const known = columns ?? a.fieldsOf(body.ops, flow.input);
  const table = { explicit: false, path: [], ...(columns ? { columns } : {}), merged: new Set<string>() };
  const c: ExprContext = {
    scope: flow.scope,
    input,
    sql: clauseNames(a, [table], new WeakMap(), flow.outer ? { outer: flow.outer } : {}),
  };
  if (isByAll(keys, (name) => columns?.includes(name) === true)) {
    if (!known && a.sourcesKnown)
      a.fault('ORDER BY ALL needs the names of the columns: write them instead of *', keys[0]);
    return [
      {
        kind: 'sort',
        keys: (known ?? []).map((name) => ({
          expr: fieldOf({ kind: 'this' }, name),
          ...directionOf(keys[0], flow.scope),
        })),
        reverse: false,
      },
    ];
  }
  const sort = keys.map((k): SortKey => {
    const at = ordinalOf(k.expr) ?? positionIn(body, k.expr);
    const expr =
      at === undefined
        ? lowerExpr(a, k.expr, c)
        : outputColumn(
            a,
            k.expr,
            at,
            (known ?? []).map((name) => fieldOf({ kind: 'this' }, name)),
          );
    return { expr: collated(k, expr), ...directionOf(k, flow.scope) };
  });
  return [{ kind: 'sort', keys: sort, reverse: false }];
};

/** The position of a name that a column has in another side of a set operation alone. */
const positionIn = ({ columns, others = [] }: LoweredSql, e: Expr): number | undefined => {
  if (e.kind !== 'id' || columns?.includes(e.name)) return undefined;
  const at = others.map((names) => names.indexOf(e.name)).find((i) => i >= 0);
  return at === undefined ? undefined : at + 1;
};

/**
 * Keys of ORDER BY behind set operations: what is written like a column of one of the SELECTs, or has its name, is its
 * position.
 */
const byPositions = (body: SqlBody, keys: readonly OrderKey[]): readonly OrderKey[] => {
  const lists = selectsIn(body)
    .map((select) => select.columns)
    .filter((columns) => columns.every((c) => c.kind === 'sql-column'));
  const texts = lists.map((columns) =>
    columns.map((c) => ({
      name: c.as?.text ?? (c.expr.kind === 'id' ? c.expr.name : undefined),
      text: printExpr(c.expr),
    })),
  );
  return keys.map((k) => {
    // A name of the output, which are those of the first, is one already.
    const name = k.expr.kind === 'id' ? k.expr.name : undefined;
    const text = printExpr(k.expr);
    if (k.expr.kind === 'literal' || (name !== undefined && texts[0]?.some((c) => c.name === name))) return k;
    const at = texts
      .map((columns) => columns.findIndex((c) => (name !== undefined && c.name === name) || c.text === text))
      .find((i) => i >= 0);
    return at === undefined
      ? k
      : { ...k, expr: { kind: 'literal', type: 'int64', text: String(at + 1), start: k.expr.start, end: k.expr.end } };
  });
};
const selectsIn = (body: SqlBody): readonly SqlSelect[] => {
  switch (body.kind) {
    case 'sql-select':
      return [body];
    case 'sql-union':
    case 'sql-set':
      return [...selectsIn(body.left), ...selectsIn(body.right)];
    case 'sql-query':
      return selectsIn(body.body);
    case 'sql-values':
    case 'sql-describe':
    case 'sql-explain':
      return [];
  }
};

/** The direction of a key of ORDER BY, and where its nulls come. */
export const directionOf = (k: OrderKey, scope: Scope): Omit<SortKey, 'expr'> => ({
  order: k.order ?? 'asc',
  nulls: k.nulls ?? scope.nullsOf(k.order ?? 'asc'),
  sql: true,
});

/** Whether it is ORDER BY ALL: by each column of the output, from the left. */
export const isByAll = (keys: readonly OrderKey[], isColumn: (name: string) => boolean): boolean => {
  const [only, another] = keys;
  return only?.expr.kind === 'id' && !another && isName(only.expr, 'all') && !isColumn(only.expr.name);
};

/** The number that a plain integer literal or `#n` is: a position in the select list. */
export const ordinalOf = (e: Expr): number | undefined => {
  if (e.kind === 'id') return e.position;
  return e.kind === 'literal' && e.type === 'int64' ? Number((e as LiteralExpr).text) : undefined;
};

/** The column at a position of ORDER BY. */
export const outputColumn = (a: Analysis, e: Expr, position: number, columns: readonly PlanExpr[]): PlanExpr =>
  columns[position - 1] ?? a.wrong(`column ${position} is out of range`, e);

/** OFFSET, then LIMIT. */
export const limits = (a: Analysis, flow: Flow, tail: SqlTail): readonly PlanOp[] => {
  const c: ExprContext = { scope: flow.scope, input: types.null };
  const { offset, limit } = tail;
  if (tail.isPercent || [offset, limit].some((e) => e && isOpen(a, e, c))) return limitsByNumber(a, flow, tail);
  const ops: PlanOp[] = [];
  if (offset) ops.push({ kind: 'skip', count: countOf(a, rounded(offset), c) });
  if (limit) ops.push({ kind: 'head', count: countOf(a, rounded(limit), c) });
  return ops;
};
/** A bound that is written with a fraction, as a whole number. */
const rounded = (e: Expr): Expr =>
  e.kind === 'literal' && e.type === 'float64' && Number.isFinite(Number(e.text))
    ? { ...e, type: 'int64', text: String(Math.round(Number(e.text))) }
    : e;
/** Whether a bound is known only when the query runs. */
const isOpen = (a: Analysis, e: Expr, c: ExprContext): boolean => {
  if (e.kind === 'literal') return false;
  const start = a.faults.length;
  const isKnown = a.constant(lowerExpr(a, e, c)) !== undefined;
  a.faults.length = start;
  return e.kind === 'subquery' || (!isKnown && e.kind === 'binary');
};

/**
 * Bounds that are worked out while the query runs, and percentages: rows are numbered, and those between the bounds
 * stay. Null is no bound.
 */
const limitsByNumber = (a: Analysis, flow: Flow, { offset, limit, isPercent }: SqlTail): readonly PlanOp[] => {
  const c: ExprContext = {
    scope: flow.scope,
    input: types.null,
    sql: clauseNames(a, [], new WeakMap(), flow.outer ? { outer: flow.outer } : {}),
  };
  const value = (e: Expr): PlanExpr => lowerExpr(a, e, c);
  const number = fieldOf(thisExpr, 'number');
  const row = fieldOf(thisExpr, 'row');
  const zero = literal({ type: types.int64, data: 0 });
  const skipped = offset ? callOf('coalesce', value(offset), zero) : zero;
  const whole = (e: PlanExpr): PlanExpr => ({ kind: 'arithmetic', operator: '-', left: number, right: e });
  const behind: PlanExpr = whole(skipped);
  const tests: PlanExpr[] = [compareOf(behind, '>', zero)];
  const call = (name: string, target: string): WindowCall => ({
    name,
    target,
    arguments: [],
    distinct: false,
    ignoreNulls: false,
    frame: { unit: 'rows', start: { kind: 'unbounded' }, end: { kind: 'unbounded' }, exclude: 'none' },
  });
  if (limit) {
    const most = value(limit);
    const rows: PlanExpr = isPercent
      ? callOf('floor', {
          kind: 'arithmetic',
          operator: '/',
          left: { kind: 'arithmetic', operator: '*', left: most, right: fieldOf(thisExpr, 'total') },
          right: literal({ type: types.float64, data: 100 }),
        })
      : most;
    tests.push({ kind: 'or', left: { kind: 'isNull', operand: most }, right: compareOf(behind, '<=', rows) });
  }
  const calls = [call('row_number', 'number'), ...(isPercent ? [call('count', 'total')] : [])];
  return [
    { kind: 'window', row: 'row', groups: [{ partition: [], order: [], calls }] },
    { kind: 'filter', expr: tests.reduce((x, y) => ({ kind: 'and', left: x, right: y })) },
    { kind: 'values', exprs: [row] },
  ];
};
