/**
 * Traces: what of a request is told to OpenTelemetry, once it was answered. Without -trace.otlp there is none of this,
 * and no package of it is loaded (tracing/otlp.ts is imported when it is asked for).
 *
 * - Times are marks that the service keeps anyway (`performance.now()`), so that nothing is carried along while a
 *   request is under way.
 * - Attributes by the semantic conventions of HTTP; ours begin with `lake.`. The path and query of the URL are told, so
 *   names of pools and branches are; texts of queries and records, which come in bodies, are not.
 */
import type { FastifyReply, FastifyRequest } from 'fastify';
import type { JobMarks } from '../../lake/lake.types.ts';
import type { LoadRun, QueryRun } from '../runs.ts';

/** Who is told of requests, so that traces are sent of them. */
export interface Tracing {
  /** A request came. */
  begun(request: FastifyRequest): void;
  /** Adds what a handler knows of its request. */
  note(request: FastifyRequest, more: Noted): void;
  /** The request was answered. */
  answered(request: FastifyRequest, reply: FastifyReply): void;
  /** Sends what waits, for some time at most. */
  close(): Promise<void>;
}
/** What handlers know of a request: the query or load that it began, and the job that made its commit. */
export interface Noted {
  readonly query?: QueryRun;
  readonly load?: LoadRun;
  readonly job?: JobMarks;
}

/** Of a span, by name. */
type Attributes = Readonly<Record<string, string | number | boolean>>;
/** A span before it has ids. Times are of `performance.now()`. */
export interface SpanPlan {
  readonly name: string;
  readonly startAt: number;
  readonly endAt: number;
  readonly attributes?: Attributes;
  readonly error?: string;
  readonly children?: readonly SpanPlan[];
}

/**
 * A request that was answered. Times are of `performance.now()`; `route`: the pattern, undefined for a path that there
 * is not; `more`: further attributes.
 */
export interface Answered {
  readonly method: string;
  readonly route: string | undefined;
  readonly url: string;
  readonly status: number;
  readonly startAt: number;
  readonly endAt: number;
  readonly id: string;
  readonly more: Attributes;
}

/** The spans of a request. */
export const requestSpans = (
  { method, route, url, status, startAt, endAt, id, more }: Answered,
  { query, load, job }: Noted,
): SpanPlan => {
  const [path = '', search] = url.split('?', 2);
  const known = knownMethods.has(method) ? method : '_OTHER';
  const failure =
    status >= 500
      ? String(status)
      : query?.failure !== undefined && query.state === 'failed' && status === 200
        ? 'query failed'
        : undefined;
  return {
    name:
      route === undefined
        ? `${known === '_OTHER' ? 'HTTP' : known}`
        : `${known === '_OTHER' ? 'HTTP' : known} ${route}`,
    startAt,
    endAt,
    attributes: {
      'http.request.method': known,
      ...(known === '_OTHER' && { 'http.request.method_original': method }),
      'url.path': path,
      ...(search !== undefined && { 'url.query': search }),
      'url.scheme': 'http',
      ...(route !== undefined && { 'http.route': route }),
      'http.response.status_code': status,
      'lake.request_id': id,
      ...(failure !== undefined && { 'error.type': failure }),
      ...more,
    },
    ...(failure !== undefined && { error: failure }),
    children: [
      ...(query ? querySpans(query, endAt) : []),
      ...(load ? loadSpans(load) : []),
      ...(job ? jobSpans(job) : []),
    ],
  };
};

const knownMethods: ReadonlySet<string> = new Set([
  'CONNECT',
  'DELETE',
  'GET',
  'HEAD',
  'OPTIONS',
  'PATCH',
  'POST',
  'PUT',
  'TRACE',
]);

/**
 * Steps one behind the other: one that was not begun or took no time is none, one that was not finished ends with the
 * last mark.
 */
const steps = (
  named: readonly (readonly [name: string, startAt: number, endAt: number, attributes?: Attributes])[],
  { endAt, error }: { readonly endAt: number; readonly error: string | undefined },
): readonly SpanPlan[] =>
  named
    .filter(([, startAt, end]) => startAt > 0 && end !== startAt)
    .map(([name, startAt, end, attributes], i, begun) => ({
      name,
      startAt,
      endAt: end > 0 ? end : endAt,
      ...(attributes && { attributes }),
      ...(error !== undefined && i === begun.length - 1 && { error }),
    }));

const querySpans = (run: QueryRun, answeredAt: number): readonly SpanPlan[] => {
  const { watch } = run;
  const { recordsRead, bytesRead, recordsSent } = watch.counts();
  const error = run.failure === undefined ? undefined : run.state;
  const read = { 'lake.records_read': recordsRead, 'lake.bytes_read': bytesRead };
  const sent = { 'lake.records_sent': recordsSent, 'lake.bytes_sent': watch.bytesSent };
  return steps(
    [
      ['query compile', watch.beganAt, watch.compiledAt || watch.endedAt],
      ['query run', watch.compiledAt, watch.firstBytesAt || watch.endedAt, read],
      ['query stream', watch.firstBytesAt, run.endedAt, sent],
    ],
    { endAt: answeredAt, error },
  );
};

const loadSpans = (run: LoadRun): readonly SpanPlan[] => {
  const { watch } = run;
  const { syncs, syncAt, syncedAt } = watch;
  const error = run.failure === undefined || run.isCommitFailure ? undefined : run.state;
  const spans = steps(
    [
      [
        'load parse',
        watch.beganAt,
        watch.readAt,
        { 'lake.body_bytes': watch.bodyBytes, 'lake.records': watch.records },
      ],
      ['load sort', watch.readAt, watch.sortedAt],
      ['load write', watch.sortedAt, watch.writtenAt, { 'lake.object_bytes': watch.objectBytes }],
    ],
    { endAt: watch.endedAt || run.endedAt, error },
  );
  if (syncs === 0) return spans;
  // A load that is cut into several objects syncs the first of them while it sorts on.
  const sync: SpanPlan = {
    name: 'object fsync',
    startAt: syncAt,
    endAt: syncedAt,
    attributes: { 'lake.objects': syncs },
  };
  return [...spans, sync];
};

const jobSpans = ({ askedAt, beganAt, endedAt }: JobMarks): readonly SpanPlan[] => [
  { name: 'job wait', startAt: askedAt, endAt: beganAt },
  { name: 'commit transaction', startAt: beganAt, endAt: endedAt },
];

/**
 * Trace id, parent's span id and whether the parent is sampled, of a `traceparent` header; undefined for what is none.
 */
export const traceParent = (
  header: string | readonly string[] | undefined,
): { readonly traceId: string; readonly spanId: string; readonly sampled: boolean } | undefined => {
  if (typeof header !== 'string') return undefined;
  const found = /^([0-9a-f]{2})-([0-9a-f]{32})-([0-9a-f]{16})-([0-9a-f]{2})(-.*)?$/.exec(header.trim());
  if (!found) return undefined;
  const [, version, traceId = '', spanId = '', flags = '', rest] = found;
  // A later version may have more behind; the first has not.
  if (version === 'ff' || (version === '00' && rest !== undefined) || /^0+$/.test(traceId) || /^0+$/.test(spanId))
    return undefined;
  return { traceId, spanId, sampled: (Number.parseInt(flags, 16) & 1) === 1 };
};
