/**
 * Frames: for each row the range [starts[i], ends[i]) of rows of its partition that it sees, and what EXCLUDE takes out
 * of it.
 *
 * Where offsets are constants, starts and ends never go back within a partition: bounds are found by moving on, without
 * searching. Those that differ from row to row are in offsets.ts.
 */
import type { FrameEdge, WindowFrame } from '../../query/plan/plan.ts';
import { types } from '../../vectors/type.ts';
import { type Value, numericData } from '../../vectors/value.ts';
import type { Vector } from '../../vectors/vector.ts';
import { distancesOf, fillCurrent } from './keys.ts';
import { constantOf } from '../../vectors/builder.ts';
import { spanType } from '../../vectors/spans.ts';
import { fillVarying } from './offsets.ts';
import { type Segment, type Side, partitionCount } from './segment.ts';

/** The frame of each row i: rows [starts[i], ends[i]) of the segment, without those that are excluded. */
export interface Frames {
  readonly starts: Uint32Array;
  readonly ends: Uint32Array;
  readonly exclude: WindowFrame['exclude'];
  /** Every frame begins with its partition, and ends no sooner than that of the row before. */
  readonly fromStart: boolean;
  /** Every frame is its partition. */
  readonly whole: boolean;
}

/** The frames of all rows of a segment; `argument` gives the columns of offsets that differ from row to row. */
export const framesOf = (segment: Segment, frame: WindowFrame, argument: (index: number) => Vector): Frames => {
  const fromStart = frame.start.kind === 'unbounded' && !('argument' in frame.end);
  const toEnd =
    frame.end.kind === 'unbounded' ||
    (frame.unit !== 'rows' && frame.end.kind === 'current' && segment.keys.length === 0);
  const starts = new Uint32Array(segment.length);
  const ends = new Uint32Array(segment.length);
  for (const [out, edge, side] of [
    [starts, frame.start, 'start'],
    [ends, frame.end, 'end'],
  ] as const) {
    if ('argument' in edge)
      fillVarying(out, segment, frame.unit, edge.kind === 'preceding' ? -1 : 1, side, argument(edge.argument));
    else fill(out, segment, frame, edge, side);
  }
  for (let i = 0; i < starts.length; i++) if (starts[i] > ends[i]) ends[i] = starts[i];
  return { starts, ends, exclude: frame.exclude, fromStart, whole: fromStart && toEnd && frame.exclude === 'none' };
};

const fill = (
  out: Uint32Array,
  segment: Segment,
  { unit }: WindowFrame,
  edge: Exclude<FrameEdge, { readonly argument: number }>,
  side: Side,
): void => {
  if (!('offset' in edge)) {
    if (edge.kind === 'unbounded') fillUnbounded(out, segment, side);
    else fillCurrent(out, segment, unit === 'rows', side);
  } else {
    const steps = edge.kind === 'preceding' ? -1 : 1;
    if (unit === 'rows') fillRows(out, segment, steps * Number(edge.offset.data), side);
    else if (unit === 'groups') fillGroups(out, segment, steps * Number(edge.offset.data), side);
    else if (edge.offset.type === spanType)
      // Months have no length: no frame is a shift of the one before.
      fillVarying(out, segment, unit, steps, side, constantOf(edge.offset, segment.length));
    else fillRange(out, segment, edge.offset, steps, side);
  }
};

const fillUnbounded = (out: Uint32Array, { partitionOf, partitionStarts }: Segment, side: Side): void => {
  const next = side === 'end' ? 1 : 0;
  for (let i = 0; i < out.length; i++) out[i] = partitionStarts[partitionOf[i] + next];
};

const fillRows = (out: Uint32Array, { partitionOf, partitionStarts }: Segment, steps: number, side: Side): void => {
  const by = steps + (side === 'end' ? 1 : 0);
  for (let i = 0; i < out.length; i++) {
    const p = partitionOf[i];
    const at = i + by;
    out[i] = Math.min(Math.max(at, partitionStarts[p]), partitionStarts[p + 1]);
  }
};

