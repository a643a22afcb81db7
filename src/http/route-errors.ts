/**
 * Which errors a row of the route table can answer with: its own, and those that its kind brings along. The document
 * says them by status; tests hold every answer against it.
 */
import { type ErrorCode, errorTable } from '../errors.ts';
import type { Route } from './route.ts';

type Codes = readonly ErrorCode[];

/** Of bodies that are one record. */
const controlBodyErrors: Codes = [
  'content-type-unknown',
  'content-type-malformed',
  'content-coding-unknown',
  'content-coding-count',
  'body-not-record',
  'body-not-array',
  'body-field-type',
  'body-not-utf8',
  'body-second-value',
  'body-field-twice',
  'body-cell',
  'size-large',
  'id-invalid',
  'format-broken',
  'format-limit',
  'format-memory',
  'format-too-large',
  'body-too-long',
  'body-expanded',
  'body-stalled',
  'body-slow',
  'bodies-full',
  'load-cancelled',
];
/** Of bodies that are data. */
export const dataErrors: Codes = [
  'content-type-unknown',
  'content-type-malformed',
  'content-coding-unknown',
  'content-coding-count',
  'format-broken',
  'format-detection',
  'format-look-ahead',
  'format-limit',
  'format-memory',
  'format-too-large',
  'body-expanded',
  'body-stalled',
  'body-slow',
  'load-cancelled',
  'load-empty',
  'load-types',
  'rows-nesting',
  'load-columns',
  'load-memory',
  'load-memory-busy',
  'worker-died',
  'worker-replaced',
  'worker-tasks-full',
  'workers-closed',
  'object-unwritten',
  'spill-full',
  'spill-unwritten',
];
/** A value that the format asked for cannot hold. */
const valueErrors: Codes = [
  'write-type',
  'write-name',
  'write-not-record',
  'write-columns-unsupported',
  'write-columns-value',
  'write-columns-not-record',
];
/** Of rows that the format asked for cannot hold. */
export const rowErrors: Codes = [...valueErrors, 'write-columns-types', 'write-not-uniform'];
/** Of the text of a query, and of what it names. */
export const queryTextErrors: Codes = [
  'query-missing',
  'query-index-base',
  'query-long',
  'query-invalid',
  'pool-not-found',
  'branch-not-found',
  'asof-malformed',
  'asof-absent',
  'commit-file-missing',
  'diff-no-fork',
  'meta-unknown',
  'meta-unknown-lake',
  'worker-died',
  'worker-replaced',
  'worker-tasks-full',
  'workers-closed',
  'from-file-refused',
  'from-file-kind',
  'from-file-failed',
  'from-file-many',
  'from-http-refused',
  'from-http-malformed',
  'source-directory',
  'source-glob-empty',
  'query-cancelled',
  // Constants are worked out while a query is compiled.
  'query-memory',
  'query-memory-busy',
  'query-string',
  'query-cast',
  'query-interval-overflow',
  'query-interval-sum',
  'query-overflow',
  'query-time-overflow',
  'query-division',
  'query-aggregate',
  'query-argument',
  'subquery-rows',
  'window-offset',
  'window-key',
];
/** Of a lake in a bucket. */
const storeFaults: Codes = ['store-unreachable', 'store-refused', 'store-corrupt'];
/** Of data that is read. */
export const readErrors: Codes = [
  'vacuumed',
  'object-corrupt',
  'object-missing',
  'object-unread',
  'object-version',
  'table-corrupt',
  ...storeFaults,
];
/** Of CREATE VIEW and DROP VIEW. */
const viewErrors: Codes = ['view-exists', 'view-not-found', 'pool-exists', 'name-reserved', 'name-long'];
/** While a query runs, before its first byte. */
export const queryRunErrors: Codes = [
  ...queryTextErrors,
  ...readErrors,
  'query-time',
  'answer-slow',
  'recursion-rounds',
  'recursion-rows',
  'commit-not-found',
  'format-broken',
  'format-detection',
  'format-look-ahead',
  'format-limit',
  'format-memory',
  'format-too-large',
  'format-unknown',
  'body-expanded',
  'from-http-address',
  'from-http-redirects',
  'from-http-bytes',
  'from-http-time',
  'from-http-failed',
  'auth-role',
  'load-empty',
  'tag-fixed',
  'branch-protected',
  ...viewErrors,
  'jobs-full',
  'lake-closing',
  'lake-failed',
  'storage-full',
  'store-fenced',
  'replica-write',
  'object-unwritten',
  'spill-full',
  'spill-unwritten',
];
/** Of everything that goes through a pool's queue or the lake's. */
const jobErrors: Codes = [
  'jobs-full',
  'lake-closing',
  'lake-failed',
  'storage-full',
  'table-corrupt',
  'store-fenced',
  'replica-write',
  ...storeFaults,
];
/** Of what is done on a condition. */
export const tipErrors: Codes = ['if-match-invalid', 'tip-moved'];
/** Of every commit. */
export const commitErrors: Codes = [
  ...jobErrors,
  'pool-not-found',
  'branch-not-found',
  'tag-fixed',
  'branch-protected',
  'commit-header',
  'commit-meta',
  ...tipErrors,
  'retry-key-invalid',
  'retry-key-reused',
];
/** Of commits that replace data objects by others. */
export const rewriteErrors: Codes = [
  ...commitErrors,
  ...readErrors,
  'object-not-found',
  'rewrite-overtaken',
  'worker-died',
  'worker-replaced',
  'worker-tasks-full',
  'workers-closed',
  'object-unwritten',
  'spill-full',
  'spill-unwritten',
  'load-memory',
  'load-memory-busy',
  'query-memory',
  'query-memory-busy',
  'query-string',
  'query-cancelled',
];
/** Of merges, reverts and picks. */
export const combineErrors: Codes = [
  ...rewriteErrors,
  'combine-overtaken',
  'commit-not-found',
  'parameter-bool',
  'settle-malformed',
  'settle-idle',
  'settle-side',
  'page-range',
  'page-untaken',
];
/** Of changes that are no commits: pools, branches and tags made, renamed or deleted, and vacuums. */
export const changeErrors: Codes = jobErrors;

