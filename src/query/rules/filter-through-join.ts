/**
 * Parts of a filter behind a join, and of what a join asks of its pairs, that read one side go to that side, where
 * unmatched rows of the join cannot change what they see. What they ask of a key is asked of the other side's key too.
 * So do those that read the row for which a LATERAL is run.
 */
import { conjunction, conjuncts, fieldsRead, hasSubquery, movePaths, pathOf } from '../plan/walk.ts';
import type { PlanExpr, PlanOp } from '../plan/plan.ts';
import { overEqual } from './equal-columns.ts';
import { type Rule, filterOf } from './rule.ts';

export const filterThroughJoin = {
  name: 'filter-through-join',
  apply: (ops) => repeated(ops, (now) => throughFilter(now, () => true) ?? throughPairs(now) ?? throughLateral(now)),
} as const satisfies Rule;

/** The same for joins that keep rows without a match: so filters get to the inner joins before them. */
export const filterThroughOuterJoin = {
  name: 'filter-through-outer-join',
  apply: (ops) => repeated(ops, (now) => throughFilter(now, ({ style }) => style !== 'inner' && style !== 'cross')),
} as const satisfies Rule;

type Ops = readonly PlanOp[];

const repeated = (ops: Ops, step: (ops: Ops) => Ops | undefined): Ops => {
  let out = ops;
  for (let next = step(out); next; next = step(out)) out = next;
  return out;
};

const throughFilter = (ops: Ops, isMeant: (join: Join) => boolean): Ops | undefined => {
  for (const [at, filter] of ops.entries()) {
    const join = ops[at - 1];
    if (filter.kind !== 'filter' || join?.kind !== 'join' || !join.right || !isMeant(join)) continue;
    const { left, right, rest } = divided(filter.expr, join, sidesKept(join));
    if (left.length === 0 && right.length === 0) continue;
    const asked = sidesAsked(join);
    return [
      ...withFilter(ops.slice(0, at - 1), [...left, ...(asked.left ? ofOtherKey(right, join, 'right', 'left') : [])]),
      filteredRight(join, [...right, ...(asked.right ? ofOtherKey(left, join, 'left', 'right') : [])]),
      ...filterOf(rest),
      ...ops.slice(at + 1),
    ];
  }
  return undefined;
};
/** A join asks of pairs what could be asked of rows: these need not be held then, nor the columns that it reads. */
const throughPairs = (ops: Ops): Ops | undefined => {
  for (const [at, join] of ops.entries()) {
    if (join.kind !== 'join' || !join.right || !join.residual || join.nearest) continue;
    const { left, right, rest } = divided(join.residual, join, sidesAsked(join));
    if (left.length === 0 && right.length === 0) continue;
    const { residual: _, ...others } = join;
    const residual = conjunction(rest);
    return [
      ...withFilter(ops.slice(0, at), left),
      filteredRight({ ...others, ...(residual && { residual }) }, right),
      ...ops.slice(at + 1),
    ];
  }
  return undefined;
};

/** A filter of the row before what is run for it: so rows need not be unnested to be thrown away. */
const throughLateral = (ops: Ops): Ops | undefined => {
  for (const [at, filter] of ops.entries()) {
    const lateral = ops[at - 1];
    if (filter.kind !== 'filter' || lateral?.kind !== 'lateral') continue;
    const { left, rest } = divided(filter.expr, lateral, { left: true, right: false });
    if (left.length === 0) continue;
    return [...withFilter(ops.slice(0, at - 1), left), lateral, ...filterOf(rest), ...ops.slice(at + 1)];
  }
  return undefined;
};

/** What conditions over one side say of the other side's rows that have a match there. */
const ofOtherKey = (
  conditions: readonly PlanExpr[],
  { equal }: Join,
  side: 'left' | 'right',
  other: 'left' | 'right',
): readonly PlanExpr[] =>
  conditions.flatMap((condition) =>
    equal.flatMap((key) => {
      const from = pathOf(key[side]);
      const to = pathOf(key[other]);
      return (from && to && to.length > 0 && overEqual(condition, from, to)) || [];
    }),
  );

/** With the parts as a filter behind it, in one with the filter at its end. */
const withFilter = (ops: Ops, list: readonly PlanExpr[]): Ops => {
  const last = ops.at(-1);
  return last?.kind === 'filter' && list.length > 0
    ? [...ops.slice(0, -1), ...filterOf([...conjuncts(last.expr), ...list])]
    : [...ops, ...filterOf(list)];
};
const filteredRight = (join: Join, list: readonly PlanExpr[]): Join =>
  list.length > 0 && join.right ? { ...join, right: { ops: withFilter(join.right.ops, list) } } : join;

type Join = PlanOp & { readonly kind: 'join' };
type Lateral = PlanOp & { readonly kind: 'lateral' };

interface Sides {
  readonly left: boolean;
  readonly right: boolean;
}
/** From which sides rows may be taken away before the join, when a filter would take them away after it. */
const sidesKept = ({ style }: Join): Sides => ({
  left: style === 'inner' || style === 'cross' || style === 'left' || style === 'anti',
  right: style === 'inner' || style === 'cross' || style === 'right',
});
/** The same where they would have no match: not if unmatched rows of that side are given. */
const sidesAsked = ({ style }: Join): Sides => ({
  left: style === 'inner' || style === 'right',
  right: style === 'inner' || style === 'left' || style === 'anti',
});

/** The parts of a condition over pairs that read one side alone, as conditions over its rows. */
const divided = (
  expr: PlanExpr,
  join: Join | Lateral,
  may: Sides,
): { readonly left: readonly PlanExpr[]; readonly right: readonly PlanExpr[]; readonly rest: readonly PlanExpr[] } => {
  const left: PlanExpr[] = [];
  const right: PlanExpr[] = [];
  const rest: PlanExpr[] = [];
  for (const part of conjuncts(expr)) {
    const paths = hasSubquery(part) ? undefined : fieldsRead(part);
    const reads = (name: string): boolean =>
      paths !== undefined && paths.length > 0 && paths.every((p) => p[0] === name);
    if (may.left && reads(join.leftName)) left.push(over(part, join.leftName));
    else if (may.right && reads(join.rightName)) right.push(over(part, join.rightName));
    else rest.push(part);
  }
  return { left, right, rest };
};

const over = (e: PlanExpr, name: string): PlanExpr =>
  movePaths(e, (path) => (path[0] === name ? path.slice(1) : undefined));
