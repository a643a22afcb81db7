/**
 * The bytes of a data object back to rows: opens from length and range reads, reads the footer, then only the segments
 * of the columns and blocks that are asked for.
 *
 * Invariants:
 * - Nothing is answered that was not compared with its checksum, and no file is read as another object than it is. What
 *   does not fit is a LakeError that names object and block.
 * - A dictionary is decoded once: all blocks of a column share one `values` vector, so that work on codes can be kept
 *   from block to block.
 */
import { LakeError } from '../../errors.ts';
import { fuseAll } from '../../vectors/fuse.ts';
import { type ColumnSummary, joinedSummaries } from '../../vectors/summary.ts';
import { type Type, types } from '../../vectors/type.ts';
import { type BytesVector, type Field, type Vector, flatten, ofForm } from '../../vectors/vector.ts';
import { compareBytes } from '../../vectors/value.ts';
import { ByteReader } from '../columns/byte-reader.ts';
import { checksum } from '../columns/checksum.ts';
import { expanded } from '../columns/compression.ts';
import type { ColumnCache } from '../columns/cache.ts';
import type { Column, Segment } from '../columns/column.ts';
import { DirectoryReader } from '../columns/directory.ts';
import {
  type Projection,
  type SegmentVisitor,
  projectColumn,
  textsAlone,
  visitSegments,
  visitStrings,
  visitTags,
} from '../columns/wanted.ts';
import { type SegmentSource, decodeColumn, decodeTags, owned } from '../columns/decode.ts';
import { type Layout, readLayout, readTypes, typeOfLayout } from '../columns/layout.ts';
import type { StoredBlock } from '../columns/kept.ts';
import { mayHold } from '../columns/membership.ts';
import { pickRows, visitPicked } from '../columns/picked.ts';
import { type SearchedText, mayContain, pairsOf } from '../columns/pairs.ts';
import { type ColumnPruner, mayBeTrue, mayHoldAll } from '../columns/prune.ts';
import type { Selection } from '../columns/select.ts';
import { type KnownValues, type StoredTest, passedBy, testSteps, visitStep } from '../columns/stored-tests.ts';
import {
  type SummaryRequest,
  type SummaryStep,
  summaryStep,
  totalsBytes,
  totalsOf,
  visitTotals,
} from '../columns/summaries.ts';
import { idBytes, idOfBytes } from '../ksuid.ts';
import type { Id } from '../lake.types.ts';
import { type ObjectSource, ofSoundCopy } from './copies.ts';
import { footerFlags, formatVersion, magic, trailerLength } from './format.ts';
import { type OriginRun, readOrigins } from './origins.ts';

type MaybePromise<T> = T | Promise<T>;

/** The source of an object whose bytes are at hand. */
export const sourceOfBytes = (id: string, bytes: Uint8Array): ObjectSource => {
  const aligned =
    (bytes.byteOffset & 7) === 0 ? new Uint8Array(bytes.buffer, bytes.byteOffset, bytes.length) : new Uint8Array(bytes);
  return { id, size: aligned.length, read: (offset, length) => aligned.subarray(offset, offset + length) };
};

/** Rows of a block and its first and last key, as sort keys (vectors/sort-key.ts), which may be cut outwards. */
export interface ObjectBlock {
  readonly rows: number;
  /** Bytes of its columns as they are stored. */
  readonly dataLength: number;
  readonly firstKey: Uint8Array;
  readonly lastKey: Uint8Array;
}

/** The part of each row of a block, and its place in it. */
export interface BlockTags {
  readonly tags: Uint32Array;
  readonly slots: Uint32Array;
}

interface BlockEntry extends ObjectBlock {
  readonly layout: number;
  readonly offset: number;
  readonly directory: number;
  readonly directoryLength: number;
}
interface OriginsPlace {
  readonly offset: number;
  readonly length: number;
  readonly checksum: number;
}
interface DictionaryEntry {
  readonly rows: number;
  readonly offset: number;
  readonly column?: Column;
}

const noRows = new Uint32Array(0);
const noBytes = new Uint8Array(0);

/** First read of a file: most footers are shorter. Of what is far away more is read than is waited for twice. */
const tailBytes = 32 << 10;
const farTailBytes = 64 << 10;
/** Segments closer than this are read at once. */
const gapBytesMax = 4096;

