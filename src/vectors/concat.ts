/**
 * Vectors one behind the other as one vector, and rows of several vectors interleaved; arrays are copied whole, never
 * row by row through values.
 */
import { shapeKey } from './builder.ts';
import { joinDictionaries, pickDictionaries } from './joined-dictionaries.ts';
import { charge, checkStop } from './stop.ts';
import { timesJoined } from './texts/times.ts';
import type { Type } from './type.ts';
import { onlyMember, unionOfOne } from './unions.ts';
import {
  type Vector,
  type FlatVector,
  type Field,
  type NumberArray,
  type NumberVector,
  type BytesVector,
  type RecordVector,
  type ListVector,
  type MapVector,
  type UnionVector,
  type DynamicVector,
  type BoolVector,
  type TypeVector,
  type EnumVector,
  type ErrorVector,
  type NamedVector,
  chargeColumns,
  compacted,
  compactedParts,
  constant,
  dynamic,
  flatten,
  itemsOf,
  noRows,
  take,
  typeOfRows,
} from './vector.ts';

/** All rows of the vectors, in order. */
export const concat = (vectors: readonly Vector[]): Vector => {
  const filled = vectors.filter((v) => v.length > 0);
  if (filled.length === 0) return vectors[0] ?? noRows;
  if (filled.length === 1) return filled[0]!;
  return concatConstants(filled) ?? concatCoded(filled) ?? concatFlat(filled.map(flatten));
};

/**
 * The same of rows that nobody else needs, which are taken out of `vectors`: those of one record type are put together
 * column by column, and each column's parts can be freed before the next one's are copied.
 */
export const concatFreeing = (vectors: Vector[]): Vector => {
  const records = vectors.filter((v): v is RecordVector => v.length > 0 && v.form === 'record');
  const [first] = records;
  const rows = vectors.reduce((n, v) => n + v.length, 0);
  const isAlike = first && records.reduce((n, v) => n + v.length, 0) === rows && areAlike(records);
  if (!isAlike) {
    const all = concat(vectors);
    vectors.length = 0;
    return all;
  }
  const columns = columnsOf(records);
  vectors.length = records.length = 0;
  return joinedRecords(columns, rows);
};
const areAlike = (records: readonly RecordVector[]): boolean => {
  const shape = classOf(records[0]!);
  return records.every((v) => classOf(v) === shape);
};

/** Of one value. */
const concatConstants = (vectors: readonly Vector[]): Vector | undefined => {
  const inner = vectors[0]!.form === 'constant' ? vectors[0]!.inner : undefined;
  if (!inner) return undefined;
  let length = 0;
  for (const v of vectors) {
    if (v.form !== 'constant' || v.inner !== inner) return undefined;
    length += v.length;
  }
  return constant(inner, length);
};
const concatDictionaries = (values: readonly BytesVector[]): BytesVector =>
  concatRuns(
    values[0]!,
    values,
    values.reduce((n, v) => n + v.length, 0),
  );
const concatCoded = (vectors: readonly Vector[]): Vector | undefined =>
  concatOneDictionary(vectors) ?? joinDictionaries(vectors, concatDictionaries);
/** Rows of several dictionaries as one of a dictionary: row i is parts[tags[i]] at slots[i]. Undefined: they are others. */
export const pickCoded = (
  rows: Pick<DynamicVector, 'tags' | 'slots' | 'length'>,
  parts: readonly Vector[],
): Vector | undefined => pickDictionaries(rows, parts, concatDictionaries);
/** Blocks of one data object share their dictionaries: their codes are all that has to be joined. */
const concatOneDictionary = (vectors: readonly Vector[]): Vector | undefined => {
  const first = vectors[0]!;
  if (first.form !== 'dictionary') return undefined;
  const codes: Uint32Array[] = [];
  for (const v of vectors) {
    if (v.form !== 'dictionary' || v.values !== first.values) return undefined;
    codes.push(v.codes.subarray(0, v.length));
  }
  const length = codes.reduce((n, c) => n + c.length, 0);
  return { form: 'dictionary', length, codes: concatCodes(codes, length), values: first.values };
};

/** Below so many rows a loop is quicker than `set`. */
const loopRowsMax = 16;

