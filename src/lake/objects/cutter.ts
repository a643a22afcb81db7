/**
 * Rows in order to data objects: cut into blocks and objects, small ones inline, others into files.
 *
 * Invariants:
 * - `threshold` bounds an object, never a buffer; a block ends by what its rows add.
 * - When the end resolves, every object is durable or inline; `abort` leaves no file.
 */
import { concat } from '../../vectors/concat.ts';
import { joinBytes } from '../../vectors/texts/join-bytes.ts';
import { lowerBound, nullSortKey, sortKeyBytes, upperBound } from '../../vectors/sort-key.ts';
import { addedSize, heldSize } from '../../vectors/shown-size.ts';
import { supText } from '../../vectors/sup/print.ts';
import { types } from '../../vectors/type.ts';
import { type Value, isMissing, nullValue, underValue } from '../../vectors/value.ts';
import { vectorsIn } from '../../vectors/sizes.ts';
import { type Vector, slice, valueAt } from '../../vectors/vector.ts';
import type { KeptRows, StoredBlock } from '../columns/kept.ts';
import { newId } from '../ksuid.ts';
import type { Id, KeyBound, ObjectMeta, SortOrder } from '../lake.types.ts';
import { blockRowsMax, inlineBytesMax } from './format.ts';
import { ObjectWriter } from './writer.ts';
import type { ObjectSink, ObjectStore } from './objects.ts';
import type { OriginTrail } from './origins.ts';
import { keyColumn } from '../load/sort-rows.ts';

/** The order of the rows: paths of the key fields, the first one first. */
export interface SortKeys {
  readonly keys: readonly (readonly string[])[];
  readonly order: SortOrder /** Rows of a block at most; default: as many as its format allows. */;
  readonly blockRows?: number;
  /** The rows are of an object, whose columns have dictionaries where these pay. */
  readonly keepsEncodings?: boolean;
  /** Objects are to lie still: their segments are compressed where that pays. */
  readonly compressed?: boolean;
  /** Knows of all rows that were given where they come from. */
  readonly origins?: OriginTrail;
}
/** The objects of a load in their order, with their rows and encoded bytes in sum. */
export interface SortedObjects {
  readonly objects: readonly ObjectMeta[];
  readonly records: number;
  readonly bytes: number;
}

/**
 * After so many objects of one load its threshold doubles, from `raisedBytesMin` on: a tiny threshold does not make a
 * million objects.
 */
const objectsPerRaise = 1000;
const raisedBytesMin = 1024;
/**
 * A block takes no more bytes in memory than this, unless a single row does: with wide rows it is the bytes that the
 * first row of a block waits for.
 */
const blockBytesMax = 6 << 20;
/**
 * An object ends with the block from which its footer has so many bytes: shapes that change with each block make long
 * ones, which readers hold.
 */
const footerBytesMax = 1 << 20;
/**
 * A block of rows of many shapes ends with the row from which it is of so many columns: whoever reads it holds all of
 * them at once, some hundred bytes each, however few its rows. Of 500 rows of 500 fields of names of their own a scan
 * held 125 MB in one block.
 */
const blockColumnsMax = 16_384;

/** Part of a block's rows from which it may end between two batches. */
const nearlyFull = 0.75;

/** Part of a block's rows from which a block stays one by itself. */
const halfFull = 0.5;

/** Cuts rows that come in order into blocks and objects, small ones inline, others into files. */
export class ObjectCutter {
  private readonly options: SortKeys;
  private readonly store: ObjectStore;
  private threshold: number;
  private readonly done: ObjectMeta[] = [];
  private readonly closing: Promise<void>[] = [];
  private rowsExpected = 0;
  /** Rows of the objects that are done. */
  private rowsDone = 0;
  private held: Vector[] = [];
  private heldRows = 0;
  private bytesPerRow = 100;
  private object: OpenObject | undefined;
  private readonly files: Id[] = [];

  constructor(options: SortKeys, store: ObjectStore, threshold: number) {
    this.options = options;
    this.store = store;
    this.threshold = threshold;
  }

  /**
   * Rows that will come, about, and what a row takes in memory (views cannot tell: they share what they were cut from).
   */
  expect(rows: number, bytesPerRow: number): void {
    this.rowsExpected = rows;
    this.bytesPerRow = Math.max(1, bytesPerRow);
  }

  /** Appends rows. */
  add(batch: Vector): void {
    const rowsMax = this.blockRows();
    // Nearly a block: that much goes as it came, without being put together.
    if (this.heldRows >= rowsMax * nearlyFull && this.heldRows + batch.length > rowsMax) this.block();
    for (let start = 0; start < batch.length; ) {
      const full = Math.min(batch.length, start + Math.max(1, rowsMax - this.heldRows));
      const end = manyColumnsEnd(batch, start, full) ?? full;
      this.held.push(slice(batch, start, end));
      this.heldRows += end - start;
      if (this.heldRows >= rowsMax || end < full) this.block();
      start = end;
    }
  }

