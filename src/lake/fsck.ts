/**
 * Looks a lake over: first every row's checksum, in a process of its own (a damaged file can end its reader), then the copy of the commit log, then what rows
 * say of each other, of the copy and of the files; last, what is affected by the damage. Changes nothing. Needs the lake's lock: nobody else may have it open.
 */
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { LakeError } from '../errors.ts';
import { affected, type Damage } from './fsck-affected.ts';
import { compareWithCopy } from './fsck-copy.ts';
import { base62, idBuffer, idOfBytes, zeroId } from './ksuid.ts';
import type { Id, ObjectFiles, ObjectMeta, PoolConfig } from './lake.types.ts';
import { lockLake } from './lock.ts';
import { type CopyRead, logFolder } from './log-copy-reader.ts';
import { probeTables } from './probe.ts';
import { decodeBranch, decodeCommit, decodeName, decodeObject, decodePool, idOfPair, nameKey, pairKey, type StoredCommit } from './rows.ts';
import { objectMeta } from './snapshot.ts';
import { type KeyValue, type TableName, Tables } from './tables.ts';

/** Which lake is looked over, and how closely. */
export interface FsckOptions {
  readonly directory: string;
  readonly files: ObjectFiles;
  /** Looks at one object's bytes (size, checksums); tells what is wrong with them. Absent: only that the file is there. */
  readonly checkObject?: (object: ObjectMeta) => Promise<string | undefined> | string | undefined;
}

/**
 * `faults`: one line each, the first thousand. `affected`: pools, branches, commits and rows that the faults touch. `notes`: what is no fault.
 * `orphans`: files that no table names; the next start removes them. `copy`: absent if there is none.
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
  readonly copy?: CopyRead;
  /** No row of the tables is damaged or missing; objects may be. */
  readonly tablesSound: boolean;
  readonly copySound: boolean;
}

const faultsMax = 1000;

/** @throws lake-locked, lake-newer, lake-unreadable when there is no lake in the directory */
export const fsck = async (options: FsckOptions): Promise<FsckReport> => {
  if (!existsSync(join(options.directory, 'tables')) && !existsSync(logFolder(options.directory))) {
    throw new LakeError('lake-unreadable', { directory: options.directory, fault: 'there is no lake here' });
  }
  const lock = await lockLake(options.directory, 'lake fsck');
  try {
    return await lookOver(options, lock.diedBefore === undefined);
  } finally {
    // A lake that died stays marked so: only its own next start may take that back.
    await lock.release(lock.diedBefore === undefined);
  }
};

