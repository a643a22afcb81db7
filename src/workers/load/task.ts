/** Loads: bytes of a body become sorted data objects that are durable or inline. Nothing is committed here. */
import { FirstForm } from './first-form.ts';
import { type ReadOptions, openReader } from '../../formats/formats.ts';
import { ReadMemory } from '../../formats/read-memory.ts';
import type { UpsertForm } from '../../formats/format.types.ts';
import { type LoadSortOptions, type ShapeLimits, sortIntoObjects } from '../../lake/load/sort.ts';
import type { SortedObjects } from '../../lake/objects/cutter.ts';
import { type ObjectSink, type ObjectStore } from '../../lake/objects/objects.ts';
import { working } from '../../vectors/stop.ts';
import { bufferOf } from '../../vectors/transfer.ts';
import type { Vector } from '../../vectors/vector.ts';
import { freeBuffer } from '../free-bytes.ts';
import type { PoolLayout, TaskRequest } from '../messages.ts';
import type { LoadOutcome } from '../pool.types.ts';
import type { TaskSpill } from '../query/spill.ts';
import { FaultKeeper, keptFaults } from './faults.ts';
import { loadHelper } from './part.ts';
import { eachWithTimes } from './times.ts';
import { mergeHelper } from './merge-part.ts';
import { lastRows } from './upsert.ts';
import { Warnings } from './warnings.ts';
import type { Task } from '../task.ts';

/** Most of the time that a load waits for another of very many shapes: the client of that may be slow. */
const turnMsMax = 30_000;

/** Least memory for sorting: with less a load is nothing but runs. */
const sortBytesMin = 4 << 20;

/** What a load sorts of its share while the process is near its bound. */
const nearShare = 1 / 4;

interface LoadBudgetOptions {
  /** Whether the process has nearly as much in use as it may. */
  readonly isNear?: () => boolean;
  /** Most of the time that a load waits for its turn. */
  readonly turnMs?: number;
}

/**
 * Memory of the loads of one worker: each has its share, and those that no share bounds, of very many shapes or held
 * whole, go on one after the other.
 *
 * Invariant: what the reader of a load holds is taken off what the load may sort in memory.
 */
export class LoadBudget {
  private readonly bytesMax: number;
  private readonly isNear: () => boolean;
  private readonly turnMs: number;
  private loads = 0;
  /** The load of very many shapes that goes on, and what tells the others that it has ended. */
  private ahead: LoadShare | undefined;
  private waiting: (() => void)[] = [];
  constructor(bytesMax: number, { isNear = () => false, turnMs = turnMsMax }: LoadBudgetOptions = {}) {
    this.bytesMax = bytesMax;
    this.isNear = isNear;
    this.turnMs = turnMs;
  }

  begin(): LoadShare {
    this.loads++;
    let hasTurn = false;
    const memory = this.forReader();
    const load: LoadShare = {
      memory,
      sortBytesMax: () => Math.max(sortBytesMin, this.sorted - memory.bytes),
      turn: async (signal) => {
        if (hasTurn) return;
        const until = performance.now() + this.turnMs;
        for (let left = this.turnMs; this.ahead && left > 0; left = until - performance.now()) {
          await this.ended(left, signal);
          signal.throwIfAborted();
        }
        hasTurn = true;
        this.ahead ??= load;
      },
      end: () => {
        this.loads--;
        if (this.ahead !== load) return;
        this.ahead = undefined;
        for (const wake of this.waiting.splice(0)) wake();
      },
    };
    return load;
  }
  get share(): number {
    return Math.max(sortBytesMin, this.bytesMax / Math.max(1, this.loads));
  }
  /** What a load may sort in memory: near the process's bound it makes shorter runs, and is not refused for it. */
  private get sorted(): number {
    return this.isNear() ? this.share * nearShare : this.share;
  }
  /**
   * What the reader of one input may hold: the whole budget, however many loads there are, lest a body fail because of
   * others.
   */
  forReader(): ReadMemory {
    return new ReadMemory(
      () => this.bytesMax,
      () => this.share,
    );
  }

  private ended(ms: number, signal: AbortSignal): Promise<void> {
    return new Promise((resolve) => {
      const wake = (): void => {
        clearTimeout(timer);
        signal.removeEventListener('abort', wake);
        resolve();
      };
      const timer = setTimeout(wake, ms);
      signal.addEventListener('abort', wake, { once: true });
      this.waiting.push(wake);
    });
  }
}
/** One load's part of the budget. */
export interface LoadShare {
  /** Waits for its turn to hold very many shapes, or much in one piece; it keeps it to its end. */
  turn(signal: AbortSignal): Promise<void>;
  /** Of the load's reader. */
  readonly memory: ReadMemory;
  /** Bytes of rows that may wait to be sorted. */
  sortBytesMax(): number;
  end(): void;
}

/** What a load has of its worker. */
export interface LoadTools {
  readonly objects: ObjectStore;
  readonly spill: TaskSpill;
  readonly budget: LoadBudget;
  readonly readLimits: ReadOptions;
}

