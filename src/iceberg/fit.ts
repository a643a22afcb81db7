/**
 * Records of any shape as the columns of a table (columns.ts): first a survey of the columns that rows need, then the
 * rows themselves, as one record vector whose fields are those columns.
 *
 * Invariants:
 * - The fitted vector has all rows, in their order. A row is absent in a column that has nothing of it.
 * - What a row's columns do not hold whole (there are too many) is in the column of the rest, with the name of its field.
 * - What a kind leaves out (digits of a time, what an error is around of) is in the sibling that stands for it.
 */
import { jsonString, jsonText } from '../formats/json/text.ts';
import { BytesBuilder } from '../vectors/builder-leaves.ts';
import { checkStop } from '../vectors/stop.ts';
import { arrayType, mapType, types, unionType } from '../vectors/type.ts';
import {
  type Field,
  type ListVector,
  type MapVector,
  type RecordVector,
  type Vector,
  dataAt,
  nulls,
  range,
  take,
  typeAt,
  uniformType,
} from '../vectors/vector.ts';
import { type ColumnKey, type ColumnSet, type TableColumn, restKey } from './columns.ts';
import { partsOf, variantKind } from './kinds.ts';
import { type LeafPiece, type Piece, type RunsPiece, leafColumn, presence, runsOf } from './pieces.ts';
import { type Shape, shapeOf, untyped } from './variant/shape.ts';
import { partsOfPieces, variantColumn } from './variant/shred.ts';
import { type EmptyPlace, type Rows, type Sink, rowAt, runsAt, walkRows } from './walk.ts';

/** Rows that are gathered, to be given out as the columns of a file. */
export class Fitting {
  private readonly file: FileColumns;
  private scope: Scope;
  private rest = new Map<number, string[]>();
  length = 0;

  constructor(file: FileColumns) {
    this.file = file;
    this.scope = new Scope(file);
  }

  add(batch: Vector): void {
    checkStop();
    walkRows(batch, this.length, this.scope, (field, values, rows) => {
      for (let i = 0; i < values.length; i++) {
        const text = jsonText(typeAt(values, i), dataAt(values, i));
        const own = this.rest.get(rowAt(rows, i));
        const entry = field === undefined ? text : `${jsonString(field)}:${text}`;
        if (own) own.push(entry);
        else this.rest.set(rowAt(rows, i), [field === undefined ? '' : '{', entry]);
      }
    });
    this.length += batch.length;
  }

  /** Has the variants of the file shredded as they are best for the rows so far. */
  shape(): void {
    this.file.shapes = this.scope.shapes();
  }
  /** The rows so far, with the file's columns as fields in their order. */
  take(): RecordVector {
    this.giveRest();
    const { scope, length } = this;
    this.scope = new Scope(this.file);
    this.length = 0;
    return { form: 'record', length, fields: scope.fields(0, length) };
  }
  private giveRest(): void {
    if (this.rest.size === 0) return;
    const column = this.file.find(restKey);
    if (!column) throw new Error('the column of the rest was not asked for');
    const texts = new BytesBuilder(types.string);
    const rows = Uint32Array.from(this.rest.keys());
    for (const [begin, ...entries] of this.rest.values())
      texts.text(begin === '{' ? `{${entries.join(',')}}` : entries.join(''));
    this.scope.leaf(column, texts.finish(), rows, 'written');
    this.rest = new Map();
  }
}

/** The columns that a file has: those of the table that its rows need. */
export class FileColumns {
  private readonly set: ColumnSet;
  private readonly used: ReadonlySet<number>;
  /** How columns of variants are shredded, by id; the others are not. */
  shapes: ReadonlyMap<number, Shape> = new Map();

  /** `table`: all columns, which stay as they are; `used`: ids of the file's. */
  constructor(table: ColumnSet, used: Iterable<number>) {
    this.set = table;
    this.used = new Set(used);
  }
  find(key: ColumnKey): TableColumn | undefined {
    const column = this.set.find(this.set.placed(key));
    return column && this.used.has(column.id) ? column : undefined;
  }
  /** Where the lists or maps of a place are. */
  runs(place: EmptyPlace): TableColumn | undefined {
    return runsAt(this.set, place);
  }
  isVariant(id: number): boolean {
    return this.set.at(id)?.kind === variantKind;
  }
  below(parent: number): readonly TableColumn[] {
    return this.set.below(parent).filter(({ id }) => this.used.has(id));
  }
}

