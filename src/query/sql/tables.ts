/** FROM: tables, subqueries and joins to operators, and the tables that the other clauses see. */
import type { Analysis } from '../analyze/context.ts';
import { lowerExpr } from '../analyze/exprs.ts';
import { splitCondition } from '../analyze/joins.ts';
import { type Flow, lowerAlone, sourced } from '../analyze/queries.ts';
import { lowerFrom } from '../analyze/sources.ts';
import type { Expr, IdExpr, JoinUsing, QueryNode, SqlAlias, SqlBody, SqlJoin, SqlTableExpr } from '../ast.ts';
import { columnHint } from '../analyze/hints.ts';
import { callOf, columnOf, fieldOf, pathExpr } from '../plan/walk.ts';
import type { AbsentRow, FieldPath, PlanExpr, PlanOp } from '../plan/plan.ts';
import { sqlCondition } from './conditions.ts';
import { lowerPivot } from './statements/pivot.ts';
import { sampleOps } from './statements/sample.ts';
import { alikeNumbers } from './values/numbers.ts';
import { joinAsof, joinByPosition } from './joins.ts';
import { joinLateral, lowerRight } from './lateral.ts';
import { type SqlTable, clauseNames, knownColumns, shownTable } from './names.ts';
import { alternatives, recordOf } from '../types/of.ts';
import { distinctNames } from '../../vectors/field-names.ts';
import { type Type, types } from '../../vectors/type.ts';

/**
 * A column of `*`: where its table's row lies, and its name. Of a dynamic table all its columns at once, but for those
 * of `without`; `known`: their names at present.
 */
export interface StarColumn {
  readonly path: FieldPath;
  readonly name: string;
  readonly without?: readonly string[];
  readonly known?: () => readonly string[] | undefined;
}

/**
 * What FROM gives: the operators that make its rows, the tables in them, and the columns of `*` (those of USING first).
 */
export interface LoweredTables {
  readonly ops: readonly PlanOp[];
  readonly tables: readonly SqlTable[];
  readonly star: readonly StarColumn[];
}

/**
 * FROM. Rows of a join are records `{left,right}`, some with `using` for shared columns; joins in joins are nested so,
 * and the paths of tables and columns lead there.
 */
export const lowerTables = (a: Analysis, e: SqlTableExpr, flow: Flow): LoweredTables => {
  const sample = e.kind === 'sql-table' || e.kind === 'sql-subquery-table' ? e.sample : undefined;
  const tables = lowerWhole(a, e, flow);
  return sample ? { ...tables, ops: [...tables.ops, ...sampleOps(a, sample)] } : tables;
};
const lowerWhole = (a: Analysis, e: SqlTableExpr, flow: Flow): LoweredTables => {
  switch (e.kind) {
    case 'sql-table': {
      if (e.ordinality) a.fault('WITH ORDINALITY clause is not yet supported', e);
      const source = lowerFrom(a, e.source, flow, true);
      const given = source.ops[0]?.kind === 'fromEach' ? source.ops : sourced(source.ops);
      const ops = alikeRows(a, given, source.body);
      // The columns that WITH names stay when the table gets another name here.
      const named = e.alias && source.alias?.columns ? aliased(a, ops, source.alias, source.name, flow.input).ops : ops;
      return ofValues(aliased(a, named, e.alias ?? source.alias, source.name, flow.input), source.body);
    }
    case 'sql-subquery-table': {
      if (e.ordinality) a.fault('WITH ORDINALITY clause is not yet supported', e);
      const body = sqlBody(e.query);
      const ops = alikeRows(a, lowerAlone(a, e.query, flow.scope, flow.outer).ops, body);
      return ofValues(aliased(a, ops, e.alias, undefined, flow.input), body);
    }
    case 'sql-join':
      return lowerSqlJoin(a, e, flow);
    case 'sql-pivot':
    case 'sql-unpivot':
      return lowerPivot(a, e, flow);
  }
};

/** The columns of rows of that type; undefined if they are not known. */
export const columnsOf = (t: Type): readonly string[] | undefined => {
  const record = recordOf(t);
  // Of values that are no records nothing is known, save that null has no columns.
  if (record === null) return alternatives(t).every((m) => m === types.null) ? [] : undefined;
  return record === 'dynamic' ? undefined : record.fields.map((f) => f.name);
};

/**
 * Operators as rows of a table. Values that are no records make a dynamic one: what is known of them counts no more.
 */
export const rowsOf = (a: Analysis, ops: readonly PlanOp[], t: Type): readonly PlanOp[] => {
  if (recordOf(t) === 'dynamic' || columnsOf(t)) return ops;
  const untyped: PlanOp = { kind: 'pass' };
  a.places.untyped.add(untyped);
  return [...ops, untyped];
};

