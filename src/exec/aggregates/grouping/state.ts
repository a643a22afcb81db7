/** What an aggregate is: states for all groups at once, in typed arrays, that take columns and can be merged. */
import type { PrimitiveType } from '../../../vectors/type.ts';
import type { Vector } from '../../../vectors/vector.ts';
import type { SpillBytes } from '../../spill-bytes.ts';

/**
 * What rows come to: so many have a value. `sum` and `reach`, of whole numbers: their sum, and how far the sum of some
 * of them may be from zero.
 */
export interface Totals {
  readonly count: number;
  readonly sum?: { readonly type: PrimitiveType; readonly value: bigint; readonly reach: bigint };
}

/** Values of groups, row by row. */
export interface GroupValues {
  readonly ids: Uint32Array;
  readonly values: Vector;
}

/** Of an aggregate that sees each value of a group once: what it does when there is no room to note more of them. */
export interface SeenValues {
  /** What it holds for the values that it has noted. */
  readonly notedBytes: number;
  /**
   * Notes no more values: those that it does not know are left to `take`, or put into a file that `open` makes, as the
   * state sees fit.
   */
  close(open: () => SpillBytes): void;
  /**
   * What was left since it was last asked; the same value of a group may come more than once. It may keep some of it
   * for a while, unless all is asked for. No values may come before the last of them has been taken.
   */
  take(all: boolean): Iterable<GroupValues>;
  /** Sees what it has put into a file, in some steps: all values that it may have seen have come. */
  end(): Iterable<void>;
  /** Frees its file. */
  discard(): void;
  /** Forgets the values that it noted, and notes others: none of those that it knew come any more. */
  reopen(): void;
}

/**
 * The states of one aggregate for groups 0, 1, ..
 * `grow` is called before ids of new groups are used. Names and unions of arguments are the aggregate's business.
 */
export interface AggregateState {
  /** Makes room for so many groups. */
  grow(groups: number): void;
  /** Adds row i of the argument to group ids[i]. */
  update(ids: Uint32Array, argument: Vector): void;
  /** The same for rows that are all of one group, where that is less work. */
  updateOne?(group: number, argument: Vector): void;
  /** Whether `addTotals` gives what the rows would, to the last bit. */
  takesTotals?(group: number, totals: Totals): boolean;
  /** Adds rows of which it is known what they come to. */
  addTotals?(group: number, totals: Totals): void;
  /**
   * Adds group g of `other`, which has `groups` groups, to group map[g] here (`none`: leaves it out). `other` is not
   * used afterwards.
   */
  merge(other: AggregateState, map: Uint32Array, groups: number): void;
  /** There is one for aggregates whose values can be spilled. */
  readonly seen?: SeenValues;
  /** Nothing of an argument is needed after `update` has seen it. */
  readonly keepsNothing?: true;
  /** Nothing counts but how many values there are: they may come later, and in another order. */
  readonly isCount?: true;
  /** The results of the first `groups` groups. */
  result(groups: number): Vector;
  /** What `absorb` takes, of the first `groups` groups: null of those without. Absent: that is the result. */
  exported?(groups: number): Vector;
  /** Adds row i of what `exported` gave to group ids[i]. Absent: there is nothing less to keep than the arguments. */
  absorb?(ids: Uint32Array, states: Vector): void;
  /** The state behind one that only looks at arguments. */
  readonly plain?: AggregateState;
  /** Bytes held, roughly. */
  readonly bytes: number;
}

/** A typed array at least `length` long with the old contents; new places are as `make` gives them. */
export const widened = <A extends Float64Array | Uint32Array | Uint8Array>(
  array: A,
  length: number,
  make: (n: number) => A,
): A => {
  if (length <= array.length) return array;
  const grown = make(Math.max(length, array.length * 2, 16));
  grown.set(array);
  return grown;
};
/** `n` zeros of 8 bytes each. */
export const floats = (n: number): Float64Array<ArrayBuffer> => new Float64Array(n);
/** `n` zeros of a byte each. */
export const bytes = (n: number): Uint8Array<ArrayBuffer> => new Uint8Array(n);
/** `n` zeros of 4 bytes each. */
export const words = (n: number): Uint32Array<ArrayBuffer> => new Uint32Array(n);

/** The cells of a group are `count` floats from `at` on; all are 0 at first. */
export interface CellRule {
  readonly count: number;
  /**
   * What the cells are called where the state is a value; the first one is a count, and nothing is there while it is 0.
   * Absent: the state is its result. One cell alone is a number.
   */
  readonly names?: readonly string[];
  /** Adds a number, or a pair. */
  readonly add: (cells: Float64Array, at: number, x: number, y: number) => void;
  /** Adds the cells of `other` from `from` on. */
  readonly merge: (cells: Float64Array, at: number, other: Float64Array, from: number) => void;
  /** Null where there is too little. */
  readonly result: (cells: Float64Array, at: number) => number | null;
  readonly isInteger?: true;
}
