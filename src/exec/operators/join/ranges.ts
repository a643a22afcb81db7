/**
 * Inequalities of a join: where a condition compares a number (a time, a duration) of the left row with one of the
 * right row, the right rows are sorted by theirs, and a left row looks at those alone that may fulfil it. Of an ASOF
 * join that is one row, and so it is where nothing but such conditions is asked (EXISTS, ANY, ALL).
 *
 * - It only leaves out candidates: every pair that comes out has been tested by the whole condition, and in the order
 *   in which it would have come anyhow.
 * - One inequality, or two on the same value of the right row (BETWEEN), are a run of the sorted rows; another value of
 *   the right row is looked up in a tree over them.
 * - Anything but numbers of one class (numbers, times, durations) and nulls, on either side, and NaN: all pairs are
 *   tested, as without it.
 * - What it holds (28 bytes a right row at most) is counted by `heldBytes`.
 *
 * It buys, of the time of a query over 4,000 x 4,000 rows: BETWEEN short intervals 1/30 (0.076 s, before 2.24), ASOF
 * 1/180 (0.047 s, before 8.68), ASOF by ten keys 1/55.
 */
import { mayHaveLongDecimals } from '../../../vectors/decimal.ts';
import { conjuncts, exprKey, fieldsRead, mapParts, pathOf } from '../../../query/plan/walk.ts';
import type { PlanExpr } from '../../../query/plan/plan.ts';
import { isFloat, isInteger, types } from '../../../vectors/type.ts';
import type { NumberArray, Vector } from '../../../vectors/vector.ts';
import { eachPart } from '../../aggregates/grouping/parts.ts';
import { none } from '../../aggregates/grouping/pair-table.ts';
import type { AsyncEvaluator } from '../../expressions/evaluator.ts';
import { type Side, evaluate } from '../../operator.ts';
import { numbersOf } from '../../windows/keys.ts';
import type { Build } from '../build.ts';
import type { Found, JoinIndex } from './index.ts';
import type { JoinOp } from './probe.ts';

/** A condition on a number of the right row: not above (`most`), or not below (`least`) that of the left row. */
interface Bound {
  readonly left: AsyncEvaluator;
  readonly edge: 'most' | 'least' /** Not equal to it either. */;
  readonly isStrict: boolean;
}
/**
 * The conditions by which candidates are looked for; `right`: the numbers by which the right rows are sorted, `other`:
 * those of the tree.
 */
export interface Ranges {
  readonly right: AsyncEvaluator;
  readonly bounds: readonly Bound[];
  readonly other: { readonly right: AsyncEvaluator; readonly bound: Bound } | undefined;
  /** One fulfilling row is wanted: that with the greatest or the least number, or any. */
  readonly nearest: boolean;
  /** There are no equalities: all right rows are in one chain. */
  readonly isAlone: boolean;
}

/** Candidates pay from chains of this many rows on, a single one sooner. */
const chainMin = 32;
const nearestChainMin = 4;

interface Inequality {
  readonly left: PlanExpr;
  readonly right: PlanExpr;
  readonly edge: Bound['edge'];
  readonly isStrict: boolean;
}

/** What candidates of the join can be looked for by; undefined: nothing. */
export const rangesOf = (op: JoinOp, build: Build): Ranges | undefined => {
  const parts = op.residual ? conjuncts(op.residual) : [];
  const found = parts.flatMap((e) => boundOf(e, op));
  if (found.length === 0) return undefined;
  const keys = [...new Set(found.map((f) => exprKey(f.right)))];
  const groups = keys.map((key) => found.filter((f) => exprKey(f.right) === key));
  const main = groups.find((g) => g.some((f) => f.edge !== g[0].edge)) ?? groups[0];
  const other = groups.find((g) => g !== main)?.[0];
  const bound = ({ left, edge, isStrict }: Inequality): Bound => ({ left: build.expression(left), edge, isStrict });
  return {
    right: build.expression(main[0].right),
    bounds: main.map(bound),
    other: other && { right: build.expression(other.right), bound: bound(other) },
    nearest: (op.nearest === true && parts.length === 1) || (asksForAny(op) && parts.length === main.length),
    isAlone: op.equal.length === 0,
  };
};

/** Of the right side nothing is wanted but whether a row fulfils the condition. */
const asksForAny = ({ style, firstOnly }: JoinOp): boolean =>
  style === 'anti' || (style === 'inner' && firstOnly === true);

