/**
 * Tables that are made of a damaged log: what it has in its order, then what rows of the old tables can still be read;
 * of that, what is whole. A branch whose newest commits are lost is set back.
 */
import { messageOf } from '../../errors.ts';
import { firstParents } from '../commits/history.ts';
import { base62, idBuffer, idOfBytes, zeroId } from '../ksuid.ts';
import type { BranchRecord, Id, PoolConfig } from '../lake.types.ts';
import { salvageRows } from '../tables/probe.ts';
import { makeTables, TablesMaker } from './replay.ts';
import {
  branchKey,
  type Counters,
  countersKey,
  decodeBranch,
  decodeCounters,
  decodeRow,
  encodeBranch,
  encodeCounters,
  encodeName,
  encodePool,
  encodeTag,
  encodeView,
  idOfEventKey,
  nameKey,
  type RowOf,
  type StoredCommit,
} from '../tables/rows.ts';
import { faultsOfCommit, ofPool, soundCommit, soundPools } from './sound-rows.ts';
import type { Change, TableName, Tables } from '../tables/tables.ts';

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
/** Rows that may be in old tables and not in the log since they were deleted. */
const deletable: ReadonlySet<TableName> = new Set(['pools', 'branches', 'tags', 'views']);
/** What follows from other rows, and is made again where it is missing. */
const derived: ReadonlySet<TableName> = new Set<TableName>(['names', 'files', 'checkpoints', 'packs', 'lineage']);
/** New events begin so much later: numbers that were given and lost are not given again. */
const eventGap = 1_000_000;

/** Tells that there may have been more than these counters know; they go on behind all that may have been given. */
export const lostEnd = ({ event, sequence }: Counters, lost: string[]): Change => {
  lost.push(`what was committed after event ${event} is lost, if anything was`);
  return { table: 'about', key: countersKey, payload: encodeCounters({ event: event + eventGap, sequence }) };
};

/** The rows of one pool begin with its id. */
const poolOf = (key: Uint8Array): Id => idOfBytes(key.subarray(0, 20));

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
): Promise<Tables> => {
  const course = new Course(lost);
  const { faults } = await makeTables(directory, folder, (changes) => course.follow(changes));
  lost.unshift(...faults);
  const maker = new TablesMaker(folder);
  await new Rebuilder(maker, course, lost).finish(old);
  // In the log a key is in the record of its commit, and goes with it. In a base and in tables it may be lost alone.
  if (!rowsSound && (old !== undefined || faults.some((fault) => fault.startsWith('base/'))))
    lost.push(
      `keys of requests may be lost: what was asked for before event ${course.counters.event} and is sent again may be committed again`,
    );
  return maker.tables;
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
    return changes.filter((change) => {
      if (derived.has(change.table)) return false;
      try {
        if (change.payload) this.see(change.table, Buffer.from(change.key), Buffer.from(change.payload));
        return true;
      } catch (fault) {
        this.lost.push(messageOf(fault));
        return false;
      }
    });
  }
  private see(table: TableName, key: Buffer, payload: Buffer): void {
    const row = decodeRow(table, key, payload);
    const madeNs = timeOf(row);
    if (madeNs > this.lastNs) this.lastNs = madeNs;
    if (table === 'branches') this.seeBranch(key, row as BranchRecord);
    else if (table === 'events') this.seeEvent(idOfEventKey(key));
    else if (table === 'about' && countersKey.equals(key)) this.raise(decodeCounters(payload));
  }
  seeBranch(key: Buffer, { commit }: BranchRecord): void {
    const name = idOfBytes(key);
    const tips = this.tips.get(name) ?? [];
    if (tips.at(-1) !== commit) tips.push(commit);
    this.tips.set(name, tips);
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
  raise({ event, sequence }: Counters): void {
    this.counters = {
      event: Math.max(event, this.counters.event),
      sequence: Math.max(sequence, this.counters.sequence),
    };
  }
}
/** When what a row says was made; 0: it does not say. */
const timeOf = (row: RowOf<TableName>): bigint => {
  if (typeof row !== 'object') return 0n;
  return 'tsNs' in row ? row.tsNs : 'dateNs' in row ? row.dateNs : 0n;
};

/** Each step gives changes by what the steps before have left. */
class Rebuilder {
  private readonly tables: Tables;
  private readonly maker: TablesMaker;
  private readonly course: Course;
  private readonly lost: string[];
  /** Commits whose history is whole: all down to the first ones are there, and the rows of all objects they name. */
  private readonly complete = new Set<string>();

