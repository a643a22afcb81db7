/**
 * A column of a row group: its pages one behind the other.
 *
 * Invariants: levels and values stay apart; a page stands for at most `pageValuesMax` values, a chunk for no more than its bytes make likely.
 */
import { crc32 } from 'node:zlib';
import type { ColumnMetaData } from 'hyparquet';
import { deserializeTCompactProtocol } from 'hyparquet/src/thrift.js';
import { concat } from '../../vectors/concat.ts';
import { type Vector, flatten } from '../../vectors/vector.ts';
import { type Codec, expand } from '../block-codecs.ts';
import { BytesFault } from '../type-bytes.ts';
import { type Place, bitsFor, decodeHybrid } from './decode.ts';
import type { Leaf } from './plan.ts';
import { encodings, noValues, valuesVector } from './values.ts';

const pageValuesMax = 1 << 25;
const chunkValuesMax = 1 << 26;
const pageBytesMax = 1 << 29;
const pageKind = { data: 0, index: 1, dictionary: 2, dataV2: 3 } as const;

/** What a column chunk says: a level of definition and one of repetition for each entry (none: all 0 or all the highest), and the values in order. */
export interface ChunkData {
  readonly entries: number;
  readonly definition: Uint8Array | undefined;
  readonly repetition: Uint8Array | undefined;
  readonly values: Vector;
}

const codecs: Readonly<Record<string, Codec | 'none'>> = {
  UNCOMPRESSED: 'none', SNAPPY: 'snappy', GZIP: 'gzip', BROTLI: 'brotli', ZSTD: 'zstd', LZ4: 'lz4-hadoop', LZ4_RAW: 'lz4-block',
};

/** @throws BytesFault */
export const readChunk = (file: Uint8Array, meta: ColumnMetaData, leaf: Leaf): ChunkData => {
  const codec = codecs[meta.codec], column = meta.path_in_schema.join('.');
  if (!codec) throw new BytesFault(`compression ${meta.codec}`);
  if (Number(meta.num_values) === 0) return new ChunkReader(new Uint8Array(0), codec, leaf, column).read(0);
  const start = Number(meta.dictionary_page_offset && meta.dictionary_page_offset < meta.data_page_offset ? meta.dictionary_page_offset : meta.data_page_offset);
  const end = start + Number(meta.total_compressed_size), entries = Number(meta.num_values);
  if (!(start >= 4 && end >= start && end <= file.length)) throw new BytesFault('column chunk outside of the file');
  if (!(entries >= 0 && entries <= chunkValuesMax + (end - start) * 64)) throw new BytesFault(`${entries} values in ${end - start} bytes`);
  return new ChunkReader(file.subarray(start, end), codec, leaf, column).read(entries);
};

class ChunkReader {
  private readonly bytes: Uint8Array;
  private readonly codec: Codec | 'none';
  private readonly leaf: Leaf;
  private readonly column: string;
  private readonly definition: Uint8Array[] = [];
  private readonly repetition: Uint8Array[] = [];
  private readonly values: Vector[] = [];
  private dictionary: Vector | undefined;
  private entries = 0;

  constructor(bytes: Uint8Array, codec: Codec | 'none', leaf: Leaf, column: string) {
    this.column = column;
    this.bytes = bytes;
    this.codec = codec;
    this.leaf = leaf;
  }

  read(entries: number): ChunkData {
    const reader = { view: new DataView(this.bytes.buffer, this.bytes.byteOffset, this.bytes.byteLength), offset: 0 }, { leaf } = this;
    while (this.entries < entries) {
      const header = pageHeader(reader), size = header.packedBytes;
      if (size > this.bytes.length - reader.offset) throw new BytesFault('page cut short');
      const packed = this.bytes.subarray(reader.offset, reader.offset + size);
      if (header.crc !== undefined && crc32(packed) !== header.crc) throw new BytesFault(`page checksum does not match (column ${this.column}, entry ${this.entries})`);
      this.page(header, packed, entries - this.entries);
      reader.offset += size;
    }
    return {
      entries,
      definition: leaf.definitionMax > 0 ? joined(this.definition) : undefined,
      repetition: leaf.repetitionMax > 0 ? joined(this.repetition) : undefined,
      values: this.joinedValues(),
    };
  }

