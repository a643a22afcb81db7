/**
 * The work of each kind of pool job. Called by the pool's machine, one group at a time; what a job carries beyond its
 * plain data comes with it as `Payload`.
 */
import { setImmediate as nextTurn } from 'node:timers/promises';
import { LakeError } from '../../errors.ts';
import type { PoolJob, PoolJobKind, ProtectedVerb, RecordChange, RewriteCause } from '../../../machines/pool.events.ts';
import { base62, zeroId } from '../ksuid.ts';
import type { Combination, CommitNote, Id, LakeEvent, ObjectFiles, ObjectMeta } from '../lake.types.ts';
import type { Changes } from '../commits/commit.ts';
import { objectNames, prepareMerge } from '../commits/merge.ts';
import { preparePick } from '../commits/pick.ts';
import { branchOf } from '../commits/records.ts';
import { checkProtection, checkTip } from '../commits/tip-check.ts';
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
import { difference, type ObjectEntry, type ObjectList } from '../objects/list.ts';
import type { NewCommit, PoolStore } from './store.ts';
import { prepareRevert } from '../commits/revert.ts';
import { removeObjects, vacuumable } from '../commits/vacuum.ts';

/** Objects that a job looks up before others get their turn of the event loop. */
const idsPerTurn = 512;

/** What stays with the host while the job's plain data goes through the machine. */
export interface Payload {
  readonly note: CommitNote;
  readonly objects: readonly ObjectMeta[];
  readonly candidates: readonly ObjectEntry[];
}
/**
 * What jobs work with. `payload` gives what a job carries beyond its plain data, by the job's id; `report` is told of
 * faults that fail no job.
 */
interface JobContext {
  readonly store: PoolStore;
  readonly files: ObjectFiles;
  readonly report: (fault: unknown) => void;
  readonly payload: (job: number) => Payload;
}
/**
 * `commit`: the commit that the job made; `objects`: the objects that a vacuum removed; `events`: what listeners are to
 * hear of it.
 */
export interface JobResult {
  readonly commit?: Id;
  readonly objects?: readonly Id[];
  readonly events?: readonly LakeEvent[];
}
/** What a job came to: its result, or why it could not be done. */
export type JobEnd =
  | { readonly id: number; readonly result: JobResult }
  | { readonly id: number; readonly error: unknown };

type Job<K extends PoolJobKind> = Extract<PoolJob, { readonly kind: K }>;
type Work<K extends PoolJobKind> = (context: JobContext, job: Job<K>) => Promise<JobResult>;

/** Does a group that the machine took: loads together, anything else alone. */
export const doJobs = async (context: JobContext, jobs: readonly PoolJob[]): Promise<readonly JobEnd[]> => {
  if (jobs.every((job) => job.kind === 'load')) return loadGroup(context, jobs as readonly Job<'load'>[]);
  const ends: JobEnd[] = [];
  for (const job of jobs) {
    try {
      ends.push({ id: job.id, result: await doJob(context, job) });
    } catch (error) {
      ends.push({ id: job.id, error });
    }
  }
  return ends;
};

const doJob = async <K extends PoolJobKind>(context: JobContext, job: Job<K>): Promise<JobResult> => {
  // Nobody moves it before this job has ended: it is its pool's turn.
  if (job.ifTip && job.kind !== 'load') checkTip(job.ifTip, tipOf(context.store, job));
  checkJob(context.store, job);
  return (work[job.kind as K] as Work<K>)(context, job);
};
/** Where what a job changes is at. */
const tipOf = (store: PoolStore, job: PoolJob): Id => {
  switch (job.kind) {
    case 'merge':
      return store.branch(job.target).commit;
    case 'vacuum':
      return store.resolve(job.revision);
    // No condition comes with it.
    case 'create branch':
    case 'create tag':
      return job.commit;
    case 'delete tag':
      return store.tags.tag(job.name).commit;
    case 'delete branch':
      return store.branch(job.name).commit;
    default:
      return store.branch(job.branch).commit;
  }
};

