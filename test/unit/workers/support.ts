/**
 * Worker pools under test: their answers, what their threads have in work, and the same rows asked of one thread and of
 * two.
 */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Worker } from 'node:worker_threads';
import { openLake } from '../../../src/lake/lake.ts';
import type { Lake } from '../../../src/lake/lake.types.ts';
import { openObjects } from '../../../src/lake/objects/objects.ts';
import { startWorkerPool } from '../../../src/workers/pool.ts';
import type { QueryRequest, WorkerPool, WorkerPoolOptions } from '../../../src/workers/pool.types.ts';

let queryIds = 0;
/** A whole answer as SUP. */
export const answerOf = async (
  workers: WorkerPool,
  text: string,
  options: Partial<QueryRequest> = {},
): Promise<string> => {
  const { chunks } = await workers.query({ id: `q${queryIds++}`, text, format: 'sup', control: false, ...options });
  let out = '';
  for await (const chunk of chunks) out += Buffer.from(chunk).toString();
  return out;
};

/** Has two threads answer: only idle ones help. */
export const ready = (workers: WorkerPool): Promise<unknown> =>
  Promise.all([answerOf(workers, 'values 1'), answerOf(workers, 'values 2')]);

/** A thread of a worker pool, seen from inside. */
interface ThreadInside {
  readonly worker: Worker;
  readonly tasks: ReadonlyMap<number, unknown>;
}
export const threadsOf = (workers: WorkerPool): readonly ThreadInside[] => [
  ...(workers as unknown as { readonly scheduler: { readonly threads: ReadonlySet<ThreadInside> } }).scheduler.threads,
];
export const tasksOf = (workers: WorkerPool): number => threadsOf(workers).reduce((n, t) => n + t.tasks.size, 0);
/** A thread that has a part of another one's query in work. */
export const helpingThread = (workers: WorkerPool): ThreadInside | undefined => {
  // A task that helps another has no place of its own.
  const helps = (task: unknown): boolean => (task as { readonly place?: unknown }).place === undefined;
  return threadsOf(workers).find((t) => [...t.tasks.values()].some(helps));
};

/** The pool `rows` of a lake of its own, and worker pools of one thread and of two to compare. */
export interface ComparedPools {
  readonly directory: string;
  readonly alone: WorkerPool;
  readonly both: WorkerPool;
  /** Another worker pool over the same lake; the caller closes it. */
  readonly start: (options: Partial<WorkerPoolOptions>) => WorkerPool;
  readonly close: () => Promise<void>;
}
/** `rowText`: a row as SUP, by its key `k`. `options`: of all the worker pools. */
export const openCompared = async (
  rows: number,
  rowText: (k: number) => string,
  options: Partial<WorkerPoolOptions>,
): Promise<ComparedPools> => {
  const directory = mkdtempSync(join(tmpdir(), 'lake-compared-'));
  const lake = await openLake({ directory, objects: openObjects(directory) });
  let spills = 0;
  const start = (more: Partial<WorkerPoolOptions>): WorkerPool =>
    startWorkerPool(
      { lakeDirectory: directory, spillDirectory: join(directory, `spill${spills++}`), ...options, ...more },
      lake,
    );
  const alone = start({ threads: 1 });
  const both = start({ threads: 2 });
  await loadRows(lake, alone, bodyOf(rows, rowText));
  await ready(both);
  return {
    directory,
    alone,
    both,
    start,
    close: async () => {
      await alone.close();
      await both.close();
      await lake.close();
      rmSync(directory, { recursive: true });
    },
  };
};
const loadRows = async (lake: Lake, workers: WorkerPool, body: AsyncIterable<Uint8Array>): Promise<void> => {
  const { pool } = await lake.createPool({ name: 'rows', order: 'asc', keys: [['k']] });
  const outcome = await workers.load({ pool, body, format: 'sup' });
  await outcome.settled(lake.pool('rows').load('main', outcome.objects));
};
/** The rows, a few thousand in a chunk. */
async function* bodyOf(rows: number, rowText: (k: number) => string): AsyncGenerator<Uint8Array> {
  const chunkRows = 5000;
  for (let at = 0; at < rows; at += chunkRows)
    yield Buffer.from(
      `${Array.from({ length: Math.min(chunkRows, rows - at) }, (_, i) => rowText(at + i)).join('\n')}\n`,
    );
}
