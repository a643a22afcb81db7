/**
 * Makes the tables' file small again at a start. LMDB uses the pages that removed rows leave for later rows, and never
 * gives them back to the disk: after a lake has held much its file is as long as ever.
 *
 * Invariants:
 * - The file is either the one before or its copy, whole: the copy is written beside it and synced, its rows are counted,
 *   then it takes the name, and the folder is synced.
 * - What fails leaves the file as it is: a lake opens without it.
 * - Nobody else has the tables open (lock.ts), this process neither.
 */
import { closeSync, fsyncSync, mkdirSync, openSync, renameSync, rmSync, statfsSync } from 'node:fs';
import { join } from 'node:path';
import { Environment } from './environment.ts';
import { killPoint } from './kill-points.ts';
import { syncFolder } from './lock.ts';
import { type Tables, tableNames } from './tables.ts';

/** Worth the time when so many bytes and so large a part of the file are free. */
const freeBytesMin = 16 << 20, freeShareMin = 0.5;
/** Room that the disk keeps beside the copy. */
const roomBytes = 64 << 20;

/** `bytesMin`: so many free bytes at least make it worth while. */
interface OpenOptions {
  readonly open: () => Tables;
  readonly bytesMin?: number;
  readonly report: (fault: unknown) => void;
}

/** Opens the tables in this folder by `open`, made small before if they are mostly free pages. */
export const openCompacted = async (folder: string, { open, bytesMin, report }: OpenOptions): Promise<Tables> => {
  dropUnfinished(folder);
  const tables = open();
  if (!isMostlyFree(tables, bytesMin)) return tables;
  await tables.close();
  await compactTables(folder).catch(report);
  return open();
};

/** Whether most of the file is free pages. */
const isMostlyFree = (tables: Tables, bytesMin = freeBytesMin): boolean => {
  const all = tables.fileBytes(), free = all - tables.usedBytes();
  return free >= bytesMin && free >= all * freeShareMin;
};

/** Replaces the tables' file in this folder by a copy without free pages. */
const compactTables = async (folder: string): Promise<void> => {
  const made = madeIn(folder), file = join(made, 'data.mdb');
  dropUnfinished(folder);
  try {
    mkdirSync(made);
    await copyRows(folder, made);
    sync(file);
    killPoint('compact: copied');
    renameSync(file, join(folder, 'data.mdb'));
    syncFolder(folder);
    killPoint('compact: swapped');
  } finally {
    dropUnfinished(folder);
  }
};
/** Removes what a stop left of a copy. */
const dropUnfinished = (folder: string): void => { rmSync(madeIn(folder), { recursive: true, force: true }); };
const madeIn = (folder: string): string => join(folder, 'compact');

const copyRows = async (folder: string, made: string): Promise<void> => {
  const from = new Environment(folder, tableNames, true);
  try {
    const { bavail, bsize } = statfsSync(made), used = from.usedBytes();
    if (bavail * bsize < used + roomBytes) throw notCompacted(`the copy takes ${used} bytes of the ${bavail * bsize} that are left`);
    await from.copyTo(made);
    const to = new Environment(made, tableNames, true);
    try {
      for (const name of tableNames) {
        const rows = from.count(name), copied = to.count(name);
        if (rows !== copied) throw notCompacted(`the copy has ${copied} rows of ${rows} in ${name}`);
      }
    } finally {
      await to.close();
    }
  } finally {
    await from.close();
  }
};

const notCompacted = (fault: string): Error => new Error(`tables are not compacted: ${fault}`);

const sync = (file: string): void => {
  const fd = openSync(file, 'r');
  try {
    fsyncSync(fd);
  } finally {
    closeSync(fd);
  }
};