/** What jobs do to a branch that can be protected from it; a compaction changes no record. */
const verbs = {
  load: 'load',
  delete: 'delete',
  rewrite: 'delete',
  merge: 'merge',
  pick: 'merge',
  revert: 'reset',
  reset: 'reset',
  'delete branch': 'reset',
  vectors: undefined,
  vacuum: undefined,
  'create branch': undefined,
  protect: undefined,
  'create tag': undefined,
  'delete tag': undefined,
} as const satisfies Record<PoolJobKind, ProtectedVerb | undefined>;
/** @throws branch-protected */
const checkJob = (store: PoolStore, job: PoolJob): void => {
  const done = verbsOf(job);
  if (done.length === 0) return;
  const branch = store.branches().get(changedBy(job));
  // That it is not there the job says itself.
  if (branch) for (const verb of done) checkProtection(branch, verb, job);
};
/** An upsert loads, and takes away what its records replace. */
const verbsOf = (job: PoolJob): readonly ProtectedVerb[] => {
  if (job.kind === 'rewrite' && job.cause === 'compact') return [];
  if (job.kind === 'rewrite' && job.cause === 'upsert') return ['load', 'delete'];
  const verb = verbs[job.kind];
  return verb ? [verb] : [];
};
/** The branch that a job changes. */
const changedBy = (job: PoolJob): string => {
  if (job.kind === 'merge') return job.target;
  if (job.kind === 'delete branch') return job.name;
  return 'branch' in job ? job.branch : '';
};

/** All loads in one transaction, one commit each. A load whose branch is not there fails alone. */
const loadGroup = async (context: JobContext, jobs: readonly Job<'load'>[]): Promise<readonly JobEnd[]> => {
  const ends: JobEnd[] = [];
  const commits: NewCommit[] = [];
  const ready: Job<'load'>[] = [];
  const moved = new Set<string>();
  for (const job of jobs) {
    try {
      const { note, objects } = context.payload(job.id);
      if (objects.length === 0) throw new LakeError('load-empty');
      if (job.ifTip && moved.has(job.branch)) throw new LakeError('tip-moved', { tip: 'a newer commit' });
      checkTip(job.ifTip, context.store.branch(job.branch).commit);
      checkJob(context.store, job);
      moved.add(job.branch);
      commits.push({
        branch: job.branch,
        note,
        message: note.body ? '' : loadMessage(objects),
        changes: { adds: [], removes: [] },
        created: objects,
      });
      ready.push(job);
    } catch (error) {
      ends.push({ id: job.id, error });
    }
  }
  if (ready.length === 0) return ends;
  try {
    const made = await context.store.write(commits);
    ready.forEach((job, i) => ends.push({ id: job.id, result: made[i]! }));
  } catch (error) {
    for (const job of ready) ends.push({ id: job.id, error });
  }
  return ends;
};

const commitOne = async (store: PoolStore, commit: NewCommit): Promise<JobResult> => (await store.write([commit]))[0]!;

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

