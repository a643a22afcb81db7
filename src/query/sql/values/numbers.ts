/**
 * Numbers of unlike types that come together in one column of SQL: they become one type, so that equal ones are equal.
 */
import { type Type, commonNumber, isFloat, isInteger, isUnsigned, types } from '../../../vectors/type.ts';
import type { ExprContext } from '../../analyze/exprs.ts';
import type { PlanExpr } from '../../plan/plan.ts';
import { castTo } from './casts.ts';
import { type TypeOf, areWide, scaleOf } from './decimals.ts';
import { type SqlType, decimalPrecisionMax } from './types.ts';
import { alternatives, numberIn } from '../../types/of.ts';

/**
 * A value whose rows are known to have integers of several types, as the one type that a column of theirs has: what is
 * too large for the type of a row is not for that.
 */
export const ofOneWidth = (c: ExprContext, e: PlanExpr): PlanExpr => {
  const type = e.kind === 'literal' ? undefined : c.sql?.typeOf?.(e);
  const members = type ? alternatives(type).filter((t) => t !== types.null) : [];
  const integers = members.map(numberIn).filter((t) => t !== undefined && isInteger(t) && t !== types.uint64);
  return members.length > 1 && integers.length === members.length
    ? castTo(e, { kind: 'plain', type: integers.map((t) => t!).reduce(commonNumber) })
    : e;
};

/** Arithmetic whose operands are integers of 128 bits has such a result, and quotients of these are whole. */
export const wideResult = (e: PlanExpr & { readonly kind: 'arithmetic' }, c: ExprContext): PlanExpr => {
  if (!areWide(e.left, e.right, c.sql?.typeOf)) return e;
  const divides = e.operator === '/' || e.operator === '%';
  return castTo({ ...e, scale: 0, ...(divides && { whole: true }) }, { kind: 'wide', unsigned: false });
};

/**
 * The values of the branches of CASE, COALESCE and their like, or of a column of VALUES, with numbers of one type as far as it is known of what
 * types they are; others as they are.
 */
export const alikeNumbers = (typeOf: TypeOf, branches: readonly PlanExpr[]): readonly PlanExpr[] => {
  if (!typeOf) return branches;
  const of = branches.map((e) => (e.kind === 'literal' ? e.value.type : typeOf(e)));
  const given = of.filter((t) => t !== types.null);
  const numbers = given.map(numberIn);
  if (numbers.length < 2 || !numbers.every((t) => t !== undefined) || new Set(numbers).size === 1) return branches;
  // No type holds all of both.
  if (numbers.includes(types.uint64) && !numbers.every((t) => isFloat(t) || isUnsigned(t))) return branches;
  const target = numbers.reduce(commonNumber);
  const isDecimal = branches.every(
    (e, i) => of[i] === types.null || isInteger(numberIn(of[i])!) || scaleOf(e, typeOf) !== undefined,
  );
  // Whole numbers beside decimals are decimals, so that the whole is known to be one.
  const wanted: SqlType =
    isDecimal && isFloat(target)
      ? { kind: 'decimal', precision: decimalPrecisionMax, scale: 0 }
      : { kind: 'plain', type: target };
  return branches.map((e, i) => (of[i] === types.null || numberIn(of[i]) === target ? e : castTo(e, wanted)));
};

/**
 * Texts that the query writes down beside values that are all times or all numbers, as what these are; others as they
 * are.
 */
export const readBeside = (c: ExprContext, values: readonly PlanExpr[]): readonly PlanExpr[] => {
  const isWritten = (e: PlanExpr): boolean => e.kind === 'literal' && e.value.type === types.string;
  const typeOf = (e: PlanExpr): Type | undefined => (e.kind === 'literal' ? e.value.type : c.sql?.typeOf?.(e));
  const kinds = values
    .filter((e) => !isWritten(e))
    .flatMap((e) => alternatives(typeOf(e) ?? types.string))
    .filter((t) => t !== types.null);
  if (kinds.length === 0 || !values.some(isWritten)) return values;
  if (kinds.every((t) => t === types.time))
    return values.map((e) => (isWritten(e) ? castTo(e, { kind: 'timestamp', unit: 1 }) : e));
  const numbers = kinds.map(numberIn);
  if (!numbers.every((t) => t !== undefined)) return values;
  const isWhole = values.every((e) => !isWritten(e) || /^\s*[+-]?\d+\s*$/.test(textOf(e)));
  const type = isWhole ? types.int64 : types.float64;
  return alikeNumbers(
    c.sql?.typeOf,
    values.map((e) => (isWritten(e) ? castTo(e, { kind: 'plain', type }) : e)),
  );
};
const textOf = (e: PlanExpr): string => (e.kind === 'literal' ? String(e.value.data) : '');
