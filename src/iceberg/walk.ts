/** A walk over values of any shape, which tells a sink what they are, part by part (columns.ts). */
import { types } from '../vectors/type.ts';
import {
  type Field,
  type ListVector,
  type MapVector,
  type NamedVector,
  type RecordVector,
  type UnionVector,
  type Vector,
  flatten,
  itemsOf,
  lookUp,
  take,
  typeAt,
} from '../vectors/vector.ts';
import type { ColumnKey, ColumnRole, ColumnSet, TableColumn } from './columns.ts';
import { decimalAmongParts, hasNanos, kindOf, kindOfMaps, kindWithin } from './kind-of.ts';
import { listOf, nestingMax, partsOf, variantKind } from './kinds.ts';
import { type NamedKind, namedParts } from './named.ts';

/** Where a value is in its row. `depth`: of lists, maps and records around it. */
export interface Place {
  readonly parent: number;
  readonly role: ColumnRole;
  readonly field: string;
  readonly depth: number;
  /** The kind of all values there, which are the items of lists or maps. */
  readonly kind?: string;
  /** The kind of the decimals that long ones are beside. */
  readonly decimal?: NamedKind | undefined;
}
export interface EmptyPlace extends Place {
  readonly form: 'list' | 'map';
}
const within = (column: TableColumn, role: ColumnRole, place: Place, field = ''): Place => ({
  parent: column.id,
  role,
  field,
  depth: place.depth + 1,
});
export const keyAt = ({ parent, role, field }: Place, kind: string): ColumnKey => ({ parent, role, field, kind });

/** The rows that values have: these, or those from a first one on. */
export type Rows = Uint32Array | number;
export const rowAt = (rows: Rows, i: number): number => (typeof rows === 'number' ? rows + i : rows[i]!);
export const rowsOf = (rows: Rows, picked: Uint32Array): Uint32Array => {
  if (rows === 0) return picked;
  if (typeof rows !== 'number') return lookUp(rows, picked);
  const out = new Uint32Array(picked.length);
  for (let i = 0; i < out.length; i++) out[i] = rows + picked[i]!;
  return out;
};

/** What takes the values of a column. */
export interface Sink {
  /** The column of a key; undefined if the table has no room for it. */
  column(key: ColumnKey): TableColumn | undefined;
  leaf(column: TableColumn, values: Vector, rows: Rows): void;
  /** `field`: the name of one of the records' fields. */
  record(column: TableColumn, length: number, rows: Rows, field: string): void;
  /** Lists or maps of rows: their items begin at the row that is given back, of the columns that are in this one. */
  runs(
    column: TableColumn,
    offsets: Uint32Array,
    length: number,
    rows: Rows,
  ): { readonly sink: Sink; readonly first: number };
  /** Lists or maps that are empty, and do not say of what. */
  empty(place: EmptyPlace, v: ListVector | MapVector, rows: Rows): void;
}

/** Gives values to a sink; false if the table has no room for some of them. */
const walk = (v: Vector, rows: Rows, place: Place, sink: Sink): boolean => {
  if (v.length === 0) return true;
  switch (v.form) {
    case 'named':
      return walkNamed(v, rows, place, sink);
    case 'constant':
    case 'dictionary':
    case 'selected':
      return isTextView(v) ? walkScalar(v, rows, place, sink) : walk(flatten(v), rows, place, sink);
    case 'union':
      return walkParts(v, v.members, rows, { ...place, decimal: decimalAmongParts(v) }, sink);
    case 'dynamic':
      return walkParts(v, v.parts, rows, { ...place, decimal: decimalAmongParts(v) }, sink);
    case 'null':
      return true;
    case 'record':
      return v.fields.length === 0 || place.depth >= nestingMax
        ? leaf('json', v, rows, place, sink)
        : walkRecord(v, rows, place, sink);
    case 'list':
      return walkList(v, rows, place, sink);
    case 'map':
      return walkMap(v, rows, place, sink);
    case 'error':
      return leaf(place.role === 'field' ? 'error' : 'json', v, rows, place, sink);
    default:
      return walkScalar(v, rows, place, sink);
  }
};

/** Values that are what their name says, in columns of that; others as they are without it. */
const walkNamed = (v: NamedVector, rows: Rows, place: Place, sink: Sink): boolean => {
  if (place.kind !== undefined) return leaf(place.kind, v, rows, place, sink);
  let isWhole = true;
  for (const { kind, rows: picked } of namedParts(v, place.decimal)) {
    const own = picked ? rowsOf(rows, picked) : rows;
    const values = kind === undefined ? v.inner : v;
    const part = picked ? take(values, picked) : values;
    isWhole = (kind === undefined ? walk(part, own, place, sink) : leaf(kind, part, own, place, sink)) && isWhole;
  }
  return isWhole;
};

