/**
 * Segments of the log that are on their way side by side, with commits of several pools or of one: they count in their
 * order, and what is behind a gap when another writer takes over is nobody's.
 */
import { describe, expect, test, vi } from 'vitest';
import { LakeError } from '../../src/errors.ts';
import type { Lake } from '../../src/lake/lake.types.ts';
import { segmentsAhead } from '../../src/lake/store/segments.ts';
import { inlineObject, keysAt, newPool, temporaryDirectory } from '../unit/lake/support.ts';
import { openReplica, openStored, startStore } from './support.ts';

const until = (look: () => unknown): Promise<unknown> => vi.waitFor(look, { timeout: 60_000, interval: 10 });
/** Of those that go at once. */
const ahead = Array.from({ length: segmentsAhead }, (_, n) => n);
const commits = segmentsAhead + 2;
/** A writer with pools; each log segment is put as `faultOf` says, by how many were put before it. */
const startWriter = async (pools: readonly string[], options: { readonly retryMsMax?: number } = {}) => {
  const store = await startStore();
  const one = await openStored(await temporaryDirectory(), store.proxy.endpoint, { address: 'one', ...options });
  for (const name of new Set(pools)) await newPool(one.lake, name);
  const first = one.lake.figures().store!.segment + 1;
  const numberOf = (path: string): number => Number(/\/log\/(\d{16})/.exec(path)?.[1] ?? 0) - first;
  const logKeys = (): number[] =>
    store
      .keys()
      .filter((key) => key.startsWith('log/'))
      .map((key) => Number(key.slice(4)) - first)
      .filter((n) => n >= 0);
  return { ...store, one, first, numberOf, logKeys };
};
/** A commit in each, the first `own` of them each in a segment of its own, as far as `sent` tells. */
const loadEach = async (
  { lake, pools }: { readonly lake: Lake; readonly pools: readonly string[] },
  sent: () => number,
  own = segmentsAhead,
): Promise<readonly Promise<string>[]> => {
  const ends: Promise<string>[] = [];
  for (const [n, pool] of pools.entries()) {
    ends.push(
      lake
        .pool(pool)
        .load('main', [inlineObject(n)])
        .then(
          () => 'done',
          (fault: Error) => fault.message,
        ),
    );
    if (n < own) await until(() => expect(sent()).toBe(n + 1));
  }
  return ends;
};
const rowsOf = async (lake: Lake): Promise<readonly string[]> => {
  const found: string[] = [];
  for (const { name } of lake.pools()) found.push(...(await keysAt(lake, name, 'main')));
  return found.sort();
};
const all = Array.from({ length: commits }, (_, n) => String(n));

