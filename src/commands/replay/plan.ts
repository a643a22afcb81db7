/**
 * What a recording asks of a lake that begins empty: the jobs of the lake and of its pools in the order in which they
 * were done, with what each of them drew and the objects that it brought. Jobs that were refused are left out: nothing
 * was tried.
 */
import { type LakeJob, subjectOf } from '../../../machines/lake.events.ts';
import type { JobOutcome, PoolJob } from '../../../machines/pool.events.ts';
import { LakeError } from '../../errors.ts';
import { jobsOf } from '../../recording/replay.ts';
import type { PlacedLine } from '../../recording/reader.ts';
import type {
  EventRecord,
  HeaderRecord,
  MessageRecord,
  ObjectsRecord,
  RecordedFact,
  TipRecord,
} from '../../recording/record.ts';

/** A job that was tried, and how it ended. */
export interface PlannedJob {
  readonly pool: string;
  readonly job: PoolJob | LakeJob;
  readonly outcome: Exclude<JobOutcome, { readonly status: 'refused' }>;
  /** The place of its message in the recording. */
  readonly step: string;
  /** Its commit, branch, tag, view or pool, as it was drawn; absent if it came to none. */
  readonly fact?: RecordedFact;
  /** All commits of a transaction in this pool, as they were drawn. */
  readonly commits?: readonly CommitFact[];
  /** The number of its event. */
  readonly event?: number;
}
/** What a recording says that a lake did. */
export interface ReplayPlan {
  readonly header: HeaderRecord;
  /** In the order in which they were done. */
  readonly jobs: readonly PlannedJob[];
  readonly events: readonly EventRecord['event'][];
  readonly tips: readonly TipRecord[];
  /** By object id. */
  readonly objects: ReadonlyMap<string, ObjectsRecord>;
  /** Objects that could not be made. */
  readonly failures: readonly ObjectsRecord[];
  /** Something stands in the way of reading rows: no bodies, or not all. */
  readonly bodiesMissing: boolean;
}

/** @throws recording-invalid, replay-partial for a recording that does not begin with an empty lake or lacks lines */
export const planReplay = async (lines: AsyncIterable<PlacedLine>, file: string): Promise<ReplayPlan> => {
  const plan = new Plan(file);
  for await (const line of lines) plan.take(line);
  return plan.done();
};

type CommitFact = Extract<RecordedFact, { readonly what: 'commit' }>;
interface Asked {
  readonly pool: string;
  readonly job: PoolJob | LakeJob;
  readonly step: string;
  readonly actor: string;
}
interface Ended extends Asked {
  readonly outcome: PlannedJob['outcome'];
  readonly end: number;
}

class Plan {
  private readonly file: string;
  private header: HeaderRecord | undefined;
  private readonly asked = new Map<number, Asked>();
  private readonly ended: Ended[] = [];
  private readonly events: EventRecord['event'][] = [];
  private readonly tips: TipRecord[] = [];
  private readonly objects = new Map<string, ObjectsRecord>();
  private readonly failures: ObjectsRecord[] = [];
  private readonly commits = new Map<string, CommitFact>();
  private readonly pools = new Map<string, RecordedFact>();
  private readonly views = new Map<string, RecordedFact>();
  /** Of branches and tags, by pool, what it is and name. */
  private readonly named = new Map<string, RecordedFact[]>();
  /** Numbers of events by pool, as they were drawn. */
  private readonly numbers: { readonly pool: string; readonly id: number; readonly seq: number }[] = [];
  private bodiesMissing = false;

  constructor(file: string) {
    this.file = file;
  }

