/** Files of data objects: what a disk that does not do as it should is told as. */
import { mkdirSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { moveObject, openObjects } from '../../../src/lake/objects/objects.ts';

const id = '0123456789'.repeat(4);
const folderOf = (): string => {
  const folder = mkdtempSync(join(tmpdir(), 'lake-files-'));
  onTestFinished(() => {
    rmSync(folder, { recursive: true, force: true });
  });
  return folder;
};
const codeOf = async (call: () => unknown): Promise<string> => {
  try {
    await call();
    return 'done';
  } catch (error) {
    return `${(error as { code: string }).code}: ${(error as Error).message}`;
  }
};

test("a missing file, one that ends early, one that cannot be read and one that cannot be written are told apart, with the object's id", async () => {
  const lake = folderOf();
  const files = openObjects(lake);
  expect(await codeOf(() => files.readRange(id, 0, 4))).toBe(`object-missing: object ${id}: file does not exist`);
  await files.put(id, Uint8Array.of(1, 2, 3));
  expect(await codeOf(() => files.readRange(id, 1, 4))).toBe(
    `object-corrupt: object ${id}: byte 3: the file ends there, 3 bytes long`,
  );
  expect(await codeOf(() => files.put(id, Uint8Array.of(1)))).toMatch(
    new RegExp(`^object-unwritten: object ${id}: write failed: EEXIST`),
  );
  await files.delete(id);
  mkdirSync(join(lake, 'objects', id.slice(38), id));
  expect(await codeOf(() => files.readRange(id, 0, 4))).toMatch(
    new RegExp(`^object-unread: object ${id}: byte 0: read failed: EISDIR`),
  );
  files.close();
});

test('an object that was given up leaves no file, twice given up is once', async () => {
  const lake = folderOf();
  const files = openObjects(lake);
  const sink = files.create(id);
  sink.write(Uint8Array.of(1));
  await sink.abort();
  await sink.abort();
  expect(readdirSync(join(lake, 'objects', id.slice(38)))).toEqual([]);
});

test('a file is moved out of the lake; one that is not there is no error', async () => {
  const lake = folderOf();
  const files = openObjects(lake);
  const out = join(lake, 'out');
  mkdirSync(out);
  writeFileSync(join(out, 'x'), '');
  await files.put(id, Uint8Array.of(1));
  await moveObject(lake, id, out);
  await moveObject(lake, id, out);
  expect(readdirSync(out).sort()).toEqual([id, 'x']);
});
