/**
 * Objects to batches: in the pool's order, merging objects that overlap, or one after the other when nobody needs the order.
 *
 * Invariants:
 * - Objects are listed page by page, and one is opened only when the rows given out have come near its first key, so that the first rows cost the first page.
 *   Small objects are opened ahead until a batch is full: many tiny ones become few batches.
 * - Rows of equal keys: those of small objects are ordered by their bytes, others keep the order of the list.
 * - Objects and blocks that the pruner rules out are not read; of the rest only the columns that are named.
 * - Without an order rows of unlike types come in batches of their own: each then has one shape.
 * - A filter is asked for every row that is given, for those of large objects before columns that it does not need are read.
 */
import { type Vector, dataAt, noRows, slice, take, typeAt, valueAt } from '../vectors/vector.ts';
import { concat } from '../vectors/concat.ts';
import { ByteWriter, compareBytes, writeBody } from '../vectors/value.ts';
import { sortKeyBytes } from '../vectors/sort-key.ts';
import { isTurnLong } from '../vectors/stop.ts';
import type { ColumnCache } from './columns/cache.ts';
import type { Projection } from './columns/decode.ts';
import type { ColumnPruner } from './columns/prune.ts';
import type { KeyRange, ObjectMeta, ObjectPage, PageRequest, SortOrder } from './lake.types.ts';
import { type ObjectReader, openObject, projectRows, projectionOf, sourceOfBytes } from './object-reader.ts';
import type { ObjectStore } from './objects.ts';
import { BestKeys, spanOfBlock, spanOfObject } from './scan-best.ts';
import { BlockScanner, type RowFilter, wantedRows } from './scan-block.ts';
import { cutOut } from './scan-cut.ts';
import { isInRange, keyRange } from './scan-range.ts';
import { TinyRows } from './tiny-rows.ts';
import { type TieBreak, keyColumn, sortColumn, sortRows } from './sort-rows.ts';

/** What is scanned: the objects of one commit. Pages list them by their first key in the pool's order. */
export interface ScanSource {
  readonly keys: readonly (readonly string[])[];
  readonly order: SortOrder;
  readonly objects: Pick<ObjectStore, 'readRange'>;
  readonly page: (request: PageRequest) => ObjectPage | Promise<ObjectPage>;
  /** Readers of earlier scans by object id; a scan takes from it and adds to it. */
  readonly readers?: ReaderCache;
}
export interface ReaderCache {
  /** Decoded columns of these readers. */
  readonly columns?: ColumnCache;
  get(id: string): ObjectReader | undefined;
  set(id: string, reader: ObjectReader): void;
}
export interface ScanOptions {
  /** Paths of the fields that are needed; absent: all. Rows that are no records come whole. */
  readonly columns?: readonly (readonly string[])[];
  readonly pruner?: ColumnPruner;
  /** The exact test; the pruner follows from it. Absent: all rows. */
  readonly filter?: RowFilter;
  readonly ordered: boolean;
  /** The blocks of an object that are to be read, in order; absent: all that the pruner leaves. */
  readonly blocks?: (id: string) => readonly number[];
  /** Rows without fields may come in batches of any length. */
  readonly counted?: boolean;
  /** No more rows than this are needed, about. */
  readonly limit?: number;
  /** Default 4096. */
  readonly batchRows?: number;
  readonly signal?: AbortSignal;
  /** Told of what was read: bytes of objects, and rows. */
  readonly read?: (bytes: number, rows: number) => void;
}

/** Objects of a page: few at first. */
const firstPageObjects = 16;
const pageObjectsMax = 1024;
/** Objects whose keys are looked at before any is read, about. */
const objectsAheadMax = 8192;
/** Rows held back to order equal keys by their bytes, at most. */
const tieRowsMax = 8192;
/** Rows of several objects that are merged in one step, about, and of one object at least. */
const stepRows = 32_768, stepRowsMin = 64;
/** Blocks of fewer rows are gathered into batches when the order does not matter. */
const wholeBlockRows = 1024;
const isWhole = (reader: ObjectReader, block: number): boolean => reader.blocks[block]!.rows >= wholeBlockRows;

