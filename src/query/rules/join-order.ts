/**
 * Cross joins before a filter, as the commas of FROM make them, become joins by the equalities of the filter.
 *
 * - Parts of the filter that read one table go to that table; equalities between two tables become hash keys, and what else reads several is tested as soon as they are joined.
 * - The table of most rows streams past the others, which are held: of those that an equality connects the one of fewest rows comes next. A cross product is left only where
 *   nothing connects. Without figures the order of the text is kept as far as it is connected.
 * - Rows keep their form, so that what follows need not know. Where their order counts, as in pipes, tables are joined as they are written.
 */
import { conjunction, conjuncts, exprKey, fieldsRead, movePaths, pathExpr, someExpr } from '../plan-walk.ts';
import type { FieldPath, PlanExpr, PlanOp } from '../plan.ts';
import type { Rule } from '../rules.ts';

type Join = PlanOp & { readonly kind: 'join' };
type Ops = readonly PlanOp[];

/** A table of the chain: its operators, and where its row lies in the rows of the chain. */
interface Leaf { readonly ops: Ops; readonly path: FieldPath }
/** An equality of two tables, each side over the rows of the chain. */
interface Edge { readonly leaves: readonly [number, number]; readonly sides: readonly [PlanExpr, PlanExpr] }
/** A part of the filter that reads several tables. */
interface Test { readonly leaves: readonly number[]; readonly expr: PlanExpr }

export const joinOrder = {
  name: 'join-order',
  apply: (ops) => {
    const first = ops.findIndex(isCross), filterAt = ops.findIndex((op, i) => i > first && !isCross(op)), filter = ops[filterAt];
    if (first < 1 || filter?.kind !== 'filter') return ops;
    const joins = ops.slice(first, filterAt) as readonly Join[], leaves = leavesOf(ops.slice(0, first), joins);
    const own = leaves.map((): PlanExpr[] => []), edges: Edge[] = [], tests: Test[] = [], rest: PlanExpr[] = [];
    for (const part of conjuncts(filter.expr).flatMap(withCommonParts)) {
      const read = leavesRead(part, leaves);
      if (!read) rest.push(part);
      else if (read.length === 1) own[read[0]!]!.push(over(part, leaves[read[0]!]!.path, []));
      else {
        const edge = edgeOf(part, leaves);
        if (edge) edges.push(edge);
        else tests.push({ leaves: read, expr: part });
      }
    }
    if (edges.length === 0 && tests.length === 0 && own.every((list) => list.length === 0)) return ops;
    const filtered = leaves.map(({ ops: leaf }, i) => [...leaf, ...filterOf(own[i]!)]), order = joins.every((j) => j.anyOrder) ? orderOf(filtered.map((leaf, i) => rowsOf(leaf, own[i]!.length)), edges) : [...leaves.keys()];
    return [...joined({ joins, leaves, filtered, order, edges, tests }), ...filterOf(rest), ...ops.slice(filterAt + 1)];
  },
} as const satisfies Rule;

const isCross = (op: PlanOp): op is Join => op.kind === 'join' && op.style === 'cross' && op.right !== undefined && op.equal.length === 0 && op.residual === undefined;
const filterOf = (list: readonly PlanExpr[]): Ops => {
  const expr = conjunction(list);
  return expr ? [{ kind: 'filter', expr }] : [];
};

const leavesOf = (before: Ops, joins: readonly Join[]): readonly Leaf[] => {
  /** Names of the left sides of the joins behind one, outermost first. */
  const lefts = (behind: number): string[] => joins.slice(behind).map((j) => j.leftName).reverse();
  return [{ ops: before, path: lefts(0) }, ...joins.map((join, i) => ({ ops: join.right!.ops, path: [...lefts(i + 1), join.rightName] }))];
};

/** What all arms of an OR demand stands beside it, so that it can join or filter. */
const withCommonParts = (e: PlanExpr): readonly PlanExpr[] => {
  if (e.kind !== 'or') return [e];
  const [one, ...others] = armsOf(e).map((arm) => new Map(conjuncts(arm).map((part) => [exprKey(part), part])));
  return [...[...one!].filter(([key]) => others.every((arm) => arm.has(key))).map(([, part]) => part), e];
};
const armsOf = (e: PlanExpr): readonly PlanExpr[] => (e.kind === 'or' ? [...armsOf(e.left), ...armsOf(e.right)] : [e]);

/** The tables whose columns an expression reads; undefined if it reads something else too, or runs for each row. */
const leavesRead = (e: PlanExpr, leaves: readonly Leaf[]): readonly number[] | undefined => {
  const paths = someExpr(e, (part) => part.kind === 'apply' || part.kind === 'mapElements' || (part.kind === 'subquery' && part.correlated)) ? undefined : fieldsRead(e);
  if (!paths || paths.length === 0) return undefined;
  const found = new Set(paths.map((path) => leaves.findIndex((leaf) => isWithin(path, leaf.path))));
  return found.has(-1) ? undefined : [...found];
};
/** Whether a path leads to a column of the table. */
const isWithin = (path: FieldPath, leaf: FieldPath): boolean => path.length > leaf.length && leaf.every((name, i) => name === path[i]);

