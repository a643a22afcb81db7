/** Packs of small objects: the same answers as without them, whatever was done to the objects since. */
import { spawn } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { describe, expect, onTestFinished, test, vi } from 'vitest';
import { LakeError } from '../../../src/errors.ts';
import { newId } from '../../../src/lake/ksuid.ts';
import type { Id, Lake, PackOptions } from '../../../src/lake/lake.types.ts';
import { ObjectCutter } from '../../../src/lake/objects/cutter.ts';
import { type ObjectEntry, ObjectList } from '../../../src/lake/objects/list.ts';
import { openObjects } from '../../../src/lake/objects/objects.ts';
import { PackIndex } from '../../../src/lake/objects/packs.ts';
import type { PoolFace } from '../../../src/lake/pool/pool.ts';
import { scanObjects } from '../../../src/lake/scan/scan.ts';
import { supText } from '../../../src/vectors/sup/print.ts';
import { valueAt } from '../../../src/vectors/vector.ts';
import { runSmallLoad } from '../../../src/workers/load/small.ts';
import { scriptArguments } from '../../support/script.ts';
import { startService, type TestService } from '../../support/service/server.ts';
import { bound, inlineObject, openTestLake, temporaryDirectory } from './support.ts';

const json = { 'content-type': 'application/json', accept: 'application/json' };
const storeOf = (service: TestService, pool: string) =>
  (service.lake as unknown as { face(name: string): PoolFace }).face(pool).store;

/** Keys that repeat and come in no order, rows of three shapes, some of them several in a body. */
const bodyOf = (i: number): string => {
  const k = (i * 7919) % 101;
  const row =
    i % 3 === 0
      ? { k, name: `row ${i}`, n: i }
      : i % 3 === 1
        ? { k, n: i, deep: { list: [i, i + 1] } }
        : { k: i % 5 === 0 ? null : k, name: 'same' };
  return i % 11 === 0
    ? `${JSON.stringify(row)}\n${JSON.stringify({ k: k + 1, name: `two of ${i}` })}\n`
    : JSON.stringify(row);
};
const queries = (pool: string): readonly string[] => [
  `from ${pool} | sort this | count() by this | sort this`,
  `from ${pool}`,
  `from ${pool} | head 7`,
  `from ${pool} | tail 7`,
  `from ${pool} | k > 20 and k <= 60`,
  `from ${pool} | k >= 0`,
  `from ${pool} | name=='row 33'`,
  `from ${pool} | count()`,
  `from ${pool} | sum(n), max(k) by name | sort this`,
  `from ${pool} | sort -r n | head 3`,
];

interface Step {
  readonly commit: string;
  readonly answers: readonly string[];
}
/** Loads, packs if the service does, deletes, reverts, vacuums; the answers at every commit on the way. */
const live = async (service: TestService, order: 'asc' | 'desc', packed: boolean): Promise<readonly Step[]> => {
  const pool = `p_${order}`;
  const load = async (i: number): Promise<string> =>
    (
      JSON.parse((await service.ask('POST', `/pool/${pool}/branch/main`, { headers: json, body: bodyOf(i) })).body) as {
        readonly commit: string;
      }
    ).commit;
  await service.ask('POST', '/pool', {
    headers: json,
    body: JSON.stringify({ name: pool, layout: { order, keys: [['k']] } }),
  });
  const ask = async (of: string): Promise<readonly string[]> =>
    Promise.all(queries(of).map((text) => service.query(text)));
  const packs = (): number => storeOf(service, pool).packs.size;
  const commits: string[] = [];
  const steps: Step[] = [];
  for (let i = 0; i < 110; i++) commits.push(await load(i));
  if (packed) await expect.poll(packs, { timeout: 20_000 }).toBeGreaterThan(0);
  for (let i = 110; i < 125; i++) commits.push(await load(i));
  const look = async (name: string, of: string): Promise<void> => {
    steps.push({ commit: name, answers: await ask(of) });
  };
  await look('tip', pool);
  // Commits from before the pack and in the middle of it.
  for (const i of [3, 60, 109]) await look(`commit ${i}`, `${pool}@${commits[i]}`);
  const post = async (path: string, body?: object): Promise<void> => {
    const { status, body: text } = await service.ask('POST', `/pool/${pool}/branch/main/${path}`, {
      headers: json,
      ...(body && { body: JSON.stringify(body) }),
    });
    expect([status, text.slice(0, 200)]).toEqual([200, expect.any(String)]);
  };
  await post('delete', { where: 'k == 40 or n == 12' });
  await look('rows deleted', pool);
  await post(`revert/${commits[50]}`);
  await look('commit reverted', pool);
  await look('earlier commit', `${pool}@${commits[109]}`);
  const tip = storeOf(service, pool).branch('main').commit;
  expect((await service.ask('POST', `/pool/${pool}/revision/${`0x${tip}`}/vacuum`, { headers: json })).status).toBe(
    200,
  );
  await look('vacuumed', pool);
  // A pack of which an object was vacuumed is gone with it.
  if (packed) expect(packs()).toBe(0);
  return steps;
};

