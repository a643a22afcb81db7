/** The bytes of a Parquet file: row groups one by one, the table of contents at the end. */
import type { ColumnChunk, RowGroup } from 'hyparquet';
import { ByteWriter } from 'hyparquet-writer';
import { writeMetadata } from 'hyparquet-writer/src/metadata.js';
import { checkStop } from '../../vectors/stop.ts';
import type { RecordVector } from '../../vectors/vector.ts';
import { writeChunk } from './chunk-write.ts';
import { type PageCodec, snappyPages } from './page-codecs.ts';
import type { SchemaOut } from './schema-write.ts';
import { type LeafData, shred } from './shred.ts';

const magic = Uint8Array.of(0x50, 0x41, 0x52, 0x31);
/** What the table of contents has room for at first: small files are written in great numbers. */
const contentsBytes = 1 << 12;
const createdBy = 'lake-data-service (build 0)';

/** A file in the making: `group` for the rows of each group, then `end`. */
export class ParquetFile {
  private schema: SchemaOut | undefined;
  /** What the table of contents says of the groups so far. */
  readonly groups: RowGroup[] = [];
  private length = 0;
  private rows = 0;
  private readonly codec: PageCodec;

  constructor(codec: PageCodec = snappyPages) {
    this.codec = codec;
  }

  get hasSchema(): boolean {
    return this.schema !== undefined;
  }
  start(schema: SchemaOut): void {
    this.schema = schema;
  }

  *group(v: RecordVector): Generator<Uint8Array> {
    const { nodes } = this.schema!;
    const columns: RowGroup['columns'] = [];
    const start = this.length;
    yield* this.head();
    for (const [k, node] of nodes.entries()) {
      for (const leaf of shred(node, v.fields[k].values, v.fields[k].present)) {
        checkStop();
        columns.push(yield* this.chunk(leaf));
      }
    }
    const rawBytes = columns.reduce((n, c) => n + (c.meta_data?.total_uncompressed_size ?? 0n), 0n);
    this.groups.push({
      columns,
      total_byte_size: rawBytes,
      num_rows: BigInt(v.length),
      total_compressed_size: BigInt(this.length - Math.max(start, magic.length)),
    });
    this.rows += v.length;
  }

  private *chunk(leaf: LeafData): Generator<Uint8Array, ColumnChunk> {
    const pieces = writeChunk(leaf, this.length, this.codec);
    for (;;) {
      const { done, value } = pieces.next();
      if (done) return value;
      yield this.count(value);
    }
  }

  private *head(): Generator<Uint8Array> {
    if (this.length === 0) yield this.count(magic.slice());
  }

  *end(): Generator<Uint8Array> {
    yield* this.head();
    const out = new ByteWriter(contentsBytes);
    writeMetadata(out, {
      version: 2,
      created_by: createdBy,
      schema: [...this.schema!.elements],
      num_rows: BigInt(this.rows),
      row_groups: this.groups,
      metadata_length: 0,
    });
    yield out.getBytes();
    yield magic.slice();
  }

  private count(bytes: Uint8Array): Uint8Array {
    this.length += bytes.length;
    return bytes;
  }
}
