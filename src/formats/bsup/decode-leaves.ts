/**
 * Columns without anything inside them, straight from the bytes: one loop over the places of a column's values for each
 * kind.
 *
 * Invariant: whoever found the places has checked that each value ends within the bytes of what it is in.
 */
import { type EnumType, type PrimitiveType, type Type, types } from '../../vectors/type.ts';
import { float16Number } from '../../vectors/value.ts';
import type { BytesVector, FlatVector, NumberArray } from '../../vectors/vector.ts';
import { BytesFault, Cursor, readTypeValue } from '../columns/type-bytes.ts';

/** The bytes that values are in. */
export interface Source {
  readonly bytes: Uint8Array;
  readonly view: DataView;
  /** Eight bytes can be read behind a tag at this place and before. */
  readonly wordsStop: number;
  readonly nestingMax: number;
}
/** Bytes as the decoders read them. */
export const sourceOf = (bytes: Uint8Array, nestingMax: number): Source => ({
  bytes,
  view: new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength),
  wordsStop: bytes.length - 9,
  nestingMax,
});

/** Where the tags of a column's values are: the first `length` of these. */
export interface Places {
  readonly at: Uint32Array;
  readonly length: number;
}

/** The fault of a value whose bytes are cut or make no sense. */
export const malformed = (): BytesFault => new BytesFault('malformed BSUP value');

/** The bytes that the tag at `at` takes: those below 0x80 take one. */
export const tagBytes = (bytes: Uint8Array, at: number): number => {
  let size = 1;
  while (bytes[at + size - 1] >= 0x80) size++;
  return size;
};
/** The tag at `at`. @throws BytesFault if it is cut or does not end */
export const tagAt = (bytes: Uint8Array, at: number): number => {
  let tag = 0;
  let scale = 1;
  for (let i = at; i < bytes.length && scale <= 2 ** 35; i++) {
    tag += (bytes[i] & 0x7f) * scale;
    if (bytes[i] < 0x80) return tag;
    scale *= 128;
  }
  throw malformed();
};
/** What the tagged value at `at` takes, its tag included. */
export const spanAt = (bytes: Uint8Array, at: number): number => {
  const first = bytes[at];
  if (first < 0x80) return first === 0 ? 1 : first;
  const tag = tagAt(bytes, at);
  return tagBytes(bytes, at) + (tag === 0 ? 0 : tag - 1);
};

/** The column of these values. @throws BytesFault */
export const leafOf = (s: Source, type: PrimitiveType | EnumType, places: Places): FlatVector => {
  if (type.kind === 'enum') return enums(s, type, places);
  const { length } = places;
  switch (type.name) {
    case 'int8':
    case 'int16':
    case 'int32':
    case 'int64':
    case 'duration':
    case 'time':
      return { form: 'number', type, length, values: signed(s, places) };
    case 'uint8':
    case 'uint16':
    case 'uint32':
    case 'uint64':
      return { form: 'number', type, length, values: unsigned(s, places) };
    case 'float64':
      return { form: 'number', type, length, values: float64s(s, places) };
    case 'float32':
    case 'float16':
      return { form: 'number', type, length, values: smallFloats(s, type, places) };
    case 'bool':
      return { form: 'bool', length, values: bools(s, places) };
    case 'string':
    case 'bytes':
      return runs(s, type, places);
    case 'ip':
      return checked(runs(s, type, places), isIp);
    case 'net':
      return checked(runs(s, type, places), isNet);
    case 'type':
      return typeValues(s, places);
    case 'null':
      return nulls(s, places);
  }
};

// What is left of a word of 32 bits that has so many bytes of a value of 0 to 8 bytes.
const lowMasks = Int32Array.of(0, 0xff, 0xffff, 0xff_ffff, -1, -1, -1, -1, -1);
const highMasks = Int32Array.of(0, 0, 0, 0, 0, 0xff, 0xffff, 0xff_ffff, -1);
const lowWord = ({ bytes, view, wordsStop }: Source, place: number, size: number): number =>
  place <= wordsStop ? view.getInt32(place + 1, true) & lowMasks[size] : wordOf(bytes, place + 1, Math.min(size, 4));
const highWord = ({ bytes, view, wordsStop }: Source, place: number, size: number): number =>
  size <= 4
    ? 0
    : place <= wordsStop
      ? view.getInt32(place + 5, true) & highMasks[size]
      : wordOf(bytes, place + 5, size - 4);
const wordOf = (bytes: Uint8Array, start: number, size: number): number => {
  let word = 0;
  for (let i = start + size - 1; i >= start; i--) word = (word << 8) | bytes[i];
  return word;
};

/**
 * `abs << 1 | sign` in as few bytes as it takes; 1 alone is the least 64-bit integer. A number may be beyond its type:
 * sums of pipes keep the type of what was added.
 */
