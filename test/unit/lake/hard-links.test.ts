/**
 * Folders that were copied by hard links (`cp -al`, snapshots of `rsync --link-dest`): two names of each file, of which
 * some are written in place. Each lake keeps its own rows, whichever is opened first.
 */
import { linkSync, mkdirSync, readdirSync, readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import type { Lake } from '../../../src/lake/lake.types.ts';
import { LogRead, segmentPath } from '../../../src/lake/log/reader.ts';
import { moveObject, openObjects } from '../../../src/lake/objects/objects.ts';
import { fsck } from '../../../src/lake/repair/fsck.ts';
import { repair } from '../../../src/lake/repair/repair.ts';
import { fileObject, inlineObject, keysAt, newPool, openIn, openTestLake, temporaryDirectory } from './support.ts';

/** As `cp -al` makes it. */
const linkedCopy = async (directory: string): Promise<string> => {
  const copy = await temporaryDirectory();
  for (const entry of readdirSync(directory, { recursive: true, withFileTypes: true })) {
    const path = join(copy, entry.parentPath.slice(directory.length), entry.name);
    if (entry.isDirectory()) mkdirSync(path, { recursive: true });
    else {
      mkdirSync(join(path, '..'), { recursive: true });
      linkSync(join(entry.parentPath, entry.name), path);
    }
  }
  return copy;
};
const made = async (): Promise<string> => {
  const lake = await openTestLake();
  const pool = await newPool(lake);
  for (let n = 0; n < 3; n++) await pool.load('main', [inlineObject(n)]);
  await pool.load('main', [await fileObject(lake, 3)]);
  await lake.close();
  return lake.directory;
};
const load = (lake: Lake, n: number): Promise<unknown> => lake.pool('p').load('main', [inlineObject(n)]);
const faultsOf = async (directory: string): Promise<readonly string[]> =>
  (await fsck({ directory, files: openObjects(directory) })).faults;
const filesOf = (directory: string): Record<string, string> =>
  Object.fromEntries(
    readdirSync(directory, { recursive: true, withFileTypes: true })
      .filter((entry) => entry.isFile())
      .map((entry) => join(entry.parentPath, entry.name))
      .map((path) => [path.slice(directory.length), readFileSync(path, 'latin1')]),
  );
const keysIn = async (directory: string): Promise<readonly string[]> => {
  const lake = await openTestLake({ directory });
  const keys = await keysAt(lake, 'p', 'main');
  await lake.close();
  return keys;
};
const expected = (...more: readonly string[]): readonly string[] => ['0', '1', '2', '3', ...more];

test('two lakes that share their files by hard links, open at once, each keep their own rows', async () => {
  const directories = [await made()];
  directories.push(await linkedCopy(directories[0]!), await linkedCopy(directories[0]!));
  const told: (readonly string[])[] = [];
  const lakes: Lake[] = [];
  for (const directory of directories)
    lakes.push(
      await openTestLake({
        directory,
        filesOwned: (names) => {
          told.push(names);
        },
      }),
    );
  const all = ['tables/data.mdb', 'log/00000001'];
  // The last one is the only one left with the files of before.
  expect(told).toEqual([all, all]);
  for (let n = 10; n < 40; n++) await load(lakes[n % 3]!, n);
  for (const [i, lake] of lakes.entries()) {
    const own = Array.from({ length: 30 }, (_, n) => n + 10).filter((n) => n % 3 === i);
    expect(await keysAt(lake, 'p', 'main')).toEqual(expected(...own.map(String)));
    await lake.close();
    expect(await faultsOf(directories[i]!)).toEqual([]);
    expect(await keysIn(directories[i]!)).toEqual(expected(...own.map(String)));
  }
});

test('a copy by hard links of a lake that is open is one of its own too, and its mark of an unclean stop', async () => {
  const directory = await made();
  const trunk = await openTestLake({ directory, owner: 'trunk' });
  await load(trunk, 10);
  const copy = await linkedCopy(directory);
  const lake = await openTestLake({ directory: copy, owner: 'copy' });
  for (let n = 20; n < 30; n++) await load(n % 2 ? trunk : lake, n);
  expect(readFileSync(join(directory, 'running'), 'utf8')).toContain('trunk');
  expect(await keysAt(lake, 'p', 'main')).toEqual(expected('10', '20', '22', '24', '26', '28'));
  expect(await keysAt(trunk, 'p', 'main')).toEqual(expected('10', '21', '23', '25', '27', '29'));
  await lake.close();
  await trunk.close();
  for (const each of [directory, copy]) expect(await faultsOf(each)).toEqual([]);
  expect(await keysIn(directory)).toEqual(expected('10', '21', '23', '25', '27', '29'));
});

test('a folder whose opening ends while its files are made its own is still the other one, byte by byte', async () => {
  const directory = await made();
  const before = filesOf(directory);
  for (const nth of [1, 2]) {
    const copy = await linkedCopy(directory);
    expect(await openIn(copy, { killAt: `start: file copied:${nth}` })).toBe('SIGKILL');
    expect(filesOf(directory)).toEqual(before);
    const lake = await openTestLake({ directory: copy });
    await load(lake, 50);
    await lake.close();
    expect(await keysIn(copy)).toEqual(expected('50'));
    expect(Object.keys(filesOf(copy)).filter((name) => name.endsWith('.own'))).toEqual([]);
    expect(filesOf(directory)).toEqual(before);
  }
  expect(await keysIn(directory)).toEqual(expected());
});

test('a copy that was cut off and needs none any more goes', async () => {
  const directory = await made();
  const copy = await linkedCopy(directory);
  for (const nth of [1, 2]) expect(await openIn(copy, { killAt: `start: file copied:${nth}` })).toBe('SIGKILL');
  expect(Object.keys(filesOf(copy)).filter((name) => name.endsWith('.own'))).toEqual(['/log/00000001.own']);
  // The other lake leaves what they shared.
  await (await openTestLake({ directory })).close();
  expect(await keysIn(copy)).toEqual(expected());
  expect(Object.keys(filesOf(copy)).filter((name) => name.endsWith('.own'))).toEqual([]);
});

test('a repair of a copy by hard links changes nothing of the other folder', async () => {
  const directory = await made();
  const copy = await linkedCopy(directory);
  const before = filesOf(directory);
  // Of the copy alone: a data object is lost.
  const { name, parentPath } = readdirSync(join(copy, 'objects'), { recursive: true, withFileTypes: true }).find(
    (entry) => entry.isFile(),
  )!;
  await openObjects(copy).delete(name);
  expect(parentPath).toContain(copy);
  const { lost, after } = await repair({
    directory: copy,
    files: openObjects(copy),
    keepFile: (id, folder) => moveObject(copy, id, folder),
  });
  expect([lost[0], after?.faults]).toEqual([expect.stringContaining('its file is missing'), []]);
  expect(filesOf(directory)).toEqual(before);
  expect(await keysIn(directory)).toEqual(expected());
  expect(await keysIn(copy)).toEqual(['0', '1', '2']);
});

test('of the segment that is copied only the records that were read are taken', async () => {
  const directory = await made();
  const copy = await linkedCopy(directory);
  const { end, segment } = new LogRead(copy).finish().place!;
  const lake = await openTestLake({ directory: copy });
  const bytes = readFileSync(segmentPath(copy, segment));
  expect(bytes.subarray(0, end)).toEqual(readFileSync(segmentPath(directory, segment)).subarray(0, end));
  expect(bytes.subarray(end).every((byte) => byte === 0)).toBe(true);
  expect(statSync(segmentPath(copy, segment)).nlink).toBe(1);
  await lake.close();
});
