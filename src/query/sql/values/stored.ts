/**
 * Columns of files that hold what SQL calls a time of day, a uuid or an interval in a form of their own (Parquet's and
 * Arrow's), and columns of subqueries that casts made such values, or bits. By themselves they stay as they are, and go
 * out again so; where something is done with them they are what SQL makes of such values, so that they are equal to
 * these as values, as keys and in lists.
 */
import { spanRecord, spanType } from '../../../vectors/spans.ts';
import type { Type } from '../../../vectors/type.ts';
import { types, membersOf } from '../../../vectors/type.ts';
import { intValue, nullValue } from '../../../vectors/value.ts';
import type { PlanExpr } from '../../plan/plan.ts';
import { literal } from '../../plan/walk.ts';
import { asDuration, castTo } from './casts.ts';
import { type SqlType, areIntervals, isToldText, sqlTypeOfName } from './types.ts';

type TypeOf = ((e: PlanExpr) => Type) | undefined;

/** Names of types that all values but null have. */
const namesOf = (t: Type): readonly string[] | undefined => {
  const given = membersOf(t).filter((m) => m !== types.null);
  const names = given.map((m) => (m.kind === 'named' ? m.name : undefined));
  return names.length > 0 && names.every((name) => name !== undefined) ? names : undefined;
};
/** What may be such a column: it is asked for its type only then. */
const mayBeColumn = (e: PlanExpr): boolean =>
  e.kind === 'field' ||
  e.kind === 'index' ||
  e.kind === 'subquery' ||
  e.kind === 'apply' ||
  (e.kind === 'call' && elements.has(e.name));
const elements: ReadonlySet<string> = new Set(['array_extract', 'list_element', 'list_extract']);
const storedType = (t: Type): SqlType | undefined => {
  const names = namesOf(t);
  const [first, ...others] = names?.map(sqlTypeOfName) ?? [];
  // Sixteen bytes may be something else.
  if (names?.some((name) => name === 'arrow_fixed_size_binary_16')) return undefined;
  const isOne = first && (first.kind === 'clock' || first.kind === 'uuid' || first.kind === 'bit');
  return isOne && others.every((o) => o?.kind === first.kind) ? first : undefined;
};

/** What a cast of the query's own made of the texts of a column; undefined for all other columns. */
export const toldIn = (e: PlanExpr, typeOf: TypeOf): SqlType | undefined => {
  const type = typeOf && mayBeColumn(e) ? typeOf(e) : undefined;
  return type && isToldColumn(type) ? storedType(type) : undefined;
};
/** Whether there are texts in a column that a cast of the query's own made. */
export const isToldColumn = (t: Type): boolean => membersOf(t).some(isToldText);
/** The value as SQL has it. */
export const asSqlValue = (e: PlanExpr, typeOf: TypeOf): PlanExpr => {
  const told = toldIn(e, typeOf);
  const type = told ?? (typeOf && mayBeColumn(e) ? storedType(typeOf(e)) : undefined);
  return type ? castTo(e, type, told && { from: told }) : e;
};
/** A key that a map of a file is looked into with, in the form that its keys have there. */
export const asKeyOf = (map: PlanExpr, key: PlanExpr, typeOf: TypeOf): PlanExpr => {
  const type = typeOf && mayBeColumn(map) ? typeOf(map) : undefined;
  const members = type?.kind === 'union' ? type.members.filter((m) => m !== types.null) : [type];
  const [only, another] = members;
  const stored = only?.kind === 'map' && !another ? storedType(only.key) : undefined;
  if (stored?.kind === 'uuid')
    return castTo(castTo(key, stored), { kind: 'plain', type: types.bytes }, { from: stored });
  if (stored?.kind !== 'clock') return key;
  const midnight = literal({ type: types.time, data: 0 });
  return { kind: 'arithmetic', operator: '+', left: midnight, right: asDuration(castTo(key, stored)), sql: true };
};
/** Whether the keys of a map are intervals of a file, which equal others by their length and not by their bytes. */
export const hasSpanKeys = (map: PlanExpr, typeOf: TypeOf): boolean => {
  const type = typeOf && mayBeColumn(map) ? typeOf(map) : undefined;
  const [only, another] = type?.kind === 'union' ? type.members.filter((m) => m !== types.null) : [type];
  return only?.kind === 'map' && !another && ofFile(only.key);
};
/** A list of such values as one of SQL's, for functions that look at its elements. */
export const asSqlList = (e: PlanExpr, typeOf: TypeOf): PlanExpr => {
  const type = typeOf && mayBeColumn(e) ? typeOf(e) : undefined;
  const [only, another] = type?.kind === 'union' ? type.members.filter((m) => m !== types.null) : [type];
  if (only?.kind !== 'array' || another) return e;
  const element = storedType(only.element) ?? (ofFile(only.element) ? interval : undefined);
  return element ? castTo(e, { kind: 'list', element }) : e;
};
const interval: SqlType = { kind: 'plain', type: types.duration };
/** Whether there are intervals as Parquet has them, which have no order by themselves. */
const ofFile = (t: Type): boolean =>
  areIntervals(t) && membersOf(t).some((m) => m.kind === 'named' && m.inner === types.bytes);
