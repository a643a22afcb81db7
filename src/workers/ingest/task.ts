/** Ingests: a shipper's body becomes sorted objects of the pools that it names. Nothing is committed here. */
import { working } from '../../vectors/stop.ts';
import type { Vector } from '../../vectors/vector.ts';
import { sortIntoObjects } from '../../lake/load/sort.ts';
import { removeObjectFiles } from '../../lake/objects/removal.ts';
import { type LoadTools, sortingOf } from '../load/task.ts';
import type { TaskRequest } from '../messages.ts';
import type { Task } from '../task.ts';
import { ingest } from './ingest.ts';
import type { IngestOutcome } from './ingest.types.ts';
import { PoolLoads } from './pool-loads.ts';

/** Runs an ingest. @throws LakeError for a body that cannot be read */
export const runIngest = async (
  task: Task,
  request: Extract<TaskRequest, { kind: 'ingest' }>,
  { objects, spill, budget, readLimits }: LoadTools,
): Promise<IngestOutcome> => {
  const share = budget.begin();
  try {
    const outcome = await ingest(
      task.body,
      request,
      {
        ...readLimits,
        memory: share.memory,
        alone: () => share.turn(task.signal),
        turn: (work) => working(task.signal, work),
      },
      {
        loads: new PoolLoads({
          layoutOf: (pool) => task.call({ kind: 'target', pool }),
          sort: (batches, layout, loads) =>
            sortIntoObjects(
              turning(batches, task),
              sortingOf(task, layout, { objects, spill, readLimits, share, loads }),
            ),
          remove: (written) => removeObjectFiles(written, { files: objects }),
        }),
        identityOf: (pool) => task.call({ kind: 'identity', pool }),
        read: () => {
          task.step('read');
        },
      },
    );
    task.step('sorted');
    return outcome;
  } finally {
    share.end();
  }
};

/** The batches, with a turn of the event loop now and then. */
async function* turning(batches: AsyncIterable<Vector>, task: Task): AsyncGenerator<Vector> {
  for await (const batch of batches) {
    task.counter.recordsRead += batch.length;
    yield batch;
    await task.breathe();
  }
}