  /** Whether so many rows of a block of the object that the rows are of are a block by themselves. */
  mayKeep(rows: number): boolean {
    const least = this.blockRows() * halfFull;
    return this.options.keepsEncodings === true && rows >= least && (this.heldRows === 0 || this.heldRows >= least);
  }
  /**
   * Appends such a block without some of its rows, copied as it is stored; `ends`: keys of the first and the last row
   * that stay. False: its rows are to be added.
   */
  keep(stored: StoredBlock, kept: KeptRows, ends: readonly [Value, Value]): boolean {
    this.block();
    this.object ??= new OpenObject(this.store, this.rowsExpected, this.options);
    if (!this.object.keep(stored, kept, ends)) return false;
    this.added(kept.count);
    return true;
  }

  /** Ends the last object and waits until all are durable. */
  async finish(): Promise<SortedObjects> {
    return this.end();
  }
  /** The same; at once if no object has a file. */
  end(): SortedObjects | Promise<SortedObjects> {
    this.block();
    this.endObject();
    return this.closing.length === 0 ? this.ended() : Promise.all(this.closing).then(() => this.ended());
  }
  private ended(): SortedObjects {
    let records = 0;
    let bytes = 0;
    for (const { count, size } of this.done) {
      records += count;
      bytes += size;
    }
    return { objects: this.done, records, bytes };
  }

  /** Removes what was written. */
  async abort(): Promise<void> {
    await this.object?.abort();
    this.object = undefined;
    await Promise.allSettled(this.closing);
    for (const id of this.files) await this.store.delete(id);
  }

  /** Rows of a block so that neither block nor object gets too large. */
  private blockRows(): number {
    return Math.max(
      1,
      Math.min(
        this.options.blockRows ?? blockRowsMax,
        Math.floor(Math.min(blockBytesMax, this.threshold) / this.bytesPerRow),
      ),
    );
  }

  private block(): void {
    if (this.heldRows === 0) return;
    const batch = concat(this.held);
    this.held = [];
    this.heldRows = 0;
    this.object ??= new OpenObject(this.store, this.rowsExpected, this.options);
    const column = keyColumn(batch, this.options.keys[0] ?? []);
    const first = valueAt(column, 0);
    const held = heldSize(batch);
    this.object.block(batch, { first, last: batch.length === 1 ? first : valueAt(column, batch.length - 1), held });
    // Rows in order may have more shapes in a block than they had as they came. What is added is no more than is held.
    const bytes = held > blockBytesMax ? addedSize(batch) : 0;
    if (bytes > blockBytesMax) this.bytesPerRow = Math.max(this.bytesPerRow, bytes / batch.length);
    this.added(batch.length);
  }
  private added(rows: number): void {
    const object = this.object!;
    this.rowsExpected = Math.max(0, this.rowsExpected - rows);
    if (object.size >= this.threshold || object.footerSize >= footerBytesMax) this.endObject();
  }

  private endObject(): void {
    if (!this.object) return;
    const start = this.rowsDone;
    this.rowsDone += this.object.count;
    const { meta, closed } = this.object.finish(this.options.origins?.bytes(start, this.rowsDone));
    this.object = undefined;
    this.done.push(meta);
    if (this.done.length % objectsPerRaise === 0) this.threshold = Math.max(raisedBytesMin, this.threshold * 2);
    if (!closed) return;
    this.files.push(meta.id);
    closed.catch(() => undefined);
    this.closing.push(closed);
  }
}

/** Where in [start, end) rows of many shapes have become too many columns; undefined if they have not. */
const manyColumnsEnd = (batch: Vector, start: number, end: number): number | undefined => {
  if ((batch.form !== 'dynamic' && batch.form !== 'record') || vectorsIn(batch) <= blockColumnsMax) return undefined;
  if (batch.form === 'record')
    return batch.fields.reduce<number | undefined>(
      (first, f) => manyColumnsEnd(f.values, start, first ?? end) ?? first,
      undefined,
    );
  const seen = new Uint8Array(batch.parts.length);
  let columns = 0;
  for (let i = start; i < end; i++) {
    const tag = batch.tags[i];
    if (seen[tag] === 1) continue;
    seen[tag] = 1;
    columns += vectorsIn(batch.parts[tag]);
    if (columns > blockColumnsMax) return i + 1;
  }
  return undefined;
};

