/** Data objects that were deleted: worker threads close their files, and keep nothing of their columns. */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { ColumnCache } from '../../../src/lake/columns/cache.ts';
import { openLake } from '../../../src/lake/lake.ts';
import type { Lake } from '../../../src/lake/lake.types.ts';
import type { ObjectReader } from '../../../src/lake/objects/reader.ts';
import { openObjects } from '../../../src/lake/objects/objects.ts';
import { ReaderList } from '../../../src/workers/query/tools.ts';
import { startWorkerPool } from '../../../src/workers/pool.ts';
import type { WorkerPool } from '../../../src/workers/pool.types.ts';
import { targetsOf } from '../../support/service/process-figures.ts';
import { answerOf } from './support.ts';

const directory = mkdtempSync(join(tmpdir(), 'lake-gone-'));
let lake: Lake;
let workers: WorkerPool;
beforeAll(async () => {
  lake = await openLake({ directory, objects: openObjects(directory) });
  workers = startWorkerPool({ lakeDirectory: directory, threads: 2 }, lake);
});
afterAll(async () => {
  await workers.close();
  await lake.close();
  rmSync(directory, { recursive: true });
});

/** Descriptors of data objects, those that are deleted among them. */
const open = (): readonly string[] =>
  targetsOf(process.pid).filter((target) => target.startsWith(join(directory, 'objects')));
const rows = (from: number): string =>
  Array.from({ length: 8000 }, (_, i) => `{"k":${from + i},"text":"text ${i * 7919}"}`).join('\n');
const load = async (pool: string, from: number): Promise<string> => {
  const body = Buffer.from(rows(from));
  const { config } = lake.pool(pool);
  const made = await workers.load({
    pool: config,
    format: 'json',
    body: (async function* () {
      yield body;
    })(),
  });
  return (await made.settled(lake.pool(pool).load('main', made.objects))).commit;
};
/** In both threads, as often as it takes. */
const read = async (pool: string): Promise<void> => {
  const text = `from ${pool} | put n:=len(text) | aggregate c:=sum(n) by k%3 | aggregate count()`;
  await Promise.all(Array.from({ length: 6 }, (_, i) => answerOf(workers, text, { id: `${pool}${i}` })));
};
const newPool = async (name: string): Promise<void> => {
  await lake.createPool({ name, keys: [['k']] });
};

describe.skipIf(process.platform !== 'linux')('files', () => {
  test('of vacuumed objects are closed, and their columns go', async () => {
    await newPool('p');
    await load('p', 0);
    await load('p', 100_000);
    await read('p');
    expect(open().length).toBeGreaterThan(0);
    expect(workers.status().columns.bytes).toBeGreaterThan(1000);
    const pool = lake.pool('p');
    const snapshot = await lake.openSnapshot('p', 'main');
    const ids = snapshot.page({ limit: 10 }).objects.map(({ id }) => id);
    snapshot.release();
    await pool.deleteObjects('main', ids);
    await pool.vacuum('main', { dryRun: false });
    await expect.poll(open, { timeout: 20_000 }).toEqual([]);
    await expect.poll(() => workers.status().columns.bytes, { timeout: 20_000 }).toBe(0);
  });

  test('of a deleted pool are closed, and those of others stay', async () => {
    await newPool('gone');
    await newPool('stays');
    await load('gone', 0);
    await load('stays', 0);
    await read('stays');
    const before = new Set(open()).size;
    await read('gone');
    expect(new Set(open()).size).toBe(before + 1);
    await lake.deletePool('gone');
    await expect.poll(() => new Set(open()).size, { timeout: 20_000 }).toBe(before);
    expect(open().filter((target) => target.endsWith('(deleted)'))).toEqual([]);
  });
});

describe('opened objects', () => {
  const reader = (heldBytes: number): ObjectReader => ({ heldBytes }) as ObjectReader;

  test('are charged with what they hold, and the oldest go beyond that', () => {
    const columns = new ColumnCache(1000);
    const list = new ReaderList(columns, 300);
    for (const [i, bytes] of [100, 150, 40].entries()) list.set(`o${i}`, reader(bytes));
    expect(roomOf(columns)).toBe(710);
    columns.begin();
    list.set('o3', reader(200));
    expect([list.get('o0'), list.get('o1'), list.get('o2')?.heldBytes, list.get('o3')?.heldBytes]).toEqual([
      undefined,
      undefined,
      40,
      200,
    ]);
    expect(roomOf(columns)).toBe(760);
    columns.begin();
    list.set('large', reader(5000));
    expect([list.get('o3'), list.get('large')?.heldBytes]).toEqual([undefined, 5000]);
    list.forget('large');
    expect(roomOf(columns)).toBe(1000);
  });

  test('are found again by a scan of more of them than there is room for, the first ones', () => {
    const columns = new ColumnCache(1000);
    const list = new ReaderList(columns, 300);
    const scan = (): readonly boolean[] => {
      columns.begin();
      return Array.from({ length: 6 }, (_, i) => {
        const isKnown = list.get(`o${i}`) !== undefined;
        if (!isKnown) list.set(`o${i}`, reader(100));
        return isKnown;
      });
    };
    expect(scan()).toEqual([false, false, false, false, false, false]);
    expect(scan()).toEqual([true, true, true, false, false, false]);
    expect(roomOf(columns)).toBe(700);
  });

  test('take their columns along, and no new ones are kept of them', () => {
    const columns = new ColumnCache(1000);
    const list = new ReaderList(columns);
    const [one, other] = [reader(0), reader(0)];
    list.set('one', one);
    list.set('other', other);
    columns.begin();
    for (let i = 0; i < 3; i++) columns.set({}, 100, () => i, one);
    columns.set({}, 70, () => 'kept', other);
    list.forget('one');
    expect(columns.bytes).toBe(70);
    columns.set({}, 100, () => 'late', one);
    expect(columns.bytes).toBe(70);
  });
});

/** What a column may take. */
const roomOf = (columns: ColumnCache): number => {
  let room = 1000;
  for (; room > 0; room -= 10) {
    const owner = {};
    columns.begin();
    columns.set({}, room, () => room, owner);
    const fits = columns.bytes === room;
    columns.forget(owner);
    if (fits) break;
  }
  return room;
};
