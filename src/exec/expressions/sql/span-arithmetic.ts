/**
 * Arithmetic of intervals that may have months: with one another, with times, and products and quotients with numbers.
 * Each row by itself, since intervals with and without months are of two types.
 */
import { inner } from '../rows.ts';
import { isStoredInterval } from '../../../query/sql/values/types.ts';
import type { ArithmeticOperator } from '../../../query/plan/plan.ts';
import { LakeError } from '../../../errors.ts';
import {
  type TimeSpan,
  dividedSpan,
  plusSpan,
  spanOf,
  spanRecord,
  spanValue,
  timesSpan,
} from '../../../vectors/spans.ts';
import { type Type, isFloat, isInteger, types } from '../../../vectors/type.ts';
import { type Value, textError, numericData } from '../../../vectors/value.ts';
import { someForm } from '../../../vectors/forms.ts';
import { type Vector, flatten, nulls, typeAt, valueAt } from '../../../vectors/vector.ts';
import { Builder } from '../../../vectors/builder.ts';
import { checkStopAt } from '../../../vectors/stop.ts';
import { supText } from '../../../vectors/sup/print.ts';
import { overflow } from '../arithmetic.ts';
import { movedBy } from './spans.ts';

/** Whether rows are intervals with months. */
export const areSpans = (v: Vector): boolean => {
  const of = inner(v);
  return of.form === 'record' && of.length > 0 && typeAt(of, 0) === spanRecord;
};
/** Whether rows may be intervals by their names or fields: a quick look at the forms. */
export const mayHaveSpans = (v: Vector): boolean => someForm(v, isSpanLike);
const isSpanLike = (v: Vector): boolean =>
  v.form === 'record'
    ? v.fields.length === spanRecord.fields.length && v.fields[0]!.name === spanRecord.fields[0]!.name
    : v.form === 'named' && isStoredInterval(v.name);

/** What an operator makes of intervals with months or of those of Parquet; undefined where neither side is one. */
export const spanArithmetic = (
  operator: ArithmeticOperator,
  left: Vector,
  right: Vector,
  length: number,
): Vector | undefined => {
  const [l, r] = [inner(left), inner(right)];
  if (!isStored(l) && !isStored(r)) return undefined;
  if (l.form === 'null' || r.form === 'null') return nulls(length);
  if (l.form === 'error') return left;
  if (r.form === 'error') return right;
  const of = kernelOf(operator, kindOf(l), kindOf(r));
  if (!of) return undefined;
  const out = new Builder();
  const [x, y] = [flatten(left), flatten(right)];
  for (let i = 0; i < length; i++) {
    checkStopAt(i);
    const a = valueAt(x, i);
    const b = valueAt(y, i);
    out.append(of(a, b) ?? beyond(operator, a, b));
  }
  return out.finish();
};
/** @throws query-interval-overflow, query-division */
const beyond = (operator: ArithmeticOperator, a: Value, b: Value): never => {
  const operation = `${supText(a)} ${operator} ${supText(b)}`;
  if (operator === '/' && Number(b.data) === 0) throw new LakeError('query-division', { operation });
  throw new LakeError('query-interval-overflow', { operation });
};
/** The twelve bytes of Parquet, and what months are in. */
const isStored = (v: Vector): boolean =>
  areSpans(v) || (v.form === 'bytes' && v.type === types.bytes && v.length > 0 && spanOf(valueAt(v, 0)) !== undefined);

type Kind = 'span' | 'time' | 'number' | 'other';
const kindOf = (v: Vector): Kind => {
  if (isStored(v)) return 'span';
  if (v.form !== 'number') return 'other';
  const type: Type = v.type;
  if (type === types.duration) return 'span';
  if (type === types.time) return 'time';
  return isInteger(type) || isFloat(type) ? 'number' : 'other';
};
/** What a row comes to; undefined beyond the range of intervals. */
type RowOf = (a: Value, b: Value) => Value | undefined;
const kernelOf = (operator: ArithmeticOperator, left: Kind, right: Kind): RowOf | undefined => {
  const sign = operator === '-' ? -1 : 1;
  switch (`${left} ${operator} ${right}`) {
    case 'span + span':
    case 'span - span':
      return (a, b) => combined(a, b, (x, y) => plusSpan(x, y, sign));
    case 'time + span':
    case 'time - span':
      return (a, b) => movedTime(a, b, sign);
    case 'span + time':
      return (a, b) => movedTime(b, a, 1);
    case 'span * number':
      return (a, b) => scaled(a, b, timesSpan);
    case 'number * span':
      return (a, b) => scaled(b, a, timesSpan);
    case 'span / number':
      return (a, b) => scaled(a, b, dividedSpan);
    default:
      return undefined;
  }
};
const combined = (a: Value, b: Value, of: (x: TimeSpan, y: TimeSpan) => TimeSpan): Value | undefined => {
  const [x, y] = [spanOf(a), spanOf(b)];
  return x && y && spanValue(of(x, y));
};
const scaled = (span: Value, by: Value, of: (x: TimeSpan, by: number) => TimeSpan | undefined): Value | undefined => {
  const x = spanOf(span);
  const found = x && of(x, Number(by.data));
  return found && spanValue(found);
};
/** Months first, then days and the rest. @throws query-time-overflow */
const movedTime = (time: Value, by: Value, sign: 1 | -1): Value => {
  const span = spanOf(by);
  if (!span) return textError('incompatible types');
  const at = movedBy(numericData(time.data), span, sign);
  if (at === undefined) throw overflow(`${supText(time)} ${sign === 1 ? '+' : '-'} ${supText(by)}`, types.time);
  return { type: types.time, data: at };
};
