/**
 * Record batches of Arrow to vectors, column by column.
 *
 * Invariants: a buffer is used only as far as it reaches; what columns of no bytes (null, run ends, views) can claim is
 * bounded by `cellsMax`.
 */
import { concat } from '../../vectors/concat.ts';
import { lean } from '../../vectors/shown-size.ts';
import { float16Number } from '../../vectors/value.ts';
import { type PrimitiveType, arrayType, primitiveNamed, types } from '../../vectors/type.ts';
import {
  type Field,
  type ListVector,
  type Vector,
  bools,
  flatten,
  nulls,
  numbers,
  range,
  take,
  uniformType,
} from '../../vectors/vector.ts';
import {
  checkOffsets,
  floatsOf,
  mapVector,
  namedVector,
  numbersOfPairs,
  pairsOf,
  pickPairs,
  runsVector,
  scaledPairs,
  timesOfDays,
  unionVector,
  unpackBits,
  validRows,
  withNulls,
} from '../columns/in.ts';
import { type Column, type ColumnType, distinctNames, nanosOf } from '../columns/types.ts';
import type { Hold, RowWindows } from '../row-windows.ts';
import { BytesFault } from '../columns/type-bytes.ts';
import { type Losses, decimalsOfWords } from '../columns/decimals.ts';
import { type Buffer, type BufferOptions, Buffers } from './buffers.ts';
import type { FlatTable } from '../arrow-schema/flat-read.ts';
import type { Message } from './messages.ts';
import { metadataVersion } from '../arrow-schema/ipc.ts';

/** Most rows of a column that stand for no bytes of their own, and most bytes that views may repeat. */
const cellsMax = 1 << 24;
const viewBytesMax = 1 << 28;

/** The values of each dictionary that has come so far, by its id. */
type Dictionaries = ReadonlyMap<number, Vector>;

/** How far the columns of a batch are read, and what is left of `cells`. */
interface Places {
  readonly node: number;
  readonly place: number;
  readonly variadic: number;
}
const beginning: Places = { node: 0, place: 0, variadic: 0 };

/** What a batch takes besides its message. `hold`: charges bytes of the rows that are read. */
interface BatchOptions extends BufferOptions {
  readonly dictionaries: Dictionaries /** Of a column: told of decimals whose digits do not fit. */;
  readonly lost?: ((column: string) => Losses) | undefined;
}

/** Digits of whole numbers that may be floats; those with more keep all of them as words, as in the reference. */
const wholeDigitsMax = 18;

/** What a row of a column takes while it is made, about. */
const rowBytes = 16;

/** Reads one record or dictionary batch: rows of its columns, as often as they are asked for. */
export class BatchReader {
  readonly rows: number;
  private readonly nodes: readonly number[];
  private readonly variadics: readonly number[];
  private readonly buffers: Buffers;
  private readonly dictionaries: Dictionaries;
  private readonly unionsHaveValidity: boolean;
  /** Most rows of all columns together: what takes no bytes a row is no reason to believe in so many rows. */
  private readonly cellsMax: number;
  private cells = 0;
  private at = { ...beginning };
  private hold: Hold = () => undefined;
  private readonly lostOf: BatchOptions['lost'];
  /** Of the column that is read. */
  private lost: Losses | undefined;

  /** @throws BytesFault */
  constructor(message: Message, batch: FlatTable, options: BatchOptions) {
    const compression = batch.table(3);
    const codec = compression && (compression.uint8(0) === 0 ? 'lz4-frame' : 'zstd');
    if (compression && compression.uint8(0) > 1) throw new BytesFault(`unknown compression ${compression.uint8(0)}`);
    this.rows = batch.size(0);
    this.nodes = batch.sizes(1, 2);
    this.variadics = batch.sizes(4, 1);
    this.buffers = new Buffers(message.body, { places: batch.sizes(2, 2), codec }, options);
    this.dictionaries = options.dictionaries;
    this.lostOf = options.lost;
    this.unionsHaveValidity = message.version < metadataVersion;
    this.cellsMax = cellsMax * 4 + message.body.size * 16 * (codec ? 255 : 1);
  }

  close(): void {
    this.buffers.close();
  }

