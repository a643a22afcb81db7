/**
 * Who has files made, one after the other: what somebody waits for first. The rest is done beside those who commit,
 * within a small part of the time, or at once when nobody does.
 */
import type { Render, RenderTurns } from './table.ts';

/** How many files are made at once: the other threads go on with what clients wait for. */
const rendersAtOnce = 1;
/**
 * After what nobody waits for, while there are commits, so many times as long as it took nothing of the kind begins: 64
 * clients that commit to a pool whose files are made after each lose 5 % at most (`npm run bench:engines`), and lost 60
 * where files were made one after the other.
 */
const restFactor = 19;
/** There are no commits any more. */
const quietMs = 250;

/** When it is, and what is to happen later: the process's own by default. */
interface Clock {
  readonly now: () => number;
  readonly later: (ms: number, then: () => void) => () => void;
}
const clockOfProcess: Clock = {
  now: () => performance.now(),
  later: (ms, then) => {
    const timer = setTimeout(then, ms).unref();
    return () => {
      clearTimeout(timer);
    };
  },
};

interface TurnsParts {
  readonly render: Render;
  /** Ends the pauses, and what waits. */
  readonly signal: AbortSignal;
  readonly clock?: Clock;
}

/** What waits for its turn. */
interface Waiting {
  readonly work: unknown;
  isUrgent: boolean;
  readonly begin: () => void;
}

/** Files are made so many at a time, in the order in which they were asked for. */
export class TurnsOfRenders implements RenderTurns {
  readonly render: Render;
  private readonly signal: AbortSignal;
  private readonly clock: Clock;
  private readonly urgent: Waiting[] = [];
  private others: Waiting[] = [];
  private running = 0;
  private hurries = 0;
  private restUntil = -Infinity;
  private quietFrom = -Infinity;
  private endPause: (() => void) | undefined;

  constructor({ render, signal, clock = clockOfProcess }: TurnsParts) {
    this.render = (request) => render({ ...request, signal });
    this.signal = signal;
    this.clock = clock;
    signal.addEventListener('abort', () => {
      this.next();
    });
  }

  /** Somebody commits. */
  committed(): void {
    this.quietFrom = this.clock.now() + quietMs;
  }
  /** Somebody waits for all that is to be made, until what this gives is called. */
  hurry(): () => void {
    this.hurries++;
    this.next();
    let isOver = false;
    return () => {
      if (!isOver) this.hurries--;
      isOver = true;
    };
  }

  async take<T>(work: () => Promise<T>, isUrgent: boolean): Promise<T> {
    const turn = await new Promise<Waiting>((resolve) => {
      const waiting: Waiting = {
        work,
        isUrgent,
        begin: () => {
          this.running++;
          resolve(waiting);
        },
      };
      (isUrgent ? this.urgent : this.others).push(waiting);
      this.next();
    });
    const began = this.clock.now();
    try {
      this.signal.throwIfAborted();
      return await work();
    } finally {
      const ended = this.clock.now();
      if (!turn.isUrgent) this.restUntil = ended + (ended - began) * restFactor;
      this.running--;
      this.next();
    }
  }

  /** Somebody came to wait for work that nobody waited for, which may have begun or ended. */
  hasten(work: () => unknown): void {
    const waiting = this.others.find((other) => other.work === work);
    if (!waiting) return;
    this.others = this.others.filter((other) => other !== waiting);
    waiting.isUrgent = true;
    this.urgent.push(waiting);
    this.next();
  }

  private next(): void {
    this.endPause?.();
    this.endPause = undefined;
    if (this.running >= rendersAtOnce) return;
    const pause = this.urgent.length > 0 || this.others.length === 0 ? 0 : this.pauseMs();
    if (pause > 0)
      this.endPause = this.clock.later(pause, () => {
        this.next();
      });
    else (this.urgent.shift() ?? this.others.shift())?.begin();
  }
  /** How long it is until what nobody waits for may begin, if nothing happens. */
  private pauseMs(): number {
    if (this.hurries > 0 || this.signal.aborted) return 0;
    return Math.min(this.restUntil, this.quietFrom) - this.clock.now();
  }
}
