/** How far queries and loads are, by the ids of their requests; known while they run and for a while afterwards. */
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

type Json = Readonly<Record<string, unknown>>;
const progressOf = (json: Json): Progress => ({
  requestId: json['request_id'] as string,
  startedAt: new Date(json['started'] as string),
  elapsedMs: json['elapsed_ms'] as number,
  recordsPerSecond: json['records_per_second'] as number,
  bytesPerSecond: json['bytes_per_second'] as number,
  error: optional<string>(json['error']),
});
const optional = <T>(value: unknown): T | undefined => (value === null ? undefined : (value as T));

/** @throws LakeFailure 404 when no such query runs or ended lately */
export const queryProgress = async (requests: Requests, requestId: string): Promise<QueryProgress> => {
  const json = (await requests.json({ method: 'GET', path: ['query', requestId] })) as Json;
  return {
    ...progressOf(json),
    state: json['state'] as QueryProgress['state'],
    query: json['query'] as string,
    recordsRead: json['records_read'] as number,
    bytesRead: json['bytes_read'] as number,
    recordsTotal: optional<number>(json['records_total']),
    recordsSent: json['records_sent'] as number,
    bytesSent: json['bytes_sent'] as number,
  };
};

/** @throws LakeFailure 404 when no such load runs or ended lately */
export const loadProgress = async (requests: Requests, requestId: string): Promise<LoadProgress> => {
  const json = (await requests.json({ method: 'GET', path: ['load', requestId] })) as Json;
  return {
    ...progressOf(json),
    state: json['state'] as LoadProgress['state'],
    pool: json['pool'] as string,
    branch: json['branch'] as string,
    bytesReceived: json['bytes_received'] as number,
    bytesTotal: optional<number>(json['bytes_total']),
    records: json['records'] as number,
    commit: optional<string>(json['commit']),
  };
};
