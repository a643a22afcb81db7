import { describe, expect, test } from 'vitest';
import { base62, zeroId } from '../../../src/lake/ksuid.ts';
import type { Lake, ObjectMeta, Pool } from '../../../src/lake/lake.types.ts';
import { failure, inlineObject, keysAt, metaRows, newPool, openTestLake } from './support.ts';

const start = async (): Promise<{
  lake: Lake;
  pool: Pool;
  objects: ObjectMeta[];
  load: (branch: string, ...keys: number[]) => Promise<ObjectMeta[]>;
}> => {
  const lake = await openTestLake();
  const pool = await newPool(lake);
  const load = async (branch: string, ...keys: number[]): Promise<ObjectMeta[]> => {
    const made = keys.map((key) => inlineObject(key));
    for (const object of made) await pool.load(branch, [object]);
    return made;
  };
  return { lake, pool, objects: await load('main', 1, 2, 3), load };
};
const fork = (pool: Pool, name: string, from = 'main') => pool.createBranch(name, pool.branch(from).commit);
/** A delete by filter: the object is replaced by one with another key. */
const rewrite = async (pool: Pool, branch: string, object: ObjectMeta, key: number): Promise<ObjectMeta> => {
  const made = inlineObject(key);
  await pool.deleteWhere(branch, async () => ({ removes: [object.id], adds: [made] }));
  return made;
};

