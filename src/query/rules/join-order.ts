/**
 * Cross joins before a filter, as the commas of FROM make them, become joins by the equalities of the filter; inner
 * joins of SQL among them or alone are put in order with them, by what they ask of their pairs.
 *
 * - Parts of the filter that read one table go to that table; equalities between two tables become hash keys, and what
 *   else reads several is tested as soon as they are joined.
 * - The table of most rows streams past the others, which are held: of those that an equality connects one that filters
 *   leave a part of comes next, for it leaves fewer rows to look up in the others (TPC-H Q09: 0.5 of the time), and of
 *   several the one of fewest rows. A cross product is left only where nothing connects. Without figures the order of
 *   the text is kept as far as it is connected.
 * - Tables that hang on one of these, such as the customers of orders, and leave fewer of its rows, are joined to it
 *   before it is held.
 * - Rows keep their form, so that what follows need not know. Where their order counts, as in pipes, tables are joined
 *   as they are written.
 */
import {
  compareOf,
  conjunction,
  conjuncts,
  exprKey,
  fieldsRead,
  hasSubquery,
  movePaths,
  pathExpr,
  pathOf,
  someExpr,
} from '../plan/walk.ts';
import type { FieldPath, PlanExpr, PlanOp } from '../plan/plan.ts';
import { overEqual } from './equal-columns.ts';
import { type RowEstimate, estimateRows, filtered } from './row-estimate.ts';
import { type Rule, filterOf } from './rule.ts';

type Join = PlanOp & { readonly kind: 'join' };
type Ops = readonly PlanOp[];

/** A table of the chain: its operators, and where its row lies in the rows of the chain. */
interface Leaf {
  readonly ops: Ops;
  readonly path: FieldPath;
}
/** An equality of two tables, each side over the rows of the chain. */
interface Edge {
  readonly leaves: readonly [number, number];
  readonly sides: readonly [PlanExpr, PlanExpr];
}
/** A part of the filter that reads several tables. */
interface Test {
  readonly leaves: readonly number[];
  readonly expr: PlanExpr;
}

export const joinOrder = {
  name: 'join-order',
  apply: (ops) => {
    let out = ops;
    for (let from = 0; ; ) {
      const first = out.findIndex((op, i) => i >= Math.max(from, 1) && isFree(op));
      if (first < 0) return out;
      const end = out.findIndex((op, i) => i > first && !isFree(op));
      const joins = out.slice(first, end < 0 ? undefined : end) as readonly Join[];
      const filter = out[first + joins.length];
      const condition = filter?.kind === 'filter' ? filter.expr : undefined;
      const behind = out.slice(first + joins.length + (condition ? 1 : 0));
      const made = ordered(out.slice(0, first), joins, condition);
      if (made) out = [...made, ...behind];
      from = out.length - behind.length;
    }
  },
} as const satisfies Rule;

/** The joins with the filter behind them, in the best order; undefined if there is nothing to do. */
const ordered = (before: Ops, joins: readonly Join[], condition: PlanExpr | undefined): Ops | undefined => {
  const leaves = leavesOf(before, joins);
  const own = leaves.map((): PlanExpr[] => []);
  const edges: Edge[] = [];
  const tests: Test[] = [];
  const rest: PlanExpr[] = [];
  for (const part of [...askedBy(joins), ...(condition ? conjuncts(condition) : [])]
    .flatMap(withCommonParts)
    .flatMap((e) => [e, ...impliedParts(e, leaves)])) {
    const read = leavesRead(part, leaves);
    if (!read) rest.push(part);
    else if (read.length === 1) own[read[0]].push(over(part, leaves[read[0]].path, []));
    else {
      const edge = edgeOf(part, leaves);
      if (edge) edges.push(edge);
      else tests.push({ leaves: read, expr: part });
    }
  }
  addImplied(own, edges, leaves);
  if (edges.length === 0 && tests.length === 0 && own.every((list) => list.length === 0)) return undefined;
  const leavesLeft = leaves.map(({ ops: leaf }, i) => [...leaf, ...filterOf(own[i])]);
  const chain: Chain = { joins, leaves, filtered: leavesLeft, edges, tests };
  const sizes = joins.every((j) => j.anyOrder)
    ? leaves.map((leaf, i) => filtered(estimateRows(leaf.ops), own[i].length))
    : undefined;
  return [
    ...joined(chain, sizes ? treeOf(sizes, edges) : [...leaves.keys()].map((leaf) => ({ leaf, under: [] }))),
    ...filterOf(rest),
  ];
};