const edgeOf = (e: PlanExpr, leaves: readonly Leaf[]): Edge | undefined => {
  if (e.kind !== 'compare' || e.operator !== '==') return undefined;
  const left = leavesRead(e.left, leaves), right = leavesRead(e.right, leaves);
  return left?.length === 1 && right?.length === 1 ? { leaves: [left[0]!, right[0]!], sides: [e.left, e.right] } : undefined;
};

/** The expression where what lies at `from` lies at `to`. */
const over = (e: PlanExpr, from: FieldPath, to: FieldPath): PlanExpr => movePaths(e, (path) => (isWithin(path, from) ? [...to, ...path.slice(from.length)] : undefined));

/** Of rows that a filter leaves, by guess. */
const kept = 0.25;
/** How many rows a table has, about; undefined where nobody knows. */
const rowsOf = (ops: Ops, filters: number): number | undefined => {
  const [scan] = ops;
  if (scan?.kind !== 'scan' || scan.sources.some((s) => !s.content)) return undefined;
  return scan.sources.reduce((n, s) => n + s.content!.rowCount, 0) * kept ** (filters + ops.slice(1).filter((op) => op.kind === 'filter' || op.kind === 'aggregate').length);
};

/** The order in which tables are joined: the first one streams past the others. */
const orderOf = (rows: readonly (number | undefined)[], edges: readonly Edge[]): readonly number[] => {
  const all = [...rows.keys()], areKnown = rows.every((n) => n !== undefined), size = (i: number): number => (areKnown ? rows[i]! : i);
  const order = [areKnown ? all.reduce((most, i) => (size(i) > size(most) ? i : most), 0) : 0];
  while (order.length < all.length) {
    const left = all.filter((i) => !order.includes(i)), connected = left.filter((i) => edges.some((e) => e.leaves.includes(i) && e.leaves.some((other) => order.includes(other))));
    order.push((connected.length > 0 ? connected : left).reduce((least, i) => (size(i) < size(least) ? i : least)));
  }
  return order;
};

interface Chain { readonly joins: readonly Join[]; readonly leaves: readonly Leaf[]; readonly filtered: readonly Ops[]; readonly order: readonly number[]; readonly edges: readonly Edge[]; readonly tests: readonly Test[] }

/** The tables joined in that order, and the rows in their first form. */
const joined = ({ joins, leaves, filtered, order, edges, tests }: Chain): Ops => {
  const isAsWritten = order.every((leaf, i) => leaf === i), out: PlanOp[] = [...filtered[order[0]!]!];
  /** Where the rows of the tables so far lie. */
  let places = new Map<number, FieldPath>([[order[0]!, []]]);
  for (const [at, leaf] of order.slice(1).entries()) {
    const { leftName, rightName } = isAsWritten ? joins[at]! : { leftName: 'left', rightName: 'right' }, before = places;
    const keys = edges.flatMap(({ leaves: [a, b], sides: [x, y] }) => {
      const mine = a === leaf ? x : b === leaf ? y : undefined, other = a === leaf ? b : a, theirs = a === leaf ? y : x, place = before.get(other);
      return mine && place ? [{ left: over(theirs, leaves[other]!.path, place), right: over(mine, leaves[leaf]!.path, []) }] : [];
    });
    places = new Map([...[...before].map(([i, path]) => [i, [leftName, ...path]] as const), [leaf, [rightName]]]);
    const now = places, residual = conjunction(tests.filter((t) => t.leaves.includes(leaf) && t.leaves.every((i) => now.has(i))).map((t) => movePaths(t.expr, (path) => {
      const of = leaves.findIndex((l) => isWithin(path, l.path));
      return of < 0 ? undefined : [...now.get(of)!, ...path.slice(leaves[of]!.path.length)];
    })));
    out.push({
      kind: 'join', style: keys.length > 0 ? 'inner' : 'cross', right: { ops: filtered[leaf]! }, leftName, rightName, equal: keys, ...(residual && { residual }),
      // As `==` has it: null is equal to nothing, numbers are equal whatever their types.
      nullsMatch: false, loose: true,
    });
  }
  return isAsWritten ? out : [...out, { kind: 'values', exprs: [formOf(leaves.map(({ path }, i) => ({ path, from: pathExpr(places.get(i)!) })))] }];
};

/** A record with the rows of the tables at their paths. */
const formOf = (rows: readonly { readonly path: FieldPath; readonly from: PlanExpr }[]): PlanExpr => {
  const [only] = rows;
  if (rows.length === 1 && only!.path.length === 0) return only!.from;
  const names = [...new Set(rows.map(({ path }) => path[0]!))];
  return { kind: 'record', elements: names.map((name) => ({ kind: 'field', name, value: formOf(rows.filter(({ path }) => path[0] === name).map(({ path, from }) => ({ path: path.slice(1), from }))) })) };
};
