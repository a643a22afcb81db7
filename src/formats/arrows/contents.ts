/**
 * Arrow files by their table of contents, at their end. Other files are read as the streams that they are between their
 * marks; one whose first message has no length (Polars writes such) has to be there whole first.
 */
import { LakeError } from '../../errors.ts';
import { FlatTable } from '../arrow-schema/flat-read.ts';
import type { ByteSource } from '../byte-source.ts';
import { BytesFault } from '../columns/type-bytes.ts';
import type { ReadOptions } from '../format.types.ts';
import { Spool } from '../spool.ts';

/** What a file begins with, and, without the zeros, ends with. */
export const fileMark = 'ARROW1\0\0';
const endMark = 'ARROW1';
const fileBytesMax = 1 << 30;
/** What is read of the file at once. */
const pieceBytesMax = 1 << 16;
/** 64-bit words that say where a message is: offset, bytes of the metadata, bytes of the body. */
const blockWords = 3;

/** Where a message is in the file, with its body. */
interface Block {
  readonly offset: number;
  readonly length: number;
}
/** Of a file that is there whole. */
export interface Contents {
  readonly version: number;
  readonly schema: FlatTable;
  /** The messages behind the schema, one behind the other: dictionaries first. */
  readonly messages: () => AsyncIterable<Uint8Array>;
  /** The place in the file of a byte of these. */
  readonly placeOf: (at: number) => number;
  readonly close: () => void;
}
type ContentsOptions = Pick<ReadOptions, 'memory' | 'scratch' | 'parquetFileBytesMax'>;

/** Reads the file to its end; its mark is read already. @throws BytesFault, LakeError format-limit, format-memory */
export const contentsOf = async (source: ByteSource, options: ContentsOptions): Promise<Contents> => {
  const file = new Spool({ ...options, format: 'arrows', what: 'file' });
  try {
    file.append(new TextEncoder().encode(fileMark));
    await collect(source, file, options.parquetFileBytesMax ?? fileBytesMax);
    const footer = FlatTable.root(footerBytes(file));
    const schema = footer.table(1);
    if (!schema) throw new BytesFault('arrow/ipc: table of contents without a schema');
    const blocks = blocksOf(footer, file.size);
    return {
      version: footer.int16(0),
      schema,
      messages: () => pieces(file, blocks),
      placeOf: (at) => placeOf(blocks, at),
      close: () => file.close(),
    };
  } catch (problem) {
    file.close();
    throw problem;
  }
};

const collect = async (source: ByteSource, file: Spool, bytesMax: number): Promise<void> => {
  for (let bytes = await source.some(pieceBytesMax); bytes; bytes = await source.some(pieceBytesMax)) {
    if (file.size + bytes.length > bytesMax)
      throw new LakeError('format-limit', {
        format: 'arrows',
        what: 'file',
        limit: bytesMax,
        place: ' (option -parquet.file.max)',
      });
    file.append(bytes);
  }
};
const footerBytes = (file: Spool): Uint8Array => {
  const tail = file.size - endMark.length;
  const size = tail < fileMark.length + 4 ? 0 : new DataView(file.read(tail - 4, 4).slice().buffer).getInt32(0, true);
  if (size <= 0 || size > tail - 4 - fileMark.length || markAt(file, tail) !== endMark)
    throw new BytesFault('arrow/ipc: a file without its table of contents, which is at its end');
  return file.read(tail - 4 - size, size).slice();
};
const markAt = (file: Spool, at: number): string => String.fromCharCode(...file.read(at, endMark.length));

/** No byte is of two messages: what is read is never more than the file. */
const blocksOf = (footer: FlatTable, fileBytes: number): readonly Block[] => {
  const words = [...footer.sizes(2, blockWords), ...footer.sizes(3, blockWords)];
  const blocks: Block[] = [];
  for (let i = 0; i < words.length; i += blockWords)
    blocks.push({ offset: words[i], length: words[i + 1] + words[i + 2] });
  const total = blocks.reduce((sum, { length }) => sum + length, 0);
  if (total > fileBytes || blocks.some(({ offset, length }) => offset + length > fileBytes))
    throw new BytesFault('arrow/ipc: table of contents points outside of the file');
  return blocks;
};
async function* pieces(file: Spool, blocks: readonly Block[]): AsyncIterable<Uint8Array> {
  for (const { offset, length } of blocks)
    for (let at = 0; at < length; at += pieceBytesMax)
      yield file.read(offset + at, Math.min(pieceBytesMax, length - at));
}
const placeOf = (blocks: readonly Block[], at: number): number => {
  let before = 0;
  for (const { offset, length } of blocks) {
    if (at <= before + length) return offset + at - before;
    before += length;
  }
  // Of a file without messages.
  return fileMark.length + at - before;
};