  private joinedValues(): Vector {
    const all = this.values.length === 0 ? noValues(this.leaf) : concat(this.values);
    return all.form === 'dictionary' && all.values.length * 2 > all.length ? flatten(all) : all;
  }

  private page(header: PageHeader, packed: Uint8Array, entriesLeft: number): void {
    const { kind } = header;
    if (kind === pageKind.dictionary) {
      if (!(header.values >= 0 && header.values <= pageValuesMax)) throw new BytesFault(`dictionary of ${header.values}`);
      this.dictionary = valuesVector(this.leaf, encodings.plain, placeOf(this.expanded(packed, header.bytes)), header.values);
      return;
    }
    if (kind !== pageKind.data && kind !== pageKind.dataV2) return;
    if (!(header.values >= 0 && header.values <= Math.min(pageValuesMax, entriesLeft))) throw new BytesFault(`page of ${header.values} values`);
    this.entries += header.values;
    if (kind === pageKind.data) this.dataPage(header, placeOf(this.expanded(packed, header.bytes)));
    else this.dataPageV2(header, packed);
  }
  private dataPage(header: PageHeader, p: Place): void {
    const { repetitionMax, definitionMax } = this.leaf;
    if (repetitionMax > 0) this.repetition.push(this.levels(counted(p, header.repetitionEncoding), header.values, repetitionMax));
    const definition = definitionMax > 0 ? this.levels(counted(p, header.definitionEncoding), header.values, definitionMax) : undefined;
    this.take(header, p, definition);
  }
  private dataPageV2(header: PageHeader, packed: Uint8Array): void {
    const { repetitionMax, definitionMax } = this.leaf, { repetitionBytes, definitionBytes } = header, levelBytes = repetitionBytes + definitionBytes;
    if (repetitionBytes < 0 || definitionBytes < 0 || levelBytes > packed.length || levelBytes > header.bytes) throw new BytesFault('page cut short');
    if (repetitionMax > 0) this.repetition.push(this.levels({ bytes: packed, at: 0, end: repetitionBytes }, header.values, repetitionMax));
    const definition = definitionMax > 0 ? this.levels({ bytes: packed, at: repetitionBytes, end: levelBytes }, header.values, definitionMax) : undefined;
    const values = packed.subarray(levelBytes);
    this.take(header, placeOf(header.isCompressed ? this.expanded(values, header.bytes - levelBytes) : values), definition);
  }
  private levels(p: Place, count: number, max: number): Uint8Array {
    const out = new Uint8Array(count);
    decodeHybrid(p, bitsFor(max), out);
    for (let i = 0; i < count; i++) if (out[i] > max) throw new BytesFault(`level ${out[i]} of ${max}`);
    return out;
  }
  private take(header: PageHeader, p: Place, definition: Uint8Array | undefined): void {
    if (definition) this.definition.push(definition);
    const count = definition ? countOf(definition, this.leaf.definitionMax) : header.values, { encoding } = header;
    if (encoding !== encodings.dictionary && encoding !== encodings.plainDictionary) {
      this.values.push(valuesVector(this.leaf, encoding, p, count));
      return;
    }
    if (count === 0) return;
    if (!this.dictionary) throw new BytesFault('dictionary is missing');
    const codes = new Uint32Array(count), size = this.dictionary.length;
    if (p.at >= p.end) throw new BytesFault('page cut short');
    decodeHybrid(p, p.bytes[p.at++], codes);
    for (let i = 0; i < count; i++) if (codes[i] >= size) throw new BytesFault(`index ${codes[i]} into a dictionary of ${size}`);
    this.values.push({ form: 'dictionary', length: count, codes, values: this.dictionary });
  }

