/**
 * What a scan reads, in any order of rows: the list of objects, page by page, their readers, the blocks that may hold
 * wanted rows, and the rows of tiny objects.
 */
import { compareBytes } from '../../vectors/value.ts';
import type { Vector } from '../../vectors/vector.ts';
import type { Projection } from '../columns/wanted.ts';
import type { KeyRange, ObjectMeta, PageRequest } from '../lake.types.ts';
import { blockRowsMax } from '../objects/format.ts';
import { sourceOfStored } from '../objects/copies.ts';
import { type ObjectReader, openObject, projectionOf, sourceOfBytes } from '../objects/reader.ts';
import { BestKeys, spanOfBlock } from './best.ts';
import { wantedRows } from './kept-rows.ts';
import { cutOut } from './cut.ts';
import { hasRowsLeft } from './left.ts';
import { isInRange, keyRange } from './range.ts';
import type { BlockCounts, ScanOptions, ScanSource } from './scan.types.ts';
import { TinyRows } from '../objects/tiny-rows.ts';

/** Objects of a page: few at first. */
const firstPageObjects = 16;
const pageObjectsMax = 1024;
/** Objects whose keys are looked at before any is read, about. */
const objectsAheadMax = 8192;
/** Blocks of fewer rows are gathered into batches when the order does not matter. */
export const wholeBlockRows = 1024;
/** Unless they are as long as this, stored: columns that are not wanted need not be read. */
const wholeBlockBytes = 256 << 10;
/**
 * Blocks that are gathered are no more bytes than this together, the last one aside: blocks of few rows have long ones,
 * and a batch is held several times while it is worked on.
 */
export const batchBytes = 4 << 20;
/**
 * Whether the block is read by itself: its filter then comes before its other columns. The ten best of 50,000 rows of
 * 500 columns, whose blocks have some 900, took 11 times as long without the second test.
 */
export const isWhole = (reader: ObjectReader, block: number): boolean => {
  const { rows, dataLength } = reader.blocks[block];
  return rows >= wholeBlockRows || dataLength >= wholeBlockBytes;
};

/** One scan's input. The list of objects is read forwards: `peek` and `step`. */
export class ScanInput {
  readonly source: ScanSource;
  readonly options: ScanOptions;
  readonly batchRows: number;
  readonly descending: boolean;
  /** The columns that are wanted; undefined: all. */
  readonly projection: Projection | undefined;
  /** Where the best rows by the pool's own key are wanted, in any order. */
  readonly bestKeys: BestKeys | undefined;
  /** Rows of objects that hold one plain record each. */
  readonly tiny: TinyRows;
  /** Bytes of the objects that they came from. */
  private tinyBytes = 0;
  private readonly range: KeyRange | undefined;
  /** The objects of the pages that were read, and the place of the next one. */
  private queue: readonly ObjectMeta[] = [];
  private queueAt = 0;
  private cursorAt: number | undefined;
  private pageSize = firstPageObjects;
  private started = false;

  constructor(source: ScanSource, options: ScanOptions) {
    this.source = source;
    this.options = options;
    this.batchRows = options.batchRows ?? 4096;
    this.descending = source.order === 'desc';
    this.range = options.pruner && keyRange(options.pruner, source.keys[0] ?? []);
    this.projection = options.columns && projectionOf(options.columns);
    const best = options.ordered ? undefined : options.filter?.best;
    if (best && isPath(source.keys[0], best.path)) this.bestKeys = new BestKeys(best, this.descending);
    this.tiny = new TinyRows(this.projection);
    if (!options.goesOn) source.readers?.columns?.begin();
  }

  /** The next object of the list, unread. */
  async peek(): Promise<ObjectMeta | undefined> {
    while (this.queueAt >= this.queue.length) {
      if (this.started && this.cursorAt === undefined) return undefined;
      if (!this.started) await countOthers(this.source, this.range, this.options.counts);
      const page = await this.source.page(this.pageRequest());
      this.started = true;
      this.queue = page.objects;
      this.queueAt = 0;
      this.cursorAt = page.next;
    }
    return this.queue[this.queueAt];
  }
  /** The next object, if its page is at hand. */
  get next(): ObjectMeta | undefined {
    return this.queue[this.queueAt];
  }
  /** The object behind the next one, if it is in the same page. */
  get following(): ObjectMeta | undefined {
    return this.queue[this.queueAt + 1];
  }
  /** Whether there are pages that were not read yet. */
  get hasPages(): boolean {
    return this.cursorAt !== undefined;
  }
  /** Goes on to the object behind the next one. */
  step(): void {
    this.queueAt++;
  }

  /** The objects of the list, unless it is long: then the first ones. */
  async listAhead(): Promise<readonly ObjectMeta[]> {
    for (let next = await this.peek(); next && this.cursorAt !== undefined && this.queue.length < objectsAheadMax; ) {
      const { objects, next: cursor } = await this.source.page(this.pageRequest());
      this.queue = [...this.queue, ...objects];
      this.cursorAt = cursor;
    }
    return this.queue;
  }

