/**
 * Records of any shape as the columns of a table (columns.ts): first a survey of the columns that rows need, then the
 * rows themselves, as one record vector whose fields are those columns.
 *
 * Invariants:
 * - The fitted vector has all rows, in their order. A row is absent in a column that has nothing of it.
 * - What a row's columns do not hold whole (there are too many) is in the column of the rest, with the name of its field.
 * - What a kind leaves out (digits of a time, what an error is around of) is in the sibling that stands for it.
 */
import { runsFrom, settled } from '../formats/column-out.ts';
import { jsonString, jsonText } from '../formats/json/text.ts';
import { BytesBuilder } from '../vectors/builder-leaves.ts';
import { concat } from '../vectors/concat.ts';
import { checkStop } from '../vectors/stop.ts';
import { arrayType, mapType, types, unionType } from '../vectors/type.ts';
import {
  type BoolVector,
  type BytesVector,
  type ErrorVector,
  type Field,
  type NumberVector,
  type RecordVector,
  type Vector,
  dataAt,
  flatten,
  nulls,
  numbers,
  range,
  take,
  typeAt,
  uniformType,
} from '../vectors/vector.ts';
import { type ColumnKey, type ColumnSet, type TableColumn, restKey } from './columns.ts';
import { type SizedKind, isSized, partsOf, sizesOf } from './kinds.ts';
import { decimalUnits } from './named.ts';
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

  /** `table`: all columns, which stay as they are; `used`: ids of the file's. */
  constructor(table: ColumnSet, used: Iterable<number>) {
    this.set = table;
    this.used = new Set(used);
  }
  find(key: ColumnKey): TableColumn | undefined {
    const column = this.set.find(key);
    return column && this.used.has(column.id) ? column : undefined;
  }
  /** Where the lists or maps of a place are. */
  runs(place: EmptyPlace): TableColumn | undefined {
    return runsAt(this.set, place);
  }
  below(parent: number): readonly TableColumn[] {
    return this.set.below(parent).filter(({ id }) => this.used.has(id));
  }
}

interface Piece {
  readonly rows: Rows;
  readonly length: number;
}
interface LeafPiece extends Piece {
  readonly values: Vector;
  /** They are in the form that the column is written from. */
  readonly isWritten: boolean;
}
interface RunsPiece extends Piece {
  /** Relative to `first`. */
  readonly offsets: Uint32Array;
  readonly first: number;
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
  empty(place: EmptyPlace, offsets: Uint32Array, length: number, rows: Rows): void {
    const column = this.file.runs(place);
    if (column) this.runs(column, offsets, length, rows);
  }

