/**
 * SELECT to operators: FROM, WHERE, grouping, HAVING, ORDER BY, limits, then the columns. Sorting comes before the
 * columns are made, so that only rows that are wanted get them; an alias in a sort key stands for its expression.
 */
import type { Analysis } from '../analyze/context.ts';
import { aggregateOf, formKey } from '../analyze/aggregates.ts';
import { type AggregateCall, type ExprContext, type SqlNames, lowerExpr } from '../analyze/exprs.ts';
import type { Flow } from '../analyze/queries.ts';
import type {
  CallExpr,
  Expr,
  OrderKey,
  Span,
  SqlColumn,
  SqlExprColumn,
  SqlGroupingSets,
  SqlSelect,
  SqlStar,
  StarName,
} from '../ast.ts';
import { columnHint, hintAll, pathHint } from '../analyze/hints.ts';
import { printExpr } from '../print.ts';
import { exprKey, fieldOf, mapParts, pathExpr, someExpr, thisExpr } from '../plan/walk.ts';
import type { Aggregate, PlanExpr, PlanOp, SortKey } from '../plan/plan.ts';
import { sqlCondition } from './conditions.ts';
import { isName } from './correlate.ts';
import { GroupingCalls, groupKey, groupingSets, groupingsOf } from './grouping.ts';
import { type LoweredSql, type SqlTail, directionOf, isByAll, limits, ordinalOf, outputColumn } from './queries.ts';
import {
  ByName,
  type ClauseOptions,
  type ColumnUses,
  clauseNames,
  isOfQueryAround,
  knownColumns,
  misplaced,
} from './names.ts';
import { type Column, orderNames, outputOps, recordOfColumns, uncountable, withDistinctNames } from './output.ts';
import { SqlWindows } from './windows.ts';
import { collated } from './values/collation.ts';
import { orderOfSpan } from './values/stored.ts';
import { SqlColumns } from './columns.ts';
import { ofClocks } from './values/clocks.ts';
import { jsonOfAggregate } from './values/json.ts';
import { ofUnits } from './values/decimals.ts';
import { exported } from './values/states.ts';
import { type ChangedColumn, changedStar, starValue, structColumns } from './stars.ts';
import { sampleOps } from './statements/sample.ts';
import { SqlUnnest, isUnnestCall } from './unnest.ts';
import { type LoweredTables, type StarColumn, columnsOf, lowerTables, rowsOf, single } from './tables.ts';
import type { Type } from '../../vectors/type.ts';

/**
 * A SELECT with the ORDER BY and limits behind it. `columns` is undefined if a `*` stands for columns that are not
 * known before the query runs.
 */
export const lowerSelect = (a: Analysis, select: SqlSelect, flow: Flow, tail: SqlTail): LoweredSql =>
  new Select(a, select, flow).lower(tail);

class Select {
  private readonly a: Analysis;
  private readonly select: SqlSelect;
  private readonly flow: Flow;
  private readonly from: LoweredTables;
  /** A join of FROM has columns in its condition that could be of any of its tables. */
  private readonly joinFaulty: boolean;
  private readonly rowType: Type;
  /** The same by what pools hold. */
  private contentType: Type | undefined;
  private readonly starred: SqlColumns;
  private readonly aliases = new WeakMap<readonly Column[], ByName<Column>>();
  private selectedNames: ByName<SqlColumn> | undefined;
  private readonly uses: ColumnUses = new WeakMap();
  private readonly aggregates: { readonly name: string; readonly aggregate: Aggregate }[] = [];
  /** Their places by what they are called with: equal calls are one. */
  private readonly places = new Map<string, number>();
  /** Expressions that stand for the result of an aggregate, and which. */
  private readonly results = new WeakMap<PlanExpr, number>();
  private readonly groupingCalls: GroupingCalls;
  private readonly windows: SqlWindows;
  private readonly unnest: SqlUnnest;

