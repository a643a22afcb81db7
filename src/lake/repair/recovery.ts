/**
 * Opens the tables of a lake. The log is what there is; LMDB, its index, is gone on with where it is sound, and made
 * again from base and log where it is lost, damaged, older, or another's.
 *
 * Invariants:
 * - Records that LMDB knows of must be in the log: a log that ends before is damaged, and is not opened.
 * - Whether LMDB's file is sound is known of one that was closed in order (its checksum was kept); any other is walked
 *   by a process of its own, since a damaged file ends its reader.
 */
import {
  closeSync,
  existsSync,
  mkdirSync,
  openSync,
  readdirSync,
  readFileSync,
  readSync,
  renameSync,
  rmSync,
  statSync,
} from 'node:fs';
import { join } from 'node:path';
import { crc32 } from 'node:zlib';
import { LakeError, messageOf } from '../../errors.ts';
import { Environment, isNoRoom } from '../tables/environment.ts';
import { killPoint } from '../kill-points.ts';
import { syncFolder, writeDurably } from '../lock.ts';
import { newIdentity } from '../log/format.ts';
import { beginLog, type Log, openLog } from '../log/log.ts';
import { baseFolder, listSegments, logBegin, changesOf, logFolder, LogRead } from '../log/reader.ts';
import { probeTables } from '../tables/probe.ts';
import { basesOf, copyTables, damagedLog, leftOf, rebuildTables, tablesFolder } from './replay.ts';
import { followedKey } from '../tables/table-rows.ts';
import { type Followed, readIndex, Tables } from '../tables/tables.ts';
import { hasTables } from '../tables/head.ts';
import { dropOld, upgrade } from './upgrade.ts';

/** Which lake's tables are opened, and how they are kept. */
export interface OpenOptions {
  /** The lake's. */
  readonly directory: string;
  /** The last service was not stopped, it died. */
  readonly isUnclean?: boolean;
  /** Told why tables were made again. */
  readonly rebuilt?: (why: string) => void;
  /** Told why a base is not read. */
  readonly passedOver?: (why: string) => void;
  readonly report?: (fault: unknown) => void;
  /** Told of a file that was another folder's too (own-files.ts). */
  readonly owned?: (name: string) => void;
  /** See tables.ts, log.ts. `compactBytesMin`: free bytes of LMDB's file from which on it is made small. */
  readonly applyBytes?: number | undefined;
  readonly segmentBytes?: number | undefined;
  readonly compactBytesMin?: number | undefined;
}
/** `isCovered`: without LMDB's tables there is all that is needed to make them. */
interface OpenedTables {
  readonly tables: Tables;
  readonly log: Log;
  readonly isCovered: boolean;
}

const unreadable = (directory: string, fault: string): LakeError =>
  new LakeError('lake-unreadable', { directory, fault });

/** Opens them, or makes those of a new lake. @throws lake-unreadable, lake-newer, storage-full */
export const openTables = async (options: OpenOptions): Promise<OpenedTables> => {
  try {
    return await open(options);
  } catch (error) {
    if (error instanceof LakeError) throw error;
    const fault = messageOf(error);
    throw isNoRoom(fault)
      ? new LakeError('storage-full', { fault }, { cause: error })
      : new LakeError('lake-unreadable', { directory: options.directory, fault }, { cause: error });
  }
};

const open = async (options: OpenOptions): Promise<OpenedTables> => {
  const { directory, segmentBytes, owned } = options;
  const folder = tablesFolder(directory);
  finishRepair(directory);
  for (const name of ['tables.made', 'tables.check', 'tables.repair'])
    rmSync(join(directory, name), { recursive: true, force: true });
  if (!logBegin(directory)) await begin(options);
  dropOld(directory);
  const begun = logBegin(directory)!;
  const bad = await faultOfTables(options);
  const { own, foreign } = basesOf(directory);
  let strays = foreign;
  if (bad) {
    if (hasTables(folder)) options.rebuilt?.(bad.why);
    strays = await rebuildTables(directory, bad.record);
  }
  for (const line of strays.flatMap(({ faults }) => faults))
    options.passedOver?.(`${line}; it is not read (lake fsck -repair moves it away)`);
  return opened(options, (environment) => {
    const rest = new LogRead(directory, new Tables({ environment }).place());
    const records = changesOf(rest);
    const { faults, place: end, identity } = rest;
    if (faults.length > 0) throw damagedLog(directory, faults);
    // Not before: of a lake that is refused a repair must still know that its tables are complete. Not later: from here
    // on they are written to.
    dropMark(folder);
    const log = openLog({ directory, identity: identity!, place: end!, hasBase: begun.hasBase, owned, segmentBytes });
    return {
      tables: new Tables({ environment, log, records, applyBytes: options.applyBytes }),
      log,
      isCovered: (begun.first === 1 && !begun.hasBase) || own.some((base) => base <= end!.number),
    };
  });
};

