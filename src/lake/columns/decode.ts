/**
 * Columns to vectors, in two steps: the directory of a block becomes a tree of columns that know their segments, then
 * the columns that are asked for are read.
 *
 * Invariants:
 * - A segment's bytes are compared with their checksum before anything is made of them.
 * - Numbers of eight bytes and codes of four are views of the bytes that were read; narrower ones are widened.
 */
import { type TimeTexts, rangeOfBounds, timeTexts } from '../../vectors/time-texts.ts';
import { unionOfOne } from '../../vectors/unions.ts';
import { type Type, types } from '../../vectors/type.ts';
import { sizeOf } from '../../vectors/sizes.ts';
import { type Vector, type FlatVector, type Field, type NumberArray, emptyVector } from '../../vectors/vector.ts';
import { type ByteReader } from './byte-reader.ts';
import { type Expansion, isExpansion } from './compression.ts';
import { encodings, numberKinds } from './encode.ts';
import type { Layout } from './layout.ts';
import {
  type Packed,
  type Width,
  countBelow,
  distancesAt,
  unitPowers,
  unpackBits,
  unpackCodes,
  unpackDistances,
  scaleOf,
  unpackOffsets,
  widen64,
  widenUnits,
} from './packing.ts';
import { digitsMax, divide } from './scaled-floats.ts';
import { type BytesBounds, type NumberBounds, readBytesBounds, readWide } from './statistics.ts';

/** `offset` counts from the start of the block; `length` and `check` are of what is stored. */
export interface Segment {
  readonly offset: number;
  readonly length: number;
  readonly check: number;
  /** What is stored is compressed. */
  readonly expansion?: Expansion;
}
export interface Codes {
  readonly base: number;
  readonly width: Width;
  readonly segment?: Segment;
}
type PackedPlan = Omit<Packed, 'bytes'> & { readonly first: number; readonly segment?: Segment };
export interface Flags {
  readonly same?: number;
  readonly segment?: Segment;
}

/** A column of a block as the directory tells it: where its segments are and how they are encoded. */
export type Column =
  | { readonly form: 'empty'; readonly type: Type; readonly rows: number }
  | {
      readonly form: 'number';
      readonly layout: Extract<Layout, { form: 'number' | 'bytes' }>;
      readonly rows: number;
      readonly kind: number;
      readonly bounds?: NumberBounds;
      readonly constant?: number;
      readonly base?: number | bigint;
      readonly packed?: PackedPlan;
      /** Nanoseconds of the units that distances from the base count, as a power of ten. */
      readonly power?: number;
      /** What is packed are the numbers times this power of ten. */
      readonly digits?: number;
      readonly segment?: Segment;
      readonly float32?: boolean;
    }
  | {
      readonly form: 'bytes';
      readonly layout: Extract<Layout, { form: 'number' | 'bytes' }>;
      readonly rows: number;
      readonly bounds?: BytesBounds;
      readonly constant?: Uint8Array;
      readonly dictionary?: number;
      readonly codes?: Codes;
      readonly segment?: Segment;
      readonly times?: { readonly digits: number; readonly base: number };
      readonly packed?: PackedPlan;
      /** Of the column's values (membership.ts); not read with them. */
      readonly filter?: Segment;
      /** Of its bytes (pairs.ts); not read with them. */
      readonly pairs?: Segment;
    }
  | { readonly form: 'bool'; readonly rows: number; readonly flags: Flags }
  | { readonly form: 'null'; readonly rows: number }
  | { readonly form: 'type'; readonly rows: number; readonly table: readonly Type[]; readonly codes: Codes }
  | {
      readonly form: 'enum';
      readonly rows: number;
      readonly layout: Extract<Layout, { form: 'enum' }>;
      readonly codes: Codes;
    }
  | {
      readonly form: 'record';
      readonly rows: number;
      readonly fields: readonly {
        readonly name: string;
        readonly optional: boolean;
        readonly present?: Flags;
        readonly values: Column;
      }[];
    }
  | {
      readonly form: 'list';
      readonly rows: number;
      readonly layout: Extract<Layout, { form: 'list' }>;
      readonly lengths: Codes;
      readonly items: Column;
    }
  | {
      readonly form: 'map';
      readonly rows: number;
      readonly layout: Extract<Layout, { form: 'map' }>;
      readonly lengths: Codes;
      readonly keys: Column;
      readonly values: Column;
    }
  | {
      readonly form: 'union';
      readonly rows: number;
      readonly layout: Extract<Layout, { form: 'union' }>;
      readonly tags: Codes;
      readonly members: readonly Column[];
    }
  | { readonly form: 'dynamic'; readonly rows: number; readonly tags: Codes; readonly parts: readonly Column[] }
  | { readonly form: 'error'; readonly rows: number; readonly inner: Column }
  | { readonly form: 'named'; readonly rows: number; readonly name: string; readonly inner: Column };

