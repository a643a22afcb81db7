/**
 * Recordings of the first format, as lines of this one. There each job of a pool was a message, outcomes did not say
 * which events tell of them, and loads and queries began when a thread had them.
 *
 * - Groups of a pool become two messages, where they were settled; refused jobs are left out, since nothing was tried.
 * - Commits, tips and events are those that were recorded: events come before the outcomes that they tell of.
 */
import { type LakeJob, subjectOf } from '../../machines/lake.events.ts';
import type { ChangeEvent, JobOutcome, PoolJob } from '../../machines/pool.events.ts';
import {
  type ActorRecord,
  type EventRecord,
  type HeaderRecord,
  type MessageRecord,
  type RecordedEvent,
  type RecordLine,
  recordFormat,
} from './record.ts';

/** The first format. */
export const earlierFormat = 1;

type Line = HeaderRecord | RecordLine;
/** The lines of one recording, one after the other. */
export class EarlierRecording {
  private readonly jobs = new Map<number, { readonly pool: string; readonly job: PoolJob | LakeJob }>();
  /** Events whose outcomes are to come, by the change that they tell of. */
  private readonly events = new Map<string, ChangeEvent[]>();
  /** The states of the pools as their chart has them now. */
  private readonly pools = new Map<string, string>();

  lines(line: Line): readonly Line[] {
    switch (line.kind) {
      case 'header':
        return [{ ...line, format: recordFormat }];
      case 'event': {
        const key = changeOfEvent(line.event);
        this.events.set(key, [...(this.events.get(key) ?? []), line.event as ChangeEvent]);
        return [line];
      }
      case 'actor':
        return line.machine === 'pool' ? this.pool(line) : begun(line);
      case 'message':
        for (const job of line.event.type === 'job' ? [line.event['job'] as PoolJob | LakeJob] : [])
          this.asked(line.actor, job);
        if (line.machine === 'pool') return this.ofPool(line);
        return [line.machine === 'lake' ? this.ofLake(line) : renamed(line)];
      default:
        return [line];
    }
  }

