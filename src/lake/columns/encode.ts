/**
 * Vectors to columns: a block's rows become segments of bytes and a directory that describes them, column by column in
 * the order of the layout.
 *
 * Invariants:
 * - Segments begin at multiples of eight from the block's start, in the order of the directory: their places follow
 *   from their lengths.
 * - What the directory says of a column begins with a byte of its encoding (`encodings`); `directory.ts` reads it in the
 *   same order.
 * - Rows of a dynamic or union column are stored member by member in row order, so that tags alone tell their places.
 */
import { timesOfTexts } from '../../vectors/texts/times.ts';
import { memberRows } from '../../vectors/member-rows.ts';
import { onlyMember } from '../../vectors/unions.ts';
import { type PrimitiveType, type Type, types, isFloat } from '../../vectors/type.ts';
import { ByteWriter } from '../../vectors/value.ts';
import {
  type Vector,
  type NumberVector,
  type BytesVector,
  type BoolVector,
  type RecordVector,
  type ListVector,
  type MapVector,
  type DynamicVector,
  type UnionVector,
  type TypeVector,
  type DictionaryVector,
  chargeColumns,
  flatten,
  slice,
  take,
  uniformType,
  ofForm,
} from '../../vectors/vector.ts';
import { checksum } from './checksum.ts';
import { packCodedNumbers } from './coded-numbers.ts';
import type { Compress, Expansion, SegmentKind } from './compression.ts';
import type { Segment } from './column.ts';
import { ColumnDictionary } from './dictionary.ts';
import { type Layout, type TypeTable } from './layout.ts';
import { filterOf } from './membership.ts';
import { pairsOf } from './pairs.ts';
import {
  type Packed,
  isCalendarScale,
  packBits,
  packCodes,
  packDistances,
  packTimes,
  scaleCode,
  unitDistances,
  wideDistances,
} from './packing.ts';
import { scaledFloats } from './scaled-floats.ts';
import { pairsVersion, spansVersion, timesVersion } from '../objects/format.ts';
import {
  BytesRange,
  isWhole,
  numberBounds,
  wideBounds,
  writeBytesBounds,
  writeFloat,
  writeWide,
} from './statistics.ts';
import { encodings, numberKinds } from './encodings.ts';
import { partName, rowsOf } from './members.ts';
import {
  lookUp,
  lengthsOf,
  addRuns,
  markSeen,
  addSeen,
  extremesOf,
  isConstant,
  isFloat32,
  lessBase,
  isOneRun,
} from './values.ts';

/** Below so many rows a column gets no dictionary. */
const dictionaryRowsMin = 32;
/** A column of strings has a filter from so many rows on, if its texts have no more bytes than this, on average. */
const filterRowsMin = 256;
const filterTextMax = 40;
/** A column of strings has its pairs beside it from so many bytes on: they are 512. */
const pairedBytesMin = 24 << 10;

/** What the blocks of one object share. */
export interface ObjectTables {
  readonly types: TypeTable;
  /** By path of the column, numbered in this order; absent: none are made. */
  readonly dictionaries?: Map<string, ColumnDictionary>;
  /** Those that were taken over from another object, by the values that they have there (kept.ts). */
  readonly copied?: Map<BytesVector, ColumnDictionary>;
  /** Only for columns that come with a dictionary. */
  readonly onlyGiven?: true;
  /** The same, and those that come with one keep it, however few rows of it are left. */
  readonly keepsEncodings?: true;
  /** Told of an encoding that objects before this version do not have. */
  readonly newer?: (version: number) => void;
  /** Directories say of each segment whether it is compressed; absent: none is. */
  readonly compress?: Compress;
  /** Only dictionaries are tried out: it is told of their codes, and columns that have none are passed over. */
  readonly trial?: (dictionary: ColumnDictionary, codes: Uint32Array) => void;
}
/** An encoded block: its directory entry and its segments. */
export interface EncodedBlock {
  readonly rows: number;
  readonly layout: Layout;
  readonly directory: Uint8Array;
  /** Segments with the padding between them. */
  readonly data: readonly Uint8Array[];
  /** Bytes of `data`, a multiple of eight. */
  readonly dataLength: number;
}

