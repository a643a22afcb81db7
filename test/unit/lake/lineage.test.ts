import { describe, expect, test } from 'vitest';
import { base62 } from '../../../src/lake/ksuid.ts';
import type { Id, Lake, ObjectMeta, Pool } from '../../../src/lake/lake.types.ts';
import type { Tables } from '../../../src/lake/tables/tables.ts';
import { formatVersion } from '../../../src/lake/tables/versions.ts';
import { edited, failure, inlineObject, keysAt, newPool, openTestLake, temporaryDirectory } from './support.ts';

const start = async (directory?: string): Promise<{ lake: Lake; pool: Pool; object: ObjectMeta }> => {
  const lake = await openTestLake(directory === undefined ? {} : { directory });
  const pool = await newPool(lake);
  const object = inlineObject(1, 2, 2);
  await pool.load('main', [object]);
  return { lake, pool, object };
};
/** Each of the objects becomes as many as there are keys for it. */
const rewrite = async (
  pool: Pool,
  branch: string,
  objects: readonly ObjectMeta[],
  keys: readonly (readonly number[])[],
): Promise<readonly ObjectMeta[]> => {
  const made = keys.map((each) => each.map((key) => inlineObject(key)));
  await pool.deleteWhere(branch, async () => ({
    removes: objects.map((o) => o.id),
    adds: made.flat(),
    parts: made.map((each) => each.length),
  }));
  return made.flat();
};
const remove = async (pool: Pool, branch: string, ...objects: readonly ObjectMeta[]): Promise<Id> =>
  (
    await pool.deleteObjects(
      branch,
      objects.map((o) => o.id),
    )
  ).commit;
const fork = (pool: Pool, name: string, from = 'main') => pool.createBranch(name, pool.branch(from).commit);
const names = (...objects: readonly ObjectMeta[]): string => objects.map((o) => base62(o.id)).join(', ');

describe('a revert', () => {
  test('does not bring an object back beside what became of it, however long ago, and names both; the dry run says the same', async () => {
    const { lake, pool, object } = await start();
    const deleted = await remove(pool, 'main', object);
    await pool.revert('main', deleted);
    const [first] = await rewrite(pool, 'main', [object], [[2]]);
    const [second] = await rewrite(pool, 'main', [first!], [[3]]);
    const text = `commit ${base62(deleted)} cannot be reverted: the branch has rows of the data objects it deleted, rewritten since: ${names(object, second!)}`;
    expect(await failure(pool.revert('main', deleted))).toEqual({ code: 'revert-rewritten', status: 409, text });
    expect(await pool.previewRevert('main', deleted)).toMatchObject({
      refusal: text,
      conflicts: [object.id, second!.id],
      adds: [],
      removes: [],
    });
    expect(await keysAt(lake, 'p', 'main')).toEqual(['3']);
  });

  test('brings back an object whose descendants hold no rows any more, and one of several that one delete by filter touched', async () => {
    const { lake, pool, object } = await start();
    const other = inlineObject(10);
    await pool.load('main', [other]);
    const deleted = await remove(pool, 'main', object);
    await pool.revert('main', deleted);
    await rewrite(pool, 'main', [object, other], [[], [11]]);
    await pool.revert('main', deleted);
    expect(await keysAt(lake, 'p', 'main')).toEqual(['1-2', '11']);
  });

  test('brings back one of two objects that one rewrite made of an object: they share no row', async () => {
    const { lake, pool, object } = await start();
    const [low, high] = await rewrite(pool, 'main', [object], [[1, 2]]);
    const deleted = await remove(pool, 'main', low!);
    await pool.revert('main', deleted);
    expect(await keysAt(lake, 'p', 'main')).toEqual(['1', '2']);
    const both = await remove(pool, 'main', low!, high!);
    await pool.revert('main', deleted);
    await pool.revert('main', both);
    expect(await keysAt(lake, 'p', 'main')).toEqual(['1', '2']);
  });

  test('takes away all that a commit brought, or nothing: a compacted load is a conflict, not nothing to do', async () => {
    const { lake, pool, object } = await start();
    const load = pool.branch('main').commit;
    const other = inlineObject(5);
    const both = inlineObject(1, 5, 3);
    await fork(pool, 'kid');
    await pool.load('kid', [other, inlineObject(7)]);
    await pool.merge('main', 'kid');
    const merge = pool.branch('main').commit;
    await pool.compact('main', [object.id, other.id], async () => ({ removes: [object.id, other.id], adds: [both] }));
    const text = (id: Id, of: ObjectMeta): string =>
      `commit ${base62(id)} cannot be reverted: the data objects it added were rewritten since or deleted: ${names(of)}`;
    expect(await failure(pool.revert('main', load))).toEqual({
      code: 'revert-conflict',
      status: 409,
      text: text(load, object),
    });
    expect(await failure(pool.revert('main', merge))).toEqual({
      code: 'revert-conflict',
      status: 409,
      text: text(merge, other),
    });
    expect(await keysAt(lake, 'p', 'main')).toEqual(['1-5', '7']);
    await remove(pool, 'main', both);
    expect((await failure(pool.revert('main', load))).code).toBe('revert-empty');
    await pool.revert('main', merge);
    expect(await keysAt(lake, 'p', 'main')).toEqual([]);
  });
});