/**
 * Opens an object: reads its footer. Its decoded columns are kept in the cache. @throws object-corrupt, object-version
 */
export const openObject = (source: ObjectSource, cache?: ColumnCache): MaybePromise<ObjectReader> =>
  ofSoundCopy(source, () => openCopy(source, cache));
const openCopy = (source: ObjectSource, cache?: ColumnCache): MaybePromise<ObjectReader> => {
  if (source.size < magic.length + trailerLength)
    throw corrupt(source.id, 'trailer', `the object is only ${source.size} bytes long`);
  const start = Math.max(0, source.size - (source.ahead ? farTailBytes : tailBytes)) & ~7;
  return then(source.read(start, source.size - start), (tail) => {
    const length = footerLength(source, tail);
    const from = source.size - trailerLength - length;
    if (from >= start) return new ObjectReader(source, tail.subarray(from - start, tail.length), cache);
    const aligned = from & ~7;
    return then(
      source.read(aligned, source.size - aligned),
      (all) => new ObjectReader(source, all.subarray(from - aligned), cache),
    );
  });
};

const then = <T, U>(value: MaybePromise<T>, next: (value: T) => MaybePromise<U>): MaybePromise<U> =>
  value instanceof Promise ? value.then(next) : next(value);

const corrupt = (id: string, place: string, fault: string, cause?: unknown): LakeError =>
  new LakeError('object-corrupt', { id, place, fault }, { cause });

const footerLength = (source: ObjectSource, tail: Uint8Array): number => {
  if (compareBytes(tail.subarray(tail.length - magic.length), magic) !== 0)
    throw corrupt(source.id, 'trailer', 'the mark at the end is not there');
  const length = new ByteReader(tail, tail.length - trailerLength).uint32();
  if (length > source.size - trailerLength - magic.length)
    throw corrupt(source.id, 'trailer', `footer of ${length} bytes`);
  return length;
};

/** A file that holds another object is as sound as its own: what is in it are not its rows. */
const checkName = (id: Id, found: Id): void => {
  if (found !== id) throw corrupt(id, 'footer', `these are the bytes of object ${found}`);
};

interface Schema {
  readonly typeOf: (number: number) => Type;
  readonly layouts: readonly Layout[];
}

/** Schemas by their bytes: thousands of small objects have the same few. */
const schemas = new Map<string, Schema>();
const schemasMax = 1000;
const schemaBytesMax = 4096;

const readSchema = (bytes: Uint8Array): Schema => {
  if (bytes.length > schemaBytesMax) return parseSchema(bytes);
  const key = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length).toString('latin1');
  let schema = schemas.get(key);
  if (!schema) {
    if (schemas.size >= schemasMax) schemas.clear();
    schemas.set(key, (schema = parseSchema(bytes)));
  }
  return schema;
};
const parseSchema = (bytes: Uint8Array): Schema => {
  const input = new ByteReader(bytes);
  const typeOf = readTypes(input, input.uvarint());
  return { typeOf, layouts: input.list(() => readLayout(input, typeOf)) };
};

/**
 * What a kept column takes besides its values: a vector, its array and its buffer, and places in tables, about. Blocks
 * of thousands of columns have few values in each.
 */
const entryBytes = 640;

/** Lists of columns whose summaries an object remembers. */
const summariesMax = 16;

/** What a footer takes in memory, as so many times its bytes: the columns of its directory are objects. */
const footerCost = 5;
/** What one of them takes besides when it has been looked at. */
const columnBytes = 440;
/** What a reader takes whatever its footer, about. */
const readerBytes = 2048;

/** One open data object: its directory is read, its segments are read when they are asked for. */
export class ObjectReader {
  readonly id: string;
  readonly count: number;
  readonly blocks: readonly ObjectBlock[];
  /** Bytes that were read of the source so far, the footer included. */
  bytesRead: number;
  private dictionaryBytes = 0;
  private readonly source: ObjectSource;
  private readonly footer: Uint8Array;
  private readonly typeOf: (number: number) => Type;
  /** Its segments may be compressed: it was put together to lie still. */
  readonly isCompressed: boolean;
  private readonly statistics: boolean;
  private readonly layouts: readonly Layout[];
  private readonly originsPlace: OriginsPlace | undefined;
  private readonly dictionaryEntries: readonly DictionaryEntry[];
  private readonly dictionaries: (BytesVector | undefined)[];
  /** Those that are on their way: blocks may be read side by side. */
  private readonly dictionariesComing = new Map<number, Promise<void>>();
  private readonly dictionaryPairs: (Uint32Array | undefined)[] = [];
  private readonly columns: (Column | undefined)[];
  private readonly summariesKnown = new Map<string, readonly ColumnSummary[]>();

