/** Transactions over several pools: all or none, for who waits, who reads, and after a kill. */
import { setImmediate as nextTurn } from 'node:timers/promises';
import { describe, expect, test } from 'vitest';
import type { CommitTerms, Id, Lake, TransactionChange } from '../../../src/lake/lake.types.ts';
import { failure, fileObject, inlineObject, keysAt, newPool, openTestLake } from './support.ts';

const twoPools = async (options: Parameters<typeof openTestLake>[0] = {}): Promise<Lake> => {
  const lake = await openTestLake(options);
  await newPool(lake, 'p');
  await newPool(lake, 'q');
  return lake;
};
const load = (pool: string, key: number, terms: CommitTerms = {}, branch = 'main'): TransactionChange => ({
  pool,
  branch,
  label: `commits of ${pool}`,
  note: { author: 'ann', terms },
  what: 'load',
  objects: [inlineObject(key)],
});

describe('a transaction', () => {
  test('makes a commit in each pool, which has its id, with one event each', async () => {
    const lake = await twoPools();
    const events: unknown[] = [];
    lake.onEvent(({ kind, branch, commitId, transactionId }) => {
      events.push({ kind, branch, commitId, transactionId });
    });
    await lake.pool('q').createBranch('kid', '0'.repeat(40));
    events.length = 0;
    const { transaction, commits } = await lake.transact([load('q', 1), load('q', 2, {}, 'kid'), load('p', 3)]);
    expect(commits.map(({ branch }) => branch)).toEqual(['main', 'kid', 'main']);
    expect([commits[0]!.commit, commits[2]!.commit]).toEqual([transaction, transaction]);
    expect(commits[1]!.commit).not.toBe(transaction);
    expect(events.map((event) => (event as { transactionId?: Id }).transactionId)).toEqual(
      Array.from({ length: 3 }, () => transaction),
    );
    expect(await keysAt(lake, 'p', `0x${transaction}`)).toEqual(['3']);
    expect(await keysAt(lake, 'q', `0x${transaction}`)).toEqual(['1']);
    expect(await keysAt(lake, 'q', 'kid')).toEqual(['2']);
    await lake.pool('p').load('main', [inlineObject(9)]);
    expect(await keysAt(lake, 'p', `0x${transaction}`)).toEqual(['3']);
  });

  test('comes to nothing where one branch is not where it must be, is protected or not there; the error says which', async () => {
    const lake = await twoPools();
    await lake.transact([load('p', 1), load('q', 1)]);
    const before = [lake.pool('p').tip('main'), lake.pool('q').tip('main')];
    expect(await failure(lake.transact([load('p', 2), load('q', 2, { ifTip: ['1'.repeat(40)] })]))).toMatchObject({
      code: 'tip-moved',
      text: expect.stringMatching(/^commits of q: If-Match does not match: the branch is at /),
    });
    expect((await failure(lake.transact([load('p', 2), load('q', 2, {}, 'kid')]))).text).toBe(
      'commits of q: "kid": branch not found',
    );
    await lake.pool('q').protect('main', { load: 'admin' });
    // So is a change that brings what was loaded.
    const terms: CommitTerms = { by: 'writer' };
    const bringing = { ...counting('q', () => undefined, terms), label: 'commits of q', brings: [inlineObject(7)] };
    for (const cause of ['update', 'delete where'] as const)
      expect((await failure(lake.transact([{ ...bringing, cause }]))).text).toMatch(
        /^commits? of q: branch "main" is protected: it is for admin to load it/,
      );
    expect((await failure(lake.transact([load('p', 2), load('q', 2, { by: 'writer' })]))).code).toBe(
      'branch-protected',
    );
    expect((await failure(lake.transact([load('p', 2), load('p', 3)]))).text).toBe(
      'commits of p: p/main: two commits of one transaction on the same branch',
    );
    expect((await failure(lake.transact([load('p', 2), load('r', 3)]))).text).toBe('commits of r: r: pool not found');
    expect([lake.pool('p').tip('main'), lake.pool('q').tip('main')]).toEqual(before);
    await lake.transact([load('p', 2), load('q', 2)]);
    expect(await keysAt(lake, 'q', 'main')).toEqual(['1', '2']);
  });

  test('prepares again what others overtook, and gives up in the end; files of what was prepared go', async () => {
    const lake = await twoPools();
    const one = inlineObject(1);
    await lake.pool('p').load('main', [one]);
    let attempts = 0;
    const replace = (overtaken: number): TransactionChange => ({
      pool: 'p',
      branch: 'main',
      note: {},
      what: 'rewrite',
      cause: 'update',
      brings: [],
      prepare: async (snapshot) => {
        const [object] = snapshot.page({ limit: 1 }).objects;
        attempts++;
        if (attempts <= overtaken) {
          await lake.pool('p').deleteObjects('main', [object!.id]);
          await lake.pool('p').load('main', [inlineObject(attempts)]);
        }
        return { removes: [object!.id], adds: [await fileObject(lake, 100 + attempts)] };
      },
    });
    await lake.transact([replace(2), load('q', 1)]);
    expect(attempts).toBe(3);
    expect(await keysAt(lake, 'p', 'main')).toEqual(['103']);
    attempts = 0;
    expect(await failure(lake.transact([replace(99), load('q', 2)]))).toMatchObject({
      code: 'transaction-overtaken',
      text: 'transaction: gave up after 8 attempts: others wrote to its branches meanwhile; try again',
    });
    expect(attempts).toBe(8);
    expect(await keysAt(lake, 'q', 'main')).toEqual(['1']);
  });
});

