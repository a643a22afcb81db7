/**
 * Batches to sorted data objects. What does not fit the memory that is allowed is sorted in runs, which wait in
 * temporary files and are merged in the end.
 *
 * Invariants:
 * - Objects hold the rows in the order of the pool's keys, and none overlaps the next one but for equal keys;
 *   `threshold` bounds an object, never a buffer.
 * - When the promise resolves, every object is durable or inline. When it rejects, no file of it is left.
 */
import { concat } from '../../vectors/concat.ts';
import { addedSize, heldSize } from '../../vectors/shown-size.ts';
import { nullSortKey, sortKeyBytes } from '../../vectors/sort-key.ts';
import { bufferOf } from '../../vectors/transfer.ts';
import { working } from '../../vectors/stop.ts';
import { compareBytes } from '../../vectors/value.ts';
import { type Vector, valueAt } from '../../vectors/vector.ts';
import type { ObjectMeta } from '../lake.types.ts';
import { type RunPart, type RunSource, RunWriter, SpilledRun, halvesOf, mergeRuns, rowsInOrder } from './runs.ts';
import { LoadShapes, type ShapeLimits } from './shapes.ts';
import { ObjectCutter, type SortKeys, type SortedObjects } from '../objects/cutter.ts';
import { blockRowsMax } from '../objects/format.ts';
import type { ObjectStore } from '../objects/objects.ts';
import { scanObjects } from '../scan/scan.ts';
import { byBytes, inKeyOrder, keyColumn, sortColumn, sortRows } from './sort-rows.ts';

export type { ShapeLimits } from './shapes.ts';

/** What a load sorts by, what it may take of memory, and where its objects and runs go. */
export interface LoadSortOptions extends SortKeys {
  /** Bytes: about where an object is cut. */
  readonly threshold: number;
  /** Bytes of vectors that may wait in memory. */
  readonly memoryBytesMax: number;
  readonly objects: ObjectStore;
  /** Makes a folder for sorted runs; called when the first one is needed. The caller removes it. */
  readonly spill: () => ObjectStore;
  /** Gets another thread that merges half of what was sorted in runs; undefined if there is none. */
  readonly mergeHelper?: () => Promise<MergeHelper | undefined>;
  /** Default: none. */
  readonly shapeLimits?: ShapeLimits;
  /** Awaited before a load holds very many shapes. */
  readonly manyShapes?: () => Promise<void>;
  /** Told of batches whose rows were copied, and that are not looked at any more. */
  readonly copied?: (batch: Vector) => void;
  readonly signal?: AbortSignal;
  /** Called between pieces of work: lets others have their turn, throws when the load was given up. */
  readonly breathe?: () => Promise<void>;
  /** Called when all runs are sorted; what comes is their merging, if there are several, and syncing. */
  readonly sorted?: () => void;
}

/** Parts of runs that become objects. The runs are in the folder of the load's spill. */
export interface MergeJob extends SortKeys {
  readonly threshold: number;
  readonly runs: readonly RunPart[];
  readonly rows: number;
  readonly bytesPerRow: number;
}
/** Another thread that merges. */
export interface MergeHelper {
  /** Called once. When it rejects, no file is left. */
  merge(job: MergeJob): Promise<SortedObjects>;
  /** Makes the merge end soon, if it has not ended. */
  stop(): void;
  close(): void;
}

/**
 * Up to so many rows, those that tie in the keys are ordered by their bytes; in larger loads they stay in the order
 * they came.
 */
const tieRowsMax = 8192;
/** And up to so many bytes: each of the rows is there again then, and those that tie once more. */
const tieBytesMax = 16 << 20;
/** Rows that come in order go on when so many bytes are held, half of them at least. */
const flowBytes = 16 << 20;

/** Shapes and columns that are no trouble in several loads at once. */
const manyShapes = 10_000;

/**
 * Sorts rows that come one batch at a time: after `finish`, or `abort`, it is over. What `add` or `finish` throws is to
 * be followed by `abort`.
 */
export type LoadSorter = Pick<Sorter, 'add' | 'finish' | 'abort'>;
/** Begins to sort. */
export const openSort = (options: LoadSortOptions): LoadSorter => new Sorter(options);

