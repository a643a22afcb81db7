/** What a window op is made of: the columns that a group of calls looks at, and how each call is worked out. */
import { exprKey, literal } from '../../../query/plan/walk.ts';
import type { FrameEdge, PlanExpr, WindowCall, WindowGroup } from '../../../query/plan/plan.ts';
import { nullValue } from '../../../vectors/value.ts';
import { sizeOf } from '../../../vectors/sizes.ts';
import { type Field, type Vector, bools, flatten, noRows } from '../../../vectors/vector.ts';
import { constantOf } from '../../../vectors/builder.ts';
import { aggregateNamed, stateFor } from '../../aggregates/aggregates.ts';
import { isGuarded } from '../../expressions/compile.ts';
import type { AsyncEvaluator } from '../../expressions/evaluator.ts';
import { isTrue, tidy } from '../../expressions/rows.ts';
import { type Carry, aggregateOver } from '../../windows/aggregates.ts';
import { type Carried, type Segment, segmentOf } from '../../windows/segment.ts';
import { framesFor, windowNamed } from '../../windows/windows.ts';
import type { Build } from '../build.ts';
import { field, record } from '../rows/records.ts';
import type { Direction } from '../sort/words.ts';

/** Expressions that a group looks at, each evaluated once a row; literals are no columns. */
export class Columns {
  readonly evaluators: AsyncEvaluator[] = [];
  private readonly byKey = new Map<string, Column>();
  private readonly compile: (e: PlanExpr) => AsyncEvaluator;
  constructor(compile: (e: PlanExpr) => AsyncEvaluator) {
    this.compile = compile;
  }
  /** `truth`: 1 where it is true, for filters. */
  add(e: PlanExpr, truth = false): Column {
    if (e.kind === 'literal' && !truth) return (_columns, length) => constantOf(e.value, length);
    const key = `${truth ? '?' : ''}${exprKey(e)}`;
    let column = this.byKey.get(key);
    if (!column) {
      const at = this.evaluators.push(truth ? trueOf(this.compile(e)) : this.compile(e)) - 1;
      this.byKey.set(key, (column = (columns) => columns[at]!));
    }
    return column;
  }
}
/** A column of a segment. */
type Column = (columns: readonly Vector[], length: number) => Vector;

const trueOf =
  (test: AsyncEvaluator): AsyncEvaluator =>
  (batch) => {
    const truth = test(batch);
    return truth instanceof Promise ? truth.then(mask) : mask(truth);
  };
const mask = (truth: Vector): Vector => {
  const values = new Uint8Array(truth.length);
  for (const row of isTrue(truth)) values[row] = 1;
  return bools(values);
};

/** A group of calls made ready: where its keys are among the columns, and how each call is computed. */
export interface WindowParts {
  readonly build: Build;
  readonly columns: Columns;
  readonly partition: readonly Column[];
  readonly order: readonly Column[];
  readonly directions: readonly Direction[];
  readonly calls: readonly WindowCompute[];
  /** Every call looks back alone: partitions may be cut between peer groups. */
  readonly looksBack: boolean;
}
interface WindowCompute {
  readonly target: string;
  /** `carry` for aggregates over partitions that are cut: the same object for each segment. */
  readonly compute: (segment: Segment, columns: readonly Vector[], carry?: Carry) => Vector;
}

/** Makes a group of calls ready; `columns` takes in the expressions that they look at. */
export const partsOf = (group: WindowGroup, columns: Columns, build: Build): WindowParts => ({
  build,
  columns,
  directions: group.order,
  partition: group.partition.map((e) => columns.add(e)),
  order: group.order.map((k) => columns.add(k.expr)),
  calls: group.calls.map((c) => ({ target: c.target, compute: computer(c, columns) })),
  looksBack: group.calls.every(looksBack),
});

const ranks: ReadonlySet<string> = new Set(['row_number', 'rank', 'dense_rank']);
/** The window function that is called; first and last of ordered rows are aggregates. */
const functionOf = ({ name, order }: WindowCall): ReturnType<typeof windowNamed> =>
  order ? undefined : windowNamed(name);
const looksBack = (call: WindowCall): boolean => {
  const { name, frame } = call;
  return (
    ranks.has(name) ||
    (functionOf(call) === undefined &&
      frame.start.kind === 'unbounded' &&
      frame.end.kind === 'current' &&
      frame.exclude === 'none')
  );
};

/** The edges of the frame whose offsets are arguments. */
const offsetsOf = ({ frame }: WindowCall): readonly FrameEdge[] =>
  [frame.start, frame.end].filter((edge) => 'argument' in edge);

const computer = (call: WindowCall, columns: Columns): WindowCompute['compute'] => {
  // What may end the query is asked of the rows alone that the filter lets pass.
  const guarded = (e: PlanExpr): PlanExpr =>
    call.where && isGuarded(e) ? { kind: 'conditional', test: call.where, then: e, otherwise: literal(nullValue) } : e;
  const given = call.arguments.map((e) => columns.add(guarded(e)));
  const where = call.where && columns.add(call.where, true);
  const own = functionOf(call);
  const args = given.slice(0, given.length - offsetsOf(call).length);
  const framesIn = (segment: Segment, all: readonly Vector[]) =>
    framesFor(segment, call.frame, (index) => given[index]!(all, segment.length));
  if (own) {
    return (segment, all) =>
      own.compute({
        segment,
        arguments: args.map((c) => c(all, segment.length)),
        ignoreNulls: call.ignoreNulls,
        frames: framesIn(segment, all),
      });
  }
  const aggregate = aggregateNamed(call.name);
  if (!aggregate) throw new Error(`no window function ${call.name}`);
  const [argument] = args;
  const make = () => stateFor(aggregate, { ...call, all: !argument });
  return (segment, all, carry) => {
    const passes = where && flatten(where(all, segment.length));
    return aggregateOver({
      segment,
      frames: framesIn(segment, all)(),
      name: call.name,
      form: call,
      make,
      ...(argument && { argument: argument(all, segment.length) }),
      ...(passes?.form === 'bool' && { passes: passes.values }),
      ...(carry && { carry }),
    });
  };
};

/** How partition keys are sorted. */
export const ascending: Direction = { order: 'asc', nulls: 'last' };

/** The segment of sorted columns. */
export const segmentOver = (
  parts: WindowParts,
  marks: Uint8Array,
  length: number,
  columns: readonly Vector[],
  carried?: Carried,
): Segment =>
  segmentOf(
    marks,
    length,
    parts.order.map((c) => c(columns, length)),
    parts.directions,
    carried,
  );

/** The results of all calls over sorted columns. */
export const resultsOf = (
  parts: WindowParts,
  segment: Segment,
  columns: readonly Vector[],
  carries?: readonly Carry[],
): readonly Field[] => parts.calls.map((c, k) => field(c.target, tidy(c.compute(segment, columns, carries?.[k]))));

/** What a row takes besides its columns: its place in partition, group and frame. */
export const placeBytes = 24;

/** Bytes of a vector; of a view of many rows only its share. */
export const shownBytes = (v: Vector): number => {
  if (v.form === 'record') return v.fields.reduce((n, f) => n + shownBytes(f.values), 0);
  return v.form === 'selected'
    ? v.length * 4 + shownBytes(v.base) * Math.min(1, v.length / Math.max(1, v.base.length))
    : sizeOf(v);
};

/** Records with more fields. */
export const withFields = (rows: Vector, fields: readonly Field[]): Vector => {
  const flat = rows.length > 0 ? flatten(rows) : noRows;
  if (flat.form !== 'record') throw new Error('rows of a window are records');
  return record([...flat.fields, ...fields], flat.length);
};
