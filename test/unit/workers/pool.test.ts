import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { gzipSync } from 'node:zlib';
import { LakeError } from '../../../src/errors.ts';
import { openLake } from '../../../src/lake/lake.ts';
import type { Lake, PoolConfig } from '../../../src/lake/lake.types.ts';
import { openObjects } from '../../../src/lake/objects.ts';
import { startWorkerPool } from '../../../src/workers/pool.ts';
import type { WorkerPool } from '../../../src/workers/pool.types.ts';
import { answerOf, threadsOf } from './support.ts';

const directory = mkdtempSync(join(tmpdir(), 'lake-workers-'));
let lake: Lake, workers: WorkerPool, pool: PoolConfig;
let names = 0;

beforeAll(async () => {
  lake = await openLake({ directory, objects: openObjects(directory) });
  workers = startWorkerPool({ lakeDirectory: directory, threads: 1, queryStatusMs: 300, loadMemoryBytesMax: 4 << 20 }, lake);
  pool = await newPool();
});
afterAll(async () => {
  await workers.close();
  await lake.close();
  rmSync(directory, { recursive: true });
});

const newPool = async (layout: { readonly threshold?: number; readonly order?: 'asc' | 'desc' } = {}): Promise<PoolConfig> =>
  (await lake.createPool({ name: `pool${names++}`, order: 'asc', keys: [['k']], ...layout })).pool;
async function* chunksOf(text: string | Uint8Array, size = 1000): AsyncGenerator<Uint8Array> {
  const bytes = Buffer.from(text as string);
  for (let at = 0; at < bytes.length; at += size) yield bytes.subarray(at, at + size);
}
const load = async (target: PoolConfig, text: string): Promise<void> => {
  const outcome = await workers.load({ pool: target, body: chunksOf(text), format: 'sup' });
  await outcome.settled(lake.pool(target.name).load('main', outcome.objects));
};
const query = (text: string, id = 'q'): Promise<string> => answerOf(workers, text, { id });
const files = (): number => readdirSync(join(directory, 'objects'), { recursive: true, withFileTypes: true }).filter((f) => f.isFile()).length;
const failure = async (work: Promise<unknown>): Promise<LakeError> => {
  const error = await work.then(() => undefined, (e: unknown) => e);
  expect(error).toBeInstanceOf(LakeError);
  return error as LakeError;
};

describe('loads', () => {
  test('a body becomes a sorted object, and a commit makes it visible', async () => {
    const target = await newPool();
    await load(target, '{k:2,s:"b"} {k:1,s:"a"} {s:"none"}');
    expect(await query(`from ${target.name}`)).toBe('{k:1,s:"a"}\n{k:2,s:"b"}\n{s:"none"}\n');
  });

  test('gzip and the format are found by themselves', async () => {
    const outcome = await workers.load({ pool, body: chunksOf(gzipSync('{"k":3}\n{"k":1}\n'), 7) });
    expect([outcome.records, outcome.objects.map((o) => [o.min.text, o.max.text]), outcome.warnings]).toEqual([2, [['1', '3']], []]);
  });

  test('a body without values is an error', async () => {
    expect((await failure(workers.load({ pool, body: chunksOf(''), format: 'sup' }))).message).toBe('no records in request');
  });

  test('a body that breaks in the middle loads nothing and leaves no file', async () => {
    const before = files();
    const rows = Array.from({ length: 60_000 }, (_, i) => `{k:${i},n:${(i * 2_654_435_761) % 4_294_967_291}}\n`).join('');
    const error = await failure(workers.load({ pool, body: chunksOf(`${rows}{k:`, 65_536), format: 'sup' }));
    expect(error.status).toBe(400);
    expect(files()).toBe(before);
    expect(readdirSync(join(directory, 'spill'))).toEqual([]);
  });

  test('a client that goes away in the middle ends its load', async () => {
    const leave = new AbortController();
    async function* endless(): AsyncGenerator<Uint8Array> {
      for (;;) {
        yield Buffer.from('{k:1}\n'.repeat(10_000));
        if (!leave.signal.aborted) leave.abort();
      }
    }
    const error = await failure(workers.load({ pool, body: endless(), format: 'sup', signal: leave.signal }));
    expect(error.code).toBe('load-cancelled');
    expect(workers.status().loadsRunning).toBe(0);
  });

  test('a body is read no faster than it is taken', async () => {
    let given = 0;
    async function* wide(): AsyncGenerator<Uint8Array> {
      for (let i = 0; i < 200; i++) {
        const chunk = Buffer.alloc(100_000, `{k:${i},text:"${'x'.repeat(80)}"}\n`);
        const whole = chunk.subarray(0, chunk.lastIndexOf('\n') + 1);
        given += whole.length;
        yield whole;
      }
    }
    const outcome = await workers.load({ pool, body: wide(), format: 'sup' });
    expect(outcome.records).toBeGreaterThan(100_000);
    expect(given).toBeGreaterThan(19_000_000);
    await outcome.settled(Promise.reject(new LakeError('lake-closing'))).catch(() => undefined);
    for (const { id, inline } of outcome.objects) if (!inline) expect(() => openObjects(directory).readRange(id, 0, 8)).toThrow('file does not exist');
  });
});

