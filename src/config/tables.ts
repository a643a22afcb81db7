/**
 * The options of each command, one table a command: help.ts prints them, options.ts reads a command line against them.
 */
import { responseFormats, terminalFormats } from '../format-names.ts';
import { csvParameters } from './csv.ts';
import { errorsParameter, rejectedParameter } from './faults.ts';
import { utf8Parameter } from './utf8.ts';
import type { OptionRow, OptionValues, ParsedOptions } from './options.ts';

const logLevels = ['trace', 'debug', 'info', 'warn', 'error', 'fatal', 'silent'] as const;
/** The least level that is logged. */
export type LogLevel = (typeof logLevels)[number];

/** Options that can come from the environment too. */
const inEnvironment = { environment: true } as const;
/** Whether options that several commands share can. */
type Outside = typeof inEnvironment | Readonly<Record<never, never>>;
/** Bound of times that no timer waits for: they are only compared with the clock. */
const tenYearsMs = 3650 * 864e5;
const lakeRow = {
  name: 'lake',
  type: 'text',
  fallback: './lake-data',
  value: 'DIR',
  text: 'folder of the lake; created if missing',
  ...inEnvironment,
} as const satisfies OptionRow;
const tokenRow = {
  name: 'token',
  type: 'text',
  fallback: '',
  value: 'TOKEN',
  text: 'key or JSON Web Token for a service with access control',
  ...inEnvironment,
} as const satisfies OptionRow;

/** What `from` may read besides pools, in `lake serve` and `lake shell`. */
const fromOptions = [
  {
    name: 'from.files',
    type: 'list',
    fallback: '',
    value: 'DIR',
    text: 'folder whose files a query may read with from; may be repeated; default none',
    ...inEnvironment,
  },
  {
    name: 'from.http',
    type: 'list',
    fallback: '',
    value: 'URL',
    text: 'HOST[:PORT] or URL prefix that a query may read with from; may be repeated; * is any public host, *.HOST any subdomain, :* any port; private and loopback addresses only for hosts named explicitly; default none',
    ...inEnvironment,
  },
  {
    name: 'from.http.max',
    type: 'bytes',
    fallback: '1GiB',
    value: 'BYTES',
    least: 1,
    text: 'largest response of a URL',
    ...inEnvironment,
  },
  {
    name: 'from.http.time',
    type: 'duration',
    fallback: '1m',
    value: 'TIME',
    least: 1,
    text: 'total time that one URL may keep a query waiting',
    ...inEnvironment,
  },
] as const satisfies readonly OptionRow[];

/** What readers of inputs take at most, in `lake serve` and `lake query`. */
const formatOptions = (more: Outside) =>
  [
    {
      name: 'value.max',
      type: 'bytes',
      fallback: '50MB',
      value: 'BYTES',
      least: 1024,
      most: 1 << 30,
      text: 'a single value or line of a text format',
      ...more,
    },
    {
      name: 'csup.object.max',
      type: 'bytes',
      fallback: '256MiB',
      value: 'BYTES',
      least: 1024,
      most: 2 ** 31,
      text: 'one object of a CSUP input, which is held in memory, before and after expansion',
      ...more,
    },
    {
      name: 'arrows.body.max',
      type: 'bytes',
      fallback: '512MiB',
      value: 'BYTES',
      least: 1024,
      most: 2 ** 31,
      text: 'the body of one Arrow message, which is held in memory, before and after expansion',
      ...more,
    },
    {
      name: 'parquet.file.max',
      type: 'bytes',
      fallback: '1GiB',
      value: 'BYTES',
      least: 1024,
      most: 2 ** 32,
      text: 'a Parquet file, which is held whole, since its footer comes last; and an Arrow file of Polars',
      ...more,
    },
  ] as const satisfies readonly OptionRow[];

/** How far WITH RECURSIVE may go, in `lake serve` and `lake query`. */
const recursionOptions = (more: Outside) =>
  [
    {
      name: 'recursion.rounds.max',
      type: 'integer',
      fallback: '1000000',
      value: 'COUNT',
      least: 1,
      text: 'maximum rounds of one WITH RECURSIVE',
      ...more,
    },
    {
      name: 'recursion.rows.max',
      type: 'integer',
      fallback: '100000000',
      value: 'COUNT',
      least: 1,
      text: 'maximum rows of one WITH RECURSIVE, all rounds together',
      ...more,
    },
  ] as const satisfies readonly OptionRow[];

/** From where indexes count, in all commands that run queries. */
const indexBaseRow = (text: string, otherwise = 'from 0 in pipes, from 1 in SELECT') =>
  ({
    name: 'index.base',
    type: 'text',
    fallback: 'auto',
    value: 'BASE',
    choices: ['auto', '0', '1'],
    text: `${text}; auto: ${otherwise}`,
  }) as const satisfies OptionRow;

