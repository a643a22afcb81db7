/**
 * Intervals and dates in SQL's arithmetic. A duration holds days and shorter; months have no length of their own, and so
 * are counted apart (vectors/spans.ts). Beside what is known to be a time they are added by the calendar at once.
 */
import { fitsInt64 } from '../../../vectors/literal.ts';
import { spanType, spanValue } from '../../../vectors/spans.ts';
import { type Type, isInteger, types } from '../../../vectors/type.ts';
import { integer, intValue, stringValue, numericData } from '../../../vectors/value.ts';
import type { Analysis } from '../../analyze/context.ts';
import { type ExprContext, lowerExpr, lowerValue } from '../../analyze/exprs.ts';
import type { BinaryExpr, CallExpr, Expr, IntervalExpr, Span, UnaryExpr } from '../../ast.ts';
import { type Interval, type IntervalUnit, intervalOfText, intervalUnit } from '../../analyze/intervals.ts';
import { callOf, literal } from '../../plan/walk.ts';
import type { PlanExpr } from '../../plan/plan.ts';
import { alternatives, unknownType } from '../../types/of.ts';
import { asDuration, castTo, isClock, isDate } from './casts.ts';
import { isInterval } from './stored.ts';

/** The parts of an interval as expressions: whole months, and a duration. */
interface Lowered {
  readonly months?: PlanExpr;
  readonly rest?: PlanExpr;
}

/** `INTERVAL ..` as a value, or a call such as to_months(n), undefined for other calls. */
export const lowerInterval = (a: Analysis, e: IntervalExpr | CallExpr, c: ExprContext): PlanExpr | undefined => {
  const found = intervalOf(a, e, c);
  return found && alone(found);
};
const alone = ({ months, rest }: Lowered): PlanExpr => {
  if (!months) return rest ?? duration(0n);
  const known = wholeOf(months);
  const nanos = rest ? wholeOf(rest) : 0n;
  const value =
    known === undefined || nanos === undefined ? undefined : spanValue({ months: Number(known), days: 0, nanos });
  if (value) return literal(value);
  const month = literal({ type: spanType, data: [1, 0, 0] });
  const span: PlanExpr = { kind: 'arithmetic', operator: '*', left: month, right: months, sql: true };
  return rest ? { kind: 'arithmetic', operator: '+', left: span, right: rest, sql: true } : span;
};
/** The whole number of a literal. */
const wholeOf = (e: PlanExpr): bigint | undefined =>
  e.kind === 'literal' && isCount(e) && e.value.type !== types.float64 ? BigInt(numericData(e.value.data)) : undefined;

const duration = (nanos: bigint): PlanExpr => literal({ type: types.duration, data: integer(nanos) });

/** What an interval comes to; undefined for expressions that are none as they are written. */
const intervalOf = (a: Analysis, e: Expr, c: ExprContext): Lowered | undefined => {
  switch (e.kind) {
    case 'interval':
      return ofLiteral(a, e, c);
    case 'cast': {
      if (
        e.target.kind !== 'sql-type' ||
        e.target.type.kind !== 'plain' ||
        e.target.type.type !== types.duration ||
        e.expr.kind !== 'literal' ||
        e.expr.type !== 'string'
      )
        return undefined;
      const found = intervalOfText(e.expr.text);
      return found && found.months !== 0 ? ofParts(a, found, e) : undefined;
    }
    case 'unary': {
      const of = e.op === '-' ? intervalOf(a, e.operand, c) : undefined;
      return of && times(of, literal(intValue(-1)));
    }
    case 'call': {
      const unit =
        e.callee.kind === 'name' && /^to_[a-z]+[sa]$/i.test(e.callee.text) && e.args.length === 1
          ? intervalUnit(e.callee.text.slice(3))
          : undefined;
      const [amount] = e.args;
      return unit && amount && amount.kind !== 'lambda' && amount.kind !== 'function-ref'
        ? ofUnits(lowerExpr(a, amount, c), unit)
        : undefined;
    }
    case 'binary':
      return ofOperation(a, e, c);
    default:
      return undefined;
  }
};

const ofOperation = (a: Analysis, e: BinaryExpr, c: ExprContext): Lowered | undefined => {
  if (e.op === '*') {
    const left = intervalOf(a, e.left, c);
    const right = left ? undefined : intervalOf(a, e.right, c);
    return left ? times(left, lowerExpr(a, e.right, c)) : right && times(right, lowerExpr(a, e.left, c));
  }
  if (e.op !== '+' && e.op !== '-') return undefined;
  const left = intervalOf(a, e.left, c);
  const right = left && intervalOf(a, e.right, c);
  return left && right && plus(left, e.op === '-' ? times(right, literal(intValue(-1))) : right);
};

