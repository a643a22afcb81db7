/**
 * Subqueries in expressions: their body is an ordinary pipeline, compiled once and run once, or once a row with the row
 * as its input.
 */
import { LakeError } from '../../../errors.ts';
import type { Pipeline } from '../../../query/plan/plan.ts';
import { vectorOf } from '../../../vectors/builder.ts';
import { sizeOf } from '../../../vectors/sizes.ts';
import { charge, chargeHeld, sameTask } from '../../../vectors/stop.ts';
import { arrayValue } from '../../../vectors/value.ts';
import { type Vector, bools, constant, flatten, noRows, nulls, slice, take } from '../../../vectors/vector.ts';
import { concat } from '../../../vectors/concat.ts';
import { CollectState } from '../../aggregates/collect.ts';
import { listsOfGroups } from '../../aggregates/lists.ts';
import type { SubqueryForm, SubqueryRunner } from '../../expressions/evaluator.ts';
import { combine, errors, tidy, wrapErrors } from '../../expressions/rows.ts';
import { type Item, type Step, type Stream, collect, isBatch } from '../../operator.ts';
import { head } from '../head.ts';
import { shapesOf, together } from '../rows/records.ts';

/** As many results as a form wants to see. */
const rowsWanted: Readonly<Record<SubqueryForm, number>> = {
  scalar: 2,
  sqlScalar: 2,
  array: Infinity,
  list: Infinity,
  collected: Infinity,
  exists: 1,
};

/** `compile` makes a body into a step, inside so many calls of user functions. */
export const subqueries = (compile: (body: Pipeline, callDepth: number) => Step): SubqueryRunner => {
  const steps = new WeakMap<Pipeline, Map<number, Step>>();
  const stepOf = (body: Pipeline, callDepth: number): Step => {
    let own = steps.get(body);
    if (!own) steps.set(body, (own = new Map<number, Step>()));
    let step = own.get(callDepth);
    if (!step) own.set(callDepth, (step = compile(body, callDepth)));
    return step;
  };
  return (body, form, rows, callDepth) => {
    const step = stepOf(body, callDepth);
    const limit = rowsWanted[form] === Infinity ? undefined : head(rowsWanted[form]);
    const run = (row: Vector): readonly Vector[] | Promise<readonly Vector[]> => {
      const out = step([row] satisfies Stream);
      return collect(limit ? limit(out) : charged(out));
    };
    const goOn = sameTask();
    const all = runEach(rows ?? nulls(1), run);
    return all instanceof Promise ? all.then((results) => goOn(() => formed(form, results))) : formed(form, all);
  };
};

/** Results that are kept until the last one is there. @throws LakeError query-memory */
function* charged(results: Stream): Generator<Item> {
  for (const item of results) {
    if (isBatch(item)) chargeHeld(sizeOf(item));
    yield item;
  }
}

type Results = readonly (readonly Vector[])[];

/** Runs the rows in turn: at once as long as nothing has to be awaited. */
const runEach = (
  rows: Vector,
  run: (row: Vector) => readonly Vector[] | Promise<readonly Vector[]>,
): Results | Promise<Results> => {
  const out: (readonly Vector[])[] = [];
  for (let i = 0; i < rows.length; i++) {
    const result = run(rowAt(rows, i));
    if (result instanceof Promise) return runLater(rows, run, out, result);
    out.push(result);
  }
  return out;
};
const runLater = async (
  rows: Vector,
  run: (row: Vector) => readonly Vector[] | Promise<readonly Vector[]>,
  out: (readonly Vector[])[],
  first: Promise<readonly Vector[]>,
): Promise<Results> => {
  out.push(await first);
  while (out.length < rows.length) out.push(await run(rowAt(rows, out.length)));
  return out;
};
const rowAt = (rows: Vector, i: number): Vector => (rows.length === 1 ? rows : flatten(take(rows, Uint32Array.of(i))));

