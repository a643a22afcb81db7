/**
 * Arithmetic of SQL's decimals. Nearly all of them are floats, and so are their results: these are rounded at the
 * places that the exact result has, and so the nearest floats to it. What floats cannot tell, because an operand or
 * the result has too many digits, is worked out digit by digit.
 */
import type { ArithmeticOperator } from '../../../query/plan/plan.ts';
import { LakeError } from '../../../errors.ts';
import {
  type Exact,
  compareExact,
  decimalData,
  decimalDigitsMax,
  decimalRows,
  exactOf,
  exactText,
  longDecimalType,
  unitsAt,
} from '../../../vectors/decimal.ts';
import { type PrimitiveType, isFloat, isInteger, types } from '../../../vectors/type.ts';
import type { Value } from '../../../vectors/value.ts';
import { checkStopAt } from '../../../vectors/stop.ts';
import { type NumberVector, type Vector, nulls, numbers, valueAt } from '../../../vectors/vector.ts';
import { type Kernel, apply, isLong } from '../apply.ts';
import { besideSparse, spread } from '../arithmetic.ts';
import { floatsFor } from '../float-room.ts';
import { type Zeros, dividedBy, sqlArithmetic } from './arithmetic.ts';

/** Operands and results of so many units at most are told apart in spite of the errors of three operations. */
const unitsMax = 2 ** 49;
/** Added and taken away again, it leaves the nearest whole number. */
const rounder = 1.5 * 2 ** 52;
/** Powers of ten that are floats: one division by such a one rounds right. */
const exactScaleMax = 22;

/**
 * What is worked out, with so many places in the result; undefined where nothing is known of the operands: with all
 * that it has then, if one of them is a long decimal.
 */
interface Operation {
  readonly operator: ArithmeticOperator;
  readonly scale: number | undefined;
  readonly zeros: Zeros;
}

/** `over` as in arithmetic. @throws query-overflow, query-division */
export const decimalArithmetic = (
  operator: ArithmeticOperator,
  left: Vector,
  right: Vector,
  scale: number | undefined,
  over?: readonly Vector[],
  zeros: Zeros = {},
): Vector => {
  const operation = { operator, scale, zeros };
  const quick = ofForms(operation, left, right, over);
  return quick ?? apply([left, right], left.length, kernelOf(operation), 'exact');
};
/** Numbers beside numbers, or beside some that may be null; undefined for all else. */
const ofForms = (
  operation: Operation,
  left: Vector,
  right: Vector,
  over: readonly Vector[] | undefined,
): Vector | undefined => {
  if (left.form === 'number' && right.form === 'number') {
    const spare = [right, left].find((v): v is NumberVector => over?.includes(v) ?? false);
    return ofNumbers(operation, left, right, left.length, spare);
  }
  const calculate: Parameters<typeof besideSparse>[4] = (x, y, n, spare) => ofNumbers(operation, x, y, n, spare);
  if (left.form === 'number' && right.form === 'dynamic') return besideSparse(right, left, true, over, calculate);
  if (left.form === 'dynamic' && right.form === 'number') return besideSparse(left, right, false, over, calculate);
  return undefined;
};

const kernelOf =
  (operation: Operation): Kernel =>
  ([left, right], length) => {
    const l = left!;
    const r = right!;
    const a = l.form === 'constant' ? l.inner : l;
    const b = r.form === 'constant' ? r.inner : r;
    if (a.form === 'null' || b.form === 'null') return nulls(length);
    if (a.form === 'error') return l;
    if (b.form === 'error') return r;
    if (a.form === 'number' && b.form === 'number') return ofNumbers(operation, l, r, length, undefined);
    return isNumbers(l) && isNumbers(r)
      ? allExact(operation, l, r, length)
      : sqlArithmetic(operation.operator, l, r, length, undefined, operation.zeros);
  };
