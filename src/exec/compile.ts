/** Plans to running streams: which operator does what a plan's op says. */
import { strict as assert } from 'node:assert';
import { isSourced } from '../query/plan/walk.ts';
import type { Pipeline, Plan, PlanExpr, PlanFunction, PlanOp, PlanOpKind, SortKey } from '../query/plan/plan.ts';
import { type Split, splitOf } from '../query/plan/split.ts';
import type { Vector } from '../vectors/vector.ts';
import { compileAsync, compileCondition, needsDriver } from './expressions/compile.ts';
import type { AsyncEvaluator, ExpressionContext } from './expressions/evaluator.ts';
import { FloatRoom } from './expressions/float-room.ts';
import { Counters, analysisOf } from './counters.ts';
import type { OperatorCount } from './source.ts';
import { counting } from './context.ts';
import { Emission, type Item, type Step, type Stream, drive, eachBatch, narrowing, wait } from './operator.ts';
import { functionCatalog } from './functions/functions.ts';
import { aggregate, keepsNoRows } from './operators/aggregate.ts';
import { type BlockTotals, blockTotals } from './operators/block-totals.ts';
import { applyRunner, lateral } from './operators/nested/apply.ts';
import { assertion } from './operators/assert.ts';
import { type Build, Memory, type PipelineRun } from './operators/build.ts';
import { count } from './operators/count.ts';
import { cut } from './operators/cut.ts';
import { debug } from './operators/debug.ts';
import { distinct } from './operators/distinct.ts';
import { drop } from './operators/drop.ts';
import { filter } from './operators/filter.ts';
import { rowTest } from './operators/rows/row-test.ts';
import { fork, inTurn, switchOver, through, together } from './operators/fork.ts';
import { fromEach } from './operators/nested/from-each.ts';
import { fuse } from './operators/fuse.ts';
import { gathering } from './operators/rows/gather.ts';
import { groupSlice } from './operators/rows/group-slice.ts';
import { head } from './operators/head.ts';
import { withColumns } from './operators/join/columns.ts';
import { join } from './operators/join/join.ts';
import { changeRows, changeView, load } from './operators/load.ts';
import { mergeSorted } from './operators/merge.ts';
import { nameOf, namedStream } from './operators/named.ts';
import { output } from './operators/output.ts';
import { type Assign, put } from './operators/put.ts';
import { recursive, workingRows } from './operators/nested/recursive.ts';
import { sharedRows } from './operators/nested/shared.ts';
import { rename } from './operators/rename.ts';
import { type TotalsSink, nothing, oneNull, scan } from './operators/scan.ts';
import { setOperation } from './operators/set-operation.ts';
import { shapes } from './operators/shapes.ts';
import { skip } from './operators/skip.ts';
import { sort } from './operators/sort/sort.ts';
import { leading } from './operators/window/leading.ts';
import { subqueries } from './operators/nested/subquery.ts';
import { tail } from './operators/tail.ts';
import { type TopOptions, top } from './operators/sort/top.ts';
import { uniq } from './operators/uniq.ts';
import { unnest } from './operators/unnest.ts';
import { values } from './operators/values.ts';
import { window } from './operators/window/window.ts';
import type { PartPlan, PartWorker, ShareScan } from './source.ts';
import { answering, merged } from './parts.ts';
import type { ChannelBatch, ExecutionHost } from './source.ts';
import type { ExecutionContext } from './context.ts';

/**
 * Runs a plan: batches as they come, each with its channel. Ends early when the consumer returns or `context.signal`
 * aborts.
 */
export async function* execute(plan: Plan, context: ExecutionContext): AsyncGenerator<ChannelBatch> {
  yield* plan.analyze ? analyzed(plan, context) : executed(plan, context);
}

/** Runs the plan for what its operators do: its rows are counted and not given. */
async function* analyzed(plan: Plan, context: ExecutionContext): AsyncGenerator<ChannelBatch> {
  const counters = new Counters();
  const began = performance.now();
  let rows = 0;
  for await (const { batch } of executed(plan, counting(context, counters))) rows += batch.length;
  yield { channel: 'main', batch: analysisOf(plan, counters, { rows, ms: performance.now() - began }) };
}

