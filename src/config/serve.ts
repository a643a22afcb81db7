/** What `lake serve` runs with: read once from flags and environment, checked, frozen. */
import { availableParallelism } from 'node:os';
import { optionsText } from './help.ts';
import { type ListenAddress, listenAddresses } from './listen.ts';
import { isProxy } from './proxies.ts';
import {
  type FormatLimitsConfig,
  type FromConfig,
  type RecursionConfig,
  formatLimits,
  fromConfig,
  indexBaseOf,
  recursionLimits,
} from './limits.ts';
import {
  ConfigError,
  noMore,
  parseAddress,
  parseOptions,
  type Environment,
  type FileOptions,
  type HelpRequest,
} from './options.ts';
import { type FollowConfig, storeConfig, type StoreConfig } from './store.ts';
import type { ResponseFormatName } from '../format-names.ts';
import { type LogLevel, serveOptions, type ServeValues } from './tables.ts';

/** What `lake serve` runs with. Times are in milliseconds, sizes in bytes. */
export interface ServeConfig {
  readonly lakeDirectory: string;
  /** Absent: the lake is the folder alone. */
  readonly store?: StoreConfig;
  /** The service is a replica. */
  readonly follow?: FollowConfig;
  /** How long a request waits for the event that it names. */
  readonly afterWaitMs: number;
  /** At least one. */
  readonly listen: readonly ListenAddress[];
  /** Files of the certificate and its key; absent: no TLS. */
  readonly tls?: { readonly certificate: string; readonly key: string };
  /** Addresses and ranges; `loopback` and `unix` stand for their kinds. */
  readonly proxiesTrusted: readonly string[];
  readonly defaultFormat: ResponseFormatName;
  readonly logLevel: LogLevel;
  readonly corsOrigins: readonly string[];
  readonly workerCount: number;
  readonly memoryBytesMax: number;
  readonly queryStatusMs: number;
  readonly answersBytesMax: number;
  readonly startWaitMs: number;
  readonly tasksMax: number;
  /** Infinity: never. */
  readonly queryShareRowsMin: number;
  /** Which data objects are compressed. */
  readonly compress: 'none' | 'compacted' | 'all';
  /** 0: workers do not warm up. */
  readonly warmUpMs: number;
  /** 0: small objects are not packed. */
  readonly packObjectsMin: number;
  readonly connectionsMax: number;
  readonly queueJobsMax: number;
  readonly headerBytesMax: number;
  readonly bodyBytesMax: number;
  readonly retryKeepMs: number;
  readonly ingest: IngestConfig;
  /** Absent: nothing listens to syslog. */
  readonly syslog?: SyslogConfig;
  readonly bodyIdleMsMax: number;
  /** Bytes a second; 0: any will do. */
  readonly rateBytesMin: number;
  readonly headerMsMax: number;
  readonly nameBytesMax: number;
  /** In characters. */
  readonly queryTextMax: number;
  /** 0: no limit. */
  readonly queryMsMax: number;
  readonly expandedBytesMax: number;
  readonly subscribersMax: number;
  readonly subscriberEventsMax: number;
  readonly heartbeatMs: number;
  /** Absent: nothing is traced. */
  readonly trace?: TraceConfig;
  readonly metricsPoolsMax: number;
  readonly shutdownMs: number;
  readonly from: FromConfig;
  readonly formatLimits: FormatLimitsConfig;
  readonly recursion: RecursionConfig;
  /** From where indexes count; undefined: as the language has it. */
  readonly indexBase: 0 | 1 | undefined;
  /** `file` is empty when nothing is to be recorded. */
  readonly record: RecordConfig;
  readonly inspect: InspectConfig;
  readonly auth: AuthConfig;
  /** Listens anywhere without access control. */
  readonly insecure: boolean;
  /** Empty for none. */
  readonly auditFile: string;
  /** Lifetime of what Iceberg clients are given. */
  readonly icebergTokenMs: number;
  /** How long a request waits for the files of a table. */
  readonly icebergWaitMs: number;
  /** How long files stay that no metadata name any more. */
  readonly icebergGraceMs: number;
  /** Where Iceberg clients reach the service, without a slash at its end; empty: as they come. */
  readonly icebergUrl: string;
}
/** Access control is on with `keys` or a `domain`, which is the issuer of tokens, empty for none. */
export interface AuthConfig {
  readonly keys: boolean;
  readonly domain: string;
  readonly audience: string;
  readonly clientId: string;
  readonly keysFrom: string;
  /** How old the issuer's keys may be. */
  readonly keysMs: number;
  readonly rolesClaim: string;
  readonly skewMs: number;
  readonly sessionMs: number;
}
/** What shippers send. `pools`: whether missing pools are made, and how many there may be then. */
export interface IngestConfig {
  readonly pools: 'create' | 'existing';
  readonly poolsMax: number;
  /** How long a body that comes again is the commit of the first time; 0: not at all. */
  readonly repeatsMs: number;
}
/** Where syslog is listened to, by TCP and UDP. `isPoolNamed`: the option names the pool, it is not the default. */
export interface SyslogConfig {
  readonly host: string;
  readonly port: number;
  readonly pool: string;
  readonly isPoolNamed: boolean;
  readonly messageBytesMax: number;
  readonly delayMs: number;
}
/** Where traces go, and as whose. `url` is that of the traces themselves. */
export interface TraceConfig {
  readonly url: string;
  readonly service: string;
  readonly resource: Readonly<Record<string, string>>;
}
/** What `lake serve` shows of its machines. `stately` is empty when no inspector is to be connected to. */
interface InspectConfig {
  readonly on: boolean;
  readonly watchersMax: number;
  readonly stately: string;
}
/** What `lake serve` records. */
interface RecordConfig {
  readonly file: string;
  readonly fileBytesMax: number;
  readonly filesMax: number;
  readonly keepBodies: boolean;
  readonly bodyBytesMax: number;
}