describe('queries', () => {
  test('compile errors come before the first byte; a text that never ran has no status', async () => {
    const error = await failure(query('from nowhere', 'status-1'));
    expect([error.status, error.message, error.details]).toEqual([400, 'nowhere: pool not found at line 1, column 6:\nfrom nowhere\n     ~~~~~~~', { compilation_errors: [{ Msg: 'nowhere: pool not found', Pos: 5, End: 11 }] }]);
    expect([await workers.queryStatus('status-1'), await workers.queryStatus('never')]).toEqual([undefined, undefined]);
  });

  test('the status of a query that ended well is the empty text, and waits for the end', async () => {
    const reply = await workers.query({ id: 'status-2', text: 'values 1', format: 'sup', control: false });
    const status = workers.queryStatus('status-2');
    for await (const chunk of reply.chunks) expect(Buffer.from(chunk).toString()).toBe('1\n');
    expect(await status).toBe('');
  });

  test('a query without rows is empty in SUP and an array in JSON', async () => {
    const sup = await workers.query({ id: 'e1', text: `from ${(await newPool()).name}`, format: 'sup', control: false });
    expect(sup.empty).toBe(true);
    const json = await workers.query({ id: 'e2', text: `from ${(await newPool()).name}`, format: 'json', control: false });
    expect(json.empty).toBe(false);
    for await (const chunk of json.chunks) expect(Buffer.from(chunk).toString().trim()).toBe('[]');
  });

  test('rows that are not read hold the query up, and leaving cancels it at once', async () => {
    const target = await newPool();
    await load(target, Array.from({ length: 100_000 }, (_, i) => `{k:${i},s:"some text to fill the line"}`).join(' '));
    const reply = await workers.query({ id: 'slow', text: `from ${target.name}`, format: 'sup', control: false });
    let taken = 0;
    for await (const chunk of reply.chunks) {
      taken += chunk.length;
      await new Promise((resolve) => { setTimeout(resolve, 200); });
      break;
    }
    expect(reply.stats().recordsRead).toBeLessThan(60_000);
    expect(taken).toBeGreaterThan(0);
    expect(await workers.queryStatus('slow')).toBe('query was cancelled');
    while (workers.status().queriesRunning > 0) await new Promise((resolve) => { setImmediate(resolve); });
    expect(await query('values 2')).toBe('2\n');
  });

  test('several queries share a thread', async () => {
    const texts = Array.from({ length: 20 }, (_, i) => `values ${i}`);
    expect(await Promise.all(texts.map((text, i) => query(text, `many-${i}`)))).toEqual(texts.map((_, i) => `${i}\n`));
  });

  test('a page of the lake is one commit however long the query runs', async () => {
    const target = await newPool();
    await load(target, '{k:1}');
    const reply = await workers.query({ id: 'pinned', text: `from ${target.name}`, format: 'sup', control: false });
    await load(target, '{k:2}');
    let out = '';
    for await (const chunk of reply.chunks) out += Buffer.from(chunk).toString();
    expect(out).toBe('{k:1}\n');
  });
});

