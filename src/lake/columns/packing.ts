/**
 * Integers in few bytes: each is stored as its distance from a base, divided by a common power of ten, in 0, 1, 2 or 4
 * bytes; or as the distance from the row before (delta). Kernels are one function per width, so that each sees one kind
 * of array.
 */
import assert from 'node:assert';
import { newFloats, newSigned, newUnsigned, newViewed, newWords } from '../../vectors/short-arrays.ts';
import { numberBounds } from './statistics.ts';
import { unpackedMin, unpacker } from './wasm/unpacker.ts';

/** Bytes a stored number takes; 0: all are the same. */
export type Width = 0 | 1 | 2 | 4;
/** Distances from a base, packed. The base, and with `delta` the distance of the first row, are kept elsewhere. */
export interface Packed {
  readonly width: Width;
  /** Numbers between base and value; `delta`: between value and the one before. */
  readonly scale: number;
  /** What is added to each stored number before it is scaled (delta only; else 0). */
  readonly least: number;
  readonly delta: boolean;
  /** `width` bytes a row. */
  readonly bytes: Uint8Array;
}

/** The width that numbers from 0 to the greatest take, if any does. */
export const widthFor = (greatest: number): Width | undefined =>
  greatest === 0 ? 0 : greatest <= 0xff ? 1 : greatest <= 0xffff ? 2 : greatest <= 0xffff_ffff ? 4 : undefined;

/** Packs codes, lengths or tags: the base and the width that holds the greatest distance from it. */
export const packCodes = (
  values: Uint32Array,
  length: number,
): { readonly base: number; readonly width: Width; readonly bytes: Uint8Array } => {
  let least = length ? values[0]! : 0;
  let greatest = least;
  for (let i = 1; i < length; i++) {
    const x = values[i]!;
    if (x < least) least = x;
    else if (x > greatest) greatest = x;
  }
  const width = widthFor(greatest - least)!;
  const out = store(width, length);
  for (let i = 0; width > 0 && i < length; i++) out[i] = values[i]! - least;
  return { base: least, width, bytes: stored(out) };
};

/** Its bytes. What has bytes already is not viewed: that would take a short one out of the heap (vectors/lists.ts). */
export const stored = (array: Uint8Array | Uint16Array | Uint32Array): Uint8Array =>
  array instanceof Uint8Array ? array : new Uint8Array(array.buffer, array.byteOffset, array.byteLength);

const noBytes = new Uint8Array(0);
/** The array that `length` numbers of this width are stored in. */
export const store = (width: Width, length: number): Uint8Array | Uint16Array | Uint32Array =>
  width === 0 ? noBytes : width === 1 ? new Uint8Array(length) : newViewed(length, width);

/** What an array has at the places that `index` names, in an array of the same kind. */
export const pickStored = <T extends Uint8Array | Uint16Array | Uint32Array>(from: T, index: Uint32Array): T => {
  const out = store(from.BYTES_PER_ELEMENT as Width, index.length);
  // A loop for each kind of array: the engine compiles each once.
  if (from instanceof Uint8Array) pick8(from, index, out as Uint8Array);
  else if (from instanceof Uint16Array) pick16(from, index, out as Uint16Array);
  else pick32(from, index, out as Uint32Array);
  return out as T;
};
const pick8 = (from: Uint8Array, index: Uint32Array, out: Uint8Array): void => {
  for (let i = 0; i < out.length; i++) out[i] = from[index[i]];
};
const pick16 = (from: Uint16Array, index: Uint32Array, out: Uint16Array): void => {
  for (let i = 0; i < out.length; i++) out[i] = from[index[i]];
};
const pick32 = (from: Uint32Array, index: Uint32Array, out: Uint32Array): void => {
  for (let i = 0; i < out.length; i++) out[i] = from[index[i]];
};

