/** How many rows operators give, about: for the order of joins, which needs no more than who has many and who few. */
import type { PlanExpr, PlanOp } from '../plan/plan.ts';
import { conjuncts } from '../plan/walk.ts';

/** How many rows there are, about, and what part of its tables' rows filters and groups leave. */
export interface RowEstimate {
  /** Undefined: nobody knows. */
  readonly rows: number | undefined;
  readonly share: number;
}

/** Of rows that a filter leaves, by guess. */
const kept = 0.25;

/** Of operators that begin with a source. */
export const estimateRows = (ops: readonly PlanOp[]): RowEstimate => {
  let estimate: RowEstimate = { rows: undefined, share: 1 };
  for (const [i, op] of ops.entries()) estimate = i === 0 ? ofSource(op) : after(op, estimate);
  return estimate;
};
/** After filters of so many parts. */
export const filtered = ({ rows, share }: RowEstimate, parts: number): RowEstimate => {
  const left = kept ** parts;
  return { rows: times(rows, left), share: share * left };
};

const partsOf = (e: PlanExpr | undefined): number => (e ? conjuncts(e).length : 0);

const times = (rows: number | undefined, by: number): number | undefined =>
  rows === undefined ? undefined : rows * by;
const most = (rows: number | undefined, max: number): number | undefined =>
  rows === undefined ? undefined : Math.min(rows, max);
const sum = (all: readonly (number | undefined)[]): number | undefined =>
  all.every((n) => n !== undefined) ? all.reduce((n, more) => n + more, 0) : undefined;

const ofSource = (op: PlanOp): RowEstimate => {
  switch (op.kind) {
    case 'scan':
      return filtered({ rows: sum(op.sources.map((s) => s.content?.rowCount)), share: 1 }, partsOf(op.filter));
    case 'null':
      return { rows: 1, share: 1 };
    case 'empty':
      return { rows: 0, share: 1 };
    case 'combine':
      return besides(op.branches.map((b) => estimateRows(b.ops)));
    case 'shared':
      return estimateRows(op.body.ops);
    default:
      return { rows: undefined, share: 1 };
  }
};
const besides = (all: readonly RowEstimate[]): RowEstimate => ({
  rows: sum(all.map(({ rows }) => rows)),
  share: Math.max(...all.map(({ share }) => share)),
});

const after = (op: PlanOp, before: RowEstimate): RowEstimate => {
  switch (op.kind) {
    case 'filter':
      return filtered(before, partsOf(op.expr));
    case 'distinct':
      return filtered(before, 1);
    case 'aggregate':
      return op.keys.length === 0 ? { rows: 1, share: before.share * kept } : filtered(before, 1);
    case 'values':
      return { ...before, rows: times(before.rows, op.exprs.length) };
    case 'head':
    case 'tail':
    case 'top':
      return { ...before, rows: most(before.rows, op.count) };
    case 'join':
      return op.right ? joined(op, before, estimateRows(op.right.ops)) : { rows: undefined, share: 1 };
    case 'sort':
    case 'window':
    case 'cut':
    case 'put':
    case 'rename':
    case 'drop':
    case 'pass':
    case 'count':
    case 'groupSlice':
    case 'setOperation':
    case 'skip':
    case 'uniq':
      return before;
    default:
      return { rows: undefined, share: before.share };
  }
};
/**
 * Equalities are taken for those of a key: no row of the longer side has two matches, and of an inner join it has one as
 * often as filters leave a row of the shorter side.
 */
const joined = (
  { style, firstOnly }: PlanOp & { readonly kind: 'join' },
  left: RowEstimate,
  right: RowEstimate,
): RowEstimate => {
  const both = left.rows === undefined || right.rows === undefined ? undefined : ([left.rows, right.rows] as const);
  const share = Math.min(left.share, right.share);
  if (style === 'anti') return left;
  if (firstOnly && style === 'inner') return { rows: times(left.rows, right.share), share };
  if (firstOnly) return left;
  if (style === 'cross') return { rows: both && both[0] * both[1], share };
  if (style !== 'inner') return { rows: both && Math.max(...both), share: 1 };
  return { rows: both && (both[0] > both[1] ? both[0] * right.share : both[1] * left.share), share };
};
