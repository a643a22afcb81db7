/** EXCLUDE, REPLACE and RENAME behind a star of SELECT. */
import type { Analysis } from '../analyze/context.ts';
import type { NameNode, SqlStar, StarName } from '../ast.ts';
import { columnHint } from '../analyze/hints.ts';
import { columnOf, pathExpr } from '../plan/walk.ts';
import type { PlanExpr } from '../plan/plan.ts';
import { type SqlTable, knownColumns, meantOf } from './names.ts';
import type { LoweredTables, StarColumn } from './tables.ts';
import { recordOf } from '../types/of.ts';
import type { Type } from '../../vectors/type.ts';

/** A column of a star: where its value is, or the expression that replaces it. */
export interface ChangedColumn<T = PlanExpr> extends StarColumn {
  readonly value?: T;
  readonly as?: string;
}

/**
 * The columns of a star with its changes. Columns of a pool are told one by one where some have another expression or
 * name.
 */
export const changedStar = <T>(
  a: Analysis,
  star: SqlStar,
  columns: readonly StarColumn[],
  tables: readonly SqlTable[],
  lower: (e: Exclude<SqlStar['replace'], undefined>[number]) => T,
): readonly ChangedColumn<T>[] => {
  const { exclude = [], replace = [], rename = [] } = star;
  if (exclude.length + replace.length + rename.length === 0) return columns;
  const names = columns.flatMap((c) => (c.without ? (c.known?.() ?? []) : [c.name]));
  const found = new Set<object>();
  const isOf = (column: StarColumn, table: NameNode | undefined): boolean =>
    !table ||
    tables.some(
      (t) =>
        isSame(t.name ?? '', table.text) &&
        (t.path.join('\u0000') === column.path.join('\u0000') || isShared(t, column, tables)),
    );
  const isNamed = (column: StarColumn, name: string, node: NameNode, table?: NameNode): boolean => {
    // The letter case counts where several names differ in it alone.
    const is = (node.text === name || (!names.includes(node.text) && isSame(node.text, name))) && isOf(column, table);
    if (is) found.add(node);
    return is;
  };
  const single = columns.flatMap((c): readonly StarColumn[] => {
    const known = c.without && c.known?.();
    if (!c.without || !known || replace.length + rename.length === 0) return [c];
    return known.filter((name) => !c.without!.includes(name)).map((name) => ({ path: c.path, name }));
  });
  const out = single.flatMap((c): readonly ChangedColumn<T>[] => {
    if (c.without) {
      const known = c.known?.();
      const left = known
        ? known.filter((name) => exclude.some((x) => isNamed(c, name, x.column, x.table)))
        : exclude.filter((x) => isNamed(c, x.column.text, x.column, x.table)).map((x) => x.column.text);
      if (!known && replace.length + rename.length > 0 && a.sourcesKnown)
        a.fault('the columns of * are not known before the query runs: REPLACE and RENAME need them', star);
      return [{ ...c, without: [...c.without, ...left] }];
    }
    if (exclude.some((x) => isNamed(c, c.name, x.column, x.table))) return [];
    const replaced = replace.find((x) => isNamed(c, c.name, x.name));
    const renamed = rename.find((x) => isNamed(c, c.name, x.from.column, x.from.table));
    return [{ ...c, ...(replaced && { value: lower(replaced) }), ...(renamed && { as: renamed.to.text }) }];
  });
  const check = (node: NameNode, clause: string, place: StarName | NameNode = node): void => {
    if (!found.has(node) && a.sourcesKnown)
      a.fault(
        `column "${node.text}" of ${clause} is not among those of *`,
        place,
        columnHint(node.text, [{ columns: names }]),
      );
  };
  for (const x of exclude) check(x.column, 'EXCLUDE', x);
  for (const x of replace) check(x.name, 'REPLACE');
  for (const x of rename) check(x.from.column, 'RENAME', x.from);
  return out;
};

const isSame = (x: string, y: string): boolean => x.toLowerCase() === y.toLowerCase();
/** Whether a column that USING shares is one of that table, too. */
const isShared = (t: SqlTable, column: StarColumn, tables: readonly SqlTable[]): boolean =>
  (t.merged.has(column.name) || tables.some((x) => x.merged.has(column.name))) &&
  knownColumns(t)?.includes(column.name) === true;

/** The value of a column of a star. */
export const starValue = ({ name, without, value }: ChangedColumn, row: PlanExpr): PlanExpr =>
  value ?? (without ? row : columnOf(row, name));

/**
 * The fields of a struct that is a column; undefined if there is none of that name, or it is not known to be a struct.
 */
export const structColumns = (
  a: Analysis,
  name: string,
  { ops, tables }: LoweredTables,
  input: Type,
): readonly StarColumn[] | undefined => {
  const found = tables.flatMap((t) => {
    const meant = meantOf(knownColumns(t) ?? [], name);
    return meant === undefined || t.merged.has(meant) ? [] : [[...t.path, meant]];
  });
  const [path, another] = found;
  if (!path || another) return undefined;
  const record = recordOf(a.typeByContent(ops, input, pathExpr(path)));
  return record && record !== 'dynamic' ? record.fields.map((f) => ({ path, name: f.name })) : undefined;
};