test('side by side, in any order of their pools, all of them end; each branch has them in one order', async () => {
  const lake = await openTestLake();
  const names = ['a', 'b', 'c', 'd'];
  for (const name of names) await newPool(lake, name);
  const order = new Map<string, Id[]>(names.map((name) => [name, []]));
  lake.onEvent(({ poolName, transactionId }) => {
    if (transactionId !== undefined) order.get(poolName!)!.push(transactionId);
  });
  await Promise.all(
    Array.from({ length: 60 }, async (_, i) => {
      const [first, second] = [names[i % 4]!, names[(i + 1 + (i % 3)) % 4]!];
      if (i % 5 === 0) await lake.pool(first).load('main', [inlineObject(1000 + i)]);
      await lake.transact([load(first, i), load(second, i)]);
    }),
  );
  const counts = await Promise.all(names.map(async (name) => (await keysAt(lake, name, 'main')).length));
  expect(counts.reduce((sum, n) => sum + n, 0)).toBe(60 * 2 + 12);
  // Of two transactions that share two pools the same one is the first in both.
  const place = (name: string): Map<Id, number> => new Map(order.get(name)!.map((id, i) => [id, i]));
  for (const one of names)
    for (const other of names) {
      const [a, b] = [place(one), place(other)];
      const shared = [...a.keys()].filter((id) => b.has(id));
      expect(shared).toEqual([...shared].sort((x, y) => b.get(x)! - b.get(y)!));
    }
});

/** The pool's only object becomes one whose key is the next number. */
const counting = (
  pool: string,
  prepared: () => void,
  terms: CommitTerms = {},
): Extract<TransactionChange, { what: 'rewrite' }> => ({
  pool,
  branch: 'main',
  note: { terms },
  what: 'rewrite',
  cause: 'update',
  brings: [],
  prepare: async (snapshot) => {
    const [object] = snapshot.page({ limit: 1 }).objects;
    prepared();
    for (let i = 0; i < 4; i++) await nextTurn();
    return { removes: [object!.id], adds: [inlineObject(Number(object!.min.text) + 1)] };
  },
});

