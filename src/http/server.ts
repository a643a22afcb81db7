/**
 * The HTTP server: route table -> Fastify, with the rules that hold on every route.
 *
 * - Order of checks: the head (head.ts), route (404) and method (405), from where, who and what (admission.ts), query
 *   parameters (400), conditions (400), Accept (400), handler.
 * - Handlers only ask the lake and the workers, and await what they say; nothing is computed here that grows with the
 *   data.
 * - Every answer has an `X-Request-Id`; every error is the JSON body of `errorAnswer`, save for requests that were
 *   never routed.
 * - To the framework no method has a body: so it looks at no Content-Type (it refuses empty and malformed ones) and
 *   leaves bodies unread, for the handlers.
 */
import assert from 'node:assert/strict';
import { METHODS, type IncomingHttpHeaders, type IncomingMessage, type RequestListener } from 'node:http';
import { join } from 'node:path';
import Fastify, {
  LogController,
  type FastifyBaseLogger,
  type FastifyInstance,
  type FastifyReply,
  type FastifyRequest,
  type FastifyServerFactory,
  type HTTPMethods,
} from 'fastify';
import { proxiesOf } from '../config/proxies.ts';
import type { ServeConfig } from '../config/serve.ts';
import { LakeError } from '../errors.ts';
import type { FormatName } from '../formats/formats.ts';
import type { IcebergCatalogue } from '../iceberg/catalogue.types.ts';
import type { Lake } from '../lake/lake.types.ts';
import type { WorkerPool } from '../workers/pool.types.ts';
import { KeptAnswers } from '../workers/query/kept-answers.ts';
import { type RunCharts, runCharts } from '../workers/watches.ts';
import type { subscriberMachine } from '../../machines/subscriber.machine.ts';
import type { MachineWatch } from '../recording/watch.ts';
import type { Access } from './access/access.ts';
import { type AuditEntry, AuditTrail } from './access/audit.ts';
import { callerOf, checkSource } from './admission.ts';
import { eventHeader, waitForEvent } from './after.ts';
import { answerUnparsed } from './connections/client-ends.ts';
import { Connections } from './connections/connections.ts';
import type { EarlyListener } from './connections/early-listener.ts';
import { encodeAnswer } from './bodies/encoding.ts';
import { EventFeed } from './events.ts';
import { checkHead } from './bodies/head.ts';
import { beginningBytesMax, controlBytesMax, HeldBodies } from './bodies/held.ts';
import { Inspection } from './inspect/feed.ts';
import { addInspectSocket, feedPath, type InspectAdmission } from './inspect/socket.ts';
import { connectStately } from './inspect/stately.ts';
import { isLastAnswer } from './connections/linger.ts';
import { startMetrics } from './metrics.ts';
import { noteAnswered } from './answered.ts';
import { logFailure } from './log-fault.ts';
import { responseFormat, type ResponseFormat } from './bodies/negotiate.ts';
import { corsHeaders, preflightHeaders, type OriginRules } from './connections/origin.ts';
import { checkParameters } from './bodies/parameters.ts';
import { formatNamed } from './bodies/read-parameters.ts';
import { sendFault } from './iceberg/faults.ts';
import { type IcebergOptions, icebergService } from './iceberg/callers.ts';
import { type SignatureGate, signatureGate } from './iceberg/gate.ts';
import { addIceberg, icebergRoute, modelOf } from './iceberg/serve.ts';
import { sendError, sendText } from './reply.ts';
import { IdentityChecks } from './identity-check.ts';
import { requestIdOf } from './request-id.ts';
import { RoutedCall } from './routed-call.ts';
import type { Route, Service } from './route.ts';
import type { RouteConfig } from './route-config.ts';
import { routes } from './routes/routes.ts';
import { Runs } from './runs.ts';
import { StagedLoads } from './staged.ts';
import { startSyslog, type SyslogServer } from './syslog/server.ts';
import { addPages, isNoAsset, rangeFaultOf, wantsPage } from './static-pages.ts';
import type { Tracing } from './tracing/tracing.ts';
import { queryParameters, targetOf } from './url.ts';

