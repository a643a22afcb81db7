/** A lake that the shell opens itself, with workers of its own: no service is needed, and none may have it open. */
import { randomUUID } from 'node:crypto';
import { openReader } from '../../formats/formats.ts';
import { LakeError } from '../../errors.ts';
import { openLake } from '../../lake/lake.ts';
import { openObjects } from '../../lake/objects/objects.ts';
import type { Vector } from '../../vectors/vector.ts';
import type { FromPolicy } from '../../workers/from/policy.ts';
import { startWorkerPool } from '../../workers/pool.ts';
import type { WorkerPool } from '../../workers/pool.types.ts';
import { type Asked, ShellFault, type ShellLake, faultsOf } from './lake.ts';

/**
 * Which lake is opened. `workers`: threads; `memoryBytesMax`: the budget of operators, as of `lake serve`; `from`: what
 * `from` may read besides pools.
 */
interface LocalOptions {
  readonly directory: string;
  readonly workers: number;
  readonly memoryBytesMax: number;
  readonly from: FromPolicy;
  readonly indexBase?: 0 | 1;
}

/** A worker that does not stop when its query is cancelled is ended after this long. */
const cancelMsMax = 1000;

/** Opens the folder of a lake. @throws ShellFault when it is in use or cannot be read */
export const openLocalLake = async ({
  directory,
  workers: threads,
  memoryBytesMax,
  from,
  indexBase,
}: LocalOptions): Promise<ShellLake> => {
  const lake = await openLake({ directory, objects: openObjects(directory), owner: 'lake shell' }).catch(
    (cause: unknown) => {
      if (!(cause instanceof LakeError)) throw cause;
      throw new ShellFault(
        cause.code === 'lake-locked' ? `${cause.message}: talk to it with -s URL` : cause.message,
        [],
        { cause },
      );
    },
  );
  const workers = startWorkerPool(
    {
      lakeDirectory: directory,
      threads,
      loadMemoryBytesMax: Math.floor(memoryBytesMax / 4),
      queryMemoryBytesMax: Math.floor(memoryBytesMax / 2),
      from,
      cancelMsMax,
      ...(indexBase !== undefined && { indexBase }),
    },
    lake,
  );
  return {
    title: directory,
    query: (text, asked = {}) => run(workers, text, asked),
    close: async () => {
      await workers.close();
      await lake.close();
    },
  };
};

async function* run(workers: WorkerPool, text: string, { head, signal, warn }: Asked): AsyncGenerator<Vector> {
  try {
    const { chunks, warnings } = await workers.query({
      id: randomUUID(),
      text,
      format: 'bsup',
      control: false,
      ...(head && { head }),
      ...(signal && { signal }),
    });
    for (const warning of warnings) warn?.(warning);
    yield* await openReader('bsup', chunks);
  } catch (cause) {
    signal?.throwIfAborted();
    if (!(cause instanceof LakeError)) throw cause;
    throw new ShellFault(cause.message, faultsOf(cause.details), { cause });
  }
}
