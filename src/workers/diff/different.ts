/**
 * Which rows of two vectors differ, pair by pair and column by column: type or value, as `distinct` tells values apart
 * (NaN is one number, -0. and 0. are two). Rows are looked up where they are, none is copied.
 *
 * Invariant: a pair is marked if and only if codes of both rows (exec/aggregates/grouping/codes.ts) would differ; how a
 * field of unlike types is stored makes no difference.
 */
import { ColumnCodes } from '../../exec/aggregates/grouping/codes.ts';
import { sameRuns, viewOf } from '../../lake/columns/words.ts';
import { sameData } from '../../vectors/compare.ts';
import { Uint32List } from '../../vectors/lists.ts';
import { checkStopAt } from '../../vectors/stop.ts';
import { type TimeTexts, timesBehind } from '../../vectors/texts/times.ts';
import { type Type, isFloat } from '../../vectors/type.ts';
import {
  type BytesVector,
  type DictionaryVector,
  type DynamicVector,
  type FlatVector,
  type ListVector,
  type NumberVector,
  type RecordVector,
  type UnionVector,
  type Vector,
  dataAt,
  lookUp,
  typeAt,
  uniformType,
} from '../../vectors/vector.ts';

/** Rows that are compared with each other: row a[n] of the one vector with row b[n] of the other. */
export interface Pairs {
  readonly a: Uint32Array;
  readonly b: Uint32Array;
}

/** Bytes of what is remembered of dictionaries; beyond, it is forgotten and found again. */
const rememberedBytesMax = 16 << 20;

/** Compares vectors; what it learns of dictionaries it keeps. */
export class Differences {
  private codes = new ColumnCodes();
  private known = new WeakMap<Vector, Uint32Array>();

  /** Sets `out[n]` to 1 where the rows of pair n differ; leaves the others. */
  mark(a: Vector, b: Vector, pairs: Pairs, out: Uint8Array): void {
    if (pairs.a.length === 0) return;
    if (a.form === 'dictionary' && b.form === 'dictionary' && a.values !== b.values)
      return markCodes(this.codesOf(a.values), this.codesOf(b.values), { a: a.codes, b: b.codes }, pairs, out);
    if (a.form === 'dictionary' && b.form === 'dictionary') return this.markPicked(a, b, pairs, out);
    if (a.form === 'constant' && b.form === 'constant') {
      const one = new Uint8Array(1);
      this.mark(a.inner, b.inner, { a: new Uint32Array(1), b: new Uint32Array(1) }, one);
      if (one[0] === 1) out.fill(1);
      return;
    }
    const [left, leftRows] = behind(a, pairs.a);
    const [right, rightRows] = behind(b, pairs.b);
    if (left !== a || right !== b) return this.mark(left, right, { a: leftRows, b: rightRows }, out);
    this.markFlat(left as FlatVector, right as FlatVector, pairs, out);
  }

  /** Of one dictionary. What was put together of several may have a value twice: where codes differ values tell. */
  private markPicked(a: DictionaryVector, b: DictionaryVector, pairs: Pairs, out: Uint8Array): void {
    const own = new Uint8Array(out.length);
    markWords(a.codes, b.codes, pairs, own);
    const rows = new Uint32List();
    for (let n = 0; n < own.length; n++) if (own[n] === 1) rows.push(n);
    const unlike = rows.done();
    if (unlike.length === 0) return;
    const differs = new Uint8Array(unlike.length);
    const places = {
      a: lookUp(a.codes, lookUp(pairs.a, unlike)),
      b: lookUp(b.codes, lookUp(pairs.b, unlike)),
    };
    this.mark(a.values, b.values, places, differs);
    for (let n = 0; n < differs.length; n++) out[unlike[n]!]! |= differs[n]!;
  }

  /** Numbers of values: equal ones are those of equal values, of whatever dictionary. */
  codesOf(values: Vector): Uint32Array {
    let codes = this.known.get(values);
    if (codes) return codes;
    if (this.codes.bytes > rememberedBytesMax) {
      this.codes = new ColumnCodes();
      this.known = new WeakMap();
    }
    codes = this.codes.codes(values);
    this.known.set(values, codes);
    return codes;
  }