/** Every row digit by digit. @throws query-division */
const allExact = (operation: Operation, left: Vector, right: Vector, length: number): Vector => {
  const { operator, zeros } = operation;
  const rows = Array.from({ length }, (_, i) => i);
  const result = exactRows(operation, left, right, new Float64Array(length), rows);
  return operator === '%' || isQuotient(operation) ? dividedBy(result, { operator, left, right }, zeros) : result;
};
/** A division of whole numbers, whose quotient is one. */
const isQuotient = ({ operator, scale, zeros }: Operation): boolean =>
  operator === '/' && scale === 0 && zeros.whole === true;
const isNumbers = (v: Vector): boolean => {
  const of = v.form === 'constant' ? v.inner : v;
  return (of.form === 'number' && isDecimal(of.type)) || isLong(v);
};
const isDecimal = (t: PrimitiveType): boolean =>
  isFloat(t) || (isInteger(t) && t !== types.time && t !== types.duration);

const ofNumbers = (
  operation: Operation,
  left: Vector,
  right: Vector,
  length: number,
  spare: NumberVector | undefined,
): Vector => {
  const { operator, scale, zeros } = operation;
  const a = left.form === 'constant' ? left.inner : left;
  const b = right.form === 'constant' ? right.inner : right;
  if (a.form !== 'number' || b.form !== 'number' || !isDecimal(a.type) || !isDecimal(b.type) || scale === undefined)
    return sqlArithmetic(operator, left, right, length, undefined, zeros);
  if (isQuotient(operation))
    return isInteger(a.type) && isInteger(b.type)
      ? sqlArithmetic(operator, left, right, length, undefined, zeros)
      : allExact(operation, left, right, length);
  const x = spread(left, length);
  const y = spread(right, length);
  if (scale > exactScaleMax || !(x instanceof Float64Array) || !(y instanceof Float64Array))
    return exactRows(
      operation,
      left,
      right,
      new Float64Array(length),
      Array.from({ length }, (_, i) => i),
    );
  const isSpare = operator !== '%' && spare?.values instanceof Float64Array && spare.length === length;
  const out = isSpare ? (spare.values as Float64Array) : floatsFor(length);
  // Rows that are not sure are not written to, so that the operands of these can be read again.
  const unsure = loops[operator](x, y, 10 ** scale, out);
  const result = unsure.length > 0 ? exactRows(operation, left, right, out, unsure) : numbers(types.float64, out);
  return operator === '%' ? dividedBy(result, { operator, left, right }, zeros) : result;
};
type Loop = (a: Float64Array, b: Float64Array, by: number, out: Float64Array) => readonly number[];
const sure: readonly number[] = [];
/**
 * The rows whose results floats do not tell for sure. One literal per operator: they would share their type feedback.
 */
const loops: Readonly<Record<ArithmeticOperator, Loop>> = {
  '+': (a, b, by, out) => {
    const most = unitsMax / by;
    let unsure: number[] | undefined;
    for (let i = 0; i < out.length; i++) {
      const x = a[i];
      const y = b[i];
      if (x < most && x > -most && y < most && y > -most) out[i] = ((x + y) * by + rounder - rounder) / by;
      else (unsure ??= []).push(i);
    }
    return unsure ?? sure;
  },
  '-': (a, b, by, out) => {
    const most = unitsMax / by;
    let unsure: number[] | undefined;
    for (let i = 0; i < out.length; i++) {
      const x = a[i];
      const y = b[i];
      if (x < most && x > -most && y < most && y > -most) out[i] = ((x - y) * by + rounder - rounder) / by;
      else (unsure ??= []).push(i);
    }
    return unsure ?? sure;
  },
  '*': (a, b, by, out) => {
    let unsure: number[] | undefined;
    for (let i = 0; i < out.length; i++) {
      const units = a[i] * b[i] * by;
      if (units < unitsMax && units > -unitsMax) out[i] = (units + rounder - rounder) / by;
      else (unsure ??= []).push(i);
    }
    return unsure ?? sure;
  },
  // By powers of ten alone, of whole numbers.
  '/': (a, b, _by, out) => {
    let unsure: number[] | undefined;
    for (let i = 0; i < out.length; i++) {
      const x = a[i];
      if (x < unitsMax && x > -unitsMax) out[i] = x / b[i] + 0;
      else (unsure ??= []).push(i);
    }
    return unsure ?? sure;
  },
  // The remainder of floats may be nearly as large as the divisor where that of decimals is zero.
  '%': (a, b, by, out) => {
    let unsure: number[] | undefined;
    for (let i = 0; i < out.length; i++) {
      const x = a[i] * by;
      const y = b[i] * by;
      if (x < unitsMax && x > -unitsMax && y < unitsMax && y > -unitsMax)
        out[i] = ((x + rounder - rounder) % (y + rounder - rounder)) / by + 0;
      else (unsure ??= []).push(i);
    }
    return unsure ?? sure;
  },
};

