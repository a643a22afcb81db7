/**
 * What enters and leaves the lake's machine. Plain JSON: what a job carries beyond this, and its promise, stay with the
 * host (src/lake/lake.ts).
 */
import type { JobOutcome } from './pool.events.ts';

/** Work on the set of pools and views, which share one space of names: done one by one. */
export type LakeJob = { readonly id: number } & LakeTask;
/**
 * What a job does. Ids are 40 hexadecimal digits; those of a new pool, view or version are drawn by the host. A new
 * view's id is that of its first version.
 */
export type LakeTask =
  | { readonly kind: 'create pool'; readonly name: string; readonly poolId: string }
  | { readonly kind: 'rename pool'; readonly poolId: string; readonly name: string }
  | ({ readonly kind: 'set pool'; readonly poolId: string } & PoolSettings)
  | { readonly kind: 'delete pool'; readonly poolId: string }
  | { readonly kind: 'create view'; readonly name: string; readonly viewId: string }
  | ({ readonly kind: 'replace view'; readonly viewId: string; readonly version: string } & ViewTerms)
  | {
      readonly kind: 'rename view';
      readonly viewId: string;
      readonly version: string;
      readonly name: string;
      readonly from: string;
    }
  | ({ readonly kind: 'drop view'; readonly viewId: string } & ViewTerms);

/** `from`: the version that the view must have, or nothing is done; absent: any. */
interface ViewTerms {
  readonly from?: string;
}

/** What of a pool can be set later; what is absent stays as it is. `identity`: paths of fields; none: no identity. */
export interface PoolSettings {
  readonly iceberg?: 'off' | 'lazy' | 'eager';
  readonly icebergMapping?: 'typed' | 'variant';
  readonly identity?: readonly (readonly string[])[];
}

/** The pool or view that a job is of. */
export const subjectOf = (job: LakeTask): string => ('poolId' in job ? job.poolId : job.viewId);

/** What the host sends. */
export type LakeEvent =
  | { readonly type: 'job'; readonly job: LakeJob }
  /** A write for this pool came: it needs its actor. */
  | { readonly type: 'pool wanted'; readonly poolId: string }
  /** A transaction failed on disk. */
  | { readonly type: 'store failed'; readonly reason: string }
  | { readonly type: 'close' };

/** Most jobs that wait for the lake. */
export interface LakeInput {
  readonly waitingMax: number;
}
/** The queue, the job at work, and the pools that have an actor. */
export interface LakeContext extends LakeInput {
  /** Jobs in the order in which they came. */
  readonly waiting: readonly LakeJob[];
  readonly running: LakeJob | null;
  /** Pools that have an actor, by id. */
  readonly openPools: readonly string[];
  readonly closeAsked: boolean;
  /** Why the lake refuses writes, or could not start; null while all is well. */
  readonly failure: string | null;
}

/** What `work` gives back. `closePool`: that pool is gone, its actor is to end. */
export interface LakeWorkDone {
  readonly outcome: JobOutcome;
  readonly closePool?: string;
  readonly unsound?: string;
}
/** Tells the host of jobs that are settled: one outcome for each. */
export type LakeEmitted = { readonly type: 'settled'; readonly outcomes: readonly JobOutcome[] };
