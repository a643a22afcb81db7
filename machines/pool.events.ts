/**
 * What enters and leaves a pool's machine. Plain JSON: bodies, notes and promises stay with the host
 * (src/lake/pool/pool.ts), under the job's id.
 */

/** Work that a pool does in its turn. Ids are 40 hexadecimal digits. */
export type PoolJob = { readonly id: number } & PoolTask;
/** `ifTip`: the job is done only while its branch is at one of these; a vacuum only while its revision is. */
export type PoolTask = { readonly ifTip?: readonly string[] } & PoolWork;
type PoolWork =
  /** Objects are added, one commit. Those that wait one after the other are committed as a group. */
  | { readonly kind: 'load'; readonly branch: string; readonly objects: readonly string[] }
  | { readonly kind: 'delete'; readonly branch: string; readonly objects: readonly string[] }
  /**
   * Objects are replaced: a delete by filter or a compaction that was prepared outside of the queue. `parts`: how many
   * of `adds` each of `removes` was made into.
   */
  | {
      readonly kind: 'rewrite';
      readonly branch: string;
      readonly cause: 'delete where' | 'compact';
      readonly removes: readonly string[];
      readonly adds: readonly string[];
      readonly parts?: readonly number[];
      readonly vectors: boolean;
    }
  | { readonly kind: 'merge'; readonly target: string; readonly child: string }
  | { readonly kind: 'revert'; readonly branch: string; readonly commit: string }
  | {
      readonly kind: 'vectors';
      readonly branch: string;
      readonly action: 'add' | 'delete';
      readonly objects: readonly string[];
    }
  | { readonly kind: 'vacuum'; readonly revision: string; readonly dryRun: boolean }
  | { readonly kind: 'create branch'; readonly name: string; readonly commit: string }
  | { readonly kind: 'delete branch'; readonly name: string };
/** The kinds of jobs; the host has work for each (src/lake/pool/jobs.ts). */
export type PoolJobKind = PoolTask['kind'];

/** How a job ended. `failed`: the job itself could not be done, the pool goes on. `refused`: the pool did not try. */
export type JobOutcome =
  | { readonly id: number; readonly status: 'done'; readonly commit?: string; readonly objects?: readonly string[] }
  | { readonly id: number; readonly status: 'failed'; readonly code: string; readonly text: string }
  | {
      readonly id: number;
      readonly status: 'refused';
      readonly why: 'queue full' | 'closing' | 'store failed';
      readonly text: string;
    };

/** What comes in: jobs from the host, `close` from the lake's machine. */
export type PoolEvent =
  | { readonly type: 'job'; readonly job: PoolJob }
  /** Take nothing more, finish what waits, end. */
  | { readonly type: 'close' };

/** The pool, most jobs that wait for it, and most loads that are committed together. */
export interface PoolInput {
  readonly poolId: string;
  readonly waitingMax: number;
  readonly groupMax: number;
}
/** The queue and the jobs at work. */
export interface PoolContext {
  readonly poolId: string;
  /** Jobs in the order in which they came. */
  readonly waiting: readonly PoolJob[];
  /** A job that finds so many others waiting is refused. */
  readonly waitingMax: number;
  /** Most loads that are committed together. */
  readonly groupMax: number;
  /** What `work` was given: loads that go together, or one job; empty between. */
  readonly running: readonly PoolJob[];
  readonly closeAsked: boolean;
  /** Why the pool refuses writes. */
  readonly failure: string | null;
}

/**
 * What `work` gives back: an outcome for each job that it was given. `unsound`: the store failed, nothing more must be
 * written.
 */
export interface WorkDone {
  readonly outcomes: readonly JobOutcome[];
  readonly unsound?: string;
}

/** Tells the host of jobs that are settled: one outcome for each. */
export type PoolEmitted = { readonly type: 'settled'; readonly outcomes: readonly JobOutcome[] };
