/**
 * The events feed, kept open: after a lost connection it comes back with the last event's id, so that none is missed
 * and none comes twice.
 *
 * The stream is read with `fetch`, since an EventSource cannot send a token.
 */
import { LakeFailure } from './failure.ts';
import { linesOf } from './lines.ts';
import { passing, pause, type Requests } from './requests.ts';

/**
 * Something changed in the lake. `branch` is the one that moved, came or went, `commitId` its new tip; pools as a whole
 * have neither. Of merges alone `parent` is the branch that was merged into, which is the one that moved, and `child`
 * what was merged: a branch, a tag or a commit. `view`: the
 * name of a view that came, changed or went; its id is `poolId` then, and its new version `commitId`. `tag`: one that came
 * (at `commitId`) or went.
 */
export interface LakeEvent {
  readonly id: string;
  readonly kind:
    | 'pool-new'
    | 'pool-update'
    | 'pool-commit'
    | 'pool-delete'
    | 'branch-update'
    | 'branch-delete'
    | 'branch-reset'
    | 'tag-new'
    | 'tag-delete'
    | 'view-new'
    | 'view-update'
    | 'view-delete'
    | (string & {});
  readonly poolId: string;
  readonly branch?: string;
  readonly commitId?: string;
  readonly parent?: string;
  readonly child?: string;
  readonly view?: string;
  readonly tag?: string;
  /** Of a commit that is part of a transaction. */
  readonly transactionId?: string;
}
/** Where the events begin, and who is told of connections. */
export interface EventsOptions {
  /** Events after this one come first. */
  readonly lastEventId?: string;
  readonly signal?: AbortSignal;
  /** The longest pause before it is tried again, in milliseconds; 15,000 unless told. */
  readonly retryMsMax?: number;
  /** Told of each connection, once it is there. */
  readonly onConnect?: () => void;
  /** Told of each lost connection before it is made again. */
  readonly onReconnect?: (cause: unknown) => void;
}

const waitMsMin = 250;

/**
 * Ends when the signal fires; else goes on for ever. @throws LakeFailure 410 when the events after `lastEventId` are no
 * longer kept, and what else the service refuses.
 */
export async function* eventsOf(requests: Requests, options: EventsOptions): AsyncGenerator<LakeEvent> {
  const { signal, retryMsMax = 15_000 } = options;
  let last = options.lastEventId;
  let waitMs = waitMsMin;
  while (!signal?.aborted) {
    let cause: unknown;
    try {
      const response = await requests.send({
        method: 'GET',
        path: ['events'],
        headers: { Accept: 'application/json', 'Last-Event-ID': last },
        ...(signal && { signal }),
      });
      waitMs = waitMsMin;
      // Where the stream begins, for a connection that is lost before its first event.
      last ??= response.headers.get('last-event-id') ?? undefined;
      options.onConnect?.();
      for await (const event of parsed(linesOf(response.body!))) {
        last = event.id;
        yield event;
      }
      cause = new Error('the service ended the stream');
    } catch (error) {
      if (signal?.aborted) return;
      // What the service says no to stays a no; what it is too busy for, or a proxy says while it is away, passes.
      if (error instanceof LakeFailure && !passing.has(error.status)) throw error;
      cause = error;
    }
    options.onReconnect?.(cause);
    try {
      await pause(waitMs * (0.5 + Math.random() / 2), signal);
    } catch {
      return;
    }
    waitMs = Math.min(waitMs * 2, retryMsMax);
  }
}

/** Server-sent events by their lines (HTML standard, "interpreting an event stream"). */
async function* parsed(lines: AsyncIterable<string>): AsyncGenerator<LakeEvent> {
  let kind = '';
  let id = '';
  let data: string[] = [];
  for await (const line of lines) {
    if (!line) {
      if (data.length > 0) yield eventOf(id, kind, JSON.parse(data.join('\n')) as Readonly<Record<string, string>>);
      kind = '';
      data = [];
      continue;
    }
    const colon = line.indexOf(':');
    const name = colon < 0 ? line : line.slice(0, colon);
    const value = colon < 0 ? '' : line.slice(colon + 1).replace(/^ /, '');
    if (name === 'event') kind = value;
    else if (name === 'id') id = value;
    else if (name === 'data') data.push(value);
  }
}

const eventOf = (id: string, kind: string, data: Readonly<Record<string, string>>): LakeEvent => {
  const { branch, parent, child, view, tag } = data;
  const commitId = data['commit_id'] ?? data['version_id'];
  return {
    id,
    kind,
    poolId: (data['pool_id'] ?? data['view_id'])!,
    ...(branch && { branch }),
    ...(commitId && { commitId }),
    // The feed gives the commits that are no merges an empty one.
    ...(parent && { parent }),
    ...(child && { child }),
    ...(view && { view }),
    ...(tag && { tag }),
    ...(data['transaction_id'] && { transactionId: data['transaction_id'] }),
  };
};