/** Codes as `packCodes` stored them, always as a Uint32Array. */
export const unpackCodes = (bytes: Uint8Array, base: number, width: Width, length: number): Uint32Array => {
  if (width === 4 && base === 0) return new Uint32Array(bytes.buffer, bytes.byteOffset, length);
  const out = newWords(length);
  const narrow = width === 1 || width === 2 ? viewOf(width, bytes, length) : undefined;
  const quick = narrow && length >= unpackedMin ? unpacker() : undefined;
  if (quick) quick.codes(narrow as Uint8Array | Uint16Array, base, out);
  else if (width === 0) out.fill(base);
  else if (width === 1) widen8(bytes, base, out);
  else if (width === 2) widen16(narrow as Uint16Array, base, out);
  else widen32(viewOf(4, bytes, length) as Uint32Array, base, out);
  return out;
};
/** Packed numbers of so many bytes. */
const viewOf = (width: Width, bytes: Uint8Array, length: number): Uint8Array | Uint16Array | Uint32Array =>
  width < 2
    ? bytes.subarray(0, length)
    : width === 2
      ? new Uint16Array(bytes.buffer, bytes.byteOffset, length)
      : new Uint32Array(bytes.buffer, bytes.byteOffset, length);
const widen8 = (from: Uint8Array, base: number, to: Uint32Array): void => {
  for (let i = 0; i < to.length; i++) to[i] = from[i]! + base;
};
const widen16 = (from: Uint16Array, base: number, to: Uint32Array): void => {
  for (let i = 0; i < to.length; i++) to[i] = from[i]! + base;
};
const widen32 = (from: Uint32Array, base: number, to: Uint32Array): void => {
  for (let i = 0; i < to.length; i++) to[i] = from[i]! + base;
};

/** Sums of lengths as `packCodes` stored them, up to each of the places, which rise. */
export const sumsAt = (
  { bytes, base, width }: { readonly bytes: Uint8Array; readonly base: number; readonly width: Width },
  rows: number,
  places: Uint32Array,
): Uint32Array => {
  const lengths = stepsOf(width, bytes, rows);
  const out = new Uint32Array(places.length);
  let sum = 0;
  for (let k = 0, row = 0; k < places.length; row = places[k++]!) {
    if (width > 0) sum += sumOf(lengths, row, places[k]!);
    out[k] = sum + base * places[k]!;
  }
  return out;
};

/** Offsets of runs whose lengths were packed: one more than there are runs. */
export const unpackOffsets = (bytes: Uint8Array, base: number, width: Width, length: number): Uint32Array => {
  const lengths = unpackCodes(bytes, base, width, length);
  const out = newWords(length + 1);
  let at = 0;
  for (let i = 0; i < length; i++) out[i + 1] = at += lengths[i]!;
  return out;
};

/** The greatest power of ten, up to 10^9, that divides all distances. */
export const commonScale = (distances: Float64Array): number => {
  let scale = 1e9;
  for (let i = 0; i < distances.length && scale > 1; i++) {
    const d = distances[i]!;
    while (scale > 1 && Math.floor(d / scale) * scale !== d) scale /= 10;
  }
  return scale;
};

/** Seconds of what calendars count, of which a scale may be a multiple. */
const calendar = [1, 60, 3600, 86_400];
/** The greatest of days, hours and minutes that divides all distances, if one does. */
const calendarScale = (distances: Float64Array, unitsPerSecond: number): number | undefined => {
  for (let k = calendar.length - 1; k > 0; k--) {
    const scale = calendar[k]! * unitsPerSecond;
    if (areMultiples(distances, scale)) return scale;
  }
  return undefined;
};
const areMultiples = (distances: Float64Array, of: number): boolean => {
  for (let i = 0; i < distances.length; i++) {
    const d = distances[i]!;
    if (Math.floor(d / of) * of !== d) return false;
  }
  return true;
};
/** The byte that a scale is stored as: its power of ten, and above it which of the calendar's lengths it multiplies. */
export const scaleCode = (scale: number): number => {
  const power = Math.round(Math.log10(scale));
  if (10 ** power === scale) return power;
  for (let k = 1; k < calendar.length; k++) {
    const rest = Math.round(Math.log10(scale / calendar[k]!));
    if (calendar[k]! * 10 ** rest === scale) return k * 16 + rest;
  }
  throw new Error(`no scale ${scale}`);
};
/** The scale that `scaleCode` made a byte of. @throws Error that says which byte is none */
export const scaleOf = (code: number): number => {
  const factor = calendar[code >> 4];
  if (factor === undefined) throw new Error(`no scale ${code}`);
  return factor * 10 ** (code & 15);
};
/** Objects before `spansVersion` have powers of ten alone. */
export const isCalendarScale = (scale: number): boolean => scaleCode(scale) >= 16;

