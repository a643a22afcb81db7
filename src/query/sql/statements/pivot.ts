/**
 * PIVOT and UNPIVOT to SELECT.
 *
 * Invariants:
 * - A column of PIVOT is an aggregate of the rows that have its values: the aggregate's FILTER.
 * - Which columns there are is known before the query runs: by IN, or where the rows are constants. Otherwise the rows
 *   are records with a field for each value of the one column that they are made of. Columns are found whatever their
 *   letter case.
 */
import type { Analysis } from '../../analyze/context.ts';
import { isAggregate } from '../../analyze/calls.ts';
import { lowerExpr } from '../../analyze/exprs.ts';
import { type Flow, sourced } from '../../analyze/queries.ts';
import type {
  AggExpr,
  CallExpr,
  Expr,
  IdExpr,
  PivotOn,
  PivotValue,
  Span,
  SqlAlias,
  SqlExprColumn,
  SqlPivotTable,
  SqlSelect,
  SqlUnpivotTable,
} from '../../ast.ts';
import { printExpr } from '../../print.ts';
import { SqlColumns, substituted } from '../columns.ts';
import { lowerSqlQuery } from '../queries.ts';
import { clauseNames, meantIn } from '../names.ts';
import { columnOf, nameNode, queryOf, subqueryTable } from '../nodes.ts';
import { pivotedByRows } from './pivot-rows.ts';
import { type LoweredTables, aliased, lowerTables } from '../tables.ts';
import { types } from '../../../vectors/type.ts';
import { type Value, underUnion, underValue, itemsData, stringData } from '../../../vectors/value.ts';

/** Most columns that a PIVOT may give. */
const columnsMax = 10_000;

/** The table that PIVOT or UNPIVOT gives. */
export const lowerPivot = (a: Analysis, e: SqlPivotTable | SqlUnpivotTable, flow: Flow): LoweredTables => {
  const source = lowerTables(a, e.source, flow);
  const columns = new SqlColumns(a, source, flow.scope);
  const all: Source = {
    columns: columns.all(e),
    meant: (name) => source.tables.flatMap((t) => meantIn(t, name) ?? [])[0],
  };
  const open = e.kind === 'sql-pivot' ? openColumn(a, e, all, flow) : undefined;
  if (open && e.kind === 'sql-pivot')
    return aliased(
      a,
      pivotedByRows(a, { ...partsOf(a, e, all), on: open, pivot: e }, flow),
      e.alias,
      undefined,
      flow.input,
    );
  const select = e.kind === 'sql-pivot' ? pivoted(a, e, all, flow) : unpivoted(e, all, columns);
  const { ops } = lowerSqlQuery(a, queryOf(select), flow);
  return aliased(a, ops, e.alias as SqlAlias | undefined, undefined, flow.input);
};

/** A column of the source. */
interface Column {
  readonly name: string;
  readonly expr: Expr;
}
/** All columns of the source, and which of them a name means. */
interface Source {
  readonly columns: readonly Column[];
  readonly meant: (name: string) => string | undefined;
}
interface Cell {
  readonly name: string;
  readonly condition: Expr;
}

/** What PIVOT is made of, with the names of columns as the source has them. */
const partsOf = (a: Analysis, given: SqlPivotTable, all: Source) => {
  const known = <T>(e: T): T => withNames(e, all);
  const on = known(given.on);
  const using = known(given.using ?? [countOf({ start: given.start, end: given.end })]);
  const groups: readonly Column[] =
    known(given.groupBy)?.map((expr) => ({ expr, name: a.nameOf(expr, true) })) ?? unused(all.columns, [on, using]);
  return { on, using, groups };
};

/** The only column of ON, if its values are known when the query runs and not before. */
const openColumn = (a: Analysis, given: SqlPivotTable, all: Source, flow: Flow): Expr | undefined => {
  const [only, another] = partsOf(a, given, all).on;
  return only && !another && !only.values && a.sourcesKnown && !constantValues(a, only.expr, given, flow)
    ? only.expr
    : undefined;
};