async function* executed(plan: Plan, context: ExecutionContext): AsyncGenerator<ChannelBatch> {
  const build = newBuild(plan.functions, context);
  const { divide } = context.host;
  const split = divide && splitOf(plan, functionCatalog);
  const stream = divide && split ? divided(plan, split, divide, build) : build.step(plan.pipeline)(nothing());
  try {
    for await (const item of drive(stream, context.signal))
      yield item instanceof Emission ? item : { channel: 'main', batch: item };
  } finally {
    for (const rows of build.shared.values()) rows.close();
  }
}

/** The main pipeline over shares of its scan if the host gives any. */
function* divided(
  plan: Plan,
  split: Split,
  divide: NonNullable<ExecutionHost['divide']>,
  build: Build,
): Generator<Item> {
  const { counters } = build.context;
  const part: PartPlan = {
    ops: split.part,
    aggregate: split.aggregate,
    functions: plan.functions,
    ...(counters && { isCounted: true }),
  };
  const division = yield* wait(divide(part, counters?.scanOf(split.part[0]!)));
  if (!division) return yield* build.step(plan.pipeline)(nothing());
  const { work, stream } = partWorker(part, build.context, division.thread, build.memory);
  // What is done once more with the answers gives its rows there.
  const heard =
    counters &&
    ((counts: readonly OperatorCount[]): void => {
      countedOps(part).forEach((op, k) => {
        counters.add(op, counts[k]!, op !== split.aggregate && !split.rest.includes(op));
      });
    });
  const best = counters ? undefined : bestOf(split.rest, 0);
  const answers = merged(division, { own: work, rest: () => stream(division.rest), heard, best }, part, build);
  yield* build.step({ ops: split.rest })(counters ? counters.counted(split.aggregate, answers, false) : answers);
}
const countedOps = ({ ops, aggregate }: PartPlan): readonly PlanOp[] => (aggregate ? [...ops, aggregate] : ops);

/**
 * What does a part's work in this thread. `stream`: the rows of a share behind the part's operators, without its
 * aggregate.
 */
export const partWorker = (
  part: PartPlan,
  context: ExecutionContext,
  thread: number,
  memory = new Memory(context.memoryBytesMax),
): { readonly work: PartWorker; readonly stream: (scan: ShareScan) => Stream } => {
  let current: ShareScan | undefined;
  const { counters: _, ...uncounted } = context;
  const counters = part.isCounted ? new Counters() : undefined;
  const host: ExecutionHost = { ...context.host, scan: (_source, request) => current!(request) };
  const build = newBuild(part.functions, { ...uncounted, host, ...(counters && { counters }) }, memory);
  const { ops, totals } = withTotals(part);
  const step = build.step({ ops });
  const answer = answering(part, build, { thread, totals });
  const over =
    (run: Step) =>
    (scan: ShareScan): Stream => {
      current = scan;
      return run(nothing());
    };
  const answered = over(step);
  const stream: typeof answered = (scan) => over(totals ? build.step({ ops: part.ops }) : step)(scan);
  if (!counters) return { stream, work: (scan) => answer(answered(scan)) };
  return {
    stream,
    work: async (scan) => ({ ...(await answer(answered(scan))), counts: counters.take(countedOps(part)) }),
  };
};

/** The part's operators, with what its scan and its aggregate share if the rows are wanted as a whole. */
const withTotals = ({
  ops,
  aggregate: op,
  isCounted,
}: PartPlan): { readonly ops: readonly PlanOp[]; readonly totals?: TotalsSink & BlockTotals } => {
  const [first, ...others] = ops;
  if (first?.kind !== 'scan' || others.length > 0 || !op) return { ops };
  const totals = totalsSink(first, op, isCounted === true);
  if (!totals) return { ops };
  const scanned = { ...first, totals };
  return { ops: [scanned], totals };
};

/** An expression on its own; its subqueries run in `context`. */
export const compileAlone = (
  expr: PlanExpr,
  functions: readonly PlanFunction[],
  context: ExecutionContext,
): AsyncEvaluator => newBuild(functions, context).expression(expr);

type Outer = ReadonlyMap<number, () => readonly Vector[]>;

