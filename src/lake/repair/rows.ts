/**
 * Tables that are made of a damaged log: what it has in its order, then what rows of the old tables can still be read;
 * of that, what is whole. A branch whose newest commits are lost is set back.
 */
import { Environment } from '../tables/environment.ts';
import { firstParents } from '../commits/history.ts';
import { base62, idBuffer, idOfBytes, zeroId } from '../ksuid.ts';
import type { BranchRecord, Id, PoolConfig } from '../lake.types.ts';
import { salvageRows } from '../tables/probe.ts';
import { makeTables, RowWriter } from './replay.ts';
import {
  branchKey,
  type Counters,
  countersKey,
  decodeBranch,
  decodeCommit,
  decodeCounters,
  decodeMove,
  decodePool,
  decodeTag,
  decodeView,
  encodeBranch,
  encodeCounters,
  encodeName,
  encodePool,
  encodeTag,
  encodeView,
  faultOfRow,
  idOfEventKey,
  nameKey,
  type StoredCommit,
} from '../tables/rows.ts';
import {
  faultsOfCommit,
  soundBranches,
  soundCommit,
  soundObjects,
  soundPools,
  soundTags,
  soundViews,
} from './sound-rows.ts';
import { type Change, type TableName, tableNames, Tables } from '../tables/tables.ts';
import { versionOf, versionRow } from '../tables/versions.ts';

const salvagedTables: readonly TableName[] = [
  'pools',
  'branches',
  'tags',
  'moves',
  'commits',
  'objects',
  'bodies',
  'vacuumed',
  'retries',
  'views',
  'iceberg',
  'about',
];
/** Their keys do not begin with a pool; bodies of no object go again in the end. */
const unpooled: ReadonlySet<TableName> = new Set(['bodies', 'retries', 'views']);
/** What follows from other rows, and is made again where it is missing. */
const derived: ReadonlySet<TableName> = new Set<TableName>(['names', 'files', 'checkpoints', 'packs', 'lineage']);
/** New events begin so much later: numbers that were given and lost are not given again. */
const eventGap = 1_000_000;

/** Tells that there may have been more than these counters know; they go on behind all that may have been given. */
export const lostEnd = ({ event, sequence }: Counters, lost: string[]): Change => {
  lost.push(`what was committed after event ${event} is lost, if anything was`);
  return { table: 'about', key: countersKey, payload: encodeCounters({ event: event + eventGap, sequence }) };
};

/** The rows of one pool begin with its id; the second id is that of a commit or an object. */
const poolOf = (key: Uint8Array): Id => idOfBytes(key.subarray(0, 20));
const ownOf = (key: Uint8Array): Id => idOfBytes(key.subarray(20));

/** What is left of the old tables: their folder, if there are any, and whether all of their rows can be read. */
interface OldTables {
  readonly old: string | undefined;
  readonly rowsSound: boolean;
}
/** Makes such tables in a folder. `lost`: told what cannot be brought back, a line each. */
export const salvage = async (
  directory: string,
  folder: string,
  { old, rowsSound }: OldTables,
  lost: string[],
): Promise<Environment> => {
  const course = new Course(lost);
  const { faults } = await makeTables(directory, folder, (changes) => course.follow(changes));
  lost.unshift(...faults);
  const environment = new Environment(folder, tableNames, false);
  await new Rebuilder(environment, course, lost).finish(old);
  // In the log a key is in the record of its commit, and goes with it. In a base and in tables it may be lost alone.
  if (!rowsSound && (old !== undefined || faults.some((fault) => fault.startsWith('base/'))))
    lost.push(
      `keys of requests may be lost: what was asked for before event ${course.counters.event} and is sent again may be committed again`,
    );
  return environment;
};

/** What the changes of the log say in their order, and its rows no more. */
class Course {
  private readonly lost: string[];
  /** Tips that a branch had, by the key of its row, oldest first: to set it back when its newest is lost. */
  readonly tips = new Map<string, Id[]>();
  counters: Counters = { event: 0, sequence: 0 };
  /** The latest time. */
  lastNs = 0n;
  /** Numbers that came: what is missing between them was lost. */
  private lastEvent: number | undefined;
  constructor(lost: string[]) {
    this.lost = lost;
  }