  /**
   * Rows [from, from + rows) as records, with what a window says of them. @throws BytesFault, TooMuch, LakeError
   * format-memory
   */
  records(columns: readonly Column[], from: number, rows: number, window: RowWindows): Vector {
    const names = distinctNames(columns.map((c) => c.name));
    const cells = this.cells;
    this.at = { ...beginning };
    this.hold = (bytes) => {
      window.hold(bytes, rows);
    };
    try {
      const fields = columns.map((c, k): Field => {
        try {
          this.lost = this.lostOf?.(names[k]);
          return { name: names[k], optional: false, values: window.column(rows, () => this.column(c, from, rows)) };
        } catch (problem) {
          throw problem instanceof BytesFault
            ? new BytesFault(`column ${names[k]}: ${problem.message}`, { cause: problem })
            : problem;
        }
      });
      return { form: 'record', length: rows, fields };
    } catch (problem) {
      this.cells = cells;
      throw problem;
    }
  }
  /**
   * The values of a dictionary; a row may be null, whatever the column says. @throws BytesFault, TooMuch, LakeError
   * format-memory
   */
  dictionary(column: Column, hold: Hold): Vector {
    const { dictionary: _, ...values } = column;
    this.hold = hold;
    this.lost = this.lostOf?.(column.name);
    return lean(this.column({ ...values, nullable: false }, 0, this.rows));
  }

  private column(c: Column, from: number, rows: number): Vector {
    const length = this.nodes[this.at.node * 2];
    const nullCount = this.nodes[this.at.node * 2 + 1];
    if (length === undefined) throw new BytesFault('too few field nodes');
    this.at.node++;
    if (length < from + rows) throw new BytesFault(`${length} rows of ${from + rows}`);
    this.cells += rows;
    if (this.cells > this.cellsMax) throw new BytesFault(`${rows} rows in ${this.buffers.bodyLength} bytes`);
    this.hold(rows * rowBytes);
    if (
      !c.dictionary &&
      (c.type.kind === 'null' || c.type.kind === 'run-end' || (c.type.kind === 'union' && !this.unionsHaveValidity))
    ) {
      return this.withoutValidity(c, from, rows, length);
    }
    const bits = this.buffer();
    let valid: Uint32Array | undefined;
    if (nullCount > 0 && bits.length > 0 && rows > 0) {
      if (bits.length * 8 < from + rows) throw new BytesFault('validity too short');
      valid = validRows(this.bits(bits, from, rows), rows, from & 7);
    }
    if (c.dictionary) return this.indexes(c.dictionary, c.nullable || valid !== undefined, { from, rows, valid });
    const dense = this.dense(c.type, from, rows, valid, length);
    return c.nullable || valid ? withNulls(dense, rows, valid) : dense;
  }

  private withoutValidity(c: Column, from: number, rows: number, length: number): Vector {
    const { type } = c;
    if (type.kind === 'null') return nulls(rows);
    const v =
      type.kind === 'run-end'
        ? this.runEnds(type, from, rows)
        : this.union(type as Extract<ColumnType, { kind: 'union' }>, from, rows, length);
    if (!c.nullable || uniformType(v) === types.null) return v;
    return withNulls(flatten(v), rows, undefined);
  }