/** Encodes one block. `statistics`: with zone maps. */
export const encodeBlock = (batch: Vector, tables: ObjectTables, statistics: boolean): EncodedBlock => {
  const encoder = new BlockEncoder(tables, statistics);
  return encoder.done(batch.length, encoder.column(batch, '', undefined));
};

const noPadding = new Uint8Array(8);
const noBytes = new Uint8Array(0);

/** Writes the columns of one block, one after the other. */
export class BlockEncoder {
  readonly directory = new ByteWriter();
  private readonly data: Uint8Array[] = [];
  private dataLength = 0;
  private readonly tables: ObjectTables;
  private readonly statistics: boolean;
  constructor(tables: ObjectTables, statistics: boolean) {
    this.tables = tables;
    this.statistics = statistics;
  }

  /** The block of these rows, whose columns have been encoded. */
  done(rows: number, layout: Layout): EncodedBlock {
    const { data, dataLength } = this;
    return { rows, layout, directory: this.directory.done(), data, dataLength };
  }

  /** Encodes a column; `expected` is its type if it has no rows to tell. */
  column(v: Vector, path: string, expected: Type | undefined): Layout {
    if (v.length === 0) return { form: 'empty', type: expected ?? uniformType(v) ?? types.null };
    if (v.form === 'dictionary' && v.values.form === 'bytes') return this.coded(v, v.values, path);
    if (v.form === 'dictionary' && v.values.form === 'number' && this.codedNumbers(v, v.values))
      return { form: 'number', type: v.values.type };
    const flat = flatten(v);
    switch (flat.form) {
      case 'number':
        return this.numbers(flat);
      case 'bytes':
        return this.bytes(flat, path);
      case 'bool':
        return this.bools(flat);
      case 'null':
        return { form: 'null' };
      case 'type':
        return this.typeValues(flat);
      case 'enum':
        this.codes(flat.codes, flat.length);
        return { form: 'enum', type: flat.type };
      case 'record':
        return this.record(flat, path);
      case 'list':
        return this.list(flat, path);
      case 'map':
        return this.map(flat, path);
      case 'union':
        return this.union(flat, path);
      case 'dynamic':
        return this.dynamic(flat, path);
      case 'error':
        return { form: 'error', inner: this.column(flat.inner, `${path}/error`, undefined) };
      case 'named':
        return { form: 'named', name: flat.name, inner: this.column(flat.inner, `${path}/=${flat.name}`, undefined) };
    }
  }

  /**
   * Length and checksum of what is stored; where segments may be compressed, twice the length, plus one if this one is,
   * and then behind the checksum its codec and what it expands to.
   */
  segment(raw: Uint8Array, kind: SegmentKind = 'numbers'): void {
    const small = this.tables.compress?.(raw, kind);
    const bytes = small?.bytes ?? raw;
    const expansion = small && { codec: small.codec, length: raw.length };
    this.put(bytes, bytes.length === 0 ? 0 : checksum(bytes), expansion);
  }
  /** A segment of another object that is compressed where this one's may be; `bytes`: as it is stored there. */
  storedSegment({ check, expansion }: Segment, bytes: Uint8Array): void {
    this.put(bytes, check, expansion);
  }
  private put(bytes: Uint8Array, check: number, expansion: Expansion | undefined): void {
    const out = this.directory;
    out.uvarint(this.tables.compress ? bytes.length * 2 + (expansion ? 1 : 0) : bytes.length);
    if (bytes.length === 0) return;
    for (let shift = 0; shift < 32; shift += 8) out.byte((check >>> shift) & 0xff);
    if (expansion) {
      out.byte(expansion.codec);
      out.uvarint(expansion.length);
    }
    this.data.push(bytes);
    const padding = -bytes.length & 7;
    if (padding) this.data.push(noPadding.subarray(0, padding));
    this.dataLength += bytes.length + padding;
  }