describe('merge', () => {
  test('what the child added and deleted since the branching comes along', async () => {
    const { lake, pool, objects, load } = await start();
    await fork(pool, 'kid');
    await load('kid', 10);
    await pool.deleteObjects('kid', [objects[1]!.id]);
    await load('main', 4);
    const before = pool.branch('main').commit;
    const child = pool.branch('kid').commit;
    const { commit } = await pool.merge('main', 'kid');
    expect(await keysAt(lake, 'p', 'main')).toEqual(['1', '3', '4', '10']);
    expect(await keysAt(lake, 'p', 'kid')).toEqual(['1', '3', '10']);
    const log = await metaRows(lake, 'p', 'log');
    expect(log.find((row) => row.kind === 'commit' && row.commit.id === commit)).toMatchObject({
      commit: { parent: before, secondParent: child, message: 'merged "kid" into "main"' },
    });
  });

  test('a second merge after more work, deletes too, works (reference mistake 2)', async () => {
    const { lake, pool, objects, load } = await start();
    await fork(pool, 'kid');
    await pool.deleteObjects('kid', [objects[0]!.id]);
    await pool.merge('main', 'kid');
    await load('kid', 20);
    await pool.merge('main', 'kid');
    expect(await keysAt(lake, 'p', 'main')).toEqual(['2', '3', '20']);
    await pool.deleteObjects('kid', [objects[1]!.id]);
    await pool.merge('main', 'kid');
    expect(await keysAt(lake, 'p', 'main')).toEqual(['3', '20']);
  });

  test('a branch of an empty main merges (reference mistake 6), both ways', async () => {
    const lake = await openTestLake();
    const pool = await newPool(lake);
    await pool.createBranch('kid', zeroId);
    expect(await failure(pool.merge('main', 'kid'))).toEqual({
      code: 'merge-empty',
      status: 409,
      text: 'error merging "kid" into "main": difference is empty',
    });
    await pool.load('main', [inlineObject(1)]);
    expect((await failure(pool.merge('main', 'kid'))).code).toBe('merge-empty');
    await pool.load('kid', [inlineObject(2)]);
    await pool.merge('main', 'kid');
    expect(await keysAt(lake, 'p', 'main')).toEqual(['1', '2']);
    await pool.merge('kid', 'main');
    expect(await keysAt(lake, 'p', 'kid')).toEqual(['1', '2']);
  });

  test('nothing to merge is a conflict: the same tip, itself, no net change; unknown branches are not found', async () => {
    const { pool, load } = await start();
    await fork(pool, 'kid');
    expect((await failure(pool.merge('main', 'kid'))).code).toBe('merge-empty');
    expect((await failure(pool.merge('main', 'main'))).text).toBe(
      'error merging "main" into "main": difference is empty',
    );
    const [object] = await load('kid', 30);
    await pool.deleteObjects('kid', [object!.id]);
    expect((await failure(pool.merge('main', 'kid'))).code).toBe('merge-empty');
    expect((await failure(pool.merge('main', 'nope'))).text).toBe('"nope": branch not found');
    expect((await failure(pool.merge('nope', 'kid'))).text).toBe('"nope": branch not found');
  });

  test('both sides deleted the same object: the same outcome, no conflict', async () => {
    const { lake, pool, objects, load } = await start();
    await fork(pool, 'kid');
    await pool.deleteObjects('kid', [objects[0]!.id]);
    await pool.deleteObjects('main', [objects[0]!.id]);
    expect((await failure(pool.merge('main', 'kid'))).code).toBe('merge-empty');
    await load('kid', 7);
    await pool.merge('main', 'kid');
    expect(await keysAt(lake, 'p', 'main')).toEqual(['2', '3', '7']);
  });

  test.each([
    ['both rewrote it', true, true],
    ['the child deleted what the target rewrote', false, true],
    ['the child rewrote what the target deleted', true, false],
  ])('conflict that names the object: %s', async (_, childRewrites, targetRewrites) => {
    const {
      lake,
      pool,
      objects: [object],
    } = await start();
    await fork(pool, 'kid');
    for (const [branch, rewrites] of [
      ['kid', childRewrites],
      ['main', targetRewrites],
    ] as const) {
      if (rewrites) await rewrite(pool, branch, object!, 100);
      else await pool.deleteObjects(branch, [object!.id]);
    }
    const before = await keysAt(lake, 'p', 'main');
    expect(await failure(pool.merge('main', 'kid'))).toEqual({
      code: 'merge-conflict',
      status: 409,
      text: `error merging "kid" into "main": both changed the same data objects since their common ancestor: ${base62(object!.id)}`,
    });
    expect(await keysAt(lake, 'p', 'main')).toEqual(before);
  });

  test('a rewrite that reached the target by an earlier merge is no conflict', async () => {
    const { lake, pool, objects, load } = await start();
    await fork(pool, 'kid');
    await fork(pool, 'kid2');
    const made = await rewrite(pool, 'kid', objects[0]!, 50);
    await pool.merge('kid2', 'kid');
    await pool.merge('main', 'kid');
    await load('kid2', 8);
    await pool.merge('main', 'kid2');
    expect(await keysAt(lake, 'p', 'main')).toEqual(['2', '3', '8', made.min.text]);
  });

  test('criss-cross: what one side took back after both had it stays taken back', async () => {
    const { lake, pool, objects, load } = await start();
    await fork(pool, 'kid');
    const { commit: deleted } = await pool.deleteObjects('main', [objects[0]!.id]);
    await load('kid', 9);
    await fork(pool, 'kid at fork', 'kid');
    await fork(pool, 'main at fork', 'main');
    await pool.merge('main', 'kid at fork');
    await pool.merge('kid', 'main at fork');
    expect(await keysAt(lake, 'p', 'kid')).toEqual(['2', '3', '9']);
    await pool.revert('main', deleted);
    await load('kid', 11);
    await pool.merge('main', 'kid');
    expect(await keysAt(lake, 'p', 'main')).toEqual(['1', '2', '3', '9', '11']);
  });

  test('a deep history is walked in turns: 3,000 commits on both sides', async () => {
    const lake = await openTestLake();
    const pool = await newPool(lake);
    const many = (branch: string, from: number) =>
      Promise.all(Array.from({ length: 1500 }, (_, i) => pool.load(branch, [inlineObject(from + i)])));
    await many('main', 0);
    await fork(pool, 'kid');
    await Promise.all([many('main', 10_000), many('kid', 20_000)]);
    await pool.merge('main', 'kid');
    expect((await keysAt(lake, 'p', 'main')).length).toBe(4500);
  });
});