  /** Rows that are not null. */
  private dense(type: ColumnType, from: number, rows: number, valid: Uint32Array | undefined, length: number): Vector {
    switch (type.kind) {
      case 'bool': {
        const bits = this.buffer();
        if (bits.length * 8 < from + rows) throw new BytesFault('buffer too short');
        const all = bools(unpackBits(this.bits(bits, from, rows), rows, from & 7));
        return valid ? flatten(take(all, valid)) : all;
      }
      case 'int':
        return this.integers(type, from, rows, valid);
      case 'float':
        return this.floats(type.bits, from, rows, valid);
      case 'decimal':
        return this.decimals(type, from, rows, valid);
      case 'date': {
        if (type.unit === 'day')
          return namedVector('date32', timesOfDays(floatsOf(this.array(Int32Array, from, rows), rows, valid)));
        return namedVector(
          'date64',
          numbersOfPairs(types.time, scaledPairs(this.pairs(from, rows, valid), 1e6, 'date in milliseconds')),
        );
      }
      case 'time': {
        const wide = type.unit === 'us' || type.unit === 'ns';
        const pairs = wide
          ? this.pairs(from, rows, valid)
          : pairsOf(floatsOf(this.array(Int32Array, from, rows), rows, valid));
        return namedVector(
          `time${wide ? 64 : 32}_${type.unit}`,
          numbersOfPairs(types.time, scaledPairs(pairs, nanosOf[type.unit], `time in ${type.unit}`)),
        );
      }
      case 'timestamp':
      case 'duration': {
        const v = numbersOfPairs(
          type.kind === 'duration' ? types.duration : types.time,
          scaledPairs(this.pairs(from, rows, valid), nanosOf[type.unit], `${type.kind} in ${type.unit}`),
        );
        return type.unit === 'ns' ? v : namedVector(`${type.kind}_${type.unit}`, v);
      }
      case 'interval':
        return this.intervals(type.unit, from, rows, valid);
      case 'binary': {
        const primitive = type.text ? types.string : types.bytes;
        const v =
          type.layout === 'view'
            ? this.views(primitive, from, rows, valid)
            : this.runs(primitive, type.layout === 'large', from, rows, valid);
        return type.layout === 'large' ? namedVector(type.text ? 'large_string' : 'large_binary', v) : v;
      }
      case 'fixed-binary': {
        const all = this.buffer();
        if ((from + rows) * type.size > all.length) throw new BytesFault('buffer too short');
        const bytes = this.read(all, from * type.size, rows * type.size);
        const offsets = stepped(rows, type.size);
        return namedVector(
          type.meaning === 'uuid' ? 'uuid' : `fixed_size_binary_${type.size}`,
          runsVector(types.bytes, { offsets, bytes, rows }, valid),
        );
      }
      case 'struct':
        return picked(this.struct(type.fields, from, rows), valid);
      case 'list':
        return this.list(type.layout, type.item, from, rows, valid);
      case 'fixed-list': {
        if ((from + rows) * type.size > 0x7fffffff) throw new BytesFault(`${rows} rows of ${type.size}`);
        const items = this.column(type.item, from * type.size, rows * type.size);
        const v: ListVector = {
          form: 'list',
          type: arrayType(uniformType(items)!),
          length: rows,
          offsets: stepped(rows, type.size),
          items,
        };
        return namedVector(`fixed_size_list_${type.size}`, picked(v, valid));
      }
      case 'map':
        return this.map(type.key, type.value, from, rows, valid);
      case 'union':
        return picked(this.union(type, from, rows, length), valid);
      default:
        throw new BytesFault(`column of kind ${type.kind} with a validity`);
    }
  }