/** Who may use the service. */
const authOptions = [
  {
    name: 'auth.keys',
    type: 'switch',
    fallback: 'false',
    text: 'require a token: a key of lake key add, or one of -auth.domain',
    ...inEnvironment,
  },
  {
    name: 'auth.domain',
    type: 'text',
    fallback: '',
    value: 'URL',
    text: 'require a token: a JSON Web Token of this issuer (RS256, ES256, EdDSA), or with -auth.keys a key',
    ...inEnvironment,
  },
  {
    name: 'auth.audience',
    type: 'text',
    fallback: '',
    value: 'TEXT',
    text: 'audience that tokens must have',
    ...inEnvironment,
  },
  {
    name: 'auth.clientid',
    type: 'text',
    fallback: '',
    value: 'TEXT',
    text: 'client id for logging in at the issuer, passed on to clients',
    ...inEnvironment,
  },
  {
    name: 'auth.jwks',
    type: 'text',
    fallback: '',
    value: 'URL',
    text: "URL or file of the issuer's keys; default /.well-known/jwks.json of -auth.domain",
    ...inEnvironment,
  },
  {
    name: 'auth.jwks.ttl',
    type: 'duration',
    fallback: '30s',
    value: 'TIME',
    least: 1000,
    most: 86_400_000,
    text: 'maximum age of the cached issuer keys: tokens, sessions and streams of a removed key end within it',
    ...inEnvironment,
  },
  {
    name: 'auth.roles',
    type: 'text',
    fallback: 'roles',
    value: 'CLAIM',
    text: 'token claim that lists roles: reader, writer or admin, or for one pool writer:POOL',
    ...inEnvironment,
  },
  {
    name: 'auth.skew',
    type: 'duration',
    fallback: '30s',
    value: 'TIME',
    text: 'allowed clock skew of the issuer',
    ...inEnvironment,
  },
  {
    name: 'auth.session.ttl',
    type: 'duration',
    fallback: '12h',
    value: 'TIME',
    least: 1000,
    most: tenYearsMs,
    text: 'lifetime of a browser session',
    ...inEnvironment,
  },
  {
    name: 'iceberg.token.ttl',
    type: 'duration',
    fallback: '1h',
    value: 'TIME',
    least: 60_000,
    most: 12 * 3_600_000,
    text: 'lifetime of the tokens and credentials that Iceberg clients are given',
    ...inEnvironment,
  },
  {
    name: 'iceberg.wait',
    type: 'duration',
    fallback: '20s',
    value: 'TIME',
    least: 100,
    most: 600_000,
    text: 'wait for the files of an Iceberg table, when one asks for it, before a 503 with Retry-After',
    ...inEnvironment,
  },
  {
    name: 'iceberg.grace',
    type: 'duration',
    fallback: '24h',
    value: 'TIME',
    least: 60_000,
    most: tenYearsMs,
    text: 'time for which the files of an Iceberg table stay after a vacuum has removed their snapshots; more than the longest query of an engine',
    ...inEnvironment,
  },
  {
    name: 'iceberg.url',
    type: 'text',
    fallback: '',
    value: 'URL',
    text: 'URL of the service as Iceberg clients reach it, where a proxy changes the host or adds a path; default that of their request',
    ...inEnvironment,
  },
  {
    name: 'insecure',
    type: 'switch',
    fallback: 'false',
    text: 'allow listening on a non-loopback address without access control',
    ...inEnvironment,
  },
  {
    name: 'audit',
    type: 'text',
    fallback: '',
    value: 'FILE',
    text: 'append a line of JSON for each request that may change something, each commit of a query, and each refusal',
    ...inEnvironment,
  },
] as const satisfies readonly OptionRow[];

/** Where a bucket is, in all commands that take one. */
const storeAddressOptions = [
  {
    name: 'store.endpoint',
    type: 'text',
    fallback: '',
    value: 'URL',
    text: 'address of the store of -store, unless it is AWS; default: AWS_ENDPOINT_URL_S3',
    ...inEnvironment,
  },
  {
    name: 'store.region',
    type: 'text',
    fallback: '',
    value: 'REGION',
    text: 'region of the store; default: AWS_REGION, that of the profile, us-east-1',
    ...inEnvironment,
  },
  {
    name: 'store.style',
    type: 'text',
    fallback: 'auto',
    value: 'STYLE',
    choices: ['auto', 'path', 'host'],
    text: 'where requests name the bucket: path, or host (its name before that of the store); auto: path with -store.endpoint, host for AWS',
    ...inEnvironment,
  },
] as const satisfies readonly OptionRow[];
const storeRow = (text: string) =>
  ({
    name: 'store',
    type: 'text',
    fallback: '',
    value: 's3://BUCKET/PREFIX',
    text,
    ...inEnvironment,
  }) as const satisfies OptionRow;

/** The lake's bucket. */
const storeOptions = [
  storeRow('bucket of an S3-compatible store that the lake is kept in; the folder of -lake is made from it if need be'),
  ...storeAddressOptions,
  {
    name: 'store.ack',
    type: 'text',
    fallback: 'local',
    value: 'WHERE',
    choices: ['local', 'bucket'],
    text: 'when a commit is acknowledged: local: when it is on the local disk (in the bucket within about a second), bucket: when it is in the bucket',
    ...inEnvironment,
  },
  {
    name: 'store.grace',
    type: 'duration',
    fallback: '1h',
    value: 'TIME',
    text: 'how long what was removed stays in the bucket, or on the disk of a replica, for those that still read it: at least as long as the longest query',
    ...inEnvironment,
  },
  {
    name: 'cache.max',
    type: 'bytes',
    fallback: '0',
    value: 'BYTES',
    text: 'with -store or -follow: data objects in the folder of -lake, the longest unused ones beyond are removed there; 0: no limit',
    ...inEnvironment,
  },
] as const satisfies readonly OptionRow[];