const writer = scriptArguments(new URL('./pack-writer.ts', import.meta.url));
/**
 * Lets a process commit and pack until it kills itself in its n-th transaction, a commit's or a pack's. Answers with
 * the keys that it acknowledged.
 */
const killedIn = (directory: string, transaction: number, firstKey: number): Promise<readonly number[]> =>
  new Promise((resolve, reject) => {
    const child = spawn(process.execPath, [...writer, directory, String(firstKey)], {
      stdio: ['ignore', 'pipe', 'pipe'],
      env: { ...process.env, LAKE_KILL_AT: `transaction: in it:${transaction}` },
    });
    let out = '';
    let fault = '';
    child.stdout.on('data', (chunk: Buffer) => {
      out += chunk.toString();
    });
    child.stderr.on('data', (chunk: Buffer) => {
      fault += chunk.toString();
    });
    child.on('error', reject);
    child.on('close', (code, signal) =>
      signal === 'SIGKILL'
        ? resolve(out.split('\n').slice(0, -1).map(Number))
        : reject(new Error(`the writer ended with ${code}: ${fault}`)),
    );
  });
const keysOf = async (
  lake: Lake,
  packs: boolean,
): Promise<{ readonly keys: readonly number[]; readonly shown: number }> => {
  const snapshot = await lake.openSnapshot('p', 'main');
  const page = snapshot.page({ limit: 100_000, packs });
  const keys: number[] = [];
  const source = { keys: [['k']], order: 'asc' as const, objects: openObjects(lake.directory), page: () => page };
  for await (const batch of scanObjects(source, { ordered: true }))
    for (let i = 0; i < batch.length; i++) keys.push(Number(supText(valueAt(batch, i)).match(/k:(\d+)/)?.[1]));
  snapshot.release();
  return { keys, shown: page.objects.length };
};

