/**
 * The one way from base and log to tables: a start goes it for tables that are lost or damaged, `lake fsck` to compare
 * with those that are there, a repair with what is left of a log.
 *
 * Invariants:
 * - New tables are made beside those that are there, and take their place when they are complete and durable.
 * - Nothing of base or log is passed over without a word: what cannot be read of them is told, with its place.
 */
import { readFileSync, renameSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { LakeError } from '../../errors.ts';
import { Environment } from '../tables/environment.ts';
import { killPoint } from '../kill-points.ts';
import { syncFolder } from '../lock.ts';
import { allRows } from '../log/base.ts';
import { changesLength } from '../log/changes.ts';
import { headBytes } from '../log/format.ts';
import {
  baseName,
  BaseRead,
  isFile,
  listBases,
  listSegments,
  logBegin,
  logIdentity,
  LogRead,
  segmentName,
  segmentPath,
  strangeBase,
} from '../log/reader.ts';
import { valueOf } from '../tables/row-frames.ts';
import { type Change, placeRow, readIndex, Tables } from '../tables/tables.ts';
import { versionOf, versionRow } from '../tables/versions.ts';
import { hasTables } from '../tables/head.ts';

export const tablesFolder = (directory: string): string => join(directory, 'tables');
/** What a damaged log is refused with. */
export const damagedLog = (directory: string, faults: readonly string[]): LakeError =>
  new LakeError('lake-unreadable', {
    directory,
    fault: `its log is damaged: ${faults.slice(0, 3).join('; ')} (lake fsck -repair brings back what is whole)`,
  });

/**
 * What a log that no segment's head tells of has left; undefined: nothing, or what a stop left while the first one was
 * made.
 */
export const leftOf = (directory: string): string | undefined => {
  const segments = listSegments(directory);
  const bases = listBases(directory);
  if (
    segments.length > 1 ||
    segments.some(
      (segment) => !isFile(segmentPath(directory, segment)) || usedBytes(segmentPath(directory, segment)) > headBytes,
    )
  )
    return `log/${segmentName(segments[0])}, byte 0: its head is damaged`;
  return bases.length > 0 ? `its segments are missing, there is a base up to record ${bases.at(-1)}` : undefined;
};
/** Up to the last byte that is not zero. */
const usedBytes = (path: string): number => readFileSync(path).findLastIndex((byte) => byte !== 0) + 1;

/** A base that is not read, and why: a line each. `isAhead`: it is of this log, and knows more. */
export interface StrayBase {
  readonly record: number;
  readonly faults: readonly string[];
  readonly isAhead: boolean;
}
/**
 * What there is of base and log; `faults`: what of them could not be read; `base`: what is wrong with the base, or
 * shows that it is none of this log's.
 */
interface Replayed {
  readonly log: LogRead;
  readonly faults: readonly string[];
  readonly base: StrayBase;
}
/** `strays`: bases that were passed over. */
interface MadeTables extends Replayed {
  readonly strays: readonly StrayBase[];
}

/** What base and log say, in its order; without a base what the log alone does. */
const replay = async (
  directory: string,
  base: number | undefined,
  put: (changes: readonly Change[]) => Promise<void>,
): Promise<Replayed> => {
  const done = base ?? 0;
  const read = base === undefined ? undefined : new BaseRead(directory, base);
  for (const { changes } of read ?? []) await put(changes);
  const before = read?.head?.before;
  const baseFaults = [...(read?.faults ?? [])];
  let isOther = false;
  const log = new LogRead(directory);
  for (const record of log) {
    if (record.number === done + 1 && before && !record.before.equals(before)) isOther = true;
    if (record.number > done) await put(record.changes);
  }
  const last = log.place?.number ?? 0;
  if (last === done && before && log.place && !log.place.digest.equals(before)) isOther = true;
  if (isOther) baseFaults.push(`${baseName(done)}: the log's records do not follow it`);
  const isBehind = log.identity !== undefined && last < done;
  if (isBehind) baseFaults.push(`${baseName(done)}: the log ends before it, at record ${last}`);
  const faults = [...baseFaults];
  if (!log.identity) faults.push(`log: ${leftOf(directory) ?? 'it is missing'}`);
  if (log.first > done + 1 || (base === undefined && log.hasBase))
    faults.push(`base: there is none of what was before record ${log.first}`);
  return {
    log,
    faults: [...faults, ...log.faults],
    base: { record: done, faults: baseFaults, isAhead: isBehind && read?.head !== undefined },
  };
};

/** The bases of this lake, oldest first, and those of others. */
export const basesOf = (
  directory: string,
): { readonly own: readonly number[]; readonly foreign: readonly StrayBase[] } => {
  const bases = listBases(directory);
  const identity = bases.length > 0 ? logIdentity(directory) : undefined;
  const own: number[] = [];
  const foreign: StrayBase[] = [];
  for (const record of bases) {
    const fault = strangeBase(directory, record, identity);
    if (fault === undefined) own.push(record);
    else foreign.push({ record, faults: [`${baseName(record)}: ${fault}`], isAhead: false });
  }
  return { own, foreign };
};

/**
 * Makes tables in a folder from base and log, as much as can be read of them. `take`: shown all changes, in their
 * order, answers with those that are to be done.
 */
export const makeTables = async (
  directory: string,
  folder: string,
  take = (changes: readonly Change[]): readonly Change[] => changes,
): Promise<MadeTables> => {
  const begun = logBegin(directory);
  const { own, foreign } = basesOf(directory);
  const bases: (number | undefined)[] = [...own].reverse();
  const strays = [...foreign];
  // Where the newest is damaged, or the log does not follow it, an older one may do, or none, with the log behind it.
  if (bases.length === 0 || (begun?.first === 1 && !begun.hasBase)) bases.push(undefined);
  for (const base of bases) {
    rmSync(folder, { recursive: true, force: true });
    const maker = new TablesMaker(folder);
    try {
      const replayed = await replay(directory, base, (changes) => maker.put(take(changes)));
      if (replayed.base.faults.length > 0 && base !== bases.at(-1)) {
        strays.push(replayed.base);
        continue;
      }
      await maker.end(replayed.log.place ? [placeRow(replayed.log.place)] : []);
      return { ...replayed, strays };
    } finally {
      await maker.close();
    }
  }
  throw new Error('unreachable');
};

/**
 * Replaces LMDB's tables by those that base and log give; answers with the bases that were passed over. `record`: the
 * last one that the old ones had. @throws lake-unreadable when base or log are damaged
 */
export const rebuildTables = async (directory: string, record = 0): Promise<readonly StrayBase[]> => {
  let told: readonly StrayBase[] = [];
  await replaceTables(directory, async (made) => {
    const { log, faults, strays } = await makeTables(directory, made);
    const last = log.place?.number ?? 0;
    const passedOver = strays.flatMap((stray) => stray.faults);
    if (last < record)
      throw damagedLog(directory, [
        ...faults,
        `it ends at record ${last}, the tables have record ${record}`,
        ...passedOver,
      ]);
    if (faults.length > 0) throw damagedLog(directory, [...passedOver, ...faults]);
    told = strays;
  });
  return told;
};
/** Replaces them by a copy, without the pages that removed rows left. */
export const copyTables = (directory: string): Promise<void> =>
  replaceTables(directory, (made) =>
    readIndex(tablesFolder(directory), async (tables) => {
      const maker = new TablesMaker(made);
      try {
        for (const rows of allRows(tables)) await maker.put(rows);
        await maker.end([versionRow(tables.version()), placeRow(tables.place()!)]);
      } finally {
        await maker.close();
      }
    }),
  );
const replaceTables = async (directory: string, make: (folder: string) => Promise<void>): Promise<void> => {
  // Tables whose making was cut off do not say up to where they have the log.
  const folder = tablesFolder(directory);
  const isNew = !hasTables(folder);
  const made = isNew ? folder : join(directory, 'tables.made');
  try {
    await make(made);
  } catch (fault) {
    rmSync(made, { recursive: true, force: true });
    throw fault;
  }
  syncFolder(made);
  killPoint('rebuild: made');
  if (isNew) return syncFolder(directory);
  rmSync(folder, { recursive: true, force: true });
  killPoint('rebuild: old tables gone');
  renameSync(made, folder);
  syncFolder(directory);
  killPoint('rebuild: named');
};

const changesPerTransaction = 8000;
const bytesPerTransaction = 8 << 20;
/** Makes tables in a folder, or goes on with those there: gives them rows, many at a time. */
export class TablesMaker {
  private readonly environment: Environment;
  private waiting: Change[] = [];
  private bytes = 0;
  private version = 0;
  constructor(folder: string) {
    this.environment = new Environment(folder);
  }

  /** The same tables, with what was written. */
  get tables(): Tables {
    return new Tables({ environment: this.environment });
  }
  async put(changes: readonly Change[]): Promise<void> {
    for (const change of changes) this.waiting.push(change);
    this.bytes += changesLength(changes);
    this.version = Math.max(this.version, versionOf(changes));
    if (this.waiting.length >= changesPerTransaction || this.bytes >= bytesPerTransaction) await this.write();
  }
  async write(): Promise<void> {
    const { waiting } = this;
    this.waiting = [];
    this.bytes = 0;
    if (waiting.length > 0) await this.environment.write(waiting.map(valueOf));
  }
  /** Writes the rest: the version that the rows ask for, and what is known of them besides. */
  async end(about: readonly Change[]): Promise<void> {
    await this.put([versionRow(Math.max(this.version, this.tables.version())), ...about]);
    await this.write();
  }
  close(): Promise<void> {
    return this.environment.close();
  }
}