/** A replica's tables, which are there. @throws storage-full */
export const openFollowed = (options: OpenOptions, followed: Followed): Promise<Tables> =>
  opened(options, (environment) => {
    dropMark(tablesFolder(options.directory));
    return new Tables({ environment, followed, applyBytes: options.applyBytes });
  });
/** What is made of LMDB's environment, which is closed where that fails. */
const opened = async <T>(options: OpenOptions, make: (environment: Environment) => T): Promise<T> => {
  const environment = await openSmall(options);
  try {
    return make(environment);
  } catch (error) {
    await environment.close();
    throw error;
  }
};

/** A lake without a log: a new one, or one of an earlier build. */
const begin = async (options: OpenOptions): Promise<void> => {
  const { directory, segmentBytes } = options;
  const folder = tablesFolder(directory);
  const left = leftOf(directory);
  const version = hasTables(folder) ? await versionOf(directory, left !== undefined) : 0;
  if (version > 0 && version < versionOfLog) {
    await upgrade(directory, options.isUnclean ?? false);
    return;
  }
  if (version >= versionOfLog && left === undefined && (await isReplica(folder)))
    throw unreadable(directory, replicaAlone);
  // What is there of a lake is never begun over.
  if (version >= versionOfLog || left !== undefined) throw damagedLog(directory, [left ?? 'it is missing']);
  if (hasObjectsAlone(directory)) throw unreadable(directory, `${objectsAlone}: no lake is made over them`);
  beginLog(directory, { identity: newIdentity(), hasBase: false, segmentBytes });
};
const replicaAlone = 'it is a replica of a lake in a bucket and has no log: start it with -follow, or with -store';
const isReplica = (folder: string): Promise<boolean> =>
  readIndex(folder, (tables) => tables.get('about', followedKey) !== undefined);
/** Since this version of the tables there is a log. */
export const versionOfLog = 4;

/** What there is nothing to rebuild from. */
export const objectsAlone = 'there are data objects, and neither a log nor tables';
export const hasObjectsAlone = (directory: string): boolean => {
  const folder = join(directory, 'objects');
  return (
    !logBegin(directory) &&
    leftOf(directory) === undefined &&
    !hasTables(tablesFolder(directory)) &&
    existsSync(folder) &&
    readdirSync(folder, { recursive: true, withFileTypes: true }).some((entry) => entry.isFile())
  );
};

/**
 * At least 1; of tables that cannot be read it is not known which build wrote them, unless there is `hasLog` something
 * of a log.
 */
const versionOf = async (directory: string, hasLog: boolean): Promise<number> => {
  const { faults, version } = await probeTables(tablesFolder(directory));
  if (faults.length === 0 || version >= versionOfLog) return Math.max(1, version);
  if (hasLog) return versionOfLog;
  throw unreadable(
    directory,
    `${faults.slice(0, 3).join('; ')} (an earlier build wrote them: lake fsck -repair of that build mends them)`,
  );
};

/** `record`: the last one that they say they have. */
interface BadTables {
  readonly why: string;
  readonly record?: number | undefined;
}
/** Why LMDB's tables cannot be gone on with; undefined if they can. @throws lake-newer */
const faultOfTables = async ({ directory, isUnclean = false }: OpenOptions): Promise<BadTables | undefined> => {
  const folder = tablesFolder(directory);
  const mark = hasTables(folder) ? markOf(folder) : 'none';
  if (mark === 'none') return { why: 'there are none' };
  // A stop in order leaves the mark, and takes its own back last: without either nothing is known against them.
  if (mark === 'differs' || (isUnclean && mark === 'absent')) {
    const { faults, record } = await probeTables(folder);
    if (faults.length > 0) return { why: faults.slice(0, 3).join('; '), record };
    if (mark === 'differs') return { why: 'their file is not as it was left', record };
  }
  try {
    return await readIndex(folder, (tables) => {
      tables.checkVersion(directory);
      const place = tables.place();
      const begun = logBegin(directory)!;
      const first = listSegments(directory)[0]!;
      if (!place) return { why: 'they do not say up to where they have the log' };
      if (!place.lake.equals(begun.identity.lake)) return { why: 'they are not those of this log' };
      return place.segment < first ? { why: `they end at record ${place.number}, before the log begins` } : undefined;
    });
  } catch (fault) {
    if (fault instanceof LakeError && fault.code === 'lake-newer') throw fault;
    return { why: messageOf(fault) };
  }
};

