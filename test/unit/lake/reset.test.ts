/** Reset: a branch goes to another commit of its pool, in its place among the other jobs, and stays there. */
import { describe, expect, test } from 'vitest';
import { zeroId } from '../../../src/lake/ksuid.ts';
import { openObjects } from '../../../src/lake/objects/objects.ts';
import { fsck } from '../../../src/lake/repair/fsck.ts';
import { failure, inlineObject, keysAt, newPool, openIn, openTestLake } from './support.ts';

describe('a branch that is reset', () => {
  test('is at the commit, for who reads, loads, merges and starts again', async () => {
    const lake = await openTestLake();
    const { directory } = lake;
    const pool = await newPool(lake);
    const { commit: one } = await pool.load('main', [inlineObject(1)]);
    const { commit: two } = await pool.load('main', [inlineObject(2)]);
    const heard: unknown[] = [];
    lake.onEvent(({ kind, branch, commitId }) => heard.push([kind, branch, commitId]));
    expect(await pool.reset('main', one)).toBe(one);
    expect(await pool.reset('main', `0x${one}`)).toBe(one);
    expect(heard).toEqual([['branch-reset', 'main', one]]);
    const { commit: three } = await pool.load('main', [inlineObject(3)]);
    expect(await keysAt(lake, 'p', 'main')).toEqual(['1', '3']);
    await pool.createBranch('kid', two);
    await pool.merge('main', 'kid');
    expect(await keysAt(lake, 'p', 'main')).toEqual(['1', '2', '3']);
    await pool.reset('kid', three);
    await lake.close();
    const again = await openTestLake({ directory });
    expect(await keysAt(again, 'p', 'kid')).toEqual(['1', '3']);
    expect(await keysAt(again, 'p', two)).toEqual(['1', '2']);
    await again.pool('p').reset('kid', zeroId);
    expect(await keysAt(again, 'p', 'kid')).toEqual([]);
    await again.pool('p').load('kid', [inlineObject(9)]);
    expect(await keysAt(again, 'p', 'kid')).toEqual(['9']);
  });

  test('is so on its condition alone; of many on one condition one goes', async () => {
    const lake = await openTestLake();
    const pool = await newPool(lake);
    const { commit: one } = await pool.load('main', [inlineObject(1)]);
    const { commit: two } = await pool.load('main', [inlineObject(2)]);
    expect(await failure(pool.reset('main', zeroId, { ifTip: [one] }))).toMatchObject({
      code: 'tip-moved',
      status: 412,
    });
    const ends = await Promise.allSettled([one, zeroId, one].map((to) => pool.reset('main', to, { ifTip: [two] })));
    expect(ends.map(({ status }) => status)).toEqual(['fulfilled', 'rejected', 'rejected']);
    expect(pool.branch('main').commit).toBe(one);
    expect(await failure(pool.reset('main', 'main'))).toMatchObject({ code: 'commit-invalid', status: 400 });
    expect(await failure(pool.reset('nope', one))).toMatchObject({ code: 'branch-not-found' });
    expect(await failure(pool.reset('main', '1'.repeat(40)))).toMatchObject({ code: 'commit-not-found' });
  });

  test('leaves objects that a vacuum of what it left removes', async () => {
    const lake = await openTestLake();
    const pool = await newPool(lake);
    const [a, b] = [inlineObject(1), inlineObject(2)];
    const { commit: one } = await pool.load('main', [a]);
    await pool.load('main', [b]);
    const { commit: gone } = await pool.deleteObjects('main', [b.id]);
    await pool.reset('main', one);
    expect(await pool.vacuum('main', { dryRun: true })).toEqual([]);
    expect(await pool.vacuum(`0x${gone}`, { dryRun: true })).toEqual([b.id]);
    expect(await pool.vacuum(`0x${gone}`, { dryRun: false })).toEqual([b.id]);
    expect(await keysAt(lake, 'p', 'main')).toEqual(['1']);
  });
});

test.each(['transaction: asked', 'transaction: durable', 'reset: in the tables', 'settled: told'])(
  'a kill at "%s" of resets leaves the branch at one of its commits, and a sound lake',
  { timeout: 60_000 },
  async (killAt) => {
    for (const n of [1, 3]) {
      const lake = await openTestLake();
      const { directory } = lake;
      const pool = await newPool(lake);
      const { commit } = await pool.load('main', [inlineObject(1)]);
      await lake.close();
      expect(await openIn(directory, { killAt: `${killAt}:${n}`, what: 'reset' })).toBe('SIGKILL');
      const again = await openTestLake({ directory });
      const at = again.pool('p').branch('main').commit;
      const isDone = killAt !== 'transaction: asked';
      expect(at).toBe(isDone ? zeroId : commit);
      expect(await keysAt(again, 'p', 'main')).toEqual(at === zeroId ? [] : ['1']);
      await again.pool('p').load('main', [inlineObject(2)]);
      await again.close();
      expect((await fsck({ directory, files: openObjects(directory) })).faults).toEqual([]);
    }
  },
);
