/** Columns without children as CSUP segments: what their rows have in common, and their bytes. */
import { compareValues } from '../../vectors/compare.ts';
import { type PrimitiveType, type Type, isFloat, isUnsigned, types } from '../../vectors/type.ts';
import { ByteWriter, type Value, compareRuns, writeTypeValue } from '../../vectors/value.ts';
import {
  type BytesVector,
  type FlatVector,
  type NumberVector,
  type TypeVector,
  type Vector,
  take,
  valueAt,
} from '../../vectors/vector.ts';
import type { Descriptor } from './descriptors.ts';
import { blocks32, blocks64 } from './int-encode.ts';
import type { BsupParts } from './parts.ts';
import type { DataSection } from './section.ts';

/** Most entries of a dictionary. */
const entriesMax = 255;

/** Rows by their distinct values, in order of first appearance; undefined beyond what a dictionary holds. */
interface Entries {
  readonly rows: Uint32Array;
  readonly codes: Uint8Array;
  readonly counts: Uint32Array;
}

const neverShared: ReadonlySet<Type> = new Set([types.int8, types.uint8, types.bool]);

/** The distinct values of a leaf, if they are few enough. int8, uint8, bool and enum are written plain always. */
export const entriesOf = (v: FlatVector): Entries | undefined => {
  if (v.length === 0 || v.form === 'enum' || v.form === 'bool' || (v.form === 'number' && neverShared.has(v.type)))
    return undefined;
  const keyOf = keys(v);
  const seen = new Map<unknown, number>();
  const codes = new Uint8Array(v.length);
  const rows: number[] = [];
  const counts = new Uint32Array(entriesMax);
  for (let i = 0; i < v.length; i++) {
    const key = keyOf(i);
    let code = seen.get(key);
    if (code === undefined) {
      if (seen.size === entriesMax) return undefined;
      seen.set(key, (code = seen.size));
      rows.push(i);
    }
    codes[i] = code;
    counts[code]++;
  }
  return rows.length > 1 && rows.length === v.length
    ? undefined
    : { rows: Uint32Array.from(rows), codes, counts: counts.subarray(0, rows.length) };
};

/** What rows of equal value have in common and others have not. */
const keys = (v: FlatVector): ((row: number) => unknown) => {
  switch (v.form) {
    case 'number': {
      const { values } = v;
      return isFloat(v.type)
        ? (row) => (Object.is(values[row], -0) ? 'negative zero' : values[row])
        : (row) => values[row];
    }
    case 'bytes': {
      const { bytes, offsets } = v;
      const all = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
      return (row) => {
        const start = offsets[row];
        const end = offsets[row + 1];
        if (end - start > 12) return all.toString('latin1', start, end);
        let key = '';
        for (let i = start; i < end; i++) key += String.fromCharCode(bytes[i]);
        return key;
      };
    }
    case 'type':
      return (row) => v.table[v.codes[row]];
    default:
      return () => 0;
  }
};

/** Writes a leaf plain. Its type tells the kind of its descriptor. */
export const writeLeaf = (section: DataSection, v: FlatVector, type: Type, bsup: BsupParts): Descriptor => {
  switch (v.form) {
    case 'number':
      return isFloat(v.type) ? writeFloats(section, v) : writeIntegers(section, v);
    case 'bytes':
      if (v.type === types.string || v.type === types.bytes) return writeRuns(section, v);
      break;
    case 'type':
      return writeRuns(section, encodedTypes(v), types.type);
    default:
  }
  const { min, max } = extremes(v);
  return { kind: 'Primitive', type, location: section.packed(bsup.bodiesOf(v)), min, max, count: v.length };
};

