/**
 * Replays a recording against the machines alone: every message that was recorded goes through `transition()` of its
 * machine again, and what the machine does then is compared with what it did: states, what it emitted, and by that the
 * commits, tips and events of the lake (ledger.ts). The same messages give the same (P9).
 */
import { isDeepStrictEqual } from 'node:util';
import { machines } from '../../machines/machines.ts';
import { LakeError } from '../errors.ts';
import { type LakeJob, subjectOf } from '../../machines/lake.events.ts';
import type { PoolJob } from '../../machines/pool.events.ts';
import { type Findings, FindingList, sameJson } from './differences.ts';
import { type BookedEvent, bookEvent, Ledger } from './ledger.ts';
import { MachinePlayer, revived } from './player.ts';
import type { PlacedLine } from './reader.ts';
import type { ActorRecord, HeaderRecord, MessageRecord, RecordedCommit, RecordedEvent } from './record.ts';

/** What a replay against the machines went through, and what came out otherwise. */
export interface ReplayReport extends Findings {
  readonly messages: number;
  readonly actors: number;
  readonly commits: number;
  readonly events: number;
  readonly tips: number;
}

/** @throws recording-invalid */
export const replayMachines = async (
  lines: AsyncIterable<PlacedLine>,
  charts: typeof machines = machines,
): Promise<ReplayReport> => {
  const replay = new Replay(charts);
  for await (const line of lines) replay.take(line);
  return replay.report();
};

class Replay {
  private readonly charts: typeof machines;
  private readonly players = new Map<string, MachinePlayer>();
  /** Actors that went another way: what they do later says nothing. */
  private readonly astray = new Set<string>();
  private ledger = new Ledger();
  private told = new Map<string, BookedEvent[]>();
  private drawn = new Map<string, { readonly branch: string; readonly commit: RecordedCommit }>();
  /** Jobs that were under way where the recording begins: what was drawn for them may stand before. */
  private readonly underWay = new Set<number>();
  private readonly findings = new FindingList();
  private counts = { messages: 0, actors: 0, commits: 0, events: 0, tips: 0 };
  private header: HeaderRecord | undefined;
  private ended = false;

  constructor(charts: typeof machines) {
    this.charts = charts;
  }

  take({ line, path, number }: PlacedLine): void {
    const step = `${path}:${number}`;
    switch (line.kind) {
      case 'header':
        if (!this.header && line.part > 1)
          this.findings.note(
            `parts 1 to ${line.part - 1} of the recording are gone: it is replayed from part ${line.part} on`,
          );
        if (this.header && line.part !== this.header.part + 1)
          throw new LakeError('recording-invalid', {
            file: path,
            line: number,
            fault: `part ${line.part} follows part ${this.header.part}`,
          });
        this.header = line;
        return;
      case 'actor':
        return this.actor(line, step);
      case 'message':
        return this.message(line, step);
      case 'given':
        if (!this.ledger.tips.has(line.pool)) this.ledger.given(line.pool, line.branches);
        else
          this.findings.compare(
            step,
            `branches of pool ${line.pool}`,
            sorted(line.branches),
            sorted(this.ledger.tips.get(line.pool)!),
          );
        return;
      case 'drawn':
        // Commits of a transaction have one id in several pools.
        if (line.fact.what === 'commit') this.drawn.set(`${line.pool} ${line.fact.commit.id}`, line.fact);
        return;
      case 'event':
        bookEvent(this.told, line.event);
        return;
      case 'tip':
        this.counts.tips++;
        return this.findings.compare(
          step,
          `tip of ${line.pool} ${line.branch}`,
          line.commit,
          this.ledger.tips.get(line.pool)?.get(line.branch),
        );
      case 'lost':
        this.findings.note(`${line.lines} lines were lost before ${step}: what follows is replayed from there`);
        this.books(step, 'cut off');
        this.players.clear();
        this.astray.clear();
        this.ledger = new Ledger();
        this.told = new Map();
        return;
      case 'end':
        this.ended = true;
        return this.books(step, 'whole');
      case 'objects':
        return;
    }
  }

  report(): ReplayReport {
    if (!this.ended) {
      this.findings.note('the recording has no end: the service was killed, or still writes it');
      this.books('end', 'cut off');
    }
    return { ...this.counts, ...this.findings.report() };
  }

