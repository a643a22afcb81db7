/**
 * Order of rows by pool keys, found without making a value per row: each key column becomes numbers whose order is the
 * values' order as far as they go (`prefix`), and a comparison for rows that tie there (`exact`).
 *
 * Invariants:
 * - The order is that of `compareValues` with nulls and missing last; descending is its exact reverse.
 * - Sorting is stable; rows that are in order already are found so in one pass.
 */
import {
  type Vector,
  type BytesVector,
  type DynamicVector,
  type MapVector,
  type NumberVector,
  dataAt,
  flatten,
  nulls,
  slice,
  take,
  typeAt,
  valueAt,
  ofForm,
} from '../../vectors/vector.ts';
import { concat } from '../../vectors/concat.ts';
import { newFloats, newWords } from '../../vectors/short-arrays.ts';
import { timesOfTexts } from '../../vectors/texts/times.ts';
import { types } from '../../vectors/type.ts';
import { ByteWriter, compareBytes, underValue, writeBody } from '../../vectors/value.ts';
import { writeKey } from '../../vectors/sort-key.ts';
import { halves, wideDistances } from '../columns/packing.ts';
import { compareRuns, viewOf } from '../columns/words.ts';

/** Prefix order never contradicts the order of the rows; without `exact`, equal prefixes mean equal keys. */
interface SortColumn {
  readonly prefix: Float64Array;
  readonly exact?: (i: number, j: number) => number;
}

/** The values at a field path, null where there are none. */
export const keyColumn = (v: Vector, path: readonly string[], depth = 0): Vector => {
  if (depth === path.length) return v;
  switch (v.form) {
    case 'record': {
      const field = v.fields.find((f) => f.name === path[depth]);
      if (!field) return nulls(v.length);
      const values = keyColumn(field.values, path, depth + 1);
      return field.present?.subarray(0, v.length).includes(0) ? withAbsent(values, field.present, v.length) : values;
    }
    case 'constant':
      return { form: 'constant', length: v.length, inner: keyColumn(v.inner, path, depth) };
    case 'selected':
      return take(keyColumn(v.base, path, depth), v.index.subarray(0, v.length));
    case 'dictionary':
      return take(keyColumn(v.values, path, depth), v.codes.subarray(0, v.length));
    case 'dynamic':
      return { ...v, parts: v.parts.map((p) => keyColumn(p, path, depth)) };
    case 'union':
      return {
        form: 'dynamic',
        length: v.length,
        tags: v.tags,
        slots: v.slots,
        parts: v.members.map((m) => keyColumn(m, path, depth)),
      };
    case 'named':
      return keyColumn(v.inner, path, depth);
    case 'map':
      return keyColumn(entries(v, path[depth]), path, depth + 1);
    default:
      return nulls(v.length);
  }
};
/** The entries of that name, which a query reads as fields; null where there is none. */
const entries = (v: MapVector, name: string): Vector => {
  const tags = new Uint32Array(v.length).fill(1);
  const slots = new Uint32Array(v.length);
  for (let i = 0; i < v.length; i++) {
    slots[i] = i;
    for (let at = v.offsets[i]; at < v.offsets[i + 1]; at++) {
      const { type, data } = underValue(valueAt(v.keys, at));
      if (type !== types.string || data !== name) continue;
      tags[i] = 0;
      slots[i] = at;
    }
  }
  return { form: 'dynamic', length: v.length, tags, slots, parts: [v.values, nulls(v.length)] };
};
const withAbsent = (values: Vector, present: Uint8Array, length: number): DynamicVector => {
  const tags = new Uint32Array(length);
  const slots = new Uint32Array(length);
  for (let i = 0; i < length; i++) {
    tags[i] = present[i] ? 0 : 1;
    slots[i] = i;
  }
  return { form: 'dynamic', length, tags, slots, parts: [values, nulls(length)] };
};

/** Numbers and comparison for one key column. */
export const sortColumn = (column: Vector): SortColumn => {
  if (column.form === 'selected' && column.base.form === 'bytes' && column.base.type === types.string)
    return selectedColumn(column.base, column.index.subarray(0, column.length));
  const v = flatten(column);
  switch (v.form) {
    case 'null':
      return { prefix: new Float64Array(v.length) };
    case 'number':
      return numberColumn(v);
    case 'bytes':
      return v.type === types.string ? textColumn(v) : anyColumn(v);
    case 'dynamic':
      return nullableColumn(v) ?? anyColumn(v);
    default:
      return anyColumn(v);
  }
};

