/**
 * Functions of SQL that evaluate a lambda for the elements of lists: all elements of a batch at once, those of a
 * reduction place by place.
 */
import { types } from '../../../vectors/type.ts';
import { checkStop } from '../../../vectors/stop.ts';
import {
  type ListVector,
  type Vector,
  constant,
  flatten,
  gather,
  nulls,
  numbers,
  range,
  take,
} from '../../../vectors/vector.ts';
import { apply, applyCarrying } from '../../expressions/apply.ts';
import { castVector } from '../../expressions/cast.ts';
import { recordOf } from '../../expressions/construct.ts';
import { elementsOf } from '../../expressions/lift.ts';
import { listsOf } from '../../expressions/lists.ts';
import { combine, isTrue, overlay, tidy, wrapErrors, inner } from '../../expressions/rows.ts';
import { isNull, rowsOf, type CallLambda, type Evaluate, type FunctionRow } from '../row.ts';

/** Rows for the lambda: its parameters, then what it uses of the row around. */
const rowsFor = (
  lambda: CallLambda,
  parameters: readonly Vector[],
  around: readonly Vector[],
  length: number,
): Vector =>
  recordOf(
    [
      ...parameters.slice(0, lambda.parameters).map((values, k) => ({ name: `p${k}`, values })),
      ...around.map((values, k) => ({ name: `c${k}`, values })),
    ],
    length,
  );

/** The elements of all lists in one vector, with the row and the place (from 1) of each. */
const elementsIn = (
  v: ListVector,
): {
  readonly items: Vector;
  readonly rows: Uint32Array;
  readonly places: Float64Array;
  readonly offsets: Uint32Array;
} => {
  const start = v.offsets[0];
  const size = v.offsets[v.length] - start;
  const rows = new Uint32Array(size);
  const places = new Float64Array(size);
  const index = new Uint32Array(size);
  for (let i = 0, at = 0; i < v.length; i++) {
    for (let k = v.offsets[i]; k < v.offsets[i + 1]; k++) {
      rows[at] = i;
      places[at] = k - v.offsets[i] + 1;
      index[at++] = k;
    }
  }
  return {
    items: elementsOf(take(v.items, index)),
    rows,
    places,
    offsets: v.offsets.subarray(0, v.length + 1).map((o) => o - start),
  };
};

/** Where lists have so many elements on average, they are looked at one by one if the lambda uses a list of the row. */
const longLists = 32;
/** What a lambda says of each element. A list of the row is not copied for each of its elements. */
const evaluated = (
  v: ListVector,
  lambda: CallLambda,
  { items, rows, places, offsets }: ReturnType<typeof elementsIn>,
  around: readonly Vector[],
): Vector => {
  const parameters = [items, numbers(types.int64, places)];
  if (rows.length < v.length * longLists || !around.some(holdsItems)) {
    const given = around.map((c) => take(c, rows));
    return lambda.evaluate(rowsFor(lambda, parameters, given, rows.length));
  }
  const slots = Uint32Array.from(places, (place) => place - 1);
  const parts = Array.from({ length: v.length }, (_, i) => {
    const length = offsets[i + 1] - offsets[i];
    if (length === 0) return nulls(0);
    checkStop();
    const row = Uint32Array.of(i);
    const given = around.map((c) => (c.form === 'constant' ? { ...c, length } : constant(gather(c, row), length)));
    const index = range(offsets[i], offsets[i + 1]);
    return lambda.evaluate(
      rowsFor(
        lambda,
        parameters.map((p) => take(p, index)),
        given,
        length,
      ),
    );
  });
  return combine(rows, slots, parts);
};
const holdsItems = (v: Vector): boolean => {
  switch (v.form) {
    case 'selected':
      return holdsItems(v.base);
    case 'dictionary':
      return holdsItems(v.values);
    case 'named':
      return holdsItems(v.inner);
    case 'union':
      return v.members.some(holdsItems);
    case 'dynamic':
      return v.parts.some(holdsItems);
    case 'record':
      return v.fields.some((f) => holdsItems(f.values));
    default:
      return v.form === 'list' || v.form === 'map';
  }
};

/** A function of lists and a lambda: null for null, an error for what is no list. */
const overLists =
  (
    name: string,
    evaluate: (list: ListVector, lambda: CallLambda, others: readonly Vector[], around: readonly Vector[]) => Vector,
  ): FunctionRow['make'] =>
  ({ lambda }): Evaluate => {
    if (!lambda) throw new TypeError(`${name} without a lambda`);
    return ([of, ...rest], length) =>
      applyCarrying(
        [of!],
        rest,
        length,
        ([list], carried, n) => {
          if (isNull(list!)) return nulls(n);
          const v = flatten(list!);
          if (v.form !== 'list') return wrapErrors(`${name}: list argument required`, list!);
          return evaluate(v, lambda, carried.slice(0, lambda.values - 1), carried.slice(lambda.values - 1));
        },
        'bare',
      );
  };

