/**
 * What goes over the inspector's WebSocket, both ways. Made of the records of record.ts, cut down: ids, names and
 * counts, never what records or error texts hold. Types alone: the page reads them too.
 */
import type { MachineName } from '../../machines/machines.ts';
import type { MessageOutcome } from './record.ts';

/** A field of an event, a job or a context: a number, an id, a name, or how many there are of what is not sent. */
type LiveField = number | boolean | string | null;
/** Fields by name. */
export type LiveFields = Readonly<Record<string, LiveField>>;

/** An actor as the page shows it. */
export interface LiveActor {
  /** Its name, as in record.ts. */
  readonly actor: string;
  readonly machine: MachineName;
  readonly parent?: string;
  /** A pool's name. */
  readonly name?: string;
  /** Leaves that are active, nested ones with dots. */
  readonly state: readonly string[];
  /** Jobs or events in its queue. */
  readonly waiting: number;
  /** Those that it works on. */
  readonly running: number;
}

/** How the jobs ended that an actor settled with a message. */
export interface LiveSettled {
  readonly done: number;
  readonly failed: number;
  readonly refused: number;
  /** Code of the first that failed, or why the first one was refused. */
  readonly code?: string;
}

/** A message that entered an actor, as in a recording, with as much of its event as may leave the service. */
export interface LiveRecord {
  readonly seq: number;
  readonly ms: number;
  readonly actor: string;
  readonly by?: string;
  readonly event: { readonly type: string; readonly fields?: LiveFields };
  /** Absent: the same as `to`. */
  readonly from?: readonly string[];
  readonly to: readonly string[];
  readonly outcome: MessageOutcome;
  readonly settled?: LiveSettled;
}

/** Everything, at first and whenever the page could not keep up: it takes the place of what the page knew of actors. */
export interface LiveHello {
  readonly kind: 'hello';
  readonly service: string;
  readonly ms: number;
  readonly actors: readonly LiveActor[];
  /** Actors that are there but were left out, and messages that this page was not told of so far. */
  readonly actorsLeftOut: number;
  readonly dropped: number;
  readonly records: readonly LiveRecord[];
}
/** What happened since the frame before. */
export interface LiveFrame {
  readonly kind: 'frame';
  readonly ms: number;
  /** New actors, and those whose state, name or queue changed. */
  readonly actors: readonly LiveActor[];
  readonly gone: readonly string[];
  readonly records: readonly LiveRecord[];
  readonly dropped: number;
  /** Messages of all actors since the service started to count. */
  readonly messages: number;
}
/** Context and queue of the actor that the page asked for. */
export interface LiveDetail {
  readonly kind: 'detail';
  readonly actor: string;
  readonly context: LiveFields;
  /** The first ones of those that wait and run. */
  readonly waiting: readonly LiveFields[];
  readonly running: readonly LiveFields[];
}
/** What the service sends. */
export type LiveMessage = LiveHello | LiveFrame | LiveDetail;

/** What a page may ask for: details of one actor. */
export interface LiveRequest {
  readonly kind: 'watch';
  readonly actor: string | null;
}