const numberColumn = (v: NumberVector): SortColumn => {
  if (v.values instanceof Float64Array) {
    const prefix = v.values.subarray(0, v.length);
    return prefix.some((x) => x !== x) ? anyColumn(v) : { prefix };
  }
  const { values } = v;
  const spread = v.length > 0 ? wideDistances(values, v.length) : undefined;
  if (spread) return { prefix: spread.distances };
  const { low, high } = halves(values, v.length);
  const prefix = new Float64Array(v.length);
  for (let i = 0; i < prefix.length; i++) prefix[i] = high[i] * 4294967296 + low[i];
  return { prefix, exact: (i, j) => (values[i] < values[j] ? -1 : values[i] > values[j] ? 1 : 0) };
};

/**
 * Whether the rows of a batch are in order by their keys, behind the last row of what came before. Rows that are equal
 * are in order.
 */
export const inKeyOrder = (
  before: Vector | undefined,
  batch: Vector,
  keys: readonly (readonly string[])[],
  descending: boolean,
): boolean => {
  if (before) {
    const pair = keys.map((path) =>
      sortColumn(concat([lastOf(keyColumn(before, path)), slice(keyColumn(batch, path), 0, 1)])),
    );
    if (sortRows(pair, 2, { descending })) return false;
  }
  const columns = keys.map((path) => keyColumn(batch, path));
  return (
    (columns.length === 1 ? textsInOrder(columns[0], descending) : undefined) ??
    !sortRows(columns.map(sortColumn), batch.length, { descending })
  );
};

const lastOf = (v: Vector): Vector => slice(v, v.length - 1, v.length);

/** The same for texts, whichever parts they are in; undefined if there is anything else. */
const textsInOrder = (column: Vector, descending: boolean): boolean | undefined => {
  const isText = (v: Vector): v is BytesVector => v.form === 'bytes' && v.type === types.string;
  if (isText(column)) return runsInOrder([column], undefined, undefined, column.length, descending);
  if (column.form !== 'dynamic' || !column.parts.every(isText)) return undefined;
  return runsInOrder(column.parts, column.tags, column.slots, column.length, descending);
};
const runsInOrder = (
  parts: readonly BytesVector[],
  tags: Uint32Array | undefined,
  slots: Uint32Array | undefined,
  length: number,
  descending: boolean,
): boolean => {
  const views = parts.map((part) => viewOf(part.bytes));
  const places = parts.map((part) => part.offsets);
  let lastView = views[0];
  let lastStart = 0;
  let lastEnd = 0;
  for (let i = 0; i < length; i++) {
    const tag = tags ? tags[i] : 0;
    const slot = slots ? slots[i] : i;
    const offsets = places[tag];
    const view = views[tag];
    const start = offsets[slot];
    const end = offsets[slot + 1];
    if (i > 0) {
      const c = compareRuns(lastView, lastStart, lastEnd, view, start, end);
      if (descending ? c < 0 : c > 0) return false;
    }
    lastView = view;
    lastStart = start;
    lastEnd = end;
  }
  return true;
};

/** Six bytes of text in one number. */
const prefixBytes = 6;
const textPrefix = (bytes: Uint8Array, start: number, end: number): number => {
  let x = 0;
  for (let k = 0; k < prefixBytes; k++) x = x * 256 + (start + k < end ? bytes[start + k] : 0);
  return x;
};
const textColumn = (v: BytesVector): SortColumn => {
  // Times in one spelling are in the order of their numbers.
  const times = timesOfTexts(v);
  if (times) return { prefix: times.distances };
  const prefix = new Float64Array(v.length);
  const shared = sharedBytes(v.bytes, v.offsets, v.length);
  for (let i = 0; i < prefix.length; i++) prefix[i] = textPrefix(v.bytes, v.offsets[i] + shared, v.offsets[i + 1]);
  return { prefix, exact: exactly(v.bytes, v.offsets, shared) };
};
/** The same of texts that are looked up. */
const selectedColumn = (v: BytesVector, index: Uint32Array): SortColumn => {
  const { prefix, exact } = textColumn(v);
  const out = new Float64Array(index.length);
  for (let i = 0; i < out.length; i++) out[i] = prefix[index[i]];
  return { prefix: out, ...(exact && { exact: (i: number, j: number) => exact(index[i], index[j]) }) };
};
/** Compares runs of bytes from a place on up to which they are alike. */
const exactly = (bytes: Uint8Array, offsets: Uint32Array, from: number): ((i: number, j: number) => number) => {
  const view = viewOf(bytes);
  return (i, j) => compareRuns(view, offsets[i] + from, offsets[i + 1], view, offsets[j] + from, offsets[j + 1]);
};
/** How many bytes all rows begin with alike. */
const sharedBytes = (bytes: Uint8Array, offsets: Uint32Array, length: number): number => {
  if (length === 0) return 0;
  const first = offsets[0];
  let shared = offsets[1] - first;
  for (let i = 1; i < length && shared > 0; i++) {
    const start = offsets[i];
    const most = Math.min(shared, offsets[i + 1] - start);
    let k = 0;
    while (k < most && bytes[start + k] === bytes[first + k]) k++;
    shared = k;
  }
  return shared;
};