/** What union-like rows are made of: each part with its rows, in the order in which they come. */
export const tagParts = (
  v: { readonly length: number; readonly tags: Uint32Array; readonly slots: Uint32Array },
  parts: readonly Vector[],
  rows: Rows,
): readonly { readonly tag: number; readonly values: Vector; readonly rows: Rows }[] => {
  const counts = new Uint32Array(parts.length);
  const order: number[] = [];
  for (let i = 0; i < v.length; i++) if (counts[v.tags[i]!]!++ === 0) order.push(v.tags[i]!);
  const starts = new Uint32Array(parts.length);
  for (let tag = 1; tag < parts.length; tag++) starts[tag] = starts[tag - 1]! + counts[tag - 1]!;
  const slots = new Uint32Array(v.length);
  const picked = new Uint32Array(v.length);
  byTag(v, starts.slice(), slots, picked);
  return order.map((tag) => {
    const part = parts[tag]!;
    const [start, end] = [starts[tag]!, starts[tag]! + counts[tag]!];
    const own = slots.subarray(start, end);
    return {
      tag,
      values: isCounted(own, part.length) ? part : take(part, own),
      rows: end - start === v.length ? rows : rowsOf(rows, picked.subarray(start, end)),
    };
  });
};
const byTag = (
  { tags, slots, length }: Pick<UnionVector, 'tags' | 'slots' | 'length'>,
  places: Uint32Array,
  out: Uint32Array,
  rows: Uint32Array,
): void => {
  for (let i = 0; i < length; i++) {
    const place = places[tags[i]!]!++;
    out[place] = slots[i]!;
    rows[place] = i;
  }
};
/** What comes first gets the field's own name. */
const walkParts = (
  v: Parameters<typeof tagParts>[0],
  parts: readonly Vector[],
  rows: Rows,
  place: Place,
  sink: Sink,
): boolean => {
  let isWhole = true;
  for (const part of tagParts(v, parts, rows)) isWhole = walk(part.values, part.rows, place, sink) && isWhole;
  return isWhole;
};
const isCounted = (slots: Uint32Array, length: number): boolean => {
  if (slots.length !== length) return false;
  for (let i = 0; i < length; i++) if (slots[i] !== i) return false;
  return true;
};

const walkRecord = (v: RecordVector, rows: Rows, place: Place, sink: Sink): boolean => {
  const column = sink.column(keyAt(place, 'record'));
  if (!column) return false;
  if (column.kind === variantKind) return given(column, v, rows, sink);
  sink.record(column, v.length, rows, v.fields[0]?.name ?? '');
  return walkFields(
    v,
    rows,
    (field) => within(column, 'field', place, field),
    sink,
    () => undefined,
  );
};
/** `failed`: told of each field that the table has no room for, with the rows that have it. */
const walkFields = (
  v: RecordVector,
  rows: Rows,
  placeOf: (field: string) => Place,
  sink: Sink,
  failed: (field: Field, present: Uint32Array | undefined) => void,
): boolean => {
  let isWhole = true;
  for (const field of v.fields) {
    const present = field.present && presentRows(field.present, v.length);
    const values = present ? take(field.values, present) : field.values;
    if (walk(values, present ? rowsOf(rows, present) : rows, placeOf(field.name), sink)) continue;
    isWhole = false;
    failed(field, present);
  }
  return isWhole;
};
/** The rows where a field is there; undefined: all. */
export const presentRows = (present: Uint8Array, length: number): Uint32Array | undefined => {
  let count = 0;
  for (let i = 0; i < length; i++) count += present[i]!;
  if (count === length) return undefined;
  const out = new Uint32Array(count);
  for (let i = 0, to = 0; to < count; i++) if (present[i] === 1) out[to++] = i;
  return out;
};

