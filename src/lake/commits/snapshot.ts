/**
 * Snapshots: the objects of a commit, kept in memory while they are warm, rebuilt from the nearest checkpoint when they
 * are not.
 *
 * Invariants:
 * - A list is a function of its commit: the nearest checkpoint before it plus the changes of the commits since.
 *   Checkpoints are only a short cut.
 * - A checkpoint is made when the changes since the last one reach half of the objects: all checkpoints of a history
 *   together take a small multiple of what the commits themselves take, and rebuilding any commit, however old, costs
 *   its own objects and not its history.
 * - What a released snapshot held is not touched by anybody else: `pins` counts the open ones.
 * - Lists are kept within a budget of bytes, the newest aside; those that nobody used for some time go, and so do those
 *   of deleted pools and branches.
 */
import assert from 'node:assert';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { LakeError } from '../../errors.ts';
import { firstParents } from './history.ts';
import { zeroId } from '../ksuid.ts';
import type { Id, ObjectMeta, ObjectPage, PageRequest, PoolConfig, Snapshot, SnapshotLimits } from '../lake.types.ts';
import { type ObjectEntry, ObjectList } from '../objects/list.ts';
import { checkpointKey, decodeObjects, encodeObjects, pairKey, type StoredCommit } from '../tables/rows.ts';
import { type PackIndex, type UsablePacks, packed } from '../objects/packs.ts';
import { type Put, type Tables, rowFault, rowMissing } from '../tables/tables.ts';

/** `distance`: changed objects since the last checkpoint. `usedAt`: a mark of `performance.now()`. */
interface Warm {
  readonly list: ObjectList;
  distance: number;
  usedAt: number;
}

/** What a list is rebuilt from; the pool's store fits. */
interface History {
  readonly poolId: Id;
  /** Its pool is gone. */
  readonly deleted: boolean;
  readonly order: PoolConfig['layout']['order'];
  commit(id: Id): StoredCommit | undefined;
  entry(id: Id): ObjectEntry | undefined;
}

const entriesPerPart = 512;
const changesMin = 256;
const commitsPerTurn = 512;

/** What a list takes besides its chunks, and for each of them. */
const listBytes = 512;
const listBytesPerChunk = 12;
/** So often in the time after which lists are idle it is looked for such. */
const looksPerIdle = 4;

/** The lists of objects of commits; the least recently used ones are dropped beyond the budget. */
export class SnapshotCache {
  private readonly tables: Tables;
  private readonly limits: SnapshotLimits;
  private readonly timer: NodeJS.Timeout;
  private readonly report: (fault: unknown) => void;
  /** Least recently used first; by pool and commit. */
  private readonly warm = new Map<string, Warm>();
  private readonly loading = new Map<string, Promise<ObjectList>>();
  private readonly writing = new Set<Promise<void>>();
  /** Of all lists; chunks that several have count once. */
  private held = 0;
  private ended = false;

  constructor(tables: Tables, limits: SnapshotLimits, report: (fault: unknown) => void) {
    this.tables = tables;
    this.limits = limits;
    this.report = report;
    this.timer = setInterval(() => {
      this.dropIdle();
    }, limits.idleMs / looksPerIdle).unref();
  }

  /** Bytes that the lists take, about, and how many there are. */
  get bytes(): number {
    return this.held;
  }
  get lists(): number {
    return this.warm.size;
  }

  /** The objects of a commit. @throws commit-not-found */
  list(history: History, commit: Id): ObjectList | Promise<ObjectList> {
    if (commit === zeroId) return ObjectList.empty(history.order);
    const key = history.poolId + commit;
    const warm = this.use(key);
    if (warm) return warm.list;
    let loading = this.loading.get(key);
    if (!loading) {
      loading = this.load(history, commit).finally(() => this.loading.delete(key));
      this.loading.set(key, loading);
    }
    return loading;
  }

  /** The list if it is in memory. */
  warmList(history: History, commit: Id): ObjectList | undefined {
    return commit === zeroId ? ObjectList.empty(history.order) : this.use(history.poolId + commit)?.list;
  }

  /** A branch moved from one commit to a child of it; `keep`: another branch is still at the old one. */
  advance(
    history: History,
    step: {
      readonly from: Id;
      readonly to: Id;
      readonly list: ObjectList;
      readonly changes: number;
      readonly keep: boolean;
    },
  ): void {
    const from = history.poolId + step.from;
    const before = this.warm.get(from);
    const distance = (before?.distance ?? 0) + step.changes;
    if (before && !step.keep) this.drop(from);
    this.add(history, step.to, step.list, distance);
  }

  /** A pool is gone. */
  forget(poolId: Id): void {
    for (const key of [...this.warm.keys()]) if (key.startsWith(poolId)) this.drop(key);
  }
  /** No branch is at the commit any more. */
  leave(poolId: Id, commit: Id): void {
    this.drop(poolId + commit);
  }