/** What a server is made of; the lake and the workers belong to who made them. */
interface ServerOptions {
  readonly config: ServeConfig;
  readonly version: string;
  readonly lake: Lake;
  readonly catalogue: IcebergCatalogue;
  readonly workers: WorkerPool;
  readonly log: FastifyBaseLogger;
  /**
   * Sees every machine of the service, and is told of the subscribers' here. Without it there is nothing to inspect.
   */
  readonly watch?: MachineWatch;
  /** Without it everybody may do everything. */
  readonly access?: Access;
  readonly audit?: (entry: AuditEntry) => void;
  /** Told of requests; closed by who opened it. */
  readonly tracing?: Tracing;
  /** The server that listens already. */
  readonly earlyListener: EarlyListener;
  /** How many answers are kept at most; each has a descriptor. */
  readonly answersMax?: number;
  /** How its tables are served. */
  readonly iceberg: IcebergOptions;
  /** Of loads, queries and subscribers; default: those of machines/. */
  readonly charts?: ServiceCharts;
}
export interface ServiceCharts extends RunCharts {
  readonly subscriber: typeof subscriberMachine;
}
/** A server that answers. */
export interface Server {
  /** The first of them: `http://host:port`, say. */
  readonly address: string;
  /** Where it is to be reached, as listeners.ts names them. */
  readonly addresses: readonly string[];
  /** What listens to syslog, if anything does. */
  readonly syslog?: SyslogServer;
  /** The framework's own, for requests without a socket in tests. */
  readonly app: FastifyInstance;
  /** Ends event streams, lets requests finish for `shutdownMs`, then cuts them off. */
  close(): Promise<void>;
}

/** Starts to answer. */
export const startServer = async (options: ServerOptions): Promise<Server> => {
  const { app, service } = buildApp(options);
  // It listens already: the framework is only told so.
  await app.listen();
  const { config } = service;
  const syslog = config.syslog && (await startSyslog(service, config.syslog));
  if (syslog) service.metrics.watchSyslog(syslog.figures);
  const addresses = options.earlyListener.names;
  return {
    address: addresses[0],
    addresses,
    app,
    ...(syslog && { syslog }),
    close: async () => {
      await Promise.all([syslog?.close(config.shutdownMs), close(app, service)]);
    },
  };
};

/** How often it is looked whether all requests have ended. */
const closeLookMs = 10;
/** Servers that were told to close. */
const closingApps = new WeakSet<FastifyInstance>();

const close = async (app: FastifyInstance, service: Service): Promise<void> => {
  closingApps.add(app);
  const cut = setTimeout(() => app.server.closeAllConnections(), service.config.shutdownMs);
  const until = performance.now() + service.config.shutdownMs;
  let idle: NodeJS.Timeout | undefined;
  try {
    const closed = app.close();
    // Subscribers are told of what is still under way.
    while (service.requests.underWay > service.feed.size && performance.now() < until)
      await new Promise((resolve) => {
        setTimeout(resolve, closeLookMs);
      });
    service.feed.close();
    // What was answered after the signal leaves a connection that nobody asks on any more.
    idle = setInterval(() => {
      app.server.closeIdleConnections();
    }, closeLookMs);
    await closed;
  } finally {
    clearInterval(idle);
    clearTimeout(cut);
    end(service);
  }
};
const end = ({ feed, metrics, runs, staged }: Service): void => {
  feed.close();
  metrics.close();
  staged.close();
  runs.close();
};