/** A join that any other order of its tables may take the place of: all pairs of rows, or those that a test leaves. */
const isFree = (op: PlanOp): op is Join => {
  if (op.kind !== 'join' || !op.right) return false;
  if (op.style === 'cross') return op.equal.length === 0 && op.residual === undefined;
  return (
    op.style === 'inner' &&
    op.anyOrder === true &&
    op.loose === true &&
    !op.nullsMatch &&
    !op.kept &&
    [...op.equal.flatMap((k) => [k.left, k.right]), ...(op.residual ? [op.residual] : [])].every(
      (e) => !hasSubquery(e) && fieldsRead(e) !== undefined,
    )
  );
};
/** What the joins ask of their pairs, over the rows of the chain. */
const askedBy = (joins: readonly Join[]): readonly PlanExpr[] =>
  joins.flatMap(({ equal, residual, rightName }, i) => {
    const pair = leftNames(joins, i + 1);
    const below = (e: PlanExpr, to: FieldPath): PlanExpr => movePaths(e, (path) => [...to, ...path]);
    return [
      ...equal.map((k) => compareOf(below(k.left, leftNames(joins, i)), '==', below(k.right, [...pair, rightName]))),
      ...(residual ? conjuncts(below(residual, pair)) : []),
    ];
  });

/** Names of the left sides of the joins from one on, outermost first: where the row before it lies. */
const leftNames = (joins: readonly Join[], from: number): readonly string[] =>
  joins
    .slice(from)
    .map((j) => j.leftName)
    .reverse();
const leavesOf = (before: Ops, joins: readonly Join[]): readonly Leaf[] => [
  { ops: before, path: leftNames(joins, 0) },
  ...joins.map((join, i) => ({ ops: join.right!.ops, path: [...leftNames(joins, i + 1), join.rightName] })),
];

/** What all arms of an OR demand stands beside it, so that it can join or filter. */
const withCommonParts = (e: PlanExpr): readonly PlanExpr[] => {
  if (e.kind !== 'or') return [e];
  const [one, ...others] = armsOf(e).map((arm) => new Map(conjuncts(arm).map((part) => [exprKey(part), part])));
  return [...[...one!].filter(([key]) => others.every((arm) => arm.has(key))).map(([, part]) => part), e];
};
/**
 * What all arms of an OR ask of one table, each in its own way, is asked of the table beside it: `n.name = 'A' and
 * m.name = 'B' or n.name = 'B' and m.name = 'A'` leaves two names of either.
 */
const impliedParts = (e: PlanExpr, leaves: readonly Leaf[]): readonly PlanExpr[] => {
  if (e.kind !== 'or' || leavesRead(e, leaves)?.length === 1) return [];
  const arms = armsOf(e).map(conjuncts);
  return leaves.flatMap((_, leaf) => {
    const own = arms.map((arm) =>
      conjunction(
        arm.filter((part) => {
          const read = leavesRead(part, leaves);
          return read?.length === 1 && read[0] === leaf;
        }),
      ),
    );
    return own.every((part) => part !== undefined) ? [own.reduce((left, right) => ({ kind: 'or', left, right }))] : [];
  });
};
/** What is asked of a column is asked of those that equalities of the join make equal to it, step by step. */
const addImplied = (own: readonly PlanExpr[][], edges: readonly Edge[], leaves: readonly Leaf[]): void => {
  const pairs = edges.flatMap(({ leaves: [a, b], sides: [left, right] }) => {
    const paths = [pathOf(left)?.slice(leaves[a].path.length), pathOf(right)?.slice(leaves[b].path.length)] as const;
    if (!paths[0]?.length || !paths[1]?.length) return [];
    const [one, other] = [
      { leaf: a, path: paths[0] },
      { leaf: b, path: paths[1] },
    ] as const;
    return [
      { from: one, to: other },
      { from: other, to: one },
    ];
  });
  const known = own.map((list) => new Set(list.map(exprKey)));
  const waiting = own.flatMap((list, leaf) => list.map((part) => ({ leaf, part })));
  for (const { leaf, part } of waiting) {
    for (const { from, to } of pairs) {
      const implied = from.leaf === leaf ? overEqual(part, from.path, to.path) : undefined;
      if (!implied || known[to.leaf].has(exprKey(implied))) continue;
      known[to.leaf].add(exprKey(implied));
      own[to.leaf].push(implied);
      waiting.push({ leaf: to.leaf, part: implied });
    }
  }
};
const armsOf = (e: PlanExpr): readonly PlanExpr[] => (e.kind === 'or' ? [...armsOf(e.left), ...armsOf(e.right)] : [e]);

