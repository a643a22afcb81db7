/**
 * Lakes whose folder was meddled with: pieces lost, swapped for other things, bytes of another course of the same lake.
 * Nothing is begun over what is there, and each refusal says why.
 */
import { execFileSync } from 'node:child_process';
import {
  cpSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  symlinkSync,
  truncateSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { Checkpoints } from '../../../src/lake/tables/checkpoints.ts';
import { fsck, type FsckReport } from '../../../src/lake/repair/fsck.ts';
import { headBytes, recordAt } from '../../../src/lake/log/format.ts';
import { basePath, listSegments, logBegin, LogRead, segmentPath } from '../../../src/lake/log/reader.ts';
import { moveObject, openObjects } from '../../../src/lake/objects/objects.ts';
import { lostFile, openTables } from '../../../src/lake/repair/recovery.ts';
import { tablesFolder } from '../../../src/lake/repair/replay.ts';
import { repair, type RepairReport } from '../../../src/lake/repair/repair.ts';
import {
  failure,
  fileObject,
  inlineObject,
  keysAt,
  newPool,
  openIn,
  openTestLake,
  temporaryDirectory,
} from './support.ts';

const check = (directory: string): Promise<FsckReport> => fsck({ directory, files: openObjects(directory) });
const mend = (directory: string): Promise<RepairReport> =>
  repair({ directory, files: openObjects(directory), keepFile: (id, folder) => moveObject(directory, id, folder) });
const copyOf = async (directory: string): Promise<string> => {
  const copy = await temporaryDirectory();
  cpSync(directory, copy, { recursive: true });
  return copy;
};
const edit = (path: string, change: (bytes: Buffer) => Buffer | void): void => {
  const bytes = readFileSync(path);
  writeFileSync(path, change(bytes) ?? bytes);
};
/** A pool `p` with keys 0 to 4 and a file of key 9, loads 1 to 5 under keys of requests. */
const made = async (): Promise<string> => {
  const lake = await openTestLake();
  const pool = await newPool(lake);
  for (let n = 0; n < 5; n++)
    await pool.load('main', [inlineObject(n)], {
      body: `load number ${n}`,
      terms: { retry: { key: String(n).repeat(64), request: 'b'.repeat(64), body: 'c'.repeat(64) } },
    });
  await pool.load('main', [await fileObject(lake, 9)]);
  await lake.close();
  return lake.directory;
};
const all = ['0', '1', '2', '3', '4', '9'];
const keysIn = async (directory: string): Promise<readonly string[]> => {
  const lake = await openTestLake({ directory });
  const keys = await keysAt(lake, 'p', 'main');
  await lake.close();
  return keys;
};
const objectFiles = (directory: string): number =>
  readdirSync(join(directory, 'objects'), { recursive: true, withFileTypes: true }).filter((entry) => entry.isFile())
    .length;

describe('bytes of another course of the same lake', { timeout: 180_000 }, () => {
  test('loaded as rows, at every alignment, are no records: whatever happens to the record that holds them', async () => {
    const trunk = await made();
    const other = await copyOf(trunk);
    const from = new LogRead(trunk).finish().place!.end;
    const evil = await openTestLake({ directory: other });
    await newPool(evil, 'evil');
    for (let n = 50; n < 56; n++) await evil.pool('p').load('main', [inlineObject(n)]);
    await evil.deletePool('p');
    await evil.close();
    const theirs = readFileSync(segmentPath(other, 1)).subarray(from, new LogRead(other).finish().place!.end);
    const lake = await openTestLake({ directory: trunk });
    for (let shift = 0; shift < 8; shift++)
      await lake
        .pool('p')
        .load('main', [{ ...inlineObject(20 + shift), inline: Buffer.concat([Buffer.alloc(shift), theirs]) }]);
    await lake.pool('p').load('main', [inlineObject(30)]);
    await lake.close();
    const { salt } = logBegin(trunk)!.identity;
    const bytes = readFileSync(segmentPath(trunk, 1));
    const holders: { readonly at: number; readonly end: number }[] = [];
    for (
      let at = headBytes, found = recordAt(bytes, at, { salt, file: 1, byte: at });
      found;
      at = found.end, found = recordAt(bytes, at, { salt, file: 1, byte: at })
    )
      if (found.at >= from) holders.push(found);
    expect(holders.length).toBe(9);
    for (const { at, end } of [0, 3, 5, 7].map((i) => holders[i]!)) {
      for (const [how, change] of [
        [
          'head',
          (b: Buffer) => {
            b[at + 9]! ^= 1;
          },
        ],
        [
          'length',
          (b: Buffer) => {
            b[at]! ^= 8;
          },
        ],
        [
          'payload',
          (b: Buffer) => {
            b[at + 70]! ^= 1;
          },
        ],
        ['power cut', (b: Buffer) => b.fill(0, at, at + 64).fill(0, end - 40)],
      ] as const) {
        const left = await copyOf(trunk);
        edit(segmentPath(left, 1), change);
        rmSync(tablesFolder(left), { recursive: true });
        const opened = await openTables({ directory: left }).then(
          async ({ tables }) => {
            const pools = tables.rows('pools').length;
            const commits = tables.rows('commits').length;
            await tables.close();
            return { pools, commits };
          },
          (fault: Error) => fault.message,
        );
        // With a whole record behind it is damage; at the end it is half a write.
        if (how === 'power cut')
          expect(opened, `${how} at ${at}`).toEqual({
            pools: 1,
            commits: 6 + holders.findIndex((holder) => holder.at === at),
          });
        else
          expect(opened, `${how} at ${at}`).toMatch(
            /its log is damaged: log\/00000001, byte \d+: records? .* damaged or missing/,
          );
        if (at === holders[3]!.at && how === 'head') {
          await mend(left);
          expect(await keysIn(left)).toEqual(
            [...all.slice(0, 5), '9', '20', '21', '22'].sort((a, b) => Number(a) - Number(b)),
          );
        }
      }
    }
  });
});

describe('what is there is never begun over', { timeout: 180_000 }, () => {
  const heads: readonly (readonly [string, (bytes: Buffer) => Buffer | void, boolean])[] = [
    [
      'one byte of its head is changed',
      (b) => {
        b[20]! ^= 0x55;
      },
      true,
    ],
    [
      'its head is zeros',
      (b) => {
        b.fill(0, 0, headBytes);
      },
      false,
    ],
    [
      'its magic is changed',
      (b) => {
        b[0]! ^= 1;
      },
      true,
    ],
  ];
  test.each(heads)(
    'the only segment, where %s and the tables are gone: refused by the start, named by fsck; records that bear their salt out come back',
    async (_, change, comesBack) => {
      const directory = await made();
      edit(segmentPath(directory, 1), change);
      rmSync(tablesFolder(directory), { recursive: true });
      const before = readFileSync(segmentPath(directory, 1));
      expect((await failure(openTestLake({ directory }))).text).toMatch(
        /log\/00000001, byte 0: its head is damaged \(lake fsck -repair/,
      );
      expect((await check(directory)).faults.join()).toMatch(/its head is damaged/);
      expect([readFileSync(segmentPath(directory, 1)).equals(before), objectFiles(directory)]).toEqual([true, 1]);
      const { after, kept } = await mend(directory);
      expect([after?.faults, existsSync(join(kept!, 'log'))]).toEqual([[], true]);
      if (comesBack) expect(await keysIn(directory)).toEqual(all);
      // Nothing tells whose they are; they are kept beside.
      else expect(readdirSync(join(kept!, 'objects')).length).toBe(1);
    },
  );
  test('with the tables sound all of it comes back', async () => {
    const directory = await made();
    edit(segmentPath(directory, 1), (b) => {
      b.fill(0, 0, headBytes);
    });
    expect((await failure(openTestLake({ directory }))).code).toBe('lake-unreadable');
    expect((await mend(directory)).lost).toEqual([]);
    expect(await keysIn(directory)).toEqual(all);
  });
  test.each([
    ['log', 'tables'],
    ['tables', 'log/00000001'],
  ])('without %s and %s the data objects stay, and no lake is made', async (one, two) => {
    const directory = await made();
    for (const name of [one, two]) rmSync(join(directory, name), { recursive: true });
    expect((await failure(openTestLake({ directory }))).text).toMatch(
      /there are data objects, and neither a log nor tables: no lake is made over them/,
    );
    if (existsSync(join(directory, 'log'))) {
      expect((await check(directory)).faults).toEqual(['there are data objects, and neither a log nor tables']);
      expect((await failure(mend(directory))).text).toMatch(/there is nothing to rebuild from/);
    }
    expect(objectFiles(directory)).toBe(1);
  });
  test('a first segment that a stop left half made is made again', async () => {
    const directory = await temporaryDirectory();
    mkdirSync(join(directory, 'log'));
    writeFileSync(segmentPath(directory, 1), Buffer.from('LAKELOG4 and then'));
    const lake = await openTestLake({ directory });
    await newPool(lake);
    await lake.close();
  });
  test('a base whose log is lost: refused, named, brought back', async () => {
    const directory = await made();
    const { tables, log } = await openTables({ directory });
    const checkpoints = new Checkpoints({
      directory,
      tables,
      log,
      isCovered: false,
      report: (fault) => {
        throw fault;
      },
    });
    await checkpoints.settled();
    await tables.close();
    for (const name of ['log', 'tables']) rmSync(join(directory, name), { recursive: true });
    expect((await failure(openTestLake({ directory }))).text).toMatch(
      /its segments are missing, there is a base up to record \d+ \(lake fsck -repair/,
    );
    expect((await check(directory)).faults.join()).toMatch(/its segments are missing/);
    expect((await mend(directory)).after?.faults).toEqual([]);
    expect(await keysIn(directory)).toEqual(all);
  });
});

describe('a repair with losses', { timeout: 180_000 }, () => {
  const broken = async (): Promise<string> => {
    const directory = await made();
    rmSync(tablesFolder(directory), { recursive: true });
    edit(segmentPath(directory, 1), (b) => {
      b[b.indexOf('load number 2')]! ^= 1;
    });
    return directory;
  };
  test('keys of requests go with the commits that are lost; events from before it are gone, whichever is asked for; the event that is lost is named', async () => {
    const directory = await broken();
    const { lost } = await mend(directory);
    const lake = await openTestLake({ directory });
    expect(await keysAt(lake, 'p', 'main')).toEqual(['0', '1']);
    expect([0, 1, 2, 3, 4].map((n) => lake.retried(String(n).repeat(64)) !== undefined)).toEqual([
      true,
      true,
      false,
      false,
      false,
    ]);
    expect(Array.from({ length: 8 }, (__, id) => [lake.eventsSince(id), lake.eventsSince(id, 1)])).toEqual(
      Array.from({ length: 8 }, () => [undefined, undefined]),
    );
    const last = lake.lastEventId();
    await newPool(lake, 'q');
    expect(lake.eventsSince(last)?.map(({ id }) => id)).toEqual([last + 1]);
    expect(lost.join('\n')).toMatch(
      /event 4 is lost: what was made or changed then is gone, what was deleted or renamed then may be as it was before/,
    );
    await lake.close();
  });
  test('that is killed has said what it lost in a file, and the next look says where', async () => {
    const directory = await broken();
    expect(await openIn(directory, { killAt: 'rebuild: made', what: 'repair' })).toBe('SIGKILL');
    await mend(directory);
    const { notes } = await check(directory);
    const folder = readdirSync(directory).find((name) => existsSync(join(directory, name, lostFile)))!;
    expect(notes).toContain(`${folder}/${lostFile} says what a repair could not bring back`);
    expect(readFileSync(join(directory, folder, lostFile), 'utf8')).toMatch(/set back to commit/);
  });
});

describe('things in the places of files', { timeout: 180_000 }, () => {
  const places: readonly (readonly [string, (directory: string) => void])[] = [
    [
      'a folder for tables/lock.mdb',
      (d) => {
        rmSync(join(d, 'tables', 'lock.mdb'));
        mkdirSync(join(d, 'tables', 'lock.mdb'));
      },
    ],
    [
      'a link to nowhere for tables/lock.mdb',
      (d) => {
        rmSync(join(d, 'tables', 'lock.mdb'));
        symlinkSync('/nonexistent/x', join(d, 'tables', 'lock.mdb'));
      },
    ],
    [
      'a folder for tables/closed',
      (d) => {
        rmSync(join(d, 'tables', 'closed'));
        mkdirSync(join(d, 'tables', 'closed'));
      },
    ],
    [
      'no tables/data.mdb',
      (d) => {
        rmSync(join(d, 'tables', 'data.mdb'));
      },
    ],
    [
      'an empty tables/data.mdb',
      (d) => {
        truncateSync(join(d, 'tables', 'data.mdb'));
      },
    ],
  ];
  test.each(places)('%s: the lake opens with all its rows', async (_, change) => {
    const directory = await made();
    change(directory);
    await check(directory);
    expect(await keysIn(directory)).toEqual(all);
    expect((await check(directory)).faults).toEqual([]);
  });
  const bases: readonly (readonly [string, (directory: string) => void])[] = [
    [
      'of a record that is not there',
      (d) => {
        writeFileSync(basePath(d, 77), 'x');
      },
    ],
    [
      'that is a folder',
      (d) => {
        mkdirSync(basePath(d, 3));
      },
    ],
    [
      'that is a link to nothing',
      (d) => {
        symlinkSync('/nonexistent/x', basePath(d, 3));
      },
    ],
  ];
  test.each(bases)(
    'a base %s: the lake opens with all its rows, fsck names the file, a repair moves it away',
    async (_, change) => {
      for (const tablesGone of [false, true]) {
        const directory = await made();
        mkdirSync(join(directory, 'base'));
        change(directory);
        if (tablesGone) rmSync(tablesFolder(directory), { recursive: true });
        expect((await check(directory)).faults.join()).toMatch(
          /^base\/\d{16}(: it is no file|, byte 128: its head is damaged,base\/\d{16}: the log ends before it, at record 7)$/,
        );
        expect(await keysIn(await copyOf(directory))).toEqual(all);
        const { after, lost, kept } = await mend(directory);
        expect([
          after?.faults,
          lost,
          readdirSync(join(kept!, 'base')).length,
          readdirSync(join(directory, 'base')),
        ]).toEqual([[], [], 1, []]);
        expect(await keysIn(directory)).toEqual(all);
      }
    },
  );
  test('a base of a number that no record has is no file of the lake', async () => {
    const directory = await made();
    mkdirSync(join(directory, 'base'));
    writeFileSync(join(directory, 'base', '9999999999999999'), 'x');
    expect([await keysIn(directory), (await check(directory)).faults]).toEqual([all, []]);
  });
  test.each(['folder', 'fifo'])('a %s for a segment is named', async (what) => {
    const directory = await made();
    const path = segmentPath(directory, listSegments(directory).at(-1)! + 1);
    if (what === 'folder') mkdirSync(path);
    else execFileSync('mkfifo', [path]);
    expect((await failure(openTestLake({ directory }))).text).toMatch(/log\/0000000\d, byte 0: it is no file/);
    expect((await check(directory)).faults.join()).toMatch(/log\/0000000\d, byte 0: it is no file/);
  });
});

describe('a folder that is moved away while it is open', () => {
  test.each(['moved', 'replaced by another lake', 'removed'])('%s: nothing is acknowledged any more', async (what) => {
    const directory = await made();
    const lake = await openTestLake({ directory, report: () => undefined });
    expect(lake.full()).toBeUndefined();
    const elsewhere = join(await temporaryDirectory(), 'lake');
    if (what === 'removed') rmSync(directory, { recursive: true });
    else renameSync(directory, elsewhere);
    if (what.startsWith('replaced')) cpSync(await made(), directory, { recursive: true });
    const why = `the folder ${directory} was moved, removed or replaced while the lake was open: start again where it is, or when it is back`;
    expect(lake.full()).toBe(why);
    expect(await failure(lake.pool('p').load('main', [inlineObject(20)]))).toMatchObject({
      code: 'lake-failed',
      status: 503,
      text: `lake is read-only: storage failed: ${why}`,
    });
    expect(lake.status()).toEqual({ state: 'failed', reason: why });
    expect(await keysAt(lake, 'p', 'main')).toEqual(all);
    await lake.close();
    if (what !== 'removed') expect(await keysIn(elsewhere)).toEqual(all);
    // Nothing was begun where it was, nor done to what is there now.
    if (what.startsWith('replaced')) expect((await check(directory)).faults).toEqual([]);
    else expect(existsSync(directory)).toBe(false);
  });
  test('a data object begins no folder in its place', async () => {
    const directory = await made();
    const objects = openObjects(directory);
    rmSync(directory, { recursive: true });
    expect((await failure(objects.put(inlineObject(1).id, Uint8Array.of(1)))).code).toBe('object-unwritten');
    expect(existsSync(directory)).toBe(false);
  });
});
