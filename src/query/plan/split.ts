/**
 * Which part of a plan several threads can do, each on a share of the rows of one scan, and what is left to do with
 * their answers.
 *
 * Invariants:
 * - The answers, one share behind the other in the order of the scan, give what the unsplit plan gives, in its order.
 *   Sums and variances of floats alone may differ in their last digits, since they are added up share by share; which
 *   thread took a share makes no difference.
 * - Nothing is split that looks at the rows before it, at the clock, or at another source.
 */
import { exprsOf, hasSubquery, someExpr } from './walk.ts';
import type { FunctionCatalog, Plan, PlanExpr, PlanOp } from './plan.ts';
import { keepsOrder } from '../rules/order.ts';

type OpOf<K extends PlanOp['kind']> = Extract<PlanOp, { readonly kind: K }>;

/** A plan of one scan, cut into what is done with each share of its rows and what is done with the answers. */
export interface Split {
  /** What is done with each share: begins with the scan. */
  readonly part: readonly PlanOp[];
  /**
   * Ends each part if it is there; its states are merged. Absent: the rows of the parts are put one behind the other.
   */
  readonly aggregate: OpOf<'aggregate'> | undefined;
  /** What is done with the answers. */
  readonly rest: readonly PlanOp[];
}

/** Last and first rows beyond so many are not worth keeping for each share. */
const keptMax = 10_000;
/** Their states hold more than travels. */
const tied: ReadonlySet<string> = new Set(['union']);

/** Undefined if the plan is not to be split. */
export const splitOf = ({ pipeline: { ops }, functions }: Plan, catalog: FunctionCatalog): Split | undefined => {
  const [scan] = ops;
  if (scan?.kind !== 'scan' || scan.sources.length !== 1 || scan.limit !== undefined) return undefined;
  const isSplittable = (e: PlanExpr): boolean => isSettled(e, catalog);
  if (!functions.every((f) => isSplittable(f.body))) return undefined;
  let end = 1;
  while (end < ops.length && keepsOrder(ops[end]) && exprsOf(ops[end]).every(isSplittable)) end++;
  if (!exprsOf(scan).every(isSplittable)) return undefined;
  const part = ops.slice(0, end);
  const rest = ops.slice(end);
  const repeated = repeatedOps(rest, isSplittable);
  const [next] = rest;
  // Right behind the scan the best rows so far bound what is read of the others, which one thread does best.
  if (end === 1 && (next?.kind === 'top' || next?.kind === 'sort')) return undefined;
  if (next?.kind === 'aggregate')
    return isMergeable(next) && exprsOf(next).every(isSplittable)
      ? { part, aggregate: next, rest: rest.slice(1) }
      : undefined;
  // Rows on their way cost more than reading and testing them does: TPC-H's join of rows of which a filter leaves half
  // takes twice the time.
  return repeated > 0 ? { part: [...part, ...rest.slice(0, repeated)], aggregate: undefined, rest } : undefined;
};

/**
 * What is done with each share if the answer is all rows of one scan, each by itself, in their order; undefined if it
 * is not.
 */
export const rowByRow = (
  { pipeline: { ops }, functions }: Plan,
  catalog: FunctionCatalog,
): readonly PlanOp[] | undefined => {
  const [scan] = ops;
  const isSplittable = (e: PlanExpr): boolean => isSettled(e, catalog);
  if (scan?.kind !== 'scan' || scan.sources.length !== 1 || scan.limit !== undefined || scan.filter) return undefined;
  if (!ops.slice(1).every((op) => keepsOrder(op) && op.kind !== 'filter' && exprsOf(op).every(isSplittable)))
    return undefined;
  return functions.every((f) => isSplittable(f.body)) ? ops : undefined;
};

/** How many of these ops are done with each share, and once more with the answers. */
const repeatedOps = ([first, second]: readonly PlanOp[], isSplittable: (e: PlanExpr) => boolean): number => {
  if (!first || !exprsOf(first).every(isSplittable)) return 0;
  switch (first.kind) {
    case 'top':
      return first.keys.length > 0 && first.count <= keptMax ? 1 : 0;
    case 'sort':
      return first.keys.length > 0 && second?.kind === 'tail' && second.count <= keptMax ? 2 : 0;
    case 'tail':
      return first.count <= keptMax ? 1 : 0;
    default:
      return 0;
  }
};

const isMergeable = (op: OpOf<'aggregate'>): boolean =>
  op.sortedBy === undefined &&
  op.groupsMax === undefined &&
  op.aggregates.every(({ aggregate: a }) => !a.distinct && !a.order && !tied.has(a.name));

/** Gives the same for a row wherever and whenever it is evaluated. */
const isSettled = (e: PlanExpr, catalog: FunctionCatalog): boolean =>
  !hasSubquery(e) &&
  !someExpr(e, (p) => {
    switch (p.kind) {
      case 'call':
        return catalog.find(p.name)?.impure === true || (p.lambda !== undefined && !isSettled(p.lambda.body, catalog));
      case 'mapElements':
        return !isSettled(p.body, catalog);
      case 'castNamed':
      case 'outer':
        return true;
      default:
        return false;
    }
  });
