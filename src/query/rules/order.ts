/** What operators do to the order and the fields of their input: shared by the rules about order. */
import type { FieldPath, PlanOp } from '../plan/plan.ts';

/** Looks at each value by itself and keeps the order, so that only what follows can need it. */
export const keepsOrder = (op: PlanOp): boolean => {
  switch (op.kind) {
    case 'filter':
    case 'values':
    case 'put':
    case 'cut':
    case 'rename':
    case 'drop':
    case 'pass':
    case 'assert':
      return true;
    case 'unnest':
      return op.into === undefined;
    default:
      return false;
  }
};

/** True if the field at the path has the same value behind the operator as before it. */
export const keepsField = (op: PlanOp, path: FieldPath): boolean => {
  switch (op.kind) {
    case 'filter':
    case 'pass':
      return true;
    case 'put':
      return op.assignments.every((a) => !overlaps(a.target, path));
    case 'drop':
      return op.paths.every((p) => !overlaps(p, path));
    case 'rename':
      return op.assignments.every((a) => !overlaps(a.from, path) && !overlaps(a.to, path));
    default:
      return false;
  }
};
const overlaps = (a: FieldPath, b: FieldPath): boolean => a.slice(0, b.length).every((name, i) => name === b[i]);