  private codes(values: Uint32Array, length: number): void {
    if (this.tables.trial) return;
    const { base, width, bytes } = packCodes(values, length);
    this.directory.uvarint(base);
    this.directory.byte(width);
    if (width > 0) this.segment(bytes);
  }

  private numbers(v: NumberVector): Layout {
    if (this.tables.trial) return { form: 'number', type: v.type };
    if (v.values instanceof Float64Array) this.floats(v.type, v.values, v.length);
    else this.wides(v.type, v.values, v.length);
    return { form: 'number', type: v.type };
  }

  /** False if they are to be encoded row by row. */
  private codedNumbers({ codes, length }: DictionaryVector, { type, values }: NumberVector): boolean {
    if (this.tables.trial) return true;
    if (!(values instanceof Float64Array)) return false;
    const found = packCodedNumbers(codes.subarray(0, length), values, isFloat(type));
    if (!found) return false;
    if ('same' in found) {
      this.floats(type, found.same, 1);
      return true;
    }
    const out = this.directory;
    const { min, max } = found.bounds;
    out.byte(encodings.packed);
    out.byte(numberKinds.float);
    if (this.statistics) {
      writeFloat(out, min);
      writeFloat(out, max);
    }
    writeFloat(out, min);
    this.packed(found.packed, 0);
    return true;
  }

  private floats(type: PrimitiveType, values: Float64Array, length: number): void {
    const out = this.directory;
    const { min, max, hasNan } = numberBounds(values, length);
    const same = min === max && isConstant(values, length);
    out.byte(same ? encodings.constant : 0);
    const encodingAt = out.length - 1;
    out.byte(numberKinds.float);
    if (this.statistics) {
      writeFloat(out, min);
      // NaN is greater than any other number in SELECT: what asks for greater ones reads the block.
      writeFloat(out, hasNan ? Infinity : max);
    }
    if (same) return writeFloat(out, values[0]);
    const distances =
      isWhole(values, length, isFloat(type)) && max - min <= Number.MAX_SAFE_INTEGER
        ? lessBase(values, length, min)
        : undefined;
    const packed = distances && packDistances(distances);
    if (packed) {
      out.bytes[encodingAt] = encodings.packed;
      writeFloat(out, min);
      return this.packed(packed, distances[0]);
    }
    const scaled = isFloat(type) && !hasNan ? this.scaled(values, length, { min, max }) : undefined;
    if (isFloat(type) && !(scaled && scaled.packed.width < 4) && isFloat32(values, length)) {
      out.bytes[encodingAt] = encodings.float32;
      return this.segment(new Uint8Array(Float32Array.from(values.subarray(0, length)).buffer));
    }
    if (!scaled) return this.segment(new Uint8Array(values.buffer, values.byteOffset, length * 8));
    out.bytes[encodingAt] = encodings.scaled;
    out.byte(scaled.digits);
    writeFloat(out, scaled.base);
    this.packed(scaled.packed, scaled.first);
    this.tables.newer!(spansVersion);
  }
  private scaled(
    values: Float64Array,
    length: number,
    bounds: { readonly min: number; readonly max: number },
  ): { readonly digits: number; readonly base: number; readonly first: number; readonly packed: Packed } | undefined {
    const found = this.tables.newer && length > 1 ? scaledFloats(values, length, bounds) : undefined;
    if (!found) return undefined;
    const { digits, units } = found;
    const base = Math.round(bounds.min * 10 ** digits);
    const distances = lessBase(units, length, base);
    const packed = packDistances(distances);
    return packed && { digits, base, first: distances[0], packed };
  }

