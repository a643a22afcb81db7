/** Names in the clauses of a SQL operator: columns, tables, aliases. */
import type { Analysis } from '../analyze/context.ts';
import { type AggregateCall, type SqlNames, named } from '../analyze/exprs.ts';
import type { CallExpr, DotExpr, Expr, IdExpr, WindowExpr } from '../ast.ts';
import { parameterFault } from '../parse/foreign-syntax.ts';
import { columnHint, tableHint } from '../analyze/hints.ts';
import { columnOf, pathExpr } from '../plan/walk.ts';
import { momentOf } from './values/moment.ts';
import type { FieldPath, PlanExpr } from '../plan/plan.ts';

/** A table in scope: where its row lies in the value that the clause sees. */
export interface SqlTable {
  readonly name?: string;
  /** The name is an alias of the text, not made from the source's name. */
  readonly explicit: boolean;
  readonly path: FieldPath;
  /** All that its rows have; absent for a dynamic table. */
  readonly columns?: readonly string[];
  /** Of a dynamic table: the names that its rows have at present, if they are known; a row may lack any of them. */
  readonly fields?: () => readonly string[] | undefined;
  /** Columns that USING took from the table on the left: found only by `table.column`. */
  readonly merged: ReadonlySet<string>;
  /** The columns of USING, found by their bare names. */
  readonly using?: true;
  /** Rows of VALUES, whose columns are also found by the names that DuckDB and PostgreSQL give them. */
  readonly ofValues?: boolean;
}

/** The columns that a table has as far as anybody knows: those of its type, or those of its rows at present. */
export const knownColumns = ({ columns, fields }: SqlTable): readonly string[] | undefined => columns ?? fields?.();
/** Which of these names is meant: that very name, or the only one that differs from it in letter case alone. */
export const meantOf = (names: readonly string[], name: string): string | undefined => {
  if (names.includes(name)) return name;
  const lower = name.toLowerCase();
  const [found, ...more] = names.filter((n) => n.toLowerCase() === lower);
  return more.length === 0 ? found : undefined;
};
/** The same of what has these names, for many look-ups: of several of one name it is the first. */
export class ByName<T> {
  private readonly first = new Map<string, T>();
  /** By their lower case; undefined stands for several. */
  private readonly folded = new Map<string, string | undefined>();

  /** What has no name is passed over. */
  constructor(items: Iterable<T>, nameOf: (item: T) => string | undefined) {
    for (const item of items) {
      const name = nameOf(item);
      if (name === undefined) continue;
      if (!this.first.has(name)) this.first.set(name, item);
      const lower = name.toLowerCase();
      this.folded.set(lower, this.folded.has(lower) ? undefined : name);
    }
  }

  has(name: string): boolean {
    return this.first.has(name);
  }
  get(name: string): T | undefined {
    return this.first.get(name);
  }
  meant(name: string): string | undefined {
    return this.first.has(name) ? name : this.folded.get(name.toLowerCase());
  }
}
/** The column of a table that a name means; undefined too if its columns are not known. */
export const meantIn = (t: SqlTable, name: string): string | undefined => {
  const known = knownColumns(t);
  return known && (meantOf(known, name) ?? (t.ofValues ? meantOf(known, byPlace(name)) : undefined));
};
/** What columns of VALUES are called: `col0` in DuckDB and `column1` in PostgreSQL are `c0` here. */
const byPlace = (name: string): string => {
  const [, from0, from1] = /^(?:col(\d+)|column([1-9]\d*))$/i.exec(name) ?? [];
  return from0 !== undefined ? `c${from0}` : from1 !== undefined ? `c${Number(from1) - 1}` : name;
};
/** A table as hints tell of it. */
export const shownTable = (t: SqlTable): { readonly name?: string; readonly columns?: readonly string[] } => {
  const columns = knownColumns(t);
  return { ...(t.name !== undefined && { name: t.name }), ...(columns && { columns }) };
};