  private integers(
    type: { readonly bits: number; readonly signed: boolean },
    from: number,
    rows: number,
    valid: Uint32Array | undefined,
  ): Vector {
    const primitive = primitiveNamed(`${type.signed ? 'int' : 'uint'}${type.bits}`)!;
    if (type.bits === 64) return numbersOfPairs(primitive, this.pairs(from, rows, valid));
    return numbers(primitive, floatsOf(this.smallIntegers(type.bits, type.signed, from, rows), rows, valid));
  }
  private smallIntegers(
    bits: number,
    signed: boolean,
    from: number,
    rows: number,
  ): Int8Array | Uint8Array | Int16Array | Uint16Array | Int32Array | Uint32Array {
    switch (bits) {
      case 8:
        return signed ? this.array(Int8Array, from, rows) : this.array(Uint8Array, from, rows);
      case 16:
        return signed ? this.array(Int16Array, from, rows) : this.array(Uint16Array, from, rows);
      default:
        return signed ? this.array(Int32Array, from, rows) : this.array(Uint32Array, from, rows);
    }
  }
  private floats(bits: number, from: number, rows: number, valid: Uint32Array | undefined): Vector {
    if (bits === 64) return numbers(types.float64, floatsOf(this.array(Float64Array, from, rows), rows, valid));
    if (bits === 32) return numbers(types.float32, floatsOf(this.array(Float32Array, from, rows), rows, valid));
    return numbers(types.float16, floatsOf(this.array(Uint16Array, from, rows), rows, valid).map(float16Number));
  }
  /** Floats; whole numbers of more digits than 64 bits have are high and low words of 128 bits, four words of 256. */
  private decimals(
    type: ColumnType & { readonly kind: 'decimal' },
    from: number,
    rows: number,
    valid: Uint32Array | undefined,
  ): Vector {
    const { bits } = type;
    if (bits === 32 || bits === 64)
      return decimalsOfWords(
        type,
        [
          bits === 64
            ? this.pairs(from, rows, valid)
            : pairsOf(floatsOf(this.array(Int32Array, from, rows), rows, valid)),
        ],
        this.lost,
      );
    const words = bits / 32;
    const all = this.array(Int32Array, from * words, rows * words);
    const count = valid?.length ?? rows;
    const columns = Array.from({ length: words / 2 }, () => new Int32Array(count * 2));
    for (let i = 0; i < count; i++) {
      const from = (valid ? valid[i] : i) * words;
      columns.forEach((column, k) => {
        column[i * 2] = all[from + k * 2];
        column[i * 2 + 1] = all[from + k * 2 + 1];
      });
    }
    if (type.scale !== 0 || type.precision <= wholeDigitsMax) return decimalsOfWords(type, columns, this.lost);
    if (bits === 128) return decimal128(columns[0], columns[1]);
    const items = new Int32Array(count * 8);
    columns.forEach((column, k) => {
      for (let i = 0; i < count; i++) items.set(column.subarray(i * 2, i * 2 + 2), i * 8 + k * 2);
    });
    return namedVector('decimal256', {
      form: 'list',
      type: arrayType(types.uint64),
      length: count,
      offsets: stepped(count, 4),
      items: numbersOfPairs(types.uint64, items),
    });
  }
  private intervals(
    unit: 'month' | 'day-time' | 'month-day-nano',
    from: number,
    rows: number,
    valid: Uint32Array | undefined,
  ): Vector {
    if (unit === 'month')
      return namedVector(
        'month_interval',
        numbers(types.int32, floatsOf(this.array(Int32Array, from, rows), rows, valid)),
      );
    const words = unit === 'day-time' ? 2 : 4;
    const all = this.array(Int32Array, from * words, rows * words);
    const index = valid ?? range(0, rows);
    const word = (k: number): Float64Array => Float64Array.from(index, (row) => all[row * words + k]);
    if (unit === 'day-time') {
      const millis = word(1).map((x) => x >>> 0);
      return namedVector(
        'day_time_interval',
        recordOf(
          [
            ['days', numbers(types.int32, word(0))],
            ['milliseconds', numbers(types.uint32, millis)],
          ],
          index.length,
        ),
      );
    }
    const nanos = new Int32Array(index.length * 2);
    for (let i = 0; i < index.length; i++) nanos.set(all.subarray(index[i] * 4 + 2, index[i] * 4 + 4), i * 2);
    return namedVector(
      'month_day_nano_interval',
      recordOf(
        [
          ['month', numbers(types.int32, word(0))],
          ['day', numbers(types.int32, word(1))],
          ['nanoseconds', numbersOfPairs(types.int64, nanos)],
        ],
        index.length,
      ),
    );
  }

  private runs(
    type: PrimitiveType,
    large: boolean,
    from: number,
    rows: number,
    valid: Uint32Array | undefined,
  ): Vector {
    const { offsets, start } = this.offsets(large, from, rows);
    const all = this.buffer();
    const size = offsets[rows];
    if (start + size > all.length) throw new BytesFault(`offset ${start + size} of ${all.length}`);
    return runsVector(type, { offsets, bytes: this.read(all, start, size), rows }, valid);
  }
  /** Rows of 16 bytes: a length, then the bytes themselves if they are few, else where they are. */
  private views(type: PrimitiveType, from: number, rows: number, valid: Uint32Array | undefined): Vector {
    const words = this.array(Int32Array, from * 4, rows * 4);
    const count = this.variadics[this.at.variadic++] ?? 0;
    if (count > this.buffers.count) throw new BytesFault('too few buffers');
    const inline = new Uint8Array(words.buffer, words.byteOffset, rows * 16);
    const buffers = Array.from({ length: count }, () => this.buffer());
    const index = valid ?? range(0, rows);
    const offsets = new Uint32Array(index.length + 1);
    for (let i = 0; i < index.length; i++) {
      const size = words[index[i] * 4];
      if (size < 0 || offsets[i] + size > Math.max(viewBytesMax, this.buffers.bodyLength))
        throw new BytesFault(`view of ${size} bytes`);
      offsets[i + 1] = offsets[i] + size;
    }
    this.hold(offsets[index.length]);
    const bytes = new Uint8Array(offsets[index.length]);
    for (let i = 0; i < index.length; i++) {
      const row = index[i] * 4;
      const size = words[row];
      const start = words[row + 3];
      if (size <= 12) bytes.set(inline.subarray(row * 4 + 4, row * 4 + 4 + size), offsets[i]);
      else {
        const source = buffers[words[row + 2]];
        if (!source || start < 0 || start + size > source.length) throw new BytesFault('view outside of its buffer');
        bytes.set(source.read(start, size), offsets[i]);
      }
    }
    return runsVector(type, { offsets, bytes, rows: index.length }, undefined);
  }