/** Of a replica. */
const followOptions = [
  {
    name: 'store.lease',
    type: 'duration',
    fallback: '10s',
    value: 'TIME',
    text: 'with -store: after this time without a sign of life of its writer in the bucket another service may take over',
    ...inEnvironment,
  },
  {
    name: 'store.takeover',
    type: 'switch',
    fallback: 'false',
    text: 'with -store: take over at once, though another service writes there',
    ...inEnvironment,
  },
  {
    name: 'standby',
    type: 'switch',
    fallback: 'false',
    text: 'with -store: be a replica until the writer is gone (-store.lease) or lake promote says so, then the writer',
    ...inEnvironment,
  },
  {
    name: 'follow',
    type: 'text',
    fallback: '',
    value: 's3://BUCKET/PREFIX',
    text: 'serve a replica of the lake in this bucket: it follows the writer, answers all that reads, and refuses writes (421) by the address of the writer; the folder of -lake is its cache',
    ...inEnvironment,
  },
  {
    name: 'follow.poll',
    type: 'duration',
    fallback: '200ms',
    value: 'TIME',
    text: 'with -follow: how often the bucket is asked whether there is more',
    ...inEnvironment,
  },
  {
    name: 'follow.url',
    type: 'text',
    fallback: '',
    value: 'URL',
    text: "with -follow: the writer's address; its events tell at once that there is more",
    ...inEnvironment,
  },
  {
    name: 'follow.token',
    type: 'text',
    fallback: '',
    value: 'TOKEN',
    text: 'with -follow.url: key or JSON Web Token, if the writer has access control',
    ...inEnvironment,
  },
  {
    name: 'after.wait',
    type: 'duration',
    fallback: '5s',
    value: 'TIME',
    text: 'how long a request with Lake-After waits for the event that it names, before it is answered 504',
    ...inEnvironment,
  },
] as const satisfies readonly OptionRow[];