  constructor(a: Analysis, select: SqlSelect, flow: Flow) {
    this.a = a;
    this.flow = flow;
    // What a SELECT counts for in the size of a query.
    a.grow(20);
    const faults = a.faults.length;
    this.from = this.lowerFrom(select);
    this.joinFaulty = a.sourcesKnown && a.faults.slice(faults).some((f) => f.about === 'dynamic-column');
    this.starred = new SqlColumns(a, this.from, flow.scope);
    this.select = this.starred.select(select);
    this.rowType = a.typeOf(this.from.ops, flow.input);
    this.unnest = new SqlUnnest(a, (e) => a.typeByContent(this.from.ops, flow.input, e));
    this.groupingCalls = new GroupingCalls(a);
    this.windows = new SqlWindows(a, select.windows ?? [], {
      scope: flow.scope,
      lower: (e) =>
        this.expr(e, {
          aggregate: this.collect,
          grouping: this.noteGrouping,
          clause: 'the window or the call of another window function',
        }),
      rowType: () => this.rowType,
      typeOf: this.typeOf,
      content: () => this.content,
    });
  }

  lower(tail: SqlTail): LoweredSql {
    const { where, groupBy, having, qualify, distinct, distinctOn } = this.select;
    const ops: PlanOp[] = [...this.from.ops];
    if (where)
      ops.push({
        kind: 'filter',
        expr: sqlCondition(this.expr(where, { clause: 'WHERE', fallback: this.aliased({ clause: 'WHERE' }) })),
      });
    const orderBy = this.starred.keys(tail.orderBy ?? []);
    const { faults } = this.a;
    const start = faults.length;
    const given = this.select.columns.flatMap((c) => this.columns(c));
    const columns = withDistinctNames(given);
    const ofColumns = faults.splice(start);
    if (orderBy.length > 0) this.probeOrder(orderBy, orderNames(given, columns));
    const ofOrder = faults.splice(start);
    const groupings = this.groupings(groupBy ?? [], columns);
    const keys = groupings.flat();
    const unnested = this.unnest.group(keys);
    const ofGroups = faults.splice(start);
    const condition = having && this.notUnnest(this.having(having, columns, keys), having);
    const ofHaving = faults.splice(start);
    // In the order in which v0.2.0 looks at the clauses; HAVING is looked at twice.
    faults.push(...ofGroups, ...ofOrder, ...ofHaving, ...ofColumns, ...ofHaving.filter((f) => f.about !== 'window'));
    const qualified = qualify && this.notUnnest(this.qualify(qualify, columns), qualify);
    const isAsked = groupBy !== undefined || this.aggregates.length > 0;
    const isFaulty =
      condition && !isAsked && [condition, ...columns.map((c) => c.expr)].some((e) => this.usesColumns(e));
    if (isFaulty) this.a.fault('HAVING clause requires aggregation functions and/or a GROUP BY clause', having);
    const grouped = isAsked || (having !== undefined && !isFaulty);
    const group = grouped ? this.grouping(keys, groupings) : undefined;
    const grouping = (e: PlanExpr): PlanExpr => (group ? group.settle(e) : this.groupingCalls.without(e));
    const own = (e: PlanExpr): PlanExpr => this.windows.settle(grouping(e));
    const settle = (e: PlanExpr): PlanExpr => this.unnest.settle(own(e));
    const shown = group ? this.eachColumn(columns) : columns;
    const output = shown.map((c) => ({ ...c, expr: settle(c.expr) }));
    ops.push(...unnested);
    if (group) ops.push(group.op);
    if (condition) ops.push({ kind: 'filter', expr: grouping(condition) });
    const windows = this.windows.op(grouping);
    if (windows) ops.push(windows);
    if (qualified) ops.push({ kind: 'filter', expr: own(qualified) });
    ops.push(...this.unnest.ops(own));
    const sort = this.sortKeys(orderBy, columns, grouped).map((k) => ({ ...k, expr: settle(k.expr) }));
    const on = distinctOn?.map((e) => settle(this.distinctKey(e, columns)));
    ops.push(...outputOps(this.a, { output, sort, on, distinct, ends: limits(this.a, this.flow, tail) }));
    return { ops, columns: shown.some((c) => c.without) ? undefined : shown.map((c) => c.name) };
  }

  private lowerFrom(select: SqlSelect): LoweredTables {
    const { from } = select;
    const flow = this.flow;
    if (!from) {
      const columns = columnsOf(flow.input);
      return single(rowsOf(this.a, [], flow.input), {
        explicit: false,
        path: [],
        ...(columns ? { columns } : {}),
        merged: new Set(),
      });
    }
    const dynamic = from.kind === 'sql-table' && from.source.origin.kind === 'source-fstring';
    const tables = lowerTables(this.a, from, flow);
    if (flow.hasParent && !dynamic)
      this.a.fault('SELECT cannot have both an embedded FROM clause and input from parents', select);
    return select.sample ? { ...tables, ops: [...tables.ops, ...sampleOps(this.a, select.sample)] } : tables;
  }

