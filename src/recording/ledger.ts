/**
 * What the jobs of the lake and of its pools come to, told by their outcomes alone: commits, tips of branches, events,
 * in their order. A replay compares this with what the recorded lake told of itself.
 *
 * The same outcomes give the same books. Commits' contents (rows, objects) are not known here.
 */
import type { LakeJob } from '../../machines/lake.events.ts';
import type { JobOutcome, PoolJob } from '../../machines/pool.events.ts';
import type { RecordedEvent } from './record.ts';

/** A change that listeners hear of, without its number. */
export interface BookedEvent {
  readonly kind: string;
  readonly poolId: string;
  readonly commitId?: string;
  readonly branch?: string;
}
/** A commit and the one before it on its branch. */
interface BookedCommit {
  readonly id: string;
  readonly branch: string;
  readonly parent: string | undefined;
}

/** The books of one lake, filled by the outcomes of its jobs. */
export class Ledger {
  /** Branches of each pool, with the commit that each points at. */
  readonly tips = new Map<string, Map<string, string>>();
  /** Events of each pool in their order; under `ofLake` those of the lake's own jobs, all pools together. */
  readonly events = new Map<string, BookedEvent[]>();
  /** Commits of each pool in their order. */
  readonly commits = new Map<string, BookedCommit[]>();
  private readonly jobs = new Map<number, { readonly pool: string; readonly job: PoolJob | LakeJob }>();

  /** A pool as it is at some time; what was booked of it before is forgotten. */
  given(pool: string, branches: Iterable<readonly [string, string]>): void {
    this.tips.set(pool, new Map(branches));
    this.events.set(pool, []);
    this.commits.set(pool, []);
  }

  /** A job entered its machine. */
  asked(pool: string, job: PoolJob | LakeJob): void {
    this.jobs.set(job.id, { pool, job });
  }

  /** A machine emitted something. Answers with what is wrong: a job that nobody asked for, or that is settled twice. */
  emitted({ type, outcomes }: RecordedEvent): readonly string[] {
    if (type !== 'settled') return [];
    const faults: string[] = [];
    for (const outcome of outcomes as readonly JobOutcome[]) {
      const asked = this.jobs.get(outcome.id);
      if (!asked) {
        faults.push(`job ${outcome.id} is settled, but nobody asked for it, or it was settled before`);
        continue;
      }
      this.jobs.delete(outcome.id);
      if (outcome.status === 'done') this.book(asked.pool, asked.job, outcome);
    }
    return faults;
  }
  /** Jobs that were asked for and not settled. */
  get open(): readonly number[] {
    return [...this.jobs.keys()];
  }

  private book(pool: string, job: PoolJob | LakeJob, outcome: Extract<JobOutcome, { readonly status: 'done' }>): void {
    switch (job.kind) {
      case 'create pool':
        if (!this.branches(pool).has('main')) this.branches(pool).set('main', noCommit);
        return this.tell(ofLake, { kind: 'pool-new', poolId: pool });
      case 'rename pool':
        return this.tell(ofLake, { kind: 'pool-update', poolId: pool });
      case 'delete pool':
        return this.tell(ofLake, { kind: 'pool-delete', poolId: pool });
      case 'create view':
        return this.tell(ofLake, { kind: 'view-new', poolId: pool, commitId: pool });
      case 'replace view':
        return this.tell(ofLake, { kind: 'view-update', poolId: pool, commitId: job.version });
      case 'drop view':
        return this.tell(ofLake, { kind: 'view-delete', poolId: pool });
      case 'create branch':
        this.branches(pool).set(job.name, job.commit);
        return this.tell(pool, { kind: 'branch-update', poolId: pool, branch: job.name });
      case 'delete branch':
        this.branches(pool).delete(job.name);
        return this.tell(pool, { kind: 'branch-delete', poolId: pool, branch: job.name });
      case 'vacuum':
        return;
      case 'load':
      case 'delete':
      case 'rewrite':
      case 'merge':
      case 'revert':
      case 'vectors': {
        const branch = job.kind === 'merge' ? job.target : job.branch;
        const id = outcome.commit!;
        of(this.commits, pool).push({ id, branch, parent: this.branches(pool).get(branch) });
        this.branches(pool).set(branch, id);
        // Marks change no data: no event tells of them.
        if (job.kind !== 'vectors') this.tell(pool, { kind: 'pool-commit', poolId: pool, commitId: id, branch });
      }
    }
  }
  private branches(pool: string): Map<string, string> {
    let tips = this.tips.get(pool);
    if (!tips) this.tips.set(pool, (tips = new Map()));
    return tips;
  }
  private tell(key: string, event: BookedEvent): void {
    of(this.events, key).push(event);
  }
}

const of = <T>(lists: Map<string, T[]>, pool: string): T[] => {
  let list = lists.get(pool);
  if (!list) lists.set(pool, (list = []));
  return list;
};
/** Where the events of pools and views that come, change their name or text, and go are. */
export const ofLake = 'lake';
const noCommit = '0'.repeat(40);