  constructor(maker: TablesMaker, course: Course, lost: string[]) {
    this.tables = maker.tables;
    this.maker = maker;
    this.course = course;
    this.lost = lost;
  }

  async finish(old: string | undefined): Promise<void> {
    const elsewhere = old === undefined ? [] : await this.takeOld(old);
    await this.write(this.strangers());
    await this.write(this.incomplete());
    await this.write(this.retries());
    for (const { key, branch } of elsewhere)
      if (this.tables.has('branches', key) && this.isAncestor(poolOf(key), this.tipOf(key), branch.commit))
        this.course.seeBranch(key, branch);
    await this.write(this.names());
    const pools = soundPools(this.tables);
    await this.write(pools.flatMap((pool) => [...this.branches(pool)]));
    await this.write(pools.flatMap((pool) => [...this.tags(pool), ...this.moves(pool)]));
    await this.write(this.files());
    await this.maker.end([lostEnd(this.course.counters, this.lost)]);
  }
  private async write(changes: Iterable<Change>): Promise<void> {
    await this.maker.put([...changes]);
    await this.maker.write();
  }

  /** The old tables' rows that the log lacks. Answers with the branches that are elsewhere there. */
  private async takeOld(folder: string): Promise<readonly { readonly key: Buffer; readonly branch: BranchRecord }[]> {
    const { tables, course, maker } = this;
    const { lastNs } = course;
    const elsewhere: { readonly key: Buffer; readonly branch: BranchRecord }[] = [];
    const pools = new Set(soundPools(tables).map(({ id }) => id));
    for await (const { table, key, payload } of salvageRows(folder, salvagedTables)) {
      if (table === 'about') {
        if (key.equals(countersKey)) course.raise(decodeCounters(payload));
        continue;
      }
      const branch = table === 'branches' ? decodeBranch(key, payload) : undefined;
      if (tables.has(table, key)) {
        if (branch && this.tipOf(key) !== branch.commit) elsewhere.push({ key, branch });
        continue;
      }
      // What was made after all that the log has; another one was deleted.
      if (deletable.has(table) && timeOf(decodeRow(table, key, payload)) <= lastNs) continue;
      if (table === 'pools') pools.add(idOfBytes(key));
      else if (!unpooled.has(table) && !pools.has(poolOf(key))) continue;
      if (branch) course.seeBranch(key, branch);
      await maker.put([{ table, key, payload }]);
    }
    await maker.write();
    return elsewhere;
  }
  private tipOf(key: Buffer): Id {
    return decodeBranch(key, this.tables.get('branches', key)!).commit;
  }

  /** Rows of pools that are gone. */
  private *strangers(): Generator<Change> {
    const pools = new Set(soundPools(this.tables).map(({ id }) => id));
    for (const table of ['commits', 'objects', 'vacuumed', 'branches', 'tags', 'moves', 'iceberg'] as const)
      for (const key of this.tables.keys(table)) if (!pools.has(poolOf(key))) yield { table, key };
  }