/** Options of `lake serve`. */
export const serveOptions = [
  lakeRow,
  ...storeOptions,
  ...followOptions,
  {
    name: 'l',
    type: 'list',
    fallback: '127.0.0.1:9867',
    value: 'ADDRESS',
    text: 'where to listen: HOST:PORT (port 0 picks a free one) or unix:PATH (for its owner alone; for others too with ?mode=660 after it); may be repeated; sockets that systemd passes take the place of the default',
    ...inEnvironment,
  },
  {
    name: 'tls.cert',
    type: 'text',
    fallback: '',
    value: 'FILE',
    text: 'certificate (PEM, with those between it and its authority): all addresses but unix: speak HTTPS (HTTP/2 and HTTP/1.1); read again when it changes',
    ...inEnvironment,
  },
  {
    name: 'tls.key',
    type: 'text',
    fallback: '',
    value: 'FILE',
    text: 'private key of -tls.cert (PEM)',
    ...inEnvironment,
  },
  {
    name: 'proxy.trust',
    type: 'list',
    fallback: '',
    value: 'ADDRESS',
    text: 'proxy whose X-Forwarded-For, -Proto and -Host are believed: an IP address, a range such as 10.0.0.0/8, loopback, or unix for all that comes by a unix: address; may be repeated; default none',
    ...inEnvironment,
  },
  {
    name: 'defaultfmt',
    type: 'text',
    fallback: 'sup',
    value: 'FORMAT',
    choices: responseFormats,
    text: 'format of responses to requests without Accept',
    ...inEnvironment,
  },
  {
    name: 'log.level',
    type: 'text',
    fallback: 'info',
    value: 'LEVEL',
    choices: logLevels,
    text: 'minimum level that is logged',
    ...inEnvironment,
  },
  {
    name: 'cors.origin',
    type: 'list',
    fallback: '',
    value: 'ORIGIN',
    text: 'origin (and host) whose web pages may use the service; may be repeated; * matches any part, * alone any page (then without cookies); default its own pages only',
    ...inEnvironment,
  },
  {
    name: 'workers',
    type: 'integer',
    fallback: '0',
    value: 'COUNT',
    least: 0,
    most: 256,
    text: 'worker threads for loads and queries; 0: one per core; long loads also use idle ones',
    ...inEnvironment,
  },
  {
    name: 'memory',
    type: 'bytes',
    fallback: '256MiB',
    value: 'BYTES',
    least: 16 << 20,
    text: 'memory budget of operators and caches: a query may hold half of it and the loads of one worker a quarter before they spill or fail; a quarter, divided among the workers, caches decoded columns and object lists (the lists up to an eighth)',
    ...inEnvironment,
  },
  {
    name: 'query.status.ttl',
    type: 'duration',
    fallback: '10s',
    value: 'TIME',
    text: 'how long the status of a finished query is available',
    ...inEnvironment,
  },
  {
    name: 'tasks.max',
    type: 'integer',
    fallback: '256',
    value: 'COUNT',
    least: 1,
    text: 'concurrent loads and queries; a quarter is reserved for each kind; more get a 503',
    ...inEnvironment,
  },
  {
    name: 'connections.max',
    type: 'integer',
    fallback: '10000',
    value: 'COUNT',
    least: 1,
    text: 'open connections; beyond that the one that has been idle longest is closed',
    ...inEnvironment,
  },
  {
    name: 'queue.max',
    type: 'integer',
    fallback: '10000',
    value: 'COUNT',
    least: 1,
    text: 'pending jobs of one pool; more get a 503',
    ...inEnvironment,
  },
  {
    name: 'header.max',
    type: 'bytes',
    fallback: '1MiB',
    value: 'BYTES',
    least: 1024,
    most: 64 << 20,
    text: 'request line and headers together',
    ...inEnvironment,
  },
  {
    name: 'body.max',
    type: 'bytes',
    fallback: '1MiB',
    value: 'BYTES',
    least: 1024,
    most: 64 << 20,
    text: 'request bodies other than loads',
    ...inEnvironment,
  },
  {
    name: 'body.idle',
    type: 'duration',
    fallback: '1m',
    value: 'TIME',
    least: 1,
    text: 'idle timeout of a request body; the connection is then closed',
    ...inEnvironment,
  },
  {
    name: 'rate.min',
    type: 'bytes',
    fallback: '1KiB',
    value: 'BYTES',
    least: 0,
    text: 'minimum bytes a second of a body or an answer; slower clients are disconnected when others need their place or memory; 0: never',
    ...inEnvironment,
  },
  {
    name: 'header.time',
    type: 'duration',
    fallback: '30s',
    value: 'TIME',
    least: 1,
    text: 'timeout for the headers of a request',
    ...inEnvironment,
  },
  {
    name: 'name.max',
    type: 'bytes',
    fallback: '64KiB',
    value: 'BYTES',
    least: 64,
    most: 1 << 20,
    text: 'name of a pool or a branch',
    ...inEnvironment,
  },
  {
    name: 'query.text.max',
    type: 'integer',
    fallback: '1000000',
    value: 'COUNT',
    least: 64,
    text: 'characters of a query',
    ...inEnvironment,
  },
  {
    name: 'query.time',
    type: 'duration',
    fallback: '1h',
    value: 'TIME',
    text: 'maximum run time of a query, until its last byte is read; 0s: unlimited',
    ...inEnvironment,
  },
  {
    name: 'retry.keep',
    type: 'duration',
    fallback: '24h',
    value: 'TIME',
    least: 1000,
    most: tenYearsMs,
    text: 'how long an Idempotency-Key is remembered',
    ...inEnvironment,
  },
  {
    name: 'ingest.pools',
    type: 'text',
    fallback: 'create',
    value: 'RULE',
    choices: ['create', 'existing'],
    text: 'pools that a shipper (OTLP and the like) names: create makes those that are missing, for callers who may make pools; existing takes only those that are there',
    ...inEnvironment,
  },
  {
    name: 'ingest.pools.max',
    type: 'integer',
    fallback: '10000',
    value: 'COUNT',
    least: 0,
    text: 'pools of the lake from which on shippers make no more of them',
    ...inEnvironment,
  },
  {
    name: 'ingest.body.max',
    type: 'bytes',
    fallback: '64MiB',
    value: 'BYTES',
    least: 1024,
    most: 256 << 20,
    text: 'an OTLP request without its compression, which is held whole; longer ones get a 413',
    ...inEnvironment,
  },
  {
    name: 'ingest.repeats',
    type: 'duration',
    fallback: '1h',
    value: 'TIME',
    most: tenYearsMs,
    text: 'how long a shipper that sends the same body again gets the commit of the first time, at most -retry.keep; 0s: a body that comes again is loaded again',
    ...inEnvironment,
  },
  {
    name: 'syslog',
    type: 'text',
    fallback: '',
    value: 'HOST:PORT',
    text: 'listens to syslog by TCP and UDP (RFC 5424, 3164, 6587); anyone who reaches the port can write into its pool, so that -syslog.pool must name that with access control, or where others than this machine reach it',
    ...inEnvironment,
  },
  {
    name: 'syslog.pool',
    type: 'text',
    fallback: '',
    value: 'NAME',
    text: 'pool of what comes by syslog, created if missing; default syslog',
    ...inEnvironment,
  },
  {
    name: 'syslog.message.max',
    type: 'bytes',
    fallback: '64KiB',
    value: 'BYTES',
    least: 480,
    most: 1 << 20,
    text: 'a message of syslog; longer ones are dropped and counted',
    ...inEnvironment,
  },
  {
    name: 'syslog.delay',
    type: 'duration',
    fallback: '1s',
    value: 'TIME',
    most: 60_000,
    text: 'how long a message of syslog waits for others before they are committed',
    ...inEnvironment,
  },
  {
    name: 'config',
    type: 'text',
    fallback: '',
    value: 'FILE',
    text: 'options out of a YAML file, by their names (memory: 512MiB, query: {time: 30s}); environment and flags win over it',
    ...inEnvironment,
  },
  {
    name: 'start.wait',
    type: 'duration',
    fallback: '10s',
    value: 'TIME',
    text: 'how long requests wait while the lake opens before they get a 503; health checks never do',
    ...inEnvironment,
  },
  {
    name: 'answers.max',
    type: 'bytes',
    fallback: '1GiB',
    value: 'BYTES',
    text: 'disk space for answers of GET /query whose length or ranges somebody asked for, kept for 5 minutes',
    ...inEnvironment,
  },
  {
    name: 'expanded.max',
    type: 'bytes',
    fallback: '64GiB',
    value: 'BYTES',
    least: 1 << 20,
    text: 'maximum expanded size of a compressed request body',
    ...inEnvironment,
  },
  {
    name: 'pack.objects',
    type: 'integer',
    fallback: '256',
    value: 'N',
    least: 0,
    text: 'number of small objects of a branch that are packed into one in the background, for faster scans; 0: never',
    ...inEnvironment,
  },
  {
    name: 'query.share.rows',
    type: 'integer',
    fallback: '200000',
    value: 'ROWS',
    least: 0,
    text: 'long queries that scan at least this many rows, and group or sort them without a join, are split over idle workers (float sums are then added per part); 0: never',
    ...inEnvironment,
  },
  {
    name: 'compress',
    type: 'text',
    fallback: 'compacted',
    value: 'WHAT',
    choices: ['none', 'compacted', 'all'],
    text: 'data objects that are compressed where it pays: none; compacted: those of compactions, and of rewrites of such; all: also those of loads, which then take longer',
    ...inEnvironment,
  },
  {
    name: 'warmup',
    type: 'duration',
    fallback: '100ms',
    value: 'TIME',
    text: 'how long each worker runs queries of its own before the first one comes; 0s: none',
    ...inEnvironment,
  },
  {
    name: 'bsup.frame.max',
    type: 'bytes',
    fallback: '128MiB',
    value: 'BYTES',
    least: 1024,
    most: 2 ** 31,
    text: 'one frame of a BSUP input, before and after expansion',
    ...inEnvironment,
  },
  ...formatOptions(inEnvironment),
  {
    name: 'types.max',
    type: 'integer',
    fallback: '100000',
    value: 'COUNT',
    least: 1,
    text: 'distinct shapes of the values of one load: field names in order, and kinds of containers',
    ...inEnvironment,
  },
  {
    name: 'columns.max',
    type: 'integer',
    fallback: '1000000',
    value: 'COUNT',
    least: 1,
    text: 'columns of one load: leaves of its shapes by type',
    ...inEnvironment,
  },
  ...recursionOptions(inEnvironment),
  {
    ...indexBaseRow('from where brackets count in texts without pragma index_base, unless the request has index_base'),
    ...inEnvironment,
  },
  {
    name: 'events.max',
    type: 'integer',
    fallback: '1000',
    value: 'COUNT',
    least: 1,
    text: 'subscribers of /events',
    ...inEnvironment,
  },
  {
    name: 'events.queue.max',
    type: 'integer',
    fallback: '1000',
    value: 'COUNT',
    least: 1,
    text: 'events queued for one slow subscriber before it is disconnected',
    ...inEnvironment,
  },
  {
    name: 'events.heartbeat',
    type: 'duration',
    fallback: '45s',
    value: 'TIME',
    text: 'interval of heartbeat comments on /events; 0: none',
    ...inEnvironment,
  },
  ...fromOptions,
  ...authOptions,
  {
    name: 'record',
    type: 'text',
    fallback: '',
    value: 'FILE',
    text: 'record every message that enters a machine to this file, for lake replay; an existing recording is kept as FILE.before',
    ...inEnvironment,
  },
  {
    name: 'record.bytes.max',
    type: 'bytes',
    fallback: '256MiB',
    value: 'BYTES',
    least: 4096,
    text: 'approximate size at which the recording is rotated to FILE.1',
    ...inEnvironment,
  },
  {
    name: 'record.files.max',
    type: 'integer',
    fallback: '8',
    value: 'COUNT',
    least: 1,
    most: 9999,
    text: 'rotated recording files that are kept',
    ...inEnvironment,
  },
  {
    name: 'record.bodies',
    type: 'switch',
    fallback: 'false',
    text: 'also record the bodies of loads, in the folder FILE.bodies, and at the end a digest of the rows of every branch; otherwise only digests of bodies',
    ...inEnvironment,
  },
  {
    name: 'record.bodies.max',
    type: 'bytes',
    fallback: '1GiB',
    value: 'BYTES',
    least: 1,
    text: 'total size of recorded bodies; of later ones only the digest is recorded',
    ...inEnvironment,
  },
  {
    name: 'inspect',
    type: 'switch',
    fallback: 'true',
    text: 'keep the last 10,000 messages of the state machines, as ids and counts, and show them live at /inspect',
    ...inEnvironment,
  },
  {
    name: 'inspect.max',
    type: 'integer',
    fallback: '16',
    value: 'COUNT',
    least: 1,
    most: 1000,
    text: 'concurrent watchers (pages and inspectors); more get a 503',
    ...inEnvironment,
  },
  {
    name: 'inspect.stately',
    type: 'text',
    fallback: '',
    value: 'URL',
    text: 'WebSocket of a Stately inspector that also receives the messages, for instance ws://localhost:8080',
    ...inEnvironment,
  },
  {
    name: 'trace.otlp',
    type: 'text',
    fallback: '',
    value: 'URL',
    text: 'OTLP over HTTP collector that receives traces, for instance http://localhost:4318; also OTEL_EXPORTER_OTLP_ENDPOINT; OTEL_SERVICE_NAME and OTEL_RESOURCE_ATTRIBUTES name the service',
    ...inEnvironment,
  },
  {
    name: 'metrics.pools',
    type: 'integer',
    fallback: '100',
    value: 'COUNT',
    least: 0,
    text: 'pools with their own label in /metrics; the rest are aggregated',
    ...inEnvironment,
  },
  {
    name: 'shutdown.grace',
    type: 'duration',
    fallback: '5s',
    value: 'TIME',
    text: 'how long requests may continue after SIGTERM',
    ...inEnvironment,
  },
] as const satisfies readonly OptionRow[];

