/** Joins of SQL that pair rows by more than equality: by position, and with the nearest row (ASOF, as in DuckDB). */
import type { Analysis } from '../analyze/context.ts';
import { splitCondition } from '../analyze/joins.ts';
import { type Flow, sourced } from '../analyze/queries.ts';
import type { SqlJoin } from '../ast.ts';
import { compareOf, conjunction, conjuncts, fieldOf, fieldsRead, movePaths, pathExpr, thisExpr } from '../plan/walk.ts';
import type { PlanExpr, PlanOp } from '../plan/plan.ts';
import { type JoinBase, type LoweredTables, absentRows, beside, joinColumns, lowerOn, sqlJoin } from './tables.ts';

/** The field that numbers rows, and the one with the row itself. */
const number = 'number';
const row = 'that';
/** Rows `{that,number}`. */
const numbered = (ops: readonly PlanOp[]): readonly PlanOp[] => [
  ...ops,
  { kind: 'count', expr: { kind: 'record', elements: [{ kind: 'field', name: row, value: thisExpr }] }, field: number },
];

/** The first row with the first, the second with the second; the longer side goes on alone. */
export const joinByPosition = (left: LoweredTables, right: LoweredTables): LoweredTables => {
  const key = fieldOf(thisExpr, number);
  const { absentLeft, absentRight } = absentRows('full', left, right);
  const join: PlanOp = {
    ...sqlJoin,
    style: 'full',
    right: { ops: numbered(sourced(right.ops)) },
    equal: [{ left: key, right: key }],
    ...(absentLeft && { absentLeft: [{ name: row, row: absentLeft }] }),
    ...(absentRight && { absentRight: [{ name: row, row: absentRight }] }),
  };
  const pair: PlanOp = {
    kind: 'values',
    exprs: [
      {
        kind: 'record',
        elements: (['left', 'right'] as const).map((side) => ({
          kind: 'field',
          name: side,
          value: pathExpr([side, row]),
        })),
      },
    ],
  };
  return { ops: [...numbered(left.ops), join, pair], ...beside(left, right) };
};

interface AsofParts {
  readonly base: JoinBase;
  readonly left: LoweredTables;
  readonly right: LoweredTables;
  readonly flow: Flow;
}

/**
 * Each row with the nearest one of those that fulfil the condition, which has one inequality between the two sides: the
 * greatest for `>=` and `>`, else the least. Of USING the last column is compared by `>=`.
 */
export const joinAsof = (a: Analysis, e: SqlJoin, { base, left, right, flow }: AsofParts): LoweredTables => {
  const merged = e.condition?.kind === 'join-using' ? e.condition.fields.map((f) => f.name) : [];
  const { tables, star } = beside(left, right, merged);
  const join: PlanOp = { ...base, equal: [] };
  const parts = conditionOf(a, e, [...left.ops, join], { tables, left, right, flow });
  const nearest = parts.map(inequalityOf);
  const found = nearest.filter((x) => x !== undefined);
  const [only] = found;
  if (found.length !== 1 || !only) {
    if (a.sourcesKnown)
      a.fault(
        `ASOF JOIN takes one inequality between its tables, such as left.time >= right.time, and finds ${found.length}`,
        e.condition ?? e,
      );
    return { ops: [...left.ops, join], tables, star };
  }
  // Whether a row has a nearest one is whether it has any.
  if (e.style === 'semi' || e.style === 'anti')
    return { ops: [...left.ops, { ...join, ...splitCondition(a, conjunction(parts), 'left', 'right') }], tables, star };
  if (e.style === 'right' || e.style === 'full')
    a.faultOfShape(
      `ASOF ${e.style.toUpperCase()} JOIN is not supported`,
      e.right,
      'write ASOF LEFT JOIN, or UNION ALL BY NAME with the rows of the right table that have no match',
    );
  const on = conjunction(parts);
  const split = splitCondition(
    a,
    on && movePaths(on, (path) => (path[0] === 'left' ? ['left', row, ...path.slice(1)] : undefined)),
    'left',
    'right',
  );
  const at = pathExpr(['left', number]);
  const pair: PlanOp = {
    kind: 'values',
    exprs: [
      {
        kind: 'record',
        elements: [
          { kind: 'field', name: 'left', value: pathExpr(['left', row]) },
          { kind: 'field', name: 'right', value: pathExpr(['right']) },
        ],
      },
    ],
  };
  return {
    ops: [
      ...numbered(left.ops),
      { ...join, ...split, nearest: true },
      {
        kind: 'sort',
        reverse: false,
        keys: [
          { expr: at, order: 'asc', nulls: 'last' },
          { expr: only.key, order: only.isGreatest ? 'desc' : 'asc', nulls: 'last' },
        ],
      },
      { kind: 'groupSlice', group: at, skip: 0, count: 1 },
      pair,
    ],
    tables,
    star,
  };
};

/** The parts of the condition, over the pair. */
const conditionOf = (
  a: Analysis,
  e: SqlJoin,
  pairs: readonly PlanOp[],
  { tables, left, right, flow }: Omit<AsofParts, 'base'> & { readonly tables: LoweredTables['tables'] },
): readonly PlanExpr[] => {
  const { condition } = e;
  if (condition?.kind === 'join-on') return conjuncts(lowerOn(a, condition.expr, pairs, tables, flow));
  const keys = condition ? joinColumns(a, condition, left, right) : [];
  return keys.map((k, i) => compareOf(k.left, i === keys.length - 1 ? '>=' : '==', k.right));
};

/**
 * For an inequality of the two sides: what it compares on the right, and which of the fulfilling values is the nearest.
 */
const inequalityOf = (e: PlanExpr): { readonly key: PlanExpr; readonly isGreatest: boolean } | undefined => {
  if (e.kind !== 'compare' || e.operator === '==' || e.operator === '!=') return undefined;
  const isAbove = e.operator === '>' || e.operator === '>=';
  if (isOf(e.left, 'left') && isOf(e.right, 'right')) return { key: e.right, isGreatest: isAbove };
  return isOf(e.left, 'right') && isOf(e.right, 'left') ? { key: e.left, isGreatest: !isAbove } : undefined;
};
const isOf = (e: PlanExpr, side: string): boolean => {
  const paths = fieldsRead(e);
  return paths !== undefined && paths.length > 0 && paths.every((p) => p[0] === side);
};
