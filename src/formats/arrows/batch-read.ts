/**
 * Record batches of Arrow to vectors, column by column.
 *
 * Invariants: a buffer is used only as far as it reaches; what columns of no bytes (null, run ends, views) can claim is bounded by `cellsMax`.
 */
import { concat } from '../../vectors/concat.ts';
import { float16Number } from '../../vectors/value.ts';
import { type PrimitiveType, arrayType, primitiveNamed, types } from '../../vectors/type.ts';
import {
  type Field, type ListVector, type Vector, bools, flatten, nulls, numbers, range, take, uniformType,
} from '../../vectors/vector.ts';
import { type Codec, expand } from '../block-codecs.ts';
import {
  checkOffsets, floatsOf, mapVector, namedVector, numbersOfPairs, pairsOf, pickPairs, runsVector, scaledPairs, timesOfDays, unionVector, unpackBits, validRows,
  withNulls,
} from '../column-in.ts';
import { type Column, type ColumnType, distinctNames, nanosOf } from '../column-types.ts';
import { BytesFault } from '../type-bytes.ts';
import type { FlatTable } from './flat-read.ts';
import type { Message } from './messages.ts';
import { metadataVersion } from './ipc.ts';

/** Most rows of a column that stand for no bytes of their own, and most bytes that views may repeat. */
const cellsMax = 1 << 24;
const viewBytesMax = 1 << 28;

/** The values of each dictionary that has come so far, by its id. */
type Dictionaries = ReadonlyMap<number, Vector>;

/** Compressed buffers expand to more than the limit. */
export class TooMuch extends Error {}

/** Reads one record or dictionary batch, its columns in order, once. */
export class BatchReader {
  private readonly nodes: readonly number[];
  private readonly places: readonly number[];
  private readonly variadics: readonly number[];
  private readonly codec: Codec | undefined;
  private readonly body: Uint8Array;
  private readonly dictionaries: Dictionaries;
  private readonly unionsHaveValidity: boolean;
  private readonly rows: number;
  private expandedBytes: number;
  /** What is left of the rows of all columns together: what takes no bytes a row is no reason to believe in so many rows. */
  private cells: number;
  private node = 0;
  private place = 0;
  private variadic = 0;

  /** `expandedBytesMax`: what compressed buffers of a batch may come to. @throws BytesFault, TooMuch */
  constructor(message: Message, batch: FlatTable, dictionaries: Dictionaries, expandedBytesMax: number) {
    this.rows = batch.size(0);
    this.nodes = batch.sizes(1, 2);
    this.places = batch.sizes(2, 2);
    this.variadics = batch.sizes(4, 1);
    const compression = batch.table(3);
    this.codec = compression && (compression.uint8(0) === 0 ? 'lz4-frame' : 'zstd');
    if (compression && compression.uint8(0) > 1) throw new BytesFault(`unknown compression ${compression.uint8(0)}`);
    this.body = message.body;
    this.dictionaries = dictionaries;
    this.unionsHaveValidity = message.version < metadataVersion;
    this.expandedBytes = expandedBytesMax;
    this.cells = cellsMax * 4 + message.body.length * 16 * (this.codec ? 255 : 1);
  }

  /** The batch as records. @throws BytesFault */
  records(columns: readonly Column[]): Vector {
    const names = distinctNames(columns.map((c) => c.name));
    const fields = columns.map((c, k): Field => {
      try {
        return { name: names[k], optional: false, values: this.column(c, this.rows) };
      } catch (problem) {
        throw problem instanceof BytesFault ? new BytesFault(`column ${names[k]}: ${problem.message}`, { cause: problem }) : problem;
      }
    });
    return { form: 'record', length: this.rows, fields };
  }
  /** The values of a dictionary; a row may be null, whatever the column says. @throws BytesFault */
  dictionary(column: Column): Vector {
    const { dictionary: _, ...values } = column;
    return this.column({ ...values, nullable: false }, this.rows);
  }

