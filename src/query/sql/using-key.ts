/**
 * USING KEY of WITH RECURSIVE: the table is a map. The columns that are named alone are its key; of rows with the same
 * key the last one stays, or what the aggregates make of all of them.
 *
 * It is lowered to a SELECT with GROUP BY over all rows that came, so that groups and aggregates mean what they mean
 * everywhere.
 */
import type { Analysis } from '../analyze/context.ts';
import { sourced } from '../analyze/queries.ts';
import type { Expr, IdExpr, NameNode, Span, SqlColumn, SqlExprColumn, SqlSelect } from '../ast.ts';
import type { KeyedRecursion } from '../plan/plan.ts';
import type { CteBinding } from '../analyze/scope.ts';
import { lowerSqlBody } from './queries.ts';
import { types } from '../../vectors/type.ts';

/** The map that the rows of the table are put together to. `columns`: what the first query calls them. */
export const lowerUsingKey = (
  a: Analysis,
  table: CteBinding,
  items: readonly SqlExprColumn[],
  columns: readonly string[],
): KeyedRecursion | undefined => {
  const { alias } = table.cte;
  const names = columns.map((name, i) => alias.columns?.[i]?.text ?? name);
  const parts = partsOf(a, items, names);
  if (!parts) return undefined;
  const { keys, aggregates } = parts;
  const place: Span = items[0];
  const log = a.nextLevel++;
  const select: SqlSelect = {
    kind: 'sql-select',
    distinct: false,
    start: place.start,
    end: place.end,
    columns: names.map((name, i): SqlColumn => {
      const expr = keys.has(name) ? idOf(name, place) : (aggregates.get(name) ?? lastOf(name, place));
      return { kind: 'sql-column', expr, as: nameOf(columns[i], place), start: expr.start, end: expr.end };
    }),
    from: {
      kind: 'sql-table',
      ordinality: false,
      start: place.start,
      end: place.end,
      source: {
        kind: 'source',
        origin: { kind: 'source-text', text: alias.name.text, quoted: false, start: place.start, end: place.end },
        args: [],
        start: place.start,
        end: place.end,
      },
    },
    groupBy: [...keys].map((name) => idOf(name, place)),
  };
  table.recursion = { id: log, columns, used: false };
  const { ops } = lowerSqlBody(a, select, { scope: table.scope, input: types.null, hasParent: false });
  delete table.recursion;
  return { pipeline: { ops: sourced(ops) }, log, folds: aggregates.size === 0 };
};

interface KeyParts {
  readonly keys: ReadonlySet<string>;
  readonly aggregates: ReadonlyMap<string, Expr>;
}

/** The key columns, and the aggregates by the columns that they give. */
const partsOf = (a: Analysis, items: readonly SqlExprColumn[], names: readonly string[]): KeyParts | undefined => {
  const keys = new Set<string>();
  const aggregates = new Map<string, Expr>();
  const faults = a.faults.length;
  const column = (name: string, place: Span): string | undefined => {
    const found = names.includes(name) ? name : names.find((x) => x.toLowerCase() === name.toLowerCase());
    if (found === undefined)
      a.fault(`USING KEY: the table has no column "${name}"`, place, `its columns are ${names.join(', ')}`);
    return found;
  };
  for (const { expr, as } of items) {
    if (expr.kind === 'id' && !as) {
      const name = column(expr.name, expr);
      if (name !== undefined) keys.add(name);
      continue;
    }
    const target = as ?? firstColumn(expr);
    const name = target && column('text' in target ? target.text : target.name, target);
    if (!target)
      a.fault(
        'USING KEY: it is not clear which column this aggregate gives',
        expr,
        'name it: USING KEY (.., aggregate AS column)',
      );
    if (name === undefined) continue;
    if (aggregates.has(name)) a.fault(`USING KEY: two aggregates give the column "${name}"`, expr);
    aggregates.set(name, expr);
  }
  for (const [name, expr] of aggregates)
    if (keys.has(name)) a.fault(`USING KEY: the column "${name}" cannot be both a key and an aggregate`, expr);
  if (keys.size === 0 && a.faults.length === faults)
    a.fault('USING KEY needs a column as the key', items[0], 'write USING KEY (column, ..)');
  return a.faults.length > faults ? undefined : { keys, aggregates };
};

/** What an aggregate is of, where that is a column. */
const firstColumn = (e: Expr): IdExpr | undefined => {
  const first = e.kind === 'agg' ? e.arg : e.kind === 'call' ? e.args[0] : undefined;
  return first?.kind === 'id' ? first : undefined;
};

const nameOf = (text: string, { start, end }: Span): NameNode => ({ kind: 'name', text, start, end });
const idOf = (name: string, { start, end }: Span): IdExpr => ({ kind: 'id', name, quoted: true, start, end });
const lastOf = (name: string, place: Span): Expr => ({
  kind: 'call',
  callee: nameOf('last', place),
  args: [idOf(name, place)],
  start: place.start,
  end: place.end,
});