  private wides(type: PrimitiveType, values: BigInt64Array | BigUint64Array, length: number): void {
    const out = this.directory;
    const { newer } = this.tables;
    const isTime = newer !== undefined && (type === types.time || type === types.duration);
    const near = wideDistances(values, length);
    const far = isTime && !near ? unitDistances(values as BigInt64Array, length) : undefined;
    const spread = near ?? far;
    const perSecond = far ? 1e9 / 10 ** far.power : 1e9;
    const packed = spread && (isTime ? packTimes(spread.distances, perSecond) : packDistances(spread.distances));
    out.byte(packed ? (far ? encodings.units : encodings.packed) : encodings.plain);
    out.byte(values instanceof BigUint64Array ? numberKinds.unsigned : numberKinds.signed);
    if (this.statistics) {
      const { min, max } = wideBounds(values, length);
      writeFloat(out, min);
      writeFloat(out, max);
    }
    if (!packed) return this.segment(new Uint8Array(values.buffer, values.byteOffset, length * 8));
    if (far) out.byte(far.power);
    writeWide(out, spread.base);
    this.packed(packed, spread.distances[0]);
    if (far || isCalendarScale(packed.scale)) newer!(spansVersion);
  }

  private packed(p: Packed, first: number): void {
    const out = this.directory;
    out.byte(p.width);
    out.byte(scaleCode(p.scale));
    out.byte(p.delta ? 1 : 0);
    if (p.delta) {
      writeFloat(out, first);
      writeFloat(out, p.least);
    }
    if (p.width > 0) this.segment(p.bytes);
  }

  /** `isCoded`: it came with a dictionary. */
  private bytes(v: BytesVector, path: string, isCoded = false): Layout {
    const out = this.directory;
    const layout: Layout = { form: 'bytes', type: v.type };
    if (isOneRun(v.offsets, v.bytes, v.length)) {
      out.byte(encodings.constant);
      out.uvarint(v.offsets[1] - v.offsets[0]);
      out.run(v.bytes, v.offsets[0], v.offsets[1]);
      return layout;
    }
    if (v.length >= dictionaryRowsMin) {
      if (this.times(v)) return layout;
      const { onlyGiven, keepsEncodings } = this.tables;
      const isWanted = keepsEncodings ? isCoded : !onlyGiven;
      const dictionary = isWanted ? this.dictionary(v.type, path) : undefined;
      const codes = dictionary && this.codesIn(dictionary, v);
      if (dictionary && codes) {
        this.dictionaryCodes(dictionary, codes);
        return layout;
      }
    }
    if (this.tables.trial) return layout;
    const isFiltered = this.isFiltered(v);
    const isPaired = this.isPaired(v);
    out.byte(isPaired ? encodings.paired : isFiltered ? encodings.filtered : encodings.plain);
    if (this.statistics) {
      const range = new BytesRange(v.bytes);
      addRuns(range, v.offsets, v.length);
      writeBytesBounds(out, range.bounds());
    }
    this.codes(lengthsOf(v.offsets, v.length), v.length);
    const [start, end] = [v.offsets[0], v.offsets[v.length]];
    const bytes = start === 0 && end === v.bytes.length ? v.bytes : v.bytes.subarray(start, end);
    this.segment(bytes, 'texts');
    if (isFiltered) this.segment(new Uint8Array(filterOf(v).buffer));
    else if (isPaired) this.segment(noBytes);
    if (isPaired) this.segment(new Uint8Array(pairsOf(bytes).buffer));
    if (isFiltered || isPaired) this.tables.newer!(isPaired ? pairsVersion : timesVersion);
    return layout;
  }
  /** Short texts that mostly differ are looked for one by one, as ids are. */
  private isFiltered(v: BytesVector): boolean {
    return (
      this.statistics &&
      this.tables.newer !== undefined &&
      v.type === types.string &&
      v.length >= filterRowsMin &&
      v.offsets[v.length] - v.offsets[0] <= v.length * filterTextMax
    );
  }

  private isPaired(v: BytesVector): boolean {
    return (
      this.statistics &&
      this.tables.newer !== undefined &&
      v.type === types.string &&
      v.offsets[v.length] - v.offsets[0] >= pairedBytesMin
    );
  }

