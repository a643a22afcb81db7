/**
 * The events of the lake: numbered, durable with the change that they tell of, readable again by number while they are kept.
 *
 * Invariants:
 * - An event's row is in the same transaction as its change; listeners hear of it after that is durable, in the order of the numbers of one pool.
 * - Numbers only grow, across restarts too; a change that was refused may leave a gap.
 */
import type { Draws, Id, LakeEvent, LakeFact, LakeOptions } from './lake.types.ts';
import { type Counters, countersKey, decodeCounters, decodeEvent, encodeCounters, encodeEvent, eventKey, idOfEventKey } from './rows.ts';
import type { Change, Tables } from './tables.ts';

/** The feed of one lake: gives events their numbers, tells listeners, and reads kept events again. */
export class Feed {
  private readonly tables: Tables;
  private readonly keptMax: number;
  private readonly report: (fault: unknown) => void;
  private readonly drew: ((poolId: Id, fact: LakeFact) => void) | undefined;
  private readonly draws: Draws | undefined;
  private readonly listeners = new Set<(event: LakeEvent) => void>();
  private readonly counters: { -readonly [K in keyof Counters]: Counters[K] };
  private published: number;

  constructor(tables: Tables, keptMax: number, report: (fault: unknown) => void, { drew, draws }: Pick<LakeOptions, 'drew' | 'draws'> = {}) {
    this.drew = drew;
    this.draws = draws;
    this.tables = tables;
    this.report = report;
    this.keptMax = keptMax;
    this.counters = decodeCounters(tables.get('about', countersKey));
    this.published = this.counters.event;
  }

  /** A new event and the rows that keep it. */
  make(draft: Omit<LakeEvent, 'id'>): { readonly event: LakeEvent; readonly changes: readonly Change[] } {
    const last = this.counters.event, id = this.draws?.eventId?.(last) ?? last + 1;
    this.counters.event = id;
    this.drew?.(draft.poolId, { what: 'event', id });
    const event = { id, ...draft }, changes: Change[] = [{ table: 'events', key: eventKey(id), payload: encodeEvent(event) }];
    if (id > this.keptMax) changes.push({ table: 'events', key: eventKey(id - this.keptMax) });
    return { event, changes };
  }
  /** The next object's place in the order of ties. */
  nextSequence(): number {
    return ++this.counters.sequence;
  }
  /** Goes into every transaction that used a number. */
  countersRow(): Change { return { table: 'about', key: countersKey, payload: encodeCounters(this.counters) }; }

  publish(events: readonly LakeEvent[]): void {
    for (const event of events) {
      this.published = Math.max(this.published, event.id);
      for (const listener of this.listeners) this.tell(listener, event);
    }
  }
  /** A listener's fault must not look like a fault of the commit, which is durable by now. */
  private tell(listener: (event: LakeEvent) => void, event: LakeEvent): void {
    try {
      listener(event);
    } catch (fault) {
      this.report(fault);
    }
  }
  listen(listener: (event: LakeEvent) => void): () => void {
    this.listeners.add(listener);
    return () => { this.listeners.delete(listener); };
  }

  /** Events after that number which listeners have heard of, the first `limit` of them; undefined if some of them are no longer kept, or the number was never given. */
  since(id: number, limit?: number): readonly LakeEvent[] | undefined {
    if (!Number.isSafeInteger(id) || id < 0 || id > this.published) return undefined;
    if (id === this.published) return [];
    const oldest = this.tables.keys('events', { limit: 1 })[0];
    if (!oldest || idOfEventKey(oldest) > id + 1) return undefined;
    return this.tables.rows('events', { start: eventKey(id + 1), ...(limit !== undefined && { limit }) }).map(({ key, payload }) => decodeEvent(key, payload)).filter((event) => event.id <= this.published);
  }
  last(): number { return this.published; }
}
