/**
 * PIVOT whose columns are known when the query runs and not before: its rows are records with a field for each value.
 */
import type { Analysis } from '../../analyze/context.ts';
import type { Flow } from '../../analyze/queries.ts';
import type { Expr, SqlExprColumn, SqlPivotTable, SqlQuery, SqlSelect } from '../../ast.ts';
import type { PlanExpr, PlanOp } from '../../plan/plan.ts';
import { fieldOf, thisExpr } from '../../plan/walk.ts';
import { printExpr } from '../../print.ts';
import { types } from '../../../vectors/type.ts';
import { columnOf, queryOf, subqueryTable } from '../nodes.ts';
import { lowerSqlQuery } from '../queries.ts';
import { templateQuery } from './templates.ts';

/** One column whose values become fields, the aggregates that these have, and what rows are told apart by. */
interface Parts {
  readonly pivot: SqlPivotTable;
  readonly on: Expr;
  readonly using: readonly SqlExprColumn[];
  readonly groups: readonly { readonly name: string; readonly expr: Expr }[];
}
/**
 * One pass groups by the groups and the value, and its rows are read twice: for the names of the fields, which are the
 * values in their order, and for the rows.
 */
export const pivotedByRows = (a: Analysis, parts: Parts, flow: Flow): readonly PlanOp[] => {
  const { ops } = lowerSqlQuery(a, cellsOf(parts), flow);
  const row: PlanExpr = {
    kind: 'record',
    elements: [
      ...parts.groups.map(({ name }, i) => ({ kind: 'field', name, value: fieldOf(thisExpr, `g${i}`) }) as const),
      { kind: 'spread', value: fieldOf(thisExpr, 'c') },
    ],
  };
  return [...ops, { kind: 'values', exprs: [row] }];
};

/** Rows with the groups as `g0` and so on, and the fields as a record `c`. */
const cellsOf = ({ pivot, on, using, groups }: Parts): SqlQuery => {
  const span = { start: pivot.start, end: pivot.end };
  const text: Expr = {
    kind: 'cast',
    expr: on,
    target: { kind: 'sql-type', type: { kind: 'plain', type: types.string }, ...span },
    ...span,
  };
  const results = using.map(({ expr }, i) => columnOf(expr, `u${i}`, span));
  const keys = groups.map((g, i) => columnOf(g.expr, `g${i}`, span));
  const cells: SqlSelect = {
    kind: 'sql-select',
    distinct: false,
    columns: [...keys, columnOf(text, 'k', span), columnOf(on, 'v', span), ...results],
    from: pivot.source,
    groupBy: [...groups.map((g) => g.expr), text, on],
    ...span,
  };
  const rows: SqlSelect = {
    kind: 'sql-select',
    distinct: false,
    columns: [{ kind: 'sql-star', ...span }],
    from: pivot.source,
    ...span,
  };
  const none: SqlQuery = { ...queryOf(rows), limit: { kind: 'literal', type: 'int64', text: '0', ...span } };
  const empty: SqlSelect = {
    kind: 'sql-select',
    distinct: false,
    columns: results,
    from: subqueryTable(none),
    ...span,
  };
  const list = (of: (i: number) => string): string => `[${using.map((_, i) => of(i)).join(', ')}]`;
  const behind = ({ expr, as }: SqlExprColumn): string => {
    const name = as?.text ?? (using.length > 1 ? printExpr(expr) : undefined);
    return name === undefined ? '' : ` || '_${name.replaceAll("'", "''")}'`;
  };
  const own = groups.map((_, i) => `g${i}, `).join('');
  const fields = using.map((_, i) => `'u${i}': u${i}`).join(', ');
  return templateQuery(
    `with pivot__cells as materialized (select * from pivot__source),
      pivot__names as (select coalesce(list(k order by v), []) as l
        from (select k, min(v) as v from pivot__cells where k is not null group by k) n),
      pivot__empty as (select * from pivot__nothing)
    select ${own}struct_from_lists(
      flatten(list_transform(n.l, lambda k: ${list((i) => `case when k = '' then '''''' else k end${behind(using[i])}`)})),
      flatten(list_transform(n.l, lambda k: ${list((i) => `case when m[k] is null then e.u${i} else struct_extract(m[k], 'u${i}') end`)}))) as c
    from (select ${own}map_from_entries(list({'key': k, 'value': {${fields}}}) filter (where k is not null)) as m
      from pivot__cells ${own === '' ? '' : `group by ${own.slice(0, -2)}`}) r, pivot__names n, pivot__empty e`,
    { pivot__source: queryOf(cells), pivot__nothing: queryOf(empty) },
    pivot,
  );
};
