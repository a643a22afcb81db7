/**
 * What rows come to once each has its own bytes, and views that hold far more than they show.
 *
 * Invariant: what several rows look up in one place counts once a row: that much is made wherever rows are put
 * together, sorted or printed.
 */
import { sizeOf, vectorsIn } from './sizes.ts';
import { type DictionaryVector, type Vector, compacted, compactedParts, flatten, itemsOf, slice } from './vector.ts';

/** Bytes of the rows, each by itself. */
export const shownSize = (v: Vector): number => {
  switch (v.form) {
    case 'record': {
      let bytes = 0;
      for (const f of v.fields) bytes += shownSize(f.values) + (f.present ? v.length : 0);
      return bytes;
    }
    case 'list':
      return v.length * 4 + shownSize(itemsOf(v, v.items));
    case 'map':
      return v.length * 4 + shownSize(itemsOf(v, v.keys)) + shownSize(itemsOf(v, v.values));
    case 'union':
      return v.length * 8 + tagged(v.members, v.tags, v.slots, v.length);
    case 'dynamic':
      return v.length * 8 + tagged(v.parts, v.tags, v.slots, v.length);
    case 'error':
    case 'named':
      return shownSize(v.inner);
    case 'constant':
      return v.length * shownSize(v.inner);
    case 'dictionary':
      return v.length * 4 + pickedOf(v);
    // What is selected is most of its base, about, or a part of it like the others.
    case 'selected':
      return v.length * (4 + shownSize(v.base) / Math.max(1, v.base.length));
    default:
      return sizeOf(v);
  }
};

const tagged = (members: readonly Vector[], tags: Uint32Array, slots: Uint32Array, length: number): number => {
  const rows = members.reduce((n, m) => n + m.length, 0);
  if (rows <= length) return members.reduce((n, m) => n + shownSize(m), 0);
  const sizes = members.map(rowSizes);
  let bytes = 0;
  for (let i = 0; i < length; i++) bytes += sizes[tags[i]!]![slots[i]!]!;
  return bytes;
};
/** Bytes of what a column looks up. */
const pickedOf = ({ values, codes, length }: DictionaryVector): number => {
  const each = values.length === 1 ? shownSize(values) : evenSize(values);
  if (each !== undefined) return length * each;
  return values.form === 'bytes' ? pickedBytes(values.offsets, codes, length) : picked(values, codes, length);
};
/** The same of texts, without the sizes of all. */
const pickedBytes = (offsets: Uint32Array, codes: Uint32Array, length: number): number => {
  let bytes = length * 4;
  for (let i = 0; i < length; i++) bytes += offsets[codes[i]! + 1]! - offsets[codes[i]!]!;
  return bytes;
};
/** Bytes of each row, where none differs from the others. */
const evenSize = (v: Vector): number | undefined => {
  switch (v.form) {
    case 'number':
      return 8;
    case 'bool':
      return 1;
    case 'null':
      return 0;
    case 'named':
      return evenSize(v.inner);
    default:
      return undefined;
  }
};
const picked = (v: Vector, index: Uint32Array, length: number): number => {
  const sizes = rowSizes(v);
  let bytes = 0;
  for (let i = 0; i < length; i++) bytes += sizes[index[i]!]!;
  return bytes;
};

const known = new WeakMap<Vector, Float64Array>();
/** Bytes of each row; kept, since many batches look up rows of one vector. */
const rowSizes = (v: Vector): Float64Array => {
  let sizes = known.get(v);
  if (!sizes) known.set(v, (sizes = sizesOfRows(v)));
  return sizes;
};
const sizesOfRows = (v: Vector): Float64Array => {
  const out = new Float64Array(v.length);
  switch (v.form) {
    case 'number':
      return out.fill(8);
    case 'bool':
      return out.fill(1);
    case 'null':
      return out;
    case 'type':
    case 'enum':
      return out.fill(4);
    case 'bytes':
      return spans(v.offsets, undefined, out);
    case 'record':
      for (const f of v.fields) addAll(out, sizesOfRows(f.values), f.present ? 1 : 0);
      return out;
    case 'list':
      return spans(v.offsets, sumsOf(sizesOfRows(v.items)), out);
    case 'map':
      spans(v.offsets, sumsOf(sizesOfRows(v.keys)), out);
      return spans(v.offsets, sumsOf(sizesOfRows(v.values)), out);
    case 'union':
    case 'dynamic': {
      const sizes = (v.form === 'union' ? v.members : v.parts).map(sizesOfRows);
      for (let i = 0; i < out.length; i++) out[i] = 8 + sizes[v.tags[i]!]![v.slots[i]!]!;
      return out;
    }
    case 'error':
    case 'named':
      return sizesOfRows(v.inner);
    case 'constant':
      return out.fill(shownSize(v.inner));
    case 'dictionary':
      return lookedUp(rowSizes(v.values), v.codes, out);
    case 'selected':
      return lookedUp(rowSizes(v.base), v.index, out);
  }
};
const addAll = (out: Float64Array, sizes: Float64Array, more: number): void => {
  for (let i = 0; i < out.length; i++) out[i]! += sizes[i]! + more;
};
const lookedUp = (sizes: Float64Array, index: Uint32Array, out: Float64Array): Float64Array => {
  for (let i = 0; i < out.length; i++) out[i] = 4 + sizes[index[i]!]!;
  return out;
};
/** What lies between the offsets, of items of these sizes in sum, or of bytes. */
const spans = (offsets: Uint32Array, sums: Float64Array | undefined, out: Float64Array): Float64Array => {
  for (let i = 0; i < out.length; i++)
    out[i]! += 4 + (sums ? sums[offsets[i + 1]!]! - sums[offsets[i]!]! : offsets[i + 1]! - offsets[i]!);
  return out;
};
const sumsOf = (sizes: Float64Array): Float64Array => {
  const sums = new Float64Array(sizes.length + 1);
  for (let i = 0; i < sizes.length; i++) sums[i + 1] = sums[i]! + sizes[i]!;
  return sums;
};