/** Rows of a scan; `nextNow` gives those that are at hand without a wait, if any. */
export type ScannedRows = AsyncGenerator<Vector> & { readonly nextNow: () => Vector | undefined };

/** The rows of all objects. */
export const scanObjects = (source: ScanSource, options: ScanOptions): ScannedRows => {
  const scan = new Scan(source, options);
  return Object.assign(options.ordered ? scan.inOrder() : scan.inAnyOrder(), { nextNow: () => scan.nextNow() });
};

/** Rows of one block that are still to be given out. */
interface Cursor {
  readonly meta: ObjectMeta;
  readonly reader: ObjectReader;
  readonly withKeys: boolean;
  block: number;
  rows: Vector;
  keys: readonly Vector[];
  at: number;
  firstKey: Uint8Array;
  lastKey: Uint8Array;
  /** The next block that may match; -1 for none. */
  next: number;
  /** Rows of that block that have been given already. */
  skip: number;
}
interface Piece {
  readonly cursor: Cursor; readonly block: number; readonly start: number; readonly end: number;
  readonly rows: Vector; readonly keys: readonly Vector[]; readonly firstKey: Uint8Array; readonly lastKey: Uint8Array;
}

class Scan {
  private readonly source: ScanSource;
  private readonly options: ScanOptions;
  private readonly batchRows: number;
  private readonly descending: boolean;
  private readonly range: KeyRange | undefined;
  private readonly projection: Projection | undefined;
  /** Where the best rows by the pool's own key are wanted. */
  private readonly bestKeys: BestKeys | undefined;
  private readonly scanner: BlockScanner;
  private readonly keyedScanner: BlockScanner;
  private readonly tiny: TinyRows;
  /** Of a scan in any order: rows that wait to be given out, the block that is read next, and rows that are being read. */
  private readonly ready: Vector[] = [];
  private current: { readonly reader: ObjectReader; block: number } | undefined;
  private late: Promise<readonly Vector[]> | undefined;
  private queue: readonly ObjectMeta[] = [];
  private queueAt = 0;
  private cursorAt: number | undefined;
  private pageSize = firstPageObjects;
  private started = false;
  private cursors: Cursor[] = [];
  /** Rows of the cursors that are still to be given out. */
  private heldRows = 0;
  /** The last key of all open objects. */
  private furthestEnd: Uint8Array | undefined;
  /** So many rows are read of the first block before others are; 0: all. */
  private firstRows: number;

  constructor(source: ScanSource, options: ScanOptions) {
    this.source = source;
    this.options = options;
    this.batchRows = options.batchRows ?? 4096;
    this.descending = source.order === 'desc';
    this.firstRows = options.filter || options.pruner ? 0 : options.limit ?? 0;
    this.range = options.pruner && keyRange(options.pruner, source.keys[0] ?? []);
    this.projection = options.columns && projectionOf(options.columns);
    const cache = source.readers?.columns, best = options.ordered ? undefined : options.filter?.best;
    if (best && isPath(source.keys[0], best.path)) this.bestKeys = new BestKeys(best, this.descending);
    this.scanner = new BlockScanner({ ...options, ...(cache && { cache }), ...(this.bestKeys && { bestKeys: this.bestKeys, descending: this.descending }) });
    this.tiny = new TinyRows(this.projection);
    this.keyedScanner = new BlockScanner({ ...options, ...(cache && { cache }), ...(options.columns && { columns: [...options.columns, ...source.keys] }) });
    source.readers?.columns?.begin();
  }

