/**
 * Rows whose checksums hold and that make no history: malformed ids and keys, loops, parents that are not below, torn
 * checkpoints. Whatever is asked ends, with an error that names the row.
 */
import { describe, expect, test, vi } from 'vitest';
import { idBuffer } from '../../../../src/lake/ksuid.ts';
import { moveObject, openObjects } from '../../../../src/lake/objects/objects.ts';
import { repair } from '../../../../src/lake/repair/repair.ts';
import { checkpointKey, encodeCommit, encodeObjects, pairKey } from '../../../../src/lake/tables/rows.ts';
import type { Change } from '../../../../src/lake/tables/table-rows.ts';
import { bound, edited, failure, inlineObject, keysAt, metaRows, newPool, openTestLake } from '../support.ts';

const json = (value: unknown): Buffer => Buffer.from(JSON.stringify(value));
const commitRow = (pool: string, id: string, parent: string, height: number, adds: readonly string[] = []): Change => ({
  table: 'commits',
  key: pairKey(pool, id),
  payload: encodeCommit({ id, parent, height, author: '', dateNs: 1n, message: '', meta: 'null', adds, deletes: [] }),
});

interface Made {
  readonly pool: string;
  readonly commits: readonly string[];
  readonly branch: Buffer;
}
/**
 * A lake with three commits on `main`, a branch `side` at the first of them and a pool of its own; then rows are
 * written behind its back.
 */
const damagedLake = async (rows: (made: Made) => readonly Change[]): Promise<Made & { readonly directory: string }> => {
  const lake = await openTestLake();
  const p = await newPool(lake);
  const commits: string[] = [];
  for (let i = 1; i <= 3; i++) commits.push((await p.load('main', [inlineObject(i)])).commit);
  await (await newPool(lake, 'other')).load('main', [inlineObject(7)]);
  await lake.close();
  const pool = p.config.id;
  let made: Made | undefined;
  await edited(lake.directory, async (tables) => {
    const branch = tables.rows('branches').find(({ key }) => key.includes(idBuffer(pool)))!.key;
    made = { pool, commits, branch };
    await tables.write(rows(made));
  });
  return { ...made!, directory: lake.directory };
};

const damages: Readonly<
  Record<
    string,
    { readonly rows: (made: Made) => readonly Change[]; readonly fault: RegExp; readonly left: readonly string[] }
  >
> = {
  'ids of a clock in 1970, keys that were cut': {
    rows: ({ pool, commits, branch }) => [
      {
        table: 'branches',
        key: branch,
        payload: json({ ts: '1', name: 'main', commit: '-53724dff64003f7a401e01dd8caa22256f57936e' }),
      },
      {
        table: 'commits',
        key: idBuffer(pool),
        payload: json({
          p: '-53724dfff6979e0943a0667531c7bc9b397cf014',
          h: 5,
          a: '',
          d: '1',
          m: '',
          x: 'null',
          add: ['-53724dff14003f7a401e01dd8caa22256f57936e'],
          del: [],
        }),
      },
      {
        table: 'objects',
        key: idBuffer(pool),
        payload: encodeObjects([
          {
            id: commits[0]!,
            count: 1,
            size: 1,
            min: bound(1),
            max: bound(1),
            sequence: 9,
            inTable: true,
            vector: false,
          },
        ]),
      },
    ],
    fault:
      /^table branches, key [0-9a-f]{80}: branch "main" is at "-53724dff64003f7a401e01dd8caa22256f57936e", which is no id$/,
    left: ['1', '2', '3'],
  },
  'an id of a clock after 2150': {
    rows: ({ branch }) => [
      { table: 'branches', key: branch, payload: json({ ts: '1', name: 'main', commit: '1'.repeat(41) }) },
    ],
    fault: /is at "1{41}", which is no id$/,
    left: ['1', '2', '3'],
  },
  'a commit that is its own parent': {
    rows: ({ pool, commits }) => [commitRow(pool, commits[2]!, commits[2]!, 3)],
    fault: /^table commits, key [0-9a-f]{40}: its height is 3, that of its parent [0-9a-f]{40} is 3$/,
    left: ['1', '2'],
  },
  'a loop of parents': {
    rows: ({ pool, commits }) => [commitRow(pool, commits[0]!, commits[2]!, 1)],
    fault: /^table commits, key [0-9a-f]{40}: its height is 1, that of its parent [0-9a-f]{40} is 3$/,
    left: [],
  },
  'a parent that is higher': {
    rows: ({ pool, commits }) => [commitRow(pool, commits[1]!, commits[0]!, 9)],
    fault: /^table commits, key [0-9a-f]{40}: its height is 3, that of its parent [0-9a-f]{40} is 9$/,
    left: ['1'],
  },
  'a row that is no commit': {
    rows: ({ pool, commits }) => [{ table: 'commits', key: pairKey(pool, commits[1]!), payload: Buffer.from('{') }],
    fault: /^table commits, key [0-9a-f]{40}: .*JSON/,
    left: ['1'],
  },
  'a checkpoint whose parts are missing': {
    rows: ({ pool, commits }) => [
      {
        table: 'checkpoints',
        key: checkpointKey(pool, commits[1]!, 0),
        payload: Buffer.from([0xff, 0xff, 0xff, 0xff]),
      },
    ],
    fault: /^table checkpoints, key [0-9a-f]{88}: the row is missing$/,
    left: ['1', '2', '3'],
  },
};

