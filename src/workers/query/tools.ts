/** What a worker's tasks share, and the objects that it reads with them. */
import type { ExecutionContext } from '../../exec/context.ts';
import { type ReadOptions } from '../../formats/formats.ts';
import { ColumnCache } from '../../lake/columns/cache.ts';
import type { ReaderCache, ScanSource } from '../../lake/scan/scan.types.ts';
import { isInRange } from '../../lake/scan/range.ts';
import type { ObjectReader } from '../../lake/objects/reader.ts';
import type { QueryShares, ShareSizes } from '../../lake/scan/shares.ts';
import type { ObjectStore } from '../../lake/objects/objects.ts';
import type { FromPolicy } from '../from/policy.ts';
import type { PoolLayout } from '../messages.ts';
import { type LoadBudget } from '../load/task.ts';
import { unpackPage } from '../packed-page.ts';
import type { Task } from '../task.ts';
import type { KnownPlans } from './plans.ts';

/** Opened objects that a worker keeps for later scans: footers and dictionaries, no rows. */
const readersMax = 256;

/** A reader that holds more than this share of the budget gives way as soon as another one is open. */
const largeShare = 0.5;
/**
 * The last readers used. What they hold is of the columns' budget, and their columns go with them.
 *
 * Invariant: readers of the latest scan do not give way to a new one, which then is not kept, unless they hold more than
 * `largeShare` of the budget. (Were it always the oldest, a scan of more objects than there is room for would find none of
 * them again.)
 */
export class ReaderList implements ReaderCache {
  readonly columns: ColumnCache;
  private readonly bytesMax: number;
  private charged = 0;
  /** `bytesMax`: what the readers hold together, if there are several. */
  constructor(columns: ColumnCache, bytesMax = Infinity) {
    this.columns = columns;
    this.bytesMax = bytesMax;
  }
  /** What the readers hold, as of the last look, and their columns. */
  get bytes(): number {
    return this.charged + this.columns.bytes;
  }
  /** Least recently used first. */
  private readonly readers = new Map<string, { readonly reader: ObjectReader; readonly scan: number }>();
  get(id: string): ObjectReader | undefined {
    const known = this.readers.get(id);
    if (!known) return undefined;
    this.readers.delete(id);
    this.use(id, known.reader);
    return known.reader;
  }
  set(id: string, reader: ObjectReader): void {
    this.use(id, reader);
    this.trim();
  }
  private use(id: string, reader: ObjectReader): void {
    this.readers.set(id, { reader, scan: this.columns.scans });
  }
  /** The object is gone. */
  forget(id: string): void {
    const known = this.readers.get(id);
    if (!known) return;
    this.drop(id, known.reader);
    this.trim();
  }
  /** Gives up what is too much, and charges the rest: readers hold more as they are used. */
  trim(): void {
    let held = 0;
    for (const { reader } of this.readers.values()) held += reader.heldBytes;
    for (const [id, reader] of this.victims()) {
      if (this.readers.size === 1 || (this.readers.size <= readersMax && held <= this.bytesMax)) break;
      held -= reader.heldBytes;
      this.drop(id, reader);
    }
    if (held !== this.charged) this.columns.lend(held - this.charged);
    this.charged = held;
  }
  /**
   * In the order in which they give way: large ones but for the newest; then those of earlier scans, the oldest first;
   * then those of the latest scan, the newest first.
   */
  private *victims(): Generator<readonly [string, ObjectReader]> {
    const [...known] = this.readers;
    for (const [id, { reader }] of known.slice(0, -1))
      if (reader.heldBytes > this.bytesMax * largeShare) yield [id, reader];
    for (const [id, { reader, scan }] of this.readers) if (scan < this.columns.scans) yield [id, reader];
    for (const [id, { reader }] of [...this.readers].reverse()) yield [id, reader];
  }
  private drop(id: string, reader: ObjectReader): void {
    this.readers.delete(id);
    this.columns.forget(reader);
  }
}

/** What a worker has for all of its tasks: the lake's objects, what it keeps of them, budgets and limits. */
export interface WorkerTools {
  readonly objects: ObjectStore;
  /** Compactions compress what they write. */
  readonly compressesCompacted: boolean;
  readonly readers: ReaderList;
  readonly budget: LoadBudget;
  readonly plans: KnownPlans;
  readonly batchRows: number;
  readonly queryMemoryBytesMax: number;
  readonly recursion: NonNullable<ExecutionContext['recursion']>;
  /** From where indexes count in texts that do not say it. */
  readonly indexBase?: 0 | 1;
  readonly thread: { readonly index: number; readonly of: number };
  /** How many tasks this thread has begun so far. */
  readonly begun: () => number;
  readonly shareSizes: QueryShares;
  readonly outputShares: ShareSizes;
  /** What queries may read besides pools. */
  readonly from: FromPolicy;
  /** What readers take at most, also of what is compressed. */
  readonly readLimits: ReadOptions;
}

/** The objects of a resolved pool source. */
export const poolSource = (
  task: Task,
  handle: string,
  layout: Pick<PoolLayout, 'keys' | 'order'>,
  { objects, readers }: WorkerTools,
): ScanSource => ({ ...layout, objects, readers, page: pagesOf(task, handle) });

/** Asks for pages, unless all objects have come along with the task. */
const pagesOf = (task: Task, handle: string): ScanSource['page'] => {
  const packed = task.prefetched.find((f) => f.source.handle === handle)?.objects;
  if (!packed) return async (page) => unpackPage(await task.call({ kind: 'page', handle, page }));
  const { objects } = unpackPage(packed);
  return ({ range, cursor = 0 }) => ({
    objects: objects
      .slice(cursor)
      .filter((o) => !range || isInRange({ firstKey: o.min.sort, lastKey: o.max.sort }, range, false)),
  });
};
