/** Memory that goes back to the system: pages of the tables' file, which a process counts as its own once it read them. */
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { open } from 'lmdb';
import { expect, onTestFinished, test } from 'vitest';
import { giveBackMapped } from '../../../src/allocator.ts';

const linux = process.platform === 'linux';

const temporaryFolder = (): string => {
  const folder = mkdtempSync(join(tmpdir(), 'lake-mapped-'));
  onTestFinished(() => {
    rmSync(folder, { recursive: true });
  });
  return folder;
};
/** Bytes of a file that are in this process's memory, of all its mappings. */
const residentOf = (file: string): number => {
  let bytes = 0;
  let isOurs = false;
  for (const line of readFileSync('/proc/self/smaps', 'utf8').split('\n')) {
    if (/^[\da-f]+-[\da-f]+ /.test(line)) isOurs = line.endsWith(file);
    else if (isOurs && line.startsWith('Rss:')) bytes += Number(/\d+/.exec(line)![0]) * 1024;
  }
  return bytes;
};

test.skipIf(!linux)('pages of a mapped file go back, and are read again', async () => {
  const folder = temporaryFolder();
  const file = join(folder, 'data.mdb');
  const environment = open<Buffer, number>({ path: folder, encoding: 'binary', compression: false });
  onTestFinished(() => environment.close());
  const row = (i: number): Buffer => Buffer.alloc(8000, i);
  environment.transactionSync(() => {
    for (let i = 0; i < 2000; i++) environment.putSync(i, row(i));
  });
  const readAll = (): void => {
    for (let i = 0; i < 2000; i++) expect(environment.getBinary(i)!.equals(row(i))).toBe(true);
  };
  readAll();
  expect(residentOf(file)).toBeGreaterThan(12 << 20);
  await giveBackMapped(file);
  expect(residentOf(file)).toBeLessThan(1 << 20);
  readAll();
});

test("a file that is not mapped is nobody's", async () => {
  const folder = temporaryFolder();
  await expect(giveBackMapped(join(folder, 'none'))).rejects.toThrow('ENOENT');
});