/** What a clause allows beside columns and tables. */
export interface ClauseOptions {
  /** The expression that an alias of the select list stands for; undefined if there is none of that name. */
  readonly aliases?: (name: string) => PlanExpr | undefined;
  /**
   * Aliases that stand for their expressions where no column has their name; `of` lowers the expression, so that it is
   * asked for these alone.
   */
  readonly fallback?: { readonly has: (name: string) => boolean; readonly of: (name: string) => PlanExpr | undefined };
  /** Whether aliases go before input columns. */
  readonly aliasesFirst?: boolean;
  /** What stands for the result of an aggregate; absent: none may be called here. */
  readonly aggregate?: (call: AggregateCall) => PlanExpr;
  /** What stands for the result of GROUPING; absent: it may not be called here. */
  readonly grouping?: (e: CallExpr) => PlanExpr;
  /** What stands for the result of a window function; absent: none may be called here. */
  readonly window?: (e: WindowExpr) => PlanExpr;
  /** What a window function is told that may not stand here. */
  readonly clause?: string;
  /** See `SqlNames`. */
  readonly typeOf?: SqlNames['typeOf'];
  /** What `this` is, if not the input row. */
  readonly row?: () => PlanExpr;
  /** UNNEST; absent: it may not stand here. */
  readonly unnest?: (call: CallExpr, list: PlanExpr) => PlanExpr;
  /** Names of the query around, asked for what is no name here. */
  readonly outer?: SqlNames;
}

/** Columns that expressions refer to, by the expression: what GROUP BY has to cover. */
export type ColumnUses = WeakMap<PlanExpr, string>;

/**
 * How names resolve in a clause over these tables; the columns and rows that they come to are noted in `uses`. A name
 * that is none of these gives a fault.
 */
export const clauseNames = (
  a: Analysis,
  tables: readonly SqlTable[],
  uses: ColumnUses,
  options: ClauseOptions,
): SqlNames => {
  const { outer } = options;
  const around = outer?.aggregate;
  const clause: Clause = {
    a,
    tables,
    uses,
    options,
    isDynamicJoin: tables.length > 1 && tables.some((t) => !t.columns),
  };
  return {
    name: (id) => bareName(clause, id),
    qualified: (dot) => qualifiedName(clause, dot),
    has: (first, second) => hasName(clause, first, second),
    hasTable: (name) => hasTable(clause, name),
    row: options.row ?? (() => ({ kind: 'this' })),
    aggregate:
      options.aggregate ??
      (outer && around && ((call) => (isOfQueryAround(call, tables, outer) ? around(call) : misplaced(a, call)))),
    grouping: options.grouping,
    window: options.window,
    ...(options.clause !== undefined ? { clause: options.clause } : {}),
    ...(options.typeOf && { typeOf: options.typeOf }),
    ...(options.unnest && { unnest: options.unnest }),
  };
};

/** An aggregate where none of its query may stand. */
export const misplaced = (a: Analysis, call: AggregateCall): PlanExpr =>
  a.wrong(`aggregate function "${call.name}" called in non-aggregate context`, call.place);

interface Clause {
  readonly a: Analysis;
  readonly tables: readonly SqlTable[];
  readonly uses: ColumnUses;
  readonly options: ClauseOptions;
  /** Of several tables one is dynamic: which table a bare name is of, nobody can tell. */
  readonly isDynamicJoin: boolean;
}
/** `table.column`, or a field of what the first name stands for. */
type QualifiedExpr = DotExpr & { readonly expr: IdExpr };

