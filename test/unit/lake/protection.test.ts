/** Protected branches: the protection lasts through commits, restarts, damage and builds that do not know of it. */
import { describe, expect, test } from 'vitest';
import { zeroId } from '../../../src/lake/ksuid.ts';
import { openObjects } from '../../../src/lake/objects/objects.ts';
import { fsck } from '../../../src/lake/repair/fsck.ts';
import { formatVersion, protectionVersion } from '../../../src/lake/tables/versions.ts';
import { failure, inlineObject, keysAt, newPool, openIn, openTestLake } from './support.ts';

describe('a protected branch', () => {
  test('stays so over commits that it takes and restarts, until somebody says otherwise', async () => {
    const lake = await openTestLake();
    const { directory } = lake;
    const pool = await newPool(lake);
    const { commit } = await pool.load('main', [inlineObject(1)]);
    await pool.createBranch('kid', commit);
    const heard: unknown[] = [];
    lake.onEvent(({ kind, branch }) => heard.push([kind, branch]));
    await pool.protect('main', { delete: 'admin', reset: 'nobody' });
    await pool.protect('main', { delete: 'admin', reset: 'nobody' });
    expect(heard).toEqual([['branch-update', 'main']]);
    await pool.load('main', [inlineObject(2)]);
    await pool.load('kid', [inlineObject(3)]);
    await pool.merge('main', 'kid');
    await lake.close();
    const again = await openTestLake({ directory });
    const main = again.pool('p');
    expect(main.branch('main').protection).toEqual({ delete: 'admin', reset: 'nobody' });
    expect(main.branch('kid').protection).toBeUndefined();
    expect(await failure(main.reset('main', zeroId))).toMatchObject({ code: 'branch-protected', status: 403 });
    expect(await failure(main.deleteBranch('main', { by: 'writer' }))).toMatchObject({ code: 'branch-protected' });
    expect(await keysAt(again, 'p', 'main')).toEqual(['1', '2', '3']);
    await main.protect('main', {});
    expect(main.branch('main')).not.toHaveProperty('protection');
    await main.reset('main', zeroId);
    await again.close();
    expect((await fsck({ directory, files: openObjects(directory) })).faults).toEqual([]);
  });

  test('tells administrators from who may only write; a group of loads loses those alone that it refuses', async () => {
    const pool = await newPool(await openTestLake());
    await pool.load('main', [inlineObject(1)]);
    await pool.createBranch('kid', zeroId);
    await pool.protect('main', { load: 'admin' });
    const ends = await Promise.allSettled([
      pool.load('main', [inlineObject(2)]),
      pool.load('main', [inlineObject(3)], { terms: { by: 'writer' } }),
      pool.load('kid', [inlineObject(4)], { terms: { by: 'writer' } }),
    ]);
    expect(ends.map(({ status }) => status)).toEqual(['fulfilled', 'rejected', 'fulfilled']);
    expect(await failure(pool.load('main', [inlineObject(5)], { terms: { by: 'writer' } }))).toMatchObject({
      code: 'branch-protected',
      status: 403,
    });
  });

  test('makes the lake one that builds without protection do not open', () => {
    expect(protectionVersion).toBe(formatVersion);
  });
});

test.each(['transaction: asked', 'transaction: durable', 'branch: in the tables', 'settled: told'])(
  'a kill at "%s" of a protection leaves the branch protected or not, and a sound lake',
  { timeout: 60_000 },
  async (killAt) => {
    const lake = await openTestLake();
    const { directory } = lake;
    const pool = await newPool(lake);
    const { commit } = await pool.load('main', [inlineObject(1)]);
    // The lake has its version from here on: the kill is in the protection's own write.
    await pool.protect('main', { load: 'admin' });
    await pool.protect('main', {});
    await lake.close();
    expect(await openIn(directory, { killAt, what: 'protect' })).toBe('SIGKILL');
    const again = await openTestLake({ directory });
    const { protection, commit: tip } = again.pool('p').branch('main');
    expect([tip, protection]).toEqual([commit, killAt === 'transaction: asked' ? undefined : { reset: 'nobody' }]);
    await again.pool('p').load('main', [inlineObject(2)]);
    await again.close();
    expect((await fsck({ directory, files: openObjects(directory) })).faults).toEqual([]);
  },
);