  /** Answers with those that are to be kept: earlier builds wrote some rows by a wrong clock. */
  follow(changes: readonly Change[]): readonly Change[] {
    return changes.filter(({ table, key, payload }) => {
      if (derived.has(table)) return false;
      const fault = payload && faultOfRow(table, key, payload);
      if (fault !== undefined) this.lost.push(fault);
      else if (payload) this.see(table, Buffer.from(key), Buffer.from(payload));
      return fault === undefined;
    });
  }
  private see(table: TableName, key: Buffer, payload: Buffer): void {
    if (table === 'pools') this.later(decodePool(idOfBytes(key), payload).tsNs);
    else if (table === 'branches') this.seeBranch(key, decodeBranch(key, payload));
    else if (table === 'events') this.seeEvent(idOfEventKey(key));
    else if (table === 'views') this.later(decodeView(key, payload).tsNs);
    else if (table === 'tags') this.later(decodeTag(key, payload).tsNs);
    else if (table === 'commits') this.later(decodeCommit(ownOf(key), payload).dateNs);
    else if (table === 'about' && countersKey.equals(key)) this.raise(decodeCounters(payload));
  }
  seeBranch(key: Buffer, { commit, tsNs }: BranchRecord): void {
    const name = idOfBytes(key);
    const tips = this.tips.get(name) ?? [];
    if (tips.at(-1) !== commit) tips.push(commit);
    this.tips.set(name, tips);
    this.later(tsNs);
  }
  /** Events come in their order. */
  private seeEvent(event: number): void {
    const last = this.lastEvent;
    if (last !== undefined && event > last + 1)
      this.lost.push(
        `event${event > last + 2 ? `s ${last + 1} to ${event - 1} are` : ` ${last + 1} is`} lost: what was made or changed then is gone, what was deleted or renamed then may be as it was before`,
      );
    if (last === undefined || event > last) this.lastEvent = event;
  }
  private later(ns: bigint): void {
    if (ns > this.lastNs) this.lastNs = ns;
  }
  raise({ event, sequence }: Counters): void {
    this.counters = {
      event: Math.max(event, this.counters.event),
      sequence: Math.max(sequence, this.counters.sequence),
    };
  }
}

class Rebuilder {
  private readonly tables: Tables;
  private readonly writer: RowWriter;
  private readonly course: Course;
  private readonly lost: string[];
  private readonly complete = new Set<string>();
  private readonly incomplete = new Set<string>();

  constructor(environment: Environment, course: Course, lost: string[]) {
    this.tables = new Tables({ environment });
    this.writer = new RowWriter(environment);
    this.course = course;
    this.lost = lost;
  }

  async finish(old: string | undefined): Promise<void> {
    const later = old === undefined ? [] : await this.takeOld(old);
    await this.dropStrangers();
    await this.dropIncomplete();
    await this.dropRetries();
    for (const { key, branch } of later)
      if (this.tables.has('branches', key) && this.isAncestor(poolOf(key), this.tipOf(key), branch.commit))
        this.course.seeBranch(key, branch);
    await this.setNames();
    for (const pool of soundPools(this.tables)) {
      await this.setBranches(pool);
      await this.setTags(pool);
      await this.setMoves(pool);
    }
    await this.setFiles();
    await this.writer.put([lostEnd(this.course.counters, this.lost), this.versionRow()]);
    await this.writer.end();
  }

  /** The old tables' rows that the log lacks. Answers with the branches that are elsewhere there. */
  private async takeOld(folder: string): Promise<readonly { readonly key: Buffer; readonly branch: BranchRecord }[]> {
    const { tables, course, writer } = this;
    const { lastNs } = course;
    const elsewhere: { readonly key: Buffer; readonly branch: BranchRecord }[] = [];
    const pools = new Set(soundPools(tables).map(({ id }) => id));
    for await (const { table, key, payload } of salvageRows(folder, salvagedTables)) {
      if (table === 'about') {
        if (key.equals(countersKey)) course.raise(decodeCounters(payload));
        continue;
      }
      const isThere = tables.has(table, key);
      if (table === 'pools') {
        // What was made after all that the log has; another one was deleted.
        if (isThere || decodePool(idOfBytes(key), payload).tsNs <= lastNs) continue;
        pools.add(idOfBytes(key));
      } else if (table === 'branches') {
        const branch = decodeBranch(key, payload);
        if (isThere && this.tipOf(key) !== branch.commit) elsewhere.push({ key, branch });
        if (isThere || branch.tsNs <= lastNs) continue;
        course.seeBranch(key, branch);
      } else if (table === 'views') {
        if (isThere || decodeView(key, payload).tsNs <= lastNs) continue;
      } else if (table === 'tags') {
        if (isThere || decodeTag(key, payload).tsNs <= lastNs) continue;
      } else if (isThere || !(unpooled.has(table) || pools.has(poolOf(key)))) continue;
      await writer.put([{ table, key, payload }]);
    }
    await writer.end();
    return elsewhere;
  }
  private tipOf(key: Buffer): Id {
    return decodeBranch(key, this.tables.get('branches', key)!).commit;
  }

