/**
 * The rows of a scan in the pool's order. An object is opened only when the rows given out have come near its first
 * key, so that the first rows cost the first page; a cursor stands in each open one, and what nothing unread can come
 * before is merged and given.
 */
import { sortKeyBytes } from '../../vectors/sort-key.ts';
import { type Vector, noRows, slice, valueAt } from '../../vectors/vector.ts';
import type { ObjectMeta } from '../lake.types.ts';
import { type ObjectReader, projectRows } from '../objects/reader.ts';
import { ReadAhead } from './ahead.ts';
import { BlockScanner } from './block.ts';
import { wantedRows } from './kept-rows.ts';
import { cutOut } from './cut.ts';
import { type ScanInput, batchBytes } from './input.ts';
import { rowsLeft } from './left.ts';
import { type Piece, mergePieces, tieRowsMax } from './merge.ts';
import { keyColumn } from '../load/sort-rows.ts';

/** Rows of several objects that are merged in one step, about, and of one object at least. */
const stepRows = 32_768;
const stepRowsMin = 64;
/**
 * Bytes of whole rows that are merged in one step, about, if these are fewer rows: a scan whose client reads slowly
 * holds them until it goes on, and there may be hundreds.
 */
const stepBytes = 1 << 20;

/**
 * An open object, and the rows of one of its blocks that are still to be given out. `withKeys`: other objects overlap
 * it.
 */
interface Cursor {
  readonly meta: ObjectMeta;
  readonly reader: ObjectReader;
  readonly withKeys: boolean;
  readonly ahead: ReadAhead;
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

/** A scan of `input`, whose `rows` or `steps` can be asked for once. */
export class OrderedScan {
  private readonly input: ScanInput;
  private readonly scanner: BlockScanner;
  /** Reads the pool's keys as well, for objects that overlap. */
  private readonly keyedScanner: BlockScanner;
  private cursors: Cursor[] = [];
  /** Rows of the cursors that are still to be given out. */
  private heldRows = 0;
  /** Bytes of the small objects among them. */
  private inlineBytes = 0;
  /** The last key of all open objects. */
  private furthestEnd: Uint8Array | undefined;
  /** So many rows are read of the first block before others are; 0: all. */
  private firstRows: number;

  constructor(input: ScanInput) {
    this.input = input;
    const { options, source } = input;
    const cache = source.readers?.columns;
    this.firstRows = options.filter || options.pruner ? 0 : (options.limit ?? 0);
    this.scanner = new BlockScanner({ ...options, ...(cache && { cache }) });
    this.keyedScanner = new BlockScanner({
      ...options,
      ...(cache && { cache }),
      ...(options.columns && { columns: [...options.columns, ...source.keys] }),
    });
  }

  async *rows(): AsyncGenerator<Vector> {
    let target = Math.min(this.input.batchRows, this.input.options.limit ?? 256);
    for (let step = await this.next(target); step; step = await this.next(target)) {
      if ('run' in step) {
        yield* this.input.cut(await this.input.filtered(step.run));
        target = Math.min(this.input.batchRows, target * 4);
        continue;
      }
      const { pieces } = step;
      const merged = mergePieces(pieces, this.input);
      const rows = pieces.some((p) => p.cursor.meta.inline) ? await this.input.filtered(merged) : merged;
      yield* this.input.cut(rows, target);
      target = Math.min(this.input.batchRows, Math.max(target * 4, rows.length));
      // Only now: whoever wants no more does not wait for the next block.
      await this.advance();
    }
  }

  /**
   * The same rows without their being merged: each step has pieces whose rows are in order, and no row of a later step
   * comes before one of them. Not for scans with a filter.
   */
  async *steps(): AsyncGenerator<readonly Vector[]> {
    for (let step = await this.next(this.input.batchRows); step; step = await this.next(this.input.batchRows)) {
      if ('run' in step) yield [step.run];
      else {
        yield step.pieces.map((piece) => piece.rows);
        await this.advance();
      }
    }
  }

