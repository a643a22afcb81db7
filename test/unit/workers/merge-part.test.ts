import { mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { openLake } from '../../../src/lake/lake.ts';
import type { Lake, PoolConfig } from '../../../src/lake/lake.types.ts';
import { openObjects } from '../../../src/lake/objects/objects.ts';
import { startWorkerPool } from '../../../src/workers/pool.ts';
import type { WorkerPool } from '../../../src/workers/pool.types.ts';
import { answerOf } from './support.ts';

const directory = mkdtempSync(join(tmpdir(), 'lake-merge-part-'));
let lake: Lake;
let workers: WorkerPool;
let pool: PoolConfig;

beforeAll(async () => {
  lake = await openLake({ directory, objects: openObjects(directory) });
  workers = startWorkerPool({ lakeDirectory: directory, threads: 2, loadMemoryBytesMax: 4 << 20 }, lake);
  ({ pool } = await lake.createPool({ name: 'long', order: 'asc', keys: [['k']] }));
});
afterAll(async () => {
  await workers.close();
  await lake.close();
  rmSync(directory, { recursive: true });
});

const rows = 50_000;
const blockRows = 97;
const blocks = Math.ceil(rows / blockRows);
const padding = 'x'.repeat(360);
/** Blocks of rows, far out of order. */
async function* body(given: (block: number) => void = () => undefined): AsyncGenerator<Uint8Array> {
  for (let i = 0; i < blocks; i++) {
    const block = (i * 211) % blocks;
    const first = block * blockRows;
    const lines: string[] = [];
    for (let k = first; k < Math.min(rows, first + blockRows); k++)
      lines.push(`{"k":${k},"s":"${k % 7}","padding":"${padding}"}\n`);
    given(i);
    yield await Promise.resolve(Buffer.from(lines.join('')));
  }
}
const query = (text: string): Promise<string> => answerOf(workers, text);
const filesIn = (folder: string): number =>
  readdirSync(join(directory, folder), { recursive: true, withFileTypes: true }).filter((f) => f.isFile()).length;

test('a load that does not fit in memory is merged by two threads: objects that do not overlap, rows in order', async () => {
  const outcome = await workers.load({ pool, body: body(), format: 'json' });
  expect([outcome.objects.length, outcome.records]).toEqual([2, rows]);
  await outcome.settled(lake.pool('long').load('main', outcome.objects));
  expect(await query('from long | count(), sum(k)')).toBe(`{count:${rows},sum:${(rows * (rows - 1)) / 2}}\n`);
  expect(await query('from long | values k')).toBe(Array.from({ length: rows }, (_, k) => `${k}\n`).join(''));
  expect(filesIn('spill')).toBe(0);
}, 60_000);

test('a client that leaves takes all files with it, those of the other thread too', async () => {
  const before = filesIn('objects');
  const leaving = new AbortController();
  const load = workers.load({
    pool,
    body: body((block) => {
      if (block === blocks - 1)
        setTimeout(() => {
          leaving.abort();
        }, 30);
    }),
    format: 'json',
    signal: leaving.signal,
  });
  // Once in a while it is over before that.
  const outcome = await load.catch(() => undefined);
  if (outcome) await outcome.settled(Promise.reject(new Error('not wanted'))).catch(() => undefined);
  while (filesIn('objects') > before || filesIn('spill') > 0)
    await new Promise((resolve) => {
      setTimeout(resolve, 20);
    });
  expect([filesIn('objects'), filesIn('spill')]).toEqual([before, 0]);
}, 60_000);
