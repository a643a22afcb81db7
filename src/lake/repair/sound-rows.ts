/**
 * What sound rows say, and what is wrong with a commit or a data object beside the other rows and the files: `lake
 * fsck` names it, a repair takes it out.
 */
import { LakeError, messageOf } from '../../errors.ts';
import { firstParents } from '../commits/history.ts';
import { base62, idBuffer, zeroId } from '../ksuid.ts';
import type { Id, ObjectFiles, ObjectMeta, PoolConfig } from '../lake.types.ts';
import type { ObjectEntry } from '../objects/list.ts';
import { decodeCommit, pairKey, type StoredCommit } from '../tables/rows.ts';
import { objectMeta } from '../commits/snapshot.ts';
import type { SoundRow, TableName, Tables } from '../tables/tables.ts';

/** The pools whose rows are sound. */
export const soundPools = (tables: Tables): readonly PoolConfig[] =>
  Array.from(tables.soundRows('pools'), ({ row }) => row);
/** The sound rows of a pool in a table. */
export const ofPool = <T extends TableName>(tables: Tables, table: T, pool: Id): IterableIterator<SoundRow<T>> =>
  tables.soundRows(table, { prefix: idBuffer(pool) });
/** Branches and tags of a pool, with the commits that they are at. */
export function* soundTips(
  tables: Tables,
  pool: Id,
): Generator<SoundRow<'branches' | 'tags'> & { readonly kind: 'branch' | 'tag' }, void> {
  for (const tip of ofPool(tables, 'branches', pool)) yield { kind: 'branch', ...tip };
  for (const tip of ofPool(tables, 'tags', pool)) yield { kind: 'tag', ...tip };
}

/** A commit whose row is sound. */
export const soundCommit = (tables: Tables, pool: Id, id: Id): StoredCommit | undefined => {
  try {
    const payload = tables.get('commits', pairKey(pool, id));
    return payload && decodeCommit(id, payload);
  } catch {
    return undefined;
  }
};

/** The objects of a commit; `broken`: the commit at which its history is not whole. */
export const tipObjects = (
  read: (id: Id) => StoredCommit | undefined,
  tip: Id,
): { readonly objects: ReadonlySet<Id>; readonly broken?: Id } => {
  const deleted = new Set<Id>();
  const objects = new Set<Id>();
  let last = tip;
  try {
    for (const commit of firstParents(read, tip)) {
      last = commit.parent;
      // From the newest back: what comes first has the last word.
      for (const id of commit.adds) if (!deleted.has(id)) objects.add(id);
      for (const id of commit.deletes) if (!objects.has(id)) deleted.add(id);
    }
  } catch {
    return { objects, broken: last };
  }
  return { objects };
};

/** `commit`: the parent that is missing or not below, `object`: the object that has no row. */
interface CommitFault {
  readonly text: string;
  readonly commit?: Id;
  readonly object?: Id;
}
/**
 * What a commit names and cannot have. A way back through commits must end; a parent whose row is damaged is told of by
 * that row.
 */
export function* faultsOfCommit(tables: Tables, pool: Id, commit: StoredCommit): IterableIterator<CommitFault> {
  for (const parent of [commit.parent, commit.secondParent]) {
    if (parent === undefined || parent === zeroId) continue;
    if (!tables.has('commits', pairKey(pool, parent)))
      yield { commit: parent, text: `its parent ${base62(parent)} is missing` };
    const height = soundCommit(tables, pool, parent)?.height ?? -1;
    if (height >= commit.height)
      yield {
        commit: parent,
        text: `its height is ${commit.height}, that of its parent ${base62(parent)} is ${height}`,
      };
  }
  for (const object of [...commit.adds, ...commit.deletes])
    if (!tables.has('objects', pairKey(pool, object))) yield { object, text: `object ${base62(object)} is not known` };
}

/**
 * What objects are looked at with: the files that are there; `checkObject` looks at one's bytes (size, checksums) and
 * tells what is wrong with them, or throws what a reader would be told.
 */
export interface ObjectChecks {
  readonly onDisk: ReadonlySet<Id>;
  readonly checkObject?: ((object: ObjectMeta) => Promise<string | undefined> | string | undefined) | undefined;
}
/** Ids of the files that are there. */
export const idsOnDisk = async (files: ObjectFiles): Promise<Set<Id>> => {
  const ids = new Set<Id>();
  for await (const id of files.list()) ids.add(id);
  return ids;
};
/**
 * What is wrong with a data object that was not vacuumed. `inRows`: a row is missing; else it is the object's own.
 * @throws store-unreachable, store-refused
 */
export const faultOfObject = async (
  tables: Tables,
  entry: ObjectEntry,
  { onDisk, checkObject }: ObjectChecks,
): Promise<{ readonly text: string; readonly inRows: boolean } | undefined> => {
  const key = idBuffer(entry.id);
  if (entry.inTable && !tables.has('bodies', key)) return { text: 'its body is missing', inRows: true };
  if (!entry.inTable && !tables.has('files', key)) return { text: 'its file is not listed', inRows: true };
  if (!entry.inTable && !onDisk.has(entry.id)) return { text: 'its file is missing', inRows: false };
  try {
    const text = await checkObject?.(objectMeta(entry, tables));
    return text === undefined ? undefined : { text, inRows: false };
  } catch (fault) {
    // Of one that cannot be had nothing is known.
    if (fault instanceof LakeError && (fault.code === 'store-unreachable' || fault.code === 'store-refused'))
      throw fault;
    return { text: messageOf(fault), inRows: false };
  }
};
