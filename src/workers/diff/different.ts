/**
 * Which rows of two vectors differ, row by row and column by column: type or value, as `distinct` tells values apart
 * (NaN is one number, -0. and 0. are two).
 *
 * Invariant: a row is marked if and only if codes of both rows (exec/aggregates/grouping/codes.ts) would differ; what a
 * field of unlike types is stored as makes no difference.
 */
import { ColumnCodes } from '../../exec/aggregates/grouping/codes.ts';
import { sameRuns, viewOf } from '../../lake/columns/words.ts';
import { sameData } from '../../vectors/compare.ts';
import { checkStopAt } from '../../vectors/stop.ts';
import { type Type, isFloat } from '../../vectors/type.ts';
import {
  type BytesVector,
  type DynamicVector,
  type FlatVector,
  type ListVector,
  type NumberVector,
  type RecordVector,
  type UnionVector,
  type Vector,
  dataAt,
  flatten,
  itemsOf,
  slice,
  take,
  typeAt,
  uniformType,
} from '../../vectors/vector.ts';

/** Bytes of what is remembered of dictionaries; beyond, it is forgotten and found again. */
const rememberedBytesMax = 16 << 20;

/** Compares vectors; what it learns of dictionaries it keeps. */
export class Differences {
  private codes = new ColumnCodes();
  private known = new WeakMap<Vector, Uint32Array>();

  /** Sets `out[i]` to 1 where row i of `a` and of `b`, which are of one length, differ; leaves the others. */
  mark(a: Vector, b: Vector, out: Uint8Array): void {
    const { length } = a;
    if (a === b || length === 0) return;
    if (a.form === 'dictionary' && b.form === 'dictionary') {
      if (a.values === b.values) return markWords(a.codes, b.codes, length, out);
      return markWords(this.codesOf(a.values), this.codesOf(b.values), length, out, a.codes, b.codes);
    }
    if (a.form === 'constant' && b.form === 'constant') {
      const one = new Uint8Array(1);
      this.mark(slice(a.inner, 0, 1), slice(b.inner, 0, 1), one);
      if (one[0] === 1) out.fill(1, 0, length);
      return;
    }
    this.markFlat(flatten(a), flatten(b), out);
  }

