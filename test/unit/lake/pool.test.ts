import { describe, expect, test } from 'vitest';
import { base62, newId, zeroId } from '../../../src/lake/ksuid.ts';
import type { ObjectMeta, Snapshot } from '../../../src/lake/lake.types.ts';
import { openObjects } from '../../../src/lake/objects/objects.ts';
import { purgePool } from '../../../src/lake/objects/purge.ts';
import { edited, failure, fileObject, inlineObject, keysAt, metaRows, newPool, openTestLake } from './support.ts';
import { tableNames } from '../../../src/lake/tables/tables.ts';

const files = async (directory: string): Promise<string[]> => {
  const found: string[] = [];
  for await (const id of openObjects(directory).list()) found.push(id);
  return found.sort();
};

describe('branches', () => {
  test('a branch begins at a commit in either spelling or truly empty at the zero commit', async () => {
    const lake = await openTestLake();
    const pool = await newPool(lake);
    const { commit } = await pool.load('main', [inlineObject(1)]);
    await pool.load('main', [inlineObject(2)]);
    await pool.createBranch('a', commit);
    await pool.createBranch('b', `0x${commit}`);
    await pool.createBranch('c', base62(commit));
    await pool.createBranch('empty', zeroId);
    expect(await Promise.all(['a', 'b', 'c', 'empty'].map((name) => keysAt(lake, 'p', name)))).toEqual([
      ['1'],
      ['1'],
      ['1'],
      [],
    ]);
  });

  test('a commit that is not in this pool, a malformed one, a taken and an empty name are refused', async () => {
    const lake = await openTestLake();
    const pool = await newPool(lake);
    const other = await newPool(lake, 'q');
    const { commit } = await other.load('main', [inlineObject(1)]);
    expect(await failure(pool.createBranch('a', commit))).toEqual({
      code: 'commit-not-found',
      status: 404,
      text: `commit not found: ${base62(commit)}`,
    });
    expect(await failure(pool.createBranch('a', 'main'))).toEqual({
      code: 'commit-invalid',
      status: 400,
      text: 'invalid commit object: main',
    });
    expect(await failure(pool.createBranch('main', zeroId))).toEqual({
      code: 'branch-exists',
      status: 409,
      text: 'p/main: branch already exists',
    });
    expect((await failure(pool.createBranch('', zeroId))).status).toBe(400);
  });

  test('main can be deleted and made again; commits stay readable by id', async () => {
    const lake = await openTestLake();
    const pool = await newPool(lake);
    const { commit } = await pool.load('main', [inlineObject(1)]);
    await pool.deleteBranch('main');
    expect(await failure(pool.deleteBranch('main'))).toEqual({
      code: 'branch-not-found',
      status: 404,
      text: '"main": branch not found',
    });
    expect((await failure(pool.load('main', [inlineObject(2)]))).code).toBe('branch-not-found');
    expect((await failure(pool.stats())).code).toBe('branch-not-found');
    expect(await keysAt(lake, 'p', commit)).toEqual(['1']);
    await pool.createBranch('main', commit);
    await pool.load('main', [inlineObject(3)]);
    expect(await keysAt(lake, 'p', 'main')).toEqual(['1', '3']);
  });

  test('an unknown branch or commit of a query is told in the words that clients know', async () => {
    const lake = await openTestLake();
    await newPool(lake);
    expect((await failure(lake.openSnapshot('p', 'nope'))).text).toBe('"nope": branch not found');
    expect(await failure(lake.openSnapshot('p', `0x${newId()}`))).toEqual({
      code: 'commit-file-missing',
      status: 404,
      text: 'file does not exist',
    });
    expect((await failure(lake.openSnapshot('q', 'main'))).text).toBe('q: pool not found');
    expect(await keysAt(lake, 'p', `0x${zeroId}`)).toEqual([]);
  });
});

