/** Tags: they hold what a vacuum would take, never move, and outlive damage or are named as lost. */
import { rmSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { base62, zeroId } from '../../../src/lake/ksuid.ts';
import { openObjects } from '../../../src/lake/objects/objects.ts';
import { purgePool } from '../../../src/lake/objects/purge.ts';
import { fsck } from '../../../src/lake/repair/fsck.ts';
import { repair } from '../../../src/lake/repair/repair.ts';
import { branchKey, encodeTag } from '../../../src/lake/tables/rows.ts';
import { logFolder } from '../../../src/lake/log/reader.ts';
import { Environment } from '../../../src/lake/tables/environment.ts';
import { Tables } from '../../../src/lake/tables/tables.ts';
import { edited, failure, fileObject, inlineObject, keysAt, newPool, openIn, openTestLake } from './support.ts';

const filesIn = async (directory: string): Promise<readonly string[]> => {
  const found: string[] = [];
  for await (const id of openObjects(directory).list()) found.push(id);
  return found.sort();
};

describe('what a tag holds', () => {
  test('stays through vacuums from any revision, by dry run and in earnest, until the last tag goes', async () => {
    const lake = await openTestLake();
    const pool = await newPool(lake);
    const [a, b] = [await fileObject(lake, 1), await fileObject(lake, 2)];
    const { commit: first } = await pool.load('main', [a]);
    const { commit: second } = await pool.load('main', [b]);
    const { commit: tip } = await pool.deleteObjects('main', [a.id, b.id]);
    await pool.createTag('first', first);
    await pool.createTag('both', second);
    for (const revision of ['main', `0x${tip}`])
      for (const dryRun of [true, false]) expect(await pool.vacuum(revision, { dryRun })).toEqual([]);
    await pool.deleteTag('both');
    for (const dryRun of [true, false]) expect(await pool.vacuum('main', { dryRun })).toEqual([b.id]);
    expect(await filesIn(lake.directory)).toEqual([a.id]);
    expect(await keysAt(lake, 'p', 'first')).toEqual(['1']);
    expect(await failure(pool.createTag('again', second))).toMatchObject({ code: 'vacuumed', status: 410 });
    // What came after the tag is no candidate from there.
    expect(await pool.vacuum('first', { dryRun: true })).toEqual([]);
  });

  test('is read by the tag though the branch is gone, after a restart, and from a base', async () => {
    const lake = await openTestLake();
    const { directory } = lake;
    const pool = await newPool(lake);
    const { commit } = await pool.load('main', [inlineObject(1)]);
    const tag = await pool.createTag('v1', commit);
    await pool.createBranch('empty', zeroId);
    await pool.deleteBranch('main');
    expect(await pool.vacuum('v1', { dryRun: false })).toEqual([]);
    expect((await pool.graph({ limit: 10 })).commits.map(({ id }) => id)).toEqual([commit]);
    expect(await pool.sums('v1')).toMatchObject({ commit, records: 1 });
    await lake.close();
    rmSync(join(directory, 'tables'), { recursive: true });
    const again = await openTestLake({ directory });
    expect(again.pool('p').tags()).toEqual([tag]);
    expect(await keysAt(again, 'p', 'v1')).toEqual(['1']);
    expect((await fsck({ directory: (await again.close(), directory), files: openObjects(directory) })).faults).toEqual(
      [],
    );
  });

  test('is what a branch and a commit are: a name is one of these, ids win', async () => {
    const lake = await openTestLake();
    const pool = await newPool(lake);
    const { commit: first } = await pool.load('main', [inlineObject(1)]);
    const { commit: second } = await pool.load('main', [inlineObject(2)]);
    // A commit in a client's spelling wins over a name; one in the service's own does not.
    await pool.createTag(base62(first), second);
    await pool.createTag(first, second);
    expect(await keysAt(lake, 'p', base62(first))).toEqual(['1']);
    expect(await keysAt(lake, 'p', first)).toEqual(['1', '2']);
    expect(pool.tip(first)).toBe(second);
    expect(await failure(pool.createTag('', second))).toMatchObject({ code: 'tag-name-missing', status: 400 });
    expect(await failure(pool.createTag('..', second))).toMatchObject({ code: 'name-reserved' });
    expect(await failure(pool.createTag('x', 'main'))).toMatchObject({ code: 'commit-invalid' });
    expect(await failure(pool.createTag('x', zeroId.replaceAll('0', '1')))).toMatchObject({ code: 'commit-not-found' });
    const both = await Promise.allSettled([pool.createTag('one', first), pool.createBranch('one', first)]);
    expect(both.map(({ status }) => status)).toEqual(['fulfilled', 'rejected']);
    await pool.createTag('last', zeroId);
    expect(await keysAt(lake, 'p', 'last')).toEqual([]);
  });

  test('goes with its pool', async () => {
    const lake = await openTestLake();
    const { directory } = lake;
    const pool = await newPool(lake);
    const { commit } = await pool.load('main', [inlineObject(1)]);
    await pool.createTag('v1', commit);
    await lake.deletePool('p');
    await lake.close();
    await edited(directory, async (tables) => {
      await purgePool(tables, openObjects(directory), pool.config.id, () => false);
      expect(tables.count('tags')).toBe(0);
    });
  });
});

describe('a tag that is damaged', () => {
  const damaged = async (edit: (tables: Tables, pool: string) => Promise<void>): Promise<string> => {
    const lake = await openTestLake();
    const { directory } = lake;
    const pool = await newPool(lake);
    const { commit } = await pool.load('main', [inlineObject(1)]);
    await pool.createTag('v1', commit);
    await lake.close();
    const tables = new Tables({ environment: new Environment(join(directory, 'tables')) });
    await edit(tables, pool.config.id);
    await tables.close();
    rmSync(logFolder(directory), { recursive: true });
    return directory;
  };
  const tagNamed = (tables: Tables, pool: string, name: string, commit?: string): Promise<void> => {
    const [row] = tables.rows('tags');
    const at = commit ?? (JSON.parse(row!.payload.toString()) as { commit: string }).commit;
    return tables.write([
      { table: 'tags', key: row!.key },
      { table: 'tags', key: branchKey(pool, name), payload: encodeTag({ tsNs: 1n, name, commit: at }) },
    ]);
  };

  test('by a lost commit goes, and is named', async () => {
    const commit = '12'.repeat(20);
    const directory = await damaged((tables, pool) => tagNamed(tables, pool, 'v1', commit));
    const options = { directory, files: openObjects(directory) };
    expect((await fsck(options)).faults).toContain(`pool "p", tag "v1": its commit ${base62(commit)} is missing`);
    const { lost } = await repair({ ...options, keepFile: async () => undefined });
    expect(lost).toContain(`pool "p", tag "v1": it is gone, as its commit ${base62(commit)} is lost`);
    const lake = await openTestLake({ directory });
    expect(lake.pool('p').tags()).toEqual([]);
    expect(await keysAt(lake, 'p', 'main')).toEqual(['1']);
  });

  test('by the name of a branch gets a name of its own', async () => {
    const directory = await damaged((tables, pool) => tagNamed(tables, pool, 'main'));
    const options = { directory, files: openObjects(directory) };
    expect((await fsck(options)).faults).toContain('pool "p", tag "main": it has the name of a branch');
    const { lost } = await repair({ ...options, keepFile: async () => undefined });
    const lake = await openTestLake({ directory });
    const [tag] = lake.pool('p').tags();
    expect(tag!.name).toBe(`main (${base62(tag!.commit)})`);
    expect(lost).toContain(`pool "p", tag "main": a branch has its name, it is called "${tag!.name}" now`);
    expect(await keysAt(lake, 'p', tag!.name)).toEqual(['1']);
    await lake.close();
    expect((await fsck(options)).faults).toEqual([]);
  });
});

test.each(['transaction: asked', 'transaction: durable', 'tag: in the tables', 'settled: told'])(
  'a kill at "%s" of making and deleting tags leaves each there or not, and a sound lake',
  { timeout: 60_000 },
  async (killAt) => {
    for (const n of [1, 4]) {
      const lake = await openTestLake();
      const { directory } = lake;
      const pool = await newPool(lake);
      const { commit } = await pool.load('main', [inlineObject(1)]);
      await pool.createTag('there', commit);
      await lake.close();
      expect(await openIn(directory, { killAt: `${killAt}:${n}`, what: 'tags' })).toBe('SIGKILL');
      const again = await openTestLake({ directory });
      const names = again
        .pool('p')
        .tags()
        .map(({ name }) => name)
        .sort()
        .join(' ');
      expect(['there', 'made there', 'made', '']).toContain(names);
      await again.close();
      expect((await fsck({ directory, files: openObjects(directory) })).faults).toEqual([]);
    }
  },
);
