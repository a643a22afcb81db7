/**
 * Values of unlike types beside one another in SQL: a text is read as the type of the other side, a bool is a number
 * beside numbers; lists, records and bools have an order. A text among the data that is none of that type equals
 * nothing, and is neither less nor greater: columns may have values of several types.
 */
import { type SqlType } from '../../../query/sql/values/types.ts';
import type { CompareOperator } from '../../../query/plan/plan.ts';
import { type PrimitiveType, isFloat, isInteger, isUnsigned, types } from '../../../vectors/type.ts';
import { lengthOfSpan, spanOf } from '../../../vectors/spans.ts';
import { type Data, type Value, integer, bytesData, stringData } from '../../../vectors/value.ts';
import { fitsInt64 } from '../../../vectors/literal.ts';
import { type Vector, bools, constant, dataAt, flatten, numbers, valueAt } from '../../../vectors/vector.ts';
import { Builder } from '../../../vectors/builder.ts';
import { lift } from '../lift.ts';
import { inner, truth, truthOf } from '../rows.ts';
import { areSpans } from './span-arithmetic.ts';
import { sqlCastVector } from './cast.ts';
import { order } from './value-order.ts';

/** The type of rows that a text can be read as; undefined for others. */
const primitiveOf = (v: Vector): PrimitiveType | undefined => {
  const of = inner(v);
  return of.form === 'number' || of.form === 'bytes' ? of.type : of.form === 'bool' ? types.bool : undefined;
};

/**
 * Which sides are literals of the query, in bits: a text there that the other type does not have is a mistake of the
 * query.
 */
export const strictness = { left: 1, right: 2 } as const;

/**
 * Both sides as one type, and the rows whose text is none of that type; undefined where nothing is to be cast. @throws
 * query-cast for a literal of the query
 */
export const alikeForSql = (left: Vector, right: Vector, strict: number): Alike | undefined => {
  const spans = alikeSpans(left, right, strict);
  if (spans) return spans;
  const x = primitiveOf(left);
  const y = primitiveOf(right);
  if (!x || !y || x === y) return undefined;
  if (x === types.bytes || y === types.bytes) {
    const meant = x === types.bytes ? besideBytes(left, right) : besideBytes(right, left);
    if (meant)
      return x === types.bytes ? { left: meant.bytes, right: meant.other } : { left: meant.other, right: meant.bytes };
  }
  if (x === types.string) return read(left, y, (strict & strictness.left) !== 0, (cast) => ({ left: cast, right }));
  if (y === types.string) return read(right, x, (strict & strictness.right) !== 0, (cast) => ({ left, right: cast }));
  if (x === types.bool) return { left: asNumbers(left), right };
  return y === types.bool ? { left, right: asNumbers(right) } : undefined;
};
/** Intervals with months beside others, durations and texts; undefined where there are none. */
const alikeSpans = (left: Vector, right: Vector, strict: number): Alike | undefined => {
  const isLeft = areSpans(left);
  if (!isLeft && !areSpans(right)) return undefined;
  const [span, other] = isLeft ? [left, right] : [right, left];
  const sides = (x: Vector, y: Vector): Alike => (isLeft ? { left: x, right: y } : { left: y, right: x });
  const mine = lengths(span);
  if (!mine) return undefined;
  const of = inner(other);
  if (of.form === 'bytes' && of.type === types.string)
    return read(other, types.duration, (strict & (isLeft ? strictness.right : strictness.left)) !== 0, (cast) =>
      sides(mine, lengthsOfTexts(cast)),
    );
  const theirs = lengths(other);
  return theirs && sides(mine, theirs);
};
/** Texts that were read as intervals, some of which may be null. */
const lengthsOfTexts = (v: Vector): Vector => lift(v, (flat) => lengths(flat) ?? flat);
/**
 * Files have uuids as sixteen bytes, and intervals as twelve: a uuid's text is the former, and the latter are compared
 * with durations, a month as thirty days.
 */
