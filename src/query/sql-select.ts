/** SELECT to operators: FROM, WHERE, grouping, HAVING, ORDER BY, limits, then the columns. Sorting comes before the columns are made, so that only rows that
 *  are wanted get them; an alias in a sort key stands for its expression. */
import type { Analysis } from './analyze-context.ts';
import { aggregateOf } from './analyze-aggregates.ts';
import { type AggregateCall, type ExprContext, type SqlNames, lowerExpr } from './analyze-exprs.ts';
import type { Flow } from './analyze-queries.ts';
import type { Expr, OrderKey, Span, SqlColumn, SqlSelect, SqlStar } from './ast.ts';
import { exprKey, fieldOf, mapParts, pathExpr, someExpr, thisExpr } from './plan-walk.ts';
import type { Aggregate, PlanExpr, PlanOp, SortKey } from './plan.ts';
import { type LoweredSql, type SqlTail, limits, ordinalOf, outputColumn } from './sql.ts';
import { type ClauseOptions, type ColumnUses, clauseNames } from './sql-names.ts';
import { type LoweredTables, type StarColumn, columnsOf, lowerTables, single } from './sql-tables.ts';
import type { Type } from '../vectors/type.ts';

/** What a SELECT counts for in the size of a query. */
const selectParts = 20;

/** A column of the output. */
interface Column { readonly name: string; readonly alias?: string; readonly expr: PlanExpr }

export const lowerSelect = (a: Analysis, select: SqlSelect, flow: Flow, tail: SqlTail): LoweredSql => new Select(a, select, flow).lower(tail);

class Select {
  readonly #a: Analysis;
  readonly #select: SqlSelect;
  readonly #flow: Flow;
  readonly #from: LoweredTables;
  readonly #rowType: Type;
  readonly #uses: ColumnUses = new WeakMap();
  readonly #aggregates: { readonly key: string; readonly name: string; readonly aggregate: Aggregate }[] = [];
  /** Expressions that stand for the result of an aggregate, and which. */
  readonly #results = new WeakMap<PlanExpr, number>();

  constructor(a: Analysis, select: SqlSelect, flow: Flow) {
    this.#a = a;
    this.#select = select;
    this.#flow = flow;
    a.grow(selectParts);
    this.#from = this.#lowerFrom();
    this.#rowType = a.typeOf(this.#from.ops, flow.input);
  }