describe('deletes', () => {
  test('by ids: doubles count once, an unknown one is a 404 and nothing is deleted', async () => {
    const lake = await openTestLake();
    const pool = await newPool(lake);
    const objects = [1, 2, 3].map((key) => inlineObject(key));
    await pool.load('main', objects);
    expect(await failure(pool.deleteObjects('main', [objects[0]!.id, '1'.padStart(40, '0')]))).toEqual({
      code: 'object-not-found',
      status: 404,
      text: '000000000000000000000000001: commit object not found',
    });
    await pool.deleteObjects('main', [objects[0]!.id, objects[0]!.id]);
    expect(await keysAt(lake, 'p', 'main')).toEqual(['2', '3']);
    expect((await failure(pool.deleteObjects('main', [objects[0]!.id]))).status).toBe(404);
    const [, row] = await metaRows(lake, 'p', 'log');
    expect(row).toMatchObject({
      commit: { message: `deleted 1 data object\n\n  ${base62(objects[0]!.id)} 1 record in 9 data bytes\n` },
    });
    const replacement = inlineObject(9);
    await pool.deleteWhere('main', async () => ({ removes: [objects[1]!.id], adds: [replacement] }), { meta: '7' });
    expect((await metaRows(lake, 'p', 'log'))[1]).toMatchObject({
      commit: {
        meta: '7',
        message: `deleted 1 data object\n\n  ${base62(objects[1]!.id)} 1 record in 9 data bytes\n\nadded 1 data object\n\n  ${base62(replacement.id)} 1 record in 9 data bytes\n`,
      },
    });
  });

  test('where: nothing that matches is an empty transaction', async () => {
    const lake = await openTestLake();
    const pool = await newPool(lake);
    expect(await failure(pool.deleteWhere('main', async () => ({ removes: [], adds: [] })))).toEqual({
      code: 'transaction-empty',
      status: 400,
      text: 'empty transaction: the filter selects no row of the branch',
    });
  });

  test('where: prepared again when the branch lost an object meanwhile, appends do not disturb it', async () => {
    const lake = await openTestLake();
    const pool = await newPool(lake);
    const [a, b] = [inlineObject(1), inlineObject(2)];
    await pool.load('main', [a, b]);
    const seen: string[][] = [];
    const left: ObjectMeta[] = [];
    await pool.deleteWhere('main', async (snapshot) => {
      const keys = snapshot.page({ limit: 10 }).objects.map((o) => o.min.text);
      seen.push(keys);
      await pool.load('main', [inlineObject(10 + seen.length)]);
      if (seen.length === 1) await pool.deleteObjects('main', [a.id]);
      const made = await fileObject(lake, 50);
      left.push(made);
      return { removes: seen.length === 1 ? [a.id, b.id] : [b.id], adds: [made] };
    });
    expect(seen).toEqual([
      ['1', '2'],
      ['2', '11'],
    ]);
    expect(await keysAt(lake, 'p', 'main')).toEqual(['11', '12', '50']);
    // What the first attempt wrote is removed again.
    expect(await files(lake.directory)).toEqual([left[1]!.id]);
  });

  test('64 changes of the same object at once all take place, each prepared twice at most', async () => {
    const lake = await openTestLake();
    const pool = await newPool(lake);
    await pool.load('main', [inlineObject(0)]);
    let prepared = 0;
    const change = async (): Promise<string> => {
      const { commit } = await pool.update('main', async (snapshot) => {
        prepared++;
        const [object] = snapshot.page({ limit: 1 }).objects;
        return { removes: [object!.id], adds: [await fileObject(lake, Number(object!.min.text) + 1)] };
      });
      return commit;
    };
    const commits = await Promise.all(Array.from({ length: 64 }, change));
    expect(new Set(commits).size).toBe(64);
    expect(await keysAt(lake, 'p', 'main')).toEqual(['64']);
    expect(prepared).toBeLessThanOrEqual(128);
  });

  test('where: a branch that never rests is a 409 in the end', async () => {
    const lake = await openTestLake();
    const pool = await newPool(lake);
    let next = inlineObject(1);
    await pool.load('main', [next]);
    const end = await failure(
      pool.deleteWhere('main', async () => {
        const now = next;
        next = inlineObject(1);
        await pool.load('main', [next]);
        await pool.deleteObjects('main', [now.id]);
        return { removes: [now.id], adds: [] };
      }),
    );
    expect(end).toMatchObject({ code: 'rewrite-overtaken', status: 409 });
  });
});

