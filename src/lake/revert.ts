/**
 * Undoes a commit by a new one: what it added and is still there goes, what it deleted and is gone comes back.
 *
 * A commit that replaced objects (delete by filter, compaction) and whose new objects were replaced once more, or deleted, since cannot be undone: its old objects would
 * bring rows back that the newest ones hold as well, or that were deleted. That is a conflict; so are objects that were vacuumed.
 */
import { LakeError } from '../errors.ts';
import { planRevert, type Changes } from './commit.ts';
import { base62, zeroId } from './ksuid.ts';
import type { Id } from './lake.types.ts';
import { objectNames } from './merge.ts';
import type { ObjectEntry } from './object-list.ts';
import type { PoolStore } from './pool-store.ts';

/** @throws branch-not-found, commit-not-found, revert-empty, revert-vacuumed, revert-conflict */
export const prepareRevert = async (store: PoolStore, branch: string, commitId: Id): Promise<Changes> => {
  const tip = store.branch(branch).commit;
  const commit = commitId === zeroId ? undefined : store.commit(commitId);
  if (!commit) throw new LakeError('commit-not-found', { id: base62(commitId) });
  const entries = (ids: readonly Id[]): ObjectEntry[] => ids.map((id) => {
    const entry = store.entry(id);
    if (!entry) throw new LakeError('object-not-found', { id: base62(id) });
    return entry;
  });
  const list = await store.list(tip);
  const adds = entries(commit.adds);
  const changes = planRevert(list, { adds, deletes: entries(commit.deletes) });
  if (changes.adds.length === 0 && changes.removes.length === 0) throw new LakeError('revert-empty');
  const gone = changes.adds.filter((e) => store.vacuumed(e.id)).map((e) => e.id);
  if (gone.length > 0) throw withObjects('revert-vacuumed', commitId, gone);
  if (changes.adds.length > 0) {
    const lost = adds.filter((e) => !list.has(e)).map((e) => e.id);
    if (lost.length > 0) throw withObjects('revert-conflict', commitId, lost);
  }
  return changes;
};

const withObjects = (code: 'revert-vacuumed' | 'revert-conflict', commit: Id, ids: readonly Id[]): LakeError =>
  new LakeError(code, { id: base62(commit), objects: objectNames(ids) }, { details: { object_ids: ids.map((id) => `0x${id}`) } });
