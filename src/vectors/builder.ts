/**
 * Builders: rows in, one vector out. Readers append values as they meet them; rows of unlike types end in a dynamic
 * vector.
 *
 * Invariants:
 * - Storage is typed arrays that double; nothing is kept per row as an object.
 * - Records of one shape (field names with optional flags) share a RecordBuilder; a field that changes type becomes
 *   dynamic by itself.
 * - A builder can be finished once. What it lends out holds until the loan ends; then it begins again with the same
 *   storage.
 */
import { type BytesBuilder, EnumBuilder, type NumberBuilder, type Part, newLeaf } from './builder-leaves.ts';
import { Uint32List, Uint8List } from './lists.ts';
import { charge, checkStopAt } from './stop.ts';
import {
  type ArrayType,
  type MapType,
  type NamedType,
  type PrimitiveType,
  type SetType,
  type Type,
  type UnionType,
  memberOf,
  types,
} from './type.ts';
import { type Data, type Value, zeroData, entriesData, fieldsData, itemsData, memberData } from './value.ts';
import { type Field, type FlatVector, type Vector, emptyVector, noRows } from './vector.ts';

/** What an empty builder takes, about: values of types within types need very many. */
const builderBytes = 1024;
const builders = 'a value of many types';

/** Arrays or sets of one type. A reader appends the elements of a row to `items`, then calls `end()`. */
class ListBuilder implements Part {
  readonly type: ArrayType | SetType;
  readonly offsets = new Uint32List();
  readonly items: Builder;
  constructor(type: ArrayType | SetType) {
    charge(builderBytes, builders);
    this.type = type;
    this.items = new Builder(type.element);
    this.offsets.push(0);
  }
  get length(): number {
    return this.offsets.length - 1;
  }
  append(data: Data): void {
    for (const d of itemsData(data)) {
      checkStopAt(this.items.length);
      this.items.appendData(this.type.element, d);
    }
    this.end();
  }
  end(): void {
    this.offsets.push(this.items.length);
  }
  clear(): void {
    this.offsets.length = 1;
    this.items.clear();
  }
  finish(lent = false): FlatVector {
    return {
      form: 'list',
      type: this.type,
      length: this.length,
      offsets: this.offsets.done(),
      items: this.items.result(lent),
    };
  }
}

class MapBuilder implements Part {
  readonly type: MapType;
  readonly offsets = new Uint32List();
  readonly keys: Builder;
  readonly values: Builder;
  constructor(type: MapType) {
    charge(builderBytes * 2, builders);
    this.type = type;
    this.keys = new Builder(type.key);
    this.values = new Builder(type.value);
    this.offsets.push(0);
  }
  get length(): number {
    return this.offsets.length - 1;
  }
  append(data: Data): void {
    for (const [k, v] of entriesData(data)) {
      this.keys.appendData(this.type.key, k);
      this.values.appendData(this.type.value, v);
    }
    this.offsets.push(this.keys.length);
  }
  clear(): void {
    this.offsets.length = 1;
    this.keys.clear();
    this.values.clear();
  }
  finish(lent = false): FlatVector {
    return {
      form: 'map',
      type: this.type,
      length: this.length,
      offsets: this.offsets.done(),
      keys: this.keys.result(lent),
      values: this.values.result(lent),
    };
  }
}

class UnionBuilder implements Part {
  readonly type: UnionType;
  readonly tags = new Uint32List();
  readonly slots = new Uint32List();
  readonly members: Builder[];
  constructor(type: UnionType) {
    charge(type.members.length * builderBytes, builders);
    this.type = type;
    this.members = type.members.map((m) => new Builder(m));
  }
  get length(): number {
    return this.tags.length;
  }
  append(data: Data): void {
    const value = memberData(data);
    this.begin(memberOf(this.type, value.type)).appendData(value.type, value.data);
  }
  begin(tag: number): Builder {
    const member = this.members[tag]!;
    this.tags.push(tag);
    this.slots.push(member.length);
    return member;
  }
  clear(): void {
    this.tags.length = this.slots.length = 0;
    for (const m of this.members) m.clear();
  }
  finish(lent = false): FlatVector {
    return {
      form: 'union',
      type: this.type,
      length: this.length,
      tags: this.tags.done(),
      slots: this.slots.done(),
      members: this.members.map((m) => m.result(lent)),
    };
  }
}

