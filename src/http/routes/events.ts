/** The events feed. */
import { Type } from 'typebox';
import { LakeError } from '../../errors.ts';
import { eventFilter } from '../access/event-filter.ts';
import { type Route, route } from '../route.ts';

export const eventRoutes: readonly Route[] = [
  route({
    method: 'GET', path: '/events', summary: 'Server-sent events of every change', need: 'known', acceptToo: 'text/event-stream', defaultFormat: 'sup',
    query: Type.Object({ names: Type.Optional(Type.String({ description: 'superdb: event names of SuperDB v0.2.0' })) }),
    handler: async ({ service, request, reply, query, response, who }) => {
      if (query.names !== undefined && query.names !== '' && query.names !== 'superdb') throw new LakeError('event-names-unknown', { names: query.names });
      const last = request.headers['last-event-id'];
      const headers = reply.getHeaders() as Readonly<Record<string, string>>;
      service.feed.subscribe({
        response: reply.raw, headers, format: response.format, names: query.names === 'superdb' ? 'superdb' : 'interface', ...(typeof last === 'string' && { lastEventId: last }),
        ...(who && { wanted: eventFilter(service.lake, who), stillMay: () => service.access!.identify(request.headers).then(() => true, () => false) }),
      });
      return reply.hijack();
    },
  }),
];
