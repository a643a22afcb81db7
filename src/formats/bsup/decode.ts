/**
 * Bodies of values (reference/formats/bsup.md section 4) to vectors, a column at a time: records, lists and unions are
 * walked for the places of what is in them, then each column is read by itself. Nothing is made per row.
 *
 * Invariants:
 * - A value is within the bytes of what it is in: each walk compares every tag with the end of its record, list or
 *   union.
 * - Records of one shape share a vector, fields of theirs may then hold several types. Not so below an optional field
 *   (`exact`): an absent field lends its type from any row of its part, so all rows of a part there have one type.
 * - Recursion goes no deeper than the type, whose depth is bounded.
 */
import { shapeOf } from '../../vectors/builder.ts';
import { Uint32List } from '../../vectors/lists.ts';
import type { MapType, RecordType, SetType, Type, UnionType } from '../../vectors/type.ts';
import { compareBytes } from '../../vectors/value.ts';
import { type Field, type FlatVector, type Vector, constant, gather } from '../../vectors/vector.ts';
import { emptyOf, zeroOf } from '../placeholders.ts';
import { BytesFault } from '../columns/type-bytes.ts';
import {
  type Places,
  type Source,
  leafOf,
  malformed,
  smallUnsigned,
  sourceOf,
  spanAt,
  tagAt,
  tagBytes,
} from './decode-leaves.ts';

/** Most values, those inside of others counted, that rows may unfold to: a row of its own, and rows together. */
const cellsMax = 32_000_000;
const cellsTogetherMax = 4_000_000;
/** Rows unfold to too much at once; fewer of them may not. */
export const tooManyCells = Symbol('too many cells');

/** Rows of several types: row `i` has type `types[codes[i]]`. */
export interface Rows extends Places {
  readonly codes: Uint32Array;
  readonly types: readonly Type[];
}

/** The vector of these rows. @throws BytesFault, tooManyCells */
export const decodeRows = (bytes: Uint8Array, rows: Rows, nestingMax: number): Vector =>
  new Decoder(bytes, nestingMax, rows.length).rows(rows, false);
/** The vector of values of one type. @throws BytesFault, tooManyCells */
export const decodeColumn = (bytes: Uint8Array, type: Type, places: Places, nestingMax: number): Vector =>
  new Decoder(bytes, nestingMax, places.length).column(type, places);

class Decoder {
  private readonly source: Source;
  private readonly cellsMax: number;
  private readonly together: boolean;
  private readonly scratch = scratch;
  private cells = 0;
  constructor(bytes: Uint8Array, nestingMax: number, rows: number) {
    this.source = sourceOf(bytes, nestingMax);
    this.together = rows > 1;
    this.cellsMax = this.together ? cellsTogetherMax : cellsMax;
    this.scratch.reset();
  }

  private count(cells: number): void {
    this.cells += cells;
    if (this.cells <= this.cellsMax) return;
    if (this.together) throw tooManyCells;
    throw new BytesFault(`a value of more than ${cellsMax} values`);
  }

  /** Rows by what shares a vector, types (or shapes) in the order of their codes. */
  rows({ at, length, codes, types }: Rows, exact: boolean): Vector {
    const { parts, partOf } = partsOf(types, codes.subarray(0, length), exact);
    if (parts.length === 1) return this.part(parts[0], { at, length, codes, types });
    const tags = new Uint32Array(length);
    const slots = new Uint32Array(length);
    const starts = new Uint32Array(parts.length);
    const grouped = this.scratch.take(length);
    const groupedCodes = this.scratch.take(length);
    parts.forEach((part, tag) => {
      if (tag > 0) starts[tag] = starts[tag - 1] + parts[tag - 1].rows;
    });
    const next = starts.slice();
    for (let i = 0; i < length; i++) {
      const tag = partOf[codes[i]];
      const to = next[tag]++;
      tags[i] = tag;
      slots[i] = to - starts[tag];
      grouped[to] = at[i];
      groupedCodes[to] = codes[i];
    }
    const vectors = parts.map((part, tag) => {
      const start = starts[tag];
      const end = start + part.rows;
      return this.part(part, {
        at: grouped.subarray(start, end),
        length: part.rows,
        codes: groupedCodes.subarray(start, end),
        types,
      });
    });
    return { form: 'dynamic', length, tags, slots, parts: vectors };
  }
  /** Rows of one type, or records of one shape. */
  private part({ types: distinct }: PartTypes, { at, length, codes, types }: Rows): Vector {
    if (distinct.length === 1) return this.column(distinct[0], { at, length });
    const order = new Map(distinct.map((t, k) => [t, k]));
    const place = Uint32Array.from(types, (t) => order.get(t) ?? 0);
    const own = new Uint32Array(length);
    for (let i = 0; i < length; i++) own[i] = place[codes[i]];
    return this.records(distinct as readonly RecordType[], { at, length }, own);
  }

