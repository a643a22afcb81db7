/** The rows of each member of a union or dynamic vector, found in one pass: there may be as many members as rows. */

/** Slots of the rows that a tag names are `slots[starts[tag], starts[tag + 1])`, in row order. */
export interface MemberRows {
  readonly starts: Uint32Array;
  readonly slots: Uint32Array;
  /** For each row its place among the rows of its member. */
  readonly places: Uint32Array;
  /** 1: the slots count up one by one. */
  readonly inOrder: Uint8Array;
}

export const memberRows = (tags: Uint32Array, slots: Uint32Array, length: number, members: number): MemberRows => {
  const starts = new Uint32Array(members + 1);
  const grouped = new Uint32Array(length);
  const places = new Uint32Array(length);
  const inOrder = new Uint8Array(members).fill(1);
  countUp(tags, length, starts);
  group(tags, slots, { starts, grouped, places, inOrder, next: starts.slice() });
  return { starts, slots: grouped, places, inOrder };
};

// The loops are functions of their own, which take arrays: the engine compiles them once.

const countUp = (tags: Uint32Array, length: number, starts: Uint32Array): void => {
  for (let i = 0; i < length; i++) starts[tags[i]! + 1]!++;
  for (let tag = 1; tag < starts.length; tag++) starts[tag]! += starts[tag - 1]!;
};
const group = (
  tags: Uint32Array,
  slots: Uint32Array,
  {
    starts,
    grouped,
    places,
    inOrder,
    next,
  }: {
    readonly starts: Uint32Array;
    readonly grouped: Uint32Array;
    readonly places: Uint32Array;
    readonly inOrder: Uint8Array;
    readonly next: Uint32Array;
  },
): void => {
  for (let i = 0; i < places.length; i++) {
    const tag = tags[i]!;
    const at = next[tag]!++;
    const start = starts[tag]!;
    const slot = slots[i]!;
    grouped[at] = slot;
    places[i] = at - start;
    if (slot !== grouped[start]! + at - start) inOrder[tag] = 0;
  }
};