  private struct(columns: readonly Column[], from: number, rows: number): Vector {
    const names = distinctNames(columns.map((c) => c.name));
    return recordOf(
      columns.map((c, k) => [names[k], this.column(c, from, rows)]),
      rows,
    );
  }
  private list(
    layout: 'plain' | 'large' | 'view' | 'large-view',
    item: Column,
    from: number,
    rows: number,
    valid: Uint32Array | undefined,
  ): Vector {
    const v =
      layout === 'plain' || layout === 'large'
        ? this.plainList(layout === 'large', item, from, rows)
        : this.viewList(layout === 'large-view', item, from, rows, valid);
    const dense = v.length === rows ? picked(v, valid) : v;
    return layout === 'large' ? namedVector('large_list', dense) : dense;
  }
  private plainList(large: boolean, item: Column, from: number, rows: number): ListVector {
    const { offsets, start } = this.offsets(large, from, rows);
    const items = this.column(item, start, offsets[rows]);
    return { form: 'list', type: arrayType(uniformType(items)!), length: rows, offsets, items };
  }
  /** Starts and sizes that may overlap. */
  private viewList(
    large: boolean,
    item: Column,
    from: number,
    rows: number,
    valid: Uint32Array | undefined,
  ): ListVector {
    const starts = this.sizes(large, from, rows);
    const sizes = this.sizes(large, from, rows);
    const index = valid ?? range(0, rows);
    const offsets = new Uint32Array(index.length + 1);
    let first = Infinity;
    let reach = 0;
    for (let i = 0; i < index.length; i++) {
      offsets[i + 1] = offsets[i] + sizes[index[i]];
      if (offsets[i] + sizes[index[i]] > cellsMax) throw new BytesFault(`list views over more than ${cellsMax} items`);
      if (sizes[index[i]] === 0) continue;
      first = Math.min(first, starts[index[i]]);
      reach = Math.max(reach, starts[index[i]] + sizes[index[i]]);
    }
    this.hold(offsets[index.length] * 4);
    first = Math.min(first, reach);
    const items = this.column(item, first, reach - first);
    const places = new Uint32Array(offsets[index.length]);
    for (let i = 0; i < index.length; i++)
      for (let k = 0; k < sizes[index[i]]; k++) places[offsets[i] + k] = starts[index[i]] - first + k;
    return {
      form: 'list',
      type: arrayType(uniformType(items)!),
      length: index.length,
      offsets,
      items: take(items, places),
    };
  }
  private map(key: Column, value: Column, from: number, rows: number, valid: Uint32Array | undefined): Vector {
    const { offsets, start } = this.offsets(false, from, rows);
    const entries = this.nodes[this.at.node * 2];
    const count = offsets[rows];
    if (entries === undefined || entries < start + count) throw new BytesFault('too few entries of maps');
    this.at.node++;
    this.buffer();
    const keys = this.column({ ...key, nullable: false }, start, count);
    const values = this.column(value, start, count);
    if (!valid) return mapVector(rows, offsets, keys, values, this.lost);
    const runs = pickedRuns(offsets, valid);
    return mapVector(valid.length, runs.offsets, take(keys, runs.index), take(values, runs.index), this.lost);
  }

