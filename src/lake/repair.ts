/**
 * Makes a damaged lake whole again: new tables from the copy of the commit log, from what rows of the damaged tables still have a sound checksum, and from the
 * object files. What cannot be brought back is named.
 *
 * Invariants:
 * - Everything is built beside what is there; the old tables, the old copy and files that no row names any more are kept in a folder `damaged-TIME`.
 * - A stop at any point leaves either the old lake or the new one; the repair can be run again.
 * - A row is taken only with a sound checksum under its own key. Of two that differ the copy's wins, unless the other is a later one of the same history.
 */
import { existsSync, mkdirSync, renameSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { LakeError } from '../errors.ts';
import { type FsckOptions, type FsckReport, lookOver } from './fsck.ts';
import { killPoint } from './kill-points.ts';
import { lockLake, syncFolder } from './lock.ts';
import { LogCopy } from './log-copy.ts';
import { logFolder } from './log-copy-reader.ts';
import { mend } from './repair-mend.ts';
import { rebuild } from './repair-rows.ts';
import { Tables } from './tables.ts';

/** Which lake is mended, and where what was there is kept. */
export interface RepairOptions extends FsckOptions {
  /** Moves an object's file out of the lake, into this folder. */
  readonly keepFile: (id: string, folder: string) => Promise<void>;
  /** Names the folder of what is kept; default: the system's clock. */
  readonly now?: () => Date;
}
/** `before` and `after`: what was found; `lost`: one line each; `kept`: the folder with what was there, absent when nothing had to be done. */
export interface RepairReport { readonly before: FsckReport; readonly after?: FsckReport; readonly lost: readonly string[]; readonly kept?: string }

/** @throws lake-locked, lake-newer, lake-unreadable when there is nothing to rebuild from */
export const repair = async (options: RepairOptions): Promise<RepairReport> => {
  const { directory } = options;
  if (!existsSync(join(directory, 'tables')) && !existsSync(logFolder(directory))) throw new LakeError('lake-unreadable', { directory, fault: 'there is no lake here' });
  const lock = await lockLake(directory, 'lake fsck -repair');
  let isDone = false;
  try {
    const before = await lookOver(options, lock.diedBefore === undefined);
    if (before.faultCount === 0) return { before, lost: [] };
    const kept = join(directory, `damaged-${(options.now?.() ?? new Date()).toISOString().replaceAll(/[:.]/g, '-')}`);
    const lost = await replaceTables(options, before, kept);
    const after = await lookOver(options, true);
    isDone = after.faultCount === 0;
    return { before, after, lost, kept };
  } finally {
    await lock.release(isDone || lock.diedBefore === undefined);
  }
};

const replaceTables = async (options: RepairOptions, before: FsckReport, kept: string): Promise<readonly string[]> => {
  const { directory } = options, made = join(directory, 'tables.repair'), old = join(directory, 'tables'), log = logFolder(directory);
  rmSync(made, { recursive: true, force: true });
  const tables = new Tables(made), lost: string[] = [];
  try {
    await tables.initialize();
    lost.push(...await rebuild({ tables, oldTables: existsSync(old) ? old : undefined, log, tablesSound: before.tablesSound }));
    lost.push(...await mend(tables, options));
    await keepStrangers(tables, options, join(kept, 'objects'), lost);
  } finally {
    await tables.close();
  }
  syncFolder(made);
  syncFolder(directory);
  killPoint('repair: rebuilt');
  mkdirSync(kept, { recursive: true });
  if (existsSync(old)) renameSync(old, join(kept, 'tables'));
  killPoint('repair: old tables kept');
  if (existsSync(log)) renameSync(log, join(kept, 'log'));
  killPoint('repair: old log kept');
  renameSync(made, old);
  syncFolder(kept);
  syncFolder(directory);
  killPoint('repair: swapped');
  await writeCopy(directory);
  return lost;
};

/** The new tables' own copy, from its first record on. */
const writeCopy = async (directory: string): Promise<void> => {
  const tables = new Tables(join(directory, 'tables'));
  try {
    const copy = await LogCopy.open({ lakeDirectory: directory, tables, report: (fault) => { throw fault; } });
    await copy.settled();
    await copy.close();
  } finally {
    await tables.close();
  }
};

/** Files that the next start would remove as orphans: what they belonged to is lost, they are not. */
const keepStrangers = async (tables: Tables, options: RepairOptions, folder: string, lost: string[]): Promise<void> => {
  const strangers: string[] = [];
  for await (const id of options.files.list()) if (!tables.has('files', Buffer.from(id, 'hex'))) strangers.push(id);
  if (strangers.length === 0) return;
  mkdirSync(folder, { recursive: true });
  for (const id of strangers) await options.keepFile(id, folder);
  syncFolder(folder);
  lost.push(`${strangers.length} file${strangers.length === 1 ? '' : 's'} of data objects that no commit names ${strangers.length === 1 ? 'is' : 'are'} kept in ${folder}`);
};
