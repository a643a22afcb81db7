/**
 * What a start does with a lake's folder and its bucket before the tables are opened: an empty folder is made from the
 * bucket, one that the bucket knows is gone on with, one that fell behind is made again.
 *
 * Invariants:
 * - A folder is made beside what is there (`store.made`) and takes its place when it is complete; data objects stay.
 * - Whoever makes a folder from the bucket has put its fence behind the last segment that it read: nobody else writes
 *   from there on.
 * - What a folder has and the bucket does not is never dropped without a word: it is refused, or kept aside where
 *   nobody was told that it is done (`ack bucket`).
 */
import { existsSync, mkdirSync, readFileSync, renameSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { LakeError } from '../../errors.ts';
import type { Bucket } from '../../store/bucket.ts';
import { syncFolder, writeDurably } from '../lock.ts';
import type { Id } from '../lake.types.ts';
import { type FileHead, headBytes, type LogPlace, newIdentity, noDigest } from '../log/format.ts';
import { allRows, writeBase } from '../log/base.ts';
import { beginLog } from '../log/log.ts';
import { baseFolder, logBegin, logFolder, LogRead } from '../log/reader.ts';
import { wereClosed } from '../repair/recovery.ts';
import { basesOf, TablesMaker, tablesFolder } from '../repair/replay.ts';
import { hasTables } from '../tables/head.ts';
import { probeTables } from '../tables/probe.ts';
import { followedKey } from '../tables/table-rows.ts';
import { type Change, placeRow, readIndex } from '../tables/tables.ts';
import { type BaseFile, baseRows } from './base-file.ts';
import { markOf } from './mark.ts';
import { type PassedBase, getBase, notePassed, readByBase } from './read-base.ts';
import {
  type BucketState,
  baseKey,
  encodeSegment,
  findTip,
  lastNumber,
  type Segment,
  type SegmentHead,
  segmentAround,
  segmentKey,
  segmentsAhead,
  segmentsFrom,
  type UnnamedBase,
  whoWrote,
} from './segments.ts';

/** Who this process is, to others that look at the bucket. */
export interface Writer {
  readonly id: string;
  readonly address: string;
}
/**
 * The newest segment that this process knows; `segment`: the last number that it takes, 0: there is none. The next one
 * is behind it.
 */
export interface Tip {
  readonly segment: number;
  readonly sum: string;
  readonly last: number;
  readonly digest: string;
}
export const noTip: Tip = { segment: 0, sum: '', last: 0, digest: '' };
/** `gone`: objects whose removal was logged. `isFenced`: this process' fence is there already. */
export interface Opened {
  readonly tip: Tip;
  readonly gone: readonly (readonly [Id, number])[];
  readonly isFenced: boolean;
  /** The bucket lacks its first base. */
  readonly lacksBase: boolean;
  /** The newest segment of the writer before; absent: there was none. */
  readonly before?: SegmentHead;
  /** What `base/newest` is to name again. */
  readonly unnamed?: UnnamedBase;
  /** Bases that cannot be read, and are to be replaced. */
  readonly passed?: readonly PassedBase[];
}
interface OpenOptions {
  readonly bucket: Bucket;
  readonly directory: string;
  /** The folder becomes a replica's: tables alone, which go on with the bucket's log. */
  readonly follows?: boolean;
  /** Asked before anything is put, with the newest segment there is: throws where nothing is to be. */
  readonly mayWrite?: (newest: SegmentHead) => Promise<void>;
  /** Absent: the folder is a copy of what the bucket has at this moment, and the bucket's writer goes on. */
  readonly writer?: Writer;
  /** Told of what is worth a line. */
  readonly noted: (text: string) => void;
}

export const tipOf = ({ head, sum }: Segment): Tip => ({
  segment: lastNumber(head),
  sum,
  last: head.last,
  digest: head.digest,
});

/** @throws store-strange, store-diverged, store-corrupt, store-unreachable, store-refused */
export const openBucketLake = async (options: OpenOptions): Promise<Opened> => {
  const { bucket, directory } = options;
  finishSwap(directory);
  const state = await findTip(bucket);
  const begun = logBegin(directory);
  if (state.tip === 0) return { tip: noTip, gone: [], isFenced: false, lacksBase: false };
  const base = state.bases.at(-1) ?? 0;
  noteUnnamed(state, options.noted);
  const unnamed = state.unnamed && { unnamed: state.unnamed };
  const newest = await segmentAt(bucket, state.tip);
  await options.mayWrite?.(newest.head);
  const lacksBase = base === 0 && (await segmentAt(bucket, 1)).head.begins !== undefined;
  if (begun) {
    checkLake(options, newest.head.lake);
    if (digestAt(directory, newest.head.last) === newest.head.digest && (await isUsable(directory, begun))) {
      if (state.missing !== undefined)
        options.noted(`${bucket.name} has lost ${segmentKey(state.missing)}, which the folder makes good by a base`);
      const isWhole = !lacksBase && state.missing === undefined;
      return {
        tip: tipOf(newest),
        ...(await goneIn(options, state)),
        isFenced: false,
        lacksBase: !isWhole,
        before: newest.head,
        ...unnamed,
      };
    }
  }
  if (state.missing !== undefined) throw missingSegment(bucket, state.missing, state.tip);
  if (lacksBase)
    throw new LakeError('store-corrupt', {
      store: bucket.name,
      key: 'base/',
      fault: 'the lake was never copied to its end: start a service on the folder that was copied',
    });
  const { opened } = await makeFolderFrom(options, state);
  return { before: newest.head, ...opened, ...unnamed };
};
export const noteUnnamed = ({ unnamed }: BucketState, noted: (text: string) => void): void => {
  if (unnamed) noted(`${unnamed.text}: the newest base, ${baseKey(unnamed.base)}, was found by a listing`);
};
/**
 * A folder that was made from a bucket gets its base when it is open: until then what its tables lose only the bucket
 * has.
 */
const isUsable = async (directory: string, { hasBase }: FileHead): Promise<boolean> =>
  !hasBase || basesOf(directory).own.length > 0 || areSound(tablesFolder(directory));
const areSound = async (folder: string): Promise<boolean> =>
  hasTables(folder) && (wereClosed(folder) || (await probeTables(folder)).faults.length === 0);
/** Makes a folder that has no lake from what the bucket has. Nothing is put into the bucket. @throws store-empty */
export const copyFromBucket = async (bucket: Bucket, directory: string): Promise<Opened> => {
  const opened = await openBucketLake({ bucket, directory, noted: () => undefined });
  if (opened.tip.segment === 0) throw new LakeError('store-empty', { store: bucket.name });
  return opened;
};
const segmentAt = async (bucket: Bucket, segment: number): Promise<Segment> => {
  const found = await segmentAround(bucket, segment);
  if (found) return found;
  throw new LakeError('store-corrupt', { store: bucket.name, key: segmentKey(segment), fault: 'it is missing' });
};

/** A segment that is lost is no end of the log. */
export const missingSegment = (bucket: Bucket, segment: number, tip: number): LakeError =>
  new LakeError('store-corrupt', {
    store: bucket.name,
    key: segmentKey(segment),
    fault: `it is missing, and segments up to ${tip} are there: put it back, or start a service on a folder that has all`,
  });

/** The digest of a record in the folder's log; undefined if it is not there. */
const digestAt = (directory: string, record: number): string | undefined => {
  const log = new LogRead(directory);
  for (const { number, before } of log) {
    if (number === record + 1) return before.toString('hex');
    if (number > record + 1) return undefined;
  }
  return log.place?.number === record ? log.place.digest.toString('hex') : undefined;
};
/** The last record of the folder's log. */
const endOf = (directory: string): { readonly number: number; readonly digest: string } => {
  const { place } = new LogRead(directory).finish();
  return { number: place?.number ?? 0, digest: place?.digest.toString('hex') ?? '' };
};

type Removals = Pick<Opened, 'gone' | 'passed'>;
/** Objects that are to go, by base and segments. */
const goneIn = async (
  { bucket, directory, noted }: Pick<OpenOptions, 'bucket' | 'directory' | 'noted'>,
  { bases }: BucketState,
): Promise<Removals> => {
  const { made, base, passed } = await readByBase(bucket, bases, async (base) => {
    const gone: (readonly [Id, number])[] = [];
    if (base > 0) gone.push(...(await getBase(bucket, directory, base)).head.gone);
    for await (const segment of segmentsFrom(bucket, base + 1)) gone.push(...removalsOf(segment));
    return gone;
  });
  notePassed(passed, base, noted);
  return { gone: made, passed };
};
export const removalsOf = ({ head, records }: Pick<Segment, 'head' | 'records'>): (readonly [Id, number])[] =>
  records.flatMap((changes) => removedFiles(changes).map((id) => [id, head.at] as const));
export const removedFiles = (changes: readonly Change[]): Id[] =>
  changes.flatMap(({ table, key, payload }) =>
    table === 'files' && !payload ? [Buffer.from(key).toString('hex')] : [],
  );

/** The same of all that the bucket has. */
export const goneNow = async (options: Pick<OpenOptions, 'bucket' | 'directory' | 'noted'>): Promise<Removals> => {
  const { bucket, directory } = options;
  try {
    return await goneIn(options, await findTip(bucket));
  } finally {
    rmSync(join(directory, 'store.base'), { force: true });
  }
};

const madeFolder = (directory: string): string => join(directory, 'store.made');
const completeName = 'complete';

/** The newest segment that a replica's tables have, of which lake, and where that one's writer is. */
export interface FollowedTip extends Tip {
  readonly lake: string;
  readonly writer: string;
  readonly address: string;
}
export const followedRow = (tip: FollowedTip): Change => ({
  table: 'about',
  key: followedKey,
  payload: Buffer.from(JSON.stringify(tip)),
});
/** The place in the log of its last record. */
export const placeOf = ({ lake, last: number, digest }: FollowedTip): LogPlace => ({
  lake: Buffer.from(lake, 'hex'),
  number,
  digest: digest === '' ? noDigest : Buffer.from(digest, 'hex'),
  segment: 1,
  at: 0,
  end: headBytes,
});

/**
 * A replica's folder: gone on with where its tables are sound and the bucket still has what follows them, else made
 * from the bucket. @throws store-empty, store-strange, store-diverged, store-corrupt, store-unreachable, store-refused
 */
export const openFollowedFolder = async (options: OpenOptions): Promise<FollowedTip> => {
  const { bucket, directory } = options;
  finishSwap(directory);
  const known = logBegin(directory) ? undefined : await knownTip(directory);
  if (known && (await segmentAround(bucket, known.segment))?.sum === known.sum) return known;
  const state = await findTip(bucket);
  if (state.tip === 0) throw new LakeError('store-empty', { store: bucket.name });
  noteUnnamed(state, options.noted);
  if (state.missing !== undefined) throw missingSegment(bucket, state.missing, state.tip);
  const { followed } = await makeFolderFrom({ ...options, follows: true }, state);
  // A base alone does not name its writer.
  if (followed.address !== '') return followed;
  const { writer = '', address = '' } = (await segmentAround(bucket, followed.segment))?.head ?? {};
  return { ...followed, writer, address };
};
const knownTip = async (directory: string): Promise<FollowedTip | undefined> => {
  const folder = tablesFolder(directory);
  if (!(await areSound(folder))) return undefined;
  return readIndex(folder, (tables) => {
    tables.checkVersion(directory);
    const row = tables.get('about', followedKey);
    return row && (JSON.parse(row.toString('utf8')) as FollowedTip);
  });
};

/** @throws store-strange */
const checkLake = ({ bucket, directory }: OpenOptions, lake: string): void => {
  const own = logBegin(directory)?.identity.lake.toString('hex') ?? lake;
  if (own !== lake) throw new LakeError('store-strange', { store: bucket.name, directory, lake, own });
};

interface MadeFolder {
  readonly opened: Opened;
  readonly followed: FollowedTip;
}
/** Makes log and tables from the bucket, fenced, and puts them into the folder. */
const makeFolderFrom = async (options: OpenOptions, state: BucketState): Promise<MadeFolder> => {
  const { made, base, passed } = await readByBase(options.bucket, state.bases, (base) =>
    makeFolderBy(options, state, base),
  );
  notePassed(passed, base, options.noted);
  return { ...made, opened: { ...made.opened, passed } };
};
const makeFolderBy = async (options: OpenOptions, state: BucketState, base: number): Promise<MadeFolder> => {
  const { bucket, directory, noted } = options;
  const own = logBegin(directory) ? endOf(directory) : undefined;
  const made = madeFolder(directory);
  rmSync(made, { recursive: true, force: true });
  mkdirSync(made, { recursive: true });
  const file = base > 0 ? await getBase(bucket, directory, base) : undefined;
  const tables = new TablesMaker(tablesFolder(made));
  const maker = new FolderMaker(options, tables, own);
  try {
    await maker.rows(file);
    await maker.segments(async () => {
      if (maker.tip.segment < state.tip) throw missingSegment(bucket, maker.tip.segment + 1, state.tip);
      // Before the fence: the writer goes on where this start is refused.
      if (own) checkLake(options, maker.followed.lake);
      if (!own || maker.knowsOwn || markOf(directory)?.ack === 'bucket') return;
      const { tip } = maker;
      const who = await maker.wroteLast();
      throw new LakeError('store-diverged', { store: bucket.name, directory, record: own.number, last: tip.last, who });
    });
    if (options.follows) await maker.endFollowed();
    else await maker.end(made);
  } catch (fault) {
    rmSync(made, { recursive: true, force: true });
    throw fault;
  } finally {
    await tables.close();
    rmSync(join(directory, 'store.base'), { force: true });
  }
  // A service writes it when the lake is open.
  if (!options.follows && !options.writer) await writeOwnBase(made);
  if (own && !maker.knowsOwn)
    noted(
      `the folder's log ended at record ${own.number}, which the bucket does not have: it was never acknowledged; it is kept in ${divergedFolder(directory)}`,
    );
  writeDurably(join(made, completeName), own && !maker.knowsOwn ? 'kept' : 'replaced');
  syncFolder(directory);
  finishSwap(directory);
  return {
    opened: {
      tip: maker.tip,
      gone: maker.gone,
      isFenced: true,
      lacksBase: false,
      ...(maker.newest && { before: maker.newest }),
    },
    followed: maker.followed,
  };
};
/** The folder is a lake without its bucket, too: its log goes on from a base. */
const writeOwnBase = async (made: string): Promise<void> => {
  const { identity, first, before } = logBegin(made)!;
  if (first === 1) return;
  await readIndex(tablesFolder(made), (tables) =>
    writeBase({ directory: made, identity, record: first - 1, before, rows: allRows(tables) }),
  );
};
const divergedFolder = (directory: string): string => join(directory, 'diverged');

/** Ends what puts log and tables that were made from a bucket into their place; drops what was not complete. */
const finishSwap = (directory: string): void => {
  const made = madeFolder(directory);
  const complete = join(made, completeName);
  if (existsSync(complete)) {
    const isKept = readFileSync(complete, 'utf8') === 'kept';
    const kept = divergedFolder(directory);
    // What is there of the new ones was moved already.
    if (existsSync(tablesFolder(made))) {
      if (isKept && existsSync(logFolder(directory))) {
        rmSync(kept, { recursive: true, force: true });
        mkdirSync(kept);
        renameSync(logFolder(directory), join(kept, 'log'));
      }
      for (const old of [logFolder(directory), baseFolder(directory), tablesFolder(directory)])
        rmSync(old, { recursive: true, force: true });
      renameSync(tablesFolder(made), tablesFolder(directory));
    }
    if (existsSync(baseFolder(made))) renameSync(baseFolder(made), baseFolder(directory));
    if (existsSync(logFolder(made))) renameSync(logFolder(made), logFolder(directory));
    syncFolder(directory);
  }
  rmSync(made, { recursive: true, force: true });
};

/** Puts rows of base and segments into new tables, and a fence behind them. */
class FolderMaker {
  tip = noTip;
  /** The last segment that was read. */
  newest: SegmentHead | undefined;
  /** The bucket has the last record of the folder's own log. */
  knowsOwn = false;
  readonly gone: (readonly [Id, number])[] = [];
  private readonly options: OpenOptions;
  private readonly tables: TablesMaker;
  private readonly own: { readonly number: number; readonly digest: string } | undefined;
  private lake = '';

  constructor(options: OpenOptions, tables: TablesMaker, own: FolderMaker['own']) {
    this.options = options;
    this.tables = tables;
    this.own = own;
  }

  async rows(file: BaseFile | undefined): Promise<void> {
    if (!file) return;
    const { lake, segment, sum, last, digest, gone } = file.head;
    this.lake = lake;
    this.know({ segment, sum, last, digest });
    this.gone.push(...gone);
    for await (const changes of baseRows(file)) await this.tables.put(changes);
  }
  private know(tip: Tip): void {
    this.tip = tip;
    if (this.own && tip.last === this.own.number && tip.digest === this.own.digest) this.knowsOwn = true;
  }

  /** All segments, until the fence is behind the last one. `check`: throws where none is to be put. */
  async segments(check: () => Promise<void>): Promise<void> {
    for (;;) {
      for await (const segment of segmentsFrom(this.options.bucket, this.tip.segment + 1)) await this.take(segment);
      const { bucket, writer } = this.options;
      await check();
      if (!writer) return;
      const fence = await putFence(bucket, writer, this.lake, this.tip);
      if (!fence) continue;
      this.tip = fence;
      return;
    }
  }
  private async take(segment: Segment): Promise<void> {
    const { head, records } = segment;
    const { name: store } = this.options.bucket;
    const corrupt = (fault: string): LakeError =>
      new LakeError('store-corrupt', { store, key: segmentKey(head.segment), fault });
    if (this.lake !== '' && head.lake !== this.lake) throw corrupt('it is of another lake');
    if (this.tip.segment > 0 && head.before !== this.tip.sum) throw corrupt('it does not follow the segment before it');
    if (this.tip.segment > 0 && head.first !== this.tip.last + 1)
      throw corrupt(`it begins with record ${head.first}, ${this.tip.last + 1} should follow`);
    this.lake = head.lake;
    this.newest = head;
    for (const changes of records) await this.tables.put(changes);
    this.gone.push(...removalsOf(segment));
    this.know(tipOf(segment));
  }

  /** Who wrote what is there, for people: a base alone does not say. */
  async wroteLast(): Promise<string> {
    const head = this.newest ?? (await segmentAround(this.options.bucket, this.tip.segment))?.head;
    return head ? whoWrote(head) : 'another service';
  }
  get followed(): FollowedTip {
    const { writer = '', address = '' } = this.newest ?? {};
    return { ...this.tip, lake: this.lake, writer, address };
  }
  /** Says in the tables up to where they have the log. */
  async endFollowed(): Promise<void> {
    await this.tables.end([placeRow(placeOf(this.followed)), followedRow(this.followed)]);
  }
  /** The same, and begins a log there. */
  async end(made: string): Promise<void> {
    const place = placeOf(this.followed);
    const { number, digest: before } = place;
    const identity = { lake: place.lake, salt: newIdentity().salt };
    await this.tables.end([placeRow(place)]);
    beginLog(made, { identity, hasBase: number > 0, first: number + 1, before });
  }
}

/** What the writer before may have begun to put behind what would be in the fence's place. */
export const fenceSkips = segmentsAhead - 1;
/**
 * Puts a segment without records behind the tip: whoever wrote before cannot put another one that counts, but under the
 * numbers that are skipped.
 */
export const putFence = async (
  bucket: Bucket,
  writer: Writer,
  lake: string,
  tip: Tip,
  begins?: number,
): Promise<Tip | undefined> => {
  const head: SegmentHead = {
    lake,
    segment: tip.segment + 1,
    before: tip.sum,
    writer: writer.id,
    address: writer.address,
    at: Date.now(),
    first: tip.last + 1,
    last: tip.last,
    digest: tip.digest,
    ...(begins !== undefined && { begins }),
    skips: fenceSkips,
  };
  const { bytes, sum } = encodeSegment(head, []);
  return (await bucket.putNew(segmentKey(head.segment), bytes))
    ? { ...tip, segment: lastNumber(head), sum }
    : undefined;
};
