/**
 * Rows of objects that hold one record of plain values: what a commit of a single record makes. Such an object has no
 * segments, its values stand in the directory; thousands of them are read straight into columns here, without a reader
 * for each.
 *
 * Invariants:
 * - An object is taken whole or not at all; what is not taken (other shapes, other encodings, a checksum that does not
 *   fit) is left to the ordinary reader.
 * - Rows keep the order in which they were added; shapes share nothing but their tags.
 */
import type { PrimitiveType } from '../../vectors/type.ts';
import type { DynamicVector, Field, Vector } from '../../vectors/vector.ts';
import { ByteReader } from '../columns/byte-reader.ts';
import { checksum } from '../columns/checksum.ts';
import type { Projection } from '../columns/wanted.ts';
import { encodings, numberKinds } from '../columns/encodings.ts';
import { type Layout, readLayout, readTypes } from '../columns/layout.ts';
import { header, magic, plainVersion, trailerLength } from './format.ts';

/** Each shape keeps columns of its own; data of ever new ones is left to the ordinary reader. */
const shapesMax = 256;

/** Gathers such rows until `take` gives them as one vector. */
export class TinyRows {
  /** Rows that wait. */
  count = 0;
  private readonly projection: Projection | undefined;
  private shapes: Shape[] = [];
  private readonly known = new Map<string, Shape | undefined>();
  /** Most objects have the shape of the one before. */
  private last: { readonly schema: Uint8Array; readonly shape: Shape | undefined } | undefined;
  private tags = new Uint32Array(64);
  private slots = new Uint32Array(64);

  /** Only these fields, if any are named. */
  constructor(projection?: Projection) {
    this.projection = projection;
  }

  /** Takes the row of an object; false if it is not of this kind. */
  add(bytes: Uint8Array): boolean {
    const end = bytes.length - trailerLength;
    const footerAt = header.length;
    // No data before the footer.
    if (end <= footerAt || word(bytes, end) !== end - footerAt || !hasMagic(bytes)) return false;
    if (checksum(bytes.subarray(footerAt, end)) !== word(bytes, end + 4)) return false;
    const place = schemaPlace(bytes, footerAt, end);
    if (!place) return false;
    const shape = this.shapeOf(bytes.subarray(place.start, place.end));
    const at = shape ? directoryAt(bytes, place.end, end) : -1;
    if (!shape || at < 0 || !shape.append(bytes, at, end)) return false;
    if (shape.rows === 1) {
      shape.tag = this.shapes.length;
      this.shapes.push(shape);
    }
    if (this.count === this.tags.length) {
      this.tags = grown(this.tags);
      this.slots = grown(this.slots);
    }
    this.tags[this.count] = shape.tag;
    this.slots[this.count++] = shape.rows - 1;
    return true;
  }

  /** The rows that wait, in their order. */
  take(): Vector {
    const { count, shapes } = this;
    const parts = shapes.map((shape) => shape.take());
    this.count = 0;
    this.shapes = [];
    if (parts.length === 1) return parts[0];
    return {
      form: 'dynamic',
      length: count,
      tags: this.tags.slice(0, count),
      slots: this.slots.slice(0, count),
      parts,
    } satisfies DynamicVector;
  }

  private shapeOf(schema: Uint8Array): Shape | undefined {
    if (this.last && sameBytes(this.last.schema, schema)) return this.last.shape;
    const key = Buffer.from(schema.buffer, schema.byteOffset, schema.length).toString('latin1');
    let shape = this.known.get(key);
    if (!shape && !this.known.has(key) && this.known.size < shapesMax)
      this.known.set(key, (shape = shapeOf(schema, this.projection)));
    this.last = { schema, shape };
    return shape;
  }
}

const word = (bytes: Uint8Array, at: number): number =>
  (bytes[at] | (bytes[at + 1] << 8) | (bytes[at + 2] << 16) | (bytes[at + 3] << 24)) >>> 0;
