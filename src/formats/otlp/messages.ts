/**
 * Messages of one kind as records: one pass notes where each field of a message lies, then each column gets its value.
 * Nothing is made per message.
 */
import { type Builder, type RecordBuilder, type Shape, shapeOf } from '../../vectors/builder.ts';
import { checkStopAt } from '../../vectors/stop.ts';
import {
  type ArrayType,
  type RecordType,
  type Type,
  arrayType,
  memberOf,
  recordType,
  types,
  unionOfDistinct,
} from '../../vectors/type.ts';
import { BytesFault } from '../columns/type-bytes.ts';
import { type AnyValues, Place } from './any-values.ts';
import type { FieldSpec, Kind, MessageSpec } from './schema.ts';
import { type Wire, otherType, wireType } from './wire.ts';

/** How each kind lies in the bytes. */
export const wireOf: Readonly<Record<Kind, number>> = {
  time: wireType.fixed64,
  text: wireType.bytes,
  id: wireType.bytes,
  bytes: wireType.bytes,
  bool: wireType.varint,
  int32: wireType.varint,
  uint32: wireType.varint,
  sint32: wireType.varint,
  int64: wireType.varint,
  uint64: wireType.varint,
  enum: wireType.varint,
  fixed32: wireType.fixed32,
  fixed64: wireType.fixed64,
  sfixed64: wireType.fixed64,
  double: wireType.fixed64,
  any: wireType.bytes,
  attributes: wireType.bytes,
  message: wireType.bytes,
  messages: wireType.bytes,
  fixed64s: wireType.fixed64,
  uint64s: wireType.varint,
  doubles: wireType.fixed64,
};
/** Repeated numbers may come packed: one after the other in one field. */
const packable: ReadonlySet<Kind> = new Set(['fixed64s', 'uint64s', 'doubles']);
/** Kinds that a message may have many of: all places are noted. */
const repeated: ReadonlySet<Kind> = new Set(['attributes', 'messages', ...packable]);

const int64s = arrayType(types.uint64);
const float64s = arrayType(types.float64);

/** A field that is a column, and what was noted of it in the message at hand. */
class Slot {
  readonly spec: FieldSpec;
  /** Of a message within the message. */
  readonly inner: Messages | undefined;
  /** Where its attributes are in the tree of keys. */
  readonly place: Place;
  /** What stands in where it says nothing. */
  otherwise: Slot | undefined;
  /** The number of the field that came; 0: none did. */
  which = 0;
  /** Words of a number, or where what is longer begins and ends. */
  low = 0;
  high = 0;
  /** Starts and ends of what is repeated, or of the pieces of a message that came in several. */
  places = noPlaces;
  count = 0;
  constructor(spec: FieldSpec, place: string, inner: Messages | undefined) {
    this.spec = spec;
    this.inner = inner;
    this.place = new Place(place);
  }

  add(start: number, end: number): void {
    if (this.count + 2 > this.places.length) {
      const more = new Int32Array(Math.max(16, this.places.length * 2));
      more.set(this.places);
      this.places = more;
    }
    this.places[this.count++] = start;
    this.places[this.count++] = end;
  }
  /** Starts and ends that were noted in a message of very many are not kept. */
  clear(): void {
    this.which = this.count = 0;
    if (this.places.length > placesKeptMax) this.places = noPlaces;
  }
}
const noPlaces = new Int32Array(0);
const placesKeptMax = 1 << 16;

/** Reads messages of one kind. */
export class Messages {
  readonly spec: MessageSpec;
  readonly shape: Shape;
  private readonly wire: Wire;
  private readonly values: AnyValues;
  private readonly slots: readonly Slot[];
  /** By the tags that they may have. */
  private readonly byTag: (Slot | undefined)[] = [];
  /** Numbers that the table knows. */
  private readonly numbers: boolean[] = [];
  private builder: Builder | undefined;
  private tag = 0;

  constructor(wire: Wire, values: AnyValues, spec: MessageSpec, path: string = spec.name) {
    this.wire = wire;
    this.values = values;
    this.spec = spec;
    const columns = spec.fields.filter((field) => field.name !== undefined);
    this.shape = shapeOf(columns.map(({ name }) => ({ name: name! })));
    this.slots = columns.map(
      (field) =>
        new Slot(
          field,
          `${path}.${field.name}`,
          field.message && new Messages(wire, values, field.message, `${path}.${field.name}`),
        ),
    );
    for (const slot of this.slots) {
      slot.otherwise = this.slots.find(({ spec: { number } }) => number === slot.spec.otherwise);
      for (const { number, kind } of slot.spec.or ? [slot.spec, slot.spec.or] : [slot.spec]) {
        this.numbers[number] = true;
        this.byTag[number * 8 + wireOf[kind]] = slot;
        if (packable.has(kind)) this.byTag[number * 8 + wireType.bytes] = slot;
      }
    }
  }