/**
 * Packs distances from a base: whole numbers from 0 to 2^53 - 1. Undefined if they take more than four bytes.
 * `first` is the distance of the first row, the base of delta. `scale` divides all of them.
 */
export const packDistances = (distances: Float64Array, scale = commonScale(distances)): Packed | undefined => {
  const length = distances.length;
  let greatest = 0;
  let least = Infinity;
  let most = -Infinity;
  let before = distances[0]!;
  for (let i = 0; i < length; i++) {
    const d = distances[i]!;
    if (d > greatest) greatest = d;
    if (i > 0) {
      const step = d - before;
      if (step < least) least = step;
      if (step > most) most = step;
    }
    before = d;
  }
  const plain = widthFor(greatest / scale);
  const stepped = length > 2 ? widthFor((most - least) / scale) : undefined;
  if (stepped !== undefined && (plain === undefined || stepped < plain) && Math.abs(least) <= Number.MAX_SAFE_INTEGER)
    return packSteps(distances, scale, least, stepped);
  if (plain === undefined) return undefined;
  const out = store(plain, length);
  for (let i = 0; plain > 0 && i < length; i++) out[i] = distances[i]! / scale;
  return { width: plain, scale, least: 0, delta: false, bytes: stored(out) };
};
/** As `packDistances` packs, or in days, hours or minutes where that is narrower. */
export const packTimes = (distances: Float64Array, unitsPerSecond: number): Packed | undefined => {
  const packed = packDistances(distances);
  if (packed && packed.width < 2) return packed;
  const scale = calendarScale(distances, unitsPerSecond);
  const longer = scale === undefined ? undefined : packDistances(distances, scale);
  return longer && (!packed || longer.width < packed.width) ? longer : packed;
};
/** The first row's step is 0: its distance is kept beside the segment. */
const packSteps = (distances: Float64Array, scale: number, least: number, width: Width): Packed => {
  const out = store(width, distances.length);
  for (let i = 1; width > 0 && i < distances.length; i++) out[i] = (distances[i]! - distances[i - 1]! - least) / scale;
  return { width, scale, least, delta: true, bytes: stored(out) };
};

/**
 * Distances as `packDistances` took them, plus `base`, divided by `power`; with delta, `first` is the first row's
 * distance.
 */
export const unpackDistances = (
  packed: Packed,
  base: number,
  first: number,
  length: number,
  power = 1,
): Float64Array => {
  const { width, scale, bytes, delta, least } = packed;
  const out = newFloats(length);
  const offset = delta ? least : base;
  const from = viewOf(width, bytes, length);
  const quick = width > 0 && length >= unpackedMin ? unpacker() : undefined;
  if (delta && quick && !(from instanceof Uint32Array)) {
    out[0] = base + first;
    quick.steps(from.subarray(1), scale, least, base + first, out.subarray(1));
    return divided(out, power);
  }
  if (!delta && quick) {
    quick.floats(from, scale, offset, power, out);
    return out;
  }
  if (delta && from instanceof Uint8Array && width === 1) {
    accumulate8(from, scale, least, base + first, out);
    return divided(out, power);
  }
  if (width === 0) out.fill(offset);
  else if (from instanceof Uint8Array) spread8(from, scale, offset, out);
  else if (from instanceof Uint16Array) spread16(from, scale, offset, out);
  else spread32(from, scale, offset, out);
  if (delta) accumulate(out, base + first);
  return divided(out, power);
};
/** Divided in their place. */
const divided = (units: Float64Array, power: number): Float64Array => {
  if (power !== 1) for (let i = 0; i < units.length; i++) units[i] /= power;
  return units;
};
/**
 * `base` and the distances, times `unit`, as 64-bit integers. `first` is the first row's distance with delta; units are
 * at most 10^6.
 */