const flipped = { '<': '>', '<=': '>=', '>': '<', '>=': '<=' } as const;
const boundOf = (e: PlanExpr, { leftName, rightName }: JoinOp): Inequality[] => {
  if (e.kind !== 'compare' || !(e.operator in flipped)) return [];
  const made = (leftPart: PlanExpr, rightPart: PlanExpr, operator: string): Inequality[] => [
    {
      left: under(leftPart, leftName),
      right: under(rightPart, rightName),
      edge: operator.startsWith('>') ? 'most' : 'least',
      isStrict: operator.length === 1,
    },
  ];
  const operator = e.operator as keyof typeof flipped;
  if (isOf(e.left, leftName) && isOf(e.right, rightName)) return made(e.left, e.right, operator);
  return isOf(e.left, rightName) && isOf(e.right, leftName) ? made(e.right, e.left, flipped[operator]) : [];
};
const isOf = (e: PlanExpr, name: string): boolean => {
  const paths = fieldsRead(e);
  return paths !== undefined && paths.length > 0 && paths.every((p) => p[0] === name);
};
/** The expression over the row of its side alone. */
const under = (e: PlanExpr, name: string): PlanExpr => {
  const path = pathOf(e);
  return path?.length === 1 && path[0] === name ? { kind: 'this' } : mapParts(e, (part) => under(part, name));
};

interface Numbers {
  readonly values: NumberArray;
  readonly valid: Uint8Array;
  readonly class: 'number' | 'time' | 'duration';
}
/**
 * The right rows by their numbers, a chain at a time as they are asked for; undefined where they are not of one class.
 */
export interface Sorted {
  readonly main: Numbers;
  readonly other: Numbers | undefined;
  readonly chains: Map<number, Chain>;
}
interface Chain {
  readonly rows: Uint32Array;
  readonly values: NumberArray;
  readonly tree: Float64Array | undefined;
  readonly size: number;
}

/** The candidates of each left row of a batch, ascending; undefined: all of its chain. */
export function* candidates(
  ranges: Ranges,
  index: JoinIndex,
  left: Vector,
  found: Found,
): Generator<Side, ((row: number) => Uint32Array) | undefined> {
  const least = ranges.nearest ? nearestChainMin : chainMin;
  if (found.next !== index.next || index.next.length < least || !(ranges.isAlone || index.chainMean >= least))
    return undefined;
  const sorted = (index.sorted ??= (yield* sortedBy(ranges, index.rows)) ?? null);
  if (!sorted) return undefined;
  const { bounds, other } = ranges;
  const lefts: Numbers[] = [];
  for (const b of [...bounds, ...(other ? [other.bound] : [])]) {
    const numbers = orderly(yield* evaluate(b.left, left));
    if (!numbers || numbers.class !== (lefts.length < bounds.length ? sorted.main : sorted.other!).class)
      return undefined;
    lefts.push(numbers);
  }
  const isPlain = isExact(sorted.main) && lefts.every(isExact);
  const strict = bounds.map((b) => isPlain && b.isStrict);
  const nearest = ranges.nearest && isPlain;
  return (row) => {
    const head = found.heads[row];
    if (head === none || lefts.some((l) => l.valid[row] === 0)) return noRows;
    let chain = sorted.chains.get(head);
    if (!chain) sorted.chains.set(head, (chain = chainOf(head, found, sorted, other?.bound.edge)));
    let from = 0;
    let to = chain.rows.length;
    bounds.forEach(({ edge }, i) => {
      const x = lefts[i].values[row];
      if (edge === 'most') to = Math.min(to, placeOf(chain.values, x, !strict[i]));
      else from = Math.max(from, placeOf(chain.values, x, strict[i]));
    });
    if (from >= to) return noRows;
    if (nearest) return nearestOf(chain, from, to, bounds[0].edge);
    const { tree } = chain;
    return tree
      ? inTree({ ...chain, tree }, { from, to }, Number(lefts.at(-1)!.values[row]), other!.bound.edge)
      : chain.rows.slice(from, to).sort();
  };
}
const noRows = new Uint32Array(0);

function* sortedBy(ranges: Ranges, rows: Vector): Generator<Side, Sorted | undefined> {
  const main = orderly(yield* evaluate(ranges.right, rows));
  const other = ranges.other && orderly(yield* evaluate(ranges.other.right, rows));
  return main && !(ranges.other && !other) ? { main, other, chains: new Map() } : undefined;
}

