/** INTERSECT and EXCEPT to operators. */
import type { Analysis } from '../analyze/context.ts';
import type { Flow } from '../analyze/queries.ts';
import type { SqlSetOperation } from '../ast.ts';
import type { PlanOp } from '../plan/plan.ts';
import { type LoweredSql, lowerSides } from './queries.ts';

/** INTERSECT or EXCEPT, under the column names of its left side. */
export const lowerSetOperation = (a: Analysis, body: SqlSetOperation, flow: Flow): LoweredSql => {
  const { left, right, alone, inline, others } = lowerSides(a, body, flow);
  const [leftAlone, rightAlone] = alone;
  const own = (ops: readonly PlanOp[], isAlone: boolean | undefined): readonly PlanOp[] =>
    isAlone ? ops : [{ kind: 'null' }, ...ops];
  const operation = { kind: 'setOperation', operator: body.operator, all: body.all } as const;
  // Sides that read what comes in share it.
  if ((leftAlone && rightAlone) || inline)
    return {
      ops: [...own(left.ops, leftAlone), { ...operation, right: { ops: own(right, rightAlone) } }],
      columns: left.columns,
      others,
    };
  return {
    ops: [{ kind: 'fork', branches: [{ ops: left.ops }, { ops: right }] }, operation],
    columns: left.columns,
    others,
  };
};