const hasMagic = (bytes: Uint8Array): boolean => {
  for (let i = 0, at = bytes.length - magic.length; i < magic.length; i++) if (bytes[at + i] !== magic[i]) return false;
  return true;
};
const sameBytes = (a: Uint8Array, b: Uint8Array): boolean => {
  if (a.length !== b.length) return false;
  for (let i = 0; i < a.length; i++) if (a[i] !== b[i]) return false;
  return true;
};
const grown = <T extends Uint8Array | Uint32Array | Float64Array>(array: T): T => {
  const out = new (array.constructor as new (length: number) => T)(array.length * 2);
  out.set(array);
  return out;
};

/** A LEB128 number of one or two bytes: value and length packed, -1 for a longer one. */
const shortNumber = (bytes: Uint8Array, at: number): number => {
  const low = bytes[at];
  if (low < 0x80) return (low << 2) | 1;
  const high = bytes[at + 1];
  return high < 0x80 ? (((low & 0x7f) | (high << 7)) << 2) | 2 : -1;
};

/** Where the schema is, if the footer begins as that of a single row without zone maps. */
const schemaPlace = (
  bytes: Uint8Array,
  at: number,
  end: number,
): { readonly start: number; readonly end: number } | undefined => {
  if (bytes[at] !== plainVersion || bytes[at + 1] !== 0 || bytes[at + 2] !== 1) return undefined;
  const length = shortNumber(bytes, at + 3);
  const start = at + 3 + (length & 3);
  return length < 0 || start + (length >> 2) > end ? undefined : { start, end: start + (length >> 2) };
};

/** Where the directory of the one block of one row is, if it goes up to the footer's end; -1 otherwise. */
const directoryAt = (bytes: Uint8Array, from: number, end: number): number => {
  // No dictionary, one block, one row, the first layout.
  if (bytes[from] !== 0 || bytes[from + 1] !== 1 || bytes[from + 2] !== 1 || bytes[from + 3] !== 0) return -1;
  let at = from + 4;
  let directory = 0;
  // Place, length of the data, length of the directory, then two keys.
  for (let i = 0; i < 3; i++) {
    const n = shortNumber(bytes, at);
    if (n < 0 || (i === 1 && n >> 2 !== 0)) return -1;
    at += n & 3;
    directory = n >> 2;
  }
  for (let i = 0; i < 2; i++) {
    const n = shortNumber(bytes, at);
    if (n < 0) return -1;
    at += (n & 3) + (n >> 2);
  }
  return at + directory === end ? at : -1;
};

/** A value of a row. `wanted`: it is kept. */
interface Leaf {
  readonly form: 'number' | 'bytes' | 'null' | 'bool';
  readonly column: LeafColumn | undefined;
}

/** Values of one leaf, one a row. */
class LeafColumn {
  readonly form: Leaf['form'];
  private readonly type: PrimitiveType | undefined;
  private numbers: Float64Array;
  private ends: Uint32Array;
  private bytes: Uint8Array;
  constructor(form: Leaf['form'], type?: PrimitiveType) {
    this.form = form;
    this.type = type;
    this.numbers = new Float64Array(form === 'number' ? 64 : 0);
    this.ends = new Uint32Array(form === 'bytes' ? 64 : 0);
    this.bytes = new Uint8Array(form === 'null' || form === 'number' ? 0 : 512);
  }

  number(row: number, value: number): void {
    if (row === this.numbers.length) this.numbers = grown(this.numbers);
    this.numbers[row] = value;
  }
  text(row: number, from: Uint8Array, start: number, length: number): void {
    const at = row === 0 ? 0 : this.ends[row - 1];
    while (at + length > this.bytes.length) this.bytes = grown(this.bytes);
    for (let i = 0; i < length; i++) this.bytes[at + i] = from[start + i];
    if (row === this.ends.length) this.ends = grown(this.ends);
    this.ends[row] = at + length;
  }
  flag(row: number, value: number): void {
    if (row === this.bytes.length) this.bytes = grown(this.bytes);
    this.bytes[row] = value;
  }