const pivoted = (a: Analysis, given: SqlPivotTable, all: Source, flow: Flow): SqlSelect => {
  const span = { start: given.start, end: given.end };
  const { on, using, groups } = partsOf(a, given, all);
  const cells = on.map((item) => cellsOf(a, item, given, flow));
  const count = cells.reduce((n, list) => n * list.length, using.length);
  if (count > columnsMax) a.fault(`PIVOT gives ${count} columns, more than ${columnsMax}`, given);
  const combined =
    count > columnsMax
      ? []
      : cells.reduce((left, right) =>
          left.length === 0
            ? right
            : left.flatMap((x) =>
                right.map((y) => ({ name: `${x.name}_${y.name}`, condition: both(x.condition, y.condition) })),
              ),
        );
  const columns = combined.flatMap((cell) =>
    using.map(({ expr, as }): SqlExprColumn => {
      const behind = as?.text ?? (using.length > 1 ? printExpr(expr) : undefined);
      return columnOf(
        filtered(a, expr, cell.condition, flow),
        behind === undefined ? cell.name : `${cell.name}_${behind}`,
        span,
      );
    }),
  );
  const names = columns.map((c) => c.as!.text);
  const twice = names.find((name, i) => names.indexOf(name) < i);
  if (twice !== undefined)
    a.fault(`PIVOT gives the column "${twice}" twice`, given, 'name the values: IN (1 AS a, 2 AS b)');
  return {
    kind: 'sql-select',
    distinct: false,
    columns: [...groups.map((g) => columnOf(g.expr, g.name, span)), ...columns],
    from: given.source,
    ...(groups.length > 0 && { groupBy: groups.map((g) => g.expr) }),
    ...span,
  };
};

/** The values of one item of ON, with what rows of them have to fulfil. */
const cellsOf = (a: Analysis, { expr, values }: PivotOn, e: SqlPivotTable, flow: Flow): readonly Cell[] =>
  (values ?? constantValues(a, expr, e, flow) ?? notKnown(a, expr)).map(({ expr: value, as }) => {
    // A bare name among the values is a text.
    const plain = value.kind === 'id' ? textOf(value.name, value) : value;
    return { name: as?.text ?? nameOfValue(a, plain, flow), condition: isValue(expr, plain) };
  });
const isValue = (left: Expr, right: Expr): Expr => {
  if (left.kind === 'tuple' && right.kind === 'tuple' && left.elems.length === right.elems.length)
    return left.elems.map((x, i) => isValue(x, right.elems[i])).reduce(both);
  return { kind: 'binary', op: 'is not distinct from', left, right, start: right.start, end: right.end };
};
const both = (left: Expr, right: Expr): Expr => ({
  kind: 'binary',
  op: 'and',
  left,
  right,
  start: left.start,
  end: left.end,
});

const nameOfValue = (a: Analysis, e: Expr, flow: Flow): string => {
  if (e.kind === 'tuple') return e.elems.map((x) => nameOfValue(a, x, flow)).join('_');
  // A column has a name: the empty text is written as it stands in the query.
  if (e.kind === 'literal') return e.type === 'null' ? 'NULL' : e.text === '' ? "''" : e.text;
  const found = a.constant(
    lowerExpr(a, e, { scope: flow.scope, input: types.null, sql: clauseNames(a, [], new WeakMap(), {}) }),
  )?.value;
  return typeof found?.data === 'string' ? found.data : found === undefined ? printExpr(e) : String(found.data);
};

const notKnown = (a: Analysis, expr: Expr): readonly PivotValue[] => {
  if (a.sourcesKnown)
    a.fault(
      'the columns that a PIVOT of several columns gives are not known before the query runs',
      expr,
      `name its values: ON ${printExpr(expr)} IN (value, ..)`,
    );
  return [];
};

/** The values that rows of constants have, in their order, undefined if they are none; null is none of them. */
const constantValues = (a: Analysis, expr: Expr, e: SqlPivotTable, flow: Flow): readonly PivotValue[] | undefined => {
  const { start, end } = expr;
  const span = { start, end };
  const { ops } = lowerSqlQuery(
    a,
    queryOf({ kind: 'sql-select', distinct: false, columns: [columnOf(expr, 'v', span)], from: e.source, ...span }),
    flow,
  );
  const rows = a.constant({ kind: 'subquery', form: 'list', correlated: false, body: { ops: sourced(ops) } })?.value;
  const values = rows && valuesIn(rows);
  const literals = values?.filter((v) => v.type !== types.null).map((v) => literalOf(v, span));
  if (!literals || literals.some((x) => x === undefined)) return undefined;
  const unique = new Map(literals.map((x) => [printExpr(x!), x!]));
  return [...unique.values()].toSorted(inOrder).map((x) => ({ expr: x }));
};
const valuesIn = ({ type, data }: Value): readonly Value[] | undefined => {
  if (type.kind !== 'array' || !Array.isArray(data)) return undefined;
  return (data as readonly Value['data'][]).flatMap((d) => {
    const row = underUnion({ type: type.element, data: d });
    return row.type.kind === 'record'
      ? [underValue({ type: row.type.fields[0].type, data: itemsData(row.data)[0] })]
      : [];
  });
};
const literalOf = ({ type, data }: Value, span: Span): Expr | undefined => {
  if (type === types.null) return undefined;
  if (type === types.string) return textOf(stringData(data), span);
  const kind =
    type === types.bool ? 'bool' : type === types.int64 ? 'int64' : type === types.float64 ? 'float64' : undefined;
  return kind && { kind: 'literal', type: kind, text: String(data), ...span };
};
const inOrder = (x: Expr, y: Expr): number => {
  const [left, right] = [x, y].map((e) => (e.kind === 'literal' ? e : undefined));
  if (left?.type === 'int64' || left?.type === 'float64') return Number(left.text) - Number(right?.text);
  return (left?.text ?? '') < (right?.text ?? '') ? -1 : 1;
};