  /** The type of an expression over the rows of FROM. */
  private readonly typeOf = (e: PlanExpr): Type => this.a.typeOfRows(e, this.content);
  private get content(): Type {
    return (this.contentType ??= this.a.rowTypeByContent(this.from.ops, this.flow.input));
  }

  /** Lowers an expression of a clause. */
  private expr(e: Expr, options: ClauseOptions): PlanExpr {
    const { outer, scope } = this.flow;
    const sql: SqlNames = clauseNames(this.a, this.from.tables, this.uses, {
      ...options,
      ...(outer && { outer }),
      typeOf: this.typeOf,
    });
    return lowerExpr(this.a, e, { scope, input: this.rowType, sql } satisfies ExprContext);
  }

  /**
   * A column that is not grouped by may not stand in HAVING by itself: an alias that has its name is meant.
   */
  private having(e: Expr, columns: readonly Column[], keys: readonly PlanExpr[]): PlanExpr {
    const aliases = (name: string): PlanExpr | undefined => {
      const isKey = keys.some((k) => this.uses.get(k) === name);
      return isKey && this.isInput(name) ? undefined : this.byAlias(columns, name)?.expr;
    };
    return sqlCondition(
      this.expr(e, {
        aliases,
        aliasesFirst: true,
        aggregate: this.collect,
        grouping: this.noteGrouping,
        clause: 'HAVING',
        row: () => recordOfColumns(this.a, columns),
      }),
    );
  }

  private usesColumns(e: PlanExpr): boolean {
    return someExpr(e, (part) => this.uses.has(part));
  }

  /** Whether a table is known to have a column of that name, which then goes before an alias. */
  private isInput(name: string): boolean {
    return this.from.tables.some((t) => knownColumns(t)?.includes(name));
  }

  /**
   * Which of the names of the output is meant: a column of the input that has the very name goes before one of other
   * letter case.
   */
  private meant<T>(names: ByName<T>, name: string): T | undefined {
    const meant = names.has(name) || !this.isInput(name) ? names.meant(name) : undefined;
    return meant === undefined ? undefined : names.get(meant);
  }
  private byAlias(columns: readonly Column[], name: string): Column | undefined {
    let names = this.aliases.get(columns);
    if (!names) this.aliases.set(columns, (names = new ByName(columns, (c) => c.alias)));
    return this.meant(names, name);
  }

  private readonly noteGrouping = (e: CallExpr): PlanExpr => {
    const keys = e.args.map((arg) =>
      arg.kind === 'lambda' || arg.kind === 'function-ref'
        ? this.a.wrong('function value may only be passed to a function', arg)
        : this.expr(arg, { clause: 'GROUPING' }),
    );
    return this.a.at(e, this.groupingCalls.note(e, keys));
  };

  /** Notes an aggregate call and gives what stands for its result. */
  private readonly collect = (call: AggregateCall): PlanExpr => {
    const { outer, scope } = this.flow;
    const clause = 'the call of an aggregate';
    // Without a FROM there are no columns but those of the queries around.
    if (outer && isOfQueryAround(call, this.select.from ? this.from.tables : [], outer)) {
      return outer.aggregate?.(call) ?? misplaced(this.a, call);
    }
    const sql = clauseNames(this.a, this.from.tables, this.uses, {
      clause,
      fallback: this.aliased({ clause }),
      typeOf: this.typeOf,
      ...(outer ? { outer } : {}),
    });
    const given = aggregateOf(this.a, call, { scope, input: this.rowType, sql });
    const clocks = call.exported ? undefined : ofClocks(given);
    const units = ofUnits(given, this.typeOf);
    const inner = clocks ?? units;
    const whole = inner ? { ...given, argument: inner.argument } : given;
    const aggregate = call.exported ? exported(whole, units?.scale) : whole;
    const keyOf = (e: PlanExpr | undefined): string => (e ? exprKey(e) : '');
    const key = `${aggregate.name} ${formKey(aggregate)} ${keyOf(aggregate.argument)} ${keyOf(aggregate.where)}`;
    let index = this.places.get(key);
    if (index === undefined) this.places.set(key, (index = this.aggregates.push({ name: call.name, aggregate }) - 1));
    const result = fieldOf(thisExpr, `\u0000aggregate ${index}`);
    this.results.set(result, index);
    this.a.stands(result, () => this.a.typeOfAggregate(aggregate, this.content));
    if (call.exported) return result;
    return inner ? inner.settle(result) : jsonOfAggregate(call.name, result);
  };

