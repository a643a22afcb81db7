/**
 * Reads Parquet files: the whole file first, since its table of contents comes last, then a row group at a time, some
 * rows of all columns at once.
 */
import { type FileMetaData, type SchemaElement, parquetMetadata } from 'hyparquet';
import { deserializeTCompactProtocol } from 'hyparquet/src/thrift.js';
import { LakeError } from '../../errors.ts';
import { cutBySize } from '../../vectors/shown-size.ts';
import { bytesToText } from '../../vectors/texts/codec.ts';
import type { Vector } from '../../vectors/vector.ts';
import { type ReadOptions, readLimits } from '../format.types.ts';
import { ReadMemory } from '../read-memory.ts';
import { batchBytesMax } from '../row-windows.ts';
import { Spool } from '../spool.ts';
import { BytesFault } from '../columns/type-bytes.ts';
import { lossesOf } from '../columns/decimals.ts';
import { withDurations } from './durations.ts';
import { planOf } from './plan.ts';
import { readGroup } from './row-group.ts';

const fileBytesMax = 1 << 30;
const magic = 'PAR1';
/** What a table of contents takes as objects, for each of its bytes. */
const contentsFactor = 10;

/** @throws LakeError `format-broken`, after giving out the row groups before; `format-limit` for too long a file */
export async function* readParquet(input: AsyncIterable<Uint8Array>, options: ReadOptions): AsyncGenerator<Vector> {
  const { batchRows } = readLimits(options);
  const { memory = new ReadMemory() } = options;
  const file = new Spool({ memory, scratch: options.scratch, format: 'parquet', what: 'file' });
  const lost = options.warn && lossesOf('parquet', options.warn);
  let values = 0;
  let contentBytes = 0;
  try {
    await collect(input, file, options);
    const size = contentsSize(file);
    memory.hold(size * contentsFactor, { format: 'parquet', what: `table of contents of ${size} bytes` });
    contentBytes = size * contentsFactor;
    const metadata = contentsOf(file, size);
    const columns = withDurations(planOf(metadata.schema), metadata);
    const shared = { file, memory, turn: options.turn, scratch: options.scratch };
    for (const group of metadata.row_groups) {
      for (const window of readGroup(group, { ...shared, columns, batchRows, lost })) {
        for (const batch of cutBySize(window, { bytesMax: batchBytesMax, rowsMax: batchRows })) {
          yield batch;
          values += batch.length;
        }
      }
    }
  } catch (problem) {
    throw problem instanceof BytesFault
      ? new LakeError(
          'format-broken',
          { format: 'parquet', fault: problem.message, place: '', values },
          { cause: problem },
        )
      : problem;
  } finally {
    memory.free(contentBytes);
    file.close();
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

const collect = async (input: AsyncIterable<Uint8Array>, file: Spool, options: ReadOptions): Promise<void> => {
  const bytesMax = options.parquetFileBytesMax ?? fileBytesMax;
  for await (const chunk of input) {
    if (file.size + chunk.length > bytesMax)
      throw new LakeError('format-limit', {
        format: 'parquet',
        what: 'file',
        limit: bytesMax,
        place: ' (option -parquet.file.max)',
      });
    file.append(chunk);
    options.copied?.(chunk);
  }
};

const contentsSize = (file: Spool): number => {
  const markAt = (at: number): string => String.fromCharCode(...file.read(at, magic.length));
  if (file.size < 12) throw new BytesFault(`file too small (size=${file.size})`);
  if (markAt(file.size - 4) === 'PARE') throw new BytesFault('encrypted file');
  if (markAt(0) !== magic || markAt(file.size - 4) !== magic)
    throw new BytesFault('invalid magic bytes, either a corrupted file or not parquet');
  const end = file.read(file.size - 8, 4);
  const size = new DataView(end.buffer, end.byteOffset).getUint32(0, true);
  if (size > file.size - 12) throw new BytesFault(`table of contents of ${size} bytes in a file of ${file.size}`);
  return size;
};
const contentsOf = (file: Spool, size: number): FileMetaData => {
  try {
    const bytes = new Uint8Array(file.read(file.size - 8 - size, size + 8));
    const metadata = parquetMetadata(bytes, { geoparquet: false });
    metadata.schema.forEach(checkNumbers);
    restoreMarks(metadata, bytes);
    return metadata;
  } catch (cause) {
    // The library has no class for its errors; what it cannot read is damaged.
    throw new BytesFault(
      `table of contents: ${cause instanceof Error && !(cause instanceof TypeError) ? cause.message : 'damaged'}`,
      { cause },
    );
  }
};
const byteOrderMark = Buffer.of(0xef, 0xbb, 0xbf);
/** The library takes the mark off names of columns that begin with one, which may make two of them one. */
const restoreMarks = ({ schema }: FileMetaData, contents: Uint8Array): void => {
  if (!Buffer.from(contents.buffer).includes(byteOrderMark)) return;
  const { field_2: elements } = deserializeTCompactProtocol({ view: new DataView(contents.buffer), offset: 0 }) as {
    readonly field_2: readonly { readonly field_4: Uint8Array }[];
  };
  for (const [i, { field_4: name }] of elements.entries())
    if (byteOrderMark.every((byte, at) => name[at] === byte)) schema[i].name = bytesToText(name);
};
/** The library gives out whatever kind of thing the bytes have in a number's place. */
const checkNumbers = (element: SchemaElement): void => {
  const { logical_type: logical, num_children, type_length, scale, precision } = element;
  const decimal = logical?.type === 'DECIMAL' ? [logical.scale, logical.precision] : [];
  if (
    [num_children, type_length, scale, precision, ...decimal].some(
      (x: unknown) => x !== undefined && !Number.isInteger(x),
    )
  )
    throw new BytesFault('damaged');
};
