/**
 * The work of each kind of pool job. Called by the pool's machine, one group at a time; what a job carries beyond its
 * plain data comes with it as `Payload`.
 */
import { LakeError } from '../../errors.ts';
import type { PoolJob, PoolJobKind, PoolTask, ProtectedVerb } from '../../../machines/pool.events.ts';
import { base62, zeroId } from '../ksuid.ts';
import type { Id, LakeEvent, ObjectFiles } from '../lake.types.ts';
import { checkProtection, checkTip } from '../commits/tip-check.ts';
import type { ObjectEntry } from '../objects/list.ts';
import type { NewCommit, PoolStore } from './store.ts';
import { removeObjects, vacuumable, vacuumedError } from '../commits/vacuum.ts';
import { type Brought, draftCommit, type DraftTask } from './drafts.ts';

/** What stays with the host while the job's plain data goes through the machine. */
export interface Payload extends Brought {
  readonly candidates: readonly ObjectEntry[];
  /** Of a transaction: begins with the pool's turn and ends when the transaction lets the pool go. */
  readonly turn?: () => Promise<JobResult>;
}
/**
 * What jobs work with. `payload` gives what a job carries beyond its plain data, by the job's id; `report` is told of
 * faults that fail no job, `placed` when loads have their place in the log.
 */
interface JobContext {
  readonly store: PoolStore;
  readonly files: ObjectFiles;
  readonly report: (fault: unknown) => void;
  readonly payload: (job: number) => Payload;
  readonly placed: () => void;
}
/**
 * `commit`: the commit that the job made; `commits`: all of them, of a transaction; `objects`: the objects that a vacuum removed; `events`: what listeners are to
 * hear of it.
 */
export interface JobResult {
  readonly commit?: Id;
  readonly commits?: readonly Id[];
  readonly objects?: readonly Id[];
  readonly events?: readonly LakeEvent[];
}
/** Another pool of a transaction refused it: nothing of it was tried. */
export class NotTried extends Error {}
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
  if (job.kind !== 'load') checkTerms(context.store, job);
  return (work[job.kind as K] as Work<K>)(context, job);
};
/**
 * Nobody moves the branch before this job has ended: it is its pool's turn. @throws tip-moved, branch-protected, and
 * branch-not-found where it has a condition
 */
export const checkTerms = (store: PoolStore, job: PoolTask): void => {
  if (job.ifTip) checkTip(job.ifTip, tipOf(store, job));
  checkProtected(store, job);
};
/** Where what a job changes is at. */
const tipOf = (store: PoolStore, job: PoolTask): Id => {
  switch (job.kind) {
    case 'merge':
      return store.branch(job.target).commit;
    case 'vacuum':
      return store.resolve(job.revision);
    // No condition comes with it.
    case 'create branch':
    case 'create tag':
      return job.commit;
    // Its parts have theirs.
    case 'transaction':
      return zeroId;
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
  transaction: undefined,
} as const satisfies Record<PoolJobKind, ProtectedVerb | undefined>;
/** @throws branch-protected */
const checkProtected = (store: PoolStore, job: PoolTask): void => {
  const done = verbsOf(job);
  if (done.length === 0) return;
  const branch = store.branches().get(changedBy(job));
  // That it is not there the job says itself.
  if (branch) for (const verb of done) checkProtection(branch, verb, job);
};
/** An upsert loads, and takes away what its records replace; so does a change that comes with loads. */
const verbsOf = (job: PoolTask): readonly ProtectedVerb[] => {
  if (job.kind === 'rewrite' && job.cause === 'compact') return [];
  if (job.kind === 'rewrite' && (job.cause === 'upsert' || job.loads)) return ['load', 'delete'];
  const verb = verbs[job.kind];
  return verb ? [verb] : [];
};
/** The branch that a job changes. */
const changedBy = (job: PoolTask): string => {
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
      const draft = await draftCommit(context.store, job, context.payload(job.id));
      if (job.ifTip && moved.has(job.branch)) throw new LakeError('tip-moved', { tip: 'a newer commit' });
      checkTip(job.ifTip, context.store.branch(job.branch).commit);
      checkProtected(context.store, job);
      moved.add(job.branch);
      commits.push(draft);
      ready.push(job);
    } catch (error) {
      ends.push({ id: job.id, error });
    }
  }
  if (ready.length === 0) return ends;
  try {
    const made = await context.store.write(commits, context.placed);
    ready.forEach((job, i) => ends.push({ id: job.id, result: made[i] }));
  } catch (error) {
    for (const job of ready) ends.push({ id: job.id, error });
  }
  return ends;
};

const commitOne = async (
  { store, payload }: JobContext,
  job: DraftTask & { readonly id: number },
): Promise<JobResult> => (await store.write([await draftCommit(store, job, payload(job.id))]))[0];

const work: { readonly [K in PoolJobKind]: Work<K> } = {
  load: async (context, job) => {
    const end = (await loadGroup(context, [job]))[0];
    if ('error' in end) throw end.error;
    return end.result;
  },
  delete: commitOne,
  rewrite: commitOne,
  merge: commitOne,
  revert: commitOne,
  pick: commitOne,
  vectors: commitOne,
  transaction: ({ payload }, job) => payload(job.id).turn!(),
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