/** The names and optional flags of a record's fields; records of one shape share a builder. */
export interface Shape {
  readonly key: string;
  readonly names: readonly string[];
  readonly optional: readonly boolean[];
}

/** Tells shapes apart: equal for the same names with the same optional flags, in order. */
export const shapeKey = (fields: readonly { readonly name: string; readonly optional?: boolean }[]): string =>
  fields.map((f) => `${f.optional ? '?' : ','}${f.name.length}:${f.name}`).join('');
/** The shape of these fields. */
export const shapeOf = (fields: readonly { readonly name: string; readonly optional?: boolean }[]): Shape => ({
  key: shapeKey(fields),
  names: fields.map((f) => f.name),
  optional: fields.map((f) => f.optional ?? false),
});

/** Records of one shape. A reader appends one row to each of `fields` (or calls `absent`), then `end()`. */
export class RecordBuilder implements Part {
  readonly shape: Shape;
  readonly fields: readonly Builder[];
  readonly present: readonly (Uint8List | undefined)[];
  length = 0;
  constructor(shape: Shape) {
    charge(shape.names.length * builderBytes, builders);
    this.shape = shape;
    this.fields = shape.names.map(() => new Builder());
    this.present = shape.optional.map((o) => (o ? new Uint8List() : undefined));
  }
  /** Ends the row: optional fields that were not marked absent are present. */
  end(): void {
    this.length++;
    for (const p of this.present) if (p && p.length < this.length) p.push(1);
  }
  /** Marks the optional field `k` of the row in work as absent; `type` is its declared type. */
  absent(k: number, type: Type): void {
    this.present[k]!.push(0);
    this.fields[k]!.appendData(type, zeroData(type));
  }
  appendRecord(fields: readonly { readonly type: Type }[], data: readonly (Data | undefined)[]): void {
    for (let k = 0; k < this.fields.length; k++) {
      const d = data[k];
      if (d === undefined) this.absent(k, fields[k]!.type);
      else this.fields[k]!.appendData(fields[k]!.type, d);
    }
    this.end();
  }
  append(): void {
    throw new Error('records are appended with their type');
  }
  clear(): void {
    this.length = 0;
    for (const f of this.fields) f.clear();
    for (const p of this.present) if (p) p.length = 0;
  }
  finish(lent = false): FlatVector {
    const fields = this.fields.map((f, k): Field => {
      const present = this.present[k]?.done();
      return {
        name: this.shape.names[k]!,
        optional: this.shape.optional[k]!,
        values: f.result(lent),
        ...(present && { present }),
      };
    });
    return { form: 'record', length: this.length, fields };
  }
}

/** error(...) or named values: the inner values are in a builder of their own. */
class WrapBuilder implements Part {
  readonly name: string | undefined;
  readonly inner = new Builder();
  constructor(name: string | undefined) {
    this.name = name;
  }
  get length(): number {
    return this.inner.length;
  }
  append(): void {
    throw new Error('wrapped values are appended with their type');
  }
  clear(): void {
    this.inner.clear();
  }
  finish(lent = false): FlatVector {
    const inner = this.inner.result(lent);
    return this.name === undefined
      ? { form: 'error', length: inner.length, inner }
      : { form: 'named', name: this.name, length: inner.length, inner };
  }
}

let made = 0;
/**
 * Parts that the builders of this thread have ever made: one for each type, or shape, of values at one place. The
 * difference over a piece of work that awaits nothing tells what it made: parts, not rows, are what rows of ever new
 * shapes cost.
 */
export const partsMade = (): number => made;
/** Bytes that a part takes with its builder, about, however few its rows. */
export const partBytes = 700;

/** Builds a vector of values of any types. */
export class Builder {
  private parts: Part[] = [];
  /** Made when there is more than one: a row of very many columns has as many builders, and most see one type. */
  private byType: Map<Type, number> | undefined;
  private byShape: Map<string, number> | undefined;
  private tags: Uint32List | undefined;
  private slots: Uint32List | undefined;
  /** The part of the last row; most rows are like the one before. */
  private lastType: Type | undefined;
  private lastTag = 0;
  private readonly emptyType: Type | undefined;
  length = 0;

  /** `emptyType`: what the vector's type is if nothing is appended (elements of an empty list). */
  constructor(emptyType?: Type) {
    this.emptyType = emptyType;
  }

  append(value: Value): void {
    this.appendData(value.type, value.data);
  }