  private expanded(packed: Uint8Array, size: number): Uint8Array {
    if (this.codec === 'none') return packed;
    if (!(size >= 0 && size <= pageBytesMax)) throw new BytesFault(`page of ${size} bytes`);
    return expand(this.codec, packed, size);
  }
}

interface PageHeader {
  readonly kind: number;
  /** Before and after compression. */
  readonly bytes: number;
  readonly packedBytes: number;
  /** CRC-32 of what follows the header, as it is there; many writers leave it out. */
  readonly crc: number | undefined;
  readonly values: number;
  readonly encoding: number;
  readonly definitionEncoding: number;
  readonly repetitionEncoding: number;
  readonly definitionBytes: number;
  readonly repetitionBytes: number;
  readonly isCompressed: boolean;
}
type Fields = Readonly<Record<`field_${number}`, unknown>>;
const pageHeader = (reader: { view: DataView<ArrayBufferLike>; offset: number }): PageHeader => {
  const header = fieldsOf(reader), kind = numberIn(header, 1), packedBytes = numberIn(header, 3);
  const inner = (header[`field_${kind === pageKind.data ? 5 : kind === pageKind.dictionary ? 7 : 8}`] ?? {}) as Fields;
  const isData = kind === pageKind.data, isV2 = kind === pageKind.dataV2;
  if (packedBytes < 0) throw new BytesFault(`page of ${packedBytes} bytes`);
  return {
    kind, bytes: numberIn(header, 2), packedBytes, crc: header.field_4 === undefined ? undefined : numberIn(header, 4) >>> 0, values: kind === pageKind.index ? 0 : numberIn(inner, 1),
    encoding: isV2 ? numberIn(inner, 4) : isData ? numberIn(inner, 2) : encodings.plain,
    definitionEncoding: isData ? numberIn(inner, 3) : encodings.rle, repetitionEncoding: isData ? numberIn(inner, 4) : encodings.rle,
    definitionBytes: isV2 ? numberIn(inner, 5) : 0, repetitionBytes: isV2 ? numberIn(inner, 6) : 0, isCompressed: inner.field_7 !== false,
  };
};
const fieldsOf = (reader: { view: DataView<ArrayBufferLike>; offset: number }): Fields => {
  try {
    return deserializeTCompactProtocol(reader as { view: DataView<ArrayBuffer>; offset: number });
  } catch (cause) {
    throw new BytesFault(`page header: ${cause instanceof Error ? cause.message : String(cause)}`, { cause });
  }
};
const numberIn = (fields: Fields, field: number): number => {
  const x = fields[`field_${field}`];
  if (typeof x !== 'number' || !Number.isInteger(x)) throw new BytesFault('page header lacks a number');
  return x;
};

const placeOf = (bytes: Uint8Array): Place => ({ bytes, at: 0, end: bytes.length });
/** Levels of a page of version 1 have their size before them. */
const counted = (p: Place, encoding: number): Place => {
  if (encoding !== encodings.rle) throw new BytesFault(`levels in encoding ${encoding}`);
  if (p.end - p.at < 4) throw new BytesFault('page cut short');
  const { bytes, at } = p, size = bytes[at] | (bytes[at + 1] << 8) | (bytes[at + 2] << 16) | (bytes[at + 3] << 24);
  if (size < 0 || size > p.end - at - 4) throw new BytesFault('page cut short');
  p.at = at + 4 + size;
  return { bytes, at: at + 4, end: p.at };
};
const countOf = (levels: Uint8Array, level: number): number => {
  let count = 0;
  for (let i = 0; i < levels.length; i++) if (levels[i] === level) count++;
  return count;
};
const joined = (parts: readonly Uint8Array[]): Uint8Array => {
  if (parts.length === 1) return parts[0];
  const out = new Uint8Array(parts.reduce((n, p) => n + p.length, 0));
  let at = 0;
  for (const p of parts) {
    out.set(p, at);
    at += p.length;
  }
  return out;
};