/** The type that a column's values are cast to where they are compared with others; undefined for most. */
export const storedColumn = (t: Type): SqlType | undefined => storedType(t);

/** Whether a value is an interval for sure, and may be more than a duration. */
export const isInterval = (e: PlanExpr, typeOf: TypeOf): boolean => {
  if (e.kind === 'literal') return e.value.type === spanType || e.value.type === spanRecord;
  return typeOf !== undefined && mayBeInterval(e) && areIntervals(typeOf(e));
};
const mayBeInterval = (e: PlanExpr): boolean =>
  mayBeColumn(e) ||
  (e.kind === 'call' && e.name === 'age') ||
  e.kind === 'arithmetic' ||
  e.kind === 'sqlCast' ||
  e.kind === 'case' ||
  e.kind === 'conditional';
/** Intervals of Parquet are compared as what they stand for, not as bytes. */
export const spanOfFile = (e: PlanExpr, typeOf: TypeOf): PlanExpr =>
  mayBeColumn(e) && isInterval(e, typeOf) ? asDuration(e) : e;
/** An interval with another sign. */
export const negatedSpan = (e: PlanExpr, typeOf: TypeOf): PlanExpr | undefined =>
  isInterval(e, typeOf)
    ? { kind: 'arithmetic', operator: '*', left: e, right: literal(intValue(-1)), sql: true }
    : undefined;
/** What intervals are in order of: their lengths, for which a month has thirty days. */
export const orderOfSpan = (e: PlanExpr, typeOf: TypeOf): PlanExpr => (isInterval(e, typeOf) ? lengthOf(e) : e);
const lengthOf = (e: PlanExpr): PlanExpr => ({ kind: 'call', name: 'interval_length', arguments: [e], sql: true });

const isDuration = (e: PlanExpr, typeOf: TypeOf): boolean => {
  const type = e.kind === 'literal' ? e.value.type : typeOf?.(e);
  return type !== undefined && areDurations(type);
};
const areDurations = (t: Type): boolean => membersOf(t).every(isNullOrDuration);
const isNullOrDuration = (t: Type): boolean => t === types.null || t === types.duration;
/** What is compared with one another: of intervals the lengths, where nothing but intervals is there. */
export const spansAlike = (list: readonly PlanExpr[], typeOf: TypeOf): readonly PlanExpr[] =>
  list.some((e) => isInterval(e, typeOf)) && list.every((e) => isInterval(e, typeOf) || isDuration(e, typeOf))
    ? list.map(lengthOf)
    : list;
/** The one column of a query that a value is looked for in, and that value: of intervals the lengths. */
export const spansAlikeIn = (
  left: PlanExpr,
  column: PlanExpr,
  columnType: Type | undefined,
  typeOf: TypeOf,
): readonly [PlanExpr, PlanExpr] => {
  const isSpan = columnType !== undefined && areIntervals(columnType);
  const isColumn = isSpan || (columnType !== undefined && areDurations(columnType));
  const isLeft = isInterval(left, typeOf);
  return isColumn && (isLeft || isDuration(left, typeOf)) && (isSpan || isLeft)
    ? [lengthOf(left), lengthOf(column)]
    : [left, column];
};
/** `nullif` of intervals; undefined for other values. */
export const nullifOfSpans = (args: readonly PlanExpr[], typeOf: TypeOf): PlanExpr | undefined => {
  const [value, other] = args;
  const [left, right] = spansAlike(args, typeOf);
  if (!value || !other || !left || !right || args.length > 2 || left === value) return undefined;
  return {
    kind: 'conditional',
    test: { kind: 'compare', operator: '==', left, right, sql: true },
    then: literal(nullValue),
    otherwise: value,
  };
};

/** Aggregates that look at the length of an interval alone. */
const ofLengths: ReadonlySet<string> = new Set([
  'mad',
  'median',
  'percentile_cont',
  'percentile_disc',
  'quantile',
  'quantile_cont',
  'quantile_disc',
]);
/** The argument of an aggregate. */
export const inAggregate = (name: string, e: PlanExpr, typeOf: TypeOf): PlanExpr => {
  const value = asSqlValue(e, typeOf);
  return ofLengths.has(name) ? orderOfSpan(value, typeOf) : spanOfFile(value, typeOf);
};
/** The least or the greatest interval is the one of the least or greatest length. */
export const extremeOfSpans = (
  name: string,
  argument: PlanExpr | undefined,
  typeOf: TypeOf,
): { readonly name: string; readonly arity: number; readonly argument: PlanExpr } | undefined =>
  (name === 'min' || name === 'max') && argument && isInterval(argument, typeOf)
    ? {
        name: `arg_${name}`,
        arity: 2,
        argument: {
          kind: 'record',
          elements: [
            { kind: 'field', name: 'value', value: argument },
            { kind: 'field', name: 'by', value: orderOfSpan(argument, typeOf) },
          ],
        },
      }
    : undefined;
