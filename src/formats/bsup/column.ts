/**
 * The values of one place (the stream itself, a field, the elements of a list) in row order, over one part for each type or shape.
 *
 * Invariants:
 * - As long as there is one part, its rows are the column's rows; from the second on, `tags` and `slots` say where each row is.
 * - Records of one shape share a part, fields of theirs may then hold several types. Not so below an optional field (`exact`): an absent field lends its
 *   type from any row of its part, so all rows of a part there have one type.
 */
import { Uint32List, shapeOf } from '../../vectors/builder.ts';
import { type Type, types } from '../../vectors/type.ts';
import { type Vector, noRows } from '../../vectors/vector.ts';
import { emptyOf, zeroOf } from '../placeholders.ts';
import { Part, op } from './part.ts';

/** Stands for an absent value until the column is taken. */
const absentSlot = 0xffff_ffff;

/** How values of one type get into a column; the types of fields and members have decoders of their own, made when they are met first. */
export class Decoder {
  readonly column: Column;
  readonly part: Part;
  readonly tag: number;
  readonly op: number;
  readonly type: Type;
  readonly children: (Decoder | undefined)[] = [];
  /** Optional fields of a record. */
  readonly optionals: number;
  constructor(column: Column, part: Part, tag: number, type: Type) {
    this.column = column;
    this.part = part;
    this.tag = tag;
    this.op = part.op;
    this.type = type;
    this.optionals = type.kind === 'record' ? type.fields.reduce((n, f) => n + (f.optional ? 1 : 0), 0) : 0;
  }
  /** The decoder of field, member or element `k`. */
  child(k: number): Decoder {
    let child = this.children[k];
    if (!child) this.children[k] = child = this.part.columns[k].decoderOf(componentOf(this.type, k));
    return child;
  }
}

const componentOf = (type: Type, k: number): Type => {
  switch (type.kind) {
    case 'record': return type.fields[k].type;
    case 'array': case 'set': return type.element;
    case 'map': return k === 0 ? type.key : type.value;
    case 'union': return type.members[k];
    case 'error': case 'named': return type.inner;
    default: return types.null;
  }
};

/** How many columns were made: they are kept from batch to batch, so their number has a bound. */
export interface Census { columns: number }

interface ColumnOptions { readonly exact: boolean; readonly emptyType?: Type }

export class Column {
  readonly parts: Part[] = [];
  /** Rows have tags and slots. */
  indexed = false;
  private readonly exact: boolean;
  /** What the column's type is if it never has a row. */
  private readonly emptyType: Type | undefined;
  private readonly census: Census;
  /** Most columns have one decoder only. */
  private first: Decoder | undefined;
  private decoders: Map<Type, Decoder> | undefined;
  private shapes: Map<string, number> | undefined;
  private tags = noList;
  private slots = noList;

  constructor(options: ColumnOptions, census: Census) {
    this.exact = options.exact;
    this.emptyType = options.emptyType;
    this.census = census;
    census.columns++;
  }

  decoderOf(type: Type): Decoder {
    if (this.first?.type === type) return this.first;
    let decoder = this.decoders?.get(type);
    if (!decoder) {
      const tag = this.tagOf(type);
      decoder = new Decoder(this, this.parts[tag], tag, type);
      if (!this.first) this.first = decoder;
      else (this.decoders ??= new Map<Type, Decoder>()).set(type, decoder);
    }
    return decoder;
  }

  /** Notes that the next row is in part `tag`; call before the row is appended there. Only where the column is `indexed`. */
  mark(tag: number): void {
    this.tags.push(tag);
    this.slots.push(this.parts[tag].length);
  }
  /** Appends a row that is absent: it has a type and nothing else. */
  markAbsent(tag: number): void {
    this.index();
    this.tags.push(tag);
    this.slots.push(absentSlot);
  }
  /** From now on rows have tags and slots. */
  private index(): void {
    if (this.indexed) return;
    this.indexed = true;
    this.tags = new Uint32List();
    this.slots = new Uint32List();
    const rows = this.parts[0]?.length ?? 0;
    for (let i = 0; i < rows; i++) {
      this.tags.push(0);
      this.slots.push(i);
    }
  }