/** Sorts all rows and writes them as objects. */
export const sortIntoObjects = async (
  batches: AsyncIterable<Vector>,
  options: LoadSortOptions,
): Promise<SortedObjects> => {
  const sorter = new Sorter(options);
  const shapes = options.shapeLimits && new LoadShapes(options.shapeLimits);
  try {
    for await (const batch of batches) {
      options.signal?.throwIfAborted();
      sorter.work(() => {
        shapes?.add(batch);
      });
      if (shapes && shapes.count > manyShapes) await options.manyShapes?.();
      await sorter.add(batch);
    }
    return await sorter.finish();
  } catch (error) {
    await sorter.abort();
    throw error;
  }
};

/** Merges parts of the runs in `spill` into objects. */
export const mergeIntoObjects = async (
  job: MergeJob,
  {
    objects,
    spill,
    breathe,
  }: { readonly objects: ObjectStore; readonly spill: ObjectStore; readonly breathe: () => Promise<void> },
): Promise<SortedObjects> => {
  const cutter = new ObjectCutter(job, objects, job.threshold);
  cutter.expect(job.rows, job.bytesPerRow);
  try {
    for await (const piece of mergeRuns(
      job.runs.map((part) => new SpilledRun(spill, part, true)),
      job,
    )) {
      cutter.add(piece);
      await breathe();
    }
    return await cutter.finish();
  } catch (error) {
    await cutter.abort();
    throw error;
  }
};

/**
 * A run in order, with the keys of its ends. `isLocal`: no row came far from its place, so that the next run may well
 * begin behind this one.
 */
interface Run {
  readonly isLocal: boolean;
  readonly pieces: Iterable<Vector>;
  readonly rows: number;
  readonly first: Uint8Array;
  readonly last: Uint8Array;
}

/** A merge of which another thread does half. */
interface Shared {
  readonly helper: MergeHelper;
  readonly merged: Promise<SortedObjects>;
  readonly ours: readonly RunSource[];
}
/** Less than this is merged sooner than another thread has begun. */
const sharedBytesMin = 16 << 20;

/**
 * Gathers rows up to the memory that is allowed. As long as each run begins behind the one before, runs go straight
 * into objects, and data that is in order is written once. The first run that does not turns these objects into one
 * more run of the merge.
 */
class Sorter {
  private readonly options: LoadSortOptions;
  private cutter: ObjectCutter;
  private held: Vector[] = [];
  private heldBytes = 0;
  private heldRows = 0;
  /** Last key that went straight into an object. */
  private lastKey: Uint8Array | undefined;
  private spill: ObjectStore | undefined;
  private readonly spilled: SpilledRun[] = [];
  private totalBytes = 0;
  private totalRows = 0;
  /** The batches that are held are in order, each behind the one before. */
  private inOrder = true;
  private heldLast: Vector | undefined;
  /** Rows went on before memory was full. */
  private flowed = false;
  private shared: Shared | undefined;
  /** Objects written before the rows were found to be out of order. */
  private early: readonly ObjectMeta[] = [];

  constructor(options: LoadSortOptions) {
    this.options = options;
    this.cutter = new ObjectCutter(options, options.objects, options.threshold);
  }

  /** Does a piece of the load's work, which its account is charged for. */
  work<T>(work: () => T): T {
    return this.options.signal ? working(this.options.signal, work) : work();
  }

  async add(batch: Vector): Promise<void> {
    if (batch.length === 0) return;
    this.held.push(batch);
    this.heldBytes += heldSize(batch);
    this.heldRows += batch.length;
    if (this.inOrder) this.inOrder = this.work(() => this.keepsOrder(batch));
    if (this.heldBytes >= this.options.memoryBytesMax) await this.endRun();
    else if (this.inOrder && !this.spill && this.heldBytes >= flowBytes && this.totalRows + this.heldRows > tieRowsMax)
      await this.flow();
  }

  /**
   * What is in order goes on before memory is full, but for the last batches: rows may still come that belong a little
   * further ahead.
   */
  private async flow(): Promise<void> {
    const ending = this.held;
    const keep = flowBytes / 2;
    let bytes = 0;
    let from = ending.length;
    while (from > 0 && bytes < keep) bytes += heldSize(ending[--from]!);
    if (from === 0) return;
    const kept = ending.slice(from);
    this.held = ending.slice(0, from);
    this.heldBytes -= bytes;
    this.heldRows -= kept.reduce((n, b) => n + b.length, 0);
    const last = this.heldLast;
    this.flowed = true;
    await this.endRun();
    this.heldLast = last;
    this.held = kept;
    this.heldBytes = bytes;
    this.heldRows = kept.reduce((n, b) => n + b.length, 0);
    if (this.spill) this.inOrder = false;
  }

