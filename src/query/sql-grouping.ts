/** GROUP BY in its wider forms: ROLLUP, CUBE and GROUPING SETS, which stand for several groupings of the same rows. */
import type { Analysis } from './analyze-context.ts';
import type { Expr, SqlGroupingSets } from './ast.ts';
import { fieldOf, literal } from './plan-walk.ts';
import type { PlanExpr, PlanOp, RecordElement } from './plan.ts';
import { nullValue } from '../vectors/value.ts';

/** Most groupings that one GROUP BY may stand for. */
const groupingsMax = 256;

/** The groupings that the items of GROUP BY stand for together, as lists of expressions; undefined for plain expressions: one grouping by all of them. */
export const groupingsOf = (a: Analysis, items: readonly (Expr | SqlGroupingSets)[]): readonly (readonly Expr[])[] | undefined => {
  if (!items.some((item) => item.kind === 'sql-grouping')) return undefined;
  let all: readonly (readonly Expr[])[] = [[]];
  for (const item of items) {
    const own = item.kind === 'sql-grouping' ? setsOf(item) : [[item]];
    if (own.length * all.length > groupingsMax) {
      a.fault(`GROUP BY stands for more than ${groupingsMax} groupings`, item);
      return [[]];
    }
    all = all.flatMap((left) => own.map((right) => [...left, ...right]));
  }
  return all;
};

const setsOf = ({ form, sets }: SqlGroupingSets): readonly (readonly Expr[])[] => {
  switch (form) {
    case 'sets': return sets;
    case 'rollup': return [...sets.map((_, i) => sets.slice(0, sets.length - i).flat()), []];
    case 'cube': return sets.length > Math.log2(groupingsMax) ? Array.from({ length: groupingsMax + 1 }, () => []) : subsets(sets);
  }
};
const subsets = (sets: readonly (readonly Expr[])[]): readonly (readonly Expr[])[] => {
  const [first, ...rest] = sets;
  if (!first) return [[]];
  const others = subsets(rest);
  return [...others.map((other) => [...first, ...other]), ...others];
};

type Aggregation = Extract<PlanOp, { kind: 'aggregate' }>;

/** The aggregation for each of the groupings, which are lists of numbers of its keys; keys that a grouping leaves out are null. */
export const groupingSets = (op: Aggregation, groupings: readonly (readonly number[])[]): PlanOp => ({
  kind: 'fork',
  branches: groupings.map((own) => {
    const field = (name: string, value: PlanExpr): RecordElement => ({ kind: 'field', name, value });
    const keys = op.keys.map(({ target }, i) => field(target[0]!, own.includes(i) ? fieldOf({ kind: 'this' }, target[0]!) : literal(nullValue)));
    const results = op.aggregates.map(({ target }) => field(target[0]!, fieldOf({ kind: 'this' }, target[0]!)));
    return { ops: [{ ...op, keys: op.keys.filter((_, i) => own.includes(i)) }, { kind: 'values', exprs: [{ kind: 'record', elements: [...keys, ...results] }] }] };
  }),
});
