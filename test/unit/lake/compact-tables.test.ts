/**
 * The tables' file at a start: what removed rows left is given back to the disk, and a stop in the middle of that loses
 * nothing.
 */
import { existsSync, mkdirSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { fsck } from '../../../src/lake/repair/fsck.ts';
import { newId } from '../../../src/lake/ksuid.ts';
import type { ObjectMeta } from '../../../src/lake/lake.types.ts';
import { openObjects } from '../../../src/lake/objects/objects.ts';
import { bound, inlineObject, keysAt, newPool, openIn, openTestLake, temporaryDirectory } from './support.ts';

const largeBody = (key: number): ObjectMeta => ({
  id: newId(),
  count: 1,
  size: 20_000,
  min: bound(key),
  max: bound(key),
  inline: new Uint8Array(20_000).fill(key),
});
const bytesOf = (directory: string): number => statSync(join(directory, 'tables', 'data.mdb')).size;
const kept = Array.from({ length: 20 }, (_, i) => String(i));

/** A lake that held much and holds little. */
const grownLake = async (): Promise<string> => {
  const directory = await temporaryDirectory();
  const lake = await openTestLake({ directory });
  const few = await newPool(lake, 'few');
  const many = await newPool(lake, 'many');
  for (const key of kept) await few.load('main', [inlineObject(Number(key))]);
  for (let i = 0; i < 20; i++)
    await many.load(
      'main',
      Array.from({ length: 10 }, (_, k) => largeBody(i * 10 + k)),
    );
  await lake.deletePool('many');
  await expect.poll(() => lake.figures().objects, { timeout: 20_000 }).toBe(kept.length);
  await lake.close();
  return directory;
};
const isWhole = async (directory: string): Promise<void> => {
  const report = await fsck({ directory, files: openObjects(directory), checkObject: async () => undefined });
  expect(report.faults).toEqual([]);
  const lake = await openTestLake({ directory, compactBytesMin: Infinity });
  expect(await keysAt(lake, 'few', 'main')).toEqual(kept);
  await lake.close();
  expect(existsSync(join(directory, 'tables.made'))).toBe(false);
};

test('a start gives back what removed rows left, and writes go on', { timeout: 180_000 }, async () => {
  const directory = await grownLake();
  const before = bytesOf(directory);
  expect(before).toBeGreaterThan(3_000_000);
  const lake = await openTestLake({ directory, compactBytesMin: 1 });
  expect(bytesOf(directory)).toBeLessThan(before / 10);
  await lake.pool('few').load(
    'main',
    Array.from({ length: 200 }, (_, i) => largeBody(100 + i)),
  );
  expect((await keysAt(lake, 'few', 'main')).length).toBe(220);
  await lake.close();
});

test('little that is free is left as it is', { timeout: 180_000 }, async () => {
  const directory = await grownLake();
  const before = bytesOf(directory);
  await (await openTestLake({ directory })).close();
  expect(bytesOf(directory)).toBe(before);
});

test.each(['rebuild: made', 'rebuild: old tables gone'])(
  'a stop at "%s" leaves the rows whole, and the next start makes the file small',
  { timeout: 180_000 },
  async (point) => {
    const directory = await grownLake();
    const before = bytesOf(directory);
    expect(await openIn(directory, { killAt: point })).toBe('SIGKILL');
    await isWhole(directory);
    expect(await openIn(directory)).toBe('0');
    expect(bytesOf(directory)).toBeLessThan(before / 10);
    await isWhole(directory);
  },
);

test('what a stop left of new tables goes', { timeout: 180_000 }, async () => {
  const directory = await grownLake();
  const before = bytesOf(directory);
  mkdirSync(join(directory, 'tables.made', 'data.mdb'), { recursive: true });
  writeFileSync(join(directory, 'tables.made', 'data.mdb', 'left over'), '');
  const lake = await openTestLake({ directory, compactBytesMin: 1 });
  expect(await keysAt(lake, 'few', 'main')).toEqual(kept);
  await lake.close();
  expect(bytesOf(directory)).toBeLessThan(before / 10);
});