/** Bytes that are gathered before they go to the file. */
const writeBytes = 256 << 10;

/** First and last key of a block, with their sort keys, and as it has them. */
interface BlockEnds {
  readonly first: Value;
  readonly last: Value;
  readonly start: Uint8Array;
  readonly end: Uint8Array;
  readonly keys: { readonly first: Uint8Array; readonly last: Uint8Array };
}

/** An object in work: in memory until it is too large to be inline. */
class OpenObject {
  readonly id = newId();
  private readonly store: ObjectStore;
  private readonly order: SortOrder;
  private readonly writer: ObjectWriter;
  private chunks: Uint8Array[] = [];
  private chunkBytes = 0;
  private sink: ObjectSink | undefined;
  private first: Value = nullValue;
  private last: Value = nullValue;
  private firstKey = nullSortKey;
  private lastKey = nullSortKey;
  private isEmpty = true;

  constructor(
    store: ObjectStore,
    rowsExpected: number,
    { order, keepsEncodings = false, compressed = store.compresses ?? false }: SortKeys,
  ) {
    this.store = store;
    this.order = order;
    this.writer = new ObjectWriter(
      (chunk) => {
        this.write(chunk);
      },
      { rowsExpected, keepsEncodings, compressed },
    );
  }

  get size(): number {
    return this.writer.size;
  }
  get footerSize(): number {
    return this.writer.footerSize;
  }
  get count(): number {
    return this.writer.count;
  }

  block(
    batch: Vector,
    { first, last, held }: { readonly first: Value; readonly last: Value; readonly held: number },
  ): void {
    const ends = this.endsOf(first, last);
    this.writer.block(batch, ends.keys, held);
    this.grew(ends);
  }
  /** False: it has to be decoded. */
  keep(stored: StoredBlock, kept: KeptRows, [first, last]: readonly [Value, Value]): boolean {
    const ends = this.endsOf(first, last);
    if (!this.writer.keep(stored, kept, ends.keys)) return false;
    this.grew(ends);
    return true;
  }
  private endsOf(first: Value, last: Value): BlockEnds {
    const ascending = this.order === 'asc';
    const start = sortKeyBytes(first);
    const end = last === first ? start : sortKeyBytes(last);
    return {
      first,
      last,
      start,
      end,
      keys: {
        first: ascending ? lowerBound(start) : upperBound(start),
        last: ascending ? upperBound(end) : lowerBound(end),
      },
    };
  }
  private grew({ first, last, start, end }: BlockEnds): void {
    if (this.isEmpty) {
      this.first = first;
      this.firstKey = start;
    }
    this.isEmpty = false;
    this.last = last;
    this.lastKey = end;
  }

  /** `closed` settles when a file is durable; inline objects have none. */
  finish(origins: Uint8Array | undefined): { readonly meta: ObjectMeta; readonly closed?: Promise<void> } {
    const { id, first, last, firstKey, lastKey } = this;
    const size = this.writer.finish({ ...(origins && { origins }), id });
    const { count } = this.writer;
    const [low, lowKey, high, highKey] =
      this.order === 'asc' ? ([first, firstKey, last, lastKey] as const) : ([last, lastKey, first, firstKey] as const);
    const min: KeyBound = { text: keyText(low), sort: lowerBound(lowKey) };
    const max: KeyBound =
      low === high && min.sort === highKey
        ? min
        : { text: low === high ? min.text : keyText(high), sort: upperBound(highKey) };
    if (!this.sink && size < inlineBytesMax)
      return { meta: { id, count, size, min, max, inline: joinBytes(this.chunks, new Uint8Array(size)) } };
    this.flush();
    return { meta: { id, count, size, min, max }, closed: this.sink!.close() };
  }

  async abort(): Promise<void> {
    await this.sink?.abort();
  }

  private write(chunk: Uint8Array): void {
    // A long one is not copied to be written with others.
    if (this.sink && chunk.length >= writeBytes / 4) {
      this.flush();
      this.sink.write(chunk);
      return;
    }
    this.chunks.push(chunk);
    this.chunkBytes += chunk.length;
    if (this.chunkBytes >= (this.sink ? writeBytes : inlineBytesMax)) this.flush();
  }
  private flush(): void {
    if (this.sink && this.chunkBytes === 0) return;
    this.sink ??= this.store.create(this.id);
    this.sink.write(joinBytes(this.chunks, new Uint8Array(this.chunkBytes)));
    this.chunks = [];
    this.chunkBytes = 0;
  }
}

/** A missing key counts as null, in its sort key too. */
const keyText = (value: Value): string => {
  const under = underValue(value);
  return supText(under.type === types.null || isMissing(under) ? nullValue : value);
};
