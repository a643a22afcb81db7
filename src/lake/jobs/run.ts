/**
 * Does the jobs that the pool's machine takes, one group at a time; what a job carries beyond its plain data comes with
 * it as `Payload`.
 */
import assert from 'node:assert';
import { LakeError } from '../../errors.ts';
import type { PoolJob, PoolTask } from '../../../machines/pool.events.ts';
import { checkProtection, checkTip } from '../commits/tip-check.ts';
import type { NewCommit, PoolStore } from '../pool/store.ts';
import type { JobResult } from '../lake.types.ts';
import type { Brought, JobContext, TaskOf } from './job.ts';
import { kindOf } from './kinds.ts';

/** Another pool of a transaction refused it: nothing of it was tried. */
export class NotTried extends Error {}
/** What a job came to: its result, or why it could not be done. */
export type JobEnd =
  | { readonly id: number; readonly result: JobResult }
  | { readonly id: number; readonly error: unknown };

type LoadJob = PoolJob & TaskOf<'load'>;

/** Does a group that the machine took: loads together, anything else alone. */
export const doJobs = async (context: JobContext, jobs: readonly PoolJob[]): Promise<readonly JobEnd[]> => {
  if (jobs.every((job) => job.kind === 'load')) return loadGroup(context, jobs as readonly LoadJob[]);
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

const doJob = async (context: JobContext, job: PoolJob): Promise<JobResult> => {
  const kind = kindOf(job);
  checkTerms(context.store, job);
  if ('work' in kind) return kind.work(context, job);
  const draft = await kind.draft(context.store, job, context.payload(job.id));
  return (await context.store.write([draft]))[0];
};
/** The commit of a job that makes one. @throws Overtaken, and whatever its branch is against */
export const draftCommit = async (store: PoolStore, task: PoolTask, brought: Brought): Promise<NewCommit> => {
  const kind = kindOf(task);
  assert('draft' in kind, 'it makes a commit');
  return kind.draft(store, task, brought);
};

/**
 * Nobody moves the branch before this job has ended: it is its pool's turn. @throws tip-moved, branch-protected, and
 * branch-not-found where it has a condition
 */
export const checkTerms = (store: PoolStore, task: PoolTask): void => {
  const kind = kindOf(task);
  const branch = kind.branch?.(task);
  if (task.ifTip) {
    const at = kind.at?.(store, task) ?? (branch === undefined ? undefined : store.branch(branch).commit);
    assert(at !== undefined, 'a condition is of a kind that has a place for one');
    checkTip(task.ifTip, at);
  }
  // That the branch is not there the job says itself.
  const record = branch === undefined ? undefined : store.branches().get(branch);
  if (record?.protection) for (const verb of kind.verbs?.(task) ?? []) checkProtection(record, verb, task);
};

/** All loads in one transaction, one commit each. A load whose branch is not there fails alone. */
const loadGroup = async (context: JobContext, jobs: readonly LoadJob[]): Promise<readonly JobEnd[]> => {
  const ends: JobEnd[] = [];
  const commits: NewCommit[] = [];
  const ready: LoadJob[] = [];
  const moved = new Set<string>();
  for (const job of jobs) {
    try {
      const draft = await draftCommit(context.store, job, context.payload(job.id));
      if (job.ifTip && moved.has(job.branch)) throw new LakeError('tip-moved', { tip: 'a newer commit' });
      // With or without a condition its branch has to be there.
      context.store.branch(job.branch);
      checkTerms(context.store, job);
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
