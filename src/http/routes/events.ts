/** The events feed. */
import { Type } from 'typebox';
import { LakeError } from '../../errors.ts';
import { eventFilter } from '../access/event-filter.ts';
import { eventHeaders } from '../events.ts';
import { type Route, route } from '../route.ts';

export const eventRoutes: readonly Route[] = [
  route({
    id: 'events',
    tag: 'Events',
    method: 'GET',
    path: '/events',
    summary: 'Server-sent events of every change',
    need: 'known',
    acceptToo: 'text/event-stream',
    description:
      'The stream has no end. `Accept` chooses the format of the data (`application/json`, say); without one it is the default, SUP or what `-defaultfmt` says; formats of bytes come in base64. Ids grow; `Last-Event-ID` brings what was missed. `x-events` lists the events with their data.',
    query: Type.Object({
      names: Type.Optional(Type.Literal('superdb', { description: 'superdb: event names of SuperDB v0.2.0' })),
    }),
    takes: ['Last-Event-ID'],
    answers: {
      200: {
        text: 'Events as they happen: lines `event`, `data` and `id`, then a blank one.',
        content: { 'text/event-stream': Type.String() },
        headers: ['Cache-Control', 'Last-Event-ID', 'X-Accel-Buffering'],
        example: 'event: pool-new\ndata: {"pool_id":"0x178f59ee5f4b1d24ca90a5c55f69e1de56777ddf"}\nid: 8\n\n',
      },
    },
    errors: ['event-names-unknown', 'event-id-invalid', 'events-gone', 'subscribers-full'],
    handler: async ({ service, request, reply, query, response, who }) => {
      if (query.names !== undefined && (query.names as string) !== 'superdb')
        throw new LakeError('event-names-unknown', { names: query.names });
      if (request.method === 'HEAD')
        return reply
          .code(200)
          .headers({ ...eventHeaders, 'last-event-id': service.lake.lastEventId() })
          .send();
      const last = request.headers['last-event-id'];
      const headers = reply.getHeaders() as Readonly<Record<string, string>>;
      service.feed.subscribe({
        response: reply.raw,
        headers,
        format: response.format,
        names: query.names === 'superdb' ? 'superdb' : 'interface',
        ...(typeof last === 'string' && { lastEventId: last }),
        ...(who && {
          wanted: eventFilter(service.lake, who),
          stillMay: () =>
            service.access!.identify(request.headers).then(
              () => true,
              () => false,
            ),
        }),
      });
      return reply.hijack();
    },
  }),
];