  private column(c: Column, rows: number): Vector {
    const length = this.nodes[this.node * 2], nullCount = this.nodes[this.node * 2 + 1];
    if (length === undefined) throw new BytesFault('too few field nodes');
    this.node++;
    if (length < rows) throw new BytesFault(`${length} rows of ${rows}`);
    this.cells -= rows;
    if (this.cells < 0) throw new BytesFault(`${rows} rows in ${this.body.length} bytes`);
    if (!c.dictionary && (c.type.kind === 'null' || c.type.kind === 'run-end' || (c.type.kind === 'union' && !this.unionsHaveValidity))) {
      return this.withoutValidity(c, rows, length);
    }
    const bits = this.buffer();
    let valid: Uint32Array | undefined;
    if (nullCount > 0 && bits.length > 0 && rows > 0) {
      if (bits.length * 8 < rows) throw new BytesFault('validity too short');
      valid = validRows(bits, rows);
    }
    if (c.dictionary) return this.indexes(c.dictionary, c.nullable || valid !== undefined, rows, valid);
    const dense = this.dense(c.type, rows, valid, length);
    return c.nullable || valid ? withNulls(dense, rows, valid) : dense;
  }

  private withoutValidity(c: Column, rows: number, length: number): Vector {
    const { type } = c;
    if (type.kind === 'null') return nulls(rows);
    const v = type.kind === 'run-end' ? this.runEnds(type, rows) : this.union(type as Extract<ColumnType, { kind: 'union' }>, rows, length);
    if (!c.nullable || uniformType(v) === types.null) return v;
    return withNulls(flatten(v), rows, undefined);
  }

  /** Rows that are not null. */
  private dense(type: ColumnType, rows: number, valid: Uint32Array | undefined, length: number): Vector {
    switch (type.kind) {
      case 'bool': {
        const bits = this.buffer();
        if (bits.length * 8 < rows) throw new BytesFault('buffer too short');
        const all = bools(unpackBits(bits, rows));
        return valid ? flatten(take(all, valid)) : all;
      }
      case 'int': return this.integers(type, rows, valid);
      case 'float': return this.floats(type.bits, rows, valid);
      case 'decimal': return this.decimals(type.bits, rows, valid);
      case 'date': {
        if (type.unit === 'day') return namedVector('date32', timesOfDays(floatsOf(this.array(Int32Array, rows), rows, valid)));
        return namedVector('date64', numbersOfPairs(types.time, scaledPairs(this.pairs(rows, valid), 1e6, 'date in milliseconds')));
      }
      case 'time': {
        const wide = type.unit === 'us' || type.unit === 'ns';
        const pairs = wide ? this.pairs(rows, valid) : pairsOf(floatsOf(this.array(Int32Array, rows), rows, valid));
        return namedVector(`time${wide ? 64 : 32}_${type.unit}`, numbersOfPairs(types.time, scaledPairs(pairs, nanosOf[type.unit], `time in ${type.unit}`)));
      }
      case 'timestamp': case 'duration': {
        const v = numbersOfPairs(type.kind === 'duration' ? types.duration : types.time, scaledPairs(this.pairs(rows, valid), nanosOf[type.unit], `${type.kind} in ${type.unit}`));
        return type.unit === 'ns' ? v : namedVector(`${type.kind}_${type.unit}`, v);
      }
      case 'interval': return this.intervals(type.unit, rows, valid);
      case 'binary': {
        const primitive = type.text ? types.string : types.bytes;
        const v = type.layout === 'view' ? this.views(primitive, rows, valid) : this.runs(primitive, type.layout === 'large', rows, valid);
        return type.layout === 'large' ? namedVector(type.text ? 'large_string' : 'large_binary', v) : v;
      }
      case 'fixed-binary': {
        const bytes = this.buffer();
        if (rows * type.size > bytes.length) throw new BytesFault('buffer too short');
        const offsets = stepped(rows, type.size);
        return namedVector(`fixed_size_binary_${type.size}`, runsVector(types.bytes, { offsets, bytes, rows }, valid));
      }
      case 'struct': return picked(this.struct(type.fields, rows), valid);
      case 'list': return this.list(type.layout, type.item, rows, valid);
      case 'fixed-list': {
        if (rows * type.size > 0x7fffffff) throw new BytesFault(`${rows} rows of ${type.size}`);
        const items = this.column(type.item, rows * type.size);
        const v: ListVector = { form: 'list', type: arrayType(uniformType(items)!), length: rows, offsets: stepped(rows, type.size), items };
        return namedVector(`fixed_size_list_${type.size}`, picked(v, valid));
      }
      case 'map': return this.map(type.key, type.value, rows, valid);
      case 'union': return picked(this.union(type, rows, length), valid);
      default: throw new BytesFault(`column of kind ${type.kind} with a validity`);
    }
  }

