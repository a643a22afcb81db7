import { describe, expect, test } from 'vitest';
import { base62, zeroId } from '../../../src/lake/ksuid.ts';
import type { Lake, LakeEvent } from '../../../src/lake/lake.types.ts';
import { openObjects } from '../../../src/lake/objects/objects.ts';
import { failure, inlineObject, keysAt, metaRows, newPool, openTestLake, temporaryDirectory } from './support.ts';

describe('pools', () => {
  test('a new pool has the defaults and a main branch at the zero commit', async () => {
    const lake = await openTestLake();
    const { pool, branch } = await lake.createPool({ name: 'p' });
    expect({ ...pool, tsNs: 0n, id: '' }).toEqual({
      tsNs: 0n,
      name: 'p',
      id: '',
      layout: { order: 'asc', keys: [['ts']] },
      seekStride: 65536,
      threshold: 524288000,
    });
    expect(branch).toEqual({ tsNs: pool.tsNs, name: 'main', commit: zeroId });
    expect(lake.pools()).toEqual([pool]);
  });

  test('a pool is found by hexadecimal id, base 62 id and name', async () => {
    const lake = await openTestLake();
    const { pool } = await lake.createPool({ name: 'p' });
    expect(
      [`0x${pool.id}`, `0x${pool.id.toUpperCase()}`, base62(pool.id), 'p'].map(
        (reference) => lake.pool(reference).config.id,
      ),
    ).toEqual(Array(4).fill(pool.id));
    expect(() => lake.pool('q')).toThrow('q: pool not found');
  });

  test('of many creates of one name exactly one wins, the others get a conflict', async () => {
    const lake = await openTestLake();
    const results = await Promise.allSettled(Array.from({ length: 20 }, () => lake.createPool({ name: 'p' })));
    expect(results.filter((r) => r.status === 'fulfilled')).toHaveLength(1);
    expect(new Set(results.flatMap((r) => (r.status === 'rejected' ? [(r.reason as Error).message] : [])))).toEqual(
      new Set(['p: pool already exists']),
    );
  });

  test('names of any length and letters work, the empty name and HEAD do not', async () => {
    const lake = await openTestLake();
    for (const name of ['x'.repeat(5000), 'a/b\n', '0x0123456789012345678901234567890123456789', '日本']) {
      await lake.createPool({ name });
      expect(lake.pool(name).config.name).toBe(name);
    }
    expect(await failure(lake.createPool({ name: '' }))).toEqual({
      code: 'pool-name-missing',
      status: 400,
      text: 'pool name is missing',
    });
    expect(await failure(lake.createPool({ name: 'HEAD' }))).toEqual({
      code: 'name-reserved',
      status: 400,
      text: 'pool cannot be named "HEAD"',
    });
  });

  test('rename keeps id, time and data; a taken name is a conflict, the own name too', async () => {
    const lake = await openTestLake();
    const pool = await newPool(lake, 'a');
    const before = pool.config;
    await newPool(lake, 'b');
    await pool.load('main', [inlineObject(1)]);
    expect((await failure(lake.renamePool('a', 'b'))).text).toBe('b: pool already exists');
    expect((await failure(lake.renamePool('a', 'a'))).text).toBe('a: pool already exists');
    await lake.renamePool('a', 'c');
    expect(lake.pool('c').config).toEqual({ ...before, name: 'c' });
    expect(() => lake.pool('a')).toThrow('a: pool not found');
    await lake.createPool({ name: 'a' });
    expect(await keysAt(lake, 'c', 'main')).toEqual(['1']);
  });

  test('a deleted pool is gone at once, its name is free, a second delete is a 404, a write that waits too', async () => {
    const lake = await openTestLake();
    const pool = await newPool(lake);
    const writes = Array.from({ length: 10 }, (_, i) => pool.load('main', [inlineObject(i)]));
    const deleted = lake.deletePool('p');
    const ends = await Promise.allSettled([...writes, deleted]);
    expect(ends.at(-1)!.status).toBe('fulfilled');
    for (const end of ends)
      if (end.status === 'rejected') expect((end.reason as Error).message).toBe('p: pool not found');
    expect(
      await failure(
        (async () => {
          await lake.deletePool('p');
        })(),
      ),
    ).toEqual({ code: 'pool-not-found', status: 404, text: 'p: pool not found' });
    const again = await newPool(lake);
    expect(again.config.id).not.toBe(pool.config.id);
    expect((await failure(pool.load('main', [inlineObject(1)]))).code).toBe('pool-not-found');
    expect(await keysAt(lake, 'p', 'main')).toEqual([]);
  });

  test('everything is there again after closing and opening', async () => {
    const lake = await openTestLake();
    const { directory } = lake;
    const pool = await newPool(lake, 'p', 'desc');
    for (let i = 0; i < 5; i++) await pool.load('main', [inlineObject(i)]);
    await pool.createBranch('kid', pool.branch('main').commit);
    await pool.load('kid', [inlineObject(9)]);
    await newPool(lake, 'gone');
    await lake.deletePool('gone');
    const branches = pool.branches();
    const config = pool.config;
    const last = lake.lastEventId();
    await lake.close();
    expect(lake.status()).toEqual({ state: 'closed' });
    expect((await failure(pool.load('main', [inlineObject(1)]))).code).toBe('lake-closing');
    const again = await openTestLake({ directory, objects: openObjects(directory) });
    expect(again.pools()).toEqual([config]);
    expect(new Set(again.pool('p').branches())).toEqual(new Set(branches));
    expect(await keysAt(again, 'p', 'main')).toEqual(['4', '3', '2', '1', '0']);
    expect(await keysAt(again, 'p', 'kid')).toEqual(['9', '4', '3', '2', '1', '0']);
    expect(again.lastEventId()).toBe(last);
    await again.createPool({ name: 'q' });
    expect(again.lastEventId()).toBe(last + 1);
  });

  test('a second server is kept out and told who has the lake', async () => {
    const lake = await openTestLake({ owner: 'http://127.0.0.1:9867' });
    const refused = await failure(openTestLake({ directory: lake.directory }));
    expect(refused.code).toBe('lake-locked');
    expect(refused.text).toBe(
      `lake ${lake.directory} is in use by another server (process ${process.pid}, http://127.0.0.1:9867)`,
    );
  });
});

