/** The arrays of a leaf as Parquet's bytes: plain values, dictionaries of them, runs of small numbers. */
import { LakeError } from '../../errors.ts';
import { float16Bits } from '../../vectors/value.ts';
import { types } from '../../vectors/type.ts';
import {
  type BytesVector,
  type DictionaryVector,
  type NumberArray,
  type RecordVector,
  type SelectedVector,
  numbers,
  ofForm,
} from '../../vectors/vector.ts';
import {
  type Plain,
  checkIntegers,
  daysFrom,
  dividedPairs,
  firstOfOtherSize,
  numbersFrom,
  packBits,
  pairsFrom,
  plainOf,
  runsFrom,
} from '../columns/out.ts';
import { nanosOf } from '../columns/types.ts';
import { unitsOfDecimals } from '../columns/decimals.ts';
import { type LeafOut, writerName } from './schema-write.ts';

/** Values in their physical form: words of a fixed number each, or runs of bytes. */
export type Physical =
  | { readonly kind: 'bools'; readonly count: number; readonly bytes: Uint8Array }
  /** `width` 32-bit words a value. */
  | { readonly kind: 'words'; readonly count: number; readonly width: 1 | 2; readonly words: Int32Array }
  | Runs
  /** `size` bytes a value. */
  | { readonly kind: 'fixed'; readonly count: number; readonly size: number; readonly bytes: Uint8Array };

/**
 * Runs of bytes where they lie: value i has the bytes from `starts[i]` on, as many as `offsets[i + 1] - offsets[i]`.
 * `codes`, below `distinct`: those that have the same are the same.
 */
export interface Runs {
  readonly kind: 'runs';
  readonly count: number;
  readonly offsets: Uint32Array;
  readonly starts: Uint32Array;
  readonly bytes: Uint8Array;
  readonly codes?: Uint32Array;
  readonly distinct?: number;
}

/** What the values of a leaf are written from: a view is of texts or bytes, and looked through when they are written. */
export type LeafValues = Plain['values'] | TextView;
export type TextView = (DictionaryVector & { readonly values: BytesVector }) | (SelectedVector & { base: BytesVector });