/** The same for whoever holds the lock. `stopped`: the last service was closed in order. */
export const lookOver = async (options: FsckOptions, stopped: boolean): Promise<FsckReport> => {
  const folder = join(options.directory, 'tables'), faults = new Faults();
  const probed = existsSync(folder) ? await probeTables(folder, { look: true }) : { rows: {}, faults: ['the folder of the tables is missing'] };
  for (const fault of probed.faults) faults.add(fault);
  // A file that ended its reader is not opened here.
  const isReadable = Object.keys(probed.rows).length > 0;
  const tables = isReadable ? new Tables(folder, { readOnly: true }) : undefined;
  try {
    const walk = tables && new Walk(tables, options, faults);
    const counts = walk ? await walk.run() : { pools: 0, commits: 0, objects: 0, orphans: 0 };
    const tableFaults = faults.count - (walk?.objectFaults ?? 0);
    const { copy, faults: copyFaults, tableFaults: behind, notes } = compareWithCopy(logFolder(options.directory), tables, stopped);
    for (const fault of [...behind, ...copyFaults]) faults.add(fault);
    const lines = tables ? affected(tables, walk!.damage) : ['all pools: the tables cannot be read', ...(copy ? [`lake fsck -repair brings back what the copy of the commit log has: up to event ${copy.counters.event}`] : [])];
    return {
      faults: faults.lines, faultCount: faults.count, affected: lines, notes, rows: probed.rows, ...counts, ...(copy && { copy }),
      tablesSound: tables !== undefined && tableFaults + behind.length === 0, copySound: copyFaults.length === 0,
    };
  } finally {
    await tables?.close();
  }
};

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
  private readonly faults: Faults;
  private readonly onDisk = new Set<Id>();
  private commits = 0;
  private objects = 0;
  /** Of bodies and files, not of rows. */
  objectFaults = 0;
  readonly damage: Damage[] = [];

  constructor(tables: Tables, options: FsckOptions, faults: Faults) {
    this.tables = tables;
    this.options = options;
    this.faults = faults;
  }

  async run(): Promise<{ pools: number; commits: number; objects: number; orphans: number }> {
    for await (const id of this.options.files.list()) this.onDisk.add(id);
    const pools = [...this.tables.soundRows('pools')].map(({ key, payload }) => decodePool(idOfBytes(key), payload));
    this.checkNames(pools);
    for (const pool of pools) {
      const damage: Damage = { pool, objects: new Map(), commits: new Set() };
      this.checkBranches(pool, damage);
      this.checkCommits(pool, damage);
      this.checkCheckpoints(pool);
      await this.checkObjects(pool, damage);
      if (damage.objects.size + damage.commits.size > 0 || this.hasDamagedBranches(pool)) this.damage.push(damage);
    }
    const named = new Set(this.tables.keys('files').map((key) => key.toString('hex')));
    const orphans = [...this.onDisk].filter((id) => !named.has(id)).length;
    return { pools: pools.length, commits: this.commits, objects: this.objects, orphans };
  }

  private checkNames(pools: readonly PoolConfig[]): void {
    const byId = new Map(pools.map((pool) => [pool.id, pool]));
    for (const row of this.tables.soundRows('names')) {
      const { name, pool } = decodeName(row.key, row.payload);
      if (byId.get(pool)?.name !== name) this.faults.add(`name "${name}" points at pool ${base62(pool)}, which is not called so`);
    }
    for (const pool of pools) if (!this.tables.has('names', nameKey(pool.name))) this.faults.add(`pool ${base62(pool.id)} "${pool.name}" is not found by its name`);
  }

  private checkBranches(pool: PoolConfig, damage: Damage): void {
    let branches = 0;
    for (const row of this.tables.soundRows('branches', { prefix: idBuffer(pool.id) })) {
      const branch = decodeBranch(row.key, row.payload);
      branches++;
      if (branch.commit === zeroId || this.tables.has('commits', pairKey(pool.id, branch.commit))) continue;
      damage.commits.add(branch.commit);
      this.faults.add(`pool "${pool.name}", branch "${branch.name}": its commit ${base62(branch.commit)} is missing`);
    }
    if (branches === 0 && this.tables.keys('branches', { prefix: idBuffer(pool.id), limit: 1 }).length === 0) this.faults.add(`pool "${pool.name}": it has no branch`);
  }

  private hasDamagedBranches({ id }: PoolConfig): boolean {
    const prefix = idBuffer(id);
    return this.tables.keys('branches', { prefix }).length > [...this.tables.soundRows('branches', { prefix })].length;
  }

  private checkCommits(pool: PoolConfig, damage: Damage): void {
    const sound = new Set<Id>();
    for (const { key, payload } of this.each('commits', pool.id)) {
      const commit = decodeCommit(idOfPair('commits', key), payload), what = `pool "${pool.name}", commit ${base62(commit.id)}`;
      this.commits++;
      sound.add(commit.id);
      for (const parent of [commit.parent, commit.secondParent]) {
        if (parent === undefined || parent === zeroId) continue;
        const fault = this.tables.has('commits', pairKey(pool.id, parent)) ? this.faultOfHeight(pool.id, parent, commit) : `its parent ${base62(parent)} is missing`;
        if (fault === undefined) continue;
        damage.commits.add(parent);
        this.faults.add(`${what}: ${fault}`);
      }
      for (const id of [...commit.adds, ...commit.deletes]) {
        if (this.tables.has('objects', pairKey(pool.id, id))) continue;
        damage.objects.set(id, undefined);
        this.faults.add(`${what}: object ${base62(id)} is not known`);
      }
    }
    this.addUnsound('commits', pool.id, (id) => { if (!sound.has(id)) damage.commits.add(id); });
  }
  /** A way back through commits must end. A parent whose row is damaged is told of by that row. */
  private faultOfHeight(pool: Id, parent: Id, child: StoredCommit): string | undefined {
    let row: StoredCommit;
    try {
      row = decodeCommit(parent, this.tables.get('commits', pairKey(pool, parent))!);
    } catch {
      return undefined;
    }
    return row.height < child.height ? undefined : `its height is ${child.height}, that of its parent ${base62(parent)} is ${row.height}`;
  }
  /** The ids of rows that may not be sound; those without an id of their own are named by their row alone. */
  private addUnsound(table: 'commits' | 'objects', pool: Id, add: (id: Id) => void): void {
    for (const key of this.tables.keys(table, { prefix: idBuffer(pool) })) if (key.length === 40) add(idOfPair(table, key));
  }

  /** All parts of one are written in one transaction. */
  private checkCheckpoints(pool: PoolConfig): void {
    const parts = new Map<Id, { readonly wanted: number; found: number }>();
    for (const { key, payload } of this.each('checkpoints', pool.id)) {
      const commit = key.toString('hex', 20, 40), part = key.readUInt32BE(40);
      if (part === 0) parts.set(commit, { wanted: payload.readUInt32LE(0), found: 1 });
      else if (parts.has(commit)) parts.get(commit)!.found++;
    }
    for (const [commit, { wanted, found }] of parts) {
      if (found !== wanted) this.faults.add(`pool "${pool.name}", checkpoint at commit ${base62(commit)}: it has ${found} of ${wanted} parts`);
    }
  }

  private async checkObjects(pool: PoolConfig, damage: Damage): Promise<void> {
    const sound = new Set<Id>();
    for (const { key, payload } of this.each('objects', pool.id)) {
      const entry = decodeObject(idOfPair('objects', key), payload), what = `pool "${pool.name}", object ${base62(entry.id)}`;
      this.objects++;
      sound.add(entry.id);
      if (this.tables.has('vacuumed', pairKey(pool.id, entry.id))) continue;
      const fault = entry.inTable ? this.faultOfBody(entry.id) : this.faultOfFile(entry.id);
      const found = fault ?? await this.faultOf(() => objectMeta(entry, this.tables));
      if (found === undefined) continue;
      damage.objects.set(entry.id, entry.count);
      const before = this.faults.count;
      this.faults.add(`${what}: ${found}`);
      // A body's row and a file's are rows like others; what is in them is the object's own.
      if (!entry.inTable || fault === undefined) this.objectFaults += this.faults.count - before;
    }
    this.addUnsound('objects', pool.id, (id) => { if (!sound.has(id)) damage.objects.set(id, undefined); });
  }
  private faultOfBody(id: Id): string | undefined { return this.tables.has('bodies', idBuffer(id)) ? undefined : 'its body is missing'; }
  private faultOfFile(id: Id): string | undefined {
    if (!this.tables.has('files', idBuffer(id))) return 'its file is not listed';
    return this.onDisk.has(id) ? undefined : 'its file is missing';
  }
  private async faultOf(object: () => ObjectMeta): Promise<string | undefined> {
    try {
      return await this.options.checkObject?.(object());
    } catch (error) {
      return error instanceof Error ? error.message : String(error);
    }
  }

  private each(table: TableName, pool: Id): IterableIterator<KeyValue> { return this.tables.soundRows(table, { prefix: idBuffer(pool) }); }
}
