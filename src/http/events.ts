/**
 * The events feed: server-sent events of what changed in the lake.
 *
 * - Headers go out at once. An event is the lines `event`, `data`, `id` and a blank one; data of several lines is
 *   several `data` lines, binary formats are base64. Ids are the lake's: a client that comes back with `Last-Event-ID`
 *   gets what it missed, or a 410.
 * - An event is encoded once for each format in use, not once a subscriber.
 * - Each subscriber has its own bounded queue (machines/subscriber.machine.ts): who does not read is closed, and nobody
 *   else waits for it.
 * - Comments keep idle connections alive; proxies are told to keep nothing back.
 */
import { createActor, type Actor } from 'xstate';
import { subscriberMachine } from '../../machines/subscriber.machine.ts';
import type { EventKind, Lake, LakeEvent } from '../lake/lake.types.ts';
import { LakeError } from '../errors.ts';
import { type FormatName, isBinaryFormat } from '../format-names.ts';
import { eventValue } from './bodies/records.ts';
import { valueBytes } from './reply.ts';

/** Names of the events: the interface's, or those of SuperDB v0.2.0. */
type EventNames = 'interface' | 'superdb';
/** Bounds of the feed. */
interface FeedOptions {
  readonly subscribersMax: number;
  /** Events that may wait for one subscriber. */
  readonly waitingMax: number;
  /** Time between two comments; 0: none are sent. */
  readonly heartbeatMs: number;
  /** Told of every machine event and snapshot (XState inspection). */
  readonly inspect?: (event: unknown) => void;
  /** Default: the one of machines/. */
  readonly charts?: { readonly subscriber: typeof subscriberMachine };
  /** Says when to ask again who may still listen; returns the call that ends it. */
  readonly onRecheck?: (listener: () => void) => () => void;
}
/** The connection to a subscriber: a `ServerResponse` fits. */
export interface EventStream {
  readonly destroyed: boolean;
  on(event: 'drain' | 'close' | 'error', listener: () => void): unknown;
  writeHead(status: number, headers: Record<string, string>): unknown;
  flushHeaders(): void;
  /** False: it takes no more for now. */
  write(bytes: Uint8Array | string): boolean;
  end(): unknown;
  destroy(): unknown;
}
/** A subscriber, and what it asks for. */
interface SubscribeRequest {
  readonly response: EventStream;
  /** Headers of the answer that were set already. */
  readonly headers: Readonly<Record<string, string | number | string[] | undefined>>;
  readonly format: FormatName;
  readonly names: EventNames;
  /** Events after this one come first. */
  readonly lastEventId?: string;
  /** Whether an event is for this subscriber; default: every one is. */
  readonly wanted?: (event: LakeEvent) => boolean;
  /** Whether the subscriber may still listen, asked when `onRecheck` says so; default: yes. */
  readonly stillMay?: () => Promise<boolean>;
}

const superdbNames = {
  'pool-new': 'pool-new',
  'pool-update': 'pool-update',
  'pool-delete': 'pool-delete',
  'pool-commit': 'branch-commit',
  'branch-update': 'branch-update',
  'branch-delete': 'branch-delete',
  'branch-reset': 'branch-reset',
  'tag-new': 'tag-new',
  'tag-delete': 'tag-delete',
  'view-new': 'view-new',
  'view-update': 'view-update',
  'view-delete': 'view-delete',
} as const satisfies Record<EventKind, string>;

interface Subscriber {
  readonly actor: Actor<typeof subscriberMachine>;
  readonly request: SubscribeRequest;
  /** Bytes of the event that comes just now. */
  offered: Uint8Array;
  /** Bytes of the events that the machine counts as waiting, oldest first. */
  readonly waiting: Uint8Array[];
  /**
   * Bytes of the events of this turn, which are written together at its end: those of one transaction come one after
   * the other.
   */
  readonly turn: Uint8Array[];
  /** Id of the last event that was read from the log for it. */
  read: number;
}

/** Of the stream; proxies pass on what comes at once. */
export const eventHeaders = {
  'content-type': 'text/event-stream',
  'cache-control': 'no-cache',
  'x-accel-buffering': 'no',
} as const;

/** Sends the lake's events to everybody who subscribed. */
export class EventFeed {
  private readonly lake: Lake;
  private readonly options: FeedOptions;
  private readonly subscribers = new Set<Subscriber>();
  private readonly unlisten: () => void;
  private readonly endRechecks: (() => void) | undefined;
  private readonly heartbeat: NodeJS.Timeout | undefined;
  private sent = 0;
  private dropped = 0;