type RecordColumn = Extract<Column, { form: 'record' }>;
export type DynamicColumn = Extract<Column, { form: 'dynamic' }>;
/** Where fields of a name were last: blocks have the same ones in the same places, and wide rows have many. */
const places = new Map<string, number>();
const placesMax = 4096;
/** A field of a record's column by its name. */
export const fieldNamed = ({ fields }: RecordColumn, name: string): RecordColumn['fields'][number] | undefined => {
  const known = places.get(name);
  const field = known === undefined ? undefined : fields[known];
  if (field?.name === name) return field;
  const at = fields.findIndex((f) => f.name === name);
  if (at < 0) return undefined;
  if (places.size >= placesMax) places.clear();
  places.set(name, at);
  return fields[at];
};

/** Reads a block's directory. */
export class DirectoryReader {
  private readonly input: ByteReader;
  private readonly typeOf: (number: number) => Type;
  private readonly statistics: boolean;
  private readonly compressed: boolean;
  private at = 0;
  /** `statistics`: it has zone maps; `compressed`: its segments may be compressed. */
  constructor(
    input: ByteReader,
    typeOf: (number: number) => Type,
    { statistics, compressed }: { readonly statistics: boolean; readonly compressed: boolean },
  ) {
    this.input = input;
    this.typeOf = typeOf;
    this.statistics = statistics;
    this.compressed = compressed;
  }

  column(layout: Layout, rows: number): Column {
    switch (layout.form) {
      case 'empty':
        return { form: 'empty', type: layout.type, rows };
      case 'number':
        return this.numbers(layout, rows);
      case 'bytes':
        return this.bytes(layout, rows);
      case 'bool':
        return { form: 'bool', rows, flags: this.flags() };
      case 'null':
        return { form: 'null', rows };
      case 'type':
        return {
          form: 'type',
          rows,
          table: this.input.list(() => this.typeOf(this.input.uvarint())),
          codes: this.codes(),
        };
      case 'enum':
        return { form: 'enum', rows, layout, codes: this.codes() };
      case 'record': {
        const present = layout.fields.map((f) => (f.optional ? this.flags() : undefined));
        return {
          form: 'record',
          rows,
          fields: layout.fields.map((f, k) => ({
            name: f.name,
            optional: f.optional,
            present: present[k],
            values: this.column(f.values, rows),
          })),
        };
      }
      case 'list': {
        const lengths = this.codes();
        return { form: 'list', rows, layout, lengths, items: this.column(layout.items, this.input.uvarint()) };
      }
      case 'map': {
        const lengths = this.codes();
        const items = this.input.uvarint();
        const keys = this.column(layout.keys, items);
        return { form: 'map', rows, layout, lengths, keys, values: this.column(layout.values, items) };
      }
      case 'union': {
        const tags = this.codes();
        return {
          form: 'union',
          rows,
          layout,
          tags,
          members: layout.members.map((m) => this.column(m, this.input.uvarint())),
        };
      }
      case 'dynamic': {
        if (this.input.uvarint() !== layout.parts.length) throw new Error('parts of another number');
        const tags = this.codes();
        return { form: 'dynamic', rows, tags, parts: layout.parts.map((p) => this.column(p, this.input.uvarint())) };
      }
      case 'error':
        return { form: 'error', rows, inner: this.column(layout.inner, rows) };
      case 'named':
        return { form: 'named', rows, name: layout.name, inner: this.column(layout.inner, rows) };
    }
  }