  async* inAnyOrder(): AsyncGenerator<Vector> {
    let held: Vector[] = [], heldRows = 0, counted = 0;
    const { columns, pruner, filter } = this.options, isCounted = columns?.length === 0 && !pruner && !filter && !this.options.blocks, best = this.bestKeys;
    const flush = async (): Promise<Vector> => {
      const rows = held;
      held = [];
      heldRows = 0;
      return rows.length > 0 ? this.filtered(concat(rows)) : noRows;
    };
    if (best) await this.lookForKeys(best);
    for (let meta = await this.peek(); meta; meta = this.queue[this.queueAt] ?? await this.peek()) {
      this.queueAt++;
      if (best && meta.count > 1 && !best.mayHold(spanOfObject(meta))) {
        // Batches end where they would with its rows, so that equal rows keep their order.
        if (meta.count < wholeBlockRows) heldRows += meta.count;
        if (heldRows >= this.batchRows) yield* this.cut(await flush());
        continue;
      }
      if (isCounted) {
        counted += meta.count;
        if (this.options.counted) continue;
        yield* this.cut({ form: 'record', length: counted, fields: [] });
        counted = 0;
        continue;
      }
      if (this.takesTiny(meta)) {
        if (this.tiny.count < this.batchRows) continue;
        this.options.signal?.throwIfAborted();
        yield* this.cut(await this.filtered(this.tiny.take()));
        continue;
      }
      const reader = await this.open(meta);
      if (filter?.best && !best) await this.lookAhead(reader);
      this.current = { reader, block: this.nextBlock(reader, 0) };
      for (;;) {
        for (let rows = this.nextNow(); rows; rows = this.nextNow()) yield rows;
        if (this.late) {
          const found = await this.late;
          this.late = undefined;
          this.give(found);
          continue;
        }
        const { block } = this.current;
        if (block < 0) break;
        if (isWhole(reader, block)) continue;
        this.options.signal?.throwIfAborted();
        this.current.block = this.nextBlock(reader, block + 1);
        if (!best || best.mayHold(spanOfBlock(reader.blocks[block]!, this.descending))) held.push(await this.scanner.whole(reader, block));
        heldRows += reader.blocks[block]!.rows;
        if (heldRows >= this.batchRows) yield* this.cut(await flush());
      }
    }
    if (counted > 0) yield { form: 'record', length: counted, fields: [] };
    if (this.tiny.count > 0) yield* this.cut(await this.filtered(this.tiny.take()));
    if (heldRows > 0) yield* this.cut(await flush());
  }

  /** The next rows that need no wait, while `inAnyOrder` waits to go on. */
  nextNow(): Vector | undefined {
    const { current, ready } = this;
    for (;;) {
      const rows = ready.shift();
      if (rows) return rows;
      if (this.late || !current || current.block < 0 || !isWhole(current.reader, current.block)) return undefined;
      this.options.signal?.throwIfAborted();
      const { reader, block } = current;
      current.block = this.nextBlock(reader, block + 1);
      const found = this.scanner.parts(reader, block);
      if (found instanceof Promise) {
        this.late = found;
        // Its failure is told when it is awaited, if ever.
        found.catch(() => undefined);
      } else {
        this.give(found);
        if (ready.length === 0 && isTurnLong()) return undefined;
      }
    }
  }
  private give(found: readonly Vector[]): void { for (const rows of found) this.ready.push(...this.cut(rows)); }

  /** Where only the best rows are wanted, the most promising blocks are looked at before the others, until the next one promises nothing more. */
  private async lookAhead(reader: ObjectReader): Promise<void> {
    const promising: { readonly block: number; readonly most: number }[] = [], best = this.options.filter!.best!;
    for (let block = this.nextBlock(reader, 0); block >= 0; block = this.nextBlock(reader, block + 1)) {
      const most = this.scanner.promise(reader, block);
      if (most !== undefined) promising.push({ block, most });
    }
    promising.sort((a, b) => b.most - a.most || a.block - b.block);
    for (const { block, most } of promising.slice(0, promising.length >> 2)) {
      const floor = best.floor();
      if (floor !== undefined && most < (best.greater ? floor : -floor)) return;
      this.options.signal?.throwIfAborted();
      await this.scanner.ahead(reader, block);
    }
  }

