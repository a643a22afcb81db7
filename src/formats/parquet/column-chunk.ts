/**
 * A column of a row group, read on by rows: page after page, as far as rows are asked for.
 *
 * Invariants:
 * - What is held is a dictionary and a page, and both can be let go: they are read again when they are needed.
 * - Rows that were taken belong to who took them.
 */
import { alikeDecimals } from '../columns/decimals.ts';
import { crc32 } from 'node:zlib';
import type { ColumnMetaData } from 'hyparquet';
import { concat } from '../../vectors/concat.ts';
import { joinBytes } from '../../vectors/texts/join-bytes.ts';
import { sizeOf } from '../../vectors/sizes.ts';
import type { Vector } from '../../vectors/vector.ts';
import type { Codec } from '../codings/block-codecs.ts';
import type { ReadMemory } from '../read-memory.ts';
import type { Spool } from '../spool.ts';
import { BytesFault } from '../columns/type-bytes.ts';
import { type Entries, type OpenPage, entriesBytes } from './open-page.ts';
import type { ParkedPages } from './parked.ts';
import { type PageContext, readDictionary, readPage } from './page.ts';
import { type PageHeader, pageHeaderOf, pageKind } from './page-header.ts';
import type { Leaf } from './plan.ts';
import { noValues } from './values.ts';

const chunkValuesMax = 1 << 26;

const codecs: Readonly<Record<string, Codec | 'none'>> = {
  UNCOMPRESSED: 'none',
  SNAPPY: 'snappy',
  GZIP: 'gzip',
  BROTLI: 'brotli',
  ZSTD: 'zstd',
  LZ4: 'lz4-hadoop',
  LZ4_RAW: 'lz4-block',
};

/**
 * Where the next entry is: in the page at `offset` of the file, behind `entries` of its entries.
 */
export interface Mark {
  readonly offset: number;
  readonly entries: number /** In the pages before. */;
  readonly before: number;
}
/** A page that is held; `end`: of its bytes in the file. */
interface HeldPage {
  readonly open: OpenPage;
  readonly end: number;
}

/** The first bytes of a page that are read to find its header: pages of a MB are usual. */
const headerBytesFirst = 4 << 10;
const headerBytesMax = 16 << 20;

/** Entries that are passed over at once. */
const passedRows = 4096;

/** Reads one column chunk. @throws BytesFault for a chunk that cannot be */
export class ColumnChunk {
  readonly leaf: Leaf;
  private readonly file: Spool;
  private readonly context: PageContext;
  private readonly memory: ReadMemory;
  private readonly start: number;
  private readonly end: number;
  private readonly count: number;
  private at: Mark;
  private page: HeldPage | undefined;
  private dictionaryPage: { readonly header: PageHeader; readonly at: number } | undefined;
  /** How a dictionary that was put away is read; absent: it could not be, and is decoded again. */
  private parked: { readonly dictionary: (() => Vector) | undefined } | undefined;
  private dictionary: { readonly values: Vector; readonly bytes: number } | undefined;

  constructor(file: Spool, meta: ColumnMetaData, { leaf, name, memory, lost }: Omit<PageContext, 'codec'>) {
    const codec = codecs[meta.codec];
    if (!codec) throw new BytesFault(`compression ${meta.codec}`);
    this.leaf = leaf;
    this.file = file;
    this.memory = memory;
    this.context = { leaf, codec, memory, name, lost };
    this.count = Number(meta.num_values);
    const first =
      meta.dictionary_page_offset && meta.dictionary_page_offset < meta.data_page_offset
        ? meta.dictionary_page_offset
        : meta.data_page_offset;
    this.start = Number(first);
    this.end = this.start + Number(meta.total_compressed_size);
    this.at = { offset: this.start, entries: 0, before: 0 };
    if (this.count === 0) return;
    if (!(this.start >= 4 && this.end >= this.start && this.end <= file.size))
      throw new BytesFault('column chunk outside of the file');
    if (!(this.count >= 0 && this.count <= chunkValuesMax + (this.end - this.start) * 64))
      throw new BytesFault(`${this.count} values in ${this.end - this.start} bytes`);
  }

  /** Bytes that are held between two calls. */
  get held(): number {
    return (this.page?.open.bytes ?? 0) + (this.dictionary?.bytes ?? 0);
  }
  /** Whether all entries were taken. */
  get isAtEnd(): boolean {
    return this.at.before + this.at.entries >= this.count;
  }

  /** Where reading is, to come back to. */
  mark(): Mark {
    return this.at;
  }
  reset(mark: Mark): void {
    if (mark.offset !== this.at.offset || mark.entries !== this.at.entries) this.dropPage();
    this.at = mark;
  }

  /** Puts the bytes of the page into a scratch file, if it can be read on from there. */
  park(pages: ParkedPages): void {
    const open = this.page?.open;
    const before = open?.bytes ?? 0;
    open?.park?.(pages);
    this.memory.free(before - (open?.bytes ?? 0));
  }
  /** Lets go of page and dictionary. */
  drop(): void {
    this.dropPage();
    this.dropDictionary();
  }
  /** Puts the dictionary into a scratch file, if it can be; it is let go. */
  parkDictionary(pages: ParkedPages): void {
    if (this.dictionary) this.parked ??= { dictionary: pages.putVector(this.dictionary.values) };
    this.dropDictionary();
  }
  private dropDictionary(): void {
    this.memory.free(this.dictionary?.bytes ?? 0);
    this.dictionary = undefined;
  }
  private dropPage(): void {
    this.memory.free(this.page?.open.bytes ?? 0);
    this.page = undefined;
  }