  private integers(type: { readonly bits: number; readonly signed: boolean }, rows: number, valid: Uint32Array | undefined): Vector {
    const primitive = primitiveNamed(`${type.signed ? 'int' : 'uint'}${type.bits}`)!;
    if (type.bits === 64) return numbersOfPairs(primitive, this.pairs(rows, valid));
    return numbers(primitive, floatsOf(this.smallIntegers(type.bits, type.signed, rows), rows, valid));
  }
  private smallIntegers(bits: number, signed: boolean, rows: number): Int8Array | Uint8Array | Int16Array | Uint16Array | Int32Array | Uint32Array {
    switch (bits) {
      case 8: return signed ? this.array(Int8Array, rows) : this.array(Uint8Array, rows);
      case 16: return signed ? this.array(Int16Array, rows) : this.array(Uint16Array, rows);
      default: return signed ? this.array(Int32Array, rows) : this.array(Uint32Array, rows);
    }
  }
  private floats(bits: number, rows: number, valid: Uint32Array | undefined): Vector {
    if (bits === 64) return numbers(types.float64, floatsOf(this.array(Float64Array, rows), rows, valid));
    if (bits === 32) return numbers(types.float32, floatsOf(this.array(Float32Array, rows), rows, valid));
    return numbers(types.float16, floatsOf(this.array(Uint16Array, rows), rows, valid).map(float16Number));
  }
  /** High and low words of 128 bits, four words of 256; narrower ones are widened. */
  private decimals(bits: number, rows: number, valid: Uint32Array | undefined): Vector {
    if (bits === 32 || bits === 64) {
      const low = bits === 64 ? this.pairs(rows, valid) : pairsOf(floatsOf(this.array(Int32Array, rows), rows, valid));
      return decimal128(low, low.map((_, i) => (low[i | 1] < 0 ? -1 : 0)));
    }
    const words = bits / 32, all = this.array(Int32Array, rows * words), count = valid?.length ?? rows;
    const columns = Array.from({ length: words / 2 }, () => new Int32Array(count * 2));
    for (let i = 0; i < count; i++) {
      const from = (valid ? valid[i] : i) * words;
      columns.forEach((column, k) => {
        column[i * 2] = all[from + k * 2];
        column[i * 2 + 1] = all[from + k * 2 + 1];
      });
    }
    if (bits === 128) return decimal128(columns[0], columns[1]);
    const items = new Int32Array(count * 8);
    columns.forEach((column, k) => {
      for (let i = 0; i < count; i++) items.set(column.subarray(i * 2, i * 2 + 2), i * 8 + k * 2);
    });
    return namedVector('decimal256', { form: 'list', type: arrayType(types.uint64), length: count, offsets: stepped(count, 4), items: numbersOfPairs(types.uint64, items) });
  }
  private intervals(unit: 'month' | 'day-time' | 'month-day-nano', rows: number, valid: Uint32Array | undefined): Vector {
    if (unit === 'month') return namedVector('month_interval', numbers(types.int32, floatsOf(this.array(Int32Array, rows), rows, valid)));
    const words = unit === 'day-time' ? 2 : 4, all = this.array(Int32Array, rows * words), index = valid ?? range(0, rows);
    const word = (k: number): Float64Array => Float64Array.from(index, (row) => all[row * words + k]);
    if (unit === 'day-time') {
      const millis = word(1).map((x) => x >>> 0);
      return namedVector('day_time_interval', recordOf([['days', numbers(types.int32, word(0))], ['milliseconds', numbers(types.uint32, millis)]], index.length));
    }
    const nanos = new Int32Array(index.length * 2);
    for (let i = 0; i < index.length; i++) nanos.set(all.subarray(index[i] * 4 + 2, index[i] * 4 + 4), i * 2);
    return namedVector('month_day_nano_interval', recordOf([
      ['month', numbers(types.int32, word(0))], ['day', numbers(types.int32, word(1))], ['nanoseconds', numbersOfPairs(types.int64, nanos)],
    ], index.length));
  }