/**
 * The same rows without what they do not show: selections are copied, dictionaries that are larger than what the rows
 * show of them are looked up.
 */
export const lean = (v: Vector): Vector => {
  switch (v.form) {
    case 'record':
      return {
        ...v,
        fields: v.fields.map((f) => ({
          ...f,
          values: lean(f.values.length > v.length ? slice(f.values, 0, v.length) : f.values),
        })),
      };
    case 'list':
      return { ...v, offsets: fromZero(v), items: lean(itemsOf(v, v.items)) };
    case 'map':
      return { ...v, offsets: fromZero(v), keys: lean(itemsOf(v, v.keys)), values: lean(itemsOf(v, v.values)) };
    case 'union': {
      const { slots, parts } = compacted(v, v.members);
      return { ...v, slots, members: parts.map(lean) };
    }
    case 'dynamic': {
      const own = compactedParts(v);
      return { ...own, parts: own.parts.map(lean) };
    }
    case 'error':
    case 'named':
      return { ...v, inner: lean(v.inner) };
    case 'dictionary': {
      const bytes = sizeOf(v.values);
      return bytes > smallBytes && bytes > shownSize(v) ? lean(flatten(v)) : v;
    }
    case 'selected':
      return lean(flatten(v));
    default:
      return v;
  }
};
/**
 * The rows of a view in arrays of their own, for the forms that columns of files have, so that they do not keep what
 * they were cut from.
 */
export const unshared = (v: Vector): Vector => {
  switch (v.form) {
    case 'number':
      return { ...v, values: v.values.slice(0, v.length) };
    case 'bool':
      return { ...v, values: v.values.slice(0, v.length) };
    case 'bytes':
      return {
        ...v,
        offsets: v.offsets.subarray(0, v.length + 1).map((x) => x - v.offsets[0]!),
        bytes: v.bytes.slice(v.offsets[0], v.offsets[v.length]),
      };
    case 'dictionary':
      return { ...v, codes: v.codes.slice(0, v.length) };
    case 'record':
      return {
        ...v,
        fields: v.fields.map((f) => ({
          ...f,
          values: unshared(f.values),
          ...(f.present && { present: f.present.slice(0, v.length) }),
        })),
      };
    case 'error':
    case 'named':
      return { ...v, inner: unshared(v.inner) };
    default:
      return v;
  }
};
const fromZero = ({ offsets, length }: { readonly offsets: Uint32Array; readonly length: number }): Uint32Array => {
  const start = offsets[0]!;
  return start === 0 ? offsets : offsets.subarray(0, length + 1).map((x) => x - start);
};
/** So little may be held beside what is shown: there may be thousands of columns. */
const smallBytes = 1 << 10;

/**
 * The rows in stretches that come to no more than so many bytes each, unless a row does by itself, and so many rows.
 */
export function* cutBySize(
  v: Vector,
  { bytesMax, rowsMax }: { readonly bytesMax: number; readonly rowsMax: number },
): Generator<Vector> {
  for (let start = 0; start < v.length; start += rowsMax)
    yield* halved(slice(v, start, Math.min(start + rowsMax, v.length)), bytesMax);
}
function* halved(v: Vector, bytesMax: number): Generator<Vector> {
  if (v.length <= 1 || shownSize(v) <= bytesMax) {
    yield v;
    return;
  }
  const half = v.length >> 1;
  yield* halved(slice(v, 0, half), bytesMax);
  yield* halved(slice(v, half, v.length), bytesMax);
}

/**
 * Bytes that rows take while they wait: values, and the vectors themselves, which count where each row has a shape of
 * its own.
 */
export const heldSize = (rows: Vector): number => shownSize(rows) + waitingBytes * vectorsIn(rows);
/** A vector with its arrays and their buffers, about. */
const waitingBytes = 400;
/**
 * Bytes that as many more rows like these take: vectors count where rows bring their own, and not where they only get
 * longer, as those of columns.
 */
export const addedSize = (rows: Vector): number => shownSize(rows) + waitingBytes * ownVectors(rows);
const ownVectors = (v: Vector): number => {
  switch (v.form) {
    case 'dynamic':
      return v.parts.length > fewParts ? vectorsIn(v) : v.parts.reduce((n, p) => n + ownVectors(p), 0);
    case 'record':
      return v.fields.reduce((n, f) => n + ownVectors(f.values), 0);
    case 'list':
      return ownVectors(v.items);
    case 'map':
      return ownVectors(v.keys) + ownVectors(v.values);
    case 'error':
    case 'named':
      return ownVectors(v.inner);
    default:
      return 0;
  }
};
/** Parts of so many kinds are those of a column whose values change their type; more are rows of ever new shapes. */
export const fewParts = 4;
