/**
 * A filter over a record that was just made goes before the making, written over what the fields are made of: so WHERE
 * around a subquery gets to its scan.
 */
import { fieldsRead, hasSubquery, isSmall, someExpr, substituteRow } from '../plan/walk.ts';
import type { PlanExpr, PlanOp } from '../plan/plan.ts';
import type { Rule } from './rule.ts';

export const filterThroughValues = {
  name: 'filter-through-values',
  apply: (ops) => {
    const out = [...ops];
    for (let i = 1; i < out.length; i++) {
      for (let at = i; at > 0; at--) {
        const filter = out[at];
        const before = out[at - 1];
        const moved = filter.kind === 'filter' ? overSource(filter.expr, before) : undefined;
        if (!moved) break;
        out[at] = before;
        out[at - 1] = { kind: 'filter', expr: moved };
      }
    }
    return out;
  },
} as const satisfies Rule;

/** Not to be worked out twice. */
const costly: ReadonlySet<PlanExpr['kind']> = new Set(['subquery', 'apply', 'userCall', 'call', 'mapElements']);

/** A predicate that grew beyond this is better done where it was. */
const partsMax = 200;

/**
 * The predicate over the rows that a lone record expression is made from; undefined if it reads more than plain fields
 * of the record.
 */
const overSource = (predicate: PlanExpr, before: PlanOp): PlanExpr | undefined => {
  const [record, more] = before.kind === 'values' ? before.exprs : [];
  if (record?.kind !== 'record' || more || !isSmall(predicate, partsMax) || hasSubquery(predicate)) return undefined;
  const made = new Map(
    record.elements.map((x) => (x.kind === 'field' ? ([x.name, x.value] as const) : (['', undefined] as const))),
  );
  if ([...made.values()].some((x) => x === undefined)) return undefined;
  const read = fieldsRead(predicate);
  const cheap = (e: PlanExpr): boolean => isSmall(e, partsMax) && !someExpr(e, (part) => costly.has(part.kind));
  if (!read?.every((path) => made.has(path[0]) && cheap(made.get(path[0])!))) return undefined;
  const moved = substituteRow(predicate, record);
  return moved && isSmall(moved, partsMax) ? moved : undefined;
};