describe('compaction and vector markers', () => {
  test('two objects become one in one commit, with a marker if asked for', async () => {
    const lake = await openTestLake();
    const pool = await newPool(lake);
    const [a, b, c] = [inlineObject(1, 4, 2), inlineObject(2, 3, 2), inlineObject(1, 4, 4)];
    await pool.load('main', [a, b]);
    await pool.compact(
      'main',
      [a.id, b.id, a.id],
      async () => ({ removes: [a.id, b.id], adds: [c] }),
      {},
      { vectors: true },
    );
    expect(await keysAt(lake, 'p', 'main')).toEqual(['1-4']);
    expect((await metaRows(lake, 'p', 'vectors')).map((row) => row.kind === 'object' && row.object.id)).toEqual([c.id]);
    expect((await metaRows(lake, 'p', 'log'))[1]).toMatchObject({
      commit: {
        message: `compacted 2 objects\n\n  ${base62(a.id)} 2 records in 9 data bytes\n  ${base62(b.id)} 2 records in 9 data bytes\n\ncreated 1 object\n\n  ${base62(c.id)} 4 records in 9 data bytes\n`,
      },
    });
    expect(await failure(pool.compact('main', [a.id, b.id], async () => ({ removes: [], adds: [] })))).toMatchObject({
      status: 404,
      text: `${base62(a.id)}: commit object not found`,
    });
    expect((await failure(pool.compact('main', [c.id], async () => ({ removes: [], adds: [] })))).code).toBe(
      'compact-few',
    );
  });

  test('markers are added and deleted by commits without events; twice is an error', async () => {
    const lake = await openTestLake();
    const pool = await newPool(lake);
    const [a, b] = [inlineObject(1), inlineObject(2)];
    await pool.load('main', [a, b]);
    const before = pool.branch('main').commit;
    const last = lake.lastEventId();
    await pool.vectors('main', 'add', [a.id]);
    expect(lake.lastEventId()).toBe(last);
    const marked = async (commit: string) =>
      (await metaRows(lake, 'p', 'vectors', commit)).flatMap((row) =>
        row.kind === 'object' ? [row.object.min.text] : [],
      );
    expect([await marked('main'), await marked(before)]).toEqual([['1'], []]);
    expect(await failure(pool.vectors('main', 'add', [a.id]))).toEqual({
      code: 'vector-exists',
      status: 409,
      text: `vector exists for ${base62(a.id)}: vector add operation aborted`,
    });
    expect((await failure(pool.vectors('main', 'delete', [b.id]))).status).toBe(404);
    expect((await failure(pool.vectors('main', 'add', [newId()]))).status).toBe(404);
    await pool.vectors('main', 'add', []);
    await pool.vectors('main', 'delete', [a.id]);
    expect(await marked('main')).toEqual([]);
    expect(await keysAt(lake, 'p', 'main')).toEqual(['1', '2']);
    const actions = (await metaRows(lake, 'p', 'rawlog')).map((row) => row.kind);
    expect(actions).toEqual([
      'action-commit',
      'action-add',
      'action-add',
      'action-commit',
      'action-add-vector',
      'action-commit',
      'action-commit',
      'action-delete-vector',
    ]);
    const { directory } = lake;
    await lake.close();
    const again = await openTestLake({ directory });
    await again.pool('p').vectors('main', 'add', [b.id]);
    expect((await metaRows(again, 'p', 'vectors')).length).toBe(1);
  });
});

