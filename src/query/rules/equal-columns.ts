/** What a condition says of a column holds of every column that is equal to it. */
import { type Type, types } from '../../vectors/type.ts';
import { fieldsRead, movePaths, samePath, someExpr } from '../plan/walk.ts';
import { componentsOf } from '../types/of.ts';
import type { FieldPath, PlanExpr } from '../plan/plan.ts';

/** Of which values that are equal say alike, 1 and 1.0 too. */
const kinds: ReadonlySet<PlanExpr['kind']> = new Set([
  ...(['compare', 'in', 'and', 'or', 'literal', 'this', 'field', 'array', 'set', 'record'] as const),
]);

/** The condition over one column as a condition over another one; undefined if it reads more than the one. */
export const overEqual = (condition: PlanExpr, from: FieldPath, to: FieldPath): PlanExpr | undefined => {
  const read = fieldsRead(condition);
  if (!read || read.length === 0 || someExpr(condition, (part) => !kinds.has(part.kind) || isText(part)))
    return undefined;
  return read.every((path) => samePath(path, from)) ? movePaths(condition, () => to) : undefined;
};
/** Beside a text it is one, beside a number it is cast: `'01'` and 1 are equal keys, and `< '2'` says unlike things of them. */
const isText = (e: PlanExpr): boolean => e.kind === 'literal' && holdsText(e.value.type);
/** A name says more than its texts: those of long decimals are compared by value. */
const holdsText = (t: Type): boolean => t === types.string || (t.kind !== 'named' && componentsOf(t).some(holdsText));
