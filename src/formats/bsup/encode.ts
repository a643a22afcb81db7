/**
 * Vectors as tagged bodies, a column at a time: first the sizes of all rows (`bodies`), then the bytes, for a range of
 * rows at given places. So a record's tag, which counts its bytes, is known before its fields are written, and the
 * loops run over one kind of column each.
 *
 * Invariant: ranges are written in order, each row once.
 */
import { checkStop } from '../../vectors/stop.ts';
import {
  type Field,
  type ListVector,
  type MapVector,
  type RecordVector,
  type UnionVector,
  type Vector,
  range,
  slice,
} from '../../vectors/vector.ts';
import {
  type EncodedColumn,
  type Space,
  type Target,
  leafColumn,
  markedMin,
  picked32,
  taggedSize,
  uniform,
  writeTag,
} from './encode-leaves.ts';

/** Most rows and items that one batch may unfold to; a batch beyond it is written in parts. */
const cellsMax = 4_000_000;
/** The batch unfolds to too much at once. */
export const tooManyCells = Symbol('too many cells');

interface Budget {
  cells: number;
  readonly limited: boolean;
  readonly space: Space | undefined;
}

/**
 * The rows of a vector, measured; good until the space begins again. Where like runs begin is marked in it as they are
 * written. @throws tooManyCells unless it is one row
 */
export const measure = (v: Vector, space?: Space): EncodedColumn =>
  column(v, { index: undefined, length: v.length, wrapped: false }, { cells: 0, limited: v.length > 1, space });

/**
 * Which rows of a vector: those of the index, or the first `length`. `wrapped`: inside an error or a name, where null
 * has an empty body.
 */
interface Rows {
  readonly index: Uint32Array | undefined;
  readonly length: number;
  readonly wrapped: boolean;
}

const column = (v: Vector, rows: Rows, budget: Budget): EncodedColumn => {
  budget.cells += rows.length;
  if (budget.limited && budget.cells > cellsMax) throw tooManyCells;
  switch (v.form) {
    case 'constant':
      return constantColumn(v.inner, rows, budget);
    case 'dictionary':
      return column(v.values, { ...rows, index: lookUp(v.codes, rows) }, budget);
    case 'selected':
      return column(v.base, { ...rows, index: lookUp(v.index, rows) }, budget);
    case 'dynamic':
      return dynamicColumn(
        parted(v.parts, v.tags, v.slots, { rows, wrapped: rows.wrapped, budget }),
        rows.length,
        budget,
      );
    case 'union':
      return unionColumn(v, rows, budget);
    case 'record':
      return recordColumn(v, rows, budget);
    case 'list':
      return listColumn(v, rows, [v.items], budget);
    case 'map':
      return listColumn(v, rows, [v.keys, v.values], budget);
    case 'error':
    case 'named':
      return column(v.inner, { ...rows, wrapped: true }, budget);
    default:
      return leafColumn(v, rows.index, rows.length, rows.wrapped, budget.space);
  }
};

const numbersOf = ({ space }: Budget, length: number): Float64Array => space?.take(length) ?? new Float64Array(length);
const zeros = (budget: Budget, length: number): Float64Array => numbersOf(budget, length).fill(0);

const lookUp = (table: Uint32Array, { index, length }: Rows): Uint32Array =>
  index ? picked32(table, index, length) : table;

/** One value many times: it is encoded once and copied. */
const constantColumn = (v: Vector, { length, wrapped }: Rows, budget: Budget): EncodedColumn => {
  // It is written somewhere else first, so nothing in it is marked, only the copies.
  const own = { ...budget, space: undefined };
  const one = column(v, { index: undefined, length: 1, wrapped }, own);
  const body = one.bodies[0];
  const size = taggedSize(body);
  budget.cells = own.cells;
  let bytes: Uint8Array | undefined;
  const encoded = (): Uint8Array => {
    bytes = new Uint8Array(size);
    one.write(0, 1, Float64Array.of(0), bytes);
    return bytes;
  };
  return {
    bodies: uniform(body, length),
    write(start, end, places, out) {
      const source = bytes ?? encoded();
      const bits = size >= markedMin ? budget.space?.marks : undefined;
      if (bits) markAll(bits, places, start, end);
      writeCopies(source, { start, end, places, out });
    },
  };
};

// The loops over rows are functions of their own, which take arrays, not vectors: the engine compiles them soon, once,
// and for good, whatever kinds of vectors come.