/** The tables whose columns an expression reads; undefined if it reads something else too, or runs for each row. */
const leavesRead = (e: PlanExpr, leaves: readonly Leaf[]): readonly number[] | undefined => {
  const paths = someExpr(
    e,
    (part) => part.kind === 'apply' || part.kind === 'mapElements' || (part.kind === 'subquery' && part.correlated),
  )
    ? undefined
    : fieldsRead(e);
  if (!paths || paths.length === 0) return undefined;
  const found = new Set(paths.map((path) => leaves.findIndex((leaf) => isWithin(path, leaf.path))));
  return found.has(-1) ? undefined : [...found];
};
/** Whether a path leads to a column of the table. */
const isWithin = (path: FieldPath, leaf: FieldPath): boolean =>
  path.length > leaf.length && leaf.every((name, i) => name === path[i]);

const edgeOf = (e: PlanExpr, leaves: readonly Leaf[]): Edge | undefined => {
  if (e.kind !== 'compare' || e.operator !== '==') return undefined;
  const left = leavesRead(e.left, leaves);
  const right = leavesRead(e.right, leaves);
  return left?.length === 1 && right?.length === 1
    ? { leaves: [left[0], right[0]], sides: [e.left, e.right] }
    : undefined;
};

/** The expression where what lies at `from` lies at `to`. */
const over = (e: PlanExpr, from: FieldPath, to: FieldPath): PlanExpr =>
  movePaths(e, (path) => (isWithin(path, from) ? [...to, ...path.slice(from.length)] : undefined));

/** A table, and those that are joined to it before it is held. */
interface Branch {
  readonly leaf: number;
  readonly under: readonly Branch[];
}
/** The order in which tables are joined: the first one streams past the others. */
const treeOf = (sizes: readonly RowEstimate[], edges: readonly Edge[]): readonly Branch[] => {
  const all = [...sizes.keys()];
  const areKnown = sizes.every(({ rows }) => rows !== undefined);
  const first = areKnown ? all.reduce((most, i) => (sizes[i].rows! > sizes[most].rows! ? i : most), 0) : 0;
  const branches = areKnown
    ? branchesOf(first, sizes, edges)
    : all.filter((i) => i !== first).map((leaf): Branch => ({ leaf, under: [] }));
  const size = (b: Branch): number => (areKnown ? sizes[b.leaf].rows! * shareUnder(b, sizes) : b.leaf);
  const order: Branch[] = [{ leaf: first, under: [] }];
  const share = (b: Branch): number => sizes[b.leaf].share * shareUnder(b, sizes);
  const isSooner = (a: Branch, b: Branch): boolean =>
    areKnown && share(a) < 1 !== share(b) < 1 ? share(a) < 1 : size(a) < size(b);
  while (order.length <= branches.length) {
    const left = branches.filter((b) => !order.includes(b));
    const placed = order.flatMap(leavesOfBranch);
    const connected = left.filter((b) =>
      leavesOfBranch(b).some((leaf) =>
        edges.some((e) => e.leaves.includes(leaf) && e.leaves.some((other) => placed.includes(other))),
      ),
    );
    order.push((connected.length > 0 ? connected : left).reduce((least, b) => (isSooner(b, least) ? b : least)));
  }
  return order;
};
const leavesOfBranch = (b: Branch): readonly number[] => [b.leaf, ...b.under.flatMap(leavesOfBranch)];
/** What part of a table's rows those under it leave. */
const shareUnder = (b: Branch, sizes: readonly RowEstimate[]): number =>
  b.under.reduce((n, u) => n * sizes[u.leaf].share * shareUnder(u, sizes), 1);

/**
 * The other tables. One that an equality connects to the first table has under it those that hang on it alone, each of
 * fewer rows than what it hangs on (then it gives at most one row for each of them, most likely), where they leave
 * fewer of its rows.
 */
const branchesOf = (first: number, sizes: readonly RowEstimate[], edges: readonly Edge[]): readonly Branch[] => {
  const next = (i: number): readonly number[] =>
    edges.flatMap(({ leaves: [a, b] }) => (a === i ? [b] : b === i ? [a] : []));
  const gates = new Set(next(first));
  const rows = (i: number): number => sizes[i].rows! / sizes[i].share;
  const taken = new Set([first, ...gates]);
  const under = new Map<number, number[]>();
  const waiting = [...gates].sort((a, b) => rows(b) - rows(a));
  for (let at = 0; at < waiting.length; at++) {
    const from = waiting[at];
    const own = next(from).filter((i) => !taken.has(i) && rows(i) < rows(from));
    for (const i of new Set(own)) {
      taken.add(i);
      waiting.push(i);
      under.set(from, [...(under.get(from) ?? []), i]);
    }
  }
  const branch = (leaf: number): Branch => ({ leaf, under: (under.get(leaf) ?? []).map(branch) });
  const apart = (b: Branch): readonly Branch[] => [{ leaf: b.leaf, under: [] }, ...b.under.flatMap(apart)];
  const loose = [...sizes.keys()].filter((i) => !taken.has(i)).map((leaf): Branch => ({ leaf, under: [] }));
  return [...[...gates].map(branch).flatMap((b) => (shareUnder(b, sizes) < 1 ? [b] : apart(b))), ...loose];
};

