/** What is gathered of one column, put together: the values of its rows in the one form that it is written from. */
import { runsFrom, settled } from '../formats/columns/out.ts';
import { jsonText } from '../formats/json/text.ts';
import { BytesBuilder } from '../vectors/builder-leaves.ts';
import { concat } from '../vectors/concat.ts';
import { types } from '../vectors/type.ts';
import {
  type BoolVector,
  type BytesVector,
  type DictionaryVector,
  type ErrorVector,
  type Field,
  type NumberVector,
  type Vector,
  dataAt,
  flatten,
  nulls,
  numbers,
  take,
  typeAt,
} from '../vectors/vector.ts';
import { type SizedKind, isSized, sizesOf } from './kinds.ts';
import { decimalUnits } from './named.ts';
import { type Rows, isTextView, rowAt } from './walk.ts';

/** Rows that have something. */
export interface Piece {
  readonly rows: Rows;
  readonly length: number;
}
/** Values of rows. */
export interface LeafPiece extends Piece {
  readonly values: Vector;
  /** They are in the form that the column is written from. */
  readonly isWritten: boolean;
}
/** Lists or maps of rows. */
export interface RunsPiece extends Piece {
  /** Relative to `first`. */
  readonly offsets: Uint32Array;
  readonly first: number;
}

/** 1 where a piece has a row; undefined if they have all. */
export const presence = (pieces: readonly Piece[], length: number): Uint8Array | undefined => {
  if (pieces.reduce((n, piece) => n + piece.length, 0) === length) return undefined;
  const present = new Uint8Array(length);
  for (const { rows, length: count } of pieces) mark(rows, count, present);
  return present;
};

const mark = (rows: Rows, count: number, out: Uint8Array): void => {
  if (typeof rows === 'number') out.fill(1, rows, rows + count);
  else for (let i = 0; i < count; i++) out[rows[i]!] = 1;
};
/** Where rows look, from `first` on. */
const pointTo = (first: number, rows: Rows, count: number, out: Uint32Array): void => {
  if (typeof rows === 'number') for (let i = 0; i < count; i++) out[rows + i] = first + i;
  else for (let i = 0; i < count; i++) out[rows[i]!] = first + i;
};

/** The lists of all rows; `index`: the items in their order, where that is not the order in which they came. */
export const runsOf = (
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

/** A column's values of these rows. */
export const leafColumn = (
  kind: string,
  pieces: readonly LeafPiece[],
  length: number,
): Pick<Field, 'values' | 'present'> => {
  // A column of the file of which these rows have nothing.
  if (pieces.length === 0)
    return { values: take(oneOf(kind), new Uint32Array(length)), present: new Uint8Array(length) };
  const converted = pieces.map(({ values, isWritten }) => (isWritten ? values : asKind(kind, values)));
  const count = pieces.reduce((n, piece) => n + piece.length, 0);
  if (count === length && areInOrder(pieces)) return { values: concat(converted) };
  const present = presence(pieces, length);
  const all = present ? withEmpty(converted) : concat(converted);
  const index = new Uint32Array(length);
  if (present) index.fill(all.length - 1);
  let from = 0;
  for (const { rows, length: count } of pieces) {
    pointTo(from, rows, count, index);
    from += count;
  }
  return { values: take(all, index), ...(present && { present }) };
};
/** One row more that rows without a value look at: one of any text would be copied for each of them. */
const withEmpty = (vectors: readonly Vector[]): Vector => {
  const texts = vectors.find((v) => v.form === 'bytes');
  if (texts) return concat([...vectors, oneEmpty(texts.type)]);
  const v = concat(vectors);
  switch (v.form) {
    case 'bytes':
      return concat([v, oneEmpty(v.type)]);
    case 'constant':
      return v.inner.form === 'bytes' ? withEmptyEntry(v.inner, new Uint32Array(v.length)) : v;
    case 'dictionary':
      return v.values.form === 'bytes' ? withEmptyEntry(v.values, v.codes) : v;
    case 'selected':
      return v.base.form === 'bytes' ? withEmpty([flatten(v)]) : v;
    default:
      return v;
  }
};
const withEmptyEntry = (values: BytesVector, codes: Uint32Array): DictionaryVector => {
  const all = new Uint32Array(codes.length + 1);
  all.set(codes);
  all[codes.length] = values.length;
  return { form: 'dictionary', length: all.length, codes: all, values: concat([values, oneEmpty(values.type)]) };
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
  if (kind === 'string' && isTextView(given)) return given;
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