  /** What comes next: rows that are in order as they are, or pieces that are to be merged; undefined at the end. */
  private async next(
    target: number,
  ): Promise<{ readonly run: Vector } | { readonly pieces: readonly Piece[] } | undefined> {
    for (;;) {
      this.input.options.signal?.throwIfAborted();
      let next = await this.input.peek();
      if (this.cursors.length === 0) {
        if (!next) return undefined;
        const run = this.tinyRun(target);
        if (run) return { run };
        await this.openNext();
        next = await this.input.peek();
      }
      while (next?.inline && this.heldRows < target && this.inlineBytes < batchBytes) {
        await this.openNext();
        next = await this.input.peek();
      }
      if (this.cursors.length === 0) continue;
      let pieces = this.takePieces(next);
      while (pieces.length === 0 && next) {
        await this.openNext();
        next = await this.input.peek();
        pieces = this.takePieces(next);
      }
      return { pieces };
    }
  }

  /**
   * Rows of the next objects, as long as each holds one plain record and ends before the one behind it begins: they are
   * in order as they come.
   */
  private tinyRun(target: number): Vector | undefined {
    for (
      let meta = this.input.next;
      meta && this.input.tiny.count < target && !this.input.isTinyFull;
      meta = this.input.next
    ) {
      const { following } = this.input;
      if (
        following ? this.input.compare(this.input.startOf(following), this.input.endOf(meta)) <= 0 : this.input.hasPages
      )
        break;
      if (!this.input.takesTiny(meta)) break;
      this.input.step();
    }
    return this.input.tiny.count > 0 ? this.input.tiny.take() : undefined;
  }

  /** Opens the next object of the list and reads its first block; nothing if the pruner rules all of it out. */
  private async openNext(): Promise<void> {
    const meta = this.input.next!;
    this.input.step();
    const following = await this.input.peek();
    const withKeys =
      (this.furthestEnd !== undefined && this.input.compare(this.furthestEnd, this.input.startOf(meta)) >= 0) ||
      (following !== undefined && this.input.compare(this.input.startOf(following), this.input.endOf(meta)) <= 0);
    const reader = await this.input.open(meta);
    const first = this.input.nextBlock(reader, 0);
    if (first < 0) return;
    const cursor: Cursor = {
      meta,
      reader,
      withKeys,
      ahead: new ReadAhead(this.input, withKeys ? this.keyedScanner : this.scanner),
      block: -1,
      rows: noRows,
      keys: [],
      at: 0,
      firstKey: noKey,
      lastKey: noKey,
      next: first,
      skip: 0,
    };
    if (!(await this.load(cursor))) return;
    this.cursors.push(cursor);
    this.inlineBytes += meta.inline?.length ?? 0;
    this.reach(meta);
  }
  private reach(meta: ObjectMeta): void {
    const end = this.input.endOf(meta);
    if (!this.furthestEnd || this.input.compare(end, this.furthestEnd) > 0) this.furthestEnd = end;
  }

  /** Reads the cursor's next block with wanted rows; false if there is none. */
  private async load(cursor: Cursor): Promise<boolean> {
    const { reader, withKeys } = cursor;
    const scanner = withKeys ? this.keyedScanner : this.scanner;
    while (cursor.next >= 0) {
      this.input.options.signal?.throwIfAborted();
      if (!withKeys && !cursor.meta.inline && (await this.loadFirst(cursor))) return true;
      // Rows of small objects are told apart by their places, so all of them come.
      const number = cursor.next;
      cursor.ahead.from(reader, number);
      const all = cursor.meta.inline ? await scanner.all(reader, number) : await scanner.inOrder(reader, number);
      const rows = all && this.wanted(cursor, number, all);
      cursor.next = this.input.nextBlock(reader, number + 1);
      cursor.skip = 0;
      if (!rows) continue;
      const { firstKey, lastKey } = reader.blocks[number]!;
      Object.assign(cursor, { rows, block: number, at: 0, firstKey, lastKey } satisfies Partial<Cursor>);
      this.heldRows += rows.length;
      if (!withKeys) return true;
      cursor.keys = this.input.source.keys.map((path) => keyColumn(rows, path));
      if (this.input.projection) cursor.rows = projectRows(rows, this.input.projection);
      // Stored keys may be cut; where rows are merged the bound must be exact.
      if (lastKey.length >= longKey) cursor.lastKey = sortKeyBytes(valueAt(cursor.keys[0]!, rows.length - 1));
      return true;
    }
    return false;
  }

  /** The rows of a block that are still to come. */
  private wanted({ reader, skip }: Cursor, block: number, all: Vector): Vector {
    const without = this.input.options.without?.(reader.id);
    const index = without && rowsLeft(reader, block, without);
    if (index) return wantedRows({ rows: all, index });
    return skip > 0 ? cutOut(all, skip, all.length) : all;
  }