  /** Commits that hang in the air; a merge goes with its second parent. Parents come first, as they are lower. */
  private *incomplete(): Generator<Change> {
    const { tables, complete } = this;
    const names = new Map(soundPools(tables).map(({ id, name }) => [id, name]));
    const commits = Array.from(tables.soundRows('commits'), ({ key, row: { id, height, parent, secondParent } }) => ({
      key,
      id,
      height,
      parents: [parent, secondParent ?? zeroId],
    }));
    for (const { key, id, parents } of commits.sort((a, b) => a.height - b.height)) {
      const pool = poolOf(key);
      const isWhole =
        parents.every((parent) => this.isComplete(pool, parent)) &&
        faultsOfCommit(tables, pool, this.commit(pool, id)!).next().done === true;
      if (isWhole) complete.add(pool + id);
      else {
        this.lost.push(`pool "${names.get(pool)!}", commit ${base62(id)}: its history is not whole`);
        yield { table: 'commits', key };
      }
    }
  }
  private isComplete(pool: Id, tip: Id): boolean {
    return tip === zeroId || this.complete.has(pool + tip);
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
  private *retries(): Generator<Change> {
    const commits = new Set(this.tables.keys('commits').map((key) => key.toString('hex', 20)));
    for (const { key, payload } of this.tables.rows('retries', { prefix: Buffer.from('k') })) {
      const commit = payload.toString('hex', payload.length - 20);
      if (commit !== zeroId && !commits.has(commit)) yield { table: 'retries', key };
    }
  }

  /** Two pools, or a pool and a view, may have one name where a new name of one is lost. */
  private *names(): Generator<Change> {
    const names = new Set<string>();
    for (const pool of soundPools(this.tables)) {
      const name = names.has(pool.name) ? `${pool.name} (${base62(pool.id)})` : pool.name;
      names.add(name);
      yield { table: 'pools', key: idBuffer(pool.id), payload: encodePool({ ...pool, name }) };
      yield { table: 'names', key: nameKey(name), payload: encodeName(name, pool.id) };
    }
    const views = new Map<string, string>();
    const versions = [...this.tables.soundRows('views')];
    // The newest version comes last. Earlier ones may lack the name that it brought.
    const newest = new Map(versions.map(({ row: { id, name } }) => [id, name]));
    for (const { key, row: view } of versions) {
      const { id } = view;
      const own = newest.get(id)!;
      const isFree = !names.has(own) && (views.get(own) ?? id) === id;
      if (isFree) views.set(own, id);
      const name = isFree ? own : `${own} (${base62(id)})`;
      if (name !== view.name) yield { table: 'views', key, payload: encodeView({ ...view, name }) };
    }
  }
  private *branches(pool: PoolConfig): Generator<Change> {
    const own = [...ofPool(this.tables, 'branches', pool.id)];
    for (const { key, row: branch } of own) {
      const tips = [...this.course.tips.get(idOfBytes(key))!].reverse();
      const tip = tips.find((id) => this.isComplete(pool.id, id)) ?? zeroId;
      if (tip !== tips[0]) {
        const gone = tips.slice(0, tips.includes(tip) ? tips.indexOf(tip) : tips.length).map(base62);
        this.lost.push(
          `pool "${pool.name}", branch "${branch.name}": set back to commit ${base62(tip)}, lost with what they did: ${gone.slice(0, 20).join(', ')}${gone.length > 20 ? ` and ${gone.length - 20} more` : ''}`,
        );
      }
      yield { table: 'branches', key, payload: encodeBranch({ ...branch, commit: tip }) };
    }
    if (own.length > 0) return;
    this.lost.push(`pool "${pool.name}": its branches are lost; it has an empty main`);
    const main = encodeBranch({ tsNs: pool.tsNs, name: 'main', commit: zeroId });
    yield { table: 'branches', key: branchKey(pool.id, 'main'), payload: main };
  }
  /** A tag never moves: one whose commit is lost goes, and one that has a branch's name gets its own. */
  private *tags(pool: PoolConfig): Generator<Change> {
    const branches = new Set(Array.from(ofPool(this.tables, 'branches', pool.id), ({ row }) => row.name));
    for (const { key, row: tag } of ofPool(this.tables, 'tags', pool.id)) {
      const what = `pool "${pool.name}", tag "${tag.name}"`;
      const isWhole = this.isComplete(pool.id, tag.commit);
      if (isWhole && !branches.has(tag.name)) continue;
      yield { table: 'tags', key };
      if (!isWhole) {
        this.lost.push(`${what}: it is gone, as its commit ${base62(tag.commit)} is lost`);
        continue;
      }
      const name = `${tag.name} (${base62(tag.commit)})`;
      this.lost.push(`${what}: a branch has its name, it is called "${name}" now`);
      yield { table: 'tags', key: branchKey(pool.id, name), payload: encodeTag({ ...tag, name }) };
    }
  }
  /** Where a branch was is lost with its commit. */
  private *moves(pool: PoolConfig): Generator<Change> {
    for (const { key, row } of ofPool(this.tables, 'moves', pool.id)) {
      const { name, from } = row;
      if (this.isComplete(pool.id, from)) continue;
      this.lost.push(`pool "${pool.name}", branch "${name}": where it was before is lost with commit ${base62(from)}`);
      yield { table: 'moves', key };
    }
  }
  /** The files of objects that are in one, and no bodies but those of the others. */
  private *files(): Generator<Change> {
    const inTables = new Set<Id>();
    for (const { key, row: entry } of this.tables.soundRows('objects')) {
      this.course.raise({ event: 0, sequence: entry.sequence });
      if (this.tables.has('vacuumed', key)) continue;
      if (entry.inTable) inTables.add(entry.id);
      else yield { table: 'files', key: idBuffer(entry.id), payload: key.subarray(0, 20) };
    }
    for (const key of this.tables.keys('bodies')) if (!inTables.has(idOfBytes(key))) yield { table: 'bodies', key };
  }
}
