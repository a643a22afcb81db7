/**
 * What enters and leaves a pool's machine. Plain JSON: bodies, notes and promises stay with the host
 * (src/lake/pool/pool.ts), under the job's id, and so does the mailbox of jobs that wait (src/lake/pool/mailbox.ts).
 */

/** Work that a pool does in its turn. Ids are 40 hexadecimal digits. */
export type PoolJob = { readonly id: number } & PoolTask;
/**
 * `ifTip`: the job is done only while its branch is at one of these; a vacuum only while its revision is. `by`: who asks
 * is no administrator of the pool; absent where they are, or where nobody is told apart.
 */
export type PoolTask = Terms & (PartWork | PoolWork);
/** What a transaction can do to a branch: each part to another one. */
export type PartTask = Terms & PartWork;
interface Terms {
  readonly ifTip?: readonly string[];
  readonly by?: 'writer';
}
type PartWork =
  /** Objects are added, one commit. Those that wait one after the other are committed as a group. */
  | { readonly kind: 'load'; readonly branch: string; readonly objects: readonly string[] }
  /**
   * Objects are replaced, by what was prepared outside of the queue. `parts`: how many
   * of `adds` each of `removes` was made into.
   */
  | {
      readonly kind: 'rewrite';
      readonly branch: string;
      readonly cause: RewriteCause;
      readonly removes: readonly string[];
      readonly adds: readonly string[];
      readonly parts?: readonly number[];
      /** Prepared for what the branch had at that commit: nothing may have been added since. */
      readonly since?: string;
      /** Some of `adds` were loaded to be added with it. */
      readonly loads?: true;
      readonly vectors: boolean;
    }
  | { readonly kind: 'merge'; readonly target: string; readonly child: string; readonly records?: RecordChange };
type PoolWork =
  | { readonly kind: 'delete'; readonly branch: string; readonly objects: readonly string[] }
  | { readonly kind: 'revert'; readonly branch: string; readonly commit: string; readonly records?: RecordChange }
  /** What commit `to` has otherwise than `from` is done to the branch. */
  | {
      readonly kind: 'pick';
      readonly branch: string;
      readonly from: string;
      readonly to: string;
      readonly records?: RecordChange;
    }
  | {
      readonly kind: 'vectors';
      readonly branch: string;
      readonly action: 'add' | 'delete';
      readonly objects: readonly string[];
    }
  | { readonly kind: 'vacuum'; readonly revision: string; readonly dryRun: boolean }
  | { readonly kind: 'create branch'; readonly name: string; readonly commit: string }
  | { readonly kind: 'delete branch'; readonly name: string }
  /** The branch goes to a commit that need not follow from its tip; no commit is made. */
  | { readonly kind: 'reset'; readonly branch: string; readonly commit: string }
  /** From then on the branch is protected like this; without a word, by nothing. */
  | { readonly kind: 'protect'; readonly branch: string; readonly protection: Protection }
  | { readonly kind: 'create tag'; readonly name: string; readonly commit: string }
  | { readonly kind: 'delete tag'; readonly name: string }
  /**
   * The pool waits while the transaction of this number asks the others of `pools`, and makes its own commits, one a
   * part, with theirs.
   */
  | {
      readonly kind: 'transaction';
      readonly transaction: number;
      readonly pools: readonly string[];
      readonly parts: readonly PartTask[];
    };
/** What objects are replaced for. */
export type RewriteCause = 'delete where' | 'update' | 'upsert' | 'compact';
/**
 * What a merge by record that was prepared outside of the queue does to the branch, or that its data objects do not
 * get in each other's way (no `change`): done while our side is at `ours`, the other one at `theirs`. `from`: objects of
 * the other side of which rows are in `adds`.
 */
