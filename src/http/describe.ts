/** What a plan says about its answer: the sources that it reads, and for each channel the grouping keys and the order of its rows. */
import type { FieldPath, Pipeline, Plan, PlanExpr, PlanOp, ResolvedSource } from '../query/plan.ts';

interface Order { readonly order: 'asc' | 'desc'; readonly key: FieldPath }
interface Channel { readonly name: string; readonly aggregation_keys: readonly FieldPath[] | null; readonly sort: readonly Order[] | null }
interface Flow { readonly name: string; readonly keys: readonly FieldPath[] | null; readonly sort: readonly Order[] | null }
export interface Description { readonly sources: readonly Readonly<Record<string, unknown>>[]; readonly channels: readonly Channel[] }

/** `idOf` gives the id of a pool by its name, as bytes. */
export const describePlan = (plan: Plan, idOf: (pool: string) => Uint8Array | undefined): Description => ({
  sources: sourcesOf(plan.pipeline).map((source) => sourceText(source, idOf)),
  channels: flowsOf(plan.pipeline, [{ name: 'main', keys: null, sort: null }]).map(({ name, keys, sort }) => ({ name, aggregation_keys: keys, sort })),
});

type Source = ResolvedSource | 'null';

const sourcesOf = (pipeline: Pipeline): Source[] => pipeline.ops.flatMap((op): Source[] => {
  switch (op.kind) {
    case 'scan': return [...op.sources];
    case 'null': return ['null'];
    case 'join': case 'setOperation': return op.right ? sourcesOf(op.right) : [];
    case 'recursive': return [op.first, op.next].flatMap(sourcesOf);
    case 'lateral': return sourcesOf(op.body.pipeline);
    case 'fork': case 'combine': return op.branches.flatMap(sourcesOf);
    case 'switch': return op.cases.flatMap((c) => sourcesOf(c.branch));
    default: return [];
  }
});

const sourceText = (source: Source, idOf: (pool: string) => Uint8Array | undefined): Readonly<Record<string, unknown>> => {
  if (source === 'null') return { kind: 'Null' };
  if (source.kind === 'pool') return { kind: 'Pool', name: source.name, id: idOf(source.name) };
  if (source.kind === 'url') return { kind: 'Path', uri: source.name };
  return { kind: source.kind === 'lakeMeta' ? 'LakeMeta' : source.kind === 'poolMeta' ? 'PoolMeta' : 'Path', name: source.name };
};

/** The flows that leave a pipeline, given those that enter it. */
const flowsOf = (pipeline: Pipeline, entering: readonly Flow[]): readonly Flow[] => {
  let flows = entering;
  for (const op of pipeline.ops) {
    if (op.kind === 'fork' || op.kind === 'combine') flows = op.branches.flatMap((branch) => flowsOf(branch, flows));
    else if (op.kind === 'switch') flows = op.cases.flatMap((c) => flowsOf(c.branch, flows));
    else flows = merged(flows, op).map((flow) => after(op, flow));
  }
  return flows;
};

/** Operators take all streams that come in one channel as one, in no order. */
const merged = (flows: readonly Flow[], op: PlanOp): readonly Flow[] => {
  if (op.kind === 'output') return flows;
  const byName = new Map<string, Flow>();
  for (const flow of flows) byName.set(flow.name, byName.has(flow.name) ? { ...flow, sort: null, keys: null } : flow);
  return [...byName.values()];
};

const after = (op: PlanOp, flow: Flow): Flow => {
  switch (op.kind) {
    case 'scan': return { ...flow, sort: op.sources.length === 1 ? poolOrder(op.sources[0]!) : null };
    case 'output': return { ...flow, name: op.channel };
    case 'sort': case 'top': return { ...flow, sort: sortOrder(op) };
    case 'filter': case 'head': case 'tail': case 'skip': case 'pass': case 'assert': case 'debug': case 'uniq': return flow;
    case 'put': return op.assignments.some((a) => touches(flow.sort, a.target)) ? { ...flow, sort: null } : flow;
    case 'drop': return op.paths.some((path) => touches(flow.sort, path)) ? { ...flow, sort: null } : flow;
    case 'aggregate': return {
      ...flow,
      keys: op.keys.length > 0 ? op.keys.map((key) => key.target) : null,
      sort: op.keys.length > 0 && flow.sort?.length === 1 && samePath(pathOf(op.keys[0]!.expr), flow.sort[0]!.key) ? [{ order: flow.sort[0]!.order, key: op.keys[0]!.target }] : null,
    };
    default: return { ...flow, sort: null };
  }
};

const poolOrder = (source: ResolvedSource): readonly Order[] | null =>
  source.order && source.sortKeys?.[0] ? [{ order: source.order, key: source.sortKeys[0] }] : null;

const sortOrder = (op: Extract<PlanOp, { readonly kind: 'sort' | 'top' }>): readonly Order[] | null => {
  if (op.keys.length === 0) return null;
  const orders = op.keys.map((key) => ({ order: (key.order === 'asc') !== op.reverse ? 'asc' as const : 'desc' as const, key: pathOf(key.expr) }));
  return orders.every((o): o is Order => o.key !== undefined) ? orders : null;
};

const touches = (sort: readonly Order[] | null, path: FieldPath): boolean =>
  (sort ?? []).some(({ key }) => path.every((name, i) => key[i] === name) || key.every((name, i) => path[i] === name));
const samePath = (a: FieldPath | undefined, b: FieldPath): boolean => a !== undefined && a.length === b.length && a.every((name, i) => name === b[i]);

const pathOf = (expr: PlanExpr): FieldPath | undefined => {
  if (expr.kind === 'this') return [];
  if (expr.kind !== 'field') return undefined;
  const outer = pathOf(expr.of);
  return outer && [...outer, expr.name];
};