const newBuild = (
  functions: readonly PlanFunction[],
  context: ExecutionContext,
  memory = new Memory(context.memoryBytesMax),
  callDepth = 0,
  outer: Outer = new Map(),
  working: Build['working'] = new Map(),
  shared: Build['shared'] = new Map(),
): Build => {
  const build: Build = {
    context,
    memory,
    working,
    shared,
    dependent: (body, depth) => {
      let values: readonly Vector[] = [];
      const own = newBuild(
        functions,
        context,
        memory,
        depth,
        new Map([...outer, [body.level, () => values]]),
        new Map(working),
        shared,
      );
      return {
        step: own.step(body.pipeline),
        set: (given) => {
          values = given;
        },
      };
    },
    expression: (expr) => compileAsync(expr, expressions),
    condition: (expr) => compileCondition(expr, expressions),
    step: (p) => {
      const run = runOf(p, build);
      return (input) => one(run([input]));
    },
  };
  const subquery = subqueries((p, depth) =>
    (depth === callDepth ? build : newBuild(functions, context, memory, depth, outer, new Map(working), shared)).step(
      p,
    ),
  );
  const expressions: ExpressionContext = {
    functions,
    names: context.names,
    subquery,
    callDepth,
    apply: (expr) => applyRunner(expr, build),
    outer: (level) => {
      const values = outer.get(level);
      assert(values, 'a pipeline that depends on outer values has them');
      return values();
    },
  };
  return build;
};

const one = (streams: readonly Stream[]): Stream => (streams.length === 1 ? streams[0]! : together(streams));

const runOf = (p: Pipeline, build: Build): PipelineRun => {
  const { reshape, counters } = build.context;
  const reshaped = reshape && eachBatch(reshape);
  const runs = chained(p.ops, counters !== undefined).map(({ op, of }): PipelineRun => {
    const plain = makers[op.kind](op as never, build);
    const name = nameOf(op);
    const told: PipelineRun =
      name === undefined ? plain : (inputs) => plain(inputs).map((stream) => namedStream(stream, name));
    const run: PipelineRun = reshaped ? (inputs) => told(inputs).map(reshaped) : told;
    return counters
      ? (inputs) =>
          run(inputs).map((stream) => of.reduce<Stream>((s, one) => narrowing(counters.counted(one, s), s), stream))
      : run;
  });
  return (inputs) => runs.reduce<readonly Stream[]>((streams, run) => run(streams), inputs);
};

/** A sort of which the last rows alone are wanted, beyond so many rows it is as good. */
const lastMax = 100_000;
/**
 * Ops that are done together: `top` for sort and tail, a scan that knows of the top or the count behind it, a put whose
 * rows are aggregated at once.
 */
type ChainedOp =
  | PlanOp
  | (Extract<PlanOp, { kind: 'scan' }> & {
      readonly best?: TopOptions;
      readonly counted?: boolean;
      readonly totals?: TotalsSink;
    })
  | (Extract<PlanOp, { kind: 'aggregate' }> & {
      readonly best?: TopOptions;
      readonly totals?: TotalsSink & BlockTotals;
    })
  | (Extract<PlanOp, { kind: 'put' }> & { readonly isPassing?: boolean })
  | (TopOptions & { readonly kind: 'last' });
/** `of`: the ops of the plan that it does. */
interface Chained {
  readonly op: ChainedOp;
  readonly of: readonly PlanOp[];
}
const chained = (ops: readonly PlanOp[], isCounted: boolean): readonly Chained[] => {
  const out: Chained[] = [];
  for (let i = 0; i < ops.length; i++) {
    const op = ops[i]!;
    const next = ops[i + 1];
    const best = bestOf(ops, i);
    const last = best?.end === 'last' ? best : undefined;
    const chainedBefore = out.at(-1);
    const before = chainedBefore?.op;
    // Counters count rows.
    if (best && (before?.kind === 'scan' || (before?.kind === 'aggregate' && !isCounted)))
      out[out.length - 1] = { ...chainedBefore!, op: { ...before, best } };
    if (
      before?.kind === 'scan' &&
      op.kind === 'aggregate' &&
      countsRows(op) &&
      before.columns?.length === 0 &&
      !before.filter &&
      !before.pruner
    )
      out[out.length - 1] = { ...chainedBefore!, op: { ...before, counted: true } };
    if (last) i++;
    const sink = before?.kind === 'scan' && op.kind === 'aggregate' ? totalsSink(before, op, isCounted) : undefined;
    if (sink && before?.kind === 'scan') out[out.length - 1] = { ...chainedBefore!, op: { ...before, totals: sink } };
    const isPassing =
      op.kind === 'put' &&
      next?.kind === 'aggregate' &&
      keepsNoRows(next) &&
      op.assignments.every((a) => !needsDriver(a.value));
    if (last) out.push({ op: { kind: 'last', ...last }, of: [op, next!] });
    else if (sink && op.kind === 'aggregate') out.push({ op: { ...op, totals: sink }, of: [op] });
    else out.push({ op: isPassing ? { ...op, isPassing } : op, of: [op] });
  }
  return out;
};