/** The results of each row in the subquery's form. */
const formed = (form: SubqueryForm, results: Results): Vector => {
  const counts = Uint32Array.from(results, (batches) => batches.reduce((n, b) => n + b.length, 0));
  if (form === 'exists') return bools(Uint8Array.from(counts, (n) => (n > 0 ? 1 : 0)));
  const batches = results.flat();
  // They are there until the one copy of all of them is.
  if (batches.length > 1)
    charge(
      batches.reduce((bytes, batch) => bytes + sizeOf(batch), 0),
      "a subquery's result",
    );
  const all = concat(batches);
  if (form === 'collected') return collected(all, ids(counts), counts.length);
  if (form === 'list') return lists(all, counts);
  if (form === 'array') return listsOfGroups('array', all.length > 0 ? all : noRows, ids(counts), counts.length);
  return form === 'scalar' ? scalars(all, counts) : sqlScalars(all, counts);
};
/** Of no results an empty list. */
const lists = (all: Vector, counts: Uint32Array): Vector => {
  const none = constant(vectorOf([arrayValue([])]), counts.length);
  if (all.length === 0) return none;
  return tidy(
    combine(
      Uint32Array.from(counts, (n) => (n === 0 ? 1 : 0)),
      Uint32Array.from(counts.keys()),
      [listsOfGroups('array', all, ids(counts), counts.length), none],
    ),
  );
};
/** `[query]` stands for `(query | collect(this))`. */
const collected = (all: Vector, owners: Uint32Array, count: number): Vector => {
  const state = new CollectState();
  state.update(owners, all);
  return state.result(count);
};
/** The results of `count` rows in the subquery's form; row g has results [offsets[g], offsets[g + 1]). */
export const formGroups = (form: SubqueryForm, sorted: Vector, offsets: Uint32Array, count: number): Vector =>
  formed(
    form,
    Array.from({ length: count }, (_, g) =>
      offsets[g] === offsets[g + 1] ? [] : [slice(sorted, offsets[g], offsets[g + 1])],
    ),
  );

const ids = (counts: Uint32Array): Uint32Array => {
  const out = new Uint32Array(counts.reduce((sum, n) => sum + n, 0));
  let at = 0;
  counts.forEach((n, g) => {
    out.fill(g, at, (at += n));
  });
  return out;
};

const several = 'query expression produced multiple values (consider [subquery])';
const scalars = (all: Vector, counts: Uint32Array): Vector => {
  const tags = new Uint32Array(counts.length);
  const slots = new Uint32Array(counts.length);
  let at = 0;
  counts.forEach((n, g) => {
    tags[g] = n === 0 ? 0 : n === 1 ? 1 : 2;
    slots[g] = n === 1 ? at : 0;
    at += n;
  });
  return tidy(combine(tags, slots, [nulls(1), all, errors(several, 1)]));
};

/**
 * Rows of one column: its value. @throws subquery-rows for several rows: SQL's standard has no value for them (v0.2.0
 * gives an array)
 */
const sqlScalars = (all: Vector, counts: Uint32Array): Vector => {
  const starts = new Uint32Array(counts.length);
  counts.forEach((n, g) => {
    if (g + 1 < counts.length) starts[g + 1] = starts[g] + n;
  });
  return together(
    counts.length,
    Array.from(counts, (n, g) => {
      const rows = Uint32Array.of(g);
      if (n === 0) return { rows, values: nulls(1) };
      if (n > 1) throw new LakeError('subquery-rows');
      const own = slice(all, starts[g], starts[g] + n);
      const columns = together(n, shapesOf(own).map(columnOf));
      const wide = shapesOf(own).some((s) => s.record && s.record.fields.length !== 1);
      if (wide)
        return { rows, values: wrapErrors('subquery expression cannot have multiple columns', slice(own, 0, 1)) };
      return { rows, values: columns };
    }),
  );
};
const columnOf = ({
  whole,
  record,
  rows,
}: ReturnType<typeof shapesOf>[number]): { readonly rows?: Uint32Array; readonly values: Vector } => ({
  ...(rows && { rows }),
  values: record?.fields.length === 1 ? record.fields[0].values : whole,
});