  /** Rows of pools that are gone. */
  private async dropStrangers(): Promise<void> {
    const pools = new Set(soundPools(this.tables).map(({ id }) => id));
    for (const table of ['commits', 'objects', 'vacuumed', 'branches', 'tags', 'moves', 'iceberg'] as const)
      await this.drop(
        table,
        this.tables.keys(table).filter((key) => !pools.has(poolOf(key))),
      );
  }
  private async drop(table: TableName, keys: readonly Buffer[]): Promise<void> {
    await this.writer.put(keys.map((key) => ({ table, key })));
    await this.writer.end();
  }

  /** Commits that hang in the air, until none does: a merge goes with its second parent. */
  private async dropIncomplete(): Promise<void> {
    const names = new Map(soundPools(this.tables).map(({ id, name }) => [id, name]));
    for (;;) {
      const keys = this.tables.keys('commits').filter((key) => !this.isComplete(poolOf(key), ownOf(key)));
      if (keys.length === 0) return;
      for (const key of keys)
        this.lost.push(`pool "${names.get(poolOf(key))!}", commit ${base62(ownOf(key))}: its history is not whole`);
      await this.drop('commits', keys);
      this.complete.clear();
      this.incomplete.clear();
    }
  }
  /** All commits down to the first one are there, and the rows of all objects that they name. */
  private isComplete(pool: Id, tip: Id): boolean {
    const chain: Id[] = [];
    let isWhole = true;
    for (let at = tip; at !== zeroId && !this.complete.has(pool + at); ) {
      chain.push(at);
      const commit = this.incomplete.has(pool + at) ? undefined : this.commit(pool, at);
      isWhole = commit !== undefined && faultsOfCommit(this.tables, pool, commit).next().done === true;
      if (!commit || !isWhole) break;
      at = commit.parent;
    }
    for (const id of chain) (isWhole ? this.complete : this.incomplete).add(pool + id);
    return isWhole;
  }
  private commit(pool: Id, id: Id): StoredCommit | undefined {
    return soundCommit(this.tables, pool, id);
  }
  private isAncestor(pool: Id, ancestor: Id, of: Id): boolean {
    if (!this.isComplete(pool, of)) return false;
    return (
      ancestor === zeroId || [...firstParents((id) => this.commit(pool, id), of)].some(({ id }) => id === ancestor)
    );
  }

  /** A request is not done whose commit is lost: sent again under its key it is done again. */
  private async dropRetries(): Promise<void> {
    const commits = new Set(this.tables.keys('commits').map((key) => key.toString('hex', 20)));
    const gone = this.tables
      .rows('retries', { prefix: Buffer.from('k') })
      .map(({ key, payload }) => ({ key, commit: payload.toString('hex', payload.length - 20) }))
      .filter(({ commit }) => commit !== zeroId && !commits.has(commit));
    await this.drop(
      'retries',
      gone.map(({ key }) => key),
    );
  }