const bareName = (clause: Clause, id: IdExpr): PlanExpr => {
  if (id.path) return column(clause, { explicit: false, path: id.path, merged: new Set() }, id.name);
  if (id.position !== undefined) return atPosition(clause, id, id.position);
  const { a, tables, uses, options } = clause;
  const isColumn = id.quoted || tables.some((t) => t.columns?.includes(id.name));
  const moment = isColumn ? undefined : momentOf(a, id.name.toLowerCase());
  if (moment) return moment;
  const alias = options.aliases?.(id.name);
  if (alias && options.aliasesFirst) return alias;
  const found = unqualified(clause, id, id);
  if (found !== 'none') return a.at(id, named(a, found, id));
  if (alias) return alias;
  const late = options.fallback?.has(id.name) ? options.fallback.of(id.name) : undefined;
  if (late) return late;
  const row = rowOfTable(tables, id.name);
  if (row) {
    uses.set(row, id.name);
    return row;
  }
  if (options.outer?.has(id.name)) return options.outer.name(id);
  return (
    absent(clause, id) ??
    a.wrong(`"${id.name}" is not a column or table`, id, columnHint(id.name, tables.map(shownTable)))
  );
};
/** A column that no row of the only table has at present: it is null in all, and the query says so. */
const absent = (clause: Clause, id: IdExpr): PlanExpr | undefined => {
  if (!id.quoted && id.name.startsWith('$')) return clause.a.wrong(parameterFault.message, id, parameterFault.hint);
  const [only, ...others] = clause.tables;
  const columns = only && !only.columns && others.length === 0 ? only.fields?.() : undefined;
  if (!only || only.columns || others.length > 0 || (clause.options.outer && columns)) return undefined;
  if (columns && columns.length > 0) {
    const hint = columnHint(id.name, [{ columns }]);
    clause.a.warn(
      `no row has a column "${id.name}"${only.name === undefined ? '' : ` in ${only.name}`}: it is null in all${hint === undefined ? '' : `; ${hint}`}`,
    );
  }
  return clause.a.at(id, named(clause.a, column(clause, only, id.name), id));
};
/** `#n`: the column at that place of FROM. */
const atPosition = (clause: Clause, id: IdExpr, position: number): PlanExpr => {
  const { a, tables } = clause;
  const known = tables.map((t) =>
    knownColumns(t)
      ?.filter((name) => !t.merged.has(name))
      .map((name) => ({ t, name })),
  );
  if (known.some((list) => !list))
    return a.wrong(
      `position ${position} cannot be counted: the columns are not known before the query runs`,
      id,
      "write the column's name",
    );
  const found = known.flatMap((list) => list ?? [])[position - 1];
  return found ? column(clause, found.t, found.name) : a.wrong(`position ${position} is out of range`, id);
};
const rowOfTable = (tables: readonly SqlTable[], name: string): PlanExpr | undefined => {
  const [table] = tablesNamed(tables, name);
  return table && pathExpr(table.path);
};
/** Tables of that very name, or else those whose name differs from it in letter case alone. */
const tablesNamed = (tables: readonly SqlTable[], name: string): readonly SqlTable[] => {
  const exact = tables.filter((t) => t.name === name);
  return exact.length > 0 ? exact : tables.filter((t) => t.name?.toLowerCase() === name.toLowerCase());
};

