/**
 * COLUMNS of SQL: an expression that holds it comes once for each column that it stands for, before the expression is
 * lowered.
 *
 * Invariants:
 * - The columns of pools are those that their rows have at present.
 * - Several COLUMNS in one expression go in step; `*COLUMNS(..)` stands for all of its columns at once, as arguments or
 *   elements.
 */
import type { Analysis } from '../analyze/context.ts';
import { lowerExpr } from '../analyze/exprs.ts';
import type {
  ColumnsExpr,
  Expr,
  IdExpr,
  OrderKey,
  Span,
  SqlColumn,
  SqlExprColumn,
  SqlGroupingSets,
  SqlSelect,
} from '../ast.ts';
import type { Scope } from '../analyze/scope.ts';
import { type ChangedColumn, changedStar } from './stars.ts';
import { type LoweredTables, single } from './tables.ts';
import { clauseNames } from './names.ts';
import { types } from '../../vectors/type.ts';

/** A column that COLUMNS stands for: what it is called, and how it is written. */
export interface Found {
  readonly name: string;
  readonly expr: Expr;
}

/** The COLUMNS of one SELECT, over the tables of its FROM. */
export class SqlColumns {
  private readonly a: Analysis;
  private readonly from: LoweredTables;
  private readonly scope: Scope;
  private readonly known = new Map<ColumnsExpr, readonly Found[]>();
  constructor(a: Analysis, from: LoweredTables, scope: Scope) {
    this.a = a;
    this.from = from;
    this.scope = scope;
  }

  /** The SELECT without COLUMNS. */
  select(e: SqlSelect): SqlSelect {
    if (!holdsColumns([e.columns, e.where, e.groupBy, e.having, e.qualify, e.distinctOn])) return e;
    return {
      ...e,
      columns: e.columns.flatMap((c) => this.column(c)),
      ...(e.where && { where: this.inAll(e.where) }),
      ...(e.having && { having: this.inAll(e.having) }),
      ...(e.qualify && { qualify: this.inAll(e.qualify) }),
      ...(e.groupBy && {
        groupBy: e.groupBy.flatMap((item): readonly (Expr | SqlGroupingSets)[] =>
          item.kind === 'sql-grouping' ? [item] : this.each(item).map((x) => x.expr),
        ),
      }),
      ...(e.distinctOn && { distinctOn: e.distinctOn.flatMap((x) => this.each(x).map((y) => y.expr)) }),
    };
  }

  /** All columns of FROM. */
  all({ start, end }: Span): readonly Found[] {
    return this.find({ kind: 'columns', star: { kind: 'sql-star', start, end }, start, end });
  }

  /** An expression for each column of the COLUMNS in it. */
  expressions(e: Expr): readonly { readonly expr: Expr; readonly name?: string }[] {
    return this.each(e).map(({ expr, name }) => ({ expr, ...(name !== undefined && { name }) }));
  }

  /** The keys of ORDER BY without COLUMNS. */
  keys(keys: readonly OrderKey[]): readonly OrderKey[] {
    return holdsColumns(keys) ? keys.flatMap((k) => this.each(k.expr).map(({ expr }) => ({ ...k, expr }))) : keys;
  }

  private column(c: SqlColumn): readonly SqlColumn[] {
    if (c.kind === 'sql-star' || !holdsColumns(c.expr)) return [c];
    return this.each(c.expr).map(({ expr, name, of }): SqlExprColumn => {
      const text = c.as ? this.alias(c.as.text, name, of) : name;
      return {
        ...c,
        expr,
        ...(text !== undefined && { as: { ...(c.as ?? { kind: 'name', start: c.start, end: c.end }), text } }),
      };
    });
  }

  /** An alias for a column that a pattern found: `\\1` and the like are its groups. */
  private alias(alias: string, name: string | undefined, of: ColumnsExpr | undefined): string {
    const pattern = of?.pattern;
    if (pattern === undefined || name === undefined || !/\\\d/.test(alias)) return alias;
    const span = { start: of!.start, end: of!.end };
    const text = (value: string): Expr => ({ kind: 'literal', type: 'string', text: value, ...span });
    const value = this.constant({
      kind: 'call',
      callee: { kind: 'name', text: 'regexp_replace', ...span },
      args: [text(name), text(pattern), text(alias)],
      ...span,
    });
    return typeof value === 'string' ? value : alias;
  }

  /** A condition for all columns. */
  private inAll(e: Expr): Expr {
    if (!holdsColumns(e)) return e;
    const { start, end } = e;
    const parts = this.each(e).map((x) => x.expr);
    return parts.length === 0
      ? { kind: 'literal', type: 'bool', text: 'true', start, end }
      : parts.reduce((left, right) => ({ kind: 'binary', op: 'and', left, right, start, end }));
  }