  take({ line, path, number }: PlacedLine): void {
    switch (line.kind) {
      case 'header':
        if (!this.header && line.part > 1) throw this.partial(`parts 1 to ${line.part - 1} are gone`);
        this.header ??= line;
        return;
      case 'given':
        if (this.ended.length === 0 && this.asked.size === 0)
          throw this.partial(`the recorded lake had pools when it began (${line.name})`);
        return;
      case 'lost':
        throw this.partial(`${line.lines} lines were lost at ${path}:${number}`);
      case 'message':
        return this.message(line, `${path}:${number}`);
      case 'drawn':
        if (line.fact.what === 'commit') this.commits.set(`${line.pool} ${line.fact.commit.id}`, line.fact);
        else if (line.fact.what === 'pool') this.pools.set(line.pool, line.fact);
        else if (line.fact.what === 'view') this.views.set(line.fact.version, line.fact);
        else if (line.fact.what === 'event') this.numbers.push({ pool: line.pool, id: line.fact.id, seq: line.seq });
        else push(this.named, `${line.pool} ${line.fact.what} ${line.fact.name}`, line.fact);
        return;
      case 'event':
        this.events.push(line.event);
        return;
      case 'objects':
        return this.made(line);
      case 'tip':
        this.tips.push(line);
        return;
      case 'actor':
      case 'end':
        return;
    }
  }

  done(): ReplayPlan {
    if (!this.header) throw this.partial('it is empty');
    return {
      header: this.header,
      jobs: this.inOrder(),
      events: [...this.events].sort((a, b) => a.id - b.id),
      tips: this.tips,
      objects: this.objects,
      failures: this.failures,
      bodiesMissing: this.bodiesMissing || this.header.bodies !== 'kept',
    };
  }

  private partial(fault: string): LakeError {
    return new LakeError('replay-partial', { file: this.file, fault });
  }