  private segment(): Segment {
    const { input } = this;
    const word = input.uvarint();
    const length = this.compressed ? Math.floor(word / 2) : word;
    const offset = this.at;
    if (length === 0) return { offset, length, check: 0 };
    this.at += (length + 7) & ~7;
    const check = input.uint32();
    if (!this.compressed || word % 2 === 0) return { offset, length, check };
    const expansion = { codec: input.byte(), length: input.uvarint() };
    if (!isExpansion(expansion, length))
      throw new Error(`${length} bytes for ${expansion.length} by codec ${expansion.codec}`);
    return { offset, length, check, expansion };
  }
  private codes(): Codes {
    const base = this.input.uvarint();
    const width = this.width();
    return width === 0 ? { base, width } : { base, width, segment: this.segment() };
  }
  private width(): Width {
    const width = this.input.byte();
    if (width !== 0 && width !== 1 && width !== 2 && width !== 4) throw new Error(`no width ${width}`);
    return width;
  }
  private flags(): Flags {
    return this.input.byte() === encodings.constant ? { same: this.input.byte() } : { segment: this.segment() };
  }

  private numbers(layout: Extract<Layout, { form: 'number' | 'bytes' }>, rows: number): Column {
    const { input } = this;
    const encoding = input.byte();
    const kind = input.byte();
    const bounds = this.statistics ? { min: input.float(), max: input.float() } : undefined;
    // Written out: on Node 20 a spread that adds fields takes ten times as long, and there are thousands.
    switch (encoding) {
      case encodings.plain:
        return { form: 'number', layout, rows, kind, bounds, segment: this.segment() };
      case encodings.constant:
        return { form: 'number', layout, rows, kind, bounds, constant: input.float() };
      case encodings.float32:
        return { form: 'number', layout, rows, kind, bounds, segment: this.segment(), float32: true };
      case encodings.packed: {
        const base = kind === numberKinds.float ? input.float() : readWide(input, kind === numberKinds.unsigned);
        return { form: 'number', layout, rows, kind, bounds, base, packed: this.packed() };
      }
      case encodings.units: {
        const power = input.byte();
        if (!unitPowers.some((p) => p === power)) throw new Error(`no unit of 10^${power}`);
        return {
          form: 'number',
          layout,
          rows,
          kind,
          bounds,
          power,
          base: readWide(input, false),
          packed: this.packed(),
        };
      }
      case encodings.scaled: {
        const digits = input.byte();
        if (digits > digitsMax) throw new Error(`no scale of ${digits} digits`);
        return { form: 'number', layout, rows, kind, bounds, digits, base: input.float(), packed: this.packed() };
      }
      default:
        throw new Error(`no encoding ${encoding} of numbers`);
    }
  }

  private packed(): PackedPlan {
    const { input } = this;
    const width = this.width();
    const scale = scaleOf(input.byte());
    const delta = input.byte() === 1;
    const first = delta ? input.float() : 0;
    const least = delta ? input.float() : 0;
    return width > 0
      ? { width, scale, delta, first, least, segment: this.segment() }
      : { width, scale, delta, first, least };
  }

  private bytes(layout: Extract<Layout, { form: 'number' | 'bytes' }>, rows: number): Column {
    const { input } = this;
    const encoding = input.byte();
    if (encoding === encodings.constant) return { form: 'bytes', layout, rows, constant: input.raw(input.uvarint()) };
    const bounds = this.statistics ? readBytesBounds(input) : undefined;
    if (encoding === encodings.dictionary)
      return { form: 'bytes', layout, rows, bounds, dictionary: input.uvarint(), codes: this.codes() };
    if (encoding === encodings.times) {
      const times = { digits: input.byte(), base: input.float() };
      return { form: 'bytes', layout, rows, bounds, times, packed: this.packed() };
    }
    if (encoding !== encodings.plain && encoding !== encodings.filtered && encoding !== encodings.paired)
      throw new Error(`no encoding ${encoding} of bytes`);
    const codes = this.codes();
    const segment = this.segment();
    const filter = encoding === encodings.plain ? undefined : this.segment();
    const column = { form: 'bytes', layout, rows, bounds, codes, segment } as const;
    return filter
      ? {
          ...column,
          ...(filter.length > 0 && { filter }),
          ...(encoding === encodings.paired && { pairs: this.segment() }),
        }
      : column;
  }
}