/** Operators as a table under its alias. */
export const aliased = (
  a: Analysis,
  given: readonly PlanOp[],
  alias: SqlAlias | undefined,
  name: string | undefined,
  input: Type,
): LoweredTables => {
  const rows = a.typeOf(given, input);
  const columns = columnsOf(rows);
  const ops = rowsOf(a, given, rows);
  const explicit = alias !== undefined;
  const table = alias?.name.text ?? name;
  let fields: readonly string[] | undefined;
  const made: SqlTable = {
    ...(table !== undefined ? { name: table } : {}),
    explicit,
    path: [],
    ...(columns ? { columns } : { fields: () => (fields ??= a.fieldsOf(ops, input)) }),
    merged: none,
  };
  if (!alias?.columns) return single(ops, made);
  const present = knownColumns(made);
  if (!present) {
    // A source that is not resolved yet is no reason to complain.
    if (a.sourcesKnown) a.fault('cannot apply column aliases to dynamically typed data', alias);
    return single(ops, made);
  }
  const names = alias.columns.map((n) => n.text);
  if (names.length > present.length) {
    a.faultOfShape(
      `cannot apply ${names.length} column aliases in table alias "${alias.name.text}" to table with ${present.length} columns`,
      alias,
    );
    return single(ops, { ...made, columns: names });
  }
  // Columns that have no alias keep their names, but for one that an alias took.
  const all = distinctNames([...names, ...present.slice(names.length)]);
  const record = a.recordOfColumns(all.map((name, i) => ({ name, value: fieldOf({ kind: 'this' }, present[i]) })));
  return single([...ops, { kind: 'values', exprs: [record] }], { ...made, columns: all });
};
/** The table knows that its rows are those of VALUES. */
const ofValues = (from: LoweredTables, body: SqlBody | undefined): LoweredTables =>
  body?.kind === 'sql-values' ? { ...from, tables: from.tables.map((t) => ({ ...t, ofValues: true })) } : from;
/** Rows of VALUES with numbers of one type a column, as far as it is known of what types they are; others as they are. */
const alikeRows = (a: Analysis, ops: readonly PlanOp[], body: SqlBody | undefined): readonly PlanOp[] => {
  const op = ops.at(-1);
  if (body?.kind !== 'sql-values' || op?.kind !== 'values' || op.exprs.length < 2) return ops;
  const rows = op.exprs.map(fieldsOf);
  if (!rows.every((row) => row.length > 0 && row.length === rows[0].length)) return ops;
  const typeOf = (e: PlanExpr): Type => a.typeOfRows(e, types.null);
  const columns = rows[0].map((_, i) =>
    alikeNumbers(
      typeOf,
      rows.map((row) => row[i].value),
    ),
  );
  if (columns.every((column, i) => column.every((e, j) => e === rows[j][i].value))) return ops;
  const exprs = rows.map((row, j) => a.recordOfColumns(row.map(({ name }, i) => ({ name, value: columns[i][j] }))));
  return [...ops.slice(0, -1), { ...op, exprs }];
};
const fieldsOf = (e: PlanExpr) =>
  e.kind === 'record' ? e.elements.flatMap((x) => (x.kind === 'field' ? [x] : [])) : [];
const sqlBody = ({ ops: [op, ...others] }: QueryNode): SqlBody | undefined =>
  op?.kind === 'sql-op' && others.length === 0 ? op.query.body : undefined;
/** A FROM of one table. */
export const single = (ops: readonly PlanOp[], table: SqlTable): LoweredTables => ({
  ops,
  tables: [table],
  star: table.columns?.map((name) => ({ path: table.path, name })) ?? [
    { path: table.path, name: '', without: [], ...(table.fields && { known: table.fields }) },
  ],
});
const none: ReadonlySet<string> = new Set();

const lowerSqlJoin = (a: Analysis, e: SqlJoin, flow: Flow): LoweredTables => {
  const left = lowerTables(a, e.left, flow);
  const { right, capture } = lowerRight(a, e, left, flow);
  if (capture) return joinLateral(a, e, left, { right, capture }, flow);
  // Names and the order of joins depend on what the pools hold.
  for (const t of [...left.tables, ...right.tables]) knownColumns(t);
  if (e.style === 'positional') return joinByPosition(left, right);
  const condition = e.natural ? naturalColumns(a, e, left, right) : e.condition;
  const isSemi = e.style === 'semi';
  const style = e.style === 'semi' ? 'inner' : e.style;
  const base: JoinBase = {
    ...sqlJoin,
    style,
    right: { ops: sourced(right.ops) },
    ...absentRows(style, left, right),
    ...(isSemi ? { firstOnly: true } : e.asof ? {} : { anyOrder: true }),
  };
  const joined = e.asof
    ? joinAsof(a, e, { base, left, right, flow })
    : condition?.kind === 'join-using'
      ? joinUsing(a, base, condition, left, right)
      : joinOn(a, base, condition?.expr, left, right, flow);
  return isSemi || style === 'anti' ? leftOnly(joined, left) : joined;
};