const qualifiedName = (clause: Clause, dot: QualifiedExpr): PlanExpr => {
  const { a, tables, options, isDynamicJoin } = clause;
  const id = dot.expr;
  const inner = dot.name.text;
  const owners = tablesNamed(tables, id.name);
  const isLacking = owners.every((t) => mayHave(t, inner) === false);
  const ofAlias = isLacking ? columnOfAlias(clause, dot) : undefined;
  if (ofAlias) return ofAlias;
  // A table goes before an alias of its name, unless it has no such column.
  const alias = options.aliasesFirst && isLacking ? options.aliases?.(id.name) : undefined;
  if (alias) return named(a, columnOf(alias, inner), dot.name);
  if (owners.length === 1 && (isDynamicJoin || !owners[0].columns)) return columnOfTable(clause, owners, dot);
  // A column of the table goes before a field of a column of the table's name.
  if (owners.length === 1 && mayHave(owners[0], inner) === true) return columnOfTable(clause, owners, dot);
  // What is no table here may be a field of a dynamic table; the name of a table further out is taken for that table.
  if (owners.length === 0 && tables.some((t) => !t.columns) && options.outer?.hasTable(id.name))
    return options.outer.qualified(dot);
  const found = unqualified(clause, id, dot);
  if (found !== 'none')
    return found.kind === 'literal' ? found : named(a, columnOf(a.at(id, named(a, found, id)), inner), dot);
  if (owners.length > 0) return columnOfTable(clause, owners, dot);
  const late = options.aliases?.(id.name);
  if (late) return named(a, columnOf(late, inner), dot.name);
  const hidden = options.fallback?.has(id.name) ? options.fallback.of(id.name) : undefined;
  if (hidden) return named(a, columnOf(hidden, inner), dot.name);
  if (options.outer?.has(id.name, inner)) return options.outer.qualified(dot);
  // Of a table whose columns are known, what is before the dot is neither a column nor a name of it.
  const isKnown = tables.some((t) => (knownColumns(t)?.length ?? 0) > 0);
  const lacking = isKnown ? undefined : absent(clause, id);
  if (lacking) return named(a, columnOf(lacking, inner), dot);
  return a.wrong(`"${id.name}" is not a column or table`, dot, tableHint(id.name, tables.map(shownTable)));
};
/** `alias.x`: what `x` stands for in the select list, as in DuckDB. */
const columnOfAlias = ({ options, a }: Clause, { expr, name }: QualifiedExpr): PlanExpr | undefined => {
  if (expr.quoted || expr.name.toLowerCase() !== 'alias') return undefined;
  const meant = options.aliases?.(name.text) ?? options.fallback?.of(name.text);
  return meant && named(a, meant, name);
};
const columnOfTable = (clause: Clause, owners: readonly SqlTable[], dot: QualifiedExpr): PlanExpr => {
  const { a, options } = clause;
  const inner = dot.name.text;
  const isOneOfMany = clause.tables.length > 1 || options.outer !== undefined;
  const fitting = owners.flatMap((t): readonly { readonly t: SqlTable; readonly meant: string | undefined }[] => {
    const meant = knownColumns(t) ? meantIn(t, inner) : inner;
    if (meant !== undefined) return [{ t, meant }];
    return isOneOfMany || t.columns ? [] : [{ t, meant: undefined }];
  });
  if (fitting.length > 1) return a.wrong(`ambiguous qualified reference "${dot.expr.name}"."${inner}"`, dot);
  const [only] = fitting;
  if (only?.meant !== undefined) return named(a, column(clause, only.t, only.meant), dot.name);
  if (only) return absent(clause, { ...dot.expr, name: inner })!;
  if (options.outer?.has(dot.expr.name, inner)) return options.outer.qualified(dot);
  return a.wrong(
    `column "${inner}" does not exist in table "${dot.expr.name}"`,
    dot,
    columnHint(
      inner,
      owners.map((t) => ({ columns: knownColumns(t) ?? [] })),
    ),
  );
};

