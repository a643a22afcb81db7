/**
 * Writes Arrow IPC streams: a schema from the first record, or of what is known where none comes, then a batch for
 * every 1024 records, or 4 MiB of them, not compressed.
 */
import type { ChunkBuffers } from '../../vectors/chunk-buffers.ts';
import type { Vector } from '../../vectors/vector.ts';
import { type Column, columnsOf, columnsWithoutRows } from '../column-types.ts';
import type { WriteOptions, Writer } from '../format.types.ts';
import { RecordRows } from '../record-rows.ts';
import { BatchWriter, writerName } from './batch-write.ts';
import type { FlatObject } from './flat-write.ts';
import { continuation } from './ipc.ts';
import { messageBytes, schemaHeader } from './schema-write.ts';

const batchRows = 1024;
const batchBytes = 4 << 20;

export const createArrowsWriter = ({ buffers }: WriteOptions): Writer => {
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
    start: (type) => {
      start(columnsOf(type, writerName));
    },
  });
  function* give(batches: Iterable<Parameters<BatchWriter['records']>[1]>): Generator<Uint8Array> {
    for (const batch of batches) {
      if (schema) yield schema;
      schema = undefined;
      const writer = new BatchWriter(batch.length);
      writer.records(columns, batch);
      yield message('recordBatch', writer.header, { batch: writer, buffers });
    }
  }
  return {
    write: (batch: Vector) => give(rows.add(batch)),
    *end(rowType) {
      yield* give(rows.flush());
      if (!started) start(columnsWithoutRows(rowType, writerName));
      if (schema) yield schema;
      yield Uint8Array.of(0xff, 0xff, 0xff, 0xff, 0, 0, 0, 0);
    },
  };
};

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
