/** Edges of frames by offsets that differ from row to row: each is looked for by itself. */
import { LakeError } from '../../errors.ts';
import { type Type, isInteger, isFloat, types } from '../../vectors/type.ts';
import { supText } from '../../vectors/sup/print.ts';
import { type TimeSpan, lengthOfSpan, spanOf, spanRecord, spanValue } from '../../vectors/spans.ts';
import { nullValue, underValue, numericData } from '../../vectors/value.ts';
import { type NumberArray, type Vector, valueAt } from '../../vectors/vector.ts';
import type { WindowFrame } from '../../query/plan/plan.ts';
import { movedBy } from '../expressions/sql/spans.ts';
import { distancesOf, fillCurrent } from './keys.ts';
import type { Segment, Side } from './segment.ts';

type Steps = 1 | -1;

/** The edges of all rows. @throws window-offset for an offset that is null, negative, or none that the unit knows */
export const fillVarying = (
  out: Uint32Array,
  segment: Segment,
  unit: WindowFrame['unit'],
  steps: Steps,
  side: Side,
  offsets: Vector,
): void => {
  if (unit === 'range') return fillRange(out, segment, steps, side, offsets);
  const { partitionOf, partitionStarts, groupOf, groupStarts } = segment;
  const behind = side === 'end' ? 1 : 0;
  for (let i = 0; i < out.length; i++) {
    const p = partitionOf[i];
    const by = steps * Number(offsetAt(offsets, i, true)) + behind;
    if (unit === 'rows') out[i] = within(i + by, partitionStarts[p], partitionStarts[p + 1]);
    else
      out[i] =
        groupStarts[within(groupOf[i] + by, groupOf[partitionStarts[p]], groupOf[partitionStarts[p + 1] - 1] + 1)];
  }
};
const within = (x: number, least: number, greatest: number): number => Math.min(Math.max(x, least), greatest);

/** An interval with months, which only a time or a duration can be moved by. */
const spanAt = (offsets: Vector, row: number): TimeSpan | undefined => {
  const value = underValue(valueAt(offsets, row));
  const span = value.type === spanRecord ? spanOf(value) : undefined;
  if (span && lengthOfSpan(span) < 0n) throw new LakeError('window-offset', { value: supText(value) });
  return span;
};
const offsetAt = (offsets: Vector, row: number, isWhole: boolean): number | bigint => {
  const value = underValue(valueAt(offsets, row));
  const { type, data } = value;
  if (!(isInteger(type) || (!isWhole && (isFloat(type) || type === types.duration))) || !(Number(data) >= 0))
    throw new LakeError('window-offset', { value: supText(value) });
  return numericData(data);
};

/** Rows whose key is nowhere (null, NaN) see their peers alone. */
const fillRange = (out: Uint32Array, segment: Segment, steps: Steps, side: Side, offsets: Vector): void => {
  fillCurrent(out, segment, false, side);
  const keys = distancesOf(segment.keys[0], areIntervals(offsets));
  if (!keys) return;
  const { values, valid } = keys;
  const isAscending = segment.directions[0].order === 'asc';
  const { partitionOf, partitionStarts } = segment;
  let partition = -1;
  let from = 0;
  let to = 0;
  for (let i = 0; i < out.length; i++) {
    if (partitionOf[i] !== partition) {
      partition = partitionOf[i];
      from = partitionStarts[partition];
      to = partitionStarts[partition + 1];
      while (from < to && valid[from] === 0) from++;
      while (to > from && valid[to - 1] === 0) to--;
    }
    const span = spanAt(offsets, i);
    const by = span ?? offsetAt(offsets, i, false);
    if (valid[i] !== 1) continue;
    const way = isAscending ? steps : (-steps as Steps);
    const bound =
      typeof by === 'object'
        ? movedKey(underValue(valueAt(segment.keys[0], i)).type, values[i], by, way)
        : boundOf(values[i], by, way);
    out[i] = firstBehind(values, bound, { from, to, isAscending, side });
  }
};

/** Whether the offsets are intervals; those of a frame are of one kind. */
const areIntervals = (offsets: Vector): boolean => {
  const type = offsets.length > 0 ? underValue(valueAt(offsets, 0)).type : types.null;
  return type === types.duration || type === spanRecord;
};
/**
 * A time goes by the calendar, a duration or a time of day by thirty days a month; beyond the times there are is behind
 * all of them. @throws window-offset beside a number
 */
const movedKey = (type: Type, key: number | bigint, span: TimeSpan, steps: Steps): number | bigint => {
  if (type === types.time) return movedBy(key, span, steps) ?? steps * Infinity;
  if (type === types.duration || type === types.string) return BigInt(key) + BigInt(steps) * lengthOfSpan(span);
  throw new LakeError('window-offset', { value: supText(spanValue(span) ?? nullValue) });
};
const boundOf = (key: number | bigint, by: number | bigint, steps: Steps): number | bigint =>
  typeof key === 'bigint' && (typeof by === 'bigint' || Number.isInteger(by))
    ? key + BigInt(by) * BigInt(steps)
    : Number(key) + Number(by) * steps;

interface Run {
  readonly from: number;
  readonly to: number;
  readonly isAscending: boolean;
  readonly side: Side;
}
/** The first row of the run whose key is not before the bound (start), or is behind it (end). */
const firstBehind = (values: NumberArray, bound: number | bigint, { from, to, isAscending, side }: Run): number => {
  let low = from;
  let high = to;
  while (low < high) {
    const middle = (low + high) >>> 1;
    const x = values[middle];
    const isBefore = isAscending ? x < bound : x > bound;
    const isAfter = isAscending ? x > bound : x < bound;
    if (isBefore || (side === 'end' && !isAfter)) low = middle + 1;
    else high = middle;
  }
  return low;
};