  /** Rows so far. */
  get length(): number { return this.indexed ? this.tags.length : this.parts.length > 0 ? this.parts[0].length : 0; }

  /** Forgets the rows from `length` on, also half of a row that was begun. */
  cutTo(length: number): void {
    if (!this.indexed) {
      if (this.parts.length > 0) cutPart(this.parts[0], length);
      return;
    }
    this.tags.length = Math.min(this.tags.length, length);
    this.slots.length = Math.min(this.slots.length, length);
    const kept = new Uint32Array(this.parts.length);
    for (let i = 0; i < this.tags.length; i++) if (this.slots.array[i] !== absentSlot) kept[this.tags.array[i]] = this.slots.array[i] + 1;
    this.parts.forEach((part, tag) => cutPart(part, kept[tag]));
  }

  /** The vector of all rows so far; the column begins anew. */
  take(): Vector {
    if (!this.indexed) {
      const part = this.parts[0];
      return part && part.length > 0 ? part.take() : this.emptyType ? emptyOf(this.emptyType) : noRows;
    }
    const tags = this.tags.done(), slots = this.slots.done();
    this.indexed = this.parts.length > 1;
    this.tags = this.indexed ? new Uint32List() : noList;
    this.slots = this.indexed ? new Uint32List() : noList;
    return this.gathered(tags, slots);
  }

  private gathered(tags: Uint32Array, slots: Uint32Array): Vector {
    // Tags of the vector, plus one; parts without a row are left out.
    const renamed = new Uint32Array(this.parts.length), parts: Vector[] = [];
    let absent = false;
    for (let i = 0; i < tags.length; i++) {
      const tag = tags[i];
      if (slots[i] === absentSlot) {
        absent = true;
        slots[i] = 0;
      }
      if (renamed[tag] === 0) {
        const part = this.parts[tag];
        renamed[tag] = parts.push(part.length > 0 ? part.take() : zeroOf(part.type));
      }
      tags[i] = renamed[tag] - 1;
    }
    if (parts.length === 0) return this.emptyType ? emptyOf(this.emptyType) : noRows;
    if (parts.length > 1) return { form: 'dynamic', length: tags.length, tags, slots, parts };
    return absent ? { form: 'selected', length: tags.length, index: slots, base: parts[0] } : parts[0];
  }

  private tagOf(type: Type): number {
    if (type.kind !== 'record' || this.exact) return this.addPart(type, this.exact);
    const { key } = shapeOf(type.fields);
    this.shapes ??= new Map();
    let tag = this.shapes.get(key);
    if (tag === undefined) this.shapes.set(key, (tag = this.addPart(type, false)));
    return tag;
  }
  private addPart(type: Type, exact: boolean): number {
    if (this.parts.length > 0) this.index();
    const part = new Part(type);
    for (const options of columnsOf(type, exact)) part.columns.push(new Column(options, this.census));
    return this.parts.push(part) - 1;
  }
}
const noList = new Uint32List();

/** The columns below a part of that type. */
const columnsOf = (type: Type, exact: boolean): readonly ColumnOptions[] => {
  switch (type.kind) {
    case 'record': return type.fields.map((f) => ({ exact: exact || f.optional }));
    case 'array': case 'set': return [{ exact: true, emptyType: type.element }];
    case 'map': return [{ exact: true, emptyType: type.key }, { exact: true, emptyType: type.value }];
    case 'union': return type.members.map((m) => ({ exact: true, emptyType: m }));
    case 'error': case 'named': return [{ exact: true, emptyType: type.inner }];
    default: return [];
  }
};

const cutPart = (part: Part, length: number): void => {
  part.cutTo(Math.min(length, part.length));
  switch (part.op) {
    case op.record: case op.wrap:
      for (const c of part.columns) c.cutTo(part.length);
      return;
    case op.list: case op.set: case op.map: {
      const items = part.length === 0 ? 0 : part.codes[part.length - 1];
      for (const c of part.columns) c.cutTo(items);
      return;
    }
    case op.union: {
      const kept = new Uint32Array(part.columns.length);
      for (let i = 0; i < part.length; i++) kept[part.codes[i]] = part.slots[i] + 1;
      part.columns.forEach((c, k) => c.cutTo(kept[k]));
    }
  }
};