/** Fields that are wanted, by name; `true`: with all that is in them. */
export type Projection = Map<string, Projection | true>;

/** A column without the fields that nobody asks for. What is no record stays whole. */
export const projectColumn = (column: Column, wanted: Projection): Column => {
  switch (column.form) {
    case 'record': {
      const fields = [];
      for (const f of column.fields) {
        const inner = wanted.get(f.name);
        if (inner) fields.push(inner === true ? f : { ...f, values: projectColumn(f.values, inner) });
      }
      return { ...column, fields };
    }
    case 'dynamic':
      return { ...column, parts: column.parts.map((p) => projectColumn(p, wanted)) };
    case 'named':
      return { ...column, inner: projectColumn(column.inner, wanted) };
    default:
      return column;
  }
};

/** A column of strings, bytes, ips or nets. */
type BytesColumn = Extract<Column, { form: 'bytes' }>;
/**
 * A record's column with nulls in place of its numbers and of other values that hold no text, and of strings that are
 * not needed.
 */
export const textsAlone = (column: Column, isNeeded: (strings: BytesColumn) => boolean): Column => {
  switch (column.form) {
    case 'record':
      return {
        form: 'record',
        rows: column.rows,
        fields: column.fields.map(({ name, optional, present, values }) => ({
          name,
          optional,
          present,
          values: textsAlone(values, isNeeded),
        })),
      };
    case 'number':
    case 'bool':
    case 'type':
    case 'enum':
      return { form: 'null', rows: column.rows };
    case 'bytes':
      return column.layout.type === types.string && isNeeded(column) ? column : { form: 'null', rows: column.rows };
    case 'dynamic':
      return column.parts.every((p) => textsAlone(p, isNeeded).form === 'null')
        ? { form: 'null', rows: column.rows }
        : column;
    default:
      return column;
  }
};

/** Calls `visit` for the columns of strings that `textsAlone` asks about, in order of their places. */
export const visitStrings = (column: Column, visit: (strings: BytesColumn) => void): void => {
  switch (column.form) {
    case 'record':
      for (const f of column.fields) visitStrings(f.values, visit);
      return;
    case 'bytes':
      if (column.layout.type === types.string) visit(column);
      return;
    case 'dynamic':
      for (const p of column.parts) visitStrings(p, visit);
      return;
    default:
      return;
  }
};

/** `known`: true for a node of the directory that is at hand, decoded; its segments are passed over. */
export interface SegmentVisitor {
  readonly segment: (s: Segment) => void;
  readonly dictionary: (number: number) => void;
  readonly known: (node: object) => boolean;
}
/**
 * Calls `segment` for every segment under the column, in order of their places, and `dictionary` for every dictionary
 * that it names.
 */
export const visitSegments = (column: Column, visit: SegmentVisitor): void => {
  const codes = (c: Codes): void => {
    if (c.segment && !visit.known(c)) visit.segment(c.segment);
  };
  switch (column.form) {
    case 'empty':
    case 'null':
      return;
    case 'number':
      if (column.constant !== undefined || visit.known(column)) return;
      if (column.segment) visit.segment(column.segment);
      if (column.packed?.segment) visit.segment(column.packed.segment);
      return;
    case 'bytes':
      if (column.constant || visit.known(column)) return;
      if (column.codes?.segment) visit.segment(column.codes.segment);
      if (column.segment) visit.segment(column.segment);
      if (column.packed?.segment) visit.segment(column.packed.segment);
      if (column.dictionary !== undefined) visit.dictionary(column.dictionary);
      return;
    case 'bool':
      if (column.flags.segment && !visit.known(column.flags)) visit.segment(column.flags.segment);
      return;
    case 'type':
    case 'enum':
      return codes(column.codes);
    case 'record':
      for (const f of column.fields)
        if (f.present?.segment && !visit.known(f.present)) visit.segment(f.present.segment);
      for (const f of column.fields) visitSegments(f.values, visit);
      return;
    case 'list':
      codes(column.lengths);
      return visitSegments(column.items, visit);
    case 'map':
      codes(column.lengths);
      visitSegments(column.keys, visit);
      return visitSegments(column.values, visit);
    case 'union':
      codes(column.tags);
      for (const m of column.members) visitSegments(m, visit);
      return;
    case 'dynamic':
      visitTags(column, visit);
      for (const p of column.parts) visitSegments(p, visit);
      return;
    case 'error':
    case 'named':
      return visitSegments(column.inner, visit);
  }
};

