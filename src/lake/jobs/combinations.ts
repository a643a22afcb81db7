/** Merges, reverts and picks: by objects, or as they were prepared by records. */
import type { RecordChange } from '../../../machines/pool.events.ts';
import type { Changes } from '../commits/commit.ts';
import { prepareMerge } from '../commits/merge.ts';
import { preparePick } from '../commits/pick.ts';
import { areNew, branchOf } from '../commits/records.ts';
import { prepareRevert } from '../commits/revert.ts';
import { base62 } from '../ksuid.ts';
import type { Combination, Id } from '../lake.types.ts';
import { difference, type ObjectEntry } from '../objects/list.ts';
import type { NewCommit, PoolStore } from '../pool/store.ts';
import { inList } from './in-list.ts';
import type { Brought, CommitKind } from './job.ts';
import { Overtaken } from './overtaken.ts';

/** What another branch has changed comes in. */
export const merge: CommitKind<'merge'> = {
  branch: (task) => task.target,
  verbs: () => ['merge'],
  draft: (store, job, brought) =>
    combined(store, job, brought, { kind: 'merge', target: job.target, child: job.child }, async () => {
      const { changes, childTip } = await prepareMerge(store, job.target, job.child);
      return { changes, secondParent: childTip };
    }),
};

/** What a commit changed is taken back. */
export const revert: CommitKind<'revert'> = {
  branch: (task) => task.branch,
  verbs: () => ['reset'],
  draft: (store, job, brought) =>
    combined(store, job, brought, { kind: 'revert', branch: job.branch, commit: job.commit }, async () => ({
      changes: await prepareRevert(store, job.branch, job.commit),
    })),
};

/** What a commit has otherwise than another is done to the branch. */
export const pick: CommitKind<'pick'> = {
  branch: (task) => task.branch,
  verbs: () => ['merge'],
  draft: (store, job, brought) => {
    const { branch, from, to } = job;
    return combined(store, job, brought, { kind: 'pick', branch, from, to }, async () => ({
      changes: await preparePick(store, branch, { from, to }),
    }));
  },
};

/** A merge, a revert or a pick: by objects, or as it was prepared by records. */
const combined = async (
  store: PoolStore,
  { records }: { readonly records?: RecordChange },
  { note, objects }: Brought,
  combination: Combination,
  byObjects: () => Promise<{ readonly changes: Changes; readonly secondParent?: Id }>,
): Promise<NewCommit> => {
  if (records) await checkSides(store, combination, records);
  const branch = branchOf(combination);
  const message = combinedMessage(store, combination);
  const child = combination.kind === 'merge' ? combination.child : undefined;
  if (!records?.change) {
    const { changes, secondParent } = await byObjects();
    return { branch, note, message, child, changes, secondParent };
  }
  const { removes: gone, adds, from } = records.change;
  const list = await store.list(store.branch(branch).commit);
  return {
    branch,
    note,
    message,
    child,
    changes: { removes: inList(store, list, gone), adds: [] },
    secondParent: child === undefined ? undefined : records.theirs,
    created: objects,
    from,
    lineage: await store.lineage.changes({ adds, deletes: gone, from }),
  };
};
/**
 * The sides are what they were when the merge was prepared. Where records have no identity our side may have got
 * objects of other rows, as loads bring them: they are as much beside what comes as what was there. Where the identity
 * is the order of the pool it may have got objects that begin behind or end before all that the other side changed.
 * @throws Overtaken, and what the branch is against by now
 */
const checkSides = async (
  store: PoolStore,
  combination: Combination,
  { ours, theirs, keys }: RecordChange,
): Promise<void> => {
  const tip = store.branch(branchOf(combination)).commit;
  if (combination.kind === 'merge' && store.tip(combination.child) !== theirs) throw new Overtaken([]);
  if (tip === ours) return;
  const { adds, removes } = difference(await store.list(ours), await store.list(tip));
  if (removes.length > 0) throw new Overtaken(removes.map(({ id }) => id));
  if (adds.length === 0) return;
  const isBeside = store.config.identity
    ? isFirstKey(store) && keys && adds.every((e) => isOutside(e, keys))
    : await areNew(store, combination, adds);
  if (!isBeside) throw new Overtaken(adds.map(({ id }) => id));
};
/** Records of one identity have one first key. */
const isFirstKey = ({ config }: PoolStore): boolean =>
  config.identity?.some((path) => JSON.stringify(path) === JSON.stringify(config.layout.keys[0])) ?? false;
/** Ends of objects may be shortened, outwards. */
const isOutside = ({ min, max }: ObjectEntry, [first, last]: readonly [string, string]): boolean =>
  Buffer.compare(min.sort, Buffer.from(last, 'hex')) > 0 || Buffer.compare(max.sort, Buffer.from(first, 'hex')) < 0;
const combinedMessage = (store: PoolStore, combination: Combination): string => {
  switch (combination.kind) {
    case 'merge':
      return mergeMessage(combination.child, combination.target);
    case 'revert':
      return revertMessage(combination.commit);
    case 'pick': {
      const { from, to } = combination;
      return pickMessage(to, store.commit(to)?.parent === from ? undefined : from);
    }
  }
};

/** The message of a merge, with the names of both branches. */
const mergeMessage = (child: string, target: string): string =>
  `merged ${JSON.stringify(child)} into ${JSON.stringify(target)}`;
/** The message of a revert. */
const revertMessage = (commit: Id): string => `reverted commit ${base62(commit)}`;
/** The message of a pick: of a commit, or of all that is between two. */
const pickMessage = (commit: Id, from?: Id): string =>
  from === undefined ? `picked commit ${base62(commit)}` : `picked commits ${base62(from)}..${base62(commit)}`;