const markAll = (bits: Uint32Array, places: Float64Array, start: number, end: number): void => {
  for (let i = start; i < end; i++) bits[places[i] >> 5] |= 1 << (places[i] & 31);
};
const writeCopies = (source: Uint8Array, { start, end, places, out }: Target): void => {
  const { length } = source;
  for (let i = start; i < end; i++) {
    if (length > 32) out.set(source, places[i]);
    else for (let k = 0, to = places[i]; k < length; k++) out[to++] = source[k];
    places[i] += length;
  }
};

/** A column that has some of the rows of its parent, in order. */
class Part {
  readonly column: EncodedColumn;
  /** Row of the parent of each row. */
  readonly rows: Uint32Array;
  private readonly places: Float64Array;
  private next = 0;
  constructor(encoded: EncodedColumn, rows: Uint32Array, places: Float64Array) {
    this.column = encoded;
    this.rows = rows;
    this.places = places;
  }
  /** Writes its rows among the parent's up to `end`, at the parent's places, which move on. */
  write(end: number, places: Float64Array, out: Uint8Array): void {
    const { rows, next } = this;
    const own = this.places;
    const stop = placesOf(rows, next, end, places, own);
    this.column.write(next, stop, own, out);
    putPlaces(rows, next, stop, own, places);
    this.next = stop;
  }
  /** Sizes of its rows, put where they are in the parent. */
  addSizes(sizes: Float64Array): void {
    addPicked(this.column.bodies, this.rows, sizes);
  }
}
/** The places of the part's rows from `start` on that are before the parent's row `end`; the first that is not. */
const placesOf = (rows: Uint32Array, start: number, end: number, places: Float64Array, own: Float64Array): number => {
  let i = start;
  for (; i < rows.length && rows[i] < end; i++) own[i] = places[rows[i]];
  return i;
};
const putPlaces = (rows: Uint32Array, start: number, end: number, own: Float64Array, places: Float64Array): void => {
  for (let i = start; i < end; i++) places[rows[i]] = own[i];
};
const addPicked = (bodies: Float64Array, rows: Uint32Array, sizes: Float64Array): void => {
  for (let i = 0; i < rows.length; i++) sizes[rows[i]] += taggedSize(bodies[i]);
};
const addAll = (bodies: Float64Array, sizes: Float64Array): void => {
  for (let i = 0; i < sizes.length; i++) sizes[i] += taggedSize(bodies[i]);
};
const putBodies = (bodies: Float64Array, rows: Uint32Array, out: Float64Array): void => {
  for (let i = 0; i < rows.length; i++) out[rows[i]] = bodies[i];
};
const writeTags = (bodies: Float64Array, { start, end, places, out }: Target): void => {
  for (let i = start; i < end; i++) places[i] = writeTag(out, places[i], bodies[i]);
};

/** Rows by part; parts without a row are left out. */
const parted = (
  parts: readonly Vector[],
  tags: Uint32Array,
  slots: Uint32Array,
  { rows, wrapped, budget }: { readonly rows: Rows; readonly wrapped: boolean; readonly budget: Budget },
): readonly Part[] => {
  const ownTags = lookUp(tags, rows);
  const ownSlots = lookUp(slots, rows);
  const counts = new Uint32Array(parts.length);
  countTags(ownTags, rows.length, counts);
  const ends = counts.slice();
  for (let k = 1; k < ends.length; k++) ends[k] += ends[k - 1];
  const allRows = new Uint32Array(rows.length);
  const allSlots = new Uint32Array(rows.length);
  splitRows(
    ownTags,
    ownSlots,
    Uint32Array.from(ends, (end, tag) => end - counts[tag]),
    allRows,
    allSlots,
  );
  return parts.flatMap((part, tag) => {
    const count = counts[tag];
    const start = ends[tag] - count;
    if (count === 0) return [];
    const parentRows = allRows.subarray(start, ends[tag]);
    const index = allSlots.subarray(start, ends[tag]);
    // Mostly the rows are in order, which saves a look-up for each value.
    const whole = isRun(index);
    const from = index[0];
    return [
      new Part(
        column(
          whole ? slice(part, from, from + count) : part,
          { index: whole ? undefined : index, length: count, wrapped },
          budget,
        ),
        parentRows,
        numbersOf(budget, count),
      ),
    ];
  });
};
const countTags = (tags: Uint32Array, length: number, counts: Uint32Array): void => {
  for (let i = 0; i < length; i++) counts[tags[i]]++;
};
/** Rows and slots of each part behind those of the part before; `next` begins where each part does. */
const splitRows = (
  tags: Uint32Array,
  slots: Uint32Array,
  next: Uint32Array,
  rowsOut: Uint32Array,
  slotsOut: Uint32Array,
): void => {
  for (let i = 0; i < rowsOut.length; i++) {
    const at = next[tags[i]]++;
    rowsOut[at] = i;
    slotsOut[at] = slots[i];
  }
};