export const unpackWides = (
  packed: Packed,
  base: bigint,
  first: number,
  length: number,
  { unit, isUnsigned }: { readonly unit: number; readonly isUnsigned: boolean },
): BigInt64Array | BigUint64Array => {
  const { width, scale, bytes, delta } = packed;
  const quick = !delta && width > 0 && length >= unpackedMin ? unpacker() : undefined;
  if (quick) {
    const out = isUnsigned ? newUnsigned(length) : newSigned(length);
    const signed = new BigInt64Array(out.buffer, out.byteOffset, length);
    quick.wides(viewOf(width, bytes, length), BigInt(scale) * BigInt(unit), BigInt.asIntN(64, base), signed);
    return out;
  }
  const distances = unpackDistances(packed, 0, first, length);
  return unit === 1 ? widen64(distances, base, isUnsigned) : widenUnits(distances, base, unit);
};
const spread8 = (from: Uint8Array, scale: number, base: number, to: Float64Array): void => {
  for (let i = 0; i < to.length; i++) to[i] = from[i]! * scale + base;
};
const spread16 = (from: Uint16Array, scale: number, base: number, to: Float64Array): void => {
  for (let i = 0; i < to.length; i++) to[i] = from[i]! * scale + base;
};
const spread32 = (from: Uint32Array, scale: number, base: number, to: Float64Array): void => {
  for (let i = 0; i < to.length; i++) to[i] = from[i]! * scale + base;
};
/** The most frequent steps, in one go. */
const accumulate8 = (from: Uint8Array, scale: number, least: number, first: number, to: Float64Array): void => {
  let at = first;
  to[0] = at;
  for (let i = 1; i < to.length; i++) to[i] = at += from[i]! * scale + least;
};
const accumulate = (steps: Float64Array, first: number): void => {
  let at = first;
  steps[0] = at;
  for (let i = 1; i < steps.length; i++) steps[i] = at += steps[i]!;
};

/** How many of the distances, which are packed by rising steps, are less than a bound. */
export const countBelow = (
  { width, scale, bytes, least }: Packed,
  first: number,
  length: number,
  bound: number,
): number => {
  const steps = stepsOf(width, bytes, length);
  const isEven = width === 0;
  let i = 0;
  let at = first;
  // Whole spans of steps are passed over by their sums.
  while (!isEven && i + spanSteps < length) {
    const behind = at + sumOf(steps, i + 1, i + 1 + spanSteps) * scale + least * spanSteps;
    if (behind >= bound) break;
    at = behind;
    i += spanSteps;
  }
  while (at < bound && i < length) if (++i < length) at += isEven ? least : steps[i]! * scale + least;
  return i;
};
const spanSteps = 256;
/** So many numbers of two bytes have a sum that fits 32 bits. */
const summedTogether = 1 << 15;
const sumOf = (steps: Uint8Array | Uint16Array | Uint32Array, start: number, end: number): number => {
  let sum = 0;
  for (let from = start; from < end; from += summedTogether) {
    const to = Math.min(end, from + summedTogether);
    if (steps instanceof Uint16Array) sum += sum16(steps, from, to);
    else if (steps instanceof Uint8Array) sum += sum8(steps, from, to);
    else sum += sum32(steps, from, to);
  }
  return sum;
};
const sum8 = (steps: Uint8Array, start: number, end: number): number => {
  let sum = 0;
  for (let i = start; i < end; i++) sum = (sum + steps[i]!) | 0;
  return sum;
};
const sum16 = (steps: Uint16Array, start: number, end: number): number => {
  let sum = 0;
  for (let i = start; i < end; i++) sum = (sum + steps[i]!) | 0;
  return sum;
};
const sum32 = (steps: Uint32Array, start: number, end: number): number => {
  let sum = 0;
  for (let i = start; i < end; i++) sum += steps[i]!;
  return sum;
};

/** Steps of some rows. */
export interface KeptSteps {
  readonly width: Width;
  /** The distance of the first row. */
  readonly first: number;
  readonly bytes: Uint8Array;
}
/**
 * The steps of the rows of some runs, of distances that are packed by steps; undefined if a step from run to run falls
 * below the least or takes more than four bytes.
 */