  /** Appends data of the given type. */
  appendData(type: Type, data: Data): void {
    const tag = this.tagOf(type);
    const part = this.parts[tag]!;
    this.mark(tag, part.length);
    switch (type.kind) {
      case 'record':
        (part as RecordBuilder).appendRecord(type.fields, fieldsData(data));
        return;
      case 'error':
      case 'named':
        (part as WrapBuilder).inner.appendData(type.inner, data);
        return;
      default:
        part.append(data);
    }
  }
  null(): void {
    this.appendData(types.null, null);
  }
  bool(x: boolean): void {
    this.appendData(types.bool, x);
  }
  number(type: PrimitiveType, x: number | bigint): void {
    const tag = this.tagOf(type);
    const part = this.parts[tag] as NumberBuilder;
    this.mark(tag, part.length);
    part.push(x);
  }
  /** Appends a time or duration of whole seconds and nanoseconds (0 to 999,999,999). */
  seconds(type: PrimitiveType, seconds: number, nanos: number): void {
    const tag = this.tagOf(type);
    const part = this.parts[tag] as NumberBuilder;
    this.mark(tag, part.length);
    part.pushSeconds(seconds, nanos);
  }
  /** Appends a number of 64 bits by its words; integers, times and durations that are signed, or uint64. */
  words(type: PrimitiveType, low: number, high: number): void {
    const tag = this.tagOf(type);
    const part = this.parts[tag] as NumberBuilder;
    this.mark(tag, part.length);
    part.pushWords(low, high);
  }
  text(s: string): void {
    const tag = this.tagOf(types.string);
    const part = this.parts[tag] as BytesBuilder;
    this.mark(tag, part.length);
    part.text(s);
  }
  /** Appends a string that comes in pieces. */
  texts(pieces: Iterable<string>): void {
    const tag = this.tagOf(types.string);
    const part = this.parts[tag] as BytesBuilder;
    this.mark(tag, part.length);
    part.texts(pieces);
  }
  /** Appends source[start, end) as a string (valid UTF-8), bytes, ip or net. */
  run(type: PrimitiveType, source: Uint8Array, start: number, end: number): void {
    const tag = this.tagOf(type);
    const part = this.parts[tag] as BytesBuilder;
    this.mark(tag, part.length);
    part.run(source, start, end);
  }
  /** Begins a row that is a record: fill the builder's fields, then call its `end()`. */
  record(shape: Shape): RecordBuilder {
    const tag = this.tagOfShape(shape);
    const part = this.parts[tag] as RecordBuilder;
    this.mark(tag, part.length);
    return part;
  }
  /** What `beginRecord` takes for this shape; worth keeping where rows of a shape are many. */
  recordTag(shape: Shape): number {
    return this.tagOfShape(shape);
  }
  /** Begins a row that is a record, as `record` does. */
  beginRecord(tag: number): RecordBuilder {
    const part = this.parts[tag] as RecordBuilder;
    this.mark(tag, part.length);
    return part;
  }
  /** Begins a row that is an array or set of this type: fill the builder's items, then call its `end()`. */
  list(type: ArrayType | SetType): ListBuilder {
    const tag = this.tagOf(type);
    const part = this.parts[tag] as ListBuilder;
    this.mark(tag, part.length);
    return part;
  }
  /** Begins a row that is an error: append one value to the builder that comes back. */
  error(): Builder {
    const tag = this.tagOfWrap(undefined);
    const part = this.parts[tag] as WrapBuilder;
    this.mark(tag, part.length);
    return part.inner;
  }
  /** Begins a row of this named type: append one value of the type inside to the builder that comes back. */
  named(type: NamedType): Builder {
    const tag = this.tagOf(type);
    const part = this.parts[tag] as WrapBuilder;
    this.mark(tag, part.length);
    return part.inner;
  }
  /** Begins a row of this union: append one value of the type of member `member` to the builder that comes back. */
  union(type: UnionType, member: number): Builder {
    const tag = this.tagOf(type);
    const part = this.parts[tag] as UnionBuilder;
    this.mark(tag, part.length);
    return part.begin(member);
  }

