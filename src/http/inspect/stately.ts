/**
 * The machines for a Stately inspector: messages of `@statelyai/inspect`'s WebSocket protocol, to inspectors that
 * connect to the feed, and to the one that `-inspect.stately` names (we connect, and again when it went away). Contexts
 * and events are cut down like those of our own page; a slow inspector misses messages.
 */
import { WebSocket } from 'ws';
import type { ActorRecord, MessageRecord } from '../../recording/record.ts';
import type { MachineWatch, WatchedActor, WatchedSnapshot } from '../../recording/watch.ts';
import type { Wire } from './feed.ts';
import { liveContext, liveRecord } from './trim.ts';

/** Version of the protocol that is spoken. */
const protocolVersion = '0.7.2';
const bufferedBytesMax = 4 << 20;
/** Actors that a new inspector is told of. */
const actorsMax = 500;
const retryMs = 2000;

/** Sends every actor and message to an inspector until the returned function is called. */
export const statelyFeed = (watch: MachineWatch, wire: Wire): (() => void) => {
  const known = new Set<string>();
  const send = (message: object): void => {
    if (wire.bufferedAmount <= bufferedBytesMax) wire.send(JSON.stringify(message));
  };
  const actor = (record: ActorRecord, ref: WatchedActor): void => {
    known.add(record.actor);
    send(actorMessage(record, ref));
  };
  for (const record of watch.actors().slice(0, actorsMax)) {
    const ref = watch.actor(record.actor);
    if (ref) actor(record, ref);
  }
  return watch.listen({
    actor,
    message: (record, snapshot) => {
      if (!known.has(record.actor)) {
        const ref = watch.actor(record.actor);
        if (!ref) return;
        actor(
          {
            kind: 'actor',
            seq: record.seq,
            ms: record.ms,
            actor: record.actor,
            machine: record.machine,
            input: null,
            state: record.from,
          },
          ref,
        );
      }
      const { event, by } = liveRecord(record);
      const sent = { type: event.type, ...event.fields };
      send({ ...base(record), type: '@xstate.event', event: sent, ...(by !== undefined && { sourceId: by }) });
      if (record.outcome !== 'dropped')
        send({
          ...base(record),
          type: '@xstate.snapshot',
          event: sent,
          snapshot: snapshotMessage(record.machine, snapshot),
        });
      if (record.outcome === 'ended') known.delete(record.actor);
    },
  });
};

const base = ({ actor, ms }: MessageRecord | ActorRecord) => ({
  sessionId: actor,
  rootId: actor.startsWith('pool/') ? 'lake' : actor,
  createdAt: String(ms),
  id: null,
  _version: protocolVersion,
});
const snapshotMessage = (machine: MessageRecord['machine'], { status, value, context }: WatchedSnapshot) => {
  const { context: fields, waiting, running } = liveContext(machine, context);
  return {
    status,
    value,
    context: { ...fields, ...(waiting.length > 0 && { waiting }), ...(running.length > 0 && { running }) },
  };
};
const actorMessage = (record: ActorRecord, ref: WatchedActor): object => ({
  ...base(record),
  type: '@xstate.actor',
  name: record.actor,
  ...(record.parent !== undefined && { parentId: record.parent }),
  definition: definitionOf(ref),
  snapshot: snapshotMessage(record.machine, ref.getSnapshot()),
});

const definitions = new WeakMap<object, string>();
const definitionOf = ({ logic }: WatchedActor): string | undefined => {
  const config = (logic as { readonly config?: object } | undefined)?.config;
  if (!config) return undefined;
  let text = definitions.get(config);
  if (text === undefined)
    definitions.set(
      config,
      (text = JSON.stringify(config, (_, value: unknown) =>
        typeof value === 'function' ? { type: value.name } : value,
      )),
    );
  return text;
};

/** Keeps a connection to the inspector at `url`. `report` is told once each time that it cannot be reached. */
export const connectStately = (watch: MachineWatch, url: string, report: (fault: unknown) => void): (() => void) => {
  let socket: WebSocket | undefined;
  let retry: NodeJS.Timeout | undefined;
  let told = false;
  let closed = false;
  const connect = (): void => {
    let stop = (): void => undefined;
    const one = (socket = new WebSocket(url, { perMessageDeflate: false, handshakeTimeout: 10_000 }));
    one.on('open', () => {
      told = false;
      stop = statelyFeed(watch, {
        get bufferedAmount() {
          return one.bufferedAmount;
        },
        send: (text) => {
          one.send(text);
        },
      });
    });
    one.on('error', (fault) => {
      if (!told && !closed) report(fault);
      told = true;
    });
    one.on('close', () => {
      stop();
      if (!closed) retry = setTimeout(connect, retryMs).unref();
    });
  };
  connect();
  return () => {
    closed = true;
    clearTimeout(retry);
    socket?.terminate();
  };
};
