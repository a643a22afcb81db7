/**
 * A column chunk: a dictionary if it pays, then pages of about a megabyte, compressed.
 */
import type { ColumnChunk, Encoding, PageHeader } from 'hyparquet';
import { ByteWriter } from 'hyparquet-writer';
import { writePageHeader } from 'hyparquet-writer/src/datapage.js';
import { bitsFor } from './decode.ts';
import { type Coded, coded } from './dictionary.ts';
import { type Physical, physicalOf, plainSize, plainValues } from './encode.ts';
import { hybrid } from './hybrid.ts';
import { type PageCodec, snappyPages } from './page-codecs.ts';
import type { LeafData } from './shred.ts';
import { statisticsOf } from './statistics.ts';

const pageBytes = 1 << 20;
/** Also a page of codes or of nothing but nulls ends. */
const pageEntries = 1 << 17;
/** After so many entries it is looked how large the page is; after fewer where values are long. */
const stepMax = 1024;

/** Chunks below this are compressed by snappy in any case: others take longer to begin than they save. */
const smallChunkBytes = 4 << 10;

/**
 * Gives the pages of a chunk as they are made, so that no more than one is held; then what the table of contents says
 * of it. `start`: where in the file the chunk begins.
 */
export function* writeChunk(data: LeafData, start: number, wanted: PageCodec): Generator<Uint8Array, ColumnChunk> {
  const { leaf } = data;
  const physical = physicalOf(leaf, data.values);
  const codec = plainSize(physical, 0, physical.count) < smallChunkBytes ? snappyPages : wanted;
  const dictionary = coded(physical);
  const out = new Pages(codec);
  if (dictionary) yield* out.dictionary(dictionary.entries);
  const dataStart = out.length;
  for (const page of pagesOf(data, physical)) yield* out.data(data, page, physical, dictionary);
  const encodings: Encoding[] = dictionary ? ['PLAIN', 'RLE', 'RLE_DICTIONARY'] : ['PLAIN', 'RLE'];
  return {
    file_offset: BigInt(start),
    meta_data: {
      type: leaf.physical,
      encodings,
      path_in_schema: [...leaf.path],
      codec: codec.name,
      num_values: BigInt(data.entries),
      total_uncompressed_size: BigInt(out.rawLength),
      total_compressed_size: BigInt(out.length),
      data_page_offset: BigInt(start + dataStart),
      ...(dictionary && { dictionary_page_offset: BigInt(start) }),
      statistics: statisticsOf(leaf, dictionary?.entries ?? physical, data.entries - physical.count),
    },
  };
}

/** Entries [start, end) with values [first, last). */
interface Page {
  readonly start: number;
  readonly end: number;
  readonly first: number;
  readonly last: number;
}

/** Pages begin with a row; a row is never cut. */
function* pagesOf({ entries, definition, repetition, leaf }: LeafData, physical: Physical): Generator<Page> {
  const bytes = plainSize(physical, 0, physical.count);
  if (entries > 0 && entries <= pageEntries && bytes < pageBytes) {
    yield { start: 0, end: entries, first: 0, last: physical.count };
    return;
  }
  const valueBytes = bytes / Math.max(1, physical.count);
  const step = Math.max(1, Math.min(stepMax, Math.floor(pageBytes / Math.max(1, valueBytes))));
  let start = 0;
  let first = 0;
  let at = 0;
  let value = 0;
  while (at < entries) {
    let end = Math.min(entries, at + step);
    while (repetition && end < entries && repetition[end] !== 0) end++;
    if (definition) for (let i = at; i < end; i++) value += definition[i] === leaf.definitionMax ? 1 : 0;
    else value += end - at;
    at = end;
    if (at < entries && at - start < pageEntries && plainSize(physical, first, value) < pageBytes) continue;
    yield { start, end: at, first, last: value };
    start = at;
    first = value;
  }
}

class Pages {
  length = 0;
  /** Before compression. */
  rawLength = 0;
  private readonly codec: PageCodec;

  constructor(codec: PageCodec) {
    this.codec = codec;
  }

  dictionary(entries: Physical): Iterable<Uint8Array> {
    return this.page(plainValues(entries, 0, entries.count), {
      type: 'DICTIONARY_PAGE',
      dictionary_page_header: { num_values: entries.count, encoding: 'PLAIN' },
    });
  }
  data(
    { leaf, definition, repetition }: LeafData,
    page: Page,
    physical: Physical,
    dictionary: Coded | undefined,
  ): Iterable<Uint8Array> {
    const parts: Uint8Array[] = [];
    const entries = page.end - page.start;
    if (leaf.repetitionMax > 0)
      parts.push(...counted(hybrid(repetition!, page.start, page.end, bitsFor(leaf.repetitionMax))));
    if (leaf.definitionMax > 0)
      parts.push(
        ...counted(
          definition
            ? hybrid(definition, page.start, page.end, bitsFor(leaf.definitionMax))
            : allAt(leaf.definitionMax, entries),
        ),
      );
    if (dictionary) {
      const width = bitsFor(dictionary.entries.count - 1);
      parts.push(Uint8Array.of(width), hybrid(dictionary.codes, page.first, page.last, width));
    } else parts.push(plainValues(physical, page.first, page.last));
    return this.page(parts.length === 1 ? parts[0] : Buffer.concat(parts), {
      type: 'DATA_PAGE',
      data_page_header: {
        num_values: entries,
        encoding: dictionary ? 'RLE_DICTIONARY' : 'PLAIN',
        definition_level_encoding: 'RLE',
        repetition_level_encoding: 'RLE',
      },
    });
  }

  private page(
    raw: Uint8Array,
    header: Omit<PageHeader, 'uncompressed_page_size' | 'compressed_page_size'>,
  ): readonly Uint8Array[] {
    const packed = this.codec.compress(raw);
    const head = new ByteWriter(64);
    writePageHeader(head, { ...header, uncompressed_page_size: raw.length, compressed_page_size: packed.length });
    this.rawLength += head.offset + raw.length;
    this.length += head.offset + packed.length;
    return [head.getBytes(), packed];
  }
}

const counted = (levels: Uint8Array): readonly Uint8Array[] => {
  const size = new Uint8Array(4);
  new DataView(size.buffer).setUint32(0, levels.length, true);
  return [size, levels];
};
const allAt = (level: number, count: number): Uint8Array =>
  hybrid(new Uint8Array(count).fill(level), 0, count, bitsFor(level));
