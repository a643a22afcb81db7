/**
 * Columns of files that hold what SQL calls a time of day, a uuid or an interval in a form of their own (Parquet's and
 * Arrow's). By themselves they stay as they are, and go out again so; where something is done with them they are what
 * SQL makes of such values, so that they are equal to these as values, as keys and in lists.
 */
import type { Type } from '../../vectors/type.ts';
import { types } from '../../vectors/type.ts';
import type { ExprContext } from '../analyze/exprs.ts';
import type { ArithmeticOperator, PlanExpr } from '../plan/plan.ts';
import { asDuration, castTo } from './casts.ts';
import { type SqlType, isStoredInterval, sqlTypeOfName } from './types.ts';

type TypeOf = ((e: PlanExpr) => Type) | undefined;

/** Names of types that all values but null have. */
const namesOf = (t: Type): readonly string[] | undefined => {
  const given = (t.kind === 'union' ? t.members : [t]).filter((m) => m !== types.null);
  const names = given.map((m) => (m.kind === 'named' ? m.name : undefined));
  return names.length > 0 && names.every((name) => name !== undefined) ? names : undefined;
};
/** What may be such a column: it is asked for its type only then. */
const mayBeColumn = (e: PlanExpr): boolean =>
  e.kind === 'field' || e.kind === 'index' || e.kind === 'subquery' || e.kind === 'apply';
const storedType = (t: Type): SqlType | undefined => {
  const names = namesOf(t);
  const [first, ...others] = names?.map(sqlTypeOfName) ?? [];
  // Sixteen bytes may be something else.
  if (names?.some((name) => name === 'arrow_fixed_size_binary_16')) return undefined;
  return first && (first.kind === 'clock' || first.kind === 'uuid') && others.every((o) => o?.kind === first.kind)
    ? first
    : undefined;
};

/** The value as SQL has it. */
export const asSqlValue = (e: PlanExpr, typeOf: TypeOf): PlanExpr => {
  const type = typeOf && mayBeColumn(e) ? storedType(typeOf(e)) : undefined;
  return type ? castTo(e, type) : e;
};
/** The type that a column's values are cast to where they are compared with others; undefined for most. */
export const storedColumn = (t: Type): SqlType | undefined => storedType(t);

const isInterval = (e: PlanExpr, typeOf: TypeOf): boolean =>
  typeOf !== undefined && mayBeColumn(e) && (namesOf(typeOf(e))?.every(isStoredInterval) ?? false);
const isDuration = (e: PlanExpr, typeOf: TypeOf): boolean => typeOf !== undefined && typeOf(e) === types.duration;

/**
 * Intervals of files beside one another, beside durations and numbers are durations; beside times they stay, since
 * these know how long a month is.
 */
export const spansOf = (
  operator: ArithmeticOperator,
  left: PlanExpr,
  right: PlanExpr,
  c: ExprContext,
): readonly [PlanExpr, PlanExpr] => {
  const typeOf = c.sql?.typeOf;
  const l = isInterval(left, typeOf);
  const r = isInterval(right, typeOf);
  if (!l && !r) return [left, right];
  const isApart =
    operator === '*' ||
    operator === '/' ||
    operator === '%' ||
    ((l || isDuration(left, typeOf)) && (r || isDuration(right, typeOf)));
  return isApart ? [l ? asDuration(left) : left, r ? asDuration(right) : right] : [left, right];
};
/** An interval of a file with another sign, or in an aggregate, is a duration. */
export const spanOfFile = (e: PlanExpr, typeOf: TypeOf): PlanExpr => (isInterval(e, typeOf) ? asDuration(e) : e);
/** What intervals of files are in order of: their seconds, of which a month has thirty days. */
export const orderOfSpan = (e: PlanExpr, typeOf: TypeOf): PlanExpr =>
  isInterval(e, typeOf) ? { kind: 'call', name: 'epoch', arguments: [e], sql: true } : e;

const ofLengths: ReadonlySet<string> = new Set([
  'sum',
  'avg',
  'mean',
  'min',
  'max',
  'median',
  'mode',
  'quantile',
  'quantile_cont',
  'quantile_disc',
]);
/** The argument of an aggregate. */
export const inAggregate = (name: string, e: PlanExpr, typeOf: TypeOf): PlanExpr =>
  ofLengths.has(name) ? spanOfFile(asSqlValue(e, typeOf), typeOf) : asSqlValue(e, typeOf);