/** The file that flags or environment name for more options; empty for none. @throws ConfigError */
export const configFileOf = (argv: readonly string[], environment: Environment = {}): string =>
  parseOptions(serveOptions, argv, environment).values['config'];

/**
 * The configuration of `lake serve` from flags and environment, and what the file that they name says besides. @throws
 * ConfigError
 */
export const parseServe = (
  argv: readonly string[],
  environment: Environment = {},
  fromFile?: FileOptions,
): ServeConfig | HelpRequest => {
  const { values, rest, help } = parseOptions(serveOptions, argv, environment, fromFile);
  if (help) return { help: optionsText('serve', serveOptions) };
  noMore('serve', rest);
  return Object.freeze({
    lakeDirectory: values['lake'],
    ...storeConfig(values, environment),
    afterWaitMs: values['after.wait'],
    ...listenConfig(values, environment),
    defaultFormat: values['defaultfmt'],
    logLevel: values['log.level'],
    corsOrigins: Object.freeze([...values['cors.origin']]),
    workerCount: values['workers'] || availableParallelism(),
    memoryBytesMax: values['memory'],
    queryStatusMs: values['query.status.ttl'],
    answersBytesMax: values['answers.max'],
    startWaitMs: values['start.wait'],
    tasksMax: values['tasks.max'],
    queryShareRowsMin: values['query.share.rows'] || Infinity,
    compress: values['compress'],
    warmUpMs: values['warmup'],
    packObjectsMin: values['pack.objects'],
    connectionsMax: values['connections.max'],
    queueJobsMax: values['queue.max'],
    headerBytesMax: values['header.max'],
    bodyBytesMax: values['body.max'],
    retryKeepMs: values['retry.keep'],
    ingest: Object.freeze({
      pools: values['ingest.pools'],
      poolsMax: values['ingest.pools.max'],
      repeatsMs: values['ingest.repeats'],
    }),
    ...syslogConfig(values),
    bodyIdleMsMax: values['body.idle'],
    rateBytesMin: values['rate.min'],
    headerMsMax: values['header.time'],
    nameBytesMax: values['name.max'],
    queryTextMax: values['query.text.max'],
    queryMsMax: values['query.time'],
    expandedBytesMax: values['expanded.max'],
    subscribersMax: values['events.max'],
    subscriberEventsMax: values['events.queue.max'],
    heartbeatMs: values['events.heartbeat'],
    ...traceConfig(values['trace.otlp'], environment),
    metricsPoolsMax: values['metrics.pools'],
    shutdownMs: values['shutdown.grace'],
    from: fromConfig(values),
    formatLimits: Object.freeze({
      ...formatLimits(values),
      typesMax: values['types.max'],
      columnsMax: values['columns.max'],
      ingestBodyBytesMax: values['ingest.body.max'],
    }),
    recursion: recursionLimits(values),
    indexBase: indexBaseOf(values),
    inspect: inspectConfig(values),
    auth: authConfig(values),
    insecure: values['insecure'],
    auditFile: values['audit'],
    icebergTokenMs: values['iceberg.token.ttl'],
    icebergWaitMs: values['iceberg.wait'],
    icebergGraceMs: values['iceberg.grace'],
    icebergUrl: publicUrl(values),
    record: Object.freeze({
      file: values['record'],
      fileBytesMax: values['record.bytes.max'],
      filesMax: values['record.files.max'],
      keepBodies: values['record.bodies'],
      bodyBytesMax: values['record.bodies.max'],
    }),
  });
};

/** @throws ConfigError for what is no URL that paths can be put behind */
const publicUrl = (values: ServeValues): string => {
  const text = values['iceberg.url'];
  if (text === '') return '';
  const url = URL.canParse(text) ? new URL(text) : undefined;
  if (!url || !/^https?:$/.test(url.protocol) || `${url.username}${url.password}${url.search}${url.hash}` !== '')
    throw new ConfigError(
      `bad value for -iceberg.url: ${JSON.stringify(text)} (http:// or https://, a host and at most a path)`,
    );
  return url.href.replace(/\/+$/, '');
};

