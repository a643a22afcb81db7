/** COLLATE behind sort keys. */
import type { OrderKey } from '../../ast.ts';
import { callOf } from '../../plan/walk.ts';
import type { PlanExpr } from '../../plan/plan.ts';

/** What rows are sorted by: of a key with a collation its text without what that takes for equal. */
export const collated = ({ collation = [] }: OrderKey, e: PlanExpr): PlanExpr =>
  collation.reduce((of, name) => callOf(name, of), e);
