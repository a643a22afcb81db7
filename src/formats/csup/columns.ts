/**
 * Columns of a CSUP object, read in order, so many rows at a time: what is decoded is what a batch has, not what the
 * object has.
 *
 * Invariants:
 * - Every descriptor is in one place of the tree at most, so the work is bounded by their number.
 * - What a descriptor counts is compared with what its parent asks for; segments lie within the data section; expanded
 *   bytes and items have limits.
 */
import {
  type Type,
  arrayType,
  compareTypes,
  errorType,
  isUnsigned,
  mapType,
  setType,
  types,
} from '../../vectors/type.ts';
import { toFloat16 } from '../../vectors/value.ts';
import { constantOf } from '../../vectors/builder.ts';
import { type Vector, type NumberArray, constant, gather, noRows } from '../../vectors/vector.ts';
import { decodeLz4, lz4ExpansionMax } from '../codings/lz4.ts';
import { emptyOf, zeroOf } from '../placeholders.ts';
import { BytesFault, Cursor, checkedNamed, checkedRecord, checkedUnion, readTypeValue } from '../columns/type-bytes.ts';
import { typeFault } from '../../vectors/type-limits.ts';
import type { Descriptor, FieldDescriptor, Segment } from './descriptors.ts';
import { IntCursor32, IntCursor64, type Span } from './int-blocks.ts';
import type { BsupParts } from './parts.ts';

const malformed = (what: string): BytesFault => new BytesFault(`malformed CSUP object: ${what}`);

/** A column that is read from its start to its end. */
export interface ColumnCursor {
  readonly type: Type;
  /** The next `count` rows. @throws BytesFault when there are fewer */
  readonly next: (count: number) => Vector;
}

/** Most items (of lists, of records below) that one batch unfolds to. */
const batchCellsMax = 32_000_000;
/** What an item takes, about. */
const itemBytes = 16;

/** An object's descriptors by number, its data section, and what reading it may take. */
interface ObjectSource {
  readonly descriptors: readonly Descriptor[];
  readonly data: Uint8Array;
  readonly nestingMax: number;
  /** Most bytes that the segments expand to. */
  readonly expandedBytesMax: number;
  /** Charges bytes that are held as long as the object is read. @throws LakeError format-memory */
  readonly hold: (bytes: number) => void;
  /** Bytes that a batch may take. */
  readonly room: () => number;
  readonly bsup: BsupParts;
}

/**
 * The columns of one object, to be read once: `root` is called one time, since a descriptor that is met again is a
 * fault.
 */
export class ObjectColumns {
  private readonly source: ObjectSource;
  private readonly view: DataView;
  private readonly used: Uint8Array;
  private expanded = 0;
  private cells = 0;

  constructor(source: ObjectSource) {
    this.source = source;
    const { data } = source;
    this.view = new DataView(data.buffer, data.byteOffset, data.byteLength);
    this.used = new Uint8Array(source.descriptors.length);
  }

  /** The object's rows: a column, or several of unlike types. @throws BytesFault */
  root(id: number): Pick<ColumnCursor, 'next'> {
    const d = this.descriptor(id);
    const column = d.kind === 'Dynamic' ? this.dynamic(d) : this.columnOf(d, 1);
    return {
      next: (count) => {
        this.cells = 0;
        return column.next(count);
      },
    };
  }

  private descriptor(id: number): Descriptor {
    const d = this.source.descriptors[id];
    if (!d) throw malformed(`no descriptor ${id}`);
    if (this.used[id] === 1) throw malformed(`descriptor ${id} is used twice`);
    this.used[id] = 1;
    return d;
  }

  private column(id: number, depth: number): ColumnCursor {
    return this.columnOf(this.descriptor(id), depth);
  }

  private columnOf(d: Descriptor, depth: number): ColumnCursor {
    // What is inside of the last level has a column as well.
    if (depth > this.source.nestingMax + 1) throw malformed(`nesting too deep (limit ${this.source.nestingMax})`);
    const column = this.counted(d, this.madeOf(d, depth));
    const fault = typeFault(column.type, this.source.nestingMax);
    if (fault !== undefined) throw malformed(fault);
    return column;
  }