  /** Ends the writing of checkpoints; resolves when none is under way. */
  async close(): Promise<void> {
    this.ended = true;
    clearInterval(this.timer);
    await Promise.allSettled(this.writing);
  }
  /** Resolves when the checkpoints that are being written are durable. */
  async settled(): Promise<void> {
    while (this.writing.size > 0) await Promise.allSettled(this.writing);
  }

  private use(key: string): Warm | undefined {
    const warm = this.warm.get(key);
    if (warm) {
      this.warm.delete(key);
      this.warm.set(key, warm);
      warm.usedAt = performance.now();
    }
    return warm;
  }

  private add(history: History, commit: Id, list: ObjectList, distance: number): void {
    if (history.deleted) return;
    const key = history.poolId + commit;
    const warm: Warm = { list, distance, usedAt: performance.now() };
    this.held += ownBytes(list);
    for (const chunk of list.chunks) if (chunk.holders++ === 0) this.held += chunk.bytes;
    this.drop(key);
    this.warm.set(key, warm);
    if (this.held > this.limits.bytesMax) this.dropOldest(key);
    this.keepIfDue(history.poolId, commit, warm, 2);
  }
  /** `kept`: the newest one, which stays however large it is. */
  private dropOldest(kept: string): void {
    for (const oldest of this.warm.keys()) {
      if (this.held <= this.limits.bytesMax || oldest === kept) return;
      this.drop(oldest);
    }
  }
  private dropIdle(): void {
    const before = performance.now() - this.limits.idleMs;
    for (const [key, { usedAt }] of this.warm) {
      if (usedAt > before) return;
      this.drop(key);
    }
  }

  /** Makes a checkpoint of a warm list if the changes since the last one are at least one `part`-th of it. */
  keep(poolId: Id, commit: Id, part: number): void {
    const warm = this.warm.get(poolId + commit);
    if (warm) this.keepIfDue(poolId, commit, warm, part);
  }
  private keepIfDue(poolId: Id, commit: Id, warm: Warm, part: number): void {
    if (this.ended || this.tables.isFollowing || warm.distance < Math.max(changesMin, warm.list.length / part)) return;
    warm.distance = 0;
    const written = this.writeCheckpoint(poolId, commit, warm.list)
      .catch((fault: unknown) => {
        // Its pool was deleted meanwhile.
        if (!(fault instanceof LakeError && fault.code === 'pool-not-found')) this.report(fault);
      })
      .finally(() => this.writing.delete(written));
    this.writing.add(written);
  }

  private drop(key: string): void {
    const warm = this.warm.get(key);
    if (!warm) return;
    this.warm.delete(key);
    this.held -= ownBytes(warm.list);
    for (const chunk of warm.list.chunks) if (--chunk.holders === 0) this.held -= chunk.bytes;
  }

  /**
   * Walks back to a list that is warm, a checkpoint or the beginning, then forward again. Gives the thread to others in
   * between.
   */
  private async load(history: History, commit: Id): Promise<ObjectList> {
    const since: StoredCommit[] = [];
    let base = await this.baseAt(history, commit);
    if (!base) {
      for (const row of firstParents((id) => history.commit(id), commit)) {
        since.push(row);
        base = await this.baseAt(history, row.parent);
        if (base) break;
        if (since.length % commitsPerTurn === 0) await nextTurn();
      }
    }
    assert(base, 'the zero commit has a list');
    const list = await replay(history, base.list, since.reverse());
    let { distance } = base;
    for (const row of since) distance += row.adds.length + row.deletes.length;
    this.add(history, commit, list, distance);
    return list;
  }
  /** A list that is there without going back further. */
  private async baseAt(history: History, commit: Id): Promise<Pick<Warm, 'list' | 'distance'> | undefined> {
    if (commit === zeroId) return { list: ObjectList.empty(history.order), distance: 0 };
    const warm = this.warm.get(history.poolId + commit);
    if (warm) return warm;
    const list = await this.readCheckpoint(history, commit);
    return list && { list, distance: 0 };
  }

  /**
   * Part 0 is written in the same transaction as all others: it is there only if all are. Its first 4 bytes are the
   * number of parts.
   */
  private async writeCheckpoint(poolId: Id, commit: Id, list: ObjectList): Promise<void> {
    const puts: Put[] = [];
    let part: ObjectEntry[] = [];
    const flush = () => {
      puts.push({
        table: 'checkpoints',
        key: checkpointKey(poolId, commit, puts.length),
        payload: encodeObjects(part),
      });
      part = [];
    };
    for (const chunk of list.chunks) {
      part.push(...chunk.entries);
      if (part.length < entriesPerPart) continue;
      flush();
      await nextTurn();
    }
    flush();
    const header = Buffer.alloc(4);
    header.writeUInt32LE(puts.length);
    const first = puts[0];
    puts[0] = { ...first, payload: Buffer.concat([header, first.payload]) };
    const poolKey = Buffer.from(poolId, 'hex');
    await this.tables.write(puts, () => {
      if (!this.tables.has('pools', poolKey)) throw new LakeError('pool-not-found', { pool: poolId });
    });
  }

