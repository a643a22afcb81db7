/**
 * unnest: the elements of arrays and sets as rows; {a:x,b:[..]} gives {a:x,b:element}. With `into` a pipeline runs once
 * a value, on its elements.
 */
import {
  type Vector,
  type Field,
  type ListVector,
  type RecordVector,
  constant,
  noRows,
  slice,
  take,
} from '../../vectors/vector.ts';
import { concat } from '../../vectors/concat.ts';
import type { AsyncEvaluator } from '../expressions/evaluator.ts';
import { under } from '../aggregates/under.ts';
import { tidy, wrapErrors } from '../expressions/rows.ts';
import { type Item, type Step, batches, eachBatch, evaluate, isBatch } from '../operator.ts';
import { kinds, kindsOf, rowsWithout } from './rows/kinds.ts';
import { type ShapeRows, field, record, shapesOf } from './rows/records.ts';

/** How elements are taken. */
interface Taking {
  /** The elements of a list's rows, one behind the other. */
  readonly itemsOf: (v: ListVector) => Vector;
  /** Nulls, and what is missing, beside a row have no elements; else they are no lists. */
  readonly dropsNulls: boolean;
}
/**
 * `into`: the pipeline that runs on the elements of each value. Batches of at most about `rowsMax` rows. `sql`: elements
 * keep the names of their types, which say of some what they are; pipes take them off.
 */
export const unnest = (
  expr: AsyncEvaluator,
  { into, rowsMax, sql }: { readonly into: Step | undefined; readonly rowsMax: number; readonly sql: boolean },
): Step => {
  const itemsOf = (v: ListVector): Vector =>
    under(slice(v.items, v.offsets[0], v.offsets[v.length]), sql ? anyName : undefined);
  const taking: Taking = { itemsOf, dropsNulls: sql };
  const rows = new RowsTogether();
  const elements = eachBatch(function* push(batch) {
    const values = yield* evaluate(expr, batch);
    if (!into) {
      // Of nothing but lists the elements are there already, one list behind the other.
      const shapes = shapesOf(values);
      const list = shapes.length === 1 && !shapes[0].rows ? shapes[0].bare : undefined;
      const all = list?.form === 'list' ? itemsOf(list) : elementsOf(shapes, values.length, taking).all;
      rows.gave(batch.length, all.length);
      yield* batches(all, rowsMax);
      return;
    }
    const { all, offsets } = elementsOf(shapesOf(values), values.length, taking);
    rows.gave(batch.length, all.length);
    for (let i = 0; i < values.length; i++) {
      const found = into(slicesOf(all, offsets[i], offsets[i + 1], rowsMax));
      yield* offsets[i] === offsets[i + 1] ? withoutNulls(found) : found;
    }
  });
  return (input) => elements(rows.cut(input));
};

/**
 * Cuts batches so that their lists have few elements at a time: those of `range` are made row by row, and 100,000,000
 * numbers at once are 800 MB.
 */
class RowsTogether {
  private count = 1;
  /** What the rows cut last came to. */
  gave(rows: number, elements: number): void {
    this.count = elements > elementsMax ? Math.max(1, Math.floor((rows * elementsMax) / elements)) : rows * 2;
  }
  *cut(input: Iterable<Item>): Generator<Item> {
    for (const item of input)
      if (!isBatch(item)) yield item;
      else
        for (let start = 0, end = 0; start < item.length; start = end) {
          end = Math.min(item.length, start + this.count);
          yield slice(item, start, end);
        }
  }
}
/** Elements that are made together, about. */
const elementsMax = 1 << 17;

const anyName = (): boolean => true;
/** Of no elements there is a count, but no sum. */
const withoutNulls = function* withoutNulls(stream: Iterable<Item>): Generator<Item> {
  for (const item of stream) {
    if (!isBatch(item)) {
      yield item;
      continue;
    }
    const rows = rowsWithout(item, kinds.null);
    if (!rows) yield item;
    else if (rows.length > 0) yield take(item, rows);
  }
};
const slicesOf = function* slicesOf(all: Vector, start: number, end: number, rowsMax: number): Generator<Item> {
  yield* batches(tidy(slice(all, start, end)), rowsMax);
};

/** The results of all rows one behind the other; those of row i are all[offsets[i], offsets[i + 1]). */
interface Elements {
  readonly all: Vector;
  readonly offsets: Uint32Array;
}
/** What rows `rows` (absent: all) give: `counts` says how many each. */
interface Group {
  readonly rows: Uint32Array | undefined;
  readonly values: Vector;
  readonly counts: Uint32Array;
}

const elementsOf = (shapes: readonly ShapeRows[], length: number, taking: Taking): Elements => {
  const groups = shapes.map((shape) => groupOf(shape, taking));
  const offsets = new Uint32Array(length + 1);
  for (const g of groups)
    g.counts.forEach((n, i) => {
      offsets[(g.rows ? g.rows[i] : i) + 1] = n;
    });
  for (let i = 0; i < length; i++) offsets[i + 1] += offsets[i];
  if (groups.length === 1) return { all: groups[0].values, offsets };
  const index = new Uint32Array(offsets[length]);
  let base = 0;
  for (const g of groups) {
    let from = base;
    g.counts.forEach((n, i) => {
      let to = offsets[g.rows ? g.rows[i] : i];
      for (let k = 0; k < n; k++) index[to++] = from++;
    });
    base += g.values.length;
  }
  return { all: take(concat(groups.map((g) => g.values)), index), offsets };
};