  private pageRequest(): PageRequest {
    const limit = this.pageSize;
    this.pageSize = Math.min(pageObjectsMax, this.pageSize * 4);
    return {
      limit,
      packs: true,
      ...(this.cursorAt !== undefined && { cursor: this.cursorAt }),
      ...(this.range && { range: this.range }),
    };
  }

  /** The reader of an object. */
  async open(meta: ObjectMeta): Promise<ObjectReader> {
    const { read, blocks, counts } = this.options;
    const reader = await openReader(this.source, meta, read);
    counts?.opened(meta.id, blocks ? blocks(meta.id).length : reader.blocks.length);
    return reader;
  }

  /** The first block from `block` on that may hold wanted rows; -1 for none. */
  nextBlock(reader: ObjectReader, block: number): number {
    const { blocks, pruner, without } = this.options;
    const unwanted = without?.(reader.id);
    const best = this.bestKeys;
    const mayBeBest = (k: number): boolean =>
      !best || !isWhole(reader, k) || best.mayHold(spanOfBlock(reader.blocks[k], this.descending));
    if (blocks) return blocks(reader.id).find((k) => k >= block && mayBeBest(k)) ?? -1;
    for (let k = block; k < reader.blocks.length; k++) {
      if (!mayBeBest(k) || (unwanted && !hasRowsLeft(reader, k, unwanted))) continue;
      if (this.range && !isInRange(reader.blocks[k], this.range, this.descending)) continue;
      // The parts of large blocks are looked at one by one when they are read (BlockScanner).
      if (!pruner || isWhole(reader, k) || reader.mayMatch(k, pruner)) return k;
    }
    return -1;
  }

  /** Takes the row of an object into `tiny` if it holds one plain record. */
  takesTiny({ id, count, inline }: ObjectMeta): boolean {
    const { blocks, read } = this.options;
    if (count !== 1 || !inline || blocks?.(id).length === 0 || !this.tiny.add(inline)) return false;
    this.tinyBytes = (this.tiny.count === 1 ? 0 : this.tinyBytes) + inline.length;
    read?.(inline.length, 1);
    return true;
  }
  /** Whether the rows of tiny objects that wait are a batch. */
  get isTinyFull(): boolean {
    return this.tiny.count >= this.batchRows || (this.tiny.count > 0 && this.tinyBytes >= batchBytes);
  }

  /** The rows that the filter keeps. */
  async filtered(rows: Vector): Promise<Vector> {
    return wantedRows({ rows, index: await this.options.filter?.keep(rows) });
  }

  /** Below 0 when `a` comes before `b` in the pool's order. */
  compare(a: Uint8Array, b: Uint8Array): number {
    return this.descending ? compareBytes(b, a) : compareBytes(a, b);
  }
  /** The first key of an object in the pool's order, and the last. */
  startOf(meta: ObjectMeta): Uint8Array {
    return (this.descending ? meta.max : meta.min).sort;
  }
  endOf(meta: ObjectMeta): Uint8Array {
    return (this.descending ? meta.min : meta.max).sort;
  }

  /**
   * Batches of the rows, of much the same length; `first`: rows of the first one at most, each next one may have four
   * times as many.
   */
  *cut(rows: Vector, first = this.batchRows): Generator<Vector> {
    for (
      let start = 0, end = 0, most = first;
      start < rows.length;
      start = end, most = Math.min(this.batchRows, most * 4)
    ) {
      const rest = rows.length - start;
      // What is done once a batch counts: up to twice as many rows are one.
      end = start + (most < this.batchRows ? Math.min(rest, most) : Math.ceil(rest / Math.ceil(rest / (most * 2))));
      yield cutOut(rows, start, end);
    }
  }
}

/** Blocks of an object that is not opened, about. */
export const blocksOf = ({ count }: ObjectMeta): number => Math.ceil(count / blockRowsMax);

/** Counts the blocks of the objects whose keys are out of the range: pages do not list them. */
export const countOthers = async (
  source: ScanSource,
  range: KeyRange | undefined,
  counts: BlockCounts | undefined,
): Promise<void> => {
  if (!range || !counts) return;
  for (let cursor: number | undefined, isLast = false; !isLast; ) {
    const { objects, next } = await source.page({ limit: pageObjectsMax, ...(cursor !== undefined && { cursor }) });
    for (const object of objects)
      if (!isInRange({ firstKey: object.min.sort, lastKey: object.max.sort }, range, false))
        counts.skipped(blocksOf(object));
    cursor = next;
    isLast = next === undefined;
  }
};

/** The reader of an object, of an earlier scan if there is one. */
export const openReader = async (
  { readers, objects }: ScanSource,
  { id, size, inline }: ObjectMeta,
  read?: ScanOptions['read'],
): Promise<ObjectReader> => {
  const known = readers?.get(id);
  if (known) return known;
  const opened = openObject(
    inline ? sourceOfBytes(id, inline) : sourceOfStored(objects, { id, size }),
    inline ? undefined : readers?.columns,
  );
  const reader = opened instanceof Promise ? await opened : opened;
  read?.(reader.bytesRead, 0);
  if (!inline) readers?.set(id, reader);
  return reader;
};

const isPath = (a: readonly string[] | undefined, b: readonly string[]): boolean =>
  a?.length === b.length && a.every((name, i) => name === b[i]);