export const stepsWithout = (
  { width, scale, bytes, least }: Omit<Packed, 'delta'>,
  first: number,
  rows: number,
  { runs, count }: { readonly runs: Uint32Array; readonly count: number },
): KeptSteps | undefined => {
  const steps = stepsOf(width, bytes, rows);
  const each = least / scale;
  const joins = new Float64Array(runs.length / 2);
  let greatest = 0;
  for (let k = 1; k < joins.length; k++) {
    const [end, start] = [runs[2 * k - 1]!, runs[2 * k]!];
    const join = (width > 0 ? sumOf(steps, end, start + 1) : 0) + (start - end) * each;
    if (join < 0) return undefined;
    if (join > greatest) greatest = join;
    joins[k] = join;
  }
  const joining = widthFor(greatest);
  if (joining === undefined) return undefined;
  const wider = Math.max(width, joining) as Width;
  const out = store(wider, count);
  for (let k = 0, at = 0; k < joins.length; k++) {
    const [start, end] = [runs[2 * k]!, runs[2 * k + 1]!];
    if (width > 0) out.set(steps.subarray(start, end), at);
    if (wider > 0) out[at] = joins[k]!;
    at += end - start;
  }
  const start = runs[0]!;
  const before = (width > 0 ? sumOf(steps, 1, start + 1) : 0) * scale + least * start;
  return { width: wider, first: first + before, bytes: stored(out) };
};

const stepsOf = (width: Width, bytes: Uint8Array, length: number): Uint8Array | Uint16Array | Uint32Array =>
  width === 2
    ? new Uint16Array(bytes.buffer, bytes.byteOffset, length)
    : width === 4
      ? new Uint32Array(bytes.buffer, bytes.byteOffset, length)
      : bytes;
/** The distances of rows, whose numbers rise, of those that are packed by steps. */
export const distancesAt = (
  { width, scale, bytes, least }: Packed,
  first: number,
  length: number,
  rows: Uint32Array,
): Float64Array => {
  const steps = stepsOf(width, bytes, length);
  const isEven = width === 0;
  const out = new Float64Array(rows.length);
  for (let i = 0, row = 0, at = first; i < out.length; i++) {
    for (const wanted = rows[i]!; row < wanted; ) {
      row++;
      at += isEven ? least : steps[row]! * scale + least;
    }
    out[i] = at;
  }
  return out;
};

/** Distances of 64-bit integers from the least of them; undefined if one is 2^53 or more. */
export const wideDistances = (
  values: BigInt64Array | BigUint64Array,
  length: number,
): { readonly base: bigint; readonly distances: Float64Array } | undefined => {
  const { low, high } = halves(values, length);
  let leastHigh = high[0]!;
  let leastLow = low[0]!;
  for (let i = 1; i < length; i++) {
    const h = high[i]!;
    if (h < leastHigh || (h === leastHigh && low[i]! < leastLow)) {
      leastHigh = h;
      leastLow = low[i]!;
    }
  }
  const distances = newFloats(length);
  for (let i = 0; i < length; i++) {
    const d = (high[i]! - leastHigh) * 4294967296 + (low[i]! - leastLow);
    if (d > Number.MAX_SAFE_INTEGER) return undefined;
    distances[i] = d;
  }
  return { base: (BigInt(leastHigh) << 32n) + BigInt(leastLow), distances };
};

/** Nanoseconds of the units that wide times are counted in, by the power of ten that says so. */
export const unitPowers = [6, 3] as const;
/**
 * 64-bit integers that are too far apart for `wideDistances` as distances in units of 10^6 or 10^3 from the least of
 * them; undefined if they are no multiples of either, or as far apart in units.
 */
