/** The columns that a SELECT gives: their record, their names, and sort keys over them. */
import type { Analysis } from '../analyze/context.ts';
import { exprKey, fieldOf, mapParts, thisExpr } from '../plan/walk.ts';
import type { PlanExpr, PlanOp, SortKey } from '../plan/plan.ts';
import { distinctNames } from '../../vectors/field-names.ts';

/** A column of the output. */
export interface Column {
  readonly name: string;
  readonly alias?: string;
  readonly expr: PlanExpr;
  /** It has no alias: the name is made from the expression. */
  readonly made?: true;
  /**
   * It stands for all columns of a dynamic table but these; `expr` is the table's row, `known` gives the names of all
   * its columns at present.
   */
  readonly without?: readonly string[];
  readonly known?: (() => readonly string[] | undefined) | undefined;
}

/** Several values as one: a record of them. */
const rowOfKeys = (keys: readonly PlanExpr[]): PlanExpr => ({
  kind: 'record',
  elements: keys.map((value, i) => ({ kind: 'field', name: `k${i}`, value })),
});

/** The sort by these keys; none without keys. */
const sorting = (keys: readonly SortKey[]): readonly PlanOp[] =>
  keys.length > 0 ? [{ kind: 'sort', keys, reverse: false }] : [];

/** The row of the output. */
export const recordOfColumns = (a: Analysis, columns: readonly Column[]): PlanExpr => {
  if (!columns.some((c) => c.without)) return a.recordOfColumns(columns.map((c) => ({ name: c.name, value: c.expr })));
  const [only] = columns;
  if (columns.length === 1 && only?.without?.length === 0 && only.expr.kind === 'this') return only.expr;
  return {
    kind: 'columns',
    elements: columns.map((c) =>
      c.without ? { kind: 'star', value: c.expr, without: c.without } : { kind: 'field', name: c.name, value: c.expr },
    ),
  };
};

/** The columns with names of their own: repeated ones get `_1`, `_2`. */
export const withDistinctNames = (columns: readonly Column[]): readonly Column[] => {
  // Which names a star stands for is known only when the query runs.
  if (columns.some((c) => c.without)) return columns;
  const names = distinctNames(columns.map((c) => c.name));
  return columns.map((c, i) => ({ ...c, name: names[i] }));
};

/**
 * The names of columns that ORDER BY knows, out of the columns before and after their names became distinct: aliases,
 * and names that are made from expressions, but those that other columns have too or that have a fault. v0.2.0 refuses
 * made ones, though they are the names that one sees.
 */
export const orderNames = (given: readonly Column[], columns: readonly Column[]): ReadonlySet<string> => {
  const counts = new Map<string, number>();
  for (const { name } of given) counts.set(name, (counts.get(name) ?? 0) + 1);
  return new Set(
    columns
      .filter((c, i) => c.alias !== undefined || (c.made && counts.get(given[i].name) === 1 && !isMissing(c.expr)))
      .map((c) => c.name),
  );
};

/** Whether the expression stands for one with a fault. */
const isMissing = (e: PlanExpr): boolean => e.kind === 'literal' && e.value.type.kind === 'error';

/** What the rows of a SELECT end with. */
interface Ending {
  readonly output: readonly Column[];
  readonly sort: readonly SortKey[] /** The keys of DISTINCT ON. */;
  readonly on: readonly PlanExpr[] | undefined;
  readonly distinct: boolean /** The limits. */;
  readonly ends: readonly PlanOp[];
}

/**
 * Sorting, DISTINCT, the limits and the columns: rows are sorted before the columns are made, unless DISTINCT needs
 * these.
 */
export const outputOps = (a: Analysis, { output, sort, on, distinct, ends }: Ending): readonly PlanOp[] => {
  const project: PlanOp = { kind: 'values', exprs: [recordOfColumns(a, output)] };
  if (on) {
    const first: PlanOp = { kind: 'distinct', expr: rowOfKeys(on), sql: true, ...(sort.length > 0 && { order: sort }) };
    return [...sorting(sort), first, ...ends, project];
  }
  if (!distinct) return [...sorting(sort), ...ends, project];
  if (!sort.every((k) => isOverOutput(k.expr, output)))
    return [
      ...distinctByHidden(recordOfColumns(a, output), sort),
      ...ends,
      { kind: 'values', exprs: [fieldOf(thisExpr, 'row')] },
    ];
  return [
    project,
    { kind: 'distinct', expr: thisExpr, sql: true },
    ...sorting(sort.map((k) => ({ ...k, expr: overOutput(k.expr, output) }))),
    ...ends,
  ];
};

/**
 * DISTINCT with sort keys that are no columns of the output: each row comes as `row` beside its keys, and of equal rows
 * those of the first count, as in v0.2.0.
 */
const distinctByHidden = (row: PlanExpr, sort: readonly SortKey[]): readonly PlanOp[] => {
  const keyed: PlanExpr = {
    kind: 'record',
    elements: [
      { kind: 'field', name: 'row', value: row },
      ...sort.map((k, i) => ({ kind: 'field' as const, name: `k${i}`, value: k.expr })),
    ],
  };
  return [
    { kind: 'values', exprs: [keyed] },
    { kind: 'distinct', expr: fieldOf(thisExpr, 'row'), sql: true },
    ...sorting(sort.map((k, i) => ({ ...k, expr: fieldOf(thisExpr, `k${i}`) }))),
  ];
};

/** True if the key can be worked out from the output's columns. */
const isOverOutput = (key: PlanExpr, columns: readonly Column[]): boolean => {
  if (columns.some((c) => c.without)) return true;
  const keys = new Set(columns.map((c) => exprKey(c.expr)));
  const isCovered = (part: PlanExpr): boolean => {
    if (keys.has(exprKey(part))) return true;
    let covered = part.kind !== 'this';
    mapParts(part, (inner) => {
      covered &&= isCovered(inner);
      return inner;
    });
    return covered;
  };
  return isCovered(key);
};

/** A sort key of a DISTINCT query, over the output's columns. */
const overOutput = (e: PlanExpr, columns: readonly Column[]): PlanExpr => {
  const keys = new Map(columns.filter((c) => !c.without).map((c) => [exprKey(c.expr), c.name]));
  const visit = (part: PlanExpr): PlanExpr => {
    const name = keys.get(exprKey(part));
    return name !== undefined ? fieldOf({ kind: 'this' }, name) : mapParts(part, visit);
  };
  return visit(e);
};

/** The fault of a position behind a star whose columns are not known. */
export const uncountable = (position: number): string =>
  `position ${position} cannot be counted: the columns of * are not known before the query runs; write the column's name`;
