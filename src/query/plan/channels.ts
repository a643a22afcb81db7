/** The channels in which a plan's rows come, and for each of them the grouping keys and the order of its rows. */
import { pathOf, samePath } from './walk.ts';
import type { FieldPath, Pipeline, Plan, PlanOp, ResolvedSource } from './plan.ts';

interface Order {
  readonly order: 'asc' | 'desc';
  readonly key: FieldPath;
}
/** A channel of the answer; null where there are no grouping keys, or no order is known. */
export interface Channel {
  readonly name: string;
  readonly keys: readonly FieldPath[] | null;
  readonly sort: readonly Order[] | null;
}

/** One for each name; those of debug come last. */
export const channelsOf = ({ pipeline, analyze }: Plan): readonly Channel[] => {
  if (analyze) return [mainChannel];
  const flows = merged(flowsOf(pipeline, [mainChannel]));
  return hasDebug(pipeline) && flows.every((flow) => flow.name !== 'debug')
    ? [...flows, { name: 'debug', keys: null, sort: null }]
    : flows;
};
const mainChannel: Channel = { name: 'main', keys: null, sort: null };
const hasDebug = (pipeline: Pipeline): boolean =>
  pipeline.ops.some((op) => op.kind === 'debug' || branchesOf(op).some(hasDebug));
/** The pipelines that an operator's input goes through side by side. */
export const branchesOf = (op: PlanOp): readonly Pipeline[] =>
  op.kind === 'fork' || op.kind === 'combine' ? op.branches : op.kind === 'switch' ? op.cases.map((c) => c.branch) : [];

/** The flows that leave a pipeline, given those that enter it. */
const flowsOf = (pipeline: Pipeline, entering: readonly Channel[]): readonly Channel[] => {
  let flows = entering;
  for (const op of pipeline.ops) {
    const branches = branchesOf(op);
    if (branches.length > 0) flows = branches.flatMap((branch) => flowsOf(branch, flows));
    else flows = (op.kind === 'output' ? flows : merged(flows)).map((flow) => after(op, flow));
  }
  return flows;
};

/** Operators take all streams that come in one channel as one, in no order. */
const merged = (flows: readonly Channel[]): readonly Channel[] => {
  const byName = new Map<string, Channel>();
  for (const flow of flows) byName.set(flow.name, byName.has(flow.name) ? { ...flow, sort: null, keys: null } : flow);
  return [...byName.values()];
};

const after = (op: PlanOp, flow: Channel): Channel => {
  switch (op.kind) {
    case 'scan':
      return { ...flow, sort: op.sources.length === 1 ? poolOrder(op.sources[0]) : null };
    case 'output':
      return { ...flow, name: op.channel };
    case 'sort':
    case 'top':
      return { ...flow, sort: sortOrder(op) };
    case 'filter':
    case 'head':
    case 'tail':
    case 'skip':
    case 'pass':
    case 'debug':
    case 'uniq':
    case 'fuse':
      return flow;
    case 'put':
      return op.assignments.some((a) => touches(flow.sort, a.target)) ? { ...flow, sort: null } : flow;
    case 'cut':
      return {
        ...flow,
        sort: moved(flow.sort, (path) => op.assignments.find((a) => samePath(pathOf(a.value), path))?.target),
      };
    case 'rename':
      return {
        ...flow,
        sort: moved(flow.sort, (path) =>
          op.assignments.reduce<FieldPath | undefined>((at, { from, to }) => at && renamed(at, from, to), path),
        ),
      };
    case 'drop':
      return op.paths.some((path) => touches(flow.sort, path)) ? { ...flow, sort: null } : flow;
    case 'aggregate':
      return {
        ...flow,
        keys: op.keys.map((key) => pathOf(key.expr) ?? key.target),
        sort:
          op.keys.length > 0 && flow.sort?.length === 1 && samePath(pathOf(op.keys[0].expr), flow.sort[0].key)
            ? [{ order: flow.sort[0].order, key: op.keys[0].target }]
            : null,
      };
    case 'join':
    case 'setOperation':
      return { ...flow, keys: null, sort: null };
    default:
      return { ...flow, sort: null };
  }
};

const poolOrder = (source: ResolvedSource): readonly Order[] | null =>
  source.order && source.sortKeys?.[0] ? [{ order: source.order, key: source.sortKeys[0] }] : null;

const sortOrder = (op: Extract<PlanOp, { readonly kind: 'sort' | 'top' }>): readonly Order[] | null => {
  const [key] = op.keys;
  const path = key && pathOf(key.expr);
  return op.keys.length === 1 && path
    ? [{ order: (key!.order === 'asc') !== op.reverse ? 'asc' : 'desc', key: path }]
    : null;
};

/** The order by where its keys are now; none where one is gone. */
const moved = (
  sort: readonly Order[] | null,
  placeOf: (path: FieldPath) => FieldPath | undefined,
): readonly Order[] | null => {
  const orders = (sort ?? []).map(({ order, key }) => ({ order, key: placeOf(key) }));
  return sort && orders.every((o): o is Order => o.key !== undefined) ? orders : null;
};
const renamed = (path: FieldPath, from: FieldPath, to: FieldPath): FieldPath | undefined => {
  if (startsWith(path, from)) return [...to, ...path.slice(from.length)];
  return startsWith(path, to) || startsWith(to, path) ? undefined : path;
};
const startsWith = (path: FieldPath, start: FieldPath): boolean => start.every((name, i) => path[i] === name);
const touches = (sort: readonly Order[] | null, path: FieldPath): boolean =>
  (sort ?? []).some(({ key }) => startsWith(key, path) || startsWith(path, key));
