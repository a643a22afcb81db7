/**
 * Folders that were copied by hard links (`cp -al`, a snapshot of `rsync --link-dest`): a file there is the other
 * folder's too, and whatever is written to it in place is written to both. Who opens a lake for writing first makes each
 * such file one of its own.
 *
 * Written in place are LMDB's file and its lock (`ownTables`), the segment that the log goes on in (`openLog`), and the
 * mark `running` (`writeDurably`). All others are made under a name that is new, and never changed.
 */
import {
  closeSync,
  constants,
  copyFileSync,
  fsyncSync,
  openSync,
  readFileSync,
  renameSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { dirname, join } from 'node:path';
import { LakeError, messageOf, isDiskFull } from '../errors.ts';
import { killPoint } from './kill-points.ts';
import { besideShared, isShared, syncFolder } from './lock.ts';

/**
 * Replaces a file that has other names by a copy, durable when this returns: the other names keep what is there. `end`:
 * bytes of it that are copied, the rest is zeros; default: all. Answers whether it had any. A copy that was cut off goes.
 * @throws storage-full, lake-unreadable
 */
export const ownFile = (directory: string, name: string, end?: number): boolean => {
  const path = join(directory, name);
  const beside = besideShared(path);
  rmSync(beside, { force: true });
  if (!isShared(path)) return false;
  try {
    if (end === undefined) copyFileSync(path, beside, constants.COPYFILE_EXCL | constants.COPYFILE_FICLONE);
    else writeFileSync(beside, readFileSync(path).fill(0, end), { flag: 'wx' });
    const copy = openSync(beside, 'r');
    try {
      fsyncSync(copy);
    } finally {
      closeSync(copy);
    }
    killPoint('start: file copied');
    renameSync(beside, path);
    syncFolder(dirname(path));
  } catch (cause) {
    rmSync(beside, { force: true });
    const fault = `${name} has other names (hard links) and cannot be copied: ${messageOf(cause)}`;
    throw isDiskFull(cause)
      ? new LakeError('storage-full', { fault }, { cause })
      : new LakeError('lake-unreadable', { directory, fault }, { cause });
  }
  return true;
};

/**
 * Makes LMDB's file the folder's own, before anything opens or checks it. The lock's file goes: it says what the other
 * folder's readers and writers do. `owned`: told of the file, by its name in the folder.
 * @throws storage-full, lake-unreadable
 */
export const ownTables = (directory: string, owned?: (name: string) => void): void => {
  const lock = join(directory, 'tables', 'lock.mdb');
  if (isShared(lock)) rmSync(lock);
  const name = 'tables/data.mdb';
  if (ownFile(directory, name)) owned?.(name);
};