/**
 * What rows of a flat vector are: vectors of one class can be put together as one flat vector, but for dynamic ones.
 */
export const classOf = (v: FlatVector): string | Type => {
  switch (v.form) {
    case 'record':
      return `r${shapeKey(v.fields)}`;
    case 'error':
      return 'e';
    case 'named':
      return `n${v.name}`;
    case 'dynamic':
      return 'dynamic';
    default:
      return typeOfRows(v);
  }
};

/** Where a part would go of which there are no rows. */
const noPart = { tag: 0, base: 0 };

const concatFlat = (vectors: readonly FlatVector[]): Vector => {
  const first = classOf(vectors[0]!);
  if (first !== 'dynamic' && vectors.every((v) => classOf(v) === first)) return concatAlike(vectors);
  const groups = new Map<string | Type, { readonly tag: number; readonly vectors: FlatVector[]; length: number }>();
  const total = vectors.reduce((n, v) => n + v.length, 0);
  const tags = new Uint32Array(total);
  const slots = new Uint32Array(total);
  let at = 0;
  const join = (v: FlatVector): { readonly tag: number; readonly base: number } => {
    const key = classOf(v);
    let group = groups.get(key);
    if (!group) groups.set(key, (group = { tag: groups.size, vectors: [], length: 0 }));
    const base = group.length;
    group.vectors.push(v);
    group.length += v.length;
    return { tag: group.tag, base };
  };
  for (const given of vectors) {
    const v = given.form === 'dynamic' ? compactedParts(given) : given;
    if (v.form === 'dynamic') {
      const parts = v.parts.map((p) => (p.length === 0 ? noPart : join(flatten(p))));
      copyTags(v.tags.subarray(0, v.length), v.slots, {
        tags,
        slots,
        at,
        newTags: Uint32Array.from(parts, (p) => p.tag),
        bases: Uint32Array.from(parts, (p) => p.base),
      });
      at += v.length;
    } else {
      const { tag, base } = join(v);
      tags.fill(tag, at, at + v.length);
      countUp(slots, at, v.length, base);
      at += v.length;
    }
  }
  return dynamic(
    tags,
    slots,
    [...groups.values()].map((g) => (g.vectors.length === 1 ? g.vectors[0]! : concatAlike(g.vectors))),
  );
};

// The loops are functions of their own, which take arrays: the engine compiles them once for all kinds of vectors.

const countUp = (out: Uint32Array, at: number, count: number, first: number): void => {
  for (let i = 0; i < count; i++) out[at + i] = first + i;
};
/** Tags and slots of one vector among those of all. */
const copyTags = (
  from: Uint32Array,
  fromSlots: Uint32Array,
  {
    tags,
    slots,
    at,
    newTags,
    bases,
  }: {
    readonly tags: Uint32Array;
    readonly slots: Uint32Array;
    readonly at: number;
    readonly newTags: Uint32Array;
    readonly bases: Uint32Array;
  },
): void => {
  for (let i = 0, to = at; i < from.length; i++, to++) {
    const tag = from[i]!;
    tags[to] = newTags[tag]!;
    slots[to] = bases[tag]! + fromSlots[i]!;
  }
};