  private madeOf(d: Descriptor, depth: number): ColumnCursor {
    switch (d.kind) {
      case 'Const':
        return { type: d.value.type, next: (count) => constantOf(d.value, count) };
      case 'Int':
        return this.integers(d.type, d.location, true);
      case 'Uint':
        return this.integers(d.type, d.location, false);
      case 'Float':
        return this.floats(d.type, d.location);
      case 'Bytes':
        return this.runs(d.type, d.bytes, d.offsets);
      case 'Primitive':
        return this.bodies(d.type, d.location);
      case 'Dict':
        return this.dictionary(d, depth);
      case 'Record':
        return this.record(d.fields, depth);
      case 'Array':
      case 'Set': {
        const values = this.column(d.values, depth + 1);
        const type = d.kind === 'Set' ? setType(values.type) : arrayType(values.type);
        const lengths = this.lengths(d.lengths);
        return {
          type,
          next: (length) => {
            const offsets = lengths(length);
            return { form: 'list', type, length, offsets, items: values.next(this.items(offsets[length])) };
          },
        };
      }
      case 'Map': {
        const keys = this.column(d.keys, depth + 1);
        const values = this.column(d.values, depth + 1);
        const type = mapType(keys.type, values.type);
        const lengths = this.lengths(d.lengths);
        return {
          type,
          next: (length) => {
            const offsets = lengths(length);
            const items = this.items(offsets[length] * 2) / 2;
            return { form: 'map', type, length, offsets, keys: keys.next(items), values: values.next(items) };
          },
        };
      }
      case 'Union':
        return this.union(
          d.members.map((m) => this.column(m, depth + 1)),
          this.tags(d.tags),
        );
      case 'Named': {
        const inner = this.column(d.values, depth + 1);
        return {
          type: checkedNamed(d.name, inner.type),
          next: (length) => ({ form: 'named', name: d.name, length, inner: inner.next(length) }),
        };
      }
      case 'Error': {
        const inner = this.column(d.values, depth + 1);
        return {
          type: errorType(inner.type),
          next: (length) => ({ form: 'error', length, inner: inner.next(length) }),
        };
      }
      case 'Dynamic':
        throw malformed('Dynamic within a column');
    }
  }

  /** Compares what is read with what the descriptor counts. */
  private counted(d: Descriptor, column: ColumnCursor): ColumnCursor {
    if (d.kind === 'Named' || d.kind === 'Error') return column;
    let left = d.count;
    return {
      type: column.type,
      next: (count) => {
        left -= count;
        if (left < 0) throw malformed(`${d.kind} has fewer than ${d.count - left} values`);
        this.cells += count;
        if (this.cells > batchCellsMax) throw malformed(`a batch of more than ${batchCellsMax} values`);
        return count === 0 ? emptyOf(column.type) : column.next(count);
      },
    };
  }
  private items(count: number): number {
    if (count > batchCellsMax) throw malformed(`a batch of more than ${batchCellsMax} values`);
    this.checkRoom(this.cells * itemBytes);
    return count;
  }

  /** What a batch is made of fits into memory, or the object is too much. */
  private checkRoom(bytes: number): void {
    if (bytes > this.source.room()) this.source.hold(bytes);
  }

  private integers(type: Type, location: Segment, signed: boolean): ColumnCursor {
    if (type.kind !== 'primitive' || !(signed ? signedTypes : unsignedTypes).has(type))
      throw malformed('integers of another type');
    const cursor = new IntCursor64(this.blocks(location), signed);
    return {
      type,
      next: (length) => {
        // A number may be beyond its type: sums of pipes keep the type of what was added.
        const values = numbersOf(cursor.next(length), length, type);
        return { form: 'number', type, length, values };
      },
    };
  }

  private floats(type: Type, location: Segment): ColumnCursor {
    if (type !== types.float64 && type !== types.float32 && type !== types.float16)
      throw malformed('floats of another type');
    const bytes = this.later(location);
    const round = type === types.float32 ? Math.fround : type === types.float16 ? toFloat16 : undefined;
    let at = 0;
    return {
      type,
      next: (length) => {
        const all = bytes();
        const values = new Float64Array(length);
        const end = at + length * 8;
        if (end > all.length) throw malformed('floats end too early');
        new Uint8Array(values.buffer).set(all.subarray(at, end));
        at = end;
        if (round) for (let i = 0; i < length; i++) values[i] = round(values[i]);
        return { form: 'number', type, length, values };
      },
    };
  }

  private runs(type: Type, segment: Segment, offsetSegment: Segment): ColumnCursor {
    if (type !== types.string && type !== types.bytes && type !== types.type) throw malformed('runs of another type');
    const bytes = this.later(segment);
    const lengths = this.lengths(offsetSegment);
    const { nestingMax } = this.source;
    let at = 0;
    return {
      type,
      next: (length) => {
        const offsets = lengths(length);
        const start = at;
        const all = bytes();
        at += offsets[length];
        if (at > all.length) throw malformed('runs end too early');
        // A copy: the object's bytes are not kept longer than it is read.
        this.checkRoom(at - start);
        const own = all.slice(start, at);
        return type === types.type
          ? typeVector(offsets, own, nestingMax)
          : { form: 'bytes', type, length, offsets, bytes: own };
      },
    };
  }

