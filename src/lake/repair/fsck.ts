/**
 * Looks a lake over: the log, record by record; every row's checksum, in a process of its own (a damaged file can end
 * its reader); the rows against those that the log gives, one by one; then what rows say of each other and of the
 * files; last, what is affected by the damage. Changes nothing. Needs the lake's lock: nobody else may have it open.
 */
import { existsSync, mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { LakeError } from '../../errors.ts';
import { affected, type Damage } from './affected.ts';
import { plural } from '../commits/messages.ts';
import { base62, idBuffer, idBytes, idOfBytes, zeroId } from '../ksuid.ts';
import type { Id, ObjectFiles, PoolConfig } from '../lake.types.ts';
import { lockLake } from '../lock.ts';
import { baseFolder, logBegin, changesOf, logFolder, LogRead, segmentName } from '../log/reader.ts';
import { probeTables } from '../tables/probe.ts';
import { hasObjectsAlone, lostFile, objectsAlone, repairedFolder, versionOfLog } from './recovery.ts';
import { basesOf, leftOf, makeTables, type StrayBase, tablesFolder } from './replay.ts';
import { idOfPair, nameKey, pairKey } from '../tables/rows.ts';
import {
  faultOfObject,
  faultsOfCommit,
  idsOnDisk,
  type ObjectChecks,
  ofPool,
  soundCommit,
  soundPools,
  soundTips,
  tipObjects,
} from './sound-rows.ts';
import { isLogged } from '../tables/table-rows.ts';
import { hasTables } from '../tables/head.ts';
import { type KeyValue, openIndex, type TableName, tableNames, Tables } from '../tables/tables.ts';

/** A damaged file of the lake's folder that is not the log's. `loss`: what is gone without it; absent: nothing. */
export interface DamagedFile {
  readonly name: string;
  readonly fault: string;
  readonly loss?: string;
}
/**
 * Which lake is looked over, and how closely: without `checkObject` only that files are there. `besides`: looks at the
 * files of its folder that are others'; `tables`: those that can be believed, if any.
 */
export interface FsckOptions extends Pick<ObjectChecks, 'checkObject'> {
  readonly directory: string;
  readonly files: ObjectFiles;
  readonly besides?: (tables: Tables | undefined) => readonly DamagedFile[] | Promise<readonly DamagedFile[]>;
}

/** `records`: of the log's segments, up to `last`; `bases`: the records up to which there are bases. */
interface LogReport {
  readonly records: number;
  readonly last: number;
  readonly bases: readonly number[];
}
/**
 * `faults`: one line each, the first thousand. `affected`: pools, branches, commits and rows that the faults touch.
 * `notes`: what is no fault. `orphans`: files that no table names; the next start removes them. `log`: absent in a lake
 * of an earlier build.
 */
export interface FsckReport {
  readonly faults: readonly string[];
  readonly faultCount: number;
  readonly affected: readonly string[];
  readonly notes: readonly string[];
  readonly rows: Readonly<Record<string, number>>;
  readonly pools: number;
  readonly commits: number;
  readonly objects: number;
  readonly orphans: number;
  readonly log?: LogReport;
  /** Every row of LMDB can be read. */
  readonly rowsSound: boolean;
  /** And is the log's. */
  readonly tablesSound: boolean;
  /** What rows say of each other holds. */
  readonly historySound: boolean;
  /** Base and log give all rows, and these are as they should be. */
  readonly logSound: boolean;
  /** The tables are of a copy of this lake that went on by itself: what they alone have is not the log's. */
  readonly isOtherCourse: boolean;
  /** Bases that are not read, and damaged files of others: faults that a repair moves away. */
  readonly strays: readonly StrayBase[];
  readonly besides: readonly DamagedFile[];
}

const faultsMax = 1000;

/** @throws lake-locked, lake-newer, lake-unreadable when there is no lake in the directory */
export const fsck = async (options: FsckOptions): Promise<FsckReport> => {
  checkThere(options.directory);
  // Nothing is changed: a lake that died stays marked so, and one on a disk that takes no writes is looked over like
  // any other.
  const lock = await lockLake(options.directory, 'lake fsck', { marks: false });
  try {
    return await lookOver(options);
  } finally {
    await lock.release(false);
  }
};

/** @throws lake-unreadable when nothing of a lake is in the folder */
export const checkThere = (directory: string): void => {
  if (![tablesFolder, logFolder, baseFolder, repairedFolder].some((folder) => existsSync(folder(directory))))
    throw new LakeError('lake-unreadable', { directory, fault: 'there is no lake here' });
};

/** The same for whoever holds the lock. */
export const lookOver = async (options: FsckOptions): Promise<FsckReport> => {
  const { directory } = options;
  const folder = tablesFolder(directory);
  const faults = new Faults();
  const notes: string[] = [];
  const probed = hasTables(folder) ? await probeTables(folder, { look: true }) : { rows: {}, version: 0, faults: [] };
  const hasLog =
    logBegin(directory) !== undefined ||
    probed.version >= versionOfLog ||
    (probed.version === 0 && leftOf(directory) !== undefined);
  const wantedIn = hasLog ? await tablesOf(directory) : undefined;
  const made = wantedIn?.made;
  const wanted = wantedIn && openIndex(wantedIn.folder);
  const isReadable = Object.keys(probed.rows).length > 0;
  const index = isReadable ? openIndex(folder) : undefined;
  try {
    const { own, fault } = index ? withRest(directory, index, hasLog) : { own: undefined, fault: [] };
    const isSure = fault.length > 0 && made?.faults.length === 0 && probed.faults.length === 0;
    const other = isSure ? commitLacking(index!, wanted!) : undefined;
    const byLog = other === undefined ? undefined : await historyOf(wanted!, options, true);
    // Where it has all of its data objects the log counts, else the tables, which may be those of the objects.
    const isOther = byLog?.faults.count === 0;
    const logFaults = [...(made?.faults ?? []), ...(isOther ? [] : fault)];
    const isWhole = hasLog && logFaults.length === 0;
    const tableFaults = new Faults();
    const truth = isWhole ? wanted : own;
    for (const line of [...probed.faults, ...(hasObjectsAlone(directory) ? [objectsAlone] : [])]) tableFaults.add(line);
    if (isOther) tableFaults.add(other!);
    else if (own && isWhole) for (const line of differences(own, wanted!)) tableFaults.add(line);
    const walk = isOther ? byLog : truth && (await historyOf(truth, options, isWhole));
    const { pools = 0, commits = 0, objects = 0, orphans = 0 } = walk ?? {};
    const strays = made?.strays ?? [];
    const besides = (await options.besides?.(isOther ? wanted : truth)) ?? [];
    for (const line of [
      ...logFaults,
      ...strays.flatMap((stray) => stray.faults),
      ...besides.map(({ name, fault }) => `${name}: ${fault}`),
      ...(existsSync(repairedFolder(directory))
        ? ['repaired: a repair was cut off: lake fsck -repair, or the next start, ends it']
        : []),
      ...tableFaults.lines,
      ...(walk?.faults.lines ?? []),
    ])
      faults.add(line);
    if (made) notes.push(...endNotes(made.log, orphans));
    if (hasLog && !hasTables(folder)) notes.push('there are no tables: the next start makes them from the log');
    for (const name of existsSync(directory) ? readdirSync(directory) : [])
      if (existsSync(join(directory, name, lostFile)))
        notes.push(`${name}/${lostFile} says what a repair could not bring back`);
    if (!hasLog && probed.version > 0) notes.push('an earlier build wrote this lake: the next start begins its log');
    const historySound = walk?.faults.count === walk?.objectFaults;
    const logSound = isWhole && historySound;
    if (logSound && tableFaults.count > 0)
      notes.push(
        isOther
          ? 'lake fsck -repair makes the tables again from the log'
          : 'the next start makes the tables again from the log',
      );
    return {
      faults: faults.lines,
      faultCount: faults.count,
      notes,
      rows: probed.rows,
      pools,
      commits,
      objects,
      orphans,
      affected:
        walk && truth
          ? affected(truth, walk.damage)
          : ['all pools: the tables cannot be read, lake fsck -repair brings back what base and log have'],
      ...(made && {
        log: { records: made.log.records, last: made.log.place?.number ?? 0, bases: basesOf(directory).own },
      }),
      rowsSound: index !== undefined && probed.faults.length === 0,
      tablesSound: tableFaults.count === 0,
      historySound,
      logSound,
      isOtherCourse: isOther,
      strays,
      besides,
    };
  } finally {
    await index?.close();
    await wanted?.close();
    if (wantedIn) rmSync(wantedIn.folder, { recursive: true, force: true });
  }
};

/** What the end of a log may have lost without a trace in the log itself. */
const endNotes = ({ tailBytes, isCut, place }: LogRead, orphans: number): readonly string[] => [
  ...(tailBytes > 0
    ? [`log: ${tailBytes} bytes at its end are half a record, as a stop in the middle of writing leaves them`]
    : []),
  ...(isCut && place
    ? [
        `log/${segmentName(place.segment)}: the file is shorter than it was made: what was committed last may be missing`,
      ]
    : []),
  ...(orphans > 0
    ? [
        `${plural(orphans, 'file')} of data objects that no commit names: of loads that did not come to their commit, or of commits that the end of the log has lost; the next start removes ${orphans === 1 ? 'it' : 'them'}`,
      ]
    : []),
];

/**
 * What the log gives, in a folder of its own: the lake's disk may be full, or take no writes; where temporary files
 * have too little room it is beside the lake's tables.
 */
const tablesOf = async (
  directory: string,
): Promise<{ readonly folder: string; readonly made: Awaited<ReturnType<typeof makeTables>> }> => {
  const folder = mkdtempSync(join(tmpdir(), 'lake-fsck-'));
  try {
    return { folder, made: await makeTables(directory, folder) };
  } catch (fault) {
    rmSync(folder, { recursive: true, force: true });
    if (!(fault instanceof LakeError && fault.code === 'storage-full')) throw fault;
    const beside = join(directory, 'tables.check');
    return { folder: beside, made: await makeTables(directory, beside) };
  }
};

/** The index with what the log has and it does not; what is wrong with the log from there on. */
const withRest = (
  directory: string,
  index: Tables,
  hasLog: boolean,
): { readonly own: Tables; readonly fault: readonly string[] } => {
  const place = index.place();
  if (!hasLog || !place) return { own: index, fault: [] };
  const rest = new LogRead(directory, place);
  return { own: index.with(changesOf(rest)), fault: rest.faults };
};

/** Tables that are at a record which the log does not have: a commit of the log that they should have, if they lack one. */
const commitLacking = (index: Tables, wanted: Tables): string | undefined => {
  for (const key of wanted.keys('commits')) {
    const pool = key.subarray(0, idBytes);
    // That of a pool may have gone with it.
    if (index.has('commits', key) || !index.has('pools', pool)) continue;
    return `tables: they lack commit ${base62(idOfBytes(key.subarray(idBytes)))} of pool ${base62(idOfBytes(pool))}, which the log has: they are of a copy of this lake that went on by itself`;
  }
  return undefined;
};

/** What rows say of each other. `isMade`: they were made from the log, so that nobody has looked at them yet. */
const historyOf = async (tables: Tables, options: FsckOptions, isMade: boolean): Promise<Walk> => {
  const walk = new Walk(tables, options);
  const tell = (line: string): void => walk.faults.add(line);
  if (isMade) for (const table of tableNames) tables.verify(table, tell, true);
  await walk.run();
  return walk;
};

/** What the tables have otherwise than the log, row by row. */
function* differences(found: Tables, wanted: Tables): IterableIterator<string> {
  for (const table of tableNames) {
    const name = (key: Buffer): string => `table ${table}, key ${key.toString('hex')}`;
    for (const { key, payload } of rowsOf(found, table)) {
      const its = wanted.get(table, key);
      if (!its) yield `${name(key)}: the log has no such row`;
      else if (!its.equals(payload)) yield `${name(key)}: it is another in the log`;
    }
    // One that is damaged is told already.
    for (const { key } of rowsOf(wanted, table))
      if (!found.has(table, key)) yield `${name(key)}: the log has it, the tables do not`;
  }
}
function* rowsOf(tables: Tables, table: TableName): IterableIterator<KeyValue> {
  for (const row of tables.soundRows(table)) if (isLogged({ table, key: row.key })) yield row;
}

class Faults {
  readonly lines: string[] = [];
  count = 0;
  add(line: string): void {
    // A row that is damaged is met more than once.
    if (this.lines.includes(line)) return;
    this.count++;
    if (this.lines.length < faultsMax) this.lines.push(line);
  }
}

class Walk {
  private readonly tables: Tables;
  private readonly options: FsckOptions;
  private onDisk: ReadonlySet<Id> = new Set();
  readonly faults = new Faults();
  pools = 0;
  commits = 0;
  objects = 0;
  orphans = 0;
  /** Of bodies and files, not of rows. */
  objectFaults = 0;
  readonly damage: Damage[] = [];

  constructor(tables: Tables, options: FsckOptions) {
    this.tables = tables;
    this.options = options;
  }

  async run(): Promise<void> {
    this.onDisk = await idsOnDisk(this.options.files);
    const pools = soundPools(this.tables);
    this.checkNames(pools);
    for (const pool of pools) {
      const damage: Damage = { pool, objects: new Map(), commits: new Set(), branches: 0 };
      this.checkBranches(pool, damage);
      this.checkCommits(pool, damage);
      this.checkCheckpoints(pool);
      await this.checkObjects(pool, damage);
      if (damage.objects.size + damage.commits.size + damage.branches > 0) this.damage.push(damage);
    }
    const named = new Set(this.tables.keys('files').map((key) => key.toString('hex')));
    this.orphans = [...this.onDisk].filter((id) => !named.has(id)).length;
    this.pools = pools.length;
  }

  private checkNames(pools: readonly PoolConfig[]): void {
    const byId = new Map(pools.map((pool) => [pool.id, pool]));
    for (const { row } of this.tables.soundRows('names')) {
      const { name, pool } = row;
      if (byId.get(pool)?.name !== name)
        this.faults.add(`name "${name}" points at pool ${base62(pool)}, which is not called so`);
    }
    for (const pool of pools)
      if (!this.tables.has('names', nameKey(pool.name)))
        this.faults.add(`pool ${base62(pool.id)} "${pool.name}" is not found by its name`);
    this.checkViewNames(pools);
  }

  /** A name is either a pool's or a view's, and of all versions of a view. */
  private checkViewNames(pools: readonly PoolConfig[]): void {
    const taken = new Map<string, Id | undefined>(pools.map(({ name }) => [name, undefined]));
    for (const { row } of this.tables.soundRows('views')) {
      const { id, name } = row;
      if (taken.has(name) && taken.get(name) !== id)
        this.faults.add(
          `view ${base62(id)} "${name}" has the name of ${taken.get(name) === undefined ? 'a pool' : 'another view'}`,
        );
      else taken.set(name, id);
    }
  }

  private checkBranches(pool: PoolConfig, damage: Damage): void {
    const prefix = idBuffer(pool.id);
    const vacuumed = new Set(this.tables.keys('vacuumed', { prefix }).map((key) => idOfBytes(key.subarray(20))));
    const branches = new Set(Array.from(ofPool(this.tables, 'branches', pool.id), ({ row }) => row.name));
    const rows = this.tables.keys('branches', { prefix }).length;
    damage.branches = rows - branches.size;
    for (const { kind, row } of soundTips(this.tables, pool.id)) {
      const { name, commit } = row;
      const what = `pool "${pool.name}", ${kind} "${name}"`;
      if (kind === 'tag' && branches.has(name)) this.faults.add(`${what}: it has the name of a branch`);
      if (vacuumed.size > 0)
        for (const id of tipObjects((each) => soundCommit(this.tables, pool.id, each), commit).objects)
          if (vacuumed.has(id)) this.faults.add(`${what}: its object ${base62(id)} was vacuumed`);
      if (commit === zeroId || this.tables.has('commits', pairKey(pool.id, commit))) continue;
      damage.commits.add(commit);
      this.faults.add(`${what}: its commit ${base62(commit)} is missing`);
    }
    for (const { row } of ofPool(this.tables, 'moves', pool.id)) {
      const { name, from } = row;
      if (from !== zeroId && !this.tables.has('commits', pairKey(pool.id, from)))
        this.faults.add(`pool "${pool.name}", branch "${name}": commit ${base62(from)}, where it was, is missing`);
    }
    if (rows === 0) this.faults.add(`pool "${pool.name}": it has no branch`);
  }

  private checkCommits(pool: PoolConfig, damage: Damage): void {
    const sound = new Set<Id>();
    for (const { row: commit } of ofPool(this.tables, 'commits', pool.id)) {
      this.commits++;
      sound.add(commit.id);
      for (const { text, commit: parent, object } of faultsOfCommit(this.tables, pool.id, commit)) {
        if (parent !== undefined) damage.commits.add(parent);
        if (object !== undefined) damage.objects.set(object, undefined);
        this.faults.add(`pool "${pool.name}", commit ${base62(commit.id)}: ${text}`);
      }
    }
    for (const id of this.unsound('commits', pool.id, sound)) damage.commits.add(id);
  }
  /** The ids of the other rows; those without an id of their own are named by their row alone. */
  private unsound(table: 'commits' | 'objects', pool: Id, sound: ReadonlySet<Id>): readonly Id[] {
    return this.tables
      .keys(table, { prefix: idBuffer(pool) })
      .filter((key) => key.length === 40)
      .map((key) => idOfPair(table, key))
      .filter((id) => !sound.has(id));
  }

  /** All parts of one are written in one transaction. */
  private checkCheckpoints(pool: PoolConfig): void {
    const parts = new Map<Id, { readonly wanted: number; found: number }>();
    for (const { key, payload } of ofPool(this.tables, 'checkpoints', pool.id)) {
      const commit = key.toString('hex', 20, 40);
      const part = key.readUInt32BE(40);
      if (part === 0) parts.set(commit, { wanted: payload.readUInt32LE(0), found: 1 });
      else if (parts.has(commit)) parts.get(commit)!.found++;
    }
    for (const [commit, { wanted, found }] of parts) {
      if (found !== wanted)
        this.faults.add(
          `pool "${pool.name}", checkpoint at commit ${base62(commit)}: it has ${found} of ${wanted} parts`,
        );
    }
  }

  private async checkObjects(pool: PoolConfig, damage: Damage): Promise<void> {
    const sound = new Set<Id>();
    const {
      onDisk,
      options: { checkObject },
    } = this;
    for (const { key, row: entry } of ofPool(this.tables, 'objects', pool.id)) {
      this.objects++;
      sound.add(entry.id);
      const fault = this.tables.has('vacuumed', key)
        ? undefined
        : await faultOfObject(this.tables, entry, { onDisk, checkObject });
      if (!fault) continue;
      damage.objects.set(entry.id, entry.count);
      const before = this.faults.count;
      this.faults.add(`pool "${pool.name}", object ${base62(entry.id)}: ${fault.text}`);
      if (!fault.inRows) this.objectFaults += this.faults.count - before;
    }
    for (const id of this.unsound('objects', pool.id, sound)) damage.objects.set(id, undefined);
  }
}
