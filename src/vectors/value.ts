/**
 * One value by itself: a type and its data. Vectors hold values by the thousand; this form is for constants, literals
 * and the paths where speed does not matter.
 *
 * Data by kind of type:
 * - integers, duration, time: a number when |x| <= 2^53 - 1, else a bigint (so `===` on equal integers of one type
 *   holds);
 * - floats: a number; bool: a boolean; string: a string; null: null; type: a Type;
 * - bytes: the bytes; ip: 4 or 16 bytes in network order; net: address then mask, 8 or 32 bytes, masked;
 * - enum: the symbol's index; error and named: the inner data;
 * - record: one entry a field, `undefined` for an optional field that is absent;
 * - array, set: the elements (sets in canonical order); map: [key, value] pairs (in canonical order);
 * - union: the member value with its type.
 */
import { newBytes } from './short-arrays.ts';
import { textToBytes } from './texts/codec.ts';
import { charge, checkStopAt, checked } from './stop.ts';
import {
  type Type,
  types,
  unionOfDistinct,
  arrayType,
  setType,
  mapType,
  recordType,
  errorType,
  primitiveIds,
} from './type.ts';

/** The data of a value of any type, as listed above; they mean nothing without the type. */
export type Data =
  | number
  | bigint
  | boolean
  | string
  | null
  | Uint8Array
  | Type
  | Value
  | readonly (Data | undefined)[]
  | readonly (readonly [Data, Data])[];
/** A type and data of that type. */
export interface Value {
  readonly type: Type;
  readonly data: Data;
}

// The data of a value by the kind of its type, for code that has looked at the type. Data of another kind is a fault of
// the program, not of who asks: it is a TypeError here, before it is an answer.

/** Of a string. */
export const stringData = (data: Data | undefined): string => {
  if (typeof data !== 'string') throw mismatch('string', data);
  return data;
};
/** Of a float, the symbol of an enum, or an integer that is known to be a safe one. */
export const numberData = (data: Data | undefined): number => {
  if (typeof data !== 'number') throw mismatch('number', data);
  return data;
};
/** Of an integer beyond 2^53 - 1. */
export const bigintData = (data: Data | undefined): bigint => {
  if (typeof data !== 'bigint') throw mismatch('bigint', data);
  return data;
};
/** Of an integer, a duration, a time or a float. */
export const numericData = (data: Data | undefined): number | bigint => {
  if (typeof data !== 'number' && typeof data !== 'bigint') throw mismatch('number', data);
  return data;
};
/** Of a bool. */
export const boolData = (data: Data | undefined): boolean => {
  if (typeof data !== 'boolean') throw mismatch('bool', data);
  return data;
};
/** Of bytes, an ip or a net. */
export const bytesData = (data: Data | undefined): Uint8Array => {
  if (!(data instanceof Uint8Array)) throw mismatch('bytes', data);
  return data;
};
/** The elements of an array or a set. */
export const itemsData = (data: Data | undefined): readonly Data[] => {
  if (!Array.isArray(data)) throw mismatch('list', data);
  return data;
};
/** One entry a field of a record; undefined: an optional field that is absent. */
export const fieldsData = (data: Data | undefined): readonly (Data | undefined)[] => {
  if (!Array.isArray(data)) throw mismatch('record', data);
  return data;
};
/** Keys with their values, of a map. */
export const entriesData = (data: Data | undefined): readonly (readonly [Data, Data])[] => {
  if (!Array.isArray(data)) throw mismatch('map', data);
  return data;
};
/** The member of a union, with its type. */
export const memberData = (data: Data | undefined): Value => {
  if (typeof data !== 'object' || data === null || !('data' in data)) throw mismatch('member of a union', data);
  return data;
};
/** Of a type that is a value. */
export const typeData = (data: Data | undefined): Type => {
  if (typeof data !== 'object' || data === null || !('kind' in data)) throw mismatch('type', data);
  return data;
};

const mismatch = (wanted: string, data: Data | undefined): TypeError =>
  new TypeError(`data of a value: ${Array.isArray(data) ? 'a list' : typeof data}, wanted that of a ${wanted}`);

/** The canonical data of an integer: number if it is safe, bigint beyond. */
export const integer = (x: bigint | number): number | bigint => {
  if (typeof x === 'number') return Number.isSafeInteger(x) ? (x === 0 ? 0 : x) : BigInt(x);
  return x >= -9007199254740991n && x <= 9007199254740991n ? Number(x) : x;
};