  private readonly cache: ColumnCache | undefined;

  /** Bytes of its footer, which it holds, with what became of them. */

  /** `tail`: footer and trailer. */
  constructor(source: ObjectSource, tail: Uint8Array, cache?: ColumnCache) {
    this.source = source;
    this.cache = cache;
    this.id = source.id;
    this.bytesRead = tail.length;
    const footerBytes = tail.subarray(0, tail.length - trailerLength);
    // Most are far shorter than what was read of the file, which would be held with it.
    const footer = footerBytes.length * 2 < tail.buffer.byteLength ? footerBytes.slice() : footerBytes;
    this.footer = footer;
    if (checksum(footer) !== new ByteReader(tail, footer.length + 4).uint32())
      throw corrupt(source.id, 'footer', 'checksum does not fit');
    const input = new ByteReader(footer);
    try {
      const version = input.uvarint();
      if (version > formatVersion)
        throw new LakeError('object-version', { id: source.id, version, versionMax: formatVersion });
      const flags = input.byte();
      this.statistics = (flags & footerFlags.statistics) !== 0;
      this.isCompressed = (flags & footerFlags.compressed) !== 0;
      this.count = input.uvarint();
      ({ typeOf: this.typeOf, layouts: this.layouts } = readSchema(input.raw(input.uvarint())));
      this.dictionaryEntries = input.list(() => this.readDictionaryEntry(input));
      let at = 0;
      const entries = input.list(() => {
        const rows = input.uvarint();
        const layout = input.uvarint();
        const offset = input.uvarint() * 8;
        const dataLength = input.uvarint() * 8;
        const directoryLength = input.uvarint();
        const block: BlockEntry = {
          rows,
          layout,
          offset,
          dataLength,
          directoryLength,
          directory: at,
          firstKey: input.raw(input.uvarint()),
          lastKey: input.raw(input.uvarint()),
        };
        at += block.directoryLength;
        return block;
      });
      const directories = input.at;
      input.raw(at);
      if (input.at < footer.length)
        this.originsPlace = { offset: input.uvarint() * 8, length: input.uvarint(), checksum: input.uint32() };
      if ((flags & footerFlags.named) !== 0) checkName(source.id, idOfBytes(input.raw(idBytes)));
      this.blocks = entries.map((e) => ({ ...e, directory: directories + e.directory }));
    } catch (error) {
      throw error instanceof LakeError ? error : corrupt(source.id, 'footer', String(error), error);
    }
    this.dictionaries = new Array<BytesVector | undefined>(this.dictionaryEntries.length);
    this.columns = new Array<Column | undefined>(this.blocks.length);
  }

  /** The shapes of its blocks. */
  get shapes(): readonly Layout[] {
    return this.layouts;
  }
  /** The fusion of the types of its rows; undefined if it has none. */
  get rowType(): Type | undefined {
    const layouts = new Set(this.blocks.map((b) => (b as BlockEntry).layout));
    const types = Array.from(layouts, (k) => typeOfLayout(this.layouts[k]));
    return fuseAll(types);
  }
  /** Bytes that it holds besides the columns in the cache: the footer and what was decoded of dictionaries. */
  get heldBytes(): number {
    return readerBytes + this.footer.length * footerCost + this.dictionaryBytes;
  }

  /** Whether some row of the block may pass the test; false only if certainly none does. */
  mayMatch(block: number, pruner: ColumnPruner): boolean {
    return mayBeTrue(this.column(block), pruner);
  }

  /** Where its rows come from, as far as it is known. Damaged origins are none: of the rows nothing is lost with them. */
  origins(): MaybePromise<readonly OriginRun[]> {
    const place = this.originsPlace;
    if (!place) return [];
    const length = Math.ceil(place.length / 8) * 8;
    if (place.offset + length > this.source.size) return [];
    return then(this.source.read(place.offset, length), (read) => {
      this.bytesRead += length;
      const bytes = read.subarray(0, place.length);
      return checksum(bytes) === place.checksum ? (readOrigins(bytes, this.count) ?? []) : [];
    });
  }