  constructor(lake: Lake, options: FeedOptions) {
    this.lake = lake;
    this.options = options;
    this.unlisten = lake.onEvent((event) => this.publish(event));
    this.endRechecks = options.onRecheck?.(() => {
      this.recheck();
    });
    if (options.heartbeatMs > 0) {
      this.heartbeat = setInterval(() => this.beat(), options.heartbeatMs);
      this.heartbeat.unref();
    }
  }

  get size(): number {
    return this.subscribers.size;
  }
  /** Events written, subscribers that are behind just now, and those that were closed for being too slow. */
  figures(): { readonly sent: number; readonly lagging: number; readonly dropped: number } {
    let lagging = 0;
    for (const { actor } of this.subscribers) if (actor.getSnapshot().value !== 'open') lagging++;
    return { sent: this.sent, lagging, dropped: this.dropped };
  }

  /**
   * Answers with a stream that ends with its client, its slowness or the service. @throws subscribers-full,
   * events-gone, event-id-invalid
   */
  subscribe(request: SubscribeRequest): void {
    if (this.subscribers.size >= this.options.subscribersMax)
      throw new LakeError('subscribers-full', { limit: this.options.subscribersMax });
    const last = this.lastSeen(request.lastEventId);
    const { response } = request;
    const actor = createActor(this.options.charts?.subscriber ?? subscriberMachine, {
      input: { waitingMax: this.options.waitingMax, lastId: this.lake.lastEventId() },
      ...(this.options.inspect && { inspect: this.options.inspect }),
    });
    const subscriber: Subscriber = { actor, request, offered: noBytes, waiting: [], turn: [], read: last };
    actor.on('write', () => {
      if (subscriber.turn.push(subscriber.offered) === 1) process.nextTick(writeTurn, subscriber);
    });
    actor.on('end', () => this.end(subscriber));
    response.on('drain', () => {
      if (!this.catchUp(subscriber)) drain(subscriber);
    });
    response.on('close', () => actor.send({ type: 'client left' }));
    response.on('error', () => actor.send({ type: 'client left' }));
    actor.start();
    this.subscribers.add(subscriber);
    // Who left before has closed already.
    if (response.destroyed) return actor.send({ type: 'client left' });
    response.writeHead(200, {
      ...request.headers,
      ...eventHeaders,
      'last-event-id': String(last),
    } as Record<string, string>);
    response.flushHeaders();
    if (last === this.lake.lastEventId()) return;
    actor.send({ type: 'fell behind' });
    this.catchUp(subscriber);
  }

  /** Ends all streams and listens no more. */
  close(): void {
    this.unlisten();
    this.endRechecks?.();
    clearInterval(this.heartbeat);
    for (const { actor } of [...this.subscribers]) actor.send({ type: 'service closing' });
  }

  private lastSeen(lastEventId: string | undefined): number {
    if (lastEventId === undefined || lastEventId === '') return this.lake.lastEventId();
    if (!/^\d{1,15}$/.test(lastEventId)) throw new LakeError('event-id-invalid', { id: lastEventId });
    const id = Number(lastEventId);
    if (!this.lake.eventsSince(id, 1))
      throw new LakeError('events-gone', { id: lastEventId, last: this.lake.lastEventId() });
    return id;
  }

  /**
   * Writes what a subscriber that catches up missed, as far as its connection takes it, a page of the log at a time.
   * False: it does not catch up.
   */
  private catchUp(subscriber: Subscriber): boolean {
    const { actor, request } = subscriber;
    if (actor.getSnapshot().value !== 'catching up') return false;
    for (;;) {
      const page = this.lake.eventsSince(subscriber.read, pageEvents);
      if (!page || page.length === 0) {
        actor.send({ type: page ? 'caught up' : 'log ended' });
        return true;
      }
      subscriber.read = page.at(-1)!.id;
      const wanted = request.wanted ? page.filter(request.wanted) : page;
      this.sent += wanted.length;
      if (
        wanted.length > 0 &&
        !request.response.write(Buffer.concat(wanted.map((event) => eventBytes(event, request))))
      )
        return true;
    }
  }

  private publish(event: LakeEvent): void {
    const encoded = new Map<string, Uint8Array>();
    for (const subscriber of [...this.subscribers]) {
      const { format, names, wanted } = subscriber.request;
      if (wanted && !wanted(event)) continue;
      const key = `${format} ${names}`;
      let bytes = encoded.get(key);
      if (!bytes) encoded.set(key, (bytes = eventBytes(event, subscriber.request)));
      offer(subscriber, event, bytes);
      this.sent++;
    }
  }