/** `null`. */
export const nullValue: Value = { type: types.null, data: null };
/** A string. */
export const stringValue = (text: string): Value => ({ type: types.string, data: text });
/** An int64; that it fits is the caller's business. */
export const intValue = (x: bigint | number): Value => ({ type: types.int64, data: integer(x) });
/** A float64. */
export const floatValue = (x: number): Value => ({ type: types.float64, data: x });
/** A bool. */
export const boolValue = (x: boolean): Value => ({ type: types.bool, data: x });
/** The type as a value, `<t>`. */
export const typeValue = (t: Type): Value => ({ type: types.type, data: t });
/** `error(inner)`. */
export const errorValue = (inner: Value): Value => ({ type: errorType(inner.type), data: inner.data });
/** `error("text")`. */
export const textError = (text: string): Value => ({ type: errorType(types.string), data: text });
/** `error({message, on})`. */
export const wrappedError = (message: string, on: Value): Value => ({
  type: errorType(
    recordType([
      { name: 'message', type: types.string },
      { name: 'on', type: on.type },
    ]),
  ),
  data: [message, on.data],
});
/** `error("missing")`: what a field gives that is not there. */
export const missing: Value = textError('missing');
/** `error("quiet")`: what operators leave out. */
export const quiet: Value = textError('quiet');

/** A record of these fields in order, none of them optional. Names are unique: the caller checks. */
export const recordValue = (fields: readonly { readonly name: string; readonly value: Value }[]): Value => ({
  type: recordType(fields.map((f) => ({ name: f.name, type: f.value.type }))),
  data: fields.map((f) => f.value.data),
});

/** Puts element values under one element type: bare data if all have one type, union data otherwise. */
const elements = (items: readonly Value[]): { readonly type: Type; readonly data: Data[] } => {
  const type = unionOfDistinct(items.map((v) => v.type));
  const mixed = type.kind === 'union' && items.some((v) => v.type !== type);
  return { type, data: items.map((v) => (mixed ? unionData(v) : v.data)) };
};
const unionData = (v: Value): Data => v;

/** An array value; the element type is inferred as in model.md section 5. */
export const arrayValue = (items: readonly Value[]): Value => {
  const { type, data } = elements(items);
  return { type: arrayType(type), data };
};
/** A set value in canonical form: sorted by encoded bytes, duplicates removed. */
export const setValue = (items: readonly Value[]): Value => {
  const { type, data } = elements(items);
  return { type: setType(type), data: canonicalSet(type, data) };
};
/** A map value in canonical form; of equal keys the first stays. */
export const mapValue = (entries: readonly (readonly [Value, Value])[]): Value => {
  const keys = elements(entries.map((e) => e[0]));
  const values = elements(entries.map((e) => e[1]));
  return {
    type: mapType(keys.type, values.type),
    data: canonicalMap(
      keys.type,
      keys.data.map((k, i) => [k, values.data[i]!] as const),
    ),
  };
};

/** Bytes of a place in the order beside the encoded key: its end, its rank and the room that their sort takes. */
const placeBytes = 16;
/** The first of each encoding among `count`, in the order of the encodings' bytes, which `write` writes. */
const firstOfEach = (count: number, write: (out: ByteWriter, i: number) => void, what: string): Uint32Array => {
  charge(count * placeBytes, what);
  const out = new ByteWriter();
  const offsets = new Uint32Array(count + 1);
  const order = new Uint32Array(count);
  for (let i = 0; i < count; i++) {
    checkStopAt(i);
    write(out, i);
    offsets[i + 1] = out.length;
    order[i] = i;
  }
  const { bytes } = out;
  order.sort(checked((a, b) => compareRuns(bytes, offsets, a, b) || a - b));
  return order.filter((at, i) => i === 0 || compareRuns(bytes, offsets, order[i - 1]!, at) !== 0);
};
/** Sorts elements by their encoding and drops duplicates (model.md section 5). */
export const canonicalSet = (element: Type, data: readonly Data[]): Data[] =>
  Array.from(
    firstOfEach(data.length, (out, i) => writeTagged(out, element, data[i]!), 'a set'),
    (at) => data[at]!,
  );
/** Sorts entries by their encoded keys; of equal keys the first stays. */
export const canonicalMap = (key: Type, entries: readonly (readonly [Data, Data])[]): (readonly [Data, Data])[] =>
  Array.from(
    firstOfEach(entries.length, (out, i) => writeTagged(out, key, entries[i]![0]), 'a map'),
    (at) => entries[at]!,
  );