  private runs(type: PrimitiveType, large: boolean, rows: number, valid: Uint32Array | undefined): Vector {
    const offsets = this.offsets(large, rows);
    return runsVector(type, { offsets, bytes: this.buffer(), rows }, valid);
  }
  /** Rows of 16 bytes: a length, then the bytes themselves if they are few, else where they are. */
  private views(type: PrimitiveType, rows: number, valid: Uint32Array | undefined): Vector {
    const words = this.array(Int32Array, rows * 4), count = this.variadics[this.variadic++] ?? 0;
    if (count > this.places.length) throw new BytesFault('too few buffers');
    const inline = new Uint8Array(words.buffer, words.byteOffset, rows * 16), buffers = Array.from({ length: count }, () => this.buffer());
    const index = valid ?? range(0, rows), offsets = new Uint32Array(index.length + 1);
    for (let i = 0; i < index.length; i++) {
      const size = words[index[i] * 4];
      if (size < 0 || offsets[i] + size > Math.max(viewBytesMax, this.body.length)) throw new BytesFault(`view of ${size} bytes`);
      offsets[i + 1] = offsets[i] + size;
    }
    const bytes = new Uint8Array(offsets[index.length]);
    for (let i = 0; i < index.length; i++) {
      const row = index[i] * 4, size = words[row], from = words[row + 3];
      if (size <= 12) bytes.set(inline.subarray(row * 4 + 4, row * 4 + 4 + size), offsets[i]);
      else {
        const source = buffers[words[row + 2]];
        if (!source || from < 0 || from + size > source.length) throw new BytesFault('view outside of its buffer');
        bytes.set(source.subarray(from, from + size), offsets[i]);
      }
    }
    return runsVector(type, { offsets, bytes, rows: index.length }, undefined);
  }

  private struct(columns: readonly Column[], rows: number): Vector {
    const names = distinctNames(columns.map((c) => c.name));
    return recordOf(columns.map((c, k) => [names[k], this.column(c, rows)]), rows);
  }
  private list(layout: 'plain' | 'large' | 'view' | 'large-view', item: Column, rows: number, valid: Uint32Array | undefined): Vector {
    const v = layout === 'plain' || layout === 'large' ? this.plainList(layout === 'large', item, rows) : this.viewList(layout === 'large-view', item, rows, valid);
    const dense = v.length === rows ? picked(v, valid) : v;
    return layout === 'large' ? namedVector('large_list', dense) : dense;
  }
  private plainList(large: boolean, item: Column, rows: number): ListVector {
    const offsets = this.offsets(large, rows);
    checkOffsets(offsets, rows, 0xffffffff);
    const items = this.column(item, offsets[rows]);
    return { form: 'list', type: arrayType(uniformType(items)!), length: rows, offsets, items };
  }
  /** Starts and sizes that may overlap. */
  private viewList(large: boolean, item: Column, rows: number, valid: Uint32Array | undefined): ListVector {
    const starts = this.sizes(large, rows), sizes = this.sizes(large, rows), index = valid ?? range(0, rows);
    const offsets = new Uint32Array(index.length + 1);
    let reach = 0;
    for (let i = 0; i < index.length; i++) {
      offsets[i + 1] = offsets[i] + sizes[index[i]];
      if (offsets[i] + sizes[index[i]] > cellsMax) throw new BytesFault(`list views over more than ${cellsMax} items`);
      if (sizes[index[i]] > 0) reach = Math.max(reach, starts[index[i]] + sizes[index[i]]);
    }
    const items = this.column(item, reach), places = new Uint32Array(offsets[index.length]);
    for (let i = 0; i < index.length; i++) for (let k = 0; k < sizes[index[i]]; k++) places[offsets[i] + k] = starts[index[i]] + k;
    return { form: 'list', type: arrayType(uniformType(items)!), length: index.length, offsets, items: take(items, places) };
  }
  private map(key: Column, value: Column, rows: number, valid: Uint32Array | undefined): Vector {
    const offsets = this.offsets(false, rows);
    checkOffsets(offsets, rows, 0xffffffff);
    const entries = this.nodes[this.node * 2];
    if (entries === undefined || entries < offsets[rows]) throw new BytesFault('too few entries of maps');
    this.node++;
    this.buffer();
    const keys = this.column({ ...key, nullable: false }, offsets[rows]), values = this.column(value, offsets[rows]);
    if (!valid) return mapVector(rows, offsets, keys, values);
    const runs = pickedRuns(offsets, valid);
    return mapVector(valid.length, runs.offsets, take(keys, runs.index), take(values, runs.index));
  }

