/**
 * What the lake keeps in memory of the lists of commits' objects: bytes and not entries, for a time, and nothing of
 * what is gone.
 */
import { expect, test } from 'vitest';
import type { Lake } from '../../../src/lake/lake.types.ts';
import { inlineObject, keysAt, newPool, openTestLake } from './support.ts';

const listsOf = (lake: Lake): number => lake.figures().snapshots;
const bytesOf = (lake: Lake): number => lake.figures().snapshotBytes;
const objects = (count: number) => Array.from({ length: count }, (_, i) => inlineObject(i));

test('lists of many commits keep to their budget, the least recently used go', async () => {
  const lake = await openTestLake({ snapshots: { bytesMax: 1 << 20 } });
  const pool = await newPool(lake);
  const commits: string[] = [];
  for (let i = 0; i < 8; i++) commits.push((await pool.load('main', objects(500))).commit);
  for (const [i, commit] of commits.entries()) {
    expect((await keysAt(lake, 'p', `0x${commit}`)).length).toBe((i + 1) * 500);
    // The newest one stays, whatever it takes.
    expect(bytesOf(lake) <= 1 << 20 || listsOf(lake) === 1).toBe(true);
  }
  expect(listsOf(lake)).toBeLessThan(commits.length);
  expect(await keysAt(lake, 'p', `0x${commits[0]!}`)).toHaveLength(500);
});

test('a list of many commits in a row is charged with all that it holds', async () => {
  const lake = await openTestLake();
  const pool = await newPool(lake);
  await pool.load('main', [inlineObject(0)]);
  await keysAt(lake, 'p', 'main');
  const one = bytesOf(lake);
  for (let i = 1; i <= 100; i++) await pool.load('main', [inlineObject(i)]);
  expect(listsOf(lake)).toBe(1);
  expect(bytesOf(lake)).toBeGreaterThan(one + 100 * 500);
});

test('what two lists share is charged once', async () => {
  const lake = await openTestLake();
  const pool = await newPool(lake);
  const { commit } = await pool.load('main', objects(5000));
  await keysAt(lake, 'p', 'main');
  const before = bytesOf(lake);
  await pool.createBranch('other', commit);
  await pool.load('other', [inlineObject(9999)]);
  expect(listsOf(lake)).toBe(2);
  expect(bytesOf(lake)).toBeLessThan(before * 1.2);
});

test('lists that nobody used for some time go', async () => {
  const lake = await openTestLake({ snapshots: { idleMs: 40 } });
  const pool = await newPool(lake);
  await pool.load('main', objects(10));
  await keysAt(lake, 'p', 'main');
  await expect.poll(() => [listsOf(lake), bytesOf(lake)]).toEqual([0, 0]);
  expect(await keysAt(lake, 'p', 'main')).toHaveLength(10);
});

test('nothing is kept of pools and branches that are gone', async () => {
  const lake = await openTestLake();
  const pool = await newPool(lake);
  const { commit } = await pool.load('main', objects(10));
  await pool.createBranch('kid', commit);
  await pool.load('kid', objects(3));
  await keysAt(lake, 'p', 'main');
  await keysAt(lake, 'p', 'kid');
  expect(listsOf(lake)).toBe(2);
  await pool.deleteBranch('kid');
  expect(listsOf(lake)).toBe(1);
  // A list that is being read when its pool goes.
  const reading = lake.openSnapshot('p', `0x${commit}`).catch(() => undefined);
  await lake.deletePool('p');
  (await reading)?.release();
  expect([listsOf(lake), bytesOf(lake)]).toEqual([0, 0]);
});
