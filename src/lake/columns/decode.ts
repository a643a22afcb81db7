/**
 * Columns to vectors: the columns that are asked for are read, of the tree that the directory of a block became
 * (directory.ts).
 *
 * Invariants:
 * - A segment's bytes are compared with their checksum before anything is made of them.
 * - Numbers of eight bytes and codes of four are views of the bytes that were read; narrower ones are widened.
 */
import { sizeOf } from '../../vectors/sizes.ts';
import { type TimeTexts, rangeOfBounds, timeTexts } from '../../vectors/texts/times.ts';
import { unionOfOne } from '../../vectors/unions.ts';
import { type Vector, type FlatVector, type Field, type NumberArray, emptyVector } from '../../vectors/vector.ts';
import type { Segment, Codes, Flags, Column, DynamicColumn } from './column.ts';
import { numberKinds } from './encodings.ts';
import {
  type Width,
  countBelow,
  distancesAt,
  unpackBits,
  unpackCodes,
  unpackDistances,
  unpackOffsets,
  unpackWides,
} from './packing.ts';

/**
 * Where the bytes of a block come from: segments already read and checked, dictionaries already decoded. `decoded`
 * answers with what it keeps of a node of the directory, or makes it and may keep it; `bytes` are what it takes.
 */
export interface SegmentSource {
  readonly bytes: (s: Segment) => Uint8Array;
  readonly dictionary: (number: number) => Vector;
  readonly decoded: <T>(node: object, make: () => T, bytes: (value: T) => number) => T;
  /** Whether `decoded` has what it keeps of a node at hand. */
  readonly isKnown: (node: object) => boolean;
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
  if (column.packed) return unpacked(column, bytesOf(column.packed.segment, source, rows * column.packed.width), rows);
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

/** Numbers of a packed column, of what is stored of them. */
export const unpacked = (
  { packed, base, digits = 0, power = 0, kind }: Extract<Column, { form: 'number' }>,
  bytes: Uint8Array,
  rows: number,
): NumberArray => {
  const own = { ...packed!, bytes };
  return kind === numberKinds.float
    ? unpackDistances(own, base as number, own.first, rows, 10 ** digits)
    : unpackWides(own, base as bigint, own.first, rows, {
        unit: 10 ** power,
        isUnsigned: kind === numberKinds.unsigned,
      });
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