  private union(type: Extract<ColumnType, { kind: 'union' }>, rows: number, length: number): Vector {
    const codes = this.array(Int8Array, rows), tags = new Uint32Array(rows), byCode = new Int16Array(128).fill(-1);
    type.codes.forEach((code, k) => { byCode[code] = k; });
    for (let i = 0; i < rows; i++) {
      const tag = codes[i] < 0 ? -1 : byCode[codes[i]];
      if (tag < 0) throw new BytesFault(`union of unknown code ${codes[i]}`);
      tags[i] = tag;
    }
    if (!type.dense) {
      if (type.members.length === 0 && rows > 0) throw new BytesFault('union of nothing');
      return unionVector(tags, range(0, rows), type.members.map((m) => this.column(m, rows)));
    }
    const given = this.array(Int32Array, rows), slots = new Uint32Array(rows), reach = new Float64Array(type.members.length);
    for (let i = 0; i < rows; i++) {
      if (given[i] < 0 || given[i] > length + this.body.length * 8) throw new BytesFault(`union offset ${given[i]}`);
      slots[i] = given[i];
      if (given[i] >= reach[tags[i]]) reach[tags[i]] = given[i] + 1;
    }
    return unionVector(tags, slots, type.members.map((m, k) => this.column(m, reach[k])));
  }
  private runEnds(type: Extract<ColumnType, { kind: 'run-end' }>, rows: number): Vector {
    if (rows > cellsMax) throw new BytesFault(`runs over ${rows} rows`);
    const count = this.nodes[this.node * 2] ?? 0, ends = this.column({ ...type.ends, nullable: false }, count);
    if (ends.form !== 'number') throw new BytesFault('run ends that are null');
    const values = this.column(type.values, count), index = new Uint32Array(rows);
    let at = 0;
    for (let run = 0; run < count && at < rows; run++) {
      const end = Math.min(Number(ends.values[run]), rows);
      if (end <= at) throw new BytesFault('run ends that do not grow');
      index.fill(run, at, end);
      at = end;
    }
    if (at < rows) throw new BytesFault('runs end too early');
    return take(values, index);
  }

  /** Rows of a dictionary. */
  private indexes(d: NonNullable<Column['dictionary']>, nullable: boolean, rows: number, valid: Uint32Array | undefined): Vector {
    const given = d.bits === 64 ? Float64Array.from(this.array(BigInt64Array, rows), Number) : this.smallIntegers(d.bits, d.signed, rows);
    const values = this.dictionaries.get(d.id);
    if (!values) throw new BytesFault(`dictionary ${d.id} is missing`);
    const codes = new Uint32Array(rows), size = values.length;
    if (valid) codes.fill(size);
    for (let k = 0; k < (valid?.length ?? rows); k++) {
      const row = valid ? valid[k] : k, code = given[row];
      if (code < 0 || code >= size) throw new BytesFault(`index ${code} into a dictionary of ${size}`);
      codes[row] = code;
    }
    // Null is one more entry, so that the rows stay codes.
    const entries = nullable ? withNulls(values, size + 1, range(0, size)) : values;
    return size <= Math.max(rows, 256) ? { form: 'dictionary', length: rows, codes, values: entries } : take(entries, codes);
  }

