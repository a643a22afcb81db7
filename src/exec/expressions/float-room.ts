/**
 * Numbers that nobody needs for long: what arithmetic works out for one batch is written where it wrote that of the
 * batch before.
 *
 * Invariants:
 * - Only expressions without subqueries and calls of user functions are worked out in a room; those run pipelines,
 *   which may hold on to what they are given.
 * - What was given out is dead once `release` is called: the owner of the room knows that whoever saw it has kept
 *   nothing.
 */

/** Longer arrays are not kept, nor more of them. */
const lengthMax = 32_768;
const countMax = 16;

/** Arrays that are lent out until `release`. */
export class FloatRoom {
  private readonly arrays: Float64Array[] = [];
  private used = 0;
  private turnCount = 0;
  /** Counts the releases. */
  get turn(): number {
    return this.turnCount;
  }
  /** Its contents are what they were. */
  take(length: number): Float64Array {
    if (length > lengthMax || this.used === countMax) return new Float64Array(length);
    let array = this.arrays[this.used];
    if (!array || array.length < length)
      array = this.arrays[this.used] = new Float64Array(Math.min(lengthMax, length + (length >> 2)));
    this.used++;
    return array.length === length ? array : array.subarray(0, length);
  }
  release(): void {
    this.used = 0;
    this.turnCount++;
  }
}

let current: FloatRoom | undefined;
/** The room in which expressions are worked out at the moment. */
export const roomAtHand = (): FloatRoom | undefined => current;
/** An array for results, every place of which is to be written. */
export const floatsFor = (length: number): Float64Array => (current ? current.take(length) : new Float64Array(length));
/** f(x), worked out in the room. */
export const inRoom = <X, T>(room: FloatRoom, f: (x: X) => T, x: X): T => {
  const before = current;
  current = room;
  try {
    return f(x);
  } finally {
    current = before;
  }
};
