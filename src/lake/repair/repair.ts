/**
 * Makes a damaged lake whole again. Where base and log are sound, they give the tables; bases that are not read, and
 * damaged files that are others', are moved away. Else a new log is begun: with the tables' rows as its base if these
 * are sound and know all that the log knows, else with what base, log and the rows of the tables still have. Objects
 * whose bytes are lost are taken out of the branches. What cannot be brought back is named.
 *
 * Invariants:
 * - Tables lag behind the log while a service runs: where its end is not there, only those that were closed in order
 *   are taken for complete. Of others it is said that there may have been more, and the numbers of events that may have
 *   been given are passed over.
 * - A new log is built beside what is there; the old one, its base and tables, and files that no row names any more,
 *   are kept in a folder `damaged-TIME`.
 * - What this user may not read is not lost: a repair that may not read and write all of the folder is refused.
 * - A stop at any point leaves either the old lake or the new one; the repair can be run again.
 */
import { accessSync, constants, existsSync, mkdirSync, readdirSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import { LakeError, messageOf } from '../../errors.ts';
import { plural } from '../commits/messages.ts';
import { findOrphans } from '../objects/purge.ts';
import { checkThere, type FsckOptions, type FsckReport, lookOver } from './fsck.ts';
import { killPoint } from '../kill-points.ts';
import { lockLake, syncFolder } from '../lock.ts';
import { allRows, writeBase } from '../log/base.ts';
import { newIdentity, noDigest } from '../log/format.ts';
import { beginLog } from '../log/log.ts';
import { baseName, basePath, changesOf, LogRead } from '../log/reader.ts';
import {
  finishRepair,
  hasObjectsAlone,
  lostFile,
  markClosed,
  objectsAlone,
  openTables,
  repairedFolder,
  versionOfLog,
  wereClosed,
} from './recovery.ts';
import { ownTables } from '../own-files.ts';
import { mend } from './mend.ts';
import { lostEnd, salvage } from './rows.ts';
import { tablesFolder } from './replay.ts';
import { countersKey, decodeCounters } from '../tables/rows.ts';
import { openIndex, type Tables } from '../tables/tables.ts';

/** Which lake is mended, and where what was there is kept. */
export interface RepairOptions extends FsckOptions {
  /** Moves an object's file out of the lake, into this folder. */
  readonly keepFile: (id: string, folder: string) => Promise<void>;
  /** Names the folder of what is kept; default: the system's clock. */
  readonly now?: () => Date;
}
/**
 * `before` and `after`: what was found; `lost`: one line each; `kept`: the folder with what was there, absent when
 * nothing had to be done.
 */
export interface RepairReport {
  readonly before: FsckReport;
  readonly after?: FsckReport;
  readonly lost: readonly string[];
  readonly kept?: string;
}

/**
 * @throws lake-locked, lake-newer, repair-forbidden, lake-unreadable when there is nothing to rebuild from, or an
 *   earlier build wrote it
 */
export const repair = async (options: RepairOptions): Promise<RepairReport> => {
  const { directory } = options;
  checkThere(directory);
  const lock = await lockLake(directory, 'lake fsck -repair');
  let isDone = false;
  try {
    checkPermitted(directory);
    ownTables(directory);
    finishRepair(directory);
    const before = await lookOver(options);
    if (before.faultCount === 0) return { before, lost: [] };
    if (hasObjectsAlone(directory))
      throw new LakeError('lake-unreadable', { directory, fault: `${objectsAlone}: there is nothing to rebuild from` });
    if (before.log === undefined)
      throw new LakeError('lake-unreadable', {
        directory,
        fault: `an earlier build wrote it (format below ${versionOfLog}): lake fsck -repair of that build mends it`,
      });
    const kept = join(directory, `damaged-${(options.now?.() ?? new Date()).toISOString().replaceAll(/[:.]/g, '-')}`);
    const lost: string[] = [];
    mkdirSync(kept, { recursive: true });
    lost.push(...(before.logSound ? moveAside(directory, before, kept) : await beginAnew(directory, before, kept)));
    const { tables } = await openTables({ directory, isUnclean: true });
    try {
      lost.push(...(await mend(tables, options)));
      await keepStrangers(tables, options, join(kept, 'objects'), lost);
    } finally {
      if (await tables.close()) markClosed(tablesFolder(directory));
    }
    for (const { name, loss } of before.besides) {
      renameSync(join(directory, name), join(kept, basename(name)));
      if (loss !== undefined) lost.push(loss);
    }
    const after = await lookOver(options);
    isDone = after.faultCount === 0;
    return { before, after, lost, kept };
  } finally {
    await lock.release(isDone || lock.diedBefore === undefined);
  }
};

/** Whether this user may read all files of the lake and change all its folders. @throws repair-forbidden */
const checkPermitted = (directory: string): void => {
  const look = (folder: string): void => {
    accessSync(folder, constants.R_OK | constants.W_OK | constants.X_OK);
    for (const entry of readdirSync(folder, { withFileTypes: true })) {
      const path = join(folder, entry.name);
      if (entry.isDirectory()) look(path);
      else if (entry.isFile()) accessSync(path, constants.R_OK);
    }
  };
  try {
    look(directory);
  } catch (cause) {
    throw new LakeError('repair-forbidden', { directory, fault: messageOf(cause) }, { cause });
  }
};

/**
 * Moves away what a sound log does without: bases that are not read, and tables that are damaged or not its own, which
 * are made again when they are opened. Answers with what is lost: what a base of this log knows beyond its end, and
 * what tables of another course do.
 */
const moveAside = (
  directory: string,
  { strays, tablesSound, isOtherCourse }: FsckReport,
  kept: string,
): readonly string[] => {
  if (strays.length > 0) mkdirSync(join(kept, 'base'));
  for (const { record } of strays) renameSync(basePath(directory, record), join(kept, baseName(record)));
  if (!tablesSound && existsSync(tablesFolder(directory))) renameSync(tablesFolder(directory), join(kept, 'tables'));
  return [
    ...strays.flatMap(({ faults, isAhead }) => (isAhead ? faults : [])),
    ...(isOtherCourse
      ? [
          `commits that the tables alone have, of a copy of this lake that went on by itself: they are in ${kept}/tables`,
        ]
      : []),
  ];
};

/** Replaces base and log by new ones. Answers with what is lost. */
const beginAnew = async (directory: string, before: FsckReport, kept: string): Promise<readonly string[]> => {
  const made = `${repairedFolder(directory)}.made`;
  const scratch = join(directory, 'tables.repair');
  const lost: string[] = [];
  const identity = newIdentity();
  rmSync(made, { recursive: true, force: true });
  mkdirSync(made);
  const old = existsSync(tablesFolder(directory)) ? tablesFolder(directory) : undefined;
  const tables =
    (await wholeTables(directory, before, lost)) ??
    (await salvage(directory, scratch, { old, rowsSound: before.rowsSound }, lost));
  try {
    await writeBase({ directory: made, identity, record: 0, before: noDigest, rows: allRows(tables) });
  } finally {
    await tables.close();
    rmSync(scratch, { recursive: true, force: true });
  }
  beginLog(made, { identity, hasBase: true });
  // A stop after this one tells nobody else.
  if (lost.length > 0) writeFileSync(join(kept, lostFile), `${lost.join('\n')}\n`, { flush: true });
  writeFileSync(join(made, 'kept'), kept, { flush: true });
  syncFolder(kept);
  syncFolder(made);
  killPoint('repair: rebuilt');
  renameSync(made, repairedFolder(directory));
  syncFolder(directory);
  finishRepair(directory);
  return lost;
};

/**
 * The tables, if they are sound and have all that is known of the log, or can be given it. `lost`: told when there may
 * have been more.
 */
const wholeTables = async (
  directory: string,
  { rowsSound, historySound, log }: FsckReport,
  lost: string[],
): Promise<Tables | undefined> => {
  if (!rowsSound || !historySound) return undefined;
  const folder = tablesFolder(directory);
  const isComplete = wereClosed(folder);
  const index = openIndex(folder);
  const place = index.place();
  if (place) {
    const rest = new LogRead(directory, place);
    const changes = changesOf(rest);
    if (rest.faults.length === 0) return index.with(changes);
    if (place.number >= log!.last)
      return isComplete ? index : index.with([[lostEnd(decodeCounters(index.get('about', countersKey)), lost)]]);
  }
  await index.close();
  return undefined;
};

/** Files that the next start would remove as orphans: what they belonged to is lost, they are not. */
const keepStrangers = async (tables: Tables, options: RepairOptions, folder: string, lost: string[]): Promise<void> => {
  const strangers = await findOrphans(tables, options.files);
  if (strangers.length === 0) return;
  mkdirSync(folder, { recursive: true });
  for (const id of strangers) await options.keepFile(id, folder);
  syncFolder(folder);
  lost.push(
    `${plural(strangers.length, 'file')} of data objects that no commit names ${strangers.length === 1 ? 'is' : 'are'} kept in ${folder}`,
  );
};