const groupOf = ({ whole, bare, record: r, rows }: ShapeRows, taking: Taking): Group => {
  if (r?.fields.length === 2) return pairs({ whole, pair: r, rows }, taking);
  if (r) return ones(wrapErrors('unnest: encountered record without two fields', r), rows);
  if (bare.form === 'list') return { rows, values: taking.itemsOf(bare), counts: countsOf(bare) };
  const special = kindsOf(whole);
  if (special && (special[0] === kinds.null || special.includes(kinds.missing))) return nulls(whole, special, rows);
  return ones(wrapErrors('unnest: encountered non-array value', bare), rows);
};
const ones = (values: Vector, rows: Uint32Array | undefined): Group => ({
  rows,
  values,
  counts: new Uint32Array(values.length).fill(1),
});
/** Nulls and missing rows give nothing, other errors among them are wrapped. */
const nulls = (whole: Vector, special: Uint8Array, rows: Uint32Array | undefined): Group => {
  const counts = new Uint32Array(whole.length);
  const kept: number[] = [];
  special.forEach((k, i) => {
    if (k === kinds.null || k === kinds.missing) return;
    counts[i] = 1;
    kept.push(i);
  });
  return {
    rows,
    values: wrapErrors('unnest: encountered non-array value', take(whole, Uint32Array.from(kept))),
    counts,
  };
};

const countsOf = (v: ListVector): Uint32Array => {
  const counts = new Uint32Array(v.length);
  for (let i = 0; i < v.length; i++) counts[i] = v.offsets[i + 1] - v.offsets[i];
  return counts;
};

/** {a:x,b:list}: the list's elements, each with its row's x. */
const pairs = (
  {
    whole,
    pair,
    rows,
  }: { readonly whole: Vector; readonly pair: RecordVector; readonly rows: Uint32Array | undefined },
  { itemsOf, dropsNulls }: Taking,
): Group => {
  const [first, second] = pair.fields as readonly [Field, Field];
  const message = 'unnest: encountered record without an array/set type for second field';
  const counts = new Uint32Array(whole.length);
  const values: Vector[] = [];
  const places: { readonly rows: Uint32Array | undefined; readonly counts: Uint32Array }[] = [];
  for (const shape of shapesOf(second.values)) {
    const list = shape.bare.form === 'list' ? shape.bare : undefined;
    const owners = shape.rows ? take(first.values, shape.rows) : first.values;
    const on = shape.rows ? take(whole, shape.rows) : whole;
    if (list) {
      const own = countsOf(list);
      const index = repeated(own);
      const items = itemsOf(list);
      values.push(
        record(
          [
            field(first.name, owners.form === 'constant' ? constant(owners.inner, index.length) : take(owners, index)),
            field(second.name, items),
          ],
          index.length,
        ),
      );
      places.push({ rows: shape.rows, counts: own });
    } else {
      const kept: number[] = [];
      const own = new Uint32Array(shape.whole.length);
      const special = dropsNulls ? kindsOf(shape.whole) : undefined;
      for (let i = 0; i < own.length; i++) {
        if (special && (special[i] === kinds.null || special[i] === kinds.missing)) continue;
        own[i] = 1;
        kept.push(i);
      }
      if (kept.length > 0) values.push(wrapErrors(message, take(on, Uint32Array.from(kept))));
      places.push({ rows: shape.rows, counts: own });
    }
  }
  for (const p of places)
    p.counts.forEach((n, i) => {
      counts[p.rows ? p.rows[i] : i] = n;
    });
  if (values.length < 2) return { rows, values: values[0] ?? noRows, counts };
  return { rows, values: interleaved(values, places, counts), counts };
};
const interleaved = (
  values: readonly Vector[],
  places: readonly { readonly rows: Uint32Array | undefined; readonly counts: Uint32Array }[],
  counts: Uint32Array,
): Vector => {
  const starts = new Uint32Array(counts.length + 1);
  for (let i = 0; i < counts.length; i++) starts[i + 1] = starts[i] + counts[i];
  const index = new Uint32Array(starts[counts.length]);
  let from = 0;
  for (const p of places) {
    p.counts.forEach((n, i) => {
      const row = p.rows ? p.rows[i] : i;
      for (let k = 0; k < n; k++) index[starts[row] + k] = from++;
    });
  }
  return take(concat(values), index);
};
const repeated = (counts: Uint32Array): Uint32Array => {
  let n = 0;
  for (const c of counts) n += c;
  const index = new Uint32Array(n);
  let at = 0;
  counts.forEach((c, i) => {
    for (let k = 0; k < c; k++) index[at++] = i;
  });
  return index;
};
