/**
 * Frames: for each row the range [starts[i], ends[i]) of rows of its partition that it sees, and what EXCLUDE takes out of it.
 *
 * Offsets are constants, so that starts and ends never go back within a partition: bounds are found by moving on, without searching.
 */
import { isFloat, isInteger, types } from '../../vectors/type.ts';
import type { FrameEdge, WindowFrame } from '../../query/plan.ts';
import type { NumberArray, Vector } from '../../vectors/vector.ts';
import { eachPart } from '../aggregates/parts.ts';
import { type Segment, partitionCount } from './segment.ts';

/** The frame of each row i: rows [starts[i], ends[i]) of the segment, without those that are excluded. */
export interface Frames {
  readonly starts: Uint32Array;
  readonly ends: Uint32Array;
  readonly exclude: WindowFrame['exclude'];
  /** Every frame begins with its partition. */
  readonly fromStart: boolean;
  /** Every frame is its partition. */
  readonly whole: boolean;
}

/** The frames of all rows of a segment. */
export const framesOf = (segment: Segment, frame: WindowFrame): Frames => {
  const fromStart = frame.start.kind === 'unbounded', toEnd = frame.end.kind === 'unbounded' || (frame.unit !== 'rows' && frame.end.kind === 'current' && segment.keys.length === 0);
  const starts = new Uint32Array(segment.length), ends = new Uint32Array(segment.length);
  fill(starts, segment, frame, frame.start, 'start');
  fill(ends, segment, frame, frame.end, 'end');
  for (let i = 0; i < starts.length; i++) if (starts[i]! > ends[i]!) ends[i] = starts[i]!;
  return { starts, ends, exclude: frame.exclude, fromStart, whole: fromStart && toEnd && frame.exclude === 'none' };
};

type Side = 'start' | 'end';

const fill = (out: Uint32Array, segment: Segment, { unit }: WindowFrame, edge: FrameEdge, side: Side): void => {
  if (!('offset' in edge)) {
    if (edge.kind === 'unbounded') fillUnbounded(out, segment, side);
    else fillCurrent(out, segment, unit === 'rows', side);
  } else {
    const steps = edge.kind === 'preceding' ? -1 : 1;
    if (unit === 'rows') fillRows(out, segment, steps * Number(edge.offset.data), side);
    else if (unit === 'groups') fillGroups(out, segment, steps * Number(edge.offset.data), side);
    else fillRange(out, segment, edge.offset.data as number | bigint, steps, side);
  }
};

const fillUnbounded = (out: Uint32Array, { partitionOf, partitionStarts }: Segment, side: Side): void => {
  const next = side === 'end' ? 1 : 0;
  for (let i = 0; i < out.length; i++) out[i] = partitionStarts[partitionOf[i]! + next]!;
};

const fillCurrent = (out: Uint32Array, { groupOf, groupStarts }: Segment, byRow: boolean, side: Side): void => {
  const next = side === 'end' ? 1 : 0;
  if (byRow) for (let i = 0; i < out.length; i++) out[i] = i + next;
  else for (let i = 0; i < out.length; i++) out[i] = groupStarts[groupOf[i]! + next]!;
};

const fillRows = (out: Uint32Array, { partitionOf, partitionStarts }: Segment, steps: number, side: Side): void => {
  const by = steps + (side === 'end' ? 1 : 0);
  for (let i = 0; i < out.length; i++) {
    const p = partitionOf[i]!, at = i + by;
    out[i] = Math.min(Math.max(at, partitionStarts[p]!), partitionStarts[p + 1]!);
  }
};

const fillGroups = (out: Uint32Array, { partitionOf, partitionStarts, groupOf, groupStarts }: Segment, steps: number, side: Side): void => {
  const by = steps + (side === 'end' ? 1 : 0);
  for (let i = 0; i < out.length; i++) {
    const p = partitionOf[i]!, first = groupOf[partitionStarts[p]!]!, last = groupOf[partitionStarts[p + 1]! - 1]! + 1;
    out[i] = groupStarts[Math.min(Math.max(groupOf[i]! + by, first), last)]!;
  }
};