/** What the handlers work with. */
const serviceOf = (
  { config, version, lake, catalogue, workers, log, watch, access, audit, tracing, charts, answersMax }: ServerOptions,
  app: FastifyInstance,
): Service => {
  const feed = new EventFeed(lake, {
    subscribersMax: config.subscribersMax,
    waitingMax: config.subscriberEventsMax,
    heartbeatMs: config.heartbeatMs,
    ...(watch && { inspect: watch.inspect }),
    ...(charts && { charts }),
    ...(access && { onRecheck: access.onRecheck }),
  });
  const { inspect } = watch ?? {};
  const { queryMsMax, queryStatusMs: keepMs } = config;
  const runs = new Runs({ queryMsMax, keepMs, inspect, charts: charts ?? runCharts });
  const staged = new StagedLoads();
  lake.onEvent(({ kind, poolId }) => {
    if (kind === 'pool-delete') staged.poolDeleted(poolId);
  });
  const metrics = startMetrics({
    lake,
    catalogue,
    workers,
    feed,
    runs,
    staged,
    version,
    poolsMax: config.metricsPoolsMax,
  });
  return {
    config,
    version,
    lake,
    catalogue,
    workers,
    log,
    feed,
    metrics,
    runs,
    identities: new IdentityChecks(workers),
    underWay: new Map(),
    answers: new KeptAnswers(join(config.lakeDirectory, 'spill'), { bytesMax: config.answersBytesMax, answersMax }),
    controlBodies: new HeldBodies(controlBytesMax),
    loadBodies: new HeldBodies(beginningBytesMax),
    staged,
    requests: { underWay: 0, endedAt: -Infinity },
    closing: () => closingApps.has(app),
    originRules: originRules(config, access),
    ...(tracing && { tracing }),
    ...(access && { access }),
    ...(audit && { audit }),
  };
};

/** Builds the server without listening. */
const buildApp = (options: ServerOptions): { readonly app: FastifyInstance; readonly service: Service } => {
  const { config, log, watch, earlyListener } = options;
  let gate: SignatureGate | undefined;
  const app = Fastify({
    loggerInstance: log,
    // Lines carry the request's id themselves: no logger for each request.
    childLoggerFactory: (logger) => logger,
    logController: new LogController({ disableRequestLogging: true }),
    exposeHeadRoutes: false,
    forceCloseConnections: 'idle',
    return503OnClosing: false,
    serverFactory: ((listener: RequestListener) =>
      earlyListener.take((request, response) => {
        if (!gate?.(request, response)) listener(request, response);
      })) as FastifyServerFactory,
    ...(config.proxiesTrusted.length > 0 && { trustProxy: proxiesOf(config.proxiesTrusted) }),
    routerOptions: {
      maxParamLength: config.headerBytesMax,
      querystringParser: (text) => (text === '' ? {} : Object.fromEntries(queryParameters(`?${text}`))),
    },
    genReqId: (raw) => requestIdOf(raw.headers),
    rewriteUrl: (raw) => {
      routeRare(raw);
      return internalUrl(raw.url ?? '/');
    },
    schemaController: { compilersFactory: { buildValidator: noSchemas, buildSerializer: noSchemas } },
    clientErrorHandler: answerUnparsed,
  }) as unknown as FastifyInstance;
  const service = serviceOf(options, app);
  const connections = new Connections(app.server, { connectionsMax: config.connectionsMax });
  service.metrics.watch(app.server, connections.cuts);
  app.addHook('onClose', async () => {
    connections.close();
    service.answers.close();
  });
  for (const method of METHODS)
    if (method !== 'CONNECT') app.addHttpMethod(method, { hasBody: false, overrideExisting: true });
  app.setErrorHandler((error, request, reply) => {
    logFailure(log, request, reply, error);
    const model = modelOf(request.originalUrl);
    if (model) return sendFault(reply, error, model);
    const noRange = rangeFaultOf(request, reply, error);
    if (noRange) return sendError(reply, noRange);
    if (isNoAsset(request, error)) return notFound(reply);
    const { refuse } = request.routeOptions.config as Partial<RouteConfig>;
    return refuse ? refuse(request, reply, error) : sendError(reply, error);
  });
  app.setNotFoundHandler((_request, reply) => notFound(reply));
  addInternalRoutes(app);
  addHooks(app, service, connections);
  addPages(app);
  const inspected = config.inspect.on ? watch : undefined;
  addRoutes(app, service, inspected !== undefined);
  const iceberg = icebergService(options.catalogue, config, options.iceberg);
  addIceberg(app, service, iceberg, routedMethods);
  gate = signatureGate(service, iceberg);
  if (inspected) addInspection(app, service, inspected);
  return { app, service };
};

/**
 * Routes have no schemas of the framework's: bodies and parameters are read by ours (bodies/fields.ts, parameters.ts).
 * Without these it loads its compilers at the start.
 */
const noSchemas = (): never => assert.fail('a route with a schema');

