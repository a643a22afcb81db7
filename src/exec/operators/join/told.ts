/** What an index knows of its keys is told to the other side of the join, whose scan leaves out other rows then. */
import type { PlanExpr } from '../../../query/plan/plan.ts';
import { pathOf } from '../../../query/plan/walk.ts';
import type { Stream } from '../../operator.ts';
import type { JoinIndex } from './index.ts';
import { type JoinOp, keepsLeft } from './probe.ts';

/** Tells the left side which of its rows may have partners, where others are not given. `index`: of the right side. */
export const tellLeft = (left: Stream, index: JoinIndex, op: JoinOp): void => {
  if (!keepsLeft(op)) tell(left, index, op, ({ left: key }) => key);
};
/** The same for the right side of a join whose left rows are indexed: other right rows are not given. */
export const tellRight = (right: Stream, index: JoinIndex, op: JoinOp): void => {
  tell(right, index, op, ({ right: key }) => key);
};

const tell = (
  { narrow }: Stream,
  index: JoinIndex,
  { equal, nullsMatch }: JoinOp,
  keyOf: (keys: JoinOp['equal'][number]) => PlanExpr,
): void => {
  equal.forEach((keys, k) => {
    const path = narrow && pathOf(keyOf(keys));
    const known = path && path.length > 0 ? index.keySet(k, nullsMatch) : undefined;
    if (known) narrow!({ path: path!, keys: known });
  });
};