const signed = (s: Source, { at, length }: Places): NumberArray => {
  const { bytes, view, wordsStop } = s;
  const values = new Float64Array(length);
  for (let i = 0; i < length; i++) {
    const place = at[i];
    const size = bytes[place] - 1;
    if (size >>> 0 > 8) throw malformed();
    const low = place <= wordsStop ? view.getInt32(place + 1, true) & lowMasks[size] : lowWord(s, place, size);
    const negative = low & 1;
    let magnitude = low >>> 1;
    if (size > 4) {
      const high = highWord(s, place, size);
      if (high >>> 0 >= 0x40_0000) return wideSigned(s, { at, length });
      magnitude += (high >>> 1) * 4294967296 + (high & 1) * 2147483648;
    }
    if (negative === 0) values[i] = magnitude;
    else if (magnitude !== 0) values[i] = -magnitude;
    else return wideSigned(s, { at, length });
  }
  return values;
};
const wideSigned = (s: Source, { at, length }: Places): NumberArray => {
  const { bytes } = s;
  const words = new Int32Array(length * 2);
  for (let i = 0; i < length; i++) {
    const place = at[i];
    const size = bytes[place] - 1;
    if (size >>> 0 > 8) throw malformed();
    const low = lowWord(s, place, size);
    const high = highWord(s, place, size);
    const magnitudeLow = (low >>> 1) | (high << 31);
    const magnitudeHigh = high >>> 1;
    if ((low & 1) === 0) {
      words[i * 2] = magnitudeLow;
      words[i * 2 + 1] = magnitudeHigh;
    } else {
      words[i * 2] = -magnitudeLow;
      words[i * 2 + 1] = magnitudeLow !== 0 ? ~magnitudeHigh : magnitudeHigh !== 0 ? -magnitudeHigh : -0x8000_0000;
    }
  }
  return new BigInt64Array(words.buffer);
};

const unsigned = (s: Source, { at, length }: Places): NumberArray => {
  const { bytes } = s;
  const values = new Float64Array(length);
  for (let i = 0; i < length; i++) {
    const place = at[i];
    const size = bytes[place] - 1;
    if (size >>> 0 > 8) throw malformed();
    const low = lowWord(s, place, size) >>> 0;
    if (size <= 4) values[i] = low;
    else {
      const high = highWord(s, place, size) >>> 0;
      if (high >= 0x20_0000) return wideUnsigned(s, { at, length });
      values[i] = high * 4294967296 + low;
    }
  }
  return values;
};
const wideUnsigned = (s: Source, { at, length }: Places): NumberArray => {
  const { bytes } = s;
  const words = new Int32Array(length * 2);
  for (let i = 0; i < length; i++) {
    const place = at[i];
    const size = bytes[place] - 1;
    if (size >>> 0 > 8) throw malformed();
    words[i * 2] = lowWord(s, place, size);
    words[i * 2 + 1] = highWord(s, place, size);
  }
  return new BigUint64Array(words.buffer);
};

const float64s = ({ bytes, view }: Source, { at, length }: Places): Float64Array => {
  const values = new Float64Array(length);
  for (let i = 0; i < length; i++) {
    const place = at[i];
    if (bytes[place] !== 9) throw malformed();
    values[i] = view.getFloat64(place + 1, true);
  }
  return values;
};
const smallFloats = ({ bytes, view }: Source, type: PrimitiveType, { at, length }: Places): Float64Array => {
  const values = new Float64Array(length);
  const tag = type === types.float32 ? 5 : 3;
  for (let i = 0; i < length; i++) {
    const place = at[i];
    if (bytes[place] !== tag) throw malformed();
    values[i] = tag === 5 ? view.getFloat32(place + 1, true) : float16Number(view.getUint16(place + 1, true));
  }
  return values;
};

const bools = ({ bytes }: Source, { at, length }: Places): Uint8Array => {
  const values = new Uint8Array(length);
  for (let i = 0; i < length; i++) {
    const place = at[i];
    const value = bytes[place + 1];
    if (bytes[place] !== 2 || value > 1) throw malformed();
    values[i] = value;
  }
  return values;
};
const nulls = ({ bytes }: Source, { at, length }: Places): FlatVector => {
  for (let i = 0; i < length; i++) if (bytes[at[i]] > 1) throw malformed();
  return { form: 'null', length };
};

/** Runs longer than this go through the engine's copy, which has a price per call. */
const longRun = 64;
/** Room behind runs that are copied by words. */
const slack = 8;
/** Rows from which the room for all is guessed, and how much more than that is taken. */
const guessRows = 32;
const guessMore = 1.1;

