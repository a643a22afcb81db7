/** The values of a page as a vector: first its encoding and physical type, then what the column means by them. */
import { float16Number } from '../../vectors/value.ts';
import { primitiveNamed, types } from '../../vectors/type.ts';
import { type Vector, bools, nulls, numbers } from '../../vectors/vector.ts';
import { namedVector, numbersOfPairs, pairsOf, runsVector, scaledPairs, timesOfDays } from '../columns/in.ts';
import { nanosOf } from '../columns/types.ts';
import { BytesFault } from '../columns/type-bytes.ts';
import {
  type Place,
  type Runs,
  decodeBools,
  decodeDeltaLengths,
  decodeDeltaRuns,
  decodeDeltas,
  decodeHybrid,
  decodeRuns,
  decodeSplit,
  plainBytes,
} from './decode.ts';
import { type Losses, decimalsOf32, decimalsOf64, decimalsOfRuns } from '../columns/decimals.ts';
import type { Leaf } from './plan.ts';

/** Numbers of the encodings. */
export const encodings = {
  plain: 0,
  plainDictionary: 2,
  rle: 3,
  bitPacked: 4,
  delta: 5,
  deltaLength: 6,
  deltaBytes: 7,
  dictionary: 8,
  split: 9,
} as const;

/** `count` values, none of them null. `lost`: told of decimals whose digits do not fit. @throws BytesFault */
export const valuesVector = (leaf: Leaf, encoding: number, p: Place, count: number, lost?: Losses): Vector => {
  const { meaning } = leaf;
  if (meaning.kind === 'null') return nulls(count);
  switch (leaf.physical) {
    case 'BOOLEAN':
      return bools(boolBytes(encoding, p, count));
    case 'INT32':
      return int32Vector(leaf, int32s(encoding, p, count), lost);
    case 'INT64':
      return int64Vector(leaf, int64Pairs(encoding, p, count), lost);
    case 'INT96': {
      if (encoding !== encodings.plain) throw unsupported(encoding, leaf);
      return numbersOfPairs(types.time, int96Pairs(plainBytes(p, count, 12), count));
    }
    case 'FLOAT':
      return numbers(
        types.float32,
        Float64Array.from(words(Float32Array, fixedBytes(leaf, encoding, p, count, 4), count)),
      );
    case 'DOUBLE':
      return numbers(types.float64, words(Float64Array, fixedBytes(leaf, encoding, p, count, 8), count));
    case 'BYTE_ARRAY':
      return runsMeaning(leaf, byteRuns(leaf, encoding, p, count), count, lost);
    case 'FIXED_LEN_BYTE_ARRAY': {
      if (encoding === encodings.deltaBytes) return runsMeaning(leaf, decodeDeltaRuns(p, count), count, lost);
      const bytes = fixedBytes(leaf, encoding, p, count, leaf.size);
      return runsMeaning(
        leaf,
        { bytes, offsets: Uint32Array.from({ length: count + 1 }, (_, i) => i * leaf.size) },
        count,
        lost,
      );
    }
  }
};
/** The vector of no values, for its type. */
export const noValues = (leaf: Leaf): Vector =>
  valuesVector(leaf, encodings.plain, { bytes: new Uint8Array(0), at: 0, end: 0 }, 0);

const names = new Map(Object.entries(encodings).map(([name, code]) => [code as number, name]));
const unsupported = (encoding: number, leaf: Leaf): BytesFault =>
  new BytesFault(`encoding ${names.get(encoding) ?? encoding} of ${leaf.physical}`);

const boolBytes = (encoding: number, p: Place, count: number): Uint8Array => {
  if (encoding !== encodings.rle) return decodeBools(p, count);
  if (p.end - p.at < 4) throw new BytesFault('page cut short');
  p.at += 4;
  const out = new Uint8Array(count);
  decodeHybrid(p, 1, out);
  return out;
};
const int32s = (encoding: number, p: Place, count: number): Int32Array => {
  if (encoding === encodings.delta) {
    const pairs = exactly(decodeDeltas(p, count, false), count);
    return Int32Array.from({ length: count }, (_, i) => pairs[i * 2]);
  }
  return words(
    Int32Array,
    encoding === encodings.split ? decodeSplit(p, count, 4) : plainOnly(encoding, p, count, 4),
    count,
  );
};
const int64Pairs = (encoding: number, p: Place, count: number): Int32Array => {
  if (encoding === encodings.delta) return exactly(decodeDeltas(p, count, true), count);
  return words(
    Int32Array,
    encoding === encodings.split ? decodeSplit(p, count, 8) : plainOnly(encoding, p, count, 8),
    count * 2,
  );
};
const exactly = (pairs: Int32Array, count: number): Int32Array => {
  if (pairs.length !== count * 2) throw new BytesFault(`${pairs.length / 2} values of ${count}`);
  return pairs;
};
const plainOnly = (encoding: number, p: Place, count: number, width: number): Uint8Array => {
  if (encoding !== encodings.plain) throw new BytesFault(`encoding ${names.get(encoding) ?? encoding} of integers`);
  return plainBytes(p, count, width);
};
const fixedBytes = (leaf: Leaf, encoding: number, p: Place, count: number, width: number): Uint8Array => {
  if (encoding === encodings.split) return decodeSplit(p, count, width);
  if (encoding !== encodings.plain) throw unsupported(encoding, leaf);
  return plainBytes(p, count, width);
};
const byteRuns = (leaf: Leaf, encoding: number, p: Place, count: number): Runs => {
  switch (encoding) {
    case encodings.plain:
      return decodeRuns(p, count);
    case encodings.deltaLength:
      return decodeDeltaLengths(p, count);
    case encodings.deltaBytes:
      return decodeDeltaRuns(p, count);
    default:
      throw unsupported(encoding, leaf);
  }
};
const words = <A>(
  kind: { new (buffer: ArrayBufferLike, offset: number, length: number): A },
  bytes: Uint8Array,
  count: number,
): A => new kind(bytes.buffer, bytes.byteOffset, count);