describe('vacuum', () => {
  test('the dry run lists exactly what the real run removes, then nothing is left', async () => {
    const lake = await openTestLake();
    const pool = await newPool(lake);
    const [a, b, c] = [inlineObject(1), await fileObject(lake, 2), await fileObject(lake, 3)];
    await pool.load('main', [a, b, c]);
    expect(await pool.vacuum('main', { dryRun: true })).toEqual([]);
    await pool.deleteObjects('main', [a.id, b.id]);
    const before = pool.branch('main').commit;
    const dry = await pool.vacuum('main', { dryRun: true });
    expect(new Set(dry)).toEqual(new Set([a.id, b.id]));
    expect(await files(lake.directory)).toEqual([b.id, c.id].sort());
    expect(await pool.vacuum('main', { dryRun: false })).toEqual(dry);
    expect(await files(lake.directory)).toEqual([c.id]);
    expect([await pool.vacuum('main', { dryRun: true }), await pool.vacuum('main', { dryRun: false })]).toEqual([
      [],
      [],
    ]);
    expect(pool.branch('main').commit).toBe(before);
    expect(await keysAt(lake, 'p', 'main')).toEqual(['3']);
  });

  test('from a commit: only what earlier commits hold and it does not; unknown revisions are not found', async () => {
    const lake = await openTestLake();
    const pool = await newPool(lake);
    const a = inlineObject(1);
    const { commit: first } = await pool.load('main', [a]);
    const { commit: second } = await pool.deleteObjects('main', [a.id]);
    expect(await pool.vacuum(first, { dryRun: true })).toEqual([]);
    expect(await pool.vacuum(`0x${second}`, { dryRun: true })).toEqual([a.id]);
    expect(await pool.vacuum(zeroId.replace(/^/, '0x'), { dryRun: true })).toEqual([]);
    expect((await failure(pool.vacuum('nope', { dryRun: true }))).text).toBe('"nope": branch not found');
    expect((await failure(pool.vacuum(`0x${newId()}`, { dryRun: true }))).text).toBe('file does not exist');
  });

  test('what another branch or an open snapshot holds stays (P5, reference mistake 1)', async () => {
    const lake = await openTestLake();
    const pool = await newPool(lake);
    const [a, b, c] = [await fileObject(lake, 1), await fileObject(lake, 2), await fileObject(lake, 3)];
    await pool.load('main', [a]);
    await pool.createBranch('keep', pool.branch('main').commit);
    const { commit } = await pool.load('main', [b, c]);
    await pool.deleteObjects('main', [a.id, b.id, c.id]);
    const snapshot: Snapshot = await lake.openSnapshot('p', commit);
    expect(await pool.vacuum('main', { dryRun: true })).toEqual([]);
    expect(await pool.vacuum('main', { dryRun: false })).toEqual([]);
    expect((await files(lake.directory)).length).toBe(3);
    snapshot.release();
    snapshot.release();
    expect(new Set(await pool.vacuum('main', { dryRun: false }))).toEqual(new Set([b.id, c.id]));
    expect(await files(lake.directory)).toEqual([a.id]);
    expect(await keysAt(lake, 'p', 'keep')).toEqual(['1']);
  });

  test('a commit whose objects were vacuumed is a 410 that names them; a revert that needs them is a 409 (reference mistake 7); no branch begins there', async () => {
    const lake = await openTestLake();
    const pool = await newPool(lake);
    const a = await fileObject(lake, 1);
    const { commit: first } = await pool.load('main', [a]);
    const { commit: second } = await pool.deleteObjects('main', [a.id]);
    expect(lake.figures()).toMatchObject({ commits: 2, objects: 1 });
    await pool.vacuum('main', { dryRun: false });
    expect(lake.figures()).toMatchObject({ commits: 2, objects: 0 });
    const gone = {
      code: 'vacuumed',
      status: 410,
      text: `commit ${base62(first)}: its data objects were vacuumed: ${base62(a.id)}`,
    };
    expect(await failure(lake.openSnapshot('p', first))).toEqual(gone);
    expect(await failure(pool.createBranch('kid', first))).toEqual(gone);
    expect(await failure(pool.createBranch('main', first))).toEqual({
      code: 'branch-exists',
      status: 409,
      text: 'p/main: branch already exists',
    });
    expect(await failure(pool.revert('main', second))).toEqual({
      code: 'revert-vacuumed',
      status: 409,
      text: `commit ${base62(second)} cannot be reverted: its data objects were vacuumed: ${base62(a.id)}`,
    });
    expect(await failure(pool.revert('main', first))).toMatchObject({ code: 'revert-empty' });
    expect(await keysAt(lake, 'p', 'main')).toEqual([]);
    expect((await metaRows(lake, 'p', 'objects', first)).length).toBe(1);
    const { directory } = lake;
    await lake.close();
    const again = await openTestLake({ directory });
    expect(await failure(again.openSnapshot('p', first))).toEqual(gone);
  });

  test('vacuums, reverts and reads at the same time never leave a branch without its objects', async () => {
    const lake = await openTestLake();
    const pool = await newPool(lake);
    for (let round = 0; round < 15; round++) {
      const object = await fileObject(lake, round);
      await pool.load('main', [object]);
      const { commit } = await pool.deleteObjects('main', [object.id]);
      const [vacuum, revert] = await Promise.allSettled([
        pool.vacuum('main', { dryRun: false }),
        pool.revert('main', commit),
        pool.load('main', [inlineObject(1000 + round)]),
      ]);
      expect(vacuum.status).toBe('fulfilled');
      const there = (await keysAt(lake, 'p', 'main')).includes(String(round));
      const onDisk = (await files(lake.directory)).includes(object.id);
      expect(there).toBe(revert.status === 'fulfilled');
      if (there) expect(onDisk).toBe(true);
    }
  });
});

