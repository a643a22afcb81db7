/**
 * Arithmetic of SQL: whole numbers that leave their type end the query, and beside a time at midnight a whole number is
 * so many days.
 */
import type { ArithmeticOperator } from '../../../query/plan/plan.ts';
import { LakeError } from '../../../errors.ts';
import { someForm } from '../../../vectors/forms.ts';
import { fitsInt64 } from '../../../vectors/literal.ts';
import { isFloat, isInteger, types } from '../../../vectors/type.ts';
import { type Value, integer, underValue, stringData } from '../../../vectors/value.ts';
import { type Vector, constant, flatten, numbers, valueAt } from '../../../vectors/vector.ts';
import { supText } from '../../../vectors/sup/print.ts';
import { NumberBuilder } from '../../../vectors/builder-leaves.ts';
import { apply, type Kernel } from '../apply.ts';
import { listFrom } from '../construct.ts';
import { arithmetic, overflow } from '../arithmetic.ts';
import { errors, inner, overlay, wrapErrors } from '../rows.ts';
import { mayHaveSpans, spanArithmetic } from './span-arithmetic.ts';

/**
 * What a division by zero gives: floats have infinity or NaN, unless the quotient is `whole`; `attempt`: error values,
 * which TRY makes null.
 */
export interface Zeros {
  readonly whole?: true;
  readonly attempt?: true;
}

/** `over` as in arithmetic. @throws query-overflow, query-division */
export const sqlArithmetic = (
  operator: ArithmeticOperator,
  left: Vector,
  right: Vector,
  length: number,
  over?: readonly Vector[],
  zeros: Zeros = {},
): Vector => {
  if ((operator === '+' || operator === '-') && (mayHaveTimes(left) || mayHaveTimes(right)))
    return apply([left, right], length, timeKernels[operator], 'bare');
  if (mayHaveSpans(left) || mayHaveSpans(right)) return apply([left, right], length, spanKernels[operator], 'bare');
  if (operator === '+' && mayHaveLists(left) && mayHaveLists(right))
    return apply([left, right], length, listSum, 'bare');
  // Where floats are looked at afterwards, they must still be there.
  const result = arithmetic(operator, left, right, length, zeros.whole ? undefined : over, true);
  return operator === '/' || operator === '%' ? dividedBy(result, { operator, left, right }, zeros) : result;
};

/** The sum of two lists has the elements of both. */
const listSum: Kernel = (sides, length) =>
  sides.every(isArray)
    ? listFrom(
        'array',
        sides.map((values) => ({ spread: true, values })),
        length,
      )
    : arithmetic('+', sides[0]!, sides[1]!, length, undefined, true);
const isArray = (v: Vector): boolean => {
  const of = inner(v);
  return of.form === 'list' && of.type.kind === 'array';
};
const mayHaveLists = (v: Vector): boolean => someForm(v, ({ form }) => form === 'list');

interface Division {
  readonly operator: ArithmeticOperator;
  readonly left: Vector;
  readonly right: Vector;
}
/**
 * The result of a division, unless a row divides by zero. A dictionary may have values that no row has, which are
 * divided as well: what the rows have counts.
 * @throws query-division
 */
export const dividedBy = (result: Vector, { operator, left, right }: Division, { whole, attempt }: Zeros): Vector => {
  if (!mayHaveZeros(result, whole === true) || (attempt && !whole)) return result;
  const marks = new Uint8Array(result.length);
  for (let i = 0; i < marks.length; i++) {
    const y = underValue(valueAt(right, i));
    if (!isNumber(y) || Number(y.data) !== 0) continue;
    const x = underValue(valueAt(left, i));
    // A long decimal is its text here.
    const long = whole && x.type === types.string ? stringData(x.data) : undefined;
    if (long === undefined && (!isNumber(x) || (!whole && (isFloat(x.type) || isFloat(y.type))))) continue;
    if (!attempt)
      throw new LakeError('query-division', { operation: `${long ?? supText(x)} ${operator} ${supText(y)}` });
    marks[i] = 1;
  }
  return marks.includes(1) ? overlay(result, marks, errors('divide by zero', marks.length)) : result;
};
const isNumber = ({ type, data }: Value): boolean =>
  type.kind === 'primitive' && (typeof data === 'number' || typeof data === 'bigint');
/** Whether a division by zero may have given it: errors, and floats that are no numbers where these count. */
const mayHaveZeros = (v: Vector, floats: boolean): boolean =>
  someForm(
    v,
    (of) =>
      of.form === 'error' ||
      (floats && of.form === 'number' && isFloat(of.type) && !(of.values as Float64Array).every(Number.isFinite)),
  );

const mayHaveTimes = (v: Vector): boolean => someForm(v, (of) => of.form === 'number' && of.type === types.time);

const nanosOfDay = 86_400_000_000_000n;
const kernelOf =
  (operator: '+' | '-'): Kernel =>
  ([l, r], length) => {
    const left = l!;
    const right = r!;
    if (isTimes(left) && isCounts(right)) return moved(operator, left, days(right), length);
    const ofSpans = spanArithmetic(operator, left, right, length);
    if (ofSpans) return ofSpans;
    return operator === '+' && isCounts(left) && isTimes(right)
      ? moved(operator, right, days(left), length)
      : arithmetic(operator, left, right, length, undefined, true);
  };
const spanKernelOf =
  (operator: ArithmeticOperator): Kernel =>
  ([l, r], length) =>
    spanArithmetic(operator, l!, r!, length) ?? arithmetic(operator, l!, r!, length, undefined, true);
const spanKernels: Readonly<Record<ArithmeticOperator, Kernel>> = {
  '+': spanKernelOf('+'),
  '-': spanKernelOf('-'),
  '*': spanKernelOf('*'),
  '/': spanKernelOf('/'),
  '%': spanKernelOf('%'),
};
const timeKernels = { '+': kernelOf('+'), '-': kernelOf('-') } as const;

const isTimes = (v: Vector): boolean => {
  const of = inner(v);
  return of.form === 'number' && of.type === types.time;
};
const isCounts = (v: Vector): boolean => {
  const of = inner(v);
  return of.form === 'number' && isInteger(of.type) && of.type !== types.time && of.type !== types.duration;
};
/** Whole numbers as so many days. @throws query-time-overflow */
const days = (v: Vector): Vector => {
  if (v.form === 'constant') return constant(days(v.inner), v.length);
  const flat = flatten(v);
  const out = new NumberBuilder(types.duration);
  if (flat.form !== 'number') return v;
  for (let i = 0; i < flat.length; i++) {
    const nanos = BigInt(flat.values[i]) * nanosOfDay;
    if (!fitsInt64(nanos)) throw overflow(`${flat.values[i]} days`, types.duration);
    out.push(integer(nanos));
  }
  return out.finish();
};
/** A time that is no date has no days added: that an interval is meant, and of what, nobody can tell. */
const moved = (operator: '+' | '-', times: Vector, spans: Vector, length: number): Vector => {
  const result = arithmetic(operator, times, spans, length, undefined, true);
  const flat = flatten(times);
  const bad = new Uint8Array(length);
  if (flat.form !== 'number') return result;
  for (let i = 0; i < length; i++) bad[i] = BigInt(flat.values[i]) % nanosOfDay === 0n ? 0 : 1;
  return bad.includes(1)
    ? overlay(
        result,
        bad,
        wrapErrors(
          'a whole number is added to dates alone: write t + INTERVAL (n) DAY',
          numbers(types.time, flat.values, length),
        ),
      )
    : result;
};