/** The value in a union, with its name if it has one. */
export const underUnion = (v: Value): Value => (v.type.kind === 'union' ? memberData(v.data) : v);
/** The same through unions within unions, as lists of several nullable types have them. */
export const underUnions = (v: Value): Value => {
  let under = v;
  while (under.type.kind === 'union') under = memberData(under.data);
  return under;
};
/** Removes names and unions: the value that operators and most functions act on. */
export const underValue = (v: Value): Value => {
  let { type, data } = v;
  for (;;) {
    if (type.kind === 'named') type = type.inner;
    else if (type.kind === 'union') ({ type, data } = memberData(data));
    else return { type, data };
  }
};

/** Whether it is `error("missing")`; one with a name or in a union is not. */
export const isMissing = (v: Value): boolean => v.type === missing.type && v.data === 'missing';

/**
 * A placeholder of that type: zero, empty text, empty containers. Used where a vector needs a row that nobody reads.
 */
export const zeroData = (type: Type): Data => {
  switch (type.kind) {
    case 'primitive':
      return zeroPrimitive(type.name);
    case 'record':
      return type.fields.map((f) => (f.optional ? undefined : zeroData(f.type)));
    case 'array':
    case 'set':
    case 'map':
      return [];
    case 'union':
      return { type: type.members[0]!, data: zeroData(type.members[0]!) };
    case 'enum':
      return 0;
    case 'error':
    case 'named':
      return zeroData(type.inner);
  }
};
const zeroPrimitive = (name: keyof typeof primitiveIds): Data => {
  switch (name) {
    case 'bool':
      return false;
    case 'bytes':
      return new Uint8Array(0);
    case 'string':
      return '';
    case 'ip':
      return new Uint8Array(4);
    case 'net':
      return new Uint8Array(8);
    case 'type':
      return types.null;
    case 'null':
      return null;
    default:
      return 0;
  }
};

/** Byte order, shorter first where one is a prefix of the other. */
export const compareBytes = (a: Uint8Array, b: Uint8Array): number => {
  const n = Math.min(a.length, b.length);
  for (let i = 0; i < n; i++) if (a[i] !== b[i]) return a[i]! - b[i]!;
  return a.length - b.length;
};

/** The same of two runs of one buffer. */
export const compareRuns = (bytes: Uint8Array, offsets: Uint32Array, a: number, b: number): number => {
  const endA = offsets[a + 1]!;
  const endB = offsets[b + 1]!;
  let i = offsets[a]!;
  let k = offsets[b]!;
  for (; i < endA && k < endB; i++, k++) if (bytes[i] !== bytes[k]) return bytes[i]! - bytes[k]!;
  return endA - i - (endB - k);
};

/** Grows as it is written to; the encoders' output buffer. */
export class ByteWriter {
  bytes = new Uint8Array(64);
  length = 0;
  reserve(extra: number): void {
    if (this.length + extra <= this.bytes.length) return;
    const size = Math.max(this.bytes.length * 2, this.length + extra);
    charge(size, 'the encoding of a value');
    const grown = newBytes(size);
    if (this.length > 0) grown.set(this.bytes.subarray(0, this.length));
    this.bytes = grown;
  }
  byte(b: number): void {
    this.reserve(1);
    this.bytes[this.length++] = b;
  }
  raw(b: Uint8Array): void {
    this.run(b, 0, b.length);
  }
  /** Appends source[start, end). */
  run(source: Uint8Array, start: number, end: number): void {
    const size = end - start;
    this.reserve(size);
    // A copy by the engine costs as much as that many steps.
    if (size > loopBytesMax)
      this.bytes.set(start === 0 && end === source.length ? source : source.subarray(start, end), this.length);
    else for (let i = start, to = this.length, { bytes } = this; i < end; i++) bytes[to++] = source[i]!;
    this.length += size;
  }
  /** Appends what another writer has. */
  written(from: ByteWriter): void {
    this.run(from.bytes, 0, from.length);
  }
  /** LEB128: seven bits a byte, low group first. */
  uvarint(n: number): void {
    let rest = n;
    while (rest >= 0x80) {
      this.byte((rest % 0x80) | 0x80);
      rest = Math.floor(rest / 0x80);
    }
    this.byte(rest);
  }
  text(s: string): void {
    if (s.length <= loopBytesMax && this.ascii(s)) return;
    const b = utf8.encode(s);
    this.uvarint(b.length);
    this.raw(b);
  }
  /** Appends a short text if it is ASCII. */
  private ascii(s: string): boolean {
    this.reserve(s.length + 1);
    const { bytes } = this;
    let to = this.length;
    bytes[to++] = s.length;
    for (let i = 0; i < s.length; i++) {
      const c = s.charCodeAt(i);
      if (c >= 0x80) return false;
      bytes[to++] = c;
    }
    this.length = to;
    return true;
  }
  /** Sets the tag at a byte that was left for it: the length of what follows, plus one. A longer tag moves that. */
  tagged(at: number): void {
    const tag = this.length - at;
    if (tag < 0x80) {
      this.bytes[at] = tag;
      return;
    }
    const size = uvarintSize(tag);
    this.reserve(size - 1);
    this.bytes.copyWithin(at + size, at + 1, this.length);
    this.length = at;
    this.uvarint(tag);
    this.length += tag - 1;
  }
  done(): Uint8Array {
    return this.bytes.slice(0, this.length);
  }
}
const utf8 = new TextEncoder();
const loopBytesMax = 32;
/** The bytes of a LEB128 number. */
export const uvarintSize = (n: number): number => {
  let size = 1;
  for (let rest = n; rest >= 0x80; rest = Math.floor(rest / 0x80)) size++;
  return size;
};

