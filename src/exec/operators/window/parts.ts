/** What a window op is made of: the columns that a group of calls looks at, and how each call is worked out. */
import { exprKey, literal } from '../../../query/plan/walk.ts';
import type { FrameEdge, PlanExpr, WindowCall, WindowGroup } from '../../../query/plan/plan.ts';
import { nullValue } from '../../../vectors/value.ts';
import { sizeOf } from '../../../vectors/sizes.ts';
import { type Field, type Vector, bools, flatten, gather, noRows, range, slice } from '../../../vectors/vector.ts';
import { concat } from '../../../vectors/concat.ts';
import { isInteger } from '../../../vectors/type.ts';
import { constantOf } from '../../../vectors/builder.ts';
import { aggregateNamed, stateFor } from '../../aggregates/aggregates.ts';
import { isGuarded } from '../../expressions/compile.ts';
import type { AsyncEvaluator } from '../../expressions/evaluator.ts';
import { isTrue, tidy } from '../../expressions/rows.ts';
import type { Carry } from '../../windows/aggregate-input.ts';
import { aggregateOver } from '../../windows/aggregates.ts';
import type { Around } from '../../windows/places.ts';
import { type Carried, type Segment, partitionCount, segmentOf } from '../../windows/segment.ts';
import { orderedNamed } from '../../windows/ordered.ts';
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
      this.byKey.set(key, (column = (columns) => columns[at]));
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
  /**
   * Every call looks back, or at so many rows ahead: partitions may be cut between peer groups. Undefined: some call
   * may look at any row of its partition.
   */
  readonly ahead: number | undefined;
  /** No call asks which rows are peers: partitions may be cut anywhere. Without an order all rows are peers. */
  readonly isOfRows: boolean;
}
interface WindowCompute {
  readonly target: string;
  readonly compute: (segment: Segment, columns: readonly Vector[], cut?: Cut) => Vector;
}
/**
 * Of a partition that is cut: what the call keeps from segment to segment, in the same object each time, and the
 * columns of the rows of the partition that come next, as many as calls look ahead.
 */
export interface Cut {
  readonly carry: Carry;
  readonly next?: { readonly columns: readonly Vector[]; readonly length: number };
}

/** Makes a group of calls ready; `columns` takes in the expressions that they look at. */
export const partsOf = (group: WindowGroup, columns: Columns, build: Build): WindowParts => ({
  build,
  columns,
  directions: group.order,
  partition: group.partition.map((e) => columns.add(e)),
  order: group.order.map((k) => columns.add(k.expr)),
  calls: group.calls.map((c) => ({ target: c.target, compute: computer(c, columns) })),
  ahead: group.calls
    .map(aheadOf)
    .reduce((most, n) => (most === undefined || n === undefined ? undefined : Math.max(most, n)), 0),
  isOfRows: group.calls.every(
    (c) =>
      (c.name === 'row_number' && !c.order) ||
      stepsOf(c) !== undefined ||
      (!ranks.has(c.name) && c.frame.unit === 'rows'),
  ),
});

const ranks: ReadonlySet<string> = new Set(['row_number', 'rank', 'dense_rank']);
/** The window function that is called; first and last of ordered rows are aggregates. */
const functionOf = ({ name, order }: WindowCall): ReturnType<typeof windowNamed> =>
  order ? undefined : windowNamed(name);
/** How many rows ahead a call looks; undefined: at any row of the partition. */
const aheadOf = (call: WindowCall): number | undefined => {
  const { name, frame } = call;
  if (ranks.has(name) && !call.order) return 0;
  const steps = stepsOf(call);
  if (steps !== undefined) return name === 'lead' ? steps : 0;
  return functionOf(call) === undefined &&
    !(call.order && orderedNamed(name)) &&
    frame.start.kind === 'unbounded' &&
    frame.end.kind === 'current' &&
    frame.exclude === 'none'
    ? 0
    : undefined;
};

/** So many rows may lie between a row and that which lag or lead gives where partitions are cut. */
const stepsMax = 1024;
/** How far lag or lead looks; undefined for other calls, and where that is not known or too far. */
const stepsOf = (call: WindowCall): number | undefined => {
  if ((call.name !== 'lag' && call.name !== 'lead') || call.ignoreNulls || !functionOf(call)) return undefined;
  const [, offset] = call.arguments;
  if (!offset) return 1;
  const value = offset.kind === 'literal' ? offset.value : undefined;
  const steps = value && isInteger(value.type) ? Number(value.data) : undefined;
  return steps !== undefined && steps >= 0 && steps <= stepsMax ? steps : undefined;
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
    framesFor(segment, call.frame, (index) => given[index](all, segment.length));
  if (own) {
    const steps = stepsOf(call);
    return (segment, all, cut) => {
      const values = args.map((c) => c(all, segment.length));
      return own.compute({
        segment,
        arguments: values,
        ignoreNulls: call.ignoreNulls,
        frames: framesIn(segment, all),
        ...(cut && steps !== undefined && { around: aroundOf(segment, values[0], steps, cut, args[0]) }),
      });
    };
  }
  const ordered = call.order && orderedNamed(call.name);
  if (ordered && call.order) {
    const directions = call.order;
    const count = args.length - directions.length;
    return (segment, all) => {
      const values = args.map((c) => c(all, segment.length));
      return ordered({
        segment,
        frames: framesIn(segment, all)(),
        arguments: values.slice(0, count),
        keys: values.slice(count),
        directions,
        ignoreNulls: call.ignoreNulls,
      });
    };
  }
  const aggregate = aggregateNamed(call.name);
  if (!aggregate) throw new Error(`no window function ${call.name}`);
  const [argument] = args;
  const make = () => stateFor(aggregate, { ...call, all: !argument });
  return (segment, all, cut) => {
    const passes = where && flatten(where(all, segment.length));
    return aggregateOver({
      segment,
      frames: framesIn(segment, all)(),
      name: call.name,
      form: call,
      make,
      ...(argument && { argument: argument(all, segment.length) }),
      ...(passes?.form === 'bool' && { passes: passes.values }),
      ...(cut && { carry: cut.carry }),
    });
  };
};

/** What lag and lead see beyond a segment; the end of what they saw is kept for the next one. */
const aroundOf = (segment: Segment, values: Vector, steps: number, { carry, next }: Cut, column: Column): Around => {
  const before = segment.carried.rows > 0 && carry.values ? carry.values : noRows;
  const last = segment.partitionStarts[partitionCount(segment) - 1];
  const own = slice(values, Math.max(last, segment.length - steps), segment.length);
  const room = last === 0 ? Math.min(before.length, steps - own.length) : 0;
  carry.values = gather(concat([slice(before, before.length - room, before.length), own]), range(0, room + own.length));
  return { before, after: next ? column(next.columns, next.length) : noRows };
};

/** How partition keys are sorted: in SELECT's order, which tells long decimals of one nearest float apart. */
export const ascending: Direction = { order: 'asc', nulls: 'last', sql: true };

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
  cuts?: readonly Cut[],
): readonly Field[] => parts.calls.map((c, k) => field(c.target, tidy(c.compute(segment, columns, cuts?.[k]))));

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