  /** Offsets of rows, which begin anywhere; none at all stand for no rows. */
  private offsets(large: boolean, rows: number): Uint32Array {
    if (rows === 0) {
      this.buffer();
      return new Uint32Array(1);
    }
    return this.sizes(large, rows + 1);
  }
  /** Offsets and sizes that fit into 32 bits. */
  private sizes(large: boolean, count: number): Uint32Array {
    if (!large) return this.array(Uint32Array, count);
    const pairs = this.array(Int32Array, count * 2), out = new Uint32Array(count);
    for (let i = 0; i < count; i++) {
      if (pairs[i * 2 + 1] !== 0) throw new BytesFault('offset beyond 4 GiB');
      out[i] = pairs[i * 2];
    }
    return out;
  }
  private pairs(rows: number, valid: Uint32Array | undefined): Int32Array { return pickPairs(this.array(Int32Array, rows * 2), rows, valid); }

  private array<A>(kind: { new(buffer: ArrayBufferLike, offset: number, length: number): A; readonly BYTES_PER_ELEMENT: number }, count: number): A {
    const width = kind.BYTES_PER_ELEMENT, bytes = this.buffer();
    if (bytes.length < count * width) throw new BytesFault(`buffer of ${bytes.length} bytes for ${count} values of ${width}`);
    const own = bytes.byteOffset % width === 0 ? bytes : new Uint8Array(bytes);
    return new kind(own.buffer, own.byteOffset, count);
  }
  private buffer(): Uint8Array {
    const start = this.places[this.place * 2], length = this.places[this.place * 2 + 1];
    if (start === undefined) throw new BytesFault('too few buffers');
    this.place++;
    if (start + length > this.body.length) throw new BytesFault('buffer outside of the body');
    const bytes = this.body.subarray(start, start + length);
    return this.codec && length > 0 ? this.expanded(bytes, this.codec) : bytes;
  }
  private expanded(bytes: Uint8Array, codec: Codec): Uint8Array {
    if (bytes.length < 8) throw new BytesFault('compressed buffer too short');
    const view = new DataView(bytes.buffer, bytes.byteOffset), low = view.getUint32(0, true), high = view.getInt32(4, true), packed = bytes.subarray(8);
    if (high === -1 && low === 0xffffffff) return packed;
    this.expandedBytes -= low;
    if (high !== 0 || this.expandedBytes < 0) throw new TooMuch();
    return expand(codec, packed, low);
  }
}

/** What a dictionary's batch adds to or puts in place of what is known of it. */
export const joined = (known: Vector | undefined, more: Vector, isDelta: boolean): Vector => (known && isDelta ? concat([known, more]) : more);

const stepped = (rows: number, step: number): Uint32Array => {
  const out = new Uint32Array(rows + 1);
  for (let i = 0; i <= rows; i++) out[i] = i * step;
  return out;
};
const picked = (v: Vector, valid: Uint32Array | undefined): Vector => (valid ? take(v, valid) : v);
const pickedRuns = (offsets: Uint32Array, rows: Uint32Array): { readonly offsets: Uint32Array; readonly index: Uint32Array } => {
  const out = new Uint32Array(rows.length + 1);
  for (let i = 0; i < rows.length; i++) out[i + 1] = out[i] + offsets[rows[i] + 1] - offsets[rows[i]];
  const index = new Uint32Array(out[rows.length]);
  for (let i = 0; i < rows.length; i++) for (let at = out[i], from = offsets[rows[i]]; at < out[i + 1];) index[at++] = from++;
  return { offsets: out, index };
};
const recordOf = (fields: readonly (readonly [string, Vector])[], rows: number): Vector =>
  ({ form: 'record', length: rows, fields: fields.map(([name, values]) => ({ name, optional: false, values })) });
const decimal128 = (low: Int32Array, high: Int32Array): Vector =>
  namedVector('decimal128', recordOf([['high', numbersOfPairs(types.int64, high)], ['low', numbersOfPairs(types.uint64, low)]], low.length >> 1));
