/**
 * A run of sorted rows that holds whole partitions: what window functions are worked out over, a column at a time.
 * Where every function looks back alone, the first partition may go on from the segment before, and the last one into
 * the next, cut between peer groups, or anywhere if no function asks for them.
 *
 * Invariants:
 * - Partitions and peer groups are ranges of rows; a peer group lies in one partition. `starts` arrays have one more
 *   entry, the end of the last range.
 * - Row i is of partition `partitionOf[i]` and of peer group `groupOf[i]`.
 */
import type { Vector } from '../../vectors/vector.ts';
import type { Direction } from '../operators/sort/words.ts';

/** What the first partition of a segment had in the segments before. */
export interface Carried {
  readonly rows: number;
  readonly groups: number;
}
/** The first partition begins with the segment. */
export const nothingCarried: Carried = { rows: 0, groups: 0 };

/**
 * Sorted rows with their partitions and peer groups; the `Of` arrays have an entry a row, the `Starts` arrays one a
 * range and one more.
 */
export interface Segment {
  readonly length: number;
  readonly carried: Carried;
  readonly partitionStarts: Uint32Array;
  readonly partitionOf: Uint32Array;
  readonly groupStarts: Uint32Array;
  readonly groupOf: Uint32Array;
  /** The order keys and their directions, most significant first. */
  readonly keys: readonly Vector[];
  readonly directions: readonly Direction[];
}

/** An edge of a frame. */
export type Side = 'start' | 'end';

/** What a row is to the one before it. */
export const breaks = { none: 0, group: 1, partition: 2 } as const;

/**
 * A segment of `length` rows; `marks[i]` says whether a partition or a group begins at row i. One begins at row 0
 * always.
 */
export const segmentOf = (
  marks: Uint8Array,
  length: number,
  keys: readonly Vector[],
  directions: readonly Direction[],
  carried = nothingCarried,
): Segment => {
  const partitionOf = new Uint32Array(length);
  const groupOf = new Uint32Array(length);
  const partitionStarts = new Uint32Array(length + 1);
  const groupStarts = new Uint32Array(length + 1);
  let partitions = 0;
  let groups = 0;
  for (let i = 0; i < length; i++) {
    const mark = i === 0 ? breaks.partition : marks[i];
    if (mark === breaks.partition) partitionStarts[partitions++] = i;
    if (mark !== breaks.none) groupStarts[groups++] = i;
    partitionOf[i] = partitions - 1;
    groupOf[i] = groups - 1;
  }
  partitionStarts[partitions] = length;
  groupStarts[groups] = length;
  return {
    length,
    carried,
    partitionOf,
    groupOf,
    partitionStarts: partitionStarts.subarray(0, partitions + 1),
    groupStarts: groupStarts.subarray(0, groups + 1),
    keys,
    directions,
  };
};

/** Partitions that the segment has rows of. */
export const partitionCount = (s: Segment): number => s.partitionStarts.length - 1;

/** What the last partition has had by the end of the segment. */
export const carriedBy = (s: Segment): Carried => {
  const last = partitionCount(s) - 1;
  const start = s.partitionStarts[last];
  const before = last === 0 ? s.carried : nothingCarried;
  return { rows: s.length - start + before.rows, groups: s.groupStarts.length - 1 - s.groupOf[start] + before.groups };
};
