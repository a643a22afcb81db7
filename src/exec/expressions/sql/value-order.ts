/**
 * The order of values in SQL: of ORDER BY, of `<` between lists and records, of greatest(), list_sort(), min(),
 * arg_max() and their like.
 */
import { checkStopAt } from '../../../vectors/stop.ts';
import { compareValues } from '../../../vectors/compare.ts';
import { compareExact, comparedOf, isLongDecimal, knownValue, nearValue } from '../../../vectors/decimal.ts';
import { lengthOfSpan, spanOf, spanRecord } from '../../../vectors/spans.ts';
import { type Type, compareText, hasPlaces, isNumeric } from '../../../vectors/type.ts';
import { type Data, type Value, nullValue } from '../../../vectors/value.ts';

/**
 * The order of values in which NaN is greater than any other number; records and lists are compared part by part, nulls
 * in them are the greatest. Records whose values are equal are in the order of their names: only with the same names
 * are they one value, as joins, groups and DISTINCT have it. A row `(x, y)` has no names, and is compared by position.
 */
export const order = (left: Value, right: Value): number => {
  const exact = orderOfDecimals(knownValue(left), knownValue(right));
  if (exact !== undefined) return exact;
  const a = nearValue(left);
  const b = nearValue(right);
  const spans = orderOfSpans(a, b);
  if (spans !== undefined) return spans;
  const x = Number.isNaN(a.data);
  const y = Number.isNaN(b.data);
  if ((x || y) && isNumeric(a.type) && isNumeric(b.type)) return Number(x) - Number(y);
  const of = partsOf(a);
  const others = of && partsOf(b);
  if (!of || !others || a.type.kind !== b.type.kind) return compareValues(a, b);
  for (let i = 0; i < Math.min(of.length, others.length); i++) {
    checkStopAt(i);
    const found = order(of[i], others[i]);
    if (found !== 0) return found;
  }
  return of.length - others.length || orderOfNames(a.type, b.type);
};
/** Of two types of records of the same length; 0 beside a row, and for all else. */
const orderOfNames = (a: Type, b: Type): number => {
  if (a === b || a.kind !== 'record' || b.kind !== 'record' || hasPlaces(a.fields) || hasPlaces(b.fields)) return 0;
  const at = a.fields.findIndex(({ name }, i) => name !== b.fields[i].name);
  return at < 0 ? 0 : compareText(a.fields[at].name, b.fields[at].name);
};

/** Of intervals, one of which has months at least, by their lengths; undefined for all else. */
const orderOfSpans = (a: Value, b: Value): number | undefined => {
  if (a.type !== spanRecord && b.type !== spanRecord) return undefined;
  const [x, y] = [spanOf(a), spanOf(b)];
  if (!x || !y) return undefined;
  const by = lengthOfSpan(x) - lengthOfSpan(y);
  return by < 0n ? -1 : Number(by > 0n);
};
/** Of a long decimal and a number, digit by digit; undefined for all else. */
const orderOfDecimals = (left: Value, right: Value): number | undefined => {
  if (!isLongDecimal(left.type) && !isLongDecimal(right.type)) return undefined;
  const a = comparedOf(left);
  const b = comparedOf(right);
  return a && b && compareExact(a, b);
};

/** The fields or elements of a value that has some. */
const partsOf = ({ type, data }: Value): readonly Value[] | undefined => {
  if (data === null) return undefined;
  const parts = data as readonly (Data | undefined)[];
  if (type.kind === 'record')
    return type.fields.map((f, i) => (parts[i] === undefined ? nullValue : { type: f.type, data: parts[i] }));
  return type.kind === 'array' || type.kind === 'set'
    ? parts.map((d) => ({ type: type.element, data: d! }))
    : undefined;
};