/** What every row of this kind can answer. */
const kindErrors = (row: Route): Codes => [
  'host-missing',
  'transfer-coding-unknown',
  'header-twice',
  'expectation-unknown',
  ...(row.tag === 'Pages' && row.query === undefined
    ? []
    : ([
        'parameter-unknown',
        'parameter-empty',
        'parameter-twice',
        'parameter-malformed',
        'parameter-not-utf8',
      ] satisfies Codes)),
  ...(row.method === 'GET' || row.takes?.includes('If-Match') ? [] : (['if-match-untaken'] satisfies Codes)),
  ...(row.method === 'GET' || row.takes?.includes('Idempotency-Key') ? [] : (['retry-key-untaken'] satisfies Codes)),
  ...(row.answers[503] ? [] : (['service-recovering'] satisfies Codes)),
  ...(row.open
    ? []
    : ([
        'service-closing',
        'internal',
        'event-invalid',
        'event-late',
        ...(row.silent || row.refuse ? [] : (['accept-unknown'] as const)),
      ] satisfies Codes)),
  ...(row.open && row.need === 'open' ? [] : (['host-foreign'] satisfies Codes)),
  ...(row.writes || row.need !== 'open' ? (['origin-foreign'] satisfies Codes) : []),
  ...(row.need === 'open' ? [] : (['auth-missing', 'auth-invalid', 'auth-keys-unavailable'] satisfies Codes)),
  ...(row.need === 'open' || row.need === 'known' ? [] : (['auth-role'] satisfies Codes)),
  ...(row.need.endsWith('of pool') ? (['pool-not-found'] satisfies Codes) : []),
  ...(row.body !== undefined && row.body !== 'data' ? controlBodyErrors : []),
  ...(Object.values(row.answers).some((answer) => answer.value) ? valueErrors : []),
];

/** All errors that a row can answer with, each once. */
export const errorsOf = (row: Route): Codes => [...new Set([...kindErrors(row), ...row.errors])];

/** The same by status, lowest first. */
export const errorsByStatus = (row: Route): ReadonlyMap<number, Codes> => {
  const out = new Map<number, ErrorCode[]>();
  for (const code of [...errorsOf(row)].sort((a, b) => errorTable[a].status - errorTable[b].status)) {
    const { status } = errorTable[code];
    out.set(status, [...(out.get(status) ?? []), code]);
  }
  return out;
};