/** Runs a load. @throws load-empty when the body holds no value, load-all-faulty when none can be read */
export const runLoad = async (
  task: Task,
  request: Extract<TaskRequest, { kind: 'load' }>,
  { objects: files, spill, budget, readLimits }: LoadTools,
): Promise<LoadOutcome> => {
  const share = budget.begin();
  const warnings = new Warnings();
  try {
    const { format, form, contentCodings, rejects } = request;
    const tools = { objects: files, spill, readLimits, share };
    const keeper = form?.errors && new FaultKeeper(rejects, () => sortingOf(task, request.pool, tools));
    const reader = await openReader(format, task.body, {
      ...readLimits,
      memory: share.memory,
      alone: () => share.turn(task.signal),
      turn: (work) => working(task.signal, work),
      helper: (setup) => loadHelper(task, setup),
      scratch: () => spill.scratchBytes(),
      copied: (bytes) => {
        task.body.free(bytes);
      },
      warn: warnings.add,
      ...(contentCodings && { contentCodings }),
      ...(keeper && { faulty: keeper.take }),
      ...form,
    });
    const first = new FirstForm();
    const sorting = sortingOf(task, request.pool, tools, {
      mergeHelper: () => mergeHelper(task, spill.directory()),
      sorted: () => {
        task.step('sorted');
      },
    });
    const rows = turning(eachWithTimes(reader, form?.time), task, first, keeper);
    const outcome = await keptFaults(keeper, { files }, () => sorted(rows, form?.upsert, sorting));
    return {
      ...outcome,
      warnings: warnings.texts(),
      ...(first.isOneArray(outcome.records) && { isOneArray: true }),
    };
  } finally {
    share.end();
  }
};

const sorted = (
  rows: AsyncIterable<Vector>,
  upsert: UpsertForm | undefined,
  sorting: LoadSortOptions,
): Promise<SortedObjects & Pick<LoadOutcome, 'gone'>> =>
  upsert ? sortLast(rows, upsert, sorting) : sortIntoObjects(rows, sorting);

/** The rows of an upsert; those that only take others away are sorted into objects of their own. */
const sortLast = async (
  batches: AsyncIterable<Vector>,
  form: UpsertForm,
  sorting: LoadSortOptions,
): Promise<SortedObjects & Pick<LoadOutcome, 'gone'>> => {
  const { rows, gone } = await lastRows(batches, form, () => sorting.memoryBytesMax);
  const sorted = rows.length > 0 ? await sortIntoObjects(each(rows), sorting) : { objects: [], records: 0, bytes: 0 };
  if (gone.length === 0) return sorted;
  try {
    const { objects, records } = await sortIntoObjects(each(gone), sorting);
    return { ...sorted, records: sorted.records + records, gone: objects };
  } catch (error) {
    for (const { id, inline } of sorted.objects) if (!inline) await sorting.objects.delete(id);
    throw error;
  }
};
async function* each(batches: readonly Vector[]): AsyncGenerator<Vector> {
  yield* batches;
}

/** How rows are sorted that a query or a merge made: within a share of what loads may hold. */
export const sortingWithin = (
  share: LoadShare,
  layout: PoolLayout,
  {
    task,
    tools: { objects, readLimits },
    spill,
  }: { readonly task: Task; readonly tools: Pick<LoadTools, 'objects' | 'readLimits'>; readonly spill: TaskSpill },
): LoadSortOptions => ({
  ...layout,
  objects,
  shapeLimits: shapeLimitsOf(readLimits),
  spill: () => spill.objects(),
  signal: task.signal,
  breathe: () => task.breathe(),
  get memoryBytesMax() {
    return share.sortBytesMax();
  },
});
/** What sorting in a thread takes; `loads`: how many pools share the memory. */
interface SortingTools extends Pick<LoadTools, 'objects' | 'spill' | 'readLimits'> {
  readonly share: LoadShare;
  readonly loads?: () => number;
}
/** How rows of a load are sorted in its thread. */
export const sortingOf = (
  task: Task,
  { keys, order, threshold }: PoolLayout,
  { objects, spill, readLimits, share, loads = () => 1 }: SortingTools,
  more: Pick<LoadSortOptions, 'mergeHelper' | 'sorted'> = {},
): LoadSortOptions => ({
  ...more,
  keys,
  order,
  threshold,
  objects: timed(objects, task),
  shapeLimits: shapeLimitsOf(readLimits),
  manyShapes: () => share.turn(task.signal),
  spill: () => spill.objects(),
  copied: freeBatch,
  signal: task.signal,
  breathe: () => task.breathe(),
  get memoryBytesMax() {
    return share.sortBytesMax() / loads();
  },
});

/** What a load may hold, of the limits of inputs. */
export const shapeLimitsOf = ({ typesMax = Infinity, columnsMax = Infinity }: ReadOptions): ShapeLimits => ({
  typesMax,
  columnsMax,
});

/** Notes when objects are synced. */
const timed = (objects: ObjectStore, task: Task): ObjectStore =>
  Object.assign(Object.create(objects) as ObjectStore, {
    create: (id: string): ObjectSink => {
      const sink = objects.create(id);
      return {
        write: (chunk) => {
          sink.write(chunk);
        },
        close: async () => {
          const began = performance.now();
          await sink.close();
          task.counter.synced(began, performance.now());
        },
        abort: () => sink.abort(),
      };
    },
  });

/** Frees the memory of a batch that came packed. */
const freeBatch = (batch: Vector): void => {
  const buffer = bufferOf(batch);
  if (buffer) freeBuffer(buffer);
};

/** The batches, with a turn of the event loop now and then; tells when the last was read. */
async function* turning(
  batches: AsyncIterable<Vector>,
  task: Task,
  first: FirstForm,
  keeper: FaultKeeper | undefined,
): AsyncGenerator<Vector> {
  for await (const batch of batches) {
    await keeper?.flush();
    if (batch.length === 0) continue;
    first.note(batch);
    task.counter.recordsRead += batch.length;
    yield batch;
    await task.breathe();
  }
  task.step('read');
}
