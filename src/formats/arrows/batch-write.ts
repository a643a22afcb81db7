/** A record batch: the arrays of each column, one behind the other, and the list of where they are. */
import { LakeError } from '../../errors.ts';
import { concat } from '../../vectors/concat.ts';
import { types } from '../../vectors/type.ts';
import { float16Bits } from '../../vectors/value.ts';
import {
  type BytesVector,
  type ListVector,
  type MapVector,
  type NumberVector,
  type RecordVector,
  type UnionVector,
  type Vector,
  nulls,
  numbers,
  slice,
  take,
  ofForm,
} from '../../vectors/vector.ts';
import {
  type Plain,
  checkIntegers,
  daysFrom,
  dividedPairs,
  firstOfOtherSize,
  nullCount,
  numbersFrom,
  packBits,
  pairsFrom,
  plainOf,
  runsFrom,
  withPlaceholder,
} from '../columns/out.ts';
import { type Column, type ColumnType, memberIndexes, nanosOf } from '../columns/types.ts';
import { type Units, unitsOfDecimals } from '../columns/decimals.ts';
import { type FlatObject, int64 } from './flat-write.ts';

/** What errors call the writer. */
export const writerName = 'arrowio';
const none = new Uint8Array(0);
/** Of an interval of Parquet. */
const spanBytes = 12;

/** One batch in the making: columns are added in order, then header and body are asked for. */
export class BatchWriter {
  private readonly nodes: number[] = [];
  private readonly buffers: Uint8Array[] = [];
  private readonly rows: number;

  constructor(rows: number) {
    this.rows = rows;
  }

  /** The fields of records become columns. @throws LakeError `write-columns-value` */
  records(columns: readonly Column[], v: RecordVector): void {
    columns.forEach((c, k) => this.column(c, v.fields[k].values, v.fields[k].present));
  }

  get header(): FlatObject {
    const places: number[] = [];
    let at = 0;
    for (const b of this.buffers) {
      places.push(at, b.length);
      at += padded(b.length);
    }
    return { table: [int64(this.rows), { sizes: this.nodes, width: 2 }, { sizes: places, width: 2 }] };
  }
  get bodyLength(): number {
    return this.buffers.reduce((n, b) => n + padded(b.length), 0);
  }
  /** Writes the body to target[start, start + bodyLength), which is 0 before. */
  body(target: Uint8Array, start: number): void {
    let at = start;
    for (const b of this.buffers) {
      target.set(b, at);
      at += padded(b.length);
    }
  }

  /** `alive`: 0 where what holds the row is null, so that nobody sees it. */
  private column(c: Column, v: Vector, present?: Uint8Array, alive?: Uint8Array): void {
    const { type } = c;
    const rows = v.length;
    if (type.kind === 'null') {
      this.nodes.push(rows, rows);
      return;
    }
    const { values, valid } = plainOf(v, present);
    if (type.kind === 'union') return this.union(type, ofForm(values, 'union'), valid);
    const nulls = nullCount(valid);
    this.nodes.push(rows, nulls);
    this.push(valid && nulls > 0 ? packBits(valid, rows) : none);
    this.values(type, values, bothOf(valid, alive), rows);
  }

  /** `valid`: 0 where the row's value is not looked at. */
  private values(type: ColumnType, v: Plain['values'], valid: Uint8Array | undefined, rows: number): void {
    switch (type.kind) {
      case 'bool':
        return this.push(packBits(ofForm(v, 'bool').values, rows));
      case 'int':
        return this.integers(type.bits, ofForm(v, 'number'), valid);
      case 'float':
        return this.floats(type.bits, ofForm(v, 'number'));
      case 'date': {
        if (type.unit === 'day') return this.pushArray(Int32Array.from(daysFrom(ofForm(v, 'number'))));
        return this.pushArray(dividedPairs(pairsFrom(ofForm(v, 'number')), 1e6));
      }
      case 'time':
      case 'timestamp':
      case 'duration': {
        const pairs = dividedPairs(pairsFrom(ofForm(v, 'number')), nanosOf[type.unit]);
        return this.pushArray(
          type.kind === 'time' && (type.unit === 's' || type.unit === 'ms')
            ? Int32Array.from(numbersFrom(pairs))
            : pairs,
        );
      }
      case 'decimal': {
        if (!type.inWords) return this.units(unitsOfDecimals(v, valid, type, writerName), type.bits);
        return this.words(
          type.bits / 32,
          type.bits === 128 ? fieldPairs(v, ['low', 'high']) : wordPairs(ofForm(v, 'list'), valid),
        );
      }
      case 'interval':
        return this.interval(type.unit, v);
      case 'binary':
        return this.runs(type.layout === 'large', runsFrom(v), rows);
      case 'fixed-binary':
        return type.meaning === 'interval'
          ? this.spans(ofForm(v, 'bytes'), valid)
          : this.fixedRuns(type.size, ofForm(v, 'bytes'), valid);
      case 'list':
        return this.list(type, ofForm(v, 'list'));
      case 'fixed-list':
        return this.fixedList(type, ofForm(v, 'list'), valid);
      case 'struct':
        return type.fields.forEach((f, k) =>
          this.column(f, ofForm(v, 'record').fields[k].values, ofForm(v, 'record').fields[k].present, valid),
        );
      case 'map':
        return this.map(type, ofForm(v, 'map'));
      default:
        throw new Error(`column of kind ${type.kind} is not written`);
    }
  }

