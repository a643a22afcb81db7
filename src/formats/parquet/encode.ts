/** The arrays of a leaf as Parquet's bytes: plain values, dictionaries of them, runs of small numbers. */
import { LakeError } from '../../errors.ts';
import { float16Bits } from '../../vectors/value.ts';
import { types } from '../../vectors/type.ts';
import {
  type BoolVector,
  type BytesVector,
  type NumberArray,
  type NumberVector,
  type RecordVector,
  numbers,
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
} from '../column-out.ts';
import { nanosOf } from '../column-types.ts';
import { unitsOfDecimals } from '../decimals.ts';
import { type LeafOut, writerName } from './schema-write.ts';

/** Values in their physical form: words of a fixed number each, or runs of bytes. */
export type Physical =
  | { readonly kind: 'bools'; readonly count: number; readonly bytes: Uint8Array }
  /** `width` 32-bit words a value. */
  | { readonly kind: 'words'; readonly count: number; readonly width: 1 | 2; readonly words: Int32Array }
  | { readonly kind: 'runs'; readonly count: number; readonly offsets: Uint32Array; readonly bytes: Uint8Array }
  /** `size` bytes a value. */
  | { readonly kind: 'fixed'; readonly count: number; readonly size: number; readonly bytes: Uint8Array };

/** The values of a leaf in physical form, times in the unit of their column. @throws LakeError `write-columns-value` */
export const physicalOf = (leaf: LeafOut, v: Plain['values']): Physical => {
  const { type } = leaf;
  const count = v.length;
  switch (type.kind) {
    case 'null':
      return { kind: 'words', count: 0, width: 1, words: new Int32Array(0) };
    case 'bool':
      return { kind: 'bools', count, bytes: (v as BoolVector).values.subarray(0, count) };
    case 'int':
      checkIntegers(v as NumberVector, undefined, writerName);
      return type.bits === 64
        ? pairs(pairsFrom(v as NumberVector))
        : words(toWords((v as NumberVector).values as Float64Array, count));
    case 'float':
      return floats(type.bits, (v as NumberVector).values.subarray(0, count) as Float64Array);
    case 'date':
      return words(Int32Array.from(daysFrom(v as NumberVector)));
    case 'timestamp':
    case 'time': {
      const unit = type.unit === 's' ? 'ms' : type.unit;
      const scaled = dividedPairs(pairsFrom(v as NumberVector), nanosOf[unit]);
      return leaf.physical === 'INT32' ? words(Int32Array.from(numbersFrom(scaled))) : pairs(scaled);
    }
    case 'binary': {
      const runs = runsFrom(v);
      return { kind: 'runs', count, offsets: runs.offsets, bytes: runs.bytes };
    }
    case 'fixed-binary':
      return fixed(v as BytesVector, type.size);
    case 'decimal': {
      if (v.form === 'number' && v.type === types.uint64) {
        const bytes = wideBytes(v.values.subarray(0, count), undefined, leaf.size);
        return { kind: 'fixed', count, size: leaf.size, bytes };
      }
      if (v.form === 'record') return { kind: 'fixed', count, size: leaf.size, bytes: bytesOfWords(v) };
      // Whole numbers of 64 bits are those of the last place.
      const { low, high } =
        v.form === 'number' && v.type === types.int64
          ? { low: v.values.subarray(0, count), high: undefined }
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
const wideBytes = (low: NumberArray, high: BigInt64Array | undefined, size: number): Uint8Array => {
  const bytes = new Uint8Array(low.length * size);
  const view = new DataView(bytes.buffer);
  for (let i = 0; i < low.length; i++) {
    const end = (i + 1) * size;
    if ((high ?? low)[i] < 0) bytes.fill(0xff, i * size, end);
    if (high) view.setBigInt64(end - 16, high[i]);
    view.setBigInt64(end - 8, BigInt(low[i]));
  }
  return bytes;
};
/** Records `{high,low}` of 64 bits each, the most significant byte first. */
const bytesOfWords = ({ fields, length }: RecordVector): Uint8Array => {
  const bytes = new Uint8Array(length * 16);
  const view = new DataView(bytes.buffer);
  ['high', 'low'].forEach((name, k) => {
    const pairs = pairsFrom(plainOf(fields.find((f) => f.name === name)!.values).values as NumberVector);
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
      return plainRuns(p.offsets, p.bytes, start, end);
  }
};
const plainRuns = (offsets: Uint32Array, bytes: Uint8Array, start: number, end: number): Uint8Array => {
  const out = new Uint8Array((end - start) * 4 + offsets[end] - offsets[start]);
  let to = 0;
  for (let i = start; i < end; i++) {
    const from = offsets[i];
    const size = offsets[i + 1] - from;
    out[to] = size;
    out[to + 1] = size >> 8;
    out[to + 2] = size >> 16;
    out[to + 3] = size >> 24;
    to += 4;
    if (size > 32) out.set(bytes.subarray(from, from + size), to);
    else for (let k = 0; k < size; k++) out[to + k] = bytes[from + k];
    to += size;
  }
  return out;
};

/** Distinct values and the place of each value among them. */
export interface Coded {
  readonly entries: Physical;
  readonly codes: Uint32Array;
}
const dictionaryEntriesMax = 1 << 15;
/** After so many values a dictionary with more than half of them in it is given up. */
const trialValues = 1 << 12;

/** A dictionary, if it makes the values fewer by half at least. */
export const coded = (p: Physical): Coded | undefined => {
  if (p.kind === 'bools' || p.kind === 'fixed' || p.count < 4) return undefined;
  const firsts = p.kind === 'words' ? firstWords(p.words, p.width, p.count) : firstRuns(p.offsets, p.bytes, p.count);
  if (!firsts) return undefined;
  return { codes: firsts.codes, entries: picked(p, firsts.rows) };
};
interface Firsts {
  readonly codes: Uint32Array;
  readonly rows: Uint32Array;
}

/** Slots for the entries that so many values may have, a power of two and at least twice as many. */
const slotsFor = (count: number): Int32Array =>
  new Int32Array(2 << Math.ceil(Math.log2(Math.min(count, dictionaryEntriesMax))));

/** Open addressing: a slot has the code of a value plus one. */
const firstWords = (words: Int32Array, width: number, count: number): Firsts | undefined => {
  const slots = slotsFor(count);
  const slotsMask = slots.length - 1;
  const codes = new Uint32Array(count);
  const rows = new Uint32Array(Math.min(count, dictionaryEntriesMax));
  const step = width - 1;
  let entries = 0;
  for (let i = 0; i < count; i++) {
    const low = words[i * width];
    const high = words[i * width + step];
    let h = Math.imul(low ^ Math.imul(high, 0x9e3779b1), 0x85ebca6b);
    h ^= h >>> 15;
    for (; ; h++) {
      const code = slots[h & slotsMask] - 1;
      if (code < 0) {
        if (entries >= dictionaryEntriesMax || (i >= trialValues && entries > i >> 1)) return undefined;
        rows[entries] = i;
        codes[i] = entries;
        slots[h & slotsMask] = ++entries;
        break;
      }
      const at = rows[code] * width;
      if (words[at] === low && words[at + step] === high) {
        codes[i] = code;
        break;
      }
    }
  }
  return entries > count >> 1 ? undefined : { codes, rows: rows.subarray(0, entries) };
};
const firstRuns = (offsets: Uint32Array, bytes: Uint8Array, count: number): Firsts | undefined => {
  const slots = slotsFor(count);
  const slotsMask = slots.length - 1;
  const codes = new Uint32Array(count);
  const rows = new Uint32Array(Math.min(count, dictionaryEntriesMax));
  let entries = 0;
  for (let i = 0; i < count; i++) {
    const start = offsets[i];
    const end = offsets[i + 1];
    let h = end - start;
    for (let k = start; k < end; k++) h = Math.imul(h ^ bytes[k], 0x01000193);
    h ^= h >>> 15;
    for (; ; h++) {
      const code = slots[h & slotsMask] - 1;
      if (code < 0) {
        if (entries >= dictionaryEntriesMax || (i >= trialValues && entries > i >> 1)) return undefined;
        rows[entries] = i;
        codes[i] = entries;
        slots[h & slotsMask] = ++entries;
        break;
      }
      if (sameRun(offsets, bytes, rows[code], start, end)) {
        codes[i] = code;
        break;
      }
    }
  }
  return entries > count >> 1 ? undefined : { codes, rows: rows.subarray(0, entries) };
};
const sameRun = (offsets: Uint32Array, bytes: Uint8Array, row: number, start: number, end: number): boolean => {
  const from = offsets[row];
  if (offsets[row + 1] - from !== end - start) return false;
  for (let k = 0; k < end - start; k++) if (bytes[from + k] !== bytes[start + k]) return false;
  return true;
};
const picked = (p: Extract<Physical, { kind: 'words' | 'runs' }>, rows: Uint32Array): Physical => {
  if (p.kind === 'words') {
    const out = new Int32Array(rows.length * p.width);
    rows.forEach((row, i) => out.set(p.words.subarray(row * p.width, (row + 1) * p.width), i * p.width));
    return { ...p, count: rows.length, words: out };
  }
  const offsets = new Uint32Array(rows.length + 1);
  rows.forEach((row, i) => {
    offsets[i + 1] = offsets[i] + p.offsets[row + 1] - p.offsets[row];
  });
  const bytes = new Uint8Array(offsets[rows.length]);
  rows.forEach((row, i) => bytes.set(p.bytes.subarray(p.offsets[row], p.offsets[row + 1]), offsets[i]));
  return { kind: 'runs', count: rows.length, offsets, bytes };
};

/** Numbers [start, end) of `width` bits as runs and packed groups of eight. */
export const hybrid = (values: Uint8Array | Uint32Array, start: number, end: number, width: number): Uint8Array => {
  const valueBytes = (width + 7) >> 3;
  const out = new Uint8Array(16 + Math.ceil((end - start) / 8) * (width + 6));
  let to = 0;
  let at = start;
  const varint = (n: number): void => {
    let rest = n;
    for (; rest >= 0x80; rest = Math.floor(rest / 0x80)) out[to++] = (rest % 0x80) | 0x80;
    out[to++] = rest;
  };
  while (at < end) {
    const run = runLength(values, at, end);
    if (run >= 8 || run === end - at) {
      varint(run * 2);
      for (let k = 0; k < valueBytes; k++) out[to++] = values[at] >>> (k * 8);
      at += run;
      continue;
    }
    let stop = at + 8;
    while (stop < end && runLength(values, stop, Math.min(end, stop + 8)) < 8) stop += 8;
    const groups = (stop - at) / 8;
    varint(groups * 2 + 1);
    packInto(values, at, Math.min(stop, end), width, out, to);
    to += groups * width;
    at = Math.min(stop, end);
  }
  return out.subarray(0, to);
};
const runLength = (values: Uint8Array | Uint32Array, start: number, end: number): number => {
  const value = values[start];
  let at = start + 1;
  while (at < end && values[at] === value) at++;
  return at - start;
};
/** Low bits first; at most 24 bits a number. */
const packInto = (
  values: Uint8Array | Uint32Array,
  start: number,
  end: number,
  width: number,
  out: Uint8Array,
  place: number,
): void => {
  let held = 0;
  let bits = 0;
  let to = place;
  for (let i = start; i < end; i++) {
    held |= values[i] << bits;
    bits += width;
    while (bits >= 8) {
      out[to++] = held;
      held >>>= 8;
      bits -= 8;
    }
  }
  if (bits > 0) out[to] = held;
};