const work: { readonly [K in PoolJobKind]: Work<K> } = {
  load: async (context, job) => {
    const end = (await loadGroup(context, [job]))[0]!;
    if ('error' in end) throw end.error;
    return end.result;
  },
  delete: async ({ store, payload }, job) => {
    const list = await store.list(store.branch(job.branch).commit);
    const removes = inList(store, list, job.objects);
    return commitOne(store, {
      branch: job.branch,
      note: payload(job.id).note,
      message: deleteMessage(removes),
      changes: { removes, adds: [] },
    });
  },
  rewrite: async ({ store, payload }, job) => {
    const { note, objects } = payload(job.id);
    const list = await store.list(store.branch(job.branch).commit);
    const ids = [...new Set(job.removes)];
    const removes: ObjectEntry[] = [];
    for (const [i, id] of ids.entries()) {
      const entry = store.entry(id);
      if (entry && list.has(entry)) removes.push(entry);
      // The branch cannot move meanwhile: this is its pool's turn.
      if (i % idsPerTurn === idsPerTurn - 1) await nextTurn();
    }
    if (removes.length < ids.length) {
      const there = new Set(removes.map((e) => e.id));
      throw new Overtaken(ids.filter((id) => !there.has(id)));
    }
    if (job.since !== undefined) checkNoneAdded(await store.list(job.since), list);
    const message = rewriteMessage[job.cause](removes, objects);
    const changes = { removes, adds: [] };
    if (removes.length === 0) return commitOne(store, { branch: job.branch, note, message, changes, created: objects });
    const rewrite = job.parts && fits(job.parts, ids, objects) ? job.parts : true;
    const lineage = await store.lineage.changes({ adds: objects.map((o) => o.id), deletes: ids, rewrite });
    return commitOne(store, {
      branch: job.branch,
      note,
      message,
      changes,
      created: objects,
      vectorsOfCreated: job.vectors,
      rewrite,
      ...((job.cause === 'update' || job.cause === 'upsert') && { changed: true }),
      lineage,
    });
  },
  merge: (context, job) =>
    combine(context, job, { kind: 'merge', target: job.target, child: job.child }, async () => {
      const { changes, childTip } = await prepareMerge(context.store, job.target, job.child);
      return { changes, secondParent: childTip };
    }),
  revert: (context, job) =>
    combine(context, job, { kind: 'revert', branch: job.branch, commit: job.commit }, async () => ({
      changes: await prepareRevert(context.store, job.branch, job.commit),
    })),
  pick: (context, job) => {
    const { branch, from, to } = job;
    return combine(context, job, { kind: 'pick', branch, from, to }, async () => ({
      changes: await preparePick(context.store, branch, { from, to }),
    }));
  },
  vectors: async ({ store, payload }, job) => {
    const list = await store.list(store.branch(job.branch).commit);
    const entries = [...new Set(job.objects)].map((id) => {
      const entry = store.entry(id);
      const found = entry && list.find(entry);
      if (!found) throw new LakeError('vector-object-missing', { id: base62(id) });
      if (job.action === 'add' && found.vector) throw new LakeError('vector-exists', { id: base62(id) });
      if (job.action === 'delete' && !found.vector) throw new LakeError('vector-missing', { id: base62(id) });
      return found;
    });
    const marks = job.action === 'add' ? { addVectors: entries } : { deleteVectors: entries };
    const message = vectorsMessage(
      job.action,
      entries.map((e) => e.id),
    );
    return commitOne(store, {
      branch: job.branch,
      note: payload(job.id).note,
      message,
      changes: { removes: [], adds: [] },
      ...marks,
      silent: true,
    });
  },
  vacuum: async ({ store, files, report, payload }, job) => {
    const entries = await vacuumable(store, payload(job.id).candidates);
    if (!job.dryRun) await removeObjects(store, entries, files, report);
    return { objects: entries.map((e) => e.id) };
  },
  'create branch': async ({ store }, job) => {
    store.mustBeNew(job.name);
    await mustBeWhole(store, job.commit);
    return store.createBranch(job.name, job.commit);
  },
  'delete branch': ({ store }, job) => store.deleteBranch(job.name),
  reset: async ({ store }, job) => {
    await mustBeWhole(store, job.commit);
    return store.resetBranch(job.branch, job.commit);
  },
  protect: ({ store }, job) => store.protect(job.branch, job.protection),
  'create tag': async ({ store }, job) => {
    store.mustBeNew(job.name);
    await mustBeWhole(store, job.commit);
    return store.tags.create(job.name, job.commit);
  },
  'delete tag': ({ store }, job) => store.tags.delete(job.name),
};

/** What gets a name can be read. @throws commit-not-found, vacuumed */
const mustBeWhole = async (store: PoolStore, commit: Id): Promise<void> => {
  if (!store.hasCommit(commit)) throw new LakeError('commit-not-found', { id: base62(commit) });
  if (commit === zeroId) return;
  const missing = store.missing(await store.list(commit));
  if (missing.length > 0) throw vacuumedError(commit, missing);
};

/** A merge, a revert or a pick: by objects, or as it was prepared by records. */
const combine = async (
  { store, payload }: JobContext,
  job: Job<'merge' | 'revert' | 'pick'>,
  combination: Combination,
  byObjects: () => Promise<{ readonly changes: Changes; readonly secondParent?: Id }>,
): Promise<JobResult> => {
  const { note, objects } = payload(job.id);
  const { records } = job;
  if (records) await checkSides(store, combination, records);
  const made = { branch: branchOf(combination), note, message: combinedMessage(store, combination) };
  if (!records?.change) return commitOne(store, { ...made, ...(await byObjects()) });
  const { removes: gone, adds, from } = records.change;
  const list = await store.list(store.branch(made.branch).commit);
  return commitOne(store, {
    ...made,
    changes: { removes: inList(store, list, gone), adds: [] },
    created: objects,
    from,
    lineage: await store.lineage.changes({ adds, deletes: gone, from }),
    ...(combination.kind === 'merge' && { secondParent: records.theirs }),
  });
};
/**
 * The sides are what they were when the merge was prepared. Where records have no identity our side may have got more
 * objects: they are as much beside what comes as what was there. Where the identity is the order of the pool, too, it
 * may have got objects that begin behind or end before all that the other side changed. @throws Overtaken
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
  const isBeside = !store.config.identity || (isFirstKey(store) && keys && adds.every((e) => isOutside(e, keys)));
  if (!isBeside || removes.length > 0) throw new Overtaken(removes.map(({ id }) => id));
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

/** The error of a commit some of whose objects were vacuumed. */
export const vacuumedError = (commit: Id, missing: readonly Id[]): LakeError =>
  new LakeError(
    'vacuumed',
    { id: base62(commit), objects: objectNames(missing) },
    { details: { object_ids: missing.map((id) => `0x${id}`) } },
  );