const transformed = (v: ListVector, lambda: CallLambda, _: readonly Vector[], around: readonly Vector[]): Vector => {
  const elements = elementsIn(v);
  if (elements.rows.length === 0) return v;
  return listsOf('array', elements.offsets, tidy(evaluated(v, lambda, elements, around)), v.length);
};
/** Numbers other than 0 count as true. */
const asTest = (v: Vector): Vector =>
  apply([v], v.length, ([test]) => (inner(test!).form === 'number' ? castVector(flatten(test!), types.bool) : test!));
const filtered = (v: ListVector, lambda: CallLambda, _: readonly Vector[], around: readonly Vector[]): Vector => {
  const elements = elementsIn(v);
  const { items, rows } = elements;
  if (rows.length === 0) return v;
  const kept = isTrue(asTest(evaluated(v, lambda, elements, around)));
  const offsets = new Uint32Array(v.length + 1);
  for (const at of kept) offsets[rows[at] + 1]++;
  for (let i = 0; i < v.length; i++) offsets[i + 1] += offsets[i];
  return listsOf(
    'array',
    offsets,
    tidy(take(items, kept)),
    v.length,
    v.type.kind === 'array' ? v.type.element : types.null,
  );
};
/**
 * From the first element, or from a value given, on: the lambda is asked for the elements of one place of all lists
 * together.
 */
const reduced = (
  v: ListVector,
  lambda: CallLambda,
  [initial]: readonly Vector[],
  around: readonly Vector[],
): Vector => {
  const { items, offsets } = elementsIn(v);
  const sizeAt = (i: number): number => offsets[i + 1] - offsets[i];
  const skipped = initial ? 0 : 1;
  const all = Uint32Array.from({ length: v.length }, (_, i) => i);
  const empty = Uint8Array.from(all, (i) => (sizeAt(i) === 0 ? 1 : 0));
  let longest = 0;
  for (const i of all) longest = Math.max(longest, sizeAt(i));
  let result: Vector =
    initial ??
    (longest === 0
      ? nulls(v.length)
      : take(
          items,
          Uint32Array.from(all, (i) => Math.min(offsets[i], items.length - 1)),
        ));
  for (let place = skipped; place < longest; place++) {
    const rows = all.filter((i) => sizeAt(i) > place);
    const elements = take(
      items,
      Uint32Array.from(rows, (i) => offsets[i] + place),
    );
    const index = numbers(types.int64, new Float64Array(rows.length).fill(place + 1));
    const next = tidy(
      lambda.evaluate(
        rowsFor(
          lambda,
          [take(result, rows), elements, index],
          around.map((c) => take(c, rows)),
          rows.length,
        ),
      ),
    );
    const tags = new Uint32Array(v.length);
    const slots = Uint32Array.from(all);
    rows.forEach((row, n) => {
      tags[row] = 1;
      slots[row] = n;
    });
    result = combine(tags, slots, [result, next]);
  }
  return initial ? result : overlay(result, empty, wrapErrors('list_reduce: an empty list needs an initial value', v));
};

const sqlOnly = 'all';
const row = (rows: readonly FunctionRow[], least: number, most: number): readonly FunctionRow[] =>
  rows.map((r) => ({ ...r, lambda: { least, most } }));
export const lambdas: readonly FunctionRow[] = [
  ...row(
    rowsOf(
      'list_transform(a, lambda)',
      'In SQL: what a lambda gives for each element (and its place, from 1).',
      overLists('list_transform', transformed),
      [
        ['select list_transform([1,2], lambda x: x + 1) as a', '{a:[2,3]}'],
        ['select list_transform([10,20], (x, i) -> x + i) as a', '{a:[11,22]}'],
        [
          'select list_transform(1, lambda x: x) as a',
          '{a:error({message:"list_transform: list argument required",on:1})}',
        ],
      ],
      { sqlOnly, also: ['array_transform', 'list_apply', 'array_apply', 'apply'] },
    ),
    1,
    2,
  ),
  ...row(
    rowsOf(
      'list_filter(a, lambda)',
      'In SQL: the elements for which a lambda (of the element and its place, from 1) is true.',
      overLists('list_filter', filtered),
      [
        ['select list_filter([1,2,3], lambda x: x > 1) as a', '{a:[2,3]}'],
        [
          'select list_filter(1, lambda x: true) as a',
          '{a:error({message:"list_filter: list argument required",on:1})}',
        ],
      ],
      { sqlOnly, also: ['array_filter', 'filter'] },
    ),
    1,
    2,
  ),
  ...row(
    rowsOf(
      'list_reduce(a, lambda[, initial])',
      'In SQL: a lambda (of what there is so far, the next element and its place) over all elements, from the first one or an initial value on.',
      overLists('list_reduce', reduced),
      [
        ['select list_reduce([1,2,3], lambda x, y: x + y) as n', '{n:6}'],
        ['select list_reduce([1,2], lambda x, y: x * y, 10) as n', '{n:20}'],
        [
          'select list_reduce([], lambda x, y: x) as n',
          '{n:error({message:"list_reduce: an empty list needs an initial value",on:[]::[null]})}',
        ],
      ],
      { sqlOnly, also: ['array_reduce', 'reduce'] },
    ),
    2,
    3,
  ),
];