/** @throws ConfigError */
const syslogConfig = (values: ServeValues): Pick<ServeConfig, 'syslog'> => {
  const text = values['syslog'];
  if (text === '') return {};
  const address = parseAddress(text);
  if (!address)
    throw new ConfigError(`bad value for -syslog: ${JSON.stringify(text)} (HOST:PORT with a port of 0 to 65535)`);
  const pool = values['syslog.pool'];
  return {
    syslog: Object.freeze({
      ...address,
      pool: pool || 'syslog',
      isPoolNamed: pool !== '',
      messageBytesMax: values['syslog.message.max'],
      delayMs: values['syslog.delay'],
    }),
  };
};

/** @throws ConfigError */
const listenConfig = (
  values: ServeValues,
  environment: Environment,
): Pick<ServeConfig, 'listen' | 'tls' | 'proxiesTrusted'> => {
  const certificate = values['tls.cert'];
  const key = values['tls.key'];
  if ((certificate === '') !== (key === ''))
    throw new ConfigError(`-tls.${certificate === '' ? 'key needs -tls.cert' : 'cert needs -tls.key'}`);
  const proxiesTrusted = values['proxy.trust'];
  for (const text of proxiesTrusted)
    if (!isProxy(text))
      throw new ConfigError(
        `bad value for -proxy.trust: ${JSON.stringify(text)} (an IP address, a range such as 10.0.0.0/8, loopback or unix)`,
      );
  const { fallback } = serveOptions.find(({ name }) => name === 'l')!;
  return {
    listen: Object.freeze(listenAddresses(values['l'], fallback, environment)),
    ...(certificate !== '' && { tls: Object.freeze({ certificate, key }) }),
    proxiesTrusted: Object.freeze([...proxiesTrusted]),
  };
};

/**
 * From the option, else from the variables that OpenTelemetry's specification names. @throws ConfigError for what is no
 * URL
 */
const traceConfig = (option: string, environment: Environment): { readonly trace?: TraceConfig } => {
  const variable = (name: string): string => environment[name] ?? '';
  const own = variable('OTEL_EXPORTER_OTLP_TRACES_ENDPOINT');
  const base = variable('OTEL_EXPORTER_OTLP_ENDPOINT');
  const given = option || own || base;
  const label = option ? '-trace.otlp' : own ? 'OTEL_EXPORTER_OTLP_TRACES_ENDPOINT' : 'OTEL_EXPORTER_OTLP_ENDPOINT';
  if (given === '' || (option === '' && /^true$/i.test(variable('OTEL_SDK_DISABLED')))) return {};
  const url = URL.canParse(given) ? new URL(given) : undefined;
  if (!url || !/^https?:$/.test(url.protocol))
    throw new ConfigError(`bad value for ${label}: ${JSON.stringify(given)} (a URL such as http://localhost:4318)`);
  // A base has the path of traces added; the option is one if it has no path.
  if (option ? url.pathname === '/' : !own) url.pathname = `${url.pathname.replace(/\/$/, '')}/v1/traces`;
  const pairs = variable('OTEL_RESOURCE_ATTRIBUTES')
    .split(',')
    .map((pair) => pair.split('='))
    .filter(([key = '', value]) => key.trim() !== '' && value !== undefined);
  const resource = Object.fromEntries(
    pairs.map(([key = '', ...value]) => [key.trim(), percentDecoded(value.join('=').trim())]),
  );
  return {
    trace: Object.freeze({
      url: url.href,
      service: variable('OTEL_SERVICE_NAME') || resource['service.name'] || 'lake-data-service',
      resource: Object.freeze(Object.fromEntries(Object.entries(resource).filter(([key]) => key !== 'service.name'))),
    }),
  };
};
const percentDecoded = (text: string): string => {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
};

const authConfig = (values: ServeValues): AuthConfig => {
  const domain = values['auth.domain'];
  if (domain !== '' && (!/^https?:\/\//i.test(domain) || !URL.canParse(domain)))
    throw new ConfigError(`bad value for -auth.domain: ${JSON.stringify(domain)} (an https:// address)`);
  if (domain !== '' && values['auth.audience'] === '')
    throw new ConfigError(
      '-auth.domain needs -auth.audience: else a token for any other service of that issuer would do',
    );
  return Object.freeze({
    keysMs: values['auth.jwks.ttl'],
    keys: values['auth.keys'],
    domain,
    audience: values['auth.audience'],
    clientId: values['auth.clientid'],
    keysFrom: values['auth.jwks'] || `${domain.replace(/\/+$/, '')}/.well-known/jwks.json`,
    rolesClaim: values['auth.roles'],
    skewMs: values['auth.skew'],
    sessionMs: values['auth.session.ttl'],
  });
};

const inspectConfig = (values: ServeValues): InspectConfig => {
  const stately = values['inspect.stately'];
  if (stately !== '' && (!/^wss?:\/\//i.test(stately) || !URL.canParse(stately)))
    throw new ConfigError(`bad value for -inspect.stately: ${JSON.stringify(stately)} (a ws:// or wss:// address)`);
  return Object.freeze({ on: values['inspect'], watchersMax: values['inspect.max'], stately });
};
