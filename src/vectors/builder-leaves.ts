/**
 * Builders of the rows of one type without types inside: numbers, bools, bytes, nulls, types and enums. `newLeaf` has
 * one for each primitive type.
 */
import { writeText } from './texts/codec.ts';
import { Uint32List, Uint8List } from './lists.ts';
import { newFloats, newSigned, newUnsigned } from './short-arrays.ts';
import { charge, checkStop, checkStopAt } from './stop.ts';
import { type EnumType, type PrimitiveType, type Type, primitiveIds } from './type.ts';
import { type Data, numberData, numericData, typeData } from './value.ts';
import type { FlatVector, NumberArray } from './vector.ts';

/** Texts of so many characters are charged one by one. */
const longText = 1 << 16;

/** What a builder holds of the rows of one type. */
export interface Part {
  readonly length: number;
  append(data: Data): void;
  /** `lent`: the builder goes on afterwards, with what is in it or `clear`ed. */
  finish(lent?: boolean): FlatVector;
  clear(): void;
}

/** Numbers of one type: a Float64Array until a value is no safe integer, then 64-bit integers. */
export class NumberBuilder implements Part {
  readonly type: PrimitiveType;
  values: NumberArray = new Float64Array(8);
  length = 0;
  constructor(type: PrimitiveType) {
    this.type = type;
  }
  append(data: Data): void {
    this.push(numericData(data));
  }
  push(x: number | bigint): void {
    if (this.length === this.values.length) this.double();
    if (this.values instanceof Float64Array) {
      if (typeof x === 'number') {
        this.values[this.length++] = x;
        return;
      }
      this.widen();
    }
    (this.values as BigInt64Array)[this.length++] = BigInt(x);
  }
  /** A time or duration of whole seconds and nanoseconds (0 to 999,999,999), which is in 64 bits. */
  pushSeconds(seconds: number, nanos: number): void {
    const x = seconds * 1e9 + nanos;
    if (this.values instanceof Float64Array) {
      if (Number.isSafeInteger(x)) return this.push(x);
      this.widen();
    }
    if (this.length === this.values.length) this.double();
    // Words of 32 bits: a bigint for each value would cost more than all the rest.
    const words = (this.words ??= wordsOf(this.values));
    const high = Math.floor(seconds / 0x10000);
    const small = (seconds - high * 0x10000) * 1e9 + nanos;
    const upper = high * 1e9;
    const carry = Math.floor(upper / 0x10000);
    const low = (upper - carry * 0x10000) * 0x10000 + small;
    words[this.length * 2] = low;
    words[this.length * 2 + 1] = carry + Math.floor(low / 0x1_0000_0000);
    this.length++;
  }
  /** A number of 64 bits by its words, of which only the bits count. */
  pushWords(low: number, high: number): void {
    const upper = this.type.id <= primitiveIds.uint64 ? high >>> 0 : high | 0;
    if (this.values instanceof Float64Array) {
      const x = upper * 0x1_0000_0000 + (low >>> 0);
      if (Number.isSafeInteger(x)) return this.push(x);
      this.widen();
    }
    if (this.length === this.values.length) this.double();
    const words = (this.words ??= wordsOf(this.values));
    words[this.length * 2] = low;
    words[this.length * 2 + 1] = high;
    this.length++;
  }
  private words: Uint32Array | undefined;
  private double(): void {
    this.words = undefined;
    const { values, length } = this;
    charge(length * 2 * values.BYTES_PER_ELEMENT, 'a list of numbers');
    const grown =
      values instanceof Float64Array
        ? newFloats(length * 2)
        : values instanceof BigInt64Array
          ? newSigned(length * 2)
          : newUnsigned(length * 2);
    for (let i = 0; i < length; i++) grown[i] = values[i]!;
    this.values = grown;
  }
  private widen(): void {
    charge(this.values.byteLength, 'a list of numbers');
    const old = this.values;
    const unsigned = this.type.id <= primitiveIds.uint64;
    const wide = unsigned ? newUnsigned(old.length) : newSigned(old.length);
    for (let i = 0; i < this.length; i++) wide[i] = BigInt(old[i]!);
    this.values = wide;
    this.words = undefined;
  }
  clear(): void {
    this.length = 0;
    if (this.values instanceof Float64Array) return;
    this.values = new Float64Array(8);
    this.words = undefined;
  }
  finish(): FlatVector {
    return {
      form: 'number',
      type: this.type,
      length: this.length,
      values: (this.length <= 8
        ? this.values.slice(0, this.length)
        : this.values.subarray(0, this.length)) as NumberArray,
    };
  }
}