  /** Rows of one block; only the named fields of records, if any are named (what is no record comes whole). */
  read(block: number, projection?: Projection): MaybePromise<Vector> {
    return this.readPart(block, this.column(block), projection);
  }

  /**
   * The columns of a block whose rows are of unlike types, one for each type; the column of the block if they are
   * alike.
   */
  parts(block: number): readonly Column[] {
    const column = this.column(block);
    return column.form === 'dynamic' ? column.parts : [column];
  }
  /** Whether it pays to ask for bytes before they are needed. */
  get isFar(): boolean {
    return this.source.ahead !== undefined;
  }
  /** Whether all of it is at hand, though others of its store may be far away. Looks at the disk. */
  isHere(): boolean {
    return !this.isFar || (this.source.isHere?.() ?? false);
  }
  /** Bytes of a block's columns, or of those that are named, once they are expanded; without dictionaries. */
  wantedBytes(block: number, projection?: Projection): number {
    const column = this.column(block);
    let bytes = 0;
    visitSegments(projection ? projectColumn(column, projection) : column, {
      segment: ({ length, expansion }) => {
        bytes += expansion?.length ?? length;
      },
      dictionary: () => undefined,
      known: () => false,
    });
    return bytes;
  }
  /** Begins to fetch what `readPart` would read. */
  fetchPart(block: number, part: Column, projection?: Projection): void {
    const wanted = projection ? projectColumn(part, projection) : part;
    this.fetchNodes(block, (visitor) => {
      visitSegments(wanted, visitor);
    });
  }
  /** The same of the filters that `mayHold` asks; false: it asks none. */
  fetchFilters(block: number, part: Column, pruner: ColumnPruner): boolean {
    const filters = new Set<Segment>();
    mayHoldAll(part, pruner, ({ filter }) => {
      filters.add(filter);
      return true;
    });
    this.fetchNodes(block, (visitor) => {
      for (const f of filters) if (!visitor.known(f)) visitor.segment(f);
    });
    return filters.size > 0;
  }
  /** The same of what `passing` reads; false: it takes more than what is stored. */
  fetchTests(block: number, part: Column, tests: readonly StoredTest[]): boolean {
    const steps = testSteps(part, tests, []);
    if (!steps || steps === 'none') return steps !== undefined;
    this.fetchNodes(block, (visitor) => {
      for (const step of steps) visitStep(step, visitor);
    });
    return true;
  }
  private fetchNodes(block: number, visit: (visitor: SegmentVisitor) => void): void {
    const { ahead } = this.source;
    if (!ahead) return;
    const segments: Segment[] = [];
    visit({
      segment: (s) => {
        if (s.length > 0) segments.push(s);
      },
      dictionary: (n) => {
        this.fetchDictionary(n);
      },
      known: (node) => this.cache?.get(node) !== undefined,
    });
    const base = (this.blocks[block] as BlockEntry).offset;
    segments.sort((a, b) => a.offset - b.offset);
    for (const { start, end } of runsOf(segments)) if (base + end <= this.source.size) ahead(base + start, end - start);
  }
  private fetchDictionary(number: number): void {
    const entry = this.dictionaryEntries[number];
    if (this.dictionaries[number] || !entry?.column) return;
    const segments = segmentsOf(entry.column);
    for (const { start, end } of runsOf(segments)) {
      if (entry.offset + end <= this.source.size) this.source.ahead!(entry.offset + start, end - start);
    }
  }
  /** A block as it is stored, which can be copied; its segments are all read at once. */
  stored(block: number): MaybePromise<StoredBlock> {
    const column = this.column(block);
    const { offset, dataLength } = this.blocks[block] as BlockEntry;
    const place = `block ${block}`;
    const missing = new Set<number>();
    visitSegments(column, {
      segment: () => undefined,
      dictionary: (n) => {
        if (!this.dictionaries[n]) missing.add(n);
      },
      known: () => false,
    });
    if (offset + dataLength > this.source.size) throw corrupt(this.id, place, 'segment beyond the end');
    this.bytesRead += dataLength;
    const ready = missing.size > 0 ? this.loadDictionaries([...missing]) : undefined;
    return then(ready, () =>
      ofSoundCopy(this.source, () =>
        then(dataLength === 0 ? noBytes : this.source.read(offset, dataLength), (bytes) => {
          const { distrust } = this.source;
          if (distrust) this.checkAll(column, bytes, place);
          return this.storedBlock(column, bytes, { place, isChecked: distrust !== undefined });
        }),
      ),
    );
  }
  /** Of what may be read from elsewhere, before anything is made of it. */
  private checkAll(column: Column, bytes: Uint8Array, place: string): void {
    for (const s of segmentsOf(column))
      if (s.length > 0) this.checkSegment(bytes.subarray(s.offset, s.offset + s.length), s, place);
  }
  private storedBlock(
    column: Column,
    bytes: Uint8Array,
    { place, isChecked }: { readonly place: string; readonly isChecked: boolean },
  ): StoredBlock {
    const rawOf = (s: Segment): Uint8Array => {
      const raw = bytes.subarray(s.offset, s.offset + s.length);
      if (s.length > 0 && !isChecked) this.checkSegment(raw, s, place);
      return raw;
    };
    return {
      column,
      stored: rawOf,
      source: {
        bytes: (s) => (s.length === 0 ? noBytes : this.expandedOf(rawOf(s), s, place)),
        dictionary: (n) => this.dictionaries[n]!,
        decoded: (_, make) => make(),
        isKnown: () => false,
      },
      hasStatistics: this.statistics,
      isCompressed: this.isCompressed,
    };
  }
  /** Rows of one of the parts. */
  readPart(block: number, part: Column, projection?: Projection): MaybePromise<Vector> {
    const wanted = projection ? projectColumn(part, projection) : part;
    return this.readNodes(
      block,
      (visitor) => {
        visitSegments(wanted, visitor);
      },
      (source) => decodeColumn(wanted, source),
    );
  }
  /** Some rows of one of the parts. */
  pickPart(block: number, part: Column, index: Uint32Array, projection?: Projection): MaybePromise<Vector> {
    const wanted = projection ? projectColumn(part, projection) : part;
    return this.readNodes(
      block,
      (visitor) => {
        visitPicked(wanted, visitor);
      },
      (source) => pickRows(wanted, index, source),
    );
  }
  /** False only if the filters of the part's columns know that no row passes. */
  mayHold(block: number, part: Column, pruner: ColumnPruner): MaybePromise<boolean> {
    const asked = new Map<Segment, Uint8Array>();
    mayHoldAll(part, pruner, ({ filter, value }) => {
      asked.set(filter, value);
      return true;
    });
    if (asked.size === 0) return true;
    const filters = [...asked.keys()].sort((a, b) => a.offset - b.offset);
    return this.readNodes(
      block,
      (visitor) => {
        for (const f of filters) if (!visitor.known(f)) visitor.segment(f);
      },
      (source) =>
        mayHoldAll(part, pruner, ({ filter, value }) =>
          mayHold(
            source.decoded(
              filter,
              () => wordsOf(source.bytes(filter)),
              (words) => words.byteLength,
            ),
            value,
          ),
        ),
    );
  }
  /**
   * The rows of a part that pass all tests, from what is stored alone: `rows` undefined: all of them. Undefined as a
   * whole if one of the tests takes more than that.
   */
  passing(
    block: number,
    part: Column,
    tests: readonly StoredTest[],
    known: readonly KnownValues[],
  ): MaybePromise<{ readonly rows: Selection } | undefined> {
    const steps = testSteps(part, tests, known);
    if (!steps || steps === 'none') return steps && { rows: noRows };
    const from = (k: number, prior: Selection): MaybePromise<{ readonly rows: Selection }> => {
      const step = steps[k];
      if (!step || prior?.length === 0) return { rows: prior };
      const found = this.readNodes(
        block,
        (visitor) => {
          visitStep(step, visitor);
        },
        (source) => ({ rows: passedBy(step, { rows: part.rows, prior }, source) }),
      );
      return then(found, ({ rows }) => from(k + 1, rows));
    };
    return from(0, undefined);
  }
  /** What the rows of a part come to; undefined if one of the columns has no summary. */
  summaries(
    block: number,
    part: Column,
    requests: readonly SummaryRequest[],
  ): MaybePromise<readonly ColumnSummary[] | undefined> {
    const steps: SummaryStep[] = [];
    for (const request of requests) {
      const step = summaryStep(part, request);
      if (!step) return undefined;
      steps.push(step);
    }
    const missing = [...new Set(steps.flatMap((step) => ('column' in step ? [step.column] : [])))];
    if (missing.length === 0) return steps.map((step) => (step as { readonly summary: ColumnSummary }).summary);
    this.dictionaryBytes += missing.length * totalsBytes;
    return this.readNodes(
      block,
      (visitor) => {
        for (const column of missing) visitTotals(column, visitor);
      },
      (source) => steps.map((step) => ('column' in step ? totalsOf(step.column, source) : step.summary)),
    );
  }
  /**
   * What all rows of the object come to, if that is known of each of its blocks and nothing has to be read for it; it
   * is remembered under `name`, that of the requests. With it and with known plans (workers/query/plans.ts) least and
   * greatest values, sums and averages of columns of 1,000,000 rows take 0.35 of the processor time.
   */
  summariesOfAll(name: string, requests: readonly SummaryRequest[]): readonly ColumnSummary[] | undefined {
    const known = this.summariesKnown.get(name);
    if (known) return known;
    let all: readonly ColumnSummary[] | undefined;
    for (let block = 0; block < this.blocks.length; block++) {
      for (const part of this.parts(block)) {
        if (part.rows === 0) continue;
        const columns: ColumnSummary[] = [];
        for (const request of requests) {
          const step = summaryStep(part, request);
          if (!step || 'column' in step) return undefined;
          columns.push(step.summary);
        }
        all = all ? joinedSummaries(all, columns) : columns;
        if (!all) return undefined;
      }
    }
    if (!all) return undefined;
    if (this.summariesKnown.size >= summariesMax) this.summariesKnown.clear();
    else this.dictionaryBytes += requests.length * totalsBytes;
    this.summariesKnown.set(name, all);
    return all;
  }
  /** The part with those strings alone that may hold one of the texts. */
  searched(block: number, part: Column, texts: readonly SearchedText[]): MaybePromise<Column> {
    const pairs: Segment[] = [];
    const dictionaries = new Set<number>();
    visitStrings(part, (column) => {
      if (column.pairs) pairs.push(column.pairs);
      if (column.dictionary !== undefined) dictionaries.add(column.dictionary);
    });
    return this.readNodes(
      block,
      (visitor) => {
        for (const p of pairs) if (!visitor.known(p)) visitor.segment(p);
        for (const n of dictionaries) visitor.dictionary(n);
      },
      (source) =>
        textsAlone(part, ({ pairs: known, dictionary, times }) => {
          if (times) return texts.some((text) => text.isOfTime);
          if (dictionary !== undefined) return mayContain(this.pairsOfDictionary(dictionary), texts);
          return (
            !known ||
            mayContain(
              source.decoded(
                known,
                () => wordsOf(source.bytes(known)),
                (words) => words.byteLength,
              ),
              texts,
            )
          );
        }),
    );
  }
  private pairsOfDictionary(number: number): Uint32Array {
    const known = this.dictionaryPairs[number];
    if (known) return known;
    const pairs = (this.dictionaryPairs[number] = pairsOf(bytesOf(this.dictionaries[number]!)));
    this.dictionaryBytes += pairs.byteLength;
    return pairs;
  }