/** Values of the options that several commands share. */
export type FromValues = OptionValues<typeof fromOptions>;
export type FormatValues = OptionValues<ReturnType<typeof formatOptions>>;
export type RecursionValues = OptionValues<ReturnType<typeof recursionOptions>>;
export type IndexBaseValues = OptionValues<readonly [ReturnType<typeof indexBaseRow>]>;
export type StoreAddressValues = OptionValues<typeof storeAddressOptions>;
export type ServeValues = OptionValues<typeof serveOptions>;

/** Options of `lake shell`. */
export const shellOptions = [
  {
    name: 's',
    type: 'text',
    fallback: '',
    value: 'URL',
    text: 'address of the service; default http://127.0.0.1:9867',
  },
  tokenRow,
  {
    name: 'lake',
    type: 'text',
    fallback: '',
    value: 'DIR',
    text: 'open the lake in this folder instead; no service may be using it',
  },
  { name: 'use', type: 'text', fallback: '', value: 'POOL[@BRANCH]', text: 'what queries without from read' },
  { name: 'c', type: 'list', fallback: '', value: 'TEXT', text: 'run this query or command and end; may be repeated' },
  {
    name: 'mode',
    type: 'text',
    fallback: 'auto',
    value: 'MODE',
    choices: ['auto', ...terminalFormats],
    text: `format of results: ${terminalFormats.join(', ')}; auto: a table at a terminal, else sup`,
  },
  {
    name: 'e',
    type: 'switch',
    fallback: 'true',
    text: 'stop at the first query that fails, with exit status 1; not at a terminal',
  },
  indexBaseRow(
    'from where brackets count without pragma index_base',
    'as the service has it, with -lake from 0 in pipes, from 1 in SELECT',
  ),
  {
    name: 'history',
    type: 'text',
    fallback: '',
    value: 'FILE',
    text: 'history file of queries typed at a terminal; off: none; default $XDG_STATE_HOME/lake/history or ~/.local/state/lake/history',
    ...inEnvironment,
  },
  { name: 'q', type: 'switch', fallback: 'false', text: 'no greeting, no row counts after results' },
  {
    name: 'workers',
    type: 'integer',
    fallback: '2',
    value: 'COUNT',
    least: 1,
    most: 256,
    text: 'with -lake: worker threads; with one, a query waits for a query that was just cancelled',
  },
  {
    name: 'memory',
    type: 'bytes',
    fallback: '256MiB',
    value: 'BYTES',
    least: 16 << 20,
    text: 'with -lake: budget of operators, as of lake serve',
  },
  ...fromOptions,
] as const satisfies readonly OptionRow[];