describe('a merge', () => {
  test('of two branches that each brought an object back, one of which rewrote it, is a conflict both ways', async () => {
    const { lake, pool, object } = await start();
    const deleted = await remove(pool, 'main', object);
    await fork(pool, 'kid');
    for (const branch of ['main', 'kid']) await pool.revert(branch, deleted);
    const [made] = await rewrite(pool, 'kid', [object], [[2]]);
    const conflict = async (target: string, child: string, ...objects: readonly ObjectMeta[]): Promise<void> => {
      const text = `error merging "${child}" into "${target}": both changed the same data objects since their common ancestor: ${names(...objects)}`;
      expect(await failure(pool.merge(target, child))).toEqual({ code: 'merge-conflict', status: 409, text });
      expect(await pool.previewMerge(target, child)).toMatchObject({
        refusal: text,
        conflicts: objects.map((o) => o.id),
      });
    };
    await conflict('main', 'kid', made!, object);
    await conflict('kid', 'main', object, made!);
    expect([await keysAt(lake, 'p', 'main'), await keysAt(lake, 'p', 'kid')]).toEqual([['1-2'], ['2']]);
  });

  test('after crosswise merges that left the same rows in two objects of the base is a conflict while the branches have different ones', async () => {
    const { lake, pool, object } = await start();
    const deleted = await remove(pool, 'main', object);
    await fork(pool, 'kid');
    await pool.revert('main', deleted);
    await pool.revert('kid', deleted);
    const [made] = await rewrite(pool, 'kid', [object], [[2]]);
    await fork(pool, 'main before');
    await fork(pool, 'kid before', 'kid');
    // Each takes the other's way.
    await remove(pool, 'main', object);
    await pool.merge('main', 'kid before');
    await remove(pool, 'kid', made!);
    await pool.merge('kid', 'main before');
    expect([await keysAt(lake, 'p', 'main'), await keysAt(lake, 'p', 'kid')]).toEqual([['2'], ['1-2']]);
    expect((await failure(pool.merge('main', 'kid'))).code).toBe('merge-conflict');
    await remove(pool, 'main', made!);
    expect((await failure(pool.merge('main', 'kid'))).code).toBe('merge-empty');
    await pool.merge('kid', 'main');
    expect(await keysAt(lake, 'p', 'kid')).toEqual([]);
  });

  test('after crosswise merges of ancestors that were at odds is a conflict where the branches differ, and none where they agree', async () => {
    const { lake, pool, object } = await start();
    await fork(pool, 'kid');
    const [made] = await rewrite(pool, 'main', [object], [[2]]);
    const deleted = await remove(pool, 'kid', object);
    await pool.load('kid', [inlineObject(9)]);
    await fork(pool, 'main before');
    await fork(pool, 'kid before', 'kid');
    // Each takes the other's way: whether the rows that one ancestor rewrote and the other one deleted belong to both
    // is open.
    await remove(pool, 'main', made!);
    await pool.merge('main', 'kid before');
    await pool.revert('kid', deleted);
    await pool.merge('kid', 'main before');
    expect([await keysAt(lake, 'p', 'main'), await keysAt(lake, 'p', 'kid')]).toEqual([['9'], ['2', '9']]);
    for (const [target, child] of [
      ['main', 'kid'],
      ['kid', 'main'],
    ] as const) {
      expect(await failure(pool.merge(target, child))).toMatchObject({
        code: 'merge-conflict',
        text: expect.stringContaining(base62(made!.id)),
      });
    }
    await remove(pool, 'kid', made!);
    await pool.load('kid', [inlineObject(30)]);
    await pool.merge('main', 'kid');
    expect(await keysAt(lake, 'p', 'main')).toEqual(['9', '30']);
  });
});