const writeIntegers = (section: DataSection, v: NumberVector): Descriptor => {
  const signed = !isUnsigned(v.type);
  const bounds = signed ? types.int64 : types.uint64;
  const { length } = v;
  const bytes = blocks64(pairsOf(v), length, signed);
  let min = length > 0 ? v.values[0] : 0;
  let max = min;
  for (let i = 1; i < length; i++) {
    const x = v.values[i];
    if (x < min) min = x;
    if (x > max) max = x;
  }
  return {
    kind: signed ? 'Int' : 'Uint',
    type: v.type,
    location: section.blocks(bytes, length * 8),
    min: { type: bounds, data: min },
    max: { type: bounds, data: max },
    count: length,
  };
};

/** Integers as pairs of words, low first. */
const pairsOf = ({ values, length }: NumberVector): Int32Array => {
  if (!(values instanceof Float64Array)) return new Int32Array(values.buffer, values.byteOffset, length * 2);
  const pairs = new Int32Array(length * 2);
  for (let i = 0; i < length; i++) {
    const x = values[i];
    const high = Math.floor(x / 4294967296);
    pairs[i * 2] = x - high * 4294967296;
    pairs[i * 2 + 1] = high;
  }
  return pairs;
};

const writeFloats = (section: DataSection, v: NumberVector): Descriptor => {
  const { length, type } = v;
  const bytes = new Uint8Array(length * 8);
  const view = new DataView(bytes.buffer);
  let min = NaN;
  let max = NaN;
  for (let i = 0; i < length; i++) {
    const x = v.values[i] as number;
    view.setFloat64(i * 8, x, true);
    if (!(x >= min)) min = Number.isNaN(x) ? min : x;
    if (!(x <= max)) max = Number.isNaN(x) ? max : x;
  }
  const bound = (x: number): Value => ({ type: types.float64, data: length === 0 ? 0 : x });
  return { kind: 'Float', type, location: section.packed(bytes), min: bound(min), max: bound(max), count: length };
};

const writeRuns = (section: DataSection, v: BytesVector, type: PrimitiveType = v.type): Descriptor => {
  const { length } = v;
  const start = v.offsets[0];
  const offsets = new Uint32Array(length + 1);
  for (let i = 0; i <= length; i++) offsets[i] = v.offsets[i] - start;
  const run = (row: number): Uint8Array => v.bytes.subarray(v.offsets[row], v.offsets[row + 1]);
  let min = 0;
  let max = 0;
  for (let i = 1; i < length; i++) {
    if (compareRuns(v.bytes, v.offsets, i, min) < 0) min = i;
    else if (compareRuns(v.bytes, v.offsets, i, max) > 0) max = i;
  }
  const bytes = section.packed(v.bytes.subarray(start, v.offsets[length]));
  return {
    kind: 'Bytes',
    type,
    bytes,
    offsets: section.blocks(blocks32(offsets), offsets.length * 4),
    min: length > 0 ? run(min) : new Uint8Array(0),
    max: length > 0 ? run(max) : new Uint8Array(0),
    count: length,
  };
};

const encodedTypes = (v: TypeVector): BytesVector => {
  const coded = v.table.map((type) => {
    const out = new ByteWriter();
    writeTypeValue(out, type, new Set());
    return out.done();
  });
  const all = new ByteWriter();
  const offsets = new Uint32Array(v.length + 1);
  for (let i = 0; i < v.length; i++) {
    all.raw(coded[v.codes[i]]);
    offsets[i + 1] = all.length;
  }
  return { form: 'bytes', type: types.bytes, length: v.length, offsets, bytes: all.bytes };
};

const nothing: Value = { type: types.null, data: null };
const extremes = (v: Vector): { readonly min: Value; readonly max: Value } => {
  if (v.length === 0) return { min: nothing, max: nothing };
  let min = valueAt(v, 0);
  let max = min;
  for (let i = 1; i < v.length; i++) {
    const x = valueAt(v, i);
    if (compareValues(x, min) < 0) min = x;
    else if (compareValues(x, max) > 0) max = x;
  }
  return { min, max };
};

/** The values of a dictionary, one row each. */
export const entryValues = (v: FlatVector, { rows }: Entries): Vector => take(v, rows);
