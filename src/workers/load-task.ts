/** Loads: bytes of a body become sorted data objects that are durable or inline. Nothing is committed here. */
import { LakeError } from '../errors.ts';
import { type ReadOptions, openReader } from '../formats/formats.ts';
import { type ShapeLimits, sortIntoObjects } from '../lake/load-sort.ts';
import type { ObjectSink, ObjectStore } from '../lake/objects.ts';
import { working } from '../vectors/stop.ts';
import { bufferOf } from '../vectors/transfer.ts';
import type { Vector } from '../vectors/vector.ts';
import { freeBuffer } from './free-bytes.ts';
import type { TaskRequest } from './messages.ts';
import type { LoadOutcome } from './pool.types.ts';
import type { TaskSpill } from './spill.ts';
import { loadHelper } from './load-part.ts';
import { mergeHelper } from './merge-part.ts';
import type { Task } from './task.ts';

/** Memory of the loads of one worker: each has its share. */
export class LoadBudget {
  private readonly bytesMax: number;
  private loads = 0;
  constructor(bytesMax: number) { this.bytesMax = bytesMax; }
  begin(): void { this.loads++; }
  end(): void { this.loads--; }
  /** Never so little that a load is nothing but runs. */
  get share(): number { return Math.max(4 << 20, this.bytesMax / Math.max(1, this.loads)); }
}

export interface LoadTools { readonly objects: ObjectStore; readonly spill: TaskSpill; readonly budget: LoadBudget; readonly readLimits: ReadOptions }

/** Runs a load. @throws load-empty when the body holds no value */
export const runLoad = async (task: Task, request: Extract<TaskRequest, { kind: 'load' }>, { objects: files, spill, budget, readLimits }: LoadTools): Promise<LoadOutcome> => {
  const objects = timed(files, task);
  budget.begin();
  try {
    const { format, csvDelimiter, contentCodings, pool: { keys, order, threshold } } = request;
    const reader = await openReader(format, task.body, { ...readLimits, turn: (work) => working(task.signal, work), helper: (setup) => loadHelper(task, setup), copied: (bytes) => { task.body.free(bytes); }, ...(contentCodings && { contentCodings }), ...(csvDelimiter !== undefined && { csvDelimiter }) });
    const outcome = await sortIntoObjects(turning(reader, task), {
      keys, order, threshold, objects, shapeLimits: shapeLimitsOf(readLimits), spill: () => spill.objects(), mergeHelper: () => mergeHelper(task, spill.directory()), copied: freeBatch, signal: task.signal, breathe: () => task.breathe(), sorted: () => { task.step('sorted'); }, get memoryBytesMax() { return budget.share; },
    });
    if (outcome.records === 0) throw new LakeError('load-empty');
    return { ...outcome, warnings: [] };
  } finally {
    budget.end();
  }
};

/** What a load may hold, of the limits of inputs. */
export const shapeLimitsOf = ({ typesMax = Infinity, columnsMax = Infinity }: ReadOptions): ShapeLimits => ({ typesMax, columnsMax });

/** Notes when objects are synced. */
const timed = (objects: ObjectStore, task: Task): ObjectStore => Object.assign(Object.create(objects) as ObjectStore, {
  create: (id: string): ObjectSink => {
    const sink = objects.create(id);
    return {
      write: (chunk) => { sink.write(chunk); },
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
async function* turning(batches: AsyncIterable<Vector>, task: Task): AsyncGenerator<Vector> {
  for await (const batch of batches) {
    task.counter.recordsRead += batch.length;
    yield batch;
    await task.breathe();
  }
  task.step('read');
}
