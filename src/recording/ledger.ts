/**
 * What the jobs of the lake and of its pools come to, as their outcomes tell: commits, tips of branches, events, in
 * their order. A replay compares this with what the recorded lake drew and published.
 *
 * The same outcomes give the same books. Commits' contents (rows, objects) are not known here.
 */
import type { LakeJob } from '../../machines/lake.events.ts';
import type { JobOutcome, PoolJob } from '../../machines/pool.events.ts';
import type { EventRecord, RecordedEvent } from './record.ts';

/** A change that listeners hear of, as far as a replay compares it. */
export type BookedEvent = Omit<EventRecord['event'], 'parent'>;
/** A commit and the one before it on its branch. */
interface BookedCommit {
  readonly id: string;
  /** The job that made it. */
  readonly job: number;
  readonly branch: string;
  readonly parent: string | undefined;
}

/** The books of one lake, filled by the outcomes of its jobs. */
export class Ledger {
  /** Branches of each pool, with the commit that each points at. */
  readonly tips = new Map<string, Map<string, string>>();
  /** Events in the order in which they were settled (`bookEvent`). */
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

  private book(
    pool: string,
    job: PoolJob | LakeJob,
    { commit, commits = [], events = [] }: Extract<JobOutcome, { readonly status: 'done' }>,
  ): void {
    for (const event of events) bookEvent(this.events, event);
    const tips = this.branches(pool);
    switch (job.kind) {
      case 'create pool':
        if (!tips.has('main')) tips.set('main', noCommit);
        return;
      case 'create branch':
        tips.set(job.name, job.commit);
        return;
      case 'delete branch':
        tips.delete(job.name);
        return;
      case 'reset':
        tips.set(job.branch, job.commit);
        return;
      case 'rename pool':
      case 'set pool':
      case 'delete pool':
      case 'create view':
      case 'replace view':
      case 'rename view':
      case 'drop view':
      case 'vacuum':
      case 'protect':
      case 'create tag':
      case 'delete tag':
        return;
      case 'transaction':
        for (const [i, part] of job.parts.entries())
          this.commit(pool, job.id, { branch: branchOf(part), id: commits[i] });
        return;
      default:
        this.commit(pool, job.id, { branch: branchOf(job), id: commit! });
    }
  }
  private commit(pool: string, job: number, { branch, id }: Pick<BookedCommit, 'branch' | 'id'>): void {
    const tips = this.branches(pool);
    listOf(this.commits, pool).push({ id, job, branch, parent: tips.get(branch) });
    tips.set(branch, id);
  }
  private branches(pool: string): Map<string, string> {
    let tips = this.tips.get(pool);
    if (!tips) this.tips.set(pool, (tips = new Map()));
    return tips;
  }
}

const branchOf = (job: { readonly branch: string } | { readonly kind: 'merge'; readonly target: string }): string =>
  'target' in job ? job.target : job.branch;

/** Puts an event with those of its pool; those of the lake's own jobs are together. */
export const bookEvent = (events: Map<string, BookedEvent[]>, event: BookedEvent): void => {
  const { id, kind, poolId, commitId, branch, tag } = event;
  listOf(events, /^(?:pool|view)-/.test(kind) && kind !== 'pool-commit' ? 'lake' : poolId).push({
    id,
    kind,
    poolId,
    ...(commitId !== undefined && { commitId }),
    ...(branch !== undefined && { branch }),
    ...(tag !== undefined && { tag }),
  });
};

const listOf = <T>(lists: Map<string, T[]>, pool: string): T[] => {
  let list = lists.get(pool);
  if (!list) lists.set(pool, (list = []));
  return list;
};
const noCommit = '0'.repeat(40);