const isRun = (index: Uint32Array): boolean => {
  const first = index[0];
  for (let i = 1; i < index.length; i++) if (index[i] !== first + i) return false;
  return true;
};

const dynamicColumn = (parts: readonly Part[], length: number, budget: Budget): EncodedColumn => {
  const bodies = numbersOf(budget, length);
  for (const {
    rows,
    column: { bodies: own },
  } of parts)
    putBodies(own, rows, bodies);
  return {
    bodies,
    write(_start, end, places, out) {
      for (const part of parts) part.write(end, places, out);
    },
  };
};

const unionColumn = (v: UnionVector, rows: Rows, budget: Budget): EncodedColumn => {
  const parts = parted(v.members, v.tags, v.slots, { rows, wrapped: false, budget });
  const bodies = zeros(budget, rows.length);
  const { tags } = v;
  const { index } = rows;
  for (const part of parts) part.addSizes(bodies);
  for (let i = 0; i < rows.length; i++) bodies[i] += 1 + bytesOfIndex(tags[index ? index[i] : i]);
  return {
    bodies,
    write(start, end, places, out) {
      for (let i = start; i < end; i++) {
        let at = writeTag(out, places[i], bodies[i]);
        let rest = tags[index ? index[i] : i];
        out[at++] = bytesOfIndex(rest) + 1;
        for (; rest > 0; rest >>>= 8) out[at++] = rest;
        places[i] = at;
      }
      for (const part of parts) part.write(end, places, out);
    },
  };
};
const bytesOfIndex = (x: number): number => (x === 0 ? 0 : x < 0x100 ? 1 : x < 0x10000 ? 2 : x < 0x1000000 ? 3 : 4);

const recordColumn = (v: RecordVector, rows: Rows, budget: Budget): EncodedColumn => {
  const bodies = zeros(budget, rows.length);
  const optional = v.fields.filter((f) => f.optional);
  const bitBytes = (optional.length + 7) >> 3;
  const fields = v.fields.map((f) => fieldColumn(f, rows, budget, bodies));
  if (bitBytes > 0) for (let i = 0; i < rows.length; i++) bodies[i] += bitBytes + 1;
  return {
    bodies,
    write(start, end, places, out) {
      writeTags(bodies, { start, end, places, out });
      if (bitBytes > 0) writeAbsent(optional, rows, { start, end, places, out });
      for (const write of fields) write(start, end, places, out);
    },
  };
};

type Write = EncodedColumn['write'];

/** Adds the field's bytes to the record's bodies. Absent values are passed over. */
const fieldColumn = (f: Field, rows: Rows, budget: Budget, sizes: Float64Array): Write => {
  const { present } = f;
  const { index, length } = rows;
  if (!present) {
    const encoded = column(f.values, { index, length, wrapped: false }, budget);
    const { bodies } = encoded;
    addAll(bodies, sizes);
    return (start, end, places, out) => encoded.write(start, end, places, out);
  }
  const parentRows = new Uint32Array(length);
  const own = new Uint32Array(length);
  const count = presentRows(present, index ?? range(0, length), parentRows, own);
  if (count === 0) return () => undefined;
  const part = new Part(
    column(f.values, { index: own.subarray(0, count), length: count, wrapped: false }, budget),
    parentRows.subarray(0, count),
    numbersOf(budget, count),
  );
  part.addSizes(sizes);
  return (_start, end, places, out) => part.write(end, places, out);
};

/** Rows that are present, and their numbers among all; how many they are. */
const presentRows = (present: Uint8Array, index: Uint32Array, rowsOut: Uint32Array, out: Uint32Array): number => {
  let count = 0;
  for (let i = 0; i < index.length; i++) {
    if (present[index[i]] === 0) continue;
    rowsOut[count] = i;
    out[count++] = index[i];
  }
  return count;
};