interface Chain {
  readonly joins: readonly Join[];
  readonly leaves: readonly Leaf[];
  readonly filtered: readonly Ops[];
  readonly edges: readonly Edge[];
  readonly tests: readonly Test[];
}
/** Tables that are joined: the operators, and where the rows of each lie in theirs. */
interface Part {
  readonly ops: Ops;
  readonly places: ReadonlyMap<number, FieldPath>;
}

/** The tables joined in that order, and the rows in their first form. */
const joined = (chain: Chain, order: readonly Branch[]): Ops => {
  const { joins, leaves, filtered } = chain;
  const isAsWritten = order.every(({ leaf, under }, i) => leaf === i && under.length === 0);
  const partOf = ({ leaf, under }: Branch): Part =>
    under.reduce((part: Part, u) => beside(chain, part, partOf(u)), {
      ops: filtered[leaf],
      places: new Map([[leaf, []]]),
    });
  const [first, ...others] = order as readonly [Branch, ...Branch[]];
  const all = others.reduce(
    (part, b, at) => beside(chain, part, partOf(b), isAsWritten ? joins[at] : undefined),
    partOf(first),
  );
  return isAsWritten
    ? all.ops
    : [
        ...all.ops,
        {
          kind: 'values',
          exprs: [formOf(leaves.map(({ path }, i) => ({ path, from: pathExpr(all.places.get(i)!) })))],
        },
      ];
};
/** Two parts joined by the equalities between them, with the tests that then have all that they read. */
const beside = (
  { leaves, edges, tests }: Chain,
  left: Part,
  right: Part,
  names: Pick<Join, 'leftName' | 'rightName'> = { leftName: 'left', rightName: 'right' },
): Part => {
  const { leftName, rightName } = names;
  const at = (part: Part, leaf: number, e: PlanExpr): PlanExpr => over(e, leaves[leaf].path, part.places.get(leaf)!);
  const equal = edges.flatMap(({ leaves: [a, b], sides: [x, y] }) => {
    if (left.places.has(a) && right.places.has(b)) return [{ left: at(left, a, x), right: at(right, b, y) }];
    return left.places.has(b) && right.places.has(a) ? [{ left: at(left, b, y), right: at(right, a, x) }] : [];
  });
  const places = new Map<number, FieldPath>([
    ...[...left.places].map(([i, path]) => [i, [leftName, ...path]] as const),
    ...[...right.places].map(([i, path]) => [i, [rightName, ...path]] as const),
  ]);
  const isNew = (t: Test): boolean =>
    t.leaves.every((i) => places.has(i)) &&
    !t.leaves.every((i) => left.places.has(i)) &&
    !t.leaves.every((i) => right.places.has(i));
  const residual = conjunction(
    tests.filter(isNew).map((t) =>
      movePaths(t.expr, (path) => {
        const of = leaves.findIndex((l) => isWithin(path, l.path));
        return of < 0 ? undefined : [...places.get(of)!, ...path.slice(leaves[of].path.length)];
      }),
    ),
  );
  const join: Join = {
    kind: 'join',
    style: equal.length > 0 ? 'inner' : 'cross',
    right: { ops: right.ops },
    leftName,
    rightName,
    equal,
    ...(residual && { residual }),
    // As `==` has it: null is equal to nothing, numbers are equal whatever their types.
    nullsMatch: false,
    loose: true,
  };
  return { ops: [...left.ops, join], places };
};

/** A record with the rows of the tables at their paths. */
const formOf = (rows: readonly { readonly path: FieldPath; readonly from: PlanExpr }[]): PlanExpr => {
  const [only] = rows;
  if (rows.length === 1 && only!.path.length === 0) return only!.from;
  const names = [...new Set(rows.map(({ path }) => path[0]))];
  return {
    kind: 'record',
    elements: names.map((name) => ({
      kind: 'field',
      name,
      value: formOf(
        rows.filter(({ path }) => path[0] === name).map(({ path, from }) => ({ path: path.slice(1), from })),
      ),
    })),
  };
};
