/** Packs of small objects: the same answers as without them, whatever was done to the objects since. */
import { describe, expect, onTestFinished, test } from 'vitest';
import type { PoolFace } from '../../../src/lake/pool.ts';
import { startService, type TestService } from '../../support/server.ts';
import { temporaryDirectory } from './support.ts';

const json = { 'content-type': 'application/json', accept: 'application/json' };
const storeOf = (service: TestService, pool: string) => (service.lake as unknown as { face(name: string): PoolFace }).face(pool).store;

/** Keys that repeat and come in no order, rows of three shapes, some of them several in a body. */
const bodyOf = (i: number): string => {
  const k = (i * 7919) % 101, row = i % 3 === 0 ? { k, name: `row ${i}`, n: i } : i % 3 === 1 ? { k, n: i, deep: { list: [i, i + 1] } } : { k: i % 5 === 0 ? null : k, name: 'same' };
  return i % 11 === 0 ? `${JSON.stringify(row)}\n${JSON.stringify({ k: k + 1, name: `two of ${i}` })}\n` : JSON.stringify(row);
};
const queries = (pool: string): readonly string[] => [
  `from ${pool} | sort this | count() by this | sort this`, `from ${pool}`, `from ${pool} | head 7`, `from ${pool} | tail 7`, `from ${pool} | k > 20 and k <= 60`, `from ${pool} | k >= 0`,
  `from ${pool} | name=='row 33'`, `from ${pool} | count()`, `from ${pool} | sum(n), max(k) by name | sort this`, `from ${pool} | sort -r n | head 3`,
];

interface Step { readonly commit: string; readonly answers: readonly string[] }
/** Loads, packs if the service does, deletes, reverts, vacuums; the answers at every commit on the way. */
const live = async (service: TestService, order: 'asc' | 'desc', packed: boolean): Promise<readonly Step[]> => {
  const load = async (i: number): Promise<string> => (JSON.parse((await service.ask('POST', '/pool/p/branch/main', { headers: json, body: bodyOf(i) })).body) as { readonly commit: string }).commit;
  await service.ask('POST', '/pool', { headers: json, body: JSON.stringify({ name: 'p', layout: { order, keys: [['k']] } }) });
  const ask = async (of: string): Promise<readonly string[]> => Promise.all(queries(of).map((text) => service.query(text)));
  const packs = (): number => storeOf(service, 'p').packs.size;
  const commits: string[] = [], steps: Step[] = [];
  for (let i = 0; i < 150; i++) commits.push(await load(i));
  if (packed) await expect.poll(packs, { timeout: 20_000 }).toBeGreaterThan(0);
  for (let i = 150; i < 170; i++) commits.push(await load(i));
  const look = async (name: string, of: string): Promise<void> => { steps.push({ commit: name, answers: await ask(of) }); };
  await look('tip', 'p');
  // Commits from before the pack and in the middle of it.
  for (const i of [3, 60, 149]) await look(`commit ${i}`, `p@${commits[i]}`);
  const post = async (path: string, body?: object): Promise<void> => {
    const { status, body: text } = await service.ask('POST', `/pool/p/branch/main/${path}`, { headers: json, ...(body && { body: JSON.stringify(body) }) });
    expect([status, text.slice(0, 200)]).toEqual([200, expect.any(String)]);
  };
  await post('delete', { where: 'k == 40 or n == 12' });
  await look('rows deleted', 'p');
  await post(`revert/${commits[50]}`);
  await look('commit reverted', 'p');
  await look('earlier commit', `p@${commits[149]}`);
  const tip = storeOf(service, 'p').branch('main').commit;
  expect((await service.ask('POST', `/pool/p/revision/${`0x${tip}`}/vacuum`, { headers: json })).status).toBe(200);
  await look('vacuumed', 'p');
  // A pack of which an object was vacuumed is gone with it.
  if (packed) expect(packs()).toBe(0);
  return steps;
};

describe('packs', () => {
  for (const order of ['asc', 'desc'] as const) {
    test(`every query of every commit gives what it gives without packs (${order})`, { timeout: 120_000 }, async () => {
      const plain = await startService(['-workers', '1', '-pack.objects', '0']), packing = await startService(['-workers', '1', '-pack.objects', '100']);
      onTestFinished(async () => { await Promise.all([plain.close(), packing.close()]); });
      const [expected, found] = await Promise.all([live(plain, order, false), live(packing, order, true)]);
      expect(found).toEqual(expected);
    });
  }

  test('a pack is read in place of its objects, outlives a restart, and goes with its pool', { timeout: 60_000 }, async () => {
    const directory = await temporaryDirectory();
    let service = await startService(['-workers', '1', '-pack.objects', '64'], directory);
    await service.ask('POST', '/pool', { headers: json, body: JSON.stringify({ name: 'p', layout: { order: 'asc', keys: [['k']] } }) });
    for (let i = 0; i < 100; i++) await service.ask('POST', '/pool/p/branch/main', { headers: json, body: JSON.stringify({ k: i, n: i }) });
    await expect.poll(() => storeOf(service, 'p').packs.size, { timeout: 20_000 }).toBeGreaterThan(0);
    const shown = async (packs: boolean): Promise<number> => {
      const snapshot = await service.lake.openSnapshot('p', 'main');
      const { objects } = snapshot.page({ limit: 1000, packs });
      snapshot.release();
      expect(objects.reduce((n, o) => n + o.count, 0)).toBe(100);
      return objects.length;
    };
    expect([await shown(false), await shown(true) <= 37]).toEqual([100, true]);
    expect(await service.query('from p | sum(n)')).toBe('4950\n');
    await service.close();
    service = await startService(['-workers', '1', '-pack.objects', '64'], directory);
    expect([await shown(false), await shown(true) <= 37]).toEqual([100, true]);
    expect(await service.query('from p | sum(n)')).toBe('4950\n');
    const { tables } = storeOf(service, 'p').stores, rows = (): number => tables.keys('packs').length + tables.keys('bodies').length;
    expect(rows()).toBeGreaterThan(100);
    await service.ask('DELETE', '/pool/p', {});
    await expect.poll(rows, { timeout: 20_000 }).toBe(0);
    await service.close();
  });
});
