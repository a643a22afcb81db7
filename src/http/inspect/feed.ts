/**
 * The inspector's live feed: what happens in the machines, for pages that watch.
 *
 * - While nobody watches, the last `ringMax` messages are kept, cut down to ids and counts; nothing else is done.
 * - Frames go out `frameMs` apart, made once for all who keep up: the messages of that time (`frameRecordsMax` at most)
 *   and the newest state of every actor that changed. A connection with more than `bufferedBytesMax` unread gets none;
 *   when it has read them it gets the whole state again, and is told how much it missed. So a slow page costs memory up
 *   to that bound, and never the service's time.
 * - Contents of records never go over this wire (inspect/trim.ts).
 */
import type { MachineName } from '../../../machines/machines.ts';
import type { Lake } from '../../lake/lake.types.ts';
import type { LiveActor, LiveDetail, LiveFrame, LiveHello, LiveRecord } from '../../recording/live.ts';
import type { ActorRecord, MessageRecord } from '../../recording/record.ts';
import type { MachineWatch, WatchedActor, WatchedSnapshot } from '../../recording/watch.ts';
import { clipped, liveContext, liveRecord, many } from './trim.ts';

const ringMaxDefault = 10_000;
const frameMs = 100;
const frameRecordsMax = 1000;
const actorsMax = 5000;
const bufferedBytesMax = 1 << 20;

/** A connection to a page: `ws` fits. */
export interface Wire {
  readonly bufferedAmount: number;
  send(text: string): void;
}
/** A connection that watches, as whoever holds its socket drives it. */
interface Watcher {
  /** What the page asked for. Anything else than a request is let go. */
  request(text: string): void;
  close(): void;
}

interface Actor {
  readonly machine: MachineName;
  readonly parent: string | undefined;
  readonly ref: WatchedActor;
  state: readonly string[];
  waiting: number;
  running: number;
}
interface Watching {
  readonly wire: Wire;
  chosen: string | null;
  detail: string;
  stale: boolean;
  missed: number;
  dropped: number;
}

/** How many jobs or events wait in an actor, and how many it works on. */
const countWork = (actor: Actor, context: unknown): void => {
  const { waiting, running } = context as { readonly waiting?: unknown; readonly running?: unknown };
  actor.waiting = many(waiting);
  actor.running = many(running);
};

/** The live feed of one service: knows its machines and sends frames to all who watch. */
export class Inspection {
  private readonly machines: MachineWatch;
  private readonly lake: Pick<Lake, 'pool'>;
  private readonly version: string;
  private readonly actors = new Map<string, Actor>();
  private readonly changed = new Set<string>();
  private readonly gone = new Set<string>();
  /** Pools that a job in hand renames. */
  private readonly renames = new Set<string>();
  /** The newest messages; the oldest is at `next` once it is full. */
  private readonly ring: LiveRecord[] = [];
  private next = 0;
  private messages = 0;
  private framed = 0;
  private readonly watching = new Set<Watching>();
  private timer: NodeJS.Timeout | undefined;
  private readonly unlisten: () => void;
  private readonly ringMax: number;

  constructor(watch: MachineWatch, lake: Pick<Lake, 'pool'>, version: string, ringMax = ringMaxDefault) {
    this.ringMax = ringMax;
    this.machines = watch;
    this.lake = lake;
    this.version = version;
    for (const record of watch.actors()) {
      const ref = watch.actor(record.actor);
      if (ref) this.came(record, ref);
    }
    this.unlisten = watch.listen(
      {
        actor: (record, ref) => this.came(record, ref),
        message: (record, snapshot) => this.message(record, snapshot),
      },
      { late: true },
    );
  }

  get size(): number {
    return this.watching.size;
  }

  /** Sends the whole state, then frames until `close`. */
  watch(wire: Wire): Watcher {
    this.machines.settle();
    const one: Watching = { wire, chosen: null, detail: '', stale: false, missed: 0, dropped: 0 };
    // What the others have not got yet is in the state that this one gets first.
    if (this.watching.size > 0) this.frame();
    this.framed = this.messages;
    this.watching.add(one);
    one.wire.send(JSON.stringify(this.hello(this.latest(this.ringMax), 0)));
    this.timer ??= setInterval(() => this.frame(), frameMs);
    return {
      request: (text) => this.request(one, text),
      close: () => {
        this.watching.delete(one);
        if (this.watching.size > 0) return;
        clearInterval(this.timer);
        this.timer = undefined;
        this.changed.clear();
        this.gone.clear();
      },
    };
  }

  close(): void {
    clearInterval(this.timer);
    this.unlisten();
    this.watching.clear();
  }

  private came(record: ActorRecord, ref: WatchedActor): void {
    const actor: Actor = {
      machine: record.machine,
      parent: record.parent,
      ref,
      state: record.state,
      waiting: 0,
      running: 0,
    };
    this.actors.set(record.actor, actor);
    countWork(actor, ref.getSnapshot().context);
    this.change(record.actor);
  }