  vector(length: number): Vector {
    switch (this.form) {
      case 'number':
        return { form: 'number', type: this.type!, length, values: this.numbers.slice(0, length) };
      case 'null':
        return { form: 'null', length };
      case 'bool':
        return { form: 'bool', length, values: this.bytes.slice(0, length) };
      case 'bytes': {
        const offsets = new Uint32Array(length + 1);
        offsets.set(this.ends.subarray(0, length), 1);
        return { form: 'bytes', type: this.type!, length, offsets, bytes: this.bytes.slice(0, offsets[length]) };
      }
    }
  }
}

const scratch = new Float64Array(1);
const scratchBytes = new Uint8Array(scratch.buffer);

/** Rows of one shape: leaves in the order of the directory. */
class Shape {
  rows = 0;
  tag = 0;
  private readonly leaves: readonly Leaf[];
  private readonly build: (length: number) => Vector;
  constructor(leaves: readonly Leaf[], build: (length: number) => Vector) {
    this.leaves = leaves;
    this.build = build;
  }

  /** Adds the row of this directory; false, and nothing is added, if a value has segments of its own. */
  append(bytes: Uint8Array, from: number, end: number): boolean {
    const row = this.rows;
    let at = from;
    for (const { form, column } of this.leaves) {
      if (form === 'null') continue;
      if (bytes[at++] !== encodings.constant) return false;
      if (form === 'number') {
        if (bytes[at++] !== numberKinds.float) return false;
        for (let i = 0; i < 8; i++) scratchBytes[i] = bytes[at + i];
        column?.number(row, scratch[0]);
        at += 8;
      } else if (form === 'bool') {
        column?.flag(row, bytes[at]);
        at++;
      } else {
        const n = shortNumber(bytes, at);
        if (n < 0) return false;
        at += n & 3;
        column?.text(row, bytes, at, n >> 2);
        at += n >> 2;
      }
    }
    if (at !== end) return false;
    this.rows++;
    return true;
  }
  take(): Vector {
    const rows = this.build(this.rows);
    this.rows = 0;
    return rows;
  }
}

/** The shape of objects with this schema: one layout, a record of plain values; undefined for others. */
const shapeOf = (schema: Uint8Array, projection: Projection | undefined): Shape | undefined => {
  const input = new ByteReader(schema);
  const typeOf = readTypes(input, input.uvarint());
  const layouts = input.list(() => readLayout(input, typeOf));
  const leaves: Leaf[] = [];
  const build =
    layouts.length === 1 && layouts[0].form === 'record'
      ? builderOf(layouts[0], projection ?? true, leaves)
      : undefined;
  return build && new Shape(leaves, build);
};

type Build = (length: number) => Vector;
/**
 * What makes the vector of a layout; its leaves are added in the order of the directory. `wanted` undefined: it is only
 * passed by.
 */
const builderOf = (layout: Layout, wanted: Projection | true | undefined, leaves: Leaf[]): Build | undefined => {
  if (layout.form === 'record') {
    if (layout.fields.some((f) => f.optional)) return undefined;
    const fields: { readonly name: string; readonly build: Build }[] = [];
    for (const { name, values } of layout.fields) {
      const inner = wanted === true ? true : wanted?.get(name);
      const build = builderOf(values, inner, leaves);
      if (!build) return undefined;
      if (inner) fields.push({ name, build });
    }
    return (length) => ({
      form: 'record',
      length,
      fields: fields.map(({ name, build }): Field => ({ name, optional: false, values: build(length) })),
    });
  }
  if (layout.form !== 'number' && layout.form !== 'bytes' && layout.form !== 'null' && layout.form !== 'bool')
    return undefined;
  const column = new LeafColumn(
    layout.form,
    layout.form === 'number' || layout.form === 'bytes' ? layout.type : undefined,
  );
  leaves.push({ form: layout.form, column: wanted ? column : undefined });
  return (length) => column.vector(length);
};
