/**
 * Turns XState's inspection events into records (record.ts): one when an actor comes, one for every message that
 * entered an actor. The recording and the inspector's feed listen to the same watch, so that both number the messages
 * alike.
 *
 * - `inspect` goes into `createActor` of every root actor of the service; the actors of pools come along with the
 *   lake's. Work that a machine invoked (promises) is no actor of its own here: what it ends with is a message to its
 *   machine.
 * - Nothing is made for a message while nobody listens.
 * - A listener is called while the actor is at work: it must return at once and must not throw.
 * - Listeners that need not know at once (`late`) are told of some messages together, while no other listens: theirs is
 *   not the time of those whose jobs the actors do.
 */
import { type MachineName, machineNames } from '../../machines/machines.ts';
import { type ActorRecord, type MessageRecord, type RecordedEvent } from './record.ts';

/** What is seen of an actor's snapshot. */
export interface WatchedSnapshot {
  readonly status: string;
  readonly value: unknown;
  readonly context: unknown;
}
/** What is seen of an actor: XState's own, without its types. */
export interface WatchedActor {
  readonly logic?: { readonly id?: string };
  readonly id: string;
  readonly src?: unknown;
  readonly _parent?: WatchedActor;
  /**
   * What the watch knows of it, where it has a place for that: a weak map of actors as short-lived as loads costs each
   * collection.
   */
  watched?: unknown;
  getSnapshot(): WatchedSnapshot;
  getPersistedSnapshot(): unknown;
  on(type: '*', listener: (event: RecordedEvent) => void): unknown;
}
/** Told of actors and messages. */
interface WatchListener {
  /** An actor has started. `ref` can be asked for its snapshot as long as it is there. */
  actor?(record: ActorRecord, ref: WatchedActor): void;
  /** A message was taken. `snapshot`: the actor's, behind it. */
  message(record: MessageRecord, snapshot: WatchedSnapshot): void;
}

interface Pending {
  readonly event: RecordedEvent;
  readonly seq: number;
  readonly ms: number;
  readonly by?: string | undefined;
}
/** A message that was taken and is still to be told. */
interface Untold {
  readonly one: Tracked;
  readonly pending: Pending;
  readonly snapshot: WatchedSnapshot;
  readonly emitted: readonly RecordedEvent[];
  readonly dropped: boolean;
}
interface Tracked {
  readonly name: string;
  readonly machine: MachineName;
  readonly parent?: string;
  readonly ref: WatchedActor;
  readonly pending: Pending[];
  input: unknown;
  value: unknown;
  state: readonly string[];
  emitted: readonly RecordedEvent[];
  begun: boolean;
}
interface Inspected {
  readonly type: string;
  readonly actorRef: WatchedActor;
  readonly sourceRef?: WatchedActor;
  readonly event?: RecordedEvent;
  readonly snapshot?: WatchedSnapshot;
}

/** Their names are not numbered. */
const repeated: ReadonlySet<MachineName> = new Set(['lake', 'store', 'pool']);
const known: ReadonlySet<string> = new Set(machineNames);
const nothing: readonly RecordedEvent[] = [];
/** Messages that may be untold: they hold on to what the actors knew. */
const untoldMax = 64;

/** Sees all actors of one service and numbers what happens to them. */
export class MachineWatch {
  private readonly listeners = new Set<WatchListener>();
  /** Those of them that must be told at once. */
  private readonly prompt = new Set<WatchListener>();
  private untold: Untold[] = [];
  /** Those that have no place of their own for it. */
  private readonly tracked = new WeakMap<WatchedActor, Tracked>();
  /** Actors that have not ended, by name. */
  private readonly live = new Map<string, Tracked>();
  private readonly counts = new Map<MachineName, number>();
  private lastSeq = 0;
  private readonly now: () => number;

  constructor(now: () => number = steadyNow) {
    this.now = now;
  }

  /** `late`: messages may wait until there are more of them, or until somebody calls `settle`. */
  listen(listener: WatchListener, { late = false }: { readonly late?: boolean } = {}): () => void {
    this.settle();
    this.listeners.add(listener);
    if (!late) this.prompt.add(listener);
    return () => {
      this.settle();
      this.listeners.delete(listener);
      this.prompt.delete(listener);
    };
  }
  /** Tells what was not told yet. */
  settle(): void {
    const { untold } = this;
    if (untold.length === 0) return;
    this.untold = [];
    for (const one of untold) this.tellNow(one);
  }