const ofLiteral = (a: Analysis, e: IntervalExpr, c: ExprContext): Lowered => {
  const unit = e.unit === undefined ? undefined : intervalUnit(e.unit);
  if (e.amount.kind === 'literal' && (e.amount.type === 'string' || e.amount.type === 'float64')) {
    const found = intervalOfText(e.amount.text, unit);
    return found
      ? ofParts(a, found, e)
      : {
          rest: a.wrong(
            `not an interval: ${JSON.stringify(e.amount.text)}`,
            e,
            "write INTERVAL '1 day 02:00:00' or INTERVAL 3 HOUR",
          ),
        };
  }
  return ofUnits(lowerExpr(a, e.amount, c), unit ?? intervalUnit('second')!);
};
const ofParts = (a: Analysis, { months, nanos }: Interval, place: Span): Lowered => {
  if (!fitsInt64(nanos))
    return {
      rest: a.wrong(
        'an interval has at most 106751 days (292 years)',
        place,
        'write what is longer in months or years',
      ),
    };
  return {
    ...(months !== 0 && { months: literal(intValue(months)) }),
    ...((nanos !== 0n || months === 0) && { rest: duration(nanos) }),
  };
};
const ofUnits = (amount: PlanExpr, unit: IntervalUnit): Lowered =>
  unit.kind === 'months'
    ? { months: product(amount, literal(intValue(unit.size))) }
    : { rest: product(amount, duration(unit.size)) };

const times = ({ months, rest }: Lowered, by: PlanExpr): Lowered => ({
  ...(months && { months: product(months, by) }),
  ...(rest && { rest: product(rest, by) }),
});
const plus = (x: Lowered, y: Lowered): Lowered => ({ ...sum('months', x, y), ...sum('rest', x, y) });
const sum = (part: 'months' | 'rest', x: Lowered, y: Lowered): Lowered => {
  const left = x[part];
  const right = y[part];
  if (!left || !right) return left || right ? { [part]: left ?? right } : {};
  return { [part]: { kind: 'arithmetic', operator: '+', left, right, sql: true } };
};
/** A product with a duration is one whatever the number's type. */
const product = (x: PlanExpr, y: PlanExpr): PlanExpr => {
  if (
    x.kind === 'literal' &&
    y.kind === 'literal' &&
    x.value.type !== types.float64 &&
    y.value.type !== types.float64 &&
    isCount(x) &&
    isCount(y)
  ) {
    const type = x.value.type === types.duration || y.value.type === types.duration ? types.duration : types.int64;
    const value = BigInt(numericData(x.value.data)) * BigInt(numericData(y.value.data));
    if (fitsInt64(value)) return literal({ type, data: integer(value) });
  }
  const made: PlanExpr = { kind: 'arithmetic', operator: '*', left: x, right: y, sql: true };
  return hasDuration(x) || hasDuration(y) ? asDuration(made) : made;
};
const isCount = (e: PlanExpr & { readonly kind: 'literal' }): boolean =>
  typeof e.value.data === 'number' || typeof e.value.data === 'bigint';
const hasDuration = (e: PlanExpr): boolean =>
  (e.kind === 'literal' && e.value.type === types.duration) ||
  (e.kind === 'sqlCast' && e.type.kind === 'plain' && e.type.type === types.duration) ||
  (e.kind === 'arithmetic' && (hasDuration(e.left) || hasDuration(e.right)));

