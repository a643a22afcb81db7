/**
 * The jobs of one pool that wait, and the pool's machine: hands it one group after the other, does what it begins, and
 * passes on what it settles.
 *
 * Invariants:
 * - The machine has one group at most; the others wait here, in the order in which they came.
 * - It hears of a group once: with `work waiting` when it has none, else with the message that ends the one before.
 */
import type { JobOutcome, PoolEvent, PoolJob, WorkDone } from '../../../machines/pool.events.ts';
import { nextJobs } from '../../../machines/pool.machine.ts';
import { LakeError } from '../../errors.ts';
import type { PoolActor } from '../actors.ts';

/** Most jobs that wait, and most loads that are committed together. */
export interface MailboxLimits {
  readonly waitingMax: number;
  readonly groupMax: number;
}
/** What the mailbox leaves to its pool. */
interface MailboxOwner {
  work(jobs: readonly PoolJob[]): Promise<WorkDone>;
  settle(outcomes: readonly JobOutcome[]): void;
}

/** Of a pool that is written to, until its machine has ended. */
export class Mailbox {
  readonly #actor: PoolActor;
  readonly #owner: MailboxOwner;
  readonly #limits: MailboxLimits;
  #waiting: PoolJob[] = [];
  /** The group that the machine has. */
  #group: readonly PoolJob[] = [];

  constructor(actor: PoolActor, owner: MailboxOwner, limits: MailboxLimits) {
    this.#actor = actor;
    this.#owner = owner;
    this.#limits = limits;
    actor.on('begin', () => {
      this.#begin();
    });
    actor.on('settled', ({ outcomes }) => {
      owner.settle(outcomes);
    });
    actor.subscribe({
      // What a machine refused at once leaves it free for the next group.
      next: () => {
        this.#hand();
      },
      complete: () => {
        owner.settle(
          this.#waiting.splice(0).map(({ id }) => ({ id, status: 'refused', why: 'closing', text: 'pool is closing' })),
        );
      },
    });
  }

  /** False: so many jobs wait already. */
  post(job: PoolJob): boolean {
    if (this.#waiting.length >= this.#limits.waitingMax) return false;
    this.#waiting.push(job);
    this.#hand();
    return true;
  }
  /** Why a job was not taken. */
  full(): LakeError {
    return new LakeError('jobs-full', { fault: `${this.#limits.waitingMax} pending (option -queue.max)` });
  }
  get waiting(): number {
    return this.#waiting.length;
  }
  get running(): number {
    return this.#actor.getSnapshot().context.running.length;
  }

  #hand(): void {
    const { status, context } = this.#actor.getSnapshot();
    if (status === 'active' && context.running.length === 0 && this.#waiting.length > 0)
      this.#send({ type: 'work waiting', ...this.#next() });
  }
  #next(): { readonly jobs: readonly PoolJob[]; readonly waiting: number } {
    this.#group = nextJobs(this.#waiting, this.#limits.groupMax);
    this.#waiting = this.#waiting.slice(this.#group.length);
    return { jobs: this.#group, waiting: this.#waiting.length };
  }
  #begin(): void {
    this.#owner.work(this.#group).then(
      (done) => {
        this.#send({ type: 'done', ...done, ...this.#next() });
      },
      (error: unknown) => {
        const text = error instanceof Error ? error.message : String(error);
        this.#send({ type: 'broke', text, ...this.#next() });
      },
    );
  }
  #send(event: PoolEvent): void {
    this.#actor.send(event);
  }
}