  /** Whether a batch is in order and behind the last one that is held. */
  private keepsOrder(batch: Vector): boolean {
    const { keys, order } = this.options;
    const last = this.heldLast;
    this.heldLast = batch;
    return inKeyOrder(last, batch, keys, order === 'desc');
  }

  async finish(): Promise<SortedObjects> {
    if (this.heldRows > 0) await this.endRun(true);
    this.options.sorted?.();
    const { spill } = this;
    const theirs = spill && (await this.shareOut(spill));
    if (spill) {
      const rows = theirs ? this.totalRows / 2 : this.totalRows;
      this.cutter.expect(rows, this.totalBytes / this.totalRows);
      for await (const piece of mergeRuns(theirs?.ours ?? this.runs(), this.options))
        await this.cut(this.cutter, piece);
    }
    const done = await this.cutter.finish();
    await this.removeEarly();
    if (!theirs) return done;
    const rest = await theirs.merged;
    theirs.helper.close();
    return {
      objects: [...done.objects, ...rest.objects],
      records: done.records + rest.records,
      bytes: done.bytes + rest.bytes,
    };
  }

  private runs(): readonly RunSource[] {
    return this.early.length > 0 ? [this.earlyRun(), ...this.spilled] : this.spilled;
  }

  /** Gives half of what is to be merged to another thread. */
  private async shareOut(spill: ObjectStore): Promise<Shared | undefined> {
    const { keys, order, threshold, mergeHelper } = this.options;
    if (!mergeHelper || this.early.length > 0 || this.totalBytes < sharedBytesMin) return undefined;
    const halves = await halvesOf(this.spilled, this.options);
    const helper = halves && (await mergeHelper());
    if (!helper) return undefined;
    const merged = helper.merge({
      keys,
      order,
      threshold,
      runs: halves[1],
      rows: this.totalRows / 2,
      bytesPerRow: this.totalBytes / this.totalRows,
    });
    merged.catch(() => undefined);
    return (this.shared = { helper, merged, ours: halves[0].map((part) => new SpilledRun(spill, part, true)) });
  }

  async abort(): Promise<void> {
    this.shared?.helper.stop();
    await this.cutter.abort();
    await this.removeEarly();
    if (!this.shared) return;
    const { helper, merged } = this.shared;
    // What the other thread has finished is ours to remove.
    const { objects } = await merged.catch(() => ({ objects: [] as const }));
    for (const { id, inline } of objects) if (!inline) await this.options.objects.delete(id);
    helper.close();
  }

  private async removeEarly(): Promise<void> {
    for (const { id, inline } of this.early) if (!inline) await this.options.objects.delete(id);
    this.early = [];
  }

  /** `isLast`: the load ends with it. */
  private async endRun(isLast = false): Promise<void> {
    const inOrder = this.inOrder && (this.flowed || this.totalRows + this.heldRows > tieRowsMax);
    const run = this.work(() =>
      inOrder
        ? runAsIs(this.held, this.heldRows, this.options)
        : sortedRun(this.held, this.heldRows, !this.flowed, this.options),
    );
    const bytesPerRow = this.held.reduce((n, batch) => n + addedSize(batch), 0) / this.heldRows;
    // Their buffers are freed by hand; other batches go as soon as nobody looks at them.
    const packed = this.held.filter((batch) => bufferOf(batch) !== undefined);
    this.totalBytes += this.heldBytes;
    this.totalRows += this.heldRows;
    this.held = [];
    this.heldBytes = this.heldRows = 0;
    this.inOrder = !this.spill;
    this.heldLast = undefined;
    if (!this.spill && (isLast || run.isLocal) && this.follows(run)) {
      // Of those of later runs nobody knows yet how many they are.
      this.cutter.expect(isLast ? run.rows : Infinity, bytesPerRow);
      for (const piece of this.piecesOf(run)) await this.cut(this.cutter, piece);
      this.lastKey = run.last;
      return;
    }
    if (!this.spill && this.lastKey) {
      this.early = (await this.cutter.finish()).objects;
      this.cutter = new ObjectCutter(this.options, this.options.objects, this.options.threshold);
    }
    this.spill ??= this.options.spill();
    const writer = new RunWriter(this.spill, {
      keys: this.options.keys,
      bytesPerRow,
      memoryBytesMax: this.options.memoryBytesMax,
    });
    try {
      for (const piece of this.piecesOf(run)) {
        this.work(() => {
          writer.add(piece);
        });
        await this.options.breathe?.();
      }
      this.spilled.push(await writer.finish());
      for (const batch of packed) this.options.copied?.(batch);
    } catch (error) {
      await writer.abort();
      throw error;
    }
  }