/** The methods that the router knows: a tree for each of the 34 that Node parses would take a tenth of the start. */
const routedMethods: readonly HTTPMethods[] = ['DELETE', 'GET', 'HEAD', 'OPTIONS', 'PATCH', 'POST', 'PUT', 'TRACE'];
/** Those that do for a route that takes any: TRACE would have to send back what it was sent (RFC 9110, 9.3.8). */
const anyMethods = routedMethods.filter((method) => method !== 'TRACE');
/**
 * Requests of all other methods, by their own: they go the way of one that no route has for itself either, until the
 * router is done.
 */
const rareMethods = new WeakMap<IncomingMessage, string>();
const routeRare = (raw: Pick<IncomingMessage, 'method'>): void => {
  const { method = 'GET' } = raw;
  if ((routedMethods as readonly string[]).includes(method)) return;
  rareMethods.set(raw as IncomingMessage, method);
  raw.method = 'TRACE';
};
const restoreRare = (raw: IncomingMessage): void => {
  const method = rareMethods.get(raw);
  if (method !== undefined) raw.method = method;
};

const internal = { moved: '/.moved', malformed: '/.malformed', unknown: '/.unknown', server: '/.server' } as const;

/**
 * Targets that the router must not see are sent to routes of ours; no client can name these, since a leading dot
 * segment is no route.
 */
const internalUrl = (url: string): string => {
  const foreign = icebergRoute(url);
  if (foreign !== undefined) return foreign;
  const target = targetOf(url);
  if (target.kind === 'route') return target.url.startsWith('/.') ? internal.unknown : target.url;
  return target.kind === 'moved'
    ? `${internal.moved}?to=${encodeURIComponent(target.location)}`
    : internal[target.kind];
};

const routedAllow = anyMethods.join(', ');
const addInternalRoutes = (app: FastifyInstance): void => {
  const method = [...routedMethods];
  app.route({
    method,
    url: internal.moved,
    handler: (request, reply) => {
      const { to } = request.query as { readonly to: string };
      return sendText(reply.header('location', to), 301, 'text/plain; charset=utf-8', `moved to ${to}\n`);
    },
  });
  app.route({
    method,
    url: internal.malformed,
    handler: (_request, reply) =>
      sendText(reply.header('connection', 'close'), 400, 'text/plain; charset=utf-8', '400 Bad Request'),
  });
  // `OPTIONS *` asks about the server, not about a path (RFC 9110, 9.3.7).
  app.route({
    method,
    url: internal.server,
    handler: (request, reply) =>
      request.method === 'OPTIONS' ? reply.code(204).header('allow', routedAllow).send() : notFound(reply),
  });
  app.route({ method, url: internal.unknown, handler: (_request, reply) => notFound(reply) });
};

const notFound = (reply: FastifyReply): FastifyReply =>
  sendText(reply.header('x-content-type-options', 'nosniff'), 404, 'text/plain; charset=utf-8', '404 page not found\n');

const addHooks = (
  app: FastifyInstance,
  { config, lake, requests, metrics, tracing, log }: Service,
  connections: Connections,
): void => {
  const behindProxy = config.proxiesTrusted.length > 0;
  app.addHook('onRequest', (request, reply, done) => {
    restoreRare(request.raw);
    // What a trusted proxy was asked for.
    if (behindProxy && request.host !== '') request.raw.headers.host = request.host;
    const { socket } = request.raw;
    requests.underWay++;
    connections.began(socket);
    // Comes for a client that left before its answer's end too, of which the framework's own hook is not told.
    reply.raw.on('close', () => {
      requests.underWay--;
      connections.ended(socket);
      requests.endedAt = performance.now();
    });
    tracing?.begun(request);
    reply.header('x-request-id', request.id);
    try {
      checkHead(request.raw);
    } catch (error) {
      reply.headers({ vary: 'Origin', connection: 'close' });
      done(error as LakeError);
      return;
    }
    done();
  });
  app.addHook('onSend', (request, reply, _payload, done) => {
    if (isLastAnswer(request.raw)) reply.header('connection', 'close');
    // Of HTTP/1.1 alone.
    if (request.raw.httpVersionMajor > 1) reply.removeHeader('connection');
    done();
  });
  app.addHook('onSend', (request, reply, _payload, done) => {
    // What it wrote is not behind this, and this is durable: a number that a crash takes back could be awaited for ever.
    if ((request.routeOptions.config as Partial<RouteConfig>).writes) reply.header(eventHeader, lake.settledEventId());
    done();
  });
  app.addHook('onSend', encodeAnswer);
  app.addHook('onResponse', (request, reply, done) => {
    const {
      method,
      routeOptions: { url: route = 'none' },
    } = request;
    const { statusCode: status, elapsedTime: ms } = reply;
    noteAnswered({ metrics, log }, { id: request.id, method, route, status, ms });
    if (tracing) tracing.answered(request, reply);
    done();
  });
};

