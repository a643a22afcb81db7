/**
 * A table of WITH that is read several times makes those rows alone that one of its readers asks for: rows that none of
 * their filters lets pass. The readers keep their filters.
 *
 * A filter is an OR over the readers, of which an aggregation lets pass what is said of its keys: year 2001 and more
 * than 0, or year 2002, is year 2001 or 2002 before the rows are grouped (`impliedFilter`).
 */
import { conjunction, conjuncts, exprsOf, pipelinesOf, someExpr } from '../plan/walk.ts';
import type { PlanExpr, PlanOp } from '../plan/plan.ts';
import { types } from '../../vectors/type.ts';
import { overKeys } from './filter-through-aggregate.ts';
import { type Rule, filterOf } from './rule.ts';
import { bodiesIn, eachSubquery, replaced } from './shared-columns.ts';

/** Of more readers the filter would cost more than it leaves out. */
const readersMax = 8;
/** What is neither an error by itself nor costs much, and reads nothing but the row. */
const plain: ReadonlySet<PlanExpr['kind']> = new Set([
  ...(['compare', 'in', 'like', 'isNull', 'not', 'and', 'or'] as const),
  ...(['literal', 'this', 'field', 'array', 'set', 'record'] as const),
]);

export const sharedFilters = {
  name: 'shared-filters',
  whole: true,
  apply: (ops, { shared }, nested) => {
    if (nested || !shared) return ops;
    const asked = new Map<number, (PlanExpr | undefined)[]>();
    const bodies = bodiesIn(ops);
    look(ops, asked);
    for (const { ops: body } of bodies.values()) look(body, asked);
    const made = new Map(
      [...bodies].flatMap(([id, body]) => {
        const filters = asked.get(id) ?? [];
        const [first, ...others] = filters.filter((f) => f !== undefined);
        if (!first || others.length + 1 < filters.length || filters.length > readersMax) return [];
        const any = others.reduce((left: PlanExpr, right) => ({ kind: 'or', left, right }), first);
        return [[id, { ops: [...body.ops, ...filterOf([any])] }] as const];
      }),
    );
    return made.size === 0 ? ops : replaced(ops, made, new Map());
  },
} as const satisfies Rule;

/** Notes what each reader of a table asks of its rows; undefined: all of them come. Bodies are not looked into. */
const look = (ops: readonly PlanOp[], asked: Map<number, (PlanExpr | undefined)[]>): void => {
  for (const [at, op] of ops.entries()) {
    for (const e of exprsOf(op)) eachSubquery(e, (p) => look(p.ops, asked));
    if (op.kind !== 'shared') {
      for (const p of pipelinesOf(op)) look(p.ops, asked);
      continue;
    }
    const next = ops[at + 1];
    const parts = next?.kind === 'filter' ? conjuncts(next.expr) : [];
    const own = conjunction(parts.filter((part) => !someExpr(part, ({ kind }) => !plain.has(kind))));
    asked.set(op.id, [...(asked.get(op.id) ?? []), own]);
  }
};

/** Before an aggregation goes what an OR behind it says of the keys. */
export const impliedFilter = {
  name: 'implied-filter',
  apply: (ops, { shared }) =>
    shared
      ? ops.flatMap((op, at) => {
          const next = ops[at + 1];
          if (op.kind !== 'aggregate' || next?.kind !== 'filter') return [op];
          const implied = conjuncts(next.expr).flatMap((part) => (part.kind === 'or' ? (ofKeys(part, op) ?? []) : []));
          return [...filterOf(implied), op];
        })
      : ops,
} as const satisfies Rule;

/** What a condition says of the rows of a group by its keys alone; undefined: nothing. */
const ofKeys = (e: PlanExpr, aggregate: PlanOp & { readonly kind: 'aggregate' }): PlanExpr | undefined => {
  if (e.kind !== 'or' && e.kind !== 'and') return e.kind === 'literal' ? e : overKeys(e, aggregate);
  const left = ofKeys(e.left, aggregate);
  const right = ofKeys(e.right, aggregate);
  if (!left || !right) return e.kind === 'and' ? (left ?? right) : undefined;
  // Whose turn it is, as a column of the table often says, is known by now.
  const decides = e.kind === 'or';
  if (isBool(left)) return left.value.data === decides ? left : right;
  if (isBool(right)) return right.value.data === decides ? right : left;
  return { ...e, left, right };
};
const isBool = (e: PlanExpr): e is PlanExpr & { readonly kind: 'literal' } =>
  e.kind === 'literal' && e.value.type === types.bool;