export interface RecordChange {
  readonly ours: string;
  readonly theirs: string;
  /** The least and the greatest first key of what the other side changed, by bytes, in hexadecimal digits. */
  readonly keys?: readonly [string, string];
  readonly change?: {
    readonly removes: readonly string[];
    readonly adds: readonly string[];
    readonly from: readonly string[];
  };
}
/** What a branch can be protected from. A revert resets, and so does who deletes the branch. */
export type ProtectedVerb = 'load' | 'delete' | 'merge' | 'reset';
/** Who may do it still: administrators of the pool, or nobody. What is not there is for whoever may write. */
export type Protection = { readonly [V in ProtectedVerb]?: 'admin' | 'nobody' };
/** The kinds of jobs; the host has work for each (src/lake/jobs/kinds.ts). */
export type PoolJobKind = PoolTask['kind'];

/**
 * What listeners of the lake hear of a change. Ids of events count up over the lake (src/lake/feed.ts numbers them).
 */
export interface ChangeEvent {
  readonly id: number;
  readonly kind:
    | 'pool-new'
    | 'pool-update'
    | 'pool-delete'
    | 'pool-commit'
    | 'branch-update'
    | 'branch-delete'
    | 'branch-reset'
    | 'tag-new'
    | 'tag-delete'
    | 'view-new'
    | 'view-update'
    | 'view-delete';
  readonly poolId: string;
  /** At that time: after a rename the new one, which says who may hear of it; absent where an earlier build made it. */
  readonly poolName?: string;
  readonly commitId?: string;
  /** The branch that moved. */
  readonly branch?: string;
  /** The tag that came or went. */
  readonly tag?: string;
  /** The transaction that the commit is part of: all of its events have it. */
  readonly transactionId?: string;
  /** Names the branch again for a merge and is empty for other commits, as clients of the reference expect. */
  readonly parent?: string;
  /** What a merge merged, as the request named it: a branch, a tag or a commit. Absent where an earlier build made it. */
  readonly child?: string;
}

/**
 * How a job ended. `events`: what listeners are to hear of it; its change is durable. `failed`: the job itself could
 * not be done, the pool goes on. `refused`: it was not tried.
 */
export type JobOutcome =
  | {
      readonly id: number;
      readonly status: 'done';
      readonly commit?: string;
      /** Those of a transaction, one a part. */
      readonly commits?: readonly string[];
      readonly objects?: readonly string[];
      readonly events?: readonly ChangeEvent[];
    }
  | { readonly id: number; readonly status: 'failed'; readonly code: string; readonly text: string }
  | {
      readonly id: number;
      readonly status: 'refused';
      readonly why: 'queue full' | 'closing' | 'store failed' | 'transaction refused';
      readonly text: string;
    };

/** The jobs that go next, taken out of the host's mailbox (`nextJobs`), and how many stay in it. */
interface NextGroup {
  readonly jobs: readonly PoolJob[];
  readonly waiting: number;
}
/**
 * What comes in: from the host one message when work waits for a pool that has none, or can go behind what is under
 * way, and one for each group that is done, with the next one; `close` from the lake's machine.
 */
export type PoolEvent =
  | ({ readonly type: 'work waiting' } & NextGroup)
  /** An outcome for each job of the group. `unsound`: the store failed, nothing more must be written. */
  | ({ readonly type: 'done' } & WorkDone & NextGroup)
  /** The work itself broke, by a mistake of ours. `count`: of the group's jobs; absent: nothing else is under way. */
  | ({ readonly type: 'broke'; readonly text: string; readonly count?: number } & NextGroup)
  /** Finish what waits, end. */
  | { readonly type: 'close' };

/** The pool. */
export interface PoolInput {
  readonly poolId: string;
}
/** What the pool is at. */
export interface PoolContext extends PoolInput {
  /**
   * The jobs that were handed to it, oldest first: loads that go together, with those behind them, or one job; empty
   * between.
   */
  readonly running: readonly PoolJob[];
  /** Jobs in the host's mailbox when it last sent a message. */
  readonly waiting: number;
  readonly closeAsked: boolean;
  /** Why the pool refuses writes. */
  readonly failure: string | null;
}

/** What a group comes to. */
export interface WorkDone {
  readonly outcomes: readonly JobOutcome[];
  readonly unsound?: string;
}

/** Tells the host to do the group that it handed over, and of jobs that are settled: one outcome for each. */
export type PoolEmitted =
  | { readonly type: 'begin' }
  | { readonly type: 'settled'; readonly outcomes: readonly JobOutcome[] };