describe('packs', () => {
  test('a process that is killed while it commits and packs leaves packs that hold what their objects hold', {
    timeout: 300_000,
  }, async () => {
    const directory = await temporaryDirectory();
    const acknowledged: number[] = [];
    for (const [round, transaction] of [90, 141].entries())
      acknowledged.push(...(await killedIn(directory, transaction, round * 100_000)));
    const lake = await openTestLake({ directory });
    const own = await keysOf(lake, false);
    const packed = await keysOf(lake, true);
    expect(packed.keys).toEqual(own.keys);
    expect(packed.shown).toBeLessThan(own.shown);
    expect(acknowledged.filter((k) => !own.keys.includes(k))).toEqual([]);
    // The last commit of each round may be there without its acknowledgement.
    expect(own.keys.length - acknowledged.length).toBeLessThanOrEqual(2);
  });

  test('every query of every commit gives what it gives without packs, in both orders', {
    timeout: 300_000,
  }, async () => {
    const plain = await startService(['-workers', '1', '-pack.objects', '0']);
    const packing = await startService(['-workers', '1', '-pack.objects', '80']);
    onTestFinished(async () => {
      await Promise.all([plain.close(), packing.close()]);
    });
    for (const order of ['asc', 'desc'] as const) {
      const [expected, found] = await Promise.all([live(plain, order, false), live(packing, order, true)]);
      expect(found).toEqual(expected);
    }
  });

  test('a pack is read in place of its objects, outlives a restart, and goes with its pool', {
    timeout: 180_000,
  }, async () => {
    const directory = await temporaryDirectory();
    let service = await startService(['-workers', '1', '-pack.objects', '64'], directory);
    await service.ask('POST', '/pool', {
      headers: json,
      body: JSON.stringify({ name: 'p', layout: { order: 'asc', keys: [['k']] } }),
    });
    for (let i = 0; i < 100; i++)
      await service.ask('POST', '/pool/p/branch/main', { headers: json, body: JSON.stringify({ k: i, n: i }) });
    await expect.poll(() => storeOf(service, 'p').packs.size, { timeout: 20_000 }).toBeGreaterThan(0);
    const shown = async (packs: boolean): Promise<number> => {
      const snapshot = await service.lake.openSnapshot('p', 'main');
      const { objects } = snapshot.page({ limit: 1000, packs });
      snapshot.release();
      expect(objects.reduce((n, o) => n + o.count, 0)).toBe(100);
      return objects.length;
    };
    expect([await shown(false), (await shown(true)) <= 37]).toEqual([100, true]);
    expect(await service.query('from p | sum(n)')).toBe('4950\n');
    await service.close();
    service = await startService(['-workers', '1', '-pack.objects', '64'], directory);
    expect([await shown(false), (await shown(true)) <= 37]).toEqual([100, true]);
    expect(await service.query('from p | sum(n)')).toBe('4950\n');
    const { tables } = storeOf(service, 'p').stores;
    const rows = (): number => tables.keys('packs').length + tables.keys('bodies').length;
    expect(rows()).toBeGreaterThan(100);
    await service.ask('DELETE', '/pool/p', {});
    await expect.poll(rows, { timeout: 20_000 }).toBe(0);
    await service.close();
  });

  test('objects of which few fit into a pack are put together once, not to find out how many fit', {
    timeout: 120_000,
  }, async () => {
    const directory = await temporaryDirectory();
    const objects = openObjects(directory);
    const keys = [['k']];
    const order = 'asc' as const;
    let prepared = 0;
    const prepare: PackOptions['prepare'] = async (small) => {
      prepared += small.length;
      const cutter = new ObjectCutter({ keys, order }, objects, 1 << 20);
      cutter.expect(small.length, 7000);
      const source = { keys, order, objects, page: () => ({ objects: small }) };
      for await (const batch of scanObjects(source, { ordered: true })) cutter.add(batch);
      return { adds: (await cutter.finish()).objects };
    };
    const lake = await openTestLake({ directory, objects, packs: { objectsMin: 16, prepare } });
    const { pool } = await lake.createPool({ name: 'p', keys });
    const { store } = (lake as unknown as { face(name: string): PoolFace }).face('p');
    const perRound = 140;
    const work: number[] = [];
    for (let round = 1; round <= 3; round++) {
      prepared = 0;
      for (let i = 0; i < perRound; i++) {
        // Nothing of it can be compressed, and some eight fit into a pack.
        const body = Buffer.from(JSON.stringify({ k: round * perRound + i, text: randomBytes(3500).toString('hex') }));
        const form = { pool: { keys, order, threshold: 1 << 20 }, format: 'sup' as const, body };
        await lake.pool('p').load('main', (await runSmallLoad(form, { objects, readLimits: {} })).objects);
      }
      const loose = async (): Promise<number> => {
        const snapshot = await lake.openSnapshot(pool.name, 'main');
        const page = snapshot.page({ limit: 10_000, packs: true });
        snapshot.release();
        return page.objects.length - store.packs.size;
      };
      await expect.poll(loose, { timeout: 20_000 }).toBeLessThan(16 + 16);
      work.push(prepared / perRound);
    }
    expect(Math.max(...work.slice(1))).toBeLessThan(1.5);
    expect((await keysOf(lake, true)).keys).toEqual((await keysOf(lake, false)).keys);
  });

  test('workers that close while they pack are no fault of the lake', async () => {
    const directory = await temporaryDirectory();
    const objects = openObjects(directory);
    const prepare = vi.fn<PackOptions['prepare']>(() => Promise.reject(new LakeError('workers-closed')));
    // A fault that the lake reports fails the test.
    const lake = await openTestLake({ directory, objects, packs: { objectsMin: 16, prepare } });
    await lake.createPool({ name: 'p' });
    for (let i = 0; i < 20; i++) await lake.pool('p').load('main', [inlineObject(i)]);
    await expect.poll(() => prepare.mock.calls.length, { timeout: 20_000 }).toBe(1);
  });

  test('what is left to pack is looked for where something was left, or is new', async () => {
    const lake = await openTestLake();
    const { pool } = await lake.createPool({ name: 'p' });
    const { tables } = (lake as unknown as { face(name: string): PoolFace }).face('p').store.stores;
    const packs = new PackIndex(tables, pool.id);
    const entries = Array.from(
      { length: 3000 },
      (_, i): ObjectEntry => ({
        id: newId(),
        count: 1,
        size: 100,
        min: bound(i),
        max: bound(i),
        sequence: i,
        inTable: true,
        vector: false,
      }),
    );
    let looked = 0;
    const fits = (): boolean => ++looked > 0;
    const loose = (list: ObjectList): number => {
      looked = 0;
      return [...packs.loose(list, fits)].length;
    };
    const list = ObjectList.of('asc', entries.slice(0, 2999));
    expect([loose(list), looked]).toEqual([2999, 2999]);
    const members = (start: number, end: number): Id[] => entries.slice(start, end).map(({ id }) => id);
    packs.add({ entry: { ...entries[0]!, id: newId() }, members: members(0, 1000) });
    packs.add({ entry: { ...entries[1000]!, id: newId() }, members: members(1000, 2999) });
    expect([loose(list), looked]).toEqual([0, 2999]);
    expect([loose(list), looked]).toEqual([0, 0]);
    const grown = list.change([], [entries[2999]!]);
    expect(loose(grown)).toBe(1);
    expect(looked).toBeLessThan(1000);
    packs.forget(members(5, 6));
    expect([loose(grown), looked]).toEqual([1001, 3000]);
  });
});