/** How joins of SQL compare: null and what is missing match nothing, numbers are equal whatever their types. */
export const sqlJoin = { kind: 'join', leftName: 'left', rightName: 'right', nullsMatch: false, loose: true } as const;
/** A join whose condition is not lowered yet. */
export type JoinBase = Omit<Join, 'equal'>;

/** What stands for the row of a side without a match: nulls in all columns that its tables have. */
export const absentRows = (
  style: string,
  left: LoweredTables,
  right: LoweredTables,
): Pick<Join, 'absentLeft' | 'absentRight'> => {
  const ofLeft = style === 'right' || style === 'full' ? absentRow(left.tables) : undefined;
  const ofRight = style === 'left' || style === 'full' ? absentRow(right.tables) : undefined;
  return { ...(ofLeft && { absentLeft: ofLeft }), ...(ofRight && { absentRight: ofRight }) };
};
const absentRow = (tables: readonly SqlTable[], depth = 0): AbsentRow | undefined => {
  const own = tables.find((t) => t.path.length === depth);
  if (own) return knownColumns(own)?.map((name) => ({ name }));
  const names = [...new Set(tables.map((t) => t.path[depth]))];
  return names.flatMap((name) => {
    const row = absentRow(
      tables.filter((t) => t.path[depth] === name),
      depth + 1,
    );
    return row ? [{ name, row }] : [];
  });
};

const joinOn = (
  a: Analysis,
  base: JoinBase,
  condition: Expr | undefined,
  left: LoweredTables,
  right: LoweredTables,
  flow: Flow,
): LoweredTables => {
  const { tables, star } = beside(left, right);
  const join: PlanOp = { ...base, equal: [] };
  const on = condition && lowerOn(a, condition, [...left.ops, join], tables, flow);
  return { ops: [...left.ops, { ...join, ...splitCondition(a, on, 'left', 'right') }], tables, star };
};

/** The tables of both sides over the pair. `merged`: columns of USING, which the left side has for both. */
export const beside = (
  left: LoweredTables,
  right: LoweredTables,
  merged: readonly string[] = [],
): Pick<LoweredTables, 'tables' | 'star'> => ({
  tables: [...underSide('left', left.tables), ...hiding(underSide('right', right.tables), merged)],
  star: [...underSide('left', left.star), ...restOf(underSide('right', right.star), merged)],
});
const hiding = (list: readonly SqlTable[], merged: readonly string[]): readonly SqlTable[] =>
  merged.length === 0 ? list : list.map((t) => ({ ...t, merged: new Set([...t.merged, ...merged]) }));
const restOf = (list: readonly StarColumn[], merged: readonly string[]): readonly StarColumn[] =>
  merged.length === 0
    ? list
    : list.flatMap((s) =>
        s.without ? [{ ...s, without: [...s.without, ...merged] }] : merged.includes(s.name) ? [] : [s],
      );
/** The columns of USING on both sides, over the pair. */
export const joinColumns = (
  a: Analysis,
  condition: JoinUsing,
  left: LoweredTables,
  right: LoweredTables,
): readonly { readonly left: PlanExpr; readonly right: PlanExpr }[] =>
  usingKeys(a, condition, left.tables, right.tables).map((k) => ({
    left: rebased(k.left, 'left'),
    right: rebased(k.right, 'right'),
  }));

/** Of a semi or anti join the left side alone is there. */
const leftOnly = ({ ops }: LoweredTables, left: LoweredTables): LoweredTables => ({
  ops: [...ops, { kind: 'values', exprs: [pathExpr(['left'])] }],
  tables: left.tables,
  star: left.star,
});

/** Tables or columns of one side of a join, with paths over the pair. */
export const underSide = <T extends { readonly path: FieldPath }>(side: string, list: readonly T[]): T[] =>
  list.map((t) => ({ ...t, path: [side, ...t.path] }));

/** A condition over the rows of these tables, which the operators give. */
export const lowerOn = (
  a: Analysis,
  e: Expr,
  pairs: readonly PlanOp[],
  tables: readonly SqlTable[],
  flow: Flow,
): PlanExpr => {
  let content: Type | undefined;
  const typeOf = (x: PlanExpr): Type => a.typeOfRows(x, (content ??= a.rowTypeByContent(pairs, flow.input)));
  return sqlCondition(
    lowerExpr(a, e, {
      scope: flow.scope,
      input: a.typeOf(pairs, flow.input),
      sql: clauseNames(a, tables, new WeakMap(), { typeOf, ...(flow.outer && { outer: flow.outer }) }),
    }),
  );
};

