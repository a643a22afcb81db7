/** Columns without children as tagged bodies: numbers, runs of bytes, bools, nulls, types, enums. */
import { types } from '../../vectors/type.ts';
import { ByteWriter, float16Bits, writeTypeValue } from '../../vectors/value.ts';
import type {
  BoolVector,
  BytesVector,
  EnumVector,
  NullVector,
  NumberVector,
  TypeVector,
} from '../../vectors/vector.ts';

/** A column whose sizes are known. */
export interface EncodedColumn {
  /** Bytes of each row's body without its tag; `absentBody` for no body at all. */
  readonly bodies: Float64Array;
  /** Writes the tagged bodies of rows [start, end), row i at places[i], which is then behind it. */
  readonly write: (start: number, end: number, places: Float64Array, out: Uint8Array) => void;
}
/** Rows to write, and where: row i at places[i], which is then behind it. */
export interface Target {
  readonly start: number;
  readonly end: number;
  readonly places: Float64Array;
  readonly out: Uint8Array;
}
/** What a writer lends to the columns of one batch after the other. */
export class Space {
  /**
   * Bits of the places where a run begins that another one of its column is likely to begin like (`encodeLz4Marked`), a
   * bit for each byte of `out`.
   */
  marks: Uint32Array | undefined;
  private numbers = new Float64Array(0);
  private taken = 0;
  /** A new batch: what was taken before is given back. */
  begin(): void {
    if (this.taken > this.numbers.length && this.taken <= spaceMax)
      this.numbers = new Float64Array(Math.max(this.taken, 1 << 12));
    this.taken = 0;
  }
  /** Numbers with anything in them. */
  take(length: number): Float64Array {
    const start = this.taken;
    this.taken += length;
    return this.taken <= this.numbers.length ? this.numbers.subarray(start, this.taken) : new Float64Array(length);
  }
}
/** Numbers that are kept from batch to batch, at most. */
const spaceMax = 1 << 18;
const numbersOf = (space: Space | undefined, length: number): Float64Array =>
  space?.take(length) ?? new Float64Array(length);

const uniformRows = 8192;
const uniforms = new Map<number, Float64Array>();
/** The same size for all rows; only read. */
export const uniform = (body: number, length: number): Float64Array => {
  if (length > uniformRows || body > 64) return new Float64Array(length).fill(body);
  let known = uniforms.get(body);
  if (!known) uniforms.set(body, (known = new Float64Array(uniformRows).fill(body)));
  return known.subarray(0, length);
};
/** Shorter runs are not marked. */
export const markedMin = 8;

/** Null: tag 0. */
const absentBody = -1;

/** Bytes of a body with its tag. */
export const taggedSize = (body: number): number => (body < 127 ? body + (body < 0 ? 2 : 1) : body + tagSize(body));
const tagSize = (body: number): number => {
  let size = 1;
  for (let rest = body + 1; rest >= 0x80; rest = Math.floor(rest / 0x80)) size++;
  return size;
};
/** Writes the tag of a body; returns the place behind it. */
export const writeTag = (out: Uint8Array, place: number, body: number): number => writeUvarint(out, place, body + 1);
/**
 * Writes a number in groups of seven bits, low one first (LEB128); returns the place behind it. There has to be room
 * for it.
 */
export const writeUvarint = (out: Uint8Array, place: number, n: number): number => {
  let at = place;
  let rest = n;
  for (; rest >= 0x80; rest = Math.floor(rest / 0x80)) out[at++] = (rest & 0x7f) | 0x80;
  out[at++] = rest;
  return at;
};

// The loops over rows are functions of their own, which take arrays, not vectors: the engine compiles them soon, once,
// and for good, whatever kinds of vectors come.

type LeafVector = NumberVector | BytesVector | BoolVector | NullVector | TypeVector | EnumVector;

/** Rows `index` of the vector, or its first `length`. `wrapped`: null has an empty body. */
export const leafColumn = (
  v: LeafVector,
  index: Uint32Array | undefined,
  length: number,
  wrapped: boolean,
  space?: Space,
): EncodedColumn => {
  switch (v.form) {
    case 'number':
      return numberColumn(v, index, length, space);
    case 'bytes':
      return runColumn(v.offsets, v.bytes, index, length, space, v.type === types.string);
    case 'bool':
      return boolColumn(v, index, length);
    case 'null':
      return nullColumn(length, wrapped);
    case 'type':
      return typeColumn(v, index, length);
    case 'enum':
      return unsignedColumn(
        Float64Array.from(index ? picked32(v.codes, index, length) : v.codes.subarray(0, length)),
        length,
        space,
      );
  }
};

