/**
 * Values of any type (`AnyValue`), and lists of keys with values, which become records.
 *
 * - Of a key that comes twice the last value counts; the field stands where the key came first. OTLP leaves that open.
 * - A value without anything in it is null. References into a table of strings (`string_value_strindex`) belong to
 *   profiles alone: the model has them read as absent here.
 * - Strings keep bytes that are no UTF-8, as those of all formats do.
 */
import type { Builder } from '../../vectors/builder.ts';
import { checkStopAt } from '../../vectors/stop.ts';
import { bytesToText, textToBytes } from '../../vectors/texts/codec.ts';
import {
  type ArrayType,
  type RecordType,
  type Type,
  arrayType,
  componentsMax,
  memberOf,
  recordType,
  types,
  unionOfDistinct,
} from '../../vectors/type.ts';
import { type KeyNode, Layouts, beginLayout } from '../columns/key-layouts.ts';
import { BytesFault } from '../columns/type-bytes.ts';
import type { ValueMemory } from '../value-memory.ts';
import { type Envelope, type Wire, wireType } from './wire.ts';

/** Numbers of the fields of an `AnyValue`; 0: it has none. */
const any = { none: 0, text: 1, bool: 2, int: 3, double: 4, array: 5, record: 6, bytes: 7 } as const;
const tagOf = (number: number, type: number): number => number * 8 + type;
const tags = {
  text: tagOf(any.text, wireType.bytes),
  bool: tagOf(any.bool, wireType.varint),
  int: tagOf(any.int, wireType.varint),
  double: tagOf(any.double, wireType.fixed64),
  array: tagOf(any.array, wireType.bytes),
  record: tagOf(any.record, wireType.bytes),
  bytes: tagOf(any.bytes, wireType.bytes),
  /** Of a key and its value, and of what is in a list. */
  key: tagOf(1, wireType.bytes),
  value: tagOf(2, wireType.bytes),
  item: tagOf(1, wireType.bytes),
} as const;

const envelopes = {
  entry: { name: 'KeyValue', known: 2 },
  value: { name: 'AnyValue', known: any.bytes },
  record: { name: 'KeyValueList', known: 1 },
  array: { name: 'ArrayValue', known: 1 },
} as const satisfies Readonly<Record<string, Envelope>>;

/** Places of a key and its value: two starts, two ends. */
const placesEach = 4;
/** What is noted of a list within a list: its type by its place. */
const notedBytes = 100;
/** Entries after which it is looked how much they take. */
const entriesMask = 1023;

/** Where records are in rows, as the tree of keys names it; its node there, and of which tree that is. */
export class Place {
  readonly key: Uint8Array;
  root: KeyNode | undefined;
  node: KeyNode | undefined;
  constructor(name: string) {
    this.key = textToBytes(name);
  }
}

/** Reads values where the wire has them, into builders. One reader has one for all its records. */
export class AnyValues {
  private readonly wire: Wire;
  private readonly layouts = new Layouts();
  private memory: ValueMemory;
  private nestingMax: number;
  /** Keys and values of the records that are in work, those within others behind them. */
  private places = new Int32Array(256);
  private nodes: KeyNode[] = [];
  private entries = 0;
  /** Of what was parsed last. */
  private start = 0;
  private end = 0;
  private keyStart = 0;
  private keyEnd = 0;
  /** Types of lists and records within lists, by their places. */
  private readonly noted = new Map<number, Type>();

  constructor(wire: Wire, { memory, nestingMax }: { readonly memory: ValueMemory; readonly nestingMax: number }) {
    this.wire = wire;
    this.memory = memory;
    this.nestingMax = nestingMax;
  }
  /** Another request, with limits of its own. */
  open({ memory, nestingMax }: { readonly memory: ValueMemory; readonly nestingMax: number }): void {
    this.memory = memory;
    this.nestingMax = nestingMax;
    this.trim();
  }
  /** Bytes that the keys take which it knows, about. */
  get keyBytes(): number {
    return this.layouts.bytes;
  }

  /** Between records. */
  trim(): void {
    this.layouts.trim();
    this.noted.clear();
    this.entries = 0;
  }
  /** Where records begin that are at one place of rows: these are known by their keys. */
  node(place: Place): KeyNode {
    const { layouts } = this;
    const { root } = layouts;
    if (place.root !== root || !place.node) {
      const { key } = place;
      place.root = root;
      place.node = layouts.inner(layouts.follow(root, key, 0, key.length, () => placeName));
    }
    return place.node;
  }