const fillGroups = (
  out: Uint32Array,
  { partitionOf, partitionStarts, groupOf, groupStarts }: Segment,
  steps: number,
  side: Side,
): void => {
  const by = steps + (side === 'end' ? 1 : 0);
  for (let i = 0; i < out.length; i++) {
    const p = partitionOf[i];
    const first = groupOf[partitionStarts[p]];
    const last = groupOf[partitionStarts[p + 1] - 1] + 1;
    out[i] = groupStarts[Math.min(Math.max(groupOf[i] + by, first), last)];
  }
};

/** Rows whose key is nowhere (null, NaN) see their peers alone. */
const fillRange = (out: Uint32Array, segment: Segment, distance: Value, steps: 1 | -1, side: Side): void => {
  const offset = numericData(distance.data);
  fillCurrent(out, segment, false, side);
  const { partitionStarts } = segment;
  const keys = distancesOf(segment.keys[0], distance.type === types.duration);
  if (!keys) return;
  const { values, valid } = keys;
  const ascending = segment.directions[0].order === 'asc';
  const move = ascending ? steps : -steps;
  for (let p = 0; p < partitionCount(segment); p++) {
    let from = partitionStarts[p];
    let to = partitionStarts[p + 1];
    while (from < to && valid[from] === 0) from++;
    while (to > from && valid[to - 1] === 0) to--;
    const run: Run = { out, from, to, ascending, side };
    if (values instanceof Float64Array && typeof offset === 'number') sweepNumbers(values, move * offset, run);
    else if (!(values instanceof Float64Array) && isWhole(offset))
      sweepBigs(values, BigInt(offset) * BigInt(move), run);
    else sweepNumbers(Float64Array.from(values as ArrayLike<number | bigint>, Number), move * Number(offset), run);
  }
};
const isWhole = (x: number | bigint): boolean => typeof x === 'bigint' || Number.isInteger(x);

/** Rows [from, to) of a partition have numbers as keys. */
interface Run {
  readonly out: Uint32Array;
  readonly from: number;
  readonly to: number;
  readonly ascending: boolean;
  readonly side: Side;
}

/** The first row whose key is not before the bound (start), or is behind it (end). */
const sweepNumbers = (values: Float64Array, by: number, { out, from, to, ascending, side }: Run): void => {
  let at = from;
  for (let i = from; i < to; i++) {
    const bound = values[i] + by;
    if (side === 'start') while (at < to && (ascending ? values[at] < bound : values[at] > bound)) at++;
    else while (at < to && (ascending ? values[at] <= bound : values[at] >= bound)) at++;
    out[i] = at;
  }
};
const sweepBigs = (
  values: BigInt64Array | BigUint64Array,
  by: bigint,
  { out, from, to, ascending, side }: Run,
): void => {
  let at = from;
  for (let i = from; i < to; i++) {
    const bound = values[i] + by;
    if (side === 'start') while (at < to && (ascending ? values[at] < bound : values[at] > bound)) at++;
    else while (at < to && (ascending ? values[at] <= bound : values[at] >= bound)) at++;
    out[i] = at;
  }
};

/** Ranges of rows, at most three, as pairs; `count` of them are in use. */
interface Pieces {
  readonly bounds: Uint32Array;
  count: number;
}
/** Room for the pieces of one frame, for `piecesOf` to fill again and again. */
export const newPieces = (): Pieces => ({ bounds: new Uint32Array(6), count: 0 });

/** What is left of the frame of row i once EXCLUDE has taken its part. */
export const piecesOf = (
  { starts, ends, exclude }: Frames,
  { groupOf, groupStarts }: Segment,
  i: number,
  out: Pieces,
): Pieces => {
  const start = starts[i];
  const end = ends[i];
  out.count = 0;
  if (exclude === 'none') return add(out, start, end);
  if (exclude === 'current') return add(add(out, start, Math.min(i, end)), Math.max(i + 1, start), end);
  const from = groupStarts[groupOf[i]];
  const to = groupStarts[groupOf[i] + 1];
  add(out, start, Math.min(from, end));
  if (exclude === 'ties') add(out, Math.max(i, start), Math.min(i + 1, end));
  return add(out, Math.max(to, start), end);
};
const add = (out: Pieces, start: number, end: number): Pieces => {
  if (start >= end) return out;
  out.bounds[out.count * 2] = start;
  out.bounds[out.count * 2 + 1] = end;
  out.count++;
  return out;
};