/**
 * The tagged body of a value as BSUP writes it (reference/formats/bsup.md section 4). Equal values of one type have
 * equal bytes, so these bytes serve as the canonical order of sets and maps, the sort order of records and nets, and as
 * hash keys.
 */
export const encodeBody = (type: Type, data: Data): Uint8Array => {
  const out = new ByteWriter();
  writeTagged(out, type, data);
  return out.done();
};

/** The body without the tag of the whole: the order of records, maps, enums, errors and nets (model.md section 7.2). */
export const encodeUntagged = (type: Type, data: Data): Uint8Array => {
  const out = new ByteWriter();
  writeBody(out, type, data);
  return out.done();
};

/** `encodeBody`, appended to `out`. */
export const writeTagged = (out: ByteWriter, type: Type, data: Data): void => {
  if (type === types.null) return out.byte(0);
  const tag = out.length;
  out.byte(0);
  writeBody(out, type, data);
  out.tagged(tag);
};

/** The untagged body of a value, appended to `out`. */
export const writeBody = (out: ByteWriter, type: Type, data: Data): void => {
  switch (type.kind) {
    case 'primitive':
      return writePrimitive(out, type.name, data);
    case 'enum':
      return writeUnsigned(out, BigInt(numericData(data)));
    case 'error':
    case 'named':
      return writeBody(out, type.inner, data);
    case 'array':
    case 'set':
      itemsData(data).forEach((d, i) => {
        checkStopAt(i);
        writeTagged(out, type.element, d);
      });
      return;
    case 'map':
      for (const [k, v] of entriesData(data)) {
        writeTagged(out, type.key, k);
        writeTagged(out, type.value, v);
      }
      return;
    case 'union': {
      const member = memberData(data);
      const index = type.members.indexOf(member.type);
      writeTagged(out, types.uint64, index);
      return writeTagged(out, member.type, member.data);
    }
    case 'record':
      return writeRecord(out, type.fields, fieldsData(data));
  }
};

const writeRecord = (
  out: ByteWriter,
  fields: readonly { readonly type: Type; readonly optional: boolean }[],
  data: readonly (Data | undefined)[],
): void => {
  const optionals = fields.reduce((n, f) => n + (f.optional ? 1 : 0), 0);
  if (optionals > 0) {
    const bits = new Uint8Array((optionals + 7) >> 3);
    let at = 0;
    fields.forEach((f, i) => {
      if (!f.optional) return;
      if (data[i] === undefined) bits[at >> 3]! |= 1 << (at & 7);
      at++;
    });
    out.uvarint(bits.length + 1);
    out.raw(bits);
  }
  fields.forEach((f, i) => {
    const d = data[i];
    if (d !== undefined) writeTagged(out, f.type, d);
  });
};

const scratch = new DataView(new ArrayBuffer(8));
const scratchBytes = new Uint8Array(scratch.buffer);

