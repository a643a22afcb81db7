/** How far queries and loads are, by the ids of their requests; known while they run and for a while afterwards. */
import { renamed } from './renamed.ts';
import type { Requests } from './requests.ts';

/** Rates are a second, over the time since the start. `error`: of one that failed or was cancelled. */
interface Progress {
  readonly requestId: string;
  readonly startedAt: Date;
  readonly elapsedMs: number;
  readonly recordsPerSecond: number;
  readonly bytesPerSecond: number;
  readonly error: string | undefined;
}
/** How far a query is. What it read is counted by its scans. */
export interface QueryProgress extends Progress {
  readonly state: 'waiting' | 'compiling' | 'running' | 'streaming' | 'done' | 'failed' | 'cancelled';
  readonly query: string;
  readonly recordsRead: number;
  readonly bytesRead: number;
  /** Rows of all that it reads; a filter on the pool's key may leave most of them unread. */
  readonly recordsTotal: number | undefined;
  readonly recordsSent: number;
  readonly bytesSent: number;
}
/** How far a load is. `commit`: the commit that it became. */
export interface LoadProgress extends Progress {
  readonly state:
    | 'waiting'
    | 'receiving'
    | 'sorting'
    | 'writing'
    | 'committing'
    | 'committed'
    | 'rejected'
    | 'cancelled';
  readonly pool: string;
  readonly branch: string;
  readonly bytesReceived: number;
  /** Length of the body, where it was told. */
  readonly bytesTotal: number | undefined;
  readonly records: number;
  readonly commit: string | undefined;
}

/** @throws LakeFailure 404 when no such query runs or ended lately */
export const queryProgress = (requests: Requests, requestId: string): Promise<QueryProgress> =>
  progressOf(requests, ['query', requestId]);
/** @throws LakeFailure 404 when no such load runs or ended lately */
export const loadProgress = (requests: Requests, requestId: string): Promise<LoadProgress> =>
  progressOf(requests, ['load', requestId]);

const progressOf = async <T extends Progress>(requests: Requests, path: readonly string[]): Promise<T> => {
  const { started, ...rest } = renamed<T & { readonly started: string }>(await requests.json({ method: 'GET', path }));
  return { ...rest, startedAt: new Date(started) } as unknown as T;
};
