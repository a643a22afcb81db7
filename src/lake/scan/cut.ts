/** Batches cut out of the rows of a block. */
import { type DynamicVector, type Vector, slice } from '../../vectors/vector.ts';

/**
 * Rows [start, end) as a batch of its own: of mixed columns only what belongs to these rows, so that whoever works on a
 * part as a whole, or writes the texts of one, does not do it for all rows of the block.
 */
export const cutOut = (v: Vector, start: number, end: number): Vector => {
  if (start === 0 && end === v.length) return v;
  switch (v.form) {
    case 'dynamic':
      return cutParts(v, start, end) ?? slice(v, start, end);
    case 'record':
      return {
        form: 'record',
        length: end - start,
        fields: v.fields.map((f) => ({
          ...f,
          values: cutOut(f.values, start, end),
          ...(f.present && { present: f.present.subarray(start, end) }),
        })),
      };
    case 'named':
      return { ...v, length: end - start, inner: cutOut(v.inner, start, end) };
    default:
      return slice(v, start, end);
  }
};

/**
 * Rows of a mixed column with what they have of its parts, or of the one part that they are in; undefined if they do
 * not have the order of its values.
 */
export const cutParts = (
  { tags, slots, parts }: Pick<DynamicVector, 'tags' | 'slots' | 'parts'>,
  start: number,
  end: number,
): Vector | undefined => {
  const length = end - start;
  const first = new Int32Array(parts.length).fill(-1);
  const next = new Uint32Array(parts.length);
  for (let i = start; i < end; i++) {
    const tag = tags[i];
    const slot = slots[i];
    if (first[tag] < 0) first[tag] = slot;
    else if (next[tag] !== slot) return undefined;
    next[tag] = slot + 1;
  }
  const places = new Uint32Array(parts.length);
  const used: Vector[] = [];
  parts.forEach((part, tag) => {
    if (first[tag] >= 0) places[tag] = used.push(cutOut(part, first[tag], next[tag])) - 1;
  });
  if (used.length === 1) return used[0];
  const outTags = new Uint32Array(length);
  const outSlots = new Uint32Array(length);
  for (let i = 0; i < length; i++) {
    const tag = tags[start + i];
    outTags[i] = places[tag];
    outSlots[i] = slots[start + i] - first[tag];
  }
  return { form: 'dynamic', length, tags: outTags, slots: outSlots, parts: used };
};
