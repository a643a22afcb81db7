/**
 * What is known of the messages that enter the actors: the lines of a recording (NDJSON, the header first), and what
 * the inspector's live feed is made of. Plain JSON; imports types alone, so that a page can read it.
 *
 * - `seq` counts up by one over all lines of one service run that have it; it is given when a message comes to its
 *   actor, so that a message which another one caused has the greater number. A message's line is written when its
 *   actor has taken it: lines of nested messages come before those that caused them.
 * - `ms` is the time of day in milliseconds since 1970.
 * - Actors are named `lake`, `store`, `pool/<pool id>`, `transaction/<n>`, `load/<n>`, `query/<n>`, `subscriber/<n>`; one that comes again under a
 *   name that was taken gets `#2` behind it.
 */
import type { MachineName } from '../../machines/machines.ts';

/** Version of the lines. */
export const recordFormat = 2;

/** An event as it entered: plain JSON. An error in it is `{message, code?}`. */
export interface RecordedEvent {
  readonly type: string;
  readonly [field: string]: unknown;
}

/**
 * An actor came. With `snapshot` (XState's persisted one) it was there already when this part of the recording began,
 * or after messages were lost.
 */
export interface ActorRecord {
  readonly kind: 'actor';
  readonly seq: number;
  readonly ms: number;
  readonly actor: string;
  readonly machine: MachineName;
  /** The actor that spawned it. */
  readonly parent?: string;
  readonly input: unknown;
  /** Leaves that are active, nested ones with dots: `['ready.idle']`. */
  readonly state: readonly string[];
  /** What its first step emitted. */
  readonly emitted?: readonly RecordedEvent[];
  readonly snapshot?: unknown;
}

/**
 * `moved`: other states are active now, `stayed`: the same ones, `ended`: the actor is in a final state, `dropped`: it
 * had ended before.
 */
export type MessageOutcome = 'moved' | 'stayed' | 'ended' | 'dropped';

/** One message that entered an actor, and what it did there. */
export interface MessageRecord {
  readonly kind: 'message';
  readonly seq: number;
  readonly ms: number;
  readonly actor: string;
  readonly machine: MachineName;
  /**
   * The actor that sent it; absent: the service itself. Work that an actor invoked is named `<actor>:<work>`, for
   * instance `lake:recover`.
   */
  readonly by?: string;
  readonly event: RecordedEvent;
  readonly from: readonly string[];
  readonly to: readonly string[];
  readonly outcome: MessageOutcome;
  /** What the actor emitted, oldest first; absent: nothing. */
  readonly emitted?: readonly RecordedEvent[];
}

/**
 * First line of every file. `part` counts the files of one recording from 1; a later part tells first, like the start
 * of a recording, which actors and pools were there.
 */
export interface HeaderRecord {
  readonly kind: 'header';
  readonly format: typeof recordFormat;
  /** The service's version. */
  readonly service: string;
  /** Names the recording: the same in all its parts. */
  readonly recording: string;
  readonly part: number;
  readonly ms: number;
  readonly bodies: 'digest' | 'kept';
  readonly options: Readonly<Record<string, unknown>>;
}
interface Line {
  readonly seq: number;
  readonly ms: number;
}
/** A pool that was there when this part of the recording began, or after lines were lost. */
export interface GivenRecord extends Line {
  readonly kind: 'given';
  readonly pool: string;
  readonly name: string;
  readonly branches: readonly (readonly [name: string, commit: string])[];
}
/** An id, a time or a number of an event that the lake drew for a change, before it was durable. */
export interface DrawnRecord extends Line {
  readonly kind: 'drawn';
  readonly pool: string;
  readonly fact: RecordedFact;
}
/** As the lake tells them (`LakeFact`); times are nanoseconds since 1970 as text. */
export type RecordedFact =
  | {
      readonly what: 'pool';
      readonly name: string;
      readonly tsNs: string;
      readonly order: 'asc' | 'desc';
      readonly keys: readonly (readonly string[])[];
      readonly seekStride: number;
      readonly threshold: number;
    }
  | { readonly what: 'branch' | 'tag' | 'move'; readonly name: string; readonly commit: string; readonly tsNs: string }
  | {
      readonly what: 'view';
      readonly version: string;
      readonly tsNs: string;
      readonly name: string;
      readonly author: string;
      readonly query: string;
      readonly columns?: readonly string[];
      readonly indexBase?: 0 | 1;
    }
  | { readonly what: 'commit'; readonly branch: string; readonly commit: RecordedCommit }
  | { readonly what: 'event'; readonly id: number };