describe('loads', () => {
  test('a load is one commit with the made-up message, author and meta', async () => {
    const lake = await openTestLake();
    const pool = await newPool(lake);
    const one = inlineObject(1);
    const two = { ...inlineObject(2, 3), count: 2 };
    const { commit } = await pool.load('main', [one, two]);
    await pool.load('main', [inlineObject(4)], { author: 'bob', body: 'hello', meta: '{x:1}' });
    const rows = await metaRows(lake, 'p', 'log');
    expect(
      rows.map((row) =>
        row.kind === 'commit'
          ? { parent: row.commit.parent, author: row.commit.author, message: row.commit.message, meta: row.commit.meta }
          : row,
      ),
    ).toEqual([
      { kind: 'tip', name: 'main', commit: pool.branch('main').commit },
      { parent: commit, author: 'bob', message: 'hello', meta: '{x:1}' },
      {
        parent: zeroId,
        author: '',
        meta: 'null',
        message: `loaded 2 data objects\n\n  ${base62(one.id)} 1 record in 9 data bytes\n  ${base62(two.id)} 2 records in 9 data bytes\n`,
      },
    ]);
  });

  test('no objects and an unknown branch are errors, the others of the group are committed', async () => {
    const lake = await openTestLake();
    const pool = await newPool(lake);
    const [a, b, c, d] = await Promise.allSettled([
      pool.load('main', [inlineObject(1)]),
      pool.load('nope', [inlineObject(2)]),
      pool.load('main', []),
      pool.load('main', [inlineObject(3)]),
    ]);
    expect([a.status, d.status]).toEqual(['fulfilled', 'fulfilled']);
    expect((b as PromiseRejectedResult).reason).toMatchObject({
      code: 'branch-not-found',
      message: '"nope": branch not found',
    });
    expect((c as PromiseRejectedResult).reason).toMatchObject({ code: 'load-empty', status: 400 });
    expect(await keysAt(lake, 'p', 'main')).toEqual(['1', '3']);
  });

  test('64 clients with 50 commits each on one branch lose none and fail none (reference mistake 3)', async () => {
    const lake = await openTestLake();
    const pool = await newPool(lake);
    const events: LakeEvent[] = [];
    lake.onEvent((event) => {
      events.push(event);
    });
    const commits: string[] = [];
    await Promise.all(
      Array.from({ length: 64 }, async (_, client) => {
        for (let i = 0; i < 50; i++) commits.push((await pool.load('main', [inlineObject(client * 50 + i)])).commit);
      }),
    );
    expect(new Set(commits).size).toBe(3200);
    expect(await keysAt(lake, 'p', 'main')).toEqual(Array.from({ length: 3200 }, (_, i) => String(i)));
    // P3: one order, the same in the log and in the events.
    const log = (await metaRows(lake, 'p', 'log'))
      .flatMap((row) => (row.kind === 'commit' ? [row.commit.id] : []))
      .reverse();
    expect(events.map((event) => event.commitId)).toEqual(log);
    expect(new Set(log)).toEqual(new Set(commits));
  });

  test('a snapshot sees one commit while others append (P4), pages and key ranges of it agree', async () => {
    const lake = await openTestLake();
    const pool = await newPool(lake);
    for (let i = 0; i < 600; i++) await pool.load('main', [inlineObject((i * 7) % 600, ((i * 7) % 600) + 2)]);
    const snapshot = await lake.openSnapshot('p', 'main');
    const seen: string[] = [];
    let cursor: number | undefined;
    do {
      const page = snapshot.page({ limit: 37, ...(cursor !== undefined && { cursor }) });
      seen.push(...page.objects.map((o) => o.min.text));
      cursor = page.next;
      await pool.load('main', [inlineObject(seen.length)]);
    } while (cursor !== undefined);
    expect(seen).toEqual(Array.from({ length: 600 }, (_, i) => String(i)));
    const { bound } = await import('./support.ts');
    const ranged = snapshot.page({ limit: 100, range: { min: bound(100).sort, max: bound(103).sort } });
    expect(ranged.objects.map((o) => o.min.text)).toEqual(['98', '99', '100', '101', '102', '103']);
    expect(new TextDecoder().decode(ranged.objects[0]!.inline)).toBe('98..100');
    expect(snapshot.page({ limit: 1, inline: false }).objects[0]!.inline).toBeUndefined();
    snapshot.release();
  });
});

