/**
 * Values of one type (records: of one shape) on their way from bytes to a vector.
 *
 * Invariants:
 * - All parts are of one class, whatever they hold, so that the decoder's loops stay monomorphic; a part uses the arrays that its kind needs.
 * - Arrays are given away by `take` and made anew at the first value after it, as long as the last ones were used.
 */
import { type PrimitiveType, type Type, bitsOf, isSigned, isUnsigned, types } from '../../vectors/type.ts';
import type { FlatVector, NumberArray } from '../../vectors/vector.ts';
import { validText } from '../valid-text.ts';
import type { Column } from './column.ts';

/** What the decoder does with a body. */
export const op = {
  signed: 0, unsigned: 1, float64: 2, float32: 3, float16: 4, run: 5, bool: 6, null: 7,
  ip: 8, net: 9, type: 10, enum: 11, record: 12, list: 13, set: 14, map: 15, union: 16, wrap: 17,
} as const;

export const opOf = (type: Type): number => {
  switch (type.kind) {
    case 'record': return op.record;
    case 'array': return op.list;
    case 'set': return op.set;
    case 'map': return op.map;
    case 'union': return op.union;
    case 'enum': return op.enum;
    case 'error': case 'named': return op.wrap;
    case 'primitive': return primitiveOps[type.name];
  }
};
const primitiveOps = {
  uint8: op.unsigned, uint16: op.unsigned, uint32: op.unsigned, uint64: op.unsigned,
  int8: op.signed, int16: op.signed, int32: op.signed, int64: op.signed, duration: op.signed, time: op.signed,
  float16: op.float16, float32: op.float32, float64: op.float64, bool: op.bool, bytes: op.run, string: op.run, ip: op.ip, net: op.net, type: op.type, null: op.null,
} as const satisfies Record<PrimitiveType['name'], number>;

const noFloats = new Float64Array(0), noWords = new Int32Array(0), noBytes = new Uint8Array(0), noCodes = new Uint32Array(0);
const viewOf = (bytes: Uint8Array): DataView => new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
const noView = viewOf(noBytes);
const leastRows = 16, leastBytes = 64;
/** Runs longer than this go through the engine's copy, which has a price per call. */
const longRun = 160;

export class Part {
  readonly op: number;
  readonly type: Type;
  /** Largest magnitude of an integer; a negative one may be larger by one. */
  readonly magnitudeMax: number;
  length = 0;
  /** Numbers while all are safe integers (or floats), else `words`: pairs of 32 bits, low first. */
  floats = noFloats;
  words = noWords;
  wide = false;
  /** Codes of enums and types, tags of unions, ends of runs and lists. */
  codes = noCodes;
  slots = noCodes;
  /** Bytes of runs, bools. */
  bytes = noBytes;
  view = noView;
  size = 0;
  readonly table = new Map<Type, number>();
  /** Columns of the fields, members, elements, keys and values, or of what is inside an error or a name. */
  readonly columns: Column[] = [];
  /** Flags of the optional fields: 1 where the field is there. */
  present: (Uint8Array | undefined)[] = [];
  private rowsBefore = leastRows;
  private bytesBefore = leastBytes;

  constructor(type: Type) {
    this.type = type;
    this.op = opOf(type);
    const bits = bitsOf(type);
    this.magnitudeMax = bits === 64 || type.kind !== 'primitive' ? Infinity : isSigned(type) ? 2 ** (bits - 1) - 1 : isUnsigned(type) ? 2 ** bits - 1 : Infinity;
  }

  pushNumber(x: number): void {
    if (this.wide) return this.pushWords(x % 4294967296 | 0, Math.floor(x / 4294967296));
    if (this.length === this.floats.length) this.floats = longer(this.floats, new Float64Array(this.roomFor(this.length)));
    this.floats[this.length++] = x;
  }
  /** 64 bits in two's complement. */
  pushWords(low: number, high: number): void {
    if (!this.wide) this.widen();
    const at = this.length++ * 2;
    if (at === this.words.length) this.words = longer(this.words, new Int32Array(this.roomFor(at >> 1) * 2));
    this.words[at] = low;
    this.words[at + 1] = high;
  }
  private widen(): void {
    const words = new Int32Array(Math.max(this.floats.length, this.roomFor(0)) * 2);
    for (let i = 0; i < this.length; i++) {
      const x = this.floats[i], high = Math.floor(x / 4294967296);
      words[i * 2] = x - high * 4294967296;
      words[i * 2 + 1] = high;
    }
    this.words = words;
    this.floats = noFloats;
    this.wide = true;
  }

