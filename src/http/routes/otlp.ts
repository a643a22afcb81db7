/** OTLP/HTTP: logs, traces and metrics of OpenTelemetry's SDKs and collectors. */
import { Type } from 'typebox';
import type { Signal } from '../../formats/otlp/schema.ts';
import { utf8Refused, utf8Schema } from '../bodies/parameters.ts';
import { otlpSchema } from '../ingest/otlp-schema.ts';
import { otlpEncoding, otlpTypes, refuseOtlp, sendTaken } from '../ingest/otlp.ts';
import { namedPool } from '../ingest/named-pool.ts';
import { checkIngestPool, ingestPoolErrors } from '../ingest/pools.ts';
import { shipperError } from '../ingest/refusal.ts';
import { onlyCommit, takeBody } from '../ingest/take.ts';
import { type Call, type Route, route } from '../route.ts';
import { changeErrors, commitErrors, dataErrors } from '../route-errors.ts';

const signals = {
  logs: { title: 'Logs', what: 'a record for each log record' },
  traces: { title: 'Traces', what: 'a record for each span, with its events and links as lists' },
  metrics: { title: 'Metrics', what: 'a record for each data point' },
} as const satisfies Record<Signal, unknown>;

const routeOf = (signal: Signal): Route =>
  route({
    id: `otlp${signals[signal].title}`,
    tag: 'Shippers',
    method: 'POST',
    path: `/v1/${signal}`,
    summary: `${signals[signal].title} by OTLP/HTTP`,
    need: 'known',
    writes: true,
    preflight: true,
    refuse: refuseOtlp,
    description: `What an exporter of OpenTelemetry sends, by protobuf or JSON: ${signals[signal].what}. A request is one commit on \`main\` of pool \`otel_${signal}\`, or of the pool that the header \`X-Lake-Pool\` names, made on demand as option \`-ingest.pools\` says. With access control: a writer of the pool. The same body again within \`-ingest.repeats\` is the same commit.`,
    query: Type.Object({ utf8: Type.Optional(utf8Schema) }),
    body: 'data',
    mediaTypes: {
      ...Object.fromEntries(otlpTypes.protobuf.map((type) => [type, undefined])),
      ...Object.fromEntries(otlpTypes.json.map((type) => [type, otlpSchema(signal)])),
    },
    takes: ['X-Lake-Pool', 'SuperDB-Commit', 'Idempotency-Key'],
    answers: {
      200: {
        text: 'All of it was taken: the empty message of the response.',
        content: Object.fromEntries(Object.values(otlpTypes).map(([type]) => [type, Type.Unknown()])),
      },
    },
    errors: [
      ...commitErrors,
      ...changeErrors,
      ...dataErrors,
      ...ingestPoolErrors,
      'shipment-again',
      'utf8-rule',
      'not-utf8',
    ],
    handler: async (call) => {
      try {
        return await take(call, signal);
      } catch (error) {
        throw shipperError(error);
      }
    },
  });

const take = async (call: Call<unknown, { readonly utf8?: string }>, signal: Signal): Promise<unknown> => {
  const { request, reply, query, contentType } = call;
  const encoding = otlpEncoding(contentType);
  const refusesBytes = utf8Refused(query.utf8);
  const pool = namedPool({ query: {}, request }, `otel_${signal}`);
  // Before all of a body is read; it is made when something of that was.
  checkIngestPool(call, pool);
  const taken = await takeBody(call, {
    protocol: encoding === 'json' ? `otlp-${signal}-json` : `otlp-${signal}`,
    pool,
    time: 'ts',
    ...(refusesBytes && { utf8: 'refuse' }),
    contentEncoding: request.headers['content-encoding'],
    isKnown: () => true,
  });
  // A request without anything in it is a success, as the specification has it.
  onlyCommit(taken);
  return sendTaken(reply, encoding);
};

/** The endpoints of OTLP. */
export const otlpRoutes: readonly Route[] = [routeOf('logs'), routeOf('traces'), routeOf('metrics')];
