/**
 * Copies of a lake as it is at one moment, from a folder or a bucket, whether a service has it open or not.
 *
 * A folder that is in use is read as it is on the disk: its base and log, at once its objects, and then which of them
 * these name. Where a service has taken away what was still to be read, base and log are read again, and the objects that
 * came meanwhile: each attempt has less to copy.
 */
import { existsSync, mkdirSync, readdirSync, rmSync } from 'node:fs';
import { copyFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { LakeError, codeOf } from '../../errors.ts';
import type { Bucket } from '../../store/bucket.ts';
import { isId } from '../ksuid.ts';
import type { Id, ObjectFiles } from '../lake.types.ts';
import { baseFolder, logFolder } from '../log/reader.ts';
import { objectKey } from '../objects/fetched.ts';
import { objectPath } from '../objects/objects.ts';
import { markClosed, openTables } from '../repair/recovery.ts';
import { tablesFolder } from '../repair/replay.ts';
import { openIndex } from '../tables/tables.ts';
import { eachOf } from './copy.ts';
import { copyFromBucket } from './open-bucket.ts';

const attemptsMax = 5;
const objectsAtOnce = 8;

/** What was copied. */
export interface Cloned {
  readonly record: number;
  readonly objects: number;
}

/** Ids of the objects with files that tables name, and the last record that they have. */
export const namedObjects = async (
  directory: string,
): Promise<{ readonly ids: readonly Id[]; readonly record: number }> => {
  const tables = openIndex(tablesFolder(directory));
  try {
    const ids = tables.keys('files').map((key) => key.toString('hex'));
    return { ids, record: tables.place()?.number ?? 0 };
  } finally {
    await tables.close();
  }
};

/** Makes a folder with all of a bucket's lake. @throws store-empty, object-missing */
export const cloneBucket = async (bucket: Bucket, to: string): Promise<Cloned> => {
  await copyFromBucket(bucket, to);
  const { ids, record } = await namedObjects(to);
  await eachOf(ids, objectsAtOnce, async (id) => {
    const path = objectPath(to, id);
    mkdirSync(dirname(path), { recursive: true });
    if (!(await bucket.getFile(objectKey(id), path))) throw new LakeError('object-missing', { id });
  });
  return { record, objects: ids.length };
};

/**
 * Makes a folder with all of another folder's lake; what was made of it is gone if that fails.
 * @throws lake-unreadable, object-missing
 */
export const cloneFolder = async (from: string, to: string): Promise<Cloned> => {
  for (let attempt = 1; ; attempt++) {
    try {
      return await copyFolder(from, to);
    } catch (fault) {
      for (const folder of [logFolder(to), baseFolder(to), tablesFolder(to)])
        rmSync(folder, { recursive: true, force: true });
      if (attempt < attemptsMax) continue;
      rmSync(objectsFolder(to), { recursive: true, force: true });
      throw fault;
    }
  }
};
const copyFolder = async (from: string, to: string): Promise<Cloned> => {
  for (const [source, target] of [
    [baseFolder(from), baseFolder(to)],
    [logFolder(from), logFolder(to)],
  ] as const)
    if (existsSync(source)) {
      mkdirSync(target, { recursive: true });
      for (const name of readdirSync(source))
        if (/^\d+$/.test(name)) await copyFile(join(source, name), join(target, name));
    }
  // At once: a vacuum may take some while the tables are made. Those that this log names were whole when it was read.
  const added = await copyObjects(from, to);
  let named: Awaited<ReturnType<typeof namedObjects>> = { ids: [], record: 0 };
  try {
    const { tables } = await openTables({ directory: to });
    const isWhole = await tables.close();
    if (isWhole) markClosed(tablesFolder(to));
    named = await namedObjects(to);
  } finally {
    // Others may be half of one, or go: the next attempt copies them again if its log names them.
    const ids = new Set(named.ids);
    for (const id of added) if (!ids.has(id)) rmSync(objectPath(to, id));
  }
  // One that a service has vacuumed meanwhile, or that is in its bucket alone.
  for (const id of named.ids) if (!existsSync(objectPath(to, id))) throw new LakeError('object-missing', { id });
  const ids = new Set(named.ids);
  // Of an earlier attempt, and gone since.
  for (const id of objectsIn(to)) if (!ids.has(id)) rmSync(objectPath(to, id));
  return { record: named.record, objects: ids.size };
};

/** Copies the objects that are not there yet; those that go meanwhile are left out. Gives their ids. */
const copyObjects = async (from: string, to: string): Promise<readonly Id[]> => {
  const missing = [...objectsIn(from)].filter((id) => !existsSync(objectPath(to, id)));
  const added: Id[] = [];
  await eachOf(missing, objectsAtOnce, async (id) => {
    const path = objectPath(to, id);
    mkdirSync(dirname(path), { recursive: true });
    try {
      await copyFile(objectPath(from, id), path);
      added.push(id);
    } catch (fault) {
      if (codeOf(fault) !== 'ENOENT') throw fault;
    }
  });
  return added;
};
const objectsFolder = (directory: string): string => join(directory, 'objects');
/** Ids of the objects that have files in a lake's folder; those that go meanwhile may be among them. */
function* objectsIn(directory: string): Iterable<Id> {
  const folder = objectsFolder(directory);
  if (!existsSync(folder)) return;
  for (const part of readdirSync(folder, { withFileTypes: true }))
    if (part.isDirectory()) for (const id of readdirSync(join(folder, part.name))) if (isId(id)) yield id;
}
/** Objects of a bucket, as a check of a folder that was made from it asks for them. */
export const bucketFiles = (bucket: Bucket): ObjectFiles => ({
  delete: () => Promise.reject(new Error('nothing is changed')),
  list: async function* () {
    for await (const { key } of bucket.list('objects/')) {
      const id = key.slice(-40);
      if (isId(id) && key === objectKey(id)) yield id;
    }
  },
});