  /** Appends the message there as a record. */
  write(builder: Builder, start: number, end: number): void {
    this.scan(start, end);
    this.writeScanned(this.begin(builder));
  }
  private begin(builder: Builder): RecordBuilder {
    if (this.builder !== builder) {
      this.builder = builder;
      this.tag = builder.recordTag(this.shape);
    }
    return builder.beginRecord(this.tag);
  }

  /** Notes where its fields are. */
  private scan(start: number, end: number): void {
    const { wire, byTag } = this;
    for (const slot of this.slots) slot.clear();
    wire.at = start;
    while (wire.at < end) {
      const tag = wire.tag(end);
      const slot = byTag[tag];
      if (slot) this.note(slot, tag, end);
      else if (this.numbers[tag >>> 3]) throw otherType(tag, this.spec.name);
      else wire.skip(tag, end);
    }
  }
  private note(slot: Slot, tag: number, end: number): void {
    const { wire } = this;
    const { kind } = slot.spec;
    const isAgain = slot.which !== 0;
    slot.which = tag >>> 3;
    if ((tag & 7) === wireType.bytes) {
      const to = wire.length(end);
      if (repeated.has(kind)) slot.add(wire.at, to);
      else if (isAgain && (kind === 'message' || kind === 'any')) {
        if (slot.count === 0) slot.add(slot.low, slot.high);
        slot.add(wire.at, to);
      }
      slot.low = wire.at;
      slot.high = wire.at = to;
      if (packable.has(kind) && kind !== 'uint64s' && ((slot.high - slot.low) & 7) !== 0)
        throw new BytesFault(`field ${tag >>> 3} of ${this.spec.name}: numbers of 8 bytes in ${slot.high - slot.low}`);
      return;
    }
    const from = wire.at;
    if ((tag & 7) === wireType.varint) wire.varint(end);
    else if ((tag & 7) === wireType.fixed32) wire.fixed32(end);
    else wire.fixed64(end);
    if (packable.has(kind)) return slot.add(from, wire.at);
    slot.low = wire.low;
    slot.high = wire.high;
  }

  private writeScanned(record: RecordBuilder): void {
    const { slots } = this;
    const { fields } = record;
    for (let k = 0; k < slots.length; k++) this.writeSlot(slots[k], fields[k]);
    record.end();
  }
  /** A message that came in pieces is where all of them are. */
  private join(slot: Slot): void {
    if (slot.count === 0) return;
    slot.high = this.wire.join(slot.places, slot.count);
    slot.low = this.wire.at;
    slot.count = 0;
  }
  private writeSlot(slot: Slot, to: Builder): void {
    const { wire, values } = this;
    const { spec } = slot;
    switch (spec.kind) {
      case 'time':
        return this.writeTime(slot, to);
      case 'text':
        if (slot.which !== 0 && slot.low < slot.high) to.run(types.string, wire.bytes, slot.low, slot.high);
        else if (spec.empty === 'zero') to.run(types.string, wire.bytes, 0, 0);
        else to.null();
        return;
      case 'id':
      case 'bytes':
        if (slot.which !== 0 && slot.low < slot.high) to.run(types.bytes, wire.bytes, slot.low, slot.high);
        else to.null();
        return;
      case 'attributes': {
        const from = values.beginRecord();
        for (let i = 0; i < slot.count; i += 2) values.addEntry(slot.places[i], slot.places[i + 1]);
        return values.writeRecord(to, from, values.node(slot.place), 1);
      }
      case 'any':
        this.join(slot);
        if (slot.which === 0) to.null();
        else values.write(to, slot.low, slot.high, values.node(slot.place), 0);
        return;
      case 'message':
        this.join(slot);
        if (slot.which === 0 && spec.empty === 'null') to.null();
        else slot.inner!.write(to, slot.which === 0 ? 0 : slot.low, slot.which === 0 ? 0 : slot.high);
        return;
      case 'messages':
        return this.writeMessages(slot, to);
      case 'fixed64s':
      case 'uint64s':
      case 'doubles':
        return this.writeNumbers(slot, to);
      default:
        this.writeNumber(slot, to);
    }
  }