/** The values of a leaf in physical form, times in the unit of their column. @throws LakeError `write-columns-value` */
export const physicalOf = (leaf: LeafOut, v: LeafValues): Physical => {
  if (v.form === 'dictionary') return { ...runsIn(v.values, v.codes), codes: v.codes, distinct: v.values.length };
  if (v.form === 'selected') return runsIn(v.base, v.index);
  const { type } = leaf;
  const count = v.length;
  switch (type.kind) {
    case 'null':
      return { kind: 'words', count: 0, width: 1, words: new Int32Array(0) };
    case 'bool':
      return { kind: 'bools', count, bytes: ofForm(v, 'bool').values.subarray(0, count) };
    case 'int':
      checkIntegers(ofForm(v, 'number'), undefined, writerName);
      return type.bits === 64
        ? pairs(pairsFrom(ofForm(v, 'number')))
        : words(toWords(ofForm(v, 'number').values as Float64Array, count));
    case 'float':
      return floats(type.bits, ofForm(v, 'number').values.subarray(0, count) as Float64Array);
    case 'date':
      return words(Int32Array.from(daysFrom(ofForm(v, 'number'))));
    case 'timestamp':
    case 'time': {
      const unit = type.unit === 's' ? 'ms' : type.unit;
      const scaled = dividedPairs(pairsFrom(ofForm(v, 'number')), nanosOf[unit]);
      return leaf.physical === 'INT32' ? words(Int32Array.from(numbersFrom(scaled))) : pairs(scaled);
    }
    case 'binary': {
      const { offsets, bytes } = runsFrom(v);
      return { kind: 'runs', count, offsets, starts: offsets, bytes };
    }
    case 'fixed-binary':
      return fixed(ofForm(v, 'bytes'), type.size);
    case 'decimal': {
      if (v.form === 'number' && v.type === types.uint64) {
        const bytes = wideBytes(v.values.subarray(0, count), [], leaf.size);
        return { kind: 'fixed', count, size: leaf.size, bytes };
      }
      if (v.form === 'record') return { kind: 'fixed', count, size: leaf.size, bytes: bytesOfWords(v) };
      // Whole numbers of 64 bits are those of the last place.
      const { low, high } =
        v.form === 'number' && v.type === types.int64
          ? { low: v.values.subarray(0, count), high: [] }
          : unitsOfDecimals(v, undefined, type, writerName);
      if (leaf.physical === 'INT32') return words(Int32Array.from(low as ArrayLike<number | bigint>, Number));
      return leaf.physical === 'INT64'
        ? pairs(pairsFrom(numbers(types.int64, low)))
        : { kind: 'fixed', count, size: leaf.size, bytes: wideBytes(low, high, leaf.size) };
    }
    default:
      throw new Error(`leaf of kind ${type.kind}`);
  }
};
/** Rows `index` of texts or bytes, where they lie. */
const runsIn = (base: BytesVector, index: Uint32Array): Runs => {
  const { offsets: from, bytes } = runsFrom(base);
  const count = index.length;
  const starts = new Uint32Array(count);
  const offsets = new Uint32Array(count + 1);
  let end = 0;
  for (let i = 0; i < count; i++) {
    const row = index[i];
    const start = from[row];
    starts[i] = start;
    end += from[row + 1] - start;
    offsets[i + 1] = end;
  }
  return { kind: 'runs', count, offsets, starts, bytes };
};
const words = (array: Int32Array): Physical => ({ kind: 'words', count: array.length, width: 1, words: array });
const pairs = (array: Int32Array): Physical => ({ kind: 'words', count: array.length >> 1, width: 2, words: array });
const toWords = (values: Float64Array, count: number): Int32Array => {
  const out = new Int32Array(count);
  for (let i = 0; i < count; i++) out[i] = values[i];
  return out;
};
const floats = (bits: number, values: Float64Array): Physical => {
  if (bits === 64) return pairs(new Int32Array(values.buffer, values.byteOffset, values.length * 2));
  if (bits === 32) return words(new Int32Array(Float32Array.from(values).buffer));
  return {
    kind: 'fixed',
    count: values.length,
    size: 2,
    bytes: new Uint8Array(Uint16Array.from(values, float16Bits).buffer),
  };
};
/** Whole numbers of so many bytes, the most significant one first. */
const wideBytes = (low: NumberArray, high: readonly BigInt64Array[], size: number): Uint8Array => {
  const bytes = new Uint8Array(low.length * size);
  const view = new DataView(bytes.buffer);
  for (let i = 0; i < low.length; i++) {
    const end = (i + 1) * size;
    if ((high.at(-1) ?? low)[i] < 0) bytes.fill(0xff, i * size, end);
    high.forEach((words, k) => view.setBigInt64(end - 16 - 8 * k, words[i]));
    view.setBigInt64(end - 8, BigInt(low[i]));
  }
  return bytes;
};
/** Records `{high,low}` of 64 bits each, the most significant byte first. */
const bytesOfWords = ({ fields, length }: RecordVector): Uint8Array => {
  const bytes = new Uint8Array(length * 16);
  const view = new DataView(bytes.buffer);
  ['high', 'low'].forEach((name, k) => {
    const pairs = pairsFrom(ofForm(plainOf(fields.find((f) => f.name === name)!.values).values, 'number'));
    for (let i = 0; i < length; i++) {
      view.setInt32(i * 16 + k * 8, pairs[i * 2 + 1]);
      view.setInt32(i * 16 + k * 8 + 4, pairs[i * 2]);
    }
  });
  return bytes;
};
const fixed = (v: BytesVector, size: number): Physical => {
  const row = firstOfOtherSize(v.offsets, v.length, size, undefined);
  const start = v.offsets[0];
  if (row >= 0)
    throw new LakeError('write-columns-value', {
      writer: writerName,
      fault: `value of ${v.offsets[row + 1] - v.offsets[row]} bytes in a column of ${size}`,
    });
  return { kind: 'fixed', count: v.length, size, bytes: v.bytes.subarray(start, start + v.length * size) };
};

/** Bytes of values [start, end) in plain encoding. */
export const plainSize = (p: Physical, start: number, end: number): number => {
  switch (p.kind) {
    case 'bools':
      return (end - start + 7) >> 3;
    case 'words':
      return (end - start) * p.width * 4;
    case 'fixed':
      return (end - start) * p.size;
    case 'runs':
      return (end - start) * 4 + p.offsets[end] - p.offsets[start];
  }
};
/** Values [start, end) in plain encoding. */
export const plainValues = (p: Physical, start: number, end: number): Uint8Array => {
  switch (p.kind) {
    case 'bools':
      return packBits(p.bytes.subarray(start, end), end - start);
    case 'words':
      return new Uint8Array(p.words.buffer, p.words.byteOffset + start * p.width * 4, (end - start) * p.width * 4);
    case 'fixed':
      return p.bytes.subarray(start * p.size, end * p.size);
    case 'runs':
      return plainRuns(p, start, end);
  }
};
export const viewOf = (bytes: Uint8Array): DataView => new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
const plainRuns = ({ offsets, starts, bytes }: Runs, start: number, end: number): Uint8Array => {
  const length = (end - start) * 4 + offsets[end] - offsets[start];
  // Short runs are copied in words, whose rest the next run overwrites.
  const out = new Uint8Array(length + 3);
  const source = viewOf(bytes);
  const target = viewOf(out);
  const wordsEnd = bytes.length - 3;
  let to = 0;
  for (let i = start; i < end; i++) {
    const from = starts[i];
    const size = offsets[i + 1] - offsets[i];
    target.setInt32(to, size, true);
    to += 4;
    if (size > 64) out.set(bytes.subarray(from, from + size), to);
    else if (from + size < wordsEnd)
      for (let k = 0; k < size; k += 4) target.setInt32(to + k, source.getInt32(from + k, true), true);
    else for (let k = 0; k < size; k++) out[to + k] = bytes[from + k];
    to += size;
  }
  return out.subarray(0, length);
};