const walkList = (v: ListVector, rows: Rows, place: Place, sink: Sink): boolean => {
  const items = itemsOf(v, v.items);
  if (items.length === 0) {
    sink.empty({ ...place, form: 'list' }, v, rows);
    return true;
  }
  const depth = place.depth + 1;
  const kind = depth > nestingMax ? 'json' : listOf(kindWithin(items, depth) ?? kindOf(v.type.element, depth));
  if (kind === 'json') return leaf('json', v, rows, place, sink);
  const column = sink.column(keyAt(place, kind));
  if (!column) return false;
  const parts = partsOf(column.kind);
  if (parts.form === 'variant') return given(column, v, rows, sink);
  const { sink: inner, first } = sink.runs(column, v.offsets, v.length, rows);
  return walkItems(items, first, within(column, 'element', place), inner, parts);
};
const walkMap = (v: MapVector, rows: Rows, place: Place, sink: Sink): boolean => {
  const keys = itemsOf(v, v.keys);
  const values = itemsOf(v, v.values);
  if (keys.length === 0) {
    sink.empty({ ...place, form: 'map' }, v, rows);
    return true;
  }
  const kind = kindOfMaps(v, place.depth);
  if (kind === 'json') return leaf('json', v, rows, place, sink);
  const column = sink.column(keyAt(place, kind));
  if (!column) return false;
  const parts = partsOf(column.kind);
  if (parts.form === 'variant') return given(column, v, rows, sink);
  const { sink: inner, first } = sink.runs(column, v.offsets, v.length, rows);
  const areKeysWhole = walkItems(keys, first, within(column, 'key', place), inner, parts);
  return walkItems(values, first, within(column, 'value', place), inner, parts) && areKeysWhole;
};
/** Items are of one kind each: what its text says. */
const walkItems = (
  items: Vector,
  first: number,
  place: Place,
  sink: Sink,
  parts: ReturnType<typeof partsOf>,
): boolean => {
  const kind = parts.form === 'list' ? parts.element : parts.form === 'map' ? parts[place.role as 'key' | 'value'] : '';
  if (kind === 'json' || kind === variantKind) return leaf(kind, items, first, place, sink);
  return walk(items, first, kind !== '' && partsOf(kind).form === 'scalar' ? { ...place, kind } : place, sink);
};

/** Texts that are elsewhere: they are looked up when they are written. */
export const isTextView = (v: Vector): boolean => {
  const base =
    v.form === 'selected' ? v.base : v.form === 'dictionary' ? v.values : v.form === 'constant' ? v.inner : v;
  return base !== v && base.form === 'bytes' && base.type === types.string;
};
const walkScalar = (v: Exclude<Vector, { form: 'null' }>, rows: Rows, place: Place, sink: Sink): boolean => {
  const kind = place.kind ?? kindOf(typeAt(v, 0), place.depth) ?? 'json';
  const column = sink.column(keyAt(place, kind));
  if (column) sink.leaf(column, column.kind === variantKind ? flatten(v) : v, rows);
  const isWhole = column !== undefined;
  if (column?.kind === variantKind || kind !== 'time' || place.role !== 'field' || v.form !== 'number' || !hasNanos(v))
    return isWhole;
  const fine = new Uint32Array(v.length);
  let count = 0;
  for (let i = 0; i < v.length; i++) if (Number(BigInt(v.values[i]!) % 1000n) !== 0) fine[count++] = i;
  const picked = fine.subarray(0, count);
  return leaf('ns', take(v, picked), rowsOf(rows, picked), place, sink) && isWhole;
};
/** A column of variants takes values whole. */
const given = (column: TableColumn, v: Vector, rows: Rows, sink: Sink): true => {
  sink.leaf(column, v, rows);
  return true;
};
const leaf = (kind: string, v: Vector, rows: Rows, place: Place, sink: Sink): boolean => {
  const column = sink.column(keyAt(place, kind));
  if (column) sink.leaf(column, v, rows);
  return column !== undefined;
};

/** Rows at the top: records, and what is none, which is in the rest whole. */
export const walkRows = (
  v: Vector,
  first: Rows,
  sink: Sink,
  rest: (field: string | undefined, values: Vector, rows: Rows) => void,
): boolean => {
  switch (v.form) {
    case 'named':
      return walkRows(v.inner, first, sink, rest);
    case 'constant':
    case 'dictionary':
    case 'selected':
      return walkRows(flatten(v), first, sink, rest);
    case 'union':
    case 'dynamic': {
      let isWhole = true;
      const parts = tagParts(v, v.form === 'union' ? v.members : v.parts, first).toSorted((a, b) => a.tag - b.tag);
      for (const { values, rows } of parts) isWhole = walkRows(values, rows, sink, rest) && isWhole;
      return isWhole;
    }
    case 'record':
      if (v.fields.length === 0) return true;
      return walkFields(
        v,
        first,
        (field) => ({ parent: 0, role: 'field', field, depth: 0 }),
        sink,
        (field, present) => {
          rest(
            field.name,
            present ? take(field.values, present) : field.values,
            present ? rowsOf(first, present) : first,
          );
        },
      );
    default:
      rest(undefined, v, first);
      return v.length === 0;
  }
};

/** The lists or maps that what is empty goes to: the first ones of its field; or variants, if it may be in these. */
export const runsAt = (set: ColumnSet, place: EmptyPlace): TableColumn | undefined => {
  const isAt = ({ role, field }: TableColumn): boolean => role === place.role && field === place.field;
  if (set.mapping === 'typed')
    return set.below(place.parent).find((column) => isAt(column) && partsOf(column.kind).form === place.form);
  const first = set.first(place);
  if (!first) return undefined;
  const { form } = partsOf(first.kind);
  return form === place.form || form === 'variant' ? first : set.find({ ...keyAt(place, variantKind) });
};