  private asked(actor: string, job: PoolJob | LakeJob): void {
    this.jobs.set(job.id, { pool: /^pool\/([^#]*)/.exec(actor)?.[1] ?? subjectOf(job as LakeJob), job });
  }
  /** The outcome with its events. */
  private told(outcome: JobOutcome): JobOutcome {
    const asked = this.jobs.get(outcome.id);
    if (!asked || outcome.status !== 'done') return outcome;
    const event = this.events.get(changeOfJob(asked.pool, asked.job, outcome.commit))?.shift();
    return event ? { ...outcome, events: [event] } : outcome;
  }

  private ofLake(line: MessageRecord): MessageRecord {
    const { output } = line.event as { readonly output?: { readonly outcome?: JobOutcome } };
    if (!output?.outcome) return line;
    const outcome = this.told(output.outcome);
    const emitted = line.emitted?.map((one) => (one.type === 'settled' ? { ...one, outcomes: [outcome] } : one));
    return { ...line, event: { ...line.event, output: { ...output, outcome } }, ...(emitted && { emitted }) };
  }

  /**
   * One that was there already is told as if it had just been opened; when it is told of again there is nothing new.
   */
  private pool({ snapshot, emitted: _, ...line }: ActorRecord): readonly RecordLine[] {
    const { actor } = line;
    if (this.pools.has(actor)) return [];
    const { context } = (snapshot ?? {}) as { readonly context?: Readonly<Record<string, unknown>> };
    for (const jobs of [context?.['running'], context?.['waiting']])
      for (const job of Array.isArray(jobs) ? (jobs as readonly PoolJob[]) : []) this.asked(actor, job);
    const { poolId } = (context ?? line.input) as { readonly poolId: string };
    this.pools.set(actor, 'opening');
    const came: ActorRecord = { ...line, input: { poolId }, state: ['opening'] };
    if (!snapshot) return [came];
    const place = { seq: line.seq, ms: line.ms, actor, machine: line.machine };
    return [came, ...this.moves(place, { type: 'xstate.done.actor.0.pool.opening' }, 'idle')];
  }
  private ofPool(line: MessageRecord): readonly RecordLine[] {
    const { seq, ms, actor, machine, event, outcome } = line;
    if (outcome === 'dropped') return [];
    const place = { seq, ms, actor, machine };
    const lines: RecordLine[] = [];
    if (event.type.endsWith('.pool.opening'))
      lines.push(...this.moves(place, event, event.type.startsWith('xstate.done') ? 'idle' : 'failed'));
    const { unsound } = (event['output'] ?? {}) as { readonly unsound?: string };
    for (const { type, outcomes } of line.emitted ?? []) {
      const tried = type === 'settled' ? (outcomes as readonly JobOutcome[]).filter((o) => o.status !== 'refused') : [];
      if (tried.length === 0) continue;
      const settled = tried.map((one) => this.told(one));
      const jobs = settled.flatMap(({ id }) => this.jobs.get(id)?.job ?? []);
      lines.push(
        ...this.moves(place, { type: 'work waiting', jobs, waiting: 0 }, 'working', { type: 'begin' }),
        ...this.moves(
          place,
          { type: 'done', outcomes: settled, ...(unsound !== undefined && { unsound }), jobs: [], waiting: 0 },
          unsound === undefined ? 'idle' : 'failed',
          { type: 'settled', outcomes: settled },
        ),
      );
    }
    if (outcome === 'ended') lines.push(...this.moves(place, { type: 'close' }, 'closed'));
    return lines;
  }
  private moves(
    place: Pick<MessageRecord, 'seq' | 'ms' | 'actor' | 'machine'>,
    event: RecordedEvent,
    to: string,
    ...emitted: readonly RecordedEvent[]
  ): readonly MessageRecord[] {
    const from = this.pools.get(place.actor);
    if (from === undefined) return [];
    if (to === 'closed') this.pools.delete(place.actor);
    else this.pools.set(place.actor, to);
    const outcome = to === 'closed' ? 'ended' : 'moved';
    return [
      {
        kind: 'message',
        ...place,
        event,
        from: [from],
        to: [to],
        outcome,
        ...(emitted.length > 0 && { emitted }),
      },
    ];
  }
}

/** A load or a query begins before a thread has it. */
const begun = (line: ActorRecord): readonly RecordLine[] => {
  const { seq, ms, actor, machine, snapshot } = line;
  if (machine !== 'load' && machine !== 'query') return [line];
  const to = renamedStates(machine, line.state);
  if (snapshot !== undefined) {
    const { value } = snapshot as { readonly value: unknown };
    const now = machine === 'load' && value === 'waiting' ? { committing: 'prepared' } : value;
    return [{ ...line, state: to, snapshot: { ...snapshot, value: now } }];
  }
  const from = machine === 'load' ? ['waiting'] : ['working.waiting'];
  return [
    { ...line, state: from },
    { kind: 'message', seq, ms, actor, machine, event: { type: 'begun' }, from, to, outcome: 'moved' },
  ];
};
const renamed = (line: MessageRecord): MessageRecord => ({
  ...line,
  event: line.event.type.startsWith('xstate.after.') ? { type: 'time is over' } : line.event,
  from: renamedStates(line.machine, line.from),
  to: renamedStates(line.machine, line.to),
});
const renamedStates = (machine: MessageRecord['machine'], states: readonly string[]): readonly string[] =>
  machine === 'load' ? states.map((state) => (state === 'waiting' ? 'committing.prepared' : state)) : states;

const changeOfEvent = ({ kind, poolId, commitId, branch }: EventRecord['event']): string =>
  [kind, poolId, commitId ?? branch ?? ''].join(' ');
const changeOfJob = (pool: string, job: PoolJob | LakeJob, commit = ''): string => {
  switch (job.kind) {
    case 'create pool':
      return `pool-new ${pool} `;
    case 'rename pool':
    case 'set pool':
      return `pool-update ${pool} `;
    case 'delete pool':
      return `pool-delete ${pool} `;
    case 'create branch':
      return `branch-update ${pool} ${job.name}`;
    case 'delete branch':
      return `branch-delete ${pool} ${job.name}`;
    case 'reset':
    case 'protect':
    case 'create tag':
    case 'delete tag':
      throw new Error(`recordings of the first format have no ${job.kind}`);
    default:
      return `pool-commit ${pool} ${commit}`;
  }
};