/** The inspector's feed, until the server closes. */
const addInspection = (app: FastifyInstance, service: Service, watch: MachineWatch): void => {
  const { config, version, lake, log } = service;
  const inspection = new Inspection(watch, lake, version);
  const { stately, watchersMax } = config.inspect;
  const disconnect =
    stately === ''
      ? undefined
      : connectStately(watch, stately, (fault) => {
          log.warn({ err: fault, url: stately }, 'the Stately inspector cannot be reached');
        });
  const row = routes.find(({ path }) => path === feedPath)!;
  addInspectSocket(app, { watch, inspection, watchersMax, admission: admissionOf(service, row) });
  app.addHook('onClose', async () => {
    disconnect?.();
    inspection.close();
  });
};

/** The same checks as those of other rows, for one whose requests become connections. */
const admissionOf = (service: Service, row: Route): InspectAdmission => ({
  ...(service.access && { access: service.access }),
  admit: async (request, reply) => {
    const audit = service.audit && new AuditTrail(service.audit, service.lake, row, request, reply);
    const admit = async (): Promise<void> => {
      checkSource(service.originRules, row, request.headers);
      await callerOf(service, row, request, audit);
      checkQuery(row, request);
    };
    await (audit ? audit.follow(admit) : admit());
  },
});

const originRules = (config: ServeConfig, access: Access | undefined): OriginRules => ({
  origins: config.corsOrigins,
  hosts: config.listen.flatMap((address) => (address.kind === 'tcp' ? [address.host] : [])),
  ...(config.insecure && { insecure: true }),
  ...(access && { guarded: true }),
});

/** `inspected`: the feed has a route of its own. */
const addRoutes = (app: FastifyInstance, service: Service, inspected: boolean): void => {
  const methodsOf = new Map<string, string[]>();
  for (const row of routes) {
    const methods = row.anyMethod ? anyMethods : [row.method, ...(row.method === 'GET' ? ['HEAD'] : [])];
    const taken = row.anyMethod ? routedMethods : methods;
    methodsOf.set(row.path, [...(methodsOf.get(row.path) ?? []), ...taken]);
    if (row.path === feedPath && inspected) continue;
    app.route({
      method: methods as HTTPMethods[],
      url: row.path,
      exposeHeadRoute: false,
      config: routeConfig(row),
      handler: (request, reply) => answer(service, row, request, reply),
    });
    // Methods that the router does not know come as this one, and are some of any.
    if (row.anyMethod)
      app.route({
        method: 'TRACE',
        url: row.path,
        exposeHeadRoute: false,
        config: routeConfig(row),
        handler: (request, reply) =>
          request.method === 'TRACE'
            ? refuseMethod(anyMethods.join(', '), request, reply)
            : answer(service, row, request, reply),
      });
  }
  for (const [url, taken] of methodsOf) {
    const others = routedMethods.filter((method) => !taken.includes(method));
    if (others.length === 0) continue;
    const allow = [...taken, 'OPTIONS'].join(', ');
    const takesPreflights = routes.some(({ path, preflight }) => path === url && preflight);
    app.route({
      method: others,
      url,
      exposeHeadRoute: false,
      handler: (request, reply) => {
        // A safe method does nothing, whatever others of the path do (RFC 9110, 9.3.7).
        if (request.method === 'OPTIONS') return answerOptions(service, takesPreflights, allow, request, reply);
        return refuseMethod(allow, request, reply);
      },
    });
  }
};
const refuseMethod = (
  allow: string,
  { method, originalUrl: path }: FastifyRequest,
  reply: FastifyReply,
): FastifyReply => {
  reply.header('allow', allow).header('vary', 'Origin');
  return sendError(reply, new LakeError('method-not-allowed', { method, path }));
};

