/**
 * Times of records: the values of a field that are times in other types, as most programs send them.
 *
 * - A text is RFC 3339 or what a cast to time takes of dates; one that is a number is read as that.
 * - A number counts from 1970, in what its size says: below 1e11 seconds, below 1e14 milliseconds, below 1e17
 *   microseconds, else nanoseconds. A fraction is taken to the microsecond, which is what a float holds of seconds.
 * - What is none of this, or no time that 64 bits hold, stays as it came.
 */
import { keptTimeOfText } from '../../exec/expressions/time-text.ts';
import { timesOfBytes } from '../../exec/expressions/time-bytes.ts';
import { Builder } from '../../vectors/builder.ts';
import { checkStopAt } from '../../vectors/stop.ts';
import { type Type, types } from '../../vectors/type.ts';
import { type Field, type Vector, dataAt, flatten, typeAt, valueAt } from '../../vectors/vector.ts';

/** The batches with such a field, if there is to be one. */
export const eachWithTimes = (batches: AsyncIterable<Vector>, name: string | undefined): AsyncIterable<Vector> =>
  name === undefined ? batches : timed(batches, name);
async function* timed(batches: AsyncIterable<Vector>, name: string): AsyncGenerator<Vector> {
  for await (const batch of batches) yield withTimes(batch, name);
}

/** The same rows with the field of that name, at the top of records, as times. */
export const withTimes = (rows: Vector, name: string): Vector => {
  switch (rows.form) {
    case 'record': {
      const at = rows.fields.findIndex((field) => field.name === name);
      if (at < 0) return rows;
      const fields: readonly Field[] = rows.fields.map((field, k) =>
        k === at ? { ...field, values: asTimes(field.values) } : field,
      );
      return { ...rows, fields };
    }
    case 'dynamic':
      return { ...rows, parts: rows.parts.map((part) => withTimes(part, name)) };
    case 'constant':
      return { ...rows, inner: withTimes(rows.inner, name) };
    case 'dictionary':
      return { ...rows, values: withTimes(rows.values, name) };
    case 'selected':
      return { ...rows, base: withTimes(rows.base, name) };
    default:
      return rows;
  }
};

const asTimes = (values: Vector): Vector => {
  const flat = flatten(values);
  if (flat.form === 'bytes' && flat.type === types.string) return timesOfBytes(flat) ?? timesOfRows(flat);
  if (flat.form === 'number' && !isOfTime(flat.type)) return timesOfRows(flat);
  return flat.form === 'dynamic' ? timesOfRows(flat) : values;
};
const isOfTime = (type: Type): boolean => type === types.time || type === types.duration;

const timesOfRows = (v: Vector): Vector => {
  const out = new Builder();
  for (let i = 0; i < v.length; i++) {
    checkStopAt(i);
    const type = typeAt(v, i);
    const time = timeOf(type, dataAt(v, i));
    if (time) out.seconds(types.time, time.seconds, time.nanos);
    else out.append(valueAt(v, i));
  }
  return out.finish();
};

interface Instant {
  readonly seconds: number;
  readonly nanos: number;
}
const numeric = /^-?\d+(\.\d+)?$/;
const timeOf = (type: Type, data: unknown): Instant | undefined => {
  if (type.kind !== 'primitive' || isOfTime(type)) return undefined;
  if (typeof data === 'number') return timeOfNumber(data);
  if (typeof data === 'bigint') return timeOfCount(data);
  if (type !== types.string || typeof data !== 'string') return undefined;
  if (numeric.test(data)) return data.includes('.') ? timeOfNumber(Number(data)) : timeOfCount(BigInt(data));
  const nanos = dated.test(data) ? keptTimeOfText(data) : undefined;
  return nanos === undefined ? undefined : instantOf(BigInt(nanos));
};
/** Begins as a date, or as a day or a month by its name. */
const dated = /^(\d{4}-\d|\d{4}\/\d|\d{1,2}[\/ .-]|[A-Z][a-z]{2})/;

const nanosPerSecond = 1_000_000_000n;
/** What 64 bits hold. */
const countMax = 2n ** 63n - 1n;

const timeOfNumber = (x: number): Instant | undefined => {
  if (!Number.isFinite(x)) return undefined;
  if (Number.isInteger(x)) return Math.abs(x) < 2 ** 63 ? timeOfCount(BigInt(x)) : undefined;
  const unit = unitOf(Math.abs(x));
  const whole = Math.floor(x);
  const micros = BigInt(Math.round((x - whole) * 1e6));
  // What is below a nanosecond is nothing.
  return instantOf(BigInt(whole) * unit + (micros * unit) / 1_000_000n);
};
const timeOfCount = (x: bigint): Instant | undefined => {
  const size = x < 0n ? -x : x;
  return size > countMax ? undefined : instantOf(x * unitOf(Number(size)));
};
/** Nanoseconds of the unit in which a number of that size counts. */
const unitOf = (size: number): bigint => {
  if (size < 1e11) return nanosPerSecond;
  if (size < 1e14) return 1_000_000n;
  return size < 1e17 ? 1_000n : 1n;
};
const instantOf = (nanos: bigint): Instant | undefined => {
  if (nanos > countMax || nanos < -countMax - 1n) return undefined;
  const rest = ((nanos % nanosPerSecond) + nanosPerSecond) % nanosPerSecond;
  return { seconds: Number((nanos - rest) / nanosPerSecond), nanos: Number(rest) };
};
