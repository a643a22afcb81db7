/**
 * Tables that are made of a damaged log: what it has in its order, then what rows of the old tables can still be read; of that, what is whole. A branch whose newest commits are lost is set back.
 */
import { firstParents } from './history.ts';
import { base62, idBuffer, idOfBytes, zeroId } from './ksuid.ts';
import type { BranchRecord, Id, PoolConfig } from './lake.types.ts';
import { salvageRows } from './probe.ts';
import {
  branchKey, checkRow, type Counters, countersKey, decodeBranch, decodeCommit, decodeCounters, decodeObject, decodePool, encodeBranch, encodeCounters, encodeName, encodePool, idOfEventKey, idOfPair, isRow, nameKey, pairKey, type StoredCommit,
} from './rows.ts';
import { type Change, type TableName, tableNames, type Tables } from './tables.ts';

const changesPerTransaction = 4000, bytesPerTransaction = 8 << 20;
const salvagedTables: readonly TableName[] = ['pools', 'branches', 'commits', 'objects', 'bodies', 'vacuumed', 'retries', 'about'];
/** Their keys do not begin with a pool; bodies of no object go again in the end. */
const unpooled: ReadonlySet<TableName> = new Set(['bodies', 'retries']);
/** What follows from other rows, and is made again where it is missing. */
const derived: readonly TableName[] = ['names', 'files', 'checkpoints', 'packs', 'lineage'];
/** New events begin so much later: numbers that were given and lost are not given again. */
const eventGap = 1_000_000;

/** Told of all changes (`see`), then asked for the rest (`finish`). */
export class Rebuilder {
  private tables!: Tables;
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
  /** Numbers that came, by range: what is missing between them was lost. */
  private lastEvent: number | undefined;
  /** The latest time in the log. */
  private lastNs = 0n;
  private waiting: Change[] = [];
  private waitingBytes = 0;

  /** Changes of the log, in their order. */
  see(changes: readonly Change[]): void {
    for (const { table, key, payload } of changes) {
      if (payload && !isRow(table, key, payload)) continue;
      if (table === 'pools') {
        const id = idOfBytes(key);
        if (payload) this.seePool(decodePool(id, Buffer.from(payload)));
        else this.pools.delete(id);
      } else if (table === 'branches') {
        const name = idOfBytes(key);
        if (!payload) this.branches.delete(name);
        else this.setBranch(name, decodeBranch(key, Buffer.from(payload)));
      } else if (table === 'events' && payload) this.seeEvent(idOfEventKey(Buffer.from(key)));
      else if (table === 'commits' && payload) this.later(decodeCommit(idOfBytes(key.subarray(20)), Buffer.from(payload)).dateNs);
      else if (table === 'about' && payload && countersKey.equals(key)) this.raise(decodeCounters(Buffer.from(payload)));
    }
  }
  /** Events come in their order. */
  private seeEvent(event: number): void {
    const last = this.lastEvent;
    if (last !== undefined && event > last + 1) this.lost.push(`event${event > last + 2 ? `s ${last + 1} to ${event - 1} are` : ` ${last + 1} is`} lost: what was made or changed then is gone, what was deleted or renamed then may be as it was before`);
    if (last === undefined || event > last) this.lastEvent = event;
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

  /** The old tables' rows that the log lacks. */
  private async takeOld(folder: string): Promise<void> {
    const { lastNs } = this;
    for await (const { table, key, payload } of salvageRows(folder, salvagedTables)) {
      if (table === 'pools') {
        const pool = decodePool(idOfBytes(key), payload);
        if (!this.pools.has(pool.id) && pool.tsNs > lastNs) this.seePool(pool);
      } else if (table === 'branches') this.takeOldBranch(idOfBytes(key), decodeBranch(key, payload), lastNs);
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

  /** Tips whose history is whole, names, files, counters. `old`: folder of the old tables, if there are any. Answers with what is lost, one line each. */
  async finish(tables: Tables, old: string | undefined): Promise<readonly string[]> {
    this.tables = tables;
    for (const table of derived) for (const key of tables.keys(table)) this.put({ table, key });
    await this.write();
    await this.dropMalformed();
    if (old !== undefined) await this.takeOld(old);
    await this.dropStrangers();
    await this.dropIncomplete();
    await this.dropRetries();
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
    this.put({ table: 'about', key: countersKey, payload: encodeCounters({ event: event + eventGap, sequence }) });
    await this.write();
    this.lost.push(`what was committed after event ${event} is lost, if anything was`);
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

  /** Rows that no encoder made: earlier builds wrote some by a wrong clock. */
  private async dropMalformed(): Promise<void> {
    for (const table of tableNames) {
      for (const key of this.tables.keys(table)) {
        try {
          checkRow(table, key, this.tables.get(table, key)!);
        } catch (fault) {
          this.lost.push((fault as Error).message);
          this.put({ table, key });
        }
      }
    }
    await this.write();
  }

  /** Rows of pools that are gone. */
  private async dropStrangers(): Promise<void> {
    for (const table of ['commits', 'objects', 'vacuumed', 'branches'] as const) {
      for (const key of this.tables.keys(table)) if (!this.pools.has(idOfBytes(key.subarray(0, 20)))) this.put({ table, key });
    }
    await this.write();
  }
  /** A request is not done whose commit is lost: sent again under its key it is done again. */
  private async dropRetries(): Promise<void> {
    const commits = new Set(this.tables.keys('commits').map((key) => key.toString('hex', 20)));
    for (const { key, payload } of this.tables.rows('retries', { prefix: Buffer.from('k') })) if (!commits.has(payload.toString('hex', payload.length - 20))) this.put({ table: 'retries', key });
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
