/**
 * What a replica's memory learns of changes that came into its tables from another service's log: pools, branches,
 * tags, views, packs, and the events for those who listen.
 *
 * Invariant: tables and memory change in one turn of the thread, so that a reader sees a record whole or not at all.
 */
import type { Feed } from './feed.ts';
import { idOfBytes, zeroId } from './ksuid.ts';
import type { BranchRecord, Id, PoolConfig } from './lake.types.ts';
import type { LogPlace } from './log/format.ts';
import type { PoolFace } from './pool/pool.ts';
import { decodeBranch, decodePool, decodeTag } from './tables/rows.ts';
import type { Change, Tables } from './tables/tables.ts';
import type { Views } from './views.ts';

/** What there is to be changed. */
interface FollowedParts {
  readonly tables: Tables;
  readonly feed: Feed;
  readonly views: () => Views;
  readonly pool: (id: Id) => PoolFace | undefined;
  readonly put: (config: PoolConfig) => void;
  readonly remove: (face: PoolFace) => void;
  /** Told of a branch that a record moves, as it was before: who looked up another pool before it sees it so. */
  readonly moved: (pool: Id, before: BranchRecord) => void;
  /** Told of rows that cannot be read. */
  readonly report: (fault: unknown) => void;
}
/** A branch or a tag whose row goes; its name is only in there. */
interface Named {
  readonly table: 'branches' | 'tags';
  readonly pool: Id;
  readonly name: string;
}

const idBytes = zeroId.length / 2;
const poolOf = (key: Uint8Array): Id => idOfBytes(key.subarray(0, idBytes));

export const takeFollowed = (parts: FollowedParts, changes: readonly Change[], place: LogPlace): void => {
  const { tables, feed } = parts;
  const gone = changes.flatMap((change) => namedIn(parts, change));
  tables.follow(changes, place);
  for (const change of changes) {
    try {
      learn(parts, change);
    } catch (fault) {
      parts.report(fault);
    }
  }
  for (const { table, pool, name } of gone) {
    const store = parts.pool(pool)?.store;
    if (table === 'tags') store?.tags.followed(name, undefined);
    else store?.followed(name, undefined);
  }
  feed.followed(changes);
};

const namedIn = ({ tables, pool, moved, report }: FollowedParts, { table, key, payload }: Change): readonly Named[] => {
  if ((table !== 'branches' && table !== 'tags') || !pool(poolOf(key))) return [];
  try {
    const row = tables.get(table, key);
    if (!row) return [];
    const named = table === 'tags' ? decodeTag(Buffer.from(key), row) : decodeBranch(Buffer.from(key), row);
    if (table === 'branches' && payload) moved(poolOf(key), named);
    return payload ? [] : [{ table, pool: poolOf(key), name: named.name }];
  } catch (fault) {
    report(fault);
    return [];
  }
};

const learn = (parts: FollowedParts, { table, key: bytes, payload: row }: Change): void => {
  const key = Buffer.from(bytes);
  const payload = row && Buffer.from(row);
  const face = parts.pool(poolOf(key));
  switch (table) {
    case 'pools':
      if (payload) parts.put(decodePool(idOfBytes(key), payload));
      else if (face) parts.remove(face);
      return;
    case 'branches': {
      const branch = payload && decodeBranch(key, payload);
      if (branch) face?.store.followed(branch.name, branch);
      return;
    }
    case 'tags': {
      const tag = payload && decodeTag(key, payload);
      if (tag) face?.store.tags.followed(tag.name, tag);
      return;
    }
    case 'views':
      parts.views().followed(key, payload);
      return;
    case 'vacuumed':
      face?.store.vacuumChanged();
      return;
    case 'packs':
      face?.store.packs.followed(idOfBytes(key.subarray(idBytes)), payload);
      return;
    default:
  }
};
