/**
 * The events of the lake: numbered, durable with the change that they tell of, readable again by number while they are
 * kept.
 *
 * Invariants:
 * - An event's row is in the same transaction as its change; listeners hear of it after that is durable, in the order
 *   of the numbers.
 * - Numbers have no gaps: one is drawn when its change was not refused, in the order of the log, and numbers of changes
 *   that the disk did not take are drawn again. So what is not kept any more is seen by the first number that is.
 */
import type { Draws, Id, LakeEvent, LakeFact, LakeOptions } from './lake.types.ts';
import {
  type Counters,
  countersKey,
  decodeCounters,
  decodeRow,
  encodeCounters,
  encodeEvent,
  eventKey,
  idOfEventKey,
} from './tables/rows.ts';
import type { Change, Tables } from './tables/tables.ts';

/** Events that go with a new one: more than one where fewer are kept than before. */
const removedAtOnce = 8;

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
  /** Drawn and not told yet, in their order; `event`: once it is durable. */
  private drawn: { readonly id: number; event?: LakeEvent }[] = [];
  /** From here on all are kept, without a gap. */
  private oldest = 0;
  /** Keys of others: behind a gap that earlier builds or a repair left. */
  private stale: Buffer[] = [];

  constructor(
    tables: Tables,
    keptMax: number,
    report: (fault: unknown) => void,
    { drew, draws }: Pick<LakeOptions, 'drew' | 'draws'> = {},
  ) {
    this.drew = drew;
    this.draws = draws;
    this.tables = tables;
    this.report = report;
    this.keptMax = keptMax;
    this.counters = decodeCounters(tables.get('about', countersKey));
    this.published = this.counters.event;
    this.findOldest();
    tables.refused = () => {
      // Nothing that was drawn since is on its way any more.
      Object.assign(this.counters, decodeCounters(tables.get('about', countersKey)));
      this.findOldest();
      this.drawn = this.drawn.filter(({ id }) => id <= this.counters.event);
      this.tellDrawn();
    };
  }

  private findOldest(): void {
    const keys = this.tables.keys('events');
    let from = keys.length;
    for (this.oldest = this.counters.event + 1; from > 0 && idOfEventKey(keys[from - 1]) === this.oldest - 1; from--)
      this.oldest--;
    this.stale = keys.slice(0, from);
  }
  /**
   * A new event of a pool, which `draft` makes of its number; the rows that keep it go to `changes`. To be called when
   * nothing can refuse the change any more.
   */
  make(poolId: Id, changes: Change[], draft: (id: number) => LakeEvent): LakeEvent {
    const last = this.counters.event;
    const id = this.draws?.eventId?.(last) ?? last + 1;
    this.counters.event = id;
    this.drawn.push({ id });
    this.drew?.(poolId, { what: 'event', id });
    const event = draft(id);
    changes.push({ table: 'events', key: eventKey(id), payload: encodeEvent(event) });
    for (let left = removedAtOnce; left > 0 && this.oldest <= id - this.keptMax; left--)
      changes.push({ table: 'events', key: eventKey(this.oldest++) });
    if (this.stale.length > 0) {
      for (const key of this.stale.slice(0, removedAtOnce)) changes.push({ table: 'events', key });
      this.stale = this.stale.slice(removedAtOnce);
    }
    return event;
  }
  /** Makes what a transaction is to write, with the numbers that it draws; what throws has drawn none. */
  drawing<T>(make: () => T): T {
    const before = { ...this.counters };
    const {
      oldest,
      drawn: { length },
      stale,
    } = this;
    try {
      return make();
    } catch (fault) {
      Object.assign(this.counters, before);
      Object.assign(this, { oldest, stale });
      this.drawn.length = length;
      throw fault;
    }
  }
  /** The next object's place in the order of ties. */
  nextSequence(): number {
    return ++this.counters.sequence;
  }
  /** Goes into every transaction that used a number. */
  countersRow(): Change {
    return { table: 'about', key: countersKey, payload: encodeCounters(this.counters) };
  }

  /** Writes rows with the event that tells of them. Answers with the event, for whoever settles the change. */
  async write(
    draft: Omit<LakeEvent, 'id'>,
    rows: readonly Change[],
    check: () => void,
    options: { readonly frees?: boolean } = {},
  ): Promise<readonly LakeEvent[]> {
    const events: LakeEvent[] = [];
    await this.tables.write(
      () =>
        this.drawing(() => {
          const changes = [...rows];
          events.push(this.make(draft.poolId, changes, (id) => ({ id, ...draft })));
          changes.push(this.countersRow());
          return changes;
        }),
      check,
      options,
    );
    return events;
  }

  /**
   * Tells listeners of changes that a machine has settled, once all events before have been told: what is durable
   * together is heard of in the order of the numbers, whichever pool settles first.
   */
  publish(events: readonly LakeEvent[]): void {
    for (const event of events) {
      const place = this.drawn.find(({ id }) => id === event.id);
      if (place) place.event = event;
    }
    this.tellDrawn();
  }
  /** What was a replica writes from here on. */
  lead(): void {
    this.findOldest();
  }
  /** A replica's tables have these rows now: listeners hear of the events among them. */
  followed(changes: readonly Change[]): void {
    const events: LakeEvent[] = [];
    for (const { table, key, payload } of changes) {
      const row = Buffer.from(key);
      if (table === 'about' && row.equals(countersKey) && payload)
        Object.assign(this.counters, decodeCounters(Buffer.from(payload)));
      if (table !== 'events') continue;
      if (payload) events.push(decodeRow('events', row, Buffer.from(payload)));
      else this.oldest = Math.max(this.oldest, idOfEventKey(row) + 1);
    }
    for (const event of events) {
      // What is read again after a stop was told before.
      if (event.id <= this.published) continue;
      this.published = event.id;
      for (const listener of this.listeners) this.tell(listener, event);
    }
  }
  private tellDrawn(): void {
    let end = 0;
    for (; end < this.drawn.length && this.drawn[end].event; end++);
    for (const { id, event } of this.drawn.splice(0, end)) {
      this.published = id;
      for (const listener of this.listeners) this.tell(listener, event!);
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
    return () => {
      this.listeners.delete(listener);
    };
  }

  /**
   * Events after that number which listeners have heard of, the first `limit` of them; undefined if some of them are no
   * longer kept, or the number was never given.
   */
  since(id: number, limit?: number): readonly LakeEvent[] | undefined {
    if (!Number.isSafeInteger(id) || id < 0 || id > this.published) return undefined;
    if (id === this.published) return [];
    if (id + 1 < this.oldest) return undefined;
    return this.tables
      .rows('events', { start: eventKey(id + 1), ...(limit !== undefined && { limit }) })
      .map(({ key, payload }) => decodeRow('events', key, payload))
      .filter((event) => event.id <= this.published);
  }
  last(): number {
    return this.published;
  }
  /**
   * The last event whose change is settled, though listeners may not have heard of it yet: those of other changes before
   * it are durable too, but not settled.
   */
  settledLast(): number {
    return this.drawn.findLast(({ event }) => event)?.id ?? this.published;
  }
}
