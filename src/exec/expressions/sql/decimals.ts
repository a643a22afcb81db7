/**
 * Arithmetic of SQL's decimals, which are floats: what comes out is rounded at the places that the exact result has,
 * and so the nearest float to it as far as it has 15 digits.
 */
import type { ArithmeticOperator } from '../../../query/plan/plan.ts';
import { types } from '../../../vectors/type.ts';
import { type Vector, constant, numbers } from '../../../vectors/vector.ts';
import { type Zeros, dividedBy, sqlArithmetic } from './arithmetic.ts';

/** Whole numbers below it are told apart in spite of the errors of three operations. */
const unitsMax = 2 ** 50;
/** Added and taken away again, it leaves the nearest whole number. */
const rounder = 1.5 * 2 ** 52;

/** `over` as in arithmetic. @throws query-overflow, query-division */
export const decimalArithmetic = (
  operator: ArithmeticOperator,
  left: Vector,
  right: Vector,
  scale: number,
  over?: readonly Vector[],
  zeros: Zeros = {},
): Vector => {
  if (operator !== '%') return rounded(sqlArithmetic(operator, left, right, left.length, over, zeros), 10 ** scale);
  // The remainder of floats may be nearly as large as the divisor where that of decimals is zero.
  const by = constantOf(10 ** scale, left.length);
  const units = (v: Vector): Vector => rounded(sqlArithmetic('*', v, by, left.length), 1);
  const rest = dividedBy(sqlArithmetic('%', units(left), units(right), left.length), { operator, left, right }, zeros);
  return rounded(sqlArithmetic('/', rest, by, left.length), 10 ** scale);
};
const constantOf = (x: number, length: number): Vector => constant(numbers(types.float64, Float64Array.of(x)), length);

/** Floats rounded at whole parts of `by`; what has more digits than floats have stays as it is. */
const rounded = (v: Vector, by: number): Vector => {
  switch (v.form) {
    case 'number':
      return v.type === types.float64 && v.values instanceof Float64Array
        ? numbers(types.float64, roundedAll(v.values, v.length, by))
        : v;
    case 'constant':
      return constant(rounded(v.inner, by), v.length);
    case 'dictionary':
      return { ...v, values: rounded(v.values, by) };
    case 'dynamic':
      return { ...v, parts: v.parts.map((part) => rounded(part, by)) };
    default:
      return v;
  }
};
const roundedAll = (values: Float64Array, length: number, by: number): Float64Array => {
  const out = new Float64Array(length);
  for (let i = 0; i < length; i++) {
    const x = values[i]!;
    const units = x * by;
    out[i] = units < unitsMax && units > -unitsMax ? (units + rounder - rounder) / by : x;
  }
  return out;
};
