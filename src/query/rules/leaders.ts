/**
 * What keeps the first rows of groups alone tells the operator before it so: rows behind so many better ones need not
 * be held and sorted. The window is told of a filter by numbers or ranks, which stays, the sort of DISTINCT ON.
 */
import { isInteger } from '../../vectors/type.ts';
import { exprKey, pathOf } from '../plan/walk.ts';
import type { FieldPath, PlanExpr, PlanOp, Pruner, WindowLeaders } from '../plan/plan.ts';
import { prunerOf } from './predicate-pushdown.ts';
import type { Rule } from './rule.ts';

/** Beyond so many rows of each partition the best ones are not kept apart. */
const leadersMax = 64;

export const windowLeaders = {
  name: 'window-leaders',
  apply: (ops) =>
    ops.map((op, i) => {
      if (op.kind !== 'window') return op;
      const between = ops[i + 1]?.kind === 'values' ? ops[i + 1] : undefined;
      const filter = ops[between ? i + 2 : i + 1];
      const leaders = filter?.kind === 'filter' ? leadersOf(op, between, filter.expr) : undefined;
      return leaders ? { ...op, leaders } : op;
    }),
} as const satisfies Rule;

type WindowOp = Extract<PlanOp, { readonly kind: 'window' }>;
const leadersOf = (op: WindowOp, between: PlanOp | undefined, filter: PlanExpr): WindowLeaders | undefined => {
  const [group, another] = op.groups;
  const isRanking = group?.calls.every((c) => (c.name === 'row_number' || c.name === 'rank') && !c.order && !c.where);
  if (!group || another || !isRanking || group.order.length === 0) return undefined;
  for (const { path, count } of countsOf(prunerOf(filter))) {
    const from = between ? madeOf(path, between, op.row) : { path, unless: [] };
    const isNumber = from?.path.length === 1 && group.calls.some((c) => c.target === from.path[0]);
    if (isNumber && count >= 1 && count <= leadersMax) return { count, unless: from.unless };
  }
  return undefined;
};

/** Fields of which the predicate wants at most so much. */
const countsOf = (pruner: Pruner | undefined): readonly { readonly path: FieldPath; readonly count: number }[] => {
  if (pruner?.kind === 'all') return pruner.of.flatMap(countsOf);
  if (pruner?.kind !== 'test') return [];
  const { path, operator, value } = pruner.test;
  if (!isInteger(value.type) || typeof value.data !== 'number') return [];
  if (operator === '<=' || operator === '==') return [{ path, count: value.data }];
  return operator === '<' ? [{ path, count: value.data - 1 }] : [];
};

/** What a field of the record is made of, unless rows have a field that comes before it under its name. */
const madeOf = (
  path: FieldPath,
  op: PlanOp,
  row: string,
): { readonly path: FieldPath; readonly unless: readonly FieldPath[] } | undefined => {
  const [record, more] = op.kind === 'values' ? op.exprs : [];
  const [name, inner] = path;
  if ((record?.kind !== 'columns' && record?.kind !== 'record') || more || name === undefined || inner !== undefined)
    return undefined;
  if (record.kind === 'record' && record.elements.some((x) => x.kind === 'spread')) return undefined;
  const isMade = (x: (typeof record.elements)[number]): boolean => x.kind === 'field' && x.name === name;
  const at = record.kind === 'columns' ? record.elements.findIndex(isMade) : record.elements.findLastIndex(isMade);
  const field = record.elements[at];
  const made = field && pathOf(field.value);
  if (!made) return undefined;
  const unless: FieldPath[] = [];
  for (const x of record.elements.slice(0, at)) {
    if (x.kind === 'field' || (x.kind === 'star' && x.without.includes(name))) continue;
    const [start, ...rest] = pathOf(x.value) ?? [];
    if (start !== row) return undefined;
    unless.push([...rest, name]);
  }
  return { path: made, unless };
};

export const distinctLeaders = {
  name: 'distinct-leaders',
  apply: (ops) =>
    ops.map((op, i) => {
      const groupKeys = op.kind === 'sort' ? groupKeysOf(op, ops[i + 1]) : undefined;
      return groupKeys === undefined ? op : { ...op, groupKeys };
    }),
} as const satisfies Rule;

/** How many of the first sort keys are all those of DISTINCT; undefined if they are not, or none decides behind them. */
const groupKeysOf = (sort: PlanOp & { readonly kind: 'sort' }, next: PlanOp | undefined): number | undefined => {
  if (next?.kind !== 'distinct' || next.expr.kind !== 'record') return undefined;
  const wanted = new Set<string>();
  for (const x of next.expr.elements) {
    if (x.kind !== 'field') return undefined;
    wanted.add(exprKey(x.value));
  }
  const met = new Set<string>();
  for (const [i, { expr }] of sort.keys.entries()) {
    if (met.size === wanted.size) return i;
    const key = exprKey(expr);
    if (!wanted.has(key)) return undefined;
    met.add(key);
  }
  return undefined;
};
