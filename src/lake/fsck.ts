/**
 * Looks a lake over: first every row's checksum, in a process of its own (a damaged file can end its reader), then what rows say of each other and of the files.
 * Changes nothing. Needs the lake's lock: nobody else may have it open.
 */
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { LakeError } from '../errors.ts';
import { base62, idBuffer, zeroId } from './ksuid.ts';
import type { Id, ObjectFiles, ObjectMeta, PoolConfig } from './lake.types.ts';
import { lockLake } from './lock.ts';
import { probeTables } from './probe.ts';
import { decodeBranch, decodeCommit, decodeName, decodeObject, decodePool, nameKey, pairKey } from './rows.ts';
import { objectMeta } from './snapshot.ts';
import { Tables } from './tables.ts';

export interface FsckOptions {
  readonly directory: string;
  readonly files: ObjectFiles;
  /** Looks at one object's bytes (size, checksums); tells what is wrong with them. Absent: only that the file is there. */
  readonly checkObject?: (object: ObjectMeta) => Promise<string | undefined> | string | undefined;
}

/** `faults`: one line each, the first thousand. `orphans`: files that no table names; the next start removes them. */
export interface FsckReport {
  readonly faults: readonly string[];
  readonly faultCount: number;
  readonly rows: Readonly<Record<string, number>>;
  readonly pools: number;
  readonly commits: number;
  readonly objects: number;
  readonly orphans: number;
}

const faultsMax = 1000;
const rowsPerRead = 1000;

/** @throws lake-locked, lake-newer */
export const fsck = async (options: FsckOptions): Promise<FsckReport> => {
  const folder = join(options.directory, 'tables');
  if (!existsSync(folder)) throw new LakeError('lake-unreadable', { directory: options.directory, fault: 'there is no lake here' });
  const lock = await lockLake(options.directory, 'lake fsck');
  const faults = new Faults();
  let rows: Readonly<Record<string, number>> = {}, counts = { pools: 0, commits: 0, objects: 0, orphans: 0 };
  try {
    const probed = await probeTables(folder);
    rows = probed.rows;
    for (const fault of probed.faults) faults.add(fault);
    // Tables with a bad row would only fail again below.
    if (probed.faults.length === 0) {
      const tables = new Tables(folder);
      try {
        counts = await new Walk(tables, options, faults).run();
      } finally {
        await tables.close();
      }
    }
  } finally {
    // A lake that died stays marked so: only its own next start may take that back.
    await lock.release(lock.diedBefore === undefined);
  }
  return { faults: faults.lines, faultCount: faults.count, rows, ...counts };
};

class Faults {
  readonly lines: string[] = [];
  count = 0;
  add(line: string): void {
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

  constructor(tables: Tables, options: FsckOptions, faults: Faults) {
    this.tables = tables;
    this.options = options;
    this.faults = faults;
  }

  async run(): Promise<{ pools: number; commits: number; objects: number; orphans: number }> {
    for await (const id of this.options.files.list()) this.onDisk.add(id);
    const pools = this.tables.rows('pools').map((row) => decodePool(row.payload));
    this.checkNames(pools);
    for (const pool of pools) {
      this.checkBranches(pool);
      this.checkCommits(pool);
      await this.checkObjects(pool);
    }
    const named = new Set(this.tables.keys('files').map((key) => key.toString('hex')));
    const orphans = [...this.onDisk].filter((id) => !named.has(id)).length;
    return { pools: pools.length, commits: this.commits, objects: this.objects, orphans };
  }

  private checkNames(pools: readonly PoolConfig[]): void {
    const byId = new Map(pools.map((pool) => [pool.id, pool]));
    for (const row of this.tables.rows('names')) {
      const { name, pool } = decodeName(row.payload);
      if (byId.get(pool)?.name !== name) this.faults.add(`name "${name}" points at pool ${base62(pool)}, which is not called so`);
    }
    for (const pool of pools) if (!this.tables.has('names', nameKey(pool.name))) this.faults.add(`pool ${base62(pool.id)} "${pool.name}" is not found by its name`);
  }

  private checkBranches(pool: PoolConfig): void {
    for (const row of this.tables.rows('branches', { prefix: idBuffer(pool.id) })) {
      const branch = decodeBranch(row.payload);
      if (branch.commit !== zeroId && !this.tables.has('commits', pairKey(pool.id, branch.commit))) {
        this.faults.add(`pool "${pool.name}", branch "${branch.name}": its commit ${base62(branch.commit)} is missing`);
      }
    }
  }

  private checkCommits(pool: PoolConfig): void {
    for (const { key, payload } of this.each('commits', pool.id)) {
      const commit = decodeCommit(key.subarray(20).toString('hex'), payload), what = `pool "${pool.name}", commit ${base62(commit.id)}`;
      this.commits++;
      for (const parent of [commit.parent, commit.secondParent]) {
        if (parent !== undefined && parent !== zeroId && !this.tables.has('commits', pairKey(pool.id, parent))) this.faults.add(`${what}: its parent ${base62(parent)} is missing`);
      }
      for (const id of [...commit.adds, ...commit.deletes]) if (!this.tables.has('objects', pairKey(pool.id, id))) this.faults.add(`${what}: object ${base62(id)} is not known`);
    }
  }

  private async checkObjects(pool: PoolConfig): Promise<void> {
    for (const { payload } of this.each('objects', pool.id)) {
      const entry = decodeObject(payload), what = `pool "${pool.name}", object ${base62(entry.id)}`;
      this.objects++;
      if (this.tables.has('vacuumed', pairKey(pool.id, entry.id))) continue;
      if (entry.inTable && !this.tables.has('bodies', idBuffer(entry.id))) {
        this.faults.add(`${what}: its body is missing`);
        continue;
      }
      if (!entry.inTable && !this.tables.has('files', idBuffer(entry.id))) this.faults.add(`${what}: its file is not listed`);
      if (!entry.inTable && !this.onDisk.has(entry.id)) {
        this.faults.add(`${what}: its file is missing`);
        continue;
      }
      const fault = await this.faultOf(objectMeta(entry, this.tables));
      if (fault !== undefined) this.faults.add(`${what}: ${fault}`);
    }
  }
  private async faultOf(object: ObjectMeta): Promise<string | undefined> {
    try {
      return await this.options.checkObject?.(object);
    } catch (error) {
      return error instanceof Error ? error.message : String(error);
    }
  }

  /** Rows of a pool, read a thousand at a time: a long read would pin pages. */
  private *each(table: 'commits' | 'objects', pool: Id): IterableIterator<{ readonly key: Buffer; readonly payload: Buffer }> {
    const prefix = idBuffer(pool);
    let start: Buffer | undefined;
    for (;;) {
      const rows = this.tables.rows(table, { prefix, ...(start && { start }), limit: rowsPerRead });
      yield* rows;
      if (rows.length < rowsPerRead) return;
      start = Buffer.concat([rows.at(-1)!.key, Buffer.from([0])]);
    }
  }
}