  private actor(line: ActorRecord, step: string): void {
    const known = this.players.get(line.actor);
    if (known && line.snapshot !== undefined) {
      if (!this.astray.has(line.actor)) this.findings.compare(step, `state of ${line.actor}`, line.state, known.state);
      return;
    }
    this.counts.actors++;
    const player = new MachinePlayer(
      this.charts[line.machine],
      line.snapshot === undefined ? { input: line.input } : { snapshot: line.snapshot },
      line.ms,
    );
    this.players.set(line.actor, player);
    if (line.snapshot === undefined) {
      this.compareActor(
        line.actor,
        step,
        { state: line.state, emitted: line.emitted ?? [] },
        { state: player.state, emitted: player.emittedFirst },
      );
      this.settle(player.emittedFirst, step);
      return;
    }
    // Jobs that it had before.
    const { waiting, running } = player.context as { readonly waiting?: unknown; readonly running?: unknown };
    for (const jobs of [running, waiting])
      for (const job of Array.isArray(jobs) ? jobs : [jobs]) {
        if (!isJob(job)) continue;
        this.asked(line.actor, job);
        if (jobs === running) this.underWay.add(job.id);
      }
  }

  private message(line: MessageRecord, place: string): void {
    this.counts.messages++;
    const { actor, event } = line;
    const step = `${place} (message ${line.seq}, ${actor}: ${event.type})`;
    if (this.astray.has(actor)) return;
    const player = this.players.get(actor);
    if (!player) {
      if (line.outcome !== 'dropped')
        this.findings.differ({ step, what: 'actor', expected: actor, found: 'no such actor' });
      return;
    }
    for (const job of jobsOf(event)) this.asked(actor, job);
    const found = player.send(revived(event));
    this.settle(found.emitted, step);
    if (!found.taken) this.findings.differ({ step, what: 'event', expected: 'taken', found: 'no state takes it' });
    this.compareActor(
      actor,
      step,
      { from: line.from, to: line.to, outcome: line.outcome, emitted: line.emitted ?? [] },
      { from: found.from, to: found.to, outcome: found.outcome, emitted: found.emitted },
    );
    if (player.ended) this.players.delete(actor);
  }

  private asked(actor: string, job: PoolJob | LakeJob): void {
    this.ledger.asked(poolOf(actor) ?? subjectOf(job as LakeJob), job);
  }
  private settle(emitted: readonly RecordedEvent[], step: string): void {
    for (const event of emitted)
      for (const fault of this.ledger.emitted(event))
        this.findings.differ({ step, what: 'settled jobs', expected: 'each job once', found: fault });
  }

  /**
   * Compares what the machines' outcomes came to with what the lake told. What was cut off may lack the outcomes of its
   * last changes.
   */
  private books(step: string, end: 'whole' | 'cut off'): void {
    if (end === 'whole') this.findings.compare(step, 'jobs that were not settled', [], this.ledger.open);
    for (const key of new Set([...this.told.keys(), ...this.ledger.events.keys()])) {
      const found = this.ledger.events.get(key) ?? [];
      const told = this.told.get(key) ?? [];
      const expected = end === 'whole' ? told : told.slice(0, found.length);
      this.counts.events += found.length;
      const at = expected.findIndex((event, i) => !isDeepStrictEqual(event, found[i]));
      if (at >= 0 || expected.length !== found.length)
        this.findings.differ({
          step,
          what: `event ${at < 0 ? Math.min(expected.length, found.length) + 1 : at + 1} of ${key}`,
          expected: expected[at < 0 ? found.length : at],
          found: found[at < 0 ? expected.length : at],
        });
    }
    for (const [pool, commits] of this.ledger.commits) {
      this.counts.commits += commits.length;
      for (const { id, job, branch, parent } of commits) {
        const drawn = this.drawn.get(`${pool} ${id}`);
        if (!drawn && this.underWay.has(job)) continue;
        this.findings.compare(
          step,
          `commit ${id} of pool ${pool}`,
          drawn && { branch: drawn.branch, parent: drawn.commit.parent },
          { branch, parent },
        );
      }
    }
    this.drawn = new Map();
  }

  private compareActor(
    actor: string,
    step: string,
    expected: Readonly<Record<string, unknown>>,
    found: Readonly<Record<string, unknown>>,
  ): void {
    for (const [what, value] of Object.entries(expected)) {
      if (sameJson(value, found[what])) continue;
      this.astray.add(actor);
      this.findings.differ({ step, what, expected: value, found: found[what] });
      return;
    }
  }
}

/** The jobs that a message brings to its machine: one of the lake's, or a group of a pool's. */
export const jobsOf = ({ job, jobs }: RecordedEvent): readonly (PoolJob | LakeJob)[] =>
  Array.isArray(jobs) ? jobs.filter(isJob) : isJob(job) ? [job] : [];
const isJob = (value: unknown): value is PoolJob | LakeJob =>
  typeof value === 'object' && value !== null && 'id' in value && 'kind' in value;

const poolOf = (actor: string): string | undefined => /^pool\/([^#]*)/.exec(actor)?.[1];
const sorted = (pairs: Iterable<readonly [string, string]>): readonly (readonly [string, string])[] =>
  [...pairs].map(([a, b]) => [a, b] as const).sort(([a], [b]) => (a < b ? -1 : a > b ? 1 : 0));
