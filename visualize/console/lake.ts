/**
 * The lake as the page knows it: pools, branches and their tips, tags, the events as they come.
 *
 * A busy lake makes a thousand commits a second. Events are gathered and shown a few times a second, tips are moved by
 * the events themselves, and nothing is asked of the service for each event: lists are read again when pools or
 * branches come and go, at most every `refreshMsMin`.
 */
import { computed, signal } from '@preact/signals';
import type { BranchInfo, LakeEvent, PoolInfo, TagInfo, ViewInfo } from '../../src/client/client.ts';
import { LakeFailure } from '../../src/client/client.ts';
import { client } from './session.ts';
import { faultText } from './text.ts';

/** An event and when it came. `n` counts the events of this page. */
export interface SeenEvent {
  readonly n: number;
  readonly ms: number;
  readonly event: LakeEvent;
}

/** Events that are kept. */
export const eventsMax = 2000;
const flushMs = 250;
const hiddenFlushMs = 2000;
const refreshMsMin = 1000;
const retryMsMax = 30_000;

/** By name. */
export const pools = signal<readonly PoolInfo[]>([]);
/** By name. */
export const views = signal<readonly ViewInfo[]>([]);
/** By the pool's id. */
const branchesOf = signal<ReadonlyMap<string, readonly BranchInfo[]>>(new Map());
const tagsOf = signal<ReadonlyMap<string, readonly TagInfo[]>>(new Map());
/** Whether pools and branches were read, or why they could not be. */
export const listState = signal<'loading' | 'ready' | { readonly fault: string }>('loading');
/** Resolves when pools and branches were read, or cannot be. */
export const listed = (): Promise<void> =>
  new Promise((resolve) => {
    const end = listState.subscribe((state) => {
      if (state === 'loading') return;
      resolve();
      queueMicrotask(() => {
        end();
      });
    });
  });
/** How the feed of events is: `lost` while it is tried again, `ended` when the service refuses it. */
export const feedState = signal<'connecting' | 'live' | 'lost' | 'ended'>('connecting');
/** Counts the times that the service was there again: what failed meanwhile is asked once more. */
export const returns = signal(0);
/** The newest at the end. */
export const events = signal<readonly SeenEvent[]>([]);
/** Events that this page has seen, those that are no longer kept among them. */
export const eventCount = signal(0);
/** Commits a second of late. */
export const commitRate = signal(0);

/** The pool of this id, else of this name. */
export const poolByReference = (reference: string): PoolInfo | undefined =>
  pools.value.find((p) => p.id === reference) ?? pools.value.find((p) => p.name === reference);
/** The branches of a pool, `main` first, then by name. */
export const branches = (pool: PoolInfo): readonly BranchInfo[] => branchesOf.value.get(pool.id) ?? [];
/** The tags of a pool, by name. */
export const tags = (pool: PoolInfo): readonly TagInfo[] => tagsOf.value.get(pool.id) ?? [];
const namesSeen = new Map<string, string>();
const namesMax = 10_000;
/** Names by id, of pools that went too. */
export const poolNames = computed<ReadonlyMap<string, string>>(() => {
  if (namesSeen.size > namesMax) namesSeen.clear();
  for (const { id, name } of pools.value) namesSeen.set(id, name);
  return new Map(namesSeen);
});

let listing: Promise<void> | undefined;
let again = false;
/** Of one session. What was asked for an earlier one may still come, and is not for the eyes of this one. */
let visit = 0;
/** Reads pools and branches again. */
export const refresh = (): Promise<void> => {
  if (listing) {
    again = true;
    return listing;
  }
  const now = visit;
  listing = list(now).finally(() => {
    if (now !== visit) return;
    listing = undefined;
    if (!again) return;
    again = false;
    void refresh();
  });
  return listing;
};
const list = async (now: number): Promise<void> => {
  try {
    const [all, rows, named, seen] = await Promise.all([
      client.pools(),
      client.branches(),
      client.query('from :tags').asText('json'),
      client.query<ViewInfo>('from :views').all(),
    ]);
    if (now !== visit) return;
    const map = byPool(rows.map(({ pool, branch }) => [pool.id, branch]));
    for (const each of map.values())
      each.sort((a, b) => (a.name === 'main' ? -1 : b.name === 'main' ? 1 : a.name < b.name ? -1 : 1));
    const tagRows = JSON.parse(named) as readonly { readonly pool: PoolInfo; readonly tag: TagInfo }[];
    const tagged = byPool(tagRows.map(({ pool, tag }) => [pool.id, tag]));
    for (const each of tagged.values()) each.sort((a, b) => (a.name < b.name ? -1 : 1));
    pools.value = [...all].sort((a, b) => (a.name < b.name ? -1 : 1));
    views.value = [...seen].sort((a, b) => (a.name < b.name ? -1 : 1));
    branchesOf.value = map;
    tagsOf.value = tagged;
    listState.value = 'ready';
  } catch (error) {
    if (now === visit) listState.value = { fault: faultText(error) };
  }
};