/** What the framework keeps with a row. */
export const routeConfig = ({
  query,
  refuse,
  writes,
  open,
}: Pick<Route, 'query' | 'refuse' | 'writes' | 'open'>): RouteConfig => {
  const { properties = {} } = (query ?? {}) as {
    readonly properties?: Readonly<Record<string, { readonly format?: string }>>;
  };
  const parameters = Object.keys(properties);
  const shown = parameters.filter((name) => properties[name].format !== 'superql');
  return { parameters, shown, ...(refuse && { refuse }), ...(writes && !open && { writes }) };
};

const answerOptions = (
  { originRules }: Service,
  takesPreflights: boolean,
  allow: string,
  { headers }: FastifyRequest,
  reply: FastifyReply,
): FastifyReply =>
  takesPreflights && headers['access-control-request-method']
    ? reply.code(204).headers(preflightHeaders(originRules, headers)).send()
    : reply.code(204).header('allow', allow).header('vary', 'Origin').send();

const answer = (service: Service, row: Route, request: FastifyRequest, reply: FastifyReply): Promise<unknown> => {
  if (!service.audit) return answerRow(service, row, request, reply, undefined);
  const audit = new AuditTrail(service.audit, service.lake, row, request, reply);
  return audit.follow(() => answerRow(service, row, request, reply, audit));
};

const answerRow = async (
  service: Service,
  row: Route,
  request: FastifyRequest,
  reply: FastifyReply,
  audit: AuditTrail | undefined,
): Promise<unknown> => {
  const { config, access, originRules: rules } = service;
  const { headers } = request;
  // Caches keep answers by address for the format that was asked for, errors too.
  reply.header('vary', row.formatParameter ? 'Origin, Accept' : 'Origin');
  if (headers.origin) reply.headers(corsHeaders(rules, headers.origin));
  if (!row.open && service.closing()) throw new LakeError('service-closing');
  checkSource(rules, row, headers);
  const who = access && (await callerOf(service, row, request, audit));
  checkQuery(row, request);
  if (row.open) return row.handler(new RoutedCall({ service, row, request, reply, response: anyFormat, audit }, who));
  // What writes says it when it has written (onSend).
  if (!row.writes) reply.header(eventHeader, service.lake.lastEventId());
  await waitForEvent(service.lake, headers, config.afterWaitMs);
  if (!row.writes) reply.header(eventHeader, service.lake.lastEventId());
  checkCondition(row, headers);
  // What has no body has no format.
  const response = row.silent || row.refuse ? anyFormat : responseOf(row, request, config.defaultFormat);
  return row.handler(new RoutedCall({ service, row, request, reply, response, audit }, who));
};
const responseOf = (row: Route, { headers, query }: FastifyRequest, defaultFormat: FormatName): ResponseFormat => {
  if (row.formatParameter) {
    const { format } = query as { readonly format?: string };
    if (format !== undefined) return formatNamed(format);
    if (wantsPage(headers.accept)) return formatNamed('json');
  }
  return responseFormat(headers.accept, defaultFormat, row.acceptToo);
};
/**
 * Who makes a condition that nobody would look at must not be told that it was done. @throws if-match-untaken,
 * retry-key-untaken
 */
const checkCondition = ({ method, path, takes }: Route, headers: IncomingHttpHeaders): void => {
  if (headers['idempotency-key'] !== undefined && method !== 'GET' && !takes?.includes('Idempotency-Key'))
    throw new LakeError('retry-key-untaken', { method, path });
  if (headers['if-match'] !== undefined && method !== 'GET' && !takes?.includes('If-Match'))
    throw new LakeError('if-match-untaken', { method, path });
};
/** Pages are reached by links, to which others add what they like. */
const checkQuery = (row: Route, { raw: { url = '' } }: FastifyRequest): void => {
  if (url.includes('?') && !(row.tag === 'Pages' && row.query === undefined))
    checkParameters(url, routeConfig(row).parameters);
};
const anyFormat: ResponseFormat = { format: 'sup', mediaType: 'application/x-sup' };
