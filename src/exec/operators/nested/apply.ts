/**
 * Pipelines that depend on outer values, run for batches of them: subqueries in expressions, and LATERAL.
 *
 * Equal combinations of outer values share one run. A subquery in an expression remembers the answers of the
 * combinations that it met, within the budget.
 */
import type { Correlated, PlanExpr, PlanOp } from '../../../query/plan/plan.ts';
import { someForm } from '../../../vectors/forms.ts';
import { isTurnLong, nextTurn, working } from '../../../vectors/stop.ts';
import { types } from '../../../vectors/type.ts';
import { concat } from '../../../vectors/concat.ts';
import { sizeOf } from '../../../vectors/sizes.ts';
import {
  type Vector,
  bools,
  dataAt,
  flatten,
  gather,
  noRows,
  nulls,
  numbers,
  range,
  take,
} from '../../../vectors/vector.ts';
import { GroupTable } from '../../aggregates/grouping/groups.ts';
import { sortByGroup } from '../../aggregates/lists.ts';
import { fieldOf } from '../../expressions/access.ts';
import type { ApplyRunner, AsyncEvaluator } from '../../expressions/evaluator.ts';
import { combine, isTrue, tidy } from '../../expressions/rows.ts';
import { type Item, type Side, type Step, batches, eachBatch, evaluate, isBatch, wait } from '../../operator.ts';
import type { Build } from '../build.ts';
import { compact } from '../compact.ts';
import { leftAlone } from '../join/probe.ts';
import { field, record, shapesOf, together } from '../rows/records.ts';
import { nothing } from '../scan.ts';
import { formGroups } from './subquery.ts';

/** Answers that a subquery remembers, at most. */
const memoMax = 1 << 16;

/**
 * What came of several combinations of outer values: row i belongs to combination ids[i]; rows of one keep their order.
 */
interface Results {
  readonly rows: Vector;
  readonly ids: Uint32Array;
}

/** A pipeline that depends on outer values, made ready. */
class Dependent {
  private readonly body: Correlated;
  private readonly build: Build;
  private readonly steps = new Map<number, ReturnType<Build['dependent']>>();
  /** Each run uses the outer values for itself. */
  private readonly turns = inTurns<Results>();
  constructor(body: Correlated, build: Build) {
    this.body = body;
    this.build = build;
  }

  /** Runs the pipeline for each row of the values. */
  run(values: readonly Vector[], length: number, callDepth: number): Results | Promise<Results> {
    return this.turns(() => {
      const items =
        this.body.mode === 'joined' ? this.joined(values, length, callDepth) : this.each(values, length, callDepth);
      const results: Results[] = [];
      const { memory, context } = this.build;
      let held = 0;
      const keep = ({ rows, ids }: Results): void => {
        const own = compact(rows);
        const bytes = sizeOf(own) + ids.byteLength;
        results.push({ rows: own, ids });
        held += bytes;
        memory.hold(bytes, 'subquery');
      };
      const done = (): Results => {
        memory.add(-held);
        return { rows: concat(results.map((r) => r.rows)), ids: joinedIds(results.map((r) => r.ids)) };
      };
      return drain(items, keep, context.signal)?.then(done) ?? done();
    });
  }

  private ready(callDepth: number): ReturnType<Build['dependent']> {
    let ready = this.steps.get(callDepth);
    if (!ready) this.steps.set(callDepth, (ready = this.build.dependent(this.body, callDepth)));
    return ready;
  }

  private *joined(values: readonly Vector[], length: number, callDepth: number): Generator<Side | Results> {
    const { step } = this.ready(callDepth);
    const ids = numbers(
      types.int64,
      Float64Array.from({ length }, (_, i) => i),
    );
    const outer = record([field('id', ids), ...values.map((v, i) => field(`c${i}`, v))], length);
    for (const item of step(batches(outer, this.build.context.batchRows))) {
      if (!isBatch(item)) yield item;
      else yield { rows: fieldOf(item, 'row'), ids: idsOf(fieldOf(fieldOf(item, 'outer'), 'id')) };
    }
  }

