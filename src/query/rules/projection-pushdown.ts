/**
 * Tells each scan which fields are needed: demands are followed from the end of a pipeline to its source.
 *
 * A demand is a list of paths from the row, or `all`. It may be larger than what is needed, never smaller.
 */
import { bodyIn, exprsOf, fieldsRead, mapPipelines, pathOf, pipelinesOf, someExpr } from '../plan/walk.ts';
import type {
  ColumnsElement,
  FieldPath,
  Pipeline,
  PlanExpr,
  PlanFunction,
  PlanOp,
  RecordElement,
} from '../plan/plan.ts';
import type { Rule } from './rule.ts';

export const projectionPushdown = {
  name: 'projection-pushdown',
  whole: true,
  // The names that `typename` knows are those of all values read, wherever in them.
  apply: (ops, { functions }) => (namesTypes(ops, functions) ? ops : followed(ops, 'all').ops),
} as const satisfies Rule;

/** Whether anything asks for the types of all values. */
export const namesTypes = (ops: readonly PlanOp[], functions: readonly PlanFunction[]): boolean =>
  callTypename(ops) || functions.some((f) => callsTypename(f.body));

const isIn = (e: PlanExpr | undefined, test: (e: PlanExpr) => boolean): boolean => e !== undefined && test(e);
const callTypename = (ops: readonly PlanOp[]): boolean =>
  ops.some((op) => exprsOf(op).some(callsTypename) || pipelinesOf(op).some((p) => callTypename(p.ops)));
const callsTypename = (e: PlanExpr): boolean =>
  someExpr(
    e,
    (part) =>
      (part.kind === 'call' && part.name === 'typename') ||
      (part.kind === 'subquery' && callTypename(part.body.ops)) ||
      (part.kind === 'apply' && callTypename(part.body.pipeline.ops)) ||
      isIn(bodyIn(part), callsTypename),
  );

/** Paths from the row, or all of it. */
export type Demand = readonly FieldPath[] | 'all';
/** What is asked of the tables that are read several times, by their ids. */
export type Demands = Map<number, Demand>;

/** What either asks for. */
export const union = (a: Demand, b: Demand): Demand => (a === 'all' || b === 'all' ? 'all' : [...a, ...b]);
const readBy = (exprs: readonly PlanExpr[]): Demand => allOf(exprs.map((e) => fieldsRead(e) ?? 'all'));
/** What any of them asks for; SUMMARIZE has tens of thousands. */
const allOf = (demands: readonly Demand[]): Demand => {
  const paths: FieldPath[] = [];
  for (const demand of demands) {
    if (demand === 'all') return 'all';
    for (const path of demand) paths.push(path);
  }
  return paths;
};

/**
 * The pipeline with its scans told, and what it asks of the values that come into it. `tables`: what it asks of tables
 * that are read several times is added to these.
 */
export const followed = (
  ops: readonly PlanOp[],
  wanted: Demand,
  tables: Demands = new Map(),
): { readonly ops: readonly PlanOp[]; readonly demand: Demand } => {
  let demand = wanted;
  const out: PlanOp[] = [];
  for (const op of ops.toReversed()) {
    const inner = nested(op, demand, tables);
    out.unshift(inner.op);
    demand = inner.demand;
  }
  return { ops: out, demand };
};

/** What rows beside elements of lists ask for: of the whole row as a field what is asked of that. */
const takenApart = (e: PlanExpr, demand: Demand): Demand => {
  if (demand === 'all' || e.kind !== 'record') return readBy([e]);
  return allOf(
    e.elements.map((element): Demand => {
      if (element.kind !== 'field' || element.value.kind !== 'this') return readBy([{ ...e, elements: [element] }]);
      const paths = demand.filter(([name]) => name === element.name).map(([, ...rest]) => rest);
      return paths.some((path) => path.length === 0) ? 'all' : paths;
    }),
  );
};