  /** Beyond the year 2262 it is no time of ours: the number stays what it is. */
  private writeTime(slot: Slot, to: Builder): void {
    const own = slot.otherwise && isZero(slot) ? slot.otherwise : slot;
    if (isZero(own)) to.null();
    else to.words(own.high < 0 ? types.uint64 : types.time, own.low, own.high);
  }

  private writeNumber(slot: Slot, to: Builder): void {
    const { spec, which, low, high } = slot;
    if (which === 0 && spec.empty === 'null') return to.null();
    const { kind } = spec.or?.number === which ? spec.or : spec;
    const word = which === 0 ? 0 : low;
    switch (kind) {
      case 'bool':
        return to.bool(which !== 0 && (low | high) !== 0);
      case 'enum': {
        const symbol = word >= 0 ? spec.symbols?.[word] : undefined;
        return symbol === undefined ? to.number(types.int32, word) : to.text(symbol);
      }
      case 'int32':
        return word === 0 && spec.empty === 'null' ? to.null() : to.number(types.int32, word);
      case 'sint32':
        return to.number(types.int32, (word >>> 1) ^ -(word & 1));
      case 'uint32':
      case 'fixed32':
        return to.number(types.uint32, word >>> 0);
      case 'fixed64':
      case 'uint64':
        return to.words(types.uint64, word, which === 0 ? 0 : high);
      case 'int64':
      case 'sfixed64':
        return to.words(types.int64, word, which === 0 ? 0 : high);
      default:
        words[0] = word;
        words[1] = which === 0 ? 0 : high;
        to.number(types.float64, asDouble[0]);
    }
  }

  private writeNumbers({ spec, places, count }: Slot, to: Builder): void {
    const { wire } = this;
    const list = to.list(spec.kind === 'doubles' ? float64s : int64s);
    const { items } = list;
    for (let i = 0; i < count; i += 2) {
      const end = places[i + 1];
      wire.at = places[i];
      while (wire.at < end) {
        checkStopAt(items.length);
        if (spec.kind === 'doubles') {
          items.number(types.float64, wire.double(wire.at));
          wire.at += 8;
          continue;
        }
        if (spec.kind === 'uint64s') wire.varint(end);
        else wire.fixed64(end);
        items.words(types.uint64, wire.low, wire.high);
      }
    }
    list.end();
  }

  private writeMessages({ inner, places, count }: Slot, to: Builder): void {
    const type = this.listOf(inner!, places, count);
    const { element } = type;
    const list = to.list(type);
    const { items } = list;
    for (let i = 0; i < count; i += 2) {
      checkStopAt(items.length);
      const start = places[i];
      const end = places[i + 1];
      const item =
        element.kind === 'union' ? items.union(element, memberOf(element, inner!.typeOf(start, end))) : items;
      inner!.write(item, start, end);
    }
    list.end();
  }
  private listOf(inner: Messages, places: Int32Array, count: number): ArrayType {
    if (count === 0) return arrayType(types.null);
    const members = new Set<Type>();
    for (let i = 0; i < count; i += 2) {
      checkStopAt(i);
      members.add(inner.typeOf(places[i], places[i + 1]));
    }
    return arrayType(unionOfDistinct(members));
  }

  /** The type of the record that the message there becomes. */
  typeOf(start: number, end: number): RecordType {
    this.scan(start, end);
    return recordType(this.slots.map((slot) => ({ name: slot.spec.name!, type: this.typeOfSlot(slot) })));
  }
  private typeOfSlot(slot: Slot): Type {
    const { spec, which, low, high } = slot;
    const { values } = this;
    switch (spec.kind) {
      case 'time':
        if (isZero(slot)) return types.null;
        return high < 0 ? types.uint64 : types.time;
      case 'text':
        return spec.empty === 'null' && (which === 0 || low === high) ? types.null : types.string;
      case 'id':
      case 'bytes':
        return which === 0 || low === high ? types.null : types.bytes;
      case 'attributes': {
        const from = values.beginRecord();
        for (let i = 0; i < slot.count; i += 2) values.addEntry(slot.places[i], slot.places[i + 1]);
        return values.recordOf(from, 1);
      }
      case 'double':
        if (which === 0 && spec.empty === 'null') return types.null;
        return which === spec.or?.number ? types.int64 : types.float64;
      case 'uint32':
      case 'fixed32':
        return types.uint32;
      default:
        throw new Error(`a list of messages with a field of kind ${spec.kind}`);
    }
  }
}

const isZero = ({ which, low, high }: Slot): boolean => which === 0 || (low === 0 && high === 0);

const asDouble = new Float64Array(1);
const words = new Int32Array(asDouble.buffer);
