/**
 * Undoes a commit by a new one: what it added and is still there goes, what it deleted and is gone comes back.
 *
 * All of it, or nothing: where the commit's objects were rewritten since (delete by filter, compaction), on this branch
 * or on one that was merged into it, or where an object that would come back was, rows would stay, come twice, or come
 * back although they were deleted. That is a conflict; so are objects that were vacuumed.
 */
import { type ErrorCode, LakeError } from '../../errors.ts';
import { planRevert, type Changes } from './commit.ts';
import { clashOf, named } from './kinship.ts';
import { base62, zeroId } from '../ksuid.ts';
import type { Id } from '../lake.types.ts';
import { objectNames } from './merge.ts';
import type { ObjectEntry, ObjectList } from '../objects/list.ts';
import type { PoolStore } from '../pool/store.ts';
import type { StoredCommit } from '../tables/rows.ts';

/** @throws branch-not-found, commit-not-found, revert-empty, revert-vacuumed, revert-conflict, revert-rewritten */
export const prepareRevert = async (store: PoolStore, branch: string, commitId: Id): Promise<Changes> => {
  const tip = store.branch(branch).commit;
  const commit = commitId === zeroId ? undefined : store.commit(commitId);
  if (!commit) throw new LakeError('commit-not-found', { id: base62(commitId) });
  await store.lineage.ready();
  const entries = (ids: readonly Id[]): ObjectEntry[] =>
    ids.map((id) => {
      const entry = store.entry(id);
      if (!entry) throw new LakeError('object-not-found', { id: base62(id) });
      return entry;
    });
  const list = await store.list(tip);
  const { adds, removes, gone } = planRevert(list, { adds: entries(commit.adds), deletes: entries(commit.deletes) });
  const vacuumed = adds.filter((e) => store.vacuumed(e.id)).map((e) => e.id);
  if (vacuumed.length > 0) throw withObjects('revert-vacuumed', commitId, vacuumed);
  const after = adds.length + gone.length > 0 ? await store.list(commitId) : list;
  const clash = await clashOf(store.lineage, { adds, gone }, ownOf(store, list, { commit, after }));
  const objects = named(clash);
  if (objects.length > 0)
    throw withObjects(clash.gone.ids.length > 0 ? 'revert-conflict' : 'revert-rewritten', commitId, objects);
  if (adds.length === 0 && removes.length === 0) throw new LakeError('revert-empty');
  return { adds, removes };
};

/** Whether an object is the branch's alone: neither the commit nor its parent has it. */
const ownOf = (
  store: PoolStore,
  list: ObjectList,
  { commit, after }: { readonly commit: StoredCommit; readonly after: ObjectList },
): ((id: Id) => boolean) => {
  const deleted = new Set(commit.deletes);
  return (id) => {
    const entry = deleted.has(id) ? undefined : store.entry(id);
    return entry !== undefined && list.has(entry) && !after.has(entry);
  };
};

const withObjects = (code: Extract<ErrorCode, `revert-${string}`>, commit: Id, ids: readonly Id[]): LakeError =>
  new LakeError(
    code,
    { id: base62(commit), objects: objectNames(ids) },
    { details: { object_ids: ids.map((id) => `0x${id}`) } },
  );
