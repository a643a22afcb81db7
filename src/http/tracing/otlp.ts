/**
 * Sends traces to a collector by OTLP over HTTP, as JSON. The only file that loads OpenTelemetry's packages: it is
 * imported when a collector is given.
 */
import {
  ROOT_CONTEXT,
  type Context,
  diag,
  DiagLogLevel,
  SpanKind,
  SpanStatusCode,
  trace,
  TraceFlags,
  type Tracer,
} from '@opentelemetry/api';
import { OTLPTraceExporter } from '@opentelemetry/exporter-trace-otlp-http';
import { resourceFromAttributes } from '@opentelemetry/resources';
import { BasicTracerProvider, BatchSpanProcessor } from '@opentelemetry/sdk-trace-base';
import type { FastifyBaseLogger, FastifyReply, FastifyRequest } from 'fastify';
import type { TraceConfig } from '../../config/serve.ts';
import { type Answered, type Noted, requestSpans, type SpanPlan, traceParent, type Tracing } from './tracing.ts';
import { shownTarget } from '../url.ts';

/** The longest that one sending, and the last one, may take; how often, and how many spans wait at most. */
const sendMsMax = 3000;
const closeMsMax = 3000;
const everyMs = 1000;
const spansMax = 8192;

/** Starts to send. Faults of the collector are logged: they never touch a request. */
export const openTracing = (
  { url, service, resource }: TraceConfig,
  { version, log }: { readonly version: string; readonly log: FastifyBaseLogger },
): Tracing => {
  const warn = (text: string): void => {
    log.warn({ text }, 'traces');
  };
  diag.setLogger(
    { error: warn, warn, info: () => undefined, debug: () => undefined, verbose: () => undefined },
    { logLevel: DiagLogLevel.WARN, suppressOverrideMessage: true },
  );
  const exporter = new OTLPTraceExporter({ url, timeoutMillis: sendMsMax });
  const provider = new BasicTracerProvider({
    resource: resourceFromAttributes({ 'service.name': service, 'service.version': version, ...resource }),
    spanProcessors: [
      new BatchSpanProcessor(exporter, {
        scheduledDelayMillis: everyMs,
        exportTimeoutMillis: sendMsMax,
        maxQueueSize: spansMax,
      }),
    ],
  });
  const tracer = provider.getTracer('lake-data-service', version);
  const noted = new WeakMap<FastifyRequest, Noted & { readonly startAt: number }>();
  const nothing: Noted & { readonly startAt: number } = { startAt: 0 };
  return {
    begun: (request) => {
      noted.set(request, { startAt: performance.now() });
    },
    note: (request, more) => {
      noted.set(request, { ...(noted.get(request) ?? nothing), ...more });
    },
    answered: (request, reply) => {
      const parent = traceParent(request.headers['traceparent']);
      // Who traces decides whether this is traced too.
      if (parent && !parent.sampled) return;
      const context = parent
        ? trace.setSpanContext(ROOT_CONTEXT, {
            traceId: parent.traceId,
            spanId: parent.spanId,
            traceFlags: TraceFlags.SAMPLED,
            isRemote: true,
          })
        : ROOT_CONTEXT;
      const known = noted.get(request) ?? nothing;
      const endAt = performance.now();
      const startAt = known.startAt || endAt - reply.elapsedTime;
      record(tracer, requestSpans({ ...answeredOf(request, reply), startAt, endAt }, known), context, SpanKind.SERVER);
    },
    close: async () => {
      let timer: NodeJS.Timeout | undefined;
      await Promise.race([
        provider.shutdown().catch((fault: unknown) => {
          warn(String(fault));
        }),
        new Promise<void>((resolve) => {
          timer = setTimeout(resolve, closeMsMax);
        }),
      ]);
      clearTimeout(timer);
      diag.disable();
    },
  };
};

const answeredOf = (request: FastifyRequest, reply: FastifyReply): Omit<Answered, 'startAt' | 'endAt'> => {
  const { host, 'user-agent': agent } = request.headers;
  const [, address = '', port] = /^(.*?)(?::(\d+))?$/.exec(host ?? '') ?? [];
  return {
    method: request.method,
    route: request.routeOptions.url,
    url: shownTarget(request),
    status: reply.statusCode,
    id: request.id,
    more: {
      ...(address !== '' && { 'server.address': address }),
      ...(port !== undefined && { 'server.port': Number(port) }),
      'client.address': request.ip,
      'network.protocol.name': 'http',
      'network.protocol.version': request.raw.httpVersion.replace(/^2\.0$/, '2'),
      ...(agent !== undefined && { 'user_agent.original': agent }),
    },
  };
};

const record = (
  tracer: Tracer,
  { name, startAt, endAt, attributes = {}, error, children = [] }: SpanPlan,
  context: Context,
  kind = SpanKind.INTERNAL,
): void => {
  const span = tracer.startSpan(name, { kind, startTime: time(startAt), attributes }, context);
  if (error !== undefined) span.setStatus({ code: SpanStatusCode.ERROR, message: error });
  const within = trace.setSpan(context, span);
  for (const child of children) record(tracer, child, within);
  span.end(time(Math.max(startAt, endAt)));
};

/** Seconds and nanoseconds since 1970. */
const time = (mark: number): [number, number] => {
  const ms = Date.now() - performance.now() + mark;
  const seconds = Math.floor(ms / 1000);
  return [seconds, Math.round((ms - seconds * 1000) * 1e6)];
};