/** The segment of a mixed column's tags, unless they are known. */
export const visitTags = ({ tags: { segment } }: DynamicColumn, visit: SegmentVisitor): void => {
  if (segment && !visit.known(segment)) visit.segment(segment);
};

/**
 * Where the bytes of a block come from: segments already read and checked, dictionaries already decoded. `decoded`
 * answers with what it keeps of a node of the directory, or makes it and may keep it; `bytes` are what it takes.
 */
export interface SegmentSource {
  readonly bytes: (s: Segment) => Uint8Array;
  readonly dictionary: (number: number) => Vector;
  readonly decoded: <T>(node: object, make: () => T, bytes: (value: T) => number) => T;
}

/** The rows of a column. */
export const decodeColumn = (column: Column, source: SegmentSource): Vector => {
  switch (column.form) {
    case 'empty':
      return emptyVector(column.type);
    case 'number':
      return column.constant === undefined
        ? source.decoded(column, () => decodeNumbers(column, source), sizeOf)
        : decodeNumbers(column, source);
    case 'bytes':
      return column.times
        ? decodeTimes(column, source)
        : column.constant
          ? decodeBytes(column, source)
          : source.decoded(column, () => decodeBytes(column, source), ownBytes);
    case 'bool':
      return column.flags.same === undefined
        ? { form: 'bool', length: column.rows, values: decodeFlags(column.flags, column.rows, source) }
        : {
            form: 'constant',
            length: column.rows,
            inner: { form: 'bool', length: 1, values: Uint8Array.of(column.flags.same) },
          };
    case 'null':
      return { form: 'null', length: column.rows };
    case 'type':
      return {
        form: 'type',
        length: column.rows,
        codes: decodeCodes(column.codes, column.rows, source),
        table: column.table,
      };
    case 'enum':
      return {
        form: 'enum',
        length: column.rows,
        codes: decodeCodes(column.codes, column.rows, source),
        type: column.layout.type,
      };
    case 'record':
      return {
        form: 'record',
        length: column.rows,
        fields: column.fields.map(
          (f): Field => ({
            name: f.name,
            optional: f.optional,
            values: decodeColumn(f.values, source),
            ...(f.present && { present: decodeFlags(f.present, column.rows, source) }),
          }),
        ),
      };
    case 'list':
      return {
        form: 'list',
        type: column.layout.type,
        length: column.rows,
        offsets: decodeOffsets(column.lengths, column.rows, source),
        items: decodeColumn(column.items, source),
      };
    case 'map':
      return {
        form: 'map',
        type: column.layout.type,
        length: column.rows,
        offsets: decodeOffsets(column.lengths, column.rows, source),
        keys: decodeColumn(column.keys, source),
        values: decodeColumn(column.values, source),
      };
    case 'union': {
      const {
        tags: { base, width },
        members,
        rows,
        layout: { type },
      } = column;
      if (width === 0 && members[base]?.rows === rows) {
        const own = members.map((m) => decodeColumn(m, source));
        return unionOfOne(type, base, own[base]!, own);
      }
      const tags = decodeCodes(column.tags, column.rows, source);
      return {
        form: 'union',
        type: column.layout.type,
        length: column.rows,
        tags,
        slots: slotsOf(tags, column.rows, column.members.length),
        members: column.members.map((m) => decodeColumn(m, source)),
      };
    }
    case 'dynamic': {
      const { tags, slots } = decodeTags(column, source);
      return {
        form: 'dynamic',
        length: column.rows,
        tags,
        slots,
        parts: column.parts.map((p) => decodeColumn(p, source)),
      };
    }
    case 'error':
      return { form: 'error', length: column.rows, inner: decodeColumn(column.inner, source) };
    case 'named':
      return { form: 'named', name: column.name, length: column.rows, inner: decodeColumn(column.inner, source) };
  }
};