  private follows(run: Run): boolean {
    if (!this.lastKey) return true;
    const order = compareBytes(this.lastKey, run.first) * (this.options.order === 'asc' ? 1 : -1);
    return order < 0 || (order === 0 && this.options.keys.length === 1);
  }

  private async cut(cutter: ObjectCutter, piece: Vector): Promise<void> {
    this.work(() => {
      cutter.add(piece);
    });
    await this.options.breathe?.();
  }
  private *piecesOf({ pieces }: Run): Generator<Vector> {
    const iterator = pieces[Symbol.iterator]();
    for (;;) {
      const next = this.work(() => iterator.next());
      if (next.done) return;
      yield next.value;
    }
  }

  /** What went straight into objects, to be merged with the rest. */
  private earlyRun(): RunSource {
    const { keys, order, objects, signal } = this.options;
    const { early } = this;
    const rows = scanObjects(
      { keys, order, objects, page: () => ({ objects: early }) },
      { ordered: true, batchRows: blockRowsMax, signal },
    )[Symbol.asyncIterator]();
    return { next: async () => (await rows.next()).value as Vector | undefined };
  }
}

/** The rows in order. Batches that are in order already are not copied into one. */
const sortedRun = (held: Vector[], rows: number, isWhole: boolean, options: SortKeys): Run => {
  const bytes = isWhole && rows <= tieRowsMax ? held.reduce((n, batch) => n + heldSize(batch), 0) : Infinity;
  const { keys, order, pieces } = inOrder(held, rows, bytes, options);
  const keyAt = (row: number): Uint8Array => (keys[0] ? sortKeyBytes(valueAt(keys[0], row)) : nullSortKey);
  return {
    rows,
    isLocal: !order || rows <= tieRowsMax || isLocal(order),
    pieces,
    first: keyAt(order?.[0] ?? 0),
    last: keyAt(order?.[rows - 1] ?? rows - 1),
  };
};
interface Ordered {
  readonly keys: readonly Vector[];
  readonly order: Uint32Array | undefined;
  readonly pieces: Iterable<Vector>;
}
/** `bytes`: of all rows of a load while they wait; Infinity where they are part of one. */
const inOrder = (held: Vector[], rows: number, bytes: number, options: SortKeys): Ordered => {
  const keys = options.keys.map((path) => concat(held.map((b) => keyColumn(b, path))));
  const ties = rows > 1 && rows <= tieRowsMax && bytes <= tieBytesMax ? byBytes(concat(held)) : undefined;
  const order =
    rows === 1 ? undefined : sortRows(keys.map(sortColumn), rows, { descending: options.order === 'desc', ties });
  return { keys, order, pieces: order ? rowsInOrder(held, order) : held };
};
/** All rows of a load that is small, in order. `bytes`: that they take while they wait. */
export const wholeInOrder = (held: Vector[], rows: number, bytes: number, options: SortKeys): Iterable<Vector> =>
  rows === 1 ? held : inOrder(held, rows, bytes, options).pieces;
/** Part of a run by which a row may be off its place. */
const localPart = 0.25;
const isLocal = (order: Uint32Array): boolean => {
  const most = order.length * localPart;
  for (let i = 0; i < order.length; i++) if (Math.abs(order[i]! - i) > most) return false;
  return true;
};
/** Batches that are in order. */
const runAsIs = (held: readonly Vector[], rows: number, { keys }: SortKeys): Run => {
  const keyAt = (batch: Vector, row: number): Uint8Array =>
    keys[0] ? sortKeyBytes(valueAt(keyColumn(batch, keys[0]), row)) : nullSortKey;
  const last = held.at(-1)!;
  return { rows, isLocal: true, pieces: held, first: keyAt(held[0]!, 0), last: keyAt(last, last.length - 1) };
};