describe.each([
  { what: 'several pools', pools: all.map((_, n) => String.fromCodePoint(97 + n)) },
  { what: 'one pool', pools: all.map(() => 'a') },
])('$what', ({ pools }) => {
  test('they count in their order, and no more than so many go at once', async () => {
    const { proxy, server, one, numberOf, logKeys } = await startWriter(pools);
    const replica = await openReplica(await temporaryDirectory(), server.endpoint);
    const puts: number[] = [];
    proxy.faultOf = (method, path) => {
      const n = numberOf(path);
      if (method !== 'PUT' || !path.includes('/log/')) return undefined;
      puts.push(n);
      return n === 0 ? 'late' : undefined;
    };
    const ends = await loadEach({ lake: one.lake, pools }, () => puts.length);
    await until(() => expect(logKeys()).toEqual(ahead.slice(1)));
    // Nobody sees what follows a gap.
    expect(await rowsOf(one.lake)).toEqual([]);
    expect(await rowsOf(replica.lake)).toEqual([]);
    const early = await openReplica(await temporaryDirectory(), server.endpoint);
    expect(await rowsOf(early.lake)).toEqual([]);
    expect(puts).toEqual(ahead);
    proxy.release();
    expect(await Promise.all(ends)).toEqual(all.map(() => 'done'));
    expect(await rowsOf(one.lake)).toEqual(all);
    for (const { lake, faults } of [replica, early]) {
      await until(async () => expect(await rowsOf(lake)).toEqual(all));
      expect(faults).toEqual([]);
    }
    expect(await rowsOf((await openStored(await temporaryDirectory(), server.endpoint)).lake)).toEqual(all);
  });

  test('one that fails is put again while those behind it are there', async () => {
    const { proxy, server, one, numberOf, logKeys } = await startWriter(pools, { retryMsMax: 4000 });
    const tried: string[] = [];
    proxy.faultOf = (method, path) => {
      if (method !== 'PUT' || !path.includes('/log/')) return undefined;
      tried.push(path);
      // The first answer is lost, and the next tries fail: what is there is its own.
      return numberOf(path) === 0 ? (tried.filter((each) => each === path).length === 1 ? 'lost' : '503') : undefined;
    };
    // The others at once: when the first put is known to fail new writes are refused.
    const ends = await loadEach({ lake: one.lake, pools }, () => new Set(tried).size, 1);
    await until(() => expect(logKeys().length).toBeGreaterThan(1));
    await until(() => expect(one.lake.figures().store!.fault).toContain('failed'));
    proxy.faultOf = () => undefined;
    expect(await Promise.all(ends)).toEqual(all.map(() => 'done'));
    expect(one.lake.figures().store!.fault).toBeUndefined();
    expect(await rowsOf((await openStored(await temporaryDirectory(), server.endpoint)).lake)).toEqual(all);
  });

  // Where the gap is: behind the first that is held back nothing counts, be the others there before the fence or after.
  test.each([{ held: [0] }, { held: [0, 2] }, { held: ahead }, { held: ahead.slice(-2) }])(
    'a writer that was overtaken while $held were held back',
    async ({ held }) => {
      const { proxy, server, one, numberOf, logKeys } = await startWriter(pools);
      const replica = await openReplica(await temporaryDirectory(), server.endpoint);
      const puts: number[] = [];
      proxy.faultOf = (method, path) => {
        if (method !== 'PUT' || !path.includes('/log/')) return undefined;
        puts.push(numberOf(path));
        return held.includes(numberOf(path)) ? 'late' : undefined;
      };
      const ends = await loadEach({ lake: one.lake, pools }, () => puts.length);
      await until(() => expect(logKeys()).toEqual(ahead.filter((n) => !held.includes(n))));
      const gap = held[0]!;
      const two = await openStored(await temporaryDirectory(), server.endpoint, { address: 'two' });
      expect(await rowsOf(two.lake)).toEqual(all.slice(0, gap));
      await two.lake.pool('a').load('main', [inlineObject(90)]);
      proxy.release();
      const said = await Promise.all(ends);
      expect(said.slice(0, gap)).toEqual(all.slice(0, gap).map(() => 'done'));
      for (const text of said.slice(gap)) expect(text).toMatch(/no longer the writer of s3:\/\/lakes\/a: two/);
      // Those that came late are where nobody reads.
      await until(() => expect(logKeys()).toEqual(expect.arrayContaining(ahead.filter((n) => n !== gap))));
      for (let n = 100; n < 110; n++) await two.lake.pool(pools[1]!).load('main', [inlineObject(n)]);
      const wanted = await rowsOf(two.lake);
      expect(wanted).toEqual(
        [...all.slice(0, gap), '90', ...Array.from({ length: 10 }, (_, n) => `${100 + n}`)].toSorted(),
      );
      await until(async () => expect(await rowsOf(replica.lake)).toEqual(wanted));
      expect(replica.faults).toEqual([]);
      await two.lake.close();
      const third = await openStored(await temporaryDirectory(), server.endpoint);
      expect(await rowsOf(third.lake)).toEqual(wanted);
      // The folder of the one that lost goes on as well, without what nobody was told of.
      await third.lake.close();
      await one.lake.close();
      proxy.faultOf = () => undefined;
      const again = await openStored(one.lake.directory, proxy.endpoint);
      expect(await rowsOf(again.lake)).toEqual(wanted);
    },
  );
});

test('who asks where the branch is, or does something else, waits for commits of the pool that are on their way', async () => {
  const { proxy, server, one, numberOf, logKeys } = await startWriter(['a']);
  proxy.faultOf = (method, path) => (method === 'PUT' && numberOf(path) === 0 ? 'late' : undefined);
  const pool = one.lake.pool('a');
  const before = pool.tip('main');
  const settled: string[] = [];
  const asked = async (what: string, work: Promise<unknown>): Promise<void> => {
    const end = await work.then(
      () => 'done',
      (fault: Error) => (fault instanceof LakeError ? fault.code : String(fault)),
    );
    settled.push(`${what}: ${end}`);
  };
  const object = inlineObject(1);
  const all = [
    asked('first', pool.load('main', [inlineObject(0)])),
    asked('second', pool.load('main', [object])),
    asked('into no branch', pool.load('gone', [inlineObject(2)])),
    asked('on the old tip', pool.load('main', [inlineObject(3)], { terms: { ifTip: [before] } })),
    asked('removal of one that is on its way', pool.deleteObjects('main', [object.id])),
    asked('behind', pool.load('main', [inlineObject(4)])),
  ];
  await until(() => expect(logKeys()).toEqual([1]));
  expect([settled, pool.tip('main')]).toEqual([[], before]);
  expect(one.lake.queues()).toEqual([{ pool: 'a', waiting: 3, running: 3 }]);
  proxy.release();
  await Promise.all(all);
  expect(settled).toEqual([
    'first: done',
    'second: done',
    'into no branch: branch-not-found',
    'on the old tip: tip-moved',
    'removal of one that is on its way: done',
    'behind: done',
  ]);
  const copy = await openStored(await temporaryDirectory(), server.endpoint);
  for (const { lake } of [one, copy]) {
    expect(await keysAt(lake, 'a', 'main')).toEqual(['0', '4']);
    const { commits: made } = await lake.pool('a').graph({ limit: 10 });
    expect(made.map(({ parents }) => parents)).toEqual([...made.slice(1).map(({ id }) => [id]), []]);
    expect(made.length).toBe(4);
  }
});