/** A column of numbers of one class and nulls. */
const orderly = (v: Vector): Numbers | undefined => {
  // The floats next to them do not tell long decimals apart.
  if (mayHaveLongDecimals(v)) return undefined;
  const classes = new Set<Numbers['class']>();
  let isOdd = false;
  let nulls = 0;
  eachPart(v, (part) => {
    if (part.form === 'null') nulls += part.length;
    else if (part.form !== 'number') isOdd = true;
    else if (isInteger(part.type) || isFloat(part.type)) classes.add('number');
    else if (part.type === types.time || part.type === types.duration)
      classes.add(part.type === types.time ? 'time' : 'duration');
    else isOdd = true;
  });
  const found = isOdd || classes.size !== 1 ? undefined : numbersOf(v);
  // What is neither a null nor a number by now is NaN.
  if (!found || found.valid.reduce((n, x) => n + x, 0) + nulls !== v.length) return undefined;
  return { ...found, class: [...classes][0] };
};
/** No two numbers have become one. */
const isExact = ({ values }: Numbers): boolean =>
  !(values instanceof Float64Array) || values.every((x) => Math.abs(x) < 2 ** 53);

/** The rows of a chain that have a number, by it; rows of one number in their order. */
const chainOf = (
  head: number,
  { next, order }: Found,
  { main: { values, valid }, other }: Sorted,
  edge: Bound['edge'] | undefined,
): Chain => {
  let count = 0;
  for (let place = head; place !== none; place = next[place]) count++;
  const all = new Uint32Array(count);
  count = 0;
  for (let place = head; place !== none; place = next[place]) {
    const row = order ? order[place] : place;
    if (valid[row] === 1) all[count++] = row;
  }
  const rows = all.subarray(0, count).sort((x, y) => {
    const a = values[x];
    const b = values[y];
    if (a === b) return x - y;
    return a < b ? -1 : 1;
  });
  const own = values.slice(0, count);
  for (let i = 0; i < count; i++) own[i] = values[rows[i]];
  return { rows, values: own, ...treeOf(rows, other, edge) };
};

/** The first place whose number is not below `x`, or is above it. */
const placeOf = (values: NumberArray, x: number | bigint, above: boolean): number => {
  let low = 0;
  let high = values.length;
  while (low < high) {
    const middle = (low + high) >>> 1;
    const y = values[middle];
    if (y < x || (above && !(y > x))) low = middle + 1;
    else high = middle;
  }
  return low;
};

/** Of the fulfilling rows the one with the nearest number; of those that share it the first. */
const nearestOf = ({ rows, values }: Chain, from: number, to: number, edge: Bound['edge']): Uint32Array => {
  const at = edge === 'most' ? Math.max(from, placeOf(values, values[to - 1], false)) : from;
  return rows.subarray(at, at + 1);
};

/**
 * The greatest (for `least`) or least numbers under each node of a tree over the sorted rows; leaves begin at `size`.
 */
const treeOf = (
  rows: Uint32Array,
  other: Numbers | undefined,
  edge: Bound['edge'] | undefined,
): Pick<Chain, 'tree' | 'size'> => {
  if (!other || !edge) return { tree: undefined, size: 0 };
  let size = 1;
  while (size < rows.length) size *= 2;
  const best = edge === 'least' ? Math.max : Math.min;
  const worst = edge === 'least' ? -Infinity : Infinity;
  const tree = new Float64Array(size * 2).fill(worst);
  for (let i = 0; i < rows.length; i++) if (other.valid[rows[i]] === 1) tree[size + i] = Number(other.values[rows[i]]);
  for (let i = size - 1; i > 0; i--) tree[i] = best(tree[2 * i], tree[2 * i + 1]);
  return { tree, size };
};

/** Rows at [from, to) whose other number may fulfil its condition. */
const inTree = (
  { rows, tree, size }: Chain & { readonly tree: Float64Array },
  range: { readonly from: number; readonly to: number },
  x: number,
  edge: Bound['edge'],
): Uint32Array => {
  const found: number[] = [];
  const { from, to } = range;
  const visit = (node: number, start: number, end: number): void => {
    if (end <= from || start >= to || (edge === 'least' ? tree[node] < x : tree[node] > x)) return;
    if (node >= size) found.push(rows[start]);
    else {
      const middle = (start + end) >>> 1;
      visit(2 * node, start, middle);
      visit(2 * node + 1, middle, end);
    }
  };
  visit(1, 0, size);
  return Uint32Array.from(found).sort();
};