describe('rewrites', () => {
  test('delete where rewrites only objects that hold matches; null and error rows stay', async () => {
    const target = await newPool();
    await load(target, '{k:1,x:1} {k:2,x:2} {k:3,x:null} {k:4} {k:5,x:"one"}');
    await load(target, '{k:6,x:7}');
    const before = await query(`from ${target.name}:objects | values id`);
    await lake.pool(target.name).deleteWhere('main', workers.prepareDelete('x == 1'));
    expect(await query(`from ${target.name}`)).toBe('{k:2,x:2}\n{k:3,x:null}\n{k:4}\n{k:5,x:"one"}\n{k:6,x:7}\n');
    const after = (await query(`from ${target.name}:objects | values id`)).trim().split('\n');
    expect(after.filter((id) => before.includes(id)).length).toBe(1);
  });
  test('a filter that matches nothing and a text that is no filter are errors', async () => {
    const target = await newPool();
    await load(target, '{k:1}');
    expect((await failure(lake.pool(target.name).deleteWhere('main', workers.prepareDelete('k == 7')))).message).toBe('empty transaction');
    expect((await failure(lake.pool(target.name).deleteWhere('main', workers.prepareDelete('sort k')))).message).toBe('invalid delete where query: must be a single filter operation');
    expect(await query(`from ${target.name}`)).toBe('{k:1}\n');
  });
  test('compaction makes one object of several', async () => {
    const target = await newPool();
    for (const text of ['{k:3}', '{k:1}', '{k:2}']) await load(target, text);
    const ids = lakeIds(await query(`from ${target.name}:objects | values id`));
    expect(ids.length).toBe(3);
    await lake.pool(target.name).compact('main', ids, workers.prepareCompact(ids));
    expect(await query(`from ${target.name}:objects | cut min, max, count`)).toBe('{min:1,max:3,count:3::uint64}\n');
    expect(await query(`from ${target.name}`)).toBe('{k:1}\n{k:2}\n{k:3}\n');
  });
  const lakeIds = (text: string): string[] => [...text.matchAll(/0x([0-9a-f]{40})/g)].map((m) => m[1]!);
});

describe('threads', () => {
  test('warm up once they are let', async () => {
    // Time for one query of the warm-up.
    const other = startWorkerPool({ lakeDirectory: join(directory, 'other'), threads: 2, warmUpMs: 1 }, lake);
    try {
      await other.compile('values 1');
      // Longer than that query takes.
      await new Promise((resolve) => { setTimeout(resolve, 1500); });
      expect(other.isWarm()).toBe(false);
      other.letWarm(true);
      await expect.poll(() => other.isWarm(), { timeout: 10_000 }).toBe(true);
    } finally {
      await other.close();
    }
  });

  test('a thread that dies fails its own work and is replaced', async () => {
    const other = startWorkerPool({ lakeDirectory: join(directory, 'other'), threads: 1 }, lake);
    expect((await other.compile('values 1')).plan).toBeDefined();
    await new Promise((resolve) => { setTimeout(resolve, 1100); });
    let release = (): void => undefined;
    const never = new Promise<void>((resolve) => { release = resolve; });
    async function* stuck(): AsyncGenerator<Uint8Array> {
      yield Buffer.from('{k:1}\n');
      await never;
    }
    const pending = failure(other.load({ pool, body: stuck(), format: 'sup' }));
    await new Promise((resolve) => { setTimeout(resolve, 50); });
    await threadsOf(other)[0]!.worker.terminate();
    const error = await pending;
    release();
    expect([error.code, error.status]).toEqual(['worker-died', 500]);
    expect(other.status()).toMatchObject({ threads: 1, replaced: 1, loadsRunning: 0 });
    expect((await other.compile('values 1')).plan).toBeDefined();
    await other.close();
    expect((await failure(other.compile('values 1'))).code).toBe('workers-closed');
  });
  test('no more tasks run at once than the limit says', async () => {
    const other = startWorkerPool({ lakeDirectory: join(directory, 'third'), threads: 1, tasksMax: 1 }, lake);
    const first = other.compile('values 1');
    expect((await failure(other.compile('values 2'))).status).toBe(503);
    await first;
    await other.close();
  });
});