  private bodies(type: Type, location: Segment): ColumnCursor {
    if (type.kind !== 'primitive' && type.kind !== 'enum') throw malformed('bodies of another type');
    const bytes = this.later(location);
    const { bsup, nestingMax } = this.source;
    let cursor: ReturnType<BsupParts['bodies']> | undefined;
    return { type, next: (count) => (cursor ??= bsup.bodies(type, bytes(), nestingMax)).next(count) };
  }

  private dictionary(d: Extract<Descriptor, { kind: 'Dict' }>, depth: number): ColumnCursor {
    const inner = this.descriptor(d.values);
    const values = this.columnOf(inner, depth + 1);
    const index = this.later(d.index);
    if (!('count' in inner)) throw malformed('Dict of a column without a count');
    const size = inner.count;
    if (size > 256) throw malformed(`Dict of ${size} values`);
    let entries: Vector | undefined;
    let at = 0;
    return {
      type: values.type,
      next: (length) => {
        entries ??= values.next(size);
        const all = index();
        const codes = new Uint32Array(length);
        const start = at;
        at += length;
        if (at > all.length) throw malformed('Dict index ends too early');
        for (let i = 0; i < length; i++)
          if ((codes[i] = all[start + i]) >= size) throw malformed(`Dict index ${codes[i]} of ${size} values`);
        return { form: 'dictionary', length, codes, values: entries };
      },
    };
  }

  private record(fields: readonly FieldDescriptor[], depth: number): ColumnCursor {
    const columns = fields.map((f) => {
      const column = this.column(f.values, depth + 1);
      if (f.nones.length === 0) return { f, column, absent: undefined };
      if (!f.optional) throw malformed(`field ${f.name} is not optional and absent`);
      return { f, column, absent: new AbsentRows(this.blocks(f.nones)) };
    });
    const type = checkedRecord(
      columns.map(({ f, column }) => ({ name: f.name, type: column.type, optional: f.optional })),
    );
    return {
      type,
      next: (length) => ({
        form: 'record',
        length,
        fields: columns.map(({ f: { name, optional }, column, absent }) => {
          if (!optional) return { name, optional, values: column.next(length) };
          const present = absent ? absent.next(length) : new Uint8Array(length).fill(1);
          return { name, optional, present, values: spread(column, present) };
        }),
      }),
    };
  }

  private union(members: readonly ColumnCursor[], tags: (count: number, tagsMax: number) => Uint32Array): ColumnCursor {
    const type = checkedUnion(members.map((m) => m.type));
    if (type.kind !== 'union') throw malformed('Union');
    // Members of the type are in type order, those of the object should be.
    const order = members.map((_, k) => k).sort((a, b) => compareTypes(members[a].type, members[b].type) || a - b);
    const rank = new Uint32Array(order.length);
    order.forEach((k, place) => {
      rank[k] = place;
    });
    return {
      type,
      next: (length) => {
        const own = tags(length, members.length);
        const { slots, counts } = slotsOf(own, members.length);
        const parts = members.map((m, k) => m.next(counts[k]));
        for (let i = 0; i < length; i++) own[i] = rank[own[i]];
        return { form: 'union', type, length, tags: own, slots, members: order.map((k) => parts[k]) };
      },
    };
  }

  private dynamic(d: { readonly members: readonly number[]; readonly tags: Segment }): Pick<ColumnCursor, 'next'> {
    const columns = d.members.map((m) => this.column(m, 1));
    const tags = this.tags(d.tags);
    return {
      next: (length) => {
        const own = tags(length, columns.length);
        const { slots, counts } = slotsOf(own, columns.length);
        const parts: Vector[] = [];
        const rank = new Uint32Array(columns.length);
        columns.forEach((c, k) => {
          if (counts[k] > 0) rank[k] = parts.push(c.next(counts[k])) - 1;
        });
        for (let i = 0; i < length; i++) own[i] = rank[own[i]];
        return parts.length === 0
          ? noRows
          : parts.length === 1
            ? parts[0]
            : { form: 'dynamic', length, tags: own, slots, parts };
      },
    };
  }

  private tags(segment: Segment): (count: number, tagsMax: number) => Uint32Array {
    const cursor = new IntCursor32(this.blocks(segment));
    return (count, tagsMax) => {
      const tags = cursor.next(count);
      for (let i = 0; i < count; i++) if (tags[i] >= tagsMax) throw malformed(`tag ${tags[i]} of ${tagsMax} columns`);
      return tags;
    };
  }

  /** Offsets of the next rows, from 0 on. */
  private lengths(segment: Segment): (count: number) => Uint32Array {
    const cursor = new IntCursor32(this.blocks(segment));
    let last: number | undefined;
    return (count) => {
      last ??= cursor.next(1)[0];
      const offsets = new Uint32Array(count + 1);
      const start = last;
      let before = last;
      cursor.read(offsets, 1, count);
      for (let i = 1; i <= count; i++) {
        const end = offsets[i];
        if (end < before) throw malformed('offsets go back');
        before = end;
        offsets[i] = end - start;
      }
      last = before;
      return offsets;
    };
  }