/** What `lake shell` was given. */
export type ShellOptions = ParsedOptions<typeof shellOptions>;

/** Options of `lake fsck`. */
export const fsckOptions = [
  lakeRow,
  {
    name: 'repair',
    type: 'switch',
    fallback: 'false',
    text: 'repairs a damaged lake: tables from the log, or a new log from what is intact, and names what is lost',
  },
  storeRow('checks the lake in this bucket instead: every object that its log names is there, whole and right'),
  ...storeAddressOptions,
] as const satisfies readonly OptionRow[];

/** Options of `lake promote`. */
export const promoteOptions = [
  {
    name: 'lake',
    type: 'text',
    fallback: 'http://127.0.0.1:9867',
    value: 'URL',
    text: 'address of the standby',
  },
  tokenRow,
] as const satisfies readonly OptionRow[];
/** Options of `lake clone`. */
export const cloneOptions = [...storeAddressOptions] as const satisfies readonly OptionRow[];

/** How files are read that a command is given. */
export const inputOptions = [
  { name: 'i', type: 'text', fallback: 'auto', value: 'FORMAT', text: 'format of the input' },
  {
    name: 'csv.delim',
    type: 'text',
    fallback: '',
    value: 'CHAR',
    text: 'field delimiter of CSV input; default: what the first lines show, else a comma',
  },
  ...[...csvParameters, utf8Parameter].map(
    ({ name, value, text }) => ({ name, type: 'text', fallback: '', value, text }) as const,
  ),
] as const satisfies readonly OptionRow[];

export type InputValues = OptionValues<typeof inputOptions>;