/**
 * LMDB leaves the pages of removed rows for later ones, and never gives them back to the disk: a start copies the rows
 * when so many bytes, and so large a part, are free.
 */
const freeBytesMin = 16 << 20;
const freeShareMin = 0.5;

/** Opens LMDB, made small before if it is mostly free pages. */
const openSmall = async ({ directory, compactBytesMin = freeBytesMin, report }: OpenOptions): Promise<Environment> => {
  const folder = tablesFolder(directory);
  const environment = new Environment(folder);
  const bytes = environment.fileBytes();
  const free = bytes - environment.usedBytes();
  if (free < compactBytesMin || free < bytes * freeShareMin) return environment;
  await environment.close();
  await copyTables(directory).catch((fault: unknown) => {
    report?.(fault);
  });
  return new Environment(folder);
};

/** In the folder of what a repair kept: what it could not bring back. */
export const lostFile = 'lost.txt';
export const repairedFolder = (directory: string): string => join(directory, 'repaired');
/**
 * Ends a repair that made a new log: puts it in the place of the old one, which is kept. A stop in between is gone on
 * from.
 */
export const finishRepair = (directory: string): void => {
  const made = repairedFolder(directory);
  if (!existsSync(made)) return;
  const kept = readFileSync(join(made, 'kept'), 'utf8');
  const move = (from: string, to: string, name: string): void => {
    if (existsSync(join(from, name))) renameSync(join(from, name), join(to, name));
  };
  mkdirSync(kept, { recursive: true });
  // The new log comes in last: as long as it is not there, what is there is the old one.
  if (existsSync(logFolder(made))) {
    for (const name of ['log', 'tables']) move(directory, kept, name);
    killPoint('repair: old log kept');
    if (existsSync(baseFolder(made))) move(directory, kept, 'base');
    move(made, directory, 'base');
    killPoint('repair: swapped');
    syncFolder(kept);
    move(made, directory, 'log');
  }
  syncFolder(directory);
  rmSync(made, { recursive: true, force: true });
};

const markPath = (folder: string): string => join(folder, 'closed');

/**
 * Keeps the checksum of the tables' file, which is closed: the next start need not look at its rows. Answers whether it
 * could: a stop without it is not one in order.
 */
export const markClosed = (folder: string): boolean => {
  try {
    writeDurably(markPath(folder), checksumOf(join(folder, 'data.mdb')));
    return true;
  } catch {
    return false;
  }
};
/**
 * Whether the tables are as a stop in order left them: they have all that the log had then, and nothing was committed
 * since.
 */
export const wereClosed = (folder: string): boolean => hasTables(folder) && markOf(folder) === 'matches';
const markOf = (folder: string): 'matches' | 'differs' | 'absent' => {
  if (!existsSync(markPath(folder))) return 'absent';
  return statSync(markPath(folder)).isFile() &&
    readFileSync(markPath(folder), 'utf8') === checksumOf(join(folder, 'data.mdb'))
    ? 'matches'
    : 'differs';
};
const dropMark = (folder: string): void => {
  rmSync(markPath(folder), { recursive: true, force: true });
  syncFolder(folder);
};
const checksumOf = (path: string): string => {
  const fd = openSync(path, 'r');
  const bytes = Buffer.allocUnsafe(4 << 20);
  let sum = 0;
  let size = 0;
  try {
    for (let n = readSync(fd, bytes); n > 0; n = readSync(fd, bytes)) {
      sum = crc32(bytes.subarray(0, n), sum);
      size += n;
    }
  } finally {
    closeSync(fd);
  }
  return `${size} ${sum.toString(16)}\n`;
};