  private async readCheckpoint(history: History, commit: Id): Promise<ObjectList | undefined> {
    const first = this.tables.get('checkpoints', checkpointKey(history.poolId, commit, 0));
    if (!first) return undefined;
    if (first.length < 4) throw rowFault('checkpoints', commit, `a part of ${first.length} bytes`);
    const parts = first.readUInt32LE(0);
    const entries = decodeObjects(commit, first.subarray(4));
    for (let part = 1; part < parts; part++) {
      if (part % 8 === 0) await nextTurn();
      const key = checkpointKey(history.poolId, commit, part);
      const payload = this.tables.get('checkpoints', key);
      if (!payload) throw rowMissing('checkpoints', key.toString('hex'));
      for (const entry of decodeObjects(key, payload)) entries.push(entry);
    }
    return ObjectList.of(history.order, entries);
  }
}

const ownBytes = (list: ObjectList): number => listBytes + list.chunks.length * listBytesPerChunk;

/**
 * Applies commits in their order. Their net effect comes first, so that many commits cost one rebuilt list and not one
 * each.
 */
const replay = async (history: History, base: ObjectList, commits: readonly StoredCommit[]): Promise<ObjectList> => {
  const added = new Map<Id, ObjectEntry>();
  const removed = new Map<Id, ObjectEntry>();
  const find = (id: Id): ObjectEntry => {
    const entry = added.get(id) ?? history.entry(id);
    if (!entry) throw new LakeError('object-not-found', { id });
    return entry;
  };
  for (let i = 0; i < commits.length; i++) {
    const commit = commits[i];
    for (const id of commit.deletes) {
      const entry = find(id);
      added.delete(id);
      if (base.has(entry)) removed.set(id, entry);
    }
    for (const id of commit.adds) added.set(id, find(id));
    for (const id of commit.addVectors ?? []) remark(added, removed, base, find(id), true);
    for (const id of commit.deleteVectors ?? []) remark(added, removed, base, find(id), false);
    if (i % commitsPerTurn === commitsPerTurn - 1) await nextTurn();
  }
  return base.change([...removed.values()], [...added.values()]);
};

/** Changes a marker: the entry goes and comes back with the other one. */
const remark = (
  added: Map<Id, ObjectEntry>,
  removed: Map<Id, ObjectEntry>,
  base: ObjectList,
  entry: ObjectEntry,
  vector: boolean,
): void => {
  if (base.has(entry)) removed.set(entry.id, entry);
  added.set(entry.id, { ...entry, vector });
};

/** What a snapshot is made of. `packs`: may stand in the place of small objects. `onRelease`: called once. */
interface OpenOptions {
  readonly pool: PoolConfig;
  readonly commit: Id;
  readonly list: ObjectList;
  readonly tables: Tables;
  readonly packs?: PackIndex;
  readonly onRelease: () => void;
}

/** A snapshot over a list; its owner has pinned it and is told of the release. */
export const snapshotOf = ({ pool, commit, list, tables, packs, onRelease }: OpenOptions): Snapshot => {
  let released = false;
  let usable: UsablePacks | undefined;
  return {
    pool,
    commit,
    objectCount: list.length,
    page: (request: PageRequest): ObjectPage => {
      assert(!released, 'a released snapshot is not read');
      // The same for all pages: a pack that comes in between would hide what was not read yet.
      if (request.packs) usable ??= packs?.usable(list);
      const shown =
        request.packs && packs && usable && usable.size > 0
          ? packed(usable, (id) => packs.isPack(id), request.range)
          : undefined;
      const { entries, next } = list.page(request.cursor ?? 0, request.limit, request.range, shown);
      const objects = entries.map((entry) => {
        const bodies = request.inline === false ? undefined : tables;
        return shown && packs?.isPack(entry.id) ? packs.meta(entry, bodies !== undefined) : objectMeta(entry, bodies);
      });
      return { objects, ...(next !== undefined && { next }) };
    },
    release: () => {
      if (released) return;
      released = true;
      onRelease();
    },
  };
};

/** The object as others see it; with `tables` the body comes along if it is in there. */
export const objectMeta = (entry: ObjectEntry, tables?: Tables): ObjectMeta => {
  const { id, count, size, min, max } = entry;
  if (!entry.inTable || !tables) return { id, count, size, min, max };
  const inline = tables.get('bodies', Buffer.from(id, 'hex'));
  if (!inline) throw rowMissing('bodies', id);
  return { id, count, size, min, max, inline };
};

/** Whether an object was vacuumed, from the tables. */
export const isVacuumed = (tables: Tables, poolId: Id, id: Id): boolean => tables.has('vacuumed', pairKey(poolId, id));