  private union(type: Extract<ColumnType, { kind: 'union' }>, from: number, rows: number, length: number): Vector {
    const codes = this.array(Int8Array, from, rows);
    const tags = new Uint32Array(rows);
    const byCode = new Int16Array(128).fill(-1);
    type.codes.forEach((code, k) => {
      byCode[code] = k;
    });
    for (let i = 0; i < rows; i++) {
      const tag = codes[i] < 0 ? -1 : byCode[codes[i]];
      if (tag < 0) throw new BytesFault(`union of unknown code ${codes[i]}`);
      tags[i] = tag;
    }
    if (!type.dense) {
      if (type.members.length === 0 && rows > 0) throw new BytesFault('union of nothing');
      return unionVector(
        tags,
        range(0, rows),
        type.members.map((m) => this.column(m, from, rows)),
      );
    }
    const given = this.array(Int32Array, from, rows);
    const slots = new Uint32Array(rows);
    const first = new Float64Array(type.members.length).fill(Infinity);
    const reach = new Float64Array(type.members.length);
    for (let i = 0; i < rows; i++) {
      if (given[i] < 0 || given[i] > length + this.buffers.bodyLength * 8)
        throw new BytesFault(`union offset ${given[i]}`);
      if (given[i] < first[tags[i]]) first[tags[i]] = given[i];
      if (given[i] >= reach[tags[i]]) reach[tags[i]] = given[i] + 1;
    }
    for (let k = 0; k < reach.length; k++) first[k] = Math.min(first[k], reach[k]);
    for (let i = 0; i < rows; i++) slots[i] = given[i] - first[tags[i]];
    return unionVector(
      tags,
      slots,
      type.members.map((m, k) => this.column(m, first[k], reach[k] - first[k])),
    );
  }
  private runEnds(type: Extract<ColumnType, { kind: 'run-end' }>, from: number, rows: number): Vector {
    const count = this.nodes[this.at.node * 2] ?? 0;
    const low = this.runOf(type, from, count);
    const high = rows === 0 ? low : this.runOf(type, from + rows - 1, count) + 1;
    if (high > count) throw new BytesFault('runs end too early');
    const ends = this.column({ ...type.ends, nullable: false }, low, high - low);
    if (ends.form !== 'number') throw new BytesFault('run ends that are null');
    const values = this.column(type.values, low, high - low);
    const index = new Uint32Array(rows);
    let at = 0;
    for (let run = 0; run < high - low && at < rows; run++) {
      const end = Math.min(Number(ends.values[run]) - from, rows);
      if (end <= at) throw new BytesFault('run ends that do not grow');
      index.fill(run, at, end);
      at = end;
    }
    if (at < rows) throw new BytesFault('runs end too early');
    return take(values, index);
  }
  /** The first run that ends behind a row. */
  private runOf(type: Extract<ColumnType, { kind: 'run-end' }>, row: number, count: number): number {
    let low = 0;
    let high = count;
    const begun = { ...this.at };
    while (low < high) {
      const middle = (low + high) >> 1;
      const end = this.column({ ...type.ends, nullable: false }, middle, 1);
      this.at = { ...begun };
      if (end.form !== 'number') throw new BytesFault('run ends that are null');
      if (Number(end.values[0]) <= row) low = middle + 1;
      else high = middle;
    }
    return low;
  }

  /** Rows of a dictionary. */
  private indexes(
    d: NonNullable<Column['dictionary']>,
    nullable: boolean,
    { from, rows, valid }: { readonly from: number; readonly rows: number; readonly valid: Uint32Array | undefined },
  ): Vector {
    const given =
      d.bits === 64
        ? Float64Array.from(this.array(BigInt64Array, from, rows), Number)
        : this.smallIntegers(d.bits, d.signed, from, rows);
    const values = this.dictionaries.get(d.id);
    if (!values) throw new BytesFault(`dictionary ${d.id} is missing`);
    const codes = new Uint32Array(rows);
    const size = values.length;
    if (valid) codes.fill(size);
    for (let k = 0; k < (valid?.length ?? rows); k++) {
      const row = valid ? valid[k] : k;
      const code = given[row];
      if (code < 0 || code >= size) throw new BytesFault(`index ${code} into a dictionary of ${size}`);
      codes[row] = code;
    }
    // Null is one more entry, so that the rows stay codes.
    const entries = nullable ? withNull(values) : values;
    return size <= Math.max(rows, 256)
      ? { form: 'dictionary', length: rows, codes, values: entries }
      : take(entries, codes);
  }

