/**
 * Cross joins before a filter, as the commas of FROM make them, become joins by the equalities of the filter.
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
import { conjunction, conjuncts, exprKey, fieldsRead, movePaths, pathExpr, someExpr } from '../plan/walk.ts';
import type { FieldPath, PlanExpr, PlanOp } from '../plan/plan.ts';
import type { Rule } from './rule.ts';

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
    const first = ops.findIndex(isCross);
    const filterAt = ops.findIndex((op, i) => i > first && !isCross(op));
    const filter = ops[filterAt];
    if (first < 1 || filter?.kind !== 'filter') return ops;
    const joins = ops.slice(first, filterAt) as readonly Join[];
    const leaves = leavesOf(ops.slice(0, first), joins);
    const own = leaves.map((): PlanExpr[] => []);
    const edges: Edge[] = [];
    const tests: Test[] = [];
    const rest: PlanExpr[] = [];
    for (const part of conjuncts(filter.expr)
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
    if (edges.length === 0 && tests.length === 0 && own.every((list) => list.length === 0)) return ops;
    const filtered = leaves.map(({ ops: leaf }, i) => [...leaf, ...filterOf(own[i])]);
    const chain: Chain = { joins, leaves, filtered, edges, tests };
    const sizes = joins.every((j) => j.anyOrder) ? filtered.map((leaf, i) => sizeOf(leaf, own[i].length)) : undefined;
    return [
      ...joined(chain, sizes ? treeOf(sizes, edges) : [...leaves.keys()].map((leaf) => ({ leaf, under: [] }))),
      ...filterOf(rest),
      ...ops.slice(filterAt + 1),
    ];
  },
} as const satisfies Rule;

const isCross = (op: PlanOp): op is Join =>
  op.kind === 'join' &&
  op.style === 'cross' &&
  op.right !== undefined &&
  op.equal.length === 0 &&
  op.residual === undefined;
const filterOf = (list: readonly PlanExpr[]): Ops => {
  const expr = conjunction(list);
  return expr ? [{ kind: 'filter', expr }] : [];
};

const leavesOf = (before: Ops, joins: readonly Join[]): readonly Leaf[] => {
  /** Names of the left sides of the joins behind one, outermost first. */
  const lefts = (behind: number): string[] =>
    joins
      .slice(behind)
      .map((j) => j.leftName)
      .reverse();
  return [
    { ops: before, path: lefts(0) },
    ...joins.map((join, i) => ({ ops: join.right!.ops, path: [...lefts(i + 1), join.rightName] })),
  ];
};

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

/** Of rows that a filter leaves, by guess. */
const kept = 0.25;
/** How many rows a table has, about, and what part of them its filters leave; no rows where nobody knows. */
interface Size {
  readonly rows: number | undefined;
  readonly share: number;
}
const sizeOf = (ops: Ops, filters: number): Size => {
  const [scan] = ops;
  const share = kept ** (filters + ops.slice(1).filter((op) => op.kind === 'filter' || op.kind === 'aggregate').length);
  if (scan?.kind !== 'scan' || scan.sources.some((s) => !s.content)) return { rows: undefined, share };
  return { rows: scan.sources.reduce((n, s) => n + s.content!.rowCount, 0) * share, share };
};

/** A table, and those that are joined to it before it is held. */
interface Branch {
  readonly leaf: number;
  readonly under: readonly Branch[];
}
/** The order in which tables are joined: the first one streams past the others. */
const treeOf = (sizes: readonly Size[], edges: readonly Edge[]): readonly Branch[] => {
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
const shareUnder = (b: Branch, sizes: readonly Size[]): number =>
  b.under.reduce((n, u) => n * sizes[u.leaf].share * shareUnder(u, sizes), 1);

/**
 * The other tables. One that an equality connects to the first table has under it those that hang on it alone, each of
 * fewer rows than what it hangs on (then it gives at most one row for each of them, most likely), where they leave
 * fewer of its rows.
 */
const branchesOf = (first: number, sizes: readonly Size[], edges: readonly Edge[]): readonly Branch[] => {
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