  /** Where each row of the block is; undefined when there is one part only. */
  tags(block: number): MaybePromise<BlockTags | undefined> {
    const column = this.column(block);
    return column.form !== 'dynamic'
      ? undefined
      : this.readNodes(
          block,
          (visitor) => {
            visitTags(column, visitor);
          },
          (source) => decodeTags(column, source),
        );
  }

  /** Reads the segments that `visit` names, but for what is kept, and makes something of them. */
  private readNodes<T>(
    block: number,
    visit: (visitor: SegmentVisitor) => void,
    make: (source: SegmentSource) => T,
  ): MaybePromise<T> {
    const { cache } = this;
    const segments: Segment[] = [];
    const missing = new Set<number>();
    const kept = new Map<object, unknown>();
    visit({
      segment: (s) => {
        if (s.length > 0) segments.push(s);
      },
      dictionary: (n) => {
        if (!this.dictionaries[n]) missing.add(n);
      },
      known: (node) => {
        const value = cache?.get(node);
        if (value !== undefined) kept.set(node, value);
        return value !== undefined;
      },
    });
    const decoded: SegmentSource['decoded'] = (node, create, bytes) => {
      const known = kept.get(node);
      if (known !== undefined) return known as ReturnType<typeof create>;
      const value = create();
      cache?.set(node, bytes(value) + entryBytes, () => owned(value), this);
      return value;
    };
    const entry = this.blocks[block] as BlockEntry;
    const place = `block ${block}`;
    segments.sort((a, b) => a.offset - b.offset);
    const ready = missing.size > 0 ? this.loadDictionaries([...missing]) : undefined;
    return then(ready, () =>
      then(this.readSegments(segments, entry.offset, place), (bytes) =>
        this.decode(place, () =>
          make({
            bytes: (s) => bytesIn(bytes, s),
            dictionary: (n) => this.dictionaries[n]!,
            decoded,
            isKnown: (node) => kept.has(node),
          }),
        ),
      ),
    );
  }