const wordsOf = ({ buffer, byteOffset, byteLength }: NumberArray): Uint32Array =>
  new Uint32Array(buffer, byteOffset, byteLength >> 2);

class BoolBuilder implements Part {
  readonly values = new Uint8List();
  get length(): number {
    return this.values.length;
  }
  append(data: Data): void {
    this.values.push(data ? 1 : 0);
  }
  clear(): void {
    this.values.length = 0;
  }
  finish(): FlatVector {
    return { form: 'bool', length: this.length, values: this.values.done() };
  }
}

/** string, bytes, ip or net. */
export class BytesBuilder implements Part {
  readonly type: PrimitiveType;
  readonly offsets = new Uint32List();
  readonly bytes = new Uint8List();
  constructor(type: PrimitiveType) {
    this.type = type;
    this.offsets.push(0);
  }
  get length(): number {
    return this.offsets.length - 1;
  }
  append(data: Data): void {
    if (typeof data === 'string') this.text(data);
    else this.run(data as Uint8Array, 0, (data as Uint8Array).length);
  }
  text(s: string): void {
    checkStopAt(this.offsets.length);
    this.encode(s);
    this.offsets.push(this.bytes.length);
  }
  /** Appends a text that comes in pieces. */
  texts(pieces: Iterable<string>): void {
    for (const piece of pieces) {
      checkStop();
      this.encode(piece);
    }
    this.offsets.push(this.bytes.length);
  }
  private encode(s: string): void {
    if (s.length > longText) this.reserveLong(s);
    else this.bytes.reserve(s.length * 3);
    this.bytes.length += writeText(s, this.bytes.array, this.bytes.length);
  }
  /** Three bytes for each character would be much more than a long text needs, mostly. */
  private reserveLong(s: string): void {
    charge(s.length, 'a string');
    this.bytes.reserve(Buffer.byteLength(s));
  }
  /** Appends source[start, end) as one row. */
  run(source: Uint8Array, start: number, end: number): void {
    this.bytes.append(source, start, end);
    this.offsets.push(this.bytes.length);
  }
  clear(): void {
    this.offsets.length = 1;
    this.bytes.length = 0;
  }
  finish(): FlatVector {
    return {
      form: 'bytes',
      type: this.type,
      length: this.length,
      offsets: this.offsets.done(),
      bytes: this.bytes.done(),
    };
  }
}

class NullBuilder implements Part {
  length = 0;
  append(): void {
    this.length++;
  }
  clear(): void {
    this.length = 0;
  }
  finish(): FlatVector {
    return { form: 'null', length: this.length };
  }
}

class TypeBuilder implements Part {
  readonly codes = new Uint32List();
  readonly table = new Map<Type, number>();
  get length(): number {
    return this.codes.length;
  }
  append(data: Data): void {
    const type = typeData(data);
    let code = this.table.get(type);
    if (code === undefined) this.table.set(type, (code = this.table.size));
    this.codes.push(code);
  }
  clear(): void {
    this.codes.length = 0;
    this.table.clear();
  }
  finish(): FlatVector {
    return { form: 'type', length: this.length, codes: this.codes.done(), table: [...this.table.keys()] };
  }
}

/** Indexes of symbols of one enum type. */
export class EnumBuilder implements Part {
  readonly type: EnumType;
  readonly codes = new Uint32List();
  constructor(type: EnumType) {
    this.type = type;
  }
  get length(): number {
    return this.codes.length;
  }
  append(data: Data): void {
    this.codes.push(numberData(data));
  }
  clear(): void {
    this.codes.length = 0;
  }
  finish(): FlatVector {
    return { form: 'enum', type: this.type, length: this.length, codes: this.codes.done() };
  }
}

/** An empty builder for values of this type. */
export const newLeaf = (type: PrimitiveType): Part => {
  switch (type.name) {
    case 'bool':
      return new BoolBuilder();
    case 'string':
    case 'bytes':
    case 'ip':
    case 'net':
      return new BytesBuilder(type);
    case 'null':
      return new NullBuilder();
    case 'type':
      return new TypeBuilder();
    default:
      return new NumberBuilder(type);
  }
};