const numberColumn = (
  v: NumberVector,
  index: Uint32Array | undefined,
  length: number,
  space?: Space,
): EncodedColumn => {
  const { values } = v;
  if (!(values instanceof Float64Array))
    return wideColumn(wordsOf(values), index, length, values instanceof BigInt64Array);
  const own = index ? picked(values, index, numbersOf(space, length)) : values;
  switch (v.type) {
    case types.float64:
      return float64Column(own, length);
    case types.float32:
    case types.float16:
      return smallFloatColumn(own, v.type === types.float32 ? 4 : 2, length);
    case types.uint8:
    case types.uint16:
    case types.uint32:
    case types.uint64:
      return unsignedColumn(own, length, space);
    default:
      return signedColumn(own, length, space);
  }
};
const wordsOf = (values: BigInt64Array | BigUint64Array): Int32Array =>
  new Int32Array(values.buffer, values.byteOffset, values.length * 2);
const picked = (values: Float64Array, index: Uint32Array, out: Float64Array): Float64Array => {
  for (let i = 0; i < out.length; i++) out[i] = values[index[i]];
  return out;
};

/** Bytes of an unsigned number below 2^54. */
const bytesOf = (x: number): number =>
  x < 0x100
    ? x === 0
      ? 0
      : 1
    : x < 0x10000
      ? 2
      : x < 0x1000000
        ? 3
        : x < 0x1_0000_0000
          ? 4
          : x < 0x100_0000_0000
            ? 5
            : x < 0x1_0000_0000_0000
              ? 6
              : 7;

const signedColumn = (values: Float64Array, length: number, space?: Space): EncodedColumn => {
  const bodies = numbersOf(space, length);
  signedSizes(values, bodies);
  return {
    bodies,
    write: (start, end, places, out) => {
      writeSigned(values, bodies, { start, end, places, out });
    },
  };
};
// Twice the magnitude takes as many bytes with the sign bit as without, but for a lone sign, which no number has.
const signedSizes = (values: Float64Array, bodies: Float64Array): void => {
  for (let i = 0; i < bodies.length; i++) bodies[i] = bytesOf(Math.abs(values[i]) * 2);
};
const writeSigned = (values: Float64Array, bodies: Float64Array, { start, end, places, out }: Target): void => {
  for (let i = start; i < end; i++) {
    const x = values[i];
    const magnitude = Math.abs(x);
    const body = bodies[i];
    let at = places[i];
    out[at++] = body + 1;
    // Bits beyond the 32nd fall away.
    let low = (magnitude << 1) | (x < 0 ? 1 : 0);
    const stop = at + body;
    const lowStop = body > 4 ? at + 4 : stop;
    for (; at < lowStop; low >>>= 8) out[at++] = low;
    if (at < stop) for (let high = Math.floor(magnitude / 0x8000_0000); at < stop; high >>>= 8) out[at++] = high;
    places[i] = at;
  }
};

const unsignedColumn = (values: Float64Array, length: number, space?: Space): EncodedColumn => {
  const bodies = numbersOf(space, length);
  unsignedSizes(values, bodies);
  return {
    bodies,
    write: (start, end, places, out) => {
      writeUnsigned(values, bodies, { start, end, places, out });
    },
  };
};
const unsignedSizes = (values: Float64Array, bodies: Float64Array): void => {
  for (let i = 0; i < bodies.length; i++) bodies[i] = bytesOf(values[i]);
};
const writeUnsigned = (values: Float64Array, bodies: Float64Array, { start, end, places, out }: Target): void => {
  for (let i = start; i < end; i++) {
    const x = values[i];
    const body = bodies[i];
    let at = places[i];
    out[at++] = body + 1;
    let low = x >>> 0;
    const stop = at + body;
    const lowStop = body > 4 ? at + 4 : stop;
    for (; at < lowStop; low >>>= 8) out[at++] = low;
    if (at < stop) for (let high = Math.floor(x / 0x1_0000_0000); at < stop; high >>>= 8) out[at++] = high;
    places[i] = at;
  }
};