  /** Ends the streams of those who may no longer listen. */
  private recheck(): void {
    for (const { actor, request } of this.subscribers)
      void request.stillMay?.().then((may) => {
        if (!may) actor.send({ type: 'service closing' });
      });
  }

  private beat(): void {
    for (const { actor, request } of this.subscribers) {
      if (actor.getSnapshot().value === 'open' && !request.response.write(heartbeat))
        actor.send({ type: 'connection full' });
    }
  }

  private end(subscriber: Subscriber): void {
    this.subscribers.delete(subscriber);
    subscriber.waiting.length = 0;
    const { response } = subscriber.request;
    // Who is too slow gets no end of the chunked body: it must not take the stream for whole.
    if (subscriber.actor.getSnapshot().context.end === 'too slow') {
      this.dropped++;
      response.destroy();
      return;
    }
    if (subscriber.turn.length > 0 && !response.destroyed) response.write(Buffer.concat(subscriber.turn));
    subscriber.turn.length = 0;
    response.end();
  }
}

const noBytes = new Uint8Array(0);
const heartbeat = ': heartbeat\n';
/** Events that are read from the log at once. */
const pageEvents = 64;

/** Offers the event: the machine says whether it is written or waits; one that catches up reads it from the log. */
const offer = (subscriber: Subscriber, event: LakeEvent, bytes: Uint8Array): void => {
  const { actor, waiting } = subscriber;
  subscriber.offered = bytes;
  actor.send({ type: 'event came', id: event.id });
  if (actor.getSnapshot().context.waiting > waiting.length) waiting.push(bytes);
};
const writeTurn = ({ actor, request, turn }: Subscriber): void => {
  const bytes = turn.length === 1 ? turn[0] : Buffer.concat(turn);
  const none = turn.length === 0;
  turn.length = 0;
  if (none || request.response.destroyed) return;
  if (!request.response.write(bytes)) actor.send({ type: 'connection full' });
};

const drain = ({ actor, request, waiting }: Subscriber): void => {
  let taken = 0;
  let full = false;
  while (!full && taken < waiting.length) full = !request.response.write(waiting[taken++]);
  waiting.splice(0, taken);
  actor.send({ type: 'connection drained', taken, full });
};

/** The bytes of an event on the wire. */
export const eventBytes = (
  made: LakeEvent,
  { format, names }: { readonly format: FormatName; readonly names: EventNames },
): Uint8Array => {
  const event = names === 'superdb' ? asSuperdb(made) : made;
  const quick = format === 'json' ? jsonText(event) : undefined;
  if (quick !== undefined)
    return Buffer.from(
      `event: ${names === 'superdb' ? superdbNames[event.kind] : event.kind}\ndata: ${quick}\nid: ${event.id}\n\n`,
    );
  const bytes = valueBytes(eventValue(event), format);
  const text = isBinaryFormat(format)
    ? Buffer.from(bytes).toString('base64')
    : Buffer.from(bytes)
        .toString('utf8')
        .replace(/\r?\n$/, '');
  const data = text
    .split(/\r\n|\n|\r/)
    .map((line) => `data: ${line}\n`)
    .join('');
  return Buffer.from(
    `event: ${names === 'superdb' ? superdbNames[event.kind] : event.kind}\n${data}id: ${event.id}\n\n`,
  );
};

/** Of a merge SuperDB v0.2.0 gives the branch that was merged as `branch`, and the one that moved as `parent` alone. */
const asSuperdb = ({ child, ...event }: LakeEvent): LakeEvent =>
  child === undefined ? event : { ...event, branch: child };

/** Kinds with data of their own. */
const unusual = /^(?:view|tag)-|^branch-reset$/;
const plain = /^[\w ./:@-]*$/;
/**
 * What the JSON writer makes of the event, which costs as much as a tenth of a small commit; undefined where a name
 * would take quoting.
 */
const jsonText = ({
  kind,
  poolId,
  commitId,
  branch = '',
  parent = '',
  child,
  transactionId,
}: LakeEvent): string | undefined => {
  if (!plain.test(branch) || !plain.test(parent) || !plain.test(child ?? '') || unusual.test(kind)) return undefined;
  if (kind === 'pool-commit') {
    const merged = child === undefined ? '' : `,"child":"${child}"`;
    const transaction = transactionId === undefined ? '' : `,"transaction_id":"0x${transactionId}"`;
    return `{"commit_id":"0x${commitId}","pool_id":"0x${poolId}","branch":"${branch}","parent":"${parent}"${merged}${transaction}}`;
  }
  return kind === 'branch-update' || kind === 'branch-delete'
    ? `{"pool_id":"0x${poolId}","branch":"${branch}"}`
    : `{"pool_id":"0x${poolId}"}`;
};