  /** The columns in `parent`, `length` rows each. */
  fields(parent: number, length: number): Field[] {
    return this.file.below(parent).map((column) => this.field(column, length));
  }
  private field(column: TableColumn, length: number): Field {
    const { name, id } = column;
    const { form } = partsOf(column.kind);
    if (form === 'scalar') return { name, optional: true, ...leafColumn(column, this.leaves.get(id) ?? [], length) };
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

/** 1 where a piece has a row; undefined if they have all. */
const presence = (pieces: readonly Piece[], length: number): Uint8Array | undefined => {
  if (pieces.reduce((n, piece) => n + piece.length, 0) === length) return undefined;
  const present = new Uint8Array(length);
  for (const { rows, length: count } of pieces) for (let i = 0; i < count; i++) present[rowAt(rows, i)] = 1;
  return present;
};

/** The lists of all rows; `index`: the items in their order, where that is not the order in which they came. */
const runsOf = (
  pieces: readonly RunsPiece[],
  length: number,
): { readonly offsets: Uint32Array; readonly index: Uint32Array | undefined } => {
  const starts = new Uint32Array(length);
  const sizes = new Uint32Array(length);
  for (const { rows, length: count, offsets, first } of pieces)
    for (let i = 0; i < count; i++) {
      const row = rowAt(rows, i);
      starts[row] = first + offsets[i]!;
      sizes[row] = offsets[i + 1]! - offsets[i]!;
    }
  const offsets = new Uint32Array(length + 1);
  let isInOrder = true;
  for (let row = 0; row < length; row++) {
    if (sizes[row]! > 0 && starts[row] !== offsets[row]) isInOrder = false;
    offsets[row + 1] = offsets[row]! + sizes[row]!;
  }
  if (isInOrder) return { offsets, index: undefined };
  const index = new Uint32Array(offsets[length]!);
  for (let row = 0; row < length; row++)
    for (let k = 0; k < sizes[row]!; k++) index[offsets[row]! + k] = starts[row]! + k;
  return { offsets, index };
};

const leafColumn = (
  { kind }: TableColumn,
  pieces: readonly LeafPiece[],
  length: number,
): Pick<Field, 'values' | 'present'> => {
  // A column of the file of which these rows have nothing.
  if (pieces.length === 0)
    return { values: take(oneOf(kind), new Uint32Array(length)), present: new Uint8Array(length) };
  const converted = pieces.map(({ values, isWritten }) => (isWritten ? values : asKind(kind, values)));
  const count = pieces.reduce((n, piece) => n + piece.length, 0);
  if (count === length && areInOrder(pieces)) return { values: concat(converted) };
  // What rows look at that have no value: a row of any text would be copied for each of them.
  const [first] = converted;
  const all = concat(first?.form === 'bytes' ? [...converted, oneEmpty(first.type)] : converted);
  const index = new Uint32Array(length).fill(all.length - 1);
  const present = new Uint8Array(length);
  let from = 0;
  for (const { rows, length: count } of pieces)
    for (let i = 0; i < count; i++) {
      const row = rowAt(rows, i);
      index[row] = from++;
      present[row] = 1;
    }
  return { values: take(all, index), present };
};
/** A row of a kind, which stands where there is none. */
const oneOf = (kind: string): Vector => {
  if (isSized(kind) && sizesOf(kind).form === 'decimal')
    return decimalUnits(kind, numbers(types.float64, new Float64Array(1)));
  const empty = asKind(kind, nulls(0));
  switch (empty.form) {
    case 'bytes':
      return oneEmpty(empty.type);
    case 'number':
      return { ...empty, length: 1, values: new Float64Array(1) };
    default:
      return { form: 'bool', length: 1, values: new Uint8Array(1) };
  }
};
const oneEmpty = (type: BytesVector['type']): BytesVector => ({
  form: 'bytes',
  type,
  length: 1,
  offsets: new Uint32Array(2),
  bytes: new Uint8Array(0),
});
const areInOrder = (pieces: readonly Piece[]): boolean => {
  let next = 0;
  for (const { rows, length } of pieces) {
    if (rows !== next) return false;
    next += length;
  }
  return true;
};

const noTexts = (): BytesVector => ({
  form: 'bytes',
  type: types.string,
  length: 0,
  offsets: new Uint32Array(1),
  bytes: new Uint8Array(0),
});

/** Values in the one form that their column is written from. */
const asKind = (kind: string, given: Vector): Vector => {
  if (kind === 'json') return jsonTexts(given);
  const v = plain(given);
  if (isSized(kind)) return sized(kind, v);
  switch (kind) {
    case 'int':
    case 'duration':
    case 'ns':
      return numbersAs(v, types.int64);
    case 'uint64':
      return numbersAs(v, types.uint64);
    case 'float':
      return numbersAs(v, types.float64);
    case 'time':
    case 'date':
      return numbersAs(v, types.time);
    case 'bool':
      return v.form === 'bool' ? v : noBools;
    case 'bytes':
    case 'uuid':
      return v.form === 'bytes' ? v : { ...noTexts(), type: types.bytes };
    case 'error':
      return v.form === 'error' ? errorTexts(v) : noTexts();
    default:
      return v.length === 0 ? noTexts() : runsFrom(v);
  }
};
const sized = (kind: SizedKind, v: Scalars): Vector => {
  if (sizesOf(kind).form === 'fixed') return v.form === 'bytes' ? v : { ...noTexts(), type: types.bytes };
  return decimalUnits(kind, v);
};
const noBools: BoolVector = { form: 'bool', length: 0, values: new Uint8Array(0) };
type Scalars = Parameters<typeof runsFrom>[0];
/** Rows without views and names; those of a leaf are of one type, or JSON whatever they are. */
const plain = (v: Vector): Scalars => {
  const out = flatten(v);
  switch (out.form) {
    case 'named':
      return plain(out.inner);
    case 'dynamic':
      return plain(settled(out));
    default:
      return out;
  }
};
const numbersAs = (v: Vector, type: NumberVector['type']): NumberVector =>
  v.form === 'number' ? { ...v, type } : { form: 'number', type, length: 0, values: new Float64Array(0) };
/** The message of an error, if it is one of a text; else what it is around of, as JSON. */
const errorTexts = (v: ErrorVector): Vector => {
  const texts = new BytesBuilder(types.string);
  for (let i = 0; i < v.length; i++) {
    const type = typeAt(v.inner, i);
    const data = dataAt(v.inner, i);
    texts.text(type === types.string && typeof data === 'string' ? data : jsonText(type, data));
  }
  return texts.finish();
};
const jsonTexts = (v: Vector): Vector => {
  const texts = new BytesBuilder(types.string);
  for (let i = 0; i < v.length; i++) texts.text(jsonText(typeAt(v, i), dataAt(v, i)));
  return texts.finish();
};