/** A decoded column that does not hold on to a buffer much larger than itself, as views of what was read at once do. */
export const owned = (value: unknown): unknown => {
  if (value instanceof Uint8Array || value instanceof Uint32Array)
    return value.buffer.byteLength > value.byteLength * 2 ? value.slice() : value;
  const v = value as Partial<Vector>;
  if (v.form === 'bytes' && v.bytes!.buffer.byteLength > v.bytes!.byteLength * 2)
    return { ...v, bytes: v.bytes!.slice() };
  if (v.form === 'number' && v.values!.buffer.byteLength > v.values!.byteLength * 2)
    return { ...v, values: v.values!.slice() };
  return value;
};

/** A dictionary's values are its reader's. */
const ownBytes = (v: Vector): number => (v.form === 'dictionary' ? v.codes.byteLength : sizeOf(v));

/**
 * The part of each row of a mixed column, and its place in it. They are kept by the segment of the tags, which a column
 * has in common with what is projected of it: kept by its parts they were decoded in each scan that wants few fields.
 */
export const decodeTags = (
  { tags: codes, rows, parts }: DynamicColumn,
  source: SegmentSource,
): { readonly tags: Uint32Array; readonly slots: Uint32Array } => {
  const make = (): { readonly tags: Uint32Array; readonly slots: Uint32Array } => {
    const tags = innerCodes(codes, rows, source);
    return { tags, slots: slotsOf(tags, rows, parts.length) };
  };
  return codes.segment ? source.decoded(codes.segment, make, () => rows * 8) : make();
};

/** Each member's rows are stored in row order. */
const slotsOf = (tags: Uint32Array, rows: number, members: number): Uint32Array => {
  const next = new Uint32Array(members);
  const slots = new Uint32Array(rows);
  for (let i = 0; i < rows; i++) {
    const tag = tags[i]!;
    if (tag >= members) throw new Error('tag without a member');
    slots[i] = next[tag]!++;
  }
  return slots;
};

const noBytes = new Uint8Array(0);
const bytesOf = (segment: Segment | undefined, source: SegmentSource, least: number): Uint8Array => {
  const bytes = segment ? source.bytes(segment) : noBytes;
  if (bytes.length < least) throw new Error('segment too short');
  return bytes;
};
const byteLength = (array: { readonly byteLength: number }): number => array.byteLength;
export const decodeCodes = (c: Codes, rows: number, source: SegmentSource): Uint32Array =>
  source.decoded(c, () => unpackCodes(bytesOf(c.segment, source, rows * c.width), c.base, c.width, rows), byteLength);
const decodeOffsets = (c: Codes, rows: number, source: SegmentSource): Uint32Array =>
  source.decoded(c, () => unpackOffsets(bytesOf(c.segment, source, rows * c.width), c.base, c.width, rows), byteLength);
export const decodeFlags = (f: Flags, rows: number, source: SegmentSource): Uint8Array =>
  f.same === undefined
    ? source.decoded(f, () => unpackBits(bytesOf(f.segment, source, (rows + 7) >> 3), rows), byteLength)
    : new Uint8Array(rows).fill(f.same);
/** Codes as they are stored, less their base: what is kept of them is what was read. */
export const codesAsStored = (c: Codes, rows: number, source: SegmentSource): Uint8Array | Uint16Array | Uint32Array =>
  narrow(
    source.decoded(c, () => bytesOf(c.segment, source, rows * c.width), byteLength),
    c.width,
    rows,
  );
/** Numbers of a column that is packed without steps, less its base, divided by its scale. */
export const distancesAsStored = (
  { packed, rows }: Extract<Column, { form: 'number' }>,
  source: SegmentSource,
): Uint8Array | Uint16Array | Uint32Array =>
  narrow(
    source.decoded(packed!, () => bytesOf(packed!.segment, source, rows * packed!.width), byteLength),
    packed!.width,
    rows,
  );
const narrow = (bytes: Uint8Array, width: Width, rows: number): Uint8Array | Uint16Array | Uint32Array => {
  if (width === 0) return new Uint8Array(rows);
  return width === 1
    ? bytes.subarray(0, rows)
    : width === 2
      ? new Uint16Array(bytes.buffer, bytes.byteOffset, rows)
      : new Uint32Array(bytes.buffer, bytes.byteOffset, rows);
};
/** Codes and offsets of a column that is kept as a whole. */
const innerCodes = (c: Codes, rows: number, source: SegmentSource): Uint32Array =>
  unpackCodes(bytesOf(c.segment, source, rows * c.width), c.base, c.width, rows);