  /**
   * Offsets of rows, from 0, and where the first one begins; none at all stand for no rows. @throws BytesFault for
   * offsets that go back
   */
  private offsets(
    large: boolean,
    from: number,
    rows: number,
  ): { readonly offsets: Uint32Array; readonly start: number } {
    if (rows === 0) {
      this.buffer();
      return { offsets: new Uint32Array(1), start: 0 };
    }
    const given = this.sizes(large, from, rows + 1);
    const start = given[0];
    checkOffsets(given, rows, 0xffffffff);
    return { offsets: start === 0 ? given : given.map((x) => x - start), start };
  }
  /** Offsets and sizes that fit into 32 bits. */
  private sizes(large: boolean, from: number, count: number): Uint32Array {
    if (!large) return this.array(Uint32Array, from, count);
    const pairs = this.array(Int32Array, from * 2, count * 2);
    const out = new Uint32Array(count);
    for (let i = 0; i < count; i++) {
      if (pairs[i * 2 + 1] !== 0) throw new BytesFault('offset beyond 4 GiB');
      out[i] = pairs[i * 2];
    }
    return out;
  }
  private pairs(from: number, rows: number, valid: Uint32Array | undefined): Int32Array {
    return pickPairs(this.array(Int32Array, from * 2, rows * 2), rows, valid);
  }

  private array<A>(
    kind: { new (buffer: ArrayBufferLike, offset: number, length: number): A; readonly BYTES_PER_ELEMENT: number },
    from: number,
    count: number,
  ): A {
    const width = kind.BYTES_PER_ELEMENT;
    const all = this.buffer();
    if (all.length < (from + count) * width)
      throw new BytesFault(`buffer of ${all.length} bytes for ${from + count} values of ${width}`);
    const bytes = this.read(all, from * width, count * width);
    const own = bytes.byteOffset % width === 0 ? bytes : new Uint8Array(bytes);
    return new kind(own.buffer, own.byteOffset, count);
  }
  /** The bytes that the bits of these rows are in, the first one at `from & 7`. */
  private bits(all: Buffer, from: number, rows: number): Uint8Array {
    return this.read(all, from >>> 3, ((from + rows + 7) >>> 3) - (from >>> 3));
  }
  private read(all: Buffer, at: number, length: number): Uint8Array {
    this.hold(length);
    return all.read(at, length);
  }
  private buffer(): Buffer {
    return this.buffers.at(this.at.place++);
  }
}

const entriesWithNull = new WeakMap<Vector, Vector>();
/** The values, and null behind them. */
const withNull = (values: Vector): Vector => {
  let entries = entriesWithNull.get(values);
  if (!entries) entriesWithNull.set(values, (entries = withNulls(values, values.length + 1, range(0, values.length))));
  return entries;
};

/** What a dictionary's batch adds to or puts in place of what is known of it. */
export const joined = (known: Vector | undefined, more: Vector, isDelta: boolean): Vector =>
  known && isDelta ? concat([known, more]) : more;

const stepped = (rows: number, step: number): Uint32Array => {
  const out = new Uint32Array(rows + 1);
  for (let i = 0; i <= rows; i++) out[i] = i * step;
  return out;
};
const picked = (v: Vector, valid: Uint32Array | undefined): Vector => (valid ? take(v, valid) : v);
const pickedRuns = (
  offsets: Uint32Array,
  rows: Uint32Array,
): { readonly offsets: Uint32Array; readonly index: Uint32Array } => {
  const out = new Uint32Array(rows.length + 1);
  for (let i = 0; i < rows.length; i++) out[i + 1] = out[i] + offsets[rows[i] + 1] - offsets[rows[i]];
  const index = new Uint32Array(out[rows.length]);
  for (let i = 0; i < rows.length; i++)
    for (let at = out[i], from = offsets[rows[i]]; at < out[i + 1]; ) index[at++] = from++;
  return { offsets: out, index };
};
const recordOf = (fields: readonly (readonly [string, Vector])[], rows: number): Vector => ({
  form: 'record',
  length: rows,
  fields: fields.map(([name, values]) => ({ name, optional: false, values })),
});
const decimal128 = (low: Int32Array, high: Int32Array): Vector =>
  namedVector(
    'decimal128',
    recordOf(
      [
        ['high', numbersOfPairs(types.int64, high)],
        ['low', numbersOfPairs(types.uint64, low)],
      ],
      low.length >> 1,
    ),
  );