  private *each(values: readonly Vector[], length: number, callDepth: number): Generator<Side | Results> {
    const { step, set } = this.ready(callDepth);
    for (let i = 0; i < length; i++) {
      set(values.map((v) => gather(v, Uint32Array.of(i))));
      for (const item of step(nothing())) {
        if (isBatch(item)) yield { rows: item, ids: new Uint32Array(item.length).fill(i) };
        else yield item;
      }
    }
  }
}

const idsOf = (v: Vector): Uint32Array => {
  const flat = flatten(v);
  const out = new Uint32Array(flat.length);
  if (flat.form === 'number') for (let i = 0; i < out.length; i++) out[i] = Number(flat.values[i]);
  else for (let i = 0; i < out.length; i++) out[i] = Number(dataAt(flat, i));
  return out;
};
const joinedIds = (list: readonly Uint32Array[]): Uint32Array => {
  const out = new Uint32Array(list.reduce((n, ids) => n + ids.length, 0));
  let at = 0;
  for (const ids of list) {
    out.set(ids, at);
    at += ids.length;
  }
  return out;
};

/**
 * Takes all results: at once if nothing has to be awaited and it does not take long, else the promise of the end. What
 * goes to other channels is dropped.
 */
const drain = (
  items: Generator<Side | Results>,
  takeRows: (r: Results) => void,
  signal: AbortSignal,
): Promise<void> | undefined => {
  for (let next = items.next(); !next.done; next = items.next()) {
    const { value } = next;
    if (value instanceof Promise || isTurnLong()) return drainLate(items, value, takeRows, signal);
    if ('rows' in value) takeRows(value);
  }
  return undefined;
};
const drainLate = async (
  items: Generator<Side | Results>,
  first: Side | Results,
  takeRows: (r: Results) => void,
  signal: AbortSignal,
): Promise<void> => {
  try {
    for (let value: Side | Results | undefined = first; value !== undefined; ) {
      if (value instanceof Promise) await value;
      else if ('rows' in value) takeRows(value);
      if (isTurnLong()) await nextTurn();
      signal.throwIfAborted();
      const next = working(signal, () => items.next());
      value = next.done ? undefined : next.value;
    }
  } finally {
    items.return(undefined);
  }
};

/**
 * Where all rows go through one run, those with lists or maps are not compared with one another first: to write each as
 * a key takes ten times as long as to go over its elements.
 */
const areCompared = ({ mode }: Correlated, values: readonly Vector[]): boolean =>
  mode === 'each' || !values.some(hasLists);
const hasLists = (v: Vector): boolean =>
  v.form !== 'constant' && someForm(v, ({ form }) => form === 'list' || form === 'map');

/** The distinct ones among rows of values: the number of each row's, and the first row of each. */
const distinctRows = (
  table: GroupTable,
  values: readonly Vector[],
  length: number,
): { readonly ids: Uint32Array; readonly firsts: Uint32Array } => {
  const known = values.length === 0 ? 0 : table.size;
  const ids = table.ids(values, length);
  const size = values.length === 0 ? 1 : table.size;
  const firsts = new Uint32Array(size - known);
  const met = new Uint8Array(size - known);
  for (let i = 0; i < length; i++) {
    const fresh = ids[i] - known;
    if (fresh < 0 || met[fresh]) continue;
    met[fresh] = 1;
    firsts[fresh] = i;
  }
  return { ids, firsts };
};