/** The values of the columns of a table, or of those in a list's or map's items. */
class Scope implements Sink {
  private readonly file: FileColumns;
  private readonly leaves = new Map<number, LeafPiece[]>();
  private readonly records = new Map<number, Piece[]>();
  private readonly lists = new Map<number, { readonly scope: Scope; readonly pieces: RunsPiece[] }>();
  private items = 0;

  constructor(file: FileColumns) {
    this.file = file;
  }

  column(key: ColumnKey): TableColumn | undefined {
    return this.file.find(key);
  }
  /** How the columns of variants are to be shredded, by what is there of them. */
  shapes(): Map<number, Shape> {
    const shapes = new Map<number, Shape>();
    for (const [id, pieces] of this.leaves) if (this.file.isVariant(id)) shapes.set(id, shapeOf(partsOfPieces(pieces)));
    for (const { scope } of this.lists.values()) for (const [id, shape] of scope.shapes()) shapes.set(id, shape);
    return shapes;
  }
  leaf({ id }: TableColumn, values: Vector, rows: Rows, form?: 'written'): void {
    const pieces = this.leaves.get(id);
    const piece = { rows, length: values.length, values, isWritten: form === 'written' };
    if (pieces) pieces.push(piece);
    else this.leaves.set(id, [piece]);
  }
  record({ id }: TableColumn, length: number, rows: Rows): void {
    const pieces = this.records.get(id);
    if (pieces) pieces.push({ rows, length });
    else this.records.set(id, [{ rows, length }]);
  }
  runs(
    { id }: TableColumn,
    offsets: Uint32Array,
    length: number,
    rows: Rows,
  ): { readonly sink: Scope; readonly first: number } {
    let list = this.lists.get(id);
    if (!list) this.lists.set(id, (list = { scope: new Scope(this.file), pieces: [] }));
    const first = list.scope.items;
    const start = offsets[0]!;
    list.scope.items += offsets[length]! - start;
    list.pieces.push({ rows, length, first, offsets: offsets.subarray(0, length + 1).map((at) => at - start) });
    return { sink: list.scope, first };
  }
  empty(place: EmptyPlace, v: ListVector | MapVector, rows: Rows): void {
    const column = this.file.runs(place);
    if (!column) return;
    if (this.file.isVariant(column.id)) this.leaf(column, v, rows);
    else this.runs(column, v.offsets, v.length, rows);
  }

  /** The columns in `parent`, `length` rows each. */
  fields(parent: number, length: number): Field[] {
    return this.file.below(parent).map((column) => this.field(column, length));
  }
  private field(column: TableColumn, length: number): Field {
    const { name, id } = column;
    const { form } = partsOf(column.kind);
    const leaves = this.leaves.get(id) ?? [];
    if (form === 'scalar') return { name, optional: true, ...leafColumn(column.kind, leaves, length) };
    if (form === 'variant')
      return { name, optional: true, ...variantColumn(leaves, this.file.shapes.get(id) ?? untyped, length) };
    if (form === 'record') {
      const present = presence(this.records.get(id) ?? [], length);
      const values: RecordVector = { form: 'record', length, fields: this.fields(id, length) };
      return { name, optional: true, values, ...(present && { present }) };
    }
    const list = this.lists.get(id);
    const present = presence(list?.pieces ?? [], length);
    const { offsets, index } = runsOf(list?.pieces ?? [], length);
    const scope = list?.scope ?? new Scope(this.file);
    const [first, second] = scope.fields(id, scope.items).map((field) => nullable(field, scope.items, index));
    const values: Vector =
      form === 'list'
        ? { form: 'list', type: arrayType(types.null), length, offsets, items: first! }
        : { form: 'map', type: mapType(types.null, types.null), length, offsets, keys: first!, values: second! };
    return { name, optional: true, values, ...(present && { present }) };
  }
}

/** A column's values where they are absent as nulls; `index`: the items' order. */
const nullable = ({ values, present }: Field, length: number, index: Uint32Array | undefined): Vector => {
  const whole = present ? withNulls(values, present, length) : values;
  return index ? take(whole, index) : whole;
};
const withNulls = (values: Vector, present: Uint8Array, length: number): Vector => {
  // What a member's type is nobody asks: the columns of the file say what is written.
  const type = unionType([uniformType(values) ?? types.string, types.null]);
  const none = type.kind === 'union' ? type.members.indexOf(types.null) : 0;
  const tags = new Uint32Array(length);
  for (let i = 0; i < length; i++) tags[i] = present[i] === 1 ? 1 - none : none;
  if (type.kind !== 'union') return nulls(length);
  const slots = range(0, length);
  const members = none === 0 ? [nulls(length), values] : [values, nulls(length)];
  return { form: 'union', type, length, tags, slots, members };
};
