/**
 * The jobs of one pool that wait, and the pool's machine: hands it one group after the other, does what it begins, and
 * passes on what it settles.
 *
 * Invariants:
 * - The machine has one group, or several of loads where they may be under way side by side, each begun when the one
 *   before has its place in the log; the others wait here, in the order in which they came.
 * - It hears of a group once: with `work waiting`, or with the message that ends the one before.
 * - Groups end in the order in which they were begun.
 */
import type { JobOutcome, PoolEvent, PoolJob, WorkDone } from '../../../machines/pool.events.ts';
import { nextBehind, nextJobs } from '../../../machines/pool.machine.ts';
import { LakeError, messageOf } from '../../errors.ts';
import type { PoolActor } from '../actors.ts';

/** Most jobs that wait, and most loads that are committed together. */
export interface MailboxLimits {
  readonly waitingMax: number;
  readonly groupMax: number;
  /** Groups that may be under way at once. */
  readonly groupsMax: () => number;
}
/** What the mailbox leaves to its pool. */
interface MailboxOwner {
  /** `placed`: called when loads have their place in the log, so that others can go behind them. */
  work(jobs: readonly PoolJob[], placed: () => void): Promise<WorkDone>;
  settle(outcomes: readonly JobOutcome[]): void;
}

/** The group that goes next, and how many jobs wait behind it. */
interface Next {
  readonly jobs: readonly PoolJob[];
  readonly waiting: number;
}

/** Of a pool that is written to, until its machine has ended. */
export class Mailbox {
  private readonly actor: PoolActor;
  private readonly owner: MailboxOwner;
  private readonly limits: MailboxLimits;
  private waitingJobs: PoolJob[] = [];
  /** The group that was handed over last. */
  private group: readonly PoolJob[] = [];
  /** Groups that were begun and have not ended; the end of the last one. */
  private underWay = 0;
  private ended: Promise<unknown> = Promise.resolve();
  /** Others can go behind what is under way. */
  private isPlaced = false;

  constructor(actor: PoolActor, owner: MailboxOwner, limits: MailboxLimits) {
    this.actor = actor;
    this.owner = owner;
    this.limits = limits;
    actor.on('begin', () => {
      this.begin();
    });
    actor.on('settled', ({ outcomes }) => {
      owner.settle(outcomes);
    });
    actor.subscribe({
      // What a machine refused at once leaves it free for the next group.
      next: () => {
        this.hand();
      },
      complete: () => {
        owner.settle(
          this.waitingJobs
            .splice(0)
            .map(({ id }) => ({ id, status: 'refused', why: 'closing', text: 'pool is closing' })),
        );
      },
    });
  }

  /** False: so many jobs wait already. */
  post(job: PoolJob): boolean {
    if (this.waitingJobs.length >= this.limits.waitingMax) return false;
    this.waitingJobs.push(job);
    this.hand();
    return true;
  }
  /** Why a job was not taken. */
  full(): LakeError {
    return new LakeError('jobs-full', { fault: `${this.limits.waitingMax} pending (option -queue.max)` });
  }
  get waiting(): number {
    return this.waitingJobs.length;
  }
  get running(): number {
    return this.actor.getSnapshot().context.running.length;
  }

  private hand(): void {
    if (this.waitingJobs.length === 0) return;
    const { status, context } = this.actor.getSnapshot();
    if (status !== 'active' || context.running.length > (this.isPlaced ? Infinity : 0)) return;
    const { jobs, waiting } = this.next();
    if (jobs.length > 0) this.send({ type: 'work waiting', jobs, waiting });
  }
  private next(): Next {
    const { groupMax, groupsMax } = this.limits;
    let jobs: readonly PoolJob[] = [];
    if (this.underWay === 0) jobs = nextJobs(this.waitingJobs, groupMax);
    else if (this.isPlaced && this.underWay < groupsMax()) jobs = nextBehind(this.waitingJobs, groupMax);
    if (jobs.length > 0) {
      this.group = jobs;
      this.waitingJobs = this.waitingJobs.slice(jobs.length);
    }
    return { jobs, waiting: this.waitingJobs.length };
  }
  private begin(): void {
    const group = this.group;
    const before = this.ended;
    this.underWay++;
    this.isPlaced = false;
    const ended = this.owner
      .work(group, () => {
        // What comes in this turn of the event loop goes together.
        setImmediate(() => {
          this.isPlaced = this.group === group;
          this.hand();
        });
      })
      .then(
        (done) => this.doneWith(done),
        (error: unknown) => this.brokeWith(messageOf(error), group.length),
      );
    this.ended = Promise.all([ended, before]).then(([end]) => {
      this.underWay--;
      this.send(end(this.next()));
    });
  }
  // All fields of a message by name: behind spreads each would be of a class of its own to the engine.
  private doneWith({ outcomes, unsound }: WorkDone): (next: Next) => PoolEvent {
    return ({ jobs, waiting }) => ({ type: 'done', outcomes, unsound, jobs, waiting });
  }
  private brokeWith(text: string, count: number): (next: Next) => PoolEvent {
    return ({ jobs, waiting }) => ({ type: 'broke', text, count, jobs, waiting });
  }
  private send(event: PoolEvent): void {
    this.actor.send(event);
  }
}