  /** Appends source[start, end), by words: up to three bytes more are read and written, which the next run overwrites. */
  pushRun(source: DataView, start: number, end: number): void {
    const size = end - start, after = this.size + size;
    if (after + 4 > this.view.byteLength) this.growBytes(after + 4);
    const { view } = this;
    if (size > longRun || end + 4 > source.byteLength) this.bytes.set(new Uint8Array(source.buffer, source.byteOffset + start, size), this.size);
    else for (let from = start, to = this.size; from < end; from += 4, to += 4) view.setInt32(to, source.getInt32(from, true), true);
    this.size = after;
    this.pushCode(after);
  }
  private growBytes(least: number): void {
    this.bytes = longer(this.bytes, new Uint8Array(Math.max(this.size * 2, least, this.bytesBefore)));
    this.view = viewOf(this.bytes);
  }
  pushFlag(x: number): void {
    if (this.length === this.bytes.length) this.bytes = longer(this.bytes, new Uint8Array(this.roomFor(this.length)));
    this.bytes[this.length++] = x;
  }
  pushCode(x: number): void {
    if (this.length === this.codes.length) this.codes = longer(this.codes, new Uint32Array(this.roomFor(this.length)));
    this.codes[this.length++] = x;
  }
  pushType(type: Type): void {
    let code = this.table.get(type);
    if (code === undefined) this.table.set(type, (code = this.table.size));
    this.pushCode(code);
  }
  pushMember(tag: number, slot: number): void {
    if (this.length === this.slots.length) this.slots = longer(this.slots, new Uint32Array(this.roomFor(this.length)));
    this.slots[this.length] = slot;
    this.pushCode(tag);
  }
  /** Whether field `k` of the row in work is there. */
  setPresent(k: number, there: number): void {
    let flags = this.present[k] ?? noBytes;
    if (this.length === flags.length) this.present[k] = flags = longer(flags, new Uint8Array(this.roomFor(this.length)));
    flags[this.length] = there;
  }

  private roomFor(used: number): number { return Math.max(used * 2, this.rowsBefore); }

  /** Forgets the rows from `length` on; what is in the columns is cut by them. */
  cutTo(length: number): void {
    this.length = length;
    if (this.op === op.run || this.op === op.ip || this.op === op.net) this.size = length === 0 ? 0 : this.codes[length - 1];
  }

  /** The vector of all rows so far; the part begins anew. */
  take(): FlatVector {
    const vector = this.vector();
    this.rowsBefore = Math.max(leastRows, this.length);
    this.bytesBefore = Math.max(leastBytes, this.size + 4);
    this.length = 0;
    this.size = 0;
    this.floats = noFloats;
    this.words = noWords;
    this.wide = false;
    this.codes = noCodes;
    this.slots = noCodes;
    this.bytes = noBytes;
    this.view = noView;
    this.table.clear();
    this.present = [];
    return vector;
  }

  private vector(): FlatVector {
    const { type, length } = this;
    switch (type.kind) {
      case 'primitive': return this.primitive(type);
      case 'record':
        return {
          form: 'record', length,
          fields: type.fields.map((f, k) => ({ name: f.name, optional: f.optional, values: this.columns[k].take(), ...(f.optional && { present: this.present[k]!.subarray(0, length) }) })),
        };
      case 'array': case 'set': return { form: 'list', type, length, offsets: this.offsets(), items: this.columns[0].take() };
      case 'map': return { form: 'map', type, length, offsets: this.offsets(), keys: this.columns[0].take(), values: this.columns[1].take() };
      case 'union':
        return { form: 'union', type, length, tags: this.codes.subarray(0, length), slots: this.slots.subarray(0, length), members: this.columns.map((c) => c.take()) };
      case 'enum': return { form: 'enum', type, length, codes: this.codes.subarray(0, length) };
      case 'error': return { form: 'error', length, inner: this.columns[0].take() };
      case 'named': return { form: 'named', name: type.name, length, inner: this.columns[0].take() };
    }
  }

  private primitive(type: PrimitiveType): FlatVector {
    const { length } = this;
    switch (type.name) {
      case 'bool': return { form: 'bool', length, values: this.bytes.subarray(0, length) };
      case 'null': return { form: 'null', length };
      case 'type': return { form: 'type', length, codes: this.codes.subarray(0, length), table: [...this.table.keys()] };
      case 'string': return validText(this.offsets(), this.bytes.subarray(0, this.size));
      case 'bytes': case 'ip': case 'net': return { form: 'bytes', type, length, offsets: this.offsets(), bytes: this.bytes.subarray(0, this.size) };
      default: return { form: 'number', type, length, values: this.wide ? this.wideNumbers() : this.floats.subarray(0, length) };
    }
  }
  private wideNumbers(): NumberArray {
    const { buffer } = this.words;
    return this.type === types.uint64 ? new BigUint64Array(buffer, 0, this.length) : new BigInt64Array(buffer, 0, this.length);
  }
  private offsets(): Uint32Array {
    const offsets = new Uint32Array(this.length + 1);
    offsets.set(this.codes.subarray(0, this.length), 1);
    return offsets;
  }
}

const longer = <A extends { set(from: A): void }>(array: A, grown: A): A => {
  grown.set(array);
  return grown;
};