export const unitDistances = (
  values: BigInt64Array,
  length: number,
): { readonly base: bigint; readonly power: number; readonly distances: Float64Array } | undefined => {
  for (const power of unitPowers) {
    const distances = new Float64Array(length);
    if (!countUnits(new Int32Array(values.buffer, values.byteOffset, length * 2), 10 ** power, distances)) continue;
    const { min, max } = numberBounds(distances, length);
    if (max - min > Number.MAX_SAFE_INTEGER) return undefined;
    for (let i = 0; i < length; i++) distances[i]! -= min;
    return { base: BigInt(min) * BigInt(10 ** power), power, distances };
  }
  return undefined;
};
/**
 * How many units each integer is, if all are whole and safe. A quotient in doubles is off by less than 2^31 / unit: the
 * low words tell by how much.
 */
const countUnits = (words: Int32Array, unit: number, out: Float64Array): boolean => {
  for (let i = 0; i < out.length; i++) {
    const low = words[2 * i]!;
    const about = Math.round((words[2 * i + 1]! * 4294967296 + (low >>> 0)) / unit);
    if (about > Number.MAX_SAFE_INTEGER || about < Number.MIN_SAFE_INTEGER) return false;
    const rest = (low - Math.imul(about, unit)) | 0;
    const missing = rest / unit;
    if (Math.floor(missing) !== missing) return false;
    out[i] = about + missing;
  }
  return true;
};

/** The low and high 32 bits of 64-bit integers as numbers; the high ones carry the sign. */
export const halves = (
  values: BigInt64Array | BigUint64Array,
  length: number,
): { readonly low: Float64Array; readonly high: Float64Array } => {
  const words = new Uint32Array(values.buffer, values.byteOffset, length * 2);
  const low = newFloats(length);
  const high = newFloats(length);
  const isSigned = values instanceof BigInt64Array;
  for (let i = 0; i < length; i++) {
    low[i] = words[2 * i]!;
    high[i] = isSigned ? words[2 * i + 1]! | 0 : words[2 * i + 1]!;
  }
  return { low, high };
};

/** base + distance * unit, which is at most 10^6, for each row. */
export const widenUnits = (distances: Float64Array, base: bigint, unit: number): BigInt64Array => {
  const out = newSigned(distances.length);
  const words = new Uint32Array(out.buffer, out.byteOffset, out.length * 2);
  const baseBits = BigInt.asUintN(64, base);
  const baseLow = Number(baseBits & 0xffff_ffffn);
  const baseHigh = Number(baseBits >> 32n);
  for (let i = 0; i < distances.length; i++) {
    const d = distances[i]!;
    const low = baseLow + (d >>> 0) * unit;
    words[2 * i] = low;
    words[2 * i + 1] = baseHigh + Math.floor(d / 4294967296) * unit + Math.floor(low / 4294967296);
  }
  return out;
};

/** base + distance for each row, as 64-bit integers. Distances are whole numbers from 0 to 2^53 - 1. */
export const widen64 = (distances: Float64Array, base: bigint, unsigned: boolean): BigInt64Array | BigUint64Array => {
  const length = distances.length;
  const out = unsigned ? newUnsigned(length) : newSigned(length);
  const words = new Uint32Array(out.buffer, out.byteOffset, length * 2);
  const baseBits = BigInt.asUintN(64, base);
  const baseLow = Number(baseBits & 0xffff_ffffn);
  const baseHigh = Number(baseBits >> 32n);
  for (let i = 0; i < length; i++) {
    const d = distances[i]!;
    const low = baseLow + (d >>> 0);
    words[2 * i] = low;
    words[2 * i + 1] = baseHigh + Math.floor(d / 4294967296) + (low > 0xffff_ffff ? 1 : 0);
  }
  return out;
};

/** One bit a row. */
export const packBits = (values: Uint8Array, length: number): Uint8Array => {
  const out = new Uint8Array((length + 7) >> 3);
  for (let i = 0; i < length; i++) out[i >> 3]! |= (values[i]! & 1) << (i & 7);
  return out;
};
/** A byte, 0 or 1, for each of `length` bits. */
export const unpackBits = (bits: Uint8Array, length: number): Uint8Array => {
  assert(bits.length >= (length + 7) >> 3);
  const out = new Uint8Array(length);
  for (let i = 0; i < length; i++) out[i] = (bits[i >> 3]! >> (i & 7)) & 1;
  return out;
};
