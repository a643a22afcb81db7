import { mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { openLake } from '../../../src/lake/lake.ts';
import type { Lake, PoolConfig } from '../../../src/lake/lake.types.ts';
import { openObjects } from '../../../src/lake/objects/objects.ts';
import { startWorkerPool } from '../../../src/workers/pool.ts';
import type { WorkerPool } from '../../../src/workers/pool.types.ts';
import { answerOf, threadsOf } from './support.ts';

const directory = mkdtempSync(join(tmpdir(), 'lake-load-part-'));
let lake: Lake;
let workers: WorkerPool;
let pool: PoolConfig;

beforeAll(async () => {
  lake = await openLake({ directory, objects: openObjects(directory) });
  workers = startWorkerPool({ lakeDirectory: directory, threads: 2 }, lake);
  ({ pool } = await lake.createPool({ name: 'long', order: 'asc', keys: [['k']] }));
});
afterAll(async () => {
  await workers.close();
  await lake.close();
  rmSync(directory, { recursive: true });
});

const rows = 20_000;
const padding = ' '.repeat(300);
const long = (): string =>
  Array.from({ length: rows }, (_, k) => `{"k":${k},"s":"é${k % 7}","odd":${k % 3 ? k : null}}${padding}\n`).join('');
async function* chunksOf(text: string): AsyncGenerator<Uint8Array> {
  const bytes = Buffer.from(text);
  for (let at = 0; at < bytes.length; at += 100_000) yield await Promise.resolve(bytes.subarray(at, at + 100_000));
}
const query = (text: string): Promise<string> => answerOf(workers, text);
const until = async (condition: () => boolean): Promise<void> => {
  while (!condition())
    await new Promise((resolve) => {
      setTimeout(resolve, 5);
    });
};

test('two threads read a long body: every row is there, and both are free afterwards', async () => {
  const outcome = await workers.load({ pool, body: chunksOf(long()), format: 'json' });
  await outcome.settled(lake.pool('long').load('main', outcome.objects));
  expect(await query('from long | count(), sum(k)')).toBe(`{count:${rows},sum:${(rows * (rows - 1)) / 2}}\n`);
  expect(await query('from long | where s == "é3" and odd is null | count()')).toBe(
    `${Array.from({ length: rows }, (_, k) => k).filter((k) => k % 7 === 3 && k % 3 === 0).length}\n`,
  );
  await until(() => threadsOf(workers).every((t) => t.tasks.size === 0));
});

test('an error is where it is in the whole body, and nothing stays behind', async () => {
  const before = readdirSync(join(directory, 'objects'), { recursive: true }).length;
  await expect(workers.load({ pool, body: chunksOf(`${long()}{"k":\n?}`), format: 'json' })).rejects.toThrow(
    `json: invalid character '?' looking for beginning of value (line ${rows + 2}, column 1,`,
  );
  expect(readdirSync(join(directory, 'objects'), { recursive: true }).length).toBe(before);
  await until(() => threadsOf(workers).every((t) => t.tasks.size === 0));
});

test('a helper that dies fails the load by name; a client that leaves frees both threads', async () => {
  const other = startWorkerPool({ lakeDirectory: join(directory, 'other'), threads: 2 }, lake);
  const leaving = new AbortController();
  async function* endless(): AsyncGenerator<Uint8Array> {
    const text = long();
    for (;;) {
      for await (const chunk of chunksOf(text)) {
        yield chunk;
        if (leaving.signal.aborted) return;
      }
    }
  }
  try {
    const settled = other.load({ pool, body: endless(), format: 'json' }).then(
      () => 'loaded',
      (error: unknown) => String(error),
    );
    await until(() => threadsOf(other).every((t) => t.tasks.size > 0));
    await threadsOf(other)[1]!.worker.terminate();
    expect(await settled).toContain('worker thread exited while processing this');
    await until(() => threadsOf(other).length === 2 && threadsOf(other).every((t) => t.tasks.size === 0));
    const second = other.load({ pool, body: endless(), format: 'json', signal: leaving.signal }).then(
      () => 'loaded',
      (error: unknown) => String(error),
    );
    await until(() => threadsOf(other).every((t) => t.tasks.size > 0));
    leaving.abort();
    expect(await second).toContain('the client went away');
    await until(() => threadsOf(other).every((t) => t.tasks.size === 0));
  } finally {
    await other.close();
  }
}, 30_000);