/** 64-bit integers as pairs of words, low first. */
const wideColumn = (
  words: Int32Array,
  index: Uint32Array | undefined,
  length: number,
  signed: boolean,
): EncodedColumn => {
  // What is written: magnitude and sign for signed ones, the number itself for others.
  const coded = new Uint32Array(length * 2);
  const bodies = new Float64Array(length);
  for (let i = 0; i < length; i++) {
    const row = index ? index[i] : i;
    let low = words[row * 2];
    let high = words[row * 2 + 1];
    if (signed) {
      const sign = high < 0 ? 1 : 0;
      if (sign === 1) {
        high = low === 0 ? -high | 0 : ~high;
        low = -low | 0;
      }
      high = (high << 1) | (low >>> 31);
      low = (low << 1) | sign;
    }
    coded[i * 2] = low;
    coded[i * 2 + 1] = high;
    bodies[i] = coded[i * 2 + 1] === 0 ? bytesOf(coded[i * 2]) : 4 + bytesOf(coded[i * 2 + 1]);
  }
  return {
    bodies,
    write: (start, end, places, out) => {
      writeWide(coded, bodies, { start, end, places, out });
    },
  };
};
const writeWide = (coded: Uint32Array, bodies: Float64Array, { start, end, places, out }: Target): void => {
  for (let i = start; i < end; i++) {
    const body = bodies[i];
    let at = places[i];
    out[at++] = body + 1;
    const stop = at + body;
    const lowStop = body > 4 ? at + 4 : stop;
    for (let low = coded[i * 2]; at < lowStop; low >>>= 8) out[at++] = low;
    for (let high = coded[i * 2 + 1]; at < stop; high >>>= 8) out[at++] = high;
    places[i] = at;
  }
};

const viewOf = (bytes: Uint8Array): DataView => new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
const scratch = new DataView(new ArrayBuffer(8));
const scratchBytes = new Uint8Array(scratch.buffer);

const float64Column = (values: Float64Array, length: number): EncodedColumn => ({
  bodies: uniform(8, length),
  write: (start, end, places, out) => {
    writeFloats(values, viewOf(out), { start, end, places, out });
  },
});
const writeFloats = (values: Float64Array, view: DataView, { start, end, places, out }: Target): void => {
  for (let i = start; i < end; i++) {
    const at = places[i];
    const x = values[i];
    out[at] = 9;
    if (x === x) view.setFloat64(at + 1, x, true);
    else {
      // The reference's NaN; ours may have any payload.
      view.setUint32(at + 1, 1, true);
      view.setUint32(at + 5, 0x7ff8_0000, true);
    }
    places[i] = at + 9;
  }
};

const smallFloatColumn = (values: Float64Array, body: 2 | 4, length: number): EncodedColumn => ({
  bodies: uniform(body, length),
  write(start, end, places, out) {
    for (let i = start; i < end; i++) {
      let at = places[i];
      out[at++] = body + 1;
      if (body === 4) scratch.setFloat32(0, values[i], true);
      else scratch.setUint16(0, float16Bits(values[i]), true);
      for (let k = 0; k < body; k++) out[at++] = scratchBytes[k];
      places[i] = at;
    }
  },
});

const boolColumn = ({ values }: BoolVector, index: Uint32Array | undefined, length: number): EncodedColumn => ({
  bodies: uniform(1, length),
  write: (start, end, places, out) => {
    if (index) writePickedBools(values, index, { start, end, places, out });
    else writeBools(values, { start, end, places, out });
  },
});
const writeBools = (values: Uint8Array, { start, end, places, out }: Target): void => {
  for (let i = start; i < end; i++) {
    const at = places[i];
    out[at] = 2;
    out[at + 1] = values[i] === 0 ? 0 : 1;
    places[i] = at + 2;
  }
};
const writePickedBools = (values: Uint8Array, index: Uint32Array, { start, end, places, out }: Target): void => {
  for (let i = start; i < end; i++) {
    const at = places[i];
    out[at] = 2;
    out[at + 1] = values[index[i]] === 0 ? 0 : 1;
    places[i] = at + 2;
  }
};

const nullColumn = (length: number, wrapped: boolean): EncodedColumn => ({
  bodies: uniform(wrapped ? 0 : absentBody, length),
  write: (start, end, places, out) => {
    writeNulls(wrapped ? 1 : 0, { start, end, places, out });
  },
});
const writeNulls = (tag: number, { start, end, places, out }: Target): void => {
  for (let i = start; i < end; i++) out[places[i]++] = tag;
};

/** Longer runs go through the engine's copy, which has a price per call. */
const longRun = 160;