  private markFlat(a: FlatVector, b: FlatVector, pairs: Pairs, out: Uint8Array): void {
    if (a.form === 'dynamic' || b.form === 'dynamic') return this.markTagged(taggedOf(a), taggedOf(b), pairs, out);
    const all = (): void => {
      out.fill(1);
    };
    switch (a.form) {
      case 'number':
        return b.form === 'number' && a.type === b.type ? markNumbers(a, b, pairs, out) : all();
      case 'bool':
        return b.form === 'bool' ? markWords(a.values, b.values, pairs, out) : all();
      case 'bytes':
        return b.form === 'bytes' && a.type === b.type ? markBytes(a, b, pairs, out) : all();
      case 'null':
        return b.form === 'null' ? undefined : all();
      case 'enum':
        return b.form === 'enum' && a.type === b.type ? markWords(a.codes, b.codes, pairs, out) : all();
      case 'record':
        return b.form === 'record' && alikeRecords(a, b) ? this.markRecords(a, b, pairs, out) : all();
      case 'list':
        return b.form === 'list' && a.type === b.type ? this.markLists(a, b, pairs, out) : all();
      case 'union':
        return b.form === 'union' && a.type === b.type
          ? this.markTagged(membersOf(a), membersOf(b), pairs, out)
          : all();
      case 'error':
        return b.form === 'error' ? this.mark(a.inner, b.inner, pairs, out) : all();
      case 'named':
        return b.form === 'named' && a.name === b.name ? this.mark(a.inner, b.inner, pairs, out) : all();
      case 'map':
      case 'type':
        return markValues(a, b, pairs, out);
    }
  }

  private markRecords(a: RecordVector, b: RecordVector, pairs: Pairs, out: Uint8Array): void {
    a.fields.forEach((field, k) => {
      const other = b.fields[k]!;
      if (!field.present && !other.present) return this.mark(field.values, other.values, pairs, out);
      const own = new Uint8Array(out.length);
      this.mark(field.values, other.values, pairs, own);
      const type = uniformType(field.values);
      const isOneType = type !== undefined && type === uniformType(other.values);
      for (let n = 0; n < out.length; n++) {
        const [i, j] = [pairs.a[n]!, pairs.b[n]!];
        const isHere = field.present?.[i] !== 0;
        // What is absent counts by its type alone.
        if (isHere !== (other.present?.[j] !== 0)) out[n] = 1;
        else if (isHere) out[n]! |= own[n]!;
        else if (!isOneType && typeAt(field.values, i) !== typeAt(other.values, j)) out[n] = 1;
      }
    });
  }

  /** Lists of equal length item by item; those of others are unlike. */
  private markLists(a: ListVector, b: ListVector, pairs: Pairs, out: Uint8Array): void {
    const items = { a: new Uint32List(), b: new Uint32List() };
    const owner = new Uint32List();
    for (let n = 0; n < out.length; n++) {
      const [i, j] = [pairs.a[n]!, pairs.b[n]!];
      const [start, end, other] = [a.offsets[i]!, a.offsets[i + 1]!, b.offsets[j]!];
      if (end - start !== b.offsets[j + 1]! - other) out[n] = 1;
      for (let at = start; at < end && out[n] === 0; at++) {
        items.a.push(at);
        items.b.push(other + at - start);
        owner.push(n);
      }
    }
    const own = new Uint8Array(owner.length);
    this.mark(a.items, b.items, { a: items.a.done(), b: items.b.done() }, own);
    for (let at = 0; at < own.length; at++) out[owner.array[at]!]! |= own[at]!;
  }

  /** Each pair of parts is compared as two vectors. */
  private markTagged(a: Tagged, b: Tagged, pairs: Pairs, out: Uint8Array): void {
    for (const part of partsOf(a, b, pairs)) {
      const own = new Uint8Array(part.rows.length);
      this.mark(part.a, part.b, part.pairs, own);
      for (let at = 0; at < own.length; at++) out[part.rows[at]!]! |= own[at]!;
    }
  }
}