/** Arithmetic of SQL that has an interval in it or a date on both sides; undefined for all else. */
export const lowerIntervalArithmetic = (
  a: Analysis,
  e: BinaryExpr | UnaryExpr,
  c: ExprContext,
): PlanExpr | undefined => {
  const whole = intervalOf(a, e, c);
  if (whole) return alone(whole);
  if (e.kind === 'unary' || (e.op !== '+' && e.op !== '-')) return undefined;
  const right = intervalOf(a, e.right, c);
  if (right) return moved(lowerValue(a, e.left, c), e.op, right, c);
  const left = e.op === '+' ? intervalOf(a, e.left, c) : undefined;
  return left && moved(lowerValue(a, e.right, c), '+', left, c);
};
/** A time that an interval is added to or taken from: first its months, then the rest. */
const moved = (time: PlanExpr, operator: '+' | '-', { months, rest }: Lowered, c: ExprContext): PlanExpr => {
  // A clock goes round: whole days and months leave it where it is.
  if (isClock(time))
    return castTo(
      { kind: 'arithmetic', operator, left: asDuration(time), right: rest ?? duration(0n) },
      { kind: 'clock', digits: 9 },
    );
  if (months && mayBeSpan(time, c)) return sqlArithmetic(operator, time, alone({ months, ...(rest && { rest }) }), c);
  const at = months ? monthsAdded(time, operator === '-' ? product(months, literal(intValue(-1))) : months, c) : time;
  return rest ? sqlArithmetic(operator, at, rest, c) : at;
};
const sqlArithmetic = (operator: '+' | '-', left: PlanExpr, right: PlanExpr, { attempt }: ExprContext): PlanExpr => ({
  kind: 'arithmetic',
  operator,
  left,
  right,
  sql: true,
  ...(attempt && { attempt }),
});

const monthsAdded = (time: PlanExpr, months: PlanExpr, c: ExprContext): PlanExpr => ({
  kind: 'call',
  name: 'add_months',
  arguments: [time, months],
  ...(c.sql && { sql: true }),
  ...(c.attempt && { attempt: true }),
});

/** Whether a value may be an interval, which months are added to as they are; also where its type is not known. */
const mayBeSpan = (e: PlanExpr, c: ExprContext): boolean => {
  if (isInterval(e, c.sql?.typeOf)) return true;
  const known = e.kind === 'literal' ? e.value.type : c.sql?.typeOf?.(e);
  return known !== undefined && alternatives(known).some((t) => t === types.duration || t === unknownType);
};

/** Dates among themselves and with whole numbers: days. Undefined where the query does not say that there are dates. */
export const dateArithmetic = (
  operator: '+' | '-',
  left: PlanExpr,
  right: PlanExpr,
  typeOf: ((e: PlanExpr) => Type) | undefined,
): PlanExpr | undefined => {
  if (operator === '-' && isDate(left) && isDate(right))
    return callOf('date_diff', literal(stringValue('day')), right, left);
  if (isClock(left) || isClock(right)) return clockArithmetic(operator, left, right);
  const sum: PlanExpr = { kind: 'arithmetic', operator, left, right, sql: true };
  const isWhole = (e: PlanExpr): boolean => {
    const type = e.kind === 'literal' ? e.value.type : typeOf?.(e);
    const members = type ? alternatives(type).filter((t) => t !== types.null) : [];
    return members.length > 0 && members.every(isInteger);
  };
  return (isDate(left) && isWhole(right)) || (operator === '+' && isWhole(left) && isDate(right))
    ? castTo(sum, { kind: 'date' })
    : undefined;
};

/**
 * `range(from, to, interval)` of times, and `generate_series`; undefined where the third argument is written as no
 * interval.
 */
export const lowerTimeRange = (
  a: Analysis,
  name: string,
  args: readonly Expr[],
  c: ExprContext,
): PlanExpr | undefined => {
  const [from, to, by] = args;
  const step = args.length === 3 && by ? stepOf(a, by, c) : undefined;
  if (!step || !from || !to) return undefined;
  return callOf(
    name,
    lowerExpr(a, from, c),
    lowerExpr(a, to, c),
    step.rest ?? duration(0n),
    ...(step.months ? [step.months] : []),
  );
};
/** A literal text as the interval that it says; undefined for others. */
export const lowerSpanText = (a: Analysis, e: Expr, c: ExprContext): PlanExpr | undefined => {
  const found = e.kind === 'literal' && e.type === 'string' ? stepOf(a, e, c) : undefined;
  return found && alone(found);
};
/** A text is the interval that it says. */
const stepOf = (a: Analysis, by: Expr, c: ExprContext): Lowered | undefined => {
  const written = by.kind === 'literal' && by.type === 'string' ? intervalOfText(by.text) : undefined;
  return written ? ofParts(a, written, by) : intervalOf(a, by, c);
};
/** A date with a time of day is a moment, the difference of two times of day a duration. */
const clockArithmetic = (operator: '+' | '-', left: PlanExpr, right: PlanExpr): PlanExpr => {
  const span = (e: PlanExpr): PlanExpr => (isClock(e) ? asDuration(e) : e);
  return { kind: 'arithmetic', operator, left: span(left), right: span(right), sql: true };
};