  private integers(bits: number, v: NumberVector, valid: Uint8Array | undefined): void {
    checkIntegers(v, valid, writerName);
    const values = v.values.subarray(0, v.length) as Float64Array;
    // Sizes up to 32 bits: signed and unsigned have the same bytes.
    if (bits === 64) this.pushArray(pairsFrom(v));
    else if (bits === 32) this.pushArray(wrapped(values, new Int32Array(v.length)));
    else if (bits === 16) this.pushArray(wrapped(values, new Int16Array(v.length)));
    else this.pushArray(wrapped(values, new Int8Array(v.length)));
  }
  private floats(bits: number, v: NumberVector): void {
    const values = v.values.subarray(0, v.length) as Float64Array;
    this.pushArray(
      bits === 64 ? values : bits === 32 ? Float32Array.from(values) : Uint16Array.from(values, float16Bits),
    );
  }
  /** Decimals by their whole numbers of the last place. */
  private units(units: Units, bits: number): void {
    const given = [units.low, ...units.high].map((words) => pairsFrom(numbers(types.int64, words)));
    const top = given[given.length - 1];
    const sign = top.map((_, i) => (top[i | 1] < 0 ? -1 : 0));
    this.words(bits / 32, [...given, ...Array.from({ length: bits / 64 - given.length }, () => sign)]);
  }
  /** Rows of `width` words, a pair of each of `pairs` in turn. */
  private words(width: number, pairs: readonly Int32Array[]): void {
    const rows = pairs[0].length / 2;
    const out = new Int32Array(rows * width);
    pairs.forEach((p, k) => {
      for (let i = 0; i < rows; i++) {
        out[i * width + k * 2] = p[i * 2];
        out[i * width + k * 2 + 1] = p[i * 2 + 1];
      }
    });
    this.pushArray(out);
  }
  private interval(unit: 'month' | 'day-time' | 'month-day-nano', v: Plain['values']): void {
    if (unit === 'month') return this.integers(32, ofForm(v, 'number'), undefined);
    const names = unit === 'day-time' ? ['days', 'milliseconds'] : ['month', 'day'];
    const [first, second] = fieldPairs(v, names);
    const words = first.slice();
    for (let i = 0; i < words.length; i += 2) words[i + 1] = second[i];
    if (unit === 'day-time') this.pushArray(words);
    else this.words(4, [words, ...fieldPairs(v, ['nanoseconds'])]);
  }

  /** Months, days and milliseconds of twelve bytes as months, days and nanoseconds. */
  private spans(v: BytesVector, valid: Uint8Array | undefined): void {
    checkSize(v.offsets, v.length, spanBytes, valid, 'bytes');
    const view = new DataView(v.bytes.buffer, v.bytes.byteOffset, v.bytes.byteLength);
    const units = new Int32Array(v.length * 2);
    const nanos = new BigInt64Array(v.length);
    for (let i = 0; i < v.length; i++) {
      if (valid?.[i] === 0) continue;
      const at = v.offsets[i];
      units[i * 2] = view.getInt32(at, true);
      units[i * 2 + 1] = view.getInt32(at + 4, true);
      nanos[i] = BigInt(view.getInt32(at + 8, true)) * 1_000_000n;
    }
    this.words(4, [units, new Int32Array(nanos.buffer)]);
  }

  private runs(large: boolean, v: BytesVector, rows: number): void {
    this.offsets(large, v.offsets, rows);
    this.push(v.bytes.subarray(v.offsets[0], v.offsets[rows]));
  }
  private offsets(large: boolean, offsets: Uint32Array, rows: number): void {
    const start = offsets[0];
    const step = large ? 2 : 1;
    const out = new Uint32Array((rows + 1) * step);
    for (let i = 0; i <= rows; i++) out[i * step] = offsets[i] - start;
    if (!large && out[rows] > 0x7fffffff)
      throw new LakeError('write-columns-value', { writer: writerName, fault: `${rows} rows of ${out[rows]} bytes` });
    this.pushArray(out);
  }
  private fixedRuns(size: number, v: BytesVector, valid: Uint8Array | undefined): void {
    checkSize(v.offsets, v.length, size, valid, 'bytes');
    const out = new Uint8Array(v.length * size);
    for (let i = 0; i < v.length; i++)
      if (!valid || valid[i]) out.set(v.bytes.subarray(v.offsets[i], v.offsets[i + 1]), i * size);
    this.push(out);
  }
  private list(type: Extract<ColumnType, { kind: 'list' }>, v: ListVector): void {
    this.offsets(type.layout === 'large', v.offsets, v.length);
    this.column(type.item, slice(v.items, v.offsets[0], v.offsets[v.length]));
  }
  private fixedList(
    type: Extract<ColumnType, { kind: 'fixed-list' }>,
    v: ListVector,
    valid: Uint8Array | undefined,
  ): void {
    const { size } = type;
    checkSize(v.offsets, v.length, size, valid, 'items');
    if (!valid) return this.column(type.item, slice(v.items, v.offsets[0], v.offsets[v.length]));
    const index = new Uint32Array(v.length * size).fill(v.items.length);
    const alive = new Uint8Array(v.length * size);
    for (let i = 0; i < v.length; i++) {
      if (!valid[i]) continue;
      for (let k = 0; k < size; k++) index[i * size + k] = v.offsets[i] + k;
      alive.fill(1, i * size, (i + 1) * size);
    }
    return this.column(type.item, take(withPlaceholder(v.items), index), undefined, alive);
  }
  private map(type: Extract<ColumnType, { kind: 'map' }>, v: MapVector): void {
    const start = v.offsets[0];
    const end = v.offsets[v.length];
    this.offsets(false, v.offsets, v.length);
    this.nodes.push(end - start, 0);
    this.push(none);
    this.column(type.key, slice(v.keys, start, end));
    this.column(type.value, slice(v.values, start, end));
  }