  /** The same by the keys of objects and blocks, before any is read: what the test keeps of the most promising ones, or all of their rows, rules out the others. */
  private async lookForKeys(best: BestKeys): Promise<void> {
    const { filter, pruner, blocks, signal } = this.options, isTested = filter!.best!.isTested || pruner !== undefined;
    // Small objects are not worth a test of their own.
    const all = await this.listAhead(), objects = all.filter((meta) => meta.count >= wholeBlockRows || (!isTested && !blocks)).map((meta) => ({ meta, span: spanOfObject(meta) }));
    let rowsLeft = all.reduce((n, meta) => n + meta.count, 0) >> 2;
    for (const { meta, span: whole } of best.promising(objects)) {
      if (!best.mayHold(whole)) return;
      if (meta.count < wholeBlockRows) {
        best.add(whole, meta.count);
        continue;
      }
      const reader = await this.open(meta), found: { readonly block: number; readonly span: ReturnType<typeof spanOfBlock> }[] = [];
      for (let block = this.nextBlock(reader, 0); block >= 0; block = this.nextBlock(reader, block + 1)) found.push({ block, span: spanOfBlock(reader.blocks[block]!, this.descending) });
      for (const { block, span } of best.promising(found)) {
        if (!best.mayHold(span)) break;
        const { rows } = reader.blocks[block]!;
        if (!best.tells(span) || (isTested && !isWhole(reader, block))) continue;
        if (isTested && (rowsLeft -= rows) < 0) return;
        signal?.throwIfAborted();
        best.add(span, isTested ? await this.scanner.ahead(reader, block) : rows);
      }
    }
  }
  /** The objects of the list, unless it is long: then the first ones. */
  private async listAhead(): Promise<readonly ObjectMeta[]> {
    for (let next = await this.peek(); next && this.cursorAt !== undefined && this.queue.length < objectsAheadMax;) {
      const { objects, next: cursor } = await this.source.page(this.pageRequest());
      this.queue = [...this.queue, ...objects];
      this.cursorAt = cursor;
    }
    return this.queue;
  }

  /** Takes the row of an object that holds one plain record. */
  private takesTiny({ id, count, inline }: ObjectMeta): boolean {
    const { blocks, read } = this.options;
    if (count !== 1 || !inline || blocks?.(id).length === 0 || !this.tiny.add(inline)) return false;
    read?.(inline.length, 1);
    return true;
  }

  /** The rows that the filter keeps. */
  private async filtered(rows: Vector): Promise<Vector> {
    return wantedRows({ rows, index: await this.options.filter?.keep(rows) });
  }

  async* inOrder(): AsyncGenerator<Vector> {
    let target = Math.min(this.batchRows, this.options.limit ?? 256);
    for (;;) {
      this.options.signal?.throwIfAborted();
      let next = await this.peek();
      if (this.cursors.length === 0) {
        if (!next) return;
        const run = this.tinyRun(target);
        if (run) {
          yield* this.cut(await this.filtered(run));
          target = Math.min(this.batchRows, target * 4);
          continue;
        }
        await this.openNext();
        next = await this.peek();
      }
      while (next?.inline && this.heldRows < target) {
        await this.openNext();
        next = await this.peek();
      }
      if (this.cursors.length === 0) continue;
      let pieces = this.takePieces(next);
      while (pieces.length === 0 && next) {
        await this.openNext();
        next = await this.peek();
        pieces = this.takePieces(next);
      }
      const merged = this.merge(pieces), rows = pieces.some((p) => p.cursor.meta.inline) ? await this.filtered(merged) : merged;
      yield* this.cut(rows, target);
      target = Math.min(this.batchRows, Math.max(target * 4, rows.length));
      // Only now: whoever wants no more does not wait for the next block.
      await this.advance();
    }
  }

  /** Rows of the next objects, as long as each holds one plain record and ends before the one behind it begins: they are in order as they come. */
  private tinyRun(target: number): Vector | undefined {
    for (let meta = this.queue[this.queueAt]; meta && this.tiny.count < target; meta = this.queue[this.queueAt]) {
      const following = this.queue[this.queueAt + 1];
      if (following ? this.compare(this.startOf(following), this.endOf(meta)) <= 0 : this.cursorAt !== undefined) break;
      if (!this.takesTiny(meta)) break;
      this.queueAt++;
    }
    return this.tiny.count > 0 ? this.tiny.take() : undefined;
  }