describe('transactions that change the same records', () => {
  const clients = 16;
  test('wait for each other: none gives up, each is prepared twice at most', async () => {
    const lake = await twoPools();
    await lake.transact([load('p', 0), load('q', 0)]);
    const attempts = Array.from({ length: clients }, () => 0);
    await Promise.all(
      attempts.map((_, i) => {
        const names = i % 2 === 0 ? ['p', 'q'] : ['q', 'p'];
        return lake.transact(names.map((name) => counting(name, () => attempts[i]!++)));
      }),
    );
    expect([await keysAt(lake, 'p', 'main'), await keysAt(lake, 'q', 'main')]).toEqual([['16'], ['16']]);
    expect(Math.max(...attempts)).toBeLessThanOrEqual(4);
  });

  test('wait for updates of single pools and these for them, in circles of pools too', async () => {
    const lake = await openTestLake();
    const names = ['a', 'b', 'c'];
    for (const name of names) {
      await newPool(lake, name);
      await lake.pool(name).load('main', [inlineObject(0)]);
    }
    const ends = await Promise.allSettled(
      Array.from({ length: 3 * clients }, (_, i) => {
        const of = (k: number): TransactionChange => counting(names[(i + k) % 3]!, () => undefined);
        const { pool, prepare, note } = counting(names[i % 3]!, () => undefined);
        return i % 4 === 3 ? lake.pool(pool).update('main', prepare, note) : lake.transact([of(0), of(1)]);
      }),
    );
    expect(ends.filter(({ status }) => status === 'rejected')).toEqual([]);
    // 36 of two pools, 12 of one, evenly.
    expect(await Promise.all(names.map((name) => keysAt(lake, name, 'main')))).toEqual([['28'], ['28'], ['28']]);
  });

  test('are refused at their place in the line where their condition does not hold', async () => {
    const lake = await twoPools();
    await lake.transact([load('p', 0), load('q', 0)]);
    const terms = { ifTip: [lake.pool('q').tip('main')] };
    let prepared = 0;
    const ends = await Promise.allSettled(
      Array.from({ length: clients }, () =>
        lake.transact([counting('p', () => prepared++), counting('q', () => undefined, terms)]),
      ),
    );
    const codes = ends.map((end) => (end.status === 'fulfilled' ? 'made' : (end.reason as { code: string }).code));
    expect(codes.sort()).toEqual(['made', ...Array.from({ length: clients - 1 }, () => 'tip-moved')].sort());
    // What failed is no one's place any more.
    await lake.transact([counting('q', () => undefined), counting('p', () => undefined)]);
    expect(await keysAt(lake, 'p', 'main')).toEqual(['2']);
    expect(prepared).toBeLessThanOrEqual(2 * clients);
  });

  test('see what those before them merged', async () => {
    const lake = await twoPools();
    await lake.transact([load('p', 0), load('q', 0)]);
    await lake.pool('q').createBranch('kid', lake.pool('q').tip('main'));
    const ends = await Promise.allSettled(
      Array.from({ length: 6 }, async (_, i) => {
        await lake.pool('q').load('kid', [inlineObject(10 + i)]);
        const kid: TransactionChange = { ...counting('q', () => undefined), branch: 'kid' };
        const prepare = (): never => {
          throw new Error('objects decide it');
        };
        const merge: TransactionChange = {
          ...{ pool: 'q', branch: 'main', note: {} },
          ...{ what: 'merge', child: 'kid', prepare },
        };
        return lake.transact(i % 2 === 0 ? [counting('p', () => undefined), merge] : [kid, load('p', 100 + i)]);
      }),
    );
    const codes = ends.flatMap((end) => (end.status === 'fulfilled' ? [] : [(end.reason as { code: string }).code]));
    expect(codes.every((code) => code === 'merge-empty')).toBe(true);
  });
});

test('a query that looked up one pool sees the other as it was before', async () => {
  const lake = await twoPools();
  await lake.transact([load('p', 1), load('q', 1)]);
  const before = lake.pool('p').tip('main');
  const cut = lake.cut();
  const p = await lake.openSnapshot('p', 'main', cut);
  await lake.pool('q').load('main', [inlineObject(7)]);
  const between = lake.pool('q').tip('main');
  const { transaction } = await lake.transact([load('p', 2), load('q', 2)]);
  await lake.transact([load('p', 3), load('q', 3)]);
  const q = await lake.openSnapshot('q', 'main', cut);
  expect([p.commit, q.commit]).toEqual([before, between]);
  const own = await lake.openSnapshot('q', `0x${transaction}`, cut);
  expect(own.commit).toBe(transaction);
  cut.close();
  const now = await lake.openSnapshot('q', 'main', lake.cut());
  expect(now.commit).toBe(lake.pool('q').tip('main'));
  for (const snapshot of [p, q, own, now]) snapshot.release();
});

test('a pool that is deleted, or a lake that closes, lets the others go', async () => {
  const lake = await twoPools();
  const [first, second] = [...lake.pools()].sort((a, b) => (a.id < b.id ? -1 : 1)).map(({ name }) => name);
  const both = lake.transact([load(first!, 1), load(second!, 1)]);
  const gone = lake.deletePool(second!);
  const ends = await Promise.allSettled([both, gone]);
  expect(ends[1].status).toBe('fulfilled');
  await lake.pool(first!).load('main', [inlineObject(5)]);
  const keys = await keysAt(lake, first!, 'main');
  expect(keys).toEqual(ends[0].status === 'fulfilled' ? ['1', '5'] : ['5']);
  await newPool(lake, 'r');
  const late = [lake.transact([load(first!, 8), load('r', 8)]), lake.transact([load('r', 9), load(first!, 9)])];
  const settled = Promise.allSettled(late);
  await lake.close();
  for (const end of await settled)
    if (end.status === 'rejected') expect(end.reason).toMatchObject({ code: 'lake-closing' });
});
