/** What is sent to Splunk's HTTP Event Collector. */
import { Type } from 'typebox';
import { LakeError } from '../../errors.ts';
import { sendHec, sendHecError } from '../ingest/splunk.ts';
import { namedPool } from '../ingest/named-pool.ts';
import { checkAllTaken, takeBody } from '../ingest/take.ts';
import { type Call, type Route, route } from '../route.ts';
import { count } from '../schemas.ts';
import { ingestErrors } from './elastic.ts';

/** What Splunk's HTTP Event Collector says; `detail` is the service's own. */
const HecAnswer = Type.Object(
  {
    text: Type.String(),
    code: count("Splunk's number of the text."),
    'invalid-event-number': Type.Optional(count('The event that is wrong, from 0.')),
    detail: Type.Optional(Type.String()),
  },
  { $id: 'HecAnswer' },
);

/** Fields that a request says of all its events. */
const metadata = ['host', 'source', 'sourcetype'] as const;
const query = Type.Object({
  index: Type.Optional(
    Type.String({
      description: 'the pool of events that name none; also by the header X-Lake-Pool',
      examples: ['logs'],
    }),
  ),
  ...Object.fromEntries(
    metadata.map((name) => [
      name,
      Type.Optional(Type.String({ description: `\`${name}\` of events that have none`, examples: ['web-1'] })),
    ]),
  ),
  channel: Type.Optional(Type.String({ description: 'taken and not looked at: nothing is acknowledged later' })),
});
type Query = Readonly<Partial<Record<'index' | (typeof metadata)[number], string>>>;

const take = async (call: Call<unknown, Query>, protocol: 'hec' | 'hec-raw'): Promise<unknown> => {
  const { query: sent, request, reply } = call;
  const defaults = Object.fromEntries(
    metadata.flatMap((name) => (sent[name] === undefined ? [] : [[name, sent[name]] as const])),
  );
  const taken = await takeBody(call, {
    protocol,
    pool: namedPool({ query: sent.index === undefined ? {} : { pool: sent.index }, request }, 'splunk'),
    time: 'time',
    defaults,
    contentEncoding: request.headers['content-encoding'],
    isKnown: ({ isKnown }) => isKnown,
  });
  checkAllTaken(taken);
  return sendHec(reply, 0);
};

const collector = '/services/collector';
const row = (id: string, path: string, protocol: 'hec' | 'hec-raw'): Route =>
  route({
    id,
    tag: 'Shippers',
    method: 'POST',
    path: `${collector}${path}`,
    summary: `Splunk's HTTP Event Collector: ${protocol === 'hec' ? 'events' : 'lines'}`,
    description: `${
      protocol === 'hec'
        ? 'JSON objects one after the other, each with an `event` and perhaps `time`, `host`, `source`, `sourcetype`, `index` and `fields`.'
        : 'Each line is an `event`.'
    } An event without a time gets that of its request. An index is a pool, default \`splunk\`, made on demand as option \`-ingest.pools\` says; what a request has for a pool is one commit, and an event that is wrong fails the whole request. The same body again within \`-ingest.repeats\` is the same commit, if each of its events has a time.`,
    need: 'known',
    writes: true,
    query,
    body: 'data',
    mediaTypes:
      protocol === 'hec'
        ? { 'application/json': Type.Object({ event: Type.Unknown() }), 'text/plain': undefined }
        : { 'text/plain': undefined },
    takes: ['X-Lake-Pool', 'SuperDB-Commit', 'Idempotency-Key'],
    refuse: sendHecError,
    refusal: { 'application/json': HecAnswer },
    answers: {
      200: {
        text: 'It is committed.',
        content: { 'application/json': HecAnswer },
        example: { text: 'Success', code: 0 },
      },
    },
    errors: [...ingestErrors, 'hec-event', 'hec-empty', 'body-pools', 'shipment-again'],
    handler: (call) => take(call as Call<unknown, Query>, protocol),
  });
const health = (id: string, path: string): Route =>
  route({
    id,
    tag: 'Shippers',
    method: 'GET',
    path: `${collector}${path}`,
    summary: "Health, as Splunk's clients ask for it",
    description: 'Code 17 while events are taken, 18 once the service closes.',
    need: 'open',
    open: true,
    refuse: sendHecError,
    refusal: { 'application/json': HecAnswer },
    answers: {
      200: { text: 'It takes events.', content: { 'application/json': HecAnswer } },
      503: { text: 'It is closing.', content: { 'application/json': HecAnswer } },
    },
    errors: [],
    handler: async ({ service, reply }) =>
      service.closing() ? sendHec(reply, 18, { status: 503 }) : sendHec(reply, 17),
  });

export const splunkRoutes: readonly Route[] = [
  row('hec', '', 'hec'),
  row('hecEvent', '/event', 'hec'),
  row('hecEventVersioned', '/event/1.0', 'hec'),
  row('hecRaw', '/raw', 'hec-raw'),
  row('hecRawVersioned', '/raw/1.0', 'hec-raw'),
  health('hecHealth', '/health'),
  health('hecHealthVersioned', '/health/1.0'),
  route({
    id: 'hecAck',
    tag: 'Shippers',
    method: 'POST',
    path: `${collector}/ack`,
    summary: "Splunk's acknowledgements, which are off",
    description: 'An event is on disk when its request is answered: there is nothing to ask for later.',
    need: 'known',
    query: Type.Object({ channel: Type.Optional(Type.String()) }),
    refuse: sendHecError,
    refusal: { 'application/json': HecAnswer },
    answers: {},
    errors: ['hec-ack'],
    handler: async () => {
      throw new LakeError('hec-ack');
    },
  }),
];