  lower(tail: SqlTail): LoweredSql {
    const { where, groupBy, having, distinct } = this.#select;
    const ops: PlanOp[] = [...this.#from.ops];
    if (where) ops.push({ kind: 'filter', expr: this.#expr(where, {}) });
    const orderBy = tail.orderBy ?? [];
    this.#probeOrder(orderBy);
    const columns = distinctNames(this.#select.columns.flatMap((c) => this.#columns(c)));
    const keys = (groupBy ?? []).map((e) => this.#groupKey(e, columns)).filter((e) => e !== undefined);
    const condition = having && this.#expr(having, { aggregate: this.#collect, row: () => recordOfColumns(columns) });
    const grouped = groupBy !== undefined || this.#aggregates.length > 0;
    if (having && !grouped) this.#a.fault('HAVING clause requires aggregation functions and/or a GROUP BY clause', having);
    const group = grouped ? this.#grouping(keys) : undefined;
    const settle = (e: PlanExpr): PlanExpr => (group ? group.settle(e) : e);
    const output = columns.map((c) => ({ ...c, expr: settle(c.expr) }));
    if (group) ops.push(group.op);
    if (condition) ops.push({ kind: 'filter', expr: settle(condition) });
    const sort = this.#sortKeys(orderBy, columns).map((k) => ({ ...k, expr: settle(k.expr) }));
    const project: PlanOp = { kind: 'values', exprs: [recordOfColumns(output)] };
    const ends = limits(this.#a, this.#flow, tail);
    if (distinct) {
      const sortOutput = sort.map((k) => ({ ...k, expr: overOutput(k.expr, output) }));
      ops.push(project, { kind: 'distinct', expr: { kind: 'this' } }, ...sorting(sortOutput), ...ends);
    } else ops.push(...sorting(sort), ...ends, project);
    return { ops, columns: columns.map((c) => c.name) };
  }

  #lowerFrom(): LoweredTables {
    const { from } = this.#select, flow = this.#flow;
    if (!from) {
      const columns = columnsOf(flow.input);
      return single([], { explicit: false, path: [], ...(columns ? { columns } : {}), merged: new Set() });
    }
    const dynamic = from.kind === 'sql-table' && from.source.origin.kind === 'source-fstring';
    if (flow.hasParent && !dynamic) this.#a.fault('SELECT cannot have both an embedded FROM clause and input from parents', this.#select);
    return lowerTables(this.#a, from, flow);
  }

  /** Lowers an expression of a clause. */
  #expr(e: Expr, options: ClauseOptions): PlanExpr {
    const { outer, scope } = this.#flow;
    const sql: SqlNames = clauseNames(this.#a, this.#from.tables, this.#uses, outer ? { ...options, outer } : options);
    return lowerExpr(this.#a, e, { scope, input: this.#rowType, sql } satisfies ExprContext);
  }

  /** Notes an aggregate call and gives what stands for its result. */
  readonly #collect = (call: AggregateCall): PlanExpr => {
    const { outer, scope } = this.#flow;
    const sql = clauseNames(this.#a, this.#from.tables, this.#uses, outer ? { outer } : {});
    const aggregate = aggregateOf(this.#a, call, { scope, input: this.#rowType, sql });
    const keyOf = (e: PlanExpr | undefined): string => (e ? exprKey(e) : '');
    const key = `${aggregate.name} ${aggregate.distinct} ${keyOf(aggregate.argument)} ${keyOf(aggregate.where)}`;
    let index = this.#aggregates.findIndex((x) => x.key === key);
    if (index < 0) index = this.#aggregates.push({ key, name: call.name, aggregate }) - 1;
    const result = fieldOf(thisExpr, `\u0000aggregate ${index}`);
    this.#results.set(result, index);
    return result;
  };

  /** Sort keys are looked at before the columns, since aggregates in them make the query a grouped one. */
  #probeOrder(keys: readonly OrderKey[]): void {
    const aliases = new Set(this.#select.columns.map((c) => this.#nameOf(c)));
    for (const k of keys) {
      if (ordinalOf(k.expr) !== undefined) continue;
      this.#expr(k.expr, { aliases: (name) => (aliases.has(name) ? thisExpr : undefined), aliasesFirst: true, aggregate: this.#collect });
    }
  }

  #nameOf(c: SqlColumn): string | undefined {
    return c.as?.text ?? (c.kind === 'sql-column' ? this.#a.nameOf(c.expr, true) : undefined);
  }

  #columns(c: SqlColumn): readonly Column[] {
    if (c.kind === 'sql-star') return this.#starColumns(c);
    const expr = this.#expr(c.expr, { aggregate: this.#collect });
    return [{ name: this.#nameOf(c) ?? '', ...(c.as ? { alias: c.as.text } : {}), expr }];
  }

  #starColumns(star: SqlStar): readonly Column[] {
    const tables = this.#from.tables.filter((t) => !star.table || t.name === star.table.text);
    if (tables.some((t) => !t.columns)) {
      // Not before every source is known: a table is dynamic only if its source says nothing about its type.
      if (this.#a.sourcesKnown) this.#a.fault('the all-columns (*) pattern cannot be used for dynamic inputs', star);
      return [];
    }
    if (star.table && tables.length === 0) {
      this.#a.fault(`"${star.table.text}" is not a column or table`, star.table);
      return [];
    }
    const columns = star.table ? tables.flatMap((t) => (t.columns ?? []).map((name) => ({ path: t.path, name }))) : this.#from.star;
    return columns.map((c) => this.#starColumn(c, star));
  }

  #starColumn({ path, name }: StarColumn, place: Span): Column {
    const expr = this.#a.at(place, fieldOf(pathExpr(path), name));
    this.#uses.set(expr, name);
    return { name, expr };
  }

  /** A grouping expression: a position, an alias, or an expression over the input. */
  #groupKey(e: Expr, columns: readonly Column[]): PlanExpr | undefined {
    const position = ordinalOf(e);
    if (position === undefined) {
      const aliases = (name: string): PlanExpr | undefined => columns.find((c) => c.alias === name)?.expr;
      return this.#expr(e, { aliases, aliasesFirst: !this.#flow.scope.pg });
    }
    const column = columns[position - 1];
    if (!column) {
      this.#a.fault(`position ${position} is not in select list`, e);
      return undefined;
    }
    const aggregate = this.#aggregateIn(column.expr);
    if (aggregate === undefined) return column.expr;
    this.#a.fault(`aggregate function "${aggregate}" cannot appear in GROUP BY via positional reference`, e);
    return undefined;
  }

  #aggregateIn(e: PlanExpr): string | undefined {
    let found: string | undefined;
    someExpr(e, (part) => {
      const index = this.#results.get(part);
      if (index !== undefined) found ??= this.#aggregates[index]!.name;
      return false;
    });
    return found;
  }

  /** The aggregate operator, and how expressions are written over its output. */
  #grouping(keys: readonly PlanExpr[]): { readonly op: PlanOp; readonly settle: (e: PlanExpr) => PlanExpr } {
    const names = new Map<string, string>();
    const unique = keys.filter((k) => {
      const key = exprKey(k);
      if (names.has(key)) return false;
      names.set(key, `k${names.size}`);
      return true;
    });
    const settle = (e: PlanExpr): PlanExpr => {
      const index = this.#results.get(e);
      if (index !== undefined) return this.#a.like(e, fieldOf({ kind: 'this' }, `a${index}`));
      const key = names.get(exprKey(e));
      if (key !== undefined) return this.#a.like(e, fieldOf({ kind: 'this' }, key));
      const column = this.#uses.get(e);
      if (column === undefined) return this.#a.like(e, mapParts(e, settle));
      return this.#a.wrong(`column "${column}" must appear in GROUP BY clause`, this.#a.places.whole.get(e) ?? this.#select);
    };
    const op: PlanOp = {
      kind: 'aggregate', keys: unique.map((expr, i) => ({ target: [`k${i}`], expr })),
      aggregates: this.#aggregates.map((x, i) => ({ target: [`a${i}`], aggregate: x.aggregate })),
    };
    return { op, settle };
  }

  #sortKeys(keys: readonly OrderKey[], columns: readonly Column[]): readonly SortKey[] {
    const aliases = (name: string): PlanExpr | undefined => (columns.find((c) => c.alias === name) ?? columns.find((c) => c.name === name))?.expr;
    return keys.map((k) => {
      const position = ordinalOf(k.expr);
      const expr = position === undefined
        ? this.#expr(k.expr, { aliases, aliasesFirst: true, aggregate: this.#collect, row: () => recordOfColumns(columns) })
        : outputColumn(this.#a, k.expr, position, columns.map((c) => c.expr));
      return { expr, order: k.order ?? 'asc', nulls: k.nulls ?? 'last' };
    });
  }
}

const sorting = (keys: readonly SortKey[]): readonly PlanOp[] => (keys.length > 0 ? [{ kind: 'sort', keys, reverse: false }] : []);

const recordOfColumns = (columns: readonly Column[]): PlanExpr =>
  ({ kind: 'record', elements: columns.map((c) => ({ kind: 'field', name: c.name, value: c.expr })) });

/** Repeated names get `_1`, `_2`. */
const distinctNames = (columns: readonly Column[]): readonly Column[] => {
  const taken = new Set(columns.map((c) => c.name)), seen = new Map<string, number>();
  return columns.map((c) => {
    let count = seen.get(c.name);
    if (count === undefined) {
      seen.set(c.name, 0);
      return c;
    }
    let name: string;
    do name = `${c.name}_${++count}`; while (taken.has(name));
    seen.set(c.name, count);
    taken.add(name);
    return { ...c, name };
  });
};

/** A sort key of a DISTINCT query, over the output's columns. */
const overOutput = (e: PlanExpr, columns: readonly Column[]): PlanExpr => {
  const keys = new Map(columns.map((c) => [exprKey(c.expr), c.name]));
  const visit = (part: PlanExpr): PlanExpr => {
    const name = keys.get(exprKey(part));
    return name !== undefined ? fieldOf({ kind: 'this' }, name) : mapParts(part, visit);
  };
  return visit(e);
};