/** What the operators from `at` on keep of the rows, if that is some of the sort order. */
const bestOf = (ops: readonly PlanOp[], at: number): TopOptions | undefined => {
  const op = ops[at];
  const next = ops[at + 1];
  if (op?.kind === 'top') return { keys: op.keys, reverse: op.reverse, count: op.count, end: 'first' };
  return op?.kind === 'sort' && next?.kind === 'tail' && next.count <= lastMax
    ? { keys: op.keys, reverse: op.reverse, count: next.count, end: 'last' }
    : undefined;
};

/** Where the scan leaves what blocks come to for the aggregate behind it; undefined if that needs their rows. */
const totalsSink = (
  scanned: Extract<PlanOp, { kind: 'scan' }>,
  op: Extract<PlanOp, { kind: 'aggregate' }>,
  isCounted: boolean,
): (TotalsSink & BlockTotals) | undefined => {
  const totals = scanned.ordered || isCounted ? undefined : blockTotals(op);
  return totals && (totals.of.length > 0 || scanned.filter) ? { ...totals } : undefined;
};

/** Whether it asks for nothing but how many rows there are. */
const countsRows = ({ keys, aggregates }: Extract<PlanOp, { kind: 'aggregate' }>): boolean =>
  keys.length === 0 &&
  aggregates.every(({ aggregate: a }) => a.name === 'count' && !a.argument && !a.where && !a.distinct);

/** The op of a kind, those that share their form too. */
type OpOf<K extends PlanOpKind, O extends PlanOp = PlanOp> = O extends PlanOp
  ? K extends O['kind']
    ? O
    : never
  : never;
type Maker<K extends PlanOpKind> = (op: OpOf<K>, build: Build) => PipelineRun;

/** An operator with one input. */
const step =
  (s: Step): PipelineRun =>
  (inputs) => [s(one(inputs))];
/** A sort of the rows alone that may be the first of those that are equal in so many keys. */
const firstOfGroups = (keys: readonly SortKey[], count: number, sorted: Step, build: Build): Step => {
  const group = { partition: keys.slice(0, count).map((k) => k.expr), order: keys.slice(count) };
  const leaders = leading(group, { count: 1, unless: [] }, { row: '', build, overRow: build.expression });
  return (input) => sorted(leaders(input));
};
/** An operator that begins a stream. */
const source =
  (open: () => Stream): PipelineRun =>
  () => [open()];

const assigns = (list: Extract<PlanOp, { kind: 'put' | 'cut' }>['assignments'], build: Build): readonly Assign[] =>
  list.map((a) => ({ target: a.target, value: build.expression(a.value) }));

const makeFork = (op: Extract<PlanOp, { kind: 'fork' }>, build: Build): PipelineRun => {
  const branches = op.branches.map((b) => ({ step: build.step(b), reads: !isSourced(b.ops) }));
  const readers = branches.filter((b) => b.reads).length;
  return (inputs) => {
    const ports = readers === 0 ? [] : [...fork(one(inputs), readers)];
    return branches.map((b) => (b.reads ? through(ports.shift()!, b.step) : b.step(nothing())));
  };
};

const makeSwitch = (op: Extract<PlanOp, { kind: 'switch' }>, build: Build): PipelineRun => {
  const cases = op.cases.map((c) => ({ test: c.test && build.expression(c.test) }));
  const branches = op.cases.map((c) => build.step(c.branch));
  const dropMissing = op.dropMissing && build.expression(op.dropMissing);
  return (inputs) => switchOver(one(inputs), cases, dropMissing).map((port, k) => through(port, branches[k]!));
};