  /** Reads the first rows of the first block, which mostly are all that is wanted; the block stays the next one. */
  private async loadFirst(cursor: Cursor): Promise<boolean> {
    const { reader, next } = cursor;
    const { rows: count, firstKey, lastKey } = reader.blocks[next]!;
    const most = this.firstRows;
    this.firstRows = 0;
    if (most === 0 || most >= count) return false;
    const rows = await this.scanner.first(reader, next, most);
    Object.assign(cursor, { rows, block: next, at: 0, firstKey, lastKey, skip: most } satisfies Partial<Cursor>);
    this.heldRows += most;
    return true;
  }

  /** Cuts off the rows that nothing unread can come before. */
  private takePieces(next: ObjectMeta | undefined): readonly Piece[] {
    let bound: Uint8Array | undefined;
    let strict = false;
    for (const c of this.cursors)
      if (c.next >= 0 && (!bound || this.input.compare(c.lastKey, bound) < 0)) bound = c.lastKey;
    if (next && (!bound || this.input.compare(this.input.startOf(next), bound) <= 0)) {
      bound = this.input.startOf(next);
      // Equal keys of small objects wait for one another, within reason.
      strict = next.inline !== undefined && this.heldRows < tieRowsMax;
    }
    const step = this.stepEnd();
    if (step && (!bound || this.input.compare(step, bound) < 0)) {
      bound = step;
      strict = false;
    }
    const pieces: Piece[] = [];
    for (const cursor of this.cursors) {
      const end = bound ? this.rowsBefore(cursor, bound, strict) : cursor.rows.length;
      if (end <= cursor.at) continue;
      const { at: start, rows, keys, block, firstKey, lastKey } = cursor;
      pieces.push({
        cursor,
        block,
        start,
        end,
        rows: slice(rows, start, end),
        keys: keys.map((k) => slice(k, start, end)),
        firstKey,
        lastKey,
      });
      cursor.at = end;
      this.heldRows -= end - start;
    }
    return pieces;
  }

  /** Many rows of objects that overlap are merged some at a time: the last key of a step; undefined for few. */
  private stepEnd(): Uint8Array | undefined {
    const most = this.stepRows();
    if (this.heldRows <= most) return undefined;
    const cursors = this.cursors.filter((c) => c.keys.length > 0);
    const rows = Math.max(stepRowsMin, Math.floor(most / cursors.length));
    let least: Uint8Array | undefined;
    for (const c of cursors.length > 1 ? cursors : []) {
      if (c.at + rows > c.rows.length) continue;
      const key = sortKeyBytes(valueAt(c.keys[0]!, c.at + rows - 1));
      if (!least || this.input.compare(key, least) < 0) least = key;
    }
    return least;
  }

  /** Rows of a step at most. */
  private stepRows(): number {
    // What some columns take of the whole is not known.
    if (this.input.options.columns) return stepRows;
    let bytes = 0;
    let count = 0;
    for (const { meta } of this.cursors) {
      bytes += meta.size;
      count += meta.count;
    }
    return Math.min(stepRows, Math.ceil((stepBytes * count) / Math.max(1, bytes)));
  }

  /** The end of the cursor's rows that come before the bound, or with it unless `strict`. */
  private rowsBefore(cursor: Cursor, bound: Uint8Array, strict: boolean): number {
    const within = (key: Uint8Array): boolean =>
      strict ? this.input.compare(key, bound) < 0 : this.input.compare(key, bound) <= 0;
    if (within(cursor.lastKey)) return cursor.rows.length;
    if (cursor.at === 0 && !within(cursor.firstKey)) return 0;
    // Without keys the object overlaps no other, so a bound inside it can only be its own.
    if (!cursor.withKeys) return cursor.at;
    let low = cursor.at;
    let high = cursor.rows.length;
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
        if (!(await this.load(cursor))) {
          this.inlineBytes -= cursor.meta.inline?.length ?? 0;
          continue;
        }
      }
      rest.push(cursor);
      this.reach(cursor.meta);
    }
    this.cursors = rest;
  }
}

const noKey = new Uint8Array(0);
/** Stored keys of this length may be cut (vectors/sort-key.ts). */
const longKey = 255;