/** `out` with the results of `rows` worked out digit by digit. @throws query-overflow */
const exactRows = (
  operation: Operation,
  left: Vector,
  right: Vector,
  out: Float64Array,
  rows: readonly number[],
): Vector => {
  const long: number[] = [];
  const texts: string[] = [];
  for (const [n, i] of rows.entries()) {
    checkStopAt(n);
    const found = exactResult(operation, knownAt(left, i), knownAt(right, i));
    if (typeof found === 'number') out[i] = found;
    else {
      out[i] = 0;
      long.push(i);
      texts.push(found);
    }
  }
  return decimalRows(out, long, texts);
};
const knownAt = (v: Vector, row: number): Value => {
  const value = valueAt(v, row);
  return isLong(v) ? { type: longDecimalType, data: value.data } : value;
};
const exactResult = (operation: Operation, left: Value, right: Value): number | string => {
  const { operator } = operation;
  const a = exactOf(left);
  const b = exactOf(right);
  // Floats that are no numbers.
  if (!a || !b) return inFloats[operator](Number(left.data), Number(right.data));
  const exact = isQuotient(operation) ? quotient(a, b) : results[operator](a, b);
  const scale = operation.scale ?? Math.min(exact?.scale ?? 0, decimalDigitsMax);
  const rounded = exact && { units: unitsAt(exact, scale), scale };
  const isCut = rounded !== undefined && operator === '*' && compareExact(exact!, rounded) !== 0;
  const data = rounded && !isCut ? decimalData(rounded) : undefined;
  if (exact && data === undefined)
    throw new LakeError('query-overflow', {
      operation: `${exactText(a)} ${operator} ${exactText(b)}`,
      type: `decimal(${decimalDigitsMax},${scale})`,
    });
  return data ?? NaN;
};
const inFloats: Readonly<Record<ArithmeticOperator, (x: number, y: number) => number>> = {
  '+': (x, y) => x + y,
  '-': (x, y) => x - y,
  '*': (x, y) => x * y,
  '/': (x, y) => x / y,
  '%': (x, y) => x % y,
};
/** Undefined where there is none. */
const results: Readonly<Record<ArithmeticOperator, (a: Exact, b: Exact) => Exact | undefined>> = {
  '+': (a, b) => aligned(a, b, (x, y) => x + y),
  '-': (a, b) => aligned(a, b, (x, y) => x - y),
  '*': (a, b) => ({ units: a.units * b.units, scale: a.scale + b.scale }),
  '/': (a, b) => ({ units: a.units, scale: a.scale + String(b.units).length - 1 - b.scale }),
  '%': (a, b) => (b.units === 0n ? undefined : aligned(a, b, (x, y) => x % y)),
};
const quotient = (a: Exact, b: Exact): Exact | undefined =>
  b.units === 0n ? undefined : { units: aligned(a, b, (x, y) => x / y).units, scale: 0 };
const aligned = (a: Exact, b: Exact, of: (x: bigint, y: bigint) => bigint): Exact => {
  const scale = Math.max(a.scale, b.scale);
  return { units: of(unitsAt(a, scale), unitsAt(b, scale)), scale };
};