const int32Vector = (leaf: Leaf, values: Int32Array, lost: Losses | undefined): Vector => {
  const { meaning } = leaf;
  switch (meaning.kind) {
    case 'date':
      return namedVector('date32', timesOfDays(Float64Array.from(values)));
    case 'time':
      return namedVector(
        'time32_ms',
        numbersOfPairs(types.time, scaledPairs(pairsOf(Float64Array.from(values)), 1e6, 'time in ms')),
      );
    case 'decimal':
      return decimalsOf32(meaning, values, lost);
    case 'int': {
      const { bits, signed } = meaning;
      const type = primitiveNamed(`${signed ? 'int' : 'uint'}${bits}`)!;
      return numbers(type, Float64Array.from(narrowed(values, bits, signed)));
    }
    default:
      throw new BytesFault(`integers that are ${meaning.kind}`);
  }
};
const narrowed = (
  values: Int32Array,
  bits: number,
  signed: boolean,
): Int8Array | Uint8Array | Int16Array | Uint16Array | Int32Array | Uint32Array => {
  if (bits === 8) return signed ? Int8Array.from(values) : Uint8Array.from(values);
  if (bits === 16) return signed ? Int16Array.from(values) : Uint16Array.from(values);
  return signed ? values : new Uint32Array(values.buffer, values.byteOffset, values.length);
};
const int64Vector = (leaf: Leaf, pairs: Int32Array, lost: Losses | undefined): Vector => {
  const { meaning } = leaf;
  switch (meaning.kind) {
    case 'timestamp':
    case 'duration': {
      const { kind, unit } = meaning;
      const type = kind === 'duration' ? types.duration : types.time;
      const v = numbersOfPairs(type, scaledPairs(pairs, nanosOf[unit], `${kind} in ${unit}`));
      return unit === 'ns' ? v : namedVector(`${kind}_${unit}`, v);
    }
    case 'time':
      return namedVector(
        `time64_${meaning.unit}`,
        numbersOfPairs(types.time, scaledPairs(pairs, nanosOf[meaning.unit], `time in ${meaning.unit}`)),
      );
    case 'decimal': {
      const v = numbersOfPairs(types.int64, pairs);
      return decimalsOf64(meaning, v.values.subarray(0, v.length) as Float64Array | BigInt64Array, lost);
    }
    case 'int':
      return numbersOfPairs(meaning.signed ? types.int64 : types.uint64, pairs);
    default:
      throw new BytesFault(`integers that are ${meaning.kind}`);
  }
};
/** Nanoseconds of the day, then the Julian day. */
const int96Pairs = (bytes: Uint8Array, count: number): Int32Array => {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  const out = new BigInt64Array(count);
  for (let i = 0; i < count; i++) {
    const time =
      BigInt(view.getInt32(i * 12 + 8, true) - 2440588) * 86_400_000_000_000n + view.getBigInt64(i * 12, true);
    if (BigInt.asIntN(64, time) !== time) throw new BytesFault('timestamp is outside of the years 1677 to 2262');
    out[i] = time;
  }
  return new Int32Array(out.buffer);
};

const runsMeaning = (leaf: Leaf, { offsets, bytes }: Runs, rows: number, lost: Losses | undefined): Vector => {
  const { meaning } = leaf;
  switch (meaning.kind) {
    case 'string':
      return runsVector(types.string, { offsets, bytes, rows }, undefined);
    case 'float16':
      return numbers(
        types.float16,
        Float64Array.from({ length: rows }, (_, i) => float16Number(bytes[i * 2] | (bytes[i * 2 + 1] << 8))),
      );
    case 'decimal':
      return decimalsOfRuns(meaning, { offsets, bytes }, rows, lost);
    case 'uuid':
    case 'interval':
      return namedVector(meaning.kind, runsVector(types.bytes, { offsets, bytes, rows }, undefined));
    case 'fixed-bytes':
      return namedVector(
        `fixed_size_binary_${meaning.size}`,
        runsVector(types.bytes, { offsets, bytes, rows }, undefined),
      );
    default:
      return runsVector(types.bytes, { offsets, bytes, rows }, undefined);
  }
};
