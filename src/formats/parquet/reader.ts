/** Reads Parquet files: the whole file first, since its table of contents comes last, then a row group at a time, column by column. */
import { type FileMetaData, type RowGroup, type SchemaElement, parquetMetadata } from 'hyparquet';
import { LakeError } from '../../errors.ts';
import { type Field, type Vector, slice } from '../../vectors/vector.ts';
import { distinctNames } from '../column-types.ts';
import { type ReadOptions, readLimits } from '../format.types.ts';
import { BytesFault } from '../type-bytes.ts';
import { assemble } from './assemble.ts';
import { type ChunkData, readChunk } from './column-chunk.ts';
import { type Node, leavesOf, planOf } from './plan.ts';

const fileBytesMax = 1 << 30;
const magic = 'PAR1';
/** Most rows of a row group without columns. */
const emptyRowsMax = 1 << 24;

/** @throws LakeError `format-broken`, after giving out the row groups before; `format-limit` for too long a file */
export async function* readParquet(input: AsyncIterable<Uint8Array>, options: ReadOptions): AsyncGenerator<Vector> {
  const { batchRows } = readLimits(options), file = await collect(input, options.parquetFileBytesMax ?? fileBytesMax);
  let values = 0;
  try {
    const metadata = contentsOf(file), columns = planOf(metadata.schema);
    for (const group of metadata.row_groups) {
      const batch = readGroup(file, group, columns);
      for (let start = 0; start < batch.length; start += batchRows) yield slice(batch, start, Math.min(start + batchRows, batch.length));
      values += batch.length;
    }
  } catch (problem) {
    throw problem instanceof BytesFault ? new LakeError('format-broken', { format: 'parquet', fault: problem.message, place: '', values }, { cause: problem }) : problem;
  }
}

/** What speaks against the input being Parquet. */
export const probeParquet = async (input: AsyncIterable<Uint8Array>): Promise<string | undefined> => {
  let head = '';
  for await (const chunk of input) {
    head += String.fromCharCode(...chunk.subarray(0, magic.length - head.length));
    if (head.length === magic.length) break;
  }
  return head === magic ? undefined : 'auto-detection requires seekable input';
};

const nothing = new Uint8Array(0);
const collect = async (input: AsyncIterable<Uint8Array>, bytesMax: number): Promise<Uint8Array> => {
  const chunks: Uint8Array[] = [];
  let size = 0;
  for await (const chunk of input) {
    size += chunk.length;
    if (size > bytesMax) throw new LakeError('format-limit', { format: 'parquet', what: 'file', limit: bytesMax, place: ' (option -parquet.file.max)' });
    chunks.push(chunk);
  }
  const file = new Uint8Array(size);
  let at = 0;
  for (let i = 0; i < chunks.length; i++) {
    file.set(chunks[i], at);
    at += chunks[i].length;
    chunks[i] = nothing;
  }
  return file;
};

const contentsOf = (file: Uint8Array): FileMetaData => {
  const markAt = (at: number): string => String.fromCharCode(...file.subarray(at, at + magic.length));
  if (file.length < 12) throw new BytesFault(`file too small (size=${file.length})`);
  if (markAt(file.length - 4) === 'PARE') throw new BytesFault('encrypted file');
  if (markAt(0) !== magic || markAt(file.length - 4) !== magic) throw new BytesFault('invalid magic bytes, either a corrupted file or not parquet');
  const size = new DataView(file.buffer, file.byteOffset).getUint32(file.length - 8, true);
  if (size > file.length - 12) throw new BytesFault(`table of contents of ${size} bytes in a file of ${file.length}`);
  try {
    const metadata = parquetMetadata(file.subarray(file.length - 8 - size), { geoparquet: false });
    metadata.schema.forEach(checkNumbers);
    return metadata;
  } catch (cause) {
    // The library has no class for its errors; what it cannot read is damaged.
    throw new BytesFault(`table of contents: ${cause instanceof Error && !(cause instanceof TypeError) ? cause.message : 'damaged'}`, { cause });
  }
};
/** The library gives out whatever kind of thing the bytes have in a number's place. */
const checkNumbers = (element: SchemaElement): void => {
  const { logical_type: logical, num_children, type_length, scale, precision } = element;
  const decimal = logical?.type === 'DECIMAL' ? [logical.scale, logical.precision] : [];
  if ([num_children, type_length, scale, precision, ...decimal].some((x: unknown) => x !== undefined && !Number.isInteger(x))) throw new BytesFault('damaged');
};

const readGroup = (file: Uint8Array, group: RowGroup, columns: readonly Node[]): Vector => {
  const rows = Number(group.num_rows), names = distinctNames(columns.map((c) => c.name));
  if (!(rows >= 0) || (columns.length === 0 && rows > emptyRowsMax)) throw new BytesFault(`row group of ${rows} rows`);
  const fields = columns.map((column, k): Field => {
    try {
      return { name: names[k], optional: false, values: readColumn(file, group, column, rows) };
    } catch (problem) {
      throw problem instanceof BytesFault ? new BytesFault(`column ${names[k]}: ${problem.message}`, { cause: problem }) : problem;
    }
  });
  return { form: 'record', length: rows, fields };
};
const readColumn = (file: Uint8Array, group: RowGroup, column: Node, rows: number): Vector => {
  const chunks = new Map<number, ChunkData>();
  for (const leaf of leavesOf(column)) {
    const chunk = group.columns[leaf.index], meta = chunk?.meta_data;
    if (!meta || chunk.crypto_metadata) throw new BytesFault('column chunk is missing or encrypted');
    if (chunk.file_path) throw new BytesFault(`column chunk is in another file: ${chunk.file_path}`);
    if (meta.type !== leaf.physical) throw new BytesFault(`${String(meta.type)} in a column of ${leaf.physical}`);
    chunks.set(leaf.index, readChunk(file, meta, leaf));
  }
  const v = assemble(column, (leaf) => chunks.get(leaf)!);
  if (v.length !== rows) throw new BytesFault(`${v.length} rows of ${rows}`);
  return v;
};