  private column(block: number): Column {
    const known = this.columns[block];
    if (known) return known;
    const entry = this.blocks[block] as BlockEntry;
    return (this.columns[block] = this.decode(`block ${block}`, () => {
      const input = new ByteReader(this.footer, entry.directory, entry.directory + entry.directoryLength);
      const kinds = {
        statistics: this.statistics,
        compressed: this.isCompressed,
        later: (read: () => Column): Column => this.late(block, read),
      };
      return new DirectoryReader(input, this.typeOf, kinds).column(this.layouts[entry.layout], entry.rows);
    }));
  }

  /** A column of a block's directory that was passed over at first. */
  private late(block: number, read: () => Column): Column {
    this.dictionaryBytes += columnBytes;
    return this.decode(`block ${block}`, read);
  }

  private readDictionaryEntry(input: ByteReader): DictionaryEntry {
    const rows = input.uvarint();
    if (rows === 0) return { rows, offset: 0 };
    const type = this.typeOf(input.uvarint());
    const offset = input.uvarint() * 8;
    input.uvarint();
    const directory = new ByteReader(input.raw(input.uvarint()));
    return {
      rows,
      offset,
      column: new DirectoryReader(directory, this.typeOf, { statistics: false, compressed: this.isCompressed }).column(
        { form: 'bytes', type: type.kind === 'primitive' ? type : types.string },
        rows,
      ),
    };
  }

