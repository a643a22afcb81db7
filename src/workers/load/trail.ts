/**
 * What a load tells its machine. A load of a small body is over within a turn of the event loop or two: its machine is
 * told at the turn's end, so that the client's answer goes first. Others tell as they go.
 *
 * Invariants:
 * - Messages keep their order, and each is told once.
 * - The machine begins with the load, or a turn behind it; it is told all by the turn after the last message.
 */
import type { LoadEvent } from '../../../machines/load.events.ts';
import type { LoadRun } from './run.ts';

/** The messages of one load that its machine has not been told. */
export class LoadTrail {
  private readonly begin: () => LoadRun;
  private run: LoadRun | undefined;
  private waiting: LoadEvent[] = [];
  private planned = false;

  /** `isSmall`: tell at the end of turns. */
  constructor(begin: () => LoadRun, isSmall: boolean) {
    this.begin = begin;
    if (isSmall) this.plan();
    else this.tell();
  }

  note(event: LoadEvent): void {
    this.waiting.push(event);
    if (!this.planned) this.tell();
  }
  /** Tells later what is noted from here on in this turn. */
  plan(): void {
    if (this.planned) return;
    this.planned = true;
    setImmediate(() => {
      this.planned = false;
      this.tell();
    });
  }

  private tell(): void {
    const { waiting } = this;
    this.waiting = [];
    this.run ??= this.begin();
    for (const event of waiting) this.run.send(event);
  }
}