const runColumn = (
  offsets: Uint32Array,
  bytes: Uint8Array,
  index: Uint32Array | undefined,
  length: number,
  space?: Space,
  isText = false,
): EncodedColumn => {
  const bodies = numbersOf(space, length);
  const marked = space?.marks && startsRepeat(offsets, bytes, index, length) ? space : undefined;
  // Without an index the offsets are where the runs begin.
  let starts = offsets;
  if (index) pickedRuns(offsets, index, (starts = new Uint32Array(length)), bodies);
  else runSizes(offsets, bodies);
  return {
    bodies,
    write(start, end, places, out) {
      const target = { start, end, places, out };
      const bits = marked?.marks;
      if (bits) markRuns(bits, bodies, target);
      writeRuns(starts, bytes, bodies, { ...target, isText });
    },
  };
};
const runSizes = (offsets: Uint32Array, bodies: Float64Array): void => {
  for (let i = 0; i < bodies.length; i++) bodies[i] = offsets[i + 1] - offsets[i];
};
const pickedRuns = (offsets: Uint32Array, index: Uint32Array, starts: Uint32Array, bodies: Float64Array): void => {
  for (let i = 0; i < bodies.length; i++) {
    const row = index[i];
    starts[i] = offsets[row];
    bodies[i] = offsets[row + 1] - offsets[row];
  }
};
const markRuns = (bits: Uint32Array, bodies: Float64Array, { start, end, places }: Target): void => {
  for (let i = start; i < end; i++) {
    const size = bodies[i];
    if (size < markedMin) continue;
    const at = places[i] + (size < 127 ? 1 : tagSize(size));
    bits[at >> 5] |= 1 << (at & 31);
  }
};
/** `isText`: the runs are UTF-8. */
const writeRuns = (
  starts: Uint32Array,
  bytes: Uint8Array,
  bodies: Float64Array,
  { start, end, places, out, isText }: Target & { readonly isText: boolean },
): void => {
  const view = viewOf(bytes);
  const into = viewOf(out);
  const wideMin = isText ? 8 : Infinity;
  for (let i = start; i < end; i++) {
    const from = starts[i];
    const size = bodies[i];
    let at = places[i];
    if (size < 127) out[at++] = size + 1;
    else at = writeTag(out, at, size);
    if (size > longRun) out.set(bytes.subarray(from, from + size), at);
    else if (size >= wideMin) {
      // As floats, which the engine moves as they are; no eight bytes of UTF-8 are a NaN. The last ones over a part of
      // those before: what lies behind may be written already.
      const last = size - 8;
      for (let k = 0; k < last; k += 8) into.setFloat64(at + k, view.getFloat64(from + k, true), true);
      into.setFloat64(at + last, view.getFloat64(from + last, true), true);
    } else if (size < 4) for (let k = 0; k < size; k++) out[at + k] = bytes[from + k];
    else {
      // By words, the last one over a part of the one before, for the same reason.
      const last = size - 4;
      for (let k = 0; k < last; k += 4) into.setInt32(at + k, view.getInt32(from + k, true), true);
      into.setInt32(at + last, view.getInt32(from + last, true), true);
    }
    places[i] = at + size;
  }
};

const samples = 64;
const seen = new Int32Array(256);
/** Whether a quarter of a sample of the runs begins with the eight bytes of another one. */
const startsRepeat = (
  offsets: Uint32Array,
  bytes: Uint8Array,
  index: Uint32Array | undefined,
  length: number,
): boolean => {
  const view = viewOf(bytes);
  const stride = Math.max(1, length / samples);
  let tried = 0;
  let repeated = 0;
  seen.fill(0);
  for (let k = 0; k < length; k += stride) {
    const i = Math.floor(k);
    const row = index ? index[i] : i;
    const from = offsets[row];
    tried++;
    if (offsets[row + 1] - from < markedMin) continue;
    const hash =
      Math.imul(view.getInt32(from, true), -1640531535) ^ Math.imul(view.getInt32(from + 4, true), 1028477387);
    const slot = hash >>> 24;
    if (seen[slot] === hash) repeated++;
    seen[slot] = hash;
  }
  return repeated * 4 >= tried;
};

/** The types of the table are encoded once, rows copy them. */
const typeColumn = (v: TypeVector, index: Uint32Array | undefined, length: number): EncodedColumn => {
  const out = new ByteWriter();
  const offsets = new Uint32Array(v.table.length + 1);
  v.table.forEach((type, i) => {
    writeTypeValue(out, type, new Set());
    offsets[i + 1] = out.length;
  });
  return runColumn(
    offsets,
    out.bytes.subarray(0, out.length),
    index ? picked32(v.codes, index, length) : v.codes,
    length,
  );
};
/** values[index[i]] for each i below `length`. */
export const picked32 = (values: Uint32Array, index: Uint32Array, length: number): Uint32Array => {
  const out = new Uint32Array(length);
  for (let i = 0; i < length; i++) out[i] = values[index[i]];
  return out;
};