const writePrimitive = (out: ByteWriter, name: keyof typeof primitiveIds, data: Data): void => {
  switch (name) {
    case 'uint8':
    case 'uint16':
    case 'uint32':
    case 'uint64':
      return writeUnsigned(out, BigInt.asUintN(64, BigInt(numericData(data))));
    case 'int8':
    case 'int16':
    case 'int32':
    case 'int64':
    case 'duration':
    case 'time':
      return writeSigned(out, BigInt(numericData(data)));
    case 'float16':
      scratch.setUint16(0, float16Bits(numberData(data)), true);
      return out.raw(scratchBytes.subarray(0, 2));
    case 'float32':
      scratch.setFloat32(0, numberData(data), true);
      return out.raw(scratchBytes.subarray(0, 4));
    case 'float64':
      // The reference's NaN has its lowest bit set, and the bytes decide the order in sets.
      if (Number.isNaN(data)) scratch.setBigUint64(0, 0x7ff8_0000_0000_0001n, true);
      else scratch.setFloat64(0, numberData(data), true);
      return out.raw(scratchBytes.subarray(0, 8));
    case 'bool':
      return out.byte(data ? 1 : 0);
    case 'string':
      return out.raw(textToBytes(stringData(data)));
    case 'bytes':
    case 'ip':
    case 'net':
      return out.raw(bytesData(data));
    case 'type':
      return writeTypeValue(out, typeData(data), new Set());
    case 'null':
      return;
  }
};

const writeUnsigned = (out: ByteWriter, x: bigint): void => {
  for (let rest = x; rest > 0n; rest >>= 8n) out.byte(Number(rest & 0xffn));
};
/** `abs << 1 | sign`, least bytes; the least int64 is the single byte 1 (bsup.md section 4). */
const writeSigned = (out: ByteWriter, x: bigint): void => {
  if (x === -(1n << 63n)) return out.byte(1);
  writeUnsigned(out, x < 0n ? (-x << 1n) | 1n : x << 1n);
};

/** The bytes of a value of type `type` (bsup.md section 6). */
export const writeTypeValue = (out: ByteWriter, type: Type, defined: Set<Type>): void => {
  switch (type.kind) {
    case 'primitive':
      return out.byte(type.id);
    case 'record': {
      out.byte(30);
      out.uvarint(type.fields.length);
      const bits = new Uint8Array((type.fields.length + 7) >> 3);
      type.fields.forEach((f, i) => {
        if (f.optional) bits[i >> 3]! |= 1 << (i & 7);
      });
      out.raw(bits);
      for (const f of type.fields) {
        out.text(f.name);
        writeTypeValue(out, f.type, defined);
      }
      return;
    }
    case 'array':
      out.byte(31);
      return writeTypeValue(out, type.element, defined);
    case 'set':
      out.byte(32);
      return writeTypeValue(out, type.element, defined);
    case 'map':
      out.byte(33);
      writeTypeValue(out, type.key, defined);
      return writeTypeValue(out, type.value, defined);
    case 'union':
      out.byte(34);
      out.uvarint(type.members.length);
      for (const m of type.members) writeTypeValue(out, m, defined);
      return;
    case 'enum':
      out.byte(35);
      out.uvarint(type.symbols.length);
      for (const s of type.symbols) out.text(s);
      return;
    case 'error':
      out.byte(36);
      return writeTypeValue(out, type.inner, defined);
    case 'named':
      out.byte(defined.has(type) ? 38 : 37);
      out.text(type.name);
      if (!defined.has(type)) {
        writeTypeValue(out, type.inner, defined);
        defined.add(type);
      }
      return;
  }
};

/** IEEE 754 half precision bits of `x`, rounded to nearest even. */
export const float16Bits = (x: number): number => {
  scratch.setFloat64(0, x, true);
  const sign = (scratch.getUint8(7) & 0x80) << 8;
  if (Number.isNaN(x)) return 0x7e00;
  const a = Math.abs(x);
  if (a >= 65520) return sign | 0x7c00;
  if (a < 2 ** -14) return sign | roundEven(a * 2 ** 24);
  const exponent =
    Math.floor(Math.log2(a)) +
    (a < 2 ** Math.floor(Math.log2(a)) ? -1 : a >= 2 ** (Math.floor(Math.log2(a)) + 1) ? 1 : 0);
  const mantissa = roundEven((a / 2 ** exponent - 1) * 1024);
  return sign | (((exponent + 15) << 10) + mantissa);
};
/** The number of half precision bits. */
export const float16Number = (bits: number): number => {
  const sign = bits & 0x8000 ? -1 : 1;
  const exponent = (bits >> 10) & 0x1f;
  const mantissa = bits & 0x3ff;
  if (exponent === 0x1f) return mantissa ? NaN : sign * Infinity;
  return exponent === 0 ? sign * mantissa * 2 ** -24 : sign * (1 + mantissa / 1024) * 2 ** (exponent - 15);
};
const roundEven = (x: number): number => {
  const down = Math.floor(x);
  const rest = x - down;
  return rest > 0.5 || (rest === 0.5 && down % 2 === 1) ? down + 1 : down;
};
/** Rounds to half precision. */
export const toFloat16 = (x: number): number => float16Number(float16Bits(x));
