/** What frames of either kind look at: the peers of a row, and the sort key as numbers. */
import { LakeError } from '../../errors.ts';
import { supText } from '../../vectors/sup/print.ts';
import { isFloat, isInteger, types } from '../../vectors/type.ts';
import { type BytesVector, type NumberArray, type Vector, textAt, valueAt } from '../../vectors/vector.ts';
import { eachPart } from '../aggregates/grouping/parts.ts';
import { sqlClock } from '../expressions/sql/texts.ts';
import type { Segment, Side } from './segment.ts';

/** Edges at the current row, or at the first or last of its peers. */
export const fillCurrent = (out: Uint32Array, { groupOf, groupStarts }: Segment, byRow: boolean, side: Side): void => {
  const next = side === 'end' ? 1 : 0;
  if (byRow) for (let i = 0; i < out.length; i++) out[i] = i + next;
  else for (let i = 0; i < out.length; i++) out[i] = groupStarts[groupOf[i] + next];
};

interface Numbers {
  readonly values: NumberArray;
  readonly valid: Uint8Array;
}

/** A time of day as SQL writes it: only these have the order of their texts. */
const clockText = /^\d\d:\d\d:\d\d(\.\d+)?$/;
/** Times of day as nanoseconds since midnight. @throws window-key for any other text */
const clocksOf = (part: BytesVector): Float64Array =>
  Float64Array.from({ length: part.length }, (_, i) => {
    const text = textAt(part, i);
    const nanos = clockText.test(text) ? sqlClock(text, 9) : undefined;
    if (nanos === undefined) throw new LakeError('window-key', { value: supText(valueAt(part, i)) });
    return Number(nanos);
  });

/**
 * The sort key of a frame by distances: beside an interval, times of day are durations since midnight. What is null,
 * missing or NaN is nowhere. @throws window-key for a value that nothing can be added to
 */
export const distancesOf = (key: Vector, byInterval: boolean): Numbers | undefined => {
  eachPart(key, (part) => {
    const isPlace = part.form === 'number' || part.form === 'null' || part.form === 'error';
    if (part.length > 0 && !isPlace && !(byInterval && part.form === 'bytes' && part.type === types.string))
      throw new LakeError('window-key', { value: supText(valueAt(part, 0)) });
  });
  return numbersOf(key, true);
};

/**
 * The numbers of a column (durations and times too) in one array, and which rows have one; undefined if none has. NaN
 * counts as none.
 */
export const numbersOf = (key: Vector, clocks = false): Numbers | undefined => {
  const valid = new Uint8Array(key.length);
  const parts: { readonly values: NumberArray; readonly rows: Uint32Array | undefined; readonly length: number }[] = [];
  let bigs = false;
  eachPart(key, (part, rows) => {
    if (clocks && part.form === 'bytes') parts.push({ values: clocksOf(part), rows, length: part.length });
    if (
      part.form !== 'number' ||
      !(isInteger(part.type) || isFloat(part.type) || part.type === types.duration || part.type === types.time)
    )
      return;
    parts.push({ values: part.values, rows, length: part.length });
    if (!(part.values instanceof Float64Array)) bigs = true;
  });
  if (parts.length === 0) return undefined;
  const signed = !parts.some((p) => p.values instanceof BigUint64Array);
  const fits = (x: number): boolean => Number.isInteger(x) && (signed || x >= 0);
  const exact =
    bigs &&
    parts.every((p) =>
      p.values instanceof Float64Array
        ? p.values.subarray(0, p.length).every(fits)
        : signed || p.values instanceof BigUint64Array,
    );
  const values: NumberArray = exact
    ? signed
      ? new BigInt64Array(key.length)
      : new BigUint64Array(key.length)
    : new Float64Array(key.length);
  for (const p of parts) {
    for (let k = 0; k < p.length; k++) {
      const row = p.rows ? p.rows[k] : k;
      const x = p.values[k];
      if (x !== x) continue;
      valid[row] = 1;
      if (exact) (values as BigInt64Array)[row] = BigInt(x);
      else (values as Float64Array)[row] = Number(x);
    }
  }
  return { values, valid };
};