type Join = Extract<PlanOp, { kind: 'join' }>;

const joinUsing = (
  a: Analysis,
  base: JoinBase,
  condition: JoinUsing,
  left: LoweredTables,
  right: LoweredTables,
): LoweredTables => {
  const using = usingKeys(a, condition, left.tables, right.tables);
  const merged = [...new Set(using.map((k) => k.name))];
  const join: PlanOp = { ...base, equal: using.map(({ left: l, right: r }) => ({ left: l, right: r })) };
  const known = [...left.tables, ...right.tables].every((t) => t.columns);
  const { tables, star } = beside(left, right, merged);
  if (known && base.style !== 'full' && base.style !== 'right') {
    const first = merged.flatMap((name) => star.filter((s) => s.name === name).slice(0, 1));
    return { ops: [...left.ops, join], tables, star: [...first, ...star.filter((s) => !first.includes(s))] };
  }
  // The columns of USING become a table of their own, of the side that is there.
  const valueOf = (k: UsingKey): PlanExpr => {
    const l = rebased(k.left, 'left');
    const r = rebased(k.right, 'right');
    if (base.style === 'right') return r;
    return base.style === 'full' ? callOf('coalesce', l, r) : l;
  };
  const put: PlanOp = {
    kind: 'put',
    assignments: using.map((k) => ({ target: ['using', k.name], value: valueOf(k) })),
  };
  const shared: SqlTable = { explicit: false, path: ['using'], columns: merged, merged: none, using: true };
  return {
    ops: [...left.ops, join, put],
    tables: [shared, ...hiding(tables, merged)],
    star: [...merged.map((name) => ({ path: ['using'], name })), ...restOf(star, merged)],
  };
};
/** A path over a side's row, over the pair. */
const rebased = (e: PlanExpr, side: string): PlanExpr =>
  e.kind === 'field' ? { ...e, of: rebased(e.of, side) } : fieldOf({ kind: 'this' }, side);

/** The columns that both sides of a NATURAL join have, as USING. */
const naturalColumns = (a: Analysis, e: SqlJoin, left: LoweredTables, right: LoweredTables): JoinUsing | undefined => {
  const { start, end } = e.right;
  const [ours, theirs] = [left, right].map(namesOf);
  if (!ours || !theirs) {
    if (a.sourcesKnown)
      a.fault('NATURAL JOIN needs tables whose columns are known: write USING (column, ...)', e.right);
    return undefined;
  }
  const names = ours.filter((name) => theirs.includes(name));
  if (names.length === 0)
    a.fault('NATURAL JOIN finds no column that both tables have: write CROSS JOIN, or ON with a condition', e.right);
  return {
    kind: 'join-using',
    fields: names.map((name) => ({ kind: 'id', name, quoted: true, start, end })),
    start,
    end,
  };
};

/** The columns of one side of a join, each once; undefined if they are not known. */
const namesOf = ({ tables, star }: LoweredTables): readonly string[] | undefined => {
  if (star.every((s) => !s.without)) return [...new Set(star.map((s) => s.name))];
  const known = tables.map(knownColumns);
  return known.every((names) => names !== undefined) ? [...new Set(known.flat())] : undefined;
};

interface UsingKey {
  readonly name: string;
  readonly left: PlanExpr;
  readonly right: PlanExpr;
}

const usingKeys = (
  a: Analysis,
  condition: JoinUsing,
  left: readonly SqlTable[],
  right: readonly SqlTable[],
): readonly UsingKey[] =>
  condition.fields.flatMap((f) => {
    const l = usingColumn(a, f, left, 'left');
    const r = l && usingColumn(a, f, right, 'right');
    return l && r ? [{ name: f.name, left: l, right: r }] : [];
  });

const usingColumn = (a: Analysis, field: IdExpr, tables: readonly SqlTable[], side: string): PlanExpr | undefined => {
  const { name } = field;
  const shared = tables.find((t) => t.using && t.columns?.includes(name) && !t.merged.has(name));
  const owners = shared
    ? [shared]
    : tables.filter((t) => knownColumns(t)?.includes(name) !== false && !(t.merged.has(name) && knownColumns(t)));
  if (owners.length === 1) return columnOf(pathExpr(owners[0].path), name);
  a.fault(
    owners.length > 1
      ? `ambiguous unqualified column "${name}"`
      : `column "${name}" in USING clause does not exist in ${side} table`,
    field,
    owners.length > 1 ? undefined : columnHint(name, tables.map(shownTable)),
  );
  return undefined;
};