  /** The next number, for lines that tell of something other than a message. */
  nextSeq(): number {
    return ++this.lastSeq;
  }

  /** The actors that are there; with `snapshots`, each with what XState persists of it. */
  actors(options: { readonly snapshots: boolean } = { snapshots: false }): readonly ActorRecord[] {
    this.settle();
    return [...this.live.values()]
      .filter((one) => one.begun)
      .map((one) => ({
        ...this.actorRecord(one, { seq: this.nextSeq(), ms: this.now() }),
        ...(options.snapshots && { snapshot: one.ref.getPersistedSnapshot() }),
      }));
  }
  /** The actor of that name, while it has not ended. */
  actor(name: string): WatchedActor | undefined {
    return this.live.get(name)?.ref;
  }

  /** For `createActor`. */
  readonly inspect = (inspection: unknown): void => {
    const { type, actorRef, sourceRef, event, snapshot } = inspection as Inspected;
    if (type === '@xstate.actor') this.came(actorRef);
    else if (type === '@xstate.event') this.sent(actorRef, sourceRef, event!);
    else if (type === '@xstate.snapshot') this.taken(actorRef, event!, snapshot!);
  };

  private came(ref: WatchedActor): void {
    const machine = ref.logic?.id;
    if (machine === undefined || !known.has(machine)) return;
    const parent = ref._parent && this.known(ref._parent)?.name;
    const one: Tracked = {
      name: this.nameOf(machine as MachineName, ref),
      machine: machine as MachineName,
      ref,
      pending: [],
      input: null,
      value: undefined,
      state: [],
      emitted: nothing,
      begun: false,
      ...(parent !== undefined && { parent }),
    };
    if ('watched' in ref) ref.watched = one;
    else this.tracked.set(ref, one);
    this.live.set(one.name, one);
    // Runs that have a place for it emit nothing.
    if (ref.watched === one) return;
    ref.on('*', (emitted) => {
      if (this.listeners.size > 0) one.emitted = [...one.emitted, emitted];
    });
  }
  private known(ref: WatchedActor): Tracked | undefined {
    return 'watched' in ref ? (ref.watched as Tracked | undefined) : this.tracked.get(ref);
  }
  private nameOf(machine: MachineName, ref: WatchedActor): string {
    const count = (this.counts.get(machine) ?? 0) + 1;
    this.counts.set(machine, count);
    const isOne = machine === 'lake' || machine === 'store';
    const name = isOne ? machine : machine === 'pool' ? `pool/${ref.id}` : `${machine}/${count}`;
    for (let again = 1; ; again++) {
      const one = again === 1 ? name : `${name}#${again}`;
      if (!this.ended.has(one) && !this.live.has(one)) return one;
    }
  }
  /** Names of pools, stores and lakes that have ended: only they can come again. */
  private readonly ended = new Set<string>();

  private sent(ref: WatchedActor, source: WatchedActor | undefined, event: RecordedEvent): void {
    const one = this.known(ref);
    if (!one) return;
    if (event.type === 'xstate.init') {
      one.input = (event as { readonly input?: unknown }).input ?? null;
      one.pending.push({ event, seq: this.nextSeq(), ms: this.now() });
      return;
    }
    if (this.listeners.size === 0) return;
    const pending: Pending = {
      event,
      seq: this.nextSeq(),
      ms: this.now(),
      by: source && source !== ref ? this.sender(source) : undefined,
    };
    const snapshot = ref.getSnapshot();
    if (snapshot.status === 'active') one.pending.push(pending);
    else this.tell(one, pending, snapshot, true);
  }
  private sender(source: WatchedActor): string {
    const one = this.known(source);
    if (one) return one.name;
    const parent = source._parent && this.known(source._parent);
    return `${parent?.name ?? '?'}:${typeof source.src === 'string' ? source.src : source.id}`;
  }

