/** GROUP BY in its wider forms: ROLLUP, CUBE and GROUPING SETS, which stand for several groupings of the same rows. */
import type { Analysis } from '../analyze/context.ts';
import type { CallExpr, Expr, SqlGroupingSets } from '../ast.ts';
import { exprKey, fieldOf, hasSubquery, literal, mapParts, thisExpr } from '../plan/walk.ts';
import type { PlanExpr, PlanOp, RecordElement } from '../plan/plan.ts';
import { type Value, intValue, nullValue, numericData } from '../../vectors/value.ts';

/** Most groupings that one GROUP BY may stand for. */
const groupingsMax = 256;

/**
 * The groupings that the items of GROUP BY stand for together, as lists of expressions; undefined for plain
 * expressions: one grouping by all of them.
 */
export const groupingsOf = (
  a: Analysis,
  items: readonly (Expr | SqlGroupingSets)[],
): readonly (readonly Expr[])[] | undefined => {
  if (!items.some((item) => item.kind === 'sql-grouping')) return undefined;
  let all: readonly (readonly Expr[])[] = [[]];
  for (const item of items) {
    const own = item.kind === 'sql-grouping' ? setsOf(item) : [item.kind === 'tuple' ? item.elems : [item]];
    if (own.length * all.length > groupingsMax) {
      a.fault(`GROUP BY stands for more than ${groupingsMax} groupings`, item);
      return [[]];
    }
    all = all.flatMap((left) => own.map((right) => [...left, ...right]));
  }
  return all;
};

const setsOf = ({ form, sets }: SqlGroupingSets): readonly (readonly Expr[])[] => {
  const lists = sets.flatMap((set) => ('kind' in set ? setsOf(set) : [set]));
  switch (form) {
    case 'sets':
      return lists;
    case 'rollup':
      return [...lists.map((_, i) => lists.slice(0, lists.length - i).flat()), []];
    case 'cube':
      return lists.length > Math.log2(groupingsMax)
        ? Array.from({ length: groupingsMax + 1 }, () => [])
        : subsets(lists);
  }
};
const subsets = (sets: readonly (readonly Expr[])[]): readonly (readonly Expr[])[] => {
  const [first, ...rest] = sets;
  if (!first) return [[]];
  const others = subsets(rest);
  return [...others.map((other) => [...first, ...other]), ...others];
};

/**
 * What is alike for the same expression in GROUP BY and elsewhere in its SELECT. Each subquery has a plan of its own,
 * so expressions with subqueries are compared as they are written.
 */
export const groupKey = (a: Analysis, e: PlanExpr): string => {
  const written = hasSubquery(e) ? a.places.whole.get(e) : undefined;
  return written && 'kind' in written ? `written ${JSON.stringify(written, withoutPlaces)}` : exprKey(e);
};
const withoutPlaces = (name: string, part: unknown): unknown => (name === 'start' || name === 'end' ? undefined : part);

/** The calls of GROUPING in one SELECT. */
export class GroupingCalls {
  private readonly a: Analysis;
  private readonly calls: { readonly key: string; readonly keys: readonly PlanExpr[]; readonly place: CallExpr }[] = [];
  private readonly results = new WeakMap<PlanExpr, number>();
  constructor(a: Analysis) {
    this.a = a;
  }

  /** Notes a call of these keys (of all, if there are none) and gives what stands for its result. */
  note(place: CallExpr, keys: readonly PlanExpr[]): PlanExpr {
    const key = keys.map((e) => groupKey(this.a, e)).join();
    let index = this.calls.findIndex((call) => call.key === key);
    if (index < 0) index = this.calls.push({ key, keys, place }) - 1;
    const result = fieldOf(thisExpr, `\u0000grouping ${index}`);
    this.results.set(result, index);
    return result;
  }
  /** An expression where nothing is grouped: its first call is a fault. */
  without(e: PlanExpr): PlanExpr {
    if (this.calls.length === 0) return e;
    const index = this.results.get(e);
    return index === undefined
      ? mapParts(e, (part) => this.without(part))
      : this.a.wrong('GROUPING needs a GROUP BY clause', this.calls[index].place);
  }
  /** The field that holds the result which the expression stands for. */
  fieldFor(e: PlanExpr): string | undefined {
    const index = this.results.get(e);
    return index === undefined ? undefined : `g${index}`;
  }
  /** For each call the numbers of its keys among those of GROUP BY. */
  numbers(keys: readonly string[]): readonly (readonly number[])[] {
    return this.calls.map((call) =>
      call.keys.length === 0
        ? keys.map((_, i) => i)
        : call.keys.map((e) => {
            const found = keys.indexOf(groupKey(this.a, e));
            if (found < 0) this.a.fault('an argument of GROUPING must be an expression of GROUP BY', call.place);
            return found;
          }),
    );
  }
}

type Aggregation = Extract<PlanOp, { kind: 'aggregate' }>;

/**
 * What GROUPING(a, b ..) gives for a grouping by keys of these numbers: a bit for each argument, the last one lowest,
 * that is set where the key is left out.
 */
export const groupingBits = (keys: readonly number[], own: readonly number[]): Value =>
  keys.reduce(
    (bits, key) => intValue(BigInt(numericData(bits.data)) * 2n + (own.includes(key) ? 0n : 1n)),
    intValue(0),
  );

/**
 * The aggregation for each of the groupings, which are lists of numbers of its keys; keys that a grouping leaves out
 * are null. `g0`, `g1` .. are what GROUPING gives for lists of keys.
 */
export const groupingSets = (
  op: Aggregation,
  groupings: readonly (readonly number[])[],
  asked: readonly (readonly number[])[],
): PlanOp => ({
  kind: 'fork',
  branches: groupings.map((own) => {
    const field = (name: string, value: PlanExpr): RecordElement => ({ kind: 'field', name, value });
    const bits = asked.map((list, i) => field(`g${i}`, literal(groupingBits(list, own))));
    const keys = op.keys.map(({ target }, i) =>
      field(target[0], own.includes(i) ? fieldOf({ kind: 'this' }, target[0]) : literal(nullValue)),
    );
    const results = op.aggregates.map(({ target }) => field(target[0], fieldOf({ kind: 'this' }, target[0])));
    return {
      ops: [
        { ...op, keys: op.keys.filter((_, i) => own.includes(i)) },
        { kind: 'values', exprs: [{ kind: 'record', elements: [...keys, ...results, ...bits] }] },
      ],
    };
  }),
});
