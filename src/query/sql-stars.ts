/** EXCLUDE, REPLACE and RENAME behind a star of SELECT. */
import type { Analysis } from './analyze-context.ts';
import type { NameNode, SqlStar, StarName } from './ast.ts';
import { columnHint } from './hints.ts';
import { fieldOf } from './plan-walk.ts';
import type { PlanExpr } from './plan.ts';
import type { SqlTable } from './sql-names.ts';
import type { StarColumn } from './sql-tables.ts';

/** A column of a star: where its value is, or the expression that replaces it. */
export interface ChangedColumn extends StarColumn { readonly value?: PlanExpr; readonly as?: string }

/** The columns of a star with its changes. Columns of a pool are told one by one where some have another expression or name. */
export const changedStar = (a: Analysis, star: SqlStar, columns: readonly StarColumn[], tables: readonly SqlTable[], lower: (e: Exclude<SqlStar['replace'], undefined>[number]) => PlanExpr): readonly ChangedColumn[] => {
  const { exclude = [], replace = [], rename = [] } = star;
  if (exclude.length + replace.length + rename.length === 0) return columns;
  const found = new Set<object>(), isOf = (column: StarColumn, table: NameNode | undefined): boolean => !table || tables.some((t) => t.name === table.text && t.path.join('\u0000') === column.path.join('\u0000'));
  const isNamed = (column: StarColumn, name: string, node: NameNode, table?: NameNode): boolean => {
    const is = node.text === name && isOf(column, table);
    if (is) found.add(node);
    return is;
  };
  const single = columns.flatMap((c): readonly StarColumn[] => {
    const known = c.without && c.known?.();
    if (!c.without || !known || (replace.length + rename.length === 0)) return [c];
    return known.filter((name) => !c.without!.includes(name)).map((name) => ({ path: c.path, name }));
  });
  const out = single.flatMap((c): readonly ChangedColumn[] => {
    if (c.without) {
      const known = c.known?.(), left = exclude.filter((x) => (!known || known.includes(x.column.text)) && isNamed(c, x.column.text, x.column, x.table)).map((x) => x.column.text);
      if (!known && replace.length + rename.length > 0 && a.sourcesKnown) a.fault('the columns of * are not known before the query runs: REPLACE and RENAME need them', star);
      return [{ ...c, without: [...c.without, ...left] }];
    }
    if (exclude.some((x) => isNamed(c, c.name, x.column, x.table))) return [];
    const replaced = replace.find((x) => isNamed(c, c.name, x.name)), renamed = rename.find((x) => isNamed(c, c.name, x.from.column, x.from.table));
    return [{ ...c, ...(replaced && { value: lower(replaced) }), ...(renamed && { as: renamed.to.text }) }];
  });
  const names = columns.flatMap((c) => (c.without ? c.known?.() ?? [] : [c.name]));
  const check = (node: NameNode, clause: string, place: StarName | NameNode = node): void => {
    if (!found.has(node) && a.sourcesKnown) a.fault(`column "${node.text}" of ${clause} is not among those of *`, place, columnHint(node.text, [{ columns: names }]));
  };
  for (const x of exclude) check(x.column, 'EXCLUDE', x);
  for (const x of replace) check(x.name, 'REPLACE');
  for (const x of rename) check(x.from.column, 'RENAME', x.from);
  return out;
};

/** The value of a column of a star. */
export const starValue = ({ name, without, value }: ChangedColumn, row: PlanExpr): PlanExpr => value ?? (without ? row : fieldOf(row, name));