/** The runner of a subquery in an expression. */
export const applyRunner = (expr: Extract<PlanExpr, { kind: 'apply' }>, build: Build): ApplyRunner => {
  const dependent = new Dependent(expr.body, build);
  const { memory } = build;
  let table = new GroupTable(expr.outer.length);
  let answers: Answers = new Answers();
  let held = 0;
  const forget = (): void => {
    memory.add(-held);
    held = 0;
    table = new GroupTable(expr.outer.length);
    answers = new Answers();
  };
  const remember = (result: Vector): void => {
    answers.add(result);
    const bytes = table.bytes + answers.bytes;
    memory.add(bytes - held);
    held = bytes;
  };
  const turns = inTurns<Vector>();
  return (values, length, callDepth) =>
    turns(() => {
      if (!areCompared(expr.body, values)) {
        const own = dependent.run(values, length, callDepth);
        const answer = ({ rows, ids }: Results): Vector => formed(expr.form, rows, ids, length);
        return own instanceof Promise ? own.then(answer) : answer(own);
      }
      if (table.size > memoMax || memory.isOver) forget();
      const { ids, firsts } = distinctRows(table, values, length);
      if (firsts.length === 0) return answers.take(ids);
      const finish = ({ rows, ids: owners }: Results): Vector => {
        remember(formed(expr.form, rows, owners, firsts.length));
        return answers.take(ids);
      };
      const results = dependent.run(
        values.map((v) => take(v, firsts)),
        firsts.length,
        callDepth,
      );
      return results instanceof Promise ? results.then(finish) : finish(results);
    });
};

/** Does pieces of work one after the other; one that can be done at once is. */
const inTurns = <T>(): ((work: () => T | Promise<T>) => T | Promise<T>) => {
  let busy: Promise<unknown> | undefined;
  const turns = (work: () => T | Promise<T>): T | Promise<T> => {
    if (busy) return busy.then(() => turns(work));
    const result = work();
    if (!(result instanceof Promise)) return result;
    const going = result.finally(() => {
      busy = undefined;
    });
    busy = going.catch(() => undefined);
    return going;
  };
  return turns;
};

/** Answers by their number, in the parts in which they came. */
class Answers {
  bytes = 0;
  private readonly parts: Vector[] = [];
  private readonly starts: number[] = [];
  private size = 0;
  add(part: Vector): void {
    if (part.length === 0) return;
    this.parts.push(part);
    this.starts.push(this.size);
    this.size += part.length;
    this.bytes += sizeOf(part);
  }
  take(ids: Uint32Array): Vector {
    const { parts, starts } = this;
    const tags = new Uint32Array(ids.length);
    const slots = new Uint32Array(ids.length);
    const places = new Map<number, number>();
    const used: Vector[] = [];
    for (let i = 0; i < ids.length; i++) {
      let low = 0;
      let high = starts.length - 1;
      while (low < high) {
        const middle = (low + high + 1) >> 1;
        if (starts[middle] <= ids[i]) low = middle;
        else high = middle - 1;
      }
      let place = places.get(low);
      if (place === undefined) places.set(low, (place = used.push(parts[low]) - 1));
      tags[i] = place;
      slots[i] = ids[i] - starts[low];
    }
    return tidy(combine(tags, slots, used));
  }
}

const formed = (form: 'sqlScalar' | 'array' | 'exists', rows: Vector, owners: Uint32Array, count: number): Vector => {
  if (form === 'exists') {
    const found = new Uint8Array(count);
    for (const id of owners) found[id] = 1;
    return bools(found);
  }
  const { order, offsets } = sortByGroup(owners, rows.length, count);
  const sorted = rows.length === 0 ? noRows : take(rows, order);
  return form === 'sqlScalar' && rows.length <= count && single(offsets)
    ? oneEach(sorted, offsets, count)
    : formGroups(form, sorted, offsets, count);
};
const single = (offsets: Uint32Array): boolean => {
  for (let g = 1; g < offsets.length; g++) if (offsets[g] - offsets[g - 1] > 1) return false;
  return true;
};
/**
 * At most one row each: the value of its one column, null for none. Rows of several columns are left to the general
 * way.
 */