  /** Begins a record: its entries are added one by one. */
  beginRecord(): number {
    return this.entries;
  }
  /** An entry of the record that was begun last: a key and its value. */
  addEntry(start: number, end: number): void {
    const { wire } = this;
    let keyStart = start;
    let keyEnd = start;
    let valueStart = 0;
    let valueEnd = 0;
    let pieces: number[] | undefined;
    wire.at = start;
    while (wire.at < end) {
      const tag = wire.tag(end);
      if (tag === tags.key) {
        keyEnd = wire.length(end);
        keyStart = wire.at;
        wire.at = keyEnd;
      } else if (tag === tags.value) {
        const to = wire.length(end);
        if (valueStart !== 0) (pieces ??= [valueStart, valueEnd]).push(wire.at, to);
        valueStart = wire.at;
        valueEnd = wire.at = to;
      } else wire.skipOther(tag, end, envelopes.entry);
    }
    if (pieces) {
      valueEnd = wire.join(pieces, pieces.length);
      valueStart = wire.at;
    }
    const at = this.entries++ * placesEach;
    if (at + placesEach > this.places.length) this.grow();
    const { places } = this;
    places[at] = keyStart;
    places[at + 1] = keyEnd;
    places[at + 2] = valueStart;
    places[at + 3] = valueEnd;
  }
  private grow(): void {
    const { places } = this;
    if (places.length > 1 << 16) this.memory.hold(places.byteLength * 2);
    this.places = new Int32Array(places.length * 2);
    this.places.set(places);
  }

  /** Writes the record whose entries were added since `from`. */
  writeRecord(builder: Builder, from: number, at: KeyNode, depth: number): void {
    const { layouts, nodes, memory } = this;
    const count = this.entries - from;
    this.checkCount(count);
    let node = at;
    for (let i = 0; i < count; i++) nodes[from + i] = node = this.follow(node, from + i);
    const layout = layouts.layoutOf(node);
    const record = beginLayout(layout, builder);
    const { sources } = layout;
    const { fields } = record;
    memory.holdParts();
    for (let k = 0; k < fields.length; k++) {
      const entry = from + (sources ? sources[k] : k);
      const place = entry * placesEach;
      this.write(fields[k], this.places[place + 2], this.places[place + 3], nodes[entry], depth);
      if ((k & entriesMask) === entriesMask) memory.holdParts();
    }
    record.end();
    this.entries = from;
  }
  private follow(node: KeyNode, entry: number): KeyNode {
    const place = entry * placesEach;
    this.keyStart = this.places[place];
    this.keyEnd = this.places[place + 1];
    return this.layouts.follow(node, this.wire.bytes, this.keyStart, this.keyEnd, this.keyName);
  }
  private readonly keyName = (): { readonly name: string; readonly optional: boolean } => ({
    name: this.name(this.keyStart, this.keyEnd),
    optional: false,
  });
  private name(start: number, end: number): string {
    return bytesToText(this.wire.bytes.subarray(start, end));
  }
  private checkCount(count: number): void {
    if (count > componentsMax) throw new BytesFault(`more than ${componentsMax} attributes of one record`);
  }

  /** Writes the value there. `at`: where records begin that are such values. */
  write(builder: Builder, start: number, end: number, at: KeyNode, depth: number): void {
    const { wire } = this;
    switch (this.parse(start, end)) {
      case any.text:
        builder.run(types.string, wire.bytes, this.start, this.end);
        return;
      case any.bool:
        builder.bool((wire.low | wire.high) !== 0);
        return;
      case any.int:
        builder.words(types.int64, wire.low, wire.high);
        return;
      case any.double:
        builder.number(types.float64, wire.double(this.start));
        return;
      case any.bytes:
        builder.run(types.bytes, wire.bytes, this.start, this.end);
        return;
      case any.array:
        this.writeArray(builder, this.start, this.end, at, depth);
        return;
      case any.record: {
        const from = this.beginRecord();
        this.addEntries(this.start, this.end, depth);
        this.writeRecord(builder, from, this.layouts.inner(at), depth + 1);
        return;
      }
      default:
        builder.null();
    }
  }
  private addEntries(start: number, end: number, depth: number): void {
    const { wire } = this;
    this.checkDepth(depth);
    for (let at = start; at < end; ) {
      checkStopAt(at);
      wire.at = at;
      const tag = wire.tag(end);
      if (tag === tags.item) {
        at = wire.length(end);
        this.addEntry(wire.at, at);
      } else {
        wire.skipOther(tag, end, envelopes.record);
        ({ at } = wire);
      }
    }
  }
  private checkDepth(depth: number): void {
    if (depth >= this.nestingMax) throw new BytesFault(`nesting too deep (limit ${this.nestingMax})`);
  }

