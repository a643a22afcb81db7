/** Where a branch was at a time: after commits, resets, deletions, restarts, and against a model of all of these. */
import { rmSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { zeroId } from '../../../src/lake/ksuid.ts';
import type { Id, Lake, Pool } from '../../../src/lake/lake.types.ts';
import { LakeDraws } from '../../../src/lake/draws.ts';
import { openObjects } from '../../../src/lake/objects/objects.ts';
import { fsck } from '../../../src/lake/repair/fsck.ts';
import { repair } from '../../../src/lake/repair/repair.ts';
import { logFolder } from '../../../src/lake/log/reader.ts';
import { Environment } from '../../../src/lake/tables/environment.ts';
import { encodeMove, moveKey } from '../../../src/lake/tables/rows.ts';
import { openIndex, Tables } from '../../../src/lake/tables/tables.ts';
import { tagsVersion } from '../../../src/lake/tables/versions.ts';
import { timeText } from '../../../src/vectors/literal.ts';
import { randomOf, seedOf } from '../../support/random.ts';
import { failure, inlineObject, keysAt, metaRows, newPool, openTestLake } from './support.ts';

const textOf = (ns: bigint): string => timeText(ns);
const opened = async (directory?: string): Promise<{ lake: Lake; clock: LakeDraws }> => {
  const clock = new LakeDraws();
  return { lake: await openTestLake({ draws: clock, ...(directory !== undefined && { directory }) }), clock };
};

describe('a branch at a time', () => {
  test('is where it was after each commit, reset and deletion, and by its name at that time', async () => {
    const { lake, clock } = await opened();
    const pool = await newPool(lake);
    const before = textOf(clock.nowNs());
    const at: string[] = [];
    const tick = (): void => {
      at.push(textOf(clock.nowNs()));
    };
    const { commit: one } = await pool.load('main', [inlineObject(1)]);
    tick();
    const { commit: two } = await pool.load('main', [inlineObject(2)]);
    tick();
    await pool.reset('main', one);
    tick();
    const { commit: three } = await pool.load('main', [inlineObject(3)]);
    tick();
    await pool.reset('main', two);
    tick();
    await pool.createBranch('kid', three);
    await pool.deleteBranch('main');
    tick();
    await pool.createBranch('main', zeroId);
    tick();
    const found: unknown[] = [];
    for (const time of at) found.push(await pool.asOf('main', time).catch((error: { code: string }) => error.code));
    expect(found).toEqual([one, two, one, three, two, 'asof-absent', zeroId]);
    expect(await pool.asOf('main', before)).toBe(zeroId);
    expect(await failure(pool.asOf('main', textOf(pool.config.tsNs - 1n)))).toMatchObject({ status: 404 });
    expect(await failure(pool.asOf('kid', at[0]!))).toEqual({
      code: 'asof-absent',
      status: 404,
      text: `"kid": there was no such branch or tag at ${at[0]!}`,
    });
    expect(await pool.asOf('kid', '9999-12-31T23:59:59Z')).toBe(three);
    expect(await failure(pool.asOf('main', '1969-01-01T00:00:00Z'))).toMatchObject({ code: 'asof-absent' });
    expect(await failure(pool.asOf('nope', at[0]!))).toMatchObject({ code: 'branch-not-found' });
    expect(await failure(pool.asOf('main', 'yesterday'))).toMatchObject({ code: 'asof-malformed', status: 400 });
    // Where a commit may stand a time is of main, unless something has it as its name.
    expect(await keysAt(lake, 'p', at[3]!)).toEqual(['1', '3']);
    expect(await pool.sums(at[1]!)).toMatchObject({ commit: two, records: 2 });
    expect(await pool.vacuum(at[4]!, { dryRun: true })).toEqual([]);
    expect((await metaRows(lake, 'p', 'log', at[3])).filter(({ kind }) => kind === 'commit')).toHaveLength(2);
    await pool.createTag(at[3]!, one);
    expect(await keysAt(lake, 'p', at[3]!)).toEqual(['1']);
    expect(await pool.asOf(at[3]!, textOf(clock.nowNs()))).toBe(one);
    expect(await failure(pool.asOf(at[3]!, at[3]!))).toMatchObject({ code: 'asof-absent' });
  });

  test('is so after a restart, and out of the log alone; the lake is of a newer format from its first move on', async () => {
    const { lake, clock } = await opened();
    const { directory } = lake;
    const pool = await newPool(lake);
    const { commit: one } = await pool.load('main', [inlineObject(1)]);
    const { commit: two } = await pool.load('main', [inlineObject(2)]);
    const time = textOf(clock.nowNs());
    await pool.createBranch('kid', one);
    await lake.close();
    const versionNow = async (): Promise<number> => {
      const tables = openIndex(join(directory, 'tables'));
      const version = tables.version();
      await tables.close();
      return version;
    };
    expect(await versionNow()).toBeLessThan(tagsVersion);
    const moving = (await opened(directory)).lake;
    await moving.pool('p').reset('main', one);
    const later = textOf(clock.nowNs());
    await moving.pool('p').deleteBranch('main');
    await moving.close();
    expect(await versionNow()).toBe(tagsVersion);
    rmSync(join(directory, 'tables'), { recursive: true });
    const again = (await opened(directory)).lake;
    expect(await again.pool('p').asOf('main', time)).toBe(two);
    expect(await again.pool('p').asOf('main', later)).toBe(one);
    await again.close();
    expect(await versionNow()).toBe(tagsVersion);
    expect((await fsck({ directory, files: openObjects(directory) })).faults).toEqual([]);
  });

  test('that went from a commit that is lost is named, and forgotten by a repair', async () => {
    const { lake } = await opened();
    const { directory } = lake;
    const pool = await newPool(lake);
    await pool.load('main', [inlineObject(1)]);
    await lake.close();
    const tables = new Tables({ environment: new Environment(join(directory, 'tables')) });
    const move = { name: 'main', from: '12'.repeat(20), sinceNs: 1n };
    await tables.write([{ table: 'moves', key: moveKey(pool.config.id, 'main', 5n), payload: encodeMove(move) }]);
    await tables.close();
    rmSync(logFolder(directory), { recursive: true });
    const options = { directory, files: openObjects(directory) };
    expect((await fsck(options)).faults.join('\n')).toMatch(/branch "main": commit \w{27}, where it was, is missing/);
    const { lost } = await repair({ ...options, keepFile: async () => undefined });
    expect(lost.join('\n')).toMatch(/branch "main": where it was before is lost with commit \w{27}/);
    expect((await fsck(options)).faults).toEqual([]);
  });
});

test('random moves of branches are found again at every time, by the first look and by the next', async () => {
  const seed = seedOf(Math.floor(Date.now() / 86_400_000));
  console.log(`asof: seed ${seed}`);
  const random = randomOf(seed);
  const { lake, clock } = await opened();
  const pool: Pool = await newPool(lake);
  const names = ['main', 'kid', 'side'];
  const commits: Id[] = [zeroId];
  const seen: { readonly time: string; readonly name: string; readonly commit: Id | undefined }[] = [];
  for (let step = 0; step < 1500; step++) {
    const name = random.pick(names);
    const isThere = pool.branches().some((branch) => branch.name === name);
    const kind = random.below(40);
    if (!isThere) {
      if (kind < 30) await pool.createBranch(name, random.pick(commits));
    } else if (kind < 36) commits.push((await pool.load(name, [inlineObject(step)])).commit);
    else if (kind < 39) await pool.reset(name, random.pick(commits));
    else await pool.deleteBranch(name);
    const time = textOf(clock.nowNs());
    for (const each of names)
      seen.push({ time, name: each, commit: pool.branches().find((branch) => branch.name === each)?.commit });
  }
  for (let i = 0; i < 3000; i++) {
    const { time, name, commit } = random.pick(seen);
    const found = await pool.asOf(name, time).catch((error: { readonly code: string }) => error.code);
    const absent = commit === undefined ? ['asof-absent', 'branch-not-found'] : [commit];
    if (!absent.includes(found))
      throw new Error(`seed ${seed}: ${name} at ${time} is ${found}, not ${absent.join(' ')}`);
  }
});