  /** The next object of the list, unread. */
  private async peek(): Promise<ObjectMeta | undefined> {
    while (this.queueAt >= this.queue.length) {
      if (this.started && this.cursorAt === undefined) return undefined;
      const page = await this.source.page(this.pageRequest());
      this.started = true;
      this.queue = page.objects;
      this.queueAt = 0;
      this.cursorAt = page.next;
    }
    return this.queue[this.queueAt];
  }
  private pageRequest(): PageRequest {
    const limit = this.pageSize;
    this.pageSize = Math.min(pageObjectsMax, this.pageSize * 4);
    return { limit, packs: true, ...(this.cursorAt !== undefined && { cursor: this.cursorAt }), ...(this.range && { range: this.range }) };
  }

  private open(meta: ObjectMeta): Promise<ObjectReader> { return openReader(this.source, meta, this.options.read); }

  /** The first block from `block` on that may hold wanted rows; -1 for none. */
  private nextBlock(reader: ObjectReader, block: number): number {
    const { blocks, pruner } = this.options, best = this.bestKeys, mayBeBest = (k: number): boolean => !best || !isWhole(reader, k) || best.mayHold(spanOfBlock(reader.blocks[k]!, this.descending));
    if (blocks) return blocks(reader.id).find((k) => k >= block && mayBeBest(k)) ?? -1;
    for (let k = block; k < reader.blocks.length; k++) {
      if (!mayBeBest(k)) continue;
      if (this.range && !isInRange(reader.blocks[k]!, this.range, this.descending)) continue;
      // The parts of large blocks are looked at one by one when they are read (BlockScanner).
      if (!pruner || reader.blocks[k]!.rows >= wholeBlockRows || reader.mayMatch(k, pruner)) return k;
    }
    return -1;
  }

  /** Below 0 when `a` comes before `b` in the pool's order. */
  private compare(a: Uint8Array, b: Uint8Array): number { return this.descending ? compareBytes(b, a) : compareBytes(a, b); }
  private startOf(meta: ObjectMeta): Uint8Array { return (this.descending ? meta.max : meta.min).sort; }
  private endOf(meta: ObjectMeta): Uint8Array { return (this.descending ? meta.min : meta.max).sort; }

  /** Opens the next object of the list and reads its first block; nothing if the pruner rules all of it out. */
  private async openNext(): Promise<void> {
    const meta = this.queue[this.queueAt++]!;
    const following = await this.peek();
    const withKeys = (this.furthestEnd !== undefined && this.compare(this.furthestEnd, this.startOf(meta)) >= 0)
      || (following !== undefined && this.compare(this.startOf(following), this.endOf(meta)) <= 0);
    const reader = await this.open(meta), first = this.nextBlock(reader, 0);
    if (first < 0) return;
    const cursor: Cursor = { meta, reader, withKeys, block: -1, rows: noRows, keys: [], at: 0, firstKey: noKey, lastKey: noKey, next: first, skip: 0 };
    if (!await this.load(cursor)) return;
    this.cursors.push(cursor);
    this.reach(meta);
  }
  private reach(meta: ObjectMeta): void {
    const end = this.endOf(meta);
    if (!this.furthestEnd || this.compare(end, this.furthestEnd) > 0) this.furthestEnd = end;
  }

  /** Reads the cursor's next block with wanted rows; false if there is none. */
  private async load(cursor: Cursor): Promise<boolean> {
    const { reader, withKeys } = cursor, scanner = withKeys ? this.keyedScanner : this.scanner;
    while (cursor.next >= 0) {
      this.options.signal?.throwIfAborted();
      if (!withKeys && !cursor.meta.inline && await this.loadFirst(cursor)) return true;
      // Rows of small objects are told apart by their places, so all of them come.
      const number = cursor.next, all = cursor.meta.inline ? await scanner.whole(reader, number) : await scanner.inOrder(reader, number);
      const rows = all && cursor.skip > 0 ? cutOut(all, cursor.skip, all.length) : all;
      cursor.next = this.nextBlock(reader, number + 1);
      cursor.skip = 0;
      if (!rows) continue;
      const { firstKey, lastKey } = reader.blocks[number]!;
      Object.assign(cursor, { rows, block: number, at: 0, firstKey, lastKey } satisfies Partial<Cursor>);
      this.heldRows += rows.length;
      if (!withKeys) return true;
      cursor.keys = this.source.keys.map((path) => keyColumn(rows, path));
      if (this.projection) cursor.rows = projectRows(rows, this.projection);
      // Stored keys may be cut; where rows are merged the bound must be exact.
      if (lastKey.length >= longKey) cursor.lastKey = sortKeyBytes(valueAt(cursor.keys[0]!, rows.length - 1));
      return true;
    }
    return false;
  }

