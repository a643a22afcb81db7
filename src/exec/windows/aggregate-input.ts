/** What an aggregate over frames is given, whichever way it goes. */
import type { AggregateForm } from '../../query/plan/plan.ts';
import { checkStopAt } from '../../vectors/stop.ts';
import type { Vector } from '../../vectors/vector.ts';
import type { AggregateState } from '../aggregates/grouping/state.ts';
import type { Frames } from './frames.ts';
import type { Segment } from './segment.ts';

/** One aggregate of a window over one segment; vectors have a row for each of the segment. */
export interface AggregateInput {
  readonly segment: Segment;
  readonly frames: Frames;
  readonly name: string;
  readonly form: AggregateForm;
  /** Absent for count(). */
  readonly argument?: Vector;
  /** 1 for rows that FILTER lets through; absent: all. */
  readonly passes?: Uint8Array;
  readonly make: () => AggregateState;
  /** Given where partitions are cut between segments: the state of the one that goes on. */
  readonly carry?: Carry;
}
/**
 * What a call keeps from one segment to the next: an aggregate its state, lag its last values, of the last partition.
 */
export interface Carry {
  state?: AggregateState;
  values?: Vector;
}

/** How many of the rows before each row count; one entry more than there are rows. */
export const countsBefore = ({ segment, passes }: AggregateInput, counts: (row: number) => boolean): Uint32Array => {
  const before = new Uint32Array(segment.length + 1);
  let n = 0;
  for (let i = 0; i < segment.length; i++) {
    checkStopAt(i);
    before[i] = n;
    if ((!passes || passes[i] === 1) && counts(i)) n++;
  }
  before[segment.length] = n;
  return before;
};
