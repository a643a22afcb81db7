/** Numbers of which some rows have none: a column that is null now and then, or a field that some records lack. */
import type { NumberVector, Vector } from '../../vectors/vector.ts';

/** Numbers among rows that are null or errors: where tags[i] is `tag`, row i is values[slots[i]]. */
export interface SparseNumbers {
  readonly part: NumberVector;
  readonly values: Float64Array;
  readonly tag: number;
  readonly tags: Uint32Array;
  readonly slots: Uint32Array;
  readonly length: number;
}
/** The argument as such, if that is what it is; nothing is copied. */
export const sparseNumbers = (v: Vector): SparseNumbers | undefined => {
  if (v.form !== 'dynamic') return undefined;
  let tag = -1;
  for (let k = 0; k < v.parts.length; k++) {
    const part = v.parts[k];
    if (
      part.form === 'null' ||
      part.form === 'error' ||
      (part.form === 'constant' && (part.inner.form === 'null' || part.inner.form === 'error'))
    )
      continue;
    if (part.form !== 'number' || tag >= 0) return undefined;
    tag = k;
  }
  const part = v.parts[tag];
  return part?.form === 'number' && part.values instanceof Float64Array
    ? { part, values: part.values, tag, tags: v.tags, slots: v.slots, length: v.length }
    : undefined;
};

/** values[start, end) in that order are the numbers of all rows that have one. */
interface DenseRange {
  readonly start: number;
  readonly end: number;
}
interface Known {
  readonly tags: Uint32Array;
  readonly tag: number;
  readonly length: number;
  readonly range: DenseRange | undefined;
}
/** By the slots: columns that are kept come with the same ones again, and so do results worked out on them. */
const ranges = new WeakMap<Uint32Array, Known>();
/** Where the numbers stand one behind the other in the order of the rows; undefined if they do not. */
export const denseRange = ({ tag, tags, slots, length }: SparseNumbers): DenseRange | undefined => {
  const known = ranges.get(slots);
  if (known && known.tags === tags && known.tag === tag && known.length === length) return known.range;
  const range = rangeOf(tag, tags, slots, length);
  ranges.set(slots, { tags, tag, length, range });
  return range;
};
const rangeOf = (tag: number, tags: Uint32Array, slots: Uint32Array, length: number): DenseRange | undefined => {
  const first = tags.indexOf(tag);
  if (first < 0 || first >= length) return { start: 0, end: 0 };
  const start = slots[first];
  let at = start;
  let misplaced = 0;
  for (let i = first; i < length; i++) {
    const hit = Number(tags[i] === tag);
    misplaced |= (slots[i] ^ at) * hit;
    at += hit;
  }
  return misplaced === 0 ? { start, end: at } : undefined;
};
