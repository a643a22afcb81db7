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

test('a conflict of objects whose records cannot be compared says that a vacuum is why', async () => {
  const lake = await openTestLake();
  const pool = await newPool(lake);
  const before = inlineObject(1);
  await pool.load('main', [before]);
  await pool.createBranch('kid', pool.branch('main').commit);
  for (const [branch, key] of [
    ['kid', 2],
    ['main', 3],
  ] as const)
    await pool.deleteWhere(branch, async () => ({ removes: [before.id], adds: [inlineObject(key)] }));
  await pool.vacuum('main', { dryRun: false });
  const prepare = (): never => expect.unreachable('nothing to compare');
  const combination = { kind: 'merge', target: 'main', child: 'kid' } as const;
  const text = expect.stringMatching(
    /^error merging "kid" into "main": both changed .*; their records cannot be compared, since data objects of the common state before were vacuumed: \w{27}$/,
  ) as string;
  expect(await failure(pool.combine(combination, {}, prepare))).toMatchObject({ code: 'records-vacuumed', text });
  expect((await pool.previewCombined(combination, { prepare })).refusal).toEqual(text);
});

const nothingDone = { removes: [], adds: [], removed: 0, added: 1, conflicts: 0, told: '', settled: 0 };

test('by an identity what is written meanwhile is looked at, unless it lies elsewhere', async () => {
  const lake = await openTestLake();
  const { pool: made } = await lake.createPool({ name: 'p', keys: [['k']], identity: [['k']] });
  const pool = lake.pool(`0x${made.id}`);
  await pool.load('main', [inlineObject(1)]);
  await pool.createBranch('kid', pool.branch('main').commit);
  await pool.load('kid', [inlineObject(5)]);
  await pool.load('main', [inlineObject(2)]);
  const five = inlineObject(5);
  const keys = [five.min.sort, five.max.sort] as const;
  let attempts = 0;
  const merge = (key: number): Promise<unknown> =>
    pool.combine({ kind: 'merge', target: 'main', child: 'kid' }, {}, async () => {
      attempts++;
      await pool.load('main', [inlineObject(key)]);
      return { ...nothingDone, isApart: true, keys };
    });
  expect(await failure(merge(5))).toMatchObject({
    code: 'combine-overtaken',
    text: 'branch "main": gave up after 8 attempts: others wrote to it meanwhile; try again',
  });
  expect(attempts).toBe(8);
  await merge(9);
  expect(attempts).toBe(9);
});

test('without an identity what is loaded meanwhile is beside it, but not what the other side or the base has', async () => {
  const lake = await openTestLake();
  const pool = await newPool(lake);
  const [one, five, six] = [inlineObject(1), inlineObject(5), inlineObject(6)];
  await pool.load('main', [one]);
  const { commit: loadedSix } = await pool.load('main', [six]);
  await pool.createBranch('kid', pool.branch('main').commit);
  await pool.deleteObjects('main', [six.id]);
  await pool.deleteWhere('main', async () => ({ removes: [one.id], adds: [inlineObject(3)] }));
  await pool.deleteWhere('kid', async () => ({ removes: [one.id], adds: [inlineObject(2)] }));
  const { commit: loadedFive } = await pool.load('kid', [five]);
  const pick = (commit: string | undefined) =>
    ({ kind: 'pick', branch: 'main', ...pool.picked(`0x${commit}`) }) as const;
  const attempts = async (meanwhile: () => Promise<unknown>): Promise<number> => {
    const before = pool.branch('main').commit;
    let count = 0;
    await pool.combine({ kind: 'merge', target: 'main', child: 'kid' }, {}, async () => {
      if (++count === 1) await meanwhile();
      return { ...nothingDone, isApart: false };
    });
    await pool.reset('main', `0x${before}`);
    return count;
  };
  expect(await attempts(() => pool.load('main', [inlineObject(9)]))).toBe(1);
  expect(await attempts(() => pool.combine(pick(loadedSix)))).toBe(2);
  expect(await attempts(() => pool.combine(pick(loadedFive)))).toBe(2);
});