/** Numbers or texts among nulls: the common shape of a key that is not always there. */
const nullableColumn = (v: DynamicVector): SortColumn | undefined => {
  const parts = v.parts.map(flatten);
  const valued = parts.filter((p) => p.form !== 'null' && p.length > 0);
  if (valued.length !== 1 || (valued[0].form !== 'number' && valued[0].form !== 'bytes')) return undefined;
  const at = parts.indexOf(valued[0]);
  const inner = sortColumn(valued[0]);
  const isText = valued[0].form === 'bytes';
  if (isText && ofForm(valued[0], 'bytes').type !== types.string) return undefined;
  if (!isText && inner.prefix.includes(Infinity)) return undefined;
  const prefix = new Float64Array(v.length);
  for (let i = 0; i < prefix.length; i++) prefix[i] = v.tags[i] === at ? inner.prefix[v.slots[i]] : Infinity;
  const { exact } = inner;
  const { tags, slots } = v;
  return {
    prefix,
    ...(exact && {
      exact: (i: number, j: number) => (tags[i] === at && tags[j] === at ? exact(slots[i], slots[j]) : 0),
    }),
  };
};

/** Any values: their sort keys, one behind the other. */
const anyColumn = (v: Vector): SortColumn => {
  const out = new ByteWriter();
  const offsets = new Uint32Array(v.length + 1);
  for (let i = 0; i < v.length; i++) {
    writeKey(out, valueAt(v, i));
    offsets[i + 1] = out.length;
  }
  const { bytes } = out;
  const prefix = new Float64Array(v.length);
  for (let i = 0; i < prefix.length; i++) prefix[i] = textPrefix(bytes, offsets[i], offsets[i + 1]);
  return { prefix, exact: exactly(bytes, offsets, 0) };
};

/** Compares two rows that tie in all keys. */
export type TieBreak = (i: number, j: number) => number;

/** Order of rows by their bytes (as BSUP has them); bodies are made for rows that tie only. */
export const byBytes = (v: Vector): TieBreak => {
  const bodies = new Map<number, Uint8Array>();
  const body = (i: number): Uint8Array => {
    let bytes = bodies.get(i);
    if (!bytes) {
      const out = new ByteWriter();
      writeBody(out, typeAt(v, i), dataAt(v, i));
      bodies.set(i, (bytes = out.done()));
    }
    return bytes;
  };
  return (i, j) => compareBytes(body(i), body(j));
};

/** Rows in sorted order; undefined if they are so already. */
export const sortRows = (
  columns: readonly SortColumn[],
  length: number,
  options: { readonly descending: boolean; readonly ties?: TieBreak },
): Uint32Array | undefined => {
  const sign = options.descending ? -1 : 1;
  const first = columns[0]?.prefix ?? new Float64Array(length);
  const keys = options.descending ? first.map((x) => -x) : first;
  return mergeSort(keys, length, tieBreak(columns, options.ties, sign));
};

const tieBreak = (columns: readonly SortColumn[], ties: TieBreak | undefined, sign: number): TieBreak | undefined => {
  if (columns.length <= 1 && !columns[0]?.exact && !ties) return undefined;
  return (i, j) => {
    for (let k = 0; k < columns.length; k++) {
      const { prefix, exact } = columns[k];
      if (k > 0 && prefix[i] !== prefix[j]) return prefix[i] < prefix[j] ? -sign : sign;
      const c = exact ? exact(i, j) : 0;
      if (c !== 0) return c * sign;
    }
    return ties ? ties(i, j) * sign : 0;
  };
};

/** Merges runs that are in order as they are, or strictly the other way round, from the bottom up. */
const mergeSort = (keys: Float64Array, length: number, ties: TieBreak | undefined): Uint32Array | undefined => {
  if (length === 0 || ascendingEnd(keys, undefined, 0, length, ties) === length) return undefined;
  let fromKeys = keys.slice(0, length);
  let toKeys = newFloats(length);
  let fromRows = newWords(length);
  let toRows = newWords(length);
  for (let i = 0; i < length; i++) fromRows[i] = i;
  let starts = runStarts(fromKeys, fromRows, length, ties);
  while (starts.length > 2) {
    const merged = new Uint32Array((starts.length >> 1) + 1);
    let count = 0;
    for (let r = 0; r + 1 < starts.length; r += 2) {
      merged[count++] = starts[r];
      const middle = starts[r + 1];
      const end = r + 2 < starts.length ? starts[r + 2] : middle;
      mergeRuns(fromKeys, fromRows, toKeys, toRows, starts[r], middle, end, ties);
    }
    merged[count++] = length;
    starts = merged.subarray(0, count);
    [fromKeys, toKeys] = [toKeys, fromKeys];
    [fromRows, toRows] = [toRows, fromRows];
  }
  return fromRows;
};