  /** Members that share a column are put there in the order of the rows. */
  private union(type: Extract<ColumnType, { kind: 'union' }>, v: UnionVector, valid: Uint8Array | undefined): void {
    const columnsOfMembers = memberIndexes(v.type.members, writerName);
    const rows = v.length;
    const absent = type.members.findIndex((m) => m.type.kind === 'null');
    const codes = new Int8Array(rows);
    const places = new Int32Array(rows);
    const counts = new Int32Array(type.members.length);
    for (let i = 0; i < rows; i++) {
      const column = valid && !valid[i] ? absent : columnsOfMembers[v.tags[i]];
      codes[i] = column;
      places[i] = counts[column]++;
    }
    this.nodes.push(rows, 0);
    this.pushArray(codes);
    this.pushArray(places);
    type.members.forEach((column, c) => {
      const members = columnsOfMembers.flatMap((k, m) => (k === c ? [m] : []));
      const bases = new Map<number, number>();
      const index = new Uint32Array(counts[c]);
      const parts =
        column.type.kind === 'null'
          ? [nulls(0)]
          : members.length === 1
            ? [v.members[members[0]]]
            : members.map((m) => asColumn(column, v.members[m]));
      members.reduce((base, m, k) => {
        bases.set(m, base);
        return base + parts[k].length;
      }, 0);
      for (let i = 0, at = 0; i < rows; i++) if (codes[i] === c) index[at++] = (bases.get(v.tags[i]) ?? 0) + v.slots[i];
      this.column(column, take(concat(parts), index));
    });
  }

  private pushArray(array: ArrayBufferView): void {
    this.push(new Uint8Array(array.buffer, array.byteOffset, array.byteLength));
  }
  private push(bytes: Uint8Array): void {
    this.buffers.push(bytes);
  }
}

const bothOf = (a: Uint8Array | undefined, b: Uint8Array | undefined): Uint8Array | undefined =>
  a && b ? a.map((x, i) => x & b[i]) : (a ?? b);
const padded = (size: number): number => Math.ceil(size / 8) * 8;

/** Members of unlike types that share a column can be joined once they are plain, or the text itself. */
const asColumn = (column: Column, v: Vector): Vector => {
  const { values } = plainOf(v);
  return column.type.kind === 'binary' ? runsFrom(values) : values;
};
const wrapped = <A extends Int8Array | Int16Array | Int32Array>(values: Float64Array, out: A): A => {
  for (let i = 0; i < out.length; i++) out[i] = values[i];
  return out;
};
/** Fields of records as pairs of words. */
const fieldPairs = (v: Plain['values'], names: readonly string[]): readonly Int32Array[] =>
  names.map((name) =>
    pairsFrom(ofForm(plainOf(ofForm(v, 'record').fields.find((f) => f.name === name)!.values).values, 'number')),
  );
/** The four words of each list. */
const wordPairs = (v: ListVector, valid: Uint8Array | undefined): readonly Int32Array[] => {
  checkSize(v.offsets, v.length, 4, valid, 'items');
  const all = pairsFrom(ofForm(plainOf(v.items).values, 'number'));
  return [0, 1, 2, 3].map((k) => {
    const out = new Int32Array(v.length * 2);
    for (let i = 0; i < v.length; i++) {
      if (valid && !valid[i]) continue;
      out[i * 2] = all[(v.offsets[i] + k) * 2];
      out[i * 2 + 1] = all[(v.offsets[i] + k) * 2 + 1];
    }
    return out;
  });
};
const checkSize = (
  offsets: Uint32Array,
  rows: number,
  size: number,
  valid: Uint8Array | undefined,
  what: string,
): void => {
  const row = firstOfOtherSize(offsets, rows, size, valid);
  if (row >= 0)
    throw new LakeError('write-columns-value', {
      writer: writerName,
      fault: `value of ${offsets[row + 1] - offsets[row]} ${what} in a column of ${size}`,
    });
};
