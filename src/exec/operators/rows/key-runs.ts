/**
 * Tests on the field that rows are in order of, like `ts > x and ts < y`: each holds for a run of the rows from one end
 * on, which is found by halving.
 *
 * Invariants:
 * - Only for rows whose field is of one type that has an order without gaps: strings, integers, times, durations;
 *   others are tested one by one.
 */
import type { CompareOperator, FieldPath, PlanExpr } from '../../../query/plan/plan.ts';
import { pathOf } from '../../../query/plan/walk.ts';
import {
  type TimeTexts,
  placeAmong,
  rangeBehind,
  searchBehind,
  timesBehind,
  timesOfTexts,
} from '../../../vectors/texts/times.ts';
import { type Type, isNumeric, types } from '../../../vectors/type.ts';
import { type Vector, slice, uniformType, ofForm } from '../../../vectors/vector.ts';
import { vectorOf } from '../../../vectors/builder.ts';
import { type Value, compareBytes } from '../../../vectors/value.ts';
import type { AsyncEvaluator } from '../../expressions/evaluator.ts';
import { isTrue } from '../../expressions/rows.ts';
import type { Build } from '../build.ts';
import { conjuncts } from './row-test.ts';

/** Rows [start, end). */
type Run = readonly [start: number, end: number];
/**
 * `find`: the rows for which the tests hold; undefined if that cannot be told. `rest`: what is to be tested of those
 * rows besides.
 */
export interface KeyRuns {
  readonly find: (rows: Vector) => Run | undefined;
  readonly rest: PlanExpr | undefined;
}

type Order = '<' | '<=' | '>' | '>=';
/** The field on the left, a constant on the right. */
interface KeyTest {
  readonly operator: Order;
  readonly value: Value;
  /** A constant text, and the time that it stands for. */
  readonly text: Uint8Array | undefined;
  readonly time: TimeTexts | undefined;
  readonly evaluate: AsyncEvaluator;
}

/** Undefined if the filter says nothing of the key. */
export const keyRuns = (filter: PlanExpr, key: FieldPath, build: Build): KeyRuns | undefined => {
  const tests: KeyTest[] = [];
  const others: PlanExpr[] = [];
  for (const e of conjuncts(filter)) {
    const test = keyTest(e, key, build);
    if (test) tests.push(test);
    else others.push(e);
  }
  if (tests.length === 0) return undefined;
  return {
    rest: others.length === 0 ? undefined : others.reduce((left, right) => ({ kind: 'and', left, right })),
    find: (rows) => {
      const column = orderedColumn(rows, key);
      if (!column) return undefined;
      let start = 0;
      let end = rows.length;
      for (const test of tests) {
        const run = runOfTimes(test, column) ?? runOf(plainTest(test, column) ?? anyTest(test, rows), rows.length);
        if (!run) return undefined;
        start = Math.max(start, run[0]);
        end = Math.min(end, run[1]);
      }
      return [start, Math.max(start, end)];
    },
  };
};

/** What an order is with its sides exchanged. */
const mirrored: Readonly<Record<Order, Order>> = { '<': '>', '<=': '>=', '>': '<', '>=': '<=' };
const isOrder = (operator: CompareOperator): operator is Order => operator in mirrored;

const keyTest = (e: PlanExpr, key: FieldPath, build: Build): KeyTest | undefined => {
  if (e.kind !== 'compare' || !isOrder(e.operator)) return undefined;
  const isKey = (side: PlanExpr): boolean => {
    const path = pathOf(side);
    return path !== undefined && path.length === key.length && path.every((name, i) => name === key[i]);
  };
  const made = (operator: Order, value: Value): KeyTest => {
    const text = value.type === types.string ? ofForm(vectorOf([value]), 'bytes') : undefined;
    return {
      operator,
      value,
      text: text?.bytes.subarray(0, text.offsets[1]),
      time: text && timesOfTexts(text),
      evaluate: build.expression(e),
    };
  };
  if (isKey(e.left) && e.right.kind === 'literal') return made(e.operator, e.right.value);
  return e.left.kind === 'literal' && isKey(e.right) ? made(mirrored[e.operator], e.left.value) : undefined;
};

/** The field, if it is of one type whose order is that of the stored keys. */
const orderedColumn = (rows: Vector, key: FieldPath): Vector | undefined => {
  let at = rows;
  for (const name of key) {
    const field = at.form === 'record' ? at.fields.find((f) => f.name === name) : undefined;
    if (!field || field.present) return undefined;
    at = field.values;
  }
  const type = uniformType(at);
  return type !== undefined && isGapless(type) ? at : undefined;
};
const isGapless = (type: Type): boolean =>
  type === types.string ||
  (isNumeric(type) && type !== types.float16 && type !== types.float32 && type !== types.float64);

/** The run among times that can be searched as they are stored. */
const runOfTimes = ({ operator, time }: KeyTest, column: Vector): Run | undefined => {
  const search = time && searchBehind(column);
  const at = search && placeAmong(search, time);
  if (at === undefined) return undefined;
  // Distances are whole numbers.
  const bound = operator === '<' || operator === '>=' ? at : Math.floor(at) + 1;
  const range = rangeBehind(column);
  const unit = 10 ** search!.digits;
  const split =
    range && bound >= (range.end - search!.base) * unit
      ? column.length
      : range && bound <= (range.least - search!.base) * unit
        ? 0
        : search!.below(bound);
  return operator[0] === '<' ? [0, split] : [split, column.length];
};

type RowTest = (row: number) => boolean | undefined;
/** The test of a row by a look at its value; undefined for other forms and types. */
const plainTest = ({ operator, value, text, time }: KeyTest, column: Vector): RowTest | undefined => {
  if (
    column.form === 'number' &&
    column.values instanceof Float64Array &&
    isNumeric(value.type) &&
    typeof value.data === 'number'
  ) {
    const { values } = column;
    const bound = value.data;
    return (i) => holds[operator](values[i], bound);
  }
  if (column.form !== 'bytes' || column.type !== types.string || !text) return undefined;
  const times = time && timesBehind(column);
  const at = times && placeAmong(times, time);
  if (at !== undefined) return (i) => holds[operator](times!.distances[i], at);
  const { bytes, offsets } = column;
  return (i) => holds[operator](compareBytes(bytes.subarray(offsets[i], offsets[i + 1]), text), 0);
};
const holds: Readonly<Record<Order, (x: number, y: number) => boolean>> = {
  '<': (x, y) => x < y,
  '<=': (x, y) => x <= y,
  '>': (x, y) => x > y,
  '>=': (x, y) => x >= y,
};
const anyTest =
  ({ evaluate }: KeyTest, rows: Vector): RowTest =>
  (i) => {
    const truth = evaluate(slice(rows, i, i + 1));
    return truth instanceof Promise ? undefined : isTrue(truth).length > 0;
  };

/** The rows from one end on that pass; undefined if a test has to be waited for. */
const runOf = (test: RowTest, n: number): Run | undefined => {
  const first = test(0);
  const last = test(n - 1);
  if (first === undefined || last === undefined) return undefined;
  if (first === last) return first ? [0, n] : [0, 0];
  // Where the truth changes.
  let low = 0;
  let high = n - 1;
  while (high - low > 1) {
    const middle = (low + high) >> 1;
    const truth = test(middle);
    if (truth === undefined) return undefined;
    if (truth === first) low = middle;
    else high = middle;
  }
  return first ? [0, high] : [high, n];
};
