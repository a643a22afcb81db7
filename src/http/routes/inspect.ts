/** The machines' inspector: its page, and the feed behind it (a WebSocket, inspect-socket.ts; these rows stand for it while it is switched off). */
import { LakeError } from '../../errors.ts';
import { feedPath } from '../inspect-socket.ts';
import { type Route, route } from '../route.ts';
import { pages, sendPage } from '../static-pages.ts';

export const inspectRoutes: readonly Route[] = [
  ...pages.map(({ path, file, summary }) => route({ method: 'GET', path, summary, need: 'open', open: true, handler: async ({ reply }) => sendPage(reply, file) })),
  route({
    method: 'GET', path: feedPath, summary: 'WebSocket of what happens in the machines, as ids and counts; ?protocol=stately for Stately inspectors', need: 'reader',
    handler: async () => { throw new LakeError('inspect-off'); },
  }),
];