/** What the table has, in order, after a change of the closed lake. */
const lineageIn = async (directory: string, change?: (tables: Tables) => Promise<void>): Promise<readonly string[]> => {
  let rows: readonly string[] = [];
  await edited(directory, async (tables) => {
    await change?.(tables);
    rows = tables
      .rows('lineage')
      .map(({ key, payload }) => `${Buffer.from(key).toString('hex')} ${payload.toString('hex')}`);
  });
  return rows;
};

test('in a lake of an earlier build, or a repaired one, the lineage is derived from the commits; the revert of a revert is no rewrite', async () => {
  const directory = await temporaryDirectory();
  const { lake, pool, object } = await start(directory);
  const stranger = inlineObject(20);
  await pool.load('main', [stranger]);
  await fork(pool, 'kid');
  // A merge that takes an object away and brings one: the revert of its revert looks as if the one was made of the
  // other.
  await remove(pool, 'kid', stranger);
  await pool.load('kid', [inlineObject(30)]);
  const { commit: merge } = await pool.merge('main', 'kid');
  const { commit: undone } = await pool.revert('main', merge);
  await pool.revert('main', undone);
  await rewrite(pool, 'main', [object], [[2]]);
  const cut = pool.branch('main').commit;
  await pool.revert('main', cut);
  await pool.revert('main', pool.branch('main').commit);
  expect(await keysAt(lake, 'p', 'main')).toEqual(['2', '30']);
  await lake.close();

  // The pool's own row, the two objects, the step.
  const whole = await lineageIn(directory);
  expect(whole.length).toBe(4);
  for (const isEarlier of [false, true]) {
    expect(
      await lineageIn(directory, async (tables) => {
        await tables.write(tables.keys('lineage').map((key) => ({ table: 'lineage', key })));
        if (!isEarlier) return;
        const commits = tables
          .rows('commits')
          .map(({ key, payload }) => ({ key, row: { ...(JSON.parse(payload.toString()) as object), w: undefined } }));
        await tables.write([
          ...commits.map(
            ({ key, row }) => ({ table: 'commits', key, payload: Buffer.from(JSON.stringify(row)) }) as const,
          ),
          { table: 'about', key: Buffer.from('format version'), payload: Buffer.from(String(formatVersion - 1)) },
        ]);
      }),
    ).toEqual([]);
    const again = await openTestLake({ directory });
    expect(await again.pool('p').previewRevert('main', cut)).toMatchObject({
      recordsAdded: 2,
      recordsRemoved: 1,
      conflicts: [],
    });
    await again.close();
    expect(await lineageIn(directory)).toEqual(whole);
  }
});