  /**
   * Sort keys are looked at before the grouping, since aggregates in them make the query a grouped one. A name in them
   * is one of `names`, of the output, or else of the input.
   */
  private probeOrder(keys: readonly OrderKey[], names: ReadonlySet<string>): void {
    const known = new ByName(names, (name) => name);
    if (isByAll(keys, (name) => names.has(name) || this.isInput(name))) return;
    for (const k of keys) {
      if (ordinalOf(k.expr) !== undefined) continue;
      this.expr(k.expr, {
        aliases: (name) => (this.meant(known, name) !== undefined || this.isOutputColumn(name) ? thisExpr : undefined),
        aliasesFirst: true,
        ...this.calls(),
      });
    }
  }

  /** What may be called where the rows of the output are made and sorted. */
  private calls(): Pick<ClauseOptions, 'aggregate' | 'grouping' | 'window'> {
    return { aggregate: this.collect, grouping: this.noteGrouping, window: this.windows.collect };
  }

  /**
   * Whether a bare name of ORDER BY is looked for among the columns of the output: those of `*` over a join of dynamic
   * tables.
   */
  private isOutputColumn(name: string): boolean {
    const { tables } = this.from;
    return (
      tables.length > 1 &&
      tables.some((t) => !t.columns) &&
      this.select.columns.some((c) => c.kind === 'sql-star') &&
      !this.joinFaulty &&
      !tables.some((t) => t.name === name || (t.using && t.columns?.includes(name)))
    );
  }

  private nameOf(c: SqlColumn): string | undefined {
    return c.as?.text ?? (c.kind === 'sql-column' ? this.a.nameOf(c.expr, true) : undefined);
  }

  private columns(c: SqlColumn): readonly Column[] {
    if (c.kind === 'sql-star') return this.starColumns(c);
    const options = { ...this.calls(), unnest: this.unnest.collect };
    const unnested = isUnnestCall(c.expr) ? this.unnestColumns(c, c.expr, options) : undefined;
    if (unnested) return unnested;
    const start = this.a.faults.length;
    const expr = this.expr(c.expr, { ...options, fallback: this.aliased(options, c) });
    if (c.as && c.as.start < c.expr.start && this.isInput(c.as.text))
      hintAll(this.a.faults, start, pathHint(c.as.text, printExpr(c.expr)));
    if (c.as?.text === '') this.a.fault('column alias cannot be an empty string', c.as);
    const found =
      c.expr.kind === 'id' && c.expr.position !== undefined && !c.as && expr.kind === 'field'
        ? expr.name
        : this.nameOf(c);
    return [{ name: found ?? '', ...(c.as ? { alias: c.as.text } : { made: true }), expr }];
  }

  /** The columns of a struct, or of a list of structs that is taken apart; undefined for other calls of UNNEST. */
  private unnestColumns(c: SqlExprColumn, call: CallExpr, options: ClauseOptions): readonly Column[] | undefined {
    const [arg] = call.args;
    if (!arg || arg.kind === 'lambda' || arg.kind === 'function-ref') return undefined;
    const value = this.expr(arg, { ...options, fallback: this.aliased(options, c) });
    const columns = this.unnest.columns(call, value);
    return columns.map(({ name, expr }) => ({
      name: name ?? this.nameOf(c) ?? '',
      ...(c.as && name === undefined ? { alias: c.as.text } : { made: true }),
      expr: this.a.at(call, expr),
    }));
  }