const innerOffsets = (c: Codes, rows: number, source: SegmentSource): Uint32Array =>
  unpackOffsets(bytesOf(c.segment, source, rows * c.width), c.base, c.width, rows);

const decodeNumbers = (column: Extract<Column, { form: 'number' }>, source: SegmentSource): Vector => {
  const { rows, kind, layout } = column;
  if (column.constant !== undefined)
    return {
      form: 'constant',
      length: rows,
      inner: { form: 'number', type: layout.type, length: 1, values: Float64Array.of(column.constant) },
    };
  return { form: 'number', type: layout.type, length: rows, values: decodeNumberArray(column, rows, kind, source) };
};
const decodeNumberArray = (
  column: Extract<Column, { form: 'number' }>,
  rows: number,
  kind: number,
  source: SegmentSource,
): NumberArray => {
  if (column.packed) {
    const { packed } = column;
    const bytes = bytesOf(packed.segment, source, rows * packed.width);
    if (kind === numberKinds.float) {
      const numbers = unpackDistances({ ...packed, bytes }, column.base as number, packed.first, rows);
      return column.digits === undefined ? numbers : divide(numbers, column.digits);
    }
    if (column.power !== undefined)
      return widenUnits(
        unpackDistances({ ...packed, bytes }, 0, packed.first, rows),
        column.base as bigint,
        10 ** column.power,
      );
    return widen64(
      unpackDistances({ ...packed, bytes }, 0, packed.first, rows),
      column.base as bigint,
      kind === numberKinds.unsigned,
    );
  }
  if (column.float32) {
    const bytes = bytesOf(column.segment, source, rows * 4);
    return Float64Array.from(new Float32Array(bytes.buffer, bytes.byteOffset, rows));
  }
  const bytes = bytesOf(column.segment, source, rows * 8);
  return kind === numberKinds.float
    ? new Float64Array(bytes.buffer, bytes.byteOffset, rows)
    : kind === numberKinds.signed
      ? new BigInt64Array(bytes.buffer, bytes.byteOffset, rows)
      : new BigUint64Array(bytes.buffer, bytes.byteOffset, rows);
};

/** What is kept of times as text are the few bytes that they are stored in. */
const decodeTimes = (column: Extract<Column, { form: 'bytes' }>, source: SegmentSource): Vector => {
  const { rows } = column;
  const { digits, base } = column.times!;
  const packed = column.packed!;
  const bytes = source.decoded(column, () => bytesOf(packed.segment, source, rows * packed.width), byteLength);
  const times = (): TimeTexts => ({
    digits,
    base,
    distances: unpackDistances({ ...packed, bytes }, 0, packed.first, rows),
    isSorted: packed.delta && packed.least >= 0,
  });
  const search =
    packed.delta && packed.least >= 0
      ? {
          base,
          below: (bound: number): number => countBelow({ ...packed, bytes }, packed.first, rows, bound),
          at: (index: Uint32Array): Float64Array => distancesAt({ ...packed, bytes }, packed.first, rows, index),
        }
      : undefined;
  return timeTexts(rows, digits, times, () => column.bounds && rangeOfBounds(column.bounds), search);
};
const decodeBytes = (column: Extract<Column, { form: 'bytes' }>, source: SegmentSource): Vector => {
  const {
    rows,
    layout: { type },
  } = column;
  if (column.constant) {
    const inner: FlatVector = {
      form: 'bytes',
      type,
      length: 1,
      offsets: Uint32Array.of(0, column.constant.length),
      bytes: column.constant,
    };
    return { form: 'constant', length: rows, inner };
  }
  if (column.dictionary !== undefined)
    return {
      form: 'dictionary',
      length: rows,
      codes: innerCodes(column.codes!, rows, source),
      values: source.dictionary(column.dictionary),
    };
  const offsets = innerOffsets(column.codes!, rows, source);
  return { form: 'bytes', type, length: rows, offsets, bytes: bytesOf(column.segment, source, offsets[rows]!) };
};