/** What puts rows one behind the other, in errors. */
const joined = 'rows put together';
/** Copying more takes so long that the work may be given up meanwhile. */
const longRows = 1 << 16;
/** Vectors of one class. */
const concatAlike = (vectors: readonly FlatVector[]): FlatVector => {
  const length = vectors.reduce((n, v) => n + v.length, 0);
  if (length > longRows) checkStop();
  charge(length * 8, joined);
  const first = vectors[0]!;
  switch (first.form) {
    case 'number':
      return {
        form: 'number',
        type: first.type,
        length,
        values: concatNumbers(vectors as readonly NumberVector[], length),
      };
    case 'bool':
      return {
        form: 'bool',
        length,
        values: concatBytes(
          (vectors as readonly BoolVector[]).map((v) => v.values.subarray(0, v.length)),
          length,
        ),
      };
    case 'bytes':
      return concatRuns(first, vectors as readonly BytesVector[], length);
    case 'null':
      return { form: 'null', length };
    case 'type':
      return concatTypes(vectors as readonly TypeVector[], length);
    case 'enum':
      return {
        ...first,
        length,
        codes: concatCodes(
          (vectors as readonly EnumVector[]).map((v) => v.codes.subarray(0, v.length)),
          length,
        ),
      };
    case 'record':
      return joinedRecords(columnsOf(vectors as readonly RecordVector[]), length);
    case 'list': {
      const lists = vectors as readonly ListVector[];
      return {
        ...first,
        length,
        offsets: concatOffsets(lists, length),
        items: concat(lists.map((v) => itemsOf(v, v.items))),
      };
    }
    case 'map': {
      const maps = vectors as readonly MapVector[];
      return {
        ...first,
        length,
        offsets: concatOffsets(maps, length),
        keys: concat(maps.map((v) => itemsOf(v, v.keys))),
        values: concat(maps.map((v) => itemsOf(v, v.values))),
      };
    }
    case 'union':
      return concatUnions(first, vectors as readonly UnionVector[], length);
    case 'error':
      return { form: 'error', length, inner: concat((vectors as readonly ErrorVector[]).map((v) => v.inner)) };
    case 'named':
      return { ...first, length, inner: concat((vectors as readonly NamedVector[]).map((v) => v.inner)) };
    case 'dynamic':
      return concatFlat(vectors) as DynamicVector;
  }
};

