/** Which objects workers compress: those of compactions, and of rewrites of such; all, or none, where that is asked for. */
import { createHash } from 'node:crypto';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { openLake } from '../../../src/lake/lake.ts';
import type { Lake, ObjectMeta } from '../../../src/lake/lake.types.ts';
import { type ObjectStore, openObjects } from '../../../src/lake/objects/objects.ts';
import { startWorkerPool } from '../../../src/workers/pool.ts';
import type { WorkerPool, WorkerPoolOptions } from '../../../src/workers/pool.types.ts';
import { opened } from '../../../src/workers/load/rewrite-task.ts';
import { answerOf } from './support.ts';

const rows = 6000;
let directory: string;
let objects: ObjectStore;
let lake: Lake;
beforeAll(async () => {
  directory = mkdtempSync(join(tmpdir(), 'lake-compressed-'));
  objects = openObjects(directory);
  lake = await openLake({ directory, objects });
});
afterAll(async () => {
  await lake.close();
  rmSync(directory, { recursive: true, force: true });
});

const withWorkers = async (options: Partial<WorkerPoolOptions>, work: (workers: WorkerPool) => Promise<void>) => {
  const workers = startWorkerPool({ lakeDirectory: directory, threads: 1, ...options }, lake);
  try {
    await work(workers);
  } finally {
    await workers.close();
  }
};
async function* body(from: number, count = rows): AsyncGenerator<Uint8Array> {
  // Of many rows more than 1 MiB is left when they are compressed.
  const noise = (k: number): string =>
    count > rows ? `,noise:"${createHash('sha256').update(String(k)).digest('base64')}"` : '';
  const line = (k: number): string =>
    `{k:${k},path:"/articles/of/all/years/${k}/comments?sort=newest&page=${k % 9}"${noise(k)}}`;
  yield Buffer.from(Array.from({ length: count }, (_, i) => line(from + i)).join('\n'));
}
/** A pool of two loads: ids and sizes of its objects. */
const loaded = async (name: string, workers: WorkerPool): Promise<readonly ObjectMeta[]> => {
  const { pool } = await lake.createPool({ name, order: 'asc', keys: [['k']] });
  const all: ObjectMeta[] = [];
  for (const from of [0, rows]) {
    const outcome = await workers.load({ pool, body: body(from), format: 'sup' });
    await outcome.settled(lake.pool(name).load('main', outcome.objects));
    all.push(...outcome.objects);
  }
  return all;
};
const compacted = async (name: string, workers: WorkerPool, before: readonly ObjectMeta[]): Promise<void> => {
  const ids = before.map((o) => o.id);
  await lake.pool(name).compact('main', ids, workers.prepareCompact(ids));
};
const objectsOf = async (name: string): Promise<readonly ObjectMeta[]> => {
  const snapshot = await lake.openSnapshot(name, 'main');
  try {
    return (await snapshot.page({ limit: 100 })).objects;
  } finally {
    snapshot.release();
  }
};
const bytesOf = (list: readonly ObjectMeta[]): number => list.reduce((n, o) => n + o.size, 0);
const areCompressed = async (name: string): Promise<readonly boolean[]> =>
  Promise.all((await objectsOf(name)).map(async (meta) => (await opened(meta, objects)).isCompressed));

test('compactions compress, and so do deletes in what they wrote; answers stay', { timeout: 60_000 }, async () => {
  await withWorkers({}, async (workers) => {
    const before = await loaded('usual', workers);
    expect(await areCompressed('usual')).toEqual([false, false]);
    const answer = await answerOf(workers, 'from usual | sort k | tail 3 | values path');
    await compacted('usual', workers, before);
    expect(await areCompressed('usual')).toEqual([true]);
    expect(bytesOf(await objectsOf('usual'))).toBeLessThan(bytesOf(before) * 0.6);
    expect(await answerOf(workers, 'from usual | sort k | tail 3 | values path')).toBe(answer);
    await lake.pool('usual').deleteWhere('main', workers.prepareDelete('k < 100'));
    expect(await areCompressed('usual')).toEqual([true]);
    expect(await answerOf(workers, 'from usual | count()')).toBe(`${2 * rows - 100}\n`);
  });
});

test('a large object alone is compressed, once; a small one needs others', { timeout: 60_000 }, async () => {
  const { pool } = await lake.createPool({ name: 'alone', order: 'asc', keys: [['k']] });
  const load = async (workers: WorkerPool, count: number): Promise<readonly ObjectMeta[]> => {
    const outcome = await workers.load({ pool, body: body(0, count), format: 'sup' });
    await outcome.settled(lake.pool('alone').load('main', outcome.objects));
    return outcome.objects;
  };
  const refused = (work: Promise<void>): Promise<unknown> => work.then(() => 'done', String);
  await withWorkers({ compress: 'none' }, async (workers) => {
    const small = await load(workers, 100);
    expect(await refused(compacted('alone', workers, small))).toContain('two or more source objects required');
    await lake.pool('alone').deleteWhere('main', workers.prepareDelete('true'));
    const large = await load(workers, 10 * rows);
    expect(await refused(compacted('alone', workers, large))).toContain('is not to be compressed (-compress none)');
  });
  await withWorkers({}, async (workers) => {
    const before = await objectsOf('alone');
    const answer = await answerOf(workers, 'from alone | sort k | tail 3 | values path');
    await compacted('alone', workers, before);
    const after = await objectsOf('alone');
    expect(await areCompressed('alone')).toEqual([true]);
    expect(bytesOf(after)).toBeLessThan(bytesOf(before) * 0.8);
    expect(await answerOf(workers, 'from alone | sort k | tail 3 | values path')).toBe(answer);
    expect(await answerOf(workers, 'from alone | count()')).toBe(`${10 * rows}\n`);
    expect(await refused(compacted('alone', workers, after))).toMatch(/object \w{27} is compressed already/);
  });
});

test('none: compactions leave objects as they are', { timeout: 60_000 }, async () => {
  await withWorkers({ compress: 'none' }, async (workers) => {
    const before = await loaded('never', workers);
    await compacted('never', workers, before);
    expect(await areCompressed('never')).toEqual([false]);
  });
});

test('all: loads compress too', { timeout: 60_000 }, async () => {
  await withWorkers({ compress: 'all' }, async (workers) => {
    await loaded('always', workers);
    expect(await areCompressed('always')).toEqual([true, true]);
    expect(await answerOf(workers, 'from always | count()')).toBe(`${2 * rows}\n`);
  });
});