/** The bits of a record's optional fields: 1 where one is absent. */
const writeAbsent = (
  fields: readonly Field[],
  { index }: Rows,
  {
    start,
    end,
    places,
    out,
  }: { readonly start: number; readonly end: number; readonly places: Float64Array; readonly out: Uint8Array },
): void => {
  const bitBytes = (fields.length + 7) >> 3;
  for (let i = start; i < end; i++) {
    const row = index ? index[i] : i;
    const at = writeTag(out, places[i], bitBytes);
    out.fill(0, at, at + bitBytes);
    for (let k = 0; k < fields.length; k++)
      if (fields[k].present && fields[k].present![row] === 0) out[at + (k >> 3)] |= 1 << (k & 7);
    places[i] = at + bitBytes;
  }
};

/** Arrays, sets and maps: the items of all rows are columns of their own. */
const listColumn = (
  v: ListVector | MapVector,
  rows: Rows,
  children: readonly Vector[],
  budget: Budget,
): EncodedColumn => {
  const { index, length } = rows;
  const { offsets } = v;
  const ends = new Float64Array(length + 1);
  if (index) pickedEnds(offsets, index, ends);
  else allEnds(offsets, ends);
  const total = ends[length];
  checkStop();
  if (budget.limited && budget.cells + total * children.length > cellsMax) throw tooManyCells;
  const items = { index: itemsOf(offsets, rows, total), length: total, wrapped: false };
  const columns = children.map((child) => column(child, items, budget));
  checkStop();
  const bodies = new Float64Array(length);
  const places = new Float64Array(total);
  for (const { bodies: own } of columns) addItems(own, ends, bodies);
  return {
    bodies,
    write(start, end, parentPlaces, out) {
      checkStop();
      if (columns.length === 1)
        placeItems(bodies, columns[0].bodies, ends, places, { start, end, places: parentPlaces, out });
      else
        placePairs(bodies, columns[0].bodies, columns[1].bodies, ends, places, {
          start,
          end,
          places: parentPlaces,
          out,
        });
      // A value goes behind its key: writing the keys moves the places on to there.
      for (const { write } of columns) {
        checkStop();
        write(ends[start], ends[end], places, out);
      }
    },
  };
};
const allEnds = (offsets: Uint32Array, ends: Float64Array): void => {
  for (let i = 1; i < ends.length; i++) ends[i] = ends[i - 1] + offsets[i] - offsets[i - 1];
};
const pickedEnds = (offsets: Uint32Array, index: Uint32Array, ends: Float64Array): void => {
  for (let i = 1; i < ends.length; i++) ends[i] = ends[i - 1] + offsets[index[i - 1] + 1] - offsets[index[i - 1]];
};
const addItems = (items: Float64Array, ends: Float64Array, bodies: Float64Array): void => {
  for (let i = 0; i < bodies.length; i++) for (let k = ends[i]; k < ends[i + 1]; k++) bodies[i] += taggedSize(items[k]);
};
/** Writes the tags of lists and finds the places of their items. */
const placeItems = (
  bodies: Float64Array,
  items: Float64Array,
  ends: Float64Array,
  itemPlaces: Float64Array,
  { start, end, places, out }: Target,
): void => {
  for (let i = start; i < end; i++) {
    let at = writeTag(out, places[i], bodies[i]);
    for (let k = ends[i]; k < ends[i + 1]; k++) {
      itemPlaces[k] = at;
      at += taggedSize(items[k]);
    }
    places[i] = at;
  }
};
/** The same for maps: the places are those of the keys. */
const placePairs = (
  bodies: Float64Array,
  keys: Float64Array,
  values: Float64Array,
  ends: Float64Array,
  itemPlaces: Float64Array,
  { start, end, places, out }: Target,
): void => {
  for (let i = start; i < end; i++) {
    let at = writeTag(out, places[i], bodies[i]);
    for (let k = ends[i]; k < ends[i + 1]; k++) {
      itemPlaces[k] = at;
      at += taggedSize(keys[k]) + taggedSize(values[k]);
    }
    places[i] = at;
  }
};
/** Rows of the items, or undefined if they are the first ones as they are. */
const itemsOf = (offsets: Uint32Array, { index, length }: Rows, total: number): Uint32Array | undefined => {
  if (!index) return offsets[0] === 0 ? undefined : range(offsets[0], offsets[length]);
  const out = new Uint32Array(total);
  let to = 0;
  for (let i = 0; i < length; i++) for (let k = offsets[index[i]]; k < offsets[index[i] + 1]; k++) out[to++] = k;
  return out;
};