  /**
   * What aliases of the select list stand for, where no column has their name; `before`: only those that are written
   * before it count.
   */
  private aliased(options: ClauseOptions, before?: SqlColumn): Exclude<ClauseOptions['fallback'], undefined> {
    const { columns } = this.select;
    // Each column asks, and few need an answer: nothing is looked up before a name is.
    let known: ByName<Alias> | undefined;
    const find = (name: string): Alias | undefined => {
      known ??= new ByName(
        (before ? columns.slice(0, columns.indexOf(before)) : columns).flatMap(aliasesOf),
        (alias) => alias.name,
      );
      return this.meant(known, name);
    };
    return {
      has: (name) => find(name) !== undefined,
      of: (name) => {
        const found = find(name);
        return found && this.expr(found.expr, { ...options, fallback: this.aliased(options, found.column) });
      },
    };
  }

  private starColumns(star: SqlStar): readonly Column[] {
    const tables = this.from.tables.filter((t) => !star.table || t.name === star.table.text);
    const fields =
      star.table && tables.length === 0
        ? structColumns(this.a, star.table.text, this.from, this.flow.input)
        : undefined;
    if (fields) return this.changed(star, fields);
    if (star.table && tables.length === 0) {
      this.a.fault(
        `"${star.table.text}" is not a column or table`,
        star.table,
        columnHint(
          star.table.text,
          this.from.tables.map(({ name }) => ({ ...(name !== undefined && { name }) })),
        ),
      );
      return [];
    }
    if (this.joinFaulty && tables.some((t) => !t.columns)) {
      this.a.fault(
        'the all-columns (*) pattern cannot be used for dynamic inputs',
        star,
        'it can once the condition of the join is right',
      );
      return [];
    }
    return this.changed(star, star.table ? tables.flatMap((t) => single([], t).star) : this.from.star);
  }

  private changed(star: SqlStar, columns: readonly StarColumn[]): readonly Column[] {
    const lower = (x: { readonly expr: Expr }): PlanExpr => this.expr(x.expr, this.calls());
    return changedStar(this.a, star, columns, this.from.tables, lower).map((c) => this.starColumn(c, star));
  }

  private starColumn(column: ChangedColumn, place: Span): Column {
    // An expression of its own, since GROUP BY looks at where it is used.
    const { path, name, as = name, without, known, value } = column;
    const expr = this.a.at(place, starValue(column, { ...pathExpr(path) }));
    if (!value) this.uses.set(expr, without ? '*' : name);
    return without
      ? { name: '*', expr, without, known }
      : { name: as, ...(column.as !== undefined && { alias: as }), expr };
  }

  /** The groupings that GROUP BY asks for: one, unless there are ROLLUP and the like. */
  private groupings(
    items: readonly (Expr | SqlGroupingSets)[],
    columns: readonly Column[],
  ): readonly (readonly PlanExpr[])[] {
    const keysOf = (list: readonly Expr[]): PlanExpr[] =>
      list.map((e) => this.groupKey(e, columns)).filter((e) => e !== undefined);
    const sets = groupingsOf(this.a, items);
    if (sets) return sets.map(keysOf);
    const [only] = items;
    const plain = items.flatMap((item): readonly Expr[] =>
      item.kind === 'sql-grouping' ? [] : item.kind === 'tuple' ? item.elems : [item],
    );
    const all =
      plain.length === 1 &&
      only?.kind === 'id' &&
      isName(only, 'all') &&
      !this.from.tables.some((t) => t.columns?.includes(only.name));
    if (!all) return [keysOf(plain)];
    if (columns.some((c) => c.without))
      this.a.fault('GROUP BY ALL needs the names of the columns: write them instead of *', only);
    return [
      columns
        .filter((c) => this.aggregateIn(c.expr) === undefined && this.windows.nameIn(c.expr) === undefined)
        .map((c) => c.expr),
    ];
  }

  /** The select list by names: the first of a name counts, be it an alias or a column of the input. */
  private selected(): ByName<SqlColumn> {
    return (this.selectedNames ??= new ByName(
      this.select.columns,
      (c) => c.as?.text ?? (c.kind === 'sql-column' && c.expr.kind === 'id' ? c.expr.name : undefined),
    ));
  }