const runs = (s: Source, type: PrimitiveType, { at, length }: Places): BytesVector => {
  const { bytes, view } = s;
  const shortStop = bytes.length - slack;
  // All of it is written below, so it need not be zero before.
  const offsets = new Uint32Array(roomOf((length + 1) * 4).buffer);
  let room = roomOf(runsGuess(bytes, { at, length }));
  let into = viewOf(room);
  let to = 0;
  offsets[0] = 0;
  for (let i = 0; i < length; i++) {
    const place = at[i];
    let start = place + 1;
    let size = bytes[place] - 1;
    if (size >= 0x7f || size < 0) {
      size = tagAt(bytes, place) - 1;
      start = place + tagBytes(bytes, place);
      if (size < 0) throw malformed();
    }
    if (to + size + slack > room.length)
      into = viewOf((room = larger(room, to, Math.max(room.length * 2, to + size + slack))));
    if (size > longRun || start + size > shortStop) room.set(bytes.subarray(start, start + size), to);
    else {
      into.setInt32(to, view.getInt32(start, true), true);
      into.setInt32(to + 4, view.getInt32(start + 4, true), true);
      for (let k = 8; k < size; k += 8) {
        into.setInt32(to + k, view.getInt32(start + k, true), true);
        into.setInt32(to + k + 4, view.getInt32(start + k + 4, true), true);
      }
    }
    offsets[i + 1] = to += size;
  }
  // What was guessed far too large is not kept.
  const own = to * 2 < room.length ? Uint8Array.prototype.slice.call(room, 0, to) : new Uint8Array(room.buffer, 0, to);
  return { form: 'bytes', type, length, offsets, bytes: own };
};
const roomOf = (size: number): Uint8Array<ArrayBuffer> => Buffer.allocUnsafeSlow(size) as Uint8Array<ArrayBuffer>;
const viewOf = (bytes: Uint8Array): DataView => new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
const larger = (room: Uint8Array, used: number, size: number): Uint8Array<ArrayBuffer> => {
  const grown = roomOf(size);
  grown.set(room.subarray(0, used));
  return grown;
};
const runsGuess = (bytes: Uint8Array, { at, length }: Places): number => {
  const rows = Math.min(guessRows, length);
  let size = 0;
  for (let i = 0; i < rows; i++) size += bytes[at[i]];
  return Math.ceil(rows === length ? size : (size / rows) * length * guessMore) + slack;
};

const checked = (v: BytesVector, isGood: (bytes: Uint8Array, start: number, end: number) => boolean): BytesVector => {
  for (let i = 0; i < v.length; i++) if (!isGood(v.bytes, v.offsets[i], v.offsets[i + 1])) throw malformed();
  return v;
};
const isIp = (_bytes: Uint8Array, start: number, end: number): boolean => end - start === 4 || end - start === 16;
/** Address then mask: the mask is ones and then zeros, the address has no bits outside of it. */
const isNet = (bytes: Uint8Array, start: number, end: number): boolean => {
  const size = (end - start) / 2;
  if (size !== 4 && size !== 16) return false;
  let ended = false;
  for (let i = start; i < start + size; i++) {
    const mask = bytes[i + size];
    const zeros = 0xff - mask;
    if ((zeros & (zeros + 1)) !== 0 || (ended && mask !== 0) || (bytes[i] & zeros) !== 0) return false;
    if (mask !== 0xff) ended = true;
  }
  return true;
};

const typeValues = ({ bytes, nestingMax }: Source, { at, length }: Places): FlatVector => {
  const codes = new Uint32Array(length);
  const table = new Map<Type, number>();
  for (let i = 0; i < length; i++) {
    const start = at[i] + tagBytes(bytes, at[i]);
    const end = at[i] + spanAt(bytes, at[i]);
    const type = readTypeValue(new Cursor(bytes, start, end, 'malformed BSUP value'), nestingMax);
    let code = table.get(type);
    if (code === undefined) table.set(type, (code = table.size));
    codes[i] = code;
  }
  return { form: 'type', length, codes, table: [...table.keys()] };
};
const enums = ({ bytes }: Source, type: EnumType, { at, length }: Places): FlatVector => {
  const codes = new Uint32Array(length);
  const { symbols } = type;
  for (let i = 0; i < length; i++) {
    const code = smallUnsigned(bytes, at[i]);
    if (code >= symbols.length) throw malformed();
    codes[i] = code;
  }
  return { form: 'enum', type, length, codes };
};

/** An unsigned integer below 2^32: index of a member or symbol. */
export const smallUnsigned = (bytes: Uint8Array, place: number): number => {
  const size = bytes[place] - 1;
  if (size >>> 0 > 4) throw malformed();
  return wordOf(bytes, place + 1, size) >>> 0;
};
