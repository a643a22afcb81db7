/**
 * Rows for new tables: those of the copy of the commit log in their order, then what rows of the old tables can still be read.
 * Of sound tables every row is taken and the copy left aside.
 */
import { existsSync } from 'node:fs';
import { firstParents } from './history.ts';
import { base62, idBuffer, idOfBytes, zeroId } from './ksuid.ts';
import type { BranchRecord, Id, PoolConfig } from './lake.types.ts';
import type { LogRecord } from './log-copy-format.ts';
import { readCopy } from './log-copy-reader.ts';
import { salvageRows } from './probe.ts';
import {
  branchKey, checkRow, type Counters, countersKey, decodeBranch, decodeCommit, decodeCounters, decodeObject, decodePool, encodeBranch, encodeCounters, encodeName, encodePool, idOfPair, nameKey, pairKey, type StoredCommit,
} from './rows.ts';
import type { Change, TableName, Tables } from './tables.ts';

/** Where the rows come from, and where they go. */
interface RebuildOptions {
  /** New and empty. */
  readonly tables: Tables;
  /** Folder of the old ones, if there is any. */
  readonly oldTables: string | undefined;
  /** Folder of the copy. */
  readonly log: string;
  /** Of the old tables every row can be read: the copy is not needed. */
  readonly tablesSound: boolean;
}

const changesPerTransaction = 4000, bytesPerTransaction = 8 << 20;
const salvaged: readonly TableName[] = ['pools', 'branches', 'commits', 'objects', 'bodies', 'vacuumed', 'about'];
/** Their keys do not begin with a pool; bodies of no object go again in the end. */
const unpooled: ReadonlySet<TableName> = new Set(['bodies', 'events']);
/** New events begin so much later: numbers that were given and lost are not given again. */
const eventGap = 1_000_000;

/** Answers with what is lost, one line each. */
export const rebuild = async (options: RebuildOptions): Promise<readonly string[]> => {
  const rows = new Rebuilder(options.tables);
  if (!options.tablesSound && existsSync(options.log)) await rows.takeCopy(options.log);
  if (options.oldTables !== undefined) await rows.takeOld(options.oldTables, options.tablesSound);
  return rows.finish(options.tablesSound);
};

class Rebuilder {
  private readonly tables: Tables;
  private readonly lost: string[] = [];
  private readonly pools = new Map<Id, PoolConfig>();
  /** By key. */
  private readonly branches = new Map<string, BranchRecord>();
  /** Tips that a branch had, oldest first: to set it back when its newest is lost. */
  private readonly formerTips = new Map<string, Id[]>();
  private readonly laterBranches = new Map<string, BranchRecord>();
  private readonly complete = new Set<string>();
  private readonly incomplete = new Set<string>();
  private counters: Counters = { event: 0, sequence: 0 };
  private copyEndsAt: Counters | undefined;
  /** The latest time in the copy. */
  private lastNs = 0n;
  private waiting: Change[] = [];
  private waitingBytes = 0;

  constructor(tables: Tables) { this.tables = tables; }

  async takeCopy(folder: string): Promise<void> {
    const records: LogRecord[] = [];
    const copy = readCopy(folder, (record) => { records.push(record); });
    if (!copy) return;
    this.lost.push(...copy.faults);
    for (const record of records) {
      if (record.kind === 'roster') {
        this.pools.clear();
        this.branches.clear();
      }
      for (const change of record.changes) this.takeChange(change);
      if (this.waiting.length >= changesPerTransaction || this.waitingBytes >= bytesPerTransaction) await this.write();
    }
    await this.write();
    this.counters = copy.counters;
    this.copyEndsAt = copy.counters;
  }