  /**
   * What is in the builder, for the time of the call; the builder is empty afterwards and keeps its storage, its parts
   * and their tags.
   */
  lend<T>(use: (vector: FlatVector) => T): T {
    const given = use(this.result(true));
    this.clear();
    return given;
  }
  clear(): void {
    this.length = 0;
    for (const p of this.parts) p.clear();
    if (this.tags) this.tags.length = this.slots!.length = 0;
  }
  /** What is in the builder, which ends with it unless it is lent. */
  result(lent: boolean): FlatVector {
    if (!lent) return this.finish();
    const { parts, tags, slots } = this;
    if (this.length === 0) return this.emptyType ? emptyVector(this.emptyType) : noRows;
    const live = parts.filter((p) => p.length > 0);
    if (live.length === 1) return live[0]!.finish(true);
    const own = tags!.done();
    if (live.length < parts.length) renumber(own, parts);
    return {
      form: 'dynamic',
      length: this.length,
      tags: own,
      slots: slots!.done(),
      parts: live.map((p) => p.finish(true)),
    };
  }

  finish(): FlatVector {
    // What was built up goes as what is built comes: with very many columns both at once would count.
    const { parts, tags, slots } = this;
    this.parts = [];
    this.tags = this.slots = this.byType = this.byShape = this.lastType = undefined;
    if (parts.length === 0) return this.emptyType ? emptyVector(this.emptyType) : noRows;
    if (parts.length === 1) return parts[0]!.finish();
    return {
      form: 'dynamic',
      length: this.length,
      tags: tags!.done(),
      slots: slots!.done(),
      parts: parts.map((p) => p.finish()),
    };
  }

  private mark(tag: number, slot: number): void {
    if (this.tags) {
      this.tags.push(tag);
      this.slots!.push(slot);
    } else if (tag !== 0) this.startTags(tag, slot);
    this.length++;
  }
  /** Until a second part appears there are no tags; all rows so far are of part 0, in order. */
  private startTags(tag: number, slot: number): void {
    this.tags = new Uint32List();
    this.slots = new Uint32List();
    for (let i = 0; i < this.length; i++) {
      this.tags.push(0);
      this.slots.push(i);
    }
    this.tags.push(tag);
    this.slots.push(slot);
  }
  private tagOf(type: Type): number {
    if (type === this.lastType) return this.lastTag;
    let tag = this.byType?.get(type);
    if (tag === undefined) {
      tag =
        type.kind === 'record'
          ? this.tagOfShape(shapeOf(type.fields))
          : type.kind === 'error'
            ? this.tagOfWrap(undefined)
            : type.kind === 'named'
              ? this.tagOfWrap(type.name)
              : this.add(newPart(type));
      if (this.lastType) (this.byType ??= new Map([[this.lastType, this.lastTag]])).set(type, tag);
    }
    this.lastType = type;
    this.lastTag = tag;
    return tag;
  }
  private tagOfShape(shape: Shape): number {
    return this.keyed(`r${shape.key}`, () => new RecordBuilder(shape));
  }
  private tagOfWrap(name: string | undefined): number {
    return this.keyed(name === undefined ? 'e' : `n${name}`, () => new WrapBuilder(name));
  }
  private keyed(key: string, make: () => Part): number {
    let tag = this.byShape?.get(key);
    if (tag === undefined) (this.byShape ??= new Map<string, number>()).set(key, (tag = this.add(make())));
    return tag;
  }
  private add(part: Part): number {
    made++;
    return this.parts.push(part) - 1;
  }
}

/** Tags as if there were no parts but those that have rows. */
const renumber = (tags: Uint32Array, parts: readonly Part[]): void => {
  const tagOf = new Uint32Array(parts.length);
  let next = 0;
  parts.forEach((p, tag) => {
    if (p.length > 0) tagOf[tag] = next++;
  });
  for (let i = 0; i < tags.length; i++) tags[i] = tagOf[tags[i]!]!;
};

const newPart = (type: Exclude<Type, { kind: 'record' | 'error' | 'named' }>): Part => {
  switch (type.kind) {
    case 'array':
    case 'set':
      return new ListBuilder(type);
    case 'map':
      return new MapBuilder(type);
    case 'union':
      return new UnionBuilder(type);
    case 'enum':
      return new EnumBuilder(type);
    case 'primitive':
      return newLeaf(type);
  }
};

/** A vector of these values. */
export const vectorOf = (values: Iterable<Value>): Vector => {
  const builder = new Builder();
  for (const v of values) builder.append(v);
  return builder.finish();
};
/** One value `length` times. */
export const constantOf = (value: Value, length: number): Vector => ({
  form: 'constant',
  length,
  inner: vectorOf([value]),
});