  /** A grouping expression: a position, an alias, or an expression over the input. */
  private groupKey(e: Expr, columns: readonly Column[]): PlanExpr | undefined {
    const position = e.kind === 'id' ? undefined : ordinalOf(e);
    if (position === undefined) {
      let isSound = true;
      const { pg } = this.flow.scope;
      const aliases = (name: string): PlanExpr | undefined => {
        if (pg !== false && this.isInput(name)) return undefined;
        const first = this.meant(this.selected(), name);
        const found = first?.as && this.byAlias(columns, name)?.expr;
        const aggregate = found && this.aggregateIn(found);
        if (aggregate === undefined) return found;
        this.a.faultOfShape(
          `aggregate function "${aggregate}" called in non-aggregate context`,
          this.a.places.whole.get(found!) ?? e,
        );
        isSound = false;
        return found;
      };
      const options = { aliases, aliasesFirst: pg !== true, clause: 'GROUP BY', unnest: this.unnest.collect };
      const key = this.notWindow(this.expr(e, options), e);
      return isSound ? key : undefined;
    }
    const { exprs, isWhole } = this.counted(columns);
    const expr = exprs[position - 1];
    if (!expr) {
      this.a.fault(isWhole ? `position ${position} is not in select list` : uncountable(position), e);
      return undefined;
    }
    const aggregate = this.aggregateIn(expr);
    if (aggregate === undefined) return this.notWindow(expr, e);
    this.a.fault(`aggregate function "${aggregate}" cannot appear in GROUP BY via positional reference`, e);
    return undefined;
  }

  /** The columns by position, as far as they are known: of `*` those that the rows of its pools have at present. */
  private counted(columns: readonly Column[]): { readonly exprs: readonly PlanExpr[]; readonly isWhole: boolean } {
    const exprs: PlanExpr[] = [];
    for (const { expr, without, known } of columns) {
      if (!without) exprs.push(expr);
      else {
        const names = known?.();
        if (!names) return { exprs, isWhole: false };
        exprs.push(...names.filter((n) => !without.includes(n)).map((n) => this.columnOf(expr, n)));
      }
    }
    return { exprs, isWhole: true };
  }

  /** Columns of groups: those of `*` one by one, as far as they are known. */
  private eachColumn(columns: readonly Column[]): readonly Column[] {
    return columns.flatMap((c) => {
      const names = c.without && c.known?.();
      return names
        ? names
            .filter((name) => !c.without!.includes(name))
            .map((name) => ({ name, expr: this.columnOf(c.expr, name) }))
        : [c];
    });
  }

  private columnOf(row: PlanExpr, name: string): PlanExpr {
    const column = fieldOf(row, name);
    this.uses.set(column, name);
    return column;
  }

  /** An expression of DISTINCT ON: a position, an alias, or one over the input. */
  private distinctKey(e: Expr, columns: readonly Column[]): PlanExpr {
    const position = ordinalOf(e);
    if (position !== undefined) return this.atPosition(e, position, columns);
    return this.expr(e, {
      aliases: (name) => this.byAlias(columns, name)?.expr,
      aliasesFirst: true,
      ...this.calls(),
    });
  }

  private notWindow(expr: PlanExpr, place: Span): PlanExpr {
    const name = this.windows.nameIn(expr);
    if (name !== undefined) this.a.faultOfShape(`window function "${name}" cannot be called in GROUP BY`, place);
    return expr;
  }

  /** Rows are grouped and filtered before lists are taken apart. */
  private notUnnest(expr: PlanExpr, place: Span): PlanExpr {
    if (this.unnest.isIn(expr))
      this.a.faultOfShape(
        'unnest cannot stand in this clause',
        place,
        'write it in a subquery: select ... from (select unnest(l) as x from t) group by x',
      );
    return expr;
  }

  private qualify(e: Expr, columns: readonly Column[]): PlanExpr {
    const aliases = (name: string): PlanExpr | undefined => this.byAlias(columns, name)?.expr;
    const expr = sqlCondition(this.expr(e, { aliases, aliasesFirst: true, ...this.calls() }));
    if (!this.windows.isUsed)
      this.a.fault(
        'QUALIFY needs a window function in the select list or in its condition',
        e,
        'WHERE filters without one',
      );
    return expr;
  }

  private aggregateIn(e: PlanExpr): string | undefined {
    let found: string | undefined;
    for (const value of [e, ...this.unnest.listsIn(e)])
      someExpr(value, (part) => {
        const index = this.results.get(part);
        if (index !== undefined) found ??= this.aggregates[index].name;
        return false;
      });
    return found;
  }