  /**
   * The entries of the next rows, fewer at the end. `took` is told the bytes of each part. @throws BytesFault,
   * LakeError format-memory
   */
  take(rows: number, took: (bytes: number) => void): Entries {
    const parts: Entries[] = [];
    let left = rows;
    let isFirst = true;
    while (!this.isAtEnd) {
      const page = this.current();
      const { entries, rowsBegun, isEnd } = this.extent(page.open, left, isFirst);
      if (entries > 0) {
        const part = this.part(page, entries);
        took(entriesBytes(part));
        parts.push(part);
      }
      left -= rowsBegun;
      isFirst = false;
      if (isEnd) break;
    }
    return joinedEntries(parts, this.leaf);
  }

  /** How many entries of the page belong to the next rows; `isEnd`: and none behind it do. */
  private extent(
    page: OpenPage,
    rows: number,
    isFirst: boolean,
  ): { readonly entries: number; readonly rowsBegun: number; readonly isEnd: boolean } {
    const { entries: from } = this.at;
    const { repetition } = page;
    if (!repetition) {
      const entries = Math.min(rows, page.entries - from);
      return { entries, rowsBegun: entries, isEnd: entries === rows };
    }
    if (isFirst && rows > 0 && repetition[from] !== 0) throw new BytesFault('list begins inside a row');
    let to = from;
    let begun = 0;
    for (; to < page.entries; to++) {
      if (repetition[to] !== 0) continue;
      if (begun === rows) return { entries: to - from, rowsBegun: begun, isEnd: true };
      begun++;
    }
    return { entries: to - from, rowsBegun: begun, isEnd: false };
  }

  private part({ open, end }: HeldPage, entries: number): Entries {
    const from = this.at;
    const to = from.entries + entries;
    const { fetched } = open;
    this.memory.hold(fetched, { format: 'parquet', what: `page of column ${this.context.name}` });
    let part: Entries;
    try {
      part = open.take(entries);
    } finally {
      this.memory.free(fetched);
    }
    this.at = { ...from, entries: to };
    if (to === open.entries) {
      this.at = { offset: end, entries: 0, before: from.before + to };
      this.dropPage();
    }
    return part;
  }

  /** The page that the next entry is in. */
  private current(): HeldPage {
    while (!this.page) {
      const { offset, before } = this.at;
      const { header, at } = this.headerAt(offset);
      const end = at + header.packedBytes;
      if (end > this.end) throw new BytesFault('page cut short');
      if (header.kind === pageKind.dictionary) {
        if (this.dictionaryPage?.at !== at) this.dictionaryPage = { header, at };
      } else if ((header.kind === pageKind.data || header.kind === pageKind.dataV2) && header.values !== 0) {
        if (header.values > this.count - before) throw new BytesFault(`page of ${header.values} values`);
        const open = readPage(header, this.packed(header, at), this.context, () => this.lookUp());
        this.memory.hold(open.bytes, { format: 'parquet', what: `page of column ${this.context.name}` });
        this.page = { open, end };
        this.passOver(open);
        return this.page;
      }
      this.at = { offset: end, entries: 0, before };
    }
    return this.page;
  }

  /** Entries of the page that were taken before it was let go. */
  private passOver(page: OpenPage): void {
    for (let left = this.at.entries; left > 0; left -= passedRows) page.take(Math.min(left, passedRows));
  }

  private headerAt(offset: number): { readonly header: PageHeader; readonly at: number } {
    for (let size = headerBytesFirst; ; size *= 16) {
      const length = Math.max(0, Math.min(size, this.end - offset));
      const isAll = length < size || size >= headerBytesMax;
      const found = pageHeaderOf(this.file.read(offset, length), isAll);
      if (found) return { header: found.header, at: offset + found.length };
      if (isAll) throw new BytesFault('page header: cut short');
    }
  }

  /** The bytes of a page, compared with its checksum where it has one. */
  private packed(header: PageHeader, at: number): Uint8Array {
    const bytes = this.file.read(at, header.packedBytes);
    if (header.crc !== undefined && crc32(bytes) !== header.crc) {
      throw new BytesFault(`page checksum does not match (column ${this.context.name}, entry ${this.at.before})`);
    }
    return bytes;
  }

  private lookUp(): Vector | undefined {
    if (!this.dictionary && this.dictionaryPage) {
      const { header, at } = this.dictionaryPage;
      const values = this.parked?.dictionary?.() ?? readDictionary(header, this.packed(header, at), this.context);
      const bytes = sizeOf(values);
      this.memory.hold(bytes, { format: 'parquet', what: `dictionary of column ${this.context.name}` });
      this.dictionary = { values, bytes };
    }
    return this.dictionary?.values;
  }
}

const joinedEntries = (parts: readonly Entries[], leaf: Leaf): Entries => {
  const [first] = parts;
  if (parts.length === 1 && first) return first;
  return {
    entries: parts.reduce((n, p) => n + p.entries, 0),
    definition: joinedLevels(parts, leaf.definitionMax),
    repetition: leaf.repetitionMax > 0 ? joined(parts.map((p) => p.repetition!)) : undefined,
    values: first ? concat(alikeDecimals(parts.map((p) => p.values))) : noValues(leaf),
  };
};
const joinedLevels = (parts: readonly Entries[], max: number): Uint8Array | undefined =>
  parts.some((p) => p.definition)
    ? joined(parts.map((p) => p.definition ?? new Uint8Array(p.entries).fill(max)))
    : undefined;
const joined = (parts: readonly Uint8Array[]): Uint8Array =>
  joinBytes(parts, new Uint8Array(parts.reduce((n, p) => n + p.length, 0)));