/** Options of `lake load`. */
export const loadOptions = [
  { name: 'lake', type: 'text', fallback: 'http://127.0.0.1:9867', value: 'URL', text: 'address of the service' },
  tokenRow,
  { name: 'use', type: 'text', fallback: '', value: 'POOL[@BRANCH]', text: 'where to load' },
  { name: 'user', type: 'text', fallback: '', value: 'TEXT', text: 'author of the commit' },
  { name: 'message', type: 'text', fallback: '', value: 'TEXT', text: 'message of the commit' },
  { name: 'meta', type: 'text', fallback: '', value: 'VALUE', text: 'SUP value kept with the commit' },
  {
    name: 'dryrun',
    type: 'switch',
    fallback: 'false',
    text: 'load nothing; print the format of each file and why, its types, first rows and the key',
  },
  {
    name: 'parallel',
    type: 'integer',
    fallback: '4',
    value: 'COUNT',
    least: 1,
    most: 64,
    text: 'files sent at once; 1: their commits are in the order of the files',
  },
  {
    name: 'hive',
    type: 'switch',
    fallback: 'false',
    text: 'folders named FIELD=VALUE give each record that field',
  },
  {
    name: 'follow',
    type: 'switch',
    fallback: 'false',
    text: 'load what is in the files and what comes to them, until SIGINT or SIGTERM',
  },
  {
    name: 'state',
    type: 'text',
    fallback: '.lake-follow',
    value: 'DIR',
    text: '-follow: folder that keeps how far each file was loaded',
  },
  {
    name: 'batch.bytes',
    type: 'bytes',
    fallback: '1MiB',
    value: 'BYTES',
    least: 1024,
    most: 256 << 20,
    text: '-follow: a commit has so much of a file, unless its lines are longer',
  },
  {
    name: 'batch.wait',
    type: 'duration',
    fallback: '1s',
    value: 'TIME',
    text: '-follow: less is committed after so long',
  },
  {
    name: 'batch.line',
    type: 'bytes',
    fallback: '50MB',
    value: 'BYTES',
    least: 1024,
    most: 1 << 30,
    text: '-follow: longest line',
  },
  { name: 'upsert', type: 'switch', fallback: 'false', text: 'records replace those of the same identity of the pool' },
  {
    name: 'delete',
    type: 'text',
    fallback: '',
    value: 'FIELD',
    text: 'with -upsert: the field that is true in records that only take others away',
  },
  ...inputOptions,
  ...[errorsParameter, rejectedParameter].map(
    ({ name, value, text }) => ({ name, type: 'text', fallback: '', value, text }) as const,
  ),
] as const satisfies readonly OptionRow[];

/** What `lake load` was given. */
export type LoadOptions = ParsedOptions<typeof loadOptions>;

const serviceRow = {
  name: 'lake',
  type: 'text',
  fallback: 'http://127.0.0.1:9867',
  value: 'URL',
  text: 'address of the service',
} as const satisfies OptionRow;
const useRow = {
  name: 'use',
  type: 'text',
  fallback: '',
  value: 'POOL[@BRANCH]',
  text: 'the pool, and its branch; default main',
  ...inEnvironment,
} as const satisfies OptionRow;
const versionRows = [useRow, serviceRow, tokenRow] as const;
/** What commands on versions have in common. */
export type VersionValues = OptionValues<typeof versionRows>;
const dryRunRow = {
  name: 'dryrun',
  type: 'switch',
  fallback: 'false',
  text: 'only say what it would do',
} as const satisfies OptionRow;
const noteRows = [
  { name: 'user', type: 'text', fallback: '', value: 'TEXT', text: 'author of the commit' },
  { name: 'message', type: 'text', fallback: '', value: 'TEXT', text: 'message of the commit' },
] as const satisfies readonly OptionRow[];
const commitRows = [
  ...noteRows,
  dryRunRow,
  { name: 'fields', type: 'switch', fallback: 'false', text: 'put records together whose fields were changed apart' },
  {
    name: 'resolve',
    type: 'text',
    fallback: '',
    value: 'ours|theirs',
    text: 'take this side of the records in conflict that nothing else settles',
  },
  {
    name: 'settle',
    type: 'list',
    fallback: '',
    value: 'SUP',
    text: 'settle one record, as in {key:{id:7},take:"theirs"} or {key:{id:7},value:null}; may be repeated',
  },
] as const satisfies readonly OptionRow[];
const deleteRow = (what: string) =>
  ({ name: 'd', type: 'switch', fallback: 'false', text: what }) as const satisfies OptionRow;

export type NoteValues = OptionValues<typeof noteRows>;
export type CommitValues = OptionValues<typeof commitRows>;

/** Options of `lake log`. */
export const logOptions = [
  ...versionRows,
  { name: 'n', type: 'integer', fallback: '0', value: 'COUNT', least: 0, text: 'so many commits at most; 0: all' },
] as const satisfies readonly OptionRow[];
/** Options of `lake diff`. */
export const diffOptions = [
  ...versionRows,
  { name: 'summary', type: 'switch', fallback: 'false', text: 'count the records only' },
] as const satisfies readonly OptionRow[];
/** Options of `lake branch`. */
export const branchOptions = [...versionRows, deleteRow('delete the branch')] as const satisfies readonly OptionRow[];
/** Options of `lake tag`. */
export const tagOptions = [...versionRows, deleteRow('delete the tag')] as const satisfies readonly OptionRow[];
/** Options of `lake merge`. */
export const mergeOptions = [...versionRows, ...commitRows] as const satisfies readonly OptionRow[];
/** Options of `lake revert`. */
export const revertOptions = [...versionRows, ...commitRows] as const satisfies readonly OptionRow[];
/** Options of `lake pick`. */
export const pickOptions = [...versionRows, ...commitRows] as const satisfies readonly OptionRow[];
/** Options of `lake reset`. */
export const resetOptions = [
  ...versionRows,
  { name: 'if', type: 'text', fallback: '', value: 'COMMIT', text: 'only while the branch is at this commit' },
] as const satisfies readonly OptionRow[];
/** Options of `lake transaction`. */
export const transactionOptions = [serviceRow, tokenRow, ...noteRows] as const satisfies readonly OptionRow[];
/** Options of `lake import`. */
export const importOptions = [
  lakeRow,
  { name: 'pool', type: 'list', fallback: '', value: 'NAME', text: 'only this pool; may be repeated; default all' },
] as const satisfies readonly OptionRow[];

