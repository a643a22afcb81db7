/** `lake fsck -repair`: from whatever is left, the lake as it was, or the loss by name. */
import { cpSync, existsSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { fsck } from '../../../../src/lake/repair/fsck.ts';
import { base62 } from '../../../../src/lake/ksuid.ts';
import type { Lake, ObjectMeta } from '../../../../src/lake/lake.types.ts';
import { moveObject, openObjects } from '../../../../src/lake/objects/objects.ts';
import { listSegments, logFolder, LogRead, segmentPath } from '../../../../src/lake/log/reader.ts';
import { repair, type RepairReport } from '../../../../src/lake/repair/repair.ts';
import {
  bound,
  failure,
  fileObject,
  inlineObject,
  keysAt,
  metaRows,
  newPool,
  openTestLake,
  temporaryDirectory,
} from '../support.ts';
import { newId } from '../../../../src/lake/ksuid.ts';
import { Environment } from '../../../../src/lake/tables/environment.ts';
import { encodeView, pairKey } from '../../../../src/lake/tables/rows.ts';
import { Tables } from '../../../../src/lake/tables/tables.ts';

/** Bodies are `min..max`, files three bytes. */
const checkObject =
  (directory: string) =>
  async ({ id, inline, size, min, max }: ObjectMeta): Promise<string | undefined> => {
    if (inline) return Buffer.from(inline).toString() === `${min.text}..${max.text}` ? undefined : 'other bytes';
    const bytes = await openObjects(directory).readRange(id, 0, size);
    return Buffer.from(bytes).equals(Buffer.from([1, 2, 3])) ? undefined : 'other bytes';
  };
const repairAt = (directory: string): Promise<RepairReport> =>
  repair({
    directory,
    files: openObjects(directory),
    checkObject: checkObject(directory),
    keepFile: (id, folder) => moveObject(directory, id, folder),
  });

/**
 * Pools, branches, commits, deletes, a merge, a revert, vacuumed objects, a pool that was deleted and one that was
 * renamed, a view of two versions and one that was dropped, a tag that holds what else were gone and one that was
 * deleted.
 */
const makeLake = async (): Promise<{ directory: string; file: string; state: string }> => {
  const lake = await openTestLake();
  const p = await newPool(lake);
  const [a, b, c] = [await fileObject(lake, 1), inlineObject(2), inlineObject(3, 5)];
  await p.load('main', [a, b]);
  const { commit } = await p.load('main', [c], { author: 'me', body: 'third', meta: '{x:1}' });
  await p.createBranch('side', commit);
  await p.load('side', [await fileObject(lake, 7), inlineObject(8)]);
  await p.deleteObjects('side', [b.id]);
  await p.merge('main', 'side');
  const { commit: gone } = await p.deleteObjects('main', [c.id]);
  await p.revert('main', gone);
  await p.vectors('main', 'add', [a.id]);
  const d = inlineObject(11);
  const { commit: held } = await p.load('main', [d]);
  await p.createTag('v1', held);
  await p.createTag('v2', held);
  await p.deleteTag('v2');
  await p.deleteObjects('main', [d.id]);
  await p.deleteBranch('side');
  await p.vacuum('main', { dryRun: false });
  await newPool(lake, 'gone');
  await lake.pool('gone').load('main', [inlineObject(1)]);
  await newPool(lake, 'q', 'desc');
  await lake.pool('q').load('main', [inlineObject(1), inlineObject(2)]);
  await lake.renamePool('q', 'r');
  await lake.deletePool('gone');
  for (const [name, query] of [
    ['v', 'from p'],
    ['w', 'from v'],
    ['v', 'from p | head 1'],
  ] as const)
    await lake.changeView({ action: 'create', existing: 'replace', name, query }, 'me');
  await lake.changeView({ action: 'drop', name: 'w', ifExists: false });
  const state = await stateOf(lake);
  await lake.close();
  return { directory: lake.directory, file: a.id, state };
};
/** All that can be asked of a lake: views, pools, branches, tags, logs, objects of every commit with their bodies. */
const stateOf = async (lake: Lake): Promise<string> => {
  const found: unknown[] = [];
  for (const { id } of lake.views()) found.push((await lake.metaPage({ view: `0x${id}`, meta: 'log' })).rows);
  for (const pool of [...lake.pools()].sort((x, y) => (x.id < y.id ? -1 : 1))) {
    found.push(
      pool,
      [...lake.pool(`0x${pool.id}`).branches()].sort((x, y) => (x.name < y.name ? -1 : 1)),
      lake.pool(`0x${pool.id}`).tags(),
    );
    for (const row of await metaRows(lake, pool.name, 'log')) {
      if (row.kind !== 'commit') continue;
      const at = await lake.openSnapshot(pool.name, `0x${row.commit.id}`).then(
        (snapshot) => {
          const { objects } = snapshot.page({ limit: 1000 });
          snapshot.release();
          return objects;
        },
        (error: Error) => error.message,
      );
      found.push(row.commit, at);
    }
    found.push(await metaRows(lake, pool.name, 'vectors'));
  }
  return JSON.stringify(
    found,
    (_, value: unknown) =>
      typeof value === 'bigint'
        ? String(value)
        : value instanceof Uint8Array
          ? Buffer.from(value).toString('hex')
          : value && typeof value === 'object' && 'type' in value && value.type === 'Buffer'
            ? Buffer.from((value as unknown as { data: number[] }).data).toString('hex')
            : value,
    1,
  );
};
const reopened = async (directory: string): Promise<string> => {
  const lake = await openTestLake({ directory });
  const state = await stateOf(lake);
  await lake.close();
  return state;
};
const tablesFile = (directory: string): string => join(directory, 'tables', 'data.mdb');
const logFile = (directory: string): string => segmentPath(directory, listSegments(directory)[0]!);
const change = (path: string, edit: (bytes: Buffer) => Buffer | void): void => {
  const bytes = readFileSync(path);
  writeFileSync(path, edit(bytes) ?? bytes);
};
/** Wherever the text stands: pages that are no longer used have it too. */
const flip = (path: string, text: string): void =>
  change(path, (b) => {
    for (let at = b.indexOf(text); at >= 0; at = b.indexOf(text, at + 1)) b[at]! ^= 1;
  });

describe('the tables', { timeout: 180_000 }, () => {
  const damages: readonly (readonly [string, (directory: string) => void])[] = [
    [
      'are all zeros',
      (d) =>
        change(tablesFile(d), (b) => {
          b.fill(0);
        }),
    ],
    [
      'are noise behind their head',
      (d) =>
        change(tablesFile(d), (b) => {
          b.fill(0xa5, 8192);
        }),
    ],
    ['lost one value', (d) => flip(tablesFile(d), '3..5')],
    ['lost one commit', (d) => flip(tablesFile(d), 'third')],
    [
      'have their pages in the places of others',
      (d) =>
        change(tablesFile(d), (b) => {
          for (let at = 8192; at + 8192 <= b.length; at += 8192)
            b.set(Buffer.concat([b.subarray(at + 4096, at + 8192), b.subarray(at, at + 4096)]), at);
        }),
    ],
  ];
  for (const [name, damage] of damages) {
    test(`${name}: all of it comes back from the log, what was there is kept`, async () => {
      const { directory, state } = await makeLake();
      damage(directory);
      const { after, lost, kept } = await repairAt(directory);
      expect({ faults: after?.faults, lost, kept: existsSync(join(kept!, 'tables')) }).toEqual({
        faults: [],
        lost: [],
        kept: true,
      });
      expect(await reopened(directory)).toEqual(state);
    });
  }

  test('a body that is damaged in the log and the tables is named with pool, branch, commit, objects and rows', async () => {
    const { directory } = await makeLake();
    flip(tablesFile(directory), '3..5');
    flip(logFile(directory), '3..5');
    const { faults, affected } = await fsck({
      directory,
      files: openObjects(directory),
      checkObject: checkObject(directory),
    });
    expect(faults.join('\n')).toMatch(
      /log\/00000001, byte \d+: record \d+ is damaged or missing[\s\S]*table bodies, key [0-9a-f]{40}: checksum does not match/,
    );
    expect(affected.map((line) => line.replaceAll(/[0-9A-Za-z]{27}/g, 'ID'))).toEqual([
      'pool "p", branch "main": 1 of 4 data objects (ID), 1 of 4 rows',
      'pool "p", tag "v1": 1 of 5 data objects (ID), 1 of 5 rows',
      'pool "p": data objects of commits ID, ID',
    ]);
  });
});

describe('the log', { timeout: 180_000 }, () => {
  test('is damaged, the tables are sound: it is begun anew from them, nothing is lost', async () => {
    const { directory, state } = await makeLake();
    change(logFile(directory), (b) => {
      b.fill(0, 500, 900);
    });
    expect((await fsck({ directory, files: openObjects(directory) })).faults.join('\n')).toMatch(
      /log\/00000001, byte \d+: records? \d+.* (is|are) damaged or missing/,
    );
    const { after, lost } = await repairAt(directory);
    expect({ faults: after?.faults, lost }).toEqual({ faults: [], lost: [] });
    expect(await reopened(directory)).toEqual(state);
  });

  test('has lost the record by which a pool went: the pool does not come back', async () => {
    const { directory, state } = await makeLake();
    const { end } = new LogRead(directory).finish().place!;
    change(logFile(directory), (b) => {
      b.fill(0, end - 600);
    });
    const { before, after, lost } = await repairAt(directory);
    expect({ rowsSound: before.rowsSound, faults: after?.faults, lost }).toEqual({
      rowsSound: true,
      faults: [],
      lost: [],
    });
    expect(await reopened(directory)).toBe(state);
  });

  test('has lost the end of its last record: the tables know it, a start is refused, a repair keeps it', async () => {
    const { directory, state } = await makeLake();
    const { number, at, end } = new LogRead(directory).finish().place!;
    change(logFile(directory), (b) => {
      b.fill(0, end - 16, end);
    });
    expect((await failure(openTestLake({ directory }))).text).toMatch(
      new RegExp(`log/00000001, byte ${at}: record ${number} is not there`),
    );
    const { after, lost } = await repairAt(directory);
    expect({ faults: after?.faults, lost }).toEqual({ faults: [], lost: [] });
    expect(await reopened(directory)).toBe(state);
  });

  test('and the tables are both damaged: the branch goes back to where its history is whole, and says so', async () => {
    const lake = await openTestLake();
    const pool = await newPool(lake);
    for (let n = 0; n < 6; n++) await pool.load('main', [inlineObject(n)], { body: `load number ${n}` });
    await lake.close();
    const { directory } = lake;
    rmSync(join(directory, 'tables'), { recursive: true });
    change(logFile(directory), (b) => {
      b[b.indexOf('load number 3')]! ^= 1;
    });
    const { after, lost } = await repairAt(directory);
    expect(after?.faults).toEqual([]);
    expect(lost.join('\n')).toMatch(
      /record \d+ is damaged or missing[\s\S]*pool "p", branch "main": set back to commit \w{27}, lost with what they did: \w{27}, \w{27}/,
    );
    const again = await openTestLake({ directory });
    expect(await keysAt(again, 'p', 'main')).toEqual(['0', '1', '2']);
    // Numbers of events are not given twice.
    expect(again.lastEventId()).toBeGreaterThan(1_000_000);
    expect(again.eventsSince(3)).toBeUndefined();
    await again.close();
  });

  test('ends before the tables did: commits that the damaged tables still have come along', async () => {
    const { directory } = await makeLake();
    const log = join(await temporaryDirectory(), 'log');
    cpSync(logFolder(directory), log, { recursive: true });
    const lake = await openTestLake({ directory });
    await lake.pool('p').load('main', [inlineObject(100)]);
    await lake.pool('p').load('main', [inlineObject(101)]);
    const state = await stateOf(lake);
    await lake.close();
    rmSync(logFolder(directory), { recursive: true });
    cpSync(log, logFolder(directory), { recursive: true });
    flip(tablesFile(directory), '3..5');
    const { after, lost } = await repairAt(directory);
    expect(after?.faults).toEqual([]);
    // Commits came back from tables that may have lost the keys of their requests.
    expect(lost).toContainEqual(
      expect.stringMatching(
        /^keys of requests may be lost: what was asked for before event \d+ and is sent again may be committed again$/,
      ),
    );
    expect(await reopened(directory)).toEqual(state);
  });
});

describe('a log whose end is not there, after a service that died', { timeout: 180_000 }, () => {
  const first = (directory: string): string => segmentPath(directory, 1);
  const damages: readonly (readonly [string, (directory: string) => void])[] = [
    ['its segment is missing', (d) => rmSync(first(d))],
    ['the whole log is missing', (d) => rmSync(logFolder(d), { recursive: true })],
    ['its segment is empty', (d) => writeFileSync(first(d), '')],
    [
      'its segment is all zeros',
      (d) =>
        change(first(d), (b) => {
          b.fill(0);
        }),
    ],
    ['its segment is cut off before what the tables have', (d) => change(first(d), (b) => b.subarray(0, 400))],
  ];
  /** The tables have some of the commits, the log all of them. */
  const killed = async (): Promise<{ directory: string; lastEvent: number }> => {
    const lake = await openTestLake();
    const pool = await newPool(lake);
    const directory = await temporaryDirectory();
    for (let n = 0; n < 5; n++) await pool.load('main', [inlineObject(n)]);
    await new Promise((resolve) => {
      setTimeout(resolve, 400);
    });
    for (let n = 5; n < 9; n++) await pool.load('main', [inlineObject(n)]);
    cpSync(lake.directory, directory, { recursive: true });
    return { directory, lastEvent: lake.lastEventId() };
  };
  test.each(damages)(
    '%s: the tables may lag, what they lack is said to be lost, and numbers of events are not given twice',
    async (_, damage) => {
      const { directory, lastEvent } = await killed();
      damage(directory);
      const { after, lost } = await repairAt(directory);
      expect(after?.faults).toEqual([]);
      expect(lost.join('\n')).toMatch(/^what was committed after event \d+ is lost, if anything was$/);
      const told = Number(/event (\d+)/.exec(lost[0]!)![1]);
      const again = await openTestLake({ directory });
      const keys = await keysAt(again, 'p', 'main');
      expect(keys).toEqual(Array.from({ length: keys.length }, (__, n) => String(n)));
      await again.pool('p').load('main', [inlineObject(100)]);
      expect([again.lastEventId(), again.eventsSince(lastEvent), again.eventsSince(told)]).toEqual([
        told + 1_000_001,
        undefined,
        undefined,
      ]);
      await again.close();
    },
  );
  test.each(damages.slice(0, 3))(
    '%s: tables that were closed in order have it all, a start that was refused does not change that',
    async (_, damage) => {
      const { directory, state } = await makeLake();
      damage(directory);
      expect((await failure(openTestLake({ directory }))).code).toBe('lake-unreadable');
      const { after, lost } = await repairAt(directory);
      expect({ faults: after?.faults, lost }).toEqual({ faults: [], lost: [] });
      expect(await reopened(directory)).toEqual(state);
    },
  );
});

describe('tables of a copy of the lake that went on by itself', { timeout: 180_000 }, () => {
  /** Two lakes of one past; `ahead`: commits that the second one has more. */
  const twins = async (ahead: number): Promise<readonly { directory: string; state: string }[]> => {
    const { directory } = await makeLake();
    const other = await temporaryDirectory();
    cpSync(directory, other, { recursive: true });
    const goOn = async (at: string, commits: number): Promise<{ directory: string; state: string }> => {
      const lake = await openTestLake({ directory: at });
      const first = commits * 100;
      await lake.pool('p').load('main', [await fileObject(lake, first), inlineObject(first + 1)]);
      for (let n = 2; n <= commits; n++) await lake.pool('p').load('main', [inlineObject(first + n)]);
      const state = await stateOf(lake);
      await lake.close();
      return { directory: at, state };
    };
    return [await goOn(directory, 2), await goOn(other, 2 + ahead)];
  };
  const exchange = (folder: string, from: string, to: string): void => {
    rmSync(join(to, folder), { recursive: true });
    cpSync(join(from, folder), join(to, folder), { recursive: true });
  };
  test.each([0, 3])('are not taken for the log, which is whole (%d commits ahead)', async (ahead) => {
    const [own, other] = await twins(ahead);
    const { directory } = own!;
    exchange('tables', other!.directory, directory);
    expect((await failure(openTestLake({ directory }))).code).toBe('lake-unreadable');
    const { before, after, lost, kept } = await repairAt(directory);
    expect(before.faults).toEqual([
      expect.stringMatching(
        /^tables: they lack commit \w{27} of pool \w{27}, which the log has: they are of a copy of this lake that went on by itself$/,
      ),
    ]);
    expect(lost).toEqual([
      `commits that the tables alone have, of a copy of this lake that went on by itself: they are in ${kept}/tables`,
    ]);
    expect(after?.faults).toEqual([]);
    expect(await reopened(directory)).toEqual(own!.state);
  });
  test('count where they and not the log are those of the data objects', async () => {
    const [own, other] = await twins(-1);
    const { directory } = own!;
    exchange('log', other!.directory, directory);
    const { after } = await repairAt(directory);
    expect(after?.faults).toEqual([]);
    expect(await reopened(directory)).toEqual(own!.state);
  });
});

describe('data objects', { timeout: 180_000 }, () => {
  test('that are lost are named and taken out of the branches by a commit, the rest can be read', async () => {
    const { directory, file } = await makeLake();
    rmSync(join(directory, 'objects', file.slice(38), file));
    const { after, lost } = await repairAt(directory);
    expect(after?.faults).toEqual([]);
    expect(lost.map((line) => line.replace(/commit \w{27}/, 'commit ID'))).toEqual([
      `pool "p", object ${base62(file)}, 1 row: its file is missing`,
      'pool "p", branch "main": commit ID takes out 1 lost data object with 1 row',
      `pool "p", tag "v1": it is gone, as its commit ID holds lost data objects: ${base62(file)}`,
    ]);
    const lake = await openTestLake({ directory });
    expect(await keysAt(lake, 'p', 'main')).toEqual(['3-5', '7', '8']);
    const log = await metaRows(lake, 'p', 'log');
    const first = log.find((row) => row.kind === 'commit');
    expect(first).toMatchObject({
      commit: { author: 'lake fsck', message: `lake fsck -repair: 1 row lost with 1 data object: ${base62(file)}` },
    });
    expect(
      (await failure(lake.openSnapshot('p', `0x${(first as { commit: { parent: string } }).commit.parent}`))).code,
    ).toBe('vacuumed');
    await lake.close();
  });

  test('that were vacuumed since the commit to which a branch is set back are taken out of it, and named', async () => {
    const lake = await openTestLake();
    const pool = await newPool(lake);
    const [one, two] = [inlineObject(1), await fileObject(lake, 2)];
    await pool.load('main', [one, two]);
    await pool.load('main', [inlineObject(3)], { body: 'lost with its record' });
    await pool.deleteObjects('main', [one.id, two.id]);
    await pool.vacuum('main', { dryRun: false });
    await lake.close();
    const { directory } = lake;
    rmSync(join(directory, 'tables'), { recursive: true });
    change(logFile(directory), (b) => {
      b[b.indexOf('lost with its record')]! ^= 1;
    });
    const { after, lost } = await repairAt(directory);
    expect(after?.faults).toEqual([]);
    expect(lost.join('\n')).toMatch(
      /pool "p", branch "main": set back to commit[\s\S]*pool "p", branch "main": commit \w{27} takes out 2 lost data objects with 2 rows/,
    );
    const again = await openTestLake({ directory });
    expect(await keysAt(again, 'p', 'main')).toEqual([]);
    await again.close();
  });

  test('that no row names are kept beside, not swept', async () => {
    const { directory } = await makeLake();
    const id = newId();
    await openObjects(directory).put(id, Uint8Array.of(1, 2, 3));
    rmSync(join(directory, 'tables'), { recursive: true });
    change(logFile(directory), (b) => {
      b[b.indexOf('third')]! ^= 1;
    });
    const { lost, kept } = await repairAt(directory);
    expect(readdirSync(join(kept!, 'objects'))).toContain(id);
    expect(lost.join('\n')).toMatch(
      new RegExp(`files? of data objects that no commit names (is|are) kept in ${join(kept!, 'objects')}`),
    );
  });
});

test('a sound lake is left as it is; a folder without one is told so', async () => {
  const { directory } = await makeLake();
  expect(await repairAt(directory)).toMatchObject({ before: { faultCount: 0 }, lost: [] });
  expect(readdirSync(directory).sort()).toEqual(['log', 'objects', 'tables']);
  const empty = await temporaryDirectory();
  mkdirSync(join(empty, 'x'));
  expect((await failure(repairAt(join(empty, 'x')))).code).toBe('lake-unreadable');
  expect(bound(1).text).toBe('1');
});

test('a view with the name of a pool is named, and gets a name of its own', async () => {
  const lake = await openTestLake();
  const { directory } = lake;
  await newPool(lake);
  const { view } = await lake.changeView({ action: 'create', existing: 'refuse', name: 'v', query: 'from p' });
  await lake.close();
  // As if the record by which the pool got another name had been lost.
  const tables = new Tables({ environment: new Environment(join(directory, 'tables')) });
  const key = pairKey(view!.id, view!.version);
  await tables.write([{ table: 'views', key, payload: encodeView({ ...view!, name: 'p' }) }]);
  await tables.close();
  rmSync(logFolder(directory), { recursive: true });
  const text = `view ${base62(view!.id)} "p" has the name of a pool`;
  expect((await fsck({ directory, files: openObjects(directory) })).faults).toContain(text);
  await repairAt(directory);
  const again = await openTestLake({ directory });
  expect(again.pools().map(({ name }) => name)).toEqual(['p']);
  expect(again.views().map(({ name }) => name)).toEqual([`p (${base62(view!.id)})`]);
  await again.close();
});