const oneEach = (sorted: Vector, offsets: Uint32Array, count: number): Vector => {
  if (sorted.length === 0) return nulls(count);
  const shapes = shapesOf(sorted);
  if (shapes.some((s) => s.record && s.record.fields.length !== 1))
    return formGroups('sqlScalar', sorted, offsets, count);
  const columns = together(
    sorted.length,
    shapes.map((s) => ({ ...(s.rows && { rows: s.rows }), values: s.record ? s.record.fields[0].values : s.whole })),
  );
  const tags = new Uint32Array(count);
  const slots = new Uint32Array(count);
  for (let g = 0; g < count; g++) {
    if (offsets[g] === offsets[g + 1]) tags[g] = 1;
    else slots[g] = offsets[g];
  }
  return tidy(combine(tags, slots, [columns, nulls(1)]));
};

type LateralOp = Extract<PlanOp, { kind: 'lateral' }>;

/** LATERAL: each row with its results. */
export const lateral = (op: LateralOp, build: Build): Step => {
  const dependent = new Dependent(op.body, build);
  const outer = op.outer.map(build.expression);
  const residual = op.residual && build.expression(op.residual);
  return eachBatch(function* push(batch) {
    const values: Vector[] = [];
    for (const e of outer) values.push(tidy(yield* evaluate(e, batch)));
    const all = range(0, batch.length);
    const { ids, firsts } = areCompared(op.body, values)
      ? distinctRows(new GroupTable(values.length), values, batch.length)
      : { ids: all, firsts: all };
    const answer = dependent.run(firsts === all ? values : values.map((v) => take(v, firsts)), firsts.length, 0);
    const { rows, ids: owners } = answer instanceof Promise ? yield* wait(answer) : answer;
    const bytes = sizeOf(rows) + owners.byteLength * 2;
    build.memory.hold(bytes, 'lateral');
    try {
      const { order, offsets } = sortByGroup(owners, rows.length, firsts.length);
      yield* paired({ op, batch, ids, rows, order, offsets, residual, rowsMax: build.context.batchRows });
    } finally {
      build.memory.add(-bytes);
    }
  });
};

interface Pairing {
  readonly op: LateralOp;
  readonly batch: Vector;
  readonly ids: Uint32Array;
  readonly rows: Vector;
  readonly order: Uint32Array;
  readonly offsets: Uint32Array;
  readonly residual: AsyncEvaluator | undefined;
  readonly rowsMax: number;
}

/**
 * The pairs in order of the left rows, those that pass; with `left` rows without any come alone, behind the pairs made
 * with them.
 */
function* paired({ op, batch, ids, rows, order, offsets, residual, rowsMax }: Pairing): Generator<Item> {
  const lefts = new Uint32Array(rowsMax);
  const rights = new Uint32Array(rowsMax);
  const matched = new Uint8Array(batch.length);
  let n = 0;
  let alone = 0;
  const pairs = function* pairs(to: number): Generator<Item> {
    const own = lefts.slice(0, n);
    const pair = record([field(op.leftName, take(batch, own)), field(op.rightName, take(rows, rights.slice(0, n)))], n);
    const kept = residual && n > 0 ? isTrue(yield* evaluate(residual, pair)) : range(0, n);
    for (const k of kept) matched[own[k]] = 1;
    if (kept.length > 0) yield kept.length === n ? pair : take(pair, kept);
    n = 0;
    if (op.style !== 'left') return;
    const single = range(0, to)
      .subarray(alone)
      .filter((row) => matched[row] === 0);
    alone = to;
    if (single.length > 0) yield leftAlone(op, take(batch, single));
  };
  for (let row = 0; row < batch.length; row++) {
    const id = ids[row];
    for (let at = offsets[id]; at < offsets[id + 1]; at++) {
      lefts[n] = row;
      rights[n++] = order[at];
      if (n === rowsMax) yield* pairs(row);
    }
  }
  yield* pairs(batch.length);
}