/** An expression whose aggregates look at the rows of a condition alone. */
const filtered = (a: Analysis, e: Expr, condition: Expr, flow: Flow): Expr =>
  substituted(e, (part) => {
    if (part.kind === 'agg')
      return [{ ...part, filter: part.filter ? both(part.filter, condition) : condition } satisfies AggExpr];
    if (part.kind !== 'call' || part.callee.kind !== 'name' || !isAggregate(a, part, flow.scope, true))
      return undefined;
    const [arg, ...more] = part.args.filter((x): x is Expr => x.kind !== 'lambda' && x.kind !== 'function-ref');
    const { start, end } = part;
    return [
      {
        kind: 'agg',
        name: part.callee,
        ...(arg && { arg }),
        ...(more.length > 0 && { more }),
        distinct: false,
        filter: condition,
        start,
        end,
      } satisfies AggExpr,
    ];
  });

const unpivoted = (given: SqlUnpivotTable, all: Source, columns: SqlColumns): SqlSelect => {
  const span = { start: given.start, end: given.end };
  const items = given.items.flatMap(({ expr, as }) =>
    columns
      .expressions(withNames(expr, all))
      .map((x) => ({ expr: x.expr, name: as?.text ?? x.name ?? nameOfColumns(x.expr) })),
  );
  const parts = (e: Expr): readonly Expr[] => (e.kind === 'tuple' ? e.elems : [e]);
  const values = given.values.map((_, i) => items.map((x) => parts(x.expr)[i] ?? nullOf(span)));
  const lists = [items.map((x) => textOf(x.name, span)), ...values];
  const names = [given.name, ...given.values];
  const inner: SqlSelect = {
    kind: 'sql-select',
    distinct: false,
    from: given.source,
    ...span,
    columns: [
      ...unused(
        all.columns,
        items.map((x) => x.expr),
      ).map((c) => columnOf(c.expr, c.name, span)),
      ...lists.map((elems, i) => columnOf(unnestOf({ kind: 'array', elems, ...span }, span), names[i].text, span)),
    ],
  };
  const tests = given.values.map(
    ({ text }): Expr => ({
      kind: 'is-null',
      negated: true,
      expr: { kind: 'id', name: text, quoted: true, ...span },
      ...span,
    }),
  );
  return {
    kind: 'sql-select',
    distinct: false,
    columns: [{ kind: 'sql-star', ...span }],
    from: subqueryTable(queryOf(inner)),
    ...(!given.includeNulls && { where: tests.reduce(both) }),
    ...span,
  };
};
const nameOfColumns = (e: Expr): string =>
  e.kind === 'tuple'
    ? e.elems.map(nameOfColumns).join('_')
    : e.kind === 'id'
      ? e.name
      : e.kind === 'dot'
        ? e.name.text
        : printExpr(e);

/** The columns that these parts do not name. */
const unused = (all: readonly Column[], parts: unknown): readonly Column[] => {
  const used = new Set<string>();
  substituted(parts, (e) => {
    if (e.kind === 'id') used.add(e.name);
    return undefined;
  });
  return all.filter((c) => !used.has(c.name));
};
/** Names of columns as the source has them. */
const withNames = <T>(part: T, { columns, meant }: Source): T =>
  substituted(part, (e) => {
    const found = e.kind === 'id' && !columns.some((c) => c.name === e.name) ? meant(e.name) : undefined;
    return found === undefined ? undefined : [{ ...(e as IdExpr), name: found }];
  });

const textOf = (text: string, { start, end }: Span): Expr => ({ kind: 'literal', type: 'string', text, start, end });
const nullOf = ({ start, end }: Span): Expr => ({ kind: 'literal', type: 'null', text: 'null', start, end });
const unnestOf = (list: Expr, { start, end }: Span): CallExpr => ({
  kind: 'call',
  callee: nameNode('unnest', { start, end }),
  args: [list],
  start,
  end,
});
const countOf = (span: Span): SqlExprColumn => ({
  kind: 'sql-column',
  expr: { kind: 'agg', name: nameNode('count', span), distinct: false, ...span },
  ...span,
});