  /** Times as text become numbers; false if they are not, or take more than four bytes a row. */
  private times(v: BytesVector): boolean {
    const { newer } = this.tables;
    const times = newer && timesOfTexts(v);
    const packed = times && packDistances(times.distances);
    if (!packed) return false;
    const out = this.directory;
    const { distances } = times;
    out.byte(encodings.times);
    if (this.statistics) {
      const { least, greatest } = extremesOf(distances, v.length);
      const range = new BytesRange(v.bytes);
      range.add(v.offsets[least], v.offsets[least + 1]);
      range.add(v.offsets[greatest], v.offsets[greatest + 1]);
      writeBytesBounds(out, range.bounds());
    }
    out.byte(times.digits);
    writeFloat(out, times.base);
    this.packed(packed, distances[0]);
    newer(timesVersion);
    return true;
  }

  /** A column that comes with a dictionary: its values are looked up once each. */
  private coded(v: DictionaryVector, values: BytesVector, path: string): Layout {
    // One short value is stored as in one row.
    if (values.length === 1 && v.length < dictionaryRowsMin && isOneRun(values.offsets, values.bytes, 1))
      return this.bytes(values, path, true);
    if (v.length < dictionaryRowsMin || values.length > v.length)
      return this.bytes(ofForm(flatten(v), 'bytes'), path, true);
    const dictionary = this.dictionary(values.type, path);
    if (!dictionary || dictionary.retired) return this.bytes(ofForm(flatten(v), 'bytes'), path);
    const used = new Uint8Array(values.length);
    const ownCodes = v.codes.subarray(0, v.length);
    markSeen(ownCodes, used);
    const index = new Uint32Array(values.length);
    let count = 0;
    for (let k = 0; k < used.length; k++) if (used[k]) index[count++] = k;
    const distinct = ofForm(flatten(take(values, index.subarray(0, count))), 'bytes');
    if (count === 1 && isOneRun(distinct.offsets, distinct.bytes, 1)) return this.bytes(distinct, path);
    const known = count > 1 ? this.codesIn(dictionary, distinct, v.length) : undefined;
    if (!known) return this.bytes(ofForm(flatten(v), 'bytes'), path);
    const mapped = new Uint32Array(values.length);
    for (let k = 0; k < count; k++) mapped[index[k]] = known[k];
    const codes = new Uint32Array(v.length);
    lookUp(ownCodes, mapped, codes);
    this.dictionaryCodes(dictionary, codes);
    return { form: 'bytes', type: values.type };
  }

  private dictionary(type: PrimitiveType, path: string): ColumnDictionary | undefined {
    const key = `${path}/${type.name}`;
    const { dictionaries } = this.tables;
    let dictionary = dictionaries?.get(key);
    if (!dictionary && dictionaries)
      dictionaries.set(key, (dictionary = new ColumnDictionary(type, dictionaries.size)));
    return dictionary;
  }

  private codesIn(dictionary: ColumnDictionary, v: BytesVector, rows = v.length): Uint32Array | undefined {
    const codes = dictionary.codesOf(v, rows);
    if (codes) this.tables.trial?.(dictionary, codes);
    return codes;
  }
  private dictionaryCodes(dictionary: ColumnDictionary, codes: Uint32Array): void {
    if (this.tables.trial) return;
    const out = this.directory;
    out.byte(encodings.dictionary);
    if (this.statistics) {
      const seen = new Uint8Array(dictionary.length);
      const range = new BytesRange(dictionary.bytes.array);
      const { array: offsets } = dictionary.offsets;
      markSeen(codes, seen);
      addSeen(range, offsets, seen);
      writeBytesBounds(out, range.bounds());
    }
    out.uvarint(dictionary.number);
    this.codes(codes, codes.length);
  }

  private bools(v: BoolVector): Layout {
    this.flags(v.values, v.length);
    return { form: 'bool' };
  }
  /** One bit a row. */
  flags(values: Uint8Array, length: number): void {
    if (this.tables.trial) return;
    let ones = 0;
    for (let i = 0; i < length; i++) ones += values[i];
    if (ones === 0 || ones === length) {
      this.directory.byte(encodings.constant);
      this.directory.byte(ones ? 1 : 0);
    } else {
      this.directory.byte(encodings.plain);
      this.segment(packBits(values, length));
    }
  }