  /** Reads the first rows of the first block, which mostly are all that is wanted; the block stays the next one. */
  private async loadFirst(cursor: Cursor): Promise<boolean> {
    const { reader, next } = cursor, { rows: count, firstKey, lastKey } = reader.blocks[next]!, most = this.firstRows;
    this.firstRows = 0;
    if (most === 0 || most >= count) return false;
    const rows = await this.scanner.first(reader, next, most);
    Object.assign(cursor, { rows, block: next, at: 0, firstKey, lastKey, skip: most } satisfies Partial<Cursor>);
    this.heldRows += most;
    return true;
  }

  /** Cuts off the rows that nothing unread can come before. */
  private takePieces(next: ObjectMeta | undefined): readonly Piece[] {
    let bound: Uint8Array | undefined, strict = false;
    for (const c of this.cursors) if (c.next >= 0 && (!bound || this.compare(c.lastKey, bound) < 0)) bound = c.lastKey;
    if (next && (!bound || this.compare(this.startOf(next), bound) <= 0)) {
      bound = this.startOf(next);
      // Equal keys of small objects wait for one another, within reason.
      strict = next.inline !== undefined && this.heldRows < tieRowsMax;
    }
    const step = this.stepEnd();
    if (step && (!bound || this.compare(step, bound) < 0)) {
      bound = step;
      strict = false;
    }
    const pieces: Piece[] = [];
    for (const cursor of this.cursors) {
      const end = bound ? this.rowsBefore(cursor, bound, strict) : cursor.rows.length;
      if (end <= cursor.at) continue;
      const { at: start, rows, keys, block, firstKey, lastKey } = cursor;
      pieces.push({ cursor, block, start, end, rows: slice(rows, start, end), keys: keys.map((k) => slice(k, start, end)), firstKey, lastKey });
      cursor.at = end;
      this.heldRows -= end - start;
    }
    return pieces;
  }

  /** Many rows of objects that overlap are merged some at a time: the last key of a step; undefined for few. */
  private stepEnd(): Uint8Array | undefined {
    if (this.heldRows <= stepRows) return undefined;
    const cursors = this.cursors.filter((c) => c.keys.length > 0), rows = Math.max(stepRowsMin, Math.floor(stepRows / cursors.length));
    let least: Uint8Array | undefined;
    for (const c of cursors.length > 1 ? cursors : []) {
      if (c.at + rows > c.rows.length) continue;
      const key = sortKeyBytes(valueAt(c.keys[0]!, c.at + rows - 1));
      if (!least || this.compare(key, least) < 0) least = key;
    }
    return least;
  }

  /** The end of the cursor's rows that come before the bound, or with it unless `strict`. */
  private rowsBefore(cursor: Cursor, bound: Uint8Array, strict: boolean): number {
    const within = (key: Uint8Array): boolean => (strict ? this.compare(key, bound) < 0 : this.compare(key, bound) <= 0);
    if (within(cursor.lastKey)) return cursor.rows.length;
    if (cursor.at === 0 && !within(cursor.firstKey)) return 0;
    // Without keys the object overlaps no other, so a bound inside it can only be its own.
    if (!cursor.withKeys) return cursor.at;
    let low = cursor.at, high = cursor.rows.length;
    while (low < high) {
      const middle = (low + high) >> 1;
      if (within(sortKeyBytes(valueAt(cursor.keys[0]!, middle)))) low = middle + 1;
      else high = middle;
    }
    return low;
  }

  /** Reads on where a block is used up. */
  private async advance(): Promise<void> {
    const rest: Cursor[] = [];
    this.furthestEnd = undefined;
    for (const cursor of this.cursors) {
      if (cursor.at === cursor.rows.length) {
        if (!await this.load(cursor)) continue;
      }
      rest.push(cursor);
      this.reach(cursor.meta);
    }
    this.cursors = rest;
  }