const besideBytes = (bytes: Vector, other: Vector): { readonly bytes: Vector; readonly other: Vector } | undefined => {
  const type = primitiveOf(other);
  const whole = inner(bytes);
  if (whole.form !== 'bytes' || whole.length === 0) return undefined;
  if (type === types.duration) {
    const spans = lengths(bytes);
    return spans && { bytes: spans, other };
  }
  if (type !== types.string || bytesData(dataAt(whole, 0)).length !== uuidBytes) return undefined;
  const uuids = eachRow(other, types.bytes, ({ data }) =>
    uuidText.test(stringData(data))
      ? new Uint8Array(Buffer.from(stringData(data).replaceAll('-', ''), 'hex'))
      : undefined,
  );
  return uuids && { bytes, other: uuids };
};
const uuidBytes = 16;
const uuidText = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/i;
/** Intervals as durations. */
const lengths = (v: Vector): Vector | undefined =>
  eachRow(v, types.duration, (x) => {
    const span = spanOf(x);
    const nanos = span && lengthOfSpan(span);
    return nanos !== undefined && fitsInt64(nanos) ? integer(nanos) : undefined;
  });
/** Other values of all rows; undefined where one has none. */
const eachRow = (v: Vector, type: PrimitiveType, of: (value: Value) => Data | undefined): Vector | undefined => {
  const whole = inner(v);
  const out = new Builder(type);
  for (let i = 0; i < whole.length; i++) {
    const x = of(valueAt(whole, i));
    if (x === undefined) return undefined;
    out.appendData(type, x);
  }
  return v.form === 'constant' ? constant(out.finish(), v.length) : out.finish();
};
interface Alike {
  readonly left: Vector;
  readonly right: Vector;
  readonly unread?: Uint8Array;
}
const read = (v: Vector, type: PrimitiveType, strict: boolean, sides: (cast: Vector) => Alike): Alike => {
  const cast = sqlCastVector(v, {
    type: targetOf(type),
    failure: strict ? 'error' : 'null',
    written: 'comparison',
    advice: '; to compare as text write x::varchar',
  });
  const codes = strict ? undefined : truthOf(cast);
  const unread = codes?.includes(truth.null) ? codes.map((code) => (code === truth.null ? 1 : 0)) : undefined;
  return { ...sides(cast), ...(unread && { unread }) };
};
/** Whole numbers of any width are compared as the widest. */
const targetOf = (type: PrimitiveType): SqlType => {
  if (type === types.time) return { kind: 'timestamp', unit: 1 };
  if (type === types.duration || !isInteger(type)) return { kind: 'plain', type: isFloat(type) ? types.float64 : type };
  return { kind: 'plain', type: isUnsigned(type) ? types.uint64 : types.int64 };
};
const asNumbers = (v: Vector): Vector => {
  if (v.form === 'constant') return constant(asNumbers(v.inner), v.length);
  const flat = flatten(v);
  return flat.form === 'bool' ? numbers(types.int64, Float64Array.from(flat.values.subarray(0, flat.length))) : v;
};

/** Bools, lists and records by their order; undefined for what has none. */
export const compareOrdered = (
  operator: CompareOperator,
  left: Vector,
  right: Vector,
  length: number,
): Vector | undefined => {
  const form = inner(left).form;
  if (form !== inner(right).form || (form !== 'bool' && form !== 'list' && form !== 'record')) return undefined;
  const out = new Uint8Array(length);
  for (let i = 0; i < length; i++) {
    const c = order(valueAt(left, i), valueAt(right, i));
    out[i] = holds(operator, c) ? 1 : 0;
  }
  return bools(out);
};
/** Whether a comparison is true of values of which the order is `c`. */
export const holds = (operator: CompareOperator, c: number): boolean => {
  switch (operator) {
    case '==':
      return c === 0;
    case '!=':
      return c !== 0;
    case '<':
      return c < 0;
    case '<=':
      return c <= 0;
    case '>':
      return c > 0;
    case '>=':
      return c >= 0;
  }
};
