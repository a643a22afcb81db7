/**
 * What two commits of a pool do not share: the data objects of which rows may differ. An object that both have is in
 * neither list, so that whoever compares rows reads what changed and nothing else.
 *
 * Invariants:
 * - The lists are pinned until `release`: no vacuum takes their objects. Of what both share nothing is asked, so that
 *   old commits can be compared whose other objects were vacuumed.
 * - A branch is resolved once: the two commits stay what they are.
 */
import { LakeError } from '../../errors.ts';
import { parseId, zeroId } from '../ksuid.ts';
import type { Diff, DiffRequest, Id, ObjectPage, PageRequest } from '../lake.types.ts';
import { type ObjectEntry, ObjectList, difference } from '../objects/list.ts';
import type { PoolStore } from '../pool/store.ts';
import { rowMissing } from '../tables/tables.ts';
import { listSums } from './graph.ts';
import { commonAncestors } from './history.ts';
import { objectMeta } from './snapshot.ts';
import { vacuumedError } from './vacuum.ts';

/** The branch from which others are taken to have come. */
const trunk = 'main';

/**
 * Both sides of a comparison. @throws branch-not-found, commit-file-missing, diff-no-fork, pool-not-found, vacuumed
 */
export const openDiff = async (store: PoolStore, { revision, base }: DiffRequest): Promise<Diff> => {
  const commit = store.resolve(revision);
  const from = base === undefined ? await baseOf(store, revision, commit) : store.resolve(base);
  const { adds, removes } = difference(await store.list(from), await store.list(commit));
  // From here to the pin nothing waits, so that no vacuum comes in between.
  if (store.deleted) throw new LakeError('pool-not-found', { pool: store.config.name });
  return sidesOfDiff(store, { from, commit, adds, removes });
};

/** The objects of two commits that are not shared, pinned. @throws vacuumed */
export const sidesOfDiff = (
  store: PoolStore,
  {
    from,
    commit,
    adds,
    removes,
  }: {
    readonly from: Id;
    readonly commit: Id;
    readonly adds: readonly ObjectEntry[];
    readonly removes: readonly ObjectEntry[];
  },
): Diff => {
  const before = sideOf(store, from, removes);
  const after = sideOf(store, commit, adds);
  const pins = [before, after].map((side) => store.pin(side.list));
  return {
    pool: store.config,
    base: from,
    commit,
    removed: listSums(before.list),
    added: listSums(after.list),
    page: (side, request) => (side === 'base' ? before : after).page(request),
    release: () => {
      for (const unpin of pins.splice(0)) unpin();
    },
  };
};

interface Side {
  readonly list: ObjectList;
  readonly page: (request: PageRequest) => ObjectPage;
}
const sideOf = (store: PoolStore, commit: Id, entries: readonly ObjectEntry[]): Side => {
  const list = ObjectList.of(store.order, entries);
  const missing = store.missing(list);
  if (missing.length > 0) throw vacuumedError(commit, missing);
  return {
    list,
    page: ({ cursor = 0, limit, range }) => {
      const { entries: found, next } = list.page(cursor, limit, range);
      return {
        objects: found.map((entry) => objectMeta(entry, store.stores.tables)),
        ...(next !== undefined && { next }),
      };
    },
  };
};

/**
 * What a revision is compared with if nothing else is said: a commit and branch main with the (first) parent, another
 * branch with its fork, which is the newest commit that it has in common with main.
 */
const baseOf = async (store: PoolStore, revision: string, commit: Id): Promise<Id> => {
  if (commit === zeroId) return zeroId;
  const id = parseId(revision);
  const isCommit = (id !== undefined && store.hasCommit(id)) || !store.branches().has(revision);
  if (isCommit || revision === trunk) {
    const { parent } = store.commit(commit)!;
    if (!store.hasCommit(parent)) throw rowMissing('commits', parent);
    return parent;
  }
  const main = store.branches().get(trunk);
  if (!main) throw new LakeError('diff-no-fork', { branch: revision });
  const [fork = zeroId] = await commonAncestors(store.commit, commit, main.commit);
  return fork;
};