  private message({ actor, machine, event, emitted, seq }: MessageRecord, step: string): void {
    if (machine !== 'lake' && machine !== 'pool') return;
    for (const job of jobsOf(event))
      this.asked.set(job.id, {
        pool: machine === 'lake' ? subjectOf(job as LakeJob) : actor.slice('pool/'.length).replace(/#\d+$/, ''),
        job,
        step,
        actor,
      });
    for (const one of emitted ?? []) {
      if (one.type !== 'settled') continue;
      for (const outcome of one.outcomes as readonly JobOutcome[]) {
        const asked = this.asked.get(outcome.id);
        this.asked.delete(outcome.id);
        if (asked && outcome.status !== 'refused') this.ended.push({ ...asked, outcome, end: seq });
      }
    }
  }

  private made(line: ObjectsRecord): void {
    for (const object of line.objects) this.objects.set(object.id, line);
    const { from } = line;
    if (line.error) this.failures.push(line);
    else if (from.what === 'body' && !from.body?.kept) this.bodiesMissing = true;
    else if (from.what === 'query' && (from.bodies.length < line.objects.length || from.bodies.some((b) => !b.kept)))
      this.bodiesMissing = true;
  }

  /**
   * Jobs of different pools ran side by side. The number of the event that a job drew says where it stood; a job
   * without one comes right after the job before it of the same machine, or of the lake if that changed its pool since.
   */
  private inOrder(): readonly PlannedJob[] {
    const told = new Map(this.events.map((event) => [event.id, event]));
    const gaps = this.numbers.filter(({ id }) => !told.has(id));
    const last = new Map<string, number>();
    const created = new Map(
      [...told.values()].filter((event) => event.kind === 'pool-new').map((event) => [event.poolId, event.id]),
    );
    const firsts = firstNumbers(this.ended);
    /** By pool, where its last change by the lake stood: what is refused after that is told with the new name. */
    const changed = new Map<string, number>();
    const placed = this.ended.map((one, index) => {
      const drawn = one.outcome.status === 'done' ? one.outcome.events?.[0]?.id : takeGap(gaps, one);
      const at =
        firsts.get(transactionOf(one)) ??
        drawn ??
        latest(last.get(one.actor), changed.get(one.pool)) ??
        (one.actor === 'lake' ? 0 : created.get(one.pool)) ??
        0;
      last.set(one.actor, at);
      if (one.actor === 'lake') changed.set(one.pool, at);
      return { one, at, index, event: one.outcome.status === 'done' ? drawn : undefined };
    });
    return behindAll(placed)
      .sort((a, b) => a.at - b.at || a.index - b.index)
      .map(({ one: { pool, job, outcome, step }, event }) => {
        const fact = this.factOf(pool, job, outcome);
        const commits = this.commitsOf(pool, outcome);
        return {
          pool,
          job,
          outcome,
          step,
          ...(fact && { fact }),
          ...(commits && { commits }),
          ...(event !== undefined && { event }),
        };
      });
  }
  /** Those of a transaction, one a part. */
  private commitsOf(pool: string, outcome: PlannedJob['outcome']): readonly CommitFact[] | undefined {
    if (outcome.status !== 'done') return undefined;
    return outcome.commits?.flatMap((id) => this.commits.get(`${pool} ${id}`) ?? []);
  }
  private factOf(pool: string, job: PoolJob | LakeJob, outcome: PlannedJob['outcome']): RecordedFact | undefined {
    if (job.kind === 'create pool') return this.pools.get(pool);
    if (job.kind === 'create view') return this.views.get(job.viewId);
    if (job.kind === 'replace view' || job.kind === 'rename view') return this.views.get(job.version);
    if (outcome.status !== 'done') return undefined;
    const drawn = drawnFor(job);
    // A reset to where the branch is has no event, and drew nothing.
    if (drawn) return (outcome.events ?? []).length === 0 ? undefined : this.named.get(`${pool} ${drawn}`)?.shift();
    return outcome.commit === undefined ? undefined : this.commits.get(`${pool} ${outcome.commit}`);
  }
}

const latest = (a: number | undefined, b: number | undefined): number | undefined =>
  a === undefined || b === undefined ? (a ?? b) : Math.max(a, b);

const transactionOf = ({ job }: Asked): number => (job.kind === 'transaction' ? job.transaction : -1);
/**
 * Of each transaction that was done, the first number that it drew: all its pools stand there, so that what one of them
 * did next stays behind it. The numbers of a transaction follow each other.
 */
const firstNumbers = (ended: readonly Ended[]): ReadonlyMap<number, number> => {
  const firsts = new Map<number, number>();
  for (const one of ended) {
    const drawn = one.outcome.status === 'done' ? one.outcome.events?.[0]?.id : undefined;
    if (one.job.kind === 'transaction' && drawn !== undefined)
      firsts.set(one.job.transaction, Math.min(drawn, firsts.get(one.job.transaction) ?? drawn));
  }
  return firsts;
};
/** The jobs of one transaction go together: one that failed, behind whatever any of its pools did before. */
const behindAll = <T extends { readonly one: Asked; readonly at: number }>(placed: readonly T[]): T[] => {
  const latest = new Map<number, number>();
  for (const { one, at } of placed)
    if (one.job.kind === 'transaction')
      latest.set(one.job.transaction, Math.max(at, latest.get(one.job.transaction) ?? 0));
  return placed.map((job) => ({ ...job, at: latest.get(transactionOf(job.one)) ?? job.at }));
};

/** What a job draws a time for, besides commits. */
const drawnFor = (job: PoolJob | LakeJob): string | undefined => {
  switch (job.kind) {
    case 'create branch':
      return `branch ${job.name}`;
    case 'create tag':
      return `tag ${job.name}`;
    case 'delete branch':
      return `move ${job.name}`;
    case 'reset':
      return `move ${job.branch}`;
    default:
      return undefined;
  }
};
/**
 * A number that was drawn for a change which then failed belongs to the first failed job of that pool that ended behind
 * it.
 */
const takeGap = (
  gaps: { readonly pool: string; readonly id: number; readonly seq: number }[],
  { pool, end }: Ended,
): number | undefined => {
  const at = gaps.findIndex((gap) => gap.pool === pool && gap.seq < end);
  return at < 0 ? undefined : gaps.splice(at, 1)[0].id;
};

const push = <T>(lists: Map<string, T[]>, key: string, item: T): void => {
  const list = lists.get(key);
  if (list) list.push(item);
  else lists.set(key, [item]);
};