/** Pairs whose rows are in the same part of either side: numbers `rows` of all pairs. */
interface PartPairs {
  readonly a: Vector;
  readonly b: Vector;
  readonly pairs: Pairs;
  readonly rows: Uint32Array;
}
/** Rows by the parts that they are in. */
function* partsOf(a: Tagged, b: Tagged, pairs: Pairs): Generator<PartPairs> {
  const width = b.parts.length;
  const { length } = pairs.a;
  const places = new Float64Array(length);
  for (let n = 0; n < length; n++)
    places[n] = (a.tags ? a.tags[pairs.a[n]!]! : 0) * width + (b.tags ? b.tags[pairs.b[n]!]! : 0);
  for (const [place, count] of countsOf(places, a.parts.length * width)) {
    const slots = { a: new Uint32Array(count), b: new Uint32Array(count) };
    const rows = new Uint32Array(count);
    for (let n = 0, at = 0; at < count; n++) {
      if (places[n] !== place) continue;
      rows[at] = n;
      slots.a[at] = a.slots ? a.slots[pairs.a[n]!]! : pairs.a[n]!;
      slots.b[at++] = b.slots ? b.slots[pairs.b[n]!]! : pairs.b[n]!;
    }
    yield { a: a.parts[Math.floor(place / width)]!, b: b.parts[place % width]!, pairs: slots, rows };
  }
}
/** The same of vectors of which at least one has parts. */
export const pairsByPart = (a: FlatVector, b: FlatVector, pairs: Pairs): Iterable<PartPairs> =>
  partsOf(taggedOf(a), taggedOf(b), pairs);

/** The vector that holds the rows in the end, and where. */
export const flatBehind = (v: Vector, rows: Uint32Array): readonly [FlatVector, Uint32Array] => {
  const [own, places] = behind(v, rows);
  return own === v ? [v as FlatVector, rows] : flatBehind(own, places);
};
/** The vector that holds the rows, and where. */
const behind = (v: Vector, rows: Uint32Array): readonly [Vector, Uint32Array] => {
  switch (v.form) {
    case 'constant':
      return [v.inner, new Uint32Array(rows.length)];
    case 'dictionary':
      return [v.values, lookUp(v.codes, rows)];
    case 'selected':
      return [v.base, lookUp(v.index, rows)];
    default:
      return [v, rows];
  }
};

/** Without tags and slots: the rows of the only part, as they are. */
type Tagged = Pick<DynamicVector, 'parts'> & Partial<Pick<DynamicVector, 'tags' | 'slots'>>;
const taggedOf = (v: FlatVector): Tagged => (v.form === 'dynamic' ? v : { parts: [v] });
const membersOf = ({ tags, slots, members }: UnionVector): Tagged => ({ tags, slots, parts: members });

/** Above so many pairs of parts most do not occur. */
const placesMax = 4096;
/** The numbers below `end` that are there, and how often. */
const countsOf = (places: Float64Array, end: number): ReadonlyMap<number, number> => {
  const counts = new Map<number, number>();
  if (end > placesMax) {
    for (const place of places) counts.set(place, (counts.get(place) ?? 0) + 1);
    return counts;
  }
  const dense = new Uint32Array(end);
  for (let n = 0; n < places.length; n++) dense[places[n]!]!++;
  dense.forEach((count, place) => {
    if (count > 0) counts.set(place, count);
  });
  return counts;
};

/** Records of one shape, whatever the types of their fields. */
export const alikeRecords = ({ fields: a }: RecordVector, { fields: b }: RecordVector): boolean =>
  a.length === b.length && a.every((f, k) => f.name === b[k]!.name && f.optional === b[k]!.optional);

type Words = Uint32Array | Uint8Array;
const markWords = (x: Words, y: Words, { a, b }: Pairs, out: Uint8Array): void => {
  for (let n = 0; n < out.length; n++) out[n]! |= x[a[n]!] === y[b[n]!] ? 0 : 1;
};
const markCodes = (x: Words, y: Words, codes: Pairs, { a, b }: Pairs, out: Uint8Array): void => {
  for (let n = 0; n < out.length; n++) out[n]! |= x[codes.a[a[n]!]!] === y[codes.b[b[n]!]!] ? 0 : 1;
};