  private takeChange(change: Change): void {
    const { table, key, payload } = change;
    if (payload && this.isMalformed(table, key, payload)) return;
    if (table === 'pools') {
      const id = idOfBytes(key);
      if (payload) this.seePool(decodePool(id, Buffer.from(payload)));
      else this.pools.delete(id);
    } else if (table === 'branches') {
      const name = idOfBytes(key);
      if (!payload) this.branches.delete(name);
      else this.setBranch(name, decodeBranch(key, Buffer.from(payload)));
    } else if (table === 'commits') {
      this.later(decodeCommit(idOfBytes(key.subarray(20)), Buffer.from(payload!)).dateNs);
      this.put(change);
    } else if (table !== 'about' && table !== 'events') this.put(change);
  }
  private isMalformed(table: TableName, key: Uint8Array, payload: Uint8Array): boolean {
    try {
      checkRow(table, Buffer.from(key), Buffer.from(payload));
      return false;
    } catch (fault) {
      // Events tell of what other rows are.
      if (table !== 'events') this.lost.push((fault as Error).message);
      return true;
    }
  }
  private seePool(pool: PoolConfig): void {
    this.pools.set(pool.id, pool);
    this.later(pool.tsNs);
  }
  private setBranch(name: string, branch: BranchRecord): void {
    this.branches.set(name, branch);
    const tips = this.formerTips.get(name) ?? [];
    if (tips.at(-1) !== branch.commit) tips.push(branch.commit);
    this.formerTips.set(name, tips);
    this.later(branch.tsNs);
  }
  private later(ns: bigint): void { if (ns > this.lastNs) this.lastNs = ns; }

  private put(change: Change): void {
    this.waiting.push(change);
    this.waitingBytes += change.key.length + (change.payload?.length ?? 0);
  }
  private async write(): Promise<void> {
    const { waiting } = this;
    this.waiting = [];
    this.waitingBytes = 0;
    if (waiting.length > 0) await this.tables.write(waiting);
  }

  /** The old tables' rows: all of sound ones, else those that the copy lacks. */
  async takeOld(folder: string, isSound: boolean): Promise<void> {
    const { lastNs } = this;
    for await (const { table, key, payload } of salvageRows(folder, isSound ? [...salvaged, 'events'] : salvaged)) {
      if (table === 'pools') {
        const pool = decodePool(idOfBytes(key), payload);
        if (isSound || (!this.pools.has(pool.id) && pool.tsNs > lastNs)) this.seePool(pool);
      } else if (table === 'branches') this.takeOldBranch(idOfBytes(key), decodeBranch(key, payload), isSound || this.copyEndsAt === undefined ? 0n : lastNs);
      else if (table === 'about') {
        if (key.equals(countersKey)) this.raise(decodeCounters(payload));
      } else if (!this.tables.has(table, key) && (unpooled.has(table) || this.pools.has(idOfBytes(key.subarray(0, 20))))) {
        this.put({ table, key, payload });
        if (this.waiting.length >= changesPerTransaction || this.waitingBytes >= bytesPerTransaction) await this.write();
      }
    }
    await this.write();
  }
  private takeOldBranch(name: string, branch: BranchRecord, afterNs: bigint): void {
    const known = this.branches.get(name);
    if (!known && branch.tsNs > afterNs) this.setBranch(name, branch);
    else if (known && known.commit !== branch.commit) this.laterBranches.set(name, branch);
  }
  private raise({ event, sequence }: Counters): void {
    this.counters = { event: Math.max(event, this.counters.event), sequence: Math.max(sequence, this.counters.sequence) };
  }

  /** Tips whose history is whole, names, files, counters. */
  async finish(isSound: boolean): Promise<readonly string[]> {
    await this.dropStrangers();
    await this.dropIncomplete();
    for (const [name, branch] of this.laterBranches) {
      const pool = name.slice(0, 40), known = this.branches.get(name);
      if (known && this.isAncestor(pool, known.commit, branch.commit)) this.setBranch(name, branch);
    }
    const names = new Set<string>();
    for (const pool of this.pools.values()) {
      const name = names.has(pool.name) ? `${pool.name} (${base62(pool.id)})` : pool.name;
      names.add(name);
      this.put({ table: 'pools', key: idBuffer(pool.id), payload: encodePool({ ...pool, name }) });
      this.put({ table: 'names', key: nameKey(name), payload: encodeName(name, pool.id) });
      this.writeBranches(pool);
    }
    await this.writeFiles();
    const { event, sequence } = this.counters;
    this.put({ table: 'about', key: countersKey, payload: encodeCounters(isSound ? this.counters : { event: event + eventGap, sequence }) });
    await this.write();
    if (!isSound) this.lost.push(this.copyEndsAt ? `what was committed after event ${this.counters.event} is lost, if anything was` : 'there is no copy of the commit log: what the old tables could not give is lost');
    return this.lost;
  }