  /** Values of one type. */
  column(type: Type, places: Places): Vector {
    const { length } = places;
    if (length === 0) return emptyOf(type);
    switch (type.kind) {
      case 'primitive':
      case 'enum':
        return leafOf(this.source, type, places);
      case 'record':
        return this.records([type], places);
      case 'array': {
        const { offsets, items } = this.items(places);
        return { form: 'list', type, length, offsets, items: this.column(type.element, items) };
      }
      case 'set':
        return this.set(type, places);
      case 'map':
        return this.map(type, places);
      case 'union':
        return this.union(type, places);
      case 'error':
        return { form: 'error', length, inner: this.column(type.inner, places) };
      case 'named':
        return { form: 'named', name: type.name, length, inner: this.column(type.inner, places) };
    }
  }

  /** Records of one shape. `codes`: which of the types each has, if there are several. */
  private records(distinct: readonly RecordType[], rows: Places, codes: Uint32Array = new Uint32Array(0)): FlatVector {
    const { length } = rows;
    const [{ fields }] = distinct;
    this.count(length * fields.length);
    const present = fields.map((f) => (f.optional ? new Uint8Array(length) : undefined));
    const counts = new Uint32Array(fields.length).fill(length);
    const { bytes } = this.source;
    const room = this.scratch.take(length * fields.length);
    const at = present.some((p) => p) ? walkSparse(bytes, rows, room, { present, counts }) : walk(bytes, rows, room);
    return {
      form: 'record',
      length,
      fields: fields.map(({ name, optional }, k): Field => {
        const places: Places = { at: at.subarray(k * length, k * length + counts[k]), length: counts[k] };
        const there = present[k];
        const fieldTypes = distinct.map((t) => t.fields[k].type);
        const [type] = fieldTypes;
        if (fieldTypes.every((t) => t === type)) {
          const values = this.column(type, places);
          return there
            ? { name, optional, present: there, values: spread(type, values, there) }
            : { name, optional, values };
        }
        const own: Rows = { at: places.at, length, codes, types: fieldTypes };
        return there
          ? { name, optional, present: there, values: this.optional(there, own) }
          : { name, optional, values: this.rows(own, false) };
      }),
    };
  }
  /**
   * Values of an optional field that has several types, in a part for each: where it is absent, any value of its part
   * lends its type.
   */
  private optional(present: Uint8Array, { at, codes, types, length }: Rows): Vector {
    const { parts, partOf } = partsOf(types, codes, true);
    const lists = parts.map(() => new Uint32List());
    const tags = new Uint32Array(length);
    const slots = new Uint32Array(length);
    for (let i = 0, next = 0; i < length; i++) {
      const tag = (tags[i] = partOf[codes[i]]);
      const list = lists[tag];
      if (present[i] === 0) continue;
      slots[i] = list.length;
      list.push(at[next++]);
    }
    const vectors = lists.map((list, tag) => {
      const [type] = parts[tag].types;
      return list.length === 0 ? zeroOf(type) : this.column(type, { at: list.array, length: list.length });
    });
    return { form: 'dynamic', length, tags, slots, parts: vectors };
  }

  /** What is in lists: where each begins, and the places of the items. */
  private items({ at, length }: Places): { readonly offsets: Uint32Array; readonly items: Places } {
    const { bytes } = this.source;
    const offsets = new Uint32Array(length + 1);
    const list = new Uint32List();
    for (let i = 0; i < length; i++) {
      const place = at[i];
      const end = place + spanAt(bytes, place);
      if (bytes[place] === 0) throw malformed();
      let next = place + tagBytes(bytes, place);
      while (next < end) {
        list.push(next);
        next += spanAt(bytes, next);
      }
      if (next !== end) throw malformed();
      offsets[i + 1] = list.length;
    }
    this.count(list.length);
    return { offsets, items: { at: list.array, length: list.length } };
  }