/** Rows whose key is no number (null, NaN, text) see their peers alone. */
const fillRange = (out: Uint32Array, segment: Segment, offset: number | bigint, steps: 1 | -1, side: Side): void => {
  fillCurrent(out, segment, false, side);
  const { partitionStarts } = segment, keys = numbersOf(segment.keys[0]!);
  if (!keys) return;
  const { values, valid } = keys, ascending = segment.directions[0]!.order === 'asc';
  const move = ascending ? steps : -steps;
  for (let p = 0; p < partitionCount(segment); p++) {
    let from = partitionStarts[p]!, to = partitionStarts[p + 1]!;
    while (from < to && valid[from] === 0) from++;
    while (to > from && valid[to - 1] === 0) to--;
    const run: Run = { out, from, to, ascending, side };
    if (values instanceof Float64Array && typeof offset === 'number') sweepNumbers(values, move * offset, run);
    else if (!(values instanceof Float64Array) && isWhole(offset)) sweepBigs(values, BigInt(offset) * BigInt(move), run);
    else sweepNumbers(Float64Array.from(values as ArrayLike<number | bigint>, Number), move * Number(offset), run);
  }
};
const isWhole = (x: number | bigint): boolean => typeof x === 'bigint' || Number.isInteger(x);

/** Rows [from, to) of a partition have numbers as keys. */
interface Run { readonly out: Uint32Array; readonly from: number; readonly to: number; readonly ascending: boolean; readonly side: Side }

/** The first row whose key is not before the bound (start), or is behind it (end). */
const sweepNumbers = (values: Float64Array, by: number, { out, from, to, ascending, side }: Run): void => {
  let at = from;
  for (let i = from; i < to; i++) {
    const bound = values[i]! + by;
    if (side === 'start') while (at < to && (ascending ? values[at]! < bound : values[at]! > bound)) at++;
    else while (at < to && (ascending ? values[at]! <= bound : values[at]! >= bound)) at++;
    out[i] = at;
  }
};
const sweepBigs = (values: BigInt64Array | BigUint64Array, by: bigint, { out, from, to, ascending, side }: Run): void => {
  let at = from;
  for (let i = from; i < to; i++) {
    const bound = values[i]! + by;
    if (side === 'start') while (at < to && (ascending ? values[at]! < bound : values[at]! > bound)) at++;
    else while (at < to && (ascending ? values[at]! <= bound : values[at]! >= bound)) at++;
    out[i] = at;
  }
};

/** The numbers of a column (durations and times too) in one array, and which rows have one; undefined if none has. NaN counts as none. */
const numbersOf = (key: Vector): { readonly values: NumberArray; readonly valid: Uint8Array } | undefined => {
  const valid = new Uint8Array(key.length), parts: { readonly values: NumberArray; readonly rows: Uint32Array | undefined; readonly length: number }[] = [];
  let bigs = false;
  eachPart(key, (part, rows) => {
    if (part.form !== 'number' || !(isInteger(part.type) || isFloat(part.type) || part.type === types.duration || part.type === types.time)) return;
    parts.push({ values: part.values, rows, length: part.length });
    if (!(part.values instanceof Float64Array)) bigs = true;
  });
  if (parts.length === 0) return undefined;
  const signed = !parts.some((p) => p.values instanceof BigUint64Array), fits = (x: number): boolean => Number.isInteger(x) && (signed || x >= 0);
  const exact = bigs && parts.every((p) => (p.values instanceof Float64Array ? p.values.subarray(0, p.length).every(fits) : signed || p.values instanceof BigUint64Array));
  const values: NumberArray = exact ? (signed ? new BigInt64Array(key.length) : new BigUint64Array(key.length)) : new Float64Array(key.length);
  for (const p of parts) {
    for (let k = 0; k < p.length; k++) {
      const row = p.rows ? p.rows[k]! : k, x = p.values[k]!;
      if (x !== x) continue;
      valid[row] = 1;
      if (exact) (values as BigInt64Array)[row] = BigInt(x);
      else (values as Float64Array)[row] = Number(x);
    }
  }
  return { values, valid };
};

/** Ranges of rows, at most three, as pairs; `count` of them are in use. */
interface Pieces { readonly bounds: Uint32Array; count: number }
/** Room for the pieces of one frame, for `piecesOf` to fill again and again. */
export const newPieces = (): Pieces => ({ bounds: new Uint32Array(6), count: 0 });

/** What is left of the frame of row i once EXCLUDE has taken its part. */
export const piecesOf = ({ starts, ends, exclude }: Frames, { groupOf, groupStarts }: Segment, i: number, out: Pieces): Pieces => {
  const start = starts[i]!, end = ends[i]!;
  out.count = 0;
  if (exclude === 'none') return add(out, start, end);
  if (exclude === 'current') return add(add(out, start, Math.min(i, end)), Math.max(i + 1, start), end);
  const from = groupStarts[groupOf[i]!]!, to = groupStarts[groupOf[i]! + 1]!;
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
