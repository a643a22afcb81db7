/**
 * fill: nulls become what lies on the line through the rows around them, by the sort key. Before the first value and
 * behind the last one the line goes on through the two that are nearest.
 */
import { checkStopAt } from '../../vectors/stop.ts';
import { Builder } from '../../vectors/builder.ts';
import { fitsInt64 } from '../../vectors/literal.ts';
import { type Type, bitsOf, isFloat, isInteger, isUnsigned, types } from '../../vectors/type.ts';
import { type Data, type Value, integer, nullValue, underValue, numericData } from '../../vectors/value.ts';
import { type NumberArray, type Vector, valueAt } from '../../vectors/vector.ts';
import { combine } from '../expressions/rows.ts';
import { kinds, kindsOf } from '../operators/rows/kinds.ts';
import { numbersOf } from './keys.ts';
import type { Segment } from './segment.ts';

/** The argument, without the nulls that have a key and a value in their partition. */
export const filledIn = (segment: Segment, argument: Vector): Vector => {
  const key = numbersOf(segment.keys[0]!);
  const given = numbersOf(argument);
  const table = kindsOf(argument);
  if (!key || !given || !table) return argument;
  const { length, partitionStarts } = segment;
  const tags = new Uint32Array(length);
  const slots = Uint32Array.from({ length }, (_, i) => i);
  const out = new Builder();
  let made = 0;
  for (let p = 0; p + 1 < partitionStarts.length; p++) {
    const [start, end] = [partitionStarts[p]!, partitionStarts[p + 1]!];
    const known = rowsWhere(start, end, (i) => key.valid[i] === 1 && given.valid[i] === 1);
    for (let i = start, before = 0; i < end; i++) {
      checkStopAt(i);
      if (known[before] === i) before++;
      if (key.valid[i] !== 1 || (table[i] !== kinds.null && table[i] !== kinds.missing) || known.length === 0) continue;
      // The two around the row, or the two that are nearest to it on one side.
      const at = Math.max(0, Math.min(before - 1, known.length - 2));
      const [low, high] = [known[at]!, known[Math.min(at + 1, known.length - 1)]!];
      tags[i] = 1;
      slots[i] = made++;
      out.append(between(argument, low, high, share(key.values, i, low, high)));
    }
  }
  return made === 0 ? argument : combine(tags, slots, [argument, out.finish()]);
};
const rowsWhere = (start: number, end: number, test: (row: number) => boolean): readonly number[] => {
  const rows: number[] = [];
  for (let i = start; i < end; i++) if (test(i)) rows.push(i);
  return rows;
};

/** Where the key of a row lies between those of two others: 0 is the first of them, 1 the second. */
const share = (keys: NumberArray, row: number, low: number, high: number): number => {
  const [x, x0, x1] = [keys[row]!, keys[low]!, keys[high]!];
  if (x1 === x0) return 0;
  if (typeof x === 'bigint') return Number(x - (x0 as bigint)) / Number((x1 as bigint) - (x0 as bigint));
  // Halves: the distance of two floats may be none.
  return (x / 2 - Number(x0) / 2) / (Number(x1) / 2 - Number(x0) / 2);
};
/** The value at a share of the way from one row's to another's, in their type; null where that does not hold it. */
const between = (argument: Vector, low: number, high: number, at: number): Value => {
  const from = underValue(valueAt(argument, low));
  const to = underValue(valueAt(argument, high));
  if (from.type !== to.type || isFloat(from.type)) {
    const [y0, y1] = [Number(from.data), Number(to.data)];
    const y = at < 0 || at > 1 ? y0 + (y1 - y0) * at : y0 * (1 - at) + y1 * at;
    return { type: from.type === to.type ? from.type : types.float64, data: y };
  }
  const [y0, y1] = [BigInt(numericData(from.data)), BigInt(numericData(to.data))];
  const y = Number.isFinite(at * shares) ? along(y0, y1 - y0, at) : undefined;
  return y !== undefined && holds(from.type, y) ? { type: from.type, data: integer(y) as Data } : nullValue;
};
/** Between two rows what is behind the point is cut off, beyond them the nearest whole number counts. */
const along = (from: bigint, length: bigint, at: number): bigint => {
  const step = Number(length) * at;
  // Floats have no room for the ones of so long a way: shares of 2^52 have.
  if (!Number.isSafeInteger(Number(length)) || !Number.isSafeInteger(Math.trunc(step)))
    return from + (length * BigInt(Math.round(at * shares))) / BigInt(shares);
  if (at < 0 || at > 1) return from + BigInt(Math.ceil(step - 0.5));
  const below = from + BigInt(Math.floor(step));
  return below < 0n && !Number.isInteger(step) ? below + 1n : below;
};
const shares = 2 ** 52;
const holds = (type: Type, x: bigint): boolean => {
  if (type.kind !== 'primitive' || !isInteger(type)) return fitsInt64(x);
  const bits = BigInt(bitsOf(type));
  return isUnsigned(type) ? x >= 0n && x < 1n << bits : x >= -(1n << (bits - 1n)) && x < 1n << (bits - 1n);
};