  /** Two pools, or a pool and a view, may have one name where a new name of one is lost. */
  private async setNames(): Promise<void> {
    const names = new Set<string>();
    for (const pool of soundPools(this.tables)) {
      const name = names.has(pool.name) ? `${pool.name} (${base62(pool.id)})` : pool.name;
      names.add(name);
      await this.writer.put([
        { table: 'pools', key: idBuffer(pool.id), payload: encodePool({ ...pool, name }) },
        { table: 'names', key: nameKey(name), payload: encodeName(name, pool.id) },
      ]);
    }
    const views = new Map<string, string>();
    const versions = soundViews(this.tables);
    // The newest version comes last. Earlier ones may lack the name that it brought.
    const newest = new Map(versions.map(({ view: { id, name } }) => [id, name]));
    for (const { key, view } of versions) {
      const { id } = view;
      const own = newest.get(id)!;
      const isFree = !names.has(own) && (views.get(own) ?? id) === id;
      if (isFree) views.set(own, id);
      const name = isFree ? own : `${own} (${base62(id)})`;
      if (name !== view.name) await this.writer.put([{ table: 'views', key, payload: encodeView({ ...view, name }) }]);
    }
    await this.writer.end();
  }
  private async setBranches(pool: PoolConfig): Promise<void> {
    const own = soundBranches(this.tables, pool.id);
    for (const { key, branch } of own) {
      const tips = [...this.course.tips.get(idOfBytes(key))!].reverse();
      const tip = tips.find((id) => this.isComplete(pool.id, id)) ?? zeroId;
      if (tip !== tips[0]) {
        const gone = tips.slice(0, tips.includes(tip) ? tips.indexOf(tip) : tips.length).map(base62);
        this.lost.push(
          `pool "${pool.name}", branch "${branch.name}": set back to commit ${base62(tip)}, lost with what they did: ${gone.slice(0, 20).join(', ')}${gone.length > 20 ? ` and ${gone.length - 20} more` : ''}`,
        );
      }
      await this.writer.put([{ table: 'branches', key, payload: encodeBranch({ ...branch, commit: tip }) }]);
    }
    if (own.length > 0) return;
    this.lost.push(`pool "${pool.name}": its branches are lost; it has an empty main`);
    await this.writer.put([
      {
        table: 'branches',
        key: branchKey(pool.id, 'main'),
        payload: encodeBranch({ tsNs: pool.tsNs, name: 'main', commit: zeroId }),
      },
    ]);
  }
  /** A tag never moves: one whose commit is lost goes, and one that has a branch's name gets its own. */
  private async setTags(pool: PoolConfig): Promise<void> {
    await this.writer.end();
    const branches = new Set(soundBranches(this.tables, pool.id).map(({ branch }) => branch.name));
    for (const { key, tag } of soundTags(this.tables, pool.id)) {
      const what = `pool "${pool.name}", tag "${tag.name}"`;
      const isWhole = this.isComplete(pool.id, tag.commit);
      if (isWhole && !branches.has(tag.name)) continue;
      await this.writer.put([{ table: 'tags', key }]);
      if (!isWhole) {
        this.lost.push(`${what}: it is gone, as its commit ${base62(tag.commit)} is lost`);
        continue;
      }
      const name = `${tag.name} (${base62(tag.commit)})`;
      this.lost.push(`${what}: a branch has its name, it is called "${name}" now`);
      await this.writer.put([{ table: 'tags', key: branchKey(pool.id, name), payload: encodeTag({ ...tag, name }) }]);
    }
  }
  /** Where a branch was is lost with its commit. */
  private async setMoves(pool: PoolConfig): Promise<void> {
    for (const { key, payload } of this.tables.soundRows('moves', { prefix: idBuffer(pool.id) })) {
      const { name, from } = decodeMove(key, payload);
      if (this.isComplete(pool.id, from)) continue;
      this.lost.push(`pool "${pool.name}", branch "${name}": where it was before is lost with commit ${base62(from)}`);
      await this.writer.put([{ table: 'moves', key }]);
    }
  }
  /** Of rows that the log lacked too. */
  private versionRow(): Change {
    const tables = tableNames.filter((table) => this.tables.keys(table, { limit: 1 }).length > 0);
    const version = versionOf([
      ...tables.map((table) => ({ table, key: Buffer.alloc(0) })),
      ...[...this.tables.soundRows('pools')].map((row) => ({ table: 'pools' as const, ...row })),
    ]);
    return versionRow(Math.max(version, this.tables.version()));
  }
  private async setFiles(): Promise<void> {
    const inTables = new Set<Id>();
    const files: Change[] = [];
    for (const { key, entry } of soundObjects(this.tables)) {
      this.course.raise({ event: 0, sequence: entry.sequence });
      if (this.tables.has('vacuumed', key)) continue;
      if (entry.inTable) inTables.add(entry.id);
      else files.push({ table: 'files', key: idBuffer(entry.id), payload: key.subarray(0, 20) });
    }
    await this.writer.put(files);
    await this.drop(
      'bodies',
      this.tables.keys('bodies').filter((key) => !inTables.has(idOfBytes(key))),
    );
  }
}