  private blocks(s: Segment): Span {
    this.check(s.offset, s.memory);
    if (s.compression !== 0) throw malformed('compressed integer blocks');
    return { view: this.view, start: s.offset, end: s.offset + s.memory };
  }
  private check(offset: number, size: number): void {
    if (offset + size > this.source.data.length)
      throw malformed(`segment at ${offset} of ${size} bytes ends behind the data`);
  }

  /** The bytes of a segment, expanded when they are asked for. */
  private later(s: Segment): () => Uint8Array {
    this.check(s.offset, s.length);
    if (s.compression > 1) throw malformed(`compression format ${s.compression}`);
    if (s.compression === 1) {
      this.expanded += s.memory;
      this.source.hold(s.memory);
      if (s.memory > s.length * lz4ExpansionMax || this.expanded > this.source.expandedBytesMax)
        throw malformed(`segment of ${s.memory} bytes`);
    }
    let made: Uint8Array | undefined;
    return () => {
      if (made) return made;
      let bytes = this.source.data.subarray(s.offset, s.offset + s.length);
      if (s.compression === 1) {
        const packed = bytes;
        // Room behind it makes expanding faster.
        const room = new Uint8Array(s.memory + 8);
        if (!decodeLz4(packed, 0, packed.length, room, s.memory)) throw malformed('broken LZ4 block');
        bytes = room.subarray(0, s.memory);
      }
      return (made = bytes);
    };
  }
}

const signedTypes: ReadonlySet<Type> = new Set([
  types.int8,
  types.int16,
  types.int32,
  types.int64,
  types.duration,
  types.time,
]);
const unsignedTypes: ReadonlySet<Type> = new Set([types.uint8, types.uint16, types.uint32, types.uint64]);

/** Words as numbers if all are safe integers. */
const numbersOf = (words: Int32Array, length: number, type: Type): NumberArray => {
  const values = new Float64Array(length);
  const unsigned = isUnsigned(type);
  for (let i = 0; i < length; i++) {
    const low = words[i * 2] >>> 0;
    const high = words[i * 2 + 1];
    if (high >= 0x20_0000 || (unsigned ? high < 0 : high < -0x20_0000 || (high === -0x20_0000 && low === 0))) {
      return type === types.uint64
        ? new BigUint64Array(words.buffer as ArrayBuffer)
        : new BigInt64Array(words.buffer as ArrayBuffer);
    }
    values[i] = high * 4294967296 + low;
  }
  return values;
};

const typeVector = (offsets: Uint32Array, bytes: Uint8Array, nestingMax: number): Vector => {
  const length = offsets.length - 1;
  const codes = new Uint32Array(length);
  const table = new Map<Type, number>();
  for (let i = 0; i < length; i++) {
    const type = readTypeValue(new Cursor(bytes, offsets[i], offsets[i + 1], 'malformed type value'), nestingMax);
    let code = table.get(type);
    if (code === undefined) table.set(type, (code = table.size));
    codes[i] = code;
  }
  return { form: 'type', length, codes, table: [...table.keys()] };
};

/** Where each row is in its part, and how many rows each part has. */
const slotsOf = (tags: Uint32Array, count: number): { readonly slots: Uint32Array; readonly counts: Uint32Array } => {
  const slots = new Uint32Array(tags.length);
  const counts = new Uint32Array(count);
  for (let i = 0; i < tags.length; i++) slots[i] = counts[tags[i]]++;
  return { slots, counts };
};

/** Runs of rows where a field is absent and present, in turn. */
class AbsentRows {
  private readonly runs: IntCursor32;
  private left = 0;
  private there = 1;
  constructor(span: Span) {
    this.runs = new IntCursor32(span);
  }
  next(length: number): Uint8Array {
    const present = new Uint8Array(length);
    for (let at = 0; at < length; ) {
      while (this.left === 0) {
        this.there = 1 - this.there;
        // Behind the last run all are present, as they are where there is no run at all.
        this.left = this.runs.done ? length : this.runs.next(1)[0];
      }
      const run = Math.min(this.left, length - at);
      present.fill(this.there, at, at + run);
      this.left -= run;
      at += run;
    }
    return present;
  }
}

/** The values of an optional field at the rows where it is present; at the others any value lends its type. */
const spread = (column: ColumnCursor, present: Uint8Array): Vector => {
  const { length } = present;
  const index = new Uint32Array(length);
  let count = 0;
  for (let i = 0; i < length; i++) if (present[i] === 1) index[i] = count++;
  const values = column.next(count);
  if (count === length) return values;
  if (count === 0) return constant(zeroOf(column.type), length);
  return values.form === 'number' || values.form === 'bool'
    ? gather(values, index)
    : { form: 'selected', length, index, base: values };
};