  /** The pieces' rows in order: pieces whose key ranges touch are sorted together, the others are put one behind the other. */
  private merge(pieces: readonly Piece[]): Vector {
    const ordered = pieces.every((p, i) => i === 0 || this.compare(pieces[i - 1]!.firstKey, p.firstKey) <= 0)
      ? pieces : [...pieces].sort((a, b) => this.compare(a.firstKey, b.firstKey));
    const out: Vector[] = [];
    for (let start = 0, end = 0; start < ordered.length; start = end) {
      let last = ordered[start]!.lastKey;
      for (end = start + 1; end < ordered.length && this.compare(ordered[end]!.firstKey, last) <= 0; end++) {
        if (this.compare(ordered[end]!.lastKey, last) > 0) last = ordered[end]!.lastKey;
      }
      out.push(end - start === 1 ? ordered[start]!.rows : this.sorted(ordered.slice(start, end)));
    }
    return concat(out);
  }
  private sorted(pieces: readonly Piece[]): Vector {
    const rows = concat(pieces.map((p) => p.rows));
    const columns = this.source.keys.map((_, k) => sortColumn(concat(pieces.map((p) => p.keys[k]!))));
    const ties = rows.length <= tieRowsMax && pieces.every((p) => p.cursor.meta.inline) ? this.tieBreak(pieces) : undefined;
    const order = sortRows(columns, rows.length, { descending: this.descending, ties });
    return order ? take(rows, order) : rows;
  }

  /** Order by the bytes of whole rows, also when only some columns are read: the objects are small and at hand. */
  private tieBreak(pieces: readonly Piece[]): TieBreak {
    const owner: number[] = [], rowOf: number[] = [];
    pieces.forEach((p, k) => {
      for (let i = p.start; i < p.end; i++) {
        owner.push(k);
        rowOf.push(i);
      }
    });
    const whole = new Map<number, Vector>(), bodies = new Map<number, Uint8Array>();
    const body = (i: number): Uint8Array => {
      const known = bodies.get(i);
      if (known) return known;
      const k = owner[i]!, piece = pieces[k]!;
      let rows = whole.get(k);
      if (!rows) {
        const read = piece.cursor.reader.read(piece.block);
        if (read instanceof Promise) throw new Error('inline objects are read at once');
        whole.set(k, (rows = read));
      }
      const out = new ByteWriter();
      writeBody(out, typeAt(rows, rowOf[i]!), dataAt(rows, rowOf[i]!));
      const bytes = out.done();
      bodies.set(i, bytes);
      return bytes;
    };
    return (i, j) => compareBytes(body(i), body(j));
  }

  /** Batches of the rows, of much the same length; `first`: rows of the first one at most, each next one may have four times as many. */
  private* cut(rows: Vector, first = this.batchRows): Generator<Vector> {
    for (let start = 0, end = 0, most = first; start < rows.length; start = end, most = Math.min(this.batchRows, most * 4)) {
      const rest = rows.length - start;
      // What is done once a batch counts: up to twice as many rows are one.
      end = start + (most < this.batchRows ? Math.min(rest, most) : Math.ceil(rest / Math.ceil(rest / (most * 2))));
      yield cutOut(rows, start, end);
    }
  }
}

/** The reader of an object, of an earlier scan if there is one. */
export const openReader = async ({ readers, objects }: ScanSource, { id, size, inline }: ObjectMeta, read?: ScanOptions['read']): Promise<ObjectReader> => {
  const known = readers?.get(id);
  if (known) return known;
  const opened = openObject(inline ? sourceOfBytes(id, inline) : { id, size, read: (offset, length) => objects.readRange(id, offset, length) }, inline ? undefined : readers?.columns);
  const reader = opened instanceof Promise ? await opened : opened;
  read?.(reader.bytesRead, 0);
  if (!inline) readers?.set(id, reader);
  return reader;
};

const isPath = (a: readonly string[] | undefined, b: readonly string[]): boolean => a?.length === b.length && a.every((name, i) => name === b[i]);

const noKey = new Uint8Array(0);
/** Stored keys of this length may be cut (vectors/sort-key.ts). */
const longKey = 255;