  private message(record: MessageRecord, snapshot: WatchedSnapshot): void {
    this.messages++;
    if (this.ring.length < this.ringMax) this.ring.push(liveRecord(record));
    else {
      this.ring[this.next] = liveRecord(record);
      this.next = (this.next + 1) % this.ringMax;
    }
    const actor = this.actors.get(record.actor);
    if (!actor) return;
    if (record.outcome === 'ended') {
      this.actors.delete(record.actor);
      if (this.watching.size > 0) this.gone.add(record.actor);
      return;
    }
    actor.state = record.to;
    countWork(actor, snapshot.context);
    this.change(record.actor);
    if (record.actor === 'lake') this.renamed(record);
  }
  /** A pool's new name goes out with its next state. */
  private renamed({ event, emitted }: MessageRecord): void {
    const job = event['job'] as { readonly kind?: unknown; readonly poolId?: unknown } | undefined;
    if (job?.kind === 'rename pool') this.renames.add(`pool/${String(job.poolId)}`);
    if (emitted) for (const name of this.renames) this.change(name);
    if (this.actors.get('lake')?.running === 0) this.renames.clear();
  }
  private change(actor: string): void {
    if (this.watching.size > 0) this.changed.add(actor);
  }

  /** The newest `count` messages, oldest first. */
  private latest(count: number): readonly LiveRecord[] {
    const size = this.ring.length;
    const wanted = Math.min(count, size);
    return Array.from({ length: wanted }, (_, at) => this.ring[(this.next + size - wanted + at) % size]);
  }

  private live(name: string, { machine, parent, state, waiting, running }: Actor): LiveActor {
    const poolName = machine === 'pool' ? this.poolName(name.slice(5, 45)) : undefined;
    return {
      actor: name,
      machine,
      ...(parent !== undefined && { parent }),
      ...(poolName !== undefined && { name: poolName }),
      state,
      waiting,
      running,
    };
  }
  private poolName(id: string): string | undefined {
    try {
      return clipped(this.lake.pool(`0x${id}`).config.name);
    } catch {
      return undefined;
    }
  }

  private hello(records: readonly LiveRecord[], dropped: number): LiveHello {
    // Loads and queries that are left out come when they do something; the lake and its pools are the first ones in the
    // map.
    const names = [...this.actors.keys()];
    const kept =
      names.length > actorsMax
        ? [
            ...names.filter((n) => !/^(load|query)\//.test(n)),
            ...names.filter((n) => /^(load|query)\//.test(n)).reverse(),
          ].slice(0, actorsMax)
        : names;
    return {
      kind: 'hello',
      service: this.version,
      ms: Date.now(),
      actors: kept.map((name) => this.live(name, this.actors.get(name)!)),
      actorsLeftOut: names.length - kept.length,
      dropped,
      records,
    };
  }

  private frame(): void {
    this.machines.settle();
    const count = this.messages - this.framed;
    const records = this.latest(Math.min(count, frameRecordsMax));
    this.framed = this.messages;
    const idle = count === 0 && this.changed.size === 0 && this.gone.size === 0;
    const left = count - records.length;
    const actors = [...this.changed].flatMap((name) => {
      const actor = this.actors.get(name);
      return actor ? [this.live(name, actor)] : [];
    });
    const frame: Omit<LiveFrame, 'dropped'> = {
      kind: 'frame',
      ms: Date.now(),
      actors,
      gone: [...this.gone],
      records,
      messages: this.messages,
    };
    this.changed.clear();
    this.gone.clear();
    const texts = new Map<number, string>();
    for (const one of this.watching) {
      if (one.wire.bufferedAmount > bufferedBytesMax) {
        one.stale = true;
        one.missed += count;
        continue;
      }
      if (one.stale) {
        const newest = this.latest(Math.min(one.missed + count, frameRecordsMax));
        one.dropped += one.missed + count - newest.length;
        one.stale = false;
        one.missed = 0;
        one.wire.send(JSON.stringify(this.hello(newest, one.dropped)));
      } else if (!idle) {
        one.dropped += left;
        let text = texts.get(one.dropped);
        if (text === undefined)
          texts.set(one.dropped, (text = JSON.stringify({ ...frame, dropped: one.dropped } satisfies LiveFrame)));
        one.wire.send(text);
      }
      this.detail(one);
    }
  }

  private request(one: Watching, text: string): void {
    let request: unknown;
    try {
      request = JSON.parse(text);
    } catch {
      return;
    }
    const { kind, actor } = (request ?? {}) as { readonly kind?: unknown; readonly actor?: unknown };
    if (kind !== 'watch' || (actor !== null && typeof actor !== 'string')) return;
    one.chosen = actor;
    one.detail = '';
    this.detail(one);
  }

  /** Context and queue of the actor that the page shows, when they have changed. */
  private detail(one: Watching): void {
    const actor = one.chosen === null ? undefined : this.actors.get(one.chosen);
    if (!actor) return;
    const detail: LiveDetail = {
      kind: 'detail',
      actor: one.chosen!,
      ...liveContext(actor.machine, actor.ref.getSnapshot().context),
    };
    const text = JSON.stringify(detail);
    if (text === one.detail) return;
    one.detail = text;
    one.wire.send(text);
  }
}