describe('revert', () => {
  test('undoes a load in the middle, the revert, and the first commit', async () => {
    const { lake, pool, load } = await start();
    const commits = (await metaRows(lake, 'p', 'log'))
      .flatMap((row) => (row.kind === 'commit' ? [row.commit.id] : []))
      .reverse();
    const { commit } = await pool.revert('main', commits[1]!);
    expect(await keysAt(lake, 'p', 'main')).toEqual(['1', '3']);
    expect(await failure(pool.revert('main', commits[1]!))).toEqual({
      code: 'revert-empty',
      status: 409,
      text: 'revert commit is empty',
    });
    await pool.revert('main', commit);
    expect(await keysAt(lake, 'p', 'main')).toEqual(['1', '2', '3']);
    await pool.revert('main', commits[0]!);
    expect(await keysAt(lake, 'p', 'main')).toEqual(['2', '3']);
    await load('main', 5);
    const [, last] = await metaRows(lake, 'p', 'log');
    expect(last).toMatchObject({ commit: { message: expect.stringContaining('loaded 1 data object') } });
    expect(await keysAt(lake, 'p', commits[2]!)).toEqual(['1', '2', '3']);
    expect(await keysAt(lake, 'p', base62(commits[2]!))).toEqual(['1', '2', '3']);
  });

  test('unknown commits, the zero commit and those of other pools are not found', async () => {
    const { lake, pool } = await start();
    const other = await newPool(lake, 'q');
    const { commit } = await other.load('main', [inlineObject(1)]);
    for (const id of [zeroId, '1'.padStart(40, '0'), commit]) {
      expect(await failure(pool.revert('main', id))).toEqual({
        code: 'commit-not-found',
        status: 404,
        text: `commit not found: ${base62(id)}`,
      });
    }
    expect((await failure(pool.revert('nope', pool.branch('main').commit))).text).toBe('"nope": branch not found');
  });

  test('a delete by filter comes back; one whose new object was rewritten again is a conflict', async () => {
    const { lake, pool, objects } = await start();
    const made = await rewrite(pool, 'main', objects[0]!, 40);
    const rewritten = pool.branch('main').commit;
    await pool.revert('main', rewritten);
    expect(await keysAt(lake, 'p', 'main')).toEqual(['1', '2', '3']);
    await pool.revert('main', pool.branch('main').commit);
    expect(await keysAt(lake, 'p', 'main')).toEqual(['2', '3', '40']);
    await rewrite(pool, 'main', made, 41);
    expect(await failure(pool.revert('main', rewritten))).toEqual({
      code: 'revert-conflict',
      status: 409,
      text: `commit ${base62(rewritten)} cannot be reverted: the data objects it added were rewritten since or deleted: ${base62(made.id)}`,
    });
  });

  test('a delete by filter whose new object was deleted is a conflict: the rows in it would come back', async () => {
    const { lake, pool, objects } = await start();
    const made = await rewrite(pool, 'main', objects[0]!, 40);
    const rewritten = pool.branch('main').commit;
    await pool.deleteObjects('main', [made.id]);
    expect(await failure(pool.revert('main', rewritten))).toEqual({
      code: 'revert-conflict',
      status: 409,
      text: `commit ${base62(rewritten)} cannot be reverted: the data objects it added were rewritten since or deleted: ${base62(made.id)}`,
    });
    expect(await keysAt(lake, 'p', 'main')).toEqual(['2', '3']);
  });

  test('a merge whose new objects were rewritten since is a conflict: the old ones would bring their rows back a second time', async () => {
    const { lake, pool, objects } = await start();
    await fork(pool, 'kid');
    const made = await rewrite(pool, 'kid', objects[0]!, 40);
    const { commit } = await pool.merge('main', 'kid');
    await rewrite(pool, 'main', made, 41);
    expect((await failure(pool.revert('main', commit))).code).toBe('revert-conflict');
    expect(await keysAt(lake, 'p', 'main')).toEqual(['2', '3', '41']);
  });

  test('a merge can be reverted, a revert works on another branch if it has an effect', async () => {
    const { lake, pool, load } = await start();
    const first = (await metaRows(lake, 'p', 'log')).at(-1)!;
    await fork(pool, 'kid');
    await load('kid', 6);
    const { commit } = await pool.merge('main', 'kid');
    await pool.revert('main', commit);
    expect(await keysAt(lake, 'p', 'main')).toEqual(['1', '2', '3']);
    await pool.revert('kid', (first as { commit: { id: string } }).commit.id);
    expect(await keysAt(lake, 'p', 'kid')).toEqual(['2', '3', '6']);
  });
});