/** A commit as the lake drew it: a `CommitRecord` in plain JSON, `dateNs` in nanoseconds since 1970 as text. */
export interface RecordedCommit {
  readonly id: string;
  readonly parent: string;
  readonly secondParent?: string;
  readonly author: string;
  readonly dateNs: string;
  readonly message: string;
  readonly meta: string;
  readonly adds: readonly string[];
  readonly deletes: readonly string[];
  readonly addVectors?: readonly string[];
  readonly deleteVectors?: readonly string[];
}
/** An event that the lake told its listeners: its change is durable. */
export interface EventRecord extends Line {
  readonly kind: 'event';
  readonly event: {
    readonly id: number;
    readonly kind: string;
    readonly poolId: string;
    readonly commitId?: string;
    readonly branch?: string;
    readonly tag?: string;
    readonly transactionId?: string;
    readonly parent?: string;
  };
}
/** A data object without its rows. `sort` keys are base64. */
export interface RecordedObject {
  readonly id: string;
  readonly count: number;
  readonly size: number;
  readonly min: { readonly text: string; readonly sort: string };
  readonly max: { readonly text: string; readonly sort: string };
  /** It has no file of its own. */
  readonly inline: boolean;
}
/**
 * Bytes that came: SHA-256 in hexadecimal digits. `kept`: they are in the recording's folder of bodies under that name.
 */
export interface RecordedBody {
  readonly digest: string;
  readonly bytes: number;
  readonly kept: boolean;
}
/** Data objects were made, or could not be made, from a body or from others, for a commit to come. */
export interface ObjectsRecord extends Line {
  readonly kind: 'objects';
  readonly pool: string;
  readonly from: ObjectsSource;
  readonly objects: readonly RecordedObject[];
  readonly error?: { readonly code: string; readonly text: string };
}
/** What data objects were made from. */
export type ObjectsSource =
  | {
      readonly what: 'body';
      readonly format: string;
      readonly csvDelimiter?: string;
      /** What else differs from plain CSV. */
      readonly csv?: object;
      readonly unnest?: boolean;
      readonly utf8?: 'refuse';
      readonly errors?: 'skip' | 'wrap';
      readonly time?: string;
      readonly charset?: string;
      readonly upsert?: { readonly identity: readonly (readonly string[])[]; readonly delete?: string };
      readonly contentCodings?: readonly string[];
      readonly body?: RecordedBody;
    }
  /** The snapshot of `commit` without the rows that `where` selects. */
  | {
      readonly what: 'delete where';
      readonly where: string;
      readonly commit: string;
      readonly removes: readonly string[];
    }
  /** The same with those rows changed. */
  | {
      readonly what: 'update';
      readonly where: string;
      readonly put: string;
      readonly commit: string;
      readonly removes: readonly string[];
    }
  | { readonly what: 'compact'; readonly commit: string; readonly removes: readonly string[] }
  /** A query's own operator: the objects themselves are kept, one body each. */
  | { readonly what: 'query'; readonly bodies: readonly RecordedBody[] };
/**
 * The tip of a branch when the recording ended. `rows`: number, and digest over them in any order (tip-rows.ts); only
 * with bodies.
 */
export interface TipRecord extends Line {
  readonly kind: 'tip';
  readonly pool: string;
  readonly branch: string;
  readonly commit: string;
  readonly rows?: { readonly count: number; readonly digest: string };
}
/**
 * The disk was slower than the service: so many lines are missing here. The actors and pools as they are now follow.
 */
export interface LostRecord extends Line {
  readonly kind: 'lost';
  readonly lines: number;
}
/** The service was closed in order; nothing follows. */
export interface EndRecord extends Line {
  readonly kind: 'end';
}

/** Any line of a recording but the header. */
export type RecordLine =
  | ActorRecord
  | MessageRecord
  | GivenRecord
  | DrawnRecord
  | EventRecord
  | ObjectsRecord
  | TipRecord
  | LostRecord
  | EndRecord;
