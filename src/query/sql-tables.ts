/** FROM: tables, subqueries and joins to operators, and the tables that the other clauses see. */
import type { Analysis } from './analyze-context.ts';
import { lowerExpr } from './analyze-exprs.ts';
import { fieldPath, splitCondition } from './analyze-joins.ts';
import { type Flow, lowerAlone, sourced } from './analyze-queries.ts';
import { lowerFrom } from './analyze-sources.ts';
import type { Expr, JoinUsing, Span, SqlAlias, SqlJoin, SqlTableExpr } from './ast.ts';
import { fieldOf, pathExpr } from './plan-walk.ts';
import type { FieldPath, PlanExpr, PlanOp } from './plan.ts';
import { type SqlTable, clauseNames } from './sql-names.ts';
import { recordOf } from './types-of.ts';
import type { Type } from '../vectors/type.ts';

/** A column of `*`: where its table's row lies, and its name. */
export interface StarColumn { readonly path: FieldPath; readonly name: string }

/** What FROM gives: the operators that make its rows, the tables in them, and the columns of `*` (those of USING first; of dynamic tables none). */
export interface LoweredTables { readonly ops: readonly PlanOp[]; readonly tables: readonly SqlTable[]; readonly star: readonly StarColumn[] }

export const lowerTables = (a: Analysis, e: SqlTableExpr, flow: Flow): LoweredTables => {
  switch (e.kind) {
    case 'sql-table': {
      if (e.ordinality) a.fault('WITH ORDINALITY clause is not yet supported', e);
      const source = lowerFrom(a, e.source, flow);
      return aliased(a, source.ops[0]?.kind === 'fromEach' ? source.ops : sourced(source.ops), e.alias ?? source.alias, source.name, flow.input);
    }
    case 'sql-subquery-table':
      if (e.ordinality) a.fault('WITH ORDINALITY clause is not yet supported', e);
      return aliased(a, lowerAlone(a, e.query, flow.scope, flow.outer).ops, e.alias, undefined, flow.input);
    case 'sql-join': return lowerSqlJoin(a, e, flow);
  }
};

/** The columns of rows of that type; undefined if they are not known. */
export const columnsOf = (t: Type): readonly string[] | undefined => {
  const record = recordOf(t);
  return record === 'dynamic' ? undefined : record === null ? [] : record.fields.map((f) => f.name);
};

const aliased = (a: Analysis, ops: readonly PlanOp[], alias: SqlAlias | undefined, name: string | undefined, input: Type): LoweredTables => {
  const columns = columnsOf(a.typeOf(ops, input)), explicit = alias !== undefined;
  const table = alias?.name.text ?? (columns ? name : undefined);
  const made: SqlTable = { ...(table !== undefined ? { name: table } : {}), explicit, path: [], ...(columns ? { columns } : {}), merged: none };
  if (!alias?.columns) return single(ops, made);
  if (!columns) {
    // A source that is not resolved yet is no reason to complain.
    if (a.sourcesKnown) a.fault('cannot apply column aliases to dynamically typed data', alias);
    return single(ops, made);
  }
  const names = alias.columns.map((n) => n.text);
  if (names.length > columns.length) {
    a.fault(`cannot apply ${names.length} column aliases in table alias "${alias.name.text}" to table with ${columns.length} columns`, alias);
    return single(ops, { ...made, columns: names });
  }
  const record: PlanExpr = { kind: 'record', elements: names.map((n, i) => ({ kind: 'field', name: n, value: fieldOf({ kind: 'this' }, columns[i]!) })) };
  return single([...ops, { kind: 'values', exprs: [record] }], { ...made, columns: names });
};
/** A FROM of one table. */
export const single = (ops: readonly PlanOp[], table: SqlTable): LoweredTables =>
  ({ ops, tables: [table], star: (table.columns ?? []).map((name) => ({ path: table.path, name })) });
const none: ReadonlySet<string> = new Set();

const lowerSqlJoin = (a: Analysis, e: SqlJoin, flow: Flow): LoweredTables => {
  const left = lowerTables(a, e.left, flow), right = lowerTables(a, e.right, flow);
  const { condition } = e;
  const base = { kind: 'join', style: e.style, right: { ops: sourced(right.ops) }, leftName: 'left', rightName: 'right', nullsMatch: true } as const;
  const under = <T extends { readonly path: FieldPath }>(side: string, list: readonly T[]): T[] => list.map((t) => ({ ...t, path: [side, ...t.path] }));
  const leftStar = under('left', left.star), rightStar = under('right', right.star);
  if (condition?.kind === 'join-using') {
    const using = usingKeys(a, condition, left.tables, right.tables);
    const merged = new Set(using.map((k) => k.name));
    const tables = [...under('left', left.tables), ...under('right', right.tables).map((t) => ({ ...t, merged: new Set([...t.merged, ...merged]) }))];
    const first = using.flatMap((k) => leftStar.filter((s) => s.name === k.name).slice(0, 1));
    const star = [...first, ...leftStar.filter((s) => !first.includes(s)), ...rightStar.filter((s) => !merged.has(s.name))];
    return { ops: [...left.ops, { ...base, equal: using }], tables, star };
  }
  const tables = [...under('left', left.tables), ...under('right', right.tables)];
  const join: PlanOp = { ...base, equal: [] };
  const pair = a.typeOf([...left.ops, join], flow.input);
  const sql = clauseNames(a, tables, new WeakMap(), flow.outer ? { outer: flow.outer } : {});
  const on = condition && lowerExpr(a, condition.expr, { scope: flow.scope, input: pair, sql });
  return { ops: [...left.ops, { ...join, ...splitCondition(a, on, 'left', 'right') }], tables, star: [...leftStar, ...rightStar] };
};

interface UsingKey { readonly name: string; readonly left: PlanExpr; readonly right: PlanExpr }

const usingKeys = (a: Analysis, condition: JoinUsing, left: readonly SqlTable[], right: readonly SqlTable[]): readonly UsingKey[] =>
  condition.fields.flatMap((f) => {
    const l = usingColumn(a, f, left, 'left'), r = l && usingColumn(a, f, right, 'right');
    return l && r ? [{ name: fieldPath(f).at(-1) ?? '', left: l, right: r }] : [];
  });

const usingColumn = (a: Analysis, field: Expr & Span, tables: readonly SqlTable[], side: string): PlanExpr | undefined => {
  const path = fieldPath(field), name = path[0] ?? '';
  const owners = tables.filter((t) => !t.columns || (t.columns.includes(name) && !t.merged.has(name)));
  if (owners.length === 1) return pathExpr([...owners[0]!.path, ...path]);
  a.fault(owners.length > 1 ? `ambiguous unqualified column "${name}"` : `column "${name}" in USING clause does not exist in ${side} table`, field);
  return undefined;
};