  private loadDictionaries(numbers: readonly number[]): MaybePromise<void> {
    const pending: Promise<void>[] = [];
    for (const n of numbers) {
      const coming = this.dictionariesComing.get(n);
      if (coming) {
        pending.push(coming);
        continue;
      }
      const entry = this.dictionaryEntries[n];
      const place = `dictionary ${n}`;
      if (!entry?.column) throw corrupt(this.id, place, 'there is none');
      const column = entry.column;
      const done = then(this.readSegments(segmentsOf(column), entry.offset, place), (bytes) => {
        const decoded = this.decode(place, () =>
          ofForm(
            flatten(
              decodeColumn(column, {
                bytes: (s) => bytesIn(bytes, s),
                dictionary: () => {
                  throw new Error('nested');
                },
                decoded: (_, make) => make(),
                isKnown: () => false,
              }),
            ),
            'bytes',
          ),
        );
        this.dictionaries[n] = decoded;
        this.dictionaryBytes += decoded.bytes.buffer.byteLength + decoded.offsets.byteLength;
      });
      if (!(done instanceof Promise)) continue;
      const ended = done.finally(() => this.dictionariesComing.delete(n));
      this.dictionariesComing.set(n, ended);
      pending.push(ended);
    }
    return pending.length > 0 ? Promise.all(pending).then(() => undefined) : undefined;
  }

