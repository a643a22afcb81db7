/**
 * Functions that give the argument of another row: lag, lead, first_value, last_value, nth_value. Types are kept, for
 * rows are taken as they are.
 */
import { checkStopAt } from '../../vectors/stop.ts';
import { type Vector, nulls, take } from '../../vectors/vector.ts';
import { concat } from '../../vectors/concat.ts';
import { combine } from '../expressions/rows.ts';
import { kinds, kindsOf } from '../operators/rows/kinds.ts';
import { type Frames, newPieces, piecesOf } from './frames.ts';
import { counted, integersAt } from './ranks.ts';
import type { Segment } from './segment.ts';

/** No such row. */
export const nowhere = 0xffffffff;

/** Rows that count under IGNORE NULLS: `rows` in order, and how many of them are before row i. */
interface Filled {
  readonly rows: Uint32Array;
  readonly before: Uint32Array;
}

/** Undefined if all rows count. */
const filled = (v: Vector, ignoreNulls: boolean): Filled | undefined => {
  const table = ignoreNulls ? kindsOf(v) : undefined;
  if (!table) return undefined;
  const rows = new Uint32Array(v.length);
  const before = new Uint32Array(v.length + 1);
  let n = 0;
  for (let i = 0; i < v.length; i++) {
    before[i] = n;
    if (table[i] !== kinds.null && table[i] !== kinds.missing) rows[n++] = i;
  }
  before[v.length] = n;
  return { rows: rows.subarray(0, n), before };
};

/** Values of the argument beyond a segment: those before its first partition's rows, and those after its last one's. */
export interface Around {
  readonly before: Vector;
  readonly after: Vector;
}

/** What lag and lead are computed from. */
interface Shift {
  readonly segment: Segment;
  readonly arguments: readonly Vector[];
  readonly ignoreNulls: boolean;
  readonly around?: Around;
}

/**
 * The argument `steps` rows further on in the partition (of those that count), `otherwise` where there is none, null
 * where the count of steps is null.
 */
export const shifted = (
  { segment, arguments: [argument, offsets, otherwise], ignoreNulls, around }: Shift,
  direction: 1 | -1,
): Vector => {
  const { length, partitionOf, partitionStarts } = segment;
  const before = around?.before.length ?? 0;
  const after = around?.after.length ?? 0;
  const index = new Uint32Array(length);
  const count = filled(argument!, ignoreNulls);
  const steps = offsets ? integersAt(offsets, length) : undefined;
  const noSteps = new Uint8Array(length);
  for (let i = 0; i < length; i++) {
    const by = (steps ? steps[i] : 1) * direction;
    const first = partitionStarts[partitionOf[i]];
    const last = partitionStarts[partitionOf[i] + 1];
    const start = first === 0 ? -before : first;
    const end = last === length ? length + after : last;
    if (by !== by || !Number.isFinite(by)) {
      noSteps[i] = 1;
      index[i] = nowhere;
      continue;
    }
    const at = count && by !== 0 ? filledAt(count, i, by) : i + by;
    index[i] = at >= start && at < end ? at + before : nowhere;
  }
  return picked(around ? concat([around.before, argument!, around.after]) : argument!, index, otherwise, noSteps);
};
/** The row that is `by` rows that count away from row i; -1 if there are not so many. */
const filledAt = ({ rows, before }: Filled, i: number, by: number): number => {
  const at = by < 0 ? before[i] + by : before[i + 1] + by - 1;
  return at >= 0 && at < rows.length ? rows[at] : -1;
};

/**
 * first_value: the argument of the frame's first row (that is neither null nor missing, under `ignoreNulls`), null if
 * there is none.
 */
export const firstValue = (s: Segment, frames: Frames, argument: Vector, ignoreNulls: boolean): Vector => {
  const count = filled(argument, ignoreNulls);
  return fromFrame(
    s,
    frames,
    argument,
    (start, end) => (count ? within(count, count.before[start], end) : start),
    'first',
  );
};
/**
 * last_value: the argument of the frame's last row (that is neither null nor missing, under `ignoreNulls`), null if
 * there is none.
 */
export const lastValue = (s: Segment, frames: Frames, argument: Vector, ignoreNulls: boolean): Vector => {
  const count = filled(argument, ignoreNulls);
  return fromFrame(
    s,
    frames,
    argument,
    (start, end) => {
      if (!count) return end - 1;
      const at = count.before[end] - 1;
      return at >= count.before[start] ? count.rows[at] : nowhere;
    },
    'last',
  );
};
const within = ({ rows }: Filled, at: number, end: number): number =>
  at < rows.length && rows[at] < end ? rows[at] : nowhere;

/** The row that `find` has in the first (or last) piece of the frame in which there is one. */
const fromFrame = (
  s: Segment,
  frames: Frames,
  argument: Vector,
  find: (start: number, end: number) => number,
  which: 'first' | 'last',
): Vector => {
  const index = new Uint32Array(s.length);
  const pieces = newPieces();
  for (let i = 0; i < s.length; i++) {
    checkStopAt(i);
    const { bounds, count } = piecesOf(frames, s, i, pieces);
    let at = nowhere;
    for (let k = 0; k < count && at === nowhere; k++) {
      const piece = which === 'first' ? k : count - 1 - k;
      at = find(bounds[piece * 2], bounds[piece * 2 + 1]);
    }
    index[i] = at;
  }
  return picked(argument, index);
};

/**
 * nth_value: the argument of row n of the frame, from 1; null where the frame has no such row or n is null, an error
 * where n is no whole number.
 */
export const nthValue = (
  s: Segment,
  frames: Frames,
  [argument, nth]: readonly Vector[],
  ignoreNulls: boolean,
): Vector =>
  counted(
    'nth_value: argument must be an integer greater than zero',
    nth!,
    s.length,
    (counts) => {
      const filledRows = filled(argument!, ignoreNulls);
      const index = new Uint32Array(s.length);
      const pieces = newPieces();
      for (let i = 0; i < s.length; i++) {
        checkStopAt(i);
        const { bounds, count } = piecesOf(frames, s, i, pieces);
        let left = counts[i] - 1;
        index[i] = nowhere;
        for (let k = 0; k < count; k++) {
          const start = bounds[k * 2];
          const end = bounds[k * 2 + 1];
          const size = filledRows ? filledRows.before[end] - filledRows.before[start] : end - start;
          if (left < size) {
            index[i] = filledRows ? filledRows.rows[filledRows.before[start] + left] : start + left;
            break;
          }
          left -= size;
        }
      }
      return picked(argument!, index);
    },
    true,
  );

/**
 * Rows of the argument; where the index is `nowhere` the row of `otherwise`, or null, which it also is where `isNull`
 * is set.
 */
export const picked = (argument: Vector, index: Uint32Array, otherwise?: Vector, isNull?: Uint8Array): Vector => {
  const length = index.length;
  const tags = new Uint32Array(length);
  const slots = new Uint32Array(length);
  let found = 0;
  for (let i = 0; i < length; i++) {
    if (index[i] !== nowhere) {
      slots[i] = index[i];
      found++;
    } else {
      tags[i] = otherwise && !isNull?.[i] ? 1 : 2;
      slots[i] = i;
    }
  }
  if (found === length) return take(argument, index);
  return otherwise
    ? combine(tags, slots, [argument, otherwise, nulls(length)])
    : combine(
        tags.map((t) => (t === 0 ? 0 : 1)),
        slots,
        [argument, nulls(length)],
      );
};
