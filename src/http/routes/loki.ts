/** What shippers send to Loki. */
import type { FastifyReply } from 'fastify';
import { Type } from 'typebox';
import { isMediaType } from '../bodies/negotiate.ts';
import { namedPool, poolQuery } from '../ingest/named-pool.ts';
import { shipperError } from '../ingest/refusal.ts';
import { onlyCommit, takeBody } from '../ingest/take.ts';
import { errorAnswer, sendText } from '../reply.ts';
import type { Refuse } from '../route-config.ts';
import { type Route, route } from '../route.ts';
import { ingestErrors } from './elastic.ts';

/** Loki says what is wrong as plain text. */
const refuse: Refuse = (_request, reply, fault): FastifyReply => {
  const { status, body } = errorAnswer(shipperError(fault));
  if (status === 401) reply.header('www-authenticate', 'Bearer');
  if (status === 503) reply.header('retry-after', '1');
  return sendText(reply, status, 'text/plain; charset=utf-8', `${(JSON.parse(body) as { error: string }).error}\n`);
};

export const lokiRoutes: readonly Route[] = [
  route({
    id: 'lokiPush',
    tag: 'Shippers',
    method: 'POST',
    path: '/loki/api/v1/push',
    summary: "Loki's push, as JSON or as protobuf in Snappy",
    description:
      'A line is a record `{ts, labels, line}`, with `metadata` if it has some of its own. They go to the pool `loki`, or the one that `pool` or the header `X-Lake-Pool` names. The same body again within `-ingest.repeats` is the same commit.',
    need: 'known',
    writes: true,
    query: poolQuery,
    body: 'data',
    mediaTypes: { 'application/json': undefined, 'application/x-protobuf': undefined },
    takes: ['X-Lake-Pool', 'SuperDB-Commit', 'Idempotency-Key'],
    refuse,
    refusal: { 'text/plain': Type.String() },
    answers: { 204: { text: 'It is committed.' } },
    errors: [...ingestErrors, 'loki-empty', 'shipment-again'],
    handler: async (call) => {
      const { contentType, request, reply } = call;
      const isJson = isMediaType(contentType, 'application/json');
      const coding = request.headers['content-encoding'];
      const taken = await takeBody(call, {
        protocol: isJson ? 'loki-json' : 'loki-protobuf',
        pool: namedPool(call, 'loki'),
        time: 'ts',
        // Protobuf is in Snappy in any case; some say so, others do not.
        contentEncoding: !isJson && coding?.trim().toLowerCase() === 'snappy' ? undefined : coding,
        isKnown: () => true,
      });
      onlyCommit(taken);
      return reply.code(204).send();
    },
  }),
];