  private typeValues(v: TypeVector): Layout {
    this.typeTable(v.table);
    this.codes(v.codes, v.length);
    return { form: 'type' };
  }
  /** The types that the codes of a column mean. */
  typeTable(table: readonly Type[]): void {
    const numbers = table.map((t) => this.tables.types.number(t));
    this.directory.uvarint(numbers.length);
    for (const n of numbers) this.directory.uvarint(n);
  }

  private record(v: RecordVector, path: string): Layout {
    chargeColumns(v.fields.length);
    for (const f of v.fields) {
      if (!f.optional) continue;
      if (f.present) this.flags(f.present, v.length);
      else {
        this.directory.byte(encodings.constant);
        this.directory.byte(1);
      }
    }
    return {
      form: 'record',
      fields: v.fields.map((f) => ({
        name: f.name,
        optional: f.optional,
        values: this.column(
          f.values.length === v.length ? f.values : slice(f.values, 0, v.length),
          `${path}.${f.name}`,
          undefined,
        ),
      })),
    };
  }

  private lengths(offsets: Uint32Array, length: number): { readonly start: number; readonly end: number } {
    this.codes(lengthsOf(offsets, length), length);
    this.directory.uvarint(offsets[length] - offsets[0]);
    return { start: offsets[0], end: offsets[length] };
  }
  private list(v: ListVector, path: string): Layout {
    const { start, end } = this.lengths(v.offsets, v.length);
    return { form: 'list', type: v.type, items: this.column(slice(v.items, start, end), `${path}[]`, v.type.element) };
  }
  private map(v: MapVector, path: string): Layout {
    const { start, end } = this.lengths(v.offsets, v.length);
    const keys = this.column(slice(v.keys, start, end), `${path}|k`, v.type.key);
    return {
      form: 'map',
      type: v.type,
      keys,
      values: this.column(slice(v.values, start, end), `${path}|v`, v.type.value),
    };
  }

  private union(v: UnionVector, path: string): Layout {
    const only = onlyMember(v);
    if (only) return this.unionOfOne(v, only, path);
    this.codes(v.tags, v.length);
    const of = memberRows(v.tags, v.slots, v.length, v.members.length);
    const members = v.members.map((m, tag) => {
      const rows = rowsOf(m, of, tag);
      this.directory.uvarint(rows.length);
      return this.column(rows, `${path}(${tag})`, v.type.members[tag]);
    });
    return { form: 'union', type: v.type, members };
  }

  private unionOfOne({ type, tags, length }: UnionVector, only: Vector, path: string): Layout {
    const own = tags[0];
    this.codes(tags.subarray(0, 1), 1);
    const members = type.members.map((member, tag): Layout => {
      this.directory.uvarint(tag === own ? length : 0);
      return tag === own ? this.column(only, `${path}(${tag})`, member) : { form: 'empty', type: member };
    });
    return { form: 'union', type, members };
  }

  private dynamic(v: DynamicVector, path: string): Layout {
    const of = memberRows(v.tags, v.slots, v.length, v.parts.length);
    const live = v.parts.flatMap((part, tag) =>
      of.starts[tag] === of.starts[tag + 1] ? [] : [{ tag, name: partName(part) }],
    );
    if (live.length === 1) return this.column(rowsOf(v.parts[live[0].tag], of, live[0].tag), path, undefined);
    live.sort((a, b) => (a.name < b.name ? -1 : a.name > b.name ? 1 : a.tag - b.tag));
    const renumbered = new Uint32Array(v.parts.length);
    live.forEach((p, at) => {
      renumbered[p.tag] = at;
    });
    const tags = new Uint32Array(v.length);
    lookUp(v.tags, renumbered, tags);
    this.directory.uvarint(live.length);
    this.codes(tags, v.length);
    const parts = live.map(({ tag, name }) => {
      this.directory.uvarint(of.starts[tag + 1] - of.starts[tag]);
      return this.column(rowsOf(v.parts[tag], of, tag), `${path}<${name}>`, undefined);
    });
    return { form: 'dynamic', parts };
  }
}