/** The column that a name is which stands alone or begins `whole`; `none` if there is no such column. */
const unqualified = (clause: Clause, id: IdExpr, whole: IdExpr | DotExpr): PlanExpr | 'none' => {
  const { a, tables, isDynamicJoin } = clause;
  const { name } = id;
  const [only] = tables;
  if (only && tables.length === 1 && !only.columns) {
    if (only.explicit && only.name === name && !knownColumns(only)?.includes(name)) {
      return a.wrong(
        `cannot use unqualified reference "${name}" when table of same name is in scope (consider qualified reference)`,
        id,
      );
    }
    const meant = knownColumns(only) ? meantIn(only, name) : name;
    // What the table has not may be an alias, or in a subquery a column of the query around.
    return meant === undefined ? 'none' : column(clause, only, meant);
  }
  // While sources are not read yet, what is told of them is not the last word.
  if (
    isDynamicJoin &&
    tables.some((t) => !knownColumns(t)) &&
    !tables.some((t) => t.columns?.includes(name) && t.using)
  ) {
    return a.wrong(
      `join on dynamic column "${name}" requires table-qualified reference`,
      whole,
      undefined,
      'dynamic-column',
    );
  }
  const owners = ownersOf(tables, name);
  const shared = owners.find(({ table }) => table.using);
  if (shared) return column(clause, shared.table, shared.meant);
  if (owners.length > 1) {
    const choices = owners.flatMap(({ table }) => (table.name === undefined ? [] : [`${table.name}.${name}`]));
    const advice = choices.length === owners.length ? `write ${choices.join(' or ')}` : undefined;
    return a.wrong(`ambiguous unqualified column "${name}"`, whole, advice);
  }
  return owners[0] ? column(clause, owners[0].table, owners[0].meant) : 'none';
};
/**
 * The tables that have a column of that name, or else those that have one which differs from it in letter case alone.
 * What USING took from a table on the left is left out.
 */
const ownersOf = (
  tables: readonly SqlTable[],
  name: string,
): readonly { readonly table: SqlTable; readonly meant: string }[] => {
  const found = tables.flatMap((table) => {
    const meant = meantIn(table, name);
    return meant === undefined || table.merged.has(meant) ? [] : [{ table, meant }];
  });
  const exact = found.filter(({ meant }) => meant === name);
  return exact.length > 0 ? exact : found;
};

const column = ({ uses }: Clause, table: SqlTable, name: string): PlanExpr => {
  const e = columnOf(pathExpr(table.path), name);
  uses.set(e, name);
  return e;
};

const hasName = ({ tables, options }: Clause, first: string, second?: string): boolean =>
  (second === undefined && options.fallback?.has(first) === true) ||
  tables.some((t) => mayHave(t, first) === true) ||
  tablesNamed(tables, first).some((t) => second === undefined || mayHave(t, second) !== false) ||
  options.outer?.has(first, second) === true;

/** Whether a table has a column that is meant by a name; undefined if its columns are not known. */
const mayHave = (t: SqlTable, name: string): boolean | undefined =>
  knownColumns(t) ? meantIn(t, name) !== undefined : undefined;
const hasTable = ({ tables, options }: Clause, name: string): boolean =>
  tablesNamed(tables, name).length > 0 || options.outer?.hasTable(name) === true;

/**
 * Whether all columns that the arguments of an aggregate name are of the query around: then so is the aggregate. One
 * without columns is not, nor one with a subquery in it.
 */
export const isOfQueryAround = (
  { argument, others, filter, order }: AggregateCall,
  tables: readonly SqlTable[],
  outer: SqlNames,
): boolean => {
  const isOwn = (first: string, second?: string): boolean =>
    tables.some((t) => {
      const isKnown = mayHave(t, first);
      return (
        t.name?.toLowerCase() === first.toLowerCase() || (isKnown ?? (second === undefined || !outer.hasTable(first)))
      );
    });
  let found = false;
  let isOuter = true;
  const visit = (node: unknown): void => {
    if (Array.isArray(node)) return node.forEach(visit);
    if (typeof node !== 'object' || node === null) return;
    const e = node as Expr;
    if (queryKinds.has(e.kind)) isOuter = false;
    else if (e.kind === 'id' || (e.kind === 'dot' && e.expr.kind === 'id')) {
      const [first, second] = e.kind === 'id' ? [e.name] : [(e.expr as IdExpr).name, e.name.text];
      found = true;
      isOuter &&= !isOwn(first!, second) && outer.has(first!, second);
    } else Object.values(e).forEach(visit);
  };
  visit([argument, others, filter, order]);
  return found && isOuter;
};
const queryKinds: ReadonlySet<string> = new Set([
  'subquery',
  'array-subquery',
  'exists',
  'quantified',
  'window',
] satisfies Expr['kind'][]);