const concatNumbers = (vectors: readonly NumberVector[], length: number): NumberArray => {
  const wide = vectors.find((v) => !(v.values instanceof Float64Array));
  if (!wide) {
    const out = new Float64Array(length);
    let at = 0;
    for (const v of vectors) {
      const values = v.values as Float64Array;
      if (v.length > loopRowsMax) out.set(values.subarray(0, v.length), at);
      else for (let i = 0; i < v.length; i++) out[at + i] = values[i]!;
      at += v.length;
    }
    return out;
  }
  const out = wide.values instanceof BigInt64Array ? new BigInt64Array(length) : new BigUint64Array(length);
  let at = 0;
  for (const v of vectors) {
    // A bigint for each is made only of those that are none.
    if (v.values instanceof Float64Array || v.values instanceof BigInt64Array !== out instanceof BigInt64Array)
      for (let i = 0; i < v.length; i++) out[at + i] = BigInt(v.values[i]!);
    else if (out instanceof BigInt64Array) out.set((v.values as BigInt64Array).subarray(0, v.length), at);
    else out.set((v.values as BigUint64Array).subarray(0, v.length), at);
    at += v.length;
  }
  return out;
};
const concatBytes = (parts: readonly Uint8Array[], length: number): Uint8Array => {
  const out = new Uint8Array(length);
  let at = 0;
  for (const p of parts) {
    if (p.length > loopRowsMax) out.set(p, at);
    else for (let i = 0; i < p.length; i++) out[at + i] = p[i]!;
    at += p.length;
  }
  return out;
};
const concatCodes = (parts: readonly Uint32Array[], length: number): Uint32Array => {
  const out = new Uint32Array(length);
  let at = 0;
  for (const p of parts) {
    if (p.length > loopRowsMax) out.set(p, at);
    else for (let i = 0; i < p.length; i++) out[at + i] = p[i]!;
    at += p.length;
  }
  return out;
};
const concatRuns = (first: BytesVector, vectors: readonly BytesVector[], length: number): BytesVector => {
  const times = timesJoined(vectors, length);
  if (times) return times;
  const size = vectors.reduce((n, v) => n + v.offsets[v.length]! - v.offsets[0]!, 0);
  charge(size, joined);
  const bytes = concatBytes(
    vectors.map((v) => v.bytes.subarray(v.offsets[0], v.offsets[v.length])),
    size,
  );
  return { ...first, length, offsets: concatOffsets(vectors, length), bytes };
};
/** Offsets of runs put one behind the other, counted from 0. */
const concatOffsets = (
  vectors: readonly { readonly offsets: Uint32Array; readonly length: number }[],
  length: number,
): Uint32Array => {
  const out = new Uint32Array(length + 1);
  let at = 0;
  let base = 0;
  for (const v of vectors) {
    const start = v.offsets[0]!;
    shift(v.offsets, v.length, base - start, out, at);
    at += v.length;
    base += v.offsets[v.length]! - start;
  }
  return out;
};
const shift = (from: Uint32Array, length: number, by: number, out: Uint32Array, at: number): void => {
  for (let i = 1; i <= length; i++) out[at + i] = from[i]! + by;
};
const concatTypes = (vectors: readonly TypeVector[], length: number): TypeVector => {
  const table = new Map<Type, number>();
  const codes = new Uint32Array(length);
  let at = 0;
  for (const v of vectors) {
    const map = v.table.map((t) => {
      if (!table.has(t)) table.set(t, table.size);
      return table.get(t)!;
    });
    for (let i = 0; i < v.length; i++) codes[at++] = map[v.codes[i]!]!;
  }
  return { form: 'type', length, codes, table: [...table.keys()] };
};
/** Nothing but the columns that are left is held meanwhile: see `concatFreeing`. */
const joinedRecords = (columns: readonly Field[][], length: number): RecordVector => {
  chargeColumns(columns.length);
  return { form: 'record', length, fields: columns.map((parts): Field => joinedField(parts.splice(0), length)) };
};
/** The parts of each column, which are taken out of these lists as they are joined. */
const columnsOf = (records: readonly RecordVector[]): Field[][] => {
  return records[0]!.fields.map((_, k) => records.map((v) => v.fields[k]!));
};
const joinedField = (parts: readonly Field[], length: number): Field => {
  const { name, optional } = parts[0]!;
  const values = concat(parts.map((f) => f.values));
  if (!optional) return { name, optional: false, values };
  const present = concatBytes(
    parts.map(({ present, values: { length: own } }) => present?.subarray(0, own) ?? new Uint8Array(own).fill(1)),
    length,
  );
  return { name, optional: true, values, present };
};
const concatUnions = (first: UnionVector, given: readonly UnionVector[], length: number): UnionVector => {
  const members = given.map(onlyMember);
  const tag = first.members.indexOf(members[0]!);
  if (tag >= 0 && members.every((m, k) => m !== undefined && m === given[k]!.members[tag]))
    return unionOfOne(
      first.type,
      tag,
      concat(members as Vector[]),
      first.members.map((m) => (m.length === 0 ? m : take(m, new Uint32Array(0)))),
    );
  const vectors = given.map((v): UnionVector => {
    const { slots, parts } = compacted(v, v.members);
    return { ...v, slots, members: parts };
  });
  const tags = concatCodes(
    vectors.map((v) => v.tags.subarray(0, v.length)),
    length,
  );
  const slots = new Uint32Array(length);
  const bases = new Uint32Array(first.members.length);
  let at = 0;
  for (const v of vectors) {
    addBases(v.tags, v.slots, v.length, bases, slots, at);
    at += v.length;
    v.members.forEach((m, k) => {
      bases[k]! += m.length;
    });
  }
  return {
    ...first,
    length,
    tags,
    slots,
    members: first.members.map((_, k) => concat(vectors.map((v) => v.members[k]!))),
  };
};

const addBases = (
  tags: Uint32Array,
  from: Uint32Array,
  length: number,
  bases: Uint32Array,
  out: Uint32Array,
  at: number,
): void => {
  for (let i = 0; i < length; i++) out[at + i] = bases[tags[i]!]! + from[i]!;
};

/**
 * Puts results of row subsets together again: each group's `values` belong to the rows `rows` of a batch of `length`
 * rows; together they cover it.
 */
export const scatter = (
  length: number,
  groups: readonly { readonly rows: Uint32Array; readonly values: Vector }[],
): Vector => {
  const filled = groups.filter((g) => g.rows.length > 0);
  if (filled.length === 1 && filled[0]!.rows.length === length && isRange(filled[0]!.rows)) return filled[0]!.values;
  const all = concat(filled.map((g) => g.values));
  const index = new Uint32Array(length);
  let at = 0;
  for (const g of filled) for (let i = 0; i < g.rows.length; i++) index[g.rows[i]!] = at++;
  return take(all, index);
};
const isRange = (rows: Uint32Array): boolean => {
  for (let i = 0; i < rows.length; i++) if (rows[i] !== i) return false;
  return true;
};