describe.each(Object.entries(damages))('%s', (_, { rows, fault, left }) => {
  test('is named by whatever reads it, by the lake and by fsck; other pools are as before; a repair makes the pool readable', {
    timeout: 180_000,
  }, async () => {
    const { directory, commits } = await damagedLake(rows);
    const told: unknown[] = [];
    const lake = await openTestLake({
      directory,
      report: (problem) => {
        told.push(problem);
      },
    });
    const open = await failure(lake.openSnapshot('p', 'main'));
    expect(open).toMatchObject({ code: 'table-corrupt', text: expect.stringMatching(fault) as unknown });
    await vi.waitFor(() => {
      expect(lake.unreadable()).toEqual([{ pool: 'p', fault: open.text }]);
    });
    expect(told.map(String).join('\n')).toContain(open.text);
    const p = lake.pool('p');
    const ends = await Promise.allSettled([
      p.load('main', [inlineObject(4)]),
      p.stats(),
      p.vacuum('main', { dryRun: true }),
      p.graph({ limit: 100 }),
      p.revert('main', commits[0]!),
      p.merge('main', 'side'),
      metaRows(lake, 'p', 'log'),
      metaRows(lake, 'p', 'rawlog'),
      metaRows(lake, 'p', 'objects'),
      metaRows(lake, undefined, 'branches'),
      keysAt(lake, 'p', `0x${commits[0]!}`),
    ]);
    for (const end of ends)
      if (end.status === 'rejected')
        expect((end.reason as { readonly code: string }).code).toMatch(
          /^(table-corrupt|branch-not-found|commit-not-found)$/,
        );
    expect(await keysAt(lake, 'other', 'main')).toEqual(['7']);
    await lake.pool('other').load('main', [inlineObject(8)]);
    await lake.close();

    const options = {
      directory,
      files: openObjects(directory),
      keepFile: (id: string, folder: string) => moveObject(directory, id, folder),
    };
    const { before, after } = await repair(options);
    expect(before.faults.length).toBeGreaterThan(0);
    expect(after?.faults).toEqual([]);
    const again = await openTestLake({ directory });
    const kept = await keysAt(again, 'p', 'main');
    expect(left.filter((key) => !kept.includes(key))).toEqual([]);
    expect(await keysAt(again, 'other', 'main')).toEqual(['7', '8']);
    await again.pool('p').load('main', [inlineObject(5)]);
    expect(await keysAt(again, 'p', 'main')).toContain('5');
    expect(again.unreadable()).toEqual([]);
  });
});