  /**
   * Which field counts: the last one, with those of its kind right before it if it is a list or a record. Where it lies
   * is in `start` and `end`, a whole number in the wire's words.
   */
  private parse(start: number, end: number): number {
    const { wire } = this;
    let kind: number = any.none;
    let low = 0;
    let high = 0;
    let pieces: number[] | undefined;
    wire.at = start;
    while (wire.at < end) {
      const tag = wire.tag(end);
      switch (tag) {
        case tags.text:
        case tags.array:
        case tags.record:
        case tags.bytes: {
          const to = wire.length(end);
          if (tag >>> 3 !== kind) pieces = undefined;
          else if (tag === tags.array || tag === tags.record) (pieces ??= [this.start, this.end]).push(wire.at, to);
          this.start = wire.at;
          this.end = wire.at = to;
          kind = tag >>> 3;
          break;
        }
        case tags.bool:
        case tags.int:
          wire.varint(end);
          ({ low, high } = wire);
          kind = tag >>> 3;
          break;
        case tags.double:
          this.start = wire.at;
          wire.fixed64(end);
          kind = any.double;
          break;
        default:
          wire.skipOther(tag, end, envelopes.value);
      }
    }
    if (pieces && (kind === any.array || kind === any.record)) {
      this.end = wire.join(pieces, pieces.length);
      this.start = wire.at;
    }
    wire.low = low;
    wire.high = high;
    return kind;
  }

  private writeArray(builder: Builder, start: number, end: number, at: KeyNode, depth: number): void {
    const { wire, layouts } = this;
    const type = this.arrayOf(start, end, depth);
    const { element } = type;
    const list = builder.list(type);
    const { items } = list;
    const inner = layouts.inner(at);
    for (let next = start; next < end; ) {
      wire.at = next;
      const tag = wire.tag(end);
      if (tag !== tags.item) {
        wire.skipOther(tag, end, envelopes.array);
        next = wire.at;
        continue;
      }
      next = wire.length(end);
      const item = wire.at;
      checkStopAt(items.length);
      const to =
        element.kind === 'union' ? items.union(element, memberOf(element, this.typeOf(item, next, depth + 1))) : items;
      this.write(to, item, next, inner, depth + 1);
    }
    list.end();
  }

  /** The type of the value there. */
  typeOf(start: number, end: number, depth: number): Type {
    switch (this.parse(start, end)) {
      case any.text:
        return types.string;
      case any.bool:
        return types.bool;
      case any.int:
        return types.int64;
      case any.double:
        return types.float64;
      case any.bytes:
        return types.bytes;
      case any.array:
        return this.arrayOf(this.start, this.end, depth);
      case any.record: {
        const { start: from, end: to } = this;
        return this.noting(from, () => {
          const first = this.beginRecord();
          this.addEntries(from, to, depth);
          return this.recordOf(first, depth + 1);
        });
      }
      default:
        return types.null;
    }
  }
  /** The type of the record whose entries were added since `from`. */
  recordOf(from: number, depth: number): RecordType {
    const count = this.entries - from;
    this.checkCount(count);
    const fields = new Map<string, Type>();
    for (let entry = from; entry < from + count; entry++) {
      const place = entry * placesEach;
      const name = this.name(this.places[place], this.places[place + 1]);
      fields.set(name, this.typeOf(this.places[place + 2], this.places[place + 3], depth));
    }
    this.entries = from;
    return recordType(Array.from(fields, ([name, type]) => ({ name, type })));
  }
  private arrayOf(start: number, end: number, depth: number): ArrayType {
    return this.noting(start, () => {
      const { wire } = this;
      const members = new Set<Type>();
      this.checkDepth(depth);
      for (let at = start; at < end; ) {
        checkStopAt(at);
        wire.at = at;
        const tag = wire.tag(end);
        if (tag === tags.item) {
          at = wire.length(end);
          members.add(this.typeOf(wire.at, at, depth + 1));
        } else {
          wire.skipOther(tag, end, envelopes.array);
          ({ at } = wire);
        }
      }
      if (members.size > componentsMax) throw new BytesFault(`more than ${componentsMax} types in one array`);
      return arrayType(members.size === 0 ? types.null : unionOfDistinct(members));
    });
  }
  /** Types within types would be found out again at each level: each is noted by its place. */
  private noting<T extends Type>(start: number, make: () => T): T {
    const known = this.noted.get(start);
    if (known) return known as T;
    const type = make();
    if ((this.noted.size & entriesMask) === entriesMask) this.memory.hold(notedBytes * (entriesMask + 1));
    this.noted.set(start, type);
    return type;
  }
}

const placeName = { name: '', optional: false } as const;