const markNumbers = (left: NumberVector, right: NumberVector, pairs: Pairs, out: Uint8Array): void => {
  const x = left.values;
  const y = right.values;
  const { a, b } = pairs;
  if (x instanceof Float64Array && y instanceof Float64Array) {
    if (isFloat(left.type)) markFloats(x, y, pairs, out);
    else markWhole(x, y, pairs, out);
  } else if (x instanceof Float64Array || y instanceof Float64Array) {
    // Numbers of one block may need 64 bits, those of the other not.
    for (let n = 0; n < out.length; n++) if (BigInt(x[a[n]!]!) !== BigInt(y[b[n]!]!)) out[n] = 1;
  } else {
    const u = new Uint32Array(x.buffer, x.byteOffset, x.length * 2);
    const v = new Uint32Array(y.buffer, y.byteOffset, y.length * 2);
    for (let n = 0; n < out.length; n++) {
      const [i, j] = [2 * a[n]!, 2 * b[n]!];
      if (u[i] !== v[j] || u[i + 1] !== v[j + 1]) out[n] = 1;
    }
  }
};
const markWhole = (x: Float64Array, y: Float64Array, { a, b }: Pairs, out: Uint8Array): void => {
  for (let n = 0; n < out.length; n++) out[n]! |= x[a[n]!] === y[b[n]!] ? 0 : 1;
};
const markFloats = (x: Float64Array, y: Float64Array, { a, b }: Pairs, out: Uint8Array): void => {
  for (let n = 0; n < out.length; n++) {
    const p = x[a[n]!]!;
    const q = y[b[n]!]!;
    if (p === q ? p === 0 && !Object.is(p, q) : p === p || q === q) out[n] = 1;
  }
};

/** Texts of times that nobody has written yet are compared as times. */
const markTimes = (x: TimeTexts, y: TimeTexts, { a, b }: Pairs, out: Uint8Array): void => {
  const shift = (x.base - y.base) * 10 ** x.digits;
  if (x.digits !== y.digits || !Number.isSafeInteger(shift)) out.fill(1);
  else for (let n = 0; n < out.length; n++) out[n]! |= x.distances[a[n]!]! + shift === y.distances[b[n]!] ? 0 : 1;
};

const markBytes = (left: BytesVector, right: BytesVector, pairs: Pairs, out: Uint8Array): void => {
  const [times, others] = [timesBehind(left), timesBehind(right)];
  if (times && others) return markTimes(times, others, pairs, out);
  const { a, b } = pairs;
  const [x, y] = [left.offsets, right.offsets];
  const u = viewOf(left.bytes);
  const v = viewOf(right.bytes);
  for (let start = 0, end = 0; start < out.length; start = end) {
    checkStopAt(start);
    const [i, j] = [a[start]!, b[start]!];
    const shift = y[j]! - x[i]!;
    // Rows side by side whose lengths are the same are compared in one piece.
    for (end = start; end < out.length && a[end] === i + end - start && b[end] === j + end - start; end++)
      if (y[b[end]! + 1]! - x[a[end]! + 1]! !== shift) break;
    if (end === start) {
      out[end++] = 1;
      continue;
    }
    const [from, to] = [x[i]!, x[a[end - 1]! + 1]!];
    if (isSame(left.bytes, right.bytes, from, to, shift)) continue;
    for (let n = start; n < end; n++)
      if (!sameRuns(u, x[a[n]!]!, x[a[n]! + 1]!, v, y[b[n]!]!, y[b[n]! + 1]!)) out[n] = 1;
  }
};
const isSame = (x: Uint8Array, y: Uint8Array, from: number, to: number, shift: number): boolean =>
  Buffer.compare(x.subarray(from, to), y.subarray(from + shift, to + shift)) === 0;

/** Any values, one by one. */
const markValues = (x: FlatVector, y: FlatVector, { a, b }: Pairs, out: Uint8Array): void => {
  for (let n = 0; n < out.length; n++) {
    checkStopAt(n);
    const type: Type = typeAt(x, a[n]!);
    if (type !== typeAt(y, b[n]!) || !sameData(type, dataAt(x, a[n]!), dataAt(y, b[n]!))) out[n] = 1;
  }
};
