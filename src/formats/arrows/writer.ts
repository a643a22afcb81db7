/**
 * Writes Arrow IPC streams: a schema from the first record, or of what is known where none comes, then a batch for
 * every 1024 records, or 4 MiB of them, not compressed. A file is a stream between marks, with a table of its batches at
 * the end (format/File.fbs of Apache Arrow).
 */
import type { ChunkBuffers } from '../../vectors/texts/chunk-buffers.ts';
import type { Vector } from '../../vectors/vector.ts';
import { type Column, columnsOf, columnsWithoutRows } from '../columns/types.ts';
import type { WriteOptions, Writer } from '../format.types.ts';
import { RecordRows } from '../columns/record-rows.ts';
import { BatchWriter, writerName } from './batch-write.ts';
import { type FlatObject, flatBytes, int16 } from './flat-write.ts';
import { continuation, metadataVersion } from '../arrow-schema/ipc.ts';
import { messageBytes, schemaHeader } from './schema-write.ts';

const batchRows = 1024;
const batchBytes = 4 << 20;

export const createArrowsWriter = ({ buffers, arrowFile = false, gatherBytesMax }: WriteOptions): Writer => {
  const file = arrowFile ? new FileMarks() : undefined;
  let columns: readonly Column[] = [];
  let schema: Uint8Array | undefined;
  let started = false;
  const start = (found: readonly Column[]): void => {
    columns = found;
    schema = message('schema', schemaHeader(columns));
    started = true;
  };
  const rows = new RecordRows({
    writer: writerName,
    rows: batchRows,
    bytes: batchBytes,
    gatherBytesMax,
    start: (type) => {
      start(columnsOf(type, writerName));
    },
  });
  function* begin(): Generator<Uint8Array> {
    if (!schema) return;
    if (file) yield file.begin(schema);
    yield schema;
    schema = undefined;
  }
  function* give(batches: Iterable<Parameters<BatchWriter['records']>[1]>): Generator<Uint8Array> {
    for (const batch of batches) {
      yield* begin();
      const writer = new BatchWriter(batch.length);
      writer.records(columns, batch);
      const bytes = message('recordBatch', writer.header, { batch: writer, buffers });
      file?.batch(bytes);
      yield bytes;
    }
  }
  return {
    write: (batch: Vector) => give(rows.add(batch)),
    *end(rowType) {
      yield* give(rows.flush());
      if (!started) start(columnsWithoutRows(rowType, writerName));
      yield* begin();
      yield Uint8Array.of(0xff, 0xff, 0xff, 0xff, 0, 0, 0, 0);
      if (file) yield file.end(columns);
    },
  };
};

const magic = new TextEncoder().encode('ARROW1');

/** What a file has around the stream. */
class FileMarks {
  private offset = 0;
  /** Of each batch its offset, the length of its head and that of its body. */
  private readonly blocks: number[] = [];

  /** The beginning of a file whose first message is this. */
  begin(schema: Uint8Array): Uint8Array {
    const bytes = new Uint8Array(8);
    bytes.set(magic);
    this.offset = bytes.length + schema.length;
    return bytes;
  }
  /** Notes a batch that follows. */
  batch(bytes: Uint8Array): void {
    const head = 8 + new DataView(bytes.buffer, bytes.byteOffset).getInt32(4, true);
    this.blocks.push(this.offset, head, bytes.length - head);
    this.offset += bytes.length;
  }
  /** What follows the stream's end. */
  end(columns: readonly Column[]): Uint8Array {
    const none = { sizes: [], width: blockSizes };
    const footer = flatBytes({
      table: [int16(metadataVersion), schemaHeader(columns), none, { sizes: this.blocks, width: blockSizes }],
    });
    const bytes = new Uint8Array(footer.length + 4 + magic.length);
    bytes.set(footer);
    new DataView(bytes.buffer).setInt32(footer.length, footer.length, true);
    bytes.set(magic, footer.length + 4);
    return bytes;
  }
}
/** A block is a struct of three: 64 bits, 32 bits and as many of padding, 64 bits. */
const blockSizes = 3;

/** Metadata, padded to eight bytes, and the body behind it. */
const message = (
  kind: 'schema' | 'recordBatch',
  header: FlatObject,
  { batch, buffers }: { readonly batch?: BatchWriter; readonly buffers?: ChunkBuffers | undefined } = {},
): Uint8Array => {
  const bodyLength = batch?.bodyLength ?? 0;
  const metadata = messageBytes(kind, header, bodyLength);
  const size = 8 + metadata.length + bodyLength;
  const out = buffers && size > buffers.size ? buffers.takeLarge(size) : new Uint8Array(size);
  const view = new DataView(out.buffer);
  view.setUint32(0, continuation, true);
  view.setInt32(4, metadata.length, true);
  out.set(metadata, 8);
  batch?.body(out, 8 + metadata.length);
  return out;
};
