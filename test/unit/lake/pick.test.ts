/** Picks by objects alone, as a pool without anybody who compares records does them. */
import { expect, test } from 'vitest';
import { failure, inlineObject, keysAt, newPool, openTestLake } from './support.ts';

test('objects that both sides rewrote are a conflict', async () => {
  const lake = await openTestLake();
  const pool = await newPool(lake);
  const [one, two, three] = [inlineObject(1), inlineObject(2), inlineObject(3)];
  await pool.load('main', [one]);
  await pool.createBranch('kid', pool.branch('main').commit);
  const { commit } = await pool.deleteWhere('kid', async () => ({ removes: [one.id], adds: [two] }));
  await pool.deleteWhere('main', async () => ({ removes: [one.id], adds: [three] }));
  const picked = pool.picked(`0x${commit}`);
  expect(await failure(pool.combine({ kind: 'pick', branch: 'main', ...picked }))).toMatchObject({
    code: 'pick-conflict',
    status: 409,
    text: expect.stringContaining('changed the same data objects in different ways: '),
  });
  expect(await keysAt(lake, 'p', 'main')).toEqual(['3']);
});

test('objects that were vacuumed do not come back', async () => {
  const lake = await openTestLake();
  const pool = await newPool(lake);
  await pool.load('main', [inlineObject(1)]);
  await pool.createBranch('kid', pool.branch('main').commit);
  const two = inlineObject(2);
  const { commit } = await pool.load('kid', [two]);
  await pool.deleteObjects('kid', [two.id]);
  await pool.vacuum('kid', { dryRun: false });
  const combination = { kind: 'pick', branch: 'main', ...pool.picked(`0x${commit}`) } as const;
  expect((await failure(pool.combine(combination))).code).toBe('pick-vacuumed');
  expect((await pool.previewCombined(combination)).refusal).toContain('were vacuumed: ');
});