  private taken(ref: WatchedActor, event: RecordedEvent, snapshot: WatchedSnapshot): void {
    const one = this.known(ref);
    if (!one) return;
    // Nobody listens, nor did when it was sent: there is no message to tell of.
    const isTold = !one.begun || this.listeners.size > 0 || one.pending.length > 0;
    const pending = isTold ? this.pendingOf(one, event) : undefined;
    if (!one.begun) {
      one.begun = true;
      this.see(one, snapshot);
      if (this.listeners.size > 0) {
        const record = this.actorRecord(one, pending!);
        for (const listener of this.listeners) listener.actor?.(record, ref);
      }
      one.emitted = nothing;
    } else if (this.listeners.size > 0) this.tell(one, pending!, snapshot, false);
    else this.see(one, snapshot);
    if (snapshot.status === 'active') return;
    this.live.delete(one.name);
    if (repeated.has(one.machine)) this.ended.add(one.name);
  }

  private pendingOf(one: Tracked, event: RecordedEvent): Pending {
    return takePending(one.pending, event) ?? { event, seq: this.nextSeq(), ms: this.now() };
  }

  private tell(one: Tracked, pending: Pending, snapshot: WatchedSnapshot, dropped: boolean): void {
    const untold: Untold = { one, pending, snapshot, emitted: one.emitted, dropped };
    one.emitted = nothing;
    if (this.prompt.size > 0) return this.tellNow(untold);
    this.untold.push(untold);
    if (this.untold.length === untoldMax) this.settle();
  }
  private tellNow({ one, pending: { event, seq, ms, by }, snapshot, emitted, dropped }: Untold): void {
    const from = one.state;
    this.see(one, snapshot);
    const to = one.state;
    const outcome = dropped ? 'dropped' : snapshot.status !== 'active' ? 'ended' : same(from, to) ? 'stayed' : 'moved';
    const record: MessageRecord = {
      kind: 'message',
      seq,
      ms,
      actor: one.name,
      machine: one.machine,
      ...(by !== undefined && { by }),
      event: plainEvent(event),
      from,
      to,
      outcome,
      ...(emitted.length > 0 && { emitted }),
    };
    for (const listener of this.listeners) listener.message(record, snapshot);
  }

  private see(one: Tracked, snapshot: WatchedSnapshot): void {
    if (snapshot.value === one.value) return;
    one.value = snapshot.value;
    one.state = leavesOf(snapshot.value);
  }
  private actorRecord(one: Tracked, { seq, ms }: { readonly seq: number; readonly ms: number }): ActorRecord {
    return {
      kind: 'actor',
      seq,
      ms,
      actor: one.name,
      machine: one.machine,
      ...(one.parent !== undefined && { parent: one.parent }),
      input: one.input,
      state: one.state,
      ...(one.emitted.length > 0 && { emitted: one.emitted }),
    };
  }
}

/** Milliseconds since 1970 that never go back. */
const steadyNow = (): number => Math.round(performance.timeOrigin + performance.now());

/** One array for each name. */
const leaves = new Map<string, readonly string[]>();
const leafOf = (name: string): readonly string[] => {
  let leaf = leaves.get(name);
  if (!leaf) leaves.set(name, (leaf = [name]));
  return leaf;
};
/** Those of state values that were seen: loads and queries have one value for each state of their charts. */
const nested = new WeakMap<object, readonly string[]>();
/** Active leaves of a state value, nested ones with dots: `['ready.idle']`. */
export const leavesOf = (value: unknown): readonly string[] => {
  if (typeof value === 'string') return leafOf(value);
  let known = nested.get(value as object);
  if (!known) nested.set(value as object, (known = nestedLeaves(value as Record<string, unknown>)));
  return known;
};
const nestedLeaves = (value: Record<string, unknown>): readonly string[] =>
  Object.entries(value).flatMap(([name, inner]) => {
    const leaves = leavesOf(inner);
    return leaves.length === 0 ? [name] : leaves.map((leaf) => `${name}.${leaf}`);
  });

/** The message of this event, which most often came last. */
const takePending = (waiting: Pending[], event: RecordedEvent): Pending | undefined => {
  if (waiting.length === 1 && waiting[0].event === event) return waiting.pop();
  const at = waiting.findIndex((pending) => pending.event === event);
  return at < 0 ? undefined : waiting.splice(at, 1)[0];
};

const same = (a: readonly string[], b: readonly string[]): boolean =>
  a === b || (a.length === b.length && a.every((name, i) => name === b[i]));

/** The event with its error, if it has one, as plain data. */
const plainEvent = (event: RecordedEvent): RecordedEvent => {
  const { error } = event;
  if (!(error instanceof Error)) return event;
  const { code } = error as { readonly code?: unknown };
  return { ...event, error: { message: error.message, ...(typeof code === 'string' && { code }) } };
};