  /** The aggregate operator, and how expressions are written over its output. */
  private grouping(
    keys: readonly PlanExpr[],
    groupings: readonly (readonly PlanExpr[])[],
  ): { readonly op: PlanOp; readonly settle: (e: PlanExpr) => PlanExpr } {
    const names = new Map<string, string>();
    const unique = keys.filter((k) => {
      const key = groupKey(this.a, k);
      if (names.has(key)) return false;
      names.set(key, `k${names.size}`);
      return true;
    });
    const settle = (e: PlanExpr): PlanExpr => {
      if (this.windows.isResult(e)) return e;
      const index = this.results.get(e);
      if (index !== undefined) return this.a.like(e, fieldOf({ kind: 'this' }, `a${index}`));
      const bits = this.groupingCalls.fieldFor(e);
      if (bits !== undefined) return this.a.like(e, fieldOf({ kind: 'this' }, bits));
      const key = names.get(groupKey(this.a, e));
      if (key !== undefined) return this.a.like(e, fieldOf({ kind: 'this' }, key));
      const column = this.uses.get(e);
      if (column === undefined) return this.a.like(e, mapParts(e, settle));
      return this.a.wrong(
        `column "${column}" must appear in GROUP BY clause`,
        this.a.places.whole.get(e) ?? this.select,
      );
    };
    const op: Extract<PlanOp, { kind: 'aggregate' }> = {
      kind: 'aggregate',
      sql: true,
      keys: unique.map((expr, i) => ({ target: [`k${i}`], expr })),
      aggregates: this.aggregates.map((x, i) => ({ target: [`a${i}`], aggregate: x.aggregate })),
    };
    const numbers = unique.map((e) => groupKey(this.a, e));
    const asked = this.groupingCalls.numbers(numbers);
    const isPlain = groupings.length === 1 && asked.length === 0;
    return {
      op: isPlain
        ? op
        : groupingSets(
            op,
            groupings.map((own) => own.map((k) => numbers.indexOf(groupKey(this.a, k)))),
            asked,
          ),
      settle,
    };
  }

  private atPosition(place: Expr, position: number, columns: readonly Column[]): PlanExpr {
    const { exprs, isWhole } = this.counted(columns);
    return exprs[position - 1] || isWhole
      ? outputColumn(this.a, place, position, exprs)
      : this.a.wrong(uncountable(position), place);
  }

  /** Fields of `this` are those of the row that comes in; behind groups, which have no such row, of the output. */
  private sortKeys(keys: readonly OrderKey[], columns: readonly Column[], grouped: boolean): readonly SortKey[] {
    if (isByAll(keys, (name) => columns.some((c) => c.name === name) || this.isInput(name))) {
      const { exprs, isWhole } = this.counted(columns);
      const [all] = keys;
      if (!isWhole && this.a.sourcesKnown)
        this.a.fault('ORDER BY ALL needs the names of the columns: write them instead of *', all);
      return exprs.map((expr) => ({ expr, ...directionOf(all!, this.flow.scope) }));
    }
    const row = grouped ? { row: () => recordOfColumns(this.a, columns) } : {};
    const named = new ByName(columns, (c) => c.name);
    const aliases = (name: string): PlanExpr | undefined =>
      this.meant(named, name)?.expr ??
      (this.isOutputColumn(name) ? fieldOf(recordOfColumns(this.a, columns), name) : undefined);
    return keys.map((k) => {
      const position = ordinalOf(k.expr);
      const expr =
        position === undefined
          ? this.expr(k.expr, { aliases, aliasesFirst: true, ...this.calls(), ...row })
          : this.atPosition(k.expr, position, columns);
      return { expr: collated(k, orderOfSpan(expr, this.typeOf)), ...directionOf(k, this.flow.scope) };
    });
  }
}

/** A name of the select list, and what it stands for. */
interface Alias {
  readonly name: string;
  readonly column: SqlColumn;
  readonly expr: Expr;
}
const aliasesOf = (column: SqlColumn): readonly Alias[] =>
  column.kind === 'sql-column'
    ? column.as
      ? [{ name: column.as.text, column, expr: column.expr }]
      : []
    : (column.rename ?? []).map(({ from, to }) => ({ name: to.text, column, expr: referenceOf(from) }));
const referenceOf = ({ table, column, start, end }: StarName): Expr =>
  table
    ? { kind: 'dot', expr: { kind: 'id', name: table.text, quoted: true, start, end }, name: column, start, end }
    : { kind: 'id', name: column.text, quoted: true, start, end };