const byPool = <T>(pairs: readonly (readonly [pool: string, item: T])[]): Map<string, T[]> => {
  const map = new Map<string, T[]>();
  for (const [pool, item] of pairs) {
    const known = map.get(pool);
    if (known) known.push(item);
    else map.set(pool, [item]);
  }
  return map;
};

let waiting: SeenEvent[] = [];
let came = 0;
let flushing: ReturnType<typeof setTimeout> | undefined;
let refreshing: ReturnType<typeof setTimeout> | undefined;
let flushedAt = 0;
const refreshSoon = (): void => {
  refreshing ??= setTimeout(() => {
    refreshing = undefined;
    void refresh();
  }, refreshMsMin / 4);
};
const take = (event: LakeEvent): void => {
  lastId = event.id;
  waiting.push({ n: ++came, ms: Date.now(), event });
  flushing ??= setTimeout(flush, document.hidden ? hiddenFlushMs : flushMs);
};
const flush = (): void => {
  flushing = undefined;
  const fresh = waiting;
  const now = performance.now();
  const seconds = Math.max(0.25, Math.min(5, (now - flushedAt) / 1000));
  waiting = [];
  flushedAt = now;
  const tips = new Map<string, Map<string, string>>();
  let structure = false;
  let commits = 0;
  for (const { event } of fresh) {
    if (event.kind !== 'pool-commit') structure = true;
    else {
      commits++;
      let of = tips.get(event.poolId);
      if (!of) tips.set(event.poolId, (of = new Map<string, string>()));
      if (event.branch !== undefined && event.commitId !== undefined) of.set(event.branch, event.commitId);
    }
  }
  events.value = [...events.value, ...fresh].slice(-eventsMax);
  eventCount.value = came;
  commitRate.value = commits / seconds;
  if (structure) refreshSoon();
  if (tips.size > 0) moveTips(tips);
  // Once more when nothing comes, so that the rate falls to zero.
  if (commits > 0) flushing ??= setTimeout(flush, 1000);
};
const moveTips = (tips: ReadonlyMap<string, ReadonlyMap<string, string>>): void => {
  const next = new Map(branchesOf.value);
  for (const [pool, of] of tips) {
    const known = next.get(pool);
    if (!known || [...of.keys()].some((name) => !known.some((b) => b.name === name))) refreshSoon();
    if (known)
      next.set(
        pool,
        known.map((b) => (of.has(b.name) ? { ...b, commit: of.get(b.name)! } : b)),
      );
  }
  branchesOf.value = next;
};

let stop: AbortController | undefined;
let lastId: string | undefined;
/** Lists the lake and listens to it until `leaveLake`. */
export const watchLake = (): void => {
  stop?.abort();
  stop = new AbortController();
  lastId = undefined;
  void refresh();
  void listen(stop.signal);
};
/** Stops listening, and forgets what is there. */
export const leaveLake = (): void => {
  stop?.abort();
  stop = undefined;
  visit++;
  listing = undefined;
  again = false;
  waiting = [];
  clearTimeout(flushing);
  clearTimeout(refreshing);
  flushing = refreshing = undefined;
  pools.value = [];
  views.value = [];
  branchesOf.value = new Map();
  tagsOf.value = new Map();
  events.value = [];
  listState.value = 'loading';
};
const listen = async (signal: AbortSignal): Promise<void> => {
  if (feedState.peek() !== 'lost') feedState.value = 'connecting';
  try {
    const feed = client.events({
      signal,
      retryMsMax,
      ...(lastId !== undefined && { lastEventId: lastId }),
      onConnect: () => {
        if (feedState.peek() === 'lost') returns.value++;
        feedState.value = 'live';
        refreshSoon();
      },
      onReconnect: () => {
        // What is lost is asked for again when the service is back.
        feedState.value = 'lost';
      },
    });
    for await (const event of feed) {
      if (signal.aborted) return;
      take(event);
    }
  } catch (error) {
    if (signal.aborted) return;
    // What was missed is no longer kept: begin again from now.
    if (error instanceof LakeFailure && error.status === 410) {
      watchLake();
      return;
    }
    feedState.value = 'ended';
  }
};
/** A reader who comes back to the page, or to the network, does not wait for the next try. */
const hurry = (): void => {
  if (!stop || document.hidden || feedState.peek() !== 'lost') return;
  stop.abort();
  stop = new AbortController();
  void listen(stop.signal);
};
addEventListener('online', hurry);
document.addEventListener('visibilitychange', hurry);