  private writeBranches(pool: PoolConfig): void {
    const own = [...this.branches].filter(([name]) => name.startsWith(pool.id));
    for (const [name, branch] of own) {
      const tips = [...this.formerTips.get(name)!].reverse(), tip = tips.find((id) => this.isComplete(pool.id, id)) ?? zeroId;
      if (tip !== branch.commit) {
        const gone = tips.slice(0, tips.includes(tip) ? tips.indexOf(tip) : tips.length).map(base62);
        this.lost.push(`pool "${pool.name}", branch "${branch.name}": set back to commit ${base62(tip)}, lost with what they did: ${gone.slice(0, 20).join(', ')}${gone.length > 20 ? ` and ${gone.length - 20} more` : ''}`);
      }
      this.put({ table: 'branches', key: Buffer.from(name, 'hex'), payload: encodeBranch({ ...branch, commit: tip }) });
    }
    if (own.length > 0) return;
    this.lost.push(`pool "${pool.name}": its branches are lost; main begins anew`);
    this.put({ table: 'branches', key: branchKey(pool.id, 'main'), payload: encodeBranch({ tsNs: pool.tsNs, name: 'main', commit: zeroId }) });
  }

  private isAncestor(pool: Id, ancestor: Id, of: Id): boolean {
    if (!this.isComplete(pool, of)) return false;
    if (ancestor === zeroId || ancestor === of) return true;
    for (const { id } of firstParents((each) => this.commit(pool, each), of)) if (id === ancestor) return true;
    return false;
  }
  /** All commits down to the first one are there, and the rows of all objects that they name. */
  private isComplete(pool: Id, tip: Id): boolean {
    const chain: Id[] = [];
    let isWhole = true;
    for (let at = tip; at !== zeroId && !this.complete.has(pool + at);) {
      chain.push(at);
      const parent = this.incomplete.has(pool + at) ? undefined : this.parentOf(pool, at);
      isWhole = parent !== undefined;
      if (parent === undefined) break;
      at = parent;
    }
    for (const id of chain) (isWhole ? this.complete : this.incomplete).add(pool + id);
    return isWhole;
  }
  /** Undefined when the commit, one of its parents or the row of one of its objects is missing, or when a parent is not below it. */
  private parentOf(pool: Id, id: Id): Id | undefined {
    const commit = this.commit(pool, id);
    if (!commit) return undefined;
    const { adds, deletes, parent, secondParent, height } = commit;
    if (![...adds, ...deletes].every((object) => this.tables.has('objects', pairKey(pool, object)))) return undefined;
    const isBelow = (other: Id): boolean => other === zeroId || (this.commit(pool, other)?.height ?? Infinity) < height;
    return isBelow(parent) && (secondParent === undefined || isBelow(secondParent)) ? parent : undefined;
  }
  private commit(pool: Id, id: Id): StoredCommit | undefined {
    const payload = this.tables.get('commits', pairKey(pool, id));
    return payload && decodeCommit(id, payload);
  }
  /** Commits that hang in the air, until none does: a merge goes with its second parent. */
  private async dropIncomplete(): Promise<void> {
    for (;;) {
      const keys = this.tables.keys('commits').filter((key) => !this.isComplete(idOfBytes(key.subarray(0, 20)), idOfBytes(key.subarray(20))));
      if (keys.length === 0) return;
      for (const key of keys) {
        this.put({ table: 'commits', key });
        this.lost.push(`pool "${this.pools.get(idOfBytes(key.subarray(0, 20)))!.name}", commit ${base62(idOfBytes(key.subarray(20)))}: its history is not whole`);
      }
      await this.write();
      this.complete.clear();
      this.incomplete.clear();
    }
  }

  /** Rows of pools that are gone. */
  private async dropStrangers(): Promise<void> {
    for (const table of ['commits', 'objects', 'vacuumed'] as const) {
      for (const key of this.tables.keys(table)) if (!this.pools.has(idOfBytes(key.subarray(0, 20)))) this.put({ table, key });
    }
    await this.write();
  }
  private async writeFiles(): Promise<void> {
    const inTables = new Set<Id>();
    for (const { key, payload } of this.tables.soundRows('objects')) {
      const entry = decodeObject(idOfPair('objects', key), payload);
      this.counters = { ...this.counters, sequence: Math.max(this.counters.sequence, entry.sequence) };
      if (this.tables.has('vacuumed', key)) continue;
      if (entry.inTable) inTables.add(entry.id);
      else this.put({ table: 'files', key: idBuffer(entry.id), payload: Buffer.from(key.subarray(0, 20)) });
    }
    for (const key of this.tables.keys('bodies')) if (!inTables.has(idOfBytes(key))) this.put({ table: 'bodies', key });
    await this.write();
  }
}