  /** The expression for each column. */
  private each(e: Expr): readonly { readonly expr: Expr; readonly name?: string; readonly of?: ColumnsExpr }[] {
    if (!holdsColumns(e)) return [{ expr: e }];
    const parts = columnsIn(e);
    const whole = substituted(e, (part) =>
      part.kind === 'columns' && part.unpacked ? this.found(part).map((x) => x.expr) : undefined,
    );
    const stepped = parts.filter((part) => !part.unpacked);
    const [of] = stepped;
    if (!of) return [{ expr: whole }];
    const found = this.found(of);
    const other = stepped.find((part) => this.found(part).length !== found.length);
    if (other && this.a.sourcesKnown)
      this.a.fault('columns(..) in one expression have to stand for equally many columns', other);
    return found.map(({ name }, i) => ({
      name,
      of,
      expr: substituted(whole, (part) => (part.kind === 'columns' ? [this.found(part)[i]?.expr ?? part] : undefined)),
    }));
  }

  private found(e: ColumnsExpr): readonly Found[] {
    let found = this.known.get(e);
    if (!found) this.known.set(e, (found = this.find(e)));
    return found;
  }

  private find(e: ColumnsExpr): readonly Found[] {
    const { star, test } = e;
    const { tables } = this.from;
    const named = star.table && tables.filter((t) => t.name === star.table!.text);
    if (named?.length === 0) this.a.fault(`"${star.table!.text}" is not a table`, star);
    const all = named ? named.flatMap((t) => single([], t).star) : this.from.star;
    const changed = changedStar<Expr>(this.a, star, all, tables, (x) => x.expr).flatMap((c) => this.single(c, e));
    const found = changed.filter(({ name }) => !test || this.passes(name, test, e));
    if (found.length === 0 && this.a.sourcesKnown && this.a.faults.length === 0)
      this.a.fault('columns(..) finds no column', e, 'look at the names of the columns with select * from .. limit 1');
    return found;
  }

  /** The columns of a dynamic table one by one. */
  private single(c: ChangedColumn<Expr>, e: ColumnsExpr): readonly Found[] {
    const idOf = (name: string): IdExpr => ({
      kind: 'id',
      name,
      quoted: true,
      path: c.path,
      start: e.start,
      end: e.end,
    });
    if (!c.without) return [{ name: c.as ?? c.name, expr: c.value ?? idOf(c.name) }];
    const known = c.known?.();
    if (!known && this.a.sourcesKnown)
      this.a.fault(
        'columns(..) needs the names of the columns, which are not known before the query runs',
        e,
        'write them one by one',
      );
    return (known ?? []).filter((name) => !c.without!.includes(name)).map((name) => ({ name, expr: idOf(name) }));
  }

  /** Whether a name passes the test of LIKE and its like, of a lambda, a pattern or a list. */
  private passes(name: string, { parameter, body }: Exclude<ColumnsExpr['test'], undefined>, e: ColumnsExpr): boolean {
    const text: Expr = { kind: 'literal', type: 'string', text: name, start: e.start, end: e.end };
    const value = this.constant(
      substituted(body, (part) =>
        part.kind === 'id' && part.name.toLowerCase() === parameter.toLowerCase() ? [text] : undefined,
      ),
    );
    if (value === undefined && this.a.sourcesKnown && this.a.faults.length === 0)
      this.a.fault('the test of columns(..) is not known before the query runs: it may use the name alone', e);
    return value === true;
  }

  private constant(e: Expr): unknown {
    const c = { scope: this.scope, input: types.null, sql: clauseNames(this.a, [], new WeakMap(), {}) };
    return this.a.constant(lowerExpr(this.a, e, c))?.value.data;
  }
}

const isNode = (x: unknown): x is object => typeof x === 'object' && x !== null;
/** COLUMNS in a part of the syntax tree, those of subqueries left out. */
const columnsIn = (node: unknown): readonly ColumnsExpr[] => {
  if (Array.isArray(node)) return node.flatMap(columnsIn);
  if (!isNode(node)) return [];
  if ('kind' in node && node.kind === 'columns') return [node as ColumnsExpr];
  return 'kind' in node && node.kind === 'query' ? [] : Object.values(node).flatMap(columnsIn);
};
const holdsColumns = (node: unknown): boolean => columnsIn(node).length > 0;

/** An expression in which some parts stand for others: in lists maybe for several. */
export const substituted = <T>(node: T, change: (e: Expr) => readonly Expr[] | undefined): T => {
  const visit = (part: unknown): readonly unknown[] => {
    if (Array.isArray(part)) return [part.flatMap(visit)];
    // Types are told apart by their identity.
    if (!isNode(part) || ('kind' in part && (part.kind === 'query' || part.kind === 'sql-type'))) return [part];
    return (
      change(part as Expr) ?? [
        Object.fromEntries(Object.entries(part).map(([key, value]: [string, unknown]) => [key, visit(value)[0]])),
      ]
    );
  };
  return visit(node)[0] as T;
};