  /** Reads segments (in order of their places) in as few runs as pays, checks and expands them. */
  private readSegments(
    segments: readonly Segment[],
    base: number,
    place: string,
  ): MaybePromise<Map<Segment, Uint8Array>> {
    return ofSoundCopy(this.source, () => this.readCopy(segments, base, place));
  }
  private readCopy(segments: readonly Segment[], base: number, place: string): MaybePromise<Map<Segment, Uint8Array>> {
    const out = new Map<Segment, Uint8Array>();
    const pending: Promise<void>[] = [];
    for (const { run, start, end } of runsOf(segments)) {
      if (base + end > this.source.size) throw corrupt(this.id, place, 'segment beyond the end');
      this.bytesRead += end - start;
      const done = then(this.source.read(base + start, end - start), (bytes) => {
        for (const s of run)
          out.set(s, this.checked(bytes.subarray(s.offset - start, s.offset - start + s.length), s, place));
      });
      if (done instanceof Promise) pending.push(done);
    }
    return pending.length > 0 ? Promise.all(pending).then(() => out) : out;
  }
  private checkSegment(bytes: Uint8Array, { length, check, offset }: Segment, place: string): void {
    if (bytes.length !== length || checksum(bytes) !== check)
      throw corrupt(this.id, place, `checksum of ${length} bytes at ${offset} does not fit`);
  }
  private checked(bytes: Uint8Array, segment: Segment, place: string): Uint8Array {
    this.checkSegment(bytes, segment, place);
    return this.expandedOf(bytes, segment, place);
  }
  private expandedOf(bytes: Uint8Array, { expansion }: Segment, place: string): Uint8Array {
    return expansion ? this.decode(place, () => expanded(bytes, expansion)) : bytes;
  }

  private decode<T>(place: string, work: () => T): T {
    try {
      return work();
    } catch (error) {
      // A query that is given up, or has no memory left, says nothing of the object.
      if (error instanceof LakeError && /^(query|load)-/.test(error.code)) throw error;
      throw corrupt(this.id, place, String(error), error);
    }
  }
}

/** Segments in the order of their places, in as few runs as pays. */
const runsOf = (
  segments: readonly Segment[],
): readonly { readonly run: readonly Segment[]; readonly start: number; readonly end: number }[] => {
  const runs = [];
  for (let i = 0; i < segments.length; ) {
    const first = i;
    const start = segments[i].offset;
    let end = start + segments[i].length;
    for (i++; i < segments.length && segments[i].offset - end <= gapBytesMax; i++)
      end = segments[i].offset + segments[i].length;
    runs.push({ run: segments.slice(first, i), start, end });
  }
  return runs;
};
/** One without bytes is not read: texts of which a rewrite left the empty ones alone have such a segment. */
const bytesIn = (read: ReadonlyMap<Segment, Uint8Array>, s: Segment): Uint8Array =>
  s.length === 0 ? noBytes : read.get(s)!;

/** Those of a column without its dictionary. */
const segmentsOf = (column: Column): readonly Segment[] => {
  const segments: Segment[] = [];
  visitSegments(column, {
    segment: (s) => {
      if (s.length > 0) segments.push(s);
    },
    dictionary: () => undefined,
    known: () => false,
  });
  return segments;
};
/** The bytes of all rows. */
const bytesOf = ({ bytes, offsets, length }: BytesVector): Uint8Array => bytes.subarray(offsets[0], offsets[length]);
const wordsOf = (bytes: Uint8Array): Uint32Array => new Uint32Array(bytes.buffer, bytes.byteOffset, bytes.length >> 2);

/** The fields of these paths as a tree; undefined if one of them is the whole row. */
export const projectionOf = (paths: readonly (readonly string[])[]): Projection | undefined => {
  if (paths.some((path) => path.length === 0)) return undefined;
  const root: Projection = new Map();
  for (const path of paths) {
    let at = root;
    for (let i = 0; i < path.length; i++) {
      const known = at.get(path[i]);
      if (known === true) break;
      if (i === path.length - 1) at.set(path[i], true);
      else if (known) at = known;
      else {
        const inner: Projection = new Map();
        at.set(path[i], inner);
        at = inner;
      }
    }
  }
  return root;
};

/** Rows as if only these fields had been read. */
export const projectRows = (rows: Vector, wanted: Projection): Vector => {
  switch (rows.form) {
    case 'record': {
      const fields: Field[] = [];
      for (const f of rows.fields) {
        const inner = wanted.get(f.name);
        if (inner) fields.push(inner === true ? f : { ...f, values: projectRows(f.values, inner) });
      }
      return { ...rows, fields };
    }
    case 'dynamic':
      return { ...rows, parts: rows.parts.map((p) => projectRows(p, wanted)) };
    case 'named':
      return { ...rows, inner: projectRows(rows.inner, wanted) };
    case 'selected':
      return { ...rows, base: projectRows(rows.base, wanted) };
    default:
      return rows;
  }
};
