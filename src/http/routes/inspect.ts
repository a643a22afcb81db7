/**
 * The machines' inspector: its page, and the feed behind it (a WebSocket, inspect/socket.ts; these rows stand for it
 * while it is switched off).
 */
import { Type } from 'typebox';
import { LakeError } from '../../errors.ts';
import { feedPath } from '../inspect/socket.ts';
import { type Route, route } from '../route.ts';
import { pages, sendPage } from '../static-pages.ts';

export const inspectRoutes: readonly Route[] = [
  ...pages.map(({ id, path, file, summary, description }) =>
    route({
      id,
      tag: 'Pages',
      method: 'GET',
      path,
      summary,
      description,
      need: 'open',
      open: true,
      answers: { 200: { text: 'The page.', content: { 'text/html': Type.String() }, headers: ['Cache-Control'] } },
      errors: ['page-missing'],
      handler: async ({ reply }) => sendPage(reply, file),
    }),
  ),
  route({
    id: 'inspectFeed',
    tag: 'Pages',
    method: 'GET',
    path: feedPath,
    summary: 'WebSocket of what happens in the machines, as ids and counts; ?protocol=stately for Stately inspectors',
    need: 'reader',
    query: Type.Object({
      protocol: Type.Optional(Type.Enum(['stately'], { description: 'stately: the protocol of Stately inspectors' })),
    }),
    answers: { 101: { text: 'The WebSocket is open.' } },
    errors: ['inspect-off', 'feed-not-upgraded', 'watchers-full'],
    handler: async () => {
      throw new LakeError('inspect-off');
    },
  }),
];