  private codesOf(values: Vector): Uint32Array {
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

  private markFlat(a: FlatVector, b: FlatVector, out: Uint8Array): void {
    if (a.form === 'dynamic' || b.form === 'dynamic') return this.markDynamic(a, b, out);
    const all = (): void => {
      out.fill(1, 0, a.length);
    };
    switch (a.form) {
      case 'number':
        return b.form === 'number' && a.type === b.type ? markNumbers(a, b, out) : all();
      case 'bool':
        return b.form === 'bool' ? markWords(a.values, b.values, a.length, out) : all();
      case 'bytes':
        return b.form === 'bytes' && a.type === b.type ? markBytes(a, b, out) : all();
      case 'null':
        return b.form === 'null' ? undefined : all();
      case 'enum':
        return b.form === 'enum' && a.type === b.type ? markWords(a.codes, b.codes, a.length, out) : all();
      case 'record':
        return b.form === 'record' && isAlike(a, b) ? this.markRecords(a, b, out) : all();
      case 'list':
        return b.form === 'list' && a.type === b.type ? this.markLists(a, b, out) : all();
      case 'union':
        return b.form === 'union' && a.type === b.type ? this.markTagged(partsOf(a), partsOf(b), out) : all();
      case 'error':
        return b.form === 'error' ? this.mark(a.inner, b.inner, out) : all();
      case 'named':
        return b.form === 'named' && a.name === b.name ? this.mark(a.inner, b.inner, out) : all();
      case 'map':
      case 'type':
        return markValues(a, b, out);
    }
  }

  private markRecords(a: RecordVector, b: RecordVector, out: Uint8Array): void {
    a.fields.forEach((field, k) => {
      const other = b.fields[k]!;
      if (!field.present && !other.present) return this.mark(field.values, other.values, out);
      const own = new Uint8Array(a.length);
      this.mark(field.values, other.values, own);
      const type = uniformType(field.values);
      const isOneType = type !== undefined && type === uniformType(other.values);
      for (let i = 0; i < a.length; i++) {
        const isHere = field.present ? field.present[i] === 1 : true;
        const isThere = other.present ? other.present[i] === 1 : true;
        // What is absent counts by its type alone.
        if (isHere !== isThere) out[i] = 1;
        else if (isHere) out[i]! |= own[i]!;
        else if (!isOneType && typeAt(field.values, i) !== typeAt(other.values, i)) out[i] = 1;
      }
    });
  }

  /** Lists of equal length item by item, those of others are unlike. */
  private markLists(a: ListVector, b: ListVector, out: Uint8Array): void {
    const lengthOf = ({ offsets }: ListVector, i: number): number => offsets[i + 1]! - offsets[i]!;
    let isSame = true;
    for (let i = 0; i < a.length && isSame; i++) isSame = lengthOf(a, i) === lengthOf(b, i);
    if (!isSame) {
      const rows = new Uint32Array(a.length);
      let n = 0;
      for (let i = 0; i < a.length; i++) {
        if (lengthOf(a, i) === lengthOf(b, i)) rows[n++] = i;
        else out[i] = 1;
      }
      const index = rows.subarray(0, n);
      return spread(index, out, (own) => {
        this.mark(take(a, index), take(b, index), own);
      });
    }
    const items = itemsOf(a, a.items);
    const own = new Uint8Array(items.length);
    this.mark(items, itemsOf(b, b.items), own);
    const start = a.offsets[0]!;
    for (let i = 0; i < a.length; i++)
      for (let at = a.offsets[i]! - start, end = a.offsets[i + 1]! - start; at < end; at++) out[i]! |= own[at]!;
  }

  private markDynamic(a: FlatVector, b: FlatVector, out: Uint8Array): void {
    this.markTagged(a.form === 'dynamic' ? a : whole(a), b.form === 'dynamic' ? b : whole(b), out);
  }
  /** Rows by the parts that they are in: each pair of parts is compared as two vectors. */
  private markTagged(a: Tagged, b: Tagged, out: Uint8Array): void {
    const { length } = a;
    const width = b.parts.length;
    const counts = new Map<number, number>();
    for (let i = 0; i < length; i++) {
      const pair = a.tags[i]! * width + b.tags[i]!;
      counts.set(pair, (counts.get(pair) ?? 0) + 1);
    }
    for (const [pair, count] of counts) {
      const left = Math.floor(pair / width);
      const right = pair % width;
      const rows = new Uint32Array(count);
      for (let i = 0, n = 0; n < count; i++) if (a.tags[i] === left && b.tags[i] === right) rows[n++] = i;
      spread(rows, out, (own) => {
        this.mark(picked(a.parts[left]!, a.slots, rows), picked(b.parts[right]!, b.slots, rows), own);
      });
    }
  }
}

type Tagged = Pick<DynamicVector, 'length' | 'tags' | 'slots' | 'parts'>;
const partsOf = ({ length, tags, slots, members }: UnionVector): Tagged => ({ length, tags, slots, parts: members });
const whole = (v: Vector): Tagged => ({
  length: v.length,
  tags: new Uint32Array(v.length),
  slots: Uint32Array.from({ length: v.length }, (_, i) => i),
  parts: [v],
});

/** The rows of a part that `rows` lead to: one piece of it where they follow one another. */
const picked = (part: Vector, slots: Uint32Array, rows: Uint32Array): Vector => {
  const first = slots[rows[0]!]!;
  for (let n = 1; n < rows.length; n++)
    if (slots[rows[n]!] !== first + n)
      return take(
        part,
        rows.map((row) => slots[row]!),
      );
  return slice(part, first, first + rows.length);
};

/** Marks among `rows` those that `mark` marks by their place there. */
const spread = (rows: Uint32Array, out: Uint8Array, mark: (own: Uint8Array) => void): void => {
  const own = new Uint8Array(rows.length);
  mark(own);
  for (let n = 0; n < rows.length; n++) out[rows[n]!]! |= own[n]!;
};

/** Records of one shape, whatever the types of their fields. */
const isAlike = ({ fields: a }: RecordVector, { fields: b }: RecordVector): boolean =>
  a.length === b.length && a.every((f, k) => f.name === b[k]!.name && f.optional === b[k]!.optional);

/** `aTable`, `bTable` at the places that the rows name, or row by row. */
const markWords = (
  a: Uint32Array | Uint8Array,
  b: Uint32Array | Uint8Array,
  length: number,
  out: Uint8Array,
  aAt?: Uint32Array,
  bAt?: Uint32Array,
): void => {
  if (aAt && bAt) for (let i = 0; i < length; i++) out[i]! |= a[aAt[i]!] === b[bAt[i]!] ? 0 : 1;
  else for (let i = 0; i < length; i++) out[i]! |= a[i] === b[i] ? 0 : 1;
};

const markNumbers = (a: NumberVector, b: NumberVector, out: Uint8Array): void => {
  const x = a.values;
  const y = b.values;
  if (x instanceof Float64Array && y instanceof Float64Array) {
    if (isFloat(a.type)) markFloats(x, y, a.length, out);
    else markWhole(x, y, a.length, out);
  } else if (x instanceof Float64Array || y instanceof Float64Array) {
    // Numbers of one block may need 64 bits, those of the other not.
    for (let i = 0; i < a.length; i++) if (BigInt(x[i]!) !== BigInt(y[i]!)) out[i] = 1;
  } else {
    const left = new Uint32Array(x.buffer, x.byteOffset, a.length * 2);
    const right = new Uint32Array(y.buffer, y.byteOffset, a.length * 2);
    for (let i = 0; i < a.length; i++)
      if (left[2 * i] !== right[2 * i] || left[2 * i + 1] !== right[2 * i + 1]) out[i] = 1;
  }
};
const markWhole = (x: Float64Array, y: Float64Array, length: number, out: Uint8Array): void => {
  for (let i = 0; i < length; i++) out[i]! |= x[i] === y[i] ? 0 : 1;
};
const markFloats = (x: Float64Array, y: Float64Array, length: number, out: Uint8Array): void => {
  for (let i = 0; i < length; i++) {
    const a = x[i]!;
    const b = y[i]!;
    if (a === b ? a === 0 && !Object.is(a, b) : a === a || b === b) out[i] = 1;
  }
};

const markBytes = (a: BytesVector, b: BytesVector, out: Uint8Array): void => {
  const { length, offsets: x } = a;
  const y = b.offsets;
  const shift = y[0]! - x[0]!;
  let isAligned = true;
  for (let i = 1; i <= length && isAligned; i++) isAligned = y[i]! - x[i]! === shift;
  if (isAligned && sameBytes(a.bytes, x[0]!, x[length]!, b.bytes, y[0]!, y[length]!)) return;
  const left = viewOf(a.bytes);
  const right = viewOf(b.bytes);
  for (let i = 0; i < length; i++) {
    checkStopAt(i);
    if (!sameRuns(left, x[i]!, x[i + 1]!, right, y[i]!, y[i + 1]!)) out[i] = 1;
  }
};
const sameBytes = (a: Uint8Array, aStart: number, aEnd: number, b: Uint8Array, bStart: number, bEnd: number): boolean =>
  Buffer.compare(a.subarray(aStart, aEnd), b.subarray(bStart, bEnd)) === 0;

/** Any values, one by one. */
const markValues = (a: FlatVector, b: FlatVector, out: Uint8Array): void => {
  for (let i = 0; i < a.length; i++) {
    checkStopAt(i);
    const type: Type = typeAt(a, i);
    if (type !== typeAt(b, i) || !sameData(type, dataAt(a, i), dataAt(b, i))) out[i] = 1;
  }
};
