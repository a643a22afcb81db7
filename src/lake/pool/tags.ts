/**
 * The tags of a pool: names for commits. In memory and in the table `tags`.
 *
 * Invariants:
 * - A tag never moves: its row is written once, and goes once. Nothing of what its commit holds is vacuumed before.
 * - A name is a branch's or a tag's, in one space: both change in the pool's turn alone.
 * - A lake that has had a tag is of a newer format (`tagsVersion`): builds that know of none would vacuum what it holds.
 */
import { LakeError } from '../../errors.ts';
import { killPoint } from '../kill-points.ts';
import { idBuffer } from '../ksuid.ts';
import type { EventKind, Id, LakeEvent, PoolConfig, TagRecord } from '../lake.types.ts';
import { branchKey, decodeTag, encodeTag } from '../tables/rows.ts';
import type { Change } from '../tables/tables.ts';
import { tagsVersion } from '../tables/versions.ts';
import type { Stores } from './store.ts';

interface TagsParts {
  readonly stores: Stores;
  readonly pool: () => PoolConfig;
  /** For use inside a transaction. @throws pool-not-found */
  readonly checkPool: () => void;
}
/** Events of a change that is durable. */
interface Changed {
  readonly events: readonly LakeEvent[];
}

/** The tags of one pool. */
export class Tags {
  private readonly parts: TagsParts;
  private map: Map<string, TagRecord> | undefined;

  constructor(parts: TagsParts) {
    this.parts = parts;
  }

  private load(): Map<string, TagRecord> {
    this.map ??= new Map(
      this.parts.stores.tables
        .rows('tags', { prefix: idBuffer(this.parts.pool().id) })
        .map(({ key, payload }) => decodeTag(key, payload))
        .map((tag) => [tag.name, tag]),
    );
    return this.map;
  }
  /** A replica's tables have this tag now, or lack one of that name. */
  followed(name: string, tag: TagRecord | undefined): void {
    if (tag) this.map?.set(name, tag);
    else this.map?.delete(name);
  }
  all(): ReadonlyMap<string, TagRecord> {
    return this.load();
  }
  find(name: string): TagRecord | undefined {
    return this.load().get(name);
  }
  /** @throws tag-not-found */
  tag(name: string): TagRecord {
    const tag = this.find(name);
    if (!tag) throw new LakeError('tag-not-found', { tag: name });
    return tag;
  }

  /** @throws tag-exists */
  checkFree(name: string): void {
    if (this.find(name)) throw new LakeError('tag-exists', { pool: this.parts.pool().name, tag: name });
  }
  /** The name is free. */
  async create(name: string, commit: Id): Promise<Changed> {
    const { stores, pool } = this.parts;
    const { id } = pool();
    const tag: TagRecord = { tsNs: stores.draws.nowNs(), name, commit };
    stores.drew?.(id, { what: 'tag', name, commit, tsNs: String(tag.tsNs) });
    await stores.tables.raiseVersion(tagsVersion);
    const row: Change = { table: 'tags', key: branchKey(id, name), payload: encodeTag(tag) };
    const events = await this.write('tag-new', tag, row);
    this.load().set(name, tag);
    return { events };
  }
  async delete(name: string): Promise<Changed> {
    const tag = this.tag(name);
    const row: Change = { table: 'tags', key: branchKey(this.parts.pool().id, name) };
    const events = await this.write('tag-delete', tag, row);
    this.load().delete(name);
    return { events };
  }

  private async write(kind: EventKind, { name, commit }: TagRecord, row: Change): Promise<readonly LakeEvent[]> {
    const { stores, pool, checkPool } = this.parts;
    const { id: poolId, name: poolName } = pool();
    const event = { kind, poolId, poolName, tag: name, ...(kind === 'tag-new' && { commitId: commit }) };
    const events = await stores.feed.write(event, [row], checkPool, { frees: kind === 'tag-delete' });
    killPoint('tag: in the tables');
    return events;
  }
}
