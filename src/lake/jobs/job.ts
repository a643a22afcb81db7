/**
 * What a pool knows of a kind of job: one object a kind, in the file of its subject. `kinds.ts` has the table of them,
 * `run.ts` does groups of jobs.
 */
import type { PoolJob, PoolJobKind, PoolTask, ProtectedVerb } from '../../../machines/pool.events.ts';
import type { CommitNote, Id, JobResult, ObjectFiles, ObjectMeta } from '../lake.types.ts';
import type { ObjectEntry } from '../objects/list.ts';
import type { NewCommit, PoolStore } from '../pool/store.ts';

/** What a job brings beyond its plain data. */
export interface Brought {
  readonly note: CommitNote;
  readonly objects: readonly ObjectMeta[];
}
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
export interface JobContext {
  readonly store: PoolStore;
  readonly files: ObjectFiles;
  readonly report: (fault: unknown) => void;
  readonly payload: (job: number) => Payload;
  readonly placed: () => void;
}
/** The plain data of one kind of job. */
export type TaskOf<K extends PoolJobKind> = Extract<PoolTask, { readonly kind: K }>;

/** What holds for every kind. */
interface Known<K extends PoolJobKind> {
  /** Asked before the job waits for its turn, and not again then. @throws what it could never do */
  check?(store: PoolStore, task: TaskOf<K>): void;
  /** The branch that it changes; absent: none. */
  branch?(task: TaskOf<K>): string;
  /** What it does to that branch that it can be protected from; absent: nothing. */
  verbs?(task: TaskOf<K>): readonly ProtectedVerb[];
  /** Where what it changes is at, which its condition is compared with; absent: where its branch is. */
  at?(store: PoolStore, task: TaskOf<K>): Id;
}
/** A kind of job that makes one commit: checked against what the branch is at while it is the pool's turn. */
export interface CommitKind<K extends PoolJobKind> extends Known<K> {
  /** @throws Overtaken, and whatever its branch is against */
  draft(store: PoolStore, task: TaskOf<K>, brought: Brought): NewCommit | Promise<NewCommit>;
}
/** Any other kind of job. */
export interface OtherKind<K extends PoolJobKind> extends Known<K> {
  work(context: JobContext, job: PoolJob & TaskOf<K>): Promise<JobResult>;
}
