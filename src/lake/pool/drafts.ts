/**
 * What jobs that make a commit come to, before it is written: checked against what the branch is at while it is the
 * pool's turn. A job of its own writes its commit at once, a transaction those of all its pools together.
 */
import { setImmediate as nextTurn } from 'node:timers/promises';
import { LakeError } from '../../errors.ts';
import type { PoolTask, RecordChange, RewriteCause } from '../../../machines/pool.events.ts';
import { base62 } from '../ksuid.ts';
import type { Combination, CommitNote, Id, ObjectMeta } from '../lake.types.ts';
import type { Changes } from '../commits/commit.ts';
import { objectNames, prepareMerge } from '../commits/merge.ts';
import {
  compactMessage,
  deleteMessage,
  loadMessage,
  mergeMessage,
  pickMessage,
  revertMessage,
  updateMessage,
  upsertMessage,
  vectorsMessage,
} from '../commits/messages.ts';
import { preparePick } from '../commits/pick.ts';
import { areNew, branchOf } from '../commits/records.ts';
import { prepareRevert } from '../commits/revert.ts';
import { difference, type ObjectEntry, type ObjectList } from '../objects/list.ts';
import type { NewCommit, PoolStore } from './store.ts';

/** Objects that a job looks up before others get their turn of the event loop. */
const idsPerTurn = 512;

/** What a job brings beyond its plain data. */
export interface Brought {
  readonly note: CommitNote;
  readonly objects: readonly ObjectMeta[];
}
/** The kinds of jobs that make one commit. */
type DraftKind = 'load' | 'delete' | 'rewrite' | 'merge' | 'revert' | 'pick' | 'vectors';
/** What makes one commit. */
export type DraftTask = Extract<PoolTask, { readonly kind: DraftKind }>;
type Draft<K extends DraftKind> = (
  store: PoolStore,
  task: Extract<PoolTask, { readonly kind: K }>,
  brought: Brought,
) => NewCommit | Promise<NewCommit>;

/** The commit of a job. @throws Overtaken, and whatever its branch is against */
export const draftCommit = async (store: PoolStore, task: DraftTask, brought: Brought): Promise<NewCommit> =>
  (drafts[task.kind] as Draft<DraftKind>)(store, task, brought);

const drafts: { readonly [K in DraftKind]: Draft<K> } = {
  load: (_, { branch }, { note, objects }) => {
    if (objects.length === 0) throw new LakeError('load-empty');
    return {
      branch,
      note,
      message: note.body ? '' : loadMessage(objects),
      changes: { adds: [], removes: [] },
      created: objects,
    };
  },
  delete: async (store, { branch, objects }, { note }) => {
    const list = await store.list(store.branch(branch).commit);
    const removes = inList(store, list, objects);
    return { branch, note, message: deleteMessage(removes), changes: { removes, adds: [] } };
  },
  rewrite: async (store, job, { note, objects }) => {
    const list = await store.list(store.branch(job.branch).commit);
    const ids = [...new Set(job.removes)];
    const removes = await allThere(store, list, ids);
    if (job.since !== undefined) checkNoneAdded(await store.list(job.since), list);
    const message = rewriteMessage[job.cause](removes, objects);
    const changes = { removes, adds: [] };
    if (removes.length === 0) return { branch: job.branch, note, message, changes, created: objects };
    const rewrite = job.parts && fits(job.parts, ids, objects) ? job.parts : true;
    const lineage = await store.lineage.changes({ adds: objects.map((o) => o.id), deletes: ids, rewrite });
    return {
      branch: job.branch,
      note,
      message,
      changes,
      created: objects,
      vectorsOfCreated: job.vectors,
      rewrite,
      ...((job.cause === 'update' || job.cause === 'upsert') && { changed: true as const }),
      lineage,
    };
  },
  merge: (store, job, brought) =>
    combined(store, job, brought, { kind: 'merge', target: job.target, child: job.child }, async () => {
      const { changes, childTip } = await prepareMerge(store, job.target, job.child);
      return { changes, secondParent: childTip };
    }),
  revert: (store, job, brought) =>
    combined(store, job, brought, { kind: 'revert', branch: job.branch, commit: job.commit }, async () => ({
      changes: await prepareRevert(store, job.branch, job.commit),
    })),
  pick: (store, job, brought) => {
    const { branch, from, to } = job;
    return combined(store, job, brought, { kind: 'pick', branch, from, to }, async () => ({
      changes: await preparePick(store, branch, { from, to }),
    }));
  },
  vectors: async (store, { branch, action, objects }, { note }) => {
    const list = await store.list(store.branch(branch).commit);
    const entries = [...new Set(objects)].map((id) => {
      const entry = store.entry(id);
      const found = entry && list.find(entry);
      if (!found) throw new LakeError('vector-object-missing', { id: base62(id) });
      if (action === 'add' && found.vector) throw new LakeError('vector-exists', { id: base62(id) });
      if (action === 'delete' && !found.vector) throw new LakeError('vector-missing', { id: base62(id) });
      return found;
    });
    const marks = action === 'add' ? { addVectors: entries } : { deleteVectors: entries };
    const message = vectorsMessage(
      action,
      entries.map((e) => e.id),
    );
    return { branch, note, message, changes: { removes: [], adds: [] }, ...marks, silent: true };
  },
};

/** The entries of these ids in a list. @throws object-not-found */
const inList = (store: PoolStore, list: ObjectList, ids: readonly Id[]): readonly ObjectEntry[] =>
  [...new Set(ids)].map((id) => {
    const entry = store.entry(id);
    if (!entry || !list.has(entry)) throw new LakeError('object-not-found', { id: base62(id) });
    return entry;
  });

/**
 * The rewrite was prepared on an older tip: some of the objects that it removes are gone. The caller prepares again.
 */
export class Overtaken extends Error {
  readonly missing: readonly Id[];
  constructor(missing: readonly Id[]) {
    super(`objects ${objectNames(missing)} are gone`);
    this.missing = missing;
  }
}

/** What came meanwhile may hold what is to be replaced. @throws Overtaken */
const checkNoneAdded = (before: ObjectList, now: ObjectList): void => {
  const { adds } = difference(before, now);
  if (adds.length > 0) throw new Overtaken(adds.map((e) => e.id));
};

const rewriteMessage = {
  'delete where': deleteMessage,
  update: updateMessage,
  upsert: upsertMessage,
  compact: compactMessage,
} as const satisfies Record<RewriteCause, unknown>;

/** @throws Overtaken */
const allThere = async (store: PoolStore, list: ObjectList, ids: readonly Id[]): Promise<readonly ObjectEntry[]> => {
  const removes: ObjectEntry[] = [];
  for (const [i, id] of ids.entries()) {
    const entry = store.entry(id);
    if (entry && list.has(entry)) removes.push(entry);
    // The branch cannot move meanwhile: this is its pool's turn.
    if (i % idsPerTurn === idsPerTurn - 1) await nextTurn();
  }
  if (removes.length === ids.length) return removes;
  const there = new Set(removes.map((e) => e.id));
  throw new Overtaken(ids.filter((id) => !there.has(id)));
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

const fits = (parts: readonly number[], removes: readonly Id[], adds: readonly ObjectMeta[]): boolean =>
  parts.length === removes.length && parts.reduce((sum, n) => sum + n, 0) === adds.length;