  private set(type: SetType, places: Places): FlatVector {
    const { length } = places;
    const { offsets, items } = ordered(this.source.bytes, this.items(places), 1);
    return { form: 'list', type, length, offsets, items: this.column(type.element, items) };
  }

  private map(type: MapType, places: Places): FlatVector {
    const { bytes } = this.source;
    const found = this.items(places);
    const { length } = places;
    for (let i = 1; i <= length; i++) if ((found.offsets[i] & 1) === 1) throw malformed();
    const { offsets, items } = ordered(bytes, found, 2);
    const count = items.length / 2;
    const keys = new Uint32Array(count);
    const values = new Uint32Array(count);
    for (let i = 0; i < count; i++) {
      keys[i] = items.at[i * 2];
      values[i] = items.at[i * 2 + 1];
    }
    return {
      form: 'map',
      type,
      length,
      offsets: offsets.map((x) => x / 2),
      keys: this.column(type.key, { at: keys, length: count }),
      values: this.column(type.value, { at: values, length: count }),
    };
  }

  private union(type: UnionType, { at, length }: Places): FlatVector {
    const { bytes } = this.source;
    const tags = new Uint32Array(length);
    const slots = new Uint32Array(length);
    const lists = type.members.map(() => new Uint32List());
    for (let i = 0; i < length; i++) {
      const place = at[i];
      const end = place + spanAt(bytes, place);
      const index = place + tagBytes(bytes, place);
      if (index >= end || bytes[place] === 0) throw malformed();
      const value = index + spanAt(bytes, index);
      const tag = bytes[index] === 0 ? 0 : value < end ? smallUnsigned(bytes, index) : lists.length;
      if (value >= end || tag >= lists.length || value + spanAt(bytes, value) !== end) throw malformed();
      tags[i] = tag;
      slots[i] = lists[tag].length;
      lists[tag].push(value);
    }
    this.count(length);
    const members = type.members.map((m, k) => this.column(m, { at: lists[k].array, length: lists[k].length }));
    return { form: 'union', type, length, tags, slots, members };
  }
}

interface PartTypes {
  readonly types: Type[];
  rows: number;
}
/** What shares a vector: rows of one type or, unless `exact`, records of one shape. `partOf`: by code. */
const partsOf = (
  types: readonly Type[],
  codes: Uint32Array,
  exact: boolean,
): { readonly parts: readonly PartTypes[]; readonly partOf: Uint32Array } => {
  const counts = new Uint32Array(types.length);
  const partOf = new Uint32Array(types.length);
  const parts: PartTypes[] = [];
  const byKey = new Map<Type | string, number>();
  const known = new Set<Type>();
  for (let i = 0; i < codes.length; i++) counts[codes[i]]++;
  types.forEach((type, code) => {
    if (counts[code] === 0) return;
    const key = type.kind === 'record' && !exact ? shapeOf(type.fields).key : type;
    let tag = byKey.get(key);
    if (tag === undefined) byKey.set(key, (tag = parts.push({ types: [], rows: 0 }) - 1));
    partOf[code] = tag;
    parts[tag].rows += counts[code];
    if (!known.has(type)) parts[tag].types.push(type);
    known.add(type);
  });
  return { parts, partOf };
};

/** Room for places, which nobody needs when the rows are decoded: taken piece by piece, given back all at once. */
class Scratch {
  private room = new Uint32Array(0);
  private used = 0;
  private wanted = 0;
  take(length: number): Uint32Array {
    this.wanted += length;
    const end = this.used + length;
    // What does not fit has room of its own this time; next time there is more.
    if (end > this.room.length) return new Uint32Array(length);
    const taken = this.room.subarray(this.used, end);
    this.used = end;
    return taken;
  }
  reset(): void {
    if (this.wanted > this.room.length && this.room.length < scratchMax)
      this.room = new Uint32Array(Math.min(this.wanted, scratchMax));
    this.used = this.wanted = 0;
  }
}
/** Most places whose room is kept. */
const scratchMax = 1 << 20;
/** One for the thread: rows are decoded in one go. */
const scratch = new Scratch();

