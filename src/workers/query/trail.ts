/**
 * What a query tells its machine, at the end of the turn of the event loop in which it happened: the client's bytes go
 * first.
 *
 * Invariants:
 * - Messages keep their order. Whoever looks at the machine tells it first what is waiting.
 * - The machine begins when its first message is told, or a turn after the query.
 */
import type { Actor } from 'xstate';
import type { QueryEvent } from '../../../machines/query.events.ts';
import type { queryMachine } from '../../../machines/query.machine.ts';

type QueryActor = Actor<typeof queryMachine>;

/** The messages of one query that its machine has not been told. */
export class QueryTrail {
  private readonly begin: () => QueryActor;
  /** Trails with something to tell. */
  private readonly untold: Set<QueryTrail>;
  private begun: QueryActor | undefined;
  private waiting: QueryEvent[] = [];

  constructor(begin: () => QueryActor, untold: Set<QueryTrail>) {
    this.begin = begin;
    this.untold = untold;
    this.plan();
  }

  note(event: QueryEvent): void {
    this.waiting.push(event);
    this.plan();
  }

  /** The machine as it is now. */
  actor(): QueryActor {
    const { waiting } = this;
    this.untold.delete(this);
    this.waiting = [];
    this.begun ??= this.begin();
    for (const event of waiting) this.begun.send(event);
    return this.begun;
  }

  private plan(): void {
    if (this.untold.has(this)) return;
    this.untold.add(this);
    setImmediate(() => {
      if (this.untold.has(this)) this.actor();
    });
  }
}