/** The end of the rows from `start` that are in order; rows are counted if none are given. */
const ascendingEnd = (
  keys: Float64Array,
  rows: Uint32Array | undefined,
  start: number,
  length: number,
  ties: TieBreak | undefined,
): number => {
  let i = start + 1;
  for (; i < length; i++) {
    const a = keys[i - 1];
    const b = keys[i];
    if (a < b || (a === b && (!ties || ties(rows ? rows[i - 1] : i - 1, rows ? rows[i] : i) <= 0))) continue;
    break;
  }
  return i;
};
const descendingEnd = (
  keys: Float64Array,
  rows: Uint32Array,
  start: number,
  length: number,
  ties: TieBreak | undefined,
): number => {
  let i = start + 1;
  for (; i < length; i++) {
    const a = keys[i - 1];
    const b = keys[i];
    if (a > b || (a === b && ties && ties(rows[i - 1], rows[i]) > 0)) continue;
    break;
  }
  return i;
};

/** Where runs begin, and the end; runs that go the other way are turned round. */
const runStarts = (keys: Float64Array, rows: Uint32Array, length: number, ties: TieBreak | undefined): Uint32Array => {
  let starts = new Uint32Array(16);
  let count = 0;
  for (let start = 0; start < length; ) {
    if (count + 2 > starts.length) {
      const grown = new Uint32Array(starts.length * 2);
      grown.set(starts);
      starts = grown;
    }
    starts[count++] = start;
    let end = descendingEnd(keys, rows, start, length, ties);
    if (end - start > 1) {
      keys.subarray(start, end).reverse();
      rows.subarray(start, end).reverse();
    }
    end = ascendingEnd(keys, rows, end - 1, length, ties);
    start = end;
  }
  starts[count++] = length;
  return starts.subarray(0, count);
};

/** Rows of one run that go in a row before the search for all that do begins. */
const gallopMin = 8;

const mergeRuns = (
  fromKeys: Float64Array,
  fromRows: Uint32Array,
  toKeys: Float64Array,
  toRows: Uint32Array,
  start: number,
  middle: number,
  end: number,
  ties: TieBreak | undefined,
): void => {
  const isBefore = (i: number, j: number): boolean => {
    const a = fromKeys[i];
    const b = fromKeys[j];
    return a < b || (a === b && (!ties || ties(fromRows[i], fromRows[j]) <= 0));
  };
  const move = (from: number, to: number, at: number): number => {
    toKeys.set(fromKeys.subarray(from, to), at);
    toRows.set(fromRows.subarray(from, to), at);
    return at + to - from;
  };
  let left = start;
  let right = middle;
  let at = start;
  let lefts = 0;
  let rights = 0;
  while (left < middle && right < end) {
    const a = fromKeys[left];
    const b = fromKeys[right];
    const takeLeft = a < b || (a === b && (!ties || ties(fromRows[left], fromRows[right]) <= 0));
    if (takeLeft) {
      toKeys[at] = a;
      toRows[at++] = fromRows[left++];
      rights = 0;
      if (++lefts < gallopMin) continue;
      const until = firstFrom(left, middle, (i) => !isBefore(i, right));
      at = move(left, until, at);
      left = until;
      lefts = 0;
    } else {
      toKeys[at] = b;
      toRows[at++] = fromRows[right++];
      lefts = 0;
      if (++rights < gallopMin) continue;
      const until = firstFrom(right, end, (i) => isBefore(left, i));
      at = move(right, until, at);
      right = until;
      rights = 0;
    }
  }
  at = move(left, middle, at);
  move(right, end, at);
};
/** The first place from `start` on that is true, all behind it being true as well; found in steps that double. */
const firstFrom = (start: number, end: number, isTrue: (i: number) => boolean): number => {
  let low = start;
  let step = 1;
  while (low + step <= end && !isTrue(low + step - 1)) {
    low += step;
    step *= 2;
  }
  let high = Math.min(end, low + step - 1);
  while (low < high) {
    const middle = (low + high) >> 1;
    if (isTrue(middle)) high = middle;
    else low = middle + 1;
  }
  return low;
};