describe('start', () => {
  test('files that no commit names are swept, those of commits stay', async () => {
    const lake = await openTestLake();
    const pool = await newPool(lake);
    const kept = await fileObject(lake, 1);
    await pool.load('main', [kept]);
    const orphan = await fileObject(lake, 2);
    const { directory } = lake;
    await lake.close();
    expect((await files(directory)).length).toBe(2);
    const again = await openTestLake({ directory });
    await again.close();
    expect(await files(directory)).toEqual([kept.id]);
    expect(orphan.id).not.toBe(kept.id);
  });

  test('rows and files of a deleted pool go once nobody reads it', async () => {
    const lake = await openTestLake();
    const pool = await newPool(lake);
    await pool.load('main', [await fileObject(lake, 1), inlineObject(2)]);
    const snapshot = await lake.openSnapshot('p', 'main');
    await lake.deletePool('p');
    expect(snapshot.page({ limit: 5 }).objects.map((o) => o.min.text)).toEqual(['1', '2']);
    expect((await files(lake.directory)).length).toBe(1);
    snapshot.release();
    while ((await files(lake.directory)).length > 0)
      await new Promise((resolve) => {
        setImmediate(resolve);
      });
    await lake.close();
    await edited(lake.directory, async (tables) => {
      // Closing interrupted it; the next start goes on.
      await purgePool(tables, openObjects(lake.directory), pool.config.id, () => false);
      expect(
        tableNames.filter((name) => name !== 'about' && name !== 'events' && tables.keys(name).length > 0),
      ).toEqual([]);
    });
  });
});

test('stats are size and span of main, partitions are groups of overlapping objects', async () => {
  const lake = await openTestLake();
  const pool = await newPool(lake);
  expect(await pool.stats()).toEqual({ size: 0 });
  await pool.load('main', [
    inlineObject(1, 5),
    inlineObject(5, 8),
    inlineObject(9, 10),
    inlineObject(12, 20),
    inlineObject(13, 14),
  ]);
  expect(await pool.stats()).toMatchObject({ size: 45, span: { min: { text: '1' }, max: { text: '20' } } });
  const partitions = (await metaRows(lake, 'p', 'partitions')).map(
    (row) => row.kind === 'partition' && [row.min.text, row.max.text, row.objects.length],
  );
  expect(partitions).toEqual([
    ['1', '8', 2],
    ['9', '10', 1],
    ['12', '20', 2],
  ]);
  expect((await failure(lake.metaPage({ pool: 'p', meta: 'foo' }))).text).toBe('unknown metadata type "foo"');
  expect((await failure(lake.metaPage({ meta: 'foo' }))).text).toBe(
    'unknown database metadata type "foo" in from operator',
  );
});