const makeJoin = (op: Extract<PlanOp, { kind: 'join' }>, build: Build): PipelineRun => {
  const run = join(op, build);
  if (!op.right) return ([left, right]) => [run(left!, right!)];
  const right = build.step(op.right);
  return (inputs) => [run(withColumns(one(inputs), op.leftColumns), withColumns(right(nothing()), op.rightColumns))];
};

const makers: { readonly [K in PlanOpKind]: Maker<K> } & {
  readonly last: (op: TopOptions, build: Build) => PipelineRun;
} = {
  scan: (op, build) => source(scan(op, build)),
  last: (op, build) => step(top(op, build)),
  null: () => source(oneNull),
  empty: () => source(nothing),
  pass: () => (inputs) => inputs,
  values: (op, build) =>
    step(gathering(values(op.exprs.map(build.expression), build.context.batchRows), op.exprs, build)),
  filter: (op, build) => step(gathering(filter(rowTest(op.expr, build)), [op.expr], build)),
  cut: (op, build) => step(cut(assigns(op.assignments, build))),
  put: (op: OpOf<'put'> & { readonly isPassing?: boolean }, build) => {
    const assignments = assigns(op.assignments, build);
    return (inputs) => [put(assignments, op.isPassing ? new FloatRoom() : undefined)(one(inputs))];
  },
  rename: (op) => step(rename(op.assignments)),
  drop: (op) => step(drop(op.paths)),
  head: (op) => step(head(op.count)),
  tail: (op, build) => step(tail(op.count, build)),
  skip: (op) => step(skip(op.count)),
  sort: (op, build) => {
    const sorted = sort(op.keys, op.reverse, build);
    return step(op.groupKeys === undefined ? sorted : firstOfGroups(op.keys, op.groupKeys, sorted, build));
  },
  top: (op, build) => step(top({ ...op, end: 'first' }, build)),
  uniq: (op) => step(uniq(op.withCount)),
  distinct: ({ expr, sql, order }, build) =>
    step(
      distinct(build.expression(expr), build, {
        sql: sql === true,
        order: order && ((rows) => sort(order, false, build)(rows)),
      }),
    ),
  fuse: (_op, build) => step(fuse(build)),
  shapes: (op, build) => step(shapes(build.expression(op.expr))),
  count: (op, build) => step(count(op.expr && build.expression(op.expr), op.field)),
  assert: (op, build) => step(assertion(build.expression(op.expr), op.text)),
  debug: (op, build) => step(debug(build.expression(op.expr), build.context.host.debug)),
  output: (op) => step(output(op.channel)),
  load: (op, build) => step(load(op, build.context)),
  changeRows: (op, build) => step(changeRows(op, build.context)),
  changeView: (op, build) => step(changeView(op.change, build.context)),
  unnest: (op, build) =>
    step(
      unnest(build.expression(op.expr), {
        into: op.into && build.step(op.into),
        rowsMax: build.context.batchRows,
        sql: op.sql === true,
      }),
    ),
  aggregate: (op, build) => step(aggregate(op, build)),
  window: (op, build) => step(window(op, build)),
  join: makeJoin,
  setOperation: (op, build) => {
    const run = setOperation(op, build);
    const right = op.right && build.step(op.right);
    return right ? (inputs) => [run(one(inputs), right(nothing()))] : ([left, other]) => [run(left!, other!)];
  },
  recursive: (op, build) => source(recursive(op, build)),
  working: (op, build) => source(workingRows(op.id, build)),
  shared: (op, build) => source(sharedRows(op, build)),
  lateral: (op, build) => step(lateral(op, build)),
  groupSlice: (op, build) => step(groupSlice(build.expression(op.group), op.skip, op.count, build.memory)),
  fork: makeFork,
  switch: makeSwitch,
  merge: (op, build) => {
    const keys = op.keys.map(({ expr, ...direction }) => ({ ...direction, evaluate: build.expression(expr) }));
    return (inputs) => [mergeSorted(inputs, keys, build.context.batchRows)];
  },
  combine: (op, build) => {
    const branches = op.branches.map(build.step);
    return source(() => inTurn(branches.map((b) => () => b(nothing()))));
  },
  fromEach: (op, build) => step(fromEach(build.expression(op.expr), op.format, build.context)),
};