/** The places of all fields of records that have all of them: of field `k` from `k * length` on. */
const walk = (bytes: Uint8Array, { at, length }: Places, out: Uint32Array): Uint32Array => {
  const size = out.length;
  for (let i = 0; i < length; i++) {
    const place = at[i];
    const first = bytes[place];
    let next = place + 1;
    let end = place + first;
    if (first === 0 || first >= 0x80) {
      if (tagAt(bytes, place) === 0) throw malformed();
      next = place + tagBytes(bytes, place);
      end = place + spanAt(bytes, place);
    }
    for (let to = i; to < size; to += length) {
      if (next >= end) throw malformed();
      out[to] = next;
      const tag = bytes[next];
      next += tag === 0 ? 1 : tag < 0x80 ? tag : spanAt(bytes, next);
    }
    if (next !== end) throw malformed();
  }
  return out;
};

interface Presence {
  readonly present: readonly (Uint8Array | undefined)[];
  readonly counts: Uint32Array;
}
/** The same where some fields are optional: bits first that say which are absent. `counts`: places of each field. */
const walkSparse = (
  bytes: Uint8Array,
  { at, length }: Places,
  out: Uint32Array,
  { present, counts }: Presence,
): Uint32Array => {
  const fields = present.length;
  const flagBytes = (present.reduce((n, p) => n + (p ? 1 : 0), 0) + 7) >> 3;
  counts.fill(0);
  for (let i = 0; i < length; i++) {
    const place = at[i];
    const end = place + spanAt(bytes, place);
    const flagPlace = place + tagBytes(bytes, place);
    if (flagPlace >= end || tagAt(bytes, flagPlace) !== flagBytes + 1) throw malformed();
    const flags = flagPlace + tagBytes(bytes, flagPlace);
    let next = flags + flagBytes;
    let optional = 0;
    if (next > end) throw malformed();
    for (let k = 0; k < fields; k++) {
      const there = present[k];
      if (there) {
        const absent = (bytes[flags + (optional >> 3)] >> (optional & 7)) & 1;
        optional++;
        if (absent === 1) continue;
        there[i] = 1;
      }
      if (next >= end) throw malformed();
      out[k * length + counts[k]++] = next;
      next += spanAt(bytes, next);
    }
    if (next !== end) throw malformed();
  }
  return out;
};

/** The values of an optional field at the rows where it is present; at the others any value lends its type. */
const spread = (type: Type, values: Vector, present: Uint8Array): Vector => {
  const { length } = present;
  if (values.length === length) return values;
  if (values.length === 0) return constant(zeroOf(type), length);
  const index = new Uint32Array(length);
  for (let i = 0, next = 0; i < length; i++) if (present[i] === 1) index[i] = next++;
  return values.form === 'number' || values.form === 'bool'
    ? gather(values, index)
    : { form: 'selected', length, index, base: values };
};

interface Items {
  readonly offsets: Uint32Array;
  readonly items: Places;
}
/**
 * Sets, or maps (`width` 2: a key and its value), in canonical order: sorted by the bytes of the element or key, none
 * twice.
 */
const ordered = (bytes: Uint8Array, { offsets, items }: Items, width: 1 | 2): Items => {
  const length = offsets.length - 1;
  const before = (i: number, j: number): number => compareTagged(bytes, items.at[i], items.at[j]);
  let good = true;
  for (let i = 0; i < length && good; i++)
    for (let k = offsets[i] + width; k < offsets[i + 1] && good; k += width) good = before(k - width, k) < 0;
  if (good) return { offsets, items };
  const list = new Uint32List();
  const ends = new Uint32Array(length + 1);
  for (let i = 0; i < length; i++) {
    const rows = Array.from({ length: (offsets[i + 1] - offsets[i]) / width }, (_, k) => offsets[i] + k * width).sort(
      before,
    );
    rows.forEach((row, k) => {
      if (k > 0 && before(rows[k - 1], row) === 0) return;
      for (let j = 0; j < width; j++) list.push(items.at[row + j]);
    });
    ends[i + 1] = list.length;
  }
  return { offsets: ends, items: { at: list.array, length: list.length } };
};
const compareTagged = (bytes: Uint8Array, a: number, b: number): number =>
  compareBytes(bytes.subarray(a, a + spanAt(bytes, a)), bytes.subarray(b, b + spanAt(bytes, b)));
