/**
 * DESCRIBE, SHOW TABLES and SUMMARIZE to operators: what columns a query has, which tables there are, and figures of
 * all columns.
 */
import type { Analysis } from '../../analyze/context.ts';
import type { Flow } from '../../analyze/queries.ts';
import type { SqlDescribe, SqlQuery } from '../../ast.ts';
import { fieldOf, literal, thisExpr } from '../../plan/walk.ts';
import type { PlanExpr, PlanOp } from '../../plan/plan.ts';
import { sourced } from '../../analyze/queries.ts';
import { isRead } from '../../analyze/sources.ts';
import { type LoweredSql, lowerSqlQuery, withoutRecursion } from '../queries.ts';
import { templateQuery } from './templates.ts';
import { alternatives, recordOf, unknownType, withoutTold } from '../../types/of.ts';
import { type Type, isFloat, isInteger, typeText, types } from '../../../vectors/type.ts';
import { charge } from '../../../vectors/stop.ts';
import { nullValue, stringValue } from '../../../vectors/value.ts';

interface Column {
  readonly name: string;
  readonly type: Type;
}

/** One of these statements. */
export const lowerDescribe = (a: Analysis, e: SqlDescribe, flow: Flow): LoweredSql => {
  if (!e.query) return showTables(a, e);
  const columns = columnsOf(a, e.query, flow);
  const text = (s: string): PlanExpr => literal(stringValue(s));
  const none = literal(nullValue);
  if (!columns) {
    if (a.sourcesKnown)
      a.fault('the columns of the query are not known before it runs', e.query, 'name them instead of *');
    return { ops: [{ kind: 'empty' }], columns: describedColumns };
  }
  charge(columns.length * describedBytes, 'the columns of a table');
  if (e.form === 'summarize') return lowerSqlQuery(a, summary(columns, e.query, e), withoutRecursion(flow));
  return rowsOf(
    a,
    describedColumns,
    columns.map(({ name, type }) => [
      text(name),
      typeOf(type) === undefined ? none : text(typeOf(type)!),
      text('YES'),
      none,
      none,
      none,
    ]),
  );
};
const describedColumns = ['column_name', 'column_type', 'null', 'key', 'default', 'extra'];
/** What the constants of a row take, about. */
const describedBytes = 1024;

const showTables = (a: Analysis, e: SqlDescribe): LoweredSql => {
  const columns = ['name'];
  if (a.environment.mode !== 'lake') {
    a.fault('SHOW TABLES needs a lake: files are no tables', e);
    return { ops: [{ kind: 'empty' }], columns };
  }
  const sources = ['pools', 'views'].flatMap((meta) => a.resolve({ kind: 'lakeMeta', meta }, e)).filter(isRead);
  const name = fieldOf(thisExpr, 'name');
  if (sources.length < 2) return { ops: [{ kind: 'empty' }], columns };
  return {
    columns,
    ops: [
      { kind: 'scan', sources, ordered: true },
      { kind: 'values', exprs: [a.recordOfColumns([{ name: 'name', value: name }])] },
      { kind: 'sort', reverse: false, keys: [{ expr: name, order: 'asc', nulls: 'last' }] },
    ],
  };
};

/** Rows of literals. */
const rowsOf = (a: Analysis, columns: readonly string[], rows: readonly (readonly PlanExpr[])[]): LoweredSql => {
  const source: readonly PlanOp[] =
    rows.length === 0
      ? [{ kind: 'empty' }]
      : [
          { kind: 'null' },
          {
            kind: 'values',
            exprs: rows.map((row) => a.recordOfColumns(columns.map((name, i) => ({ name, value: row[i] })))),
          },
        ];
  return { ops: source, columns };
};

/** The columns of a query with their types as far as they are known; undefined if the columns are not. */
const columnsOf = (a: Analysis, query: SqlQuery, flow: Flow): readonly Column[] | undefined => {
  const { ops, columns } = lowerSqlQuery(a, query, withoutRecursion(flow));
  const record = recordOf(a.rowTypeByContent(sourced(ops), flow.input));
  if (record && record !== 'dynamic') return record.fields.map(({ name, type }) => ({ name, type: withoutTold(type) }));
  return columns?.map((name) => ({ name, type: unknownType }));
};

const present = (t: Type): readonly Type[] => alternatives(t).filter((x) => x !== types.null);
/** The type of a column by its own name, without the null that may be in it; undefined if it is not known. */
const typeOf = (t: Type): string | undefined => {
  const members = present(t);
  if (members.some((x) => x === unknownType || typeText(x).includes('\u0000'))) return undefined;
  return members.length === 0 ? 'null' : members.map((x) => typeText(x)).join('|');
};

/** One row of figures for each column: nested ones have counts alone, and only numbers have means. */
const summary = (columns: readonly Column[], query: SqlQuery, place: SqlDescribe): SqlQuery => {
  const quoted = (name: string): string => `"${name.replaceAll('"', '""')}"`;
  const text = (s: string): string => `'${s.replaceAll("'", "''")}'`;
  const rows = columns.map(({ name, type }) => {
    const c = quoted(name);
    const members = present(type);
    const isNested = members.some((t) => t.kind !== 'primitive');
    const isNumber =
      members.length > 0 &&
      members.every(
        (t) => t.kind === 'primitive' && t !== types.time && t !== types.duration && (isInteger(t) || isFloat(t)),
      );
    const shown = (call: string, is: boolean): string => (is ? `(${call})::varchar` : 'null');
    return `{'column_name': ${text(name)}, 'column_type': ${text(typeOf(type) ?? 'unknown')}, 'min': ${shown(`min(${c})`, !isNested)}, 'max': ${shown(`max(${c})`, !isNested)},
      'approx_unique': approx_count_distinct(${c}), 'avg': ${shown(`avg(${c})`, isNumber)}, 'std': ${shown(`stddev(${c})`, isNumber)},
      'q25': ${shown(`approx_quantile(${c}, 0.25)`, isNumber)}, 'q50': ${shown(`approx_quantile(${c}, 0.5)`, isNumber)}, 'q75': ${shown(`approx_quantile(${c}, 0.75)`, isNumber)},
      'count': count(*), 'null_percentage': case when count(*) = 0 then null else round(100.0 * (count(*) - count(${c})) / count(*), 2) end}`;
  });
  const names = [
    'column_name',
    'column_type',
    'min',
    'max',
    'approx_unique',
    'avg',
    'std',
    'q25',
    'q50',
    'q75',
    'count',
    'null_percentage',
  ];
  return templateQuery(
    `select ${names.map((name) => `r.${quoted(name)} as ${quoted(name)}`).join(', ')} from (select unnest([${rows.join(', ')}]) as r from source) figures`,
    { source: query },
    place,
  );
};