describe('events', () => {
  test('every change tells of itself, in order, with numbers that can be resumed from', async () => {
    const lake = await openTestLake({ eventsKeptMax: 5 });
    const heard: LakeEvent[] = [];
    const end = lake.onEvent((event) => {
      heard.push(event);
    });
    const pool = await newPool(lake);
    const poolId = pool.config.id;
    const { commit } = await pool.load('main', [inlineObject(1)]);
    await pool.createBranch('kid', commit);
    const { commit: second } = await pool.load('kid', [inlineObject(2)]);
    const { commit: third } = await pool.merge('main', 'kid');
    await pool.deleteBranch('kid');
    await lake.renamePool('p', 'q');
    await lake.deletePool('q');
    expect(heard).toEqual([
      { id: 1, kind: 'pool-new', poolId, poolName: 'p' },
      { id: 2, kind: 'pool-commit', poolId, poolName: 'p', commitId: commit, branch: 'main', parent: '' },
      { id: 3, kind: 'branch-update', poolId, poolName: 'p', branch: 'kid' },
      { id: 4, kind: 'pool-commit', poolId, poolName: 'p', commitId: second, branch: 'kid', parent: '' },
      {
        id: 5,
        kind: 'pool-commit',
        poolId,
        poolName: 'p',
        commitId: third,
        branch: 'main',
        parent: 'main',
        child: 'kid',
      },
      { id: 6, kind: 'branch-delete', poolId, poolName: 'p', branch: 'kid' },
      { id: 7, kind: 'pool-update', poolId, poolName: 'q' },
      { id: 8, kind: 'pool-delete', poolId, poolName: 'q' },
    ]);
    expect(lake.eventsSince(5)).toEqual(heard.slice(5));
    expect(lake.eventsSince(3)).toEqual(heard.slice(3));
    expect(lake.eventsSince(8)).toEqual([]);
    expect([lake.eventsSince(2), lake.eventsSince(9), lake.eventsSince(-1)]).toEqual([undefined, undefined, undefined]);
    end();
    await lake.createPool({ name: 'r' });
    expect(heard).toHaveLength(8);
  });

  test('listeners hear of everything in the order of the numbers, whichever pool is first, and can go on behind any of them (P3)', async () => {
    const lake = await openTestLake();
    const heard: number[] = [];
    const gone: number[] = [];
    lake.onEvent(({ id }) => {
      heard.push(id);
      // Who comes back now has the rest still before him, and nothing behind.
      if ((lake.eventsSince(id - 1) ?? []).map((event) => event.id).join() !== String(id)) gone.push(id);
    });
    await lake.createPool({ name: 'p' });
    await Promise.all([
      ...Array.from({ length: 8 }, async (_, of) => {
        for (let n = 0; n < 40; n++) await lake.pool('p').load('main', [inlineObject(of * 100 + n)]);
      }),
      ...Array.from({ length: 4 }, async (_, of) => {
        for (let n = 0; n < 15; n++) {
          await lake.createPool({ name: `q${of} ${n}` });
          await Promise.allSettled([
            lake.createPool({ name: `q${of} ${n}` }),
            lake.pool(`q${of} ${n}`).load('main', [inlineObject(n)]),
            lake.pool(`q${of} ${n}`).load('absent', [inlineObject(n)]),
          ]);
          await lake.deletePool(`q${of} ${n}`);
        }
      }),
    ]);
    expect(heard).toEqual(Array.from({ length: heard.length }, (_, i) => i + 1));
    expect([lake.lastEventId(), gone]).toEqual([heard.length, []]);
  });

  test('a change that is refused takes no number: what is not kept any more is never skipped over in silence', async () => {
    const directory = await temporaryDirectory();
    const lake = await openTestLake({ directory, eventsKeptMax: 10 });
    for (let n = 0; n < 3; n++) {
      const twins = await Promise.allSettled([lake.createPool({ name: `p${n}` }), lake.createPool({ name: `p${n}` })]);
      expect(twins.map(({ status }) => status)).toEqual(['fulfilled', 'rejected']);
    }
    expect(lake.lastEventId()).toBe(3);
    for (let n = 0; n < 30; n++) await lake.pool('p0').load('main', [inlineObject(n)]);
    const sinceEach = (of: Lake): readonly (number | undefined)[] =>
      Array.from({ length: 34 }, (_, id) => of.eventsSince(id)?.length);
    const expected = Array.from({ length: 34 }, (_, id) => (id < 23 ? undefined : 33 - id));
    expect(sinceEach(lake)).toEqual(expected);
    await lake.close();
    // Fewer are kept from now on: the rest goes, some with each change.
    const again = await openTestLake({ directory, eventsKeptMax: 4 });
    for (let n = 0; n < 3; n++) await again.pool('p1').load('main', [inlineObject(n)]);
    expect(Array.from({ length: 37 }, (_, id) => again.eventsSince(id)?.length)).toEqual(
      Array.from({ length: 37 }, (_, id) => (id < 32 ? undefined : 36 - id)),
    );
    await again.close();
  });
});
