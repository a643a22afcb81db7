/** Parts of a filter behind an aggregation that read its keys alone go before it: fewer rows to group, fewer groups to hold. */
import { conjuncts, fieldsRead, someExpr, substituteRow } from '../plan/walk.ts';
import type { PlanExpr, PlanOp } from '../plan/plan.ts';
import { type Rule, filterOf } from './rule.ts';

export const filterThroughAggregate = {
  name: 'filter-through-aggregate',
  apply: (ops) => {
    const out: PlanOp[] = [];
    for (const op of ops) {
      const before = out.at(-1);
      if (op.kind !== 'filter' || before?.kind !== 'aggregate' || before.keys.length === 0) {
        out.push(op);
        continue;
      }
      const moved: PlanExpr[] = [];
      const left: PlanExpr[] = [];
      for (const part of conjuncts(op.expr)) {
        const over = overKeys(part, before);
        if (over) moved.push(over);
        else left.push(part);
      }
      if (moved.length > 0) out.splice(-1, 1, ...filterOf(moved), before);
      out.push(...filterOf(left));
    }
    return out;
  },
} as const satisfies Rule;

type Aggregate = PlanOp & { readonly kind: 'aggregate' };

/** What values of one group, which are equal, say alike, and what costs little for each row. */
const kinds: ReadonlySet<PlanExpr['kind']> = new Set([
  ...(['compare', 'in', 'like', 'isNull', 'not', 'and', 'or'] as const),
  ...(['literal', 'this', 'field', 'array', 'set', 'record', 'cast', 'sqlCast'] as const),
]);

/** The predicate over the rows that are grouped; undefined if it reads more than keys. */
export const overKeys = (predicate: PlanExpr, { keys }: Aggregate): PlanExpr | undefined => {
  const read = fieldsRead(predicate);
  if (!read || read.length === 0 || someExpr(predicate, (part) => !kinds.has(part.kind))) return undefined;
  const isKey = ([name]: readonly string[]): boolean =>
    keys.some(
      ({ target, expr }) =>
        target.length === 1 && target[0] === name && !someExpr(expr, (part) => !kinds.has(part.kind)),
    );
  if (!read.every(isKey)) return undefined;
  return substituteRow(predicate, {
    kind: 'record',
    elements: keys.flatMap(({ target, expr }) =>
      target.length === 1 ? [{ kind: 'field' as const, name: target[0]!, value: expr }] : [],
    ),
  });
};
