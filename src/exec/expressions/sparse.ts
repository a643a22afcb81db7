/** Numbers of which some rows have none: a column that is null now and then, or a field that some records lack. */
import type { NumberVector, Vector } from '../../vectors/vector.ts';

/** Numbers among rows that are null or errors: where tags[i] is `tag`, row i is values[slots[i]]. */
export interface SparseNumbers { readonly part: NumberVector; readonly values: Float64Array; readonly tag: number; readonly tags: Uint32Array; readonly slots: Uint32Array }
/** The argument as such, if that is what it is; nothing is copied. */
export const sparseNumbers = (v: Vector): SparseNumbers | undefined => {
  if (v.form !== 'dynamic') return undefined;
  let tag = -1;
  for (let k = 0; k < v.parts.length; k++) {
    const part = v.parts[k]!;
    if (part.form === 'null' || part.form === 'error' || (part.form === 'constant' && (part.inner.form === 'null' || part.inner.form === 'error'))) continue;
    if (part.form !== 'number' || tag >= 0) return undefined;
    tag = k;
  }
  const part = v.parts[tag];
  return part?.form === 'number' && part.values instanceof Float64Array ? { part, values: part.values, tag, tags: v.tags, slots: v.slots } : undefined;
};
