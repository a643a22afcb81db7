/** A filter directly behind a scan is done by the scan, which can then skip objects and blocks by their bounds. */
import { types } from '../../vectors/type.ts';
import { type Value, itemsData } from '../../vectors/value.ts';
import { pathOf } from '../plan/walk.ts';
import type { CompareOperator, PlanExpr, Pruner } from '../plan/plan.ts';
import type { Rule } from './rule.ts';

export const predicatePushdown = {
  name: 'predicate-pushdown',
  apply: (ops) => {
    const at = ops.findIndex((op, i) => op.kind === 'filter' && ops[i - 1]?.kind === 'scan');
    const scan = ops[at - 1];
    const filter = ops[at];
    if (scan?.kind !== 'scan' || filter?.kind !== 'filter' || scan.filter || scan.limit !== undefined) return ops;
    const pruner = prunerOf(filter.expr);
    return [
      ...ops.slice(0, at - 1),
      { ...scan, filter: filter.expr, ...(pruner ? { pruner } : {}) },
      ...ops.slice(at + 1),
    ];
  },
} as const satisfies Rule;

const mirrored: Readonly<Record<CompareOperator, CompareOperator>> = {
  '==': '==',
  '!=': '!=',
  '<': '>',
  '<=': '>=',
  '>': '<',
  '>=': '<=',
};

/**
 * The tests on single columns that follow from a predicate: where they fail, the predicate cannot be true. Undefined if
 * none follows.
 */
export const prunerOf = (e: PlanExpr): Pruner | undefined => {
  switch (e.kind) {
    case 'and': {
      const parts = [prunerOf(e.left), prunerOf(e.right)].filter((p) => p !== undefined);
      return parts.length > 1 ? { kind: 'all', of: parts.flatMap((p) => (p.kind === 'all' ? p.of : [p])) } : parts[0];
    }
    case 'or': {
      const left = prunerOf(e.left);
      const right = prunerOf(e.right);
      return left && right
        ? { kind: 'any', of: [left, right].flatMap((p) => (p.kind === 'any' ? p.of : [p])) }
        : undefined;
    }
    case 'compare':
      if (e.operator === '!=') return undefined;
      return test(e.left, e.operator, e.right, e.sql) ?? test(e.right, mirrored[e.operator], e.left, e.sql);
    case 'in':
      return membership(e.left, e.right, e.sql);
    default:
      return undefined;
  }
};

const test = (column: PlanExpr, operator: CompareOperator, constant: PlanExpr, sql?: true): Pruner | undefined => {
  const path = pathOf(column);
  if (!path || path.length === 0 || constant.kind !== 'literal' || !isPlain(constant.value)) return undefined;
  return { kind: 'test', test: { path, operator, value: constant.value, ...(sql && { sql }) } };
};

/** `x in [1, 2]`: one of the equalities. */
const membership = (column: PlanExpr, container: PlanExpr, sql?: true): Pruner | undefined => {
  const parts = elementsOf(container)?.map((e) => test(column, '==', e, sql));
  return parts && parts.length > 0 && parts.every((p) => p !== undefined)
    ? parts.length === 1
      ? parts[0]
      : { kind: 'any', of: parts }
    : undefined;
};

/** The elements of a container that is wholly known. */
const elementsOf = (container: PlanExpr): readonly PlanExpr[] | undefined => {
  if (container.kind === 'array' || container.kind === 'set')
    return container.elements.some((x) => x.spread) ? undefined : container.elements.map((x) => x.value);
  if (container.kind !== 'literal') return undefined;
  const { type, data } = container.value;
  if ((type.kind !== 'array' && type.kind !== 'set') || type.element.kind !== 'primitive') return undefined;
  return itemsData(data).map((d) => ({ kind: 'literal', value: { type: type.element, data: d } }));
};

/** Constants with an order that bounds follow: primitives but null and types. NaN compares to nothing. */
const isPlain = (v: Value): boolean =>
  v.type.kind === 'primitive' &&
  v.type !== types.null &&
  v.type !== types.type &&
  v.type !== types.net &&
  !Number.isNaN(v.data);