const nested = (op: PlanOp, demand: Demand, tables: Demands): { readonly op: PlanOp; readonly demand: Demand } => {
  switch (op.kind) {
    case 'scan':
      return { op: told(op, demand), demand: [] };
    case 'fork':
    case 'combine':
    case 'switch': {
      let asked: Demand = readBy(exprsOf(op));
      const mapped = mapPipelines(op, (branch) => {
        const inner = followed(branch.ops, demand, tables);
        asked = union(asked, inner.demand);
        return { ops: inner.ops };
      });
      return { op: mapped, demand: op.kind === 'combine' ? [] : asked };
    }
    case 'join':
      return joined(op, demand, tables);
    case 'values':
      return columnsOf(op, demand);
    case 'count': {
      if (!op.expr || demand === 'all') return { op, demand: before(op, demand) };
      const wanted = wantedOf(
        op.expr,
        demand.filter(([name]) => name !== op.field),
      );
      return { op: { ...op, expr: wanted.expr }, demand: wanted.demand };
    }
    case 'unnest': {
      if (!op.into) return { op, demand: takenApart(op.expr, demand) };
      return { op: { ...op, into: { ops: followed(op.into.ops, demand, tables).ops } }, demand: readBy([op.expr]) };
    }
    case 'setOperation':
    case 'recursive':
      return { op: mapPipelines(op, (p) => whole(p, tables)), demand: op.kind === 'recursive' ? [] : 'all' };
    case 'shared':
      tables.set(op.id, union(tables.get(op.id) ?? [], demand));
      return { op, demand: [] };
    case 'working':
      return { op, demand: [] };
    case 'lateral': {
      const pair = union(demand, op.residual ? (fieldsRead(op.residual) ?? 'all') : []);
      return {
        op: mapPipelines(op, (p) => whole(p, tables)),
        demand: union(sideOf(pair, op.leftName), readBy(op.outer)),
      };
    }
    default:
      return { op, demand: before(op, demand) };
  }
};
/** Of a record of columns those that are wanted; the first where none is, since rows count. */
const columnsOf = (
  op: PlanOp & { readonly kind: 'values' },
  demand: Demand,
): { readonly op: PlanOp; readonly demand: Demand } => {
  const [record] = op.exprs;
  const wanted =
    demand === 'all' || op.alone || op.exprs.length !== 1 || !record ? undefined : wantedOf(record, demand);
  return wanted ? { op: { ...op, exprs: [wanted.expr] }, demand: wanted.demand } : { op, demand: readBy(op.exprs) };
};
/** The expression with the parts of a record alone that are wanted of it, and what it reads for them. */
interface Wanted {
  readonly expr: PlanExpr;
  readonly demand: Demand;
}
const wantedOf = (expr: PlanExpr, paths: readonly FieldPath[]): Wanted => {
  const row = pathOf(expr);
  // A part of the row that is passed on: what is read of it is read of the row.
  if (row)
    return { expr, demand: row.length === 0 && paths.length === 0 ? 'all' : paths.map((path) => [...row, ...path]) };
  const all: Wanted = { expr, demand: fieldsRead(expr) ?? 'all' };
  if (paths.some((path) => path.length === 0)) return all;
  if (expr.kind === 'columns') return columnsWanted(expr, paths) ?? all;
  if (expr.kind !== 'record' || !isPlain(expr)) return all;
  const behind = byField(paths);
  const wantedOfField = (x: RecordElement): readonly FieldPath[] | undefined =>
    x.kind === 'field' ? behind.get(x.name) : undefined;
  const kept = expr.elements.filter(wantedOfField);
  const elements: RecordElement[] = [];
  const demands: Demand[] = [];
  for (const x of kept.length > 0 ? kept : expr.elements.slice(0, 1)) {
    const inner = wantedOf(x.value, wantedOfField(x) ?? []);
    elements.push({ ...x, value: inner.expr });
    demands.push(inner.demand);
  }
  return { expr: { ...expr, elements }, demand: allOf(demands) };
};
/** What is wanted of each field. */
const byField = (paths: readonly FieldPath[]): Map<string, FieldPath[]> => {
  const behind = new Map<string, FieldPath[]>();
  for (const [name, ...path] of paths) {
    const known = behind.get(name!);
    if (known) known.push(path);
    else behind.set(name!, [path]);
  }
  return behind;
};
/**
 * The columns of a SELECT with a star of which some are wanted: of the star those, and what may have to do with their
 * names. Undefined where that is too much, or a star is of more than a row.
 */
const columnsWanted = (
  expr: PlanExpr & { readonly kind: 'columns' },
  paths: readonly FieldPath[],
): Wanted | undefined => {
  const behind = byField(paths);
  for (const name of [...behind.keys()]) {
    const others = namesBeside(name);
    if (!others) return undefined;
    // A column of another name may come to have this one, with all that is asked of it.
    for (const other of others) behind.set(other, [[]]);
  }
  const elements: ColumnsElement[] = [];
  const demands: Demand[] = [];
  for (const x of expr.elements) {
    if (x.kind === 'field') {
      const wanted = behind.get(x.name);
      if (!wanted) continue;
      const inner = wantedOf(x.value, wanted);
      elements.push({ ...x, value: inner.expr });
      demands.push(inner.demand);
      continue;
    }
    const row = pathOf(x.value);
    if (!row) return undefined;
    elements.push(x);
    demands.push([...behind].flatMap(([name, inner]) => inner.map((path) => [...row, name, ...path])));
  }
  return { expr: { ...expr, elements }, demand: allOf(demands) };
};
/**
 * Names that decide which column gets a name, beside the one that has it: `a_2` may be the third `a`, or the second
 * beside an `a_1`. Undefined for too many.
 */