/**
 * Options of `lake query`: those of the `super` command. The order of `-c` and `-I` is in `order` of the parsed
 * options.
 */
export const queryOptions = [
  { name: 'c', type: 'list', fallback: '', value: 'TEXT', text: 'query text; may be repeated' },
  { name: 'I', type: 'list', fallback: '', value: 'FILE', text: 'file with query text; may be repeated' },
  { name: 'f', type: 'text', fallback: '', value: 'FORMAT', text: 'format of the output' },
  { name: 'o', type: 'text', fallback: '', value: 'FILE', text: 'where the output goes; default standard output' },
  { name: 's', type: 'switch', fallback: 'false', text: 'SUP, one value a line' },
  { name: 'S', type: 'switch', fallback: 'false', text: 'SUP over several lines' },
  { name: 'j', type: 'switch', fallback: 'false', text: 'JSON, one value a line' },
  { name: 'J', type: 'switch', fallback: 'false', text: 'JSON over several lines' },
  {
    name: 'pretty',
    type: 'integer',
    fallback: '2',
    value: 'WIDTH',
    least: 0,
    most: 1000,
    text: 'indent of SUP and JSON; 0: one value a line',
  },
  { name: 'e', type: 'switch', fallback: 'true', text: 'stop at input errors' },
  { name: 'q', type: 'switch', fallback: 'false', text: 'no warnings' },
  { name: 'noheader', type: 'switch', fallback: 'false', text: 'no header line in CSV and TSV' },
  { name: 'dynamic', type: 'switch', fallback: 'false', text: "do not sample the input's types before compiling" },
  {
    name: 'samplesize',
    type: 'integer',
    fallback: '1000',
    value: 'COUNT',
    text: 'values sampled per input before compiling; -1: all, 0: none',
  },
  {
    name: 'persist',
    type: 'text',
    fallback: '',
    value: 'REGEXP',
    text: 'named types that stay defined over the whole SUP output',
  },
  { name: 'B', type: 'switch', fallback: 'false', text: 'binary output to a terminal is allowed' },
  { name: 'unbuffered', type: 'switch', fallback: 'false', text: 'write each batch at once, which is always so' },
  { name: 'stats', type: 'switch', fallback: 'false', text: 'statistics on standard error' },
  { name: 'split', type: 'text', fallback: '', value: 'DIR', text: 'one output file for each type, in this folder' },
  {
    name: 'splitsize',
    type: 'bytes',
    fallback: '0',
    value: 'BYTES',
    text: 'with -split: files of at least this size instead',
  },
  {
    name: 'memory',
    type: 'bytes',
    fallback: '256MiB',
    value: 'BYTES',
    text: 'memory of the operators before they spill or fail; -aggmem, -sortmem and -fusemem are other names for it: the largest given counts',
  },
  { name: 'aggmem', type: 'bytes', fallback: '256MiB', value: 'BYTES', text: 'memory of aggregates before they spill' },
  {
    name: 'sortmem',
    type: 'bytes',
    fallback: '256MiB',
    value: 'BYTES',
    text: 'memory of a sort or join before it spills',
  },
  { name: 'fusemem', type: 'bytes', fallback: '256MiB', value: 'BYTES', text: 'memory of fuse before it spills' },
  { name: 'bsup.compress', type: 'switch', fallback: 'true', text: 'compress BSUP frames' },
  { name: 'bsup.framethresh', type: 'integer', fallback: '524288', value: 'BYTES', text: 'least size of a BSUP frame' },
  { name: 'bsup.readmax', type: 'bytes', fallback: '1GiB', value: 'BYTES', text: 'longest BSUP frame that is read' },
  ...formatOptions({}),
  ...recursionOptions({}),
  indexBaseRow('from where brackets count without pragma index_base'),
  {
    name: 'from.http',
    type: 'list',
    fallback: '',
    value: 'URL',
    text: 'only these hosts or URL prefixes may be read, as in lake serve; may be repeated; default any URL',
  },
  ...inputOptions,
] as const satisfies readonly OptionRow[];

/** What `lake query` was given. */
export type QueryOptions = ParsedOptions<typeof queryOptions>;

/** Options of `lake key`. */
export const keyOptions = [
  lakeRow,
  {
    name: 'role',
    type: 'list',
    fallback: '',
    value: 'ROLE[:POOL]',
    text: 'add: reader, writer or admin of the lake, or of one pool, by name or id; may be repeated',
  },
  {
    name: 'ttl',
    type: 'duration',
    fallback: '0s',
    value: 'TIME',
    most: tenYearsMs,
    text: 'add: lifetime of the key; 0s: until it is revoked',
  },
] as const satisfies readonly OptionRow[];

/** Options of `lake replay`. */
export const replayOptions = [
  {
    name: 'lake',
    type: 'text',
    fallback: '',
    value: 'DIR',
    text: 'replay against the whole service too, on a fresh lake in this folder, which must be empty or absent',
  },
  {
    name: 'memory',
    type: 'bytes',
    fallback: '256MiB',
    value: 'BYTES',
    least: 16 << 20,
    text: 'with -lake: budget of operators, as of lake serve',
  },
  indexBaseRow('with -lake: as of the service that was recorded'),
] as const satisfies readonly OptionRow[];