const namesBeside = (name: string): readonly string[] | undefined => {
  const [, stem, digits] = /^(.*)_(\d+)$/s.exec(name) ?? [];
  if (stem === undefined) return [];
  const count = Number(digits);
  if (count > repeatsMax) return undefined;
  return [stem, ...Array.from({ length: count }, (_, i) => `${stem}_${i + 1}`)];
};
const repeatsMax = 100;
/** No spreads, and each name once. */
const isPlain = ({ elements }: PlanExpr & { readonly kind: 'record' }): boolean =>
  elements.every((x) => x.kind === 'field') &&
  new Set(elements.map((x) => (x.kind === 'field' ? x.name : ''))).size === elements.length;

/** A pipeline of which all that comes out is wanted. */
const whole = (p: Pipeline, tables: Demands): Pipeline => ({ ops: followed(p.ops, 'all', tables).ops });

const told = (scan: PlanOp & { readonly kind: 'scan' }, demand: Demand): PlanOp => {
  const all = scan.filter ? union(demand, fieldsRead(scan.filter) ?? 'all') : demand;
  return all === 'all' ? scan : { ...scan, columns: minimal(all) };
};

/** Without repeated paths and without those inside another. */
const minimal = (paths: readonly FieldPath[]): readonly FieldPath[] => {
  const kept: FieldPath[] = [];
  const keys = new Set<string>();
  for (const path of [...paths].sort((a, b) => a.length - b.length)) {
    const starts = startsOf(path);
    if (starts.some((key) => keys.has(key))) continue;
    kept.push(path);
    keys.add(starts.at(-1)!);
  }
  return kept;
};
/** A key of each path that this one begins with: of the row, and so on up to itself. */
const startsOf = (path: FieldPath): readonly string[] => {
  let key = '';
  return ['', ...path.map((name) => (key += `${name.length}:${name}`))];
};

const joined = (
  op: PlanOp & { readonly kind: 'join' },
  demand: Demand,
  tables: Demands,
): { readonly op: PlanOp; readonly demand: Demand } => {
  const pair = union(demand, op.residual ? (fieldsRead(op.residual) ?? 'all') : []);
  if (!op.right) return { op, demand: 'all' };
  const wanted = union(sideOf(pair, op.rightName), readBy(op.equal.map((k) => k.right)));
  const right = followed(op.right.ops, wanted, tables);
  const left = union(sideOf(pair, op.leftName), readBy(op.equal.map((k) => k.left)));
  return {
    op: {
      ...op,
      right: { ops: right.ops } satisfies Pipeline,
      ...(op.leftFirst !== undefined && left !== 'all' && { leftColumns: minimal(left) }),
      ...(wanted !== 'all' && givesMore(op.right.ops, wanted) && { rightColumns: minimal(wanted) }),
    },
    demand: left,
  };
};
/** Whether rows have more columns than are wanted: those that filters and joins read on the way. */
const givesMore = (ops: readonly PlanOp[], wanted: readonly FieldPath[]): boolean => {
  const isWanted = (path: FieldPath): boolean => wanted.some((w) => w.every((name, i) => name === path[i]));
  const hasMore = (expr: PlanExpr | undefined): boolean => expr !== undefined && !fieldsRead(expr)?.every(isWanted);
  const last = ops.findLastIndex((op) => op.kind === 'values' || op.kind === 'aggregate' || op.kind === 'cut');
  return ops
    .slice(last + 1)
    .some(
      (op) =>
        op.kind === 'join' || (op.kind === 'filter' && hasMore(op.expr)) || (op.kind === 'scan' && hasMore(op.filter)),
    );
};
const sideOf = (pair: Demand, name: string): Demand => {
  if (pair === 'all') return 'all';
  const paths = pair.filter((p) => p[0] === name).map((p) => p.slice(1));
  return paths.some((p) => p.length === 0) ? 'all' : paths;
};

/** What an operator asks of its input, if so much is asked of its output. */
const before = (op: PlanOp, demand: Demand): Demand => {
  const read = readBy(exprsOf(op));
  switch (op.kind) {
    case 'values':
    case 'cut':
    case 'aggregate':
      return read;
    case 'count':
      return op.expr ? read : demand === 'all' ? 'all' : read;
    case 'filter':
    case 'sort':
    case 'top':
    case 'merge':
    case 'debug':
    case 'distinct':
    case 'groupSlice':
      // A sort without keys looks at the whole first value.
      if ((op.kind === 'sort' || op.kind === 'top') && op.keys.length === 0) return 'all';
      return union(demand, read);
    case 'head':
    case 'tail':
    case 'skip':
    case 'pass':
      return demand;
    case 'put':
      return demand === 'all'
        ? 'all'
        : union(
            union(demand, read),
            op.assignments.filter((a) => a.target.length > 1).map((a) => a.target.slice(0, 1)),
          );
    case 'rename':
      return demand === 'all' ? 'all' : [...demand, ...op.assignments.flatMap((a) => [a.from, a.to])];
    case 'shapes':
      return read;
    case 'window':
      return union(sideOf(demand, op.row), read);
    default:
      return 'all';
  }
};
